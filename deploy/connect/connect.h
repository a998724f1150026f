/*
 * Reaching the engine of a store, from wherever it runs: becoming it, or speaking with it.
 */
#ifndef TR_DEPLOY_CONNECT_CONNECT_H
#define TR_DEPLOY_CONNECT_CONNECT_H

#include "deploy/cli/command.h"
#include "deploy/common/client.h"
#include "deploy/engine/assemble.h"

/* One of both: the engine of this process, or a line to that of another. */
struct tr_connection {
    struct tr_live *live;
    struct tri_client *client;
    uint32_t jobs; /* as tr_live_jobs; 0 of an engine that does not say it */
};

/*
 * Becomes the engine of a store, or, when it has one, a client of that. What is wrong is said on
 * stderr: then the status is not TR_EXIT_DONE, and nothing was reached.
 */
enum tr_exit_status tr_connect_or_open(const struct tr_invocation *invocation,
                                       const struct tr_live_options *options,
                                       struct tr_connection *connection);

/*
 * Becomes the engine of a store and no client: one that has an engine is refused with
 * TR_EXIT_ENGINE and words that name it. `*live` is left alone if the hosts beside this one have
 * all of the work meanwhile: then it joins them anew.
 */
enum tr_exit_status tr_connect_as_engine(const struct tr_invocation *invocation,
                                         const struct tr_live_options *options,
                                         struct tr_live **live);

/*
 * Speaks with the live engine of a store; without one, that is refused with TR_EXIT_ENGINE and
 * words that say how to start one.
 */
enum tr_exit_status tr_connect_live(const struct tr_invocation *invocation, const char *folder,
                                    struct tri_client **client);

/* The same where it may have none: `*client` is NULL then. */
enum tr_exit_status tr_connect_if_live(const struct tr_invocation *invocation, const char *folder,
                                       struct tri_client **client);

/*
 * Waits, for a moment, until an engine that was started in the background has opened its socket, so
 * that the next command finds it. One that has come and gone, or never comes, is no error here.
 */
void tr_connect_wait(const char *folder);

/* How many processes the live engine of a store lets run at once, as tr_live_jobs; 0: none. */
uint32_t tr_connect_jobs(const char *folder);

void tr_connection_close(struct tr_connection *connection);

#endif
