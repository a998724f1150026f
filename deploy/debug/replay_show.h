/*
 * How a replay is printed: for people, a paragraph for each message; for programs, an object a
 * line.
 */
#ifndef TR_DEPLOY_DEBUG_REPLAY_SHOW_H
#define TR_DEPLOY_DEBUG_REPLAY_SHOW_H

#include "runtime/worker/sandbox.h"
#include "schemas/runtime/envelope_print.h"

struct tr_replay_show {
    struct tr_sink *sink;
    enum tr_print_form form;
    const struct tr_registry *registry; /* messages and records; states know their own */
    uint64_t number;                    /* of the message */
    uint64_t effects;                   /* that were shown of it */
};

/* What a recording says of itself; for programs with the state of its actor, packed. */
void tr_replay_show_head(struct tr_replay_show *show, const struct tr_recording *head,
                         const struct tr_behaviour *behaviour, struct tr_bytes state);

/* A message, then (tr_replay_show_effect) what its handler asks for, then how it went. */
void tr_replay_show_message(struct tr_replay_show *show,
                            const struct tr_recorded_message *recorded);
void tr_replay_show_effect(void *self, const struct tri_sandbox_effect *seen);
void tr_replay_show_end(struct tr_replay_show *show, const struct tr_recorded_message *recorded,
                        const struct tri_sandbox_handled *handled);

#endif
