/*
 * Partitions of a lost host come into workers that run. A start (load.c) does the same with all
 * workers to itself; here each loads its own part between two messages (adopt.c).
 *
 * The order, each step for all workers before the next begins:
 *
 *   1. know: how many hosts the partitions have had, the latest clock of all stored messages, and
 *      which groups are set aside. This host's steady clock is brought forward to that of the lost
 *      one, if it is behind;
 *   2. neighbours: which groups will speak by their interhost actors for ever (tri_crosses), as
 *      their streams are open;
 *   3. counters, actors and pages; then the messages of mailboxes, in the order of sending. Actors
 *      are dormant, so none sends anything;
 *   4. groups that have ended are marked, and empty ones removed;
 *   -- the owners are changed --
 *   5. what acts at once or has no receiver is delivered: before, it would have left for the lost
 *      host;
 *   6. orphans end;
 *   7. all are opened and run. Interhost actors send again what is not acknowledged.
 *
 * From the change of the owners on others may speak to these groups. What they say is in mailboxes
 * behind what was stored, since that was put there in step 3.
 *
 * A crash at any moment leaves it to the next start, or to whoever takes the partitions then: the
 * store is not changed before the change of the owners, but for who has the partitions since when
 * (../members/partition_tenures.h).
 */
#include "runtime/host/take.h"

#include <stdlib.h>

#include "runtime/actor/image.h"
#include "runtime/cluster/pair.h"
#include "runtime/crashes/poison_message.h"
#include "runtime/host/adopt.h"
#include "runtime/host/control.h"
#include "runtime/host/host_members.h"
#include "runtime/host/interhost_thread.h"
#include "runtime/host/load.h"
#include "runtime/journal/crashes.h"
#include "runtime/members/kept_clock.h"

#define OPS_FIRST 256
#define VIEW_WAIT_NS 1000000

/* A group that comes, by what of it comes. */
struct taken_group {
    uint64_t number;
    bool has_first;    /* its first actor */
    bool is_inhabited; /* any actor but the interhost actor */
};

struct tri_take {
    struct tr_adopting adopting; /* the first, so that steps find the rest */
    struct tr_adoption adoption;
    const struct tr_host_view *view;
    struct tri_op *ops; /* with data of their own */
    size_t op_count;
    size_t op_capacity;
    struct taken_group *groups; /* by number */
    size_t group_count;
    struct tr_key *neighbours; /* (group, group) */
    size_t neighbour_count;
    struct tri_crashes *crashes; /* of the store */
    uint64_t aside[TR_ASIDE_MAX];
    size_t aside_count;
    uint64_t clock;     /* the latest of all messages */
    uint64_t steady_ms; /* what hosts have stored of their clocks */
};

enum step {
    STEP_LOOK,
    STEP_KNOW,
    STEP_NEIGHBOURS,
    STEP_LOAD,
    STEP_MAIL,
    STEP_ENDED,
    STEP_VIEW,
    STEP_REST,
    STEP_ORPHANS,
    STEP_OPEN,
};

/* -------------------------------------------------------------------- the worker */

static const struct tri_take *take_of(const struct tr_adopting *adopting)
{
    return (const struct tri_take *)adopting;
}

static bool is_gained(const struct tr_host *host, const struct tr_host_view *view, size_t partition)
{
    const struct tri_owners *owners = &host->shared.owners;
    return view->hosts[partition] == owners->self && owners->hosts[partition] != owners->self;
}

static int note_aside(struct tri_worker *worker, uint64_t number)
{
    struct tri_group *group = tri_group_get(worker, number);
    if (group != NULL) {
        group->is_aside = true;
    }
    return group == NULL ? TR_MEMORY : 0;
}

static int know(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_take *take = take_of(adopting);
    const struct tr_host_view *view = take->view;
    int error = 0;
    (void)at;
    worker->clock = take->clock > worker->clock ? take->clock : worker->clock;
    for (size_t i = 0; view->epochs != NULL && i < view->count; i++) {
        if (view->hosts[i] == worker->owners.self) {
            worker->owners.epochs[i] = view->epochs[i];
        }
    }
    for (size_t i = 0; error == 0 && i < take->aside_count; i++) {
        error = note_aside(worker, take->aside[i]);
    }
    return error;
}

