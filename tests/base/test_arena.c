/* test_arena.c - memory that lives together, and its end when there is none. */
#include "arena.h"

#include "error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { NR = 3000 };
    struct arena arena = ARENA_EMPTY;
    static unsigned char *pieces[NR];
    for (size_t i = 0; i < NR; i++) {
        size_t size = i % 97;
        pieces[i] = arena_alloc(&arena, size, 1);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t byte = 0; byte < size; byte++) {
            assert_int_equal(pieces[i][byte], 0);
        }
        memset(pieces[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < NR; i++) {
        for (size_t byte = 0; byte < i % 97; byte++) {
            assert_int_equal(pieces[i][byte], i % 251);
        }
        assert_true(i == 0 || pieces[i] != pieces[i - 1]);
    }
    arena_release(&arena);
    assert_null(arena.blocks);
}

static void test_large_pieces_and_reuse_after_release(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (int round = 0; round < 3; round++) {
        char *small = arena_strdup(&arena, "small");
        unsigned char *large = arena_alloc(&arena, 3, 1 << 20);
        assert_int_equal(large[0], 0);
        assert_int_equal(large[(3 << 20) - 1], 0);
        memset(large, 0xFF, 3 << 20);
        assert_string_equal(small, "small");
        arena_release(&arena);
    }
    arena_release(&arena);
}

static void test_texts(void **state)
{
    (void)state;
    struct arena arena = ARENA_EMPTY;
    assert_string_equal(arena_strdup(&arena, ""), "");
    assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
    assert_string_equal(arena_printf(&arena, "%s-%03d", "rank", 7), "rank-007");
    char text[5000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_string_equal(arena_printf(&arena, "%s", text), text);
    arena_release(&arena);
}

static void test_array_grows_and_keeps(void **state)
{
    (void)state;
    void *items = NULL;
    size_t capacity = 0;
    for (size_t nr = 0; nr < 10000; nr++) {
        array_grow(&items, &capacity, nr, sizeof(uint32_t));
        assert_true(capacity > nr);
        ((uint32_t *)items)[nr] = (uint32_t)(nr * 3);
    }
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(((uint32_t *)items)[i], i * 3);
    }
    free(items);
}

static void alloc_too_many(void)
{
    struct arena arena = ARENA_EMPTY;
    arena_alloc(&arena, SIZE_MAX / 8, 16);
}

static void alloc_too_large(void)
{
    struct arena arena = ARENA_EMPTY;
    arena_alloc(&arena, 1, SIZE_MAX);
}

static void grow_too_far(void)
{
    void *items = NULL;
    size_t capacity = 0;
    array_grow(&items, &capacity, SIZE_MAX / 2, 16);
}

/* Runs `act` in a child; its exit status. */
static int exit_status_of(void (*act)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        act();
        _exit(99); /* it came back */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_overflow_ends_the_program(void **state)
{
    (void)state;
    assert_int_equal(exit_status_of(alloc_too_many), EXIT_SYSTEM);
    assert_int_equal(exit_status_of(alloc_too_large), EXIT_SYSTEM);
    assert_int_equal(exit_status_of(grow_too_far), EXIT_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(test_large_pieces_and_reuse_after_release),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_array_grows_and_keeps),
        cmocka_unit_test(test_overflow_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
