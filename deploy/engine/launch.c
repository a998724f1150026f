/*
 * Launching: the name, the graph in the store and in the graph registry, the launcher's answer.
 */
#include "deploy/engine/launch.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/labels.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/slot.h"
#include "actors/services/launch.h"
#include "deploy/engine/launchers.h"
#include "deploy/engine/query_root.h"
#include "deploy/history/executions.h"
#include "runtime/host/host.h"

/* How often a name that was made is made again because it exists. */
#define TRIES_MAX 8

#define RANDOM_LETTERS 5

/* An order whose graph is in the graph registry. */
struct begun {
    const struct tr_order *order;
    const struct tr_graph *graph;
};

/* --------------------------------------------------------------------------- names */

bool tr_execution_name_is_good(struct tr_text name)
{
    if (name.size == 0 || name.size >= TR_EXECUTION_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        char letter = name.data[i];
        bool is_letter =
            (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
        bool is_more = (letter >= '0' && letter <= '9') || letter == '-';
        if (!is_letter && (i == 0 || !is_more)) {
            return false;
        }
    }
    return true;
}

void tr_execution_name_make(struct tr_text workflow, uint64_t random,
                            char name[TR_EXECUTION_NAME_BYTES])
{
    /* Without letters and digits that look alike. */
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    size_t most = TR_EXECUTION_NAME_BYTES - RANDOM_LETTERS - 2;
    size_t size = tr_launch_name_begin(workflow, name, most);
    name[size++] = '-';
    for (size_t i = 0; i < RANDOM_LETTERS; i++) {
        name[size++] = letters[random % (sizeof letters - 1)];
        random /= sizeof letters - 1;
    }
    name[size] = '\0';
}

/* ----------------------------------------------------------------- what is ordered */

/* Whether bytes are what the inputs of a workflow look like. */
static int check_inputs(const struct tr_variables *variables, struct tr_bytes slots)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    int error = cursor.error != 0 ? cursor.error : count == variables->count ? 0 : TR_INVALID;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        struct tr_offloaded where;
        error = cursor.error;
        if (error == 0 && !tr_slot_is_offloaded(slot, &where)) {
            error = tr_literal_check(variables->items[i].type, slot);
        }
    }
    return error == 0 && tr_cursor_left(&cursor) > 0 ? TR_MALFORMED : error;
}

int tr_order_check(const struct tr_order *order)
{
    const struct tr_graph *graph = order->graph;
    bool is_in_graph = order->workflow < graph->workflow_count &&
                       (order->plan == TR_GRAPH_NONE || order->plan < graph->plan_count);
    if (!is_in_graph || order->cache_mode > TR_CACHE_OFF || !tr_labels_are_good(order->labels)) {
        return TR_INVALID;
    }
    return check_inputs(&graph->workflows[order->workflow].interface.inputs, order->inputs);
}

/* ------------------------------------------------------------------------ launching */

/* Whether the history knows a name: then it is the outcome. */
static int look_up(struct tr_live *live, const struct begun *begun,
                   struct tr_launch_outcome *outcome)
{
    struct tr_reader *reader;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    explain[0] = '\0';
    int error = tr_live_read(live, explain, &reader);
    if (error != 0) {
        snprintf(outcome->message, sizeof outcome->message, "%s",
                 explain[0] != '\0' ? explain : tr_error_text(error));
        return error;
    }
    struct tr_executions_row copy;
    error = tr_executions_named(reader, begun->graph->project, begun->graph->domain,
                                tr_text_of(outcome->name), &copy);
    tr_live_read_end(live);
    if (error == TR_NOT_FOUND) {
        return 0;
    }
    if (error == 0) {
        outcome->execution = copy.row.execution;
        snprintf(outcome->message, sizeof outcome->message,
                 "there is an execution %s already (%s); choose another name, or --if-new to "
                 "follow that one",
                 outcome->name, tr_execution_phase_word(copy.row.phase));
        tr_executions_row_fini(&copy);
        error = TR_EXISTS;
    }
    return error;
}

/* A question to a launcher, and what comes of it. */
struct asking {
    struct tr_live *live;
    struct tr_ref launcher;
    uint64_t ended_count; /* as in the launch */
    bool is_late;         /* it is to be looked up and asked again */
    struct tr_launch_outcome *outcome;
};

/* What the launcher says. */
static void take_launched(void *self, const struct tr_message *message)
{
    struct asking *asking = self;
    struct tr_launch_outcome *outcome = asking->outcome;
    struct tr_launched launched;
    if (tr_message_read(message, launched, &launched) != 0) {
        return;
    }
    asking->is_late =
        tr_live_is_late(asking->live, asking->launcher, asking->ended_count, &launched);
    outcome->execution = launched.execution.key.group;
    outcome->is_new = launched.error == 0;
    outcome->is_busy = launched.error == TR_BUSY;
    if (launched.error != 0) {
        snprintf(outcome->message, sizeof outcome->message, "%s: %.*s",
                 tr_error_text((int)launched.error), (int)launched.message.size,
                 launched.message.data);
    }
}

/* The launcher has been asked and may yet do it. */
static void explain_silence(const struct tr_live *live, int error,
                            struct tr_launch_outcome *outcome)
{
    const char *words = tr_host_explain(live->host);
    if (words[0] != '\0') {
        snprintf(outcome->message, sizeof outcome->message, "%s", words);
    } else if (error == TR_CLOSED) {
        snprintf(outcome->message, sizeof outcome->message,
                 "the engine was told to end; `troupe list` says whether it goes on with the next");
    } else if (tr_host_waits_for(live->host) != 0) {
        snprintf(outcome->message, sizeof outcome->message,
                 "the store %.200s cannot be written now: %s; it may begin when it can be",
                 live->folder, tr_error_text(error));
    } else {
        snprintf(outcome->message, sizeof outcome->message, "the engine did not answer: %s",
                 tr_error_text(error));
    }
}

