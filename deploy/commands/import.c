/*
 * `troupe import FILE`: takes what `export` has packed into a store, all of it or nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/connect.h"
#include "deploy/cli/store.h"
#include "deploy/common/schemas.h"
#include "deploy/engine/assemble.h"
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
                                 "%s has an engine, and only a store without one can take "
                                 "something in; end the engine first",
                                 folder);
    }
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(invocation->command, "%s", explain);
}

static int unpack(struct tr_unpacking *unpacking, struct tri_store *store)
{
    struct tr_reader *reader;
    int error = tr_history_open(unpacking->folder, unpacking->explain, &reader);
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
        error = tr_live_launcher(live, rows[i].project, rows[i].domain, &launcher);
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
                                  const struct tr_unpacking *unpacking)
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
    tr_command_note(invocation, "it goes on with `troupe resume` or `troupe serve`");
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place place;
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_unpacking unpacking = {.folder = place.folder, .explain = explain};
    int error = 0;
    enum tr_exit_status status = tr_store_find(invocation, true, &place);
    if (status == TR_EXIT_DONE) {
        error = tr_unpacking_open(&unpacking, invocation->arguments.words[0]);
        status = error == 0 ? TR_EXIT_DONE : fail(invocation, &unpacking, error);
    }
    if (status == TR_EXIT_DONE) {
        status = spawn_launchers(invocation, &unpacking);
    }
    if (status == TR_EXIT_DONE) {
        status = open_store(invocation, place.folder, &store);
    }
    if (status == TR_EXIT_DONE) {
        error = unpack(&unpacking, store);
        status = error == 0 ? TR_EXIT_DONE : fail(invocation, &unpacking, error);
    }
    if (status == TR_EXIT_DONE) {
        status = finish(invocation, &unpacking);
    }
    tri_store_close(store);
    tr_unpacking_fini(&unpacking);
    return status;
}

const struct tr_command tr_command_import = {
    .name = "import",
    .summary = "take an execution in that `export` has packed",
    .words = "FILE",
    .text = "Reads the whole file first: one that is damaged, cut off, or of a newer program is\n"
            "refused, and nothing is changed. The store has no engine meanwhile, and no execution\n"
            "of that name.",
    .examples = "  troupe import nightly.troupe\n"
                "  troupe import nightly.troupe --store /srv/troupe",
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
