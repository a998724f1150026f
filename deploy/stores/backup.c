/*
 * `troupe backup FILE`: a copy of a whole store, beside its engine.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/usage.h"
#include "deploy/backup/backup.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/common/signals.h"
#include "deploy/common/stream.h"
#include "runtime/journal/store_folder.h"

/* How often its progress is drawn. */
#define DRAWN_EVERY_MS 200

/* How long it waits at a time while the store is being pruned. */
#define WAIT_MS 100

struct backing {
    const struct tr_invocation *invocation;
    int signals;
    int signal; /* that ends it */
    uint64_t bytes;
    uint64_t drawn_ms;
    bool is_drawn;
    bool has_told; /* that it waits */
};

static int check_signal(struct backing *backing)
{
    backing->signal = tr_signals_next(backing->signals);
    return backing->signal == 0 ? 0 : TR_CLOSED;
}

/* One line that is written again and again, on a terminal alone. */
static void draw(struct backing *backing, bool is_over)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_buffer_add_string(&line, "\rcopied ");
    tr_size_print(backing->bytes, &line);
    tr_buffer_add_string(&line, is_over ? "\x1b[K\n" : "\x1b[K");
    tr_stream_draw(tr_buffer_bytes(&line));
    tr_buffer_fini(&line);
    backing->is_drawn = true;
}

static int go_on(void *self, uint64_t bytes)
{
    struct backing *backing = self;
    uint64_t now_ms = tr_clock_ms();
    backing->bytes += bytes;
    bool is_due = !backing->invocation->is_quiet && isatty(STDERR_FILENO) == 1 &&
                  now_ms - backing->drawn_ms > DRAWN_EVERY_MS;
    if (is_due) {
        draw(backing, false);
        backing->drawn_ms = now_ms;
    }
    return check_signal(backing);
}

static int wait_for_prune(void *self)
{
    struct backing *backing = self;
    struct pollfd ready = {.fd = backing->signals, .events = POLLIN};
    if (!backing->has_told) {
        tr_command_note(backing->invocation, "the store is being pruned, or another backup is "
                                             "being written: waits until that has ended");
        backing->has_told = true;
    }
    (void)poll(&ready, 1, WAIT_MS);
    return check_signal(backing);
}

static enum tr_exit_status finish(const struct backing *backing, const char *path, int error,
                                  const char *explain)
{
    const struct tr_command *command = backing->invocation->command;
    if (error == TR_CLOSED && backing->signal != 0) {
        (void)tr_command_failed(command, "ended by a signal; nothing was written");
        return backing->signal == SIGINT ? TR_EXIT_ABORTED : TR_EXIT_ENGINE;
    }
    if (error != 0) {
        return error == TR_EXISTS || error == TR_NOT_FOUND
                   ? tr_command_refused(command, "%s", explain)
                   : tr_command_failed(command, "%s",
                                       explain[0] != '\0' ? explain : tr_error_text(error));
    }
    if (path != NULL) {
        if (isatty(STDOUT_FILENO) != 1) { /* whatever bytes it has, it is to be found by them */
            tr_stream_form(stdout, TR_STREAM_EXACT);
        }
        printf("%s\n", path);
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status back_up(struct backing *backing, const char *folder, const char *path)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    const struct tr_backup_request request = {
        .folder = folder,
        .path = path,
        .descriptor = STDOUT_FILENO,
        .replaces = tr_arguments_has(&backing->invocation->arguments, "force"),
        .self = backing,
        .progress = go_on,
        .wait = wait_for_prune,
    };
    if (tr_signals_open(&backing->signals) != 0) {
        return tr_command_failed(backing->invocation->command, "%s", tr_error_text(TR_SYSTEM));
    }
    int error = tr_backup(&request, explain);
    if (backing->is_drawn) {
        draw(backing, true);
    }
    tr_signals_close(backing->signals);
    return finish(backing, path, error, explain);
}

/* A database on a server is copied by the server's own means. */
static enum tr_exit_status check_place(const struct tr_invocation *invocation,
                                       const struct tr_store_place *place)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    char locator[TRI_STORE_LOCATOR_BYTES];
    if (tri_store_folder_locator(place->folder, explain, locator) != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    if (locator[0] == '\0') {
        return TR_EXIT_DONE;
    }
    return tr_command_refused(invocation->command,
                              "the store is in PostgreSQL: back that up as a database, with "
                              "pg_dump, say, and behind it the folder %s",
                              place->folder);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    char path[PATH_MAX];
    struct tr_store_place place;
    struct backing backing = {.invocation = invocation};
    const char *word = invocation->arguments.words[0];
    bool is_stdout = strcmp(word, "-") == 0;
    enum tr_exit_status status = tr_store_find(invocation, false, &place);
    if (status == TR_EXIT_DONE) {
        status = check_place(invocation, &place);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (is_stdout && isatty(STDOUT_FILENO) == 1) {
        return tr_command_mistake(invocation->command,
                                  "a backup is nothing for a terminal: name a FILE, or lead stdout "
                                  "elsewhere");
    }
    if (!is_stdout && (word[0] == '\0' || tr_file_absolute(word, path) != 0)) {
        return tr_command_mistake(invocation->command, "FILE is no path, or too long");
    }
    return back_up(&backing, place.folder, is_stdout ? NULL : path);
}

static const struct tr_option options[] = {
    {0, "force", NULL, "replace a file that is there", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_backup = {
    .name = "backup",
    .summary = "copy a whole store into a file",
    .words = "FILE",
    .text =
        "Writes a store as it stands at this moment into one file, beside its live engine, too:\n"
        "a tar with the database, definitions, values and files, cached results, logs and\n"
        "checkpoints. `-` is stdout. `troupe restore` makes a store of it. The file holds\n"
        "inputs and outputs, so it is its owner's alone (0600). It appears when it is whole;\n"
        "until then there is FILE.tmp. Nothing is pruned while it is written.",
    .examples = "  troupe backup /backup/troupe.tar\n"
                "  troupe backup - | zstd >/backup/troupe.tar.zst",
    .options = options,
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
