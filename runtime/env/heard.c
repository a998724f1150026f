/*
 * One posix_spawn, with what is the same for all programs of which only stdout is heard.
 *
 * posix_spawn does not copy the memory of a large parent. It sets signals to their defaults in the
 * child: the mask and ignored signals of the thread that calls would otherwise be inherited.
 */
#include "runtime/env/heard.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

static int spawn_with(const struct tri_heard *heard, posix_spawn_file_actions_t *files,
                      posix_spawnattr_t *attributes, pid_t *pid)
{
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(files, heard->line, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    /*
     * The steps run in the order in which they are added: `line` has become stdout before all above
     * stderr is closed. A group of its own lets the caller kill the program with its children.
     */
    if (heard->is_alone) {
        posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
        posix_spawnattr_setpgroup(attributes, 0);
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes, flags);
    /* Without a program's file argv[0] is looked for in the PATH of this process. */
    char **environment = heard->environment != NULL ? heard->environment : environ;
    return heard->program != NULL
               ? posix_spawn(pid, heard->program, files, attributes, heard->argv, environment)
               : posix_spawnp(pid, heard->argv[0], files, attributes, heard->argv, environment);
}

int tri_heard_spawn(const struct tri_heard *heard, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int number = posix_spawn_file_actions_init(&files);
    if (number != 0) {
        return number;
    }
    number = posix_spawnattr_init(&attributes);
    if (number == 0) {
        number = spawn_with(heard, &files, &attributes, pid);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return number;
}
