/*
 * Limits shared by several rooms that reach outside.
 */
#ifndef TR_RUNTIME_ENV_ENV_LIMITS_H
#define TR_RUNTIME_ENV_ENV_LIMITS_H

#include "runtime/limits.h"

/* Bytes of a path of a process or a blob. */
#define TR_PATH_BYTES_MAX 4096

/* Bytes of words why a process was refused or not started, or a secret was not found. */
#define TR_REASON_BYTES_MAX 512

#endif
