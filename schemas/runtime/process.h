/*
 * What an engine and the keeper of processes say to each other, and what the keeper writes down.
 *
 * A process has a key, the identity of the attempt it runs for. The keeper starts a key once:
 * a later request for it hears what became of it. An end is told until it is forgotten on
 * request, so that an engine that died meanwhile still hears it.
 *
 *     engine                          keeper
 *     keeper_hello{follow}     ->
 *                              <-     keeper_hello, keeper_session{nonce}
 *     keeper_session{nonce}    ->
 *                              <-     process_ended for each end not forgotten
 *     process_start            ->
 *                              <-     process_started, or process_refused (try again), or
 *                                     process_ended (it is over already)
 *                              <-     process_ended, when it ends
 *     process_forget           ->     (once the end is safe in the engine's own store)
 *
 * process_started, process_ended, process_forget and the log_ messages are the records of the
 * keeper's log too: what was told is what was written.
 *
 * Actors speak with the host's process service (TR_SERVICE_PROCESSES), which stands before the
 * keeper and does what takes files: it makes an attempt's folder, and reads what the attempt wrote.
 *
 *     actor                           service
 *     process_run (tr_call)    ->
 *                              <-     process_started (a message of its own), when it runs
 *                              <-     the answer: process_over, or process_refused
 *     process_stop (tr_tell)   ->     (then the end comes sooner)
 *     folder_remove, process_forget -> (once the end is safe in the actor's state)
 *
 * The call stays open until the process has ended: so an actor whose engine or keeper died hears
 * tr_ask_failed, TR_NO_CONNECTION, and says the same process_run again, which never runs a key a
 * second time but takes up with what became of it.
 */
#ifndef TR_SCHEMAS_RUNTIME_PROCESS_H
#define TR_SCHEMAS_RUNTIME_PROCESS_H

#include "schemas/codec/field.h"

/* Names below an attempt's folder: where it works, and what it has written for people. */
#define TR_ATTEMPT_WORK "work"
#define TR_ATTEMPT_TMP "tmp"
#define TR_ATTEMPT_STDOUT "stdout"
#define TR_ATTEMPT_STDERR "stderr"
#define TR_ATTEMPT_PROGRESS "progress"

/* A folder of a store: what the attempts of a task share. */
#define TR_STORE_CHECKPOINTS "checkpoints"

/* Another: environments that tasks run in, by what they are made of. */
#define TR_STORE_ENVIRONMENTS "environments"

/* Another: the code of packages, by its content. */
#define TR_STORE_CODE "code"

/* What clients of Flyte's API have uploaded. */
#define TR_STORE_UPLOADS "uploads"

/*
 * The version of this conversation, and the oldest one that this program still speaks. The first in
 * which a keeper knows leases is named.
 */
#define TR_KEEPER_PROTOCOL 2
#define TR_KEEPER_PROTOCOL_OLDEST 1
#define TR_KEEPER_PROTOCOL_LEASE 2

/* A grace_ms that means: as process_start said. */
#define TR_PROCESS_GRACE_AS_STARTED UINT32_MAX

/* What a process_start with umask 0 gets; no process of ours makes files that all may write. */
#define TR_PROCESS_UMASK_DEFAULT 0022

/*
 * How a process ended. `unknown`: its keeper died meanwhile, and what was left was killed; what it
 * has written is there. `lost`: its files may be incomplete as well. `host lost`: it began on
 * another host, which is lost, and nothing of it runs any more; what it has written is not here.
 */
#define TR_PROCESS_OUTCOMES(O)                                                       \
    O(EXITED, 1, "exited")           /* `status` is its exit status */               \
    O(SIGNALLED, 2, "signalled")     /* `status` is the signal that ended it */      \
    O(NOT_STARTED, 3, "not started") /* `status` is the errno, `reason` the words */ \
    O(UNKNOWN, 4, "unknown")                                                         \
    O(LOST, 5, "lost")                                                               \
    O(HOST_LOST, 6, "host lost")

enum tr_process_outcome {
#define TRI_OUTCOME(name, number, text) TR_PROCESS_##name = (number),
    TR_PROCESS_OUTCOMES(TRI_OUTCOME)
#undef TRI_OUTCOME
};

