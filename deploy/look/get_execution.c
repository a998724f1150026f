/*
 * `troupe get EXEC`: a head, what it got and gave, and its nodes as a tree.
 */
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/follow/task_progress.h"
#include "deploy/history/gates.h"
#include "deploy/history/notifications.h"
#include "deploy/look/get_report.h"
#include "schemas/codec/error.h"

/* The columns of a note that are shown without -v. */
#define NOTE_COLUMNS 100

static int read_values(const struct tr_get *get, const struct tr_node_tree *tree,
                       enum tr_value_side side, struct tr_values *values)
{
    *values = (struct tr_values){.is_known = false};
    if (tree->graph == NULL) {
        return 0;
    }
    return tr_values_read(&(struct tr_values_request){.reader = get->reader,
                                                      .graph = tree->graph,
                                                      .workflow = tree->route.root,
                                                      .execution = get->execution->execution,
                                                      .path = tr_text_of(""),
                                                      .side = side},
                          values);
}

/* ------------------------------------------------------------------------- as text */

/* What the task of a node that runs has said of how far it has come; false: nothing. */
static bool find_progress(const struct tr_get *get, const struct tr_node_tree_node *node,
                          struct tr_task_progress *progress)
{
    const struct tr_node_status *row = &node->row;
    const struct tr_attempt key = {.execution = get->execution->execution,
                                   .path = row->path,
                                   .element = TR_ELEMENT_NONE,
                                   .attempt = row->attempts - 1};
    return row->phase == TR_NODE_PHASE_RUNNING && row->attempts > 0 &&
           tr_task_progress_find(get->reader, &key, progress);
}

/* What is to be said of a node beside its phase. */
static void print_note(const struct tr_get *get, const struct tr_node_tree_node *node,
                       struct tr_buffer *note)
{
    struct tr_task_progress progress;
    if (tri_get_is_waiting(&node->row)) {
        tri_get_wait_print(get, &node->row, TR_GATE_NOT_SAID, note);
    }
    if (node->progress.total > 0) {
        tri_get_progress_print(&node->progress, note);
    }
    if (find_progress(get, node, &progress)) {
        tr_task_progress_print(&progress, get->now_ms, note);
    }
    if (node->row.attempts > 1) {
        tr_buffer_print(note, "%s%u attempts", note->size > 0 ? ", " : "", node->row.attempts);
    }
    if (node->row.cache_status != TR_CACHE_STATUS_DISABLED) {
        tr_buffer_print(note, "%scache %s", note->size > 0 ? ", " : "",
                        tr_cache_status_word(node->row.cache_status));
    }
    if (node->row.code.size + node->row.message.size > 0) {
        tr_buffer_add_string(note, note->size > 0 ? ", " : "");
        tr_failure_line(node->row.code, node->row.message, get->is_verbose ? 0 : NOTE_COLUMNS,
                        note);
    }
}

