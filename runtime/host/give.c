/*
 * Giving partitions.
 *
 *   1. withhold: no group begins any more in the partitions that may be given, on any worker, but
 *      with one that lies there; and what was done there so far is committed, and comes into the
 *      tables of the store;
 *   2. look: the database says in which of them nothing lies. Since nothing begins there, this
 *      stays so. The others are released again;
 *   3. tell: the interhost service, and behind it each worker, has the new host as theirs. From now
 *      on nobody here takes a group there for its own. What was on its way inside this host is
 *      committed, too;
 *   4. give: the database changes the owners in one transaction, if still nothing lies there.
 *
 * The new host may begin groups there from step 4 on. Whoever here hears of one hears it through
 * the service, behind step 3: so nothing that is said to such a group is lost as said to a group of
 * this host that has ended.
 *
 * A message that came from another host right between 2 and 3, for a group that has ended, may have
 * left an interhost actor there; then step 4 gives nothing, and this host takes all of it back,
 * by the view that the refusal has. Its groups were never elsewhere, so nothing is loaded.
 *
 * Groups go with their partitions when that is wanted (tri_give_want). Then, of the partitions that
 * are named, before step 3:
 *
 *   a. freeze: none of their handlers runs any more (../move/leave.h). Calls that are open get a
 *      moment to be answered; what waits longer, or has processes, is thawed, and stays;
 *   b. part and flush: what this host's other groups said to them is in mailboxes;
 *
 * and behind it, before step 4:
 *
 *   c. unload: all of them is committed and forgotten here, and comes into the tables.
 *
 * What a refusal leaves with this host is loaded again, as what a lost host had (take.h): the next
 * look shows it. Until step 4 is done the partitions are this host's for the database, so whoever
 * takes it over finds all of them in the tables; from then on they are the other host's.
 *
 * If the database does not answer in step 4, nobody knows what it has done, and it is asked again
 * until it says so. The epochs of the look tell what was given, and may have come back since, from
 * what was not. If this host is lost meanwhile, the database has the truth.
 */
#include "runtime/host/give.h"

#include <string.h>

#include "runtime/actor/deliver.h"
#include "runtime/commits/commit_log.h"
#include "runtime/host/adopt.h"
#include "runtime/host/control.h"
#include "runtime/host/interhost_thread.h"
#include "runtime/members/registry.h"
#include "runtime/move/leave.h"
#include "runtime/store_open.h"

#define VIEW_WAIT_NS 1000000

/* How long this host waits behind a look that has found nothing to give. */
#define AGAIN_NS 10000000000ULL

enum stage {
    STAGE_IDLE,
    STAGE_WITHHELD, /* until the tables have what was done there */
    STAGE_TOLD,     /* the same, and then it is given */
};

/* How long calls of groups that are frozen may take to be answered, and how soon it is looked. */
#define CALLS_NS 200000000ULL
#define LOOK_NS 1000000

/*
 * How many partitions go at once with what lies there: of a host that is drained, and for balance.
 * And how long one stays alone that has waited for calls, or for processes.
 */
#define DRAINED_AT_ONCE 64
#define BALANCED_AT_ONCE 8
#define CALLS_AGAIN_NS 1000000000ULL
#define PROCESSES_AGAIN_NS 3000000000ULL

/* Each round of flushes is behind the one before it (../move/leave.c). */
#define FLUSH_ROUNDS 2

enum step {
    STEP_WITHHOLD,
    STEP_VIEW,
    STEP_FREEZE,
    STEP_LOOK,
    STEP_PART,
    STEP_FLUSH,
    STEP_FLUSHED,
    STEP_UNLOAD,
};

struct tri_give {
    struct tr_adopting adopting; /* the first, so that steps find the rest */
    enum stage stage;
    bool withheld[TR_PARTITIONS_MAX];
    struct tri_member_shares shares;    /* what is given, and to whom */
    uint32_t epochs[TR_PARTITIONS_MAX]; /* of the look by which it is given */
    bool is_committed;                  /* what workers had cut when they were asked last */
    uint64_t sequence;                  /* of the log then, which the tables have to reach */
    uint64_t view;                      /* the last one that this host has made itself */
    uint64_t again_ns;                  /* not before */
    bool is_wanted;
    bool has_more;      /* what was given last was not all of it */
    bool is_even;       /* it gives nothing for balance but what is empty */
    bool lacks_vacancy; /* a look has found nothing empty, and others have fewer */
    uint64_t stays_ns[TR_PARTITIONS_MAX];             /* each until then, since it has waited */
    struct tri_member_shares wanted;                  /* what goes with all that lies there */
    bool frozen[TR_PARTITIONS_MAX];                   /* no handler runs there */
    uint8_t waits[TR_WORKERS_MAX][TR_PARTITIONS_MAX]; /* each worker's; enum tri_leave_wait */
    uint64_t frozen_ns;                               /* since when */
    struct tri_give_outcome outcome;
};

