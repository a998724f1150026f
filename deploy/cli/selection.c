/*
 * Finding executions by words, globs and labels, and asking before many of them are changed.
 */
#include "deploy/cli/selection.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/console/console.h"
#include "deploy/selection/execution_filter.h"
#include "runtime/limits.h"
#include "runtime/memory.h"
#include "runtime/trace/glob.h"
#include "schemas/codec/error.h"

struct search {
    struct tr_selection *selection;
    struct tr_reader *reader;
    struct tr_text pattern; /* without one all are meant */
    uint64_t *numbers;      /* of those that were found */
    size_t number_count;
    size_t number_capacity;
};

/* ------------------------------------------------------------------------- finding */

static bool is_known(const struct tr_selection *selection, uint64_t execution)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (selection->items[i].row.execution == execution) {
            return true;
        }
    }
    return false;
}

/* Takes a copy over, which is gone afterwards whatever comes of it. */
static int add(struct tr_selection *selection, struct tr_executions_row *copy)
{
    if (is_known(selection, copy->row.execution)) {
        tr_executions_row_fini(copy);
        return 0;
    }
    if (selection->count == selection->capacity) {
        size_t capacity = 2 * selection->capacity + 8;
        struct tr_executions_row *grown =
            tr_realloc(selection->items, capacity * sizeof *selection->items);
        if (grown == NULL) {
            tr_executions_row_fini(copy);
            return TR_MEMORY;
        }
        selection->items = grown;
        selection->capacity = capacity;
    }
    selection->items[selection->count++] = *copy;
    return 0;
}

/* Whether a glob means an execution, by its name or by its address. */
static bool is_meant(struct tr_text pattern, const struct tr_execution *row)
{
    char address[TR_ADDRESS_BYTES_MAX];
    size_t skipped = pattern.size > 0 && pattern.data[0] == '/' ? 1 : 0;
    struct tr_text own = {.data = pattern.data + skipped, .size = pattern.size - skipped};
    int size = snprintf(address, sizeof address, "%.*s/%.*s/%.*s", (int)row->project.size,
                        row->project.data, (int)row->domain.size, row->domain.data,
                        (int)row->name.size, row->name.data);
    struct tr_text whole = {.data = address, .size = (size_t)size};
    return tri_glob_match(own, memchr(own.data, '/', own.size) != NULL ? whole : row->name);
}

static int note(void *self, const void *value)
{
    struct search *search = self;
    const struct tr_execution *row = value;
    if (search->pattern.size > 0 && !is_meant(search->pattern, row)) {
        return 0;
    }
    if (search->number_count == search->number_capacity) {
        size_t capacity = 2 * search->number_capacity + 64;
        uint64_t *grown = tr_realloc(search->numbers, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        search->numbers = grown;
        search->number_capacity = capacity;
    }
    search->numbers[search->number_count++] = row->execution;
    return 0;
}

/*
 * Adds those that have not ended and suit, the oldest first, so that what has launched others comes
 * before them. TR_NOT_FOUND: there are none.
 */
static int find_unfinished(struct search *search, const char *glob,
                           const struct tr_label_selector *labels)
{
    struct tr_execution_query made;
    struct tr_execution_filter filter = {.phases = tr_execution_phases_unfinished()};
    if (labels != NULL) {
        filter.labels = *labels;
    }
    tr_execution_query_init(&made, &filter, true);
    made.query.order[0].is_descending = made.query.order[1].is_descending = false;
    search->pattern = tr_text_of(glob);
    search->number_count = 0;
    int error = tr_reader_rows(search->reader, &made.query, note, search);
    for (size_t i = 0; error == 0 && i < search->number_count; i++) {
        struct tr_executions_row copy;
        error = tr_executions_get(search->reader, search->numbers[i], &copy);
        if (error == 0) {
            error = add(search->selection, &copy);
        }
    }
    return error == 0 && search->number_count == 0 ? TR_NOT_FOUND : error;
}

static int find_glob(struct search *search, const char *word, char *problem)
{
    int error = find_unfinished(search, word, NULL);
    if (error == TR_NOT_FOUND) {
        snprintf(problem, TR_EXECUTIONS_PROBLEM_BYTES,
                 "'%.80s' matches no unfinished execution; `troupe list` shows all", word);
    }
    return error;
}

static int find_labels(struct search *search, const struct tr_label_selector *labels, char *problem)
{
    int error = find_unfinished(search, NULL, labels);
    if (error == TR_NOT_FOUND) {
        snprintf(problem, TR_EXECUTIONS_PROBLEM_BYTES,
                 "no unfinished execution has these labels; `troupe list -o wide` shows "
                 "the labels of all");
    }
    return error;
}

static int find_word(struct search *search, const char *word, char *problem)
{
    struct tr_executions_row copy = {.texts = NULL};
    if (strchr(word, '*') != NULL) {
        return find_glob(search, word, problem);
    }
    int error = tr_executions_find(search->reader, word, problem, &copy);
    return error != 0 ? error : add(search->selection, &copy);
}

/* Either words or labels say what is meant. */
static enum tr_exit_status check_words(const struct tr_invocation *invocation,
                                       const struct tr_label_selector *labels)
{
    bool has_words = invocation->arguments.word_count > 0;
    bool has_labels = labels->terms.count > 0;
    if (has_words && has_labels) {
        return tr_command_mistake(invocation->command,
                                  "executions are named, or chosen by --label; write one of both");
    }
    return has_words || has_labels
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command,
                                    "name an execution, or choose some by --label");
}

