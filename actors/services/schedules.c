/*
 * What `troupe apply` registers in a store. The schedules: launch plans that were applied, each an
 * actor below this one (schedule.c), found by project, domain and name. And the entities of
 * packages, which are rows of the store alone.
 *
 * The pages are one table (rows.h) with two kinds of rows: a plan, with its actor, and a graph,
 * with how many plans are of it. As long as there is one, the graph is held in the graph registry.
 *
 * A change takes two steps, since the plan's actor writes the row that people read: the request is
 * handed to it with the number of the row here, its schedule_kept brings the number back, and then
 * the caller gets its answer. So a caller that was answered finds the plan as it applied it.
 */
#include "actors/engine.h"
#include "actors/services/graph_fetch.h"
#include "actors/services/launcher_shard.h"
#include "actors/store/rows.h"
#include "schemas/engine/entity.h"
#include "schemas/engine/schedule.h"

/* Plans that are told something in one handler. */
#define SHARE 256

enum row_kind { ROW_PLAN = 1, ROW_GRAPH = 2 };

/*
 * A row of either kind; `graph` is tr_graph_number, `plans` a graph's. The caller that registers or
 * drops a plan is owed an answer, `change`, until the plan's actor has kept that.
 */
struct row {
    struct tr_rows_head head;
    struct tr_ref schedule;
    struct tr_deferred_reply deferred;
    uint64_t graph;
    uint32_t plan;
    uint32_t plans;
    uint8_t change;
};

static struct tr_rows_key plan_key(struct tr_text address)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)address.data, .size = address.size};
    return tr_rows_key_bytes(ROW_PLAN, bytes);
}

/* ----------------------------------------------------------------------- graphs in use */

/* How many plans are of a graph; `number` is its row, 0: there is none. */
static int count_of(struct tr_rows *rows, uint64_t graph, uint32_t *number, uint32_t *count)
{
    struct tr_rows_key key = tr_rows_key_numbers(ROW_GRAPH, graph, 0);
    const void *row;
    *number = 0;
    *count = 0;
    int error = tr_rows_find(rows, &key, number);
    if (error == TR_NOT_FOUND) {
        return 0;
    }
    if (error == 0) {
        error = tr_rows_get(rows, *number, &row);
    }
    if (error == 0) {
        *count = ((const struct row *)row)->plans;
    }
    return error;
}

/*
 * Counts one more plan of a graph. The registry is outside of the commit: it is told when the row
 * has been changed.
 */
static int hold(struct tr_rows *rows, uint64_t graph)
{
    struct tr_rows_key key = tr_rows_key_numbers(ROW_GRAPH, graph, 0);
    uint32_t number;
    uint32_t count;
    void *row;
    int error = count_of(rows, graph, &number, &count);
    if (error == 0) {
        error =
            number != 0 ? tr_rows_edit(rows, number, &row) : tr_rows_add(rows, &key, &number, &row);
    }
    if (error == 0) {
        ((struct row *)row)->plans = count + 1;
        tr_graph_registry_register(&tr_engine_of(rows->context)->registry, graph);
    }
    return error;
}

/* One plan less; with the last one the graph may leave the registry. */
static int let_go(struct tr_rows *rows, uint64_t graph)
{
    uint32_t number;
    uint32_t count;
    void *row;
    int error = count_of(rows, graph, &number, &count);
    if (error != 0 || number == 0) {
        return error;
    }
    if (count > 1) {
        error = tr_rows_edit(rows, number, &row);
        if (error == 0) {
            ((struct row *)row)->plans = count - 1;
        }
        return error;
    }
    error = tr_rows_remove(rows, number);
    if (error == 0) {
        tr_graph_registry_unregister(&tr_engine_of(rows->context)->registry, graph);
    }
    return error;
}

/* After a start the program has the graphs in the graph registry, and hands them over. */
static int handle_hold(struct tr_context *context, struct tr_schedules_state *state,
                       const struct tr_message *message)
{
    struct tr_graph_hold asked;
    uint32_t number;
    uint32_t count;
    struct tr_rows rows = tr_rows_open(context, state, sizeof(struct row));
    struct tr_graph_registry *registry = &tr_engine_of(context)->registry;
    int error = tr_message_read(message, graph_hold, &asked);
    if (error != 0) {
        return error;
    }
    error = count_of(&rows, asked.graph, &number, &count);
    if (error != 0) {
        return error;
    }
    if (count > 0 && tr_graph_registry_find(registry, asked.graph) != NULL) {
        tr_graph_registry_register(registry, asked.graph);
    }
    struct tr_graph_held held = {.graph = asked.graph, .executions = count};
    return tr_reply(context, message, &tr_graph_held_schema, &held);
}

