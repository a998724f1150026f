/*
 * The fake's functions: they keep what they are given and answer what the test has set.
 */
#include "tests/support/fake_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/runtime/files.h"
#include "tests/support/fake_batch.h"

#define BLOCKS_MAX 1024

static void *blocks[BLOCKS_MAX];
static size_t block_count;

static void *block_new(size_t size)
{
    void *block = calloc(1, size + 1);
    assert_non_null(block);
    assert_true(block_count < BLOCKS_MAX);
    blocks[block_count++] = block;
    return block;
}

void *fake_room(size_t size)
{
    return block_new(size);
}

static struct fake_task *behind(struct tr_task_context *task)
{
    return (struct fake_task *)task;
}

static const struct tr_task_template *api_template(struct tr_task_context *task)
{
    return &behind(task)->template;
}

static const struct tr_task_identity *api_identity(struct tr_task_context *task)
{
    return &behind(task)->identity;
}

static struct tr_text api_store_folder(struct tr_task_context *task)
{
    (void)task;
    return tr_text_of("/store");
}

static struct tr_text api_attempt_folder(struct tr_task_context *task)
{
    (void)task;
    return tr_text_of("/store/attempts/x/x-n-0");
}

static struct tr_text api_checkpoint_folder(struct tr_task_context *task)
{
    (void)task;
    return tr_text_of("/store/checkpoints/x/n");
}

static void *api_scratch(struct tr_task_context *task, size_t size)
{
    (void)task;
    return block_new(size);
}

static int api_inputs_json(struct tr_task_context *task, struct tr_text *json)
{
    const char *inputs = behind(task)->inputs_json;
    if (inputs == NULL) {
        return TR_LIMIT;
    }
    *json = tr_text_of(inputs);
    return 0;
}

static int judge(struct fake_task *fake, struct tr_text *problem)
{
    if (fake->refusal != NULL) {
        *problem = tr_text_of(fake->refusal);
        return TR_INVALID;
    }
    return 0;
}

static int api_outputs(struct tr_task_context *task, struct tr_bytes slots)
{
    struct fake_task *fake = behind(task);
    struct tr_text problem;
    snprintf(fake->outputs, sizeof fake->outputs, "slots of %zu bytes", slots.size);
    return judge(fake, &problem);
}

static int api_outputs_json(struct tr_task_context *task, struct tr_text json,
                            struct tr_text folder, struct tr_text *problem)
{
    struct fake_task *fake = behind(task);
    snprintf(fake->outputs, sizeof fake->outputs, "%.*s", (int)json.size, json.data);
    snprintf(fake->outputs_folder, sizeof fake->outputs_folder, "%.*s", (int)folder.size,
             folder.data);
    return judge(fake, problem);
}

static void keep(struct fake_task *fake, bool is_call, uint16_t service,
                 const struct tr_schema *schema, const void *body)
{
    assert_true(fake->sent_count < FAKE_SENT_MAX);
    size_t size = schema->size_max(body);
    uint8_t *bytes = block_new(size);
    struct tr_writer writer = tr_writer_of(bytes, size);
    assert_int_equal(schema->pack(body, &writer), 0);
    fake->sent[fake->sent_count] = (struct fake_sent){
        .is_call = is_call,
        .call = is_call ? 100 + fake->sent_count : 0,
        .service = service,
        .type = schema->id,
        .version = schema->version,
        .body = {.data = bytes, .size = tr_writer_size(&writer)},
    };
    fake->sent_count++;
}

static int api_call(struct tr_task_context *task, uint16_t service, const struct tr_schema *schema,
                    const void *body, uint64_t timeout_ms, uint64_t *call)
{
    struct fake_task *fake = behind(task);
    (void)timeout_ms;
    if (fake->call_error != 0) {
        return fake->call_error;
    }
    keep(fake, true, service, schema, body);
    *call = fake->sent[fake->sent_count - 1].call;
    return 0;
}

static int api_tell(struct tr_task_context *task, uint16_t service, const struct tr_schema *schema,
                    const void *body)
{
    keep(behind(task), false, service, schema, body);
    return 0;
}

static int api_folder(struct tr_task_context *task, struct tr_text path)
{
    struct fake_task *fake = behind(task);
    snprintf(fake->folder, sizeof fake->folder, "%.*s", (int)path.size, path.data);
    return 0;
}

static int api_shared_folder(struct tr_task_context *task, struct tr_text path,
                             size_t trusted_bytes)
{
    behind(task)->trusted_bytes = trusted_bytes;
    return api_folder(task, path);
}

/* The document is not read: its words are the message. One that begins and does not end is torn. */
static int api_failure_json(struct tr_task_context *task, struct tr_text json,
                            struct tr_transition *transition)
{
    (void)task;
    bool is_torn = json.size == 0 || (json.data[0] == '{' && json.data[json.size - 1] != '}');
    const char *code = is_torn ? TR_CODE_ERROR_DOCUMENT_MALFORMED : "FromDocument";
    return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of(code), json);
}

static int api_inputs_plan(struct tr_task_context *task, enum tr_document_form form,
                           struct tr_bytes *plan)
{
    (void)task;
    (void)form;
    *plan = (struct tr_bytes){.data = (const uint8_t *)"in", .size = 2};
    return 0;
}

static int api_outputs_plan(struct tr_task_context *task, enum tr_document_form form,
                            struct tr_text folder, struct tr_bytes *plan)
{
    (void)task;
    (void)form;
    *plan = (struct tr_bytes){.data = (const uint8_t *)folder.data, .size = folder.size};
    return 0;
}

