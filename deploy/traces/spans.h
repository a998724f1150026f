/*
 * The spans of one execution that has ended, as documents of OTLP 1.x in JSON
 * (ExportTraceServiceRequest): one of the execution, one of each node that was begun, one of each
 * attempt, in documents of a bounded number of spans.
 */
#ifndef TR_DEPLOY_TRACES_SPANS_H
#define TR_DEPLOY_TRACES_SPANS_H

#include "actors/graph/document/buffer.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* Spans of one document; and of one execution: attempts beyond are left out. */
#define TR_TRACES_SPANS_OF_DOCUMENT 500
#define TR_TRACES_SPANS_OF_EXECUTION 10000

/* What is sent of a text. */
#define TR_TRACES_TEXT_BYTES 1024

struct tr_spans_request {
    struct tr_reader *reader;
    uint64_t store;      /* its number */
    const char *service; /* what service.name is */
    uint64_t execution;  /* its number */
    uint64_t *left_out;  /* is added to: spans beyond the bound */
};

/*
 * Gives each document to `send`, which keeps nothing of it; what that returns other than 0 ends it,
 * and is returned. TR_NOT_FOUND: the execution is not there any more; TR_MEMORY, and what the
 * reader says. The reader's moment is let go while a document is sent.
 */
TR_MUST_USE int tr_spans_send(const struct tr_spans_request *request,
                              int (*send)(void *self, struct tr_bytes document), void *self);

#endif
