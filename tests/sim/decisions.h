/*
 * The files service of a simulated host, as far as dynamic tasks need it: the graphs that they
 * decide are compiled, kept as in the store's folder, and held in the host's graph registry.
 * Answers are late, and come twice; a crash takes those that are on their way, and every hold with
 * them.
 */
#ifndef TR_TESTS_SIM_DECISIONS_H
#define TR_TESTS_SIM_DECISIONS_H

#include "actors/store/graph_registry.h"
#include "schemas/runtime/envelope.h"
#include "tests/sim/engine.h"

struct sim_decisions;

struct sim_decisions *sim_decisions_new(struct sim_stage *stage);
void sim_decisions_free(struct sim_decisions *decisions);

/* Whether a call is for this service; if so it is dealt with. */
bool sim_decisions_hear(struct sim_decisions *decisions, struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body);

/* A host starts: holds what its live dynamic nodes run, and what was launched from in there. */
void sim_decisions_load(const struct sim_decisions *decisions, const struct sim_host *host,
                        struct tr_graph_registry *registry);

/* Everybody has ended: nobody has a hold of what was decided, but the start for the launched. */
void sim_decisions_check_released(const struct sim_decisions *decisions,
                                  const struct sim_host *host, struct tr_graph_registry *registry);

/* A copy of the graph of a hash, to be freed; NULL: there is none. */
struct tr_graph *sim_decisions_graph(const struct sim_decisions *decisions, const uint8_t *hash);

/* A copy of a graph that was decided and has a task of this name, to be freed; or NULL. */
struct tr_graph *sim_decisions_with_task(const struct sim_decisions *decisions,
                                         struct tr_text task);

/* What a dynamic task decides that gets these inputs; false: it gives plain outputs. */
bool sim_decides(const struct sim_stage *stage, const struct sim_execution *execution,
                 struct tr_text task, struct tr_bytes inputs, struct tr_buffer *json);

#endif
