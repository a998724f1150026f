/*
 * The registry of hosts in the database.
 *
 * A look is one statement: it raises the beat and reads all hosts. What takes work from a host is
 * one transaction, in the order that postgres_hosts.c has; it changes the row of the host's fence
 * only if all that this host has last seen of the other one is still so. An answer that was in
 * flight, a beat, a commit or an append in between, all of them change one of these numbers; and
 * whatever comes behind is refused by the new incarnation. A host that stands still in the middle
 * of a commit holds its row: its sessions are ended, and the step is repeated.
 *
 * What changes hosts or owners tells all of them (NOTIFY), so that none waits for its next look. It
 * is a hint: who misses it, over a connection that is made again, sees the change by that look.
 *
 * The server writes beats to its disk later: one that is lost is followed by another. A take-over
 * is on the disk before it is answered.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/postgres/postgres.h"
#include "runtime/postgres/postgres_internal.h"

/* How long an answer is waited for, and how often a take-over that met a lock is repeated. */
#define PATIENCE_MS 3000
#define TAKES_MAX 3
#define TAKE_AGAIN_MS 100

#define NUMBER_BYTES 24
#define NOW_MS "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

#define BEAT                                                                                      \
    "WITH own AS (UPDATE beats SET beat = beat + 1, at_ms = " NOW_MS " WHERE number = $1::bigint" \
    "  AND EXISTS (SELECT FROM fences f JOIN hosts h USING (number) WHERE f.number = $1::bigint"  \
    "   AND f.incarnation = $2::bigint AND h.state = $3::bigint))"
#define LINKS ", coalesce(h.slot, 0), h.address, h.key"
#define NO_LINKS ", 0::bigint, '', ''::bytea"
#define NO_MOVES ", 0::bigint, ''"
#define MOVES                                                                \
    ", h.drained, CASE WHEN h.number = (SELECT min(number) FROM hosts) THEN" \
    "  (SELECT string_agg(wanted::text, ' ' ORDER BY number) FROM partitions) ELSE '' END"
#define LOOK(links, moves)                                                                        \
    "SELECT h.number, h.state, f.incarnation, f.commits, f.last_number, l.last_sequence, b.beat," \
    " coalesce(p.owned, 0), h.lease_ms,"                                                          \
    " h.process_lease_ms, h.processes, h.since_ms, greatest(" NOW_MS " - b.at_ms, 0),"            \
    " (SELECT view FROM cluster WHERE id = 1), " NOW_MS ","                                       \
    " h.name, h.why, h.machine, h.folder, h.blobs, h.place,"                                      \
    " CASE WHEN h.number = (SELECT min(number) FROM hosts) THEN"                                  \
    "  (SELECT string_agg(host::text, ' ' ORDER BY number) FROM partitions) ELSE '' END" links    \
    ", CASE WHEN h.number = (SELECT min(number) FROM hosts) THEN"                                 \
    "  (SELECT string_agg(epoch::text, ' ' ORDER BY number) FROM partitions) ELSE '' END" moves   \
    ", (SELECT incarnation FROM cluster WHERE id = 1)"                                            \
    " FROM hosts h LEFT JOIN (SELECT host, count(*) AS owned FROM partitions GROUP BY host) p"    \
    " ON p.host = h.number"                                                                       \
    " JOIN fences f ON f.number = h.number JOIN beats b ON b.number = h.number"                   \
    " JOIN commit_log l ON l.host = h.number ORDER BY h.number LIMIT 64"

/* By whether the store's tables have links, and moves; and by whether the look is a beat. */
static const char *const looks[3][2] = {{LOOK(NO_LINKS, NO_MOVES), BEAT LOOK(NO_LINKS, NO_MOVES)},
                                        {LOOK(LINKS, NO_MOVES), BEAT LOOK(LINKS, NO_MOVES)},
                                        {LOOK(LINKS, MOVES), BEAT LOOK(LINKS, MOVES)}};
static const char is_up[] =
    "SELECT FROM hosts h JOIN fences f USING (number) WHERE h.number = $1::bigint"
    " AND f.incarnation = $2::bigint AND h.state = $3::bigint FOR UPDATE OF h";
