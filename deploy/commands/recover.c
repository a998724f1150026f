/*
 * `troupe recover` and `troupe rerun`: a new execution that keeps what succeeded in an earlier one.
 *
 * Both read what there is to know before anything begins: the earlier execution, its definition or
 * another one, its inputs and those given now. From that comes the plan (recovery_plan.h), and what
 * it means is said; then they begin and follow as `run` does.
 */
#include "deploy/commands/recover.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/slot.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/engine_options.h"
#include "deploy/graphs/graphs.h"
#include "deploy/graphs/route.h"
#include "deploy/inputs/offload.h"
#include "deploy/recovery/recovery_same.h"
#include "deploy/recovery/reuse.h"

/* What is said of nodes that run again, unless -v asks for all. */
#define CAUSES_SHOWN_MAX 8
#define PATHS_SHOWN_MAX 5

/* --------------------------------------------------------------- the earlier execution */

/* Whether it is one that can be taken up. */
static enum tr_exit_status check_phase(const struct tri_recover *recover)
{
    uint8_t phase = recover->found.execution.row.phase;
    struct tr_text name = tri_recover_name_of(recover);
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
        return tr_command_refused(recover->invocation->command,
                                  "%.*s has not ended (%s); wait for it (`troupe watch %.*s`), go "
                                  "on with it (`troupe resume %.*s`), or end it (`troupe abort "
                                  "%.*s`)",
                                  TRI_SHOWN(name), tr_execution_phase_word(phase), TRI_SHOWN(name),
                                  TRI_SHOWN(name), TRI_SHOWN(name));
    }
    if (!recover->is_rerun && phase == TR_EXECUTION_SUCCEEDED) {
        return tr_command_refused(recover->invocation->command,
                                  "%.*s succeeded, so that there is nothing to recover; `troupe "
                                  "rerun %.*s --from NODE` runs parts of it again",
                                  TRI_SHOWN(name), TRI_SHOWN(name));
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status find_earlier(struct tri_recover *recover)
{
    const char *word = recover->invocation->arguments.words[0];
    enum tr_exit_status status = tr_browse_find(&recover->browse, word, &recover->found);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (recover->found.target.path.size > 0) {
        return tri_recover_mistake(
            recover, recover->is_rerun
                         ? "name the execution alone, and the node with --from NODE"
                         : "name the execution alone: all that failed in it runs again");
    }
    return check_phase(recover);
}

static enum tr_exit_status read_settings(struct tri_recover *recover)
{
    return tr_prepare_settings(&recover->prepared);
}

/* Its labels are those of the earlier one, but for those that are given anew. */
static enum tr_exit_status read_labels(struct tri_recover *recover)
{
    return tr_prepare_labels(recover->invocation, recover->found.execution.row.labels,
                             &recover->prepared.labels);
}

static enum tr_exit_status read_before(struct tri_recover *recover)
{
    const struct tr_execution *row = &recover->found.execution.row;
    int error = tr_graphs_read(recover->browse.reader, row->graph, &recover->before);
    if (error != 0) {
        char whose[TR_EXECUTION_NAME_BYTES + 8];
        char words[TRI_STORE_EXPLAIN_BYTES];
        (void)snprintf(whose, sizeof whose, "%.*s", TRI_SHOWN(row->name));
        tr_graphs_explain(words, whose, row->graph, error);
        return tr_command_failed(recover->invocation->command, "%s", words);
    }
    recover->owns_before = true;
    recover->workflow_before = tr_graph_find_workflow(recover->before, row->workflow);
    return recover->workflow_before != TR_GRAPH_NONE
               ? TR_EXIT_DONE
               : tri_recover_failed(recover, TR_STORE_DAMAGED);
}

/* -------------------------------------------------------------------- the definition */

/* The definition to be run: that of a file, or the one that ran. */
static enum tr_exit_status choose_graph(struct tri_recover *recover)
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
    prepared->plan =
        row->plan.size > 0 ? tr_graph_find_plan(prepared->graph, row->plan) : TR_GRAPH_NONE;
    int error = tr_prepare_workflow(prepared, row->workflow);
    if (error == TR_NOT_FOUND) {
        return tr_command_refused(recover->invocation->command,
                                  "%s has no workflow '%.*s', which is what %.*s ran", file,
                                  TRI_SHOWN(row->workflow), TRI_SHOWN(row->name));
    }
    if (error != 0) {
        return tri_recover_failed(recover, error);
    }
    return tr_prepare_runnable(prepared, file != NULL ? file : "the recorded definition");
}

