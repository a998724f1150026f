/*
 * Spawns a process.
 *
 * clone(CLONE_VM | CLONE_VFORK) makes a child that runs in our memory on a stack of its own while
 * the parent is suspended, until the child execs or exits. So nothing is copied, however large the
 * parent is, and the child reports a failure by writing it to `struct launch`. Its descriptors,
 * signal mask, working folder, umask and limits are its own from the beginning.
 *
 * The child may call nothing that keeps state in memory beyond errno: no malloc, no stdio, no
 * locks. What it changes there stays changed in the parent. Its code is not instrumented by
 * sanitizers, which take that stack for ours, and calls no string functions, which they replace.
 */
#include "runtime/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/child_limit.h"
#include "runtime/process/spawn_plan.h"

#if defined(__SANITIZE_THREAD__)
/*
 * TSan's own clone takes the child for a fork of a process with threads, of which it checks nothing
 * any more; in our memory that is said of the parent, too. It does not replace glibc's other name.
 */
int __clone(int (*child)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif

#define STACK_BYTES (64U << 10)
#define GUARD_BYTES 4096U

#define CHILD_CODE static __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

/* The steps of a start, which a failure names. */
enum step { STEP_DONE, STEP_SESSION, STEP_GROUP, STEP_FOLDER, STEP_FILE, STEP_LIMIT, STEP_PROGRAM };

static const char *const step_words[] = {
    [STEP_SESSION] = "cannot begin a session",   [STEP_GROUP] = "cannot enter",
    [STEP_FOLDER] = "cannot work in the folder", [STEP_FILE] = "cannot open",
    [STEP_LIMIT] = "cannot set the limit",       [STEP_PROGRAM] = "cannot run",
};

/* Shared by parent and child until the exec. */
struct launch {
    const struct tri_process_plan *plan;
    const struct rlimit *open_files; /* unless the plan sets it; NULL: ours */
    int null_fd;
    int group;      /* cgroup.procs of the one to enter, or TRI_SPAWN_NO_GROUP */
    enum step step; /* the failed step; STEP_DONE: none */
    int number;     /* its errno */
    const char *what;
    char path[TR_PATH_BYTES_MAX];
};

/* ---- The child. ----------------------------------------------------------------------------- */

CHILD_CODE bool fail(struct launch *launch, enum step step, const char *what)
{
    launch->number = errno;
    launch->what = what;
    launch->step = step;
    return false;
}

/*
 * Plain system calls: what TSan puts in their place keeps books of descriptors, in which it would
 * take those of the child for ours of the same numbers.
 */
CHILD_CODE int open_plainly(const char *name, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, name, flags, 0666);
}

/* As dup2, but that the result always stays open at exec. */
CHILD_CODE bool put(int fd, int target)
{
    return fd == target ? fcntl(fd, F_SETFD, 0) == 0 : syscall(SYS_dup3, fd, target, 0) >= 0;
}

/*
 * Opens one of the three standard files. One file for both outputs is opened once, so that both
 * share one offset and do not overwrite each other.
 */
CHILD_CODE bool open_file(struct launch *launch, int target)
{
    const char *name = launch->plan->files[target];
    if (target == STDERR_FILENO && launch->plan->is_one_output) {
        return put(STDOUT_FILENO, target) || fail(launch, STEP_FILE, name);
    }
    if (name == NULL) {
        return put(launch->null_fd, target) || fail(launch, STEP_FILE, "/dev/null");
    }
    int flags = target == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    /* Without O_NONBLOCK a pipe without another end would stop the keeper. */
    int fd = open_plainly(name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0 || !put(fd, target)) {
        return fail(launch, STEP_FILE, name);
    }
    return true;
}

CHILD_CODE bool set_limits(struct launch *launch)
{
    const struct tri_process_plan *plan = launch->plan;
    if (launch->open_files != NULL && setrlimit(RLIMIT_NOFILE, launch->open_files) != 0) {
        return fail(launch, STEP_LIMIT, "open_files");
    }
    for (size_t i = 0; i < plan->limit_count; i++) {
        if (setrlimit((__rlimit_resource_t)plan->limits[i].resource, &plan->limits[i].value) != 0) {
            return fail(launch, STEP_LIMIT, plan->limits[i].name);
        }
    }
    return true;
}

/* Joins folder and name; false if there is no room. */
CHILD_CODE bool join(struct launch *launch, const char *folder, size_t size, const char *name)
{
    size_t at = 0;
    for (size_t i = 0; i < size && at < sizeof launch->path; i++) {
        launch->path[at++] = folder[i];
    }
    if (size > 0 && at < sizeof launch->path) {
        launch->path[at++] = '/';
    }
    while (at < sizeof launch->path) {
        launch->path[at] = *name;
        if (*name == '\0') {
            return true;
        }
        at++;
        name++;
    }
    return false;
}

/*
 * Whether the search goes on after this errno of an exec, as in glibc's execvp. Any other is final,
 * also ENOEXEC: a file without an interpreter line is not given to a shell.
 */
