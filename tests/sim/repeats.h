/*
 * How often the same was asked. The engine asks again after a crash, a few times: one that is
 * answered late the first time and then at once comes to an end all the same.
 */
#ifndef TR_TESTS_SIM_REPEATS_H
#define TR_TESTS_SIM_REPEATS_H

#include "schemas/runtime/envelope.h"

struct sim_repeats;
struct sim_host;

struct sim_repeats *sim_repeats_new(void);
void sim_repeats_free(struct sim_repeats *repeats);

/* Counts a question; how often this asker has put it before. */
uint32_t sim_repeats_count(struct sim_repeats *repeats, const struct sim_host *host,
                           const struct tr_envelope *envelope, struct tr_bytes body);

/* When to answer: late the first time, at once the others. Notes where too many came in a row. */
uint64_t sim_repeats_delay_ns(struct sim_host *host, const struct tr_envelope *envelope,
                              struct tr_bytes body, uint64_t most_ns);

#endif
