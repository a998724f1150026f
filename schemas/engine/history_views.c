/*
 * The views of the history, as lists: C(column, what people read about it, cell, field, words).
 */
#include "schemas/engine/history_views.h"

#include "schemas/engine/entity.h"

#include "schemas/engine/state_refresh.h"

static const char *failure_word(uint8_t failure)
{
    static const char *const words[] = {
#define TRI_FAILURE_WORD(name, number, word) [number] = (word),
        TR_FAILURE_KINDS(TRI_FAILURE_WORD)
#undef TRI_FAILURE_WORD
    };
    return failure < TR_COUNT_OF(words) ? words[failure] : "?";
}

static const struct tr_words notify_phases = {tr_notify_phase_word, TR_NOTIFY_PHASE_COUNT};
static const struct tr_words notify_kinds = {tr_notify_kind_word, TR_NOTIFY_KIND_COUNT};
static const struct tr_words notification_states = {tr_notification_status_word,
                                                    TR_NOTIFICATION_STATUS_COUNT};
static const struct tr_words circuits = {tr_circuit_word, TR_CIRCUIT_TRIAL + 1};
static const struct tr_words execution_phases = {tr_execution_phase_word, TR_EXECUTION_PHASE_COUNT};
static const struct tr_words node_phases = {tr_node_phase_word, TR_NODE_PHASE_COUNT};
static const struct tr_words task_phases = {tr_task_phase_word, TR_TASK_PHASE_COUNT};
static const struct tr_words failures = {failure_word, TR_FAILURE_SYSTEM + 1};
static const struct tr_words cache_statuses = {tr_cache_status_word,
                                               TR_CACHE_STATUS_OVERWRITTEN + 1};

#define EXECUTIONS(C)                                                                        \
    C(execution, "the number of the execution", FIELD, "execution", NULL)                    \
    C(name, "its name", FIELD, "name", NULL)                                                 \
    C(project, "its project", FIELD, "project", NULL)                                        \
    C(domain, "its domain", FIELD, "domain", NULL)                                           \
    C(workflow, "the workflow that runs", FIELD, "workflow", NULL)                           \
    C(plan, "the launch plan it was started by, or empty", FIELD, "plan", NULL)              \
    C(phase, "the phase it is in", WORD, "phase", &execution_phases)                         \
    C(created_at, "when it was accepted", TIME, "created_ms", NULL)                          \
    C(started_at, "when it began to run", TIME, "started_ms", NULL)                          \
    C(ended_at, "when it ended", TIME, "ended_ms", NULL)                                     \
    C(created_ms, "the same in milliseconds since 1970", FIELD, "created_ms", NULL)          \
    C(started_ms, "0 before that", FIELD, "started_ms", NULL)                                \
    C(ended_ms, "0 before that", FIELD, "ended_ms", NULL)                                    \
    C(code, "of a failure: its code", FIELD, "code", NULL)                                   \
    C(message, "of a failure: its message", FIELD, "message", NULL)                          \
    C(failed, "of a failure: the path of the node", FIELD, "failed", NULL)                   \
    C(failed_element, "the element, where that was one", ELEMENT, "failed_element", NULL)    \
    C(parent, "the address of the node that launched it, or empty", FIELD, "parent", NULL)   \
    C(cause, "why it was started", FIELD, "cause", NULL)                                     \
    C(graph, "the SHA-256 of its compiled graph", HEX, "graph", NULL)                        \
    C(settings, "what else it was started with, as JSON", FIELD, "settings", NULL)           \
    C(recovery, "the plan by which it took results over, or empty", FIELD, "recovery", NULL) \
    C(is_paused, "1 while nothing new begins in it", FIELD, "is_paused", NULL)               \
    C(labels, "its labels: KEY=VALUE, with commas between", FIELD, "labels", NULL)

#define LABELS(C)                                                         \
    C(execution, "the number of the execution", FIELD, "execution", NULL) \
    C(execution_name, "its name", OWNER, "name", NULL)                    \
    C(key, "the label's key", FIELD, "key", NULL)                         \
    C(value, "its value, which may be empty", FIELD, "value", NULL)

