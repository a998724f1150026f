/*
 * Copies an event into the rings of taps that want it. Cheap conditions are checked first; an
 * actor's address is built once, when the first filter needs it.
 *
 * A worker is the only writer of its lanes and never waits for a reader: events without room are
 * counted as lost. The worker owns all state here, except that in a lane.
 *
 * A filter ends after its limit or its time, independent of its reader. Events not shown for want
 * of room or above its rate are counted, and the counts are part of the stream.
 *
 * The order of the conditions defines the counts: sampling counts matching events, the rate counts
 * sampled events, and the limit counts events to be shown, including lost ones. So a limit bounds
 * the work of a worker even when no reader takes anything.
 */
#include "runtime/watch/port.h"

#include "runtime/actor/deliver.h"
#include "runtime/move/snapshot.h"
#include "runtime/trace/glob.h"

/* Points that are timed. */
#define TIMED_POINTS (1U << TR_TAP_HANDLED | 1U << TR_TAP_FAILED)

/* The worker's state of one tap. */
struct side {
    struct tr_tap_filter filter;
    struct tri_tap_lane *lane; /* NULL: not open */
    uint64_t expires_ms;
    uint64_t matched; /* matching events since it was opened */
    uint64_t shown;   /* of those, events to be shown, lost or not */
    uint64_t second;
    uint32_t shown_in_second;
    uint64_t lost;
    uint64_t skipped;
};

struct tri_tap_port {
    struct side sides[TR_TAPS_MAX];
    _Atomic(struct tri_tap_lane *) laid[TR_TAPS_MAX];
    atomic_uint_fast64_t batches_committed;
    uint64_t clock;    /* of the last event: never goes back */
    uint64_t begin_ns; /* start of the handler, and the counters then */
    uint64_t spawns;
    uint64_t groups;
    uint64_t sequence;
};

/* An event, and its properties found so far. */
struct sight {
    struct tri_tap_candidate candidate;
    struct tri_actor *actor;
    const struct tri_message *message;
    int reason;
    uint32_t to_worker;
    uint64_t duration_ns;
    bool has_address;
    struct tr_text address;
    char buffer[TR_ADDRESS_BYTES_MAX];
};

int tri_tap_port_init(struct tri_worker *worker)
{
    worker->tap = tr_alloc_zero(1, sizeof *worker->tap);
    return worker->tap == NULL ? TR_MEMORY : 0;
}

void tri_tap_port_fini(struct tri_worker *worker)
{
    tr_free(worker->tap);
    worker->tap = NULL;
}

void tri_tap_port_attach(struct tri_worker *worker, uint32_t tap, struct tri_tap_lane *lane)
{
    atomic_store_explicit(&worker->tap->laid[tap], lane, memory_order_release);
}

/* ---------------------------------------------------------- opening and closing */

/* Computes the points that any open filter wants. */
static void update_mask(struct tri_worker *worker)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < TR_TAPS_MAX; i++) {
        const struct side *side = &worker->tap->sides[i];
        if (side->lane != NULL) {
            mask |= side->filter.points != 0 ? side->filter.points : (uint32_t)TR_TAP_POINTS_ALL;
        }
    }
    worker->tap_mask = mask;
}

/*
 * Ends a filter; its ring stays until the tap is closed. Release: a reader that sees is_over then
 * sees all records before it, so an empty ring means the end.
 */
static void end_side(struct tri_worker *worker, struct side *side)
{
    atomic_store_explicit(&side->lane->is_over, true, memory_order_release);
    side->lane = NULL;
    update_mask(worker);
}

static void answer(struct tri_worker *worker, uint64_t request, int reason)
{
    struct tr_observed observed = {
        .request = request, .worker = worker->index, .reason = (uint32_t)-reason};
    tri_tell_worker(worker, TRI_PLACE_CONTROL, &tr_observed_schema, &observed);
}

/*
 * The tap has attached the lane before it asked. Release and acquire on the pointer make its ring
 * visible with it.
 */
