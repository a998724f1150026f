/*
 * What the processes of tests do: end in some way, hold out against SIGTERM, leave
 * descendants behind, or tell about themselves.
 */
#include "tests/support/helper_process.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/keeper/keeper.h"

void helper_wait_ms(int wait_ms)
{
    poll(NULL, 0, wait_ms);
}

/* A long time that ends by itself, should a test fail to end it. */
static void wait_long(void)
{
    helper_wait_ms(20000);
}

static void say_pid(const char *file)
{
    FILE *out = fopen(file, "a");
    if (out != NULL) {
        fprintf(out, "%d\n", (int)getpid());
        fclose(out);
    }
}

static int do_exit(char **arguments)
{
    return atoi(arguments[0]);
}

static int do_signal(char **arguments)
{
    struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(atoi(arguments[0]), SIG_DFL);
    raise(atoi(arguments[0]));
    return 99;
}

static int do_wait(char **arguments)
{
    helper_wait_ms(atoi(arguments[0]));
    return 0;
}

/* Says its pid, and neither SIGTERM nor anything else but SIGKILL ends it. */
static int do_resist(char **arguments)
{
    signal(SIGTERM, SIG_IGN);
    say_pid(arguments[0]);
    for (int i = 0; i < 20; i++) {
        helper_wait_ms(1000);
    }
    return 0;
}

static void on_term(int number)
{
    (void)number;
    _exit(7);
}

/* Ends with status 7 on SIGTERM. */
static int do_heed(char **arguments)
{
    signal(SIGTERM, on_term);
    say_pid(arguments[0]);
    wait_long();
    return 0;
}

/* Leaves a child in its group that outlives it. */
static int do_leave(char **arguments)
{
    if (fork() == 0) {
        say_pid(arguments[0]);
        wait_long();
        _exit(0);
    }
    helper_wait_ms(atoi(arguments[1]));
    return 0;
}

/* Leaves a daemon: another session, its parents gone. With a third argument, no environment. */
static int do_daemon(char **arguments)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() == 0) {
            static char program[] = "/proc/self/exe";
            static char helper[] = "helper";
            static char resist[] = "resist";
            char *argv[] = {program, helper, resist, arguments[0], NULL};
            char *none[] = {NULL};
            execve(program, argv, arguments[2] != NULL ? none : environ);
        }
        _exit(0);
    }
    helper_wait_ms(atoi(arguments[1]));
    return 0;
}

/* A chain of descendants, each in a session of its own: all find a new parent as they end. */
static int do_chain(char **arguments)
{
    for (int depth = 0; depth < atoi(arguments[1]); depth++) {
        if (fork() != 0) {
            break;
        }
        setsid();
        say_pid(arguments[0]);
    }
    helper_wait_ms(500);
    return 0;
}

/* Tells what it inherited: descriptors, mask, session, umask, folder, one variable, one limit. */
static int do_tell(char **arguments)
{
    (void)arguments;
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(folder)) {
            printf("fd %d\n", fd);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    int blocked = 0;
    int ignored = 0;
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        blocked += sigismember(&mask, number);
        ignored += sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    mode_t mask_of_files = umask(0);
    char path[512];
    printf("blocked %d ignored %d\n", blocked, ignored);
    printf("leader %d %d\n", getpid() == getsid(0), getpid() == getpgrp());
    printf("umask %o\n", (unsigned)mask_of_files);
    printf("folder %s\n", getcwd(path, sizeof path) != NULL ? path : "?");
    printf("open_files %llu\n", (unsigned long long)files.rlim_cur);
    for (char **variable = environ; *variable != NULL; variable++) {
        printf("env %s\n", *variable);
    }
    return 0;
}

/* Writes so many MiB to stdout. */
static int do_write(char **arguments)
{
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < atoi(arguments[0]); i++) {
        if (write(STDOUT_FILENO, block, sizeof block) != (ssize_t)sizeof block) {
            return 1;
        }
    }
    return 0;
}

/* Copies stdin to stdout and says so on stderr. */
static int do_copy(char **arguments)
{
    (void)arguments;
    char block[4096];
    ssize_t size;
    while ((size = read(STDIN_FILENO, block, sizeof block)) > 0) {
        if (write(STDOUT_FILENO, block, (size_t)size) != size) {
            return 1;
        }
    }
    return write(STDERR_FILENO, "copied\n", 7) == 7 ? 0 : 1;
}

/* Uses so many milliseconds of processor time and some memory. */
static int do_work(char **arguments)
{
    enum { BYTES = 32 << 20 };
    char *memory = malloc(BYTES);
    struct rusage usage;
    do {
        for (size_t i = 0; memory != NULL && i < BYTES; i += 4096) {
            ((volatile char *)memory)[i] = 1;
        }
        getrusage(RUSAGE_SELF, &usage);
    } while (usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 < atoi(arguments[0]));
    free(memory);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **arguments);
    int least; /* arguments */
} deeds[] = {
    {"exit", do_exit, 1},     {"signal", do_signal, 1}, {"wait", do_wait, 1},
    {"resist", do_resist, 1}, {"heed", do_heed, 1},     {"leave", do_leave, 2},
    {"daemon", do_daemon, 2}, {"chain", do_chain, 2},   {"tell", do_tell, 0},
    {"write", do_write, 1},   {"copy", do_copy, 0},     {"work", do_work, 1},
};

static int run(int count, char **arguments)
{
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++) {
        if (strcmp(deeds[i].name, arguments[0]) == 0 && count > deeds[i].least) {
            return deeds[i].run(arguments + 1);
        }
    }
    return 98;
}

static int keep(int count, char **arguments)
{
    struct tri_keeper_options options = {.is_detached = true};
    for (int i = 0; i + 1 < count; i++) {
        if (strcmp(arguments[i], "idle") == 0) {
            options.idle_ms = (uint32_t)atoi(arguments[i + 1]);
        } else if (strcmp(arguments[i], "forgotten") == 0) {
            options.forgotten_bytes_max = (size_t)atoi(arguments[i + 1]);
        } else if (strcmp(arguments[i], "unsynced") == 0) {
            options.is_unsynced = true;
        }
    }
    return tri_keeper_main(arguments[count - 1], &options) == 0 ? 0 : 1;
}

int helper_main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "keeper") == 0) {
        return keep(count - 2, arguments + 2);
    }
    if (count > 2 && strcmp(arguments[1], "helper") == 0) {
        return run(count - 2, arguments + 2);
    }
    return -1;
}
