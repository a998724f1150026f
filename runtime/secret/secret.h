/*
 * Secrets by reference: a group, a key and perhaps a version become a value, here and nowhere else.
 *
 * Sources are asked in the order in which they are given. The first that has it counts:
 *   environment  the engine's, TROUPE_SECRET_<GROUP>_<KEY>, or with a version
 *                TROUPE_SECRET_<GROUP>_<KEY>_<VERSION>: in capitals, _ for what is no letter or
 *                digit;
 *   folder       the file GROUP/KEY in it, with a version GROUP/KEY@VERSION. Links are followed: it
 *                is the user's;
 *   command      what it prints, with GROUP/KEY[@VERSION] as its last word (secret_command.h). It
 *                has none when it ends with another status than 0.
 *
 * A reference without a group has neither its part of the name nor its folder. One thread.
 */
#ifndef TR_RUNTIME_SECRET_SECRET_H
#define TR_RUNTIME_SECRET_SECRET_H

#include "runtime/env/buffer.h"
#include "runtime/exchange.h"
#include "schemas/runtime/process.h"

/* The sources, and what their commands have answered lately. */
struct tri_secrets;

/* Without a source: the environment, then the user's folder. The sources stay the caller's, and
 * outlive it. TR_MEMORY. */
TR_MUST_USE int tri_secrets_new(const struct tr_secret_source *sources, size_t count,
                                struct tri_secrets **secrets);

/* What commands answer is kept for so long instead of TR_SECRET_KEPT_MS; that they have nothing is
 * not. */
void tri_secrets_keep(struct tri_secrets *secrets, uint32_t kept_ms);

/* Forgets what commands have answered before this time on the monotonic clock. */
void tri_secrets_forget(struct tri_secrets *secrets, uint64_t before_ms);

/* Overwrites what is kept. NULL is fine. */
void tri_secrets_free(struct tri_secrets *secrets);

/*
 * Puts the value behind what is in `value`. Blocks for as long as a command takes. Errors, with
 * words that name the reference and the source in `reason` (TR_REASON_BYTES_MAX):
 * TR_NOT_FOUND (no source has it, or a command does not end), TR_INVALID (the reference), TR_LIMIT
 * (TR_SECRET_BYTES_MAX), TR_SYSTEM (it cannot be read), TR_MEMORY.
 */
TR_MUST_USE int tri_secret_find(struct tri_secrets *secrets,
                                const struct tr_process_secret *reference, struct tri_buffer *value,
                                char *reason);

/* Overwrites and empties a buffer that held a value. */
void tri_secret_wipe(struct tri_buffer *value);

/*
 * Variables that hold secrets begin so. They are for this program: no process that it starts for
 * somebody gets them.
 */
#define TR_SECRET_VARIABLE_PREFIX "TROUPE_SECRET_"

/*
 * Takes the values of such variables out of what others of the same user may read of this process
 * (/proc/PID/environ); getenv goes on to find them. Once, before threads are started. TR_MEMORY.
 */
TR_MUST_USE int tri_secret_hide_environment(void);

/* The environment without them, for tri_capture_spawn; to be freed with tr_free. NULL: no memory. */
char **tri_secret_free_environment(void);

#endif
