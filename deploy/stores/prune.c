/*
 * `troupe prune`: forgets what has ended and what nothing names, and says how much went.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/filters.h"
#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/common/signals.h"
#include "deploy/common/stream.h"
#include "deploy/connect/connect.h"
#include "deploy/retention/janitor.h"
#include "deploy/server/serve.h"
#include "runtime/memory.h"

/* How often the engine looks whether its janitor is done. */
#define LOOK_MS 50

/* Fewer executions are gone before anybody reads how many are left. */
#define PROGRESS_MIN 1000

static const struct {
    const char *word;
    const char *words;
} parts[] = {
#define PART(id, word, words) {word, words},
    TR_PRUNED_PARTS(PART)
#undef PART
};

/* What was asked for. */
struct wanted {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    struct tr_prune_request request;
    struct tr_arena arena; /* of conditions on labels */
    uint64_t *executions;
    uint64_t now_ms;
    uint64_t tenths; /* of the executions, that were told of */
};

/* ------------------------------------------------------------------------- options */

/* A number of days or weeks, or a span as everywhere else; or a time. */
static bool read_time(const char *word, uint64_t now_ms, uint64_t *time_ms)
{
    char *end;
    unsigned long long count = strtoull(word, &end, 10);
    uint64_t day_ms = 24ULL * 60 * 60 * 1000;
    uint64_t unit_ms = strcmp(end, "d") == 0 ? day_ms : strcmp(end, "w") == 0 ? 7 * day_ms : 0;
    if (word[0] >= '0' && word[0] <= '9' && unit_ms != 0) {
        bool is_far = count > now_ms / unit_ms;
        *time_ms = is_far ? 1 : now_ms - count * unit_ms;
        return true;
    }
    uint64_t since_ms;
    bool is_read = tr_filters_read_since(word, now_ms, &since_ms);
    if (is_read) {
        *time_ms = since_ms == 0 ? 1 : since_ms;
    }
    return is_read;
}

static enum tr_exit_status read_option(const struct wanted *wanted, const char *name,
                                       uint64_t *time_ms)
{
    const char *word = tr_arguments_value(&wanted->invocation->arguments, name);
    if (word == NULL || read_time(word, wanted->now_ms, time_ms)) {
        return TR_EXIT_DONE;
    }
    return tr_command_mistake(wanted->invocation->command,
                              "--%s: '%.60s' is no time; write a span such as 30d or 12h, or a "
                              "date such as 2026-08-20",
                              name, word);
}

static enum tr_exit_status read_phases(struct wanted *wanted)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    struct tr_prune_request *request = &wanted->request;
    const struct tr_command *command = wanted->invocation->command;
    const char *phases = tr_arguments_value(&wanted->invocation->arguments, "phase");
    if (phases == NULL) {
        return TR_EXIT_DONE;
    }
    if (tr_filters_read_phases(phases, &request->filter.phases, problem) != 0) {
        return tr_command_mistake(command, "%s", problem);
    }
    for (uint8_t phase = 0; phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        bool is_wanted = (request->filter.phases >> phase & 1) != 0;
        if (is_wanted && !tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
            return tr_command_mistake(command,
                                      "--phase: %s is no end; only what has ended can be forgotten",
                                      tr_execution_phase_word(phase));
        }
    }
    return TR_EXIT_DONE;
}

/* Which executions are chosen by age; what says so without an age means any. */
static enum tr_exit_status read_filter(struct wanted *wanted)
{
    struct tr_prune_request *request = &wanted->request;
    struct tr_execution_filter *filter = &request->filter;
    enum tr_exit_status status = read_phases(wanted);
    if (status == TR_EXIT_DONE) {
        status = tr_filters_read_labels(wanted->invocation, &wanted->arena, &filter->labels);
    }
    filter->workflow = tr_arguments_value(&wanted->invocation->arguments, "workflow");
    bool chooses =
        filter->phases != 0 || filter->workflow != NULL || filter->labels.terms.count > 0;
    if (chooses && request->executions_before_ms == 0) {
        request->executions_before_ms = wanted->now_ms + 1;
    }
    return status;
}

