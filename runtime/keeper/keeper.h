/*
 * The keeper of processes: a small process beside the engine, one per store, that starts processes,
 * waits for them, writes down what became of each, and answers for it. It outlives the engine, so
 * that what ran when the engine died is neither lost nor started twice.
 *
 * schemas/runtime/process.h has the conversation; keeper_client.h is the engine's end of it. In the
 * store's folder the keeper has keeper.lock, keeper.sock, keeper.log, and keeper.err for its
 * complaints.
 *
 * What it promises: a key is written down, synced, before its process exists; an end is written
 * down, synced, before it is told, and behind what the process has written; a key that is known is
 * not started again. A keeper that follows
 * a dead one kills what is left and tells each unfinished key's end with the outcome UNKNOWN. One
 * whose engine never came back leaves when all has ended and been written down: an engine
 * that comes later starts another one, which has read those ends and tells them.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_H
#define TR_RUNTIME_KEEPER_KEEPER_H

#include "schemas/codec/base.h"

/* All zero is what an engine wants, but for is_detached. */
struct tri_keeper_options {
    bool is_detached; /* leave the session, close what was inherited, go on in a new process */
    bool is_unsynced; /* the log survives the end of processes, not the loss of power */
    uint32_t idle_ms; /* leave after so long without anything to do; 0: TR_KEEPER_IDLE_MS */
    size_t forgotten_bytes_max; /* 0: TR_KEEPER_LOG_FORGOTTEN_BYTES_MAX */
};

/*
 * Is a keeper until it has nothing to do for a while, or gets SIGTERM, SIGINT or SIGHUP, which stop
 * what runs and make it leave. It takes over the signals of its process and reaps its children, so
 * the process must be for nothing else, with one thread.
 *
 * On stdout it says in one line "ready", "exists" (another keeper lives here), or "failed NUMBER
 * WORDS". Detached, that is the last thing it writes there, and the caller's process ends with
 * status 0 when the new one has begun.
 *
 * Returns 0 when it left. Errors: TR_EXISTS, TR_SYSTEM, and those of the log (TR_STORE_...).
 */
TR_MUST_USE int tri_keeper_main(const char *store_folder, const struct tri_keeper_options *options);

#endif
