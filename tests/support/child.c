/*
 * Children: a fork and an exec of the same program, with stderr in a file that is read at the end.
 */
#include "tests/support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_SECONDS 60

bool child_is_wanted(int argc, char **argv)
{
    return argc == 4 && strcmp(argv[1], "--child") == 0;
}

/* Adds to the options of a sanitizer: a child may crash, and its own handlers are what counts. */
static void quieten(const char *name)
{
    char options[1024];
    const char *before = getenv(name);
    snprintf(options, sizeof options, "%s:handle_segv=0:handle_sigbus=0:handle_abort=0",
             before == NULL ? "" : before);
    setenv(name, options, 1);
}

/* In the child: no core files, an end whatever happens, and stderr to where the parent reads. */
static _Noreturn void become(const char *role, const char *argument, int words)
{
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    quieten("ASAN_OPTIONS");
    quieten("TSAN_OPTIONS");
    alarm(PATIENCE_SECONDS);
    dup2(words, STDERR_FILENO);
    execl("/proc/self/exe", "child", "--child", role, argument, (char *)NULL);
    _exit(127);
}

/* The last of what the child has written. */
static void read_words(int words, struct child *child)
{
    off_t size = lseek(words, 0, SEEK_END);
    off_t wanted = (off_t)sizeof child->text - 1;
    ssize_t got = pread(words, child->text, (size_t)wanted, size > wanted ? size - wanted : 0);
    child->text[got < 0 ? 0 : got] = '\0';
}

void child_run(const char *role, const char *argument, struct child *child)
{
    char path[] = "/tmp/troupe-child-XXXXXX";
    int words = mkostemp(path, O_CLOEXEC);
    if (words < 0) {
        perror("child: mkostemp");
        abort();
    }
    unlink(path);
    child->pid = fork();
    if (child->pid == 0) {
        become(role, argument, words);
    }
    if (child->pid < 0 || waitpid(child->pid, &child->status, 0) != child->pid) {
        perror("child");
        abort();
    }
    read_words(words, child);
    close(words);
}

bool child_is_well(const struct child *child)
{
    return WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}
