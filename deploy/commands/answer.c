/*
 * `troupe signal`, `troupe approve`, `troupe reject`: answer the gates of an execution, those that
 * wait and those to come.
 *
 * What an answer has to be is in the execution's graph: it is read and checked here, before the
 * engine hears of it. Without an ID the one gate that waits is meant, and no later one.
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/report.h"
#include "actors/graph/value/slot.h"
#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/common/document.h"
#include "deploy/common/identity.h"
#include "deploy/common/problems.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/history/gates.h"
#include "deploy/history/node_tree.h"
#include "deploy/inputs/inputs.h"
#include "schemas/runtime/request.h"

/* One answer on its way. */
struct answering {
    const struct tr_invocation *invocation;
    const struct tr_execution *execution;
    const char *id;
    const char *path;    /* "" for all gates of the id */
    const char *verdict; /* of approve and reject; NULL: the last word is the value */
    struct tr_buffer value;
};

/* Gates that are named where several are meant. */
#define NAMED_MAX 10

/* --------------------------------------------------------- which gate, which value */

static enum tr_exit_status tell_missing(const struct answering *answering,
                                        const struct tr_graph *graph)
{
    const struct tr_command *command = answering->invocation->command;
    struct tr_buffer gates;
    tr_buffer_init(&gates, 0);
    int error = tr_gates_print(graph, answering->execution->workflow, &gates);
    enum tr_exit_status status;
    if (error != 0) {
        status = tr_command_failed(command, "%s", tr_error_text(error));
    } else if (gates.size == 0) {
        status = tr_command_refused(command, "no node of %.*s waits for people",
                                    TRI_TEXT(answering->execution->name));
    } else if (answering->path[0] != '\0') {
        status = tr_command_refused(command,
                                    "%.*s has no gate '%.60s' that waits for '%.60s'; it has %.*s",
                                    TRI_TEXT(answering->execution->name), answering->path,
                                    answering->id, (int)gates.size, (const char *)gates.data);
    } else {
        status = tr_command_refused(command, "%.*s has no gate for '%.60s'; it has %.*s",
                                    TRI_TEXT(answering->execution->name), answering->id,
                                    (int)gates.size, (const char *)gates.data);
    }
    tr_buffer_fini(&gates);
    return status;
}

/* Reads a word by the gate's type; what is wrong is printed as it is for inputs. */
static enum tr_exit_status read_value(struct answering *answering, const struct tr_type *type,
                                      const char *word)
{
    struct tr_report report;
    struct tr_variable variable = {.name = tr_text_of(answering->id), .type = type};
    tr_report_init(&report);
    int error = tr_input_read_word(&variable, word, &report, &answering->value);
    enum tr_exit_status status = TR_EXIT_DONE;
    if (error == TR_INVALID) {
        status = TR_EXIT_USAGE;
        error = tr_problems_print(&report, tr_console_err());
    }
    tr_report_fini(&report);
    return error == 0
               ? status
               : tr_command_failed(answering->invocation->command, "%s", tr_error_text(error));
}

/* The same where no gate is there yet that says the type. */
static enum tr_exit_status read_untyped(struct answering *answering, const char *word)
{
    struct tr_buffer literal;
    enum tr_exit_status status = read_value(answering, NULL, word);
    tr_buffer_init(&literal, 0);
    if (status == TR_EXIT_DONE) {
        tr_buffer_add(&literal, answering->value.data, answering->value.size);
        tr_buffer_cut(&answering->value, 0);
        tr_slot_write_untyped(&answering->value, tr_buffer_bytes(&literal));
    }
    int error = literal.error != 0 ? literal.error : answering->value.error;
    tr_buffer_fini(&literal);
    return error == 0
               ? status
               : tr_command_failed(answering->invocation->command, "%s", tr_error_text(error));
}

/* What is left of a path below a node; false: it does not lie there. */
static bool is_below(struct tr_text path, struct tr_text node, struct tr_text *rest)
{
    *rest = path;
    if (path.size == 0) {
        return true; /* any gate is meant */
    }
    bool lies_there = path.size > node.size + 1 && path.data[node.size] == '/' &&
                      memcmp(path.data, node.data, node.size) == 0;
    if (lies_there) {
        rest->data += node.size + 1;
        rest->size -= node.size + 1;
    }
    return lies_there;
}