static int note_neighbour(struct tri_worker *worker, const struct tr_adopting *adopting,
                          uint64_t at)
{
    const struct tr_key *pair = &take_of(adopting)->neighbours[at];
    return tri_remote_note_neighbour(worker, pair->group, pair->serial);
}

static struct tr_key receiver_of(const struct tri_op *op)
{
    return (struct tr_key){tr_envelope_get(op->data.data, 64, to_group),
                           tr_envelope_get(op->data.data, 64, to_serial)};
}

/* Whether it belongs into the mailbox of an actor that comes. */
static bool is_mail(const struct tr_adopting *adopting, const struct tri_op *op)
{
    const struct tri_adopted *adopted = tri_adopting_find(adopting, receiver_of(op));
    uint32_t incarnation = tr_envelope_get(op->data.data, 32, to_incarnation);
    return adopted != NULL && tr_envelope_get(op->data.data, 8, kind) != TR_KIND_CONTROL &&
           (incarnation == 0 || incarnation == adopted->op->incarnation);
}

/* A stored message, of which the worker's copy is one, too. */
static int copy_stored(struct tri_worker *worker, const struct tri_op *op,
                       struct tri_message **message)
{
    *message = tri_message_copy(worker, op->data);
    if (*message == NULL) {
        return TR_MEMORY;
    }
    (*message)->is_stored = 1;
    return 0;
}

/* No limit is applied: accepted messages stay accepted. */
static int load_mail(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_op *op = adopting->messages[at];
    struct tri_message *message = NULL;
    if (!tri_adopt_is_mine(worker, receiver_of(op)) || !is_mail(adopting, op)) {
        return 0;
    }
    int error = copy_stored(worker, op, &message);
    if (error == 0) {
        tri_mailbox_push(tri_actor_find(worker, receiver_of(op), 0), message);
    }
    return error;
}

/* Those that are no mail: controls, and messages to actors that are not there. */
static int load_rest(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_op *op = adopting->messages[at];
    struct tri_message *message = NULL;
    if (!tri_adopt_is_mine(worker, receiver_of(op)) || is_mail(adopting, op)) {
        return 0;
    }
    int error = copy_stored(worker, op, &message);
    if (error == 0) {
        tri_load_deliver(worker, message);
    }
    return error;
}

/*
 * A group whose first actor has ended goes with the last of its actors here; one of which there are
 * counters only goes now.
 */
static int mark_ended(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct taken_group *taken = &take_of(adopting)->groups[at];
    struct tri_group *group = tri_group_find(worker, taken->number);
    if (group == NULL || taken->has_first || group->is_aside) {
        return 0;
    }
    if (group->actor_count > 0) {
        group->is_ended = true;
    } else if (!taken->is_inhabited) {
        tri_end_group(worker, taken->number);
    }
    return 0;
}

/* Whether a worker knows of the view already. */
static int look_for_view(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    (void)at;
    return worker->owners.view >= take_of(adopting)->view->view ? 0 : TR_BUSY;
}

/* Whether the parent would have come, too. One in a group that was not loaded is not missed. */
static bool is_orphan(const struct tr_adopting *adopting, const struct tri_adopted *adopted)
{
    const struct tr_host_view *view = take_of(adopting)->view;
    struct tr_key parent = adopted->image.parent.key;
    uint64_t partition = tri_group_partition(parent.group);
    return !tr_key_is_none(parent) && partition < view->count &&
           is_gained(adopting->host, view, partition) &&
           tri_adopting_find(adopting, parent) == NULL;
}

/* The actor of an entry, if it is this worker's, and is still there. */
static struct tri_actor *find_here(struct tri_worker *worker, const struct tr_adopting *adopting,
                                   uint64_t at)
{
    struct tr_key key = adopting->actors[at].op->key;
    return tri_adopt_is_mine(worker, key) ? tri_actor_find(worker, key, 0) : NULL;
}

