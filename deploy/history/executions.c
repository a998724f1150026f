/*
 * Finding executions in the history.
 */
#include "deploy/history/executions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/common/schemas.h"
#include "runtime/memory.h"

/* How many of those that might be meant a message names. */
#define NAMED_MAX 5

/* Steps between numbers of executions that are read together; a worker's own are 16 apart. */
#define NEAR_MAX 64

int tr_history_open(const char *folder, char *explain, struct tr_reader **reader)
{
    struct tr_reader_options options = {
        .folder = folder, .records = tr_program_records, .record_count = tr_program_record_count};
    return tr_reader_open(&options, explain, reader);
}

/* ------------------------------------------------------------------------- copies */

/* Moves a text into the block of all texts. */
static struct tr_text keep(char **at, struct tr_text text)
{
    if (text.size == 0) {
        return tr_text_of("");
    }
    memcpy(*at, text.data, text.size);
    struct tr_text kept = {.data = *at, .size = text.size};
    *at += text.size;
    return kept;
}

static struct tr_bytes keep_bytes(char **at, struct tr_bytes bytes)
{
    struct tr_text text = {.data = (const char *)bytes.data, .size = bytes.size};
    return (struct tr_bytes){.data = (const uint8_t *)keep(at, text).data, .size = bytes.size};
}

#define TEXTS(T)     \
    T(project)       \
    T(domain)        \
    T(name)          \
    T(workflow)      \
    T(plan)          \
    T(parent)        \
    T(cause)         \
    T(code)          \
    T(message)       \
    T(failed)        \
    T(settings)      \
    T(recovery)      \
    T(flyte_message) \
    T(labels)

/* Takes the first row, or replaces what there was: the last one stays. */
static int take(void *self, const void *value)
{
    struct tr_executions_row *copy = self;
    const struct tr_execution *row = value;
    size_t size = row->graph.size + row->request.size + 1;
#define ADD(name) size += row->name.size;
    TEXTS(ADD)
#undef ADD
    char *texts = tr_alloc(size);
    if (texts == NULL) {
        return TR_MEMORY;
    }
    tr_free(copy->texts);
    copy->texts = texts;
    copy->row = *row;
    char *at = texts;
#define KEEP(name) copy->row.name = keep(&at, row->name);
    TEXTS(KEEP)
#undef KEEP
    copy->row.graph = keep_bytes(&at, row->graph);
    copy->row.request = keep_bytes(&at, row->request);
    return 0;
}

void tr_executions_row_fini(struct tr_executions_row *copy)
{
    tr_free(copy->texts);
    *copy = (struct tr_executions_row){.texts = NULL};
}

/* ------------------------------------------------------------------------ queries */

/* Copies the first row of a query. */
static int first(struct tr_reader *reader, struct tr_reader_query *query,
                 struct tr_executions_row *out)
{
    struct tr_executions_row copy = {.texts = NULL};
    query->record = &tr_execution_schema;
    query->limit = 1;
    int error = tr_reader_rows(reader, query, take, &copy);
    if (error == 0 && copy.texts == NULL) {
        error = TR_NOT_FOUND;
    }
    if (error != 0) {
        tr_executions_row_fini(&copy);
        return error;
    }
    *out = copy;
    return 0;
}

int tr_executions_get(struct tr_reader *reader, uint64_t number, struct tr_executions_row *copy)
{
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, number);
    struct tr_reader_query query = {.filters = &filter, .filter_count = 1};
    return first(reader, &query, copy);
}

/* How many numbers ascend in small steps, from the first of at least one on. */
static size_t count_near(const uint64_t *numbers, size_t count)
{
    size_t near = 1;
    while (near < count && numbers[near] > numbers[near - 1] &&
           numbers[near] - numbers[near - 1] <= NEAR_MAX) {
        near++;
    }
    return near;
}

/* Executions that lie near each other. */
struct near {
    const uint64_t *numbers;
    size_t count;
    struct tr_executions_row *copies;
};

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *other = b;
    return *one < *other ? -1 : *one > *other;
}

/* One between them is passed over. */
static int take_near(void *self, const void *value)
{
    const struct near *near = self;
    const struct tr_execution *row = value;
    const uint64_t *number = bsearch(&row->execution, near->numbers, near->count,
                                     sizeof *near->numbers, compare_numbers);
    return number == NULL ? 0 : take(&near->copies[number - near->numbers], row);
}

static int get_near(struct tr_reader *reader, struct near *near)
{
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_GREATER_EQUAL, near->numbers[0]),
        tr_filter_number("execution", TR_FILTER_LESS_EQUAL, near->numbers[near->count - 1])};
    const struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reader, &query, take_near, near);
}

int tr_executions_get_all(struct tr_reader *reader, const uint64_t *numbers, size_t count,
                          struct tr_executions_row *copies)
{
    int error = 0;
    for (size_t i = 0; i < count; i++) {
        copies[i] = (struct tr_executions_row){.texts = NULL};
    }
    for (size_t at = 0; error == 0 && at < count;) {
        struct near near = {.numbers = numbers + at,
                            .count = count_near(numbers + at, count - at),
                            .copies = copies + at};
        error = get_near(reader, &near);
        at += near.count;
    }
    for (size_t i = 0; error != 0 && i < count; i++) {
        tr_executions_row_fini(&copies[i]);
    }
    return error;
}

