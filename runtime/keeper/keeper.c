/*
 * The keeper's start, its loop and its end.
 *
 * One thread polls signals (SIGCHLD and those that end the keeper, by a signalfd), synced folders,
 * and clients. Each round takes in all events, logs them with one sync (keeper_round.c), launches,
 * and answers clients (keeper_clients.c). Answers leave only at the end of a round, so nothing is
 * reported before it is logged.
 *
 * At its start it takes the lock, reads the log, kills what an earlier keeper left, and ends those
 * keys in the log. Only then does it listen, so no client ever sees a key of a dead keeper as
 * running.
 *
 * It leaves when nothing runs and no client has been connected for idle_ms, or after a signal, when
 * its children have ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/env/clock.h"
#include "runtime/keeper/keeper_after.h"
#include "runtime/keeper/keeper_inside.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "runtime/memory.h"

#define COMPLAINTS_NAME "keeper.err"

/*
 * The signals that ask a keeper to end. SIGHUP reaches one that is not detached when its terminal
 * closes.
 */
static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

void tri_keeper_complain(struct tri_keeper *keeper, const char *format, ...)
{
    if (keeper->complaint_count++ >= TR_KEEPER_COMPLAINTS_MAX) {
        return;
    }
    char words[TR_REASON_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    fprintf(stderr, "troupe keeper %d: %s\n", (int)getpid(), words);
    fflush(stderr);
}

/* ---- Beginning. ----------------------------------------------------------------------------- */

/* Writes the status line that the starter of a keeper waits for. */
static void report(const char *format, ...) TR_PRINTF(1, 2);

static void report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vdprintf(STDOUT_FILENO, format, arguments);
    va_end(arguments);
}

/*
 * Blocks all signals, so that they are read from a descriptor, and resets their dispositions to the
 * default. An ignored signal stays ignored across exec, so without the reset a child would inherit
 * what the starter of this keeper ignored.
 */
static void take_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL);
    }
}

/*
 * Continues as a new process in a session of its own, without a terminal or inherited descriptors.
 * The starter waits for the old process, which exits at once with 0; init or a subreaper adopts the
 * new one.
 */
static int detach(void)
{
    (void)close_range(3, ~0U, 0);
    pid_t pid = fork();
    if (pid < 0) {
        return TR_SYSTEM;
    }
    if (pid > 0) {
        _exit(0);
    }
    umask(077);
    return setsid() >= 0 ? 0 : TR_SYSTEM;
}

/*
 * Stdin becomes /dev/null, stderr a file in the store's folder. The working folder becomes /, so
 * that the keeper does not keep a file system mounted. The caller holds the lock: O_TRUNC must not
 * empty the file of a living keeper.
 */
static int detach_files(const struct tri_keeper *keeper)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int complaints = openat(keeper->folder, COMPLAINTS_NAME,
                            O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_done = null_fd >= 0 && complaints >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
                   dup2(complaints, STDERR_FILENO) >= 0 && chdir("/") == 0;
    if (null_fd >= 0) {
        close(null_fd);
    }
    if (complaints >= 0) {
        close(complaints);
    }
    return is_done ? 0 : TR_SYSTEM;
}

static int open_signals(int *signals)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < TR_COUNT_OF(end_signals); i++) {
        sigaddset(&set, end_signals[i]);
    }
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        return TR_SYSTEM;
    }
    *signals = fd;
    return 0;
}

/*
 * Reads the log into the table. A torn tail that was cut off is a complaint and not an error: it
 * was never synced, so no guarantee is broken. `was_here`: the log was last open in the same boot,
 * process namespace and folder.
 */
static int begin_log(struct tri_keeper *keeper, char *reason, bool *was_here)
{
    int error = tri_keeper_folder_place(keeper->folder, keeper->place);
    if (error != 0) {
        return error;
    }
    error = tri_keeper_file_open(&keeper->file, keeper->folder, !keeper->options.is_unsynced,
                                 tr_text_of(keeper->place), &keeper->table, reason, was_here);
    if (error != 0) {
        char words[TR_REASON_BYTES_MAX];
        snprintf(words, sizeof words, "%s: %.400s", TRI_KEEPER_LOG_NAME,
                 reason[0] != '\0' ? reason : tr_error_text(error));
        memcpy(reason, words, sizeof words);
    }
    if (error == 0 && reason[0] != '\0') {
        tri_keeper_complain(keeper, "%s was cut %s", TRI_KEEPER_LOG_NAME, reason);
        reason[0] = '\0';
    }
    return error;
}

