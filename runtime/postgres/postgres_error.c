/*
 * Maps PostgreSQL's errors to ours and to words.
 *
 * What a server says has an SQLSTATE, whose first matching row in a table gives the error. Its
 * words are in the language that its operator chose, so they are shown and never read. libpq keeps
 * the SQLSTATE of a connection that was refused to itself, unless it is asked for verbose errors,
 * which it takes only for a connection that was tried before: so a server that has refused is asked
 * once more. What libpq itself says is English: this program chooses no other language.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/postgres/postgres_internal.h"

/* A meaning: the connection is unusable. */
#define LOST 1

/* The first row that an SQLSTATE begins with counts. */
static const struct {
    const char *state;
    int error; /* or LOST */
    const char *remedy;
} meanings[] = {
    {"TR001", TR_FENCED, "this engine must end"},
    {"53200", TR_BUSY, "the database server is out of memory; the write is retried"},
    {"53300", TR_BUSY, "the database server has no connection left; the write is retried"},
    {"53", TR_STORE_FULL,
     "free space on the database server's disk; an engine keeps the write and retries it"},
    {"40003", LOST, ""},
    {"40", TR_BUSY, "it is retried"},
    {"55P03", TR_BUSY, "another session holds a lock; it is retried"},
    {"57014", TR_BUSY, "it was cancelled; it is retried"},
    {"08", LOST, ""},
    {"57P", LOST, ""},
    {"25006", LOST, ""}, /* a server that has become a standby */
    {"XX00", TR_STORE_DAMAGED, "see the server's log, and restore a backup or start a new store"},
    {"42P01", TR_STORE_DAMAGED,
     "a table is missing: type troupe store check, which says what helps"},
    {"42703", TR_STORE_DAMAGED,
     "a column is missing: type troupe store check, which says what helps"},
    {"42883", TR_STORE_DAMAGED,
     "a function is missing: type troupe store check, which says what helps"},
    {"", TR_STORE_FAILED,
     "see the server's log, then start again: whatever was acknowledged is in the store"},
};

/* Why a connection cannot be made. */
struct refusal {
    const char *sign; /* a part of libpq's words, or an SQLSTATE's beginning */
    int error;
    const char *remedy;
};

/* Where libpq has not got to the point that the server refuses. */
static const struct refusal libpq_refusals[] = {
    {"could not translate host name", TR_STORE_FAILED, "check the host's name"},
    {"Connection refused", TR_STORE_FAILED, "check that the server runs there"},
    {"No such file or directory", TR_STORE_FAILED, "check that the server runs there"},
    {"timeout expired", TR_STORE_FAILED,
     "check the host and the network, or set connect_timeout in the locator"},
    {"session is read-only", TR_STORE_FAILED,
     "name the server that can be written, or all of them: postgresql://A,B/DATABASE"},
    {"server is in hot standby mode", TR_STORE_FAILED,
     "name the server that can be written, or all of them: postgresql://A,B/DATABASE"},
    {"no password supplied", TR_STORE_FAILED,
     "give a password in the locator, in PGPASSWORD or in the file ~/.pgpass"},
};

/* What a server refuses with. */
static const struct refusal server_refusals[] = {
    {"57P03", TR_BUSY, "it is starting, stopping or recovering; try again"},
    {"57P", TR_BUSY, "it is stopping; try again when it is back"},
    {"53300", TR_BUSY,
     "end other programs, or raise max_connections, or the limit of the role or the database"},
    {"53", TR_BUSY, "it lacks memory or disk; try again when it has some"},
    {"28P01", TR_STORE_FAILED, "check the user and the password, or the file ~/.pgpass"},
    {"28000", TR_STORE_FAILED,
     "make the role with createuser, or let it in from here in the server's pg_hba.conf"},
    {"3D000", TR_STORE_FAILED, "make the database with createdb, or name another"},
    {"42501", TR_STORE_FAILED, "as its owner type GRANT CONNECT ON DATABASE"},
    {"", TR_STORE_FAILED, "check that the server runs there and accepts connections"},
};

int tri_postgres_report(struct tri_postgres *self, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->words, sizeof self->words, format, arguments);
    va_end(arguments);
    return error;
}

/* Copies libpq's words on one line. */
static void copy_words(const char *from, char *words, size_t size)
{
    size_t at = 0;
    for (; *from != '\0' && at + 1 < size; from++) {
        bool is_blank = *from == '\n' || *from == '\t' || *from == ' ';
        if (!is_blank) {
            words[at++] = *from;
        } else if (at > 0 && words[at - 1] != ' ') {
            words[at++] = ' ';
        }
    }
    while (at > 0 && words[at - 1] == ' ') {
        at--;
    }
    words[at] = '\0';
}

