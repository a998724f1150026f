/*
 * What an execution of a world keeps of an earlier one: the files service's answers to the
 * questions of schemas/engine/recovery.h, from what history has committed, by the rules of the
 * language alone. The model asks the same.
 */
#ifndef TR_TESTS_SIM_RECALL_H
#define TR_TESTS_SIM_RECALL_H

#include "schemas/engine/recovery.h"
#include "schemas/runtime/envelope.h"
#include "tests/sim/engine_history.h"

/* The name of the plan by which an execution recovers another one. */
#define SIM_RECALL_NAME_BYTES (SIM_PATH_BYTES + 16)
void sim_recall_name(const struct sim_stage *stage, const struct sim_execution *execution,
                     struct tr_text place, char name[SIM_RECALL_NAME_BYTES]);

/*
 * What becomes of the node at a path; `entry` is what it was, where it was something: when it is
 * KEPT it gives what that gave.
 */
enum tr_recovery_way sim_recall_node(const struct sim_stage *stage,
                                     const struct sim_execution *execution, struct tr_text path,
                                     bool is_again, const struct sim_observation_of **entry);

/*
 * What an element gave that is kept, a list of `outputs` slots; `is_listed`: of the types of the
 * map's.
 */
bool sim_recall_element(const struct sim_stage *stage, const struct sim_execution *execution,
                        struct tr_text path, uint64_t element, uint32_t outputs, bool *is_listed,
                        struct tr_buffer *slots);

/* Whether a launch node at a path, or an element of a map, had begun one that is recovered. */
bool sim_recall_launched(const struct sim_stage *stage, const struct sim_execution *execution,
                         struct tr_text path, uint64_t element);

/* Whether a dynamic node had decided the same graph. */
bool sim_recall_is_same(const struct sim_stage *stage, const struct sim_execution *execution,
                        struct tr_text path, const uint8_t *hash);

/* The same, asked by a plan's name and a path below what the plan is for. */
bool sim_recall_is_same_by_name(struct sim_stage *stage, struct tr_text name, struct tr_text path,
                                const uint8_t *hash);

/* Whether a call is for this service; if so it is dealt with. */
bool sim_recall_hear(struct sim_stage *stage, struct sim_host *host,
                     const struct tr_envelope *envelope, struct tr_bytes body);

#endif
