/*
 * Executions that have not ended, in a store that takes them in: their roots become children of its
 * launchers, which hear of them; their tasks hear that the services are others now.
 */
#ifndef TR_DEPLOY_TRANSFER_IMPORT_LIVE_H
#define TR_DEPLOY_TRANSFER_IMPORT_LIVE_H

#include "deploy/transfer/unpacking.h"

/*
 * Whether an image and a message are what this program can read. TR_VERSION (of a newer one, with
 * words), TR_MALFORMED.
 */
TR_MUST_USE int tr_import_live_check(struct tr_unpacking *unpacking, const struct tri_op *op);
TR_MUST_USE int tr_import_live_check_message(const struct tri_op *op);

/* Where the executions come to. */
struct tr_import_target {
    struct tr_ref host;   /* that says something: tr_host_self or tr_offline_host */
    uint64_t said;        /* the number of the last message that it has said */
    bool tells_launchers; /* else they know of the executions */
    void *self;
    /* The launcher of an execution; `name` (TR_IMPORT_LAUNCHER_BYTES) is PROJECT/DOMAIN. */
    int (*find_launcher)(void *self, const struct tr_execution *row, const char *name,
                         struct tr_ref *launcher);
};

#define TR_IMPORT_LAUNCHER_BYTES (2 * 64)

/*
 * Changes and adds the operations of an archive. TR_NOT_FOUND: there is no launcher for one of the
 * executions. TR_MALFORMED, TR_MEMORY, and errors of find_launcher.
 */
TR_MUST_USE int tr_import_live_prepare(struct tr_unpacking *unpacking,
                                       struct tr_import_target *target);

#endif
