/*
 * Following the table of hosts.
 *
 * `seen` is a whole look, so all of it is of one moment: a host that has partitions in it is there,
 * too. It is taken over in an order in which nothing is spoken to before it is known: peers, then
 * owners; and what comes here is loaded in between (take.h). If a step fails, nothing was changed
 * by it, and the next call begins anew with what is seen then.
 *
 * What a lost host had acknowledged may be in its log alone. Before its partitions are loaded, the
 * logs of all hosts that have no work are brought in: a partition may have had several hosts since
 * this one has looked. Those that have some write nothing of what is read then, so their logs are
 * not waited for: one of them may be lost, too. Then the program makes ready what its groups need,
 * such as graphs, which it reads from the store.
 *
 * Behind that this host gives some of its own to others that have fewer (give.h). Looks that are
 * older than that are left out.
 */
#include "runtime/host/follow.h"

#include <stdio.h>
#include <string.h>

#include "runtime/host/give.h"
#include "runtime/host/interhost_thread.h"
#include "runtime/members/membership.h"
#include "runtime/store_open.h"

struct tri_follow {
    struct tri_member_view seen; /* the last look; members by their numbers */
    uint64_t view;               /* the last one that was taken over */
    struct tr_wire_keys keys;
    const struct tr_schema *const *records;
    size_t record_count;
    uint16_t hosts[TR_PARTITIONS_MAX];
    struct tri_member told[TR_HOSTS_MAX]; /* peers as this host knows them */
    size_t told_count;
    struct tr_peer peers[TR_HOSTS_MAX]; /* at the start */
    struct tri_give *give;
    uint64_t heard; /* of another host's change, of which it was looked */
    bool is_busy;   /* it is at it, and waits */
    int (*before_taking)(void *program, const bool *partitions, size_t count);
};

/* ---- Beginning. ------------------------------------------------------------------------------ */

static int look_once(struct tr_host *host, struct tri_follow *follow, char *explain)
{
    struct tri_registry *registry = NULL;
    int error = tri_store_registry_open(host->folder, NULL, false, explain, &registry);
    if (error == 0) {
        error = tri_registry_look(registry, &follow->seen);
        if (error != 0) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_registry_explain(registry));
        }
    }
    tri_registry_close(registry);
    return error;
}

static void draw_keys(struct tr_env *env, struct tr_wire_keys *keys)
{
    for (size_t at = 0; at < sizeof keys->secret_key; at += sizeof(uint64_t)) {
        uint64_t drawn = tri_entropy(env);
        memcpy(keys->secret_key + at, &drawn, sizeof drawn);
    }
    tr_wire_keys_derive(keys);
}

/* One that is not up listens nowhere, whatever its row says. */
static struct tr_peer peer_of(const struct tri_member *member)
{
    bool is_up = member->state == TRI_MEMBER_UP && member->has_key;
    return (struct tr_peer){.number = (uint16_t)member->number,
                            .address = is_up ? member->address : "",
                            .key = is_up ? member->key : NULL};
}

static void read_owners(struct tri_follow *follow)
{
    for (size_t i = 0; i < follow->seen.partition_count; i++) {
        follow->hosts[i] = (uint16_t)follow->seen.partitions[i];
    }
    tri_give_cover(follow->give, follow->hosts);
}

static void fill(struct tr_host *host, struct tri_follow *follow, const struct tri_member *own,
                 struct tr_host_options *options)
{
    size_t count = 0;
    read_owners(follow);
    for (size_t i = 0; i < follow->seen.count; i++) {
        const struct tri_member *member = &follow->seen.members[i];
        if (member != own) {
            follow->told[count] = *member;
            follow->peers[count] = peer_of(&follow->told[count]);
            count++;
        }
    }
    draw_keys(host->env, &follow->keys);
    follow->told_count = count;
    follow->view = follow->seen.view;
    options->number = (uint16_t)own->number;
    options->slot = (uint8_t)own->slot;
    options->partitions = follow->hosts;
    options->epochs = follow->seen.epochs;
    options->partition_count = follow->seen.partition_count;
    options->view = follow->seen.view;
    options->keys = &follow->keys;
    options->peers = follow->peers;
    options->peer_count = count;
}

