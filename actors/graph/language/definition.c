/*
 * A file and what it includes: the keys at the top, and one set of names over all files.
 *
 * Files are read in the order they are named, each once, so that files may include each other;
 * the list of files is the queue.
 *
 * Leaves for the compiler: tasks, workflows, plans and pools as they are written, each with its
 * place, values still as trees; and the sorted set of names, in which each is unique. References
 * between them are the compiler's (compiler/), since what they name may stand in a later file.
 */
#include "actors/graph/language/definition.h"

#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/language/keys.h"
#include "runtime/memory.h"

/* The version of the language that this program knows. */
#define LANGUAGE_VERSION 1

/* The folder of a path, without the slash at its end: empty for a plain name, / for the root. */
struct tr_text tri_definition_path_folder(struct tr_text path)
{
    size_t size = path.size;
    while (size > 0 && path.data[size - 1] != '/') {
        size--;
    }
    return (struct tr_text){.data = path.data, .size = size > 1 ? size - 1 : size};
}

/* A path as seen from a folder. Joined as text: links are not followed, so `..` stays. */
struct tr_text tri_definition_path_join(struct tr_arena *arena, struct tr_text folder,
                                        struct tr_text path)
{
    while (path.size > 2 && path.data[0] == '.' && path.data[1] == '/') {
        path = (struct tr_text){.data = path.data + 2, .size = path.size - 2};
    }
    if (folder.size == 0 || (path.size > 0 && path.data[0] == '/')) {
        return tr_arena_text(arena, path);
    }
    bool has_slash = folder.data[folder.size - 1] == '/';
    return tr_arena_print(arena, "%.*s%s%.*s", TRI_TEXT(folder), has_slash ? "" : "/",
                          TRI_TEXT(path));
}

/*
 * Whether the last part of a path that was copied so far may be taken back by `..`. It may not
 * where there is none or it is `..` itself: `../../a` keeps both. `size` leaves out the slash at
 * the end.
 */
static bool ends_with_name(const char *path, size_t size)
{
    size_t begin = size;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    return size > begin && !(size - begin == 2 && path[begin] == '.' && path[begin + 1] == '.');
}

/*
 * The path without `.` and with each `x/..` taken out, by its text alone, for comparing only. Files
 * are opened by the path as written, since `x/..` is another folder where x is a link; at worst a
 * file that is reached through links is read twice, and its names clash.
 */
static struct tr_text identity_of(struct tr_arena *arena, struct tr_text path)
{
    char *copy = tr_arena_alloc(arena, path.size + 1);
    size_t size = 0;
    for (size_t at = 0; copy != NULL && at < path.size;) {
        size_t end = at;
        while (end < path.size && path.data[end] != '/') {
            end++;
        }
        struct tr_text part = {.data = path.data + at, .size = end - at};
        bool is_up = tr_text_equal(part, tr_text_of(".."));
        if (is_up && size > 0 && ends_with_name(copy, size - 1)) {
            for (size--; size > 0 && copy[size - 1] != '/';) {
                size--;
            }
        } else if (!tr_text_equal(part, tr_text_of("."))) {
            memcpy(copy + size, part.data, part.size);
            size += part.size;
            copy[size++] = '/';
        }
        at = end + 1;
    }
    return (struct tr_text){.data = copy == NULL ? "" : copy, .size = size};
}

/*
 * Puts a file into the queue unless it is there. This is what ends circular includes. The
 * comparison with each file is quadratic, and TR_INCLUDES_MAX bounds it.
 */
static void add_file(struct tri_definition *definition, struct tr_text path, struct tr_text folder)
{
    const struct tri_file *files = definition->files.items;
    struct tr_text identity = identity_of(definition->scratch, path);
    for (uint32_t i = 0; i < definition->files.count; i++) {
        if (tr_text_equal(files[i].identity, identity)) {
            return;
        }
    }
    struct tri_file *file = tri_vector_add(definition->scratch, &definition->files, sizeof *file);
    if (file != NULL) {
        *file = (struct tri_file){.path = path, .identity = identity, .folder = folder};
    }
}

/*
 * Included files go behind all that are in the queue. `path` is how errors name the file, seen from
 * where the command runs; `folder` is where its tasks' relative paths count from. Both follow from
 * those of the including file.
 */
static void read_include(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    const struct tri_file *file = target;
    if (!tri_keys_expect_list(definition, value, "include")) {
        return;
    }
    struct tr_text own_path = file->path;
    struct tr_text own_folder = file->folder;
    for (uint32_t i = 0; i < value->count; i++) {
        struct tr_text path;
        if (!tri_keys_read_text(definition, value->items[i], &path)) {
            continue;
        }
        if (definition->files.count >= TR_INCLUDES_MAX) {
            tri_report_add(definition->report, value->items[i]->place, "InvalidValue",
                           "the definition has more than %u files\ninclude fewer", TR_INCLUDES_MAX);
            return;
        }
        struct tr_text shown = tri_definition_path_join(definition->scratch,
                                                        tri_definition_path_folder(own_path), path);
        struct tr_text folder = tri_definition_path_folder(path);
        add_file(definition, shown,
                 folder.size == 0
                     ? own_folder
                     : tri_definition_path_join(definition->arena, own_folder, folder));
    }
}

