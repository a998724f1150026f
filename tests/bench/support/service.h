/*
 * A `troupe serve` in a process of its own, and its door: what benchmarks measure from outside.
 * What goes wrong ends the benchmark with words.
 */
#ifndef TR_TESTS_BENCH_SUPPORT_SERVICE_H
#define TR_TESTS_BENCH_SUPPORT_SERVICE_H

#include "deploy/connect/connect.h"
#include "runtime/link/endpoint.h"
#include "schemas/runtime/request.h"
#include "tests/bench/support/bench.h"

struct bench_service {
    const char *folder; /* of its store */
    pid_t pid;
    struct tri_client *door;
};

/* Starts it, and returns when it answers; it may have unfinished executions, and says how many. */
uint64_t bench_service_start(struct bench_service *service, const char *folder);

/* Kills it with SIGKILL, and waits until it is gone. */
void bench_service_kill(struct bench_service *service);

/* A line of its /proc/PID/status, in bytes; and the time its threads have run, in ns. */
uint64_t bench_service_bytes(const struct bench_service *service, const char *label);
double bench_service_cpu_ns(const struct bench_service *service);

/* The slots of no inputs; those of one input that is a list, of the numbers below `count`. */
extern const struct tr_bytes bench_no_inputs;
void bench_numbers(struct tr_buffer *inputs, uint64_t count);

/*
 * Begins an execution of the packed graph's first workflow; gives its number. With an empty name
 * the engine finds one.
 */
uint64_t bench_service_submit(struct bench_service *service, struct tr_bytes graph,
                              const char *name, struct tr_bytes inputs);

/* Asks and waits for the one answer, which is not an error. */
void bench_service_ask(struct bench_service *service, const struct tr_schema *schema,
                       const void *body, const struct tr_schema *last);

/* Asks to be told of the end of an execution; gives the number by which that is known. */
uint32_t bench_service_follow(struct bench_service *service, uint64_t execution);

/* Waits for that end. */
void bench_service_await(struct bench_service *service, uint32_t follow);

#endif