CHILD_CODE bool is_elsewhere(int number)
{
    return number == ENOENT || number == ENOTDIR || number == EACCES || number == ESTALE ||
           number == ENODEV || number == ETIMEDOUT;
}

/*
 * Runs the program from the first folder of PATH that has it; returns only on failure. The PATH is
 * that of the process's environment and not of the keeper. EACCES wins over ENOENT, as in execvp.
 */
CHILD_CODE void search_program(struct launch *launch)
{
    const struct tri_process_plan *plan = launch->plan;
    const char *folder = plan->search;
    bool is_denied = false;
    errno = ENOENT;
    for (;;) {
        size_t size = 0;
        while (folder[size] != '\0' && folder[size] != ':') {
            size++;
        }
        if (join(launch, folder, size, plan->argv[0])) {
            execve(launch->path, plan->argv, plan->environment);
            is_denied = is_denied || errno == EACCES;
            if (!is_elsewhere(errno)) {
                return;
            }
        }
        if (folder[size] == '\0') {
            errno = is_denied ? EACCES : ENOENT;
            return;
        }
        folder += size + 1;
    }
}

CHILD_CODE bool has_slash(const char *name)
{
    while (*name != '\0' && *name != '/') {
        name++;
    }
    return *name == '/';
}

/*
 * Signals are unblocked last: none may be handled while our memory is shared. There are no handlers
 * to reset: the keeper has all signals at their defaults.
 */
CHILD_CODE bool run_program(struct launch *launch)
{
    const struct tri_process_plan *plan = launch->plan;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (has_slash(plan->argv[0])) {
        execve(plan->argv[0], plan->argv, plan->environment);
    } else {
        search_program(launch);
    }
    return fail(launch, STEP_PROGRAM, plan->argv[0]);
}

/* "0" stands for the process that writes. */
CHILD_CODE bool enter_group(struct launch *launch)
{
    return launch->group == TRI_SPAWN_NO_GROUP || write(launch->group, "0", 1) == 1 ||
           fail(launch, STEP_GROUP, "its control group");
}

/*
 * A session first, so that the child leads a process group that can be killed as a whole, and has
 * no controlling terminal. The umask comes before files are made, and limits come last, because a
 * low limit of open files could keep files from being opened.
 */
CHILD_CODE int child_main(void *argument)
{
    struct launch *launch = argument;
    const struct tri_process_plan *plan = launch->plan;
    bool is_ready = setsid() >= 0 || fail(launch, STEP_SESSION, "");
    is_ready = is_ready && enter_group(launch);
    is_ready = is_ready && (chdir(plan->folder) == 0 || fail(launch, STEP_FOLDER, plan->folder));
    umask(plan->umask);
    is_ready = is_ready && open_file(launch, STDIN_FILENO) && open_file(launch, STDOUT_FILENO) &&
               open_file(launch, STDERR_FILENO) && set_limits(launch);
    /* Our own descriptors are close-on-exec; this is for those opened by libraries. */
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (is_ready) {
        (void)run_program(launch);
    }
    _exit(127);
}

/* ---- The parent. ---------------------------------------------------------------------------- */

int tri_process_spawner_init(struct tri_process_spawner *spawner)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0) {
        return TR_SYSTEM;
    }
    uint8_t *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) != 0) {
        close(null_fd);
        return TR_MEMORY;
    }
    *spawner = (struct tri_process_spawner){.stack = stack, .null_fd = null_fd};
    return 0;
}

void tri_process_spawner_fini(struct tri_process_spawner *spawner)
{
    munmap(spawner->stack, GUARD_BYTES + STACK_BYTES);
    close(spawner->null_fd);
}

/* Reaps the failed child, and puts its reason into words. */
static int explain(const struct launch *launch, pid_t pid,
                   struct tri_process_spawn_failure *failure)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        continue;
    }
    failure->number = launch->number;
    snprintf(failure->reason, sizeof failure->reason, "%s %.300s: %s", step_words[launch->step],
             launch->what, strerror(launch->number));
    return TR_FAILED;
}

int tri_process_spawn(struct tri_process_spawner *spawner, const struct tri_process_plan *plan,
                      int group, struct tri_process_spawn_failure *failure, uint32_t *pid)
{
    struct launch launch = {.plan = plan,
                            .open_files = tri_child_open_files(),
                            .null_fd = spawner->null_fd,
                            .group = group};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    /* A signal delivered to the child would run a handler of ours, in our memory. */
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = clone(child_main, spawner->stack + GUARD_BYTES + STACK_BYTES,
                        CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
    int number = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0) {
        launch.step = STEP_PROGRAM;
        launch.number = number;
        launch.what = plan->argv[0];
    }
    /* The compiler cannot see that the child wrote there. */
    enum step step = *(volatile enum step *)&launch.step;
    if (step != STEP_DONE) {
        return explain(&launch, child, failure);
    }
    *pid = (uint32_t)child;
    return 0;
}
