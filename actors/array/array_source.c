/*
 * Sources: the inputs of a map that are cut into elements.
 *
 * A list is never decoded whole: a cursor stands at the next element. Of a list that lies elsewhere
 * only one piece is here, in pages; when it is used up the next one is asked for, from the element
 * on that it does not hold whole. An element that is larger than a piece is asked for as a value
 * that lies elsewhere, too, and its slot takes the place of the piece.
 */
#include <inttypes.h>

#include "actors/array/array.h"
#include "actors/values/bind_plan.h"
#include "runtime/memory.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"

/* A source: a row of its page. */
struct source {
    uint64_t at;       /* of the next element, in the list's bytes */
    uint64_t before;   /* the same before the element that is being made */
    uint64_t total;    /* bytes of the list */
    uint64_t piece_at; /* what is here of it */
    uint32_t piece_size;
    uint32_t page; /* where that begins */
    uint32_t input;
    uint32_t count; /* elements */
    uint8_t is_offloaded;
    uint8_t is_open;    /* `count` is known */
    uint8_t is_element; /* what is here is the slot of the element at `piece_at` */
    uint8_t unused[5];
};

_Static_assert(TR_ARRAY_MAPPED_MAX * sizeof(struct source) <= TR_PAGE_BYTES_MAX,
               "all sources are in one page");

/* Bytes that are looked at first of an element that is not whole in its page. */
#define STRADDLE_BYTES (2U * TR_PAGE_BYTES_MAX)

static const struct tr_binding *binding_of(const struct tri_array *array, uint32_t input)
{
    return &array->workflow->bindings[array->node->input_first + input];
}

static struct tr_text name_of(const struct tri_array *array, uint32_t input)
{
    return array->target.inputs.items[input].name;
}

/* Appends which input is meant and, where one reference feeds it, whose output that is. */
static void print_input(const struct tri_array *array, uint32_t input, struct tr_buffer *words)
{
    const struct tr_binding *binding = binding_of(array, input);
    tr_buffer_print(words, "input '%.*s'", TRI_SHOWN(name_of(array, input)));
    if (binding->kind == TR_BINDING_REFERENCE) {
        struct tr_buffer reference;
        tr_buffer_init(&reference, 0);
        tr_reference_print(array->workflow, binding, &reference);
        tr_buffer_print(words, ", from %.*s,", TRI_SHOWN(tr_buffer_text(&reference)));
        tr_buffer_fini(&reference);
    }
}

static int edit_sources(struct tri_array *array, struct source **sources)
{
    void *page;
    int error = tr_page_edit(array->context, TRI_ARRAY_SOURCES,
                             array->state->source_count * sizeof **sources, &page);
    if (error == 0) {
        *sources = page;
    }
    return error;
}

/* Fails the node with words that were put together, and frees them. */
static int fail_in_words(struct tri_array *array, const char *code, struct tr_buffer *words)
{
    int error = words->error != 0
                    ? words->error
                    : tri_array_fail(array, code, "%.*s", TRI_TEXT(tr_buffer_text(words)));
    tr_buffer_fini(words);
    return error;
}

/* ----------------------------------------------------------------------- opening */

/*
 * How many elements a list says it has, and the bytes it says so with; false: it is none. The three
 * forms of a msgpack array: fixarray, array 16 and array 32, the numbers with the high byte first.
 */
static bool read_header(struct tr_bytes bytes, uint32_t *count, uint32_t *size)
{
    const uint8_t *at = bytes.data;
    if (bytes.size >= 1 && (at[0] & 0xf0) == 0x90) {
        *count = at[0] & 0x0f;
        *size = 1;
        return true;
    }
    if (bytes.size >= 3 && at[0] == 0xdc) {
        *count = (uint32_t)at[1] << 8 | at[2];
        *size = 3;
        return true;
    }
    if (bytes.size >= 5 && at[0] == 0xdd) {
        *count = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
        *size = 5;
        return true;
    }
    return false;
}

/* What was given is no list, or is one with fewer bytes than elements. */
static int fail_list(struct tri_array *array, const struct source *source, bool is_list,
                     struct tr_bytes bytes)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_add_string(&words, "the ");
    print_input(array, source->input, &words);
    if (is_list) {
        tr_buffer_print(&words, " is damaged: %u elements cannot be in %llu bytes", source->count,
                        (unsigned long long)source->total);
    } else {
        tr_buffer_add_string(&words, " holds ");
        tr_slot_show_misfit(NULL, bytes, binding_of(array, source->input)->type, &words);
    }
    return fail_in_words(array, "BindingResolutionError", &words);
}

