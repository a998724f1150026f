/*
 * Exchanges, each a request on its way, its fate, and what is to come back of it.
 *
 * A fate is drawn when the request leaves. Once faults are over every fate is a good one.
 */
#include "tests/sim/web.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/inject.h"
#include "tests/sim/world.h"

#define MS 1000000ULL
#define TRAVEL_NS_MOST (40 * MS)
#define LAG_NS_MOST (5 * MS)
#define PATIENCE_NS (60000 * MS)
#define WINDOW_BYTES 64

struct sim_web_seen sim_web_seen;

enum fate { FINE, LOST_BEFORE, REFUSED, LIMITED, LOST_AFTER, CUT };

/* How often each fate is drawn, of 20. */
static const uint8_t fates[20] = {
    [0] = LOST_BEFORE, [1] = REFUSED,     [2] = LIMITED,   [3] = LOST_AFTER,
    [4] = CUT,         [5] = LOST_BEFORE, [6] = LOST_AFTER};

struct line {
    struct line *next;
    size_t size;
    char data[];
};

struct exchange {
    struct exchange *next;
    struct sim_web *web;
    uint64_t number;
    struct sim_host *host;
    struct tr_envelope call;
    enum fate fate;
    uint64_t arrive_ns;  /* at the server; 0: it is there, or never comes */
    uint64_t give_up_ns; /* when it ends by a timeout; 0: never */
    bool is_heard;       /* the life of the host that asked goes on */
    bool was_served;
    bool has_ended;
    bool is_answered; /* the server has said its last */
    uint32_t status;
    uint8_t *body;
    size_t body_size;
    uint64_t give_ns;   /* when the next of what came back arrives */
    struct line *lines; /* that wait for room */
    uint64_t window_bytes;
    uint64_t in_hand;
    uint64_t patience_ns; /* when the actor has been silent for too long; 0: it owes nothing */
    size_t size;
    uint8_t request[];
};

struct sim_web {
    struct sim_world *world;
    struct sim_web_server server;
    struct exchange *first;
    uint64_t count;
};

struct sim_web *sim_web_new(struct sim_world *world, const struct sim_web_server *server)
{
    struct sim_web *web = sim_must(calloc(1, sizeof *web));
    web->world = world;
    web->server = *server;
    return web;
}

static void drop_lines(struct exchange *exchange)
{
    while (exchange->lines != NULL) {
        struct line *line = exchange->lines;
        exchange->lines = line->next;
        free(line);
    }
}

void sim_web_free(struct sim_web *web)
{
    while (web != NULL && web->first != NULL) {
        struct exchange *exchange = web->first;
        web->first = exchange->next;
        drop_lines(exchange);
        free(exchange->body);
        free(exchange);
    }
    free(web);
}

static struct exchange *find(const struct sim_web *web, uint64_t number)
{
    struct exchange *exchange = web->first;
    while (exchange != NULL && exchange->number != number) {
        exchange = exchange->next;
    }
    TR_ASSERT(exchange != NULL);
    return exchange;
}

static bool is_open(const struct exchange *exchange)
{
    return exchange->is_heard && !exchange->has_ended;
}

bool sim_web_is_open(const struct sim_web *web, uint64_t number)
{
    return is_open(find(web, number));
}

/* ------------------------------------------------------------------------------ what comes back */

/* Whether a injected bug of this name strikes now. */
static bool is_injected(const struct exchange *exchange, const char *name)
{
    const struct sim_bug *bug = exchange->host->world->bug;
    return bug != NULL && strcmp(bug->name, name) == 0 && sim_inject_strikes(exchange->host, 10);
}

/* The request as it was made; its views are of the exchange. */
static struct tr_http_request request_of(const struct exchange *exchange)
{
    struct tr_http_request request;
    struct tr_bytes body = {exchange->request, exchange->size};
    int error = tr_http_request_unpack(body, exchange->call.version, &request);
    TR_ASSERT(error == 0);
    return request;
}

static void tell_server(const struct exchange *exchange, uint32_t status, const char *fault)
{
    const struct sim_web_server *server = &exchange->web->server;
    if (server->ended != NULL) {
        struct tr_http_request request = request_of(exchange);
        server->ended(server->self, exchange->number, &request, status, fault);
    }
}

