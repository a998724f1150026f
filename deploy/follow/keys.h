/*
 * The keys of a person who follows an execution on a terminal: `d` detaches, and at a gate that
 * waits Ctrl-C asks first whether to detach or to abort.
 *
 * As long as something is followed the terminal gives each key at once and shows none. It is as it
 * was before in every way out: at the end, by signals, by a fault of the program, and while the
 * program is stopped (Ctrl-Z). Only kill -9 leaves no time. Where stdin and stderr are not the
 * terminal of this process, or the shell has it in the background, there are no keys.
 */
#ifndef TR_DEPLOY_FOLLOW_KEYS_H
#define TR_DEPLOY_FOLLOW_KEYS_H

#include "deploy/follow/follow.h"

/* How often one that follows has to look whether the terminal is its own again. */
#define TR_KEYS_LOOK_MS 1000

/* What a person wants. */
enum tr_wish { TR_WISH_NONE, TR_WISH_DETACH, TR_WISH_ABORT };

struct tr_keys {
    struct tr_follow *follow; /* beside whose view it speaks */
    bool is_there;            /* there is a terminal */
    bool is_asking;           /* what to do: the next key answers */

    /* private */
    int events;
    bool is_watched;
};

/* Makes an epoll descriptor that is readable when another one is. To be closed. TR_SYSTEM. */
TR_MUST_USE int tr_keys_events(int descriptor, int *events);

/*
 * From now on keys make `events`, an epoll descriptor that outlives them, readable. Once in a
 * process at a time; without a terminal nothing happens.
 */
void tr_keys_open(struct tr_keys *keys, struct tr_follow *follow, int events);

/* The terminal is as it was before. Nothing for keys that were never opened, which are zeros. */
void tr_keys_close(struct tr_keys *keys);

/* What the keys say that were typed since the last call. */
enum tr_wish tr_keys_wish(struct tr_keys *keys);

/*
 * A Ctrl-C has come. True: a gate waits, so it is asked what to do, and the next key or a second
 * Ctrl-C answers. False: it means what it means elsewhere.
 */
bool tr_keys_ask(struct tr_keys *keys);

#endif
