/*
 * The resource manager: who may begin, and who waits, over all executions of a store.
 *
 * Requests and tokens are rows in its pages and so survive a restart; a token whose holder has
 * ended without giving it back comes back by the monitor on him. What is free is granted at once;
 * what can never be is refused with words. resources.h says who waits where.
 */
#include "actors/services/resources.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Grants of one message; the rest follow in messages to itself. */
#define PORTION 64

#define RATE_TIMER 1
#define MICROSECONDS 1000000.0

/* How far a pool's rate may be outrun, so that it is held in the mean and not at each moment. */
#define BURST_US 100000.0

/* ----------------------------------------------------------------- places */

static int machine_of(struct tri_resources *resources, struct tri_place_row **machine)
{
    if (resources->state->machine == 0) {
        int error =
            tri_place_find(resources, TRI_ROW_PLACE, tr_text_of(""), &resources->state->machine);
        if (error != 0) {
            return error;
        }
    }
    return tri_place_edit(resources, resources->state->machine, machine);
}

/* The amounts, so that what holds for each is said once. */
static const struct amount {
    const char *noun;
    size_t offset;
    uint64_t unit;
} amounts[] = {
    {"thousandths of a CPU", offsetof(struct tri_amounts, cpu_millis), 1},
    {"MiB of memory", offsetof(struct tri_amounts, memory_bytes), 1U << 20},
    {"GPUs", offsetof(struct tri_amounts, gpu_count), 1},
};

static uint64_t amount_of(const struct tri_amounts *of, const struct amount *amount)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)of + amount->offset, sizeof value);
    return value;
}

/* The places of a request. All but `place` and `machine` may be NULL. */
struct places {
    struct tri_place_row *place;
    struct tri_place_row *pool;
    struct tri_place_row *scope;   /* of its domain, or of its project */
    struct tri_place_row *project; /* behind that of a domain */
    struct tri_place_row *machine;
};

static int open_place(struct tri_resources *resources, uint32_t number, struct tri_place_row **row)
{
    return number == 0 ? 0 : tri_place_edit(resources, number, row);
}

static int open_places(struct tri_resources *resources, const struct tri_request_row *request,
                       struct places *places)
{
    *places = (struct places){0};
    int error = tri_place_edit(resources, request->place, &places->place);
    error = error != 0 ? error : open_place(resources, request->pool, &places->pool);
    error = error != 0 ? error : open_place(resources, tri_request_scope(request), &places->scope);
    if (error == 0 && places->scope != NULL) {
        error = open_place(resources, places->scope->project, &places->project);
    }
    return error != 0 ? error : machine_of(resources, &places->machine);
}

/* Why a request can never be granted, in words; false: it can. */
static bool is_impossible(const struct tri_request_row *request, const struct places *places,
                          char *words, size_t size)
{
    const struct tri_place_row *place = places->place;
    if (place->slots != 0 && request->slots > place->slots) {
        (void)snprintf(words, size, "it asks for %u slots of '%.*s', which has %u", request->slots,
                       (int)place->name_size, place->name, place->slots);
        return true;
    }
    for (size_t i = 0; i < TR_COUNT_OF(amounts); i++) {
        uint64_t wanted = amount_of(&request->amounts, &amounts[i]);
        uint64_t there = amount_of(&places->machine->amounts, &amounts[i]);
        if (there != 0 && wanted > there) {
            (void)snprintf(words, size, "it asks for %llu %s, and this machine has %llu",
                           (unsigned long long)(wanted / amounts[i].unit), amounts[i].noun,
                           (unsigned long long)(there / amounts[i].unit));
            return true;
        }
    }
    return false;
}

/* What is in the way of a request now. */
enum hindrance { FREE, SLOTS, POOL, RATE, MACHINE };

static bool is_full(const struct tri_place_row *place, uint32_t slots)
{
    return place != NULL && place->slots != 0 && place->used + slots > place->slots;
}

static enum hindrance hindrance_of(const struct tri_resources *resources,
                                   const struct tri_request_row *request,
                                   const struct places *places)
{
    const struct tri_place_row *pool = places->pool;
    if (is_full(places->place, request->slots) || is_full(places->scope, request->slots) ||
        is_full(places->project, request->slots)) {
        return SLOTS;
    }
    if (is_full(pool, 1)) {
        return POOL;
    }
    if (pool != NULL && pool->per_second > 0 &&
        pool->next_us > tr_steady_ms(resources->context) * 1000 + (uint64_t)BURST_US) {
        return RATE;
    }
    for (size_t i = 0; i < TR_COUNT_OF(amounts); i++) {
        uint64_t there = amount_of(&places->machine->amounts, &amounts[i]);
        uint64_t used = amount_of(&places->machine->booked, &amounts[i]) -
                        amount_of(&places->machine->asleep, &amounts[i]);
        uint64_t wanted = amount_of(&request->amounts, &amounts[i]);
        if (there != 0 && wanted > 0 && used + wanted > there) {
            return MACHINE;
        }
    }
    return FREE;
}

