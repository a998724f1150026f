/*
 * Reads /proc: the identity of processes, the children of this one, and the keys they were started
 * for. One thread.
 */
#ifndef TR_RUNTIME_PROCESS_PROC_H
#define TR_RUNTIME_PROCESS_PROC_H

#include "schemas/codec/base.h"

/* The fields of /proc/PID/stat that distinguish a process from a later one with the same pid. */
struct tri_proc_stat {
    uint32_t parent;
    uint64_t start_time; /* ticks since boot */
};

/* TR_NOT_FOUND: no such process (a zombie counts as one). TR_SYSTEM: it cannot be read. */
TR_MUST_USE int tri_proc_stat(uint32_t pid, struct tri_proc_stat *stat);

/* Called for each visited process. */
typedef void tri_proc_visit(void *self, uint32_t pid);

/* Visits all visible processes. TR_SYSTEM. */
TR_MUST_USE int tri_proc_each(tri_proc_visit *visit, void *self);

/*
 * Visits the children of this process, which must have one thread. Uses the kernel's list if it is
 * built in, and otherwise walks all processes. TR_SYSTEM.
 */
TR_MUST_USE int tri_proc_each_child(tri_proc_visit *visit, void *self);

/*
 * The value of a variable in a process's initial environment, as a view of `buffer`. TR_NOT_FOUND:
 * no such process or variable, or no permission to read it.
 */
TR_MUST_USE int tri_proc_variable(uint32_t pid, const char *name, char *buffer, size_t size,
                                  struct tr_text *value);

#endif
