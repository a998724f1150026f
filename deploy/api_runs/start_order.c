/*
 * The engine's part. Nothing here waits: the launcher and the roots are asked, and answer when what
 * they did is committed.
 *
 * A name is looked up in the history, and the launcher knows those that live. Between the two an
 * execution may begin and end, unseen by either. So one that wants a name for which another one is
 * on its way waits until that has been answered, and looks then.
 */
#include <stdio.h>
#include <string.h>

#include "actors/engine.h"
#include "actors/graph/compiled/pack.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/services/launch.h"
#include "actors/store/graph_registry.h"
#include "deploy/api_runs/start_inside.h"
#include "deploy/common/clock.h"
#include "deploy/engine/query_root.h"
#include "runtime/host/host.h"
#include "schemas/codec/error.h"

/* Letters of a name that is made, of 5 bits each. */
#define LETTERS 12

/* How often a name that was made is made again because it exists. */
#define TRIES_MAX 4

/* ------------------------------------------------------------- the end of a start */

static void carry_out(struct tr_desk_job *job, struct tr_live *live);

/* Answers, lets go of the graph, and lets those look that waited for the name. */
static void finish(struct tr_desk_job *job, struct tr_live *live)
{
    struct tri_start *start = job->order;
    struct tr_desk_job *waiting = start->waiting;
    if (start->graph != 0) {
        tr_graph_registry_drop(&live->engine->registry, start->graph);
        start->graph = 0; /* nobody waits for its name any more */
    }
    tr_desk_finish(job);
    while (waiting != NULL) {
        struct tr_desk_job *next = ((struct tri_start *)waiting->order)->waiting;
        ((struct tri_start *)waiting->order)->waiting = NULL;
        carry_out(waiting, live);
        waiting = next;
    }
}

static void fail(struct tr_desk_job *job, struct tr_live *live, int error, const char *words)
{
    enum tr_api_code code = error == TR_EXISTS                      ? TR_API_ALREADY_EXISTS
                            : error == TR_INVALID                   ? TR_API_INVALID_ARGUMENT
                            : error == TR_BUSY || error == TR_LIMIT ? TR_API_RESOURCE_EXHAUSTED
                                                                    : TR_API_UNAVAILABLE;
    tr_desk_fail(job, code, "%s", words[0] != '\0' ? words : tr_error_text(error));
    finish(job, live);
}

static void answer(struct tr_desk_job *job, struct tr_live *live)
{
    const struct tri_start *start = job->order;
    Flyteidl__Admin__ExecutionCreateResponse *response =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_create_response__descriptor);
    tr_execution_id *id = tr_flyte_message_new(
        &job->arena, &flyteidl__core__workflow_execution_identifier__descriptor);
    if (response != NULL && id != NULL) {
        id->project = tr_view_text(job, start->project);
        id->domain = tr_view_text(job, start->domain);
        id->name = tr_view_text(job, tr_text_of(start->name));
        response->id = id;
    }
    tr_desk_answer(job, response == NULL ? NULL : &response->base);
    finish(job, live);
}

/* ------------------------------------------------------------- the name */

/* "flow-" and letters that look alike to nobody. */
static void make_name(const struct tr_live *live, struct tri_start *start)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    uint64_t random = tri_entropy(live->host->env);
    size_t size =
        tr_launch_name_begin(start->called, start->name, TR_EXECUTION_NAME_BYTES - LETTERS - 2);
    start->name[size++] = '-';
    for (size_t i = 0; i < LETTERS; i++) {
        start->name[size++] = letters[random % 32];
        random /= 32;
    }
    start->name[size] = '\0';
}

/* Whether the history knows the name: TR_EXISTS, with words. */
static int look_up(struct tr_live *live, const struct tri_start *start, char *words)
{
    struct tr_reader *reader;
    struct tr_executions_row copy;
    int error = tr_live_read(live, words, &reader);
    if (error != 0) {
        return error;
    }
    error =
        tr_executions_named(reader, start->project, start->domain, tr_text_of(start->name), &copy);
    tr_live_read_end(live);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES, "there is an execution '%s' already (%s)",
                   start->name, tr_execution_phase_word(copy.row.phase));
    tr_executions_row_fini(&copy);
    return TR_EXISTS;
}

