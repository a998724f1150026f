/*
 * The store on the modelled server. It takes the steps of runtime/postgres/postgres_commit.c and
 * runtime/postgres/postgres_claim.c in their order, and what they decide by the host's row is
 * decided by the same functions; only the server is another one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/database_internal.h"

#define PLACE "the modelled database"

struct database_store {
    struct tri_store store;
    struct tri_fence fence;
    struct tri_database *database;
    uint64_t session; /* 0: the connection was lost */
    uint64_t life;
    bool read_only;
    int broken;
    struct tri_fence_row astray; /* what an injected bug makes the fence ask for in addition */
    const struct tr_schema *const *records;
    size_t record_count;
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static struct database_store *database_store_of(struct tri_store *store)
{
    return (struct database_store *)store;
}

/* After these errors nothing may be written any more. */
static int judge(struct database_store *self, int error)
{
    if (error == TR_STORE_FAILED || error == TR_STORE_DAMAGED || error == TR_FENCED) {
        self->broken = error;
    }
    return error;
}

static int lost(struct database_store *self)
{
    self->session = 0;
    return tri_model_say(self->words, TR_BUSY,
                         "the connection to " PLACE " was lost; trying again");
}

static int unreachable(struct database_store *self)
{
    return tri_model_say(self->words, TR_STORE_FAILED,
                         PLACE " cannot be opened: check that the server runs there and accepts "
                               "connections");
}

static bool is_dead(const struct database_store *self)
{
    return self->life != self->database->life;
}

static int dead(struct database_store *self)
{
    return tri_model_say(self->words, TR_STORE_FAILED, "model: this process has ended");
}

/* Tables behind a log may get what that has lost: saying so is the matter of the log. */
static void acknowledge(const struct database_store *self)
{
    if (!self->database->has_log || !self->database->news.must_say_so) {
        tri_database_acknowledge(self->database);
    }
}

/* --- Reconnecting: tri_postgres_resume. --- */

/* What a client with an injected bug makes of the row; what its fence has to say, as it is. */
static struct tri_fence_row look(struct database_store *self, struct tri_fence_row row)
{
    enum tri_database_bug bug = self->database->bug;
    struct tri_fence_row seen = row;
    seen.incarnation -= self->astray.incarnation;
    seen.commits -= self->astray.commits;
    enum tri_fence_finding finding = tri_fence_find(&self->fence, &self->store, &seen);
    if ((bug == TRI_DATABASE_HIDES_LOSS && finding == TRI_FENCE_LOST) ||
        (bug == TRI_DATABASE_TAKES_FOR_FAILED && finding == TRI_FENCE_IS_IN)) {
        seen = (struct tri_fence_row){self->store.incarnation, self->store.last_number,
                                      self->fence.commits};
    } else if (bug == TRI_DATABASE_TAKES_FOR_DONE && finding == TRI_FENCE_AS_LEFT &&
               self->fence.is_in_doubt) {
        seen.last_number = self->fence.doubt_number;
        seen.commits++;
    }
    self->astray.incarnation = row.incarnation - seen.incarnation;
    self->astray.commits = row.commits - seen.commits;
    return seen;
}

static int claim_again(struct database_store *self, struct tri_database_session *session)
{
    struct tri_database *database = self->database;
    uint64_t holder = 0;
    tri_database_end_named(database, self->store.incarnation, session);
    session->incarnation = self->store.incarnation;
    if (tri_database_lock(database, session, &holder) != 0) {
        bool is_ours = holder == self->store.incarnation;
        return tri_model_say(self->words, is_ours ? TR_BUSY : TR_FENCED,
                             PLACE ": another engine uses it: incarnation %llu",
                             (unsigned long long)holder);
    }
    struct tri_fence_row row = tri_database_read_row(database);
    if (tri_database_chance(database, database->plan.cut)) {
        tri_database_cut(database, session);
        return lost(self);
    }
    row = look(self, row);
    bool was_in_doubt = self->fence.is_in_doubt;
    int error = tri_fence_settle(&self->fence, &self->store, &row);
    if (error != 0) {
        tri_fence_explain(&self->fence, &self->store, &row, PLACE, self->words);
        return error;
    }
    database->news.settled += was_in_doubt && self->fence.is_settled;
    acknowledge(self);
    return 0;
}

