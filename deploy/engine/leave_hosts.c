/*
 * Leaving: the host is drained, as by `troupe drain`, and follows until it has nothing more to give.
 * What has processes stays: they end with the host, and who takes it over begins them anew. That
 * the host is drained is forgotten when it joins again.
 */
#include "deploy/engine/leave_hosts.h"

#include "deploy/engine/follow_hosts.h"
#include "runtime/host/host.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"

/* How often it looks, and how long nothing may be given before the rest is left behind. */
#define LOOK_MS 20
#define STILL_MS 2000

/* A host keeps the partition in which it speaks itself. */
#define KEPT 1

struct leaving {
    struct tr_live *live;
    struct tri_registry *registry;
    struct tri_member_view view;
    uint64_t self;
};

static uint64_t count_own(struct leaving *leaving)
{
    const struct tri_member *own = tri_member_view_find(&leaving->view, leaving->self);
    return own != NULL ? own->owned : 0;
}

/* Whether somebody would get something. */
static bool has_others(const struct leaving *leaving)
{
    for (size_t i = 0; i < leaving->view.count; i++) {
        const struct tri_member *member = &leaving->view.members[i];
        if (member->number != leaving->self && member->state == TRI_MEMBER_UP &&
            member->silent_ms < member->lease_ms && member->has_key && member->owned > 0 &&
            !member->is_drained) {
            return true;
        }
    }
    return false;
}

static int begin(struct leaving *leaving)
{
    struct tr_live *live = leaving->live;
    leaving->self = live->host->store->host;
    int error = tri_store_registry_open(live->folder, NULL, false, NULL, &leaving->registry);
    if (error == 0) {
        error = tri_registry_look(leaving->registry, &leaving->view);
    }
    if (error == 0 && count_own(leaving) > KEPT && has_others(leaving)) {
        return tri_registry_drain(leaving->registry, leaving->self, true);
    }
    return error != 0 ? error : TR_NOT_FOUND;
}

/* Until nothing more goes; TR_BUSY of the database is another time. */
static int give_all(struct leaving *leaving, struct tr_leave_hosts *left)
{
    struct tr_live *live = leaving->live;
    uint64_t begin_ms = tr_live_now_ms(live);
    uint64_t changed_ms = begin_ms;
    uint64_t owned = left->had;
    int error = 0;
    while (error == 0 && owned > KEPT && tr_live_now_ms(live) - changed_ms < STILL_MS &&
           tr_live_now_ms(live) - begin_ms < TR_LEAVE_HOSTS_MS) {
        error = tr_host_poll(live->host, -1, LOOK_MS);
        if (error == 0) {
            error = tr_follow_hosts(live);
        }
        uint64_t now =
            tri_registry_look(leaving->registry, &leaving->view) == 0 ? count_own(leaving) : owned;
        changed_ms = now != owned ? tr_live_now_ms(live) : changed_ms;
        owned = now;
    }
    left->given = left->had - owned;
    left->took_ms = tr_live_now_ms(live) - begin_ms;
    return error;
}

int tr_leave_hosts(struct tr_live *live, struct tr_leave_hosts *left)
{
    *left = (struct tr_leave_hosts){.had = 0};
    if (!live->is_member) {
        return 0;
    }
    struct leaving *leaving = tr_alloc_zero(1, sizeof *leaving);
    if (leaving == NULL) {
        return TR_MEMORY;
    }
    leaving->live = live;
    int error = begin(leaving);
    bool gives = error == 0;
    error = 0; /* whoever cannot give ends as one that is taken over */
    if (gives) {
        left->had = count_own(leaving);
        error = give_all(leaving, left);
    }
    tri_registry_close(leaving->registry);
    tr_free(leaving);
    return error;
}
