/*
 * Two executions side by side: nodes are paired by their paths, values by their names. Equal values
 * of one type are equal bytes, and a file that a task gives is named by its digest, so that bytes
 * are all that is compared; nothing is read that both name by one digest.
 */
#include "deploy/results/compare.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/common/show.h"
#include "deploy/console/console.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ---------------------------------------------------------------------------- values */

bool tr_compare_is_same(const struct tr_value *a, const struct tr_value *b)
{
    struct tr_value_bytes bytes[2];
    if (a == NULL || b == NULL) {
        return a == b;
    }
    if (tr_literal_equal(a->slot, b->slot)) {
        return true;
    }
    if (tr_value_open(a, &bytes[0]) != 0) {
        return false;
    }
    bool is_open = tr_value_open(b, &bytes[1]) == 0;
    bool is_same = is_open && tr_literal_equal(bytes[0].literal, bytes[1].literal);
    if (is_open) {
        tr_value_close(&bytes[1]);
    }
    tr_value_close(&bytes[0]);
    return is_same;
}

static const struct tr_value *find_value(const struct tr_values *values, struct tr_text name)
{
    for (uint32_t i = 0; i < values->count; i++) {
        if (tr_text_equal(values->items[i].name, name)) {
            return &values->items[i];
        }
    }
    return NULL;
}

int tr_compare_values(const struct tr_values *a, const struct tr_values *b, tr_compare_take *take,
                      void *self)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < a->count; i++) {
        error = take(self, &a->items[i], find_value(b, a->items[i].name));
    }
    for (uint32_t i = 0; error == 0 && i < b->count; i++) {
        if (find_value(a, b->items[i].name) == NULL) {
            error = take(self, NULL, &b->items[i]);
        }
    }
    return error;
}

int tr_compare_node_values(const struct tr_compared *side, const struct tr_node_tree_node *node,
                           enum tr_value_side which, struct tr_values *values)
{
    *values = (struct tr_values){.is_known = false};
    if (node == NULL || node->stop.workflow == NULL) {
        return 0;
    }
    return tr_values_read(&(struct tr_values_request){.reader = side->get.reader,
                                                      .graph = side->values.tree.graph,
                                                      .workflow = side->values.tree.route.root,
                                                      .stop = &node->stop,
                                                      .execution = side->get.execution->execution,
                                                      .path = node->row.path,
                                                      .side = which},
                          values);
}

static int note_difference(void *self, const struct tr_value *a, const struct tr_value *b)
{
    bool *differs = self;
    *differs = *differs || !tr_compare_is_same(a, b);
    return 0;
}

/* Whether the inputs, or the outputs, of a pair differ. */
static int compare_side(const struct tr_compare *compare, struct tr_compared_node *pair,
                        enum tr_value_side which, enum tr_compare_aspect aspect)
{
    struct tr_values values[2];
    bool differs = false;
    int error = tr_compare_node_values(&compare->sides[0], pair->nodes[0], which, &values[0]);
    if (error != 0) {
        return error;
    }
    error = tr_compare_node_values(&compare->sides[1], pair->nodes[1], which, &values[1]);
    if (error == 0) {
        error = tr_compare_values(&values[0], &values[1], note_difference, &differs);
        tr_values_fini(&values[1]);
    }
    tr_values_fini(&values[0]);
    pair->differs |= differs ? 1U << aspect : 0;
    return error;
}

/* --------------------------------------------------------------------------- the graph */

/* The names of what a node waits for, or what its inputs are bound to, as one text. */
static int print_after(const struct tr_stop *stop, struct tr_buffer *text)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        uint32_t at = stop->workflow->upstream[node->upstream_first + i];
        tr_buffer_print(text, "%.*s\n", TRI_TEXT(stop->workflow->nodes[at].id));
    }
    return text->error;
}

static int print_bindings(const struct tr_stop *stop, struct tr_buffer *text)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tr_binding *binding = &stop->workflow->bindings[node->input_first + i];
        tr_buffer_print(text, "%.*s=", TRI_TEXT(binding->key));
        tr_binding_print(stop->workflow, binding, text);
        tr_buffer_add_string(text, "\n");
    }
    return text->error;
}

/* How its task is run, and how often. */
static int print_definition(const struct tr_stop *stop, struct tr_buffer *text)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    const struct tr_settings *settings = node->settings;
    if (node->target_kind == TR_TARGET_TASK) {
        const struct tr_task *task = &stop->graph->tasks[node->target];
        tr_buffer_add_text(text, task->type);
        for (uint32_t i = 0; i < task->argc; i++) {
            tr_buffer_print(text, "\n%.*s", TRI_TEXT(task->argv[i]));
        }
        tr_buffer_add(text, task->extra.data, task->extra.size);
    }
    if (settings != NULL) {
        tr_buffer_print(text, "\n%u %lld %.*s\n", settings->retries,
                        (long long)settings->timeout_ns, TRI_TEXT(settings->cache.version));
        tr_buffer_add(text, settings->config.data, settings->config.size);
    }
    tr_buffer_print(text, "\n%lld %u %lld", (long long)node->deadline_ns, node->parallelism,
                    (long long)node->sleep_ns);
    tr_buffer_add(text, node->extra.data, node->extra.size);
    return text->error;
}

