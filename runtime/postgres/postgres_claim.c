/*
 * Who may write: the lock, the incarnation, and what follows a lost connection.
 *
 * The lock is an advisory one of the session, keyed by schema and host. It ends with the session,
 * so there are no stale locks; but a server may notice late that a client is gone, so whoever wants
 * it waits for a moment (lock_timeout). The lock gives an early error; what protects the data is
 * the host's row, which each commit changes and which must be as this store has left it.
 *
 * A connection that is lost within a commit leaves it in doubt. Before anything else is written the
 * old session is ended, the lock is taken again, and the host's row, waited for, says whether the
 * commit is in (postgres_fence.h). Reading it FOR UPDATE is itself a transaction that changes
 * something, so with a synchronous standby it is answered only when the standby has all that came
 * before: what is found to be in cannot be lost by a fail-over any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/members/member.h"
#include "runtime/postgres/postgres_internal.h"

#define HOST_ROW \
    "SELECT f.incarnation, f.last_number, f.commits, f.checksum, f.number FROM fences f"
static const char read_host[] = HOST_ROW " WHERE f.number = $1::bigint";
static const char read_host_for_update[] = HOST_ROW " WHERE f.number = $1::bigint FOR UPDATE";
static const char read_owner[] =
    HOST_ROW " JOIN partitions p ON p.host = f.number WHERE p.number = 0";
static const char read_earlier_host[] =
    "SELECT incarnation, last_number, commits, checksum, 0::bigint FROM host WHERE id = 1";
static const char read_last_number[] = "SELECT max(last_number) FROM fences";

/* Who has the lock; a name is that of one incarnation (tri_postgres_session_name). */
#define HOLDERS                                                                                   \
    " FROM pg_locks l JOIN pg_stat_activity a USING (pid)"                                        \
    " WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND pid <> pg_backend_pid()" \
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"          \
    " AND l.classid = ($1::bigint >> 32)::oid AND l.objid = ($1::bigint & 4294967295)::oid"

static const char find_holder[] = "SELECT a.pid::text, coalesce(a.application_name, '')" HOLDERS;
static const char end_session[] =
    "SELECT pg_terminate_backend(a.pid)" HOLDERS " AND a.application_name = $2";

/*
 * Each host has its own; that of host 0 is the schema's. That of a log is for one incarnation,
 * since others are fenced anyway.
 */
static void lock_key(const struct tri_postgres *self, char *text, size_t size)
{
    uint64_t class = TRI_POSTGRES_APPLICATION;
    uint32_t object = self->schema_oid + (uint32_t)(self->host * 0x85ebca6bU);
    if (self->is_log) {
        class ++;
        object += (uint32_t)(self->store.incarnation * 0x9e3779b1U);
    }
    (void)snprintf(text, size, "%llu", (unsigned long long)(class << 32 | object));
}

/* Which row: that of this host, for a reader that of whoever has the work. */
static int ask_host(struct tri_postgres *self, bool is_for_update, PGresult **result)
{
    char number[24];
    const char *parameters[] = {number};
    const char *sql = is_for_update ? read_host_for_update : read_host;
    size_t count = 1;
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)self->host);
    if (self->format < TRI_POSTGRES_FORMAT_HOSTS) {
        sql = read_earlier_host;
        count = 0;
    } else if (self->read_only) {
        sql = read_owner;
        count = 0;
    }
    return tri_postgres_query(self, sql, count, parameters, 1, "reading the host's row", result);
}

int tri_postgres_read_host(struct tri_postgres *self, bool is_for_update,
                           struct tri_fence_row *host)
{
    PGresult *result = NULL;
    int error = ask_host(self, is_for_update, &result);
    if (error != 0) {
        return error;
    }
    struct tri_fence_row found = {0};
    bool is_there = self->library->ntuples(result) == 1;
    uint64_t checksum = 0;
    if (is_there) {
        found.incarnation = tri_postgres_number(self, result, 0, 0);
        found.last_number = tri_postgres_number(self, result, 0, 1);
        found.commits = tri_postgres_number(self, result, 0, 2);
        checksum = tri_postgres_number(self, result, 0, 3);
        self->host = tri_postgres_number(self, result, 0, 4);
        self->log_host = self->host;
    }
    self->library->clear(result);
    struct tri_op op = {.key = {found.incarnation, found.last_number}};
    if (!is_there || checksum != tri_checksum(0, &op)) {
        return tri_postgres_damaged(self, "the host's row fails its checksum");
    }
    *host = found;
    return 0;
}

