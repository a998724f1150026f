/*
 * Blobs that are in another place, too: sent before they get their names, brought when they are
 * asked for, checked by their digests, and removed on both sides. The place is a table of objects
 * here, which fails on demand.
 */
#include "runtime/blob/blob_remote.h"

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

enum { OBJECTS_MAX = 8, OBJECT_BYTES_MAX = 65536 };

struct object {
    char name[256];
    uint8_t bytes[OBJECT_BYTES_MAX];
    size_t size;
    uint64_t changed_ms;
};

/* The place: its objects, what it was asked, and what fails. */
static struct place {
    struct tri_blob_remote base; /* stays first */
    struct object objects[OBJECTS_MAX];
    size_t count;
    unsigned sent;
    unsigned got;
    unsigned ended;
    int error; /* of the next call */
    bool is_freed;
    void (*while_sending)(void);
} place;

struct upload {
    struct tri_blob_upload base;
    struct object object;
};

static struct world {
    char store[64];
    struct tri_blobs *blobs;
} world;

static int fail_here(struct tri_blob_call *call)
{
    int error = place.error;
    place.error = 0;
    if (error != 0) {
        snprintf(call->words, sizeof call->words, "the place is away");
    }
    return error;
}

static struct object *find(const char *name)
{
    for (size_t i = 0; i < place.count; i++) {
        if (strcmp(place.objects[i].name, name) == 0) {
            return &place.objects[i];
        }
    }
    return NULL;
}

static int begin(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name,
                 struct tri_blob_upload **out)
{
    static struct upload upload;
    (void)remote;
    upload = (struct upload){.base.call = call};
    snprintf(upload.object.name, sizeof upload.object.name, "%s", name);
    *out = &upload.base;
    return fail_here(call);
}

static int add(struct tri_blob_upload *base, struct tr_bytes bytes)
{
    struct upload *upload = (struct upload *)base;
    assert_true(upload->object.size + bytes.size <= OBJECT_BYTES_MAX);
    memcpy(upload->object.bytes + upload->object.size, bytes.data, bytes.size);
    upload->object.size += bytes.size;
    return 0;
}

static int end(struct tri_blob_upload *base, bool is_whole)
{
    struct upload *upload = (struct upload *)base;
    int error = is_whole ? fail_here(base->call) : 0;
    place.ended++;
    if (is_whole && error == 0) {
        struct object *object = find(upload->object.name);
        object = object != NULL ? object : &place.objects[place.count++];
        assert_true(place.count <= OBJECTS_MAX);
        *object = upload->object;
        object->changed_ms = tri_wall_ms();
        place.sent++;
    }
    if (place.while_sending != NULL) {
        place.while_sending();
    }
    return error;
}

static int get(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name,
               int descriptor)
{
    const struct object *object = find(name);
    int error = fail_here(call);
    (void)remote;
    if (error == 0 && object == NULL) {
        snprintf(call->words, sizeof call->words, "the place has no %s", name);
        error = TR_NOT_FOUND;
    }
    if (error == 0) {
        place.got++;
        assert_int_equal(write(descriptor, object->bytes, object->size), (ssize_t)object->size);
    }
    return error;
}

static int each_object(struct tri_blob_remote *remote, struct tri_blob_call *call,
                       int (*each)(void *self, const struct tri_blob_object *object), void *self)
{
    struct object *all = malloc(sizeof place.objects);
    size_t count = place.count;
    int error = fail_here(call);
    (void)remote;
    assert_non_null(all);
    memcpy(all, place.objects, sizeof place.objects);
    for (size_t i = 0; i < count && error == 0; i++) {
        error = each(self, &(struct tri_blob_object){.name = all[i].name,
                                                     .changed_ms = all[i].changed_ms,
                                                     .size = all[i].size});
    }
    free(all);
    return error;
}

static int remove_object(struct tri_blob_remote *remote, struct tri_blob_call *call,
                         const char *name)
{
    struct object *object = find(name);
    int error = fail_here(call);
    (void)remote;
    if (error == 0 && object != NULL) {
        *object = place.objects[--place.count];
    }
    return error;
}

static int clean(struct tri_blob_remote *remote, struct tri_blob_call *call, uint64_t before_ms)
{
    (void)remote;
    (void)before_ms;
    return fail_here(call);
}

static void free_place(struct tri_blob_remote *remote)
{
    ((struct place *)remote)->is_freed = true;
}

