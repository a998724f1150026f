/*
 * One file of the tree, read whole, in two views of the same length: the text as it is, and the
 * code in it, where comments and what stands between quotes are blank. A law about words looks at
 * the code, so that a comment may name what the law forbids.
 *
 * Everything here belongs to one thread.
 */
#ifndef TR_TESTS_UNIT_HOUSE_SOURCE_H
#define TR_TESTS_UNIT_HOUSE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* What a file is, as far as laws differ. */
enum house_kind {
    HOUSE_OTHER,
    HOUSE_C,
    HOUSE_HEADER,
    HOUSE_SCRIPT,
    HOUSE_PROSE,
};

struct house_source {
    char *path; /* from the root of the tree */
    enum house_kind kind;
    char *text;
    char *code; /* the text itself for anything but C */
    size_t size;
    size_t *line_starts; /* line_count + 1 entries, the last one behind the end */
    size_t line_count;
};

/* A part of a view: not terminated, without its newline. */
struct house_span {
    const char *start;
    size_t length;
};

/* Reads the file `path` below `root` into `source`; the caller ends with house_source_fini. */
bool house_source_init(struct house_source *source, const char *root, const char *path);
void house_source_fini(struct house_source *source);

/* Line `number`, counted from 1, of one of the two views. */
struct house_span house_line(const struct house_source *source, const char *view, size_t number);

/* The number, counted from 1, of the line that holds the byte at `offset`. */
size_t house_line_number(const struct house_source *source, size_t offset);

/* Whether the character may stand in a C identifier. */
bool house_is_word(char character);

/* The first byte at or after `start` that is no blank, no newline and no backslash. */
size_t house_skip_blanks(const struct house_source *source, size_t start);

/* The word of the code at or after `*offset`, which is moved behind it; length 0 at the end. */
struct house_span house_next_word(const struct house_source *source, size_t *offset);

bool house_span_is(struct house_span span, const char *word);

#endif
