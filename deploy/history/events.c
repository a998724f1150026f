/*
 * Telling each row once: rows have no order of their own over all actors, but each actor numbers
 * its rows, so that what is new is what has a number that was not seen yet.
 */
#include "deploy/history/events.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/history/elements.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

void tr_events_init(struct tr_events *events, uint64_t execution)
{
    *events = (struct tr_events){.execution = execution};
    tr_arena_init(&events->arena);
}

void tr_events_fini(struct tr_events *events)
{
    tr_arena_fini(&events->arena);
    tr_free(events->actors);
    *events = (struct tr_events){.actors = NULL};
}

/* -------------------------------------------------------------------------- actors */

/* The place of an actor in a table that has room. Serial 0 is none, so that zeros are free. */
static struct tri_event_actor *place_of(struct tri_event_actor *actors, uint64_t places,
                                        struct tr_key actor)
{
    uint64_t at = (actor.serial * 0x9e3779b97f4a7c15ULL ^ actor.group) & (places - 1);
    while (actors[at].actor.serial != 0 && !tr_key_equal(actors[at].actor, actor)) {
        at = (at + 1) & (places - 1);
    }
    return &actors[at];
}

static bool grow(struct tr_events *events)
{
    uint64_t places = events->actor_places == 0 ? 64 : 2 * events->actor_places;
    struct tri_event_actor *actors = tr_alloc_zero(places, sizeof *actors);
    if (actors == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < events->actor_places; i++) {
        if (events->actors[i].actor.serial != 0) {
            *place_of(actors, places, events->actors[i].actor) = events->actors[i];
        }
    }
    tr_free(events->actors);
    events->actors = actors;
    events->actor_places = places;
    return true;
}

/* Whether a row is new; TR_MEMORY. */
static int look(struct tr_events *events, struct tr_key actor, uint64_t number, bool *is_new)
{
    if (2 * (events->actor_count + 1) > events->actor_places && !grow(events)) {
        return TR_MEMORY;
    }
    struct tri_event_actor *place = place_of(events->actors, events->actor_places, actor);
    events->actor_count += place->actor.serial == 0 ? 1 : 0;
    place->actor = actor;
    *is_new = number >= place->told;
    place->next = number >= place->next ? number + 1 : place->next;
    return 0;
}

/* ------------------------------------------------------------------------- reading */

static struct tr_event *add(struct tr_events *events)
{
    return tri_vector_add(&events->arena, &events->vector, sizeof(struct tr_event));
}

static int take_phase(void *self, const void *value)
{
    struct tr_events *events = self;
    const struct tr_phase *row = value;
    bool is_new;
    int error = look(events, row->actor, row->number, &is_new);
    if (error != 0 || !is_new) {
        return error;
    }
    struct tr_event *event = add(events);
    if (event == NULL) {
        return events->arena.error;
    }
    event->row = *row;
    event->row.path = tr_arena_text(&events->arena, row->path);
    event->row.cause = tr_arena_text(&events->arena, row->cause);
    event->row.code = tr_arena_text(&events->arena, row->code);
    event->row.message = tr_arena_text(&events->arena, row->message);
    return events->arena.error;
}

/* A block that is unfolded. */
struct unfolding {
    struct tr_events *events;
    const struct tr_element_block *row;
    struct tr_text path;
};

static int take_entry(void *self, const struct tr_element_entry *entry)
{
    struct unfolding *unfolding = self;
    struct tr_events *events = unfolding->events;
    for (uint32_t i = 0; i < entry->phase_count; i++) {
        struct tr_event *event = add(events);
        if (event == NULL) {
            return events->arena.error;
        }
        bool is_last = i + 1 == entry->phase_count;
        event->is_of_element = true;
        event->row = (struct tr_phase){
            .actor = unfolding->row->actor,
            .number = unfolding->row->number,
            .subject = TR_SUBJECT_NODE,
            .path = unfolding->path,
            .element = entry->element,
            .attempt = entry->attempt,
            .phase = entry->phases[i],
            .at_ms = entry->at_ms,
            .code = is_last ? tr_arena_text(&events->arena, entry->code) : tr_text_of(""),
            .message = is_last ? tr_arena_text(&events->arena, entry->message) : tr_text_of(""),
        };
    }
    return events->arena.error;
}

