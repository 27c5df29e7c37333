/* units.c - quantities with their units: a number, an optional space, a suffix from a table.
 *
 * Every kind of quantity is one table of suffixes, so that what is accepted can be read off, and
 * one example, so that every error shows what would have been right.
 */
#include "units.h"

#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct suffix {
    const char *text; /* NULL ends the table */
    double factor;    /* to base units */
};

struct quantity {
    const char *expected; /* "a size such as ..." */
    const struct suffix *suffixes;
    bool any_case;  /* "4m" is "4M" */
    bool bare_fine; /* a number without suffix is in base units */
};

#define KIBI 1024.0
#define MEBI (1024.0 * KIBI)
#define GIBI (1024.0 * MEBI)
#define TEBI (1024.0 * GIBI)

static const struct suffix size_suffixes[] = {
    {"B", 1},     {"K", KIBI},   {"KB", KIBI},  {"KiB", KIBI}, {"M", MEBI},
    {"MB", MEBI}, {"MiB", MEBI}, {"G", GIBI},   {"GB", GIBI},  {"GiB", GIBI},
    {"T", TEBI},  {"TB", TEBI},  {"TiB", TEBI}, {NULL, 0},
};

/* In files, too, KB is 1024 bytes: a size must not mean two things in one program. */
static const struct suffix bytes_suffixes[] = {
    {"B", 1},     {"KB", KIBI},  {"kB", KIBI}, {"KiB", KIBI}, {"MB", MEBI}, {"MiB", MEBI},
    {"GB", GIBI}, {"GiB", GIBI}, {"TB", TEBI}, {"TiB", TEBI}, {NULL, 0},
};

static const struct suffix time_suffixes[] = {
    {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"h", 3600}, {NULL, 0},
};

/* Case matters: b is a bit, B a byte. */
static const struct suffix bandwidth_suffixes[] = {
    {"B/s", 1},          {"KB/s", 1e3},       {"kB/s", 1e3},        {"MB/s", 1e6},
    {"GB/s", 1e9},       {"TB/s", 1e12},      {"KiB/s", KIBI},      {"MiB/s", MEBI},
    {"GiB/s", GIBI},     {"TiB/s", TEBI},     {"b/s", 1 / 8.0},     {"Kb/s", 1e3 / 8},
    {"kb/s", 1e3 / 8},   {"Mb/s", 1e6 / 8},   {"Gb/s", 1e9 / 8},    {"Tb/s", 1e12 / 8},
    {"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}, {"Tbit/s", 1e12 / 8}, {NULL, 0},
};

static const struct quantity size_quantity = {
    "a size such as 8, 32K or 4 MiB (K, M, G, T are powers of 1024)", size_suffixes, true, true};
static const struct quantity seconds_quantity = {
    "a time such as 30, 90s, 5m or 250ms (a bare number is seconds)", time_suffixes, true, true};
static const struct quantity bandwidth_quantity = {
    "a bandwidth with a unit such as 25 GB/s or 400 Gb/s", bandwidth_suffixes, false, false};
static const struct quantity duration_quantity = {"a time with a unit such as 1.3 us",
                                                  time_suffixes, false, false};
static const struct quantity bytes_quantity = {"a size with a unit such as 4 MiB or 512 B",
                                               bytes_suffixes, false, false};

static int quantity_error(const struct quantity *quantity, const char *text, struct error *error,
                          const char *reason)
{
    return error_set(error, EXIT_INPUT, "expected %s, found '%.60s': %s", quantity->expected, text,
                     reason);
}

static const struct suffix *find_suffix(const struct quantity *quantity, const char *text)
{
    for (const struct suffix *suffix = quantity->suffixes; suffix->text != NULL; suffix++) {
        int differs =
            quantity->any_case ? strcasecmp(suffix->text, text) : strcmp(suffix->text, text);
        if (differs == 0)
            return suffix;
    }
    return NULL;
}

/* Why no number stands at the front of `text`. */
static const char *no_number_reason(const char *text)
{
    if (*text == '\0')
        return "it is empty";
    if (*text == '-')
        return "it may not be negative";
    return "it does not start with a number";
}

/* Splits `text` into its number and the factor of its unit (1 for a bare number). */
static int quantity_scan(const struct quantity *quantity, const char *text, double *number,
                         double *factor, struct error *error)
{
    const char *rest = number_scan(text, number);
    if (rest == NULL)
        return quantity_error(quantity, text, error, no_number_reason(text));
    if (*rest == '\0') {
        *factor = 1;
        return quantity->bare_fine ? 0 : quantity_error(quantity, text, error, "it has no unit");
    }
    while (*rest == ' ')
        rest++;
    const struct suffix *suffix = find_suffix(quantity, rest);
    if (suffix == NULL)
        return quantity_error(quantity, text, error, "the unit is unknown");
    *factor = suffix->factor;
    return 0;
}

static int quantity_parse(const struct quantity *quantity, const char *text, double *value,
                          struct error *error)
{
    double number, factor;
    if (quantity_scan(quantity, text, &number, &factor, error) != 0)
        return -1;
    if (!isfinite(number * factor))
        return quantity_error(quantity, text, error, "it is too large");
    *value = number * factor;
    return 0;
}

/* The digits in front as an integer; false where they do not fit in 63 bits. */
static bool scan_whole(const char *text, uint64_t *whole)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *whole = value;
    return true;
}