#define NODES(C)                                                                    \
    C(execution, "the number of the execution", FIELD, "execution", NULL)           \
    C(execution_name, "its name", OWNER, "name", NULL)                              \
    C(path, "where the node is: list, w/inner, sq[3]/inner", FIELD, "path", NULL)   \
    C(kind, "what it is: task, map, workflow, ...", FIELD, "kind", NULL)            \
    C(target, "what it runs", FIELD, "target", NULL)                                \
    C(name, "what people call it", FIELD, "name", NULL)                             \
    C(phase, "the phase it is in", WORD, "phase", &node_phases)                     \
    C(created_at, "when it was queued", TIME, "created_ms", NULL)                   \
    C(started_at, "when it began to run", TIME, "started_ms", NULL)                 \
    C(ended_at, "when it ended", TIME, "ended_ms", NULL)                            \
    C(created_ms, "the same in milliseconds since 1970", FIELD, "created_ms", NULL) \
    C(started_ms, "0 before that", FIELD, "started_ms", NULL)                       \
    C(ended_ms, "0 before that", FIELD, "ended_ms", NULL)                           \
    C(attempts, "how many attempts were begun", FIELD, "attempts", NULL)            \
    C(cache, "what the cache did: hit, miss, populated, ...", WORD, "cache_status", \
      &cache_statuses)                                                              \
    C(failure, "whose a failure is: user or system", WORD, "failure", &failures)    \
    C(code, "of a failure: its code", FIELD, "code", NULL)                          \
    C(message, "of a failure: its message", FIELD, "message", NULL)

#define ATTEMPTS(C)                                                                  \
    C(execution, "the number of the execution", FIELD, "execution", NULL)            \
    C(execution_name, "its name", OWNER, "name", NULL)                               \
    C(path, "the node, of an element its array", FIELD, "path", NULL)                \
    C(element, "the element, or NULL", ELEMENT, "element", NULL)                     \
    C(attempt, "which attempt, from 0 on", FIELD, "attempt", NULL)                   \
    C(phase, "the phase it is in", WORD, "phase", &task_phases)                      \
    C(created_at, "when it was begun", TIME, "created_ms", NULL)                     \
    C(started_at, "when its task began to run", TIME, "started_ms", NULL)            \
    C(ended_at, "when it ended", TIME, "ended_ms", NULL)                             \
    C(created_ms, "the same in milliseconds since 1970", FIELD, "created_ms", NULL)  \
    C(started_ms, "0 before that", FIELD, "started_ms", NULL)                        \
    C(ended_ms, "0 before that", FIELD, "ended_ms", NULL)                            \
    C(plugin, "the plugin that did it", FIELD, "plugin", NULL)                       \
    C(generated_name, "its name outside", FIELD, "generated_name", NULL)             \
    C(folder, "where its files are", FIELD, "folder", NULL)                          \
    C(logs, "URIs of its logs, as a JSON list", FIELD, "logs", NULL)                 \
    C(failure, "whose a failure is: user or system", WORD, "failure", &failures)     \
    C(code, "of a failure: its code", FIELD, "code", NULL)                           \
    C(message, "of a failure: its message", FIELD, "message", NULL)                  \
    C(exit_status, "of a process: its exit status", FIELD, "exit_status", NULL)      \
    C(signal, "of a process: the signal that ended it, or 0", FIELD, "signal", NULL) \
    C(is_unknown, "1: nobody knows whether the work was done", FIELD, "is_unknown", NULL)

#define ELEMENTS(C)                                                        \
    C(execution, "the number of the execution", FIELD, "execution", NULL)  \
    C(execution_name, "its name", OWNER, "name", NULL)                     \
    C(path, "the array", FIELD, "path", NULL)                              \
    C(element, "the element, from 0 on", ENTRY_ELEMENT, NULL, NULL)        \
    C(attempt, "its latest attempt, from 0 on", ENTRY_ATTEMPT, NULL, NULL) \
    C(phase, "the phase it is in", ENTRY_PHASE, NULL, &node_phases)        \
    C(at, "since when", ENTRY_TIME, NULL, NULL)                            \
    C(at_ms, "the same in milliseconds since 1970", ENTRY_MS, NULL, NULL)  \
    C(code, "of a failure: its code", ENTRY_CODE, NULL, NULL)              \
    C(message, "of a failure: its message", ENTRY_MESSAGE, NULL, NULL)