/* Who asked a process to stop. The outcome stands apart: it may have exited with 0 all the same. */
#define TR_PROCESS_STOPPERS(O)                           \
    O(NOBODY, 0, "nobody")                               \
    O(TIMEOUT, 1, "timeout") /* its timeout_ms passed */ \
    O(REQUEST, 2, "request") /* process_stop */          \
    O(KEEPER, 3, "keeper")   /* the keeper itself was asked to end */

enum tr_process_stopper {
#define TRI_STOPPER(name, number, text) TR_PROCESS_STOPPED_BY_##name = (number),
    TR_PROCESS_STOPPERS(TRI_STOPPER)
#undef TRI_STOPPER
};

/* A shell whose command ended by signal N exits with this and N (POSIX: above 128). */
#define TR_SHELL_SIGNALLED 128

/* Whether a process that was killed was killed by the kernel, for want of memory. */
#define TR_MEMORY_KILLS(K)                                            \
    K(NONE, 0, "none")                                                \
    K(MACHINE, 1, "machine") /* a process of the machine was, then */ \
    K(CGROUP, 2, "cgroup")   /* one of its cgroup was */              \
    K(BOUND, 3, "bound")     /* it was, since it used its own bound */

enum tr_memory_kill {
#define TRI_MEMORY_KILL(name, number, text) TR_MEMORY_KILL_##name = (number),
    TR_MEMORY_KILLS(TRI_MEMORY_KILL)
#undef TRI_MEMORY_KILL
};

/* What a keeper knows of a key. */
#define TR_PROCESS_PHASES(P)                                                       \
    P(NEW, 0, "new")           /* never asked for, or forgotten since */           \
    P(STARTING, 1, "starting") /* written down; will run, or end as not started */ \
    P(RUNNING, 2, "running")                                                       \
    P(ENDED, 3, "ended")                                                           \
    P(FORGOTTEN, 4, "forgotten") /* the same as NEW to a caller */

enum tr_process_phase {
#define TRI_PHASE(name, number, text) TR_PROCESS_##name = (number),
    TR_PROCESS_PHASES(TRI_PHASE)
#undef TRI_PHASE
        TR_PROCESS_PHASE_COUNT
};

/*
 * The first message in both directions. `follow` asks for every end, past and to come. The keeper
 * answers with what it is: its process and how many others it keeps. Both sides learn each other's
 * version from it, so its form never changes.
 */
#define TR_KEEPER_HELLO_FIELDS(FIELD, ARRAY) \
    FIELD(u16, protocol, 1, 0)               \
    FIELD(u16, protocol_oldest, 1, 0)        \
    FIELD(bool, follow, 1, 0)                \
    FIELD(u32, pid, 1, 0)                    \
    FIELD(u64, start_time, 1, 0)             \
    FIELD(u32, running, 1, 0)                \
    FIELD(u32, unforgotten, 1, 0)

/*
 * A number drawn for one connection, which its client says back before the keeper does anything for
 * it: what was once said in another connection cannot be said again. `unbounded`: why the keeper
 * cannot bound the memory of what it runs, and what to do; empty: it can.
 */
#define TR_KEEPER_SESSION_FIELDS(FIELD, ARRAY) \
    FIELD(u64, nonce, 1, 0)                    \
    FIELD(text, unbounded, 1, 0)

/*
 * Starts argv in an own session with nothing inherited. `argv` is an array of strings (see
 * tr_process_strings_pack), `environment` one of NAME=value and all there is; a program without a
 * slash is looked for in the PATH given there. The folder must exist. The files of stdin, stdout
 * and stderr count from the folder, empty means /dev/null, the outputs are made or emptied, and
 * equal names for both are one file. `limits` is an array of [name, soft, hard], with UINT64_MAX
 * for none; TR_PROCESS_LIMITS has the names. timeout_ms 0 means none. All that lies below
 * `synced_folder` is on the disk before the end is written down, unless the keeper's log itself is
 * not synced; empty: none. `provided` are strings, the names of what was put there for the process:
 * where nothing else has come there is nothing to sync. `memory_max`: the memory that all its
 * processes may use together, where the keeper can bound it; 0: no bound. `after` are the words of
 * a command that is run when the process has ended, by whichever keeper: it ends what the process
 * had begun where no signal reaches; empty: none. The end is told behind it.
 *
 * `warm`: strings, the names of variables; empty: none. The program is a script of Python's, and
 * those of its variables say nothing of this attempt: so it may be forked from a process that has
 * imported what the program needs in an environment of these variables alone.
 */
