/*
 * Runs a command that prints a secret: starts it, reads its output until it ends or times out,
 * kills its group, and checks its status.
 *
 * Two descriptors are polled: a pidfd that is readable when the command has ended, and the pipe.
 * The end of the command counts and not the end of the pipe, because a daemon of it may hold the
 * pipe open for ever. All output of the command itself is in the pipe by then.
 *
 * Its cost is bounded: TR_SECRET_COMMAND_MS of time, TR_SECRET_BYTES_MAX of memory, and its process
 * group is killed in any case.
 */
#include "runtime/secret/secret_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/capture.h"
#include "runtime/env/child_limit.h"
#include "runtime/env/clock.h"
#include "runtime/memory.h"
#include "runtime/secret/secret_limits.h"
#include "schemas/codec/error.h"

#define READ_BYTES 4096

/* A running command. */
struct command {
    pid_t pid;
    int ended_fd; /* readable when it has ended */
    int line_fd;  /* its output; -1 after its end */
    size_t size;  /* of its output */
    struct tri_buffer *value;
};

static int say(char *words, int error, const char *text)
{
    snprintf(words, TRI_SECRET_WORDS_BYTES, "%s", text);
    return error;
}

/* ---- Starting. ------------------------------------------------------------------------------ */

/* A copy of argv with one more argument, or none, in one block; NULL without memory. */
static char **argv_with(const char *const *argv, const char *argument)
{
    size_t count = 0;
    size_t size = argument == NULL ? 0 : strlen(argument) + 1;
    for (; argv[count] != NULL; count++) {
        size += strlen(argv[count]) + 1;
    }
    size_t words = count + (argument == NULL ? 0 : 1);
    char **copy = tr_alloc((count + 2) * sizeof *copy + size);
    char *at = copy == NULL ? NULL : (char *)(copy + count + 2);
    for (size_t i = 0; copy != NULL && i < words; i++) {
        const char *from = i < count ? argv[i] : argument;
        size_t length = strlen(from) + 1;
        memcpy(at, from, length);
        copy[i] = at;
        copy[i + 1] = NULL;
        at += length;
    }
    return copy;
}

/* Our environment, and what is added to it, whose names go before ours. NULL without memory. */
static char **environment_with(const char *const *added)
{
    size_t count = 0;
    size_t more = 0;
    while (environ[count] != NULL) {
        count++;
    }
    while (added != NULL && added[more] != NULL) {
        more++;
    }
    char **all = tr_alloc((count + more + 1) * sizeof *all);
    for (size_t i = 0; all != NULL && i < more; i++) {
        all[i] = (char *)(uintptr_t)added[i];
    }
    if (all != NULL) {
        memcpy(all + more, environ, (count + 1) * sizeof *all);
    }
    return all;
}

/* After TR_SYSTEM a process may exist (`pid`), which the caller ends. */
static int start(struct command *command, const char *const *argv, const char *argument,
                 char **environment)
{
    int ends[2];
    char **copy = argv_with(argv, argument);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        tr_free(copy);
        return TR_SYSTEM;
    }
    struct tri_capture capture = {
        .argv = copy, .output = ends[1], .environment = environment, .has_own_group = true};
    int number = fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0
                     ? errno
                     : tri_capture_spawn(&capture, &command->pid);
    close(ends[1]);
    tr_free(copy);
    if (number != 0) {
        close(ends[0]);
        errno = number;
        return TR_SYSTEM;
    }
    /*
     * Sets the limit after the start: the program may read the old one for some microseconds, which
     * does no harm.
     */
    if (tri_child_open_files() != NULL) {
        (void)prlimit(command->pid, RLIMIT_NOFILE, tri_child_open_files(), NULL);
    }
    command->line_fd = ends[0];
    command->ended_fd = (int)syscall(SYS_pidfd_open, command->pid, 0);
    return command->ended_fd < 0 ? TR_SYSTEM : 0;
}

/* ---- Listening. ----------------------------------------------------------------------------- */

