/*
 * The resource manager: which attempts may begin and which wait, over all executions of a store.
 *
 * Requests and tokens are rows in its pages and so survive a restart; a token whose holder has
 * ended without giving it back comes back by the monitor on him. What is free is granted at once;
 * what can never be is refused with words. resources.h says what waits where.
 *
 * Invariants:
 * - `used` and `booked` of a place are the sums over granted requests, changed by book() alone.
 * - A task has one request. Another identity from it is of a later attempt, and takes the place of
 *   the one before.
 * - A request is granted only as the first of its lane, or when none waits at all: so a large one
 *   at the front is not passed by smaller ones behind it.
 * - The amounts of a machine are saved for one lane at a time, the claimant. It is the first whose
 *   request lacked them, and stays it until one of its requests is granted, or none is left.
 *
 * Flyte's ResourceManager has namespaces of this kind, too.
 *
 * A round over the lanes looks at the first request of each, however many wait behind it.
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

/* --------------------------------------------------- places by their names */

/*
 * The places of a request by their names. A bound that comes with the request, as those of pools
 * and scopes do, is that of the last request.
 */

static void set_name(struct tri_place_row *place, struct tr_text name)
{
    size_t size = name.size < sizeof place->name ? name.size : sizeof place->name;
    place->name_size = (uint32_t)size;
    if (size > 0) {
        memcpy(place->name, name.data, size);
    }
}

int tri_resources_place_find(struct tri_resources *resources, enum tri_resource_row kind,
                             struct tr_text name, uint32_t *number)
{
    struct tr_rows_key key = tr_rows_key_bytes(
        kind, (struct tr_bytes){.data = (const uint8_t *)name.data, .size = name.size});
    int error = tr_rows_find(&resources->rows, &key, number);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    void *row;
    error = tr_rows_add(&resources->rows, &key, number, &row);
    if (error == 0) {
        set_name(row, name);
    }
    return error;
}

/* A pool's bounds come with the definition that uses it: the last one to ask is right. */
static int pool_find(struct tri_resources *resources, const struct tr_resource_request *wish,
                     uint32_t *number)
{
    struct tri_place_row *pool;
    *number = 0;
    if (wish->pool.size == 0) {
        return 0;
    }
    int error = tri_resources_place_find(resources, TRI_ROW_POOL, wish->pool, number);
    if (error == 0) {
        error = tri_resources_place_edit(resources, *number, &pool);
    }
    if (error == 0) {
        pool->slots = wish->pool_slots;
        pool->per_second = wish->pool_per_second;
    }
    return error;
}

/*
 * What a project, or a domain of one, may have of a namespace. `project` is the scope behind it, 0
 * for a project itself. A name that is empty leaves `*number` as it is.
 */
static int find_scope(struct tri_resources *resources, struct tr_text name, uint32_t slots,
                      uint32_t project, uint32_t *number)
{
    struct tri_place_row *scope;
    if (name.size == 0) {
        return 0;
    }
    int error = tri_resources_place_find(resources, TRI_ROW_SCOPE, name, number);
    if (error == 0) {
        error = tri_resources_place_edit(resources, *number, &scope);
    }
    if (error == 0) {
        scope->slots = slots;
        scope->project = project;
    }
    return error;
}

/* What its domain may have, behind which its project's is, or that one alone; 0: neither. */
static int share_find(struct tri_resources *resources, const struct tr_resource_request *wish,
                      uint32_t *scope)
{
    *scope = 0;
    int error = find_scope(resources, wish->project, wish->project_slots, 0, scope);
    return error != 0 || *scope == 0
               ? error
               : find_scope(resources, wish->domain, wish->domain_slots, *scope, scope);
}

/* ----------------------------------------------------------------- places */

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

/* One of the amounts, by its row of the table. */
static uint64_t amount_of(const struct tri_amounts *of, const struct amount *amount)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)of + amount->offset, sizeof value);
    return value;
}

/* The places of a request. All but `place` may be NULL; without a machine it books none. */
struct places {
    struct tri_place_row *place;
    struct tri_place_row *pool;
    struct tri_place_row *scope;   /* of its domain, or of its project */
    struct tri_place_row *project; /* behind that of a domain */
    struct tri_place_row *machine;
    uint32_t host; /* of the machine: its row */
    uint32_t claimant;
    bool has_told;
};

