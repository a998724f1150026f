/*
 * The codes of failures that are known beforehand: those that attempts of tasks fail with, and the
 * exceptions that come with Python. Tasks and plugins have others of their own.
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_FAILURE_CODES_H
#define TR_ACTORS_GRAPH_LANGUAGE_FAILURE_CODES_H

#include "schemas/codec/base.h"

enum tri_failure_code_kind {
    TRI_CODE_UNKNOWN,
    TRI_CODE_OF_USER,   /* retries may try it again */
    TRI_CODE_OF_SYSTEM, /* only the system's own retries do */
    TRI_CODE_FINAL,     /* nothing does */
};

/* What is known of a code. */
enum tri_failure_code_kind tri_failure_code_kind(struct tr_text code);

/* The known code that this one may be a slip of, or an empty text. */
struct tr_text tri_failure_code_nearest(struct tr_text code);

#endif