static int check(const struct tr_host *host, const struct tr_host_options *options, char *explain)
{
    if (host->store == NULL || host->store->host == 0) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "a host among others needs a store in a database");
        return TR_INVALID;
    }
    if (options->listen == NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "a host that works beside others has to listen where they reach it");
        return TR_INVALID;
    }
    return 0;
}

int tri_follow_begin(struct tr_host *host, struct tr_host_options *options, char *explain)
{
    int error = check(host, options, explain);
    if (error != 0) {
        return error;
    }
    struct tri_follow *follow = tr_alloc_zero(1, sizeof *follow);
    if (follow == NULL) {
        return TR_MEMORY;
    }
    host->follow = follow;
    follow->give = tri_give_new();
    if (follow->give == NULL) {
        return TR_MEMORY;
    }
    if (options->keeps_groups) {
        tri_give_keep(follow->give);
    }
    follow->records = options->records;
    follow->record_count = options->record_count;
    follow->before_taking = options->before_taking;
    error = look_once(host, follow, explain);
    if (error != 0) {
        return error;
    }
    const struct tri_member *own = tri_member_view_find(&follow->seen, host->store->host);
    if (own == NULL || own->number > TR_HOST_NUMBER_MAX) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "this host has the number %llu, and the last one that there may be is %d",
                       (unsigned long long)host->store->host, TR_HOST_NUMBER_MAX);
        return TR_LIMIT;
    }
    fill(host, follow, own, options);
    return 0;
}

void tri_follow_describe(const struct tr_host *host, struct tri_membership_options *membership)
{
    if (host->follow != NULL) {
        membership->takes = true;
        membership->address = host->listen;
        membership->key = host->follow->keys.public_key;
    }
}

void tri_follow_free(struct tri_follow *follow)
{
    if (follow != NULL) {
        tri_give_free(follow->give);
        tr_free(follow);
    }
}

/* ---- Peers. ---------------------------------------------------------------------------------- */

/* Where the list has a host; its count: nowhere. */
static size_t place_of(const struct tri_follow *follow, uint64_t number)
{
    size_t i = 0;
    while (i < follow->told_count && follow->told[i].number != number) {
        i++;
    }
    return i;
}

static bool is_same(const struct tri_member *told, const struct tri_member *seen)
{
    const struct tr_peer before = peer_of(told);
    const struct tr_peer now = peer_of(seen);
    bool has_same_key = before.key == NULL || now.key == NULL
                            ? before.key == now.key
                            : memcmp(before.key, now.key, TR_WIRE_KEY_BYTES) == 0;
    return has_same_key && strcmp(before.address, now.address) == 0;
}

/* Places are few, and one that has gone takes none. */
static bool is_of_use(const struct tri_member *member)
{
    return member->state == TRI_MEMBER_UP || member->owned > 0;
}

/* One too many that has no work may be without a link; one that has some has to be known. */
static int meet(struct tr_host *host, struct tri_follow *follow, const struct tri_member *seen)
{
    size_t place = place_of(follow, seen->number);
    bool is_known = place < follow->told_count;
    const struct tr_peer peer = peer_of(seen);
    if (seen->number == host->store->host || (is_known && is_same(&follow->told[place], seen))) {
        return 0;
    }
    if (!is_known && !is_of_use(seen)) {
        return 0;
    }
    if (place == TR_HOSTS_MAX || seen->number > TR_HOST_NUMBER_MAX) {
        return seen->owned > 0 ? TR_LIMIT : 0;
    }
    int error = tri_interhost_thread_tell_peer(host, &peer);
    if (error == 0) {
        follow->told[place] = *seen;
        follow->told_count += !is_known;
    }
    return error;
}

/* Of one that was forgotten nobody hears any more: it has listened nowhere for long. */
static int meet_all(struct tr_host *host, struct tri_follow *follow)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < follow->seen.count; i++) {
        error = meet(host, follow, &follow->seen.members[i]);
    }
    return error;
}

/* ---- Owners. --------------------------------------------------------------------------------- */