static void book(struct places *places, const struct tri_request_row *request, int sign)
{
    uint64_t factor = sign > 0 ? 1 : UINT64_MAX;
    struct tri_amounts *booked = &places->machine->booked;
    struct tri_place_row *const counted[] = {places->place, places->scope, places->project};
    for (size_t i = 0; i < TR_COUNT_OF(counted); i++) {
        if (counted[i] != NULL) {
            counted[i]->used += (uint32_t)factor * request->slots;
        }
    }
    if (places->pool != NULL) {
        places->pool->used += (uint32_t)factor;
    }
    booked->cpu_millis += factor * request->amounts.cpu_millis;
    booked->memory_bytes += factor * request->amounts.memory_bytes;
    booked->gpu_count += factor * request->amounts.gpu_count;
}

/* A pool's rate: each one that begins moves on the time at which the next may. */
static void count_rate(const struct tri_resources *resources, struct tri_place_row *pool)
{
    if (pool == NULL || pool->per_second <= 0) {
        return;
    }
    uint64_t now_us = tr_steady_ms(resources->context) * 1000;
    uint64_t from_us = pool->next_us > now_us ? pool->next_us : now_us;
    pool->next_us = from_us + (uint64_t)(MICROSECONDS / pool->per_second);
}

/* ----------------------------------------------------------- grant, refuse */

static struct tr_text identity_of(const struct tri_request_row *request)
{
    return (struct tr_text){.data = request->identity, .size = request->identity_size};
}

static int grant(struct tri_resources *resources, uint32_t number, struct tri_request_row *request,
                 struct places *places)
{
    struct tr_resources_state *state = resources->state;
    book(places, request, 1);
    count_rate(resources, places->pool);
    request->since_ms = tr_steady_ms(resources->context);
    state->held++;
    state->granted++;
    int error = tr_watch_begin(&resources->watch, number, &request->watched);
    const struct tr_resource_granted granted = {.identity = identity_of(request)};
    return error != 0 ? error
                      : tr_tell(resources->context, request->watched.actor,
                                &tr_resource_granted_schema, &granted);
}

static int refuse(struct tri_resources *resources, uint32_t number, struct tri_request_row *request,
                  const char *words)
{
    resources->state->refused++;
    const struct tr_resource_refused refused = {.identity = identity_of(request),
                                                .reason = tr_text_of(words)};
    int error =
        tr_tell(resources->context, request->watched.actor, &tr_resource_refused_schema, &refused);
    error = error != 0 || request->queue == 0 ? error : tri_lane_remove(resources, number, request);
    return error != 0 ? error : tr_rows_remove(&resources->rows, number);
}

/* ------------------------------------------------------------------ turns */

/* Looks at the first of a lane: it is granted, refused (`did`), or what is in its way. */
static int try_lane(struct tri_resources *resources, uint32_t number, bool *did)
{
    struct tr_resources_state *state = resources->state;
    struct tri_request_row *request;
    struct tri_lane_row *lane;
    struct places places;
    char words[160];
    uint32_t first;
    int error = tri_lane_edit(resources, number, &lane);
    error = error != 0 ? error : tri_lane_first(resources, lane, &first);
    if (error == TR_NOT_FOUND) {
        *did = false;
        return 0;
    }
    error = error != 0 ? error : tri_request_edit(resources, first, &request);
    error = error != 0 ? error : open_places(resources, request, &places);
    if (error != 0) {
        return error;
    }
    *did = true;
    if (is_impossible(request, &places, words, sizeof words)) {
        return refuse(resources, first, request, words);
    }
    bool is_saved = lane->is_booking && state->claimant != 0 && state->claimant != number;
    enum hindrance hindrance = is_saved ? MACHINE : hindrance_of(resources, request, &places);
    if (hindrance != FREE) {
        *did = false;
        if (hindrance == MACHINE && !is_saved) {
            state->claimant = number;
        }
        if (hindrance == RATE &&
            (resources->retry_us == 0 || places.pool->next_us < resources->retry_us)) {
            resources->retry_us = places.pool->next_us;
        }
        return 0;
    }
    state->claimant = state->claimant == number ? 0 : state->claimant;
    error = tri_lane_turn(resources, lane);
    error = error != 0 ? error : tri_lane_remove(resources, first, request);
    return error != 0 ? error : grant(resources, first, request, &places);
}