static enum tr_exit_status find_all(const struct tr_invocation *invocation, const char *folder,
                                    const struct tr_label_selector *labels,
                                    struct tr_selection *selection)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    struct search search = {.selection = selection};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char problem[TR_EXECUTIONS_PROBLEM_BYTES] = "";
    int error = tr_history_open(folder, explain, &search.reader);
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    if (labels->terms.count > 0) {
        error = find_labels(&search, labels, problem);
    }
    for (size_t i = 0; error == 0 && i < arguments->word_count; i++) {
        error = find_word(&search, arguments->words[i], problem);
    }
    tr_reader_close(search.reader);
    tr_free(search.numbers);
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_refused(invocation->command, "%s", problem);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(invocation->command, "the history cannot be read: %s",
                                          tr_error_text(error));
}

/* -------------------------------------------------------------------------- asking */

enum tr_exit_status tr_selection_ask(const struct tr_invocation *invocation, const char *verb,
                                     const char *what, const struct tr_text *names, size_t count)
{
    char line[16] = "";
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
        return tr_command_refused(invocation->command,
                                  "these are %zu %s; give --yes if you mean all of them", count,
                                  what);
    }
    fprintf(stderr, "%s %zu %s: ", verb, count, what);
    for (size_t i = 0; i < count && i < TR_SELECTION_NAMED; i++) {
        fprintf(stderr, "%s%.*s", i > 0 ? ", " : "", (int)names[i].size, names[i].data);
    }
    if (count > TR_SELECTION_NAMED) {
        fprintf(stderr, " and %zu more", count - TR_SELECTION_NAMED);
    }
    fprintf(stderr, "? [y/N] ");
    if (fgets(line, sizeof line, stdin) == NULL || (line[0] != 'y' && line[0] != 'Y')) {
        return tr_command_refused(invocation->command, "nothing was changed");
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status ask(const struct tr_invocation *invocation, const char *verb,
                               const struct tr_selection *selection)
{
    struct tr_text names[TR_SELECTION_NAMED];
    for (size_t i = 0; i < selection->count && i < TR_SELECTION_NAMED; i++) {
        names[i] = selection->items[i].row.name;
    }
    return tr_selection_ask(invocation, verb, "executions", names, selection->count);
}

enum tr_exit_status tr_selection_find(const struct tr_invocation *invocation, const char *folder,
                                      const char *verb, struct tr_selection *out)
{
    struct tr_selection selection = {.count = 0};
    struct tr_label_selector labels = {0};
    struct tr_arena arena;
    tr_arena_init(&arena);
    enum tr_exit_status status = tr_filters_read_labels(invocation, &arena, &labels);
    if (status == TR_EXIT_DONE) {
        status = check_words(invocation, &labels);
    }
    if (status == TR_EXIT_DONE) {
        status = find_all(invocation, folder, &labels, &selection);
    }
    tr_arena_fini(&arena);
    if (status == TR_EXIT_DONE && selection.count > 1 &&
        !tr_arguments_has(&invocation->arguments, "yes")) {
        status = ask(invocation, verb, &selection);
    }
    if (status != TR_EXIT_DONE) {
        tr_selection_fini(&selection);
        return status;
    }
    *out = selection;
    return TR_EXIT_DONE;
}

void tr_selection_fini(struct tr_selection *selection)
{
    for (size_t i = 0; i < selection->count; i++) {
        tr_executions_row_fini(&selection->items[i]);
    }
    tr_free(selection->items);
    *selection = (struct tr_selection){.count = 0};
}
