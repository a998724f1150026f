/*
 * Values between Flyte's literals, as clients give and take them, and slots, as the engine has
 * them.
 */
#ifndef TR_DEPLOY_API_RUNS_RUN_VALUES_H
#define TR_DEPLOY_API_RUNS_RUN_VALUES_H

#include <flyteidl/literals.pb-c.h>

#include "deploy/api_runs/startable.h"
#include "deploy/history/values.h"

/*
 * Reads what a client gives into the slots of a launch, in the order of the workflow's inputs, with
 * what the plan and the workflow have by themselves; large ones lie in the blobs then. False: the
 * job has failed; with INVALID_ARGUMENT it is told what is missing, unknown, fixed or no value of
 * its type.
 */
TR_MUST_USE bool tr_run_inputs_read(struct tr_desk_job *job, const struct tr_startable *startable,
                                    const Flyteidl__Core__LiteralMap *given,
                                    struct tr_bytes *slots);

/*
 * Reads one literal as a packed value of a type; `name` is what messages call it. False: the job
 * has failed; with INVALID_ARGUMENT it is no such value.
 */
TR_MUST_USE bool tr_run_literal_read(struct tr_desk_job *job, const char *name,
                                     const struct tr_type *type,
                                     const Flyteidl__Core__Literal *literal,
                                     struct tr_bytes *value);

/*
 * What an execution or one of its nodes got or gave, in the job's arena; an empty map where nobody
 * has written any, or what there was has been removed. False: the job has failed.
 */
TR_MUST_USE bool tr_run_values_write(struct tr_desk_job *job,
                                     const struct tr_values_request *request,
                                     Flyteidl__Core__LiteralMap **literals);

/* The bytes that literals take, packed. */
int64_t tr_run_values_bytes(const Flyteidl__Core__LiteralMap *literals);

#endif
