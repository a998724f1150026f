/*
 * What the tests of this room share: values and types from text, and errors as text.
 */
#ifndef TR_TESTS_UNIT_ACTORS_GRAPH_HELP_H
#define TR_TESTS_UNIT_ACTORS_GRAPH_HELP_H

#include "actors/graph/document/json.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/value/literal.h"
#include "tests/support/test.h"

/* An arena, a report, types and a buffer for texts: everything a test of values needs. */
struct help {
    struct tr_arena arena;
    struct tr_report report;
    struct tr_types types;
    struct tr_buffer text;
    uint32_t source;
};

void help_init(struct help *help);
void help_fini(struct help *help);

/* Reads YAML or JSON; NULL leaves errors in the report. */
const struct tr_tree *help_yaml(struct help *help, const char *text);
const struct tr_tree *help_json(struct help *help, const char *text);

/* A type from its expression, which has to be right. */
const struct tr_type *help_type(struct help *help, const char *text);

/*
 * All errors so far, then all warnings, one in a line, and forgets them. The text lives until the
 * next call.
 */
const char *help_errors(struct help *help);

/* A value from a document as JSON again, or the errors. */
const char *help_value(struct help *help, const char *type, const struct tr_tree *tree);

/* Nanoseconds of this thread's processor time, for limits on it. */
int64_t help_clock_ns(void);

#endif