/*
 * Written in each file, so that each can be read by itself and an editor can tell which language it
 * is.
 */
static void read_version(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tr_tree resolved = tr_tree_resolve(value);
    (void)target;
    if (resolved.kind != TR_TREE_INT || resolved.integer != LANGUAGE_VERSION) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is no version of the language that this program knows\n"
                       "write troupe: %d, or use a newer program",
                       LANGUAGE_VERSION);
    }
}

/*
 * Project and domain are those of the first file. In included files they are checked and then
 * ignored, since such a file may be run by itself.
 */
static void read_place_name(struct tri_definition *definition, const struct tr_tree *value,
                            struct tr_text *name)
{
    struct tri_name read;
    if (tri_keys_read_name(definition, value, &read) && !definition->is_included) {
        *name = tr_arena_text(definition->arena, read.text);
    }
}

static void read_project(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    (void)target;
    read_place_name(definition, value, &definition->project);
}

static void read_domain(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    (void)target;
    read_place_name(definition, value, &definition->domain);
}

static void read_tasks(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    (void)target;
    tri_definition_read_tasks(definition, value);
}

static void read_workflows(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    (void)target;
    tri_definition_read_workflows(definition, value);
}

static void read_plans(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    (void)target;
    tri_definition_read_plans(definition, value);
}

static void read_pools(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    (void)target;
    tri_definition_read_pools(definition, value);
}

static const struct tri_key file_keys[] = {
    {"troupe", read_version, 0},      {"project", read_project, 0},    {"domain", read_domain, 0},
    {"include", read_include, 0},     {"pools", read_pools, 0},        {"tasks", read_tasks, 0},
    {"workflows", read_workflows, 0}, {"launch_plans", read_plans, 0},
};

/* Keys that begin with x- are free, for anchors. */
static bool is_free_key(struct tr_text key)
{
    return key.size > 2 && key.data[0] == 'x' && key.data[1] == '-';
}

/*
 * This does not go through tri_keys_read_keys, because keys that begin with x- are unknown and
 * allowed.
 */
static void read_file(struct tri_definition *definition, const struct tr_tree *tree,
                      struct tri_file *file)
{
    if (!tri_keys_expect_map(definition, tree, "a definition")) {
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_tree *key = tree->pairs[i].key;
        size_t k = 0;
        while (k < TR_COUNT_OF(file_keys) &&
               !tr_text_equal(key->text, tr_text_of(file_keys[k].name))) {
            k++;
        }
        if (k < TR_COUNT_OF(file_keys)) {
            definition->key = key->text;
            file_keys[k].read(definition, tree->pairs[i].value, file);
        } else if (!is_free_key(key->text)) {
            tri_keys_unknown_key(definition, key, "a definition", file_keys, TR_COUNT_OF(file_keys),
                                 0);
        }
    }
    if (tr_tree_find(tree, "troupe") == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "the file does not say which language it is in\nbegin it with troupe: 1");
    }
}

/*
 * Reads one file of the queue; the text of the first one is given by the caller. `file` is a copy,
 * because includes add to the queue, which may move. The bytes are freed at the end: the tree has
 * copied what it keeps into the scratch arena.
 */
static void load_file(struct tri_definition *definition, struct tri_file file,
                      const struct tr_definition_source *request, bool is_first)
{
    uint8_t *data = NULL;
    size_t size = 0;
    struct tr_text text = request->text;
    tri_definition_begin(definition, file.path, file.folder);
    definition->is_included = !is_first;
    if (!is_first) {
        int error = request->read == NULL ? TR_NOT_FOUND
                                          : request->read(request->self, file.path, &data, &size);
        if (error != 0) {
            struct tri_place place = {.source = definition->source};
            tri_report_add(definition->report, place, NULL,
                           "the included file cannot be read: %s\n"
                           "its path counts from the file that includes it",
                           tr_error_text(error));
            return;
        }
        text = (struct tr_text){.data = (const char *)data, .size = size};
    }
    const struct tr_tree *tree =
        tr_yaml_read(definition->scratch, definition->report, definition->source, text);
    if (tree != NULL) {
        read_file(definition, tree, &file);
    }
    tr_free(data);
}

static void add_entity(struct tri_definition *definition, struct tri_name name,
                       enum tri_entity_kind kind, uint32_t index)
{
    definition->entities[definition->entity_count++] =
        (struct tri_entity){.name = name, .kind = kind, .index = index};
}

/*
 * By name, then by file, line and column, so that of equal names the first that is written comes
 * first: in flow style two may stand in one line. Files are numbered in the order they are read.
 */
