/*
 * One round of the keeper. A child goes from queue to queue:
 *
 *     asked -commit-> ready -a free place-> launched ... ended -commit-> the table, reported
 *
 * This order gives the guarantees. A key is synced to the log before its process exists, so a key
 * is never started twice. Its launch is logged, not synced, before the spawn: this has to survive
 * only the keeper, since a restart of the machine ends all processes and makes open keys LOST. A
 * process's files are synced before its end enters `ended` (keeper_sync.c), and the end is synced
 * before clients are told, so an engine never acts on something that a power loss takes back.
 *
 * A waiting process takes the place of an ended one before that end is logged, so the disk does not
 * delay starts. While children wait, ends and answers are gathered for TR_KEEPER_GATHER_MS, since
 * no start depends on them.
 */
#include <errno.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper_inside.h"

void tri_child_queue_put(struct tri_child_queue *queue, struct tri_child *child)
{
    child->next_in_work = NULL;
    *(queue->last != NULL ? &queue->last->next_in_work : &queue->first) = child;
    queue->last = child;
}

/* Removes and returns the first child of the queue, or NULL. */
static struct tri_child *queue_take(struct tri_child_queue *queue)
{
    struct tri_child *child = queue->first;
    if (child != NULL) {
        queue->first = child->next_in_work;
        queue->last = queue->first != NULL ? queue->last : NULL;
    }
    return child;
}

/* ---- Refusals. ------------------------------------------------------------------------------ */

/* The requests are not in the log, so the keys are dropped and may be requested again. */
static void refuse_asked(struct tri_keeper *keeper, int error)
{
    struct tri_child *child;
    while ((child = queue_take(&keeper->asked)) != NULL) {
        struct tri_key_entry *entry = child->entry;
        struct tr_process_refused refused = {
            .key = entry->key, .error = error, .reason = tr_text_of(tr_error_text(error))};
        tri_keeper_send(keeper, child->asked_by, &tr_process_refused_schema, &refused);
        tri_children_remove(&keeper->children, child);
        int refusal = tri_key_table_refuse(&keeper->table, entry);
        TR_ASSERT(refusal == 0);
    }
}

/* ---- Writing down. -------------------------------------------------------------------------- */

/* Queues the records of requests; nothing is written yet. */
static int put_asked(struct tri_keeper *keeper)
{
    int error = 0;
    uint64_t now_ms = tri_wall_ms();
    for (struct tri_child *child = keeper->asked.first; child != NULL && error == 0;
         child = child->next_in_work) {
        struct tr_log_starting starting = {.key = child->entry->key, .asked_ms = now_ms};
        child->entry->started_ms = now_ms;
        error = tri_keeper_file_put(&keeper->file, &tr_log_starting_schema, &starting,
                                    &child->entry->log_bytes);
    }
    return error;
}

/* The same for ends. The children stay in their queues until the commit succeeds. */
static int put_ended(struct tri_keeper *keeper)
{
    int error = 0;
    for (struct tri_child *child = keeper->ended.first; child != NULL && error == 0;
         child = child->next_in_work) {
        error = tri_keeper_file_put(&keeper->file, &tr_process_ended_schema, &child->end,
                                    &child->entry->log_bytes);
    }
    return error;
}

/* Writes ends and requests with one sync. On an error none of them is in the log. */
static int write_down(struct tri_keeper *keeper)
{
    int error = put_ended(keeper);
    if (error == 0) {
        error = put_asked(keeper);
    }
    if (error != 0) {
        tri_buffer_clear(&keeper->file.pending);
        return error;
    }
    return tri_keeper_file_commit(&keeper->file, TRI_COMMIT_SYNCED);
}

/* Moves ends into the table, from which they are reported. */
static void finish_ended(struct tri_keeper *keeper)
{
    struct tri_child *child;
    while ((child = queue_take(&keeper->ended)) != NULL) {
        struct tri_key_entry *entry = child->entry;
        int error = tri_key_table_end(&keeper->table, entry, &child->end);
        if (error != 0) {
            /* No memory for the words of a failed start: the outcome matters more. */
            child->end.reason = (struct tr_text){.data = "", .size = 0};
            error = tri_key_table_end(&keeper->table, entry, &child->end);
        }
        TR_ASSERT(error == 0);
        tri_children_remove(&keeper->children, child);
    }
}

