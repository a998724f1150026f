/*
 * The modelled server: sessions that outlive their clients, transactions behind the fence, and a
 * standby that may take over.
 *
 * A transaction is done in one step, since what it would wait for is the row, and whoever has that
 * is finished first. So all that happens has an order, as in the real server by the row's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/database_internal.h"

#define MS 1000000ULL

/* A session that ends within this time is waited for by whoever wants its lock (lock_timeout). */
#define LOCK_WAIT_NS (20 * MS)

/* The most commits that an asynchronous standby is behind. */
#define LAG_MAX 4

bool tri_database_chance(struct tri_database *database, uint32_t per_million)
{
    return !database->is_calm && sim_chance(&database->chance, per_million);
}

static uint64_t soon(struct tri_database *database, uint64_t most_ns)
{
    return *database->now_ns + sim_below(&database->chance, most_ns + 1);
}

/* --- Entries of the log. --- */

struct tri_database_entry *tri_database_entry_new(struct tr_bytes bytes, uint64_t sequence)
{
    struct tri_database_entry *entry = tri_model_must(malloc(sizeof *entry + bytes.size));
    *entry = (struct tri_database_entry){.references = 1, .sequence = sequence, .size = bytes.size};
    memcpy(entry->bytes, bytes.data, bytes.size);
    return entry;
}

static struct tri_database_entry *entry_ref(struct tri_database_entry *entry)
{
    if (entry != NULL) {
        entry->references++;
    }
    return entry;
}

void tri_database_entry_unref(struct tri_database_entry *entry)
{
    while (entry != NULL && --entry->references == 0) {
        struct tri_database_entry *before = entry->before;
        free(entry);
        entry = before;
    }
}

/* --- Messages and sessions. --- */

static void free_message(struct tri_database_message *message)
{
    if (message != NULL) {
        tri_database_entry_unref(message->entry);
        free((void *)(uintptr_t)message->commit.ops);
        free(message->bytes);
        free(message);
    }
}

/* A copy of a commit, which outlives its caller. */
static void copy_commit(struct tri_database_message *message, const struct tri_commit *commit)
{
    size_t size = 1;
    for (size_t i = 0; i < commit->count; i++) {
        size += commit->ops[i].data.size;
    }
    struct tri_op *ops = tri_model_must(calloc(commit->count + 1, sizeof *ops));
    message->bytes = tri_model_must(malloc(size));
    size_t at = 0;
    for (size_t i = 0; i < commit->count; i++) {
        ops[i] = commit->ops[i];
        if (ops[i].data.size > 0) {
            memcpy(message->bytes + at, ops[i].data.data, ops[i].data.size);
            ops[i].data.data = message->bytes + at;
            at += ops[i].data.size;
        }
    }
    message->commit =
        (struct tri_commit){.ops = ops, .count = commit->count, .last_number = commit->last_number};
}

/* The session is over; what it was sent and has not executed is gone. */
static void end_session(struct tri_database *database, struct tri_database_session *session)
{
    struct tri_database_session **link = &database->sessions;
    while (*link != session) {
        link = &(*link)->next;
    }
    *link = session->next;
    free_message(session->message);
    free(session);
}

static void end_all_sessions(struct tri_database *database)
{
    while (database->sessions != NULL) {
        end_session(database, database->sessions);
    }
}

bool tri_database_is_there(const struct tri_database *database)
{
    return *database->now_ns >= database->away_until_ns;
}

struct tri_database_session *tri_database_connect(struct tri_database *database)
{
    tri_database_turn(database);
    if (!tri_database_is_there(database)) {
        return NULL;
    }
    struct tri_database_session *session = tri_model_must(calloc(1, sizeof *session));
    session->number = ++database->session_count;
    session->next = database->sessions;
    database->sessions = session;
    return session;
}

struct tri_database_session *tri_database_session(struct tri_database *database, uint64_t number)
{
    struct tri_database_session *session = database->sessions;
    while (session != NULL && session->number != number) {
        session = session->next;
    }
    return session != NULL && !session->is_alone ? session : NULL;
}

