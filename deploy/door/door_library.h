/*
 * libnghttp2 and OpenSSL, loaded when a door is opened, and libmicrohttpd when the first client of
 * HTTP/1.1 comes: who needs none of them has no use for the fifteen that they bring along.
 *
 * Only for the files that call them. Each function that is used is a row of its list.
 */
#ifndef TR_DEPLOY_DOOR_DOOR_LIBRARY_H
#define TR_DEPLOY_DOOR_DOOR_LIBRARY_H

#include <microhttpd.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "schemas/codec/base.h"

#define TRI_NGHTTP2_FUNCTIONS(F)                         \
    F(option_del)                                        \
    F(option_new)                                        \
    F(option_set_max_continuations)                      \
    F(option_set_max_outbound_ack)                       \
    F(option_set_max_settings)                           \
    F(option_set_no_auto_window_update)                  \
    F(option_set_stream_reset_rate_limit)                \
    F(session_callbacks_del)                             \
    F(session_callbacks_new)                             \
    F(session_callbacks_set_on_begin_frame_callback)     \
    F(session_callbacks_set_on_begin_headers_callback)   \
    F(session_callbacks_set_on_data_chunk_recv_callback) \
    F(session_callbacks_set_on_frame_recv_callback)      \
    F(session_callbacks_set_on_header_callback)          \
    F(session_callbacks_set_on_stream_close_callback)    \
    F(session_consume_connection)                        \
    F(session_consume_stream)                            \
    F(session_del)                                       \
    F(session_get_stream_user_data)                      \
    F(session_mem_recv)                                  \
    F(session_mem_send)                                  \
    F(session_resume_data)                               \
    F(session_server_new2)                               \
    F(session_set_local_window_size)                     \
    F(session_set_stream_user_data)                      \
    F(session_terminate_session)                         \
    F(session_want_read)                                 \
    F(session_want_write)                                \
    F(submit_response)                                   \
    F(submit_rst_stream)                                 \
    F(submit_settings)                                   \
    F(submit_trailer)

#define TRI_MICROHTTPD_FUNCTIONS(F)  \
    F(add_connection)                \
    F(add_response_header)           \
    F(create_response_from_buffer)   \
    F(create_response_from_callback) \
    F(destroy_response)              \
    F(get_connection_info)           \
    F(get_connection_values_n)       \
    F(get_daemon_info)               \
    F(get_timeout)                   \
    F(queue_response)                \
    F(resume_connection)             \
    F(run)                           \
    F(start_daemon)                  \
    F(stop_daemon)                   \
    F(suspend_connection)

#define TRI_OPENSSL_FUNCTIONS(F)          \
    F(ERR_clear_error)                    \
    F(ERR_error_string_n)                 \
    F(ERR_peek_last_error)                \
    F(SSL_CTX_check_private_key)          \
    F(SSL_CTX_ctrl)                       \
    F(SSL_CTX_free)                       \
    F(SSL_CTX_new)                        \
    F(SSL_CTX_set_alpn_select_cb)         \
    F(SSL_CTX_set_options)                \
    F(SSL_CTX_use_PrivateKey_file)        \
    F(SSL_CTX_use_certificate_chain_file) \
    F(SSL_do_handshake)                   \
    F(SSL_free)                           \
    F(SSL_get0_alpn_selected)             \
    F(SSL_get_error)                      \
    F(SSL_new)                            \
    F(SSL_read)                           \
    F(SSL_select_next_proto)              \
    F(SSL_set_accept_state)               \
    F(SSL_set_fd)                         \
    F(SSL_shutdown)                       \
    F(SSL_write)                          \
    F(TLS_server_method)

/* nghttp2_NAME, MHD_NAME and NAME of the libraries, as member NAME. */
struct tri_nghttp2 {
#define TRI_NGHTTP2_MEMBER(name) __typeof__ (&nghttp2_##name)(name);
    TRI_NGHTTP2_FUNCTIONS(TRI_NGHTTP2_MEMBER)
#undef TRI_NGHTTP2_MEMBER
};

struct tri_microhttpd {
#define TRI_MICROHTTPD_MEMBER(name) __typeof__ (&MHD_##name)(name);
    TRI_MICROHTTPD_FUNCTIONS(TRI_MICROHTTPD_MEMBER)
#undef TRI_MICROHTTPD_MEMBER
};

struct tri_openssl {
#define TRI_OPENSSL_MEMBER(name) __typeof__ (&name)(name);
    TRI_OPENSSL_FUNCTIONS(TRI_OPENSSL_MEMBER)
#undef TRI_OPENSSL_MEMBER
};

/*
 * The functions of each; loaded at the first call and kept until the process ends. Any thread.
 * NULL: not installed, or too old; then `words` (TR_DOOR_WORDS_BYTES) say so.
 */
const struct tri_nghttp2 *tri_nghttp2_load(char *words);
const struct tri_microhttpd *tri_microhttpd_load(char *words);
const struct tri_openssl *tri_openssl_load(char *words);

/* Whether that of HTTP/1.1 could be loaded; `words` as above. */
bool tri_microhttpd_is_there(char *words);

#endif
