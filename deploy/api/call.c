/*
 * Calls between the door and the services: made when a head has come, freed when the exchange has
 * gone, ended once.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/call_inside.h"
#include "deploy/api/methods.h"
#include "deploy/api/services.h"
#include "deploy/common/clock.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

struct tr_api_call *tri_call_new(struct tr_api *api, struct tr_door_exchange *exchange,
                                 const struct tri_call_form *form,
                                 const struct tr_api_method *method)
{
    struct tr_api_call *call = tr_alloc_zero(1, sizeof *call);
    if (call == NULL) {
        tr_door_exchange_reset(exchange);
        return NULL;
    }
    call->api = api;
    call->exchange = exchange;
    call->form = form;
    call->method = method;
    tr_arena_init(&call->arena);
    tr_arena_init(&call->identity);
    tr_door_exchange_state_set(exchange, call);
    return call;
}

void tri_call_free(struct tr_api_call *call)
{
    call->is_over = true;
    if (call->is_handled && call->method->gone != NULL) {
        call->method->gone(call);
    }
    call->api->collected_bytes -= call->collected_bytes;
    tr_grpc_reader_fini(&call->reader);
    tri_buffer_fini(&call->body);
    tr_arena_fini(&call->arena);
    tr_arena_fini(&call->identity);
    tr_free(call->principal);
    tr_free(call);
}

bool tri_call_collect(struct tr_api_call *call, size_t size)
{
    if (call->api->collected_bytes + size > TR_API_COLLECTED_BYTES_MAX) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED,
                    "the requests that are coming in have %llu bytes already "
                    "(TR_API_COLLECTED_BYTES_MAX); try again later",
                    (unsigned long long)call->api->collected_bytes);
        return false;
    }
    call->collected_bytes += size;
    call->api->collected_bytes += size;
    return true;
}

void tri_call_short(struct tr_api_call *call, int error)
{
    if (error == TR_LIMIT) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED,
                    "the request takes more than %llu bytes of memory (TR_API_MESSAGE_BYTES_MAX)",
                    (unsigned long long)TR_API_MESSAGE_BYTES_MAX);
    } else {
        tr_api_fail(call, TR_API_UNAVAILABLE, "%s", tr_error_text(error));
    }
}

const void *tri_call_unpack(struct tr_api_call *call, struct tr_bytes bytes)
{
    const void *request = tr_flyte_message_unpack(&call->arena, call->method->request, bytes,
                                                  TR_API_MESSAGE_BYTES_MAX);
    if (request == NULL && call->arena.error != 0) {
        tri_call_short(call, call->arena.error);
    } else if (request == NULL) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "these bytes are no %s, or nest too deeply, or have text that is no UTF-8 or "
                    "holds a zero byte",
                    call->method->request->name);
    }
    return request;
}

/* ------------------------------------------------------------- who calls */

bool tri_api_needs_tokens(const struct tr_api *api)
{
    return api->clients.count > 0 || api->oidc != NULL;
}

bool tri_call_admit(struct tr_api_call *call)
{
    const struct tr_api_clients *clients = &call->api->clients;
    struct tr_text header = tr_door_exchange_header(call->exchange, "authorization");
    struct tr_text bearer = tr_api_credentials(header, "Bearer");
    if (!tri_api_needs_tokens(call->api)) {
        return true;
    }
    call->client = tr_api_client_of_bearer(clients, bearer, tr_clock_wall_ms() / 1000);
    if (call->client == NULL) {
        call->execution = tr_api_execution_of_bearer(clients, bearer);
    }
    if (call->execution.size > 0) {
        call->principal = tr_text_copy(call->execution);
    }
    bool is_somebody = call->client != NULL || call->principal != NULL;
    if (is_somebody || call->method->role == TR_API_ANYBODY) {
        return true;
    }
    if (call->api->oidc != NULL && tr_jwt_is_one(bearer)) {
        return tri_outside_admit(call, bearer);
    }
    tr_api_fail(call, TR_API_UNAUTHENTICATED, "%s",
                bearer.size == 0 ? "this call needs a token: authorization: Bearer TOKEN"
                                 : "the token is none that this engine has given, or has expired");
    return false;
}

