/* fuzz_json.c - any bytes as JSON: a worded error, or a value whose text reads back as itself. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_text(const struct json *value, unsigned indent)
{
    struct error error = ERROR_NONE;
    char *text = json_to_text(value, indent);
    struct json *again = json_parse(text, strlen(text), "text", &error);
    require(again != NULL && json_is_equal(value, again));
    char *text_again = json_to_text(again, indent);
    require(strcmp(text, text_again) == 0);
    free(text_again);
    json_free(again);
    free(text);
}

static void look_at_members(const struct json *value)
{
    void *iterator = NULL;
    const char *key = NULL;
    const struct json *member = NULL;
    size_t nr = 0;
    while (json_is_object(value) && json_next(value, &iterator, &key, &member)) {
        require(json_get(value, key) == member);
        json_get_text(value, key, "");
        json_get_number(value, key, 0);
        json_get_integer(value, key, 0);
        json_get_bool(value, key, false);
        nr++;
    }
    require(!json_is_object(value) || nr == json_length(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = ERROR_NONE;
    struct json *value = json_parse((const char *)data, size, "input", &error);
    if (!value) {
        require(error.status == EXIT_INPUT && strncmp(error.message, "input:", 6) == 0);
        return 0;
    }
    check_text(value, 0);
    check_text(value, 2);
    look_at_members(value);
    struct json *copy = json_make_copy(value);
    require(json_is_equal(value, copy));
    json_free(copy);
    json_free(value);
    return 0;
}