/* A session reads all that it was sent before it notices that its client is gone. */
static void leave_alone(struct tri_database *database, struct tri_database_session *session,
                        uint64_t ends_ns)
{
    bool keeps_lock = !database->plan.loses_locks || sim_below(&database->chance, 2) == 0;
    session->has_lock = session->has_lock && keeps_lock;
    session->is_alone = true;
    session->ends_ns = ends_ns;
    if (session->message != NULL && session->message->due_ns > ends_ns) {
        session->ends_ns = session->message->due_ns;
    }
}

void tri_database_cut(struct tri_database *database, struct tri_database_session *session)
{
    leave_alone(database, session, soon(database, database->plan.late_ns_max));
}

void tri_database_disconnect(struct tri_database *database, struct tri_database_session *session)
{
    end_session(database, session);
}

void tri_database_leave(struct tri_database *database, bool is_silent)
{
    database->life++;
    database->news.must_say_so = false;
    database->news.may_say_so = false;
    database->news.has_died = false;
    struct tri_database_session *session = database->sessions;
    for (; session != NULL; session = session->next) {
        if (!session->is_alone) {
            leave_alone(database, session,
                        soon(database, is_silent ? database->plan.late_ns_max : 0));
        }
    }
}

/* --- Transactions. --- */

static void clear_state(struct tri_database_state *state)
{
    tri_model_version_clear(&state->version);
    tri_database_entry_unref(state->entries);
    state->entries = NULL;
}

/* The same contents, for what is changed next. */
static struct tri_database_state share(const struct tri_database_state *from)
{
    return (struct tri_database_state){.row = from->row,
                                       .version = tri_model_version_share(&from->version),
                                       .log = from->log,
                                       .entries = entry_ref(from->entries)};
}

/* This is the state from now on; `state` is taken over. */
static void advance(struct tri_database *database, struct tri_database_state state)
{
    size_t last = TRI_DATABASE_HISTORY_MAX - 1;
    if (database->history_count > last) {
        clear_state(&database->history[last]);
        database->history_count = last;
    }
    memmove(&database->history[1], &database->history[0],
            database->history_count * sizeof database->history[0]);
    database->history[0] = database->now;
    database->history_count++;
    database->now = state;
    database->unreplicated += database->unreplicated < database->history_count ? 1 : 0;
}

static bool fence_lets(const struct tri_database *database, const struct tri_fence_row *fence)
{
    const struct tri_fence_row *row = &database->now.row;
    bool is_turn =
        row->incarnation == fence->incarnation || database->bug == TRI_DATABASE_LETS_OLD_ONES;
    bool is_next = row->commits == fence->commits || database->bug == TRI_DATABASE_COUNTS_NOTHING ||
                   database->bug == TRI_DATABASE_TAKES_FOR_FAILED;
    return is_turn && is_next;
}

/* Up to which entry the commit brings the tables; 0: it does not say. */
static uint64_t mark_of(const struct tri_commit *commit)
{
    struct tri_commit_log_mark mark = {0};
    for (size_t i = 0; i < commit->count; i++) {
        const struct tri_op *op = &commit->ops[i];
        if (op->kind == TRI_OP_PUT_META && op->number == TRI_META_LOG) {
            memcpy(&mark, op->data.data, sizeof mark);
        }
    }
    return mark.sequence;
}

/*
 * Entries that the commit has applied are deleted. Those behind them stay, and with them, unseen,
 * those before: readers begin behind the mark.
 */
static void apply(struct tri_database *database, const struct tri_commit *commit)
{
    uint64_t mark = mark_of(commit);
    struct tri_database_state next = share(&database->now);
    tri_model_version_set(&next.version,
                          tri_model_version_after(&database->now.version, commit, commit->count));
    next.row.last_number = commit->last_number;
    next.row.commits++;
    if (next.entries != NULL && next.entries->sequence <= mark) {
        tri_database_entry_unref(next.entries);
        next.entries = NULL;
    }
    advance(database, next);
}

