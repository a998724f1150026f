/*
 * How the elements of an array stand, in a few bytes for each: an array has millions of them. Who
 * shows some of them reads their texts by `elements.h`.
 */
#ifndef TR_DEPLOY_HISTORY_ELEMENT_FIGURES_H
#define TR_DEPLOY_HISTORY_ELEMENT_FIGURES_H

#include "deploy/history/elements.h"

/* Elements that are read at once, 24 bytes for each: who wants more reads again. */
#define TR_ELEMENT_FIGURES_MAX (1U << 20)

struct tr_element_figure {
    uint64_t started_ms; /* its first attempt; 0: none has */
    uint64_t ended_ms;   /* 0: it has not */
    uint32_t attempt;
    uint8_t phase;   /* enum tr_node_phase; NOT_YET_STARTED: nothing is known of it */
    bool has_text;   /* the last thing known of it has a code or a message */
    bool has_wanted; /* a code that was asked for */
};

struct tr_element_figures {
    struct tr_element_figure *rows; /* that of `first` is the first */
    uint64_t first;
    uint64_t count;
};

/*
 * Reads the elements of a span, at most TR_ELEMENT_FIGURES_MAX. `code` is the code of a failure
 * that is asked for (empty: none is), and `groups`, which were begun, take in their failures (NULL:
 * nobody wants those). TR_LIMIT, TR_MALFORMED (what no actor writes), TR_MEMORY, and what the
 * reader says; then there is nothing to end.
 */
TR_MUST_USE int tr_element_figures_read(struct tr_reader *reader,
                                        const struct tr_element_span *span, struct tr_text code,
                                        struct tr_failed_groups *groups,
                                        struct tr_element_figures *figures);
void tr_element_figures_fini(struct tr_element_figures *figures);

/* How long it ran, or has run until now; 0: it has not started. */
static inline uint64_t tr_element_figure_took_ms(const struct tr_element_figure *row,
                                                 uint64_t now_ms)
{
    uint64_t end_ms = row->ended_ms != 0 ? row->ended_ms : now_ms;
    return row->started_ms == 0 || end_ms < row->started_ms ? 0 : end_ms - row->started_ms;
}

#endif
