/*
 * `troupe import FILE`: takes what `export` has packed into a store, all of it or nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/schemas.h"
#include "deploy/connect/connect.h"
#include "deploy/engine/assemble.h"
#include "deploy/engine/import_marks.h"
#include "deploy/transfer/giving.h"
#include "deploy/transfer/unpacking.h"
#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"

static enum tr_exit_status fail(const struct tr_invocation *invocation,
                                const struct tr_unpacking *unpacking, int error)
{
    const char *file = invocation->arguments.words[0];
    const char *words = unpacking->explain[0] != '\0' ? unpacking->explain : tr_error_text(error);
    bool is_users = error == TR_NOT_FOUND || error == TR_MALFORMED || error == TR_TRUNCATED ||
                    error == TR_VERSION || error == TR_EXISTS || error == TR_BUSY;
    return is_users ? tr_command_refused(invocation->command, "%s: %s", file, words)
                    : tr_command_failed(invocation->command, "%s: %s", file, words);
}

/* The store, written by this command alone. A new one is made on the way. */
static enum tr_exit_status open_store(const struct tr_invocation *invocation, const char *folder,
                                      struct tri_store **store)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_program_records,
                                        .record_count = tr_program_record_count,
                                        .views = &tr_history_views};
    int error = tri_store_open(&options, explain, store);
    if (error == TR_STORE_LOCKED) {
        return tr_command_failed(invocation->command,
                                 "%s is being opened or left by an engine; say it again", folder);
    }
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(invocation->command, "%s", explain);
}

static int unpack(struct tr_unpacking *unpacking, struct tri_store *store)
{
    struct tr_reader *reader;
    int error = tr_unpacking_lock(unpacking);
    if (error == 0) {
        error = tr_history_open(unpacking->folder, unpacking->explain, &reader);
    }
    if (error != 0) {
        return error;
    }
    error = tr_unpacking_check(unpacking, reader);
    if (error == 0) {
        error = tr_unpacking_files(unpacking);
    }
    if (error == 0) {
        error = tr_unpacking_commit(unpacking, store, reader);
    }
    tr_reader_close(reader);
    return error;
}

/* An engine for a moment, in which nothing goes on: it spawns the launchers that are needed. */
static enum tr_exit_status spawn_launchers(const struct tr_invocation *invocation,
                                           const struct tr_unpacking *unpacking)
{
    const struct tr_execution *rows = unpacking->executions.items;
    struct tr_live *live = NULL;
    struct tr_live_options options = {.folder = unpacking->folder,
                                      .durability = TR_DURABILITY_FULL,
                                      .command = "import",
                                      .lets_sleep = true};
    int error = 0;
    if (!unpacking->head.is_unfinished) {
        return TR_EXIT_DONE;
    }
    enum tr_exit_status status = tr_connect_as_engine(invocation, &options, &live);
    for (uint32_t i = 0; status == TR_EXIT_DONE && error == 0 && i < unpacking->executions.count;
         i++) {
        struct tr_ref launcher;
        error =
            tr_live_launcher(live, rows[i].project, rows[i].domain, NULL, rows[i].name, &launcher);
    }
    tr_live_close(live);
    return error == 0 ? status : tr_command_failed(invocation->command, "%s", tr_error_text(error));
}

static void print(const struct tr_unpacking *unpacking)
{
    const struct tr_execution *rows = unpacking->executions.items;
    for (uint32_t i = 0; i < unpacking->executions.count; i++) {
        if (rows[i].execution == unpacking->head.execution) {
            printf("%.*s\n", (int)rows[i].name.size, rows[i].name.data);
        }
    }
}

/* What goes on here goes on nowhere else. */
static enum tr_exit_status finish(const struct tr_invocation *invocation,
                                  const struct tr_unpacking *unpacking, bool is_beside)
{
    const char *file = invocation->arguments.words[0];
    print(unpacking);
    if (!unpacking->head.is_unfinished) {
        return TR_EXIT_DONE;
    }
    if (tr_archive_spend(file) != 0) {
        tr_command_note(invocation, "%s cannot be marked as imported (%s): import it nowhere else",
                        file, strerror(errno));
    }
    tr_command_note(invocation, "it goes on with `troupe resume`%s",
                    is_beside ? "" : " or `troupe serve`");
    return TR_EXIT_DONE;
}

/* ----------------------------------------------------------------- beside an engine */

/* Operations from which on it is told how far it is. */
#define PROGRESS_MIN 100000

/* What is told meanwhile. */
struct telling {
    const struct tr_invocation *invocation;
    uint64_t tenths;
    bool has_waited;
};

static void tell_progress(void *self, uint64_t done, uint64_t total)
{
    struct telling *telling = self;
    uint64_t tenths = total == 0 ? 0 : 10 * done / total;
    if (total >= PROGRESS_MIN && tenths > telling->tenths && tenths < 10) {
        telling->tenths = tenths;
        tr_command_note(telling->invocation, "%llu%% is handed over",
                        (unsigned long long)(10 * tenths));
    }
}

