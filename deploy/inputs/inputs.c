/*
 * Reading inputs: each source fills in the values that it names, and what is left is filled in from
 * defaults or told to be missing.
 */
#include "deploy/inputs/inputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/flyte/flyte.h"
#include "deploy/common/file.h"
#include "runtime/memory.h"
#include "schemas/codec/spelling.h"
#include "schemas/runtime/blob_uri.h"

/* What was given for one input. */
struct given_input {
    bool is_given; /* by a pair, which wins */
    bool is_in_file;
    size_t begin; /* its packed value in the values */
    size_t size;
};

struct inputs {
    const struct tr_inputs_request *request; /* NULL: one value alone */
    const struct tr_variables *variables;    /* those that may be given */
    struct tr_report *report;
    struct tr_arena arena;
    struct tr_buffer values;
    struct given_input *given; /* for each of the variables */
};

static struct tri_place place_of(struct inputs *inputs, struct tr_text source)
{
    return (struct tri_place){.source = tri_report_source(inputs->report, source)};
}

/* ----------------------------------------------------------------- what is meant */

static const struct tr_plan *plan_of(const struct tr_inputs_request *request)
{
    return request->plan == TR_GRAPH_NONE ? NULL : &request->graph->plans[request->plan];
}

static const struct tr_variables *all_inputs(const struct tr_inputs_request *request)
{
    return &request->graph->workflows[request->workflow].interface.inputs;
}

/* The names that there are, for a message. */
static struct tr_text names_text(struct inputs *inputs)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    for (uint32_t i = 0; i < inputs->variables->count && i < 12; i++) {
        tr_buffer_print(&buffer, "%s%.*s", i > 0 ? ", " : "",
                        TRI_SHOWN(inputs->variables->items[i].name));
    }
    tr_buffer_add_string(&buffer, inputs->variables->count > 12 ? ", ..." : "");
    struct tr_text text = tr_arena_text(&inputs->arena, tr_buffer_text(&buffer));
    tr_buffer_fini(&buffer);
    return text;
}

static struct tr_text input_at(const void *self, uint32_t position)
{
    return ((const struct tr_variables *)self)->items[position].name;
}

/* Says that an input is none. */
static void tell_unknown(struct inputs *inputs, struct tri_place place, struct tr_text name)
{
    const struct tr_plan *plan = plan_of(inputs->request);
    if (plan != NULL && tr_variables_find(all_inputs(inputs->request), name) != TR_GRAPH_NONE) {
        tri_report_add(inputs->report, place, NULL,
                       "the input '%.*s' is fixed by the launch plan '%.*s'\nleave it out",
                       TRI_SHOWN(name), TRI_SHOWN(plan->name));
        return;
    }
    struct tr_text nearest =
        tr_spelling_nearest(name, input_at, inputs->variables, inputs->variables->count);
    if (nearest.size > 0) {
        tri_report_add(inputs->report, place, NULL,
                       "there is no input '%.*s'\ndid you mean '%.*s'?", TRI_SHOWN(name),
                       TRI_SHOWN(nearest));
    } else if (inputs->variables->count == 0) {
        tri_report_add(inputs->report, place, NULL,
                       "there is no input '%.*s'\nthis workflow has none", TRI_SHOWN(name));
    } else {
        tri_report_add(inputs->report, place, NULL, "there is no input '%.*s'\nits inputs are %.*s",
                       TRI_SHOWN(name), TRI_TEXT(names_text(inputs)));
    }
}

/* -------------------------------------------------------------------- one value */

/* Whether text for such an input counts as it stands. NULL: a type that nobody knows yet. */
static bool is_verbatim(const struct tr_type *type)
{
    if (type == NULL) {
        return false;
    }
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_STRING:
    case TR_TYPE_ENUM:
    case TR_TYPE_DATETIME:
    case TR_TYPE_DURATION:
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
    case TR_TYPE_BYTES:
        return true;
    case TR_TYPE_UNION:
        for (uint32_t i = 0; i < type->count; i++) {
            if (type->parts[i]->kind != TR_TYPE_NONE && !is_verbatim(type->parts[i])) {
                return false;
            }
        }
        return true;
    default:
        return false;
    }
}

