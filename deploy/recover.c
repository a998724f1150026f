/*
 * `troupe recover` and `troupe rerun`: a new execution that keeps what succeeded in an earlier one.
 *
 * Both read what there is to know before anything begins: the earlier execution, its definition or
 * another one, its inputs and those given now. From that comes the plan (recovery_plan.h), and what
 * it means is said; then they begin and follow as `run` does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/limits.h"
#include "actors/value.h"
#include "deploy/begin.h"
#include "deploy/browse.h"
#include "deploy/commands.h"
#include "deploy/engine_options.h"
#include "deploy/graphs.h"
#include "deploy/inputs.h"
#include "deploy/offload.h"
#include "deploy/problems.h"
#include "deploy/recovery_plan.h"
#include "deploy/recovery_same.h"
#include "deploy/route.h"
#include "deploy/values.h"
#include "runtime/memory.h"

/* What is said of nodes that run again, unless -v asks for all. */
#define CAUSES_SHOWN_MAX 8
#define PATHS_SHOWN_MAX 5

/* One call of a command. */
struct recover {
    const struct tr_invocation *invocation;
    bool is_rerun;
    struct tr_browse browse;
    struct tr_found found;
    struct tr_arena arena;
    struct tr_graph *before; /* that ran */
    uint32_t workflow_before;
    struct tr_prepared prepared;
    bool owns_before; /* it is not the prepared graph */
    struct tr_buffer inputs_before;
    struct tri_vector targets; /* struct tr_recovery_target */
    struct tr_recovery_made made;
    struct tr_text uri;
};

static enum tr_exit_status mistake(const struct recover *recover, const char *words)
{
    return tr_command_mistake(recover->invocation->command, "%s", words);
}

static enum tr_exit_status failed(const struct recover *recover, int error)
{
    return tr_command_failed(recover->invocation->command, "%s", tr_error_text(error));
}

static struct tr_text name_of(const struct recover *recover)
{
    return recover->found.execution.row.name;
}

/* --------------------------------------------------------------- the earlier execution */

