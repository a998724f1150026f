/*
 * What an author of a plugin includes: the contract (schemas/engine/plugin.h), and comforts over
 * it, so that a plugin reads as sentences. All of them are for the functions of a plugin, while
 * they run.
 *
 *     static int hello_handle(struct tr_task_context *task, void *state,
 *                             const struct tr_task_event *event, struct tr_transition *transition)
 *     {
 *         struct tr_text problem;
 *         int error = tr_task_outputs_json(task, tr_text_of("{\"greeting\": \"hello\"}"),
 *                                          (struct tr_text){0}, &problem);
 *         return error == 0 ? tr_task_succeed(transition) : error;
 *     }
 *
 * plugins/builtin/echo.c and plugins/builtin/sleep.c are whole ones, on a page each.
 */
#ifndef TR_PLUGINS_SDK_PLUGIN_H
#define TR_PLUGINS_SDK_PLUGIN_H

#include "schemas/codec/error.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/plugin.h"
#include "schemas/engine/webapi.h"

/* What a plugin from a shared object exports, and nothing else: its table. */
extern const struct tr_plugin tr_plugin_table __attribute__((visibility("default")));

/* ------------------------------------------------------ what a task is told */

/* Milliseconds since 1970, never less than before, also where people put their clock back. */
static inline uint64_t tr_task_now_ms(struct tr_task_context *task)
{
    return task->api->now_ms(task);
}

static inline uint64_t tr_task_random(struct tr_task_context *task)
{
    return task->api->random(task);
}

static inline const struct tr_task_template *tr_task_template(struct tr_task_context *task)
{
    return task->api->template(task);
}

static inline const struct tr_task_identity *tr_task_identity(struct tr_task_context *task)
{
    return task->api->identity(task);
}

/* The key of idempotency of this attempt. */
static inline struct tr_text tr_task_generated_name(struct tr_task_context *task)
{
    return task->api->identity(task)->generated_name;
}

static inline struct tr_text tr_task_store_folder(struct tr_task_context *task)
{
    return task->api->store_folder(task);
}

static inline struct tr_text tr_task_attempt_folder(struct tr_task_context *task)
{
    return task->api->attempt_folder(task);
}

static inline struct tr_text tr_task_checkpoint_folder(struct tr_task_context *task)
{
    return task->api->checkpoint_folder(task);
}

/* Cleared memory until the function returns; NULL: none, and returning TR_MEMORY is right. */
static inline void *tr_task_scratch(struct tr_task_context *task, size_t size)
{
    return task->api->scratch(task, size);
}

static inline struct tr_bytes tr_task_inputs(struct tr_task_context *task)
{
    return task->api->inputs(task);
}

/* A formatted text in the task's scratch memory; empty when none is left. */
struct tr_text tr_task_format(struct tr_task_context *task, const char *format, ...)
    TR_PRINTF(2, 3);

TR_MUST_USE static inline int tr_task_inputs_json(struct tr_task_context *task,
                                                  struct tr_text *json)
{
    return task->api->inputs_json(task, json);
}

static inline struct tr_task_variable tr_task_input(struct tr_task_context *task, uint32_t index)
{
    return task->api->input(task, index);
}

static inline struct tr_task_variable tr_task_output(struct tr_task_context *task, uint32_t index)
{
    return task->api->output(task, index);
}

/* --------------------------------------------------------- what a task does */

TR_MUST_USE static inline int tr_task_outputs(struct tr_task_context *task, struct tr_bytes slots)
{
    return task->api->outputs(task, slots);
}

TR_MUST_USE static inline int tr_task_outputs_json(struct tr_task_context *task,
                                                   struct tr_text json, struct tr_text folder,
                                                   struct tr_text *problem)
{
    return task->api->outputs_json(task, json, folder, problem);
}

