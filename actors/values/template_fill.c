/*
 * Filling in templates: a text is copied up to the next template, in whose place its value comes.
 *
 * What a template may name is decided by graph/value/template.h; here is how a value looks as text.
 * The result follows Flyte's templating of container commands (flyteplugins, core/template),
 * so that a task that was written for Flyte gets the same words. A value is never scanned for
 * templates again, so an input cannot bring in one.
 */
#include "actors/values/template_fill.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/note.h"
#include "actors/graph/value/slot.h"

/* One filling in. */
struct fill {
    const struct tr_template_values *values;
    struct tr_buffer *buffer;
    struct tr_template_problem *problem;
};

static int refuse(struct fill *fill, const char *format, ...) TR_PRINTF(2, 3);

static int refuse(struct fill *fill, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(fill->problem->words, sizeof fill->problem->words, format, values);
    va_end(values);
    return TR_INVALID;
}

/* ------------------------------------------------------------------ inputs */

static int fill_value(struct fill *fill, const struct tr_type *type, struct tr_cursor *cursor,
                      struct tr_text name);

/*
 * A number as Go's %v prints it, which is how Flyte does: 3, 0.1, 1e+21, NaN. The fewest digits
 * that read back as the same number are found by trial; 17 are always enough for a double.
 */
static void fill_number(double number, struct tr_buffer *buffer)
{
    char text[40];
    if (isnan(number) || isinf(number)) {
        tr_buffer_add_string(buffer, isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf");
        return;
    }
    int digits = 0;
    do {
        (void)snprintf(text, sizeof text, "%.*e", digits, number);
    } while (digits++ < 16 && (strtod(text, NULL) < number || strtod(text, NULL) > number));
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 21) {
        int decimals = digits - 1 - exponent;
        (void)snprintf(text, sizeof text, "%.*f", decimals > 0 ? decimals : 0, number);
    }
    tr_buffer_add_string(buffer, text);
}

/* As Go prints the message of a duration. */
static void fill_duration(struct fill *fill, int64_t nanoseconds)
{
    long long seconds = nanoseconds / 1000000000;
    long long rest = nanoseconds % 1000000000;
    if (seconds != 0) {
        tr_buffer_print(fill->buffer, "seconds:%lld", seconds);
    }
    if (rest != 0) {
        tr_buffer_print(fill->buffer, "%snanos:%lld", seconds != 0 ? " " : "", rest);
    }
}

static int fill_list(struct fill *fill, const struct tr_type *type, struct tr_cursor *cursor,
                     struct tr_text name)
{
    uint32_t count = tr_read_array(cursor);
    int error = cursor->error;
    tr_buffer_add_string(fill->buffer, "[");
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        tr_buffer_add_string(fill->buffer, i == 0 ? "" : ",");
        error = fill_value(fill, type->parts[0], cursor, name);
    }
    tr_buffer_add_string(fill->buffer, "]");
    return error;
}

static int fill_union(struct fill *fill, const struct tr_type *type, struct tr_cursor *cursor,
                      struct tr_text name)
{
    uint32_t position;
    const struct tr_type *variant = tr_read_variant(cursor, type, &position);
    return cursor->error != 0 ? cursor->error : fill_value(fill, variant, cursor, name);
}

/* Appends a value as a word. Recursion goes as deep as types do. */
static int fill_value(struct fill *fill, const struct tr_type *type, struct tr_cursor *cursor,
                      struct tr_text name)
{
    struct tr_buffer *buffer = fill->buffer;
    tr_pass_note(cursor);
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tr_read_i64(cursor));
        break;
    case TR_TYPE_FLOAT:
        fill_number(tr_read_f64(cursor), buffer);
        break;
    case TR_TYPE_BOOL:
        tr_buffer_add_string(buffer, tr_read_bool(cursor) ? "true" : "false");
        break;
    case TR_TYPE_STRING:
    case TR_TYPE_ENUM:
        tr_buffer_add_text(buffer, tr_read_text(cursor));
        break;
    case TR_TYPE_DATETIME:
        tr_moment_print(tr_read_moment(cursor), buffer);
        break;
    case TR_TYPE_DURATION:
        fill_duration(fill, tr_read_i64(cursor));
        break;
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
    case TR_TYPE_DATASET:
        tr_buffer_add_text(buffer, tr_read_blob(cursor).uri);
        break;
    case TR_TYPE_LIST:
        return fill_list(fill, type, cursor, name);
    case TR_TYPE_UNION:
        return fill_union(fill, type, cursor, name);
    default:
        return refuse(fill,
                      "the template {{.inputs.%.*s}}: a value that is none, bytes, a map, a struct "
                      "or an error has no form as text; read it from $TROUPE_INPUTS",
                      TRI_SHOWN(name));
    }
    return cursor->error != 0 ? TR_MALFORMED : buffer->error;
}

