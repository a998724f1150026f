/*
 * The catalog: for each key of the cache that is being made, one task that makes it, and the others
 * that wait for it in their order (serialized caches of examples/README.md).
 *
 * An owner that releases what it has made lets all tasks that wait look again at once; one that
 * made nothing, or has ended without a release, is followed by the next in line. All of it is in
 * the pages, so that no task has to ask again after a restart.
 *
 * Invariants:
 * - A task is in at most one entry. A request for another key withdraws the one before.
 * - An entry has an owner, or is_made is set and the waiting tasks are being told. One with neither
 *   is removed, in the handler that took its owner away.
 * - Only owners are monitored: a waiting task that ends without a release is found when its turn
 *   comes, since the monitor that begins then reports it DOWN.
 *
 * This is Flyte's reservation of serialized caches, whose owner keeps it by a heartbeat instead.
 */
#include <string.h>

#include "actors/services/catalog.h"
#include "schemas/codec/utf8.h"

/* Tasks that wait are told in portions of so many. */
#define PORTION 64

/* One handling of one message. */
struct catalog {
    struct tr_context *context;
    struct tr_catalog_state *state;
    struct tr_rows rows;
    struct tr_watch watch;
};

/*
 * A task is found by its actor, whose key is never given again: so one that asks again after a
 * crash is found.
 */
static struct tr_rows_key asker_key(struct tr_ref actor)
{
    return tr_rows_key_numbers(TRI_ROW_ASKER, actor.key.group, actor.key.serial);
}

static int entry_edit(struct catalog *catalog, uint32_t number, struct tri_entry_row **entry)
{
    void *row;
    int error = tr_rows_edit(&catalog->rows, number, &row);
    *entry = error == 0 ? row : NULL;
    return error;
}

static int asker_edit(struct catalog *catalog, uint32_t number, struct tri_asker_row **asker)
{
    void *row;
    int error = tr_rows_edit(&catalog->rows, number, &row);
    *asker = error == 0 ? row : NULL;
    return error;
}

/* The key of the cache is the entry's own. */
static int tell_owner(struct catalog *catalog, const struct tri_entry_row *entry,
                      struct tr_ref actor, bool is_made)
{
    const struct tr_cache_owner owner = {
        .key = {.data = entry->head.key.bytes, .size = TR_ROWS_KEY_BYTES}, .is_made = is_made};
    return tr_tell(catalog->context, actor, &tr_cache_owner_schema, &owner);
}

/*
 * The task makes the value from now on: it is monitored, so that its end passes the key on. Being
 * told comes last: an error before leaves neither a monitor nor a message, as all effects of the
 * handling go.
 */
static int make_owner(struct catalog *catalog, struct tri_entry_row *entry, uint32_t number,
                      struct tri_asker_row *asker)
{
    entry->owner = number;
    catalog->state->owned++;
    int error = tr_watch_begin(&catalog->watch, number, &asker->watched);
    return error != 0 ? error : tell_owner(catalog, entry, asker->watched.actor, false);
}

/* ------------------------------------------------------------ waiting tasks */

/* Behind all that wait: the order is that of the requests. */
static int queue_add(struct catalog *catalog, struct tri_entry_row *entry, uint32_t number,
                     struct tri_asker_row *asker)
{
    struct tri_asker_row *last;
    asker->previous = entry->last;
    catalog->state->waiting++;
    if (entry->last == 0) {
        entry->first = number;
        entry->last = number;
        return 0;
    }
    int error = asker_edit(catalog, entry->last, &last);
    if (error == 0) {
        last->next = number;
        entry->last = number;
    }
    return error;
}

/* Takes a waiting task out, wherever it stands in the line. */
static int queue_remove(struct catalog *catalog, struct tri_entry_row *entry,
                        struct tri_asker_row *asker)
{
    struct tri_asker_row *other;
    int error = 0;
    if (asker->previous == 0) {
        entry->first = asker->next;
    } else {
        error = asker_edit(catalog, asker->previous, &other);
        if (error == 0) {
            other->next = asker->next;
        }
    }
    if (error == 0 && asker->next == 0) {
        entry->last = asker->previous;
    } else if (error == 0) {
        error = asker_edit(catalog, asker->next, &other);
        if (error == 0) {
            other->previous = asker->previous;
        }
    }
    asker->next = 0;
    asker->previous = 0;
    catalog->state->waiting--;
    return error;
}

/*
 * Tells a portion of the waiting tasks that it is made, and forgets them; then the entry itself. No
 * task becomes the owner here: each looks into the cache again, and asks anew if it finds nothing.
 * As long as some wait the entry stays with is_made set, so that a request that comes between two
 * portions is answered at once and not queued behind them.
 */