/* --------------------------------------------------------------------------- plans */

/*
 * A plan's actor, which is spawned when there is none. The actor's name is the address with dots,
 * since a slash would be a level of its own.
 */
static int spawn(struct tr_rows *rows, const struct tr_schedule_set *set, uint32_t *number,
                 struct row **row)
{
    char name[TR_SCHEDULE_ADDRESS_BYTES];
    struct tr_rows_key key = plan_key(set->address);
    struct tr_ref schedule;
    void *added;
    TR_ASSERT(set->address.size <= sizeof name);
    for (size_t i = 0; i < set->address.size; i++) {
        name[i] = set->address.data[i] == '/' ? '.' : set->address.data[i];
    }
    struct tr_spawn_options options = {.name = {.data = name, .size = set->address.size}};
    int error = tr_spawn(rows->context, &tr_schedule_behaviour, &options, &schedule);
    if (error == 0) {
        error = tr_rows_add(rows, &key, number, &added);
    }
    if (error == 0) {
        *row = added;
        (*row)->schedule = schedule;
    }
    return error;
}

/* The plan's row, to be changed; a new plan's actor is spawned. */
static int open_plan(struct tr_rows *rows, struct tr_schedules_state *state,
                     const struct tr_schedule_set *set, uint32_t *number, struct row **row)
{
    struct tr_rows_key key = plan_key(set->address);
    void *edited;
    int error = tr_rows_find(rows, &key, number);
    if (error == TR_NOT_FOUND) {
        error = spawn(rows, set, number, row);
        state->live += error == 0 ? 1 : 0;
        return error;
    }
    if (error == 0) {
        error = tr_rows_edit(rows, *number, &edited);
    }
    if (error == 0) {
        *row = edited;
    }
    return error;
}

/* A plan to register, as it came or as it has waited for its graph. */
struct setting {
    struct tr_context *context;
    struct tr_schedules_state *state;
    const struct tr_message *message;
    struct tr_schedule_set set;
    struct tr_graph_wait wait;
    bool has_waited;
};

/* Whoever does not wait any more needs no answer. */
static int answer_set(const struct setting *setting, const struct tr_schedule_kept *kept)
{
    const struct tr_deferred_reply owed = {setting->wait.asker, setting->wait.ask};
    if (!setting->has_waited) {
        return tr_reply(setting->context, setting->message, &tr_schedule_kept_schema, kept);
    }
    int error = tr_reply_deferred(setting->context, owed, &tr_schedule_kept_schema, kept);
    return error == TR_NOT_FOUND ? 0 : error;
}

/* Registers a plan, or another form of it; one that is as it was is answered at once. */
static int set_plan(struct tr_rows *rows, struct setting *setting)
{
    struct tr_schedule_set *set = &setting->set;
    uint64_t graph = tr_graph_number(set->graph.data);
    struct row *row = NULL;
    int error = open_plan(rows, setting->state, set, &set->row, &row);
    if (error != 0) {
        return error;
    }
    uint64_t before = row->graph;
    if (before == graph && row->plan == set->plan) {
        tr_graph_registry_register(&tr_engine_of(rows->context)->registry, graph);
        struct tr_schedule_kept kept = {.change = TR_SCHEDULE_UNCHANGED};
        return answer_set(setting, &kept);
    }
    row->graph = graph;
    row->plan = set->plan;
    row->change = before == 0 ? TR_SCHEDULE_CREATED : TR_SCHEDULE_CONFIGURED;
    row->deferred = (struct tr_deferred_reply){setting->wait.asker, setting->wait.ask};
    error = tr_tell(rows->context, row->schedule, &tr_schedule_set_schema, set);
    if (error == 0) {
        error = hold(rows, graph);
    }
    return error != 0 || before == 0 ? error : let_go(rows, before);
}

/*
 * What is wrong with a request, in words; NULL: nothing, and the handler shares its graph until its
 * end. Without the graph, which another host may have put into the store, it waits once.
 */
