/*
 * The loop of an engine: it rests until something comes, does it, and knows when it may leave.
 */
#include "deploy/follow/follow_local.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/follow/follow.h"
#include "deploy/engine/launch.h"
#include "deploy/follow/result.h"
#include "deploy/engine/query_root.h"
#include "deploy/server/serve.h"
#include "deploy/common/signals.h"

/* How long a second Ctrl-C waits for what it kills. */
#define HARD_MS 2000

/* How often whoever waits for everything looks whether it has ended. */
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

struct attending {
    const struct tr_invocation *invocation;
    struct tr_live *live;
    struct tr_serve *serve;
    enum purpose purpose;
    struct tr_follow *follow;       /* of ONE */
    struct tr_chronicle *chronicle; /* of STAYING */
    struct tr_retaining retaining;  /* of STAYING: what the settings say */
    uint64_t execution;             /* of ONE; 0: of others */
    uint64_t monitor;
    bool is_over;
    uint32_t interrupts;
    uint64_t leave_ms; /* when it leaves whatever happens; 0: not so */
    uint64_t look_ms;  /* when it looks again whether anything is unfinished */
    int waits_for;     /* why nothing was written lately; 0: it was */
    uint64_t store_look_ms;
    bool is_leaving;
    enum tr_exit_status status;
};

/* ------------------------------------------------------------------------- signals */

static void note(struct attending *attending, const char *text)
{
    if (attending->chronicle != NULL) {
        tr_chronicle_note(attending->chronicle, false, text);
    } else if (attending->follow != NULL) {
        tr_follow_note(attending->follow, text);
    } else {
        tr_command_note(attending->invocation, "%s", text);
    }
}

/* Goes without waiting for anything: that is what a service is told, and no other's success. */
static void leave(struct attending *attending)
{
    if (!attending->is_over) {
        bool is_service = attending->purpose == STAYING;
        note(attending, is_service ? "leaving; what is unfinished goes on with the next engine"
                                   : "leaving; what is unfinished goes on with `troupe resume`");
        attending->status = is_service ? TR_EXIT_DONE : TR_EXIT_ENGINE;
    }
    attending->is_leaving = true;
}

/* Ctrl-C: the first one aborts, the second one kills and leaves. What is acknowledged is kept. */
static void interrupt(struct attending *attending)
{
    bool is_hard = attending->interrupts++ > 0;
    if (attending->execution == 0 || attending->is_over) {
        leave(attending);
        return;
    }
    if (is_hard) {
        attending->leave_ms = tr_clock_ms() + HARD_MS;
        note(attending, "killing its tasks; the abort is finished by the next engine");
    } else {
        note(attending, "aborting (Ctrl-C again kills its tasks and leaves)");
    }
    int error = tr_live_abort_kept(attending->live, attending->execution,
                                   tr_text_of("interrupted by Ctrl-C"), is_hard);
    if (error == TR_QUARANTINED) {
        note(attending, tr_root_error_text(error));
    } else if (error != 0 && error != TR_TIMEOUT) {
        attending->leave_ms = tr_clock_ms();
    }
}

static void look_at_signals(struct attending *attending)
{
    int number;
    while ((number = tr_signals_next(attending->live->signals)) != 0) {
        if (number == SIGINT) {
            interrupt(attending);
            continue;
        }
        leave(attending);
    }
    if (attending->leave_ms != 0 && tr_clock_ms() >= attending->leave_ms && !attending->is_over) {
        attending->is_leaving = true;
        attending->status = TR_EXIT_ABORTED;
    }
}

/* ---------------------------------------------------------------------------- trouble */

