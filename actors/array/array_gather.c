/*
 * Gathering: what the elements gave becomes one list for each output, in the elements' order.
 *
 * A list is put together piece by piece. One that is whole within the first piece stays a value of
 * its own; of a larger one each piece is written to the blob store before the next one is made, so
 * that no list is ever here as a whole. A single value that lies elsewhere is copied into the list
 * in the same way, because a list holds values and no places.
 *
 * Until a piece is known to be stored, `position`, `written` and `copied` name its begin, and their
 * `_after` twins what they become with the answer. So a piece whose call was lost with a crash is
 * made again from the same elements and written again at the same offset, which changes nothing
 * (runtime/blob/blob_write.c).
 *
 * `copied` is 0 while pieces are made of values that are here. While a value that lies elsewhere is
 * copied it is one more than the bytes of it that are written.
 *
 * An element that failed gives none, which the list's type has to allow: a map that may succeed
 * without all of its elements has lists of `T | none`.
 */
#include "actors/array/array.h"
#include "schemas/runtime/files.h"

/* One handler's work on a piece. */
struct piece {
    struct tr_buffer bytes;
    struct tr_buffer scratch;
    const struct tr_type *from; /* of an element's value; NULL for the list of errors */
    const struct tr_type *to;   /* of the list's elements */
    uint32_t position;          /* the next element */
    bool is_cut;                /* the element at `position` lies elsewhere */
    struct tr_offloaded where;
};

/*
 * The variant of this kind in `T | none` and its like; the type itself where it is no such union.
 */
static const struct tr_type *part_of_kind(const struct tr_type *type, enum tr_type_kind kind)
{
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == kind) {
            return type->parts[i];
        }
    }
    return type;
}

/* The types of an output: those of its list's elements, and of what an element gives. */
static void set_types(const struct tri_array *array, struct piece *piece)
{
    uint32_t output = array->state->output;
    const struct tr_type *list =
        part_of_kind(array->node->outputs.items[output].type, TR_TYPE_LIST);
    TR_ASSERT(list->kind == TR_TYPE_LIST);
    piece->to = list->parts[0];
    piece->from =
        output == array->node->errors_output ? NULL : array->target.outputs.items[output].type;
}

/* ---------------------------------------------------------------------- one element */

/* The value of an element that gave nothing: none, in its union. TR_INVALID: the type has none. */
static int add_none(struct piece *piece)
{
    static const uint8_t nil = 0xc0;
    const struct tr_type *none = part_of_kind(piece->to, TR_TYPE_NONE);
    struct tr_bytes value = {.data = &nil, .size = 1};
    if (none->kind != TR_TYPE_NONE) {
        return TR_INVALID;
    }
    return tr_literal_cast(none, piece->to, value, &piece->bytes);
}

/* What stands before a value of `from` where one of `to` belongs: the position in a union. */
static int add_variant(struct piece *piece)
{
    const struct tr_type *to = piece->to;
    if (to->kind != TR_TYPE_UNION || piece->from->kind == TR_TYPE_UNION) {
        return 0; /* T | none has the variants of a union T in their order */
    }
    int64_t position = tr_type_variant_for(piece->from, to);
    if (position < 0) {
        return TR_INVALID;
    }
    tr_buffer_array(&piece->bytes, 2);
    tr_buffer_u64(&piece->bytes, (uint64_t)position);
    return piece->bytes.error;
}

/* Appends the value of an output from what an element gave. */
static int add_output(struct tri_array *array, struct piece *piece, struct tr_bytes outputs)
{
    struct tr_bytes slot;
    int error = tr_slots_get(outputs, array->state->output, &slot);
    if (error != 0) {
        return error;
    }
    if (tr_slot_is_offloaded(slot, &piece->where)) {
        piece->is_cut = true;
        tr_offloaded_write_head(&piece->where, &piece->bytes);
        return add_variant(piece);
    }
    if (piece->from != piece->to) {
        return tr_literal_cast(piece->from, piece->to, slot, &piece->bytes);
    }
    tr_buffer_add(&piece->bytes, slot.data, slot.size);
    return piece->bytes.error;
}

/*
 * Appends what the element at the position has in this list: its value, its error in the list of
 * errors, or none.
 */
