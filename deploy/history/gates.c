/*
 * Walking through the workflows that can be reached from one, looking for gates; and the rows of
 * those that wait. A gate is a row of its workflow, so its node is in the phase RUNNING as long as
 * nobody has answered, and nothing of it runs.
 */
#include "deploy/history/gates.h"

#include <string.h>

#include "actors/graph/document/report.h"
#include "deploy/common/show.h"
#include "deploy/graphs/route.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Ids that are named when one is not found. */
#define SHOWN_MAX 20

static const struct tr_type verdict_type = {.kind = TR_TYPE_BOOL};

static bool is_gate(const struct tr_node *node)
{
    return node->kind == TR_NODE_APPROVE || node->kind == TR_NODE_SIGNAL;
}

const struct tr_type *tr_gate_type(const struct tr_node *gate)
{
    return gate->kind == TR_NODE_APPROVE ? &verdict_type : gate->signal_type;
}

/* ---------------------------------------------------------------- the walk */

/* The workflows that one leads to, each once; `order[0]` is the one itself. */
struct reach {
    const struct tr_graph *graph;
    bool *is_seen;
    uint32_t *order;
    uint32_t count;
};

static void reach_one(struct reach *reach, uint32_t workflow)
{
    if (!reach->is_seen[workflow]) {
        reach->is_seen[workflow] = true;
        reach->order[reach->count++] = workflow;
    }
}

static void reach_from(struct reach *reach, const struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        if (node->target_kind == TR_TARGET_WORKFLOW && node->kind != TR_NODE_LAUNCH) {
            reach_one(reach, node->target);
        }
    }
}

static void reach_fini(struct reach *reach)
{
    tr_free(reach->is_seen);
    tr_free(reach->order);
}

static int reach_init(struct reach *reach, const struct tr_graph *graph, struct tr_text workflow)
{
    uint32_t root = tr_graph_find_workflow(graph, workflow);
    *reach = (struct reach){.graph = graph};
    if (root == TR_GRAPH_NONE) {
        return TR_NOT_FOUND;
    }
    reach->is_seen = tr_alloc_zero(graph->workflow_count, sizeof *reach->is_seen);
    reach->order = tr_alloc_zero(graph->workflow_count, sizeof *reach->order);
    if (reach->is_seen == NULL || reach->order == NULL) {
        reach_fini(reach);
        return TR_MEMORY;
    }
    reach_one(reach, root);
    for (uint32_t i = 0; i < reach->count; i++) {
        reach_from(reach, &graph->workflows[reach->order[i]]);
    }
    return 0;
}

/* Calls `visit` for each node that can be reached, until it says no. */
static int each_node(const struct tr_graph *graph, struct tr_text workflow,
                     bool (*visit)(void *self, const struct tr_node *node), void *self)
{
    struct reach reach;
    bool goes_on = true;
    int error = reach_init(&reach, graph, workflow);
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < reach.count && goes_on; i++) {
        const struct tr_workflow *connection = &graph->workflows[reach.order[i]];
        for (uint32_t k = 0; k < connection->node_count && goes_on; k++) {
            goes_on = visit(self, &connection->nodes[k]);
        }
    }
    reach_fini(&reach);
    return 0;
}

/* ------------------------------------------------------------------ finding */

struct finding {
    struct tr_text id;
    const struct tr_node *gate;
    bool differs;
};

static bool find_id(void *self, const struct tr_node *node)
{
    struct finding *finding = self;
    if (!is_gate(node) || !tr_text_equal(node->signal_id, finding->id)) {
        return true;
    }
    finding->differs |= finding->gate != NULL && tr_gate_type(finding->gate) != tr_gate_type(node);
    finding->gate = node;
    return true;
}

static int find_at(const struct tr_graph *graph, struct tr_text workflow, struct tr_text id,
                   struct tr_text path, const struct tr_node **gate)
{
    struct tr_route route;
    struct tr_stop stop;
    int error = tr_route_init(&route, graph, workflow);
    if (error != 0) {
        return error;
    }
    error = tr_route_find(&route, path, &stop);
    tr_route_fini(&route);
    if (error != 0) {
        return error;
    }
    const struct tr_node *node = &stop.workflow->nodes[stop.node];
    if (!is_gate(node) || !tr_text_equal(node->signal_id, id)) {
        return TR_NOT_FOUND;
    }
    *gate = node;
    return 0;
}

int tr_gate_find(const struct tr_graph *graph, struct tr_text workflow, struct tr_text id,
                 struct tr_text path, const struct tr_node **gate)
{
    struct finding finding = {.id = id};
    if (path.size > 0) {
        return find_at(graph, workflow, id, path, gate);
    }
    int error = each_node(graph, workflow, find_id, &finding);
    if (error != 0 || finding.gate == NULL || finding.differs) {
        return error != 0 ? error : finding.gate == NULL ? TR_NOT_FOUND : TR_INVALID;
    }
    *gate = finding.gate;
    return 0;
}

/* ----------------------------------------------------------------- printing */

struct printing {
    struct tr_buffer *text;
    const struct tr_node *shown[SHOWN_MAX];
    uint32_t count;
    uint32_t more;
};

