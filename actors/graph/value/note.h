/*
 * Notes: what came beside a value and goes on with it. Literals of Flyte's say more than their
 * value: a hash that stands for it in cache keys, words about it, in which form a struct came.
 *
 * A value with a note is an extension of msgpack's, whose content is [generic, tag, hash, metadata,
 * value]; one without is the value itself, so that a note costs nothing where there is none. Notes
 * stand before values of declared types, each as deep as it likes, but never before a list, which
 * maps cut into elements as it lies. What reads packed values passes over a note by tr_read_note.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_NOTE_H
#define TR_ACTORS_GRAPH_VALUE_NOTE_H

#include "actors/graph/value/type.h"

/* The extension's number on the wire and on disk, beside those of slot.h. */
#define TR_NOTED_EXTENSION 3

struct tr_note {
    bool is_generic;          /* of a struct: it came as google.protobuf.Struct, not as msgpack */
    struct tr_text tag;       /* of bytes: what they are (Binary.tag) */
    struct tr_text hash;      /* what stands for the value in keys of the cache (Literal.hash) */
    struct tr_bytes metadata; /* words about it, a packed map of texts; empty: none */
};

static inline bool tr_note_is_empty(const struct tr_note *note)
{
    return !note->is_generic && note->tag.size == 0 && note->hash.size == 0 &&
           note->metadata.size == 0;
}

/*
 * Passes over a note, if one comes next: the cursor is before the value then. False where there is
 * none, or the cursor failed; `note` is empty then. A damaged one fails the cursor.
 */
bool tr_read_note(struct tr_cursor *cursor, struct tr_note *note);

/* The same where nobody wants the note. */
void tr_pass_note(struct tr_cursor *cursor);

/*
 * Puts a note before the value that the buffer has from `begin` to its end. If that has a note, the
 * two become one, in which the given one counts. An empty note changes nothing.
 */
void tr_write_note(struct tr_buffer *buffer, size_t begin, const struct tr_note *note);

/* What of a note may stand before a value of a type. */
struct tr_note tr_note_for(const struct tr_type *type, const struct tr_note *note);

#endif