static const char *fault_of(struct setting *setting, const struct tr_graph **graph, bool *waits)
{
    const struct tr_schedule_set *set = &setting->set;
    struct tr_engine *engine = tr_engine_of(setting->context);
    if (set->address.size == 0 || set->address.size > TR_SCHEDULE_ADDRESS_BYTES) {
        return "the plan's name cannot be kept";
    }
    if (set->graph.size != TR_GRAPH_HASH_BYTES) {
        return "its definition's name is no SHA-256";
    }
    if (!tr_graph_registry_share(&engine->registry, set->graph.data)) {
        *waits = tr_launcher_has_shards(engine) && setting->wait.error == 0;
        return "the engine does not have its definition";
    }
    *graph = tr_graph_registry_find(&engine->registry, tr_graph_number(set->graph.data));
    bool is_plan = set->plan < (*graph)->plan_count && (*graph)->plans[set->plan].schedule.is_set;
    return is_plan ? NULL : "its definition has no such plan with a schedule";
}

static int carry_out_set(struct setting *setting)
{
    struct tr_context *context = setting->context;
    const struct tr_graph *graph = NULL;
    bool waits = false;
    int error = 0;
    const char *fault = fault_of(setting, &graph, &waits);
    if (fault == NULL) {
        struct tr_rows rows = tr_rows_open(context, setting->state, sizeof(struct row));
        error = set_plan(&rows, setting);
        tr_rows_close(&rows, setting->state);
    } else if (!waits) {
        struct tr_schedule_kept kept = {.error = TR_INVALID, .message = tr_text_of(fault)};
        error = answer_set(setting, &kept);
    }
    if (graph != NULL) {
        tr_graph_registry_drop(&tr_engine_of(context)->registry, tr_graph_number(graph->hash));
    }
    if (error == 0) {
        error = tr_graph_fetch_end(context, &setting->wait);
    }
    return error == 0 && waits ? tr_graph_fetch(context, &setting->wait, setting->set.graph)
                               : error;
}

static int handle_set(struct tr_context *context, struct tr_schedules_state *state,
                      const struct tr_message *message)
{
    struct setting setting = {
        .context = context, .state = state, .message = message, .wait = tr_graph_wait_of(message)};
    int error = tr_message_read(message, schedule_set, &setting.set);
    return error != 0 ? error : carry_out_set(&setting);
}

/* One that has waited for its graph. */
static int handle_waited(struct tr_context *context, struct tr_schedules_state *state,
                         const struct tr_message *message)
{
    struct setting setting = {
        .context = context, .state = state, .message = message, .has_waited = true};
    int error = tr_message_read(message, graph_wait, &setting.wait);
    if (error == 0) {
        error = tr_schedule_set_unpack(setting.wait.body, setting.wait.version, &setting.set);
    }
    if (error == 0 && message->from.key.group != tr_self(context).key.group) {
        return tr_unexpected(context, message);
    }
    return error != 0 ? error : carry_out_set(&setting);
}

/*
 * Finds a plan whose actor is about to be told of a change, and owes the caller its answer.
 * `*schedule` stays as it is where there is no such plan, which the caller hears.
 */
static int begin_change(struct tr_context *context, struct tr_schedules_state *state,
                        const struct tr_message *message, struct tr_text address,
                        enum tr_schedule_change change, uint32_t *number, struct tr_ref *schedule)
{
    struct tr_rows rows = tr_rows_open(context, state, sizeof(struct row));
    struct tr_rows_key key = plan_key(address);
    void *edited;
    int error = tr_rows_find(&rows, &key, number);
    if (error == TR_NOT_FOUND) {
        struct tr_schedule_kept kept = {.error = TR_NOT_FOUND,
                                        .message = tr_text_of("there is no such schedule")};
        return tr_reply(context, message, &tr_schedule_kept_schema, &kept);
    }
    if (error == 0) {
        error = tr_rows_edit(&rows, *number, &edited);
    }
    if (error == 0) {
        struct row *row = edited;
        row->change = (uint8_t)change;
        row->deferred = tr_message_deferred(message);
        *schedule = row->schedule;
    }
    return error;
}

/*
 * The row and the graph go when the plan's actor has said that it is done: until then its handlers
 * may need the graph.
 */
