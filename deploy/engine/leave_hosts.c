/*
 * Leaving: the host is drained, as by `troupe drain`, and follows until it has nothing more to
 * give. What has processes stays: they end with the host, and who takes it over begins them anew.
 */
#include "deploy/engine/leave_hosts.h"

#include "deploy/engine/follow_hosts.h"
#include "runtime/host/host.h"

/* How often it looks, and how long nothing may be given before the rest is left behind. */
#define LOOK_MS 10
#define STILL_MS 2000

/* A host keeps the partition in which it speaks itself. */
#define KEPT 1

static int give_all(struct tr_live *live, struct tr_leave_hosts *left)
{
    uint64_t begin_ms = tr_live_now_ms(live);
    uint64_t changed_ms = begin_ms;
    uint64_t now_ms = begin_ms;
    uint64_t owned = left->had;
    int error = 0;
    while (error == 0 && (owned > KEPT || tr_host_must_follow(live->host)) &&
           now_ms - changed_ms < STILL_MS && now_ms - begin_ms < TR_LEAVE_HOSTS_MS) {
        error = tr_host_poll(live->host, -1, LOOK_MS);
        if (error == 0) {
            error = tr_follow_hosts(live);
        }
        uint64_t before = owned;
        owned = tr_host_owned(live->host);
        now_ms = tr_live_now_ms(live);
        changed_ms = owned != before ? now_ms : changed_ms;
    }
    left->given = left->had - owned;
    left->took_ms = now_ms - begin_ms;
    return error;
}

int tr_leave_hosts(struct tr_live *live, struct tr_leave_hosts *left)
{
    *left = (struct tr_leave_hosts){.had = 0};
    if (!live->is_member || tr_host_drain(live->host) != 0) {
        return 0; /* whoever cannot give ends as one that is taken over */
    }
    left->had = tr_host_owned(live->host);
    return give_all(live, left);
}
