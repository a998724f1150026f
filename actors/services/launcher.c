/*
 * The launcher: begins the executions of one project and domain, knows those that live by name, and
 * holds the graphs that they run while one of them does.
 *
 * Its pages are two indexes: from names to executions, and from graphs to how many run them.
 *
 * The order of a launch: all checks, then the name, the spawn, the first message, the name again
 * with its actor, the count of the graph, and last the hold on the graph. Everything but the hold
 * is effects of one handler, which an error drops as a whole. The registry lies in memory, outside
 * of any commit, so it is touched when nothing can fail any more. After a crash the program asks by
 * graph_hold what is to be held, and the counts in the pages answer.
 */
#include "actors/engine.h"
#include "actors/graph/document/labels.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/slot.h"
#include "actors/history/forget.h"
#include "actors/history/history.h"
#include "actors/services/graph_fetch.h"
#include "actors/services/growth.h"
#include "actors/services/launch_run.h"
#include "actors/services/launcher_shard.h"
#include "actors/store/index.h"
#include "actors/store/task_name.h"
#include "schemas/engine/retention.h"
#include "schemas/engine/state_workflow.h"
#include "schemas/runtime/archive.h"

/* Beside the inputs, what the root is told has to fit into its first message, too. */
#define INPUTS_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 65536)
#define CAUSE_BYTES_MAX 16384

/* The two indexes take the pages in turn. */
#define INDEX_COUNT 2

/*
 * What is known of an execution. It lies in pages as it is; older ones end before `launching`, or
 * before `plan`.
 */
struct known {
    struct tr_ref execution;
    uint64_t graph;
    uint64_t launching; /* serial of the launch node that waits for its end; 0: none */
    uint64_t plan;      /* a number of its launch plan, where that bounds them; 0: it does not */
};

/* A launch on its way: what stands in its way is told, not failed. */
struct launch {
    struct tr_context *context;
    struct tr_launcher_state *state;
    struct tr_launch request;
    const struct tr_graph *graph;
    uint64_t number;
    struct tr_buffer labels; /* that the execution gets */
    struct tr_buffer environment;
    struct tr_node_start run;  /* how its tasks run (launch_run.h), and nothing else */
    uint64_t plan;             /* as in struct known */
    struct tr_graph_wait kept; /* the request as it came, and how it waited */
    bool has_waited;           /* for its graph */
    bool waits;
    struct tr_launched answer;
};

static struct tr_index names_of(const struct tr_launcher_state *state)
{
    return (struct tr_index){.first = 0,
                             .stride = INDEX_COUNT,
                             .page_count = TR_PAGES_MAX / INDEX_COUNT,
                             .buckets = state->name_buckets,
                             .bytes = state->name_bytes};
}

static struct tr_index graphs_of(const struct tr_launcher_state *state)
{
    return (struct tr_index){.first = 1,
                             .stride = INDEX_COUNT,
                             .page_count = TR_PAGES_MAX / INDEX_COUNT,
                             .buckets = state->graph_buckets,
                             .bytes = state->graph_bytes};
}

static void keep_names(struct tr_launcher_state *state, const struct tr_index *index)
{
    state->name_buckets = index->buckets;
    state->name_bytes = index->bytes;
}

static void keep_graphs(struct tr_launcher_state *state, const struct tr_index *index)
{
    state->graph_buckets = index->buckets;
    state->graph_bytes = index->bytes;
}

static struct tr_bytes bytes_of(struct tr_text text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
}

static struct tr_bytes graph_key(const uint64_t *number)
{
    return (struct tr_bytes){.data = (const uint8_t *)number, .size = sizeof *number};
}

/* Launch plans are counted beside graphs: their keys are longer. */
struct plan_key {
    uint64_t plan;
    uint64_t none; /* 0 */
};

static struct tr_bytes plan_bytes(const struct plan_key *key)
{
    return (struct tr_bytes){.data = (const uint8_t *)key, .size = sizeof *key};
}

/* A value that an older engine wrote is shorter; what it lacks is zeros. */
static struct known known_of(struct tr_bytes value)
{
    struct known known;
    memset(&known, 0, sizeof known);
    memcpy(&known, value.data, value.size < sizeof known ? value.size : sizeof known);
    return known;
}

/* ------------------------------------------------- graphs and launch plans in use */