/* Whether it is one that can be taken up. */
static enum tr_exit_status check_phase(const struct recover *recover)
{
    uint8_t phase = recover->found.execution.row.phase;
    struct tr_text name = name_of(recover);
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
        return tr_command_mistake(recover->invocation->command,
                                  "%.*s has not ended (%s); wait for it (`troupe watch %.*s`), go "
                                  "on with it (`troupe resume %.*s`), or end it (`troupe abort "
                                  "%.*s`)",
                                  TRI_SHOWN(name), tr_execution_phase_word(phase), TRI_SHOWN(name),
                                  TRI_SHOWN(name), TRI_SHOWN(name));
    }
    if (!recover->is_rerun && phase == TR_EXECUTION_SUCCEEDED) {
        return tr_command_mistake(recover->invocation->command,
                                  "%.*s succeeded, so that there is nothing to recover; `troupe "
                                  "rerun %.*s --from NODE` runs parts of it again",
                                  TRI_SHOWN(name), TRI_SHOWN(name));
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status find_earlier(struct recover *recover)
{
    const char *word = recover->invocation->arguments.words[0];
    enum tr_exit_status status = tr_browse_find(&recover->browse, word, &recover->found);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (recover->found.target.path.size > 0) {
        return mistake(recover, recover->is_rerun
                                    ? "name the execution alone, and the node with --from NODE"
                                    : "name the execution alone: all that failed in it runs again");
    }
    return check_phase(recover);
}

static enum tr_exit_status read_before(struct recover *recover)
{
    const struct tr_execution *row = &recover->found.execution.row;
    int error = tr_graphs_get(recover->browse.place.folder, row->graph, &recover->before);
    if (error != 0) {
        return tr_command_failed(recover->invocation->command,
                                 "the definition that %.*s ran cannot be read from %.200s/graphs: "
                                 "%s",
                                 TRI_SHOWN(row->name), recover->browse.place.folder,
                                 tr_error_text(error));
    }
    recover->owns_before = true;
    recover->workflow_before = tr_graph_find_workflow(recover->before, row->workflow);
    return recover->workflow_before != TR_GRAPH_NONE ? TR_EXIT_DONE
                                                     : failed(recover, TR_STORE_DAMAGED);
}

/* -------------------------------------------------------------------- the definition */

/* The definition to be run: that of a file, or the one that ran. */
static enum tr_exit_status choose_graph(struct recover *recover)
{
    const struct tr_execution *row = &recover->found.execution.row;
    const char *file = tr_arguments_value(&recover->invocation->arguments, "file");
    struct tr_prepared *prepared = &recover->prepared;
    if (file == NULL) {
        prepared->graph = recover->before;
        recover->owns_before = false;
    } else {
        enum tr_exit_status status = tr_prepare_file(prepared, file);
        if (status != TR_EXIT_DONE) {
            return status;
        }
    }
    prepared->workflow = tr_graph_find_workflow(prepared->graph, row->workflow);
    prepared->plan =
        row->plan.size > 0 ? tr_graph_find_plan(prepared->graph, row->plan) : TR_GRAPH_NONE;
    if (prepared->workflow == TR_GRAPH_NONE) {
        return tr_command_mistake(recover->invocation->command,
                                  "%s has no workflow '%.*s', which is what %.*s ran", file,
                                  TRI_SHOWN(row->workflow), TRI_SHOWN(row->name));
    }
    return tr_prepare_runnable(prepared, file != NULL ? file : "the recorded definition");
}

/* Large literals go to the blobs first, where those of the recorded graph are: names compare. */
static enum tr_exit_status offload(struct recover *recover)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES];
    int error = tr_offload(recover->browse.place.folder, recover->prepared.graph,
                           &recover->prepared.inputs, explain);
    if (error == 0) {
        return TR_EXIT_DONE;
    }
    return error == TR_LIMIT ? mistake(recover, explain)
                             : tr_command_failed(recover->invocation->command, "%s", explain);
}

/* ------------------------------------------------------------------------- its inputs */

static int take_inputs(void *self, const void *row)
{
    struct tr_buffer *slots = self;
    struct tr_bytes value = ((const struct tr_node_value *)row)->slots;
    tr_buffer_cut(slots, 0);
    tr_buffer_add(slots, value.data, value.size);
    return slots->error;
}

/* The inputs that the earlier execution got, in the order of its workflow. */
static int read_inputs_before(struct recover *recover)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, recover->found.execution.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, tr_text_of("")),
        tr_filter_number("side", TR_FILTER_EQUAL, TR_VALUE_INPUTS),
    };
    struct tr_reader_query query = {
        .record = &tr_node_value_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(recover->browse.reader, &query, take_inputs, &recover->inputs_before);
}

/* The slot of an input in the earlier execution; empty where it had none of that name and type. */
static struct tr_bytes input_before(const struct recover *recover, const struct tr_variable *input)
{
    const struct tr_variables *inputs =
        &recover->before->workflows[recover->workflow_before].interface.inputs;
    uint32_t at = tr_variables_find(inputs, input->name);
    struct tr_bytes slot = {.size = 0};
    if (at != TR_GRAPH_NONE && tr_recovery_type_is_same(inputs->items[at].type, input->type) &&
        tr_slots_get(tr_buffer_bytes(&recover->inputs_before), at, &slot) != 0) {
        slot.size = 0;
    }
    return slot;
}

static const struct tr_variables *inputs_of(const struct recover *recover)
{
    const struct tr_prepared *prepared = &recover->prepared;
    return &prepared->graph->workflows[prepared->workflow].interface.inputs;
}