/* The begin of a source's list is here. Each element takes a byte at least. */
static int open_source(struct tri_array *array, struct source *source, struct tr_bytes bytes)
{
    uint32_t size;
    bool is_list = read_header(bytes, &source->count, &size);
    if (!is_list || source->count > source->total - size) {
        return fail_list(array, source, is_list, bytes);
    }
    source->at = size;
    source->is_open = 1;
    return 0;
}

/* What all children get alike, with the place of a list that lies elsewhere; nil for the others. */
static int read_whole(struct tri_array *array, struct tr_bytes inputs, struct tr_buffer *whole)
{
    struct tr_cursor cursor;
    struct tr_offloaded where;
    uint32_t count = tr_slots_begin(inputs, &cursor);
    if (count != array->node->input_count || count > array->target.inputs.count) {
        return TR_MALFORMED;
    }
    tr_buffer_array(whole, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        bool is_mapped = binding_of(array, i)->is_mapped;
        if (is_mapped && !tr_slot_is_offloaded(slot, &where)) {
            tr_buffer_nil(whole);
        } else {
            tr_buffer_add(whole, slot.data, slot.size);
        }
        array->state->source_count += is_mapped ? 1 : 0;
    }
    return cursor.error != 0 ? TR_MALFORMED : whole->error;
}

/* Keeps the node_start, with `whole` for its inputs. */
static int keep_head(struct tri_array *array, const struct tr_node_start *start,
                     struct tr_bytes whole)
{
    struct tr_node_start head = *start;
    head.inputs = whole;
    size_t size = tr_node_start_schema.size_max(&head);
    uint8_t *bytes = tr_alloc(size);
    struct tr_writer writer = tr_writer_of(bytes, bytes == NULL ? 0 : size);
    int error = bytes == NULL ? TR_MEMORY : tr_node_start_pack(&head, &writer);
    if (error == 0) {
        array->state->head_bytes = (uint32_t)tr_writer_size(&writer);
        array->state->head_version = tr_node_start_schema.version;
        error = tri_array_stretch_put(
            array->context, TRI_ARRAY_FIRST,
            (struct tr_bytes){.data = bytes, .size = array->state->head_bytes});
    }
    tr_free(bytes);
    return error;
}

/* One source: a list that is here is a piece that is all of it. */
static int add_source(struct tri_array *array, uint32_t input, struct tr_bytes slot, uint32_t *page,
                      struct source *source)
{
    struct tr_offloaded where;
    *source = (struct source){.input = input, .page = *page, .total = slot.size};
    if (tr_slot_is_offloaded(slot, &where)) {
        source->is_offloaded = 1;
        source->total = where.size_bytes;
        *page += tri_array_stretch_pages(TR_ARRAY_PIECE_BYTES);
        return 0;
    }
    source->piece_size = (uint32_t)slot.size;
    *page += tri_array_stretch_pages(slot.size);
    int error = tri_array_stretch_put(array->context, source->page, slot);
    return error != 0 ? error : open_source(array, source, slot);
}

static int add_sources(struct tri_array *array, struct tr_bytes inputs)
{
    struct source *sources;
    struct tr_cursor cursor;
    uint32_t page = TRI_ARRAY_FIRST + tri_array_stretch_pages(array->state->head_bytes);
    int error = edit_sources(array, &sources);
    uint32_t count = tr_slots_begin(inputs, &cursor);
    for (uint32_t i = 0; i < count && error == 0 && array->state->ending == 0; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        if (binding_of(array, i)->is_mapped) {
            error = add_source(array, i, slot, &page, sources++);
        }
    }
    array->state->block_page = page;
    return error;
}

int tri_array_keep(struct tri_array *array, const struct tr_node_start *start, bool *is_fine)
{
    struct tr_buffer whole;
    tr_buffer_init(&whole, TR_MESSAGE_BYTES_MAX);
    int error = read_whole(array, start->inputs, &whole);
    *is_fine = error == 0;
    if (error == TR_MALFORMED) {
        error = 0;
        tr_buffer_cut(&whole, 0);
    }
    if (error == 0) {
        error = keep_head(array, start, tr_buffer_bytes(&whole));
    }
    tr_buffer_fini(&whole);
    return error;
}

