/*
 * Writing large values to the blobs of a store: those of a graph, then those of the inputs; and
 * mapping them.
 */
#include "deploy/inputs/offload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/common/file.h"
#include "deploy/inputs/relocate.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"

/* Values are not taken apart below this, however many there are. */
#define LEAST_BYTES 4096U

struct offload {
    const char *folder;
    char *explain;
    struct tri_blobs *blobs; /* NULL until the first large value */
    bool is_graph_changed;
};

static int failed(struct offload *offload, int error, const char *words)
{
    snprintf(offload->explain, TR_OFFLOAD_EXPLAIN_BYTES,
             "a large value cannot be written to %.200s/blobs: %.250s", offload->folder, words);
    return error;
}

static int open_blobs(struct offload *offload)
{
    if (offload->blobs != NULL) {
        return 0;
    }
    int error = tri_store_blobs_open_beside(offload->folder, &offload->blobs);
    return error == 0 ? 0 : failed(offload, error, tr_error_text(error));
}

/* Writes a literal, or the value of a variant, and appends the slot that says where it lies. */
static int write_variant(struct offload *offload, struct tr_bytes literal, uint32_t variant,
                         struct tr_buffer *slot)
{
    struct tri_blob blob;
    int error = open_blobs(offload);
    if (error != 0) {
        return error;
    }
    error = tri_blob_write(offload->blobs, tr_text_of("value"), 0, literal, true, &blob);
    if (error != 0) {
        return failed(offload, error, tri_blobs_words(offload->blobs));
    }
    const struct tr_offloaded where = {
        .uri = tr_text_of(blob.uri), .size_bytes = literal.size, .variant = variant};
    tr_slot_write_offloaded(slot, &where);
    return slot->error;
}

static int write_out(struct offload *offload, struct tr_bytes literal, struct tr_buffer *slot)
{
    return write_variant(offload, literal, 0, slot);
}

/* ---- The graph. ----------------------------------------------------------------------------- */

/* Replaces a literal of the graph where it is large. */
static int take_literal(struct offload *offload, struct tr_graph *graph, struct tr_bytes *literal)
{
    struct tr_buffer slot;
    if (literal->size <= TR_INLINE_BYTES_MAX) {
        return 0;
    }
    tr_buffer_init(&slot, 0);
    int error = write_out(offload, *literal, &slot);
    if (error == 0) {
        *literal = tr_arena_bytes(&graph->arena, tr_buffer_bytes(&slot));
        offload->is_graph_changed = true;
        error = graph->arena.error;
    }
    tr_buffer_fini(&slot);
    return error;
}

/* The inputs of a node; a branch looks into its own, and parts of lists and maps are inside one. */
static int take_node(struct offload *offload, struct tr_graph *graph,
                     const struct tr_workflow *workflow, const struct tr_node *node)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < node->input_count; i++) {
        struct tr_binding *binding = &workflow->bindings[node->input_first + i];
        if (binding->kind == TR_BINDING_LITERAL && node->kind != TR_NODE_BRANCH) {
            error = take_literal(offload, graph, &binding->literal);
        }
    }
    return error;
}

static int take_plan(struct offload *offload, struct tr_graph *graph, struct tr_plan *plan)
{
    struct tr_plan_value *values = tr_arena_array(&graph->arena, plan->value_count, sizeof *values);
    int error = values == NULL ? graph->arena.error : 0;
    for (uint32_t i = 0; error == 0 && i < plan->value_count; i++) {
        values[i] = plan->values[i];
        error = take_literal(offload, graph, &values[i].value);
    }
    if (error == 0) {
        plan->values = values;
    }
    return error;
}

static int take_graph(struct offload *offload, struct tr_graph *graph)
{
    int error = 0;
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        const struct tr_workflow *workflow = &graph->workflows[i];
        for (uint32_t k = 0; error == 0 && k < workflow->node_count; k++) {
            error = take_node(offload, graph, workflow, &workflow->nodes[k]);
        }
    }
    for (uint32_t i = 0; error == 0 && i < graph->plan_count; i++) {
        error = take_plan(offload, graph, &graph->plans[i]);
    }
    return error == 0 && offload->is_graph_changed ? tr_graph_name(graph) : error;
}

/* ---- Inputs. -------------------------------------------------------------------------------- */

/* Takes all that are larger than a size out of a list of slots. */
static int take_slots(struct offload *offload, size_t inline_max, struct tr_buffer *slots)
{
    struct tr_cursor cursor;
    struct tr_buffer kept;
    uint32_t count = tr_slots_begin(tr_buffer_bytes(slots), &cursor);
    tr_buffer_init(&kept, slots->size_max);
    tr_buffer_array(&kept, count);
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        error = cursor.error;
        if (error == 0 && slot.size > inline_max) {
            error = write_out(offload, slot, &kept);
        } else if (error == 0) {
            tr_buffer_add(&kept, slot.data, slot.size);
        }
    }
    if (error == 0) {
        error = kept.error;
    }
    if (error != 0) {
        tr_buffer_fini(&kept);
        return error;
    }
    tr_buffer_fini(slots);
    *slots = kept;
    return 0;
}