#define TR_PROCESS_START_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                    \
    FIELD(any, argv, 1, 0)                    \
    FIELD(any, environment, 1, TR_REDACTED)   \
    FIELD(text, folder, 1, 0)                 \
    FIELD(text, stdin_path, 1, 0)             \
    FIELD(text, stdout_path, 1, 0)            \
    FIELD(text, stderr_path, 1, 0)            \
    FIELD(u32, grace_ms, 1, 0)                \
    FIELD(u64, timeout_ms, 1, 0)              \
    FIELD(any, limits, 1, 0)                  \
    FIELD(u16, umask, 1, 0)                   \
    FIELD(text, synced_folder, 1, 0)          \
    FIELD(any, provided, 1, 0)                \
    FIELD(u64, memory_max, 1, 0)              \
    FIELD(any, after, 1, 0)                   \
    FIELD(any, warm, 1, 0)

/*
 * It runs. `start_time` is in the system's ticks since boot (field 22 of /proc/PID/stat).
 * `unbounded` is the service's: why the bound of memory that was asked for does not hold.
 */
#define TR_PROCESS_STARTED_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                      \
    FIELD(u32, pid, 1, 0)                       \
    FIELD(u64, start_time, 1, 0)                \
    FIELD(u64, started_ms, 1, 0)                \
    FIELD(text, unbounded, 1, 0)

/* It was not started and nothing is known of the key: `error` is an enum tr_error. */
#define TR_PROCESS_REFUSED_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                      \
    FIELD(i64, error, 1, 0)                     \
    FIELD(text, reason, 1, 0)

/*
 * It ended: times on the wall clock, elapsed_us on the monotonic one, cpu and memory of the process
 * and of those descendants that it waited for. `is_synced`: what it has written was on the disk.
 * `memory_kill` is an enum tr_memory_kill; `memory_max` the bound of memory that held, or 0: with
 * a bound, `memory_bytes_max` is of all its processes together, where the kernel tells.
 */
#define TR_PROCESS_ENDED_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                    \
    FIELD(u8, outcome, 1, 0)                  \
    FIELD(u32, status, 1, 0)                  \
    FIELD(bool, core_dumped, 1, 0)            \
    FIELD(u8, stopped_by, 1, 0)               \
    FIELD(u32, pid, 1, 0)                     \
    FIELD(u64, started_ms, 1, 0)              \
    FIELD(u64, ended_ms, 1, 0)                \
    FIELD(u64, elapsed_us, 1, 0)              \
    FIELD(u64, cpu_user_us, 1, 0)             \
    FIELD(u64, cpu_system_us, 1, 0)           \
    FIELD(u64, memory_bytes_max, 1, 0)        \
    FIELD(text, reason, 1, 0)                 \
    FIELD(bool, is_synced, 1, 0)              \
    FIELD(u8, memory_kill, 1, 0)              \
    FIELD(u64, memory_max, 1, 0)

/* What became of a key? Answered by process_state, and by process_ended behind it when it ended. */
#define TR_PROCESS_QUERY_FIELDS(FIELD, ARRAY) FIELD(text, key, 1, 0)

#define TR_PROCESS_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                    \
    FIELD(u8, phase, 1, 0)                    \
    FIELD(u32, pid, 1, 0)                     \
    FIELD(u64, start_time, 1, 0)              \
    FIELD(u64, started_ms, 1, 0)

/*
 * SIGTERM to the process group, SIGKILL after the grace (0: at once). A key that does not run is
 * answered by process_state; otherwise the end is the answer.
 */
#define TR_PROCESS_STOP_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                   \
    FIELD(u32, grace_ms, 1, 0)

/* The end of this key need not be kept any more. A key that has not ended: process_state. */
#define TR_PROCESS_FORGET_FIELDS(FIELD, ARRAY) FIELD(text, key, 1, 0)

