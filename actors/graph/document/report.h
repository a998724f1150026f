/*
 * What is wrong with a definition or a value: every error with its place, the rule it breaks, what
 * would satisfy it, and Flyte's error code where there is one.
 *
 *     struct tr_report report;
 *     tr_report_init(&report);
 *     int error = tr_graph_check_file("flow.yaml", &report, &graph);
 *     for (uint32_t i = 0; i < report.count; i++) { print(&report.problems[i]); }
 *     tr_report_fini(&report);
 *
 * Files are named by number while a definition is read; the report holds the names. One thread
 * per report.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_REPORT_H
#define TR_ACTORS_GRAPH_DOCUMENT_REPORT_H

#include "actors/graph/document/arena.h"
#include "actors/graph/document/buffer.h"

/* Where something stands. Line and column count from 1; line 0 means the file as a whole. */
struct tri_place {
    uint32_t source;
    uint32_t line;
    uint32_t column;
};

/* The place of a byte of a text; one behind its end has the place of the end. */
struct tri_place tri_place_in(uint32_t source, struct tr_text text, size_t at);

/* One error or warning. Texts live as long as the report. */
struct tr_problem {
    struct tr_text file;    /* as the caller named it */
    uint32_t line;          /* from 1; 0: no line is known */
    uint32_t column;        /* from 1, in characters */
    struct tr_text subject; /* "workflow.node", a task's name, or empty */
    struct tr_text rule;    /* the rule that is broken, with the names and values at hand */
    struct tr_text remedy;  /* what would satisfy it; may be empty */
    const char *code;       /* Flyte's error code, or NULL */
    bool is_warning;        /* it is done as written, which is hardly what is meant */
    uint32_t source;        /* private: the order of files */
};

struct tr_report {
    struct tr_problem *problems; /* in the order of files, lines and columns, once finished */
    uint32_t count;
    uint32_t more;               /* errors beyond TR_PROBLEMS_MAX, counted only */
    struct tr_problem *warnings; /* the same of warnings, which are no errors */
    uint32_t warning_count;      /* at most TR_PROBLEMS_MAX */
    bool is_flytes;              /* of a definition of Flyte's: in the form of its compiler */

    /* private */
    struct tr_arena arena;
    struct tri_vector kept;
    struct tri_vector warned;
    struct tri_vector sources;
    struct tr_text subject;
    uint32_t muted;
};

void tr_report_init(struct tr_report *report);
void tr_report_fini(struct tr_report *report);

/* How many errors there are, the uncounted ones too. */
static inline uint32_t tr_report_total(const struct tr_report *report)
{
    return report->kept.count + report->more;
}

/* Sorts errors and warnings by place and fills in the lists. May be called again after more. */
void tr_report_finish(struct tr_report *report);

/*
 * One problem as one line without its end:
 * FILE:LINE:COLUMN: SUBJECT: RULE; REMEDY [CODE]
 * Of a warning `warning: ` stands before the subject. What is unknown is left out; what could steer
 * a terminal is shown.
 */
void tr_problem_print(const struct tr_problem *problem, struct tr_buffer *buffer);

/*
 * What stands before all errors of a finished report, as a line with its end: nothing, or, of
 * several errors of a definition of Flyte's, FILE: Collected Errors: COUNT
 */
void tr_report_print_head(const struct tr_report *report, struct tr_buffer *buffer);

/*
 * One of the errors as one line without its end, as tr_problem_print has it, or below a head as
 * Flyte's compiler has it: Error INDEX: Code: CODE, Node Id: SUBJECT, Description: RULE; REMEDY
 */
void tr_report_print_error(const struct tr_report *report, uint32_t index,
                           struct tr_buffer *buffer);

/* The number of a file with this name; the same name gets the same number. */
uint32_t tri_report_source(struct tr_report *report, struct tr_text name);

/*
 * Adds an error. The format holds the rule and, behind a line feed, the remedy; `code` may be NULL.
 * The subject is what tri_report_subject set last.
 */
void tri_report_add(struct tr_report *report, struct tri_place place, const char *code,
                    const char *format, ...) TR_PRINTF(4, 5);

/* Adds a warning, of which no code is known. */
void tri_report_warn(struct tr_report *report, struct tri_place place, const char *format, ...)
    TR_PRINTF(3, 4);

/* What the next errors are about; returns what it was before, to be set again. */
struct tr_text tri_report_subject(struct tr_report *report, struct tr_text subject);

/* While muted, nothing is kept nor counted: for trying whether something would fit. */
void tri_report_mute(struct tr_report *report);
void tri_report_unmute(struct tr_report *report);

/* How much of a text a message shows, cut at a character's end. */
int tri_report_shown_size(struct tr_text text);

/* The two arguments of "%.*s" for a text that may be long. */
#define TRI_SHOWN(text) tri_report_shown_size(text), (text).data

/* The same for a text that is shown whole. */
#define TRI_TEXT(text) (int)(text).size, (text).data

#endif