static int reconnect(struct database_store *self)
{
    struct tri_database_session *session = tri_database_connect(self->database);
    if (session == NULL) {
        (void)unreachable(self);
        return TR_BUSY; /* it could be reached before */
    }
    int error = claim_again(self, session);
    if (error == 0) {
        self->session = session->number;
    } else if (!session->is_alone) {
        tri_database_disconnect(self->database, session);
    }
    return judge(self, error);
}

static int resume(struct database_store *self)
{
    if (self->session != 0 || self->broken != 0) {
        return self->broken;
    }
    return reconnect(self);
}

/* --- Commits: tri_postgres_commit. --- */

static int check_commit(struct database_store *self, const struct tri_commit *commit)
{
    if (self->broken != 0) {
        return self->broken;
    }
    if (is_dead(self)) {
        return dead(self);
    }
    if (self->read_only || commit->last_number < self->store.last_number) {
        return tri_model_say(self->words, TR_INVALID,
                             PLACE ": a reader does not commit, and numbers do not go back");
    }
    return 0;
}

/* The fence has refused the commit: the error and its words follow from the row. */
static int explain_fence(struct database_store *self)
{
    struct tri_fence_row row = tri_database_read_row(self->database);
    row = look(self, row);
    tri_fence_explain(&self->fence, &self->store, &row, PLACE, self->words);
    int error = tri_fence_error(tri_fence_find(&self->fence, &self->store, &row));
    return error != 0 ? error : TR_FENCED;
}

/* How far a commit has got when nobody hears of it any more. */
static void leave_underway(struct database_store *self, struct tri_database_session *session,
                           const struct tri_fence_row *fence, const struct tri_commit *commit)
{
    struct tri_database *database = self->database;
    switch (sim_below(&database->chance, 4)) {
    case 0: /* it does not arrive */
        break;
    case 1: /* it is executed, and nobody hears of it */
        (void)tri_database_execute(database, fence, commit);
        break;
    case 2: /* it lies there unread */
        tri_database_send(database, session, fence, commit, false);
        break;
    default:
        tri_database_send(database, session, fence, commit, true);
        break;
    }
}

static int write_commit(struct database_store *self, struct tri_database_session *session,
                        const struct tri_fence_row *fence, const struct tri_commit *commit)
{
    struct tri_database *database = self->database;
    if (tri_database_chance(database, database->plan.die)) {
        leave_underway(self, session, fence, commit);
        database->news.has_died = true;
        return tri_model_say(self->words, TR_STORE_FAILED, "model: the process ends here");
    }
    if (tri_database_chance(database, database->plan.cut)) {
        database->news.cuts++;
        leave_underway(self, session, fence, commit);
        tri_database_cut(database, session);
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
    return tri_database_execute(database, fence, commit) ? 0 : TR_FENCED;
}

static int transact(struct database_store *self, const struct tri_commit *commit)
{
    struct tri_database *database = self->database;
    struct tri_fence_row fence = {.incarnation = self->store.incarnation + self->astray.incarnation,
                                  .commits = self->fence.commits + self->astray.commits,
                                  .last_number = commit->last_number};
    struct tri_database_session *session = tri_database_session(database, self->session);
    return session != NULL ? write_commit(self, session, &fence, commit) : lost(self);
}

static int admit(struct database_store *self, const struct tri_commit *commit, bool *is_in)
{
    int error = tri_fence_admit(&self->fence, &self->store, commit->last_number, is_in);
    return error == 0
               ? 0
               : tri_model_say(self->words, error, PLACE ": another commit had an unknown outcome");
}

static int database_commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct database_store *self = database_store_of(store);
    bool is_in = false;
    int error = check_commit(self, commit);
    if (error == 0) {
        error = resume(self);
    }
    if (error == 0) {
        error = admit(self, commit, &is_in);
    }
    if (error == 0 && is_in) {
        return 0;
    }
    if (error == 0) {
        error = tri_model_check_ops(self->records, self->record_count, commit, self->words);
    }
    if (error != 0) {
        return judge(self, error);
    }
    error = transact(self, commit);
    if (error == 0) {
        tri_fence_acknowledge(&self->fence, store, commit->last_number);
        self->database->news.is_overtaken = false;
        acknowledge(self);
        return 0;
    }
    if (self->session == 0) {
        tri_fence_doubt(&self->fence, commit->last_number);
    }
    if (error == TR_FENCED) {
        error = explain_fence(self);
    }
    return judge(self, error);
}

