/*
 * The streams that people read: all that the program prints to stdout and stderr goes through here,
 * its source: tasks, back ends, definitions. Characters that would steer a terminal or turn
 * what is read are shown (schemas/codec/visible.h); only line feeds, tabs and carriage returns
 * before a line feed pass.
 */
#ifndef TR_DEPLOY_COMMON_STREAM_H
#define TR_DEPLOY_COMMON_STREAM_H

#include <stdio.h>

#include "schemas/codec/base.h"

enum tr_stream_form {
    TR_STREAM_TEXT,
    TR_STREAM_JSON,   /* hidden characters are escaped as JSON wants it */
    TR_STREAM_COLORS, /* colours (SGR) pass, too */
    TR_STREAM_EXACT   /* all bytes pass */
};

/* Puts stdout and stderr behind this; before anything is printed. Without memory they stay. */
void tr_streams_open(void);

/* Prints what was held back, such as the first bytes of a character that was cut off. */
void tr_streams_close(void);

/* From now on a stream, stdout or stderr, takes this form; any other stream is left alone. */
void tr_stream_form(FILE *stream, enum tr_stream_form form);

/* Ends the colours that have passed. */
void tr_stream_plain(FILE *stream);

/* Writes what the program itself has drawn for the terminal at stderr, sequences and all. */
void tr_stream_draw(struct tr_bytes picture);

#endif
