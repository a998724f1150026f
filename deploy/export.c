/*
 * `troupe export EXEC`: packs an execution, with all that it has launched, into one file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/browse.h"
#include "deploy/commands.h"
#include "deploy/file.h"
#include "deploy/packing.h"

/* An export that goes on. */
struct exporting {
    const struct tr_browse *browse;
    const struct tr_execution *row;
    struct tr_packed_executions executions;
    char path[PATH_MAX];
    char address[512];
    char explain[TRI_STORE_EXPLAIN_BYTES];
};

static enum tr_exit_status fail(const struct exporting *exporting, int error)
{
    return tr_command_failed(exporting->browse->invocation->command, "%s",
                             exporting->explain[0] != '\0' ? exporting->explain
                                                           : tr_error_text(error));
}

/* Where it goes: -o, else NAME.troupe here. What is there already stays. */
static enum tr_exit_status find_path(struct exporting *exporting)
{
    char name[PATH_MAX];
    const struct tr_invocation *invocation = exporting->browse->invocation;
    const char *given = tr_arguments_value(&invocation->arguments, "file");
    snprintf(name, sizeof name, "%.*s.troupe", (int)exporting->row->name.size,
             exporting->row->name.data);
    if (tr_file_absolute(given != NULL ? given : name, exporting->path) != 0) {
        return tr_command_mistake(invocation->command, "--file: the path is too long");
    }
    if (access(exporting->path, F_OK) == 0) {
        return tr_command_mistake(invocation->command,
                                  "%s is there already; remove it, or name another with --file",
                                  exporting->path);
    }
    return TR_EXIT_DONE;
}

static int pack(struct exporting *exporting)
{
    const struct tr_execution *row = exporting->row;
    struct tr_parcel_head head = {
        .program = tr_text_of(TR_PROGRAM_VERSION),
        .folder = tr_text_of(exporting->browse->place.folder),
        .execution = row->execution,
        .exported_ms = exporting->browse->now_ms,
    };
    struct tr_packing packing = {.folder = exporting->browse->place.folder,
                                 .executions = &exporting->executions,
                                 .explain = exporting->explain};
    snprintf(exporting->address, sizeof exporting->address, "%.*s/%.*s/%.*s",
             (int)row->project.size, row->project.data, (int)row->domain.size, row->domain.data,
             (int)row->name.size, row->name.data);
    head.address = tr_text_of(exporting->address);
    int error = tr_packing_begin(&packing, exporting->path, &head);
    error = error != 0 ? error : tr_packing_rows(&packing, exporting->browse->reader);
    error = error != 0 ? error : tr_packing_finish(&packing);
    tr_packing_fini(&packing, exporting->path, error == 0);
    error = error != 0 ? error : tr_parcel_seal(exporting->path);
    if (error != 0 && exporting->explain[0] == '\0') {
        snprintf(exporting->explain, sizeof exporting->explain, "%.300s cannot be written: %s",
                 exporting->path, strerror(errno));
    }
    return error;
}

static enum tr_exit_status export(struct exporting *exporting) {
    const struct tr_invocation *invocation = exporting->browse->invocation;
    enum tr_exit_status status = find_path(exporting); if (status != TR_EXIT_DONE){return status;}
int error =
    tr_packed_executions_find(exporting->browse->reader, exporting->row, &exporting->executions);
if (error != 0) {
    return tr_browse_failed(exporting->browse, error);
}
if (exporting->executions.unfinished > 0) {
    status = tr_command_mistake(invocation->command,
                                "%.*s has not ended (%s); only what has ended can be exported",
                                (int)exporting->row->name.size, exporting->row->name.data,
                                tr_execution_phase_word(exporting->row->phase));
} else {
    error = pack(exporting);
    status = error == 0 ? TR_EXIT_DONE : fail(exporting, error);
}
if (status == TR_EXIT_DONE) {
    printf("%s\n", exporting->path);
}
tr_packed_executions_fini(&exporting->executions);
return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    struct tr_found found;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = tr_browse_find(&browse, invocation->arguments.words[0], &found);
    if (status == TR_EXIT_DONE) {
        struct exporting exporting = {.browse = &browse, .row = &found.execution.row};
        status = export(&exporting);
        tr_found_fini(&found);
    }
    tr_browse_close(&browse);
    return status;
}

static const struct tr_option options[] = {
    {'f', "file", "FILE", "where to (else NAME.troupe here)", NULL, TR_COMPLETES_FILES, false},
    {0},
};

const struct tr_command tr_command_export = {
    .name = "export",
    .summary = "pack an execution into a file, for another store",
    .words = "EXEC",
    .text = "Writes what has ended, with all that it has launched, its history, definitions and\n"
            "the files and values that it names, into one file for `troupe import`. It stays in\n"
            "the store. The file holds inputs and outputs, so it is its owner's alone (0600).",
    .examples = "  troupe export @last\n"
                "  troupe export nightly-x7k2p --file nightly.troupe",
    .options = options,
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
