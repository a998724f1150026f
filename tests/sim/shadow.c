/*
 * The shadow: sorted rows, changed by one operation at a time.
 *
 * Rows sort as a store tells them: counters, actors with their pages behind them, messages. Records
 * without a key are only counted, by writer, in the order in which they must come; those with a key
 * are rows of their own kind, which lie behind the others.
 */
#include "tests/sim/shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/model_contents.h"
#include "tests/sim/worker_state.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define WRITERS_MAX 256

/* A row: what it is known by, and its bytes. */
struct row {
    uint8_t class;     /* 1 counter, 2 actor or page, 3 message, 4 cell, 5 leaf of a page writer */
    uint64_t to_group; /* of a message */
    struct tr_key key;
    uint64_t detail; /* of a page its number + 1, of a message its sequence, of a leaf its place */
    uint32_t incarnation;
    uint64_t number; /* of a counter: its value */
    uint8_t *bytes;
    size_t size;
};

/* A batch that was caught and is not acknowledged. */
struct caught {
    struct caught *next;
    uint64_t number;
    struct sim_worker_state *worker_state; /* may be NULL */
    size_t size;
    uint8_t bytes[];
};

struct writer {
    struct tr_key key;
    uint64_t records;
};

struct sim_shadow {
    struct sim_host *host;
    struct row *rows;
    size_t count;
    size_t capacity;
    struct caught *caught; /* by number */
    uint64_t last_number;
    uint64_t caught_number; /* of the batch that is done to it right now */
    struct writer writers[WRITERS_MAX];
    uint32_t writer_count;
};

struct sim_shadow *sim_shadow_new(struct sim_host *host)
{
    struct sim_shadow *shadow = sim_must(calloc(1, sizeof *shadow));
    shadow->host = host;
    return shadow;
}

static void free_caught(struct caught *caught)
{
    sim_worker_state_free(caught->worker_state);
    free(caught);
}

void sim_shadow_free(struct sim_shadow *shadow)
{
    if (shadow == NULL) {
        return;
    }
    for (size_t i = 0; i < shadow->count; i++) {
        free(shadow->rows[i].bytes);
    }
    while (shadow->caught != NULL) {
        struct caught *caught = shadow->caught;
        shadow->caught = caught->next;
        free_caught(caught);
    }
    free(shadow->rows);
    free(shadow);
}

uint64_t sim_shadow_number(const struct sim_shadow *shadow)
{
    return shadow->last_number;
}

/* ------------------------------------------------------------------------------------- rows */

static int compare_rows(const struct row *a, const struct row *b)
{
    if (a->class != b->class) {
        return a->class < b->class ? -1 : 1;
    }
    if (a->to_group != b->to_group) {
        return a->to_group < b->to_group ? -1 : 1;
    }
    int order = tr_key_compare(a->key, b->key);
    if (order == 0 && a->incarnation != b->incarnation) {
        order = a->incarnation < b->incarnation ? -1 : 1;
    }
    if (order == 0 && a->detail != b->detail) {
        order = a->detail < b->detail ? -1 : 1;
    }
    return order;
}

/* What an operation is about; class 0: nothing that is kept as a row. */
static struct row row_of(const struct tri_op *op)
{
    struct row row = {.key = op->key};
    switch (op->kind) {
    case TRI_OP_PUT_COUNTER:
    case TRI_OP_DELETE_COUNTER:
        row.class = 1;
        row.number = op->number;
        return row;
    case TRI_OP_PUT_ACTOR:
    case TRI_OP_DELETE_ACTOR:
        row.class = 2;
        row.number = op->incarnation;
        return row;
    case TRI_OP_PUT_PAGE:
    case TRI_OP_DELETE_PAGE:
        row.class = 2;
        row.detail = op->number + 1;
        return row;
    case TRI_OP_PUT_MESSAGE:
    case TRI_OP_DELETE_MESSAGE:
        row.class = 3;
        row.to_group = op->to_group;
        row.detail = op->number;
        row.incarnation = op->incarnation;
        return row;
    case TRI_OP_PUT_META:
        row.class = 4;
        row.detail = op->number;
        return row;
    case TRI_OP_PUT_RECORD:
    case TRI_OP_DELETE_RECORDS:
    case TRI_OP_PUT_GRAPH:
    case TRI_OP_DELETE_GRAPH:
    case TRI_OP_PUT_CRASH:
    case TRI_OP_DELETE_CRASH:
        break;
    }
    return row;
}

