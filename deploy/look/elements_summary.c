/*
 * `troupe elements EXEC/NODE --summary`: an array of any size in numbers, small enough to be drawn:
 * phases by ranges of elements, failures in groups, durations, the slowest ones. What grows with
 * time alone is left out, so that a document changes only when something has happened.
 */
#include <string.h>

#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/look/elements.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Durations are counted up to 1, 2 and 5 times each power of ten of milliseconds. */
#define POWERS 10
#define BOUNDS (3 * POWERS)

struct slow {
    uint64_t element;
    uint64_t took_ms;
    struct tr_element_figure row;
};

struct summary {
    const struct tr_elements *asked;
    uint64_t range_size;
    uint64_t range_count;
    uint32_t (*ranges)[TR_NODE_PHASE_COUNT];
    uint64_t phases[TR_NODE_PHASE_COUNT];
    struct tr_failed_groups groups;
    uint64_t ended; /* that had started */
    uint64_t sum_ms;
    uint64_t least_ms;
    uint64_t most_ms;
    uint64_t buckets[BOUNDS + 1]; /* the last one has no bound */
    struct slow slowest[TR_ELEMENTS_SLOWEST];
    uint32_t slowest_count;
};

/* ----------------------------------------------------------------------------- counting */

static uint64_t bound_ms(uint32_t bucket)
{
    static const uint64_t steps[] = {1, 2, 5};
    uint64_t power = 1;
    for (uint32_t i = 0; i < bucket / 3; i++) {
        power *= 10;
    }
    return steps[bucket % 3] * power;
}

static void count_duration(struct summary *summary, uint64_t took_ms)
{
    uint32_t bucket = 0;
    while (bucket < BOUNDS && took_ms > bound_ms(bucket)) {
        bucket++;
    }
    summary->buckets[bucket]++;
    summary->least_ms =
        summary->ended == 0 || took_ms < summary->least_ms ? took_ms : summary->least_ms;
    summary->most_ms = took_ms > summary->most_ms ? took_ms : summary->most_ms;
    summary->sum_ms += took_ms;
    summary->ended++;
}

/* Keeps the slowest, of equal ones the first. */
static void note_slow(struct summary *summary, const struct slow *slow)
{
    uint32_t at = summary->slowest_count;
    while (at > 0 && summary->slowest[at - 1].took_ms < slow->took_ms) {
        at--;
    }
    if (at == TR_ELEMENTS_SLOWEST) {
        return;
    }
    summary->slowest_count += summary->slowest_count < TR_ELEMENTS_SLOWEST ? 1 : 0;
    memmove(&summary->slowest[at + 1], &summary->slowest[at],
            (summary->slowest_count - at - 1) * sizeof *slow);
    summary->slowest[at] = *slow;
}

static void count(struct summary *summary, const struct tr_element_figures *figures)
{
    const struct tr_elements *asked = summary->asked;
    for (uint64_t i = 0; i < figures->count; i++) {
        const struct tr_element_figure *row = &figures->rows[i];
        uint64_t element = figures->first + i;
        uint64_t took_ms = tr_element_figure_took_ms(row, asked->get->now_ms);
        summary->ranges[(element - asked->first) / summary->range_size][row->phase]++;
        summary->phases[row->phase]++;
        if (row->started_ms != 0 && row->ended_ms != 0) {
            count_duration(summary, took_ms);
        }
        if (row->started_ms != 0) {
            note_slow(summary, &(struct slow){.element = element, .took_ms = took_ms, .row = *row});
        }
    }
}

static int read_summary(struct summary *summary)
{
    const struct tr_elements *asked = summary->asked;
    uint64_t elements = asked->end - asked->first;
    summary->range_size = (elements + asked->ranges - 1) / asked->ranges;
    summary->range_size += summary->range_size == 0 ? 1 : 0;
    summary->range_count = (elements + summary->range_size - 1) / summary->range_size;
    summary->ranges = tr_alloc_zero(summary->range_count + 1, sizeof *summary->ranges);
    int error = summary->ranges == NULL ? TR_MEMORY : 0;
    for (uint64_t at = asked->first; error == 0 && at < asked->end;) {
        struct tr_element_figures figures;
        error = tri_elements_read(asked, at, UINT64_MAX, &summary->groups, &figures);
        if (error == 0) {
            at += figures.count;
            count(summary, &figures);
            tr_element_figures_fini(&figures);
        }
    }
    tr_failed_groups_sort(&summary->groups);
    return error;
}

