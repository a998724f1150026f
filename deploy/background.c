/*
 * Starting an engine that outlives its starter.
 */
#include "deploy/background.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "schemas/error.h"

#define JOBS_MAX 10000

extern char **environ;

static int prepare_files(posix_spawn_file_actions_t *files, const char *store)
{
    char log[PATH_MAX];
    int size = snprintf(log, sizeof log, "%s/engine.log", store);
    bool is_good =
        size > 0 && (size_t)size < sizeof log &&
        posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(files, STDERR_FILENO, log,
                                         O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600) == 0;
    return is_good ? 0 : TR_SYSTEM;
}

static int prepare_process(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    bool is_good =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                 POSIX_SPAWN_SETSIGDEF) == 0 &&
        posix_spawnattr_setsigmask(attributes, &none) == 0 &&
        posix_spawnattr_setsigdefault(attributes, &all) == 0;
    return is_good ? 0 : TR_SYSTEM;
}

int tr_background_resume(const char *store)
{
    char option[PATH_MAX + 16];
    char *argv[] = {(char[]){"troupe"}, (char[]){"resume"}, option, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    snprintf(option, sizeof option, "--store=%s", store);
    if (posix_spawn_file_actions_init(&files) != 0) {
        return TR_SYSTEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return TR_SYSTEM;
    }
    int error = prepare_files(&files, store);
    if (error == 0) {
        error = prepare_process(&attributes);
    }
    if (error == 0 &&
        posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, environ) != 0) {
        error = TR_SYSTEM;
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool tr_jobs_read(const char *word, uint32_t *jobs)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != '\0' || number < 1 || number > JOBS_MAX) {
        return false;
    }
    *jobs = (uint32_t)number;
    return true;
}
