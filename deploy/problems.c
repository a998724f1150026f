/*
 * The problems of a report, printed in both forms.
 */
#include "deploy/problems.h"

static int print_one(const struct tr_problem *problem, FILE *stream)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_problem_print(problem, &buffer);
    int error = buffer.error;
    if (error == 0) {
        fprintf(stream, "%.*s\n", (int)buffer.size, (const char *)buffer.data);
    }
    tr_buffer_fini(&buffer);
    return error;
}

static void note_more(const struct tr_report *report)
{
    if (report->more > 0) {
        fprintf(stderr, "and %u more\n", report->more);
    }
}

int tr_problems_print(struct tr_report *report, FILE *stream)
{
    int error = 0;
    tr_report_finish(report);
    for (uint32_t i = 0; error == 0 && i < report->count; i++) {
        error = print_one(&report->problems[i], stream);
    }
    note_more(report);
    return error;
}

int tr_problems_write(struct tr_report *report, struct tr_document *document)
{
    tr_report_finish(report);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct tr_problem *problem = &report->problems[i];
        tr_document_begin_map(document, NULL);
        tr_document_text(document, "file", problem->file);
        tr_document_number(document, "line", problem->line);
        tr_document_number(document, "column", problem->column);
        tr_document_text(document, "subject", problem->subject);
        tr_document_text(document, "rule", problem->rule);
        tr_document_text(document, "remedy", problem->remedy);
        tr_document_text(document, "code", tr_text_of(problem->code));
        tr_document_end(document);
    }
    note_more(report);
    return 0;
}
