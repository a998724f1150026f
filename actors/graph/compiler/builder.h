/*
 * One workflow on its way into the graph: what the parts of the compiler share.
 *
 * The way: nodes are laid out (start, nodes each followed by the nodes of its arms, end, then the
 * bodies of on_failure and finally); their targets are looked up; edges are collected from
 * references and sorted into an order; and in that order inputs are bound and outputs typed, so
 * that whatever a reference names is known when it is read.
 */
#ifndef TR_ACTORS_GRAPH_COMPILER_BUILDER_H
#define TR_ACTORS_GRAPH_COMPILER_BUILDER_H

#include "actors/graph/language/definition.h"

/* What a workflow's own names stand for. */
enum tri_scope_kind {
    TRI_SCOPE_INPUT,
    TRI_SCOPE_NODE,
    TRI_SCOPE_ARM, /* takes the name, but nobody refers to it */
};

struct tri_scope {
    struct tri_name name;
    enum tri_scope_kind kind;
    uint32_t index;
};

/* A node beside the compiled one: where it comes from and what is known of it meanwhile. */
struct tri_built {
    const struct tri_node *source;        /* NULL: start and end */
    uint32_t top;                         /* its branch at the top, or itself */
    uint32_t arm_count;                   /* nodes of arms that follow it, at any depth */
    const struct tr_interface *interface; /* its target's */
    bool is_broken; /* something is wrong with it: what it gives is not known */
};

struct tri_edge {
    uint32_t from;
    uint32_t to;
};

struct tri_compiler {
    struct tri_definition definition;
    struct tr_graph *graph;
    struct tr_arena *scratch;
    struct tr_report *report;
    uint8_t *states; /* of workflows: enum tri_state */
};

enum tri_state { TRI_STATE_NEW, TRI_STATE_RUNNING, TRI_STATE_DONE };

struct tri_builder {
    struct tri_compiler *compiler;
    struct tri_definition *definition;
    const struct tri_workflow *source;
    struct tr_workflow *workflow;
    struct tri_built *built; /* as many as nodes */
    struct tri_scope *scope; /* sorted by name and kind, each once */
    uint32_t scope_count;
    struct tri_vector edges;
    struct tri_vector bindings;
    struct tri_vector steps;
    struct tri_vector arms;
    struct tri_vector conditions;
    bool touched_broken; /* a reference led to something that was told already */
};

/* Tasks and workflows of the definition take their places in the graph; no workflow is compiled. */
void tri_compile_place_tasks(struct tri_compiler *compiler);
void tri_compile_place_workflows(struct tri_compiler *compiler);

/* What came of it, once everything was looked at: 0 and a graph with its hash, or why not. */
TR_MUST_USE int tri_compile_finish(struct tri_compiler *compiler);

/* Compiles the workflows from `first` on and those they need, each once. */
void tri_compile_workflows(struct tri_compiler *compiler, uint32_t first);

/* The settings of a task with what a node overrides. NULL without memory. */
const struct tr_settings *tri_compile_merge_settings(struct tri_compiler *compiler,
                                                     const struct tri_task *task,
                                                     const struct tri_settings *overrides);

/* Fills in what settings refer to by name: pool, inputs the cache ignores. */
void tri_compile_resolve_settings(struct tri_compiler *compiler, struct tri_settings *settings,
                                  const struct tr_interface *interface);

/* Compiles the launch plans that the graph does not have; their workflows' inputs are known. */
void tri_compile_plans(struct tri_compiler *compiler);

/* What a name of the workflow stands for among inputs, nodes or both; or NULL. */
const struct tri_scope *tri_compile_scope_find(const struct tri_builder *builder,
                                               enum tri_reference_scope scope, struct tr_text name);

/* The nearest of the names that may be referred to. */
struct tr_text tri_compile_scope_nearest(struct tri_builder *builder, struct tr_text name);

/* Collects edges and puts the nodes in order; nodes in circles are told and left out. */
void tri_compile_build_order(struct tri_builder *builder);

/* Binds a node's inputs and types its outputs, and those of its arms. */
void tri_compile_build_node(struct tri_builder *builder, uint32_t index);
void tri_compile_build_branch(struct tri_builder *builder, uint32_t index);

/* Room for bindings next to each other; the position of the first, or TR_GRAPH_NONE. */
uint32_t tri_compile_reserve_bindings(struct tri_builder *builder, uint32_t count);

/*
 * Binds a value as it is written to a place of a type (NULL: known at run time only), for the
 * input `key` of a node. False when it does not fit, which is told.
 */
bool tri_compile_bind(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                      const struct tr_type *type, struct tr_text key, uint32_t slot);

/*
 * Binds a value to a place without a type, which takes that of the value: a reference, or
 * {value:, type:}; simple literals where `may_infer`. False when it has none, which is told.
 */
bool tri_compile_bind_free(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                           bool may_infer, struct tr_text key, uint32_t slot,
                           const struct tr_type **type);

/* Whether a tree is a text with references in braces, which is a string whatever they give. */
bool tri_compile_holds_reference(struct tri_builder *builder, const struct tr_tree *tree);

/*
 * Reads a text with references in braces; `has_lead` as tri_interpolation_parse. False when it
 * cannot be read, which is told.
 */
bool tri_compile_read_text(struct tri_builder *builder, const struct tr_tree *tree, bool has_lead,
                           struct tri_interpolation *interpolation);

/*
 * Binds such a text: `binding` has its key, and gets its parts behind all other bindings; its
 * `source` is string. False when a reference cannot stand there, which is told.
 */
bool tri_compile_bind_text(struct tri_builder *builder, uint32_t node, struct tri_place place,
                           const struct tri_interpolation *interpolation,
                           struct tr_binding *binding);

/* Tells why a reference cannot be read; an empty problem is a lack of memory. */
void tri_compile_tell_syntax(struct tri_builder *builder, const struct tr_tree *tree,
                             struct tr_text problem);

/* Resolves a reference into a binding, whose `source` is the type of what it gives. */
bool tri_compile_resolve(struct tri_builder *builder, uint32_t node, struct tri_place place,
                         const struct tri_reference *reference, struct tr_binding *binding);

/*
 * Warns of text that goes out as it is written, although it names what there is as a reference or a
 * template would: in a literal that a node gets, in a switch's message, and in a value of a launch
 * plan whose workflow has these inputs.
 */
void tri_compile_warn_plain(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree);
void tri_compile_warn_message(struct tri_builder *builder, uint32_t node,
                              const struct tri_arm *arm);
void tri_compile_warn_constant(struct tr_report *report, const struct tr_tree *tree,
                               const struct tr_variables *inputs);

/* Whether a workflow is a task alone (tr_graph_add_single_task), and none of the definition's. */
bool tri_compile_is_single_task(const struct tr_graph *graph, const struct tr_workflow *workflow);

/* Whether a tree is a reference, or text that begins with one dollar sign. */
bool tri_compile_is_reference(const struct tr_tree *tree);

/* What such a tree refers to. False as tri_reference_parse, of a text. */
TR_MUST_USE bool tri_compile_read_reference(struct tri_builder *builder, const struct tr_tree *tree,
                                            struct tri_reference *reference,
                                            struct tr_text *problem);

static inline struct tr_binding *tri_compile_binding_at(struct tri_builder *builder,
                                                        uint32_t position)
{
    return (struct tr_binding *)builder->bindings.items + position;
}

/* Begins to tell of a node; gives back what was told of before. */
struct tr_text tri_compile_begin_subject(struct tri_builder *builder, uint32_t node);

#endif
