/* arena.c - memory in blocks that grow; see arena.h.
 *
 * A block is as large as all before it (within bounds), so that small arenas stay small and large
 * ones take few calls. Blocks come zeroed from calloc and are never reused, so what is handed out
 * is zero without another pass.
 */
#include "arena.h"

#include "error.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_LEAST = 1 << 12, BLOCK_MOST = 1 << 20, ALIGNMENT = _Alignof(max_align_t) };

struct arena_block {
    struct arena_block *next;
    size_t used, capacity; /* bytes */
    max_align_t data[];
};

void arena_out_of_memory(void)
{
    fputs("ccltune: out of memory\n", stderr);
    exit(EXIT_SYSTEM);
}

static struct arena_block *add_block(struct arena *arena, size_t bytes)
{
    size_t capacity = arena->blocks ? 2 * arena->blocks->capacity : BLOCK_LEAST;
    if (capacity > BLOCK_MOST) {
        capacity = BLOCK_MOST;
    }
    if (capacity < bytes) {
        capacity = bytes;
    }
    if (capacity > SIZE_MAX - sizeof(struct arena_block)) {
        arena_out_of_memory();
    }
    struct arena_block *block = calloc(1, sizeof *block + capacity);
    if (!block) {
        arena_out_of_memory();
    }
    *block = (struct arena_block){.next = arena->blocks, .capacity = capacity};
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t nr, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(nr, size, &bytes) || bytes > SIZE_MAX / 4) {
        arena_out_of_memory();
    }
    /* An empty request takes room too: every pointer is another. */
    bytes = bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < bytes) {
        block = add_block(arena, bytes);
    }
    void *memory = (unsigned char *)block->data + block->used;
    block->used += bytes;
    return memory;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        arena_out_of_memory();
    }
    char *text = arena_alloc(arena, (size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

void array_grow(void **items, size_t *capacity, size_t nr, size_t size)
{
    if (nr < *capacity) {
        return;
    }
    size_t wanted, bytes;
    if (__builtin_add_overflow(nr, nr / 2 + 8, &wanted) ||
        __builtin_mul_overflow(wanted, size, &bytes)) {
        arena_out_of_memory();
    }
    void *grown = realloc(*items, bytes);
    if (!grown) {
        arena_out_of_memory();
    }
    *items = grown;
    *capacity = wanted;
}