/* ------------------------------------------------------------------- as a document */

/* Of each phase that occurs, in the order of `phases`. */
static void write_counts(const struct summary *summary, uint64_t range,
                         struct tr_document *document)
{
    tr_document_begin_list(document, NULL);
    for (uint32_t i = 0; i < TR_NODE_PHASE_COUNT; i++) {
        if (summary->phases[i] > 0) {
            tr_document_number(document, NULL, summary->ranges[range][i]);
        }
    }
    tr_document_end(document);
}

static void write_phases(const struct summary *summary, struct tr_document *document)
{
    tr_document_begin_list(document, "phases");
    for (uint32_t i = 0; i < TR_NODE_PHASE_COUNT; i++) {
        if (summary->phases[i] > 0) {
            tr_document_begin_map(document, NULL);
            tr_document_text(document, "phase", tr_text_of(tr_node_phase_word((uint8_t)i)));
            tr_document_number(document, "count", (int64_t)summary->phases[i]);
            tr_document_end(document);
        }
    }
    tr_document_end(document);
    tr_document_number(document, "range_size", (int64_t)summary->range_size);
    tr_document_begin_list(document, "ranges");
    for (uint64_t i = 0; i < summary->range_count; i++) {
        write_counts(summary, i, document);
    }
    tr_document_end(document);
}

static void write_durations(const struct summary *summary, struct tr_document *document)
{
    tr_document_begin_map(document, "durations");
    tr_document_number(document, "count", (int64_t)summary->ended);
    tr_document_number(document, "sum_ms", (int64_t)summary->sum_ms);
    tr_document_number(document, "min_ms", (int64_t)summary->least_ms);
    tr_document_number(document, "max_ms", (int64_t)summary->most_ms);
    tr_document_begin_list(document, "buckets");
    for (uint32_t i = 0; i <= BOUNDS; i++) {
        if (summary->buckets[i] == 0) {
            continue;
        }
        tr_document_begin_map(document, NULL);
        if (i < BOUNDS) {
            tr_document_number(document, "up_to_ms", (int64_t)bound_ms(i));
        } else {
            tr_document_null(document, "up_to_ms");
        }
        tr_document_number(document, "count", (int64_t)summary->buckets[i]);
        tr_document_end(document);
    }
    tr_document_end(document);
    tr_document_end(document);
}

static void write_slowest(const struct summary *summary, struct tr_document *document)
{
    tr_document_begin_list(document, "slowest");
    for (uint32_t i = 0; i < summary->slowest_count; i++) {
        const struct slow *slow = &summary->slowest[i];
        tr_document_begin_map(document, NULL);
        tr_document_number(document, "element", (int64_t)slow->element);
        tr_document_text(document, "phase", tr_text_of(tr_node_phase_word(slow->row.phase)));
        tr_document_number(document, "attempt", slow->row.attempt);
        tr_document_time(document, "started_at", slow->row.started_ms);
        tr_document_time(document, "ended_at", slow->row.ended_ms);
        tr_document_end(document);
    }
    tr_document_end(document);
}

static void write_document(const struct summary *summary)
{
    const struct tr_elements *asked = summary->asked;
    struct tr_document document;
    tr_document_init(&document, asked->get->stream, asked->get->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "execution", asked->get->execution->name);
    tr_document_text(&document, "node", asked->report->target->path);
    tr_document_number(&document, "total", (int64_t)asked->report->progress.total);
    tr_document_number(&document, "first", (int64_t)asked->first);
    tr_document_number(&document, "count", (int64_t)(asked->end - asked->first));
    write_phases(summary, &document);
    tr_document_begin_list(&document, "errors");
    for (uint32_t i = 0; i < summary->groups.count; i++) {
        tri_get_group_write(&summary->groups.items[i], &document);
    }
    tr_document_end(&document);
    write_durations(summary, &document);
    write_slowest(summary, &document);
    tr_document_end(&document);
    tr_document_fini(&document);
}

/* ------------------------------------------------------------------------- as text */

