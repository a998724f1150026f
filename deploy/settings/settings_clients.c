/*
 * What the settings say of clients of HTTP: who may call, and what.
 */
#include <string.h>

#include "actors/graph/language/keys.h"
#include "deploy/api/clients.h"
#include "deploy/settings/settings_inside.h"

#define HASH_REMEDY "write what `printf %%s SECRET | sha256sum` prints, 64 digits"

/* A client that is read, and the settings that it goes to. */
struct reading {
    struct tr_settings_file *settings;
    struct tr_api_client client;
    struct tri_vector grants; /* struct tr_api_grant */
    bool has_hash;
};

/* A role that is read. */
struct granting {
    struct tr_settings_file *settings;
    struct tr_api_claim_grant grant;
    bool has_role;
};

const char *tri_settings_read_string(struct tri_definition *definition,
                                     struct tr_settings_file *settings, const struct tr_tree *value)
{
    struct tr_text text;
    return tri_keys_read_text(definition, value, &text)
               ? tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(text)).data
               : NULL;
}

/* ------------------------------------------------------------- roles */

static void read_role(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    static const char *const words[] = {"view", "run", "register", "admin"};
    static const enum tr_api_role roles[] = {TR_API_VIEW, TR_API_RUN, TR_API_REGISTER,
                                             TR_API_ADMIN};
    struct granting *granting = target;
    uint32_t position;
    granting->has_role = true;
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        granting->grant.grant.role = roles[position];
    }
}

static void read_project(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct granting *granting = target;
    granting->grant.grant.project = tri_settings_read_string(definition, granting->settings, value);
}

static void read_domain(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct granting *granting = target;
    granting->grant.grant.domain = tri_settings_read_string(definition, granting->settings, value);
}

static void read_value(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct granting *granting = target;
    granting->grant.value = tri_settings_read_string(definition, granting->settings, value);
}

void tri_settings_read_grant(struct tri_definition *definition, struct tr_settings_file *settings,
                             const struct tr_tree *value, bool is_claimed,
                             struct tr_api_claim_grant *grant)
{
    static const struct tri_key keys[] = {{"role", read_role, 0},
                                          {"project", read_project, 0},
                                          {"domain", read_domain, 0},
                                          {"value", read_value, 0}};
    struct granting granting = {.settings = settings};
    tri_keys_read_keys(definition, value, "a role", keys, TR_COUNT_OF(keys) - (is_claimed ? 0 : 1),
                       &granting);
    if (value->kind == TR_TREE_MAP && !granting.has_role) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "a role has no 'role'\nwrite view, run, register or admin");
    }
    *grant = granting.grant;
}

static void read_grant(struct tri_definition *definition, const struct tr_tree *value,
                       struct reading *reading)
{
    struct tr_api_claim_grant grant;
    tri_settings_read_grant(definition, reading->settings, value, false, &grant);
    struct tr_api_grant *added =
        tri_vector_add(&reading->settings->arena, &reading->grants, sizeof *added);
    if (added != NULL) {
        *added = grant.grant;
    }
}

bool tri_settings_expect_roles(struct tri_definition *definition, const struct tr_tree *value,
                               const char *who)
{
    if (!tri_keys_expect_list(definition, value, "roles")) {
        return false;
    }
    bool is_fine = value->count > 0 && value->count <= TR_SETTINGS_ROLES_MAX;
    if (!is_fine) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "%s one role to %d\nwrite [{role: view}], say", who, TR_SETTINGS_ROLES_MAX);
    }
    return is_fine;
}

static void read_roles(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    if (!tri_settings_expect_roles(definition, value, "a client has")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        read_grant(definition, value->items[i], reading);
    }
}

/* ------------------------------------------------------------- a client */

static void read_id(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    const char *id = tri_settings_read_string(definition, reading->settings, value);
    if (id != NULL &&
        (strlen(id) > TR_API_CLIENT_BYTES_MAX || strspn(id, TR_API_CLIENT_LETTERS) != strlen(id))) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.100s' is no id of a client\nwrite letters, digits, _, - and @, at most "
                       "%d",
                       id, TR_API_CLIENT_BYTES_MAX);
    }
    reading->client.id = id;
}

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

static bool read_digits(struct tr_text text, uint8_t hash[TR_API_SECRET_HASH_BYTES])
{
    bool is_fine = text.size == 2 * (size_t)TR_API_SECRET_HASH_BYTES;
    for (size_t i = 0; is_fine && i < TR_API_SECRET_HASH_BYTES; i++) {
        int high = digit_of(text.data[2 * i]);
        int low = digit_of(text.data[2 * i + 1]);
        is_fine = high >= 0 && low >= 0;
        hash[i] = (uint8_t)(is_fine ? 16 * high + low : 0);
    }
    return is_fine;
}

static void read_hash(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    struct tr_text text;
    reading->has_hash = true;
    if (tri_keys_read_text(definition, value, &text) &&
        !read_digits(text, reading->client.secret_sha256)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is no SHA-256 of a secret\n" HASH_REMEDY);
    }
}

static void read_key(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    struct tr_text text;
    reading->client.has_key =
        tri_keys_read_text(definition, value, &text) && read_digits(text, reading->client.key);
    if (!reading->client.has_key) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is no key of a client\nwrite what `troupe hosts key` prints on its "
                       "machine, 64 digits");
    }
}

/* Two of one id would share their tokens. */
static void check_id(struct tri_definition *definition, const struct tr_tree *value,
                     const struct reading *reading)
{
    const struct tri_vector *clients = &reading->settings->http.clients;
    const struct tr_api_client *items = clients->items;
    for (uint32_t i = 0; i < clients->count; i++) {
        if (items[i].id != NULL && strcmp(items[i].id, reading->client.id) == 0) {
            tri_report_add(definition->report, value->place, "InvalidValue",
                           "there are two clients '%s'\ngive each an id of its own",
                           reading->client.id);
            return;
        }
    }
}

static void read_client(struct tri_definition *definition, const struct tr_tree *value,
                        struct tr_settings_file *settings)
{
    static const struct tri_key keys[] = {{"id", read_id, 0},
                                          {"secret_sha256", read_hash, 0},
                                          {"key", read_key, 0},
                                          {"roles", read_roles, 0}};
    struct reading reading = {.settings = settings};
    tri_keys_read_keys(definition, value, "a client", keys, TR_COUNT_OF(keys), &reading);
    if (value->kind == TR_TREE_MAP && tr_tree_find(value, "id") == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "a client has no 'id'\ngive it a name");
    }
    if (value->kind == TR_TREE_MAP && !reading.has_hash && tr_tree_find(value, "key") == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "a client has no 'secret_sha256', and no 'key'\n" HASH_REMEDY);
    }
    if (value->kind == TR_TREE_MAP && tr_tree_find(value, "roles") == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "a client has no 'roles'\nwrite [{role: view}], say");
    }
    if (reading.client.id != NULL) {
        check_id(definition, value, &reading);
    }
    struct tr_api_client *added =
        tri_vector_add(&settings->arena, &settings->http.clients, sizeof *added);
    if (added != NULL) {
        *added = reading.client;
        added->grants = reading.grants.items;
        added->grant_count = reading.grants.count;
    }
}

void tri_settings_read_clients(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_list(definition, value, "clients")) {
        return;
    }
    if (value->count == 0 || value->count > TR_SETTINGS_CLIENTS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "these are no clients, or more than %d\nwrite one at least, or leave "
                       "'clients' out: then everybody may do everything",
                       TR_SETTINGS_CLIENTS_MAX);
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        read_client(definition, value->items[i], settings);
    }
}
