/*
 * The loop of a backfill: start while there is room, wait, hear of ends.
 */
#include <signal.h>
#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "actors/services/schedule.h"
#include "deploy/common/signals.h"
#include "deploy/history/executions.h"
#include "deploy/schedules/backfill.h"
#include "deploy/server/serve.h"
#include "schemas/runtime/request.h"

#define TURN_MS 500

struct run {
    struct tr_backfill *backfill;
    struct tr_connection *connection;
    struct tr_serve *serve; /* of an engine here */
    int signals;
    uint32_t oldest; /* before it none runs */
    uint32_t next;   /* the next one to start */
    uint32_t running;
    uint32_t ended;
    bool starts_no_more;
    bool is_leaving;
    bool has_failed;
    enum tr_exit_status status;
};

static void name_of(const struct run *run, const struct tr_backfill_time *time,
                    char name[TR_SCHEDULE_NAME_BYTES])
{
    tr_schedule_name(run->backfill->plan->name, time->time, name);
}

/* ------------------------------------------------------------------------- starting */

static int launch_here(struct run *run, const struct tr_order *order, struct tr_backfill_time *time,
                       struct tr_launch_outcome *outcome)
{
    struct tr_live *live = run->connection->live;
    struct tr_order own = *order;
    int error = tr_graph_unpack(run->backfill->packed, &own.graph);
    if (error == 0) {
        error = tr_live_launch(live, &own, outcome);
    }
    if (error == 0) {
        time->execution = outcome->execution;
        error = tr_host_monitor(live->host, tr_group_root(time->execution), &time->monitor);
    }
    return error;
}

static int read_submitted(const struct tri_request *answer, struct tr_launch_outcome *outcome)
{
    struct tr_submitted submitted;
    struct tr_answered answered;
    struct tr_text message;
    int error;
    if (answer->type == tr_answered_schema.id) {
        error = tr_answered_unpack(answer->body, answer->version, &answered);
        message = answered.message;
        if (error == 0) {
            error = answered.error == 0 ? TR_MALFORMED : (int)answered.error;
        }
    } else {
        error = tr_submitted_unpack(answer->body, answer->version, &submitted);
        if (error != 0) {
            return error;
        }
        message = submitted.message;
        outcome->execution = submitted.execution;
        error = (int)submitted.error;
    }
    snprintf(outcome->message, sizeof outcome->message, "%.*s", (int)message.size, message.data);
    return error;
}

/* The ends of others may be told while the engine's answer is waited for. */
static int take_row(void *self, const struct tri_request *row)
{
    (void)self;
    (void)row;
    return 0;
}

static int launch_there(struct run *run, const struct tr_order *order,
                        struct tr_backfill_time *time, struct tr_launch_outcome *outcome)
{
    struct tri_request answer;
    struct tri_client *client = run->connection->client;
    struct tr_submit submit = {
        .name = order->name,
        .graph = run->backfill->packed,
        .workflow = order->workflow,
        .plan = order->plan,
        .inputs = order->inputs,
        .cause = order->cause,
        .is_detached = true,
        .labels = order->labels,
    };
    int error = tr_client_call(client, &tr_submit_schema, &submit, &tr_submitted_schema, 0,
                               take_row, run, &answer);
    if (error == 0) {
        error = read_submitted(&answer, outcome);
    }
    if (error == 0) {
        time->execution = outcome->execution;
    }
    return error;
}

static int start(struct run *run, struct tr_backfill_time *time)
{
    const struct tr_backfill *backfill = run->backfill;
    const struct tr_plan *plan = backfill->plan;
    struct tr_launch_outcome outcome = {.execution = 0};
    char name[TR_SCHEDULE_NAME_BYTES];
    char cause[sizeof "backfill " + TR_SCHEDULE_NAME_BYTES];
    struct tr_buffer inputs;
    name_of(run, time, name);
    snprintf(cause, sizeof cause, "backfill %.*s", (int)plan->name.size, plan->name.data);
    tr_buffer_init(&inputs, 0);
    int error = tr_schedule_inputs(backfill->graph, plan, time->time, &inputs);
    struct tr_order order = {
        .workflow = plan->workflow,
        .plan = (uint32_t)(plan - backfill->graph->plans),
        .name = tr_text_of(name),
        .inputs = tr_buffer_bytes(&inputs),
        .cause = tr_text_of(cause),
        .labels = backfill->labels,
    };
    if (error == 0) {
        error = run->connection->live != NULL ? launch_here(run, &order, time, &outcome)
                                              : launch_there(run, &order, time, &outcome);
    }
    tr_buffer_fini(&inputs);
    time->state = error == 0 ? TR_BACKFILL_RUNS : TR_BACKFILL_EXISTED;
    run->running += error == 0 ? 1 : 0;
    if (error == TR_EXISTS) {
        tr_command_note(backfill->invocation, "%s exists; left as it is", name);
        return 0;
    }
    if (error != 0) {
        run->status =
            tr_command_failed(backfill->invocation->command, "%s cannot be started: %s", name,
                              outcome.message[0] != '\0' ? outcome.message : tr_error_text(error));
    }
    return error;
}

