/*
 * Bindings: literals are copied, references followed, lists, maps and texts put together from their
 * parts, and each result is made into the type of its place. A literal that lies elsewhere passes
 * by reference where nobody has to look inside; where somebody has to, the caller opens it, or
 * cannot and is told so.
 *
 * Recursion goes as deep as the definition's lists and maps nest, TR_TREE_DEPTH_MAX at the most.
 *
 * Order and effects: nothing is kept between calls but the words of the last failure in the binder.
 * The buffer grows at its end; after an error what was appended is of no use, and the caller cuts
 * it off. Views of outputs last until the next call of `output`, so each is used up before the next
 * one is asked for.
 */
#include "actors/values/bind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/memory.h"

/* How much of a place and of a reference a message shows. */
#define PLACE_BYTES 100U
#define SHOWN_BYTES 200U

/* ---------------------------------------------------------------- failures */

/* Appends the way to a part: the input, and the steps inside of it. */
static void print_place(const struct tr_bind_place *place, struct tr_buffer *words)
{
    if (place->outside == NULL) {
        tr_buffer_add_text(words, place->whole->key);
    } else {
        print_place(place->outside, words);
    }
    if (place->whole->kind == TR_BINDING_LIST) {
        tr_buffer_print(words, "[%u]", place->index);
    } else {
        tr_buffer_print(words, ".%.*s", TRI_TEXT(place->key));
    }
}

/* Writes the quoted place of a binding where the words of a failure begin; gives their size. */
static size_t begin_words(struct tr_binder *binder, const struct tr_binding *binding)
{
    struct tr_buffer place;
    tr_buffer_init(&place, 0);
    if (binder->place != NULL) {
        print_place(binder->place, &place);
    } else {
        tr_buffer_add_text(&place, binding->key);
    }
    struct tr_text text = tr_buffer_text(&place);
    text.size = tr_utf8_cut(text, PLACE_BYTES);
    int size = snprintf(binder->words, sizeof binder->words, "'%.*s'", TRI_TEXT(text));
    tr_buffer_fini(&place);
    return size < 0 ? 0 : (size_t)size;
}

static int fail(struct tr_binder *binder, const struct tr_binding *binding, const char *code,
                const char *format, ...) TR_PRINTF(4, 5);

/*
 * Notes the code and the words of a failure, which begin with the binding's place; always
 * TR_INVALID.
 */
static int fail(struct tr_binder *binder, const struct tr_binding *binding, const char *code,
                const char *format, ...)
{
    va_list values;
    size_t begin = begin_words(binder, binding);
    va_start(values, format);
    int size = vsnprintf(binder->words + begin, sizeof binder->words - begin, format, values);
    va_end(values);
    /* Cut between characters of UTF-8, since the words become a text of a message. */
    size_t room = sizeof binder->words - 1 - begin;
    size_t written = begin + (size < 0 ? 0 : (size_t)size < room ? (size_t)size : room);
    binder->code = code;
    struct tr_text text = {.data = binder->words, .size = written};
    text.size = tr_utf8_cut(text, written);
    binder->message = text;
    return TR_INVALID;
}

/* A failure of a reference: its text, and what is wrong with it. */
static int fail_reference(struct tr_binder *binder, const struct tr_binding *binding,
                          const char *code, const char *what)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_reference_print(binder->workflow, binding, &words);
    struct tr_text text = tr_buffer_text(&words);
    text.size = tr_utf8_cut(text, SHOWN_BYTES);
    int error = words.error;
    if (error == 0) {
        /*
         * The reference is cut, since a path of many steps may be longer than a message should be.
         */
        error = fail(binder, binding, code, " gets %.*s, which %s", TRI_TEXT(text), what);
    }
    tr_buffer_fini(&words);
    return error;
}

/* ------------------------------------------------------------------ values */

/* Appends none as a value of `type`; TR_INVALID: the type has no none. */
int tr_bind_none(const struct tr_type *type, struct tr_buffer *buffer)
{
    /* NULL: a type that is known at run time only takes none as it is. */
    if (type == NULL || type->kind == TR_TYPE_NONE) {
        tr_buffer_nil(buffer);
        return buffer->error;
    }
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == TR_TYPE_NONE) {
            tr_buffer_array(buffer, 2);
            tr_buffer_u64(buffer, i);
            tr_buffer_nil(buffer);
            return buffer->error;
        }
    }
    return TR_INVALID;
}

