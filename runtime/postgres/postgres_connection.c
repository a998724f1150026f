/*
 * One connection: how it is made, and queries on it.
 *
 * Whoever calls is the journal's thread, so nothing waits for long: a server that does not answer
 * is given up after some seconds, and a connection that is silently dead is found out by the
 * system's own probes (the locator may say otherwise). The server is asked to find out the same
 * about us, or it would hold the store's lock for a host that is gone.
 */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/postgres/postgres_internal.h"

/* The first server version that is supported, as libpq counts. */
#define SERVER_VERSION_MIN 130000

/* What the locator does not say. */
static const struct {
    const char *keyword;
    const char *value;
} defaults[] = {
    {"connect_timeout", "3"},  {"keepalives_idle", "5"},      {"keepalives_interval", "2"},
    {"keepalives_count", "3"}, {"tcp_user_timeout", "10000"},
};

/*
 * The schema: the first name of search_path, where the default begins with "$user". The pattern
 * takes a name in double quotes, or one without.
 */
static const char find_session[] =
    "SELECT coalesce(nullif((parse_ident((regexp_match(current_setting('search_path'),"
    " '^\\s*(\"(?:[^\"]|\"\")+\"|[^,\"\\s]+)'))[1]))[1], '$user'), 'troupe'),"
    " current_setting('server_encoding')";

static const char set_session[] =
    "SELECT set_config('search_path', quote_ident($1), false),"
    " set_config('synchronous_commit', $2, false), set_config('lock_timeout', '3000', false),"
    " set_config('statement_timeout', $5, false),"
    " set_config('idle_in_transaction_session_timeout', '0', false),"
    " set_config('tcp_keepalives_idle', '5', false),"
    " set_config('tcp_keepalives_interval', '2', false),"
    " set_config('tcp_keepalives_count', '3', false),"
    " set_config('tcp_user_timeout', '10000', false), set_config('jit', 'off', false),"
    " set_config('default_transaction_read_only', $3, false),"
    " set_config('application_name', $4, false)";

/*
 * A writer's plans are made once and for any number of rows, with the primary keys: a table that
 * was small when its statement was planned does not stay so.
 */
static const char set_plans[] =
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false),"
    " set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),"
    " set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false)";

/*
 * A reader's are made for the values of a query, of which some have few rows and others many. They
 * walk along indexes, which give a page's first rows without the others.
 */
static const char set_plans_of_reader[] =
    "SELECT set_config('plan_cache_mode', 'force_custom_plan', false),"
    " set_config('random_page_cost', '1.1', false), set_config('enable_seqscan', 'off', false),"
    " set_config('enable_bitmapscan', 'off', false), set_config('enable_hashjoin', 'off', false),"
    " set_config('enable_mergejoin', 'off', false),"
    " set_config('max_parallel_workers_per_gather', '0', false)";

/* libpq prints notices on stderr otherwise. */
static void ignore_notice(void *self, const char *words)
{
    (void)self;
    (void)words;
}

void tri_postgres_disconnect(struct tri_postgres *self)
{
    if (self->connection != NULL) {
        self->library->finish(self->connection);
        self->connection = NULL;
    }
    memset(self->prepared, 0, sizeof self->prepared);
    tri_postgres_records_forget(self);
}

/* How errors begin. */
static void name_place(struct tri_postgres *self, PGconn *connection)
{
    const char *host = self->library->host(connection);
    const char *database = self->library->db(connection);
    (void)snprintf(self->place, sizeof self->place, "the database \"%.63s\" at %.120s",
                   database != NULL ? database : "", host != NULL && *host != '\0' ? host : "?");
}

