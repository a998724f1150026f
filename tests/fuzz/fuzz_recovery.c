/*
 * Any bytes as the plan of a recovery. One that is taken is asked of each path that it names, and
 * says that something of it runs again.
 */
#include "tests/fuzz/fuzz.h"

#include "deploy/recovery/recovery.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

static void ask(const struct tr_recovery *plan)
{
    for (uint32_t i = 0; i < plan->again_count; i++) {
        TR_ASSERT(tr_recovery_way(plan, plan->again[i]) == TR_RECOVERY_ANEW);
    }
    for (uint32_t i = 0; i < plan->open_count; i++) {
        TR_ASSERT(tr_recovery_way(plan, plan->open[i]) != TR_RECOVERY_KEPT);
    }
    for (uint32_t i = 0; i < plan->edit_count; i++) {
        const struct tr_recovery_edit *first = tr_recovery_edits(plan, plan->edits[i].path);
        TR_ASSERT(first != NULL && first <= &plan->edits[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = tr_memory_used();
    struct tr_arena arena;
    tr_arena_init(&arena);
    struct tr_recovery plan;
    int error = tr_recovery_unpack((struct tr_bytes){.data = data, .size = size}, &arena, &plan);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_VERSION);
    if (error == 0) {
        ask(&plan);
    }
    tr_arena_fini(&arena);
    TR_ASSERT(tr_memory_used() == before);
    return 0;
}
