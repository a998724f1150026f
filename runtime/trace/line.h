/*
 * Async-signal-safe text output: lines are built by hand and written with write(2) only, so a
 * signal handler may use it. Nothing is allocated, locked or buffered elsewhere.
 */
#ifndef TR_RUNTIME_TRACE_LINE_H
#define TR_RUNTIME_TRACE_LINE_H

#include "schemas/codec/base.h"

#define TRI_LINE_BYTES 4096

/* Buffered text for a file descriptor; written when the buffer is full, and by tri_line_flush. */
struct tri_line {
    int descriptor;
    size_t size;
    char bytes[TRI_LINE_BYTES];
};

/* Begins with an empty buffer. All functions may be called in signal handlers. */
void tri_line_init(struct tri_line *line, int descriptor);

void tri_line_text(struct tri_line *line, struct tr_text text);
void tri_line_string(struct tri_line *line, const char *string);

/* Appends a label and a number in decimal: " ms=" and 5 make " ms=5". */
void tri_line_number(struct tri_line *line, const char *label, uint64_t number);

/* Appends a label and a key: " actor=" and 7/12. */
void tri_line_key(struct tri_line *line, const char *label, struct tr_key key);

/* Writes the buffer. Errors are ignored: they cannot be reported. */
void tri_line_flush(struct tri_line *line);

#endif
