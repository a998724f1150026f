/*
 * Words that people type: which of a list one is, and which one they may have meant. Commands,
 * keys of a definition and keys of a plugin's config all ask here.
 */
#ifndef TR_SCHEMAS_CODEC_SPELLING_H
#define TR_SCHEMAS_CODEC_SPELLING_H

#include "schemas/codec/base.h"

/* How many words of a list "a|b|c" come before this one; -1 if it is not among them. */
int tr_spelling_find(const char *words, const char *word);

/* The longest that are compared: an edit distance costs the product of both lengths. */
#define TR_WORD_BYTES_MAX 63

/*
 * The edit distance of two words: bytes to add, to drop, to change, or neighbours to swap.
 * UINT32_MAX if one is longer than TR_WORD_BYTES_MAX.
 */
unsigned tr_spelling_distance(struct tr_text a, struct tr_text b);

/* Whether a word at this distance from what was typed is worth suggesting. */
bool tr_spelling_is_near(struct tr_text typed, unsigned distance);

/* The nearest of `count` words, the first of several; an empty text if none is near. */
struct tr_text tr_spelling_nearest(struct tr_text typed,
                                   struct tr_text (*word_at)(const void *self, uint32_t position),
                                   const void *self, uint32_t count);

#endif
