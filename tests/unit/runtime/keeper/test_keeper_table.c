/*
 * The table of keys: every phase against every event, lists and numbers, and thousands of keys
 * beside a simple model.
 */
#include "runtime/keeper/keeper_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/keeper_client/keeper_limits.h"
#include "runtime/memory.h"
#include "tests/support/test.h"

static void only_the_phases_of_the_table_follow(void **state)
{
    (void)state;
    enum { NO = 99 };
    static const uint8_t expected[TR_PROCESS_PHASE_COUNT][TRI_KEY_EVENT_COUNT] = {
        /* ask, start, end, forget, refuse */
        [TR_PROCESS_NEW] = {TR_PROCESS_STARTING, NO, NO, NO, NO},
        [TR_PROCESS_STARTING] = {NO, TR_PROCESS_RUNNING, TR_PROCESS_ENDED, NO, TR_PROCESS_NEW},
        [TR_PROCESS_RUNNING] = {NO, NO, TR_PROCESS_ENDED, NO, NO},
        [TR_PROCESS_ENDED] = {NO, NO, NO, TR_PROCESS_FORGOTTEN, NO},
        [TR_PROCESS_FORGOTTEN] = {TR_PROCESS_STARTING, NO, NO, NO, NO},
    };
    for (int phase = 0; phase < TR_PROCESS_PHASE_COUNT; phase++) {
        for (int event = 0; event < TRI_KEY_EVENT_COUNT; event++) {
            enum tr_process_phase next = (enum tr_process_phase)NO;
            int error =
                tri_key_next_phase((enum tr_process_phase)phase, (enum tri_key_event)event, &next);
            assert_int_equal(next, expected[phase][event]);
            assert_int_equal(error, (int)next == NO ? TR_INVALID : 0);
        }
    }
}

static struct tri_key_entry *ask(struct tri_key_table *table, const char *key)
{
    struct tri_key_entry *entry;
    assert_int_equal(tri_key_table_ask(table, tr_text_of(key), &entry), 0);
    return entry;
}

static void a_life_goes_its_way(void **state)
{
    (void)state;
    struct tri_key_table table;
    assert_int_equal(tri_key_table_init(&table, 10), 0);
    struct tri_key_entry *entry = ask(&table, "key");
    struct tri_key_entry *again;
    struct tr_process_started started = {.pid = 5, .start_time = 6, .started_ms = 7};
    char reason[] = "because";
    struct tr_process_ended ended = {
        .outcome = TR_PROCESS_EXITED, .status = 3, .reason = tr_text_of(reason)};
    assert_int_equal(tri_key_table_ask(&table, tr_text_of("key"), &again), TR_EXISTS);
    assert_int_equal(tri_key_table_forget(&table, entry), TR_INVALID);
    assert_false(entry->may_run);
    assert_int_equal(tri_key_table_launch(entry), 0);
    assert_true(entry->may_run);
    assert_int_equal(tri_key_table_start(&table, entry, &started), 0);
    assert_int_equal(tri_key_table_launch(entry), TR_INVALID);
    assert_int_equal(tri_key_table_start(&table, entry, &started), TR_INVALID);
    assert_int_equal(tri_key_table_refuse(&table, entry), TR_INVALID);
    assert_int_equal(entry->pid, 5);
    assert_int_equal(table.live.count, 1);
    assert_int_equal(tri_key_table_end(&table, entry, &ended), 0);
    reason[0] = '?'; /* it was copied */
    assert_true(tr_text_equal(entry->end.reason, tr_text_of("because")));
    assert_true(tr_text_equal(entry->end.key, tr_text_of("key")));
    assert_int_equal(tri_key_table_end(&table, entry, &ended), TR_INVALID);
    assert_int_equal(table.live.count, 0);
    assert_int_equal(table.ended.count, 1);
    entry->log_bytes = 100;
    assert_int_equal(tri_key_table_forget(&table, entry), 0);
    assert_int_equal(table.forgotten_bytes, 100);
    assert_null(tri_key_table_find(&table, tr_text_of("key")));
    entry = ask(&table, "key"); /* a forgotten key is a new one */
    assert_int_equal(tri_key_table_refuse(&table, entry), 0);
    assert_null(tri_key_table_find(&table, tr_text_of("key")));
    tri_key_table_fini(&table);
    assert_int_equal(tr_memory_used(), 0);
}

