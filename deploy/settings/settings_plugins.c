/*
 * What the settings say of plugins: which are loaded from where, and where their back ends are.
 *
 * Keys of a plugin hold for all of its endpoints, and those of an endpoint go before them. What the
 * framework does not know is the plugin's own: it is packed, and checked by the plugin.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/language/keys.h"
#include "actors/graph/value/literal.h"
#include "deploy/settings/settings_inside.h"

#define NS_PER_MS 1000000

/* An endpoint in the making. */
struct endpoint_reader {
    struct tr_settings_file *settings;
    const struct tr_plugin *plugin;
    struct tr_webapi_endpoint endpoint;
    struct tri_settings_wish wish;
};

/* ---------------------------------------------------------------- finding and loading */

static struct tr_text plugin_name_at(const void *self, uint32_t position)
{
    const struct tr_plugin *const *plugins = ((const struct tr_settings_file *)self)->plugins.items;
    return tr_text_of(plugins[position]->id);
}

/* "use one of …", with all there are. */
static const char *all_plugins(struct tri_definition *definition,
                               const struct tr_settings_file *settings)
{
    struct tr_text text = tr_text_of("use one of");
    for (uint32_t i = 0; i < settings->plugins.count; i++) {
        text = tr_arena_print(definition->scratch, "%.*s%s %.*s", TRI_TEXT(text), i > 0 ? "," : "",
                              TRI_TEXT(plugin_name_at(settings, i)));
    }
    return text.size == 0 ? "" : text.data;
}

static const struct tr_plugin *plugin_of(const struct tr_settings_file *settings, struct tr_text id)
{
    const struct tr_plugin *const *plugins = settings->plugins.items;
    for (uint32_t i = 0; i < settings->plugins.count; i++) {
        if (tr_text_equal(tr_text_of(plugins[i]->id), id)) {
            return plugins[i];
        }
    }
    return NULL;
}

const struct tr_plugin *tri_settings_find_plugin(struct tri_definition *definition,
                                                 const struct tr_settings_file *settings,
                                                 const struct tr_tree *name)
{
    struct tr_text id;
    if (!tri_keys_read_text(definition, name, &id)) {
        return NULL;
    }
    const struct tr_plugin *plugin = plugin_of(settings, id);
    if (plugin != NULL) {
        return plugin;
    }
    struct tr_text nearest =
        tri_keys_nearest(definition, id, plugin_name_at, settings, settings->plugins.count);
    struct tr_text remedy =
        tri_keys_did_you_mean(definition, nearest, all_plugins(definition, settings));
    tri_report_add(definition->report, name->place, NULL, "there is no plugin '%.*s'\n%.*s",
                   TRI_SHOWN(id), TRI_TEXT(remedy));
    return NULL;
}

static void load_plugin(struct tri_definition *definition, const struct tr_pair *pair,
                        const struct tr_tree *path, struct tr_settings_file *settings)
{
    struct tr_text file;
    struct tr_settings_plugin loaded;
    char problem[1024];
    if (!tri_keys_read_text(definition, path, &file)) {
        return;
    }
    loaded.path = tri_settings_place(settings, file);
    if (loaded.path == NULL) {
        return;
    }
    int error = tr_plugin_load(loaded.path, pair->key->text, settings->plugins.items,
                               settings->plugins.count, loaded.version, problem, sizeof problem,
                               &loaded.plugin);
    if (error != 0) {
        tri_report_add(definition->report, path->place, NULL, "the plugin '%.*s': %s",
                       TRI_SHOWN(pair->key->text),
                       error == TR_INVALID ? problem : tr_error_text(error));
        return;
    }
    struct tr_settings_plugin *row =
        tri_vector_add(&settings->arena, &settings->loaded, sizeof *row);
    const struct tr_plugin **added =
        tri_vector_add(&settings->arena, &settings->plugins, sizeof *added);
    if (row != NULL && added != NULL) {
        *row = loaded;
        *added = loaded.plugin;
    }
}

/* The path of a plugin's shared object, or NULL. */
static const struct tr_tree *path_of(const struct tr_tree *settings)
{
    return settings->kind == TR_TREE_MAP ? tr_tree_find(settings, "path") : NULL;
}

void tri_settings_load_plugins(struct tri_definition *definition, const struct tr_tree *tree,
                               struct tr_settings_file *settings)
{
    const struct tr_tree *plugins =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "plugins") : NULL;
    for (uint32_t i = 0; plugins != NULL && plugins->kind == TR_TREE_MAP && i < plugins->count;
         i++) {
        const struct tr_tree *path = path_of(plugins->pairs[i].value);
        if (path != NULL) {
            load_plugin(definition, &plugins->pairs[i], path, settings);
        }
    }
}

