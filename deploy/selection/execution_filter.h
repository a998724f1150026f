/*
 * Which executions are meant: by what they run, how they stand, when they were created, and by
 * their labels. One struct for commands and for pruning, and the query of a reader that it makes.
 */
#ifndef TR_DEPLOY_SELECTION_EXECUTION_FILTER_H
#define TR_DEPLOY_SELECTION_EXECUTION_FILTER_H

#include "actors/graph/document/label_selector.h"
#include "runtime/journal/reader.h"
#include "runtime/limits.h"
#include "schemas/engine/history.h"

/* The phases of executions that have ended, or have not, as bits. */
uint32_t tr_execution_phases_ended(void);
uint32_t tr_execution_phases_unfinished(void);

/* Texts that are NULL, and numbers that are 0, mean all. */
struct tr_execution_filter {
    const char *project;
    const char *domain;
    const char *workflow; /* a name, or a glob */
    const char *plan;     /* the same */
    const char *name;     /* the same */
    uint32_t phases;      /* bits of enum tr_execution_phase */
    uint64_t since_ms;    /* created then or later */
    uint64_t until_ms;    /* created before */
    uint64_t ended_before_ms;
    /*
     * Launched by an execution, whose address with a slash behind it begins that of the node
     * ("/PROJECT/DOMAIN/NAME/"), and created when that was or later, since its name may have been
     * another's before; or by none.
     */
    struct tr_text parent;
    bool is_launched_by_none;
    struct tr_label_selector labels;
};

/* A query, with what it consists of: not to be copied. */
struct tr_execution_query {
    struct tr_reader_query query;
    struct tr_reader_filter filters[TR_READER_FILTERS_MAX];
    struct tr_reader_related related[TR_LABEL_TERMS_MAX];
    struct tr_reader_filter label_filters[TR_LABEL_TERMS_MAX][3];
};

/*
 * Makes the query of a filter, which outlives it; its order is the newest first. One that is for
 * another order sets it, and says so by `is_newest_first`, since that decides which index is used.
 */
void tr_execution_query_init(struct tr_execution_query *made,
                             const struct tr_execution_filter *filter, bool is_newest_first);

/* What begins the addresses of the nodes of an execution: "/PROJECT/DOMAIN/NAME/". */
struct tr_text tr_execution_address(const struct tr_execution *row,
                                    char address[TR_ADDRESS_BYTES_MAX]);

#endif