static const char as_seen[] =
    "SELECT FROM fences f, beats b, commit_log l WHERE f.number = $1::bigint"
    " AND b.number = f.number AND l.host = f.number AND f.incarnation = $2::bigint"
    " AND f.commits = $3::bigint AND f.last_number = $4::bigint"
    " AND l.last_sequence = $5::bigint AND b.beat = $6::bigint FOR UPDATE";
static const char end_sessions[] =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(application_name, $1)"
    " AND usename = current_user AND pid <> pg_backend_pid()";
static const char remove_host[] =
    "WITH h AS (DELETE FROM hosts h USING beats b WHERE h.number = $1::bigint"
    "  AND b.number = h.number AND (h.state <> $2::bigint OR " NOW_MS " - b.at_ms > h.lease_ms)"
    "  AND NOT EXISTS (SELECT FROM partitions WHERE host = $1::bigint)"
    "  AND NOT EXISTS (SELECT FROM commit_entries WHERE host = $1::bigint) RETURNING h.number),"
    " f AS (DELETE FROM fences USING h WHERE fences.number = h.number),"
    " b AS (DELETE FROM beats USING h WHERE beats.number = h.number),"
    " l AS (DELETE FROM commit_log USING h WHERE commit_log.host = h.number)"
    " SELECT number FROM h";

struct postgres_registry {
    struct tri_registry registry;
    struct tri_postgres *session;
    const void *heard_by; /* the connection that hears of changes; NULL: none */
};

static struct postgres_registry *of(struct tri_registry *registry)
{
    return (struct postgres_registry *)registry;
}

static const char *print(uint64_t number, char text[NUMBER_BYTES])
{
    (void)snprintf(text, NUMBER_BYTES, "%lld", (long long)number);
    return text;
}

/* The session has the name of the host that it speaks for. */
static int name(struct postgres_registry *self)
{
    self->session->host = self->registry.self;
    self->session->store.incarnation = self->registry.incarnation;
    return tri_postgres_name_session(self->session);
}

/* Before each use: makes a lost connection again. */
static int resume(struct postgres_registry *self)
{
    struct tri_postgres *session = self->session;
    bool is_named = session->store.incarnation == self->registry.incarnation;
    if (session->connection != NULL) {
        return is_named ? 0 : name(self);
    }
    int error = tri_postgres_connect(session);
    error = error == TR_STORE_FAILED ? TR_BUSY : error; /* it could be reached before */
    if (error == 0) {
        error = name(self);
    }
    if (error != 0) {
        tri_postgres_disconnect(session);
    }
    return error;
}

/* The count of rows that a statement finds or changes. */
static int count(struct tri_postgres *session, const char *sql, size_t parameter_count,
                 const char *const *parameters, const char *what, int *rows)
{
    PGresult *result = NULL;
    int error = tri_postgres_query(session, sql, parameter_count, parameters, 1, what, &result);
    if (error == 0) {
        *rows = session->library->ntuples(result);
        session->library->clear(result);
    }
    return error;
}

/* ---- Looking. -------------------------------------------------------------------------------- */

static void copy_text(const struct tri_postgres *session, const PGresult *rows, int row, int column,
                      char *text, size_t size)
{
    (void)snprintf(text, size, "%s", tri_postgres_text(session, rows, row, column));
}

static void read_member(const struct tri_postgres *session, const PGresult *rows, int row,
                        struct tri_member *member)
{
    uint64_t numbers[13];
    for (int i = 0; i < (int)TR_COUNT_OF(numbers); i++) {
        numbers[i] = tri_postgres_number(session, rows, row, i);
    }
    *member = (struct tri_member){
        .number = numbers[0],
        .state = numbers[1],
        .signs = {numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]},
        .owned = numbers[7],
        .lease_ms = (uint32_t)numbers[8],
        .process_lease_ms = (uint32_t)numbers[9],
        .processes = numbers[10],
        .since_ms = numbers[11],
        .silent_ms = numbers[12],
    };
    copy_text(session, rows, row, 15, member->name, sizeof member->name);
    copy_text(session, rows, row, 16, member->why, sizeof member->why);
    copy_text(session, rows, row, 17, member->machine, sizeof member->machine);
    copy_text(session, rows, row, 18, member->folder, sizeof member->folder);
    copy_text(session, rows, row, 19, member->blobs, sizeof member->blobs);
    if (session->library->getlength(rows, row, 20) == (int)sizeof member->place) {
        memcpy(member->place, session->library->getvalue(rows, row, 20), sizeof member->place);
    }
    member->slot = tri_postgres_number(session, rows, row, 22);
    copy_text(session, rows, row, 23, member->address, sizeof member->address);
    member->has_key = session->library->getlength(rows, row, 24) == (int)sizeof member->key;
    if (member->has_key) {
        memcpy(member->key, session->library->getvalue(rows, row, 24), sizeof member->key);
    }
    member->is_drained = tri_postgres_number(session, rows, row, 26) != 0;
}

