/*
 * The life of a child: added with its plan, launched, possibly stopped, reaped, removed.
 *
 * A leader that has ended stays a zombie until its group has been killed. As long as it is one, the
 * kernel gives its pid to no other process and its number to no other group, so kill(-pid) cannot
 * hit a stranger. For the same reason a running child's group may be signalled at any time: only
 * this thread reaps.
 *
 * Children are in one list in the order of their requests, and those that run are in a hash by pid.
 * The earliest due time is kept, so that a round without timeouts looks at no child.
 */
#include "runtime/keeper/keeper_children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper_after.h"
#include "runtime/keeper_client/keeper_limits.h"
#include "runtime/memory.h"
#include "runtime/process/proc.h"

/* ---- The set of children. ------------------------------------------------------------------- */

int tri_children_init(struct tri_children *children, const struct tri_key_table *table,
                      uint64_t store)
{
    *children = (struct tri_children){
        .store = store, .memory = {.cgroup = -1, .machine = -1}, .bounds = {.group = -1}};
    int error = tri_process_spawner_init(&children->spawner);
    if (error != 0) {
        return error;
    }
    error = tri_orphans_init(&children->orphans);
    if (error != 0) {
        goto fini_spawner;
    }
    /*
     * As a subreaper this process becomes the parent of descendants whose own parents have ended;
     * otherwise init would adopt them and the keeper could not find them.
     */
    error = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0
                ? TR_SYSTEM
                : tri_warm_init(&children->warm, &children->spawner, store);
    if (error != 0) {
        goto fini_orphans;
    }
    children->table = table;
    return 0;

fini_orphans:
    tri_orphans_fini(&children->orphans);
fini_spawner:
    tri_process_spawner_fini(&children->spawner);
    return error;
}

static void free_child(struct tri_child *child)
{
    tri_process_plan_free(child->plan);
    tri_process_plan_free(child->after);
    tr_free(child->reason);
    tr_free(child->synced_folder);
    tr_free(child->made);
    tr_free((void *)(uintptr_t)child->warm.data);
    tr_free(child);
}

void tri_children_fini(struct tri_children *children)
{
    tri_warm_fini(&children->warm);
    while (children->first != NULL) {
        struct tri_child *child = children->first;
        children->first = child->next;
        free_child(child);
    }
    tri_keeper_memory_fini(&children->memory);
    tri_orphans_fini(&children->orphans);
    tri_process_spawner_fini(&children->spawner);
}

static struct tri_child **bucket_of(struct tri_children *children, uint32_t pid)
{
    return &children->buckets[pid % TRI_CHILD_BUCKETS];
}

static void enter_bucket(struct tri_children *children, struct tri_child *child, uint32_t pid)
{
    child->pid = pid;
    child->next_in_bucket = *bucket_of(children, pid);
    *bucket_of(children, pid) = child;
}

static void leave_bucket(struct tri_children *children, struct tri_child *child)
{
    struct tri_child **link = bucket_of(children, child->pid);
    while (*link != child) {
        link = &(*link)->next_in_bucket;
    }
    *link = child->next_in_bucket;
}

struct tri_child *tri_children_find(const struct tri_children *children, uint32_t pid)
{
    struct tri_child *child = children->buckets[pid % TRI_CHILD_BUCKETS];
    while (child != NULL && child->pid != pid) {
        child = child->next_in_bucket;
    }
    return child;
}

/*
 * The strings of the array `words`, each with a closing zero, and an empty one behind them; NULL
 * without memory. The size is that of the packed form, which is never smaller than the strings,
 * plus the zeros.
 */
static char *copy_names(struct tr_bytes words)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(words, &cursor);
    char *names = tr_alloc(words.size + count + 1);
    char *at = names;
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        if (cursor.error == 0 && word.size > 0) {
            memcpy(at, word.data, word.size);
            at += word.size;
            *at++ = '\0';
        }
    }
    if (names != NULL) {
        *at = '\0';
    }
    return names;
}

