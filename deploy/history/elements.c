/*
 * Unfolding: a block's entries are JSON, [[element, attempt, milliseconds, phase, ..., code,
 * message], ...]. Nearly all of a million entries are numbers alone, which are read as they stand;
 * an entry with texts goes to the one reader of JSON that there is.
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
    uint64_t first; /* the elements that are wanted */
    uint64_t last;
    int (*take)(void *self, const struct tr_element_entry *entry);
    void *self;
};

/* ----------------------------------------------------------------- entries with texts */

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

static int read_json_entry(struct tr_text json, uint64_t base_ms, const struct reading *reading)
{
    struct tr_arena arena;
    struct tr_report report;
    struct tr_element_entry entry;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, json);
    bool is_one = tree != NULL && read_entry(tree, base_ms, &entry);
    int error = is_one ? 0 : arena.error != 0 ? arena.error : TR_MALFORMED;
    if (error == 0 && entry.element >= reading->first && entry.element <= reading->last) {
        error = reading->take(reading->self, &entry);
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return error;
}

/* Behind the bracket that ends a list, which no text hides; NULL: it does not end. */
static const char *skip_list(const char *at, const char *end)
{
    bool is_text = false;
    for (; at < end; at++) {
        if (is_text && *at == '\\') {
            at++;
        } else if (*at == '"') {
            is_text = !is_text;
        } else if (!is_text && *at == ']') {
            return at + 1;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- entries of numbers alone */

/* Digits as JSON has them, up to `most`. False: something else, which may be JSON nevertheless. */
static bool scan_number(const char **at, const char *end, uint64_t most, uint64_t *number)
{
    const char *begin = *at;
    uint64_t sum = 0;
    const char *next = begin;
    for (; next < end && next - begin < 19 && *next >= '0' && *next <= '9'; next++) {
        sum = 10 * sum + (uint64_t)(*next - '0');
    }
    bool has_zero = begin < end && *begin == '0' && next - begin > 1;
    if (next == begin || has_zero || sum > most) {
        return false;
    }
    *at = next;
    *number = sum;
    return true;
}

static bool scan_byte(const char **at, const char *end, char byte)
{
    bool is_there = *at < end && **at == byte;
    *at += is_there ? 1 : 0;
    return is_there;
}

/* An entry without texts and blanks; false: it is another, and `at` stays. */
static bool scan_entry(const char **at, const char *end, uint64_t base_ms,
                       struct tr_element_entry *entry)
{
    const char *next = *at;
    uint64_t attempt = 0;
    uint64_t after_ms = 0;
    uint64_t phase = 0;
    entry->code = entry->message = (struct tr_text){.data = NULL};
    entry->phase_count = 0;
    if (!scan_byte(&next, end, '[') || !scan_number(&next, end, INT64_MAX, &entry->element) ||
        !scan_byte(&next, end, ',') || !scan_number(&next, end, UINT32_MAX, &attempt) ||
        !scan_byte(&next, end, ',') || !scan_number(&next, end, UINT32_MAX * 1000ULL, &after_ms)) {
        return false;
    }
    while (scan_byte(&next, end, ',')) {
        if (entry->phase_count == TR_ENTRY_PHASES_MAX ||
            !scan_number(&next, end, TR_NODE_PHASE_MAX, &phase)) {
            return false;
        }
        entry->phases[entry->phase_count++] = (uint8_t)phase;
    }
    if (entry->phase_count == 0 || !scan_byte(&next, end, ']')) {
        return false;
    }
    entry->attempt = (uint32_t)attempt;
    entry->at_ms = base_ms + after_ms;
    *at = next;
    return true;
}

/* ---------------------------------------------------------------------------- a block */

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r')) {
        (*at)++;
    }
}

/* The next entry of a block. */
static int unfold_entry(const struct reading *reading, const char **at, const char *end,
                        uint64_t base_ms)
{
    struct tr_element_entry entry;
    if (scan_entry(at, end, base_ms, &entry)) {
        bool is_wanted = entry.element >= reading->first && entry.element <= reading->last;
        return is_wanted ? reading->take(reading->self, &entry) : 0;
    }
    const char *behind = skip_list(*at, end);
    if (behind == NULL) {
        return TR_MALFORMED;
    }
    struct tr_text json = {.data = *at, .size = (size_t)(behind - *at)};
    *at = behind;
    return read_json_entry(json, base_ms, reading);
}

static int unfold(const struct reading *reading, const struct tr_element_block *row)
{
    const char *at = row->entries.data;
    const char *end = at + row->entries.size;
    int error = 0;
    skip_blanks(&at, end);
    if (!scan_byte(&at, end, '[')) {
        return TR_MALFORMED;
    }
    skip_blanks(&at, end);
    bool is_over = scan_byte(&at, end, ']');
    while (error == 0 && !is_over) {
        error = unfold_entry(reading, &at, end, row->base_ms);
        skip_blanks(&at, end);
        is_over = scan_byte(&at, end, ']');
        if (error == 0 && !is_over && !scan_byte(&at, end, ',')) {
            error = TR_MALFORMED;
        }
        skip_blanks(&at, end);
    }
    return error != 0 || at == end ? error : TR_MALFORMED;
}

static int take_block(void *self, const void *row)
{
    return unfold(self, row);
}

int tr_element_entries_read(const struct tr_element_block *row, uint64_t element,
                            int (*take)(void *self, const struct tr_element_entry *entry),
                            void *self)
{
    bool is_all = element == TR_ELEMENT_NONE;
    return unfold(&(struct reading){.first = is_all ? 0 : element,
                                    .last = is_all ? UINT64_MAX : element,
                                    .take = take,
                                    .self = self},
                  row);
}

int tr_elements_read_some(struct tr_reader *reader, const struct tr_element_span *span,
                          int (*take)(void *self, const struct tr_element_entry *entry), void *self)
{
    bool is_all = span->first == 0 && span->last == UINT64_MAX;
    struct reading reading = {.first = span->first, .last = span->last, .take = take, .self = self};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, span->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, span->path),
        tr_filter_number("element_min", TR_FILTER_LESS_EQUAL, span->last),
        tr_filter_number("element_max", TR_FILTER_GREATER_EQUAL, span->first),
    };
    struct tr_reader_query query = {
        .record = &tr_element_block_schema, .filters = filters, .filter_count = is_all ? 2 : 4};
    return tr_reader_rows(reader, &query, take_block, &reading);
}