int tri_postgres_lost(struct tri_postgres *self, const char *cause)
{
    char words[256];
    copy_words(cause, words, sizeof words);
    tri_postgres_disconnect(self);
    return tri_postgres_report(self, TR_BUSY, "the connection to %s was lost: %s; trying again",
                               self->place, *words != '\0' ? words : "it was closed");
}

int tri_postgres_lacks_rights(struct tri_postgres *self, const char *what, const char *cause)
{
    const char *user = self->library->user(self->connection);
    return tri_postgres_report(
        self, TR_STORE_FAILED,
        "%s: %s, while %s; as its owner type GRANT USAGE ON SCHEMA \"%s\" TO "
        "\"%s\"; GRANT %s ON ALL TABLES IN SCHEMA \"%s\" TO \"%s\"",
        self->place, cause, what, self->schema, user,
        self->read_only ? "SELECT" : "SELECT, INSERT, UPDATE, DELETE", self->schema, user);
}

static int report_state(struct tri_postgres *self, const char *state, const char *cause,
                        const char *what)
{
    if (strcmp(state, "42501") == 0) {
        return tri_postgres_lacks_rights(self, what, cause);
    }
    size_t i = 0;
    while (strncmp(meanings[i].state, state, strlen(meanings[i].state)) != 0) {
        i++;
    }
    if (meanings[i].error == LOST) {
        return tri_postgres_lost(self, cause);
    }
    return tri_postgres_report(self, meanings[i].error, "%s: %s, while %s (PostgreSQL %s: %s); %s",
                               self->place, tr_error_text(meanings[i].error), what, state, cause,
                               meanings[i].remedy);
}

int tri_postgres_error(struct tri_postgres *self, const PGresult *result, const char *what)
{
    const struct tri_libpq *library = self->library;
    ExecStatusType status = library->resultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_PIPELINE_SYNC) {
        return 0;
    }
    if (library->status(self->connection) == CONNECTION_BAD) {
        /* A server that ends a session says why before it does. */
        const char *cause = library->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        return tri_postgres_lost(self,
                                 cause != NULL ? cause : library->errorMessage(self->connection));
    }
    const char *state = library->resultErrorField(result, PG_DIAG_SQLSTATE);
    const char *cause = library->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    char words[256];
    copy_words(cause != NULL ? cause : library->errorMessage(self->connection), words,
               sizeof words);
    if (state == NULL) {
        return result == NULL ? tri_postgres_report(self, TR_MEMORY, "%s: %s, while %s",
                                                    self->place, words, what)
                              : tri_postgres_lost(self, words);
    }
    return report_state(self, state, words, what);
}

/* The SQLSTATE in verbose words: "FATAL:  28P01: …", whatever the language; or "". */
static void find_state(const char *words, char state[6])
{
    const char *at = words;
    state[0] = '\0';
    while (state[0] == '\0' && (at = strstr(at, ":  ")) != NULL) {
        at += 3;
        size_t size = strspn(at, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (size == 5 && at[size] == ':') {
            (void)snprintf(state, 6, "%s", at);
        }
    }
}

static const struct refusal *find_refusal(struct tri_postgres *self, PGconn *connection,
                                          const char *words)
{
    char state[6];
    for (size_t i = 0; i < TR_COUNT_OF(libpq_refusals); i++) {
        if (strstr(words, libpq_refusals[i].sign) != NULL) {
            return &libpq_refusals[i];
        }
    }
    (void)self->library->setErrorVerbosity(connection, PQERRORS_VERBOSE);
    self->library->reset(connection);
    find_state(self->library->errorMessage(connection), state);
    size_t i = 0;
    while (strncmp(server_refusals[i].sign, state, strlen(server_refusals[i].sign)) != 0) {
        i++;
    }
    return &server_refusals[i];
}

int tri_postgres_unreachable(struct tri_postgres *self, PGconn *connection)
{
    char words[300];
    copy_words(self->library->errorMessage(connection), words, sizeof words);
    const struct refusal *refusal = find_refusal(self, connection, words);
    return tri_postgres_report(self, refusal->error, "%s cannot be opened: %s; %s", self->place,
                               words, refusal->remedy);
}

int tri_postgres_damaged(struct tri_postgres *self, const char *what)
{
    return tri_postgres_report(
        self, TR_STORE_DAMAGED,
        "%s: %s (%s); restore a backup of the database, or start a new store", self->place,
        tr_error_text(TR_STORE_DAMAGED), what);
}
