/*
 * The reference model: what an execution comes to, written straight from the rules of the language
 * and as slow and plain as can be. It shares values, types and conditions with the engine
 * (actors/graph), and nothing else.
 *
 * It lets everything run that may run, as if nothing were ever ended before its time. Where a
 * failure, an abort or a bound of time ends what else runs, it is a matter of time how far that
 * came: such nodes are marked as `is_cut`, and may be found aborted, skipped or not begun instead.
 */
#ifndef TR_TESTS_SIM_ENGINE_MODEL_H
#define TR_TESTS_SIM_ENGINE_MODEL_H

#include "tests/sim/engine.h"

/* A node or an element, as it has to be found. */
struct sim_expected {
    struct tr_text path;
    uint64_t element; /* of a map, or TR_ELEMENT_NONE: a node */
    uint8_t phase;    /* enum tr_node_phase */
    bool is_cut;
    bool has_values; /* what it got and gave is known, and comes into history */
    const struct tr_variables *inputs_of;
    const struct tr_variables *outputs_of;
    struct tr_bytes inputs;  /* slots */
    struct tr_bytes outputs; /* slots, when it succeeded */
    const char *code;        /* of its failure */
};

struct sim_model {
    struct tr_arena arena;
    const struct sim_stage *stage;
    const struct sim_execution *execution;
    const struct tr_graph *graph; /* in which it is right now */
    bool recovers;                /* whether what is entered next may keep something */
    bool is_new;                  /* whether it runs anew and only asks for what is edited */
    const bool *changed;          /* of the inputs of what is entered next; NULL: none */
    struct tri_vector decided;    /* struct tr_graph *: those of dynamic nodes */
    struct tri_vector expected;   /* struct sim_expected */
    uint8_t phase;                /* enum tr_execution_phase of the whole */
    bool is_cut;
    struct tr_bytes outputs;
};

/* Works an execution out. */
void sim_model_init(struct sim_model *model, const struct sim_stage *stage,
                    const struct sim_execution *execution);
void sim_model_fini(struct sim_model *model);

/* ------------------------------------------------------------------------ for the model's files */

/* A node of a workflow on its way. */
struct sim_node {
    uint8_t phase;            /* NOT_YET_STARTED: it was not looked at */
    bool is_again;            /* something before it is new, so that it runs */
    bool is_kept;             /* it gave what it gave in an earlier execution */
    uint32_t arm;             /* of a branch: the node that it took, or TR_GRAPH_NONE */
    bool gives;               /* those behind it may run: it succeeded, or is optional and failed */
    struct tr_bytes *outputs; /* one for each */
    const char *code;
};

/* A workflow on its way. */
struct sim_flow {
    struct sim_model *model;
    const struct tr_workflow *workflow;
    struct tr_text path; /* with a slash behind it where there is one */
    struct sim_node *nodes;
    bool recovers;       /* its nodes may be kept */
    bool is_new;         /* no, they only ask for what is edited */
    const bool *changed; /* for each of its inputs: it is not what it was; NULL: none */
    bool has_failed;
};

/* Binds a value; false where the reference leads nowhere. */
bool sim_bind(struct sim_flow *flow, const struct tr_binding *binding, struct tr_bytes *value);

/* Makes a value of one type one of another; false where it does not fit. */
bool sim_cast(struct sim_model *model, const struct tr_type *from, const struct tr_type *to,
              struct tr_bytes value, struct tr_bytes *cast);

/* None, as a value of a type that can be none. */
struct tr_bytes sim_none(struct sim_model *model, const struct tr_type *type);

/* Slots as one list, and a list as its slots. */
struct tr_bytes sim_pack(struct sim_model *model, const struct tr_bytes *slots, uint32_t count);
struct tr_bytes *sim_unpack(struct sim_model *model, struct tr_bytes list, uint32_t *count);

/* An error, whose words nobody compares. */
struct tr_bytes sim_error_value(struct sim_model *model);

#endif
