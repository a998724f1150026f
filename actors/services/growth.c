/*
 * Growth limits, and what a failure by one of them says.
 *
 * The runtime says whether there is room (tr_may_grow, tr_may_begin); here that becomes a code and
 * words that name the setting to raise. A `code` of NULL means that there is room. The checks are
 * made before anything is spawned, so the one that asks for too much fails alone, and not the
 * engine when its memory ends.
 */
#include "actors/services/growth.h"

#include "runtime/memory.h"

static const struct tr_growth is_full = {
    .code = "EngineFull",
    .message = "the engine has no memory for more (limits: memory of the settings); begin fewer at "
               "once, or give it more",
};

static const struct tr_growth is_large = {
    .code = "ExecutionTooLarge",
    .message = "the execution has as many nodes and elements at once, or as much memory for them, "
               "as one may have (limits: execution_nodes and execution_memory of the settings); "
               "bound it by max_parallelism and parallelism, or raise them",
};

static const struct tr_growth unlimited = {.code = NULL};

/* TR_LIMIT is the bound of one execution; any other error is the memory of the host. */
static struct tr_growth growth_of(int error)
{
    return error == 0 ? unlimited : error == TR_LIMIT ? is_large : is_full;
}

struct tr_growth tr_growth_of_execution(const struct tr_context *context)
{
    return growth_of(tr_may_grow(context));
}

struct tr_growth tr_growth_of_engine(const struct tr_context *context)
{
    return growth_of(tr_may_begin(context));
}

/* `memory_max` 0: the settings give no bound. */
struct tr_growth tr_growth_of_graph(uint64_t memory_max)
{
    return growth_of(memory_max == 0 || tr_memory_needed() < memory_max ? 0 : TR_BUSY);
}
