/*
 * Settings of a host among several that a store in a database may have (deploy/HOSTS.md).
 */
#include <string.h>

#include "actors/graph/language/keys.h"
#include "deploy/settings/settings_inside.h"
#include "runtime/members/member.h"

#define NS_PER_MS 1000000

bool tr_settings_is_host_name(struct tr_text name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    bool is_one = name.size > 0 && name.size <= TRI_STORE_MEMBER_NAME_BYTES_MAX;
    for (size_t i = 0; is_one && i < name.size; i++) {
        bool is_letter = name.data[i] != '\0' && strchr(letters, name.data[i]) != NULL;
        bool is_inner = i > 0 && name.data[i] != '\0' && strchr("._-", name.data[i]) != NULL;
        is_one = is_letter || is_inner;
    }
    return is_one;
}

void tri_settings_read_host_name(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text name;
    if (!tri_keys_read_text(definition, value, &name)) {
        return;
    }
    if (!tr_settings_is_host_name(name)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no name of a host\nwrite up to %d letters, digits, and . _ - "
                       "within them",
                       TRI_SHOWN(name), TRI_STORE_MEMBER_NAME_BYTES_MAX);
        return;
    }
    settings->host_name = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(name)).data;
}

/* A duration of whole seconds within bounds. */
static void read_span(struct tri_definition *definition, const struct tr_tree *value,
                      uint32_t least_ms, uint32_t most_ms, uint32_t *span_ms)
{
    int64_t nanoseconds;
    if (!tri_keys_read_duration(definition, value, &nanoseconds)) {
        return;
    }
    if (nanoseconds / NS_PER_MS < least_ms || nanoseconds / NS_PER_MS > most_ms) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no value for '%.*s'\nwrite a duration from %us to %us",
                       TRI_SHOWN(value->text), TRI_SHOWN(definition->key), least_ms / 1000,
                       most_ms / 1000);
        return;
    }
    *span_ms = (uint32_t)(nanoseconds / NS_PER_MS);
}

void tri_settings_read_lease(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    read_span(definition, value, TRI_MEMBER_LEASE_MS_MIN, TRI_MEMBER_LEASE_MS_MAX,
              &((struct tr_settings_file *)target)->lease_ms);
}

void tri_settings_read_process_lease(struct tri_definition *definition, const struct tr_tree *value,
                                     void *target)
{
    read_span(definition, value, TRI_MEMBER_PROCESS_LEASE_MS_MIN, TRI_MEMBER_PROCESS_LEASE_MS_MAX,
              &((struct tr_settings_file *)target)->process_lease_ms);
}
