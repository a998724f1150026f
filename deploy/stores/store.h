/*
 * What the verbs of `troupe store` share.
 */
#ifndef TR_DEPLOY_STORES_STORE_H
#define TR_DEPLOY_STORES_STORE_H

#include "deploy/cli/store.h"
#include "runtime/journal/store_care.h"
#include "runtime/journal/store_folder.h"

/* The store that a call is about. */
struct tr_store_target {
    const struct tr_invocation *invocation;
    struct tr_store_place place;         /* of a folder */
    struct tri_store_options options;    /* with this program's records */
    char shown[TRI_STORE_LOCATOR_BYTES]; /* for people: the folder, or the locator */
    char explain[TRI_STORE_EXPLAIN_BYTES];
};

/*
 * Says what `error` of a store's back end means, with the words in `explain`, and gives the status:
 * TR_EXIT_USAGE where the locator makes no sense or no store is there, else TR_EXIT_ENGINE.
 */
enum tr_exit_status tr_store_target_failed(const struct tr_store_target *target, int error);

/* The verbs; each takes a target whose folder, if it is one, need not be there. */
enum tr_exit_status tr_store_init(struct tr_store_target *target);
enum tr_exit_status tr_store_check(struct tr_store_target *target);
enum tr_exit_status tr_store_upgrade(struct tr_store_target *target);
enum tr_exit_status tr_store_take_over(struct tr_store_target *target);
enum tr_exit_status tr_store_fix_modes(struct tr_store_target *target);

#endif
