/*
 * Names of attempts: the keys of idempotency by which everything outside knows them (law 5 of
 * runtime/ARCHITECTURE.md).
 *
 * An attempt's name is readable in front and a hash of all that it stands for behind it: unlike
 * Flyte's it cannot be the same for two executions, whatever they are called.
 */
#ifndef TR_ACTORS_STORE_TASK_NAME_H
#define TR_ACTORS_STORE_TASK_NAME_H

#include "schemas/engine/flow.h"

/* A generated name: [a-z0-9-], begins with a letter. It is a name of Kubernetes, too. */
#define TR_TASK_NAME_BYTES_MAX 63

/* FNV-1a of 64 bits over `bytes`, going on from `hash`; begin with TR_FNV_64_BEGIN. */
#define TR_FNV_64_BEGIN 0xcbf29ce484222325U
uint64_t tr_fnv_64(uint64_t hash, struct tr_bytes bytes);

/* The attempt that gets the name. */
struct tr_task_name {
    struct tr_text execution; /* PROJECT/DOMAIN/NAME */
    uint64_t number;          /* of its group */
    struct tr_text path;
    uint64_t element; /* or TR_ELEMENT_NONE */
    uint32_t attempt;
};

/* Writes the name with a closing zero: NAME-NODE[-ELEMENT]-HASH-ATTEMPT, the front cut to fit. */
void tr_task_name(const struct tr_task_name *of, char name[TR_TASK_NAME_BYTES_MAX + 1]);

/* Of PROJECT/DOMAIN/NAME the execution's own name: what stands behind the last slash. */
struct tr_text tr_task_name_last(struct tr_text address);

/*
 * Whether a note has a folder without the generated name behind it (schemas/engine/state_task.h).
 */
static inline bool tr_task_folder_is_short(struct tr_text folder)
{
    return folder.size > 0 && folder.data[folder.size - 1] == '/';
}

#endif
