/*
 * A store with a log in front of it.
 *
 * Two threads: the journal's, which appends and acknowledges, and the applier, which writes the
 * window to the store below. They share a list of entries under a mutex, which neither holds while
 * it reads or writes a disk. Only the journal's thread uses the log, but for its descriptor; only
 * the applier uses the store below, or the journal's thread while nothing waits and the applier
 * stands still (`settle`).
 *
 * Invariants:
 *   - An entry is in the log, synced, before it is in the list, and in the list before its commit
 *     is acknowledged. So whatever was acknowledged is below or in the log.
 *   - The applier takes all entries of the list at once, and moves the mark in the commit that has
 *     them. So what is below is always the state at one entry.
 *   - Entries whose commit failed come again as they are, before any others: it may not be known
 *     whether a database has a commit, and only the same one can be told to be there already.
 *   - An entry's place in the log is given up only after the commit that has it (`applied`).
 *
 * A shortage below (a full disk, another program's lock) is told by the next commit, which first
 * lets the applier try again: people should hear of a full disk at once, and not when the log is
 * full, too. Any other error ends the store: commits return it, and what is in the log is applied
 * by the next start.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "runtime/commits/commit_log.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

/* How long the applier waits after a shortage. */
#define RETRY_MS 100

const struct tri_commit_log_limits tri_commit_log_limits = {
    .window_ms = TR_COMMIT_LOG_WINDOW_MS,
    .window_bytes = TR_COMMIT_LOG_WINDOW_BYTES,
    .bytes_max = TR_COMMIT_LOG_BYTES_MAX,
};

/* An entry that waits to be applied. */
struct waiting {
    struct waiting *next;
    uint8_t *bytes;
    size_t size;
    uint64_t sequence;
    uint64_t last_number;
};

struct waiting_list {
    struct waiting *first;
    struct waiting **end;
    uint64_t size_bytes;
    uint32_t count;
};

struct logged {
    struct tri_store store;
    struct tri_store *below;
    struct tri_commit_log *log;
    struct tri_commit_log_limits limits;
    uint64_t number;          /* of the log */
    uint64_t sequence;        /* of the last entry */
    struct waiting *doubtful; /* an entry that may be in the log or not; it comes again */
    uint64_t released;
    int told;                      /* the shortage that readers have heard of, or 0 */
    struct tri_commit_batch batch; /* the applier's */
    int broken;                    /* the error after which nothing is written, or 0 */
    int wake;                      /* eventfd: the applier has something to do */
    int retry;                     /* timerfd: after a shortage it is time to try again */
    bool has_thread;
    pthread_t thread;
    char words[TRI_STORE_EXPLAIN_BYTES];

    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    struct waiting_list taken; /* those of the commit below that is under way, or has failed */
    struct waiting_list list;  /* those behind them */
    bool is_applying;
    bool is_wanted; /* what waits is applied at once */
    bool is_closing;
    bool releases_memory;
    uint64_t applied;
    int error; /* of the applier's last commit */
    char error_words[TRI_STORE_EXPLAIN_BYTES];
};

static struct logged *of(struct tri_store *store)
{
    return (struct logged *)store;
}

/* ---- The window. ----------------------------------------------------------------------------- */

static void list_init(struct waiting_list *list)
{
    *list = (struct waiting_list){.first = NULL};
    list->end = &list->first;
}

static void list_add(struct waiting_list *list, struct waiting *entry)
{
    *list->end = entry;
    list->end = &entry->next;
    list->size_bytes += entry->size;
    list->count++;
}

static void waiting_free(struct waiting *entry)
{
    if (entry != NULL) {
        tr_free(entry->bytes);
        tr_free(entry);
    }
}

static void list_free(struct waiting_list *list)
{
    while (list->first != NULL) {
        struct waiting *entry = list->first;
        list->first = entry->next;
        waiting_free(entry);
    }
    list_init(list);
}

/* ---- Applying. ------------------------------------------------------------------------------- */

