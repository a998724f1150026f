/*
 * What the commands that look share: they read a store's history, beside a live engine or without
 * one, and name what they cannot find.
 */
#ifndef TR_DEPLOY_CLI_BROWSE_H
#define TR_DEPLOY_CLI_BROWSE_H

#include "deploy/cli/store.h"
#include "deploy/history/executions.h"
#include "deploy/history/target.h"

/* A store that is looked at. */
struct tr_browse {
    const struct tr_invocation *invocation;
    struct tr_store_place place;
    struct tr_reader *reader;
    uint64_t now_ms; /* when it was opened, milliseconds since 1970 */
};

/* What a word named. */
struct tr_found {
    struct tr_executions_row execution;
    struct tr_target target;
};

/*
 * Finds the store of a command and opens its history. What is wrong is said on stderr; then there
 * is nothing to close: TR_EXIT_USAGE where there is no store, else TR_EXIT_ENGINE.
 */
enum tr_exit_status tr_browse_open(const struct tr_invocation *invocation,
                                   struct tr_browse *browse);
void tr_browse_close(struct tr_browse *browse);

/*
 * Finds the execution that a word names, and takes the rest of it apart. What is wrong is said;
 * then there is nothing to end: TR_EXIT_USAGE, or TR_EXIT_ENGINE.
 */
enum tr_exit_status tr_browse_find(const struct tr_browse *browse, const char *word,
                                   struct tr_found *out);
void tr_found_fini(struct tr_found *found);

/* Opens, finds what the command's first word names, lets `act` do its work, and closes. */
enum tr_exit_status tr_browse_first(const struct tr_invocation *invocation,
                                    enum tr_exit_status (*act)(const struct tr_browse *browse,
                                                               const struct tr_found *found));

/* Says why something of the store could not be read; gives TR_EXIT_ENGINE. */
enum tr_exit_status tr_browse_failed(const struct tr_browse *browse, int error);

/* Whether an engine has the store now: nothing goes on in a store without one. */
bool tr_browse_is_live(const struct tr_browse *browse);

/*
 * Says, once, that no engine has the store, for commands that wait for something to happen in it.
 * To be asked before the history is looked at: an engine may leave when it has nothing more to do.
 */
void tr_browse_note_dead(const struct tr_browse *browse, bool *has_told);

#endif