/* Large literals go to the blobs first, where those of the recorded graph are: names compare. */
static enum tr_exit_status offload(struct tri_recover *recover)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES];
    int error = tr_offload(recover->browse.place.folder, recover->prepared.graph,
                           &recover->prepared.inputs, explain);
    if (error == 0) {
        return TR_EXIT_DONE;
    }
    return error == TR_LIMIT ? tri_recover_mistake(recover, explain)
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
static int read_inputs_before(struct tri_recover *recover)
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
static struct tr_bytes input_before(const struct tri_recover *recover,
                                    const struct tr_variable *input)
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

static const struct tr_variables *inputs_of(const struct tri_recover *recover)
{
    const struct tr_prepared *prepared = &recover->prepared;
    return &prepared->graph->workflows[prepared->workflow].interface.inputs;
}

static enum tr_exit_status read_inputs(struct tri_recover *recover)
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
    return earlier == NULL ? tri_recover_failed(recover, TR_MEMORY)
                           : tr_prepare_inputs(&recover->prepared, earlier);
}

/* For each input whether it is another one than before. */
static const bool *find_changed(struct tri_recover *recover)
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

/* --------------------------------------------------------------------------- the plan */

/* The plan of the earlier execution, if it took over another one itself. */
static void read_earlier(struct tri_recover *recover, struct tr_recovery *earlier)
{
    const struct tr_execution *row = &recover->found.execution.row;
    char explain[TR_RECOVERY_EXPLAIN_BYTES];
    *earlier = (struct tr_recovery){.from_count = 0};
    if (row->recovery.size > 0 && tr_reuse_plan(recover->browse.reader, row->recovery,
                                                &recover->arena, earlier, explain) != 0) {
        tr_command_note(recover->invocation, "%s; what %.*s kept itself is kept as a whole",
                        explain, TRI_SHOWN(row->name));
    }
}

/* Where the results come from: the earlier execution, and those it had some from itself. */
static void add_sources(struct tri_recover *recover, const struct tr_recovery *earlier)
{
    struct tr_recovery *recovery = &recover->made.recovery;
    recovery->from[recovery->from_count++] = recover->found.execution.row.execution;
    for (uint32_t i = 0; i < earlier->from_count && recovery->from_count < TR_RECOVERY_DEPTH_MAX;
         i++) {
        recovery->from[recovery->from_count++] = earlier->from[i];
    }
}

/* Whether the node of a path does the same in the definition that is to be run. */
static bool is_same(struct tr_route *now, struct tr_route *then, struct tr_text path)
{
    struct tr_stop a;
    struct tr_stop b;
    if (tr_route_find(now, path, &a) != 0 || tr_route_find(then, path, &b) != 0) {
        return false;
    }
    struct tr_recovery_node node = {a.graph, a.workflow, &a.workflow->nodes[a.node]};
    struct tr_recovery_node before = {b.graph, b.workflow, &b.workflow->nodes[b.node]};
    return tr_recovery_node_is_same(&node, &before);
}

/* Edits hold on, but not of a node that is defined otherwise now. */
static int keep_edits(struct tri_recover *recover, struct tr_recovery *earlier)
{
    struct tr_text workflow = recover->found.execution.row.workflow;
    struct tr_route now;
    struct tr_route then;
    uint32_t kept = 0;
    if (recover->prepared.graph == recover->before || earlier->edit_count == 0) {
        return 0;
    }
    struct tr_recovery_edit *edits =
        tr_arena_array(&recover->arena, earlier->edit_count, sizeof *edits);
    int error = edits == NULL ? TR_MEMORY : tr_route_init(&now, recover->prepared.graph, workflow);
    if (error != 0) {
        return error;
    }
    error = tr_route_init(&then, recover->before, workflow);
    for (uint32_t i = 0; error == 0 && i < earlier->edit_count; i++) {
        if (is_same(&now, &then, earlier->edits[i].path)) {
            edits[kept++] = earlier->edits[i];
        }
    }
    if (error == 0) {
        tr_route_fini(&then);
        earlier->edits = edits;
        earlier->edit_count = kept;
    }
    tr_route_fini(&now);
    return error;
}

/* One line for each cause, with the first of the nodes that run again for it. */
static void tell(const struct tri_recover *recover)
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