/*
 * To the service: starts a process with all that it needs, once for each key. The fields up to
 * `umask` are process_start's, with these differences:
 *
 * `folder` is the attempt's, absolute and below the store's folder; it is made (0700), with parents
 * (0700). What an earlier engine left there of a key that never began is removed first. `work` is
 * the working folder, a name below `folder`; empty: `folder` itself. stdin, stdout and stderr count
 * from `folder`; an output that is empty in the end is removed.
 * `environment`: strings NAME=value, and NAME for what the engine's own environment has.
 * `secrets`: an array of [NAME, group, key, version, is_file]. The service finds the values, and no
 * message or store ever holds them; is_file puts the name of a 0600 file into the variable, which
 * is removed when the process has ended. One that cannot be had: process_refused, TR_NOT_FOUND.
 * `files`: an array of [name, bytes, mode], made below `folder` before the process starts; with the
 * mode S_IFLNK it is a link to the path that the bytes are.
 * `folders`: an array of names below `folder`, or absolute ones below the store's, made if missing.
 * `results`: an array of [name, size_max, is_tail]: what to read below `folder` when it has ended;
 * of a larger file nothing but its size, or its last size_max bytes. A name whose last part has a
 * `*` is all files that suit it, one behind the other, in the order of the folder.
 * `asked_ms`: when it was asked for first, by the store's steady clock: what another host of the
 * store may have begun is not begun here. Until nothing of it can run any more that is refused
 * (TR_BUSY), and then its end is HOST_LOST.
 *
 * A name below is a relative one without empty, `.` and `..` parts; links in it are not followed.
 */
#define TR_PROCESS_RUN_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                  \
    FIELD(any, argv, 1, 0)                  \
    FIELD(any, environment, 1, TR_REDACTED) \
    FIELD(text, folder, 1, 0)               \
    FIELD(text, work, 1, 0)                 \
    FIELD(text, stdin_path, 1, 0)           \
    FIELD(text, stdout_path, 1, 0)          \
    FIELD(text, stderr_path, 1, 0)          \
    FIELD(u32, grace_ms, 1, 0)              \
    FIELD(u64, timeout_ms, 1, 0)            \
    FIELD(any, limits, 1, 0)                \
    FIELD(u16, umask, 1, 0)                 \
    FIELD(any, secrets, 1, 0)               \
    FIELD(any, files, 1, TR_REDACTED)       \
    FIELD(any, folders, 1, 0)               \
    FIELD(any, results, 1, 0)               \
    FIELD(u64, memory_max, 1, 0)            \
    FIELD(any, after, 1, 0)                 \
    FIELD(any, warm, 1, 0)                  \
    FIELD(u64, asked_ms, 1, 0)

/*
 * The end of a process_run: process_ended's fields, and `documents`, an array with an element for
 * each of `results`: nil when there is no such regular file; its bytes; or its size, when that is
 * above size_max or does not fit into one message with those before it. Where the system does not
 * give a file that is there (an error of the disk), the outcome is LOST and there are no documents.
 */
#define TR_PROCESS_OVER_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                   \
    FIELD(u8, outcome, 1, 0)                 \
    FIELD(u32, status, 1, 0)                 \
    FIELD(bool, core_dumped, 1, 0)           \
    FIELD(u8, stopped_by, 1, 0)              \
    FIELD(u32, pid, 1, 0)                    \
    FIELD(u64, started_ms, 1, 0)             \
    FIELD(u64, ended_ms, 1, 0)               \
    FIELD(u64, elapsed_us, 1, 0)             \
    FIELD(u64, cpu_user_us, 1, 0)            \
    FIELD(u64, cpu_system_us, 1, 0)          \
    FIELD(u64, memory_bytes_max, 1, 0)       \
    FIELD(text, reason, 1, 0)                \
    FIELD(any, documents, 1, TR_REDACTED)    \
    FIELD(u8, memory_kill, 1, 0)             \
    FIELD(u64, memory_max, 1, 0)

/*
 * To the service, told or called: removes a folder below the store's folder, with all there is in
 * it; links are removed, not followed. A call is answered by folder_removed, also when there was
 * no such folder; then `error` is 0 too.
 */
#define TR_FOLDER_REMOVE_FIELDS(FIELD, ARRAY) FIELD(text, path, 1, 0)

/*
 * To the service, told: what an attempt has left on a share is not needed any more. What it worked
 * in is removed, all of `folder` unless it has written logs, and `checkpoint`, which may be empty.
 * Others write there, too: behind the first `trusted_bytes` of both no link is followed (struct
 * tr_fence of schemas/runtime/files.h). What cannot be removed stays.
 */
