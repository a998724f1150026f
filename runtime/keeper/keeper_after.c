/*
 * Planning and running what comes behind an end.
 *
 * Of the environment of the process nothing is kept: it may hold secrets, and the log, from which a
 * later keeper takes the command, holds none. What the command needs of its surroundings is the
 * keeper's own.
 */
#include "runtime/keeper/keeper_after.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper_orphans.h"
#include "runtime/keeper_client/keeper_limits.h"
#include "runtime/memory.h"

/* Strings of an array and their heads, as tr_process_strings_pack writes them. */
static size_t packed_size(char *const *strings)
{
    size_t size = TR_BLOB_HEADER_BYTES_MAX;
    for (; *strings != NULL; strings++) {
        size += strlen(*strings) + TR_BLOB_HEADER_BYTES_MAX;
    }
    return size;
}

int tri_after_plan_new(struct tr_bytes argv, struct tr_text mark, char *reason,
                       struct tri_process_plan **plan)
{
    size_t size = packed_size(environ);
    uint8_t *bytes = tr_alloc(size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = tr_process_strings_pack((const char *const *)environ, &writer);
    struct tr_process_start start = {
        .argv = argv,
        .environment = {.data = bytes, .size = tr_writer_size(&writer)},
        .folder = tr_text_of("/"),
    };
    if (error == 0) {
        error = tri_process_plan_new(&start, mark, reason, plan);
    }
    tr_free(bytes);
    return error;
}

static bool run(struct tri_process_spawner *spawner, const struct tri_key_entry *entry,
                uint64_t store)
{
    char buffer[TRI_MARK_BYTES_MAX];
    char reason[TR_REASON_BYTES_MAX];
    struct tri_process_plan *plan;
    struct tri_process_spawn_failure failure;
    uint32_t pid;
    struct tr_text mark = tri_orphans_mark(store, entry->key, buffer, sizeof buffer);
    if (tri_after_plan_new(entry->after, mark, reason, &plan) != 0) {
        return false;
    }
    int error = tri_process_spawn(spawner, plan, TRI_SPAWN_NO_GROUP, &failure, &pid);
    tri_process_plan_free(plan);
    return error == 0;
}

/* Takes in what has ended; how many of them have failed. */
static size_t reap(size_t *running)
{
    size_t failed = 0;
    int status;
    while (*running > 0 && waitpid(-1, &status, WNOHANG) > 0) {
        failed += status != 0 ? 1 : 0;
        (*running)--;
    }
    return failed;
}

/* A signal that is blocked can be waited for; SIGCHLD stays pending if it came in between. */
static void await_end(uint64_t until_ms)
{
    uint64_t now_ms = tri_monotonic_ms();
    uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    struct timespec wait = {.tv_sec = (time_t)(left_ms / 1000),
                            .tv_nsec = (long)(left_ms % 1000) * 1000000};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    (void)sigtimedwait(&set, NULL, &wait);
}

size_t tri_after_run_left(struct tri_process_spawner *spawner, const struct tri_key_table *table,
                          uint64_t store)
{
    uint64_t until_ms = tri_monotonic_ms() + TR_KEEPER_AFTER_MS;
    size_t running = 0;
    size_t failed = 0;
    for (const struct tri_key_entry *entry = table->live.first; entry != NULL;
         entry = entry->next) {
        if (entry->may_run && entry->after.size > 0) {
            bool is_running = run(spawner, entry, store);
            running += is_running ? 1 : 0;
            failed += is_running ? 0 : 1;
        }
    }
    failed += reap(&running);
    while (running > 0 && tri_monotonic_ms() < until_ms) {
        await_end(until_ms);
        failed += reap(&running);
    }
    return failed + running;
}
