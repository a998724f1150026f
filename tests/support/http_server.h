/*
 * A real http server for tests, as its paths say: tests/support/http_server.py has the list.
 */
#ifndef TR_TESTS_SUPPORT_HTTP_SERVER_H
#define TR_TESTS_SUPPORT_HTTP_SERVER_H

#include <sys/types.h>

/* A server in a process of its own. */
struct http_server {
    pid_t pid;
    int input; /* it ends when this is closed */
    int port;
};

/* `tls` and `client_ca` are names in tests/support/tls, or NULL. */
void http_server_start(struct http_server *server, const char *tls, const char *client_ca);
void http_server_stop(struct http_server *server);

#endif