static int compare_graph(struct tr_compared_node *pair)
{
    static const struct {
        enum tr_compare_aspect aspect;
        int (*print)(const struct tr_stop *stop, struct tr_buffer *text);
    } parts[] = {{TR_COMPARE_AFTER, print_after},
                 {TR_COMPARE_BINDINGS, print_bindings},
                 {TR_COMPARE_DEFINITION, print_definition}};
    const struct tr_stop *stops[] = {&pair->nodes[0]->stop, &pair->nodes[1]->stop};
    struct tr_buffer texts[2];
    int error = 0;
    if (stops[0]->workflow == NULL || stops[1]->workflow == NULL) {
        return 0;
    }
    tr_buffer_init(&texts[0], 0);
    tr_buffer_init(&texts[1], 0);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(parts); i++) {
        tr_buffer_cut(&texts[0], 0);
        tr_buffer_cut(&texts[1], 0);
        error = parts[i].print(stops[0], &texts[0]);
        if (error == 0) {
            error = parts[i].print(stops[1], &texts[1]);
        }
        bool is_same = tr_text_equal(tr_buffer_text(&texts[0]), tr_buffer_text(&texts[1]));
        pair->differs |= is_same ? 0 : 1U << parts[i].aspect;
    }
    tr_buffer_fini(&texts[0]);
    tr_buffer_fini(&texts[1]);
    return error;
}

/* --------------------------------------------------------------------------- the nodes */

/* How it ran. */
static void compare_rows(struct tr_compared_node *pair)
{
    const struct tr_node_status *a = &pair->nodes[0]->row;
    const struct tr_node_status *b = &pair->nodes[1]->row;
    const bool differs[TR_COMPARE_ASPECT_COUNT] = {
        [TR_COMPARE_KIND] = !tr_text_equal(a->kind, b->kind),
        [TR_COMPARE_TARGET] = !tr_text_equal(a->target, b->target),
        [TR_COMPARE_PHASE] = a->phase != b->phase,
        [TR_COMPARE_ATTEMPTS] = a->attempts != b->attempts,
        [TR_COMPARE_CACHE] = a->cache_status != b->cache_status,
        [TR_COMPARE_ERROR] =
            !tr_text_equal(a->code, b->code) || !tr_text_equal(a->message, b->message),
    };
    for (uint32_t i = 0; i < TR_COMPARE_ASPECT_COUNT; i++) {
        pair->differs |= differs[i] ? 1U << i : 0;
    }
}

static bool has_one_graph(const struct tr_compare *compare)
{
    return tr_literal_equal(compare->sides[0].get.execution->graph,
                            compare->sides[1].get.execution->graph);
}

static int compare_pair(struct tr_compare *compare, struct tr_compared_node *pair)
{
    int error = 0;
    compare_rows(pair);
    if (!has_one_graph(compare)) {
        error = compare_graph(pair);
    }
    bool is_seen = compare->count < TR_COMPARE_VALUES_MAX;
    if (error == 0 && is_seen) {
        error = compare_side(compare, pair, TR_VALUE_INPUTS, TR_COMPARE_INPUTS);
    }
    if (error == 0 && is_seen) {
        error = compare_side(compare, pair, TR_VALUE_OUTPUTS, TR_COMPARE_OUTPUTS);
    }
    compare->unseen += is_seen ? 0 : 1;
    pair->change = pair->differs == 0 ? TR_COMPARE_SAME : TR_COMPARE_CHANGED;
    return error != 0 ? error : tr_console_is_gone() ? TR_CLOSED : 0;
}

static int by_path(const void *a, const void *b)
{
    const struct tr_node_tree_node *const *left = a;
    const struct tr_node_tree_node *const *right = b;
    return tr_text_order((*left)->row.path, (*right)->row.path);
}

static int sort_nodes(struct tr_compared *side)
{
    const struct tr_node_tree *tree = &side->values.tree;
    side->by_path = tr_alloc_zero(tree->count + 1, sizeof(struct tr_node_tree_node *));
    for (uint32_t i = 0; side->by_path != NULL && i < tree->count; i++) {
        side->by_path[i] = &tree->nodes[i];
    }
    if (side->by_path == NULL) {
        return TR_MEMORY;
    }
    qsort(side->by_path, tree->count, sizeof *side->by_path, by_path);
    return 0;
}

