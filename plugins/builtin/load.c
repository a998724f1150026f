/*
 * Loading a plugin from a shared object: the one file that opens any.
 *
 * All of its symbols are bound at once, so that one that this program does not have is told now and
 * not in the middle of a task. Then the table is checked, from its first member on: of another
 * ABI nothing else is looked at.
 */
#include "plugins/builtin/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/sdk/webapi.h"
#include "schemas/codec/registry.h"

/* ----------------------------------------------------------------- the table */

/* A member that a shape needs. */
struct needed {
    const char *name;
    bool is_there;
};

static int refuse_missing(const struct needed *needed, size_t count, const char *shape,
                          char *problem, size_t problem_size)
{
    for (size_t i = 0; i < count; i++) {
        if (!needed[i].is_there) {
            return tr_config_refuse(problem, problem_size,
                                    "the table has no `%s`\na plugin of %s "
                                    "shape needs it",
                                    needed[i].name, shape);
        }
    }
    return 0;
}

static bool is_verb(const struct tr_webapi_verb *verb)
{
    return verb->items_max > 0 && verb->write != NULL && verb->read != NULL;
}

static int check_webapi(const struct tr_plugin *plugin, char *problem, size_t problem_size)
{
    const struct tr_webapi *webapi = plugin->webapi;
    bool is_findable = webapi->idempotency == TR_WEBAPI_IDEMPOTENCY_NONE ||
                       webapi->idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT ||
                       is_verb(&webapi->find) || tr_webapi_watch_of(plugin) != NULL;
    bool is_streamed = webapi->stream.write == NULL || webapi->stream.line != NULL;
    static const struct tr_webapi_watch none = {0};
    const struct tr_webapi_watch *watch = tr_webapi_watch_of(plugin);
    bool is_watched = watch != NULL;
    watch = is_watched ? watch : &none;
    const struct needed needed[] = {
        {"webapi->prepare", webapi->prepare != NULL},
        {"webapi->create", is_verb(&webapi->create)},
        {"webapi->status", is_verb(&webapi->status)},
        {"webapi->cancel", is_verb(&webapi->cancel)},
        {"webapi->find", is_findable},
        {"webapi->stream.line", is_streamed},
        {"webapi->watch->scope", !is_watched || watch->scope != NULL},
        {"webapi->watch->write_list", !is_watched || watch->write_list != NULL},
        {"webapi->watch->item", !is_watched || watch->item != NULL},
        {"webapi->watch->rest", !is_watched || watch->rest != NULL},
        {"webapi->stream.write", !is_watched || webapi->stream.write != NULL},
        {"abort", plugin->abort != NULL},
        {"state", plugin->state != NULL},
    };
    if (plugin->handle != tr_webapi_handle || plugin->abort != tr_webapi_abort) {
        return tr_config_refuse(problem, problem_size,
                                "its functions are not those of the Web API shape\nwrite "
                                "TR_WEBAPI_PLUGIN_FUNCTIONS into the table (plugins/sdk/webapi.h)");
    }
    if (webapi->idempotency > TR_WEBAPI_IDEMPOTENCY_EXACT) {
        return tr_config_refuse(
            problem, problem_size,
            "its idempotency level is %u\nwrite one of enum tr_webapi_idempotency",
            webapi->idempotency);
    }
    return refuse_missing(needed, TR_COUNT_OF(needed), "the Web API", problem, problem_size);
}

/* A state of the Web API shape begins with the framework's own fields. */
static int check_attempt_fields(const struct tr_schema *state, char *problem, size_t problem_size)
{
    static const char *const names[] = {
#define TRI_NAME(kind, name, since, marks) #name,
#define TRI_ARRAY_NAME(kind, name, capacity, since, marks) #name,
        TR_WEBAPI_ATTEMPT_FIELDS(TRI_NAME, TRI_ARRAY_NAME)
#undef TRI_NAME
#undef TRI_ARRAY_NAME
    };
    const struct tr_field *fields = state->fields();
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (i >= state->field_count || strcmp(fields[i].name, names[i]) != 0) {
            return tr_config_refuse(problem, problem_size,
                                    "field %zu of its state is not `%s`\nbegin the state's fields "
                                    "with TR_WEBAPI_ATTEMPT_FIELDS",
                                    i + 1, names[i]);
        }
    }
    return 0;
}

static int check_state(const struct tr_plugin *plugin, const struct tr_plugin *const *others,
                       size_t other_count, char *problem, size_t problem_size)
{
    char explain[TR_REGISTRY_EXPLAIN_BYTES];
    const struct tr_schema *state = plugin->state;
    if (state->role != TR_STATE || state->id < TR_PLUGIN_STATE_ID_MIN ||
        state->id > TR_PLUGIN_STATE_ID_MAX) {
        return tr_config_refuse(problem, problem_size,
                                "its state is a %s with the id %u\nmake it a state with an id from "
                                "%d to %d, which no other plugin of yours has",
                                tr_schema_role_name(state->role), state->id, TR_PLUGIN_STATE_ID_MIN,
                                TR_PLUGIN_STATE_ID_MAX);
    }
    if (tr_schema_check(state, explain) != 0) {
        return tr_config_refuse(problem, problem_size, "its state makes no sense: %s", explain);
    }
    for (size_t i = 0; i < other_count; i++) {
        const struct tr_schema *other = others[i]->state;
        if (other != NULL && other->id == state->id) {
            return tr_config_refuse(problem, problem_size,
                                    "its state has the id %u, and so has that of '%s'\ngive it "
                                    "another one, which no other plugin of yours has",
                                    state->id, others[i]->id);
        }
    }
    return plugin->webapi == NULL ? 0 : check_attempt_fields(state, problem, problem_size);
}