/* Copies the names of the folder to be synced after the end, and of the files to ignore. */
static int keep_sync(struct tri_child *child, const struct tr_process_start *start)
{
    if (start->synced_folder.size == 0) {
        return 0;
    }
    child->synced_folder = tr_text_copy(start->synced_folder);
    child->made = copy_names(start->provided);
    if (child->synced_folder == NULL || child->made == NULL) {
        tr_free(child->synced_folder);
        tr_free(child->made);
        return TR_MEMORY;
    }
    child->sync =
        (struct tri_sync_job){.folder = child->synced_folder, .made = child->made, .user = child};
    return 0;
}

/* Plans the command behind its end, and keeps it with the key, so that it comes into the log. */
static int plan_after(struct tri_key_entry *entry, const struct tr_process_start *start,
                      struct tr_text mark, char *reason, struct tri_process_plan **plan)
{
    struct tr_cursor cursor;
    *plan = NULL;
    if (tr_process_array_begin(start->after, &cursor) == 0) {
        return cursor.error;
    }
    int error = tri_key_table_after(entry, start->after);
    return error != 0 ? error : tri_after_plan_new(start->after, mark, reason, plan);
}

int tri_children_add(struct tri_children *children, struct tri_key_entry *entry,
                     const struct tr_process_start *start, char *reason, struct tri_child **child)
{
    char buffer[TRI_MARK_BYTES_MAX];
    if (children->count == TR_KEEPER_CHILDREN_MAX) {
        snprintf(reason, TR_REASON_BYTES_MAX, "too many processes run");
        return TR_BUSY;
    }
    struct tri_process_plan *plan;
    /*
     * The plan is made now and not at launch, so that an invalid request is refused before its key
     * is logged.
     */
    struct tr_text mark = tri_orphans_mark(children->store, entry->key, buffer, sizeof buffer);
    int error = tri_process_plan_new(start, mark, reason, &plan);
    if (error != 0) {
        return error;
    }
    struct tri_process_plan *after;
    error = plan_after(entry, start, mark, reason, &after);
    struct tri_child *made = error != 0 ? NULL : tr_alloc_zero(1, sizeof *made);
    if (error == 0) {
        error = made == NULL ? TR_MEMORY : tri_warm_environment(start, &made->warm);
    }
    if (error == 0) {
        error = keep_sync(made, start);
    }
    if (error != 0) {
        if (made != NULL) {
            tr_free((void *)(uintptr_t)made->warm.data);
        }
        tr_free(made);
        tri_process_plan_free(plan);
        tri_process_plan_free(after);
        return error;
    }
    made->after = after;
    made->entry = entry;
    made->plan = plan;
    made->timeout_ms = start->timeout_ms;
    made->grace_ms = start->grace_ms;
    made->memory_max = children->bounds.group >= 0 ? start->memory_max : 0;
    made->previous = children->last;
    *(children->last != NULL ? &children->last->next : &children->first) = made;
    children->last = made;
    children->count++;
    entry->child = made;
    *child = made;
    return 0;
}

/* The child must not be running. */
void tri_children_remove(struct tri_children *children, struct tri_child *child)
{
    TR_ASSERT(child->has_ended || (child->pid == 0 && !child->is_starting));
    *(child->previous != NULL ? &child->previous->next : &children->first) = child->next;
    *(child->next != NULL ? &child->next->previous : &children->last) = child->previous;
    children->count--;
    child->entry->child = NULL;
    free_child(child);
}

/* ---- Stopping. ------------------------------------------------------------------------------ */

/* The signal that begins each stage. */
static const int stage_signals[] = {
    [TRI_CHILD_RUNS] = 0, [TRI_CHILD_ASKED] = SIGTERM, [TRI_CHILD_KILLED] = SIGKILL};

/* The stage that follows: with a grace, and without one. */
static const enum tri_child_stage next_stage[][2] = {
    [TRI_CHILD_RUNS] = {TRI_CHILD_ASKED, TRI_CHILD_KILLED},
    [TRI_CHILD_ASKED] = {TRI_CHILD_KILLED, TRI_CHILD_KILLED},
    [TRI_CHILD_KILLED] = {TRI_CHILD_KILLED, TRI_CHILD_KILLED},
};