/* Says once that nothing can be written, and once that it goes on. */
static void hear_of_store(struct attending *attending)
{
    char text[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_host_waits_for(attending->live->host);
    if ((error == 0) == (attending->waits_for == 0)) {
        return;
    }
    attending->waits_for = error;
    if (error == 0) {
        note(attending, "the store can be written again; going on");
        return;
    }
    snprintf(text, sizeof text, "the store %.300s cannot be written now: %s; this is tried again%s",
             attending->live->folder, tr_error_text(error),
             error == TR_STORE_FULL ? " until there is room on its disk" : "");
    note(attending, text);
}

/* Nobody can ever see what an engine does whose store was removed: it leaves. */
static void look_at_store(struct attending *attending)
{
    char path[PATH_MAX];
    if (tr_clock_ms() < attending->store_look_ms) {
        return;
    }
    attending->store_look_ms =
        tr_clock_ms() + (attending->purpose == STAYING ? STORE_LOOK_STAYING_MS : STORE_LOOK_MS);
    int size = snprintf(path, sizeof path, "%s/troupe.db", attending->live->folder);
    if (size > 0 && (size_t)size < sizeof path && access(path, F_OK) != 0 && errno == ENOENT) {
        note(attending, "leaving: the store is not there any more");
        attending->is_leaving = true;
        attending->status = TR_EXIT_ENGINE;
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
static int look_for_end(struct attending *attending, bool *has_ended)
{
    int reason;
    uint64_t count;
    uint64_t now_ms = tr_clock_ms();
    *has_ended = false;
    if (attending->purpose == STAYING) {
        return 0;
    }
    if (attending->execution != 0) {
        struct tr_ref root = tr_group_root(attending->execution);
        *has_ended = tr_host_ended(attending->live->host, root, attending->monitor, &reason) == 0;
        return 0;
    }
    if (now_ms < attending->look_ms) {
        return 0;
    }
    int error = count_unfinished(attending->live, &count);
    attending->look_ms = now_ms + LOOK_MS + LOOKING_PARTS * (tr_clock_ms() - now_ms);
    *has_ended = error == 0 && count <= attending->live->sleepers.asleep;
    return error == TR_STORE_DAMAGED ? error : 0;
}

/* What came of it, by the reader that is there. */
static enum tr_exit_status print_result(struct attending *attending)
{
    struct tr_live *live = attending->live;
    struct tr_reader *reader;
    if (tr_live_read(live, NULL, &reader) != 0) {
        reader = NULL;
    }
    enum tr_exit_status status =
        tr_result_print(attending->invocation, live->folder, reader, attending->execution);
    if (reader != NULL) {
        tr_live_read_end(live);
    }
    return status;
}

static void finish(struct attending *attending)
{
    attending->is_over = true;
    attending->status = TR_EXIT_DONE;
    if (attending->execution != 0) {
        tr_follow_finish(attending->follow);
        attending->status = print_result(attending);
        (void)fflush(stdout);
    }
    size_t followers = tr_serve_followers(attending->serve);
    if (followers > 0) {
        tr_command_note(attending->invocation,
                        "staying for %zu other command%s (Ctrl-C leaves; they lose the engine)",
                        followers, followers == 1 ? "" : "s");
    }
}

/* ------------------------------------------------------------------------ retention */

/* Forgets what the settings keep no longer, beside everything else, and tells of it. */
static void keep_retention(struct attending *attending)
{
    struct tr_pruned pruned;
    char words[TRI_STORE_EXPLAIN_BYTES];
    if (!tr_retaining_step(&attending->retaining, &pruned, words)) {
        return;
    }
    if (words[0] != '\0') {
        tr_chronicle_note(attending->chronicle, true, words);
        return;
    }
    uint64_t executions = pruned.parts[TR_PRUNED_EXECUTIONS].count;
    uint64_t files = 0;
    for (size_t i = TR_PRUNED_EXECUTIONS + 1; i < TR_PRUNED_PART_COUNT; i++) {
        files += pruned.parts[i].count;
    }
    if (executions + files > 0) {
        snprintf(words, sizeof words,
                 "forgot %llu executions and removed %llu files and folders, as the settings say",
                 (unsigned long long)executions, (unsigned long long)files);
        tr_chronicle_note(attending->chronicle, false, words);
    }
}

/* Whoever still forgets is stopped; the door is shut first, so that he waits for no answer. */
static void end_retention(struct attending *attending)
{
    if (attending->retaining.janitor != NULL) {
        tri_endpoint_close(attending->live->door);
        attending->live->door = NULL;
        tr_retaining_fini(&attending->retaining);
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

static uint32_t timeout_of(const struct attending *attending)
{
    uint32_t timeout_ms = tr_serve_timeout_ms(attending->serve);
    timeout_ms = sooner(timeout_ms, until(attending->store_look_ms));
    if (attending->is_over) {
        return timeout_ms;
    }
    timeout_ms = sooner(timeout_ms, until(attending->leave_ms));
    if (attending->purpose == AWAKE) {
        timeout_ms = sooner(timeout_ms, until(attending->look_ms));
    }
    if (attending->follow != NULL) {
        timeout_ms = sooner(timeout_ms, tr_follow_timeout_ms(attending->follow));
    }
    return attending->chronicle == NULL
               ? timeout_ms
               : sooner(timeout_ms, tr_chronicle_timeout_ms(attending->chronicle));
}

/* One turn; an error is the engine's end. */
static int turn(struct attending *attending)
{
    int error = tr_live_rest(attending->live, timeout_of(attending));
    if (error != 0) {
        return error;
    }
    tr_serve_step(attending->serve);
    look_at_signals(attending);
    hear_of_store(attending);
    look_at_store(attending);
    bool has_ended = false;
    error = attending->is_over ? 0 : look_for_end(attending, &has_ended);
    if (error != 0) {
        return error;
    }
    if (has_ended) {
        finish(attending);
    }
    if (attending->is_over && tr_serve_followers(attending->serve) == 0) {
        attending->is_leaving = true;
        attending->live->hands_over = true;
    }
    if (!attending->is_over && attending->follow != NULL) {
        tr_follow_step(attending->follow);
    }
    if (attending->chronicle != NULL) {
        tr_chronicle_step(attending->chronicle);
        keep_retention(attending);
    }
    return 0;
}

static enum tr_exit_status attend(struct attending *attending)
{
    int error = tr_serve_new(attending->live, &attending->serve);
    while (error == 0 && !attending->is_leaving) {
        error = turn(attending);
    }
    tr_serve_free(attending->serve);
    end_retention(attending);
    if (error != 0) {
        const char *words = tr_host_explain(attending->live->host);
        return tr_command_failed(attending->invocation->command,
                                 "the engine cannot go on: %s; `troupe resume` goes on from what "
                                 "the store holds",
                                 words[0] != '\0' ? words : tr_error_text(error));
    }
    return attending->status;
}

enum tr_exit_status tr_attend(const struct tr_invocation *invocation, struct tr_live *live,
                              uint64_t execution)
{
    struct attending attending = {
        .invocation = invocation, .live = live, .execution = execution, .status = TR_EXIT_ENGINE};
    int error = tr_live_wake(live, execution);
    if (error == 0) {
        error = tr_host_monitor(live->host, tr_group_root(execution), &attending.monitor);
    }
    if (error == 0) {
        error = tr_follow_new(invocation, live->folder, execution, &attending.follow);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    enum tr_exit_status status = attend(&attending);
    tr_follow_free(attending.follow);
    return status;
}

enum tr_exit_status tr_attend_awake(const struct tr_invocation *invocation, struct tr_live *live)
{
    struct attending attending = {
        .invocation = invocation, .live = live, .purpose = AWAKE, .status = TR_EXIT_ENGINE};
    return attend(&attending);
}

enum tr_exit_status tr_attend_staying(const struct tr_invocation *invocation, struct tr_live *live,
                                      struct tr_chronicle *chronicle)
{
    struct attending attending = {.invocation = invocation,
                                  .live = live,
                                  .purpose = STAYING,
                                  .chronicle = chronicle,
                                  .retaining = {.folder = live->folder},
                                  .status = TR_EXIT_ENGINE};
    if (live->settings != NULL) {
        attending.retaining.retention = live->settings->retention;
    }
    return attend(&attending);
}
