/*
 * What differs between two executions, as text and as a document.
 */
#include <stdlib.h>
#include <string.h>

#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/results/compare.h"
#include "runtime/memory.h"

/* The columns of a value that are shown without -v. */
#define VALUE_COLUMNS 120

static const char *const aspect_words[] = {
#define WORD(name, word) word,
    TR_COMPARE_ASPECTS(WORD)
#undef WORD
};

static const char *const change_words[] = {"same", "changed", "added", "removed"};
static const char *const side_names[] = {"a", "b"};

static enum tr_compare_change change_of(const struct tr_value *a, const struct tr_value *b)
{
    return a == NULL                  ? TR_COMPARE_ADDED
           : b == NULL                ? TR_COMPARE_REMOVED
           : tr_compare_is_same(a, b) ? TR_COMPARE_SAME
                                      : TR_COMPARE_CHANGED;
}

static const struct tr_execution *execution_of(const struct tr_compare *compare, int side)
{
    return compare->sides[side].get.execution;
}

static uint64_t now_ms(const struct tr_compare *compare)
{
    return compare->sides[0].get.now_ms;
}

static bool has_one_definition(const struct tr_compare *compare)
{
    return tr_literal_equal(execution_of(compare, 0)->graph, execution_of(compare, 1)->graph);
}

/* --------------------------------------------------------------------------- durations */

/* How much longer the second one took. */
struct duration {
    const struct tr_compared_node *pair;
    uint64_t took_ms[2];
};

static uint64_t difference(const struct duration *duration)
{
    const uint64_t *took_ms = duration->took_ms;
    return took_ms[0] > took_ms[1] ? took_ms[0] - took_ms[1] : took_ms[1] - took_ms[0];
}

static bool read_duration(const struct tr_compare *compare, const struct tr_compared_node *pair,
                          struct duration *duration)
{
    bool is_known = true;
    *duration = (struct duration){.pair = pair};
    for (int i = 0; i < 2 && is_known; i++) {
        const struct tr_node_tree_node *node = pair->nodes[i];
        is_known = node != NULL &&
                   tr_compare_took(node->row.created_ms, node->row.started_ms, node->row.ended_ms,
                                   now_ms(compare), &duration->took_ms[i]);
    }
    return is_known && difference(duration) > 0;
}

/* Those that differ the most, the most first; how many. */
static size_t read_durations(const struct tr_compare *compare,
                             struct duration durations[TR_COMPARE_DURATIONS])
{
    size_t count = 0;
    for (uint32_t i = 0; i < compare->count; i++) {
        struct duration one;
        if (!read_duration(compare, &compare->nodes[i], &one)) {
            continue;
        }
        size_t at = count < TR_COMPARE_DURATIONS ? count++ : TR_COMPARE_DURATIONS;
        while (at > 0 && difference(&durations[at - 1]) < difference(&one)) {
            if (at < TR_COMPARE_DURATIONS) {
                durations[at] = durations[at - 1];
            }
            at--;
        }
        if (at < TR_COMPARE_DURATIONS) {
            durations[at] = one;
        }
    }
    return count;
}

/* ----------------------------------------------------------------------- as a document */

static int write_value(void *self, const struct tr_value *a, const struct tr_value *b)
{
    struct tr_document *document = self;
    const struct tr_value *values[] = {a, b};
    enum tr_compare_change change = change_of(a, b);
    int error = 0;
    if (change == TR_COMPARE_SAME) {
        return 0;
    }
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "name", a != NULL ? a->name : b->name);
    tr_document_text(document, "change", tr_text_of(change_words[change]));
    for (int i = 0; error == 0 && i < 2; i++) {
        if (values[i] == NULL) {
            tr_document_null(document, side_names[i]);
        } else {
            error = tr_value_write(values[i], side_names[i], document);
        }
    }
    tr_document_end(document);
    return error;
}

static int write_name(void *self, const struct tr_value *a, const struct tr_value *b)
{
    if (change_of(a, b) != TR_COMPARE_SAME) {
        tr_document_text(self, NULL, a != NULL ? a->name : b->name);
    }
    return 0;
}