static int open_side(struct tri_worker *worker, const struct tr_tap_open *open)
{
    struct tri_tap_port *port = worker->tap;
    if (open->tap >= TR_TAPS_MAX) {
        return TR_INVALID;
    }
    struct side side = {
        .lane = atomic_load_explicit(&port->laid[open->tap], memory_order_acquire),
    };
    int error = tri_tap_filter_unpack(open, &side.filter);
    if (error != 0) {
        return error;
    }
    if (side.lane == NULL) {
        return TR_NOT_FOUND;
    }
    side.expires_ms =
        open->seconds == 0 ? UINT64_MAX : worker->now_ms + (uint64_t)open->seconds * 1000;
    port->sides[open->tap] = side;
    update_mask(worker);
    return 0;
}

/* Opens for a recording: the actor's worker answers with its snapshot. */
static int open_recording(struct tri_worker *worker, const struct tr_tap_open *open)
{
    uint8_t *snapshot = NULL;
    size_t size = 0;
    struct tri_actor *actor = tri_actor_find(worker, open->key, 0);
    int error = actor == NULL ? 0 : tri_snapshot_pack_bare(worker, actor, &snapshot, &size);
    if (error == 0) {
        error = open_side(worker, open);
    }
    if (error == 0) {
        struct tr_observed observed = {.request = open->request,
                                       .worker = worker->index,
                                       .data = {.data = snapshot, .size = size}};
        error = tri_tell_worker_large(worker, TRI_PLACE_CONTROL, &tr_observed_schema, &observed);
    }
    tr_free(snapshot);
    return error;
}

void tri_tap_on_open(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_tap_open open;
    if (tr_message_read(message, tap_open, &open) != 0) {
        return;
    }
    int error = open.is_recording ? open_recording(worker, &open) : open_side(worker, &open);
    if (error != 0 || !open.is_recording) {
        answer(worker, open.request, error);
    }
}

/* The answer is sent last: after the reader has got it from all workers it frees the rings. */
void tri_tap_on_close(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_tap_close close;
    if (tr_message_read(message, tap_close, &close) != 0) {
        return;
    }
    if (close.tap < TR_TAPS_MAX) {
        worker->tap->sides[close.tap] = (struct side){0};
        tri_tap_port_attach(worker, close.tap, NULL);
        update_mask(worker);
    }
    answer(worker, close.request, 0);
}

/*
 * A worker's batches are committed in the order of its cuts, so a count tells which ones are on the
 * disk. The reader compares it with the batch of an event.
 */
static void note_batches(struct tri_worker *worker)
{
    uint64_t committed = worker->metrics.cuts - worker->cuts_outstanding;
    atomic_store_explicit(&worker->tap->batches_committed, committed, memory_order_relaxed);
}

uint64_t tri_tap_batches_committed(const struct tri_worker *worker)
{
    return atomic_load_explicit(&worker->tap->batches_committed, memory_order_relaxed);
}

/* ---------------------------------------------------------------------- showing */

/*
 * The hybrid clock of an event. A message is sent no later than its own clock and received no
 * earlier, so the merged streams show each cause before its effect.
 */
static uint64_t clock_of(struct tri_worker *worker, const struct sight *sight)
{
    struct tri_tap_port *port = worker->tap;
    uint64_t clock = worker->now_ms << 16;
    uint8_t point = sight->candidate.point;
    if (point == TR_TAP_SEND || point == TR_TAP_RECEIVE) {
        uint64_t message_clock = tr_envelope_get(sight->message->bytes, 64, clock);
        clock = message_clock > clock ? message_clock : clock;
    }
    port->clock = clock > port->clock ? clock : port->clock;
    return port->clock;
}

static struct tr_text address_of(struct tri_worker *worker, struct sight *sight)
{
    if (!sight->has_address && sight->actor != NULL) {
        sight->address =
            tri_actor_address(worker, sight->actor, sight->buffer, sizeof sight->buffer);
    }
    sight->has_address = true;
    return sight->address;
}