static uint32_t add_heads(const struct summary *summary, struct tr_table *table)
{
    uint32_t columns = 1;
    for (uint32_t i = 0; i < TR_NODE_PHASE_COUNT; i++) {
        columns += summary->phases[i] > 0 && columns < TR_TABLE_COLUMNS_MAX ? 1 : 0;
    }
    tr_table_init(table, columns);
    tr_table_text(table, tr_text_of("ELEMENTS"));
    return columns;
}

/* A row of counts, or of the words for them. */
static void add_cells(const struct summary *summary, const uint32_t *counts, uint32_t columns,
                      struct tr_table *table)
{
    for (uint32_t i = 0; i < TR_NODE_PHASE_COUNT && columns > 1; i++) {
        if (summary->phases[i] == 0) {
            continue;
        }
        if (counts == NULL) {
            tr_table_text(table, tr_text_of(tr_node_phase_word((uint8_t)i)));
        } else {
            tr_table_print(table, "%u", counts[i]);
        }
        columns--;
    }
}

static int print_ranges(const struct summary *summary)
{
    const struct tr_elements *asked = summary->asked;
    struct tr_table table;
    uint32_t columns = add_heads(summary, &table);
    add_cells(summary, NULL, columns, &table);
    for (uint64_t i = 0; i < summary->range_count; i++) {
        uint64_t first = asked->first + i * summary->range_size;
        uint64_t end = first + summary->range_size;
        tr_table_print(&table, "%llu-%llu", (unsigned long long)first,
                       (unsigned long long)(end < asked->end ? end : asked->end) - 1);
        add_cells(summary, summary->ranges[i], columns, &table);
    }
    fputc('\n', asked->get->stream);
    int error = tr_table_write(&table, 0, asked->get->stream);
    tr_table_fini(&table);
    return error;
}

static void print_durations(const struct summary *summary)
{
    struct tr_buffer words;
    if (summary->ended == 0) {
        return;
    }
    tr_buffer_init(&words, 0);
    tr_span_print(summary->sum_ms / summary->ended, &words);
    tr_buffer_add_string(&words, " on average, from ");
    tr_span_print(summary->least_ms, &words);
    tr_buffer_add_string(&words, " to ");
    tr_span_print(summary->most_ms, &words);
    tri_get_line(summary->asked->get, "took", tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static void print_slowest(const struct summary *summary)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    for (uint32_t i = 0; i < summary->slowest_count; i++) {
        tr_buffer_print(&words, "%s[%llu] ", i == 0 ? "" : ", ",
                        (unsigned long long)summary->slowest[i].element);
        tr_span_print(summary->slowest[i].took_ms, &words);
    }
    if (words.size > 0) {
        tri_get_line(summary->asked->get, "slowest", tr_buffer_text(&words));
    }
    tr_buffer_fini(&words);
}

static int print_text(const struct summary *summary)
{
    const struct tr_get_report *report = summary->asked->report;
    const struct tr_get *get = summary->asked->get;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    fprintf(get->stream, "%.*s/%.*s  %s\n", TRI_TEXT(get->execution->name),
            TRI_TEXT(report->target->path), tr_node_phase_word(report->row.phase));
    tri_get_progress_print(&report->progress, &words);
    tri_get_line(get, "elements", tr_buffer_text(&words));
    tr_buffer_fini(&words);
    print_durations(summary);
    print_slowest(summary);
    int error = print_ranges(summary);
    if (summary->groups.count > 0) {
        fputc('\n', get->stream);
    }
    for (uint32_t i = 0; i < summary->groups.count; i++) {
        tri_get_group_print(get, &summary->groups.items[i]);
    }
    return error;
}

int tr_elements_summary(const struct tr_elements *elements)
{
    struct summary *summary = tr_alloc_zero(1, sizeof *summary);
    if (summary == NULL) {
        return TR_MEMORY;
    }
    summary->asked = elements;
    tr_failed_groups_init(&summary->groups);
    int error = read_summary(summary);
    if (error == 0 && tri_get_has_document(elements->get)) {
        write_document(summary);
    } else if (error == 0) {
        error = print_text(summary);
    }
    tr_failed_groups_fini(&summary->groups);
    tr_free(summary->ranges);
    tr_free(summary);
    return error;
}
