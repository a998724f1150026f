/*
 * Plugins in quarantine: those of the settings beside the store's rows of those that ended the
 * engine.
 */
#include "deploy/settings/quarantine.h"

#include <stdio.h>
#include <string.h>

#include "deploy/common/program.h"
#include "runtime/troupe.h"

/* A format's text in the arena's memory, which ends with a zero. */
#define TEXT(...) tr_arena_print(arena, __VA_ARGS__).data

static const struct tr_settings_plugin *loaded_of(const struct tr_settings_file *settings,
                                                  const struct tr_plugin *plugin)
{
    const struct tr_settings_plugin *loaded = settings == NULL ? NULL : settings->loaded.items;
    for (uint32_t i = 0; loaded != NULL && i < settings->loaded.count; i++) {
        if (loaded[i].plugin == plugin) {
            return &loaded[i];
        }
    }
    return NULL;
}

/* "SIGSEGV in `handle`" */
static const char *how_of(struct tr_arena *arena, const struct tr_crash_part *part)
{
    const char *name = sigabbrev_np((int)part->ended_by);
    struct tr_text function = tr_array_get(&part->function);
    if (part->ended_by == TR_CRASH_STUCK) {
        return TEXT("`%.*s` did not return", TRI_TEXT(function));
    }
    return name == NULL ? TEXT("signal %u in `%.*s`", part->ended_by, TRI_TEXT(function))
                        : TEXT("SIG%s in `%.*s`", name, TRI_TEXT(function));
}

/* Why it is not called, and what to do about it. */
static const char *words_of(struct tr_arena *arena, const struct tr_plugin_standing *standing)
{
    const char *id = standing->known.plugin->id;
    const char *remedy =
        standing->path == NULL ? "a newer troupe" : TEXT("a changed %s", standing->path);
    return TEXT(
        "the plugin '%s' is in quarantine: it has ended the engine %u times (the last time: "
        "%s); %s lifts that, and so does `troupe plugins --release %s`, from the next start "
        "of the engine on",
        id, standing->ends, standing->how, remedy, id);
}

/* A quota of a plugin's own name bounds it, where it has no other namespace. */
static void bound(const struct tr_settings_file *settings, struct tr_engine_plugin *known)
{
    const struct tr_settings_quota *quotas = settings == NULL ? NULL : settings->quotas.items;
    const struct tr_plugin *plugin = known->plugin;
    const char *name = plugin->resource != NULL ? plugin->resource : plugin->id;
    known->resource = plugin->resource;
    for (uint32_t i = 0; quotas != NULL && i < settings->quotas.count; i++) {
        if (tr_text_equal(quotas[i].name, tr_text_of(name))) {
            known->resource = name;
            known->per_project = quotas[i].per_project;
            known->per_domain = quotas[i].per_domain;
        }
    }
}

static void fill(struct tr_plugin_standing *standing, const struct tr_settings_file *settings,
                 const struct tr_quarantine_parts *parts, struct tr_arena *arena)
{
    const struct tr_plugin *plugin = standing->known.plugin;
    const struct tr_settings_plugin *loaded = loaded_of(settings, plugin);
    standing->path = loaded == NULL ? NULL : loaded->path;
    standing->version = loaded == NULL ? TR_PROGRAM_VERSION : loaded->version;
    standing->known.blame = TEXT("%s %s", plugin->id, standing->version);
    bound(settings, &standing->known);
    standing->how = "";
    for (size_t i = 0; i < parts->count && standing->known.blame != NULL; i++) {
        const struct tr_crash_part *part = &parts->items[i];
        if (tr_text_equal(tr_array_get(&part->part), tr_text_of(standing->known.blame))) {
            standing->ends = part->ends;
            standing->how = how_of(arena, part);
        }
    }
    if (standing->ends >= TR_QUARANTINE_ENDS) {
        standing->known.quarantine = words_of(arena, standing);
    }
}

const struct tr_plugin_standing *tr_quarantine_read(const struct tr_quarantine_parts *parts,
                                                    const struct tr_settings_file *settings,
                                                    struct tr_arena *arena, size_t *count)
{
    struct tr_engine engine = {.plugin_count = 0};
    tr_settings_tables(settings, &engine);
    struct tr_plugin_standing *standings =
        tr_arena_array(arena, engine.plugin_count, sizeof *standings);
    *count = standings == NULL ? 0 : engine.plugin_count;
    for (size_t i = 0; i < *count; i++) {
        standings[i].known.plugin = engine.plugins[i];
        fill(&standings[i], settings, parts, arena);
    }
    return standings;
}

int tr_quarantine_apply(const struct tr_quarantine_parts *parts,
                        const struct tr_settings_file *settings, struct tr_arena *arena,
                        struct tr_engine *engine)
{
    size_t count;
    const struct tr_plugin_standing *standings = tr_quarantine_read(parts, settings, arena, &count);
    struct tr_engine_plugin *known = tr_arena_array(arena, count, sizeof *known);
    for (size_t i = 0; known != NULL && i < count; i++) {
        known[i] = standings[i].known;
    }
    if (arena->error != 0) {
        return arena->error;
    }
    engine->known = known;
    engine->known_count = count;
    return 0;
}

bool tr_quarantine_is_of(const void *id, const struct tr_crash_part *part)
{
    struct tr_text name = tr_array_get(&part->part);
    size_t size = strlen(id);
    return name.size > size && memcmp(name.data, id, size) == 0 && name.data[size] == ' ';
}