/*
 * Ends what an earlier keeper left. The order matters: everything is killed before the log says
 * that the keys have ended. In the other order a crash in between would leave running processes
 * under ended keys, which no keeper would look for.
 */
static int take_over(struct tri_keeper *keeper, bool was_here)
{
    size_t killed = 0;
    /* In another boot or process namespace the pids in the log may belong to other processes. */
    if (was_here) {
        int error = tri_orphans_kill_remains(&keeper->children.orphans, &keeper->table,
                                             keeper->file.store, &killed);
        if (error != 0) {
            return error;
        }
    }
    size_t left = tri_after_run_left(&keeper->children.spawner, &keeper->table, keeper->file.store);
    if (left > 0) {
        tri_keeper_complain(keeper, "%zu commands behind ends of another keeper's have failed",
                            left);
    }
    if (keeper->table.live.count > 0 || killed > 0) {
        tri_keeper_complain(keeper, "after another keeper's end: %zu keys unknown, %zu killed",
                            keeper->table.live.count, killed);
    }
    return tri_keeper_end_unfinished(keeper, was_here);
}

/*
 * Kills what the last keeper's group has left, and goes into one of our own. That may make another
 * process of this one, so what belongs to a process comes later.
 */
static void take_group(struct tri_keeper *keeper)
{
    tri_keeper_cgroup_kill_remains(keeper->folder, keeper->file.store);
    if (keeper->options.is_detached) {
        tri_keeper_cgroup_enter(&keeper->cgroup, keeper->folder, keeper->file.store,
                                keeper->starter);
    }
}

/*
 * Sets up the loop, in an order in which each step protects the next: the lock before any file is
 * touched, the log before leftovers are killed, the cgroup before the first child, the socket last.
 * fini releases all of it, also after an error.
 */
static int set_up(struct tri_keeper *keeper, char *reason)
{
    bool was_here = false;
    int error = tri_keeper_folder_lock(keeper->folder, &keeper->lock);
    if (error == TR_SYSTEM) {
        snprintf(reason, TR_REASON_BYTES_MAX, "%s: %s", TRI_KEEPER_LOCK_NAME, strerror(errno));
    }
    if (error == 0 && keeper->options.is_detached) {
        error = detach_files(keeper);
    }
    if (error == 0) {
        error = tri_key_table_init(&keeper->table, TR_KEEPER_KEYS_MAX);
    }
    if (error == 0) {
        error = begin_log(keeper, reason, &was_here);
    }
    if (error == 0) {
        take_group(keeper);
        error = tri_children_init(&keeper->children, &keeper->table, keeper->file.store);
    }
    if (error == 0) {
        keeper->children.bounds.group = keeper->cgroup.group;
        error = take_over(keeper, was_here);
    }
    if (error == 0) {
        tri_keeper_memory_init(&keeper->children.memory, NULL, NULL);
    }
    if (error == 0) {
        error = open_signals(&keeper->signals);
    }
    if (error == 0 && !keeper->options.is_unsynced) {
        error = tri_keeper_sync_init(&keeper->sync, keeper->folder);
        keeper->has_sync = error == 0;
    }
    return error != 0 ? error : tri_keeper_folder_listen(keeper->folder, &keeper->listener);
}

static void close_open(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/*
 * Also releases a partial set_up. The sync thread ends before the children are freed, because its
 * jobs are part of them. The lock is closed after the log, so the next keeper reads a log that is
 * no longer written.
 */
static void fini(struct tri_keeper *keeper)
{
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        tri_keeper_drop(keeper, &keeper->clients[i]);
    }
    if (keeper->has_sync) {
        tri_keeper_sync_fini(&keeper->sync);
    }
    if (keeper->children.table != NULL) {
        tri_children_fini(&keeper->children);
    }
    tri_keeper_cgroup_leave(&keeper->cgroup, keeper->folder);
    tri_keeper_file_close(&keeper->file);
    if (keeper->table.buckets != NULL) {
        tri_key_table_fini(&keeper->table);
    }
    close_open(keeper->listener);
    close_open(keeper->signals);
    close_open(keeper->lock);
    close_open(keeper->folder);
}