/* The machine that a request books of. An engine that is alone may ask before it has told of it. */
static int open_machine(struct tri_resources *resources, const struct tri_request_row *request,
                        struct places *places)
{
    const struct tri_host_row *host;
    uint16_t number = tri_resources_request_host(request);
    if (!tri_resources_request_is_booking(request)) {
        return 0;
    }
    int error = tri_resources_host_find(resources, number, &places->host);
    if (error == 0) {
        error = tri_resources_host_get(&resources->rows, number, &places->host, &host);
    }
    if (error != 0) {
        return error;
    }
    places->claimant = host->claimant;
    places->has_told = host->has_told || number == 0;
    return tri_resources_place_edit(resources, host->machine, &places->machine);
}

static int open_place(struct tri_resources *resources, uint32_t number, struct tri_place_row **row)
{
    return number == 0 ? 0 : tri_resources_place_edit(resources, number, row);
}

/* All places that a request needs, to be changed; those it does not need are NULL. */
static int open_places(struct tri_resources *resources, const struct tri_request_row *request,
                       struct places *places)
{
    *places = (struct places){0};
    int error = tri_resources_place_edit(resources, request->place, &places->place);
    if (error == 0) {
        error = open_place(resources, request->pool, &places->pool);
    }
    if (error == 0) {
        error = open_place(resources, tri_resources_request_scope(request), &places->scope);
    }
    if (error == 0 && places->scope != NULL) {
        error = open_place(resources, places->scope->project, &places->project);
    }
    return error != 0 ? error : open_machine(resources, request, places);
}

static bool is_too_much(const struct tri_request_row *request, const struct tri_place_row *machine,
                        char *words, size_t size)
{
    for (size_t i = 0; i < TR_COUNT_OF(amounts); i++) {
        uint64_t wanted = amount_of(&request->amounts, &amounts[i]);
        uint64_t there = amount_of(&machine->amounts, &amounts[i]);
        if (there != 0 && wanted > there) {
            (void)snprintf(words, size, "it asks for %llu %s, and this machine has %llu",
                           (unsigned long long)(wanted / amounts[i].unit), amounts[i].noun,
                           (unsigned long long)(there / amounts[i].unit));
            return true;
        }
    }
    return false;
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
    return places->machine != NULL && is_too_much(request, places->machine, words, size);
}

/* Of what the machine has less of, all there is, for those who want that. */
static void cut(struct tri_request_row *request, const struct places *places)
{
    bool is_meant = (request->watched.own_bits & TRI_REQUEST_IS_CUT) != 0;
    if (!is_meant || places->machine == NULL) {
        return;
    }
    for (size_t i = 0; i < TR_COUNT_OF(amounts); i++) {
        uint64_t there = amount_of(&places->machine->amounts, &amounts[i]);
        if (there != 0 && amount_of(&request->amounts, &amounts[i]) > there) {
            memcpy((uint8_t *)&request->amounts + amounts[i].offset, &there, sizeof there);
        }
    }
}

/* What is in the way of a request now. */
enum hindrance { FREE, SLOTS, POOL, RATE, MACHINE };

/* Whether so many slots more are too many; no place, or one without a bound, is never full. */
static bool is_full(const struct tri_place_row *place, uint32_t slots)
{
    return place != NULL && place->slots != 0 && place->used + slots > place->slots;
}

/*
 * What dormant executions have booked of the machine does not count. A machine of which nothing was
 * told yet has no room: one that has just come, and is heard of at any moment.
 */
static bool has_room(const struct tri_request_row *request, const struct places *places)
{
    const struct tri_place_row *machine = places->machine;
    for (size_t i = 0; i < TR_COUNT_OF(amounts); i++) {
        uint64_t there = amount_of(&machine->amounts, &amounts[i]);
        uint64_t used =
            amount_of(&machine->booked, &amounts[i]) - amount_of(&machine->dormant, &amounts[i]);
        uint64_t wanted = amount_of(&request->amounts, &amounts[i]);
        if (there != 0 && wanted > 0 && used + wanted > there) {
            return false;
        }
    }
    return places->has_told;
}

/*
 * The first thing in the way of a request now. The order of the checks matters only for RATE and
 * MACHINE: the first sets a timer, the second makes its lane the claimant, so both come after what
 * no time and no saving can help.
 */
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
    return places->machine == NULL || has_room(request, places) ? FREE : MACHINE;
}

/*
 * Counts a request in (sign 1) or out (sign -1) of all its places; unsigned arithmetic wraps as
 * meant.
 */
