/* mpi_control.h - MPI_T control variables by name, their legal values by name.
 *
 * MPICH describes an algorithm variable's values in its text, in the order of their numbers:
 * "Variable to select ... algorithm auto - ... nb - Force ... smp - Force ...". The library itself
 * thus says which numbers are legal; others abort the process.
 */
#ifndef CCLTUNE_MPI_CONTROL_H
#define CCLTUNE_MPI_CONTROL_H

#include "error.h"
#include "json.h"

#include <mpi.h>

#define CONTROL_VALUES 24

struct control { /* one integer variable that can be written at run time */
    char name[96];
    MPI_T_cvar_handle handle;
    char values[CONTROL_VALUES][64]; /* legal values by number */
    int nr_values;
    int current;
};

struct controls {
    struct control *items; /* malloc'ed */
    size_t nr;
};

/* Finds all variables whose name ends in `suffix` and whose values are named. Per process. */
int control_open(struct controls *controls, const char *suffix, struct error *error);
void control_close(struct controls *controls);

/* {NAME: [values]}; free with json_free. */
struct json *control_describe(const struct controls *controls);

/* Writes a value by its name; unknown names are refused, never tried. */
int control_write(struct controls *controls, const char *name, const char *value,
                  struct error *error);

/* Takes every written variable back to what it was at the start. */
int control_restore(struct controls *controls, struct error *error);

/* The names of values in a description, in order; returns how many. For tests, no MPI needed. */
int control_parse_values(const char *description, char values[CONTROL_VALUES][64]);

#endif
