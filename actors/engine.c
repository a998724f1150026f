/*
 * Finding a plugin, its endpoints and what else is known of it in the engine's tables.
 *
 * The tables are set up before anything runs and do not change, so any thread may read them. They
 * are short, and are searched from the front.
 */
#include "actors/engine.h"

#include <string.h>

#include "schemas/codec/codec.h"

static bool serves(const struct tr_plugin *plugin, struct tr_text task_type)
{
    for (const char *const *type = plugin->task_types; *type != NULL; type++) {
        if (tr_text_equal(tr_text_of(*type), task_type)) {
            return true;
        }
    }
    return false;
}

/* The plugin that the settings decide on; NULL: they say nothing. */
static const struct tr_plugin *decided(const struct tr_engine *engine, struct tr_text task_type)
{
    for (size_t i = 0; i < engine->task_type_count; i++) {
        if (tr_text_equal(engine->task_types[i].name, task_type)) {
            return engine->task_types[i].plugin;
        }
    }
    return NULL;
}

/*
 * The settings decide first, then the first plugin that names the task type, then the default one:
 * of the settings, or else the first that calls itself so. NULL: none serves it.
 */
const struct tr_plugin *tr_engine_plugin(const struct tr_engine *engine, struct tr_text task_type)
{
    const struct tr_plugin *standard = engine->default_plugin;
    const struct tr_plugin *said = decided(engine, task_type);
    if (said != NULL) {
        return said;
    }
    for (size_t i = 0; i < engine->plugin_count; i++) {
        if (serves(engine->plugins[i], task_type)) {
            return engine->plugins[i];
        }
        if (standard == NULL && engine->plugins[i]->is_default) {
            standard = engine->plugins[i];
        }
    }
    return standard;
}

/* The type in a packed map of Flyte's; empty: it says none. */
static struct tr_text flytes_type(struct tr_bytes extra)
{
    struct tr_cursor cursor = tr_cursor_of(extra);
    uint32_t count = extra.size == 0 ? 0 : tr_read_map(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        if (tr_text_equal(name, tr_text_of("type"))) {
            struct tr_text type = tr_read_text(&cursor);
            return cursor.error == 0 ? type : (struct tr_text){0};
        }
        (void)tr_read_any(&cursor);
    }
    return (struct tr_text){0};
}

const struct tr_plugin *tr_engine_plugin_of(const struct tr_engine *engine,
                                            struct tr_text task_type, struct tr_bytes extra)
{
    const struct tr_plugin *said =
        engine->task_type_count == 0 ? NULL : decided(engine, flytes_type(extra));
    return said != NULL ? said : tr_engine_plugin(engine, task_type);
}

const struct tr_plugin *tr_engine_plugin_by_id(const struct tr_engine *engine, struct tr_text id)
{
    for (size_t i = 0; i < engine->plugin_count; i++) {
        if (tr_text_equal(tr_text_of(engine->plugins[i]->id), id)) {
            return engine->plugins[i];
        }
    }
    return NULL;
}

/* Without a name the first endpoint of the plugin. */
const struct tr_engine_endpoint *tr_engine_endpoint(const struct tr_engine *engine,
                                                    const struct tr_plugin *plugin,
                                                    struct tr_text name)
{
    for (size_t i = 0; i < engine->endpoint_count; i++) {
        const struct tr_engine_endpoint *found = &engine->endpoints[i];
        if (found->plugin == plugin &&
            (name.size == 0 || tr_text_equal(found->endpoint.name, name))) {
            return found;
        }
    }
    return NULL;
}

const struct tr_engine_plugin *tr_engine_known(const struct tr_engine *engine,
                                               const struct tr_plugin *plugin)
{
    for (size_t i = 0; i < engine->known_count; i++) {
        if (engine->known[i].plugin == plugin) {
            return &engine->known[i];
        }
    }
    return NULL;
}

const char *tr_engine_quarantine(const struct tr_engine *engine, const struct tr_plugin *plugin)
{
    const struct tr_engine_plugin *known = tr_engine_known(engine, plugin);
    return known == NULL ? NULL : known->quarantine;
}

const char *tr_engine_resource(const struct tr_engine *engine, const struct tr_plugin *plugin)
{
    const struct tr_engine_plugin *known = tr_engine_known(engine, plugin);
    return known == NULL ? plugin->resource : known->resource;
}

/*
 * A crash within the call is the plugin's, not the actor's. Of a plugin that the program does not
 * list nothing is noted.
 */
void tr_engine_call_begins(struct tr_context *context, const struct tr_plugin *plugin,
                           const char *function)
{
    const struct tr_engine_plugin *known = tr_engine_known(tr_engine_of(context), plugin);
    if (known != NULL) {
        tr_attribute_crash(context, known->blame, function);
    }
}

void tr_engine_call_ends(struct tr_context *context)
{
    tr_attribute_crash(context, NULL, NULL);
}
