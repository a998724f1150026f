/*
 * What a start does: everything that a log has more than its store is applied, before anybody reads
 * the store.
 *
 * Entries are gathered up to a bound and applied as one commit, which also moves the mark. So a
 * start that is interrupted goes on at the mark, and no entry is applied twice.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/commits/commit_log.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

int tri_commit_log_mark(struct tri_store *store, struct tri_commit_log_mark *mark)
{
    struct tri_commit_log_mark found = {0};
    size_t size = 0;
    int error = tri_store_read_meta(store, TRI_META_LOG, &found, sizeof found, &size);
    if (error == TR_NOT_FOUND) {
        *mark = (struct tri_commit_log_mark){0};
        return 0;
    }
    if (error == 0 && size != sizeof found) {
        return TR_STORE_DAMAGED;
    }
    if (error == 0) {
        *mark = found;
    }
    return error;
}

int tri_commit_log_begin(struct tri_store *store, uint64_t number, struct tri_commit_log_mark *mark)
{
    struct tri_commit_log_mark found = {0};
    int error = tri_commit_log_mark(store, &found);
    if (error == 0 && found.log == 0) {
        found.log = number;
        struct tri_op op = {.kind = TRI_OP_PUT_META,
                            .number = TRI_META_LOG,
                            .data = {.data = (const uint8_t *)&found, .size = sizeof found}};
        const struct tri_commit commit = {
            .ops = &op, .count = 1, .last_number = store->last_number};
        error = tri_store_commit(store, &commit);
    }
    if (error == 0) {
        *mark = found;
    }
    return error;
}

/* Entries that are gathered for one commit; the batch points to their bytes. */
struct recovery {
    struct tri_store *store;
    struct tri_commit_log *log;
    struct tri_commit_log_mark mark;
    struct tri_commit_batch batch;
    uint8_t **entries;
    size_t count;
    size_t capacity;
    uint64_t size_bytes;
    uint64_t last_number;
};

static void forget(struct recovery *recovery)
{
    for (size_t i = 0; i < recovery->count; i++) {
        tr_free(recovery->entries[i]);
    }
    recovery->count = 0;
    recovery->size_bytes = 0;
    tri_commit_batch_clear(&recovery->batch);
}

/*
 * A host begins behind the numbers of all hosts of its store, which may be ahead of those that a
 * log has left: its own, or that of a lost host. Numbers never go back, so the later one stays.
 */
static uint64_t last_number_of(const struct recovery *recovery)
{
    uint64_t begun = recovery->store->last_number;
    return recovery->last_number > begun ? recovery->last_number : begun;
}

static int apply(struct recovery *recovery)
{
    struct tri_op mark = {
        .kind = TRI_OP_PUT_META,
        .number = TRI_META_LOG,
        .data = {.data = (const uint8_t *)&recovery->mark, .size = sizeof recovery->mark}};
    int error = recovery->count == 0 ? 0 : tri_commit_batch_add(&recovery->batch, &mark);
    if (error != 0 || recovery->count == 0) {
        return error;
    }
    tri_commit_batch_finish(&recovery->batch);
    const struct tri_commit commit = {.ops = recovery->batch.ops,
                                      .count = recovery->batch.count,
                                      .last_number = last_number_of(recovery)};
    error = tri_store_commit(recovery->store, &commit);
    forget(recovery);
    return error;
}

static int keep(struct recovery *recovery, struct tr_bytes entry, uint8_t **kept)
{
    if (recovery->count == recovery->capacity) {
        size_t capacity = recovery->capacity * 2 + 16;
        uint8_t **entries = tr_realloc(recovery->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return TR_MEMORY;
        }
        recovery->entries = entries;
        recovery->capacity = capacity;
    }
    *kept = tr_alloc(entry.size);
    if (*kept == NULL) {
        return TR_MEMORY;
    }
    memcpy(*kept, entry.data, entry.size);
    recovery->entries[recovery->count++] = *kept;
    return 0;
}

static int gather(void *self, struct tr_bytes entry)
{
    struct recovery *recovery = self;
    struct tri_commit_entry_head head = {0};
    uint8_t *kept = NULL;
    int error = tri_commit_entry_head(entry.data, &head);
    TR_ASSERT(error == 0);
    if (head.log != recovery->mark.log) { /* the mark is there before the first entry */
        return TR_STORE_FOREIGN;
    }
    error = keep(recovery, entry, &kept);
    if (error == 0) {
        error = tri_commit_entry_unpack((struct tr_bytes){.data = kept, .size = entry.size},
                                        &recovery->batch);
    }
    if (error != 0) {
        return error;
    }
    recovery->mark.sequence = head.sequence;
    recovery->last_number = head.last_number;
    recovery->size_bytes += entry.size;
    return recovery->size_bytes >= TR_COMMIT_LOG_WINDOW_BYTES ? apply(recovery) : 0;
}

/* The log's words for what happened to it, the store's for the rest. */
static int report(const struct recovery *recovery, int error, const char *log_words, char *explain)
{
    if (error == 0 || explain == NULL) {
        return error;
    }
    if (error == TR_STORE_FOREIGN) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "%.200s: the log beside it belongs to another store; put back the database "
                       "that was there, or, if that is lost, remove the files of the log",
                       recovery->log->path);
        return error;
    }
    (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s",
                   log_words[0] != '\0' ? log_words : tri_store_explain(recovery->store));
    return error;
}

int tri_commit_log_recover(struct tri_store *store, struct tri_commit_log *log, char *explain)
{
    struct recovery recovery = {.store = store, .log = log};
    int error = tri_commit_log_mark(store, &recovery.mark);
    if (error == 0) {
        error = log->ops->read(log, recovery.mark.sequence, gather, &recovery);
    }
    const char *words = error != 0 ? log->ops->explain(log) : "";
    if (error == 0) {
        error = apply(&recovery);
    }
    if (error == 0) {
        log->ops->release(log, recovery.mark.sequence);
    }
    error = report(&recovery, error, words, explain);
    forget(&recovery);
    tri_commit_batch_fini(&recovery.batch);
    tr_free(recovery.entries);
    return error;
}
