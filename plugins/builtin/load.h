/*
 * Plugins that are not linked in: a shared object each, built against the installed headers.
 *
 *     const struct tr_plugin tr_plugin_table = {.abi = TR_PLUGIN_ABI, .id = "mine", ...};
 *
 * is all that one exports. What is refused is refused before any function of it has been called.
 * A loaded one stays until the process ends, since actors hold its table.
 */
#ifndef TR_PLUGINS_BUILTIN_LOAD_H
#define TR_PLUGINS_BUILTIN_LOAD_H

#include "plugins/sdk/plugin.h"

/* The name of the table that a shared object exports. */
#define TR_PLUGIN_SYMBOL "tr_plugin_table"

/* Ids of the states of plugins that are not linked in; each plugin takes one of its own. */
#define TR_PLUGIN_STATE_ID_MIN 10000
#define TR_PLUGIN_STATE_ID_MAX 60000

/* The largest shared object. */
#define TR_PLUGIN_FILE_BYTES_MAX (256U << 20)

/* What a loaded plugin is known by: a digest of its file, in hexadecimal digits. */
#define TR_PLUGIN_VERSION_BYTES_MAX 17

/*
 * Loads the plugin in a file. It has to be called `id`, and none of `others` may be it: neither its
 * id nor the id of its state. TR_INVALID: `problem` says what was expected and what to do, with a
 * line feed between the two; TR_MEMORY.
 */
TR_MUST_USE int tr_plugin_load(const char *path, struct tr_text id,
                               const struct tr_plugin *const *others, size_t other_count,
                               char version[TR_PLUGIN_VERSION_BYTES_MAX], char *problem,
                               size_t problem_size, const struct tr_plugin **plugin);

/* What is wrong with a table; 0 or TR_INVALID with words, as above. */
TR_MUST_USE int tr_plugin_check(const struct tr_plugin *plugin, struct tr_text id,
                                const struct tr_plugin *const *others, size_t other_count,
                                char *problem, size_t problem_size);

#endif
