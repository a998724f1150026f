/*
 * Slots and their types brought together.
 */
#include "deploy/history/values.h"

#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal_stream.h"
#include "actors/graph/value/slot.h"
#include "deploy/common/file.h"
#include "deploy/inputs/relocate.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Names that a document may have, those of Flyte's among them. */
#define NAME_BYTES (TR_FLYTE_NAME_BYTES_MAX + 1)

/* ------------------------------------------------------------------------- reading */

/* Values on their way out of a store. */
struct reading {
    const char *folder;
    struct tr_values *values;
};

static int take_slots(void *self, const void *value)
{
    const struct reading *reading = self;
    const struct tr_node_value *row = value;
    reading->values->is_known = true;
    tr_buffer_cut(&reading->values->row, 0);
    return tr_relocate_home(reading->folder, row->slots, &reading->values->row);
}

static int read_row(const struct tr_values_request *request, struct tr_values *values)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, request->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, request->path),
        tr_filter_number("side", TR_FILTER_EQUAL, request->side),
    };
    struct tr_reader_query query = {
        .record = &tr_node_value_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    struct reading reading = {tr_reader_folder(request->reader), values};
    return tr_reader_rows(request->reader, &query, take_slots, &reading);
}

/*
 * What a node gives of itself: around it an optional node gives that or none, but what is recorded
 * is its own.
 */
static const struct tr_type *own_type(const struct tr_stop *stop, uint32_t output)
{
    const struct tr_graph *graph = stop->graph;
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    const struct tr_type *type = node->outputs.items[output].type;
    if (node->kind == TR_NODE_TASK || node->kind == TR_NODE_DYNAMIC) {
        return graph->tasks[node->target].interface.outputs.items[output].type;
    }
    if (node->kind == TR_NODE_WORKFLOW) {
        return graph->workflows[node->target].interface.outputs.items[output].type;
    }
    bool is_wrapped = node->kind == TR_NODE_MAP && type != NULL && type->kind == TR_TYPE_UNION;
    for (uint32_t i = 0; is_wrapped && i < type->count; i++) {
        if (type->parts[i]->kind == TR_TYPE_LIST) {
            return type->parts[i];
        }
    }
    return type;
}

/* The name and the type of the value at a place; false: there is none there. */
static bool describe(const struct tr_values_request *request, uint32_t at, struct tr_value *value)
{
    const struct tr_stop *stop = request->stop;
    if (stop != NULL && request->side == TR_VALUE_INPUTS) {
        const struct tr_node *node = &stop->workflow->nodes[stop->node];
        const struct tr_binding *binding = &stop->workflow->bindings[node->input_first + at];
        if (at < node->input_count) {
            *value = (struct tr_value){.name = binding->key, .type = binding->type};
        }
        return at < node->input_count;
    }
    const struct tr_interface *interface = &request->graph->workflows[request->workflow].interface;
    const struct tr_variables *variables = stop != NULL ? &stop->workflow->nodes[stop->node].outputs
                                           : request->side == TR_VALUE_INPUTS ? &interface->inputs
                                                                              : &interface->outputs;
    if (at < variables->count) {
        *value = (struct tr_value){.name = variables->items[at].name,
                                   .type = stop != NULL ? own_type(stop, at)
                                                        : variables->items[at].type};
    }
    return at < variables->count;
}

/* Puts a type to each slot. */
static int describe_all(const struct tr_values_request *request, struct tr_values *values)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(tr_buffer_bytes(&values->row), &cursor);
    values->items = tr_alloc_zero(count + 1, sizeof *values->items);
    if (values->items == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!describe(request, i, &values->items[i])) {
            return TR_MALFORMED;
        }
        values->items[i].slot = tr_read_any(&cursor);
        values->items[i].folder = tr_reader_folder(request->reader);
        values->count++;
    }
    return cursor.error != 0 ? TR_MALFORMED : 0;
}

int tr_values_read(const struct tr_values_request *request, struct tr_values *out)
{
    struct tr_values values = {.is_known = false};
    tr_buffer_init(&values.row, 0);
    int error = read_row(request, &values);
    if (error == 0 && values.is_known) {
        error = describe_all(request, &values);
    }
    if (error != 0) {
        tr_values_fini(&values);
        return error;
    }
    *out = values;
    return 0;
}

void tr_values_fini(struct tr_values *values)
{
    tr_free(values->items);
    tr_buffer_fini(&values->row);
    *values = (struct tr_values){.items = NULL};
}

/* ------------------------------------------------------------------ large ones, parts */

int tr_value_open(const struct tr_value *value, struct tr_value_bytes *bytes)
{
    struct tr_offloaded where;
    struct tr_value_bytes opened = {.literal = value->slot, .type = value->type};
    tr_buffer_init(&opened.located, 0);
    if (!tr_slot_is_offloaded(value->slot, &where)) {
        *bytes = opened;
        return 0;
    }
    int error = tr_relocate_map(value->folder, where.uri, NULL, NULL, &opened.mapped);
    if (error != 0) {
        return error;
    }
    if (opened.mapped.size != where.size_bytes) {
        tr_value_close(&opened);
        return TR_MALFORMED;
    }
    opened.literal = opened.mapped;
    opened.type = tr_offloaded_type(&where, value->type);
    if (tr_relocate_has_any(opened.mapped)) {
        error = tr_relocate_home(value->folder, opened.mapped, &opened.located);
        opened.literal = tr_buffer_bytes(&opened.located);
    }
    if (error != 0) {
        tr_value_close(&opened);
        return error;
    }
    *bytes = opened;
    return 0;
}

