/*
 * What a request is and what is delivered of it: the part of http.h that all of this room handles.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_TYPES_H
#define TR_RUNTIME_HTTP_HTTP_TYPES_H

#include "schemas/runtime/http.h"

struct tr_secret_source;

/* How the body of a response with a status of 200 to 299 is delivered; of others always whole. */
enum tri_http_delivery {
    TRI_HTTP_WHOLE,  /* with the END */
    TRI_HTTP_CHUNKS, /* as it comes */
    TRI_HTTP_LINES,  /* in whole lines, one or several at a time: for streams of events */
};

/* Which versions of http may be spoken. */
enum tri_http_version {
    TRI_HTTP_VERSION_1_OR_2, /* 2 where TLS negotiates it */
    TRI_HTTP_VERSION_1,
    TRI_HTTP_VERSION_2, /* also without TLS, where the server is known to speak it */
};

/* Why there is no response. Numbers are for tables only. */
#define TRI_HTTP_FAULTS(F)                                                                \
    F(NONE, "none")           /* there is one, whatever its status */                     \
    F(INVALID, "invalid")     /* the request makes no sense: its URL, a file it names */  \
    F(RESOLVE, "resolve")     /* the host's name has no address */                        \
    F(CONNECT, "connect")     /* nobody answers there */                                  \
    F(TLS, "tls")             /* no trust, or no common language */                       \
    F(TIMEOUT, "timeout")     /* one of the three timeouts, or nobody takes the stream */ \
    F(TOO_LARGE, "too large") /* more bytes than response_bytes_max or header bytes */    \
    F(CANCELLED, "cancelled") /* tri_http_cancel */                                       \
    F(PROTOCOL, "protocol")   /* the answer is no http, or broke off */                   \
    F(MEMORY, "memory")       /* out of memory */                                         \
    F(CLOSED, "closed")       /* the thread was stopped */                                \
    F(SECRET, "secret")       /* one of its secrets is not there, or fits no header */

enum tri_http_fault {
#define TRI_FAULT(name, text) TRI_HTTP_##name,
    TRI_HTTP_FAULTS(TRI_FAULT)
#undef TRI_FAULT
};

/* A request; what is left out has a sensible value. All of it is copied when it is submitted. */
struct tri_http_request {
    uint64_t id; /* the caller's, not 0, different for all that are under way */
    struct tr_text method;
    struct tr_text url;
    const struct tr_text *headers; /* each "Name: value" */
    size_t header_count;
    const struct tr_http_secret *secrets; /* headers whose values only the server gets to see */
    size_t secret_count;                  /* with some, redirects_max has to be 0 */
    struct tr_text aws_region;            /* of a secret that signs */
    struct tr_text aws_service;           /* such as "s3" */
    struct tr_bytes body;
    uint32_t timeout_ms;         /* from submitting to the end; 0: none */
    uint32_t connect_timeout_ms; /* 0: TR_HTTP_CONNECT_TIMEOUT_MS */
    uint32_t idle_timeout_ms;    /* without a byte of the response; 0: none */
    size_t response_bytes_max;   /* of a body, or of one line; 0: TR_HTTP_RESPONSE_BYTES_MAX */
    size_t window_bytes; /* what may be delivered and not taken of a stream; 0: there is no bound */
    enum tri_http_delivery delivery;
    enum tri_http_version version;
    struct tr_text ca_file;            /* empty: the system's */
    struct tr_text client_certificate; /* PEM files; empty: none */
    struct tr_text client_key;
    bool is_insecure;      /* the certificate is not verified */
    bool is_proxied;       /* http_proxy and its like are obeyed */
    uint8_t redirects_max; /* 0: a redirect is an answer like any other */
};

enum tri_http_event_kind {
    TRI_HTTP_PART, /* some of the body: bytes as they came, or whole lines with their ends */
    TRI_HTTP_END,  /* the last event of a request */
};

/* What is delivered. All views live until the function returns. */
struct tri_http_event {
    uint64_t id;
    enum tri_http_event_kind kind;
    uint32_t status;        /* 0: no response */
    struct tr_text headers; /* of the last response, "Name: value\r\n" each, trailers too */
    struct tr_bytes body;   /* the part, or at the end what was not delivered before */
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
    uint32_t patience_ms;                          /* 0: TR_HTTP_PATIENCE_MS */
    const struct tr_secret_source *secret_sources; /* as for tri_secrets_new; they outlive it */
    size_t secret_source_count;
};

/* The fault's name; "?" for none of them. */
const char *tri_http_fault_name(enum tri_http_fault fault);

/* The value of the last header of this name, in any case, in event.headers; empty without one. */
struct tr_text tri_http_header(struct tr_text headers, const char *name);

#endif
