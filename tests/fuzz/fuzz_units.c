/* fuzz_units.c - any text as every kind of quantity: a worded error, or a sane value that its own
 * text gives back. */
#include "number.h"
#include "units.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_error(const struct error *error)
{
    require(error->status == EXIT_INPUT && strncmp(error->message, "expected a ", 11) == 0);
}

static void check_bytes(int parse(const char *, uint64_t *, struct error *), const char *text)
{
    struct error error = ERROR_NONE;
    uint64_t bytes = 0, again = 0;
    if (parse(text, &bytes, &error) != 0) {
        require_error(&error);
        return;
    }
    char buffer[UNITS_TEXT];
    require(bytes <= INT64_MAX);
    require(units_parse_bytes(units_format_bytes(bytes, buffer), &again, &error) == 0);
    require(again == bytes);
}

/* Text for people has two decimals of `unit`, or three digits. */
static void check_double(int parse(const char *, double *, struct error *),
                         char *format(double, char *), double unit, const char *text)
{
    struct error error = ERROR_NONE;
    double value = 0, again = 0;
    if (parse(text, &value, &error) != 0) {
        require_error(&error);
        return;
    }
    char buffer[UNITS_TEXT];
    require(isfinite(value) && value >= 0);
    if (strcmp(format(value, buffer), "very large") != 0) {
        require(parse(buffer, &again, &error) == 0);
        require(fabs(again - value) <= 0.0051 * value + 0.0051 * unit);
    }
}

static void check_number(const char *text)
{
    double value = 0, again = 0;
    const char *rest = number_scan(text, &value);
    if (rest == NULL)
        return;
    require(rest > text && rest <= text + strlen(text));
    require(value >= 0 && !isnan(value));
    char buffer[NUMBER_TEXT];
    number_format(value, 20, buffer);
    if (isfinite(value)) {
        const char *end = number_scan(buffer, &again);
        require(end != NULL && *end == '\0');
        require(fabs(again - value) <= 1e-15 * value + 1e-20);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    check_bytes(units_parse_size, text);
    check_bytes(units_parse_bytes, text);
    check_double(units_parse_seconds, units_format_seconds, 1e-6, text);
    check_double(units_parse_duration, units_format_seconds, 1e-6, text);
    check_double(units_parse_bandwidth, units_format_bandwidth, 1e9, text);
    check_number(text);
    free(text);
    return 0;
}