/* There is no such input: the words name those that there are. */
static int refuse_unknown(struct fill *fill, struct tr_text name)
{
    const struct tr_variables *inputs = fill->values->inputs;
    struct tr_buffer all;
    tr_buffer_init(&all, 0);
    for (uint32_t i = 0; i < inputs->count && i < 8; i++) {
        tr_buffer_print(&all, "%s%.*s", i > 0 ? ", " : "", TRI_SHOWN(inputs->items[i].name));
    }
    int error = all.error;
    if (error == 0) {
        error = refuse(fill,
                       "the template {{.inputs.%.*s}} names no input of the task; "
                       "it has %.*s%s",
                       TRI_SHOWN(name), (int)all.size, all.size == 0 ? "" : (const char *)all.data,
                       inputs->count == 0  ? "none"
                       : inputs->count > 8 ? ", ..."
                                           : "");
    }
    tr_buffer_fini(&all);
    return error;
}

static int fill_input(struct fill *fill, struct tr_text name)
{
    const struct tr_template_values *values = fill->values;
    struct tr_offloaded where;
    struct tr_bytes slot;
    uint32_t index = 0;
    while (index < values->inputs->count &&
           !tr_text_equal(values->inputs->items[index].name, name)) {
        index++;
    }
    if (index == values->inputs->count) {
        return refuse_unknown(fill, name);
    }
    if (tr_slots_get(values->slots, index, &slot) != 0) {
        return TR_MALFORMED;
    }
    if (tr_slot_is_offloaded(slot, &where)) {
        return refuse(fill,
                      "the template {{.inputs.%.*s}}: the value has %llu bytes, more than "
                      "TR_INLINE_BYTES_MAX (%u); read it from $TROUPE_INPUTS",
                      TRI_SHOWN(name), (unsigned long long)where.size_bytes, TR_INLINE_BYTES_MAX);
    }
    struct tr_cursor cursor = tr_cursor_of(slot);
    return fill_value(fill, values->inputs->items[index].type, &cursor, name);
}

/* --------------------------------------------------------------- templates */

/*
 * As one word of a POSIX shell: between single quotes, in which nothing has a meaning. A quote
 * itself ends the word, is written as \', and begins it anew.
 */
static void quote(struct tr_text text, struct tr_buffer *buffer)
{
    size_t begin = 0;
    tr_buffer_add_string(buffer, "'");
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\'') {
            tr_buffer_add(buffer, text.data + begin, i - begin);
            tr_buffer_add_string(buffer, "'\\'");
            begin = i;
        }
    }
    tr_buffer_add(buffer, text.data + begin, text.size - begin);
    tr_buffer_add_string(buffer, "'");
}

/* What the caller knows beside inputs and names. */
static bool fill_found(struct fill *fill, struct tr_text name)
{
    const struct tr_template_values *values = fill->values;
    struct tr_text value;
    if (values->find == NULL || !values->find(values->self, name, &value)) {
        return false;
    }
    tr_buffer_add_text(fill->buffer, value);
    return true;
}

static int fill_plain(struct fill *fill, const struct tr_template *template)
{
    switch (template->kind) {
    case TR_TEMPLATE_IS_INPUT:
        return fill_input(fill, template->name);
    case TR_TEMPLATE_IS_NAME:
        if (template->which == TR_TEMPLATE_TASK_DOCUMENT) {
            return refuse(fill, "the template {{.taskTemplatePath}} asks for task.pb, which is not "
                                "written; " TR_TEMPLATE_TASK_DOCUMENT_REMEDY);
        }
        tr_buffer_add_text(fill->buffer, fill->values->names[template->which]);
        break;
    case TR_TEMPLATE_IS_TEXT:
        tr_buffer_add_text(fill->buffer, template->name);
        break;
    case TR_TEMPLATE_IS_UNKNOWN: /* of a definition that was compiled before these were refused */
        if (fill_found(fill, template->name)) {
            break;
        }
        tr_buffer_add_text(fill->buffer, template->whole);
        break;
    case TR_TEMPLATE_IS_OPEN:
        tr_buffer_add_text(fill->buffer, template->whole);
        break;
    }
    return fill->buffer->error;
}

