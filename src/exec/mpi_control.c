/* mpi_control.c - the MPI tools interface, for MPICH's algorithm variables. */
#include "mpi_control.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Value names are words of letters, digits and _ followed by blanks and "- ". MPICH 4.0.2 runs
 * lines together: "...algorithmauto - Internal", so the first name is looked for as "auto". */
int control_parse_values(const char *description, char values[CONTROL_VALUES][64])
{
    int nr = 0;
    const char *at = strstr(description, "auto ");
    if (!at) {
        return 0;
    }
    snprintf(values[nr++], 64, "auto");
    at += 4;
    while ((at = strstr(at, "- "))) {
        const char *end = at;
        while (end > description && end[-1] == ' ') {
            end--;
        }
        const char *start = end;
        while (start > description && (isalnum((unsigned char)start[-1]) || start[-1] == '_')) {
            start--;
        }
        at += 2;
        /* the text before a name ends in a word run together with it: "algorithmnb   - Force" */
        const char *glued = NULL;
        static const char *const tails[] = {"algorithm", "Tree", "Allgather", "Ring", "FILE)"};
        for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
            size_t length = strlen(tails[t]);
            if ((size_t)(end - start) > length && !strncmp(start, tails[t], length)) {
                glued = start + length;
            }
        }
        start = glued ? glued : start;
        size_t length = (size_t)(end - start);
        if (length == 0 || length >= 64 || end == at - 2 || nr == CONTROL_VALUES ||
            (length == 4 && !strncmp(start, "auto", 4))) {
            continue;
        }
        memcpy(values[nr], start, length);
        values[nr++][length] = 0;
    }
    return nr;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t a = strlen(text), b = strlen(suffix);
    return a >= b && !strcmp(text + a - b, suffix);
}

/* Newer libraries name the values in an MPI_T enumeration. */
static int values_of_enum(MPI_T_enum type, struct control *control)
{
    int nr = 0, length = 64;
    char name[64];
    if (type == MPI_T_ENUM_NULL || MPI_T_enum_get_info(type, &nr, name, &length) != MPI_SUCCESS) {
        return 0;
    }
    for (int i = 0; i < nr && i < CONTROL_VALUES; i++) {
        int value;
        length = 64;
        MPI_T_enum_get_item(type, i, &value, control->values[i], &length);
    }
    return nr < CONTROL_VALUES ? nr : CONTROL_VALUES;
}

static bool open_one(int index, const char *suffix, struct control *control)
{
    enum { TEXT = 8192 };
    char *text = malloc(TEXT);
    int name_length = sizeof control->name, text_length = TEXT, verbosity, binding, scope, count;
    MPI_Datatype datatype;
    MPI_T_enum type = MPI_T_ENUM_NULL;
    if (!text) {
        abort();
    }
    int code = MPI_T_cvar_get_info(index, control->name, &name_length, &verbosity, &datatype, &type,
                                   text, &text_length, &binding, &scope);
    bool usable = code == MPI_SUCCESS && ends_with(control->name, suffix) && datatype == MPI_INT;
    if (usable) {
        control->nr_values = values_of_enum(type, control);
        if (control->nr_values == 0) {
            control->nr_values = control_parse_values(text, control->values);
        }
        usable = control->nr_values > 1 &&
                 MPI_T_cvar_handle_alloc(index, NULL, &control->handle, &count) == MPI_SUCCESS &&
                 count == 1 && MPI_T_cvar_read(control->handle, &control->current) == MPI_SUCCESS;
    }
    free(text);
    return usable;
}

int control_open(struct controls *controls, const char *suffix, struct error *error)
{
    int provided, nr = 0;
    *controls = (struct controls){NULL, 0};
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        MPI_T_cvar_get_num(&nr) != MPI_SUCCESS) {
        return error_set(error, EXIT_ABSENT, "this MPI offers no control variables (MPI_T)");
    }
    controls->items = calloc((size_t)nr + 1, sizeof *controls->items);
    if (!controls->items) {
        abort();
    }
    for (int i = 0; i < nr; i++) {
        struct control *control = &controls->items[controls->nr];
        if (open_one(i, suffix, control)) {
            controls->nr++;
        } else {
            memset(control, 0, sizeof *control);
        }
    }
    return 0;
}

void control_close(struct controls *controls)
{
    for (size_t i = 0; i < controls->nr; i++) {
        MPI_T_cvar_handle_free(&controls->items[i].handle);
    }
    free(controls->items);
    *controls = (struct controls){NULL, 0};
    MPI_T_finalize();
}

struct json *control_describe(const struct controls *controls)
{
    struct json *object = json_make_object();
    for (size_t i = 0; i < controls->nr; i++) {
        struct json *values = json_make_array();
        for (int v = 0; v < controls->items[i].nr_values; v++) {
            json_append(values, json_make_text(controls->items[i].values[v]));
        }
        json_put(object, controls->items[i].name, values);
    }
    return object;
}

int control_write(struct controls *controls, const char *name, const char *value,
                  struct error *error)
{
    for (size_t i = 0; i < controls->nr; i++) {
        struct control *control = &controls->items[i];
        if (strcmp(control->name, name)) {
            continue;
        }
        for (int v = 0; v < control->nr_values; v++) {
            if (!strcmp(control->values[v], value)) {
                return MPI_T_cvar_write(control->handle, &v) == MPI_SUCCESS
                           ? 0
                           : error_set(error, EXIT_SYSTEM, "%s cannot be written", name);
            }
        }
        return error_set(error, EXIT_ABSENT, "%s: this library knows no value '%s'", name, value);
    }
    return error_set(error, EXIT_ABSENT, "this library has no control variable %s", name);
}

int control_restore(struct controls *controls, struct error *error)
{
    for (size_t i = 0; i < controls->nr; i++) {
        if (MPI_T_cvar_write(controls->items[i].handle, &controls->items[i].current)) {
            return error_set(error, EXIT_SYSTEM, "%s cannot be written back",
                             controls->items[i].name);
        }
    }
    return 0;
}
