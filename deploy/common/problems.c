/*
 * The problems of a report, printed in both forms.
 */
#include "deploy/common/problems.h"

#include "deploy/console/console.h"
#include "schemas/codec/error.h"

/* Writes what was printed and ends the buffer; its error. */
static int write_out(struct tr_buffer *buffer, FILE *stream)
{
    int error = buffer->error;
    if (error == 0) {
        fprintf(stream, "%.*s", (int)buffer->size, (const char *)buffer->data);
    }
    tr_buffer_fini(buffer);
    return error;
}

static void note_more(const struct tr_report *report)
{
    if (report->more > 0) {
        fprintf(tr_console_err(), "and %u more\n", report->more);
    }
}

int tr_problems_print(struct tr_report *report, FILE *stream)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_report_finish(report);
    tr_report_print_head(report, &buffer);
    for (uint32_t i = 0; i < report->count; i++) {
        tr_report_print_error(report, i, &buffer);
        tr_buffer_add_string(&buffer, "\n");
    }
    int error = write_out(&buffer, stream);
    note_more(report);
    return error;
}

int tr_warnings_print(struct tr_report *report, FILE *stream)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_report_finish(report);
    for (uint32_t i = 0; i < report->warning_count; i++) {
        tr_problem_print(&report->warnings[i], &buffer);
        tr_buffer_add_string(&buffer, "\n");
    }
    return write_out(&buffer, stream);
}

static void write_all(const struct tr_problem *problems, uint32_t count,
                      struct tr_document *document)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_problem *problem = &problems[i];
        tr_document_begin_map(document, NULL);
        tr_document_text(document, "file", problem->file);
        tr_document_number(document, "line", problem->line);
        tr_document_number(document, "column", problem->column);
        tr_document_text(document, "subject", problem->subject);
        tr_document_text(document, "rule", problem->rule);
        tr_document_text(document, "remedy", problem->remedy);
        tr_document_text(document, "code", tr_text_of(problem->code));
        tr_document_text(document, "severity",
                         tr_text_of(problem->is_warning ? "warning" : "error"));
        tr_document_end(document);
    }
}

void tr_problems_write(struct tr_report *report, struct tr_document *document)
{
    tr_report_finish(report);
    write_all(report->problems, report->count, document);
    write_all(report->warnings, report->warning_count, document);
    note_more(report);
}