/* Whether the look shows another owner than this host knows; `gains`: it gets something itself. */
static bool have_changed(const struct tr_host *host, const struct tri_follow *follow, bool *gains)
{
    const struct tri_owners *owners = &host->shared.owners;
    bool have = false;
    *gains = false;
    for (size_t i = 0; i < follow->seen.partition_count; i++) {
        bool is_new = owners->hosts[i] != follow->hosts[i];
        have = have || is_new;
        *gains = *gains || (is_new && follow->hosts[i] == owners->self);
    }
    return have;
}

/* TR_INVALID: it has work again, so it has brought its log in itself. */
static int settle_all(const struct tr_host *host, const struct tri_follow *follow)
{
    const struct tri_store_options options = {.folder = host->folder,
                                              .durability = TR_DURABILITY_FULL,
                                              .records = follow->records,
                                              .record_count = follow->record_count};
    int error = 0;
    for (size_t i = 0; error == 0 && i < follow->seen.count; i++) {
        const struct tri_member *member = &follow->seen.members[i];
        if (member->owned == 0) {
            error = tri_store_settle(&options, member->number, NULL);
            error = error == TR_INVALID ? 0 : error;
        }
    }
    return error;
}

static int prepare_program(const struct tr_host *host, const struct tri_follow *follow,
                           const struct tr_host_view *view)
{
    const struct tri_owners *owners = &host->shared.owners;
    bool gained[TR_PARTITIONS_MAX];
    if (follow->before_taking == NULL) {
        return 0;
    }
    for (size_t i = 0; i < view->count; i++) {
        gained[i] = view->hosts[i] == owners->self && owners->hosts[i] != owners->self;
    }
    return follow->before_taking(host->shared.program, gained, view->count);
}

/* Only for people, who see for how long it was frozen. */
static void say_open(const struct tr_host *host)
{
    struct tri_registry *registry = NULL;
    if (tri_store_registry_open(host->folder, NULL, false, NULL, &registry) == 0) {
        registry->self = host->store->host;
        registry->incarnation = host->store->incarnation;
        (void)!tri_registry_open_moved(registry);
    }
    tri_registry_close(registry);
}

static int take(struct tr_host *host, const struct tri_follow *follow,
                const struct tr_host_view *view)
{
    const struct tri_store_options options = {.folder = host->folder,
                                              .durability = TR_DURABILITY_FULL,
                                              .read_only = true,
                                              .is_settled = true,
                                              .records = follow->records,
                                              .record_count = follow->record_count};
    struct tri_store *store = NULL;
    int error = settle_all(host, follow);
    if (error == 0) {
        error = prepare_program(host, follow, view);
    }
    if (error == 0) {
        error = tri_store_open(&options, NULL, &store);
    }
    if (error == 0) {
        error = tr_host_take(host, view, store);
    }
    tri_store_close(store);
    if (error == 0) {
        say_open(host);
    }
    return error;
}

static int learn_owners(struct tr_host *host, struct tri_follow *follow)
{
    bool gains = false;
    read_owners(follow);
    if (!have_changed(host, follow, &gains)) {
        return 0;
    }
    const struct tr_host_view view = {.view = follow->seen.view,
                                      .hosts = follow->hosts,
                                      .epochs = follow->seen.epochs,
                                      .count = follow->seen.partition_count};
    return gains ? take(host, follow, &view) : tr_host_take(host, &view, NULL);
}

static int learn(struct tr_host *host, struct tri_follow *follow)
{
    if (follow->seen.view == follow->view) {
        return 0;
    }
    int error = meet_all(host, follow);
    if (error == 0) {
        error = learn_owners(host, follow);
    }
    if (error == 0) {
        follow->view = follow->seen.view;
    }
    return error;
}

/* Whether another host has changed something since, or this one has more to give. */
bool tr_host_must_follow(const struct tr_host *host)
{
    const struct tri_follow *follow = host->follow;
    return follow != NULL && !follow->is_busy &&
           (atomic_load(&host->heard_view) > follow->heard || tri_give_has_more(follow->give));
}

