/*
 * The states of the launcher, of what waits for graphs, and of the workflow. Large parts are
 * pages: names and graphs (actors/store/index.h), node table and heap (actors/workflow/workflow.h).
 *
 * Where a field says `+ 1` it counts nodes from 1, and 0 is none, so that zeros are an empty state.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_WORKFLOW_H
#define TR_SCHEMAS_ENGINE_STATE_WORKFLOW_H

#include "schemas/codec/field.h"

/*
 * The buckets of an index: count, and bytes in all of them. Of a shard also how many executions
 * have ended, and digests of the names of the last ones, of 8 bytes each, in turn.
 */
#define TR_LAUNCHER_ENDED_MAX 64U
#define TR_LAUNCHER_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, live, 1, 0)                     \
    FIELD(u32, name_buckets, 1, 0)             \
    FIELD(u64, name_bytes, 1, 0)               \
    FIELD(u32, graph_buckets, 1, 0)            \
    FIELD(u64, graph_bytes, 1, 0)              \
    FIELD(u64, ended_count, 2, 0)              \
    ARRAY(bytes, ended, TR_LAUNCHER_ENDED_MAX * 8, 2, 0)

/*
 * `body` is the place of what is kept, in a version; its `graph` is asked for by `call` (0: later),
 * after `tries` that failed. `asker` and `ask` are those of graph_wait.
 */
#define TR_GRAPH_FETCH_STATE_FIELDS(FIELD, ARRAY) \
    ARRAY(bytes, graph, 32, 1, 0)                 \
    FIELD(u64, body, 1, 0)                        \
    FIELD(u8, version, 1, 0)                      \
    FIELD(ref, asker, 1, 0)                       \
    FIELD(u64, ask, 1, 0)                         \
    FIELD(u64, call, 1, 0)                        \
    FIELD(u32, tries, 1, 0)                       \
    FIELD(u32, heap_page, 1, 0)                   \
    FIELD(u32, heap_used, 1, 0)

/*
 * `graph` is 0 before the start. `workflow` is the one that runs here, `node` and `element` what it
 * is to its parent. `start` is the place of the packed node_start, `failure` that of the node_ended
 * with the first failure. `phase` is one of an execution, also where this is a node.
 * `recovery_call` and `recovery_tries` are those of a question of any kind.
 */
#define TR_WORKFLOW_STATE_FIELDS(FIELD, ARRAY)                                         \
    FIELD(u64, graph, 1, 0)                                                            \
    FIELD(u32, workflow, 1, 0)                                                         \
    FIELD(u32, node, 1, 0)                                                             \
    FIELD(u64, element, 1, 0)                                                          \
    FIELD(u64, start, 1, 0)                                                            \
    FIELD(u64, failure, 1, 0)                                                          \
    FIELD(u64, begun_ms, 1, 0)                                                         \
    FIELD(u64, recorded, 1, 0)     /* rows of history written */                       \
    FIELD(u32, heap_page, 1, 0)    /* where the heap ends: actors/store/heap.h */      \
    FIELD(u32, heap_used, 1, 0)    /* bytes in that page */                            \
    FIELD(u32, running, 1, 0)      /* children that live */                            \
    FIELD(u32, done, 1, 0)         /* nodes of the graph that have ended */            \
    FIELD(u32, failures, 1, 0)     /* nodes that failed the workflow */                \
    FIELD(u32, ready_first, 1, 0)  /* + 1: what waits to be started */                 \
    FIELD(u32, ready_last, 1, 0)   /* + 1 */                                           \
    FIELD(u32, settle_first, 1, 0) /* + 1: what others have to be told of */           \
    FIELD(u32, settle_last, 1, 0)  /* + 1 */                                           \
    FIELD(u32, settle_at, 1, 0)    /* how many have been told of the first */          \
    FIELD(u32, abort_at, 1, 0)     /* the next node whose child is aborted */          \
    FIELD(u32, phases, 1, 0)       /* of a node that it has been in, as bits */        \
    FIELD(u8, phase, 1, 0)                                                             \
    FIELD(u8, stage, 1, 0)                                                             \
    FIELD(u8, outcome, 1, 0)       /* the phase that it will end in */                 \
    FIELD(u8, abort_phase, 1, 0)   /* how its children are to end */                   \
    FIELD(bool, is_aborting, 1, 0) /* children from abort_at on are aborted */         \
    FIELD(bool, is_aborted, 1, 0)  /* its parent has ended it */                       \
    FIELD(bool, is_hard, 1, 0)                                                         \
    FIELD(bool, is_continuing, 1, 0) /* a workflow_next is under way */                \
    FIELD(bool, has_told_news, 1, 0)                                                   \
    FIELD(bool, runs_on_failure, 1, 0)                                                 \
    FIELD(bool, is_paused, 1, 0)  /* no node of the graph begins */                    \
    FIELD(bool, is_pausing, 1, 0) /* children from pause_at on hear of it */           \
    FIELD(u32, waiting, 1, 0)     /* gates and sleeps, which are rows */               \
    FIELD(u32, pause_at, 1, 0)                                                         \
    FIELD(u32, gates_told, 1, 0)     /* the root's: gates that somebody was told of */ \
    FIELD(u64, signals, 1, 0)        /* the root's: serial of the signals */           \
    FIELD(bool, is_recovering, 1, 0) /* nodes are asked about before they begin */     \
    FIELD(u64, recovery_call, 1, 0)  /* the question under way, 0: none */             \
    FIELD(u32, recovery_tries, 1, 0) /* that failed in a row */                        \
    FIELD(bool, is_dynamic, 1, 0)    /* a task has decided it: that is the node */     \
    FIELD(u8, start_version, 1, 0)   /* in which `start` is packed */                  \
    FIELD(u8, failure_version, 1, 0)                                                   \
    FIELD(u8, question_kind, 1, 0) /* enum tri_question */                             \
    FIELD(u32, parallelism, 2, 0)  /* nodes at once; 0: as the workflow says */

#define TR_STATE_WORKFLOW_SCHEMAS(S)                                       \
    S(launcher_state, 100, TR_STATE, 2, 0, TR_LAUNCHER_STATE_FIELDS)       \
    S(graph_fetch_state, 117, TR_STATE, 1, 0, TR_GRAPH_FETCH_STATE_FIELDS) \
    S(workflow_state, 101, TR_STATE, 2, 0, TR_WORKFLOW_STATE_FIELDS)

TR_STATE_WORKFLOW_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
