/*
 * The commit log in the database: an entry is a row of the table commit_entries.
 *
 * An append is one statement on a connection of its own, so it waits for no other, and one sync of
 * the server's. The row of commit_log is the fence: it has the incarnation of who may append and
 * the sequence of the last entry, and an append changes it only if both are what they were. Hence:
 *   - An entry follows the one before, or is not written: there is no gap, and none twice, even if
 *     a statement arrives late.
 *   - Whoever opens the store for writing first puts its incarnation there, which waits for an
 *     append that is under way, and then reads the entries: it sees all that were acknowledged.
 *   - If the connection is lost within an append, its session is ended first, and the row says
 *     afterwards whether the entry is in. It is read FOR UPDATE, for the reason that
 *     postgres_claim.c has.
 *
 * The commit that applies entries deletes them (postgres_commit.c), so what is here is exactly what
 * the tables do not have. After it the tables' mark and the row have the same sequence.
 */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "runtime/commits/commit_log.h"
#include "runtime/journal/store_ask.h"
#include "runtime/journal/store_folder.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres.h"
#include "runtime/postgres/postgres_compress.h"
#include "runtime/postgres/postgres_internal.h"

/* Entries that a start reads at once; each has at most some megabytes. */
#define ENTRIES_AT_ONCE "16"

/* How often a reader looks whether the tables have what he waits for. */
#define LOOK_MS 2

/*
 * What counts for a look whose folder is locked: by an engine that has just come, or by one that
 * lost its server and has nothing to write, so that nothing will change.
 */
#define LOCKED_LOOK_MS 500

static const char claim_log[] =
    "UPDATE commit_log SET incarnation = $1, last_sequence = greatest(last_sequence, $2)"
    " WHERE host = $3::bigint AND incarnation <= $1 RETURNING last_sequence";
static const char read_log_row[] =
    "SELECT incarnation, last_sequence FROM commit_log WHERE host = $1::bigint FOR UPDATE";
static const char read_entries[] =
    "SELECT sequence, data FROM commit_entries WHERE sequence > $1::bigint AND host = $2::bigint"
    " ORDER BY sequence LIMIT " ENTRIES_AT_ONCE;
static const char read_hosts[] = "SELECT host FROM commit_log l WHERE host = $1::bigint"
                                 " OR NOT EXISTS (SELECT FROM partitions p WHERE p.host = l.host)"
                                 " ORDER BY host = $1::bigint, host";
static const char read_ahead[] = "SELECT l.last_sequence, m.data FROM commit_log l LEFT JOIN meta m"
                                 " ON m.cell = ($1::bigint | (l.host << 32))";
static const char read_left[] =
    "SELECT l.last_sequence, m.data FROM commit_log l LEFT JOIN meta m"
    " ON m.cell = ($1::bigint | (l.host << 32)) WHERE l.host = $2::bigint"
    " AND NOT EXISTS (SELECT FROM partitions p WHERE p.host = l.host)";
static const char read_earlier_ahead[] =
    "SELECT l.last_sequence, m.data FROM commit_log l LEFT JOIN meta m ON m.cell = $1::bigint";

struct postgres_log {
    struct tri_commit_log log;
    struct tri_postgres *session; /* the store's own while it is opened, then one more */
    bool owns_session;
    uint64_t host; /* whose log it is */
    uint64_t incarnation;
    uint64_t sequence; /* of the last entry that is in */
    bool is_in_doubt;  /* the next one may be, too */
    struct tri_postgres_compressor compressor;
    struct tri_store_ask ask;
};

static struct postgres_log *of(struct tri_commit_log *log)
{
    return (struct postgres_log *)log;
}

/* ---- The row. -------------------------------------------------------------------------------- */

/* The row says that somebody else writes, or that the database has lost entries. */
static int explain_finding(struct postgres_log *self, enum tri_fence_finding finding,
                           const struct tri_log_row *row)
{
    struct tri_postgres *session = self->session;
    if (finding == TRI_FENCE_LOST) {
        return tri_postgres_report(
            session, TR_STORE_FAILED,
            "%s holds %llu commits of the log of this store, where %llu were acknowledged: the "
            "database has lost commits, because it was restored, or a standby took over that had "
            "not got all; start again from what there is",
            session->place, (unsigned long long)row->last_sequence,
            (unsigned long long)self->sequence);
    }
    (void)tri_postgres_report(session, TR_FENCED,
                              "%s: another engine has opened it (incarnation %llu, ours is %llu); "
                              "this one must end",
                              session->place, (unsigned long long)row->incarnation,
                              (unsigned long long)self->incarnation);
    return tri_postgres_say_fenced(session);
}