/* Fills the empty batch with what is left of the entries, and the mark behind the last one. */
static int gather(struct logged *self, const struct waiting *first, const struct tri_op *mark)
{
    int error = 0;
    for (const struct waiting *entry = first; error == 0 && entry != NULL; entry = entry->next) {
        error = tri_commit_entry_unpack(
            (struct tr_bytes){.data = entry->bytes, .size = entry->size}, &self->batch);
    }
    if (error == 0) {
        error = tri_commit_batch_add(&self->batch, mark);
    }
    tri_commit_batch_finish(&self->batch);
    return error;
}

/* One commit of the store below. */
static int apply(struct logged *self, const struct waiting_list *list)
{
    const struct waiting *last = list->first;
    while (last->next != NULL) {
        last = last->next;
    }
    struct tri_commit_log_mark cell = {.log = self->number, .sequence = last->sequence};
    struct tri_op mark = {.kind = TRI_OP_PUT_META,
                          .number = TRI_META_LOG,
                          .data = {.data = (const uint8_t *)&cell, .size = sizeof cell}};
    int error = gather(self, list->first, &mark);
    if (error == 0) {
        const struct tri_commit commit = {
            .ops = self->batch.ops, .count = self->batch.count, .last_number = last->last_number};
        error = tri_store_commit(self->below, &commit);
    }
    tri_commit_batch_clear(&self->batch);
    return error;
}

static bool is_empty(const struct logged *self)
{
    return self->taken.first == NULL && self->list.first == NULL;
}

static uint64_t waiting_bytes(const struct logged *self)
{
    return self->taken.size_bytes + self->list.size_bytes;
}

/* Once, in RETRY_MS from now. Readers who ask meanwhile, however often, put nothing off. */
static void set_retry(const struct logged *self)
{
    const struct itimerspec once = {.it_value.tv_nsec = RETRY_MS * 1000000L};
    if (self->has_thread) {
        int failed = timerfd_settime(self->retry, 0, &once, NULL);
        TR_ASSERT(failed == 0);
    }
}

static void note_error(struct logged *self, int error)
{
    self->error = error;
    if (error != 0) {
        set_retry(self);
        (void)snprintf(self->error_words, sizeof self->error_words, "%s",
                       error == TR_MEMORY ? tr_error_text(error) : tri_store_explain(self->below));
    }
}

/* The next commit below; called with the mutex, and returns with it. */
static void apply_waiting(struct logged *self)
{
    uint64_t sequence = 0;
    if (is_empty(self)) {
        return;
    }
    if (self->taken.first == NULL) {
        self->taken = self->list;
        list_init(&self->list);
    }
    self->is_applying = true;
    pthread_mutex_unlock(&self->mutex);
    for (const struct waiting *entry = self->taken.first; entry != NULL; entry = entry->next) {
        sequence = entry->sequence;
    }
    int error = apply(self, &self->taken);
    pthread_mutex_lock(&self->mutex);
    note_error(self, error);
    if (error == 0) {
        self->applied = sequence;
        list_free(&self->taken);
    }
    self->is_applying = false;
    pthread_cond_broadcast(&self->changed);
}

/* ---- The applier's thread. ------------------------------------------------------------------- */

/* How long it may wait for more; called with the mutex. -1: nothing waits, or a retry. */
static int patience_ms(const struct logged *self)
{
    bool is_full = self->list.size_bytes >= self->limits.window_bytes;
    if (is_empty(self) || self->error != 0) {
        return -1;
    }
    return self->is_wanted || self->is_closing || is_full ? 0 : (int)self->limits.window_ms;
}

static void wake(const struct logged *self)
{
    (void)!write(self->wake, &(uint64_t){1}, sizeof(uint64_t));
}

static void drain(int descriptor)
{
    uint64_t count;
    (void)!read(descriptor, &count, sizeof count);
}

/*
 * Waits for the end of the window or the time of a retry, whose result is true, or for a reader who
 * asks for it; called without the mutex. A wake before that only says that there is something, or
 * more of it.
 */
