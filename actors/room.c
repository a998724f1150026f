/*
 * The words of what has no room any more.
 */
#include "actors/room.h"

#include "runtime/memory.h"

static const struct tr_room is_full = {
    .code = "EngineFull",
    .message = "the engine has no memory for more (limits: memory of the settings); begin fewer at "
               "once, or give it more",
};

static const struct tr_room is_large = {
    .code = "ExecutionTooLarge",
    .message = "the execution has as many nodes and elements at once, or as much memory for them, "
               "as one may have (limits: execution_nodes and execution_memory of the settings); "
               "bound it by max_parallelism and parallelism, or raise them",
};

static const struct tr_room has_room = {.code = NULL};

static struct tr_room room_of(int error)
{
    return error == 0 ? has_room : error == TR_LIMIT ? is_large : is_full;
}

struct tr_room tr_room_to_grow(const struct tr_context *context)
{
    return room_of(tr_may_grow(context));
}

struct tr_room tr_room_to_begin(const struct tr_context *context)
{
    return room_of(tr_may_begin(context));
}

struct tr_room tr_room_for_graph(uint64_t memory_max)
{
    return room_of(memory_max == 0 || tr_memory_needed() < memory_max ? 0 : TR_BUSY);
}