/* Documents of Flyte's are what the test says, too. */
static int api_inputs_document(struct tr_task_context *task, enum tr_document_form form,
                               struct tr_bytes *document)
{
    struct tr_text json;
    int error = api_inputs_json(task, &json);
    if (form == TR_DOCUMENT_FLYTE) {
        json = tr_text_of("pb");
    }
    if (error == 0) {
        *document = (struct tr_bytes){.data = (const uint8_t *)json.data, .size = json.size};
    }
    return error;
}

static struct tr_text text_of(struct tr_bytes bytes)
{
    return (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
}

static int api_outputs_document(struct tr_task_context *task, enum tr_document_form form,
                                struct tr_bytes document, struct tr_text folder,
                                struct tr_text *problem)
{
    behind(task)->form = form;
    return api_outputs_json(task, text_of(document), folder, problem);
}

static int api_failure_document(struct tr_task_context *task, enum tr_document_form form,
                                struct tr_bytes document, struct tr_transition *transition)
{
    behind(task)->form = form;
    return api_failure_json(task, text_of(document), transition);
}

static int api_timer(struct tr_task_context *task, uint64_t number, uint64_t delay_ms)
{
    struct fake_task *fake = (struct fake_task *)task;
    fake->timer = number;
    fake->timer_ms = delay_ms;
    return 0;
}

static uint64_t api_now_ms(struct tr_task_context *task)
{
    (void)task;
    return 1000;
}

static int api_log(struct tr_task_context *task, struct tr_text name, struct tr_text uri)
{
    struct fake_task *fake = behind(task);
    size_t size = strlen(fake->logs);
    snprintf(fake->logs + size, sizeof fake->logs - size, "%.*s %.*s ", (int)name.size, name.data,
             (int)uri.size, uri.data);
    return 0;
}

static const struct tr_plugin *api_plugin(struct tr_task_context *task)
{
    return behind(task)->plugin;
}

static const struct tr_webapi_endpoint *api_endpoint(struct tr_task_context *task,
                                                     struct tr_text name)
{
    struct fake_task *fake = behind(task);
    bool is_there = fake->endpoint.name.size > 0 &&
                    (name.size == 0 || tr_text_equal(name, fake->endpoint.name));
    return is_there ? &fake->endpoint : NULL;
}

static int api_refresh(struct tr_task_context *task, struct tr_text endpoint,
                       const struct tr_schema *schema, const void *body)
{
    if (api_endpoint(task, endpoint) == NULL) {
        return TR_NOT_FOUND;
    }
    keep(behind(task), false, FAKE_REFRESH, schema, body);
    return 0;
}

static int api_read_json(struct tr_task_context *task, struct tr_bytes json, struct tr_bytes *value)
{
    (void)task;
    return fake_read_json((struct tr_text){(const char *)json.data, json.size}, value);
}

static const struct tr_task_api api = {
    .abi = TR_PLUGIN_ABI,
    .now_ms = api_now_ms,
    .log = api_log,
    .plugin = api_plugin,
    .endpoint = api_endpoint,
    .refresh = api_refresh,
    .template = api_template,
    .identity = api_identity,
    .store_folder = api_store_folder,
    .attempt_folder = api_attempt_folder,
    .checkpoint_folder = api_checkpoint_folder,
    .scratch = api_scratch,
    .inputs_json = api_inputs_json,
    .read_json = api_read_json,
    .outputs = api_outputs,
    .outputs_json = api_outputs_json,
    .call = api_call,
    .tell = api_tell,
    .timer = api_timer,
    .folder = api_folder,
    .shared_folder = api_shared_folder,
    .failure_json = api_failure_json,
    .inputs_plan = api_inputs_plan,
    .outputs_plan = api_outputs_plan,
    .inputs_document = api_inputs_document,
    .outputs_document = api_outputs_document,
    .failure_document = api_failure_document,
};

void fake_init(struct fake_task *fake)
{
    static const struct tr_text argv[] = {{.data = "true", .size = 4}};
    *fake = (struct fake_task){
        .context = {.api = &api},
        .template = {.name = tr_text_of("t"),
                     .type = tr_text_of("process"),
                     .folder = tr_text_of("/defined"),
                     .argv = argv,
                     .argc = 1,
                     .grace_ns = 10000000000},
        .identity = {.execution = tr_text_of("default/development/x"),
                     .path = tr_text_of("n"),
                     .element = UINT64_MAX,
                     .generated_name = tr_text_of("x-n-0")},
        .inputs_json = "{}",
    };
}

void fake_fini(struct fake_task *fake)
{
    (void)fake;
    while (block_count > 0) {
        free(blocks[--block_count]);
    }
}

const struct fake_sent *fake_sent(const struct fake_task *fake, size_t index,
                                  const struct tr_schema *schema)
{
    assert_true(index < fake->sent_count);
    assert_int_equal(fake->sent[index].type, schema->id);
    return &fake->sent[index];
}

struct tr_task_event fake_answer(uint64_t call, const struct tr_schema *schema, const void *body)
{
    size_t size = schema->size_max(body);
    uint8_t *bytes = block_new(size);
    struct tr_writer writer = tr_writer_of(bytes, size);
    assert_int_equal(schema->pack(body, &writer), 0);
    return (struct tr_task_event){.kind = TR_TASK_ANSWER,
                                  .call = call,
                                  .type = schema->id,
                                  .version = schema->version,
                                  .body = {.data = bytes, .size = tr_writer_size(&writer)}};
}

const char *fake_text(struct tr_text text)
{
    char *copy = block_new(text.size);
    if (text.size > 0) {
        memcpy(copy, text.data, text.size);
    }
    return copy;
}