static int check_name(const struct tr_plugin *plugin, struct tr_text id,
                      const struct tr_plugin *const *others, size_t other_count, char *problem,
                      size_t problem_size)
{
    if (plugin->id == NULL || !tr_text_equal(tr_text_of(plugin->id), id)) {
        return tr_config_refuse(problem, problem_size,
                                "it is called '%.60s'\nname it so in the settings",
                                plugin->id == NULL ? "" : plugin->id);
    }
    for (size_t i = 0; i < other_count; i++) {
        if (tr_text_equal(tr_text_of(others[i]->id), id)) {
            return tr_config_refuse(problem, problem_size,
                                    "there is a plugin '%s' already\ngive one of them another id",
                                    plugin->id);
        }
    }
    if (plugin->task_types == NULL) {
        return tr_config_refuse(problem, problem_size,
                                "it has no task types\ngive it a list that ends with NULL, which "
                                "may be empty");
    }
    return 0;
}

int tr_plugin_check(const struct tr_plugin *plugin, struct tr_text id,
                    const struct tr_plugin *const *others, size_t other_count, char *problem,
                    size_t problem_size)
{
    const struct needed handle = {"handle", plugin->handle != NULL};
    const char *shape = plugin->webapi == NULL ? "the core" : "the Web API";
    int error = check_name(plugin, id, others, other_count, problem, problem_size);
    if (error == 0) {
        error = refuse_missing(&handle, 1, shape, problem, problem_size);
    }
    if (error == 0 && plugin->webapi != NULL) {
        error = check_webapi(plugin, problem, problem_size);
    }
    return error == 0 && plugin->state != NULL
               ? check_state(plugin, others, other_count, problem, problem_size)
               : error;
}

/* ------------------------------------------------------------------ the file */

static int hash_mapped(int file, char version[TR_PLUGIN_VERSION_BYTES_MAX])
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0 ||
        about.st_size > TR_PLUGIN_FILE_BYTES_MAX) {
        errno = EINVAL;
        return TR_SYSTEM;
    }
    size_t size = (size_t)about.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        return TR_SYSTEM;
    }
    uint64_t hash = 0xcbf29ce484222325U; /* FNV-1a: it tells files apart, and guards nothing */
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3U;
    }
    munmap(bytes, size);
    snprintf(version, TR_PLUGIN_VERSION_BYTES_MAX, "%016" PRIx64, hash);
    return 0;
}

static int hash_file(const char *path, char version[TR_PLUGIN_VERSION_BYTES_MAX], char *problem,
                     size_t problem_size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error = file < 0 ? TR_SYSTEM : hash_mapped(file, version);
    if (error != 0) {
        const char *why = errno == EINVAL ? "it is no file of a plugin's size" : strerror(errno);
        (void)tr_config_refuse(problem, problem_size,
                               "%.300s cannot be read: %s\nname the shared object of a plugin",
                               path, why);
    }
    if (file >= 0) {
        close(file);
    }
    return error == 0 ? 0 : TR_INVALID;
}

/* The table in a shared object, whose ABI is this program's. */
static int open_table(const char *path, char *problem, size_t problem_size,
                      const struct tr_plugin **plugin)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return tr_config_refuse(problem, problem_size,
                                "it cannot be loaded: %.400s\nbuild it with `cc -shared -fPIC` and "
                                "the headers of this troupe",
                                dlerror());
    }
    const struct tr_plugin *table = dlsym(library, TR_PLUGIN_SYMBOL);
    if (table == NULL) {
        return tr_config_refuse(problem, problem_size,
                                "%.300s has no symbol `" TR_PLUGIN_SYMBOL "`\nexport the plugin's "
                                "table: const struct tr_plugin " TR_PLUGIN_SYMBOL,
                                path);
    }
    if (table->abi < TR_PLUGIN_ABI_OLDEST || table->abi > TR_PLUGIN_ABI) {
        return tr_config_refuse(problem, problem_size,
                                "%.300s is built for version %u of the plugins' interface, and "
                                "this troupe has version %u\nbuild it again with the headers of "
                                "this troupe",
                                path, table->abi, TR_PLUGIN_ABI);
    }
    *plugin = table;
    return 0;
}

int tr_plugin_load(const char *path, struct tr_text id, const struct tr_plugin *const *others,
                   size_t other_count, char version[TR_PLUGIN_VERSION_BYTES_MAX], char *problem,
                   size_t problem_size, const struct tr_plugin **plugin)
{
    const struct tr_plugin *table = NULL;
    int error = hash_file(path, version, problem, problem_size);
    if (error == 0) {
        error = open_table(path, problem, problem_size, &table);
    }
    if (error == 0) {
        error = tr_plugin_check(table, id, others, other_count, problem, problem_size);
    }
    if (error == 0) {
        *plugin = table;
    }
    return error;
}
