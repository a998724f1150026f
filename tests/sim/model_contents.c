/*
 * The contents of a model store: sorted lists, merged with sorted operations.
 *
 * Rows are copied from version to version, their bytes are shared by all versions that have them.
 * Records without a key only ever grow, so their lists are chained instead of copied; one with a
 * key, or a deletion of rows, makes one list of the chain.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/model_contents.h"

static const struct {
    enum tri_model_class class;
    bool deletes;
} kinds[] = {
    [TRI_OP_PUT_COUNTER] = {TRI_MODEL_COUNTERS, false},
    [TRI_OP_PUT_ACTOR] = {TRI_MODEL_ACTORS, false},
    [TRI_OP_DELETE_ACTOR] = {TRI_MODEL_ACTORS, true},
    [TRI_OP_PUT_PAGE] = {TRI_MODEL_PAGES, false},
    [TRI_OP_DELETE_PAGE] = {TRI_MODEL_PAGES, true},
    [TRI_OP_PUT_MESSAGE] = {TRI_MODEL_MESSAGES, false},
    [TRI_OP_DELETE_MESSAGE] = {TRI_MODEL_MESSAGES, true},
    [TRI_OP_PUT_RECORD] = {TRI_MODEL_RECORDS, false},
    [TRI_OP_PUT_META] = {TRI_MODEL_META, false},
    [TRI_OP_DELETE_COUNTER] = {TRI_MODEL_COUNTERS, true},
    [TRI_OP_DELETE_RECORDS] = {TRI_MODEL_RECORDS, true},
    [TRI_OP_PUT_GRAPH] = {TRI_MODEL_GRAPHS, false},
    [TRI_OP_DELETE_GRAPH] = {TRI_MODEL_GRAPHS, true},
    [TRI_OP_PUT_CRASH] = {TRI_MODEL_CRASHES, false},
    [TRI_OP_DELETE_CRASH] = {TRI_MODEL_CRASHES, true},
};

/* What a row is known by. */
static const struct {
    bool receiver;
    bool key;
    bool incarnation;
    bool number;
    bool type;
} names[TRI_MODEL_COUNT] = {
    [TRI_MODEL_COUNTERS] = {.key = true},
    [TRI_MODEL_ACTORS] = {.key = true},
    [TRI_MODEL_PAGES] = {.key = true, .number = true},
    [TRI_MODEL_MESSAGES] = {.receiver = true, .key = true, .incarnation = true, .number = true},
    [TRI_MODEL_META] = {.number = true},
    [TRI_MODEL_CRASHES] = {.type = true, .key = true, .number = true},
};

void *tri_model_must(void *block)
{
    TR_ASSERT(block != NULL);
    return block;
}

/* --- Lists and versions. --- */

static struct tri_model_list *list_new(size_t capacity)
{
    struct tri_model_list *list =
        tri_model_must(calloc(1, sizeof *list + capacity * sizeof list->rows[0]));
    list->references = 1;
    return list;
}

static void blob_unref(struct tri_model_blob *blob)
{
    if (--blob->references == 0) {
        free(blob);
    }
}

static void list_unref(struct tri_model_list *list)
{
    while (list != NULL && --list->references == 0) {
        struct tri_model_list *before = list->before;
        for (size_t i = 0; i < list->count; i++) {
            blob_unref(list->rows[i].blob);
        }
        free(list);
        list = before;
    }
}

static void list_share(struct tri_model_list *list, const struct tri_model_row *row)
{
    row->blob->references++;
    list->rows[list->count++] = *row;
}

static void list_copy(struct tri_model_list *list, enum tri_model_class class,
                      const struct tri_op *op)
{
    struct tri_model_blob *blob = tri_model_must(malloc(sizeof *blob + op->data.size));
    blob->references = 1;
    if (op->data.size > 0) {
        memcpy(blob->bytes, op->data.data, op->data.size);
    }
    struct tri_model_row *row = &list->rows[list->count++];
    row->blob = blob;
    row->op = *op;
    row->op.data.data = blob->bytes;
    /* A row keeps what its table has columns for, and no more. */
    if (class != TRI_MODEL_ACTORS && class != TRI_MODEL_RECORDS && class != TRI_MODEL_CRASHES) {
        row->op.type = 0;
        row->op.incarnation = names[class].incarnation ? op->incarnation : 0;
        row->op.to_group = names[class].receiver ? op->to_group : 0;
    }
    if (class == TRI_MODEL_ACTORS) {
        row->op.number = 0;
    }
    if (class == TRI_MODEL_COUNTERS) {
        row->op.data.size = 0;
    }
}

