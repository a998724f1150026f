/*
 * `troupe gates`: a row for each gate that waits, with the command that answers it. What a signal
 * takes is in the graph of its execution, which is read for signals alone.
 */
#include "deploy/look/gates.h"

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/common/show.h"
#include "deploy/history/gates.h"
#include "deploy/history/node_tree.h"
#include "deploy/look/list.h"
#include "schemas/codec/error.h"

static bool has_document(const struct tr_inbox *inbox)
{
    return inbox->request.output == TR_OUTPUT_JSON || inbox->request.output == TR_OUTPUT_YAML;
}

void tr_inbox_begin(const struct tr_inbox_request *request, struct tr_inbox *inbox)
{
    static const char *const heads[] = {"NAME", "GATE", "WAITS FOR", "SINCE", "ANSWER"};
    *inbox = (struct tr_inbox){.request = *request};
    tr_table_init(&inbox->table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&inbox->table, tr_text_of(heads[i]));
    }
    if (has_document(inbox)) {
        tr_document_init(&inbox->document, request->stream, request->output);
        tr_document_begin_list(&inbox->document, NULL);
    }
}

int tr_inbox_end(struct tr_inbox *inbox)
{
    int error = 0;
    if (has_document(inbox)) {
        tr_document_end(&inbox->document);
        tr_document_fini(&inbox->document);
    } else if (inbox->request.output != TR_OUTPUT_NAME) {
        error = tr_table_write(&inbox->table, 0, inbox->request.stream);
    }
    tr_table_fini(&inbox->table);
    return error;
}

/* ---------------------------------------------------------------------------- one gate */

/* A gate in words. */
struct entry {
    const struct tr_node_status *row;
    struct tr_buffer type;    /* of what answers it; empty: its graph cannot be read */
    struct tr_buffer command; /* that answers it */
};

static int read_type(const struct tr_inbox *inbox, struct entry *entry)
{
    struct tr_node_tree tree;
    struct tr_stop stop;
    int error =
        tr_node_tree_open(inbox->request.reader, inbox->request.folder, inbox->execution, &tree);
    if (error == 0 && tree.graph != NULL) {
        error = tr_route_find(&tree.route, entry->row->path, &stop);
        if (error == 0) {
            tr_type_print(tr_gate_type(&stop.workflow->nodes[stop.node]), &entry->type);
        }
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    tr_node_tree_fini(&tree);
    return error;
}

static int make_entry(const struct tr_inbox *inbox, struct entry *entry)
{
    struct tr_gate_shown gate = {.store = inbox->request.store,
                                 .execution = inbox->execution->name,
                                 .path = entry->row->path,
                                 .kind = entry->row->kind,
                                 .id = entry->row->target};
    int error = 0;
    if (tr_gate_is_approval(gate.kind)) {
        tr_buffer_add_string(&entry->type, "bool");
    } else {
        error = read_type(inbox, entry);
    }
    tr_gate_command_print(&gate, &entry->command);
    error = error != 0 ? error : entry->type.error;
    return error != 0 ? error : entry->command.error;
}

static void write_cells(struct tr_inbox *inbox, const struct entry *entry)
{
    struct tr_buffer words;
    uint64_t now_ms = inbox->request.now_ms;
    uint64_t since_ms = entry->row->started_ms;
    tr_buffer_init(&words, 0);
    tr_table_text(&inbox->table, inbox->execution->name);
    tr_table_text(&inbox->table, entry->row->path);
    if (tr_gate_is_approval(entry->row->kind)) {
        tr_buffer_add_string(&words, "approval");
    } else {
        tr_buffer_print(&words, "a value%s%.*s", entry->type.size > 0 ? " of type " : "",
                        (int)entry->type.size, (const char *)entry->type.data);
    }
    tr_table_text(&inbox->table, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    tr_age_print(now_ms < since_ms ? 0 : now_ms - since_ms, &words);
    tr_table_text(&inbox->table, tr_buffer_text(&words));
    tr_table_text(&inbox->table, tr_buffer_text(&entry->command));
    tr_buffer_fini(&words);
}

static void write_map(struct tr_inbox *inbox, const struct entry *entry)
{
    struct tr_document *document = &inbox->document;
    const struct tr_execution *execution = inbox->execution;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "execution", execution->name);
    tr_document_text(document, "project", execution->project);
    tr_document_text(document, "domain", execution->domain);
    tr_document_text(document, "workflow", execution->workflow);
    tr_document_text(document, "node", entry->row->path);
    tr_document_text(document, "kind", entry->row->kind);
    tr_document_text(document, "id", entry->row->target);
    tr_document_text(document, "name", entry->row->name);
    tr_document_text(document, "type", tr_buffer_text(&entry->type));
    tr_document_time(document, "waiting_since", entry->row->started_ms);
    tr_document_text(document, "command", tr_buffer_text(&entry->command));
    tr_document_bool(document, "is_paused", execution->is_paused);
    tr_document_bool(document, "is_dormant",
                     tr_activity_is_dormant(inbox->request.activity, execution));
    tr_document_end(document);
}

static int write_entry(struct tr_inbox *inbox, struct entry *entry)
{
    int error = make_entry(inbox, entry);
    if (error != 0) {
        return error;
    }
    if (has_document(inbox)) {
        write_map(inbox, entry);
    } else {
        write_cells(inbox, entry);
    }
    return 0;
}

static int take_gate(void *self, const struct tr_node_status *value)
{
    struct tr_inbox *inbox = self;
    const struct tr_node_status row = *value; /* reading on overwrites the reader's */
    struct entry entry = {.row = &row};
    if (inbox->skipped < inbox->request.offset) {
        inbox->skipped++;
        return 0;
    }
    if (inbox->request.limit != 0 && inbox->count == inbox->request.limit) {
        inbox->has_more = true;
        return TR_CLOSED;
    }
    inbox->count++;
    if (inbox->request.output == TR_OUTPUT_NAME) {
        fprintf(inbox->request.stream, "%.*s/%.*s\n", TRI_TEXT(inbox->execution->name),
                TRI_TEXT(row.path));
        return 0;
    }
    tr_buffer_init(&entry.type, 0);
    tr_buffer_init(&entry.command, 0);
    int error = write_entry(inbox, &entry);
    tr_buffer_fini(&entry.command);
    tr_buffer_fini(&entry.type);
    return error;
}

int tr_inbox_add(struct tr_inbox *inbox, const struct tr_execution *value)
{
    const struct tr_execution row = *value; /* as above */
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row.phase)) {
        return 0;
    }
    inbox->execution = &row;
    int error = tr_gates_waiting(inbox->request.reader, row.execution, take_gate, inbox);
    inbox->execution = NULL;
    return error;
}

/* ------------------------------------------------------------------------- the command */

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status == TR_EXIT_DONE) {
        status = tr_list_show(&browse, true);
        tr_browse_close(&browse);
    }
    return status;
}

static const struct tr_option options[] = {
    {0, "limit", "N", "at most so many gates (else 50; 0: all)", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_gates = {
    .name = "gates",
    .summary = "show what waits for people in all executions",
    .words = "",
    .text = "A row for each gate that waits for an approval or a value, with the command that\n"
            "answers it. `troupe list --waiting` shows those of some executions.",
    .examples = "  troupe gates\n"
                "  troupe gates -o json",
    .options = options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .over_network = true,
    .run = run,
};
