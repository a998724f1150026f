/*
 * Gates as signals: one is there when its node has begun, and has a value when it was answered.
 */
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_nodes/look_signals.h"
#include "deploy/api_runs/run_values.h"
#include "deploy/common/schemas.h"
#include "deploy/history/gates.h"
#include "deploy/server/serve_gates.h"
#include "schemas/codec/error.h"

static const struct tr_run_field fields[] = {
    {"created_at", "created_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"signal_id", "target", TR_RUN_FIELD_TEXT, false, NULL},
};

static const struct tr_run_list_table table = {.fields = fields,
                                               .field_count = TR_COUNT_OF(fields),
                                               .prefix = "signal.",
                                               .columns_key = "path",
                                               .is_key_text = true};

/* ------------------------------------------------------------- lists */

struct listing {
    struct tr_look *look;
    struct tr_run_list list;
    Flyteidl__Admin__SignalList *answer;
    struct tri_vector signals;
    struct tr_run_place last;
    bool has_more;
};

/* What an approval is, which its node does not give on. */
static Flyteidl__Core__Literal *yes(struct tr_desk_job *job)
{
    Flyteidl__Core__Literal *literal =
        tr_flyte_message_new(&job->arena, &flyteidl__core__literal__descriptor);
    Flyteidl__Core__Scalar *scalar =
        tr_flyte_message_new(&job->arena, &flyteidl__core__scalar__descriptor);
    Flyteidl__Core__Primitive *primitive =
        tr_flyte_message_new(&job->arena, &flyteidl__core__primitive__descriptor);
    if (literal == NULL || scalar == NULL || primitive == NULL) {
        return NULL;
    }
    primitive->boolean = true;
    primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_BOOLEAN;
    scalar->primitive = primitive;
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
    literal->scalar = scalar;
    literal->value_case = FLYTEIDL__CORE__LITERAL__VALUE_SCALAR;
    return literal;
}

/* What it was answered: an approval is true, and a signal's value is what its node gives. */
static bool add_value(struct tr_look *look, const struct tr_look_node *node,
                      Flyteidl__Admin__Signal *signal)
{
    Flyteidl__Core__LiteralMap *outputs;
    struct tr_values_request values = {.reader = look->job->reader,
                                       .graph = node->stop.graph,
                                       .workflow = TR_GRAPH_NONE,
                                       .stop = &node->stop,
                                       .execution = look->found.row.execution,
                                       .path = node->path,
                                       .side = TR_VALUE_OUTPUTS};
    if (node->row.phase != TR_NODE_PHASE_SUCCEEDED) {
        return true;
    }
    if (!tr_run_values_write(look->job, &values, &outputs)) {
        return false;
    }
    signal->value = outputs->n_literals > 0 ? outputs->literals[0]->value
                    : node->stop.workflow->nodes[node->stop.node].kind == TR_NODE_APPROVE
                        ? yes(look->job)
                        : NULL;
    return true;
}

static Flyteidl__Admin__Signal *view_gate(struct tr_look *look, const struct tr_node *gate)
{
    struct tr_desk_job *job = look->job;
    Flyteidl__Admin__Signal *signal =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__signal__descriptor);
    Flyteidl__Core__SignalIdentifier *id =
        tr_flyte_message_new(&job->arena, &flyteidl__core__signal_identifier__descriptor);
    tr_execution_id *execution = tr_flyte_message_new(
        &job->arena, &flyteidl__core__workflow_execution_identifier__descriptor);
    if (signal == NULL || id == NULL || execution == NULL) {
        return NULL;
    }
    execution->project = tr_view_text(job, look->found.row.project);
    execution->domain = tr_view_text(job, look->found.row.domain);
    execution->name = tr_view_text(job, look->found.row.name);
    id->signal_id = tr_view_text(job, gate->signal_id);
    id->execution_id = execution;
    signal->id = id;
    signal->type = tr_flyte_message_of_type(&job->arena, tr_gate_type(gate));
    return signal;
}

static Flyteidl__Admin__Signal *view(struct tr_look *look, const struct tr_look_node *node)
{
    Flyteidl__Admin__Signal *signal = view_gate(look, &node->stop.workflow->nodes[node->stop.node]);
    return signal != NULL && add_value(look, node, signal) ? signal : NULL;
}