static int read_row(struct postgres_log *self, struct tri_log_row *row)
{
    struct tri_postgres *session = self->session;
    PGresult *result = NULL;
    char host[24];
    const char *parameters[] = {host};
    (void)snprintf(host, sizeof host, "%llu", (unsigned long long)self->host);
    int error = tri_postgres_query(session, read_log_row, 1, parameters, 1,
                                   "reading the row of the log", &result);
    if (error != 0) {
        return error;
    }
    bool is_there = session->library->ntuples(result) == 1;
    if (is_there) {
        row->incarnation = tri_postgres_number(session, result, 0, 0);
        row->last_sequence = tri_postgres_number(session, result, 0, 1);
    }
    session->library->clear(result);
    return is_there ? 0 : tri_postgres_damaged(session, "the row of the log is missing");
}

/* What the row says now; `is_in`: the entry in doubt is there. */
static int settle(struct postgres_log *self, bool *is_in)
{
    struct tri_log_row row = {0};
    int error = read_row(self, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_log_row ours = {self->incarnation, self->sequence};
    enum tri_fence_finding finding = tri_fence_find_entry(&ours, self->is_in_doubt, &row);
    if (tri_fence_error(finding) != 0) {
        return explain_finding(self, finding, &row);
    }
    *is_in = finding == TRI_FENCE_IS_IN;
    self->is_in_doubt = false;
    return 0;
}

/* Before each append: makes a lost connection again. A server that is away is waited for. */
static int resume(struct postgres_log *self, bool *is_in)
{
    if (self->session->connection != NULL) {
        return 0;
    }
    int error = tri_postgres_connect(self->session);
    if (error == TR_STORE_FAILED) {
        error = TR_BUSY; /* it could be reached before */
    } else if (error == 0) {
        error = tri_postgres_replace_session(self->session);
        error = error == TR_STORE_LOCKED ? TR_BUSY : error; /* an earlier session, still ending */
    }
    if (error == 0) {
        error = settle(self, is_in);
    }
    if (error != 0) {
        tri_postgres_disconnect(self->session);
    }
    return error;
}

/* ---- Appending. ------------------------------------------------------------------------------ */

/* Sends the entry; `is_written` is false if the row is not as it was left. */
static int insert(struct postgres_log *self, struct tr_bytes entry, uint64_t sequence,
                  bool *is_written)
{
    struct tri_postgres *session = self->session;
    const struct tri_postgres_statement *statement = tri_postgres_statement(TRI_PG_APPEND_ENTRY);
    uint64_t numbers[] = {htobe64(self->incarnation), htobe64(sequence), htobe64(self->host)};
    const char *values[] = {(const char *)&numbers[0], (const char *)&numbers[1],
                            (const char *)entry.data, (const char *)&numbers[2]};
    const int sizes[] = {sizeof numbers[0], sizeof numbers[1], (int)entry.size, sizeof numbers[2]};
    static const int formats[] = {1, 1, 1, 1};
    const struct tri_postgres_parameters parameters = {
        .count = 4, .values = values, .sizes = sizes, .formats = formats};
    PGresult *result = NULL;
    int error = 0;
    if (!session->prepared[TRI_PG_APPEND_ENTRY]) {
        static const struct tri_postgres_parameters none = {0};
        error = tri_postgres_prepare(session, statement->name, statement->sql, &none);
        session->prepared[TRI_PG_APPEND_ENTRY] = error == 0;
    }
    if (error == 0) {
        error = tri_postgres_run_prepared(session, statement->name, &parameters,
                                          "appending to the log", &result);
        self->is_in_doubt = session->connection == NULL;
    }
    if (error == 0) {
        *is_written = session->library->ntuples(result) == 1;
        session->library->clear(result);
    }
    return error;
}

static int append(struct tri_commit_log *log, struct tr_bytes entry,
                  const struct tri_commit_entry_head *head)
{
    struct postgres_log *self = of(log);
    struct tr_bytes compressed = {.size = 0};
    bool is_in = false;
    int error = tri_postgres_compress(&self->compressor, tri_commit_entry_trimmed(entry, head),
                                      &compressed);
    if (error != 0) {
        return tri_postgres_report(self->session, error, "%s", tr_error_text(error));
    }
    error = resume(self, &is_in);
    if (error == 0 && !is_in) {
        error = insert(self, compressed, head->sequence, &is_in);
    }
    if (error == 0 && !is_in) {
        error = settle(self, &is_in); /* for the words */
        error = error != 0 ? error : TR_FENCED;
    }
    if (error == 0) {
        self->sequence = head->sequence;
    }
    return error;
}

/* The commit that has them in the tables has deleted them. */
static void release(struct tri_commit_log *log, uint64_t sequence)
{
    (void)log;
    (void)sequence;
}

/* Readers may be on other machines: they see by themselves that nothing goes on. */
static void tell(struct tri_commit_log *log, int error)
{
    (void)log;
    (void)error;
}

/* ---- Reading. -------------------------------------------------------------------------------- */

static int damaged(struct postgres_log *self, uint64_t sequence, const char *what)
{
    char words[96];
    (void)snprintf(words, sizeof words, "entry %llu of the log is %s", (unsigned long long)sequence,
                   what);
    return tri_postgres_damaged(self->session, words);
}

static int show_entry(struct postgres_log *self, struct tr_bytes stored, uint64_t sequence,
                      int (*each)(void *self, struct tr_bytes entry), void *target)
{
    struct tri_commit_entry_head head = {0};
    uint8_t *bytes = NULL;
    int error = tri_postgres_restore_entry(stored, &head, &bytes);
    if (error == TR_MEMORY) {
        return tri_postgres_report(self->session, error, "%s", tr_error_text(error));
    }
    if (error != 0 || head.sequence != sequence) {
        tr_free(bytes);
        return damaged(self, sequence, "damaged");
    }
    error = each(target, (struct tr_bytes){.data = bytes, .size = tri_commit_entry_bytes(&head)});
    tr_free(bytes);
    return error;
}

/* Some entries behind `*sequence`, which becomes that of the last one shown. */
static int show_some(struct postgres_log *self, uint64_t *sequence,
                     int (*each)(void *self, struct tr_bytes entry), void *target)
{
    struct tri_postgres *session = self->session;
    const struct tri_libpq *library = session->library;
    char after[24];
    char host[24];
    const char *parameters[] = {after, host};
    PGresult *rows = NULL;
    (void)snprintf(after, sizeof after, "%llu", (unsigned long long)*sequence);
    (void)snprintf(host, sizeof host, "%llu", (unsigned long long)self->host);
    int error =
        tri_postgres_query(session, read_entries, 2, parameters, 1, "reading the log", &rows);
    if (error != 0) {
        return error;
    }
    if (library->ntuples(rows) == 0) {
        error = damaged(self, *sequence + 1, "missing");
    }
    for (int row = 0; error == 0 && row < library->ntuples(rows); row++) {
        struct tr_bytes stored = {.data = (const uint8_t *)library->getvalue(rows, row, 1),
                                  .size = (size_t)library->getlength(rows, row, 1)};
        if (tri_postgres_number(session, rows, row, 0) != *sequence + 1) {
            error = damaged(self, *sequence + 1, "missing");
        } else {
            error = show_entry(self, stored, *sequence + 1, each, target);
        }
        *sequence += error == 0 ? 1 : 0;
    }
    library->clear(rows);
    return error;
}

static int read_log(struct tri_commit_log *log, uint64_t sequence,
                    int (*each)(void *self, struct tr_bytes entry), void *target)
{
    struct postgres_log *self = of(log);
    int error = 0;
    while (error == 0 && sequence < self->sequence) {
        error = show_some(self, &sequence, each, target);
    }
    return error;
}

/* ---- Readers that are heard. ----------------------------------------------------------------- */

static int descriptor(struct tri_commit_log *log)
{
    return of(log)->ask.socket;
}

static void drain(struct tri_commit_log *log)
{
    tri_store_ask_take(&of(log)->ask);
}

/* ---- Opening and closing. -------------------------------------------------------------------- */

static const char *explain_log(struct tri_commit_log *log)
{
    return of(log)->session->words;
}

static void close_log(struct tri_commit_log *log, bool is_applied)
{
    struct postgres_log *self = of(log);
    (void)is_applied;
    if (self->owns_session) {
        tri_store_close(&self->session->store);
    }
    tri_postgres_compressor_fini(&self->compressor);
    tri_store_ask_close(&self->ask);
    tr_free(self);
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

/*
 * From here on nobody with an earlier incarnation appends. Where a database had lost entries that
 * its engine still had, the tables may have got them, and are ahead of the log.
 */
static int claim(struct postgres_log *self, uint64_t applied)
{
    struct tri_postgres *session = self->session;
    char incarnation[24];
    char sequence[24];
    char host[24];
    const char *parameters[] = {incarnation, sequence, host};
    PGresult *result = NULL;
    (void)snprintf(host, sizeof host, "%llu", (unsigned long long)self->host);
    (void)snprintf(incarnation, sizeof incarnation, "%llu", (unsigned long long)self->incarnation);
    (void)snprintf(sequence, sizeof sequence, "%llu", (unsigned long long)applied);
    int error = tri_postgres_query(session, claim_log, 3, parameters, 1, "taking the log", &result);
    if (error != 0) {
        return error;
    }
    bool is_taken = session->library->ntuples(result) == 1;
    self->sequence = is_taken ? tri_postgres_number(session, result, 0, 0) : 0;
    session->library->clear(result);
    return is_taken
               ? 0
               : tri_postgres_report(session, TR_FENCED,
                                     "%s: another engine has opened it meanwhile", session->place);
}

static int log_new(struct tri_postgres *store, struct postgres_log **log)
{
    struct postgres_log *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        return tri_postgres_report(store, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
    }
    self->log.ops = &log_ops;
    self->log.path = store->place;
    self->log.is_synced = store->durability == TR_DURABILITY_FULL;
    self->session = store;
    self->host = store->host;
    self->incarnation = store->store.incarnation;
    self->ask = (struct tri_store_ask){.folder = -1, .socket = -1};
    *log = self;
    return 0;
}

/*
 * Shuts out who appended before, and applies what he has left. The mark comes first: of a database
 * that loses its last commits, the claim goes before it does, and is missed by the next append.
 */
static int recover(struct tri_postgres *store, struct postgres_log *self, bool begins)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_commit_log_mark mark;
    uint64_t number = 1ULL << 32 | store->schema_oid;
    int error = begins ? tri_commit_log_begin(&store->store, number, &mark)
                       : tri_commit_log_mark(&store->store, &mark);
    if (error == 0) {
        error = claim(self, mark.sequence);
    }
    if (error != 0) {
        return error;
    }
    error = tri_commit_log_recover(&store->store, &self->log, words);
    return error == 0 ? 0 : tri_postgres_report(store, error, "%s", words);
}

/*
 * What the log of another host has left, which is shut out. One that has been opened since has
 * brought it in itself.
 */
static int recover_of(struct tri_postgres *store, struct postgres_log *self, uint64_t host)
{
    struct postgres_log other = *self;
    int error = tri_postgres_take_turn(store, host);
    if (error != 0) {
        return error;
    }
    other.host = host;
    store->log_host = host;
    error = recover(store, &other, false);
    store->log_host = store->host;
    error = error == TR_FENCED ? 0 : error;
    return error != 0 ? error : tri_postgres_end_turn(store, host);
}

/*
 * The logs of all hosts that have no work, the own one last: it had no entries before those had
 * none. Each is applied with a mark of its own, so this goes on where it was interrupted.
 */
static int recover_all(struct tri_postgres *store, struct postgres_log *self, bool begins)
{
    char own[24];
    const char *parameters[] = {own};
    PGresult *rows = NULL;
    (void)snprintf(own, sizeof own, "%llu", (unsigned long long)store->host);
    int error = tri_postgres_query(store, read_hosts, 1, parameters, 1, "looking for logs", &rows);
    for (int row = 0; error == 0 && row < store->library->ntuples(rows); row++) {
        uint64_t host = tri_postgres_number(store, rows, row, 0);
        if (host != store->host) {
            error = recover_of(store, self, host);
        }
    }
    store->library->clear(rows);
    return error != 0 ? error : recover(store, self, begins);
}

static int stay(struct tri_postgres *self)
{
    (void)self;
    return 0;
}

/* From now on its connection is one of this incarnation's log. */
static int be_log(const struct tri_postgres *store, struct tri_postgres *session)
{
    session->is_log = true;
    session->part = "/log";
    session->host = store->host;
    session->schema_oid = store->schema_oid;
    session->store.incarnation = store->store.incarnation;
    int error = tri_postgres_replace_session(session);
    return error != 0 ? error : tri_postgres_name_session(session);
}

/* A connection of its own; the folder is locked already. */
static int open_session(struct tri_postgres *store, const struct tri_store_options *options,
                        struct postgres_log *self)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store_options session = *options;
    session.folder = NULL;
    session.member = NULL;
    session.locator = store->locator;
    struct tri_postgres *opened = NULL;
    int error = tri_postgres_begin(&session, "log", stay, words, &opened);
    if (error != 0) {
        return tri_postgres_report(store, error, "%s", words);
    }
    self->session = opened;
    self->owns_session = true;
    tri_store_ask_open(options->folder, &self->ask);
    error = be_log(store, opened);
    return error == 0 ? 0 : tri_postgres_report(store, error, "%s", opened->words);
}

