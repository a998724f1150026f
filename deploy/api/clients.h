/*
 * Who may call what: clients with secrets, each with roles in projects and domains. A client shows
 * its secret as a bearer token, or a token that it has got for it (token_form.c), which is good for
 * an hour and says by itself whose it is. Pure.
 */
#ifndef TR_DEPLOY_API_CLIENTS_H
#define TR_DEPLOY_API_CLIENTS_H

#include "actors/graph/document/buffer.h"
#include "deploy/api/call.h"

#define TR_API_SECRET_HASH_BYTES 32
#define TR_API_TOKEN_KEY_BYTES 32
#define TR_API_CLIENT_KEY_BYTES 32

/* The letters of an id, and how long it may be. */
#define TR_API_CLIENT_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-@"
#define TR_API_CLIENT_BYTES_MAX 63

/* A role somewhere; NULL: in all projects, in all domains. */
struct tr_api_grant {
    enum tr_api_role role;
    const char *project;
    const char *domain;
};

struct tr_api_client {
    const char *id;
    uint8_t secret_sha256[TR_API_SECRET_HASH_BYTES]; /* zeros: of no secret */
    bool has_key;
    uint8_t key[TR_API_CLIENT_KEY_BYTES]; /* its public one, at the entry (deploy/entry/entry.h) */
    const struct tr_api_grant *grants;
    uint32_t grant_count;
};

/* All of them; none: nobody needs a token. */
struct tr_api_clients {
    const struct tr_api_client *items;
    uint32_t count;
    const uint8_t *key; /* of TR_API_TOKEN_KEY_BYTES: tokens are signed with it */
};

/* A role that a provider's tokens give: to whom a claim says so, or to all (NULL). */
struct tr_api_claim_grant {
    const char *value;
    struct tr_api_grant grant;
};

/* An OpenID provider outside, whose tokens are good here, too. */
struct tr_api_provider {
    const char *issuer; /* NULL: there is none */
    const char *audience;
    const char *keys_url;      /* NULL: as the provider describes itself */
    const char *ca_file;       /* NULL: the system's */
    const char *client_id;     /* what clients without a secret call themselves there */
    const char *const *scopes; /* that they ask for */
    uint32_t scope_count;
    const char *who_claim;   /* which says who it is */
    const char *roles_claim; /* NULL: none says what one may do */
    const struct tr_api_claim_grant *grants;
    uint32_t grant_count;
};

/* Where a call acts; NULL: everywhere. */
struct tr_api_place {
    const char *project;
    const char *domain;
    bool is_anywhere; /* it tells only what there is: any place will do */
};

/* Whether a client has a role, or a greater one, at a place. */
bool tr_api_client_may(const struct tr_api_client *client, enum tr_api_role role,
                       const struct tr_api_place *place);

/* The client of an id and a secret; NULL: there is none, or it has another one. */
const struct tr_api_client *tr_api_client_of_secret(const struct tr_api_clients *clients,
                                                    struct tr_text id, struct tr_text secret);

/* The client of what stands behind `Bearer `: its secret, or a token; NULL: nobody's. */
const struct tr_api_client *tr_api_client_of_bearer(const struct tr_api_clients *clients,
                                                    struct tr_text bearer, uint64_t now_s);

/* Appends a token for a client, good until a time in seconds since 1970. */
void tr_api_token_print(const struct tr_api_clients *clients, const struct tr_api_client *client,
                        uint64_t expires_s, struct tr_buffer *token);

/*
 * An execution calls, too, by one of its tasks: as PROJECT/DOMAIN/NAME, which is no client's id.
 * Its token is good as long as it runs, which the token does not say.
 */
void tr_api_execution_token_print(const struct tr_api_clients *clients, struct tr_text execution,
                                  struct tr_buffer *token);

/* The execution of what stands behind `Bearer `; empty: it is no such token. */
struct tr_text tr_api_execution_of_bearer(const struct tr_api_clients *clients,
                                          struct tr_text bearer);

/*
 * Whether an execution may: it acts in its own project and domain, where eager tasks also register
 * what they begin.
 */
bool tr_api_execution_may(struct tr_text execution, enum tr_api_role role,
                          const struct tr_api_place *place);

/* What stands behind a scheme such as `Bearer` in the value of a header; empty: nothing does. */
struct tr_text tr_api_credentials(struct tr_text header, const char *scheme);

#endif