/* One round over the lanes, from the one whose turn it is, until one of them gives something. */
static int try_lanes(struct tri_resources *resources, bool *did)
{
    struct tr_resources_state *state = resources->state;
    uint32_t begin = state->lane;
    uint32_t number = begin;
    *did = false;
    while (number != 0) {
        const void *row;
        int error = tr_rows_get(&resources->rows, number, &row);
        if (error != 0) {
            return error;
        }
        uint32_t next = ((const struct tri_lane_row *)row)->next;
        error = try_lane(resources, number, did);
        if (error != 0) {
            return error;
        }
        if (*did) {
            state->lane = state->lane == 0 ? 0 : next; /* 0: nobody waits any more */
            return 0;
        }
        number = next == begin ? 0 : next;
    }
    return 0;
}

/* Grants what can be granted now, a portion of it. */
static int go_on(struct tri_resources *resources)
{
    struct tr_resources_state *state = resources->state;
    bool did = state->waiting > 0;
    int error = 0;
    for (int i = 0; i < PORTION && did && error == 0; i++) {
        error = try_lanes(resources, &did);
    }
    if (error == 0 && did && state->waiting > 0 && !state->is_going_on) {
        state->is_going_on = true;
        error = tr_tell(resources->context, tr_self(resources->context), &tr_service_more_schema,
                        &(struct tr_service_more){0});
    }
    if (error == 0 && resources->retry_us != 0) {
        uint64_t due_us = resources->retry_us - (uint64_t)BURST_US;
        error = tr_timer_start_at(resources->context, RATE_TIMER, due_us / 1000 + 1);
    }
    return error;
}

/* Looks for what sleepers have, a portion of it, then goes on. */
static int sweep(struct tri_resources *resources)
{
    struct tr_resources_state *state = resources->state;
    bool is_over;
    int error = tri_asleep_sweep(resources, &is_over);
    if (error != 0 || is_over) {
        return error != 0 ? error : go_on(resources);
    }
    if (state->is_going_on) {
        return 0;
    }
    state->is_going_on = true;
    return tr_tell(resources->context, tr_self(resources->context), &tr_service_more_schema,
                   &(struct tr_service_more){0});
}

/* --------------------------------------------------------------- messages */

/* Forgets a request, whether it waits or holds a token. */
static int forget(struct tri_resources *resources, uint32_t number, struct tri_request_row *request,
                  bool is_down)
{
    struct places places;
    int error;
    if (request->queue != 0) {
        error = tri_lane_remove(resources, number, request);
    } else {
        error = open_places(resources, request, &places);
        if (error == 0) {
            book(&places, request, -1);
            resources->state->held--;
            error = tri_asleep_forget(resources, places.machine, request);
        }
        if (error == 0) {
            error = tr_watch_end(&resources->watch, number, &request->watched, is_down);
        }
    }
    return error != 0 ? error : tr_rows_remove(&resources->rows, number);
}

static struct tr_rows_key request_key(struct tr_ref actor)
{
    return tr_rows_key_numbers(TRI_ROW_REQUEST, actor.key.group, actor.key.serial);
}

static int find_request(struct tri_resources *resources, struct tr_ref actor, uint32_t *number,
                        struct tri_request_row **request)
{
    struct tr_rows_key key = request_key(actor);
    int error = tr_rows_find(&resources->rows, &key, number);
    return error != 0 ? error : tri_request_edit(resources, *number, request);
}

static int request_new(struct tri_resources *resources, const struct tr_resource_request *wish,
                       struct tr_ref actor, uint32_t *number, struct tri_request_row **out)
{
    struct tr_rows_key key = request_key(actor);
    uint32_t place;
    uint32_t pool;
    uint32_t scope;
    void *row;
    int error = tri_place_find(resources, TRI_ROW_PLACE, wish->name, &place);
    error = error != 0 ? error : tri_pool_find(resources, wish, &pool);
    error = error != 0 ? error : tri_share_find(resources, wish, &scope);
    error = error != 0 ? error : tr_rows_add(&resources->rows, &key, number, &row);
    if (error != 0) {
        return error;
    }
    struct tri_request_row *request = row;
    request->watched.actor = actor;
    request->execution = wish->execution;
    request->since_ms = tr_steady_ms(resources->context);
    request->amounts = (struct tri_amounts){wish->cpu_millis, wish->memory_bytes, wish->gpu_count};
    request->slots = wish->slots;
    request->place = place;
    request->pool = pool;
    request->watched.own = scope;
    size_t size = wish->identity.size < sizeof request->identity ? wish->identity.size
                                                                 : sizeof request->identity;
    request->identity_size = (uint32_t)size;
    if (size > 0) {
        memcpy(request->identity, wish->identity.data, size);
    }
    *out = request;
    return 0;
}

