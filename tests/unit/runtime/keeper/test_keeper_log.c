/*
 * The log's bytes: what was written is read, wherever it is cut off, and what is damaged is told
 * from what was never synced.
 */
#include "runtime/keeper/keeper_log.h"

#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

/* A log in the making, and what is read of it. */
struct story {
    struct tri_buffer bytes;
    struct tri_key_table table;
    struct tri_keeper_log_found found;
    uint32_t batch;
};

static int put(struct story *story, const struct tr_schema *schema, const void *value)
{
    return tri_keeper_log_put(&story->bytes, story->batch, schema, value, NULL);
}

static void begin(struct story *story)
{
    *story = (struct story){.batch = 1};
    struct tr_log_opened opened = {.store = 42, .place = tr_text_of("here"), .pid = 1};
    assert_int_equal(tri_keeper_log_begin(&story->bytes), 0);
    assert_int_equal(put(story, &tr_log_opened_schema, &opened), 0);
}

static void put_starting(struct story *story, const char *key)
{
    struct tr_log_starting starting = {.key = tr_text_of(key), .asked_ms = 5};
    assert_int_equal(put(story, &tr_log_starting_schema, &starting), 0);
}

static void put_launching(struct story *story, const char *key)
{
    struct tr_log_launching launching = {.key = tr_text_of(key)};
    assert_int_equal(put(story, &tr_log_launching_schema, &launching), 0);
}

static void put_started(struct story *story, const char *key, uint32_t pid)
{
    struct tr_process_started started = {.key = tr_text_of(key), .pid = pid, .start_time = 9};
    assert_int_equal(put(story, &tr_process_started_schema, &started), 0);
}

static void put_ended(struct story *story, const char *key, uint32_t status)
{
    struct tr_process_ended ended = {.key = tr_text_of(key),
                                     .outcome = TR_PROCESS_EXITED,
                                     .status = status,
                                     .reason = tr_text_of("words")};
    assert_int_equal(put(story, &tr_process_ended_schema, &ended), 0);
}

static void put_forget(struct story *story, const char *key)
{
    struct tr_process_forget forget = {.key = tr_text_of(key)};
    assert_int_equal(put(story, &tr_process_forget_schema, &forget), 0);
}

static int read_bytes(struct story *story, struct tr_bytes bytes)
{
    if (story->table.buckets != NULL) {
        tri_key_table_fini(&story->table);
    }
    assert_int_equal(tri_key_table_init(&story->table, 100), 0);
    return tri_keeper_log_read(bytes, &story->table, &story->found);
}

static struct tr_bytes bytes_of(const struct story *story)
{
    return (struct tr_bytes){.data = tri_buffer_front(&story->bytes),
                             .size = tri_buffer_size(&story->bytes)};
}

static int read_story(struct story *story)
{
    return read_bytes(story, bytes_of(story));
}

static void end(struct story *story)
{
    tri_key_table_fini(&story->table);
    tri_buffer_fini(&story->bytes);
    assert_int_equal(tr_memory_used(), 0);
}

/* Five keys in all phases, each step a batch of its own. */
static void tell_all(struct story *story)
{
    begin(story);
    static const char *const keys[] = {"forgotten", "ended", "running", "launching", "starting"};
    for (size_t i = 0; i < TR_COUNT_OF(keys); i++) {
        story->batch++;
        put_starting(story, keys[i]);
    }
    put_launching(story, "running");
    put_launching(story, "launching");
    for (size_t i = 0; i < 3; i++) {
        story->batch++;
        put_started(story, keys[i], (uint32_t)i + 10);
    }
    for (size_t i = 0; i < 2; i++) {
        story->batch++;
        put_ended(story, keys[i], (uint32_t)i + 20);
    }
    story->batch++;
    put_forget(story, "forgotten");
}

static enum tr_process_phase phase_of(const struct story *story, const char *key)
{
    const struct tri_key_entry *entry = tri_key_table_find(&story->table, tr_text_of(key));
    return entry != NULL ? entry->phase : TR_PROCESS_NEW;
}

