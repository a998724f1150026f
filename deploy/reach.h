/*
 * Reaching the engine of a store, from wherever it runs: becoming it, or speaking with it.
 */
#ifndef TR_DEPLOY_REACH_H
#define TR_DEPLOY_REACH_H

#include "deploy/engine/assemble.h"
#include "deploy/cli/command.h"

/* One of both: the engine of this process, or a line to that of another. */
struct tr_reached {
    struct tr_live *live;
    struct tri_client *client;
    uint32_t jobs; /* as tr_live_jobs; 0 of an engine that does not say it */
};

/*
 * Becomes the engine of a store, or, when it has one, a guest there. What is wrong is said on
 * stderr: then the status is not TR_EXIT_DONE, and nothing was reached.
 */
enum tr_exit_status tr_reach(const struct tr_invocation *invocation,
                             const struct tr_live_options *options, struct tr_reached *reached);

/*
 * Becomes the engine of a store and nobody's guest: one that has an engine is refused with
 * TR_EXIT_ENGINE and words that name it.
 */
enum tr_exit_status tr_become(const struct tr_invocation *invocation,
                              const struct tr_live_options *options, struct tr_live **live);

/*
 * Speaks with the live engine of a store; without one, that is refused with TR_EXIT_ENGINE and
 * words that say how to start one.
 */
enum tr_exit_status tr_reach_live(const struct tr_invocation *invocation, const char *folder,
                                  struct tri_client **client);

/* The same where it may have none: `*client` is NULL then. */
enum tr_exit_status tr_reach_any(const struct tr_invocation *invocation, const char *folder,
                                 struct tri_client **client);

/*
 * Waits, for a moment, until an engine that was started in the background has opened its door, so
 * that the next command finds it. One that has come and gone, or never comes, is no error here.
 */
void tr_reach_wait(const char *folder);

/* How many processes the live engine of a store lets run at once, as tr_live_jobs; 0: none. */
uint32_t tr_reach_jobs(const char *folder);

void tr_reached_close(struct tr_reached *reached);

/*
 * Asks, and waits for the answer; those in between are given to `row` (or NULL), whose error ends
 * the waiting. TR_NO_CONNECTION, TR_TIMEOUT (`timeout_ms`; 0 waits for ever). `answer` lives until
 * the next call with the client.
 */
TR_MUST_USE int tr_client_call(struct tri_client *client, const struct tr_schema *schema,
                               const void *body, const struct tr_schema *last, uint32_t timeout_ms,
                               int (*row)(void *self, const struct tri_request *row), void *self,
                               struct tri_request *answer);

#endif
