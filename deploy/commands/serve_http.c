/*
 * `troupe serve --http`: which addresses, and what people are told of them.
 */
#include "deploy/commands/serve_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/file.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define HOST_BYTES 256
#define UNIX_PREFIX "unix:"
#define ENDPOINT_PREFIX "dns:///"

/* By which name others reach an address that is all of this machine's. */
static void print_endpoint(const char *address, char *text, size_t size)
{
    static const char *const all[] = {"0.0.0.0:", "[::]:"};
    char host[HOST_BYTES] = "";
    for (size_t i = 0; i < TR_COUNT_OF(all); i++) {
        if (strncmp(address, all[i], strlen(all[i])) == 0 &&
            gethostname(host, sizeof host - 1) == 0) {
            (void)snprintf(text, size, ENDPOINT_PREFIX "%s:%s", host, address + strlen(all[i]));
            return;
        }
    }
    bool is_unix = strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
    (void)snprintf(text, size, "%s%s", is_unix ? "" : ENDPOINT_PREFIX, address);
}

/* ------------------------------------------------------------------- reading */

static enum tr_exit_status read_addresses(const struct tr_invocation *invocation,
                                          struct tr_serve_http *http)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "http") != 0) {
            continue;
        }
        if (http->options.address_count == TR_DOOR_ADDRESSES_MAX) {
            return tr_command_mistake(invocation->command,
                                      "--http: these are more than %d addresses",
                                      TR_DOOR_ADDRESSES_MAX);
        }
        http->addresses[http->options.address_count++] = arguments->given[i].value;
    }
    return TR_EXIT_DONE;
}

/* Of CERT,KEY the last comma parts them. */
static enum tr_exit_status read_pair(const struct tr_invocation *invocation, const char *pair,
                                     struct tr_serve_http *http)
{
    const char *comma = strrchr(pair, ',');
    if (comma == NULL || comma == pair || comma[1] == '\0') {
        return tr_command_mistake(invocation->command,
                                  "--tls: '%.200s' is not CERT,KEY; write the paths of two PEM "
                                  "files with a comma between",
                                  pair);
    }
    http->pair = tr_text_copy(tr_text_of(pair));
    if (http->pair == NULL) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    char *key = http->pair + (comma - pair);
    *key = '\0';
    http->options.certificate = http->pair;
    http->options.key = key + 1;
    return TR_EXIT_DONE;
}

static enum tr_exit_status check_addresses(const struct tr_invocation *invocation,
                                           const struct tr_serve_http *http)
{
    char words[TR_DOOR_WORDS_BYTES];
    bool has_tls = http->options.certificate != NULL;
    for (size_t i = 0; i < http->options.address_count; i++) {
        if (tr_door_address_check(http->addresses[i], has_tls, words) != 0) {
            return tr_command_mistake(invocation->command, "--http: %s", words);
        }
    }
    return TR_EXIT_DONE;
}

/*
 * Tasks of Flyte's that call back, as eager ones do, look for the engine in variables that they are
 * handed on. They are set before there are threads, so for a port that is known then.
 */
static void tell_tasks(const struct tr_serve_http *http)
{
    const char *first = http->addresses[0];
    char address[TR_DOOR_ADDRESS_BYTES_MAX + 16];
    char endpoint[HOST_BYTES + TR_DOOR_ADDRESS_BYTES_MAX + 16];
    const char *colon = strrchr(first, ':');
    const char *port = colon == NULL ? first : colon + 1;
    bool is_known = strncmp(first, UNIX_PREFIX, strlen(UNIX_PREFIX)) != 0 && strcmp(port, "0") != 0;
    if (!is_known || getenv("FLYTE_PLATFORM_URL") != NULL) {
        return;
    }
    (void)snprintf(address, sizeof address, "%s%s", colon == NULL ? "127.0.0.1:" : "", first);
    print_endpoint(address, endpoint, sizeof endpoint);
    (void)setenv("FLYTE_PLATFORM_URL", endpoint + strlen(ENDPOINT_PREFIX), 1);
    (void)setenv("FLYTE_PLATFORM_INSECURE", http->options.certificate == NULL ? "true" : "false",
                 1);
}

