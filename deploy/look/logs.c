/*
 * `troupe logs`: what the tasks of an execution, a node or an element wrote, and, with -f, what
 * they go on to write.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/common/clock.h"
#include "deploy/common/show.h"
#include "deploy/common/stream.h"
#include "deploy/console/console.h"
#include "deploy/history/changes.h"
#include "deploy/history/elements.h"
#include "deploy/history/log_files.h"
#include "deploy/look/get_report.h"
#include "deploy/pod_logs/pod_logs.h"
#include "deploy/recovery/reuse.h"
#include "schemas/codec/error.h"

/* While something is followed, the history is looked at at least so often. */
#define LOOK_MS 1000

/* While a pod prints, it is printed so often; what is on its way at the end may take so long. */
#define POD_MS 100
#define POD_LAST_MS 30000

/* So many pods that cannot be asked are named. */
#define POD_NOTES 5

struct logs {
    const struct tr_browse *browse;
    const struct tr_execution *execution;
    const struct tr_target *target;
    struct tr_log_files files;
    bool is_follow;
    bool is_over;  /* nothing more will be written */
    bool has_told; /* that there is no engine */
    int changes;
    struct tr_settings_file settings; /* once a pod is asked */
    bool has_settings;
    struct tr_pod_logs *pods; /* NULL: no attempt has named one */
    char name[TR_TARGET_EXECUTION_BYTES];
};

/* ------------------------------------------------------------------- what is meant */

/* Whether a path is that of the target, or lies below it. */
static bool is_below(struct tr_text path, struct tr_text target)
{
    if (target.size == 0) {
        return true;
    }
    if (path.size < target.size || memcmp(path.data, target.data, target.size) != 0) {
        return false;
    }
    return path.size == target.size || path.data[target.size] == '/' ||
           path.data[target.size] == '[';
}

/* Whether a path lies below an element: "sq[3]/inner" below "sq" and 3. */
static bool is_below_element(struct tr_text path, const struct tr_target *target)
{
    char prefix[1024];
    int size = snprintf(prefix, sizeof prefix, "%.*s[%llu]/", (int)target->path.size,
                        target->path.data, (unsigned long long)target->element);
    return size > 0 && (size_t)size < sizeof prefix && path.size > (size_t)size &&
           memcmp(path.data, prefix, (size_t)size) == 0;
}

static bool is_meant(const struct tr_target *target, const struct tr_attempt *row)
{
    bool is_itself = row->path.size == target->path.size;
    if (!is_below(row->path, target->path) ||
        (target->has_attempt && (!is_itself || row->attempt != target->attempt))) {
        return false;
    }
    return target->element == TR_ELEMENT_NONE || (is_itself && row->element == target->element) ||
           is_below_element(row->path, target);
}

static int take_attempt(void *self, const void *value)
{
    struct logs *logs = self;
    const struct tr_attempt *row = value;
    return is_meant(logs->target, row) ? tr_log_files_take(&logs->files, row) : 0;
}

static int read_attempts(struct logs *logs)
{
    uint64_t ran_in = logs->execution->execution;
    int error = 0;
    if (logs->target->path.size > 0) { /* what was kept has its logs where it ran */
        error = tr_reuse_origin(logs->browse->reader, ran_in, logs->target->path,
                                logs->target->element, &ran_in);
    }
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, ran_in),
        tr_filter_text("path", TR_FILTER_PREFIX, logs->target->path),
    };
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    tr_log_files_again(&logs->files);
    return error != 0 ? error : tr_reader_rows(logs->browse->reader, &query, take_attempt, logs);
}

/* ------------------------------------------------------------------- whether it is over */

static int take_node(void *self, const void *value)
{
    const struct tr_node_status *row = value;
    *(bool *)self = tr_phase_is_end(TR_SUBJECT_NODE, row->phase);
    return 0;
}

static int take_entry(void *self, const struct tr_element_entry *entry)
{
    *(bool *)self = tr_phase_is_end(TR_SUBJECT_NODE, entry->phases[entry->phase_count - 1]);
    return 0;
}

static int find_over(struct logs *logs)
{
    struct tr_executions_row copy;
    struct tr_reader *reader = logs->browse->reader;
    const struct tr_target *target = logs->target;
    int error = tr_executions_get(reader, logs->execution->execution, &copy);
    if (error != 0) {
        return error;
    }
    logs->is_over = tr_phase_is_end(TR_SUBJECT_EXECUTION, copy.row.phase);
    tr_executions_row_fini(&copy);
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, logs->execution->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, target->path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    if (!logs->is_over && target->path.size > 0) {
        error = tr_reader_rows(reader, &query, take_node, &logs->is_over);
    }
    if (error == 0 && !logs->is_over && target->element != TR_ELEMENT_NONE) {
        error = tr_elements_read(reader, logs->execution->execution, target->path, target->element,
                                 take_entry, &logs->is_over);
    }
    /* Of one attempt nothing comes when it has ended. */
    if (target->has_attempt && logs->files.count == 1 && logs->files.items[0].is_over) {
        logs->is_over = true;
    }
    return error;
}

