/*
 * Collects errors while a definition is read in whatever order suits the reader, and gives them
 * sorted by their places, so that people can go through their file from top to bottom.
 *
 * Errors and warnings have lists of their own, of at most TR_PROBLEMS_MAX each. Errors beyond that,
 * and those for which there is no memory, are counted in `more`; so the total is never 0 when there
 * was an error, and a faulty definition is never taken for a good one. Warnings beyond it are
 * dropped.
 *
 * All texts are copied into the report's arena. So the report outlives the definition, the graph
 * and the compiler's scratch memory, of which messages show parts.
 */
#include "actors/graph/document/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"

/*
 * The longest message, rule and remedy together, in bytes; a longer one is cut. Formats show parts
 * of the user's text by TRI_SHOWN, which is far less.
 */
#define PROBLEM_TEXT_BYTES_MAX 2048

/* The code of Flyte's compiler for what has none of its own. */
#define FLYTES_CODE "WorkflowBuildError"

/* Bytes 10xxxxxx go on a character of UTF-8, and make no column. */
struct tri_place tri_place_in(uint32_t source, struct tr_text text, size_t at)
{
    struct tri_place place = {.source = source, .line = 1, .column = 1};
    for (size_t i = 0; i < at && i < text.size; i++) {
        bool is_line = text.data[i] == '\n';
        place.line += is_line ? 1 : 0;
        place.column = is_line ? 1 : place.column + (((uint8_t)text.data[i] & 0xc0U) != 0x80U);
    }
    return place;
}

void tr_report_init(struct tr_report *report)
{
    *report = (struct tr_report){0};
    tr_arena_init(&report->arena);
    report->subject = tr_text_of("");
}

void tr_report_fini(struct tr_report *report)
{
    tr_arena_fini(&report->arena);
    tr_report_init(report);
}

uint32_t tri_report_source(struct tr_report *report, struct tr_text name)
{
    struct tr_text *names = report->sources.items;
    for (uint32_t i = 0; i < report->sources.count; i++) {
        if (tr_text_equal(names[i], name)) {
            return i;
        }
    }
    struct tr_text *added = tri_vector_add(&report->arena, &report->sources, sizeof *added);
    if (added == NULL) {
        return 0;
    }
    *added = tr_arena_text(&report->arena, name);
    return report->sources.count - 1;
}

struct tr_text tri_report_subject(struct tr_report *report, struct tr_text subject)
{
    struct tr_text before = report->subject;
    report->subject = subject;
    return before;
}

void tri_report_mute(struct tr_report *report)
{
    report->muted++;
}

void tri_report_unmute(struct tr_report *report)
{
    TR_ASSERT(report->muted > 0);
    report->muted--;
}

