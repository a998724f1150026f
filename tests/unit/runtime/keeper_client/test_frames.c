/*
 * Frames over a pair of sockets: whole, in pieces, too many, too large, and cut off.
 */
#include "runtime/keeper_client/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schemas/runtime/process.h"
#include "tests/support/test.h"

enum { FRAME_MAX = 1000, OUTPUT_MAX = 5000 };

struct pair {
    struct tri_frames here;
    struct tri_frames there;
};

static int set_up(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    tri_frames_init(&pair->here, fds[0], FRAME_MAX, OUTPUT_MAX);
    tri_frames_init(&pair->there, fds[1], FRAME_MAX, OUTPUT_MAX);
    *state = pair;
    return 0;
}

static int take_down(void **state)
{
    struct pair *pair = *state;
    tri_frames_fini(&pair->here);
    tri_frames_fini(&pair->there);
    free(pair);
    return 0;
}

static int put_query(struct tri_frames *frames, const char *key)
{
    struct tr_process_query query = {.key = tr_text_of(key)};
    return tri_frames_put(frames, &tr_process_query_schema, &query);
}

static void expect_query(struct tri_frames *frames, const char *key)
{
    struct tri_packet frame;
    struct tr_process_query query;
    assert_int_equal(tri_frames_next(frames, &frame), 0);
    assert_int_equal(frame.type, tr_process_query_schema.id);
    assert_int_equal(tr_process_query_unpack(frame.body, frame.version, &query), 0);
    assert_true(tr_text_equal(query.key, tr_text_of(key)));
}

static void frames_come_in_order(void **state)
{
    struct pair *pair = *state;
    struct tri_packet frame;
    for (int i = 0; i < 1000; i++) {
        char one[32];
        char two[32];
        snprintf(one, sizeof one, "one %d", i);
        snprintf(two, sizeof two, "two %d", i);
        assert_int_equal(put_query(&pair->here, one), 0);
        assert_int_equal(put_query(&pair->here, two), 0);
        assert_int_equal(tri_frames_flush(&pair->here), 0);
        assert_int_equal(tri_frames_waiting(&pair->here), 0);
        assert_int_equal(tri_frames_fill(&pair->there, 65536), 0);
        expect_query(&pair->there, one);
        expect_query(&pair->there, two);
        assert_int_equal(tri_frames_next(&pair->there, &frame), TR_NOT_FOUND);
    }
}

static void pieces_become_a_frame(void **state)
{
    struct pair *pair = *state;
    struct tri_packet frame;
    assert_int_equal(put_query(&pair->here, "in pieces"), 0);
    const uint8_t *bytes = tri_buffer_front(&pair->here.output);
    size_t size = tri_frames_waiting(&pair->here);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(tri_frames_fill(&pair->there, 65536), 0);
        assert_int_equal(tri_frames_next(&pair->there, &frame), TR_NOT_FOUND);
        assert_int_equal(send(pair->here.fd, bytes + i, 1, 0), 1);
    }
    assert_int_equal(tri_frames_fill(&pair->there, 65536), 0);
    expect_query(&pair->there, "in pieces");
}

static void output_has_a_limit(void **state)
{
    struct pair *pair = *state;
    static char key[FRAME_MAX * 10];
    memset(key, 'k', 400);
    int count = 0;
    while (put_query(&pair->here, key) == 0) {
        count++;
    }
    assert_int_equal(put_query(&pair->here, key), TR_BUSY);
    assert_in_range(count, 11, 12);
    memset(key, 'k', sizeof key - 1);
    assert_int_equal(put_query(&pair->here, key), TR_LIMIT);
    assert_int_equal(tri_frames_flush(&pair->here), 0);
    key[FRAME_MAX] = '\0';
    assert_int_equal(put_query(&pair->here, key), TR_LIMIT); /* more than a frame holds */
    key[FRAME_MAX - 10] = '\0';
    assert_int_equal(put_query(&pair->here, key), 0);
}

/* Who does not read makes the other side wait, not lose anything. */
static void a_slow_reader_gets_all(void **state)
{
    enum { COUNT = 20000 };
    struct pair *pair = *state;
    int sent = 0;
    int received = 0;
    int busy = 0;
    while (received < COUNT) {
        int error = 0;
        while (error == 0 && sent < COUNT) {
            char key[32];
            snprintf(key, sizeof key, "number %d", sent);
            error = put_query(&pair->here, key);
            sent += error == 0 ? 1 : 0;
        }
        busy += error == TR_BUSY ? 1 : 0;
        assert_int_equal(tri_frames_flush(&pair->here), 0);
        assert_int_equal(tri_frames_fill(&pair->there, 1000), 0);
        struct tri_packet frame;
        while (tri_frames_next(&pair->there, &frame) == 0) {
            char key[32];
            struct tr_process_query query;
            snprintf(key, sizeof key, "number %d", received++);
            assert_int_equal(tr_process_query_unpack(frame.body, frame.version, &query), 0);
            assert_true(tr_text_equal(query.key, tr_text_of(key)));
        }
    }
    assert_true(busy > 0);
}

static void a_giant_is_refused(void **state)
{
    struct pair *pair = *state;
    struct tri_packet frame;
    static const uint8_t header[8] = {0xff, 0xff, 0xff, 0xff, 0, 1, 1, 0};
    assert_int_equal(send(pair->here.fd, header, sizeof header, 0), sizeof header);
    assert_int_equal(tri_frames_fill(&pair->there, 65536), 0);
    assert_int_equal(tri_frames_next(&pair->there, &frame), TR_LIMIT);
}

static void the_end_is_told_behind_frames(void **state)
{
    struct pair *pair = *state;
    struct tri_packet frame;
    assert_int_equal(put_query(&pair->here, "last words"), 0);
    assert_int_equal(tri_frames_flush(&pair->here), 0);
    tri_frames_fini(&pair->here);
    int error = tri_frames_fill(&pair->there, 65536);
    assert_true(error == 0 || error == TR_CLOSED);
    expect_query(&pair->there, "last words");
    assert_int_equal(tri_frames_fill(&pair->there, 65536), TR_CLOSED);
    assert_int_equal(tri_frames_next(&pair->there, &frame), TR_NOT_FOUND);
    assert_int_equal(put_query(&pair->there, "too late"), 0);
    assert_int_equal(tri_frames_flush(&pair->there), TR_CLOSED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, take_down)
    const struct CMUnitTest tests[] = {
        TEST(frames_come_in_order), TEST(pieces_become_a_frame),
        TEST(output_has_a_limit),   TEST(a_slow_reader_gets_all),
        TEST(a_giant_is_refused),   TEST(the_end_is_told_behind_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