static bool log_lets(const struct tri_database *database, const struct tri_log_row *fence)
{
    const struct tri_log_row *row = &database->now.log;
    bool is_turn =
        row->incarnation == fence->incarnation || database->bug == TRI_DATABASE_LETS_OLD_ONES;
    bool is_next = row->last_sequence == fence->last_sequence ||
                   database->bug == TRI_DATABASE_COUNTS_NOTHING ||
                   database->bug == TRI_DATABASE_TAKES_FOR_FAILED;
    return is_turn && is_next;
}

static void append(struct tri_database *database, struct tri_database_entry *entry)
{
    struct tri_database_state next = share(&database->now);
    struct tri_database_entry *added = tri_database_entry_new(
        (struct tr_bytes){.data = entry->bytes, .size = entry->size}, entry->sequence);
    added->before = next.entries;
    next.entries = added;
    next.log.last_sequence = entry->sequence;
    advance(database, next);
}

static void finish_work(struct tri_database *database);

/* The commit that a session was left with. */
static void execute_message(struct tri_database *database, struct tri_database_session *session)
{
    struct tri_database_message *message = session->message;
    session->message = NULL;
    if (!message->is_at_work) {
        finish_work(database);
    }
    bool is_let = message->entry != NULL ? log_lets(database, &message->log)
                                         : fence_lets(database, &message->fence);
    if (message->is_at_work || is_let) {
        bool is_entry = message->entry != NULL;
        if (message->opening != (is_entry ? database->log_claims : database->openings)) {
            database->news.wrong = "a session of an earlier life has written";
        }
        database->news.late++;
        database->news.is_overtaken = true;
        if (message->entry != NULL) {
            append(database, message->entry);
        } else {
            apply(database, &message->commit);
        }
    } else {
        database->news.refused++;
    }
    free_message(message);
}

/* Who is at work has the row, and all others wait for it. */
static void finish_work(struct tri_database *database)
{
    struct tri_database_session *session = database->sessions;
    for (; session != NULL; session = session->next) {
        bool is_at_work = session->message != NULL && session->message->is_at_work;
        if (is_at_work && database->bug != TRI_DATABASE_FENCES_EARLY) {
            execute_message(database, session);
        }
    }
}

bool tri_database_execute(struct tri_database *database, const struct tri_fence_row *fence,
                          const struct tri_commit *commit)
{
    finish_work(database);
    if (!fence_lets(database, fence)) {
        database->news.refused++;
        return false;
    }
    apply(database, commit);
    return true;
}

void tri_database_send(struct tri_database *database, struct tri_database_session *session,
                       const struct tri_fence_row *fence, const struct tri_commit *commit,
                       bool is_at_work)
{
    finish_work(database);
    struct tri_database_message *message = tri_model_must(calloc(1, sizeof *message));
    *message =
        (struct tri_database_message){.fence = *fence,
                                      .opening = database->openings,
                                      .due_ns = soon(database, database->plan.late_ns_max),
                                      .is_at_work = is_at_work && fence_lets(database, fence)};
    copy_commit(message, commit);
    session->message = message;
}

bool tri_database_append(struct tri_database *database, const struct tri_log_row *fence,
                         struct tri_database_entry *entry)
{
    finish_work(database);
    if (!log_lets(database, fence)) {
        database->news.refused++;
        return false;
    }
    append(database, entry);
    return true;
}

void tri_database_send_entry(struct tri_database *database, struct tri_database_session *session,
                             const struct tri_log_row *fence, struct tri_database_entry *entry,
                             bool is_at_work)
{
    finish_work(database);
    struct tri_database_message *message = tri_model_must(calloc(1, sizeof *message));
    *message = (struct tri_database_message){.log = *fence,
                                             .opening = database->log_claims,
                                             .due_ns = soon(database, database->plan.late_ns_max),
                                             .is_at_work = is_at_work && log_lets(database, fence),
                                             .entry = entry_ref(entry)};
    session->message = message;
}

