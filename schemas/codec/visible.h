/*
 * Characters that steer a terminal, turn the direction of what is read, or are none: what stands
 * for them where people read text that anybody may have written. All printing decides by this.
 *
 * Nothing here allocates, and everything may be used from any thread.
 */
#ifndef TR_SCHEMAS_CODEC_VISIBLE_H
#define TR_SCHEMAS_CODEC_VISIBLE_H

#include "schemas/codec/base.h"

/* Room for what stands for one character, with its closing zero. */
#define TR_VISIBLE_BYTES 8

enum tr_visible_form {
    TR_VISIBLE_TEXT, /* \x1b, \u202e; \xff for a byte that is no UTF-8 */
    TR_VISIBLE_JSON  /* the same within JSON's quotes: \u001b, \u202e, \ufffd */
};

/* The bytes at the beginning of the text that are shown as they are, blanks of all kinds not. */
size_t tr_visible_run(struct tr_text text);

/* What is shown for the character that the text begins with; gives the bytes that it has. */
size_t tr_visible_escape(struct tr_text text, enum tr_visible_form form,
                         char shown[TR_VISIBLE_BYTES]);

#endif
