/*
 * Maps PostgreSQL's errors to ours and to words.
 *
 * What a server says has an SQLSTATE, whose first matching row in a table gives the error. libpq
 * gives none when a connection cannot be made, so those are told by the server's own words, which
 * are shown in any case.
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
     "free space on the database server's disk; the write is kept and retried"},
    {"40003", LOST, ""},
    {"40", TR_BUSY, "it is retried"},
    {"55P03", TR_BUSY, "another session holds a lock; it is retried"},
    {"57014", TR_BUSY, "it was cancelled; it is retried"},
    {"08", LOST, ""},
    {"57P", LOST, ""},
    {"25006", LOST, ""}, /* a server that has become a standby */
    {"XX00", TR_STORE_DAMAGED, "see the server's log, and restore a backup or start a new store"},
    {"42P01", TR_STORE_DAMAGED, "a table is missing: restore a backup or start a new store"},
    {"42703", TR_STORE_DAMAGED, "a column is missing: restore a backup or start a new store"},
    {"42883", TR_STORE_DAMAGED, "a function is missing: restore a backup or start a new store"},
    {"", TR_STORE_FAILED,
     "see the server's log, then start again: whatever was acknowledged is in the store"},
};

/* Why a server cannot be reached, by what it says. */
static const struct {
    const char *words;
    int error;
    const char *remedy;
} refusals[] = {
    {"starting up", TR_BUSY, "it is starting; try again"},
    {"shutting down", TR_BUSY, "it is stopping; try again when it is back"},
    {"in recovery mode", TR_BUSY, "it is recovering; try again"},
    {"too many connections", TR_BUSY, "raise the limit of the role or of the database"},
    {"too many clients", TR_BUSY, "raise max_connections, or end other programs"},
    {"remaining connection slots", TR_BUSY, "raise max_connections, or end other programs"},
    {"password authentication failed", TR_STORE_FAILED,
     "check the user and the password, or the file ~/.pgpass"},
    {"no password supplied", TR_STORE_FAILED,
     "give a password in the locator, in PGPASSWORD or in the file ~/.pgpass"},
    {"no pg_hba.conf entry", TR_STORE_FAILED, "let this user in from here in pg_hba.conf"},
    {"does not exist", TR_STORE_FAILED, "make it with createdb or createuser, or name another"},
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
    return tri_postgres_report(self, TR_STORE_FAILED,
                               "%s: %s, while %s; as its owner type GRANT ALL ON SCHEMA \"%s\" TO "
                               "\"%s\"; GRANT ALL ON ALL TABLES IN SCHEMA \"%s\" TO \"%s\"",
                               self->place, cause, what, self->schema, user, self->schema, user);
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

int tri_postgres_unreachable(struct tri_postgres *self, PGconn *connection)
{
    char words[300];
    copy_words(self->library->errorMessage(connection), words, sizeof words);
    size_t i = 0;
    while (strstr(words, refusals[i].words) == NULL) {
        i++;
    }
    return tri_postgres_report(self, refusals[i].error, "%s cannot be opened: %s; %s", self->place,
                               words, refusals[i].remedy);
}

int tri_postgres_damaged(struct tri_postgres *self, const char *what)
{
    return tri_postgres_report(
        self, TR_STORE_DAMAGED,
        "%s: %s (%s); restore a backup of the database, or start a new store", self->place,
        tr_error_text(TR_STORE_DAMAGED), what);
}