enum tr_exit_status tr_serve_http_read(const struct tr_invocation *invocation,
                                       const struct tr_settings_file *settings,
                                       struct tr_serve_http *http)
{
    const char *pair = tr_arguments_value(&invocation->arguments, "tls");
    *http = (struct tr_serve_http){
        .options = {.certificate = settings->http.certificate,
                    .key = settings->http.key,
                    .request_bytes_max = settings->http.request_bytes,
                    .connections_max = settings->http.connections,
                    .everybody = TR_API_ADMIN,
                    .clients = {.items = settings->http.clients.items,
                                .count = settings->http.clients.count}},
    };
    if (settings->http.provider != NULL) {
        http->options.provider = *settings->http.provider;
    }
    enum tr_exit_status status = read_addresses(invocation, http);
    const char *const *listen = settings->http.addresses.items;
    for (uint32_t i = 0; http->options.address_count == 0 && i < settings->http.addresses.count;
         i++) {
        http->addresses[i] = listen[i];
    }
    if (http->options.address_count == 0) {
        http->options.address_count = settings->http.addresses.count;
    }
    http->options.addresses = http->addresses;
    if (status == TR_EXIT_DONE && pair != NULL && http->options.address_count == 0) {
        return tr_command_mistake(invocation->command,
                                  "--tls: there is no address that it is for; give one with "
                                  "--http");
    }
    if (status == TR_EXIT_DONE && pair != NULL) {
        status = read_pair(invocation, pair, http);
    }
    if (status == TR_EXIT_DONE) {
        status = check_addresses(invocation, http);
    }
    if (status == TR_EXIT_DONE && http->options.address_count > 0) {
        tell_tasks(http);
    }
    return status;
}

enum tr_exit_status tr_serve_http_give_tokens(const struct tr_invocation *invocation,
                                              struct tr_serve_http *http, const char *folder,
                                              struct tr_live_options *options)
{
    bool needs_tokens = http->options.clients.count > 0 || http->options.provider.issuer != NULL;
    if (http->options.address_count == 0 || !needs_tokens) {
        return TR_EXIT_DONE;
    }
    int error = tr_task_tokens_init(&http->tokens, folder);
    if (error != 0) {
        return tr_command_failed(invocation->command, "the key of tokens in %s: %s", folder,
                                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    options->variables = tr_task_tokens_maker(&http->tokens);
    return TR_EXIT_DONE;
}

void tr_serve_http_fini(struct tr_serve_http *http)
{
    tr_free(http->pair);
    http->pair = NULL;
}

/* ------------------------------------------------------------------- opening */

static void tell(struct tr_service_log *log, const struct tr_api *api, const char *config)
{
    char text[HOST_BYTES + TR_DOOR_ADDRESS_BYTES_MAX + 64];
    for (size_t i = 0; i < tr_api_address_count(api); i++) {
        (void)snprintf(text, sizeof text, "answers Flyte's clients at %s", tr_api_address(api, i));
        tr_service_log_note(log, false, text);
    }
    tr_service_log_note(log, false,
                        "which find it by these lines of ~/.flyte/config.yaml (troupe config "
                        "flyte):");
    for (const char *line = config; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        (void)snprintf(text, sizeof text, "%.*s", (int)size, line);
        tr_service_log_note(log, false, text);
        line += size + 1;
    }
}

/* What clients write into their file, and `troupe config flyte` does for them. */
static void print_config(const struct tr_api *api, bool has_tls, char *config, size_t size)
{
    char endpoint[HOST_BYTES + TR_DOOR_ADDRESS_BYTES_MAX + 16];
    const char *first = tr_api_address(api, 0);
    bool is_secure = has_tls && strncmp(first, UNIX_PREFIX, strlen(UNIX_PREFIX)) != 0;
    print_endpoint(first, endpoint, sizeof endpoint);
    (void)snprintf(config, size, "admin:\n  endpoint: %s\n  insecure: %s\n", endpoint,
                   is_secure ? "false" : "true");
}

/* Without the file only `troupe config flyte` has to be told where the port is. */
static void keep_config(const struct tr_live *live, const char *config, struct tr_serve_port *port)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)config, .size = strlen(config)};
    int size =
        snprintf(port->config, sizeof port->config, "%s/" TR_STORE_FLYTE_CONFIG, live->folder);
    if (size < 0 || (size_t)size >= sizeof port->config ||
        tr_file_write(port->config, bytes, false) != 0) {
        port->config[0] = '\0';
    }
}