void tri_model_version_clear(struct tri_model_version *version)
{
    for (size_t i = 0; i < TRI_MODEL_COUNT; i++) {
        list_unref(version->lists[i]);
    }
    *version = (struct tri_model_version){0};
}

struct tri_model_version tri_model_version_share(const struct tri_model_version *from)
{
    struct tri_model_version version = *from;
    for (size_t i = 0; i < TRI_MODEL_COUNT; i++) {
        if (version.lists[i] != NULL) {
            version.lists[i]->references++;
        }
    }
    return version;
}

void tri_model_version_set(struct tri_model_version *place, struct tri_model_version version)
{
    struct tri_model_version old = *place;
    *place = version;
    tri_model_version_clear(&old);
}

/* --- Applying operations. --- */

int tri_model_compare(enum tri_model_class class, const struct tri_op *a, const struct tri_op *b)
{
    int order = names[class].type ? (int)a->type - (int)b->type : 0;
    if (class == TRI_MODEL_GRAPHS) {
        return memcmp(a->data.data, b->data.data, TRI_GRAPH_HASH_BYTES);
    }
    if (names[class].receiver && a->to_group != b->to_group) {
        return a->to_group < b->to_group ? -1 : 1;
    }
    if (order == 0 && names[class].key) {
        order = tr_key_compare(a->key, b->key);
    }
    if (order == 0 && names[class].incarnation && a->incarnation != b->incarnation) {
        order = a->incarnation < b->incarnation ? -1 : 1;
    }
    if (order == 0 && names[class].number && a->number != b->number) {
        order = a->number < b->number ? -1 : 1;
    }
    return order;
}

/*
 * What is left of a row that an operation meets. Of a graph the time alone changes, and one that
 * was put after the time of a deletion stays.
 */
static void meet(struct tri_model_list *merged, enum tri_model_class class, bool deletes,
                 const struct tri_model_row *row, const struct tri_op *op)
{
    if (class == TRI_MODEL_GRAPHS && (!deletes || row->op.number > op->number)) {
        list_share(merged, row);
        struct tri_op *kept = &merged->rows[merged->count - 1].op;
        kept->number = !deletes && op->number > kept->number ? op->number : kept->number;
    } else if (!deletes) {
        list_copy(merged, class, op);
    }
}

/* The list with a sorted run of operations done to it. */
static struct tri_model_list *merge(enum tri_model_class class, bool deletes,
                                    const struct tri_model_list *list, const struct tri_op *ops,
                                    size_t count)
{
    size_t old_count = list != NULL ? list->count : 0;
    struct tri_model_list *merged = list_new(old_count + (deletes ? 0 : count));
    size_t old = 0;
    for (size_t i = 0; i < count; i++) {
        TR_ASSERT(i == 0 || tri_model_compare(class, &ops[i - 1], &ops[i]) < 0);
        while (old < old_count && tri_model_compare(class, &list->rows[old].op, &ops[i]) < 0) {
            list_share(merged, &list->rows[old++]);
        }
        if (old < old_count && tri_model_compare(class, &list->rows[old].op, &ops[i]) == 0) {
            meet(merged, class, deletes, &list->rows[old++], &ops[i]);
        } else if (!deletes) {
            list_copy(merged, class, &ops[i]);
        }
    }
    while (old < old_count) {
        list_share(merged, &list->rows[old++]);
    }
    return merged;
}

/* Records without a key are never overwritten: a list of the new ones goes behind those before. */
static struct tri_model_list *chain(struct tri_model_list *before, const struct tri_op *ops,
                                    size_t count)
{
    struct tri_model_list *list = list_new(count);
    list->before = before;
    for (size_t i = 0; i < count; i++) {
        list_copy(list, TRI_MODEL_RECORDS, &ops[i]);
    }
    return list;
}

/* Whether the row is of the key that an operation puts or deletes. */
static bool is_row_of(const struct tri_op *row, const struct tri_op *op)
{
    struct tr_bytes mine = tri_op_row_key(row);
    struct tr_bytes wanted = tri_op_row_key(op);
    return row->type == op->type && wanted.size > 0 && mine.size >= wanted.size &&
           memcmp(mine.data, wanted.data, wanted.size) == 0;
}

