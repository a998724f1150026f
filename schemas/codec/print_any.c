/*
 * Printing a msgpack value that has no schema.
 *
 * The value is checked as a whole first, so that the walk meets no fault on its way. The walk keeps
 * its own stack, one frame for each array or map that is open, since input decides how deep it is.
 */
#include "schemas/codec/print_scalar.h"

/* An array or map of which some values are still to come. */
struct frame {
    uint64_t count; /* of values: for a map, its keys and values */
    uint64_t left;
    bool is_map;
};

struct walk {
    struct tr_sink *sink;
    enum tr_print_form form;
    struct tr_cursor cursor;
    unsigned depth;
    struct frame frames[TR_NESTING_MAX + 1];
};

/* Passes over a value and prints words in its place. */
static void print_shape(struct walk *walk, const char *words)
{
    (void)tr_read_any(&walk->cursor);
    tr_sink_put_string(walk->sink, words);
}

static void print_extension(struct walk *walk)
{
    int8_t type = 0;
    struct tr_bytes content = tr_read_extension(&walk->cursor, &type);
    bool is_json = walk->form == TR_PRINT_JSON;
    tr_sink_format(walk->sink, is_json ? "{\"extension\":%d,\"data\":" : "<extension %d ", type);
    tri_print_bytes(walk->sink, walk->form, content);
    tr_sink_put_char(walk->sink, is_json ? '}' : '>');
}

/* Prints what has no parts. */
static void print_leaf(struct walk *walk, enum tr_codec_type type)
{
    switch (type) {
    case TR_CODEC_BOOL:
        tri_print_bool(walk->sink, tr_read_bool(&walk->cursor));
        break;
    case TR_CODEC_UNSIGNED:
        tri_print_unsigned(walk->sink, tr_read_u64(&walk->cursor));
        break;
    case TR_CODEC_SIGNED:
        tri_print_signed(walk->sink, tr_read_i64(&walk->cursor));
        break;
    case TR_CODEC_F64:
        tri_print_f64(walk->sink, walk->form, tr_read_f64(&walk->cursor));
        break;
    case TR_CODEC_TEXT:
        tr_print_json_text(walk->sink, tr_read_text_unchecked(&walk->cursor));
        break;
    case TR_CODEC_BYTES:
        tri_print_bytes(walk->sink, walk->form, tr_read_bytes(&walk->cursor));
        break;
    case TR_CODEC_EXTENSION:
        print_extension(walk);
        break;
    case TR_CODEC_NIL:
        print_shape(walk, "null");
        break;
    case TR_CODEC_ARRAY:
    case TR_CODEC_MAP:
    case TR_CODEC_NONE:
        break;
    }
}

/* Prints a map's key as text: numbers in quotes, what has parts by its shape. */
static void print_map_key(struct walk *walk)
{
    enum tr_codec_type type = tr_peek(&walk->cursor);
    bool has_quotes =
        type == TR_CODEC_TEXT || (type == TR_CODEC_BYTES && walk->form == TR_PRINT_JSON);
    if (type == TR_CODEC_ARRAY) {
        print_shape(walk, "\"<array>\"");
    } else if (type == TR_CODEC_MAP) {
        print_shape(walk, "\"<map>\"");
    } else if (type == TR_CODEC_EXTENSION) {
        print_shape(walk, "\"<extension>\"");
    } else if (has_quotes) {
        print_leaf(walk, type);
    } else {
        tr_sink_put_char(walk->sink, '"');
        print_leaf(walk, type);
        tr_sink_put_char(walk->sink, '"');
    }
}

/* Begins an array or a map; what is in it comes with the next steps. */
static void open_frame(struct walk *walk, bool is_map)
{
    uint64_t count =
        is_map ? 2 * (uint64_t)tr_read_map(&walk->cursor) : tr_read_array(&walk->cursor);
    tr_sink_put_char(walk->sink, is_map ? '{' : '[');
    if (count == 0) {
        tr_sink_put_char(walk->sink, is_map ? '}' : ']');
        return;
    }
    walk->frames[++walk->depth] = (struct frame){.count = count, .left = count, .is_map = is_map};
}

/* Prints the next key or value of the innermost frame, with what stands before it. */
static void step(struct walk *walk)
{
    struct frame *frame = &walk->frames[walk->depth];
    bool is_map_key = frame->is_map && frame->left % 2 == 0;
    if (frame->is_map && !is_map_key) {
        tr_sink_put_char(walk->sink, ':');
    } else if (frame->left != frame->count) {
        tr_sink_put_char(walk->sink, ',');
    }
    frame->left--;
    enum tr_codec_type type = tr_peek(&walk->cursor);
    if (is_map_key) {
        print_map_key(walk);
    } else if (type == TR_CODEC_ARRAY || type == TR_CODEC_MAP) {
        open_frame(walk, type == TR_CODEC_MAP);
    } else {
        print_leaf(walk, type);
    }
}

/* Closes what is complete and tells whether anything is left. */
static bool close_frames(struct walk *walk)
{
    while (walk->frames[walk->depth].left == 0) {
        if (walk->depth == 0) {
            return false;
        }
        tr_sink_put_char(walk->sink, walk->frames[walk->depth].is_map ? '}' : ']');
        walk->depth--;
    }
    return true;
}

void tr_print_any(struct tr_sink *sink, enum tr_print_form form, struct tr_bytes value)
{
    if (value.size == 0) {
        tr_sink_put_string(sink, "null");
        return;
    }
    struct tr_cursor check = tr_cursor_of(value);
    struct tr_bytes whole = tr_read_any(&check);
    if (check.error == 0 && whole.size != value.size) {
        tr_cursor_fail(&check, TR_MALFORMED);
    }
    if (check.error != 0) {
        tri_print_undecodable(sink, form, check.error, NULL, value.size);
        return;
    }
    struct walk walk = {.sink = sink, .form = form, .cursor = tr_cursor_of(value)};
    walk.frames[0] = (struct frame){.count = 1, .left = 1};
    while (close_frames(&walk) && !sink->truncated) {
        step(&walk);
    }
}
