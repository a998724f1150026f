/*
 * When all is over: every node and element is where the model has it, got what it had to get and
 * gave what it had to give; nothing else is in history, and the store has what was committed.
 */
#include "tests/sim/engine_check.h"

#include <string.h>

#include "actors/workflow/workflow.h"
#include "schemas/engine/state_refresh.h"
#include "schemas/engine/state_service.h"
#include "schemas/engine/state_workflow.h"
#include "tests/sim/decisions.h"
#include "tests/sim/engine_history.h"
#include "tests/sim/engine_model.h"
#include "tests/sim/model_read.h"
#include "tests/sim/timetable.h"
#include "tests/sim/told.h"
#include "tests/support/flow_value.h"

struct sim_seen sim_engine_seen;

/* Whether what becomes of an execution depends on time, or on when crashes came. */
static bool is_timed(const struct sim_model *model)
{
    return model->stage->has_timing || model->stage->has_lost_answers;
}

/* Whether a node may be in a phase at the end. */
static bool is_allowed(const struct sim_model *model, const struct sim_expected *expected,
                       uint8_t phase)
{
    if (phase == expected->phase) {
        return true;
    }
    bool is_open = phase == TR_NODE_PHASE_NOT_YET_STARTED || phase == TR_NODE_PHASE_SKIPPED ||
                   phase == TR_NODE_PHASE_ABORTED;
    bool is_end = tr_phase_is_end(TR_SUBJECT_NODE, phase);
    return expected->is_cut && (is_open || (is_timed(model) && is_end));
}

/* Values that must be the same: all but those that hold errors. */
static void check_values(const struct sim_observation_of *entry,
                         const struct tr_variables *variables, enum tr_value_side side,
                         struct tr_bytes wanted)
{
    struct tr_bytes found = sim_bytes_of(&entry->values[side]);
    if (found.size == 0 || wanted.size == 0) {
        return;
    }
    sim_engine_seen.values_compared++;
    if (flow_value_digest_slots(variables, found) != flow_value_digest_slots(variables, wanted)) {
        sim_fail("execution %llu: '%s' has other %s than the model",
                 (unsigned long long)entry->number, entry->path,
                 side == TR_VALUE_INPUTS ? "inputs" : "outputs");
    }
}

static void count_node(const struct sim_expected *expected, uint8_t phase)
{
    struct sim_seen *seen = &sim_engine_seen;
    bool is_element = expected->element != TR_ELEMENT_NONE;
    bool is_failed = phase == TR_NODE_PHASE_FAILED;
    seen->nodes += is_element ? 0 : 1;
    seen->elements += is_element ? 1 : 0;
    seen->kept += phase == TR_NODE_PHASE_RECOVERED && !is_element ? 1 : 0;
    seen->elements_kept += phase == TR_NODE_PHASE_RECOVERED && is_element ? 1 : 0;
    seen->nodes_skipped += phase == TR_NODE_PHASE_SKIPPED ? 1 : 0;
    seen->nodes_aborted += phase == TR_NODE_PHASE_ABORTED ? 1 : 0;
    seen->nodes_failed += is_failed && !is_element ? 1 : 0;
    seen->elements_failed += is_failed && is_element ? 1 : 0;
    seen->elements_of_workflows += memchr(expected->path.data, '[', expected->path.size) ? 1 : 0;
}

/* What was kept has not run again; who was launched has a number of its own. */
static void check_not_run(const struct sim_model *model, const struct sim_expected *expected,
                          uint8_t phase)
{
    const struct sim_execution *execution = model->execution;
    bool is_own = memchr(expected->path.data, '!', expected->path.size) == NULL;
    if (phase == TR_NODE_PHASE_RECOVERED && is_own &&
        sim_backend_has_job(model->stage->backend, execution->host, execution->number,
                            expected->path, expected->element)) {
        sim_fail("%s: %.*s is kept, and has run", execution->name, (int)expected->path.size,
                 expected->path.data);
    }
}

