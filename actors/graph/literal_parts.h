/*
 * Between the two files that read values: scalars, lists and unions in literal_read.c, and what
 * is named by paths or has fields of its own in literal_record.c.
 */
#ifndef TR_ACTORS_GRAPH_LITERAL_PARTS_H
#define TR_ACTORS_GRAPH_LITERAL_PARTS_H

#include "actors/graph/value/literal.h"

/* Says that the value is none of its type; false. */
bool tri_mismatch(struct tr_literal_reader *reader, const struct tr_type *type,
                  const struct tr_tree *tree);

/* The text of a scalar; in places with references "$$" at its beginning is one dollar sign. */
bool tri_take_text(const struct tr_literal_reader *reader, const struct tr_tree *tree,
                   struct tr_text *text);

/* Readers of single types: file and directory, dataset, error. */
bool tri_read_path(struct tr_literal_reader *reader, const struct tr_type *type,
                   const struct tr_tree *tree, struct tr_buffer *buffer);
bool tri_read_dataset(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer);
bool tri_read_error(struct tr_literal_reader *reader, const struct tr_type *type,
                    const struct tr_tree *tree, struct tr_buffer *buffer);

#endif
