/*
 * What every example does with an error that leaves it nothing else to do.
 */
#ifndef TR_EXAMPLES_ACTORS_EXAMPLE_H
#define TR_EXAMPLES_ACTORS_EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "runtime/troupe.h"

/* Ends the program when something had to work and did not. */
static inline void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, tr_error_text(error));
        exit(EXIT_FAILURE);
    }
}

/* A host that keeps nothing on disk, with its threads running. */
static inline struct tr_host *must_start(const struct tr_behaviour *const *behaviours, size_t count,
                                         uint32_t workers)
{
    struct tr_host_options options = {
        .worker_count = workers,
        .durability = TR_DURABILITY_NONE,
        .behaviours = behaviours,
        .behaviour_count = count,
    };
    struct tr_host *host;
    must(tr_host_new(&options, NULL, &host), "making the host");
    must(tr_host_start(host), "starting the host");
    return host;
}

#endif