/* Which of its inputs, or of its outputs, differ. */
static int write_names(const struct tr_compare *compare, const struct tr_compared_node *pair,
                       enum tr_value_side which, struct tr_document *document)
{
    struct tr_values values[2];
    bool is_input = which == TR_VALUE_INPUTS;
    bool differs = (pair->differs & 1U << (is_input ? TR_COMPARE_INPUTS : TR_COMPARE_OUTPUTS)) != 0;
    int error = 0;
    tr_document_begin_list(document, is_input ? "inputs" : "outputs");
    if (differs) {
        error = tr_compare_node_values(&compare->sides[0], pair->nodes[0], which, &values[0]);
    }
    if (differs && error == 0) {
        error = tr_compare_node_values(&compare->sides[1], pair->nodes[1], which, &values[1]);
        if (error == 0) {
            error = tr_compare_values(&values[0], &values[1], write_name, document);
            tr_values_fini(&values[1]);
        }
        tr_values_fini(&values[0]);
    }
    tr_document_end(document);
    return error;
}

static void write_took(struct tr_document *document, const char *name, bool is_known,
                       uint64_t took_ms)
{
    if (is_known) {
        tr_document_number(document, name, (int64_t)took_ms);
    } else {
        tr_document_null(document, name);
    }
}

/* How a node was on one side. */
static void write_node_side(const struct tr_compare *compare, const char *name,
                            const struct tr_node_tree_node *node, struct tr_document *document)
{
    uint64_t took_ms;
    if (node == NULL) {
        tr_document_null(document, name);
        return;
    }
    const struct tr_node_status *row = &node->row;
    bool has_begun =
        tr_compare_took(row->created_ms, row->started_ms, row->ended_ms, now_ms(compare), &took_ms);
    tr_document_begin_map(document, name);
    tr_document_text(document, "kind", row->kind);
    tr_document_text(document, "target", row->target);
    tr_document_text(document, "phase", tr_text_of(tr_node_phase_word(row->phase)));
    tr_document_number(document, "attempts", row->attempts);
    tr_document_text(document, "cache", tr_text_of(tr_cache_status_word(row->cache_status)));
    write_took(document, "took_ms", has_begun, took_ms);
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code, .message = row->message});
    tr_document_end(document);
}

static int write_pair(const struct tr_compare *compare, const struct tr_compared_node *pair,
                      struct tr_document *document)
{
    const struct tr_node_tree_node *node = pair->nodes[pair->nodes[0] == NULL ? 1 : 0];
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "node", node->row.path);
    tr_document_text(document, "change", tr_text_of(change_words[pair->change]));
    tr_document_begin_list(document, "differs");
    for (uint32_t i = 0; i < TR_COMPARE_ASPECT_COUNT; i++) {
        if ((pair->differs & 1U << i) != 0) {
            tr_document_text(document, NULL, tr_text_of(aspect_words[i]));
        }
    }
    tr_document_end(document);
    int error = write_names(compare, pair, TR_VALUE_INPUTS, document);
    if (error == 0) {
        error = write_names(compare, pair, TR_VALUE_OUTPUTS, document);
    }
    write_node_side(compare, "a", pair->nodes[0], document);
    write_node_side(compare, "b", pair->nodes[1], document);
    tr_document_end(document);
    return error;
}

/* Whether a pair is one of the page: those that differ, behind --offset. */
static bool is_shown(struct tr_compare *compare, const struct tr_compared_node *pair,
                     uint64_t *passed)
{
    return pair->change != TR_COMPARE_SAME && (*passed)++ >= compare->listing->offset &&
           !compare->listing->has_more && tr_listing_takes(compare->listing);
}

static int write_nodes(struct tr_compare *compare, struct tr_document *document)
{
    uint64_t passed = 0;
    int error = 0;
    tr_document_begin_list(document, "nodes");
    for (uint32_t i = 0; error == 0 && i < compare->count; i++) {
        if (is_shown(compare, &compare->nodes[i], &passed)) {
            error = write_pair(compare, &compare->nodes[i], document);
        }
    }
    tr_document_end(document);
    return error;
}

static void write_durations(const struct tr_compare *compare, struct tr_document *document)
{
    struct duration durations[TR_COMPARE_DURATIONS];
    size_t count = read_durations(compare, durations);
    tr_document_begin_list(document, "durations");
    for (size_t i = 0; i < count; i++) {
        tr_document_begin_map(document, NULL);
        tr_document_text(document, "node", durations[i].pair->nodes[0]->row.path);
        tr_document_number(document, "a_ms", (int64_t)durations[i].took_ms[0]);
        tr_document_number(document, "b_ms", (int64_t)durations[i].took_ms[1]);
        tr_document_end(document);
    }
    tr_document_end(document);
}

static void write_heads(const struct tr_compare *compare, struct tr_document *document)
{
    for (int i = 0; i < 2; i++) {
        const struct tr_execution *row = execution_of(compare, i);
        uint64_t took_ms;
        bool has_begun = tr_compare_took(row->created_ms, row->started_ms, row->ended_ms,
                                         now_ms(compare), &took_ms);
        tr_document_begin_map(document, side_names[i]);
        tr_document_execution(document, row);
        write_took(document, "took_ms", has_begun, took_ms);
        tr_document_end(document);
    }
    tr_document_bool(document, "is_same_definition", has_one_definition(compare));
}

