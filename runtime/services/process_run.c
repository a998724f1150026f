/*
 * The life of a process_run: folder, environment and files are made, the keeper is told, and after
 * the end the documents are read and answered as one process_over.
 *
 *     NONE -no folder-> WAITING -folder made-> ASKED -started-> STARTED -ended-> NONE
 *       `--there is one-> HELD -not known-------^  |               ^
 *                          `----known: it runs, waits or ended ----'
 *
 * The folder is made before the keeper gets the key, so a new folder means that the key never ran,
 * without asking the keeper. An existing one may belong to a process that has been running since
 * before this engine.
 *
 * Nothing here survives a crash of the engine: the actor sends the same process_run again, and the
 * folder and the keeper together tell its state. A process is therefore never run twice, whatever
 * crashes:
 *
 *   no folder               the keeper was never told: the run is queued
 *   folder, key not known   the engine died in between: the folder is emptied and made again
 *   folder, key known       it runs or has ended: the run continues from the keeper's answer
 */
#include <errno.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/secret/secret.h"
#include "runtime/services/process_internal.h"

/* Bytes for the names of files made for a process, as sent to the keeper. */
#define MADE_BYTES_MAX 1024

/* Runs made in one batch, before other work of the service. */
#define BATCH 16

/* Runs ahead at least: a very short process ends before another one can be made. */
#define AHEAD_MIN (2 * BATCH)

/* Counts runs by phase; written by this thread alone, read by metrics. */
static void count_run(struct tri_process_service *service, enum tri_process_run_phase phase,
                      int change)
{
    uint32_t count = atomic_load_explicit(&service->runs[phase], memory_order_relaxed);
    atomic_store_explicit(&service->runs[phase], count + (uint32_t)change, memory_order_relaxed);
}

static void set_phase(struct tri_process_service *service, struct tri_process_key *entry,
                      enum tri_process_run_phase phase)
{
    if (entry->phase == TRI_PROCESS_RUN_WAITING && phase != TRI_PROCESS_RUN_WAITING) {
        tri_process_queue_remove(&service->waiting, entry);
    }
    /* `ahead` counts runs that were sent to the keeper and do not run yet. */
    service->ahead += phase == TRI_PROCESS_RUN_ASKED ? 1 : 0;
    service->ahead -= entry->phase == TRI_PROCESS_RUN_ASKED ? 1 : 0;
    count_run(service, entry->phase, -1);
    count_run(service, phase, 1);
    entry->phase = phase;
}

/* Ends a run and drops its entry if unused. */
static void end_run(struct tri_process_service *service, struct tri_process_key *entry)
{
    set_phase(service, entry, TRI_PROCESS_RUN_NONE);
    tri_process_key_end(entry);
}

/* Answers the call with a refusal, and drops the run. */
static void refuse(struct tri_process_service *service, struct tri_process_key *entry, int error,
                   const char *reason)
{
    struct tr_process_refused refused = {
        .key = {.data = entry->key, .size = entry->size},
        .error = error,
        .reason = tr_text_of(reason[0] != '\0' ? reason : tr_error_text(error)),
    };
    tri_process_service_check(service, tri_service_reply(&service->base, &entry->run,
                                                         &tr_process_refused_schema, &refused));
    end_run(service, entry);
}

/* ---- Telling the keeper. -------------------------------------------------------------------- */

/* The names of the files made for a process, packed into `bytes`; none if they do not fit. */
static struct tr_bytes made_files(struct tr_bytes files, uint8_t *bytes, size_t size)
{
    struct tr_cursor cursor;
    struct tr_writer writer = tr_writer_of(bytes, size);
    uint32_t count = tr_process_array_begin(files, &cursor);
    tr_write_array(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_text name = tr_process_file_next(&cursor).name;
        tr_process_string_write(&writer, (struct tr_bytes){(const uint8_t *)name.data, name.size});
    }
    bool is_whole = cursor.error == 0 && writer.error == 0;
    return (struct tr_bytes){.data = bytes, .size = is_whole ? tr_writer_size(&writer) : 0};
}