static void look_now(struct tr_host *host, struct tri_follow *follow)
{
    uint64_t heard = atomic_load(&host->heard_view);
    bool is_needed = heard > follow->heard && heard > follow->view;
    follow->heard = heard;
    if (is_needed || tri_give_has_more(follow->give)) {
        tri_membership_look_now(host->membership);
    }
}

static int follow_seen(struct tr_host *host, struct tri_follow *follow)
{
    look_now(host, follow);
    bool has_seen = tri_membership_view(host->membership, &follow->seen);
    if (!has_seen || tri_give_is_past(follow->give, &follow->seen)) {
        return 0;
    }
    int error = learn(host, follow);
    return error != 0 ? error : tri_give_step(follow->give, host, &follow->seen);
}

uint64_t tr_host_owned(const struct tr_host *host)
{
    return tri_owners_count(&host->shared.owners, host->shared.owners.self);
}

/* Whether somebody would get something. */
static bool has_receivers(const struct tri_member_view *seen, uint64_t self)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct tri_member *member = &seen->members[i];
        if (member->number != self && member->state == TRI_MEMBER_UP && member->has_key &&
            member->silent_ms < member->lease_ms && member->owned > 0 && !member->is_drained) {
            return true;
        }
    }
    return false;
}

int tr_host_drain(struct tr_host *host)
{
    struct tri_registry *registry = NULL;
    if (host->follow == NULL || !tri_membership_view(host->membership, &host->follow->seen) ||
        !has_receivers(&host->follow->seen, host->store->host)) {
        return TR_NOT_FOUND;
    }
    int error = tri_store_registry_open(host->folder, NULL, false, NULL, &registry);
    if (error == 0) {
        error = tri_registry_drain(registry, host->store->host, true);
    }
    tri_registry_close(registry);
    if (error == 0) {
        tri_membership_look_now(host->membership);
    }
    return error;
}

bool tr_host_owns(const struct tr_host *host, uint64_t group)
{
    return tri_owners_is_here(&host->shared.owners, group);
}

uint64_t tr_group_partition(uint64_t group)
{
    return tri_group_partition(group);
}

void tr_host_lost(const struct tr_host *host,
                  void (*show)(void *self, uint16_t number, uint64_t incarnation), void *self)
{
    const struct tri_follow *follow = host->follow;
    for (size_t i = 0; follow != NULL && i < follow->seen.count; i++) {
        const struct tri_member *member = &follow->seen.members[i];
        if (member->number != host->store->host && tri_member_may_be_taken(member->state)) {
            show(self, (uint16_t)member->number, member->signs.incarnation);
        }
    }
}

uint64_t tr_host_living(const struct tr_host *host, void (*show)(void *self, uint16_t number),
                        void *self)
{
    const struct tri_follow *follow = host->follow;
    for (size_t i = 0; follow != NULL && i < follow->seen.count; i++) {
        const struct tri_member *member = &follow->seen.members[i];
        if (!tri_member_may_be_taken(member->state)) {
            show(self, (uint16_t)member->number);
        }
    }
    return follow != NULL ? follow->seen.newest : 0;
}

bool tr_host_name_of_key(const struct tr_host *host, const uint8_t *key, char *name, size_t size)
{
    const struct tri_follow *follow = host->follow;
    for (size_t i = 0; follow != NULL && i < follow->seen.count; i++) {
        const struct tri_member *member = &follow->seen.members[i];
        bool is_up = member->state == TRI_MEMBER_UP && member->has_key;
        if (is_up && memcmp(member->key, key, TR_WIRE_KEY_BYTES) == 0) {
            (void)snprintf(name, size, "%s", member->name);
            return true;
        }
    }
    return false;
}

const struct tr_wire_keys *tr_host_keys(const struct tr_host *host)
{
    return host->follow != NULL ? &host->follow->keys : NULL;
}

int tr_host_follow(struct tr_host *host)
{
    struct tri_follow *follow = host->follow;
    if (follow == NULL || follow->is_busy) {
        return 0;
    }
    follow->is_busy = true;
    int error = follow_seen(host, follow);
    follow->is_busy = false;
    return error;
}