struct tri_give *tri_give_new(void)
{
    return tr_alloc_zero(1, sizeof(struct tri_give));
}

void tri_give_free(struct tri_give *give)
{
    tr_free(give);
}

bool tri_give_is_past(const struct tri_give *give, const struct tri_member_view *seen)
{
    return seen->view < give->view;
}

void tri_give_cover(const struct tri_give *give, uint16_t *hosts)
{
    for (size_t i = 0; give->stage == STAGE_TOLD && i < give->shares.count; i++) {
        hosts[i] = give->shares.hosts[i] != 0 ? (uint16_t)give->shares.hosts[i] : hosts[i];
    }
}

/* ---- The worker. ----------------------------------------------------------------------------- */

/* What it had begun there before is in the cut, which has its number when this is answered. */
static int withhold(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_give *give = (const struct tri_give *)adopting;
    (void)at;
    memcpy(worker->owners.withheld, give->withheld, sizeof give->withheld);
    tri_deliver_waiting(worker);
    tri_cut_flush(worker);
    return 0;
}

static int look_for_view(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_give *give = (const struct tri_give *)adopting;
    (void)at;
    tri_cut_flush(worker);
    return worker->owners.view >= give->view ? 0 : TR_BUSY;
}

static struct tri_give *give_of(const struct tr_adopting *adopting)
{
    return (struct tri_give *)(uintptr_t)adopting;
}

static int freeze(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    (void)at;
    tri_leave_freeze(worker, give_of(adopting)->frozen);
    return 0;
}

static int look_at_calls(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    (void)at;
    tri_leave_look(worker, give_of(adopting)->waits[worker->index]);
    return 0;
}

static int part(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    (void)adopting;
    (void)at;
    tri_leave_part(worker);
    return 0;
}

static int flush(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    (void)adopting;
    (void)at;
    tri_leave_flush(worker);
    return 0;
}

static int look_for_flushes(struct tri_worker *worker, const struct tr_adopting *adopting,
                            uint64_t at)
{
    (void)adopting;
    return tri_leave_is_flushed(worker, (uint32_t)at + 1) ? 0 : TR_BUSY;
}

static int unload(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    (void)at;
    return tri_leave_unload(worker, give_of(adopting)->frozen);
}

static const struct tri_adopt_step steps[] = {
    [STEP_WITHHOLD] = {withhold, false},
    [STEP_VIEW] = {look_for_view, true},
    [STEP_FREEZE] = {freeze, false},
    [STEP_LOOK] = {look_at_calls, false},
    [STEP_PART] = {part, false},
    [STEP_FLUSH] = {flush, false},
    [STEP_FLUSHED] = {look_for_flushes, true},
    [STEP_UNLOAD] = {unload, false},
};

/* ---- The program: asking. -------------------------------------------------------------------- */

static int ask(struct tri_give *give, struct tr_host *host, enum step step)
{
    give->adopting.host = host;
    give->adopting.steps = steps;
    return tri_adopting_ask(&give->adopting, (uint8_t)step, 1);
}

/* Asks until no worker is busy with it, as often as it is counted. */
static int ask_until(struct tri_give *give, struct tr_host *host, enum step step, size_t count)
{
    int error = tri_adopting_ask(&give->adopting, (uint8_t)step, count);
    while (error == TR_BUSY) {
        tri_control_poll(host, VIEW_WAIT_NS);
        error = tri_adopting_ask(&give->adopting, (uint8_t)step, count);
    }
    return error;
}

/* All that workers have cut is committed, and where in the log. */
static int commit_all(struct tri_give *give, struct tr_host *host)
{
    int error = tr_host_write(host, NULL, 0);
    if (error == 0) {
        error = tr_host_write_wait(host);
    }
    if (error == 0) {
        give->sequence = tri_commit_log_lag(host->store).sequence;
        give->is_committed = true;
    }
    return error;
}