/* Sends a process_start: paths with their folders, and the packed environment. */
static int send_start(struct tri_process_service *service, const struct tr_process_run *run)
{
    char paths[4][TR_PATH_BYTES_MAX];
    const struct tr_text names[] = {run->work, run->stdin_path, run->stdout_path, run->stderr_path};
    struct tr_text joined[4];
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        int error = tri_attempt_path(run->folder, names[i], paths[i], &joined[i]);
        if (error != 0) {
            return error;
        }
    }
    uint8_t made[MADE_BYTES_MAX];
    struct tr_process_start start = {
        .key = run->key,
        .argv = run->argv,
        .environment = {tri_buffer_front(&service->environment),
                        tri_buffer_size(&service->environment)},
        .folder = run->work.size > 0 ? joined[0] : run->folder,
        .stdin_path = joined[1],
        .stdout_path = joined[2],
        .stderr_path = joined[3],
        .grace_ms = run->grace_ms,
        .timeout_ms = run->timeout_ms,
        .limits = run->limits,
        .umask = run->umask,
        .synced_folder = run->folder,
        .provided = made_files(run->files, made, sizeof made),
        .memory_max = run->memory_max,
        .after = run->after,
        .warm = service->is_cold ? (struct tr_bytes){0} : run->warm,
    };
    return tri_keeper_client_send(service->client, &tr_process_start_schema, &start);
}

/* Makes the folder and tells the keeper. TR_EXISTS: the folder exists, nothing was done. */
static int make_and_send(struct tri_process_service *service, struct tri_process_key *entry,
                         const struct tr_process_run *run, bool is_emptied, char *reason)
{
    int error = tri_attempt_make(&service->folders, entry->attempt, run, is_emptied,
                                 &service->environment, reason);
    if (error != 0) {
        /*
         * The environment may hold secrets: it is wiped on every path, as soon as the keeper's copy
         * is queued.
         */
        tri_secret_wipe(&service->environment);
        return error;
    }
    error = send_start(service, run);
    tri_secret_wipe(&service->environment);
    if (error != 0) {
        tri_attempt_discard(&service->folders, entry->attempt);
        return error;
    }
    set_phase(service, entry, TRI_PROCESS_RUN_ASKED);
    return 0;
}

/* Asks the keeper whether it knows the key; until the answer the run is held. */
static int query(struct tri_process_service *service, struct tri_process_key *entry)
{
    struct tr_process_query query = {.key = {.data = entry->key, .size = entry->size}};
    set_phase(service, entry, TRI_PROCESS_RUN_HELD);
    return tri_keeper_client_send(service->client, &tr_process_query_schema, &query);
}

/*
 * With `is_emptied` an existing folder is of an engine that died before it told the keeper, and is
 * emptied; otherwise an existing folder means to ask the keeper first.
 */
static void begin(struct tri_process_service *service, struct tri_process_key *entry,
                  bool is_emptied)
{
    char reason[TR_REASON_BYTES_MAX] = "";
    struct tr_process_run run;
    struct tr_bytes body = {.data = entry->held, .size = entry->held_size};
    int error = tr_process_run_unpack(body, entry->held_version, &run);
    if (error == 0) {
        error = make_and_send(service, entry, &run, is_emptied, reason);
    }
    /* The folder was made after the run was queued. */
    if (error == TR_EXISTS && !is_emptied) {
        error = query(service, entry);
    } else if (error == 0) {
        tri_process_key_release(entry);
    }
    if (error != 0) {
        refuse(service, entry, error, reason);
    }
}

/* ---- Whose turn it is. ---------------------------------------------------------------------- */

/*
 * Making an attempt's folder and files may take longer than a short process runs, and folders made
 * early accumulate. So runs wait in order, with nothing made, until the keeper has few runs left
 * that it has not begun: enough that one is always ready when a process ends, and made in batches,
 * so that one sync and one message of the keeper serve several. A waiting run is lost when the
 * engine dies, and leaves nothing on the disk; its actor asks again.
 */

uint32_t tri_process_runs_ahead(uint32_t jobs)
{
    uint32_t twice = jobs < UINT32_MAX / 2 ? 2 * jobs : jobs;
    return twice > AHEAD_MIN ? twice : AHEAD_MIN;
}

static int wait_for_turn(struct tri_process_service *service, struct tri_process_key *entry,
                         struct tr_bytes body, uint8_t version)
{
    int error = tri_process_key_hold(entry, body, version);
    if (error != 0) {
        return error;
    }
    tri_process_queue_put(&service->waiting, entry);
    set_phase(service, entry, TRI_PROCESS_RUN_WAITING);
    return 0;
}

bool tri_process_runs_are_due(const struct tri_process_service *service)
{
    /* Pending calls may stop waiting runs, so they go first. */
    return service->waiting.first != NULL && !service->has_frame &&
           service->ahead + BATCH <= service->ahead_max &&
           tri_keeper_client_is_up(service->client) && tri_keeper_client_has_room(service->client);
}

