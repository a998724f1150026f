/*
 * The journal's turn: read batches, take those without a gap as one group, commit it, tell.
 *
 * A full disk keeps the group and tries again; nothing of it has left the host. Any other failure
 * ends the host: what was not committed has been seen by nobody outside (law 4), and a restart
 * goes on from the store.
 */
#include "runtime/journal/journal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/env/env.h"
#include "runtime/memory.h"
#include "runtime/troupe.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

#define RETRY_FULL_NS 100000000
#define SLICE_FRAMES 1024

void tri_journal_init(struct tri_journal *journal, struct tr_env *env, struct tri_store *store)
{
    *journal = (struct tri_journal){
        .env = env,
        .store = store,
        .committed_number = store->last_number,
        .ops_since_rest = TR_REST_OPS_FEW, /* a start has read the store */
        .committed_ns = tri_monotonic_ns(env),
    };
    tri_voice_init(&journal->voice, TR_SERVICE_JOURNAL, (uint32_t)store->incarnation);
}

void tri_journal_fini(struct tri_journal *journal)
{
    while (journal->pending != NULL) {
        struct tri_pending *pending = journal->pending;
        journal->pending = pending->next;
        tr_free(pending);
    }
    tri_voice_fini(&journal->voice);
    tri_group_commit_fini(&journal->group);
}

static void fail(struct tri_journal *journal, int error)
{
    journal->state = TRI_JOURNAL_FAILED;
    journal->error = error;
    snprintf(journal->words, sizeof journal->words, "%s: %s", tr_error_text(error),
             tri_store_explain(journal->store));
}

/* Keeps a batch in its place of the order. */
static void keep_batch(struct tri_journal *journal, const struct tri_frame *frame)
{
    struct tri_batch_header header;
    if (frame->size == TRI_JOURNAL_NUDGE_BYTES) {
        return; /* somebody wants the journal to be awake */
    }
    TR_ASSERT(frame->size >= sizeof header);
    memcpy(&header, frame->data, sizeof header);
    TR_ASSERT(header.number > journal->committed_number);
    struct tri_pending *pending = tr_alloc(sizeof *pending + frame->size);
    if (pending == NULL) {
        fail(journal, TR_MEMORY);
        return;
    }
    *pending =
        (struct tri_pending){.number = header.number, .worker = header.worker, .size = frame->size};
    memcpy(pending->bytes, frame->data, frame->size);
    struct tri_pending **link = &journal->pending;
    while (*link != NULL && (*link)->number < pending->number) {
        link = &(*link)->next;
    }
    pending->next = *link;
    *link = pending;
}

static bool receive_batches(struct tri_journal *journal)
{
    struct tri_frame frame;
    uint32_t count = 0;
    while (count < SLICE_FRAMES && tri_link_receive(journal->voice.link, &frame) == 0) {
        keep_batch(journal, &frame);
        tri_link_release(journal->voice.link, &frame);
        count++;
    }
    return count > 0;
}

/* Visits the operations of a batch: those of the store, or the calls that ride along. */
static int each_op(const struct tri_pending *pending, struct tri_journal *journal, bool calls)
{
    struct tr_bytes batch = {.data = pending->bytes, .size = pending->size};
    struct tri_op op;
    size_t offset = 0;
    int error = 0;
    while (error == 0 && tri_batch_next(batch, &offset, &op)) {
        if ((op.kind == TRI_OP_CALL) == calls) {
            error = calls ? tri_outbox_add(&journal->voice.outbox, op.type, op.data, true)
                          : tri_group_commit_add(&journal->group, &op);
        }
    }
    return error;
}

void tri_journal_keep_clock(struct tri_journal *journal, const struct tri_life *life)
{
    journal->life = *life;
}

/* How late it is, to be kept. */
static struct tri_kept_clock read_clock(const struct tri_journal *journal, uint64_t now_ns)
{
    return (struct tri_kept_clock){.steady_ms = tri_life_steady_ms(&journal->life, now_ns),
                                   .ahead_ms = journal->life.ahead_ms};
}

static struct tri_op clock_op(const struct tri_kept_clock *clock)
{
    return (struct tri_op){.kind = TRI_OP_PUT_META,
                           .number = TRI_META_CLOCK,
                           .data = {.data = (const uint8_t *)clock, .size = sizeof *clock}};
}

/* Writes the clock with this group if it was not for a while. */
static int add_clock(struct tri_journal *journal)
{
    uint64_t now_ns = tri_monotonic_ns(journal->env);
    bool is_kept =
        journal->clock_ns != 0 && now_ns - journal->clock_ns < (uint64_t)TR_CLOCK_KEPT_MS * 1000000;
    if (journal->life.start_wall_ms == 0 || is_kept) {
        return 0;
    }
    journal->kept = read_clock(journal, now_ns);
    journal->clock_ns = now_ns;
    struct tri_op op = clock_op(&journal->kept);
    return tri_group_commit_add(&journal->group, &op);
}

