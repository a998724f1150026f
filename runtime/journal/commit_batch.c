/*
 * Coalescing: of all changes to one object within a batch, only the last is written.
 *
 * The journal adds the operations of all batches up to a number, in order; `finish` sorts the rest
 * as the store requires, and one commit writes it. So the store always holds the state at one
 * number, never one in between.
 *
 * An actor or a message that begins and ends in the same batch is not written at all. The first
 * image of an actor is marked (number = 1), so that its end needs no delete in the store; so is the
 * first row of a key, by those who know that it is, and then nothing has to be replaced.
 *
 * Of the rows of a record with a key the last one of each key is written. A deletion of rows also
 * covers earlier rows of the batch; turns keep it in order among them.
 *
 * The index is a hash table with linear probing. It holds positions in `ops`, not pointers, since
 * `ops` moves when it grows, and 0 for a free place, so zeroed memory is an empty index. A place
 * keeps a part of the hash: operations lie far apart in memory, and a probe looks at one only where
 * that part is the same. Nothing is removed from it: a cancelled operation keeps its position, with
 * a mark, until `finish`. So a probe never ends early at a hole. Adding n operations takes O(n) and
 * `finish` O(n log n), or O(n) if they are sorted already.
 *
 * The bytes of an operation stay in the batch that brought it. The journal keeps those batches
 * until the commit is done and `clear` is called.
 */
#include "runtime/journal/commit_batch.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"

#define BATCH_FIRST_OPS 1024

/* An index for as many operations is wiped in a few microseconds, however few were in it. */
#define BATCH_KEPT_OPS 16384

/*
 * Operations on the same kind of object share a class, so that a delete finds the put that it
 * undoes. Operations of class 0 are never looked up or replaced. A deletion of rows is of class 0
 * because it covers any number of rows and must keep its place among them. That of a graph has a
 * class of its own, since it spares one that was put later, in whichever order both came.
 */
static const uint8_t class_of_kind[] = {
    [TRI_OP_PUT_COUNTER] = 1,  [TRI_OP_DELETE_COUNTER] = 1, [TRI_OP_PUT_ACTOR] = 2,
    [TRI_OP_DELETE_ACTOR] = 2, [TRI_OP_PUT_PAGE] = 3,       [TRI_OP_DELETE_PAGE] = 3,
    [TRI_OP_PUT_MESSAGE] = 4,  [TRI_OP_DELETE_MESSAGE] = 4, [TRI_OP_PUT_META] = 5,
    [TRI_OP_PUT_RECORD] = 6,   [TRI_OP_DELETE_RECORDS] = 0, [TRI_OP_PUT_GRAPH] = 7,
    [TRI_OP_DELETE_GRAPH] = 9, [TRI_OP_PUT_CRASH] = 8,      [TRI_OP_DELETE_CRASH] = 8,
};

static uint8_t class_of(const struct tri_op *op)
{
    /* Rows without a key are a log: each is one more row, and replaces none. */
    bool is_added = op->kind == TRI_OP_PUT_RECORD && op->key_size == 0;
    return is_added ? 0 : class_of_kind[op->kind];
}

/*
 * What distinguishes two operations of one class and key: the page, the sequence of a message, the
 * cell, the number of a count, or the schema of a row. Counters and actors are identified by their
 * key alone.
 */
static uint64_t detail_of(const struct tri_op *op)
{
    switch (class_of(op)) {
    case 3:
    case 4:
    case 5:
    case 8:
        return op->number;
    case 6:
        return op->type;
    default:
        return 0;
    }
}

/*
 * The incarnation of a message's sender. Sequences restart with each incarnation, so without it a
 * message of a restarted actor could be taken for an older one of the same number. An actor's own
 * incarnation does not count: its key has one row in the store, whatever the incarnation. Of a
 * count of crashes: what is counted.
 */
static uint32_t life_of(const struct tri_op *op)
{
    return class_of(op) == 4 ? op->incarnation : class_of(op) == 8 ? op->type : 0;
}