static int handle_drop(struct tr_context *context, struct tr_schedules_state *state,
                       const struct tr_message *message)
{
    struct tr_schedule_drop drop;
    struct tr_ref schedule = {{0, 0}, 0};
    int error = tr_message_read(message, schedule_drop, &drop);
    if (error == 0) {
        error = begin_change(context, state, message, drop.address, TR_SCHEDULE_DELETED, &drop.row,
                             &schedule);
    }
    return error != 0 || tr_key_is_none(schedule.key)
               ? error
               : tr_tell(context, schedule, &tr_schedule_drop_schema, &drop);
}

static int handle_pause(struct tr_context *context, struct tr_schedules_state *state,
                        const struct tr_message *message)
{
    struct tr_schedule_pause pause;
    struct tr_ref schedule = {{0, 0}, 0};
    int error = tr_message_read(message, schedule_pause, &pause);
    if (error == 0 &&
        (pause.by.size > TR_SCHEDULE_BY_BYTES || pause.message.size > TR_SCHEDULE_MESSAGE_BYTES)) {
        struct tr_schedule_kept kept = {.error = TR_LIMIT,
                                        .message = tr_text_of("the message is longer than "
                                                              "TR_SCHEDULE_MESSAGE_BYTES (512)")};
        return tr_reply(context, message, &tr_schedule_kept_schema, &kept);
    }
    if (error == 0) {
        error = begin_change(context, state, message, pause.address,
                             pause.is_paused ? TR_SCHEDULE_PAUSE_SET : TR_SCHEDULE_PAUSE_LIFTED,
                             &pause.row, &schedule);
    }
    return error != 0 || tr_key_is_none(schedule.key)
               ? error
               : tr_tell(context, schedule, &tr_schedule_pause_schema, &pause);
}

/* A plan's actor has kept what it was told, or has gone: the caller is answered. */
static int handle_kept(struct tr_context *context, struct tr_schedules_state *state,
                       const struct tr_message *message)
{
    struct tr_schedule_kept kept;
    struct tr_rows rows = tr_rows_open(context, state, sizeof(struct row));
    const void *found;
    int error = tr_message_read(message, schedule_kept, &kept);
    if (error == 0) {
        error = tr_rows_get(&rows, kept.row, &found);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? tr_unexpected(context, message) : error;
    }
    struct row row = *(const struct row *)found;
    kept.change = row.change;
    if (row.change == TR_SCHEDULE_DELETED) {
        error = tr_rows_remove(&rows, kept.row);
        if (error == 0) {
            error = let_go(&rows, row.graph);
        }
        state->live -= error == 0 ? 1 : 0;
        tr_rows_close(&rows, state);
    }
    if (error == 0) {
        error = tr_reply_deferred(context, row.deferred, &tr_schedule_kept_schema, &kept);
    }
    return error == TR_NOT_FOUND ? 0 : error; /* the caller has gone */
}

/* ------------------------------------------------------------------------- entities */

/* How many fields of an entity are its id. */
#define ID_FIELDS 5

/* What may be kept beside an entity, and what its row is unpacked into. */
union kept_row {
    struct tr_entity entity;
    struct tr_entity_name name;
    struct tr_entity_project project;
    struct tr_entity_attributes attributes;
    struct tr_audit audit;
};

static const struct tr_schema *const kept_records[] = {
    &tr_entity_schema, &tr_entity_name_schema, &tr_entity_project_schema,
    &tr_entity_attributes_schema, &tr_audit_schema};

static int keep_row(struct tr_context *context, uint64_t id, struct tr_bytes packed)
{
    union kept_row row;
    for (size_t i = 0; i < TR_COUNT_OF(kept_records); i++) {
        const struct tr_schema *schema = kept_records[i];
        if (schema->id == id) {
            int error = schema->unpack(packed, schema->version, &row);
            return error != 0 ? error : tr_record(context, schema, &row);
        }
    }
    return TR_MALFORMED;
}

/* Pairs of a record's number and a row. */
static int keep_rows(struct tr_context *context, struct tr_bytes rows)
{
    struct tr_cursor cursor = tr_cursor_of(rows);
    uint32_t count = rows.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        uint64_t id = tr_read_u64(&cursor);
        struct tr_bytes packed = tr_read_bytes(&cursor);
        int error = cursor.error != 0 ? cursor.error : keep_row(context, id, packed);
        if (error != 0) {
            return error;
        }
    }
    return cursor.error;
}

