/*
 * FlyteWorkflow resources of Kubernetes, as flyteadmin makes them of compiled workflows for
 * flytepropeller, in JSON or YAML: one execution, with all that its workflow needs.
 */
#ifndef TR_ACTORS_GRAPH_FLYTEWORKFLOW_FLYTEWORKFLOW_H
#define TR_ACTORS_GRAPH_FLYTEWORKFLOW_FLYTEWORKFLOW_H

#include "actors/graph/flyte/flyte.h"

/* Files that one comes to. */
#define TR_FLYTEWORKFLOW_FILES 2U

/* Whether a file is one, by how it begins. */
bool tr_flyteworkflow_is(struct tr_text begin);

/* How much of a file has to be looked at for that. */
#define TR_FLYTEWORKFLOW_BEGIN_BYTES 4096U

/*
 * Makes one the files of a package, in an arena: what Flyte's compiler had made of the workflow,
 * and a launch plan of the workflow's name, whose defaults are the inputs of the execution. How far
 * the execution is does not matter. What is wrong is in the report: TR_INVALID; TR_MEMORY,
 * TR_LIMIT.
 */
TR_MUST_USE int tr_flyteworkflow_read(struct tr_arena *arena, struct tr_report *report,
                                      struct tr_text text,
                                      struct tr_flyte_file files[TR_FLYTEWORKFLOW_FILES]);

#endif