static int end_orphan(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    struct tri_actor *actor = find_here(worker, adopting, at);
    if (actor != NULL && is_orphan(adopting, &adopting->actors[at])) {
        tri_actor_end(worker, actor, TR_KILLED);
    }
    return 0;
}

static int open_actor(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    struct tri_actor *actor = find_here(worker, adopting, at);
    if (actor == NULL) {
        return 0;
    }
    tri_poison_message_judge(take_of(adopting)->crashes, worker, actor);
    tri_adopt_open(worker, actor);
    actor->flags &= (uint16_t)~TRI_ACTOR_DORMANT;
    tri_image_open(worker, actor);
    if (tri_is_interhost(actor->key)) {
        tri_remote_open(worker, actor);
    }
    return 0;
}

static const struct tri_adopt_step steps[] = {
    [STEP_LOOK] = {tri_adopt_look, true},
    [STEP_KNOW] = {know, false},
    [STEP_NEIGHBOURS] = {note_neighbour, false},
    [STEP_LOAD] = {tri_adopt_load, false},
    [STEP_MAIL] = {load_mail, false},
    [STEP_ENDED] = {mark_ended, false},
    [STEP_VIEW] = {look_for_view, true},
    [STEP_REST] = {load_rest, false},
    [STEP_ORPHANS] = {end_orphan, false},
    [STEP_OPEN] = {open_actor, false},
};

/* ------------------------------------------------------------- the program: reading */

static bool is_aside(const struct tri_take *take, uint64_t group)
{
    for (size_t i = 0; i < take->aside_count; i++) {
        if (take->aside[i] == group) {
            return true;
        }
    }
    return false;
}

static int keep(struct tri_take *take, const struct tri_op *op, enum tri_op_kind kind,
                uint64_t group)
{
    if (is_aside(take, group)) {
        return 0;
    }
    if (take->op_count == take->op_capacity) {
        size_t capacity = take->op_capacity == 0 ? OPS_FIRST : 2 * take->op_capacity;
        struct tri_op *ops = tr_realloc(take->ops, capacity * sizeof *ops);
        if (ops == NULL) {
            return TR_MEMORY;
        }
        take->ops = ops;
        take->op_capacity = capacity;
    }
    uint8_t *data = op->data.size == 0 ? NULL : tr_alloc(op->data.size);
    if (op->data.size > 0 && data == NULL) {
        return TR_MEMORY;
    }
    if (data != NULL) {
        memcpy(data, op->data.data, op->data.size);
    }
    struct tri_op *kept = &take->ops[take->op_count++];
    *kept = *op;
    kept->kind = kind;
    kept->data.data = data;
    return 0;
}

static int keep_counter(void *self, const struct tri_op *op)
{
    return keep(self, op, TRI_OP_PUT_COUNTER, op->key.group);
}

static int keep_actor(void *self, const struct tri_op *op)
{
    return keep(self, op, TRI_OP_PUT_ACTOR, op->key.group);
}

static int keep_page(void *self, const struct tri_op *op)
{
    return keep(self, op, TRI_OP_PUT_PAGE, op->key.group);
}

