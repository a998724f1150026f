/*
 * The sleep plugin (task type core-sleep, as Flyte's): waits for as long as its first input, a
 * duration, says, and gives nothing. A durable timer does the waiting, so that time during which no
 * engine lived counts.
 */
#include "plugins/builtin/registry.h"
#include "schemas/engine/state_plugin.h"

#define WAKE_TIMER 1
#define NANOSECONDS_PER_MS 1000000

/* The duration: nanoseconds. */
static bool read_duration(struct tr_task_context *task, int64_t *nanoseconds)
{
    struct tr_bytes inputs = tr_task_inputs(task);
    struct tr_cursor cursor = tr_cursor_of(inputs);
    uint32_t count = inputs.size == 0 ? 0 : tr_read_array(&cursor);
    int64_t value = count == 0 ? 0 : tr_read_i64(&cursor);
    if (count == 0 || cursor.error != 0) {
        return false;
    }
    *nanoseconds = value;
    return true;
}

static int wait(struct tr_task_context *task, struct tr_sleep_state *sleep,
                struct tr_transition *transition)
{
    uint64_t now_ms = tr_task_now_ms(task);
    uint64_t left_ms = sleep->until_ms > now_ms ? sleep->until_ms - now_ms : 0;
    if (left_ms == 0) {
        return tr_task_succeed(transition);
    }
    int error = tr_task_timer(task, WAKE_TIMER, left_ms);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("sleeping"));
}

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_sleep_state *sleep = state;
    int64_t nanoseconds = 0;
    if (sleep->until_ms == 0) {
        /* The start; or its state was lost, and nobody can be asked: it sleeps once more. */
        if (!read_duration(task, &nanoseconds)) {
            return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"),
                                  tr_text_of("core-sleep takes an input, a duration"));
        }
        uint64_t wait_ms = nanoseconds <= 0 ? 0
                                            : ((uint64_t)nanoseconds + NANOSECONDS_PER_MS - 1) /
                                                  NANOSECONDS_PER_MS;
        sleep->until_ms = tr_task_now_ms(task) + wait_ms;
    }
    (void)event;
    return wait(task, sleep, transition);
}

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    if (task->input_count == 0) {
        return tr_config_refuse(problem, problem_size,
                                "core-sleep takes an input, a duration\nwrite inputs: {NAME: "
                                "duration}");
    }
    return tr_config_check(task->config, NULL, 0, problem, problem_size);
}

static const char *const task_types[] = {"core-sleep", NULL};

const struct tr_plugin tr_sleep_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "sleep",
    .task_types = task_types,
    .state = &tr_sleep_state_schema,
    .check = check,
    .handle = handle,
    .abort = tr_task_nothing_to_end,
};
