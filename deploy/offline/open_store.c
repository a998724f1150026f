/*
 * The options with which commands open a store in place of its engine.
 */
#include "deploy/offline/open_store.h"

#include "deploy/common/schemas.h"
#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"

int tr_open_offline(const char *folder, char *explain, struct tri_store **store)
{
    const struct tri_store_options options = {.folder = folder,
                                              .durability = TR_DURABILITY_FULL,
                                              .records = tr_program_records,
                                              .record_count = tr_program_record_count,
                                              .views = &tr_history_views};
    return tri_store_open(&options, explain, store);
}
