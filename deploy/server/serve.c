/*
 * Requests and their answers: a function for each request, found in a table.
 */
#include "deploy/server/serve.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/document/report.h"
#include "deploy/common/program.h"
#include "deploy/engine/launch.h"
#include "deploy/entry/entry.h"
#include "deploy/inputs/runnable.h"
#include "deploy/metrics/metrics.h"
#include "deploy/server/apply_plans.h"
#include "deploy/server/change_schedules.h"
#include "deploy/server/serve_forget.h"
#include "deploy/server/serve_gates.h"
#include "deploy/server/serve_ping.h"
#include "deploy/server/serve_record.h"
#include "deploy/server/serve_tap.h"
#include "deploy/settings/quarantine.h"
#include "deploy/transfer/taking.h"
#include "runtime/memory.h"
#include "schemas/runtime/request.h"

/* How often followers are told that it goes on. */
#define FOLLOWING_MS 500

/* How long a command that said hello may take to ask for something. */
#define AWAITED_MS 5000

/* Numbers of executions in one row of an answer. */
#define DORMANT_IN_A_ROW 4096

/* What is said of a definition that cannot be run; a launch's message is not longer. */
#define PROBLEMS_BYTES_MAX 400

/* A client that waits for an end. */
struct follower {
    struct tri_peer peer;
    uint64_t execution;
    uint64_t monitor;
    uint64_t said_ms;
};

/* A client that said hello and is about to ask for something. */
struct awaited {
    struct tri_peer peer;
    uint64_t end_ms;
};

struct tr_serve {
    struct tr_live *live;
    struct follower followers[TR_SERVE_FOLLOWERS_MAX];
    size_t follower_count;
    struct awaited awaited[TR_SERVE_AWAITED_MAX];
    size_t awaited_count;
    struct tr_serve_taps taps;
    struct tr_serve_records records;
    struct tr_taking *taking;
};

/*
 * The client may have gone meanwhile: then there is nobody to tell. What cannot be said, since
 * it is too large or no text, is a refusal.
 */
static void answer(struct tr_serve *serve, const struct tri_peer *peer,
                   const struct tr_schema *schema, const void *body)
{
    int error = tri_endpoint_answer(serve->live->endpoint, peer, schema, body);
    if (error != 0 && error != TR_NO_CONNECTION && error != TR_BUSY) {
        struct tr_answered answered = {.error = error,
                                       .message = tr_text_of("the answer cannot be said")};
        error = tri_endpoint_answer(serve->live->endpoint, peer, &tr_answered_schema, &answered);
    }
    (void)error;
}

static void finish(struct tr_serve *serve, const struct tri_peer *peer, int error,
                   const char *message)
{
    struct tr_answered answered = {.error = error, .message = tr_text_of(message)};
    answer(serve, peer, &tr_answered_schema, &answered);
}

static bool is_peer(const struct tri_peer *left, const struct tri_peer *right)
{
    return strcmp(left->who, right->who) == 0 && left->size == right->size &&
           memcmp(left->name, right->name, left->size) == 0;
}

/* Beyond so many one more is not awaited: it finds another engine if this one leaves. */
static void await(struct tr_serve *serve, const struct tri_peer *peer)
{
    if (serve->awaited_count < TR_SERVE_AWAITED_MAX) {
        uint64_t end_ms = tr_live_now_ms(serve->live) + AWAITED_MS;
        serve->awaited[serve->awaited_count++] = (struct awaited){.peer = *peer, .end_ms = end_ms};
    }
}

/* Forgets a peer that was awaited (NULL: none), and those whose time is over. */
static void await_no_longer(struct tr_serve *serve, const struct tri_peer *peer)
{
    uint64_t now_ms = tr_live_now_ms(serve->live);
    size_t kept = 0;
    for (size_t i = 0; i < serve->awaited_count; i++) {
        const struct awaited *awaited = &serve->awaited[i];
        bool has_asked = peer != NULL && is_peer(&awaited->peer, peer);
        if (!has_asked && awaited->end_ms > now_ms) {
            serve->awaited[kept++] = *awaited;
        }
    }
    serve->awaited_count = kept;
}

/* ----------------------------------------------------------------- the requests */