static bool wait_for_window(struct logged *self, int timeout_ms, bool *is_asked)
{
    struct pollfd events[] = {
        {.fd = self->wake, .events = POLLIN},
        {.fd = self->log->ops->descriptor(self->log), .events = POLLIN},
        {.fd = self->retry, .events = POLLIN},
    };
    int count = poll(events, TR_COUNT_OF(events), timeout_ms);
    bool is_retry = count > 0 && (events[2].revents & POLLIN) != 0;
    if (count > 0 && (events[0].revents & POLLIN) != 0) {
        drain(self->wake);
    }
    if (is_retry) {
        drain(self->retry);
    }
    if (count > 0 && (events[1].revents & POLLIN) != 0) {
        self->log->ops->drain(self->log);
        *is_asked = true;
    }
    return count == 0 || is_retry;
}

/* Housekeeping of the store below while nothing waits; called with the mutex. */
static void maintain(struct logged *self)
{
    bool releases = self->releases_memory;
    self->releases_memory = false;
    self->is_applying = true;
    pthread_mutex_unlock(&self->mutex);
    int error = tri_store_maintain(self->below);
    if (releases) {
        tri_commit_batch_fini(&self->batch);
        tri_store_release_memory(self->below);
    }
    pthread_mutex_lock(&self->mutex);
    self->is_applying = false;
    note_error(self, error);
    pthread_cond_broadcast(&self->changed);
}

static bool is_final(int error)
{
    return error != 0 && !tr_error_is_shortage(error);
}

/*
 * One turn; called with the mutex. What a reader has asked for is kept until something is applied:
 * he may have seen an entry in the log that is not in the list yet.
 */
static void turn(struct logged *self)
{
    int timeout_ms = patience_ms(self);
    bool is_asked = false;
    pthread_mutex_unlock(&self->mutex);
    bool is_due = timeout_ms == 0 || wait_for_window(self, timeout_ms, &is_asked);
    pthread_mutex_lock(&self->mutex);
    self->is_wanted = self->is_wanted || is_asked;
    if (!is_empty(self) && (is_due || patience_ms(self) == 0)) {
        self->is_wanted = false;
        apply_waiting(self);
    }
    if (!is_final(self->error) && is_empty(self) && !self->is_closing) {
        maintain(self);
    }
}

/* What could not be applied stays in the log, for the next start. */
static void close_both(struct logged *self)
{
    bool is_applied =
        is_empty(self) && self->error == 0 && self->doubtful == NULL && self->broken == 0;
    self->log->ops->close(self->log, is_applied);
    tri_store_close(self->below);
}

/*
 * After an error that is final commits may still come, and are refused; log and store stay until
 * the end.
 */
static void *applier_main(void *argument)
{
    struct logged *self = argument;
    pthread_mutex_lock(&self->mutex);
    while (!is_final(self->error) && !(self->is_closing && (is_empty(self) || self->error != 0))) {
        turn(self);
    }
    while (!self->is_closing) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    close_both(self);
    return NULL;
}

/* ---- Commits. -------------------------------------------------------------------------------- */

TR_PRINTF(3, 4)
static int report(struct logged *self, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->words, sizeof self->words, format, arguments);
    va_end(arguments);
    return error;
}

/* After an error that is no shortage nothing is written any more. */
static int judge(struct logged *self, int error)
{
    if (is_final(error) && error != TR_INVALID) {
        self->broken = error;
    }
    return error;
}

static int check_commit(struct logged *self, const struct tri_commit *commit)
{
    const struct tri_op *unsound = tri_commit_unsound(commit);
    if (self->broken != 0) {
        return self->broken; /* the words of the first error are still set */
    }
    if (commit->last_number < self->store.last_number) {
        return report(self, TR_INVALID, "commit %llu comes behind commit %llu",
                      (unsigned long long)commit->last_number,
                      (unsigned long long)self->store.last_number);
    }
    return unsound == NULL ? 0
                           : report(self, TR_INVALID, "an operation of kind %d makes no sense",
                                    (int)unsound->kind);
}

