/*
 * One step of the journal: read batches, take those without a gap as one commit batch, commit it,
 * tell the workers.
 *
 * On a full disk the batch is kept and retried; none of it has left the host. Any other failure
 * ends the host: uncommitted effects have not been visible outside (law 4 of
 * runtime/ARCHITECTURE.md), and a restart continues from the store.
 *
 * One step goes through these stages, in this order:
 *
 *   1. receive: batches from the link go into `pending`, which is sorted by number.
 *   2. gather: the prefix of `pending` without a gap becomes the commit batch.
 *   3. commit: one transaction of the store, synced as the durability level says.
 *   4. release: the calls of the committed batches are sent, and workers get the number.
 *   5. flush: the frames of stage 4 go to the pipes. A full pipe keeps them; nothing blocks.
 *   6. maintain: with nothing pending the store does its housekeeping (a checkpoint of its log),
 *      and says if what it has acknowledged waits for a shortage to end.
 *
 * Stage 4 must never come before stage 3: a crash could lose the cause of a call that is already
 * outside, and the call be made again under another identity. Stage 6 comes last because a
 * checkpoint may take long, and workers should be told of the commit before it.
 *
 * The states: WELL commits; WAITS keeps the same batches after a shortage and retries at
 * `retry_ns`; FAILED never commits again, and the host ends. The first successful commit changes
 * WAITS back to WELL. Batches that have come meanwhile join a retry, unless the outcome is unknown
 * (TR_BUSY): then exactly the same batches are committed again.
 */
#include "runtime/journal/journal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/behaviour.h"
#include "runtime/env/env.h"
#include "runtime/memory.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

/*
 * A full disk is retried every 100 ms: an operator or a cleaner frees space in seconds, and a
 * failed attempt costs little.
 */
#define RETRY_FULL_NS 100000000
#define SLICE_FRAMES 1024

/* Upper bounds of the histograms' buckets: nanoseconds, and operations. */
static const uint64_t commit_ns_bounds[] = {
    100000,   250000,    500000,    1000000,   2500000,    5000000,    10000000,  25000000,
    50000000, 100000000, 250000000, 500000000, 1000000000, 5000000000, UINT64_MAX};
static const uint64_t commit_operations_bounds[] = {1,    4,    16,    64,    256,
                                                    1024, 4096, 16384, 65536, UINT64_MAX};

_Static_assert(TR_COUNT_OF(commit_ns_bounds) <= TR_HISTOGRAM_BUCKETS_MAX, "they fit");
_Static_assert(TR_COUNT_OF(commit_operations_bounds) <= TR_HISTOGRAM_BUCKETS_MAX, "they fit");

void tri_journal_init(struct tri_journal *journal, struct tr_env *env, struct tri_store *store,
                      struct tr_ref host)
{
    *journal = (struct tri_journal){
        .env = env,
        .store = store,
        .committed_number = store->last_number,
        .ops_since_release = TR_RELEASE_OPS_FEW, /* the start has read the store */
        .committed_ns = tri_monotonic_ns(env),
        .commit_ns = {.bounds = commit_ns_bounds},
        .commit_operations = {.bounds = commit_operations_bounds},
    };
    tri_inbox_init(&journal->inbox);
    tri_sender_init(&journal->sender, TR_SERVICE_JOURNAL, host);
}

/* Uncommitted batches are dropped, as in a crash. */
void tri_journal_fini(struct tri_journal *journal)
{
    while (journal->pending != NULL) {
        struct tri_pending *pending = journal->pending;
        journal->pending = pending->next;
        tr_free(pending);
    }
    tri_inbox_fini(&journal->inbox);
    tri_sender_fini(&journal->sender);
    tri_commit_batch_fini(&journal->commit);
}

static void fail(struct tri_journal *journal, int error)
{
    journal->state = TRI_JOURNAL_FAILED;
    journal->error = error;
    snprintf(journal->words, sizeof journal->words, "%s: %s", tr_error_text(error),
             tri_store_explain(journal->store));
    tri_inbox_close(&journal->inbox);
}

/*
 * Inserts a copy of a batch in order. Workers take their numbers from one counter but send over
 * pipes of their own, so batches arrive out of order; they are never far apart, since a worker has
 * at most TR_CUTS_OUTSTANDING_MAX batches outstanding. So a sorted list is enough.
 */
