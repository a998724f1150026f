/*
 * What is UTF-8 and what is not (RFC 3629: no overlong forms, no surrogates, nothing above
 * U+10FFFF), and where text may be cut. Text that comes from anywhere is checked here once.
 *
 * Nothing here allocates, and everything may be used from any thread.
 */
#ifndef TR_SCHEMAS_CODEC_UTF8_H
#define TR_SCHEMAS_CODEC_UTF8_H

#include "schemas/codec/base.h"

/* Whether all of the text is UTF-8. A zero byte is a character like any other. */
bool tr_utf8_valid(struct tr_text text);

/* The bytes of the character that the text begins with: 1 to 4, or 0 if it begins with none. */
size_t tr_utf8_width(struct tr_text text);

/* The most bytes, but not more than `size_max`, that can be kept without cutting a character. */
size_t tr_utf8_cut(struct tr_text text, size_t size_max);

/* The text without the byte order mark that some editors write at the beginning of a file. */
struct tr_text tr_utf8_skip_mark(struct tr_text text);

#endif
