/*
 * Label selectors, as `kubectl -l` has them: which labels an execution has to have.
 *
 *     team=data,tier!=gold,!scratch        all of these have to hold
 *     team, team==data, team in (a, b), team notin (a, b)
 *
 * As there, `!=` and `notin` also hold where there is no such label. The comparisons by numbers of
 * Kubernetes, `<` and `>`, are not known.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_LABEL_SELECTOR_H
#define TR_ACTORS_GRAPH_DOCUMENT_LABEL_SELECTOR_H

#include "actors/graph/document/arena.h"

/* Conditions of one selector. */
#define TR_LABEL_TERMS_MAX 8U

/* Bytes that are enough for what is wrong with a selector. */
#define TR_LABEL_PROBLEM_BYTES 512

/* One condition: the key is there with one of the values, or with any; or that is not so. */
struct tr_label_term {
    struct tr_text key;
    struct tr_text values; /* with commas between */
    bool has_values;       /* else only the key matters */
    bool is_negated;
};

struct tr_label_selector {
    struct tri_vector terms; /* struct tr_label_term */
};

/*
 * Appends the conditions of a text to a selector, which is empty when it is zeros; what it keeps is
 * in the arena. TR_INVALID with words in `problem` (TR_LABEL_PROBLEM_BYTES), TR_MEMORY.
 */
TR_MUST_USE int tr_label_selector_read(struct tr_arena *arena, struct tr_text text,
                                       struct tr_label_selector *selector, char *problem);

/* Whether all of it holds for a text of labels (labels.h). An empty selector holds for all. */
bool tr_label_selector_holds(const struct tr_label_selector *selector, struct tr_text labels);

#endif