static void book(struct places *places, const struct tri_request_row *request, int sign)
{
    uint64_t factor = sign > 0 ? 1 : UINT64_MAX;
    struct tri_place_row *const counted[] = {places->place, places->scope, places->project};
    for (size_t i = 0; i < TR_COUNT_OF(counted); i++) {
        if (counted[i] != NULL) {
            counted[i]->used += (uint32_t)factor * request->slots;
        }
    }
    if (places->pool != NULL) {
        places->pool->used += (uint32_t)factor;
    }
    if (places->machine != NULL) {
        struct tri_amounts *booked = &places->machine->booked;
        booked->cpu_millis += factor * request->amounts.cpu_millis;
        booked->memory_bytes += factor * request->amounts.memory_bytes;
        booked->gpu_count += factor * request->amounts.gpu_count;
    }
}

/*
 * A pool's rate: each one that begins moves on the time at which the next may. A pool that was idle
 * begins at now, so that an hour of rest does not allow an hour's worth at once.
 */
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

/*
 * From now on the request holds its token: its actor is monitored and told. It is in no lane. A
 * request that is granted at once never was in a lane; any other has left it before.
 */
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
    const struct tr_resource_granted granted = {.identity =
                                                    tri_resources_request_identity(request)};
    return error != 0 ? error
                      : tr_tell(resources->context, request->watched.actor,
                                &tr_resource_granted_schema, &granted);
}

/* A request that can never be granted is answered in words and forgotten. */
static int refuse(struct tri_resources *resources, uint32_t number, struct tri_request_row *request,
                  const char *words)
{
    resources->state->refused++;
    const struct tr_resource_refused refused = {.identity = tri_resources_request_identity(request),
                                                .reason = tr_text_of(words)};
    int error =
        tr_tell(resources->context, request->watched.actor, &tr_resource_refused_schema, &refused);
    error =
        error != 0 || request->queue == 0 ? error : tri_resources_lane_remove(resources, request);
    return error != 0 ? error : tr_rows_remove(&resources->rows, number);
}

/* ------------------------------------------------------------------ turns */

/*
 * Where another lane's request saves up for the machine, no lane that books any of it may go first.
 */
static enum hindrance lane_hindrance(const struct tri_resources *resources,
                                     const struct tri_request_row *request, uint32_t lane,
                                     const struct places *places)
{
    bool is_saved = places->claimant != 0 && places->claimant != lane;
    return is_saved ? MACHINE : hindrance_of(resources, request, places);
}

/* The first that lacks of a machine claims it; a pool's rate has a time. */
static int wait_for(struct tri_resources *resources, enum hindrance hindrance, uint32_t lane,
                    const struct places *places)
{
    if (hindrance == MACHINE && places->claimant == 0) {
        return tri_resources_host_claim(resources, places->host, lane);
    }
    if (hindrance == RATE &&
        (resources->retry_us == 0 || places->pool->next_us < resources->retry_us)) {
        resources->retry_us = places->pool->next_us;
    }
    return 0;
}

/*
 * Looks at the first of a lane: it is granted, refused (`did`), or what is in its way. A lane whose
 * executions are all dormant has no first and gives nothing.
 */
static int try_lane(struct tri_resources *resources, uint32_t number, bool *did)
{
    struct tri_request_row *request;
    struct tri_lane_row *lane;
    struct places places;
    char words[160];
    uint32_t first;
    int error = tri_resources_lane_edit(resources, number, &lane);
    if (error == 0) {
        error = tri_resources_lane_first(resources, lane, &first);
    }
    if (error == TR_NOT_FOUND) {
        *did = false;
        return 0;
    }
    if (error != 0) {
        return error;
    }
    error = tri_resources_request_edit(resources, first, &request);
    if (error != 0) {
        return error;
    }
    error = open_places(resources, request, &places);
    if (error != 0) {
        return error;
    }
    *did = true;
    cut(request, &places);
    if (is_impossible(request, &places, words, sizeof words)) {
        return refuse(resources, first, request, words);
    }
    enum hindrance hindrance = lane_hindrance(resources, request, number, &places);
    if (hindrance != FREE) {
        *did = false;
        return wait_for(resources, hindrance, number, &places);
    }
    if (places.claimant == number) {
        error = tri_resources_host_claim(resources, places.host, 0);
    }
    if (error == 0) {
        error = tri_resources_lane_turn(resources, lane);
    }
    if (error == 0) {
        error = tri_resources_lane_remove(resources, request);
    }
    return error != 0 ? error : grant(resources, first, request, &places);
}

/*
 * One round over the lanes, from the one whose turn it is, until one of them gives something. The
 * next turn is that of the lane behind it, so that one lane with many small requests does not keep
 * the others waiting.
 */
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
        uint32_t next = ((const struct tri_lane_row *)row)->ring.next;
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

/*
 * Grants what can be granted now, a portion of it. `is_continuing` bounds the messages to itself to
 * one. The timer is set for the pool that is free first; a rate that others wait for as well sets
 * it again when it rings.
 */