/* Applies all there is, or waits until the applier has; called with the mutex. */
static void press(struct logged *self)
{
    if (!self->has_thread) {
        apply_waiting(self);
        return;
    }
    self->is_wanted = true;
    wake(self);
    pthread_cond_wait(&self->changed, &self->mutex);
}

static bool must_wait(const struct logged *self)
{
    uint32_t count_max = self->limits.commits_without_thread;
    return self->error != 0 || waiting_bytes(self) >= self->limits.bytes_max ||
           (!self->has_thread && self->list.count >= count_max);
}

/* Whoever waits for the tables hears why they cannot be written, and that they can again. */
static void tell_readers(struct logged *self, int error)
{
    if (error != self->told) {
        self->log->ops->tell(self->log, error);
        self->told = error;
    }
}

/* Keeps the bound of what waits, and gives up the places of what does not. */
static int make_room(struct logged *self)
{
    pthread_mutex_lock(&self->mutex);
    bool was_pressed = false;
    while (!is_final(self->error) && must_wait(self) && !(was_pressed && self->error != 0)) {
        press(self);
        was_pressed = true;
    }
    int error = self->error;
    uint64_t applied = self->applied;
    if (error != 0) {
        (void)report(self, error, "%s", self->error_words);
    }
    pthread_mutex_unlock(&self->mutex);
    tell_readers(self, error);
    if (applied > self->released) {
        self->log->ops->release(self->log, applied);
        self->released = applied;
    }
    return error;
}

/* The entry of a commit: the one whose outcome is not known, or a new one. */
static int pack(struct logged *self, const struct tri_commit *commit, struct waiting **entry)
{
    if (self->doubtful != NULL) {
        *entry = self->doubtful;
        self->doubtful = NULL;
        return 0;
    }
    struct tri_commit_entry_head head = {.log = self->number,
                                         .incarnation = self->store.incarnation,
                                         .sequence = self->sequence + 1,
                                         .is_synced = self->log->is_synced};
    struct waiting *made = tr_alloc_zero(1, sizeof *made);
    int error = made == NULL ? TR_MEMORY : tri_commit_entry_pack(commit, &head, &made->bytes);
    if (error != 0) {
        tr_free(made);
        return report(self, error, "%s", tr_error_text(error));
    }
    made->size = tri_commit_entry_bytes(&head);
    made->sequence = head.sequence;
    made->last_number = head.last_number;
    *entry = made;
    return 0;
}

static int append(struct logged *self, const struct tri_commit *commit, struct waiting **entry)
{
    struct waiting *made = NULL;
    int error = pack(self, commit, &made);
    if (error != 0) {
        return error;
    }
    struct tri_commit_entry_head head = {0};
    error = tri_commit_entry_head(made->bytes, &head);
    TR_ASSERT(error == 0);
    error = self->log->ops->append(
        self->log, (struct tr_bytes){.data = made->bytes, .size = made->size}, &head);
    if (error == 0) {
        *entry = made;
        return 0;
    }
    (void)report(self, error, "%s", self->log->ops->explain(self->log));
    if (error == TR_BUSY) {
        self->doubtful = made;
    } else {
        waiting_free(made);
    }
    return error;
}

static int logged_commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct logged *self = of(store);
    struct waiting *entry = NULL;
    int error = check_commit(self, commit);
    if (error == 0) {
        error = make_room(self);
    }
    if (error == 0) {
        error = append(self, commit, &entry);
    }
    if (error != 0) {
        return judge(self, error);
    }
    self->sequence = entry->sequence;
    store->last_number = entry->last_number;
    pthread_mutex_lock(&self->mutex);
    bool is_first = self->list.first == NULL;
    bool was_small = self->list.size_bytes < self->limits.window_bytes;
    list_add(&self->list, entry);
    bool is_full = was_small && self->list.size_bytes >= self->limits.window_bytes;
    pthread_mutex_unlock(&self->mutex);
    if (self->has_thread && (is_first || is_full)) {
        wake(self);
    }
    return 0;
}

/* ---- All else. ------------------------------------------------------------------------------- */