/* The one end of an exchange, which follows all that came before it. */
static void end(struct exchange *exchange, uint32_t status, const char *fault,
                uint32_t retry_after_s, struct tr_bytes body)
{
    struct tr_http_response response = {
        .status = status,
        .fault = tr_text_of(fault),
        .message = tr_text_of(strcmp(fault, "none") == 0 ? "" : "as the seed has it"),
        .body = body,
        .retry_after_s = retry_after_s,
    };
    if (exchange->has_ended) {
        sim_fail("web: exchange %llu has two ends", (unsigned long long)exchange->number);
        return;
    }
    exchange->has_ended = true;
    drop_lines(exchange);
    tell_server(exchange, status, fault);
    if (exchange->is_heard && !is_injected(exchange, "end-lost")) {
        sim_environment_say(exchange->host, &exchange->call, TR_KIND_REPLY,
                            &tr_http_response_schema, &response);
    }
}

static void end_with_fault(struct exchange *exchange, const char *fault)
{
    end(exchange, 0, fault, 0, (struct tr_bytes){0});
}

static void give_line(struct exchange *exchange)
{
    struct line *line = exchange->lines;
    struct tr_http_part part = {.ask = exchange->call.sequence,
                                .bytes = {(const uint8_t *)line->data, line->size}};
    sim_environment_say(exchange->host, &exchange->call, TR_KIND_TELL, &tr_http_part_schema, &part);
    exchange->in_hand += line->size;
    if (exchange->patience_ns == 0) {
        exchange->patience_ns = exchange->host->world->now_ns + PATIENCE_NS;
    }
    exchange->lines = line->next;
    free(line);
}

/* When the next line or the end comes back; 0: there is none, or it waits for room. */
static uint64_t give_ns_of(const struct exchange *exchange)
{
    bool has_line = exchange->lines != NULL && exchange->in_hand < exchange->window_bytes;
    bool has_end =
        exchange->is_answered && (exchange->lines == NULL || exchange->fate == LOST_AFTER);
    return is_open(exchange) && (has_line || has_end) ? exchange->give_ns : 0;
}

/* Gives one line, or the end. */
static void give(struct sim_web *web, struct exchange *exchange)
{
    struct sim_random *chance = &web->world->chance.environment;
    struct tr_bytes body = {exchange->body, exchange->body_size};
    if (exchange->is_answered && exchange->fate == LOST_AFTER) {
        sim_web_seen.lost_after++;
        end_with_fault(exchange, "protocol");
    } else if (exchange->lines == NULL) {
        end(exchange, exchange->status, "none", 0, body);
    } else if (exchange->fate == CUT && sim_below(chance, 4) == 0) {
        sim_web_seen.cut++;
        end_with_fault(exchange, "protocol");
    } else {
        give_line(exchange);
        exchange->give_ns = web->world->now_ns + 1 + sim_below(chance, LAG_NS_MOST);
        bool is_held = exchange->lines != NULL && exchange->in_hand >= exchange->window_bytes;
        sim_web_seen.held_lines += is_held ? 1 : 0;
    }
}

void sim_web_answer(struct sim_web *web, uint64_t number, uint32_t status, struct tr_bytes body)
{
    struct exchange *exchange = find(web, number);
    if (!is_open(exchange) || exchange->is_answered) {
        return;
    }
    exchange->is_answered = true;
    exchange->status = status;
    exchange->body = sim_must(malloc(body.size + 1));
    exchange->body_size = body.size;
    if (body.size > 0) {
        memcpy(exchange->body, body.data, body.size);
    }
}

void sim_web_line(struct sim_web *web, uint64_t number, struct tr_text text)
{
    struct exchange *exchange = find(web, number);
    if (!is_open(exchange) || exchange->is_answered) {
        return;
    }
    struct line *line = sim_must(malloc(sizeof *line + text.size + 1));
    struct line **last = &exchange->lines;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *line = (struct line){.size = text.size + 1};
    memcpy(line->data, text.data, text.size);
    line->data[text.size] = '\n';
    *last = line;
}

/* -------------------------------------------------------------------------------- what is asked */

/* The open exchange that an actor means, if it is one of its own. */
static struct exchange *own(struct sim_web *web, const struct sim_host *host,
                            const struct tr_envelope *envelope, uint64_t ask)
{
    struct tr_key actor = tr_envelope_from(envelope).key;
    struct exchange *exchange = web->first;
    while (exchange != NULL &&
           !(is_open(exchange) && exchange->host == host && exchange->call.sequence == ask &&
             tr_key_equal(tr_envelope_from(&exchange->call).key, actor))) {
        exchange = exchange->next;
    }
    return exchange;
}