/* ---- The loop. ------------------------------------------------------------------------------ */

/*
 * Stops all children; the loop leaves when they have ended. Graces are capped, so that the keeper
 * leaves within a bounded time, also when the disk stays full.
 */
static void begin_leaving(struct tri_keeper *keeper, const char *why)
{
    if (keeper->is_leaving) {
        return;
    }
    tri_keeper_complain(keeper, "leaving: %s", why);
    keeper->is_leaving = true;
    keeper->leave_ms = tri_monotonic_ms() + 2 * TR_KEEPER_LEAVE_GRACE_MS;
    for (struct tri_child *child = keeper->children.first; child != NULL; child = child->next) {
        uint32_t grace_ms =
            child->grace_ms < TR_KEEPER_LEAVE_GRACE_MS ? child->grace_ms : TR_KEEPER_LEAVE_GRACE_MS;
        tri_keeper_stop(keeper, child, TR_PROCESS_STOPPED_BY_KEEPER, grace_ms);
    }
}

/*
 * Called for each reaped child. Its end is not logged before its folder is synced: a record "exited
 * with 0" must not survive a power loss that the outputs do not survive. If there is nothing to
 * sync, or the log itself is not synced, the end is ready at once.
 */
static void note_end(void *self, struct tri_child *child)
{
    struct tri_keeper *keeper = self;
    keeper->unclaimed_running -= tri_keeper_is_claimed(keeper, child) ? 0 : 1;
    if (child->is_left_behind) {
        tri_keeper_complain(keeper, "the command behind the end of %.*s has failed",
                            (int)child->entry->key.size, child->entry->key.data);
    }
    if (keeper->has_sync && child->synced_folder != NULL) {
        tri_keeper_sync_give(&keeper->sync, &child->sync);
    } else {
        tri_child_queue_put(&keeper->ended, child);
    }
}

/* Ends whose files are synced are logged in this round. */
static void take_in_synced(struct tri_keeper *keeper)
{
    struct tri_sync_job *job;
    while (keeper->has_sync && (job = tri_keeper_sync_take(&keeper->sync)) != NULL) {
        tri_child_queue_put(&keeper->ended, tri_children_synced(job));
    }
}

/*
 * The siginfo of SIGCHLD is ignored: pending signals of one number are merged into one, so the
 * kernel is asked with waitid which children have ended.
 */
static void take_in_signals(struct tri_keeper *keeper)
{
    struct signalfd_siginfo info;
    while (read(keeper->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD) {
            begin_leaving(keeper, strsignal((int)info.ssi_signo));
        }
    }
    tri_children_reap(&keeper->children, note_end, keeper);
}

/*
 * Ends all processes, those that wait to begin among them, when the engine has said nothing for its
 * lease: from then on another host may do their work.
 */
static void look_at_lease(struct tri_keeper *keeper)
{
    bool is_over = keeper->lease_end_ms != 0 && tri_monotonic_ms() >= keeper->lease_end_ms;
    if (!is_over || keeper->children.count == 0) {
        return;
    }
    for (struct tri_child *child = keeper->children.first; child != NULL; child = child->next) {
        tri_keeper_stop(keeper, child, TR_PROCESS_STOPPED_BY_KEEPER, 0);
    }
}

/* Leaves if the store's folder was deleted: no engine could find this keeper. */
static void watch(struct tri_keeper *keeper)
{
    uint64_t now_ms = tri_monotonic_ms();
    if (now_ms < keeper->watch_ms) {
        return;
    }
    keeper->watch_ms = now_ms + TR_KEEPER_WATCH_MS;
    if (tri_keeper_folder_is_gone(keeper->folder)) {
        begin_leaving(keeper, "its folder was removed");
    }
}

/* Indexes of the polled descriptors; the clients come last. */
enum {
    AT_SIGNALS,
    AT_SYNCED,
    AT_WARM,
    AT_LISTENER,
    AT_CLIENTS,
    POLL_COUNT = AT_CLIENTS + TR_KEEPER_CLIENTS_MAX
};

/*
 * Fills in the descriptors up to the last client and returns their number. The number is kept small
 * because poll fails with EINVAL when it exceeds the soft limit of open files.
 *
 * A client whose output is above the soft bound is not read from: its requests would only add
 * output. While answers are gathered, POLLOUT is left out, or poll would return at once in each
 * round.
 */