/* The logged requests now wait to be launched. */
static void ready_asked(struct tri_keeper *keeper)
{
    struct tri_child *child;
    while ((child = queue_take(&keeper->asked)) != NULL) {
        keeper->has_stopped_ready =
            keeper->has_stopped_ready || child->stopped_by != TR_PROCESS_STOPPED_BY_NOBODY;
        tri_child_queue_put(&keeper->ready, child);
    }
}

static void complain_of_log(struct tri_keeper *keeper, int error)
{
    tri_keeper_complain(keeper, "%s: %s", TRI_KEEPER_LOG_NAME, tr_error_text(error));
}

/*
 * One commit of requests and ends. On a full disk, requests are refused and ends stay queued for a
 * retry. If the log has failed for good, requests are refused too, but ends are reported from
 * memory: no later keeper could report them.
 */
static void commit(struct tri_keeper *keeper)
{
    int error = write_down(keeper);
    if (error != 0) {
        complain_of_log(keeper, error);
        refuse_asked(keeper, error);
        keeper->retry_ms = tri_monotonic_ms() + TR_KEEPER_WATCH_MS;
    }
    if (error == 0 || error == TR_STORE_FAILED) {
        keeper->retry_ms = 0;
        ready_asked(keeper);
        finish_ended(keeper);
    }
}

/* ---- Launching. ----------------------------------------------------------------------------- */

/* Ends a child that never ran. Its end is logged and reported like any other. */
static void skip(struct tri_keeper *keeper, struct tri_child *child, const char *reason)
{
    keeper->unclaimed_running -=
        child->is_starting && !tri_keeper_is_claimed(keeper, child) ? 1 : 0;
    tri_children_skip(&keeper->children, child, reason);
    tri_child_queue_put(&keeper->ended, child);
}

static const char stopped_before[] = "it was stopped before it started";

void tri_keeper_stop(struct tri_keeper *keeper, struct tri_child *child,
                     enum tr_process_stopper stopper, uint32_t grace_ms)
{
    tri_children_stop(&keeper->children, child, stopper, grace_ms);
    if (child->is_starting) {
        skip(keeper, child, stopped_before);
    } else {
        keeper->has_stopped_ready = keeper->has_stopped_ready || child->pid == 0;
    }
}

/* Ends children that were stopped while they waited. */
static void skip_stopped(struct tri_keeper *keeper)
{
    if (!keeper->has_stopped_ready) {
        return;
    }
    struct tri_child_queue all = keeper->ready;
    struct tri_child *child;
    keeper->ready = (struct tri_child_queue){0};
    keeper->has_stopped_ready = false;
    while ((child = queue_take(&all)) != NULL) {
        if (child->stopped_by != TR_PROCESS_STOPPED_BY_NOBODY) {
            skip(keeper, child, stopped_before);
        } else {
            tri_child_queue_put(&keeper->ready, child);
        }
    }
}

void tri_keeper_engine_came(struct tri_keeper *keeper)
{
    keeper->engine++;
    keeper->unclaimed_running = keeper->children.running;
    keeper->claim_ms = tri_monotonic_ms() + TR_KEEPER_CLAIM_MS;
}

void tri_keeper_claim(struct tri_keeper *keeper, struct tri_child *child)
{
    if (!tri_keeper_is_claimed(keeper, child)) {
        child->engine = keeper->engine;
        keeper->unclaimed_running -= tri_child_has_place(child) ? 1 : 0;
    }
}

/*
 * Until TR_KEEPER_CLAIM_MS after an engine connected, all running children take places, as the
 * engine may still claim them. Afterwards unclaimed ones take none: they belong to executions that
 * are dormant in it, and must not delay its own.
 */
static size_t free_places(const struct tri_keeper *keeper)
{
    bool is_settled = tri_monotonic_ms() >= keeper->claim_ms;
    size_t running = keeper->children.running - (is_settled ? keeper->unclaimed_running : 0);
    return running < keeper->running_max ? keeper->running_max - running : 0;
}

/*
 * The first child that the current engine has claimed, or NULL. Unclaimed ones are moved from
 * `ready` to `kept` in order.
 */
static struct tri_child *take_claimed(struct tri_keeper *keeper, struct tri_child_queue *kept)
{
    struct tri_child *child = queue_take(&keeper->ready);
    while (child != NULL && !tri_keeper_is_claimed(keeper, child)) {
        tri_child_queue_put(kept, child);
        child = queue_take(&keeper->ready);
    }
    return child;
}

/* Puts the kept children back at the front. */
static void put_before(struct tri_child_queue *queue, const struct tri_child_queue *kept)
{
    if (kept->last != NULL) {
        kept->last->next_in_work = queue->first;
        queue->first = kept->first;
        queue->last = queue->last != NULL ? queue->last : kept->last;
    }
}