static void check_expected(const struct sim_model *model, const struct sim_expected *expected)
{
    const struct sim_execution *execution = model->execution;
    struct sim_observation_of *entry =
        sim_history_find(model->stage->history, execution->host, execution->number, expected->path,
                         expected->element);
    uint8_t phase = entry == NULL ? TR_NODE_PHASE_NOT_YET_STARTED : entry->phase;
    if (!is_allowed(model, expected, phase)) {
        sim_fail("%s: %.*s[%lld] is %s, the model has %s%s", execution->name,
                 (int)expected->path.size, expected->path.data, (long long)expected->element,
                 tr_node_phase_word(phase), tr_node_phase_word(expected->phase),
                 expected->is_cut ? " or less" : "");
        return;
    }
    if (entry == NULL) {
        return;
    }
    count_node(expected, phase);
    entry->is_expected = true;
    check_not_run(model, expected, phase);
    if (entry->has_row && entry->phase != entry->chain) {
        sim_fail("%s: %s is %s, and its last change was to %s", execution->name, entry->path,
                 tr_node_phase_word(entry->phase), tr_node_phase_word(entry->chain));
    }
    if (expected->has_values && !is_timed(model)) {
        check_values(entry, expected->inputs_of, TR_VALUE_INPUTS, expected->inputs);
        check_values(entry, expected->outputs_of, TR_VALUE_OUTPUTS, expected->outputs);
    }
}

/* What a task gave follows from what it got, whatever the time it took. */
static void check_work(const struct sim_model *model, const struct sim_observation_of *entry)
{
    struct tr_bytes inputs = sim_bytes_of(&entry->values[TR_VALUE_INPUTS]);
    struct tr_bytes outputs = sim_bytes_of(&entry->values[TR_VALUE_OUTPUTS]);
    uint32_t index = entry->target[0] == '\0'
                         ? TR_GRAPH_NONE
                         : tr_graph_find_task(model->graph, tr_text_of(entry->target));
    if (index == TR_GRAPH_NONE || outputs.size == 0) {
        return;
    }
    const struct tr_task *task = &model->graph->tasks[index];
    struct tr_buffer wanted;
    tr_buffer_init(&wanted, 0);
    flow_value_outputs(task, inputs, &wanted);
    check_values(entry, &task->interface.outputs, TR_VALUE_OUTPUTS, tr_buffer_bytes(&wanted));
    tr_buffer_fini(&wanted);
}

/* The workflow that a node runs, inside or as an execution of its own. */
static const struct tr_workflow *workflow_of(const struct tr_graph *graph,
                                             const struct tr_node *node)
{
    bool is_plan = node->target_kind == TR_TARGET_PLAN;
    return &graph->workflows[is_plan ? graph->plans[node->target].workflow : node->target];
}

/* A node as it is found by its path. */
struct found {
    const struct tr_graph *graph;
    struct tr_graph *decided; /* the same one, where a task has decided it */
    const struct tr_workflow *workflow;
    const struct tr_node *node; /* NULL: there is none */
};

/* Goes on to what a node runs: of a dynamic one what history says that it has decided. */
static bool enter(const struct sim_model *model, struct tr_text path, struct found *found)
{
    const struct sim_stage *stage = model->stage;
    const struct sim_execution *execution = model->execution;
    if (found->node->kind != TR_NODE_DYNAMIC) {
        found->workflow = workflow_of(found->graph, found->node);
        return true;
    }
    const struct sim_observation_of *entry =
        sim_history_find(stage->history, execution->host, execution->number, path, TR_ELEMENT_NONE);
    struct tr_graph *graph = entry != NULL && entry->has_graph
                                 ? sim_decisions_graph(stage->decisions, entry->graph)
                                 : NULL;
    if (graph == NULL) {
        return false;
    }
    tr_graph_free(found->decided);
    found->graph = found->decided = graph;
    found->workflow = &graph->workflows[graph->main_workflow];
    return true;
}