static int take_gate(void *self, const void *value)
{
    struct listing *listing = self;
    struct tr_arena *arena = &listing->look->job->arena;
    struct tr_look_node node = {.row = *(const struct tr_node_status *)value};
    struct tr_run_place place = {.number = node.row.created_ms, .key_text = node.row.path};
    int error = tr_route_find(&listing->look->route, node.row.path, &node.stop);
    if (error != 0 || tr_run_list_is_before(&listing->list, &place)) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (listing->signals.count >= listing->list.limit) {
        listing->has_more = true;
        return TR_CLOSED; /* the page is full */
    }
    error = tr_schemas_row_keep(arena, &tr_node_status_schema, &node.row);
    node.path = place.key_text = node.row.path;
    listing->last = place;
    Flyteidl__Admin__Signal **added = tri_vector_add(arena, &listing->signals, sizeof(void *));
    if (error != 0 || added == NULL) {
        return error != 0 ? error : TR_MEMORY;
    }
    *added = view(listing->look, &node);
    return *added == NULL ? TR_FAILED : 0;
}

void tr_look_signals_list(struct tr_look *look, const struct tr_run_list_request *request)
{
    struct tr_desk_job *job = look->job;
    struct listing listing = {.look = look};
    struct tr_run_list *list = &listing.list;
    listing.answer = tr_flyte_message_new(&job->arena, &flyteidl__admin__signal_list__descriptor);
    if (listing.answer == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    if (!tr_run_list_read(job, &table, request, list)) {
        return;
    }
    tr_run_list_add(list,
                    tr_filter_number("execution", TR_FILTER_EQUAL, look->found.row.execution));
    tr_run_list_add(list, tr_filter_text("kind", TR_FILTER_AMONG, tr_text_of("approve,signal")));
    struct tr_reader_query query = {.record = &tr_node_status_schema,
                                    .filters = list->filters,
                                    .filter_count = list->filter_count,
                                    .order = {list->order[0], list->order[1], list->order[2]}};
    int error = tr_reader_rows(job->reader, &query, take_gate, &listing);
    if (error == TR_FAILED) {
        if (job->words == NULL) {
            tr_desk_answer(job, NULL);
        }
        return; /* it was told why */
    }
    if (tr_desk_failed(job, error == TR_CLOSED && listing.has_more ? 0 : error)) {
        return;
    }
    listing.answer->n_signals = listing.signals.count;
    listing.answer->signals = listing.signals.items;
    if (listing.has_more) {
        listing.answer->token = tr_run_list_token(job, list, &listing.last);
    }
    tr_desk_answer(job, &listing.answer->base);
}

/* ------------------------------------------------------------- one of them */

/* The gate of an id; those that a task may still bring along are not known yet. */
static const struct tr_node *find_gate(struct tr_look *look, const char *word)
{
    const struct tr_node *gate = NULL;
    struct tr_text id = tr_text_of(word);
    int error = tr_gate_find(look->graph, look->found.row.workflow, id, tr_text_of(""), &gate);
    for (uint32_t i = 0; error == TR_NOT_FOUND; i++) {
        const struct tr_graph *graph;
        struct tr_text path;
        int next = tr_decided_get(&look->decided, i, &path, &graph);
        if (next == TR_LIMIT) {
            break;
        }
        error = next != 0 ? error
                          : tr_gate_find(graph, graph->workflows[graph->main_workflow].name, id,
                                         tr_text_of(""), &gate);
    }
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        tr_desk_fail(look->job, error == TR_INVALID ? TR_API_INVALID_ARGUMENT : TR_API_NOT_FOUND,
                     error == TR_INVALID ? "the gates '%.200s' take values of different types"
                                         : "the execution has no signal '%.200s'",
                     word);
        return NULL;
    }
    return tr_desk_failed(look->job, error) ? NULL : gate;
}

struct answered {
    struct tr_look *look;
    Flyteidl__Admin__Signal *signal; /* with its value; NULL: it has none yet */
};

static int take_answered(void *self, const void *value)
{
    struct answered *answered = self;
    struct tr_look_node node = {.row = *(const struct tr_node_status *)value};
    int error = tr_route_find(&answered->look->route, node.row.path, &node.stop);
    if (error == 0 && answered->signal == NULL && node.row.phase == TR_NODE_PHASE_SUCCEEDED) {
        node.path = node.row.path;
        answered->signal = view(answered->look, &node);
        error = answered->signal == NULL ? TR_FAILED : 0;
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

/* False: the job has failed. */
static bool find_answered(struct tr_look *look, const char *word, struct answered *answered)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, look->found.row.execution),
        tr_filter_text("kind", TR_FILTER_AMONG, tr_text_of("approve,signal")),
        tr_filter_text("target", TR_FILTER_EQUAL, tr_text_of(word)),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    *answered = (struct answered){.look = look};
    int error = tr_reader_rows(look->job->reader, &query, take_answered, answered);
    if (error == TR_FAILED) {
        if (look->job->words == NULL) {
            tr_desk_answer(look->job, NULL);
        }
        return false; /* it was told why */
    }
    return !tr_desk_failed(look->job, error);
}