static void start_some(struct run *run)
{
    struct tr_backfill *backfill = run->backfill;
    while (!run->starts_no_more && run->next < backfill->count &&
           run->running < backfill->at_once) {
        if (start(run, &backfill->times[run->next]) != 0) {
            run->starts_no_more = true;
            return;
        }
        run->next++;
    }
}

/* ----------------------------------------------------------------------------- ends */

/* How an execution stands, by the history; 0 where that cannot be read just now. */
static uint8_t phase_of(struct tr_reader *reader, uint64_t execution)
{
    struct tr_executions_row copy;
    if (tr_executions_get(reader, execution, &copy) != 0) {
        return 0;
    }
    uint8_t phase = copy.row.phase;
    tr_executions_row_fini(&copy);
    return phase;
}

static void end(struct run *run, struct tr_backfill_time *time, uint8_t phase)
{
    char name[TR_SCHEDULE_NAME_BYTES];
    name_of(run, time, name);
    time->state = TR_BACKFILL_ENDED;
    time->phase = phase;
    run->running--;
    run->ended++;
    run->has_failed = run->has_failed || phase != TR_EXECUTION_SUCCEEDED;
    tr_command_note(run->backfill->invocation, "%s %s (%u ended, %u run, %u to come)", name,
                    tr_execution_phase_word(phase), run->ended, run->running,
                    run->backfill->count - run->next);
}

/* Looks which ones have ended. */
static void look(struct run *run)
{
    struct tr_reader *reader;
    if (run->running == 0 || tr_history_open(run->backfill->folder, NULL, &reader) != 0) {
        return;
    }
    for (uint32_t i = run->oldest; i < run->next; i++) {
        struct tr_backfill_time *time = &run->backfill->times[i];
        if (time->state == TR_BACKFILL_RUNS) {
            uint8_t phase = phase_of(reader, time->execution);
            if (tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
                end(run, time, phase);
            }
        }
    }
    tr_reader_close(reader);
    while (run->oldest < run->next && run->backfill->times[run->oldest].state != TR_BACKFILL_RUNS) {
        run->oldest++;
    }
}

/* ----------------------------------------------------------------------------- loop */

static void look_at_signals(struct run *run)
{
    int number;
    while ((number = tr_signals_next(run->signals)) != 0) {
        if (number == SIGINT && !run->starts_no_more) {
            run->starts_no_more = true;
            run->status = TR_EXIT_ABORTED;
            tr_command_note(run->backfill->invocation,
                            "no more is started; waiting for %u that run (Ctrl-C again leaves)",
                            run->running);
            continue;
        }
        run->is_leaving = true;
        run->status = number == SIGINT ? TR_EXIT_ABORTED : TR_EXIT_ENGINE;
    }
}

static int wait_here(struct run *run)
{
    uint32_t timeout_ms = tr_serve_timeout_ms(run->serve);
    int error = tr_live_rest(run->connection->live, timeout_ms < TURN_MS ? timeout_ms : TURN_MS);
    if (error == 0) {
        tr_serve_step(run->serve);
    }
    return error;
}

static int wait_there(struct run *run)
{
    struct tri_request answer;
    int error = tri_client_next(run->connection->client, run->signals, TURN_MS, &answer);
    return error == TR_TIMEOUT ? 0 : error;
}

static bool is_over(const struct run *run)
{
    bool has_more = !run->starts_no_more && run->next < run->backfill->count;
    return run->is_leaving || (run->running == 0 && !has_more);
}

static int turn_all(struct run *run)
{
    int error = 0;
    for (start_some(run); error == 0 && !is_over(run); start_some(run)) {
        error = run->connection->live != NULL ? wait_here(run) : wait_there(run);
        look_at_signals(run);
        look(run);
    }
    return error;
}

enum tr_exit_status tr_backfill_run(struct tr_backfill *backfill, struct tr_connection *connection)
{
    struct run run = {.backfill = backfill, .connection = connection, .signals = -1};
    int error = 0;
    if (backfill->is_detached) {
        start_some(&run);
        return run.status;
    }
    if (connection->live != NULL) {
        run.signals = connection->live->signals;
        error = tr_serve_new(connection->live, &run.serve);
    } else {
        error = tr_signals_open(&run.signals);
    }
    if (error == 0) {
        error = turn_all(&run);
    }
    tr_serve_free(run.serve);
    if (connection->live == NULL && run.signals >= 0) {
        tr_signals_close(run.signals);
    }
    if (error != 0) {
        return tr_command_failed(backfill->invocation->command,
                                 "the engine has gone: %s; what was started goes on with `troupe "
                                 "resume`, and the same command starts the rest",
                                 tr_error_text(error));
    }
    return run.status != TR_EXIT_DONE ? run.status : run.has_failed ? TR_EXIT_FAILED : TR_EXIT_DONE;
}