static enum tr_exit_status read_inputs(struct recover *recover)
{
    const struct tr_variables *inputs = inputs_of(recover);
    int error = read_inputs_before(recover);
    if (error != 0) {
        return tr_browse_failed(&recover->browse, error);
    }
    struct tr_bytes *earlier = tr_arena_array(&recover->arena, inputs->count, sizeof *earlier);
    for (uint32_t i = 0; earlier != NULL && i < inputs->count; i++) {
        earlier[i] = input_before(recover, &inputs->items[i]);
    }
    return earlier == NULL ? failed(recover, TR_MEMORY)
                           : tr_prepare_inputs(&recover->prepared, earlier);
}

/* For each input whether it is another one than before. */
static const bool *find_changed(struct recover *recover)
{
    const struct tr_variables *inputs = inputs_of(recover);
    bool *changed = tr_arena_array(&recover->arena, inputs->count, sizeof *changed);
    for (uint32_t i = 0; changed != NULL && i < inputs->count; i++) {
        struct tr_bytes before = input_before(recover, &inputs->items[i]);
        struct tr_bytes now = {.size = 0};
        bool is_there = tr_slots_get(tr_buffer_bytes(&recover->prepared.inputs), i, &now) == 0;
        changed[i] =
            !is_there || now.size != before.size || memcmp(now.data, before.data, now.size) != 0;
    }
    return changed;
}

/* ------------------------------------------------------------------- what is named */

/* Finds a node that a word names; a word for an element has to name one of a map. */
static enum tr_exit_status find_node(const struct recover *recover, const char *option,
                                     struct tr_text path, struct tr_stop *stop)
{
    struct tr_route route;
    int error =
        tr_route_init(&route, recover->prepared.graph, recover->found.execution.row.workflow);
    if (error != 0) {
        return failed(recover, error);
    }
    struct tr_text front = path;
    error = tr_route_find(&route, path, stop);
    while (error == 0 && front.size > 0) {
        bool is_element = front.data[front.size - 1] == ']';
        struct tr_stop found;
        error = is_element ? tr_route_find(&route, front, &found) : 0;
        if (error == 0 && is_element && found.workflow->nodes[found.node].kind != TR_NODE_MAP) {
            error = TR_INVALID;
        }
        do {
            front.size--;
        } while (front.size > 0 && front.data[front.size - 1] != ']');
    }
    tr_route_fini(&route);
    if (error == TR_NOT_FOUND) {
        return tr_command_mistake(recover->invocation->command,
                                  "%s: there is no node '%.*s'; `troupe get %.*s` shows them",
                                  option, TRI_SHOWN(path), TRI_SHOWN(name_of(recover)));
    }
    if (error == TR_INVALID) {
        return tr_command_mistake(recover->invocation->command,
                                  "%s: '%.*s' names an element of a node that is no map", option,
                                  TRI_SHOWN(path));
    }
    return error != 0 ? failed(recover, error) : TR_EXIT_DONE;
}

static enum tr_exit_status check_role(const struct recover *recover, const char *option,
                                      const struct tr_stop *stop)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    if (node->role != TR_ROLE_GRAPH) {
        return tr_command_mistake(recover->invocation->command,
                                  "%s: '%.*s' is none of the graph's nodes: on_failure and finally "
                                  "belong to each execution anew",
                                  option, TRI_SHOWN(node->id));
    }
    if (node->kind == TR_NODE_START || node->kind == TR_NODE_END) {
        return tr_command_mistake(recover->invocation->command, "%s: '%.*s' runs nothing", option,
                                  TRI_SHOWN(node->id));
    }
    return TR_EXIT_DONE;
}

static int take_progress(void *self, const void *row)
{
    *(uint64_t *)self = ((const struct tr_progress *)row)->failed;
    return 0;
}

