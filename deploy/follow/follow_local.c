/*
 * The loop of an engine: it rests until something comes, does it, and knows when it may leave.
 */
#include "deploy/follow/follow_local.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "deploy/api_runs/desk.h"
#include "deploy/common/clock.h"
#include "deploy/common/signals.h"
#include "deploy/engine/launch.h"
#include "deploy/engine/query_root.h"
#include "deploy/follow/follow.h"
#include "deploy/follow/keys.h"
#include "deploy/follow/result.h"
#include "deploy/history/notifications.h"
#include "deploy/server/serve.h"
#include "schemas/engine/state_refresh.h"

/* How long a second Ctrl-C waits for what it kills. */
#define HARD_MS 2000

/* How long an engine stays for notifications that are on their way, and how often it looks. */
#define NOTIFY_MS 10000
#define NOTIFY_LOOK_MS 50

/* The same for what back ends still have of tasks that have ended. */
#define REMOVE_MS 10000
#define REMOVE_LOOK_MS 100

/* Poll interval while waiting for all executions. */
#define LOOK_MS 250

/* How often the engine looks whether its store is still there, and one that stays does. */
#define STORE_LOOK_MS 1000
#define STORE_LOOK_STAYING_MS 10000

/* Looking for ends may take one part in so many of all time. */
#define LOOKING_PARTS 20

/* What an engine is there for. */
enum purpose {
    ONE,    /* the end of one execution */
    AWAKE,  /* the ends of all that is awake */
    STAYING /* whatever comes */
};

struct follower {
    const struct tr_invocation *invocation;
    struct tr_live *live;
    struct tr_serve *serve;
    enum purpose purpose;
    struct tr_follow *follow;      /* of ONE */
    struct tr_keys keys;           /* of ONE */
    struct tr_service_log *log;    /* of STAYING */
    struct tr_desk *desk;          /* the same; NULL: none */
    struct tr_retaining retaining; /* all that the settings say of STAYING, else of the cache */
    uint64_t execution;            /* of ONE; 0: of others */
    uint64_t monitor;
    bool is_over;
    uint32_t interrupts;
    uint64_t leave_ms;       /* when it leaves whatever happens; 0: not so */
    uint64_t notify_end_ms;  /* once it is over: until when it stays for notifications */
    uint64_t notify_look_ms; /* and looks again whether they are delivered; 0: they are */
    uint64_t remove_end_ms;  /* the same for what is removed from back ends */
    uint64_t remove_look_ms;
    uint32_t remove_looks;
    uint64_t look_ms; /* when it looks again whether anything is unfinished */
    int waits_for;    /* why nothing was written lately; 0: it was */
    bool has_noted;   /* what the host has to say was said */
    uint64_t store_look_ms;
    bool is_leaving;
    enum tr_exit_status status;
};

/* ------------------------------------------------------------------------- signals */

static void note(struct follower *follower, const char *text)
{
    if (follower->log != NULL) {
        tr_service_log_note(follower->log, false, text);
    } else if (follower->follow != NULL) {
        tr_follow_note(follower->follow, text);
    } else {
        tr_command_note(follower->invocation, "%s", text);
    }
}

/* Goes without waiting for anything: that is what a service is told, and no other's success. */
static void leave(struct follower *follower)
{
    if (!follower->is_over) {
        bool is_service = follower->purpose == STAYING;
        note(follower, is_service ? "leaving; what is unfinished goes on with the next engine"
                                  : "leaving; what is unfinished goes on with `troupe resume`");
        follower->status = is_service ? TR_EXIT_DONE : TR_EXIT_ENGINE;
    }
    follower->is_leaving = true;
}

/* Ctrl-C: the first one aborts, the second one kills and leaves. What is acknowledged is kept. */
static void interrupt(struct follower *follower)
{
    bool is_hard = follower->interrupts++ > 0;
    if (follower->execution == 0 || follower->is_over) {
        leave(follower);
        return;
    }
    if (is_hard) {
        follower->leave_ms = tr_clock_ms() + HARD_MS;
        note(follower, "killing its tasks; the abort is finished by the next engine");
    } else {
        note(follower, "aborting (Ctrl-C again kills its tasks and leaves)");
    }
    int error = tr_live_abort_kept(follower->live, follower->execution,
                                   tr_text_of("interrupted by Ctrl-C"), is_hard);
    if (error == TR_QUARANTINED) {
        note(follower, tr_query_root_error_text(error));
    } else if (error != 0 && error != TR_TIMEOUT) {
        follower->leave_ms = tr_clock_ms();
    }
}