/* Whether the tables have all that was done before the workers were asked last. */
static int settle(struct tri_give *give, struct tr_host *host)
{
    int error = give->is_committed ? 0 : commit_all(give, host);
    if (error == 0) {
        tri_commit_log_catch_up(host->store);
    }
    bool is_behind = error == 0 && tri_commit_log_lag(host->store).applied < give->sequence;
    return is_behind ? TR_BUSY : error;
}

static int open_registry(const struct tr_host *host, struct tri_registry **registry)
{
    int error = tri_store_registry_open(host->folder, NULL, false, NULL, registry);
    if (error == 0) {
        (*registry)->self = host->store->host;
        (*registry)->incarnation = host->store->incarnation;
    }
    return error;
}

static int keep_withheld(struct tri_give *give, struct tr_host *host, const bool *withheld)
{
    memcpy(give->withheld, withheld, sizeof give->withheld);
    return ask(give, host, STEP_WITHHOLD);
}

/* Nothing is given for now. */
static int release(struct tri_give *give, struct tr_host *host)
{
    static const bool none[TR_PARTITIONS_MAX];
    give->stage = STAGE_IDLE;
    give->again_ns = tri_monotonic_ns(host->env) + AGAIN_NS;
    return keep_withheld(give, host, none);
}

/* ---- The program: the steps. ----------------------------------------------------------------- */

static bool has_gifts(const struct tri_member_shares *shares)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (shares->hosts[i] != 0) {
            return true;
        }
    }
    return false;
}

/* What may be given at all: a host goes on speaking in the partition of its voice. */
static void list_own(const struct tr_host *host, const struct tri_member_view *seen, bool *may)
{
    uint64_t voice = tri_group_partition(host->shared.voice);
    memset(may, 0, TR_PARTITIONS_MAX * sizeof *may);
    for (size_t i = 0; i < seen->partition_count; i++) {
        may[i] = i != voice && seen->partitions[i] == host->store->host;
    }
}

/* Only so many, so that none stands still for long. */
static void cut_short(struct tri_member_shares *shares, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < shares->count; i++) {
        count += shares->hosts[i] != 0;
        shares->hosts[i] = count <= most ? shares->hosts[i] : 0;
    }
}

/* Those of its own that have not waited just now. */
static void list_ready(const struct tri_give *give, const struct tr_host *host,
                       const struct tri_member_view *seen, bool *may)
{
    uint64_t now_ns = tri_monotonic_ns(host->env);
    list_own(host, seen, may);
    for (size_t i = 0; i < seen->partition_count; i++) {
        may[i] = may[i] && give->stays_ns[i] <= now_ns;
    }
}

/* That of the voice, too, so that it is said why it stays (note_voice). */
static void list_asked(const struct tri_member_view *seen, uint64_t self, const bool *may,
                       uint64_t voice, struct tri_member_shares *shares)
{
    *shares = (struct tri_member_shares){.count = seen->partition_count};
    for (size_t i = 0; i < seen->partition_count; i++) {
        const struct tri_member *to = tri_member_view_find(seen, seen->wanted[i]);
        bool goes = (may[i] || i == voice) && to != NULL && to->state == TRI_MEMBER_UP &&
                    to->number != self && seen->partitions[i] == self;
        shares->hosts[i] = goes ? to->number : 0;
    }
}

/*
 * What goes with all that lies there, if any does: what somebody wants elsewhere; all of a host
 * that is drained; and what makes the hosts even, when nothing empty is left.
 */
static void plan(struct tri_give *give, const struct tr_host *host,
                 const struct tri_member_view *seen)
{
    bool may[TR_PARTITIONS_MAX];
    uint64_t self = host->store->host;
    const struct tri_member *own = tri_member_view_find(seen, self);
    bool is_drained = own != NULL && own->is_drained;
    struct tri_member_shares shares;
    give->has_more = false;
    list_ready(give, host, seen, may);
    uint64_t voice = tri_group_partition(host->shared.voice);
    bool is_silent =
        voice < TR_PARTITIONS_MAX && give->stays_ns[voice] <= tri_monotonic_ns(host->env);
    list_asked(seen, self, may, is_silent ? voice : TR_PARTITIONS_MAX, &shares);
    if (!has_gifts(&shares) && (is_drained || (give->lacks_vacancy && !give->is_even))) {
        tri_member_spread(seen, self, may, &shares);
        cut_short(&shares, is_drained ? DRAINED_AT_ONCE : BALANCED_AT_ONCE);
        give->has_more = is_drained && has_gifts(&shares);
        give->lacks_vacancy = give->lacks_vacancy && has_gifts(&shares);
    }
    if (has_gifts(&shares)) {
        tri_give_want(give, &shares);
    }
}