#define TR_SHARED_CLEAN_FIELDS(FIELD, ARRAY) \
    FIELD(text, folder, 1, 0)                \
    FIELD(text, checkpoint, 1, 0)            \
    FIELD(u32, trusted_bytes, 1, 0)

#define TR_FOLDER_REMOVED_FIELDS(FIELD, ARRAY) \
    FIELD(text, path, 1, 0)                    \
    FIELD(i64, error, 1, 0)                    \
    FIELD(text, reason, 1, 0)

/*
 * How many processes may run at once from now on (0: no bound but the keeper's own). What is asked
 * for beyond that is written down and waits, and begins without delay when another ends.
 */
#define TR_KEEPER_LIMIT_FIELDS(FIELD, ARRAY) FIELD(u32, running_max, 1, 0)

/*
 * For how long the keeper may go on without hearing this again, from now on: then it ends all its
 * processes at once, and begins none before it hears it. 0, as in the beginning: for ever. It is
 * told by an engine whose work another host takes if this one is silent.
 */
#define TR_KEEPER_LEASE_FIELDS(FIELD, ARRAY) FIELD(u64, lease_ms, 1, 0)

/*
 * The log only: a keeper took the log over. `place` names boot, process namespace and folder, so
 * that pids of another boot, machine or copy of the folder are never taken for living ones.
 * `store` is a random number made with the log; with the key it marks processes as ours.
 */
#define TR_LOG_OPENED_FIELDS(FIELD, ARRAY) \
    FIELD(u64, store, 1, 0)                \
    FIELD(text, place, 1, 0)               \
    FIELD(u32, pid, 1, 0)                  \
    FIELD(u64, opened_ms, 1, 0)

/* The log only: synced before the process exists. */
#define TR_LOG_STARTING_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                   \
    FIELD(u64, asked_ms, 1, 0)

/*
 * The log only: written before the process exists. A keeper that follows on the same machine knows
 * by it what may have run, and what is to be run behind its end.
 */
#define TR_LOG_LAUNCHING_FIELDS(FIELD, ARRAY) \
    FIELD(text, key, 1, 0)                    \
    FIELD(any, after, 1, 0)

#define TR_PROCESS_SCHEMAS(S)                                                      \
    S(keeper_hello, 300, TR_MESSAGE, 1, TR_HINT, TR_KEEPER_HELLO_FIELDS)           \
    S(process_start, 301, TR_MESSAGE, 1, TR_DURABLE, TR_PROCESS_START_FIELDS)      \
    S(process_started, 302, TR_MESSAGE, 1, TR_DURABLE, TR_PROCESS_STARTED_FIELDS)  \
    S(process_refused, 303, TR_MESSAGE, 1, TR_PRIORITY, TR_PROCESS_REFUSED_FIELDS) \
    S(process_ended, 304, TR_MESSAGE, 1, TR_PRIORITY, TR_PROCESS_ENDED_FIELDS)     \
    S(process_query, 305, TR_MESSAGE, 1, TR_DURABLE, TR_PROCESS_QUERY_FIELDS)      \
    S(process_state, 306, TR_MESSAGE, 1, TR_PRIORITY, TR_PROCESS_STATE_FIELDS)     \
    S(process_stop, 307, TR_MESSAGE, 1, TR_PRIORITY, TR_PROCESS_STOP_FIELDS)       \
    S(process_forget, 308, TR_MESSAGE, 1, TR_DURABLE, TR_PROCESS_FORGET_FIELDS)    \
    S(keeper_limit, 309, TR_MESSAGE, 1, TR_DURABLE, TR_KEEPER_LIMIT_FIELDS)        \
    S(process_run, 310, TR_MESSAGE, 1, TR_DURABLE, TR_PROCESS_RUN_FIELDS)          \
    S(process_over, 311, TR_MESSAGE, 1, TR_PRIORITY, TR_PROCESS_OVER_FIELDS)       \
    S(folder_remove, 312, TR_MESSAGE, 1, TR_DURABLE, TR_FOLDER_REMOVE_FIELDS)      \
    S(folder_removed, 313, TR_MESSAGE, 1, TR_PRIORITY, TR_FOLDER_REMOVED_FIELDS)   \
    S(shared_clean, 314, TR_MESSAGE, 1, TR_DURABLE, TR_SHARED_CLEAN_FIELDS)        \
    S(keeper_session, 315, TR_MESSAGE, 1, TR_HINT, TR_KEEPER_SESSION_FIELDS)       \
    S(keeper_lease, 316, TR_MESSAGE, 1, TR_HINT, TR_KEEPER_LEASE_FIELDS)           \
    S(log_opened, 320, TR_MESSAGE, 1, TR_DURABLE, TR_LOG_OPENED_FIELDS)            \
    S(log_starting, 321, TR_MESSAGE, 1, TR_DURABLE, TR_LOG_STARTING_FIELDS)        \
    S(log_launching, 322, TR_MESSAGE, 1, TR_DURABLE, TR_LOG_LAUNCHING_FIELDS)