static int keep_message(void *self, const struct tri_op *op)
{
    return keep(self, op, TRI_OP_PUT_MESSAGE, op->to_group);
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

/* Behind the partitions that come and lie beside each other; the first: it does not come. */
static size_t end_of_gained(const struct tr_host *host, const struct tr_host_view *view,
                            size_t first)
{
    size_t end = first;
    while (end < view->count && is_gained(host, view, end)) {
        end++;
    }
    return end;
}

/* All that comes, as few ranges as it takes, and put into the order of an adoption. */
static int read_groups(struct tri_take *take, struct tr_host *host, struct tri_store *store)
{
    const struct tri_store_visitor visitor = {.self = take,
                                              .counter = keep_counter,
                                              .actor = keep_actor,
                                              .page = keep_page,
                                              .message = keep_message};
    int error = 0;
    size_t end = 0;
    for (size_t i = 0; error == 0 && i < take->view->count; i = end) {
        end = end_of_gained(host, take->view, i);
        const struct tri_group_range range = {tri_partition_origin(i),
                                              tri_partition_origin(end) - 1};
        if (end > i) {
            error = tri_store_load_groups(store, range, &visitor);
        }
        end = end > i ? end : i + 1;
    }
    if (error == 0 && take->op_count > 1) {
        qsort(take->ops, take->op_count, sizeof take->ops[0], compare_ops);
    }
    return error;
}

/* What has ended other hosts counts here, too. */
static int read_crashes(struct tri_take *take, const struct tr_host *host, struct tri_store *store)
{
    take->crashes = tr_alloc_zero(1, sizeof *take->crashes);
    int error = take->crashes == NULL ? TR_MEMORY : tri_crashes_read(store, take->crashes);
    if (error == 0 && host->aside_behaviour != 0) {
        take->aside_count = tri_crashes_aside(take->crashes, take->aside);
    }
    return error;
}

/* -------------------------------------------------------- the program: what comes */

static int compare_groups(const void *a, const void *b)
{
    uint64_t left = ((const struct taken_group *)a)->number;
    uint64_t right = ((const struct taken_group *)b)->number;
    return (left > right) - (left < right);
}

static bool is_of_group(const struct tri_op *op)
{
    return op->kind == TRI_OP_PUT_COUNTER || op->kind == TRI_OP_PUT_ACTOR;
}

/* The groups that any counter or actor is of, each once. */
static int list_groups(struct tri_take *take)
{
    size_t count = 0;
    take->groups = tr_alloc_zero(take->op_count + 1, sizeof *take->groups);
    if (take->groups == NULL) {
        return TR_MEMORY;
    }
    for (size_t i = 0; i < take->op_count; i++) {
        if (is_of_group(&take->ops[i])) {
            take->groups[count++].number = take->ops[i].key.group;
        }
    }
    qsort(take->groups, count, sizeof take->groups[0], compare_groups);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || take->groups[i].number != take->groups[i - 1].number) {
            take->groups[take->group_count++] = take->groups[i];
        }
    }
    return 0;
}

/* What is known of its group by an actor. */
static void look_at_actor(struct tri_take *take, const struct tri_op *op)
{
    const struct taken_group wanted = {.number = op->key.group};
    struct taken_group *group =
        bsearch(&wanted, take->groups, take->group_count, sizeof take->groups[0], compare_groups);
    group->has_first = group->has_first || tr_key_equal(op->key, tr_group_root(op->key.group).key);
    group->is_inhabited = group->is_inhabited || !tri_is_interhost(op->key);
}

/* Whether a group comes with this view. */
static bool comes(const struct tri_take *take, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return !tr_group_is_host(group) && partition < take->view->count &&
           is_gained(take->adopting.host, take->view, partition);
}