static int begin(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen)
{
    bool may[TR_PARTITIONS_MAX];
    list_own(host, seen, may);
    tri_member_spread(seen, host->store->host, may, &give->shares);
    if (!has_gifts(&give->shares) || tri_monotonic_ns(host->env) < give->again_ns) {
        return 0;
    }
    give->stage = STAGE_WITHHELD;
    give->is_committed = false;
    return keep_withheld(give, host, may);
}

/* Chooses among the empty ones; the rest is released. */
static int choose(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen,
                  const bool *vacant)
{
    bool given[TR_PARTITIONS_MAX] = {false};
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        given[i] = give->withheld[i] && vacant[i];
    }
    tri_member_spread(seen, host->store->host, given, &give->shares);
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        given[i] = i < give->shares.count && give->shares.hosts[i] != 0;
    }
    memcpy(give->epochs, seen->epochs, sizeof give->epochs);
    return keep_withheld(give, host, given);
}

static void read_owners(const struct tr_host *host, uint16_t *hosts)
{
    memcpy(hosts, host->shared.owners.hosts, sizeof host->shared.owners.hosts);
}

/* Who has what from the view on, for the service, the workers and the program. */
static int tell(struct tri_give *give, struct tr_host *host, uint64_t view, const uint16_t *hosts)
{
    int error = tri_interhost_thread_tell_given(host, view, hosts, TR_PARTITIONS_MAX);
    if (error != 0) {
        return error;
    }
    give->view = view;
    /* Each worker knows of the view, and what it has done before is committed. */
    error = ask_until(give, host, STEP_VIEW, 1);
    return error != 0 ? error
                      : tri_owners_give(&host->shared.owners, view, hosts, TR_PARTITIONS_MAX);
}

static int tell_gifts(struct tri_give *give, struct tr_host *host, uint64_t view)
{
    uint16_t hosts[TR_PARTITIONS_MAX];
    read_owners(host, hosts);
    give->stage = STAGE_TOLD;
    tri_give_cover(give, hosts);
    int error = tell(give, host, view, hosts);
    if (error != 0 && give->view != view) { /* the host that comes is not known here */
        return release(give, host);
    }
    give->is_committed = false;
    return error;
}

/* The database says what is empty. */
static int look(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen,
                struct tri_registry *registry)
{
    bool vacant[TR_PARTITIONS_MAX];
    uint64_t view = 0;
    int error = tri_registry_vacant(registry, vacant, &view);
    if (error != 0) {
        return error;
    }
    error = choose(give, host, seen, vacant);
    if (error == 0 && !has_gifts(&give->shares)) {
        give->lacks_vacancy = true;
        return release(give, host);
    }
    return error != 0 ? error : tell_gifts(give, host, view);
}

static int take_back(struct tri_give *give, struct tr_host *host, uint64_t view)
{
    uint16_t hosts[TR_PARTITIONS_MAX];
    read_owners(host, hosts);
    for (size_t i = 0; i < give->shares.count; i++) {
        hosts[i] = give->shares.hosts[i] != 0 ? host->shared.owners.self : hosts[i];
    }
    int error = tell(give, host, view, hosts);
    return error != 0 ? error : release(give, host);
}

/*
 * What was unloaded is loaded by the next look, which is as late as this view: this host has told
 * itself that it is another's, and finds it among its own (follow.c).
 */
static void end_live(struct tri_give *give, struct tr_host *host, uint64_t view, int reason)
{
    struct tri_give_outcome *outcome = &give->outcome;
    for (size_t i = 0; i < give->shares.count; i++) {
        bool is_meant = give->shares.hosts[i] != 0;
        outcome->given += is_meant && reason == 0;
        if (is_meant && reason != 0) {
            give->stays_ns[i] = tri_monotonic_ns(host->env) + AGAIN_NS;
        }
    }
    outcome->is_done = true;
    outcome->reason = reason;
    outcome->frozen_ns = tri_monotonic_ns(host->env) - give->frozen_ns;
    give->stage = STAGE_IDLE;
    give->view = view;
    memset(give->frozen, 0, sizeof give->frozen);
    if (outcome->given > 0) {
        (void)!tri_interhost_thread_tell_view(host, view); /* else they look within a second */
    }
}