/* ------------------------------------------------------------- the keys of an endpoint */

#define READ_COUNT(field, most)                                                              \
    static void read_##field(struct tri_definition *definition, const struct tr_tree *value, \
                             void *target)                                                   \
    {                                                                                        \
        struct endpoint_reader *reader = target;                                             \
        (void)tri_keys_read_count(definition, value, 1, (most), &reader->endpoint.field);    \
    }
READ_COUNT(calls_per_second, TR_SETTINGS_CALLS_PER_SECOND_MAX)
READ_COUNT(calls_at_once, TR_SETTINGS_CALLS_AT_ONCE_MAX)
READ_COUNT(jobs_at_once, TR_WEBAPI_JOBS_AT_ONCE)
#undef READ_COUNT

static void read_streams(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct endpoint_reader *reader = target;
    uint32_t count;
    if (tri_keys_read_count(definition, value, 0, TR_SETTINGS_STREAMS_MAX, &count)) {
        reader->endpoint.streams_max = count == 0 ? TR_WEBAPI_NO_STREAMS : count;
    }
}

/* A duration within bounds; the shorter one is a millisecond, or of whole seconds. */
static void read_span(struct tri_definition *definition, const struct tr_tree *value,
                      uint32_t least_ms, uint32_t most_ms, uint32_t *span_ms)
{
    int64_t nanoseconds;
    if (!tri_keys_read_duration(definition, value, &nanoseconds)) {
        return;
    }
    if (nanoseconds / NS_PER_MS < least_ms || nanoseconds / NS_PER_MS > most_ms) {
        bool is_short = least_ms < 1000;
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no value for '%.*s'\nwrite a duration from %u%s to %us",
                       TRI_SHOWN(value->text), TRI_SHOWN(definition->key),
                       is_short ? least_ms : least_ms / 1000, is_short ? "ms" : "s",
                       most_ms / 1000);
        return;
    }
    *span_ms = (uint32_t)(nanoseconds / NS_PER_MS);
}

#define READ_SPAN(field, least_ms, most_ms)                                                  \
    static void read_##field(struct tri_definition *definition, const struct tr_tree *value, \
                             void *target)                                                   \
    {                                                                                        \
        struct endpoint_reader *reader = target;                                             \
        read_span(definition, value, (least_ms), (most_ms), &reader->endpoint.field);        \
    }
READ_SPAN(interval_ms, 1, TR_WEBAPI_INTERVAL_MS_MAX)
READ_SPAN(timeout_ms, 1, TR_SETTINGS_TIMEOUT_MS_MAX)
READ_SPAN(lag_ms, TR_SETTINGS_LAG_MS_MIN, TR_SETTINGS_LAG_MS_MAX)
READ_SPAN(lost_ms, TR_SETTINGS_LOST_MS_MIN, TR_SETTINGS_LOST_MS_MAX)
#undef READ_SPAN

static void read_insecure(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct endpoint_reader *reader = target;
    (void)tri_keys_read_bool(definition, value, &reader->endpoint.is_insecure);
}

static bool begins_with(struct tr_text text, const char *beginning)
{
    size_t size = strlen(beginning);
    return text.size > size && memcmp(text.data, beginning, size) == 0;
}

/* Why a text is no URL of an endpoint; NULL: it is. */
static const char *mistake_of_url(struct tr_text url)
{
    size_t host = begins_with(url, "http://") ? 7 : begins_with(url, "https://") ? 8 : 0;
    if (host == 0) {
        return "is no URL\nwrite http://HOST[:PORT][/PATH], or https://";
    }
    for (size_t i = 0; i < url.size; i++) {
        if (url.data[i] <= ' ' || url.data[i] == 0x7f || strchr("?#\"<>\\", url.data[i]) != NULL) {
            return "is no URL of an endpoint\nwrite it without blanks, ? and #";
        }
    }
    const char *end = memchr(url.data + host, '/', url.size - host);
    size_t size = end == NULL ? url.size - host : (size_t)(end - url.data) - host;
    if (memchr(url.data + host, '@', size) != NULL) {
        return "has a user or a password in it\nwrite authorization: {basic: GROUP/KEY} instead";
    }
    return NULL;
}

