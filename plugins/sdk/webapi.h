/*
 * The task's side of the Web API shape: the functions of a plugin whose author fills in a struct
 * tr_webapi (schemas/engine/webapi.h), for plugins that are linked in and from shared objects
 * alike.
 *
 *     static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
 *     {
 *         return tr_webapi_check(task, keys, TR_COUNT_OF(keys), problem, problem_size);
 *     }
 *
 *     const struct tr_plugin tr_mine_plugin = {
 *         .abi = TR_PLUGIN_ABI,
 *         .id = "mine",
 *         .task_types = task_types,
 *         .state = &tr_mine_attempt_schema,    (begins with TR_WEBAPI_ATTEMPT_FIELDS)
 *         .check = check,
 *         .webapi = &shape,
 *         TR_WEBAPI_PLUGIN_FUNCTIONS,
 *     };
 *
 * A task tells the refresh actor of its endpoint what to make, and from then on hears news of it
 * (schemas/engine/refresh.h). It asks nothing outside itself, so there is nothing of it to be
 * repeated: an attempt whose state was lost has its job looked for by its identity, never made
 * anew.
 */
#ifndef TR_PLUGINS_SDK_WEBAPI_H
#define TR_PLUGINS_SDK_WEBAPI_H

#include "plugins/sdk/plugin.h"

/* The members of a struct tr_plugin that the framework has. */
#define TR_WEBAPI_PLUGIN_FUNCTIONS \
    .handle = tr_webapi_handle, .abort = tr_webapi_abort, .finalize = tr_webapi_finalize

/* As the functions of struct tr_plugin. A plugin with cleaning of its own calls finalize first. */
int tr_webapi_handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                     struct tr_transition *transition);
int tr_webapi_abort(struct tr_task_context *task, void *state, bool is_hard,
                    const struct tr_task_event *event, struct tr_transition *transition);
int tr_webapi_finalize(struct tr_task_context *task, void *state, uint8_t phase);

/* The most keys that a plugin's tasks have beside those of the framework. */
#define TR_WEBAPI_KEYS_MAX 32

/*
 * Checks a task's `config`: the framework's keys (`endpoint: NAME`, `in_doubt: fail|repeat`) and
 * the plugin's. 0, or TR_INVALID with words.
 */
TR_MUST_USE int tr_webapi_check(const struct tr_task_template *task,
                                const struct tr_config_key *keys, size_t key_count, char *problem,
                                size_t problem_size);

/* The task's endpoint by its `config`, else the plugin's first one; NULL: there is none. */
const struct tr_webapi_endpoint *tr_webapi_endpoint(struct tr_task_context *task);

#endif
