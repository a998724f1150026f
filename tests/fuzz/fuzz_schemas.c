/*
 * Any bytes as the body of any schema at any version: unpacking leaves the value alone or fills it,
 * what was filled packs and unpacks to the same again, the table's verdict is the same, and
 * printing stays within its buffer, valid UTF-8, and JSON that a JSON library reads.
 *
 * The first byte chooses the schema, the second the version, the third how the rest is meant: as a
 * body, or as pairs of place and value that change a good sample of the schema.
 */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/codec/print.h"
#include "schemas/codec/value.h"
#include "tests/support/sample_body.h"
#include "tests/support/schemas_all.h"

enum { HEAD_BYTES = 3, JSON_BYTES = 1 << 18 };

/* Memory of exactly this size, so that a sanitizer sees the first byte too far. */
static void *exact_memory(size_t size)
{
    void *memory = malloc(size);
    TR_ASSERT(memory != NULL || size == 0);
    return memory;
}

/* Packs a value into new memory of the size that the schema claims to be enough. */
static struct tr_writer pack(const struct tr_schema *schema, const void *value)
{
    size_t size_max = schema->size_max(value);
    struct tr_writer writer = tr_writer_of(exact_memory(size_max), size_max);
    TR_ASSERT(schema->pack(value, &writer) == 0);
    return writer;
}

/* Packs a value, unpacks that, packs it again: nothing may change. */
static void check_round_trip(const struct tr_schema *schema, const void *value)
{
    struct tr_writer first = pack(schema, value);
    void *again = exact_memory(schema->struct_size);
    struct tr_bytes packed = {.data = first.begin, .size = tr_writer_size(&first)};
    TR_ASSERT(schema->unpack(packed, schema->version, again) == 0);
    struct tr_writer second = pack(schema, again);
    TR_ASSERT(tr_writer_size(&second) == packed.size);
    TR_ASSERT(memcmp(second.begin, packed.data, packed.size) == 0);
    free(second.begin);
    free(again);
    free(first.begin);
}

static void check_unpacking(const struct tr_schema *schema, uint8_t version, struct tr_bytes body)
{
    uint8_t *value = exact_memory(schema->struct_size);
    memset(value, 0xa5, schema->struct_size);
    int error = schema->unpack(body, version, value);
    uint16_t field = 0;
    TR_ASSERT(tr_body_check(schema, version, body, &field) == error);
    if (error == 0) {
        check_round_trip(schema, value);
    }
    for (size_t i = 0; error != 0 && i < schema->struct_size; i++) {
        TR_ASSERT(value[i] == 0xa5);
    }
    free(value);
}

static void check_printing(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                           size_t capacity)
{
    for (unsigned form = 0; form < 2; form++) {
        char *buffer = exact_memory(capacity);
        struct tr_sink sink = tr_sink_of(buffer, capacity);
        tr_print_body(&sink, (enum tr_print_form)form, schema, version, body);
        TR_ASSERT(tr_utf8_valid(tr_sink_text(&sink)));
        TR_ASSERT(capacity == 0 || buffer[sink.size] == '\0');
        free(buffer);
    }
}

/* A JSON library must read what is printed; it knows no zero in a name. */
static void check_json(const struct tr_schema *schema, uint8_t version, struct tr_bytes body)
{
    static char buffer[JSON_BYTES];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    tr_print_body(&sink, TR_PRINT_JSON, schema, version, body);
    if (sink.truncated) {
        return;
    }
    json_error_t error;
    size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *json = json_loadb(buffer, sink.size, flags, &error);
    TR_ASSERT(json != NULL || json_error_code(&error) == json_error_null_byte_in_key);
    json_decref(json);
}

static void check(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                  size_t capacity)
{
    check_unpacking(schema, version, body);
    check_printing(schema, version, body, capacity);
    check_json(schema, version, body);
}

/* Changes a good body by pairs of place and value. */
static void check_changed(const struct tr_schema *schema, uint8_t version, const uint8_t *data,
                          size_t size, size_t capacity)
{
    static uint8_t sample[SAMPLE_BODY_BYTES_MAX];
    size_t body_size = sample_body(schema, version, data[0], sample, sizeof sample);
    uint8_t *body = exact_memory(body_size);
    memcpy(body, sample, body_size);
    for (size_t i = 1; i + 1 < size; i += 2) {
        body[data[i] % body_size] = data[i + 1];
    }
    check(schema, version, (struct tr_bytes){.data = body, .size = body_size}, capacity);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) {
        return 0;
    }
    const struct tr_registry *registry = schemas_all();
    const struct tr_schema *schema = registry->by_id[data[0] % registry->count];
    uint8_t version = (uint8_t)(data[1] % (schema->version + 2U));
    size_t capacity = data[2] / 2;
    if (data[2] % 2 != 0 && size > HEAD_BYTES) {
        check_changed(schema, version, data + HEAD_BYTES, size - HEAD_BYTES, capacity);
    } else {
        struct tr_bytes body = {.data = data + HEAD_BYTES, .size = size - HEAD_BYTES};
        check(schema, version, body, capacity);
    }
    return 0;
}
