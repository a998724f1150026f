/*
 * A server that is told of executions: it knows each notification by its key, refuses some, and
 * says what is wrong with what comes: told before it was committed, told again though it was known
 * to be delivered, or never told.
 */
#ifndef TR_TESTS_SIM_TOLD_H
#define TR_TESTS_SIM_TOLD_H

#include "tests/sim/engine.h"

struct sim_told;

struct sim_told *sim_told_new(void);
void sim_told_free(struct sim_told *told);

/* What flow_random_write puts behind its main workflow. */
#define SIM_TOLD_NOTIFY                                       \
    "    notify:\n"                                           \
    "      - on: [succeeded, failed, aborted, timed_out]\n"   \
    "        retries: 10000\n"                                \
    "        backoff: {first: 10ms, factor: 2, max: 100ms}\n" \
    "        http: {url: \"http://told/{{.executionName}}\", headers: {X-Phase: \"{{.phase}}\"}}\n"

/* Whether the message is a notification's, and was answered. */
bool sim_told_hear(struct sim_told *told, struct sim_host *host, const struct tr_envelope *envelope,
                   struct tr_bytes body);

/* A row of a notification is committed. */
void sim_told_record(struct sim_told *told, const struct sim_host *host, const struct tri_op *op);

/* When all is over: of each execution somebody was told once, and all rows say so. */
void sim_told_check_end(const struct sim_told *told, const struct sim_host *host);

#endif
