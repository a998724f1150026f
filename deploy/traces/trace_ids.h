/*
 * Ids of traces and spans (W3C Trace Context, level 1). They follow from the number of the store
 * and from names, so that an engine that was restarted gives the same ones, and a task knows its
 * own before anything has been sent.
 */
#ifndef TR_DEPLOY_TRACES_TRACE_IDS_H
#define TR_DEPLOY_TRACES_TRACE_IDS_H

#include <limits.h>
#include <stdatomic.h>

#include "runtime/troupe.h"
#include "schemas/engine/flow.h"

/* In hexadecimal digits, with a closing zero. */
#define TR_TRACE_ID_BYTES 33
#define TR_SPAN_ID_BYTES 17

/* "00-TRACE-SPAN-01", with a closing zero. */
#define TR_TRACE_PARENT_BYTES 56

/* The trace of an execution, PROJECT/DOMAIN/NAME. */
void tr_trace_id(uint64_t store, struct tr_text execution, char id[TR_TRACE_ID_BYTES]);

/* The spans of an execution, of a node of it, and of an attempt by its generated name. */
void tr_span_id_of_execution(uint64_t store, struct tr_text execution, char id[TR_SPAN_ID_BYTES]);
void tr_span_id_of_node(uint64_t store, struct tr_text execution, struct tr_text path,
                        char id[TR_SPAN_ID_BYTES]);
void tr_span_id_of_attempt(uint64_t store, struct tr_text generated_name,
                           char id[TR_SPAN_ID_BYTES]);

/*
 * Makes TRACEPARENT of tasks, and leaves other variables to another maker. The number of the store
 * is known when the engine is open: an attempt that begins before, at a restart, has none.
 */
struct tr_trace_variables {
    atomic_uint_fast64_t store;         /* 0: not known yet */
    char attempts[PATH_MAX];            /* STORE/attempts/ */
    struct tr_variable_maker otherwise; /* find NULL: nobody */
};

/* `folder` is the store's. TR_LIMIT: its path is too long. */
TR_MUST_USE int tr_trace_variables_init(struct tr_trace_variables *variables, const char *folder,
                                        const struct tr_variable_maker *otherwise);
struct tr_variable_maker tr_trace_variables_maker(const struct tr_trace_variables *variables);

#endif