/* The gate that is meant, in the execution's graph or in one that a dynamic node has decided. */
static int find_gate(const struct answering *answering, struct tr_node_tree *tree,
                     const struct tr_node **gate)
{
    struct tr_text id = tr_text_of(answering->id);
    struct tr_text path = tr_text_of(answering->path);
    int error = tr_gate_find(tree->graph, answering->execution->workflow, id, path, gate);
    for (uint32_t i = 0; error == TR_NOT_FOUND; i++) {
        const struct tr_graph *graph;
        struct tr_text node;
        struct tr_text rest;
        int got = tr_decided_get(&tree->decided, i, &node, &graph);
        if (got == TR_LIMIT) {
            break;
        }
        if (got == 0 && is_below(path, node, &rest)) {
            got = tr_gate_find(graph, graph->workflows[graph->main_workflow].name, id, rest, gate);
        }
        error = got == 0 && *gate == NULL ? TR_NOT_FOUND : got;
    }
    return error;
}

static enum tr_exit_status read_by_graph(struct answering *answering, struct tr_node_tree *tree)
{
    const struct tr_graph *graph = tree->graph;
    const struct tr_command *command = answering->invocation->command;
    const struct tr_arguments *arguments = &answering->invocation->arguments;
    const char *word = answering->verdict != NULL ? answering->verdict
                                                  : arguments->words[arguments->word_count - 1];
    const struct tr_node *gate = NULL;
    bool may_grow = false;
    int error = find_gate(answering, tree, &gate);
    if (error == TR_NOT_FOUND) { /* a graph that nobody knows yet may have it */
        error = tr_gates_may_grow(graph, answering->execution->workflow,
                                  tr_text_of(answering->path), &may_grow);
        error = error != 0 || may_grow ? error : TR_NOT_FOUND;
    }
    if (error == TR_NOT_FOUND) {
        return tell_missing(answering, graph);
    }
    if (error == TR_INVALID) {
        return tr_command_refused(command,
                                  "the gates for '%.60s' take values of different types; name one "
                                  "of them with --node",
                                  answering->id);
    }
    if (error != 0) {
        return tr_command_failed(command, "%s", tr_error_text(error));
    }
    if (gate == NULL && answering->verdict == NULL) {
        return read_untyped(answering, word);
    }
    static const struct tr_type verdict_type = {.kind = TR_TYPE_BOOL};
    const struct tr_type *type = gate == NULL ? &verdict_type : tr_gate_type(gate);
    if (answering->verdict != NULL && type->kind != TR_TYPE_BOOL) {
        return tr_command_refused(command,
                                  "'%.60s' is a signal and takes a value; send it with `troupe "
                                  "signal`",
                                  answering->id);
    }
    return read_value(answering, type, word);
}

/* ------------------------------------------------------------------- sending it */

static void print_sent(const struct answering *answering, uint64_t gates)
{
    const struct tr_invocation *invocation = answering->invocation;
    struct tr_text name = answering->execution->name;
    if (invocation->output == TR_OUTPUT_TEXT) {
        if (gates == 0) {
            tr_command_note(invocation, "%.*s: no gate waits for '%s' yet; the value is kept",
                            TRI_TEXT(name), answering->id);
        } else {
            tr_command_note(invocation, "%.*s: %llu %s answered", TRI_TEXT(name),
                            (unsigned long long)gates, gates == 1 ? "gate is" : "gates are");
        }
        return;
    }
    struct tr_document document;
    tr_document_init(&document, tr_console_out(), invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "execution", name);
    tr_document_text(&document, "id", tr_text_of(answering->id));
    if (answering->path[0] == '\0') {
        tr_document_null(&document, "node");
    } else {
        tr_document_text(&document, "node", tr_text_of(answering->path));
    }
    tr_document_number(&document, "gates", (int64_t)gates);
    tr_document_end(&document);
    tr_document_fini(&document);
}

static enum tr_exit_status take_sent(const struct answering *answering,
                                     const struct tri_request *answer)
{
    const struct tr_command *command = answering->invocation->command;
    struct tr_answer_sent sent = {.error = 0};
    struct tr_answered refused;
    int error;
    if (answer->type == tr_answer_sent_schema.id) {
        error = tr_answer_sent_unpack(answer->body, answer->version, &sent);
    } else {
        error = tr_answered_unpack(answer->body, answer->version, &refused);
        sent.error = refused.error;
        sent.message = refused.message;
    }
    if (error != 0) {
        return tr_command_failed(command, "the engine did not answer: %s", tr_error_text(error));
    }
    if (sent.error == TR_NO_ACTOR) {
        return tr_command_refused(command, "%.*s has ended meanwhile",
                                  TRI_TEXT(answering->execution->name));
    }
    if (sent.error != 0) {
        return tr_command_failed(command, "%.*s", TRI_TEXT(sent.message));
    }
    print_sent(answering, sent.gates);
    return TR_EXIT_DONE;
}