bool tri_settings_read_url(struct tri_definition *definition, const struct tr_tree *value,
                           struct tr_text *out)
{
    struct tr_text url;
    if (!tri_keys_read_text(definition, value, &url)) {
        return false;
    }
    const char *mistake = mistake_of_url(url);
    if (mistake != NULL) {
        const char *at = memchr(url.data, '@', url.size);
        bool is_shown = at == NULL; /* what may be a password is not */
        tri_report_add(definition->report, value->place, "InvalidValue", "'%.*s' %s",
                       TRI_SHOWN(is_shown ? url : tr_text_of("the URL")), mistake);
        return false;
    }
    while (url.data[url.size - 1] == '/') {
        url.size--;
    }
    *out = url;
    return true;
}

static void read_url(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct endpoint_reader *reader = target;
    (void)tri_settings_read_url(definition, value, &reader->endpoint.url);
}

void tri_settings_read_file(struct tri_definition *definition, struct tr_settings_file *settings,
                            const struct tr_tree *value, struct tr_text *file)
{
    struct tr_text path;
    if (!tri_keys_read_text(definition, value, &path)) {
        return;
    }
    const char *place = tri_settings_place(settings, path);
    if (place == NULL) {
        return;
    }
    if (access(place, R_OK) != 0) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "the file %s cannot be read\nwrite the path of a PEM file, from the folder "
                       "of the settings on",
                       place);
        return;
    }
    *file = tr_text_of(place);
}

#define READ_FILE(field)                                                                      \
    static void read_##field(struct tri_definition *definition, const struct tr_tree *value,  \
                             void *target)                                                    \
    {                                                                                         \
        struct endpoint_reader *reader = target;                                              \
        tri_settings_read_file(definition, reader->settings, value, &reader->endpoint.field); \
    }
READ_FILE(ca_file)
READ_FILE(client_certificate)
READ_FILE(client_key)
#undef READ_FILE

bool tri_settings_read_authorization(struct tri_definition *definition, const struct tr_tree *value,
                                     uint8_t *authorization, struct tr_secret *secret)
{
    static const struct {
        const char *name;
        uint8_t authorization;
    } kinds[] = {
#define KIND(name, number, text) {text, number},
        TR_WEBAPI_AUTHORIZATIONS(KIND)
#undef KIND
    };
    bool is_one = value->kind == TR_TREE_MAP && value->count == 1;
    struct tr_text name = is_one                   ? value->pairs[0].key->text
                          : tr_tree_is_text(value) ? value->text
                                                   : tr_text_of("");
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        bool has_secret = kinds[i].authorization != TR_WEBAPI_AUTHORIZATION_NONE;
        if (tr_text_equal(name, tr_text_of(kinds[i].name)) && has_secret == is_one) {
            *authorization = kinds[i].authorization;
            *secret = (struct tr_secret){.name = tr_text_of("authorization")};
            return !has_secret || tri_keys_read_secret(definition, value->pairs[0].value, secret);
        }
    }
    tri_report_add(definition->report, value->place, "InvalidValue",
                   "this is no value for 'authorization'\nwrite none, {basic: GROUP/KEY} or "
                   "{bearer: GROUP/KEY}");
    return false;
}

static void read_authorization(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct endpoint_reader *reader = target;
    (void)tri_settings_read_authorization(definition, value, &reader->endpoint.authorization,
                                          &reader->endpoint.secret);
}

