/*
 * `troupe elements EXEC/NODE`: the command, and a page of elements. Figures are read first, for all
 * elements that may be meant; texts only of those that are shown.
 */
#include "deploy/look/elements.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/console/console.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* The columns of a message. */
#define MESSAGE_COLUMNS 80

/* Elements whose texts are read at once. */
#define PICKED_MAX 1024

int tri_elements_read(const struct tr_elements *elements, uint64_t first, uint64_t most,
                      struct tr_failed_groups *groups, struct tr_element_figures *figures)
{
    const struct tr_get_report *report = elements->report;
    uint64_t left = elements->end - first;
    uint64_t count = left < most ? left : most;
    count = count < TR_ELEMENT_FIGURES_MAX ? count : TR_ELEMENT_FIGURES_MAX;
    int error = tr_element_figures_read(elements->get->reader,
                                        &(struct tr_element_span){.execution = report->array_ran_in,
                                                                  .path = report->target->path,
                                                                  .first = first,
                                                                  .last = first + count - 1},
                                        elements->code, groups, figures);
    bool is_kept = report->array_ran_in != elements->get->execution->execution;
    for (uint64_t i = 0; error == 0 && is_kept && i < count; i++) {
        figures->rows[i].phase = tri_report_phase_kept(figures->rows[i].phase);
    }
    return error;
}

/* ----------------------------------------------------------------------------- a page */

/* An element on its way to a row. */
struct picked {
    uint64_t element;
    struct tr_element_figure row;
    struct tr_text code;
    struct tr_text message;
};

struct page {
    const struct tr_elements *asked;
    struct tr_elements_shown *shown;
    uint64_t count;
    struct picked picked[PICKED_MAX];
    size_t picked_count;
    struct tr_arena arena; /* of their texts */
    struct tr_table table;
    struct tr_document document;
};

static int by_element(const void *a, const void *b)
{
    uint64_t one = ((const struct picked *)a)->element;
    uint64_t other = ((const struct picked *)b)->element;
    return one < other ? -1 : one > other ? 1 : 0;
}

static int take_texts(void *self, const struct tr_element_entry *entry)
{
    struct page *page = self;
    struct picked wanted = {.element = entry->element};
    struct picked *picked =
        bsearch(&wanted, page->picked, page->picked_count, sizeof wanted, by_element);
    if (picked != NULL && picked->row.has_text) {
        picked->code = tr_arena_text(&page->arena, entry->code);
        picked->message = tr_arena_text(&page->arena, entry->message);
    }
    return page->arena.error;
}

static int read_texts(struct page *page)
{
    const struct tr_get_report *report = page->asked->report;
    bool has_text = false;
    for (size_t i = 0; i < page->picked_count; i++) {
        has_text |= page->picked[i].row.has_text;
    }
    if (!has_text) {
        return 0;
    }
    return tr_elements_read_some(
        page->asked->get->reader,
        &(struct tr_element_span){.execution = report->array_ran_in,
                                  .path = report->target->path,
                                  .first = page->picked[0].element,
                                  .last = page->picked[page->picked_count - 1].element},
        take_texts, page);
}

static void write_row(struct page *page, const struct picked *picked)
{
    const struct tr_element_figure *row = &picked->row;
    struct tr_document *document = &page->document;
    tr_document_begin_map(document, NULL);
    tr_document_number(document, "element", (int64_t)picked->element);
    tr_document_text(document, "phase", tr_text_of(tr_node_phase_word(row->phase)));
    tr_document_number(document, "attempt", row->attempt);
    tr_document_time(document, "started_at", row->started_ms);
    tr_document_time(document, "ended_at", row->ended_ms);
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = picked->code, .message = picked->message});
    tr_document_end(document);
}

