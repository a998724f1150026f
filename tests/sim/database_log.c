/*
 * The commit log on the modelled server. It takes the steps of runtime/postgres/postgres_log.c in
 * their order, and what they decide by the log's row is decided by the same functions.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/memory.h"
#include "tests/sim/database_internal.h"

#define PLACE "the modelled database"

struct database_log {
    struct tri_commit_log log;
    struct tri_database *database;
    uint64_t session; /* 0: the connection was lost */
    uint64_t life;
    struct tri_log_row known; /* its incarnation, and the last entry that is in */
    bool is_in_doubt;         /* the next one may be, too */
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static struct database_log *of(struct tri_commit_log *log)
{
    return (struct database_log *)log;
}

static int lost(struct database_log *self)
{
    self->session = 0;
    return tri_model_say(self->words, TR_BUSY,
                         "the connection to " PLACE " was lost; trying again");
}

/* --- The row. --- */

/* What a client with an injected bug makes of the row. */
static enum tri_fence_finding find(const struct database_log *self, const struct tri_log_row *row)
{
    enum tri_database_bug bug = self->database->bug;
    enum tri_fence_finding finding = tri_fence_find_entry(&self->known, self->is_in_doubt, row);
    if ((bug == TRI_DATABASE_HIDES_LOSS && finding == TRI_FENCE_LOST) ||
        (bug == TRI_DATABASE_TAKES_FOR_FAILED && finding == TRI_FENCE_IS_IN)) {
        return TRI_FENCE_AS_LEFT;
    }
    bool takes_for_done = bug == TRI_DATABASE_TAKES_FOR_DONE && self->is_in_doubt;
    return takes_for_done && finding == TRI_FENCE_AS_LEFT ? TRI_FENCE_IS_IN : finding;
}

static int settle(struct database_log *self, bool *is_in)
{
    struct tri_log_row row = tri_database_read_log(self->database);
    enum tri_fence_finding finding = find(self, &row);
    int error = tri_fence_error(finding);
    if (error != 0) {
        const char *words =
            error == TR_FENCED ? "another engine has opened it" : "has lost commits";
        return tri_model_say(self->words, error, PLACE ": %s (entry %llu of the log, ours is %llu)",
                             words, (unsigned long long)row.last_sequence,
                             (unsigned long long)self->known.last_sequence);
    }
    *is_in = finding == TRI_FENCE_IS_IN;
    self->database->news.settled += *is_in;
    self->is_in_doubt = false;
    return 0;
}

static int connect_again(struct database_log *self, bool *is_in)
{
    struct tri_database *database = self->database;
    struct tri_database_session *session = tri_database_connect(database);
    if (session == NULL) {
        return tri_model_say(self->words, TR_BUSY, PLACE " cannot be reached");
    }
    tri_database_end_logs(database, self->known.incarnation, session);
    session->is_log = true;
    session->has_lock = true;
    session->incarnation = self->known.incarnation;
    if (tri_database_chance(database, database->plan.cut)) {
        tri_database_cut(database, session);
        return lost(self);
    }
    int error = settle(self, is_in);
    if (error != 0) {
        tri_database_disconnect(database, session);
        return error;
    }
    self->session = session->number;
    tri_database_acknowledge(database);
    return 0;
}

static bool is_dead(const struct database_log *self)
{
    return self->life != self->database->life;
}

static int resume(struct database_log *self, bool *is_in)
{
    if (is_dead(self)) {
        return tri_model_say(self->words, TR_STORE_FAILED, "model: this process has ended");
    }
    return self->session != 0 ? 0 : connect_again(self, is_in);
}

/* --- Appending. --- */

/* How far an append has got when nobody hears of it any more. */
static void leave_underway(struct database_log *self, struct tri_database_session *session,
                           struct tri_database_entry *entry)
{
    struct tri_database *database = self->database;
    uint64_t fate = sim_below(&database->chance, 4);
    if (fate == 1) { /* it is executed, and nobody hears of it */
        (void)tri_database_append(database, &self->known, entry);
    } else if (fate > 1) { /* it lies there unread, or is at work */
        tri_database_send_entry(database, session, &self->known, entry, fate == 3);
    }
}

static int insert(struct database_log *self, struct tri_database_session *session,
                  struct tri_database_entry *entry, bool *is_written)
{
    struct tri_database *database = self->database;
    if (tri_database_chance(database, database->plan.die)) {
        leave_underway(self, session, entry);
        database->news.has_died = true;
        return tri_model_say(self->words, TR_STORE_FAILED, "model: the process ends here");
    }
    if (tri_database_chance(database, database->plan.cut)) {
        database->news.cuts++;
        leave_underway(self, session, entry);
        tri_database_cut(database, session);
        self->is_in_doubt = true;
        return lost(self);
    }
    if (database->full_commits > 0) {
        database->full_commits--;
        return tri_model_say(self->words, TR_STORE_FULL,
                             PLACE ": no space left; free space on the database server's disk");
    }
    if (tri_database_chance(database, database->plan.busy)) {
        return tri_model_say(self->words, TR_BUSY, PLACE ": it was cancelled; it is retried");
    }
    *is_written = tri_database_append(database, &self->known, entry);
    return 0;
}

