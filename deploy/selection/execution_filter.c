/*
 * Conditions on executions, and the index by which they are found.
 *
 * SQLite is not told how many rows a condition leaves, and looks for the index of the first that
 * has one. So it is chosen here: a label with a value, else one phase, else a workflow of one name;
 * all other conditions are only looked at. Only where there is none of these do the executions that
 * nobody has launched have an index, in the order of their age.
 */
#include "deploy/selection/execution_filter.h"

#include <stdio.h>
#include <string.h>

uint32_t tr_execution_phases_ended(void)
{
    uint32_t phases = 0;
    for (uint8_t phase = 0; phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        phases |= tr_phase_is_end(TR_SUBJECT_EXECUTION, phase) ? 1U << phase : 0;
    }
    return phases;
}

uint32_t tr_execution_phases_unfinished(void)
{
    return ((1U << TR_EXECUTION_PHASE_COUNT) - 1) & ~tr_execution_phases_ended();
}

struct tr_text tr_execution_address(const struct tr_execution *row,
                                    char address[TR_ADDRESS_BYTES_MAX])
{
    int size = snprintf(address, TR_ADDRESS_BYTES_MAX, "/%.*s/%.*s/%.*s/", (int)row->project.size,
                        row->project.data, (int)row->domain.size, row->domain.data,
                        (int)row->name.size, row->name.data);
    return (struct tr_text){.data = address, .size = size < 0 ? 0 : (size_t)size};
}

/* ------------------------------------------------------------------------- labels */

/* The first condition by which an index finds executions: a key with one value. */
static uint32_t find_lead(const struct tr_label_selector *labels)
{
    const struct tr_label_term *terms = labels->terms.items;
    for (uint32_t i = 0; i < labels->terms.count; i++) {
        struct tr_text values = terms[i].values;
        bool is_one = terms[i].has_values &&
                      (values.size == 0 || memchr(values.data, ',', values.size) == NULL);
        if (is_one && !terms[i].is_negated) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* One condition as what an execution has to have of its labels, or not. */
static void add_label(struct tr_execution_query *made, const struct tr_label_term *term,
                      bool is_lead, bool is_launched_by_none)
{
    size_t number = made->query.related_count++;
    struct tr_reader_filter *filters = made->label_filters[number];
    size_t count = 0;
    filters[count++] = tr_filter_text("key", TR_FILTER_EQUAL, term->key);
    if (term->has_values) {
        filters[count++] =
            tr_filter_text("value", is_lead ? TR_FILTER_EQUAL : TR_FILTER_AMONG, term->values);
    }
    if (is_lead && is_launched_by_none) {
        filters[count++] = tr_filter_number("is_launched", TR_FILTER_EQUAL, 0);
    }
    made->related[number] = (struct tr_reader_related){.record = &tr_execution_label_schema,
                                                       .filters = filters,
                                                       .filter_count = count,
                                                       .is_absent = term->is_negated};
}

/* The one that leads stands first. */
static void add_labels(struct tr_execution_query *made, const struct tr_execution_filter *filter)
{
    const struct tr_label_term *terms = filter->labels.terms.items;
    uint32_t lead = find_lead(&filter->labels);
    made->query.is_led = lead != UINT32_MAX;
    if (made->query.is_led) {
        add_label(made, &terms[lead], true, filter->is_launched_by_none);
    }
    for (uint32_t i = 0; i < filter->labels.terms.count; i++) {
        if (i != lead) {
            add_label(made, &terms[i], false, false);
        }
    }
}

/* ---------------------------------------------------------------------- conditions */

static struct tr_reader_filter *add(struct tr_execution_query *made, struct tr_reader_filter filter)
{
    struct tr_reader_filter *added = &made->filters[made->query.filter_count++];
    *added = filter;
    return added;
}

static void add_text(struct tr_execution_query *made, const char *field, const char *word,
                     bool is_passive)
{
    if (word != NULL) {
        enum tr_filter_op op = strchr(word, '*') != NULL ? TR_FILTER_GLOB : TR_FILTER_EQUAL;
        add(made, tr_filter_text(field, op, tr_text_of(word)))->is_passive = is_passive;
    }
}

static bool is_one_name(const char *word)
{
    return word != NULL && strchr(word, '*') == NULL;
}

/* One phase has an index; several are looked at in each row. */
static bool is_one_phase(uint32_t phases)
{
    return phases != 0 && (phases & (phases - 1)) == 0;
}

static bool are_unfinished(uint32_t phases)
{
    return phases != 0 && (phases & tr_execution_phases_ended()) == 0;
}

/* What has not ended is found by that, since it is little. */
static void add_phases(struct tr_execution_query *made, uint32_t phases, bool is_passive)
{
    if (is_one_phase(phases)) {
        uint64_t phase = (uint64_t)__builtin_ctz(phases);
        add(made, tr_filter_number("phase", TR_FILTER_EQUAL, phase))->is_passive = is_passive;
    } else if (phases != 0) {
        add(made, tr_filter_number("phase", TR_FILTER_BIT, phases));
        if (are_unfinished(phases)) {
            add(made, tr_filter_number("ended_ms", TR_FILTER_EQUAL, 0))->is_passive = is_passive;
        }
    }
}

static void add_times(struct tr_execution_query *made, const struct tr_execution_filter *filter)
{
    if (filter->since_ms != 0) {
        add(made, tr_filter_number("created_ms", TR_FILTER_GREATER_EQUAL, filter->since_ms));
    }
    if (filter->until_ms != 0) {
        add(made, tr_filter_number("created_ms", TR_FILTER_LESS, filter->until_ms));
    }
    if (filter->ended_before_ms != 0) {
        add(made, tr_filter_number("ended_ms", TR_FILTER_LESS, filter->ended_before_ms));
    }
}

static void add_parent(struct tr_execution_query *made, const struct tr_execution_filter *filter,
                       bool is_passive)
{
    if (filter->parent.size > 0) {
        add(made, tr_filter_text("parent", TR_FILTER_PREFIX, filter->parent));
    } else if (filter->is_launched_by_none && !made->query.is_led) {
        struct tr_text none = tr_text_of("");
        add(made, tr_filter_text("parent", TR_FILTER_EQUAL, none))->is_passive = is_passive;
    }
}

void tr_execution_query_init(struct tr_execution_query *made,
                             const struct tr_execution_filter *filter, bool is_newest_first)
{
    bool is_found = false; /* an index was chosen */
    made->query = (struct tr_reader_query){
        .record = &tr_execution_schema,
        .filters = made->filters,
        .related = made->related,
        .order = {{.field = "created_ms", .is_descending = true},
                  {.field = "execution", .is_descending = true}},
    };
    add_labels(made, filter);
    is_found = made->query.is_led || filter->parent.size > 0;
    add_phases(made, filter->phases, is_found);
    is_found = is_found || is_one_phase(filter->phases) || are_unfinished(filter->phases);
    add_text(made, "workflow", filter->workflow, is_found);
    is_found = is_found || is_one_name(filter->workflow);
    add_text(made, "name", filter->name, is_found);
    is_found = is_found || is_one_name(filter->name);
    add_text(made, "plan", filter->plan, true);
    add_text(made, "project", filter->project, true);
    add_text(made, "domain", filter->domain, true);
    add_times(made, filter);
    add_parent(made, filter, is_found || !is_newest_first);
}
