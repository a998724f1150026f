/*
 * Executions that nobody follows, by their numbers; and starting an engine that outlives its
 * starter and goes on with them.
 */
#include "deploy/engine/background.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/report.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

extern char **environ;

static int prepare_files(posix_spawn_file_actions_t *files, const char *store)
{
    char log[PATH_MAX];
    int size = snprintf(log, sizeof log, "%s/engine.log", store);
    bool is_good =
        size > 0 && (size_t)size < sizeof log &&
        posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(files, STDERR_FILENO, log,
                                         O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600) == 0;
    return is_good ? 0 : TR_SYSTEM;
}

static int prepare_process(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    bool is_good =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                 POSIX_SPAWN_SETSIGDEF) == 0 &&
        posix_spawnattr_setsigmask(attributes, &none) == 0 &&
        posix_spawnattr_setsigdefault(attributes, &all) == 0;
    return is_good ? 0 : TR_SYSTEM;
}

static int spawn(const char *store, char *const *argv)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    if (posix_spawn_file_actions_init(&files) != 0) {
        return TR_SYSTEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return TR_SYSTEM;
    }
    int error = prepare_files(&files, store);
    if (error == 0) {
        error = prepare_process(&attributes);
    }
    if (error == 0 &&
        posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, environ) != 0) {
        error = TR_SYSTEM;
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

int tr_background_resume(const char *store, const char *const *names, size_t count)
{
    const char *const first[] = {"troupe", "resume", "--until-idle", "--store", store};
    const char **words = tr_alloc((TR_COUNT_OF(first) + count + 1) * sizeof *words);
    if (words == NULL) {
        return TR_MEMORY;
    }
    memcpy(words, first, sizeof first);
    for (size_t i = 0; i < count; i++) {
        words[TR_COUNT_OF(first) + i] = names[i];
    }
    words[TR_COUNT_OF(first) + count] = NULL;
    int error = spawn(store, (char *const *)(uintptr_t)words); /* posix_spawn changes none */
    tr_free(words);
    return error;
}

/* ---- What nobody follows. -------------------------------------------------------------------- */

int tr_detached_add(struct tr_detached *detached, uint64_t execution)
{
    if (detached->count == TR_DETACHED_MAX) {
        return TR_LIMIT;
    }
    uint64_t *grown = tr_realloc(detached->executions, (detached->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    detached->executions = grown;
    detached->executions[detached->count++] = execution;
    return 0;
}

void tr_detached_fini(struct tr_detached *detached)
{
    tr_free(detached->executions);
    *detached = (struct tr_detached){.executions = NULL};
}

struct tri_vector tr_detached_left(const struct tr_detached *detached, struct tr_reader *reader,
                                   struct tr_arena *arena)
{
    struct tri_vector names = {.count = 0};
    for (size_t i = 0; i < detached->count; i++) {
        struct tr_executions_row copy;
        if (tr_executions_get(reader, detached->executions[i], &copy) != 0) {
            continue;
        }
        const struct tr_execution *row = &copy.row;
        bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
        const char **name =
            has_ended ? NULL : (const char **)tri_vector_add(arena, &names, sizeof *name);
        if (name != NULL) {
            *name = tr_arena_print(arena, "%.*s/%.*s/%.*s", TRI_TEXT(row->project),
                                   TRI_TEXT(row->domain), TRI_TEXT(row->name))
                        .data;
        }
        tr_executions_row_fini(&copy);
    }
    return names;
}