/* The project and the domain of one of Flyte's URLs: flyte://v1/PROJECT/DOMAIN/... */
static bool read_flyte_url(struct tr_arena *arena, const char *url, struct tr_api_place *place)
{
    static const char prefix[] = "flyte://v1/";
    const char *project = url + sizeof prefix - 1;
    if (strncmp(url, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    size_t size = strcspn(project, "/");
    const char *domain = project + size + (project[size] == '/' ? 1 : 0);
    struct tr_text parts[] = {tr_arena_print(arena, "%.*s", (int)size, project),
                              tr_arena_print(arena, "%.*s", (int)strcspn(domain, "/"), domain)};
    place->project = parts[0].data;
    place->domain = parts[1].data;
    return true;
}

struct tr_api_place tri_call_place(const struct tr_api_method *method,
                                   const ProtobufCMessage *request, struct tr_arena *arena)
{
    struct tr_api_place place = {.project = NULL};
    const char *path = method->place;
    if (path == NULL) {
        return place;
    }
    if (strcmp(path, TR_API_ANYWHERE) == 0) {
        place.is_anywhere = true;
        return place;
    }
    size_t size = strlen(path);
    if (path[size - 1] == '.') {
        struct tr_text inside = {.data = path, .size = size - 1};
        place.project = tr_flyte_message_text(request, inside, "project");
        place.domain = tr_flyte_message_text(request, inside, "domain");
    } else {
        const char *dot = strrchr(path, '.');
        struct tr_text inside = {.data = path, .size = dot == NULL ? 0 : (size_t)(dot - path)};
        const char *text = tr_flyte_message_text(request, inside, dot == NULL ? path : dot + 1);
        if (text != NULL && !read_flyte_url(arena, text, &place)) {
            place.project = text;
        }
    }
    place.project = place.project == NULL || place.project[0] == '\0' ? NULL : place.project;
    place.domain = place.domain == NULL || place.domain[0] == '\0' ? NULL : place.domain;
    return place;
}

/* Whether who calls may; else the call has failed. */
static bool is_allowed(struct tr_api_call *call, const ProtobufCMessage *request)
{
    const struct tr_api_method *method = call->method;
    static const char *const roles[] = {"", "view", "run", "register", "admin"};
    if (method->role == TR_API_ANYBODY) {
        return true;
    }
    if (!tri_api_needs_tokens(call->api)) {
        if (method->role > call->api->everybody) {
            tr_api_fail(call, TR_API_PERMISSION_DENIED, "you may not call %s.%s", method->service,
                        method->name);
        }
        return method->role <= call->api->everybody;
    }
    struct tr_api_place place = tri_call_place(method, request, &call->arena);
    enum tr_api_role role = (enum tr_api_role)method->role;
    bool is_one = call->client != NULL ? tr_api_client_may(call->client, role, &place)
                                       : tr_api_execution_may(call->execution, role, &place);
    if (!is_one) {
        tr_api_fail(call, TR_API_PERMISSION_DENIED,
                    "'%s' may not call %s: that takes the role '%s' in %s%.100s%s%.100s",
                    tr_api_call_principal(call), method->name, roles[method->role],
                    place.project == NULL ? "all projects" : "",
                    place.project == NULL ? "" : place.project,
                    place.domain == NULL || place.project == NULL ? "" : "/",
                    place.domain == NULL || place.project == NULL ? "" : place.domain);
    }
    return is_one;
}

void tri_call_handle(struct tr_api_call *call, const void *request)
{
    if (!tri_outside_wait(call, request) && is_allowed(call, request)) {
        call->is_handled = true;
        call->request = request;
        if (call->client == NULL && call->execution.size > 0) {
            tr_api_look_whether_it_runs(call);
        } else {
            call->method->handle(call, request);
        }
    }
}

void tr_api_call_go_on(struct tr_api_call *call, bool runs)
{
    if (!runs) {
        tr_api_fail(call, TR_API_UNAUTHENTICATED,
                    "the execution %.200s does not run any more, and its token has ended with it",
                    call->principal);
    } else if (!call->is_over) {
        call->method->handle(call, call->request);
    }
}

struct tr_text tr_api_call_execution(const struct tr_api_call *call)
{
    return call->execution;
}

bool tr_api_call_has_clients(const struct tr_api_call *call)
{
    return tri_api_needs_tokens(call->api);
}

const char *tr_api_call_principal(const struct tr_api_call *call)
{
    return call->client != NULL ? call->client->id : call->principal != NULL ? call->principal : "";
}

/* ------------------------------------------------------------- for the services */

uint64_t tr_api_call_number(const struct tr_api_call *call)
{
    return tr_door_exchange_number(call->exchange);
}

struct tr_api_call *tr_api_call_find(struct tr_api *api, uint64_t number)
{
    struct tr_door_exchange *exchange = tr_door_find(api->door, number);
    return exchange == NULL ? NULL : tr_door_exchange_state(exchange);
}

int tr_api_post(struct tr_api *api, void (*run)(void *argument), void *argument)
{
    return tr_door_post(api->door, run, argument);
}

struct tr_api *tr_api_call_api(const struct tr_api_call *call)
{
    return call->api;
}

const struct tr_api_services *tr_api_call_services(const struct tr_api_call *call)
{
    return &call->api->services;
}

struct tr_text tr_api_call_authority(const struct tr_api_call *call)
{
    return tr_door_exchange_request(call->exchange)->authority;
}

bool tr_api_call_is_secure(const struct tr_api_call *call)
{
    return tr_door_exchange_request(call->exchange)->is_secure;
}

const struct tr_api_method *tr_api_call_method(const struct tr_api_call *call)
{
    return call->method;
}

void *tr_api_call_state(const struct tr_api_call *call)
{
    return call->state;
}

void tr_api_call_state_set(struct tr_api_call *call, void *state)
{
    call->state = state;
}

bool tr_api_call_serves(const struct tr_api_call *call, struct tr_text service)
{
    return tr_api_has_service(call->api->methods, call->api->method_count, service);
}

const struct tr_api_method *tr_api_call_methods(const struct tr_api_call *call, size_t *count)
{
    *count = call->api->method_count;
    return call->api->methods;
}

struct tr_arena *tr_api_call_arena(struct tr_api_call *call)
{
    return &call->arena;
}

static void end(struct tr_api_call *call, enum tr_api_code code, const char *words)
{
    if (!call->is_over) {
        call->is_over = true;
        if (!tr_door_exchange_has_ended(call->exchange)) {
            call->form->finish(call, code, words);
        }
    }
}

void tr_api_answer(struct tr_api_call *call, const ProtobufCMessage *response)
{
    TR_ASSERT(!call->method->is_stream && response->descriptor == call->method->response);
    if (call->is_over) {
        return;
    }
    int error = call->form->send(call, response);
    if (error == TR_BUSY) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED,
                    "the client has not taken %u bytes of earlier answers "
                    "(TR_DOOR_CONNECTION_UNSENT_BYTES)",
                    TR_DOOR_CONNECTION_UNSENT_BYTES);
    } else if (error == 0) {
        end(call, TR_API_OK, "");
    }
}