static nfds_t prepare(const struct tri_keeper *keeper, struct pollfd *polled)
{
    nfds_t count = AT_CLIENTS;
    /* After EMFILE the listener stays readable, and poll would return at once. */
    bool is_open = tri_monotonic_ms() >= keeper->accept_ms;
    polled[AT_SIGNALS] = (struct pollfd){.fd = keeper->signals, .events = POLLIN};
    polled[AT_SYNCED] = (struct pollfd){
        .fd = keeper->has_sync ? tri_keeper_sync_descriptor(&keeper->sync) : -1, .events = POLLIN};
    polled[AT_WARM] = (struct pollfd){.fd = keeper->children.warm.events, .events = POLLIN};
    polled[AT_LISTENER] = (struct pollfd){.fd = is_open ? keeper->listener : -1, .events = POLLIN};
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        const struct tri_keeper_peer *client = &keeper->clients[i];
        size_t waiting = tri_frames_waiting(&client->frames);
        int input = waiting < TR_KEEPER_OUTPUT_BYTES_SOFT ? POLLIN : 0;
        int output = waiting > 0 && !keeper->is_gathering ? POLLOUT : 0;
        polled[AT_CLIENTS + i] =
            (struct pollfd){.fd = client->frames.fd, .events = (short)(input | output)};
        count = client->frames.fd >= 0 ? AT_CLIENTS + i + 1 : count;
    }
    return count;
}

/*
 * Timeout of poll in milliseconds: 0 if complete frames of a client are buffered, since no
 * descriptor becomes readable for them; else until the next timeout of a child, the end of
 * gathering, or the next check of the folder.
 */
static int wait_ms(const struct tri_keeper *keeper)
{
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        const struct tri_keeper_peer *client = &keeper->clients[i];
        if (client->has_more && tri_frames_waiting(&client->frames) < TR_KEEPER_OUTPUT_BYTES_SOFT) {
            return 0;
        }
    }
    int wait = (int)TR_KEEPER_WATCH_MS;
    int children = tri_children_wait_ms(&keeper->children);
    wait = children >= 0 && children < wait ? children : wait;
    if (keeper->is_gathering) {
        uint64_t now_ms = tri_monotonic_ms();
        int left = now_ms < keeper->gather_ms ? (int)(keeper->gather_ms - now_ms) : 0;
        wait = left < wait ? left : wait;
    }
    return keeper->options.idle_ms < (uint32_t)wait ? (int)keeper->options.idle_ms : wait;
}

/* Whether attempts may come: they wait here, or an engine is connected, which follows ends. */
static bool expects_attempts(const struct tri_keeper *keeper)
{
    if (keeper->asked.first != NULL || keeper->ready.first != NULL) {
        return true;
    }
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        const struct tri_keeper_peer *client = &keeper->clients[i];
        if (client->frames.fd >= 0 && client->is_following) {
            return true;
        }
    }
    return false;
}

static void listen_to_clients(struct tri_keeper *keeper, const struct pollfd *polled)
{
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        struct tri_keeper_peer *client = &keeper->clients[i];
        bool is_polled = client->frames.fd >= 0 && client->frames.fd == polled[i].fd;
        if (is_polled) {
            bool is_readable = (polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
            tri_keeper_receive(keeper, client, is_readable);
        }
    }
}

/* Clients are answered last, when all of this round is logged. */
static void run_round(struct tri_keeper *keeper)
{
    struct pollfd polled[POLL_COUNT];
    nfds_t count = prepare(keeper, polled);
    (void)!poll(polled, count, wait_ms(keeper));
    take_in_signals(keeper);
    take_in_synced(keeper);
    listen_to_clients(keeper, polled + AT_CLIENTS);
    if ((polled[AT_LISTENER].revents & POLLIN) != 0) {
        tri_keeper_accept(keeper);
    }
    tri_children_tick(&keeper->children);
    tri_warm_tick(&keeper->children.warm, expects_attempts(keeper));
    tri_keeper_run_round(keeper);
    tri_keeper_send_all(keeper);
    look_at_lease(keeper);
    watch(keeper);
}

static bool has_clients(const struct tri_keeper *keeper)
{
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        if (keeper->clients[i].frames.fd >= 0) {
            return true;
        }
    }
    return false;
}