/* Those of which both come: others are neighbours by their partitions. */
static int list_neighbours(struct tri_take *take, const struct tri_op *op)
{
    size_t count = tri_is_interhost(op->key) ? tri_pair_listed_count(op->number, op->data) : 0;
    if (count == 0) {
        return 0;
    }
    struct tr_key *grown =
        tr_realloc(take->neighbours, (take->neighbour_count + count) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    take->neighbours = grown;
    for (size_t i = 0; i < count; i++) {
        uint64_t peer = tri_pair_listed(op->data, i);
        if (peer != TRI_PAIR_WAITING && comes(take, peer)) {
            grown[take->neighbour_count++] = (struct tr_key){op->key.group, peer};
        }
    }
    return 0;
}

static int find_all(struct tri_take *take)
{
    int error = list_groups(take);
    for (size_t i = 0; error == 0 && i < take->op_count; i++) {
        const struct tri_op *op = &take->ops[i];
        if (op->kind == TRI_OP_PUT_ACTOR) {
            look_at_actor(take, op);
        } else if (op->kind == TRI_OP_PUT_PAGE) {
            error = list_neighbours(take, op);
        }
    }
    for (size_t i = 0; i < take->adopting.message_count; i++) {
        uint64_t clock = tr_envelope_get(take->adopting.messages[i]->data.data, 64, clock);
        take->clock = clock > take->clock ? clock : take->clock;
    }
    return error;
}

/* Whether a row belongs to what comes: a page has an actor, a message goes where it lies. */
static bool is_sound(const struct tri_take *take, const struct tri_op *op)
{
    if (op->kind == TRI_OP_PUT_PAGE) {
        return tri_adopting_find(&take->adopting, op->key) != NULL &&
               op->data.size <= TR_PAGE_BYTES_MAX && op->number < TR_PAGES_MAX;
    }
    return op->kind != TRI_OP_PUT_MESSAGE || receiver_of(op).group == op->to_group;
}

static int check_rows(const struct tri_take *take)
{
    for (size_t i = 0; i < take->op_count; i++) {
        if (!is_sound(take, &take->ops[i])) {
            return TR_STORE_DAMAGED;
        }
    }
    return 0;
}

/* ------------------------------------------------------------- the program: asking */

static int ask(struct tri_take *take, enum step step, size_t count)
{
    return tri_adopting_ask(&take->adopting, (uint8_t)step, count);
}

static int check_view(const struct tr_host *host, const struct tr_host_view *view, bool *gains)
{
    const struct tri_owners *owners = &host->shared.owners;
    *gains = false;
    if (!host->is_started || host->store == NULL) {
        return TR_CLOSED;
    }
    if (owners->self == 0 || view->count > TR_PARTITIONS_MAX) {
        return TR_INVALID;
    }
    for (size_t i = 0; i < view->count; i++) {
        if (owners->hosts[i] == owners->self && view->hosts[i] != owners->self) {
            return TR_INVALID;
        }
        bool is_known = view->hosts[i] == 0 || view->hosts[i] == owners->self ||
                        tri_directory_place(&host->shared.directory, view->hosts[i]) >= 0;
        if (!is_known) {
            return TR_NOT_FOUND;
        }
        *gains = *gains || is_gained(host, view, i);
    }
    return view->view > owners->view ? 0 : TR_EXISTS;
}

static int read_all(struct tri_take *take, struct tr_host *host, struct tri_store *store)
{
    int error = read_crashes(take, host, store);
    if (error == 0) {
        error = tri_kept_clock_latest(store, &take->steady_ms);
    }
    if (error == 0) {
        error = read_groups(take, host, store);
    }
    take->adoption = (struct tr_adoption){.ops = take->ops, .count = take->op_count};
    if (error == 0) {
        error = tri_adopting_init(&take->adopting, host, &take->adoption);
    }
    take->adopting.steps = steps;
    if (error == 0) {
        error = check_rows(take);
    }
    if (error == 0) {
        error = tri_adopting_check_memory(&take->adopting);
    }
    return error != 0 ? error : find_all(take);
}

/* Strictly behind all that is stored: so attempts that begin here are told from earlier ones. */
static uint64_t since_ms(const struct tri_take *take)
{
    return take->steady_ms + 1;
}

/* Before anything of the lost host runs here: for its actors no time goes back. */
static void reach_clock(const struct tri_take *take)
{
    struct tr_host *host = take->adopting.host;
    tri_life_reach(&host->shared.life, tri_monotonic_ns(host->env), since_ms(take));
}

static int load_all(struct tri_take *take)
{
    struct tr_adopting *adopting = &take->adopting;
    tri_adopting_note_families(adopting);
    int error = ask(take, STEP_LOOK, adopting->actor_count);
    if (error == 0) {
        reach_clock(take);
        error = ask(take, STEP_KNOW, 1);
    }
    if (error == 0) {
        error = ask(take, STEP_NEIGHBOURS, take->neighbour_count);
    }
    if (error == 0) {
        error = ask(take, STEP_LOAD, adopting->loaded_end);
    }
    if (error == 0) {
        error = ask(take, STEP_MAIL, adopting->message_count);
    }
    return error != 0 ? error : ask(take, STEP_ENDED, take->group_count);
}

int tri_take_prepare(struct tr_host *host, const struct tr_host_view *view, struct tri_store *store,
                     struct tri_take **out)
{
    bool gains = false;
    int error = check_view(host, view, &gains);
    *out = NULL;
    if (error != 0 || !gains) {
        return error;
    }
    struct tri_take *take = tr_alloc_zero(1, sizeof *take);
    if (take == NULL) {
        return TR_MEMORY;
    }
    take->view = view;
    take->adopting.host = host;
    error = read_all(take, host, store);
    if (error == 0) {
        error = tri_host_tenures_take(host, store, view, since_ms(take));
    }
    if (error == 0) {
        error = load_all(take);
    }
    if (error != 0) {
        tri_take_free(take);
        return error;
    }
    *out = take;
    return 0;
}

int tri_take_open(struct tri_take *take)
{
    struct tr_adopting *adopting = &take->adopting;
    struct tr_host *host = adopting->host;
    int error = ask(take, STEP_VIEW, 1);
    while (error == TR_BUSY) {
        tri_control_poll(host, VIEW_WAIT_NS);
        error = ask(take, STEP_VIEW, 1);
    }
    if (error == 0) {
        error = ask(take, STEP_REST, adopting->message_count);
    }
    if (error == 0) {
        error = ask(take, STEP_ORPHANS, adopting->actor_count);
    }
    return error != 0 ? error : ask(take, STEP_OPEN, adopting->actor_count);
}

/* Workers of a host that fails may still read it. */
void tri_take_free(struct tri_take *take)
{
    if (take == NULL || atomic_load(&take->adopting.host->fatal) != 0) {
        return;
    }
    tri_adopting_fini(&take->adopting);
    for (size_t i = 0; i < take->op_count; i++) {
        tr_free((void *)(uintptr_t)take->ops[i].data.data);
    }
    tr_free(take->ops);
    tr_free(take->groups);
    tr_free(take->neighbours);
    tr_free(take->crashes);
    tr_free(take);
}

/* -------------------------------------------------------------------- all of it */

/* What has ended another host is lifted here as what has ended this one. */
static void keep_crashes(struct tr_host *host, const struct tri_take *take)
{
    struct tri_crashes *own = tri_poison_message_crashes(host->poison);
    for (size_t i = 0; i < take->crashes->count; i++) {
        const struct tri_crash_row *row = &take->crashes->rows[i];
        if (!tri_crashes_has(own, row)) {
            (void)tri_crashes_row(own, row, row->incarnation);
        }
    }
    for (size_t i = 0; i < take->aside_count; i++) {
        if (!tr_host_is_aside(host, take->aside[i]) && host->aside_count < TR_ASIDE_MAX) {
            host->aside[host->aside_count++] = take->aside[i];
        }
    }
}

/* What is loaded cannot go again: if nobody can be told, the host ends. */
static int tell_owners(struct tr_host *host, const struct tr_host_view *view)
{
    int error = tri_interhost_thread_tell_owners(host, view->view, view->hosts, view->count);
    int expected = 0;
    if (error != 0) {
        (void)atomic_compare_exchange_strong(&host->fatal, &expected, error);
    }
    return error;
}

int tr_host_take(struct tr_host *host, const struct tr_host_view *view, struct tri_store *store)
{
    struct tri_take *take = NULL;
    int error = tri_take_prepare(host, view, store, &take);
    if (error == 0) {
        error = tell_owners(host, view);
    }
    if (error == 0 && take != NULL) {
        error = tri_take_open(take);
    }
    if (error == 0) {
        error = tri_owners_change(&host->shared.owners, view->view, view->hosts, view->count);
    }
    if (error == 0 && take != NULL && host->poison != NULL) {
        keep_crashes(host, take);
    }
    tri_take_free(take);
    return error;
}
