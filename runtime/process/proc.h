/*
 * What /proc tells of processes: who they are, whose children, and which key they were started for.
 * One thread.
 */
#ifndef TR_RUNTIME_PROCESS_PROC_H
#define TR_RUNTIME_PROCESS_PROC_H

#include "schemas/codec/base.h"

/* The parts of /proc/PID/stat that tell a process from a later one with the same pid. */
struct tri_proc_stat {
    uint32_t parent;
    uint64_t start_time; /* ticks since boot */
};

/* TR_NOT_FOUND: there is no such process (a zombie is one). TR_SYSTEM: it cannot be read. */
TR_MUST_USE int tri_proc_stat(uint32_t pid, struct tri_proc_stat *stat);

/* Called with each process of a kind. */
typedef void tri_proc_visit(void *self, uint32_t pid);

/* Visits all processes that can be seen. TR_SYSTEM. */
TR_MUST_USE int tri_proc_each(tri_proc_visit *visit, void *self);

/*
 * Visits the children of this process, which must have one thread. The kernel's own list is used
 * where it is built in; otherwise all processes are looked at. TR_SYSTEM.
 */
TR_MUST_USE int tri_proc_each_child(tri_proc_visit *visit, void *self);

/*
 * The value of a variable in the environment that a process was started with, as a view of
 * `buffer`. TR_NOT_FOUND: no such process or variable, or it is not ours to read.
 */
TR_MUST_USE int tri_proc_variable(uint32_t pid, const char *name, char *buffer, size_t size,
                                  struct tr_text *value);

#endif