static void write_counts(const struct tr_compare *compare, struct tr_document *document)
{
    tr_document_begin_map(document, "counts");
    for (size_t i = 0; i < TR_COUNT_OF(change_words); i++) {
        tr_document_number(document, change_words[i], compare->counts[i]);
    }
    tr_document_number(document, "without_values", compare->unseen);
    tr_document_end(document);
}

static int write_document(struct tr_compare *compare)
{
    const struct tr_get_values *a = &compare->sides[0].values;
    const struct tr_get_values *b = &compare->sides[1].values;
    struct tr_document document;
    tr_document_init(&document, compare->sides[0].get.stream, compare->sides[0].get.output);
    tr_document_begin_map(&document, NULL);
    write_heads(compare, &document);
    tr_document_begin_list(&document, "inputs");
    int error = tr_compare_values(&a->inputs, &b->inputs, write_value, &document);
    tr_document_end(&document);
    tr_document_begin_list(&document, "outputs");
    if (error == 0) {
        error = tr_compare_values(&a->outputs, &b->outputs, write_value, &document);
    }
    tr_document_end(&document);
    write_counts(compare, &document);
    if (error == 0) {
        error = write_nodes(compare, &document);
    }
    write_durations(compare, &document);
    tr_document_end(&document);
    tr_document_fini(&document);
    return error;
}

/* ----------------------------------------------------------------------------- as text */

static void print_line(const struct tr_compare *compare, const char *sign,
                       const struct tr_value *value)
{
    FILE *stream = compare->sides[0].get.stream;
    struct tr_buffer json;
    struct tr_buffer line;
    uint32_t columns = compare->sides[0].get.is_verbose ? 0 : VALUE_COLUMNS;
    tr_buffer_init(&json, 0);
    tr_buffer_init(&line, 0);
    if (tr_value_json(value, &json) == 0) {
        tr_line_print(tr_buffer_text(&json), columns, &line);
    } else {
        tr_buffer_add_string(&line, "(cannot be read)");
    }
    fprintf(stream, "  %s %.*s: %.*s\n", sign, TRI_TEXT(value->name), (int)line.size,
            (const char *)line.data);
    tr_buffer_fini(&line);
    tr_buffer_fini(&json);
}

/* As of a difference of files: what was, and what is. */
static int print_value(void *self, const struct tr_value *a, const struct tr_value *b)
{
    if (!tr_compare_is_same(a, b)) {
        if (a != NULL) {
            print_line(self, "-", a);
        }
        if (b != NULL) {
            print_line(self, "+", b);
        }
    }
    return 0;
}

static int print_values(struct tr_compare *compare, const char *head, const struct tr_values *a,
                        const struct tr_values *b)
{
    bool differs = a->count != b->count;
    for (uint32_t i = 0; !differs && i < a->count; i++) {
        differs = !tr_compare_is_same(&a->items[i], &b->items[i]);
    }
    fprintf(compare->sides[0].get.stream, "\n%s%s\n", head, differs ? "" : " are the same");
    return tr_compare_values(a, b, print_value, compare);
}