/* Whether the keys of two rows are the same behind the bytes that `key` holds. */
static bool is_same_row(const struct tri_op *a, const struct tri_op *b)
{
    if (a->key_size != b->key_size) {
        return false;
    }
    return a->key_size <= sizeof a->key ||
           memcmp(tri_op_row_key(a).data, tri_op_row_key(b).data, a->key_size) == 0;
}

/* Whether two graphs are the same behind the bytes of their hashes that `key` holds. */
static bool is_same_graph(const struct tri_op *a, const struct tri_op *b)
{
    return (class_of(a) != 7 && class_of(a) != 9) ||
           memcmp(a->data.data, b->data.data, TRI_GRAPH_HASH_BYTES) == 0;
}

static bool is_same_thing(const struct tri_op *a, const struct tri_op *b)
{
    return class_of(a) == class_of(b) && tr_key_equal(a->key, b->key) &&
           a->to_group == b->to_group && detail_of(a) == detail_of(b) && life_of(a) == life_of(b) &&
           is_same_row(a, b) && is_same_graph(a, b);
}

/* The bytes of a row's key that `key` does not hold. */
static uint64_t hash_rest(const struct tri_op *op)
{
    struct tr_bytes bytes = tri_op_row_key(op);
    uint64_t hash = 0;
    for (size_t at = sizeof op->key; at < bytes.size; at++) {
        hash = (hash ^ bytes.data[at]) * 0x100000001b3U;
    }
    return hash;
}

/*
 * A hash of everything that is_same_thing compares: leaving a part out would only make chains
 * longer, but adding a part that is not compared would lose replacements.
 */
static uint32_t hash_of(const struct tri_op *op)
{
    uint64_t hash = op->key.group * 0x9e3779b97f4a7c15U;
    hash ^= op->key.serial * 0xc2b2ae3d27d4eb4fU;
    hash ^= (detail_of(op) * 31 + life_of(op) + class_of(op)) * 0x165667b19e3779f9U;
    if (op->key_size > sizeof op->key) {
        hash ^= hash_rest(op);
    }
    return (uint32_t)(hash ^ hash >> 31);
}

/*
 * The place of the operation on the same object, or a free one. It terminates because the index has
 * at least twice as many places as operations. `place_count` is a power of two, as the mask
 * requires.
 */
static struct tri_commit_place *locate(const struct tri_commit_batch *batch,
                                       const struct tri_op *op, uint32_t hash)
{
    size_t mask = batch->place_count - 1;
    struct tri_commit_place *place = &batch->places[hash & mask];
    while (place->position != 0 &&
           (place->hash != hash || !is_same_thing(&batch->ops[place->position - 1], op))) {
        place = &batch->places[(size_t)(place + 1 - batch->places) & mask];
    }
    return place;
}

/* Moves what is in the index to a larger one: no two of its operations are on the same object. */
static void move_places(const struct tri_commit_batch *batch, struct tri_commit_place *places,
                        size_t mask)
{
    for (size_t i = 0; i < batch->place_count; i++) {
        if (batch->places[i].position != 0) {
            size_t at = batch->places[i].hash & mask;
            while (places[at].position != 0) {
                at = (at + 1) & mask;
            }
            places[at] = batch->places[i];
        }
    }
}

/* Makes twice as many places as operations, so that probes stay short. */
static int rebuild_places(struct tri_commit_batch *batch, size_t capacity)
{
    struct tri_commit_place *places = tr_alloc_zero(capacity * 2, sizeof *places);
    if (places == NULL) {
        return TR_MEMORY;
    }
    move_places(batch, places, capacity * 2 - 1);
    tr_free(batch->places);
    batch->places = places;
    batch->place_count = capacity * 2;
    return 0;
}