/* --failed is for a map some of whose elements failed. */
static enum tr_exit_status check_failed(const struct recover *recover, struct tr_text path,
                                        const struct tr_stop *stop)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, recover->found.execution.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_progress_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    uint64_t count = 0;
    bool is_map =
        stop->workflow->nodes[stop->node].kind == TR_NODE_MAP && path.data[path.size - 1] != ']';
    if (!is_map) {
        return tr_command_mistake(recover->invocation->command,
                                  "--failed is for maps, and '%.*s' is none; leave it out",
                                  TRI_SHOWN(path));
    }
    int error = tr_reader_rows(recover->browse.reader, &query, take_progress, &count);
    if (error != 0) {
        return tr_browse_failed(&recover->browse, error);
    }
    return count > 0 ? TR_EXIT_DONE
                     : tr_command_mistake(recover->invocation->command,
                                          "no element of '%.*s' failed; leave --failed out to run "
                                          "all of them again",
                                          TRI_SHOWN(path));
}

static struct tr_recovery_target *add_target(struct recover *recover)
{
    return tri_vector_add(&recover->arena, &recover->targets, sizeof(struct tr_recovery_target));
}

static enum tr_exit_status take_from(struct recover *recover, const char *word)
{
    struct tr_stop stop;
    struct tr_text path = tr_text_of(word);
    bool is_failed_only = tr_arguments_has(&recover->invocation->arguments, "failed");
    enum tr_exit_status status = find_node(recover, "--from", path, &stop);
    if (status == TR_EXIT_DONE) {
        status = check_role(recover, "--from", &stop);
    }
    if (status == TR_EXIT_DONE && is_failed_only) {
        status = check_failed(recover, path, &stop);
    }
    if (status == TR_EXIT_DONE) {
        struct tr_recovery_target *target = add_target(recover);
        if (target == NULL) {
            return failed(recover, TR_MEMORY);
        }
        *target = (struct tr_recovery_target){.path = path, .is_failed_only = is_failed_only};
    }
    return status;
}

/* Reads the value of an edited input into a slot, large ones into the blobs. */
static enum tr_exit_status read_value(struct recover *recover, const struct tr_variable *input,
                                      const char *option, const char *value, struct tr_bytes *out)
{
    struct tr_report report;
    struct tr_buffer slots;
    char explain[TR_OFFLOAD_EXPLAIN_BYTES] = "";
    enum tr_exit_status status = TR_EXIT_DONE;
    struct tr_bytes slot;
    tr_report_init(&report);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 1);
    int error = tr_input_read(input, option, value, &report, &slots);
    if (tr_report_total(&report) > 0) {
        error = tr_problems_print(&report, stderr);
        status = error == 0 || error == TR_INVALID ? TR_EXIT_USAGE : failed(recover, error);
    } else {
        error =
            error != 0 ? error : tr_offload_slots(recover->browse.place.folder, &slots, explain);
        error = error != 0 ? error : tr_slots_get(tr_buffer_bytes(&slots), 0, &slot);
        if (error == 0) {
            *out = tr_arena_bytes(&recover->arena, slot);
            error = recover->arena.error;
        }
        status = error != 0 ? failed(recover, error) : TR_EXIT_DONE;
    }
    tr_buffer_fini(&slots);
    tr_report_fini(&report);
    return status;
}

