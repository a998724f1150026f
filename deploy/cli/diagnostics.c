/*
 * Errors and warnings go to stderr, each with its place; what they mean is the command's status.
 */
#include "deploy/cli/diagnostics.h"

#include <errno.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "deploy/common/file.h"
#include "deploy/common/problems.h"
#include "deploy/console/console.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

enum tr_exit_status tr_diagnostics_print_report(const struct tr_invocation *invocation,
                                                struct tr_report *report, int error)
{
    bool has_errors = tr_report_total(report) > 0;
    int printed = tr_problems_print(report, tr_console_err());
    if (printed == 0 && !invocation->is_quiet) {
        printed = tr_warnings_print(report, tr_console_err());
    }
    error = printed != 0 ? printed : error;
    if (error != 0 && error != TR_INVALID) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    return has_errors || error != 0 ? TR_EXIT_USAGE : TR_EXIT_DONE;
}

/* ------------------------------------------------------------------------- settings */

/* tr_settings_read or tr_settings_read_store. */
typedef void read_settings(struct tr_settings_file *settings, struct tr_report *report,
                           uint32_t source, struct tr_text text);

static enum tr_exit_status read_file(const struct tr_invocation *invocation,
                                     struct tr_settings_file *settings, read_settings *read)
{
    char *text;
    size_t size;
    struct tr_report report;
    int error = tr_file_read(settings->path, TR_FILE_BYTES_MAX, &text, &size);
    if (error != 0) {
        return tr_command_refused(invocation->command, "the settings %s cannot be read: %s",
                                  settings->path,
                                  error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    tr_report_init(&report);
    read(settings, &report, tri_report_source(&report, tr_text_of(settings->path)),
         (struct tr_text){.data = text, .size = size});
    bool is_good = tr_report_total(&report) == 0 && settings->arena.error == 0;
    if (!is_good) {
        error = tr_problems_print(&report, tr_console_err());
    }
    tr_report_fini(&report);
    tr_free(text);
    if (error != 0 || settings->arena.error != 0) {
        return tr_command_failed(invocation->command, "%s",
                                 tr_error_text(error != 0 ? error : settings->arena.error));
    }
    return is_good ? TR_EXIT_DONE : TR_EXIT_USAGE;
}

enum tr_exit_status tr_diagnostics_load_settings(const struct tr_invocation *invocation,
                                                 const char *folder,
                                                 struct tr_settings_file *settings)
{
    tr_settings_init(settings);
    if (!tr_settings_find(folder, settings->path)) {
        return TR_EXIT_DONE;
    }
    enum tr_exit_status status = read_file(invocation, settings, tr_settings_read);
    size_t size = strlen(folder);
    bool is_own = size > 0 && strncmp(settings->path, folder, size) == 0;
    if (status == TR_EXIT_DONE && settings->store != NULL && is_own) {
        return tr_command_refused(invocation->command,
                                  "%s: 'store' names the store of commands that name none; write "
                                  "it in the settings of the user, not in those of a store",
                                  settings->path);
    }
    return status;
}

enum tr_exit_status tr_diagnostics_load_store(const struct tr_invocation *invocation,
                                              struct tr_settings_file *settings)
{
    tr_settings_init(settings);
    return tr_settings_find("", settings->path)
               ? read_file(invocation, settings, tr_settings_read_store)
               : TR_EXIT_DONE;
}
