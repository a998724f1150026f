/*
 * Rows of counts: reading, finding, forgetting, and writing what has changed in one commit.
 *
 * A row is found by kind, key and number. The number is a digest of what its name is, of 63 bits,
 * since a store orders numbers below 2^63; two names of one digest would be counted together.
 */
#include "runtime/journal/crashes.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/journal/reader_ops.h"
#include "runtime/memory.h"

static const struct {
    const struct tr_schema *schema;
    size_t rows_max;
} kinds[] = {
    [TRI_CRASH_MESSAGE] = {&tr_crash_message_schema, TRI_CRASH_MESSAGES_MAX},
    [TRI_CRASH_PART] = {&tr_crash_part_schema, TR_CRASH_ATTRIBUTIONS_MAX},
    [TRI_CRASH_GROUP] = {&tr_crash_group_schema, TR_ASIDE_MAX},
};

/* The union's members begin where it begins. */
static void *content_of(struct tri_crash_row *row)
{
    return &row->message;
}

/* ------------------------------------------------------------------------------- names */

/* FNV-1a, by words. */
static uint64_t mix(uint64_t digest, uint64_t value)
{
    return (digest ^ value) * 0x100000001b3U;
}

static uint64_t digest_of_part(struct tr_text part)
{
    uint64_t digest = 0xcbf29ce484222325U;
    for (size_t i = 0; i < part.size; i++) {
        digest = mix(digest, (uint8_t)part.data[i]);
    }
    return digest >> 1;
}

/* As messages are identified: runtime/actor/current_message.h. */
static uint64_t digest_of_message(const struct tr_crash_message *message)
{
    uint64_t digest = mix(0xcbf29ce484222325U, message->digest);
    if (message->digest != 0) {
        return mix(digest, message->type) >> 1;
    }
    digest = mix(digest, message->from.key.group);
    digest = mix(digest, message->from.key.serial);
    digest = mix(digest, message->from.incarnation);
    return mix(digest, message->sequence) >> 1;
}

static uint64_t number_of(const struct tri_crash_row *row)
{
    return row->kind == TRI_CRASH_MESSAGE ? digest_of_message(&row->message)
           : row->kind == TRI_CRASH_PART  ? digest_of_part(tr_array_get(&row->part.part))
                                          : 0;
}

/* ----------------------------------------------------------------------------- reading */

int tri_crash_row_read(const struct tri_op *op, struct tri_crash_row *row)
{
    struct tri_crash_row read = {
        .kind = op->type, .key = op->key, .number = op->number, .incarnation = op->incarnation};
    if (op->type < TRI_CRASH_MESSAGE || op->type > TRI_CRASH_GROUP || op->data.size == 0) {
        return TR_STORE_DAMAGED;
    }
    struct tr_bytes body = {.data = op->data.data + 1, .size = op->data.size - 1};
    int error = kinds[op->type].schema->unpack(body, op->data.data[0], content_of(&read));
    if (error == 0) {
        *row = read;
    }
    return error == 0 ? 0 : TR_STORE_DAMAGED;
}

/*
 * A row that makes no sense counts as none, which only makes a start more careful; a check tells of
 * it. What is beyond the bound was written by nobody.
 */
static int take(void *self, const struct tri_op *op)
{
    struct tri_crashes *crashes = self;
    if (crashes->count < TRI_CRASHES_MAX - TR_WORKERS_MAX - 1 &&
        tri_crash_row_read(op, &crashes->rows[crashes->count]) == 0) {
        crashes->count++;
    }
    return 0;
}

int tri_crashes_read(struct tri_store *store, struct tri_crashes *crashes)
{
    crashes->count = 0;
    return tri_store_list_crashes(store, take, crashes);
}

int tr_reader_crashes(struct tr_reader *reader, struct tri_crashes *crashes)
{
    return tri_crashes_read(reader->ops->store(reader), crashes);
}

/* ---------------------------------------------------------------------------- counting */

/* The place of the row of what `like` names, or the count. */
static size_t place_of(const struct tri_crashes *crashes, const struct tri_crash_row *like)
{
    uint64_t number = number_of(like);
    size_t place = 0;
    while (place < crashes->count && !(crashes->rows[place].kind == like->kind &&
                                       tr_key_equal(crashes->rows[place].key, like->key) &&
                                       crashes->rows[place].number == number)) {
        place++;
    }
    return place;
}

bool tri_crashes_has(const struct tri_crashes *crashes, const struct tri_crash_row *like)
{
    return place_of(crashes, like) < crashes->count;
}

/* Forgets the row of a kind that was counted the longest ago, if there are as many as are kept. */
static void make_room(struct tri_crashes *crashes, enum tri_crash kind)
{
    struct tri_crash_row *oldest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < crashes->count; i++) {
        struct tri_crash_row *row = &crashes->rows[i];
        if (row->kind == kind && !row->is_forgotten) {
            count++;
            oldest = oldest == NULL || row->incarnation < oldest->incarnation ? row : oldest;
        }
    }
    if (count >= kinds[kind].rows_max) {
        oldest->is_forgotten = true;
    }
}

struct tri_crash_row *tri_crashes_row(struct tri_crashes *crashes,
                                      const struct tri_crash_row *wanted, uint32_t incarnation)
{
    size_t place = place_of(crashes, wanted);
    if (place == crashes->count) {
        make_room(crashes, wanted->kind);
        TR_ASSERT(crashes->count < TRI_CRASHES_MAX);
        crashes->rows[place] = *wanted;
        crashes->rows[place].number = number_of(wanted);
        crashes->count++;
    }
    struct tri_crash_row *row = &crashes->rows[place];
    row->incarnation = incarnation;
    row->is_changed = true;
    row->is_forgotten = false;
    return row;
}

