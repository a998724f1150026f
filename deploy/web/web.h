/*
 * The API of Troupe's own, at the port of `troupe serve --http`: the documents of the commands, for
 * programs and pages. What is served is the table of routes.c.
 *
 *     int error = tr_web_new(&options, &web);
 *     api_options.parts = tr_web_parts(web, &api_options.part_count);
 *     tr_api_open(&api_options, words, &api); tr_web_judge_by(web, tr_api_oidc(api));
 *     tr_web_stop(web); tr_api_close(api); tr_web_free(web);
 */
#ifndef TR_DEPLOY_WEB_WEB_H
#define TR_DEPLOY_WEB_WEB_H

#include "deploy/api/clients.h"
#include "deploy/door/door.h"

/* Where it is. */
#define TR_WEB_PREFIX "/api/troupe/"
#define TR_WEB_BASE "/api/troupe/v1"

/* Of an execution; and what its tasks wrote, for who links to it. */
#define TR_WEB_EXECUTION TR_WEB_BASE "/executions/{project}/{domain}/{name}"
#define TR_WEB_LOGS TR_WEB_EXECUTION "/logs"

struct tr_oidc;
struct tr_web;

struct tr_web_options {
    const char *folder;            /* of the store, whose engine is this process; it outlives it */
    struct tr_api_clients clients; /* they outlive it */
    enum tr_api_role everybody;    /* what everybody may do where nobody needs a token */
    struct tr_api_provider provider; /* the same; without an issuer there is none */
};

/* Threads begin with the first request that needs one. TR_MEMORY. */
TR_MUST_USE int tr_web_new(const struct tr_web_options *options, struct tr_web **web);

/* What judges tokens of the provider (tr_api_oidc); before, their owners are told to try again. */
void tr_web_judge_by(struct tr_web *web, struct tr_oidc *oidc);

/* What the door is to hand to it. */
const struct tr_door_part *tr_web_parts(const struct tr_web *web, size_t *count);

/* Lets the threads end, while the door is open; what waits is refused. NULL is fine, here, too. */
void tr_web_stop(struct tr_web *web);

/* When the door is closed. */
void tr_web_free(struct tr_web *web);

#endif