static const struct tri_blob_remote_ops ops = {.begin = begin,
                                               .add = add,
                                               .end = end,
                                               .get = get,
                                               .each = each_object,
                                               .remove = remove_object,
                                               .clean = clean,
                                               .free = free_place};

static int setup(void **state)
{
    (void)state;
    place = (struct place){.base.ops = &ops};
    world = (struct world){.store = "/tmp/troupe-blob-remote-XXXXXX"};
    assert_non_null(mkdtemp(world.store));
    assert_int_equal(tri_blobs_open(world.store, NULL, &world.blobs), 0);
    tri_blobs_set_remote(world.blobs, &place.base);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tri_blobs_close(world.blobs);
    assert_true(place.is_freed);
    (void)folder_remove(world.store);
    return 0;
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", world.store, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static int put(const char *name, struct tri_blob *blob)
{
    char path[256];
    snprintf(path, sizeof path, "%s", path_of(name));
    return tri_blob_put(world.blobs, &(struct tri_blob_put){.path = tr_text_of(path)}, blob);
}

static int fetch(const char *uri, struct tri_blob *blob)
{
    return tri_blob_fetch(world.blobs, tr_text_of(uri), blob);
}

/* Removes it from the folder alone. */
static void evict(const struct tri_blob *blob)
{
    assert_int_equal(folder_remove(blob->path), 0);
    assert_int_not_equal(access(blob->path, F_OK), 0);
}

static void assert_content(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    assert_string_equal(text, expected);
}

static void expect_words(const char *words)
{
    if (strstr(tri_blobs_words(world.blobs), words) == NULL) {
        fail_msg("no '%s' in '%s'", words, tri_blobs_words(world.blobs));
    }
}

static void test_a_file_is_there_as_it_is_and_comes_back(void **state)
{
    struct tri_blob blob;
    struct tri_blob again;
    (void)state;
    write_file("a.txt", "content", 0600);
    assert_int_equal(put("a.txt", &blob), 0);
    assert_int_equal(place.count, 1);
    assert_string_equal(place.objects[0].name, blob.uri + strlen("blob:"));
    assert_memory_equal(place.objects[0].bytes, "content", 7);
    /* What is here is there: nothing is sent or brought again. */
    assert_int_equal(put("a.txt", &again), 0);
    assert_int_equal(fetch(blob.uri, &again), 0);
    assert_int_equal(place.sent, 1);
    assert_int_equal(place.got, 0);
    evict(&blob);
    assert_int_equal(fetch(blob.uri, &again), 0);
    assert_int_equal(place.got, 1);
    assert_content(again.path, "content");
    struct stat status;
    assert_int_equal(stat(again.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0444);
}

static void test_a_folder_and_a_program_come_back_as_they_were(void **state)
{
    struct tri_blob folder;
    struct tri_blob program;
    struct tri_blob again;
    struct stat status;
    (void)state;
    assert_int_equal(mkdir(path_of("d"), 0700), 0);
    assert_int_equal(mkdir(path_of("d/empty"), 0700), 0);
    write_file("d/x", "inside", 0600);
    write_file("d/run", "#!/bin/sh", 0700);
    assert_int_equal(symlink("x", path_of("d/link")), 0);
    write_file("p", "#!/bin/sh", 0700);
    assert_int_equal(put("d", &folder), 0);
    assert_int_equal(put("p", &program), 0);
    evict(&folder);
    evict(&program);
    char inside[8192];
    snprintf(inside, sizeof inside, "%s/x", folder.uri);
    assert_int_equal(fetch(inside, &again), 0);
    assert_content(again.path, "inside");
    snprintf(inside, sizeof inside, "%s/link", folder.path);
    assert_content(inside, "inside");
    snprintf(inside, sizeof inside, "%s/empty", folder.path);
    assert_int_equal(stat(inside, &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    snprintf(inside, sizeof inside, "%s/run", folder.path);
    assert_int_equal(stat(inside, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0555);
    assert_int_equal(fetch(program.uri, &again), 0);
    assert_int_equal(stat(again.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0555);
}

static void test_another_content_is_refused(void **state)
{
    struct tri_blob blob;
    struct tri_blob folder;
    (void)state;
    write_file("a", "content", 0600);
    assert_int_equal(mkdir(path_of("d"), 0700), 0);
    write_file("d/x", "inside", 0600);
    assert_int_equal(put("a", &blob), 0);
    assert_int_equal(put("d", &folder), 0);
    evict(&blob);
    evict(&folder);
    place.objects[0].bytes[0] = 'C';
    assert_int_equal(fetch(blob.uri, &blob), TR_MALFORMED);
    expect_words("has under this name is another content or damaged");
    place.objects[1].bytes[place.objects[1].size - 2] ^= 1;
    assert_int_equal(fetch(folder.uri, &folder), TR_MALFORMED);
    place.objects[1].size -= 1;
    assert_int_equal(fetch(folder.uri, &folder), TR_MALFORMED);
    expect_words("has under this name is another content or damaged");
    assert_int_not_equal(access(blob.path, F_OK), 0);
    assert_int_not_equal(access(folder.path, F_OK), 0);
}

static void test_what_is_not_sent_gets_no_name(void **state)
{
    struct tri_blob blob = {.size = 0};
    (void)state;
    write_file("a", "content", 0600);
    place.error = TR_NO_CONNECTION;
    assert_int_equal(put("a", &blob), TR_NO_CONNECTION);
    expect_words("the place is away");
    assert_int_equal(place.count, 0);
    assert_int_equal(put("a", &blob), 0);
    evict(&blob);
    place.error = TR_NO_CONNECTION;
    assert_int_equal(fetch(blob.uri, &blob), TR_NO_CONNECTION);
    assert_int_not_equal(access(blob.path, F_OK), 0);
    assert_int_equal(fetch(blob.uri, &blob), 0);
}

static void test_what_is_nowhere_is_told(void **state)
{
    struct tri_blob blob;
    char uri[128];
    (void)state;
    snprintf(uri, sizeof uri, "blob:%064d-x", 0);
    assert_int_equal(fetch(uri, &blob), TR_NOT_FOUND);
    expect_words("the place has no 0000");
}

static bool is_used(void *self, const char *name)
{
    return strstr(name, self) != NULL;
}

static int sweep(uint64_t before_ms, bool is_dry, const char *used, struct tri_swept *swept)
{
    const struct tri_blob_sweep wanted = {.before_ms = before_ms,
                                          .pieces_before_ms = before_ms,
                                          .is_dry = is_dry,
                                          .self = (void *)(uintptr_t)used,
                                          .is_used = is_used};
    return tri_blob_sweep(world.blobs, &wanted, swept);
}

static void test_a_sweep_removes_on_both_sides(void **state)
{
    struct tri_blob kept;
    struct tri_blob gone;
    struct tri_blob away;
    struct tri_swept swept;
    (void)state;
    write_file("kept", "kept", 0600);
    write_file("gone", "gone", 0600);
    write_file("away", "away", 0600);
    assert_int_equal(put("kept", &kept), 0);
    assert_int_equal(put("gone", &gone), 0);
    assert_int_equal(put("away", &away), 0);
    evict(&away);
    assert_int_equal(sweep(tri_wall_ms() - 60000, false, "kept", &swept), 0);
    assert_int_equal(swept.count, 0);
    assert_int_equal(sweep(tri_wall_ms() + 1000, true, "kept", &swept), 0);
    assert_int_equal(swept.count, 2);
    assert_int_equal(place.count, 3);
    assert_int_equal(sweep(tri_wall_ms() + 1000, false, "kept", &swept), 0);
    assert_int_equal(swept.count, 2);
    assert_int_equal(swept.bytes, 8);
    assert_int_equal(place.count, 1);
    assert_int_equal(access(kept.path, F_OK), 0);
    assert_int_not_equal(access(gone.path, F_OK), 0);
    assert_int_equal(fetch(gone.uri, &gone), TR_NOT_FOUND);
}

static void test_a_failed_removal_is_told_and_others_stay(void **state)
{
    struct tri_blob blob;
    struct tri_swept swept;
    (void)state;
    write_file("a", "a", 0600);
    assert_int_equal(put("a", &blob), 0);
    place.error = TR_BUSY;
    assert_int_equal(sweep(tri_wall_ms() + 1000, false, "x", &swept), TR_BUSY);
    expect_words("the place is away");
    assert_int_equal(place.count, 1);
}

/* In the middle of sending: a sweep of another process, which must not take what is being sent. */
static void sweep_beside(void)
{
    struct tri_blobs *beside;
    struct tri_swept swept;
    const struct tri_blob_sweep wanted = {
        .before_ms = tri_wall_ms() + 1000, .self = (void *)(uintptr_t) "none", .is_used = is_used};
    assert_int_equal(tri_blobs_open_beside(world.store, &beside), 0);
    tri_blobs_set_remote(beside, &place.base);
    assert_int_equal(tri_blob_sweep(beside, &wanted, &swept), 0);
    assert_int_equal(swept.count, 0);
    tri_blobs_set_remote(beside, NULL);
    tri_blobs_close(beside);
}

static void test_a_sweep_leaves_what_is_being_stored(void **state)
{
    struct tri_blob blob;
    (void)state;
    write_file("a", "a", 0600);
    place.while_sending = sweep_beside;
    assert_int_equal(put("a", &blob), 0);
    place.while_sending = NULL;
    evict(&blob);
    assert_int_equal(fetch(blob.uri, &blob), 0);
}

static int trim(uint64_t bytes_max, uint64_t before_ms, const char *used, struct tri_swept *swept)
{
    const struct tri_blob_trim wanted = {.bytes_max = bytes_max,
                                         .before_ms = before_ms,
                                         .self = (void *)(uintptr_t)used,
                                         .is_used = is_used};
    return tri_blobs_trim(world.blobs, &wanted, swept);
}

static void put_old(const char *name, struct tri_blob *blob)
{
    uint64_t begin_ms = tri_wall_ms();
    write_file(name, "four", 0600);
    FILE *file = fopen(path_of(name), "a");
    assert_non_null(file);
    assert_true(fputs(name, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(put(name, blob), 0);
    while (tri_wall_ms() < begin_ms + 20) {
        /* the next one is younger, by a clock that ticks every few milliseconds */
    }
}

static void test_the_cache_loses_what_was_asked_for_longest_ago(void **state)
{
    struct tri_blob first;
    struct tri_blob second;
    struct tri_blob third;
    struct tri_swept swept;
    (void)state;
    put_old("a", &first);
    put_old("b", &second);
    put_old("c", &third);
    assert_int_equal(fetch(first.uri, &first), 0);
    /* 15 bytes are here. */
    assert_int_equal(trim(15, tri_wall_ms() + 1000, "x", &swept), 0);
    assert_int_equal(swept.count, 0);
    assert_int_equal(trim(0, tri_wall_ms() - 60000, "x", &swept), 0);
    assert_int_equal(swept.count, 0);
    assert_int_equal(trim(10, tri_wall_ms() + 1000, "x", &swept), 0);
    assert_int_equal(swept.count, 1);
    assert_int_equal(swept.bytes, 5);
    assert_int_not_equal(access(second.path, F_OK), 0);
    assert_int_equal(trim(0, tri_wall_ms() + 1000, "-c", &swept), 0);
    assert_int_equal(swept.count, 1);
    assert_int_not_equal(access(first.path, F_OK), 0);
    assert_int_equal(access(third.path, F_OK), 0);
    assert_int_equal(place.count, 3);
    assert_int_equal(fetch(first.uri, &first), 0);
    /* A folder that is no cache loses nothing. */
    tri_blobs_set_remote(world.blobs, NULL);
    assert_int_equal(trim(0, tri_wall_ms() + 1000, "x", &swept), 0);
    assert_int_equal(swept.count, 0);
    tri_blobs_set_remote(world.blobs, &place.base);
}

static int count_names(void *self, const char *name, uint64_t changed_ms)
{
    (void)name;
    assert_true(changed_ms > 0);
    ++*(unsigned *)self;
    return 0;
}

static void test_all_are_shown_and_sent(void **state)
{
    struct tri_blob blob;
    unsigned count = 0;
    (void)state;
    tri_blobs_set_remote(world.blobs, NULL);
    write_file("a", "a", 0600);
    write_file("b", "b", 0600);
    assert_int_equal(put("a", &blob), 0);
    assert_int_equal(put("b", &blob), 0);
    tri_blobs_set_remote(world.blobs, &place.base);
    assert_int_equal(tri_blobs_send_all(world.blobs), 0);
    assert_int_equal(place.count, 2);
    evict(&blob);
    assert_int_equal(tri_blobs_each(world.blobs, count_names, &count), 0);
    assert_int_equal(count, 2);
    place.error = TR_DENIED;
    assert_int_equal(tri_blobs_each(world.blobs, count_names, &count), TR_DENIED);
    expect_words("the place is away");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_file_is_there_as_it_is_and_comes_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_and_a_program_come_back_as_they_were, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_another_content_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_sent_gets_no_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_nowhere_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_sweep_removes_on_both_sides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_failed_removal_is_told_and_others_stay, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_sweep_leaves_what_is_being_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_are_shown_and_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_cache_loses_what_was_asked_for_longest_ago, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
