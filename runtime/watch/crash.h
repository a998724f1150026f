/*
 * Crash dumps: the flight recorders of the process's hosts and the message that each worker was
 * handling go into a file beside the store, or to stderr without one.
 *
 * A dump is written when an assertion fails, and on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT.
 * Afterwards the signal has its previous effect: a core file, a sanitizer's report. kill -9 leaves
 * no time; the current messages are known nevertheless (crashes/poison_message.h).
 */
#ifndef TR_RUNTIME_WATCH_CRASH_H
#define TR_RUNTIME_WATCH_CRASH_H

#include "runtime/actor/worker.h"

/*
 * From now on a crash dumps these workers, which must not move until tri_crash_forget. `folder`
 * (NULL: stderr) is copied; the newest TR_CRASH_FILES_KEPT dumps in it are kept. Errors: TR_LIMIT
 * (TR_CRASH_HOSTS_MAX hosts), TR_INVALID (a path too long), TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_crash_watch(const struct tri_worker *workers, uint32_t count,
                                const char *folder);

/* These workers end in order. Does nothing if they are not watched. */
void tri_crash_forget(const struct tri_worker *workers);

/*
 * The slot for the current message of the calling thread: if a signal of this thread ends the
 * process, that is recorded there. NULL: it handles no more messages.
 */
void tri_crash_set_message(struct tri_current_message *current);

/* Whether a crash of this process is in progress. Any thread. */
bool tri_crash_has_begun(void);

/* Prints the message that a worker is handling, if any: a line. */
void tri_crash_print_message(struct tri_line *line, const struct tri_worker *worker);

/*
 * An alternate signal stack for the calling thread, so that a stack overflow can be dumped too.
 * Free it before the thread ends. TR_MEMORY, TR_SYSTEM.
 */
struct tri_signal_stack {
    void *memory; /* NULL: the thread had one already */
};

TR_MUST_USE int tri_signal_stack_init(struct tri_signal_stack *stack);
void tri_signal_stack_fini(struct tri_signal_stack *stack);

#endif
