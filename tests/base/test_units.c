/* test_units.c - quantities: what is accepted, what is refused with which reason, round trips. */
#include "units.h"

#include "number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

static void assert_close(const char *what, double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-15 * fabs(expected)))
        fail_msg("%s: found %.17g, expected %.17g", what, found, expected);
}

static void sizes_mean_what_nccl_tests_means(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"8", 8},
        {"8B", 8},
        {"32K", 32 * KIB},
        {"32k", 32 * KIB},
        {"32KB", 32 * KIB},
        {"32 KiB", 32 * KIB},
        {"1M", MIB},
        {"4 MiB", 4 * MIB},
        {"1.5M", 3 * MIB / 2},
        {"0.5k", 512},
        {"0.001K", 1},
        {"4G", 4 * GIB},
        {"2T", 2 * TIB},
        {"007", 7},
        {"9007199254740993", 9007199254740993u}, /* a double would lose the last digit */
        {"9223372036854775807", INT64_MAX},
        {"8388607T", 8388607 * TIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = ERROR_NONE;
        uint64_t bytes = 1;
        if (units_parse_size(cases[i].text, &bytes, &error) != 0)
            fail_msg("%s: %s", cases[i].text, error.message);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

typedef int parse_bytes(const char *text, uint64_t *bytes, struct error *error);
typedef int parse_double(const char *text, double *value, struct error *error);

struct refusal {
    const char *text, *reason;
};

static void check_error(const char *text, const char *reason, const struct error *error)
{
    assert_int_equal(error->status, EXIT_INPUT);
    if (strstr(error->message, reason) == NULL || strstr(error->message, "expected a ") == NULL)
        fail_msg("'%s': message '%s' lacks '%s'", text, error->message, reason);
}

static void refuse_bytes(parse_bytes *parse, const struct refusal *refusals)
{
    for (const struct refusal *refusal = refusals; refusal->text != NULL; refusal++) {
        struct error error = ERROR_NONE;
        uint64_t bytes = 42;
        if (parse(refusal->text, &bytes, &error) != -1)
            fail_msg("'%s' was accepted as %llu", refusal->text, (unsigned long long)bytes);
        assert_int_equal(bytes, 42);
        check_error(refusal->text, refusal->reason, &error);
    }
}

static void refuse_double(parse_double *parse, const struct refusal *refusals)
{
    for (const struct refusal *refusal = refusals; refusal->text != NULL; refusal++) {
        struct error error = ERROR_NONE;
        double value = 42;
        if (parse(refusal->text, &value, &error) != -1)
            fail_msg("'%s' was accepted as %g", refusal->text, value);
        assert_true(value >= 42 && value <= 42);
        check_error(refusal->text, refusal->reason, &error);
    }
}

static void wrong_sizes_are_refused_with_a_reason(void **state)
{
    (void)state;
    refuse_bytes(units_parse_size, (const struct refusal[]){
                                       {"", "empty"},
                                       {"-1", "negative"},
                                       {"-4M", "negative"},
                                       {"K", "start with a number"},
                                       {" 4M", "start with a number"},
                                       {"+4M", "start with a number"},
                                       {"4M ", "unit is unknown"},
                                       {"25.5x", "unit is unknown"},
                                       {"4MM", "unit is unknown"},
                                       {"4P", "unit is unknown"},
                                       {"0x10", "unit is unknown"},
                                       {"1,5M", "unit is unknown"},
                                       {"4M 2K", "unit is unknown"},
                                       {"nan", "start with a number"},
                                       {"inf", "start with a number"},
                                       {"1.5", "fraction of a byte"},
                                       {"1.5B", "fraction of a byte"},
                                       {"1e3", "exponent"},
                                       {"1.5e3M", "exponent"},
                                       {"9223372036854775808", "2^63-1"},
                                       {"99999999999999999999999999", "2^63-1"},
                                       {"8388608T", "2^63-1"},
                                       {"8388608.5T", "2^63-1"},
                                       {NULL, NULL},
                                   });
}

static void bytes_in_files_need_their_unit(void **state)
{
    (void)state;
    struct error error = ERROR_NONE;
    uint64_t bytes;
    assert_int_equal(units_parse_bytes("4 MiB", &bytes, &error), 0);
    assert_int_equal(bytes, 4 * MIB);
    assert_int_equal(units_parse_bytes("64 KB", &bytes, &error), 0);
    assert_int_equal(bytes, 64 * KIB);
    assert_int_equal(units_parse_bytes("512B", &bytes, &error), 0);
    assert_int_equal(bytes, 512);
    refuse_bytes(units_parse_bytes, (const struct refusal[]){
                                        {"4194304", "no unit"},
                                        {"4M", "unit is unknown"},
                                        {"4 mib", "unit is unknown"},
                                        {"4 Mb", "unit is unknown"},
                                        {"", "empty"},
                                        {"-4 MiB", "negative"},
                                        {NULL, NULL},
                                    });
}

static void times_on_the_command_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {
        {"30", 30},     {"90s", 90},     {"5m", 300},     {"250ms", 0.25},  {"2 h", 7200},
        {"1.5h", 5400}, {"10us", 10e-6}, {"3 ns", 3e-9},  {"0", 0},         {".5", 0.5},
        {"1e-3", 1e-3}, {"2E2", 200},    {"1e1ms", 1e-2}, {"0.25 S", 0.25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = ERROR_NONE;
        double seconds;
        if (units_parse_seconds(cases[i].text, &seconds, &error) != 0)
            fail_msg("%s: %s", cases[i].text, error.message);
        assert_close(cases[i].text, seconds, cases[i].seconds);
    }
    refuse_double(units_parse_seconds, (const struct refusal[]){
                                           {"", "empty"},
                                           {"-1", "negative"},
                                           {"5x", "unit is unknown"},
                                           {"5.", "unit is unknown"},
                                           {"5 min", "unit is unknown"},
                                           {"1e", "unit is unknown"},
                                           {"0x10", "unit is unknown"},
                                           {"inf", "start with a number"},
                                           {"nan", "start with a number"},
                                           {"1e999", "too large"},
                                           {"1e308h", "too large"},
                                           {NULL, NULL},
                                       });
}

static void quantities_in_files(void **state)
{
    (void)state;
    static const struct {
        parse_double *parse;
        const char *text;
        double value;
    } cases[] = {
        {units_parse_bandwidth, "400 Gb/s", 50e9},
        {units_parse_bandwidth, "25.5 GB/s", 25.5e9},
        {units_parse_bandwidth, "32 GiB/s", 32.0 * 1073741824},
        {units_parse_bandwidth, "400Gbit/s", 50e9},
        {units_parse_bandwidth, "100 MB/s", 100e6},
        {units_parse_bandwidth, "1 B/s", 1},
        {units_parse_bandwidth, "8 b/s", 1},
        {units_parse_duration, "1.3 us", 1.3e-6},
        {units_parse_duration, "250 ns", 250e-9},
        {units_parse_duration, "2 m", 120},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = ERROR_NONE;
        double value;
        if (cases[i].parse(cases[i].text, &value, &error) != 0)
            fail_msg("%s: %s", cases[i].text, error.message);
        assert_close(cases[i].text, value, cases[i].value);
    }
}

static void wrong_quantities_in_files_are_refused(void **state)
{
    (void)state;
    refuse_double(units_parse_bandwidth, (const struct refusal[]){
                                             {"25", "no unit"},
                                             {"25 gb/s", "unit is unknown"},
                                             {"25 GB", "unit is unknown"},
                                             {"25 Gbps", "unit is unknown"},
                                             {"25.5x", "unit is unknown"},
                                             {"GB/s", "start with a number"},
                                             {"-1 GB/s", "negative"},
                                             {NULL, NULL},
                                         });
    refuse_double(units_parse_duration, (const struct refusal[]){
                                            {"1.3", "no unit"},
                                            {"1.3 US", "unit is unknown"},
                                            {"1.3 us ", "unit is unknown"},
                                            {NULL, NULL},
                                        });
}

static void sizes_print_exactly(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {8, "8 B"},
        {1000, "1000 B"},
        {1024, "1 KiB"},
        {1536, "1536 B"},
        {4 * MIB, "4 MiB"},
        {3 * GIB, "3 GiB"},
        {TIB, "1 TiB"},
        {MIB + 1, "1048577 B"},
        {2048 * TIB, "2048 TiB"},
        {UINT64_MAX, "18446744073709551615 B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[UNITS_TEXT];
        assert_string_equal(units_format_bytes(cases[i].bytes, buffer), cases[i].text);
        struct error error = ERROR_NONE;
        uint64_t bytes;
        if (cases[i].bytes <= INT64_MAX) { /* and read back as what they were */
            assert_int_equal(units_parse_bytes(buffer, &bytes, &error), 0);
            assert_int_equal(bytes, cases[i].bytes);
        }
    }
}

static void times_and_bandwidths_print_three_digits(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } times[] = {
        {0, "0.00 us"},       {1.234e-6, "1.23 us"}, {12.34e-6, "12.3 us"}, {123.4e-6, "123 us"},
        {999.4e-6, "999 us"}, {999.7e-6, "1.00 ms"}, {1.5e-3, "1.50 ms"},   {2, "2.00 s"},
        {0.9999, "1.00 s"},   {-1.5e-3, "-1.50 ms"}, {12345, "12345 s"},    {9.997, "10.0 s"},
        {99.97, "100 s"},     {1e300, "very large"}, {NAN, "N/A"},          {INFINITY, "N/A"},
    };
    char buffer[UNITS_TEXT];
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(units_format_seconds(times[i].seconds, buffer), times[i].text);
    assert_string_equal(units_format_bandwidth(25.5e9, buffer), "25.5 GB/s");
    assert_string_equal(units_format_bandwidth(1.234e9, buffer), "1.23 GB/s");
    assert_string_equal(units_format_bandwidth(400e9, buffer), "400 GB/s");
    assert_string_equal(units_format_bandwidth(NAN, buffer), "N/A");
}

