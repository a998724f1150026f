/*
 * sys/refresh/PLUGIN/ENDPOINT: found by that name, or spawned with a state that says which back end
 * it is for. Among several hosts it is a singleton, which knows that by its name.
 */
#include "deploy/engine/backends.h"

#include <stdio.h>

#include "schemas/engine/state_refresh.h"

#define NAME_BYTES (TR_NAME_BYTES_MAX + 1)

static int name_of(const struct tr_engine_endpoint *endpoint, char name[NAME_BYTES])
{
    int size = snprintf(name, NAME_BYTES, TR_REFRESH_NAME_BEGIN "%s/%.*s", endpoint->plugin->id,
                        (int)endpoint->endpoint.name.size, endpoint->endpoint.name.data);
    return size < 0 || size >= NAME_BYTES ? TR_LIMIT : 0;
}

int tr_backends_find(struct tr_host *host, struct tr_engine *engine, bool *are_all)
{
    bool are_there = true;
    for (size_t i = 0; i < engine->endpoint_count; i++) {
        char name[NAME_BYTES];
        int error = name_of(&engine->endpoints[i], name);
        if (error == 0) {
            error = tr_host_find(host, tr_text_of(name), &engine->endpoints[i].refresh);
        }
        if (error != 0 && error != TR_NOT_FOUND) {
            return error;
        }
        are_there = are_there && error == 0;
    }
    *are_all = are_there;
    return 0;
}

static int spawn(struct tr_host *host, struct tr_engine_endpoint *endpoint)
{
    char name[NAME_BYTES];
    struct tr_refresh_state state = {.engine_start = 0};
    int error = name_of(endpoint, name);
    if (error != 0) {
        return error;
    }
    error = tr_array_set(&state.plugin, tr_text_of(endpoint->plugin->id));
    if (error != 0) {
        return error;
    }
    error = tr_array_set(&state.endpoint, endpoint->endpoint.name);
    if (error != 0) {
        return error;
    }
    struct tr_spawn_options options = {.name = tr_text_of(name), .state = &state};
    return tr_host_spawn(host, &tr_refresh_behaviour, &options, &endpoint->refresh);
}

int tr_backends_spawn(struct tr_host *host, struct tr_engine *engine)
{
    int error = 0;
    for (size_t i = 0; i < engine->endpoint_count && error == 0; i++) {
        if (tr_key_is_none(engine->endpoints[i].refresh.key)) {
            error = spawn(host, &engine->endpoints[i]);
        }
    }
    return error;
}

int tr_backends_begin(struct tr_host *host, struct tr_engine *engine)
{
    int error = 0;
    for (size_t i = 0; i < engine->endpoint_count && error == 0; i++) {
        char name[NAME_BYTES];
        error = name_of(&engine->endpoints[i], name);
        if (error == 0) {
            error = tr_host_singleton(host, &tr_refresh_behaviour, tr_text_of(name), 0,
                                      &engine->endpoints[i].refresh);
        }
    }
    return error;
}
