/*
 * How a failure is shown: the cause first, its code behind it in brackets, and of the attempt that
 * failed what it wrote last, what it used and where its files are.
 */
#ifndef TR_DEPLOY_COMMON_FAILURE_H
#define TR_DEPLOY_COMMON_FAILURE_H

#include <stdio.h>

#include "actors/graph/document/buffer.h"
#include "deploy/common/document.h"
#include "schemas/engine/history.h"

/* What went wrong; `has_node`: and where. */
struct tr_shown_failure {
    struct tr_text code;
    struct tr_text message;
    bool has_flyte_message;
    struct tr_text flyte_message; /* empty: `message` */
    bool has_node;
    struct tr_text node;
    uint64_t element;                 /* or TR_ELEMENT_NONE */
    bool has_attempt;                 /* the attempt is shown, if only as null */
    const struct tr_attempt *attempt; /* that failed; NULL: none did */
};

/* Appends "message [code]" on one line, as tr_line_print does. */
void tr_failure_line(struct tr_text code, struct tr_text message, uint32_t width,
                     struct tr_buffer *buffer);

/* The same with the message's own lines, each but the first behind so many blanks. */
void tr_failure_lines(struct tr_text code, struct tr_text message, uint32_t indent,
                      struct tr_buffer *buffer);

/* A map of a failure; null where there is none. */
void tr_failure_write(struct tr_document *document, const char *name,
                      const struct tr_shown_failure *failure);

/* The members of a document that say how an attempt ended and what it used. */
void tr_attempt_end_write(struct tr_document *document, const struct tr_attempt *row);

/* Appends what an attempt used (actors/graph/document/usage.h). */
void tr_attempt_usage_print(const struct tr_attempt *row, struct tr_buffer *buffer);

/*
 * Prints what an attempt that failed wrote to stderr last, what it used and where its files are:
 * lines behind so many blanks, those of stderr two further in.
 */
void tr_attempt_print(const struct tr_attempt *row, uint32_t indent, FILE *stream);

/* Which execution it is, what it runs and how it stands: the first keys of its map. */
void tr_document_execution(struct tr_document *document, const struct tr_execution *row);

#endif