static void expect_all(const struct story *story)
{
    assert_int_equal(phase_of(story, "forgotten"), TR_PROCESS_NEW);
    assert_int_equal(phase_of(story, "ended"), TR_PROCESS_ENDED);
    assert_int_equal(phase_of(story, "running"), TR_PROCESS_RUNNING);
    assert_int_equal(phase_of(story, "launching"), TR_PROCESS_STARTING);
    assert_int_equal(phase_of(story, "starting"), TR_PROCESS_STARTING);
    assert_true(tri_key_table_find(&story->table, tr_text_of("launching"))->may_run);
    assert_false(tri_key_table_find(&story->table, tr_text_of("starting"))->may_run);
    const struct tri_key_entry *entry = tri_key_table_find(&story->table, tr_text_of("ended"));
    assert_int_equal(entry->end.status, 21);
    assert_int_equal(entry->pid, 11);
    assert_true(tr_text_equal(entry->end.reason, tr_text_of("words")));
    entry = tri_key_table_find(&story->table, tr_text_of("running"));
    assert_int_equal(entry->pid, 12);
    assert_int_equal(entry->start_time, 9);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct story story;
    tell_all(&story);
    assert_int_equal(read_story(&story), 0);
    expect_all(&story);
    assert_int_equal(story.found.valid_bytes, tri_buffer_size(&story.bytes));
    assert_false(story.found.is_torn);
    assert_true(story.found.has_store);
    assert_int_equal(story.found.store, 42);
    assert_true(tr_text_equal(story.found.place, tr_text_of("here")));
    assert_int_equal(story.found.batch, story.batch);
    assert_true(story.table.forgotten_bytes > 100);
    end(&story);
}

/* A log made of the table says the same, and is shorter for what was forgotten. */
static void a_table_is_written(void **state)
{
    (void)state;
    struct story story;
    struct story again;
    tell_all(&story);
    assert_int_equal(read_story(&story), 0);
    begin(&again);
    assert_int_equal(tri_keeper_log_put_table(&again.bytes, 2, &story.table), 0);
    assert_int_equal(read_story(&again), 0);
    expect_all(&again);
    assert_int_equal(again.table.forgotten_bytes, 0);
    assert_true(tri_buffer_size(&again.bytes) < tri_buffer_size(&story.bytes));
    tri_key_table_fini(&again.table);
    tri_buffer_fini(&again.bytes);
    end(&story);
}

/* Cut off anywhere, a log is read up to its last whole record. */
static void a_log_may_end_anywhere(void **state)
{
    (void)state;
    struct story story;
    tell_all(&story);
    size_t size = tri_buffer_size(&story.bytes);
    size_t valid = 0;
    for (size_t cut = 0; cut <= size; cut++) {
        struct tr_bytes bytes = {.data = tri_buffer_front(&story.bytes), .size = cut};
        assert_int_equal(read_bytes(&story, bytes), 0);
        assert_true(story.found.valid_bytes <= cut && story.found.valid_bytes >= valid);
        valid = story.found.valid_bytes;
        assert_int_equal(story.found.is_torn, valid != cut);
    }
    assert_int_equal(valid, size);
    end(&story);
}

/* Zeros are room for more, and nothing to complain of. */
static void zeros_are_room(void **state)
{
    (void)state;
    static const uint8_t zeros[1000];
    struct story story;
    tell_all(&story);
    size_t size = tri_buffer_size(&story.bytes);
    assert_int_equal(tri_buffer_append(&story.bytes, zeros, sizeof zeros), 0);
    assert_int_equal(read_story(&story), 0);
    expect_all(&story);
    assert_int_equal(story.found.valid_bytes, size);
    assert_false(story.found.is_torn);
    assert_string_equal(story.found.reason, "");
    assert_int_equal(tri_buffer_append(&story.bytes, "garbage", 7), 0);
    assert_int_equal(read_story(&story), 0);
    assert_int_equal(story.found.valid_bytes, size);
    assert_true(story.found.is_torn);
    end(&story);
}