size_t tri_crashes_forget(struct tri_crashes *crashes,
                          bool (*is_meant)(const void *self, const struct tri_crash_row *row),
                          const void *self)
{
    size_t count = 0;
    for (size_t i = 0; i < crashes->count; i++) {
        struct tri_crash_row *row = &crashes->rows[i];
        if (!row->is_forgotten && is_meant(self, row)) {
            row->is_forgotten = true;
            count++;
        }
    }
    return count;
}

void tri_crashes_keep(struct tri_crashes *crashes)
{
    for (size_t i = 0; i < crashes->count; i++) {
        crashes->rows[i].is_forgotten = false;
    }
}

/* ----------------------------------------------------------------------------- writing */

static struct tri_op op_of(const struct tri_crash_row *row, enum tri_op_kind kind)
{
    return (struct tri_op){
        .kind = kind, .type = (uint16_t)row->kind, .key = row->key, .number = row->number};
}

static struct tri_op put(const struct tri_crash_row *row, uint8_t bytes[TRI_CRASH_BYTES_MAX])
{
    const struct tr_schema *schema = kinds[row->kind].schema;
    struct tri_op op = op_of(row, TRI_OP_PUT_CRASH);
    struct tr_writer writer = tr_writer_of(bytes + 1, TRI_CRASH_BYTES_MAX - 1);
    bytes[0] = schema->version;
    int error = schema->pack(&row->message, &writer);
    TR_ASSERT(error == 0); /* it is smaller, and its texts are what was unpacked or checked */
    op.incarnation = row->incarnation;
    op.data = (struct tr_bytes){.data = bytes, .size = 1 + tr_writer_size(&writer)};
    return op;
}

static int compare(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

size_t tri_crashes_changes(const struct tri_crashes *crashes, struct tri_op ops[TRI_CRASHES_MAX],
                           uint8_t *bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < crashes->count; i++) {
        const struct tri_crash_row *row = &crashes->rows[i];
        if (row->is_forgotten) {
            ops[count++] = op_of(row, TRI_OP_DELETE_CRASH);
        } else if (row->is_changed) {
            ops[count] = put(row, bytes + count * TRI_CRASH_BYTES_MAX);
            count++;
        }
    }
    qsort(ops, count, sizeof ops[0], compare);
    return count;
}

void tri_crashes_settle(struct tri_crashes *crashes)
{
    size_t kept = 0;
    for (size_t i = 0; i < crashes->count; i++) {
        if (!crashes->rows[i].is_forgotten) {
            crashes->rows[kept] = crashes->rows[i];
            crashes->rows[kept++].is_changed = false;
        }
    }
    crashes->count = kept;
}

struct changes {
    struct tri_op ops[TRI_CRASHES_MAX];
    uint8_t bytes[TRI_CRASHES_MAX * TRI_CRASH_BYTES_MAX];
};

int tri_crashes_commit(struct tri_crashes *crashes, struct tri_store *store)
{
    struct changes *changes = tr_alloc(sizeof *changes);
    if (changes == NULL) {
        return TR_MEMORY;
    }
    struct tri_commit commit = {.ops = changes->ops,
                                .count = tri_crashes_changes(crashes, changes->ops, changes->bytes),
                                .last_number = store->last_number};
    int error = commit.count == 0 ? 0 : tri_store_commit(store, &commit);
    if (error == 0) {
        tri_crashes_settle(crashes);
    }
    tr_free(changes);
    return error;
}

/* ----------------------------------------------------------------------- what follows */

size_t tri_crashes_parts(const struct tri_crashes *crashes,
                         struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < crashes->count && count < TR_CRASH_ATTRIBUTIONS_MAX; i++) {
        const struct tri_crash_row *row = &crashes->rows[i];
        if (row->kind == TRI_CRASH_PART && !row->is_forgotten) {
            parts[count++] = row->part;
        }
    }
    return count;
}

size_t tri_crashes_aside(const struct tri_crashes *crashes, uint64_t groups[TR_ASIDE_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < crashes->count && count < TR_ASIDE_MAX; i++) {
        const struct tri_crash_row *row = &crashes->rows[i];
        if (row->kind == TRI_CRASH_GROUP && !row->is_forgotten &&
            row->group.ends >= TR_ASIDE_ENDS) {
            groups[count++] = row->key.group;
        }
    }
    return count;
}

int tr_reader_crash_parts(struct tr_reader *reader,
                          struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX], size_t *count)
{
    struct tri_crashes *crashes = tr_alloc(sizeof *crashes);
    int error = crashes == NULL ? TR_MEMORY : tr_reader_crashes(reader, crashes);
    if (error == 0) {
        *count = tri_crashes_parts(crashes, parts);
    }
    tr_free(crashes);
    return error;
}

int tr_reader_aside(struct tr_reader *reader, uint64_t groups[TR_ASIDE_MAX], size_t *count)
{
    struct tri_crashes *crashes = tr_alloc(sizeof *crashes);
    int error = crashes == NULL ? TR_MEMORY : tr_reader_crashes(reader, crashes);
    if (error == 0) {
        *count = tri_crashes_aside(crashes, groups);
    }
    tr_free(crashes);
    return error;
}
