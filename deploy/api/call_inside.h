/*
 * What the files of this room know of a call. No service includes this.
 */
#ifndef TR_DEPLOY_API_CALL_INSIDE_H
#define TR_DEPLOY_API_CALL_INSIDE_H

#include <stdatomic.h>

#include "deploy/api/api.h"
#include "deploy/api/call.h"
#include "deploy/api/device.h"
#include "deploy/api/outside.h"
#include "deploy/api_wire/api_limits.h"
#include "deploy/api_wire/grpc.h"
#include "deploy/door/door.h"

struct tr_api {
    struct tr_door *door;
    const struct tr_api_method *methods;
    size_t method_count;
    uint8_t everybody; /* enum tr_api_role */
    struct tr_api_clients clients;
    struct tr_api_services services;
    uint64_t message_bytes_max;
    uint64_t collected_bytes; /* of requests that are coming */
    struct tr_api_provider provider;
    struct tr_oidc *oidc; /* NULL: there is no provider */
    uint64_t *parked;     /* numbers of calls that wait for it */
    size_t parked_count;
    atomic_bool is_open;        /* the door */
    struct tr_devices *devices; /* NULL: none has asked yet */
};

/* How a client speaks. A call knows its exchange; the response has not ended in any of these. */
struct tri_call_form {
    /* A piece of the request's body, and its end. */
    void (*body)(struct tr_api_call *call, struct tr_bytes piece);
    void (*end)(struct tr_api_call *call);
    /* There is room for a response of a dialogue that had none; NULL: it has no dialogues. */
    void (*room)(struct tr_api_call *call);
    /* A message that goes out: the one or one of several. 0, or as tr_api_send. */
    int (*send)(struct tr_api_call *call, const ProtobufCMessage *response);
    /* The end, with words if the code is not TR_API_OK. */
    void (*finish)(struct tr_api_call *call, enum tr_api_code code, const char *words);
};

struct tr_api_call {
    struct tr_api *api;
    struct tr_door_exchange *exchange;
    const struct tri_call_form *form;
    const struct tr_api_method *method;
    const struct tr_api_client *client; /* NULL: nobody has said who it is */
    struct tr_text bearer;              /* what a provider's keys are fetched for; else empty */
    struct tr_arena identity;           /* what is known by a provider's token */
    struct tr_api_client outside;       /* the same: whose it is */
    struct tr_text execution;           /* or one that calls, of the head; empty: none does */
    char *principal;                    /* its name */
    void *state;                        /* the handler's */
    const void *request;                /* while it is found out whether that execution runs */
    bool is_handled;                    /* the handler knows it */
    struct tr_arena arena;
    uint64_t collected_bytes; /* of the api's */
    bool is_over;
    bool has_begun;     /* something was sent */
    bool is_compressed; /* gRPC: the client has said that messages may be */
    bool is_busy;       /* of a dialogue: the request in hand waits for room to be answered */
    bool has_ended;     /* of a dialogue: no more requests come */
    struct tr_grpc_reader reader;
    struct tri_buffer body;         /* REST; of a dialogue, what is not read yet */
    struct tr_text variables;       /* REST: the template in METHOD's rest */
    const ProtobufCMessage *detail; /* of a failure, while its end is said */
};

/* In front of the name of a message's type where it stands among others. */
#define TRI_CALL_TYPE_PREFIX "type.googleapis.com/"

extern const struct tri_call_form tri_grpc_form;
extern const struct tri_call_form tri_rest_form;
extern const struct tri_call_form tri_upload_form;

/* Finds out what is called and makes a call of it, or answers at once. */
void tri_grpc_begin(struct tr_api *api, struct tr_door_exchange *exchange);
void tri_rest_begin(struct tr_api *api, struct tr_door_exchange *exchange);

/* Whether a request puts something where uploads go; if so, it is begun, or refused. */
TR_MUST_USE bool tri_upload_begin(struct tr_api *api, struct tr_door_exchange *exchange);

/* The same for who wants a token. */
TR_MUST_USE bool tri_token_begin(struct tr_api *api, struct tr_door_exchange *exchange);

/* The same for what gets something from where downloads are. */
TR_MUST_USE bool tri_download_begin(struct tr_api *api, struct tr_door_exchange *exchange);

/* Answers without a call. */
void tri_grpc_refuse(struct tr_door_exchange *exchange, enum tr_api_code code, const char *words);
void tri_rest_refuse(struct tr_door_exchange *exchange, int status, enum tr_api_code code,
                     const char *words);

/* A call of an exchange; without memory the exchange is reset, and it is NULL. */
TR_MUST_USE struct tr_api_call *tri_call_new(struct tr_api *api, struct tr_door_exchange *exchange,
                                             const struct tri_call_form *form,
                                             const struct tr_api_method *method);
void tri_call_free(struct tr_api_call *call);

/* Whether so many more bytes of a request may be kept; else it has failed. */
TR_MUST_USE bool tri_call_collect(struct tr_api_call *call, size_t size);

/* Says that there is no memory, or that a limit of it is reached. */
void tri_call_short(struct tr_api_call *call, int error);

/* Whether one may call what takes a role without a token. */
bool tri_api_needs_tokens(const struct tr_api *api);

/* A provider's tokens: opening, and who calls; false: the call has failed. */
TR_MUST_USE int tri_outside_open(struct tr_api *api, char *words);
void tri_outside_close(struct tr_api *api);
TR_MUST_USE bool tri_outside_admit(struct tr_api_call *call, struct tr_text bearer);

/* Whether a call with its request still waits to be admitted so, or has failed. */
TR_MUST_USE bool tri_outside_wait(struct tr_api_call *call, const void *request);

/* Finds out who calls. False: the call has failed, as it needs a token that there is none of. */
bool tri_call_admit(struct tr_api_call *call);

/* Has the method handle a request, if whoever calls may. */
void tri_call_handle(struct tr_api_call *call, const void *request);

/* Where a request acts; what is empty in it means all. The texts are its own, or in the arena. */
struct tr_api_place tri_call_place(const struct tr_api_method *method,
                                   const ProtobufCMessage *request, struct tr_arena *arena);

/* The request from its bytes; NULL: the call has failed. */
TR_MUST_USE const void *tri_call_unpack(struct tr_api_call *call, struct tr_bytes bytes);

/* ------------------------------------------------------------- OAuth 2.0: token_form.c */

#define TRI_TOKEN_PATH "/oauth2/token"
#define TRI_DEVICE_PATH "/oauth2/device"
#define TRI_DEVICE_PAGE "/device"

#define TRI_DEVICE_GRANT "urn:ietf:params:oauth:grant-type:device_code"

/* What a form says; what it does not is empty. */
struct tri_oauth_form {
    struct tr_text grant_type;
    struct tr_text id;
    struct tr_text secret;
    struct tr_text device_code;
    struct tr_text user_code;
};

/* Reads a form, or the same as a query; false: it cannot be read. */
TR_MUST_USE bool tri_oauth_read(struct tr_api_call *call, struct tr_text text,
                                struct tri_oauth_form *form);

/* Answers, and ends the call: a body, or an error as OAuth 2.0 says it. */
void tri_oauth_answer(struct tr_api_call *call, int status, const char *type,
                      const struct tr_buffer *body);
void tri_oauth_refuse(struct tr_api_call *call, int status, const char *error, const char *words);

/* A device begins; the page for who sits before it, and what was typed there. */
void tri_device_begin(struct tr_api_call *call, const struct tri_oauth_form *form);
void tri_device_show(struct tr_api_call *call);
void tri_device_approve(struct tr_api_call *call, const struct tri_oauth_form *form);

#endif
