/*
 * What registering shares with others of this room.
 */
#ifndef TR_DEPLOY_ENTITIES_REGISTER_H
#define TR_DEPLOY_ENTITIES_REGISTER_H

#include <flyteidl/tasks.pb-c.h>

#include "actors/graph/import/import.h"
#include "deploy/entities/registrar_inside.h"

/*
 * Fills in what a task finds on this machine: its programs by the settings, and the code that its
 * arguments name, which is unpacked. TR_INVALID with words in the report, and errors of
 * tr_package_place.
 */
TR_MUST_USE int tri_place_task(struct tri_job *job, const Flyteidl__Core__TaskTemplate *task,
                               struct tr_report *report, struct tr_flyte_package *package);

/*
 * Compiles a launch plan that is kept, with its workflow and all that this needs; the graph is the
 * caller's. False: the job has failed.
 */
TR_MUST_USE bool tri_compile_plan(struct tri_job *job, const struct tr_entity *plan,
                                  struct tr_graph **graph);

/* Fails the job with all that a report says, in Flyte's form. */
void tri_tell_report(struct tri_job *job, struct tr_report *report);

#endif
