/*
 * Any bytes as a message: the envelope is checked, and what is accepted must be the bytes that our
 * own writer makes, with a body that lies within them. Then it is printed by all schemas.
 *
 * An even first byte starts from a good envelope, of which the rest of the input changes a few
 * bytes.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/runtime/envelope_print.h"
#include "tests/support/schemas_all.h"

static void check_accepted(struct tr_bytes message, size_t size)
{
    TR_ASSERT(size >= TR_ENVELOPE_BYTES && size <= message.size);
    struct tr_envelope envelope;
    tr_envelope_unpack(message.data, &envelope);
    uint8_t again[TR_ENVELOPE_BYTES];
    tr_envelope_pack(&envelope, again);
    TR_ASSERT(memcmp(again, message.data, sizeof again) == 0);
    struct tr_bytes body = tr_envelope_body(message.data);
    TR_ASSERT(body.data + body.size == message.data + size);
    struct tr_cursor cursor = tr_cursor_of(message);
    struct tr_bytes value = tr_read_any(&cursor);
    TR_ASSERT(cursor.error == 0 && value.size == TR_ENVELOPE_BYTES);
}

static void check(struct tr_bytes message)
{
    size_t size = 0;
    if (tr_envelope_check(message, &size) == 0) {
        check_accepted(message, size);
    }
    char buffer[1024];
    for (unsigned form = 0; form < 2; form++) {
        struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
        tr_print_message(&sink, (enum tr_print_form)form, schemas_all(), message);
        TR_ASSERT(sink.size < sizeof buffer && buffer[sink.size] == '\0');
        TR_ASSERT(tr_utf8_valid(tr_sink_text(&sink)));
    }
}

/* A good envelope, changed by pairs of place and value, with the same bytes as its body. */
static void check_changed(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(TR_ENVELOPE_BYTES + size);
    TR_ASSERT(bytes != NULL);
    struct tr_envelope envelope = {.envelope_version = TR_ENVELOPE_VERSION,
                                   .kind = TR_KIND_TELL,
                                   .version = 1,
                                   .type = 65001,
                                   .body_size = (uint32_t)size};
    tr_envelope_pack(&envelope, bytes);
    for (size_t i = 0; i + 1 < size && i < 16; i += 2) {
        bytes[data[i] % TR_ENVELOPE_BYTES] = data[i + 1];
    }
    if (size > 0) {
        memcpy(bytes + TR_ENVELOPE_BYTES, data, size);
    }
    check((struct tr_bytes){.data = bytes, .size = TR_ENVELOPE_BYTES + size});
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] % 2 == 0) {
        check_changed(data + 1, size - 1);
    } else {
        check((struct tr_bytes){.data = data, .size = size});
    }
    return 0;
}
