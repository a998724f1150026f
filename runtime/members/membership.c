/*
 * The thread that beats: once a second, and when hosts or owners have changed, which the database
 * tells; then twenty times a second at most.
 *
 * What it has seen last is kept under a mutex for other threads, whose questions wait for no
 * database. A look that fails changes nothing: the permit for calls runs out by itself.
 */
#include "runtime/members/membership.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/memory.h"

struct tri_membership {
    struct tri_membership_options options;
    struct tri_registry *registry; /* the thread's; NULL: not open yet */
    struct tri_permit permit;
    atomic_bool has_others;
    atomic_bool may_begin;
    bool has_listened;               /* where it listens is written down; the thread's */
    struct tri_member_watch watch;   /* the thread's, as all up to the mutex */
    struct tri_member_shares shares; /* of whom it takes over */
    bool is_alone;                   /* no other host has been seen in this life; the thread's */
    uint64_t written_processes;      /* the thread's */
    int wake;                        /* readable when the thread is wanted */
    bool has_news;                   /* the thread's, as the next two */
    uint64_t looked_ms;              /* when the last look began */
    uint64_t seen_view;
    pthread_t thread;
    pthread_mutex_t mutex;  /* guards all below */
    pthread_cond_t changed; /* a look is over, or the thread stops */
    bool is_stopping;
    struct tri_member_view view;   /* of the last look */
    struct tri_member_view looked; /* the thread's own, by which the other is replaced */
    uint32_t process_lease_ms;     /* 0: there is no other host */
    uint64_t renewals;
    uint64_t wanted_processes; /* what is to be written down */
    bool is_write_due;         /* before the next beat */
    bool is_look_due;          /* at once, whenever the next beat is */
};

/* How soon a look follows another, where something has changed. */
#define NEWS_MS 50

static void wake(struct tri_membership *self)
{
    uint64_t one = 1;
    (void)!write(self->wake, &one, sizeof one); /* full: it is readable already */
}

/* ---- Asked by others. ------------------------------------------------------------------------ */

bool tri_membership_may_call(const struct tri_membership *membership)
{
    return tri_permit_allows(&membership->permit, tri_monotonic_ms());
}

uint32_t tri_membership_process_lease_ms(const struct tri_membership *membership,
                                         uint64_t *renewals)
{
    struct tri_membership *self = (struct tri_membership *)(uintptr_t)membership;
    (void)pthread_mutex_lock(&self->mutex);
    uint32_t lease_ms = self->process_lease_ms;
    *renewals = self->renewals;
    (void)pthread_mutex_unlock(&self->mutex);
    return lease_ms;
}

bool tri_membership_may_begin(const struct tri_membership *membership)
{
    return atomic_load(&membership->may_begin) && tri_membership_may_call(membership);
}

bool tri_membership_has_others(const struct tri_membership *membership)
{
    return atomic_load(&membership->has_others);
}

