/*
 * Names below a folder, and removing what others have put there.
 */
#include "runtime/blob/below.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

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

int main(void)
{
    /* Whoever may do everything is denied nothing, so these are another user's tests. */
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 1;
    }
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        cmocka_unit_test(names_are_checked),   TEST(links_are_not_followed),
        TEST(folders_on_the_way_are_made),     TEST(links_are_removed_alone),
        TEST(folders_without_end_are_removed), TEST(closed_folders_are_removed),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
