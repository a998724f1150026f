/*
 * A host among several that a store has.
 */
#include "runtime/host/host_members.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/host/follow.h"
#include "runtime/limits.h"
#include "runtime/members/membership.h"
#include "runtime/members/partition_tenures.h"
#include "runtime/store_open.h"

/* ---- Tenures. -------------------------------------------------------------------------------- */

/*
 * Of a host beside others each partition has its own. Its attempts begin strictly behind all that
 * are known to the store, since none was asked for later than the clocks that are stored
 * (../journal/journal.c).
 */
static int load_partitions(struct tr_host *host, const struct tr_host_options *options,
                           struct tri_kept_clock *kept)
{
    int error = 0;
    bool has_new = false;
    host->partition_tenures = tri_partition_tenures_new();
    if (host->partition_tenures == NULL) {
        return TR_MEMORY;
    }
    for (size_t i = 0; error == 0 && i < options->partition_count; i++) {
        if (options->partitions[i] == options->number) {
            error = tri_partition_tenures_load(host->partition_tenures, host->store, i);
            has_new = has_new || (error == 0 && !tri_partition_tenures_are_of(
                                                    host->partition_tenures, i, host->store->host));
        }
    }
    kept->steady_ms += has_new;
    return error;
}

static int load_store(struct tr_host *host, struct tri_kept_clock *kept)
{
    uint8_t bytes[sizeof host->tenures.items];
    size_t size = 0;
    int error = tri_store_read_meta(host->store, TRI_META_TENURES, bytes, sizeof bytes, &size);
    error = error == TR_NOT_FOUND ? 0 : error;
    if (error == 0) {
        error = tri_tenures_read((struct tr_bytes){.data = bytes, .size = size}, &host->tenures);
    }
    if (error == 0 && !tri_tenures_are_of(&host->tenures, host->store->host)) {
        kept->steady_ms += TR_CLOCK_KEPT_MS;
    }
    return error;
}

int tri_host_tenures_load(struct tr_host *host, const struct tr_host_options *options,
                          struct tri_kept_clock *kept)
{
    if (host->store == NULL || host->store->host == 0) {
        return 0;
    }
    return host->follow != NULL ? load_partitions(host, options, kept) : load_store(host, kept);
}

/* What is new to this host among those that are its own in a view; how many. */
static size_t begin_partitions(struct tr_host *host, const uint16_t *hosts, size_t count,
                               uint64_t since_ms, struct tri_op *ops)
{
    size_t begun = 0;
    for (size_t i = 0; i < count; i++) {
        if (hosts[i] == host->shared.owners.self &&
            !tri_partition_tenures_are_of(host->partition_tenures, i, host->store->host)) {
            tri_partition_tenures_begin(host->partition_tenures, i, host->store->host, since_ms,
                                        &ops[begun++]);
        }
    }
    return begun;
}

static int begin_own(struct tr_host *host, uint64_t since_ms)
{
    struct tri_op ops[TR_PARTITIONS_MAX];
    const struct tri_commit commit = {.ops = ops,
                                      .count = begin_partitions(host, host->shared.owners.hosts,
                                                                TR_PARTITIONS_MAX, since_ms, ops),
                                      .last_number = host->store->last_number};
    return commit.count == 0 ? 0 : tri_store_commit(host->store, &commit);
}

int tri_host_tenures_take(struct tr_host *host, struct tri_store *store,
                          const struct tr_host_view *view, uint64_t since_ms)
{
    const struct tri_owners *owners = &host->shared.owners;
    struct tri_op ops[TR_PARTITIONS_MAX];
    int error = 0;
    if (host->partition_tenures == NULL) {
        return 0;
    }
    for (size_t i = 0; error == 0 && i < view->count; i++) {
        if (view->hosts[i] == owners->self && owners->hosts[i] != owners->self) {
            error = tri_partition_tenures_load(host->partition_tenures, store, i);
        }
    }
    if (error == 0) {
        error = tr_host_write_wait(host); /* what the program writes itself */
    }
    if (error == 0) {
        error = tr_host_write(host, ops,
                              begin_partitions(host, view->hosts, view->count, since_ms, ops));
    }
    return error != 0 ? error : tr_host_write_wait(host);
}