static void add_row(struct page *page, const struct picked *picked)
{
    const struct tr_element_figure *row = &picked->row;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_table_print(&page->table, "%llu", (unsigned long long)picked->element);
    tr_table_text(&page->table, tr_text_of(tr_node_phase_word(row->phase)));
    tr_table_print(&page->table, "%u", row->attempt);
    if (row->started_ms == 0) {
        tr_buffer_add_string(&words, "-");
    } else {
        tr_span_print(tr_element_figure_took_ms(row, page->asked->get->now_ms), &words);
    }
    tr_table_text(&page->table, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    tr_failure_line(picked->code, picked->message,
                    page->asked->get->is_verbose ? 0 : MESSAGE_COLUMNS, &words);
    tr_table_text(&page->table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

/* Shows what was picked. */
static int show_picked(struct page *page)
{
    int error = page->picked_count == 0 ? 0 : read_texts(page);
    for (size_t i = 0; error == 0 && i < page->picked_count; i++) {
        if (tri_get_has_document(page->asked->get)) {
            write_row(page, &page->picked[i]);
        } else {
            add_row(page, &page->picked[i]);
        }
    }
    page->picked_count = 0;
    tr_arena_fini(&page->arena);
    tr_arena_init(&page->arena);
    return error;
}

static bool suits(const struct tr_elements *asked, const struct tr_element_figure *row)
{
    return (asked->phases == 0 || (asked->phases & 1U << row->phase) != 0) &&
           (asked->code.size == 0 || row->has_wanted);
}

static int pick(struct page *page, const struct tr_element_figures *figures)
{
    const struct tr_elements *asked = page->asked;
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < figures->count; i++) {
        if (!suits(asked, &figures->rows[i])) {
            continue;
        }
        if (asked->limit != 0 && page->count == asked->limit) {
            *page->shown = (struct tr_elements_shown){.has_more = true, .next = figures->first + i};
            return 0;
        }
        page->picked[page->picked_count++] =
            (struct picked){.element = figures->first + i, .row = figures->rows[i]};
        page->count++;
        error = page->picked_count == PICKED_MAX ? show_picked(page) : 0;
    }
    return error;
}

/* Where nothing is left out one more than the page has is enough. */
static int read_page(struct page *page)
{
    const struct tr_elements *asked = page->asked;
    bool takes_all = asked->phases == 0 && asked->code.size == 0 && asked->limit != 0;
    uint64_t most = takes_all ? asked->limit + 1 : TR_ELEMENT_FIGURES_MAX;
    int error = 0;
    for (uint64_t at = asked->first; error == 0 && at < asked->end && !page->shown->has_more;) {
        struct tr_element_figures figures;
        error = tri_elements_read(asked, at, most, NULL, &figures);
        if (error == 0) {
            at += figures.count;
            error = pick(page, &figures);
            tr_element_figures_fini(&figures);
        }
    }
    return error != 0 ? error : show_picked(page);
}

static int write_page(struct page *page)
{
    const struct tr_get *get = page->asked->get;
    tr_document_init(&page->document, get->stream, get->output);
    tr_document_begin_list(&page->document, NULL);
    int error = read_page(page);
    tr_document_end(&page->document);
    tr_document_fini(&page->document);
    return error;
}

static int print_page(struct page *page)
{
    static const char *const heads[] = {"ELEMENT", "PHASE", "ATTEMPT", "TOOK", "ERROR"};
    tr_table_init(&page->table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&page->table, tr_text_of(heads[i]));
    }
    int error = read_page(page);
    if (error == 0) {
        error = tr_table_write(&page->table, 0, page->asked->get->stream);
    }
    tr_table_fini(&page->table);
    return error;
}

int tr_elements_page(const struct tr_elements *elements, struct tr_elements_shown *shown)
{
    struct page *page = tr_alloc_zero(1, sizeof *page);
    *shown = (struct tr_elements_shown){.has_more = false};
    if (page == NULL) {
        return TR_MEMORY;
    }
    page->asked = elements;
    page->shown = shown;
    tr_arena_init(&page->arena);
    int error = tri_get_has_document(elements->get) ? write_page(page) : print_page(page);
    tr_arena_fini(&page->arena);
    tr_free(page);
    return error;
}

/* ------------------------------------------------------------------------- the command */

/* A phase as people write it: "timed out", "timed-out". */
static bool is_phase(uint8_t phase, const char *word, size_t size)
{
    const char *own = tr_node_phase_word(phase);
    bool is_same = strlen(own) == size;
    for (size_t i = 0; is_same && i < size; i++) {
        is_same = own[i] == (word[i] == '-' || word[i] == '_' ? ' ' : word[i]);
    }
    return is_same;
}

static enum tr_exit_status read_phases(const struct tr_invocation *invocation, uint32_t *phases)
{
    const char *word = tr_arguments_value(&invocation->arguments, "phase");
    while (word != NULL && *word != '\0') {
        size_t size = strcspn(word, ",");
        uint8_t phase = 0;
        while (phase < TR_NODE_PHASE_COUNT && !is_phase(phase, word, size)) {
            phase++;
        }
        if (phase == TR_NODE_PHASE_COUNT) {
            return tr_command_mistake(invocation->command,
                                      "--phase: '%.*s' is no phase of an element; write succeeded, "
                                      "failed, running, waiting-to-retry, ...",
                                      size > 60 ? 60 : (int)size, word);
        }
        *phases |= 1U << phase;
        word += size + (word[size] == ',' ? 1 : 0);
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status read_number(const struct tr_invocation *invocation, const char *name,
                                       uint64_t least, uint64_t most, uint64_t *number)
{
    const char *word = tr_arguments_value(&invocation->arguments, name);
    if (word == NULL || (tr_count_read(word, number) && *number >= least && *number <= most)) {
        return TR_EXIT_DONE;
    }
    return tr_command_mistake(invocation->command, "--%s: '%.60s' is no number from %llu to %llu",
                              name, word, (unsigned long long)least, (unsigned long long)most);
}

/* Options that only one of the two ways of showing takes. */
static enum tr_exit_status check_options(const struct tr_invocation *invocation)
{
    static const struct {
        const char *name;
        bool is_of_summary;
    } rows[] = {
        {"phase", false}, {"code", false}, {"limit", false}, {"count", true}, {"ranges", true}};
    bool is_summary = tr_arguments_has(&invocation->arguments, "summary");
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (tr_arguments_has(&invocation->arguments, rows[i].name) &&
            rows[i].is_of_summary != is_summary) {
            return tr_command_mistake(invocation->command, "--%s %s --summary", rows[i].name,
                                      is_summary ? "cannot be given with" : "needs");
        }
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status read_options(const struct tr_invocation *invocation,
                                        struct tr_elements *elements)
{
    const char *code = tr_arguments_value(&invocation->arguments, "code");
    uint64_t count = INT64_MAX;
    enum tr_exit_status status = check_options(invocation);
    elements->code = tr_text_of(code == NULL ? "" : code);
    elements->limit = TR_ELEMENTS_LIMIT;
    elements->ranges = TR_ELEMENTS_RANGES;
    if (status == TR_EXIT_DONE) {
        status = read_phases(invocation, &elements->phases);
    }
    if (status == TR_EXIT_DONE) {
        status = read_number(invocation, "from", 0, INT64_MAX, &elements->first);
    }
    if (status == TR_EXIT_DONE) {
        status = read_number(invocation, "limit", 0, INT64_MAX, &elements->limit);
    }
    if (status == TR_EXIT_DONE) {
        status = read_number(invocation, "count", 1, INT64_MAX, &count);
    }
    if (status == TR_EXIT_DONE) {
        status = read_number(invocation, "ranges", 1, TR_ELEMENTS_RANGES_MAX, &elements->ranges);
    }
    uint64_t total = elements->report->progress.total;
    elements->first = elements->first < total ? elements->first : total;
    uint64_t left = total - elements->first;
    elements->end = elements->first + (count < left ? count : left);
    return status;
}

static enum tr_exit_status show(const struct tr_browse *browse, struct tr_elements *elements)
{
    const struct tr_invocation *invocation = browse->invocation;
    struct tr_elements_shown shown = {.has_more = false};
    enum tr_exit_status status = read_options(invocation, elements);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error = tr_arguments_has(&invocation->arguments, "summary")
                    ? tr_elements_summary(elements)
                    : tr_elements_page(elements, &shown);
    if (error != 0) {
        return tr_browse_failed(browse, error);
    }
    if (shown.has_more) {
        tr_console_note_next(shown.next);
    }
    if (shown.has_more && tr_arguments_value(&invocation->arguments, "limit") == NULL) {
        tr_command_note(invocation, "there are more; --limit 0 shows all, --from %llu goes on",
                        (unsigned long long)shown.next);
    }
    return TR_EXIT_DONE;
}

static bool is_array(const struct tr_get_report *report)
{
    return report->progress.total > 0 || tr_text_equal(report->node_kind, tr_text_of("map"));
}

static enum tr_exit_status elements_of(const struct tr_browse *browse, const struct tr_found *found)
{
    char problem[TR_TARGET_PROBLEM_BYTES] = "";
    const struct tr_invocation *invocation = browse->invocation;
    const struct tr_target *target = &found->target;
    struct tr_get get = {.reader = browse->reader,
                         .folder = browse->place.folder,
                         .execution = &found->execution.row,
                         .now_ms = browse->now_ms,
                         .output = invocation->output,
                         .is_verbose = invocation->is_verbose,
                         .stream = tr_console_out()};
    struct tr_get_report report;
    struct tr_elements elements = {.get = &get, .report = &report};
    if (target->path.size == 0 || target->element != TR_ELEMENT_NONE || target->has_attempt) {
        return tr_command_mistake(invocation->command, "name an array: EXEC/NODE");
    }
    int error = tr_get_report_find(&get, target, problem, &report);
    enum tr_exit_status status = TR_EXIT_DONE;
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND && problem[0] != '\0') {
        status = tr_command_refused(invocation->command, "%s", problem);
    } else if (error != 0) {
        status = tr_browse_failed(browse, error);
    } else if (!is_array(&report)) {
        tr_console_note_error(TR_NOT_FOUND);
        status = tr_command_refused(invocation->command, "'%.*s' is no map, and has no elements",
                                    TRI_SHOWN(target->path));
    } else {
        status = show(browse, &elements);
    }
    tr_get_report_fini(&report);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_browse_first(invocation, elements_of);
}

static const struct tr_option options[] = {
    {0, "phase", "PHASE,...", "only in these phases: failed, running, waiting-to-retry, ...", NULL,
     0, false},
    {0, "code", "CODE", "only those that failed with this code", NULL, 0, false},
    {0, "from", "ELEMENT", "from this one on (else 0)", NULL, 0, false},
    {0, "limit", "N", "at most so many (else 50; 0: all)", NULL, 0, false},
    {0, "summary", NULL, "all in numbers: phases by ranges, failures, durations, the slowest", NULL,
     0, false},
    {0, "count", "N", "of a summary: of so many from there on (else all)", NULL, 0, false},
    {0, "ranges", "N", "of a summary: phases in so many ranges at most (else 20)", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_elements = {
    .name = "elements",
    .summary = "show the elements of an array, or all of them in numbers",
    .words = "EXEC/NODE",
    .text = "Elements are counted from 0 on. `troupe get EXEC/NODE[17]` shows all of one.",
    .examples = "  troupe elements @last/squares --phase failed\n"
                "  troupe elements @last/squares --code OOMKilled -o json\n"
                "  troupe elements @last/squares --summary --ranges 100",
    .options = options,
    .outputs = "table|json|yaml",
    .has_store = true,
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
