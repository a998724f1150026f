/*
 * The work of one round of the keeper. A child goes from queue to queue:
 *
 *     asked -commit-> ready -its turn-> launched ... ended -commit-> the table, and told
 *
 * The order carries the promises. A key is synced to the log before its process exists, so a key is
 * never started twice. That it is about to be launched is written, not synced, before the spawn:
 * this has to survive the keeper only, since a restart of the machine ends all processes and makes
 * open keys LOST. What a process wrote is synced before its end enters `ended` (keeper_sync.c), and
 * the end is synced before clients are told, so an engine never acts on what a loss of power takes
 * back.
 *
 * A process that waits takes the place of one that has ended before that end is written, so the
 * disk does not hold up the processors. While something waits so, ends and answers are gathered for
 * TR_KEEPER_GATHER_MS, since nothing can begin sooner by them.
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

/* The first of the queue, taken out of it, or NULL. */
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

/* Nothing of it is in the log, so the key is forgotten as if it had never been asked for, and may
 * be asked for again. */
static void refuse_asked(struct tri_keeper *keeper, int error)
{
    struct tri_child *child;
    while ((child = queue_take(&keeper->asked)) != NULL) {
        struct tri_key_entry *entry = child->entry;
        struct tr_process_refused refused = {
            .key = entry->key, .error = error, .reason = tr_text_of(tr_error_text(error))};
        tri_keeper_tell(keeper, child->asked_by, &tr_process_refused_schema, &refused);
        tri_children_remove(&keeper->children, child);
        int refusal = tri_key_table_refuse(&keeper->table, entry);
        TR_ASSERT(refusal == 0);
    }
}

/* ---- Writing down. -------------------------------------------------------------------------- */

/* Puts the records of what was asked behind what is pending; nothing is written yet. */
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

/* The same for ends. Both stay in their queues until the commit has gone well. */
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

/* Writes ends and requests with one sync. On an error none of it is in the log. */
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

/* Moves ends into the table, where they can be heard of. */
static void finish_ended(struct tri_keeper *keeper)
{
    struct tri_child *child;
    while ((child = queue_take(&keeper->ended)) != NULL) {
        struct tri_key_entry *entry = child->entry;
        int error = tri_key_table_end(&keeper->table, entry, &child->end);
        if (error != 0) {
            /* No memory for the words of a failed start: the end matters more. */
            child->end.reason = (struct tr_text){.data = "", .size = 0};
            error = tri_key_table_end(&keeper->table, entry, &child->end);
        }
        TR_ASSERT(error == 0);
        tri_children_remove(&keeper->children, child);
    }
}

/* What was asked is written down now and waits for its turn. */
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
 * One commit of requests and ends. With a full disk, requests are refused and ends stay queued for
 * the next try. With a log that has failed for good, requests are refused too, but ends are told
 * from memory: no later keeper could tell them.
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

/* Ends a child that never ran. Its end is written and told like any other. */
static void skip(struct tri_keeper *keeper, struct tri_child *child, const char *reason)
{
    tri_children_skip(child, reason);
    tri_child_queue_put(&keeper->ended, child);
}

void tri_keeper_stop(struct tri_keeper *keeper, struct tri_child *child,
                     enum tr_process_stopper stopper, uint32_t grace_ms)
{
    tri_children_stop(&keeper->children, child, stopper, grace_ms);
    keeper->has_stopped_ready = keeper->has_stopped_ready || child->pid == 0;
}

/* Ends those that were stopped while they waited. */
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
            skip(keeper, child, "it was stopped before its turn came");
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
        keeper->unclaimed_running -= child->pid != 0 && !child->has_ended ? 1 : 0;
    }
}

/*
 * Until TR_KEEPER_CLAIM_MS after an engine came, all running children take places, as the engine
 * may still ask for them. Afterwards those that it has not asked for take none: they belong to
 * executions that are dormant in it, and must not hold up its own.
 */
static size_t free_places(const struct tri_keeper *keeper)
{
    bool is_settled = tri_monotonic_ms() >= keeper->claim_ms;
    size_t running = keeper->children.running - (is_settled ? keeper->unclaimed_running : 0);
    return running < keeper->running_max ? keeper->running_max - running : 0;
}

/*
 * The first child that the present engine has asked for, or NULL. Others stay in `ready`, moved to
 * `kept` in their order; they are not launched for an engine that does not want them.
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

/* Puts what was kept before the others again. */
static void put_before(struct tri_child_queue *queue, const struct tri_child_queue *kept)
{
    if (kept->last != NULL) {
        kept->last->next_in_work = queue->first;
        queue->first = kept->first;
        queue->last = queue->last != NULL ? queue->last : kept->last;
    }
}