#define READ_WISH(name)                                                                     \
    static void read_##name(struct tri_definition *definition, const struct tr_tree *value, \
                            void *target)                                                   \
    {                                                                                       \
        struct tr_text text;                                                                \
        struct endpoint_reader *reader = target;                                            \
        if (!tr_webapi_takes_kubeconfig(reader->plugin)) {                                  \
            tri_report_add(definition->report, value->place, "InvalidValue",                \
                           "the plugin %s has no key '%s'\nwrite url, or endpoint: URL",    \
                           reader->plugin->id, #name);                                      \
        } else if (tri_keys_read_text(definition, value, &text)) {                          \
            reader->wish.name = value;                                                      \
        }                                                                                   \
    }
READ_WISH(kubeconfig)
READ_WISH(context)
READ_WISH(in_cluster)
#undef READ_WISH

/* Those of a plugin alone, those of both, and that of an endpoint alone. */
static const struct tri_key keys[] = {
    {"path", NULL, 0},
    {"endpoints", NULL, 0},
    {"endpoint", read_url, 0},
    {"calls_per_second", read_calls_per_second, 0},
    {"calls_at_once", read_calls_at_once, 0},
    {"jobs_at_once", read_jobs_at_once, 0},
    {"streams", read_streams, 0},
    {"interval", read_interval_ms, 0},
    {"timeout", read_timeout_ms, 0},
    {"lag", read_lag_ms, 0},
    {"lost_after", read_lost_ms, 0},
    {"authorization", read_authorization, 0},
    {"ca_file", read_ca_file, 0},
    {"client_certificate", read_client_certificate, 0},
    {"client_key", read_client_key, 0},
    {"insecure", read_insecure, 0},
    {"kubeconfig", read_kubeconfig, 0},
    {"context", read_context, 0},
    {"in_cluster", read_in_cluster, 0},
    {"url", read_url, 0},
};
#define PLUGIN_KEYS keys, TR_COUNT_OF(keys) - 1
#define ENDPOINT_KEYS keys + 3, TR_COUNT_OF(keys) - 3
#define CORE_KEYS keys, 1

static bool is_key(const struct tri_key *table, size_t count, struct tr_text name)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(name, tr_text_of(table[i].name))) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ the plugin's own keys */

/* The pairs of a mapping that are in a table, or those that are not; NULL without memory. */
static struct tr_tree *part_of(struct tri_definition *definition, const struct tr_tree *map,
                               const struct tri_key *table, size_t count, bool is_known)
{
    struct tr_tree *part = tri_tree_new(definition->scratch, TR_TREE_MAP, map->place);
    struct tr_pair *pairs = tr_arena_array(definition->scratch, map->count, sizeof *pairs);
    if (part == NULL || pairs == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        if (is_key(table, count, map->pairs[i].key->text) == is_known) {
            pairs[part->count++] = map->pairs[i];
        }
    }
    part->pairs = pairs;
    return part;
}

/* The pairs of both; where both have a key, those of the first. */
static struct tr_tree *merge(struct tri_definition *definition, const struct tr_tree *first,
                             const struct tr_tree *second)
{
    struct tr_tree *both = tri_tree_new(definition->scratch, TR_TREE_MAP, first->place);
    struct tr_pair *pairs =
        tr_arena_array(definition->scratch, first->count + second->count, sizeof *pairs);
    if (both == NULL || pairs == NULL) {
        return NULL;
    }
    both->pairs = pairs;
    for (uint32_t i = 0; i < first->count; i++) {
        pairs[both->count++] = first->pairs[i];
    }
    for (uint32_t i = 0; i < second->count; i++) {
        bool is_given = false;
        for (uint32_t k = 0; k < first->count && !is_given; k++) {
            is_given = tr_text_equal(first->pairs[k].key->text, second->pairs[i].key->text);
        }
        if (!is_given) {
            pairs[both->count++] = second->pairs[i];
        }
    }
    return both;
}

static struct tr_text key_at(const void *self, uint32_t position)
{
    (void)self;
    return tr_text_of(keys[position].name);
}

/* Where words speak of a key: PLACE.KEY of one that has a wrong value, 'KEY' of one that nobody
 * knows; NULL: nowhere. */
static const char *named_in(const char *words, struct tr_text name)
{
    const char *from = words;
    while (name.size > 0 && (from = memmem(from, strlen(from), name.data, name.size)) != NULL) {
        char before = from > words ? from[-1] : ' ';
        char behind = from[name.size];
        if ((before == '.' && (behind == ' ' || behind == '.')) ||
            (before == '\'' && behind == '\'')) {
            return from;
        }
        from++;
    }
    return NULL;
}

/* Says what a plugin has against its own keys, at the first of them that its words name. */
static void refuse_own(struct tri_definition *definition, const struct tr_tree *own,
                       const char *problem)
{
    struct tri_place place = own->place;
    struct tr_text nearest = tr_text_of("");
    const char *first = NULL;
    for (uint32_t i = 0; i < own->count; i++) {
        struct tr_text name = own->pairs[i].key->text;
        const char *named = named_in(problem, name);
        if (named != NULL && (first == NULL || named < first)) {
            first = named;
            place = own->pairs[i].key->place;
            nearest = named[-1] == '.'
                          ? tr_text_of("")
                          : tri_keys_nearest(definition, name, key_at, NULL, TR_COUNT_OF(keys));
        }
    }
    if (nearest.size > 0) {
        tri_report_add(definition->report, place, "InvalidValue", "%.*s\ndid you mean '%.*s'?",
                       (int)strcspn(problem, "\n"), problem, TRI_SHOWN(nearest));
    } else {
        bool lists_keys = first != NULL && first[-1] == '\'' && strchr(problem, '\n') != NULL;
        tri_report_add(definition->report, place, "InvalidValue", "%s%s", problem,
                       lists_keys ? ", and those that all plugins have" : "");
    }
}

