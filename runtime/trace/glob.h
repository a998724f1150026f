/*
 * Patterns for addresses: `*` stands for any run of characters within one name, `**` for any at
 * all, everything else for itself. A pattern that ends in a slash and two stars is the actor before
 * the slash and everything below it.
 *
 * Matching takes time in proportion to text times pattern, whatever they are, so that no pattern
 * can hold a worker back.
 */
#ifndef TR_RUNTIME_TRACE_GLOB_H
#define TR_RUNTIME_TRACE_GLOB_H

#include "schemas/codec/base.h"

/* Whether the whole text is what the pattern says. Patterns have at most TR_TAP_GLOB_BYTES_MAX
 * bytes; a longer one matches nothing. Any thread. */
bool tri_glob_match(struct tr_text pattern, struct tr_text text);

/* Whether it is what one of several patterns says, with commas between them. */
bool tri_glob_match_any(struct tr_text patterns, struct tr_text text);

#endif
