/*
 * What the actors of an execution say to each other: a parent starts a child, the child tells how
 * it goes and how it ended; an abort goes down, its end comes up.
 *
 *     launcher            root workflow        workflow, array          task
 *     launch          ->
 *                         node_start       ->
 *                                              node_start           ->
 *                                                                   <- node_news (now and then)
 *                                                                   <- node_ended, its last word
 *                                          <-  node_ended
 *                     <-  execution_ended
 *
 * The node of a launch is such a child, too; what it begins is an execution of its own:
 *
 *     launch node         root workflow        launcher             the launched root
 *     launch          ->
 *                         launch           ->
 *                                              node_start       ->
 *                     <--------------------------------------------  launched
 *     node_abort      -------------------------------------------->  (where the node is aborted)
 *                     <--------------------------------------------  node_ended
 *
 * A child says node_ended exactly once, in the handler in which it stops. A parent never stops a
 * child: it says node_abort and waits for the end, so that nothing is left running outside.
 *
 * Values are packed lists: an array with one slot for each variable in the order of the interface.
 * A slot is what actors/graph/value/slot.h says: a literal, or where a large one lies.
 */
#ifndef TR_SCHEMAS_ENGINE_FLOW_H
#define TR_SCHEMAS_ENGINE_FLOW_H

#include "schemas/codec/field.h"

/* An element number that means: no element. */
#define TR_ELEMENT_NONE UINT64_MAX

/* Whether results are taken from the cache and put there: `troupe run --cache`. */
#define TR_CACHE_MODES(M)                                                  \
    M(USE, 0, "use")                                                       \
    M(REFRESH, 1, "refresh") /* nothing is taken, what is made replaces */ \
    M(OFF, 2, "off")

enum tr_cache_mode {
#define TRI_CACHE_MODE(name, number, text) TR_CACHE_##name = (number),
    TR_CACHE_MODES(TRI_CACHE_MODE)
#undef TRI_CACHE_MODE
};

/* What may be left open: then something else decides. */
enum tr_choice { TR_CHOICE_OPEN, TR_CHOICE_NO, TR_CHOICE_YES };

/* The kind of a failure: it decides which budget of retries pays. */
#define TR_FAILURE_KINDS(K) \
    K(NONE, 0, "")          \
    K(USER, 1, "user")      \
    K(SYSTEM, 2, "system")

enum tr_failure_kind {
#define TRI_FAILURE_KIND(name, number, text) TR_FAILURE_##name = (number),
    TR_FAILURE_KINDS(TRI_FAILURE_KIND)
#undef TRI_FAILURE_KIND
};

/*
 * Begins an execution. `graph` is the whole SHA-256; the graph is in the graph registry already
 * (and in the store's folder). `workflow` counts in the graph; `plan` too, or is UINT32_MAX.
 * `inputs` has a slot for each input of the workflow. Answered (as an ASK) by `launched`.
 *
 * From a launch node it is told, through its root, and `launching` is that node's actor (serial 0:
 * none): `launched` goes there, from the new root when it has begun, else from the launcher; and at
 * the end the execution's last word, node_ended for `node` and `element`. The root that hands it on
 * sets `depth`, how many executions launched each other before this one, and `inherited_labels`,
 * which are its own. `recovery` is what node_start says.
 *
 * `labels` (actors/graph/document/labels.h) win over those of the definition, and these over
 * `inherited_labels`. `request` is kept as it is, for who asks about the execution (history.h), and
 * has at most TR_REQUEST_BYTES_MAX.
 *
 * The last three are how the tasks of the execution run, as node_start has them. From a launch node
 * they are those of its own execution, over which the launch plan wins; else they win over it.
 *
 * `ended_count` is that of the last `launched` before the name was looked up in the history, or 1:
 * of a shard of launchers, that may hear of the launch late. 0: nobody else gives such a name.
 */
