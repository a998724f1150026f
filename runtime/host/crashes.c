/*
 * Rows that are forgotten leave the store through the journal, as all that a running host writes.
 */
#include "runtime/host/crashes.h"

#include "runtime/crashes/aside.h"
#include "runtime/crashes/poison_message.h"

struct changes {
    struct tri_op ops[TRI_CRASHES_MAX];
    uint8_t bytes[TRI_CRASHES_MAX * TRI_CRASH_BYTES_MAX];
};

static int write_changes(struct tr_host *host, const struct tri_crashes *crashes)
{
    struct tri_inbox *inbox = &host->journal.inbox;
    struct changes *changes = tr_alloc(sizeof *changes);
    uint64_t ticket = 0;
    int error = 0;
    if (changes == NULL) {
        return TR_MEMORY;
    }
    size_t count = tri_crashes_changes(crashes, changes->ops, changes->bytes);
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = tri_inbox_put(inbox, &changes->ops[i], &ticket);
    }
    tr_free(changes);
    return error == 0 && host->has_journal_thread ? tri_inbox_wait(inbox, ticket) : error;
}

int tri_host_forget_crashes(struct tr_host *host,
                            bool (*is_meant)(const void *self, const struct tri_crash_row *row),
                            const void *self)
{
    struct tri_crashes *crashes =
        host->poison == NULL ? NULL : tri_poison_message_crashes(host->poison);
    if (crashes == NULL || tri_crashes_forget(crashes, is_meant, self) == 0) {
        return 0;
    }
    int error = write_changes(host, crashes);
    if (error == 0) {
        tri_crashes_settle(crashes);
    } else {
        tri_crashes_keep(crashes);
    }
    return error;
}

/* ----------------------------------------------------------------- groups set aside */

int tr_host_lift_aside(struct tr_host *host, uint64_t group)
{
    return tri_host_forget_crashes(host, tri_aside_is_group, &group);
}

/* ------------------------------------------------------------- parts of the program */

size_t tr_host_crash_attributions(const struct tr_host *host,
                                  struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX])
{
    return host->poison == NULL
               ? 0
               : tri_crashes_parts(tri_poison_message_crashes(host->poison), parts);
}

struct meant {
    bool (*is_meant)(const void *self, const struct tr_crash_part *part);
    const void *self;
};

static bool is_meant(const void *self, const struct tri_crash_row *row)
{
    const struct meant *meant = self;
    return row->kind == TRI_CRASH_PART && meant->is_meant(meant->self, &row->part);
}

int tr_host_forget_crash_attributions(struct tr_host *host,
                                      bool (*is)(const void *self,
                                                 const struct tr_crash_part *part),
                                      const void *self)
{
    const struct meant meant = {.is_meant = is, .self = self};
    return tri_host_forget_crashes(host, is_meant, &meant);
}
