/*
 * Spawns a program whose stdout is captured through a pipe: its stdin is empty and its stderr is
 * discarded, since it may outlive this process or print secrets. No signal is blocked or ignored.
 */
#ifndef TR_RUNTIME_ENV_CAPTURE_H
#define TR_RUNTIME_ENV_CAPTURE_H

#include <stdbool.h>
#include <sys/types.h>

struct tri_capture {
    const char *program; /* its file; NULL: argv[0], searched in PATH */
    char *const *argv;   /* NULL-terminated */
    int output;          /* the write end of the pipe, which becomes its stdout */
    char **environment;  /* NULL-terminated; NULL: ours */
    bool has_own_group;  /* in a process group of its own, inheriting no other descriptors */
};

/* Spawns it; any thread. Returns 0, or an errno. */
int tri_capture_spawn(const struct tri_capture *capture, pid_t *pid);

#endif