static void limits_are_told(void **state)
{
    (void)state;
    struct tri_key_table table;
    struct tri_key_entry *entry;
    static char key[TR_KEEPER_KEY_BYTES_MAX + 2];
    assert_int_equal(tri_key_table_init(&table, 3), 0);
    assert_int_equal(tri_key_table_ask(&table, tr_text_of(""), &entry), TR_INVALID);
    memset(key, 'k', sizeof key - 1);
    assert_int_equal(tri_key_table_ask(&table, tr_text_of(key), &entry), TR_LIMIT);
    key[TR_KEEPER_KEY_BYTES_MAX] = '\0';
    ask(&table, key);
    ask(&table, "b");
    ask(&table, "c");
    assert_int_equal(tri_key_table_ask(&table, tr_text_of("d"), &entry), TR_BUSY);
    assert_int_equal(tri_key_table_ask(&table, tr_text_of("c"), &entry), TR_EXISTS);
    tri_key_table_fini(&table);
}

static bool refuse_memory(void *self, size_t size)
{
    (void)self;
    (void)size;
    return false;
}

static void no_memory_changes_nothing(void **state)
{
    (void)state;
    struct tri_key_table table;
    struct tri_key_entry *entry;
    assert_int_equal(tri_key_table_init(&table, 10), 0);
    struct tri_key_entry *known = ask(&table, "known");
    struct tr_process_ended ended = {.reason = tr_text_of("because")};
    tr_memory_hook_set(refuse_memory, NULL);
    int asked = tri_key_table_ask(&table, tr_text_of("new"), &entry);
    int done = tri_key_table_end(&table, known, &ended);
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(asked, TR_MEMORY);
    assert_int_equal(done, TR_MEMORY);
    assert_int_equal(known->phase, TR_PROCESS_STARTING);
    assert_int_equal(table.live.count, 1);
    tri_key_table_fini(&table);
    assert_int_equal(tr_memory_used(), 0);
}

/* Ends keep their order while others are forgotten out of the middle. */
static void ends_are_numbered_in_order(void **state)
{
    (void)state;
    struct tri_key_table table;
    struct tr_process_ended ended = {0};
    assert_int_equal(tri_key_table_init(&table, 100), 0);
    struct tri_key_entry *entries[10];
    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        entries[i] = ask(&table, key);
    }
    for (int i = 9; i >= 0; i--) {
        assert_int_equal(tri_key_table_end(&table, entries[i], &ended), 0);
    }
    for (int i = 0; i < 10; i += 3) {
        assert_int_equal(tri_key_table_forget(&table, entries[i]), 0);
    }
    static const int left[] = {8, 7, 5, 4, 2, 1};
    const struct tri_key_entry *entry = table.ended.first;
    for (size_t i = 0; i < TR_COUNT_OF(left); i++) {
        assert_ptr_equal(entry, entries[left[i]]);
        assert_int_equal(entry->end_number, 10 - left[i]);
        entry = entry->next;
    }
    assert_null(entry);
    assert_ptr_equal(table.ended.last, entries[1]);
    tri_key_table_fini(&table);
}

/* A random walk over a few thousand keys: the table says of each what the model says. */
static void many_keys_agree_with_a_model(void **state)
{
    (void)state;
    enum { KEYS = 3000, STEPS = 60000 };
    static uint8_t model[KEYS];
    struct tri_key_table table;
    struct tr_process_started started = {0};
    struct tr_process_ended ended = {0};
    assert_int_equal(tri_key_table_init(&table, KEYS), 0);
    uint32_t mixed = 7;
    for (int i = 0; i < STEPS; i++) {
        mixed = mixed * 1664525 + 1013904223;
        uint32_t number = (mixed >> 8) % KEYS;
        enum tri_key_event event = (mixed >> 3) % TRI_KEY_EVENT_COUNT;
        char key[16];
        snprintf(key, sizeof key, "key %u", number);
        struct tri_key_entry *entry = tri_key_table_find(&table, tr_text_of(key));
        assert_int_equal(entry != NULL ? entry->phase : TR_PROCESS_NEW, model[number]);
        enum tr_process_phase next;
        int expected = tri_key_next_phase(model[number], event, &next);
        if (event != TRI_KEY_ASK && entry == NULL) {
            continue;
        }
        int error = event == TRI_KEY_ASK      ? tri_key_table_ask(&table, tr_text_of(key), &entry)
                    : event == TRI_KEY_START  ? tri_key_table_start(&table, entry, &started)
                    : event == TRI_KEY_END    ? tri_key_table_end(&table, entry, &ended)
                    : event == TRI_KEY_FORGET ? tri_key_table_forget(&table, entry)
                                              : tri_key_table_refuse(&table, entry);
        assert_int_equal(error == 0, expected == 0);
        if (error == 0) {
            model[number] = next == TR_PROCESS_FORGOTTEN ? TR_PROCESS_NEW : (uint8_t)next;
        }
    }
    tri_key_table_fini(&table);
    assert_int_equal(tr_memory_used(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_phases_of_the_table_follow),
        cmocka_unit_test(a_life_goes_its_way),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(no_memory_changes_nothing),
        cmocka_unit_test(ends_are_numbered_in_order),
        cmocka_unit_test(many_keys_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