/* The bytes copied of a message. */
static uint32_t copied_size(const struct side *side, const struct tri_message *message)
{
    if (message == NULL) {
        return 0;
    }
    uint32_t body_size = tr_envelope_get(message->bytes, 32, body_size);
    uint32_t wanted = side->filter.payload_bytes;
    return (uint32_t)TR_ENVELOPE_BYTES + (body_size < wanted ? body_size : wanted);
}

/* `batch` is the number of the next cut: when it is committed, the event is on the disk. */
static void fill_record(struct tri_worker *worker, const struct side *side,
                        const struct sight *sight, struct tri_tap_record *record)
{
    *record = (struct tri_tap_record){
        .clock = worker->tap->clock,
        .now_ms = worker->now_ms,
        .number = worker->cut_number,
        .batch = worker->metrics.cuts + 1,
        .duration_ns = sight->duration_ns,
        .trace = sight->candidate.trace,
        .spawns = worker->tap->spawns,
        .groups = worker->tap->groups,
        .sequence = worker->tap->sequence,
        .lost = side->lost,
        .skipped = side->skipped,
        .message_size = copied_size(side, sight->message),
        .address_size = (uint32_t)sight->address.size,
        .to_worker = sight->to_worker,
        .reason = sight->reason,
        .point = sight->candidate.point,
    };
    if (sight->actor != NULL) {
        record->actor = tri_actor_ref(sight->actor);
    }
}

/*
 * Copies the event into the ring of one tap, or counts it as lost. It is counted before the next
 * event is put, so the next record has the number of missing ones before it.
 */
static void put(struct tri_worker *worker, struct side *side, struct sight *sight)
{
    struct tri_tap_lane *lane = side->lane;
    struct tr_text address = address_of(worker, sight);
    uint32_t message_size = copied_size(side, sight->message);
    uint32_t size = (uint32_t)(sizeof(struct tri_tap_record) + message_size + address.size);
    uint8_t *at = tri_ring_claim(&lane->ring, size);
    if (at == NULL) {
        side->lost++;
        atomic_store_explicit(&lane->lost, side->lost, memory_order_release);
        return;
    }
    struct tri_tap_record record;
    fill_record(worker, side, sight, &record);
    memcpy(at, &record, sizeof record);
    if (message_size > 0) {
        memcpy(at + sizeof record, sight->message->bytes, message_size);
    }
    if (address.size > 0) {
        memcpy(at + sizeof record + message_size, address.data, address.size);
    }
    tri_ring_publish(&lane->ring);
}

/* Whether the rate allows one more event in this second; otherwise counts it. */
static bool is_within_rate(struct tri_worker *worker, struct side *side)
{
    uint64_t second = worker->now_ms / 1000;
    if (side->filter.rate == 0) {
        return true;
    }
    if (second != side->second) {
        side->second = second;
        side->shown_in_second = 0;
    }
    if (side->shown_in_second >= side->filter.rate) {
        side->skipped++;
        atomic_store_explicit(&side->lane->skipped, side->skipped, memory_order_release);
        return false;
    }
    side->shown_in_second++;
    return true;
}

static bool matches_address(struct tri_worker *worker, const struct side *side, struct sight *sight)
{
    struct tr_text pattern = tr_text_of(side->filter.address);
    return pattern.size == 0 ||
           (sight->actor != NULL && tri_glob_match_any(pattern, address_of(worker, sight)));
}

/* Of the matching events the first is shown, then every n-th. Called only for matching events. */
static bool is_sampled(struct side *side)
{
    uint32_t sample = side->filter.sample;
    uint64_t place = side->matched++;
    return sample == 0 || place % sample == 0;
}

/*
 * From cheap to expensive: type and kinds, then the address, then sampling and the rate, which
 * count only matching events.
 */
static void show_side(struct tri_worker *worker, struct side *side, struct sight *sight)
{
    if (worker->now_ms >= side->expires_ms) {
        end_side(worker, side);
        return;
    }
    if (!tri_tap_filter_matches(&side->filter, &sight->candidate) ||
        !matches_address(worker, side, sight) || !is_sampled(side) ||
        !is_within_rate(worker, side)) {
        return;
    }
    put(worker, side, sight);
    if (++side->shown >= side->filter.limit) {
        end_side(worker, side);
    }
}