static void keep_batch(struct tri_journal *journal, const struct tri_frame *frame)
{
    struct tri_batch_header header;
    if (frame->size == TRI_JOURNAL_WAKE_BYTES) {
        return; /* a wakeup only */
    }
    TR_ASSERT(frame->size >= sizeof header);
    memcpy(&header, frame->data, sizeof header);
    TR_ASSERT(header.number > journal->committed_number);
    struct tri_pending *pending = tr_alloc(sizeof *pending + frame->size);
    /*
     * A lost batch would leave a gap for ever, so no later one could be committed: the host ends.
     */
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

/* Bounded, so that commits begin while batches keep arriving. */
static bool receive_batches(struct tri_journal *journal)
{
    struct tri_frame frame;
    uint32_t count = 0;
    while (count < SLICE_FRAMES && tri_channel_receive(journal->sender.link, &frame) == 0) {
        keep_batch(journal, &frame);
        tri_channel_release(journal->sender.link, &frame);
        count++;
    }
    return count > 0;
}

/*
 * Visits the operations of a batch: with `calls` its calls, which go to the outbox, and otherwise
 * those of the store, which go to the commit batch. A batch is read twice for that, because calls
 * must not be in the outbox before the commit: a step that fails would have to find and remove
 * them.
 */
static int each_op(const struct tri_pending *pending, struct tri_journal *journal, bool calls)
{
    struct tr_bytes batch = {.data = pending->bytes, .size = pending->size};
    struct tri_op op;
    size_t offset = 0;
    int error = 0;
    while (error == 0 && tri_batch_next(batch, &offset, &op)) {
        if (op.kind == TRI_OP_CALL && op.type == TRI_PLACE_PROCESSES) {
            journal->has_process_calls = true;
        }
        if ((op.kind == TRI_OP_CALL) == calls) {
            error = calls ? tri_outbox_add(&journal->sender.outbox, op.type, op.data, true)
                          : tri_commit_batch_add(&journal->commit, &op);
        }
    }
    return error;
}

void tri_journal_keep_clock(struct tri_journal *journal, const struct tri_life *life, uint64_t cell)
{
    journal->life = life;
    journal->clock_cell = cell;
}

/* The steady clock for the next life of the host (runtime/env/env.h). */
static struct tri_kept_clock read_clock(const struct tri_journal *journal, uint64_t now_ns)
{
    return (struct tri_kept_clock){.steady_ms = tri_life_steady_ms(journal->life, now_ns),
                                   .ahead_ms = atomic_load(&journal->life->ahead_ms)};
}

/* Into the cell of all, and that of this host; how many. */
static size_t clock_ops(const struct tri_journal *journal, const struct tri_kept_clock *clock,
                        struct tri_op ops[2])
{
    const struct tr_bytes data = {.data = (const uint8_t *)clock, .size = sizeof *clock};
    ops[0] = (struct tri_op){.kind = TRI_OP_PUT_META, .number = TRI_META_CLOCK, .data = data};
    ops[1] = (struct tri_op){.kind = TRI_OP_PUT_META, .number = journal->clock_cell, .data = data};
    return journal->clock_cell == 0 ? 1 : 2;
}

/*
 * Adds the clock to this commit if it is older than TR_CLOCK_KEPT_MS. It costs no commit of its
 * own, and an idle host writes nothing. `kept` is a field of the journal because the operation
 * points to its bytes until the commit returns.
 *
 * Of a host among several each commit that lets a process begin has the clock: so no process was
 * asked for later than what is stored, and whoever takes its work knows whose each was
 * (runtime/members/tenure.h).
 */
static int add_clock(struct tri_journal *journal, uint64_t now_ns)
{
    bool is_recent =
        journal->clock_ns != 0 && now_ns - journal->clock_ns < (uint64_t)TR_CLOCK_KEPT_MS * 1000000;
    bool is_kept = is_recent && !(journal->has_process_calls && journal->clock_cell != 0);
    struct tri_op ops[2];
    int error = 0;
    if (journal->life == NULL || is_kept) {
        return 0;
    }
    journal->kept = read_clock(journal, now_ns);
    journal->clock_ns = now_ns;
    size_t count = clock_ops(journal, &journal->kept, ops);
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = tri_commit_batch_add(&journal->commit, &ops[i]);
    }
    return error;
}

/*
 * Takes batches without a gap, up to a bound; returns the number of the last one.
 *
 * Invariant: `committed_number` and all lower numbers are in the store, and `pending` is sorted by
 * number. A gap ends the commit batch, since a later batch may depend on the missing one
 * (runtime/actor/cut.c says why a cause has the lower number).
 */
