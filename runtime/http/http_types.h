/*
 * Requests, events and options: the part of http.h that all files of this room use.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_TYPES_H
#define TR_RUNTIME_HTTP_HTTP_TYPES_H

#include "schemas/runtime/http.h"

struct tr_identity;
struct tr_secret_source;

/*
 * How the body of a response with a status of 200 to 299 is delivered; other bodies are always
 * whole.
 */
enum tri_http_delivery {
    TRI_HTTP_WHOLE,  /* with the END */
    TRI_HTTP_CHUNKS, /* as it arrives */
    TRI_HTTP_LINES,  /* in whole lines, one or more at a time: for event streams */
    TRI_HTTP_ITEMS,  /* the items of its list as such lines, the rest with the END (http_items.h) */
};

/* The allowed versions of HTTP. */
enum tri_http_version {
    TRI_HTTP_VERSION_1_OR_2, /* 2 where TLS negotiates it */
    TRI_HTTP_VERSION_1,
    TRI_HTTP_VERSION_2, /* also without TLS, if the server is known to support it */
};

/* Why there is no response. Numbers are not stable. */
#define TRI_HTTP_FAULTS(F)                                                                       \
    F(NONE, "none")           /* there is a response, whatever its status */                     \
    F(INVALID, "invalid")     /* the request is invalid: its URL, a file it names */             \
    F(RESOLVE, "resolve")     /* the host's name has no address */                               \
    F(CONNECT, "connect")     /* the connection was refused or not answered */                   \
    F(TLS, "tls")             /* no trusted certificate, or no common protocol */                \
    F(TIMEOUT, "timeout")     /* one of its timeouts, or of the stream's receiver */             \
    F(TOO_LARGE, "too large") /* more bytes than response_bytes_max, or than headers may have */ \
    F(CANCELLED, "cancelled") /* tri_http_cancel */                                              \
    F(PROTOCOL, "protocol")   /* the response is not HTTP, or was cut off */                     \
    F(MEMORY, "memory")       /* out of memory */                                                \
    F(CLOSED, "closed")       /* the thread was stopped */                                       \
    F(SECRET, "secret")       /* a secret was not found, or does not fit into a header */

enum tri_http_fault {
#define TRI_FAULT(name, text) TRI_HTTP_##name,
    TRI_HTTP_FAULTS(TRI_FAULT)
#undef TRI_FAULT
};

/* A request; unset fields have defaults. It is copied when it is submitted. */
struct tri_http_request {
    uint64_t id; /* chosen by the caller, not 0, unique among open requests */
    struct tr_text method;
    struct tr_text url;
    const struct tr_text *headers; /* each "Name: value" */
    size_t header_count;
    const struct tr_http_secret *secrets; /* headers whose values only the server gets */
    size_t secret_count;                  /* if any, redirects_max must be 0 */
    struct tr_text aws_region;            /* of a secret that signs */
    struct tr_text aws_service;           /* such as "s3" */
    struct tr_bytes body;
    uint32_t timeout_ms;         /* from submission to the end; 0: none */
    uint32_t connect_timeout_ms; /* 0: TR_HTTP_CONNECT_TIMEOUT_MS */
    uint32_t idle_timeout_ms;    /* without a byte of the response; 0: none */
    size_t response_bytes_max;   /* of a body, or of one line; 0: TR_HTTP_RESPONSE_BYTES_MAX */
    size_t window_bytes;         /* unconsumed bytes of a stream; 0: no limit */
    enum tri_http_delivery delivery;
    enum tri_http_version version;
    struct tr_text ca_file;            /* empty: the system's */
    struct tr_text client_certificate; /* PEM files; empty: none */
    struct tr_text client_key;
    const struct tr_identity *identity; /* outlives it; NULL: none */
    bool is_insecure;                   /* the certificate is not verified */
    bool is_proxied;                    /* proxies of the environment (http_proxy, ...) are used */
    uint8_t redirects_max;              /* 0: redirects are not followed */
};

enum tri_http_event_kind {
    TRI_HTTP_PART, /* a part of the body: bytes, or whole lines with their ends */
    TRI_HTTP_END,  /* the last event of a request */
};

/* A delivered event. All views are valid during the call. */
struct tri_http_event {
    uint64_t id;
    enum tri_http_event_kind kind;
    uint32_t status;        /* 0: no response */
    struct tr_text headers; /* of the last response, "Name: value\r\n" each, trailers included */
    struct tr_bytes body;   /* the part, or at the END what was not delivered before */
    enum tri_http_fault fault;
    const char *words;      /* of the fault; "" without one */
    uint64_t elapsed_us;    /* since it was submitted */
    uint32_t retry_after_s; /* the Retry-After of the response; 0: none, or now */
};

/* Called on the http thread; must not block. It may submit, cancel and give room. */
typedef void tri_http_deliver(void *self, const struct tri_http_event *event);

struct tri_http_options {
    tri_http_deliver *deliver;
    void *self;
    uint32_t requests_max;                         /* 0: TR_HTTP_REQUESTS_MAX */
    uint32_t concurrent_max;                       /* 0: TR_HTTP_CONCURRENT_MAX */
    uint32_t concurrent_per_host_max;              /* 0: TR_HTTP_CONCURRENT_PER_HOST_MAX */
    uint32_t receiver_timeout_ms;                  /* 0: TR_HTTP_RECEIVER_TIMEOUT_MS */
    const struct tr_secret_source *secret_sources; /* as for tri_secrets_new; they outlive it */
    size_t secret_source_count;
    bool (*may_begin)(void *gate); /* whether requests may leave now; NULL: always */
    void *gate;
};

/* The fault's name; "?" for an unknown one. */
const char *tri_http_fault_name(enum tri_http_fault fault);

/* The value of the last header of this name, ignoring case, in event.headers; empty if absent. */
struct tr_text tri_http_header(struct tr_text headers, const char *name);

#endif