/*
 * Takes children for the free places and writes that they may run from now on. On an error the
 * caller gets them in `turn` all the same, to be given back: what was taken was not launched.
 */
static int take_turns(struct tri_keeper *keeper, struct tri_child_queue *turn)
{
    int error = 0;
    struct tri_child_queue kept = {0};
    struct tri_child *child;
    size_t places = free_places(keeper);
    while (places > 0 && error == 0 && (child = take_claimed(keeper, &kept)) != NULL) {
        struct tr_log_launching launching = {.key = child->entry->key};
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
 * A child whose log_launching cannot be written must not run: a later keeper would read its key as
 * never launched and tell "not started", and the engine may run it again.
 */
static void give_turns_back(struct tri_keeper *keeper, struct tri_child_queue *turn, int error)
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

/* The child runs when this returns, or is among the ended. The log has its key and that it may run;
 * its pid follows, and is told at once to the client that asked. */
static void launch(struct tri_keeper *keeper, struct tri_child *child)
{
    struct tr_process_started started;
    int error = tri_key_table_launch(child->entry);
    TR_ASSERT(error == 0);
    if (tri_children_launch(&keeper->children, child, &started) != 0) {
        tri_child_queue_put(&keeper->ended, child);
        return;
    }
    error = tri_key_table_start(&keeper->table, child->entry, &started);
    TR_ASSERT(error == 0);
    error = tri_keeper_file_put(&keeper->file, &tr_process_started_schema, &started,
                                &child->entry->log_bytes);
    if (error != 0) {
        complain_of_log(keeper, error);
    }
    tri_keeper_tell(keeper, child->asked_by, &tr_process_started_schema, &started);
    child->asked_by = NULL;
}

/*
 * Launches children for the free places. Their pids are written behind, with a second write for
 * all; if that fails, the mark in the environment still finds the processes.
 */
static void launch_ready(struct tri_keeper *keeper)
{
    skip_stopped(keeper);
    bool has_turn = keeper->ready.first != NULL && keeper->retry_ms == 0 && free_places(keeper) > 0;
    if (!has_turn) {
        return;
    }
    struct tri_child_queue turn = {0};
    int error = take_turns(keeper, &turn);
    if (error != 0) {
        give_turns_back(keeper, &turn, error);
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

/* When what was forgotten takes too much of the file, the log is written anew from the table. */
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
        /* The old one serves on, and is tried again when it has grown as much again. */
        keeper->table.forgotten_bytes = 0;
    }
}

/* Whether it is time to try again what a full disk held up. */
static bool is_pausing(struct tri_keeper *keeper)
{
    if (keeper->retry_ms != 0 && tri_monotonic_ms() >= keeper->retry_ms) {
        keeper->retry_ms = 0;
    }
    return keeper->retry_ms != 0;
}

/*
 * Whether all places are taken and others wait. Then an end that is written a few milliseconds
 * later delays no start: its place was filled above, without the log.
 */
static bool may_gather(const struct tri_keeper *keeper)
{
    return keeper->ready.first != NULL && free_places(keeper) == 0 && !keeper->is_leaving &&
           tri_monotonic_ms() < keeper->gather_ms;
}

/*
 * One round: free places are filled without a sync, then one commit for all and launches of what it
 * made ready, and a second commit only if a start failed or was stopped.
 */
void tri_keeper_work(struct tri_keeper *keeper)
{
    bool has_ended = !is_pausing(keeper) && keeper->ended.first != NULL;
    /* First, a process that waits takes the place of one that ended: it needs no sync. */
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
        /* Only keys to forget are left; losing one means to tell its end once more. */
        (void)!tri_keeper_file_commit(&keeper->file, TRI_COMMIT_WRITTEN);
    }
    rewrite_log(keeper);
}

/* ---- After a dead keeper. ------------------------------------------------------------------- */

/* How a key ends that a dead keeper left. */
static struct tr_process_ended settled(const struct tri_key_entry *entry, bool was_here)
{
    struct tr_process_ended ended = {.key = entry->key,
                                     .outcome = TR_PROCESS_UNKNOWN,
                                     .pid = entry->pid,
                                     .started_ms = entry->started_ms,
                                     .ended_ms = tri_wall_ms()};
    if (!was_here) {
        /* After a loss of power the log, too, may lack what was not synced. */
        ended.outcome = TR_PROCESS_LOST;
        ended.reason = tr_text_of("the machine was restarted or the store is on another one");
    } else if (entry->may_run) {
        ended.reason = tr_text_of("the keeper ended while it ran; what was left was killed");
    } else {
        ended.outcome = TR_PROCESS_NOT_STARTED;
        ended.status = ECANCELED;
        ended.reason = tr_text_of("the keeper ended before its turn came");
    }
    return ended;
}

int tri_keeper_settle(struct tri_keeper *keeper, bool was_here)
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
