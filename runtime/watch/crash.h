/*
 * The end of a process that fails: the flight recorders of its hosts, and what each worker had in
 * current, go into a file beside the store, or to stderr where there is none.
 *
 * This happens when an assertion fails, and on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. After
 * it the signal does what it did before: a core file, a sanitizer's report. kill -9 leaves no time;
 * what was in current is known all the same (host/poison_message.h).
 */
#ifndef TR_RUNTIME_WATCH_CRASH_H
#define TR_RUNTIME_WATCH_CRASH_H

#include "runtime/actor/worker.h"

/*
 * From now on a crash dumps these workers, which must stay where they are until tri_crash_forget.
 * `folder` (NULL: stderr) is copied; of the dumps in it the newest TR_CRASH_FILES_KEPT stay.
 * Errors: TR_LIMIT (TR_CRASH_HOSTS_MAX hosts), TR_INVALID (a path too long), TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_crash_watch(const struct tri_worker *workers, uint32_t count,
                                const char *folder);

/* These workers end in order. Nothing where they are not watched. */
void tri_crash_forget(const struct tri_worker *workers);

/*
 * What the calling thread has in current while it handles messages: if a signal of this thread's own
 * ends the process, that is written there. NULL: it handles none any more.
 */
void tri_crash_set_message(struct tri_current_message *current);

/* Whether this process has begun to end by a crash. Any thread. */
bool tri_crash_has_begun(void);

/* Prints what a worker has in current, if it has anything: a line. */
void tri_crash_print_message(struct tri_line *line, const struct tri_worker *worker);

/*
 * A stack of its own for the signals of the calling thread, so that a stack that overflows can be
 * dumped too. Ends before the thread does. TR_MEMORY, TR_SYSTEM.
 */
struct tri_signal_stack {
    void *memory; /* NULL: the thread had one already */
};

TR_MUST_USE int tri_signal_stack_init(struct tri_signal_stack *stack);
void tri_signal_stack_fini(struct tri_signal_stack *stack);

#endif