static int put_in_front(struct tri_postgres *store, const struct tri_store_options *options,
                        struct postgres_log *self, struct tri_store **logged)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = open_session(store, options, self);
    if (error != 0) {
        return error;
    }
    error = tri_commit_log_store(&store->store, &self->log, options->log, 1, words, logged);
    return error == 0 ? 0 : tri_postgres_report(store, error, "%s", words);
}

int tri_postgres_log_open(struct tri_postgres *store, const struct tri_store_options *options,
                          struct tri_store **opened)
{
    struct postgres_log *self = NULL;
    int error = log_new(store, &self);
    if (error != 0) {
        return error;
    }
    bool is_wanted = options->log != NULL;
    error = recover_all(store, self, is_wanted);
    if (error == 0 && is_wanted) {
        error = put_in_front(store, options, self, opened);
    }
    if (error != 0 || !is_wanted) {
        close_log(&self->log, false);
    }
    return error;
}

/* ---- The log of a lost host. ----------------------------------------------------------------- */

/*
 * Whoever has opened the store meanwhile may have shut the lost host out of its log, too, by an
 * incarnation of its own: that is as good, and stays.
 */
static int keep_shut(struct postgres_log *self)
{
    struct tri_log_row row = {0};
    int error = read_row(self, &row);
    if (error == 0 && row.incarnation > self->incarnation) {
        self->incarnation = row.incarnation;
    }
    return error;
}

