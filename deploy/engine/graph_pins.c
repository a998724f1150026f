/*
 * What an earlier engine left unfinished, read from the history: executions, those of their nodes
 * that run a graph they have decided, and the schedules. All graphs that they need are put on the
 * shelf before anything runs, and then handed to those who hold them.
 */
#include "deploy/engine/graph_pins.h"

#include <stdio.h>
#include <string.h>

#include "deploy/history/decided.h"
#include "deploy/history/graphs.h"
#include "runtime/memory.h"
#include "schemas/engine/history.h"
#include "schemas/engine/schedule.h"

static bool is_known(const struct tr_needs *needs, const struct tr_need *wanted)
{
    for (size_t i = 0; i < needs->count; i++) {
        if (needs->items[i].graph == wanted->graph &&
            strcmp(needs->items[i].holder, wanted->holder) == 0) {
            return true;
        }
    }
    return false;
}

static int add_need(struct tr_needs *needs, const struct tr_need *wanted)
{
    if (needs->count == needs->capacity) {
        size_t capacity = 2 * needs->capacity + 16;
        struct tr_need *grown = tr_realloc(needs->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        needs->items = grown;
        needs->capacity = capacity;
    }
    needs->items[needs->count++] = *wanted;
    return 0;
}

/* Holds a graph of the store on the shelf for the program. */
static int hold_graph(struct tr_needs *needs, struct tr_bytes hash)
{
    struct tr_shelf *shelf = &needs->live->engine->shelf;
    struct tr_graph *graph = NULL;
    uint64_t number;
    if (hash.size == TR_GRAPH_HASH_BYTES && tr_shelf_share(shelf, hash.data)) {
        return 0;
    }
    int error = tr_graphs_get(needs->live->folder, hash, &graph);
    return error != 0 ? error : tr_shelf_put(shelf, graph, &number);
}

static int lack_graph(struct tr_needs *needs, int error, const char *what, struct tr_text name)
{
    snprintf(needs->explain, TRI_STORE_EXPLAIN_BYTES,
             "the definition of the %s %.*s cannot be read from %.200s/graphs: %s", what,
             (int)name.size, name.data, needs->live->folder, tr_error_text(error));
    return error;
}

/* A node that runs the graph it has decided needs it, until it says graph_drop. */
static int need_decided(void *self, const void *value)
{
    struct tr_needs *needs = self;
    const struct tr_node_status *row = value;
    if (row->graph.size == 0 || tr_phase_is_end(TR_SUBJECT_NODE, row->phase)) {
        return 0;
    }
    int error = hold_graph(needs, row->graph);
    return error == 0 ? 0 : lack_graph(needs, error, "dynamic node", row->path);
}

/* The graphs that nodes of an unfinished execution run; most executions have no such node. */
static int need_inner_graphs(struct tr_needs *needs, const struct tr_execution *execution)
{
    struct tr_shelf *shelf = &needs->live->engine->shelf;
    uint64_t number = tr_graph_number(execution->graph.data);
    if (!tr_graph_decides(tr_shelf_find(shelf, number))) {
        return 0;
    }
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution->execution)};
    const struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = 1};
    return tr_reader_rows(needs->reader, &query, need_decided, needs);
}

/* Puts a graph on the shelf, once for each who holds it; `what` and `name` say whose it is. */
static int need_graph(struct tr_needs *needs, struct tr_need *wanted, struct tr_bytes hash,
                      const char *what, struct tr_text name)
{
    if (hash.size == TR_GRAPH_HASH_BYTES) {
        wanted->graph = tr_graph_number(hash.data);
    }
    if (is_known(needs, wanted)) {
        return 0;
    }
    int error = hold_graph(needs, hash);
    return error != 0 ? lack_graph(needs, error, what, name) : add_need(needs, wanted);
}

/* Nobody would ever end an execution whose actors are not there. */
static int lack_actors(const struct tr_needs *needs, struct tr_text name)
{
    snprintf(needs->explain, TRI_STORE_EXPLAIN_BYTES,
             "%.300s/troupe.db: the store is damaged: by its history the execution %.*s runs, and "
             "its actors are not there",
             needs->live->folder, (int)name.size, name.data);
    return TR_STORE_DAMAGED;
}

/* An unfinished execution, whose graph its launcher holds, and those of its dynamic nodes. */
static int need_of_execution(void *self, const void *value)
{
    struct tr_needs *needs = self;
    const struct tr_execution *row = value;
    struct tr_need wanted = {0};
    if (tr_host_is_aside(needs->live->host, row->execution)) {
        return tr_sleepers_add_aside(&needs->live->sleepers, row);
    }
    tr_host_loads(needs->live->host, row->execution);
    if (!tr_host_has(needs->live->host, tr_group_root(row->execution))) {
        return lack_actors(needs, row->name);
    }
    int error = tr_sleepers_add(&needs->live->sleepers, row, needs->live->lets_sleep);
    if (error != 0) {
        return error;
    }
    snprintf(wanted.holder, sizeof wanted.holder, "%.*s/%.*s", (int)row->project.size,
             row->project.data, (int)row->domain.size, row->domain.data);
    error = need_graph(needs, &wanted, row->graph, "execution", row->name);
    return error != 0 ? error : need_inner_graphs(needs, row);
}

/* A schedule; the schedules hold the graphs of all. */
static int need_of_schedule(void *self, const void *value)
{
    const struct tr_schedule_row *row = value;
    struct tr_need wanted = {.holder = TR_SCHEDULES_NAME};
    return need_graph(self, &wanted, row->graph, "schedule", row->plan);
}

static int read_schedules(struct tr_needs *needs)
{
    struct tr_reader_query query = {.record = &tr_schedule_row_schema};
    return tr_reader_rows(needs->reader, &query, need_of_schedule, needs);
}

/* Those in one phase, which an index finds: what has ended is not looked at, however many. */
static int read_executions(struct tr_needs *needs, uint8_t phase)
{
    struct tr_reader_filter filter = tr_filter_number("phase", TR_FILTER_EQUAL, phase);
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = &filter, .filter_count = 1};
    return tr_reader_rows(needs->reader, &query, need_of_execution, needs);
}

int tr_needs_read(struct tr_needs *needs)
{
    int error = tr_live_read(needs->live, needs->explain, &needs->reader);
    if (error != 0) {
        return error;
    }
    for (unsigned phase = 0; error == 0 && phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        error = tr_phase_is_end(TR_SUBJECT_EXECUTION, (uint8_t)phase)
                    ? 0
                    : read_executions(needs, (uint8_t)phase);
    }
    if (error != TR_MEMORY) {
        tr_host_loads(needs->live->host, 0);
    }
    error = error != 0 ? error : read_schedules(needs);
    if (error != 0 && needs->explain[0] == '\0') {
        snprintf(needs->explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(needs->reader));
    }
    tr_live_read_end(needs->live);
    return error;
}

int tr_needs_hand_over(struct tr_needs *needs)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < needs->count; i++) {
        struct tr_ref holder;
        const char *name = needs->items[i].holder;
        error = tr_host_find(needs->live->host, tr_text_of(name), &holder);
        if (error == 0) {
            struct tr_graph_hold hold = {.graph = needs->items[i].graph};
            error =
                tr_host_ask(needs->live->host, holder, &tr_graph_hold_schema, &hold, 0, NULL, NULL);
        }
        tr_shelf_drop(&needs->live->engine->shelf, needs->items[i].graph);
    }
    return error;
}

void tr_needs_fini(struct tr_needs *needs)
{
    tr_free(needs->items);
}