bool sim_web_is_too_late(const struct sim_host *host, const struct tr_envelope *call)
{
    uint64_t now_ms =
        tri_life_steady_ms(&host->host->shared.life, host->world->now_ns - host->spawned_ns);
    return call->deadline_ms != 0 && call->deadline_ms <= now_ms;
}

/* When a request ends by its own time or its call's; 0: never. */
static uint64_t give_up_ns_of(const struct sim_host *host, const struct tr_envelope *call,
                              const struct tr_http_request *request)
{
    uint64_t now_ms =
        tri_life_steady_ms(&host->host->shared.life, tri_monotonic_ns(host->host->env));
    uint64_t left_ms = call->deadline_ms > now_ms ? call->deadline_ms - now_ms : 1;
    if (call->deadline_ms == 0 || (request->timeout_ms != 0 && request->timeout_ms < left_ms)) {
        left_ms = request->timeout_ms;
    }
    return left_ms == 0 ? 0 : host->world->now_ns + left_ms * MS;
}

static void take_request(struct sim_web *web, struct sim_host *host,
                         const struct tr_envelope *envelope, struct tr_bytes body,
                         const struct tr_http_request *request)
{
    struct sim_random *chance = &web->world->chance.environment;
    if (sim_web_is_too_late(host, envelope)) {
        struct tr_ask_failed failed = {.reason = (uint32_t)-TR_TIMEOUT};
        sim_environment_say(host, envelope, TR_KIND_SIGNAL, &tr_ask_failed_schema, &failed);
        return;
    }
    if (own(web, host, envelope, envelope->sequence) != NULL) {
        sim_fail("web: call %llu is heard twice", (unsigned long long)envelope->sequence);
    }
    struct exchange *exchange = sim_must(calloc(1, sizeof *exchange + body.size));
    uint8_t fate = fates[sim_below(chance, TR_COUNT_OF(fates))];
    exchange->next = web->first;
    exchange->web = web;
    exchange->number = ++web->count;
    exchange->host = host;
    exchange->call = *envelope;
    exchange->fate = web->world->is_calm ? FINE : (enum fate)fate;
    exchange->arrive_ns = web->world->now_ns + 1 + sim_below(chance, TRAVEL_NS_MOST);
    exchange->give_ns = exchange->arrive_ns + 1 + sim_below(chance, TRAVEL_NS_MOST);
    exchange->is_heard = true;
    exchange->window_bytes = request->window_bytes != 0 ? request->window_bytes : WINDOW_BYTES;
    exchange->give_up_ns = give_up_ns_of(host, envelope, request);
    exchange->size = body.size;
    memcpy(exchange->request, body.data, body.size);
    web->first = exchange;
    sim_web_seen.requests++;
    if (request->delivery != TR_HTTP_WHOLE) {
        struct tr_http_part begin = {.ask = envelope->sequence};
        sim_environment_say(host, envelope, TR_KIND_TELL, &tr_http_part_schema, &begin);
    }
}

static void take_more(struct exchange *exchange, uint64_t bytes)
{
    if (exchange != NULL) {
        exchange->in_hand -= bytes < exchange->in_hand ? bytes : exchange->in_hand;
        exchange->patience_ns =
            exchange->in_hand > 0 ? exchange->host->world->now_ns + PATIENCE_NS : 0;
    }
}

static void take_cancel(struct exchange *exchange)
{
    if (exchange != NULL) {
        sim_web_seen.cancelled++;
        end_with_fault(exchange, "cancelled");
    }
}

void sim_web_hear(struct sim_web *web, struct sim_host *host, const struct tr_envelope *envelope,
                  struct tr_bytes body)
{
    struct tr_http_request request;
    struct tr_http_more more;
    struct tr_http_cancel cancel;
    if (envelope->type == tr_http_request_schema.id && envelope->kind == TR_KIND_CALL &&
        tr_http_request_unpack(body, envelope->version, &request) == 0) {
        take_request(web, host, envelope, body, &request);
    } else if (envelope->type == tr_http_more_schema.id &&
               tr_http_more_unpack(body, envelope->version, &more) == 0) {
        take_more(own(web, host, envelope, more.ask), more.bytes);
    } else if (envelope->type == tr_http_cancel_schema.id &&
               tr_http_cancel_unpack(body, envelope->version, &cancel) == 0) {
        take_cancel(own(web, host, envelope, cancel.ask));
    } else {
        sim_fail("web: a message of type %u", envelope->type);
    }
}

