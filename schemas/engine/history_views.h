/*
 * The views of the history for plain SQL, and the indexes that commands need.
 *
 *     executions  one row for each execution
 *     labels      one row for each label of an execution
 *     nodes       one row for each node that was begun, as it stands now
 *     attempts    one row for each attempt of a task
 *     elements    one row for each element of an array, as it stands now
 *     arrays      one row for each array: how many elements are where
 *     events      one row for each change of a phase
 *     backends    one row for each endpoint of a plugin that was called, as it stands
 *
 * schemas/README.md has their columns and examples. They are for people: programs read records
 * (runtime/journal/reader.h) or `troupe … -o json`, whose fields only grow.
 */
#ifndef TR_SCHEMAS_ENGINE_HISTORY_VIEWS_H
#define TR_SCHEMAS_ENGINE_HISTORY_VIEWS_H

#include "schemas/codec/view.h"
#include "schemas/engine/history.h"

extern const struct tr_views tr_history_views;

#endif