/* Packs and checks the plugin's own keys of an endpoint; false: something is wrong with them. */
static bool read_own(struct tri_definition *definition, struct endpoint_reader *reader,
                     const struct tr_tree *own, const char *what)
{
    struct tr_literal_reader values = {.report = definition->report, .arena = definition->scratch};
    const struct tr_webapi *webapi = reader->plugin->webapi;
    struct tr_buffer packed;
    char problem[512] = "";
    if (webapi->check_endpoint == NULL) {
        for (uint32_t i = 0; i < own->count; i++) {
            tri_keys_unknown_key(definition, own->pairs[i].key, what, keys, TR_COUNT_OF(keys), 0);
        }
        return own->count == 0;
    }
    tr_buffer_init(&packed, 0);
    bool is_good = tr_literal_read(&values, NULL, own, &packed);
    if (is_good) {
        reader->endpoint.config =
            tr_arena_bytes(&reader->settings->arena, tr_buffer_bytes(&packed));
    }
    tr_buffer_fini(&packed);
    if (is_good && webapi->check_endpoint(reader->endpoint.config, problem, sizeof problem) != 0) {
        refuse_own(definition, own, problem);
        return false;
    }
    return is_good;
}

/* --------------------------------------------------------------------------- endpoints */

/* The plugin's own keys with a namespace, unless they have one. */
static const struct tr_tree *with_namespace(struct tri_definition *definition,
                                            const struct tr_tree *own, struct tr_text namespace)
{
    struct tr_tree *given = tri_tree_new(definition->scratch, TR_TREE_MAP, own->place);
    struct tr_tree *key = tri_tree_new(definition->scratch, TR_TREE_STRING, own->place);
    struct tr_tree *value = tri_tree_new(definition->scratch, TR_TREE_STRING, own->place);
    struct tr_pair *pair = tr_arena_array(definition->scratch, 1, sizeof *pair);
    if (given == NULL || key == NULL || value == NULL || pair == NULL) {
        return NULL;
    }
    key->text = tr_text_of("namespace");
    value->text = namespace;
    *pair = (struct tr_pair){.key = key, .value = value};
    given->pairs = pair;
    given->count = 1;
    return merge(definition, own, given);
}

/* Whether an endpoint leaves to others where it is and who we are there. */
static bool has_wish(const struct endpoint_reader *reader)
{
    return reader->wish.kubeconfig != NULL || reader->wish.context != NULL ||
           reader->wish.in_cluster != NULL;
}

/* Does as it wishes; `own` may get the namespace that was meant. False: it is told. */
static bool identify(struct tri_definition *definition, struct endpoint_reader *reader,
                     const char *what, const struct tr_tree **own)
{
    struct tr_text namespace = {0};
    if (!has_wish(reader)) {
        return true;
    }
    reader->wish.what = what;
    if (!tri_settings_identify(definition, reader->settings, &reader->wish, reader->plugin->id,
                               &reader->endpoint, &namespace)) {
        return false;
    }
    *own = namespace.size > 0 ? with_namespace(definition, *own, namespace) : *own;
    return *own != NULL;
}

static void add_endpoint(struct tri_definition *definition, struct tri_place place,
                         const struct endpoint_reader *reader)
{
    struct tr_settings_file *settings = reader->settings;
    if (settings->endpoints.count == TR_SETTINGS_ENDPOINTS_MAX) {
        tri_report_add(definition->report, place, "InvalidValue",
                       "there are more endpoints than %d in all\ntake some out",
                       TR_SETTINGS_ENDPOINTS_MAX);
        return;
    }
    struct tr_engine_endpoint *added =
        tri_vector_add(&settings->arena, &settings->endpoints, sizeof *added);
    if (added != NULL) {
        added->plugin = reader->plugin;
        added->endpoint = reader->endpoint;
    }
}

