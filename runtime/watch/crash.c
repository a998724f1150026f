/*
 * Signals belong to the process, so this is the only file of the runtime with global state: the
 * list of workers to dump, and the state of a dump. It is written with atomics, since a signal may
 * arrive at any moment on any thread.
 *
 * The first failing thread dumps; others that fail meanwhile wait for it, since their end would end
 * the dump.
 *
 * In a signal handler only async-signal-safe functions are called: open, write, close, poll,
 * sigaction, raise. No memory is allocated and no lock taken: the failed thread may hold malloc's.
 * A dump reads the memory of workers that still run, so it may show a torn event, and it does not
 * follow pointers between actors.
 */
#include "runtime/watch/crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/memory.h"

#define PATH_BYTES 4096
#define SIGNAL_STACK_BYTES (64U << 10)
#define OTHER_DUMP_WAIT_MS 10
#define OTHER_DUMP_WAITS 500

/* The workers of one host, and the folder for their dump. */
struct watched {
    const struct tri_worker *workers;
    uint32_t count;
    char folder[PATH_BYTES]; /* empty: stderr */
};

/* The state of a dump; or the number of the dumping thread. */
enum dump_state { DUMP_NONE = 0, DUMP_DONE = -1 };

static _Atomic(struct watched *) all_watched[TR_CRASH_HOSTS_MAX];
static atomic_int dump_state;
static atomic_bool is_installed;

/* The slot of this thread's current message. */
static _Thread_local struct tri_current_message *own_message;

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
    {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"},
};

/* The previous action of each signal. */
static struct sigaction actions_before[TR_COUNT_OF(signals)];

/* ----------------------------------------------------------------- the dump */

void tri_crash_print_message(struct tri_line *line, const struct tri_worker *worker)
{
    struct tri_current_message *current = worker->current_message;
    if (current == NULL || !tri_current_message_is_busy(current)) {
        return;
    }
    tri_line_number(line, "worker=", worker->index);
    tri_line_key(
        line, " is handling: actor=", (struct tr_key){current->actor_group, current->actor_serial});
    tri_line_number(line, " type=", current->type);
    tri_line_key(line, " from=", (struct tr_key){current->from_group, current->from_serial});
    tri_line_number(line, "@", current->from_incarnation);
    tri_line_number(line, " sequence=", current->sequence);
    if (current->part[0] != '\0') {
        tri_line_string(line, " in ");
        tri_line_string(line, current->function);
        tri_line_string(line, " of ");
        tri_line_string(line, current->part);
    }
    tri_line_string(line, "\n");
}

/*
 * Opens the file of this process's dump, and reports it on stderr; stderr if that fails. It is
 * opened for appending, because several hosts of one process may have the same folder.
 */
static int open_dump(const struct watched *watched, const char *why)
{
    struct tri_line path;
    tri_line_init(&path, STDERR_FILENO);
    tri_line_string(&path, watched->folder);
    tri_line_number(&path, "/crash-", (uint64_t)getpid());
    tri_line_string(&path, ".txt");
    path.bytes[path.size < sizeof path.bytes ? path.size : sizeof path.bytes - 1] = '\0';
    int file = -1;
    if (watched->folder[0] != '\0') {
        file = open(path.bytes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    struct tri_line news;
    tri_line_init(&news, STDERR_FILENO);
    tri_line_string(&news, "troupe: the process ends: ");
    tri_line_string(&news, why);
    if (file >= 0) {
        tri_line_string(&news, "; its last events are in ");
        tri_line_string(&news, path.bytes);
    }
    tri_line_string(&news, "\n");
    tri_line_flush(&news);
    return file >= 0 ? file : STDERR_FILENO;
}

static void dump_watched(const struct watched *watched, const char *why)
{
    int file = open_dump(watched, why);
    uint64_t count = file == STDERR_FILENO ? TR_CRASH_STDERR_EVENTS : TR_RECORDER_EVENTS;
    struct tri_line line;
    tri_line_init(&line, file);
    tri_line_string(&line, why);
    tri_line_number(&line, " pid=", (uint64_t)getpid());
    tri_line_number(&line, " thread=", (uint64_t)gettid());
    tri_line_string(&line, "\n");
    for (uint32_t i = 0; i < watched->count; i++) {
        tri_crash_print_message(&line, &watched->workers[i]);
    }
    for (uint32_t i = 0; i < watched->count; i++) {
        tri_recorder_print(&line, i, &watched->workers[i].recorder, count);
    }
    tri_line_flush(&line);
    if (file != STDERR_FILENO) {
        close(file);
    }
}

/* Waits, for a bounded time, until the dumping thread is done. */
static void await_dump(void)
{
    for (int i = 0; i < OTHER_DUMP_WAITS && atomic_load(&dump_state) != DUMP_DONE; i++) {
        poll(NULL, 0, OTHER_DUMP_WAIT_MS);
    }
}

/*
 * From NONE to the number of the dumping thread to DONE, each once. A thread that fails within its
 * own dump finds its number and gives up, so that the signal ends the process instead of looping.
 */
static void dump(const char *why)
{
    int self = gettid();
    int state = DUMP_NONE;
    if (!atomic_compare_exchange_strong(&dump_state, &state, self)) {
        if (state != self) {
            await_dump();
        }
        return;
    }
    for (uint32_t i = 0; i < TR_CRASH_HOSTS_MAX; i++) {
        const struct watched *watched = atomic_load(&all_watched[i]);
        if (watched != NULL) {
            dump_watched(watched, why);
        }
    }
    atomic_store(&dump_state, DUMP_DONE);
}

bool tri_crash_has_begun(void)
{
    return atomic_load(&dump_state) != DUMP_NONE;
}

/*
 * The first record counts: the watchdog's, or that of the signal before an abort. It concerns only
 * this thread's own handler: a fault is delivered to the thread that caused it.
 */
static void note_end(int number)
{
    struct tri_current_message *current = own_message;
    if (current != NULL && tri_current_message_is_busy(current)) {
        tri_current_message_end(current, (uint32_t)number);
    }
}

void tri_crash_set_message(struct tri_current_message *current)
{
    own_message = current;
}

static void on_assertion(void)
{
    note_end(SIGABRT);
    dump("an assertion has failed");
}

/*
 * After the dump the signal has its previous effect. A fault occurs again when the handler returns;
 * a sent signal must be sent again. A si_code of 0 or less means that kill, raise or another
 * program has sent it (SI_USER, SI_TKILL).
 */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    note_end(number);
    size_t row = 0;
    while (row < TR_COUNT_OF(signals) - 1 && signals[row].number != number) {
        row++;
    }
    dump(signals[row].name);
    sigaction(number, &actions_before[row], NULL);
    if (info->si_code <= 0) {
        raise(number);
    }
}

/* ------------------------------------------------------------------ watching */

/*
 * Once for the process; the handlers stay, and dump the workers watched at that time. The signals
 * block each other while one is handled, and run on a stack of their own, since a thread whose
 * stack has overflowed has no room for a handler.
 */
static int install(void)
{
    if (atomic_exchange(&is_installed, true)) {
        return 0;
    }
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < TR_COUNT_OF(signals); i++) {
        sigaddset(&action.sa_mask, signals[i].number);
    }
    for (size_t i = 0; i < TR_COUNT_OF(signals); i++) {
        if (sigaction(signals[i].number, &action, &actions_before[i]) != 0) {
            return TR_SYSTEM;
        }
    }
    tr_assert_hook_set(on_assertion);
    return 0;
}