static enum tr_exit_status make_plan(struct tri_recover *recover)
{
    struct tr_recovery_past past = {.count = 0};
    char explain[TR_RECOVERY_EXPLAIN_BYTES] = "";
    int error = tr_recovery_past_read(
        recover->browse.reader, recover->found.execution.row.execution, &recover->arena, &past);
    if (error != 0) {
        return tr_browse_failed(&recover->browse, error);
    }
    struct tr_recovery earlier;
    read_earlier(recover, &earlier);
    error = keep_edits(recover, &earlier);
    if (error != 0) {
        return tri_recover_failed(recover, error);
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
        .earlier = earlier.edits,
        .earlier_count = earlier.edit_count,
    };
    error = tr_recovery_make(&request, &recover->arena, &recover->made);
    if (error != 0) {
        return tri_recover_failed(recover, error);
    }
    add_sources(recover, &earlier);
    error = tr_recovery_write(&recover->made.recovery, recover->browse.place.folder,
                              &recover->arena, &recover->uri, explain);
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(recover->invocation->command, "%s", explain);
}

/* ------------------------------------------------------------------------ the command */

/* Everything that can be wrong before anything has begun. */
static enum tr_exit_status prepare(struct tri_recover *recover)
{
    static enum tr_exit_status (*const steps[])(struct tri_recover * recover) = {
        find_earlier, read_labels, read_settings,       read_before, choose_graph,
        read_inputs,  offload,     tri_recover_targets, make_plan,
    };
    enum tr_exit_status status = tr_prepare_name(&recover->prepared);
    for (size_t i = 0; status == TR_EXIT_DONE && i < TR_COUNT_OF(steps); i++) {
        status = steps[i](recover);
    }
    return status;
}

static enum tr_exit_status begin(struct tri_recover *recover)
{
    const char *from = tr_arguments_value(&recover->invocation->arguments, "from");
    struct tr_text name = tri_recover_name_of(recover);
    struct tr_text cause =
        !recover->is_rerun ? tr_arena_print(&recover->arena, "recovers %.*s", TRI_SHOWN(name))
        : from == NULL
            ? tr_arena_print(&recover->arena, "reruns %.*s", TRI_SHOWN(name))
            : tr_arena_print(&recover->arena, "reruns %.*s from %s", TRI_SHOWN(name), from);
    if (recover->arena.error != 0) {
        return tri_recover_failed(recover, recover->arena.error);
    }
    tell(recover);
    /* A reader keeps hold of its moment, which costs an engine. */
    tr_reader_release(recover->browse.reader);
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
    struct tri_recover recover = {.invocation = invocation, .is_rerun = is_rerun};
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

static const struct tr_option recover_options[] = {
    {0, "file", "FILE", "the definition, if not the recorded one", NULL, TR_COMPLETES_FILES, false},
    TR_PREPARE_OPTIONS,
    {'d', "detach", NULL, "print its name and leave it to run", NULL, 0, false},
    TR_ENGINE_OPTIONS,
    {0},
};

static const struct tr_option rerun_options[] = {
    {0, "from", "NODE", "it and all behind it runs again", NULL, 0, true},
    {0, "failed", NULL, "of a map, its failed elements alone", NULL, 0, false},
    {0, "set", "NODE.INPUT=VALUE", "another value for one node", NULL, TR_COMPLETES_FILES, true},
    {0, "file", "FILE", "the definition, if not the recorded one", NULL, TR_COMPLETES_FILES, false},
    TR_PREPARE_OPTIONS,
    {'d', "detach", NULL, "print its name and leave it to run", NULL, 0, false},
    TR_ENGINE_OPTIONS,
    {0},
};

const struct tr_command tr_command_recover = {
    .name = "recover",
    .summary = "run what failed again, and keep the rest",
    .words = "EXEC",
    .text = "Begins a new execution with the definition and the inputs of one that failed, timed\n"
            "out or was aborted. Nodes, elements of maps and inner workflows that succeeded are\n"
            "kept with what they gave. With --file, what is not as it was runs again, too; so\n"
            "does what uses an input that is given anew.",
    .examples = "  troupe recover @last\n"
                "  troupe recover @last -i size=20\n"
                "  troupe recover nightly-20260820 --file nightly.yaml",
    .options = recover_options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_FAILED,
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
    .kind = TR_EXECUTION_KIND_ENDED,
    .words_min = 1,
    .words_max = 1,
    .run = run_rerun,
};
