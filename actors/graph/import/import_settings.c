/*
 * How a task is run, as tasks say it and nodes override it.
 *
 * Each part that is given sets its bit, also where it is wrong: a node must not fall back to its
 * task's while an error about it is pending.
 */
#include <string.h>

#include "actors/graph/import/import_inside.h"

#define NANOSECONDS 1000000000LL

static void give(const struct tri_import_settings *given, enum tri_setting setting,
                 const char *field)
{
    if (given->first != NULL && given->settings->given == 0) {
        *given->first = (struct tri_name){.text = tr_text_of(field)};
    }
    given->settings->given |= setting;
}

/* ------------------------------------------------------------------ attempts */

bool tri_import_retries(struct tri_import *import, const Flyteidl__Core__RetryStrategy *strategy,
                        const struct tri_import_settings *given)
{
    if (strategy == NULL || strategy->retries == 0) {
        return true;
    }
    give(given, TRI_RETRIES, "retries");
    given->settings->settings.retries = strategy->retries;
    if (strategy->retries > TR_RETRIES_MAX) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "%u is no value for 'retries'\nwrite a whole number from 0 to %u",
                       strategy->retries, TR_RETRIES_MAX);
    }
    return strategy->retries <= TR_RETRIES_MAX;
}

bool tri_import_duration(struct tri_import *import, const char *field,
                         const Google__Protobuf__Duration *value, int64_t *nanoseconds)
{
    int64_t sum;
    *nanoseconds = 0;
    if (value == NULL || (value->seconds == 0 && value->nanos == 0)) {
        return true;
    }
    bool is_one = !__builtin_mul_overflow(value->seconds, NANOSECONDS, &sum) &&
                  !__builtin_add_overflow(sum, (int64_t)value->nanos, &sum) && sum > 0;
    if (!is_one) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "%lld seconds are no value for '%s'\n"
                       "give a positive duration of at most 292 years",
                       (long long)value->seconds, field);
        return false;
    }
    *nanoseconds = sum;
    return true;
}

bool tri_import_timeout(struct tri_import *import, const Google__Protobuf__Duration *timeout,
                        const struct tri_import_settings *given)
{
    int64_t nanoseconds;
    bool is_fine = tri_import_duration(import, "timeout", timeout, &nanoseconds);
    if (!is_fine || nanoseconds > 0) {
        give(given, TRI_TIMEOUT, "timeout");
        given->settings->settings.timeout_ns = nanoseconds;
    }
    return is_fine;
}

void tri_import_interruptible(bool is_interruptible, const struct tri_import_settings *given)
{
    give(given, TRI_INTERRUPTIBLE, "interruptible");
    given->settings->settings.is_interruptible = is_interruptible;
}

/* ------------------------------------------------------------------ resources */

static bool read_amount(struct tri_import *import, Flyteidl__Core__Resources__ResourceName name,
                        const char *value, struct tr_resources *asked)
{
    /* In the order of flyteidl's Resources.ResourceName; 0 is UNKNOWN. */
    static const char *const names[] = {NULL,     "cpu",     "gpu",
                                        "memory", "storage", "ephemeral_storage"};
    uint64_t *const units[] = {NULL,
                               &asked->cpu_millis,
                               &asked->gpu_count,
                               &asked->memory_bytes,
                               &asked->storage_bytes,
                               &asked->ephemeral_storage_bytes};
    uint64_t millis;
    if (name <= 0 || (size_t)name >= TR_COUNT_OF(names)) {
        return true;
    }
    struct tr_text before = tri_import_begin(import, "resources.", names[name]);
    bool is_fine =
        tri_keys_quantity(import->definition, tr_text_of(value), TRI_IMPORT_NOWHERE, &millis);
    (void)tri_report_subject(import->report, before);
    if (is_fine) {
        bool is_cpu = name == FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__CPU;
        *units[name] = is_cpu ? millis : (millis + 999) / 1000;
    }
    return is_fine;
}

/*
 * Requests are what a task has to have free; limits stand in for them where there are none, as in
 * Kubernetes.
 */