/* The first place whose row is not before this one. */
static size_t place_of(const struct sim_shadow *shadow, const struct row *row)
{
    size_t low = 0;
    size_t high = shadow->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_rows(&shadow->rows[middle], row) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct sim_shadow *shadow, size_t place, const struct row *row)
{
    return place < shadow->count && compare_rows(&shadow->rows[place], row) == 0;
}

static void remove_rows(struct sim_shadow *shadow, size_t place, size_t count)
{
    if (count == 0) {
        return; /* there may be no rows at all */
    }
    for (size_t i = 0; i < count; i++) {
        free(shadow->rows[place + i].bytes);
    }
    memmove(&shadow->rows[place], &shadow->rows[place + count],
            (shadow->count - place - count) * sizeof shadow->rows[0]);
    shadow->count -= count;
}

static void put_row(struct sim_shadow *shadow, struct row row, struct tr_bytes bytes)
{
    size_t place = place_of(shadow, &row);
    if (is_at(shadow, place, &row)) {
        free(shadow->rows[place].bytes);
    } else {
        if (shadow->count == shadow->capacity) {
            shadow->capacity = shadow->capacity * 2 + 64;
            shadow->rows =
                sim_must(realloc(shadow->rows, shadow->capacity * sizeof shadow->rows[0]));
        }
        memmove(&shadow->rows[place + 1], &shadow->rows[place],
                (shadow->count - place) * sizeof shadow->rows[0]);
        shadow->count++;
    }
    row.bytes = sim_must(malloc(bytes.size + 1));
    row.size = bytes.size;
    if (bytes.size > 0) {
        memcpy(row.bytes, bytes.data, bytes.size);
    }
    shadow->rows[place] = row;
}

static void delete_row(struct sim_shadow *shadow, const struct row *row, bool with_pages)
{
    size_t place = place_of(shadow, row);
    size_t end = place;
    while (end < shadow->count && shadow->rows[end].class == row->class &&
           tr_key_equal(shadow->rows[end].key, row->key) &&
           (with_pages || is_at(shadow, end, row))) {
        end++;
    }
    if (end > place) {
        remove_rows(shadow, place, end - place);
    }
}

/* --------------------------------------------------------------------------------- batches */

static struct writer *writer_of(struct sim_shadow *shadow, struct tr_key key)
{
    for (uint32_t i = 0; i < shadow->writer_count; i++) {
        if (tr_key_equal(shadow->writers[i].key, key)) {
            return &shadow->writers[i];
        }
    }
    TR_ASSERT(shadow->writer_count < WRITERS_MAX);
    struct writer *writer = &shadow->writers[shadow->writer_count++];
    *writer = (struct writer){.key = key};
    return writer;
}

uint64_t sim_shadow_records(const struct sim_shadow *shadow, struct tr_key key)
{
    for (uint32_t i = 0; i < shadow->writer_count; i++) {
        if (tr_key_equal(shadow->writers[i].key, key)) {
            return shadow->writers[i].records;
        }
    }
    return 0;
}

uint64_t sim_shadow_record_count(const struct sim_shadow *shadow)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < shadow->writer_count; i++) {
        count += shadow->writers[i].records;
    }
    return count;
}

/* The records of one writer are numbered, and none is missing. */
static void note_record(struct sim_shadow *shadow, const struct tri_op *op)
{
    struct tr_sim_page_entry entry;
    if (op->kind != TRI_OP_PUT_RECORD || op->type != tr_sim_page_entry_schema.id ||
        tr_sim_page_entry_unpack(op->data, (uint8_t)op->incarnation, &entry) != 0) {
        sim_fail("shadow: a record of type %u that nobody wrote", op->type);
        return;
    }
    struct writer *writer = writer_of(shadow, entry.writer);
    if (entry.number != ++writer->records) {
        sim_fail("shadow: record %llu of a writer stands where %llu belongs",
                 (unsigned long long)entry.number, (unsigned long long)writer->records);
    }
}

