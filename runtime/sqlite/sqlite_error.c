/*
 * Maps SQLite's results to our errors and to words.
 *
 * One table has the error for each of SQLite's result codes; another the remedy for each error. Two
 * system errors are checked beneath SQLite's code, because it reports them as I/O errors: an
 * exceeded quota is a full disk.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"

/* The first matching row counts: extended codes come before their primary code. */
static const struct {
    int code;
    int error;
} meanings[] = {
    {SQLITE_OK, 0},
    {SQLITE_ROW, 0},
    {SQLITE_DONE, 0},
    {SQLITE_FULL, TR_STORE_FULL},
    {SQLITE_IOERR_NOMEM, TR_MEMORY},
    {SQLITE_IOERR_CORRUPTFS, TR_STORE_DAMAGED},
    {SQLITE_IOERR, TR_STORE_FAILED},
    {SQLITE_CORRUPT, TR_STORE_DAMAGED},
    /* The first bytes were ours (sqlite_file.c), so a file that SQLite cannot read is damaged. */
    {SQLITE_NOTADB, TR_STORE_DAMAGED},
    {SQLITE_FORMAT, TR_STORE_DAMAGED},
    /*
     * Statements are fixed and tested, so tables or rows that do not fit them are damaged as well.
     */
    {SQLITE_ERROR, TR_STORE_DAMAGED},
    {SQLITE_CONSTRAINT, TR_STORE_DAMAGED},
    {SQLITE_MISMATCH, TR_STORE_DAMAGED},
    {SQLITE_BUSY, TR_BUSY},
    {SQLITE_LOCKED, TR_BUSY},
    {SQLITE_PROTOCOL, TR_BUSY},
    {SQLITE_NOMEM, TR_MEMORY},
    {SQLITE_TOOBIG, TR_LIMIT},
    {SQLITE_CANTOPEN, TR_STORE_FAILED},
    {SQLITE_READONLY, TR_STORE_FAILED},
    {SQLITE_PERM, TR_STORE_FAILED},
    {SQLITE_AUTH, TR_STORE_FAILED},
    {SQLITE_NOLFS, TR_STORE_FAILED},
};

static const struct {
    int error;
    const char *remedy;
} remedies[] = {
    {TR_STORE_FULL, "free space on its disk; the write is kept and retried"},
    {TR_STORE_FAILED, "check the disk and the folder's permissions, then start again: "
                      "whatever was acknowledged is in the store"},
    {TR_STORE_DAMAGED, "keep a copy of the folder, and restore a backup or start a new store"},
    {TR_BUSY, "end the other program that has the database open; the write is retried"},
    {TR_MEMORY, "out of memory; try again"},
};

static int meaning_of(int code, int system_error)
{
    bool full = system_error == ENOSPC || system_error == EDQUOT;
    if ((code & 0xff) == SQLITE_IOERR && full) {
        return TR_STORE_FULL;
    }
    for (size_t i = 0; i < TR_COUNT_OF(meanings); i++) {
        if (meanings[i].code == code || meanings[i].code == (code & 0xff)) {
            return meanings[i].error;
        }
    }
    /* SQLITE_MISUSE, SQLITE_RANGE and the like are bugs of ours. */
    TR_ASSERT(code != SQLITE_MISUSE && code != SQLITE_RANGE);
    return TR_STORE_FAILED;
}

static const char *remedy_of(int error)
{
    for (size_t i = 0; i < TR_COUNT_OF(remedies); i++) {
        if (remedies[i].error == error) {
            return remedies[i].remedy;
        }
    }
    return tr_error_text(error);
}

int tri_sqlite_report(struct tri_sqlite *self, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->words, sizeof self->words, format, arguments);
    va_end(arguments);
    return error;
}

int tri_sqlite_error(struct tri_sqlite *self, int code, const char *what)
{
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) {
        return 0;
    }
    int system_error = self->database != NULL ? sqlite3_system_errno(self->database) : 0;
    int error = meaning_of(code, system_error);
    /* SQLite's own words name the table or the page, but only for its latest call. */
    bool latest = self->database != NULL && sqlite3_extended_errcode(self->database) == code;
    const char *cause = latest ? sqlite3_errmsg(self->database) : sqlite3_errstr(code);
    bool io = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    const char *system = io && system_error != 0 ? strerror(system_error) : "";
    return tri_sqlite_report(self, error, "%s: %s, while %s (SQLite %d: %s%s%s); %s", self->path,
                             tr_error_text(error), what, code, cause, *system != '\0' ? ": " : "",
                             system, remedy_of(error));
}

int tri_sqlite_file_error(const char *path, int code, const char *what, char *words)
{
    if (code == SQLITE_OK) {
        return 0;
    }
    int system_error = errno;
    int error = meaning_of(code, system_error);
    (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES, "%s: %s, while %s (SQLite %d: %s%s%s); %s", path,
                   tr_error_text(error), what, code, sqlite3_errstr(code),
                   system_error != 0 ? ": " : "", system_error != 0 ? strerror(system_error) : "",
                   remedy_of(error));
    return error;
}

int tri_sqlite_damaged(struct tri_sqlite *self, const char *what)
{
    return tri_sqlite_report(self, TR_STORE_DAMAGED, "%s: %s (%s); %s", self->path,
                             tr_error_text(TR_STORE_DAMAGED), what, remedy_of(TR_STORE_DAMAGED));
}