/* The node that a path names; to be given back by tr_graph_free of what was decided. */
static struct found find_node(const struct sim_model *model, struct tr_text path)
{
    struct found found = {.graph = model->graph};
    found.workflow = &found.graph->workflows[found.graph->main_workflow];
    for (size_t begin = 0; begin < path.size;) {
        size_t end = begin;
        while (end < path.size && memchr("/[!", path.data[end], 3) == NULL) {
            end++;
        }
        struct tr_text id = {.data = path.data + begin, .size = end - begin};
        struct tr_text before = {.data = path.data, .size = begin - (begin > 0 ? 1 : 0)};
        bool is_there = found.node == NULL || enter(model, before, &found);
        found.node = NULL;
        for (uint32_t i = 0; is_there && i < found.workflow->node_count; i++) {
            const struct tr_node *other = &found.workflow->nodes[i];
            found.node = tr_text_equal(other->id, id) ? other : found.node;
        }
        if (found.node == NULL) {
            return found;
        }
        while (end < path.size && path.data[end] != '/') {
            end++;
        }
        begin = end + 1;
    }
    return found;
}

/* How that ended which a node is in: the execution, an inline workflow, or an element. */
static bool has_parent_succeeded(const struct sim_model *model, struct tr_text path)
{
    const struct sim_execution *execution = model->execution;
    uint64_t element = TR_ELEMENT_NONE;
    while (path.size > 0 && path.data[path.size - 1] != '/') {
        path.size--;
    }
    if (path.size == 0) {
        return execution->phase == TR_EXECUTION_SUCCEEDED;
    }
    path.size--;
    if (path.data[path.size - 1] == ']') {
        uint64_t unit = 1;
        element = 0;
        for (path.size--; path.data[path.size - 1] != '['; path.size--, unit *= 10) {
            element += (uint64_t)(path.data[path.size - 1] - '0') * unit;
        }
        path.size--;
    }
    const struct sim_observation_of *parent =
        sim_history_find(model->stage->history, execution->host, execution->number, path, element);
    return parent != NULL && parent->phase == TR_NODE_PHASE_SUCCEEDED;
}

/* What succeeded has nothing in it that failed, but what is optional, whatever the time it took. */
static void check_inside(const struct sim_model *model, const struct sim_observation_of *entry)
{
    struct tr_text path = tr_text_of(entry->path);
    bool has_failed = entry->phase != TR_NODE_PHASE_SUCCEEDED &&
                      entry->phase != TR_NODE_PHASE_RECOVERED &&
                      entry->phase != TR_NODE_PHASE_SKIPPED;
    if (!entry->has_row || !has_failed || !has_parent_succeeded(model, path)) {
        return;
    }
    struct found found = find_node(model, path);
    const struct tr_node *node = found.node;
    bool is_excused = false;
    while (node != NULL && !is_excused) {
        is_excused = node->is_optional;
        node = node->parent == TR_GRAPH_NONE ? NULL : &found.workflow->nodes[node->parent];
    }
    tr_graph_free(found.decided);
    if (!is_excused) {
        sim_fail("%s: %s is %s, and what it is in succeeded", model->execution->name, entry->path,
                 tr_node_phase_word(entry->phase));
    }
}

/* What history has of an execution beside what the model expects. */
static void check_rest(const struct sim_model *model)
{
    const struct sim_execution *execution = model->execution;
    uint32_t cursor = 0;
    const struct sim_observation_of *entry;
    while ((entry = sim_history_next(model->stage->history, &cursor)) != NULL) {
        if (entry->host != execution->host || entry->number != execution->number ||
            entry->path[0] == '\0') {
            continue;
        }
        if (!entry->is_expected && !is_timed(model)) {
            sim_fail("%s: %s[%lld] is in history, and the model has no such node", execution->name,
                     entry->path, (long long)entry->element);
        }
        check_work(model, entry);
        check_inside(model, entry);
        if (entry->has_row && !tr_phase_is_end(TR_SUBJECT_NODE, entry->phase)) {
            sim_fail("%s has ended, and %s is %s", execution->name, entry->path,
                     tr_node_phase_word(entry->phase));
        }
    }
}