/* One question to the launcher. */
static int ask_once(struct tr_live *live, const struct begun *begun, struct asking *asking)
{
    const struct tr_order *order = begun->order;
    const struct tr_graph *graph = begun->graph;
    struct tr_launch_outcome *outcome = asking->outcome;
    struct tr_launch launch = {
        .name = tr_text_of(outcome->name),
        .graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = order->workflow,
        .plan = order->plan,
        .inputs = order->inputs,
        .cache_mode = order->cache_mode,
        .cause = order->cause,
        .recovery = order->recovery,
        .labels = order->labels,
        .request = order->request,
        .ended_count = asking->ended_count,
    };
    asking->is_late = false;
    int error = tr_host_ask(live->host, asking->launcher, &tr_launch_schema, &launch, 0,
                            take_launched, asking);
    if (error != 0) {
        explain_silence(live, error, outcome);
        return error;
    }
    return outcome->is_new ? 0 : outcome->is_busy ? TR_BUSY : TR_EXISTS;
}

/* A shard says how many have ended: the history is looked at behind that. */
static int ask_launcher(struct tr_live *live, const struct begun *begun,
                        struct tr_launch_outcome *outcome)
{
    const struct tr_order *order = begun->order;
    const struct tr_graph *graph = begun->graph;
    const struct tr_plan *plan = order->plan == TR_GRAPH_NONE ? NULL : &graph->plans[order->plan];
    struct asking asking = {.live = live, .is_late = true, .outcome = outcome};
    int error = tr_live_launcher(live, graph->project, graph->domain, plan,
                                 tr_text_of(outcome->name), &asking.launcher);
    if (error != 0) {
        explain_silence(live, error, outcome);
        return error;
    }
    for (unsigned i = 0; asking.is_late && i < TRIES_MAX; i++) {
        asking.ended_count = tr_live_ended_count(live, asking.launcher);
        error = asking.ended_count == 0 ? 0 : look_up(live, begun, outcome);
        if (error != 0) {
            return error;
        }
        error = ask_once(live, begun, &asking);
    }
    return error;
}

/* Keeps the graph and asks the launcher, while it is in the graph registry. */
static int begin(struct tr_live *live, const struct begun *begun, struct tr_launch_outcome *outcome)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_live_keep_graph(live, begun->graph, words);
    if (error != 0) {
        snprintf(outcome->message, sizeof outcome->message, "%s", words);
        return error;
    }
    return ask_launcher(live, begun, outcome);
}

/* Finds a name that nobody has, and begins under it. */
static int begin_named(struct tr_live *live, const struct begun *begun,
                       struct tr_launch_outcome *outcome)
{
    const struct tr_order *order = begun->order;
    const struct tr_graph *graph = begun->graph;
    struct tr_text workflow = order->plan != TR_GRAPH_NONE ? graph->plans[order->plan].name
                                                           : graph->workflows[order->workflow].name;
    int error = TR_EXISTS;
    for (unsigned i = 0; error == TR_EXISTS && i < TRIES_MAX; i++) {
        if (order->name.size == 0) {
            tr_execution_name_make(workflow, tri_entropy(live->host->env), outcome->name);
        }
        error = look_up(live, begun, outcome);
        if (error == 0) {
            error = begin(live, begun, outcome);
        }
        if (order->name.size > 0) {
            break;
        }
    }
    return error;
}

int tr_live_launch(struct tr_live *live, const struct tr_order *order,
                   struct tr_launch_outcome *outcome)
{
    uint64_t number;
    *outcome = (struct tr_launch_outcome){.is_new = false};
    snprintf(outcome->name, sizeof outcome->name, "%.*s", (int)order->name.size, order->name.data);
    if (order->name.size > 0 && !tr_execution_name_is_good(order->name)) {
        snprintf(outcome->message, sizeof outcome->message,
                 "'%.80s' is no name for an execution; write letters, digits, _ and -, a letter "
                 "or _ first, at most %d",
                 outcome->name, TR_EXECUTION_NAME_BYTES - 1);
        tr_graph_free(order->graph);
        return TR_INVALID;
    }
    int error = tr_graph_registry_put(&live->engine->registry, order->graph, &number);
    if (error != 0) {
        snprintf(outcome->message, sizeof outcome->message, "the definition has no place: %s",
                 tr_error_text(error));
        return error;
    }
    /* An equal one that was there has taken the place of ours. */
    struct begun begun = {.order = order,
                          .graph = tr_graph_registry_find(&live->engine->registry, number)};
    error = begin_named(live, &begun, outcome);
    tr_graph_registry_drop(&live->engine->registry, number);
    return error;
}

int tr_live_abort_kept(struct tr_live *live, uint64_t execution, struct tr_text cause, bool is_hard)
{
    struct tr_node_abort abort = {
        .phase = TR_NODE_PHASE_ABORTED, .cause = cause, .is_hard = is_hard};
    int error = tr_query_root(live, execution, &tr_node_abort_schema, &abort, NULL, NULL);
    return error == TR_NO_ACTOR ? 0 : error; /* it has ended meanwhile */
}