bool tri_import_resources(struct tri_import *import, const Flyteidl__Core__Resources *resources,
                          const struct tri_import_settings *given)
{
    bool has_requests = resources != NULL && resources->n_requests > 0;
    size_t count = resources == NULL ? 0
                   : has_requests    ? resources->n_requests
                                     : resources->n_limits;
    bool is_fine = true;
    for (size_t i = 0; i < count; i++) {
        const Flyteidl__Core__Resources__ResourceEntry *entry =
            has_requests ? resources->requests[i] : resources->limits[i];
        is_fine =
            read_amount(import, entry->name, entry->value, &given->settings->settings.resources) &&
            is_fine;
    }
    const struct tr_resources none = {.cpu_millis = 0};
    if (memcmp(&given->settings->settings.resources, &none, sizeof none) != 0) {
        give(given, TRI_RESOURCES, "resources");
    }
    return is_fine;
}

/* ------------------------------------------------------------------ images */

bool tri_import_image(struct tri_import *import, const char *image, struct tr_text path,
                      const struct tri_import_settings *given)
{
    struct tr_settings *settings = &given->settings->settings;
    struct tr_environment *items = tr_arena_array(import->definition->arena, 2, sizeof *items);
    if (items == NULL) {
        return false;
    }
    items[0] = (struct tr_environment){.name = tr_text_of("FLYTE_INTERNAL_IMAGE"),
                                       .value = tri_import_keep(import, tr_text_of(image))};
    items[1] = (struct tr_environment){
        .name = tr_text_of("PATH"), .value = tri_import_keep(import, path), .is_passed_on = true};
    settings->environment = items;
    settings->environment_count = path.size > 0 ? 2 : 1;
    give(given, TRI_ENVIRONMENT, "env");
    return true;
}

/* ------------------------------------------------------------------ caches */

/*
 * Made before the task is changed into what runs here, and kept: of a task that is not cached by
 * itself it is made for the first node that wants it.
 */
struct tr_text tri_import_signature(struct tri_import *import, const flyte_task *task)
{
    const struct tri_import_signed *known = import->signatures.items;
    for (uint32_t i = 0; i < import->signatures.count; i++) {
        if (known[i].task == task) {
            return known[i].signature;
        }
    }
    struct tri_import_signed *added =
        tri_vector_add(import->arena, &import->signatures, sizeof *added);
    if (added == NULL) {
        return tr_text_of("");
    }
    *added = (struct tri_import_signed){
        .task = task, .signature = tri_flyte_signature(import->arena, task->interface)};
    return added->signature;
}

/* The inputs that it leaves out; the compiler judges them. */
static void take_ignored(struct tri_import *import, const Flyteidl__Core__TaskMetadata *metadata,
                         struct tri_settings *settings)
{
    size_t count = metadata == NULL ? 0 : metadata->n_cache_ignore_input_vars;
    struct tri_name *names = tr_arena_array(import->arena, count, sizeof *names);
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i].text = tr_text_of(metadata->cache_ignore_input_vars[i]);
    }
    settings->ignored = names;
    settings->ignored_count = names == NULL ? 0 : (uint32_t)count;
}

bool tri_import_no_cache(const struct tri_import_settings *given)
{
    give(given, TRI_CACHE, "cache");
    given->settings->settings.cache.version = tr_text_of("");
    return true;
}

bool tri_import_cache(struct tri_import *import, const flyte_task *task, const char *version,
                      bool is_serialized, const struct tri_import_settings *given)
{
    struct tr_cache *cache = &given->settings->settings.cache;
    give(given, TRI_CACHE, "cache");
    if (version[0] == '\0') {
        return tri_import_tell(import, "ValueRequired",
                               "its results are cached under no version\n"
                               "give one, cache_version=..., and change it with the code");
    }
    cache->version = tri_import_keep(import, tr_text_of(version));
    cache->is_serialized = is_serialized;
    if (task != NULL) {
        cache->signature = tri_import_keep(import, tri_import_signature(import, task));
        take_ignored(import, task->metadata, given->settings);
    }
    return true;
}