/* Pairs of a time and a number, which are the key of a row. */
static int forget_audit(struct tr_context *context, struct tr_bytes keys)
{
    struct tr_cursor cursor = tr_cursor_of(keys);
    uint32_t count = keys.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        struct tr_audit row = {.at_ms = tr_read_u64(&cursor)};
        row.number = tr_read_u64(&cursor);
        int error = cursor.error != 0 ? cursor.error
                                      : tr_record_delete(context, &tr_audit_schema, &row,
                                                         tr_row_key_count(&tr_audit_schema));
        if (error != 0) {
            return error;
        }
    }
    return cursor.error;
}

/* Whether one is there already, and what it holds, the program has looked up. */
static int handle_entity(struct tr_context *context, const struct tr_message *message)
{
    struct tr_entity_keep keep;
    struct tr_entity entity;
    struct tr_entity_kept kept = {.error = 0};
    int error = tr_message_read(message, entity_keep, &keep);
    if (error == 0 && keep.entity.size > 0) {
        error = tr_entity_unpack(keep.entity, tr_entity_schema.version, &entity);
    }
    if (error != 0) {
        return error;
    }
    if (keep.entity.size > 0) {
        error = keep.is_forgotten ? tr_record_delete(context, &tr_entity_schema, &entity, ID_FIELDS)
                                  : tr_record(context, &tr_entity_schema, &entity);
    }
    if (error == 0) {
        error = keep_rows(context, keep.rows);
    }
    if (error == 0) {
        error = forget_audit(context, keep.audit_forgotten);
    }
    return error != 0 ? error : tr_reply(context, message, &tr_entity_kept_schema, &kept);
}

/* ------------------------------------------------------------------------- waking all */

/*
 * Hands it on to a share of the plans, and goes on with the next one. By the number of the row:
 * those that are added behind it meanwhile are met later, and know the time anyway.
 */
static int handle_wake(struct tr_context *context, const struct tr_schedules_state *state,
                       const struct tr_message *message)
{
    struct tr_schedule_wake wake;
    struct tr_rows rows = tr_rows_open(context, state, sizeof(struct row));
    int error = tr_message_read(message, schedule_wake, &wake);
    uint32_t at = wake.from < 1 ? 1 : wake.from;
    uint32_t end = state->rows_used - at < SHARE ? state->rows_used : at + SHARE - 1;
    for (; error == 0 && at <= end; at++) {
        const void *found;
        error = tr_rows_get(&rows, at, &found);
        const struct row *row = found;
        if (error == 0 && row->head.key.kind == ROW_PLAN) {
            error = tr_tell(context, row->schedule, &tr_schedule_wake_schema,
                            &(struct tr_schedule_wake){.from = 0});
        }
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    if (error != 0 || at > state->rows_used) {
        return error;
    }
    return tr_tell(context, tr_self(context), &tr_schedule_wake_schema,
                   &(struct tr_schedule_wake){.from = at});
}

static int schedules_handle(struct tr_context *context, void *state,
                            const struct tr_message *message)
{
    if (tr_message_is(message, &tr_schedule_set_schema)) {
        return handle_set(context, state, message);
    }
    if (tr_message_is(message, &tr_graph_wait_schema)) {
        return handle_waited(context, state, message);
    }
    if (tr_message_is(message, &tr_schedule_drop_schema)) {
        return handle_drop(context, state, message);
    }
    if (tr_message_is(message, &tr_schedule_pause_schema)) {
        return handle_pause(context, state, message);
    }
    if (tr_message_is(message, &tr_schedule_kept_schema)) {
        return handle_kept(context, state, message);
    }
    if (tr_message_is(message, &tr_schedule_wake_schema)) {
        return handle_wake(context, state, message);
    }
    if (tr_message_is(message, &tr_entity_keep_schema)) {
        return handle_entity(context, message);
    }
    if (tr_message_is(message, &tr_graph_hold_schema)) {
        return handle_hold(context, state, message);
    }
    return tr_unexpected(context, message);
}

static void gauge(const void *value, int64_t sign, int64_t *values)
{
    const struct tr_schedules_state *state = value;
    ((struct tr_gauges *)values)->schedules += sign * (int64_t)state->live;
}

const struct tr_behaviour tr_schedules_behaviour = {
    .name = "schedules",
    .id = 108,
    .state = &tr_schedules_state_schema,
    .handle = schedules_handle,
    .gauge = gauge,
};
