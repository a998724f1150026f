/*
 * The table of plugins.
 */
#include "plugins/builtin/registry.h"

#include "plugins/armada/armada.h"
#include "plugins/http/http.h"
#include "plugins/kubernetes/kubernetes.h"
#include "plugins/process/process.h"

const struct tr_plugin *const tr_plugins[] = {&tr_process_plugin, &tr_echo_plugin,
                                              &tr_sleep_plugin,   &tr_armada_plugin,
                                              &tr_http_plugin,    &tr_kubernetes_plugin};

const size_t tr_plugin_count = TR_COUNT_OF(tr_plugins);
