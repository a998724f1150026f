/*
 * Resolves references to secrets: a group, a key and an optional version become a value, here and
 * nowhere else.
 *
 * Sources are asked in the given order. The first that has it counts:
 *   environment  the engine's variable TROUPE_SECRET_<GROUP>_<KEY>, or with a version
 *                TROUPE_SECRET_<GROUP>_<KEY>_<VERSION>: in capitals, other characters than letters
 *                and digits as _;
 *   folder       its file GROUP/KEY, or with a version GROUP/KEY@VERSION. Links are followed: the
 *                folder belongs to the user;
 *   command      its output, with GROUP/KEY[@VERSION] as its last argument (secret_command.h). A
 *                nonzero status means that it does not have the secret.
 *
 * A reference without a group omits that part of the name or path. One thread.
 */
#ifndef TR_RUNTIME_SECRET_SECRET_H
#define TR_RUNTIME_SECRET_SECRET_H

#include "runtime/env/buffer.h"
#include "runtime/exchange.h"
#include "schemas/runtime/process.h"

/* The sources, and cached output of their commands. */
struct tri_secrets;

/*
 * With no source given: the environment, then the user's folder. The caller owns the sources, which
 * must outlive it. TR_MEMORY.
 */
TR_MUST_USE int tri_secrets_new(const struct tr_secret_source *sources, size_t count,
                                struct tri_secrets **secrets);

/*
 * Caches the output of commands for this long instead of TR_SECRET_CACHED_MS; failures are not
 * affected.
 */
void tri_secrets_set_cache_ms(struct tri_secrets *secrets, uint32_t kept_ms);

/* Drops output that was cached before this time on the monotonic clock. */
void tri_secrets_forget(struct tri_secrets *secrets, uint64_t before_ms);

/* Overwrites and frees the cache. NULL is fine. */
void tri_secrets_free(struct tri_secrets *secrets);

/*
 * Appends the value to `value`. Blocks while a command runs. Errors, with words that name the
 * reference and the source in `reason` (TR_REASON_BYTES_MAX): TR_NOT_FOUND (no source has it, or a
 * command does not end), TR_INVALID (the reference), TR_LIMIT (TR_SECRET_BYTES_MAX), TR_SYSTEM (it
 * cannot be read), TR_MEMORY.
 */
TR_MUST_USE int tri_secret_find(struct tri_secrets *secrets,
                                const struct tr_process_secret *reference, struct tri_buffer *value,
                                char *reason);

/* Overwrites and empties a buffer that held a value. */
void tri_secret_wipe(struct tri_buffer *value);

/*
 * Prefix of variables that hold secrets. They are for this program only: processes that it starts
 * for others do not inherit them.
 */
#define TR_SECRET_VARIABLE_PREFIX "TROUPE_SECRET_"

/*
 * Hides the values of such variables from /proc/PID/environ, which other processes of the user may
 * read; getenv still finds them. Call it once, before threads are started. TR_MEMORY.
 */
TR_MUST_USE int tri_secret_hide_environment(void);

/*
 * The environment without such variables, for tri_capture_spawn; to be freed with tr_free. NULL: no
 * memory.
 */
char **tri_secret_environment_without(void);

#endif
