/*
 * Deciding by the host's row; see the header.
 *
 * A row is as a writer has left it, ahead of that, or behind. Incarnations come first: each opening
 * raises it, so whoever finds a later one is shut out, whatever it holds. An earlier one, or fewer
 * commits, can only be a database that has gone back. One commit more is the one in doubt, if there
 * is one and it has its number.
 */
#include "runtime/postgres/postgres_fence.h"

#include <stdio.h>

enum tri_fence_finding tri_fence_find(const struct tri_fence *fence, const struct tri_store *store,
                                      const struct tri_fence_row *row)
{
    if (row->incarnation != store->incarnation) {
        return row->incarnation > store->incarnation ? TRI_FENCE_SHUT_OUT : TRI_FENCE_LOST;
    }
    if (row->commits <= fence->commits) {
        bool is_same = row->commits == fence->commits && row->last_number == store->last_number;
        return is_same ? TRI_FENCE_AS_LEFT : TRI_FENCE_LOST;
    }
    bool is_in = fence->is_in_doubt && row->commits == fence->commits + 1 &&
                 row->last_number == fence->doubt_number;
    return is_in ? TRI_FENCE_IS_IN : TRI_FENCE_SHUT_OUT;
}

enum tri_fence_finding tri_fence_find_entry(const struct tri_log_row *ours, bool is_in_doubt,
                                            const struct tri_log_row *row)
{
    if (row->incarnation != ours->incarnation) {
        return row->incarnation > ours->incarnation ? TRI_FENCE_SHUT_OUT : TRI_FENCE_LOST;
    }
    if (row->last_sequence <= ours->last_sequence) {
        return row->last_sequence == ours->last_sequence ? TRI_FENCE_AS_LEFT : TRI_FENCE_LOST;
    }
    bool is_in = is_in_doubt && row->last_sequence == ours->last_sequence + 1;
    return is_in ? TRI_FENCE_IS_IN : TRI_FENCE_SHUT_OUT;
}

int tri_fence_error(enum tri_fence_finding finding)
{
    static const int errors[] = {
        [TRI_FENCE_AS_LEFT] = 0,
        [TRI_FENCE_IS_IN] = 0,
        [TRI_FENCE_SHUT_OUT] = TR_FENCED,
        [TRI_FENCE_LOST] = TR_STORE_FAILED,
    };
    return errors[finding];
}

static void explain_loss(const struct tri_fence *fence, const struct tri_store *store,
                         const struct tri_fence_row *row, const char *place, char *words)
{
    (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES,
                   "%s holds %llu commits of this store, up to number %llu, where %llu were "
                   "acknowledged, up to %llu: the database has lost commits, because it was "
                   "restored, or a standby took over that had not got all; start again from what "
                   "there is",
                   place, (unsigned long long)row->commits, (unsigned long long)row->last_number,
                   (unsigned long long)fence->commits, (unsigned long long)store->last_number);
}

void tri_fence_explain(const struct tri_fence *fence, const struct tri_store *store,
                       const struct tri_fence_row *row, const char *place, char *words)
{
    if (tri_fence_find(fence, store, row) == TRI_FENCE_LOST) {
        explain_loss(fence, store, row, place, words);
    } else if (row->incarnation > store->incarnation) {
        (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES,
                       "%s: another engine has opened it (incarnation %llu, ours is %llu); this "
                       "one must end",
                       place, (unsigned long long)row->incarnation,
                       (unsigned long long)store->incarnation);
    } else {
        (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES,
                       "%s: somebody has changed the host's row; this engine must end", place);
    }
}

void tri_fence_take(struct tri_fence *fence, struct tri_store *store,
                    const struct tri_fence_row *row, uint64_t incarnation)
{
    *fence = (struct tri_fence){.commits = row->commits};
    store->incarnation = incarnation;
    store->last_number = row->last_number;
}

int tri_fence_settle(struct tri_fence *fence, struct tri_store *store,
                     const struct tri_fence_row *row)
{
    enum tri_fence_finding finding = tri_fence_find(fence, store, row);
    int error = tri_fence_error(finding);
    if (error != 0) {
        return error;
    }
    fence->is_settled = fence->is_settled || finding == TRI_FENCE_IS_IN;
    fence->is_in_doubt = false;
    fence->commits = row->commits;
    store->last_number = row->last_number;
    return 0;
}

int tri_fence_admit(struct tri_fence *fence, const struct tri_store *store, uint64_t number,
                    bool *is_in)
{
    bool was_settled = fence->is_settled;
    if (was_settled && number != store->last_number) {
        return TR_INVALID;
    }
    fence->is_settled = false;
    *is_in = was_settled;
    return 0;
}

void tri_fence_acknowledge(struct tri_fence *fence, struct tri_store *store, uint64_t number)
{
    fence->commits++;
    store->last_number = number;
}

void tri_fence_doubt(struct tri_fence *fence, uint64_t number)
{
    fence->is_in_doubt = true;
    fence->doubt_number = number;
}
