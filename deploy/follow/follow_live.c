/*
 * The loop of a command that is a client of another process's engine.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "deploy/common/client.h"
#include "deploy/common/clock.h"
#include "deploy/common/signals.h"
#include "deploy/follow/follow.h"
#include "deploy/follow/follow_local.h"
#include "deploy/follow/keys.h"
#include "deploy/follow/result.h"
#include "schemas/runtime/request.h"

struct visit {
    const struct tr_invocation *invocation;
    struct tri_client *client;
    struct tr_follow *follow;
    struct tr_keys keys;
    const char *folder; /* of the store */
    uint64_t execution;
    uint32_t number; /* of the request to follow */
    int signals;
    int events; /* readable when there is a signal or a key */
    uint32_t interrupts;
    bool is_over;
    bool is_leaving;
    enum tr_exit_status status;
};

static void leave(struct visit *visit, enum tr_exit_status status, const char *text)
{
    tr_follow_note(visit->follow, text);
    visit->is_leaving = true;
    visit->status = status;
}

static void interrupt(struct visit *visit)
{
    uint32_t number;
    bool is_hard = visit->interrupts++ > 0;
    struct tr_stop_execution stop = {.execution = visit->execution,
                                     .cause = tr_text_of("interrupted by Ctrl-C"),
                                     .is_hard = is_hard};
    int error = tri_client_ask(visit->client, &tr_stop_execution_schema, &stop, &number);
    if (error != 0) {
        leave(visit, TR_EXIT_ENGINE, "the engine has gone");
    } else if (is_hard && visit->interrupts > 2) {
        leave(visit, TR_EXIT_ABORTED, "leaving; the engine finishes the abort");
    } else {
        tr_follow_note(visit->follow, is_hard ? "killing its tasks (Ctrl-C again leaves)"
                                              : "aborting (Ctrl-C again kills its tasks)");
    }
}

/* Goes, and the engine, or another one after it, goes on with it. */
static void detach(struct visit *visit)
{
    struct tri_request answer;
    struct tr_detach_execution detach = {.execution = visit->execution};
    int error = tr_client_call(visit->client, &tr_detach_execution_schema, &detach,
                               &tr_answered_schema, 0, NULL, NULL, &answer);
    if (error != 0) {
        leave(visit, TR_EXIT_ENGINE, "the engine has gone");
        return;
    }
    visit->is_leaving = true;
    visit->status = tr_result_detached(visit->invocation, visit->folder, NULL, visit->execution);
}

static void look_at_keys(struct visit *visit)
{
    switch (tr_keys_wish(&visit->keys)) {
    case TR_WISH_DETACH:
        detach(visit);
        break;
    case TR_WISH_ABORT:
        interrupt(visit);
        break;
    case TR_WISH_NONE:
        break;
    }
}

static void look_at_signals(struct visit *visit)
{
    int number;
    while ((number = tr_signals_next(visit->signals)) != 0) {
        if (number != SIGINT) {
            leave(visit, TR_EXIT_ENGINE, "leaving; the execution goes on in its engine");
        } else if (!tr_keys_ask(&visit->keys)) {
            interrupt(visit);
        }
    }
}

/* What the engine says: the end of what is followed is an answer to that request. */
static void take(struct visit *visit, const struct tri_request *answer)
{
    if (answer->number == visit->number && answer->type == tr_answered_schema.id) {
        visit->is_over = true;
    }
}

static uint32_t timeout_of(const struct visit *visit)
{
    uint32_t timeout_ms = tr_follow_timeout_ms(visit->follow);
    return visit->keys.is_there && timeout_ms > TR_KEYS_LOOK_MS ? TR_KEYS_LOOK_MS : timeout_ms;
}

static void turn(struct visit *visit)
{
    struct tri_request answer;
    int error = tri_client_next(visit->client, visit->events, timeout_of(visit), &answer);
    if (error == 0) {
        take(visit, &answer);
    } else if (error != TR_TIMEOUT) {
        leave(visit, TR_EXIT_ENGINE,
              "the engine has gone; `troupe resume` goes on from what the store holds");
    }
    look_at_signals(visit);
    if (!visit->is_leaving && !visit->is_over) {
        look_at_keys(visit);
    }
    tr_follow_step(visit->follow);
}

static int begin(struct visit *visit)
{
    struct tr_follow follow = {.execution = visit->execution, .activates = true};
    int error = tr_signals_open(&visit->signals);
    if (error == 0) {
        error = tr_keys_events(visit->signals, &visit->events);
    }
    if (error == 0) {
        error = tr_follow_new(visit->invocation, visit->folder, visit->execution, &visit->follow);
    }
    if (error == 0) {
        error = tri_client_ask(visit->client, &tr_follow_schema, &follow, &visit->number);
    }
    if (error == 0) {
        tr_keys_open(&visit->keys, visit->follow, visit->events);
    }
    return error;
}

static void end(struct visit *visit)
{
    tr_keys_close(&visit->keys);
    tr_follow_free(visit->follow);
    if (visit->events >= 0) {
        close(visit->events);
    }
    if (visit->signals >= 0) {
        tr_signals_close(visit->signals);
    }
}

enum tr_exit_status tr_follow_live(const struct tr_invocation *invocation,
                                   struct tri_client *client, const char *folder,
                                   uint64_t execution)
{
    struct visit visit = {.invocation = invocation,
                          .client = client,
                          .folder = folder,
                          .execution = execution,
                          .signals = -1,
                          .events = -1,
                          .status = TR_EXIT_ENGINE};
    int error = begin(&visit);
    if (error != 0) {
        visit.status = tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    while (error == 0 && !visit.is_over && !visit.is_leaving) {
        turn(&visit);
    }
    if (visit.is_over) {
        tr_follow_finish(visit.follow);
        visit.status = tr_result_print(invocation, folder, NULL, execution);
    }
    end(&visit);
    return visit.status;
}
