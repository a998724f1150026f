/*
 * `troupe elements`: the elements of one array, some of them or all of them counted, for who draws
 * a million of them or looks for the few that failed. schemas/documents.schema.json has the fields.
 */
#ifndef TR_DEPLOY_LOOK_ELEMENTS_H
#define TR_DEPLOY_LOOK_ELEMENTS_H

#include "deploy/history/element_figures.h"
#include "deploy/look/get_report.h"

/* Elements of a page, if nobody says; ranges that are counted, if nobody says, and at most. */
#define TR_ELEMENTS_LIMIT 50
#define TR_ELEMENTS_RANGES 20
#define TR_ELEMENTS_RANGES_MAX 4096

/* The elements that took longest, as many as are named. */
#define TR_ELEMENTS_SLOWEST 10

/* What is asked of an array. */
struct tr_elements {
    const struct tr_get *get;
    const struct tr_get_report *report; /* of the array */
    uint64_t first;                     /* the elements that are meant */
    uint64_t end;                       /* behind the last one */
    uint32_t phases;                    /* bits of enum tr_node_phase; 0: any */
    struct tr_text code;                /* of a failure; empty: any */
    uint64_t limit;                     /* 0: all */
    uint64_t ranges;
};

/* What one page has left out. */
struct tr_elements_shown {
    bool has_more;
    uint64_t next; /* the first of those */
};

/* Write elements, and what there is of them in numbers. TR_MEMORY, TR_MALFORMED, and the reader. */
TR_MUST_USE int tr_elements_page(const struct tr_elements *elements,
                                 struct tr_elements_shown *shown);
TR_MUST_USE int tr_elements_summary(const struct tr_elements *elements);

/*
 * Reads the figures from `first` on, as many as there are and are read at once, as the execution
 * has them, which may have kept the array of an earlier one.
 */
TR_MUST_USE int tri_elements_read(const struct tr_elements *elements, uint64_t first, uint64_t most,
                                  struct tr_failed_groups *groups,
                                  struct tr_element_figures *figures);

#endif
