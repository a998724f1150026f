/*
 * Fences: what lies below is opened, by links that stay below, too; whatever else somebody may put
 * there, or name, is refused with words, and no pipe is waited for.
 */
#include "runtime/blob/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

/* TOP/secret; TOP/share -> TOP/real; TOP/real/set/attempt/{file, deep/file}: the fence is there. */
struct world {
    char top[64];
    char folder[128];
    struct tr_fence fence;
    char words[TRI_FENCE_WORDS_BYTES];
};

static const char *path_of(const struct world *world, const char *name)
{
    static char paths[4][512];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", world->top, name);
    return path;
}

static void make_file(const struct world *world, const char *name)
{
    FILE *file = fopen(path_of(world, name), "w");
    assert_non_null(file);
    assert_true(fputs(name, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_link(const struct world *world, const char *target, const char *name)
{
    assert_int_equal(symlink(target, path_of(world, name)), 0);
}

static int setup(void **state)
{
    static struct world world;
    static const char *const folders[] = {"real", "real/set", "real/set/attempt",
                                          "real/set/attempt/deep", "real/set/attempt2"};
    world = (struct world){.top = "/tmp/troupe-fence-XXXXXX"};
    assert_non_null(mkdtemp(world.top));
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        assert_int_equal(mkdir(path_of(&world, folders[i]), 0755), 0);
    }
    make_link(&world, "real", "share");
    make_file(&world, "secret");
    make_file(&world, "real/set/attempt/file");
    make_file(&world, "real/set/attempt/deep/file");
    make_file(&world, "real/set/attempt2/file");
    snprintf(world.folder, sizeof world.folder, "%s/share/set/attempt", world.top);
    world.fence = (struct tr_fence){.folder = tr_text_of(world.folder),
                                    .trusted_bytes = (uint32_t)strlen(world.top) + 6};
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    const struct world *world = *state;
    (void)folder_remove(world->top);
    return 0;
}

/* Opens a name below the attempt's folder, or an absolute one, and closes it: the error. */
static int open_named(struct world *world, const char *name)
{
    char path[512];
    int fd = -1;
    snprintf(path, sizeof path, "%s%s%s", name[0] == '/' ? "" : world->folder,
             name[0] == '/' ? "" : "/", name);
    world->words[0] = '\0';
    int error = tri_fence_open(&world->fence, path, &fd, world->words);
    assert_int_equal(fd >= 0, error == 0);
    if (fd >= 0) {
        assert_int_equal(close(fd), 0);
    }
    return error;
}

static void expect_refused(struct world *world, const char *name, int error, const char *why)
{
    char expected[TRI_FENCE_WORDS_BYTES];
    snprintf(expected, sizeof expected, "%s; only files and folders below %s are accepted", why,
             world->folder);
    assert_int_equal(open_named(world, name), error);
    assert_string_equal(world->words, expected);
}

static void test_what_lies_below_is_opened(void **state)
{
    static const char *const names[] = {"file",         "deep",        "deep/file",
                                        "./deep//file", "latest/file", "deep/up"};
    struct world *world = *state;
    make_link(world, "deep", "real/set/attempt/latest");
    make_link(world, "../file", "real/set/attempt/deep/up");
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        assert_int_equal(open_named(world, names[i]), 0);
    }
    assert_int_equal(open_named(world, "absent"), TR_NOT_FOUND);
}

static void test_what_lies_elsewhere_is_refused(void **state)
{
    struct world *world = *state;
    expect_refused(world, "/etc/passwd", TR_OUTSIDE, "it is outside");
    expect_refused(world, path_of(world, "share/set/attempt2/file"), TR_OUTSIDE, "it is outside");
    expect_refused(world, path_of(world, "real/set/attempt/file"), TR_OUTSIDE, "it is outside");
    expect_refused(world, world->folder, TR_OUTSIDE, "it is outside");
    expect_refused(world, "../attempt2/file", TR_OUTSIDE, "it has a part '..'");
    expect_refused(world, "deep/../file", TR_OUTSIDE, "it has a part '..'");
    expect_refused(world, "deep/..", TR_OUTSIDE, "it has a part '..'");
}

static void test_links_that_lead_out_are_refused(void **state)
{
    static const char why[] = "a link in its path leads outside";
    struct world *world = *state;
    make_link(world, "/etc/passwd", "real/set/attempt/passwd");
    make_link(world, "/etc", "real/set/attempt/etc");
    make_link(world, "../../../secret", "real/set/attempt/secret");
    make_link(world, "..", "real/set/attempt/deep/top");
    make_link(world, "deep/top/..", "real/set/attempt/over");
    make_link(world, path_of(world, "share/set/attempt/file"), "real/set/attempt/absolute");
    expect_refused(world, "passwd", TR_OUTSIDE, why);
    expect_refused(world, "etc/passwd", TR_OUTSIDE, why);
    expect_refused(world, "secret", TR_OUTSIDE, why);
    expect_refused(world, "over/attempt2/file", TR_OUTSIDE, why);
    expect_refused(world, "absolute", TR_OUTSIDE, why);
    assert_int_equal(open_named(world, "deep/top/file"), 0);
}

static void test_pipes_and_devices_are_not_opened(void **state)
{
    static const char why[] = "it is neither a file nor a folder";
    struct world *world = *state;
    assert_int_equal(mkfifo(path_of(world, "real/set/attempt/pipe"), 0600), 0);
    make_link(world, "pipe", "real/set/attempt/to_pipe");
    expect_refused(world, "pipe", TR_INVALID, why);
    expect_refused(world, "to_pipe", TR_INVALID, why);
    world->fence = (struct tr_fence){.folder = tr_text_of("/dev"), .trusted_bytes = 4};
    assert_int_equal(open_named(world, "/dev/null"), TR_INVALID);
}

/* Only the operator's own part may lead by links to the folder; a job may have made the rest. */
static void test_a_folder_that_became_a_link_is_none(void **state)
{
    struct world *world = *state;
    assert_int_equal(rename(path_of(world, "real/set/attempt"), path_of(world, "real/moved")), 0);
    make_link(world, "../moved", "real/set/attempt");
    expect_refused(world, "file", TR_OUTSIDE, "a link in its path leads outside");
    world->fence.trusted_bytes = 0; /* all of it is the operator's */
    assert_int_equal(open_named(world, "file"), 0);
}

/* ---- Somebody who changes places all the time. ---------------------------------------------- */

#define OPENINGS 20000

struct swapper {
    const struct world *world;
    const char *names[2];
    atomic_bool is_over;
};

/* In the end everything is where it was. */
static void *swap_on(void *argument)
{
    struct swapper *swapper = argument;
    const char *one = path_of(swapper->world, swapper->names[0]);
    const char *other = path_of(swapper->world, swapper->names[1]);
    while (!atomic_load(&swapper->is_over)) {
        for (int i = 0; i < 2; i++) {
            assert_int_equal(renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE), 0);
        }
    }
    return NULL;
}