/* Operations and their index grow together. */
static int reserve(struct tri_commit_batch *batch)
{
    if (batch->count < batch->capacity) {
        return 0;
    }
    size_t capacity = batch->capacity == 0 ? BATCH_FIRST_OPS : batch->capacity * 2;
    struct tri_op *ops = tr_realloc(batch->ops, capacity * sizeof *ops);
    if (ops == NULL) {
        return TR_MEMORY;
    }
    batch->ops = ops;
    int error = rebuild_places(batch, capacity);
    if (error == 0) {
        batch->capacity = capacity; /* only now: the new room needs its index */
    }
    return error;
}

/*
 * Combines `before` with the later `op`. A cancelled operation keeps its position, so that the
 * index stays valid; its data is dropped, and finish removes it.
 *
 * A message whose put and delete meet here never reaches the store. The put always comes first: a
 * worker cuts before it sends, so the batch with the put has a lower number than any batch of a
 * worker that received the message.
 *
 * A cancelled operation is a delete of type UINT16_MAX. Deletes of actors and messages have no
 * type, so no real operation looks like this.
 */
static void replace(struct tri_op *before, const struct tri_op *op)
{
    /*
     * What is new in this commit has nothing in the store to delete or to replace. The mark must
     * pass from each image or row to the next one, because only the first has it.
     */
    bool was_new = before->is_new;
    bool ends_new_actor = op->kind == TRI_OP_DELETE_ACTOR && was_new;
    bool ends_new_message = op->kind == TRI_OP_DELETE_MESSAGE && before->kind == TRI_OP_PUT_MESSAGE;
    *before = *op;
    before->is_new = was_new || op->is_new;
    if (op->kind == TRI_OP_PUT_ACTOR && was_new) {
        before->number = 1;
    }
    if (ends_new_actor || ends_new_message) {
        before->type = UINT16_MAX; /* cancelled */
    }
}

static bool is_cancelled(const struct tri_op *op)
{
    bool is_end = op->kind == TRI_OP_DELETE_ACTOR || op->kind == TRI_OP_DELETE_MESSAGE;
    return is_end && op->type == UINT16_MAX;
}

/*
 * A row or a deletion of rows, with its sort order. A row gets the turn of the deletions so far.
 * Rows without a key are numbered by their position, so that the sort, which is not stable, keeps
 * their order. A deletion belongs to the turn that it ends, and later rows to the next one. Without
 * turns a row that is put again after its deletion could be sorted before it, and be lost.
 */
static struct tri_op row_in_turn(struct tri_commit_batch *batch, const struct tri_op *op)
{
    struct tri_op row = *op;
    row.turn = batch->turn;
    tri_op_sort_by_row(&row);
    if (row.kind == TRI_OP_PUT_RECORD) {
        row.number = batch->count;
    } else {
        batch->turn++;
    }
    return row;
}

/* The first image of an actor, or a row that its writer takes for the first one of its key. */
static bool is_first(const struct tri_op *op)
{
    return op->number == 1 && (op->kind == TRI_OP_PUT_ACTOR || op->kind == TRI_OP_PUT_RECORD);
}

/* Adds an operation, for which there is room; it replaces an earlier one on the same object. */
static void add(struct tri_commit_batch *batch, const struct tri_op *op)
{
    uint32_t hash = hash_of(op);
    struct tri_commit_place *place = class_of(op) != 0 ? locate(batch, op, hash) : NULL;
    if (place != NULL && place->position != 0) {
        replace(&batch->ops[place->position - 1], op);
        return;
    }
    batch->ops[batch->count++] = *op;
    if (place != NULL) {
        *place = (struct tri_commit_place){.position = (uint32_t)batch->count, .hash = hash};
    }
}

/*
 * On TR_MEMORY the batch stays as it was. The journal then drops the whole commit batch and gathers
 * the same worker batches again later.
 */
int tri_commit_batch_add(struct tri_commit_batch *batch, const struct tri_op *op)
{
    int error = reserve(batch);
    if (error != 0) {
        return error;
    }
    struct tri_op added = *op;
    added.is_new = is_first(op);
    if (op->kind == TRI_OP_PUT_RECORD || op->kind == TRI_OP_DELETE_RECORDS) {
        added = row_in_turn(batch, &added);
    }
    add(batch, &added);
    return 0;
}