static void tell_waiting(void *self, int error)
{
    struct telling *telling = self;
    if (!telling->has_waited) {
        telling->has_waited = true;
        tr_command_note(telling->invocation,
                        "the store cannot be written now: %s; it is taken in as soon as it can be",
                        tr_error_text(error));
    }
}

static int check_history(struct tr_unpacking *unpacking)
{
    struct tr_reader *reader;
    int error = tr_history_open(unpacking->folder, unpacking->explain, &reader);
    if (error != 0) {
        return error;
    }
    error = tr_unpacking_check(unpacking, reader);
    tr_reader_close(reader);
    return error;
}

static int give(const struct tr_invocation *invocation, struct tr_unpacking *unpacking,
                struct tri_client *client)
{
    struct telling telling = {.invocation = invocation};
    struct tr_giving_told told = {
        .self = &telling, .progress = tell_progress, .waits = tell_waiting};
    bool is_last;
    int error = tr_unpacking_lock(unpacking);
    if (error == 0) {
        error = check_history(unpacking);
    }
    if (error == 0) {
        error = tr_unpacking_files(unpacking);
    }
    if (error != 0) {
        return error;
    }
    error = tr_giving(unpacking, client, &told, &is_last);
    if (error == TR_NO_CONNECTION && is_last && tr_giving_has_come(unpacking)) {
        return 0;
    }
    if (error == TR_NO_CONNECTION) {
        snprintf(unpacking->explain, TRI_STORE_EXPLAIN_BYTES,
                 "the engine has gone, and nothing is taken in; say it again");
    }
    return error;
}

/* Into a store with a live engine, by that engine. */
static enum tr_exit_status import_beside(const struct tr_invocation *invocation,
                                         struct tr_unpacking *unpacking, struct tri_client *client)
{
    int error = give(invocation, unpacking, client);
    if (error == TR_BUSY) { /* of the engine: it is no fault of the file */
        return tr_command_failed(invocation->command, "%s: %s", invocation->arguments.words[0],
                                 unpacking->explain);
    }
    return error == 0 ? finish(invocation, unpacking, true) : fail(invocation, unpacking, error);
}

/* --------------------------------------------------------------------------- alone */

/* An engine for a moment: it forgets what an import into the engine before has left unfinished. */
static enum tr_exit_status clean(const struct tr_invocation *invocation,
                                 const struct tr_unpacking *unpacking, struct tri_store **store)
{
    struct tr_live *live = NULL;
    struct tr_buffer marks;
    struct tr_live_options options = {.folder = unpacking->folder,
                                      .durability = TR_DURABILITY_FULL,
                                      .command = "import",
                                      .lets_sleep = true};
    tr_buffer_init(&marks, 0);
    int error = tr_import_marks_read(*store, &marks);
    bool is_clean = error == 0 && marks.size == 0;
    tr_buffer_fini(&marks);
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tri_store_explain(*store));
    }
    if (is_clean) {
        return TR_EXIT_DONE;
    }
    tri_store_close(*store);
    *store = NULL;
    enum tr_exit_status status = tr_connect_as_engine(invocation, &options, &live);
    tr_live_close(live);
    return status == TR_EXIT_DONE ? open_store(invocation, unpacking->folder, store) : status;
}

static enum tr_exit_status import_alone(const struct tr_invocation *invocation,
                                        struct tr_unpacking *unpacking)
{
    struct tri_store *store = NULL;
    enum tr_exit_status status = spawn_launchers(invocation, unpacking);
    if (status == TR_EXIT_DONE) {
        status = open_store(invocation, unpacking->folder, &store);
    }
    if (status == TR_EXIT_DONE) {
        status = clean(invocation, unpacking, &store);
    }
    if (status == TR_EXIT_DONE) {
        int error = unpack(unpacking, store);
        status =
            error == 0 ? finish(invocation, unpacking, false) : fail(invocation, unpacking, error);
    }
    tri_store_close(store);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place place;
    struct tri_client *client = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_unpacking unpacking = {.folder = place.folder, .explain = explain};
    enum tr_exit_status status = tr_store_find(invocation, true, &place);
    if (status == TR_EXIT_DONE) {
        int error = tr_unpacking_open(&unpacking, invocation->arguments.words[0]);
        status = error == 0 ? TR_EXIT_DONE : fail(invocation, &unpacking, error);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_connect_if_live(invocation, place.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = client != NULL ? import_beside(invocation, &unpacking, client)
                                : import_alone(invocation, &unpacking);
    }
    tri_client_close(client);
    tr_unpacking_fini(&unpacking);
    return status;
}

const struct tr_command tr_command_import = {
    .name = "import",
    .summary = "take an execution in that `export` has packed",
    .words = "FILE",
    .text =
        "Reads the whole file first: one that is damaged, cut off, or of a newer program is\n"
        "refused, and nothing is changed. The store has no execution of that name. If it has an\n"
        "engine, that one takes it in beside its work. What has not ended is dormant there until\n"
        "`troupe resume`, or until the next `troupe serve`.",
    .examples = "  troupe import nightly.troupe\n"
                "  troupe import nightly.troupe --store /srv/troupe",
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