static enum tr_exit_status read_options(struct wanted *wanted)
{
    struct tr_prune_request *request = &wanted->request;
    request->unnamed_before_ms = wanted->now_ms - TR_PRUNE_UNNAMED_MS;
    request->is_dry = tr_arguments_has(&wanted->invocation->arguments, "dry-run");
    struct {
        const char *name;
        uint64_t *time_ms;
    } times[] = {{"older-than", &request->executions_before_ms},
                 {"attempts-older-than", &request->attempts_before_ms},
                 {"cache-older-than", &request->cache_before_ms},
                 {"audit-older-than", &request->audit_before_ms},
                 {"unnamed-older-than", &request->unnamed_before_ms}};
    for (size_t i = 0; i < TR_COUNT_OF(times); i++) {
        enum tr_exit_status status = read_option(wanted, times[i].name, times[i].time_ms);
        if (status != TR_EXIT_DONE) {
            return status;
        }
    }
    return read_filter(wanted);
}

/* ---------------------------------------------------------------------- executions */

/* The numbers of those that were named. */
static enum tr_exit_status find_executions(struct wanted *wanted)
{
    struct tr_browse browse;
    const struct tr_arguments *arguments = &wanted->invocation->arguments;
    enum tr_exit_status status = tr_browse_open(wanted->invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    wanted->store = browse.place;
    wanted->request.folder = wanted->store.folder;
    wanted->executions = tr_alloc_zero(arguments->word_count + 1, sizeof *wanted->executions);
    status = wanted->executions != NULL
                 ? TR_EXIT_DONE
                 : tr_command_failed(wanted->invocation->command, "%s", tr_error_text(TR_MEMORY));
    for (size_t i = 0; status == TR_EXIT_DONE && i < arguments->word_count; i++) {
        struct tr_executions_row copy = {.texts = NULL};
        char problem[TR_EXECUTIONS_PROBLEM_BYTES];
        int error = tr_executions_find(browse.reader, arguments->words[i], problem, &copy);
        if (error == 0) {
            wanted->executions[wanted->request.execution_count++] = copy.row.execution;
        } else {
            status = error == TR_NOT_FOUND || error == TR_INVALID
                         ? tr_command_refused(wanted->invocation->command, "%s", problem)
                         : tr_browse_failed(&browse, error);
        }
        tr_executions_row_fini(&copy);
    }
    wanted->request.executions = wanted->executions;
    tr_browse_close(&browse);
    return status;
}

/* --------------------------------------------------------------------------- result */

static void write_text(const struct tr_pruned *pruned, bool is_dry, FILE *stream)
{
    bool is_nothing = true;
    for (size_t i = 0; i < TR_PRUNED_PART_COUNT; i++) {
        const struct tr_pruned_part *part = &pruned->parts[i];
        if (part->count > 0) {
            fprintf(stream, "%s %llu %s", is_dry ? "would remove" : "removed",
                    (unsigned long long)part->count, parts[i].words);
            fprintf(stream, part->bytes > 0 ? " (%llu bytes)\n" : "\n",
                    (unsigned long long)part->bytes);
            is_nothing = false;
        }
    }
    if (is_nothing) {
        fprintf(stream, "there is nothing to be removed\n");
    }
}

static void write_document(const struct wanted *wanted, const struct tr_pruned *pruned)
{
    struct tr_document document;
    tr_document_init(&document, stdout, wanted->invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_bool(&document, "is_dry_run", wanted->request.is_dry);
    for (size_t i = 0; i < TR_PRUNED_PART_COUNT; i++) {
        tr_document_begin_map(&document, parts[i].word);
        tr_document_number(&document, "count", (int64_t)pruned->parts[i].count);
        tr_document_number(&document, "bytes", (int64_t)pruned->parts[i].bytes);
        tr_document_end(&document);
    }
    tr_document_end(&document);
    tr_document_fini(&document);
}

static enum tr_exit_status show(const struct wanted *wanted, const struct tr_pruned *pruned,
                                int error, const char *explain)
{
    if (pruned->stayed > 0) {
        tr_command_note(wanted->invocation,
                        "%llu folders on a share stay, since they cannot be removed; the first: %s",
                        (unsigned long long)pruned->stayed, pruned->why);
    }
    if (pruned->blobs_stay[0] != '\0') {
        tr_command_note(wanted->invocation, "%s", pruned->blobs_stay);
    }
    if (error != 0) {
        write_text(pruned, wanted->request.is_dry, stderr);
        return error == TR_BUSY ? tr_command_refused(wanted->invocation->command, "%s", explain)
                                : tr_command_failed(wanted->invocation->command, "%s", explain);
    }
    if (wanted->invocation->output == TR_OUTPUT_TEXT) {
        write_text(pruned, wanted->request.is_dry, stdout);
    } else {
        write_document(wanted, pruned);
    }
    return TR_EXIT_DONE;
}

/* ------------------------------------------------------------------------- progress */

/*
 * On a terminal one line is written again and again; elsewhere there is one for each tenth. What is
 * done at once has none.
 */
static void tell_progress(void *self, uint64_t done, uint64_t total)
{
    struct wanted *wanted = self;
    bool is_terminal = isatty(STDERR_FILENO) == 1;
    uint64_t tenths = 10 * done / total;
    bool is_over = done == total;
    if (total < PROGRESS_MIN || (!is_terminal && (tenths == wanted->tenths || is_over))) {
        return;
    }
    char line[96];
    int size = snprintf(line, sizeof line, "%sremoved %llu of %llu executions%s",
                        is_terminal ? "\r" : "", (unsigned long long)done,
                        (unsigned long long)total, is_terminal && !is_over ? "" : "\n");
    wanted->tenths = tenths;
    if (is_terminal) {
        tr_stream_draw((struct tr_bytes){.data = (const uint8_t *)line, .size = (size_t)size});
    } else {
        fputs(line, stderr);
    }
}

/* --------------------------------------------------------------------------- pruning */

/* Becomes nobody but the janitor: the engine lives for as long as he works. */
static int prune_as_engine(const struct wanted *wanted, struct tr_live *live, char *explain,
                           struct tr_pruned *pruned)
{
    struct tr_serve *serve;
    struct tr_janitor *janitor = NULL;
    int error = tr_serve_new(live, &serve);
    if (error != 0) {
        return error;
    }
    error = tr_janitor_start(&wanted->request, &janitor);
    while (error == 0 && !tr_janitor_is_done(janitor)) {
        error = tr_live_rest(live, LOOK_MS);
        tr_serve_step(serve);
        if (error == 0 && tr_signals_next(live->signals) != 0) {
            error = TR_CLOSED;
        }
    }
    /* The socket is closed first: nothing answers it any more. */
    tr_serve_free(serve);
    tri_endpoint_close(live->endpoint);
    live->endpoint = NULL;
    int end = tr_janitor_end(janitor, pruned, explain);
    return error != 0 ? error : end;
}

static enum tr_exit_status prune(struct wanted *wanted)
{
    struct tr_pruned pruned = {.parts[0].count = 0};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_connection connection = {.live = NULL};
    struct tr_live_options options = {
        .folder = wanted->store.folder,
        .durability = TR_DURABILITY_FULL,
        .command = "prune",
        .lets_sleep = true,
    };
    bool needs_engine = false;
    if (!wanted->invocation->is_quiet && !wanted->request.is_dry) {
        wanted->request.progress = tell_progress;
        wanted->request.self = wanted;
    }
    int error = tr_prune_needs_engine(&wanted->request, explain, &needs_engine);
    if (error == 0 && needs_engine) {
        enum tr_exit_status status = tr_connect_or_open(wanted->invocation, &options, &connection);
        if (status != TR_EXIT_DONE) {
            return status;
        }
    }
    if (error == 0) {
        error = connection.live != NULL
                    ? prune_as_engine(wanted, connection.live, explain, &pruned)
                    : tr_prune(&wanted->request, connection.client, explain, &pruned);
    }
    tr_connection_close(&connection);
    return show(wanted, &pruned, error, explain[0] != '\0' ? explain : tr_error_text(error));
}

/* Shows what would go, and asks; true: it may. */
static enum tr_exit_status ask(struct wanted *wanted, bool *may)
{
    struct tr_prune_request request = wanted->request;
    struct tr_pruned pruned;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char answer[16] = "";
    *may = wanted->request.is_dry || tr_arguments_has(&wanted->invocation->arguments, "yes");
    if (*may) {
        return TR_EXIT_DONE;
    }
    if (!isatty(STDIN_FILENO)) {
        return tr_command_mistake(wanted->invocation->command,
                                  "nobody can be asked here; --yes removes, --dry-run only counts");
    }
    request.is_dry = true;
    int error = tr_prune(&request, NULL, explain, &pruned);
    if (error != 0) {
        return show(wanted, &pruned, error, explain);
    }
    write_text(&pruned, true, stderr);
    fprintf(stderr, "remove this? [y/N] ");
    *may = fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct wanted wanted = {.invocation = invocation, .now_ms = tr_clock_wall_ms()};
    bool may = false;
    tr_arena_init(&wanted.arena);
    enum tr_exit_status status = read_options(&wanted);
    if (status == TR_EXIT_DONE) {
        status = find_executions(&wanted);
    }
    if (status == TR_EXIT_DONE) {
        status = ask(&wanted, &may);
    }
    if (status == TR_EXIT_DONE && may) {
        status = prune(&wanted);
    }
    tr_free(wanted.executions);
    tr_arena_fini(&wanted.arena);
    return status;
}

static const struct tr_option options[] = {
    {0, "older-than", "TIME", "executions that ended before: 30d, 12h, or 2026-08-20", NULL, 0,
     false},
    {0, "phase", "PHASE,...", "of these only those that ended so: succeeded, failed, ...", NULL,
     TR_COMPLETES_ENDED_PHASES, false},
    {0, "workflow", "NAME", "of these only those of this workflow; * stands for anything", NULL, 0,
     false},
    TR_FILTER_LABEL_OPTION,
    {0, "attempts-older-than", "TIME", "folders that attempts have left, and checkpoints", NULL, 0,
     false},
    {0, "cache-older-than", "TIME",
     "results in the cache that were made before, and environments that were not used since", NULL,
     0, false},
    {0, "audit-older-than", "TIME", "rows of the audit (troupe audit)", NULL, 0, false},
    {0, "unnamed-older-than", "TIME", "files that nothing names, unless they are younger (1h)",
     NULL, 0, false},
    {'n', "dry-run", NULL, "only say what would be removed", NULL, 0, false},
    {'y', "yes", NULL, "do not ask", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_prune = {
    .name = "prune",
    .summary = "forget executions that have ended, and what nothing names",
    .words = "[EXEC...]",
    .text =
        "Removes the executions that are named and those that --older-than, --phase, --workflow\n"
        "and --label choose together, with their history and folders; what the other options\n"
        "choose; and all files and definitions that nothing names any more. What has not ended\n"
        "is never touched. Beside a live engine the engine goes on meanwhile; without one this\n"
        "becomes it.",
    .examples = "  troupe prune --older-than 30d --dry-run\n"
                "  troupe prune --older-than 2w --phase succeeded --yes\n"
                "  troupe prune --workflow 'test-*' --label team=data,!keep --yes\n"
                "  troupe prune fan-out-x7k2p --yes",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_ENDED,
    .words_max = UINT32_MAX,
    .run = run,
};