static void add_took(const struct tr_compare *compare, struct tr_table *table,
                     const struct tr_execution *row)
{
    uint64_t took_ms;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    if (tr_compare_took(row->created_ms, row->started_ms, row->ended_ms, now_ms(compare),
                        &took_ms)) {
        tr_span_print(took_ms, &words);
    } else {
        tr_buffer_add_string(&words, "-");
    }
    tr_table_text(table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static int print_heads(const struct tr_compare *compare)
{
    struct tr_table table;
    const struct tr_execution *a = execution_of(compare, 0);
    const struct tr_execution *b = execution_of(compare, 1);
    tr_table_init(&table, 3);
    tr_table_text(&table, tr_text_of(""));
    tr_table_text(&table, a->name);
    tr_table_text(&table, b->name);
    tr_table_text(&table, tr_text_of("workflow"));
    tr_table_text(&table, a->workflow);
    tr_table_text(&table, b->workflow);
    tr_table_text(&table, tr_text_of("phase"));
    tr_table_text(&table, tr_text_of(tr_phase_shown(a)));
    tr_table_text(&table, tr_text_of(tr_phase_shown(b)));
    tr_table_text(&table, tr_text_of("took"));
    add_took(compare, &table, a);
    add_took(compare, &table, b);
    int error = tr_table_write(&table, 0, compare->sides[0].get.stream);
    tr_table_fini(&table);
    fprintf(compare->sides[0].get.stream, "\nthe definition %s\n",
            has_one_definition(compare) ? "is the same" : "differs");
    return error;
}

/* One aspect of a pair: from what to what where that is a word. */
static void print_aspect(const struct tr_compared_node *pair, uint32_t aspect,
                         struct tr_buffer *words)
{
    const struct tr_node_status *a = &pair->nodes[0]->row;
    const struct tr_node_status *b = &pair->nodes[1]->row;
    tr_buffer_print(words, "%s%s", words->size > 0 ? ", " : "", aspect_words[aspect]);
    if (aspect == TR_COMPARE_PHASE) {
        tr_buffer_print(words, " %s -> %s", tr_node_phase_word(a->phase),
                        tr_node_phase_word(b->phase));
    } else if (aspect == TR_COMPARE_ATTEMPTS) {
        tr_buffer_print(words, " %u -> %u", a->attempts, b->attempts);
    } else if (aspect == TR_COMPARE_TARGET) {
        tr_buffer_print(words, " %.*s -> %.*s", TRI_TEXT(a->target), TRI_TEXT(b->target));
    }
}

static void print_pair(const struct tr_compare *compare, const struct tr_compared_node *pair)
{
    static const char signs[] = {' ', '~', '+', '-'};
    const struct tr_node_tree_node *node = pair->nodes[pair->nodes[0] == NULL ? 1 : 0];
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    for (uint32_t i = 0; i < TR_COMPARE_ASPECT_COUNT; i++) {
        if ((pair->differs & 1U << i) != 0) {
            print_aspect(pair, i, &words);
        }
    }
    if (pair->differs == 0) {
        tr_buffer_print(&words, "%.*s %.*s", TRI_TEXT(node->row.kind), TRI_TEXT(node->row.target));
    }
    fprintf(compare->sides[0].get.stream, "  %c %.*s: %.*s\n", signs[pair->change],
            TRI_TEXT(node->row.path), (int)words.size, (const char *)words.data);
    tr_buffer_fini(&words);
}

static int print_durations(const struct tr_compare *compare)
{
    static const char *const heads[] = {"NODE", "TOOK", "THEN", "DIFFERENCE"};
    struct duration durations[TR_COMPARE_DURATIONS];
    size_t count = read_durations(compare, durations);
    struct tr_table table;
    struct tr_buffer words;
    tr_table_init(&table, TR_COUNT_OF(heads));
    tr_buffer_init(&words, 0);
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&table, tr_text_of(heads[i]));
    }
    for (size_t i = 0; i < count; i++) {
        bool is_longer = durations[i].took_ms[1] > durations[i].took_ms[0];
        tr_table_text(&table, durations[i].pair->nodes[0]->row.path);
        for (int side = 0; side < 2; side++) {
            tr_buffer_cut(&words, 0);
            tr_span_print(durations[i].took_ms[side], &words);
            tr_table_text(&table, tr_buffer_text(&words));
        }
        tr_buffer_cut(&words, 0);
        tr_buffer_add_string(&words, is_longer ? "+" : "-");
        tr_span_print(difference(&durations[i]), &words);
        tr_table_text(&table, tr_buffer_text(&words));
    }
    fputc('\n', compare->sides[0].get.stream);
    int error = count == 0 ? 0 : tr_table_write(&table, 0, compare->sides[0].get.stream);
    tr_buffer_fini(&words);
    tr_table_fini(&table);
    return error;
}

static int print_text(struct tr_compare *compare)
{
    const struct tr_get_values *a = &compare->sides[0].values;
    const struct tr_get_values *b = &compare->sides[1].values;
    uint64_t passed = 0;
    int error = print_heads(compare);
    if (error == 0) {
        error = print_values(compare, "inputs", &a->inputs, &b->inputs);
    }
    if (error == 0) {
        error = print_values(compare, "outputs", &a->outputs, &b->outputs);
    }
    fprintf(compare->sides[0].get.stream, "\nnodes: %u differ, %u are the same\n",
            compare->count - compare->counts[TR_COMPARE_SAME], compare->counts[TR_COMPARE_SAME]);
    for (uint32_t i = 0; i < compare->count; i++) {
        if (is_shown(compare, &compare->nodes[i], &passed)) {
            print_pair(compare, &compare->nodes[i]);
        }
    }
    return error != 0 ? error : print_durations(compare);
}

int tr_compare_write(struct tr_compare *compare)
{
    return tr_listing_has_document(compare->listing) ? write_document(compare)
                                                     : print_text(compare);
}