static void add_row(const struct tr_get *get, const struct tr_node_tree_node *node,
                    struct tr_table *table)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_print(&words, "%*s%.*s", 2 * (int)node->depth, "", (int)node->label.size,
                    node->label.data);
    tr_table_text(table, tr_buffer_text(&words));
    tr_table_text(table, node->row.kind);
    tr_table_text(table,
                  tr_text_of(tri_get_is_waiting(&node->row) ? "waiting"
                                                            : tr_node_phase_word(node->row.phase)));
    tr_buffer_cut(&words, 0);
    if (node->row.started_ms == 0) {
        tr_buffer_add_string(&words, "-");
    } else {
        tr_span_print(
            tr_took_ms(node->row.created_ms, node->row.started_ms, node->row.ended_ms, get->now_ms),
            &words);
    }
    tr_table_text(table, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    print_note(get, node, &words);
    tr_table_text(table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

/*
 * Which nodes are worth a line where there are many: those of the elements of arrays only if they
 * have not succeeded.
 */
static bool is_worth_a_line(const struct tr_node_tree *tree, uint32_t at)
{
    uint8_t phase = tree->nodes[at].row.phase;
    bool is_fine = phase == TR_NODE_PHASE_SUCCEEDED || phase == TR_NODE_PHASE_RECOVERED ||
                   phase == TR_NODE_PHASE_SKIPPED;
    return !is_fine || !tr_node_tree_is_in_element(tree, at);
}

static int print_nodes(const struct tr_get *get, const struct tr_node_tree *tree)
{
    static const char *const heads[] = {"NODE", "KIND", "PHASE", "TOOK", "NOTE"};
    bool shows_all = get->is_verbose || tree->count <= TR_GET_NODES;
    uint32_t shown = 0;
    struct tr_table table;
    tr_table_init(&table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&table, tr_text_of(heads[i]));
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        if (shows_all || (shown < TR_GET_NODES && is_worth_a_line(tree, i))) {
            add_row(get, &tree->nodes[i], &table);
            shown++;
        }
    }
    fputc('\n', get->stream);
    int error = tree->count == 0 ? 0 : tr_table_write(&table, 0, get->stream);
    tr_table_fini(&table);
    if (shown < tree->count) {
        fprintf(get->stream, "and %u more nodes; -v shows all\n", tree->count - shown);
    }
    return error;
}

/* Rows of notifications on their way into a table. */
struct notified {
    const struct tr_get *get;
    struct tr_table table;
};

static int add_notification(void *self, const struct tr_notification_row *row)
{
    struct notified *notified = self;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_table_print(&notified->table, "%s%s%.*s", tr_notify_phase_word(row->phase),
                   row->path.size > 0 ? " at " : "", (int)row->path.size, row->path.data);
    tr_table_text(&notified->table, tr_text_of(tr_notify_kind_word(row->kind)));
    tr_table_text(&notified->table, row->target);
    tr_notification_print(row, notified->get->now_ms, &words);
    tr_table_text(&notified->table, tr_buffer_text(&words));
    int error = words.error;
    tr_buffer_fini(&words);
    return error;
}

static int print_notifications(const struct tr_get *get)
{
    static const char *const heads[] = {"NOTIFICATION", "BY", "TO", "STATUS"};
    struct notified notified = {.get = get};
    tr_table_init(&notified.table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&notified.table, tr_text_of(heads[i]));
    }
    int error =
        tr_notifications_read(get->reader, get->execution->execution, add_notification, &notified);
    if (error == 0 && notified.table.cell_count > TR_COUNT_OF(heads)) {
        fputc('\n', get->stream);
        error = tr_table_write(&notified.table, 0, get->stream);
    }
    tr_table_fini(&notified.table);
    return error;
}

static void print_head(const struct tr_get *get, const struct tr_node_tree *tree)
{
    const struct tr_execution *row = get->execution;
    fprintf(get->stream, "%.*s  %s%s\n", (int)row->name.size, row->name.data, tr_phase_shown(row),
            tr_activity_word(get->activity, row));
    tri_get_line(get, "workflow", row->workflow);
    if (row->plan.size > 0) {
        tri_get_line(get, "plan", row->plan);
    }
    tri_get_line_print(get, "project", "%.*s/%.*s", (int)row->project.size, row->project.data,
                       (int)row->domain.size, row->domain.data);
    if (row->labels.size > 0) {
        tri_get_line(get, "labels", row->labels);
    }
    tri_get_times(get, row->created_ms, row->started_ms, row->ended_ms);
    if (row->cause.size > 0) {
        tri_get_line(get, "cause", row->cause);
    }
    if (row->parent.size > 0) {
        tri_get_line(get, "parent", row->parent);
    }
    if (get->host != NULL) {
        tri_get_line(get, "host", tr_text_of(get->host));
    }
    tri_get_failure(get, row->code, row->message);
    if (row->failed.size > 0 && row->failed_element == TR_ELEMENT_NONE) {
        tri_get_line(get, "at", row->failed);
    } else if (row->failed.size > 0) {
        tri_get_line_print(get, "at", "%.*s[%llu]", (int)row->failed.size, row->failed.data,
                           (unsigned long long)row->failed_element);
    }
    if (tree->graph == NULL) {
        tri_get_line_print(get, "note", "its definition cannot be read: %s",
                           tr_error_text(tree->graph_error));
    }
}

static int print_text(const struct tr_get *get, const struct tr_node_tree *tree,
                      const struct tr_values *inputs, const struct tr_values *outputs)
{
    print_head(get, tree);
    int error = tri_get_values(get, "inputs", inputs);
    if (error == 0) {
        error = tri_get_values(get, "outputs", outputs);
    }
    if (error == 0) {
        error = print_nodes(get, tree);
    }
    for (uint32_t i = 0; error == 0 && i < tree->count; i++) {
        if (tree->nodes[i].progress.failed > 0) {
            error = tri_get_groups(get, &tree->nodes[i].progress);
        }
    }
    return error != 0 ? error : print_notifications(get);
}

/* ------------------------------------------------------------------- as a document */