/*
 * Takes children for the free places and logs their launch. On an error the caller still gets them
 * in `turn`, to return them: none was launched.
 */
static int take_launchable(struct tri_keeper *keeper, struct tri_child_queue *turn)
{
    int error = 0;
    struct tri_child_queue kept = {0};
    struct tri_child *child;
    size_t places = free_places(keeper);
    while (places > 0 && error == 0 && (child = take_claimed(keeper, &kept)) != NULL) {
        struct tr_log_launching launching = {.key = child->entry->key,
                                             .after = child->entry->after};
        error = tri_keeper_file_put(&keeper->file, &tr_log_launching_schema, &launching,
                                    &child->entry->log_bytes);
        tri_child_queue_put(turn, child);
        places--;
    }
    put_before(&keeper->ready, &kept);
    int written = tri_keeper_file_commit(&keeper->file, TRI_COMMIT_WRITTEN);
    return error != 0 ? error : written;
}

/*
 * A child whose log_launching cannot be written must not run: a later keeper would report its key
 * as "not started", and the engine might run it again.
 */
static void return_launchable(struct tri_keeper *keeper, struct tri_child_queue *turn, int error)
{
    struct tri_child_queue behind = keeper->ready;
    struct tri_child *child;
    complain_of_log(keeper, error);
    keeper->retry_ms = tri_monotonic_ms() + TR_KEEPER_WATCH_MS;
    keeper->ready = (struct tri_child_queue){0};
    while ((child = queue_take(turn)) != NULL) {
        if (error == TR_STORE_FAILED) {
            skip(keeper, child, "the keeper's log cannot be written any more");
        } else {
            tri_child_queue_put(&keeper->ready, child);
        }
    }
    while ((child = queue_take(&behind)) != NULL) {
        tri_child_queue_put(&keeper->ready, child);
    }
}

/* Its pid is logged next, and is reported at once to the client that asked. */
static void note_started(struct tri_keeper *keeper, struct tri_child *child,
                         const struct tr_process_started *started)
{
    int error = tri_key_table_start(&keeper->table, child->entry, started);
    TR_ASSERT(error == 0);
    error = tri_keeper_file_put(&keeper->file, &tr_process_started_schema, started,
                                &child->entry->log_bytes);
    if (error != 0) {
        complain_of_log(keeper, error);
    }
    tri_keeper_send(keeper, child->asked_by, &tr_process_started_schema, started);
    child->asked_by = NULL;
}

/*
 * On return the child runs or is starting, or is in `ended`. The log has its key and its launch.
 */
static void launch(struct tri_keeper *keeper, struct tri_child *child)
{
    struct tr_process_started started;
    int error = tri_key_table_launch(child->entry);
    TR_ASSERT(error == 0);
    error = tri_children_launch(&keeper->children, child, &started);
    if (error == 0) {
        note_started(keeper, child, &started);
    } else if (error != TR_BUSY) {
        tri_child_queue_put(&keeper->ended, child);
    }
}

/* Takes in what warm workers have started. */
static void note_starts(struct tri_keeper *keeper)
{
    struct tr_process_started started;
    struct tri_child *child;
    int error;
    while ((child = tri_children_started(&keeper->children, &started, &error)) != NULL) {
        if (error == 0) {
            note_started(keeper, child, &started);
            continue;
        }
        keeper->unclaimed_running -= tri_keeper_is_claimed(keeper, child) ? 0 : 1;
        tri_child_queue_put(&keeper->ended, child);
    }
    char *words = keeper->children.warm.words;
    if (words[0] != '\0') {
        tri_keeper_complain(keeper, "%s", words);
        words[0] = '\0';
    }
}

/*
 * Launches children for the free places. Their pids are logged afterwards, with one write for all;
 * if that fails, the mark in the environment still identifies the processes.
 */
static void launch_ready(struct tri_keeper *keeper)
{
    skip_stopped(keeper);
    bool has_turn = keeper->ready.first != NULL && keeper->retry_ms == 0 && free_places(keeper) > 0;
    if (!has_turn) {
        return;
    }
    struct tri_child_queue turn = {0};
    int error = take_launchable(keeper, &turn);
    if (error != 0) {
        return_launchable(keeper, &turn, error);
        return;
    }
    struct tri_child *child;
    while ((child = queue_take(&turn)) != NULL) {
        launch(keeper, child);
    }
    error = tri_keeper_file_commit(&keeper->file, TRI_COMMIT_WRITTEN);
    if (error != 0) {
        complain_of_log(keeper, error);
    }
}

