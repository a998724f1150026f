/*
 * The janitor's thread: a client of the engine that it works for.
 */
#include "deploy/retention/janitor.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "deploy/common/client.h"
#include "deploy/common/clock.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"

/* How long a store that is being copied is left alone. */
#define COPIED_MS (60ULL * 1000)

struct tr_janitor {
    struct tr_prune_request request;
    struct tr_pruned pruned;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    int error;
    pthread_t thread;
    atomic_bool is_stopping;
    atomic_bool is_done;
};

static void *work(void *argument)
{
    struct tr_janitor *janitor = argument;
    struct tri_client *client = NULL;
    janitor->error = tri_client_open(janitor->request.folder, &client);
    if (janitor->error == 0) {
        janitor->error = tr_prune(&janitor->request, client, janitor->explain, &janitor->pruned);
    } else {
        snprintf(janitor->explain, sizeof janitor->explain, "the engine's socket is closed: %s",
                 tr_error_text(janitor->error));
    }
    tri_client_close(client);
    atomic_store(&janitor->is_done, true);
    return NULL;
}

int tr_janitor_start(const struct tr_prune_request *request, struct tr_janitor **out)
{
    struct tr_janitor *janitor = tr_alloc_zero(1, sizeof *janitor);
    if (janitor == NULL) {
        return TR_MEMORY;
    }
    janitor->request = *request;
    janitor->request.is_stopping = &janitor->is_stopping;
    if (pthread_create(&janitor->thread, NULL, work, janitor) != 0) {
        tr_free(janitor);
        return TR_SYSTEM;
    }
    *out = janitor;
    return 0;
}

bool tr_janitor_is_done(const struct tr_janitor *janitor)
{
    return atomic_load(&janitor->is_done);
}

int tr_janitor_end(struct tr_janitor *janitor, struct tr_pruned *pruned, char *explain)
{
    if (janitor == NULL) {
        return 0;
    }
    atomic_store(&janitor->is_stopping, true);
    pthread_join(janitor->thread, NULL);
    int error = janitor->error;
    *pruned = janitor->pruned;
    memcpy(explain, janitor->explain, TRI_STORE_EXPLAIN_BYTES);
    tr_free(janitor);
    return error;
}

/* ------------------------------------------------------------------------ retention */

/* What is older than a span; 0 where there is none. */
static uint64_t before(uint64_t now_ms, uint64_t span_ms)
{
    return span_ms == 0 || span_ms >= now_ms ? 0 : now_ms - span_ms;
}

static bool is_wanted(const struct tr_retention *retention)
{
    return retention->executions_ms + retention->failed_attempts_ms + retention->cache_ms +
               retention->audit_ms + retention->rules.count >
           0;
}

/* Of one of several hosts: what lies in its folder alone. */
static int begin_own(struct tr_retaining *retaining)
{
    uint64_t now_ms = tr_clock_wall_ms();
    const struct tr_retention *retention = &retaining->retention;
    const struct tr_prune_request request = {
        .folder = retaining->folder,
        .now_ms = now_ms,
        .is_one_of_several = true,
        .is_only_own = true,
        .keeps_unnamed = !is_wanted(retention),
        .attempts_before_ms = before(now_ms, retention->failed_attempts_ms),
        .cache_before_ms = before(now_ms, retention->cache_ms),
        .unnamed_before_ms = before(now_ms, TR_PRUNE_UNNAMED_MS),
    };
    return tr_janitor_start(&request, &retaining->janitor);
}

static int begin(struct tr_retaining *retaining)
{
    uint64_t now_ms = tr_clock_wall_ms();
    const struct tr_retention *retention = &retaining->retention;
    if (retaining->is_one_of_several && !(retaining->is_janitor && is_wanted(retention))) {
        return begin_own(retaining);
    }
    const struct tr_prune_request request = {
        .folder = retaining->folder,
        .is_one_of_several = retaining->is_one_of_several,
        .executions_before_ms = before(now_ms, retention->executions_ms),
        .rules = retention->rules.items,
        .rule_count = retention->rules.count,
        .now_ms = now_ms,
        .attempts_before_ms = before(now_ms, retention->failed_attempts_ms),
        .cache_before_ms = before(now_ms, retention->cache_ms),
        .audit_before_ms = before(now_ms, retention->audit_ms),
        .unnamed_before_ms = before(now_ms, TR_PRUNE_UNNAMED_MS),
    };
    return tr_janitor_start(&request, &retaining->janitor);
}

/* Bounds the cache of blobs, and removes nothing else. */
static int begin_cache(struct tr_retaining *retaining)
{
    uint64_t bytes = retaining->retention.blobs_cache_bytes;
    const struct tr_prune_request request = {
        .folder = retaining->folder,
        .now_ms = tr_clock_wall_ms(),
        .blobs_cache_bytes = bytes != 0 ? bytes : TR_BLOBS_CACHE_BYTES,
        .is_only_cache = true,
    };
    return tr_janitor_start(&request, &retaining->janitor);
}

/* Begins what is due. */
static int begin_due(struct tr_retaining *retaining)
{
    uint64_t now_ms = tr_clock_ms();
    bool is_due = is_wanted(&retaining->retention) || retaining->is_one_of_several;
    if (is_due && now_ms >= retaining->next_ms) {
        retaining->next_ms = now_ms + TR_RETENTION_EVERY_MS;
        return begin(retaining);
    }
    if (now_ms >= retaining->next_cache_ms) {
        retaining->next_cache_ms = now_ms + TR_BLOBS_CACHE_EVERY_MS;
        return tri_store_blobs_are_remote(retaining->folder) ? begin_cache(retaining) : 0;
    }
    return 0;
}

bool tr_retaining_step(struct tr_retaining *retaining, struct tr_pruned *pruned, char *explain)
{
    explain[0] = '\0';
    if (retaining->janitor != NULL) {
        if (!tr_janitor_is_done(retaining->janitor)) {
            return false;
        }
        int error = tr_janitor_end(retaining->janitor, pruned, explain);
        retaining->janitor = NULL;
        if (error == 0 || error == TR_STORE_LOCKED) {
            explain[0] = '\0';
        }
        if (error == TR_STORE_LOCKED) {
            retaining->next_ms = tr_clock_ms() + COPIED_MS;
        }
        return error != TR_STORE_LOCKED;
    }
    int error = begin_due(retaining);
    if (error != 0) {
        memset(pruned, 0, sizeof *pruned);
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "nothing was forgotten: %s",
                 tr_error_text(error));
    }
    return error != 0;
}

void tr_retaining_set_janitor(struct tr_retaining *retaining, bool is_janitor)
{
    if (is_janitor && !retaining->is_janitor) {
        retaining->next_ms = 0;
    }
    retaining->is_janitor = is_janitor;
}

void tr_retaining_fini(struct tr_retaining *retaining)
{
    struct tr_pruned pruned;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    (void)tr_janitor_end(retaining->janitor, &pruned, explain);
    retaining->janitor = NULL;
}
