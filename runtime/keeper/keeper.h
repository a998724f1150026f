/*
 * The keeper of processes: a small process beside the engine, one per store. It starts processes,
 * waits for them, logs how each ended, and answers questions about them. It outlives the engine, so
 * a process that ran when the engine died is neither lost nor started twice.
 *
 * schemas/runtime/process.h defines the protocol; keeper_client.h is the engine's side of it. The
 * keeper's files in the store's folder are keeper.lock, keeper.sock, keeper.log, and keeper.err for
 * its complaints.
 *
 * Guarantees: a key is logged and synced before its process exists. An end is logged and synced
 * before it is reported, and after the files of the process are synced. A known key is not started
 * again. A keeper that follows a dead one kills the remaining processes and reports each unfinished
 * key as ended with outcome UNKNOWN. If the engine never reconnects, the keeper leaves when all its
 * processes have ended and their ends are logged; a later engine starts a new keeper, which reads
 * those ends and reports them.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_H
#define TR_RUNTIME_KEEPER_KEEPER_H

#include "schemas/codec/base.h"

/* The defaults are all zero; an engine also sets is_detached. */
struct tri_keeper_options {
    bool is_detached;           /* continue in a new process and session without inherited files */
    bool is_unsynced;           /* the log survives a crash of processes, not a power loss */
    uint32_t idle_ms;           /* leave after being idle for this long; 0: TR_KEEPER_IDLE_MS */
    size_t forgotten_bytes_max; /* 0: TR_KEEPER_LOG_FORGOTTEN_BYTES_MAX */
};

/*
 * Runs a keeper until it has been idle for idle_ms, or receives SIGTERM, SIGINT or SIGHUP, which
 * stop its processes and make it leave. It handles all signals of its process and reaps all its
 * children, so the process must be used for nothing else and have one thread.
 *
 * On stdout it writes one line: "ready", "exists" (the store has a keeper), or "failed NUMBER
 * WORDS". A detached keeper writes nothing else there, and the calling process exits with status 0
 * when the new process has been created.
 *
 * Returns 0 when the keeper has left. Errors: TR_EXISTS, TR_SYSTEM, and those of the log
 * (TR_STORE_...).
 */
TR_MUST_USE int tri_keeper_main(const char *store_folder, const struct tri_keeper_options *options);

#endif
