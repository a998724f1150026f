/*
 * A request as a route takes it: which one it is, and what it gives, by the path, the query and the
 * body. Pure.
 */
#ifndef TR_DEPLOY_WEB_REQUEST_H
#define TR_DEPLOY_WEB_REQUEST_H

#include "actors/graph/document/arena.h"
#include "deploy/web/problem.h"
#include "deploy/web/routes.h"
#include "deploy/web/web_limits.h"

struct tr_web_given {
    const char *name;
    const char *value; /* without escapes; "" for a flag */
};

struct tr_web_request {
    const struct tr_web_route *route;
    struct tr_web_given given[TR_WEB_GIVEN_MAX];
    size_t count;
};

/* A text with a closing zero, in the arena; NULL without memory. */
const char *tr_web_keep(struct tr_arena *arena, struct tr_text text);

/* A value that was given; NULL: none was. */
const char *tr_web_request_value(const struct tr_web_request *request, const char *name);

/* Adds one. False: there are too many. */
TR_MUST_USE bool tr_web_request_give(struct tr_web_request *request, const char *name,
                                     const char *value);

/* Changes one, or adds it. */
void tr_web_request_set(struct tr_web_request *request, const char *name, const char *value);

/*
 * Finds the route of a request and reads its path and its query. Texts lie in the arena. What is
 * wrong has words (TR_WEB_WORDS_BYTES).
 */
struct tr_web_head {
    struct tr_text method;
    struct tr_text path;
    struct tr_text query;
};
enum tr_web_problem tr_web_request_read(struct tr_arena *arena, const struct tr_web_head *head,
                                        struct tr_web_request *request, char *words);

/* Reads the body of a route that takes one: an object of JSON, or nothing. */
enum tr_web_problem tr_web_request_read_body(struct tr_arena *arena, struct tr_bytes body,
                                             struct tr_web_request *request, char *words);

/* Whether a header Accept-Encoding lets an answer come with gzip (RFC 9110, 12.5.3). */
bool tr_web_takes_gzip(struct tr_text header);

/*
 * The words of its command, behind the name, ended by NULL: options first, so that no value is
 * taken for one. NULL: there is no memory.
 */
char **tr_web_request_arguments(struct tr_arena *arena, const struct tr_web_request *request,
                                const char *folder, int *count);

#endif