static int tell_made(struct catalog *catalog, uint32_t number)
{
    struct tri_entry_row *entry;
    int error = entry_edit(catalog, number, &entry);
    for (int i = 0; i < PORTION && error == 0 && entry->first != 0; i++) {
        uint32_t first = entry->first;
        struct tri_asker_row *asker;
        error = asker_edit(catalog, first, &asker);
        if (error == 0) {
            error = queue_remove(catalog, entry, asker);
        }
        if (error == 0) {
            error = tell_owner(catalog, entry, asker->watched.actor, true);
        }
        if (error == 0) {
            error = tr_rows_remove(&catalog->rows, first);
        }
    }
    if (error != 0) {
        return error;
    }
    if (entry->first == 0) {
        return tr_rows_remove(&catalog->rows, number);
    }
    const struct tr_service_more more = {
        .key = {.data = entry->head.key.bytes, .size = TR_ROWS_KEY_BYTES}};
    return tr_tell(catalog->context, tr_self(catalog->context), &tr_service_more_schema, &more);
}

/*
 * The owner is gone: the next in line is the owner now, or all may look. The next owner is not told
 * that the one before has failed: to it the key is simply its own.
 */
static int pass_on(struct catalog *catalog, uint32_t number, bool is_made)
{
    struct tri_entry_row *entry;
    struct tri_asker_row *asker;
    int error = entry_edit(catalog, number, &entry);
    if (error != 0) {
        return error;
    }
    entry->owner = 0;
    catalog->state->owned--;
    if (is_made) {
        entry->is_made = 1;
        return tell_made(catalog, number);
    }
    uint32_t first = entry->first;
    if (first == 0) {
        return tr_rows_remove(&catalog->rows, number);
    }
    error = asker_edit(catalog, first, &asker);
    if (error != 0) {
        return error;
    }
    error = queue_remove(catalog, entry, asker);
    return error != 0 ? error : make_owner(catalog, entry, first, asker);
}

/*
 * Forgets a task, whichever it was. `is_made` and `is_down` matter of an owner only. `is_down`: its
 * DOWN has come, so the monitor is used up.
 */
static int forget(struct catalog *catalog, uint32_t number, bool is_made, bool is_down)
{
    struct tri_asker_row *asker;
    struct tri_entry_row *entry;
    int error = asker_edit(catalog, number, &asker);
    if (error != 0) {
        return error;
    }
    error = entry_edit(catalog, asker->entry, &entry);
    if (error != 0) {
        return error;
    }
    uint32_t entry_number = asker->entry;
    if (entry->owner != number) {
        error = queue_remove(catalog, entry, asker);
        return error != 0 ? error : tr_rows_remove(&catalog->rows, number);
    }
    error = tr_watch_end(&catalog->watch, number, &asker->watched, is_down);
    if (error != 0) {
        return error;
    }
    error = tr_rows_remove(&catalog->rows, number);
    return error != 0 ? error : pass_on(catalog, entry_number, is_made);
}

/* ------------------------------------------------------------- messages */

/*
 * The row of a task, found by its actor; its name is for `troupe explain`, cut between characters.
 */
static int asker_new(struct catalog *catalog, struct tr_ref actor, struct tr_text name,
                     uint32_t *number, struct tri_asker_row **asker)
{
    struct tr_rows_key key = asker_key(actor);
    void *row;
    int error = tr_rows_add(&catalog->rows, &key, number, &row);
    if (error != 0) {
        return error;
    }
    *asker = row;
    (*asker)->watched.actor = actor;
    (*asker)->name_size = (uint16_t)tr_utf8_cut(name, TR_CATALOG_NAME_BYTES_MAX);
    if (name.size > 0) {
        memcpy((*asker)->name, name.data, (*asker)->name_size);
    }
    (*asker)->is_cut = name.size > TR_CATALOG_NAME_BYTES_MAX;
    return 0;
}

/*
 * A task asks for a key it is not known by yet: the first becomes the owner, any other waits. While
 * the tasks that waited are told, the answer is at once that it is made.
 */
static int reserve(struct catalog *catalog, const struct tr_rows_key *key, struct tr_ref actor,
                   struct tr_text name)
{
    uint32_t number;
    uint32_t asker_number;
    struct tri_entry_row *entry;
    struct tri_asker_row *asker;
    int error = tr_rows_find(&catalog->rows, key, &number);
    bool is_new = error == TR_NOT_FOUND;
    if (is_new) {
        void *row;
        error = tr_rows_add(&catalog->rows, key, &number, &row);
    }
    if (error != 0) {
        return error;
    }
    error = entry_edit(catalog, number, &entry);
    if (error != 0) {
        return error;
    }
    if (entry->is_made != 0) {
        return tell_owner(catalog, entry, actor, true);
    }
    error = asker_new(catalog, actor, name, &asker_number, &asker);
    if (error != 0) {
        return error;
    }
    asker->entry = number;
    return is_new ? make_owner(catalog, entry, asker_number, asker)
                  : queue_add(catalog, entry, asker_number, asker);
}

/* Asked again: the owner is told again, a waiting task goes on waiting. */
static int repeat(struct catalog *catalog, const struct tri_asker_row *asker, uint32_t number)
{
    struct tri_entry_row *entry;
    int error = entry_edit(catalog, asker->entry, &entry);
    if (error != 0 || entry->owner != number) {
        return error;
    }
    return tell_owner(catalog, entry, asker->watched.actor, false);
}