/* A new request goes behind those who wait in its lane; go_on then looks whose turn it is. */
static int admit(struct tri_resources *resources, const struct tr_resource_request *wish,
                 struct tr_ref actor)
{
    struct tri_request_row *request;
    struct places places;
    char words[160];
    uint32_t number;
    int error = request_new(resources, wish, actor, &number, &request);
    error = error != 0 ? error : open_places(resources, request, &places);
    if (error != 0) {
        return error;
    }
    if (is_impossible(request, &places, words, sizeof words)) {
        return refuse(resources, number, request, words);
    }
    bool is_alone = resources->state->waiting == 0;
    if (is_alone && hindrance_of(resources, request, &places) == FREE) {
        return grant(resources, number, request, &places);
    }
    /* Behind others it has no turn yet, unless they sleep; the first of its lane may have one. */
    bool is_first;
    error = tri_lane_add(resources, number, request, &is_first);
    bool is_behind = !is_first && resources->state->sleepers == 0;
    return error != 0 || is_behind ? error : go_on(resources);
}

static int on_request(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_request wish;
    struct tri_request_row *request;
    uint32_t number;
    int error = tr_message_read(message, resource_request, &wish);
    if (error != 0) {
        return error;
    }
    error = find_request(resources, message->from, &number, &request);
    if (error == TR_NOT_FOUND) {
        return admit(resources, &wish, message->from);
    }
    if (error != 0) {
        return error;
    }
    if (!tr_text_equal(identity_of(request), wish.identity)) {
        error = forget(resources, number, request, false); /* of an attempt before */
        return error != 0 ? error : admit(resources, &wish, message->from);
    }
    const struct tr_resource_granted granted = {.identity = wish.identity};
    return request->queue != 0
               ? 0
               : tr_tell(resources->context, message->from, &tr_resource_granted_schema, &granted);
}

static int on_release(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_release release;
    struct tri_request_row *request;
    uint32_t number;
    int error = tr_message_read(message, resource_release, &release);
    error = error != 0 ? error : find_request(resources, message->from, &number, &request);
    if (error != 0 || !tr_text_equal(identity_of(request), release.identity)) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = forget(resources, number, request, false);
    return error != 0 ? error : go_on(resources);
}

static int on_down(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_down down;
    struct tri_request_row *request;
    uint32_t number;
    int error = tr_message_read(message, down, &down);
    error = error != 0 ? error : find_request(resources, down.actor, &number, &request);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = forget(resources, number, request, true);
    return error != 0 ? error : go_on(resources);
}

static int on_quota(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_quota quota;
    struct tri_place_row *place;
    uint32_t number;
    int error = tr_message_read(message, resource_quota, &quota);
    error = error != 0 ? error : tri_place_find(resources, TRI_ROW_PLACE, quota.name, &number);
    error = error != 0 ? error : tri_place_edit(resources, number, &place);
    if (error != 0) {
        return error;
    }
    place->slots = quota.slots;
    place->told = tri_asleep_next_start(resources->state);
    place->amounts = (struct tri_amounts){quota.cpu_millis, quota.memory_bytes, quota.gpu_count};
    return go_on(resources);
}

static int on_more(struct tri_resources *resources, const struct tr_message *message)
{
    (void)message;
    resources->state->is_going_on = false;
    return sweep(resources);
}

static int on_asleep(struct tri_resources *resources, const struct tr_message *message)
{
    int error = tri_asleep_on_list(resources, message);
    return error != 0 || resources->state->sweep == 0 ? error : sweep(resources);
}

static int on_awake(struct tri_resources *resources, const struct tr_message *message)
{
    int error = tri_asleep_on_awake(resources, message);
    return error != 0 ? error : go_on(resources);
}

static int on_timer(struct tri_resources *resources, const struct tr_message *message)
{
    (void)message;
    return go_on(resources);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    static const struct {
        const struct tr_schema *schema;
        int (*handle)(struct tri_resources *resources, const struct tr_message *message);
    } reactions[] = {{&tr_resource_request_schema, on_request},
                     {&tr_resource_release_schema, on_release},
                     {&tr_resource_quota_schema, on_quota},
                     {&tr_resource_asleep_schema, on_asleep},
                     {&tr_resource_awake_schema, on_awake},
                     {&tr_service_more_schema, on_more},
                     {&tr_timer_schema, on_timer},
                     {&tr_down_schema, on_down}};
    struct tr_resources_state *own = state;
    struct tri_resources resources = {.context = context, .state = own};
    resources.rows = tr_rows_open(context, own, sizeof(union tri_resource_any));
    resources.watch = tr_watch_open(&resources.rows, own, TR_WATCHES_MAX);
    for (size_t i = 0; i < TR_COUNT_OF(reactions); i++) {
        if (tr_message_is(message, reactions[i].schema)) {
            int error = reactions[i].handle(&resources, message);
            tr_rows_close(&resources.rows, own);
            tr_watch_close(&resources.watch, own);
            return error;
        }
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour tr_resources_behaviour = {
    .name = "resources", .id = 104, .state = &tr_resources_state_schema, .handle = handle};