#define TR_REQUEST_BYTES_MAX (32U << 10)
#define TR_RUN_ENVIRONMENT_BYTES_MAX 8192U
#define TR_RAW_OUTPUT_PREFIX_BYTES_MAX 1024U
#define TR_LAUNCH_FIELDS(FIELD, ARRAY)    \
    FIELD(text, name, 1, 0)               \
    FIELD(bytes, graph, 1, 0)             \
    FIELD(u32, workflow, 1, 0)            \
    FIELD(u32, plan, 1, 0)                \
    FIELD(any, inputs, 1, TR_REDACTED)    \
    FIELD(u8, cache_mode, 1, 0)           \
    FIELD(text, parent, 1, 0)             \
    FIELD(text, cause, 1, 0)              \
    FIELD(ref, launching, 1, 0)           \
    FIELD(u32, node, 1, 0)                \
    FIELD(u64, element, 1, 0)             \
    FIELD(text, recovery, 1, 0)           \
    FIELD(u32, depth, 1, 0)               \
    FIELD(text, labels, 1, 0)             \
    FIELD(text, inherited_labels, 1, 0)   \
    FIELD(bytes, request, 2, TR_REDACTED) \
    FIELD(any, environment, 3, 0)         \
    FIELD(text, raw_output_prefix, 3, 0)  \
    FIELD(u8, interruptible, 3, 0)        \
    FIELD(u64, ended_count, 4, 0)

/*
 * What an actor was told and cannot handle before its host has read a graph: to the one that keeps
 * it meanwhile (actors/services/graph_fetch.h), and back. `body` is packed, in a version; the
 * answer is owed to `asker` (tr_deferred_reply), if it was asked. On the way back `engine_start` is
 * what graph_made said; or `error` and `message`: the graph cannot be had.
 */
#define TR_GRAPH_WAIT_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, body, 1, TR_REDACTED)     \
    FIELD(u8, version, 1, 0)               \
    FIELD(bytes, graph, 1, 0)              \
    FIELD(ref, asker, 1, 0)                \
    FIELD(u64, ask, 1, 0)                  \
    FIELD(u64, engine_start, 1, 0)         \
    FIELD(i64, error, 1, 0)                \
    FIELD(text, message, 1, 0)

/*
 * `error` 0: it began and is `execution`; TR_EXISTS, or what else was in the way. From a launcher
 * `ended_count` is how many of its executions have ended, and one more: for later launches.
 */
#define TR_LAUNCHED_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)              \
    FIELD(ref, execution, 1, 0)          \
    FIELD(text, message, 1, 0)           \
    FIELD(u64, ended_count, 2, 0)

/* From an execution's root to its launcher, at the very end: `graph` is the first 8 bytes. */
#define TR_EXECUTION_ENDED_FIELDS(FIELD, ARRAY) \
    FIELD(u64, graph, 1, 0)                     \
    FIELD(text, name, 1, 0)                     \
    FIELD(u8, phase, 1, 0)

/*
 * A child's first message. `graph` (tr_graph_number), `workflow` and `node` say what it is: the
 * node in whose place it runs; for the root `node` is UINT32_MAX. `path` is the address below the
 * execution, "squares" or "w/inner", without the element of its own, which is `element`.
 * `execution` is "PROJECT/DOMAIN/NAME", `number` the number of its group. `plan` (its
 * name), `parent`, `cause`, `launching`, `depth` and `request` are those of `launch`, and `labels`
 * what those come to, for the root alone: its last word goes to `launching`, too, about
 * `launching_node` and `launching_element`.
 *
 * With `is_dynamic` the graph is one that a task has decided: `workflow` is the one that runs here,
 * and `node` only a number for the parent. `recovery` names the plan by which this execution takes
 * results over from an earlier one (a blob's URI); it goes down to all children. Empty: none.
 *
 * What the launch plan says of all tasks goes down, too: `environment`, a list of names and values
 * in turn, or nothing, which win over a task's own; where they leave what they make beside their
 * outputs; and whether they may be interrupted (enum tr_choice). `parallelism` bounds the nodes of
 * the root alone; 0: as its workflow says.
 */