static size_t add_parts(struct tr_serve_port *port, size_t count, const struct tr_door_part *parts,
                        size_t part_count)
{
    TR_ASSERT(count + part_count <= TR_COUNT_OF(port->parts));
    memcpy(port->parts + count, parts, part_count * sizeof *parts);
    return count + part_count;
}

/* Troupe's own API and the pages answer beside Flyte's, for the same clients. */
static int open_web(struct tr_api_options *options, const struct tr_live *live,
                    struct tr_serve_port *port)
{
    const struct tr_web_options web = {.folder = live->folder,
                                       .clients = options->clients,
                                       .everybody = options->everybody,
                                       .provider = options->provider};
    int error = tr_web_new(&web, &port->web);
    if (error == 0) {
        size_t count;
        const struct tr_door_part *parts = tr_web_parts(port->web, &count);
        count = add_parts(port, 0, parts, count);
        options->part_count = add_parts(port, count, tr_pages_parts(), TR_PAGES_PARTS);
        options->parts = port->parts;
        options->services.logs = TR_WEB_LOGS;
    }
    return error;
}

enum tr_exit_status tr_serve_http_open(const struct tr_invocation *invocation,
                                       const struct tr_serve_http *http, struct tr_live *live,
                                       struct tr_desk *desk, struct tr_service_log *log,
                                       struct tr_serve_port *port)
{
    char words[TR_DOOR_WORDS_BYTES] = "";
    char config[HOST_BYTES + TR_DOOR_ADDRESS_BYTES_MAX + 128];
    struct tr_api_options options = http->options;
    *port = (struct tr_serve_port){.api = NULL};
    if (options.address_count == 0) {
        return TR_EXIT_DONE;
    }
    options.services.desk = desk;
    int error = tr_registrar_open(live, &port->registrar);
    if (error == TR_SYSTEM) {
        (void)snprintf(words, sizeof words, "%s", strerror(errno));
    }
    if (error == 0) {
        options.services.registrar = port->registrar;
        options.clients.key = tr_registrar_key(port->registrar);
        options.services.uploads = tr_registrar_uploads(port->registrar);
        options.services.downloads = tr_registrar_downloads(port->registrar);
        error = open_web(&options, live, port);
    }
    if (error == 0) {
        error = tr_api_open(&options, words, &port->api);
    }
    if (error != 0) {
        tr_serve_http_close(port);
        return tr_command_failed(invocation->command, "Flyte's clients cannot be answered: %s",
                                 words[0] != '\0' ? words : tr_error_text(error));
    }
    tr_web_judge_by(port->web, tr_api_oidc(port->api));
    print_config(port->api, options.certificate != NULL, config, sizeof config);
    keep_config(live, config, port);
    tell(log, port->api, config);
    return TR_EXIT_DONE;
}

/* The registrar answers through the API, and is asked by it. */
void tr_serve_http_close(struct tr_serve_port *port)
{
    tr_registrar_stop(port->registrar);
    tr_web_stop(port->web);
    tr_api_close(port->api);
    tr_web_free(port->web);
    tr_registrar_free(port->registrar);
    if (port->config[0] != '\0') {
        (void)unlink(port->config);
    }
    *port = (struct tr_serve_port){.api = NULL};
}
