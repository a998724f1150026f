/*
 * What the settings say of HTTP: where an engine that stays is asked by Flyte's clients.
 */
#include <string.h>

#include "actors/graph/language/keys.h"
#include "deploy/door/door.h"
#include "deploy/settings/settings_inside.h"

/* Whether an address needs TLS is seen when all keys are read, and the command line, too. */
static bool is_address(struct tri_definition *definition, const struct tr_tree *value,
                       const char *address)
{
    char words[TR_DOOR_WORDS_BYTES];
    if (tr_door_address_check(address, true, words) == 0) {
        return true;
    }
    char *remedy = strstr(words, "; ");
    if (remedy != NULL) {
        memmove(remedy, remedy + 1, strlen(remedy));
        *remedy = '\n'; /* where a report has its remedy */
    }
    tri_report_add(definition->report, value->place, "InvalidValue", "%s", words);
    return false;
}

static void read_listen(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_list(definition, value, "listen")) {
        return;
    }
    if (value->count > TR_DOOR_ADDRESSES_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "these are more than %d addresses\nwrite fewer", TR_DOOR_ADDRESSES_MAX);
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct tr_text text;
        if (!tri_keys_read_text(definition, value->items[i], &text)) {
            continue;
        }
        struct tr_text copy = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(text));
        if (copy.size == 0 || !is_address(definition, value->items[i], copy.data)) {
            continue;
        }
        const char **added =
            tri_vector_add(&settings->arena, &settings->http.addresses, sizeof *added);
        if (added != NULL) {
            *added = copy.data;
        }
    }
}

static void read_certificate(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text file = {.size = 0};
    tri_settings_read_file(definition, settings, value, &file);
    settings->http.certificate = file.size == 0 ? NULL : file.data;
}

static void read_key(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text file = {.size = 0};
    tri_settings_read_file(definition, settings, value, &file);
    settings->http.key = file.size == 0 ? NULL : file.data;
}

static void read_request_bytes(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tr_settings_file *settings = target;
    uint64_t bytes = TR_SETTINGS_REQUEST_BYTES_MIN;
    tri_keys_read_units(definition, value, &bytes);
    if (bytes < TR_SETTINGS_REQUEST_BYTES_MIN || bytes > TR_SETTINGS_REQUEST_BYTES_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is too little or too much for a request\nwrite from 1Mi to 1Gi");
        return;
    }
    settings->http.request_bytes = bytes;
}

static void read_connections(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tr_settings_file *settings = target;
    (void)tri_keys_read_count(definition, value, 1, TR_SETTINGS_CONNECTIONS_MAX,
                              &settings->http.connections);
}

void tri_settings_read_http(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    static const struct tri_key keys[] = {{"listen", read_listen, 0},
                                          {"certificate", read_certificate, 0},
                                          {"key", read_key, 0},
                                          {"clients", tri_settings_read_clients, 0},
                                          {"oidc", tri_settings_read_oidc, 0},
                                          {"request_bytes", read_request_bytes, 0},
                                          {"connections", read_connections, 0}};
    struct tr_settings_file *settings = target;
    tri_keys_read_keys(definition, value, "http", keys, TR_COUNT_OF(keys), target);
    if (value->kind == TR_TREE_MAP &&
        (tr_tree_find(value, "certificate") == NULL) != (tr_tree_find(value, "key") == NULL)) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "http has one of 'certificate' and 'key'\nwrite both, or none");
        settings->http.certificate = NULL;
    }
}