#define TR_NODE_START_FIELDS(FIELD, ARRAY) \
    FIELD(u64, graph, 1, 0)                \
    FIELD(u32, workflow, 1, 0)             \
    FIELD(u32, node, 1, 0)                 \
    FIELD(u64, element, 1, 0)              \
    FIELD(text, execution, 1, 0)           \
    FIELD(u64, number, 1, 0)               \
    FIELD(text, path, 1, 0)                \
    FIELD(u8, cache_mode, 1, 0)            \
    FIELD(any, inputs, 1, TR_REDACTED)     \
    FIELD(text, plan, 1, 0)                \
    FIELD(text, parent, 1, 0)              \
    FIELD(text, cause, 1, 0)               \
    FIELD(ref, launching, 1, 0)            \
    FIELD(u32, launching_node, 1, 0)       \
    FIELD(u64, launching_element, 1, 0)    \
    FIELD(bool, is_dynamic, 1, 0)          \
    FIELD(text, recovery, 1, 0)            \
    FIELD(u32, depth, 1, 0)                \
    FIELD(text, labels, 1, 0)              \
    FIELD(bytes, request, 2, TR_REDACTED)  \
    FIELD(any, environment, 3, 0)          \
    FIELD(text, raw_output_prefix, 3, 0)   \
    FIELD(u8, interruptible, 3, 0)         \
    FIELD(u32, parallelism, 3, 0)

/*
 * A child's last message. `phase` is an end of a node (enum tr_node_phase); `outputs` has a slot
 * for each output when it succeeded or was recovered, else it is empty. Their types are those of
 * the target's interface, lists of them for a map; the workflow adds what `optional` adds. `failed`
 * is the path of the deepest node whose failure this is, `failed_element` its element. `phases` are
 * the phases of a node that this child has been in since its last news (bit n: phase n), so that no
 * message is needed for each. `message` begins with the cause; `flyte_message` is what Flyte says
 * of the same failure, empty where that is `message`, and `details` lines about the attempt that
 * failed: the end of what it wrote to stderr, what it used and where its files are.
 */
#define TR_NODE_ENDED_FIELDS(FIELD, ARRAY) \
    FIELD(u32, node, 1, 0)                 \
    FIELD(u64, element, 1, 0)              \
    FIELD(u8, phase, 1, 0)                 \
    FIELD(u32, attempts, 1, 0)             \
    FIELD(u32, phases, 1, 0)               \
    FIELD(u8, cache_status, 1, 0)          \
    FIELD(any, outputs, 1, TR_REDACTED)    \
    FIELD(u8, failure, 1, 0)               \
    FIELD(text, code, 1, 0)                \
    FIELD(text, message, 1, 0)             \
    FIELD(text, failed, 1, 0)              \
    FIELD(u64, failed_element, 1, 0)       \
    FIELD(text, flyte_message, 1, 0)       \
    FIELD(text, details, 1, TR_REDACTED)

/* A child goes to another phase that will last: for arrays' history, progress and explanations. */
#define TR_NODE_NEWS_FIELDS(FIELD, ARRAY) \
    FIELD(u32, node, 1, 0)                \
    FIELD(u64, element, 1, 0)             \
    FIELD(u8, phase, 1, 0)                \
    FIELD(u32, attempt, 1, 0)             \
    FIELD(text, message, 1, 0)

/*
 * Ends a child, which answers with node_ended. `phase` is how it ends: aborted, or timed_out where
 * a bound of the parent's passed. To the root it is what `troupe abort` says; asked, it answers
 * with node_news (aborting), and then the abort survives whatever dies.
 */