/* A leaf that is put, or leaves that go: one, or all of a writer. */
static void note_leaf(struct sim_shadow *shadow, const struct tri_op *op)
{
    struct tr_sim_page_leaf leaf;
    bool is_all = op->kind == TRI_OP_DELETE_RECORDS && op->number == 1;
    if (tr_sim_page_leaf_unpack(op->data, (uint8_t)op->incarnation, &leaf) != 0) {
        sim_fail("shadow: a leaf that cannot be read");
        return;
    }
    struct row row = {.class = 5, .key = leaf.writer, .detail = is_all ? 0 : leaf.place};
    if (op->kind == TRI_OP_PUT_RECORD) {
        row.number = leaf.edition;
        put_row(shadow, row, (struct tr_bytes){0});
    } else {
        delete_row(shadow, &row, is_all);
    }
}

void sim_shadow_record(struct sim_shadow *shadow, const struct tri_op *op)
{
    if (op->type == tr_sim_page_leaf_schema.id) {
        note_leaf(shadow, op);
    } else {
        note_record(shadow, op);
    }
}

static void apply(struct sim_shadow *shadow, const struct tri_op *op)
{
    sim_say("host %u at number %llu: operation %u on %llu/%llu number %llu, %zu bytes",
            shadow->host->index, (unsigned long long)shadow->caught_number, op->kind,
            (unsigned long long)op->key.group, (unsigned long long)op->key.serial,
            (unsigned long long)op->number, op->data.size);
    struct row row = row_of(op);
    switch (op->kind) {
    case TRI_OP_PUT_COUNTER:
    case TRI_OP_PUT_ACTOR:
    case TRI_OP_PUT_PAGE:
    case TRI_OP_PUT_MESSAGE:
    case TRI_OP_PUT_META:
        put_row(shadow, row, op->kind == TRI_OP_PUT_COUNTER ? (struct tr_bytes){0} : op->data);
        return;
    case TRI_OP_DELETE_COUNTER:
    case TRI_OP_DELETE_PAGE:
    case TRI_OP_DELETE_MESSAGE:
        delete_row(shadow, &row, false);
        return;
    case TRI_OP_DELETE_ACTOR:
        delete_row(shadow, &row, true);
        return;
    case TRI_OP_PUT_RECORD:
    case TRI_OP_DELETE_RECORDS:
        shadow->host->world->play->record(shadow->host, op);
        return;
    case TRI_OP_PUT_GRAPH:
    case TRI_OP_DELETE_GRAPH:
    case TRI_OP_PUT_CRASH:
    case TRI_OP_DELETE_CRASH:
        return; /* no actor's */
    }
}

size_t sim_shadow_leaves(const struct sim_shadow *shadow, struct sim_leaf *leaves, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < shadow->count; i++) {
        const struct row *row = &shadow->rows[i];
        if (row->class == 5 && count++ < capacity) {
            leaves[count - 1] = (struct sim_leaf){row->key, row->detail, row->number};
        }
    }
    return count;
}

void sim_shadow_capture(struct sim_host *host, uint32_t worker, const uint8_t *data, size_t size)
{
    struct sim_shadow *shadow = host->shadow;
    struct sim_world *world = host->world;
    struct tri_batch_header header;
    memcpy(&header, data, sizeof header);
    struct caught *caught = sim_must(malloc(sizeof *caught + size));
    *caught = (struct caught){.number = header.number, .size = size};
    memcpy(caught->bytes, data, size);
    /* A batch that has waited for a full pipe is older than what its worker looks like now. */
    struct tri_worker *from = &host->host->workers[worker];
    if (from->outbox.places[TRI_PLACE_JOURNAL].backlog_head == NULL &&
        sim_below(&world->chance.checks, world->plan.snapshot_every) == 0) {
        caught->worker_state = sim_worker_state_take(from);
        world->counts.snapshots++;
    }
    sim_say("host %u worker %u batch %llu leaves with %u operations%s", host->index, worker,
            (unsigned long long)header.number, header.op_count,
            caught->worker_state != NULL ? " and a worker's state" : "");
    struct caught **link = &shadow->caught;
    while (*link != NULL && (*link)->number < header.number) {
        link = &(*link)->next;
    }
    if (*link != NULL && (*link)->number == header.number) {
        sim_fail("shadow: two batches have the number %llu", (unsigned long long)header.number);
    }
    caught->next = *link;
    *link = caught;
}