static int on_hello(struct tr_serve *serve, const struct tri_peer *peer,
                    const struct tri_request *request)
{
    struct tr_hello hello;
    int error = tr_hello_unpack(request->body, request->version, &hello);
    if (error != 0) {
        return error;
    }
    struct tr_welcome welcome = {
        .program = tr_text_of(TR_PROGRAM_VERSION),
        .command = tr_text_of(serve->live->command),
        .pid = (uint64_t)getpid(),
        .executions = serve->live->dormant.count,
        .jobs = tr_live_jobs(serve->live),
    };
    answer(serve, peer, &tr_welcome_schema, &welcome);
    if (hello.asks_more) {
        await(serve, peer);
    }
    return 0;
}

/* The client that submitted it may know kinds of tasks that this engine does not; says which. */
static bool is_runnable(struct tr_serve *serve, const struct tri_peer *peer,
                        const struct tr_order *order)
{
    struct tr_report report;
    struct tr_buffer words;
    tr_report_init(&report);
    tr_buffer_init(&words, 0);
    int error = tr_graph_check_runnable(order->graph, order->workflow, serve->live->engine,
                                        "the definition", &report);
    for (uint32_t i = 0; i < report.count && words.size < PROBLEMS_BYTES_MAX; i++) {
        tr_buffer_add_string(&words, i == 0 ? "this engine cannot run it: " : "; ");
        tr_problem_print(&report.problems[i], &words);
    }
    if (error != 0) {
        struct tr_submitted submitted = {
            .error = error,
            .message = words.size > 0 ? tr_buffer_text(&words) : tr_text_of(tr_error_text(error)),
        };
        answer(serve, peer, &tr_submitted_schema, &submitted);
    }
    tr_buffer_fini(&words);
    tr_report_fini(&report);
    return error == 0;
}

/* The engine stays for a follower, and tells it of the end. */
static int add_follower(struct tr_serve *serve, const struct tri_peer *peer, uint64_t execution)
{
    for (size_t i = 0; i < serve->follower_count; i++) {
        struct follower *known = &serve->followers[i];
        if (known->execution == execution && is_peer(&known->peer, peer)) {
            known->peer = *peer; /* the answer is to this request */
            return 0;
        }
    }
    if (serve->follower_count == TR_SERVE_FOLLOWERS_MAX) {
        return TR_LIMIT;
    }
    struct follower follower = {.peer = *peer, .execution = execution};
    int error = tr_host_monitor(serve->live->host, tr_group_root(execution), &follower.monitor);
    if (error == 0) {
        serve->followers[serve->follower_count++] = follower;
    }
    return error;
}

static int on_submit(struct tr_serve *serve, const struct tri_peer *peer,
                     const struct tri_request *request)
{
    struct tr_submit submit;
    struct tr_order order = {.graph = NULL};
    struct tr_launch_outcome outcome;
    int error = tr_submit_unpack(request->body, request->version, &submit);
    if (error == 0) {
        error = tr_graph_unpack(submit.graph, &order.graph);
    }
    if (error != 0) {
        return error;
    }
    order.workflow = submit.workflow;
    order.plan = submit.plan;
    order.name = submit.name;
    order.inputs = submit.inputs;
    order.cache_mode = submit.cache_mode;
    order.cause = submit.cause;
    order.recovery = submit.recovery;
    order.labels = submit.labels;
    error = tr_order_check(&order);
    if (error == 0 && !is_runnable(serve, peer, &order)) {
        tr_graph_free(order.graph);
        return 0; /* it was told why */
    }
    if (error != 0) {
        tr_graph_free(order.graph);
        return error;
    }
    error = tr_live_launch(serve->live, &order, &outcome);
    if (error == 0 && submit.is_detached) {
        /* Beyond what is handed over it would sleep when this engine leaves; that is told then. */
        (void)!tr_detached_add(&serve->live->detached, outcome.execution);
    } else if (error == 0) {
        /* He is about to follow; this engine may not leave between the two. */
        (void)!add_follower(serve, peer, outcome.execution);
    }
    struct tr_submitted submitted = {
        .error = error == TR_EXISTS && submit.if_new ? 0 : error,
        .message = tr_text_of(outcome.message),
        .name = tr_text_of(outcome.name),
        .execution = outcome.execution,
        .is_new = outcome.is_new,
    };
    answer(serve, peer, &tr_submitted_schema, &submitted);
    return 0;
}