/*
 * Whether the variants of a union are the first ones of another: its bytes are the same there.
 *
 * A packed union is [position, value], so the positions of the shorter union mean the same variants
 * in the longer one, and no byte has to change. Types are compared by address: equal types of one
 * graph are one.
 */
static bool begins_with(const struct tr_type *to, const struct tr_type *from)
{
    bool begins =
        to->kind == TR_TYPE_UNION && from->kind == TR_TYPE_UNION && from->count <= to->count;
    for (uint32_t i = 0; begins && i < from->count; i++) {
        begins = from->parts[i] == to->parts[i];
    }
    return begins;
}

/*
 * What lies elsewhere as one of another type, if none of its bytes changes with that.
 *
 * `variant` counts from 1; 0 says that the bytes are of the whole type. TR_LIMIT says that the
 * bytes would have to change, so that the caller opens them.
 */
static int cast_elsewhere(const struct tr_type *from, const struct tr_type *to,
                          const struct tr_offloaded *where, struct tr_buffer *buffer)
{
    const struct tr_type *inside = tr_offloaded_type(where, from);
    struct tr_offloaded cast = *where;
    if (inside == NULL || to == NULL) {
        return TR_LIMIT;
    }
    if (inside == to || begins_with(to, inside)) {
        cast.variant = 0;
        tr_slot_write_offloaded(buffer, &cast);
        return buffer->error;
    }
    for (uint32_t i = 0; to->kind == TR_TYPE_UNION && i < to->count; i++) {
        if (to->parts[i] == inside) {
            cast.variant = i + 1;
            tr_slot_write_offloaded(buffer, &cast);
            return buffer->error;
        }
    }
    return TR_LIMIT;
}

/*
 * Appends a slot of type `from` as one of type `to`. TR_INVALID: it does not fit; TR_LIMIT: it lies
 * elsewhere and would have to be read for that.
 */
int tr_bind_cast(const struct tr_type *from, const struct tr_type *to, struct tr_bytes slot,
                 struct tr_buffer *buffer)
{
    struct tr_offloaded where;
    if (from == to) {
        tr_buffer_add(buffer, slot.data, slot.size);
        return buffer->error;
    }
    if (tr_slot_is_offloaded(slot, &where)) {
        return cast_elsewhere(from, to, &where, buffer);
    }
    int error = tr_literal_cast(from, to, slot, buffer);
    return error == TR_MALFORMED ? TR_INVALID : error;
}

/* What is wrong with a step, in words. */
static const char *step_words(int error)
{
    return error == TR_NOT_FOUND ? "is not there: no such field or element"
                                 : "cannot be looked up in a value of that kind";
}

/*
 * Whether an array node cuts this list into elements: then each element becomes one of the place's
 * type when it is taken out, and the list itself is passed on uncast, also where it lies elsewhere.
 */
static bool is_cast_later(const struct tr_binding *binding, const struct tr_type *type)
{
    return binding->is_mapped && type != NULL && type == binding->source &&
           type->kind == TR_TYPE_LIST && binding->type->kind == TR_TYPE_LIST;
}

/* Says that what a reference holds does not suit the place: which value, and which type. */
static int fail_type(struct tr_binder *binder, const struct tr_binding *binding,
                     const struct tr_type *type, struct tr_bytes value)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_add_string(&words, "holds ");
    tr_slot_show_misfit(type, value, binding->type, &words);
    tr_buffer_add(&words, "", 1); /* the closing zero */
    int error = words.error != 0
                    ? words.error
                    : fail_reference(binder, binding, TR_CODE_BINDING, (const char *)words.data);
    tr_buffer_fini(&words);
    return error;
}

/* Follows the steps of a reference into a value and appends what is there as the place's type. */
static int add_inside(struct tr_binder *binder, const struct tr_binding *binding,
                      const struct tr_type *type, struct tr_bytes value, struct tr_buffer *buffer)
{
    int error = tr_literal_follow(type, value, &binder->workflow->steps[binding->first],
                                  binding->count, &type, &value);
    if (error != 0) {
        return fail_reference(binder, binding, TR_CODE_BINDING, step_words(error));
    }
    error = tr_bind_cast(type, binding->type, value, buffer);
    if (error == TR_INVALID) {
        return fail_type(binder, binding, type, value);
    }
    return error;
}

