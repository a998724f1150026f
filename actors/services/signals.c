/*
 * The signals of an execution: values that people sent, and the gates that wait for them.
 *
 * One actor below the execution's root, spawned at the first need; only the root speaks to it. A
 * value counts for all gates of its id, those to come too, or for the one gate that its sender has
 * named; the last one sent counts. However many gates wait for an id, they are told of its value in
 * shares.
 *
 * What it knows are the entries of an index, in the even pages:
 *
 *     i ID             how many gates ever waited for it, which of them may still, its value
 *     w ID, number     a gate that waits, to be told
 *     p path and id    which number that gate has, or the value that is kept for it alone
 *
 * Values lie in the odd pages (signals_value.c).
 */
#include "actors/services/signals.h"

#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/document/limits.h"
#include "schemas/codec/utf8.h"
#include "schemas/engine/notify.h"

/* Gates that ended meanwhile are passed over, so many in one handler. */
#define HOLES_MAX 1024U

struct key {
    uint8_t bytes[1 + TR_GRAPH_NAME_BYTES_MAX + 1 + sizeof(uint64_t) + TR_GRAPH_HASH_BYTES];
    size_t size;
};

/* Entries lie on disk as they are in memory. Numbers and slots count from 1; 0 is none. */
struct id_entry {
    uint64_t first;   /* no gate with a smaller number waits */
    uint64_t count;   /* the numbers that were given */
    uint32_t waiting; /* of them */
    uint32_t slot;
    uint32_t is_telling; /* a service_more about it is on its way */
    uint32_t spare;
};

struct gate_entry {
    uint64_t serial;
    uint32_t node;
    uint32_t spare;
    uint8_t place[TR_GRAPH_HASH_BYTES];
};

struct place_entry {
    uint64_t number;
    uint32_t slot;
    uint32_t spare;
};

/* ----------------------------------------------------------------- entries */

static struct key id_key(struct tr_text id)
{
    struct key key = {.bytes = {'i'}, .size = 1 + id.size};
    memcpy(key.bytes + 1, id.data, id.size);
    return key;
}

static struct key gate_key(struct tr_text id, uint64_t number)
{
    struct key key = id_key(id);
    key.bytes[0] = 'w';
    key.bytes[key.size++] = 0;
    memcpy(key.bytes + key.size, &number, sizeof number);
    key.size += sizeof number;
    return key;
}

static struct key place_key(const uint8_t place[TR_GRAPH_HASH_BYTES])
{
    struct key key = {.bytes = {'p'}, .size = 1 + TR_GRAPH_HASH_BYTES};
    memcpy(key.bytes + 1, place, TR_GRAPH_HASH_BYTES);
    return key;
}

/* A gate's place: its path and its id, of one size however deep it lies. */
static int place_of(struct tr_text path, struct tr_text id, uint8_t place[TR_GRAPH_HASH_BYTES])
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_text(&text, path);
    tr_buffer_add(&text, "", 1);
    tr_buffer_add_text(&text, id);
    if (text.error == 0) {
        tr_digest(tr_buffer_bytes(&text), place);
    }
    int error = text.error;
    tr_buffer_fini(&text);
    return error;
}