/* NODE.INPUT=VALUE, taken apart. */
static enum tr_exit_status take_set(struct recover *recover, const char *word)
{
    const char *dot = strchr(word, '.');
    const char *equals = dot == NULL ? NULL : strchr(dot, '=');
    struct tr_stop stop;
    if (equals == NULL || dot == word || equals == dot + 1) {
        return tr_command_mistake(recover->invocation->command,
                                  "--set: '%.100s' is no edit; write --set NODE.INPUT=VALUE", word);
    }
    struct tr_text path = {.data = word, .size = (size_t)(dot - word)};
    struct tr_text name = {.data = dot + 1, .size = (size_t)(equals - dot - 1)};
    enum tr_exit_status status = find_node(recover, "--set", path, &stop);
    if (status == TR_EXIT_DONE) {
        status = check_role(recover, "--set", &stop);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    const struct tr_node *node = &stop.workflow->nodes[stop.node];
    if (node->kind == TR_NODE_BRANCH || path.data[path.size - 1] == ']') {
        return tr_command_mistake(recover->invocation->command,
                                  "--set: '%.*s' has no inputs of its own; edit those of %s",
                                  TRI_SHOWN(path),
                                  node->kind == TR_NODE_BRANCH ? "its arms" : "its map");
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tr_binding *binding = &stop.workflow->bindings[node->input_first + i];
        if (!tr_text_equal(binding->key, name)) {
            continue;
        }
        struct tr_variable input = {.name = name, .type = binding->type};
        struct tr_text option =
            tr_arena_print(&recover->arena, "--set %.*s.%.*s", TRI_SHOWN(path), TRI_SHOWN(name));
        struct tr_recovery_target target = {.path = path, .input = name};
        status = read_value(recover, &input, option.data, equals + 1, &target.slot);
        struct tr_recovery_target *place = status == TR_EXIT_DONE ? add_target(recover) : NULL;
        if (place != NULL) {
            *place = target;
        }
        return status;
    }
    return tr_command_mistake(recover->invocation->command,
                              "--set: the node '%.*s' has no input '%.*s'; `troupe get %.*s/%.*s` "
                              "shows what it has",
                              TRI_SHOWN(path), TRI_SHOWN(name), TRI_SHOWN(name_of(recover)),
                              TRI_SHOWN(path));
}

/* What the options name; something has to be. */
static enum tr_exit_status read_targets(struct recover *recover)
{
    const struct tr_arguments *arguments = &recover->invocation->arguments;
    enum tr_exit_status status = TR_EXIT_DONE;
    for (size_t i = 0; status == TR_EXIT_DONE && i < arguments->given_count; i++) {
        const struct tr_given *given = &arguments->given[i];
        if (strcmp(given->option->name, "from") == 0) {
            status = take_from(recover, given->value);
        } else if (strcmp(given->option->name, "set") == 0) {
            status = take_set(recover, given->value);
        }
    }
    bool has_edits = tr_arguments_has(arguments, "input") ||
                     tr_arguments_has(arguments, "inputs") || tr_arguments_has(arguments, "file");
    if (status == TR_EXIT_DONE && recover->is_rerun && recover->targets.count == 0 && !has_edits) {
        return mistake(recover,
                       "say what is to run again: --from NODE, or what is to be different: "
                       "-i, --inputs, --set, --file");
    }
    if (status == TR_EXIT_DONE && tr_arguments_has(arguments, "failed") &&
        !tr_arguments_has(arguments, "from")) {
        return mistake(recover, "--failed says which elements of a map; name it with --from NODE");
    }
    return status;
}

/* --------------------------------------------------------------------------- the plan */

/* Where the results come from: the earlier execution, and those it had some from itself. */
static enum tr_exit_status find_sources(struct recover *recover)
{
    const struct tr_execution *row = &recover->found.execution.row;
    struct tr_recovery *recovery = &recover->made.recovery;
    struct tr_recovery before = {.from_count = 0};
    char explain[TR_RECOVERY_EXPLAIN_BYTES];
    if (row->recovery.size > 0 &&
        tr_recovery_read(row->recovery, &recover->arena, &before, explain) != 0) {
        tr_command_note(recover->invocation, "%s; what %.*s kept itself is kept as a whole",
                        explain, TRI_SHOWN(row->name));
    }
    recovery->from[recovery->from_count++] = row->execution;
    for (uint32_t i = 0; i < before.from_count && recovery->from_count < TR_RECOVERY_DEPTH_MAX;
         i++) {
        recovery->from[recovery->from_count++] = before.from[i];
    }
    return TR_EXIT_DONE;
}

/* One line for each cause, with the first of the nodes that run again for it. */
static void tell(const struct recover *recover)
{
    const struct tr_recovery_made *made = &recover->made;
    bool tells_all = recover->invocation->is_verbose;
    uint32_t causes = 0;
    for (uint32_t i = 0; i < made->note_count;) {
        struct tr_buffer line;
        uint32_t count = 0;
        struct tr_text reason = made->notes[i].reason;
        if (causes++ == CAUSES_SHOWN_MAX && !tells_all) {
            tr_command_note(recover->invocation, "again: %u more; -v names them",
                            made->note_count - i);
            return;
        }
        tr_buffer_init(&line, 0);
        for (; i < made->note_count && tr_text_equal(made->notes[i].reason, reason); i++, count++) {
            if (tells_all || count < PATHS_SHOWN_MAX) {
                tr_buffer_print(&line, "%s%.*s", count > 0 ? ", " : "",
                                TRI_SHOWN(made->notes[i].path));
            }
        }
        if (!tells_all && count > PATHS_SHOWN_MAX) {
            tr_buffer_print(&line, " and %u more", count - PATHS_SHOWN_MAX);
        }
        tr_command_note(recover->invocation, "again: %.*s (%.*s)", (int)line.size,
                        (const char *)line.data, TRI_SHOWN(reason));
        tr_buffer_fini(&line);
    }
}

static enum tr_exit_status make_plan(struct recover *recover)
{
    struct tr_recovery_past past = {.count = 0};
    char explain[TR_RECOVERY_EXPLAIN_BYTES] = "";
    int error = tr_recovery_past_read(
        recover->browse.reader, recover->found.execution.row.execution, &recover->arena, &past);
    if (error != 0) {
        return tr_browse_failed(&recover->browse, error);
    }
    struct tr_recovery_request request = {
        .graph = recover->prepared.graph,
        .workflow = recover->prepared.workflow,
        .before = recover->before,
        .workflow_before = recover->workflow_before,
        .past = &past,
        .targets = recover->targets.items,
        .target_count = recover->targets.count,
        .changed = find_changed(recover),
    };
    error = tr_recovery_make(&request, &recover->arena, &recover->made);
    enum tr_exit_status status = error != 0 ? failed(recover, error) : find_sources(recover);
    if (status == TR_EXIT_DONE) {
        error = tr_recovery_write(&recover->made.recovery, recover->browse.place.folder,
                                  &recover->arena, &recover->uri, explain);
        status = error == 0 ? TR_EXIT_DONE
                            : tr_command_failed(recover->invocation->command, "%s", explain);
    }
    return status;
}

/* ------------------------------------------------------------------------ the command */

/* Everything that can be wrong before anything has begun. */
static enum tr_exit_status prepare(struct recover *recover)
{
    static enum tr_exit_status (*const steps[])(struct recover * recover) = {
        find_earlier, read_before, choose_graph, read_inputs, offload, read_targets, make_plan,
    };
    enum tr_exit_status status = tr_prepare_name(&recover->prepared);
    for (size_t i = 0; status == TR_EXIT_DONE && i < TR_COUNT_OF(steps); i++) {
        status = steps[i](recover);
    }
    return status;
}

static enum tr_exit_status begin(struct recover *recover)
{
    const char *from = tr_arguments_value(&recover->invocation->arguments, "from");
    struct tr_text name = name_of(recover);
    struct tr_text cause =
        !recover->is_rerun ? tr_arena_print(&recover->arena, "recovers %.*s", TRI_SHOWN(name))
        : from == NULL
            ? tr_arena_print(&recover->arena, "reruns %.*s", TRI_SHOWN(name))
            : tr_arena_print(&recover->arena, "reruns %.*s from %s", TRI_SHOWN(name), from);
    if (recover->arena.error != 0) {
        return failed(recover, recover->arena.error);
    }
    tell(recover);
    /* A reader keeps hold of its moment, which costs an engine. */
    tr_reader_let_go(recover->browse.reader);
    struct tr_beginning beginning = {
        .prepared = &recover->prepared,
        .folder = recover->browse.place.folder,
        .cause = cause.data,
        .recovery = recover->uri,
        .is_detached = tr_arguments_has(&recover->invocation->arguments, "detach"),
    };
    return tr_begin_and_follow(&beginning);
}

static enum tr_exit_status run(const struct tr_invocation *invocation, bool is_rerun)
{
    struct recover recover = {.invocation = invocation, .is_rerun = is_rerun};
    enum tr_exit_status status = tr_browse_open(invocation, &recover.browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    tr_arena_init(&recover.arena);
    tr_buffer_init(&recover.inputs_before, 0);
    tr_prepared_init(&recover.prepared, invocation);
    status = prepare(&recover);
    if (status == TR_EXIT_DONE) {
        status = begin(&recover);
    }
    tr_prepared_fini(&recover.prepared);
    if (recover.owns_before) {
        tr_graph_free(recover.before);
    }
    tr_buffer_fini(&recover.inputs_before);
    tr_found_fini(&recover.found);
    tr_arena_fini(&recover.arena);
    tr_browse_close(&recover.browse);
    return status;
}

static enum tr_exit_status run_recover(const struct tr_invocation *invocation)
{
    return run(invocation, false);
}

static enum tr_exit_status run_rerun(const struct tr_invocation *invocation)
{
    return run(invocation, true);
}

#define SHARED_OPTIONS                                                                             \
    {                                                                                              \
        0,    "file", "FILE", "the definition, if not the recorded one", NULL, TR_COMPLETES_FILES, \
        false},                                                                                    \
        {0, "name", "NAME", "of the new execution (else WORKFLOW-xxxxx)", NULL, 0, false},         \
        {0, "cache", "HOW", "what becomes of results", "use|refresh|off", 0, false},               \
    {                                                                                              \
        'd', "detach", NULL, "print its name and leave it to run", NULL, 0, false                  \
    }

static const struct tr_option recover_options[] = {
    SHARED_OPTIONS,
    TR_ENGINE_OPTIONS,
    {0},
};

static const struct tr_option rerun_options[] = {
    {0, "from", "NODE", "it and all behind it runs again", NULL, 0, true},
    {0, "failed", NULL, "of a map, its failed elements alone", NULL, 0, false},
    {'i', "input", "NAME=VALUE", "another input; @FILE reads a file", NULL, TR_COMPLETES_FILES,
     true},
    {0, "inputs", "FILE", "other inputs as YAML or JSON", NULL, TR_COMPLETES_FILES, false},
    {0, "set", "NODE.INPUT=VALUE", "another value for one node", NULL, TR_COMPLETES_FILES, true},
    SHARED_OPTIONS,
    TR_ENGINE_OPTIONS,
    {0},
};

const struct tr_command tr_command_recover = {
    .name = "recover",
    .summary = "run what failed again, and keep the rest",
    .words = "EXEC",
    .text = "Begins a new execution with the definition and the inputs of one that failed, timed\n"
            "out or was aborted. Nodes, elements of maps and inner workflows that succeeded are\n"
            "kept with what they gave. With --file, what is not as it was runs again, too.",
    .examples = "  troupe recover @last\n"
                "  troupe recover nightly-20260820 --file nightly.yaml",
    .options = recover_options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run_recover,
};

const struct tr_command tr_command_rerun = {
    .name = "rerun",
    .summary = "run a part again, and keep the rest",
    .words = "EXEC",
    .text = "Begins a new execution in which NODE, all behind it, and what did not succeed runs\n"
            "again; the rest is kept. NODE is a path: sum, w/inner, 'sq[3]', 'sq[3]/inner'. What\n"
            "uses an input that is given anew runs again, with all behind it, and is named.",
    .examples = "  troupe rerun @last --from sum\n"
                "  troupe rerun @last --from squares --failed\n"
                "  troupe rerun @last -i size=20\n"
                "  troupe rerun @last --set 'sum.b=[1, 2, 3]'",
    .options = rerun_options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run_rerun,
};
