/*
 * One posix_spawn, with the settings common to all captured programs.
 *
 * posix_spawn does not copy the memory of a large parent. Signals are set to their defaults in the
 * child, which would otherwise inherit the mask and ignored signals of the calling thread.
 */
#include "runtime/env/capture.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

static int spawn_with(const struct tri_capture *capture, posix_spawn_file_actions_t *files,
                      posix_spawnattr_t *attributes, pid_t *pid)
{
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(files, capture->output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    /*
     * The actions run in order: `output` becomes stdout before all descriptors above stderr are
     * closed. With a group of its own the caller can kill the program with its children.
     */
    if (capture->has_own_group) {
        posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
        posix_spawnattr_setpgroup(attributes, 0);
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes, flags);
    /* Without a program's file argv[0] is searched in the PATH of this process. */
    char **environment = capture->environment != NULL ? capture->environment : environ;
    return capture->program != NULL
               ? posix_spawn(pid, capture->program, files, attributes, capture->argv, environment)
               : posix_spawnp(pid, capture->argv[0], files, attributes, capture->argv, environment);
}

int tri_capture_spawn(const struct tri_capture *capture, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int number = posix_spawn_file_actions_init(&files);
    if (number != 0) {
        return number;
    }
    number = posix_spawnattr_init(&attributes);
    if (number == 0) {
        number = spawn_with(capture, &files, &attributes, pid);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return number;
}