static int go_on(struct tri_resources *resources)
{
    struct tr_resources_state *state = resources->state;
    bool did = state->waiting > 0;
    int error = 0;
    for (int i = 0; i < PORTION && did && error == 0; i++) {
        error = try_lanes(resources, &did);
    }
    if (error == 0 && did && state->waiting > 0 && !state->is_continuing) {
        state->is_continuing = true;
        error = tr_tell(resources->context, tr_self(resources->context), &tr_service_more_schema,
                        &(struct tr_service_more){0});
    }
    if (error == 0 && resources->retry_us != 0) {
        uint64_t due_us = resources->retry_us - (uint64_t)BURST_US;
        error = tr_timer_start_at(resources->context, RATE_TIMER, due_us / 1000 + 1);
    }
    return error;
}

/* Counts what dormant executions have booked, a share of the rows at a time. */
static int sweep(struct tri_resources *resources)
{
    struct tr_resources_state *state = resources->state;
    bool is_over;
    int error = tri_resources_dormant_sweep(resources, &is_over);
    if (error != 0 || is_over) {
        return error != 0 ? error : go_on(resources);
    }
    if (state->is_continuing) {
        return 0;
    }
    state->is_continuing = true;
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
        error = tri_resources_lane_remove(resources, request);
    } else {
        error = open_places(resources, request, &places);
        if (error == 0) {
            book(&places, request, -1);
            resources->state->held--;
            error = tri_resources_dormant_forget(resources, places.machine, request);
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
    return error != 0 ? error : tri_resources_request_edit(resources, *number, request);
}

/* The row of a request, with its places found by name or made. It waits nowhere yet. */
static int request_new(struct tri_resources *resources, const struct tr_resource_request *wish,
                       struct tr_ref actor, uint32_t *number, struct tri_request_row **out)
{
    struct tr_rows_key key = request_key(actor);
    uint32_t place;
    uint32_t pool;
    uint32_t scope;
    void *row;
    int error = tri_resources_place_find(resources, TRI_ROW_PLACE, wish->name, &place);
    if (error != 0) {
        return error;
    }
    error = pool_find(resources, wish, &pool);
    if (error != 0) {
        return error;
    }
    error = share_find(resources, wish, &scope);
    if (error != 0) {
        return error;
    }
    error = tr_rows_add(&resources->rows, &key, number, &row);
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
    request->watched.own_bits = wish->is_cut ? TRI_REQUEST_IS_CUT : 0;
    request->watched.own_small = tri_resources_request_is_booking(request) ? wish->host : 0;
    size_t size = wish->identity.size < sizeof request->identity ? wish->identity.size
                                                                 : sizeof request->identity;
    request->identity_size = (uint32_t)size;
    if (size > 0) {
        memcpy(request->identity, wish->identity.data, size);
    }
    *out = request;
    return 0;
}

static bool is_booking(const struct tr_resource_request *wish)
{
    return (wish->cpu_millis | wish->memory_bytes | wish->gpu_count) != 0;
}

/* A new request goes behind those that wait in its lane; go_on then looks whose turn it is. */
static int admit(struct tri_resources *resources, const struct tr_resource_request *wish,
                 struct tr_ref actor)
{
    struct tri_request_row *request;
    struct places places;
    char words[160];
    uint32_t number;
    bool is_there = true;
    int error = is_booking(wish) ? tri_resources_host_admit(resources, wish, actor, &is_there) : 0;
    if (error != 0 || !is_there) {
        return error;
    }
    error = request_new(resources, wish, actor, &number, &request);
    if (error != 0) {
        return error;
    }
    error = open_places(resources, request, &places);
    if (error != 0) {
        return error;
    }
    cut(request, &places);
    if (is_impossible(request, &places, words, sizeof words)) {
        return refuse(resources, number, request, words);
    }
    /* The common case costs no lane: no request waits anywhere, so none can be passed. */
    bool is_alone = resources->state->waiting == 0;
    if (is_alone && hindrance_of(resources, request, &places) == FREE) {
        return grant(resources, number, request, &places);
    }
    /*
     * Behind others it has no turn yet, unless they are dormant; the first of its lane may have
     * one.
     */
    bool is_first;
    error = tri_resources_lane_add(resources, number, request, &is_first);
    bool is_behind = !is_first && resources->state->dormant_count == 0;
    return error != 0 || is_behind ? error : go_on(resources);
}

/* Whether it waits, and for the machine of a host that its task is not on any more. */
static bool has_moved(const struct tri_request_row *request, const struct tr_resource_request *wish)
{
    return request->queue != 0 && is_booking(wish) &&
           tri_resources_request_host(request) != wish->host;
}

/*
 * Asked again with the same identity, after a restart of the engine: a token that is held is
 * granted again, a request that waits goes on waiting.
 */
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
    bool is_same = tr_text_equal(tri_resources_request_identity(request), wish.identity);
    if (!is_same || has_moved(request, &wish)) {
        error = forget(resources, number, request, false); /* of an attempt before */
        return error != 0 ? error : admit(resources, &wish, message->from);
    }
    const struct tr_resource_granted granted = {.identity = wish.identity};
    return request->queue != 0
               ? 0
               : tr_tell(resources->context, message->from, &tr_resource_granted_schema, &granted);
}

