/*
 * The environment of an attempt's process: the entries of a process_run, with what they leave to
 * the engine filled in, and its secrets.
 */
#ifndef TR_RUNTIME_PROCESS_ENVIRONMENT_H
#define TR_RUNTIME_PROCESS_ENVIRONMENT_H

#include "runtime/env/buffer.h"
#include "runtime/secret/secret.h"
#include "schemas/runtime/process.h"

/* The folder in an attempt's one that holds its secrets, while it has any. */
#define TRI_SECRETS_FOLDER "secrets"

/*
 * Packs the entries behind what is in `packed`, as process_start wants them. `folder` is the
 * attempt's, where secrets that are files go to. Errors as tri_secret_find, and those of writing
 * files; the words are in `reason` (TR_REASON_BYTES_MAX).
 */
TR_MUST_USE int tri_environment_pack(const struct tr_process_run *run, struct tri_secrets *secrets,
                                     int folder, struct tri_buffer *packed, char *reason);

#endif
