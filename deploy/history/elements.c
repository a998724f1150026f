/*
 * Unfolding: a block's entries are JSON, [[element, attempt, milliseconds, phase, ..., code,
 * message], ...], read by the one reader of JSON that there is, a block at a time.
 */
#include "deploy/history/elements.h"

#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* The largest number of elements that is believed: a row of a store may hold anything. */
#define ELEMENTS_MAX 16000000U

/* ------------------------------------------------------------------------- entries */

struct reading {
    uint64_t element; /* or TR_ELEMENT_NONE */
    int (*take)(void *self, const struct tr_element_entry *entry);
    void *self;
};

static bool read_number(const struct tr_tree *tree, uint64_t most, uint64_t *number)
{
    if (tree->kind != TR_TREE_INT || tree->integer < 0 || (uint64_t)tree->integer > most) {
        return false;
    }
    *number = (uint64_t)tree->integer;
    return true;
}

/* One entry; false if it is none. */
static bool read_entry(const struct tr_tree *tree, uint64_t base_ms, struct tr_element_entry *entry)
{
    uint64_t attempt = 0;
    uint64_t after_ms = 0;
    uint64_t phase = 0;
    *entry = (struct tr_element_entry){.phase_count = 0};
    if (tree->kind != TR_TREE_LIST || tree->count < 4 ||
        !read_number(tree->items[0], INT64_MAX, &entry->element) ||
        !read_number(tree->items[1], UINT32_MAX, &attempt) ||
        !read_number(tree->items[2], UINT32_MAX * 1000ULL, &after_ms)) {
        return false;
    }
    entry->attempt = (uint32_t)attempt;
    entry->at_ms = base_ms + after_ms;
    uint32_t at = 3;
    for (; at < tree->count && read_number(tree->items[at], TR_NODE_PHASE_MAX, &phase); at++) {
        if (entry->phase_count == TR_ENTRY_PHASES_MAX) {
            return false;
        }
        entry->phases[entry->phase_count++] = (uint8_t)phase;
    }
    if (at + 2 == tree->count && tree->items[at]->kind == TR_TREE_STRING &&
        tree->items[at + 1]->kind == TR_TREE_STRING) {
        entry->code = tree->items[at]->text;
        entry->message = tree->items[at + 1]->text;
        at += 2;
    }
    return at == tree->count && entry->phase_count > 0;
}

static int take_entries(const struct reading *reading, const struct tr_tree *tree, uint64_t base_ms)
{
    int error = tree->kind == TR_TREE_LIST ? 0 : TR_MALFORMED;
    for (uint32_t i = 0; error == 0 && i < tree->count; i++) {
        struct tr_element_entry entry;
        if (!read_entry(tree->items[i], base_ms, &entry)) {
            error = TR_MALFORMED;
        } else if (reading->element == TR_ELEMENT_NONE || reading->element == entry.element) {
            error = reading->take(reading->self, &entry);
        }
    }
    return error;
}

static int unfold(const struct reading *reading, const struct tr_element_block *row)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, row->entries);
    int error = tree != NULL       ? take_entries(reading, tree, row->base_ms)
                : arena.error != 0 ? arena.error
                                   : TR_MALFORMED;
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return error;
}

static int take_block(void *self, const void *row)
{
    return unfold(self, row);
}

int tr_element_entries_read(const struct tr_element_block *row, uint64_t element,
                            int (*take)(void *self, const struct tr_element_entry *entry),
                            void *self)
{
    return unfold(&(struct reading){.element = element, .take = take, .self = self}, row);
}

int tr_elements_read(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                     uint64_t element,
                     int (*take)(void *self, const struct tr_element_entry *entry), void *self)
{
    struct reading reading = {.element = element, .take = take, .self = self};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
        tr_filter_number("element_min", TR_FILTER_LESS_EQUAL, element),
        tr_filter_number("element_max", TR_FILTER_GREATER_EQUAL, element),
    };
    struct tr_reader_query query = {.record = &tr_element_block_schema,
                                    .filters = filters,
                                    .filter_count = element == TR_ELEMENT_NONE ? 2 : 4};
    return tr_reader_rows(reader, &query, take_block, &reading);
}

/* -------------------------------------------------------------------------- groups */

static bool is_failure(uint8_t phase)
{
    return phase == TR_NODE_PHASE_FAILED || phase == TR_NODE_PHASE_TIMED_OUT;
}

