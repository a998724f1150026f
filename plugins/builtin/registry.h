/*
 * All plugins that are linked in, for tr_engine, and those that need no header of their own.
 */
#ifndef TR_PLUGINS_BUILTIN_REGISTRY_H
#define TR_PLUGINS_BUILTIN_REGISTRY_H

#include "plugins/sdk/plugin.h"

extern const struct tr_plugin tr_echo_plugin;
extern const struct tr_plugin tr_sleep_plugin;

extern const struct tr_plugin *const tr_plugins[];
extern const size_t tr_plugin_count;

#endif