int tri_postgres_has_engine(struct tri_postgres *self, bool *has)
{
    char key[32];
    const char *parameters[] = {key};
    PGresult *result = NULL;
    lock_key(self, key, sizeof key);
    int error = tri_postgres_query(self, find_holder, 1, parameters, 0,
                                   "looking who has the store's lock", &result);
    if (error == 0) {
        *has = self->library->ntuples(result) > 0;
        self->library->clear(result);
    }
    return error;
}

/* Somebody else has the lock: who it is. `is_ours`: an earlier session of ours, still ending. */
static int report_holder(struct tri_postgres *self, bool *is_ours)
{
    char key[32];
    char ours[TRI_POSTGRES_NAME_BYTES];
    const char *parameters[] = {key};
    lock_key(self, key, sizeof key);
    tri_postgres_session_name(self, ours);
    PGresult *result = NULL;
    int error = tri_postgres_query(self, find_holder, 1, parameters, 0,
                                   "looking who has the store's lock", &result);
    if (error != 0) {
        return error;
    }
    bool is_known = self->library->ntuples(result) > 0;
    const char *pid = is_known ? tri_postgres_text(self, result, 0, 0) : "of nobody";
    const char *name = is_known ? tri_postgres_text(self, result, 0, 1) : "";
    *is_ours = self->store.incarnation != 0 && (!is_known || strcmp(name, ours) == 0);
    error = tri_postgres_report(self, TR_STORE_LOCKED,
                                "%s: another engine uses the schema \"%s\": session %s, %s; end it "
                                "first",
                                self->place, self->schema, pid, name);
    self->library->clear(result);
    return error;
}

/*
 * Waits for the lock for as long as lock_timeout says. TR_STORE_LOCKED: another has it; TR_BUSY: a
 * session of ours that is ending.
 */
static int take_lock(struct tri_postgres *self)
{
    char key[32];
    const char *parameters[] = {key};
    lock_key(self, key, sizeof key);
    PGresult *result = NULL;
    int error = tri_postgres_query(self, "SELECT pg_advisory_lock($1::bigint)", 1, parameters, 0,
                                   "taking the store's lock", &result);
    if (error == 0) {
        self->library->clear(result);
        return 0;
    }
    if (error != TR_BUSY || self->connection == NULL) {
        return error;
    }
    tri_postgres_rollback(self); /* in which nothing could be asked */
    bool is_ours = false;
    error = report_holder(self, &is_ours);
    return error == TR_STORE_LOCKED && is_ours ? TR_BUSY : error;
}

int tri_postgres_name_session(struct tri_postgres *self)
{
    char name[TRI_POSTGRES_NAME_BYTES];
    const char *parameters[] = {name};
    tri_postgres_session_name(self, name);
    PGresult *result = NULL;
    int error = tri_postgres_query(self, "SELECT set_config('application_name', $1, false)", 1,
                                   parameters, 0, "naming the session", &result);
    if (error == 0) {
        self->library->clear(result);
    }
    return error;
}

/* ---- Whose turn it is. ----------------------------------------------------------------------- */

static int upgrade(struct tri_postgres *self)
{
    int error = tri_postgres_tables_upgrade(self);
    if (error == 0) {
        error = tri_postgres_records_upgrade(self);
    }
    return error != 0 ? error : tri_postgres_views_upgrade(self);
}

/* Another host has the work, and this one may not take it without being told to. */
static int refuse(struct tri_postgres *self, const struct tri_postgres_host *owner)
{
    return tri_postgres_report(self, TR_STORE_FOREIGN,
                               "the store was last used with the folder %.150s of the host %s, "
                               "where processes of its tasks may still run; use that one or, when "
                               "nothing of it runs any more, type troupe store take-over --store "
                               "%.150s",
                               owner->folder, owner->machine, self->member->folder);
}

/* Whoever works alone has all of the work. */
static int check_alone(struct tri_postgres *self)
{
    bool is_shared = false;
    int error = self->member->is_beside ? 0 : tri_postgres_is_shared(self, &is_shared);
    return error != 0 || !is_shared
               ? error
               : tri_postgres_report(self, TR_STORE_FOREIGN,
                                     "the hosts of this store work beside each other, and each has "
                                     "some of its work; `troupe serve` with `host_address` is one "
                                     "more of them (deploy/HOSTS.md)");
}

