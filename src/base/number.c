/* number.c - see number.h. The grammar is checked here, the conversion is the C library's, under
 * the C locale (which newlocale gives without allocating). */
#include "number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* The end of the number at the front of `text`, or `text` itself where none starts. */
static const char *number_end(const char *text)
{
    const char *end = skip_digits(text);
    if (*end == '.') {
        const char *fraction_end = skip_digits(end + 1);
        if (fraction_end > end + 1)
            end = fraction_end;
    }
    if (end > text && (*end == 'e' || *end == 'E')) {
        const char *exponent = end + 1;
        if (*exponent == '+' || *exponent == '-')
            exponent++;
        const char *exponent_end = skip_digits(exponent);
        if (exponent_end > exponent)
            end = exponent_end;
    }
    return end;
}

const char *number_scan(const char *text, double *value)
{
    const char *end = number_end(text);
    if (end == text)
        return NULL;
    /* "0x10" has the number 0 in front, but strtod would read on: it gets the checked part only. */
    if (end == text + 1) {
        *value = *text - '0';
        return end;
    }
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return end;
}

char *number_format(double value, int digits, char *buffer)
{
    if (digits > 20)
        digits = 20;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c_locale);
    snprintf(buffer, NUMBER_TEXT, "%.*f", digits < 0 ? 0 : digits, value);
    uselocale(before);
    freelocale(c_locale);
    return buffer;
}
