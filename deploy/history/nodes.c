/*
 * Taking rows into a sorted table. Rows come in the order of their paths too, so that most of them
 * are found where the last one was left.
 */
#include "deploy/history/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/common/failure.h"
#include "runtime/memory.h"

/* The most of a message that a line of progress shows. */
#define MESSAGE_COLUMNS 400

void tr_nodes_init(struct tr_nodes *nodes, uint64_t execution)
{
    *nodes = (struct tr_nodes){.execution = execution};
}

void tr_nodes_fini(struct tr_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        tr_free(nodes->items[i].path);
        tr_free(nodes->items[i].kind);
        tr_free(nodes->items[i].target);
        tr_free(nodes->items[i].message);
    }
    tr_free(nodes->items);
    *nodes = (struct tr_nodes){.items = NULL};
}

/* The first place that is not before a path. */
static size_t find(const struct tr_nodes *nodes, struct tr_text path)
{
    size_t low = 0;
    size_t high = nodes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tr_text_order(path, tr_text_of(nodes->items[middle].path)) > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Makes room for a node at its place. NULL without memory. */
static struct tr_node_seen *insert(struct tr_nodes *nodes, size_t place, struct tr_text path)
{
    if (nodes->count == nodes->capacity) {
        size_t capacity = 2 * nodes->capacity + 16;
        struct tr_node_seen *grown = tr_realloc(nodes->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        nodes->items = grown;
        nodes->capacity = capacity;
    }
    char *copy = tr_text_copy(path);
    if (copy == NULL) {
        return NULL;
    }
    struct tr_node_seen *node = &nodes->items[place];
    memmove(node + 1, node, (nodes->count - place) * sizeof *node);
    nodes->count++;
    *node = (struct tr_node_seen){.path = copy};
    return node;
}

/* The node of a path, a new one if it is not known. NULL without memory. */
static struct tr_node_seen *node_of(struct tr_nodes *nodes, struct tr_text path)
{
    if (nodes->at >= nodes->count ||
        !tr_text_equal(path, tr_text_of(nodes->items[nodes->at].path))) {
        nodes->at = find(nodes, path);
    }
    if (nodes->at < nodes->count && tr_text_equal(path, tr_text_of(nodes->items[nodes->at].path))) {
        return &nodes->items[nodes->at++];
    }
    return insert(nodes, nodes->at++, path);
}

/* Replaces a text by another; false without memory. */
static bool set_text(char **text, struct tr_text value)
{
    if (*text != NULL && tr_text_equal(value, tr_text_of(*text))) {
        return true;
    }
    char *copy = tr_text_copy(value);
    if (copy == NULL) {
        return false;
    }
    tr_free(*text);
    *text = copy;
    return true;
}

static bool set_message(struct tr_node_seen *node, const struct tr_node_status *row)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_failure_line(row->code, row->message, MESSAGE_COLUMNS, &words);
    bool is_set = words.error == 0 && set_text(&node->message, tr_buffer_text(&words));
    tr_buffer_fini(&words);
    return is_set;
}

int tr_nodes_take_status(struct tr_nodes *nodes, const struct tr_node_status *row)
{
    struct tr_node_seen *node = node_of(nodes, row->path);
    if (node == NULL || !set_text(&node->kind, row->kind) ||
        !set_text(&node->target, row->target) || !set_message(node, row)) {
        return TR_MEMORY;
    }
    node->phase = row->phase;
    node->attempts = row->attempts;
    node->cache_status = row->cache_status;
    node->created_ms = row->created_ms;
    node->started_ms = row->started_ms;
    node->ended_ms = row->ended_ms;
    return 0;
}

int tr_nodes_take_progress(struct tr_nodes *nodes, const struct tr_progress *row)
{
    struct tr_node_seen *node = node_of(nodes, row->path);
    if (node == NULL) {
        return TR_MEMORY;
    }
    if (node->kind == NULL &&
        !(set_text(&node->kind, tr_text_of("map")) && set_text(&node->target, tr_text_of("")) &&
          set_text(&node->message, tr_text_of("")))) {
        return TR_MEMORY;
    }
    node->total = row->total;
    node->running = row->running;
    node->succeeded = row->succeeded;
    node->failed = row->failed;
    node->retrying = row->retrying;
    node->cached = row->cached;
    return 0;
}

static int take_status(void *self, const void *row)
{
    return tr_nodes_take_status(self, row);
}

static int take_progress(void *self, const void *row)
{
    return tr_nodes_take_progress(self, row);
}

int tr_nodes_read(struct tr_nodes *nodes, struct tr_reader *reader)
{
    struct tr_reader_filter filter =
        tr_filter_number("execution", TR_FILTER_EQUAL, nodes->execution);
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = &filter, .filter_count = 1};
    nodes->at = 0;
    int error = tr_reader_rows(reader, &query, take_status, nodes);
    if (error == 0) {
        query.record = &tr_progress_schema;
        nodes->at = 0;
        error = tr_reader_rows(reader, &query, take_progress, nodes);
    }
    return error;
}
