/*
 * What pods print, asked of the API server of their cluster while they are there. A pod is named by
 * a link among an attempt's logs, "kubernetes:ENDPOINT/NAMESPACE/POD" (plugins/kubernetes/).
 *
 *     tr_pod_logs_open(&settings, &files, is_follow, &logs);
 *     tr_pod_logs_take(logs, attempt);        for each attempt, as often as one likes
 *     while (tr_pod_logs_print(logs)) {       until nothing more is to come
 *         tr_pod_logs_rest(logs, 200);
 *     }
 *
 * One thread of its own receives what comes; all functions are for the one that has opened it.
 */
#ifndef TR_DEPLOY_POD_LOGS_POD_LOGS_H
#define TR_DEPLOY_POD_LOGS_POD_LOGS_H

#include "deploy/history/log_files.h"
#include "deploy/settings/settings.h"

struct tr_pod_logs;

/* Whether an attempt names a pod. */
bool tr_pod_logs_has(const struct tr_log_attempt *attempt);

/*
 * `files` gets what is printed, and says how many lines of each container's log (tail); both
 * outlive it. TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tr_pod_logs_open(const struct tr_settings_file *settings,
                                 struct tr_log_files *files, bool is_follow,
                                 struct tr_pod_logs **logs);
void tr_pod_logs_close(struct tr_pod_logs *logs);

/* An attempt that may name a pod; one that is known, or names none, is passed over. TR_MEMORY. */
TR_MUST_USE int tr_pod_logs_take(struct tr_pod_logs *logs, const struct tr_log_attempt *attempt);

/* Prints what has come, and asks for what is next. False: nothing more is to come. */
bool tr_pod_logs_print(struct tr_pod_logs *logs);

/* Waits until something has come, so long at most. */
void tr_pod_logs_rest(struct tr_pod_logs *logs, uint32_t timeout_ms);

/* What is to be said of pods whose log could not be had: one by one; NULL: no more. */
const char *tr_pod_logs_problem(struct tr_pod_logs *logs, uint32_t index);

#endif
