/*
 * The terminal belongs to the process, so its state does, too: whether it is changed now, and how
 * it was before. Signal handlers read and write it, so they are given only what is whole: the
 * modes are read before the first handler is installed, and an atomic says whether to put them
 * back. tcsetattr, tcgetpgrp and sigaction may be called in a handler (POSIX).
 *
 * Ctrl-C makes a signal all the while, and output goes on as ever: only the editing of lines and
 * the echo are off.
 */
#include "deploy/follow/keys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <termios.h>
#include <unistd.h>

#include "schemas/codec/error.h"

/* A key may be several bytes, as an arrow is. */
#define KEY_BYTES_MAX 64

static struct termios modes_before;
static struct termios modes_of_keys;
static atomic_bool is_changed;

/* ---------------------------------------------------------------------- the terminal */

/* Whether the shell has put this process into the foreground: then reading stops nobody. */
static bool is_in_front(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void take_terminal(void)
{
    if (is_in_front() && !atomic_exchange(&is_changed, true)) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &modes_of_keys);
    }
}

static void give_back_terminal(void)
{
    if (atomic_exchange(&is_changed, false) && is_in_front()) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
    }
}

/* ----------------------------------------------------------------------- ways out */

/* What ends the process at once; the first three only where no descriptor has them (signals.h). */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP,  SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,    SIGABRT,
                           SIGSYS, SIGTRAP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGXCPU};

/* What each did before, behind them the two of job control. */
static struct sigaction actions_before[TR_COUNT_OF(ends) + 2];
#define STOP TR_COUNT_OF(ends)
#define GO_ON (TR_COUNT_OF(ends) + 1)

/* Then the signal does what it did before: a fault happens again, what was sent is sent again. */
static void on_end(int number, siginfo_t *info, void *context)
{
    (void)context;
    size_t row = 0;
    while (row + 1 < TR_COUNT_OF(ends) && ends[row] != number) {
        row++;
    }
    give_back_terminal();
    (void)sigaction(number, &actions_before[row], NULL);
    if (info->si_code <= 0 || info->si_code == SI_KERNEL) {
        (void)raise(number);
    }
}

/* Stops as it would have without a handler, and takes the terminal again when it goes on. */
static void on_stop(int number)
{
    int error = errno;
    struct sigaction ours;
    sigset_t set;
    give_back_terminal();
    (void)sigaction(number, &actions_before[STOP], &ours);
    sigemptyset(&set);
    sigaddset(&set, number);
    (void)raise(number);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)sigaction(number, &ours, NULL);
    take_terminal();
    errno = error;
}

/* After a stop that no handler hears of (SIGSTOP) the shell has given the terminal other modes. */
static void on_go_on(int number)
{
    int error = errno;
    (void)number;
    if (is_in_front() && atomic_load(&is_changed)) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &modes_of_keys);
    }
    errno = error;
}

static void install(int number, const struct sigaction *action, size_t row)
{
    (void)sigaction(number, action, &actions_before[row]);
    bool is_ignored = (actions_before[row].sa_flags & SA_SIGINFO) == 0 &&
                      actions_before[row].sa_handler == SIG_IGN;
    if (is_ignored) {
        (void)sigaction(number, &actions_before[row], NULL);
    }
}

static void install_all(void)
{
    const struct sigaction end = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    const struct sigaction go_on = {.sa_handler = on_go_on, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < TR_COUNT_OF(ends); i++) {
        install(ends[i], &end, i);
    }
    install(SIGTSTP, &stop, STOP);
    install(SIGCONT, &go_on, GO_ON);
}

static void uninstall_all(void)
{
    for (size_t i = 0; i < TR_COUNT_OF(ends); i++) {
        (void)sigaction(ends[i], &actions_before[i], NULL);
    }
    (void)sigaction(SIGTSTP, &actions_before[STOP], NULL);
    (void)sigaction(SIGCONT, &actions_before[GO_ON], NULL);
}

/* --------------------------------------------------------------------------- keys */

/* In the background nobody may wait for keys: they are typed for others. */
static void watch(struct tr_keys *keys, bool is_wanted)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = STDIN_FILENO}};
    if (is_wanted != keys->is_watched &&
        epoll_ctl(keys->events, is_wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, STDIN_FILENO, &event) ==
            0) {
        keys->is_watched = is_wanted;
    }
}

int tr_keys_events(int descriptor, int *events)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = descriptor}};
    int opened = epoll_create1(EPOLL_CLOEXEC);
    if (opened < 0) {
        return TR_SYSTEM;
    }
    if (epoll_ctl(opened, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        close(opened);
        return TR_SYSTEM;
    }
    *events = opened;
    return 0;
}

void tr_keys_open(struct tr_keys *keys, struct tr_follow *follow, int events)
{
    static bool is_at_exit;
    *keys = (struct tr_keys){.follow = follow, .events = events};
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1 ||
        tcgetattr(STDIN_FILENO, &modes_before) != 0 || tcgetpgrp(STDIN_FILENO) < 0) {
        return;
    }
    modes_of_keys = modes_before;
    modes_of_keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes_of_keys.c_cc[VMIN] = 1;
    modes_of_keys.c_cc[VTIME] = 0;
    if (!is_at_exit) {
        is_at_exit = atexit(give_back_terminal) == 0;
    }
    install_all();
    keys->is_there = true;
    take_terminal();
    watch(keys, is_in_front());
    tr_follow_hint(follow, "d detaches");
}

void tr_keys_close(struct tr_keys *keys)
{
    if (keys->is_there) {
        keys->is_there = false;
        watch(keys, false);
        give_back_terminal();
        uninstall_all();
    }
}

/* A key that was typed; 0: none. One of several bytes, and what was pasted, is none of ours: 1. */
static char read_key(struct tr_keys *keys)
{
    char bytes[KEY_BYTES_MAX];
    struct pollfd wanted = {.fd = STDIN_FILENO, .events = POLLIN};
    if (!is_in_front()) {
        watch(keys, false);
        return 0;
    }
    take_terminal();
    watch(keys, true);
    if (poll(&wanted, 1, 0) != 1) {
        return 0;
    }
    ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size <= 0) { /* it is hung up */
        tr_keys_close(keys);
        return 0;
    }
    for (ssize_t i = 1; i < size; i++) {
        if (bytes[i] != bytes[0]) {
            return 1;
        }
    }
    return bytes[0];
}

/* The answer to the question, if it was asked. */
static enum tr_wish take_key(struct tr_keys *keys, char key)
{
    bool was_asking = keys->is_asking;
    keys->is_asking = false;
    if (key == 'd' || key == 'D') {
        return TR_WISH_DETACH;
    }
    if (was_asking && (key == 'a' || key == 'A')) {
        return TR_WISH_ABORT;
    }
    if (was_asking) {
        tr_follow_say(keys->follow, "following on");
    }
    return TR_WISH_NONE;
}

enum tr_wish tr_keys_wish(struct tr_keys *keys)
{
    char key = keys->is_there ? read_key(keys) : 0;
    return key == 0 ? TR_WISH_NONE : take_key(keys, key);
}

bool tr_keys_ask(struct tr_keys *keys)
{
    bool was_asking = keys->is_asking;
    keys->is_asking = false;
    if (!keys->is_there || was_asking || !is_in_front() || !tr_follow_has_gate(keys->follow)) {
        return false;
    }
    tr_follow_say(keys->follow,
                  "a gate waits: d detaches and lets it wait, a aborts, as Ctrl-C again "
                  "does; any other key follows on");
    keys->is_asking = true;
    return true;
}
