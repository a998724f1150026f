/*
 * Finding a plugin, its endpoints and what else is known of it in the engine's tables.
 *
 * The tables are set up before anything runs and do not change, so any thread may read them. They
 * are short, and are searched from the front.
 */
#include "actors/engine.h"

#include <string.h>

static bool serves(const struct tr_plugin *plugin, struct tr_text task_type)
{
    for (const char *const *type = plugin->task_types; *type != NULL; type++) {
        if (tr_text_equal(tr_text_of(*type), task_type)) {
            return true;
        }
    }
    return false;
}

/*
 * The settings decide first, then the first plugin that names the task type, then the default one:
 * of the settings, or else the first that calls itself so. NULL: none serves it.
 */
const struct tr_plugin *tr_engine_plugin(const struct tr_engine *engine, struct tr_text task_type)
{
    const struct tr_plugin *standard = engine->default_plugin;
    for (size_t i = 0; i < engine->task_type_count; i++) {
        if (tr_text_equal(engine->task_types[i].name, task_type)) {
            return engine->task_types[i].plugin;
        }
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
