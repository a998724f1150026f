/*
 * The console of a thread: one pointer, which is NULL for all threads that nobody has given one.
 */
#include "deploy/console/console.h"

#include <stddef.h>

static _Thread_local struct tr_console *of_thread;

const struct tr_console *tr_console(void)
{
    return of_thread;
}

void tr_console_set(struct tr_console *console)
{
    of_thread = console;
}

FILE *tr_console_out(void)
{
    return of_thread == NULL ? stdout : of_thread->out;
}

FILE *tr_console_err(void)
{
    return of_thread == NULL ? stderr : of_thread->err;
}

bool tr_console_is_gone(void)
{
    return of_thread != NULL && of_thread->is_gone != NULL && atomic_load(of_thread->is_gone);
}

void tr_console_note_error(int error)
{
    if (of_thread != NULL) {
        of_thread->error = error;
    }
}

void tr_console_note_more(void)
{
    if (of_thread != NULL) {
        of_thread->has_more = true;
    }
}

void tr_console_note_next(uint64_t next)
{
    if (of_thread != NULL) {
        of_thread->has_more = true;
        of_thread->next = next;
    }
}