/*
 * The failure of the whole is one that happened. Its code may be that of another node: a map says
 * the code that most of its elements have, and the first of them.
 */
static void check_failure(const struct sim_model *model)
{
    const struct sim_execution *execution = model->execution;
    struct tr_text failed = sim_text_of(&execution->failed);
    struct tr_text code = sim_text_of(&execution->code);
    const struct sim_expected *expected = model->expected.items;
    bool is_place = false;
    bool is_code = false;
    for (uint32_t i = 0; i < model->expected.count; i++) {
        bool is_failed = expected[i].phase == TR_NODE_PHASE_FAILED;
        is_place = is_place || (is_failed && tr_text_equal(expected[i].path, failed) &&
                                expected[i].element == execution->failed_element);
        is_code = is_code || (is_failed && expected[i].code != NULL &&
                              tr_text_equal(tr_text_of(expected[i].code), code));
    }
    if (!is_place || !is_code) {
        sim_fail("%s failed at %.*s[%lld] with %.*s, which the model does not have",
                 execution->name, (int)failed.size, failed.data,
                 (long long)execution->failed_element, (int)code.size, code.data);
    }
}

static void check_whole(const struct sim_model *model)
{
    const struct sim_execution *execution = model->execution;
    uint8_t phase = execution->phase;
    bool is_end = tr_phase_is_end(TR_SUBJECT_EXECUTION, phase);
    bool is_fine = phase == model->phase ||
                   (execution->is_aborted && phase == TR_EXECUTION_ABORTED) ||
                   (is_timed(model) && is_end);
    if (!is_fine) {
        sim_fail("%s is %s (%.*s), the model has %s", execution->name,
                 tr_execution_phase_word(phase), (int)execution->code.size,
                 (const char *)execution->code.data, tr_execution_phase_word(model->phase));
        return;
    }
    if (phase == TR_EXECUTION_FAILED && !is_timed(model)) {
        check_failure(model);
    }
    const struct sim_observation_of *entry = sim_history_find(
        model->stage->history, execution->host, execution->number, tr_text_of(""), TR_ELEMENT_NONE);
    const struct tr_workflow *workflow = &model->graph->workflows[model->graph->main_workflow];
    if (phase == TR_EXECUTION_SUCCEEDED && !is_timed(model) &&
        workflow->interface.outputs.count > 0) {
        if (entry == NULL || entry->values[TR_VALUE_OUTPUTS].size == 0) {
            sim_fail("%s succeeded, and its outputs are not in history", execution->name);
            return;
        }
        check_values(entry, &workflow->interface.outputs, TR_VALUE_OUTPUTS, model->outputs);
    }
}

static void count_execution(const struct sim_execution *execution)
{
    struct sim_seen *seen = &sim_engine_seen;
    seen->executions++;
    seen->recoveries += execution->from != NULL ? 1 : 0;
    seen->succeeded += execution->phase == TR_EXECUTION_SUCCEEDED ? 1 : 0;
    seen->failed += execution->phase == TR_EXECUTION_FAILED ? 1 : 0;
    seen->aborted += execution->phase == TR_EXECUTION_ABORTED ? 1 : 0;
    seen->timed_out += execution->phase == TR_EXECUTION_TIMED_OUT ? 1 : 0;
}

static void check_execution(const struct sim_stage *stage, const struct sim_execution *execution)
{
    struct sim_model model;
    sim_model_init(&model, stage, execution);
    const struct sim_expected *expected = model.expected.items;
    for (uint32_t i = 0; i < model.expected.count; i++) {
        check_expected(&model, &expected[i]);
    }
    check_whole(&model);
    count_execution(execution);
    check_rest(&model);
    sim_model_fini(&model);
}