static int settle_log(struct tri_postgres *store, uint64_t host)
{
    struct postgres_log *self = NULL;
    int error = tri_postgres_stand_in(store, host);
    if (error == 0) {
        error = log_new(store, &self);
    }
    if (error == 0) {
        error = keep_shut(self);
        if (error == 0) {
            error = recover(store, self, false);
        }
        close_log(&self->log, false);
    }
    return error;
}

int tri_postgres_settle(const struct tri_store_options *options, uint64_t host, char *explain)
{
    struct tri_store_options writing = {.locator = options->locator,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = options->records,
                                        .record_count = options->record_count};
    struct tri_postgres *store = NULL;
    int error = tri_postgres_begin(&writing, "taking", tri_postgres_find_tables, explain, &store);
    if (error != 0) {
        return error;
    }
    error = tri_postgres_check_beside(store);
    if (error == 0) {
        error = store->format == TRI_POSTGRES_FORMAT ? settle_log(store, host) : TR_INVALID;
    }
    if (error != 0 && explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", store->words);
    }
    tri_store_close(&store->store);
    return error;
}

/* ---- Readers. -------------------------------------------------------------------------------- */

/* The last entry of the log of a row, and the last one that the tables have. */
static void read_progress(const struct tri_postgres *self, const PGresult *result, int row,
                          uint64_t *last, uint64_t *applied)
{
    struct tri_commit_log_mark mark = {0};
    *last = tri_postgres_number(self, result, row, 0);
    if (self->library->getlength(result, row, 1) == (int)sizeof mark) {
        memcpy(&mark, self->library->getvalue(result, row, 1), sizeof mark);
    }
    *applied = mark.sequence < *last ? mark.sequence : *last;
}