static int hand_over(struct tri_give *give, struct tr_host *host, struct tri_registry *registry)
{
    uint64_t view = 0;
    uint64_t frozen_ns = tri_monotonic_ns(host->env) - give->frozen_ns;
    give->shares.frozen_us = give->shares.are_live ? frozen_ns / 1000 : 0;
    int error = tri_registry_give(registry, &give->shares, give->epochs, &view);
    if (give->shares.are_live && (error == 0 || error == TR_INVALID)) {
        end_live(give, host, view, error);
        return 0;
    }
    if (error == TR_INVALID) {
        return take_back(give, host, view);
    }
    if (error == 0) {
        give->stage = STAGE_IDLE;
        give->view = view;
    }
    return error;
}

/* ---- The program: with all that lies there. -------------------------------------------------- */

void tri_give_want(struct tri_give *give, const struct tri_member_shares *shares)
{
    give->wanted = *shares;
    give->wanted.are_live = true;
    give->is_wanted = true;
    give->outcome = (struct tri_give_outcome){.is_done = false};
}

void tri_give_keep(struct tri_give *give)
{
    give->is_even = true;
}

bool tri_give_has_more(const struct tri_give *give)
{
    return give->stage != STAGE_IDLE || give->has_more;
}

bool tri_give_is_idle(const struct tri_give *give)
{
    return give->stage == STAGE_IDLE && !give->is_wanted;
}

const struct tri_give_outcome *tri_give_outcome_of(const struct tri_give *give)
{
    return &give->outcome;
}

/* Only what is this host's, but for what it speaks in, and goes to one that is known here. */
static void list_wanted(struct tri_give *give, const struct tr_host *host,
                        const struct tri_member_view *seen)
{
    bool may[TR_PARTITIONS_MAX];
    list_own(host, seen, may);
    give->shares = give->wanted;
    give->is_wanted = false;
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        uint64_t to = i < give->shares.count ? give->shares.hosts[i] : 0;
        bool is_known = to != 0 && to <= TR_HOST_NUMBER_MAX && i < seen->partition_count &&
                        tri_directory_place(&host->shared.directory, (uint16_t)to) >= 0;
        give->frozen[i] = is_known && may[i];
        give->shares.hosts[i] = give->frozen[i] ? to : 0;
    }
    memcpy(give->epochs, seen->epochs, sizeof give->epochs);
}

static int freeze_all(struct tri_give *give, struct tr_host *host)
{
    int error = keep_withheld(give, host, give->frozen);
    return error != 0 ? error : ask(give, host, STEP_FREEZE);
}

/* What keeps a partition here, as all workers have found it. */
static uint8_t wait_of(const struct tri_give *give, const struct tr_host *host, size_t partition)
{
    uint8_t wait = TRI_LEAVE_FREE;
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        wait = give->waits[i][partition] > wait ? give->waits[i][partition] : wait;
    }
    return wait;
}

static int look_once(struct tri_give *give, struct tr_host *host, bool *waits_for_calls)
{
    memset(give->waits, 0, sizeof give->waits);
    int error = ask(give, host, STEP_LOOK);
    *waits_for_calls = false;
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        *waits_for_calls = *waits_for_calls || wait_of(give, host, i) == TRI_LEAVE_CALLS;
    }
    return error;
}

/* Those that wait for too long are thawed: nothing was done to them so far. */
static int thaw_waiting(struct tri_give *give, struct tr_host *host)
{
    struct tri_give_outcome *outcome = &give->outcome;
    outcome->waits.count = TR_PARTITIONS_MAX;
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        uint8_t wait = give->frozen[i] ? wait_of(give, host, i) : TRI_LEAVE_FREE;
        outcome->have_calls += wait == TRI_LEAVE_CALLS;
        outcome->have_processes += wait == TRI_LEAVE_PROCESSES;
        outcome->waits.hosts[i] = wait;
        if (wait != TRI_LEAVE_FREE) {
            give->stays_ns[i] =
                give->frozen_ns + (wait == TRI_LEAVE_CALLS ? CALLS_AGAIN_NS : PROCESSES_AGAIN_NS);
            give->frozen[i] = false;
            give->shares.hosts[i] = 0;
        }
    }
    return freeze_all(give, host);
}

