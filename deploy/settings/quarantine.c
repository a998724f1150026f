/*
 * Plugins in quarantine: those of the settings beside the store's list of those that ended the
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
static const char *how_of(struct tr_arena *arena, const struct tr_crash_attribution *crashes)
{
    const char *name = sigabbrev_np((int)crashes->ended_by);
    if (crashes->ended_by == TR_CRASH_STUCK) {
        return TEXT("`%s` did not return", crashes->function);
    }
    return name == NULL ? TEXT("signal %u in `%s`", crashes->ended_by, crashes->function)
                        : TEXT("SIG%s in `%s`", name, crashes->function);
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
                 const struct tr_crash_attribution *crashes, size_t crash_count,
                 struct tr_arena *arena)
{
    const struct tr_plugin *plugin = standing->known.plugin;
    const struct tr_settings_plugin *loaded = loaded_of(settings, plugin);
    standing->path = loaded == NULL ? NULL : loaded->path;
    standing->version = loaded == NULL ? TR_PROGRAM_VERSION : loaded->version;
    standing->known.blame = TEXT("%s %s", plugin->id, standing->version);
    bound(settings, &standing->known);
    standing->how = "";
    for (size_t i = 0; i < crash_count && standing->known.blame != NULL; i++) {
        if (strcmp(crashes[i].part, standing->known.blame) == 0) {
            standing->ends = crashes[i].count;
            standing->how = how_of(arena, &crashes[i]);
        }
    }
    if (standing->ends >= TR_QUARANTINE_ENDS) {
        standing->known.quarantine = words_of(arena, standing);
    }
}

const struct tr_plugin_standing *tr_quarantine_read(const char *folder,
                                                    const struct tr_settings_file *settings,
                                                    struct tr_arena *arena, size_t *count)
{
    struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX];
    struct tr_engine engine = {.plugin_count = 0};
    size_t crash_count = tr_crash_attributions_read(folder, crashes);
    tr_settings_tables(settings, &engine);
    struct tr_plugin_standing *standings =
        tr_arena_array(arena, engine.plugin_count, sizeof *standings);
    *count = standings == NULL ? 0 : engine.plugin_count;
    for (size_t i = 0; i < *count; i++) {
        standings[i].known.plugin = engine.plugins[i];
        fill(&standings[i], settings, crashes, crash_count, arena);
    }
    return standings;
}

int tr_quarantine_apply(const char *folder, const struct tr_settings_file *settings,
                        struct tr_arena *arena, struct tr_engine *engine)
{
    size_t count;
    const struct tr_plugin_standing *standings =
        tr_quarantine_read(folder, settings, arena, &count);
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

/* Whether it is of this plugin: its id, and a version behind it. */
static bool is_of(const void *self, const struct tr_crash_attribution *crashes)
{
    size_t size = strlen(self);
    return strncmp(crashes->part, self, size) == 0 && crashes->part[size] == ' ';
}

int tr_quarantine_lift(const char *folder, const char *id)
{
    return tr_crash_attributions_forget(folder, is_of, id);
}
