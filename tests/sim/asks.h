/*
 * How often the same was asked. The engine asks again after a crash, a few times; whoever answers
 * the first time late and then at once lets it come to an end all the same.
 */
#ifndef TR_TESTS_SIM_ASKS_H
#define TR_TESTS_SIM_ASKS_H

#include "schemas/runtime/envelope.h"

struct sim_asks;
struct sim_host;

struct sim_asks *sim_asks_new(void);
void sim_asks_free(struct sim_asks *asks);

/* Counts a question; how often this asker has put it before. */
uint32_t sim_asks_count(struct sim_asks *asks, const struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body);

/* When to answer: late the first time, at once the others. Notes where too many came in a row. */
uint64_t sim_asks_delay_ns(struct sim_host *host, const struct tr_envelope *envelope,
                           struct tr_bytes body, uint64_t most_ns);

#endif