/* The host that has the work loses it, since somebody says that nothing of it runs any more. */
static int take_from(struct tri_postgres *self, const struct tri_postgres_host *owner,
                     uint64_t incarnation)
{
    char why[TRI_MEMBER_WHY_BYTES];
    struct tri_fence_row row = {0};
    uint64_t own = self->host;
    self->host = owner->number;
    int error = tri_postgres_read_host(self, true, &row);
    row.incarnation = incarnation;
    if (error == 0) {
        error = tri_postgres_put_fence(self, owner->number, &row);
    }
    self->host = own;
    self->log_host = own;
    (void)snprintf(why, sizeof why, "host %s was taken over by troupe store take-over",
                   owner->number != 0 ? owner->name : "?");
    if (error == 0) {
        error =
            tri_postgres_hand_on(self, owner->number, own, incarnation, TRI_MEMBER_DEAD, NULL, why);
    }
    return error != 0 ? error : tri_postgres_keep(self, owner->number, TRI_MEMBER_PROCESSES_NONE);
}

/*
 * Finds out which host this is, and whether the work is its own or becomes it. One that has some of
 * it opens the store beside others that have the rest.
 */
static int find_turn(struct tri_postgres *self, uint64_t incarnation)
{
    struct tri_postgres_host owner = {.number = 0};
    struct tri_postgres_host own = {.number = 0};
    bool has_some = false;
    int error = tri_postgres_find_owner(self, &owner);
    if (error != 0 || self->member == NULL) {
        self->host = owner.number;
        return error;
    }
    error = tri_postgres_find_member(self, self->member, &own);
    if (error == 0 && own.number != 0) {
        error = tri_postgres_has_partitions(self, own.number, &has_some);
    }
    bool is_anothers = owner.number != 0 && !has_some;
    if (error == 0 && owner.number == 0) {
        error = tri_postgres_find_earlier(self, self->member, &owner, &is_anothers);
    }
    if (error == 0) {
        error = check_alone(self);
    }
    if (error != 0) {
        return error;
    }
    if (is_anothers && !self->takes_over) {
        return refuse(self, &owner);
    }
    error = tri_postgres_enrol(self, self->member, &self->host);
    return error == 0 && !has_some ? take_from(self, &owner, incarnation) : error;
}

/* The numbers go on behind those of all hosts, since the rows of all of them are here. */
static int raise_incarnation(struct tri_postgres *self, struct tri_fence_row *host,
                             uint64_t incarnation)
{
    PGresult *result = NULL;
    int error =
        tri_postgres_query(self, read_last_number, 0, NULL, 1, "reading the last number", &result);
    if (error != 0) {
        return error;
    }
    uint64_t last_number = tri_postgres_number(self, result, 0, 0);
    self->library->clear(result);
    host->last_number = last_number > host->last_number ? last_number : host->last_number;
    const struct tri_fence_row raised = {
        .incarnation = incarnation, .last_number = host->last_number, .commits = host->commits};
    return tri_postgres_put_fence(self, self->host, &raised);
}

/*
 * One transaction: a crash leaves the old store, or one that is upgraded, fenced and ready. The
 * lock is taken within it, once it is known whose.
 */
static int take_over(struct tri_postgres *self, struct tri_fence_row *host, uint64_t *incarnation)
{
    uint64_t partitions = 0;
    int error = tri_postgres_execute(self, "BEGIN", "opening");
    if (error == 0) {
        error = upgrade(self);
    }
    self->format = error == 0 ? TRI_POSTGRES_FORMAT : self->format;
    if (error == 0) {
        error = tri_postgres_draw(self, incarnation);
    }
    if (error == 0) {
        error = tri_postgres_count_partitions(self, &partitions);
    }
    if (error == 0) {
        error = find_turn(self, *incarnation);
    }
    if (error == 0) {
        error = take_lock(self);
    }
    if (error == 0) {
        error = tri_postgres_read_host(self, true, host);
    }
    if (error == 0) {
        error = raise_incarnation(self, host, *incarnation);
    }
    return error != 0 ? error : tri_postgres_execute(self, "COMMIT", "raising the incarnation");
}

int tri_postgres_take_over(struct tri_postgres *self)
{
    struct tri_fence_row host = {0};
    uint64_t incarnation = 0;
    int error = take_over(self, &host, &incarnation);
    if (error != 0) {
        tri_postgres_rollback(self);
        return error;
    }
    tri_fence_take(&self->fence, &self->store, &host, incarnation);
    self->store.host = self->member != NULL ? self->host : 0;
    self->is_claimed = self->member != NULL;
    self->member = NULL; /* it is the caller's, and known by its number from now on */
    return tri_postgres_name_session(self);
}