static int add_element(struct tri_array *array, struct piece *piece)
{
    struct tri_element element;
    struct tr_bytes value;
    int error = tri_array_element_get(array, piece->position, &element);
    if (error != 0) {
        return error;
    }
    error = tri_array_element_value(array, piece->position, &piece->scratch, &value);
    if (error != 0) {
        return error;
    }
    bool is_success =
        element.phase == TR_NODE_PHASE_SUCCEEDED || element.phase == TR_NODE_PHASE_RECOVERED;
    if (piece->from == NULL && !is_success) {
        const struct tr_type *type = part_of_kind(piece->to, TR_TYPE_ERROR);
        return tr_literal_cast(type, piece->to, value, &piece->bytes);
    }
    return is_success && piece->from != NULL ? add_output(array, piece, value) : add_none(piece);
}

/* -------------------------------------------------------------------------- pieces */

/* Elements of a piece that will be written, so that small ones take no handler too long. */
#define ELEMENTS_MAX 16384U

/*
 * Where a piece ends at the latest: only what may yet stay inline has to be whole. A list of as
 * many elements as TR_INLINE_BYTES_MAX has bytes cannot be small, since each takes a byte.
 */
static uint32_t piece_limit(const struct tr_array_state *state)
{
    bool is_written = state->written > 0 || state->count >= TR_INLINE_BYTES_MAX;
    uint32_t left = state->count - state->position;
    return is_written && left > ELEMENTS_MAX ? state->position + ELEMENTS_MAX : state->count;
}

/*
 * Makes the piece from the position on: as much as fits, or up to what lies elsewhere. A piece that
 * ends before a value that lies elsewhere holds what stands in front of that value, its place in a
 * union among it.
 */
static int make_piece(struct tri_array *array, struct piece *piece)
{
    const struct tr_array_state *state = array->state;
    uint32_t limit = piece_limit(state);
    int error = 0;
    if (piece->position == 0 && state->written == 0) {
        tr_buffer_array(&piece->bytes, state->count);
    }
    while (error == 0 && piece->position < limit && !piece->is_cut) {
        size_t before = piece->bytes.size;
        error = add_element(array, piece);
        /*
         * A value may be larger than a piece: then it is a piece alone. Else it begins the next
         * one.
         */
        bool is_over = piece->bytes.size > TR_ARRAY_PIECE_BYTES && before > 0;
        if (error == 0 && is_over && !piece->is_cut) {
            tr_buffer_cut(&piece->bytes, before);
            break;
        }
        piece->position += error == 0 && !piece->is_cut ? 1 : 0;
    }
    return error != 0 ? error : piece->bytes.error;
}

/*
 * The identity under which the pieces of an output are written. It is the same after a crash, and
 * no other actor's: so pieces written again land in the same blob.
 */
static struct tr_text blob_name(const struct tri_array *array, char *text, size_t size)
{
    struct tr_key self = tr_self(array->context).key;
    struct tr_sink sink = tr_sink_of(text, size);
    tr_sink_format(&sink, "array-%llu-%llu-%u", (unsigned long long)self.group,
                   (unsigned long long)self.serial, array->state->output);
    return (struct tr_text){.data = text, .size = sink.size};
}

/* Writes bytes behind those that are written; what the state says of it counts when it is done. */
static int write_piece(struct tri_array *array, struct tr_bytes bytes, bool is_last)
{
    char name[80];
    struct tr_array_state *state = array->state;
    struct tr_blob_write write = {
        .name = blob_name(array, name, sizeof name),
        .offset = state->written,
        .bytes = bytes,
        .is_last = is_last,
    };
    state->written_after = state->written + bytes.size;
    return tri_array_call(array, &tr_blob_write_schema, &write);
}

/* Asks for the next piece of the value at the position, which lies elsewhere. */
static int read_elsewhere(struct tri_array *array, const struct tr_offloaded *where)
{
    struct tr_blob_read read = {
        .uri = where->uri, .offset = array->state->copied - 1, .size = TR_ARRAY_PIECE_BYTES};
    return tri_array_call(array, &tr_blob_read_schema, &read);
}

/*
 * The list is complete and small: it stays here. Also used for the reference to a list in a blob,
 * which is small.
 */
