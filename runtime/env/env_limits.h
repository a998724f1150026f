/*
 * Limits that several ways to the outside share, once and by name.
 */
#ifndef TR_RUNTIME_ENV_ENV_LIMITS_H
#define TR_RUNTIME_ENV_ENV_LIMITS_H

#include "runtime/limits.h"

/* One file or folder name, of a process or of a blob. */
#define TR_PATH_BYTES_MAX 4096

/* Why a process did not start or was refused, or has no secret, in words. */
#define TR_REASON_BYTES_MAX 512

#endif
