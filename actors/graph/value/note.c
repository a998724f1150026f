/*
 * Notes as bytes. There is one form of each: fields that are not given are empty and stand there
 * all the same, and a note in which all are empty is never written, so that equal values with equal
 * notes are equal bytes.
 */
#include "actors/graph/value/note.h"

#include "actors/graph/value/literal.h"

#define FIELDS 5 /* with the value */

/* The words: a map of texts, keys ascending. */
static struct tr_bytes read_metadata(struct tr_cursor *cursor)
{
    struct tr_bytes none = {.size = 0};
    struct tr_cursor before = *cursor;
    if (tr_read_nil(cursor)) {
        return none;
    }
    uint32_t count = tr_read_map(cursor);
    struct tr_text last = {.size = 0};
    for (uint32_t i = 0; i < count && cursor->error == 0; i++) {
        struct tr_text key = tr_read_text(cursor);
        (void)tr_read_text(cursor);
        if (i > 0 && tr_text_order(last, key) >= 0) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
        last = key;
    }
    if (count == 0) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    return cursor->error != 0
               ? none
               : (struct tr_bytes){.data = before.at, .size = (size_t)(cursor->at - before.at)};
}

/*
 * The value is the last that lies in the extension, so that whoever reads it comes out behind all
 * of it: that is looked at here, and the cursor goes back before the value.
 */
bool tr_read_note(struct tr_cursor *cursor, struct tr_note *note)
{
    struct tr_note found = {.tag = tr_text_of(""), .hash = tr_text_of("")};
    int8_t type = 0;
    *note = found;
    if (cursor->error != 0 || tr_peek(cursor) != TR_CODEC_EXTENSION) {
        return false;
    }
    struct tr_cursor inside = tr_cursor_of(tr_read_extension(cursor, &type));
    if (cursor->error != 0 || type != TR_NOTED_EXTENSION) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return false;
    }
    uint32_t count = tr_read_array(&inside);
    found.is_generic = tr_read_bool(&inside);
    found.tag = tr_read_text(&inside);
    found.hash = tr_read_text(&inside);
    found.metadata = read_metadata(&inside);
    const uint8_t *value = inside.at;
    (void)tr_read_any(&inside);
    if (inside.error != 0 || count != FIELDS || tr_cursor_left(&inside) > 0 ||
        tr_note_is_empty(&found)) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return false;
    }
    cursor->at = value;
    *note = found;
    return true;
}

void tr_pass_note(struct tr_cursor *cursor)
{
    struct tr_note note;
    (void)tr_read_note(cursor, &note);
}

/* The given note, and what it leaves open. */
static struct tr_note join(const struct tr_note *note, const struct tr_note *other)
{
    struct tr_note both = *note;
    both.is_generic = note->is_generic || other->is_generic;
    both.tag = note->tag.size > 0 ? note->tag : other->tag;
    both.hash = note->hash.size > 0 ? note->hash : other->hash;
    both.metadata = note->metadata.size > 0 ? note->metadata : other->metadata;
    return both;
}

/* The header of an extension of 32-bit size, as that of slots (slot.c). */
static void write_header(struct tr_buffer *buffer, size_t size)
{
    const uint8_t header[] = {
        0xc9,          (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8),
        (uint8_t)size, TR_NOTED_EXTENSION};
    tr_buffer_add(buffer, header, sizeof header);
}

void tr_write_note(struct tr_buffer *buffer, size_t begin, const struct tr_note *note)
{
    struct tr_buffer content;
    struct tr_note inner;
    if (tr_note_is_empty(note) || buffer->error != 0) {
        return;
    }
    struct tr_cursor value =
        tr_cursor_of((struct tr_bytes){.data = buffer->data + begin, .size = buffer->size - begin});
    (void)tr_read_note(&value, &inner);
    const struct tr_note whole = join(note, &inner);
    tr_buffer_init(&content, 0);
    tr_buffer_array(&content, FIELDS);
    tr_buffer_bool(&content, whole.is_generic);
    tr_buffer_text_value(&content, whole.tag);
    tr_buffer_text_value(&content, whole.hash);
    if (whole.metadata.size == 0) {
        tr_buffer_nil(&content);
    }
    tr_buffer_add(&content, whole.metadata.data, whole.metadata.size);
    tr_buffer_add(&content, value.at, tr_cursor_left(&value));
    tr_buffer_cut(buffer, begin);
    write_header(buffer, content.size);
    tr_buffer_add(buffer, content.data, content.size);
    buffer->error = buffer->error != 0 ? buffer->error : content.error;
    tr_buffer_fini(&content);
}

struct tr_note tr_note_for(const struct tr_type *type, const struct tr_note *note)
{
    struct tr_note fitting = *note;
    fitting.is_generic = note->is_generic && type->kind == TR_TYPE_STRUCT;
    if (type->kind != TR_TYPE_BYTES) {
        fitting.tag = tr_text_of("");
    }
    if (type->kind == TR_TYPE_LIST) {
        fitting = (struct tr_note){.tag = tr_text_of(""), .hash = tr_text_of("")};
    }
    return fitting;
}