/* A request that comes again, after a crash or a move, changes nothing; its answer is repeated. */
static int on_reserve(struct catalog *catalog, const struct tr_message *message)
{
    struct tr_cache_reserve wish;
    struct tri_asker_row *asker;
    const void *entry;
    uint32_t number;
    int error = tr_message_read(message, cache_reserve, &wish);
    if (error != 0 || wish.key.size != TR_ROWS_KEY_BYTES) {
        return error != 0 ? error : TR_INVALID;
    }
    struct tr_rows_key key = {.kind = TRI_ROW_ENTRY};
    memcpy(key.bytes, wish.key.data, wish.key.size);
    struct tr_rows_key own = asker_key(message->from);
    error = tr_rows_find(&catalog->rows, &own, &number);
    if (error == 0) {
        error = asker_edit(catalog, number, &asker);
        if (error != 0) {
            return error;
        }
        error = tr_rows_get(&catalog->rows, asker->entry, &entry);
        if (error != 0) {
            return error;
        }
        if (memcmp(&((const struct tri_entry_row *)entry)->head.key, &key, sizeof key) == 0) {
            return repeat(catalog, asker, number);
        }
        /*
         * Another key: the task withdraws from the one before, and passes it on if it was the
         * owner.
         */
        error = forget(catalog, number, false, false);
    }
    return error != 0 && error != TR_NOT_FOUND ? error
                                               : reserve(catalog, &key, message->from, wish.owner);
}

/* From the owner or from a task that waits; one that is not known has released before. */
static int on_release(struct catalog *catalog, const struct tr_message *message)
{
    struct tr_cache_release release;
    uint32_t number;
    struct tr_rows_key own = asker_key(message->from);
    int error = tr_message_read(message, cache_release, &release);
    if (error == 0) {
        error = tr_rows_find(&catalog->rows, &own, &number);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return forget(catalog, number, release.is_made, false);
}

/*
 * The owner's actor ended without a release: it made nothing. One on a host that cannot be reached
 * may be making it.
 */
static int on_down(struct catalog *catalog, const struct tr_message *message)
{
    struct tr_down down;
    struct tri_asker_row *asker;
    uint32_t number;
    int error = tr_message_read(message, down, &down);
    if (error != 0) {
        return error;
    }
    struct tr_rows_key own = asker_key(down.actor);
    error = tr_rows_find(&catalog->rows, &own, &number);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (-(int)down.reason == TR_NO_CONNECTION) {
        error = asker_edit(catalog, number, &asker);
        return error != 0 ? error : tr_watch_again(&catalog->watch, &asker->watched);
    }
    return forget(catalog, number, false, true);
}

/*
 * The next portion, by a message to itself: telling thousands is no work for one handler.
 * TR_NOT_FOUND cannot be: an entry with is_made goes only in tell_made, and each portion sends at
 * most one such message.
 */
static int on_more(struct catalog *catalog, const struct tr_message *message)
{
    struct tr_service_more more;
    uint32_t number;
    int error = tr_message_read(message, service_more, &more);
    if (error != 0 || more.key.size != TR_ROWS_KEY_BYTES) {
        return error != 0 ? error : TR_INVALID;
    }
    struct tr_rows_key key = {.kind = TRI_ROW_ENTRY};
    memcpy(key.bytes, more.key.data, more.key.size);
    error = tr_rows_find(&catalog->rows, &key, &number);
    return error != 0 ? error : tell_made(catalog, number);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    static const struct {
        const struct tr_schema *schema;
        int (*handle)(struct catalog *catalog, const struct tr_message *message);
    } reactions[] = {{&tr_cache_reserve_schema, on_reserve},
                     {&tr_cache_release_schema, on_release},
                     {&tr_down_schema, on_down},
                     {&tr_service_more_schema, on_more}};
    struct tr_catalog_state *own = state;
    struct catalog catalog = {.context = context, .state = own};
    catalog.rows = tr_rows_open(context, own, sizeof(union tri_catalog_any));
    catalog.watch = tr_watch_open(&catalog.rows, own, TR_WATCHES_MAX);
    for (size_t i = 0; i < TR_COUNT_OF(reactions); i++) {
        if (tr_message_is(message, reactions[i].schema)) {
            int error = reactions[i].handle(&catalog, message);
            tr_rows_close(&catalog.rows, own);
            tr_watch_close(&catalog.watch, own);
            return error;
        }
    }
    return tr_unexpected(context, message);
}

static void gauge(const void *value, int64_t sign, int64_t *values)
{
    const struct tr_catalog_state *state = value;
    struct tr_gauges *gauges = (struct tr_gauges *)values;
    gauges->cache_owned += sign * (int64_t)state->owned;
    gauges->cache_waiting += sign * (int64_t)state->waiting;
}

const struct tr_behaviour tr_catalog_behaviour = {
    .name = "catalog",
    .id = 105,
    .state = &tr_catalog_state_schema,
    .handle = handle,
    .gauge = gauge,
};