static int on_follow(struct tr_serve *serve, const struct tri_peer *peer,
                     const struct tri_request *request)
{
    struct tr_follow follow = {.execution = 0};
    int error = tr_follow_unpack(request->body, request->version, &follow);
    if (error == 0 && follow.activates) {
        error = tr_live_wake(serve->live, follow.execution);
    }
    return error != 0 ? error : add_follower(serve, peer, follow.execution);
}

/*
 * Nobody follows what is woken so. Beyond what can be handed over it sleeps again when this engine
 * leaves, and the next one says so.
 */
static void detach_woken(struct tr_live *live, uint64_t execution)
{
    for (uint32_t i = 0; i < live->dormant.count; i++) {
        const struct tr_dormant_execution *entry = &live->dormant.items[i];
        if (entry->is_dormant && (execution == 0 || execution == entry->execution)) {
            (void)!tr_detached_add(&live->detached, entry->execution);
        }
    }
}

static int on_wake(struct tr_serve *serve, const struct tri_peer *peer,
                   const struct tri_request *request)
{
    struct tr_activate_execution wake;
    int error = tr_activate_execution_unpack(request->body, request->version, &wake);
    if (error == 0) {
        detach_woken(serve->live, wake.execution);
        error = tr_live_wake(serve->live, wake.execution);
    }
    if (error == 0) {
        finish(serve, peer, 0, "");
    }
    return error;
}

static int on_lift_aside(struct tr_serve *serve, const struct tri_peer *peer,
                         const struct tri_request *request)
{
    struct tr_lift_aside lift;
    int error = tr_lift_aside_unpack(request->body, request->version, &lift);
    if (error == 0) {
        error = tr_host_lift_aside(serve->live->host, lift.execution);
    }
    if (error == 0) {
        bool is_without = tr_host_is_aside(serve->live->host, lift.execution);
        finish(serve, peer, is_without ? TR_CLOSED : 0, "");
    }
    return error;
}

static int on_release_plugin(struct tr_serve *serve, const struct tri_peer *peer,
                             const struct tri_request *request)
{
    struct tr_release_plugin release;
    char id[TR_ATTRIBUTION_PART_BYTES_MAX];
    int error = tr_release_plugin_unpack(request->body, request->version, &release);
    if (error == 0) {
        snprintf(id, sizeof id, "%.*s", TRI_TEXT(release.plugin));
        error = tr_host_forget_crash_attributions(serve->live->host, tr_quarantine_is_of, id);
    }
    if (error == 0) {
        finish(serve, peer, 0, "");
    }
    return error;
}

static void show_dormant(struct tr_serve *serve, const struct tri_peer *peer,
                         const uint64_t *executions, size_t count)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)executions,
                             .size = count * sizeof *executions};
    answer(serve, peer, &tr_dormant_row_schema, &(struct tr_dormant_row){.executions = bytes});
}

static int on_list_dormant(struct tr_serve *serve, const struct tri_peer *peer,
                           const struct tri_request *request)
{
    const struct tr_dormant *dormant = &serve->live->dormant;
    struct tr_list_dormant list;
    uint64_t numbers[DORMANT_IN_A_ROW];
    size_t count = 0;
    int error = tr_list_dormant_unpack(request->body, request->version, &list);
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < dormant->count; i++) {
        if (dormant->items[i].is_dormant) {
            numbers[count++] = dormant->items[i].execution;
        }
        if (count == DORMANT_IN_A_ROW) {
            show_dormant(serve, peer, numbers, count);
            count = 0;
        }
    }
    if (count > 0) {
        show_dormant(serve, peer, numbers, count);
    }
    finish(serve, peer, 0, "");
    return 0;
}

static int on_stop(struct tr_serve *serve, const struct tri_peer *peer,
                   const struct tri_request *request)
{
    struct tr_stop_execution stop;
    int error = tr_stop_execution_unpack(request->body, request->version, &stop);
    if (error == 0) {
        error = tr_live_wake(serve->live, stop.execution);
    }
    if (error == 0) {
        error = tr_live_abort_kept(serve->live, stop.execution, stop.cause, stop.is_hard);
    }
    if (error == 0) {
        finish(serve, peer, 0, "");
    }
    return error;
}

