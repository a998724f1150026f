/*
 * The stand's stage and holders; refresh_back.c has what is behind them.
 */
#include "tests/unit/actors/refresh_stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/runtime/http.h"

REFRESH_STAND_SCHEMAS(TR_SCHEMA_DEFINE)

struct refresh_stand back;
const struct tr_behaviour *refresh_stand_behaviour = &tr_refresh_behaviour;

/* ---------------------------------------------------------------- holders */

static void name_of(uint64_t number, char text[32])
{
    (void)snprintf(text, 32, "job-%llu", (unsigned long long)number);
}

static int act_on(struct tr_context *context, struct tr_holder *holder, struct tr_holder_do act)
{
    static uint8_t room[TR_WEBAPI_JOB_BYTES_MAX + 16];
    char identity[32];
    name_of(holder->number, identity);
    struct tr_text name = tr_text_of(identity);
    struct tr_writer writer = tr_writer_of(room, sizeof room);
    static uint8_t filler[TR_WEBAPI_JOB_BYTES_MAX + 8];
    tr_write_bytes(&writer, (struct tr_bytes){.data = filler, .size = act.bytes});
    struct tr_refresh_make make = {.identity = name,
                                   .job_set = act.group,
                                   .handle = act.handle,
                                   .job = {.data = room, .size = tr_writer_size(&writer)},
                                   .policy = act.policy,
                                   .is_unknown = act.is_doubtful};
    struct tr_refresh_cancel cancel = {
        .identity = name, .job_set = act.group, .handle = act.handle};
    switch (act.act) {
    case HOLDER_MAKE:
        holder->bytes = act.bytes;
        holder->asked++;
        assert_int_equal(tr_array_set(&holder->group, act.group), 0);
        return tr_tell(context, back.refresh, &tr_refresh_make_schema, &make);
    case HOLDER_CANCEL:
        return tr_tell(context, back.refresh, &tr_refresh_cancel_schema, &cancel);
    case HOLDER_DROP:
        return tr_tell(context, back.refresh, &tr_refresh_drop_schema,
                       &(struct tr_refresh_drop){.identity = name});
    case HOLDER_LEAVE:
        return tr_tell(context, back.refresh, &tr_refresh_left_schema, &(struct tr_refresh_left){});
    default:
        return tr_stop(context);
    }
}

static int on_do(struct tr_context *context, struct tr_holder *holder,
                 const struct tr_message *message)
{
    struct tr_holder_do act;
    int error = tr_message_read(message, holder_do, &act);
    return error != 0 ? error : act_on(context, holder, act);
}

/* There is room for what it has asked for. */
static int ask_again(struct tr_context *context, struct tr_holder *holder)
{
    char group[64];
    (void)snprintf(group, sizeof group, "%.*s", (int)holder->group.size, holder->group.data);
    return act_on(context, holder,
                  (struct tr_holder_do){
                      .act = HOLDER_MAKE, .group = tr_text_of(group), .bytes = holder->bytes});
}

static int on_news(struct tr_context *context, struct tr_holder *holder,
                   const struct tr_message *message)
{
    struct tr_refresh_news news;
    char identity[32];
    int error = tr_message_read(message, refresh_news, &news);
    name_of(holder->number, identity);
    assert_true(tr_text_equal(news.identity, tr_text_of(identity)));
    assert_false(holder->stage == TR_WEBAPI_STAGE_TERMINAL &&
                 news.stage != TR_WEBAPI_STAGE_TERMINAL);
    holder->news++;
    bool is_new = news.version > holder->version;
    holder->repeats += is_new ? 0 : 1;
    holder->ends += news.stage == TR_WEBAPI_STAGE_TERMINAL && news.version > holder->version;
    holder->unknown_outcomes += news.stage == TR_WEBAPI_STAGE_UNKNOWN ? 1 : 0;
    holder->stage = news.stage;
    holder->phase = news.phase;
    holder->version = news.version;
    holder->is_unknown = holder->is_unknown || news.is_unknown; /* it stays with an attempt */
    assert_int_equal(tr_array_set(&holder->handle, news.handle), 0);
    assert_int_equal(tr_array_set(&holder->code, news.code), 0);
    assert_int_equal(tr_array_set(&holder->message, news.message), 0);
    if (news.reason.size > 0) {
        assert_int_equal(tr_array_set(&holder->reason, news.reason), 0);
    }
    bool has_room = error == 0 && news.stage == TR_WEBAPI_STAGE_PREPARING && is_new;
    return has_room ? ask_again(context, holder) : error;
}