#define ARRAYS(C)                                                           \
    C(execution, "the number of the execution", FIELD, "execution", NULL)   \
    C(execution_name, "its name", OWNER, "name", NULL)                      \
    C(path, "the array", FIELD, "path", NULL)                               \
    C(total, "how many elements it has", FIELD, "total", NULL)              \
    C(queued, "of these, how many wait", FIELD, "queued", NULL)             \
    C(running, "how many run", FIELD, "running", NULL)                      \
    C(succeeded, "how many have succeeded", FIELD, "succeeded", NULL)       \
    C(failed, "how many have failed for good", FIELD, "failed", NULL)       \
    C(retrying, "how many wait to be tried again", FIELD, "retrying", NULL) \
    C(at, "when it was counted", TIME, "at_ms", NULL)                       \
    C(at_ms, "the same in milliseconds since 1970", FIELD, "at_ms", NULL)

#define NOTIFICATIONS(C)                                                                \
    C(execution, "the number of the execution", FIELD, "execution", NULL)               \
    C(execution_name, "its name", OWNER, "name", NULL)                                  \
    C(key, "its identity, the same in each attempt", FIELD, "key", NULL)                \
    C(phase, "what it tells of: succeeded, failed, ...", WORD, "phase", &notify_phases) \
    C(position, "which one of the definition, from 0 on", FIELD, "position", NULL)      \
    C(path, "of a gate that waits: where it is", FIELD, "path", NULL)                   \
    C(kind, "by what it is sent: http, command, mail", WORD, "kind", &notify_kinds)     \
    C(target, "where to", FIELD, "target", NULL)                                        \
    C(status, "how it stands: pending, retrying, delivered, given up", WORD, "status",  \
      &notification_states)                                                             \
    C(attempts, "how many attempts were begun", FIELD, "attempts", NULL)                \
    C(created_at, "when there was something to tell", TIME, "created_ms", NULL)         \
    C(next_at, "when it is tried again", TIME, "next_ms", NULL)                         \
    C(ended_at, "when it was delivered or given up", TIME, "ended_ms", NULL)            \
    C(created_ms, "the same in milliseconds since 1970", FIELD, "created_ms", NULL)     \
    C(next_ms, "0 where it is not", FIELD, "next_ms", NULL)                             \
    C(ended_ms, "0 before that", FIELD, "ended_ms", NULL)                               \
    C(message, "why the last attempt failed", FIELD, "message", NULL)

#define BACKENDS(C)                                                                            \
    C(plugin, "the plugin", FIELD, "plugin", NULL)                                             \
    C(endpoint, "the endpoint of its settings", FIELD, "endpoint", NULL)                       \
    C(at, "when this was so", TIME, "at_ms", NULL)                                             \
    C(at_ms, "the same in milliseconds since 1970", FIELD, "at_ms", NULL)                      \
    C(jobs, "how many jobs it has", FIELD, "jobs", NULL)                                       \
    C(calls, "how many calls are under way", FIELD, "calls", NULL)                             \
    C(streams, "how many streams are open", FIELD, "streams", NULL)                            \
    C(circuit, "whether it is called: closed, open, trial", WORD, "circuit", &circuits)        \
    C(rate, "how many calls a second may leave", FIELD, "rate", NULL)                          \
    C(fault, "why it is not called, or empty", FIELD, "fault", NULL)                           \
    C(create_calls, "since the beginning: calls that made jobs", FIELD, "create_calls", NULL)  \
    C(status_calls, "those that asked how jobs are", FIELD, "status_calls", NULL)              \
    C(cancel_calls, "those that ended jobs", FIELD, "cancel_calls", NULL)                      \
    C(find_calls, "those that looked for jobs of unknown outcome", FIELD, "find_calls", NULL)  \
    C(failures_calls, "those that asked why jobs failed", FIELD, "failures_calls", NULL)       \
    C(stream_calls, "streams that were opened", FIELD, "stream_calls", NULL)                   \
    C(items, "how many jobs the calls were about", FIELD, "items", NULL)                       \
    C(throttled, "answers that we call too often", FIELD, "throttled", NULL)                   \
    C(failed, "calls that failed", FIELD, "failed", NULL)                                      \
    C(unknown_outcomes, "jobs of which nobody knew whether they were made", FIELD,             \
      "unknown_outcomes", NULL)                                                                \
    C(duplicates, "jobs that the back end made twice, of which one was ended", FIELD,          \
      "duplicates", NULL)                                                                      \
    C(stream_timeouts, "streams that were opened anew since nothing came", FIELD,              \
      "stream_timeouts", NULL)                                                                 \
    C(unended, "jobs that are to be ended and were not the last time", FIELD, "unended", NULL) \
    C(refusal, "the back end's words to that", FIELD, "refusal", NULL)                         \
    C(waiting, "tasks that wait for room there", FIELD, "waiting", NULL)