struct tri_fence_row tri_database_read_row(struct tri_database *database)
{
    finish_work(database);
    database->unreplicated = 0;
    return database->now.row;
}

struct tri_log_row tri_database_read_log(struct tri_database *database)
{
    (void)tri_database_read_row(database);
    return database->now.log;
}

void tri_database_claim_log(struct tri_database *database, uint64_t incarnation, uint64_t applied,
                            bool is_answered)
{
    finish_work(database);
    struct tri_database_state next = share(&database->now);
    next.log.incarnation = incarnation;
    next.log.last_sequence = next.log.last_sequence > applied ? next.log.last_sequence : applied;
    advance(database, next);
    database->log_claims++;
    if (is_answered) {
        tri_database_acknowledge(database);
    }
}

void tri_database_raise(struct tri_database *database, bool is_answered)
{
    finish_work(database);
    struct tri_database_state next = share(&database->now);
    next.row.incarnation += database->bug == TRI_DATABASE_KEEPS_NUMBER ? 0 : 1;
    advance(database, next);
    database->openings++;
    if (is_answered) {
        database->news.is_overtaken = false;
        tri_database_acknowledge(database);
    }
}

void tri_database_acknowledge(struct tri_database *database)
{
    if (database->news.must_say_so) {
        database->news.wrong = "commits were lost, and the host goes on as if they were there";
    }
    database->acknowledged = database->now.row;
    database->acknowledged_log = database->now.log;
    database->unreplicated = 0;
}

/* --- The lock. --- */

static void end_some(struct tri_database *database, uint64_t incarnation, bool is_log,
                     const struct tri_database_session *but)
{
    struct tri_database_session *next = NULL;
    struct tri_database_session *session = database->sessions;
    for (; session != NULL; session = next) {
        next = session->next;
        if (session == but || !session->has_lock || session->incarnation != incarnation ||
            session->is_log != is_log) {
            continue;
        }
        /* Who is at work may be behind the point from which there is no way back. */
        bool is_at_work = session->message != NULL && session->message->is_at_work;
        if (is_at_work && sim_below(&database->chance, 2) == 0) {
            execute_message(database, session);
        }
        end_session(database, session);
    }
}

void tri_database_end_named(struct tri_database *database, uint64_t incarnation,
                            const struct tri_database_session *but)
{
    end_some(database, incarnation, false, but);
}

void tri_database_end_logs(struct tri_database *database, uint64_t incarnation,
                           const struct tri_database_session *but)
{
    end_some(database, incarnation, true, but);
}

int tri_database_lock(struct tri_database *database, struct tri_database_session *session,
                      uint64_t *holder)
{
    struct tri_database_session *next = NULL;
    struct tri_database_session *other = database->sessions;
    for (; other != NULL; other = next) {
        next = other->next;
        if (other == session || !other->has_lock || other->is_log) {
            continue;
        }
        if (!other->is_alone || other->ends_ns > *database->now_ns + LOCK_WAIT_NS) {
            *holder = other->incarnation;
            return TR_STORE_LOCKED;
        }
        if (other->message != NULL) {
            execute_message(database, other);
        }
        end_session(database, other);
    }
    session->has_lock = true;
    return 0;
}

void tri_database_lose_lock(struct tri_database *database)
{
    struct tri_database_session *session = database->sessions;
    for (; session != NULL; session = session->next) {
        session->has_lock = false;
    }
}

/* --- Time and faults. --- */

/* What a session does next, and when: it executes, or ends. UINT64_MAX: nothing by itself. */
static uint64_t due_ns(const struct tri_database_session *session)
{
    if (session->message != NULL) {
        return session->message->due_ns;
    }
    return session->is_alone ? session->ends_ns : UINT64_MAX;
}

void tri_database_turn(struct tri_database *database)
{
    for (;;) {
        struct tri_database_session *first = database->sessions;
        struct tri_database_session *session = first;
        for (; session != NULL; session = session->next) {
            first = due_ns(session) < due_ns(first) ? session : first;
        }
        if (first == NULL || due_ns(first) > *database->now_ns) {
            return;
        }
        if (first->message != NULL) {
            execute_message(database, first);
        } else {
            end_session(database, first);
        }
    }
}

