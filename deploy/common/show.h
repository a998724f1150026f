/*
 * Words and parts of documents that several commands show in the same way.
 */
#ifndef TR_DEPLOY_COMMON_SHOW_H
#define TR_DEPLOY_COMMON_SHOW_H

#include "actors/graph/document/buffer.h"
#include "actors/graph/document/usage.h"
#include "deploy/common/document.h"
#include "schemas/engine/history.h"

/* The phase of an execution, and that it is paused: "running, paused". */
const char *tr_phase_shown(const struct tr_execution *row);

/* Appends an age as people read it: 5s, 3m, 2h, 4d. */
void tr_age_print(uint64_t milliseconds, struct tr_buffer *buffer);

/* Appends a time in UTC to the second; "-" for 0. */
void tr_time_print(uint64_t time_ms, struct tr_buffer *buffer);

/* The same to the millisecond. */
void tr_instant_print(uint64_t time_ms, struct tr_buffer *buffer);

/* How long something took, or takes until now: from its start, or else its creation, on. */
uint64_t tr_took_ms(uint64_t created_ms, uint64_t started_ms, uint64_t ended_ms, uint64_t now_ms);

/*
 * Appends a text on one line (tr_buffer_add_visible); what is longer than `width` characters ends
 * in "…". A width of 0 shows all.
 */
void tr_line_print(struct tr_text text, uint32_t width, struct tr_buffer *buffer);

/* Appends a text with its own lines, each but the first behind so many blanks. */
void tr_lines_print(struct tr_text text, uint32_t indent, struct tr_buffer *buffer);

/* Appends a word as a shell takes it: in single quotes, unless no shell looks at what is in it. */
void tr_word_print(struct tr_text word, struct tr_buffer *buffer);

/* Reads digits and nothing else; false if it is none or too large. */
TR_MUST_USE bool tr_count_read(const char *word, uint64_t *count);

/* The number of an element; null for TR_ELEMENT_NONE. */
void tr_document_element(struct tr_document *document, const char *name, uint64_t element);

#endif
