/*
 * Readers that ask an engine to write its tables: who hears them, and where nobody does.
 */
#include "runtime/journal/store_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

static char folder[256];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/store_ask.XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder); /* nothing is left in it */
}

static bool is_asked(const struct tri_store_ask *ask)
{
    struct pollfd arrival = {.fd = ask->socket, .events = POLLIN};
    return poll(&arrival, 1, 0) == 1;
}

static void test_an_engine_hears_readers(void **state)
{
    (void)state;
    struct tri_store_ask ask;
    tri_store_ask_open(folder, &ask);
    assert_true(ask.socket >= 0);
    assert_false(is_asked(&ask));
    tri_store_ask(folder);
    assert_true(is_asked(&ask));
    tri_store_ask(folder);
    tri_store_ask_take(&ask);
    assert_false(is_asked(&ask));
    tri_store_ask(folder);
    assert_true(is_asked(&ask));
    tri_store_ask_close(&ask);
    assert_int_equal(ask.socket, -1);
}

/* More than any queue holds: none of them waits. */
static void test_many_readers_do_not_wait(void **state)
{
    (void)state;
    struct tri_store_ask ask;
    tri_store_ask_open(folder, &ask);
    for (int i = 0; i < 2000; i++) {
        tri_store_ask(folder);
    }
    tri_store_ask_take(&ask);
    assert_false(is_asked(&ask));
    tri_store_ask_close(&ask);
}

static void test_the_socket_is_for_the_owner(void **state)
{
    (void)state;
    struct tri_store_ask ask;
    struct stat status;
    char path[300];
    mode_t before = umask(0);
    tri_store_ask_open(folder, &ask);
    (void)umask(before);
    (void)snprintf(path, sizeof path, "%s/" TRI_STORE_ASK_NAME, folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    tri_store_ask_close(&ask);
    assert_int_equal(stat(path, &status), -1);
    assert_int_equal(errno, ENOENT);
}

/* A killed engine leaves its socket; the next one takes its place. */
static void test_a_socket_that_was_left_is_replaced(void **state)
{
    (void)state;
    struct tri_store_ask killed;
    struct tri_store_ask ask;
    tri_store_ask_open(folder, &killed);
    (void)close(killed.socket);
    tri_store_ask(folder); /* nobody is there */
    tri_store_ask_open(folder, &ask);
    tri_store_ask(folder);
    assert_true(is_asked(&ask));
    tri_store_ask_close(&ask);
    (void)close(killed.folder);
}

static void test_without_a_folder_nobody_asks(void **state)
{
    (void)state;
    struct tri_store_ask ask;
    tri_store_ask_open("/nowhere/at/all", &ask);
    assert_int_equal(ask.socket, -1);
    assert_int_equal(ask.folder, -1);
    tri_store_ask_open(NULL, &ask);
    assert_int_equal(ask.socket, -1);
    tri_store_ask_close(&ask);
    tri_store_ask("/nowhere/at/all");
    tri_store_ask(NULL);
}

static void test_a_path_may_be_long(void **state)
{
    (void)state;
    struct tri_store_ask ask;
    char below[512];
    (void)snprintf(below, sizeof below, "%s/%0150d", folder, 0);
    assert_int_equal(mkdir(below, 0700), 0);
    tri_store_ask_open(below, &ask);
    tri_store_ask(below);
    assert_true(is_asked(&ask));
    tri_store_ask_close(&ask);
    assert_int_equal(rmdir(below), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_engine_hears_readers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_readers_do_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_socket_is_for_the_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_socket_that_was_left_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_folder_nobody_asks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_path_may_be_long, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
