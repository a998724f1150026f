/*
 * Names below a folder, and removing what others have put there.
 */
#include "runtime/blob/below.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

/* How often a folder is removed while another thread puts a link in its place and takes it away. */
enum { RACES = 2000 };

struct world {
    char path[128];
    int folder;
};

static int setup(void **state)
{
    static struct world world;
    snprintf(world.path, sizeof world.path, "/tmp/troupe-below-XXXXXX");
    assert_non_null(mkdtemp(world.path));
    world.folder = open(world.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(world.folder >= 0);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    assert_int_equal(tri_below_empty(world->folder), 0);
    close(world->folder);
    return rmdir(world->path);
}

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){(const uint8_t *)text, strlen(text)};
}

static void names_are_checked(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "a/b", "...", "a..", ".a/..b", "-"};
    static const char *const bad[] = {"",  "/",  "/a",   "a/",  "a//b",
                                      ".", "..", "a/..", "./a", "a/./b"};
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_int_equal(tri_below_check(tr_text_of(good[i])), 0);
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_int_equal(tri_below_check(tr_text_of(bad[i])), TR_INVALID);
    }
    assert_int_equal(tri_below_check((struct tr_text){"a\0b", 3}), TR_INVALID);
    char part[NAME_MAX + 2];
    memset(part, 'x', sizeof part);
    assert_int_equal(tri_below_check((struct tr_text){part, NAME_MAX}), 0);
    assert_int_equal(tri_below_check((struct tr_text){part, NAME_MAX + 1}), TR_LIMIT);
    static char path[8192];
    for (size_t i = 0; i < sizeof path; i++) {
        path[i] = i % 2 == 0 ? 'x' : '/';
    }
    assert_int_equal(tri_below_check((struct tr_text){path, 8191}), TR_LIMIT);
}

static void links_are_not_followed(void **state)
{
    struct world *world = *state;
    int fd;
    assert_int_equal(symlinkat("/tmp", world->folder, "door"), 0);
    assert_int_equal(symlinkat("/etc/passwd", world->folder, "file"), 0);
    assert_int_equal(tri_below_folder(world->folder, tr_text_of("door"), 0700, &fd), TR_NOT_FOUND);
    assert_int_equal(tri_below_folder(world->folder, tr_text_of("door/x"), 0700, &fd),
                     TR_NOT_FOUND);
    assert_int_equal(tri_below_open(world->folder, tr_text_of("file"), O_RDONLY, 0, &fd),
                     TR_NOT_FOUND);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("door/x"), bytes_of("x"), 0600),
                     TR_NOT_FOUND);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("file"), bytes_of("x"), 0600),
                     TR_EXISTS);
}

static void folders_on_the_way_are_made(void **state)
{
    struct world *world = *state;
    char text[8] = "";
    int fd;
    assert_int_equal(tri_below_open(world->folder, tr_text_of("a/b/c"), O_RDONLY, 0, &fd),
                     TR_NOT_FOUND);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("a/b/c"), bytes_of("text"), 0600),
                     0);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("a/b/c"), bytes_of("text"), 0600),
                     TR_EXISTS);
    assert_int_equal(tri_below_open(world->folder, tr_text_of("a/b/c"), O_RDONLY, 0, &fd), 0);
    assert_int_equal(read(fd, text, sizeof text), 4);
    close(fd);
    assert_string_equal(text, "text");
    assert_int_equal(tri_below_folder(world->folder, tr_text_of("a/b/c"), 0700, &fd), TR_NOT_FOUND);
}

static void links_are_removed_alone(void **state)
{
    struct world *world = *state;
    assert_int_equal(tri_below_write(world->folder, tr_text_of("kept/x"), bytes_of("x"), 0600), 0);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("gone/x"), bytes_of("x"), 0600), 0);
    assert_int_equal(symlinkat("../kept", world->folder, "gone/link"), 0);
    assert_int_equal(symlinkat("kept", world->folder, "top"), 0);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("gone")), 0);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("top")), 0);
    assert_int_equal(faccessat(world->folder, "kept/x", F_OK, 0), 0);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("gone")), TR_NOT_FOUND);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("../x")), TR_INVALID);
}

