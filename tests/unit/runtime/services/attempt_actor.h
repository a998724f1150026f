/*
 * An actor that has one attempt run, as the process plugin's does, and a host for it in a store of
 * its own. What it hears is written down here; a test reads it when the actor has ended.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_SERVICES_ATTEMPT_ACTOR_H
#define TR_TESTS_UNIT_RUNTIME_SERVICES_ATTEMPT_ACTOR_H

#include <stdatomic.h>

#include "runtime/troupe.h"
#include "schemas/runtime/process.h"

enum { DOCUMENTS_MAX = 8, DOCUMENT_BYTES_MAX = 4096 };

/* What to run; names that are left out have a sensible value. */
struct attempt_plan {
    const char *key;
    const char *folder;   /* below the store's folder, or absolute with a leading slash */
    const char *script;   /* for sh -c */
    const char *argv[4];  /* instead of it */
    const char *words[6]; /* of the environment */
    const char *work;
    const char *stdin_path;
    const char *stdout_path;
    const char *stderr_path;
    struct tr_process_secret secrets[4];
    size_t secret_count;
    struct tr_process_file files[4];
    size_t file_count;
    const char *folders[4];
    struct tr_process_result results[DOCUMENTS_MAX];
    size_t result_count;
    bool is_kept; /* the end is not forgotten */
};

extern struct attempt_plan attempt_plan;

/* What was heard. The two counts may be looked at while the host runs. */
struct attempt_seen {
    atomic_int started;
    int asked; /* how often process_run was said */
    atomic_int over;
    int64_t refused; /* the error of process_refused */
    char reason[512];
    struct tr_process_over end; /* its texts are gone but for the reason */
    struct tr_process_document documents[DOCUMENTS_MAX];
    char contents[DOCUMENTS_MAX][DOCUMENT_BYTES_MAX];
    struct tr_folder_removed removed;
    uint8_t state_phase;
};

extern struct attempt_seen attempt_seen;

struct attempt_world {
    char folder[128];
    uint32_t jobs;
    uint32_t unclaimed_ms;
    struct tr_host *host;
    struct tr_ref actor;
};

/* A new store's folder, absolute; removed by the second. */
void attempt_world_init(struct attempt_world *world);
void attempt_world_fini(struct attempt_world *world);

/* Makes and starts a host on the folder. */
void attempt_world_open(struct attempt_world *world);

/* Stops it, as a crash of the engine would for the keeper; the actors stay in the store. */
void attempt_world_close(struct attempt_world *world);

/* Spawns an actor that runs the plan; awaits its end. */
void attempt_begin(struct attempt_world *world);
void attempt_await(struct attempt_world *world);
void attempt_run(struct attempt_world *world);

/* Has an actor call folder_remove, and waits for the answer. */
void attempt_remove(struct attempt_world *world, const char *path);

/* A file of the store's folder: its name (static, a few at once), its bytes (static), its being. */
const char *attempt_path(const struct attempt_world *world, const char *name);
const char *attempt_read_file(const struct attempt_world *world, const char *name);
bool attempt_has_file(const struct attempt_world *world, const char *name);

/* Waits until there is such a file that is not empty. */
void attempt_await_file(const struct attempt_world *world, const char *name);

/* For main: is a keeper when the program was called as one; false otherwise. */
bool attempt_is_keeper(int argc, char **argv, int *status);

#endif