/* Beyond what is handed over it sleeps when this engine leaves, and the next one says so. */
static int on_detach(struct tr_serve *serve, const struct tri_peer *peer,
                     const struct tri_request *request)
{
    struct tr_detach_execution detach;
    int error = tr_detach_execution_unpack(request->body, request->version, &detach);
    if (error == 0) {
        (void)!tr_detached_add(&serve->live->detached, detach.execution);
        finish(serve, peer, 0, "");
    }
    return error;
}

static int on_answer(struct tr_serve *serve, const struct tri_peer *peer,
                     const struct tri_request *request)
{
    struct tr_send_answer given;
    struct tr_answer_sent sent;
    char words[TR_SERVE_WORDS_BYTES];
    int error = tr_send_answer_unpack(request->body, request->version, &given);
    if (error == 0) {
        tr_serve_answer(serve->live, &given, words, &sent);
        answer(serve, peer, &tr_answer_sent_schema, &sent);
    }
    return error;
}

static int on_pause(struct tr_serve *serve, const struct tri_peer *peer,
                    const struct tri_request *request)
{
    struct tr_pause_execution pause;
    int error = tr_pause_execution_unpack(request->body, request->version, &pause);
    if (error == 0) {
        error = tr_serve_pause(serve->live, &pause);
    }
    if (error == 0) {
        finish(serve, peer, 0, "");
    }
    return error;
}

/* The client that rows are sent to. */
struct showing {
    struct tr_serve *serve;
    const struct tri_peer *peer;
};

static void show_plan(void *self, struct tr_text plan, uint8_t change, uint8_t kind)
{
    const struct showing *showing = self;
    struct tr_plan_applied row = {.plan = plan, .change = change, .kind = kind};
    answer(showing->serve, showing->peer, &tr_plan_applied_schema, &row);
}

static int on_apply_plans(struct tr_serve *serve, const struct tri_peer *peer,
                          const struct tri_request *request)
{
    struct tr_apply_plans apply;
    struct showing showing = {serve, peer};
    struct tr_graph *graph = NULL;
    char explain[TR_APPLY_EXPLAIN_BYTES];
    int error = tr_apply_plans_unpack(request->body, request->version, &apply);
    if (error == 0) {
        error = tr_graph_unpack(apply.graph, &graph);
    }
    if (error == 0) {
        error = tr_live_apply(serve->live, graph, apply.entities, apply.deletes, show_plan,
                              &showing, explain);
        finish(serve, peer, error, explain);
        error = 0;
    }
    return error;
}

static int on_pause_schedule(struct tr_serve *serve, const struct tri_peer *peer,
                             const struct tri_request *request)
{
    struct tr_pause_schedule pause;
    char words[TR_APPLY_EXPLAIN_BYTES];
    int error = tr_pause_schedule_unpack(request->body, request->version, &pause);
    if (error == 0) {
        error = tr_live_pause_schedule(serve->live, &pause, words);
        finish(serve, peer, error, words);
        error = 0;
    }
    return error;
}

static int on_trigger_schedule(struct tr_serve *serve, const struct tri_peer *peer,
                               const struct tri_request *request)
{
    struct tr_trigger_schedule trigger;
    struct tr_launch_outcome outcome;
    int error = tr_trigger_schedule_unpack(request->body, request->version, &trigger);
    if (error != 0) {
        return error;
    }
    error = tr_live_trigger_schedule(serve->live, &trigger, &outcome);
    if (error == 0) {
        /* As of what is submitted and not followed. */
        (void)!tr_detached_add(&serve->live->detached, outcome.execution);
    }
    struct tr_submitted submitted = {
        .error = error,
        .message = tr_text_of(outcome.message),
        .name = tr_text_of(outcome.name),
        .execution = outcome.execution,
        .is_new = outcome.is_new,
    };
    answer(serve, peer, &tr_submitted_schema, &submitted);
    return 0;
}

static void show_actor(void *self, const struct tr_actor_info *actor)
{
    const struct showing *showing = self;
    struct tr_actor_row row = {
        .actor = actor->actor,
        .address = actor->address,
        .behaviour = actor->behaviour,
        .phase = actor->phase,
        .worker = actor->worker,
        .mailbox = actor->mailbox,
        .edges = actor->edges,
        .waiting = actor->waiting,
        .memory = actor->memory,
    };
    answer(showing->serve, showing->peer, &tr_actor_row_schema, &row);
}