/* From a holder or one that waits. A release of an earlier attempt changes nothing. */
static int on_release(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_release release;
    struct tri_request_row *request;
    uint32_t number;
    int error = tr_message_read(message, resource_release, &release);
    if (error == 0) {
        error = find_request(resources, message->from, &number, &request);
    }
    if (error != 0 || !tr_text_equal(tri_resources_request_identity(request), release.identity)) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = forget(resources, number, request, false);
    return error != 0 ? error : go_on(resources);
}

/*
 * The task's actor has ended: whatever it held is free. A request that waits has no monitor; it
 * goes when it is granted and DOWN comes at once. One on a host that cannot be reached may live,
 * and keeps what it has.
 */
static int on_down(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_down down;
    struct tri_request_row *request;
    uint32_t number;
    int error = tr_message_read(message, down, &down);
    if (error == 0) {
        error = find_request(resources, down.actor, &number, &request);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (-(int)down.reason == TR_NO_CONNECTION) {
        return tr_watch_again(&resources->watch, &request->watched);
    }
    error = forget(resources, number, request, true);
    return error != 0 ? error : go_on(resources);
}

/* What the settings of a host say of a namespace. Where they differ, the last to begin is right. */
static int set_quota(struct tri_resources *resources, const struct tr_resource_quota *quota)
{
    struct tri_place_row *place;
    uint32_t number;
    uint32_t telling;
    int error = tri_resources_host_telling(resources, quota->host, &telling);
    if (error == 0) {
        error = tri_resources_place_find(resources, TRI_ROW_PLACE, quota->name, &number);
    }
    if (error == 0) {
        error = tri_resources_place_edit(resources, number, &place);
    }
    if (error == 0 && (place->told == 0 || !tri_resources_number_is_before(telling, place->told))) {
        place->slots = quota->slots;
        place->told = telling;
    }
    return error;
}

/* More may be free now. */
static int on_quota(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_quota quota;
    int error = tr_message_read(message, resource_quota, &quota);
    if (error == 0) {
        error = quota.name.size == 0 ? tri_resources_host_on_machine(resources, &quota)
                                     : set_quota(resources, &quota);
    }
    return error != 0 ? error : sweep(resources);
}

static int on_gone(struct tri_resources *resources, const struct tr_message *message)
{
    int error = tri_resources_host_on_gone(resources, message);
    return error != 0 ? error : sweep(resources);
}

static int on_machines(struct tri_resources *resources, const struct tr_message *message)
{
    int error = tri_resources_host_on_machines(resources, message);
    return error != 0 ? error : sweep(resources);
}

static int on_more(struct tri_resources *resources, const struct tr_message *message)
{
    (void)message;
    resources->state->is_continuing = false;
    return sweep(resources);
}

static int on_dormant(struct tri_resources *resources, const struct tr_message *message)
{
    int error = tri_resources_dormant_on_list(resources, message);
    return error != 0 || resources->state->sweep == 0 ? error : sweep(resources);
}

static int on_active(struct tri_resources *resources, const struct tr_message *message)
{
    int error = tri_resources_dormant_on_active(resources, message);
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
                     {&tr_resource_machine_gone_schema, on_gone},
                     {&tr_resource_machines_schema, on_machines},
                     {&tr_resource_dormant_schema, on_dormant},
                     {&tr_resource_active_schema, on_active},
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

static void gauge(const void *value, int64_t sign, int64_t *values)
{
    const struct tr_resources_state *state = value;
    struct tr_gauges *gauges = (struct tr_gauges *)values;
    gauges->tokens_held += sign * (int64_t)state->held;
    gauges->tokens_waiting += sign * (int64_t)state->waiting;
}

const struct tr_behaviour tr_resources_behaviour = {
    .name = "resources",
    .id = 104,
    .state = &tr_resources_state_schema,
    .handle = handle,
    .gauge = gauge,
};