bool tri_membership_view(const struct tri_membership *membership, struct tri_member_view *view)
{
    struct tri_membership *self = (struct tri_membership *)(uintptr_t)membership;
    (void)pthread_mutex_lock(&self->mutex);
    bool has_looked = self->renewals > 0;
    if (has_looked) {
        memcpy(view, &self->view, sizeof *view);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return has_looked;
}

/* The end of a wait, so many milliseconds from now. */
static struct timespec behind_ms(uint64_t span_ms)
{
    uint64_t end_us = tri_clock_us(CLOCK_MONOTONIC) + span_ms * 1000;
    return (struct timespec){.tv_sec = (time_t)(end_us / 1000000),
                             .tv_nsec = (long)(end_us % 1000000) * 1000};
}

void tri_membership_look_now(struct tri_membership *membership)
{
    const struct timespec end = behind_ms(TRI_MEMBER_BEAT_MS);
    int waited = 0;
    (void)pthread_mutex_lock(&membership->mutex);
    uint64_t before = membership->renewals;
    membership->is_look_due = true;
    wake(membership);
    while (waited == 0 && membership->renewals == before && !membership->is_stopping) {
        waited =
            pthread_cond_clockwait(&membership->changed, &membership->mutex, CLOCK_MONOTONIC, &end);
    }
    (void)pthread_mutex_unlock(&membership->mutex);
}

void tri_membership_keep(struct tri_membership *membership, enum tri_member_processes processes)
{
    (void)pthread_mutex_lock(&membership->mutex);
    membership->wanted_processes = processes;
    membership->is_write_due = true;
    wake(membership);
    (void)pthread_mutex_unlock(&membership->mutex);
}

static void print_span(uint64_t span_ms, char *words, size_t size)
{
    uint64_t seconds = span_ms / 1000;
    if (seconds >= 60) {
        (void)snprintf(words, size, "%llum%llus", (unsigned long long)(seconds / 60),
                       (unsigned long long)(seconds % 60));
    } else {
        (void)snprintf(words, size, "%llus", (unsigned long long)seconds);
    }
}

static void explain_wait(const struct tri_member_view *view, const struct tri_member *member,
                         uint64_t end_ms, char *words, size_t size)
{
    char since[32];
    char left[32];
    uint64_t down_ms = view->now_ms > member->since_ms ? view->now_ms - member->since_ms : 0;
    print_span(down_ms, since, sizeof since);
    print_span(end_ms, left, sizeof left);
    if (end_ms == UINT64_MAX) {
        (void)snprintf(words, size,
                       "it began on host %s, %s since %s; it begins anew when that host is back, "
                       "or after troupe hosts forget %s",
                       member->name, tri_member_state_name(member->state), since, member->name);
    } else {
        (void)snprintf(words, size,
                       "it began on host %s, %s since %s; it begins anew in %s, when that host is "
                       "back, or after troupe hosts forget %s",
                       member->name, tri_member_state_name(member->state), since, left,
                       member->name);
    }
}

int tri_membership_lost(struct tri_membership *membership, uint64_t host, char *words, size_t size)
{
    int error = TR_BUSY;
    (void)pthread_mutex_lock(&membership->mutex);
    const struct tri_member *member = tri_member_view_find(&membership->view, host);
    if (membership->renewals == 0) {
        (void)snprintf(words, size, "it is not known yet what became of the host where it began");
    } else {
        /* It was forgotten; or it has lost all, and whoever gets some again has ended them. */
        bool has_ended = member == NULL || member->owned > 0;
        uint64_t end_ms = has_ended ? 0 : tri_member_processes_end_ms(&membership->view, member);
        error = end_ms == 0 ? 0 : TR_BUSY;
        if (end_ms != 0) {
            explain_wait(&membership->view, member, end_ms, words, size);
        } else {
            (void)snprintf(words, size, "it ran on host %s, which has that work no more",
                           member != NULL ? member->name : "that was forgotten");
        }
    }
    (void)pthread_mutex_unlock(&membership->mutex);
    return error;
}

/* ---- The thread. ----------------------------------------------------------------------------- */

/* Whether another host may take the work of this one. */
static bool has_others(const struct tri_member_view *view, uint64_t self)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct tri_member *member = &view->members[i];
        if (member->number != self && member->state == TRI_MEMBER_UP &&
            member->silent_ms < member->lease_ms) {
            return true;
        }
    }
    return false;
}

/* Some of the work is this host's as long as the rows say so. */
static bool is_fenced(const struct tri_membership *self, const struct tri_member *own)
{
    return own == NULL || own->state != TRI_MEMBER_UP ||
           own->signs.incarnation != self->options.incarnation || own->owned == 0;
}

static void end_host(struct tri_membership *self, const struct tri_member *own)
{
    const char *words = own != NULL && own->why[0] != '\0' ? own->why
                        : own == NULL ? "this host was forgotten by troupe hosts forget"
                                      : "another engine of this host has begun";
    self->options.fail(self->options.self, TR_FENCED, words);
}

