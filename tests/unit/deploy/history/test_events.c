/*
 * What happens in an execution: each change told once, in the order of time, however it comes; and
 * waiting for it.
 */
#include "deploy/history/events.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/history/changes.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define TEXT(words) tr_text_of(words)
#define EXECUTION 16

static int set_up(void **state)
{
    (void)state;
    past_open(help_folder_enter());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    past_close();
    help_folder_leave();
    return 0;
}

static void write_phase(uint64_t actor, uint64_t number, const char *path, uint8_t phase,
                        uint64_t after_ms)
{
    PAST(phase, .execution = EXECUTION, .actor = {EXECUTION, actor}, .number = number,
         .subject = TR_SUBJECT_NODE, .path = TEXT(path), .element = TR_ELEMENT_NONE, .phase = phase,
         .at_ms = PAST_MS + after_ms);
}

static void write_block(uint64_t actor, uint64_t number, const char *entries)
{
    PAST(element_block, .execution = EXECUTION, .actor = {EXECUTION, actor}, .number = number,
         .path = TEXT("sq"), .element_max = 9, .base_ms = PAST_MS, .entries = TEXT(entries));
}

/* What is new, a word for each. */
static void expect_new(struct tr_events *events, struct tr_reader *reader, const char *expected)
{
    char words[1024] = "";
    size_t size = 0;
    assert_int_equal(tr_reader_refresh(reader), 0);
    assert_int_equal(tr_events_read(events, reader), 0);
    for (uint32_t i = 0; i < events->count; i++) {
        const struct tr_event *event = &events->items[i];
        size += (size_t)snprintf(words + size, sizeof words - size, "%s:%.*s:%d ",
                                 tr_event_subject(event), (int)event->row.path.size,
                                 event->row.path.data, event->row.phase);
    }
    assert_string_equal(words, expected);
}

static void test_each_change_is_told_once(void **state)
{
    (void)state;
    struct tr_events events;
    tr_events_init(&events, EXECUTION);
    write_phase(2, 0, "a", 1, 10);
    write_phase(1, 0, "b", 1, 20);
    write_phase(3, 0, "sq", 2, 5);
    struct tr_reader *reader = past_read();
    expect_new(&events, reader, "node:sq:2 node:a:1 node:b:1 ");
    expect_new(&events, reader, "");
    write_block(3, 1, "[[4,0,30,1,2,5],[5,0,30,1]]");
    write_phase(3, 2, "sq", 4, 40);
    write_phase(1, 1, "b", 2, 1); /* a clock that was set back hides nothing */
    write_phase(4, 0, "c", 1, 50);
    expect_new(&events, reader,
               "node:b:2 element:sq:1 element:sq:2 element:sq:5 element:sq:1 node:sq:4 "
               "node:c:1 ");
    expect_new(&events, reader, "");
    PAST(phase, .execution = 32, .actor = {32, 9}, .subject = TR_SUBJECT_NODE);
    expect_new(&events, reader, "");
    tr_reader_close(reader);
    tr_events_fini(&events);
}

static void test_many_actors(void **state)
{
    (void)state;
    struct tr_events events;
    tr_events_init(&events, EXECUTION);
    struct tr_reader *reader = past_read();
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t actor = 1; actor <= 300; actor++) {
            write_phase(actor * 64, round, "n", 1, actor);
        }
        assert_int_equal(tr_reader_refresh(reader), 0);
        assert_int_equal(tr_events_read(&events, reader), 0);
        assert_int_equal(events.count, 300);
        assert_int_equal(events.items[299].row.actor.serial, 300 * 64);
    }
    tr_reader_close(reader);
    tr_events_fini(&events);
}

static void test_as_a_line(void **state)
{
    (void)state;
    struct tr_document document;
    struct tr_event event = {.row = {.subject = TR_SUBJECT_TASK,
                                     .path = TEXT("sq"),
                                     .element = 3,
                                     .attempt = 1,
                                     .phase = TR_TASK_PHASE_RUNNING,
                                     .at_ms = PAST_MS + 1,
                                     .cause = TEXT("process 7")}};
    tr_document_init(&document, past_stream(), TR_OUTPUT_JSON);
    tr_event_write(&event, &document);
    tr_document_fini(&document);
    assert_string_equal(
        past_text(), "{\"at\":\"2026-11-22T00:00:00.001Z\",\"subject\":\"attempt\",\"node\":\"sq\","
                     "\"element\":3,\"attempt\":1,\"phase\":\"running\",\"cause\":\"process 7\","
                     "\"error\":null}\n");
}

/* A commit wakes who rests; nothing is missed that came before the rest. */
static void test_a_commit_is_heard_of(void **state)
{
    (void)state;
    int changes = -1;
    assert_int_equal(tr_changes_open(".", &changes), 0);
    struct pollfd one = {.fd = changes, .events = POLLIN};
    tr_changes_take(changes);
    assert_int_equal(poll(&one, 1, 0), 0);
    write_phase(1, 0, "a", 1, 0);
    uint64_t begin_ms = tr_clock_ms();
    tr_changes_rest(changes, 60000);
    assert_true(tr_clock_ms() - begin_ms < 30000);
    help_write("log", "");
    tr_changes_add(changes, "log");
    tr_changes_take(changes);
    help_write("log", "more");
    tr_changes_rest(changes, 60000);
    assert_true(tr_clock_ms() - begin_ms < 30000);
    close(changes);
    assert_true(tr_changes_open("nowhere", &changes) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_change_is_told_once),
        TEST(test_many_actors),
        TEST(test_as_a_line),
        TEST(test_a_commit_is_heard_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