/* The entries of all logs so far, and those of them that the tables have. */
static int look_ahead(struct tri_postgres *self, uint64_t *end, uint64_t *applied)
{
    char cell[24];
    const char *parameters[] = {cell};
    bool is_earlier = self->format < TRI_POSTGRES_FORMAT_HOSTS;
    PGresult *result = NULL;
    (void)snprintf(cell, sizeof cell, "%d", TRI_META_LOG);
    int error = tri_postgres_query(self, is_earlier ? read_earlier_ahead : read_ahead, 1,
                                   parameters, 1, "looking at the log", &result);
    if (error != 0) {
        return error;
    }
    *end = 0;
    *applied = 0;
    for (int row = 0; row < self->library->ntuples(result); row++) {
        uint64_t last = 0;
        uint64_t in_tables = 0;
        read_progress(self, result, row, &last, &in_tables);
        *end += last;
        *applied += in_tables;
    }
    self->library->clear(result);
    return 0;
}

/*
 * Whether somebody has the lock of the host that has the work. Where several hosts have it, one of
 * them applies what another has left, and nobody may open the store in its place: it may be about
 * to begin.
 */
static int has_engine(struct tri_postgres *self, bool *has)
{
    struct tri_postgres_host owner = {.number = 0};
    bool is_shared = false;
    int error = 0;
    if (self->format >= TRI_POSTGRES_FORMAT_HOSTS) {
        error = tri_postgres_find_owner(self, &owner);
        if (error == 0) {
            error = tri_postgres_is_shared(self, &is_shared);
        }
    }
    self->host = owner.number;
    *has = is_shared;
    return error != 0 || is_shared ? error : tri_postgres_has_engine(self, has);
}

