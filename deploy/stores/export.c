/*
 * `troupe export EXEC`: packs an execution, with all that it has launched, into one file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/common/file.h"
#include "deploy/common/schemas.h"
#include "deploy/common/stream.h"
#include "deploy/offline/external_jobs.h"
#include "deploy/transfer/export_live.h"
#include "deploy/transfer/packing.h"
#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"

/* An export that goes on. */
struct exporting {
    const struct tr_browse *browse;
    const struct tr_execution *row;
    struct tr_packing_set executions;
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
        return tr_command_refused(invocation->command,
                                  "%s is there already; remove it, or name another with --file",
                                  exporting->path);
    }
    return TR_EXIT_DONE;
}

/* The head of the file; what has not ended comes with its actors. */
static struct tr_archive_head head_of(struct exporting *exporting)
{
    const struct tr_execution *row = exporting->row;
    snprintf(exporting->address, sizeof exporting->address, "%.*s/%.*s/%.*s",
             (int)row->project.size, row->project.data, (int)row->domain.size, row->domain.data,
             (int)row->name.size, row->name.data);
    return (struct tr_archive_head){
        .program = tr_text_of(TR_PROGRAM_VERSION),
        .folder = tr_text_of(exporting->browse->place.folder),
        .execution = row->execution,
        .address = tr_text_of(exporting->address),
        .exported_ms = exporting->browse->now_ms,
        .is_unfinished = exporting->executions.unfinished > 0,
    };
}

/* Writes PATH.part; with `leaving` what actors there are, too. */
static int pack(struct exporting *exporting, struct tr_export_live *export)
{
    struct tr_archive_head head = head_of(exporting);
    struct tr_packing packing = {.folder = exporting->browse->place.folder,
                                 .executions = &exporting->executions,
                                 .explain = exporting->explain};
    int error = tr_packing_begin(&packing, exporting->path, &head);
    if (error == 0) {
        error = tr_packing_rows(&packing, exporting->browse->reader);
    }
    if (error == 0 && export != NULL) {
        export->packing = &packing;
        error = tr_export_live_pack(export);
    }
    if (error == 0) {
        error = tr_packing_finish(&packing);
    }
    if (error == 0 && export != NULL) {
        error = tr_export_live_commit(export, exporting->browse->reader);
    }
    tr_packing_fini(&packing, exporting->path, error == 0);
    return error;
}

/* When nothing runs for it any more, the file may be imported. */
static int seal(struct exporting *exporting)
{
    int error = tr_external_jobs_end(exporting->browse->place.folder, exporting->browse->reader,
                                     exporting->executions.numbers, exporting->executions.count,
                                     exporting->explain);
    if (error == 0) {
        error = tr_archive_seal(exporting->path);
    }
    if (error != 0 && error != TR_EXISTS && exporting->explain[0] == '\0') {
        snprintf(exporting->explain, sizeof exporting->explain, "%.300s cannot be written: %s",
                 exporting->path, strerror(errno));
    }
    return error == TR_EXISTS ? 0 : error;
}

static int find_executions(struct exporting *exporting)
{
    tr_packing_set_fini(&exporting->executions);
    return tr_packing_set_find(exporting->browse->reader, exporting->row, &exporting->executions);
}

/* The store, for this command alone: nothing of it runs meanwhile. */
static int open_store(const struct exporting *exporting, struct tri_store **store, char *explain)
{
    struct tri_store_options options = {.folder = exporting->browse->place.folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_program_records,
                                        .record_count = tr_program_record_count,
                                        .views = &tr_history_views};
    int error = tri_store_open(&options, explain, store);
    if (error == TR_STORE_LOCKED) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                 "%.*s has not ended, and %.200s has an engine; end the engine first: what it "
                 "leaves can be exported",
                 (int)exporting->row->name.size, exporting->row->name.data, options.folder);
    }
    return error;
}