/*
 * The operation on the actor of a page in this batch, or NULL.
 *
 * The index must be valid: only before `finish` moves operations.
 */
static const struct tri_op *actor_of_page(const struct tri_commit_batch *batch,
                                          const struct tri_op *page)
{
    struct tri_op actor = {.kind = TRI_OP_PUT_ACTOR, .key = page->key};
    uint32_t position = locate(batch, &actor, hash_of(&actor))->position;
    return position != 0 ? &batch->ops[position - 1] : NULL;
}

/*
 * Settles what happens to a page whose actor begins or ends in this batch. That of an actor that is
 * new is new, too. That of one that is deleted must not be written.
 *
 * The store deletes an actor's pages with the actor. Deletes of actors are sorted before puts of
 * pages, so such a page would be written after the delete and stay in the store without an owner,
 * which the next load reports as damage.
 */
static void settle_page(const struct tri_commit_batch *batch, struct tri_op *page)
{
    const struct tri_op *actor = actor_of_page(batch, page);
    if (actor != NULL && actor->kind == TRI_OP_DELETE_ACTOR) {
        /*
         * Marked like a cancelled message. The lookups that follow are not affected: they look for
         * actors only, whose entries do not change.
         */
        page->kind = TRI_OP_DELETE_MESSAGE;
        page->type = UINT16_MAX;
    }
    page->is_new = actor != NULL && actor->is_new;
}

static int compare(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

/* Pages first, while the index is still valid. */
static void settle_pages(struct tri_commit_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (class_of_kind[batch->ops[i].kind] == class_of_kind[TRI_OP_PUT_PAGE]) {
            settle_page(batch, &batch->ops[i]);
        }
    }
}

/* Moves operations, so the index is invalid from here on and only `clear` may be called. */
static void drop_cancelled(struct tri_commit_batch *batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (!is_cancelled(&batch->ops[i])) {
            batch->ops[kept++] = batch->ops[i];
        }
    }
    batch->count = kept;
}

static void sort(struct tri_commit_batch *batch)
{
    bool is_sorted = true;
    for (size_t i = 1; is_sorted && i < batch->count; i++) {
        is_sorted = compare(&batch->ops[i - 1], &batch->ops[i]) <= 0;
    }
    if (!is_sorted) {
        qsort(batch->ops, batch->count, sizeof batch->ops[0], compare);
    }
}

void tri_commit_batch_finish(struct tri_commit_batch *batch)
{
    settle_pages(batch);
    drop_cancelled(batch);
    sort(batch);
}

/*
 * A deletion of rows keeps its place among the rows of its record by its turn: the row that was
 * put behind it may lie before it, in the place of one that was put earlier. Nothing else depends
 * on the order.
 */
void tri_commit_batch_finish_unsorted(struct tri_commit_batch *batch)
{
    settle_pages(batch);
    drop_cancelled(batch);
    if (batch->turn > 0) {
        sort(batch);
    }
}

void tri_commit_batch_clear(struct tri_commit_batch *batch)
{
    bool is_oversized = batch->count * 16 < batch->place_count && batch->capacity > BATCH_KEPT_OPS;
    batch->count = 0;
    batch->turn = 0;
    if (is_oversized) {
        /*
         * Wiping a large index after each small batch would cost more than making a new one.
         *
         * A new index grows with the next batches as far as they need.
         */
        tri_commit_batch_fini(batch);
    } else if (batch->places != NULL) {
        memset(batch->places, 0, batch->place_count * sizeof batch->places[0]);
    }
}

void tri_commit_batch_fini(struct tri_commit_batch *batch)
{
    tr_free(batch->ops);
    tr_free(batch->places);
    *batch = (struct tri_commit_batch){0};
}
