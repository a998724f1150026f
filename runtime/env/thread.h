/*
 * Threads beside the program's own.
 */
#ifndef TR_RUNTIME_ENV_THREAD_H
#define TR_RUNTIME_ENV_THREAD_H

#include <pthread.h>

#include "schemas/codec/base.h"

/*
 * Starts a thread with all signals blocked: the program's other threads handle them. `name` is what
 * debuggers and `ps` show, 15 bytes at most. TR_SYSTEM (errno).
 */
TR_MUST_USE int tri_thread_start(const char *name, void *(*run)(void *), void *argument,
                                 pthread_t *thread);

#endif
