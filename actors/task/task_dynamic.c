/*
 * A dynamic task: what it has written decides a graph, which runs in its place.
 *
 * The attempt is over when the graph is compiled (GRAPH): the program does that, since it takes
 * disks and time, and holds the graph in the graph registry until the task lets go of it. Then a
 * workflow runs the graph (INNER), under the task's own path and with the task's inputs, and its
 * end is the node's: its outputs are the task's, for the cache, too; its failure is not tried again
 * here, because its nodes have been.
 */
#include "actors/graph/flyte/flyte.h"
#include "actors/services/growth.h"
#include "actors/task/task.h"
#include "schemas/runtime/inquiry.h"

/* ------------------------------------------------------------------ the graph is made */

/*
 * Asks the program for the graph. A place is checked against the attempt's own folder like any
 * other file that it names.
 */
static int ask(struct tri_task *task)
{
    struct tr_cursor cursor = tr_cursor_of(task->outputs);
    struct tr_graph_make make = {
        .graph = {.data = task->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .task = task->node->target,
        .depth = tri_task_depth(task),
        .path = task->start.path,
        .recovery = task->start.recovery,
        .attempt = tri_task_attempt_name(task),
    };
    int error = tri_task_fence(task, &make.folder, &make.trusted_bytes);
    if (error != 0) {
        return error;
    }
    if (tr_peek(&cursor) == TR_CODEC_TEXT) {
        make.uri = tr_read_text(&cursor);
    } else {
        struct tr_bytes document = tr_read_bytes(&cursor);
        struct tr_bytes futures;
        if (tr_flyte_futures_are(document, &futures)) {
            make.futures = document;
        } else {
            make.text = tri_task_text_of_bytes(document);
        }
    }
    return cursor.error != 0 ? cursor.error
                             : tri_task_call(task, TR_SERVICE_FILES, &tr_graph_make_schema, &make);
}

/* The document stays in the pages until the graph is made: after a crash it is asked for again. */
int tri_task_enter_graph(struct tri_task *task)
{
    int error = tri_task_outputs_keep_for_later(task);
    return error != 0 ? error : ask(task);
}

/*
 * The attempt ends without a graph. `failure` is not read where the node is ending anyway, and may
 * be NULL then.
 */
static int end_attempt(struct tri_task *task, const struct tri_task_failure *failure)
{
    if (task->state->ending != 0) {
        int error = tri_task_finalize(task, TR_TASK_PHASE_ABORTED);
        return error != 0 ? error : tri_task_end_aborted(task);
    }
    int error = tri_task_finalize(task, failure->is_permanent ? TR_TASK_PHASE_PERMANENT_FAILURE
                                                              : TR_TASK_PHASE_RETRYABLE_FAILURE);
    return error != 0 ? error : tri_task_fail(task, failure);
}

/* The engine died, and the service that was asked with it. */
int tri_task_graph_again(struct tri_task *task)
{
    const struct tri_task_failure nothing = {.kind = TR_FAILURE_NONE};
    return task->state->ending != 0 ? end_attempt(task, &nothing) : ask(task);
}

static int not_made(struct tri_task *task, const struct tri_reply *reply)
{
    const struct tri_task_failure failure = {
        .kind = TR_FAILURE_SYSTEM,
        .code = TRI_LITERAL_TEXT("StorageError"),
        .message = tr_arena_print(&task->arena, "the graph of the dynamic task was not made: %.*s",
                                  TRI_TEXT(reply->message)),
    };
    return end_attempt(task, &failure);
}

/*
 * The graph is held for this task by the engine of `life`; by an earlier engine it is held no more,
 * and is made again. An abort that came meanwhile ends the attempt now, and the end releases the
 * graph. `life` guards against a hold that was lost: the registry lies in memory, and an answer
 * that outlived its engine names a graph that no registry holds.
 */
int tri_task_graph_answered(struct tri_task *task, const struct tri_reply *reply)
{
    struct tr_graph_made made;
    if (reply->error != 0 || reply->event->type != tr_graph_made_schema.id) {
        return not_made(task, reply);
    }
    int error = tr_graph_made_unpack(reply->event->body, reply->event->version, &made);
    if (error != 0) {
        return error;
    }
    if (made.code.size > 0) {
        const struct tri_task_failure failure = {.kind = TR_FAILURE_USER,
                                                 .is_permanent = true,
                                                 .code = made.code,
                                                 .message = made.message};
        return end_attempt(task, &failure);
    }
    if (made.graph.size != TR_GRAPH_HASH_BYTES) {
        return TR_MALFORMED;
    }
    if (made.engine_start != task->engine->life) {
        error = tri_task_outputs_load(task); /* it was held by an engine that is gone */
        return error != 0 ? error : tri_task_graph_again(task);
    }
    task->state->graph = tr_graph_number(made.graph.data);
    task->state->recovers = made.is_same;
    if (task->state->ending != 0) {
        return end_attempt(task, NULL);
    }
    error = tri_task_attempt_phase(task, TR_TASK_PHASE_SUCCESS);
    if (error != 0) {
        return error;
    }
    error = tri_task_finalize(task, TR_TASK_PHASE_SUCCESS);
    return error != 0 ? error : tri_task_go(task, TR_STEP_INNER);
}

/* ----------------------------------------------------------------------- the graph runs */

static int tell_start(struct tri_task *task, uint32_t workflow)
{
    const struct tr_node_start *own = &task->start;
    const struct tr_node_start start = {
        .graph = task->state->graph,
        .workflow = workflow,
        .node = own->node,
        .element = TR_ELEMENT_NONE,
        .execution = own->execution,
        .number = own->number,
        .path = own->path,
        .cache_mode = own->cache_mode,
        .inputs = own->inputs,
        .is_dynamic = true,
        .recovery = task->state->recovers ? own->recovery : (struct tr_text){0},
        .environment = own->environment,
        .raw_output_prefix = own->raw_output_prefix,
        .interruptible = own->interruptible,
    };
    return tr_tell_hinted(task->context, task->state->inner, tr_spawned_hint(task->context),
                          &tr_node_start_schema, &start);
}

/*
 * The workflow runs under the task's own path and inputs; its first nodes are those of the decided
 * graph.
 */
static int begin_inner(struct tri_task *task)
{
    const struct tr_spawn_options options = {.name = TRI_LITERAL_TEXT("graph")};
    const struct tr_graph *graph =
        tr_graph_registry_find(&task->engine->registry, task->state->graph);
    if (graph == NULL) {
        return TR_NOT_FOUND;
    }
    struct tr_growth growth = tr_growth_of_execution(task->context);
    if (growth.code != NULL) {
        const struct tri_task_failure failure = {.kind = TR_FAILURE_USER,
                                                 .code = tr_text_of(growth.code),
                                                 .message = tr_text_of(growth.message)};
        return tri_task_end_failed(task, TR_NODE_PHASE_FAILED, &failure);
    }
    int error = tr_spawn(task->context, &tr_workflow_behaviour, &options, &task->state->inner);
    return error != 0 ? error : tell_start(task, graph->main_workflow);
}

/* Its first nodes would begin at once, so a paused one is not spawned before it may go on. */
int tri_task_enter_inner(struct tri_task *task)
{
    task->state->is_held = task->state->is_paused;
    int error = tri_task_span_set(task, TRI_SPAN_OUTPUTS, (struct tr_bytes){0});
    task->outputs = (struct tr_bytes){0};
    task->has_outputs = false;
    if (error == 0 && task->state->node_phase != TR_NODE_PHASE_DYNAMIC_RUNNING) {
        error = tri_task_node_phase(task, TR_NODE_PHASE_DYNAMIC_RUNNING, (struct tr_text){0});
    }
    return error != 0 || task->state->is_held ? error : begin_inner(task);
}

int tri_task_inner_tell(struct tri_task *task, const struct tr_schema *schema, const void *body)
{
    return tr_tell(task->context, task->state->inner, schema, body);
}

int tri_task_inner_abort(struct tri_task *task)
{
    if (task->state->is_held) {
        return tri_task_end_aborted(task);
    }
    int error = tri_task_note(task, false);
    const struct tr_node_abort abort = {
        .phase = task->state->ending, .cause = task->note.cause, .is_hard = task->state->is_hard};
    return error != 0 ? error : tri_task_inner_tell(task, &tr_node_abort_schema, &abort);
}

/*
 * Its outputs are the task's. They are checked by the task's own interface, since the decided graph
 * was compiled apart from it.
 */
static int take_outputs(struct tri_task *task, struct tr_bytes outputs)
{
    struct tr_text problem;
    int error = tri_task_outputs_check(task, outputs, &problem);
    if (error == TR_INVALID) {
        struct tri_task_failure failure = task->refusal;
        return tri_task_end_failed(task, TR_NODE_PHASE_FAILED, &failure);
    }
    task->outputs = outputs;
    task->has_outputs = true;
    return error != 0 ? error : tri_task_go(task, TR_STEP_PUT);
}

/* The graph's end is the node's. It is not tried again here: its nodes had tries of their own. */
int tri_task_on_inner_ended(struct tri_task *task)
{
    struct tr_node_ended ended;
    bool is_inner = task->state->step == TR_STEP_INNER &&
                    tr_key_equal(task->message->from.key, task->state->inner.key);
    int error = tr_message_read(task->message, node_ended, &ended);
    if (error != 0 || !is_inner) {
        return error != 0 ? error : tr_unexpected(task->context, task->message);
    }
    if (task->state->ending != 0) {
        return tri_task_end_aborted(task);
    }
    if (ended.phase == TR_NODE_PHASE_SUCCEEDED) {
        return take_outputs(task, ended.outputs);
    }
    const struct tri_task_failure failure = {
        .kind = ended.failure,
        .code = ended.code,
        .message = ended.message,
        .details = ended.details,
        .flyte_message = ended.flyte_message,
        .failed = ended.failed,
        .failed_element = ended.failed_element,
    };
    return tri_task_end_failed(task, ended.phase, &failure);
}
