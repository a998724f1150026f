/*
 * What history says of executions: every row as it is committed, and the checks that need no model.
 */
#ifndef TR_TESTS_SIM_ENGINE_HISTORY_H
#define TR_TESTS_SIM_ENGINE_HISTORY_H

#include "schemas/engine/history.h"
#include "tests/sim/engine.h"

#define SIM_PATH_BYTES 256

/* A node, or an element of a map. */
struct sim_observation_of {
    uint32_t host;
    uint64_t number; /* of the execution */
    uint64_t element;
    char path[SIM_PATH_BYTES];
    char target[64]; /* of a node that is a task: its name */
    uint8_t phase;   /* as its row or block has it */
    uint8_t chain;   /* as the rows of changes have it */
    bool has_row;    /* in node_status */
    bool has_graph;  /* of its own: a task has decided it, or it was launched in one */
    uint8_t graph[TR_GRAPH_HASH_BYTES];
    bool is_expected; /* for the checks at the end */
    uint64_t total;   /* of a map: its elements */
    uint64_t succeeded;
    struct sim_bytes values[2]; /* by enum tr_value_side */
};

/* The labels with which an execution is asked for, which those that it launches inherit. */
#define SIM_LABELS_BYTES 96
struct tr_text sim_labels_of(const struct sim_execution *execution, char labels[SIM_LABELS_BYTES]);

struct sim_history *sim_history_new(struct sim_stage *stage);
void sim_history_free(struct sim_history *history);

/* A row is committed (play.h). */
void sim_history_record(struct sim_host *host, const struct tri_op *op);

/*
 * Whose a path is: what a launched execution does counts as if it were inside of the one that was
 * launched first, at "NODE!/...". NULL: nobody knows the number, since nothing is committed yet.
 */
struct sim_execution *sim_history_whose(const struct sim_history *history, uint32_t host,
                                        uint64_t number, struct tr_text path,
                                        char whole[SIM_PATH_BYTES]);

/* The execution of this name, PROJECT/DOMAIN/NAME, among those that people launch; or NULL. */
struct sim_execution *sim_history_named(const struct sim_history *history, uint32_t host,
                                        struct tr_text address);

/* The entry of a node or an element, or NULL. */
struct sim_observation_of *sim_history_find(const struct sim_history *history, uint32_t host,
                                            uint64_t number, struct tr_text path, uint64_t element);

/* All entries, one after the other; begin with 0. */
struct sim_observation_of *sim_history_next(const struct sim_history *history, uint32_t *cursor);

/* How many rows of node_status there must be for a host. */
uint64_t sim_history_row_count(const struct sim_history *history, uint32_t host);

#endif