/* Goes, and another engine goes on with what is here. */
static void detach(struct follower *follower)
{
    struct tr_live *live = follower->live;
    struct tr_reader *reader;
    if (!follower->is_over && tr_live_read(live, NULL, &reader) == 0) {
        /* Beyond what is handed over it sleeps, and the next engine says so. */
        (void)!tr_detached_add(&live->detached, follower->execution);
        follower->status =
            tr_result_detached(follower->invocation, live->folder, reader, follower->execution);
        tr_live_read_end(live);
    }
    tr_serve_hand_over(follower->serve);
    live->is_detaching = true;
    follower->is_leaving = true;
}

static void look_at_keys(struct follower *follower)
{
    switch (tr_keys_wish(&follower->keys)) {
    case TR_WISH_DETACH:
        detach(follower);
        break;
    case TR_WISH_ABORT:
        interrupt(follower);
        break;
    case TR_WISH_NONE:
        break;
    }
}

static void look_at_signals(struct follower *follower)
{
    int number;
    while ((number = tr_signals_next(follower->live->signals)) != 0) {
        if (number != SIGINT) {
            leave(follower);
        } else if (follower->is_over || !tr_keys_ask(&follower->keys)) {
            interrupt(follower);
        }
    }
    if (follower->leave_ms != 0 && tr_clock_ms() >= follower->leave_ms && !follower->is_over) {
        follower->is_leaving = true;
        follower->status = TR_EXIT_ABORTED;
    }
}

/* ---------------------------------------------------------------------------- trouble */

/* Says once that nothing can be written, and once that it goes on. */
static void hear_of_store(struct follower *follower)
{
    char text[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_host_waits_for(follower->live->host);
    if ((error == 0) == (follower->waits_for == 0)) {
        return;
    }
    follower->waits_for = error;
    if (error == 0) {
        note(follower, "the store can be written again; going on");
        return;
    }
    snprintf(text, sizeof text, "the store %.300s cannot be written now: %s; this is tried again%s",
             follower->live->folder, tr_error_text(error),
             error == TR_STORE_FULL ? " until there is room on its disk" : "");
    note(follower, text);
}

/* Says once what people should know of this host. */
static void hear_of_host(struct follower *follower)
{
    const char *words = follower->has_noted ? NULL : tr_host_note(follower->live->host);
    if (words != NULL) {
        follower->has_noted = true;
        note(follower, words);
    }
}

/* An engine leaves when its store was removed: nobody can see what it does. */
static void look_at_store(struct follower *follower)
{
    char path[PATH_MAX];
    if (tr_clock_ms() < follower->store_look_ms) {
        return;
    }
    follower->store_look_ms =
        tr_clock_ms() + (follower->purpose == STAYING ? STORE_LOOK_STAYING_MS : STORE_LOOK_MS);
    int size = snprintf(path, sizeof path, "%s/lock", follower->live->folder);
    if (size > 0 && (size_t)size < sizeof path && access(path, F_OK) != 0 && errno == ENOENT) {
        note(follower, "leaving: the store is not there any more");
        follower->is_leaving = true;
        follower->status = TR_EXIT_ENGINE;
    }
}

/* ----------------------------------------------------------------------------- ends */

/* How many executions have not ended. */
static int count_unfinished(struct tr_live *live, uint64_t *count)
{
    struct tr_reader *reader;
    struct tr_reader_filter filters[TR_EXECUTION_PHASE_COUNT];
    size_t filter_count = 0;
    int error = tr_live_read(live, NULL, &reader);
    if (error != 0) {
        return error;
    }
    for (unsigned phase = 0; phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        if (tr_phase_is_end(TR_SUBJECT_EXECUTION, (uint8_t)phase)) {
            filters[filter_count++] = tr_filter_number("phase", TR_FILTER_NOT_EQUAL, phase);
        }
    }
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = filters, .filter_count = filter_count};
    error = tr_reader_count(reader, &query, count);
    tr_live_read_end(live);
    return error;
}

/*
 * The end of all that is awake is looked for now and then; that of one execution is told. A history
 * that is damaged would never say so; what else is in the way may pass.
 */
