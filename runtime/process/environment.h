/*
 * The environment of an attempt's process: the entries of a process_run, values of the engine's own
 * variables where requested, or made for it, and secrets.
 */
#ifndef TR_RUNTIME_PROCESS_ENVIRONMENT_H
#define TR_RUNTIME_PROCESS_ENVIRONMENT_H

#include "runtime/env/buffer.h"
#include "runtime/exchange.h"
#include "runtime/secret/secret.h"
#include "schemas/runtime/process.h"

/* The subfolder of an attempt that holds its files of secrets. */
#define TRI_SECRETS_FOLDER "secrets"

/* The engine's sources for the environments of all processes. Texts and secrets outlive it. */
struct tri_environment_sources {
    struct tri_secrets *secrets;
    /*
     * A variable that lists folders, as PYTHONPATH does, and the folder that the engine appends to
     * the request's. NULL: none.
     */
    const char *search_variable;
    const char *search_folder;
    struct tr_variable_maker variables; /* of names that the engine has no value of */
};

/*
 * Appends the packed entries to `packed`, as process_start wants them. Files of secrets go into
 * `folder`, the attempt's. Errors: those of tri_secret_find, and of writing files, with words in
 * `reason` (TR_REASON_BYTES_MAX).
 */
TR_MUST_USE int tri_environment_pack(const struct tr_process_run *run,
                                     const struct tri_environment_sources *sources, int folder,
                                     struct tri_buffer *packed, char *reason);

#endif