static int wait_for_calls(struct tri_give *give, struct tr_host *host)
{
    bool waits = true;
    int error = look_once(give, host, &waits);
    while (error == 0 && waits && tri_monotonic_ns(host->env) - give->frozen_ns < CALLS_NS) {
        tri_control_poll(host, LOOK_NS);
        error = look_once(give, host, &waits);
    }
    return error != 0 ? error : thaw_waiting(give, host);
}

static int flush_all(struct tri_give *give, struct tr_host *host)
{
    int error = ask(give, host, STEP_PART);
    for (size_t round = 1; error == 0 && round <= FLUSH_ROUNDS; round++) {
        error = ask(give, host, STEP_FLUSH);
        if (error == 0) {
            error = ask_until(give, host, STEP_FLUSHED, round);
        }
    }
    return error;
}

/* Behind this nothing of them is here, and the tables have it soon. */
static int unload_all(struct tri_give *give, struct tr_host *host, uint64_t view)
{
    int error = flush_all(give, host);
    if (error == 0) {
        error = tell_gifts(give, host, view);
    }
    if (error == 0 && give->stage != STAGE_TOLD) {
        error = TR_CLOSED; /* nobody could be told, and they have parted from the others */
    }
    if (error == 0) {
        error = ask(give, host, STEP_UNLOAD);
    }
    give->is_committed = false;
    return error;
}

/* What is wanted elsewhere may be where this host speaks itself. */
static void note_voice(struct tri_give *give, const struct tr_host *host,
                       const struct tri_member_view *seen)
{
    uint64_t voice = tri_group_partition(host->shared.voice);
    if (voice < seen->partition_count && seen->wanted[voice] != 0 &&
        seen->partitions[voice] == host->store->host) {
        give->outcome.waits.count = TR_PARTITIONS_MAX;
        give->outcome.waits.hosts[voice] = TRI_MEMBER_WAITS_HOST;
        give->stays_ns[voice] = tri_monotonic_ns(host->env) + AGAIN_NS;
    }
}

/* Those that may go are unloaded; what does not answer is asked again by the next step. */
static int begin_live(struct tri_give *give, struct tr_host *host,
                      const struct tri_member_view *seen, struct tri_registry *registry)
{
    bool vacant[TR_PARTITIONS_MAX];
    uint64_t view = 0;
    int error = tri_registry_vacant(registry, vacant, &view);
    if (error != 0) {
        return error;
    }
    list_wanted(give, host, seen);
    give->frozen_ns = tri_monotonic_ns(host->env);
    error = freeze_all(give, host);
    if (error == 0) {
        error = wait_for_calls(give, host);
    }
    note_voice(give, host, seen);
    if (error == 0 && has_gifts(&give->outcome.waits)) {
        (void)!tri_registry_stay(registry, &give->outcome.waits); /* only for people */
    }
    if (error == 0 && !has_gifts(&give->shares)) {
        end_live(give, host, give->view, TR_BUSY);
        return release(give, host);
    }
    return error != 0 ? error : unload_all(give, host, view);
}

static int go_on(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen);

/* An error behind the freezing is one of this host: it ends, and the store has everything. */
static int move(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen)
{
    struct tri_registry *registry = NULL;
    int error = open_registry(host, &registry);
    if (error == 0) {
        error = begin_live(give, host, seen, registry);
    }
    tri_registry_close(registry);
    if (error != 0 || give->stage != STAGE_TOLD) {
        return error;
    }
    return go_on(give, host, seen);
}

static int go_on(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen)
{
    struct tri_registry *registry = NULL;
    int error = settle(give, host);
    if (error == 0) {
        error = open_registry(host, &registry);
    }
    if (error == 0) {
        error = give->stage == STAGE_WITHHELD ? look(give, host, seen, registry)
                                              : hand_over(give, host, registry);
    }
    tri_registry_close(registry);
    return error;
}

/* What is busy comes again. That this host was fenced its membership finds out, with words. */
int tri_give_step(struct tri_give *give, struct tr_host *host, const struct tri_member_view *seen)
{
    bool is_idle = give->stage == STAGE_IDLE;
    if (is_idle && !give->is_wanted) {
        plan(give, host, seen);
    }
    int error = !is_idle          ? go_on(give, host, seen)
                : give->is_wanted ? move(give, host, seen)
                                  : begin(give, host, seen);
    return error == TR_BUSY || error == TR_FENCED ? 0 : error;
}