/* ---- In the place of a lost host. ------------------------------------------------------------ */

/* How often a turn is waited for, each time for as long as lock_timeout says. */
#define TURNS_MAX 10

static int run_on_turn(struct tri_postgres *self, const char *sql, uint64_t host, const char *what)
{
    char key[32];
    const char *parameters[] = {key};
    PGresult *result = NULL;
    uint32_t object = self->schema_oid + (uint32_t)(host * 0x85ebca6bU);
    (void)snprintf(key, sizeof key, "%llu",
                   (unsigned long long)(((uint64_t)TRI_POSTGRES_APPLICATION + 2) << 32 | object));
    int error = tri_postgres_query(self, sql, 1, parameters, 0, what, &result);
    if (error == 0) {
        self->library->clear(result);
    }
    return error;
}

int tri_postgres_take_turn(struct tri_postgres *self, uint64_t host)
{
    int error = TR_BUSY;
    for (int i = 0; i < TURNS_MAX && error == TR_BUSY && self->connection != NULL; i++) {
        error = run_on_turn(self, "SELECT pg_advisory_lock($1::bigint)", host,
                            "waiting for who does the same");
    }
    return error;
}

int tri_postgres_end_turn(struct tri_postgres *self, uint64_t host)
{
    return run_on_turn(self, "SELECT pg_advisory_unlock($1::bigint)", host,
                       "letting others do the same");
}

static int check_lost(struct tri_postgres *self)
{
    bool has_some = false;
    int error = tri_postgres_has_partitions(self, self->host, &has_some);
    return error != 0 || !has_some
               ? error
               : tri_postgres_report(self, TR_INVALID,
                                     "host %llu has some of the work of the store",
                                     (unsigned long long)self->host);
}

int tri_postgres_stand_in(struct tri_postgres *self, uint64_t host)
{
    struct tri_fence_row row = {0};
    self->host = host;
    self->log_host = host;
    int error = tri_postgres_take_turn(self, host);
    if (error == 0) {
        error = check_lost(self);
    }
    if (error == 0) {
        error = tri_postgres_read_host(self, false, &row);
    }
    if (error == 0) {
        tri_fence_take(&self->fence, &self->store, &row, row.incarnation);
        error = tri_postgres_name_session(self);
    }
    return error;
}

/* ---- A connection that was lost. ------------------------------------------------------------- */

static int end_earlier_session(struct tri_postgres *self)
{
    char key[32];
    char name[TRI_POSTGRES_NAME_BYTES];
    const char *parameters[] = {key, name};
    lock_key(self, key, sizeof key);
    tri_postgres_session_name(self, name);
    PGresult *result = NULL;
    int error = tri_postgres_query(self, end_session, 2, parameters, 0,
                                   "ending the earlier session", &result);
    if (error == 0) {
        self->library->clear(result);
    }
    return error;
}

int tri_postgres_replace_session(struct tri_postgres *self)
{
    int error = end_earlier_session(self);
    return error != 0 ? error : take_lock(self);
}

/* A writer's connection is made: nothing is written before all of this. */
static int claim_again(struct tri_postgres *self)
{
    struct tri_fence_row host = {0};
    int error = tri_postgres_replace_session(self);
    if (error == TR_STORE_LOCKED) {
        return tri_postgres_say_fenced(self); /* else the words name who has it */
    }
    if (error == 0) {
        error = tri_postgres_read_host(self, true, &host);
    }
    if (error != 0) {
        return error;
    }
    error = tri_fence_settle(&self->fence, &self->store, &host);
    if (error != 0) {
        tri_fence_explain(&self->fence, &self->store, &host, self->place, self->words);
    }
    return error == TR_FENCED ? tri_postgres_say_fenced(self) : error;
}

int tri_postgres_resume(struct tri_postgres *self)
{
    if (self->patience_ms > 0) {
        return self->has_moment && self->connection != NULL ? 0 : TR_BUSY;
    }
    if (self->connection != NULL || self->broken != 0) {
        return self->broken;
    }
    int error = tri_postgres_connect(self);
    if (error == TR_STORE_FAILED) {
        error = TR_BUSY; /* it could be reached before */
    } else if (error == 0 && !self->read_only) {
        error = claim_again(self);
    }
    if (error != 0) {
        tri_postgres_disconnect(self);
    }
    if (error == TR_FENCED || error == TR_STORE_FAILED || error == TR_STORE_DAMAGED) {
        self->broken = error;
    }
    return error;
}