/* Every byte that is wrong before the last two batches is damage; none is ever believed. */
static void damage_is_told_from_tearing(void **state)
{
    (void)state;
    struct story story;
    tell_all(&story);
    size_t size = tri_buffer_size(&story.bytes);
    size_t damaged = 0;
    size_t torn = 0;
    for (size_t i = TRI_KEEPER_LOG_MAGIC_BYTES; i < size; i++) {
        uint8_t *byte = tri_buffer_front(&story.bytes) + i;
        *byte ^= 0x40;
        int error = read_story(&story);
        *byte ^= 0x40;
        if (error == 0) {
            assert_true(story.found.is_torn);
            assert_true(story.found.valid_bytes <= i);
            torn++;
        } else {
            assert_int_equal(error, TR_STORE_DAMAGED);
            assert_int_equal(torn, 0); /* the early ones */
            assert_non_null(strstr(story.found.reason, "at byte "));
            damaged++;
        }
    }
    assert_true(damaged > torn);
    assert_true(torn > 0);
    end(&story);
}

/* What was synced after a gap proves that the gap was synced too; what was not, proves nothing. */
static void a_gap_among_unsynced_records_is_torn(void **state)
{
    (void)state;
    struct story story;
    begin(&story);
    story.batch++;
    size_t gap = tri_buffer_size(&story.bytes);
    put_starting(&story, "lost");
    put_starting(&story, "behind it");
    memset(tri_buffer_front(&story.bytes) + gap, 0, 30);
    assert_int_equal(read_story(&story), 0);
    assert_true(story.found.is_torn);
    assert_int_equal(story.found.valid_bytes, gap);
    assert_int_equal(phase_of(&story, "behind it"), TR_PROCESS_NEW);
    story.batch++;
    put_starting(&story, "after a sync");
    assert_int_equal(read_story(&story), TR_STORE_DAMAGED);
    end(&story);
}

static void impossible_stories_are_damage(void **state)
{
    (void)state;
    struct story story;
    for (int kind = 0; kind < 8; kind++) {
        begin(&story);
        put_starting(&story, "key");
        switch (kind) {
        case 0:
            put_starting(&story, "key");
            break;
        case 1:
            put_started(&story, "other", 1);
            break;
        case 2:
            put_ended(&story, "other", 1);
            break;
        case 3:
            put_forget(&story, "key");
            break;
        case 4:
            put_ended(&story, "key", 1);
            put_started(&story, "key", 1);
            break;
        case 5:
            put_ended(&story, "key", 1);
            put_ended(&story, "key", 1);
            break;
        case 6:
            put_started(&story, "key", 1);
            put_launching(&story, "key");
            break;
        case 7:
            put_started(&story, "key", 1);
            put_starting(&story, "key");
            break;
        }
        assert_int_equal(read_story(&story), TR_STORE_DAMAGED);
        bool is_log = kind == 0 || kind >= 6;
        assert_non_null(strstr(story.found.reason, is_log ? "log_" : "process_"));
        end(&story);
    }
}

/* A commit that failed takes the forget of a key with it, and the key is asked for again. */
static void a_lost_forget_is_made_up_for(void **state)
{
    (void)state;
    struct story story;
    begin(&story);
    put_starting(&story, "key");
    put_ended(&story, "key", 1);
    put_starting(&story, "key");
    assert_int_equal(read_story(&story), 0);
    assert_int_equal(phase_of(&story, "key"), TR_PROCESS_STARTING);
    assert_int_equal(story.table.ended.count, 0);
    assert_true(story.table.forgotten_bytes > 0);
    put_started(&story, "key", 7);
    put_ended(&story, "key", 2);
    assert_int_equal(read_story(&story), 0);
    assert_int_equal(tri_key_table_find(&story.table, tr_text_of("key"))->end.status, 2);
    end(&story);
}

static void other_files_are_told(void **state)
{
    (void)state;
    struct story story = {0};
    static const struct {
        const char *bytes;
        size_t size;
        int error;
    } rows[] = {
        {"SQLite format 3", 16, TR_STORE_FOREIGN},
        {"x", 1, TR_STORE_FOREIGN},
        {"trkpr\0\0\2", 8, TR_STORE_NEWER},
        {"", 0, 0},
        {"\0\0\0\0\0\0\0\0\0\0\0\0", 12, 0},
        {"trk", 3, 0},
        {"trkpr\0\0\1", 8, 0},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_bytes bytes = {.data = (const uint8_t *)rows[i].bytes, .size = rows[i].size};
        assert_int_equal(read_bytes(&story, bytes), rows[i].error);
        assert_false(story.found.has_store);
    }
    end(&story);
}

