/*
 * Services by their names: found in the store, or begun.
 *
 * An engine that is alone spawns those that the store lacks. Of a host that works beside others
 * they are singletons, which begin once, whoever comes first.
 *
 * A store that an engine alone has served has services already, whose keys do not follow from their
 * names. They stay who they are, since executions know them: so a service is first looked for among
 * the actors of the store, and is a singleton only if it is not there.
 */
#include "deploy/engine/services.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/history/executions.h"
#include "runtime/host/host.h"
#include "runtime/journal/images.h"
#include "runtime/memory.h"
#include "schemas/engine/state_refresh.h"

#define RESOURCES_NAME "sys/resources"
#define CATALOG_NAME "sys/catalog"
#define NOTIFIER_NAME "sys/notifier"

/* How soon a place is asked again that is on its way to another host. */
#define AGAIN_MS 100

/* ---- Those of an engine that is alone. ------------------------------------------------------- */

/* Services that the store has are known before anything runs. */
static int find_services(struct tr_live *live)
{
    int error = tr_host_find(live->host, tr_text_of(RESOURCES_NAME), &live->engine->resources);
    if (error == 0 || error == TR_NOT_FOUND) {
        error = tr_host_find(live->host, tr_text_of(CATALOG_NAME), &live->engine->catalog);
    }
    if (error == 0 || error == TR_NOT_FOUND) {
        error = tr_host_find(live->host, tr_text_of(NOTIFIER_NAME), &live->engine->notifier);
    }
    if (error == 0 || error == TR_NOT_FOUND) {
        error = tr_host_find(live->host, tr_text_of(TR_SCHEDULES_NAME), &live->schedules);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

/* Those that are missing are spawned together, in one commit. */
static int spawn_services(struct tr_live *live)
{
    const struct tr_host_spawn_request all[] = {
        {&tr_resources_behaviour, {.name = tr_text_of(RESOURCES_NAME)}},
        {&tr_catalog_behaviour, {.name = tr_text_of(CATALOG_NAME)}},
        {&tr_notifier_behaviour, {.name = tr_text_of(NOTIFIER_NAME)}},
    };
    struct tr_ref *const services[] = {&live->engine->resources, &live->engine->catalog,
                                       &live->engine->notifier};
    struct tr_host_spawn_request spawns[TR_COUNT_OF(all)];
    struct tr_ref spawned[TR_COUNT_OF(all)];
    size_t count = 0;
    for (size_t i = 0; i < TR_COUNT_OF(all); i++) {
        if (tr_key_is_none(services[i]->key)) {
            spawns[count++] = all[i];
        }
    }
    int error = count > 0 ? tr_host_spawn_all(live->host, spawns, count, spawned) : 0;
    for (size_t i = TR_COUNT_OF(all); error == 0 && i > 0; i--) {
        if (tr_key_is_none(services[i - 1]->key)) {
            *services[i - 1] = spawned[--count];
        }
    }
    return error;
}

/* Of the actor of an endpoint. TR_LIMIT: it is too long for an address. */
static int name_backend(const struct tr_engine_endpoint *endpoint, char name[TR_NAME_BYTES_MAX + 1])
{
    int size =
        snprintf(name, TR_NAME_BYTES_MAX + 1, TR_REFRESH_NAME_BEGIN "%s/%.*s", endpoint->plugin->id,
                 (int)endpoint->endpoint.name.size, endpoint->endpoint.name.data);
    return size < 0 || size > TR_NAME_BYTES_MAX ? TR_LIMIT : 0;
}

/* Those of endpoints; `are_all`: nobody has to be spawned. */
static int find_backends(struct tr_host *host, struct tr_engine *engine, bool *are_all)
{
    bool are_there = true;
    for (size_t i = 0; i < engine->endpoint_count; i++) {
        char name[TR_NAME_BYTES_MAX + 1];
        int error = name_backend(&engine->endpoints[i], name);
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

static int spawn_backend(struct tr_host *host, struct tr_engine_endpoint *endpoint)
{
    char name[TR_NAME_BYTES_MAX + 1];
    struct tr_refresh_state state = {.engine_start = 0};
    int error = name_backend(endpoint, name);
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

/* Actors that may ask for one are dormant meanwhile. */
static int spawn_backends(struct tr_host *host, struct tr_engine *engine)
{
    int error = 0;
    for (size_t i = 0; i < engine->endpoint_count && error == 0; i++) {
        if (tr_key_is_none(engine->endpoints[i].refresh.key)) {
            error = spawn_backend(host, &engine->endpoints[i]);
        }
    }
    return error;
}

/* ---- Those of several hosts. ----------------------------------------------------------------- */

/* A service, and where the engine keeps who it is. */
struct service {
    char name[TR_NAME_BYTES_MAX + 1];
    const struct tr_behaviour *behaviour;
    struct tr_ref *ref;
    bool is_there;
};

struct services {
    struct service *items;
    size_t count;
};

static const struct {
    const char *name;
    const struct tr_behaviour *behaviour;
} fixed[] = {
    {RESOURCES_NAME, &tr_resources_behaviour},
    {CATALOG_NAME, &tr_catalog_behaviour},
    {NOTIFIER_NAME, &tr_notifier_behaviour},
    {TR_SCHEDULES_NAME, &tr_schedules_behaviour},
};

static int list_services(struct tr_live *live, struct services *services)
{
    struct tr_engine *engine = live->engine;
    struct tr_ref *const refs[] = {&engine->resources, &engine->catalog, &engine->notifier,
                                   &live->schedules};
    _Static_assert(TR_COUNT_OF(refs) == TR_COUNT_OF(fixed), "each has its place");
    size_t count = TR_COUNT_OF(fixed) + engine->endpoint_count;
    int error = 0;
    services->items = tr_alloc_zero(count, sizeof *services->items);
    if (services->items == NULL) {
        return TR_MEMORY;
    }
    for (size_t i = 0; i < TR_COUNT_OF(fixed); i++) {
        struct service *service = &services->items[services->count++];
        (void)snprintf(service->name, sizeof service->name, "%s", fixed[i].name);
        service->behaviour = fixed[i].behaviour;
        service->ref = refs[i];
    }
    for (size_t i = 0; error == 0 && i < engine->endpoint_count; i++) {
        struct service *service = &services->items[services->count++];
        error = name_backend(&engine->endpoints[i], service->name);
        service->behaviour = &tr_refresh_behaviour;
        service->ref = &engine->endpoints[i].refresh;
    }
    return error;
}

/* A root that has the name of a service, and is of its kind. */
static int take_image(void *self, const struct tr_actor_image *image)
{
    struct services *services = self;
    for (size_t i = 0; i < services->count; i++) {
        struct service *service = &services->items[i];
        if (service->behaviour->id == image->behaviour && tr_key_is_none(image->parent.key) &&
            tr_text_equal(image->name, tr_text_of(service->name))) {
            *service->ref = (struct tr_ref){.key = image->actor.key};
            service->is_there = true;
        }
    }
    return 0;
}

static int read_images(struct tr_reader *reader, struct services *services)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(fixed); i++) {
        error = tr_images_of_behaviour(reader, fixed[i].behaviour->id, take_image, services);
    }
    return error != 0
               ? error
               : tr_images_of_behaviour(reader, tr_refresh_behaviour.id, take_image, services);
}

static int find_singletons(struct tr_live *live, char *explain, bool *are_all)
{
    struct services services = {.count = 0};
    struct tr_reader *reader = NULL;
    bool are_there = true;
    int error = list_services(live, &services);
    if (error == 0) {
        error = tr_live_read(live, explain, &reader);
    }
    if (error == 0) {
        error = read_images(reader, &services);
        tr_live_read_end(live);
    }
    for (size_t i = 0; error == 0 && i < services.count; i++) {
        struct service *service = &services.items[i];
        are_there = are_there && service->is_there;
        if (!service->is_there) {
            error = tr_host_singleton_ref(live->host, tr_text_of(service->name), 0, service->ref);
        }
    }
    tr_free(services.items);
    if (error == 0) {
        *are_all = are_there;
    }
    return error;
}

/* Its place may be on its way to another host. */
static int begin_one(struct tr_live *live, const struct service *service)
{
    int error;
    do {
        struct tr_ref ref;
        error =
            tr_host_singleton(live->host, service->behaviour, tr_text_of(service->name), 0, &ref);
        if (error == TR_BUSY) {
            int polled = tr_host_poll(live->host, -1, AGAIN_MS);
            error = polled != 0 ? polled : error;
        }
        if (error == TR_BUSY) {
            (void)!tr_host_follow(live->host); /* what ends the host the poll says */
        }
    } while (error == TR_BUSY);
    return error;
}

/* Whether a service is where its name says; else it is one that the store has. */
static bool is_singleton(const struct tr_live *live, const struct service *service)
{
    struct tr_ref ref;
    return tr_host_singleton_ref(live->host, tr_text_of(service->name), 0, &ref) == 0 &&
           tr_key_equal(ref.key, service->ref->key);
}

static int begin_singletons(struct tr_live *live)
{
    struct services services = {.count = 0};
    int error = list_services(live, &services);
    for (size_t i = 0; error == 0 && i < services.count; i++) {
        if (is_singleton(live, &services.items[i])) {
            error = begin_one(live, &services.items[i]);
        }
    }
    tr_free(services.items);
    return error;
}

/* ---- What they are told. --------------------------------------------------------------------- */

/* Those whose driver has made devices. 0: none, and then nobody waits for one. */
static uint64_t count_gpus(void)
{
    glob_t found = {0};
    uint64_t count = glob("/dev/nvidia[0-9]*", GLOB_NOSORT, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* What this machine has. */
static int tell_machine(struct tr_live *live)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long pages = sysconf(_SC_PHYS_PAGES);
    struct tr_resource_quota machine = {
        .cpu_millis = cores < 1 ? 1000 : (uint64_t)cores * 1000,
        .memory_bytes = pages < 1 ? 0 : (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE),
        .gpu_count = count_gpus(),
        .host = live->engine->host,
        .incarnation = live->is_member ? live->host->store->incarnation : 0,
    };
    return tr_host_tell(live->host, live->engine->resources, &tr_resource_quota_schema, &machine);
}

/* How many slots each namespace has by the settings. */
static int tell_quotas(struct tr_live *live)
{
    int error = 0;
    const struct tr_settings_file *settings = live->settings;
    for (uint32_t i = 0; settings != NULL && error == 0 && i < settings->quotas.count; i++) {
        const struct tr_settings_quota *quotas = settings->quotas.items;
        struct tr_resource_quota quota = {
            .name = quotas[i].name, .slots = quotas[i].slots, .host = live->engine->host};
        error =
            tr_host_tell(live->host, live->engine->resources, &tr_resource_quota_schema, &quota);
    }
    return error;
}

/* Executions that one message names. */
#define DORMANT_AT_ONCE 512

static int tell_dormant_of(struct tr_live *live, const struct tr_resource_dormant *list)
{
    return tr_host_tell(live->host, live->engine->resources, &tr_resource_dormant_schema, list);
}

/*
 * Dormant executions must not keep others from what they have booked. Behind the quotas: what no
 * settings name any more has no bound, unless no settings were read.
 */
static int tell_dormant(struct tr_live *live)
{
    const struct tr_dormant *dormant = &live->dormant;
    uint64_t numbers[DORMANT_AT_ONCE];
    struct tr_resource_dormant list = {.executions = {.data = (const uint8_t *)numbers},
                                       .is_first = true,
                                       .has_all_quotas = live->settings != NULL,
                                       .host = live->engine->host};
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < dormant->count; i++) {
        if (list.executions.size == sizeof numbers) {
            error = tell_dormant_of(live, &list);
            list.executions.size = 0;
            list.is_first = false;
        }
        if (dormant->items[i].is_dormant) {
            numbers[list.executions.size / sizeof *numbers] = dormant->items[i].execution;
            list.executions.size += sizeof *numbers;
        }
    }
    list.is_last = true;
    return error != 0 ? error : tell_dormant_of(live, &list);
}

/* What the resource manager has to know of this engine. */
static int tell_services(struct tr_live *live)
{
    int error = tell_machine(live);
    if (error == 0) {
        error = tell_quotas(live);
    }
    return error != 0 ? error : tell_dormant(live);
}

/* ---- Both. ----------------------------------------------------------------------------------- */

int tr_services_find(struct tr_live *live, char *explain, bool *are_all)
{
    if (live->is_member) {
        return find_singletons(live, explain, are_all);
    }
    int error = find_services(live);
    return error != 0 ? error : find_backends(live->host, live->engine, are_all);
}

int tr_services_begin(struct tr_live *live, bool are_all)
{
    int error = live->is_member ? (are_all ? 0 : begin_singletons(live)) : spawn_services(live);
    if (error == 0) {
        error = tell_services(live);
    }
    return error != 0 || are_all || live->is_member ? error
                                                    : spawn_backends(live->host, live->engine);
}
