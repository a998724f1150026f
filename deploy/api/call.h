/*
 * Calls, as the services see them: a request comes in, a response or several go out, whether the
 * client speaks gRPC or REST.
 *
 *     static void get_version(struct tr_api_call *call, const void *request)
 *     {
 *         Flyteidl__Admin__GetVersionResponse response;
 *         ...
 *         tr_api_answer(call, &response.base);
 *     }
 *
 * and a row in methods.c. Everything runs on the door's thread, which no handler may keep waiting:
 * one whose answer others make keeps the call's number, gives the work away, and answers from what
 * it posts (tr_api_post) if the call is still there (tr_api_call_find). A call ends once: what
 * comes later, as after a deadline, is passed over.
 */
#ifndef TR_DEPLOY_API_CALL_H
#define TR_DEPLOY_API_CALL_H

#include <protobuf-c/protobuf-c.h>

#include "actors/graph/document/arena.h"
#include "deploy/api_wire/status.h"

struct tr_api;
struct tr_api_call;
struct tr_registrar;
struct tr_api_downloads;
struct tr_api_uploads;
struct tr_desk;

/* What services reach of the engine. All outlive the port. */
struct tr_api_services {
    struct tr_registrar *registrar;       /* entities (deploy/entities/); NULL: none are served */
    const struct tr_api_uploads *uploads; /* upload.h; NULL: nothing is taken */
    const struct tr_api_downloads *downloads; /* download.h; NULL: nothing is given */
    struct tr_desk *desk; /* executions (deploy/api_runs/); NULL: none are served */
    const char *logs;     /* the path of what tasks wrote, a template with {project}, {domain} and
                             {name}, which takes ?node=; NULL: nobody at this port has it */
};

/* What a client may do; each may do what stands before it, too. */
enum tr_api_role {
    TR_API_ANYBODY, /* without having said who it is */
    TR_API_VIEW,
    TR_API_RUN,
    TR_API_REGISTER,
    TR_API_ADMIN,
};

#define TR_API_ANYWHERE "*"

/* One RPC: the only place that names it. */
struct tr_api_method {
    const char *service; /* with its package */
    const char *name;
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *response;
    const char *rest; /* "GET /api/v1/tasks/{id.project}", a line each; NULL: gRPC alone */
    uint8_t role;     /* enum tr_api_role */
    /*
     * Where in the request the project and the domain stand that it acts in: the path of a message
     * with both, and a dot behind ("id."; "." is the request itself); or of a text, a project or
     * one of Flyte's URLs. TR_API_ANYWHERE: it tells only what there is. NULL: it is about all.
     */
    const char *place;
    bool is_stream; /* of responses: tr_api_send, tr_api_finish */
    /*
     * Of requests as well, by gRPC: `handle` is called with each, answers at once by tr_api_send,
     * and is called with the same again when that said TR_BUSY and there is room. The stream is
     * finished when its client has asked all.
     */
    bool is_dialogue;
    /* The request lives as long as the call; of a dialogue, as this function. */
    void (*handle)(struct tr_api_call *call, const void *request);
    /* Of a stream: there is room for more, after tr_api_send had said TR_BUSY; NULL: none waits. */
    void (*room)(struct tr_api_call *call);
    /* The call is over, whether all was sent or not: the time to free its state; NULL: none. */
    void (*gone)(struct tr_api_call *call);
};

/* Its number, which is never given twice, and the call of a number: NULL: the client has gone. */
uint64_t tr_api_call_number(const struct tr_api_call *call);
struct tr_api_call *tr_api_call_find(struct tr_api *api, uint64_t number);

/* Calls a function on the door's thread, from any thread (tr_door_post). */
TR_MUST_USE int tr_api_post(struct tr_api *api, void (*run)(void *argument), void *argument);

struct tr_api *tr_api_call_api(const struct tr_api_call *call);

const struct tr_api_services *tr_api_call_services(const struct tr_api_call *call);

/* Whether clients need tokens, and who calls; "": nobody in particular. */
bool tr_api_call_has_clients(const struct tr_api_call *call);
const char *tr_api_call_principal(const struct tr_api_call *call);

/* The execution that calls by one of its tasks, PROJECT/DOMAIN/NAME; empty: none does. */
struct tr_text tr_api_call_execution(const struct tr_api_call *call);

/* Answers tr_api_look_whether_it_runs: the call goes on, or fails. On the door's thread. */
void tr_api_call_go_on(struct tr_api_call *call, bool runs);

/* By which host and port the client came, and whether by TLS. */
struct tr_text tr_api_call_authority(const struct tr_api_call *call);
bool tr_api_call_is_secure(const struct tr_api_call *call);
const struct tr_api_method *tr_api_call_method(const struct tr_api_call *call);

/* What a handler keeps with it; NULL at first. */
void *tr_api_call_state(const struct tr_api_call *call);
void tr_api_call_state_set(struct tr_api_call *call, void *state);

/* Whether a service is served where the call came. */
bool tr_api_call_serves(const struct tr_api_call *call, struct tr_text service);

/* All that are served where it came. */
const struct tr_api_method *tr_api_call_methods(const struct tr_api_call *call, size_t *count);

/* Memory for what is answered, which goes with the call; of a dialogue, with the request. */
struct tr_arena *tr_api_call_arena(struct tr_api_call *call);

/* Gives the one response. It is packed here, and the caller's. */
void tr_api_answer(struct tr_api_call *call, const ProtobufCMessage *response);

/*
 * Gives one of several, and ends them. TR_BUSY: the client has not taken the earlier ones, so wait
 * for `room`; TR_CLOSED: nobody gets it.
 */
TR_MUST_USE int tr_api_send(struct tr_api_call *call, const ProtobufCMessage *response);
void tr_api_finish(struct tr_api_call *call);

/* Ends the call with an error, never TR_API_OK; words are for people, in UTF-8. */
TR_PRINTF(3, 4)
void tr_api_fail(struct tr_api_call *call, enum tr_api_code code, const char *format, ...);

/* The same with a message beside the words, which clients may read; NULL: none. */
TR_PRINTF(4, 5)
void tr_api_fail_with(struct tr_api_call *call, enum tr_api_code code,
                      const ProtobufCMessage *detail, const char *format, ...);

#endif
