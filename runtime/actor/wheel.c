/*
 * The timer wheel: seven levels of 64 places, one millisecond wide at the lowest, which covers all
 * usual times. Starting and stopping a timer is O(1); a timer is moved at most once per level.
 *
 * A place is the head of a doubly linked list of edges. `occupied` has a bit per place, so that
 * empty places are skipped in one step.
 *
 * A place of level L is 64^L ms wide, and the whole wheel 2^42 ms. A timer is on the highest level
 * on which its time differs from now: when its place begins, cascade moves it to a lower level, and
 * on level 0 it is due.
 */
#include "runtime/actor/parts.h"

#define PLACE_BITS 6
#define PLACE_MASK (TRI_WHEEL_PLACES - 1)
#define SPAN_MS (1ULL << (PLACE_BITS * TRI_WHEEL_LEVELS))

/*
 * The highest level on which `due_ms` and `now_ms` differ: there the timer waits for its place to
 * begin.
 */
static unsigned level_of(uint64_t due_ms, uint64_t now_ms)
{
    uint64_t difference = (due_ms ^ now_ms) | 1;
    unsigned highest = 63U - (unsigned)__builtin_clzll(difference);
    unsigned level = highest / PLACE_BITS;
    return level < TRI_WHEEL_LEVELS ? level : TRI_WHEEL_LEVELS - 1;
}

void tri_wheel_insert(struct tri_worker *worker, struct tri_edge *edge)
{
    struct tri_wheel *wheel = &worker->wheel;
    uint64_t due = edge->due_ms > wheel->now_ms ? edge->due_ms : wheel->now_ms;
    /* Beyond half of the wheel it would be due too early; such a timer is inserted again. */
    if (due - wheel->now_ms >= SPAN_MS / 2) {
        due = wheel->now_ms + SPAN_MS / 2;
    }
    unsigned level = level_of(due, wheel->now_ms);
    unsigned place = (unsigned)(due >> (PLACE_BITS * level)) & PLACE_MASK;
    unsigned index = 1 + level * TRI_WHEEL_PLACES + place;
    edge->wheel_place = (uint16_t)index;
    edge->wheel_previous = 0;
    edge->wheel_next = wheel->places[index];
    if (edge->wheel_next != 0) {
        tri_edge_at(worker, edge->wheel_next)->wheel_previous = edge->slot;
    }
    wheel->places[index] = edge->slot;
    wheel->occupied[level] |= 1ULL << place;
    wheel->count++;
}

void tri_wheel_remove(struct tri_worker *worker, struct tri_edge *edge)
{
    struct tri_wheel *wheel = &worker->wheel;
    unsigned index = edge->wheel_place;
    if (edge->wheel_previous != 0) {
        tri_edge_at(worker, edge->wheel_previous)->wheel_next = edge->wheel_next;
    } else {
        wheel->places[index] = edge->wheel_next;
    }
    if (edge->wheel_next != 0) {
        tri_edge_at(worker, edge->wheel_next)->wheel_previous = edge->wheel_previous;
    }
    if (wheel->places[index] == 0) {
        unsigned place = (index - 1) & PLACE_MASK;
        wheel->occupied[(index - 1) / TRI_WHEEL_PLACES] &= ~(1ULL << place);
    }
    edge->wheel_place = 0;
    wheel->count--;
}

/* When the next place of a level begins; UINT64_MAX when the level is empty. */
static uint64_t level_next_ms(const struct tri_wheel *wheel, unsigned level)
{
    uint64_t occupied = wheel->occupied[level];
    if (occupied == 0) {
        return UINT64_MAX;
    }
    unsigned shift = PLACE_BITS * level;
    unsigned here = (unsigned)(wheel->now_ms >> shift) & PLACE_MASK;
    /* Rotated so that the current place is bit 0; a shift by 64 is undefined in C. */
    uint64_t turned = occupied >> here | (here == 0 ? 0 : occupied << (TRI_WHEEL_PLACES - here));
    uint64_t ahead = (uint64_t)__builtin_ctzll(turned);
    uint64_t begin = ((wheel->now_ms >> shift) + ahead) << shift;
    return begin > wheel->now_ms ? begin : wheel->now_ms;
}

uint64_t tri_wheel_next_ms(const struct tri_worker *worker)
{
    uint64_t next = UINT64_MAX;
    for (unsigned level = 0; worker->wheel.count > 0 && level < TRI_WHEEL_LEVELS; level++) {
        uint64_t candidate = level_next_ms(&worker->wheel, level);
        next = candidate < next ? candidate : next;
    }
    return next;
}

/* Moves the edges of places that begin now to lower levels. */
static void cascade(struct tri_worker *worker)
{
    struct tri_wheel *wheel = &worker->wheel;
    for (unsigned level = 1; level < TRI_WHEEL_LEVELS; level++) {
        unsigned place = (unsigned)(wheel->now_ms >> (PLACE_BITS * level)) & PLACE_MASK;
        uint32_t slot = wheel->places[1 + level * TRI_WHEEL_PLACES + place];
        while (slot != 0) {
            struct tri_edge *edge = tri_edge_at(worker, slot);
            slot = edge->wheel_next;
            tri_wheel_remove(worker, edge);
            tri_wheel_insert(worker, edge);
        }
    }
}

/*
 * Advances from one occupied place to the next and never past one, or its edges would wait for a
 * whole turn of the wheel. Returns one edge at a time, since handling it may change the wheel.
 */
struct tri_edge *tri_wheel_expire(struct tri_worker *worker, uint64_t now_ms)
{
    struct tri_wheel *wheel = &worker->wheel;
    while (true) {
        uint64_t next = tri_wheel_next_ms(worker);
        if (next > now_ms) {
            wheel->now_ms = now_ms > wheel->now_ms ? now_ms : wheel->now_ms;
            return NULL;
        }
        if (next > wheel->now_ms) {
            wheel->now_ms = next;
        }
        cascade(worker);
        unsigned place = (unsigned)wheel->now_ms & PLACE_MASK;
        uint32_t slot = wheel->places[1 + place];
        if (slot != 0) {
            struct tri_edge *edge = tri_edge_at(worker, slot);
            tri_wheel_remove(worker, edge);
            return edge;
        }
    }
}
