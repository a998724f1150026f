/*
 * YAML into a tree with places, within limits that hostile files meet in milliseconds.
 *
 * Mappings keep their order, repeated keys are errors, keys are text. Anchors and aliases share
 * parts of the tree; what they unfold to is counted (TR_TREE_NODES_MAX), and an alias inside its
 * own anchor is refused. Merge keys (`<<`) are followed. Tags other than `!!str` are refused.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_YAML_H
#define TR_ACTORS_GRAPH_DOCUMENT_YAML_H

#include "actors/graph/document/tree.h"

/*
 * Reads one document of `text` into `arena`. `source` is the file's number in the report. NULL
 * when something is wrong, which is then in the report, or when memory ended (arena->error).
 * Repeated keys are reported, but the tree is still given.
 */
TR_MUST_USE const struct tr_tree *tr_yaml_read(struct tr_arena *arena, struct tr_report *report,
                                               uint32_t source, struct tr_text text);

#endif