/* ----------------------------------------------------------------------- following */

static void watch_files(const struct logs *logs)
{
    char path[4096];
    for (uint32_t i = 0; i < logs->files.count; i++) {
        const struct tr_log_attempt *attempt = &logs->files.items[i];
        for (int stream = 0; !attempt->is_done && stream < TR_LOG_STREAMS; stream++) {
            if (tr_log_path(attempt, (enum tr_log_stream)stream, path, sizeof path)) {
                tr_changes_add(logs->changes, path);
            }
        }
    }
}

/* What pods print is asked of their clusters, as the settings of the store say. */
static int open_pods(struct logs *logs)
{
    const struct tr_browse *browse = logs->browse;
    logs->has_settings = true;
    enum tr_exit_status status =
        tr_diagnostics_load_settings(browse->invocation, browse->place.folder, &logs->settings);
    return status != TR_EXIT_DONE
               ? 0
               : tr_pod_logs_open(&logs->settings, &logs->files, logs->is_follow, &logs->pods);
}

/* Where an attempt's pod leaves its logs on a share, they were printed as files. */
static int take_pods(struct logs *logs)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < logs->files.count; i++) {
        const struct tr_log_attempt *attempt = &logs->files.items[i];
        if (tr_pod_logs_has(attempt)) {
            error = logs->has_settings ? 0 : open_pods(logs);
            if (error == 0 && logs->pods != NULL) {
                error = tr_pod_logs_take(logs->pods, attempt);
            }
        }
    }
    return error;
}

/* Prints what pods go on to say, for so long at most. */
static void print_pods(struct logs *logs, uint32_t limit_ms)
{
    uint64_t until_ms = tr_clock_ms() + limit_ms;
    while (logs->pods != NULL && tr_pod_logs_print(logs->pods) && tr_clock_ms() < until_ms &&
           ferror(tr_console_out()) == 0 && !tr_console_is_gone()) {
        tr_pod_logs_rest(logs->pods, POD_MS);
    }
}

/* What is known now is read before the files are: of what is over, they are whole. */
static int look(struct logs *logs)
{
    int error = tr_reader_refresh(logs->browse->reader);
    if (error == 0) {
        error = read_attempts(logs);
    }
    if (error == 0) {
        error = find_over(logs);
    }
    tr_reader_release(logs->browse->reader); /* as long as it waits */
    if (error == 0) {
        tr_log_files_print(&logs->files);
        error = take_pods(logs);
    }
    return error;
}

static int follow(struct logs *logs)
{
    int error = tr_changes_open(logs->browse->place.folder, &logs->changes);
    while (error == 0 && ferror(tr_console_out()) == 0 && !tr_console_is_gone()) {
        bool is_live = tr_browse_is_live(logs->browse);
        error = look(logs);
        if (error != 0 || logs->is_over) {
            break;
        }
        if (!is_live) {
            tr_browse_note_dead(logs->browse, &logs->has_told);
        }
        watch_files(logs);
        if (logs->pods != NULL) {
            print_pods(logs, LOOK_MS);
        }
        tr_changes_rest(logs->changes, logs->pods != NULL ? 1 : LOOK_MS);
    }
    if (logs->changes >= 0) {
        close(logs->changes);
    }
    return error;
}

/* ---------------------------------------------------------------------- the command */

/*
 * Whether there is what is meant. What is followed may be still to come: an element of a map that
 * has not begun, the next attempt.
 */
static int check_target(const struct logs *logs, char *problem)
{
    struct tr_get get = {.reader = logs->browse->reader,
                         .folder = logs->browse->place.folder,
                         .execution = logs->execution};
    struct tr_target target = *logs->target;
    if (target.path.size == 0 || logs->files.count > 0) {
        return 0;
    }
    if (logs->is_follow && !logs->is_over) {
        target.element = TR_ELEMENT_NONE;
        target.has_attempt = false;
    }
    return tr_get_target_check(&get, &target, problem);
}

/* Of attempts that have left no logs here: where else they may be, and how to have them here. */
static void note_elsewhere(const struct tr_invocation *invocation,
                           const struct tr_log_attempt *attempt, uint32_t count)
{
    int size = (int)attempt->plugin.size;
    const char *plugin = attempt->plugin.data;
    tr_command_note(
        invocation,
        "%u of the attempts ran at '%.*s' and have no logs here: they printed nothing, or "
        "it is in the job's own log alone, where plugins.%.*s.logs says; with "
        "plugins.%.*s.share, a shell and tee in its image a job leaves them here, too",
        count, size, plugin, size, plugin, size, plugin);
}

