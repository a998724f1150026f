/*
 * History held against the model.
 */
#ifndef TR_TESTS_SIM_ENGINE_CHECK_H
#define TR_TESTS_SIM_ENGINE_CHECK_H

struct sim_host;

/* When all is over: every execution of a host, every node and element of it. */
void sim_engine_check_end(struct sim_host *host);

#endif