void tri_process_runs_begin(struct tri_process_service *service)
{
    if (!tri_process_runs_are_due(service)) {
        return;
    }
    for (uint32_t i = 0; i < BATCH && service->waiting.first != NULL; i++) {
        struct tri_process_key *entry = service->waiting.first;
        /* The pipe to the keeper is full: the run keeps its place in the queue. */
        if (!tri_keeper_client_has_room(service->client)) {
            return;
        }
        begin(service, entry, false);
        tri_process_keys_drop_unused(&service->keys, entry);
    }
}

void tri_process_runs_clear(struct tri_process_service *service)
{
    service->waiting = (struct tri_process_queue){0};
    service->ahead = 0;
    for (size_t i = 0; i < TRI_PROCESS_RUN_PHASE_COUNT; i++) {
        atomic_store_explicit(&service->runs[i], 0, memory_order_relaxed);
    }
}

/* ---- Calls. --------------------------------------------------------------------------------- */

static void tell_started(struct tri_process_service *service, const struct tri_process_key *entry)
{
    bool is_unbounded = entry->is_bounded && service->unbounded[0] != '\0';
    struct tr_process_started started = {
        .key = {.data = entry->key, .size = entry->size},
        .pid = entry->pid,
        .start_time = entry->start_time,
        .started_ms = entry->started_ms,
        .unbounded = tr_text_of(is_unbounded ? service->unbounded : ""),
    };
    if (is_unbounded) {
        tri_process_service_note_unbounded(service);
    }
    tri_process_service_check(service, tri_service_tell(&service->base, &entry->run,
                                                        &tr_process_started_schema, &started));
}

/*
 * The same run was requested again: the last caller is answered. It is the same actor after a
 * restart, or a later attempt; only one caller gets the end.
 */
static void replace_caller(struct tri_process_service *service, struct tri_process_key *entry,
                           const struct tri_caller *caller)
{
    tri_service_refuse(&service->base, &entry->run, TR_CLOSED);
    entry->run = *caller;
    if (entry->phase == TRI_PROCESS_RUN_STARTED) {
        tell_started(service, entry);
    }
}

/* Asks the keeper at once about a run that it may know; queues any other. */
static void take_in(struct tri_process_service *service, struct tri_process_key *entry,
                    const struct tr_process_run *run, struct tr_bytes body, uint8_t version)
{
    char reason[TR_REASON_BYTES_MAX] = "";
    int error = tri_attempt_new(&service->folders, run, reason, &entry->attempt);
    if (error == 0 && !tri_attempt_exists(&service->folders, entry->attempt)) {
        error = wait_for_turn(service, entry, body, version);
    } else if (error == 0) {
        error = tri_process_key_hold(entry, body, version);
        if (error == 0) {
            error = query(service, entry);
        }
    }
    if (error != 0) {
        refuse(service, entry, error, reason);
    }
}

/*
 * Handles a process_run. For an open run only the caller changes: after a restart of an engine the
 * same actor requests it again.
 */
void tri_process_run_take(struct tri_process_service *service, struct tr_bytes body,
                          uint8_t version, const struct tri_caller *caller)
{
    struct tr_process_run run;
    struct tri_process_key *entry = NULL;
    int error = tr_process_run_unpack(body, version, &run);
    if (error == 0) {
        entry = tri_process_keys_ensure(&service->keys, run.key);
        error = entry != NULL ? 0 : TR_MEMORY;
    }
    if (error != 0) {
        tri_service_refuse(&service->base, caller, error);
        return;
    }
    if (entry->phase != TRI_PROCESS_RUN_NONE) {
        replace_caller(service, entry, caller);
        return;
    }
    tri_process_ends_claim(service, run.key);
    entry->run = *caller;
    entry->is_bounded = run.memory_max > 0;
    take_in(service, entry, &run, body, version);
    tri_process_keys_drop_unused(&service->keys, entry);
}

/* ---- News. ---------------------------------------------------------------------------------- */

void tri_process_run_started(struct tri_process_service *service, struct tri_process_key *entry,
                             const struct tr_process_started *started)
{
    if (entry->phase != TRI_PROCESS_RUN_ASKED) {
        return;
    }
    set_phase(service, entry, TRI_PROCESS_RUN_STARTED);
    entry->pid = started->pid;
    entry->start_time = started->start_time;
    entry->started_ms = started->started_ms;
    tell_started(service, entry);
}