/* Pods whose logs could not be had, a few of them. */
static void note_pods(const struct logs *logs)
{
    const char *words = "";
    for (uint32_t i = 0; logs->pods != NULL && words != NULL && i < POD_NOTES; i++) {
        words = tr_pod_logs_problem(logs->pods, i);
        if (words != NULL) {
            tr_command_note(logs->browse->invocation, "%s", words);
        }
    }
}

/* What is not on stdout: logs that lie elsewhere, and that there are none. */
static void note_rest(const struct logs *logs)
{
    const struct tr_invocation *invocation = logs->browse->invocation;
    const struct tr_log_attempt *elsewhere = NULL;
    uint32_t count_elsewhere = 0;
    for (uint32_t i = 0; i < logs->files.count; i++) {
        const struct tr_log_attempt *attempt = &logs->files.items[i];
        bool is_quiet = attempt->printed[TR_LOG_STDOUT] + attempt->printed[TR_LOG_STDERR] == 0;
        if (attempt->uris.size > 2 && !attempt->is_put) {
            tr_command_note(invocation, "%.*s@%u has logs at %.*s", (int)attempt->path.size,
                            attempt->path.data, attempt->attempt, (int)attempt->uris.size,
                            attempt->uris.data);
        } else if (attempt->is_elsewhere && is_quiet) {
            count_elsewhere++;
            elsewhere = attempt;
        }
    }
    note_pods(logs);
    if (elsewhere != NULL) {
        note_elsewhere(invocation, elsewhere, count_elsewhere);
    }
    if (logs->files.count == 0) {
        tr_command_note(invocation, "no attempt of it is known%s",
                        logs->is_over ? "" : " yet; -f waits for one");
    } else if (logs->files.bytes == 0 && elsewhere == NULL) {
        tr_command_note(invocation, "nothing was written, or it is not kept any more");
    }
}

static enum tr_exit_status show(struct logs *logs)
{
    char problem[TR_TARGET_PROBLEM_BYTES] = "";
    int error = read_attempts(logs);
    if (error == 0) {
        error = find_over(logs);
    }
    if (error == 0) {
        error = check_target(logs, problem);
    }
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND && problem[0] != '\0') {
        return tr_command_refused(logs->browse->invocation->command, "%s", problem);
    }
    if (error == 0) {
        error = logs->is_follow ? follow(logs) : look(logs);
        print_pods(logs, POD_LAST_MS);
    }
    if (error != 0) {
        return tr_browse_failed(logs->browse, error);
    }
    note_rest(logs);
    return TR_EXIT_DONE;
}

static enum tr_exit_status show_found(const struct tr_browse *browse, const struct tr_found *found)
{
    uint64_t tail = UINT64_MAX;
    const struct tr_arguments *arguments = &browse->invocation->arguments;
    const char *lines = tr_arguments_value(arguments, "tail");
    struct logs logs = {.browse = browse,
                        .execution = &found->execution.row,
                        .target = &found->target,
                        .is_follow = tr_arguments_has(arguments, "follow"),
                        .changes = -1};
    if (lines != NULL && !tr_count_read(lines, &tail)) {
        return tr_command_mistake(browse->invocation->command, "--tail: '%.60s' is no number",
                                  lines);
    }
    snprintf(logs.name, sizeof logs.name, "%.*s", (int)logs.execution->name.size,
             logs.execution->name.data);
    bool is_exact = tr_arguments_has(arguments, "raw") || isatty(STDOUT_FILENO) != 1;
    tr_stream_form(tr_console_out(), is_exact ? TR_STREAM_EXACT : TR_STREAM_COLORS);
    tr_log_files_init(&logs.files, tr_console_out(), logs.name, tail);
    enum tr_exit_status status = show(&logs);
    tr_pod_logs_close(logs.pods);
    if (logs.has_settings) {
        tr_settings_fini(&logs.settings);
    }
    tr_log_files_fini(&logs.files);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_browse_first(invocation, show_found);
}

static const struct tr_option options[] = {
    {'f', "follow", NULL, "go on until it has ended", NULL, 0, false},
    {0, "raw", NULL, "every byte as it is, on a terminal too", NULL, 0, false},
    {0, "tail", "N", "only the last lines of each file", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_logs = {
    .name = "logs",
    .summary = "print what tasks wrote to stdout and stderr",
    .words = "EXEC[/NODE[[ELEMENT]][@ATTEMPT]]",
    .text =
        "Each file has a headline, unless there is only one. Of a node with others below it, and\n"
        "of a whole execution, it is those of all. On a terminal colours pass; what else could\n"
        "steer it is shown (\\x1b), unless --raw says otherwise. Files and pipes get every byte.",
    .examples = "  troupe logs @last/list\n"
                "  troupe logs -f --tail 20 'fan-out/squares[17]'",
    .options = options,
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
