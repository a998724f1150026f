/*
 * Sinks: text that fits, text that does not, at every size of the buffer; and the callback.
 */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/codec/sink.h"
#include "schemas/codec/utf8.h"

static const char sentence[] = "a\xc3\xa4\xe2\x9c\x93\xf0\x9f\x8e\xad-b\xc3\xb6 end";

/* Prints the sentence in pieces of `piece` bytes. */
static void put_in_pieces(struct tr_sink *sink, size_t piece)
{
    size_t size = strlen(sentence);
    for (size_t i = 0; i < size; i += piece) {
        size_t rest = size - i;
        tr_sink_put(sink, (struct tr_text){sentence + i, rest < piece ? rest : piece});
    }
}

static void fits_exactly(void **state)
{
    (void)state;
    char buffer[sizeof sentence];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    put_in_pieces(&sink, 3);
    assert_false(sink.truncated);
    assert_string_equal(buffer, sentence);
    assert_true(tr_text_equal(tr_sink_text(&sink), tr_text_of(sentence)));
}

/* Every size that is too small: never a byte too far, always whole characters and the mark. */
static void every_size_too_small(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < sizeof sentence; capacity++) {
        for (size_t piece = 1; piece <= sizeof sentence; piece++) {
            char *buffer = malloc(capacity == 0 ? 1 : capacity);
            struct tr_sink sink = tr_sink_of(buffer, capacity);
            put_in_pieces(&sink, piece);
            assert_true(sink.truncated);
            if (capacity > 0) {
                assert_int_equal(strlen(buffer), sink.size);
                assert_true(tr_utf8_valid(tr_text_of(buffer)));
            }
            if (capacity >= 4) {
                assert_true(sink.size >= 3 && sink.size < capacity);
                size_t kept = sink.size - 3;
                assert_memory_equal(buffer, sentence, kept);
                assert_string_equal(buffer + kept, "\xe2\x80\xa6");
                assert_true(capacity - 1 - 3 - kept < 4);
            }
            free(buffer);
        }
    }
}

static void nothing_after_the_mark(void **state)
{
    (void)state;
    char buffer[8];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    tr_sink_put_string(&sink, "12345678");
    tr_sink_put_char(&sink, 'x');
    tr_sink_format(&sink, "%d", 7);
    assert_string_equal(buffer, "1234\xe2\x80\xa6");
}

static void empty_text_is_no_reason_to_cut(void **state)
{
    (void)state;
    char buffer[4];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    tr_sink_put_string(&sink, "123");
    tr_sink_put(&sink, (struct tr_text){NULL, 0});
    assert_false(sink.truncated);
    assert_string_equal(buffer, "123");
}

static void format_is_bounded(void **state)
{
    (void)state;
    char buffer[1024];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    tr_sink_format(&sink, "%s=%05u;%*s", "n", 42U, 900, "");
    assert_memory_equal(buffer, "n=00042; ", 9);
    assert_int_equal(strlen(buffer), TR_SINK_FORMAT_BYTES_MAX);
}

struct collected {
    char text[256];
    size_t size;
    int calls;
    int fail_at;
};

static int collect(void *self, struct tr_text text)
{
    struct collected *collected = self;
    if (++collected->calls == collected->fail_at) {
        return -1;
    }
    assert_true(text.size > 0 && collected->size + text.size <= sizeof collected->text);
    memcpy(collected->text + collected->size, text.data, text.size);
    collected->size += text.size;
    return 0;
}

static void flushing_loses_nothing(void **state)
{
    (void)state;
    for (size_t capacity = 1; capacity <= sizeof sentence + 1; capacity++) {
        struct collected collected = {.size = 0};
        char *buffer = malloc(capacity);
        struct tr_sink sink = tr_sink_flushing(buffer, capacity, collect, &collected);
        put_in_pieces(&sink, 5);
        tr_sink_flush(&sink);
        tr_sink_flush(&sink);
        assert_false(sink.truncated);
        assert_true(
            tr_text_equal((struct tr_text){collected.text, collected.size}, tr_text_of(sentence)));
        free(buffer);
    }
}

static void failed_flush_ends_it(void **state)
{
    (void)state;
    struct collected collected = {.fail_at = 2};
    char buffer[4];
    struct tr_sink sink = tr_sink_flushing(buffer, sizeof buffer, collect, &collected);
    tr_sink_put_string(&sink, "1234567890123456");
    tr_sink_put_string(&sink, "more");
    tr_sink_flush(&sink);
    assert_true(sink.truncated);
    assert_int_equal(collected.calls, 2);
    assert_int_equal(collected.size, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_exactly),           cmocka_unit_test(every_size_too_small),
        cmocka_unit_test(nothing_after_the_mark), cmocka_unit_test(empty_text_is_no_reason_to_cut),
        cmocka_unit_test(format_is_bounded),      cmocka_unit_test(flushing_loses_nothing),
        cmocka_unit_test(failed_flush_ends_it),
    };
    return cmocka_run_group_tests_name("schemas/codec/sink", tests, NULL, NULL);
}
