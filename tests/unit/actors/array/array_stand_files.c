/*
 * The stand's files service: blobs in memory, read and written piece by piece, elements of lists
 * that are large, and what an earlier execution gave.
 */
#include "tests/unit/actors/array/array_stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/values/bind_plan.h"
#include "runtime/services/service.h"
#include "schemas/engine/recovery.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"

struct array_stand_blob *array_stand_find_blob(struct tr_text name)
{
    for (uint32_t i = 0; i < array_stand.blob_count; i++) {
        if (tr_text_equal(tr_text_of(array_stand.blobs[i].name), name)) {
            return &array_stand.blobs[i];
        }
    }
    assert_true(array_stand.blob_count < ARRAY_STAND_BLOBS);
    struct array_stand_blob *blob = &array_stand.blobs[array_stand.blob_count++];
    snprintf(blob->name, sizeof blob->name, "%.*s", (int)name.size, name.data);
    return blob;
}

/* Writes at an offset; what lies behind is cut. */
static void blob_write(struct array_stand_blob *blob, size_t offset, struct tr_bytes bytes)
{
    assert_true(offset <= blob->size);
    blob->data = realloc(blob->data, offset + bytes.size + 1);
    assert_non_null(blob->data);
    memcpy(blob->data + offset, bytes.data, bytes.size);
    blob->size = offset + bytes.size;
}

struct tr_text array_stand_blob(struct tr_bytes bytes)
{
    char name[96];
    snprintf(name, sizeof name, "blob-%u", array_stand.blob_count);
    struct array_stand_blob *blob = array_stand_find_blob(tr_text_of(name));
    blob_write(blob, 0, bytes);
    blob->is_whole = true;
    return tr_text_of(blob->name);
}

static int answer_read(const struct tri_caller *caller, const uint8_t *envelope)
{
    struct tr_blob_read read;
    assert_int_equal(
        tr_blob_read_unpack(tr_envelope_body(envelope), tr_blob_read_schema.version, &read), 0);
    struct array_stand_blob *blob = array_stand_find_blob(read.uri);
    size_t left = read.offset < blob->size ? blob->size - (size_t)read.offset : 0;
    array_stand.reads++;
    if (read.size > array_stand.read_bytes_max) {
        array_stand.read_bytes_max = read.size;
    }
    struct tr_blob_bytes bytes = {
        .bytes = {blob->data + read.offset, left < read.size ? left : (size_t)read.size},
        .total = blob->size};
    return tri_service_reply(&array_stand.files, caller, &tr_blob_bytes_schema, &bytes);
}

/* Pieces may come again; what lies behind a piece that does is cut. */
static int answer_write(const struct tri_caller *caller, const uint8_t *envelope)
{
    struct tr_blob_write write;
    assert_int_equal(
        tr_blob_write_unpack(tr_envelope_body(envelope), tr_blob_write_schema.version, &write), 0);
    struct array_stand_blob *blob = array_stand_find_blob(write.name);
    blob_write(blob, (size_t)write.offset, write.bytes);
    blob->is_whole = write.is_last;
    array_stand.writes++;
    struct tr_blob_stored stored = {
        .uri = write.is_last ? tr_text_of(blob->name) : (struct tr_text){0}, .size = blob->size};
    return tri_service_reply(&array_stand.files, caller, &tr_blob_stored_schema, &stored);
}

static int open_blob(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    const struct array_stand_blob *blob = array_stand_find_blob(where->uri);
    (void)self;
    *literal = (struct tr_bytes){blob->data, blob->size};
    return blob->is_whole ? 0 : TR_NOT_FOUND;
}

static void close_blob(void *self, struct tr_bytes literal)
{
    (void)self;
    (void)literal;
}

/* One element of a list, in a blob of its own. */
static int answer_element(const struct tri_caller *caller, const uint8_t *envelope)
{
    const struct tr_bind_reader reader = {.open = open_blob, .close = close_blob};
    struct tr_values_bind question;
    struct tr_bind_problem problem;
    struct tr_buffer slots;
    struct tr_buffer found;
    struct tr_bytes slot;
    bool is_condition;
    tr_buffer_init(&slots, 0);
    tr_buffer_init(&found, 0);
    assert_int_equal(
        tr_values_bind_unpack(tr_envelope_body(envelope), tr_values_bind_schema.version, &question),
        0);
    assert_int_equal(tr_bind_carry_out(question.plan, &reader, &slots, &is_condition, &problem), 0);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&slots), 0, &slot), 0);
    tr_buffer_array(&found, 1);
    tr_slot_write_offloaded(
        &found, &(struct tr_offloaded){.uri = array_stand_blob(slot), .size_bytes = slot.size});
    struct tr_values_given given = {.slots = tr_buffer_bytes(&found)};
    int error = tri_service_reply(&array_stand.files, caller, &tr_values_given_schema, &given);
    tr_buffer_fini(&found);
    tr_buffer_fini(&slots);
    return error;
}

/* As much of a question as there is room for in this answer: half of it, if it is long. */
static int answer_recover(const struct tri_caller *caller, const uint8_t *envelope)
{
    struct tr_recover_elements question;
    struct tr_buffer elements;
    uint32_t kept = 0;
    assert_int_equal(tr_recover_elements_unpack(tr_envelope_body(envelope),
                                                tr_recover_elements_schema.version, &question),
                     0);
    assert_true(tr_text_equal(question.recovery, tr_text_of(array_stand.recovery)));
    array_stand.asked++;
    uint32_t count = question.count > 100 ? question.count / 2 : question.count;
    for (uint32_t i = 0; i < count; i++) {
        kept += array_stand.keeps(question.first + i) ? 1 : 0;
    }
    tr_buffer_init(&elements, 0);
    tr_buffer_array(&elements, kept);
    for (uint64_t element = question.first; element < question.first + count; element++) {
        if (array_stand.keeps(element)) {
            tr_buffer_array(&elements, 2);
            tr_buffer_u64(&elements, element);
            tr_buffer_array(&elements, question.outputs);
            tr_buffer_i64(&elements, array_stand.kept(element));
        }
    }
    struct tr_recovered_elements found = {.from = tr_text_of("earlier"),
                                          .first = question.first,
                                          .count = count,
                                          .elements = tr_buffer_bytes(&elements)};
    int error =
        tri_service_reply(&array_stand.files, caller, &tr_recovered_elements_schema, &found);
    tr_buffer_fini(&elements);
    return error;
}

static void answer(const uint8_t *envelope)
{
    struct tri_caller caller = tri_service_caller(envelope);
    if (array_stand.files_refusals > 0) {
        array_stand.files_refusals--;
        tri_service_refuse(&array_stand.files, &caller, array_stand.files_error);
        return;
    }
    if (tr_envelope_get(envelope, 16, type) == tr_recover_elements_schema.id) {
        assert_int_equal(answer_recover(&caller, envelope), 0);
        return;
    }
    if (tr_envelope_get(envelope, 16, type) == tr_values_bind_schema.id) {
        assert_int_equal(answer_element(&caller, envelope), 0);
        return;
    }
    bool is_read = tr_envelope_get(envelope, 16, type) == tr_blob_read_schema.id;
    assert_int_equal(is_read ? answer_read(&caller, envelope) : answer_write(&caller, envelope), 0);
}

bool array_stand_serve(void)
{
    struct tri_frame frame;
    bool did = false;
    while (tri_channel_receive(array_stand.files.sender.link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            answer(bytes.data);
            did = true;
        }
        tri_channel_release(array_stand.files.sender.link, &frame);
    }
    tri_sender_flush(&array_stand.files.sender);
    return did;
}
