/*
 * What an engine that stays tells on stderr, a line at a time: executions that begin and end, and
 * notes of its own. Read from the history, so that it does not matter which command began what.
 *
 *     2026-08-20T03:00:00Z  nightly-20260820 begins: fan_out, schedule nightly
 *     2026-08-20T03:00:07Z  nightly-20260820 succeeded after 7s
 */
#ifndef TR_DEPLOY_FOLLOW_SERVICE_LOG_H
#define TR_DEPLOY_FOLLOW_SERVICE_LOG_H

#include "deploy/cli/command.h"
#include "deploy/engine/assemble.h"

/* The history is looked at no more often, and for one part in so many of all time. */
#define TR_SERVICE_LOG_MS 200
#define TR_SERVICE_LOG_PARTS 20

struct tr_service_log;

/*
 * Tells from now on: -q only warnings, -v every phase of an execution, -o json one document a line.
 * TR_MEMORY, TR_SYSTEM, and what the history's reader says.
 */
TR_MUST_USE int tr_service_log_new(const struct tr_invocation *invocation, struct tr_live *live,
                                   struct tr_service_log **log);
void tr_service_log_free(struct tr_service_log *log);

/* Tells what is new, if it is time. What cannot be read now is told later. */
void tr_service_log_step(struct tr_service_log *log);

/* Tells what is new, for the last time: before the engine leaves. */
void tr_service_log_last(struct tr_service_log *log);

/* How long until the next step has something to do; UINT32_MAX: when something was written. */
uint32_t tr_service_log_timeout_ms(const struct tr_service_log *log);

/* Says something of the engine itself; a warning is told with -q, too. */
void tr_service_log_note(struct tr_service_log *log, bool is_warning, const char *text);

#endif
