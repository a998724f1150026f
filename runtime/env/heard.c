/*
 * One posix_spawn, with what is the same for all programs that are only heard.
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
    if (heard->is_alone) {
        posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
        posix_spawnattr_setpgroup(attributes, 0);
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes, flags);
    char **environment = heard->environment != NULL ? heard->environment : environ;
    return heard->program != NULL
               ? posix_spawn(pid, heard->program, files, attributes, heard->words, environment)
               : posix_spawnp(pid, heard->words[0], files, attributes, heard->words, environment);
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