/* The node of the same path on the other side; NULL: it has none. */
static const struct tr_node_tree_node *other_of(const struct tr_compared *other,
                                                const struct tr_node_tree_node *node)
{
    const struct tr_node_tree_node **found =
        bsearch(&node, other->by_path, other->values.tree.count, sizeof *other->by_path, by_path);
    return found == NULL ? NULL : *found;
}

static int add_pair(struct tr_compare *compare, const struct tr_node_tree_node *a,
                    const struct tr_node_tree_node *b)
{
    struct tr_compared_node *pair = &compare->nodes[compare->count];
    *pair = (struct tr_compared_node){.nodes = {a, b},
                                      .change = a == NULL ? TR_COMPARE_ADDED : TR_COMPARE_REMOVED};
    int error = a == NULL || b == NULL ? 0 : compare_pair(compare, pair);
    compare->count++;
    compare->counts[pair->change]++;
    return error;
}

static int pair_nodes(struct tr_compare *compare)
{
    const struct tr_node_tree *a = &compare->sides[0].values.tree;
    const struct tr_node_tree *b = &compare->sides[1].values.tree;
    int error = 0;
    compare->nodes = tr_alloc_zero((size_t)a->count + b->count + 1, sizeof *compare->nodes);
    if (compare->nodes == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; error == 0 && i < a->count; i++) {
        error = add_pair(compare, &a->nodes[i], other_of(&compare->sides[1], &a->nodes[i]));
    }
    for (uint32_t i = 0; error == 0 && i < b->count; i++) {
        if (other_of(&compare->sides[0], &b->nodes[i]) == NULL) {
            error = add_pair(compare, NULL, &b->nodes[i]);
        }
    }
    return error;
}

int tr_compare_read(struct tr_compare *compare)
{
    int error = 0;
    for (int i = 0; error == 0 && i < 2; i++) {
        struct tr_compared *side = &compare->sides[i];
        error = tr_get_values_read(&side->get, true, &side->values);
        if (error == 0) {
            error = sort_nodes(side);
        }
    }
    return error != 0 ? error : pair_nodes(compare);
}

void tr_compare_fini(struct tr_compare *compare)
{
    for (int i = 0; i < 2; i++) {
        tr_get_values_fini(&compare->sides[i].values);
        tr_free((void *)compare->sides[i].by_path);
    }
    tr_free(compare->nodes);
}

bool tr_compare_took(uint64_t created_ms, uint64_t started_ms, uint64_t ended_ms, uint64_t now_ms,
                     uint64_t *took_ms)
{
    *took_ms = started_ms == 0 ? 0 : tr_took_ms(created_ms, started_ms, ended_ms, now_ms);
    return started_ms != 0;
}

/* ------------------------------------------------------------------------- the command */

static enum tr_exit_status compare_found(struct tr_listing *listing, const struct tr_found found[2])
{
    const struct tr_browse *browse = listing->browse;
    struct tr_compare compare = {.listing = listing};
    for (int i = 0; i < 2; i++) {
        if (found[i].target.path.size > 0) {
            return tr_command_mistake(browse->invocation->command,
                                      "name executions, without their nodes: '%.100s'",
                                      browse->invocation->arguments.words[i]);
        }
        compare.sides[i].get = (struct tr_get){.reader = browse->reader,
                                               .folder = browse->place.folder,
                                               .execution = &found[i].execution.row,
                                               .now_ms = browse->now_ms,
                                               .output = browse->invocation->output,
                                               .is_verbose = browse->invocation->is_verbose,
                                               .stream = tr_console_out()};
    }
    int error = tr_compare_read(&compare);
    if (error == 0) {
        error = tr_compare_write(&compare);
    }
    tr_compare_fini(&compare);
    tr_console_note_error(error);
    return tr_listing_tell(listing, error);
}

static enum tr_exit_status show(struct tr_listing *listing)
{
    const struct tr_arguments *arguments = &listing->browse->invocation->arguments;
    struct tr_found found[2];
    enum tr_exit_status status = tr_browse_find(listing->browse, arguments->words[0], &found[0]);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = tr_browse_find(listing->browse, arguments->words[1], &found[1]);
    if (status == TR_EXIT_DONE) {
        status = compare_found(listing, found);
        tr_found_fini(&found[1]);
    }
    tr_found_fini(&found[0]);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_listing_run(invocation, show);
}

static const struct tr_option options[] = {
    TR_LISTING_LIMIT_OPTION,
    TR_LISTING_OFFSET_OPTION,
    {0},
};

const struct tr_command tr_command_compare = {
    .name = "compare",
    .summary = "show what differs between two executions",
    .words = "EXEC OTHER",
    .text = "Inputs and outputs, nodes by their paths with what is written of them and how they\n"
            "ran, and those whose durations differ the most. -v cuts no value.",
    .examples = "  troupe compare nightly-7k2p3 nightly-x1q8z\n"
                "  troupe compare first @last -o json",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 2,
    .words_max = 2,
    .run = run,
};