static void later_records_are_told(void **state)
{
    (void)state;
    struct story story;
    struct tr_schema later = tr_log_starting_schema;
    struct tr_log_starting starting = {.key = tr_text_of("key")};
    later.version = 2;
    begin(&story);
    assert_int_equal(put(&story, &later, &starting), 0);
    assert_int_equal(read_story(&story), TR_STORE_NEWER);
    end(&story);
    later.version = 1;
    later.id = 339;
    begin(&story);
    assert_int_equal(put(&story, &later, &starting), 0);
    assert_int_equal(read_story(&story), TR_STORE_NEWER);
    assert_non_null(strstr(story.found.reason, "unknown type"));
    end(&story);
}

static void a_log_begins_with_its_opening(void **state)
{
    (void)state;
    struct story story = {.batch = 1};
    assert_int_equal(tri_keeper_log_begin(&story.bytes), 0);
    put_starting(&story, "key");
    assert_int_equal(read_story(&story), TR_STORE_DAMAGED);
    end(&story);
}

static void too_many_keys_are_told(void **state)
{
    (void)state;
    struct story story;
    begin(&story);
    for (int i = 0; i < 101; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        put_starting(&story, key);
    }
    assert_int_equal(read_story(&story), TR_BUSY);
    end(&story);
}

/* An end as one of a keeper that has synced, or not, what the process had written. */
static void put_exited(struct story *story, const char *key, bool is_synced)
{
    struct tr_process_ended ended = {
        .key = tr_text_of(key), .outcome = TR_PROCESS_EXITED, .is_synced = is_synced};
    put_starting(story, key);
    put_started(story, key, 7);
    assert_int_equal(put(story, &tr_process_ended_schema, &ended), 0);
}

static uint8_t outcome_of(const struct story *story, const char *key)
{
    const struct tri_key_entry *entry = tri_key_table_find(&story->table, tr_text_of(key));
    assert_non_null(entry);
    return entry->end.outcome;
}

/* After a restart of the machine nothing is known of an end whose files were not synced. */
static void a_restart_of_the_machine_loses_unsynced_ends(void **state)
{
    (void)state;
    struct story story;
    begin(&story);
    put_exited(&story, "synced", true);
    put_exited(&story, "torn", false);
    struct tr_log_opened opened = {.store = 42, .place = tr_text_of("boot b folder 1:2")};
    assert_int_equal(put(&story, &tr_log_opened_schema, &opened), 0);
    put_exited(&story, "later", false);
    opened.place = tr_text_of("boot b folder 3:4"); /* moved, not restarted */
    assert_int_equal(put(&story, &tr_log_opened_schema, &opened), 0);
    assert_int_equal(read_bytes(&story, bytes_of(&story)), 0);
    assert_int_equal(outcome_of(&story, "synced"), TR_PROCESS_EXITED);
    assert_int_equal(outcome_of(&story, "torn"), TR_PROCESS_LOST);
    assert_int_equal(outcome_of(&story, "later"), TR_PROCESS_EXITED);
    end(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_table_is_written),
        cmocka_unit_test(a_log_may_end_anywhere),
        cmocka_unit_test(zeros_are_room),
        cmocka_unit_test(damage_is_told_from_tearing),
        cmocka_unit_test(a_gap_among_unsynced_records_is_torn),
        cmocka_unit_test(impossible_stories_are_damage),
        cmocka_unit_test(a_lost_forget_is_made_up_for),
        cmocka_unit_test(other_files_are_told),
        cmocka_unit_test(later_records_are_told),
        cmocka_unit_test(a_log_begins_with_its_opening),
        cmocka_unit_test(too_many_keys_are_told),
        cmocka_unit_test(a_restart_of_the_machine_loses_unsynced_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
