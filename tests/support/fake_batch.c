/*
 * The fake's functions; values and JSON are turned into each other with jansson.
 */
#include "tests/support/fake_batch.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_task.h"

#define VALUE_BYTES_MAX (1U << 20)

/* ------------------------------------------------------------------------- values and JSON */

static void pack(struct tr_writer *writer, const json_t *json)
{
    const char *name;
    const json_t *value;
    size_t index;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        tr_write_map(writer, (uint32_t)json_object_size(json));
        json_object_foreach((json_t *)(uintptr_t)json, name, value)
        {
            tr_write_text(writer, tr_text_of(name));
            pack(writer, value);
        }
        break;
    case JSON_ARRAY:
        tr_write_array(writer, (uint32_t)json_array_size(json));
        json_array_foreach(json, index, value)
        {
            pack(writer, value);
        }
        break;
    case JSON_STRING:
        tr_write_text(writer, (struct tr_text){json_string_value(json), json_string_length(json)});
        break;
    case JSON_INTEGER:
        tr_write_i64(writer, json_integer_value(json));
        break;
    case JSON_REAL:
        tr_write_f64(writer, json_real_value(json));
        break;
    case JSON_NULL:
        tr_write_nil(writer);
        break;
    default:
        tr_write_bool(writer, json_is_true(json));
    }
}

static json_t *unpack(struct tr_cursor *cursor);

static json_t *unpack_map(struct tr_cursor *cursor)
{
    json_t *json = json_object();
    uint32_t count = tr_read_map(cursor);
    for (uint32_t i = 0; i < count && cursor->error == 0; i++) {
        struct tr_text name = tr_read_text(cursor);
        json_object_setn_new(json, name.data, name.size, unpack(cursor));
    }
    return json;
}

static json_t *unpack_array(struct tr_cursor *cursor)
{
    json_t *json = json_array();
    uint32_t count = tr_read_array(cursor);
    for (uint32_t i = 0; i < count && cursor->error == 0; i++) {
        json_array_append_new(json, unpack(cursor));
    }
    return json;
}

static json_t *unpack(struct tr_cursor *cursor)
{
    struct tr_text text;
    switch (tr_peek(cursor)) {
    case TR_CODEC_MAP:
        return unpack_map(cursor);
    case TR_CODEC_ARRAY:
        return unpack_array(cursor);
    case TR_CODEC_TEXT:
        text = tr_read_text(cursor);
        return json_stringn(text.data, text.size);
    case TR_CODEC_BOOL:
        return json_boolean(tr_read_bool(cursor));
    case TR_CODEC_F64:
        return json_real(tr_read_f64(cursor));
    case TR_CODEC_UNSIGNED:
    case TR_CODEC_SIGNED:
        return json_integer(tr_read_i64(cursor));
    default:
        (void)tr_read_any(cursor);
        return json_null();
    }
}

int fake_read_json(struct tr_text text, struct tr_bytes *value)
{
    json_t *json = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
    if (json == NULL) {
        return TR_INVALID;
    }
    uint8_t *bytes = fake_room(VALUE_BYTES_MAX);
    struct tr_writer writer = tr_writer_of(bytes, VALUE_BYTES_MAX);
    pack(&writer, json);
    json_decref(json);
    assert_int_equal(writer.error, 0);
    *value = (struct tr_bytes){bytes, tr_writer_size(&writer)};
    return 0;
}

struct tr_bytes fake_value(const char *json)
{
    struct tr_bytes value = {0};
    assert_int_equal(fake_read_json(tr_text_of(json), &value), 0);
    return value;
}

const char *fake_json(struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    json_t *json = unpack(&cursor);
    assert_int_equal(cursor.error, 0);
    assert_int_equal(tr_cursor_left(&cursor), 0);
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    size_t size = strlen(text);
    char *copy = fake_room(size + 1);
    memcpy(copy, text, size);
    free(text);
    return copy;
}

