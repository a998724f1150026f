/*
 * Who may write: the lock, the incarnation, and what follows a lost connection.
 *
 * The lock is an advisory one of the session, keyed by the schema. It ends with the session, so
 * there are no stale locks; but a server may notice late that a client is gone, so whoever wants it
 * waits for a moment (lock_timeout). The lock gives an early error; what protects the data is
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

#include "runtime/postgres/postgres_internal.h"

static const char read_host[] =
    "SELECT incarnation, last_number, commits, checksum FROM host WHERE id = 1";
static const char read_host_for_update[] =
    "SELECT incarnation, last_number, commits, checksum FROM host WHERE id = 1 FOR UPDATE";

/* Who has the lock; a name is that of one incarnation (tri_postgres_session_name). */
#define HOLDERS                                                                                   \
    " FROM pg_locks l JOIN pg_stat_activity a USING (pid)"                                        \
    " WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND pid <> pg_backend_pid()" \
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"          \
    " AND l.classid = ($1::bigint >> 32)::oid AND l.objid = ($1::bigint & 4294967295)::oid"

static const char find_holder[] = "SELECT a.pid::text, coalesce(a.application_name, '')" HOLDERS;
static const char end_session[] =
    "SELECT pg_terminate_backend(a.pid)" HOLDERS " AND a.application_name = $2";

/* That of a log is for one incarnation, since others are fenced anyway. */
static void lock_key(const struct tri_postgres *self, char *text, size_t size)
{
    uint64_t class = TRI_POSTGRES_APPLICATION;
    uint32_t object = self->schema_oid;
    if (self->is_log) {
        class ++;
        object += (uint32_t)(self->store.incarnation * 0x9e3779b1U);
    }
    (void)snprintf(text, size, "%llu", (unsigned long long)(class << 32 | object));
}

int tri_postgres_read_host(struct tri_postgres *self, bool is_for_update,
                           struct tri_fence_row *host)
{
    PGresult *result = NULL;
    int error = tri_postgres_query(self, is_for_update ? read_host_for_update : read_host, 0, NULL,
                                   1, "reading the host's row", &result);
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
    bool is_ours = false;
    error = report_holder(self, &is_ours);
    return error == TR_STORE_LOCKED && is_ours ? TR_BUSY : error;
}

static int raise_incarnation(struct tri_postgres *self, const struct tri_fence_row *host)
{
    char sql[256];
    struct tri_op op = {.key = {host->incarnation + 1, host->last_number}};
    (void)snprintf(sql, sizeof sql,
                   "UPDATE host SET incarnation = %llu, checksum = %u WHERE id = 1; COMMIT",
                   (unsigned long long)host->incarnation + 1, tri_checksum(0, &op));
    return tri_postgres_execute(self, sql, "raising the incarnation");
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

/* One transaction: a crash leaves the old store, or one that is upgraded, fenced and ready. */
static int take_over(struct tri_postgres *self, struct tri_fence_row *host)
{
    int error = tri_postgres_execute(self, "BEGIN", "opening");
    if (error == 0) {
        error = tri_postgres_read_host(self, true, host);
    }
    if (error == 0) {
        error = tri_postgres_tables_upgrade(self);
    }
    if (error == 0) {
        error = tri_postgres_records_upgrade(self);
    }
    if (error == 0) {
        error = tri_postgres_views_upgrade(self);
    }
    return error != 0 ? error : raise_incarnation(self, host);
}

int tri_postgres_take_over(struct tri_postgres *self)
{
    struct tri_fence_row host = {0};
    int error = take_lock(self);
    if (error == 0) {
        error = take_over(self, &host);
    }
    if (error != 0) {
        tri_postgres_rollback(self);
        return error;
    }
    tri_fence_take(&self->fence, &self->store, &host);
    return tri_postgres_name_session(self);
}

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
        return TR_FENCED; /* the words name who has it */
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
    return error;
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