/*
 * A quoted template is filled into a buffer of its own first, because the quotes of its value are
 * known only then.
 */
static int fill_template(struct fill *fill, const struct tr_template *template)
{
    struct tr_buffer plain;
    if (!template->is_quoted) {
        return fill_plain(fill, template);
    }
    tr_buffer_init(&plain, fill->buffer->size_max);
    struct fill inner = {.values = fill->values, .buffer = &plain, .problem = fill->problem};
    int error = fill_plain(&inner, template);
    if (error == 0) {
        quote(tr_buffer_text(&plain), fill->buffer);
        error = fill->buffer->error;
    }
    tr_buffer_fini(&plain);
    return error;
}

int tr_template_fill(const struct tr_template_values *values, struct tr_text text,
                     struct tr_buffer *buffer, struct tr_template_problem *problem)
{
    struct fill fill = {.values = values, .buffer = buffer, .problem = problem};
    struct tr_template template;
    struct tr_text before;
    int error = 0;
    bool is_one = true;
    while (error == 0 && is_one) {
        is_one = tr_template_next(&text, &before, &template);
        tr_buffer_add_text(buffer, before);
        error = is_one ? fill_template(&fill, &template) : 0;
    }
    return error != 0 ? error : buffer->error;
}

/* ----------------------------------------------------------- configuration */

/*
 * A text in a configuration.
 *
 * Texts without templates are copied as they are, so most configurations take no second buffer.
 */
static int fill_text(struct fill *fill, struct tr_text text)
{
    struct tr_buffer filled;
    if (!tr_template_is_in(text.data, text.size)) {
        tr_buffer_text_value(fill->buffer, text);
        return fill->buffer->error;
    }
    tr_buffer_init(&filled, 0);
    int error = tr_template_fill(fill->values, text, &filled, fill->problem);
    if (error == 0) {
        tr_buffer_text_value(fill->buffer, tr_buffer_text(&filled));
        error = fill->buffer->error;
    }
    tr_buffer_fini(&filled);
    return error;
}

static int fill_any(struct fill *fill, struct tr_cursor *cursor, uint32_t depth)
{
    enum tr_codec_type type = tr_peek(cursor);
    uint32_t count = 0;
    int error = depth > TR_LITERAL_DEPTH_MAX ? TR_LIMIT : 0;
    if (type == TR_CODEC_TEXT) {
        struct tr_text text = tr_read_text(cursor);
        if (cursor->error != 0) {
            return TR_MALFORMED;
        }
        return fill_text(fill, text);
    }
    if (type == TR_CODEC_MAP) {
        count = tr_read_map(cursor);
        tr_buffer_map(fill->buffer, count);
    } else if (type == TR_CODEC_ARRAY) {
        count = tr_read_array(cursor);
        tr_buffer_array(fill->buffer, count);
    } else {
        struct tr_bytes whole = tr_read_any(cursor);
        tr_buffer_add(fill->buffer, whole.data, whole.size);
    }
    for (uint32_t i = 0; error == 0 && cursor->error == 0 && i < count; i++) {
        if (type == TR_CODEC_MAP) {
            tr_buffer_text_value(fill->buffer, tr_read_text(cursor));
        }
        error = fill_any(fill, cursor, depth + 1);
    }
    if (error != 0) {
        return error;
    }
    return cursor->error != 0 ? TR_MALFORMED : fill->buffer->error;
}

int tr_template_fill_value(const struct tr_template_values *values, struct tr_bytes value,
                           struct tr_buffer *buffer, struct tr_template_problem *problem)
{
    struct fill fill = {.values = values, .buffer = buffer, .problem = problem};
    struct tr_cursor cursor = tr_cursor_of(value);
    return fill_any(&fill, &cursor, 0);
}
