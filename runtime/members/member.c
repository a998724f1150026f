/*
 * What a host makes of what it sees of the others.
 *
 * Invariant of a watch: `since_ms` of a host is a time at which its signs were read as they are, or
 * later, and since then no look of this host was late. A late look moves it to the time of that
 * look, for all hosts. So what is measured is never more than the silence of the other one.
 */
#include "runtime/members/member.h"

#include <stdio.h>
#include <string.h>

static const struct {
    uint64_t state;
    const char *name;
    bool may_be_taken;
} states[] = {
#define TRI_STATE(name, number, text, may_be_taken) {TRI_MEMBER_##name, text, may_be_taken},
    TRI_MEMBER_STATES(TRI_STATE)
#undef TRI_STATE
};

const char *tri_member_state_name(uint64_t state)
{
    for (size_t i = 0; i < TR_COUNT_OF(states); i++) {
        if (states[i].state == state) {
            return states[i].name;
        }
    }
    return "unknown";
}

bool tri_member_may_be_taken(uint64_t state)
{
    for (size_t i = 0; i < TR_COUNT_OF(states); i++) {
        if (states[i].state == state) {
            return states[i].may_be_taken;
        }
    }
    return false;
}

const struct tri_member *tri_member_view_find(const struct tri_member_view *view, uint64_t number)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->members[i].number == number) {
            return &view->members[i];
        }
    }
    return NULL;
}

/* ---- Looking. -------------------------------------------------------------------------------- */

static bool are_equal(const struct tri_member_signs *a, const struct tri_member_signs *b)
{
    return a->incarnation == b->incarnation && a->commits == b->commits &&
           a->last_number == b->last_number && a->last_sequence == b->last_sequence &&
           a->beat == b->beat;
}

/*
 * How late a look may be. In a time in which this host did not look, others may have been cut off
 * as well; so it is a small part of the lease that is counted with it.
 */
static uint64_t late_ms(const struct tri_member_watch *watch, const struct tri_member_view *view)
{
    const struct tri_member *self = tri_member_view_find(view, watch->self);
    uint64_t part_ms = self != NULL ? self->lease_ms / TRI_MEMBER_LATE_PARTS : TRI_MEMBER_LATE_MS;
    return part_ms < TRI_MEMBER_LATE_MS ? part_ms : TRI_MEMBER_LATE_MS;
}

/* Whether this look, and the time since the one before, say nothing of the others' silence. */
static bool is_late(const struct tri_member_watch *watch, const struct tri_member_view *view,
                    uint64_t asked_ms, uint64_t heard_ms)
{
    uint64_t most_ms = late_ms(watch, view);
    return !watch->has_looked || asked_ms - watch->looked_ms > TRI_MEMBER_BEAT_MS + most_ms ||
           heard_ms - asked_ms > most_ms;
}

/* Where the watch has a host; its count: nowhere. */
static size_t place_of(const struct tri_member_watch *watch, uint64_t number)
{
    size_t i = 0;
    while (i < watch->count && watch->others[i].number != number) {
        i++;
    }
    return i;
}

void tri_member_watch_hear(struct tri_member_watch *watch, const struct tri_member_view *view,
                           uint64_t asked_ms, uint64_t heard_ms)
{
    struct tri_member_watch heard = {
        .self = watch->self, .has_looked = true, .looked_ms = heard_ms};
    bool is_anew = is_late(watch, view, asked_ms, heard_ms);
    for (size_t i = 0; i < view->count; i++) {
        const struct tri_member *member = &view->members[i];
        size_t known = place_of(watch, member->number);
        bool is_silent = !is_anew && known < watch->count &&
                         are_equal(&watch->others[known].signs, &member->signs);
        heard.others[heard.count].number = member->number;
        heard.others[heard.count].signs = member->signs;
        heard.others[heard.count].since_ms = is_silent ? watch->others[known].since_ms : heard_ms;
        heard.count++;
    }
    *watch = heard;
}

