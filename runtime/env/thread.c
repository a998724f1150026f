/*
 * A thread inherits the mask of who makes it, so that is changed for the moment: a signal never
 * finds the new thread with another one.
 */
#include "runtime/env/thread.h"

#include <errno.h>
#include <signal.h>

#include "schemas/codec/error.h"

int tri_thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *thread)
{
    sigset_t all;
    sigset_t before;
    pthread_t started;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&started, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number != 0) {
        errno = number;
        return TR_SYSTEM;
    }
    (void)pthread_setname_np(started, name);
    *thread = started;
    return 0;
}