/* The same of a value that lies elsewhere, opened for that. */
static int open_inside(struct tr_binder *binder, const struct tr_binding *binding,
                       const struct tr_type *type, const struct tr_offloaded *where,
                       struct tr_buffer *buffer)
{
    struct tr_bytes literal;
    const struct tr_type *inside = tr_offloaded_type(where, type);
    /* The slot names a variant that its type does not have. */
    if (inside == NULL && where->variant != 0) {
        return TR_MALFORMED;
    }
    if (binder->open == NULL) {
        binder->lies_elsewhere = true;
        return fail_reference(binder, binding, TR_CODE_INLINE,
                              "is larger than TR_INLINE_BYTES_MAX (256 KiB) and lies elsewhere");
    }
    int error = binder->open(binder->self, where, &literal);
    if (error == 0) {
        error = add_inside(binder, binding, inside, literal, buffer);
        binder->close(binder->self, literal);
    }
    return error;
}

/* What a reference names as the place's type: passed on as it lies elsewhere, if that will do. */
static int add_part(struct tr_binder *binder, const struct tr_binding *binding,
                    const struct tr_type *type, struct tr_bytes value, struct tr_buffer *buffer)
{
    struct tr_offloaded where;
    if (!tr_slot_is_offloaded(value, &where)) {
        return add_inside(binder, binding, type, value, buffer);
    }
    if (binding->count == 0 && is_cast_later(binding, type)) {
        tr_buffer_add(buffer, value.data, value.size);
        return buffer->error;
    }
    int error = binding->count == 0 ? tr_bind_cast(type, binding->type, value, buffer) : TR_LIMIT;
    /*
     * Passed on where that is enough; opened where a step goes inside or the bytes have to change.
     */
    return error == TR_LIMIT ? open_inside(binder, binding, type, &where, buffer) : error;
}

/*
 * The value that a node gave. One that it did not give, as of a node that was skipped, has no
 * value.
 */
static int bind_reference(struct tr_binder *binder, const struct tr_binding *binding,
                          struct tr_buffer *buffer)
{
    const struct tr_variables *outputs = &binder->workflow->nodes[binding->node].outputs;
    struct tr_bytes slot;
    int error = binder->output(binder->self, binding->node, binding->output, &slot);
    if (error == TR_NOT_FOUND) {
        return fail_reference(binder, binding, TR_CODE_BINDING, "has no value");
    }
    return error != 0
               ? error
               : add_part(binder, binding, outputs->items[binding->output].type, slot, buffer);
}

/* `$err`: where there is no error, none or, where none cannot be, an error of empty texts. */
static int bind_failure(struct tr_binder *binder, const struct tr_binding *binding,
                        struct tr_buffer *buffer)
{
    /* An error as msgpack: four fields, three of them empty texts and the last one nil. */
    static const uint8_t nothing[] = {0x94, 0xa0, 0xa0, 0xa0, 0xc0};
    struct tr_bytes value = binder->failure;
    if (value.size == 0) {
        if (tr_bind_none(binding->type, buffer) == 0) {
            return 0;
        }
        value = (struct tr_bytes){.data = nothing, .size = sizeof nothing};
    }
    /* The type of the whole is known by the compiler only where it is passed whole. */
    static const struct tr_type error_type = {.kind = TR_TYPE_ERROR};
    const struct tr_type *type = binding->count == 0 ? binding->source : &error_type;
    return add_part(binder, binding, type, value, buffer);
}

/* ---------------------------------------------------------- lists and maps */

static int compare_keys(const void *left, const void *right)
{
    struct tr_text a = (*(const struct tr_binding *const *)left)->key;
    struct tr_text b = (*(const struct tr_binding *const *)right)->key;
    return tr_text_order(a, b);
}

/* Puts a literal that lies elsewhere in the place of its slot, the last in a buffer. */
static int take_in(struct tr_binder *binder, const struct tr_binding *binding,
                   const struct tr_offloaded *where, size_t before, struct tr_buffer *buffer)
{
    struct tr_bytes literal;
    if (binder->open == NULL) {
        binder->lies_elsewhere = true;
        return fail(binder, binding, TR_CODE_INLINE,
                    " has %llu bytes, more than TR_INLINE_BYTES_MAX (256 KiB), and lies elsewhere",
                    (unsigned long long)where->size_bytes);
    }
    int error = binder->open(binder->self, where, &literal);
    if (error == 0) {
        tr_buffer_cut(buffer, before);
        tr_offloaded_write_head(where, buffer);
        tr_buffer_add(buffer, literal.data, literal.size);
        binder->close(binder->self, literal);
    }
    return error != 0 ? error : buffer->error;
}