int tr_api_send(struct tr_api_call *call, const ProtobufCMessage *response)
{
    TR_ASSERT(call->method->is_stream && response->descriptor == call->method->response);
    int error = call->is_over ? TR_CLOSED : call->form->send(call, response);
    call->is_busy = error == TR_BUSY;
    return error;
}

void tr_api_finish(struct tr_api_call *call)
{
    TR_ASSERT(call->method->is_stream);
    end(call, TR_API_OK, "");
}

/* Words of strangers may be cut off within a character. */
static void make_readable(char *words)
{
    bool is_readable = tr_utf8_valid(tr_text_of(words));
    for (; !is_readable && *words != '\0'; words++) {
        *words = (unsigned char)*words < 0x80 ? *words : '?';
    }
}

TR_PRINTF(3, 0)
static void fail(struct tr_api_call *call, enum tr_api_code code, const char *format,
                 va_list values)
{
    char words[TR_API_WORDS_BYTES];
    TR_ASSERT(code != TR_API_OK);
    (void)vsnprintf(words, sizeof words, format, values);
    make_readable(words);
    end(call, code, words);
}

void tr_api_fail(struct tr_api_call *call, enum tr_api_code code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fail(call, code, format, values);
    va_end(values);
}

void tr_api_fail_with(struct tr_api_call *call, enum tr_api_code code,
                      const ProtobufCMessage *detail, const char *format, ...)
{
    va_list values;
    call->detail = detail;
    va_start(values, format);
    fail(call, code, format, values);
    va_end(values);
    call->detail = NULL;
}
