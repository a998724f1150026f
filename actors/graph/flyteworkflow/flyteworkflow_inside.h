/*
 * What the files of this room share: a resource on its way into Flyte's messages.
 *
 * What is wrong is told of the part in hand, with its path and, of YAML, its place; functions that
 * may tell of something return false or NULL where they did, or memory ended. All else is looked at
 * all the same.
 */
#ifndef TR_ACTORS_GRAPH_FLYTEWORKFLOW_FLYTEWORKFLOW_INSIDE_H
#define TR_ACTORS_GRAPH_FLYTEWORKFLOW_FLYTEWORKFLOW_INSIDE_H

#include <flyteidl/compiler.pb-c.h>

#include "actors/graph/document/tree.h"
#include "actors/graph/flyte/flyte_entity.h"

typedef Flyteidl__Core__Identifier flyte_identifier;
typedef Flyteidl__Core__Node flyte_node;
typedef Flyteidl__Core__WorkflowTemplate flyte_workflow;
typedef Flyteidl__Core__CompiledWorkflowClosure flyte_closure;

/* The pairs of a mapping in the order of their keys, for looking them up. */
struct tri_flyteworkflow_table {
    const struct tr_pair **pairs;
    uint32_t count;
};

/* What is known of a node in the map. */
struct tri_flyteworkflow_row {
    flyte_node *message;        /* NULL: it stands in a branch, or is told */
    struct tri_vector upstream; /* char *: ids of nodes that it comes behind */
    bool is_arm;                /* it stands in a branch */
    bool is_read;
};

struct tri_flyteworkflow {
    struct tr_arena *arena;
    struct tr_report *report;

    /* Tasks and the workflows below the primary one, by their keys. */
    struct tri_flyteworkflow_table tasks;
    Flyteidl__Core__CompiledTask **task_messages;
    struct tri_flyteworkflow_table workflows;
    Flyteidl__Core__CompiledWorkflow **workflow_messages;

    /* The nodes of the workflow in hand. */
    struct tri_flyteworkflow_table nodes;
    struct tri_flyteworkflow_row *rows;
};

/* ------------------------------------------------------------------ flyteworkflow_value.c */

/* Says what is wrong with what is told of now: false. */
bool tri_flyteworkflow_refuse(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                              const char *code, const char *words);

/* Begins to tell of a part; returns what was told of before, for tri_report_subject. */
struct tr_text tri_flyteworkflow_enter(struct tri_flyteworkflow *resource, struct tr_text name);

/* A part that has to be a mapping, if it is there. NULL: it is not. */
const struct tr_tree *tri_flyteworkflow_find_map(struct tri_flyteworkflow *resource,
                                                 const struct tr_tree *tree, const char *key);

/* Whether something is there and has a value. */
bool tri_flyteworkflow_has_value(const struct tr_tree *tree);

/* A table of a mapping, or of none; and where a key stands in one: UINT32_MAX: nowhere. */
struct tri_flyteworkflow_table tri_flyteworkflow_table_of(struct tri_flyteworkflow *resource,
                                                          const struct tr_tree *map);
uint32_t tri_flyteworkflow_find(const struct tri_flyteworkflow_table *table, struct tr_text name);

/* A message of Flyte's from its JSON; fields that are not known are passed over. */
void *tri_flyteworkflow_message(struct tri_flyteworkflow *resource,
                                const ProtobufCMessageDescriptor *descriptor,
                                const struct tr_tree *tree);

/* Those of a list. */
void **tri_flyteworkflow_messages(struct tri_flyteworkflow *resource,
                                  const ProtobufCMessageDescriptor *descriptor,
                                  const struct tr_tree *tree, size_t *count);

/* Single values; numbers are not less than 0. */
bool tri_flyteworkflow_text(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                            char **text);
bool tri_flyteworkflow_number(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                              double max, double *number);
bool tri_flyteworkflow_bool(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                            protobuf_c_boolean *value);

/* ------------------------------------------------------------------ flyteworkflow_node.c */

/* A node, `depth` arms and arrays deep, with its arms. */
flyte_node *tri_flyteworkflow_node(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                                   uint32_t depth);

/* ------------------------------------------------------------------ flyteworkflow_type.c */

/*
 * Finds the types of the workflows' inputs, which resources do not say, and puts them into their
 * interfaces: from what inputs are bound to, else from what is compared with them, else from the
 * values that are `given` to the primary workflow (NULL: none).
 */
TR_MUST_USE bool tri_flyteworkflow_type(struct tr_arena *arena, struct tr_report *report,
                                        const flyte_closure *closure,
                                        const Flyteidl__Core__LiteralMap *given);

#endif