static bool is_shown(const struct printing *printing, const struct tr_node *gate)
{
    for (uint32_t i = 0; i < printing->count; i++) {
        const struct tr_node *shown = printing->shown[i];
        if (tr_text_equal(shown->signal_id, gate->signal_id) &&
            tr_gate_type(shown) == tr_gate_type(gate)) {
            return true;
        }
    }
    return false;
}

static bool print_gate(void *self, const struct tr_node *node)
{
    struct printing *printing = self;
    if (!is_gate(node) || is_shown(printing, node)) {
        return true;
    }
    if (printing->count == SHOWN_MAX) {
        printing->more++;
        return true;
    }
    tr_buffer_print(printing->text, "%s'%.*s' (", printing->count > 0 ? ", " : "",
                    TRI_TEXT(node->signal_id));
    if (node->kind == TR_NODE_APPROVE) {
        tr_buffer_add_string(printing->text, "approve)");
    } else {
        tr_buffer_add_string(printing->text, "signal of ");
        tr_type_print(tr_gate_type(node), printing->text);
        tr_buffer_add_string(printing->text, ")");
    }
    printing->shown[printing->count++] = node;
    return true;
}

int tr_gates_print(const struct tr_graph *graph, struct tr_text workflow, struct tr_buffer *text)
{
    struct printing printing = {.text = text};
    int error = each_node(graph, workflow, print_gate, &printing);
    if (printing.more > 0) {
        tr_buffer_add_string(text, ", ...");
    }
    return error != 0 ? error : text->error;
}

static bool find_dynamic(void *self, const struct tr_node *node)
{
    bool *is_found = self;
    *is_found = node->kind == TR_NODE_DYNAMIC;
    return !*is_found;
}

/* Whether a path leads through a node that decides a graph. */
static int is_below_dynamic(const struct tr_graph *graph, struct tr_text workflow,
                            struct tr_text path, bool *is_below)
{
    struct tr_route route;
    struct tr_stop stop;
    int error = tr_route_init(&route, graph, workflow);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; error == 0 && i < path.size && !*is_below; i++) {
        if (path.data[i] == '/') {
            error = tr_route_find(&route, (struct tr_text){.data = path.data, .size = i}, &stop);
            *is_below = error == 0 && stop.workflow->nodes[stop.node].kind == TR_NODE_DYNAMIC;
        }
    }
    tr_route_fini(&route);
    return error == TR_NOT_FOUND ? 0 : error;
}

int tr_gates_may_grow(const struct tr_graph *graph, struct tr_text workflow, struct tr_text path,
                      bool *may_grow)
{
    *may_grow = false;
    return path.size > 0 ? is_below_dynamic(graph, workflow, path, may_grow)
                         : each_node(graph, workflow, find_dynamic, may_grow);
}

/* ------------------------------------------------------------ those that wait */

bool tr_gate_is_approval(struct tr_text kind)
{
    return tr_text_equal(kind, tr_text_of("approve"));
}

bool tr_gate_waits(struct tr_text kind, uint8_t phase)
{
    return phase == TR_NODE_PHASE_RUNNING &&
           (tr_gate_is_approval(kind) || tr_text_equal(kind, tr_text_of("signal")));
}

struct waiting {
    int (*take)(void *self, const struct tr_node_status *row);
    void *self;
};

static int take_running(void *self, const void *value)
{
    const struct waiting *waiting = self;
    const struct tr_node_status *row = value;
    return tr_gate_waits(row->kind, row->phase) ? waiting->take(waiting->self, row) : 0;
}

int tr_gates_waiting(struct tr_reader *reader, uint64_t execution,
                     int (*take)(void *self, const struct tr_node_status *row), void *self)
{
    struct waiting waiting = {.take = take, .self = self};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_number("phase", TR_FILTER_EQUAL, TR_NODE_PHASE_RUNNING),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reader, &query, take_running, &waiting);
}

static void add_option(const char *option, struct tr_text value, struct tr_buffer *text)
{
    tr_buffer_print(text, " %s ", option);
    tr_word_print(value, text);
}

void tr_gate_command_print(const struct tr_gate_shown *gate, struct tr_buffer *text)
{
    tr_buffer_print(text, "troupe %.*s", TRI_TEXT(gate->kind));
    if (gate->store != NULL) {
        add_option("--store", tr_text_of(gate->store), text);
    }
    tr_buffer_add_string(text, " ");
    tr_word_print(gate->execution, text);
    tr_buffer_add_string(text, " ");
    tr_word_print(gate->id, text);
    tr_buffer_add_string(text, tr_gate_is_approval(gate->kind) ? "" : " VALUE");
    if (gate->path.size > 0 && memchr(gate->path.data, '[', gate->path.size) != NULL) {
        add_option("--node", gate->path, text);
    }
}

void tr_gate_wait_print(const struct tr_gate_shown *gate, uint64_t waited_ms,
                        struct tr_buffer *text)
{
    tr_buffer_print(text, "waits for %s", tr_gate_is_approval(gate->kind) ? "approval" : "a value");
    if (waited_ms != TR_GATE_NOT_SAID) {
        tr_buffer_add_string(text, " since ");
        tr_age_print(waited_ms, text);
    }
    tr_buffer_add_string(text, ": ");
    tr_gate_command_print(gate, text);
}
