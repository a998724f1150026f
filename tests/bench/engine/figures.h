/*
 * The figures of bench_engine that have files of their own.
 */
#ifndef TR_TESTS_BENCH_ENGINE_FIGURES_H
#define TR_TESTS_BENCH_ENGINE_FIGURES_H

#include "tests/bench/support/bench.h"

/* flow.c */
enum bench_flow { BENCH_CHAIN, BENCH_OUTSIDE, BENCH_CHAINS, BENCH_SMALL, BENCH_SEVEN };
void bench_flow_measure(const struct bench_run *run);

/* program.c */
enum bench_program { BENCH_START, BENCH_PROCESSES };
void bench_program_measure(const struct bench_run *run);

#endif