static size_t count_chain(const struct tri_model_list *list)
{
    size_t count = 0;
    for (; list != NULL; list = list->before) {
        count += list->count;
    }
    return count;
}

/* Adds the rows of a chain that are not of the operation's key, the oldest first. */
static void share_others(struct tri_model_list *to, const struct tri_model_list *chain,
                         const struct tri_op *op)
{
    size_t count = count_chain(chain);
    to->count = count;
    for (const struct tri_model_list *list = chain; list != NULL; list = list->before) {
        for (size_t i = list->count; i > 0; i--) {
            to->rows[--count] = list->rows[i - 1];
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < to->count; i++) {
        if (!is_row_of(&to->rows[i].op, op)) {
            to->rows[i].blob->references++;
            to->rows[kept++] = to->rows[i];
        }
    }
    to->count = kept;
}

/* Puts a row with a key, or deletes rows: a list in the place of the chain, whose hold it takes. */
static struct tri_model_list *rewrite(struct tri_model_list *before, const struct tri_op *op)
{
    struct tri_model_list *list = list_new(count_chain(before) + 1);
    share_others(list, before, op);
    if (op->kind == TRI_OP_PUT_RECORD) {
        list_copy(list, TRI_MODEL_RECORDS, op);
    }
    list_unref(before);
    return list;
}

/* A run of rows that are put, or of deletions, in their order. */
static struct tri_model_list *apply_rows(struct tri_model_list *list, const struct tri_op *ops,
                                         size_t count)
{
    size_t done = 0;
    while (done < count) {
        size_t length = 0;
        while (done + length < count && ops[done + length].key_size == 0) {
            length++;
        }
        list = length > 0 ? chain(list, &ops[done], length) : rewrite(list, &ops[done]);
        done += length > 0 ? length : 1;
    }
    return list;
}

/* The pages without those of the deleted actors. */
static struct tri_model_list *without_pages(const struct tri_model_list *pages,
                                            const struct tri_op *actors, size_t count)
{
    struct tri_model_list *left = list_new(pages->count);
    size_t actor = 0;
    for (size_t i = 0; i < pages->count; i++) {
        struct tr_key key = pages->rows[i].op.key;
        while (actor < count && tr_key_compare(actors[actor].key, key) < 0) {
            actor++;
        }
        if (actor == count || !tr_key_equal(actors[actor].key, key)) {
            list_share(left, &pages->rows[i]);
        }
    }
    return left;
}

static void list_set(struct tri_model_version *version, enum tri_model_class class,
                     struct tri_model_list *list)
{
    list_unref(version->lists[class]);
    version->lists[class] = list;
}

/* Does a run of operations of one kind to a version. */
static void apply_run(struct tri_model_version *version, const struct tri_op *ops, size_t count)
{
    enum tri_model_class class = kinds[ops->kind].class;
    struct tri_model_list *list = version->lists[class];
    if (class == TRI_MODEL_RECORDS) {
        version->lists[class] = apply_rows(list, ops, count); /* which takes our hold of the list */
        return;
    }
    list_set(version, class, merge(class, kinds[ops->kind].deletes, list, ops, count));
    if (ops->kind == TRI_OP_DELETE_ACTOR && version->lists[TRI_MODEL_PAGES] != NULL) {
        list_set(version, TRI_MODEL_PAGES,
                 without_pages(version->lists[TRI_MODEL_PAGES], ops, count));
    }
}

static void apply_ops(struct tri_model_version *version, const struct tri_op *ops, size_t count)
{
    size_t done = 0;
    while (done < count) {
        size_t length = 1;
        while (done + length < count && ops[done + length].kind == ops[done].kind) {
            length++;
        }
        TR_ASSERT(done == 0 || tri_op_compare(&ops[done - 1], &ops[done]) < 0);
        apply_run(version, &ops[done], length);
        done += length;
    }
}

struct tri_model_version tri_model_version_after(const struct tri_model_version *before,
                                                 const struct tri_commit *commit, size_t count)
{
    struct tri_model_version version = tri_model_version_share(before);
    apply_ops(&version, commit->ops, count);
    version.last_number = commit->last_number;
    return version;
}