static int keep_inline(struct tri_array *array, struct tr_bytes list)
{
    uint64_t place;
    void *places;
    struct tr_array_state *state = array->state;
    int error = tri_array_put(array, list, &place);
    if (error != 0) {
        return error;
    }
    error = tr_page_edit(array->context, TRI_ARRAY_OUTPUTS,
                         array->node->outputs.count * sizeof place, &places);
    if (error != 0) {
        return error;
    }
    memcpy((uint8_t *)places + state->output * sizeof place, &place, sizeof place);
    state->inline_bytes += list.size;
    state->output++;
    state->position = 0;
    state->written = 0;
    state->copied = 0;
    return 0;
}

/*
 * The whole list in one piece stays inline if it is small, and if all inline outputs together fit
 * into the last message; everything else is written as a blob.
 */
static int send_piece(struct tri_array *array, struct piece *piece)
{
    struct tr_array_state *state = array->state;
    bool is_last = piece->position == state->count;
    struct tr_bytes bytes = tr_buffer_bytes(&piece->bytes);
    bool is_small = is_last && state->written == 0 && bytes.size <= TR_INLINE_BYTES_MAX &&
                    state->inline_bytes + bytes.size <= TR_ARRAY_INLINE_BYTES_MAX;
    if (is_small) {
        return keep_inline(array, bytes);
    }
    if (bytes.size == 0) {
        /*
         * The piece begins with a value that lies elsewhere: nothing stands before it to be
         * written.
         */
        TR_ASSERT(piece->is_cut);
        state->position = piece->position;
        state->copied = 1;
        return read_elsewhere(array, &piece->where);
    }
    state->position_after = piece->position;
    state->copied_after = piece->is_cut ? 1 : 0;
    return write_piece(array, bytes, is_last);
}

static void piece_fini(struct piece *piece)
{
    tr_buffer_fini(&piece->bytes);
    tr_buffer_fini(&piece->scratch);
}

/* The next piece of the output in hand, from values that are here. */
static int gather_here(struct tri_array *array, struct piece *piece)
{
    int error = make_piece(array, piece);
    return error != 0 ? error : send_piece(array, piece);
}

/* The same from a value that lies elsewhere. */
static int gather_elsewhere(struct tri_array *array, struct piece *piece)
{
    struct tr_bytes value;
    struct tr_bytes slot;
    int error = tri_array_element_value(array, piece->position, &piece->scratch, &value);
    if (error == 0) {
        error = tr_slots_get(value, array->state->output, &slot);
    }
    if (error == 0 && !tr_slot_is_offloaded(slot, &piece->where)) {
        error = TR_MALFORMED;
    }
    return error != 0 ? error : read_elsewhere(array, &piece->where);
}

/* What the element at the position gave for the output in hand; false: nothing to be shown. */
static bool find_given(struct tri_array *array, struct piece *piece, struct tr_bytes *slot)
{
    struct tri_element element = {0};
    struct tr_bytes value;
    int error = tri_array_element_get(array, piece->position, &element);
    if (error == 0) {
        error = tri_array_element_value(array, piece->position, &piece->scratch, &value);
    }
    bool is_success =
        element.phase == TR_NODE_PHASE_SUCCEEDED || element.phase == TR_NODE_PHASE_RECOVERED;
    return error == 0 && is_success && piece->from != NULL &&
           tr_slots_get(value, array->state->output, slot) == 0;
}

/* Which element failed, of what, and why: a value of another type is shown. */
static int fail_piece(struct tri_array *array, struct piece *piece, int error)
{
    struct tr_bytes slot;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_print(&words, "[%u] of output '%.*s' of '%.*s'", piece->position,
                    TRI_SHOWN(array->node->outputs.items[array->state->output].name),
                    TRI_SHOWN(tr_node_target_name(array->graph, array->node)));
    bool is_misfit = error == TR_INVALID || error == TR_MALFORMED;
    if (is_misfit && find_given(array, piece, &slot)) {
        tr_buffer_add_string(&words, " holds ");
        tr_slot_show_misfit(piece->from, slot, piece->to, &words);
    } else {
        tr_buffer_print(&words, ": %s", tr_error_text(error));
    }
    int result = words.error != 0 ? words.error
                                  : tri_array_fail(array, "MismatchingTypes", "%.*s",
                                                   TRI_TEXT(tr_buffer_text(&words)));
    tr_buffer_fini(&words);
    return result;
}

/*
 * An error of a value is the map's failure, told with the element; a lack of memory is the
 * handler's, which runs again. TR_MEMORY changes nothing that is kept, so running again is safe.
 */