int tri_array_sources_open(struct tri_array *array, struct tr_bytes inputs)
{
    uint32_t count = array->state->source_count;
    if (count == 0) {
        return tri_array_fail(array, "BadSpecification",
                              "none of the map's inputs gives one element at a time");
    }
    if (count > TR_ARRAY_MAPPED_MAX) {
        return tri_array_fail(array, "BadSpecification",
                              "the map cuts %u inputs into elements, more than %u "
                              "(TR_ARRAY_MAPPED_MAX)",
                              count, TR_ARRAY_MAPPED_MAX);
    }
    return add_sources(array, inputs);
}

/* All lists have one length. */
static int compare_lengths(struct tri_array *array, const struct source *sources, bool *is_known)
{
    for (uint32_t i = 1; i < array->state->source_count; i++) {
        if (sources[i].count != sources[0].count) {
            struct tr_text first = name_of(array, sources[0].input);
            struct tr_text other = name_of(array, sources[i].input);
            return tri_array_fail(array, "InvalidArrayLength",
                                  "the lists differ in length: '%.*s' has %u elements, '%.*s' %u",
                                  (int)first.size, first.data, sources[0].count, (int)other.size,
                                  other.data, sources[i].count);
        }
    }
    if (sources[0].count > TR_ARRAY_ELEMENTS_MAX) {
        return tri_array_fail(array, "InvalidArrayLength",
                              "the list has %u elements, more than %u (TR_ARRAY_ELEMENTS_MAX)",
                              sources[0].count, TR_ARRAY_ELEMENTS_MAX);
    }
    array->state->count = sources[0].count;
    *is_known = true;
    return 0;
}

int tri_array_sources_count(struct tri_array *array, bool *is_known)
{
    struct tr_bytes page;
    int error = tr_page_get(array->context, TRI_ARRAY_SOURCES, &page);
    const struct source *sources = (const struct source *)(const void *)page.data;
    *is_known = false;
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < array->state->source_count; i++) {
        if (!sources[i].is_open) {
            array->state->call_source = i;
            return array->state->call == 0 ? tri_array_source_call(array) : 0;
        }
    }
    return compare_lengths(array, sources, is_known);
}

/* ------------------------------------------------------------------------ pieces */

/*
 * The type of a source's list as it is here: one that lies elsewhere as a whole is still what its
 * reference gives, and each element is made what the place wants.
 */
static const struct tr_type *list_type(const struct tri_array *array, const struct source *source)
{
    const struct tr_binding *binding = binding_of(array, source->input);
    bool is_passed_on = source->is_offloaded && binding->kind == TR_BINDING_REFERENCE &&
                        binding->count == 0 && binding->source != NULL &&
                        binding->source->kind == TR_TYPE_LIST &&
                        binding->type->kind == TR_TYPE_LIST;
    return is_passed_on ? binding->source : binding->type;
}

/* Whether the piece that is here begins with an element that it does not hold. */
static bool is_too_large(const struct source *source)
{
    return source->is_open && !source->is_element && source->piece_size > 0 &&
           source->at == source->piece_at;
}

/* Asks for a large element of a list at `slot`, as a value of its own. */
static int ask_element(struct tri_array *array, const struct source *source, struct tr_bytes slot)
{
    struct tr_buffer plan;
    tr_buffer_init(&plan, 0);
    int error = tr_bind_plan_element(name_of(array, source->input), list_type(array, source), slot,
                                     array->state->next, &plan);
    if (error == 0) {
        const struct tr_values_bind question = {.plan = tr_buffer_bytes(&plan)};
        error = tri_array_call(array, &tr_values_bind_schema, &question);
    }
    tr_buffer_fini(&plan);
    return error;
}

int tri_array_source_element(struct tri_array *array, const struct tr_values_given *given)
{
    struct source *sources;
    struct tr_offloaded where;
    struct tr_bytes slot;
    int error = edit_sources(array, &sources);
    if (error != 0) {
        return error;
    }
    struct source *source = &sources[array->state->call_source];
    bool is_fine = given->code.size == 0 && is_too_large(source) &&
                   tr_slots_get(given->slots, 0, &slot) == 0 &&
                   tr_slot_is_offloaded(slot, &where) &&
                   where.size_bytes <= source->total - source->at;
    if (!is_fine) {
        return tri_array_fail(array, "StorageError", "[%u] of input '%.*s' cannot be had: %.*s",
                              array->state->next, (int)name_of(array, source->input).size,
                              name_of(array, source->input).data, (int)given->message.size,
                              given->message.data);
    }
    /* The cursor stays: it moves by the size of the value, not of its slot (take_element). */
    source->is_element = 1;
    source->piece_size = (uint32_t)slot.size;
    return tri_array_stretch_put(array->context, source->page, slot);
}

