/*
 * Answers and pauses on their way to the root of an execution.
 */
#include "deploy/server/serve_gates.h"

#include <stdio.h>

#include "actors/graph/document/report.h"
#include "deploy/engine/query_root.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/executions.h"
#include "deploy/history/gates.h"

/* The graph of an execution, which becomes the caller's, and the name of its workflow in it. */
static int read_graph(struct tr_live *live, uint64_t execution, struct tr_executions_row *copy,
                      struct tr_graph **graph)
{
    struct tr_reader *reader;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = tr_live_read(live, explain, &reader);
    if (error != 0) {
        return error;
    }
    error = tr_executions_get(reader, execution, copy);
    if (error == 0) {
        error = tr_graphs_read(reader, copy->row.graph, graph);
        if (error != 0) {
            tr_executions_row_fini(copy);
        }
    }
    tr_live_read_end(live);
    return error;
}

/* Whether the value suits a gate of the graph; a graph that grows may have others. */
static int check(const struct tr_graph *graph, struct tr_text workflow,
                 const struct tr_send_answer *answer, char *words)
{
    const struct tr_node *gate = NULL;
    bool may_grow = false;
    int error = tr_gate_find(graph, workflow, answer->id, answer->path, &gate);
    if (error == TR_NOT_FOUND) {
        error = tr_gates_may_grow(graph, workflow, answer->path, &may_grow);
        error = error != 0 || may_grow ? error : TR_NOT_FOUND;
    }
    if (error == 0 && gate != NULL) {
        error = tr_literal_check(tr_gate_type(gate), answer->value) == 0 ? 0 : TR_INVALID;
    }
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        snprintf(words, TR_SERVE_WORDS_BYTES, "%s '%.*s'",
                 error == TR_NOT_FOUND ? "the execution has no gate for"
                                       : "this is no value of the one type of the gates for",
                 TRI_SHOWN(answer->id));
    }
    return error;
}

/* What is taken from the answer of the root. */
struct taking {
    struct tr_answer_sent *sent;
    char *words;
};

static void take(void *self, const struct tr_message *message)
{
    struct taking *taking = self;
    struct tr_signal_sent sent;
    if (tr_message_read(message, signal_sent, &sent) == 0) {
        snprintf(taking->words, TR_SERVE_WORDS_BYTES, "%.*s", TRI_SHOWN(sent.message));
        taking->sent->error = sent.error;
        taking->sent->gates = sent.gates;
    }
}

static int hand_on(struct tr_live *live, const struct tr_send_answer *answer, struct taking *taking)
{
    struct tr_send_signal send = {.id = answer->id,
                                  .path = answer->path,
                                  .value = answer->value,
                                  .by = answer->by,
                                  .message = answer->message};
    int error = tr_live_wake(live, answer->execution);
    if (error != 0) {
        return error;
    }
    taking->sent->error = TR_MALFORMED; /* until an answer is read */
    return tr_query_root(live, answer->execution, &tr_send_signal_schema, &send, take, taking);
}

void tr_serve_answer(struct tr_live *live, const struct tr_send_answer *answer, char *words,
                     struct tr_answer_sent *sent)
{
    struct tr_executions_row copy;
    struct tr_graph *graph = NULL;
    struct taking taking = {.sent = sent, .words = words};
    words[0] = '\0';
    *sent = (struct tr_answer_sent){.error = 0};
    int error = read_graph(live, answer->execution, &copy, &graph);
    if (error == 0) {
        error = check(graph, copy.row.workflow, answer, words);
        tr_graph_free(graph);
        tr_executions_row_fini(&copy);
    }
    if (error == 0) {
        error = hand_on(live, answer, &taking);
    }
    if (error != 0) {
        sent->error = error;
    }
    if (sent->error != 0 && words[0] == '\0') {
        snprintf(words, TR_SERVE_WORDS_BYTES, "the execution did not answer: %s",
                 tr_query_root_error_text((int)sent->error));
    }
    sent->message = tr_text_of(words);
}

int tr_serve_pause(struct tr_live *live, const struct tr_pause_execution *pause)
{
    struct tr_node_pause word = {.is_paused = pause->is_paused, .cause = pause->cause};
    int error = tr_live_wake(live, pause->execution);
    return error != 0
               ? error
               : tr_query_root(live, pause->execution, &tr_node_pause_schema, &word, NULL, NULL);
}