/*
 * `children->due_ms` is a lower bound of all due times. It is never raised here; tick_children
 * recomputes it, and a tick that comes too early only costs one walk.
 */
static void set_due(struct tri_children *children, struct tri_child *child, uint64_t due_ms)
{
    child->due_ms = due_ms;
    if (due_ms != 0 && (children->due_ms == 0 || due_ms < children->due_ms)) {
        children->due_ms = due_ms;
    }
}

/*
 * Enters the next stage and signals the whole group. The pid is a group's number, since each child
 * is started as the leader of a session.
 */
static void advance(struct tri_children *children, struct tri_child *child)
{
    child->stage = next_stage[child->stage][child->grace_ms == 0];
    kill(-(pid_t)child->pid, stage_signals[child->stage]);
    if (child->stage == TRI_CHILD_ASKED) {
        /* A stopped process hears SIGTERM only when it goes on. */
        kill(-(pid_t)child->pid, SIGCONT);
        set_due(children, child, tri_monotonic_ms() + child->grace_ms);
    } else {
        child->due_ms = 0;
    }
}

void tri_children_stop(struct tri_children *children, struct tri_child *child,
                       enum tr_process_stopper stopper, uint32_t grace_ms)
{
    if (child->has_ended) {
        return;
    }
    if (child->stopped_by == TR_PROCESS_STOPPED_BY_NOBODY) {
        child->stopped_by = (uint8_t)stopper;
    }
    if (grace_ms != TR_PROCESS_GRACE_AS_STARTED) {
        child->grace_ms = grace_ms;
    }
    /*
     * The first stopper is kept, since it is the reason of the end. The grace is replaced by each
     * request, which may only shorten a stop that has begun.
     */
    uint64_t end_ms = tri_monotonic_ms() + child->grace_ms;
    /*
     * Not launched yet. The keeper checks `stopped_by` before it launches (skip_stopped in
     * keeper_round.c).
     */
    if (child->pid == 0) {
        return; /* skip_stopped of keeper_round.c ends it */
    }
    if (child->stage == TRI_CHILD_RUNS || child->grace_ms == 0) {
        advance(children, child);
    } else if (child->stage == TRI_CHILD_ASKED && end_ms < child->due_ms) {
        set_due(children, child, end_ms);
    }
}

/*
 * Enters the next stage of each child whose time has come: a timeout is a stop, and the end of a
 * grace is SIGKILL. The due times that are left are gathered on the way.
 */
static void tick_children(struct tri_children *children, uint64_t now_ms)
{
    children->due_ms = 0;
    for (struct tri_child *child = children->first; child != NULL; child = child->next) {
        bool is_due = child->due_ms != 0 && child->due_ms <= now_ms && !child->has_ended;
        if (is_due && child->stage == TRI_CHILD_RUNS) {
            tri_children_stop(children, child, TR_PROCESS_STOPPED_BY_TIMEOUT,
                              TR_PROCESS_GRACE_AS_STARTED);
        } else if (is_due) {
            advance(children, child);
        } else if (child->is_after && child->due_ms <= now_ms) {
            kill(-(pid_t)child->pid, SIGKILL);
        }
        if (!child->has_ended || (child->is_after && child->due_ms > now_ms)) {
            set_due(children, child, child->due_ms);
        }
    }
}

void tri_children_tick(struct tri_children *children)
{
    uint64_t now_ms = tri_monotonic_ms();
    if (children->due_ms != 0 && children->due_ms <= now_ms) {
        tick_children(children, now_ms);
    }
    tri_orphans_tick(&children->orphans, children);
    tri_bounds_tidy(&children->bounds);
}

/*
 * Rounded up to whole milliseconds: rounding down would make poll return before anything is due,
 * and the loop would spin through the rest of the millisecond.
 */
