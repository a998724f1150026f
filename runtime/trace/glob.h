/*
 * Patterns for addresses: `*` matches any characters within one name, `**` any characters, all
 * others themselves. A pattern that ends in a slash and two stars matches the actor before the
 * slash and everything below it.
 *
 * Matching takes time proportional to text times pattern, whatever they are, so no pattern can
 * delay a worker.
 */
#ifndef TR_RUNTIME_TRACE_GLOB_H
#define TR_RUNTIME_TRACE_GLOB_H

#include "schemas/codec/base.h"

/*
 * Whether the pattern matches the whole text. Patterns have at most TR_TAP_GLOB_BYTES_MAX bytes; a
 * longer one matches nothing. Any thread.
 */
bool tri_glob_match(struct tr_text pattern, struct tr_text text);

/* Whether one of several comma-separated patterns matches. */
bool tri_glob_match_any(struct tr_text patterns, struct tr_text text);

#endif