/* The group of a code and a cause; the last one takes what has no room. NULL without memory. */
static struct tr_failed_group *group_of(struct tr_failed_groups *groups,
                                        const struct tr_element_entry *entry)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        if (tr_text_equal(groups->items[i].code, entry->code) &&
            tr_text_alike(groups->items[i].message, entry->message)) {
            return &groups->items[i];
        }
    }
    bool is_last = groups->count + 1 >= TR_FAILED_GROUPS_MAX;
    if (groups->count == TR_FAILED_GROUPS_MAX) {
        return &groups->items[groups->count - 1];
    }
    struct tr_failed_group *group = &groups->items[groups->count++];
    *group = (struct tr_failed_group){
        .code = is_last ? tr_text_of("") : tr_arena_text(&groups->arena, entry->code),
        .message = tr_arena_text(&groups->arena, entry->message),
    };
    return groups->arena.error != 0 ? NULL : group;
}

/* Keeps the smallest numbers, in their order. */
static void note_element(struct tr_failed_group *group, uint64_t element)
{
    uint32_t shown =
        group->count < TR_FAILED_SHOWN_MAX ? (uint32_t)group->count : TR_FAILED_SHOWN_MAX;
    uint32_t at = shown;
    while (at > 0 && group->elements[at - 1] > element) {
        at--;
    }
    if (at < TR_FAILED_SHOWN_MAX) {
        uint32_t moved = (shown < TR_FAILED_SHOWN_MAX ? shown : TR_FAILED_SHOWN_MAX - 1) - at;
        memmove(&group->elements[at + 1], &group->elements[at], moved * sizeof element);
        group->elements[at] = element;
    }
    group->count++;
}

static int group_entry(void *self, const struct tr_element_entry *entry)
{
    if (!is_failure(entry->phases[entry->phase_count - 1])) {
        return 0;
    }
    struct tr_failed_group *group = group_of(self, entry);
    if (group == NULL) {
        return TR_MEMORY;
    }
    note_element(group, entry->element);
    return 0;
}

static int by_count(const void *a, const void *b)
{
    const struct tr_failed_group *one = a;
    const struct tr_failed_group *other = b;
    if (one->count != other->count) {
        return one->count > other->count ? -1 : 1;
    }
    return one->elements[0] < other->elements[0] ? -1 : 1;
}

int tr_failed_groups_read(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                          struct tr_failed_groups *groups)
{
    groups->count = 0;
    tr_arena_init(&groups->arena);
    int error = tr_elements_read(reader, execution, path, TR_ELEMENT_NONE, group_entry, groups);
    if (error != 0) {
        tr_failed_groups_fini(groups);
        return error;
    }
    qsort(groups->items, groups->count, sizeof groups->items[0], by_count);
    return 0;
}

void tr_failed_groups_fini(struct tr_failed_groups *groups)
{
    tr_arena_fini(&groups->arena);
    groups->count = 0;
}

/* ------------------------------------------------------------------------ all of them */

static int take_row(void *self, const struct tr_element_entry *entry)
{
    struct tr_element_table *table = self;
    if (entry->element >= table->count) {
        return TR_MALFORMED;
    }
    table->rows[entry->element] = (struct tr_element_row){
        .is_known = true,
        .phase = entry->phases[entry->phase_count - 1],
        .attempt = entry->attempt,
        .at_ms = entry->at_ms,
        .code = tr_arena_text(&table->arena, entry->code),
        .message = tr_arena_text(&table->arena, entry->message),
    };
    return table->arena.error;
}

int tr_element_table_read(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                          uint64_t count, struct tr_element_table *table)
{
    if (count > ELEMENTS_MAX) {
        return TR_MALFORMED;
    }
    *table = (struct tr_element_table){.rows = tr_alloc_zero(count + 1, sizeof *table->rows),
                                       .count = count};
    tr_arena_init(&table->arena);
    int error = table->rows == NULL
                    ? TR_MEMORY
                    : tr_elements_read(reader, execution, path, TR_ELEMENT_NONE, take_row, table);
    if (error != 0) {
        tr_element_table_fini(table);
    }
    return error;
}

void tr_element_table_fini(struct tr_element_table *table)
{
    tr_free(table->rows);
    tr_arena_fini(&table->arena);
    *table = (struct tr_element_table){.rows = NULL};
}