/* Whether nothing is on its way between the workers of a host. */
static bool is_quiet(const struct sim_host *host)
{
    bool is_quiet = host->net.in_flight == 0;
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        is_quiet = is_quiet && tri_outbox_is_empty(&host->host->workers[i].outbox);
    }
    return is_quiet;
}

void sim_engine_check_pause(struct sim_host *host, const struct tri_worker *worker,
                            struct tri_actor *actor)
{
    const struct tr_workflow_state *inner = tri_actor_state(actor);
    struct tri_actor *parent = sim_find_actor(host, actor->parent);
    if (tri_actor_behaviour(worker, actor)->id != tr_workflow_behaviour.id || parent == NULL ||
        tri_actor_behaviour(worker, parent)->id != tr_workflow_behaviour.id ||
        actor->mailbox_count > 0 || parent->mailbox_count > 0 || !is_quiet(host)) {
        return;
    }
    const struct tr_workflow_state *outer = tri_actor_state(parent);
    bool is_passed_on = outer->stage == TRI_STAGE_GRAPH && outer->is_paused && !outer->is_pausing;
    if (is_passed_on && inner->stage == TRI_STAGE_GRAPH && !inner->is_paused) {
        sim_fail("host %u: a workflow is paused, and %llu/%llu in it is not", host->index,
                 (unsigned long long)actor->key.group, (unsigned long long)actor->key.serial);
    }
}

/* What is held by a service, or waits for it. */
static uint64_t count_held(const struct tr_behaviour *behaviour, const void *state)
{
    const struct tr_resources_state *resources = state;
    const struct tr_catalog_state *catalog = state;
    const struct tr_launcher_state *launcher = state;
    const struct tr_schedules_state *schedules = state;
    const struct tr_refresh_state *refresh = state;
    return behaviour->id == tr_resources_behaviour.id   ? resources->held + resources->waiting
           : behaviour->id == tr_catalog_behaviour.id   ? catalog->owned + catalog->waiting
           : behaviour->id == tr_launcher_behaviour.id  ? launcher->live
           : behaviour->id == tr_schedules_behaviour.id ? schedules->live
           : behaviour->id == tr_refresh_behaviour.id   ? refresh->jobs
                                                        : 0;
}

void sim_engine_check_staying(struct sim_host *host, const struct tri_worker *worker,
                              struct tri_actor *actor)
{
    const struct tr_behaviour *behaviour = tri_actor_behaviour(worker, actor);
    uint64_t held = count_held(behaviour, tri_actor_state(actor));
    if (held > 0) {
        sim_fail("host %u: everybody has ended, and the %s holds %llu things for them", host->index,
                 behaviour->name, (unsigned long long)held);
    }
    if (behaviour->id == tr_resources_behaviour.id) {
        struct tr_engine *engine = host->own;
        sim_decisions_check_released(sim_stage_of(host->world)->decisions, host, &engine->registry);
    }
}

/* The store has the rows that were committed. */
static void check_store(struct sim_host *host)
{
    uint64_t wanted = sim_history_row_count(sim_stage_of(host->world)->history, host->index);
    uint64_t found =
        host->disk != NULL
            ? sim_count_rows(host, "SELECT count(*) FROM record_node_status")
            : tri_model_version_record_count(sim_contents(host), tr_node_status_schema.id);
    if (wanted != found) {
        sim_fail("host %u: history has %llu nodes, the store %llu", host->index,
                 (unsigned long long)wanted, (unsigned long long)found);
    }
}

void sim_engine_check_end(struct sim_host *host)
{
    const struct sim_stage *stage = sim_stage_of(host->world);
    for (uint32_t i = 0; i < stage->execution_count; i++) {
        if (stage->executions[i].host == host->index) {
            check_execution(stage, &stage->executions[i]);
        }
    }
    if (stage->timetable != NULL && host->index == 0) {
        sim_timetable_check_end(stage->timetable);
    }
    if (stage->told != NULL) {
        sim_told_check_end(stage->told, host);
    }
    check_store(host);
}