/* Of all partitions the hosts, the epochs, and where they are wanted, which only one row says. */
static void read_partitions(const char *hosts, const char *epochs, const char *wanted,
                            struct tri_member_view *view)
{
    char *end = NULL;
    for (size_t i = 0; wanted[0] != '\0' && i < TR_PARTITIONS_MAX; i++) {
        view->wanted[i] = strtoull(wanted, &end, 10);
        wanted = end;
    }
    for (size_t i = 0; hosts[0] != '\0' && i < TR_PARTITIONS_MAX; i++) {
        view->partitions[i] = strtoull(hosts, &end, 10);
        hosts = end;
        view->epochs[i] = (uint32_t)strtoull(epochs, &end, 10);
        epochs = end;
        view->partition_count = i + 1;
        view->owner = view->partitions[0];
    }
}

static void forget_view(struct tri_member_view *view)
{
    view->count = 0;
    view->partition_count = 0;
    view->owner = 0;
    view->view = 0;
    view->newest = 0;
    view->now_ms = 0;
    memset(view->wanted, 0, sizeof view->wanted);
}

static void read_view(const struct tri_postgres *session, const PGresult *rows,
                      struct tri_member_view *view)
{
    view->count = (size_t)session->library->ntuples(rows);
    for (size_t i = 0; i < view->count; i++) {
        read_member(session, rows, (int)i, &view->members[i]);
        read_partitions(tri_postgres_text(session, rows, (int)i, 21),
                        tri_postgres_text(session, rows, (int)i, 25),
                        tri_postgres_text(session, rows, (int)i, 27), view);
        view->view = tri_postgres_number(session, rows, (int)i, 13);
        view->now_ms = tri_postgres_number(session, rows, (int)i, 14);
        view->newest = tri_postgres_number(session, rows, (int)i, 28);
    }
}

/* By one statement; without a host the look is no beat. */
static int look_as(struct tri_postgres *session, uint64_t host, uint64_t incarnation,
                   struct tri_member_view *view)
{
    char texts[3][NUMBER_BYTES];
    const char *parameters[] = {print(host, texts[0]), print(incarnation, texts[1]),
                                print(TRI_MEMBER_UP, texts[2])};
    PGresult *rows = NULL;
    forget_view(view);
    if (session->format < TRI_POSTGRES_FORMAT_HOSTS) {
        return 0;
    }
    bool beats = host != 0;
    size_t level = session->format >= TRI_POSTGRES_FORMAT_MOVES   ? 2
                   : session->format >= TRI_POSTGRES_FORMAT_LINKS ? 1
                                                                  : 0;
    int error = tri_postgres_query(session, looks[level][beats], beats ? 3 : 0, parameters, 1,
                                   "looking at the hosts", &rows);
    if (error == 0) {
        read_view(session, rows, view);
        session->library->clear(rows);
    }
    return error;
}

int tri_postgres_look(struct tri_postgres *session, struct tri_member_view *view)
{
    return look_as(session, 0, 0, view);
}

/* Once for each connection of a host that looks. */
static int hear(struct postgres_registry *self)
{
    struct tri_postgres *session = self->session;
    if (self->registry.self == 0 || self->heard_by == session->connection) {
        return 0;
    }
    int error =
        tri_postgres_execute(session, "LISTEN " TRI_POSTGRES_CHANNEL, "listening to the hosts");
    if (error == 0) {
        self->heard_by = session->connection;
    }
    return error;
}

static int look(struct tri_registry *registry, struct tri_member_view *view)
{
    struct postgres_registry *self = of(registry);
    int error = resume(self);
    if (error == 0) {
        error = hear(self);
    }
    if (error != 0) {
        forget_view(view);
        return error;
    }
    return look_as(self->session, registry->self, registry->incarnation, view);
}