static enum tr_exit_status send(const struct answering *answering, const char *folder)
{
    const struct tr_invocation *invocation = answering->invocation;
    const char *message = tr_arguments_value(&invocation->arguments, "message");
    char identity[TR_IDENTITY_BYTES];
    struct tri_client *client = NULL;
    struct tri_request answer;
    tr_identity_read(identity);
    struct tr_send_answer sent = {
        .execution = answering->execution->execution,
        .id = tr_text_of(answering->id),
        .path = tr_text_of(answering->path),
        .value = tr_buffer_bytes(&answering->value),
        .by = tr_text_of(identity),
        .message = tr_text_of(message == NULL ? "" : message),
    };
    enum tr_exit_status status = tr_connect_live(invocation, folder, &client);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error = tr_client_call(client, &tr_send_answer_schema, &sent, &tr_answer_sent_schema, 0,
                               NULL, NULL, &answer);
    status = error == 0 ? take_sent(answering, &answer)
                        : tr_command_failed(invocation->command, "the engine did not answer: %s",
                                            tr_error_text(error));
    tri_client_close(client);
    return status;
}

/* --------------------------------------------------------------- without an ID */

/* The gates that wait and that the command can answer. */
struct choosing {
    const struct answering *answering;
    struct tr_arena *arena;
    const char *id; /* of the last of them */
    const char *path;
    uint32_t count;
    struct tr_buffer names;
};

static int take_waiting(void *self, const struct tr_node_status *row)
{
    struct choosing *choosing = self;
    const struct answering *answering = choosing->answering;
    bool is_named =
        answering->path[0] == '\0' || tr_text_equal(row->path, tr_text_of(answering->path));
    if (tr_gate_is_approval(row->kind) != (answering->verdict != NULL) || !is_named) {
        return 0;
    }
    choosing->id = tr_arena_print(choosing->arena, "%.*s", TRI_TEXT(row->target)).data;
    choosing->path = tr_arena_print(choosing->arena, "%.*s", TRI_TEXT(row->path)).data;
    if (choosing->count++ < NAMED_MAX) {
        tr_buffer_print(&choosing->names, "%s'%.*s' (%.*s)", choosing->names.size > 0 ? ", " : "",
                        TRI_TEXT(row->target), TRI_TEXT(row->path));
    }
    return choosing->arena->error != 0 ? choosing->arena->error : choosing->names.error;
}

static enum tr_exit_status tell_choice(const struct choosing *choosing)
{
    const struct answering *answering = choosing->answering;
    const struct tr_command *command = answering->invocation->command;
    const char *kind = answering->verdict != NULL ? "an approval" : "a value";
    struct tr_text name = answering->execution->name;
    if (choosing->count == 0 && answering->path[0] != '\0') {
        return tr_command_refused(command,
                                  "no gate '%.60s' of %.*s waits for %s now; with its ID the "
                                  "answer is kept until it does",
                                  answering->path, TRI_TEXT(name), kind);
    }
    if (choosing->count == 0) {
        return tr_command_refused(command,
                                  "no gate of %.*s waits for %s now; with an ID the answer is "
                                  "kept for when one does",
                                  TRI_TEXT(name), kind);
    }
    return tr_command_refused(command,
                              "%u gates of %.*s wait for %s: %.*s%s; give the ID for all of an ID, "
                              "or name one with --node",
                              choosing->count, TRI_TEXT(name), kind, (int)choosing->names.size,
                              (const char *)choosing->names.data,
                              choosing->count > NAMED_MAX ? ", ..." : "");
}

/* Finds the one gate that waits, where nobody has given an ID. */
static enum tr_exit_status choose(struct answering *answering, const struct tr_browse *browse,
                                  struct tr_arena *arena)
{
    struct choosing choosing = {.answering = answering, .arena = arena};
    enum tr_exit_status status = TR_EXIT_DONE;
    tr_buffer_init(&choosing.names, 0);
    int error =
        tr_gates_waiting(browse->reader, answering->execution->execution, take_waiting, &choosing);
    if (error != 0) {
        status = tr_browse_failed(browse, error);
    } else if (choosing.count != 1) {
        status = tell_choice(&choosing);
    } else {
        answering->id = choosing.id;
        answering->path = choosing.path;
    }
    tr_buffer_fini(&choosing.names);
    return status;
}

/* ------------------------------------------------------------------- the commands */

