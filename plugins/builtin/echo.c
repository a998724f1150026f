/*
 * The echo plugin: its outputs are its inputs. Nothing is done outside; it is there for tests,
 * benchmarks and trying out a workflow before its tasks are written, and says so.
 *
 * An output gets the input of its name, else the one at its place, else the first that is left of
 * its type. `config` makes it misbehave: {fail: 2} fails the first two attempts with `code` and
 * `message` (`permanent: true`: for good), `delay_ms` lets it take its time.
 */
#include "plugins/builtin/registry.h"

#include <string.h>

#include "schemas/engine/state_plugin.h"

#define WAIT_TIMER 1

static const struct tr_config_key keys[] = {
    {"fail", TR_CODEC_UNSIGNED},  {"code", TR_CODEC_TEXT},   {"message", TR_CODEC_TEXT},
    {"permanent", TR_CODEC_BOOL}, {"system", TR_CODEC_BOOL}, {"delay_ms", TR_CODEC_UNSIGNED},
};

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    return tr_config_check(task->config, keys, TR_COUNT_OF(keys), problem, problem_size);
}

/* Whether an input may stand for an output. */
static bool fits(struct tr_task_context *task, uint32_t input, uint32_t output)
{
    return tr_task_input(task, input).type == tr_task_output(task, output).type;
}

/* The input for an output, or the number of inputs. */
static uint32_t choose(struct tr_task_context *task, uint32_t count, uint32_t output)
{
    struct tr_text name = tr_task_output(task, output).name;
    if (output < count && tr_text_equal(tr_task_input(task, output).name, name) &&
        fits(task, output, output)) {
        return output;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (tr_text_equal(tr_task_input(task, i).name, name) && fits(task, i, output)) {
            return i;
        }
    }
    if (output < count && fits(task, output, output)) {
        return output;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (fits(task, i, output)) {
            return i;
        }
    }
    return count;
}

static struct tr_bytes slot_at(struct tr_bytes slots, uint32_t index)
{
    struct tr_cursor cursor = tr_cursor_of(slots);
    (void)tr_read_array(&cursor);
    for (uint32_t i = 0; i < index; i++) {
        (void)tr_read_any(&cursor);
    }
    return tr_read_any(&cursor);
}

static int no_input_fits(struct tr_task_context *task, uint32_t output,
                         struct tr_transition *transition)
{
    static const char words[] = "echo has no input of the type of the output '";
    struct tr_text name = tr_task_output(task, output).name;
    char *message = tr_task_scratch(task, sizeof words + name.size + 1);
    if (message == NULL) {
        return TR_MEMORY;
    }
    memcpy(message, words, sizeof words - 1);
    memcpy(message + sizeof words - 1, name.data, name.size);
    message[sizeof words - 1 + name.size] = '\'';
    struct tr_text text = {.data = message, .size = sizeof words + name.size};
    return tr_task_refuse(transition, tr_text_of("MismatchingTypes"), text);
}

static int copy_inputs(struct tr_task_context *task, struct tr_transition *transition)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_bytes inputs = tr_task_inputs(task);
    size_t size = 8;
    for (uint32_t i = 0; i < template->output_count; i++) {
        uint32_t input = choose(task, template->input_count, i);
        if (input == template->input_count) {
            return no_input_fits(task, i, transition);
        }
        size += slot_at(inputs, input).size;
    }
    void *bytes = tr_task_scratch(task, size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, template->output_count);
    for (uint32_t i = 0; i < template->output_count; i++) {
        tr_write_any(&writer, slot_at(inputs, choose(task, template->input_count, i)));
    }
    struct tr_bytes outputs = {.data = bytes, .size = tr_writer_size(&writer)};
    int error = writer.error != 0 ? writer.error : tr_task_outputs(task, outputs);
    return error != 0 ? error : tr_task_succeed(transition);
}

static bool config_flag(struct tr_bytes config, const char *key)
{
    struct tr_cursor value;
    return tr_config_find(config, key, &value) && tr_read_bool(&value);
}

/* What it does when it has waited long enough. */
static int finish(struct tr_task_context *task, struct tr_transition *transition)
{
    struct tr_bytes config = tr_task_template(task)->config;
    if (config.size == 0 || tr_task_identity(task)->attempt >= tr_config_u64(config, "fail", 0)) {
        return copy_inputs(task, transition);
    }
    struct tr_text code = tr_config_text(config, "code", tr_text_of("EchoFailed"));
    struct tr_text message = tr_config_text(config, "message", tr_text_of("it was told to fail"));
    if (config_flag(config, "permanent")) {
        return tr_task_refuse(transition, code, message);
    }
    return tr_task_fail(transition,
                        config_flag(config, "system") ? TR_FAILURE_SYSTEM : TR_FAILURE_USER, code,
                        message);
}

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_echo_state *echo = state;
    struct tr_bytes config = tr_task_template(task)->config;
    uint64_t delay_ms = tr_config_u64(config, "delay_ms", 0);
    if (event->kind == TR_TASK_TIMER || delay_ms == 0) {
        return finish(task, transition);
    }
    /* At its start, and where what it knew was lost, which it only can have been while it waits. */
    echo->is_waiting = true;
    int error = tr_task_timer(task, WAIT_TIMER, delay_ms);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("echo waits"));
}

static const char *const task_types[] = {"echo", NULL};

const struct tr_plugin tr_echo_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "echo",
    .task_types = task_types,
    .state = &tr_echo_state_schema,
    .check = check,
    .handle = handle,
    .abort = tr_task_nothing_to_end,
};
