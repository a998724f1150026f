/*
 * `troupe check`: every error and warning of the definitions given, each with its place and what
 * would mend it.
 */
#include "actors/graph/compile.h"
#include "deploy/commands.h"
#include "deploy/document.h"
#include "deploy/problems.h"
#include "schemas/error.h"

struct check {
    const struct tr_invocation *invocation;
    struct tr_document document;
    bool has_document;
    bool has_errors;
};

/* What is wrong with a file, and what is hardly meant. */
static int tell(struct check *check, struct tr_report *report)
{
    if (check->has_document) {
        tr_problems_write(report, &check->document);
        return 0;
    }
    int error = tr_problems_print(report, stdout);
    return error != 0 ? error : tr_warnings_print(report, stdout);
}

/* Checks one file; what is wrong with it is printed, what went wrong here is returned. */
static int check_file(struct check *check, const char *path)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    int error = tr_graph_check_file(path, &report, &graph);
    error = error == TR_INVALID ? 0 : error;
    bool has_errors = tr_report_total(&report) > 0;
    if (error == 0) {
        error = tell(check, &report);
    }
    if (error == 0 && !has_errors && !check->has_document) {
        tr_command_note(check->invocation, "%s: no errors", path);
    }
    check->has_errors = check->has_errors || has_errors;
    tr_graph_free(graph);
    tr_report_fini(&report);
    return error;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct check check = {.invocation = invocation,
                          .has_document = invocation->output != TR_OUTPUT_TEXT};
    int error = 0;
    if (check.has_document) {
        tr_document_init(&check.document, stdout, invocation->output);
        tr_document_begin_list(&check.document, NULL);
    }
    for (size_t i = 0; error == 0 && i < invocation->arguments.word_count; i++) {
        error = check_file(&check, invocation->arguments.words[i]);
    }
    if (check.has_document) {
        tr_document_end(&check.document);
        tr_document_fini(&check.document);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    return check.has_errors ? TR_EXIT_USAGE : TR_EXIT_DONE;
}

const struct tr_command tr_command_check = {
    .name = "check",
    .summary = "find every error of workflow definitions",
    .words = "FILE...",
    .examples = "  troupe check flow.yaml\n"
                "  troupe check -o json *.yaml",
    .outputs = "text|json|yaml",
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = UINT32_MAX,
    .run = run,
};
