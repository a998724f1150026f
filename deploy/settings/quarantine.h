/*
 * What is known of an engine's plugins beside their tables: where each comes from, how often it has
 * ended the engine, and whether it is called any more.
 *
 * A plugin is counted under its id and its version: that of its file, or of the program. So one
 * that was repaired begins anew.
 */
#ifndef TR_DEPLOY_SETTINGS_QUARANTINE_H
#define TR_DEPLOY_SETTINGS_QUARANTINE_H

#include "deploy/settings/settings.h"
#include "runtime/troupe.h"

/* How often a plugin may end the engine before it is not called any more. */
#define TR_QUARANTINE_ENDS 2

struct tr_plugin_standing {
    struct tr_engine_plugin known;
    const char *version;
    const char *path; /* of its shared object; NULL: it is linked in */
    uint32_t ends;    /* how often it has ended the engine */
    const char *how;  /* it did so the last time: "SIGSEGV in `handle`"; "" */
};

/* The parts that have ended the engine of a store. */
struct tr_quarantine_parts {
    struct tr_crash_part items[TR_CRASH_ATTRIBUTIONS_MAX];
    size_t count;
};

/*
 * How all plugins of the settings (NULL: those that are linked in) stand by these parts, in the
 * memory of `arena`; NULL and 0 without any.
 */
const struct tr_plugin_standing *tr_quarantine_read(const struct tr_quarantine_parts *parts,
                                                    const struct tr_settings_file *settings,
                                                    struct tr_arena *arena, size_t *count);

/* The same, as an engine has it: struct tr_engine.known. TR_MEMORY. */
TR_MUST_USE int tr_quarantine_apply(const struct tr_quarantine_parts *parts,
                                    const struct tr_settings_file *settings, struct tr_arena *arena,
                                    struct tr_engine *engine);

/* Whether a part is a plugin, in any of its versions; `id` is its id, a string. */
bool tr_quarantine_is_of(const void *id, const struct tr_crash_part *part);

#endif