/*
 * What of the processes may run is known before one begins: without other hosts all of them, for
 * ever; else only those whose keeper has heard of the lease, which the process service says. One
 * that began before the first other host came is the exception, until the keeper has heard.
 */
static void want_processes(struct tri_membership *self, bool are_there,
                           const struct tri_member *own)
{
    if (self->renewals == 0) {
        self->written_processes = own->processes;
        self->wanted_processes = own->processes;
    }
    self->is_alone = self->is_alone && !are_there;
    if (self->is_alone) {
        self->wanted_processes = TRI_MEMBER_PROCESSES_UNBOUND;
    }
}

/* Keeps what was seen. A lease that the keeper has heard of is renewed for ever. */
static void publish(struct tri_membership *self, const struct tri_member *own)
{
    bool are_there = has_others(&self->looked, self->options.host);
    atomic_store(&self->has_others, are_there);
    (void)pthread_mutex_lock(&self->mutex);
    want_processes(self, are_there, own);
    memcpy(&self->view, &self->looked, sizeof self->view);
    self->renewals++;
    (void)pthread_cond_broadcast(&self->changed);
    if (are_there) {
        self->process_lease_ms = own->process_lease_ms;
    }
    (void)pthread_mutex_unlock(&self->mutex);
}

/* What of its processes may run is written down behind what has been done about it. */
static void write_processes(struct tri_membership *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    uint64_t wanted = self->wanted_processes;
    self->is_write_due = false; /* if it fails, the next beat does it */
    (void)pthread_mutex_unlock(&self->mutex);
    if (wanted != self->written_processes &&
        tri_registry_keep(self->registry, (enum tri_member_processes)wanted) == 0) {
        self->written_processes = wanted;
    }
    atomic_store(&self->may_begin,
                 self->written_processes == wanted && wanted != TRI_MEMBER_PROCESSES_NONE);
}

/* Where others reach this host is written down once; if that fails, by the next beat. */
static void listen_once(struct tri_membership *self)
{
    if (self->options.address != NULL && !self->has_listened) {
        self->has_listened =
            tri_registry_listen(self->registry, self->options.address, self->options.key) == 0;
    }
}

/*
 * Takes the work of a host that is lost, and divides it among all that work. What this one gets of
 * it the program loads, when it sees it (runtime/host/follow.h).
 */
static void take_lost(struct tri_membership *self, const struct tri_member *own)
{
    const struct tri_member *lost = NULL;
    char why[TRI_MEMBER_WHY_BYTES];
    enum tri_member_finding finding =
        tri_member_find(&self->watch, &self->looked, self->options.incarnation, &lost);
    if (!self->options.takes || finding != TRI_MEMBER_TAKE) {
        return;
    }
    tri_member_explain_fence(lost, own->name, why);
    tri_member_divide(&self->looked, lost->number, own->number, &self->shares);
    /* If it lives after all, or another was quicker, the next look shows it. */
    (void)!tri_registry_take(self->registry, lost, &self->shares, why);
}

/* One beat; false: this host must end. */
static bool beat(struct tri_membership *self)
{
    uint64_t began_ms = tri_monotonic_ms();
    if (self->registry == NULL) {
        if (self->options.open(self->options.self, &self->registry) != 0) {
            return true;
        }
        self->registry->self = self->options.host;
        self->registry->incarnation = self->options.incarnation;
    }
    if (tri_registry_look(self->registry, &self->looked) != 0) {
        return true;
    }
    tri_member_watch_hear(&self->watch, &self->looked, began_ms, tri_monotonic_ms());
    const struct tri_member *own = tri_member_view_find(&self->looked, self->options.host);
    if (is_fenced(self, own)) {
        end_host(self, own);
        return false;
    }
    tri_permit_renew(&self->permit, began_ms, own->lease_ms);
    publish(self, own);
    if (self->options.changed != NULL && self->seen_view != self->looked.view) {
        self->seen_view = self->looked.view;
        self->options.changed(self->options.self);
    }
    write_processes(self);
    listen_once(self);
    take_lost(self, own);
    return true;
}

