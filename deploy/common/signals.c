/*
 * Signals by a descriptor.
 */
#include "deploy/common/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "deploy/common/program.h"
#include "schemas/codec/error.h"

static sigset_t watched(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

int tr_signals_open(int *descriptor)
{
    sigset_t set = watched();
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) {
        return TR_SYSTEM;
    }
    int opened = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (opened < 0) {
        return TR_SYSTEM;
    }
    *descriptor = opened;
    return 0;
}

void tr_signals_close(int descriptor)
{
    sigset_t set = watched();
    close(descriptor);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void leave_at_once(int number)
{
    static const char words[] = "told to end again: leaving at once\n";
    (void)number;
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    _exit(TR_EXIT_ENGINE);
}

void tr_signals_end_next(void)
{
    const struct sigaction action = {.sa_handler = leave_at_once};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int tr_signals_next(int descriptor)
{
    struct signalfd_siginfo info;
    ssize_t size = read(descriptor, &info, sizeof info);
    return size == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