/* --- Reading. --- */

/* Before each reading: the server is there, and so is our session. */
static int reach(struct database_store *self)
{
    struct tri_database *database = self->database;
    if (is_dead(self)) {
        return dead(self);
    }
    if (self->read_only) {
        tri_database_turn(database);
        return tri_database_is_there(database) ? 0 : unreachable(self);
    }
    int error = resume(self);
    if (error != 0) {
        return error;
    }
    return tri_database_session(database, self->session) != NULL ? 0 : lost(self);
}

static int database_load(struct tri_store *store, struct tri_group_range range,
                         const struct tri_store_visitor *visitor)
{
    struct database_store *self = database_store_of(store);
    int error = reach(self);
    if (error != 0) {
        return error;
    }
    struct tri_model_version version = tri_model_version_share(&self->database->now.version);
    if (self->read_only) {
        store->incarnation = self->database->now.row.incarnation;
        store->last_number = self->database->now.row.last_number;
    }
    error = tri_model_version_tell(&version, range, visitor, self->words);
    tri_model_version_clear(&version);
    return error;
}

static int read_row(struct tri_store *store, enum tri_model_class class,
                    const struct tri_op *wanted, void *buffer, size_t capacity, size_t *size)
{
    struct database_store *self = database_store_of(store);
    int error = reach(self);
    return error != 0 ? error
                      : tri_model_version_read(&self->database->now.version, class, wanted, buffer,
                                               capacity, size, self->words);
}

static int database_read_page(struct tri_store *store, struct tr_key key, uint64_t number,
                              void *buffer, size_t capacity, size_t *size)
{
    struct tri_op wanted = {.key = key, .number = number};
    return read_row(store, TRI_MODEL_PAGES, &wanted, buffer, capacity, size);
}

static int database_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                              size_t *size)
{
    struct tri_op wanted = {.number = cell};
    return read_row(store, TRI_MODEL_META, &wanted, buffer, capacity, size);
}

static int database_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                               size_t *size)
{
    struct database_store *self = database_store_of(store);
    int error = reach(self);
    return error != 0 ? error
                      : tri_model_version_read_graph(&self->database->now.version, hash, data, size,
                                                     self->words);
}

static int database_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                                int (*each)(void *self, const struct tri_graph_entry *graph),
                                void *target)
{
    struct database_store *self = database_store_of(store);
    int error = reach(self);
    return error != 0 ? error
                      : tri_model_version_list_graphs(&self->database->now.version, after, limit,
                                                      each, target);
}

static int database_list_crashes(struct tri_store *store,
                                 int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct database_store *self = database_store_of(store);
    int error = reach(self);
    return error != 0 ? error
                      : tri_model_version_list_crashes(&self->database->now.version, each, target);
}

static int database_maintain(struct tri_store *store)
{
    return database_store_of(store)->broken;
}

static void database_release_memory(struct tri_store *store)
{
    (void)store; /* its memory is the store itself */
}

static const char *database_explain(struct tri_store *store)
{
    return database_store_of(store)->words;
}