static int send(struct database_log *self, struct tr_bytes entry, uint64_t sequence,
                bool *is_written)
{
    struct tri_database_session *session = tri_database_session(self->database, self->session);
    if (session == NULL) {
        return lost(self);
    }
    struct tri_database_entry *made = tri_database_entry_new(entry, sequence);
    int error = insert(self, session, made, is_written);
    tri_database_entry_unref(made);
    return error;
}

static int append(struct tri_commit_log *log, struct tr_bytes entry,
                  const struct tri_commit_entry_head *head)
{
    struct database_log *self = of(log);
    bool is_in = false;
    int error = resume(self, &is_in);
    if (error == 0 && !is_in) {
        error = send(self, tri_commit_entry_trimmed(entry, head), head->sequence, &is_in);
    }
    if (error == 0 && !is_in) {
        error = settle(self, &is_in);
        error = error != 0 ? error : TR_FENCED;
    }
    if (error == 0) {
        self->known.last_sequence = head->sequence;
        self->database->news.is_overtaken = false;
        tri_database_acknowledge(self->database);
    }
    return error;
}

static void release(struct tri_commit_log *log, uint64_t sequence)
{
    (void)log;
    (void)sequence;
}

static void tell(struct tri_commit_log *log, int error)
{
    (void)log;
    (void)error;
}

/* --- Reading. --- */

/* The entry of a sequence, or NULL. */
static const struct tri_database_entry *entry_of(const struct tri_database *database,
                                                 uint64_t sequence)
{
    const struct tri_database_entry *entry = database->now.entries;
    while (entry != NULL && entry->sequence != sequence) {
        entry = entry->before;
    }
    return entry;
}

static int show(struct database_log *self, uint64_t sequence,
                int (*each)(void *self, struct tr_bytes entry), void *target)
{
    const struct tri_database_entry *stored = entry_of(self->database, sequence);
    struct tri_commit_entry_head head = {0};
    uint8_t *bytes = NULL;
    struct tr_bytes trimmed = {.data = stored != NULL ? stored->bytes : NULL,
                               .size = stored != NULL ? stored->size : 0};
    int error = tri_commit_entry_restore(trimmed, &head, &bytes);
    if (error != 0) {
        return tri_model_say(self->words, error == TR_MEMORY ? error : TR_STORE_DAMAGED,
                             PLACE ": entry %llu of the log is missing",
                             (unsigned long long)sequence);
    }
    error = each(target, (struct tr_bytes){.data = bytes, .size = tri_commit_entry_bytes(&head)});
    tr_free(bytes);
    return error;
}

static int read_log(struct tri_commit_log *log, uint64_t sequence,
                    int (*each)(void *self, struct tr_bytes entry), void *target)
{
    struct database_log *self = of(log);
    int error = 0;
    while (error == 0 && sequence < self->known.last_sequence) {
        error = show(self, ++sequence, each, target);
    }
    return error;
}

/* --- Opening and closing. --- */

static int descriptor(struct tri_commit_log *log)
{
    (void)log;
    return -1;
}

static void drain(struct tri_commit_log *log)
{
    (void)log;
}

static const char *explain_log(struct tri_commit_log *log)
{
    return of(log)->words;
}

static void close_log(struct tri_commit_log *log, bool is_applied)
{
    struct database_log *self = of(log);
    struct tri_database_session *session = tri_database_session(self->database, self->session);
    (void)is_applied;
    if (session != NULL && !is_dead(self)) {
        tri_database_disconnect(self->database, session);
    }
    free(self);
}

static const struct tri_commit_log_ops log_ops = {
    .append = append,
    .read = read_log,
    .release = release,
    .tell = tell,
    .descriptor = descriptor,
    .drain = drain,
    .explain = explain_log,
    .close = close_log,
};

/* One statement, whose answer may be lost, and then the start is tried again. */
static int claim(struct database_log *self, uint64_t applied)
{
    struct tri_database *database = self->database;
    bool is_cut = tri_database_chance(database, database->plan.cut);
    if (!is_cut || sim_below(&database->chance, 2) == 0) {
        tri_database_claim_log(database, self->known.incarnation, applied, !is_cut);
    }
    self->known.last_sequence = tri_database_read_log(database).last_sequence;
    return is_cut ? lost(self) : 0;
}

int tri_database_log_open(struct tri_database *database, struct tri_store *store, uint64_t life,
                          const struct tri_commit_log_limits *limits, char *words,
                          struct tri_store **opened)
{
    struct database_log *self = tri_model_must(calloc(1, sizeof *self));
    self->log.ops = &log_ops;
    self->log.path = PLACE;
    self->log.is_synced = true;
    self->database = database;
    self->life = life;
    self->known.incarnation = store->incarnation;
    struct tri_commit_log_mark mark;
    int error = tri_commit_log_begin(store, 1, &mark);
    if (error != 0) {
        (void)snprintf(self->words, sizeof self->words, "%s", tri_store_explain(store));
    } else {
        error = claim(self, mark.sequence);
    }
    if (error != 0) {
        (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
    }
    if (error == 0) {
        error = tri_commit_log_recover(store, &self->log, words);
    }
    bool is_wanted = error == 0 && limits != NULL;
    database->has_log = is_wanted;
    if (is_wanted) {
        error = tri_commit_log_store(store, &self->log, limits, 1, words, opened);
    }
    if (error != 0 || !is_wanted) {
        close_log(&self->log, false);
    }
    return error;
}
