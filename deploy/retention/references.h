/*
 * Which files of a store something names. A blob and a graph are named by 64 hexadecimal digits,
 * wherever they stand: in a text, a path, a packed value; a graph also by the number that its hash
 * begins with; a folder of code by such digits, too, and here a slash stands behind them. Whatever
 * looks like a name is one, so that a file which is needed is never taken for
 * one that is not, in whichever form the name is written.
 *
 *     tr_references_add(…) for each file; tr_references_sort;
 *     tr_references_read(…) for all bytes that may name one;
 *     while (tr_references_next(names, &file)) tr_references_read(…) what is in it
 *
 * One thread. Pure: nothing is opened here.
 */
#ifndef TR_DEPLOY_RETENTION_REFERENCES_H
#define TR_DEPLOY_RETENTION_REFERENCES_H

#include "actors/graph/document/buffer.h"

#define TR_REFERENCE_DIGITS 64

struct tr_references;

/* TR_MEMORY. */
TR_MUST_USE int tr_references_new(struct tr_references **references);
void tr_references_free(struct tr_references *references);

/*
 * A file, by its own name, which begins with the digits; one that does not is left out. With
 * `is_read` it can name others itself. TR_MEMORY.
 */
TR_MUST_USE int tr_references_add(struct tr_references *references, const char *file, bool is_graph,
                                  bool is_read);

/* All files have been added. TR_MEMORY. */
TR_MUST_USE int tr_references_sort(struct tr_references *references);

/* A file that stays without a reference. */
void tr_references_keep(struct tr_references *references, const char *file);

/*
 * Marks what is named in some bytes. With `is_page` they may begin or end within a name, of which
 * half is enough.
 */
void tr_references_read(struct tr_references *references, struct tr_bytes bytes, bool is_page);

/* The next file that is named, can name others, and was not given before; false: none. */
bool tr_references_next(struct tr_references *references, const char **file, bool *is_graph);

/* The next named file from `place` on, which is 0 at first; false: that were all. */
bool tr_references_each(const struct tr_references *references, size_t *place, const char **file,
                        bool *is_graph);

/* Whether a file is named; one that was not added is. */
bool tr_references_has(const struct tr_references *references, const char *file);

#endif