/*
 * The same as a value that is here: parts of lists and maps, and what conditions look at, cannot
 * stay elsewhere.
 */
int tr_bind_literal(struct tr_binder *binder, const struct tr_binding *binding,
                    struct tr_buffer *buffer)
{
    size_t before = buffer->size;
    int error = tr_bind_value(binder, binding, buffer);
    struct tr_offloaded where;
    struct tr_bytes bytes = {.data = buffer->data + before, .size = buffer->size - before};
    bool is_elsewhere = error == 0 && tr_slot_is_offloaded(bytes, &where);
    return is_elsewhere ? take_in(binder, binding, &where, before, buffer) : error;
}

/* The elements in their order, each opened where it lies elsewhere. */
static int add_list(struct tr_binder *binder, const struct tr_binding *binding,
                    struct tr_buffer *buffer)
{
    struct tr_bind_place place = {.outside = binder->place, .whole = binding};
    tr_buffer_array(buffer, binding->count);
    int error = buffer->error;
    binder->place = &place;
    for (uint32_t i = 0; error == 0 && i < binding->count; i++) {
        place.index = i;
        error = tr_bind_literal(binder, &binder->workflow->bindings[binding->first + i], buffer);
    }
    binder->place = place.outside;
    return error;
}

/*
 * Keys of packed maps are sorted.
 *
 * A map has one form this way, so equal values have equal bytes and one key of the cache.
 */
static int add_map(struct tr_binder *binder, const struct tr_binding *binding,
                   struct tr_buffer *buffer)
{
    uint32_t count = binding->count;
    const struct tr_binding **parts = tr_alloc((count + (size_t)1) * sizeof(struct tr_binding *));
    if (parts == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = &binder->workflow->bindings[binding->first + i];
    }
    qsort(parts, count, sizeof(struct tr_binding *), compare_keys);
    struct tr_bind_place place = {.outside = binder->place, .whole = binding};
    tr_buffer_map(buffer, count);
    int error = buffer->error;
    binder->place = &place;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        place.key = parts[i]->key;
        tr_buffer_text_value(buffer, parts[i]->key);
        error = tr_bind_literal(binder, parts[i], buffer);
    }
    binder->place = place.outside;
    tr_free(parts);
    return error;
}

/* Says that what was put together does not suit its place. */
static int fail_whole(struct tr_binder *binder, const struct tr_binding *binding,
                      struct tr_bytes whole)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_slot_show_misfit(binding->source, whole, binding->type, &words);
    int error = words.error != 0
                    ? words.error
                    : fail(binder, binding, TR_CODE_BINDING, " is put together as %.*s",
                           TRI_TEXT(tr_buffer_text(&words)));
    tr_buffer_fini(&words);
    return error;
}

/* What was put together, as its place wants it. */
static int add_whole(struct tr_binder *binder, const struct tr_binding *binding,
                     const struct tr_buffer *whole, struct tr_buffer *buffer)
{
    int error = tr_bind_cast(binding->source, binding->type, tr_buffer_bytes(whole), buffer);
    return error == TR_INVALID ? fail_whole(binder, binding, tr_buffer_bytes(whole)) : error;
}

/* Puts a list or a map together, and makes it what its place wants where that is something else. */
static int bind_parts(struct tr_binder *binder, const struct tr_binding *binding,
                      struct tr_buffer *buffer)
{
    struct tr_buffer whole;
    bool is_list = binding->kind == TR_BINDING_LIST;
    /* The usual case is written to its place directly, without a copy of the whole. */
    if (binding->source == binding->type) {
        return is_list ? add_list(binder, binding, buffer) : add_map(binder, binding, buffer);
    }
    tr_buffer_init(&whole, 0);
    int error = is_list ? add_list(binder, binding, &whole) : add_map(binder, binding, &whole);
    error = error != 0 ? error : add_whole(binder, binding, &whole, buffer);
    tr_buffer_fini(&whole);
    return error;
}