TR_MUST_USE static inline int tr_task_inputs_plan(struct tr_task_context *task,
                                                  enum tr_document_form form, struct tr_bytes *plan)
{
    return task->api->inputs_plan(task, form, plan);
}

TR_MUST_USE static inline int tr_task_outputs_plan(struct tr_task_context *task,
                                                   enum tr_document_form form,
                                                   struct tr_text folder, struct tr_bytes *plan)
{
    return task->api->outputs_plan(task, form, folder, plan);
}

/* Documents in any form. */
TR_MUST_USE static inline int tr_task_inputs_document(struct tr_task_context *task,
                                                      enum tr_document_form form,
                                                      struct tr_bytes *document)
{
    return task->api->inputs_document(task, form, document);
}

TR_MUST_USE static inline int tr_task_outputs_document(struct tr_task_context *task,
                                                       enum tr_document_form form,
                                                       struct tr_bytes document,
                                                       struct tr_text folder,
                                                       struct tr_text *problem)
{
    return task->api->outputs_document(task, form, document, folder, problem);
}

TR_MUST_USE static inline int tr_task_failure_document(struct tr_task_context *task,
                                                       enum tr_document_form form,
                                                       struct tr_bytes document,
                                                       struct tr_transition *transition)
{
    return task->api->failure_document(task, form, document, transition);
}

TR_MUST_USE static inline int tr_task_call(struct tr_task_context *task, uint16_t service,
                                           const struct tr_schema *schema, const void *body,
                                           uint64_t timeout_ms, uint64_t *call)
{
    return task->api->call(task, service, schema, body, timeout_ms, call);
}

TR_MUST_USE static inline int tr_task_tell(struct tr_task_context *task, uint16_t service,
                                           const struct tr_schema *schema, const void *body)
{
    return task->api->tell(task, service, schema, body);
}

TR_MUST_USE static inline int tr_task_timer(struct tr_task_context *task, uint64_t number,
                                            uint64_t delay_ms)
{
    return task->api->timer(task, number, delay_ms);
}

TR_MUST_USE static inline int tr_task_timer_stop(struct tr_task_context *task, uint64_t number)
{
    return task->api->timer_stop(task, number);
}

TR_MUST_USE static inline int tr_task_log(struct tr_task_context *task, struct tr_text name,
                                          struct tr_text uri)
{
    return task->api->log(task, name, uri);
}

TR_MUST_USE static inline int tr_task_folder(struct tr_task_context *task, struct tr_text path)
{
    return task->api->folder(task, path);
}

TR_MUST_USE static inline int tr_task_shared_folder(struct tr_task_context *task,
                                                    struct tr_text path, size_t trusted_bytes)
{
    return task->api->shared_folder(task, path, trusted_bytes);
}

static inline const struct tr_plugin *tr_task_plugin(struct tr_task_context *task)
{
    return task->api->plugin(task);
}

static inline const struct tr_webapi_endpoint *tr_task_endpoint(struct tr_task_context *task,
                                                                struct tr_text name)
{
    return task->api->endpoint(task, name);
}

TR_MUST_USE static inline int tr_task_refresh(struct tr_task_context *task, struct tr_text endpoint,
                                              const struct tr_schema *schema, const void *body)
{
    return task->api->refresh(task, endpoint, schema, body);
}

/* Fails with what an error document says. */
TR_MUST_USE static inline int tr_task_failure_json(struct tr_task_context *task,
                                                   struct tr_text json,
                                                   struct tr_transition *transition)
{
    return task->api->failure_json(task, json, transition);
}

/* Reads the message of an event: tr_task_event_read(event, process_over, &over). */
#define tr_task_event_is(event, schema_name) ((event)->type == tr_##schema_name##_schema.id)
#define tr_task_event_read(event, schema_name, value) \
    tr_##schema_name##_unpack((event)->body, (event)->version, (value))

/* -------------------------------------------------------------- transitions */