/* Does the next batch to the shadow, and compares its worker's state. */
static void apply_first(struct sim_shadow *shadow)
{
    struct caught *caught = shadow->caught;
    shadow->caught = caught->next;
    struct tr_bytes batch = {.data = caught->bytes, .size = caught->size};
    struct tri_op op;
    size_t offset = 0;
    shadow->caught_number = caught->number;
    while (tri_batch_next(batch, &offset, &op)) {
        if (op.kind != TRI_OP_CALL) {
            apply(shadow, &op);
        }
    }
    if (caught->number != shadow->last_number + 1) {
        sim_fail("shadow: batch %llu follows batch %llu", (unsigned long long)caught->number,
                 (unsigned long long)shadow->last_number);
    }
    shadow->last_number = caught->number;
    if (caught->worker_state != NULL) {
        sim_worker_state_compare(caught->worker_state, shadow, caught->number);
    }
    free_caught(caught);
}

static void advance(struct sim_shadow *shadow, uint64_t last_number)
{
    while (shadow->caught != NULL && shadow->caught->number <= last_number) {
        apply_first(shadow);
    }
    if (shadow->last_number != last_number) {
        sim_fail("shadow: the store says %llu and was given only up to %llu",
                 (unsigned long long)last_number, (unsigned long long)shadow->last_number);
    }
}

void sim_shadow_commit(struct sim_shadow *shadow, uint64_t last_number)
{
    advance(shadow, last_number);
}

/* What was caught and is in no store was lost with its host. */
static void drop_caught(struct sim_shadow *shadow)
{
    while (shadow->caught != NULL) {
        struct caught *caught = shadow->caught;
        shadow->caught = caught->next;
        free_caught(caught);
    }
}

void sim_shadow_reopen(struct sim_shadow *shadow, uint64_t last_number)
{
    if (last_number < shadow->last_number) {
        sim_fail("committed means present: %llu was acknowledged, the store holds only up to %llu",
                 (unsigned long long)shadow->last_number, (unsigned long long)last_number);
        return;
    }
    advance(shadow, last_number);
    drop_caught(shadow);
}

/* A load tells what there is. */
static int take_row(void *self, const struct tri_op *op)
{
    apply(self, op);
    return 0;
}

void sim_shadow_go_back(struct sim_shadow *shadow, struct tri_store *store,
                        const struct tri_model_version *contents)
{
    const struct tri_model_list *cells = contents->lists[TRI_MODEL_META];
    struct tri_store_visitor visitor = {.self = shadow,
                                        .counter = take_row,
                                        .actor = take_row,
                                        .page = take_row,
                                        .message = take_row};
    drop_caught(shadow);
    remove_rows(shadow, 0, shadow->count);
    shadow->writer_count = 0;
    shadow->last_number = store->last_number;
    shadow->caught_number = store->last_number;
    int error = tri_store_load(store, &visitor);
    TR_ASSERT(error == 0);
    for (size_t i = 0; cells != NULL && i < cells->count; i++) {
        uint64_t cell = cells->rows[i].op.number;
        if (cell != TRI_META_CLOCK && cell != TRI_META_LOG) { /* which are in no batch */
            apply(shadow, &cells->rows[i].op);
        }
    }
}

/* ------------------------------------------------------------------------------ comparisons */

struct comparison {
    struct sim_shadow *shadow;
    size_t at;
};

static const char *class_name(uint8_t class, uint64_t detail)
{
    static const char *const names[] = {"nothing", "counter", "actor", "message", "cell"};
    return class == 2 && detail > 0 ? "page" : names[class];
}

