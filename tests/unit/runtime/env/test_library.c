/*
 * A library is opened once and whole, or not at all.
 */
#include "runtime/env/library.h"

#include <math.h>
#include <pthread.h>

#include "tests/support/test.h"

#define THREADS 8

struct functions {
    double (*square_root)(double);
    double (*cube_root)(double);
};

/* A library of the C library's that each program has, so that no test needs one of its own. */
#define LIBRARY "libm.so.6"

static const char *const names[] = {"sqrt", "cbrt"};
static const char *const unknown_names[] = {"sqrt", "no_such_function"};

static void gives_the_functions_by_their_order(void **state)
{
    static struct functions functions;
    static struct tri_library library = {
        .name = LIBRARY, .names = names, .count = 2, .functions = &functions};
    (void)state;
    const struct functions *opened = tri_library_open(&library);
    assert_ptr_equal(opened, &functions);
    assert_true(fabs(opened->square_root(9) - 3) < 1e-9);
    assert_true(fabs(opened->cube_root(8) - 2) < 1e-9);
    assert_ptr_equal(tri_library_open(&library), &functions);
}

static void gives_nothing_of_one_that_is_not_there(void **state)
{
    static struct functions functions;
    static struct tri_library library = {
        .name = "libnosuchthing.so.1", .names = names, .count = 2, .functions = &functions};
    (void)state;
    assert_null(tri_library_open(&library));
    assert_null(tri_library_open(&library));
}

static void gives_nothing_of_one_that_lacks_a_function(void **state)
{
    static struct functions functions;
    static struct tri_library library = {
        .name = LIBRARY, .names = unknown_names, .count = 2, .functions = &functions};
    (void)state;
    assert_null(tri_library_open(&library));
    assert_null(tri_library_open(&library));
}

static void one_that_is_there_is_not_opened(void **state)
{
    struct functions functions = {.cube_root = NULL};
    struct tri_library there = {
        .name = LIBRARY, .names = names, .count = 2, .functions = &functions};
    struct tri_library older = {
        .name = LIBRARY, .names = unknown_names, .count = 2, .functions = &functions};
    struct tri_library gone = {.name = "libgone.so.9", .names = names, .functions = &functions};
    (void)state;
    assert_true(tri_library_is_there(&there));
    assert_false(tri_library_is_there(&older));
    assert_false(tri_library_is_there(&gone));
    assert_int_equal(there.state, 0);
    assert_non_null(tri_library_open(&there));
}

static struct functions shared_functions;
static struct tri_library shared = {
    .name = LIBRARY, .names = names, .count = 2, .functions = &shared_functions};

static void *use(void *argument)
{
    const struct functions *opened = tri_library_open(&shared);
    double *root = argument;
    *root = opened == NULL ? 0 : opened->square_root(16);
    return NULL;
}

static void is_whole_for_whoever_comes_first(void **state)
{
    pthread_t threads[THREADS];
    double roots[THREADS];
    (void)state;
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, &roots[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(fabs(roots[i] - 4) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_functions_by_their_order),
        cmocka_unit_test(gives_nothing_of_one_that_is_not_there),
        cmocka_unit_test(gives_nothing_of_one_that_lacks_a_function),
        cmocka_unit_test(one_that_is_there_is_not_opened),
        cmocka_unit_test(is_whole_for_whoever_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
