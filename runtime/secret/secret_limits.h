/*
 * Every limit of secrets, once and by name.
 */
#ifndef TR_RUNTIME_SECRET_SECRET_LIMITS_H
#define TR_RUNTIME_SECRET_SECRET_LIMITS_H

#include "runtime/env/env_limits.h"

/* The value of one secret. */
#define TR_SECRET_BYTES_MAX 65536

/* The time that a command has to print one, and how long what it said holds: an engine
 * that starts a thousand processes asks once. */
#define TR_SECRET_COMMAND_MS 10000
#define TR_SECRET_KEPT_MS 10000

/* Answers of commands that are kept. */
#define TR_SECRETS_KEPT_MAX 64

#endif