static int handle_holder(struct tr_context *context, void *state, const struct tr_message *message)
{
    return tr_message_is(message, &tr_holder_do_schema) ? on_do(context, state, message)
                                                        : on_news(context, state, message);
}

static const struct tr_behaviour holder_behaviour = {
    .name = "holder", .id = 61500, .state = &tr_holder_schema, .handle = handle_holder};

void refresh_stand_run(void)
{
    do {
        stage_run(&back.stage);
    } while (refresh_stand_serve());
}

void refresh_stand_pass(uint64_t milliseconds)
{
    refresh_stand_run();
    for (uint64_t i = 0; i < milliseconds; i++) {
        stage_advance(&back.stage, 1);
        refresh_stand_run();
    }
}

/* ------------------------------------------------------------------- stage */

static void open_stage(uint64_t passed_ms)
{
    static const struct tr_behaviour *behaviours[] = {&holder_behaviour, NULL};
    static const struct tr_schema *const records[] = {&tr_backend_schema};
    behaviours[1] = refresh_stand_behaviour;
    if (back.model != NULL) {
        struct tri_store_options options = {.folder = "model",
                                            .durability = TR_DURABILITY_FULL,
                                            .records = records,
                                            .record_count = TR_COUNT_OF(records)};
        assert_int_equal(tri_model_open(back.model, &options, NULL, &back.store), 0);
    }
    struct stage_options options = {.store = back.store,
                                    .behaviours = behaviours,
                                    .behaviour_count = TR_COUNT_OF(behaviours),
                                    .records = records,
                                    .record_count = TR_COUNT_OF(records),
                                    .program = back.engine,
                                    .passed_ms = passed_ms};
    stage_open(&back.stage, &options);
    back.stage.host.shared.services |= 1U << TR_SERVICE_HTTP;
}

static void close_stage(void)
{
    stage_close(&back.stage);
    if (back.store != NULL) {
        tri_store_close(back.store);
        back.store = NULL;
    }
    for (uint32_t i = 0; i < back.answer_count; i++) {
        free(back.answers[i].body);
        free(back.answers[i].items);
    }
    back.answer_count = 0;
    back.stream_count = 0;
}

void refresh_stand_begin(uint8_t idempotency, bool is_durable)
{
    static const struct tr_plugin *plugins[1];
    back = (struct refresh_stand){0};
    back.jobs = calloc(BACK_JOBS, sizeof *back.jobs);
    back.events = calloc(BACK_EVENTS, sizeof *back.events);
    back.holders = calloc(HOLDERS, sizeof *back.holders);
    back.engine = calloc(1, sizeof *back.engine);
    back.webapi = refresh_back_webapi;
    back.webapi.idempotency = idempotency;
    back.webapi.failures.items_max = 0;
    back.standard_stream = refresh_back_webapi.stream;
    back.webapi.stream.write = NULL;
    back.dedups = idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT;
    back.plugin = (struct tr_plugin){.abi = TR_PLUGIN_ABI, .id = "model", .webapi = &back.webapi};
    plugins[0] = &back.plugin;
    back.place = (struct tr_engine_endpoint){
        .plugin = &back.plugin,
        .endpoint = {.name = tr_text_of("default"),
                     .url = tr_text_of("http://back"),
                     .calls_per_second = 1000},
    };
    back.engine->plugins = plugins;
    back.engine->plugin_count = 1;
    back.engine->endpoints = &back.place;
    back.engine->endpoint_count = 1;
    back.engine->life = 1;
    back.latency_ms = 2;
    back.model = is_durable ? tri_model_new() : NULL;
    open_stage(0);
    struct tr_refresh_state first = {0};
    assert_int_equal(tr_array_set(&first.plugin, tr_text_of("model")), 0);
    assert_int_equal(tr_array_set(&first.endpoint, tr_text_of("default")), 0);
    back.refresh = stage_spawn(&back.stage, refresh_stand_behaviour,
                               &(struct tr_spawn_options){.state = &first});
}