/* Rewrites the log from the table when it holds too much garbage. */
static void rewrite_log(struct tri_keeper *keeper)
{
    size_t max = keeper->options.forgotten_bytes_max;
    if (keeper->table.forgotten_bytes <= max || keeper->file.has_failed) {
        return;
    }
    int error = tri_keeper_file_rewrite(&keeper->file, tr_text_of(keeper->place), &keeper->table);
    if (error != 0) {
        tri_keeper_complain(keeper, "writing %s anew: %s", TRI_KEEPER_LOG_NAME,
                            tr_error_text(error));
        /* The old log stays in use; the next try comes after as much new garbage. */
        keeper->table.forgotten_bytes = 0;
    }
}

/* Whether commits pause because the disk was full. */
static bool is_pausing(struct tri_keeper *keeper)
{
    if (keeper->retry_ms != 0 && tri_monotonic_ms() >= keeper->retry_ms) {
        keeper->retry_ms = 0;
    }
    return keeper->retry_ms != 0;
}

/*
 * Whether all places are taken and children wait. Then logging an end a few milliseconds later
 * delays no start: its place was filled above, without the log.
 */
static bool may_gather(const struct tri_keeper *keeper)
{
    return keeper->ready.first != NULL && free_places(keeper) == 0 && !keeper->is_leaving &&
           tri_monotonic_ms() < keeper->gather_ms;
}

/*
 * One round: fill free places without a sync, commit everything, launch what became ready, and
 * commit again only if a start failed or was stopped.
 */
void tri_keeper_run_round(struct tri_keeper *keeper)
{
    note_starts(keeper);
    bool has_ended = !is_pausing(keeper) && keeper->ended.first != NULL;
    /* A waiting process takes the place of an ended one first: this needs no sync. */
    launch_ready(keeper);
    keeper->is_gathering = may_gather(keeper);
    if (keeper->is_gathering) {
        return;
    }
    if (keeper->asked.first != NULL || has_ended) {
        commit(keeper);
        launch_ready(keeper);
    }
    /* Starts that failed or were stopped are ends of this round. */
    if (keeper->ended.first != NULL && keeper->retry_ms == 0) {
        commit(keeper);
    }
    keeper->gather_ms = tri_monotonic_ms() + TR_KEEPER_GATHER_MS;
    if (tri_buffer_size(&keeper->file.pending) > 0) {
        /*
         * Forgotten keys are pending, and pids of warm starts: losing a record means to report an
         * end again, or to know a process by its mark.
         */
        (void)!tri_keeper_file_commit(&keeper->file, TRI_COMMIT_WRITTEN);
    }
    rewrite_log(keeper);
}

/* ---- After a dead keeper. ------------------------------------------------------------------- */

/* The end of a key that a dead keeper left open. */
static struct tr_process_ended settled(const struct tri_key_entry *entry, bool was_here)
{
    struct tr_process_ended ended = {.key = entry->key,
                                     .outcome = TR_PROCESS_UNKNOWN,
                                     .pid = entry->pid,
                                     .started_ms = entry->started_ms,
                                     .ended_ms = tri_wall_ms()};
    if (!was_here) {
        /* After a power loss the log, too, may lack unsynced records. */
        ended.outcome = TR_PROCESS_LOST;
        ended.reason = tr_text_of("the machine was restarted or the store is on another one");
    } else if (entry->may_run) {
        ended.reason = tr_text_of("the keeper ended while it ran; what was left was killed");
    } else {
        ended.outcome = TR_PROCESS_NOT_STARTED;
        ended.status = ECANCELED;
        ended.reason = tr_text_of("the keeper ended before it started");
    }
    return ended;
}

int tri_keeper_end_unfinished(struct tri_keeper *keeper, bool was_here)
{
    struct tri_key_entry *entry;
    while ((entry = keeper->table.live.first) != NULL) {
        struct tr_process_ended ended = settled(entry, was_here);
        int error =
            tri_keeper_file_put(&keeper->file, &tr_process_ended_schema, &ended, &entry->log_bytes);
        if (error == 0) {
            error = tri_key_table_end(&keeper->table, entry, &ended);
        }
        if (error != 0) {
            return error;
        }
    }
    return tri_keeper_file_commit(&keeper->file, TRI_COMMIT_SYNCED);
}