/* Whether a list has a slot above a size. */
static bool has_larger(const struct tr_buffer *slots, size_t size)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(tr_buffer_bytes(slots), &cursor);
    for (uint32_t i = 0; i < count; i++) {
        if (tr_read_any(&cursor).size > size) {
            return true;
        }
    }
    return false;
}

static int take_inputs(struct offload *offload, struct tr_buffer *inputs)
{
    int error = 0;
    size_t inline_max = TR_INLINE_BYTES_MAX;
    do {
        if (has_larger(inputs, inline_max)) {
            error = take_slots(offload, inline_max, inputs);
        }
        inline_max /= 2;
    } while (error == 0 && inputs->size > TR_LAUNCH_INPUTS_BYTES_MAX && inline_max >= LEAST_BYTES);
    if (error == 0 && inputs->size > TR_LAUNCH_INPUTS_BYTES_MAX) {
        snprintf(offload->explain, TR_OFFLOAD_EXPLAIN_BYTES,
                 "the values have %zu bytes together, more than TR_LAUNCH_INPUTS_BYTES_MAX (%u), "
                 "and none is large; put them into one list or into a file",
                 inputs->size, TR_LAUNCH_INPUTS_BYTES_MAX);
        return TR_LIMIT;
    }
    return error;
}

/* Closes what was opened, and says why it ends so, if nobody has yet. */
static int finish(struct offload *offload, int error)
{
    if (error != 0 && offload->explain[0] == '\0') {
        snprintf(offload->explain, TR_OFFLOAD_EXPLAIN_BYTES, "large values cannot be kept: %s",
                 tr_error_text(error));
    }
    tri_blobs_close(offload->blobs);
    return error;
}

int tr_offload(const char *store_folder, struct tr_graph *graph, struct tr_buffer *inputs,
               char *explain)
{
    struct offload offload = {.folder = store_folder, .explain = explain};
    explain[0] = '\0';
    int error = take_graph(&offload, graph);
    return finish(&offload, error != 0 ? error : take_inputs(&offload, inputs));
}

int tr_offload_slots(const char *store_folder, struct tr_buffer *slots, char *explain)
{
    struct offload offload = {.folder = store_folder, .explain = explain};
    explain[0] = '\0';
    return finish(&offload, take_inputs(&offload, slots));
}

int tr_offload_literal(const char *store_folder, struct tr_bytes literal, bool is_wrapped,
                       struct tr_buffer *slots, char *explain)
{
    struct offload offload = {.folder = store_folder, .explain = explain};
    struct tr_bytes value = literal;
    uint32_t variant = 0;
    if (literal.size <= TR_INLINE_BYTES_MAX) {
        tr_buffer_add(slots, literal.data, literal.size);
        return slots->error;
    }
    if (is_wrapped) {
        struct tr_cursor cursor = tr_cursor_of(literal);
        bool is_pair = tr_read_array(&cursor) == 2;
        variant = tr_read_u32(&cursor) + 1;
        value = tr_read_any(&cursor);
        if (cursor.error != 0 || !is_pair || variant == 0) {
            return TR_MALFORMED;
        }
    }
    explain[0] = '\0';
    return finish(&offload, write_variant(&offload, value, variant, slots));
}

int tr_offloaded_map(const char *store_folder, const struct tr_offloaded *where,
                     const struct tr_turn *turn, struct tr_bytes *literal, char *explain)
{
    struct tr_bytes mapped = {.size = 0};
    char words[TR_BLOB_WORDS_BYTES_MAX];
    int error = tr_relocate_map(store_folder, where->uri, turn, words, &mapped);
    if (error == 0 && mapped.size != where->size_bytes) {
        tr_file_unmap(mapped);
        error = TR_MALFORMED;
    }
    if (error == 0) {
        *literal = mapped;
    } else if (error != TR_MEMORY) {
        snprintf(explain, TR_OFFLOAD_EXPLAIN_BYTES, "the value at %.*s cannot be read: %.300s",
                 (int)(where->uri.size < 180 ? where->uri.size : 180), where->uri.data,
                 words[0] != '\0'        ? words
                 : error == TR_SYSTEM    ? strerror(errno)
                 : error == TR_MALFORMED ? "it has another size than it had"
                                         : tr_error_text(error));
    }
    return error;
}

int tr_offload_document(const char *store_folder, struct tr_bytes document, struct tr_buffer *uri,
                        char *explain)
{
    struct offload offload = {.folder = store_folder, .explain = explain};
    struct tri_blob blob;
    explain[0] = '\0';
    int error = open_blobs(&offload);
    if (error == 0) {
        error = tri_blob_write(offload.blobs, tr_text_of("document"), 0, document, true, &blob);
        error = error == 0 ? 0 : failed(&offload, error, tri_blobs_words(offload.blobs));
    }
    if (error == 0) {
        tr_buffer_text_value(uri, tr_text_of(blob.uri));
        error = uri->error;
    }
    return finish(&offload, error);
}
