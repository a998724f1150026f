/*
 * What an engine that stays tells on stderr, a line at a time: executions that begin and end, and
 * notes of its own. Read from the history, so that it does not matter who began what.
 *
 *     2026-08-20T03:00:00Z  nightly-20260820 begins: fan_out, schedule nightly
 *     2026-08-20T03:00:07Z  nightly-20260820 succeeded after 7s
 */
#ifndef TR_DEPLOY_CHRONICLE_H
#define TR_DEPLOY_CHRONICLE_H

#include "deploy/engine/assemble.h"

/* The history is looked at no more often, and for one part in so many of all time. */
#define TR_CHRONICLE_MS 200
#define TR_CHRONICLE_PARTS 20

struct tr_chronicle;

/*
 * Tells from now on: -q only warnings, -v every phase of an execution, -o json one document a line.
 * TR_MEMORY, TR_SYSTEM, and what the history's reader says.
 */
TR_MUST_USE int tr_chronicle_new(const struct tr_invocation *invocation, struct tr_live *live,
                                 struct tr_chronicle **chronicle);
void tr_chronicle_free(struct tr_chronicle *chronicle);

/* Tells what is new, if it is time. What cannot be read now is told later. */
void tr_chronicle_step(struct tr_chronicle *chronicle);

/* Tells what is new, for the last time: before the engine leaves. */
void tr_chronicle_last(struct tr_chronicle *chronicle);

/* How long until the next step has something to do; UINT32_MAX: when something was written. */
uint32_t tr_chronicle_timeout_ms(const struct tr_chronicle *chronicle);

/* Says something of the engine itself; a warning is told with -q, too. */
void tr_chronicle_note(struct tr_chronicle *chronicle, bool is_warning, const char *text);

#endif
