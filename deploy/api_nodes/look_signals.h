/*
 * The gates of one execution, as Flyte's signals.
 */
#ifndef TR_DEPLOY_API_NODES_LOOK_SIGNALS_H
#define TR_DEPLOY_API_NODES_LOOK_SIGNALS_H

#include <flyteidl/admin_signal.pb-c.h>

#include "deploy/api_nodes/look_nodes.h"

/* Answers with those that have come to wait, with their values when they have got them. */
void tr_look_signals_list(struct tr_look *look, const struct tr_run_list_request *request);

/* Answers with one, which may not have come to wait yet; a type that is given has to be its. */
void tr_look_signal_get(struct tr_look *look,
                        const Flyteidl__Admin__SignalGetOrCreateRequest *request);

/* Has the engine answer all gates of an id; the value is judged before. */
void tr_look_signal_set(struct tr_look *look, const Flyteidl__Admin__SignalSetRequest *request);

#endif