/* No process ran: removes the folder. */
void tri_process_run_refused(struct tri_process_service *service, struct tri_process_key *entry,
                             const struct tr_process_refused *refused)
{
    if (entry->phase != TRI_PROCESS_RUN_ASKED) {
        return;
    }
    /* No process ran in it, so it holds no results. */
    tri_attempt_discard(&service->folders, entry->attempt);
    tri_process_service_check(service, tri_service_reply(&service->base, &entry->run,
                                                         &tr_process_refused_schema, refused));
    end_run(service, entry);
}

/* Converts the end to a process_over. */
static struct tr_process_over over_of(const struct tr_process_ended *ended,
                                      const struct tri_buffer *documents)
{
    return (struct tr_process_over){
        .key = ended->key,
        .outcome = ended->outcome,
        .status = ended->status,
        .core_dumped = ended->core_dumped,
        .stopped_by = ended->stopped_by,
        .pid = ended->pid,
        .started_ms = ended->started_ms,
        .ended_ms = ended->ended_ms,
        .elapsed_us = ended->elapsed_us,
        .cpu_user_us = ended->cpu_user_us,
        .cpu_system_us = ended->cpu_system_us,
        .memory_bytes_max = ended->memory_bytes_max,
        .reason = ended->reason,
        .documents = {tri_buffer_front(documents), tri_buffer_size(documents)},
        .memory_kill = ended->memory_kill,
        .memory_max = ended->memory_max,
    };
}

/*
 * The end of a process whose documents cannot be read. The outcome is LOST, as if they could not be
 * synced: a document taken for missing would be the user's failure.
 */
static struct tr_process_ended unread(const struct tr_process_ended *ended, const char *reason)
{
    struct tr_process_ended lost = *ended;
    if (ended->outcome != TR_PROCESS_NOT_STARTED) {
        lost.outcome = TR_PROCESS_LOST;
        lost.status = 0;
        lost.reason = tr_text_of(reason);
    }
    return lost;
}

/*
 * The keeper keeps the end until it is told to forget it, so after a failure here the run can be
 * requested again.
 */
void tri_process_run_ended(struct tri_process_service *service, struct tri_process_key *entry,
                           const struct tr_process_ended *ended)
{
    if (entry->phase == TRI_PROCESS_RUN_NONE) {
        return;
    }
    struct tr_process_ended end = *ended;
    char reason[TR_REASON_BYTES_MAX];
    tri_buffer_clear(&service->documents);
    int error = tri_attempt_read(&service->folders, entry->attempt, &service->documents, reason);
    if (error == TR_SYSTEM) {
        tri_buffer_clear(&service->documents);
        end = unread(ended, reason);
        error = 0;
    }
    if (error == 0) {
        struct tr_process_over over = over_of(&end, &service->documents);
        error = tri_service_reply(&service->base, &entry->run, &tr_process_over_schema, &over);
    }
    if (error != 0) {
        /* No memory now, but the keeper has the end: the caller can ask again. */
        tri_service_refuse(&service->base, &entry->run, error);
    }
    end_run(service, entry);
}

struct tr_process_ended tri_process_run_skipped(const struct tri_process_service *service,
                                                const struct tri_process_key *entry)
{
    return (struct tr_process_ended){
        .key = {.data = entry->key, .size = entry->size},
        .outcome = TR_PROCESS_NOT_STARTED,
        .status = ECANCELED,
        .stopped_by = TR_PROCESS_STOPPED_BY_REQUEST,
        .ended_ms = tri_wall_ms(service->base.env),
        .reason = tr_text_of("it was stopped before it started"),
    };
}

void tri_process_run_known(struct tri_process_service *service, struct tri_process_key *entry,
                           const struct tr_process_state *state)
{
    if (state->phase == TR_PROCESS_NEW || state->phase == TR_PROCESS_FORGOTTEN) {
        /* An engine died between making the folder and telling the keeper. */
        begin(service, entry, true);
        return;
    }
    tri_process_key_release(entry);
    set_phase(service, entry, TRI_PROCESS_RUN_ASKED);
    if (state->phase == TR_PROCESS_RUNNING) {
        struct tr_process_started started = {.key = state->key,
                                             .pid = state->pid,
                                             .start_time = state->start_time,
                                             .started_ms = state->started_ms};
        tri_process_run_started(service, entry, &started);
    }
    /* An end follows; a waiting start is reported when it happens. */
}
