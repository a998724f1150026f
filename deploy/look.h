/*
 * What the commands that look share: they read a store's history, beside a live engine or without
 * one, and name what they cannot find.
 */
#ifndef TR_DEPLOY_LOOK_H
#define TR_DEPLOY_LOOK_H

#include "deploy/executions.h"
#include "deploy/store.h"
#include "deploy/target.h"

/* A store that is looked at. */
struct tr_look {
    const struct tr_invocation *invocation;
    struct tr_store_place place;
    struct tr_reader *reader;
    uint64_t now_ms; /* when it was opened, milliseconds since 1970 */
};

/* What a word named. */
struct tr_found {
    struct tr_execution_copy execution;
    struct tr_target target;
};

/*
 * Finds the store of a command and opens its history. What is wrong is said on stderr; then there
 * is nothing to close: TR_EXIT_USAGE where there is no store, else TR_EXIT_ENGINE.
 */
enum tr_exit_status tr_look_open(const struct tr_invocation *invocation, struct tr_look *look);
void tr_look_close(struct tr_look *look);

/*
 * Finds the execution that a word names, and takes the rest of it apart. What is wrong is said;
 * then there is nothing to end: TR_EXIT_USAGE, or TR_EXIT_ENGINE.
 */
enum tr_exit_status tr_look_find(const struct tr_look *look, const char *word,
                                 struct tr_found *found);
void tr_found_fini(struct tr_found *found);

/* Says why something of the store could not be read; gives TR_EXIT_ENGINE. */
enum tr_exit_status tr_look_failed(const struct tr_look *look, int error);

/* Whether an engine has the store now: nothing goes on in a store without one. */
bool tr_look_is_live(const struct tr_look *look);

#endif
