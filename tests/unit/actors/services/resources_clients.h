/*
 * Clients of the resource manager for its tests: actors that ask for what they are told to ask for,
 * and write down what they are granted, on a stage with the manager.
 */
#ifndef TR_TESTS_UNIT_ACTORS_SERVICES_RESOURCES_CLIENTS_H
#define TR_TESTS_UNIT_ACTORS_SERVICES_RESOURCES_CLIENTS_H

#include <stdio.h>

#include "actors/services/resources.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

/* A client asks for what its first state says, and writes down what it hears. */
#define TR_CLIENT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)           \
    FIELD(u32, granted, 1, 0)          \
    FIELD(u64, execution, 1, 0)        \
    FIELD(u64, memory_bytes, 1, 0)
#define TR_CLIENT_ASK_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)                \
    FIELD(u64, execution, 1, 0)            \
    FIELD(u32, slots, 1, 0)                \
    FIELD(u64, memory_bytes, 1, 0)         \
    FIELD(text, pool, 1, 0)                \
    FIELD(u32, pool_slots, 1, 0)           \
    FIELD(f64, pool_per_second, 1, 0)      \
    FIELD(text, project, 1, 0)             \
    FIELD(u32, project_slots, 1, 0)        \
    FIELD(text, domain, 1, 0)              \
    FIELD(u32, domain_slots, 1, 0)         \
    FIELD(bool, is_cut, 1, 0)
#define TR_CLIENT_GIVE_FIELDS(FIELD, ARRAY) FIELD(bool, ends, 1, 0)
#define SCHEMAS(S)                                                          \
    S(client_ask, 61300, TR_MESSAGE, 1, TR_DURABLE, TR_CLIENT_ASK_FIELDS)   \
    S(client_give, 61301, TR_MESSAGE, 1, TR_DURABLE, TR_CLIENT_GIVE_FIELDS) \
    S(client, 61300, TR_STATE, 1, 0, TR_CLIENT_FIELDS)
SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static struct tr_ref manager;

/* The order in which clients were granted, by number; and what the last refusal said. */
static uint64_t order[4096];
static size_t order_count;
static char reason[200];

/* The host that all clients are on, and how often one of them was told to ask again. */
static uint16_t here;
static uint32_t asked_again;

/* Where they are when they hear that; 0: on the same one. */
static uint16_t moved;

static void name_of(uint64_t number, char text[32])
{
    (void)snprintf(text, 32, "client-%llu", (unsigned long long)number);
}

static int on_ask(struct tr_context *context, struct tr_client *client,
                  const struct tr_message *message)
{
    struct tr_client_ask ask;
    char identity[32];
    int error = tr_message_read(message, client_ask, &ask);
    name_of(client->number, identity);
    struct tr_resource_request request = {
        .name = ask.name,
        .identity = tr_text_of(identity),
        .execution = ask.execution,
        .slots = ask.slots,
        .memory_bytes = ask.memory_bytes,
        .pool = ask.pool,
        .pool_slots = ask.pool_slots,
        .pool_per_second = ask.pool_per_second,
        .project = ask.project,
        .project_slots = ask.project_slots,
        .domain = ask.domain,
        .domain_slots = ask.domain_slots,
        .is_cut = ask.is_cut,
        .host = here,
    };
    client->execution = ask.execution;
    client->memory_bytes = ask.memory_bytes;
    return error != 0 ? error : tr_tell(context, manager, &tr_resource_request_schema, &request);
}

/* It asks for the same, on the host where it is by now. */
static int on_ask_again(struct tr_context *context, const struct tr_client *client,
                        const struct tr_message *message)
{
    struct tr_resource_ask_again again;
    int error = tr_message_read(message, resource_ask_again, &again);
    const struct tr_resource_request request = {
        .identity = again.identity,
        .execution = client->execution,
        .memory_bytes = client->memory_bytes,
        .host = moved != 0 ? moved : here,
        .asked_again = again.number,
    };
    asked_again++;
    return error != 0 ? error : tr_tell(context, manager, &tr_resource_request_schema, &request);
}

static int on_give(struct tr_context *context, const struct tr_client *client,
                   const struct tr_message *message)
{
    struct tr_client_give give;
    char identity[32];
    int error = tr_message_read(message, client_give, &give);
    name_of(client->number, identity);
    if (error == 0 && give.ends) {
        return tr_stop(context);
    }
    return error != 0 ? error
                      : tr_tell(context, manager, &tr_resource_release_schema,
                                &(struct tr_resource_release){.identity = tr_text_of(identity)});
}

