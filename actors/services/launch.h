/*
 * Launch nodes, for actors/explain/ and the program: what one launches, and under which name.
 */
#ifndef TR_ACTORS_SERVICES_LAUNCH_H
#define TR_ACTORS_SERVICES_LAUNCH_H

#include "actors/graph/compiled/graph.h"
#include "schemas/engine/flow.h"

/* Executions that launch each other, one below the other; the first one is not counted. */
#define TR_LAUNCH_DEPTH_MAX 32U

/* The name of a launched execution, with a byte for its end. */
#define TR_LAUNCH_NAME_BYTES 64

/* What a launch node, or a map over a launch plan, launches: the plan, else the workflow itself. */
struct tr_text tr_launch_target(const struct tr_graph *graph, const struct tr_node *node);

/*
 * What the name of an execution begins with, made of that of what it runs: of a name of Flyte's,
 * module.function, the last part; small letters, digits and hyphens. How many bytes, `most` at
 * most.
 */
size_t tr_launch_name_begin(struct tr_text called, char *name, size_t most);

/*
 * The name of the execution that a launch node begins: the beginning of what it launches, a hyphen,
 * and letters made from the launching node (law 5 of runtime/ARCHITECTURE.md): the execution's name
 * and number, the node's path, the element. So asking twice is asking once, and since an
 * execution's number is never given again, a name that the history knows from before comes back
 * only where 60 bits of a SHA-256 are equal. `launched` is the name of the launch plan or workflow;
 * of `start` the four fields count.
 */
void tr_launch_name(struct tr_text launched, const struct tr_node_start *start,
                    char name[TR_LAUNCH_NAME_BYTES]);

#endif
