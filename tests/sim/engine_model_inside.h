/*
 * What the files of the model share: a workflow is worked out node by node (engine_model.c), a node
 * as what it is (engine_model_run.c, engine_model_map.c), or kept (engine_model_keep.c).
 */
#ifndef TR_TESTS_SIM_ENGINE_MODEL_INSIDE_H
#define TR_TESTS_SIM_ENGINE_MODEL_INSIDE_H

#include "tests/sim/engine_model.h"

/* What became of a task, a map, a branch or a workflow. */
struct sim_given {
    uint8_t phase;
    struct tr_bytes *outputs; /* one for each, when it succeeded */
    uint32_t output_count;
    bool is_kept;        /* from an earlier execution */
    struct tr_bytes got; /* there, of a node: slots; empty where nobody knows */
    const char *code;
};

struct sim_given sim_failed(const char *code);

/* A node or an element, as it has to be found; what was expected since then may have been cut. */
struct sim_expected *sim_expect(struct sim_model *model, struct tr_text path, uint64_t element,
                                const struct sim_given *given);
void sim_cut_from(struct sim_model *model, uint32_t first);

/* A workflow, whose path ends with a slash where it has one. */
struct sim_given sim_run_workflow(struct sim_model *model, const struct tr_workflow *workflow,
                                  struct tr_text path, const struct tr_bytes *inputs);

/* All attempts of a task; a task that may decide a graph; a gate; an execution of its own. */
struct sim_given sim_run_task(struct sim_model *model, const struct tr_task *task,
                              const struct tr_settings *settings, struct tr_text path,
                              uint64_t element, struct tr_bytes inputs);
struct sim_given sim_run_dynamic(struct sim_model *model, const struct tr_node *node,
                                 struct tr_text path, const struct tr_bytes *inputs);
struct sim_given sim_run_gate(struct sim_flow *flow, const struct tr_node *node,
                              const struct tr_bytes *inputs);
struct sim_given sim_run_launch(struct sim_model *model, const struct tr_node *node,
                                struct tr_text path, uint64_t element,
                                const struct tr_bytes *inputs);

/* A map over anything. */
struct sim_given sim_run_map(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
                             const struct tr_bytes *inputs);

/* Types without what `optional` adds: of an output of a map, of any. What a node runs. */
const struct tr_type *sim_list_type(const struct tr_node *node, uint32_t output);
const struct tr_type *sim_plain_type(const struct tr_type *type);
struct tr_interface sim_interface_of(const struct tr_graph *graph, const struct tr_node *node);

/* Notes that a node is behind something new, when all of that is worked out. */
void sim_note_again(struct sim_flow *flow, uint32_t index, struct tr_text path);

/*
 * Which inputs of the execution, and of a workflow that a node runs inside, are not what they were
 * in the earlier execution. NULL: none.
 */
const bool *sim_changed_inputs(struct sim_model *model);
const bool *sim_changed_inside(struct sim_flow *flow, const struct tr_node *node);

/* Puts what is edited in the place of what is bound. */
void sim_edit(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
              struct tr_bytes *inputs);

/* Whether a node is kept, and what it gives then; else whether what is inside it may be. */
bool sim_keep(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
              struct sim_given *given);

/* A task that was kept gave what it would give now. */
void sim_check_kept(const struct sim_model *model, const struct tr_node *node, struct tr_text path,
                    struct tr_bytes inputs, struct tr_bytes outputs);

#endif
