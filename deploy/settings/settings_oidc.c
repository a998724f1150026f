/*
 * What the settings say of an OpenID provider: whose tokens clients of HTTP may show, and what
 * claims in them allow.
 */
#include <string.h>

#include "actors/graph/language/keys.h"
#include "deploy/api/clients.h"
#include "deploy/settings/settings_inside.h"

/* The provider that is read, and the settings that it goes to. */
struct reading {
    struct tr_settings_file *settings;
    struct tr_api_provider provider;
    struct tri_vector scopes; /* const char * */
    struct tri_vector grants; /* struct tr_api_claim_grant */
};

/* ------------------------------------------------------------- URLs */

/* Who is between could put other keys in the place of the provider's. */
static bool is_safe(const char *url)
{
    static const char *const prefixes[] = {"https://", "http://127.0.0.1", "http://localhost",
                                           "http://[::1]"};
    for (size_t i = 0; i < TR_COUNT_OF(prefixes); i++) {
        size_t size = strlen(prefixes[i]);
        bool has_end = i == 0 || url[size] == ':' || url[size] == '/' || url[size] == '\0';
        if (strncmp(url, prefixes[i], strlen(prefixes[i])) == 0 && has_end) {
            return true;
        }
    }
    return false;
}

/* As it is written: a slash at its end is a part of an issuer. */
static const char *read_url(struct tri_definition *definition, const struct tr_tree *value,
                            struct reading *reading)
{
    struct tr_text url;
    if (!tri_settings_read_url(definition, value, &url)) {
        return NULL;
    }
    const char *text = tri_settings_read_string(definition, reading->settings, value);
    if (text != NULL && !is_safe(text)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.200s' is not safe from who is between\nwrite https://, or a host of "
                       "this machine",
                       text);
    }
    return text;
}

static void read_issuer(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct reading *reading = target;
    reading->provider.issuer = read_url(definition, value, reading);
}

static void read_keys(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    reading->provider.keys_url = read_url(definition, value, reading);
}

/* ------------------------------------------------------------- texts */

static void read_ca_file(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct reading *reading = target;
    struct tr_text file = {.size = 0};
    tri_settings_read_file(definition, reading->settings, value, &file);
    reading->provider.ca_file = file.size == 0 ? NULL : file.data;
}

static void read_audience(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct reading *reading = target;
    reading->provider.audience = tri_settings_read_string(definition, reading->settings, value);
}

static void read_client_id(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    struct reading *reading = target;
    reading->provider.client_id = tri_settings_read_string(definition, reading->settings, value);
}

static void read_who(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    reading->provider.who_claim = tri_settings_read_string(definition, reading->settings, value);
}

static void read_claim(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    reading->provider.roles_claim = tri_settings_read_string(definition, reading->settings, value);
}

static void read_scopes(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct reading *reading = target;
    if (!tri_keys_expect_list(definition, value, "scopes")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        const char **added =
            tri_vector_add(&reading->settings->arena, &reading->scopes, sizeof *added);
        if (added != NULL) {
            *added = tri_settings_read_string(definition, reading->settings, value->items[i]);
        }
    }
}

/* ------------------------------------------------------------- roles */

static void read_roles(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct reading *reading = target;
    if (!tri_settings_expect_roles(definition, value, "a provider gives")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct tr_api_claim_grant *added =
            tri_vector_add(&reading->settings->arena, &reading->grants, sizeof *added);
        if (added == NULL) {
            return;
        }
        tri_settings_read_grant(definition, reading->settings, value->items[i], true, added);
    }
}

/* A value is one of a claim, which has to be named. */
static void check_claim(struct tri_definition *definition, const struct tr_tree *value,
                        const struct reading *reading)
{
    const struct tr_api_claim_grant *grants = reading->grants.items;
    for (uint32_t i = 0; i < reading->grants.count; i++) {
        if (grants[i].value != NULL && tr_tree_find(value, "claim") == NULL) {
            tri_report_add(definition->report, value->place, "ValueRequired",
                           "oidc has no 'claim', of which the values of its roles are\nname the "
                           "claim that has them: groups, say");
            return;
        }
    }
}

/* ------------------------------------------------------------- all of it */

static void check_required(struct tri_definition *definition, const struct tr_tree *value)
{
    static const char *const needed[][2] = {
        {"issuer", "write the URL that its tokens have as iss"},
        {"audience", "write what its tokens for this engine have as aud"},
        {"client_id", "write what clients without a secret call themselves there"},
        {"roles", "write [{role: view}], say"},
    };
    for (size_t i = 0; value->kind == TR_TREE_MAP && i < TR_COUNT_OF(needed); i++) {
        if (tr_tree_find(value, needed[i][0]) == NULL) {
            tri_report_add(definition->report, value->place, "ValueRequired",
                           "oidc has no '%s'\n%s", needed[i][0], needed[i][1]);
        }
    }
}

void tri_settings_read_oidc(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    static const char *const scopes[] = {"openid"};
    static const struct tri_key keys[] = {
        {"issuer", read_issuer, 0},   {"audience", read_audience, 0},   {"keys", read_keys, 0},
        {"ca_file", read_ca_file, 0}, {"client_id", read_client_id, 0}, {"scopes", read_scopes, 0},
        {"who", read_who, 0},         {"claim", read_claim, 0},         {"roles", read_roles, 0}};
    struct tr_settings_file *settings = target;
    struct reading reading = {.settings = settings, .provider = {.who_claim = "sub"}};
    tri_keys_read_keys(definition, value, "oidc", keys, TR_COUNT_OF(keys), &reading);
    check_required(definition, value);
    check_claim(definition, value, &reading);
    reading.provider.scopes = reading.scopes.count > 0 ? reading.scopes.items : scopes;
    reading.provider.scope_count = reading.scopes.count > 0 ? reading.scopes.count : 1;
    reading.provider.grants = reading.grants.items;
    reading.provider.grant_count = reading.grants.count;
    struct tr_api_provider *kept = tr_arena_alloc(&settings->arena, sizeof *kept);
    if (kept != NULL) {
        *kept = reading.provider;
        settings->http.provider = kept;
    }
}
