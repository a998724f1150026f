/*
 * Values: packed as msgpack by their types, so that a value travels in messages, lies in states
 * and is cut into elements without ever being taken apart.
 *
 *   none: nil · int, float, string, bool: themselves · bytes: bin · duration: nanoseconds
 *   datetime: [seconds, nanoseconds] · enum: its string · list: array · map: map, keys sorted
 *   file, directory, dataset: the URI, or [URI, format] where a format is known
 *   error: [node, code, message, element or nil] · union: [position of the variant, value]
 *   struct, and a place whose type is known only at run time: nil, bool, int, float, string,
 *   array and map (keys sorted) as they are
 *   any of these but a list may have a note before it (note.h)
 *
 * There is one encoding for each value, so equal values of one type are equal bytes. A value is
 * read with its type only; nothing here allocates but into the caller's buffer or arena.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_LITERAL_H
#define TR_ACTORS_GRAPH_VALUE_LITERAL_H

#include "actors/graph/document/moment.h"
#include "actors/graph/value/type.h"

/* How values are read from a document. */
struct tr_literal_reader {
    struct tr_report *report;
    struct tr_arena *arena; /* for what is needed meanwhile */
    struct tr_text folder;  /* relative paths count from here; "" leaves them as they are */

    /* private */
    uint64_t steps_left;
    bool has_run_out; /* of steps, and the report says so */
    uint32_t depth;
    const struct tri_step *path;
};

/*
 * Reads a value of `type` (NULL: by the core schema) from a document and appends it to `buffer`.
 * False when it does not fit, which is then in the report, or when memory ended.
 */
TR_MUST_USE bool tr_literal_read(struct tr_literal_reader *reader, const struct tr_type *type,
                                 const struct tr_tree *tree, struct tr_buffer *buffer);

/* Appends a value as JSON on one line. TR_MALFORMED if the bytes are no value of the type. */
TR_MUST_USE int tr_literal_json(const struct tr_type *type, struct tr_bytes value,
                                struct tr_buffer *buffer);

/*
 * Whether values of the type may stand inside of a text: int, float, bool, string, enum, datetime
 * and duration. NULL may: it is found out at run time.
 */
bool tr_type_has_text(const struct tr_type *type);

/*
 * Appends a value as it stands inside of a text: as in JSON, texts without quotes. TR_INVALID if it
 * has no such form, TR_MALFORMED if the bytes are no value of the type, or an error of the buffer.
 */
TR_MUST_USE int tr_literal_text(const struct tr_type *type, struct tr_bytes value,
                                struct tr_buffer *buffer);

/* Checks that bytes of unknown origin are exactly one value of the type: 0 or TR_MALFORMED. */
TR_MUST_USE int tr_literal_check(const struct tr_type *type, struct tr_bytes value);

/* Whether two values of one type are the same. */
static inline bool tr_literal_equal(struct tr_bytes a, struct tr_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/*
 * Appends a value of `from` as one of `to`, which has to be castable. A value whose type is known
 * only at run time (from NULL) is read as JSON would be. TR_INVALID when it does not fit or nests
 * too deeply in its new type, TR_MALFORMED when the bytes are no value of `from`, TR_MEMORY or
 * TR_LIMIT from the buffer.
 */
TR_MUST_USE int tr_literal_cast(const struct tr_type *from, const struct tr_type *to,
                                struct tr_bytes value, struct tr_buffer *buffer);

/* One step of a reference: `.field` or `["field"]`, or `[3]`. */
struct tr_step {
    bool is_index;
    uint32_t index;
    struct tr_text field;
};

/*
 * Follows steps into a value: a view of the part and its type, which is NULL for the fields of
 * structs and errors. TR_NOT_FOUND when a field or an
 * element is not there, TR_INVALID when a step cannot be made into such a value.
 */
TR_MUST_USE int tr_literal_follow(const struct tr_type *type, struct tr_bytes value,
                                  const struct tr_step *steps, uint32_t count,
                                  const struct tr_type **type_out, struct tr_bytes *value_out);

/* A file, a directory or a dataset. */
struct tr_blob {
    struct tr_text uri;
    struct tr_text format; /* "" when none is known */
};
struct tr_blob tr_read_blob(struct tr_cursor *cursor);
void tr_write_blob(struct tr_buffer *buffer, struct tr_blob blob);

/*
 * What of a value may be a path: files and directories; or datasets, and texts in structs, too. In
 * content, which keys are made of, hashes that are noted take the place of their values.
 */
enum tr_path_scope { TR_PATHS_DECLARED, TR_PATHS_ALL, TR_PATHS_CONTENT };

/*
 * Appends a value with what `map` appends (one value) in the place of each that may be a path; of a
 * text in a struct the type is struct. An error of `map` ends it and is returned; nothing is
 * appended then.
 */
typedef int tr_path_map(void *self, const struct tr_type *type, struct tr_blob blob,
                        struct tr_buffer *buffer);
TR_MUST_USE int tr_literal_map_paths(const struct tr_type *type, struct tr_bytes value,
                                     enum tr_path_scope scope, tr_path_map *map, void *self,
                                     struct tr_buffer *buffer);

/* Whether a value of the type may hold one; of no type (NULL) it may hold what a struct may. */
bool tr_type_may_hold_paths(const struct tr_type *type, enum tr_path_scope scope);

struct tr_moment tr_read_moment(struct tr_cursor *cursor);
void tr_write_moment(struct tr_buffer *buffer, struct tr_moment moment);

/* A value of type error; `element` is -1 outside of maps. */
struct tr_failure {
    struct tr_text node;
    struct tr_text code;
    struct tr_text message;
    int64_t element;
    struct tr_text details; /* written behind the message, in lines of its own */
};
struct tr_failure tr_read_failure(struct tr_cursor *cursor);
void tr_write_failure(struct tr_buffer *buffer, const struct tr_failure *failure);

/* The variant of a union and the cursor before its value; an unknown position is an error. */
const struct tr_type *tr_read_variant(struct tr_cursor *cursor, const struct tr_type *type,
                                      uint32_t *position);

/* What kind of msgpack value comes next, as a run-time value. */
enum tri_value_kind {
    TRI_VALUE_NIL,
    TRI_VALUE_BOOL,
    TRI_VALUE_INT,
    TRI_VALUE_FLOAT,
    TRI_VALUE_TEXT,
    TRI_VALUE_LIST,
    TRI_VALUE_MAP,
    TRI_VALUE_OTHER,
};
enum tri_value_kind tri_value_kind(const struct tr_cursor *cursor);

/* Base64 with padding, blanks and line ends ignored; false if it is none, or bits are left over. */
bool tri_base64_read(struct tr_text text, struct tr_arena *arena, struct tr_bytes *bytes);
void tri_base64_write(struct tr_bytes bytes, struct tr_buffer *buffer);

/* Text as JSON, in quotes (schemas/codec/print.h). */
void tri_text_write(struct tr_text text, struct tr_buffer *buffer);

/* A double as JSON, shortest form that reads back as the same; with a point or an exponent. */
void tri_number_write(double number, struct tr_buffer *buffer);

#endif