void tri_database_end_session(struct tri_database *database)
{
    struct tri_database_session *session = database->sessions;
    while (session != NULL && session->is_alone) {
        session = session->next;
    }
    if (session != NULL) {
        end_session(database, session);
    }
}

static void be_away(struct tri_database *database)
{
    uint64_t until_ns = soon(database, database->plan.outage_ns_max);
    if (until_ns > database->away_until_ns) {
        database->away_until_ns = until_ns;
    }
}

void tri_database_restart(struct tri_database *database)
{
    database->news.restarts++;
    end_all_sessions(database);
    be_away(database);
}

void tri_database_outage(struct tri_database *database)
{
    database->news.outages++;
    struct tri_database_session *session = database->sessions;
    for (; session != NULL; session = session->next) {
        if (!session->is_alone) {
            tri_database_cut(database, session);
        }
    }
    be_away(database);
}

static void go_back(struct tri_database *database, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        clear_state(&database->now);
        database->now = database->history[0];
        database->history_count--;
        memmove(&database->history[0], &database->history[1],
                database->history_count * sizeof database->history[0]);
    }
}

/* Whether what was acknowledged is not all there. Tables may lack what a log has. */
static bool is_behind(const struct tri_database *database)
{
    const struct tri_database_state *now = &database->now;
    bool has_lost_entries = now->log.last_sequence < database->acknowledged_log.last_sequence ||
                            now->log.incarnation < database->acknowledged_log.incarnation;
    bool has_lost_commits = now->row.commits < database->acknowledged.commits;
    return now->row.incarnation < database->acknowledged.incarnation ||
           (database->has_log ? has_lost_entries : has_lost_commits);
}

void tri_database_fail_over(struct tri_database *database)
{
    bool is_asynchronous = database->plan.standby == TRI_STANDBY_ASYNCHRONOUS;
    size_t most = is_asynchronous ? LAG_MAX : database->unreplicated;
    most = most < database->history_count ? most : database->history_count;
    database->news.fail_overs++;
    end_all_sessions(database);
    be_away(database);
    go_back(database, (size_t)sim_below(&database->chance, most + 1));
    database->unreplicated = 0;
    if (!is_behind(database)) {
        database->news.may_say_so = database->stores > 0;
        return;
    }
    TR_ASSERT(is_asynchronous);
    database->news.losses++;
    database->news.has_lost = true;
    database->news.must_say_so = database->stores > 0;
    database->acknowledged = database->now.row;
    database->acknowledged_log = database->now.log;
}

void tri_database_forgive(struct tri_database *database)
{
    database->news.has_lost = false;
}

void tri_database_fill(struct tri_database *database, unsigned commits)
{
    database->full_commits = commits;
}

void tri_database_calm(struct tri_database *database)
{
    database->is_calm = true;
    database->full_commits = 0;
}

void tri_database_inject(struct tri_database *database, enum tri_database_bug bug)
{
    database->bug = bug;
}

const struct tri_database_news *tri_database_news(const struct tri_database *database)
{
    return &database->news;
}

const struct tri_model_version *tri_database_contents(const struct tri_database *database)
{
    return &database->now.version;
}

/* --- Beginning and end. --- */

struct tri_database *tri_database_new(const struct tri_database_plan *plan, uint64_t seed,
                                      const uint64_t *now_ns)
{
    struct tri_database *database = tri_model_must(calloc(1, sizeof *database));
    database->plan = *plan;
    database->chance = sim_random_of(seed, 3);
    database->now_ns = now_ns;
    return database;
}

void tri_database_free(struct tri_database *database)
{
    if (database == NULL) {
        return;
    }
    TR_ASSERT(database->stores == 0);
    end_all_sessions(database);
    go_back(database, database->history_count);
    clear_state(&database->now);
    free(database);
}
