/*
 * Which bytes of a file a header Range asks for.
 */
#include "deploy/data_proxy/download_store.h"

#include "tests/support/test.h"

#define SIZE 10

enum answer { WHOLE, PART, OUTSIDE };

static const struct {
    const char *range;
    enum answer answer;
    uint64_t first;
    uint64_t end;
} rows[] = {
    {"", WHOLE, 0, SIZE},
    {"bytes=0-", PART, 0, SIZE},
    {"bytes=0-0", PART, 0, 1},
    {"bytes=3-5", PART, 3, 6},
    {"bytes=3-99", PART, 3, SIZE},
    {"bytes=9-9", PART, 9, SIZE},
    {"bytes=-3", PART, 7, SIZE},
    {"bytes=-99", PART, 0, SIZE},
    {"bytes=10-", OUTSIDE, 0, 0},
    {"bytes=99-100", OUTSIDE, 0, 0},
    {"bytes=-0", OUTSIDE, 0, 0},
    /* What is no range of one part is as if it were not there. */
    {"bytes=5-3", WHOLE, 0, SIZE},
    {"bytes=0-1,3-4", WHOLE, 0, SIZE},
    {"bytes=", WHOLE, 0, SIZE},
    {"bytes=-", WHOLE, 0, SIZE},
    {"bytes=a-b", WHOLE, 0, SIZE},
    {"bytes=1", WHOLE, 0, SIZE},
    {"bytes= 1-2", WHOLE, 0, SIZE},
    {"lines=0-1", WHOLE, 0, SIZE},
    {"bytes=0-18446744073709551616", WHOLE, 0, SIZE},
};

static void ranges_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_api_download_part part = {.size = SIZE};
        tr_download_range(tr_text_of(rows[i].range), &part);
        assert_int_equal(part.is_outside, rows[i].answer == OUTSIDE);
        if (rows[i].answer != OUTSIDE) {
            assert_int_equal(part.is_part, rows[i].answer == PART);
            assert_int_equal(part.first, rows[i].first);
            assert_int_equal(part.end, rows[i].end);
        }
    }
}

static void an_empty_file_has_no_part(void **state)
{
    (void)state;
    struct tr_api_download_part part = {.size = 0};
    tr_download_range(tr_text_of("bytes=0-0"), &part);
    assert_true(part.is_outside);
    tr_download_range(tr_text_of("bytes=-1"), &part);
    assert_true(part.is_outside);
    tr_download_range(tr_text_of(""), &part);
    assert_false(part.is_outside);
    assert_int_equal(part.end, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(an_empty_file_has_no_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
