/*
 * Settings of a host among several that a store in a database may have (deploy/HOSTS.md).
 */
#include <arpa/inet.h>
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

/*
 * Whether a text is IP:PORT, an IP of version 6 in brackets. Names are none: a host listens at an
 * interface of its machine, and the others reach it at the same address.
 */
bool tr_settings_is_host_address(struct tr_text text)
{
    char ip[INET6_ADDRSTRLEN];
    uint8_t bytes[sizeof(struct in6_addr)];
    size_t colon = text.size;
    while (colon > 0 && text.data[colon - 1] != ':') {
        colon--;
    }
    bool is_new = text.size > 0 && text.data[0] == '[';
    size_t size = colon < 2 ? 0 : colon - 1;
    if (is_new) {
        size = size > 2 && text.data[size - 1] == ']' ? size - 2 : 0;
    }
    if (size == 0 || size >= sizeof ip) {
        return false;
    }
    memcpy(ip, text.data + is_new, size);
    ip[size] = '\0';
    uint64_t port = 0;
    for (size_t i = colon; i < text.size && port <= UINT16_MAX; i++) {
        bool is_digit = text.data[i] >= '0' && text.data[i] <= '9';
        port = is_digit ? port * 10 + (uint64_t)(text.data[i] - '0') : UINT64_MAX;
    }
    return port > 0 && port <= UINT16_MAX && inet_pton(is_new ? AF_INET6 : AF_INET, ip, bytes) == 1;
}

/* NULL: it is none, which is said. */
static const char *read_address(struct tri_definition *definition, const struct tr_tree *value,
                                struct tr_settings_file *settings, const char *who)
{
    struct tr_text address;
    if (!tri_keys_read_text(definition, value, &address)) {
        return NULL;
    }
    if (!tr_settings_is_host_address(address)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no address of a host\nwrite IP:PORT, where %s this one, as "
                       "10.0.0.5:7070",
                       TRI_SHOWN(address), who);
        return NULL;
    }
    return tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(address)).data;
}

void tri_settings_read_host_address(struct tri_definition *definition, const struct tr_tree *value,
                                    void *target)
{
    struct tr_settings_file *settings = target;
    settings->host_address = read_address(definition, value, settings, "the other hosts reach");
}

void tri_settings_read_entry_address(struct tri_definition *definition, const struct tr_tree *value,
                                     void *target)
{
    struct tr_settings_file *settings = target;
    settings->entry_address = read_address(definition, value, settings, "clients reach");
}

void tri_settings_read_entry_key(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target)
{
    struct tr_settings_file *settings = target;
    settings->entry_key = tri_settings_read_string(definition, settings, value);
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

/* Plain words of YAML for true and false are read as such. */
void tri_settings_read_balance(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tr_settings_file *settings = target;
    bool is_on = tr_text_equal(value->text, tr_text_of("on"));
    if (is_on || tr_text_equal(value->text, tr_text_of("off"))) {
        settings->keeps_groups = !is_on;
        return;
    }
    tri_report_add(definition->report, value->place, "InvalidValue",
                   "'%.*s' is no value for '%.*s'\nwrite on or off", TRI_SHOWN(value->text),
                   TRI_SHOWN(definition->key));
}