/* Whether what is open is what nobody may have; it is closed. */
static bool is_secret(int fd)
{
    char content[64] = "";
    assert_true(read(fd, content, sizeof content - 1) > 0);
    assert_int_equal(close(fd), 0);
    return strcmp(content, "secret") == 0;
}

/*
 * Opens a name over and over while two places are exchanged: what is opened is always its own,
 * while who opens it without a fence gets at the secret.
 */
static void open_while_swapping(struct world *world, const char *name, const char *one,
                                const char *other)
{
    char path[512];
    int opened = 0;
    int secrets = 0;
    pthread_t thread;
    struct swapper swapper = {.world = world, .names = {one, other}};
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    assert_int_equal(pthread_create(&thread, NULL, swap_on, &swapper), 0);
    for (int i = 0; i < OPENINGS; i++) {
        int fd;
        if (tri_fence_open(&world->fence, path, &fd, world->words) == 0) {
            assert_false(is_secret(fd));
            opened++;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
        secrets += fd >= 0 && is_secret(fd) ? 1 : 0;
    }
    atomic_store(&swapper.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(opened > 0);
    assert_true(secrets > 0);
}

static void test_who_is_quick_gains_nothing(void **state)
{
    struct world *world = *state;
    assert_int_equal(mkdir(path_of(world, "outside"), 0755), 0);
    assert_int_equal(rename(path_of(world, "secret"), path_of(world, "outside/file")), 0);
    make_link(world, "../../../outside", "real/set/attempt/door");
    make_link(world, "../../outside", "real/set/gate");
    open_while_swapping(world, "file", "real/set/attempt", "real/set/gate");
    open_while_swapping(world, "deep/file", "real/set/attempt/deep", "real/set/attempt/door");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_lies_below_is_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_lies_elsewhere_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_that_lead_out_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pipes_and_devices_are_not_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_that_became_a_link_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_is_quick_gains_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
