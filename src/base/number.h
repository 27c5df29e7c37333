/* number.h - decimal numbers in and out, the same under every locale.
 *
 * strtod and printf read the decimal point from the locale; a table that says "1,5" to one user is
 * no CSV, and a file with "1.5" would be refused. These two always mean the C locale.
 */
#ifndef CCLTUNE_NUMBER_H
#define CCLTUNE_NUMBER_H

#include <stddef.h>

/* Reads digits[.digits][e[+-]digits] at the front of `text`: no sign, no space, no hexadecimal, no
 * "inf". Returns what follows, or NULL where no number starts. Too large reads as infinity. */
const char *number_scan(const char *text, double *value);

/* "%.<digits>f" into `buffer`, which is returned; NUMBER_TEXT bytes hold every double with up to
 * 20 decimals (more are cut to 20). */
#define NUMBER_TEXT 344
char *number_format(double value, int digits, char *buffer);

#endif