#define COLUMN(name, text, way, field, words) {#name, text},
#define CELL(name, text, way, field, words) {TR_CELL_##way, field, words},

/* A view of one part: all rows of a record, or its entries unfolded. */
#define DEFINE_SIMPLE(view, LIST, row, unfolded)                          \
    static const struct tr_view_column view##_columns[] = {LIST(COLUMN)}; \
    static const struct tr_view_cell view##_cells[] = {LIST(CELL)};       \
    static const struct tr_view_part view##_parts[] = {                   \
        {.record = &tr_##row##_schema, .unfold = (unfolded), .cells = view##_cells}};

DEFINE_SIMPLE(executions, EXECUTIONS, execution, TR_UNFOLD_NOT)
DEFINE_SIMPLE(labels, LABELS, execution_label, TR_UNFOLD_NOT)
DEFINE_SIMPLE(nodes, NODES, node_status, TR_UNFOLD_NOT)
DEFINE_SIMPLE(attempts, ATTEMPTS, attempt, TR_UNFOLD_NOT)
DEFINE_SIMPLE(elements, ELEMENTS, element_block, TR_UNFOLD_LATEST)
DEFINE_SIMPLE(arrays, ARRAYS, progress, TR_UNFOLD_NOT)
DEFINE_SIMPLE(notifications, NOTIFICATIONS, notification_row, TR_UNFOLD_NOT)
DEFINE_SIMPLE(backends, BACKENDS, backend, TR_UNFOLD_NOT)

static const struct tr_view_column events_columns[] = {
    {"at", "when"},
    {"at_ms", "the same in milliseconds since 1970"},
    {"execution", "the number of the execution"},
    {"execution_name", "its name"},
    {"subject", "what changed: execution, node, element or attempt"},
    {"path", "the node; empty for the execution itself"},
    {"element", "the element, or NULL"},
    {"attempt", "of elements and attempts: which one, from 0 on"},
    {"phase", "the phase it went to"},
    {"cause", "why"},
    {"code", "of a failure: its code"},
    {"message", "of a failure: its message"},
    {"actor", "the actor that wrote it, by its serial"},
    {"number", "what that actor wrote, in its order"},
    {"place", "of what it wrote at once, the order"},
};

/* Of one subject: its word, what names its attempt, and its phases. */
#define EVENT_CELLS(subject, element, attempt, phases)                              \
    {                                                                               \
        {TR_CELL_TIME, "at_ms", NULL}, {TR_CELL_FIELD, "at_ms", NULL},              \
            {TR_CELL_FIELD, "execution", NULL}, {TR_CELL_OWNER, "name", NULL},      \
            {TR_CELL_TEXT, subject, NULL}, {TR_CELL_FIELD, "path", NULL},           \
            {element, "element", NULL}, {attempt, "attempt", NULL},                 \
            {TR_CELL_WORD, "phase", phases}, {TR_CELL_FIELD, "cause", NULL},        \
            {TR_CELL_FIELD, "code", NULL}, {TR_CELL_FIELD, "message", NULL},        \
            {TR_CELL_FIELD, "actor_serial", NULL}, {TR_CELL_FIELD, "number", NULL}, \
            {TR_CELL_ZERO, NULL, NULL},                                             \
    }

static const struct tr_view_cell execution_events[] =
    EVENT_CELLS("execution", TR_CELL_NONE, TR_CELL_NONE, &execution_phases);
static const struct tr_view_cell node_events[] =
    EVENT_CELLS("node", TR_CELL_NONE, TR_CELL_NONE, &node_phases);
static const struct tr_view_cell attempt_events[] =
    EVENT_CELLS("attempt", TR_CELL_ELEMENT, TR_CELL_FIELD, &task_phases);
static const struct tr_view_cell element_events[] = {
    {TR_CELL_ENTRY_TIME, NULL, NULL},          {TR_CELL_ENTRY_MS, NULL, NULL},
    {TR_CELL_FIELD, "execution", NULL},        {TR_CELL_OWNER, "name", NULL},
    {TR_CELL_TEXT, "element", NULL},           {TR_CELL_FIELD, "path", NULL},
    {TR_CELL_ENTRY_ELEMENT, NULL, NULL},       {TR_CELL_ENTRY_ATTEMPT, NULL, NULL},
    {TR_CELL_ENTRY_PHASE, NULL, &node_phases}, {TR_CELL_TEXT, "", NULL},
    {TR_CELL_ENTRY_CODE, NULL, NULL},          {TR_CELL_ENTRY_MESSAGE, NULL, NULL},
    {TR_CELL_FIELD, "actor_serial", NULL},     {TR_CELL_FIELD, "number", NULL},
    {TR_CELL_ENTRY_PLACE, NULL, NULL},
};

static const struct tr_view_part events_parts[] = {
    {&tr_phase_schema, "subject", TR_SUBJECT_EXECUTION, TR_UNFOLD_NOT, execution_events},
    {&tr_phase_schema, "subject", TR_SUBJECT_NODE, TR_UNFOLD_NOT, node_events},
    {&tr_phase_schema, "subject", TR_SUBJECT_TASK, TR_UNFOLD_NOT, attempt_events},
    {&tr_element_block_schema, NULL, 0, TR_UNFOLD_EACH, element_events},
};

#define VIEW(view, words)                                                        \
    {                                                                            \
#view, words, view##_columns, TR_COUNT_OF(view##_columns), view##_parts, \
            TR_COUNT_OF(view##_parts)                                            \
    }

static const struct tr_view views[] = {
    VIEW(executions, "one row for each execution"),
    VIEW(labels, "one row for each label of an execution"),
    VIEW(nodes, "one row for each node that was begun, as it stands now"),
    VIEW(attempts, "one row for each attempt of a task"),
    VIEW(elements, "one row for each element of an array, as it stands now"),
    VIEW(arrays, "one row for each array: how many elements are where"),
    VIEW(events, "one row for each change of a phase"),
    VIEW(notifications, "one row for each notification of an execution"),
    VIEW(backends, "one row for each endpoint of a plugin that was called, as it stands"),
};

/*
 * What `list` asks for, whether a name is taken, and what has ended lately. Launched executions are
 * found by their parent, and those without one are the newest that nobody has launched. Flyte's
 * clients choose by plans, and sort by when executions started. Entities of theirs are listed by
 * when they came, of a name or of all, or those that are active.
 */
static const struct tr_record_index indexes[] = {
    {&tr_execution_schema, {"project", "domain", "name"}},
    {&tr_execution_schema, {"project", "domain", "created_ms"}},
    {&tr_execution_schema, {"name"}},
    {&tr_execution_schema, {"phase", "created_ms"}},
    {&tr_execution_schema, {"workflow", "created_ms"}},
    {&tr_execution_schema, {"plan", "created_ms"}},
    {&tr_execution_schema, {"started_ms"}},
    {&tr_execution_schema, {"created_ms"}},
    {&tr_execution_schema, {"ended_ms"}},
    {&tr_execution_schema, {"parent", "created_ms"}},
    {&tr_execution_label_schema, {"key", "value", "created_ms"}},
    {&tr_execution_label_schema, {"key", "value", "is_launched", "created_ms"}},
    {&tr_notification_row_schema, {"status"}},
    {&tr_entity_schema, {"project", "domain", "kind", "applied_ms"}},
    {&tr_entity_schema, {"project", "domain", "kind", "name", "applied_ms"}},
    {&tr_entity_schema, {"project", "domain", "kind", "updated_ms"}},
    {&tr_entity_schema, {"project", "domain", "kind", "name", "updated_ms"}},
    {&tr_entity_schema, {"project", "domain", "kind", "version", "name"}},
    {&tr_entity_schema, {"project", "domain", "kind", "is_active", "name"}},
};

/* Rows of what begins and soon ends. That of an execution has its phase in an index. */
static const struct tr_schema *const rewritten[] = {
    &tr_node_status_schema,
    &tr_attempt_schema,
    &tr_progress_schema,
};

const struct tr_views tr_history_views = {
    .owner = &tr_execution_schema,
    .views = views,
    .view_count = TR_COUNT_OF(views),
    .indexes = indexes,
    .index_count = TR_COUNT_OF(indexes),
    .rewritten = rewritten,
    .rewritten_count = TR_COUNT_OF(rewritten),
};
