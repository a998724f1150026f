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

/* What an engine has for the environments of all processes. Texts and secrets outlive it. */
struct tri_environment_sources {
    struct tri_secrets *secrets;
    /*
     * A variable that lists folders, as PYTHONPATH does, and the folder that stands last in it,
     * behind what the request gives for it. NULL: there is none.
     */
    const char *search_variable;
    const char *search_folder;
};

/*
 * Packs the entries behind what is in `packed`, as process_start wants them. `folder` is the
 * attempt's, where secrets that are files go to. Errors as tri_secret_find, and those of writing
 * files; the words are in `reason` (TR_REASON_BYTES_MAX).
 */
TR_MUST_USE int tri_environment_pack(const struct tr_process_run *run,
                                     const struct tri_environment_sources *sources, int folder,
                                     struct tri_buffer *packed, char *reason);

#endif
