/*
 * Definitions and packages, as a command names them.
 */
#include "deploy/cli/definition.h"

#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/store.h"
#include "deploy/flyte/package.h"
#include "deploy/history/entities.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* A package on its way, and the store in which what it refers to is looked up. */
struct compiling {
    const struct tr_invocation *invocation;
    struct tr_report *report;
    struct tr_reader *reader;   /* NULL: nobody has asked yet, or there is no store */
    struct tr_buffer *entities; /* gets those of the package; NULL: nobody keeps them */
    uint32_t entity_count;
    struct tr_settings_file settings;
};

static void note(void *self, const char *words)
{
    const struct compiling *compiling = self;
    tr_command_note(compiling->invocation, "%s", words);
}

/* The store is opened when something is looked up: most packages hold all that they refer to. */
static int open_store(struct compiling *compiling)
{
    char folder[PATH_MAX];
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    tr_store_look(compiling->invocation, folder);
    if (folder[0] == '\0' || access(folder, F_OK) != 0) {
        return TR_NOT_FOUND;
    }
    int error = tr_history_open(folder, words, &compiling->reader);
    if (error != 0 && error != TR_NOT_FOUND) {
        tri_report_add(compiling->report, (struct tri_place){0}, NULL,
                       "what was applied cannot be looked up: %s", words);
    }
    return error;
}

static int find(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    struct compiling *compiling = self;
    int error = compiling->reader == NULL ? open_store(compiling) : 0;
    return error != 0 ? error : tr_entities_find(compiling->reader, arena, entity);
}

/* Each as bytes; the list's head is known when all are there. */
static int keep(void *self, const struct tr_entity *entity)
{
    struct compiling *compiling = self;
    size_t size_max = tr_entity_schema.size_max(entity);
    uint8_t *bytes = tr_alloc(size_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = tr_entity_schema.pack(entity, &writer);
    if (error == 0) {
        tr_buffer_bytes_value(compiling->entities,
                              (struct tr_bytes){bytes, tr_writer_size(&writer)});
        compiling->entity_count++;
        error = compiling->entities->error;
    }
    tr_free(bytes);
    return error;
}

static struct tr_package_options options_of(struct compiling *compiling, const char *store)
{
    const struct tr_arguments *arguments = &compiling->invocation->arguments;
    return (struct tr_package_options){
        .project = tr_arguments_value(arguments, "project"),
        .domain = tr_arguments_value(arguments, "domain"),
        .version = tr_arguments_value(arguments, "version"),
        .python = tr_arguments_value(arguments, "python"),
        .code = tr_arguments_value(arguments, "code"),
        .is_cold = tr_arguments_has(arguments, "no-warm"),
        .store = store,
        .note = store == NULL ? NULL : note,
        .find = find,
        .keep = compiling->entities == NULL ? NULL : keep,
        .self = compiling,
    };
}

/* Whether they send what runs on this machine otherwise to other machines. */
static bool sends_elsewhere(const struct tr_settings_file *settings)
{
    const struct tr_task_type *types = settings->task_types.items;
    for (size_t i = 0; i < settings->task_types.count; i++) {
        if (tr_text_equal(types[i].name, tr_text_of("process"))) {
            return !types[i].plugin->is_local;
        }
    }
    return false;
}

/*
 * What the settings say of images, and of where tasks run. A mistake in them is told as any command
 * tells it, and nothing is compiled.
 */
static int find_pythons(struct compiling *compiling, const char *store,
                        struct tr_package_options *options)
{
    if (tr_diagnostics_load_settings(compiling->invocation, store, &compiling->settings) !=
        TR_EXIT_DONE) {
        return TR_INVALID;
    }
    const struct tr_settings_python *rows = compiling->settings.pythons.items;
    size_t count = compiling->settings.pythons.count;
    struct tr_package_python *pythons =
        tr_arena_array(&compiling->settings.arena, count, sizeof *pythons);
    for (size_t i = 0; pythons != NULL && i < count; i++) {
        pythons[i] = (struct tr_package_python){.images = rows[i].images, .python = rows[i].python};
    }
    options->pythons = pythons;
    options->python_count = pythons == NULL ? 0 : count;
    options->is_elsewhere = sends_elsewhere(&compiling->settings);
    return compiling->settings.arena.error;
}

static void finish(struct compiling *compiling)
{
    tr_settings_fini(&compiling->settings);
    if (compiling->reader != NULL) {
        tr_reader_close(compiling->reader);
    }
}

static int compile(struct compiling *compiling, const char *file, const char *store,
                   struct tr_graph **graph)
{
    if (!tr_package_is(file)) {
        return tr_graph_check_file(file, compiling->report, graph);
    }
    struct tr_package_options options = options_of(compiling, store);
    int error = store == NULL ? 0 : find_pythons(compiling, store, &options);
    if (error == 0) {
        error = tr_package_compile(file, &options, compiling->report, graph);
    }
    finish(compiling);
    return error;
}

int tr_definition_compile(const struct tr_invocation *invocation, const char *file,
                          const char *store, struct tr_report *report, struct tr_graph **graph)
{
    struct compiling compiling = {.invocation = invocation, .report = report};
    return compile(&compiling, file, store, graph);
}

int tr_definition_apply(const struct tr_invocation *invocation, const char *file, const char *store,
                        struct tr_report *report, struct tr_graph **graph,
                        struct tr_buffer *entities)
{
    struct tr_buffer items;
    struct compiling compiling = {.invocation = invocation, .report = report, .entities = &items};
    tr_buffer_init(&items, 0);
    int error = compile(&compiling, file, store, graph);
    if (error == 0 && compiling.entity_count > 0) {
        tr_buffer_array(entities, compiling.entity_count);
        tr_buffer_add(entities, items.data, items.size);
        error = entities->error;
    }
    tr_buffer_fini(&items);
    return error;
}

int tr_definition_closure(const struct tr_invocation *invocation, const char *file,
                          struct tr_text name, struct tr_report *report, struct tr_buffer *closure)
{
    struct compiling compiling = {.invocation = invocation, .report = report};
    const struct tr_package_options options = options_of(&compiling, NULL);
    if (!tr_package_is(file)) {
        tri_report_add(report, (struct tri_place){0}, NULL,
                       "only what a package of Flyte's holds is written so\n"
                       "write it as json or yaml");
        tr_report_finish(report);
        return TR_INVALID;
    }
    int error = tr_package_closure(file, &options, name, report, closure);
    finish(&compiling);
    return error;
}