TR_PROCESS_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/*
 * Packs strings as an array: valid UTF-8 as text, anything else as bytes. Use the writer's bytes as
 * an `any` field. A buffer too small is TR_LIMIT. `strings` ends with NULL.
 */
TR_MUST_USE int tr_process_strings_pack(const char *const *strings, struct tr_writer *writer);

/* Writes one string of such an array; it holds no zero byte. */
void tr_process_string_write(struct tr_writer *writer, struct tr_bytes string);

/* What may be limited: the names are those of ulimit's manual pages, in lower case. */
#define TR_PROCESS_LIMITS(L)           \
    L("address_space", RLIMIT_AS)      \
    L("core", RLIMIT_CORE)             \
    L("cpu_seconds", RLIMIT_CPU)       \
    L("data", RLIMIT_DATA)             \
    L("file_size", RLIMIT_FSIZE)       \
    L("locked_memory", RLIMIT_MEMLOCK) \
    L("open_files", RLIMIT_NOFILE)     \
    L("processes", RLIMIT_NPROC)       \
    L("stack", RLIMIT_STACK)

/* One row of process_start's `limits`. */
struct tr_process_limit {
    struct tr_text name;
    uint64_t soft;
    uint64_t hard;
};

TR_MUST_USE int tr_process_limits_pack(const struct tr_process_limit *limits, size_t count,
                                       struct tr_writer *writer);

/* One row of process_run's `secrets`; `version` is empty for the one there is. */
struct tr_process_secret {
    struct tr_text name; /* of the variable */
    struct tr_text group;
    struct tr_text key;
    struct tr_text version;
    bool is_file;
};

/* One row of process_run's `files`. */
struct tr_process_file {
    struct tr_text name;
    struct tr_bytes bytes;
    uint16_t mode;
};

/* One row of process_run's `results`. */
struct tr_process_result {
    struct tr_text name;
    uint64_t size_max;
    bool is_tail; /* of a larger file its last bytes, in place of its size alone */
};

/* Packing the arrays of process_run. TR_LIMIT: the buffer is too small; TR_INVALID: no UTF-8. */
TR_MUST_USE int tr_process_secrets_pack(const struct tr_process_secret *secrets, size_t count,
                                        struct tr_writer *writer);
TR_MUST_USE int tr_process_files_pack(const struct tr_process_file *files, size_t count,
                                      struct tr_writer *writer);
TR_MUST_USE int tr_process_results_pack(const struct tr_process_result *results, size_t count,
                                        struct tr_writer *writer);

/*
 * Reading them: begin gives the number of elements (0 for no bytes or nil), and next is called that
 * often. A string holds no zero byte. Faults stay in the cursor, as everywhere.
 */
uint32_t tr_process_array_begin(struct tr_bytes array, struct tr_cursor *cursor);
struct tr_bytes tr_process_string_next(struct tr_cursor *cursor);
struct tr_process_limit tr_process_limit_next(struct tr_cursor *cursor);
struct tr_process_secret tr_process_secret_next(struct tr_cursor *cursor);
struct tr_process_file tr_process_file_next(struct tr_cursor *cursor);
struct tr_process_result tr_process_result_next(struct tr_cursor *cursor);

/* One element of process_over's `documents`. */
struct tr_process_document {
    bool is_absent;
    bool is_too_large; /* only `size` is known */
    uint64_t size;
    struct tr_bytes bytes;
};

struct tr_process_document tr_process_document_next(struct tr_cursor *cursor);

#endif