#define TR_NODE_ABORT_FIELDS(FIELD, ARRAY) \
    FIELD(u8, phase, 1, 0)                 \
    FIELD(text, cause, 1, 0)               \
    FIELD(bool, is_hard, 1, 0) /* no grace for what runs outside */

/*
 * Lets nothing new begin below, or lets it begin again; goes down to all children that live. To the
 * root it is what `troupe pause` and `troupe resume` say; asked, it answers with the same message.
 */
#define TR_NODE_PAUSE_FIELDS(FIELD, ARRAY) \
    FIELD(bool, is_paused, 1, 0)           \
    FIELD(text, cause, 1, 0)

/*
 * Signals: what people answer to gates. An execution has one actor for them, a child of its root,
 * which is spawned when the first gate waits or the first value comes, and keeps both: values by
 * id, the last one counts, and the gates that wait. All of this is told to the root, which hands it
 * on.
 *
 *     gate (its workflow)       root             signals              a person
 *     signal_wait           ->        ->
 *                                                         <-          send_signal (asked)
 *                                                         ->          signal_sent
 *                           <-  signal_given
 *     signal_stop           ->        ->             (it does not wait any more)
 *
 * `gate` is the workflow's actor; with `node` and its `path` it names the gate. With `is_told_of`,
 * which the root sets, the root hears gate_waits (schemas/engine/notify.h) where the gate is not
 * answered at once.
 *
 * The root owes the answer to its asker: so `asker` and `ask` go along to the signals and
 * come back in signal_sent (tr_deferred_reply). They are the root's to fill in.
 */
#define TR_SIGNAL_WAIT_FIELDS(FIELD, ARRAY) \
    FIELD(ref, gate, 1, 0)                  \
    FIELD(u32, node, 1, 0)                  \
    FIELD(text, id, 1, 0)                   \
    FIELD(text, path, 1, 0)                 \
    FIELD(bool, is_told_of, 1, 0)

#define TR_SIGNAL_STOP_FIELDS(FIELD, ARRAY) \
    FIELD(ref, gate, 1, 0)                  \
    FIELD(u32, node, 1, 0)                  \
    FIELD(text, id, 1, 0)                   \
    FIELD(text, path, 1, 0)

/* `value` is a packed literal: of an approval a bool. `path` is empty, or the one gate meant. */
#define TR_SEND_SIGNAL_FIELDS(FIELD, ARRAY) \
    FIELD(text, id, 1, 0)                   \
    FIELD(text, path, 1, 0)                 \
    FIELD(any, value, 1, TR_REDACTED)       \
    FIELD(text, by, 1, 0)                   \
    FIELD(text, message, 1, 0)              \
    FIELD(ref, asker, 1, 0)                 \
    FIELD(u64, ask, 1, 0)

/* It is kept, and `gates` that wait are being told; or TR_LIMIT, with words. */
#define TR_SIGNAL_SENT_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                 \
    FIELD(u64, gates, 1, 0)                 \
    FIELD(text, message, 1, 0)              \
    FIELD(ref, asker, 1, 0)                 \
    FIELD(u64, ask, 1, 0)

/* `error` 0, or TR_LIMIT: too many gates wait, and this one never will; `message` says so. */
#define TR_SIGNAL_GIVEN_FIELDS(FIELD, ARRAY) \
    FIELD(u32, node, 1, 0)                   \
    FIELD(any, value, 1, TR_REDACTED)        \
    FIELD(text, by, 1, 0)                    \
    FIELD(text, message, 1, 0)               \
    FIELD(i64, error, 1, 0)

/*
 * Asks the resource manager for a token: `slots` of the namespace's quota, and what has to be free
 * on the machine. Told, not asked; resource_granted comes when it is there, resource_refused when
 * it can never be. The token is `identity`'s until resource_release; asking twice is asking once.
 * `project` and `domain` name what the execution's project, and its domain, may have of the same
 * slots, with their bounds (0: none): a domain comes with its project. As of pools, the last one to
 * ask is right. `is_cut`: of what the machine has less of it wants all there is.
 *
 * The machine is that of `host`, one of several, or of the engine that is alone (0). When it is
 * gone those that wait for it hear resource_ask_again, and ask with the host that they are on now;
 * `asked_again` is the number that they heard last.
 */
