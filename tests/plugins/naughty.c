/*
 * A plugin that does what plugins must not: as its task's `config` says it crashes, loops, gives
 * errors, floods, or answers nonsense. It is loaded by tests/integration/test_plugins.py.
 */
#include <signal.h>
#include <string.h>

#include "plugins/sdk/plugin.h"

#define FLOOD_TIMER 1
#define FLOOD 20000

/* How often the flood's timer has come. */
#define TR_NAUGHTY_STATE_FIELDS(FIELD, ARRAY) FIELD(u64, count, 1, 0)
#define TR_NAUGHTY_SCHEMAS(S) S(naughty_state, 10001, TR_STATE, 1, 0, TR_NAUGHTY_STATE_FIELDS)
TR_NAUGHTY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_NAUGHTY_SCHEMAS(TR_SCHEMA_DEFINE)

static const struct tr_config_key keys[] = {{"how", TR_CODEC_TEXT}};

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    return tr_config_check(task->config, keys, TR_COUNT_OF(keys), problem, problem_size);
}

static int crash(struct tr_task_context *task, struct tr_naughty_state *state,
                 struct tr_transition *transition)
{
    (void)task;
    (void)state;
    /* Not NULL, which UBSan would see before the processor does. */
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
    *nowhere = 1;
    return tr_task_succeed(transition);
}

static int end_process(struct tr_task_context *task, struct tr_naughty_state *state,
                       struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)transition;
    raise(SIGABRT);
    return 0;
}

static int loop(struct tr_task_context *task, struct tr_naughty_state *state,
                struct tr_transition *transition)
{
    (void)task;
    (void)transition;
    while (*(volatile uint64_t *)&state->count == 0) {
    }
    return 0;
}

static int fail(struct tr_task_context *task, struct tr_naughty_state *state,
                struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)transition;
    return TR_BUSY;
}

/* News without end, each of them at once. */
static int flood(struct tr_task_context *task, struct tr_naughty_state *state,
                 struct tr_transition *transition)
{
    state->count++;
    *transition = (struct tr_transition){.phase = TR_TASK_PHASE_RUNNING,
                                         .version = (uint32_t)state->count,
                                         .reason = tr_text_of("and another thing")};
    return state->count > FLOOD ? tr_task_succeed(transition) : tr_task_timer(task, FLOOD_TIMER, 0);
}

static int answer_nonsense(struct tr_task_context *task, struct tr_naughty_state *state,
                           struct tr_transition *transition)
{
    (void)task;
    (void)state;
    transition->phase = 200;
    transition->code = (struct tr_text){.data = "\xff\xfe", .size = 2};
    return 0;
}

static const struct {
    const char *how;
    int (*act)(struct tr_task_context *task, struct tr_naughty_state *state,
               struct tr_transition *transition);
} acts[] = {
    {"crash", crash}, {"abort", end_process}, {"loop", loop},
    {"fail", fail},   {"flood", flood},       {"nonsense", answer_nonsense},
};

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_text how =
        tr_config_text(tr_task_template(task)->config, "how", tr_text_of("nothing"));
    (void)event;
    for (size_t i = 0; i < TR_COUNT_OF(acts); i++) {
        if (tr_text_equal(how, tr_text_of(acts[i].how))) {
            return acts[i].act(task, state, transition);
        }
    }
    return tr_task_succeed(transition);
}

static const char *const task_types[] = {"naughty", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "naughty",
    .task_types = task_types,
    .state = &tr_naughty_state_schema,
    .check = check,
    .handle = handle,
    .abort = tr_task_nothing_to_end,
};