static int on_list_actors(struct tr_serve *serve, const struct tri_peer *peer,
                          const struct tri_request *request)
{
    struct tr_list_actors list;
    struct showing showing = {serve, peer};
    uint64_t found = 0;
    char message[64];
    int error = tr_list_actors_unpack(request->body, request->version, &list);
    if (error == 0) {
        uint32_t limit =
            list.limit < TR_ENDPOINT_ANSWERS_MAX / 4 ? list.limit : TR_ENDPOINT_ANSWERS_MAX / 4;
        error =
            tr_host_actors(serve->live->host, list.pattern, limit, show_actor, &showing, &found);
    }
    if (error == 0) {
        snprintf(message, sizeof message, "%llu actors", (unsigned long long)found);
        finish(serve, peer, 0, message);
    }
    return error;
}

/* Actors that are let go on, while they are looked for. */
struct resuming {
    struct showing showing;
    struct tr_ref actors[TR_SERVE_RESUMED_MAX];
    uint32_t count;
};

static void take_quarantined(void *self, const struct tr_actor_info *actor)
{
    struct resuming *resuming = self;
    bool is_still = tr_text_equal(actor->phase, tr_text_of("quarantined"));
    if (is_still && resuming->count < TR_SERVE_RESUMED_MAX) {
        resuming->actors[resuming->count++] = actor->actor;
        show_actor(&resuming->showing, actor);
    }
}

static int on_resume_actors(struct tr_serve *serve, const struct tri_peer *peer,
                            const struct tri_request *request)
{
    struct tr_resume_actors wish;
    struct resuming resuming = {.showing = {serve, peer}};
    char message[64];
    int error = tr_resume_actors_unpack(request->body, request->version, &wish);
    if (error == 0) {
        error = tr_host_actors(serve->live->host, wish.pattern, UINT32_MAX, take_quarantined,
                               &resuming, NULL);
    }
    for (uint32_t i = 0; error == 0 && i < resuming.count; i++) {
        error = tr_host_resume(serve->live->host, resuming.actors[i], wish.drop);
    }
    if (error == 0) {
        snprintf(message, sizeof message, "%u actors go on", resuming.count);
        finish(serve, peer, 0, message);
    }
    return error;
}

static int on_list_metrics(struct tr_serve *serve, const struct tri_peer *peer,
                           const struct tri_request *request)
{
    struct tr_list_metrics list;
    struct tr_metric metrics[TR_METRICS_MAX];
    size_t count = 0;
    int error = tr_list_metrics_unpack(request->body, request->version, &list);
    if (error == 0) {
        error = tr_host_metrics(serve->live->host, metrics, &count);
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        struct tr_metric_row row = {.name = tr_text_of(metrics[i].name),
                                    .about = tr_text_of(metrics[i].text),
                                    .value = metrics[i].value};
        answer(serve, peer, &tr_metric_row_schema, &row);
    }
    if (error == 0) {
        struct tr_metric_row row = {
            .name = tr_text_of("requests_refused"),
            .about = tr_text_of("frames at the engine's socket that were no requests"),
            .value = tri_endpoint_refused(serve->live->endpoint)};
        answer(serve, peer, &tr_metric_row_schema, &row);
        finish(serve, peer, 0, "");
    }
    return error;
}

static int on_expose_metrics(struct tr_serve *serve, const struct tri_peer *peer,
                             const struct tri_request *request)
{
    struct tr_expose_metrics expose;
    struct tr_buffer text;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = tr_expose_metrics_unpack(request->body, request->version, &expose);
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&text, 0);
    error = tr_metrics_text(serve->live, &text, explain);
    if (error == 0) {
        struct tr_metrics_exposed exposed = {.text = tr_buffer_text(&text)};
        answer(serve, peer, &tr_metrics_exposed_schema, &exposed);
    } else {
        finish(serve, peer, error, explain);
    }
    tr_buffer_fini(&text);
    return 0;
}

static int on_ping(struct tr_serve *serve, const struct tri_peer *peer,
                   const struct tri_request *request)
{
    struct tr_ping_engine ping;
    struct tr_engine_pinged pinged;
    int error = tr_ping_engine_unpack(request->body, request->version, &ping);
    if (error == 0) {
        error = tr_serve_ping(serve->live, &pinged);
    }
    if (error == 0) {
        answer(serve, peer, &tr_engine_pinged_schema, &pinged);
    }
    return error;
}

