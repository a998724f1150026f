/*
 * `troupe watch`: follows an execution until it has ended, wherever its engine is, and ends with
 * its status. It looks and does nothing: Ctrl-C and, on a terminal, `d` end the watching alone.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/connect/activity.h"
#include "deploy/console/console.h"
#include "deploy/follow/follow.h"
#include "deploy/follow/keys.h"
#include "deploy/follow/result.h"
#include "deploy/history/changes.h"
#include "deploy/history/events.h"
#include "runtime/link/endpoint.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/request.h"

/* An engine that is not there is looked for so often. */
#define LOOK_MS 1000

/* Events are read no more often than this, and for one part in so many of all time. */
#define EVENTS_MS 100
#define READING_PARTS 20

struct watch {
    struct tr_browse *browse;
    uint64_t execution;
    uint8_t phase;
    bool has_document;
    struct tr_events events;
    struct tr_follow *follow;
    struct tr_keys keys;
    bool is_leaving;           /* a person does not want to see more */
    struct tri_client *client; /* NULL: no engine, as far as is known */
    bool has_told;             /* that there is none */
    int changes;
    int descriptor;   /* readable when there is a change or a key */
    uint64_t next_ms; /* the history is looked at then */
};

/* -------------------------------------------------------------------------- the engine */

/* Says that nothing happens until somebody wakes what is watched. */
static void note_dormant(const struct watch *watch)
{
    struct tr_activity activity;
    struct tr_execution row = {.execution = watch->execution, .phase = watch->phase};
    tr_activity_read(watch->browse->place.folder, true, NULL, &activity);
    if (tr_activity_is_dormant(&activity, &row)) {
        tr_command_note(watch->browse->invocation,
                        "it is dormant: nothing goes on until `troupe resume %s`",
                        watch->browse->invocation->arguments.word_count > 0
                            ? watch->browse->invocation->arguments.words[0]
                            : "@last");
    }
    tr_activity_fini(&activity);
}

/* An engine that came with `run` stays as long as somebody follows. */
static void find_engine(struct watch *watch)
{
    uint32_t number;
    struct tr_follow follow = {.execution = watch->execution};
    if (!tr_browse_is_live(watch->browse) ||
        tri_client_open(watch->browse->place.folder, &watch->client) != 0) {
        return;
    }
    watch->has_told = false;
    if (tri_client_ask(watch->client, &tr_follow_schema, &follow, &number) != 0) {
        tri_client_close(watch->client);
        watch->client = NULL;
        return;
    }
    note_dormant(watch);
}

/* Waits until something has happened; what the engine says is not needed, but that it is there. */
static void rest(struct watch *watch, uint32_t timeout_ms)
{
    struct tri_request answer;
    struct pollfd wanted = {.fd = watch->descriptor, .events = POLLIN};
    int error = 0;
    if (watch->client == NULL) {
        (void)poll(&wanted, 1, (int)(timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS));
    } else {
        error = tri_client_next(watch->client, watch->descriptor, timeout_ms, &answer);
    }
    tr_changes_take(watch->changes);
    watch->is_leaving |= tr_keys_wish(&watch->keys) == TR_WISH_DETACH;
    if (error != 0 && error != TR_TIMEOUT) {
        tri_client_close(watch->client);
        watch->client = NULL;
    }
}

/* ------------------------------------------------------------------------- looking */

static int look_at_events(struct watch *watch)
{
    int error = tr_events_read(&watch->events, watch->browse->reader);
    for (uint32_t i = 0; error == 0 && i < watch->events.count; i++) {
        struct tr_document line;
        tr_document_init(&line, tr_console_out(), TR_OUTPUT_JSON);
        tr_event_write(&watch->events.items[i], &line);
        tr_document_fini(&line);
    }
    (void)fflush(tr_console_out());
    return error;
}

/* Goes on to what is there now. */
static int look(struct watch *watch)
{
    struct tr_executions_row copy;
    uint64_t begin_ms = tr_clock_ms();
    int error = tr_reader_refresh(watch->browse->reader);
    if (error == 0) {
        error = tr_executions_get(watch->browse->reader, watch->execution, &copy);
    }
    if (error == 0) {
        watch->phase = copy.row.phase;
        tr_executions_row_fini(&copy);
        error = watch->has_document ? look_at_events(watch) : 0;
    }
    tr_reader_release(watch->browse->reader); /* as long as it waits */
    uint64_t end_ms = tr_clock_ms();
    watch->next_ms = end_ms + EVENTS_MS + READING_PARTS * (end_ms - begin_ms);
    return error;
}

