/*
 * `troupe check`: every error of the definitions given, each with its place and what would mend it.
 */
#include <getopt.h>
#include <stdio.h>

#include "actors/graph/compile.h"
#include "deploy/command.h"
#include "schemas/print.h"

struct check {
    enum tr_output output;
    bool is_quiet;
    bool has_printed; /* a problem, as an element of the JSON array */
    bool has_errors;
};

/* A text as a JSON string, escaped by the one printer that the schemas have. */
static void print_json_text(const char *name, struct tr_text text)
{
    char buffer[8192];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    tr_print_json_text(&sink, text);
    struct tr_text printed = tr_sink_text(&sink);
    printf("\"%s\":%.*s", name, (int)printed.size, printed.data);
}

static void print_json(struct check *check, const struct tr_problem *problem)
{
    printf("%s\n  {", check->has_printed ? "," : "");
    print_json_text("file", problem->file);
    printf(",\"line\":%u,\"column\":%u,", problem->line, problem->column);
    print_json_text("subject", problem->subject);
    printf(",");
    print_json_text("rule", problem->rule);
    printf(",");
    print_json_text("remedy", problem->remedy);
    printf(",");
    print_json_text("code", tr_text_of(problem->code));
    printf("}");
    check->has_printed = true;
}

static int print_text(const struct tr_problem *problem)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_problem_print(problem, &buffer);
    int error = buffer.error;
    if (error == 0) {
        printf("%.*s\n", (int)buffer.size, (const char *)buffer.data);
    }
    tr_buffer_fini(&buffer);
    return error;
}

static int print_report(struct check *check, struct tr_report *report)
{
    int error = 0;
    tr_report_finish(report);
    for (uint32_t i = 0; error == 0 && i < report->count; i++) {
        if (check->output == TR_OUTPUT_JSON) {
            print_json(check, &report->problems[i]);
        } else {
            error = print_text(&report->problems[i]);
        }
    }
    if (report->more > 0) {
        fprintf(stderr, "troupe check: and %u more\n", report->more);
    }
    return error;
}

/* Checks one file; what is wrong with it is printed, what went wrong here is returned. */
static int check_file(struct check *check, const char *path)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    int error = tr_graph_check_file(path, &report, &graph);
    bool has_errors = tr_report_total(&report) > 0;
    if (has_errors) {
        check->has_errors = true;
        error = print_report(check, &report);
    } else if (error == 0 && !check->is_quiet && check->output == TR_OUTPUT_TEXT) {
        fprintf(stderr, "%s: no errors\n", path);
    }
    tr_graph_free(graph);
    tr_report_fini(&report);
    return error;
}

static int check_files(struct check *check, char **paths)
{
    int error = 0;
    if (check->output == TR_OUTPUT_JSON) {
        printf("[");
    }
    for (char **path = paths; error == 0 && *path != NULL; path++) {
        error = check_file(check, *path);
    }
    if (check->output == TR_OUTPUT_JSON) {
        printf("%s]\n", check->has_printed ? "\n" : "");
    }
    if (error != 0) {
        fprintf(stderr, "troupe check: %s\n", tr_error_text(error));
        return TR_EXIT_ENGINE;
    }
    return check->has_errors ? TR_EXIT_USAGE : TR_EXIT_DONE;
}

int tr_command_check(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct check check = {0};
    int option;
    while ((option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            if (!tr_output_read("check", optarg, &check.output)) {
                return TR_EXIT_USAGE;
            }
            break;
        case 'q':
            check.is_quiet = true;
            break;
        default:
            return tr_command_help("check", option != 'h');
        }
    }
    if (optind == argc) {
        fprintf(stderr, "troupe check: name the files to check\n");
        return tr_command_help("check", true);
    }
    return check_files(&check, argv + optind);
}
