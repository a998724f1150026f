/*
 * Values of the model: references followed, lists and maps put together, types changed.
 */
#include <stdlib.h>

#include "tests/sim/engine_model.h"
#include "tests/support/flow_value.h"

/* What a buffer holds, kept by the model. */
static struct tr_bytes keep(struct sim_model *model, struct tr_buffer *buffer)
{
    TR_ASSERT(buffer->error == 0);
    struct tr_bytes kept = tr_arena_bytes(&model->arena, tr_buffer_bytes(buffer));
    tr_buffer_fini(buffer);
    return kept;
}

struct tr_bytes sim_pack(struct sim_model *model, const struct tr_bytes *slots, uint32_t count)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_array(&buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_add(&buffer, slots[i].data, slots[i].size);
    }
    return keep(model, &buffer);
}

struct tr_bytes *sim_unpack(struct sim_model *model, struct tr_bytes list, uint32_t *count)
{
    struct tr_cursor cursor = tr_cursor_of(list);
    *count = tr_read_array(&cursor);
    struct tr_bytes *slots = tr_arena_array(&model->arena, *count, sizeof *slots);
    TR_ASSERT(slots != NULL && cursor.error == 0);
    for (uint32_t i = 0; i < *count; i++) {
        slots[i] = tr_read_any(&cursor);
    }
    TR_ASSERT(cursor.error == 0);
    return slots;
}

struct tr_bytes sim_none(struct sim_model *model, const struct tr_type *type)
{
    static const struct tr_type none = {.kind = TR_TYPE_NONE};
    struct tr_bytes nil = {.data = (const uint8_t *)"\xc0", .size = 1};
    struct tr_bytes value = nil;
    for (uint32_t i = 0; type != NULL && type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == none.kind) {
            bool is_cast = sim_cast(model, type->parts[i], type, nil, &value);
            TR_ASSERT(is_cast);
        }
    }
    return value;
}

bool sim_cast(struct sim_model *model, const struct tr_type *from, const struct tr_type *to,
              struct tr_bytes value, struct tr_bytes *cast)
{
    struct tr_buffer buffer;
    if (from == to) {
        *cast = value;
        return true;
    }
    tr_buffer_init(&buffer, 0);
    if (tr_literal_cast(from, to, value, &buffer) != 0) {
        tr_buffer_fini(&buffer);
        return false;
    }
    *cast = keep(model, &buffer);
    return true;
}

struct tr_bytes sim_error_value(struct sim_model *model)
{
    struct tr_failure failure = {.node = tr_text_of("somewhere"), .element = -1};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_write_failure(&buffer, &failure);
    return keep(model, &buffer);
}

/* Goes from a value to a part of it, and makes it what its place wants. */
static bool bind_part(struct sim_flow *flow, const struct tr_binding *binding,
                      const struct tr_type *type, struct tr_bytes whole, struct tr_bytes *value)
{
    struct tr_bytes part;
    const struct tr_step *steps = &flow->workflow->steps[binding->first];
    return tr_literal_follow(type, whole, steps, binding->count, &type, &part) == 0 &&
           sim_cast(flow->model, type, binding->type, part, value);
}

static int compare_keys(const void *left, const void *right)
{
    struct tr_text a = (*(const struct tr_binding *const *)left)->key;
    struct tr_text b = (*(const struct tr_binding *const *)right)->key;
    size_t size = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* A list or a map of bindings; the keys of a map are sorted. */
static bool bind_parts(struct sim_flow *flow, const struct tr_binding *binding,
                       struct tr_bytes *value)
{
    const struct tr_binding *parts[64];
    struct tr_buffer buffer;
    TR_ASSERT(binding->count <= TR_COUNT_OF(parts));
    for (uint32_t i = 0; i < binding->count; i++) {
        parts[i] = &flow->workflow->bindings[binding->first + i];
    }
    tr_buffer_init(&buffer, 0);
    if (binding->kind == TR_BINDING_MAP) {
        qsort(parts, binding->count, sizeof parts[0], compare_keys);
        tr_buffer_map(&buffer, binding->count);
    } else {
        tr_buffer_array(&buffer, binding->count);
    }
    for (uint32_t i = 0; i < binding->count; i++) {
        struct tr_bytes part;
        if (!sim_bind(flow, parts[i], &part)) {
            tr_buffer_fini(&buffer);
            return false;
        }
        if (binding->kind == TR_BINDING_MAP) {
            tr_buffer_text_value(&buffer, parts[i]->key);
        }
        tr_buffer_add(&buffer, part.data, part.size);
    }
    struct tr_bytes whole = keep(flow->model, &buffer);
    return sim_cast(flow->model, binding->source, binding->type, whole, value);
}

/* A text of bindings, one behind the other. */
static bool bind_text(struct sim_flow *flow, const struct tr_binding *binding,
                      struct tr_bytes *value)
{
    struct tr_buffer text;
    struct tr_buffer whole;
    bool is_fine = true;
    tr_buffer_init(&text, 0);
    for (uint32_t i = 0; is_fine && i < binding->count; i++) {
        struct tr_bytes part;
        is_fine = sim_bind(flow, &flow->workflow->bindings[binding->first + i], &part) &&
                  flow_value_text(part, &text);
    }
    tr_buffer_init(&whole, 0);
    tr_buffer_text_value(&whole, tr_buffer_text(&text));
    TR_ASSERT(text.error == 0);
    tr_buffer_fini(&text);
    struct tr_bytes kept = keep(flow->model, &whole);
    sim_engine_seen.texts_bound += is_fine ? 1 : 0;
    sim_engine_seen.texts_without_form += is_fine ? 0 : 1;
    return is_fine && sim_cast(flow->model, binding->source, binding->type, kept, value);
}

bool sim_bind(struct sim_flow *flow, const struct tr_binding *binding, struct tr_bytes *value)
{
    const struct tr_variable *output;
    switch ((enum tr_binding_kind)binding->kind) {
    case TR_BINDING_LITERAL:
        *value = binding->literal;
        return true;
    case TR_BINDING_REFERENCE:
        output = &flow->workflow->nodes[binding->node].outputs.items[binding->output];
        return bind_part(flow, binding, output->type,
                         flow->nodes[binding->node].outputs[binding->output], value);
    case TR_BINDING_LIST:
    case TR_BINDING_MAP:
        return bind_parts(flow, binding, value);
    case TR_BINDING_TEXT:
        return bind_text(flow, binding, value);
    case TR_BINDING_ERROR:
        return sim_cast(flow->model, binding->source, binding->type, sim_error_value(flow->model),
                        value);
    }
    return false;
}
