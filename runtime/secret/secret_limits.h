/*
 * All limits of secrets.
 */
#ifndef TR_RUNTIME_SECRET_SECRET_LIMITS_H
#define TR_RUNTIME_SECRET_SECRET_LIMITS_H

#include "runtime/env/env_limits.h"

/* Bytes of one secret's value. */
#define TR_SECRET_BYTES_MAX 65536

/*
 * The time limit of a command, and how long its output is cached: an engine that starts a thousand
 * processes runs it once.
 */
#define TR_SECRET_COMMAND_MS 10000
#define TR_SECRET_CACHED_MS 10000

/*
 * How long a token is used: of a file, which may be written anew; of a command that does not say
 * when it expires; and how long a failure is kept.
 */
#define TR_TOKEN_FILE_MS 60000
#define TR_TOKEN_LASTING_MS 3600000
#define TR_TOKEN_FAILED_MS 2000

/* Cached outputs of commands. */
#define TR_SECRETS_CACHED_MAX 64

#endif
