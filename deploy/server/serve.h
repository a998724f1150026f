/*
 * What a live engine does for other commands: it takes their requests through its endpoint, and
 * tells followers of an execution of its end.
 *
 *     loop: tr_live_rest(live, tr_serve_timeout_ms(serve)); tr_serve_step(serve);
 */
#ifndef TR_DEPLOY_SERVER_SERVE_H
#define TR_DEPLOY_SERVER_SERVE_H

#include "deploy/engine/assemble.h"

/* How many may follow at once, how many are awaited, and how many taps may be open for others. */
#define TR_SERVE_FOLLOWERS_MAX 1024
#define TR_SERVE_AWAITED_MAX 64
#define TR_SERVE_TAPS_MAX 8

/* Actors that one request lets go on. */
#define TR_SERVE_RESUMED_MAX 256

struct tr_serve;

/* TR_MEMORY. */
TR_MUST_USE int tr_serve_new(struct tr_live *live, struct tr_serve **serve);

/* Answers nobody any more; NULL is fine. Before the engine is closed. */
void tr_serve_free(struct tr_serve *serve);

/* Does all that there is to do. */
void tr_serve_step(struct tr_serve *serve);

/* How long the engine may rest before the next step; UINT32_MAX: until something comes. */
uint32_t tr_serve_timeout_ms(const struct tr_serve *serve);

/* What is detached, and what others follow here, goes on in another engine after this one. */
void tr_serve_hand_over(struct tr_serve *serve);

/* How many other commands follow something here. */
size_t tr_serve_followers(const struct tr_serve *serve);

/*
 * Whether a command needs this engine: it follows something, or has said hello and is about to ask,
 * which it is given five seconds for.
 */
bool tr_serve_is_needed(const struct tr_serve *serve);

#endif