/* One of `endpoints`: what the plugin says holds where it says nothing itself. */
static void read_endpoint(struct tri_definition *definition, const struct endpoint_reader *base,
                          const struct tr_pair *pair, const struct tr_tree *base_own)
{
    struct endpoint_reader reader = *base;
    struct tri_name name;
    char what[160];
    if (!tri_keys_read_name(definition, pair->key, &name)) {
        return;
    }
    (void)snprintf(what, sizeof what, "the endpoint %.*s", TRI_SHOWN(name.text));
    if (!tri_keys_expect_map(definition, pair->value, what)) {
        return;
    }
    const struct tr_tree *known = part_of(definition, pair->value, ENDPOINT_KEYS, true);
    const struct tr_tree *own = part_of(definition, pair->value, ENDPOINT_KEYS, false);
    own = own == NULL ? NULL : merge(definition, own, base_own);
    if (known == NULL || own == NULL) {
        return;
    }
    reader.endpoint.name = tr_arena_text(&base->settings->arena, name.text);
    tri_keys_read_keys(definition, known, what, ENDPOINT_KEYS, &reader);
    if (!identify(definition, &reader, what, &own)) {
        return;
    }
    if (reader.endpoint.url.size == 0 && tr_tree_find(known, "url") == NULL) {
        tri_report_add(definition->report, pair->value->place, "ValueRequired",
                       "%s has no url\nwrite url: http://HOST[:PORT][/PATH], or https://", what);
    }
    if (read_own(definition, &reader, own, what) && reader.endpoint.url.size > 0) {
        add_endpoint(definition, pair->value->place, &reader);
    }
}

static void read_endpoints(struct tri_definition *definition, const struct endpoint_reader *base,
                           const struct tr_tree *endpoints, const struct tr_tree *own)
{
    if (!tri_keys_expect_map(definition, endpoints, "endpoints")) {
        return;
    }
    if (endpoints->count == 0) {
        tri_report_add(definition->report, endpoints->place, "ValueRequired",
                       "%s has no endpoints\nwrite endpoints: {NAME: {url: URL}}",
                       base->plugin->id);
    }
    for (uint32_t i = 0; i < endpoints->count; i++) {
        read_endpoint(definition, base, &endpoints->pairs[i], own);
    }
}

/* A plugin of the Web API shape: one endpoint, or several by their names. */
static void read_webapi(struct tri_definition *definition, struct endpoint_reader *reader,
                        const struct tr_tree *tree, const char *what)
{
    const struct tr_tree *known = part_of(definition, tree, PLUGIN_KEYS, true);
    const struct tr_tree *own = part_of(definition, tree, PLUGIN_KEYS, false);
    const struct tr_tree *endpoints = tr_tree_find(tree, "endpoints");
    const struct tr_tree *endpoint = tr_tree_find(tree, "endpoint");
    if (known == NULL || own == NULL) {
        return;
    }
    reader->endpoint.name = tr_text_of("default");
    tri_keys_read_keys(definition, known, what, PLUGIN_KEYS, reader);
    if (endpoint != NULL && endpoints != NULL) {
        tri_report_add(definition->report, endpoint->place, "InvalidValue",
                       "%s has 'endpoint' and 'endpoints'\nwrite one of them", what);
    } else if (endpoints != NULL) {
        read_endpoints(definition, reader, endpoints, own);
    } else if (endpoint != NULL || has_wish(reader)) {
        bool is_there = identify(definition, reader, what, &own);
        if (is_there && read_own(definition, reader, own, what) && reader->endpoint.url.size > 0) {
            add_endpoint(definition, tree->place, reader);
        }
    } else if (tree->count > (path_of(tree) != NULL ? 1 : 0)) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "%s has no endpoint\nwrite endpoint: URL, or endpoints: {NAME: {url: URL}}",
                       what);
    }
}

void tri_settings_read_plugins(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_map(definition, value, "plugins")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        const struct tr_tree *tree = value->pairs[i].value;
        bool is_loaded = path_of(tree) != NULL; /* if it could not be, that was told */
        const struct tr_plugin *plugin =
            is_loaded ? plugin_of(settings, value->pairs[i].key->text)
                      : tri_settings_find_plugin(definition, settings, value->pairs[i].key);
        struct endpoint_reader reader = {.settings = settings, .plugin = plugin};
        char what[160];
        if (plugin == NULL) {
            continue;
        }
        (void)snprintf(what, sizeof what, "the plugin %.60s", plugin->id);
        if (plugin->webapi == NULL) {
            tri_keys_read_keys(definition, tree, what, CORE_KEYS, &reader);
        } else if (tri_keys_expect_map(definition, tree, what)) {
            read_webapi(definition, &reader, tree, what);
        }
    }
}
