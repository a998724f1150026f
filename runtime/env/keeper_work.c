/*
 * The keeper's work of one round: what was asked and what ended goes into the log with one sync;
 * then ends become part of the table, from which they are told, and processes are launched.
 *
 * The order is the promise: a key is on the disk before its process exists, so that a process is
 * never forgotten; an end is there before anybody hears of it.
 */
#include "runtime/env/clock.h"
#include "runtime/env/keeper_inside.h"

void tri_child_queue_put(struct tri_child_queue *queue, struct tri_child *child)
{
    child->next_in_work = NULL;
    *(queue->last != NULL ? &queue->last->next_in_work : &queue->first) = child;
    queue->last = child;
}

struct tri_child *tri_child_queue_take(struct tri_child_queue *queue)
{
    struct tri_child *child = queue->first;
    if (child != NULL) {
        queue->first = child->next_in_work;
        queue->last = queue->first != NULL ? queue->last : NULL;
    }
    return child;
}

/* ---- Refusals. ------------------------------------------------------------------------------ */

static void refuse_asked(struct tri_keeper *keeper, int error)
{
    struct tri_child *child;
    while ((child = tri_child_queue_take(&keeper->asked)) != NULL) {
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

/* Writes both down. On an error none of it is in the log. */
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
    while ((child = tri_child_queue_take(&keeper->ended)) != NULL) {
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

/*
 * One commit of what was asked and what ended. A full disk: starts are refused, ends are kept and
 * tried again. A log that has failed for good: the same for starts, but ends are told from memory,
 * since this process is then the only one that knows them.
 */
static void commit(struct tri_keeper *keeper)
{
    int error = write_down(keeper);
    if (error != 0) {
        tri_keeper_complain(keeper, "%s: %s", TRI_KEEPER_LOG_NAME, tr_error_text(error));
        refuse_asked(keeper, error);
        keeper->retry_ms = tri_monotonic_ms() + TR_KEEPER_WATCH_MS;
    }
    if (error == 0 || error == TR_STORE_FAILED) {
        keeper->retry_ms = 0;
        finish_ended(keeper);
    }
}

/* ---- Launching. ----------------------------------------------------------------------------- */

static void launch(struct tri_keeper *keeper, struct tri_child *child)
{
    struct tr_process_started started;
    if (tri_children_launch(&keeper->children, child, &started) != 0) {
        tri_child_queue_put(&keeper->ended, child);
        return;
    }
    int error = tri_key_table_start(&keeper->table, child->entry, &started);
    TR_ASSERT(error == 0);
    error = tri_keeper_file_put(&keeper->file, &tr_process_started_schema, &started,
                                &child->entry->log_bytes);
    if (error != 0) {
        tri_keeper_complain(keeper, "%s: %s", TRI_KEEPER_LOG_NAME, tr_error_text(error));
    }
    tri_keeper_tell(keeper, child->asked_by, &tr_process_started_schema, &started);
    child->asked_by = NULL;
}

/*
 * Launches what was written down. Their pids need not survive the machine, so they are not synced;
 * where they cannot be written at all, the mark in the environment still finds the process.
 */
static void launch_asked(struct tri_keeper *keeper)
{
    struct tri_child *child;
    while ((child = tri_child_queue_take(&keeper->asked)) != NULL) {
        launch(keeper, child);
    }
    if (tri_buffer_size(&keeper->file.pending) == 0) {
        return;
    }
    int error = tri_keeper_file_commit(&keeper->file, TRI_COMMIT_WRITTEN);
    if (error != 0) {
        tri_keeper_complain(keeper, "%s: %s", TRI_KEEPER_LOG_NAME, tr_error_text(error));
    }
}

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

void tri_keeper_work(struct tri_keeper *keeper)
{
    bool is_pausing = keeper->retry_ms != 0 && tri_monotonic_ms() < keeper->retry_ms;
    bool has_news = keeper->asked.first != NULL || (keeper->ended.first != NULL && !is_pausing);
    if (has_news) {
        commit(keeper);
        launch_asked(keeper);
    }
    /* Starts that failed are ends of this round. */
    if (keeper->ended.first != NULL && keeper->retry_ms == 0) {
        commit(keeper);
    }
    if (tri_buffer_size(&keeper->file.pending) > 0) {
        /* Only keys to forget are left; losing one means to tell its end once more. */
        (void)!tri_keeper_file_commit(&keeper->file, TRI_COMMIT_WRITTEN);
    }
    rewrite_log(keeper);
}

/* ---- After a dead keeper. ------------------------------------------------------------------- */

int tri_keeper_settle(struct tri_keeper *keeper, bool was_here)
{
    uint64_t now_ms = tri_wall_ms();
    struct tri_key_entry *entry;
    const char *reason = was_here ? "the keeper ended while it ran; what was left of it was killed"
                                  : "the machine or the keeper's folder is another one by now";
    while ((entry = keeper->table.live.first) != NULL) {
        struct tr_process_ended ended = {.key = entry->key,
                                         .outcome = TR_PROCESS_UNKNOWN,
                                         .pid = entry->pid,
                                         .started_ms = entry->started_ms,
                                         .ended_ms = now_ms,
                                         .reason = tr_text_of(reason)};
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