int tri_array_source_call(struct tri_array *array)
{
    struct tr_node_start head;
    struct tr_bytes page;
    struct tr_bytes slot;
    struct tr_offloaded where;
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    int error = tri_array_head(array, &buffer, &head);
    if (error == 0) {
        error = tr_page_get(array->context, TRI_ARRAY_SOURCES, &page);
    }
    if (error == 0) {
        const struct source *source =
            (const struct source *)(const void *)page.data + array->state->call_source;
        error = tr_slots_get(head.inputs, source->input, &slot);
        if (error == 0 && !tr_slot_is_offloaded(slot, &where)) {
            error = TR_MALFORMED;
        }
        struct tr_blob_read read = {.size = TR_ARRAY_PIECE_BYTES};
        if (error == 0 && is_too_large(source)) {
            error = ask_element(array, source, slot);
        } else if (error == 0) {
            read.uri = where.uri;
            read.offset = source->is_open ? source->at : 0;
            error = tri_array_call(array, &tr_blob_read_schema, &read);
        }
    }
    tr_buffer_fini(&buffer);
    return error;
}

int tri_array_source_piece(struct tri_array *array, struct tr_bytes bytes, uint64_t total)
{
    struct source *sources;
    int error = edit_sources(array, &sources);
    if (error != 0) {
        return error;
    }
    struct source *source = &sources[array->state->call_source];
    uint64_t offset = source->is_open ? source->at : 0;
    if (bytes.size == 0 || bytes.size > TR_ARRAY_PIECE_BYTES || bytes.size > total ||
        offset > total - bytes.size || (source->is_open && total != source->total)) {
        return tri_array_fail(
            array, "StorageError", "the list of input '%.*s' is not what it was when it was stored",
            (int)name_of(array, source->input).size, name_of(array, source->input).data);
    }
    source->total = total;
    source->piece_at = offset;
    source->piece_size = (uint32_t)bytes.size;
    source->is_element = 0;
    error = tri_array_stretch_put(array->context, source->page, bytes);
    return error != 0 || source->is_open ? error : open_source(array, source, bytes);
}

/* ---------------------------------------------------------------------- elements */

int tri_array_feed_init(struct tri_array *array, struct tri_feed *feed)
{
    struct source *sources;
    tr_buffer_init(&feed->head, 0);
    tr_buffer_init(&feed->inputs, 2 * TR_MESSAGE_BYTES_MAX);
    tr_buffer_init(&feed->scratch, 0);
    int error = tri_array_head(array, &feed->head, &feed->start);
    if (error == 0) {
        error = edit_sources(array, &sources);
    }
    if (error == 0) {
        feed->sources = sources;
    }
    return error;
}

void tri_array_feed_fini(struct tri_feed *feed)
{
    tr_buffer_fini(&feed->head);
    tr_buffer_fini(&feed->inputs);
    tr_buffer_fini(&feed->scratch);
}

/*
 * The element at the cursor from what is here, if it is whole: TR_TRUNCATED where it is not. Most
 * elements lie in one page and are viewed there. Another one is copied: first as much as two pages
 * have, and only if that is not enough all that is here, so that a long piece is not copied for
 * each element at an end of a page.
 */
static int find_element(struct tri_array *array, const struct source *source,
                        struct tr_buffer *scratch, struct tr_bytes *element)
{
    size_t offset = (size_t)(source->at - source->piece_at);
    size_t left =
        source->at < source->piece_at + source->piece_size ? source->piece_size - offset : 0;
    size_t in_page = TR_PAGE_BYTES_MAX - offset % TR_PAGE_BYTES_MAX;
    struct tr_bytes page;
    if (left == 0) {
        return TR_TRUNCATED;
    }
    int error =
        tr_page_get(array->context, source->page + (uint32_t)(offset / TR_PAGE_BYTES_MAX), &page);
    if (error != 0) {
        return error;
    }
    struct tr_bytes seen = {.data = page.data + offset % TR_PAGE_BYTES_MAX,
                            .size = left < in_page ? left : in_page};
    for (;;) {
        struct tr_cursor cursor = tr_cursor_of(seen);
        *element = tr_read_any(&cursor);
        if (cursor.error != TR_TRUNCATED || seen.size == left) {
            return cursor.error;
        }
        size_t wanted = seen.size < STRADDLE_BYTES && left > STRADDLE_BYTES ? STRADDLE_BYTES : left;
        tr_buffer_cut(scratch, 0);
        error = tri_array_stretch_get(array->context, source->page, offset, wanted, scratch);
        if (error != 0) {
            return error;
        }
        seen = tr_buffer_bytes(scratch);
    }
}