static int take_block(void *self, const void *value)
{
    struct tr_events *events = self;
    const struct tr_element_block *row = value;
    bool is_new;
    int error = look(events, row->actor, row->number, &is_new);
    if (error != 0 || !is_new) {
        return error;
    }
    struct unfolding unfolding = {
        .events = events, .row = row, .path = tr_arena_text(&events->arena, row->path)};
    return tr_element_entries_read(row, TR_ELEMENT_NONE, take_entry, &unfolding);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Of one time: an execution begins before all that is in it, and ends behind it. */
static uint64_t rank_of(const struct tr_event *event)
{
    if (event->row.subject != TR_SUBJECT_EXECUTION) {
        return 1;
    }
    return event->row.phase < TR_EXECUTION_SUCCEEDING ? 0 : 2;
}

/* In the order of time; of one actor, in that of its numbers, and of one block as they stand. */
static int by_time(const void *a, const void *b)
{
    const struct tr_event *one = *(const struct tr_event *const *)a;
    const struct tr_event *other = *(const struct tr_event *const *)b;
    int order = compare(one->row.at_ms, other->row.at_ms);
    order = order != 0 ? order : compare(rank_of(one), rank_of(other));
    order = order != 0 ? order : compare(one->row.actor.serial, other->row.actor.serial);
    order = order != 0 ? order : compare(one->row.number, other->row.number);
    return order != 0 ? order : (one > other) - (one < other);
}

static int sort(struct tr_events *events)
{
    const struct tr_event *items = events->vector.items;
    events->count = events->vector.count;
    if (events->count == 0) {
        return 0;
    }
    const struct tr_event **order = tr_alloc(events->count * sizeof *order);
    events->items = tr_arena_array(&events->arena, events->count, sizeof *events->items);
    if (order == NULL || events->items == NULL) {
        tr_free(order);
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < events->count; i++) {
        order[i] = &items[i];
    }
    qsort(order, events->count, sizeof *order, by_time);
    for (uint32_t i = 0; i < events->count; i++) {
        events->items[i] = *order[i];
    }
    tr_free(order);
    return 0;
}

int tr_events_read(struct tr_events *events, struct tr_reader *reader)
{
    struct tr_reader_filter filter =
        tr_filter_number("execution", TR_FILTER_EQUAL, events->execution);
    struct tr_reader_query query = {
        .record = &tr_phase_schema, .filters = &filter, .filter_count = 1};
    tr_arena_fini(&events->arena);
    tr_arena_init(&events->arena);
    events->vector = (struct tri_vector){.items = NULL};
    events->count = 0;
    int error = tr_reader_rows(reader, &query, take_phase, events);
    query.record = &tr_element_block_schema;
    if (error == 0) {
        error = tr_reader_rows(reader, &query, take_block, events);
    }
    if (error == 0) {
        error = sort(events);
    }
    for (uint64_t i = 0; error == 0 && i < events->actor_places; i++) {
        events->actors[i].told = events->actors[i].next;
    }
    return error;
}

/* ------------------------------------------------------------------------- writing */

const char *tr_event_subject(const struct tr_event *event)
{
    static const char *const words[] = {
        [TR_SUBJECT_EXECUTION] = "execution",
        [TR_SUBJECT_NODE] = "node",
        [TR_SUBJECT_TASK] = "attempt",
    };
    uint8_t subject = event->row.subject;
    if (event->is_of_element) {
        return "element";
    }
    return subject < TR_COUNT_OF(words) && words[subject] != NULL ? words[subject] : "?";
}

void tr_event_write(const struct tr_event *event, struct tr_document *document)
{
    const struct tr_phase *row = &event->row;
    bool has_attempt = row->subject == TR_SUBJECT_TASK || event->is_of_element;
    tr_document_begin_map(document, NULL);
    tr_document_time(document, "at", row->at_ms);
    tr_document_text(document, "subject", tr_text_of(tr_event_subject(event)));
    tr_document_text(document, "node", row->path);
    tr_document_element(document, "element", has_attempt ? row->element : TR_ELEMENT_NONE);
    if (has_attempt) {
        tr_document_number(document, "attempt", row->attempt);
    } else {
        tr_document_null(document, "attempt");
    }
    tr_document_text(document, "phase",
                     tr_text_of(tr_phase_word((enum tr_subject)row->subject, row->phase)));
    tr_document_text(document, "cause", row->cause);
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code, .message = row->message});
    tr_document_end(document);
}