/* Each fills in a transition and returns 0, to be returned in turn. Texts may be literals. */
static inline int tr_task_is(struct tr_transition *transition, enum tr_task_phase phase,
                             struct tr_text reason)
{
    *transition = (struct tr_transition){
        .phase = (uint8_t)phase, .version = transition->version, .reason = reason};
    return 0;
}

static inline int tr_task_succeed(struct tr_transition *transition)
{
    transition->phase = TR_TASK_PHASE_SUCCESS;
    return 0;
}

static inline int tr_task_aborted(struct tr_transition *transition)
{
    transition->phase = TR_TASK_PHASE_ABORTED;
    return 0;
}

/* The `abort` of a plugin that has nothing outside. */
static inline int tr_task_nothing_to_end(struct tr_task_context *task, void *state, bool is_hard,
                                         const struct tr_task_event *event,
                                         struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)is_hard;
    (void)event;
    return tr_task_aborted(transition);
}

/* May be tried again, if `kind`'s budget allows. */
static inline int tr_task_fail(struct tr_transition *transition, enum tr_failure_kind kind,
                               struct tr_text code, struct tr_text message)
{
    *transition = (struct tr_transition){.phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
                                         .failure = (uint8_t)kind,
                                         .code = code,
                                         .message = message};
    return 0;
}

/* Is not tried again. */
static inline int tr_task_refuse(struct tr_transition *transition, struct tr_text code,
                                 struct tr_text message)
{
    *transition = (struct tr_transition){.phase = TR_TASK_PHASE_PERMANENT_FAILURE,
                                         .failure = TR_FAILURE_USER,
                                         .code = code,
                                         .message = message};
    return 0;
}

/* ------------------------------------------------------------ configuration */

/* Finds a key of a task's `config` (a packed map, or nothing) and gives a cursor to its value. */
static inline bool tr_config_find(struct tr_bytes config, const char *key, struct tr_cursor *value)
{
    struct tr_cursor cursor = tr_cursor_of(config);
    uint32_t count = config.size == 0 ? 0 : tr_read_map(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        struct tr_cursor here = cursor;
        (void)tr_read_any(&cursor);
        if (cursor.error == 0 && tr_text_equal(name, tr_text_of(key))) {
            *value = here;
            return true;
        }
    }
    return false;
}

/* A number or a text of it, or what stands for one that is not there or is another thing. */
static inline uint64_t tr_config_u64(struct tr_bytes config, const char *key, uint64_t otherwise)
{
    struct tr_cursor value;
    if (!tr_config_find(config, key, &value)) {
        return otherwise;
    }
    uint64_t number = tr_read_u64(&value);
    return value.error == 0 ? number : otherwise;
}

static inline struct tr_text tr_config_text(struct tr_bytes config, const char *key,
                                            struct tr_text otherwise)
{
    struct tr_cursor value;
    if (!tr_config_find(config, key, &value)) {
        return otherwise;
    }
    struct tr_text text = tr_read_text(&value);
    return value.error == 0 ? text : otherwise;
}

/* A key that a plugin's configuration may have. */
struct tr_config_key {
    const char *name;
    enum tr_codec_type type; /* TR_CODEC_TEXT, TR_CODEC_UNSIGNED, ...; TR_CODEC_NONE: any */
};

/* The words for people of what is wrong, as `check` gives them: always TR_INVALID. */
int tr_config_refuse(char *problem, size_t problem_size, const char *format, ...) TR_PRINTF(3, 4);

/* Whether all keys are known and of their types: 0, or TR_INVALID with words. */
TR_MUST_USE int tr_config_check(struct tr_bytes config, const struct tr_config_key *keys,
                                size_t key_count, char *problem, size_t problem_size);

/* The same with another word than "config" for what holds the keys. */
TR_MUST_USE int tr_config_check_as(const char *place, struct tr_bytes config,
                                   const struct tr_config_key *keys, size_t key_count,
                                   char *problem, size_t problem_size);

#endif
