/*
 * Job slots: how many processes an engine runs at once, against what definitions would let run.
 */
#ifndef TR_DEPLOY_ENGINE_SLOTS_H
#define TR_DEPLOY_ENGINE_SLOTS_H

#include "actors/graph/compiled/graph.h"

/* Whether a definition has tasks that run as processes. */
bool tr_slots_wanted(const struct tr_graph *graph);

/* Whether the elements of a map are processes of which fewer may run than the map lets. */
bool tr_slots_bound(const struct tr_graph *graph, const struct tr_node *node, uint32_t jobs);

/*
 * Appends words on the widest map that a workflow can reach and `jobs` slots bound; none are 0
 * slots, and maps without parallelism ask for no number.
 */
void tr_slots_print(const struct tr_graph *graph, uint32_t workflow, uint32_t jobs,
                    struct tr_buffer *words);

#endif