static int on_open_tap(struct tr_serve *serve, const struct tri_peer *peer,
                       const struct tri_request *request)
{
    struct tr_open_tap open;
    char explain[TR_TAP_EXPLAIN_BYTES] = "";
    int error = tr_open_tap_unpack(request->body, request->version, &open);
    if (error != 0) {
        return error;
    }
    error = tr_serve_tap_open(&serve->taps, serve->live, peer, &open, explain);
    if (error != 0) {
        finish(serve, peer, error, explain[0] != '\0' ? explain : tr_error_text(error));
    }
    return 0;
}

static int on_open_recording(struct tr_serve *serve, const struct tri_peer *peer,
                             const struct tri_request *request)
{
    struct tr_open_recording open;
    int error = tr_open_recording_unpack(request->body, request->version, &open);
    if (error != 0) {
        return error;
    }
    error = tr_serve_record_open(&serve->records, serve->live, peer, &open);
    if (error != 0) {
        finish(serve, peer, error,
               error == TR_LIMIT ? "as many recordings are made as may be at once"
                                 : tr_error_text(error));
    }
    return 0;
}

static int on_forget(struct tr_serve *serve, const struct tri_peer *peer,
                     const struct tri_request *request)
{
    struct tr_forget forget;
    struct tr_forgotten forgotten;
    int error = tr_forget_unpack(request->body, request->version, &forget);
    if (error == 0) {
        tr_serve_forget(serve->live, &forget, &forgotten);
        answer(serve, peer, &tr_forgotten_schema, &forgotten);
    }
    return error;
}

static int on_begin_import(struct tr_serve *serve, const struct tri_peer *peer,
                           const struct tri_request *request)
{
    struct tr_begin_import begin;
    struct tr_import_begun begun = {.session = 0};
    const char *explain = "";
    int error = tr_begin_import_unpack(request->body, request->version, &begin);
    if (error != 0) {
        return error;
    }
    begun.error = tr_taking_begin(serve->taking, &begin, &begun.session, &explain);
    begun.message = tr_text_of(explain);
    answer(serve, peer, &tr_import_begun_schema, &begun);
    return 0;
}

static int on_import_ops(struct tr_serve *serve, const struct tri_peer *peer,
                         const struct tri_request *request)
{
    struct tr_import_ops ops;
    const char *explain = "";
    int error = tr_import_ops_unpack(request->body, request->version, &ops);
    if (error != 0) {
        return error;
    }
    error = tr_taking_ops(serve->taking, &ops, &explain);
    finish(serve, peer, error, explain);
    return 0;
}

/* It is answered when it is written. */
static int on_finish_import(struct tr_serve *serve, const struct tri_peer *peer,
                            const struct tri_request *request)
{
    struct tr_finish_import wish;
    const char *explain = "";
    int error = tr_finish_import_unpack(request->body, request->version, &wish);
    if (error != 0) {
        return error;
    }
    error = tr_taking_finish(serve->taking, wish.session, peer, &explain);
    if (error != 0) {
        finish(serve, peer, error, explain);
    }
    return 0;
}

/* ------------------------------------------------------------------ all of them */

/* What a request is answered by; an error is the last answer. */
static const struct {
    const struct tr_schema *schema;
    int (*act)(struct tr_serve *serve, const struct tri_peer *peer,
               const struct tri_request *request);
} requests[] = {
    {&tr_hello_schema, on_hello},
    {&tr_submit_schema, on_submit},
    {&tr_follow_schema, on_follow},
    {&tr_detach_execution_schema, on_detach},
    {&tr_stop_execution_schema, on_stop},
    {&tr_send_answer_schema, on_answer},
    {&tr_pause_execution_schema, on_pause},
    {&tr_apply_plans_schema, on_apply_plans},
    {&tr_pause_schedule_schema, on_pause_schedule},
    {&tr_trigger_schedule_schema, on_trigger_schedule},
    {&tr_activate_execution_schema, on_wake},
    {&tr_lift_aside_schema, on_lift_aside},
    {&tr_release_plugin_schema, on_release_plugin},
    {&tr_list_dormant_schema, on_list_dormant},
    {&tr_list_actors_schema, on_list_actors},
    {&tr_resume_actors_schema, on_resume_actors},
    {&tr_list_metrics_schema, on_list_metrics},
    {&tr_expose_metrics_schema, on_expose_metrics},
    {&tr_ping_engine_schema, on_ping},
    {&tr_open_tap_schema, on_open_tap},
    {&tr_open_recording_schema, on_open_recording},
    {&tr_forget_schema, on_forget},
    {&tr_begin_import_schema, on_begin_import},
    {&tr_import_ops_schema, on_import_ops},
    {&tr_finish_import_schema, on_finish_import},
};

