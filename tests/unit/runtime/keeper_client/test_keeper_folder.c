/*
 * Lock, socket and name of a folder: also of one whose name is longer than a socket's may be.
 */
#include "runtime/keeper_client/keeper_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/keeper_client/keeper_limits.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

/* A folder so deep that its name does not fit in a socket's address. */
static void make_deep(char *path, size_t size)
{
    assert_non_null(mkdtemp(path));
    for (int i = 0; i < 6; i++) {
        size_t used = strlen(path);
        snprintf(path + used, size - used, "/%s", "a-folder-with-a-name-of-forty-bytes-or-so");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_true(strlen(path) > 200);
}

static void remove_all(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%.*s'", (int)strlen("/tmp/troupe-deep-XXXXXX"),
             path);
    assert_int_equal(system(command), 0);
}

static void a_long_name_can_be_reached(void **state)
{
    (void)state;
    char path[500] = "/tmp/troupe-deep-XXXXXX";
    int folder;
    int listener;
    int other;
    make_deep(path, sizeof path);
    assert_int_equal(tri_keeper_folder_open(path, &folder), 0);
    assert_int_equal(tri_keeper_folder_connect(folder, &other), TR_NO_CONNECTION);
    assert_int_equal(tri_keeper_folder_listen(folder, &listener), 0);
    struct stat status;
    assert_int_equal(fstatat(folder, TRI_KEEPER_SOCKET_NAME, &status, 0), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(tri_keeper_folder_connect(folder, &other), 0);
    int accepted = accept(listener, NULL, NULL);
    assert_true(accepted >= 0);
    assert_int_equal(send(other, "x", 1, 0), 1);
    char byte;
    assert_int_equal(recv(accepted, &byte, 1, 0), 1);
    close(accepted);
    close(other);
    close(listener);
    /* A dead keeper's socket is nobody's, and is taken over. */
    assert_int_equal(tri_keeper_folder_connect(folder, &other), TR_NO_CONNECTION);
    assert_int_equal(tri_keeper_folder_listen(folder, &listener), 0);
    assert_int_equal(tri_keeper_folder_connect(folder, &other), 0);
    tri_keeper_folder_unlink(folder);
    close(other);
    assert_int_equal(tri_keeper_folder_connect(folder, &other), TR_NO_CONNECTION);
    close(listener);
    close(folder);
    remove_all(path);
}

static void the_lock_is_held_once(void **state)
{
    (void)state;
    char path[] = "/tmp/troupe-lock-XXXXXX";
    int folder;
    int lock;
    int second;
    assert_non_null(mkdtemp(path));
    assert_int_equal(tri_keeper_folder_open(path, &folder), 0);
    assert_int_equal(tri_keeper_folder_lock(folder, &lock), 0);
    assert_int_equal(tri_keeper_folder_lock(folder, &second), TR_EXISTS);
    close(lock);
    assert_int_equal(tri_keeper_folder_lock(folder, &second), 0);
    close(second);
    assert_int_equal(unlinkat(folder, TRI_KEEPER_LOCK_NAME, 0), 0);
    assert_false(tri_keeper_folder_is_gone(folder));
    assert_int_equal(rmdir(path), 0);
    assert_true(tri_keeper_folder_is_gone(folder));
    assert_int_equal(tri_keeper_folder_lock(folder, &lock), TR_SYSTEM);
    close(folder);
    assert_int_equal(tri_keeper_folder_open(path, &folder), TR_SYSTEM);
}

static void places_differ(void **state)
{
    (void)state;
    char one[TR_KEEPER_PLACE_BYTES_MAX];
    char again[TR_KEEPER_PLACE_BYTES_MAX];
    char other[TR_KEEPER_PLACE_BYTES_MAX];
    int folder;
    int root;
    assert_int_equal(tri_keeper_folder_open("/tmp", &folder), 0);
    assert_int_equal(tri_keeper_folder_open("/", &root), 0);
    assert_int_equal(tri_keeper_folder_place(folder, one), 0);
    assert_int_equal(tri_keeper_folder_place(folder, again), 0);
    assert_int_equal(tri_keeper_folder_place(root, other), 0);
    assert_string_equal(one, again);
    assert_string_not_equal(one, other);
    assert_null(strchr(one, '\n'));
    close(folder);
    close(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_name_can_be_reached),
        cmocka_unit_test(the_lock_is_held_once),
        cmocka_unit_test(places_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