/* Waits until the store below has everything. Then the applier stands still until a commit. */
static int settle(struct logged *self)
{
    pthread_mutex_lock(&self->mutex);
    bool was_pressed = false;
    while (self->is_applying ||
           (!is_empty(self) && !is_final(self->error) && !(was_pressed && self->error != 0))) {
        press(self);
        was_pressed = true;
    }
    int error = is_empty(self) ? 0 : self->error;
    if (error != 0) {
        (void)report(self, error, "%s", self->error_words);
    }
    pthread_mutex_unlock(&self->mutex);
    return error;
}

/* The result of a question to the store below, with its words. */
static int answer(struct logged *self, int error)
{
    return error == 0 ? 0 : report(self, error, "%s", tri_store_explain(self->below));
}

static int logged_load(struct tri_store *store, struct tri_group_range range,
                       const struct tri_store_visitor *visitor)
{
    struct logged *self = of(store);
    int error = settle(self);
    return error != 0 ? error : answer(self, tri_store_load_groups(self->below, range, visitor));
}

static int logged_read_page(struct tri_store *store, struct tr_key key, uint64_t number,
                            void *buffer, size_t capacity, size_t *size)
{
    struct logged *self = of(store);
    int error = settle(self);
    return error != 0 ? error
                      : answer(self, tri_store_read_page(self->below, key, number, buffer, capacity,
                                                         size));
}

static int logged_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                            size_t *size)
{
    struct logged *self = of(store);
    int error = settle(self);
    return error != 0
               ? error
               : answer(self, tri_store_read_meta(self->below, cell, buffer, capacity, size));
}

static int logged_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                             size_t *size)
{
    struct logged *self = of(store);
    int error = settle(self);
    return error != 0 ? error : answer(self, tri_store_read_graph(self->below, hash, data, size));
}

static int logged_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                              int (*each)(void *self, const struct tri_graph_entry *graph),
                              void *target)
{
    struct logged *self = of(store);
    int error = settle(self);
    return error != 0
               ? error
               : answer(self, tri_store_list_graphs(self->below, after, limit, each, target));
}

static int logged_list_crashes(struct tri_store *store,
                               int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct logged *self = of(store);
    int error = settle(self);
    return error != 0 ? error : answer(self, tri_store_list_crashes(self->below, each, target));
}

/* The applier does the housekeeping; without one, and with nothing waiting, it is done here. */
static int logged_maintain(struct tri_store *store)
{
    struct logged *self = of(store);
    if (!self->has_thread && self->broken == 0) {
        return judge(self, answer(self, tri_store_maintain(self->below)));
    }
    pthread_mutex_lock(&self->mutex);
    int error = self->error;
    if (error != 0) {
        (void)report(self, error, "%s", self->error_words);
    }
    pthread_mutex_unlock(&self->mutex);
    tell_readers(self, error);
    return self->broken != 0 ? self->broken : judge(self, error);
}

static void logged_release_memory(struct tri_store *store)
{
    struct logged *self = of(store);
    if (!self->has_thread) {
        tri_commit_batch_fini(&self->batch);
        tri_store_release_memory(self->below);
        return;
    }
    pthread_mutex_lock(&self->mutex);
    self->releases_memory = true;
    pthread_mutex_unlock(&self->mutex);
    wake(self);
}

static const char *logged_explain(struct tri_store *store)
{
    return of(store)->words;
}

/* Frees what the store has made; the log and the store below stay. */
static void logged_free(struct logged *self)
{
    waiting_free(self->doubtful);
    list_free(&self->taken);
    list_free(&self->list);
    tri_commit_batch_fini(&self->batch);
    if (self->wake >= 0) {
        (void)close(self->wake);
    }
    if (self->retry >= 0) {
        (void)close(self->retry);
    }
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    tr_free(self);
}

/* The applier does what is left, and closes the log and the store below. */
static void logged_leave(struct tri_store *store)
{
    struct logged *self = of(store);
    if (self->has_thread) {
        pthread_mutex_lock(&self->mutex);
        self->is_closing = true;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->mutex);
        wake(self);
    }
}

