/* units.h - quantities with their units, strictly: "25.5x" is an error, never 25.5. */
#ifndef CCLTUNE_UNITS_H
#define CCLTUNE_UNITS_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* A size on the command line, with nccl-tests' meaning: a bare number is bytes; K, M, G, T (any
 * case, an optional "B" or "iB") are powers of 1024. Fractions only with a suffix ("1.5M").
 * Negative, empty, over 2^63-1: errors of status EXIT_INPUT. */
int units_parse_size(const char *text, uint64_t *bytes, struct error *error);

/* Time on the command line: a bare number is seconds; ms, us, ns, s, m, h. Not negative. */
int units_parse_seconds(const char *text, double *seconds, struct error *error);

/* Quantities in files: the unit is compulsory, a bare number is an error.
 * bandwidth: "400 Gb/s", "25.5 GB/s", "32 GiB/s" -> bytes per second (Gb/s = 1e9 bits);
 * duration: "1.3 us" -> seconds; bytes: "4 MiB", "64 KB" -> bytes; frequency: "2.4 GHz" -> Hz. */
int units_parse_bandwidth(const char *text, double *bytes_per_second, struct error *error);
int units_parse_duration(const char *text, double *seconds, struct error *error);
int units_parse_bytes(const char *text, uint64_t *bytes, struct error *error);

/* Text for people; `buffer` of UNITS_TEXT bytes is returned. Sizes exactly where a power of 1024
 * divides them ("4 MiB", "1000 B"); times in us/ms/s; bandwidths in GB/s. */
#define UNITS_TEXT 32
char *units_format_bytes(uint64_t bytes, char *buffer);
char *units_format_seconds(double seconds, char *buffer);
char *units_format_bandwidth(double bytes_per_second, char *buffer);

#endif
