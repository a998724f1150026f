/*
 * Tokens as an OpenID provider gives them: JSON Web Tokens (RFC 7519) with a signature in compact
 * form (RFC 7515), HEADER.CLAIMS.SIGNATURE. Pure.
 */
#ifndef TR_DEPLOY_OIDC_JWT_H
#define TR_DEPLOY_OIDC_JWT_H

#include "actors/graph/document/tree.h"

/* The longest token: headers have room for as much. */
#define TR_JWT_BYTES_MAX (16U << 10)

/* How far clocks may be apart. */
#define TR_JWT_LEEWAY_S 60

/* One that was taken apart; nothing in it is to be believed before its signature is checked. */
struct tr_jwt {
    struct tr_text algorithm;
    struct tr_text key_id; /* empty: it names none */
    struct tr_text said;   /* what is signed */
    struct tr_bytes signature;
    const struct tr_tree *claims; /* a mapping */
};

/* Whether a text has the form of one: three parts with points between. */
bool tr_jwt_is_one(struct tr_text token);

/*
 * Takes one apart; the token and the arena outlive it. NULL, or what is wrong, for people: it is no
 * token, or says that something in its header has to be understood.
 */
TR_MUST_USE const char *tr_jwt_read(struct tr_text token, struct tr_arena *arena,
                                    struct tr_jwt *jwt);

/* What a token has to be for. */
struct tr_jwt_wanted {
    const char *issuer;
    const char *audience;
    uint64_t now_s; /* since 1970 */
};

/* Whether it is for us, and good now: NULL, or what is wrong, for people. */
TR_MUST_USE const char *tr_jwt_check(const struct tr_jwt *jwt, const struct tr_jwt_wanted *wanted);

/*
 * A claim by its name; where there is none of this name, by a way with points, as
 * realm_access.roles. NULL: there is none.
 */
const struct tr_tree *tr_jwt_claim(const struct tr_jwt *jwt, const char *name);

/* Whether a claim is a text, or a list with it. */
bool tr_jwt_claim_has(const struct tr_tree *claim, const char *text);

#endif