void tr_value_close(struct tr_value_bytes *bytes)
{
    tr_file_unmap(bytes->mapped);
    tr_buffer_fini(&bytes->located);
    *bytes = (struct tr_value_bytes){.literal = {.size = 0}};
}

/* Replaces a value, a list, by one of its elements, which is kept in `kept`. */
static int pick(struct tr_value *value, uint64_t element, struct tr_buffer *kept, size_t *begin)
{
    struct tr_value_bytes bytes;
    int error = tr_value_open(value, &bytes);
    if (error != 0) {
        return error;
    }
    struct tr_cursor cursor = tr_cursor_of(bytes.literal);
    uint64_t count = tr_read_array(&cursor);
    struct tr_bytes part = {.size = 0};
    for (uint64_t i = 0; i <= element && i < count && cursor.error == 0; i++) {
        part = tr_read_any(&cursor);
    }
    error = cursor.error != 0 || element >= count ? TR_MALFORMED : 0;
    if (error == 0) {
        *begin = kept->size;
        tr_buffer_add(kept, part.data, part.size);
        bool is_list = bytes.type != NULL && bytes.type->kind == TR_TYPE_LIST;
        value->slot.size = part.size;
        value->type = is_list ? bytes.type->parts[0] : NULL;
        error = kept->error;
    }
    tr_value_close(&bytes);
    return error;
}

int tr_values_of_element(const struct tr_stop *stop, enum tr_value_side side, uint64_t element,
                         struct tr_values *values)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    struct tr_buffer kept;
    int error = 0;
    tr_buffer_init(&kept, 0);
    size_t *begins = tr_alloc_zero(values->count + 1, sizeof *begins);
    for (uint32_t i = 0; begins != NULL && error == 0 && i < values->count; i++) {
        bool is_list =
            side == TR_VALUE_OUTPUTS || stop->workflow->bindings[node->input_first + i].is_mapped;
        begins[i] = SIZE_MAX;
        if (is_list) {
            error = pick(&values->items[i], element, &kept, &begins[i]);
        } else {
            begins[i] = kept.size;
            tr_buffer_add(&kept, values->items[i].slot.data, values->items[i].slot.size);
        }
    }
    error = begins == NULL ? TR_MEMORY : error != 0 ? error : kept.error;
    for (uint32_t i = 0; error == 0 && i < values->count; i++) {
        values->items[i].slot.data = kept.data + begins[i];
    }
    tr_free(begins);
    if (error != 0) {
        tr_buffer_fini(&kept);
        return error;
    }
    tr_buffer_fini(&values->row);
    values->row = kept;
    return 0;
}

/* ------------------------------------------------------------------------- writing */

int tr_value_json(const struct tr_value *value, struct tr_buffer *json)
{
    struct tr_value_bytes bytes;
    int error = tr_value_open(value, &bytes);
    if (error == 0) {
        error = tr_literal_json(bytes.type, bytes.literal, json);
        tr_value_close(&bytes);
    }
    return error;
}

static int put_text(void *self, struct tr_text text)
{
    fwrite(text.data, 1, text.size, self); /* a stream that fails is looked at in the end */
    return 0;
}

int tr_value_stream(const struct tr_value_bytes *bytes, FILE *stream)
{
    return tr_literal_stream(bytes->type, bytes->literal, put_text, stream);
}

static void write_problem(struct tr_document *document, const char *name,
                          const struct tr_value *value, int error)
{
    struct tr_offloaded where = {.size_bytes = 0};
    (void)tr_slot_is_offloaded(value->slot, &where);
    tr_document_begin_map(document, name);
    tr_document_text(document, "problem", tr_text_of(tr_error_text(error)));
    tr_document_text(document, "uri", where.uri);
    tr_document_end(document);
}

int tr_value_write(const struct tr_value *value, const char *name, struct tr_document *document)
{
    struct tr_value_bytes bytes;
    int error = tr_value_open(value, &bytes);
    if (error != 0) {
        write_problem(document, name, value, error);
        return 0;
    }
    tr_document_begin_json(document, name);
    error = tr_value_stream(&bytes, document->stream);
    tr_document_end_json(document);
    tr_value_close(&bytes);
    return error;
}

int tr_values_write(const struct tr_values *values, const char *name, struct tr_document *document)
{
    int error = 0;
    if (!values->is_known) {
        tr_document_null(document, name);
        return 0;
    }
    tr_document_begin_map(document, name);
    for (uint32_t i = 0; i < values->count && error == 0; i++) {
        char own[NAME_BYTES];
        (void)snprintf(own, sizeof own, "%.*s", TRI_TEXT(values->items[i].name));
        error = tr_value_write(&values->items[i], own, document);
    }
    tr_document_end(document);
    return error;
}
