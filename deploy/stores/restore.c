/*
 * `troupe restore FILE`: makes a store of what `backup` has written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/backup/restore.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"

static enum tr_exit_status fail(const struct tr_invocation *invocation,
                                const struct tr_restore *restore, int error)
{
    bool is_users = error == TR_NOT_FOUND || error == TR_MALFORMED || error == TR_TRUNCATED ||
                    error == TR_VERSION || error == TR_EXISTS;
    const char *words = restore->explain[0] != '\0' ? restore->explain : tr_error_text(error);
    const char *file = invocation->arguments.words[0];
    return error == TR_EXISTS ? tr_command_refused(invocation->command, "%s", words)
           : is_users         ? tr_command_refused(invocation->command, "%s: %s", file, words)
                              : tr_command_failed(invocation->command, "%s: %s", file, words);
}

/* What goes on here may go on elsewhere, too: nobody but a person can know. */
static void tell(const struct tr_invocation *invocation, const struct tr_restore *restore)
{
    const struct tr_restored *restored = &restore->restored;
    tr_command_note(invocation, "restored %llu execution%s of %.*s, as of %.*s",
                    (unsigned long long)restored->executions, restored->executions == 1 ? "" : "s",
                    (int)restored->store.size, restored->store.data, (int)restored->taken.size,
                    restored->taken.data);
    if (restored->unfinished > 0) {
        tr_command_note(invocation,
                        "%llu that had not ended: they go on with `troupe resume` or `troupe "
                        "serve`; let no engine run on the store that the backup is of: both would "
                        "do the same work, and follow the same jobs",
                        (unsigned long long)restored->unfinished);
    }
}

static enum tr_exit_status write_store(const struct tr_invocation *invocation,
                                       struct tr_restore *restore)
{
    struct tr_store_place place;
    enum tr_exit_status status = tr_store_find(invocation, true, &place);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    restore->folder = place.folder;
    int error = tr_restore_check_folder(restore);
    if (error == 0) {
        error = tr_restore_write(restore);
    }
    if (error != 0) {
        return fail(invocation, restore, error);
    }
    printf("%s\n", place.folder);
    tell(invocation, restore);
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_restore restore = {.explain = explain};
    int error = tr_restore_open(&restore, invocation->arguments.words[0]);
    enum tr_exit_status status =
        error == 0 ? write_store(invocation, &restore) : fail(invocation, &restore, error);
    tr_restore_fini(&restore);
    return status;
}

const struct tr_command tr_command_restore = {
    .name = "restore",
    .summary = "make a store of a backup",
    .words = "FILE",
    .text =
        "Makes a store of a file that `troupe backup` has written, in an empty folder or a new\n"
        "one. The file is checked first: of one that is damaged or cut off nothing is written.\n"
        "Executions that had not ended are dormant until `resume` or `serve`. What their\n"
        "processes have done is unknown then, and they are repeated unless the task says\n"
        "`in_doubt: fail`; jobs elsewhere are followed again.",
    .examples = "  troupe restore /backup/troupe.tar --store /var/lib/troupe",
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