int tri_report_shown_size(struct tr_text text)
{
    if (text.size <= TR_SHOWN_BYTES_MAX) {
        return (int)text.size;
    }
    size_t size = TR_SHOWN_BYTES_MAX;
    /* Bytes 10xxxxxx go on a character of UTF-8; the cut goes back to where one begins. */
    while (size > 0 && ((uint8_t)text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    return (int)size;
}

/*
 * Splits "rule\nremedy" at the last line feed, since a value that the rule shows may hold others.
 * So a remedy must not show a user's text with line feeds.
 */
static void split(struct tr_problem *problem, struct tr_text text)
{
    const char *feed = memrchr(text.data, '\n', text.size);
    size_t size = feed == NULL ? text.size : (size_t)(feed - text.data);
    problem->rule = (struct tr_text){.data = text.data, .size = size};
    problem->remedy = tr_text_of("");
    if (feed != NULL) {
        problem->remedy = (struct tr_text){.data = feed + 1, .size = text.size - size - 1};
    }
}

/*
 * Makes a problem of what is said and appends it to one of the two lists; false without memory. The
 * subject is copied now, since it changes while the definition is read.
 */
TR_PRINTF(4, 0)
static bool add(struct tr_report *report, struct tri_vector *problems, struct tri_place place,
                const char *format, va_list values, struct tr_problem **added)
{
    char text[PROBLEM_TEXT_BYTES_MAX];
    int size = vsnprintf(text, sizeof text, format, values);
    size_t shown = size < 0 ? 0 : (size_t)size < sizeof text ? (size_t)size : sizeof text - 1;
    struct tr_problem *problem = tri_vector_add(&report->arena, problems, sizeof *problem);
    if (problem == NULL) {
        return false;
    }
    struct tr_text view = {.data = text, .size = shown};
    split(problem, tr_arena_text(&report->arena, view));
    struct tr_text *names = report->sources.items;
    bool is_known = place.source < report->sources.count;
    problem->file = is_known ? names[place.source] : tr_text_of("");
    problem->source = place.source;
    problem->line = place.line;
    problem->column = place.column;
    problem->subject = tr_arena_text(&report->arena, report->subject);
    *added = problem;
    return true;
}

void tri_report_add(struct tr_report *report, struct tri_place place, const char *code,
                    const char *format, ...)
{
    struct tr_problem *problem;
    va_list values;
    if (report->muted > 0) {
        return;
    }
    va_start(values, format);
    if (report->kept.count < TR_PROBLEMS_MAX &&
        add(report, &report->kept, place, format, values, &problem)) {
        problem->code = code;
    } else {
        report->more++;
    }
    va_end(values);
}

void tri_report_warn(struct tr_report *report, struct tri_place place, const char *format, ...)
{
    struct tr_problem *problem;
    va_list values;
    va_start(values, format);
    if (report->muted == 0 && report->warned.count < TR_PROBLEMS_MAX &&
        add(report, &report->warned, place, format, values, &problem)) {
        problem->is_warning = true;
    }
    va_end(values);
}

/*
 * By file in the order in which files were first named, then by place. The rule's text decides
 * between errors of one place, since qsort keeps no order of equal ones, and the same definition
 * has to give the same output each time.
 */
static int compare_problems(const void *left, const void *right)
{
    const struct tr_problem *a = left;
    const struct tr_problem *b = right;
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    if (a->column != b->column) {
        return a->column < b->column ? -1 : 1;
    }
    return tr_text_order(a->rule, b->rule);
}

static struct tr_problem *sorted(const struct tri_vector *problems, uint32_t *count)
{
    if (problems->count > 0) {
        qsort(problems->items, problems->count, sizeof(struct tr_problem), compare_problems);
    }
    *count = problems->count;
    return problems->items;
}

void tr_report_finish(struct tr_report *report)
{
    report->problems = sorted(&report->kept, &report->count);
    report->warnings = sorted(&report->warned, &report->warning_count);
}

static void print_rule(const struct tr_problem *problem, struct tr_buffer *buffer)
{
    tr_buffer_add_visible(buffer, problem->rule);
    if (problem->remedy.size > 0) {
        tr_buffer_add_string(buffer, "; ");
        tr_buffer_add_visible(buffer, problem->remedy);
    }
}

void tr_problem_print(const struct tr_problem *problem, struct tr_buffer *buffer)
{
    if (problem->file.size > 0) {
        tr_buffer_add_visible(buffer, problem->file);
        if (problem->line > 0) {
            tr_buffer_print(buffer, ":%u:%u", problem->line, problem->column);
        }
        tr_buffer_add_string(buffer, ": ");
    }
    tr_buffer_add_string(buffer, problem->is_warning ? "warning: " : "");
    if (problem->subject.size > 0) {
        tr_buffer_add_visible(buffer, problem->subject);
        tr_buffer_add_string(buffer, ": ");
    }
    print_rule(problem, buffer);
    if (problem->code != NULL) {
        tr_buffer_print(buffer, " [%s]", problem->code);
    }
}

/* A single error says all in its own line; Flyte's compiler has a frame for several. */
static bool has_head(const struct tr_report *report)
{
    return report->is_flytes && tr_report_total(report) > 1;
}

void tr_report_print_head(const struct tr_report *report, struct tr_buffer *buffer)
{
    if (!has_head(report)) {
        return;
    }
    if (report->count > 0 && report->problems[0].file.size > 0) {
        tr_buffer_add_visible(buffer, report->problems[0].file);
        tr_buffer_add_string(buffer, ": ");
    }
    tr_buffer_print(buffer, "Collected Errors: %u\n", tr_report_total(report));
}

void tr_report_print_error(const struct tr_report *report, uint32_t index, struct tr_buffer *buffer)
{
    const struct tr_problem *problem = &report->problems[index];
    if (!has_head(report)) {
        tr_problem_print(problem, buffer);
        return;
    }
    tr_buffer_print(buffer, "\tError %u: Code: %s, Node Id: ", index,
                    problem->code == NULL ? FLYTES_CODE : problem->code);
    tr_buffer_add_visible(buffer, problem->subject);
    tr_buffer_add_string(buffer, ", Description: ");
    print_rule(problem, buffer);
}
