/*
 * The blob store and what others have made: of a folder within a fence it takes what lies there,
 * whatever links they combine; what lies in a blob already is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

/* A store in whose folder others have `fence`. */
struct world {
    char store[64];
    struct tri_blobs *blobs;
};

static const char *path_of(const struct world *world, const char *name)
{
    static char paths[4][1024];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", world->store, name);
    return path;
}

static int setup(void **state)
{
    static struct world world;
    world = (struct world){.store = "/tmp/troupe-blob-XXXXXX"};
    assert_non_null(mkdtemp(world.store));
    assert_int_equal(tri_blobs_open(world.store, NULL, &world.blobs), 0);
    assert_int_equal(mkdir(path_of(&world, "fence"), 0755), 0);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    tri_blobs_close(world->blobs);
    (void)folder_remove(world->store);
    return 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_content(const struct tri_blob *blob, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(blob->path, "r");
    assert_non_null(file);
    assert_non_null(fgets(found, sizeof found, file));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(found, text);
}

static int put_freely(struct world *world, const char *name, struct tri_blob *blob)
{
    return tri_blob_put(world->blobs,
                        &(struct tri_blob_put){.path = tr_text_of(path_of(world, name))}, blob);
}

static int put_fenced(struct world *world, const char *name, struct tri_blob *blob)
{
    const struct tr_fence fence = {.folder = tr_text_of(path_of(world, "fence")),
                                   .trusted_bytes = (uint32_t)strlen(world->store)};
    return tri_blob_put(
        world->blobs,
        &(struct tri_blob_put){.path = tr_text_of(path_of(world, name)), .fence = &fence}, blob);
}

static void what_lies_outside_of_a_fence_is_refused(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    write_file(path_of(world, "fence/mine"), "mine");
    write_file(path_of(world, "secret"), "secret");
    assert_int_equal(symlink("../secret", path_of(world, "fence/door")), 0);
    assert_int_equal(put_fenced(world, "fence/mine", &blob), 0);
    expect_content(&blob, "mine");
    assert_int_equal(put_fenced(world, "secret", &blob), TR_OUTSIDE);
    assert_non_null(strstr(tri_blobs_words(world->blobs), "/secret: it is outside; only files"));
    assert_int_equal(put_fenced(world, "fence/door", &blob), TR_OUTSIDE);
    assert_int_equal(put_fenced(world, "blobs/../secret", &blob), TR_OUTSIDE);
    expect_content(&blob, "mine"); /* untouched by failures */
}

static void within_a_fence_links_cannot_be_combined_to_lead_out(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    assert_int_equal(mkdir(path_of(world, "fence/made"), 0755), 0);
    assert_int_equal(mkdir(path_of(world, "fence/made/deep"), 0755), 0);
    assert_int_equal(symlink(".", path_of(world, "fence/made/here")), 0);
    assert_int_equal(symlink("../here", path_of(world, "fence/made/deep/up")), 0);
    assert_int_equal(put_fenced(world, "fence/made", &blob), 0);
    assert_int_equal(symlink("here/here/../..", path_of(world, "fence/made/out")), 0);
    assert_int_equal(put_fenced(world, "fence/made", &blob), TR_INVALID);
    assert_non_null(strstr(tri_blobs_words(world->blobs), "/made/out: a link that leads out"));
    assert_int_equal(put_freely(world, "fence/made", &blob),
                     0); /* of this machine, as it always was */
}

static void what_lies_in_a_blob_is_kept_already(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    struct tri_blob inside;
    char name[600];
    assert_int_equal(mkdir(path_of(world, "given"), 0755), 0);
    write_file(path_of(world, "given/file"), "given");
    write_file(path_of(world, "secret"), "secret");
    assert_int_equal(put_freely(world, "given", &blob), 0);
    assert_int_equal(put_fenced(world, strstr(blob.path, "blobs/"), &inside), 0);
    assert_string_equal(inside.uri, blob.uri);
    snprintf(name, sizeof name, "%s/file", strstr(blob.path, "blobs/"));
    assert_int_equal(put_fenced(world, name, &inside), 0);
    assert_string_equal(inside.path, path_of(world, name));
    assert_string_equal(strstr(inside.uri, "blob:") + 5, strstr(name, "blobs/") + 6);
    snprintf(name, sizeof name, "%s/../../secret", strstr(blob.path, "blobs/"));
    assert_int_equal(put_fenced(world, name, &inside), TR_OUTSIDE);
    assert_int_equal(put_fenced(world, "blobs/.new", &inside), TR_OUTSIDE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(what_lies_outside_of_a_fence_is_refused),
        TEST(within_a_fence_links_cannot_be_combined_to_lead_out),
        TEST(what_lies_in_a_blob_is_kept_already),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