static void numbers_keep_their_point_under_any_locale(void **state)
{
    (void)state;
    /* The second may not be installed; what must hold is the same. */
    static const char *const locales[] = {"C", "de_DE.UTF-8", ""};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        setlocale(LC_ALL, locales[i]);
        struct error error = ERROR_NONE;
        double value;
        char buffer[NUMBER_TEXT];
        assert_int_equal(units_parse_bandwidth("25.5 GB/s", &value, &error), 0);
        assert_close(locales[i], value, 25.5e9);
        assert_int_equal(units_parse_bandwidth("25,5 GB/s", &value, &error), -1);
        assert_string_equal(number_format(1234567.25, 2, buffer), "1234567.25");
        assert_string_equal(units_format_seconds(1.5e-3, buffer), "1.50 ms");
    }
    setlocale(LC_ALL, "C");
}

static void numbers_of_any_size_fit(void **state)
{
    (void)state;
    char buffer[NUMBER_TEXT];
    assert_int_equal(strlen(number_format(-1.7e308, 99, buffer)), 1 + 309 + 1 + 20);
    assert_string_equal(number_format(2.5, -3, buffer), "2");
    assert_string_equal(number_format(NAN, 2, buffer), "nan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_mean_what_nccl_tests_means),
        cmocka_unit_test(wrong_sizes_are_refused_with_a_reason),
        cmocka_unit_test(bytes_in_files_need_their_unit),
        cmocka_unit_test(times_on_the_command_line),
        cmocka_unit_test(quantities_in_files),
        cmocka_unit_test(wrong_quantities_in_files_are_refused),
        cmocka_unit_test(sizes_print_exactly),
        cmocka_unit_test(times_and_bandwidths_print_three_digits),
        cmocka_unit_test(numbers_keep_their_point_under_any_locale),
        cmocka_unit_test(numbers_of_any_size_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