uint64_t tri_member_watch_silent_ms(const struct tri_member_watch *watch, uint64_t number)
{
    size_t known = place_of(watch, number);
    return known < watch->count ? watch->looked_ms - watch->others[known].since_ms : 0;
}

/* ---- Deciding. ------------------------------------------------------------------------------- */

/* Whether the host that looks is still the one that the database knows. */
static bool is_known(const struct tri_member *self, uint64_t incarnation)
{
    return self != NULL && self->state == TRI_MEMBER_UP && self->signs.incarnation == incarnation;
}

/* Whether a host that has some of the work may be fenced. */
static bool is_lost(const struct tri_member_watch *watch, const struct tri_member *member)
{
    return tri_member_may_be_taken(member->state) ||
           tri_member_watch_silent_ms(watch, member->number) >= member->lease_ms;
}

enum tri_member_finding tri_member_find(const struct tri_member_watch *watch,
                                        const struct tri_member_view *view, uint64_t incarnation,
                                        const struct tri_member **owner)
{
    const struct tri_member *self = tri_member_view_find(view, watch->self);
    const struct tri_member *other = NULL;
    *owner = NULL;
    if (!is_known(self, incarnation)) {
        return TRI_MEMBER_FENCED;
    }
    for (size_t i = 0; i < view->count; i++) {
        const struct tri_member *member = &view->members[i];
        if (member == self || member->owned == 0) {
            continue;
        }
        if (is_lost(watch, member)) {
            *owner = member;
            return TRI_MEMBER_TAKE;
        }
        other = other != NULL ? other : member;
    }
    if (self->owned > 0 || other == NULL) {
        return TRI_MEMBER_OWN;
    }
    *owner = other;
    return TRI_MEMBER_WAIT;
}

/* ---- Dividing. ------------------------------------------------------------------------------- */

/* A host that gets partitions, and how many it has. */
struct receiver {
    uint64_t host;
    uint64_t owned;
};

/* Whether it has work, and lives as far as the database knows. */
static bool does_work(const struct tri_member *member)
{
    return member->state == TRI_MEMBER_UP && member->owned > 0 &&
           member->silent_ms < member->lease_ms;
}

/* The one with the fewest; of equal ones the first. */
static struct receiver *find_fewest(struct receiver *receivers, size_t count)
{
    struct receiver *fewest = &receivers[0];
    for (size_t i = 1; i < count; i++) {
        fewest = receivers[i].owned < fewest->owned ? &receivers[i] : fewest;
    }
    return fewest;
}

void tri_member_divide(const struct tri_member_view *view, uint64_t lost, uint64_t taker,
                       struct tri_member_shares *shares)
{
    struct receiver receivers[TRI_MEMBERS_MAX + 1] = {{.host = taker}};
    size_t count = 1;
    for (size_t i = 0; i < view->count; i++) {
        const struct tri_member *member = &view->members[i];
        if (member->number == taker) {
            receivers[0].owned = member->owned;
        } else if (member->number != lost && does_work(member) && !member->is_drained) {
            receivers[count++] = (struct receiver){member->number, member->owned};
        }
    }
    *shares = (struct tri_member_shares){.count = view->partition_count};
    for (size_t i = 0; i < view->partition_count; i++) {
        if (view->partitions[i] == lost) {
            struct receiver *receiver = find_fewest(receivers, count);
            shares->hosts[i] = receiver->host;
            receiver->owned++;
        }
    }
}

/* ---- Spreading. ------------------------------------------------------------------------------ */

static bool listens(const struct tri_member *member)
{
    return member->state == TRI_MEMBER_UP && member->silent_ms < member->lease_ms &&
           member->has_key && member->address[0] != '\0';
}

static struct receiver *find_most(struct receiver *receivers, size_t count)
{
    struct receiver *most = &receivers[0];
    for (size_t i = 1; i < count; i++) {
        most = receivers[i].owned > most->owned ? &receivers[i] : most;
    }
    return most;
}