int tri_host_tenures_begin(struct tr_host *host)
{
    if (host->store == NULL || host->store->host == 0) {
        return 0;
    }
    if (host->follow != NULL) {
        const struct tri_life *life = &host->shared.life;
        return begin_own(host, tri_life_steady_ms(life, life->start_ns));
    }
    if (tri_tenures_are_of(&host->tenures, host->store->host)) {
        return 0;
    }
    const struct tri_life *life = &host->shared.life;
    tri_tenures_add(&host->tenures, host->store->host, tri_life_steady_ms(life, life->start_ns));
    const struct tri_op op = {.kind = TRI_OP_PUT_META,
                              .number = TRI_META_TENURES,
                              .data = tri_tenures_cell(&host->tenures)};
    const struct tri_commit commit = {
        .ops = &op, .count = 1, .last_number = host->store->last_number};
    return tri_store_commit(host->store, &commit);
}

/* ---- Membership. ----------------------------------------------------------------------------- */

static int open_registry(void *self, struct tri_registry **registry)
{
    const struct tr_host *host = self;
    return tri_store_registry_open(host->folder, NULL, false, NULL, registry);
}

static void tell_change(void *self)
{
    const struct tr_host *host = self;
    uint64_t one = 1;
    (void)!write(host->news, &one, sizeof one); /* full: it is readable already */
}

int tr_host_news(const struct tr_host *host)
{
    return host->news > 0 ? host->news : -1;
}

bool tr_host_has_news(struct tr_host *host)
{
    uint64_t count = 0;
    return host->news > 0 && read(host->news, &count, sizeof count) > 0;
}

int tri_host_members_start(struct tr_host *host,
                           void (*fail)(void *self, int error, const char *words))
{
    if (host->store == NULL || host->store->host == 0) {
        return 0;
    }
    struct tri_membership_options options = {.open = open_registry,
                                             .fail = fail,
                                             .self = host,
                                             .host = host->store->host,
                                             .incarnation = host->store->incarnation};
    tri_follow_describe(host, &options);
    if (host->follow != NULL) {
        host->news = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (host->news < 0) {
            host->news = 0;
            return TR_SYSTEM;
        }
        options.changed = tell_change;
    }
    return tri_membership_start(&options, &host->membership);
}

void tri_host_members_stop(struct tr_host *host)
{
    tri_membership_stop(host->membership);
    host->membership = NULL;
    if (host->news > 0) {
        close(host->news);
        host->news = 0;
    }
    tri_follow_free(host->follow);
    host->follow = NULL;
    tri_partition_tenures_free(host->partition_tenures);
    host->partition_tenures = NULL;
}

bool tri_host_members_may_call(void *self)
{
    const struct tr_host *host = self;
    return host->membership == NULL || tri_membership_may_call(host->membership);
}

static bool may_begin(void *self)
{
    const struct tr_host *host = self;
    return tri_membership_may_begin(host->membership);
}

static uint32_t lease_ms(void *self, uint64_t *renewals)
{
    const struct tr_host *host = self;
    return tri_membership_process_lease_ms(host->membership, renewals);
}

static bool has_others(void *self)
{
    const struct tr_host *host = self;
    return tri_membership_has_others(host->membership);
}

static void keep(void *self, enum tri_process_bound bound)
{
    static const enum tri_member_processes kept[] = {
        [TRI_PROCESSES_NONE] = TRI_MEMBER_PROCESSES_NONE,
        [TRI_PROCESSES_BOUND] = TRI_MEMBER_PROCESSES_BOUND,
        [TRI_PROCESSES_UNBOUND] = TRI_MEMBER_PROCESSES_UNBOUND};
    const struct tr_host *host = self;
    tri_membership_keep(host->membership, kept[bound]);
}

static int lost(void *self, uint64_t group, uint64_t asked_ms, char *words, size_t size)
{
    const struct tr_host *host = self;
    uint64_t number = host->partition_tenures == NULL
                          ? tri_tenures_find(&host->tenures, asked_ms)
                          : tri_partition_tenures_find(host->partition_tenures, group, asked_ms);
    if (number == host->store->host) {
        return 0;
    }
    int error = tri_membership_lost(host->membership, number, words, size);
    return error == 0 ? TR_CLOSED : error;
}

const struct tri_process_hosts *tri_host_members_processes(struct tr_host *host)
{
    if (host->membership == NULL) {
        return NULL;
    }
    host->process_hosts = (struct tri_process_hosts){.self = host,
                                                     .may_begin = may_begin,
                                                     .lease_ms = lease_ms,
                                                     .has_others = has_others,
                                                     .keep = keep,
                                                     .lost = lost};
    return &host->process_hosts;
}
