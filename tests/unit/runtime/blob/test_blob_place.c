/*
 * Blobs in a folder that several hosts share: the link, who has what there, and who removes it.
 */
#include "runtime/blob/blob_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob.h"
#include "runtime/env/clock.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

struct world {
    char top[64];
    char store[96]; /* of the first host, and of another one */
    char other[96];
    char folder[96];
    char words[TRI_BLOB_PLACE_WORDS_BYTES];
};

static struct world world;

static int setup(void **state)
{
    (void)state;
    world = (struct world){.top = "/tmp/troupe-blob-place-XXXXXX"};
    assert_non_null(mkdtemp(world.top));
    snprintf(world.store, sizeof world.store, "%s/store", world.top);
    snprintf(world.other, sizeof world.other, "%s/other", world.top);
    snprintf(world.folder, sizeof world.folder, "%s/shared", world.top);
    assert_int_equal(mkdir(world.store, 0700), 0);
    assert_int_equal(mkdir(world.other, 0700), 0);
    assert_int_equal(mkdir(world.folder, 0700), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)folder_remove(world.top);
    return 0;
}

static int place(const char *store)
{
    world.words[0] = '\0';
    return tri_blob_place(store, world.folder, world.words);
}

static struct tri_blobs *open_blobs(const char *store)
{
    struct tri_blobs *blobs;
    assert_int_equal(tri_blobs_open(store, NULL, &blobs), 0);
    return blobs;
}

static void write_value(struct tri_blobs *blobs, const char *text, struct tri_blob *blob)
{
    struct tr_bytes bytes = {(const uint8_t *)text, strlen(text)};
    assert_int_equal(tri_blob_write(blobs, tr_text_of("v"), 0, bytes, true, blob), 0);
}

static bool never_used(void *self, const char *name)
{
    (void)self;
    (void)name;
    return false;
}

static int sweep(struct tri_blobs *blobs, struct tri_swept *swept)
{
    struct tri_blob_sweep all = {.before_ms = tri_wall_ms() + 1000,
                                 .pieces_before_ms = tri_wall_ms() + 1000,
                                 .is_used = never_used};
    return tri_blob_sweep(blobs, &all, swept);
}