/* Takes batches without a gap, up to a bound; gives the number of the last one. */
static int gather(struct tri_journal *journal, uint64_t *last_number)
{
    uint64_t number = journal->committed_number;
    const struct tri_pending *pending = journal->pending;
    while (pending != NULL && pending->number == number + 1 &&
           journal->group.count < TR_COMMIT_OPS_MAX) {
        int error = each_op(pending, journal, false);
        if (error != 0) {
            return error;
        }
        journal->shares[pending->worker].batches++;
        journal->shares[pending->worker].bytes += pending->size;
        number = pending->number;
        pending = pending->next;
    }
    int error = add_clock(journal);
    tri_group_commit_finish(&journal->group);
    *last_number = number;
    return error;
}

/* How far the journal is, as a message for a worker. */
static void tell_committed(struct tri_journal *journal, uint32_t worker)
{
    const struct tri_share *share = &journal->shares[worker];
    struct tr_committed committed = {
        .number = journal->committed_number, .batches = share->batches, .bytes = share->bytes};
    struct tr_envelope envelope = {
        .kind = TR_KIND_CONTROL,
        .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
        .to_serial = TR_SERVICE_WORKERS + worker,
    };
    int error = tri_voice_say(&journal->voice, worker, &envelope, &tr_committed_schema, &committed);
    if (error != 0) {
        fail(journal, error);
    }
}

/* The group is on the disk: what waited for it goes on, and its batches are done. */
static void release_group(struct tri_journal *journal)
{
    while (journal->pending != NULL && journal->pending->number <= journal->committed_number) {
        struct tri_pending *pending = journal->pending;
        int error = each_op(pending, journal, true);
        if (error != 0) {
            fail(journal, error);
        }
        journal->pending = pending->next;
        tr_free(pending);
    }
    for (uint32_t worker = 0; worker < TR_WORKERS_MAX; worker++) {
        if (journal->shares[worker].batches > 0) {
            tell_committed(journal, worker);
        }
    }
}

static void commit_group(struct tri_journal *journal)
{
    uint64_t last_number;
    int error = gather(journal, &last_number);
    struct tri_commit commit = {.ops = journal->group.ops, .count = journal->group.count};
    if (error == 0) {
        commit.last_number = last_number;
        error = tri_store_commit(journal->store, &commit);
    }
    if (error == 0) {
        journal->state = TRI_JOURNAL_WELL;
        journal->error = 0;
        atomic_store_explicit(&journal->waits_for, 0, memory_order_relaxed);
        journal->committed_number = last_number;
        journal->groups_committed++;
        journal->ops_since_rest += commit.count;
        journal->committed_ns = tri_monotonic_ns(journal->env);
        release_group(journal);
    } else if (tr_error_is_shortage(error)) { /* nothing was written, how late it is neither */
        journal->clock_ns = 0;
        journal->kept = (struct tri_kept_clock){0};
        journal->state = TRI_JOURNAL_WAITS;
        journal->error = error;
        atomic_store_explicit(&journal->waits_for, error, memory_order_relaxed);
        journal->retry_ns = tri_monotonic_ns(journal->env) + RETRY_FULL_NS;
    } else {
        fail(journal, error);
    }
    memset(journal->shares, 0, sizeof journal->shares);
    tri_group_commit_clear(&journal->group);
}

/* Whether the next group can be committed now. */
static bool may_commit(const struct tri_journal *journal)
{
    if (journal->state == TRI_JOURNAL_FAILED || journal->pending == NULL) {
        return false;
    }
    if (journal->pending->number != journal->committed_number + 1) {
        return false;
    }
    return journal->state == TRI_JOURNAL_WELL ||
           tri_monotonic_ns(journal->env) >= journal->retry_ns;
}

bool tri_journal_step(struct tri_journal *journal)
{
    bool did_receive = receive_batches(journal);
    bool did_commit = may_commit(journal);
    if (did_commit) {
        commit_group(journal);
    }
    tri_voice_flush(&journal->voice);
    if (journal->pending == NULL && journal->state == TRI_JOURNAL_WELL) {
        int error = tri_store_tend(journal->store);
        if (error != 0) {
            fail(journal, error);
        }
    }
    return did_receive || did_commit;
}

void tri_journal_end(struct tri_journal *journal)
{
    struct tri_kept_clock clock = read_clock(journal, tri_monotonic_ns(journal->env));
    struct tri_op op = clock_op(&clock);
    struct tri_commit commit = {.ops = &op, .count = 1, .last_number = journal->committed_number};
    bool is_due = journal->life.start_wall_ms != 0 && journal->state == TRI_JOURNAL_WELL &&
                  clock.steady_ms >= journal->kept.steady_ms + TR_CLOCK_KEPT_MS;
    if (is_due) {
        (void)!tri_store_commit(journal->store, &commit);
    }
}

void tri_journal_rest(struct tri_journal *journal)
{
    uint64_t quiet_ms = (tri_monotonic_ns(journal->env) - journal->committed_ns) / 1000000;
    uint64_t enough = quiet_ms >= TR_REST_AFTER_MS ? TR_REST_OPS_FEW : TR_REST_OPS;
    bool is_due = journal->ops_since_rest >= enough;
    if (is_due && !tri_journal_is_busy(journal) && journal->state == TRI_JOURNAL_WELL) {
        journal->ops_since_rest = 0;
        tri_store_rest(journal->store);
        tr_memory_trim();
    }
}
