/*
 * A host among several that a store has.
 */
#include "runtime/host/host_members.h"

#include "runtime/host/follow.h"
#include "runtime/limits.h"
#include "runtime/members/membership.h"
#include "runtime/store_open.h"

/* ---- Tenures. -------------------------------------------------------------------------------- */

int tri_host_tenures_load(struct tr_host *host, struct tri_kept_clock *kept)
{
    uint8_t bytes[sizeof host->tenures.items];
    size_t size = 0;
    if (host->store == NULL || host->store->host == 0) {
        return 0;
    }
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

int tri_host_tenures_begin(struct tr_host *host)
{
    bool is_begun = host->store == NULL || host->store->host == 0 ||
                    tri_tenures_are_of(&host->tenures, host->store->host);
    if (is_begun) {
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
    return tri_membership_start(&options, &host->membership);
}

void tri_host_members_stop(struct tr_host *host)
{
    tri_membership_stop(host->membership);
    host->membership = NULL;
    tri_follow_free(host->follow);
    host->follow = NULL;
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

static int lost(void *self, uint64_t asked_ms, char *words, size_t size)
{
    const struct tr_host *host = self;
    uint64_t number = tri_tenures_find(&host->tenures, asked_ms);
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