/* Reads and sends an answer to an execution that was found. */
static enum tr_exit_status answer_found(struct answering *answering, const struct tr_browse *browse,
                                        struct tr_arena *arena)
{
    const struct tr_command *command = answering->invocation->command;
    const struct tr_execution *row = answering->execution;
    struct tr_node_tree tree;
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return tr_command_refused(command, "%.*s has ended already: %s", TRI_TEXT(row->name),
                                  tr_execution_phase_word(row->phase));
    }
    if (answering->id == NULL) {
        enum tr_exit_status chosen = choose(answering, browse, arena);
        if (chosen != TR_EXIT_DONE) {
            return chosen;
        }
    }
    int error = tr_node_tree_open(browse->reader, browse->place.folder, row, &tree);
    if (error == 0 && tree.graph == NULL) {
        error = tree.graph_error;
    }
    enum tr_exit_status status =
        error == 0 ? read_by_graph(answering, &tree)
                   : tr_command_failed(command, "the definition of %.*s cannot be read: %s",
                                       TRI_TEXT(row->name), tr_error_text(error));
    tr_node_tree_fini(&tree);
    return status == TR_EXIT_DONE ? send(answering, browse->place.folder) : status;
}

static enum tr_exit_status answer(const struct tr_invocation *invocation, const char *verdict)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    const char *node = tr_arguments_value(arguments, "node");
    size_t words_without_id = verdict != NULL ? 1 : 2;
    struct tr_browse browse;
    struct tr_found found;
    struct tr_arena arena;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    tr_arena_init(&arena);
    status = tr_browse_find(&browse, arguments->words[0], &found);
    if (status == TR_EXIT_DONE) {
        bool has_id = arguments->word_count > words_without_id;
        struct answering answering = {.invocation = invocation,
                                      .execution = &found.execution.row,
                                      .id = has_id ? arguments->words[1] : NULL,
                                      .path = node == NULL ? "" : node,
                                      .verdict = verdict};
        tr_buffer_init(&answering.value, 0);
        status = answer_found(&answering, &browse, &arena);
        tr_buffer_fini(&answering.value);
        tr_found_fini(&found);
    }
    tr_arena_fini(&arena);
    tr_browse_close(&browse);
    return status;
}

static enum tr_exit_status run_signal(const struct tr_invocation *invocation)
{
    return answer(invocation, NULL);
}

static enum tr_exit_status run_approve(const struct tr_invocation *invocation)
{
    return answer(invocation, "true");
}

static enum tr_exit_status run_reject(const struct tr_invocation *invocation)
{
    return answer(invocation, "false");
}

static const struct tr_option options[] = {
    {'m', "message", "TEXT", "what to say with it, for the history", NULL, 0, false},
    {0, "node", "NODE", "only this gate: its path, as `troupe get` shows it", NULL, 0, false},
    {0},
};

#define HELP                                                                                 \
    "An id belongs to the execution: every gate that waits for it hears it, now or later.\n" \
    "The last answer counts. Without an ID the one gate that waits is answered."

const struct tr_command tr_command_signal = {
    .name = "signal",
    .summary = "give the gates of an execution a value",
    .words = "EXEC [ID] VALUE",
    .text =
        "VALUE is read by the signal's type, as `run -i` reads one; @FILE reads a file. Where a\n"
        "graph that is not decided yet may bring the gate, it is read as YAML.\n" HELP,
    .examples = "  troupe signal @last limit 100\n"
                "  troupe signal fan-out-x7k2p limit 5 --node 'sq[3]/limit'",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_UNFINISHED,
    .words_min = 2,
    .words_max = 3,
    .run = run_signal,
};

/* The answers to an approval: they have no value. */
#define APPROVAL_COMMAND(word, ...)               \
    const struct tr_command tr_command_##word = { \
        .name = #word,                            \
        .words = "EXEC [ID]",                     \
        .text = HELP,                             \
        .options = options,                       \
        .outputs = "text|json|yaml",              \
        .has_store = true,                        \
        .completes = TR_COMPLETES_EXECUTIONS,     \
        .kind = TR_EXECUTION_KIND_UNFINISHED,     \
        .words_min = 1,                           \
        .words_max = 2,                           \
        .run = run_##word,                        \
        __VA_ARGS__,                              \
    }

APPROVAL_COMMAND(approve, .summary = "let the gates of an execution pass",
                 .examples = "  troupe approve @last ship -m \"looks fine\"");

APPROVAL_COMMAND(reject, .summary = "let the gates of an execution fail",
                 .examples = "  troupe reject @last ship -m \"not before Monday\"");
