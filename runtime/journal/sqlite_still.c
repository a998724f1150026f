/*
 * Reading a store where nothing may be written, such as on a read-only mount or in another user's
 * folder. SQLite wants to make files beside a database with a log; a store that was closed has no
 * log, and is read as what nobody changes. That is so until an engine begins on it: a command that
 * looks again checks for that first.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/journal/sqlite_internal.h"

/* A path as a URI, in which each byte may be three. */
#define URI_BYTES (3 * TRI_SQLITE_PATH_BYTES + 32)

/* What is behind the store's path with an ending; all zeros where there is nothing. */
static struct stat look_at(const struct tri_sqlite *self, const char *ending)
{
    char path[TRI_SQLITE_PATH_BYTES + 8];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s%s", self->path, ending);
    return stat(path, &status) == 0 ? status : (struct stat){.st_size = 0};
}

static void write_uri(const struct tri_sqlite *self, char uri[URI_BYTES])
{
    size_t size = (size_t)snprintf(uri, URI_BYTES, "file:");
    for (const char *at = self->path; *at != '\0'; at++) {
        bool is_plain = strchr("%?#", *at) == NULL;
        size += is_plain ? (size_t)snprintf(uri + size, URI_BYTES - size, "%c", *at)
                         : (size_t)snprintf(uri + size, URI_BYTES - size, "%%%02X", *at);
    }
    (void)snprintf(uri + size, URI_BYTES - size, "?immutable=1");
}

int tri_sqlite_open_still(struct tri_sqlite *self)
{
    char uri[URI_BYTES];
    if (look_at(self, "-wal").st_size > 0) {
        return tri_sqlite_say(
            self, TR_STORE_FAILED,
            "%s: was not closed in order, and its log cannot be read where nothing "
            "may be written; copy the folder to where you may write, and look "
            "there",
            self->path);
    }
    int code = sqlite3_close(self->database);
    TR_ASSERT(code == SQLITE_OK);
    self->database = NULL;
    self->seen = look_at(self, "");
    write_uri(self, uri);
    code = sqlite3_open_v2(
        uri, &self->database,
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    self->is_still = true;
    return tri_sqlite_error(self, code, "opening it");
}

bool tri_sqlite_is_stale(const struct tri_sqlite *self)
{
    struct stat now = look_at(self, "");
    return self->is_still &&
           (look_at(self, "-wal").st_ino != 0 || now.st_ino != self->seen.st_ino ||
            now.st_size != self->seen.st_size || now.st_mtim.tv_sec != self->seen.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != self->seen.st_mtim.tv_nsec);
}