static int gather_some(struct tri_array *array)
{
    struct piece piece = {.position = array->state->position};
    tr_buffer_init(&piece.bytes, 4 * (size_t)TR_ARRAY_PIECE_BYTES);
    tr_buffer_init(&piece.scratch, 0);
    set_types(array, &piece);
    int error =
        array->state->copied > 0 ? gather_elsewhere(array, &piece) : gather_here(array, &piece);
    if (error != 0 && error != TR_MEMORY) {
        error = fail_piece(array, &piece, error);
    }
    piece_fini(&piece);
    return error;
}

/*
 * All lists are there. The order of slots is that of the outputs; each was put into the heap when
 * its list was done.
 */
static int finish(struct tri_array *array)
{
    struct tr_buffer slots;
    struct tr_buffer scratch;
    struct tr_bytes places = {0};
    uint32_t count = array->node->outputs.count;
    tr_buffer_init(&slots, TR_MESSAGE_BYTES_MAX);
    tr_buffer_init(&scratch, 0);
    int error = tr_page_get(array->context, TRI_ARRAY_OUTPUTS, &places);
    tr_buffer_array(&slots, count);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        uint64_t place;
        struct tr_bytes slot;
        memcpy(&place, places.data + i * sizeof place, sizeof place);
        error = tri_array_get(array, place, &scratch, &slot);
        if (error == 0) {
            tr_buffer_add(&slots, slot.data, slot.size);
        }
    }
    if (error == 0) {
        error = slots.error;
    }
    if (error == 0) {
        error = tri_array_succeed(array, tr_buffer_bytes(&slots));
    }
    tr_buffer_fini(&scratch);
    tr_buffer_fini(&slots);
    return error;
}

/* Goes on until a call is needed: from the beginning, or behind the answer to the last call. */
int tri_array_gather(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    int error = 0;
    if (state->step != TRI_ARRAY_GATHERING) {
        state->step = TRI_ARRAY_GATHERING;
        error = tri_array_to(array, TR_NODE_PHASE_SUCCEEDING);
    }
    while (error == 0 && state->step == TRI_ARRAY_GATHERING && state->call == 0 &&
           state->output < array->node->outputs.count) {
        error = gather_some(array);
    }
    bool is_over = state->step == TRI_ARRAY_GATHERING && state->call == 0;
    return error == 0 && is_over ? finish(array) : error;
}

/* --------------------------------------------------------------------- from outside */

/*
 * A piece is stored: the next one. `uri` and `size` come with the last piece; the list is then a
 * reference to the blob, which takes its place among the inline outputs.
 */
int tri_array_gather_stored(struct tri_array *array, struct tr_text uri, uint64_t size)
{
    struct tr_array_state *state = array->state;
    state->written = state->written_after;
    state->position = state->position_after;
    state->copied = state->copied_after;
    if (state->position < state->count) {
        return tri_array_gather(array);
    }
    if (uri.size == 0 || size != state->written) {
        return tri_array_fail(array, "StorageError",
                              "%llu bytes of a list were stored, and %llu are there",
                              (unsigned long long)state->written, (unsigned long long)size);
    }
    struct tr_buffer slot;
    tr_buffer_init(&slot, 0);
    tr_slot_write_offloaded(&slot, &(struct tr_offloaded){.uri = uri, .size_bytes = size});
    int error = slot.error;
    if (error == 0) {
        error = keep_inline(array, tr_buffer_bytes(&slot));
    }
    tr_buffer_fini(&slot);
    return error != 0 ? error : tri_array_gather(array);
}

/*
 * A part of a value that lies elsewhere, to be written behind what is there. Its size is checked
 * against the total, since the blob it comes from is not ours to trust.
 */
int tri_array_gather_piece(struct tri_array *array, struct tr_bytes bytes, uint64_t total)
{
    struct tr_array_state *state = array->state;
    uint64_t offset = state->copied - 1;
    bool is_fine = state->copied > 0 && bytes.size > 0 && bytes.size <= TR_ARRAY_PIECE_BYTES &&
                   offset <= total && bytes.size <= total - offset;
    if (!is_fine) {
        return tri_array_fail(array, "StorageError",
                              "what [%u] gave is not what it was when it was stored",
                              state->position);
    }
    bool is_whole = offset + bytes.size == total;
    state->position_after = state->position + (is_whole ? 1 : 0);
    state->copied_after = is_whole ? 0 : state->copied + bytes.size;
    return write_piece(array, bytes, state->position_after == state->count);
}
