/*
 * One commit, for which the store is opened as an engine opens it: so the files of an earlier
 * program are rows by then.
 */
#include "deploy/offline/forget_parts.h"

#include <stdio.h>

#include "deploy/offline/open_store.h"
#include "runtime/memory.h"

struct meant {
    bool (*is_meant)(const void *self, const struct tr_crash_part *part);
    const void *self;
};

static bool is_row(const void *self, const struct tri_crash_row *row)
{
    const struct meant *meant = self;
    return row->kind == TRI_CRASH_PART && meant->is_meant(meant->self, &row->part);
}

static int forget(struct tri_store *store, const struct meant *meant, char *explain)
{
    struct tri_crashes *crashes = tr_alloc(sizeof *crashes);
    int error = crashes == NULL ? TR_MEMORY : tri_crashes_read(store, crashes);
    if (error == 0) {
        (void)tri_crashes_forget(crashes, is_row, meant);
        error = tri_crashes_commit(crashes, store);
    }
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s",
                 crashes == NULL ? tr_error_text(error) : tri_store_explain(store));
    }
    tr_free(crashes);
    return error;
}

int tr_forget_parts(const char *folder,
                    bool (*is_meant)(const void *self, const struct tr_crash_part *part),
                    const void *self, char *explain)
{
    const struct meant meant = {.is_meant = is_meant, .self = self};
    struct tri_store *store;
    int error = tr_open_offline(folder, explain, &store);
    if (error == 0) {
        error = forget(store, &meant, explain);
        tri_store_close(store);
    }
    return error;
}
