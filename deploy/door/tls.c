/*
 * TLS by OpenSSL, over sockets that do not wait. The client's protocols are asked for (ALPN): one
 * that names h2 speaks HTTP/2, all others HTTP/1.1.
 */
#include <stdio.h>

#include "deploy/door/connection.h"
#include "schemas/codec/error.h"

/* Ours by preference, each behind its size. */
static const unsigned char protocols[] = "\x02h2\x08http/1.1";

static int choose_protocol(SSL *tls, const unsigned char **chosen, unsigned char *size,
                           const unsigned char *offered, unsigned int offered_size, void *self)
{
    struct tr_door *door = self;
    unsigned char *found;
    (void)tls;
    int result = door->openssl->SSL_select_next_proto(&found, size, protocols, sizeof protocols - 1,
                                                      offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int refuse(const struct tri_openssl *openssl, const char *path, char *words)
{
    char reason[256] = "it is none";
    unsigned long code = openssl->ERR_peek_last_error();
    if (code != 0) {
        openssl->ERR_error_string_n(code, reason, sizeof reason);
    }
    (void)snprintf(words, TR_DOOR_WORDS_BYTES, "%.200s cannot be used for TLS: %s", path, reason);
    return TR_INVALID;
}

int tri_tls_open(struct tr_door *door, const char *certificate, const char *key, char *words)
{
    const struct tri_openssl *openssl = tri_openssl_load(words);
    if (openssl == NULL) {
        return TR_SYSTEM;
    }
    door->openssl = openssl;
    openssl->ERR_clear_error();
    door->tls = openssl->SSL_CTX_new(openssl->TLS_server_method());
    if (door->tls == NULL) {
        return TR_MEMORY;
    }
    /* As the macros SSL_CTX_set_min_proto_version and SSL_CTX_set_mode do it. */
    (void)openssl->SSL_CTX_ctrl(door->tls, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    (void)openssl->SSL_CTX_ctrl(door->tls, SSL_CTRL_MODE,
                                SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                                NULL);
    (void)openssl->SSL_CTX_set_options(door->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    openssl->SSL_CTX_set_alpn_select_cb(door->tls, choose_protocol, door);
    if (openssl->SSL_CTX_use_certificate_chain_file(door->tls, certificate) != 1) {
        return refuse(openssl, certificate, words);
    }
    if (openssl->SSL_CTX_use_PrivateKey_file(door->tls, key, SSL_FILETYPE_PEM) != 1 ||
        openssl->SSL_CTX_check_private_key(door->tls) != 1) {
        return refuse(openssl, key, words);
    }
    return 0;
}

void tri_tls_close(struct tr_door *door)
{
    if (door->tls != NULL) {
        door->openssl->SSL_CTX_free(door->tls);
        door->tls = NULL;
    }
}

int tri_tls_begin(struct tri_connection *connection)
{
    const struct tri_openssl *openssl = connection->door->openssl;
    connection->tls = openssl->SSL_new(connection->door->tls);
    if (connection->tls == NULL || openssl->SSL_set_fd(connection->tls, connection->socket) != 1) {
        return TR_MEMORY;
    }
    openssl->SSL_set_accept_state(connection->tls);
    return 0;
}

/* A word of goodbye, as far as the socket takes it at once. */
void tri_tls_end(struct tri_connection *connection)
{
    if (connection->tls != NULL) {
        const struct tri_openssl *openssl = connection->door->openssl;
        openssl->ERR_clear_error();
        (void)openssl->SSL_shutdown(connection->tls);
        openssl->SSL_free(connection->tls);
        connection->tls = NULL;
    }
}

/* What a call came to that did nothing: 0 at the end, TR_BUSY, TR_CLOSED. */
static int outcome_of(struct tri_connection *connection, int result)
{
    switch (connection->door->openssl->SSL_get_error(connection->tls, result)) {
    case SSL_ERROR_WANT_READ:
        return TR_BUSY;
    case SSL_ERROR_WANT_WRITE:
        return TR_BUSY;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        return TR_CLOSED;
    }
}

int tri_tls_agree(struct tri_connection *connection)
{
    const struct tri_openssl *openssl = connection->door->openssl;
    openssl->ERR_clear_error();
    int result = openssl->SSL_do_handshake(connection->tls);
    if (result == 1) {
        tri_connection_expect(connection, EPOLLIN);
        return 0;
    }
    int error = openssl->SSL_get_error(connection->tls, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        return TR_CLOSED;
    }
    tri_connection_expect(connection, error == SSL_ERROR_WANT_WRITE ? EPOLLOUT : EPOLLIN);
    return TR_BUSY;
}

bool tri_tls_is_http2(const struct tri_connection *connection)
{
    const unsigned char *name;
    unsigned int size;
    connection->door->openssl->SSL_get0_alpn_selected(connection->tls, &name, &size);
    return size == 2 && name[0] == 'h' && name[1] == '2';
}

static int bounded(size_t size)
{
    return size < TR_DOOR_TURN_BYTES ? (int)size : (int)TR_DOOR_TURN_BYTES;
}

ptrdiff_t tri_tls_read(struct tri_connection *connection, uint8_t *data, size_t size)
{
    const struct tri_openssl *openssl = connection->door->openssl;
    openssl->ERR_clear_error();
    int count = openssl->SSL_read(connection->tls, data, bounded(size));
    return count > 0 ? count : outcome_of(connection, count);
}

ptrdiff_t tri_tls_write(struct tri_connection *connection, const uint8_t *data, size_t size)
{
    const struct tri_openssl *openssl = connection->door->openssl;
    openssl->ERR_clear_error();
    int count = openssl->SSL_write(connection->tls, data, bounded(size));
    return count > 0 ? count : outcome_of(connection, count);
}