/* Behind which nodes of its workflow it begins; what has no place in the graph names none. */
static void write_after(const struct tr_stop *stop, struct tr_document *document)
{
    const struct tr_workflow *workflow = stop->workflow;
    tr_document_begin_list(document, "after");
    for (uint32_t i = 0; workflow != NULL && i < workflow->nodes[stop->node].upstream_count; i++) {
        uint32_t at = workflow->upstream[workflow->nodes[stop->node].upstream_first + i];
        if (workflow->nodes[at].kind != TR_NODE_START) {
            tr_document_text(document, NULL, workflow->nodes[at].id);
        }
    }
    tr_document_end(document);
}

static int write_node(const struct tr_get *get, const struct tr_node_tree_node *node,
                      struct tr_document *document)
{
    const struct tr_node_status *row = &node->row;
    int error = 0;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "node", row->path);
    tr_document_text(document, "kind", row->kind);
    tr_document_text(document, "target", row->target);
    tr_document_text(document, "name", row->name);
    write_after(&node->stop, document);
    tr_document_text(document, "phase", tr_text_of(tr_node_phase_word(row->phase)));
    tr_document_bool(document, "is_waiting", tri_get_is_waiting(row));
    tr_document_time(document, "created_at", row->created_ms);
    tr_document_time(document, "started_at", row->started_ms);
    tr_document_time(document, "ended_at", row->ended_ms);
    tr_document_number(document, "attempts", row->attempts);
    tr_document_text(document, "cache", tr_text_of(tr_cache_status_word(row->cache_status)));
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code,
                                                .message = row->message,
                                                .has_flyte_message = true,
                                                .flyte_message = row->flyte_message});
    if (node->progress.total > 0) {
        error = tri_get_array_write(get, &node->progress, document);
    } else {
        tr_document_null(document, "array");
    }
    struct tr_task_progress progress;
    tr_task_progress_write(find_progress(get, node, &progress) ? &progress : NULL, document);
    tr_document_end(document);
    return error;
}

static void write_head(const struct tr_get *get, struct tr_document *document)
{
    const struct tr_execution *row = get->execution;
    tr_document_execution(document, row);
    tr_document_text(document, "cause", row->cause);
    tr_document_text_or_null(document, "host", get->host);
    tr_document_number(document, "number", (int64_t)row->execution);
}

static int write_notification(void *self, const struct tr_notification_row *row)
{
    tr_notification_write(row, self);
    return 0;
}

static int write_document(const struct tr_get *get, const struct tr_node_tree *tree,
                          const struct tr_values *inputs, const struct tr_values *outputs)
{
    struct tr_document document;
    tr_document_init(&document, get->stream, get->output);
    tr_document_begin_map(&document, NULL);
    write_head(get, &document);
    int error = tr_values_write(inputs, "inputs", &document);
    if (error == 0) {
        error = tr_values_write(outputs, "outputs", &document);
    }
    tr_document_begin_list(&document, "nodes");
    for (uint32_t i = 0; error == 0 && i < tree->count; i++) {
        error = write_node(get, &tree->nodes[i], &document);
    }
    tr_document_end(&document);
    tr_document_begin_list(&document, "notifications");
    if (error == 0) {
        error = tr_notifications_read(get->reader, get->execution->execution, write_notification,
                                      &document);
    }
    tr_document_end(&document);
    tr_document_bool(&document, "is_dormant",
                     tr_activity_is_dormant(get->activity, get->execution));
    tr_document_end(&document);
    tr_document_fini(&document);
    return error;
}

int tr_get_values_read(const struct tr_get *get, bool has_nodes, struct tr_get_values *values)
{
    *values = (struct tr_get_values){.inputs = {.is_known = false}};
    int error = has_nodes
                    ? tr_node_tree_read(get->reader, get->folder, get->execution, &values->tree)
                    : tr_node_tree_open(get->reader, get->folder, get->execution, &values->tree);
    if (error == 0) {
        error = read_values(get, &values->tree, TR_VALUE_INPUTS, &values->inputs);
    }
    return error != 0 ? error : read_values(get, &values->tree, TR_VALUE_OUTPUTS, &values->outputs);
}

void tr_get_values_fini(struct tr_get_values *values)
{
    tr_values_fini(&values->inputs);
    tr_values_fini(&values->outputs);
    tr_node_tree_fini(&values->tree);
}

int tr_get_execution(const struct tr_get *get)
{
    struct tr_get_values values;
    int error = tr_get_values_read(get, true, &values);
    if (error == 0) {
        error = tri_get_has_document(get)
                    ? write_document(get, &values.tree, &values.inputs, &values.outputs)
                    : print_text(get, &values.tree, &values.inputs, &values.outputs);
    }
    tr_get_values_fini(&values);
    return error;
}
