/*
 * What `rerun` names: nodes and elements with --from, inputs of nodes with --set, each looked up in
 * the graph before anything begins.
 */
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/slot.h"
#include "deploy/commands/recover.h"
#include "deploy/common/problems.h"
#include "deploy/console/console.h"
#include "deploy/graphs/route.h"
#include "deploy/inputs/inputs.h"
#include "deploy/inputs/offload.h"
#include "deploy/recovery/reuse.h"

/* Finds a node that a word names; a word for an element has to name one of a map. */
static enum tr_exit_status find_node(const struct tri_recover *recover, const char *option,
                                     struct tr_text path, struct tr_stop *stop)
{
    struct tr_route route;
    int error =
        tr_route_init(&route, recover->prepared.graph, recover->found.execution.row.workflow);
    if (error != 0) {
        return tri_recover_failed(recover, error);
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
        return tr_command_refused(recover->invocation->command,
                                  "%s: there is no node '%.*s'; `troupe get %.*s` shows them",
                                  option, TRI_SHOWN(path), TRI_SHOWN(tri_recover_name_of(recover)));
    }
    if (error == TR_INVALID) {
        return tr_command_refused(recover->invocation->command,
                                  "%s: '%.*s' names an element of a node that is no map", option,
                                  TRI_SHOWN(path));
    }
    return error != 0 ? tri_recover_failed(recover, error) : TR_EXIT_DONE;
}

static enum tr_exit_status check_role(const struct tri_recover *recover, const char *option,
                                      const struct tr_stop *stop)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    if (node->role != TR_ROLE_GRAPH) {
        return tr_command_refused(recover->invocation->command,
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

/* The elements of a map that failed; one that was kept has them where it ran. */
static int count_failed(const struct tri_recover *recover, struct tr_text path, uint64_t *count)
{
    uint64_t ran_in = 0;
    int error = tr_reuse_origin(recover->browse.reader, recover->found.execution.row.execution,
                                path, TR_ELEMENT_NONE, &ran_in);
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, ran_in),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_progress_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return error != 0 ? error
                      : tr_reader_rows(recover->browse.reader, &query, take_progress, count);
}

/* --failed is for a map some of whose elements failed. */
static enum tr_exit_status check_failed(const struct tri_recover *recover, struct tr_text path,
                                        const struct tr_stop *stop)
{
    uint64_t count = 0;
    bool is_map =
        stop->workflow->nodes[stop->node].kind == TR_NODE_MAP && path.data[path.size - 1] != ']';
    if (!is_map) {
        return tr_command_refused(recover->invocation->command,
                                  "--failed is for maps, and '%.*s' is none; leave it out",
                                  TRI_SHOWN(path));
    }
    int error = count_failed(recover, path, &count);
    if (error != 0) {
        return tr_browse_failed(&recover->browse, error);
    }
    return count > 0 ? TR_EXIT_DONE
                     : tr_command_refused(recover->invocation->command,
                                          "no element of '%.*s' failed; leave --failed out to run "
                                          "all of them again",
                                          TRI_SHOWN(path));
}

static struct tr_recovery_target *add_target(struct tri_recover *recover)
{
    return tri_vector_add(&recover->arena, &recover->targets, sizeof(struct tr_recovery_target));
}

static enum tr_exit_status take_from(struct tri_recover *recover, const char *word)
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
            return tri_recover_failed(recover, TR_MEMORY);
        }
        *target = (struct tr_recovery_target){.path = path, .is_failed_only = is_failed_only};
    }
    return status;
}

/* Reads the value of an edited input into a slot, large ones into the blobs. */
static enum tr_exit_status read_value(struct tri_recover *recover, const struct tr_variable *input,
                                      const char *value, struct tr_bytes *out)
{
    struct tr_report report;
    struct tr_buffer slots;
    char explain[TR_OFFLOAD_EXPLAIN_BYTES] = "";
    enum tr_exit_status status = TR_EXIT_DONE;
    struct tr_bytes slot;
    tr_report_init(&report);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 1);
    int error = tr_input_read_word(input, value, &report, &slots);
    if (tr_report_total(&report) > 0) {
        error = tr_problems_print(&report, tr_console_err());
        status =
            error == 0 || error == TR_INVALID ? TR_EXIT_USAGE : tri_recover_failed(recover, error);
    } else {
        if (error == 0) {
            error = tr_offload_slots(recover->browse.place.folder, &slots, explain);
        }
        if (error == 0) {
            error = tr_slots_get(tr_buffer_bytes(&slots), 0, &slot);
        }
        if (error == 0) {
            *out = tr_arena_bytes(&recover->arena, slot);
            error = recover->arena.error;
        }
        status = error != 0 ? tri_recover_failed(recover, error) : TR_EXIT_DONE;
    }
    tr_buffer_fini(&slots);
    tr_report_fini(&report);
    return status;
}

/* NODE.INPUT=VALUE, taken apart. */
static enum tr_exit_status take_set(struct tri_recover *recover, const char *word)
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
        return tr_command_refused(recover->invocation->command,
                                  "--set: '%.*s' has no inputs of its own; edit those of %s",
                                  TRI_SHOWN(path),
                                  node->kind == TR_NODE_BRANCH ? "its arms" : "its map");
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tr_binding *binding = &stop.workflow->bindings[node->input_first + i];
        if (!tr_text_equal(binding->key, name)) {
            continue;
        }
        struct tr_variable input = {
            .name = tr_arena_print(&recover->arena, "--set %.*s.%.*s", TRI_SHOWN(path),
                                   TRI_SHOWN(name)),
            .type = binding->type,
        };
        struct tr_recovery_target target = {.path = path, .input = name};
        status = read_value(recover, &input, equals + 1, &target.slot);
        struct tr_recovery_target *place = status == TR_EXIT_DONE ? add_target(recover) : NULL;
        if (place != NULL) {
            *place = target;
        }
        return status;
    }
    return tr_command_refused(recover->invocation->command,
                              "--set: the node '%.*s' has no input '%.*s'; `troupe get %.*s/%.*s` "
                              "shows what it has",
                              TRI_SHOWN(path), TRI_SHOWN(name),
                              TRI_SHOWN(tri_recover_name_of(recover)), TRI_SHOWN(path));
}

/* What the options name; something has to be. */
enum tr_exit_status tri_recover_targets(struct tri_recover *recover)
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
        return tri_recover_mistake(
            recover, "say what is to run again: --from NODE, or what is to be different: "
                     "-i, --inputs, --set, --file");
    }
    if (status == TR_EXIT_DONE && tr_arguments_has(arguments, "failed") &&
        !tr_arguments_has(arguments, "from")) {
        return tri_recover_mistake(
            recover, "--failed says which elements of a map; name it with --from NODE");
    }
    return status;
}
