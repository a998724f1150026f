/*
 * A parent with ten thousand children, each of which does one small piece of work.
 *
 * Not all of them live at once: the parent keeps a window, and spawns the next child when
 * one has answered. A child ends by itself as it replies; the parent need not remember which.
 */
#include "examples/actors/example.h"

#define CHILDREN 10000
#define WINDOW 1000

#define START_FIELDS(FIELD, ARRAY)
#define TASK_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define RESULT_FIELDS(FIELD, ARRAY) FIELD(u64, square, 1, 0)
#define PARENT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, spawned, 1, 0)       \
    FIELD(u64, done, 1, 0)          \
    FIELD(u64, sum, 1, 0)
#define CHILD_FIELDS(FIELD, ARRAY)

#define SCHEMAS(S)                                             \
    S(start, 60040, TR_MESSAGE, 1, TR_DURABLE, START_FIELDS)   \
    S(task, 60041, TR_MESSAGE, 1, TR_DURABLE, TASK_FIELDS)     \
    S(result, 60042, TR_MESSAGE, 1, TR_DURABLE, RESULT_FIELDS) \
    S(parent, 60040, TR_STATE, 1, 0, PARENT_FIELDS)            \
    S(child, 60041, TR_STATE, 1, 0, CHILD_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

static int child_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    (void)state;
    struct tr_task task;
    if (!tr_message_is(message, &tr_task_schema)) {
        return tr_unexpected(context, message);
    }
    int error = tr_message_read(message, task, &task);
    if (error == 0) {
        struct tr_result result = {.square = task.number * task.number};
        error = tr_reply(context, message, &tr_result_schema, &result);
    }
    return error != 0 ? error : tr_stop(context);
}

static const struct tr_behaviour child_behaviour = {
    .name = "child", .id = 60041, .state = &tr_child_schema, .handle = child_handle};

/* Spawns the next child and hands it its task. */
static int spawn(struct tr_context *context, struct tr_parent *parent)
{
    struct tr_spawn_options options = {.is_element = true, .element = parent->spawned};
    struct tr_ref child;
    int error = tr_spawn(context, &child_behaviour, &options, &child);
    if (error != 0) {
        return error;
    }
    struct tr_task task = {.number = ++parent->spawned};
    return tr_tell_hinted(context, child, tr_spawned_hint(context), &tr_task_schema, &task);
}

/* Spawns as many children as the window has room for. */
static int fill_window(struct tr_context *context, struct tr_parent *parent)
{
    int error = 0;
    while (error == 0 && parent->spawned < CHILDREN && parent->spawned - parent->done < WINDOW) {
        error = spawn(context, parent);
    }
    return error;
}

static int on_result(struct tr_context *context, struct tr_parent *parent,
                     const struct tr_message *message)
{
    struct tr_result result;
    int error = tr_message_read(message, result, &result);
    if (error != 0) {
        return error;
    }
    parent->sum += result.square;
    if (++parent->done == CHILDREN) {
        printf("%llu children, sum of squares %llu\n", (unsigned long long)parent->done,
               (unsigned long long)parent->sum);
        return tr_stop(context);
    }
    return fill_window(context, parent);
}

static int parent_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_start_schema)) {
        return fill_window(context, state);
    }
    if (tr_message_is(message, &tr_result_schema)) {
        return on_result(context, state, message);
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour parent_behaviour = {
    .name = "parent", .id = 60040, .state = &tr_parent_schema, .handle = parent_handle};

int main(void)
{
    const struct tr_behaviour *behaviours[] = {&parent_behaviour, &child_behaviour};
    struct tr_host *host = must_start(behaviours, TR_COUNT_OF(behaviours), 1);
    struct tr_ref parent;
    must(tr_host_spawn(host, &parent_behaviour, NULL, &parent), "spawning the parent");
    must(tr_host_tell(host, parent, &tr_start_schema, &(struct tr_start){}), "starting it");

    int reason;
    must(tr_host_wait(host, parent, 0, &reason), "waiting for the parent");
    tr_host_free(host);
    return 0;
}
