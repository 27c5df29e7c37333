/* oracle.c - names and JSON forms of trials and outcomes. */
#include "oracle.h"

#include <math.h>
#include <string.h>

static const char *const outcome_names[] = {
    [OUTCOME_SAMPLES] = "samples", [OUTCOME_HUNG] = "hung",       [OUTCOME_CRASHED] = "crashed",
    [OUTCOME_WRONG] = "wrong",     [OUTCOME_REFUSED] = "refused",
};

const char *outcome_name(enum outcome_kind kind)
{
    return outcome_names[kind];
}

struct json *trial_to_json(const struct trial *trial)
{
    struct json *object = json_make_object();
    json_put(object, "key", key_to_json(&trial->key));
    json_put(object, "candidate", candidate_to_json(&trial->candidate));
    json_put_integer(object, "launch", trial->launch);
    json_put_integer(object, "round", trial->round);
    json_put_integer(object, "samples", trial->samples);
    return object;
}

static int read_u32(const struct json *json, const char *key, uint32_t *value, struct error *error)
{
    int64_t number = json_get_integer(json, key, -1);
    if (number < 0 || number > UINT32_MAX) {
        return error_set(error, EXIT_INPUT, "a trial needs '%s', a count", key);
    }
    *value = (uint32_t)number;
    return 0;
}

int trial_from_json(const struct json *json, struct arena *arena, struct trial *trial,
                    struct error *error)
{
    struct trial read = {.launch = 0};
    if (key_from_json(json_get(json, "key"), &read.key, error) ||
        candidate_from_json(json_get(json, "candidate"), arena, &read.candidate, error) ||
        read_u32(json, "launch", &read.launch, error) ||
        read_u32(json, "round", &read.round, error) ||
        read_u32(json, "samples", &read.samples, error)) {
        return -1;
    }
    *trial = read;
    return 0;
}

void outcome_to_json(const struct outcome *outcome, struct json *object)
{
    json_put_text(object, "outcome", outcome_names[outcome->kind]);
    json_put_numbers(object, "seconds", outcome->samples, outcome->nr);
    json_put_number(object, "canary_s", outcome->canary);
    json_put_number(object, "cost_s", outcome->cost);
    json_put_text(object, "detail", outcome->detail ? outcome->detail : "");
}

int outcome_from_json(const struct json *json, struct arena *arena, struct outcome *outcome,
                      struct error *error)
{
    struct outcome read = {.kind = OUTCOME_SAMPLES};
    const char *name = json_get_text(json, "outcome", "");
    const struct json *seconds = json_get(json, "seconds");
    bool known = false;
    for (int k = OUTCOME_SAMPLES; k <= OUTCOME_REFUSED; k++) {
        if (!strcmp(name, outcome_names[k])) {
            read.kind = (enum outcome_kind)k;
            known = true;
        }
    }
    read.nr = json_length(seconds);
    if (!known || (read.kind == OUTCOME_SAMPLES && read.nr == 0)) {
        return error_set(error, EXIT_INPUT,
                         "an outcome needs a known kind, and samples if it has "
                         "that kind; found '%s'",
                         name);
    }
    read.samples = arena_alloc(arena, read.nr + 1, sizeof *read.samples);
    for (size_t i = 0; i < read.nr; i++) {
        read.samples[i] = json_item_number(seconds, i, NAN);
        if (!(read.samples[i] > 0) || isinf(read.samples[i])) {
            return error_set(error, EXIT_INPUT, "sample %zu of an outcome is not a time", i);
        }
    }
    read.canary = json_get_number(json, "canary_s", NAN);
    read.cost = json_get_number(json, "cost_s", 0);
    read.detail = arena_strdup(arena, json_get_text(json, "detail", ""));
    *outcome = read;
    return 0;
}

bool trial_same(const struct trial *a, const struct trial *b)
{
    return a->launch == b->launch && a->round == b->round && key_equal(&a->key, &b->key) &&
           candidate_equal(&a->candidate, &b->candidate);
}