/* ---------------------------------------------------------------------------------------- time */

static void serve(struct sim_web *web, struct exchange *exchange)
{
    struct tr_http_request request = request_of(exchange);
    if (exchange->was_served) {
        sim_fail("web: exchange %llu is served twice", (unsigned long long)exchange->number);
    }
    exchange->was_served = true;
    sim_web_seen.served++;
    sim_web_seen.served_late += exchange->is_heard ? 0 : 1;
    web->server.serve(web->server.self, web, exchange->number, &request);
    if (is_injected(exchange, "served-twice")) {
        serve(web, exchange);
    }
}

/* The request is where its fate has it. */
static void arrive(struct sim_web *web, struct exchange *exchange)
{
    exchange->arrive_ns = 0;
    switch (exchange->fate) {
    case LOST_BEFORE:
        sim_web_seen.lost_before++;
        if (is_open(exchange)) {
            end_with_fault(exchange, "connect");
        }
        return;
    case REFUSED:
    case LIMITED:
        sim_web_seen.refused += exchange->fate == REFUSED ? 1 : 0;
        sim_web_seen.limited += exchange->fate == LIMITED ? 1 : 0;
        if (is_open(exchange)) {
            end(exchange, exchange->fate == REFUSED ? 503 : 429, "none",
                exchange->fate == LIMITED ? 1 : 0, (struct tr_bytes){0});
        }
        return;
    default:
        serve(web, exchange);
    }
}

static bool is_past(uint64_t due_ns, uint64_t now_ns)
{
    return due_ns != 0 && due_ns <= now_ns;
}

static bool advance(struct sim_web *web, struct exchange *exchange)
{
    uint64_t now_ns = web->world->now_ns;
    bool did = false;
    if (is_past(exchange->arrive_ns, now_ns)) {
        arrive(web, exchange);
        did = true;
    }
    if (!is_open(exchange)) {
        return did;
    }
    if (is_past(exchange->give_up_ns, now_ns) || is_past(exchange->patience_ns, now_ns)) {
        sim_web_seen.timeouts++;
        end_with_fault(exchange, "timeout");
        return true;
    }
    if (is_past(give_ns_of(exchange), now_ns)) {
        give(web, exchange);
        did = true;
    }
    return did;
}

bool sim_web_elapse(struct sim_web *web, struct sim_host *host)
{
    bool did = false;
    for (struct exchange *exchange = web->first; exchange != NULL; exchange = exchange->next) {
        did = exchange->host == host && advance(web, exchange) ? true : did;
    }
    return did;
}

uint64_t sim_web_due_ns(const struct sim_web *web, const struct sim_host *host)
{
    uint64_t due_ns = UINT64_MAX;
    for (const struct exchange *exchange = web->first; exchange != NULL;
         exchange = exchange->next) {
        const uint64_t times[] = {exchange->arrive_ns, give_ns_of(exchange),
                                  is_open(exchange) ? exchange->give_up_ns : 0,
                                  is_open(exchange) ? exchange->patience_ns : 0};
        for (size_t i = 0; i < TR_COUNT_OF(times) && exchange->host == host; i++) {
            due_ns = times[i] != 0 && times[i] < due_ns ? times[i] : due_ns;
        }
    }
    return due_ns;
}

void sim_web_forget(struct sim_web *web, const struct sim_host *host)
{
    for (struct exchange *exchange = web->first; exchange != NULL; exchange = exchange->next) {
        if (exchange->host == host && is_open(exchange)) {
            sim_web_seen.crashed++;
            exchange->is_heard = false;
            drop_lines(exchange);
            tell_server(exchange, 0, "crash");
        }
        if (exchange->host == host && exchange->arrive_ns != 0 &&
            sim_below(&web->world->chance.environment, 2) == 0) {
            exchange->arrive_ns = 0; /* it had not left yet */
        }
    }
}

bool sim_web_is_busy(const struct sim_web *web, const struct sim_host *host)
{
    const struct exchange *exchange = web->first;
    while (exchange != NULL && !(exchange->host == host && is_open(exchange))) {
        exchange = exchange->next;
    }
    return exchange != NULL;
}
