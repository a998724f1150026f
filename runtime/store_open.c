/*
 * Which database a store is in. It stands above the rooms of both, since the back ends do not know
 * each other.
 */
#include "runtime/store_open.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/journal/reader_ops.h"
#include "runtime/journal/store_folder.h"
#include "runtime/link/entry_locator.h"
#include "runtime/postgres/postgres.h"
#include "runtime/remote/remote_reader.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/store_files.h"
#include "runtime/store_place.h"

int tri_store_check_locator(const char *locator, char *explain)
{
    if (tri_postgres_is_locator(locator)) {
        return tri_postgres_check_locator(locator, explain);
    }
    (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                   "the locator of a database begins with postgresql://");
    return TR_INVALID;
}

/* What is wrong in the file of a folder was not typed by whoever uses the folder. */
static int report_bound(const char *folder, int error, const char *words, char *explain)
{
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s/" TRI_STORE_FOLDER_DATABASE ": %.*s",
                       folder, TRI_STORE_EXPLAIN_BYTES / 2, words);
    }
    return error == TR_INVALID ? TR_STORE_DAMAGED : error;
}

int tri_store_locate(const char *folder, const char **locator, char *explain, char *bound)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    if (*locator != NULL) {
        return tri_store_check_locator(*locator, explain != NULL ? explain : words);
    }
    if (folder == NULL) {
        return 0;
    }
    int error = tri_store_folder_locator(folder, explain, bound);
    if (error != 0 || bound[0] == '\0') {
        return error;
    }
    error = tri_store_check_locator(bound, words);
    if (error != 0) {
        return report_bound(folder, error, words, explain);
    }
    *locator = bound;
    return 0;
}

int tri_store_describe_member(const char *folder, uint8_t *place,
                              char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1],
                              struct tri_store_member *member, char *explain)
{
    size_t size = 0;
    int error = tri_store_folder_make(folder, explain);
    if (error == 0) {
        error = tri_store_place_ensure(folder, place, &size, explain);
    }
    if (error != 0) {
        return error;
    }
    memset(machine, 0, TRI_STORE_MEMBER_NAME_BYTES_MAX + 1);
    (void)gethostname(machine, TRI_STORE_MEMBER_NAME_BYTES_MAX);
    member->place = (struct tr_bytes){.data = place, .size = size};
    member->machine = machine;
    member->folder = folder;
    return 0;
}

/* A store in a database has hosts; this engine is that of its folder. */
static int open_as_host(const struct tri_store_options *given, char *explain,
                        struct tri_store **store)
{
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
    struct tri_store_options options = *given;
    struct tri_store_member member = {.blobs = ""};
    if (given->member != NULL) {
        member = *given->member;
    }
    int error = tri_store_describe_member(given->folder, place, machine, &member, explain);
    options.member = &member;
    return error != 0 ? error : tri_postgres_open(&options, explain, store);
}

static int refuse_folder(const char *folder, char *explain)
{
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "the store %.300s is in its folder, and has one host; several share one "
                       "in PostgreSQL",
                       folder != NULL ? folder : "");
    }
    return TR_INVALID;
}

int tri_store_settle(const struct tri_store_options *given, uint64_t host, char *explain)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    struct tri_store_options options = *given;
    int error = tri_store_locate(given->folder, &options.locator, explain, bound);
    if (error == 0 && options.locator == NULL) {
        error = refuse_folder(given->folder, explain);
    }
    return error != 0 ? error : tri_postgres_settle(&options, host, explain);
}

int tri_store_registry_open(const char *folder, const char *locator, bool read_only, char *explain,
                            struct tri_registry **registry)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    struct tri_store_options options = {.locator = locator, .read_only = read_only};
    int error = tri_store_locate(folder, &options.locator, explain, bound);
    if (error == 0 && options.locator == NULL) {
        return refuse_folder(folder, explain);
    }
    return error != 0 ? error : tri_postgres_registry_open(&options, explain, registry);
}

int tr_reader_members(struct tr_reader *reader, struct tri_member_view *view)
{
    return reader->ops->members == NULL ? TR_NOT_FOUND : reader->ops->members(reader, view);
}

int tri_store_open(const struct tri_store_options *given, char *explain, struct tri_store **store)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tri_store_options options = *given;
    explain = explain != NULL ? explain : words;
    int error = tri_store_locate(options.folder, &options.locator, explain, bound);
    if (error != 0) {
        return error;
    }
    struct tri_store *opened = NULL;
    bool has_engine = !options.read_only && options.folder != NULL;
    if (options.locator == NULL) {
        error = tri_sqlite_open(&options, explain, &opened);
    } else if (has_engine) {
        error = open_as_host(&options, explain, &opened);
    } else {
        error = tri_postgres_open(&options, explain, &opened);
    }
    if (error == 0 && has_engine && options.vfs == NULL) {
        error = tri_store_files_take(opened, options.folder, options.durability, explain);
    }
    if (error != 0) {
        tri_store_close(opened);
        return error;
    }
    *store = opened;
    return 0;
}

int tr_reader_open(const struct tr_reader_options *given, char *explain, struct tr_reader **reader)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    struct tr_reader_options options = *given;
    if (options.folder != NULL && tri_entry_is_locator(options.folder)) {
        return tri_remote_reader_open(&options, explain, reader);
    }
    int error = tri_store_locate(options.folder, &options.locator, explain, bound);
    if (error != 0) {
        return error;
    }
    struct tr_reader *opened = tri_reader_take_kept(&options);
    if (opened == NULL) {
        error = options.locator == NULL ? tri_sqlite_reader_open(&options, explain, &opened)
                                        : tri_postgres_reader_open(&options, explain, &opened);
        if (error != 0) {
            return error;
        }
        tri_reader_mark(opened, &options);
    }
    *reader = opened;
    return 0;
}
