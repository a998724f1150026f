/*
 * All plugins that are linked in, for tr_engine.
 */
#ifndef TR_PLUGINS_REGISTRY_H
#define TR_PLUGINS_REGISTRY_H

#include "plugins/plugin.h"

extern const struct tr_plugin tr_armada_plugin;
extern const struct tr_plugin tr_echo_plugin;
extern const struct tr_plugin tr_http_plugin;
extern const struct tr_plugin tr_process_plugin;
extern const struct tr_plugin tr_sleep_plugin;

extern const struct tr_plugin *const tr_plugins[];
extern const size_t tr_plugin_count;

#endif
