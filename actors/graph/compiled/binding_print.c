/*
 * Bindings as the language writes them: $node.output.field[0], "{$name}.csv", [1, $x], {key: $y}.
 *
 * What people read of a compiled graph is what they wrote, but for literals, which have been read
 * by the types of their places and are shown as JSON. Recursion goes as deep as lists and maps of a
 * graph nest, TR_TREE_DEPTH_MAX at the most.
 */
#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/slot.h"

/* Whether a field may stand behind a point; any other stands in brackets and quotes. */
static bool is_plain(struct tr_text field)
{
    bool is_one = field.size > 0;
    for (size_t i = 0; is_one && i < field.size; i++) {
        char byte = field.data[i];
        char lower = (char)(byte | 0x20);
        is_one = (lower >= 'a' && lower <= 'z') || byte == '_' ||
                 (i > 0 && ((byte >= '0' && byte <= '9') || byte == '-'));
    }
    return is_one;
}

static void print_steps(const struct tr_workflow *workflow, const struct tr_binding *binding,
                        struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct tr_step *step = &workflow->steps[binding->first + i];
        if (step->is_index) {
            tr_buffer_print(buffer, "[%u]", step->index);
        } else if (is_plain(step->field)) {
            tr_buffer_print(buffer, ".%.*s", TRI_TEXT(step->field));
        } else {
            tr_buffer_add_string(buffer, "[");
            tri_text_write(step->field, buffer);
            tr_buffer_add_string(buffer, "]");
        }
    }
}

void tr_reference_print(const struct tr_workflow *workflow, const struct tr_binding *binding,
                        struct tr_buffer *buffer)
{
    if (binding->kind == TR_BINDING_ERROR) {
        tr_buffer_add_string(buffer, "$err");
    } else {
        const struct tr_node *node = &workflow->nodes[binding->node];
        const struct tr_variable *output = &node->outputs.items[binding->output];
        bool is_input = node->kind == TR_NODE_START;
        tr_buffer_print(buffer, "$%.*s%s%.*s", TRI_TEXT(is_input ? tr_text_of("") : node->id),
                        is_input ? "" : ".", TRI_TEXT(output->name));
    }
    print_steps(workflow, binding, buffer);
}

/* Text as it is written where references may stand: what would begin one is escaped. */
static void print_escaped(struct tr_bytes literal, bool is_first, struct tr_buffer *text)
{
    struct tr_cursor cursor = tr_cursor_of(literal);
    struct tr_text piece = tr_read_text(&cursor);
    for (size_t i = 0; cursor.error == 0 && i < piece.size; i++) {
        bool is_dollar = piece.data[i] == '$';
        bool is_escaped =
            is_dollar && ((is_first && i == 0) || (i > 0 && piece.data[i - 1] == '{'));
        tr_buffer_add_string(text, is_escaped ? "$" : "");
        tr_buffer_add(text, piece.data + i, 1);
    }
}

static void print_quoted(const struct tr_buffer *text, struct tr_buffer *buffer)
{
    tri_text_write(tr_buffer_text(text), buffer);
    buffer->error = buffer->error != 0 ? buffer->error : text->error;
}

static void print_string(struct tr_bytes literal, struct tr_buffer *buffer)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    print_escaped(literal, true, &text);
    print_quoted(&text, buffer);
    tr_buffer_fini(&text);
}

static void print_literal(const struct tr_binding *binding, struct tr_buffer *buffer)
{
    struct tr_cursor cursor = tr_cursor_of(binding->literal);
    bool may_be_string = binding->type == NULL || binding->type->kind == TR_TYPE_STRING;
    struct tr_offloaded where;
    if (tr_slot_is_offloaded(binding->literal, &where)) {
        tr_buffer_print(buffer, "(%llu bytes)", (unsigned long long)where.size_bytes);
    } else if (may_be_string && tri_value_kind(&cursor) == TRI_VALUE_TEXT) {
        print_string(binding->literal, buffer);
    } else if (tr_literal_json(binding->type, binding->literal, buffer) != 0) {
        tr_buffer_add_string(buffer, "(unreadable)");
    }
}

static void print_text(const struct tr_workflow *workflow, const struct tr_binding *binding,
                       struct tr_buffer *buffer)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct tr_binding *part = &workflow->bindings[binding->first + i];
        if (part->kind == TR_BINDING_LITERAL) {
            print_escaped(part->literal, i == 0, &text);
        } else {
            tr_buffer_add_string(&text, "{");
            tr_reference_print(workflow, part, &text);
            tr_buffer_add_string(&text, "}");
        }
    }
    print_quoted(&text, buffer);
    tr_buffer_fini(&text);
}

static void print_parts(const struct tr_workflow *workflow, const struct tr_binding *binding,
                        struct tr_buffer *buffer)
{
    bool is_map = binding->kind == TR_BINDING_MAP;
    tr_buffer_add_string(buffer, is_map ? "{" : "[");
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct tr_binding *part = &workflow->bindings[binding->first + i];
        tr_buffer_add_string(buffer, i == 0 ? "" : ", ");
        if (is_map) {
            tri_text_write(part->key, buffer);
            tr_buffer_add_string(buffer, ": ");
        }
        tr_binding_print(workflow, part, buffer);
    }
    tr_buffer_add_string(buffer, is_map ? "}" : "]");
}

void tr_binding_print(const struct tr_workflow *workflow, const struct tr_binding *binding,
                      struct tr_buffer *buffer)
{
    switch ((enum tr_binding_kind)binding->kind) {
    case TR_BINDING_LITERAL:
        print_literal(binding, buffer);
        break;
    case TR_BINDING_REFERENCE:
    case TR_BINDING_ERROR:
        tr_reference_print(workflow, binding, buffer);
        break;
    case TR_BINDING_LIST:
    case TR_BINDING_MAP:
        print_parts(workflow, binding, buffer);
        break;
    case TR_BINDING_TEXT:
        print_text(workflow, binding, buffer);
        break;
    }
}