static int look_for_end(struct follower *follower, bool *has_ended)
{
    int reason;
    uint64_t count;
    uint64_t now_ms = tr_clock_ms();
    *has_ended = false;
    if (follower->purpose == STAYING) {
        return 0;
    }
    if (follower->execution != 0) {
        struct tr_ref root = tr_group_root(follower->execution);
        *has_ended = tr_host_ended(follower->live->host, root, follower->monitor, &reason) == 0;
        return 0;
    }
    if (now_ms < follower->look_ms) {
        return 0;
    }
    int error = count_unfinished(follower->live, &count);
    follower->look_ms = now_ms + LOOK_MS + LOOKING_PARTS * (tr_clock_ms() - now_ms);
    *has_ended = error == 0 && count <= follower->live->dormant.dormant_count;
    return error == TR_STORE_DAMAGED ? error : 0;
}

/* What came of it, by the reader that is there. */
static enum tr_exit_status print_result(struct follower *follower)
{
    struct tr_live *live = follower->live;
    struct tr_reader *reader;
    if (tr_live_read(live, NULL, &reader) != 0) {
        reader = NULL;
    }
    enum tr_exit_status status =
        tr_result_print(follower->invocation, live->folder, reader, follower->execution);
    if (reader != NULL) {
        tr_live_read_end(live);
    }
    return status;
}

static void finish(struct follower *follower)
{
    follower->is_over = true;
    follower->status = TR_EXIT_DONE;
    follower->notify_look_ms = tr_clock_ms();
    follower->notify_end_ms = follower->notify_look_ms + NOTIFY_MS;
    follower->remove_look_ms = follower->notify_look_ms;
    follower->remove_end_ms = follower->notify_look_ms + REMOVE_MS;
    if (follower->execution != 0) {
        tr_follow_finish(follower->follow);
        follower->status = print_result(follower);
        (void)fflush(stdout);
    }
    size_t followers = tr_serve_followers(follower->serve);
    if (followers > 0) {
        tr_command_note(follower->invocation,
                        "staying for %zu other command%s (Ctrl-C leaves; they lose the engine)",
                        followers, followers == 1 ? "" : "s");
    }
}

/* -------------------------------------------------------------------- notifications */

/* How many are still to be delivered: all, and those that are tried as long as it would stay. */
static void count_left(struct follower *follower, uint64_t *all, uint64_t *soon)
{
    struct tr_reader *reader;
    uint64_t now_ms = tr_clock_ms();
    uint64_t left_ms = now_ms < follower->notify_end_ms ? follower->notify_end_ms - now_ms : 0;
    *all = *soon = 0;
    if (tr_live_read(follower->live, NULL, &reader) != 0) {
        return; /* the result was told, and what cannot be read is no reason to stay */
    }
    int error = tr_notifications_left(reader, follower->execution, TR_NOTIFICATIONS_EVER, all);
    if (error == 0 && left_ms > 0) {
        error =
            tr_notifications_left(reader, follower->execution, tr_clock_wall_ms() + left_ms, soon);
    }
    *all = error == 0 ? *all : 0;
    tr_live_read_end(follower->live);
}

/*
 * Whether somebody is still to be told of what it was there for. It stays a while for what is on
 * its way; what is tried later goes on with the next engine, and that is said.
 */
static bool is_telling(struct follower *follower)
{
    uint64_t all;
    uint64_t soon;
    uint64_t now_ms = tr_clock_ms();
    if (follower->notify_look_ms == 0 || now_ms < follower->notify_look_ms) {
        return follower->notify_look_ms != 0;
    }
    count_left(follower, &all, &soon);
    if (soon > 0 && follower->interrupts == 0) {
        follower->notify_look_ms = now_ms + NOTIFY_LOOK_MS;
        return true;
    }
    if (all > 0) {
        tr_command_note(follower->invocation,
                        "%llu notification%s not delivered yet; the next engine on this store goes "
                        "on with %s",
                        (unsigned long long)all, all == 1 ? " is" : "s are",
                        all == 1 ? "it" : "them");
    }
    follower->notify_look_ms = 0;
    return false;
}

/* --------------------------------------------------------------------------- removals */

/* What back ends still have of tasks: all jobs, and those that are removed now. */
struct left {
    uint64_t jobs;
    uint64_t leaving;
};

static int add_left(void *self, const void *value)
{
    const struct tr_backend *row = value;
    struct left *left = self;
    left->jobs += row->jobs;
    left->leaving += row->leaving;
    return 0;
}

static struct left count_leaving(struct follower *follower)
{
    const struct tr_reader_query query = {.record = &tr_backend_schema};
    struct left left = {0};
    struct tr_reader *reader;
    if (tr_live_read(follower->live, NULL, &reader) == 0) {
        left = tr_reader_rows(reader, &query, add_left, &left) == 0 ? left : (struct left){0};
        tr_live_read_end(follower->live);
    }
    return left;
}

