/*
 * Of a store in a database that several hosts share: the host that has its work now.
 */
#ifndef TR_DEPLOY_CONNECT_ACTIVE_HOST_H
#define TR_DEPLOY_CONNECT_ACTIVE_HOST_H

#include <limits.h>

#include "runtime/members/member.h"

struct tr_active_host {
    char name[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    char folder[PATH_MAX]; /* of the store, there */
    bool is_this;          /* it is the host of the folder that was asked about */
    bool is_near;          /* its folder is on this machine */
    bool stands_by;        /* the host of the folder that was asked about lives, and stands by */
};

/*
 * Finds it; false: the store is in its folder, nobody has its work yet, or the database cannot be
 * asked.
 */
bool tr_active_host_find(const char *folder, struct tr_active_host *host);

/* Whether the host of a folder is that which the row is of: by the digest of its file. */
bool tr_active_host_is(const char *folder, const struct tri_member *member);

#endif