/* ------------------------------------------------------------------- texts */

static int fail_text_size(struct tr_binder *binder, const struct tr_binding *binding)
{
    return fail(binder, binding, TR_CODE_INLINE,
                ": the text is larger than TR_INLINE_BYTES_MAX (256 KiB); let a task write it to a "
                "file");
}

/*
 * Appends a part as it stands inside of a text. A string that lies elsewhere is too large for one,
 * so nothing is opened for it; a part of a large value is had as any other is.
 */
int tr_bind_text_part(struct tr_binder *binder, const struct tr_binding *part,
                      struct tr_buffer *text)
{
    struct tr_buffer value;
    struct tr_offloaded where;
    tr_buffer_init(&value, 0);
    int error = tr_bind_value(binder, part, &value);
    if (error == 0 && tr_slot_is_offloaded(tr_buffer_bytes(&value), &where)) {
        error = fail_text_size(binder, part);
    } else if (error == 0) {
        error = tr_literal_text(part->type, tr_buffer_bytes(&value), text);
        if (error == TR_INVALID) {
            error = fail_reference(binder, part, TR_CODE_BINDING,
                                   "has no form as text: it is none, a list or a mapping");
        }
    }
    tr_buffer_fini(&value);
    return error == TR_LIMIT ? fail_text_size(binder, part) : error;
}

/* Puts a text together. */
static int bind_text(struct tr_binder *binder, const struct tr_binding *binding,
                     struct tr_buffer *buffer)
{
    struct tr_buffer text;
    struct tr_buffer whole;
    tr_buffer_init(&text, TR_INLINE_BYTES_MAX);
    tr_buffer_init(&whole, 0);
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < binding->count; i++) {
        error = tr_bind_text_part(binder, &binder->workflow->bindings[binding->first + i], &text);
    }
    if (error == 0) {
        tr_buffer_text_value(&whole, tr_buffer_text(&text));
        error = whole.error != 0 ? whole.error : add_whole(binder, binding, &whole, buffer);
    }
    tr_buffer_fini(&whole);
    tr_buffer_fini(&text);
    return error;
}

/* Appends the value of one binding, as a slot: it may lie elsewhere. */
int tr_bind_value(struct tr_binder *binder, const struct tr_binding *binding,
                  struct tr_buffer *buffer)
{
    switch ((enum tr_binding_kind)binding->kind) {
    case TR_BINDING_LITERAL:
        tr_buffer_add(buffer, binding->literal.data, binding->literal.size);
        return buffer->error;
    case TR_BINDING_REFERENCE:
        return bind_reference(binder, binding, buffer);
    case TR_BINDING_LIST:
    case TR_BINDING_MAP:
        return bind_parts(binder, binding, buffer);
    case TR_BINDING_ERROR:
        return bind_failure(binder, binding, buffer);
    case TR_BINDING_TEXT:
        return bind_text(binder, binding, buffer);
    }
    return TR_MALFORMED;
}

/* All inputs of a node as slots, in their order; the first that fails ends it. */
int tr_bind_inputs(struct tr_binder *binder, const struct tr_node *node, struct tr_buffer *buffer)
{
    tr_buffer_array(buffer, node->input_count);
    int error = buffer->error;
    for (uint32_t i = 0; error == 0 && i < node->input_count; i++) {
        error = tr_bind_value(binder, &binder->workflow->bindings[node->input_first + i], buffer);
    }
    return error;
}

/*
 * Values for the conditions of a branch; one that is not there has the size 0 and fails only the
 * condition that looks at it, since an arm before may hold.
 */
int tr_bind_condition_inputs(struct tr_binder *binder, const struct tr_node *branch,
                             struct tr_buffer *buffer, size_t *sizes)
{
    for (uint32_t i = 0; i < branch->input_count; i++) {
        size_t before = buffer->size;
        int error =
            tr_bind_literal(binder, &binder->workflow->bindings[branch->input_first + i], buffer);
        bool is_absent = error == TR_INVALID && strcmp(binder->code, TR_CODE_BINDING) == 0;
        if (error != 0 && !is_absent) {
            return error;
        }
        if (is_absent) {
            tr_buffer_cut(buffer, before);
        }
        sizes[i] = buffer->size - before;
    }
    return 0;
}