/* Deeper than descriptors and path names reach. */
static void folders_without_end_are_removed(void **state)
{
    struct world *world = *state;
    int at = dup(world->folder);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    close(at);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("d")), 0);
    assert_int_equal(faccessat(world->folder, "d", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void closed_folders_are_removed(void **state)
{
    struct world *world = *state;
    assert_int_equal(tri_below_write(world->folder, tr_text_of("a/b/x"), bytes_of("x"), 0600), 0);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("a/c/x"), bytes_of("x"), 0600), 0);
    assert_int_equal(fchmodat(world->folder, "a/b", 0, 0), 0);
    assert_int_equal(fchmodat(world->folder, "a/c", 0500, 0), 0);
    assert_int_equal(fchmodat(world->folder, "a", 0500, 0), 0);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("a")), 0);
}

/* A folder may be renamed to another parent only by who may write to the folder itself. */
static void closed_folders_are_removed_at_any_depth(void **state)
{
    struct world *world = *state;
    for (size_t depth = 20; depth < 30; depth++) {
        static const char folders[] = "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d";
        char path[sizeof folders];
        memcpy(path, folders, sizeof folders);
        path[2 * depth - 1] = '\0';
        assert_int_equal(tri_below_write(world->folder, tr_text_of(path), bytes_of("x"), 0600), 0);
        for (size_t i = depth - 1; i > 0; i--) {
            path[2 * i - 1] = '\0';
            assert_int_equal(fchmodat(world->folder, path, 0500, 0), 0);
        }
        assert_int_equal(tri_below_remove(world->folder, tr_text_of("d")), 0);
    }
}

/* Of a name with several parts the parent is only passed through, and may be closed as well. */
static void entries_of_closed_folders_are_removed(void **state)
{
    struct world *world = *state;
    assert_int_equal(tri_below_write(world->folder, tr_text_of("a/b/x"), bytes_of("x"), 0600), 0);
    assert_int_equal(fchmodat(world->folder, "a", 0500, 0), 0);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("a/b")), 0);
    assert_int_equal(tri_below_write(world->folder, tr_text_of("a/x"), bytes_of("x"), 0600), 0);
    assert_int_equal(fchmodat(world->folder, "a", 0500, 0), 0);
    assert_int_equal(tri_below_remove(world->folder, tr_text_of("a/x")), 0);
}

struct race {
    int folder;
    atomic_bool is_over;
};

static void *exchange(void *user)
{
    struct race *race = user;
    while (!atomic_load(&race->is_over)) {
        (void)renameat2(race->folder, "d", race->folder, "link", RENAME_EXCHANGE);
    }
    return NULL;
}

/* What is opened up is the folder that was found closed, never what a link leads to. */
static void links_put_in_the_place_of_folders_are_not_followed(void **state)
{
    struct world *world = *state;
    struct race race = {.folder = world->folder};
    struct stat status;
    pthread_t thread;
    assert_int_equal(tri_below_write(world->folder, tr_text_of("out"), bytes_of("x"), 0640), 0);
    assert_int_equal(fchmodat(world->folder, "out", 0640, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, exchange, &race), 0);
    for (int i = 0; i < RACES; i++) {
        (void)symlinkat("out", world->folder, "link");
        (void)mkdirat(world->folder, "d", 0700);
        (void)!tri_below_write(world->folder, tr_text_of("d/x"), bytes_of("x"), 0600);
        (void)fchmodat(world->folder, "d", 0, AT_SYMLINK_NOFOLLOW);
        (void)!tri_below_remove(world->folder, tr_text_of("d"));
        (void)!tri_below_remove(world->folder, tr_text_of("link"));
    }
    atomic_store(&race.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(fstatat(world->folder, "out", &status, 0), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

int main(void)
{
    /* Whoever may do everything is denied nothing, so these are another user's tests. */
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 1;
    }
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        cmocka_unit_test(names_are_checked),
        TEST(links_are_not_followed),
        TEST(folders_on_the_way_are_made),
        TEST(links_are_removed_alone),
        TEST(folders_without_end_are_removed),
        TEST(closed_folders_are_removed),
        TEST(closed_folders_are_removed_at_any_depth),
        TEST(entries_of_closed_folders_are_removed),
        TEST(links_put_in_the_place_of_folders_are_not_followed),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
