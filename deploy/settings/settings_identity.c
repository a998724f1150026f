/*
 * Who we are to the API server of a cluster, where an endpoint leaves that to others: a kubeconfig,
 * as kubectl reads it, or the files that a pod finds in itself. What is wrong in a kubeconfig is
 * told at its place there.
 *
 * Certificates and keys become part of an identity (struct tr_identity), whose name alone is in
 * requests. Tokens of files and commands are found by the host when a request leaves.
 */
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/yaml.h"
#include "actors/graph/language/keys.h"
#include "deploy/common/file.h"
#include "deploy/settings/settings_inside.h"
#include "runtime/memory.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define FILE_BYTES_MAX (1U << 20)
#define EXEC_VERSION "client.authentication.k8s.io/v1"

/* One identity in the making. */
struct maker {
    struct tri_definition *definition;
    struct tr_settings_file *settings;
    const struct tri_settings_wish *wish;
    const char *path; /* of the kubeconfig, or the folder of files */
    struct tr_webapi_endpoint *endpoint;
    struct tr_identity identity;
    struct tr_text namespace;
};

static bool refuse(struct maker *maker, struct tri_place place, const char *words)
{
    tri_report_add(maker->definition->report, place, "InvalidValue", "%s", words);
    return false;
}

#define REFUSE(maker, place, ...) \
    (tri_report_add((maker)->definition->report, (place), "InvalidValue", __VA_ARGS__), false)

static const char *keep(struct maker *maker, struct tr_text text)
{
    return tr_arena_text(&maker->settings->arena, text).data;
}

/* ------------------------------------------------------------------------------------ files */

/* A path of a kubeconfig counts from its folder on. */
static const char *path_from(struct maker *maker, struct tr_text path)
{
    const char *slash = strrchr(maker->path, '/');
    bool is_whole = path.size > 0 && path.data[0] == '/';
    int folder = is_whole || slash == NULL ? 0 : (int)(slash - maker->path) + 1;
    struct tr_text whole = tr_arena_print(&maker->settings->arena, "%.*s%.*s", folder, maker->path,
                                          (int)path.size, path.data);
    return whole.size > 0 ? whole.data : "";
}

/* A file's bytes; false: it is told, at `place`. */
static bool read_file(struct maker *maker, struct tri_place place, const char *path,
                      struct tr_text *text)
{
    char *bytes = NULL;
    size_t size = 0;
    int error = tr_file_read(path, FILE_BYTES_MAX, &bytes, &size);
    if (error != 0) {
        return REFUSE(maker, place,
                      "the file %s cannot be read: %s\nname one that the engine may "
                      "read, of a MiB at most",
                      path, tr_error_text(error));
    }
    *text = tr_arena_text(&maker->settings->arena, (struct tr_text){.data = bytes, .size = size});
    explicit_bzero(bytes, size);
    tr_free(bytes);
    return true;
}

static bool is_pem(struct tr_text text)
{
    return text.size > 0 && memmem(text.data, text.size, "-----BEGIN ", 11) != NULL;
}