/* Whole numbers are multiplied as integers, since a double holds only 53 bits of them; a fraction
 * of a unit is rounded to the nearest byte. */
static int quantity_parse_bytes(const struct quantity *quantity, const char *text, uint64_t *bytes,
                                struct error *error)
{
    double number, factor;
    if (quantity_scan(quantity, text, &number, &factor, error) != 0)
        return -1;
    const char *mantissa_end = text + strspn(text, "0123456789.");
    if (*mantissa_end == 'e' || *mantissa_end == 'E')
        return quantity_error(quantity, text, error, "exponents are not understood here");
    if (text[strspn(text, "0123456789")] == '.') {
        if (factor <= 1)
            return quantity_error(quantity, text, error, "a fraction of a byte");
        if (number * factor >= 0x1p63)
            return quantity_error(quantity, text, error, "it is over 2^63-1 bytes");
        *bytes = (uint64_t)llround(number * factor);
        return 0;
    }
    uint64_t whole;
    if (!scan_whole(text, &whole) || whole > (uint64_t)INT64_MAX / (uint64_t)factor)
        return quantity_error(quantity, text, error, "it is over 2^63-1 bytes");
    *bytes = whole * (uint64_t)factor;
    return 0;
}

int units_parse_size(const char *text, uint64_t *bytes, struct error *error)
{
    return quantity_parse_bytes(&size_quantity, text, bytes, error);
}

int units_parse_bytes(const char *text, uint64_t *bytes, struct error *error)
{
    return quantity_parse_bytes(&bytes_quantity, text, bytes, error);
}

int units_parse_seconds(const char *text, double *seconds, struct error *error)
{
    return quantity_parse(&seconds_quantity, text, seconds, error);
}

int units_parse_duration(const char *text, double *seconds, struct error *error)
{
    return quantity_parse(&duration_quantity, text, seconds, error);
}

int units_parse_bandwidth(const char *text, double *bytes_per_second, struct error *error)
{
    return quantity_parse(&bandwidth_quantity, text, bytes_per_second, error);
}

char *units_format_bytes(uint64_t bytes, char *buffer)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t power = 0;
    while (power + 1 < sizeof names / sizeof *names && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        power++;
    }
    snprintf(buffer, UNITS_TEXT, "%llu %s", (unsigned long long)bytes, names[power]);
    return buffer;
}

/* Three significant digits or more, and never more than a reader compares: 1.23, 12.3, 123. */
static char *format_scaled(double value, const char *unit, char *buffer)
{
    char number[NUMBER_TEXT];
    double size = fabs(value);
    if (!isfinite(value) || size >= 1e15) {
        snprintf(buffer, UNITS_TEXT, "%s", isfinite(value) ? "very large" : "N/A");
        return buffer;
    }
    number_format(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, number);
    snprintf(buffer, UNITS_TEXT, "%.20s %s", number, unit);
    return buffer;
}

char *units_format_seconds(double seconds, char *buffer)
{
    double size = fabs(seconds);
    if (size < 0.9995e-3)
        return format_scaled(seconds * 1e6, "us", buffer);
    if (size < 0.9995)
        return format_scaled(seconds * 1e3, "ms", buffer);
    return format_scaled(seconds, "s", buffer);
}

char *units_format_bandwidth(double bytes_per_second, char *buffer)
{
    return format_scaled(bytes_per_second / 1e9, "GB/s", buffer);
}