/* ---- Joining. -------------------------------------------------------------------------------- */

static int end_sessions_of(struct tri_postgres *session, uint64_t host)
{
    char prefix[TRI_POSTGRES_NAME_BYTES];
    const char *parameters[] = {prefix};
    int rows = 0;
    tri_postgres_sessions_of(session, host, prefix);
    return count(session, end_sessions, 1, parameters, "ending the sessions of a host", &rows);
}

/* One transaction; what earlier incarnations of this host still send is refused from then on. */
static int join_now(struct tri_postgres *session, const struct tri_store_member *member,
                    uint64_t *number, uint64_t *incarnation)
{
    struct tri_fence_row row = {0};
    int error = tri_postgres_execute(session, "BEGIN; SET LOCAL synchronous_commit = on",
                                     "joining the hosts");
    if (error == 0) {
        error = tri_postgres_draw(session, incarnation);
    }
    if (error == 0) {
        error = tri_postgres_enrol(session, member, number);
    }
    session->host = *number;
    if (error == 0) {
        error = end_sessions_of(session, *number);
    }
    if (error == 0) {
        error = tri_postgres_read_host(session, true, &row);
    }
    row.incarnation = *incarnation;
    if (error == 0) {
        error = tri_postgres_put_fence(session, *number, &row);
    }
    return error != 0 ? error : tri_postgres_execute(session, "COMMIT", "joining the hosts");
}

static int join(struct tri_registry *registry, const struct tri_store_member *member)
{
    struct postgres_registry *self = of(registry);
    uint64_t number = 0;
    uint64_t incarnation = 0;
    int error = resume(self);
    if (error == 0) {
        error = join_now(self->session, member, &number, &incarnation);
    }
    if (error != 0) {
        tri_postgres_rollback(self->session);
        return error;
    }
    registry->self = number;
    registry->incarnation = incarnation;
    return name(self);
}

/* ---- Taking. --------------------------------------------------------------------------------- */

static int check_self(struct postgres_registry *self)
{
    char texts[3][NUMBER_BYTES];
    const char *parameters[] = {print(self->registry.self, texts[0]),
                                print(self->registry.incarnation, texts[1]),
                                print(TRI_MEMBER_UP, texts[2])};
    int rows = 0;
    int error = count(self->session, is_up, 3, parameters, "looking for this host", &rows);
    return error == 0 && rows == 0 ? tri_postgres_say_fenced(self->session) : error;
}

static int check_seen(struct tri_postgres *session, const struct tri_member *seen)
{
    const struct tri_member_signs *signs = &seen->signs;
    char texts[6][NUMBER_BYTES];
    const char *parameters[] = {
        print(seen->number, texts[0]),         print(signs->incarnation, texts[1]),
        print(signs->commits, texts[2]),       print(signs->last_number, texts[3]),
        print(signs->last_sequence, texts[4]), print(signs->beat, texts[5])};
    int rows = 0;
    int error = count(session, as_seen, 6, parameters, "looking whether a host lives", &rows);
    return error == 0 && rows == 0
               ? tri_postgres_report(session, TR_CLOSED, "host %s lives, or another has fenced it",
                                     seen->name)
               : error;
}

static int take_now(struct postgres_registry *self, const struct tri_member *seen,
                    const struct tri_member_shares *shares, const char *why)
{
    struct tri_postgres *session = self->session;
    struct tri_fence_row row = {.commits = seen->signs.commits,
                                .last_number = seen->signs.last_number};
    uint64_t state = seen->state == TRI_MEMBER_UP ? TRI_MEMBER_DEAD : seen->state;
    int error = tri_postgres_execute(
        session, "BEGIN; SET LOCAL lock_timeout = '1s'; SET LOCAL synchronous_commit = on",
        "fencing a host");
    if (error == 0) {
        error = tri_postgres_draw(session, &row.incarnation);
    }
    if (error == 0) {
        error = check_self(self);
    }
    if (error == 0) {
        error = check_seen(session, seen);
    }
    if (error == 0) {
        error = tri_postgres_put_fence(session, seen->number, &row);
    }
    if (error == 0) {
        error = tri_postgres_hand_on(session, seen->number, self->registry.self, row.incarnation,
                                     state, shares, why);
    }
    return error != 0 ? error : tri_postgres_execute(session, "COMMIT", "fencing a host");
}