/*
 * Nobody will apply what an engine has left: it is done here, by opening the store for writing. A
 * role that may not shows what the tables have.
 */
static int apply_rest(const struct tri_store_options *options)
{
    struct tri_store_options writing = *options;
    struct tri_store *opened = NULL;
    writing.read_only = false;
    writing.member = NULL;
    writing.durability = TR_DURABILITY_FULL;
    int error = tri_postgres_open(&writing, NULL, &opened);
    if (error == 0) {
        tri_store_close(opened);
    }
    return error;
}

/* One look later, for which an engine on this machine is called; it counts `look_ms`. */
static int look_again(struct tri_postgres *self, const struct tri_store_options *options,
                      uint64_t *applied, uint32_t *look_ms)
{
    bool is_held = false;
    uint64_t end = 0;
    int error = has_engine(self, &is_held);
    *look_ms = LOOK_MS;
    if (error == 0 && !is_held) {
        error = apply_rest(options);
        *look_ms = error == TR_STORE_LOCKED ? LOCKED_LOOK_MS : LOOK_MS;
        error = error == TR_STORE_LOCKED ? 0 : error; /* one has come meanwhile, and applies it */
    }
    if (error == 0) {
        tri_store_ask(options->folder);
        (void)poll(NULL, 0, LOOK_MS);
        error = look_ahead(self, &end, applied);
    }
    return error;
}

int tri_postgres_log_wait(struct tri_postgres *self, const struct tri_store_options *options)
{
    uint64_t end = 0;
    uint64_t applied = 0;
    uint32_t still_ms = 0;
    if (self->format < TRI_POSTGRES_FORMAT_LOG) {
        return 0;
    }
    int error = look_ahead(self, &end, &applied);
    while (error == 0 && applied < end && still_ms < TR_COMMIT_LOG_READER_MS) {
        uint64_t before = applied;
        uint32_t look_ms = 0;
        if (look_again(self, options, &applied, &look_ms) != 0) {
            break;
        }
        still_ms = applied == before ? still_ms + look_ms : 0;
    }
    return self->connection == NULL ? TR_BUSY : error;
}

int tri_postgres_log_check_left(struct tri_postgres *self, uint64_t host)
{
    char cell[24];
    char number[24];
    const char *parameters[] = {cell, number};
    uint64_t last = 0;
    uint64_t applied = 0;
    PGresult *result = NULL;
    (void)snprintf(cell, sizeof cell, "%d", TRI_META_LOG);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)host);
    int error =
        tri_postgres_query(self, read_left, 2, parameters, 1, "looking at the log", &result);
    if (error != 0) {
        return error;
    }
    if (self->library->ntuples(result) > 0) {
        read_progress(self, result, 0, &last, &applied);
    }
    self->library->clear(result);
    return applied == last ? 0
                           : tri_postgres_report(self, TR_INVALID,
                                                 "host %llu was lost with %llu commits in its log "
                                                 "alone, which are to be brought in first",
                                                 (unsigned long long)host,
                                                 (unsigned long long)(last - applied));
}
