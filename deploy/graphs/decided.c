/*
 * A list of nodes with the hashes of their graphs, and the graphs that were opened, each once.
 */
#include "deploy/graphs/decided.h"

#include <stdlib.h>
#include <string.h>

#include "actors/store/graph_registry.h"
#include "deploy/graphs/graphs.h"
#include "schemas/codec/error.h"
#include "schemas/engine/history.h"

struct node {
    struct tr_text path;
    struct tr_bytes hash;
};

static int take_node(void *self, const void *value)
{
    struct tr_decided *decided = self;
    const struct tr_node_status *row = value;
    if (row->graph.size != TR_GRAPH_HASH_BYTES) {
        return 0;
    }
    struct node *node = tri_vector_add(&decided->arena, &decided->nodes, sizeof *node);
    if (node != NULL) {
        node->path = tr_arena_text(&decided->arena, row->path);
        node->hash = tr_arena_bytes(&decided->arena, row->graph);
    }
    return decided->arena.error;
}

static int by_path(const void *a, const void *b)
{
    const struct node *one = a;
    const struct node *other = b;
    return tr_text_order(one->path, other->path);
}

bool tr_graph_decides(const struct tr_graph *graph)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        const struct tr_workflow *workflow = &graph->workflows[i];
        for (uint32_t k = 0; k < workflow->node_count; k++) {
            if (workflow->nodes[k].kind == TR_NODE_DYNAMIC) {
                return true;
            }
        }
    }
    return false;
}

void tr_decided_init(struct tr_decided *decided, const char *folder)
{
    *decided = (struct tr_decided){.folder = folder};
    tr_arena_init(&decided->arena);
}

int tr_decided_read(struct tr_decided *decided, struct tr_reader *reader, uint64_t execution)
{
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("kind", TR_FILTER_EQUAL, tr_text_of("dynamic")),
    };
    const struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    int error = tr_reader_rows(reader, &query, take_node, decided);
    if (error == 0 && decided->nodes.count > 1) {
        qsort(decided->nodes.items, decided->nodes.count, sizeof(struct node), by_path);
    }
    return error;
}

void tr_decided_fini(struct tr_decided *decided)
{
    struct tr_graph **graphs = decided->graphs.items;
    for (uint32_t i = 0; i < decided->graphs.count; i++) {
        tr_graph_free(graphs[i]);
    }
    tr_arena_fini(&decided->arena);
    *decided = (struct tr_decided){.folder = NULL};
}

/* The graph of a hash, which is opened where it is not yet. */
static int open_graph(struct tr_decided *decided, struct tr_bytes hash,
                      const struct tr_graph **graph)
{
    struct tr_graph *const *graphs = decided->graphs.items;
    for (uint32_t i = 0; i < decided->graphs.count; i++) {
        if (memcmp(graphs[i]->hash, hash.data, TR_GRAPH_HASH_BYTES) == 0) {
            *graph = graphs[i];
            return 0;
        }
    }
    struct tr_graph *read;
    int error = tr_graphs_get(decided->folder, hash, &read);
    if (error != 0) {
        return error == TR_MEMORY ? error : TR_NOT_FOUND;
    }
    struct tr_graph **place = tri_vector_add(&decided->arena, &decided->graphs, sizeof *place);
    if (place == NULL) {
        tr_graph_free(read);
        return TR_MEMORY;
    }
    *place = read;
    *graph = read;
    return 0;
}

int tr_decided_at(struct tr_decided *decided, struct tr_text path, const struct tr_graph **graph)
{
    const struct node wanted = {.path = path};
    const struct node *node =
        decided->nodes.count == 0
            ? NULL
            : bsearch(&wanted, decided->nodes.items, decided->nodes.count, sizeof wanted, by_path);
    return node == NULL ? TR_NOT_FOUND : open_graph(decided, node->hash, graph);
}

int tr_decided_numbered(struct tr_decided *decided, uint64_t number, const struct tr_graph **graph)
{
    const struct node *nodes = decided->nodes.items;
    for (uint32_t i = 0; i < decided->nodes.count; i++) {
        if (tr_graph_number(nodes[i].hash.data) == number) {
            return open_graph(decided, nodes[i].hash, graph);
        }
    }
    return TR_NOT_FOUND;
}

int tr_decided_get(struct tr_decided *decided, uint32_t position, struct tr_text *path,
                   const struct tr_graph **graph)
{
    const struct node *nodes = decided->nodes.items;
    if (position >= decided->nodes.count) {
        return TR_LIMIT;
    }
    *path = nodes[position].path;
    return open_graph(decided, nodes[position].hash, graph);
}