/* NAME-data, which is the base64 of a PEM file, or NAME, the path of one; neither is fine. */
static bool read_pem(struct maker *maker, const struct tr_tree *map, const char *name,
                     struct tr_bytes *pem)
{
    char data_name[64];
    (void)snprintf(data_name, sizeof data_name, "%s-data", name);
    const struct tr_tree *data = tr_tree_find(map, data_name);
    const struct tr_tree *path = tr_tree_find(map, name);
    struct tr_text text = {0};
    if (data == NULL && path == NULL) {
        return true;
    }
    if (data == NULL && !read_file(maker, path->place, path_from(maker, path->text), &text)) {
        return false;
    }
    if (data != NULL) {
        size_t size = 0;
        uint8_t *room = tr_arena_alloc(&maker->settings->arena, data->text.size + 1);
        bool is_good = room != NULL && sodium_base642bin(room, data->text.size + 1, data->text.data,
                                                         data->text.size, "\n\r ", &size, NULL,
                                                         sodium_base64_VARIANT_ORIGINAL) == 0;
        text = (struct tr_text){.data = (const char *)room, .size = is_good ? size : 0};
    }
    if (!is_pem(text)) {
        return data != NULL ? REFUSE(maker, data->place,
                                     "%s is not the base64 of a PEM file\nwrite what "
                                     "`base64 -w0 FILE` prints",
                                     data_name)
                            : REFUSE(maker, path->place,
                                     "the file of %s is no PEM file\nname one that has "
                                     "-----BEGIN in it",
                                     name);
    }
    *pem = (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
    return true;
}

/* ------------------------------------------------------------------------------- kubeconfig */

static struct tr_text text_at(const struct tr_tree *map, const char *name)
{
    const struct tr_tree *found =
        map != NULL && map->kind == TR_TREE_MAP ? tr_tree_find(map, name) : NULL;
    return found != NULL && tr_tree_is_text(found) ? found->text : (struct tr_text){0};
}

/* What is called `name` in a list: [{name: NAME, what: {...}}]. False: it is told. */
static bool find_named(struct maker *maker, const struct tr_tree *file, const char *list,
                       const char *what, struct tr_text name, const struct tr_tree **found)
{
    const struct tr_tree *all = tr_tree_find(file, list);
    for (uint32_t i = 0; all != NULL && all->kind == TR_TREE_LIST && i < all->count; i++) {
        const struct tr_tree *item = all->items[i];
        if (tr_text_equal(text_at(item, "name"), name)) {
            *found = tr_tree_find(item, what);
            if (*found != NULL && (*found)->kind == TR_TREE_MAP) {
                return true;
            }
            return REFUSE(maker, item->place,
                          "the %s '%.*s' says nothing\nwrite %s: {...} beside "
                          "its name",
                          what, TRI_SHOWN(name), what);
        }
    }
    return REFUSE(maker, all != NULL ? all->place : file->place,
                  "there is no %s '%.*s'\nname one of %s of this file", what, TRI_SHOWN(name),
                  list);
}

/* SCHEME://HOST[:PORT][/PATH] with another HOST, and where the first one was: HOST:PORT. */
static bool name_server(struct maker *maker, const struct tr_tree *name, struct tr_text server)
{
    const char *end = server.data + server.size;
    const char *host = memmem(server.data, server.size, "://", 3);
    host = host == NULL ? server.data : host + 3;
    const char *path = memchr(host, '/', (size_t)(end - host));
    path = path == NULL ? end : path;
    const char *bracket = memchr(host, ']', (size_t)(path - host));
    const char *from = bracket == NULL ? host : bracket;
    const char *port = memchr(from, ':', (size_t)(path - from));
    struct tr_text ending = {.data = port == NULL ? path : port,
                             .size = (size_t)(end - (port == NULL ? path : port))};
    struct tr_arena *arena = &maker->settings->arena;
    struct tr_text url =
        tr_arena_print(arena, "%.*s%.*s%.*s", (int)(host - server.data), server.data,
                       (int)name->text.size, name->text.data, (int)ending.size, ending.data);
    struct tr_text place =
        tr_arena_print(arena, "%.*s%s", (int)(path - host), host, port == NULL ? ":443" : "");
    maker->endpoint->url = url;
    maker->identity.connect_to = place.data;
    return url.size > 0 && place.size > 0;
}

static bool read_cluster(struct maker *maker, const struct tr_tree *cluster)
{
    const struct tr_tree *server = tr_tree_find(cluster, "server");
    const struct tr_tree *name = tr_tree_find(cluster, "tls-server-name");
    const struct tr_tree *proxy = tr_tree_find(cluster, "proxy-url");
    struct tr_text url;
    if (server == NULL) {
        return refuse(maker, cluster->place,
                      "the cluster has no server\nwrite server: https://HOST[:PORT]");
    }
    if (!tri_settings_read_url(maker->definition, server, &url)) {
        return false;
    }
    maker->endpoint->url = tr_arena_text(&maker->settings->arena, url);
    maker->endpoint->is_insecure =
        tr_text_equal(text_at(cluster, "insecure-skip-tls-verify"), tr_text_of("true"));
    maker->identity.proxy = proxy != NULL ? keep(maker, proxy->text) : NULL;
    return read_pem(maker, cluster, "certificate-authority", &maker->identity.ca) &&
           (name == NULL || name_server(maker, name, url));
}

/* A list of words as argv, the first of which is given. */
static const char *const *read_words(struct maker *maker, const char *first,
                                     const struct tr_tree *list)
{
    uint32_t count = list != NULL && list->kind == TR_TREE_LIST ? list->count : 0;
    const char **words = tr_arena_array(&maker->settings->arena, count + 2, sizeof *words);
    for (uint32_t i = 0; words != NULL && i < count; i++) {
        words[i + 1] = keep(maker, list->items[i]->text);
    }
    if (words != NULL) {
        words[0] = first;
        words[count + 1] = NULL;
    }
    return words;
}

/* NAME=VALUE of [{name: NAME, value: VALUE}], behind what the command is told of us. */
static const char *const *read_environment(struct maker *maker, const struct tr_tree *list,
                                           struct tr_text version)
{
    struct tr_arena *arena = &maker->settings->arena;
    uint32_t count = list != NULL && list->kind == TR_TREE_LIST ? list->count : 0;
    const char **entries = tr_arena_array(arena, count + 2, sizeof *entries);
    for (uint32_t i = 0; entries != NULL && i < count; i++) {
        struct tr_text name = text_at(list->items[i], "name");
        struct tr_text value = text_at(list->items[i], "value");
        entries[i + 1] = tr_arena_print(arena, "%.*s=%.*s", (int)name.size, name.data,
                                        (int)value.size, value.data)
                             .data;
    }
    if (entries != NULL) {
        entries[0] = tr_arena_print(arena,
                                    "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%.*s\",\"kind\":"
                                    "\"ExecCredential\",\"spec\":{\"interactive\":false}}",
                                    (int)version.size, version.data)
                         .data;
        entries[count + 1] = NULL;
    }
    return entries;
}

static bool read_exec(struct maker *maker, const struct tr_tree *exec)
{
    struct tr_text command = text_at(exec, "command");
    struct tr_text version = text_at(exec, "apiVersion");
    bool is_known = tr_text_equal(version, tr_text_of(EXEC_VERSION)) ||
                    tr_text_equal(version, tr_text_of(EXEC_VERSION "beta1"));
    if (command.size == 0) {
        return refuse(maker, exec->place, "exec has no command\nwrite command: PROGRAM");
    }
    if (!is_known) {
        return REFUSE(maker, exec->place,
                      "exec has no apiVersion that is known\nwrite apiVersion: "
                      "%s, or v1beta1",
                      EXEC_VERSION);
    }
    bool is_path = memchr(command.data, '/', command.size) != NULL;
    const char *program = is_path ? path_from(maker, command) : keep(maker, command);
    maker->identity.command = read_words(maker, program, tr_tree_find(exec, "args"));
    maker->identity.read = tri_settings_read_credential;
    maker->identity.environment = read_environment(maker, tr_tree_find(exec, "env"), version);
    return maker->identity.command != NULL && maker->identity.environment != NULL;
}

static bool read_user(struct maker *maker, const struct tr_tree *user)
{
    static const char *const refused[] = {"username", "password", "auth-provider"};
    const struct tr_tree *exec = tr_tree_find(user, "exec");
    struct tr_text token = text_at(user, "token");
    struct tr_text file = text_at(user, "tokenFile");
    for (size_t i = 0; i < TR_COUNT_OF(refused); i++) {
        const struct tr_tree *found = tr_tree_find(user, refused[i]);
        if (found != NULL) {
            return REFUSE(maker, found->place,
                          "'%s' is nothing that API servers take any more\n"
                          "write token, tokenFile, exec or a client certificate",
                          refused[i]);
        }
    }
    maker->identity.token = token.size > 0 ? keep(maker, token) : NULL;
    maker->identity.token_file = file.size > 0 ? path_from(maker, file) : NULL;
    return (exec == NULL || read_exec(maker, exec)) &&
           read_pem(maker, user, "client-certificate", &maker->identity.certificate) &&
           read_pem(maker, user, "client-key", &maker->identity.key);
}

/* The context that is wished for, else the file's own. */
static bool read_context(struct maker *maker, const struct tr_tree *file)
{
    const struct tr_tree *wished = maker->wish->context;
    const struct tr_tree *current = tr_tree_find(file, "current-context");
    const struct tr_tree *context;
    const struct tr_tree *cluster;
    const struct tr_tree *user = NULL;
    struct tr_text name = wished != NULL    ? wished->text
                          : current != NULL ? current->text
                                            : (struct tr_text){0};
    if (name.size == 0) {
        return REFUSE(maker, maker->wish->kubeconfig->place,
                      "%s has no current-context\nwrite "
                      "context: NAME beside kubeconfig",
                      maker->path);
    }
    if (!find_named(maker, file, "contexts", "context", name, &context) ||
        !find_named(maker, file, "clusters", "cluster", text_at(context, "cluster"), &cluster) ||
        (text_at(context, "user").size > 0 &&
         !find_named(maker, file, "users", "user", text_at(context, "user"), &user))) {
        return false;
    }
    maker->namespace = text_at(context, "namespace");
    return read_cluster(maker, cluster) && (user == NULL || read_user(maker, user));
}

static bool read_kubeconfig(struct maker *maker)
{
    struct tri_definition *definition = maker->definition;
    const struct tr_tree *wish = maker->wish->kubeconfig;
    struct tr_text path;
    struct tr_text text;
    if (!tri_keys_read_text(definition, wish, &path)) {
        return false;
    }
    maker->path = tri_settings_place(maker->settings, path);
    if (maker->path == NULL || !read_file(maker, wish->place, maker->path, &text)) {
        return false;
    }
    uint32_t source = tri_report_source(definition->report, tr_text_of(maker->path));
    const struct tr_tree *file =
        tr_yaml_read(definition->scratch, definition->report, source, text);
    if (file != NULL && file->kind != TR_TREE_MAP) {
        return REFUSE(maker, wish->place,
                      "%s is no kubeconfig\nname a file as `kubectl config "
                      "view --raw` prints it",
                      maker->path);
    }
    return file != NULL && read_context(maker, file);
}

/* ------------------------------------------------------------------------------- in cluster */

/* A file of the folder of the service account. */
static const char *account_file(struct maker *maker, const char *name)
{
    return tr_arena_print(&maker->settings->arena, "%s/%s", maker->path, name).data;
}

static bool read_in_cluster(struct maker *maker)
{
    const struct tr_tree *wish = maker->wish->in_cluster;
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    struct tr_text ca;
    struct tr_text namespace = {0};
    bool is_true = tr_text_equal(wish->text, tr_text_of("true"));
    maker->path = is_true ? SERVICE_ACCOUNT : tri_settings_place(maker->settings, wish->text);
    if (maker->path == NULL) {
        return false;
    }
    if (host == NULL || port == NULL) {
        return refuse(maker, wish->place,
                      "this is no pod of a cluster: $KUBERNETES_SERVICE_HOST and "
                      "$KUBERNETES_SERVICE_PORT are not set\nwrite kubeconfig: FILE instead");
    }
    bool is_six = strchr(host, ':') != NULL;
    maker->endpoint->url = tr_arena_print(&maker->settings->arena, "https://%s%s%s:%s",
                                          is_six ? "[" : "", host, is_six ? "]" : "", port);
    maker->identity.token_file = account_file(maker, "token");
    if (!read_file(maker, wish->place, account_file(maker, "ca.crt"), &ca) ||
        !read_file(maker, wish->place, account_file(maker, "namespace"), &namespace)) {
        return false;
    }
    while (namespace.size > 0 && namespace.data[namespace.size - 1] == '\n') {
        namespace.size--;
    }
    maker->identity.ca = (struct tr_bytes){.data = (const uint8_t *)ca.data, .size = ca.size};
    maker->namespace = namespace;
    return is_pem(ca) || REFUSE(maker, wish->place,
                                "%s/ca.crt is no PEM file\nmount the files of "
                                "a service account there",
                                maker->path);
}

/* ---------------------------------------------------------------------------------- the whole */

/* What is said twice, or belongs to something that is not there. */
static bool fit_together(struct maker *maker)
{
    const struct tri_settings_wish *wish = maker->wish;
    const struct tr_webapi_endpoint *endpoint = maker->endpoint;
    if (wish->kubeconfig != NULL && wish->in_cluster != NULL) {
        return REFUSE(maker, wish->in_cluster->place,
                      "%s has 'kubeconfig' and 'in_cluster'\n"
                      "write one of them",
                      wish->what);
    }
    if (wish->kubeconfig == NULL && wish->context != NULL) {
        return REFUSE(maker, wish->context->place,
                      "%s has 'context' without 'kubeconfig'\nwrite "
                      "kubeconfig: FILE beside it",
                      wish->what);
    }
    bool is_said = endpoint->url.size + endpoint->ca_file.size + endpoint->client_key.size +
                           endpoint->client_certificate.size >
                       0 ||
                   endpoint->is_insecure || endpoint->authorization != TR_WEBAPI_AUTHORIZATION_NONE;
    const struct tr_tree *place = wish->kubeconfig != NULL ? wish->kubeconfig : wish->in_cluster;
    return !is_said ||
           REFUSE(maker, place->place,
                  "%s has '%s', which says where its API server is and who we "
                  "are to it\ntake out url, authorization, ca_file, client_certificate, client_key "
                  "and insecure",
                  wish->what, wish->kubeconfig != NULL ? "kubeconfig" : "in_cluster");
}

bool tri_settings_identify(struct tri_definition *definition, struct tr_settings_file *settings,
                           const struct tri_settings_wish *wish, const char *plugin,
                           struct tr_webapi_endpoint *endpoint, struct tr_text *namespace)
{
    struct maker maker = {
        .definition = definition, .settings = settings, .wish = wish, .endpoint = endpoint};
    if (!fit_together(&maker) ||
        !(wish->kubeconfig != NULL ? read_kubeconfig(&maker) : read_in_cluster(&maker))) {
        return false;
    }
    struct tr_text name = tr_arena_print(&settings->arena, "%s/%.*s", plugin,
                                         (int)endpoint->name.size, endpoint->name.data);
    struct tr_identity *added =
        tri_vector_add(&settings->arena, &settings->identities, sizeof *added);
    if (name.size == 0 || added == NULL) {
        return false;
    }
    *added = maker.identity;
    added->name = name.data;
    added->url = keep(&maker, endpoint->url);
    endpoint->identity = name;
    *namespace = maker.namespace;
    return true;
}