int tr_executions_named(struct tr_reader *reader, struct tr_text project, struct tr_text domain,
                        struct tr_text name, struct tr_executions_row *copy)
{
    struct tr_reader_filter filters[] = {
        tr_filter_text("name", TR_FILTER_EQUAL, name),
        tr_filter_text("project", TR_FILTER_EQUAL, project),
        tr_filter_text("domain", TR_FILTER_EQUAL, domain),
    };
    struct tr_reader_query query = {.filters = filters,
                                    .filter_count = TR_COUNT_OF(filters),
                                    .order = {{.field = "created_ms", .is_descending = true}}};
    return first(reader, &query, copy);
}

static int find_last(struct tr_reader *reader, char *problem, struct tr_executions_row *copy)
{
    struct tr_reader_query query = {.order = {{.field = "created_ms", .is_descending = true}}};
    int error = first(reader, &query, copy);
    if (error == TR_NOT_FOUND) {
        snprintf(problem, TR_EXECUTIONS_PROBLEM_BYTES, "there is no execution in this store yet");
    }
    return error;
}

/* PROJECT/DOMAIN/NAME, cut into its parts; false if it is not. */
static bool cut(const char *word, struct tr_text parts[3])
{
    word += word[0] == '/' ? 1 : 0;
    for (size_t i = 0; i < 3; i++) {
        size_t size = strcspn(word, "/");
        parts[i] = (struct tr_text){.data = word, .size = size};
        word += size;
        if (i < 2 && *word++ != '/') {
            return false;
        }
    }
    return *word == '\0';
}

/* Those that might be meant, for a message. */
struct selection {
    struct tr_executions_row copy;
    uint64_t count;
    size_t size;
    char names[TR_EXECUTIONS_PROBLEM_BYTES / 2];
};

static int note(void *self, const void *value)
{
    struct selection *selection = self;
    const struct tr_execution *row = value;
    if (selection->count < NAMED_MAX) {
        int size =
            snprintf(selection->names + selection->size, sizeof selection->names - selection->size,
                     "%s%.*s/%.*s/%.*s", selection->count > 0 ? ", " : "", (int)row->project.size,
                     row->project.data, (int)row->domain.size, row->domain.data,
                     (int)row->name.size, row->name.data);
        selection->size += size > 0 ? (size_t)size : 0;
    }
    selection->count++;
    return selection->count == 1 ? take(&selection->copy, row) : 0;
}

/* All whose name is this, or begins so. */
static int find_some(struct tr_reader *reader, const char *word, enum tr_filter_op op,
                     struct selection *selection)
{
    struct tr_reader_filter filter = tr_filter_text("name", op, tr_text_of(word));
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = &filter,
                                    .filter_count = 1,
                                    .order = {{.field = "created_ms", .is_descending = true}},
                                    .limit = NAMED_MAX + 1};
    return tr_reader_rows(reader, &query, note, selection);
}

static int find_by_name(struct tr_reader *reader, const char *word, char *problem,
                        struct tr_executions_row *copy)
{
    struct selection selection = {.count = 0};
    int error = find_some(reader, word, TR_FILTER_EQUAL, &selection);
    if (error == 0 && selection.count == 0) {
        error = find_some(reader, word, TR_FILTER_PREFIX, &selection);
    }
    if (error == 0 && selection.count == 0) {
        snprintf(problem, TR_EXECUTIONS_PROBLEM_BYTES,
                 "there is no execution '%.80s'; @last is the newest, `troupe list` shows all",
                 word);
        error = TR_NOT_FOUND;
    } else if (error == 0 && selection.count > 1) {
        snprintf(problem, TR_EXECUTIONS_PROBLEM_BYTES, "'%.80s' may be %s%s; write more of it",
                 word, selection.names, selection.count > NAMED_MAX ? ", ..." : "");
        error = TR_INVALID;
    }
    if (error != 0) {
        tr_executions_row_fini(&selection.copy);
        return error;
    }
    *copy = selection.copy;
    return 0;
}

int tr_executions_find(struct tr_reader *reader, const char *word, char *problem,
                       struct tr_executions_row *copy)
{
    struct tr_text parts[3];
    problem[0] = '\0';
    if (strcmp(word, "@last") == 0) {
        return find_last(reader, problem, copy);
    }
    if (strchr(word, '/') == NULL) {
        return find_by_name(reader, word, problem, copy);
    }
    int error = TR_NOT_FOUND;
    if (cut(word, parts)) {
        error = tr_executions_named(reader, parts[0], parts[1], parts[2], copy);
    }
    if (error == TR_NOT_FOUND) {
        snprintf(problem, TR_EXECUTIONS_PROBLEM_BYTES,
                 "there is no execution '%.200s'; write PROJECT/DOMAIN/NAME, or NAME alone", word);
    }
    return error;
}
