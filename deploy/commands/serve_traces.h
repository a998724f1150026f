/*
 * `traces` of the settings of `troupe serve`: what tasks are told, and the thread that sends.
 */
#ifndef TR_DEPLOY_COMMANDS_SERVE_TRACES_H
#define TR_DEPLOY_COMMANDS_SERVE_TRACES_H

#include "deploy/cli/command.h"
#include "deploy/engine/assemble.h"
#include "deploy/follow/service_log.h"
#include "deploy/traces/trace_ids.h"
#include "deploy/traces/traces.h"

/*
 * Has tasks get TRACEPARENT, where the settings say that traces are sent. Before there are threads.
 * `variables` outlive the engine. What is wrong is said on stderr.
 */
enum tr_exit_status tr_serve_traces_read(const struct tr_invocation *invocation,
                                         const struct tr_settings_file *settings,
                                         const char *folder, struct tr_live_options *options,
                                         struct tr_trace_variables *variables);

/* Begins to send, if the settings of the engine say where; else `*traces` stays NULL. */
enum tr_exit_status tr_serve_traces_open(const struct tr_invocation *invocation,
                                         struct tr_trace_variables *variables, struct tr_live *live,
                                         struct tr_service_log *log, struct tr_traces **traces);

#endif
