/*
 * Spans of time, sizes, and what work has used, as people read them.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_USAGE_H
#define TR_ACTORS_GRAPH_DOCUMENT_USAGE_H

#include "actors/graph/document/buffer.h"
#include "schemas/engine/plugin.h"

/* Appends a span of time: 0.12s, 3.4s, 2m05s, 1h02m. */
void tr_span_print(uint64_t milliseconds, struct tr_buffer *buffer);

/* Appends a size in the largest binary unit that leaves a number of at least 1: 13.2 MiB. */
void tr_size_print(uint64_t bytes, struct tr_buffer *buffer);

/*
 * Appends "0.35s, CPU 0.13s, memory 13.2 MiB at most", and behind it the bound that it had and
 * whether that was enforced; nothing where it is not known, which is where no time has passed.
 */
void tr_usage_print(const struct tr_usage *usage, struct tr_buffer *buffer);

#endif
