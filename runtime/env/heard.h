/*
 * Starting a program of which only its stdout is heard: its stdin is empty and its stderr goes
 * nowhere, since it may outlive us or complain of what it knows. No signal is blocked or ignored.
 */
#ifndef TR_RUNTIME_ENV_HEARD_H
#define TR_RUNTIME_ENV_HEARD_H

#include <stdbool.h>
#include <sys/types.h>

struct tri_heard {
    const char *program; /* its file; NULL: argv[0], looked for in PATH */
    char *const *argv;   /* ended by NULL */
    int line;            /* becomes its stdout */
    char **environment;  /* ended by NULL; NULL: ours */
    bool is_alone;       /* in a process group of its own, with no other descriptors of ours */
};

/* Starts it, from any thread. 0, or the number of an errno. */
int tri_heard_spawn(const struct tri_heard *heard, pid_t *pid);

#endif