/* Reads an entry of `size` bytes; zeros where there is none. */
static int get(struct tri_board *board, const struct key *key, void *entry, size_t size)
{
    struct tr_bytes value;
    struct tr_bytes name = {.data = key->bytes, .size = key->size};
    memset(entry, 0, size);
    int error = tr_index_find(board->context, &board->index, name, &value);
    if (error == 0) {
        TR_ASSERT(value.size == size);
        memcpy(entry, value.data, size);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

static int put(struct tri_board *board, const struct key *key, const void *entry, size_t size)
{
    struct tr_bytes name = {.data = key->bytes, .size = key->size};
    struct tr_bytes value = {.data = entry, .size = size};
    return tr_index_put(board->context, &board->index, name, value);
}

static int drop(struct tri_board *board, const struct key *key)
{
    struct tr_bytes name = {.data = key->bytes, .size = key->size};
    int error = tr_index_remove(board->context, &board->index, name);
    return error == TR_NOT_FOUND ? 0 : error;
}

static int put_place(struct tri_board *board, const uint8_t place[TR_GRAPH_HASH_BYTES],
                     const struct place_entry *entry)
{
    struct key key = place_key(place);
    bool is_empty = entry->number == 0 && entry->slot == 0;
    return is_empty ? drop(board, &key) : put(board, &key, entry, sizeof *entry);
}

/* ------------------------------------------------------------------- gates */

/*
 * A gate is a row of a workflow's actor: the serial names that actor within the group, `node` the
 * row.
 */
static int give(struct tri_board *board, uint64_t serial, uint32_t node,
                const struct tr_send_signal *sent)
{
    struct tr_ref gate = {{tr_self(board->context).key.group, serial}, 0};
    struct tr_signal_given given = {
        .node = node, .value = sent->value, .by = sent->by, .message = sent->message};
    return tr_tell(board->context, gate, &tr_signal_given_schema, &given);
}

/* Gives a gate what is kept in a slot. */
static int give_kept(struct tri_board *board, const struct tr_signal_wait *wait, uint32_t slot)
{
    struct tr_buffer buffer;
    struct tr_send_signal sent;
    tr_buffer_init(&buffer, 0);
    int error = tri_signal_kept(board, slot, &buffer, &sent);
    if (error == 0) {
        error = give(board, wait->gate.key.serial, wait->node, &sent);
    }
    tr_buffer_fini(&buffer);
    return error;
}

/* One more than may wait: it is told at once. */
static int turn_away(struct tri_board *board, const struct tr_signal_wait *wait)
{
    char words[128];
    snprintf(words, sizeof words, "%u gates of this execution wait already (TR_SIGNAL_GATES_MAX)",
             TR_SIGNAL_GATES_MAX);
    struct tr_ref gate = {{tr_self(board->context).key.group, wait->gate.key.serial}, 0};
    struct tr_signal_given given = {
        .node = wait->node, .error = TR_LIMIT, .message = tr_text_of(words)};
    return tr_tell(board->context, gate, &tr_signal_given_schema, &given);
}

/* The gate waits from now on. */
static int add_gate(struct tri_board *board, const struct tr_signal_wait *wait, struct id_entry *id,
                    struct gate_entry *gate)
{
    struct key own = id_key(wait->id);
    if (id->waiting == 0) {
        id->first = id->count + 1;
    }
    id->count++;
    id->waiting++;
    board->state->waiting++;
    struct key key = gate_key(wait->id, id->count);
    struct place_entry place = {.number = id->count};
    int error = put(board, &own, id, sizeof *id);
    if (error != 0) {
        return error;
    }
    error = put(board, &key, gate, sizeof *gate);
    return error != 0 ? error : put_place(board, gate->place, &place);
}

/*
 * The gate does not wait any more; whose number it was stays a hole. Closing the gap would mean to
 * number all others anew.
 */
static int remove_gate(struct tri_board *board, struct tr_text id_text, struct id_entry *id,
                       uint64_t number, const uint8_t place[TR_GRAPH_HASH_BYTES])
{
    struct key own = id_key(id_text);
    struct key key = gate_key(id_text, number);
    struct place_entry none = {.number = 0};
    id->waiting--;
    board->state->waiting--;
    int error = drop(board, &key);
    if (error != 0) {
        return error;
    }
    error = put_place(board, place, &none);
    return error != 0 ? error : put(board, &own, id, sizeof *id);
}

/* The root wants to know that the gate was not answered at once. */
static int tell_root(struct tri_board *board, const struct tr_signal_wait *wait, struct tr_ref root)
{
    struct tr_gate_waits waits = {.id = wait->id, .path = wait->path};
    return tr_tell(board->context, root, &tr_gate_waits_schema, &waits);
}

/*
 * A gate begins to wait. One that waits already asks twice and is left. Else the order is: the
 * value kept for it alone, which is used up; the value kept for all, which stays for gates to come;
 * and only then it waits.
 */
static int on_wait(struct tri_board *board, const struct tr_message *message)
{
    struct tr_signal_wait wait;
    struct id_entry id;
    struct place_entry place;
    int error = tr_message_read(message, signal_wait, &wait);
    if (error != 0 || wait.id.size > TR_GRAPH_NAME_BYTES_MAX) {
        return error != 0 ? error : tr_unexpected(board->context, message);
    }
    struct gate_entry gate = {.serial = wait.gate.key.serial, .node = wait.node};
    struct key own = id_key(wait.id);
    error = place_of(wait.path, wait.id, gate.place);
    struct key there = place_key(gate.place);
    if (error != 0) {
        return error;
    }
    error = get(board, &own, &id, sizeof id);
    if (error != 0) {
        return error;
    }
    error = get(board, &there, &place, sizeof place);
    if (error != 0 || place.number != 0) {
        return error;
    }
    if (place.slot != 0) {
        error = give_kept(board, &wait, place.slot);
        if (error != 0) {
            return error;
        }
        error = tri_signal_drop(board, place.slot);
        return error != 0 ? error : drop(board, &there);
    }
    if (id.slot != 0) {
        return give_kept(board, &wait, id.slot);
    }
    if (board->state->waiting >= TR_SIGNAL_GATES_MAX) {
        return turn_away(board, &wait);
    }
    error = add_gate(board, &wait, &id, &gate);
    return error != 0 || !wait.is_told_of ? error : tell_root(board, &wait, message->from);
}

/* The gate ended for another reason: no value may come to it any more. */
static int on_stop(struct tri_board *board, const struct tr_message *message)
{
    struct tr_signal_stop stop;
    struct id_entry id;
    struct place_entry place;
    uint8_t digest[TR_GRAPH_HASH_BYTES];
    int error = tr_message_read(message, signal_stop, &stop);
    if (error != 0 || stop.id.size > TR_GRAPH_NAME_BYTES_MAX) {
        return error != 0 ? error : tr_unexpected(board->context, message);
    }
    struct key own = id_key(stop.id);
    error = place_of(stop.path, stop.id, digest);
    struct key there = place_key(digest);
    if (error != 0) {
        return error;
    }
    error = get(board, &own, &id, sizeof id);
    if (error != 0) {
        return error;
    }
    error = get(board, &there, &place, sizeof place);
    if (error != 0 || place.number == 0) {
        return error; /* it was given a value meanwhile */
    }
    return remove_gate(board, stop.id, &id, place.number, digest);
}

/* ------------------------------------------------------------------ values come */

/* Gives the first gate of an id its value, or passes over the hole in its place. */
static int tell_first(struct tri_board *board, struct tr_text id_text, struct id_entry *id,
                      const struct tr_send_signal *sent, bool *is_hole)
{
    struct gate_entry gate;
    uint64_t number = id->first++;
    struct key key = gate_key(id_text, number);
    int error = get(board, &key, &gate, sizeof gate);
    *is_hole = gate.serial == 0;
    if (error != 0 || *is_hole) {
        return error;
    }
    error = give(board, gate.serial, gate.node, sent);
    return error != 0 ? error : remove_gate(board, id_text, id, number, gate.place);
}

/*
 * Tells a share of those that wait for an id, and itself that there are more. A value that is sent
 * meanwhile takes the slot of this one, so those that are still to be told get the last one sent.
 * One message to itself at a time is under way (is_telling).
 */
static int tell_some(struct tri_board *board, struct tr_text id_text, struct id_entry *id)
{
    struct tr_buffer buffer;
    struct tr_send_signal sent;
    uint32_t holes = 0;
    uint32_t told = 0;
    tr_buffer_init(&buffer, 0);
    int error = tri_signal_kept(board, id->slot, &buffer, &sent);
    while (error == 0 && id->waiting > 0 && told < TR_SIGNAL_SHARE && holes < HOLES_MAX &&
           (told + 1) * buffer.size <= TR_SIGNAL_SHARE_BYTES) {
        bool is_hole;
        error = tell_first(board, id_text, id, &sent, &is_hole);
        holes += is_hole ? 1 : 0;
        told += is_hole ? 0 : 1;
    }
    tr_buffer_fini(&buffer);
    struct key own = id_key(id_text);
    id->is_telling = id->waiting > 0;
    if (error != 0) {
        return error;
    }
    error = put(board, &own, id, sizeof *id);
    if (error != 0 || id->waiting == 0) {
        return error;
    }
    struct tr_service_more more = {
        .key = {.data = (const uint8_t *)id_text.data, .size = id_text.size}};
    return tr_tell(board->context, tr_self(board->context), &tr_service_more_schema, &more);
}

static int on_more(struct tri_board *board, const struct tr_message *message)
{
    struct tr_service_more more;
    struct id_entry id;
    int error = tr_message_read(message, service_more, &more);
    if (error != 0 || more.key.size > TR_GRAPH_NAME_BYTES_MAX) {
        return error != 0 ? error : tr_unexpected(board->context, message);
    }
    struct tr_text id_text = {.data = (const char *)more.key.data, .size = more.key.size};
    struct key own = id_key(id_text);
    error = get(board, &own, &id, sizeof id);
    return error != 0 || id.slot == 0 ? error : tell_some(board, id_text, &id);
}

/* A value on its way in: what was sent, and what is answered to the root that handed it on. */
struct arrival {
    const struct tr_message *message;
    struct tr_send_signal sent;
    uint64_t gates;  /* that wait for it */
    char words[256]; /* why it is refused; empty: it is not */
};

/* Said before any gate is told: the answer to the last one may end the root. */
static int answer(struct tri_board *board, const struct arrival *arrival)
{
    bool is_refused = arrival->words[0] != '\0';
    struct tr_signal_sent word = {.error = is_refused ? TR_LIMIT : 0,
                                  .gates = is_refused ? 0 : arrival->gates,
                                  .message = tr_text_of(arrival->words),
                                  .asker = arrival->sent.asker,
                                  .ask = arrival->sent.ask};
    return tr_tell(board->context, arrival->message->from, &tr_signal_sent_schema, &word);
}

/* Keeps the value in a slot and answers; or refuses it. */
static int keep_and_answer(struct tri_board *board, struct arrival *arrival, uint32_t *slot)
{
    int error = tri_signal_keep(board, &arrival->sent, slot, arrival->words, sizeof arrival->words);
    return error != 0 ? error : answer(board, arrival);
}

/*
 * A value for all gates of its id. The entry with its slot is written by tell_some. Where telling
 * is under way already the slot is the same as before, and the entry need not change.
 */
static int take_for_all(struct tri_board *board, struct arrival *arrival)
{
    struct id_entry id;
    struct tr_text id_text = arrival->sent.id;
    struct key own = id_key(id_text);
    int error = get(board, &own, &id, sizeof id);
    arrival->gates = id.waiting;
    if (error == 0) {
        error = keep_and_answer(board, arrival, &id.slot);
    }
    bool goes_on = error == 0 && arrival->words[0] == '\0' && id.is_telling == 0;
    return goes_on ? tell_some(board, id_text, &id) : error;
}

/*
 * A value for one gate: told, or kept for it alone. Where the gate waits the value goes straight to
 * it, and is kept nowhere.
 */
static int take_for_one(struct tri_board *board, struct arrival *arrival)
{
    struct id_entry id;
    struct gate_entry gate;
    struct place_entry place;
    uint8_t digest[TR_GRAPH_HASH_BYTES];
    const struct tr_send_signal *sent = &arrival->sent;
    struct key own = id_key(sent->id);
    int error = place_of(sent->path, sent->id, digest);
    struct key there = place_key(digest);
    if (error == 0) {
        error = get(board, &own, &id, sizeof id);
    }
    if (error == 0) {
        error = get(board, &there, &place, sizeof place);
    }
    if (error == 0 && place.number == 0) {
        error = keep_and_answer(board, arrival, &place.slot);
        bool is_kept = error == 0 && arrival->words[0] == '\0';
        return is_kept ? put_place(board, digest, &place) : error;
    }
    struct key key = gate_key(sent->id, place.number);
    arrival->gates = 1;
    if (error != 0) {
        return error;
    }
    error = answer(board, arrival);
    if (error != 0) {
        return error;
    }
    error = get(board, &key, &gate, sizeof gate);
    if (error != 0) {
        return error;
    }
    error = give(board, gate.serial, gate.node, sent);
    return error != 0 ? error : remove_gate(board, sent->id, &id, place.number, digest);
}

static int on_send(struct tri_board *board, const struct tr_message *message)
{
    struct arrival arrival = {.message = message};
    struct tr_send_signal *sent = &arrival.sent;
    int error = tr_message_read(message, send_signal, sent);
    if (error != 0) {
        return error;
    }
    sent->by.size = tr_utf8_cut(sent->by, TR_SIGNAL_BY_BYTES_MAX);
    sent->message.size = tr_utf8_cut(sent->message, TR_SIGNAL_MESSAGE_BYTES_MAX);
    if (sent->id.size == 0 || sent->id.size > TR_GRAPH_NAME_BYTES_MAX) {
        snprintf(arrival.words, sizeof arrival.words, "an id has 1 to %u bytes",
                 TR_GRAPH_NAME_BYTES_MAX);
    } else if (sent->value.size > TR_SIGNAL_VALUE_BYTES_MAX) {
        tri_signal_refuse(board, 0, SIZE_MAX, 0, arrival.words, sizeof arrival.words);
    }
    if (arrival.words[0] != '\0') {
        return answer(board, &arrival);
    }
    return sent->path.size == 0 ? take_for_all(board, &arrival) : take_for_one(board, &arrival);
}

/* ----------------------------------------------------------------- messages */

static int dispatch(struct tri_board *board, const struct tr_message *message)
{
    static const struct {
        const struct tr_schema *schema;
        int (*handle)(struct tri_board *board, const struct tr_message *message);
    } reactions[] = {{&tr_signal_wait_schema, on_wait},
                     {&tr_signal_stop_schema, on_stop},
                     {&tr_send_signal_schema, on_send},
                     {&tr_service_more_schema, on_more}};
    struct tr_key from = message->from.key;
    /*
     * Only the root speaks to it, for gates and for people, and it itself, to go on. What comes
     * from any other actor is a dead letter.
     */
    bool is_known = tr_key_equal(from, tr_parent(board->context).key) ||
                    tr_key_equal(from, tr_self(board->context).key);
    for (size_t i = 0; is_known && i < TR_COUNT_OF(reactions); i++) {
        if (tr_message_is(message, reactions[i].schema)) {
            return reactions[i].handle(board, message);
        }
    }
    return tr_unexpected(board->context, message);
}

static int handle(struct tr_context *context, void *generic, const struct tr_message *message)
{
    struct tr_signals_state *state = generic;
    struct tri_board board = {.context = context,
                              .state = state,
                              .index = {.stride = 2,
                                        .page_count = TR_PAGES_MAX / 2,
                                        .buckets = state->buckets,
                                        .bytes = state->bytes}};
    int error = dispatch(&board, message);
    state->buckets = board.index.buckets;
    state->bytes = board.index.bytes;
    return error;
}

const struct tr_behaviour tr_signals_behaviour = {
    .name = "signals", .id = 106, .state = &tr_signals_state_schema, .handle = handle};