static int gather(struct tri_journal *journal, uint64_t now_ns, uint64_t *last_number)
{
    uint64_t number = journal->committed_number;
    const struct tri_pending *pending = journal->pending;
    uint64_t size_bytes = 0;
    journal->has_process_calls = false;
    /*
     * The bounds are checked between batches only. A batch is never split over two commits: it is
     * the state of a worker between two messages, and half of it would be a state that never was.
     */
    uint64_t bound = journal->is_doubtful ? journal->doubtful_number : UINT64_MAX;
    while (pending != NULL && pending->number == number + 1 && number < bound &&
           journal->commit.count < TR_COMMIT_OPS_MAX && size_bytes < TR_COMMIT_BYTES_MAX) {
        int error = each_op(pending, journal, false);
        if (error != 0) {
            return error;
        }
        if (pending->worker != TRI_BATCH_OF_PROGRAM) {
            journal->shares[pending->worker].batches++;
            journal->shares[pending->worker].bytes += pending->size;
        }
        size_bytes += pending->size;
        number = pending->number;
        pending = pending->next;
    }
    int error = tri_inbox_take(&journal->inbox, !journal->is_doubtful, &journal->commit);
    if (error == 0) {
        error = add_clock(journal, now_ns);
    }
    if (journal->store->gathers) {
        tri_commit_batch_finish_unsorted(&journal->commit);
    } else {
        tri_commit_batch_finish(&journal->commit);
    }
    *last_number = number;
    return error;
}

/*
 * Tells a worker the committed number. The worker counts its outstanding batches and bytes down by
 * this message, and continues if it had stopped for congestion. A hint is enough: the numbers are
 * totals of this commit, the link loses nothing while both threads live, and after a crash nothing
 * is outstanding.
 */
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
    int error =
        tri_sender_send(&journal->sender, worker, &envelope, &tr_committed_schema, &committed);
    if (error != 0) {
        fail(journal, error);
    }
}

/*
 * The commit is done: sends its calls and frees its batches. Calls leave only here, so no call that
 * a crash could undo is visible outside. The calls of one batch leave in the order in which its
 * worker made them, and batches in the order of their numbers. So calls of one actor never overtake
 * each other.
 */
static void release_committed(struct tri_journal *journal)
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

/* Updates the metrics of a commit. */
static void count_commit(struct tri_journal *journal, uint64_t begun_ns, size_t operations)
{
    tri_histogram_add(&journal->commit_ns, tri_figure_get(&journal->committed_ns) - begun_ns);
    tri_histogram_add(&journal->commit_operations, operations);
    for (uint32_t worker = 0; worker < TR_WORKERS_MAX; worker++) {
        tri_figure_add(&journal->batches, journal->shares[worker].batches);
        tri_figure_add(&journal->bytes, journal->shares[worker].bytes);
    }
}

/*
 * One commit: all or nothing. A shortage (a full disk, no memory, a busy database) leaves `pending`
 * as it is, and the same batches are gathered again. Any other error is final.
 *
 * `committed_number` advances only after the store has returned 0, and release_committed depends on
 * it. In the other order a failed commit would release calls whose causes are not on the disk.
 */
static void commit_gathered(struct tri_journal *journal)
{
    uint64_t last_number = journal->committed_number;
    uint64_t begun_ns = tri_monotonic_ns(journal->env);
    int error = gather(journal, begun_ns, &last_number);
    struct tri_commit commit = {.ops = journal->commit.ops, .count = journal->commit.count};
    if (error == 0) {
        commit.last_number = last_number;
        tri_figure_set(&journal->begun_ns, begun_ns);
        error = tri_store_commit(journal->store, &commit);
        tri_figure_set(&journal->begun_ns, 0);
    }
    if (error == 0) {
        journal->state = TRI_JOURNAL_WELL;
        journal->error = 0;
        journal->is_doubtful = false;
        atomic_store_explicit(&journal->waits_for, 0, memory_order_relaxed);
        journal->committed_number = last_number;
        journal->commit_count++;
        journal->ops_since_release += commit.count;
        tri_figure_set(&journal->committed_ns, tri_monotonic_ns(journal->env));
        count_commit(journal, begun_ns, commit.count);
        release_committed(journal);
    } else if (tr_error_is_shortage(error)) { /* nothing was written, nor the clock */
        journal->clock_ns = 0;
        journal->kept = (struct tri_kept_clock){0};
        journal->state = TRI_JOURNAL_WAITS;
        journal->error = error;
        journal->doubtful_number = error == TR_BUSY ? last_number : journal->doubtful_number;
        journal->is_doubtful = journal->is_doubtful || error == TR_BUSY;
        atomic_store_explicit(&journal->waits_for, error, memory_order_relaxed);
        tri_figure_add(&journal->shortages, 1);
        journal->retry_ns = tri_monotonic_ns(journal->env) + RETRY_FULL_NS;
    } else {
        fail(journal, error);
    }
    /*
     * Both belong to this attempt alone. Operations of the commit batch point into batches that
     * release_committed has freed, so nothing may read them in between.
     */
    memset(journal->shares, 0, sizeof journal->shares);
    tri_commit_batch_clear(&journal->commit);
    tri_inbox_finish(&journal->inbox, error);
}

