/*
 * Finding clean-up nodes that failed: the failed nodes of an execution, of which the graph knows
 * the role.
 */
#include "deploy/follow/handlers.h"

#include <string.h>

#include "deploy/history/node_tree.h"
#include "schemas/codec/error.h"

struct search {
    struct tr_node_tree tree;
    const struct tr_execution *execution;
    int (*take)(void *self, const struct tr_node_status *row);
    void *self;
};

/* Whether a path is that of the execution's own failure, or leads to it. */
static bool leads_to_failed(const struct search *search, struct tr_text path)
{
    struct tr_text failed = search->execution->failed;
    return path.size <= failed.size && memcmp(path.data, failed.data, path.size) == 0 &&
           (path.size == failed.size || failed.data[path.size] == '/' ||
            failed.data[path.size] == '[');
}

static int take_row(void *self, const void *value)
{
    struct search *search = self;
    const struct tr_node_status *row = value;
    struct tr_stop stop;
    int error = tr_route_find(&search->tree.route, row->path, &stop);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    bool is_handler = stop.workflow->nodes[stop.node].role != TR_ROLE_GRAPH;
    return is_handler && !leads_to_failed(search, row->path) ? search->take(search->self, row) : 0;
}

static int read_phase(struct search *search, struct tr_reader *reader, uint8_t phase)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, search->execution->execution),
        tr_filter_number("phase", TR_FILTER_EQUAL, phase),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reader, &query, take_row, search);
}

int tr_handlers_failed(struct tr_reader *reader, const char *folder,
                       const struct tr_execution *execution,
                       int (*take)(void *self, const struct tr_node_status *row), void *self)
{
    static const uint8_t phases[] = {TR_NODE_PHASE_FAILED, TR_NODE_PHASE_TIMED_OUT};
    struct search search = {.execution = execution, .take = take, .self = self};
    int error = tr_node_tree_open(reader, folder, execution, &search.tree);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; error == 0 && search.tree.graph != NULL && i < TR_COUNT_OF(phases); i++) {
        error = read_phase(&search, reader, phases[i]);
    }
    tr_node_tree_fini(&search.tree);
    return error;
}