static void a_store_is_placed_once(void **state)
{
    (void)state;
    char path[128];
    struct stat status;
    assert_int_equal(place(world.store), 0);
    assert_int_equal(place(world.store), 0);
    snprintf(path, sizeof path, "%s/blobs", world.store);
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void a_store_without_blobs_is_placed(void **state)
{
    (void)state;
    tri_blobs_close(open_blobs(world.store));
    assert_int_equal(place(world.store), 0);
}

static void what_is_kept_elsewhere_stays(void **state)
{
    (void)state;
    struct tri_blob blob;
    char expected[512];
    struct tri_blobs *blobs = open_blobs(world.store);
    write_value(blobs, "x", &blob);
    tri_blobs_close(blobs);
    assert_int_equal(place(world.store), TR_EXISTS);
    snprintf(expected, sizeof expected,
             "%s/blobs holds blobs, and `blobs` of the settings is %s; move what begins with a "
             "digest there, and remove the first folder",
             world.store, world.folder);
    assert_string_equal(world.words, expected);
    assert_int_equal(access(blob.path, R_OK), 0);
}

static void a_link_that_leads_elsewhere_stays(void **state)
{
    (void)state;
    char expected[512];
    assert_int_equal(tri_blob_place(world.store, world.other, world.words), 0);
    assert_int_equal(place(world.store), TR_EXISTS);
    snprintf(expected, sizeof expected,
             "%s/blobs leads to %s, and `blobs` of the settings is %s; move the blobs there, then "
             "remove the link",
             world.store, world.other, world.folder);
    assert_string_equal(world.words, expected);
}

static void a_folder_that_is_missing_is_named(void **state)
{
    (void)state;
    char expected[512];
    assert_int_equal(rmdir(world.folder), 0);
    assert_int_equal(place(world.store), TR_INVALID);
    snprintf(expected, sizeof expected,
             "the folder %s of `blobs` in the settings cannot be used: No such file or directory; "
             "make it, where all hosts of the store reach it",
             world.folder);
    assert_string_equal(world.words, expected);
    assert_int_equal(tri_blob_place(world.store, "/dev/null", world.words), TR_INVALID);
    assert_non_null(strstr(world.words, "cannot be used: it is no folder"));
}

/* One host's blobs are the other's, and starting removes nothing that the other has begun. */
static void hosts_have_the_same_blobs(void **state)
{
    (void)state;
    struct tri_blob blob;
    struct tri_blob found;
    char name[32];
    int fd;
    assert_int_equal(place(world.store), 0);
    assert_int_equal(place(world.other), 0);
    struct tri_blobs *blobs = open_blobs(world.store);
    write_value(blobs, "text", &blob);
    assert_int_equal(strncmp(blob.path, world.store, strlen(world.store)), 0);
    assert_int_equal(tri_blob_begin(blobs, name, &fd), 0);
    struct tri_blobs *others = open_blobs(world.other);
    assert_int_equal(tri_blob_fetch(others, tr_text_of(blob.uri), &found), 0);
    assert_string_equal(found.uri, blob.uri);
    assert_int_equal(strncmp(found.path, world.other, strlen(world.other)), 0);
    assert_int_equal(access(found.path, R_OK), 0);
    assert_int_equal(tri_blob_adopt(blobs, name, tr_text_of("made"), &found), 0);
    close(fd);
    /* The path behind the link, and that of the other host, name the same blob. */
    char path[256];
    snprintf(path, sizeof path, "%s/%.120s", world.folder, blob.uri + strlen("blob:"));
    const struct tri_blob_put put = {.path = tr_text_of(path)};
    assert_int_equal(tri_blob_put(others, &put, &found), 0);
    assert_string_equal(found.uri, blob.uri);
    assert_int_equal(tri_blob_fetch(others, tr_text_of(blob.path), &found), 0);
    assert_string_equal(found.uri, blob.uri);
    tri_blobs_close(others);
    tri_blobs_close(blobs);
}

/* What lies in a folder among them is read behind the link, and no further. */
static void what_lies_in_a_blob_is_found(void **state)
{
    (void)state;
    struct tri_blob blob;
    char path[256];
    char inside[TR_PATH_BYTES_MAX + 16];
    assert_int_equal(place(world.store), 0);
    snprintf(path, sizeof path, "%s/made", world.top);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/made/x", world.top);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    path[strlen(path) - 2] = '\0';
    struct tri_blobs *blobs = open_blobs(world.store);
    assert_int_equal(tri_blob_put(blobs, &(struct tri_blob_put){.path = tr_text_of(path)}, &blob),
                     0);
    snprintf(inside, sizeof inside, "%s/x", blob.path);
    assert_int_equal(tri_blob_put(blobs, &(struct tri_blob_put){.path = tr_text_of(inside)}, &blob),
                     0);
    assert_string_equal(strrchr(blob.uri, '/'), "/x");
    tri_blobs_close(blobs);
}

static void documents_stay_in_the_store(void **state)
{
    (void)state;
    struct tri_buffer bytes = {0};
    struct tr_text path = tr_text_of("cache/ab/abcd");
    assert_int_equal(place(world.store), 0);
    struct tri_blobs *blobs = open_blobs(world.store);
    struct tr_bytes text = {(const uint8_t *)"text", 4};
    assert_int_equal(tri_document_put(blobs, path, text), 0);
    assert_int_equal(tri_document_get(blobs, path, &bytes), 0);
    assert_int_equal(tri_buffer_size(&bytes), 4);
    tri_buffer_fini(&bytes);
    tri_blobs_close(blobs);
}

/* Only the other store knows what it needs. */
static void nothing_is_removed_beside_another_store(void **state)
{
    (void)state;
    struct tri_blob blob;
    struct tri_swept swept;
    char expected[600];
    assert_int_equal(place(world.store), 0);
    struct tri_blobs *blobs = open_blobs(world.store);
    write_value(blobs, "x", &blob);
    assert_int_equal(place(world.other), 0);
    tri_blobs_close(open_blobs(world.other));
    assert_int_equal(sweep(blobs, &swept), TR_BUSY);
    assert_int_equal(swept.count, 0);
    assert_int_equal(access(blob.path, R_OK), 0);
    const char *words = tri_blobs_words(blobs);
    const char *mark = strstr(words, ".new-");
    assert_non_null(mark);
    snprintf(expected, sizeof expected,
             "%s holds blobs of another store, too, and nothing is removed there; give each store "
             "a folder of its own, or remove %.21s there if that store is gone",
             world.folder, mark);
    assert_string_equal(words, expected);
    /* The mark goes, and the sweep does its work. */
    snprintf(expected, sizeof expected, "%s/%.21s", world.folder, mark);
    assert_int_equal(rmdir(expected), 0);
    assert_int_equal(sweep(blobs, &swept), 0);
    assert_int_equal(swept.count, 1);
    tri_blobs_close(blobs);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_store_is_placed_once),
        TEST(a_store_without_blobs_is_placed),
        TEST(what_is_kept_elsewhere_stays),
        TEST(a_link_that_leads_elsewhere_stays),
        TEST(a_folder_that_is_missing_is_named),
        TEST(hosts_have_the_same_blobs),
        TEST(what_lies_in_a_blob_is_found),
        TEST(documents_stay_in_the_store),
        TEST(nothing_is_removed_beside_another_store),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