#define TR_RESOURCE_REQUEST_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)                      \
    FIELD(text, identity, 1, 0)                  \
    FIELD(u64, execution, 1, 0)                  \
    FIELD(u32, slots, 1, 0)                      \
    FIELD(u64, cpu_millis, 1, 0)                 \
    FIELD(u64, memory_bytes, 1, 0)               \
    FIELD(u64, gpu_count, 1, 0)                  \
    FIELD(text, pool, 1, 0)                      \
    FIELD(u32, pool_slots, 1, 0)                 \
    FIELD(f64, pool_per_second, 1, 0)            \
    FIELD(text, project, 1, 0)                   \
    FIELD(u32, project_slots, 1, 0)              \
    FIELD(text, domain, 1, 0)                    \
    FIELD(u32, domain_slots, 1, 0)               \
    FIELD(bool, is_cut, 1, 0)                    \
    FIELD(u16, host, 2, 0)                       \
    FIELD(u32, asked_again, 2, 0)

#define TR_RESOURCE_ASK_AGAIN_FIELDS(FIELD, ARRAY) \
    FIELD(text, identity, 1, 0)                    \
    FIELD(u32, number, 1, 0)

/*
 * Told by hosts that see another one dead, or that it has left: whoever waits for its machine asks
 * again. What was granted there stays so until it is given back. Once more is nothing; the host
 * itself, when it is back, tells what its machine has. `incarnation` is that of the lost host: what
 * comes late, of either, changes nothing. 0: it is not known.
 */
#define TR_RESOURCE_MACHINE_GONE_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                            \
    FIELD(u64, incarnation, 1, 0)

/*
 * Which hosts live, so that those that were forgotten are known to be gone, too: nobody sees them.
 * Their numbers lie behind each other, eight bytes each. No host that is not among them has an
 * incarnation up to `newest` any more; what began later is left as it is.
 */
#define TR_RESOURCE_MACHINES_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, hosts, 1, 0)                     \
    FIELD(u64, newest, 1, 0)

/*
 * Which executions are dormant from the engine's start on: what they have booked of the machine
 * counts nothing, and what they wait for is not given. Their numbers lie behind each other, eight
 * bytes each; the first message forgets what an earlier engine said, the last one completes the
 * list. `has_all_quotas`, of the first: a namespace whose quota was not told since the one before
 * has no bound any more.
 *
 * Each of several hosts (`host`) tells of its own executions, and forgets no others. Where their
 * settings differ, those of the host that began last are right.
 */
#define TR_RESOURCE_DORMANT_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, executions, 1, 0)               \
    FIELD(bool, is_first, 1, 0)                  \
    FIELD(bool, is_last, 1, 0)                   \
    FIELD(bool, has_all_quotas, 1, 0)            \
    FIELD(u16, host, 2, 0)

/* One of them is active again: what it has counts. */
#define TR_RESOURCE_ACTIVE_FIELDS(FIELD, ARRAY) FIELD(u64, execution, 1, 0)

/*
 * Sets how many slots a namespace has from now on, 0 for no bound. The name "" is the machine of
 * `host`, with its amounts, of which each start tells first. Told by the program at its start, and
 * kept. An engine that is alone (host 0), and hosts beside each other, take turns: whoever tells of
 * a machine says by that that those of the other kind are gone. `incarnation` is the host's.
 */
#define TR_RESOURCE_QUOTA_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)                    \
    FIELD(u32, slots, 1, 0)                    \
    FIELD(u64, cpu_millis, 1, 0)               \
    FIELD(u64, memory_bytes, 1, 0)             \
    FIELD(u64, gpu_count, 1, 0)                \
    FIELD(u16, host, 2, 0)                     \
    FIELD(u64, incarnation, 2, 0)