int tri_children_wait_ms(const struct tri_children *children)
{
    uint64_t now_us = tri_monotonic_us();
    uint64_t due_us = children->due_ms != 0 ? children->due_ms * 1000 : UINT64_MAX;
    if (children->orphans.is_wanted && children->orphans.next_us < due_us) {
        due_us = children->orphans.next_us;
    }
    if (due_us == UINT64_MAX) {
        return -1;
    }
    uint64_t wait_ms = due_us > now_us ? (due_us - now_us + 999) / 1000 : 0;
    return wait_ms < INT32_MAX ? (int)wait_ms : INT32_MAX;
}

/* ---- Beginning and ending. ------------------------------------------------------------------ */

/*
 * Sets the end of a child that never ran. `number` is an errno. Without memory for the words the
 * reason is empty; the outcome matters more.
 */
static void end_unlaunched(struct tri_child *child, int number, const char *reason)
{
    child->reason = tr_text_copy(tr_text_of(reason));
    child->has_ended = true;
    child->end = (struct tr_process_ended){
        .key = child->entry->key,
        .outcome = TR_PROCESS_NOT_STARTED,
        .status = (uint32_t)number,
        .stopped_by = child->stopped_by,
        .started_ms = child->started_ms,
        .ended_ms = tri_wall_ms(),
        .reason = tr_text_of(child->reason),
    };
}

/*
 * The child of a job that the sync thread has finished. Where the sync failed the outcome becomes
 * LOST, also after an exit with 0: the outputs may be missing after a loss of power, and a failed
 * fsync cannot be repeated, because the kernel may have dropped the dirty pages.
 */
struct tri_child *tri_children_synced(struct tri_sync_job *job)
{
    struct tri_child *child = job->user;
    child->end.is_synced = job->number == 0;
    if (job->number != 0) {
        char words[TR_REASON_BYTES_MAX];
        snprintf(words, sizeof words, "its files cannot be synced: %s", strerror(job->number));
        child->reason = tr_text_copy(tr_text_of(words));
        child->end.outcome = TR_PROCESS_LOST;
        child->end.status = 0;
        child->end.reason = tr_text_of(child->reason != NULL ? child->reason : "");
    }
    return child;
}

/* Makes the group in which the memory of the child is bounded, if it is. */
static int open_group(struct tri_children *children, struct tri_child *child,
                      struct tri_process_spawn_failure *failure)
{
    child->group = TRI_SPAWN_NO_GROUP;
    int error = child->memory_max > 0 ? tri_bound_make(&children->bounds, child->serial,
                                                       child->memory_max, &child->group)
                                      : 0;
    if (error != 0) {
        failure->number = errno;
        snprintf(failure->reason, sizeof failure->reason, "its memory cannot be bounded: %s",
                 strerror(errno));
    }
    return error;
}

/* The group is entered, or not needed any more. */
static void close_group(struct tri_children *children, struct tri_child *child, bool is_entered)
{
    if (child->group != TRI_SPAWN_NO_GROUP) {
        close(child->group);
    }
    if (child->group != TRI_SPAWN_NO_GROUP && !is_entered) {
        tri_bound_drop(&children->bounds, child->serial);
    }
    child->group = TRI_SPAWN_NO_GROUP;
}

void tri_children_skip(struct tri_children *children, struct tri_child *child, const char *reason)
{
    if (child->is_starting) {
        tri_warm_cancel(&children->warm, child);
        close_group(children, child, false);
        child->is_starting = false;
        children->running--;
    }
    end_unlaunched(child, ECANCELED, reason);
}

/* The process is not reaped yet, so /proc/PID exists and the pid is still its own. */
static uint64_t read_start_time(uint32_t pid)
{
    struct tri_proc_stat stat = {0}; /* remains zero where /proc cannot be read */
    (void)!tri_proc_stat(pid, &stat);
    return stat.start_time;
}

/*
 * When a process was started that has begun since note_time: the kernel counts ticks of the same
 * clock. Mostly none has passed meanwhile, and a file of /proc need not be made for the answer.
 */