enum back_fault back_fault_of_first(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth == 0 ? back.first_create : BACK_FINE;
}

enum back_fault back_fault_while_away(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_FIND && back.is_away ? BACK_BUSY : back_fault_of_first(verb, nth);
}

void refresh_stand_begin_with(uint8_t idempotency, enum back_fault fault)
{
    refresh_stand_begin(idempotency, true);
    back.first_create = fault;
    back.fault = back_fault_of_first;
}

void refresh_stand_give_stream(void)
{
    back.webapi.stream = back.standard_stream;
    back.webapi.stream.write_backlog = NULL;
}

void refresh_stand_end(void)
{
    close_stage();
    if (back.model != NULL) {
        tri_model_free(back.model);
    }
    free(back.jobs);
    free(back.events);
    free(back.holders);
    free(back.engine);
}

void refresh_stand_crash(void)
{
    (void)refresh_back_take(); /* what has left has arrived */
    uint64_t passed_ms = back.stage.wall_ms - STAGE_START_WALL_MS + back.clock_jump_ms;
    for (uint32_t i = 0; i < back.job_count; i++) {
        back.jobs[i].made_ms += back.clock_jump_ms; /* by the clock, which the back end has not */
    }
    tri_model_kill(back.model, 1);
    close_stage();
    back.engine->life++;
    open_stage(passed_ms);
    refresh_stand_run();
}

uint32_t refresh_stand_make_as(const struct tr_holder_do *act)
{
    uint32_t number = back.holder_count++;
    struct tr_holder first = {.number = number};
    back.holders[number] =
        stage_spawn(&back.stage, &holder_behaviour, &(struct tr_spawn_options){.state = &first});
    refresh_stand_tell(number, act);
    return number;
}

uint32_t refresh_stand_make(const char *group)
{
    return refresh_stand_make_as(
        &(struct tr_holder_do){.act = HOLDER_MAKE, .group = tr_text_of(group), .bytes = 100});
}

void refresh_stand_tell(uint32_t holder, const struct tr_holder_do *act)
{
    stage_tell(&back.stage, back.holders[holder], &tr_holder_do_schema, act);
    stage_run(&back.stage);
}

void refresh_stand_cancel(uint32_t holder, const char *group)
{
    refresh_stand_tell(holder,
                       &(struct tr_holder_do){.act = HOLDER_CANCEL, .group = tr_text_of(group)});
}

void refresh_stand_drop(uint32_t holder)
{
    refresh_stand_tell(holder, &(struct tr_holder_do){.act = HOLDER_DROP});
}

void refresh_stand_leave(uint32_t holder)
{
    refresh_stand_tell(holder, &(struct tr_holder_do){.act = HOLDER_LEAVE});
}

void refresh_stand_stop(uint32_t holder)
{
    refresh_stand_tell(holder, &(struct tr_holder_do){.act = HOLDER_STOP});
}

const struct tr_holder *refresh_stand_holder(uint32_t holder)
{
    struct tri_actor *actor = stage_actor(&back.stage, back.holders[holder]);
    assert_non_null(actor);
    return tri_actor_state(actor);
}

uint32_t refresh_stand_count(uint8_t stage)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < back.holder_count; i++) {
        struct tri_actor *actor = stage_actor(&back.stage, back.holders[i]);
        count +=
            actor != NULL && ((const struct tr_holder *)tri_actor_state(actor))->stage == stage;
    }
    return count;
}

const struct tr_refresh_state *refresh_stand_state(void)
{
    return tri_actor_state(stage_actor(&back.stage, back.refresh));
}