/* Reads available output; at the end of the pipe line_fd becomes -1, which poll ignores. */
static int take_output(struct command *command)
{
    while (command->line_fd >= 0) {
        int error = tri_buffer_reserve(command->value, READ_BYTES);
        if (error != 0) {
            return error;
        }
        ssize_t size =
            read(command->line_fd, command->value->data + command->value->end, READ_BYTES);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0 && errno == EAGAIN) {
            return 0;
        }
        if (size <= 0) {
            close(command->line_fd);
            command->line_fd = -1;
            return size == 0 ? 0 : TR_SYSTEM;
        }
        command->value->end += (size_t)size;
        command->size += (size_t)size;
        if (command->size > TR_SECRET_BYTES_MAX) {
            return TR_LIMIT;
        }
    }
    return 0;
}

/* Reads output until the command has ended. Output of its daemons is not waited for. */
static int listen_to(struct command *command)
{
    uint64_t deadline_ms = tri_monotonic_ms() + TR_SECRET_COMMAND_MS;
    for (;;) {
        uint64_t now_ms = tri_monotonic_ms();
        struct pollfd ready[] = {{.fd = command->ended_fd, .events = POLLIN},
                                 {.fd = command->line_fd, .events = POLLIN}};
        if (now_ms >= deadline_ms) {
            return TR_TIMEOUT;
        }
        int count = poll(ready, TR_COUNT_OF(ready), (int)(deadline_ms - now_ms));
        if (count < 0 && errno != EINTR) {
            return TR_SYSTEM;
        }
        int error = count > 0 ? take_output(command) : 0;
        if (error != 0 || (count > 0 && ready[0].revents != 0)) {
            return error;
        }
    }
}

/* ---- Ending. -------------------------------------------------------------------------------- */

/*
 * Kills the rest of its group, reaps it and returns its status. Until it is reaped its pid, which
 * is the group's number, cannot be reused.
 */
static int end(struct command *command)
{
    int status = 0;
    kill(-command->pid, SIGKILL);
    while (waitpid(command->pid, &status, 0) < 0 && errno == EINTR) {
        continue;
    }
    if (command->ended_fd >= 0) {
        close(command->ended_fd);
    }
    if (command->line_fd >= 0) {
        close(command->line_fd);
    }
    return status;
}

static int judge(int status, char *words)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 0;
    }
    snprintf(words, TRI_SECRET_WORDS_BYTES, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return TR_NOT_FOUND;
}

static int run(const char *const *argv, const char *word, char **environment,
               struct tri_buffer *value, char *words)
{
    struct command command = {.ended_fd = -1, .line_fd = -1, .value = value};
    int error = start(&command, argv, word, environment);
    if (error == 0) {
        error = listen_to(&command);
    }
    int number = errno;
    int status = command.pid > 0 ? end(&command) : 0;
    switch (error) {
    case 0:
        return judge(status, words);
    case TR_SYSTEM:
        return say(words, error, strerror(number));
    case TR_TIMEOUT:
        snprintf(words, TRI_SECRET_WORDS_BYTES, "it did not end within %d seconds",
                 TR_SECRET_COMMAND_MS / 1000);
        return error;
    case TR_LIMIT:
        snprintf(words, TRI_SECRET_WORDS_BYTES, "it printed more than %d bytes",
                 TR_SECRET_BYTES_MAX);
        return error;
    default:
        return say(words, error, tr_error_text(error));
    }
}

int tri_secret_command(const char *const *argv, const char *word, struct tri_buffer *value,
                       char *words)
{
    return run(argv, word, NULL, value, words);
}

int tri_secret_command_in(const char *const *argv, const char *const *environment,
                          struct tri_buffer *value, char *words)
{
    char **all = environment_with(environment);
    int error = all != NULL ? run(argv, NULL, all, value, words)
                            : say(words, TR_MEMORY, tr_error_text(TR_MEMORY));
    tr_free(all);
    return error;
}