static const struct tr_tree *text_tree(struct inputs *inputs, struct tri_place place,
                                       const struct tr_type *type, struct tr_text text)
{
    bool is_text = type->kind == TR_TYPE_STRING;
    struct tr_tree *tree = tr_arena_alloc(&inputs->arena, sizeof *tree);
    if (tree != NULL) {
        *tree = (struct tr_tree){.kind = is_text ? TR_TREE_STRING : TR_TREE_PLAIN,
                                 .weight = 1,
                                 .place = place,
                                 .text = tr_arena_text(&inputs->arena, text)};
    }
    return tree;
}

static void tell_unreadable(struct inputs *inputs, struct tri_place place, const char *path,
                            int error)
{
    const char *words = error == TR_SYSTEM ? strerror(errno) : tr_error_text(error);
    tri_report_add(inputs->report, place, NULL, "the file %s cannot be read: %s\ncheck its name",
                   path, words);
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    size_t end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static const struct tr_tree *document_tree(struct inputs *inputs, struct tri_place place,
                                           const char *path, struct tr_text text)
{
    return ends_with(path, ".json")
               ? tr_json_read(&inputs->arena, inputs->report, place.source, text)
               : tr_yaml_read(&inputs->arena, inputs->report, place.source, text);
}

/* Whether there is what a path names; it counts from `folder`. */
static void check_path(struct inputs *inputs, const struct tr_type *type,
                       const struct tr_tree *tree, const char *folder)
{
    char path[PATH_MAX];
    struct stat status;
    bool is_folder = type->kind == TR_TYPE_DIRECTORY;
    const char *noun = is_folder ? "directory" : "file";
    struct tr_text given = tree->text;
    if (memmem(given.data, given.size, "://", 3) != NULL || tr_blob_uri_name(given).size > 0) {
        return;
    }
    bool is_absolute = given.size > 0 && given.data[0] == '/';
    int size = snprintf(path, sizeof path, "%s%s%.*s", is_absolute ? "" : folder,
                        is_absolute ? "" : "/", (int)given.size, given.data);
    errno = ENAMETOOLONG;
    if (size < 0 || (size_t)size >= sizeof path || stat(path, &status) != 0) {
        tri_report_add(inputs->report, tree->place, NULL,
                       "%.*s: %s\ngive the path of a %s that is there", TRI_SHOWN(given),
                       strerror(errno), noun);
    } else if (S_ISDIR(status.st_mode) != is_folder) {
        tri_report_add(inputs->report, tree->place, NULL,
                       "%.*s is %s directory\ngive the path of a %s", TRI_SHOWN(given),
                       is_folder ? "no" : "a", noun);
    }
}

/*
 * Files that are not there are told at once, wherever in a value they stand. A text where a union
 * is declared may be something else.
 */
static void check_paths(struct inputs *inputs, const struct tr_type *type,
                        const struct tr_tree *tree, const char *folder)
{
    if (type == NULL) {
        return;
    }
    bool is_path = type->kind == TR_TYPE_FILE || type->kind == TR_TYPE_DIRECTORY;
    bool is_list = type->kind == TR_TYPE_LIST && tree->kind == TR_TREE_LIST;
    bool is_map = type->kind == TR_TYPE_MAP && tree->kind == TR_TREE_MAP;
    if (is_path && tr_tree_is_text(tree)) {
        check_path(inputs, type, tree, folder);
    }
    for (uint32_t i = 0; (is_list || is_map) && i < tree->count; i++) {
        check_paths(inputs, type->parts[0], is_list ? tree->items[i] : tree->pairs[i].value,
                    folder);
    }
}

/* Reads a value that a tree holds; relative paths count from `folder`. */
static bool read_tree(struct inputs *inputs, uint32_t index, const struct tr_tree *tree,
                      const char *folder)
{
    struct tr_literal_reader reader = {
        .report = inputs->report, .arena = &inputs->arena, .folder = tr_text_of(folder)};
    const struct tr_variable *variable = &inputs->variables->items[index];
    struct tr_text before = tri_report_subject(inputs->report, variable->name);
    size_t begin = inputs->values.size;
    bool is_read = tr_literal_read(&reader, variable->type, tree, &inputs->values);
    (void)tri_report_subject(inputs->report, before);
    if (is_read) {
        inputs->given[index].begin = begin;
        inputs->given[index].size = inputs->values.size - begin;
        check_paths(inputs, variable->type, tree, folder);
    }
    return is_read;
}

/* `@FILE`: what is in the file. */
static void read_from_file(struct inputs *inputs, uint32_t index, struct tri_place place,
                           const char *path)
{
    const struct tr_type *type = inputs->variables->items[index].type;
    char folder[PATH_MAX];
    char *data = NULL;
    size_t size = 0;
    int error = tr_file_read(path, TR_FILE_BYTES_MAX, &data, &size);
    if (error != 0) {
        tell_unreadable(inputs, place, path, error);
        return;
    }
    struct tr_text text = {.data = data, .size = size};
    if (type != NULL && type->kind == TR_TYPE_BYTES) {
        inputs->given[index].begin = inputs->values.size;
        tr_buffer_bytes_value(&inputs->values,
                              (struct tr_bytes){.data = (const uint8_t *)data, .size = size});
        inputs->given[index].size = inputs->values.size - inputs->given[index].begin;
    } else {
        struct tri_place inside = place_of(inputs, tr_text_of(path));
        const struct tr_tree *tree = is_verbatim(type) ? text_tree(inputs, inside, type, text)
                                                       : document_tree(inputs, inside, path, text);
        error = tr_file_absolute(".", folder);
        if (tree != NULL && error == 0) {
            (void)read_tree(inputs, index, tree, folder);
        }
    }
    tr_free(data);
}

static void read_value(struct inputs *inputs, uint32_t index, struct tri_place place,
                       const char *value)
{
    const struct tr_type *type = inputs->variables->items[index].type;
    char folder[PATH_MAX];
    if (value[0] == '@' && value[1] != '@') {
        read_from_file(inputs, index, place, value + 1);
        return;
    }
    struct tr_text text = tr_text_of(value[0] == '@' ? value + 1 : value);
    bool is_text = type != NULL && (value[0] == '@' || is_verbatim(type));
    const struct tr_tree *tree =
        is_text ? text_tree(inputs, place, type, text)
                : tr_yaml_read(&inputs->arena, inputs->report, place.source, text);
    if (tree != NULL && tr_file_absolute(".", folder) == 0) {
        (void)read_tree(inputs, index, tree, folder);
    }
}

/* ------------------------------------------------------------------- the sources */

static void read_pair(struct inputs *inputs, const char *pair)
{
    const char *equals = strchr(pair, '=');
    struct tr_text name = {.data = pair,
                           .size = equals == NULL ? strlen(pair) : (size_t)(equals - pair)};
    struct tr_text source = tr_arena_print(&inputs->arena, "-i %.*s", TRI_SHOWN(name));
    struct tri_place place = place_of(inputs, source);
    if (equals == NULL || name.size == 0) {
        tri_report_add(inputs->report, place, NULL, "this is no input\nwrite -i NAME=VALUE");
        return;
    }
    uint32_t index = tr_variables_find(inputs->variables, name);
    if (index == TR_GRAPH_NONE) {
        tell_unknown(inputs, place, name);
        return;
    }
    if (inputs->given[index].is_given) {
        tri_report_add(inputs->report, place, NULL, "the input is given twice\ngive it once");
        return;
    }
    inputs->given[index].is_given = true;
    read_value(inputs, index, place, equals + 1);
}

/* The input that a file names, if the file's value counts. */
static bool find_in_file(struct inputs *inputs, struct tri_place place, struct tr_text name,
                         uint32_t *index)
{
    uint32_t found = tr_variables_find(inputs->variables, name);
    if (found == TR_GRAPH_NONE) {
        tell_unknown(inputs, place, name);
        return false;
    }
    *index = found;
    inputs->given[found].is_in_file = true;
    return !inputs->given[found].is_given;
}

static void read_document(struct inputs *inputs, const struct tr_tree *tree, const char *folder)
{
    uint32_t index;
    if (tree->kind != TR_TREE_MAP) {
        tri_report_add(inputs->report, tree->place, NULL,
                       "inputs are a mapping, and this is %s\nwrite NAME: VALUE for each of them",
                       tr_tree_noun(tree));
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_pair *pair = &tree->pairs[i];
        if (find_in_file(inputs, pair->key->place, pair->key->text, &index)) {
            (void)read_tree(inputs, index, pair->value, folder);
        }
    }
}

/* A LiteralMap of Flyte's, as the inputs.pb of a task and of an execution. */
static void read_literals(struct inputs *inputs, struct tri_place place, struct tr_text text,
                          const char *folder)
{
    struct tr_flyte_entry entry;
    struct tr_flyte_walk walk =
        tr_flyte_entries((struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size});
    uint32_t index;
    while (tr_flyte_next_entry(&walk, &entry)) {
        if (find_in_file(inputs, place, entry.name, &index)) {
            struct tr_text before = tri_report_subject(inputs->report, entry.name);
            const struct tr_tree *tree =
                tr_flyte_literal(&inputs->arena, inputs->report,
                                 inputs->variables->items[index].type, entry.literal, NULL);
            (void)tri_report_subject(inputs->report, before);
            if (tree != NULL) {
                (void)read_tree(inputs, index, tree, folder);
            }
        }
    }
    if (!tr_flyte_is_whole(&walk)) {
        tri_report_add(inputs->report, place, NULL,
                       "the file is no LiteralMap of Flyte's\nwrite inputs as YAML or JSON");
    }
}

/* The folder of a file, absolute; of stdin the current one. */
static int folder_of(const char *path, char *folder)
{
    int error = tr_file_absolute(strcmp(path, "-") == 0 ? "./-" : path, folder);
    if (error == 0) {
        char *slash = strrchr(folder, '/');
        slash[slash == folder ? 1 : 0] = '\0';
    }
    return error;
}

static void read_file(struct inputs *inputs, const char *path)
{
    char folder[PATH_MAX];
    char *data = NULL;
    size_t size = 0;
    bool is_stdin = strcmp(path, "-") == 0;
    struct tri_place place = place_of(inputs, tr_text_of(is_stdin ? "stdin" : path));
    int error = tr_file_read(path, TR_FILE_BYTES_MAX, &data, &size);
    if (error == 0) {
        error = folder_of(path, folder);
    }
    if (error != 0) {
        tell_unreadable(inputs, place, path, error);
        tr_free(data);
        return;
    }
    struct tr_text text = {.data = data, .size = size};
    bool is_flytes = ends_with(path, ".pb");
    const struct tr_tree *tree = is_flytes ? NULL : document_tree(inputs, place, path, text);
    if (is_flytes) {
        read_literals(inputs, place, text, folder);
    } else if (tree != NULL) {
        read_document(inputs, tree, folder);
    }
    tr_free(data);
}

/* ----------------------------------------------------------------------- the end */

/* The value that a plan has for an input of its workflow, or none. */
static struct tr_bytes plan_value(const struct tr_plan *plan, uint32_t input)
{
    for (uint32_t i = 0; plan != NULL && i < plan->value_count; i++) {
        if (plan->values[i].input == input) {
            return plan->values[i].value;
        }
    }
    return (struct tr_bytes){0};
}

/* What nobody gave and nothing stands for. */
static void tell_missing(struct inputs *inputs, const struct tr_variable *variable)
{
    struct tr_text type = tr_type_text(&inputs->arena, variable->type);
    tri_report_add(inputs->report, place_of(inputs, tr_text_of("inputs")), NULL,
                   "the input '%.*s' (%.*s) is missing\ngive it with -i %.*s=VALUE",
                   TRI_SHOWN(variable->name), TRI_SHOWN(type), TRI_SHOWN(variable->name));
}

/* Whether somebody named it, even if what it was given makes no sense. */
static bool is_given(const struct given_input *given)
{
    return given->size > 0 || given->is_given || given->is_in_file;
}

/* The slot of one input of the workflow. */
static void write_slot(struct inputs *inputs, uint32_t input, struct tr_buffer *slots)
{
    const struct tr_variable *variable = &all_inputs(inputs->request)->items[input];
    uint32_t index = tr_variables_find(inputs->variables, variable->name);
    struct tr_bytes earlier = {.size = 0};
    if (inputs->request->earlier != NULL) {
        earlier = inputs->request->earlier[input];
    }
    if (earlier.size > 0 && (index == TR_GRAPH_NONE || !is_given(&inputs->given[index]))) {
        tr_buffer_add(slots, earlier.data, earlier.size);
        return;
    }
    if (index == TR_GRAPH_NONE) {
        struct tr_bytes value = plan_value(plan_of(inputs->request), input);
        tr_buffer_add(slots, value.data, value.size);
        return;
    }
    const struct given_input *given = &inputs->given[index];
    const struct tr_variable *own = &inputs->variables->items[index];
    if (given->size > 0) {
        tr_buffer_add(slots, inputs->values.data + given->begin, given->size);
    } else if (own->has_default) {
        tr_buffer_add(slots, own->default_value.data, own->default_value.size);
    } else if (!given->is_given && !given->is_in_file) {
        tell_missing(inputs, variable);
    }
}

static void write_slots(struct inputs *inputs, struct tr_buffer *slots)
{
    uint32_t count = all_inputs(inputs->request)->count;
    tr_buffer_array(slots, count);
    for (uint32_t i = 0; i < count; i++) {
        write_slot(inputs, i, slots);
    }
}

static int error_of(const struct inputs *inputs, const struct tr_buffer *slots)
{
    if (inputs->arena.error != 0) {
        return inputs->arena.error;
    }
    if (inputs->values.error != 0) {
        return inputs->values.error;
    }
    if (slots->error != 0) {
        return slots->error;
    }
    return tr_report_total(inputs->report) > 0 ? TR_INVALID : 0;
}

int tr_inputs_read(const struct tr_inputs_request *request, struct tr_report *report,
                   struct tr_buffer *slots)
{
    const struct tr_plan *plan = plan_of(request);
    struct inputs inputs = {.request = request,
                            .report = report,
                            .variables = plan != NULL ? &plan->inputs : all_inputs(request)};
    tr_arena_init(&inputs.arena);
    tr_buffer_init(&inputs.values, 0);
    inputs.given = tr_arena_array(&inputs.arena, inputs.variables->count, sizeof *inputs.given);
    if (inputs.given != NULL) {
        for (size_t i = 0; i < request->pair_count; i++) {
            read_pair(&inputs, request->pairs[i]);
        }
        if (request->file != NULL) {
            read_file(&inputs, request->file);
        }
        write_slots(&inputs, slots);
    }
    int error = error_of(&inputs, slots);
    tr_report_finish(report);
    tr_buffer_fini(&inputs.values);
    tr_arena_fini(&inputs.arena);
    return error;
}

int tr_input_read_word(const struct tr_variable *variable, const char *word,
                       struct tr_report *report, struct tr_buffer *value)
{
    struct tr_variables one = {.items = variable, .count = 1};
    struct given_input given = {.is_given = true};
    struct inputs inputs = {.report = report, .variables = &one, .given = &given};
    tr_arena_init(&inputs.arena);
    tr_buffer_init(&inputs.values, 0);
    read_value(&inputs, 0, place_of(&inputs, variable->name), word);
    tr_buffer_add(value, inputs.values.data + given.begin, given.size);
    int error = error_of(&inputs, value);
    tr_report_finish(report);
    tr_buffer_fini(&inputs.values);
    tr_arena_fini(&inputs.arena);
    return error;
}