void tr_look_signal_get(struct tr_look *look,
                        const Flyteidl__Admin__SignalGetOrCreateRequest *request)
{
    struct tr_desk_job *job = look->job;
    struct answered answered;
    const struct tr_node *gate = find_gate(look, request->id->signal_id);
    Flyteidl__Admin__Signal *signal = gate == NULL ? NULL : view_gate(look, gate);
    if (gate == NULL) {
        return;
    }
    if (signal == NULL || signal->type == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    if (request->type != NULL && request->type->type_case != signal->type->type_case) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "the signal '%.200s' has another type",
                     request->id->signal_id);
        return;
    }
    if (find_answered(look, request->id->signal_id, &answered)) {
        signal = answered.signal != NULL ? answered.signal : signal;
        tr_desk_answer(job, &signal->base);
    }
}

/* ------------------------------------------------------------- an answer */

struct setting {
    struct tr_send_answer answer;
    struct tr_text execution;
};

/* TR_INVALID: no value of the gate. */
static void tell(struct tr_desk_job *job, int error, const char *words)
{
    enum tr_api_code code = error == TR_NOT_FOUND  ? TR_API_NOT_FOUND
                            : error == TR_INVALID  ? TR_API_INVALID_ARGUMENT
                            : error == TR_EXISTS   ? TR_API_ALREADY_EXISTS
                            : error == TR_NO_ACTOR ? TR_API_FAILED_PRECONDITION
                                                   : TR_API_UNAVAILABLE;
    tr_desk_fail(job, code, "%s", words);
}

static void carry_out(struct tr_desk_job *job, struct tr_live *live)
{
    const struct setting *setting = job->order;
    struct tr_answer_sent sent;
    char words[TR_SERVE_WORDS_BYTES];
    int error = tr_desk_audit(job, tr_text_of(""));
    if (error == 0) {
        tr_serve_answer(live, &setting->answer, words, &sent);
    }
    if (error != 0) {
        tr_desk_fail(job, TR_API_UNAVAILABLE, "%s", tr_error_text(error));
    } else if (sent.error != 0) {
        tell(job, (int)sent.error, words);
    } else {
        Flyteidl__Admin__SignalSetResponse *response =
            tr_flyte_message_new(&job->arena, &flyteidl__admin__signal_set_response__descriptor);
        tr_desk_answer(job, response == NULL ? NULL : &response->base);
    }
    tr_desk_finish(job);
}

void tr_look_signal_set(struct tr_look *look, const Flyteidl__Admin__SignalSetRequest *request)
{
    struct tr_desk_job *job = look->job;
    const struct tr_execution *row = &look->found.row;
    const struct tr_node *gate = find_gate(look, request->id->signal_id);
    struct setting *setting = tr_arena_alloc(&job->arena, sizeof *setting);
    struct tr_bytes value;
    if (gate == NULL || setting == NULL || request->value == NULL) {
        if (gate != NULL) {
            tr_desk_fail(job, setting == NULL ? TR_API_UNAVAILABLE : TR_API_INVALID_ARGUMENT,
                         "there is no value");
        }
        return;
    }
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        tr_desk_fail(job, TR_API_FAILED_PRECONDITION, "'%.*s' is over: it is %s",
                     TRI_SHOWN(row->name), tr_execution_phase_word(row->phase));
        return;
    }
    if (tr_run_literal_read(job, request->id->signal_id, tr_gate_type(gate), request->value,
                            &value)) {
        *setting = (struct setting){
            .answer = {.execution = row->execution,
                       .id = tr_text_of(request->id->signal_id),
                       .path = tr_text_of(""),
                       .value = value,
                       .by = tr_text_of(job->principal[0] != '\0' ? job->principal : "SetSignal"),
                       .message = tr_text_of("")}};
        job->order = setting;
        tr_desk_order(job, carry_out);
    }
}