static int make_connection(struct tri_postgres *self, PGconn **connection)
{
    const char *keywords[TR_COUNT_OF(defaults) + 5] = {0};
    const char *values[TR_COUNT_OF(defaults) + 5] = {0};
    size_t count = 0;
    for (; count < TR_COUNT_OF(defaults); count++) {
        keywords[count] = defaults[count].keyword;
        values[count] = defaults[count].value;
    }
    /* Of several servers, the one that can be written. */
    keywords[count] = "target_session_attrs";
    values[count++] = self->read_only ? "any" : "read-write";
    /* The locator overrides what stands before it, and what stands behind overrides it. */
    keywords[count] = "dbname";
    values[count++] = self->locator;
    keywords[count] = "client_encoding";
    values[count++] = "UTF8";
    keywords[count] = "application_name";
    values[count++] = "troupe";
    *connection = self->library->connectdbParams(keywords, values, 1);
    return *connection != NULL
               ? 0
               : tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

static int read_session(struct tri_postgres *self)
{
    PGresult *result = NULL;
    int error = tri_postgres_query(self, find_session, 0, NULL, 0, "reading its settings", &result);
    if (error != 0) {
        return error;
    }
    const char *encoding = tri_postgres_text(self, result, 0, 1);
    if (strcmp(encoding, "UTF8") != 0) {
        error = tri_postgres_report(self, TR_STORE_FAILED,
                                    "%s has the encoding %s; make one with createdb --encoding "
                                    "UTF8 --template template0",
                                    self->place, encoding);
    }
    (void)snprintf(self->schema, sizeof self->schema, "%s", tri_postgres_text(self, result, 0, 0));
    self->library->clear(result);
    return error;
}

/* A schema's name may be as long as all of it, so only its beginning is taken. */
void tri_postgres_session_name(const struct tri_postgres *self, char name[TRI_POSTGRES_NAME_BYTES])
{
    char what[32];
    (void)snprintf(what, sizeof what, "%s", self->task);
    if (!self->read_only && self->store.incarnation != 0) {
        (void)snprintf(what, sizeof what, "%llu/%llu%s", (unsigned long long)self->host,
                       (unsigned long long)self->store.incarnation,
                       self->part != NULL ? self->part : "");
    }
    (void)snprintf(name, TRI_POSTGRES_NAME_BYTES, "troupe/%.28s/%.24s", self->schema, what);
}

void tri_postgres_sessions_of(const struct tri_postgres *self, uint64_t host,
                              char name[TRI_POSTGRES_NAME_BYTES])
{
    (void)snprintf(name, TRI_POSTGRES_NAME_BYTES, "troupe/%.28s/%llu/", self->schema,
                   (unsigned long long)host);
}

static int set_up_session(struct tri_postgres *self)
{
    char name[TRI_POSTGRES_NAME_BYTES];
    char patience[16];
    tri_postgres_session_name(self, name);
    (void)snprintf(patience, sizeof patience, "%d", self->patience_ms);
    const char *parameters[] = {self->schema, self->durability == TR_DURABILITY_FULL ? "on" : "off",
                                self->read_only ? "on" : "off", name, patience};
    PGresult *result = NULL;
    int error = tri_postgres_query(self, set_session, TR_COUNT_OF(parameters), parameters, 0,
                                   "setting up the session", &result);
    if (error != 0) {
        return error;
    }
    self->library->clear(result);
    return tri_postgres_execute(self, self->patience_ms > 0 ? set_plans_of_reader : set_plans,
                                "setting up the session");
}

static int check_server(struct tri_postgres *self)
{
    int version = self->library->serverVersion(self->connection);
    if (version < SERVER_VERSION_MIN) {
        return tri_postgres_report(self, TR_STORE_FAILED,
                                   "%s is served by PostgreSQL %d, and 13 or later is needed",
                                   self->place, version / 10000);
    }
    int error = read_session(self);
    return error != 0 ? error : set_up_session(self);
}

int tri_postgres_connect(struct tri_postgres *self)
{
    PGconn *connection = NULL;
    int error = make_connection(self, &connection);
    if (error != 0) {
        return error;
    }
    name_place(self, connection);
    if (self->library->status(connection) != CONNECTION_OK) {
        error = tri_postgres_unreachable(self, connection);
        self->library->finish(connection);
        return error;
    }
    (void)self->library->setNoticeProcessor(connection, ignore_notice, NULL);
    self->connection = connection;
    self->connections++;
    error = check_server(self);
    if (error != 0) {
        tri_postgres_disconnect(self);
    }
    return error;
}

/*
 * Waits until a result can be taken without blocking; false: nothing has come for too long. Without
 * a bound the taking waits.
 */
static bool wait_for_answer(const struct tri_postgres *self)
{
    const struct tri_libpq *library = self->library;
    bool is_answered = true;
    while (is_answered && self->patience_ms > 0 && library->isBusy(self->connection) != 0) {
        struct pollfd descriptor = {.fd = library->socket(self->connection), .events = POLLIN};
        int ready = poll(&descriptor, 1, self->patience_ms);
        is_answered = ready != 0;
        if (ready > 0 && library->consumeInput(self->connection) == 0) {
            break; /* lost, which the result says */
        }
    }
    return is_answered;
}

/* Takes the last result of what was sent, which is an error if there was one. */
static int take_result(struct tri_postgres *self, int is_sent, const char *what, PGresult **result)
{
    const struct tri_libpq *library = self->library;
    PGresult *last = NULL;
    PGresult *next = NULL;
    do {
        if (is_sent != 0 && !wait_for_answer(self)) {
            char words[64];
            library->clear(last);
            (void)snprintf(words, sizeof words, "it has not answered for %d ms", self->patience_ms);
            return tri_postgres_lost(self, words);
        }
        next = is_sent != 0 ? library->getResult(self->connection) : NULL;
        if (next != NULL) {
            library->clear(last);
            last = next;
        }
    } while (next != NULL);
    int error = tri_postgres_error(self, last, what);
    if (error != 0) {
        library->clear(last);
        return error;
    }
    *result = last;
    return 0;
}

int tri_postgres_execute(struct tri_postgres *self, const char *sql, const char *what)
{
    PGresult *result = NULL;
    int is_sent = self->library->sendQuery(self->connection, sql);
    int error = take_result(self, is_sent, what, &result);
    if (error == 0) {
        self->library->clear(result);
    }
    return error;
}

int tri_postgres_run(struct tri_postgres *self, const char *sql,
                     const struct tri_postgres_parameters *parameters, int result_format,
                     const char *what, PGresult **result)
{
    static const struct tri_postgres_parameters none = {0};
    const struct tri_postgres_parameters *with = parameters != NULL ? parameters : &none;
    int is_sent =
        self->library->sendQueryParams(self->connection, sql, (int)with->count, with->types,
                                       with->values, with->sizes, with->formats, result_format);
    return take_result(self, is_sent, what, result);
}

int tri_postgres_query(struct tri_postgres *self, const char *sql, size_t count,
                       const char *const *parameters, int result_format, const char *what,
                       PGresult **result)
{
    struct tri_postgres_parameters texts = {.count = count, .values = parameters};
    return tri_postgres_run(self, sql, &texts, result_format, what, result);
}

int tri_postgres_prepare(struct tri_postgres *self, const char *name, const char *sql,
                         const struct tri_postgres_parameters *parameters)
{
    PGresult *result = NULL;
    int is_sent = self->library->sendPrepare(self->connection, name, sql, (int)parameters->count,
                                             parameters->types);
    int error = take_result(self, is_sent, "preparing a query", &result);
    if (error == 0) {
        self->library->clear(result);
    }
    return error;
}

int tri_postgres_run_prepared(struct tri_postgres *self, const char *name,
                              const struct tri_postgres_parameters *parameters, const char *what,
                              PGresult **result)
{
    int is_sent = self->library->sendQueryPrepared(self->connection, name, (int)parameters->count,
                                                   parameters->values, parameters->sizes,
                                                   parameters->formats, 1);
    return take_result(self, is_sent, what, result);
}

void tri_postgres_rollback(struct tri_postgres *self)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    if (self->connection == NULL) {
        return;
    }
    PGTransactionStatusType status = self->library->transactionStatus(self->connection);
    if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR) {
        memcpy(words, self->words, sizeof words);
        (void)!tri_postgres_execute(self, "ROLLBACK", "ending a transaction");
        memcpy(self->words, words, sizeof words);
    }
}

uint64_t tri_postgres_number(const struct tri_postgres *self, const PGresult *result, int row,
                             int column)
{
    uint64_t value = 0;
    if (self->library->getlength(result, row, column) == (int)sizeof value) {
        memcpy(&value, self->library->getvalue(result, row, column), sizeof value);
    }
    return be64toh(value);
}

const char *tri_postgres_text(const struct tri_postgres *self, const PGresult *result, int row,
                              int column)
{
    return self->library->getvalue(result, row, column);
}
