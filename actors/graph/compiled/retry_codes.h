/*
 * Which failures of a task are tried again: `retry_on` and `never_retry_on` of its settings.
 *
 * A failure has a code and, where a program in Python ended by an exception, the name of that, too.
 * It is tried again if `retry_on` is not given or names one of them, and `never_retry_on` names
 * none of them.
 */
#ifndef TR_ACTORS_GRAPH_COMPILED_RETRY_CODES_H
#define TR_ACTORS_GRAPH_COMPILED_RETRY_CODES_H

#include "actors/graph/compiled/graph.h"

/* Whether a text is what a pattern says, in which a star stands for any run of characters. */
bool tr_code_matches(struct tr_text pattern, struct tr_text code);

/* The names of one failure. */
struct tr_failure_names {
    struct tr_text code;
    struct tr_text exception; /* as Python prints it, with its module; or empty */
};

/*
 * Whether the settings let a failure be tried again. If not, `pattern` is the one of
 * `never_retry_on` that names it, and empty where `retry_on` does not.
 */
bool tr_retry_allows(const struct tr_settings *settings, const struct tr_failure_names *names,
                     struct tr_text *pattern);

#endif