/*
 * Whether to leave: after a signal when no process runs, or after idle_ms without children and
 * clients. Unreported ends are in the log, and the next keeper reports them. While a client is
 * connected the keeper stays.
 */
static bool is_over(struct tri_keeper *keeper)
{
    uint64_t now_ms = tri_monotonic_ms();
    if (keeper->is_leaving && keeper->children.running == 0 && now_ms >= keeper->leave_ms) {
        /* The disk stayed full: the next keeper will report these ends as unknown. */
        return true;
    }
    if (keeper->children.count > 0) {
        keeper->idle_since_ms = 0;
        return false;
    }
    if (keeper->is_leaving) {
        return true;
    }
    if (has_clients(keeper)) {
        keeper->idle_since_ms = 0;
        return false;
    }
    if (keeper->idle_since_ms == 0) {
        keeper->idle_since_ms = now_ms;
    }
    return now_ms - keeper->idle_since_ms >= keeper->options.idle_ms;
}

/* ---- The whole. ----------------------------------------------------------------------------- */

static void set_defaults(struct tri_keeper *keeper, const struct tri_keeper_options *options)
{
    keeper->options = *options;
    if (keeper->options.idle_ms == 0) {
        keeper->options.idle_ms = TR_KEEPER_IDLE_MS;
    }
    if (keeper->options.forgotten_bytes_max == 0) {
        keeper->options.forgotten_bytes_max = TR_KEEPER_LOG_FORGOTTEN_BYTES_MAX;
    }
    keeper->running_max = TR_KEEPER_CHILDREN_MAX;
    keeper->folder = -1;
    keeper->lock = -1;
    keeper->listener = -1;
    keeper->signals = -1;
    keeper->file.fd = -1;
    keeper->starter = getppid();
    keeper->cgroup = (struct tri_keeper_cgroup){
        .group = -1, .why = "this keeper of processes has no control group of its own"};
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        keeper->clients[i].frames.fd = -1;
    }
}

/*
 * Writes "exists" or "failed NUMBER WORDS" for the starter. A shortage (memory, descriptors, disk)
 * has its own number, since a retry may succeed; any other failure would occur again.
 */
static void report_failure(int error, const char *reason)
{
    int shortage = error == TR_SYSTEM ? tri_below_error() : error;
    error = tr_error_is_shortage(shortage) ? shortage : error;
    const char *words = reason[0] != '\0'    ? reason
                        : error == TR_SYSTEM ? strerror(errno)
                                             : tr_error_text(error);
    if (error == TR_EXISTS) {
        report("exists\n");
    } else {
        report("failed %d %s\n", error, words);
    }
}

/*
 * Replaces stdout afterwards: later output must not be taken for an answer, and a starter that
 * reads to the end of its pipe must not wait for the end of the keeper.
 */
static void report_ready(const struct tri_keeper *keeper)
{
    report("ready\n");
    if (keeper->options.is_detached) {
        (void)!dup2(STDIN_FILENO, STDOUT_FILENO);
    }
}

static int keep(struct tri_keeper *keeper, const char *store_folder)
{
    char reason[TR_REASON_BYTES_MAX] = "";
    int error = keeper->options.is_detached ? detach() : 0;
    if (error == 0) {
        error = tri_keeper_folder_open(store_folder, &keeper->folder);
    }
    if (error == 0) {
        error = set_up(keeper, reason);
    }
    if (error != 0) {
        report_failure(error, reason);
        return error;
    }
    report_ready(keeper);
    while (!is_over(keeper)) {
        run_round(keeper);
    }
    if (!keeper->is_leaving && keeper->table.ended.count > 0) {
        tri_keeper_complain(keeper, "leaving: nobody has asked for %zu ends, which are in %s",
                            keeper->table.ended.count, TRI_KEEPER_LOG_NAME);
    }
    tri_keeper_folder_unlink(keeper->folder);
    return 0;
}

int tri_keeper_main(const char *store_folder, const struct tri_keeper_options *options)
{
    struct tri_keeper *keeper = tr_alloc_zero(1, sizeof *keeper);
    if (keeper == NULL) {
        return TR_MEMORY;
    }
    take_signals();
    set_defaults(keeper, options);
    int error = keep(keeper, store_folder);
    fini(keeper);
    tr_free(keeper);
    return error;
}