/*
 * Whether something is removed from a back end, where it would stay until the next engine comes.
 * The last task may have ended a moment ago: where there are jobs it looks twice.
 */
static bool is_removing(struct follower *follower)
{
    uint64_t now_ms = tr_clock_ms();
    if (follower->remove_look_ms == 0 || now_ms < follower->remove_look_ms) {
        return follower->remove_look_ms != 0;
    }
    struct left left = count_leaving(follower);
    bool is_early = left.jobs > 0 && follower->remove_looks++ == 0;
    bool may_stay = now_ms < follower->remove_end_ms && follower->interrupts == 0;
    if ((left.leaving > 0 || is_early) && may_stay) {
        follower->remove_look_ms = now_ms + REMOVE_LOOK_MS;
        return true;
    }
    if (left.leaving > 0) {
        tr_command_note(follower->invocation,
                        "%llu job%s not removed from a back end yet; the next engine on this store "
                        "goes on with %s",
                        (unsigned long long)left.leaving, left.leaving == 1 ? " is" : "s are",
                        left.leaving == 1 ? "it" : "them");
    }
    follower->remove_look_ms = 0;
    return false;
}

/* ------------------------------------------------------------------------ retention */

static void tell_retention(struct follower *follower, bool is_error, const char *words)
{
    if (follower->log != NULL) {
        tr_service_log_note(follower->log, is_error, words);
    } else {
        note(follower, words);
    }
}

/* Of several hosts the one that has the place of this name forgets what all of them share. */
#define JANITOR_NAME "sys/janitor"

static bool is_janitor(const struct tr_live *live)
{
    struct tr_ref place;
    return live->is_member &&
           tr_host_singleton_ref(live->host, tr_text_of(JANITOR_NAME), 0, &place) == 0 &&
           tr_host_owns(live->host, place.key.group);
}

/* Forgets what the settings keep no longer, beside everything else, and tells of it. */
static void keep_retention(struct follower *follower)
{
    struct tr_pruned pruned;
    char words[TRI_STORE_EXPLAIN_BYTES];
    follower->retaining.is_one_of_several = follower->live->is_member;
    tr_retaining_set_janitor(&follower->retaining, is_janitor(follower->live));
    if (!tr_retaining_step(&follower->retaining, &pruned, words)) {
        return;
    }
    if (words[0] != '\0') {
        tell_retention(follower, true, words);
        return;
    }
    if (pruned.blobs_stay[0] != '\0') {
        tell_retention(follower, true, pruned.blobs_stay);
    }
    uint64_t executions = pruned.parts[TR_PRUNED_EXECUTIONS].count;
    uint64_t files = 0;
    uint64_t rows = pruned.parts[TR_PRUNED_AUDIT].count;
    for (size_t i = TR_PRUNED_EXECUTIONS + 1; i < TR_PRUNED_AUDIT; i++) {
        files += pruned.parts[i].count;
    }
    if (executions + files > 0) {
        snprintf(words, sizeof words,
                 "forgot %llu executions and removed %llu files and folders, as the settings say",
                 (unsigned long long)executions, (unsigned long long)files);
        tell_retention(follower, false, words);
    }
    if (rows > 0) {
        snprintf(words, sizeof words, "forgot %llu rows of the audit, as the settings say",
                 (unsigned long long)rows);
        tell_retention(follower, false, words);
    }
}

/* Stops a forgetting that still runs. The endpoint is closed first: nobody waits for an answer. */
static void end_retention(struct follower *follower)
{
    if (follower->retaining.janitor != NULL) {
        tri_endpoint_close(follower->live->endpoint);
        follower->live->endpoint = NULL;
        tr_retaining_fini(&follower->retaining);
    }
}

/* ----------------------------------------------------------------------------- loop */

static uint32_t sooner(uint32_t timeout_ms, uint32_t other_ms)
{
    return other_ms < timeout_ms ? other_ms : timeout_ms;
}

/* How long until a time; nothing waits for one that is 0. */
static uint32_t until(uint64_t time_ms)
{
    uint64_t now_ms = tr_clock_ms();
    if (time_ms == 0) {
        return UINT32_MAX;
    }
    return time_ms <= now_ms ? 0 : (uint32_t)(time_ms - now_ms);
}