/* Appends an element as one of the input's type. What came in the message has it already. */
static int add_element(struct tri_array *array, const struct source *source,
                       struct tr_bytes element, struct tr_buffer *inputs)
{
    const struct tr_type *from = list_type(array, source);
    const struct tr_type *to = binding_of(array, source->input)->type;
    if (from != to && from->parts[0] != to->parts[0]) {
        return tr_bind_cast(from->parts[0], to->parts[0], element, inputs);
    }
    tr_buffer_add(inputs, element.data, element.size);
    return inputs->error;
}

/*
 * The element is not here whole: the next piece, or why there is none. A list that ends within an
 * element is damaged, and no further piece can help.
 */
static int want_piece(struct tri_array *array, const struct source *source, uint32_t index)
{
    struct tr_text name = name_of(array, source->input);
    uint64_t here_end = source->is_element ? source->at : source->piece_at + source->piece_size;
    if (here_end >= source->total) {
        return tri_array_fail(array, "StorageError", "the list of input '%.*s' ends within [%u]",
                              (int)name.size, name.data, array->state->next);
    }
    array->state->call_source = index;
    return array->state->call == 0 ? tri_array_source_call(array) : 0;
}

/*
 * An element that is not what its place wants: too large to be changed into that (TR_LIMIT), of
 * another type (TR_INVALID), or no value at all.
 */
static int fail_element(struct tri_array *array, const struct source *source,
                        struct tr_bytes element, int error)
{
    const struct tr_type *from = list_type(array, source)->parts[0];
    const struct tr_type *to = binding_of(array, source->input)->type->parts[0];
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_print(&words, "[%u] of ", array->state->next);
    print_input(array, source->input, &words);
    if (error == TR_LIMIT) {
        tr_buffer_print(&words, " is larger than %u bytes (TR_INLINE_BYTES_MAX) and of type ",
                        TR_INLINE_BYTES_MAX);
        tr_type_print(from, &words);
        tr_buffer_add_string(&words, ", while the input is ");
        tr_type_print(to, &words);
        tr_buffer_add_string(&words, "; declare the same type for both");
        return fail_in_words(array, "InputSizeExceeded", &words);
    }
    if (error == TR_INVALID) {
        tr_buffer_add_string(&words, " holds ");
        tr_slot_show_misfit(from, element, to, &words);
    } else {
        tr_buffer_add_string(&words, " is damaged: its bytes are no value");
    }
    return fail_in_words(array, "BindingResolutionError", &words);
}

/* Takes the next element of a source. */
static int take_element(struct tri_array *array, struct tri_feed *feed, uint32_t index,
                        bool *is_there)
{
    struct source *source = (struct source *)feed->sources + index;
    struct tr_bytes element;
    struct tr_offloaded where;
    source->before = source->at;
    int error = find_element(array, source, &feed->scratch, &element);
    *is_there = error == 0;
    if (error == TR_TRUNCATED) {
        return want_piece(array, source, index);
    }
    if (error == 0) {
        bool is_elsewhere = source->is_element && tr_slot_is_offloaded(element, &where);
        source->at += is_elsewhere ? where.size_bytes : element.size;
        error = add_element(array, source, element, &feed->inputs);
    }
    if (error == 0 || error == TR_MEMORY) {
        return error;
    }
    *is_there = false;
    return fail_element(array, source, element, error);
}

int tri_array_feed_next(struct tri_array *array, struct tri_feed *feed, bool *is_there)
{
    struct source *sources = feed->sources;
    struct tr_cursor cursor;
    uint32_t taken = 0;
    int error = 0;
    uint32_t count = tr_slots_begin(feed->start.inputs, &cursor);
    tr_buffer_cut(&feed->inputs, 0);
    tr_buffer_array(&feed->inputs, count);
    *is_there = true;
    for (uint32_t i = 0; i < count && error == 0 && *is_there; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        if (taken < array->state->source_count && sources[taken].input == i) {
            error = take_element(array, feed, taken++, is_there);
        } else {
            tr_buffer_add(&feed->inputs, slot.data, slot.size);
        }
    }
    /*
     * Elements are taken from all sources or from none: the next try begins with the same element
     * in each.
     */
    if (!*is_there) {
        for (uint32_t i = 0; i < taken; i++) {
            sources[i].at = sources[i].before;
        }
    }
    return error != 0 ? error : feed->inputs.error;
}
