/*
 * Forgetting what has ended the process, while a host runs.
 */
#ifndef TR_RUNTIME_HOST_CRASHES_H
#define TR_RUNTIME_HOST_CRASHES_H

#include "runtime/host/host.h"
#include "runtime/journal/crashes.h"

/*
 * Deletes the rows that are meant; what handlers do because of a message that is sent behind this
 * is committed with the deletion or later. With a journal's thread it is committed when this
 * returns. By the thread that made the host. Errors are those of tri_inbox_put and tri_inbox_wait;
 * then the rows count as before, although they may be deleted later.
 */
TR_MUST_USE int tri_host_forget_crashes(struct tr_host *host,
                                        bool (*is_meant)(const void *self,
                                                         const struct tri_crash_row *row),
                                        const void *self);

#endif
