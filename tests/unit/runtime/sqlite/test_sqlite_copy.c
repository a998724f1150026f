/*
 * A copy of a database is of one moment, whatever is committed meanwhile, and lets the log begin
 * anew afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/sqlite/sqlite_copy.h"
#include "tests/unit/runtime/stand.h"

#define ACTORS 900
#define IMAGE_BYTES 3000

/* A store with an open writer, and a second place for the copy. */
struct scene {
    struct stand *stand;
    struct stand *other;
    struct tri_store *store;
    char path[128]; /* of the copy */
    char *image;
    uint64_t number;
    uint32_t steps;
    int stops_with;
    bool is_busy; /* commits while it is copied */
};

static void commit_all(struct scene *scene, char fill)
{
    memset(scene->image, fill, IMAGE_BYTES);
    for (uint64_t i = 1; i <= ACTORS; i++) {
        assert_int_equal(COMMIT(scene->store, ++scene->number, op_actor(1, i, 1, scene->image)), 0);
    }
}

static struct scene *scene_new(void)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->image = calloc(1, IMAGE_BYTES + 1);
    assert_non_null(scene->image);
    scene->stand = stand_new(STAND_FOLDER);
    scene->other = stand_new(STAND_FOLDER);
    scene->store = stand_open(scene->stand);
    stand_path(scene->other, "troupe.db", scene->path, sizeof scene->path);
    commit_all(scene, 'a');
    return scene;
}

static void scene_free(struct scene *scene)
{
    tri_store_close(scene->store);
    stand_free(scene->stand);
    stand_free(scene->other);
    free(scene->image);
    free(scene);
}

static int step(void *self, uint64_t done, uint64_t total)
{
    struct scene *scene = self;
    assert_true(done <= total);
    scene->steps++;
    if (scene->is_busy) {
        commit_all(scene, 'b');
    }
    return scene->stops_with;
}

static int copy(struct scene *scene, uint64_t log_bytes_max, char *explain)
{
    const struct tri_store_copying copying = {.folder = scene->stand->folder,
                                              .path = scene->path,
                                              .log_bytes_max = log_bytes_max,
                                              .self = scene,
                                              .progress = step};
    explain[0] = '\0';
    return tri_sqlite_copy(&copying, explain);
}

static uint64_t log_bytes(const struct scene *scene)
{
    char path[128];
    struct stat status;
    stand_path(scene->stand, "troupe.db-wal", path, sizeof path);
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* What the copy holds, by a store that is opened on it. */
static char *dump_copy(const struct scene *scene)
{
    struct tri_store *copied = stand_open(scene->other);
    char *text = stand_dump(copied);
    assert_int_equal(copied->incarnation, scene->store->incarnation + 1);
    tri_store_close(copied);
    return text;
}

static void test_it_is_of_one_moment(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    char explain[TRI_STORE_EXPLAIN_BYTES];
    char *before = stand_dump(scene->store);
    scene->is_busy = true;
    assert_int_equal(copy(scene, TR_STORE_COPY_LOG_BYTES_MAX, explain), 0);
    assert_true(scene->steps > 2);
    char *copied = dump_copy(scene);
    assert_string_equal(copied, before);
    char *now = stand_dump(scene->store);
    assert_string_not_equal(now, before);
    free(now);
    free(copied);
    free(before);
    scene_free(scene);
}

/* Whoever copies holds the log up for no longer than the copy takes. */
static void test_the_log_begins_anew_behind_it(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    char explain[TRI_STORE_EXPLAIN_BYTES];
    scene->is_busy = true;
    assert_int_equal(copy(scene, TR_STORE_COPY_LOG_BYTES_MAX, explain), 0);
    scene->is_busy = false;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < 20; i++) { /* 60 MB and more */
        commit_all(scene, 'c');
        assert_int_equal(tri_store_maintain(scene->store), 0);
        uint64_t bytes = log_bytes(scene);
        largest = bytes > largest ? bytes : largest;
    }
    assert_true(largest <= 2 * TR_STORE_LOG_BYTES_MAX);
    scene_free(scene);
}

static void test_a_log_that_grows_too_much_ends_it(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    char explain[TRI_STORE_EXPLAIN_BYTES];
    scene->is_busy = true;
    assert_int_equal(copy(scene, 1, explain), TR_BUSY);
    assert_non_null(strstr(explain, "troupe.db: its log has reached"));
    assert_non_null(strstr(explain, "copy to a faster disk"));
    scene_free(scene);
}

static void test_whoever_watches_may_end_it(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    char explain[TRI_STORE_EXPLAIN_BYTES];
    scene->stops_with = TR_CLOSED;
    assert_int_equal(copy(scene, TR_STORE_COPY_LOG_BYTES_MAX, explain), TR_CLOSED);
    assert_int_equal(scene->steps, 1);
    scene_free(scene);
}

static void test_what_cannot_be_copied_is_told(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    char explain[TRI_STORE_EXPLAIN_BYTES];
    snprintf(scene->path, sizeof scene->path, "/nowhere/troupe.db");
    assert_int_equal(copy(scene, TR_STORE_COPY_LOG_BYTES_MAX, explain), TR_STORE_FAILED);
    assert_non_null(strstr(explain, "/nowhere/troupe.db: cannot be written"));
    const struct tri_store_copying copying = {.folder = scene->other->folder, .path = scene->path};
    assert_int_equal(tri_sqlite_copy(&copying, explain), TR_NOT_FOUND);
    assert_non_null(strstr(explain, "there is no store yet"));
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_of_one_moment),
        cmocka_unit_test(test_the_log_begins_anew_behind_it),
        cmocka_unit_test(test_a_log_that_grows_too_much_ends_it),
        cmocka_unit_test(test_whoever_watches_may_end_it),
        cmocka_unit_test(test_what_cannot_be_copied_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