static uint32_t timeout_of(const struct follower *follower)
{
    uint32_t timeout_ms = tr_serve_timeout_ms(follower->serve);
    timeout_ms = sooner(timeout_ms, until(follower->store_look_ms));
    if (follower->desk != NULL) {
        timeout_ms = sooner(timeout_ms, tr_desk_timeout_ms(follower->desk));
    }
    if (follower->is_over) {
        timeout_ms = sooner(timeout_ms, until(follower->remove_look_ms));
        return sooner(timeout_ms, until(follower->notify_look_ms));
    }
    timeout_ms = sooner(timeout_ms, until(follower->leave_ms));
    if (follower->purpose == AWAKE) {
        timeout_ms = sooner(timeout_ms, until(follower->look_ms));
    }
    if (follower->follow != NULL) {
        timeout_ms = sooner(timeout_ms, tr_follow_timeout_ms(follower->follow));
    }
    return follower->log == NULL ? timeout_ms
                                 : sooner(timeout_ms, tr_service_log_timeout_ms(follower->log));
}

/* One turn; an error is the engine's end. */
static int turn(struct follower *follower)
{
    int error = tr_live_rest(follower->live, timeout_of(follower));
    if (error != 0) {
        return error;
    }
    tr_serve_step(follower->serve);
    if (follower->desk != NULL) {
        tr_desk_step(follower->desk);
    }
    look_at_signals(follower);
    look_at_keys(follower);
    hear_of_store(follower);
    hear_of_host(follower);
    look_at_store(follower);
    bool has_ended = false;
    error = follower->is_over ? 0 : look_for_end(follower, &has_ended);
    if (error != 0) {
        return error;
    }
    if (has_ended) {
        finish(follower);
    }
    if (follower->is_over && !tr_serve_is_needed(follower->serve) && !is_telling(follower) &&
        !is_removing(follower)) {
        follower->is_leaving = true;
        follower->live->hands_over = true;
    }
    if (!follower->is_over && follower->follow != NULL) {
        tr_follow_step(follower->follow);
    }
    if (follower->log != NULL) {
        tr_service_log_step(follower->log);
    }
    keep_retention(follower);
    return 0;
}

static enum tr_exit_status follow_here(struct follower *follower)
{
    const struct tr_settings_file *settings = follower->live->settings;
    follower->retaining.folder = follower->live->folder;
    if (settings != NULL && follower->purpose == STAYING) {
        follower->retaining.retention = settings->retention;
    } else if (settings != NULL) {
        follower->retaining.retention.blobs_cache_bytes = settings->retention.blobs_cache_bytes;
    }
    int error = tr_serve_new(follower->live, &follower->serve);
    while (error == 0 && !follower->is_leaving) {
        error = turn(follower);
    }
    tr_serve_free(follower->serve);
    end_retention(follower);
    if (error != 0) {
        const char *words = tr_host_explain(follower->live->host);
        if (error == TR_FENCED) { /* another host or engine goes on */
            return tr_command_failed(follower->invocation->command, "%s", words);
        }
        return tr_command_failed(follower->invocation->command,
                                 "the engine cannot go on: %s; `troupe resume` goes on from what "
                                 "the store holds",
                                 words[0] != '\0' ? words : tr_error_text(error));
    }
    return follower->status;
}

enum tr_exit_status tr_follow_local(const struct tr_invocation *invocation, struct tr_live *live,
                                    uint64_t execution)
{
    struct follower follower = {
        .invocation = invocation, .live = live, .execution = execution, .status = TR_EXIT_ENGINE};
    int error = tr_live_wake(live, execution);
    if (error == 0) {
        error = tr_host_monitor(live->host, tr_group_root(execution), &follower.monitor);
    }
    if (error == 0) {
        error = tr_follow_new(invocation, live->folder, execution, &follower.follow);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    tr_keys_open(&follower.keys, follower.follow, live->events);
    enum tr_exit_status status = follow_here(&follower);
    tr_keys_close(&follower.keys);
    tr_follow_free(follower.follow);
    return status;
}

enum tr_exit_status tr_follow_local_active(const struct tr_invocation *invocation,
                                           struct tr_live *live)
{
    struct follower follower = {
        .invocation = invocation, .live = live, .purpose = AWAKE, .status = TR_EXIT_ENGINE};
    return follow_here(&follower);
}

enum tr_exit_status tr_follow_local_service(const struct tr_invocation *invocation,
                                            struct tr_live *live, struct tr_service_log *log,
                                            struct tr_desk *desk)
{
    struct follower follower = {.invocation = invocation,
                                .live = live,
                                .purpose = STAYING,
                                .log = log,
                                .desk = desk,
                                .status = TR_EXIT_ENGINE};
    return follow_here(&follower);
}