/*
 * Counts the dumps in a folder and finds the oldest, by the time of the file, since pids are
 * reused.
 */
static uint32_t find_oldest(DIR *folder, char *name, size_t name_bytes)
{
    uint32_t count = 0;
    time_t oldest = 0;
    struct dirent *entry;
    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL) {
        struct stat status;
        if (fnmatch("crash-*.txt", entry->d_name, 0) != 0 ||
            fstatat(dirfd(folder), entry->d_name, &status, 0) != 0) {
            continue;
        }
        if (count == 0 || status.st_mtime < oldest) {
            oldest = status.st_mtime;
            snprintf(name, name_bytes, "%s", entry->d_name);
        }
        count++;
    }
    return count;
}

/* A folder that cannot be read has nothing to remove; opening the store will report why. */
static void remove_old(const char *path)
{
    DIR *folder = opendir(path);
    char name[NAME_MAX + 1];
    while (folder != NULL && find_oldest(folder, name, sizeof name) > TR_CRASH_FILES_KEPT) {
        if (unlinkat(dirfd(folder), name, 0) != 0) {
            break;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static struct watched *new_watched(const struct tri_worker *workers, uint32_t count,
                                   const char *folder)
{
    struct watched *watched = tr_alloc_zero(1, sizeof *watched);
    if (watched != NULL) {
        watched->workers = workers;
        watched->count = count;
        snprintf(watched->folder, sizeof watched->folder, "%s", folder == NULL ? "" : folder);
    }
    return watched;
}

int tri_crash_watch(const struct tri_worker *workers, uint32_t count, const char *folder)
{
    if (folder != NULL && strlen(folder) > PATH_BYTES - 64) {
        return TR_INVALID;
    }
    int error = install();
    if (error != 0) {
        return error;
    }
    if (folder != NULL) {
        remove_old(folder);
    }
    struct watched *watched = new_watched(workers, count, folder);
    if (watched == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < TR_CRASH_HOSTS_MAX; i++) {
        struct watched *none = NULL;
        if (atomic_compare_exchange_strong(&all_watched[i], &none, watched)) {
            return 0;
        }
    }
    tr_free(watched);
    return TR_LIMIT;
}

void tri_crash_forget(const struct tri_worker *workers)
{
    for (uint32_t i = 0; i < TR_CRASH_HOSTS_MAX; i++) {
        struct watched *watched = atomic_load(&all_watched[i]);
        if (watched != NULL && watched->workers == workers) {
            atomic_store(&all_watched[i], NULL);
            tr_free(watched);
            return;
        }
    }
}

int tri_signal_stack_init(struct tri_signal_stack *stack)
{
    stack_t before;
    stack->memory = NULL;
    if (sigaltstack(NULL, &before) != 0) {
        return TR_SYSTEM;
    }
    if ((before.ss_flags & SS_DISABLE) == 0) {
        return 0; /* of a sanitizer */
    }
    void *memory = tr_alloc(SIGNAL_STACK_BYTES);
    if (memory == NULL) {
        return TR_MEMORY;
    }
    stack_t wanted = {.ss_sp = memory, .ss_size = SIGNAL_STACK_BYTES};
    if (sigaltstack(&wanted, NULL) != 0) {
        tr_free(memory);
        return TR_SYSTEM;
    }
    stack->memory = memory;
    return 0;
}

void tri_signal_stack_fini(struct tri_signal_stack *stack)
{
    if (stack->memory != NULL) {
        stack_t none = {.ss_flags = SS_DISABLE};
        sigaltstack(&none, NULL);
        tr_free(stack->memory);
        stack->memory = NULL;
    }
}