static uint64_t find_start_time(const struct tri_child *child, uint32_t pid)
{
    uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t tick = child->began_us / tick_us;
    return tri_monotonic_us() / tick_us == tick ? tick : read_start_time(pid);
}

/* Its process runs. The plan is used up. */
static void note_start(struct tri_children *children, struct tri_child *child, uint32_t pid,
                       uint64_t start_time, struct tr_process_started *started)
{
    enter_bucket(children, child, pid);
    children->running++;
    close_group(children, child, true);
    tri_process_plan_free(child->plan);
    child->plan = NULL;
    *started = (struct tr_process_started){.key = child->entry->key,
                                           .pid = pid,
                                           .start_time = start_time,
                                           .started_ms = child->started_ms};
    if (child->timeout_ms != 0) {
        set_due(children, child, child->began_us / 1000 + child->timeout_ms);
    }
}

static void note_time(struct tri_child *child)
{
    child->began_us = tri_monotonic_us();
    child->started_ms = tri_wall_ms();
}

/* Starts the process by itself, or ends the child. */
static int launch_cold(struct tri_children *children, struct tri_child *child,
                       struct tr_process_started *started)
{
    struct tri_process_spawn_failure failure;
    uint32_t pid;
    note_time(child);
    int error = tri_process_spawn(&children->spawner, child->plan, child->group, &failure, &pid);
    if (error != 0) {
        close_group(children, child, false);
        end_unlaunched(child, failure.number, failure.reason);
        return TR_FAILED;
    }
    note_start(children, child, pid, find_start_time(child, pid), started);
    return 0;
}

int tri_children_launch(struct tri_children *children, struct tri_child *child,
                        struct tr_process_started *started)
{
    struct tri_process_spawn_failure failure;
    note_time(child);
    child->serial = ++children->serial;
    if (open_group(children, child, &failure) != 0) {
        end_unlaunched(child, failure.number, failure.reason);
        return TR_FAILED;
    }
    if (child->warm.size > 0 &&
        tri_warm_begin(&children->warm, child->plan, child->warm, child->group, child) == 0) {
        child->is_starting = true;
        children->running++;
        return TR_BUSY;
    }
    return launch_cold(children, child, started);
}

struct tri_child *tri_children_started(struct tri_children *children,
                                       struct tr_process_started *started, int *error)
{
    struct tri_warm_news news;
    if (!tri_warm_next(&children->warm, &news)) {
        return NULL;
    }
    struct tri_child *child = news.user;
    child->is_starting = false;
    children->running--;
    *error = 0;
    if (news.pid != 0) {
        note_time(child);
        note_start(children, child, news.pid, read_start_time(news.pid), started);
    } else {
        *error = launch_cold(children, child, started);
    }
    return child;
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/*
 * Whether the OOM killer may have killed it: the keeper did not stop it, and it was killed by
 * SIGKILL, or exited with the status of a shell whose last command was.
 */
static bool may_be_kernels(const struct tri_child *child, int status)
{
    bool is_killed = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                         : WEXITSTATUS(status) == TR_SHELL_SIGNALLED + SIGKILL;
    return is_killed && child->stopped_by == TR_PROCESS_STOPPED_BY_NOBODY;
}

/*
 * Whether the kernel has killed for want of memory, and whose bound that was. An attempt with a
 * group of its own knows: what the others' counts say of it meanwhile is passed over.
 */
static uint8_t memory_kill(struct tri_children *children, const struct tri_child *child, int status,
                           const struct tri_bound_use *use)
{
    if (use->is_killed) {
        tri_keeper_memory_pass(&children->memory);
        bool is_why = status != 0 && child->stopped_by == TR_PROCESS_STOPPED_BY_NOBODY;
        return is_why ? TR_MEMORY_KILL_BOUND : TR_MEMORY_KILL_NONE;
    }
    return may_be_kernels(child, status) ? tri_keeper_memory_take(&children->memory)
                                         : TR_MEMORY_KILL_NONE;
}

/*
 * Fills in the end from the wait status. ru_maxrss is in KiB on Linux, and of one process; a group
 * knows what all of them used together. The count of OOM kills is taken at most once for each
 * child, in the order in which they are reaped.
 */
static void describe_end(struct tri_children *children, struct tri_child *child, int status,
                         const struct rusage *usage)
{
    bool is_signal = WIFSIGNALED(status);
    struct tri_bound_use use = {0};
    if (child->memory_max > 0) {
        use = tri_bound_end(&children->bounds, child->serial);
    }
    child->has_ended = true;
    child->end = (struct tr_process_ended){
        .key = child->entry->key,
        .outcome = is_signal ? TR_PROCESS_SIGNALLED : TR_PROCESS_EXITED,
        .status = (uint32_t)(is_signal ? WTERMSIG(status) : WEXITSTATUS(status)),
        .core_dumped = is_signal && WCOREDUMP(status),
        .stopped_by = child->stopped_by,
        .pid = child->pid,
        .started_ms = child->started_ms,
        .ended_ms = tri_wall_ms(),
        .elapsed_us = tri_monotonic_us() - child->began_us,
        .cpu_user_us = microseconds(usage->ru_utime),
        .cpu_system_us = microseconds(usage->ru_stime),
        .memory_bytes_max = use.peak_bytes > 0 ? use.peak_bytes : (uint64_t)usage->ru_maxrss * 1024,
        .memory_kill = memory_kill(children, child, status, &use),
        .memory_max = child->memory_max,
    };
}

/*
 * The pid of an ended child process, or 0; it may be an adopted orphan. WNOWAIT keeps the zombie,
 * so that its group can be killed before the group's number is free.
 */
static pid_t next_zombie(struct tri_children *children)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        /* Without any children there are no orphans to look for either. */
        children->orphans.is_wanted = children->orphans.is_wanted && errno != ECHILD;
        return 0;
    }
    return info.si_pid;
}