#define TR_RESOURCE_GRANTED_FIELDS(FIELD, ARRAY) FIELD(text, identity, 1, 0)

#define TR_RESOURCE_REFUSED_FIELDS(FIELD, ARRAY) \
    FIELD(text, identity, 1, 0)                  \
    FIELD(text, reason, 1, 0)

/* From a service of the engine to itself: it goes on with what it was doing, about `key`. */
#define TR_SERVICE_MORE_FIELDS(FIELD, ARRAY) FIELD(bytes, key, 1, 0)

/* Gives a token back, or a wait up. */
#define TR_RESOURCE_RELEASE_FIELDS(FIELD, ARRAY) FIELD(text, identity, 1, 0)

/*
 * Asks the catalog for the right to make what `key` (SHA-256) names. Told; cache_owner comes when
 * no other attempt makes it: at once, or when the owner before has ended (`is_made`: look it up
 * again first).
 */
#define TR_CACHE_RESERVE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, key, 1, 0)                   \
    FIELD(text, owner, 1, 0)

#define TR_CACHE_OWNER_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, key, 1, 0)                 \
    FIELD(bool, is_made, 1, 0)

/* The owner is done, or does not wait any more. */
#define TR_CACHE_RELEASE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, key, 1, 0)                   \
    FIELD(bool, is_made, 1, 0)

/* To itself: there is more to do than one handler should. */
#define TR_WORKFLOW_NEXT_FIELDS(FIELD, ARRAY) FIELD(u8, stage, 1, 0)

/*
 * The program asks a launcher, after a start, to hold a graph for the executions that live, or all
 * that they run. Answered by graph_held: how many live there are, 0 where it holds nothing, how
 * many graphs they run, and how many of these the graph registry lacks.
 */
#define TR_GRAPH_HOLD_ALL 0 /* no graph has this number */
#define TR_GRAPH_HOLD_FIELDS(FIELD, ARRAY) FIELD(u64, graph, 1, 0)
#define TR_GRAPH_HELD_FIELDS(FIELD, ARRAY) \
    FIELD(u64, graph, 1, 0)                \
    FIELD(u64, executions, 1, 0)           \
    FIELD(u64, graphs, 2, 0)               \
    FIELD(u64, lacking, 2, 0)

/*
 * The program has a launcher note that an execution was archived or taken back, and since when.
 */
#define TR_ARCHIVE_EXECUTION_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)                   \
    FIELD(bool, is_archived, 1, 0)                \
    FIELD(u64, changed_ms, 1, 0)
#define TR_EXECUTION_ARCHIVED_FIELDS(FIELD, ARRAY) FIELD(i64, error, 1, 0)