static void act(struct tr_serve *serve, const struct tri_peer *peer,
                const struct tri_request *request)
{
    int error = TR_UNKNOWN_TYPE;
    char words[TR_ENTRY_WORDS_BYTES];
    struct tr_entry *entry = serve->live->entry;
    await_no_longer(serve, peer);
    if (entry != NULL && !tr_entry_admit(entry, peer, request, words)) {
        finish(serve, peer, TR_DENIED, words);
        return;
    }
    if (entry != NULL && tr_entry_reads(entry, peer, request)) {
        return;
    }
    for (size_t i = 0; i < TR_COUNT_OF(requests); i++) {
        if (requests[i].schema->id == request->type) {
            error = requests[i].act(serve, peer, request);
        }
    }
    if (error != 0) {
        char message[128];
        snprintf(message, sizeof message, "the engine refuses this: %s", tr_error_text(error));
        finish(serve, peer, error, message);
    }
}

/* Whether a follower stays. */
static bool tend(struct tr_serve *serve, struct follower *follower, uint64_t now_ms)
{
    int reason;
    struct tr_ref root = tr_group_root(follower->execution);
    if (tr_host_ended(serve->live->host, root, follower->monitor, &reason) == 0) {
        finish(serve, &follower->peer, 0, "");
        return false;
    }
    if (now_ms - follower->said_ms < FOLLOWING_MS) {
        return true;
    }
    struct tr_following following = {.execution = follower->execution};
    follower->said_ms = now_ms;
    return tri_endpoint_answer(serve->live->endpoint, &follower->peer, &tr_following_schema,
                               &following) == 0;
}

static void tend_followers(struct tr_serve *serve)
{
    uint64_t now_ms = tr_live_now_ms(serve->live);
    size_t kept = 0;
    for (size_t i = 0; i < serve->follower_count; i++) {
        if (tend(serve, &serve->followers[i], now_ms)) {
            serve->followers[kept++] = serve->followers[i];
        }
    }
    serve->follower_count = kept;
}

void tr_serve_step(struct tr_serve *serve)
{
    struct tri_peer peer;
    struct tri_request request;
    while (tri_endpoint_next(serve->live->endpoint, &peer, &request) == 0) {
        act(serve, &peer, &request);
    }
    await_no_longer(serve, NULL);
    tend_followers(serve);
    tr_taking_step(serve->taking);
    tr_serve_taps_step(&serve->taps, serve->live);
    tr_serve_records_step(&serve->records, serve->live);
}

uint32_t tr_serve_timeout_ms(const struct tr_serve *serve)
{
    if (serve->taps.count + serve->records.count > 0) {
        return TR_TAP_LOOK_MS;
    }
    bool is_needed = tr_serve_is_needed(serve) || tr_taking_is_writing(serve->taking);
    return is_needed ? FOLLOWING_MS : UINT32_MAX;
}

void tr_serve_hand_over(struct tr_serve *serve)
{
    for (size_t i = 0; i < serve->follower_count; i++) {
        (void)!tr_detached_add(&serve->live->detached, serve->followers[i].execution);
    }
    serve->live->hands_over = true;
}

size_t tr_serve_followers(const struct tr_serve *serve)
{
    return serve->follower_count;
}

bool tr_serve_is_needed(const struct tr_serve *serve)
{
    return serve->follower_count + serve->awaited_count > 0;
}

int tr_serve_new(struct tr_live *live, struct tr_serve **out)
{
    struct tr_serve *serve = tr_alloc_zero(1, sizeof *serve);
    if (serve == NULL) {
        return TR_MEMORY;
    }
    serve->live = live;
    int error = tr_taking_new(live, &serve->taking);
    if (error != 0) {
        tr_free(serve);
        return error;
    }
    *out = serve;
    return 0;
}

void tr_serve_free(struct tr_serve *serve)
{
    if (serve != NULL) {
        tr_taking_free(serve->taking);
        tr_serve_taps_fini(&serve->taps);
        tr_serve_records_fini(&serve->records, serve->live);
        tr_free(serve);
    }
}
