/*
 * What benchmarks of the engine share: the run in hand, the clock, the line of a figure, folders,
 * and a host with the engine's actors in it.
 */
#ifndef TR_TESTS_BENCH_SUPPORT_BENCH_H
#define TR_TESTS_BENCH_SUPPORT_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/engine.h"
#include "runtime/troupe.h"

#define BENCH_FOLDER_BYTES 64

/* A figure that is being measured; `kind` chooses among those of one function. */
struct bench_run {
    const char *figure;
    int kind;
    uint64_t size; /* of this call: the largest thing that is measured */
    uint64_t n;    /* of this figure: what its line says */
    uint32_t workers;
    enum tr_durability durability;
    uint64_t milliseconds;
};

/* Ends the program with words when `error` is none of 0. */
void bench_must(int error, const char *what);

double bench_now_ns(void);

/* A line of a /proc/PID/status, in bytes. */
uint64_t bench_status_bytes(const char *path, const char *label);

/* The median; the values are sorted. */
double bench_median(double *values, size_t count);

/* Prints a line of `figure`, for size run->n. */
void bench_print(const struct bench_run *run, const char *figure, double value, const char *unit);

/* Makes a folder of its own, and removes it with all that is in it. */
void bench_folder_make(char folder[BENCH_FOLDER_BYTES]);
void bench_folder_remove(const char *folder);

/* The bytes of all files of a folder, as the disk counts them. */
uint64_t bench_folder_bytes(const char *folder);

/* Where `troupe` is, the one that the same build has made. */
const char *bench_troupe(void);

/* Compiles a definition; the graph is the caller's. */
struct tr_graph *bench_compile(const char *definition);

/* The same, and registers it, and the registry keeps it. */
const struct tr_graph *bench_graph(struct tr_engine *engine, const char *definition,
                                   uint64_t *number);

/* A host with these behaviours and the history's records, not started. */
struct tr_host *bench_host(const struct bench_run *run, struct tr_engine *engine,
                           const char *folder, const struct tr_behaviour *const *behaviours,
                           size_t behaviour_count);

/* Whether stores are made on a PostgreSQL server now, which is for what makes a host alone. */
bool bench_is_on_server(void);

/* How many changes of phase of executions, nodes, attempts and elements the store's history has. */
uint64_t bench_count_phases(const char *folder);

/* A row of a program's table: what is measured; its n is the size divided by `divisor`. */
struct bench_figure {
    const char *name;
    void (*measure)(const struct bench_run *run);
    int kind;
    uint32_t divisor;
    enum tr_durability durability;
};

/*
 * The main function of such a program: reads --size, --milliseconds and --only FIGURE, and measures
 * one figure after the other. With --store postgres each durable one is measured a second time, on
 * a PostgreSQL that syncs and is started for it; its name begins with postgres_ then. An exit
 * status.
 */
int bench_main(int argc, char **argv, const struct bench_figure *figures, size_t figure_count);

#endif
