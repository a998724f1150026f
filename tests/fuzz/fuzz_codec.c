/*
 * Any bytes as one msgpack value: our reader and msgpack-c must think the same of them, and what
 * our reader accepts must be written again, looked at and printed without a fault.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "schemas/codec/print.h"
#include "tests/support/msgpack_reference.h"

static void print_both_forms(struct tr_bytes value)
{
    char buffer[512];
    for (unsigned form = 0; form < 2; form++) {
        struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
        tr_print_any(&sink, (enum tr_print_form)form, value);
        TR_ASSERT(sink.size < sizeof buffer && buffer[sink.size] == '\0');
        TR_ASSERT(tr_utf8_valid(tr_sink_text(&sink)));
    }
}

/* Every reader at the beginning of the bytes: it may refuse them, and stays within them. */
static void read_as_everything(struct tr_bytes bytes)
{
    struct tr_cursor start = tr_cursor_of(bytes);
    int8_t type = 0;
#define READ(call)                                                   \
    do {                                                             \
        struct tr_cursor cursor = start;                             \
        (void)call;                                                  \
        TR_ASSERT(cursor.at >= start.at && cursor.at <= cursor.end); \
        TR_ASSERT(cursor.error == 0 || cursor.at == cursor.end);     \
    } while (false)
    READ(tr_read_u8(&cursor));
    READ(tr_read_u16(&cursor));
    READ(tr_read_u32(&cursor));
    READ(tr_read_u64(&cursor));
    READ(tr_read_i64(&cursor));
    READ(tr_read_f64(&cursor));
    READ(tr_read_bool(&cursor));
    READ(tr_read_nil(&cursor));
    READ(tr_read_key(&cursor));
    READ(tr_read_ref(&cursor));
    READ(tr_read_array(&cursor));
    READ(tr_read_map(&cursor));
    READ(tr_read_text(&cursor));
    READ(tr_read_text_unchecked(&cursor));
    READ(tr_read_bytes(&cursor));
    READ(tr_read_extension(&cursor, &type));
    READ(tr_peek(&cursor));
#undef READ
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes bytes = {.data = data, .size = size};
    (void)msgpack_reference_agrees(bytes);
    read_as_everything(bytes);
    print_both_forms(bytes);
    struct tr_cursor cursor = tr_cursor_of(bytes);
    struct tr_bytes value = tr_read_any(&cursor);
    if (cursor.error == 0) {
        static uint8_t copy[1 << 20];
        struct tr_writer writer = tr_writer_of(copy, sizeof copy);
        tr_write_any(&writer, value);
        TR_ASSERT(value.size > sizeof copy || memcmp(copy, value.data, value.size) == 0);
        print_both_forms(value);
    }
    return 0;
}
