/*
 * Templates of notifications where they are written (enum tr_notify_name of value/template.h).
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_NOTIFY_TEMPLATE_H
#define TR_ACTORS_GRAPH_LANGUAGE_NOTIFY_TEMPLATE_H

#include "actors/graph/language/definition.h"
#include "actors/graph/value/template.h"

/* Checks the templates of all texts in a tree but the keys of mappings, which have none. */
void tri_notify_check_texts(struct tri_definition *definition, const struct tr_tree *tree);

/* The same of a command, with a warning of values that a shell takes for a part of its script. */
void tri_notify_check_command(struct tri_definition *definition, const struct tr_tree *tree);

/* Says that templates are not filled in here. */
void tri_notify_refuse_templates(struct tri_definition *definition, const struct tr_tree *tree);

#endif