static int take(struct tri_registry *registry, const struct tri_member *seen,
                const struct tri_member_shares *shares, const char *why)
{
    struct postgres_registry *self = of(registry);
    int error = resume(self);
    for (int tries = 0; error == 0 && tries < TAKES_MAX; tries++) {
        error = take_now(self, seen, shares, why);
        if (error == 0) {
            return 0;
        }
        tri_postgres_rollback(self->session);
        if (error != TR_BUSY || self->session->connection == NULL) {
            return error;
        }
        error = end_sessions_of(self->session, seen->number);
        (void)poll(NULL, 0, TAKE_AGAIN_MS);
    }
    return error != 0 ? error : TR_BUSY;
}

/* ---- Giving. --------------------------------------------------------------------------------- */

/* Begins a transaction that changes owners, of a host that is up. */
static int begin_change(struct postgres_registry *self, const char *what, uint64_t *view)
{
    int error = tri_postgres_execute(
        self->session, "BEGIN; SET LOCAL lock_timeout = '1s'; SET LOCAL synchronous_commit = on",
        what);
    if (error == 0) {
        error = tri_postgres_raise_view(self->session, view);
    }
    return error != 0 ? error : check_self(self);
}

static int vacant(struct tri_registry *registry, bool *found, uint64_t *view)
{
    struct postgres_registry *self = of(registry);
    bool read[TR_PARTITIONS_MAX];
    uint64_t raised = 0;
    int error = resume(self);
    if (error != 0) {
        return error;
    }
    error = begin_change(self, "looking for empty partitions", &raised);
    if (error == 0) {
        error = tri_postgres_find_vacant(self->session, read);
    }
    if (error == 0) {
        error = tri_postgres_execute(self->session, "COMMIT", "looking for empty partitions");
    }
    tri_postgres_rollback(self->session);
    if (error == 0) {
        memcpy(found, read, sizeof read);
        *view = raised;
    }
    return error;
}

/* The view is raised in any case: what is not given this host takes back by it. */
static int give(struct tri_registry *registry, const struct tri_member_shares *shares,
                const uint32_t *epochs, uint64_t *view)
{
    struct postgres_registry *self = of(registry);
    uint64_t raised = 0;
    int error = resume(self);
    if (error != 0) {
        return error;
    }
    error = begin_change(self, "giving partitions", &raised);
    int given = error == 0 ? tri_postgres_give(self->session, shares, epochs, raised) : 0;
    error = error == 0 && given != TR_INVALID ? given : error;
    if (error == 0) {
        error = tri_postgres_execute(self->session, "COMMIT", "giving partitions");
    }
    tri_postgres_rollback(self->session);
    if (error == 0) {
        *view = raised;
    }
    return error != 0 ? error : given;
}

/* ---- Moves. ---------------------------------------------------------------------------------- */

/* Tables of an earlier program know of none. */
static int resume_moves(struct postgres_registry *self)
{
    int error = resume(self);
    return error == 0 && self->session->format < TRI_POSTGRES_FORMAT_MOVES
               ? tri_postgres_report(self->session, TR_INVALID,
                                     "the tables of the store are those of an earlier program, "
                                     "which moves nothing; type troupe store upgrade")
               : error;
}

static int want(struct tri_registry *registry, uint64_t partition, uint64_t host, const char *by)
{
    int error = resume_moves(of(registry));
    return error != 0 ? error : tri_postgres_want(of(registry)->session, partition, host, by);
}

static int stay(struct tri_registry *registry, const struct tri_member_shares *waits)
{
    int error = resume_moves(of(registry));
    return error != 0 ? error : tri_postgres_stay(of(registry)->session, waits);
}

static int open_moved(struct tri_registry *registry)
{
    int error = resume_moves(of(registry));
    return error != 0 ? error : tri_postgres_open_moved(of(registry)->session);
}

static int read_move(struct tri_registry *registry, uint64_t partition,
                     struct tri_member_move *move)
{
    int error = resume_moves(of(registry));
    return error != 0 ? error : tri_postgres_read_move(of(registry)->session, partition, move);
}

static int drain(struct tri_registry *registry, uint64_t host, bool is_drained)
{
    int error = resume_moves(of(registry));
    return error != 0 ? error : tri_postgres_drain(of(registry)->session, host, is_drained);
}