/* The last partition before `end` that a host may give; the end: there is none. */
static size_t find_gift(const struct tri_member_view *view, uint64_t self, const bool *may,
                        size_t end)
{
    for (size_t i = end; i > 0; i--) {
        if (view->partitions[i - 1] == self && (may == NULL || may[i - 1])) {
            return i - 1;
        }
    }
    return end;
}

/* All that it may give, each to the one that has fewest then. */
static void spread_drained(const struct tri_member_view *view, uint64_t self, const bool *may,
                           struct receiver *hosts, size_t count, struct tri_member_shares *shares)
{
    for (size_t i = 0; count > 0 && i < view->partition_count; i++) {
        if (view->partitions[i] == self && (may == NULL || may[i])) {
            struct receiver *fewest = find_fewest(hosts, count);
            shares->hosts[i] = fewest->host;
            fewest->owned++;
        }
    }
}

/* All of them find the same, each by itself, as long as they look at the same view. */
void tri_member_spread(const struct tri_member_view *view, uint64_t self, const bool *may,
                       struct tri_member_shares *shares)
{
    struct receiver hosts[TRI_MEMBERS_MAX];
    size_t count = 0;
    size_t end = view->partition_count;
    bool is_drained = false;
    *shares = (struct tri_member_shares){.count = view->partition_count};
    for (size_t i = 0; i < view->count; i++) {
        const struct tri_member *member = &view->members[i];
        if (listens(member) && !member->is_drained) {
            hosts[count++] = (struct receiver){member->number, member->owned};
        }
        is_drained = is_drained || (member->number == self && member->is_drained);
    }
    if (is_drained) {
        spread_drained(view, self, may, hosts, count, shares);
        return;
    }
    while (count > 1) {
        struct receiver *most = find_most(hosts, count);
        struct receiver *fewest = find_fewest(hosts, count);
        if (most->owned < fewest->owned + 2) {
            break;
        }
        most->owned--;
        fewest->owned++;
        size_t gift = most->host == self ? find_gift(view, self, may, end) : end;
        if (gift < end) {
            shares->hosts[gift] = fewest->host;
            end = gift;
        }
    }
}

/* ---- In words. ------------------------------------------------------------------------------- */

const char *tri_member_show(const struct tri_member *member)
{
    if (member->state != TRI_MEMBER_UP) {
        return tri_member_state_name(member->state);
    }
    if (member->silent_ms >= member->lease_ms) {
        return "suspected";
    }
    if (member->owned > 0 && member->is_drained) {
        return "drained";
    }
    return member->owned > 0 ? "up" : listens(member) ? "joining" : "standing by";
}

void tri_member_explain_fence(const struct tri_member *fenced, const char *by, char *words)
{
    if (tri_member_may_be_taken(fenced->state)) {
        (void)snprintf(words, TRI_MEMBER_WHY_BYTES, "host %s had %s when host %s took over",
                       fenced->name, fenced->state == TRI_MEMBER_LEFT ? "left" : "ended", by);
        return;
    }
    (void)snprintf(words, TRI_MEMBER_WHY_BYTES,
                   "host %s was fenced by host %s: it did not answer for %u s", fenced->name, by,
                   fenced->lease_ms / 1000);
}

uint64_t tri_member_processes_end_ms(const struct tri_member_view *view,
                                     const struct tri_member *member)
{
    if (member->processes == TRI_MEMBER_PROCESSES_NONE) {
        return 0;
    }
    if (member->processes != TRI_MEMBER_PROCESSES_BOUND || member->state == TRI_MEMBER_UP) {
        return UINT64_MAX;
    }
    uint64_t end_ms = member->since_ms + member->process_lease_ms;
    return end_ms > view->now_ms ? end_ms - view->now_ms : 0;
}
