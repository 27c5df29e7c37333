/* fuzz_decision.c - any JSON as result.json: a worded error, or a table whose rows hold only what
 * is proven, and which is written and read back as itself.
 */
#include "decision.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_row(const struct decision_table *table, const struct decision_row *row)
{
    require(row->nr_points > 0 && row->first_point + row->nr_points <= table->nr_points);
    const struct decision_point *points = table->points + row->first_point;
    for (size_t i = 0; i < row->nr_points; i++) {
        require(points[i].proven && points[i].gain.low > 0);
        require(candidate_equal(&points[i].choice, &row->choice));
        require(points[i].key.bytes >= row->first_bytes && points[i].key.bytes <= row->last_bytes);
    }
}

static char *text_of(const struct decision_table *table)
{
    struct json *json = decision_to_json(table);
    char *text = json_to_text(json, 0);
    json_free(json);
    return text;
}

static void check_round_trip(const struct decision_table *table)
{
    struct error error = ERROR_NONE;
    struct decision_table again;
    char *text = text_of(table);
    struct json *json = json_parse(text, strlen(text), "text", &error);
    require(json && decision_from_json(json, &again, &error) == 0);
    char *text_again = text_of(&again);
    require(!strcmp(text, text_again));
    free(text);
    free(text_again);
    json_free(json);
    decision_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = ERROR_NONE;
    struct decision_table table;
    struct json *json = json_parse((const char *)data, size, "input", &error);
    if (!json) {
        return 0;
    }
    if (decision_from_json(json, &table, &error)) {
        require(error.status == EXIT_INPUT && error.message[0]);
        json_free(json);
        return 0;
    }
    json_free(json); /* nothing may be borrowed from it */
    for (size_t r = 0; r < table.nr_rows; r++) {
        check_row(&table, &table.rows[r]);
    }
    check_round_trip(&table);
    decision_release(&table);
    return 0;
}