/* What has not ended is taken out of the store. */
static int take_out(struct exporting *exporting)
{
    struct tr_export_live export = {.executions = &exporting->executions,
                                    .path = exporting->path,
                                    .now_ms = exporting->browse->now_ms};
    int error = open_store(exporting, &export.store, exporting->explain);
    if (error != 0) {
        return error;
    }
    error = tr_reader_refresh(exporting->browse->reader);
    if (error == 0) {
        error = find_executions(exporting);
    }
    if (error == 0 && exporting->executions.unfinished == 0) {
        snprintf(exporting->explain, sizeof exporting->explain,
                 "it has ended meanwhile; say it again");
        error = TR_BUSY;
    }
    if (error == 0) {
        error = tr_external_jobs_check_recorded(
            exporting->browse->place.folder, exporting->browse->reader,
            exporting->executions.numbers, exporting->executions.count, exporting->explain);
    }
    if (error == 0) {
        error = pack(exporting, &export);
    }
    tr_export_live_fini(&export);
    tri_store_close(export.store);
    return error != 0 ? error : seal(exporting);
}

/* An export that was begun goes on to where it was begun. */
static int go_on(struct exporting *exporting)
{
    snprintf(exporting->path, sizeof exporting->path, "%.*s", (int)exporting->row->message.size,
             exporting->row->message.data);
    return seal(exporting);
}

static enum tr_exit_status check_parent(const struct exporting *exporting)
{
    const struct tr_execution *row = exporting->row;
    if (row->parent.size == 0 || tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return TR_EXIT_DONE;
    }
    return tr_command_refused(exporting->browse->invocation->command,
                              "%.*s was launched by %.*s, which waits for it; export that one",
                              (int)row->name.size, row->name.data, (int)row->parent.size,
                              row->parent.data);
}

static enum tr_exit_status export_row(struct exporting *exporting)
{
    bool is_gone = exporting->row->phase == TR_EXECUTION_EXPORTED;
    enum tr_exit_status status = check_parent(exporting);
    if (status == TR_EXIT_DONE && !is_gone) {
        status = find_path(exporting);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error = find_executions(exporting);
    if (error != 0) {
        return tr_browse_failed(exporting->browse, error);
    }
    if (is_gone) {
        error = go_on(exporting);
    } else if (exporting->executions.unfinished > 0) {
        error = take_out(exporting);
    } else {
        error = pack(exporting, NULL);
        if (error == 0) {
            error = seal(exporting);
        }
    }
    tr_packing_set_fini(&exporting->executions);
    if (error != 0) {
        return fail(exporting, error);
    }
    if (isatty(STDOUT_FILENO) != 1) { /* whatever bytes it has, it is to be found by them */
        tr_stream_form(stdout, TR_STREAM_EXACT);
    }
    printf("%s\n", exporting->path);
    return TR_EXIT_DONE;
}

static enum tr_exit_status export_found(const struct tr_browse *browse,
                                        const struct tr_found *found)
{
    struct exporting exporting = {.browse = browse, .row = &found->execution.row};
    return export_row(&exporting);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_browse_first(invocation, export_found);
}

static const struct tr_option options[] = {
    {'f', "file", "FILE", "where to (else NAME.troupe here)", NULL, TR_COMPLETES_FILES, false},
    {0},
};

const struct tr_command tr_command_export = {
    .name = "export",
    .summary = "pack an execution into a file, for another store",
    .words = "EXEC",
    .text = "Writes an execution, with all that it has launched, its history, definitions and the\n"
            "files and values that it names, into one file for `troupe import`. What has ended\n"
            "stays in the store. What has not leaves it, and goes on where it is imported: no\n"
            "engine may run then, and its processes are killed and begin anew there. The file\n"
            "holds inputs and outputs, so it is its owner's alone (0600).",
    .examples = "  troupe export @last\n"
                "  troupe export nightly-x7k2p --file nightly.troupe",
    .options = options,
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
