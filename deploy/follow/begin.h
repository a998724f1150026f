/*
 * Beginning an execution that was prepared, wherever the store's engine is.
 */
#ifndef TR_DEPLOY_FOLLOW_BEGIN_H
#define TR_DEPLOY_FOLLOW_BEGIN_H

#include "deploy/connect/connect.h"
#include "deploy/engine/launch.h"
#include "deploy/follow/prepare.h"

struct tr_beginning {
    struct tr_prepared *prepared; /* its graph is taken over where the engine is here */
    const char *folder;           /* of the store */
    const char *cause;            /* what the history says why it was started */
    struct tr_text recovery;      /* where the plan of a recovery lies; empty: it is none */
    bool is_detached;             /* nobody will follow it */
    struct tr_launch_outcome outcome;
};

/*
 * Begins it; one of that name that exists is as good where --if-new was given. What is wrong is
 * said on stderr.
 */
enum tr_exit_status tr_begin(struct tr_beginning *beginning, struct tr_connection *connection);

/*
 * Becomes the engine of the store or its client, begins it, and stays with it until it has ended;
 * or prints its name, where it is detached. `folder` has to be known.
 */
enum tr_exit_status tr_begin_and_follow(struct tr_beginning *beginning);

/* Says on stderr that it begins, or exists. */
void tr_begin_note(const struct tr_beginning *beginning);

/* Prints its name, as -o says. */
void tr_begin_print_name(const struct tr_beginning *beginning);

#endif