static int compare_entities(const void *left, const void *right)
{
    const struct tri_entity *a = left;
    const struct tri_entity *b = right;
    int order = tr_text_order(a->name.text, b->name.text);
    if (order != 0) {
        return order;
    }
    if (a->name.place.source != b->name.place.source) {
        return a->name.place.source < b->name.place.source ? -1 : 1;
    }
    if (a->name.place.line != b->name.place.line) {
        return a->name.place.line < b->name.place.line ? -1 : 1;
    }
    return (a->name.place.column > b->name.place.column) -
           (a->name.place.column < b->name.place.column);
}

/*
 * Keeps the first of each name and reports the others. A first one without a line comes from the
 * graph that a dynamic task runs in (compiler/decide.c), whose names are all known to what it
 * decides.
 */
static void drop_clashes(struct tri_definition *definition)
{
    uint32_t kept = 0;
    struct tri_entity *entities = definition->entities;
    const struct tr_text *files = definition->report->sources.items;
    for (uint32_t i = 0; i < definition->entity_count; i++) {
        if (kept == 0 || !tr_text_equal(entities[kept - 1].name.text, entities[i].name.text)) {
            entities[kept++] = entities[i];
            continue;
        }
        struct tri_place first = entities[kept - 1].name.place;
        struct tr_text file = tr_text_of("");
        if (first.line == 0 && entities[i].name.place.line == 0) {
            tri_report_add(definition->report, first, "DuplicateId",
                           "a task, a workflow and a launch plan are called '%.*s'\n"
                           "give each a name of its own",
                           TRI_SHOWN(entities[i].name.text));
            continue;
        }
        if (first.line == 0) {
            tri_report_add(definition->report, entities[i].name.place, "DuplicateId",
                           "the name '%.*s' is taken by the definition of the dynamic task\n"
                           "all of it is known here: choose another, or use what is there",
                           TRI_SHOWN(entities[i].name.text));
            continue;
        }
        if (first.source != entities[i].name.place.source &&
            first.source < definition->report->sources.count) {
            file = tr_arena_print(definition->scratch, " of %.*s", TRI_SHOWN(files[first.source]));
        }
        tri_report_add(definition->report, entities[i].name.place, "DuplicateId",
                       "the name '%.*s' is taken in line %u%.*s\n"
                       "tasks, workflows and launch plans share one set of names: choose another",
                       TRI_SHOWN(entities[i].name.text), first.line, TRI_TEXT(file));
    }
    definition->entity_count = kept;
}

/*
 * The set of all names, sorted for tri_definition_find; of equal ones the first stays, and the
 * others are reported. Sorting costs n log n over all files; a search at each insertion would be
 * quadratic.
 */
void tri_definition_collect(struct tri_definition *definition)
{
    const struct tri_task *tasks = definition->tasks.items;
    const struct tri_workflow *workflows = definition->workflows.items;
    const struct tri_plan *plans = definition->plans.items;
    size_t count =
        (size_t)definition->tasks.count + definition->workflows.count + definition->plans.count;
    definition->entities = tr_arena_array(definition->scratch, count, sizeof *definition->entities);
    if (definition->entities == NULL) {
        return;
    }
    for (uint32_t i = 0; i < definition->tasks.count; i++) {
        add_entity(definition, tasks[i].name, TRI_ENTITY_TASK, i);
    }
    for (uint32_t i = 0; i < definition->workflows.count; i++) {
        add_entity(definition, workflows[i].name, TRI_ENTITY_WORKFLOW, i);
    }
    for (uint32_t i = 0; i < definition->plans.count; i++) {
        add_entity(definition, plans[i].name, TRI_ENTITY_PLAN, i);
    }
    if (count > 1) {
        qsort(definition->entities, count, sizeof *definition->entities, compare_entities);
    }
    drop_clashes(definition);
}

const struct tri_entity *tri_definition_find(const struct tri_definition *definition,
                                             struct tr_text name)
{
    return tr_text_search(name, definition->entities, definition->entity_count,
                          sizeof *definition->entities);
}

void tri_definition_begin(struct tri_definition *definition, struct tr_text path,
                          struct tr_text folder)
{
    definition->source = tri_report_source(definition->report, path);
    definition->path = tr_arena_text(definition->arena, path);
    definition->folder = folder;
}

/*
 * Reads the first file and all that it includes. What is wrong is in the report; the rest is read
 * all the same. The loop asks for the count anew each time, as files are added while it runs.
 */
void tri_definition_read(struct tri_definition *definition,
                         const struct tr_definition_source *request)
{
    add_file(definition, request->path, tr_arena_text(definition->arena, request->folder));
    for (uint32_t i = 0; i < definition->files.count; i++) {
        const struct tri_file *files = definition->files.items;
        load_file(definition, files[i], request, i == 0);
    }
    if (definition->project.size == 0) {
        definition->project = tr_text_of("default");
    }
    if (definition->domain.size == 0) {
        definition->domain = tr_text_of("development");
    }
}