static int told(void *self, const struct tri_op *op)
{
    struct comparison *comparison = self;
    const struct sim_shadow *shadow = comparison->shadow;
    struct row row = row_of(op);
    const struct row *mine = &shadow->rows[comparison->at];
    if (comparison->at >= shadow->count || compare_rows(mine, &row) != 0) {
        bool is_extra = comparison->at >= shadow->count || compare_rows(mine, &row) > 0;
        const struct row *named = is_extra ? &row : mine;
        sim_fail("at number %llu the store %s the %s %llu/%llu detail %llu",
                 (unsigned long long)shadow->last_number,
                 is_extra ? "still holds" : "does not hold",
                 class_name(named->class, named->detail), (unsigned long long)named->key.group,
                 (unsigned long long)named->key.serial, (unsigned long long)named->detail);
        return TR_STORE_DAMAGED;
    }
    bool is_same = mine->number == row.number;
    if (row.class != 1) {
        is_same = is_same && mine->size == op->data.size &&
                  (mine->size == 0 || memcmp(mine->bytes, op->data.data, mine->size) == 0);
    }
    if (!is_same) {
        sim_fail("at number %llu the store holds something else for the %s %llu/%llu detail %llu",
                 (unsigned long long)shadow->last_number, class_name(row.class, row.detail),
                 (unsigned long long)row.key.group, (unsigned long long)row.key.serial,
                 (unsigned long long)row.detail);
        return TR_STORE_DAMAGED;
    }
    comparison->at++;
    return 0;
}

void sim_shadow_compare(struct sim_shadow *shadow, struct tri_store *store)
{
    struct comparison comparison = {.shadow = shadow};
    struct tri_store_visitor visitor = {
        .self = &comparison, .counter = told, .actor = told, .page = told, .message = told};
    int error = tri_store_load(store, &visitor);
    bool is_behind = shadow->host->world->plan.log_commits > 0 && error != 0;
    if (shadow->host->world->has_failed || is_behind) {
        return; /* tables that cannot be written yet are compared at another time */
    }
    if (error != 0) {
        sim_fail("the store cannot be read: %s (%s)", tr_error_name(error),
                 tri_store_explain(store));
        return;
    }
    size_t at = comparison.at;
    for (; at < shadow->count && shadow->rows[at].class < 4; at++) {
        const struct row *row = &shadow->rows[at];
        sim_fail("at number %llu the store does not hold the last %s %llu/%llu",
                 (unsigned long long)shadow->last_number, class_name(row->class, row->detail),
                 (unsigned long long)row->key.group, (unsigned long long)row->key.serial);
    }
    for (; at < shadow->count && shadow->rows[at].class == 4; at++) {
        uint8_t cell[64];
        size_t size = 0;
        error = tri_store_read_meta(store, shadow->rows[at].detail, cell, sizeof cell, &size);
        if (error != 0 || size != shadow->rows[at].size ||
            memcmp(cell, shadow->rows[at].bytes, size) != 0) {
            sim_fail("at number %llu the store has lost cell %llu",
                     (unsigned long long)shadow->last_number,
                     (unsigned long long)shadow->rows[at].detail);
        }
    }
    shadow->host->world->counts.compares++;
}

bool sim_shadow_find(const struct sim_shadow *shadow, const struct tri_op *op,
                     struct tr_bytes *bytes)
{
    struct row row = row_of(op);
    size_t place = place_of(shadow, &row);
    if (!is_at(shadow, place, &row)) {
        return false;
    }
    *bytes = (struct tr_bytes){.data = shadow->rows[place].bytes, .size = shadow->rows[place].size};
    return true;
}

uint64_t sim_shadow_group(const struct sim_shadow *shadow, uint64_t chance)
{
    if (shadow->count == 0) {
        return 0;
    }
    const struct row *row = &shadow->rows[chance % shadow->count];
    return row->class == 3 ? row->to_group : row->key.group;
}

/* Whether a row belongs to an actor that is there at the end, too. */
static bool stays(const struct sim_shadow *shadow, const struct row *row)
{
    for (uint32_t i = 0; i < shadow->host->staying_count; i++) {
        if (shadow->host->staying[i] == row->key.group) {
            return true;
        }
    }
    return false;
}

bool sim_shadow_is_empty(const struct sim_shadow *shadow, char *text, size_t size)
{
    for (size_t i = 0; i < shadow->count; i++) {
        const struct row *row = &shadow->rows[i];
        if (row->class < 4 && !stays(shadow, row)) {
            (void)snprintf(text, size, "%s %llu/%llu detail %llu",
                           class_name(row->class, row->detail), (unsigned long long)row->key.group,
                           (unsigned long long)row->key.serial, (unsigned long long)row->detail);
            return false;
        }
    }
    return true;
}