/* Whether another one is on its way to this name; then it waits for that. */
static bool waits_for_another(struct tr_desk_job *job)
{
    struct tri_start *start = job->order;
    for (struct tr_desk_job *other = tr_desk_at_engine(job->desk); other != NULL;
         other = other->before) {
        struct tri_start *first = other->order;
        bool is_start = other != job && other->carry_out == carry_out && first->graph != 0;
        if (is_start && strcmp(first->name, start->name) == 0 &&
            tr_text_equal(first->project, start->project) &&
            tr_text_equal(first->domain, start->domain)) {
            start->waiting = first->waiting;
            first->waiting = job;
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------- the launch */

/* Holds the graph, and keeps it in the store. */
static int keep_graph(struct tr_live *live, struct tri_start *start)
{
    struct tr_graph *graph;
    const uint8_t *hash = start->row.data;
    struct tr_bytes packed = {.data = hash + TR_GRAPH_HASH_BYTES,
                              .size = start->row.size - TR_GRAPH_HASH_BYTES};
    int error = 0;
    if (tr_graph_registry_share(&live->engine->registry, hash)) {
        start->graph = tr_graph_number(hash);
    } else {
        error = tr_graph_unpack(packed, &graph);
        if (error == 0) {
            memcpy(graph->hash, hash, TR_GRAPH_HASH_BYTES);
            error = tr_graph_registry_put(&live->engine->registry, graph, &start->graph);
        }
    }
    return error != 0 ? error : tr_host_put_graph(live->host, start->row, tr_clock_wall_ms());
}

/* Its launch plan, or NULL; one that the graph does not have its launcher refuses. */
static const struct tr_plan *plan_of(struct tr_live *live, const struct tri_start *start)
{
    const struct tr_graph *graph = tr_graph_registry_find(&live->engine->registry, start->graph);
    return graph == NULL || start->plan >= graph->plan_count ? NULL : &graph->plans[start->plan];
}

static void take_launched(void *self, const struct tr_message *message, int reason);

/*
 * A shard says how many have ended: the history is looked at behind that
 * (actors/services/launcher.c). A name that was made is nobody else's.
 */
static int look_up_late(struct tr_live *live, struct tri_start *start, char *words)
{
    start->ended_count = start->is_named ? tr_live_ended_count(live, start->launcher) : 0;
    return start->ended_count == 0 ? 0 : look_up(live, start, words);
}

static int ask(struct tr_desk_job *job, struct tr_live *live, char *words)
{
    struct tri_start *start = job->order;
    struct tr_launch launch = {
        .name = tr_text_of(start->name),
        .graph = {.data = start->row.data, .size = TR_GRAPH_HASH_BYTES},
        .workflow = start->workflow,
        .plan = start->plan,
        .inputs = start->inputs,
        .cache_mode = start->cache_mode,
        .cause = start->cause,
        .recovery = start->recovery,
        .labels = start->labels,
        .request = start->request,
    };
    int error = tr_live_launcher(live, start->project, start->domain, plan_of(live, start),
                                 launch.name, &start->launcher);
    if (error == 0) {
        error = look_up_late(live, start, words);
    }
    if (error == 0) {
        error = tr_desk_audit(job, launch.name);
    }
    launch.ended_count = start->ended_count;
    return error != 0 ? error
                      : tr_host_ask_on(live->host, start->launcher, &tr_launch_schema, &launch,
                                       take_launched, job);
}

static void take_launched(void *self, const struct tr_message *message, int reason)
{
    struct tr_desk_job *job = self;
    struct tri_start *start = job->order;
    struct tr_live *live = tr_desk_live(job->desk);
    struct tr_launched launched = {.error = reason};
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = reason;
    bool is_late = false;
    if (message != NULL) {
        error = tr_message_read(message, launched, &launched);
        is_late =
            error == 0 && tr_live_is_late(live, start->launcher, start->ended_count, &launched);
        error = error != 0 ? error : (int)launched.error;
        (void)snprintf(words, sizeof words, "%.*s", TRI_SHOWN(launched.message));
    }
    if (error == 0) {
        answer(job, live);
        return;
    }
    bool is_taken = error == TR_EXISTS && !start->is_named;
    if ((is_taken || is_late) && start->tries++ < TRIES_MAX) {
        if (is_taken) {
            make_name(live, start);
        }
        error = ask(job, live, words);
        if (error == 0) {
            return;
        }
    }
    fail(job, live, error, words);
}

static void carry_out(struct tr_desk_job *job, struct tr_live *live)
{
    struct tri_start *start = job->order;
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = 0;
    if (start->is_named && waits_for_another(job)) {
        return;
    }
    if (start->is_named) {
        error = look_up(live, start, words);
    } else {
        make_name(live, start);
    }
    if (error == 0) {
        error = keep_graph(live, start);
    }
    if (error == 0) {
        error = ask(job, live, words);
    }
    if (error != 0) {
        fail(job, live, error, words);
    }
}

void tri_start_order(struct tr_desk_job *job, struct tri_start *start)
{
    job->order = start;
    tr_desk_order(job, carry_out);
}

/* ------------------------------------------------------------- ending */

static void tell_over(struct tr_desk_job *job)
{
    const struct tri_ending *ending = job->order;
    tr_desk_fail(job, TR_API_FAILED_PRECONDITION, "'%.*s' is over", TRI_SHOWN(ending->name));
}

static void take_ended(void *self, const struct tr_message *message, int reason)
{
    struct tr_desk_job *job = self;
    Flyteidl__Admin__ExecutionTerminateResponse *response =
        message == NULL
            ? NULL
            : tr_flyte_message_new(&job->arena,
                                   &flyteidl__admin__execution_terminate_response__descriptor);
    if (message != NULL) {
        tr_desk_answer(job, response == NULL ? NULL : &response->base);
    } else if (reason == TR_NO_ACTOR) {
        tell_over(job);
    } else {
        tr_desk_fail(job, TR_API_UNAVAILABLE, "%s", tr_query_root_error_text(reason));
    }
    tr_desk_finish(job);
}

static void carry_out_end(struct tr_desk_job *job, struct tr_live *live)
{
    const struct tri_ending *ending = job->order;
    struct tr_node_abort abort = {.phase = TR_NODE_PHASE_ABORTED, .cause = ending->cause};
    int error = tr_host_is_aside(live->host, ending->execution)
                    ? TR_CLOSED
                    : tr_live_wake(live, ending->execution);
    if (error == 0) {
        error = tr_desk_audit(job, tr_text_of(""));
    }
    if (error == 0) {
        error = tr_host_ask_on(live->host, tr_group_root(ending->execution), &tr_node_abort_schema,
                               &abort, take_ended, job);
    }
    if (error != 0) {
        tr_desk_fail(job, TR_API_UNAVAILABLE, "%s", tr_query_root_error_text(error));
        tr_desk_finish(job);
    }
}

void tri_start_order_end(struct tr_desk_job *job, struct tri_ending *ending)
{
    job->order = ending;
    tr_desk_order(job, carry_out_end);
}

/* ------------------------------------------------------------- archiving */

static void take_archived(void *self, const struct tr_message *message, int reason)
{
    struct tr_desk_job *job = self;
    if (message == NULL) {
        tr_desk_fail(job, TR_API_UNAVAILABLE, "%s", tr_error_text(reason));
    } else {
        Flyteidl__Admin__ExecutionUpdateResponse *response = tr_flyte_message_new(
            &job->arena, &flyteidl__admin__execution_update_response__descriptor);
        tr_desk_answer(job, response == NULL ? NULL : &response->base);
    }
    tr_desk_finish(job);
}

static void carry_out_archive(struct tr_desk_job *job, struct tr_live *live)
{
    const struct tri_archiving *archiving = job->order;
    struct tr_ref launcher;
    struct tr_archive_execution archive = {.execution = archiving->execution,
                                           .is_archived = archiving->is_archived,
                                           .changed_ms = tr_clock_wall_ms()};
    int error = tr_live_launcher(live, archiving->project, archiving->domain, NULL, tr_text_of(""),
                                 &launcher);
    if (error == 0) {
        error = tr_desk_audit(job, tr_text_of(""));
    }
    if (error == 0) {
        error = tr_host_ask_on(live->host, launcher, &tr_archive_execution_schema, &archive,
                               take_archived, job);
    }
    if (error != 0) {
        tr_desk_fail(job, TR_API_UNAVAILABLE, "%s", tr_error_text(error));
        tr_desk_finish(job);
    }
}

void tri_start_order_archive(struct tr_desk_job *job, struct tri_archiving *archiving)
{
    job->order = archiving;
    tr_desk_order(job, carry_out_archive);
}
