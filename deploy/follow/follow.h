/*
 * Following an execution: what people see on stderr while it runs, read from the history, in the
 * engine's own process or in another one.
 */
#ifndef TR_DEPLOY_FOLLOW_FOLLOW_H
#define TR_DEPLOY_FOLLOW_FOLLOW_H

#include "deploy/cli/command.h"
#include "deploy/history/executions.h"

/* A view is drawn no more often than this. */
#define TR_FOLLOW_MS 100

struct tr_follow;

/* Follows an execution of a store by its number, as the command was asked to. TR_MEMORY. */
TR_MUST_USE int tr_follow_new(const struct tr_invocation *invocation, const char *folder,
                              uint64_t execution, struct tr_follow **follow);
void tr_follow_free(struct tr_follow *follow);

/*
 * Shows what is new, if it is time. What cannot be read now is shown later: nothing ends because of
 * a view.
 */
void tr_follow_step(struct tr_follow *follow);

/* How long until the next step has something to do. */
uint32_t tr_follow_timeout_ms(const struct tr_follow *follow);

/* Shows the rest. */
void tr_follow_finish(struct tr_follow *follow);

/* Says something beside the view, unless -q; and the same whatever was asked for. */
void tr_follow_note(struct tr_follow *follow, const char *text);
void tr_follow_say(struct tr_follow *follow, const char *text);

/* What a picture has behind its head from now on: a text that stays. */
void tr_follow_hint(struct tr_follow *follow, const char *hint);

/* Whether a gate of it waits for people now, as far as can be read. */
bool tr_follow_has_gate(struct tr_follow *follow);

#endif