/* ---- The rest. ------------------------------------------------------------------------------- */

static int leave(struct tri_registry *registry)
{
    int error = resume(of(registry));
    return error != 0 ? error : tri_postgres_leave(of(registry)->session);
}

static int forget(struct tri_registry *registry, uint64_t number)
{
    struct tri_postgres *session = of(registry)->session;
    char texts[2][NUMBER_BYTES];
    const char *parameters[] = {print(number, texts[0]), print(TRI_MEMBER_UP, texts[1])};
    int rows = 0;
    uint64_t incarnation = 0;
    int error = resume(of(registry));
    if (error == 0) {
        error = tri_postgres_execute(session, "BEGIN; SET LOCAL synchronous_commit = on",
                                     "forgetting a host");
    }
    if (error == 0) {
        error = tri_postgres_draw(session, &incarnation);
    }
    if (error == 0) {
        error = count(session, remove_host, 2, parameters, "forgetting a host", &rows);
    }
    if (error == 0) {
        error = tri_postgres_tell(session);
    }
    if (error == 0) {
        error = tri_postgres_execute(session, "COMMIT", "forgetting a host");
    }
    tri_postgres_rollback(session);
    return error == 0 && rows == 0
               ? tri_postgres_report(session, TR_INVALID,
                                     "the host is up, or has the work of the store, or another has "
                                     "not brought in yet what it had committed")
               : error;
}

static int keep(struct tri_registry *registry, enum tri_member_processes processes)
{
    int error = resume(of(registry));
    return error != 0 ? error : tri_postgres_keep(of(registry)->session, registry->self, processes);
}

/* Who listens may be given partitions, and its log is no lost host's any more. */
static int listen_at(struct tri_registry *registry, const char *address, const uint8_t *key)
{
    int error = resume(of(registry));
    if (error == 0 && of(registry)->session->format >= TRI_POSTGRES_FORMAT_LINKS) {
        error = tri_postgres_log_check_left(of(registry)->session, registry->self);
    }
    return error != 0 ? error : tri_postgres_listen(of(registry)->session, address, key);
}

/* ---- News. ----------------------------------------------------------------------------------- */

static int descriptor_of(struct tri_registry *registry)
{
    const struct postgres_registry *self = of(registry);
    const struct tri_postgres *session = self->session;
    bool hears = session->connection != NULL && self->heard_by == session->connection;
    return hears ? session->library->socket(session->connection) : -1;
}

/* A connection that has ended is news, too: the next look makes another one. */
static bool has_news(struct tri_registry *registry)
{
    struct postgres_registry *self = of(registry);
    const struct tri_postgres *session = self->session;
    PGnotify *notice;
    if (descriptor_of(registry) < 0) {
        return false;
    }
    bool has = session->library->consumeInput(session->connection) == 0;
    while ((notice = session->library->notifies(session->connection)) != NULL) {
        session->library->freemem(notice);
        has = true;
    }
    return has;
}

static const char *explain_registry(struct tri_registry *registry)
{
    return of(registry)->session->words;
}

static void close_registry(struct tri_registry *registry)
{
    tri_store_close(&of(registry)->session->store);
    tr_free(registry);
}

static const struct tri_registry_ops registry_ops = {
    .join = join,
    .look = look,
    .take = take,
    .vacant = vacant,
    .give = give,
    .want = want,
    .stay = stay,
    .open_moved = open_moved,
    .read_move = read_move,
    .drain = drain,
    .leave = leave,
    .forget = forget,
    .keep = keep,
    .listen = listen_at,
    .descriptor = descriptor_of,
    .has_news = has_news,
    .explain = explain_registry,
    .close = close_registry,
};

int tri_postgres_registry_open(const struct tri_store_options *given, char *explain,
                               struct tri_registry **registry)
{
    struct tri_store_options options = {.locator = given->locator,
                                        .durability = TR_DURABILITY_PROCESS};
    struct postgres_registry *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        }
        return TR_MEMORY;
    }
    self->registry.ops = &registry_ops;
    options.read_only = given->read_only;
    int error = tri_postgres_open_reading(&options, PATIENCE_MS, "hosts", explain, &self->session);
    if (error != 0) {
        tr_free(self);
        return error;
    }
    self->session->part = "/hosts";
    *registry = &self->registry;
    return 0;
}