/* How many executions run a graph, or are a launch plan's. */
static int count_get(struct tr_context *context, const struct tr_launcher_state *state,
                     struct tr_bytes key, uint64_t *count)
{
    struct tr_index index = graphs_of(state);
    struct tr_bytes value;
    int error = tr_index_find(context, &index, key, &value);
    *count = 0;
    if (error == 0) {
        memcpy(count, value.data, sizeof *count);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

/* A count of 0 leaves no entry, so the index holds only what runs. */
static int count_set(struct tr_context *context, struct tr_launcher_state *state,
                     struct tr_bytes key, uint64_t count)
{
    struct tr_index index = graphs_of(state);
    struct tr_bytes value = {.data = (const uint8_t *)&count, .size = sizeof count};
    int error = count == 0 ? tr_index_remove(context, &index, key)
                           : tr_index_put(context, &index, key, value);
    keep_graphs(state, &index);
    return error;
}

/* Counts one more or one less, and says how many there are then. */
static int count_by(struct tr_context *context, struct tr_launcher_state *state,
                    struct tr_bytes key, int by, uint64_t *count)
{
    int error = count_get(context, state, key, count);
    if (error == 0) {
        *count += (uint64_t)by;
        error = count_set(context, state, key, *count);
    }
    return error;
}

/* The program has handed the graph over, or the handler shares it (handle_launch). */
static void hold_graph(const struct launch *launch)
{
    bool is_there = tr_graph_registry_hold(&tr_engine_of(launch->context)->registry, launch->number,
                                           tr_self(launch->context).key.group);
    TR_ASSERT(is_there);
}

/* --------------------------------------------------------------- refusals */

/* Always false, so that a check can end with it. `why` has to outlive the handler. */
static bool refuse(struct launch *launch, int error, const char *why)
{
    launch->answer.error = error;
    launch->answer.message = tr_text_of(why);
    return false;
}

/*
 * A name is one part of an address. The letters that addresses and patterns give a meaning to are
 * refused (runtime/actor/address.c).
 */
static bool is_name(struct tr_text name)
{
    for (size_t i = 0; i < name.size; i++) {
        unsigned char letter = (unsigned char)name.data[i];
        if (letter <= ' ' || letter == 0x7f || strchr("/[]@*", letter) != NULL) {
            return false;
        }
    }
    return name.size > 0 && name.size <= TR_NAME_BYTES_MAX;
}

/*
 * Another host may have it, and has put it into the store: then the launch waits, and is handled
 * again. Where it has waited in vain it is refused.
 */
static bool lack_graph(struct launch *launch)
{
    const struct tr_graph_wait *kept = &launch->kept;
    if (!tr_launcher_has_shards(tr_engine_of(launch->context)) || kept->error == TR_NOT_FOUND) {
        return refuse(launch, TR_NOT_FOUND, "the engine does not have its definition");
    }
    if (kept->error != 0) {
        launch->answer.error = kept->error;
        launch->answer.message =
            kept->message.size > 0 ? kept->message : tr_text_of("its definition cannot be read");
        return false;
    }
    if (kept->body.size > TR_GRAPH_WAIT_BODY_BYTES_MAX) {
        return refuse(launch, TR_LIMIT, "what is launched with is larger than 1 MiB together");
    }
    if (tr_may_grow(launch->context) != 0) {
        return refuse(launch, TR_BUSY, "too many executions wait for their definitions");
    }
    launch->waits = true;
    return false;
}

/*
 * Finds the graph, and whether it has what is to be launched. The handler shares it until its end:
 * another launcher that holds it may release it meanwhile.
 */
static bool check_graph(struct launch *launch)
{
    const struct tr_launch *request = &launch->request;
    if (request->graph.size != TR_GRAPH_HASH_BYTES) {
        return refuse(launch, TR_INVALID, "its definition's name is no SHA-256");
    }
    struct tr_graph_registry *registry = &tr_engine_of(launch->context)->registry;
    if (!tr_graph_registry_share(registry, request->graph.data)) {
        return lack_graph(launch);
    }
    launch->number = tr_graph_number(request->graph.data);
    launch->graph = tr_graph_registry_find(registry, launch->number);
    if (request->workflow >= launch->graph->workflow_count) {
        return refuse(launch, TR_NOT_FOUND, "its definition has no such workflow");
    }
    bool has_plan = request->plan != TR_GRAPH_NONE;
    if (has_plan && request->plan >= launch->graph->plan_count) {
        return refuse(launch, TR_NOT_FOUND, "its definition has no such launch plan");
    }
    if (has_plan && launch->graph->plans[request->plan].workflow != request->workflow) {
        return refuse(launch, TR_INVALID, "the launch plan is of another workflow");
    }
    return true;
}

/* The inputs are those of the workflow, each of its type; large ones lie elsewhere. */
static bool check_inputs(struct launch *launch)
{
    const struct tr_workflow *workflow = &launch->graph->workflows[launch->request.workflow];
    const struct tr_variables *inputs = &workflow->interface.inputs;
    struct tr_cursor cursor;
    if (launch->request.inputs.size > INPUTS_BYTES_MAX) {
        return refuse(launch, TR_LIMIT,
                      "the inputs together are larger than TR_MESSAGE_BYTES_MAX (1 MiB)");
    }
    if (launch->request.cause.size + launch->request.parent.size > CAUSE_BYTES_MAX) {
        return refuse(launch, TR_LIMIT, "the cause is longer than 16 KiB");
    }
    if (launch->request.request.size > TR_REQUEST_BYTES_MAX) {
        return refuse(
            launch, TR_LIMIT,
            "what is asked beside the inputs is larger than TR_REQUEST_BYTES_MAX (32 KiB)");
    }
    uint32_t count = tr_slots_begin(launch->request.inputs, &cursor);
    if (cursor.error != 0 || count != inputs->count) {
        return refuse(launch, TR_INVALID, "there is not one value for each input of the workflow");
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tr_offloaded where;
        struct tr_bytes slot = tr_read_any(&cursor);
        if (!tr_slot_is_offloaded(slot, &where) &&
            tr_literal_check(inputs->items[i].type, slot) != 0) {
            return refuse(launch, TR_INVALID, "an input is not a value of its type");
        }
    }
    return true;
}

/*
 * What a launch plan gives for good may not be overridden. Callers send all inputs of the workflow,
 * those that the plan fixes among them, so "the same value" is allowed.
 */
static bool check_fixed(struct launch *launch)
{
    if (launch->request.plan == TR_GRAPH_NONE) {
        return true;
    }
    const struct tr_plan *plan = &launch->graph->plans[launch->request.plan];
    for (uint32_t i = 0; i < plan->value_count; i++) {
        const struct tr_plan_value *value = &plan->values[i];
        struct tr_bytes slot;
        bool is_same = tr_slots_get(launch->request.inputs, value->input, &slot) == 0 &&
                       tr_literal_equal(slot, value->value);
        if (value->is_fixed && !is_same) {
            return refuse(launch, TR_INVALID, "an input that the launch plan fixes is overridden");
        }
    }
    return true;
}

static const struct tr_plan *plan_of(const struct launch *launch)
{
    uint32_t plan = launch->request.plan;
    return plan == TR_GRAPH_NONE ? NULL : &launch->graph->plans[plan];
}

/* How its tasks run: what the plan says, and the request or whoever launches it. */
static bool merge_run(struct launch *launch, int *error)
{
    const struct tr_launch *request = &launch->request;
    if (request->raw_output_prefix.size > TR_RAW_OUTPUT_PREFIX_BYTES_MAX) {
        return refuse(launch, TR_LIMIT,
                      "its raw output prefix has more than 1024 bytes "
                      "(TR_RAW_OUTPUT_PREFIX_BYTES_MAX)");
    }
    *error = tri_launch_run(request, plan_of(launch), &launch->environment, &launch->run);
    if (*error == TR_LIMIT || *error == TR_INVALID) {
        const char *why = *error == TR_INVALID
                              ? "the variables are none"
                              : "its variables, with those that it inherits, are more than 8 KiB "
                                "(TR_RUN_ENVIRONMENT_BYTES_MAX)";
        (void)refuse(launch, *error, why);
        *error = 0;
        return false;
    }
    return *error == 0;
}

/* Puts stronger labels over those there are. */
static int add_labels(struct tr_buffer *labels, struct tr_text stronger)
{
    struct tr_buffer merged;
    tr_buffer_init(&merged, 0);
    int error = tr_labels_merge(tr_buffer_text(labels), stronger, &merged);
    if (error != 0) {
        tr_buffer_fini(&merged);
        return error;
    }
    tr_buffer_fini(labels);
    *labels = merged;
    return 0;
}

/* Those of whoever launches it, of the workflow, of the plan and of the request, the last win. */
static bool merge_labels(struct launch *launch, int *error)
{
    const struct tr_launch *request = &launch->request;
    const struct tr_graph *graph = launch->graph;
    bool has_plan = request->plan != TR_GRAPH_NONE;
    const struct tr_text layers[] = {
        request->inherited_labels,
        graph->workflows[request->workflow].labels,
        has_plan ? graph->plans[request->plan].labels : tr_text_of(""),
        request->labels,
    };
    for (size_t i = 0; *error == 0 && i < TR_COUNT_OF(layers); i++) {
        if (!tr_labels_are_good(layers[i])) {
            return refuse(launch, TR_INVALID, "the labels are none");
        }
        *error = add_labels(&launch->labels, layers[i]);
    }
    if (*error == TR_LIMIT) {
        *error = 0;
        return refuse(launch, TR_LIMIT,
                      "its labels, with those that it inherits, are more than 64 or 8 KiB "
                      "(TR_LABELS_MAX, TR_LABELS_BYTES_MAX)");
    }
    return *error == 0;
}

/* ------------------------------------------------- names that are free again */

/*
 * Whoever launches looks the name up in the history before. A launch may come late, from a host
 * that was lost or could not be reached: then another one of that name may have begun and ended
 * since, which neither the look nor the names that live can show. So a shard knows the names that
 * were free last, and how many were free in all: a launch that was looked up longer ago than these
 * reach is refused, and looked up again.
 *
 * Those that ended before the look are compared, too: what a host has acknowledged may come into
 * the tables, where others look, a moment later.
 */
static uint64_t digest_of(struct tr_text name)
{
    return tr_fnv_64(TR_FNV_64_BEGIN, bytes_of(name));
}

/* The digest's place among those that ended last; NULL: it is not there. */
static char *find_ended(struct tr_launcher_state *state, struct tr_text name)
{
    uint64_t digest = digest_of(name);
    for (size_t at = 0; at < state->ended.size; at += sizeof digest) {
        if (memcmp(state->ended.data + at, &digest, sizeof digest) == 0) {
            return state->ended.data + at;
        }
    }
    return NULL;
}

static void note_ended(struct tr_context *context, struct tr_launcher_state *state,
                       struct tr_text name)
{
    uint64_t digest = digest_of(name);
    size_t at = (size_t)(state->ended_count % TR_LAUNCHER_ENDED_MAX) * sizeof digest;
    if (tr_launcher_has_shards(tr_engine_of(context))) {
        memcpy(state->ended.data + at, &digest, sizeof digest);
        state->ended_count++;
        if (state->ended.size < at + sizeof digest) {
            state->ended.size = (uint16_t)(at + sizeof digest);
        }
    }
}

/* Its history is forgotten: the name may be given again. */
static void forget_ended(struct tr_launcher_state *state, struct tr_text name)
{
    char *place = find_ended(state, name);
    if (place != NULL) {
        memset(place, 0, sizeof(uint64_t));
    }
}

static bool check_not_ended(struct launch *launch)
{
    uint64_t ended_since = launch->state->ended_count + 1 - launch->request.ended_count;
    bool is_meant =
        launch->request.ended_count != 0 && tr_launcher_has_shards(tr_engine_of(launch->context));
    if (is_meant && find_ended(launch->state, launch->request.name) != NULL) {
        return refuse(launch, TR_EXISTS, "an execution of this name has ended");
    }
    return !is_meant || ended_since <= TR_LAUNCHER_ENDED_MAX ||
           refuse(launch, TR_BUSY, "its name was looked up too long ago; ask again");
}

/*
 * Whether no execution of this name lives. An engine's error is in `error`. A launch node that asks
 * twice has asked once: false without an error in the answer, which names what it began before.
 */
static bool check_new(struct launch *launch, int *error)
{
    struct tr_index names = names_of(launch->state);
    struct tr_bytes value;
    if (!is_name(launch->request.name)) {
        return refuse(launch, TR_INVALID, "the name cannot be a part of an address");
    }
    *error = tr_index_find(launch->context, &names, bytes_of(launch->request.name), &value);
    if (*error == TR_NOT_FOUND) {
        *error = 0;
        return check_not_ended(launch);
    }
    uint64_t launching = launch->request.launching.key.serial;
    if (*error == 0) {
        struct known known = known_of(value);
        launch->answer.execution = known.execution;
        if (launching != 0 && known.launching == launching) {
            return false;
        }
    }
    return refuse(launch, TR_EXISTS, "an execution of this name is running");
}

/* New executions are refused before those that live have no room any more. */
static bool check_room(struct launch *launch)
{
    struct tr_growth growth = tr_growth_of_engine(launch->context);
    return growth.code == NULL || refuse(launch, TR_BUSY, growth.message);
}

/* A launch plan may say how many of its executions run at once (Flyte's concurrency policy). */
static bool check_concurrency(struct launch *launch, int *error)
{
    struct plan_key key = {.plan = tr_launcher_plan(plan_of(launch))};
    uint64_t count = 0;
    if (key.plan == 0) {
        return true;
    }
    *error = count_get(launch->context, launch->state, plan_bytes(&key), &count);
    return *error == 0 &&
           (count < plan_of(launch)->run.executions_max ||
            refuse(launch, TR_LIMIT,
                   "as many executions of its launch plan run as its concurrency policy lets run"));
}

/* ---------------------------------------------------------------- launching */

static int tell_start(struct launch *launch)
{
    const struct tr_launch *request = &launch->request;
    const struct tr_graph *graph = launch->graph;
    bool has_plan = request->plan != TR_GRAPH_NONE;
    struct tr_buffer name;
    tr_buffer_init(&name, 0);
    tr_buffer_add_text(&name, graph->project);
    tr_buffer_add_string(&name, "/");
    tr_buffer_add_text(&name, graph->domain);
    tr_buffer_add_string(&name, "/");
    tr_buffer_add_text(&name, request->name);
    struct tr_node_start start = {
        .graph = launch->number,
        .workflow = request->workflow,
        .node = TR_GRAPH_NONE,
        .element = TR_ELEMENT_NONE,
        .execution = tr_buffer_text(&name),
        .number = launch->answer.execution.key.group,
        .cache_mode = launch->run.cache_mode,
        .inputs = request->inputs,
        .plan = has_plan ? graph->plans[request->plan].name : tr_text_of(""),
        .parent = request->parent,
        .cause = request->cause,
        .launching = request->launching,
        .launching_node = request->node,
        .launching_element = request->element,
        .recovery = request->recovery,
        .depth = request->depth,
        .labels = tr_buffer_text(&launch->labels),
        .request = request->request,
        .environment = launch->run.environment,
        .raw_output_prefix = launch->run.raw_output_prefix,
        .interruptible = launch->run.interruptible,
        .parallelism = launch->run.parallelism,
    };
    int error = name.error;
    if (error == 0) {
        error = tr_tell_hinted(launch->context, launch->answer.execution,
                               tr_spawned_hint(launch->context), &tr_node_start_schema, &start);
    }
    tr_buffer_fini(&name);
    return error;
}

static int record_launched(struct launch *launch)
{
    const struct tr_launch *request = &launch->request;
    const struct tr_graph *graph = launch->graph;
    bool has_plan = request->plan != TR_GRAPH_NONE;
    struct tr_execution row = {
        .execution = launch->answer.execution.key.group,
        .project = graph->project,
        .domain = graph->domain,
        .name = request->name,
        .workflow = graph->workflows[request->workflow].name,
        .plan = has_plan ? graph->plans[request->plan].name : tr_text_of(""),
        .graph = request->graph,
        .parent = request->parent,
        .cause = request->cause,
        .recovery = request->recovery,
        .failed_element = TR_ELEMENT_NONE,
        .labels = tr_buffer_text(&launch->labels),
        .request = request->request,
    };
    return tr_history_launched(launch->context, &row);
}

/* Puts the name into the index, or what is known of it now. */
static int keep_name(struct launch *launch)
{
    struct tr_index names = names_of(launch->state);
    struct known known;
    memset(&known, 0, sizeof known); /* padding reaches the disk */
    known.execution = launch->answer.execution;
    known.graph = launch->number;
    known.launching = launch->request.launching.key.serial;
    known.plan = launch->plan;
    struct tr_bytes value = {.data = (const uint8_t *)&known, .size = sizeof known};
    int error = tr_index_put(launch->context, &names, bytes_of(launch->request.name), value);
    keep_names(launch->state, &names);
    return error;
}

static int count_one_more(struct launch *launch)
{
    struct plan_key plan = {.plan = launch->plan};
    uint64_t count;
    int error = count_by(launch->context, launch->state, graph_key(&launch->number), 1, &count);
    if (error == 0 && launch->plan != 0) {
        error = count_by(launch->context, launch->state, plan_bytes(&plan), 1, &count);
    }
    launch->state->live += error == 0 ? 1 : 0;
    return error;
}

/*
 * The name is taken before the execution is spawned, and kept again with its actor: an index that
 * is full refuses before anything exists. All of it is one handler's commit, so a name in the index
 * is an execution that lives.
 */
static int begin(struct launch *launch)
{
    struct tr_spawn_options options = {.name = launch->request.name, .is_group = true};
    int error = keep_name(launch);
    if (error == TR_LIMIT) {
        (void)refuse(launch, TR_LIMIT, "too many executions of such names are running");
        return 0;
    }
    if (error == 0) {
        error =
            tr_spawn(launch->context, &tr_workflow_behaviour, &options, &launch->answer.execution);
    }
    if (error == 0) {
        error = tell_start(launch);
    }
    if (error == 0) {
        error = record_launched(launch);
    }
    if (error == 0) {
        error = keep_name(launch);
    }
    if (error == 0) {
        error = count_one_more(launch);
    }
    if (error == 0) {
        hold_graph(launch);
    }
    return error;
}

/*
 * The caller is answered. A launch node's root has told, not asked: the node hears from the new
 * root when it has begun, and from here when it is refused, or lives already. Whoever does not wait
 * any more needs no answer.
 */
static int answer(struct launch *launch, const struct tr_message *message, bool is_begun)
{
    struct tr_ref launching = launch->request.launching;
    launch->answer.ended_count = launch->state->ended_count + 1;
    if (!tr_key_is_none(launching.key)) {
        return is_begun ? 0
                        : tr_tell(launch->context, launching, &tr_launched_schema, &launch->answer);
    }
    if (!launch->has_waited) {
        return tr_reply(launch->context, message, &tr_launched_schema, &launch->answer);
    }
    const struct tr_deferred_reply owed = {launch->kept.asker, launch->kept.ask};
    int error = tr_reply_deferred(launch->context, owed, &tr_launched_schema, &launch->answer);
    return error == TR_NOT_FOUND ? 0 : error;
}

/* A launch is refused by the first check that fails; each puts its words into the answer. */
static int carry_out(struct launch *launch, const struct tr_message *message)
{
    int error = 0;
    tr_buffer_init(&launch->labels, 0);
    tr_buffer_init(&launch->environment, 0);
    bool is_fine = check_new(launch, &error) && check_room(launch) && check_graph(launch) &&
                   check_inputs(launch) && check_fixed(launch) && merge_labels(launch, &error) &&
                   merge_run(launch, &error) && check_concurrency(launch, &error);
    if (error == 0 && is_fine) {
        launch->plan = tr_launcher_plan(plan_of(launch));
        error = begin(launch);
    }
    if (launch->graph != NULL) {
        tr_graph_registry_drop(&tr_engine_of(launch->context)->registry, launch->number);
    }
    tr_buffer_fini(&launch->labels);
    tr_buffer_fini(&launch->environment);
    if (error == 0) {
        error = tr_graph_fetch_end(launch->context, &launch->kept);
    }
    if (error == 0 && launch->waits) {
        return tr_graph_fetch(launch->context, &launch->kept, launch->request.graph);
    }
    return error != 0 ? error : answer(launch, message, is_fine && launch->answer.error == 0);
}

static int handle_launch(struct tr_context *context, struct tr_launcher_state *state,
                         const struct tr_message *message)
{
    struct launch launch = {.context = context, .state = state, .kept = tr_graph_wait_of(message)};
    int error = tr_message_read(message, launch, &launch.request);
    return error != 0 ? error : carry_out(&launch, message);
}

/* One that has waited is checked anew: its name may have been given meanwhile. */
static int handle_kept(struct tr_context *context, struct tr_launcher_state *state,
                       const struct tr_message *message)
{
    struct launch launch = {.context = context, .state = state, .has_waited = true};
    int error = tr_message_read(message, graph_wait, &launch.kept);
    if (error == 0) {
        error = tr_launch_unpack(launch.kept.body, launch.kept.version, &launch.request);
    }
    if (error == 0 && message->from.key.group != tr_self(context).key.group) {
        return tr_unexpected(context, message); /* only a child says that it has kept one */
    }
    return error != 0 ? error : carry_out(&launch, message);
}

/* ------------------------------------------------------------------- endings */

/* The name is free again; with its last execution a graph is let go of. */
static int forget(struct tr_context *context, struct tr_launcher_state *state,
                  const struct tr_execution_ended *ended, const struct known *known)
{
    struct tr_index names = names_of(state);
    struct plan_key plan = {.plan = known->plan};
    uint64_t count = 0;
    int error = tr_index_remove(context, &names, bytes_of(ended->name));
    keep_names(state, &names);
    note_ended(context, state, ended->name);
    if (error == 0 && known->plan != 0) {
        error = count_by(context, state, plan_bytes(&plan), -1, &count);
    }
    if (error == 0) {
        error = count_by(context, state, graph_key(&known->graph), -1, &count);
    }
    if (error == 0 && count == 0) {
        tr_graph_registry_release(&tr_engine_of(context)->registry, known->graph,
                                  tr_self(context).key.group);
    }
    state->live -= error == 0 ? 1 : 0;
    return error;
}

/*
 * An end counts only from the execution that has the name now: one of the same name may have begun
 * since.
 */
static int handle_ended(struct tr_context *context, struct tr_launcher_state *state,
                        const struct tr_message *message)
{
    struct tr_execution_ended ended;
    struct tr_index names = names_of(state);
    struct tr_bytes value;
    struct known known = {0};
    int error = tr_message_read(message, execution_ended, &ended);
    if (error != 0) {
        return error;
    }
    error = tr_index_find(context, &names, bytes_of(ended.name), &value);
    if (error == 0) {
        known = known_of(value);
    }
    if (error == TR_NOT_FOUND ||
        (error == 0 && !tr_key_equal(known.execution.key, message->from.key))) {
        return tr_unexpected(context, message);
    }
    return error != 0 ? error : forget(context, state, &ended, &known);
}

/* What is held of the graphs that executions run. */
struct holding {
    struct tr_context *context;
    struct tr_graph_held held;
};

/* Launch plans are counted in the same index. */
static int hold_one(void *self, struct tr_bytes key, struct tr_bytes value)
{
    struct holding *holding = self;
    struct tr_graph_registry *registry = &tr_engine_of(holding->context)->registry;
    uint64_t graph;
    (void)value;
    if (key.size != sizeof graph) {
        return 0;
    }
    memcpy(&graph, key.data, sizeof graph);
    bool is_held = tr_graph_registry_hold(registry, graph, tr_self(holding->context).key.group);
    holding->held.graphs++;
    holding->held.lacking += is_held ? 0 : 1;
    return 0;
}

static int hold_all(struct holding *holding, const struct tr_launcher_state *state)
{
    struct tr_index graphs = graphs_of(state);
    holding->held.executions = state->live;
    return tr_index_walk(holding->context, &graphs, hold_one, holding);
}

/* The index of graphs has an entry only for what is run. */
static int hold_named(struct holding *holding, const struct tr_launcher_state *state)
{
    struct tr_bytes key = graph_key(&holding->held.graph);
    int error = count_get(holding->context, state, key, &holding->held.executions);
    return error != 0 || holding->held.executions == 0
               ? error
               : hold_one(holding, key, (struct tr_bytes){0});
}

/*
 * The program holds graphs at the start of an engine, and where executions have come from another
 * host. Without executions of one the program need not keep it: the answer says how many there are.
 */
static int handle_hold(struct tr_context *context, const struct tr_launcher_state *state,
                       const struct tr_message *message)
{
    struct tr_graph_hold hold;
    struct holding holding = {.context = context};
    int error = tr_message_read(message, graph_hold, &hold);
    holding.held.graph = hold.graph;
    if (error == 0) {
        error = hold.graph == TR_GRAPH_HOLD_ALL ? hold_all(&holding, state)
                                                : hold_named(&holding, state);
    }
    return error != 0 ? error : tr_reply(context, message, &tr_graph_held_schema, &holding.held);
}

/* -------------------------------------------- what came from another store */

/*
 * The name may be known, where an execution has come back before its end was heard of, or was told
 * twice. Then the name, its count and the hold are those of before, and nothing is counted twice.
 */
static int import_execution(struct launch *launch, const struct tr_execution_imported *imported)
{
    struct tr_index names = names_of(launch->state);
    struct tr_bytes value;
    launch->number = imported->graph;
    launch->request.name = imported->name;
    launch->answer.execution = imported->execution;
    int error = tr_index_find(launch->context, &names, bytes_of(imported->name), &value);
    if (error == 0) {
        struct known known = known_of(value);
        if (!tr_key_equal(known.execution.key, imported->execution.key)) {
            (void)refuse(launch, TR_EXISTS, "an execution of this name is running");
        }
    }
    if (error != TR_NOT_FOUND) {
        return error;
    }
    error = keep_name(launch);
    if (error == 0) {
        error = count_one_more(launch);
    }
    if (error == 0) {
        hold_graph(launch);
    }
    return error;
}

/* It did not come: its name is free again, if it had it. */
static int undo_import(struct launch *launch, const struct tr_execution_imported *imported)
{
    struct tr_index names = names_of(launch->state);
    struct tr_execution_ended ended = {.name = imported->name};
    struct tr_bytes value;
    int error = tr_index_find(launch->context, &names, bytes_of(imported->name), &value);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    struct known known = known_of(value);
    return tr_key_equal(known.execution.key, imported->execution.key)
               ? forget(launch->context, launch->state, &ended, &known)
               : 0;
}

static int handle_imported(struct tr_context *context, struct tr_launcher_state *state,
                           const struct tr_message *message)
{
    struct tr_execution_imported imported;
    struct launch launch = {.context = context, .state = state};
    int error = tr_message_read(message, execution_imported, &imported);
    if (error == 0) {
        error = imported.is_undone ? undo_import(&launch, &imported)
                                   : import_execution(&launch, &imported);
    }
    if (error != 0 || message->kind != TR_KIND_ASK) {
        return error;
    }
    return tr_reply(context, message, &tr_launched_schema, &launch.answer);
}

/* --------------------------------------------------------------- forgetting */

/*
 * Whether an execution lives: one of its name may be another. The number tells them apart. 0: it
 * does not live; TR_BUSY: it does.
 */
static int check_ended(struct tr_context *context, const struct tr_launcher_state *state,
                       uint64_t execution, struct tr_text name)
{
    struct tr_index names = names_of(state);
    struct tr_bytes value;
    int error = tr_index_find(context, &names, bytes_of(name), &value);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return known_of(value).execution.key.group == execution ? TR_BUSY : 0;
}

/* The next one of the list: all of it goes, or some rows; TR_BUSY: it lives. */
static int forget_next(struct tr_context *context, struct tr_launcher_state *state,
                       struct tr_cursor *cursor, const struct tr_forget_rows *forget)
{
    uint64_t execution = tr_read_u64(cursor);
    struct tr_text name = tr_read_text(cursor);
    int error = cursor->error != 0 ? TR_MALFORMED : check_ended(context, state, execution, name);
    if (error != 0) {
        return error;
    }
    if (forget->is_part) {
        return tr_forget_rows(context, forget->rows);
    }
    forget_ended(state, name);
    return tr_history_forget(context, execution);
}

/*
 * A share of the history of executions is deleted, up to one that lives. The launcher is asked
 * because it alone knows what lives, and handles one message at a time: no execution of the name
 * can begin between the check and the deletion.
 */
static int handle_forget(struct tr_context *context, struct tr_launcher_state *state,
                         const struct tr_message *message)
{
    struct tr_forget_rows forget;
    struct tr_rows_forgotten answer = {.error = 0};
    int error = tr_message_read(message, forget_rows, &forget);
    if (error != 0) {
        return error;
    }
    struct tr_cursor cursor = tr_cursor_of(forget.executions);
    uint32_t count = tr_read_array(&cursor);
    error = cursor.error != 0 || count % 2 != 0 ? TR_MALFORMED : 0;
    while (error == 0 && answer.done < count / 2) {
        error = forget_next(context, state, &cursor, &forget);
        answer.done += error == 0 ? 1 : 0;
    }
    if (error == TR_BUSY) {
        answer.error = answer.done == 0 ? TR_BUSY : 0;
        error = 0;
    }
    return error != 0 ? error : tr_reply(context, message, &tr_rows_forgotten_schema, &answer);
}

/* ---------------------------------------------------------------- archiving */

/* What clients see of an execution beside what it is: only lists ask for it. */
static int handle_archive(struct tr_context *context, const struct tr_message *message)
{
    struct tr_archive_execution archive;
    struct tr_execution_archived answer = {.error = 0};
    int error = tr_message_read(message, archive_execution, &archive);
    if (error != 0) {
        return error;
    }
    struct tr_execution_archive row = {.execution = archive.execution,
                                       .is_archived = archive.is_archived,
                                       .changed_ms = archive.changed_ms};
    error = tr_record(context, &tr_execution_archive_schema, &row);
    return error != 0 ? error : tr_reply(context, message, &tr_execution_archived_schema, &answer);
}

static int launcher_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    if (tr_message_is(message, &tr_launch_schema)) {
        return handle_launch(context, state, message);
    }
    if (tr_message_is(message, &tr_graph_wait_schema)) {
        return handle_kept(context, state, message);
    }
    if (tr_message_is(message, &tr_execution_ended_schema)) {
        return handle_ended(context, state, message);
    }
    if (tr_message_is(message, &tr_graph_hold_schema)) {
        return handle_hold(context, state, message);
    }
    if (tr_message_is(message, &tr_execution_imported_schema)) {
        return handle_imported(context, state, message);
    }
    if (tr_message_is(message, &tr_forget_rows_schema)) {
        return handle_forget(context, state, message);
    }
    if (tr_message_is(message, &tr_archive_execution_schema)) {
        return handle_archive(context, message);
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour tr_launcher_behaviour = {
    .name = "launcher",
    .id = 100,
    .state = &tr_launcher_state_schema,
    .handle = launcher_handle,
};
