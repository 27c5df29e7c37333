/* arena.h - memory of objects that live and die together.
 *
 * An arena hands out zeroed memory and takes it all back at once. Out of memory ends the
 * program with a message (this is a program, not a library). Start from ARENA_EMPTY or {0}.
 */
#ifndef CCLTUNE_ARENA_H
#define CCLTUNE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first; owned */
};

#define ARENA_EMPTY ((struct arena){NULL})

/* nr x size zeroed bytes, aligned for any type; never NULL. Overflow of the product ends the
 * program. Belongs to the arena. */
void *arena_alloc(struct arena *arena, size_t nr, size_t size);

/* A copy of `text` (arena_strdup) or of its first `length` bytes, ended by a zero. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);

/* printf into the arena. */
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Gives everything back; the arena is empty and usable again. */
void arena_release(struct arena *arena);

/* Ends the program as the functions above do; for those who allocate by other means. */
_Noreturn void arena_out_of_memory(void);

/* A growing array outside any arena: makes room for one more element of `size` bytes.
 * `*items` is malloc'ed, `*capacity` its length in elements; free with free(). */
void array_grow(void **items, size_t *capacity, size_t nr, size_t size);

#endif