/* ------------------------------------------------------------------------------- the batch */

static void *api_scratch(struct tr_webapi_batch *batch, size_t size)
{
    (void)batch;
    return fake_room(size);
}

static int api_read_json(struct tr_webapi_batch *batch, struct tr_bytes json,
                         struct tr_bytes *value)
{
    (void)batch;
    return fake_read_json((struct tr_text){(const char *)json.data, json.size}, value);
}

static int api_write_json(struct tr_webapi_batch *batch, struct tr_bytes value,
                          struct tr_bytes *json)
{
    (void)batch;
    const char *text = fake_json(value);
    *json = (struct tr_bytes){(const uint8_t *)text, strlen(text)};
    return 0;
}

static void add(struct fake_batch *fake, const char *name, struct tr_text text)
{
    size_t size = strlen(fake->reports);
    if (text.size > 0) {
        (void)snprintf(fake->reports + size, sizeof fake->reports - size, " %s=%.*s", name,
                       (int)text.size, text.data);
    }
}

static int api_report(struct tr_webapi_batch *batch, const struct tr_webapi_report *report)
{
    static const char *const news[] = {"is", "absent", "refused", "later"};
    struct fake_batch *fake = (struct fake_batch *)batch;
    size_t size = strlen(fake->reports);
    fake->last = *report;
    fake->report_count++;
    (void)snprintf(fake->reports + size, sizeof fake->reports - size, "%.*s %.*s %s %u",
                   (int)report->identity.size, report->identity.data, (int)report->handle.size,
                   report->handle.data, news[report->news], report->phase);
    add(fake, "reason", report->reason);
    add(fake, "code", report->code);
    add(fake, "message", report->message);
    add(fake, "place", report->place);
    add(fake, "log", report->log_uri);
    size = strlen(fake->reports);
    (void)snprintf(fake->reports + size, sizeof fake->reports - size, "\n");
    return 0;
}

static int api_resume(struct tr_webapi_batch *batch, struct tr_text cursor)
{
    struct fake_batch *fake = (struct fake_batch *)batch;
    (void)snprintf(fake->cursor, sizeof fake->cursor, "%.*s", (int)cursor.size, cursor.data);
    return 0;
}

static int api_begin_anew(struct tr_webapi_batch *batch)
{
    ((struct fake_batch *)batch)->lists++;
    return 0;
}

static int api_caught_up(struct tr_webapi_batch *batch)
{
    ((struct fake_batch *)batch)->caught_up++;
    return 0;
}

static const struct tr_webapi_api api = {.abi = TR_PLUGIN_ABI,
                                         .scratch = api_scratch,
                                         .read_json = api_read_json,
                                         .write_json = api_write_json,
                                         .report = api_report,
                                         .resume = api_resume,
                                         .begin_anew = api_begin_anew,
                                         .caught_up = api_caught_up};

void fake_batch_init(struct fake_batch *fake)
{
    *fake = (struct fake_batch){
        .batch = {.api = &api, .job_set = tr_text_of("research/troupe-x-n-mark")},
        .endpoint = {.name = tr_text_of("default"), .url = tr_text_of("http://127.0.0.1:1")},
    };
    fake->batch.endpoint = &fake->endpoint;
    fake->batch.items = fake->items;
}

void fake_batch_add(struct fake_batch *fake, const char *identity, const char *handle,
                    const char *job_json)
{
    assert_true(fake->batch.count < FAKE_ITEMS_MAX);
    fake->items[fake->batch.count++] = (struct tr_webapi_item){.identity = tr_text_of(identity),
                                                               .handle = tr_text_of(handle),
                                                               .job_set = fake->batch.job_set,
                                                               .job = fake_value(job_json)};
}

struct tr_webapi_response fake_response(uint32_t status, const char *body)
{
    return (struct tr_webapi_response){.status = status,
                                       .body = {(const uint8_t *)body, strlen(body)}};
}
