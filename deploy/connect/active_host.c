/*
 * Which host is active. A host is known by its folder's file, so a folder that has the path of
 * another machine's is not mistaken for it.
 */
#include "deploy/connect/active_host.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "runtime/journal/store_folder.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "runtime/store_place.h"

bool tr_active_host_is(const char *folder, const struct tri_member *member)
{
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
    uint8_t digest[crypto_hash_sha256_BYTES];
    size_t size = 0;
    _Static_assert(sizeof digest == sizeof member->place, "both are SHA-256");
    if (tri_store_place_read(folder, place, &size) != 0) {
        return false;
    }
    crypto_hash_sha256(digest, place, size);
    return memcmp(digest, member->place, sizeof digest) == 0;
}

static bool stands_by(const char *folder, const struct tri_member_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct tri_member *member = &view->members[i];
        if (tr_active_host_is(folder, member)) {
            return member->number != view->owner && member->state == TRI_MEMBER_UP &&
                   member->silent_ms < member->lease_ms;
        }
    }
    return false;
}

static bool find(const char *folder, struct tri_member_view *view, struct tr_active_host *host)
{
    struct tri_registry *registry = NULL;
    if (tri_store_registry_open(folder, NULL, true, NULL, &registry) != 0) {
        return false;
    }
    int error = tri_registry_look(registry, view);
    tri_registry_close(registry);
    const struct tri_member *owner = tri_member_view_find(view, view->owner);
    if (error != 0 || owner == NULL) {
        return false;
    }
    (void)snprintf(host->name, sizeof host->name, "%s", owner->name);
    (void)snprintf(host->machine, sizeof host->machine, "%s", owner->machine);
    (void)snprintf(host->folder, sizeof host->folder, "%s", owner->folder);
    host->is_this = tr_active_host_is(folder, owner);
    host->is_near = tr_active_host_is(owner->folder, owner);
    host->stands_by = stands_by(folder, view);
    return true;
}

bool tr_active_host_find(const char *folder, struct tr_active_host *host)
{
    char locator[TRI_STORE_LOCATOR_BYTES] = "";
    if (tri_store_folder_locator(folder, NULL, locator) != 0 || locator[0] == '\0') {
        return false;
    }
    struct tri_member_view *view = tr_alloc_zero(1, sizeof *view);
    bool is_found = view != NULL && find(folder, view, host);
    tr_free(view);
    return is_found;
}
