/*
 * Removing folders beside other work: all that was taken is gone when it stops, nothing else is.
 */
#include "runtime/process/sweep.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/process/attempt_limits.h"
#include "tests/support/test.h"

#define FOLDERS 1000

static char store[64];

static int setup(void **state)
{
    (void)state;
    snprintf(store, sizeof store, "/tmp/troupe-sweep-XXXXXX");
    assert_non_null(mkdtemp(store));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    int folder = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    assert_int_equal(tri_below_empty(folder), 0);
    close(folder);
    return rmdir(store);
}

/* A folder of the store's with something in it. */
static void make(char *path, size_t size, unsigned number)
{
    char below[128];
    snprintf(path, size, "%s/%u", store, number);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(below, sizeof below, "%s/work", path);
    assert_int_equal(mkdir(below, 0700), 0);
}

static void what_was_taken_is_gone_at_the_end(void **state)
{
    (void)state;
    char path[96];
    struct tri_sweep *sweep;
    bool is_taken[FOLDERS];
    assert_int_equal(tri_sweep_start(store, &sweep), 0);
    for (unsigned i = 0; i < FOLDERS; i++) {
        make(path, sizeof path, i);
        is_taken[i] = tri_sweep_take(sweep, tr_text_of(path));
    }
    assert_true(is_taken[0]);
    tri_sweep_stop(sweep);
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%u", store, i);
        /* What was refused, because too many waited, is the giver's to remove. */
        assert_int_equal(access(path, F_OK) == 0, !is_taken[i]);
    }
}

static void nothing_outside_is_touched(void **state)
{
    (void)state;
    char path[96];
    char other[] = "/tmp/troupe-swept-XXXXXX";
    struct tri_sweep *sweep;
    assert_non_null(mkdtemp(other));
    make(path, sizeof path, 1);
    assert_int_equal(tri_sweep_start(store, &sweep), 0);
    assert_true(tri_sweep_take(sweep, tr_text_of(other)));
    assert_true(tri_sweep_take(sweep, tr_text_of("relative")));
    tri_sweep_stop(sweep);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(rmdir(other), 0);
}

static void a_share_is_swept_too(void **state)
{
    (void)state;
    char path[96];
    struct tri_sweep *sweep;
    make(path, sizeof path, 1);
    struct tri_shared shared = {.path = tr_text_of(path), .trusted_bytes = (uint32_t)strlen(store)};
    assert_int_equal(tri_sweep_start("/tmp", &sweep), 0);
    assert_true(tri_sweep_take_shared(sweep, &shared));
    shared.trusted_bytes = 0;
    assert_false(tri_sweep_take_shared(sweep, &shared));
    tri_sweep_stop(sweep);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void of_a_share_all_that_was_taken_is_gone(void **state)
{
    (void)state;
    char path[96];
    struct tri_sweep *sweep;
    assert_int_equal(tri_sweep_start("/tmp", &sweep), 0);
    for (unsigned i = 0; i < FOLDERS; i++) {
        make(path, sizeof path, i);
        const struct tri_shared shared = {.path = tr_text_of(path),
                                          .trusted_bytes = (uint32_t)strlen(store)};
        assert_true(tri_sweep_take_shared(sweep, &shared)); /* however many wait */
    }
    while (access(path, F_OK) == 0) { /* the last one */
        tri_sweep_go_on(sweep);
        assert_int_equal(poll(NULL, 0, 1), 0);
    }
    tri_sweep_stop(sweep);
    tri_sweep_go_on(NULL);
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%u", store, i);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static void what_has_no_place_is_not_taken(void **state)
{
    (void)state;
    static char path[TR_PATH_BYTES_MAX + 1];
    struct tri_sweep *sweep;
    memset(path, 'a', sizeof path);
    assert_int_equal(tri_sweep_start(store, &sweep), 0);
    assert_false(tri_sweep_take(sweep, (struct tr_text){.data = path, .size = sizeof path}));
    assert_false(tri_sweep_take(sweep, (struct tr_text){.data = path, .size = 0}));
    tri_sweep_stop(sweep);
    tri_sweep_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_taken_is_gone_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_outside_is_touched, setup, teardown),
        cmocka_unit_test_setup_teardown(a_share_is_swept_too, setup, teardown),
        cmocka_unit_test_setup_teardown(of_a_share_all_that_was_taken_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_no_place_is_not_taken, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