int tr_elements_read(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                     uint64_t element,
                     int (*take)(void *self, const struct tr_element_entry *entry), void *self)
{
    bool is_all = element == TR_ELEMENT_NONE;
    return tr_elements_read_some(reader,
                                 &(struct tr_element_span){.execution = execution,
                                                           .path = path,
                                                           .first = is_all ? 0 : element,
                                                           .last = is_all ? UINT64_MAX : element},
                                 take, self);
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

void tr_failed_groups_init(struct tr_failed_groups *groups)
{
    groups->count = 0;
    tr_arena_init(&groups->arena);
}

int tr_failed_groups_take(struct tr_failed_groups *groups, const struct tr_element_entry *entry)
{
    if (!is_failure(entry->phases[entry->phase_count - 1])) {
        return 0;
    }
    struct tr_failed_group *group = group_of(groups, entry);
    if (group == NULL) {
        return TR_MEMORY;
    }
    note_element(group, entry->element);
    return 0;
}

static int group_entry(void *self, const struct tr_element_entry *entry)
{
    return tr_failed_groups_take(self, entry);
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

void tr_failed_groups_sort(struct tr_failed_groups *groups)
{
    qsort(groups->items, groups->count, sizeof groups->items[0], by_count);
}

int tr_failed_groups_read(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                          struct tr_failed_groups *groups)
{
    tr_failed_groups_init(groups);
    int error = tr_elements_read(reader, execution, path, TR_ELEMENT_NONE, group_entry, groups);
    if (error != 0) {
        tr_failed_groups_fini(groups);
        return error;
    }
    tr_failed_groups_sort(groups);
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
