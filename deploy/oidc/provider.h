/*
 * An OpenID provider: its keys, and whether a token is one of its own for us.
 *
 * Keys are fetched when it is opened, once an hour, and when a token names one that is not among
 * them, at most once in TR_OIDC_FETCH_EVERY_MS: a provider that is asked by nobody but us does not
 * feel who makes tokens up. Where it cannot be reached the keys that it gave are good for a day.
 * Judging never waits: what needs keys that are being fetched is judged again when `changed` says
 * so.
 */
#ifndef TR_DEPLOY_OIDC_PROVIDER_H
#define TR_DEPLOY_OIDC_PROVIDER_H

#include "deploy/oidc/key_set.h"

/* How often keys may be fetched, when they are fetched anew, and until when they are good. */
#define TR_OIDC_FETCH_EVERY_MS 10000
#define TR_OIDC_FETCH_AFTER_MS (3600U * 1000)
#define TR_OIDC_KEYS_KEPT_MS (24U * 3600 * 1000)

/* How long the provider may take for one answer, and how large that may be. */
#define TR_OIDC_TIMEOUT_MS 5000
#define TR_OIDC_ANSWER_BYTES_MAX (1U << 20)

struct tr_oidc;

/* Texts outlive it. */
struct tr_oidc_options {
    const char *issuer; /* a URL, as tokens say it */
    const char *audience;
    const char *keys_url; /* NULL: as ISSUER/.well-known/openid-configuration says */
    const char *ca_file;  /* NULL: the system's */
    /* Something may be judged otherwise now. Called on another thread, which it may not keep. */
    void (*changed)(void *self);
    void *self;
};

/* Opens one, and begins to fetch. TR_SYSTEM, TR_MEMORY, with `words` (TR_OIDC_WORDS_BYTES). */
TR_MUST_USE int tr_oidc_open(const struct tr_oidc_options *options, char *words,
                             struct tr_oidc **oidc);

/* `changed` is not called any more. NULL is fine. */
void tr_oidc_close(struct tr_oidc *oidc);

enum tr_oidc_verdict {
    TR_OIDC_GOOD,
    TR_OIDC_WRONG, /* nobody's, for others, or of another time */
    TR_OIDC_LATER, /* keys are being fetched */
    TR_OIDC_AWAY,  /* there are no keys, as the provider cannot be reached */
};

/*
 * Judges a token at a time in seconds since 1970. Its claims are of the arena and the token;
 * `words` say what is wrong. Any thread.
 */
enum tr_oidc_verdict tr_oidc_judge(struct tr_oidc *oidc, struct tr_text token, uint64_t now_s,
                                   struct tr_arena *arena, struct tr_jwt *jwt, char *words);

/* Where its clients get tokens; empty where it does not say. */
struct tr_oidc_endpoints {
    struct tr_text authorization;
    struct tr_text token;
    struct tr_text device_authorization;
};

/* Copies of them, in the arena. As tr_oidc_judge; never WRONG. */
enum tr_oidc_verdict tr_oidc_endpoints(struct tr_oidc *oidc, struct tr_arena *arena,
                                       struct tr_oidc_endpoints *endpoints, char *words);

#endif
