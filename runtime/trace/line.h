/*
 * Text for the worst moments: lines put together by hand and written with write(2) alone, so that a
 * signal handler may do it. Nothing is allocated, locked or buffered elsewhere.
 */
#ifndef TR_RUNTIME_TRACE_LINE_H
#define TR_RUNTIME_TRACE_LINE_H

#include "schemas/codec/base.h"

#define TRI_LINE_BYTES 4096

/* Text on its way to a file descriptor; written when it is full, and by tri_line_flush. */
struct tri_line {
    int descriptor;
    size_t size;
    char bytes[TRI_LINE_BYTES];
};

/* Begins with nothing. Everything here may be called in signal handlers. */
void tri_line_init(struct tri_line *line, int descriptor);

void tri_line_text(struct tri_line *line, struct tr_text text);
void tri_line_string(struct tri_line *line, const char *string);

/* A label and a number in decimal: " ms=" and 5 make " ms=5". */
void tri_line_number(struct tri_line *line, const char *label, uint64_t number);

/* A label and a key: " actor=" and 7/12. */
void tri_line_key(struct tri_line *line, const char *label, struct tr_key key);

/* Writes what there is. Errors are not seen: there is nobody left to tell. */
void tri_line_flush(struct tri_line *line);

#endif