#define TR_FLOW_SCHEMAS(S)                                                                    \
    S(launch, 400, TR_MESSAGE, 4, TR_DURABLE, TR_LAUNCH_FIELDS)                               \
    S(archive_execution, 485, TR_MESSAGE, 1, TR_DURABLE, TR_ARCHIVE_EXECUTION_FIELDS)         \
    S(execution_archived, 486, TR_MESSAGE, 1, TR_PRIORITY, TR_EXECUTION_ARCHIVED_FIELDS)      \
    S(launched, 401, TR_MESSAGE, 2, TR_PRIORITY, TR_LAUNCHED_FIELDS)                          \
    S(graph_wait, 436, TR_MESSAGE, 1, TR_PRIORITY, TR_GRAPH_WAIT_FIELDS)                      \
    S(execution_ended, 402, TR_MESSAGE, 1, TR_PRIORITY, TR_EXECUTION_ENDED_FIELDS)            \
    S(node_start, 403, TR_MESSAGE, 3, TR_DURABLE, TR_NODE_START_FIELDS)                       \
    S(node_ended, 404, TR_MESSAGE, 1, TR_PRIORITY, TR_NODE_ENDED_FIELDS)                      \
    S(node_news, 405, TR_MESSAGE, 1, TR_DURABLE, TR_NODE_NEWS_FIELDS)                         \
    S(node_abort, 406, TR_MESSAGE, 1, TR_PRIORITY, TR_NODE_ABORT_FIELDS)                      \
    S(workflow_next, 407, TR_MESSAGE, 1, TR_DURABLE, TR_WORKFLOW_NEXT_FIELDS)                 \
    S(graph_hold, 408, TR_MESSAGE, 1, TR_DURABLE, TR_GRAPH_HOLD_FIELDS)                       \
    S(graph_held, 409, TR_MESSAGE, 2, TR_PRIORITY, TR_GRAPH_HELD_FIELDS)                      \
    S(resource_request, 410, TR_MESSAGE, 2, TR_DURABLE, TR_RESOURCE_REQUEST_FIELDS)           \
    S(resource_granted, 411, TR_MESSAGE, 1, TR_PRIORITY, TR_RESOURCE_GRANTED_FIELDS)          \
    S(resource_refused, 412, TR_MESSAGE, 1, TR_PRIORITY, TR_RESOURCE_REFUSED_FIELDS)          \
    S(resource_release, 413, TR_MESSAGE, 1, TR_PRIORITY, TR_RESOURCE_RELEASE_FIELDS)          \
    S(resource_quota, 417, TR_MESSAGE, 2, TR_DURABLE, TR_RESOURCE_QUOTA_FIELDS)               \
    S(resource_dormant, 471, TR_MESSAGE, 2, TR_DURABLE, TR_RESOURCE_DORMANT_FIELDS)           \
    S(resource_active, 472, TR_MESSAGE, 1, TR_DURABLE, TR_RESOURCE_ACTIVE_FIELDS)             \
    S(resource_ask_again, 490, TR_MESSAGE, 1, TR_PRIORITY, TR_RESOURCE_ASK_AGAIN_FIELDS)      \
    S(resource_machine_gone, 491, TR_MESSAGE, 1, TR_DURABLE, TR_RESOURCE_MACHINE_GONE_FIELDS) \
    S(resource_machines, 492, TR_MESSAGE, 1, TR_DURABLE, TR_RESOURCE_MACHINES_FIELDS)         \
    S(service_more, 418, TR_MESSAGE, 1, TR_DURABLE, TR_SERVICE_MORE_FIELDS)                   \
    S(cache_reserve, 414, TR_MESSAGE, 1, TR_DURABLE, TR_CACHE_RESERVE_FIELDS)                 \
    S(cache_owner, 415, TR_MESSAGE, 1, TR_PRIORITY, TR_CACHE_OWNER_FIELDS)                    \
    S(cache_release, 416, TR_MESSAGE, 1, TR_PRIORITY, TR_CACHE_RELEASE_FIELDS)                \
    S(node_pause, 430, TR_MESSAGE, 1, TR_PRIORITY, TR_NODE_PAUSE_FIELDS)                      \
    S(signal_wait, 431, TR_MESSAGE, 1, TR_DURABLE, TR_SIGNAL_WAIT_FIELDS)                     \
    S(signal_stop, 432, TR_MESSAGE, 1, TR_DURABLE, TR_SIGNAL_STOP_FIELDS)                     \
    S(send_signal, 433, TR_MESSAGE, 1, TR_DURABLE, TR_SEND_SIGNAL_FIELDS)                     \
    S(signal_sent, 434, TR_MESSAGE, 1, TR_PRIORITY, TR_SIGNAL_SENT_FIELDS)                    \
    S(signal_given, 435, TR_MESSAGE, 1, TR_PRIORITY, TR_SIGNAL_GIVEN_FIELDS)

TR_FLOW_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
