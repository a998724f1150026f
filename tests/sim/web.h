/*
 * The environment's http, simulated: what actors ask of TR_SERVICE_HTTP (schemas/runtime/http.h)
 * reaches a server that is modelled, late, never, or without its answer coming back.
 *
 * Who writes a server gives a table with one function, `serve`. It is called once for each request
 * that reaches the server, never twice for one call, and not at all for those that are lost on the
 * way or refused in front of it (status 503, 429 with Retry-After). It answers at once or at any
 * later moment, by the number of the exchange:
 *
 *     sim_web_answer(web, number, 200, body)   the whole answer; or, for a stream,
 *     sim_web_line(web, number, line)          one line more, as often as there is one, and
 *     sim_web_answer(web, number, 200, {0})    its end
 *
 * What the server does is done, whoever hears of it: the answer may be lost ("protocol"), the
 * stream be cut after any line, the caller have crashed. So a request of a host that has crashed
 * may reach the server after its next start. The server lives on; sim_web_is_open tells whether
 * anybody still listens. Lines wait for room (http_more) as those of the real service do.
 *
 * A request ends with its call, as in the real service. The web itself finds a call that is heard
 * twice, an exchange with two ends and a request served twice; one that never ends keeps the play
 * from being over. Each of these nets has a injected bug (sim_web_bugs).
 */
#ifndef TR_TESTS_SIM_WEB_H
#define TR_TESTS_SIM_WEB_H

#include "schemas/runtime/envelope.h"
#include "schemas/runtime/http.h"

struct sim_host;
struct sim_web;
struct sim_world;

/* What was seen in all runs, for tests that want to see that something happened. */
#define SIM_WEB_SEEN(S) \
    S(requests)         \
    S(served)           \
    S(served_late)      \
    S(lost_before)      \
    S(lost_after)       \
    S(refused)          \
    S(limited)          \
    S(cut)              \
    S(cancelled)        \
    S(timeouts)         \
    S(held_lines)       \
    S(crashed)

struct sim_web_seen {
#define SIM_WEB_SEEN_MEMBER(name) uint64_t name;
    SIM_WEB_SEEN(SIM_WEB_SEEN_MEMBER)
#undef SIM_WEB_SEEN_MEMBER
};
extern struct sim_web_seen sim_web_seen;

/* A server; `request` and what it points to live until `serve` returns. */
struct sim_web_server {
    void *self;
    void (*serve)(void *self, struct sim_web *web, uint64_t number,
                  const struct tr_http_request *request);
    /*
     * NULL, or: who asked has heard the end of it, or never will. `status` is 0 where no answer
     * came, `fault` is http_response's; "crash": he is not there any more.
     */
    void (*ended)(void *self, uint64_t number, const struct tr_http_request *request,
                  uint32_t status, const char *fault);
};

struct sim_web *sim_web_new(struct sim_world *world, const struct sim_web_server *server);
void sim_web_free(struct sim_web *web);

/* ------------------------------------------------------------------------------ for the server */

/* Answers, or ends a stream. After the end it is nothing: nobody listens any more. */
void sim_web_answer(struct sim_web *web, uint64_t number, uint32_t status, struct tr_bytes body);

/* A line of a stream, without its end; it is copied. */
void sim_web_line(struct sim_web *web, uint64_t number, struct tr_text line);

/* Whether somebody hears what is said of this exchange. */
bool sim_web_is_open(const struct sim_web *web, uint64_t number);

/* -------------------------------------------------------------------------------- for the play */

/* A message for TR_SERVICE_HTTP has come: http_request, http_more or http_cancel (play.h, hear). */
void sim_web_hear(struct sim_web *web, struct sim_host *host, const struct tr_envelope *envelope,
                  struct tr_bytes body);

/* Whether the time of a call has passed before it left: the real service does not send it. */
bool sim_web_is_too_late(const struct sim_host *host, const struct tr_envelope *call);

/* Time has come for something (play.h, elapse): whether anything was done; and when it will. */
bool sim_web_elapse(struct sim_web *web, struct sim_host *host);
uint64_t sim_web_due_ns(const struct sim_web *web, const struct sim_host *host);

/* A host starts: nobody of its former life listens any more. */
void sim_web_forget(struct sim_web *web, const struct sim_host *host);

/* Whether an exchange of this host has not had its end: then its play is not over (play.h). */
bool sim_web_is_busy(const struct sim_web *web, const struct sim_host *host);

#endif
