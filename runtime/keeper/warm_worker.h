/*
 * The program of warm workers, warm_worker.py, as the build puts it into this one.
 */
#ifndef TR_RUNTIME_KEEPER_WARM_WORKER_H
#define TR_RUNTIME_KEEPER_WARM_WORKER_H

#include <stddef.h>

extern const char tri_warm_worker_program[];
extern const size_t tri_warm_worker_program_size;

#endif
