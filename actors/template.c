/*
 * Filling in templates: a text is copied up to the next {{, which is looked at as a template, and
 * is text again where it is none.
 */
#include "actors/template.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "actors/graph/limits.h"
#include "actors/value.h"

#define BEGIN "{{"
#define END "}}"
#define INPUTS "inputs."

/* The one document of Flyte's that nobody writes: what it says of the task is in the definition. */
#define TASK_DOCUMENT "taskTemplatePath"

static const char *const names[] = {
#define TRI_TEMPLATE_NAME(name, word) [TR_TEMPLATE_##name] = (word),
    TR_TEMPLATES(TRI_TEMPLATE_NAME)
#undef TRI_TEMPLATE_NAME
};

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

void tri_template_number(double number, struct tr_buffer *buffer)
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
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tr_read_i64(cursor));
        break;
    case TR_TYPE_FLOAT:
        tri_template_number(tr_read_f64(cursor), buffer);
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
    int error = all.error != 0 ? all.error
                               : refuse(fill,
                                        "the template {{.inputs.%.*s}} names no input of the task; "
                                        "it has %.*s%s",
                                        TRI_SHOWN(name), (int)all.size,
                                        all.size == 0 ? "" : (const char *)all.data,
                                        inputs->count == 0  ? "none"
                                        : inputs->count > 8 ? ", ..."
                                                            : "");
    tr_buffer_fini(&all);
    return error;
}

/* The position of an input by its name; the count where it is none. */
static uint32_t find_input(const struct tr_variables *inputs, struct tr_text name)
{
    uint32_t index = 0;
    while (index < inputs->count && !tr_text_equal(inputs->items[index].name, name)) {
        index++;
    }
    return index;
}

static int fill_input(struct fill *fill, struct tr_text name)
{
    const struct tr_template_values *values = fill->values;
    struct tr_offloaded where;
    struct tr_bytes slot;
    uint32_t index = find_input(values->inputs, name);
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

static bool is_name(struct tr_text text, const char *name)
{
    return text.size == strlen(name) && strncasecmp(text.data, name, text.size) == 0;
}

/* What stands between the braces: the name of a template, or false. */
static bool read_name(struct tr_text inside, struct tr_text *name)
{
    static const char blanks[] = " \t\r\n";
    while (inside.size > 0 && strchr(blanks, inside.data[0]) != NULL) {
        inside.data++;
        inside.size--;
    }
    while (inside.size > 0 && strchr(blanks, inside.data[inside.size - 1]) != NULL) {
        inside.size--;
    }
    if (inside.size < 2 || (inside.data[0] != '.' && inside.data[0] != '$')) {
        return false;
    }
    *name = (struct tr_text){.data = inside.data + 1, .size = inside.size - 1};
    return true;
}

/* Whether the name of a template is that of an input, which is cut out of it. */
static bool is_input(struct tr_text *name)
{
    size_t size = sizeof INPUTS - 1;
    bool is_one = name->size > size && strncasecmp(name->data, INPUTS, size) == 0;
    if (is_one) {
        name->data += size;
        name->size -= size;
    }
    return is_one;
}

/* Fills in one template, unless its name says nothing to us: `is_known`. */
static int fill_template(struct fill *fill, struct tr_text name, bool *is_known)
{
    *is_known = true;
    if (is_input(&name)) {
        return fill_input(fill, name);
    }
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (is_name(name, names[i])) {
            tr_buffer_add_text(fill->buffer, fill->values->names[i]);
            return fill->buffer->error;
        }
    }
    if (is_name(name, TASK_DOCUMENT)) {
        return refuse(fill, "the template {{." TASK_DOCUMENT "}} asks for task.pb, which is not "
                            "written; hand on what the task needs as inputs or in `env`");
    }
    *is_known = false;
    return 0;
}

/* Takes the template that a text begins with; gives what is left behind it. */
static int take_template(struct fill *fill, struct tr_text *text)
{
    struct tr_text name;
    bool is_known = false;
    const char *end = memmem(text->data + 2, text->size - 2, END, 2);
    size_t used = 1; /* the next brace may begin one */
    int error = 0;
    if (end != NULL) {
        struct tr_text inside = {.data = text->data + 2, .size = (size_t)(end - text->data) - 2};
        error = read_name(inside, &name) ? fill_template(fill, name, &is_known) : 0;
        used = is_known ? inside.size + 4 : used;
    }
    if (!is_known) {
        tr_buffer_add(fill->buffer, text->data, used);
    }
    text->data += used;
    text->size -= used;
    return error;
}

bool tr_template_is_in(const void *bytes, size_t size)
{
    return size >= 4 && memmem(bytes, size, BEGIN, 2) != NULL;
}

/* The name of the next template in a text, which is cut to what stands behind its first brace. */
static bool next_name(struct tr_text *text, struct tr_text *name)
{
    const char *begin;
    while (text->size > 0 && (begin = memmem(text->data, text->size, BEGIN, 2)) != NULL) {
        size_t left = text->size - (size_t)(begin - text->data);
        const char *end = memmem(begin + 2, left - 2, END, 2);
        if (end == NULL) {
            return false;
        }
        struct tr_text inside = {.data = begin + 2, .size = (size_t)(end - begin) - 2};
        *text = (struct tr_text){.data = begin + 1, .size = left - 1}; /* it may begin one, too */
        if (read_name(inside, name)) {
            return true;
        }
    }
    return false;
}

bool tr_template_has_unknown(const struct tr_variables *inputs, struct tr_text text,
                             struct tr_text *name)
{
    while (next_name(&text, name)) {
        if (is_input(name) && find_input(inputs, *name) == inputs->count) {
            return true;
        }
    }
    return false;
}

uint32_t tr_template_names_in(struct tr_text text)
{
    uint32_t found = 0;
    struct tr_text name;
    while (next_name(&text, &name)) {
        for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
            found |= is_name(name, names[i]) ? 1U << i : 0;
        }
    }
    return found;
}

int tr_template_fill(const struct tr_template_values *values, struct tr_text text,
                     struct tr_buffer *buffer, struct tr_template_problem *problem)
{
    struct fill fill = {.values = values, .buffer = buffer, .problem = problem};
    int error = 0;
    while (error == 0 && text.size > 0) {
        const char *begin = memmem(text.data, text.size, BEGIN, 2);
        size_t before = begin == NULL ? text.size : (size_t)(begin - text.data);
        tr_buffer_add(buffer, text.data, before);
        text.data += before;
        text.size -= before;
        if (text.size > 0) {
            error = take_template(&fill, &text);
        }
    }
    return error != 0 ? error : buffer->error;
}

/* ----------------------------------------------------------- configuration */

/* A text in a configuration. */
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
        return cursor->error != 0 ? TR_MALFORMED : fill_text(fill, text);
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
    return error != 0 ? error : cursor->error != 0 ? TR_MALFORMED : fill->buffer->error;
}

int tr_template_fill_value(const struct tr_template_values *values, struct tr_bytes value,
                           struct tr_buffer *buffer, struct tr_template_problem *problem)
{
    struct fill fill = {.values = values, .buffer = buffer, .problem = problem};
    struct tr_cursor cursor = tr_cursor_of(value);
    return fill_any(&fill, &cursor, 0);
}