/* Runs the command behind its end; false: there is none, or it cannot be run. */
static bool begin_after(struct tri_children *children, struct tri_child *child)
{
    struct tri_process_spawn_failure failure;
    uint32_t pid;
    if (child->after == NULL) {
        return false;
    }
    child->is_left_behind = tri_process_spawn(&children->spawner, child->after, TRI_SPAWN_NO_GROUP,
                                              &failure, &pid) != 0;
    if (child->is_left_behind) {
        return false;
    }
    enter_bucket(children, child, pid);
    child->is_after = true;
    set_due(children, child, tri_monotonic_ms() + TR_KEEPER_AFTER_MS);
    return true;
}

/* What was waited for is a child's process, or the command behind it; true: all of it has ended. */
static bool take_end(struct tri_children *children, struct tri_child *child, int status,
                     const struct rusage *usage)
{
    leave_bucket(children, child);
    if (child->is_after) {
        child->is_after = false;
        child->is_left_behind = status != 0;
        return true;
    }
    describe_end(children, child, status, usage);
    return !begin_after(children, child);
}

/*
 * Kills the rest of each ended leader's group, then reaps the leader. An orphan is only reaped.
 * Each end makes another search for orphans necessary, because the children of an ended process
 * become children of this one.
 */
void tri_children_reap(struct tri_children *children,
                       void (*ended)(void *self, struct tri_child *child), void *self)
{
    pid_t pid;
    while ((pid = next_zombie(children)) != 0) {
        struct tri_child *child = tri_children_find(children, (uint32_t)pid);
        bool is_worker = tri_warm_is_worker(&children->warm, (uint32_t)pid);
        if (child != NULL || is_worker) {
            kill(-pid, SIGKILL);
        }
        int status = 0;
        struct rusage usage = {0};
        if (wait4(pid, &status, WNOHANG, &usage) != pid) {
            return;
        }
        tri_orphans_ended(&children->orphans, (uint32_t)pid);
        if (is_worker) {
            tri_warm_ended(&children->warm, (uint32_t)pid, status);
        }
        if (child == NULL) {
            continue;
        }
        if (take_end(children, child, status, &usage)) {
            children->running--;
            ended(self, child);
        }
    }
}
