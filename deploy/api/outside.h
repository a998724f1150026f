/*
 * Clients that an OpenID provider outside knows: a token of its own says who one is, and claims in
 * it what one may do (deploy/oidc/). What needs the provider's keys while they are fetched waits,
 * without keeping anybody else.
 */
#ifndef TR_DEPLOY_API_OUTSIDE_H
#define TR_DEPLOY_API_OUTSIDE_H

#include "deploy/api/call.h"
#include "deploy/api/clients.h"
#include "deploy/oidc/provider.h"

/* Where clients of the provider get tokens, and how they call themselves there. */
struct tr_api_outside {
    struct tr_oidc_endpoints endpoints;
    const char *client_id;
    const char *audience;
    const char *const *scopes;
    uint32_t scope_count;
};

/*
 * Finds out for a handler. False: the handler is called again later, or the call has failed; there
 * is nothing to do. Where there is no provider, true and nothing found: `client_id` is NULL.
 */
TR_MUST_USE bool tr_api_call_outside(struct tr_api_call *call, struct tr_api_outside *outside);

/*
 * The client that a good token makes: who it says it is, and the roles that its claims give. Its
 * texts are of the arena and of the provider. TR_MEMORY, or TR_INVALID with `words`
 * (TR_OIDC_WORDS_BYTES) where the token does not say who it is.
 */
TR_MUST_USE int tr_api_outside_client(const struct tr_api_provider *provider,
                                      const struct tr_jwt *jwt, struct tr_arena *arena, char *words,
                                      struct tr_api_client *client);

#endif