static void logged_close(struct tri_store *store)
{
    struct logged *self = of(store);
    if (self->has_thread) {
        logged_leave(store);
        (void)pthread_join(self->thread, NULL);
    } else {
        if (self->broken == 0) {
            (void)settle(self);
        }
        close_both(self);
    }
    logged_free(self);
}

static const struct tri_store_ops logged_ops = {
    .name = "logged",
    .commit = logged_commit,
    .load = logged_load,
    .read_page = logged_read_page,
    .read_meta = logged_read_meta,
    .read_graph = logged_read_graph,
    .list_graphs = logged_list_graphs,
    .list_crashes = logged_list_crashes,
    .maintain = logged_maintain,
    .release_memory = logged_release_memory,
    .explain = logged_explain,
    .leave = logged_leave,
    .close = logged_close,
};

/* ---- Opening. -------------------------------------------------------------------------------- */

static int begin_log(struct logged *self, uint64_t number)
{
    struct tri_commit_log_mark mark = {0};
    int error = tri_commit_log_begin(self->below, number, &mark);
    self->number = mark.log;
    self->sequence = mark.sequence;
    self->applied = mark.sequence;
    return answer(self, error);
}

static int start_applier(struct logged *self)
{
    if (self->limits.commits_without_thread != 0) {
        return 0;
    }
    self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->retry = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (self->wake < 0 || self->retry < 0) {
        return report(self, TR_SYSTEM, "an event cannot be made: %s", strerror(errno));
    }
    self->has_thread = true; /* the thread looks at it */
    int number = pthread_create(&self->thread, NULL, applier_main, self);
    if (number != 0) {
        self->has_thread = false;
        return report(self, TR_SYSTEM, "no thread for the log: %s", strerror(number));
    }
    return 0;
}

int tri_commit_log_store(struct tri_store *store, struct tri_commit_log *log,
                         const struct tri_commit_log_limits *limits, uint64_t number, char *explain,
                         struct tri_store **logged)
{
    struct logged *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        return TR_MEMORY;
    }
    *self = (struct logged){.store = {.ops = &logged_ops,
                                      .incarnation = store->incarnation,
                                      .last_number = store->last_number,
                                      .host = store->host,
                                      .gathers = true},
                            .below = store,
                            .log = log,
                            .limits = *limits,
                            .wake = -1,
                            .retry = -1,
                            .words = "no error so far"};
    list_init(&self->taken);
    list_init(&self->list);
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->changed, NULL);
    int error = begin_log(self, number);
    if (error == 0) {
        error = start_applier(self);
    }
    if (error != 0) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
        logged_free(self);
        return error;
    }
    *logged = &self->store;
    return 0;
}

/* Called with the mutex. */
static struct tri_commit_log_lag lag_of(const struct logged *self)
{
    struct tri_commit_log_lag lag = {.commits = self->taken.count + self->list.count,
                                     .bytes = waiting_bytes(self),
                                     .bytes_max = self->limits.bytes_max,
                                     .sequence = self->applied,
                                     .applied = self->applied};
    lag.sequence += lag.commits; /* which follow each other */
    return lag;
}

struct tri_commit_log_lag tri_commit_log_lag(struct tri_store *store)
{
    if (store->ops != &logged_ops) {
        return (struct tri_commit_log_lag){0};
    }
    struct logged *self = of(store);
    pthread_mutex_lock(&self->mutex);
    struct tri_commit_log_lag lag = lag_of(self);
    pthread_mutex_unlock(&self->mutex);
    return lag;
}

void tri_commit_log_catch_up(struct tri_store *store)
{
    if (store->ops != &logged_ops || !of(store)->has_thread) {
        return;
    }
    struct logged *self = of(store);
    pthread_mutex_lock(&self->mutex);
    uint64_t wanted = lag_of(self).sequence;
    while (self->applied < wanted && self->error == 0) {
        press(self);
    }
    pthread_mutex_unlock(&self->mutex);
}

struct tri_store *tri_commit_log_below(struct tri_store *store)
{
    return store->ops == &logged_ops ? of(store)->below : store;
}