static void database_close(struct tri_store *store)
{
    struct database_store *self = database_store_of(store);
    struct tri_database_session *session = tri_database_session(self->database, self->session);
    if (session != NULL && !is_dead(self)) {
        tri_database_disconnect(self->database, session);
    }
    if (!self->read_only) {
        self->database->news.must_say_so = false; /* it has nobody to say it any more */
        self->database->news.may_say_so = false;
    }
    self->database->stores--;
    free(self);
}

static const struct tri_store_ops database_ops = {
    .name = "database",
    .commit = database_commit,
    .load = database_load,
    .read_page = database_read_page,
    .read_meta = database_read_meta,
    .read_graph = database_read_graph,
    .list_graphs = database_list_graphs,
    .list_crashes = database_list_crashes,
    .maintain = database_maintain,
    .release_memory = database_release_memory,
    .explain = database_explain,
    .close = database_close,
};

/* --- Opening: tri_postgres_open. --- */

static int open_reader(struct database_store *self, const struct tri_store_options *options)
{
    struct tri_database *database = self->database;
    tri_database_turn(database);
    if (!tri_database_is_there(database)) {
        return unreachable(self);
    }
    if (database->now.row.incarnation == 0) {
        return tri_model_say(self->words, TR_NOT_FOUND, PLACE ": there is no store yet");
    }
    self->store.incarnation = database->now.row.incarnation;
    self->store.last_number = database->now.row.last_number;
    return tri_model_records_check(&database->records, options, self->words);
}

/* One transaction, whose answer may be lost. */
static int take_over(struct database_store *self, struct tri_database_session *session,
                     const struct tri_store_options *options)
{
    struct tri_database *database = self->database;
    struct tri_fence_row row = tri_database_read_row(database);
    int error = tri_model_records_check(&database->records, options, self->words);
    if (error != 0) {
        return error;
    }
    bool is_cut = tri_database_chance(database, database->plan.cut);
    if (!is_cut || sim_below(&database->chance, 2) == 0) {
        tri_database_raise(database, !is_cut);
        tri_model_records_note(&database->records, options);
    }
    if (is_cut) {
        tri_database_cut(database, session);
        return lost(self);
    }
    tri_fence_take(&self->fence, &self->store, &row, row.incarnation + 1);
    self->store.incarnation = database->now.row.incarnation; /* as an injected bug has left it */
    session->incarnation = self->store.incarnation;
    return 0;
}

static int open_writer(struct database_store *self, const struct tri_store_options *options)
{
    struct tri_database *database = self->database;
    uint64_t holder = 0;
    struct tri_database_session *session = tri_database_connect(database);
    if (session == NULL) {
        return unreachable(self);
    }
    int error = tri_database_lock(database, session, &holder);
    if (error != 0) {
        (void)tri_model_say(self->words, error, PLACE ": another engine uses it: incarnation %llu",
                            (unsigned long long)holder);
    }
    if (error == 0) {
        error = take_over(self, session, options);
    }
    if (error == 0) {
        self->session = session->number;
    } else if (!session->is_alone) {
        tri_database_disconnect(database, session);
    }
    return error;
}

int tri_database_open(struct tri_database *database, const struct tri_store_options *options,
                      char *explain, struct tri_store **store)
{
    struct database_store *self = tri_model_must(calloc(1, sizeof *self));
    self->store.ops = &database_ops;
    self->database = database;
    self->life = database->life;
    self->read_only = options->read_only;
    self->records = options->records;
    self->record_count = options->record_count;
    int error = tri_model_say(self->words, 0, "no error so far");
    if (options->durability == TR_DURABILITY_NONE) {
        error = tri_model_say(self->words, TR_INVALID, PLACE ": a store keeps something");
    } else {
        error = options->read_only ? open_reader(self, options) : open_writer(self, options);
    }
    if (error != 0) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
        }
        free(self);
        return error;
    }
    database->stores++;
    struct tri_store *opened = &self->store;
    if (!options->read_only) {
        error = tri_database_log_open(database, &self->store, self->life, options->log,
                                      explain != NULL ? explain : self->words, &opened);
    }
    if (error != 0) {
        tri_store_close(&self->store);
        return error;
    }
    *store = opened;
    return 0;
}
