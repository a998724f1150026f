/*
 * Values by their types. A value is drawn from its number alone, a digest from its bytes alone.
 */
#include "tests/support/flow_value.h"

#include <stdio.h>

#include "tests/support/draw.h"

#define LIST_MOST 4
#define INT_MOST 10

static uint64_t stir(uint64_t number)
{
    struct draw draw = {.state = number};
    return draw_u64(&draw);
}

static void write_string(uint64_t number, struct tr_buffer *buffer)
{
    char text[16];
    (void)snprintf(text, sizeof text, "s%u", (unsigned)(number % INT_MOST));
    tr_buffer_text_value(buffer, tr_text_of(text));
}

/* {a: int, l: [int], s: string}, the keys in their order. */
static void write_struct(uint64_t number, struct tr_buffer *buffer)
{
    uint32_t count = (uint32_t)(stir(number + 1) % LIST_MOST);
    tr_buffer_map(buffer, 3);
    tr_buffer_text_value(buffer, tr_text_of("a"));
    tr_buffer_i64(buffer, (int64_t)(number % INT_MOST));
    tr_buffer_text_value(buffer, tr_text_of("l"));
    tr_buffer_array(buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_i64(buffer, (int64_t)(stir(number + 2 + i) % INT_MOST));
    }
    tr_buffer_text_value(buffer, tr_text_of("s"));
    write_string(stir(number + 9), buffer);
}

static void write_parts(const struct tr_type *type, uint64_t number, struct tr_buffer *buffer)
{
    uint32_t count = (uint32_t)(stir(number) % LIST_MOST);
    if (type->kind == TR_TYPE_LIST) {
        tr_buffer_array(buffer, count);
    } else {
        tr_buffer_map(buffer, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        char key[] = "k0";
        key[1] = (char)('0' + i);
        if (type->kind == TR_TYPE_MAP) {
            tr_buffer_text_value(buffer, tr_text_of(key));
        }
        flow_value_write(type->parts[0], stir(number + 1 + i), buffer);
    }
}

void flow_value_write(const struct tr_type *type, uint64_t number, struct tr_buffer *buffer)
{
    uint32_t variant;
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_INT:
        tr_buffer_i64(buffer, (int64_t)(number % INT_MOST));
        return;
    case TR_TYPE_FLOAT:
        tr_buffer_f64(buffer, (double)(number % INT_MOST) + 0.5);
        return;
    case TR_TYPE_BOOL:
        tr_buffer_bool(buffer, number % 2 == 0);
        return;
    case TR_TYPE_STRING:
        write_string(number, buffer);
        return;
    case TR_TYPE_STRUCT:
        write_struct(number, buffer);
        return;
    case TR_TYPE_LIST:
    case TR_TYPE_MAP:
        write_parts(type, number, buffer);
        return;
    case TR_TYPE_UNION:
        variant = (uint32_t)(number % type->count);
        tr_buffer_array(buffer, 2);
        tr_buffer_u64(buffer, variant);
        flow_value_write(type->parts[variant], stir(number), buffer);
        return;
    default:
        TR_ASSERT(type->kind == TR_TYPE_NONE);
        tr_buffer_nil(buffer);
        return;
    }
}

static bool holds_error(const struct tr_type *type)
{
    bool holds = type->kind == TR_TYPE_ERROR;
    uint32_t count = type->kind == TR_TYPE_LIST || type->kind == TR_TYPE_MAP ? 1
                     : type->kind == TR_TYPE_UNION                           ? type->count
                                                                             : 0;
    for (uint32_t i = 0; i < count; i++) {
        holds = holds || holds_error(type->parts[i]);
    }
    return holds;
}

bool flow_value_text(struct tr_bytes value, struct tr_buffer *text)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    switch (tr_peek(&cursor)) {
    case TR_CODEC_UNSIGNED:
    case TR_CODEC_SIGNED:
        tr_buffer_print(text, "%lld", (long long)tr_read_i64(&cursor));
        return true;
    case TR_CODEC_F64:
        tr_buffer_print(text, "%.1f", tr_read_f64(&cursor));
        return true;
    case TR_CODEC_BOOL:
        tr_buffer_add_string(text, tr_read_bool(&cursor) ? "true" : "false");
        return true;
    case TR_CODEC_TEXT:
        tr_buffer_add_text(text, tr_read_text(&cursor));
        return true;
    default:
        return false;
    }
}

static uint64_t digest_bytes(struct tr_bytes value)
{
    uint64_t digest = stir(value.size);
    for (size_t i = 0; i < value.size; i++) {
        digest = stir(digest ^ value.data[i]);
    }
    return digest;
}

uint64_t flow_value_digest(const struct tr_type *type, struct tr_bytes value)
{
    return holds_error(type) ? 0 : digest_bytes(value);
}

uint64_t flow_value_digest_slots(const struct tr_variables *variables, struct tr_bytes slots)
{
    struct tr_cursor cursor = tr_cursor_of(slots);
    uint64_t digest = slots.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < variables->count && slots.size > 0; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        digest = stir(digest) ^ flow_value_digest(variables->items[i].type, slot);
    }
    return digest;
}

void flow_value_outputs(const struct tr_task *task, struct tr_bytes inputs, struct tr_buffer *slots)
{
    struct tr_bytes name = {.data = (const uint8_t *)task->name.data, .size = task->name.size};
    uint64_t number = digest_bytes(name) ^ flow_value_digest_slots(&task->interface.inputs, inputs);
    const struct tr_variables *outputs = &task->interface.outputs;
    tr_buffer_array(slots, outputs->count);
    for (uint32_t i = 0; i < outputs->count; i++) {
        number = stir(number + i);
        flow_value_write(outputs->items[i].type, number, slots);
    }
}

void flow_value_inputs(const struct tr_workflow *workflow, uint64_t seed, struct tr_buffer *slots)
{
    const struct tr_variables *inputs = &workflow->interface.inputs;
    tr_buffer_array(slots, inputs->count);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct tr_variable *input = &inputs->items[i];
        uint64_t number = stir(seed + i);
        if (input->type->kind == TR_TYPE_INT && number % 2 == 0) {
            tr_buffer_i64(slots, (int64_t)(number / 2 % INT_MOST));
        } else {
            tr_buffer_add(slots, input->default_value.data, input->default_value.size);
        }
    }
}
