/*
 * One connection after the other is taken: a request is read to its end, and answered.
 */
#include "tests/unit/runtime/objects/object_server.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test.h"

#define HEAD_BYTES_MAX 8192

/* Reads up to the empty line behind the headers; false: the client has gone. */
static bool read_head(int peer, char head[HEAD_BYTES_MAX])
{
    size_t size = 0;
    head[0] = '\0';
    while (size + 1 < HEAD_BYTES_MAX && strstr(head, "\r\n\r\n") == NULL) {
        if (read(peer, head + size, 1) != 1) {
            return false;
        }
        head[++size] = '\0';
    }
    return true;
}

static size_t length_of(const char *head)
{
    const char *line = strcasestr(head, "\r\nContent-Length: ");
    return line == NULL ? 0 : strtoul(line + strlen("\r\nContent-Length: "), NULL, 10);
}

static void send_text(int peer, const char *text)
{
    size_t size = strlen(text);
    TR_ASSERT(send(peer, text, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static void read_body(int peer, const char *head, struct object_request *request)
{
    request->body_size = length_of(head);
    request->body = calloc(1, request->body_size + 1);
    TR_ASSERT(request->body != NULL);
    if (strcasestr(head, "\r\nExpect: 100-continue") != NULL) {
        send_text(peer, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    for (size_t at = 0; at < request->body_size;) {
        ssize_t count = read(peer, request->body + at, request->body_size - at);
        TR_ASSERT(count > 0);
        at += (size_t)count;
    }
}

static void keep(struct object_request *request, const char *head)
{
    const char *range = strcasestr(head, "\r\nRange: ");
    snprintf(request->line, sizeof request->line, "%.*s", (int)(strstr(head, " HTTP/") - head),
             head);
    if (range != NULL) {
        snprintf(request->range, sizeof request->range, "%.*s", (int)strcspn(range + 2, "\r"),
                 range + 2);
    }
}

static void answer(int peer, const struct object_answer *answer)
{
    char head[1024];
    const char *body = answer->body != NULL ? answer->body : "";
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
             answer->status, strlen(body) + answer->missing,
             answer->headers != NULL ? answer->headers : "");
    send_text(peer, head);
    send_text(peer, body);
}

/* Keeps a request, and gives what answers it; NULL: nothing does. */
static const struct object_answer *take(struct object_server *server, int peer, const char *head)
{
    const struct object_answer *found = NULL;
    pthread_mutex_lock(&server->lock);
    if (server->request_count == server->answer_count) {
        server->surplus_count++;
    } else {
        keep(&server->requests[server->request_count], head);
        read_body(peer, head, &server->requests[server->request_count]);
        found = &server->answers[server->request_count++];
    }
    pthread_mutex_unlock(&server->lock);
    return found;
}

static void *serve(void *argument)
{
    struct object_server *server = argument;
    char head[HEAD_BYTES_MAX];
    int peer;
    while ((peer = accept(server->listener, NULL, NULL)) >= 0) {
        const struct object_answer *found = read_head(peer, head) ? take(server, peer, head) : NULL;
        if (found != NULL) {
            answer(peer, found);
        }
        close(peer);
    }
    return NULL;
}

const struct object_request *object_server_request(struct object_server *server, size_t number)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    assert_true(number < count);
    return &server->requests[number];
}

static int listen_here(struct object_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(server->endpoint, sizeof server->endpoint, "http://127.0.0.1:%d",
             ntohs(address.sin_port));
    return listener;
}

void object_server_start(struct object_server *server, const char *uri,
                         const struct object_answer *answers, size_t count)
{
    memset(server, 0, sizeof *server);
    server->answers = answers;
    server->answer_count = count;
    assert_true(count <= OBJECT_REQUESTS_MAX);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(pthread_mutex_init(&server->lock, NULL), 0);
    server->listener = listen_here(server);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
    server->store =
        (struct tr_object_store){.uri = {"s3://", 5}, .endpoint = tr_text_of(server->endpoint)};
    server->call.is_stopping = &server->is_stopping;
    const struct tri_objects_options options = {
        .uri = tr_text_of(uri), .store = &server->store, .digits = OBJECT_STORE_DIGITS};
    assert_int_equal(tri_objects_new(&options, &server->remote), 0);
}

void object_server_stop(struct object_server *server)
{
    server->remote->ops->free(server->remote);
    assert_int_equal(shutdown(server->listener, SHUT_RDWR), 0);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->listener);
    assert_true(server->may_lack_requests || server->request_count == server->answer_count);
    assert_int_equal(server->surplus_count, 0);
    for (size_t i = 0; i < server->request_count; i++) {
        free(server->requests[i].body);
    }
    pthread_mutex_destroy(&server->lock);
}
