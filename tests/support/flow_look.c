/*
 * Looking at what a stage for workflows has recorded: rows of the store, as texts and phases.
 */
#include "actors/graph/value/slot.h"
#include "tests/support/flow.h"

/* The newest row of a type, the one before it, and so on: unpacked, until there are no more. */
static bool next_row(struct flow *flow, const struct tr_schema *schema, size_t *left, void *row)
{
    if (*left == 0) {
        return false;
    }
    const struct tri_op *op = tri_model_record(flow->model, schema->id, --*left);
    assert_int_equal(schema->unpack(op->data, schema->version, row), 0);
    return true;
}

static size_t count_rows(struct flow *flow, const struct tr_schema *schema)
{
    return tri_model_record_count(flow->model, schema->id);
}

bool flow_execution(struct flow *flow, const char *name, struct tr_execution *row)
{
    struct tr_execution found;
    size_t left = count_rows(flow, &tr_execution_schema);
    bool is_found = false;
    while (next_row(flow, &tr_execution_schema, &left, &found)) {
        if (tr_text_equal(found.name, tr_text_of(name)) &&
            (!is_found || found.execution > row->execution)) {
            *row = found;
            is_found = true;
        }
    }
    return is_found;
}

uint8_t flow_phase(struct flow *flow, const char *name)
{
    struct tr_execution row;
    return flow_execution(flow, name, &row) ? row.phase : TR_EXECUTION_UNDEFINED;
}

bool flow_node(struct flow *flow, const char *name, const char *path, struct tr_node_status *row)
{
    struct tr_execution execution;
    size_t left = count_rows(flow, &tr_node_status_schema);
    if (!flow_execution(flow, name, &execution)) {
        return false;
    }
    while (next_row(flow, &tr_node_status_schema, &left, row)) {
        if (row->execution == execution.execution && tr_text_equal(row->path, tr_text_of(path))) {
            return true;
        }
    }
    return false;
}

uint8_t flow_node_phase(struct flow *flow, const char *name, const char *path)
{
    struct tr_node_status row;
    return flow_node(flow, name, path, &row) ? row.phase : TR_NODE_PHASE_NOT_YET_STARTED;
}

/* Starts a new answer. */
static struct tr_buffer *begin_text(struct flow *flow)
{
    tr_buffer_cut(&flow->text, 0);
    return &flow->text;
}

static const char *end_text(struct flow *flow)
{
    tr_buffer_add(&flow->text, "", 1);
    assert_int_equal(flow->text.error, 0);
    return (const char *)flow->text.data;
}

void flow_print(const struct tr_variables *variables, struct tr_bytes slots, struct tr_buffer *text)
{
    tr_buffer_add_string(text, "{");
    for (uint32_t i = 0; i < variables->count; i++) {
        struct tr_bytes slot;
        struct tr_offloaded where;
        tr_buffer_print(text, "%s\"%.*s\":", i == 0 ? "" : ",", TRI_TEXT(variables->items[i].name));
        assert_int_equal(tr_slots_get(slots, i, &slot), 0);
        if (tr_slot_is_offloaded(slot, &where)) {
            tr_buffer_print(text, "<%.*s>", TRI_TEXT(where.uri));
        } else {
            assert_int_equal(tr_literal_json(variables->items[i].type, slot, text), 0);
        }
    }
    tr_buffer_add_string(text, "}");
}

const char *flow_values(struct flow *flow, const char *name, const char *path,
                        enum tr_value_side side, const struct tr_variables *variables)
{
    struct tr_execution execution;
    struct tr_node_value row;
    size_t left = count_rows(flow, &tr_node_value_schema);
    assert_true(flow_execution(flow, name, &execution));
    while (next_row(flow, &tr_node_value_schema, &left, &row)) {
        if (row.execution == execution.execution && row.side == side &&
            tr_text_equal(row.path, tr_text_of(path))) {
            flow_print(variables, row.slots, begin_text(flow));
            return end_text(flow);
        }
    }
    return "none";
}

const char *flow_outputs(struct flow *flow, const char *name)
{
    struct tr_execution execution;
    assert_true(flow_execution(flow, name, &execution));
    uint32_t index = tr_graph_find_workflow(flow->graph, execution.workflow);
    assert_int_not_equal(index, TR_GRAPH_NONE);
    return flow_values(flow, name, "", TR_VALUE_OUTPUTS,
                       &flow->graph->workflows[index].interface.outputs);
}

const char *flow_error(struct flow *flow, const char *name)
{
    struct tr_execution row;
    assert_true(flow_execution(flow, name, &row));
    tr_buffer_print(begin_text(flow), "%.*s: %.*s (%.*s)", TRI_TEXT(row.code),
                    TRI_TEXT(row.message), TRI_TEXT(row.failed));
    return end_text(flow);
}

const char *flow_history(struct flow *flow, const char *name, const char *path)
{
    struct tr_execution execution;
    struct tr_buffer *text = begin_text(flow);
    assert_true(flow_execution(flow, name, &execution));
    size_t count = tri_model_record_count(flow->model, tr_phase_schema.id);
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        struct tr_phase row;
        const struct tri_op *op = tri_model_record(flow->model, tr_phase_schema.id, i);
        assert_int_equal(tr_phase_unpack(op->data, 1, &row), 0);
        if (row.execution == execution.execution && tr_text_equal(row.path, tr_text_of(path))) {
            tr_buffer_print(text, "%s%s", is_first ? "" : ", ",
                            tr_phase_word((enum tr_subject)row.subject, row.phase));
            is_first = false;
        }
    }
    return end_text(flow);
}

const char *flow_elements(struct flow *flow, const char *name, const char *path)
{
    struct tr_execution execution;
    struct tr_buffer *text = begin_text(flow);
    assert_true(flow_execution(flow, name, &execution));
    for (size_t i = 0; i < count_rows(flow, &tr_element_block_schema); i++) {
        struct tr_element_block row;
        const struct tri_op *op = tri_model_record(flow->model, tr_element_block_schema.id, i);
        assert_int_equal(tr_element_block_unpack(op->data, tr_element_block_schema.version, &row),
                         0);
        if (row.execution == execution.execution && tr_text_equal(row.path, tr_text_of(path))) {
            tr_buffer_add_text(text, row.entries);
        }
    }
    return end_text(flow);
}