/* The clock never goes back within a worker, so that the reader can merge several. */
static void show(struct tri_worker *worker, struct sight *sight)
{
    sight->has_address = false;
    sight->address = (struct tr_text){0};
    sight->candidate.actor = sight->actor != NULL ? sight->actor->key : (struct tr_key){0};
    (void)clock_of(worker, sight);
    for (uint32_t i = 0; i < TR_TAPS_MAX; i++) {
        struct side *side = &worker->tap->sides[i];
        if (side->lane != NULL) {
            show_side(worker, side, sight);
        }
    }
}

/* ------------------------------------------------------------------- the points */

/* Saved for HANDLED and FAILED: what a recording needs to run the handler again, and its start. */
static void see_handler(struct tri_worker *worker, const struct tri_actor *actor)
{
    struct tri_tap_port *port = worker->tap;
    const struct tri_group *group = tri_group_find(worker, actor->key.group);
    port->spawns = group != NULL ? group->next_spawn : 0;
    port->groups = worker->next_group;
    port->sequence = actor->sequence;
    /* The handler's messages have later clocks than this, and are shown after it has returned. */
    port->clock = worker->clock > port->clock ? worker->clock : port->clock;
    if ((worker->tap_mask & TIMED_POINTS) != 0) {
        port->begin_ns = tri_monotonic_ns(worker->shared->env);
    }
}

static void see_message(struct tri_worker *worker, enum tr_tap_point point, struct tri_actor *actor,
                        const struct tri_message *message, int reason)
{
    struct sight sight;
    struct tr_ref from = tri_message_from(message);
    sight.candidate = (struct tri_tap_candidate){
        .point = (uint8_t)point,
        .has_message = true,
        .type = tr_envelope_get(message->bytes, 16, type),
        .from = from.key,
        .to = tri_message_to(message),
        .trace = tr_envelope_get(message->bytes, 64, trace),
    };
    sight.actor = actor;
    sight.message = message;
    sight.reason = reason;
    sight.to_worker = 0;
    bool is_timed = (1U << point & TIMED_POINTS) != 0;
    sight.duration_ns =
        is_timed ? tri_monotonic_ns(worker->shared->env) - worker->tap->begin_ns : 0;
    show(worker, &sight);
}

static void show_actor(struct tri_worker *worker, enum tr_tap_point point, struct tri_actor *actor,
                       int reason, uint64_t trace, uint32_t to_worker)
{
    struct sight sight;
    sight.candidate = (struct tri_tap_candidate){.point = (uint8_t)point, .trace = trace};
    sight.actor = actor;
    sight.message = NULL;
    sight.reason = reason;
    sight.to_worker = to_worker;
    sight.duration_ns = 0;
    show(worker, &sight);
}

/*
 * An event without a message belongs to no trace, except a spawn, which has that of its parent's
 * message.
 */
static void see_actor(struct tri_worker *worker, enum tr_tap_point point, struct tri_actor *actor,
                      int reason)
{
    show_actor(worker, point, actor, reason, 0, 0);
}

static void see_spawn(struct tri_worker *worker, struct tri_actor *actor, uint64_t trace)
{
    show_actor(worker, TR_TAP_SPAWN, actor, 0, trace, 0);
}

static void see_moved(struct tri_worker *worker, struct tri_actor *actor, uint32_t to_worker)
{
    /* An actor opens after it left its old worker, so this event is later than that one. */
    struct tri_tap_port *port = worker->tap;
    port->clock = worker->clock > port->clock ? worker->clock : port->clock;
    show_actor(worker, TR_TAP_MOVED, actor, 0, 0, to_worker);
}

const struct tri_watch_ops tri_port_ops = {
    .handler_begins = see_handler,
    .message = see_message,
    .actor = see_actor,
    .spawn = see_spawn,
    .moved = see_moved,
    .note_batches = note_batches,
};
