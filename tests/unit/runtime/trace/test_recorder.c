/*
 * The flight recorder: it keeps the newest events, and prints them oldest first.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "runtime/trace/recorder.h"

static struct tri_event copies[TR_RECORDER_EVENTS];

static void write_events(struct tri_recorder *recorder, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        *tri_recorder_next(recorder) = (struct tri_event){
            .sequence = i, .to_group = 7, .to_serial = 12, .point = TR_TAP_HANDLED};
    }
}

static void test_all_is_kept_while_there_is_room(void **state)
{
    (void)state;
    struct tri_recorder recorder;
    assert_int_equal(tri_recorder_init(&recorder), 0);
    assert_int_equal(tri_recorder_copy(&recorder, copies), 0);
    write_events(&recorder, 10);
    assert_int_equal(tri_recorder_copy(&recorder, copies), 10);
    assert_int_equal(copies[0].sequence, 0);
    assert_int_equal(copies[9].sequence, 9);
    tri_recorder_fini(&recorder);
}

static void test_newest_are_kept_when_there_is_none(void **state)
{
    (void)state;
    struct tri_recorder recorder;
    assert_int_equal(tri_recorder_init(&recorder), 0);
    write_events(&recorder, TR_RECORDER_EVENTS + 100);
    assert_int_equal(tri_recorder_copy(&recorder, copies), TR_RECORDER_EVENTS);
    for (uint32_t i = 0; i < TR_RECORDER_EVENTS; i++) {
        assert_int_equal(copies[i].sequence, 100 + i);
    }
    tri_recorder_fini(&recorder);
}

static void test_newest_are_printed_oldest_first(void **state)
{
    (void)state;
    struct tri_recorder recorder;
    int ends[2];
    char text[512];
    assert_int_equal(tri_recorder_init(&recorder), 0);
    write_events(&recorder, 5);
    *tri_recorder_next(&recorder) = (struct tri_event){
        .type = 50, .to_group = 7, .to_serial = 12, .sequence = 31, .point = TRI_RECORDER_SLOW};
    *tri_recorder_next(&recorder) = (struct tri_event){
        .at_ms = 9, .type = 40, .from_serial = 3, .point = TR_TAP_DROPPED, .reason = TR_NO_ACTOR};
    assert_int_equal(pipe(ends), 0);
    struct tri_line line;
    tri_line_init(&line, ends[1]);
    tri_recorder_print(&line, 2, &recorder, 3);
    tri_line_flush(&line);
    ssize_t size = read(ends[0], text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_string_equal(
        text, "worker=2 ms=0 point=handled type=0 to=7/12 from=0 sequence=4 reason=ok\n"
              "worker=2 ms=0 point=slow type=50 to=7/12 from=0 took_ms=31 reason=ok\n"
              "worker=2 ms=9 point=dropped type=40 to=0/0 from=3 sequence=0 reason=NO_ACTOR\n");
    close(ends[0]);
    close(ends[1]);
    tri_recorder_fini(&recorder);
}

static void test_event_is_small(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct tri_event), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_kept_while_there_is_room),
        cmocka_unit_test(test_newest_are_kept_when_there_is_none),
        cmocka_unit_test(test_newest_are_printed_oldest_first),
        cmocka_unit_test(test_event_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