/* Whether another thread wants something. */
static bool is_asked(struct tri_membership *self, bool *is_stopping)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool is_it = self->is_stopping || self->is_write_due || self->is_look_due;
    *is_stopping = self->is_stopping;
    (void)pthread_mutex_unlock(&self->mutex);
    return is_it;
}

/* Until there is something to read, or the time. */
static void rest(struct tri_membership *self, uint64_t now_ms, uint64_t time_ms)
{
    struct pollfd items[] = {{.fd = self->wake, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    uint64_t woken;
    if (self->registry != NULL && !self->has_news) {
        items[1].fd = tri_registry_descriptor(self->registry);
    }
    (void)poll(items, TR_COUNT_OF(items), (int)(time_ms - now_ms));
    while (read(self->wake, &woken, sizeof woken) > 0) {
    }
}

/*
 * Waits until a time of the steady clock, whatever the wall clock does, or until a look is worth
 * while before; whether to go on.
 */
static bool wait_until(struct tri_membership *self, uint64_t time_ms)
{
    bool is_stopping = false;
    while (!is_asked(self, &is_stopping)) {
        uint64_t now_ms = tri_monotonic_ms();
        if (self->registry != NULL) {
            self->has_news = tri_registry_has_news(self->registry) || self->has_news;
        }
        uint64_t end_ms = self->has_news && self->looked_ms + NEWS_MS < time_ms
                              ? self->looked_ms + NEWS_MS
                              : time_ms;
        if (now_ms >= end_ms) {
            break;
        }
        rest(self, now_ms, end_ms);
    }
    return !is_stopping;
}

/* Whether it is time to look: somebody wants it, there are news, or the beat is due. */
static bool takes_look(struct tri_membership *self, uint64_t next_ms)
{
    uint64_t now_ms = tri_monotonic_ms();
    bool is_early = self->has_news && now_ms >= self->looked_ms + NEWS_MS;
    (void)pthread_mutex_lock(&self->mutex);
    bool is_wanted = self->is_look_due;
    self->is_look_due = false;
    (void)pthread_mutex_unlock(&self->mutex);
    return is_wanted || is_early || now_ms >= next_ms;
}

static void *run(void *argument)
{
    struct tri_membership *self = argument;
    uint64_t next_ms = tri_monotonic_ms();
    bool goes_on = true;
    while (goes_on && wait_until(self, next_ms)) {
        if (!takes_look(self, next_ms)) {
            write_processes(self);
            continue;
        }
        self->has_news = false;
        self->looked_ms = tri_monotonic_ms();
        goes_on = beat(self);
        next_ms = tri_monotonic_ms() + TRI_MEMBER_BEAT_MS;
    }
    return NULL;
}

static void release(struct tri_membership *self)
{
    tri_registry_close(self->registry);
    (void)close(self->wake);
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    tr_free(self);
}

int tri_membership_start(const struct tri_membership_options *options,
                         struct tri_membership **membership)
{
    struct tri_membership *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        return TR_MEMORY;
    }
    self->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->wake < 0) {
        tr_free(self);
        return TR_SYSTEM;
    }
    self->options = *options;
    self->is_alone = true;
    self->watch.self = options->host;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->changed, NULL);
    tri_permit_renew(&self->permit, tri_monotonic_ms(), TRI_MEMBER_LEASE_MS_MIN);
    if (pthread_create(&self->thread, NULL, run, self) != 0) {
        release(self);
        return TR_SYSTEM;
    }
    *membership = self;
    return 0;
}

void tri_membership_stop(struct tri_membership *membership)
{
    if (membership == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&membership->mutex);
    membership->is_stopping = true;
    (void)pthread_cond_broadcast(&membership->changed);
    wake(membership);
    (void)pthread_mutex_unlock(&membership->mutex);
    (void)pthread_join(membership->thread, NULL);
    if (membership->registry != NULL) {
        write_processes(membership);
    }
    release(membership);
}