/*
 * Whether the next commit batch can be committed now: not across a gap, and after a shortage not
 * before its time.
 */
static bool may_commit(struct tri_journal *journal)
{
    bool has_next =
        journal->pending != NULL && journal->pending->number == journal->committed_number + 1;
    if (journal->state == TRI_JOURNAL_FAILED ||
        (!has_next && !tri_inbox_has_any(&journal->inbox))) {
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
        commit_gathered(journal);
    }
    tri_sender_flush(&journal->sender);
    /* Only when no batch waits. Batches that arrived meanwhile wait for at most one checkpoint. */
    if (journal->pending == NULL && journal->state == TRI_JOURNAL_WELL) {
        int error = tri_store_maintain(journal->store);
        if (error != 0 && !tr_error_is_shortage(error)) {
            fail(journal, error);
        }
        /* What was acknowledged waits for the tables of the store; it is tried again there. */
        atomic_store_explicit(&journal->waits_for, error, memory_order_relaxed);
    }
    return did_receive || did_commit;
}

/*
 * A clean end stores the clock in a commit of its own, unless it was stored within
 * TR_CLOCK_KEPT_MS. Its error is ignored: the next life then continues from the time stored before,
 * and no state is lost.
 */
static void store_clock(struct tri_journal *journal)
{
    struct tri_op ops[2];
    struct tri_kept_clock clock = read_clock(journal, tri_monotonic_ns(journal->env));
    const struct tri_commit commit = {.ops = ops,
                                      .count = clock_ops(journal, &clock, ops),
                                      .last_number = journal->committed_number};
    if (clock.steady_ms >= journal->kept.steady_ms + TR_CLOCK_KEPT_MS) {
        (void)!tri_store_commit(journal->store, &commit);
    }
}

void tri_journal_end(struct tri_journal *journal)
{
    if (journal->life != NULL && journal->state == TRI_JOURNAL_WELL) {
        store_clock(journal);
    }
    tri_inbox_close(&journal->inbox);
}

void tri_journal_release_memory(struct tri_journal *journal)
{
    uint64_t quiet_ms =
        (tri_monotonic_ns(journal->env) - tri_figure_get(&journal->committed_ns)) / 1000000;
    uint64_t enough = quiet_ms >= TR_RELEASE_AFTER_MS ? TR_RELEASE_OPS_FEW : TR_RELEASE_OPS;
    bool is_due = journal->ops_since_release >= enough;
    if (is_due && !tri_journal_is_busy(journal) && journal->state == TRI_JOURNAL_WELL) {
        journal->ops_since_release = 0;
        tri_commit_batch_fini(&journal->commit);
        tri_store_release_memory(journal->store);
        tr_memory_trim();
    }
}

void tri_journal_figures(const struct tri_journal *journal, uint64_t now_ns,
                         struct tr_journal_figures *figures)
{
    uint64_t begun_ns = tri_figure_get(&journal->begun_ns);
    uint64_t committed_ns = tri_figure_get(&journal->committed_ns);
    figures->commit_ns = tri_histogram_read(&journal->commit_ns);
    figures->commit_operations = tri_histogram_read(&journal->commit_operations);
    figures->batches = tri_figure_get(&journal->batches);
    figures->bytes = tri_figure_get(&journal->bytes);
    figures->shortages = tri_figure_get(&journal->shortages);
    figures->current_ns = begun_ns == 0 || begun_ns > now_ns ? 0 : now_ns - begun_ns;
    figures->last_ns = committed_ns > now_ns ? 0 : now_ns - committed_ns;
}