static int on_granted(struct tr_client *client, const struct tr_message *message)
{
    struct tr_resource_granted granted;
    char identity[32];
    int error = tr_message_read(message, resource_granted, &granted);
    name_of(client->number, identity);
    assert_true(tr_text_equal(granted.identity, tr_text_of(identity)));
    client->granted++;
    if (order_count < TR_COUNT_OF(order)) {
        order[order_count] = client->number;
    }
    order_count++;
    return error;
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_client *client = state;
    if (tr_message_is(message, &tr_client_ask_schema)) {
        return on_ask(context, client, message);
    }
    if (tr_message_is(message, &tr_client_give_schema)) {
        return on_give(context, client, message);
    }
    if (tr_message_is(message, &tr_resource_granted_schema)) {
        return on_granted(client, message);
    }
    if (tr_message_is(message, &tr_resource_ask_again_schema)) {
        return on_ask_again(context, client, message);
    }
    struct tr_resource_refused refused;
    int error = tr_message_read(message, resource_refused, &refused);
    (void)snprintf(reason, sizeof reason, "%.*s", (int)refused.reason.size, refused.reason.data);
    return error;
}

static const struct tr_behaviour client_behaviour = {
    .name = "client", .id = 61300, .state = &tr_client_schema, .handle = handle};

/* ------------------------------------------------------------------- stage */

static void open_all(void)
{
    static const struct tr_behaviour *const behaviours[] = {&client_behaviour,
                                                            &tr_resources_behaviour};
    if (model != NULL) {
        struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
        assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    }
    struct stage_options wanted = {
        .store = store, .behaviours = behaviours, .behaviour_count = TR_COUNT_OF(behaviours)};
    stage_open(&stage, &wanted);
}

static void close_all(void)
{
    stage_close(&stage);
    tri_store_close(store);
    store = NULL;
}

static void begin(bool is_durable)
{
    model = is_durable ? tri_model_new() : NULL;
    order_count = 0;
    here = 0;
    moved = 0;
    asked_again = 0;
    reason[0] = '\0';
    open_all();
    manager = stage_spawn(&stage, &tr_resources_behaviour, NULL);
}

static void end(void)
{
    close_all();
    if (model != NULL) {
        tri_model_free(model);
    }
}

static void crash(void)
{
    tri_model_kill(model, 1);
    close_all();
    open_all();
    stage_run(&stage);
}

static void quota(const char *name, uint32_t slots, uint64_t memory_bytes)
{
    struct tr_resource_quota of = {
        .name = tr_text_of(name), .slots = slots, .memory_bytes = memory_bytes, .host = here};
    stage_tell(&stage, manager, &tr_resource_quota_schema, &of);
    stage_run(&stage);
}

static struct tr_ref client(uint64_t number)
{
    struct tr_client first = {.number = number};
    return stage_spawn(&stage, &client_behaviour, &(struct tr_spawn_options){.state = &first});
}

static void ask(struct tr_ref who, const struct tr_client_ask *what)
{
    stage_tell(&stage, who, &tr_client_ask_schema, what);
}

/* Asks for one slot of "quota" in an execution. */
static struct tr_ref slot(uint64_t number, uint64_t execution)
{
    struct tr_ref who = client(number);
    ask(who,
        &(struct tr_client_ask){.name = tr_text_of("quota"), .execution = execution, .slots = 1});
    stage_run(&stage);
    return who;
}

/* What the host that all are on says of its executions. */
static inline void make_dormant(const uint64_t *executions, size_t count)
{
    struct tr_resource_dormant list = {
        .executions = {.data = (const uint8_t *)executions, .size = count * sizeof *executions},
        .is_first = true,
        .is_last = true,
        .host = here};
    stage_tell(&stage, manager, &tr_resource_dormant_schema, &list);
    stage_run(&stage);
}

static inline void resume(uint64_t execution)
{
    struct tr_resource_active awake = {.execution = execution};
    stage_tell(&stage, manager, &tr_resource_active_schema, &awake);
    stage_run(&stage);
}

/* Asks for memory of the machine in an execution. */
static inline struct tr_ref memory(uint64_t number, uint64_t execution, uint64_t bytes)
{
    struct tr_ref who = client(number);
    ask(who, &(struct tr_client_ask){.execution = execution, .memory_bytes = bytes});
    stage_run(&stage);
    return who;
}

static void give(struct tr_ref who)
{
    stage_tell(&stage, who, &tr_client_give_schema, &(struct tr_client_give){.ends = false});
    stage_run(&stage);
}

static const struct tr_resources_state *state_of(void)
{
    return tri_actor_state(stage_actor(&stage, manager));
}

#endif
