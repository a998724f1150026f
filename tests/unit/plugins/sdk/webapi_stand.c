/*
 * The stand's plugin, which does what a test has set, and events for it.
 */
#include "tests/unit/plugins/sdk/webapi_stand.h"

#include "schemas/runtime/archive.h"

/* ------------------------------------------------------------------------ a shape to be tested */

struct stand_play play;

static int group(struct tr_task_context *task, const void *data,
                 const struct tr_webapi_endpoint *endpoint, struct tr_text *text)
{
    (void)task;
    (void)data;
    (void)endpoint;
    *text = tr_text_of("the-group");
    return 0;
}

static int prepare(struct tr_task_context *task, void *data,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *said)
{
    struct tr_armada_attempt *own = data;
    assert_string_equal(fake_text(endpoint->name), "east");
    play.prepared++;
    if (play.is_refused) {
        return tr_task_refuse(said, tr_text_of("Bad"), tr_text_of("no"));
    }
    if (play.is_slow && event->kind != TR_TASK_ANSWER) {
        const struct tr_blob_make request = {.name_hint = tr_text_of("x")};
        return tr_task_call(task, 1, &tr_blob_make_schema, &request, 0, &own->call);
    }
    uint8_t *bytes = fake_room(play.body_size + 5);
    struct tr_writer writer = tr_writer_of(bytes, play.body_size + 5);
    tr_write_bytes(&writer, (struct tr_bytes){fake_room(play.body_size), play.body_size});
    *job = (struct tr_webapi_job){.body = {bytes, tr_writer_size(&writer)}, .is_ready = true};
    return 0;
}

static int outcome(struct tr_task_context *task, void *data,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_transition *said)
{
    (void)task;
    (void)data;
    (void)endpoint;
    play.read++;
    if (play.waits_outcome && event->kind != TR_TASK_ANSWER) {
        return tr_task_is(said, TR_TASK_PHASE_RUNNING, tr_text_of("reading"));
    }
    if (play.has_failed) {
        return tr_task_fail(said, TR_FAILURE_USER, tr_text_of("Told"), tr_text_of("so"));
    }
    return 0;
}

static const struct tr_webapi shape = {
    .idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT, .job_set = group, .prepare = prepare};
static const struct tr_webapi reading_shape = {.idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT,
                                               .job_set = group,
                                               .prepare = prepare,
                                               .outcome = outcome};

#define PLUGIN(of)                                                                               \
    {                                                                                            \
        .abi = TR_PLUGIN_ABI, .id = "mine", .webapi = &(of), .state = &tr_armada_attempt_schema, \
        TR_WEBAPI_PLUGIN_FUNCTIONS                                                               \
    }
const struct tr_plugin stand_plugin = PLUGIN(shape);
const struct tr_plugin stand_reading_plugin = PLUGIN(reading_shape);

/* ----------------------------------------------------------------------------------- the stand */

struct fake_task fake;
struct tr_armada_attempt state;
struct tr_transition transition;

int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    fake.plugin = &stand_plugin;
    fake.endpoint = (struct tr_webapi_endpoint){.name = tr_text_of("east")};
    memset(&play, 0, sizeof play);
    play.body_size = 3;
    state = (struct tr_armada_attempt){0};
    transition = (struct tr_transition){0};
    return 0;
}

int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&fake);
    return 0;
}

void handle(struct tr_task_event event)
{
    assert_int_equal(fake.plugin->handle(&fake.context, &state, &event, &transition), 0);
}

void abort_it(struct tr_task_event event)
{
    assert_int_equal(fake.plugin->abort(&fake.context, &state, false, &event, &transition), 0);
}

struct tr_task_event event_of(enum tr_task_event_kind kind)
{
    return (struct tr_task_event){.kind = (uint8_t)kind};
}

struct tr_task_event lost_event(void)
{
    return (struct tr_task_event){.kind = TR_TASK_FAILED, .error = TR_VERSION};
}

struct tr_task_event moved_event(void)
{
    const struct tr_services_changed changed = {};
    struct tr_task_event event = fake_answer(0, &tr_services_changed_schema, &changed);
    event.kind = TR_TASK_NEWS;
    return event;
}

struct tr_task_event news_event(struct tr_refresh_news news)
{
    news.identity = news.identity.size > 0 ? news.identity : tr_text_of("x-n-0");
    struct tr_task_event event = fake_answer(0, &tr_refresh_news_schema, &news);
    event.kind = TR_TASK_NEWS;
    return event;
}

struct tr_refresh_news running(uint32_t version)
{
    return (struct tr_refresh_news){.stage = TR_WEBAPI_STAGE_SUBMITTED,
                                    .phase = TR_TASK_PHASE_RUNNING,
                                    .version = version,
                                    .handle = tr_text_of("h1"),
                                    .log_uri = tr_text_of("http://logs/h1"),
                                    .place = tr_text_of("node-7")};
}

struct tr_refresh_news ended(uint32_t version, uint8_t phase)
{
    return (struct tr_refresh_news){.stage = TR_WEBAPI_STAGE_TERMINAL,
                                    .phase = phase,
                                    .version = version,
                                    .handle = tr_text_of("h1"),
                                    .failure = TR_FAILURE_SYSTEM,
                                    .exit_status = 7,
                                    .code = tr_text_of("Evicted"),
                                    .message = tr_text_of("the node went away")};
}

struct tr_refresh_make made(size_t index)
{
    struct tr_refresh_make make;
    const struct fake_sent *sent = fake_sent(&fake, index, &tr_refresh_make_schema);
    assert_int_equal(tr_refresh_make_unpack(sent->body, sent->version, &make), 0);
    return make;
}

void begin(void)
{
    handle(event_of(TR_TASK_START));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_INTENT);
}

void config_of(const char *key, const char *value)
{
    uint8_t *bytes = fake_room(128);
    struct tr_writer writer = tr_writer_of(bytes, 128);
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of(key));
    tr_write_text(&writer, tr_text_of(value));
    fake.template.config = (struct tr_bytes){bytes, tr_writer_size(&writer)};
}