static bool is_over(const struct watch *watch)
{
    return tr_phase_is_end(TR_SUBJECT_EXECUTION, watch->phase);
}

static int turn(struct watch *watch)
{
    if (watch->client == NULL) {
        find_engine(watch);
    }
    /* What happens meanwhile waits for its time in the descriptor: it is not lost. */
    uint64_t now_ms = tr_clock_ms();
    if (now_ms < watch->next_ms) {
        rest(watch, (uint32_t)(watch->next_ms - now_ms));
        return 0;
    }
    int error = look(watch);
    if (error == 0 && !is_over(watch)) {
        if (watch->client == NULL) {
            tr_browse_note_dead(watch->browse, &watch->has_told);
        }
        tr_follow_step(watch->follow);
        rest(watch, LOOK_MS);
    }
    return error;
}

/* Stays until it has ended, or until its reader has left. */
static int stay(struct watch *watch)
{
    int error = look(watch);
    while (error == 0 && !is_over(watch) && !watch->is_leaving && ferror(tr_console_out()) == 0) {
        error = turn(watch);
    }
    return error;
}

static void end(struct watch *watch)
{
    tr_follow_free(watch->follow);
    tri_client_close(watch->client);
    tr_events_fini(&watch->events);
    if (watch->descriptor >= 0) {
        close(watch->descriptor);
    }
    if (watch->changes >= 0) {
        close(watch->changes);
    }
}

static enum tr_exit_status watch_execution(struct tr_browse *browse, uint64_t execution)
{
    struct watch watch = {.browse = browse,
                          .execution = execution,
                          .has_document = browse->invocation->output == TR_OUTPUT_JSON,
                          .changes = -1,
                          .descriptor = -1};
    struct tr_invocation quiet = *browse->invocation;
    quiet.is_quiet |= watch.has_document;
    tr_events_init(&watch.events, execution);
    int error = tr_changes_open(browse->place.folder, &watch.changes);
    if (error == 0) {
        error = tr_follow_new(&quiet, browse->place.folder, execution, &watch.follow);
    }
    if (error == 0) {
        error = tr_keys_events(watch.changes, &watch.descriptor);
    }
    if (error == 0) {
        tr_keys_open(&watch.keys, watch.follow, watch.descriptor);
        error = stay(&watch);
        tr_keys_close(&watch.keys);
    }
    enum tr_exit_status status = watch.is_leaving ? TR_EXIT_DONE : TR_EXIT_ENGINE;
    if (error != 0) {
        status = tr_browse_failed(browse, error);
    } else if (is_over(&watch)) {
        tr_follow_finish(watch.follow);
        status = tr_result_print(browse->invocation, browse->place.folder, NULL, execution);
    }
    end(&watch);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    struct tr_found found;
    const struct tr_arguments *arguments = &invocation->arguments;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status =
        tr_browse_find(&browse, arguments->word_count > 0 ? arguments->words[0] : "@last", &found);
    if (status == TR_EXIT_DONE && found.target.path.size > 0) {
        status = tr_command_mistake(invocation->command,
                                    "a node alone cannot be watched; leave "
                                    "'/%.100s' out",
                                    found.target.path.data);
        tr_found_fini(&found);
    } else if (status == TR_EXIT_DONE) {
        uint64_t execution = found.execution.row.execution;
        tr_found_fini(&found);
        status = watch_execution(&browse, execution);
    }
    tr_browse_close(&browse);
    return status;
}

const struct tr_command tr_command_watch = {
    .name = "watch",
    .summary = "follow an execution until it has ended",
    .words = "[EXEC]",
    .text =
        "Without EXEC it is the newest one. Ends with the status of the execution; Ctrl-C ends\n"
        "the watching alone. With -o json each change of phase is a line, the result the last.",
    .examples = "  troupe watch\n"
                "  troupe watch fan-out -o json",
    .outputs = "text|json",
    .has_store = true,
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_UNFINISHED,
    .words_max = 1,
    .run = run,
};
