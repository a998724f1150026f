/*
 * The options of `troupe serve` that open a port for Flyte's clients (deploy/api/).
 */
#ifndef TR_DEPLOY_COMMANDS_SERVE_HTTP_H
#define TR_DEPLOY_COMMANDS_SERVE_HTTP_H

#include <limits.h>

#include "deploy/api/api.h"
#include "deploy/cli/command.h"
#include "deploy/entities/registrar.h"
#include "deploy/entities/task_token.h"
#include "deploy/follow/service_log.h"
#include "deploy/pages/pages.h"
#include "deploy/settings/settings.h"
#include "deploy/web/web.h"

/* For the command's table. */
#define TR_SERVE_HTTP_OPTIONS                                                                    \
    {0, "http", "ADDRESS", "answer programs and Flyte's clients there", NULL, 0, true},          \
    {                                                                                            \
        0, "tls", "CERT,KEY", "speak TLS there, with these PEM files", NULL, TR_COMPLETES_FILES, \
            false                                                                                \
    }

/* How the port is to be. */
struct tr_serve_http {
    struct tr_api_options options;
    const char *addresses[TR_DOOR_ADDRESSES_MAX];
    char *pair; /* CERT and KEY, each a string */
    struct tr_task_tokens tokens;
};

/*
 * Reads them, the command line before the settings, which both outlive; without an address there is
 * no port. What is wrong is said on stderr. To be ended in any case.
 */
enum tr_exit_status tr_serve_http_read(const struct tr_invocation *invocation,
                                       const struct tr_settings_file *settings,
                                       struct tr_serve_http *http);

/*
 * Gives tasks that call back a token each, if clients need one: it is that of their execution, in
 * variables that they ask for. What is wrong is said on stderr.
 */
enum tr_exit_status tr_serve_http_give_tokens(const struct tr_invocation *invocation,
                                              struct tr_serve_http *http, const char *folder,
                                              struct tr_live_options *options);
void tr_serve_http_fini(struct tr_serve_http *http);

/* The file of a store that has what Flyte's clients write into theirs, while there is a port. */
#define TR_STORE_FLYTE_CONFIG "flyte.config"

#define TR_SERVE_PARTS_MAX 8

/* The port, and what answers there; all NULL without an address. */
struct tr_serve_port {
    struct tr_api *api;
    struct tr_registrar *registrar;
    struct tr_web *web;
    struct tr_door_part parts[TR_SERVE_PARTS_MAX]; /* what is not Flyte's */
    char config[PATH_MAX];                         /* the file; empty: there is none */
};

/*
 * Opens the port and tells where it is and what clients write to find it. What is wrong is said on
 * stderr; there is nothing to be closed then.
 */
enum tr_exit_status tr_serve_http_open(const struct tr_invocation *invocation,
                                       const struct tr_serve_http *http, struct tr_live *live,
                                       struct tr_desk *desk, struct tr_service_log *log,
                                       struct tr_serve_port *port);
void tr_serve_http_close(struct tr_serve_port *port);

#endif
