/*
 * Flyte's API: gRPC and REST at one port, for its clients. What is served is the table of
 * methods.c.
 *
 *     int error = tr_api_open(&options, words, &api);
 *     ... tr_api_address(api, 0) ...
 *     tr_api_close(api);
 */
#ifndef TR_DEPLOY_API_API_H
#define TR_DEPLOY_API_API_H

#include "deploy/api/clients.h"
#include "deploy/door/door.h"

struct tr_oidc;

struct tr_api_options {
    const char *const *addresses; /* as tr_door_address_check says */
    size_t address_count;
    const char *certificate; /* NULL: cleartext */
    const char *key;
    uint64_t request_bytes_max;          /* 0: TR_DOOR_BODY_BYTES_MAX */
    uint32_t connections_max;            /* 0: TR_DOOR_CONNECTIONS_MAX */
    const struct tr_api_method *methods; /* NULL: tr_api_methods; they outlive it */
    size_t method_count;
    enum tr_api_role everybody;       /* what everybody may do where nobody needs a token */
    struct tr_api_clients clients;    /* they outlive it */
    struct tr_api_provider provider;  /* the same; without an issuer there is none */
    struct tr_api_services services;  /* they outlive it */
    const struct tr_door_part *parts; /* what others answer at the same port; they outlive it */
    size_t part_count;
};

/* Opens the port, with a thread of its own. Errors, with words, as tr_door_open. */
TR_MUST_USE int tr_api_open(const struct tr_api_options *options, char *words, struct tr_api **api);

/* Ends all calls; NULL is fine. */
void tr_api_close(struct tr_api *api);

/* Where it listens: tr_door_address. */
size_t tr_api_address_count(const struct tr_api *api);
const char *tr_api_address(const struct tr_api *api, size_t index);

/* What judges tokens of the provider; NULL: there is none. It is the API's, and goes with it. */
struct tr_oidc *tr_api_oidc(const struct tr_api *api);

#endif
