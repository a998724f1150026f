/*
 * Following a failure down: its execution names the deepest node, and each node on the way there
 * has a row of its own.
 */
#include "deploy/recovery/causes.h"

#include <string.h>

#include "deploy/common/schemas.h"
#include "deploy/history/elements.h"
#include "deploy/recovery/reuse.h"
#include "schemas/codec/error.h"

/* One more link; NULL when there are too many. */
static struct tr_cause *add(struct tr_causes *causes)
{
    if (causes->count == TR_CAUSES_MAX) {
        return NULL;
    }
    struct tr_cause *cause = &causes->items[causes->count++];
    *cause = (struct tr_cause){.element = TR_ELEMENT_NONE};
    return cause;
}

static struct tr_text keep(struct tr_causes *causes, struct tr_text text)
{
    return tr_arena_text(&causes->arena, text);
}

/* ------------------------------------------------------------------- the execution */

/* What its last change of phase said. */
static int take_phase(void *self, const void *value)
{
    struct tr_causes *causes = self;
    const struct tr_phase *row = value;
    struct tr_cause *cause = &causes->items[0];
    if (row->subject == TR_SUBJECT_EXECUTION && cause->message.size == 0 && row->cause.size > 0) {
        cause->message = keep(causes, row->cause);
    }
    return causes->arena.error;
}

static int add_execution(struct tr_causes *causes)
{
    const struct tr_execution *execution = causes->execution;
    struct tr_cause *cause = add(causes);
    cause->path = tr_text_of("");
    cause->phase = tr_text_of(tr_execution_phase_word(execution->phase));
    cause->code = execution->code;
    cause->message = execution->message;
    if (cause->message.size > 0) {
        return 0;
    }
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution->execution),
        tr_filter_number("subject", TR_FILTER_EQUAL, TR_SUBJECT_EXECUTION),
        tr_filter_number("phase", TR_FILTER_GREATER, TR_EXECUTION_RUNNING),
    };
    struct tr_reader_query query = {
        .record = &tr_phase_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(causes->reader, &query, take_phase, causes);
}

/* ----------------------------------------------------------------------- the nodes */

static int take_node(void *self, const void *value)
{
    struct tr_causes *causes = self;
    const struct tr_node_status *row = value;
    struct tr_cause *cause = add(causes);
    if (cause != NULL) {
        cause->path = keep(causes, row->path);
        cause->phase = tr_text_of(tr_node_phase_word(row->phase));
        cause->code = keep(causes, row->code);
        cause->message = keep(causes, row->message);
    }
    return causes->arena.error;
}

/* Adds the node of a path, if it has a row. */
static int add_node(struct tr_causes *causes, struct tr_text path)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, causes->execution->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(causes->reader, &query, take_node, causes);
}

static int take_entry(void *self, const struct tr_element_entry *entry)
{
    struct tr_causes *causes = self;
    struct tr_cause *cause = &causes->items[causes->count - 1];
    cause->phase = tr_text_of(tr_node_phase_word(entry->phases[entry->phase_count - 1]));
    cause->code = keep(causes, entry->code);
    cause->message = keep(causes, entry->message);
    return causes->arena.error;
}

/* Adds an element of an array, as its latest change has it. */
static int add_element(struct tr_causes *causes, struct tr_text path, uint64_t element)
{
    struct tr_cause *cause = add(causes);
    if (cause == NULL) {
        return 0;
    }
    cause->path = path;
    cause->element = element;
    return tr_elements_read(causes->reader, causes->ran_in, path, element, take_entry, causes);
}

/* The number in brackets at the end of a part of a path; TR_ELEMENT_NONE if there is none. */
static uint64_t element_of(struct tr_text path, size_t *bracket)
{
    uint64_t element = 0;
    if (path.size == 0 || path.data[path.size - 1] != ']') {
        return TR_ELEMENT_NONE;
    }
    size_t at = path.size - 1;
    while (at > 0 && path.data[at - 1] != '[') {
        at--;
    }
    for (size_t i = at; i + 1 < path.size; i++) {
        element = 10 * element + (uint64_t)(path.data[i] - '0');
    }
    *bracket = at == 0 ? 0 : at - 1;
    return element;
}

/* Adds the node at the end of a path, and the element of it that the path goes on with. */
static int add_part(struct tr_causes *causes, struct tr_text path)
{
    uint64_t element = element_of(path, &path.size);
    int error = add_node(causes, path);
    return error == 0 && element != TR_ELEMENT_NONE ? add_element(causes, path, element) : error;
}

/* Adds each node from `begin` on to the one that failed, which may lie in elements. */
static int add_nodes(struct tr_causes *causes, size_t begin)
{
    struct tr_text failed = causes->failed;
    int error = 0;
    for (size_t end = begin; error == 0 && end <= failed.size; end++) {
        if (end == failed.size || failed.data[end] == '/') {
            error = add_part(causes, (struct tr_text){.data = failed.data, .size = end});
        }
    }
    uint64_t element = causes->failed_element;
    return error == 0 && element != TR_ELEMENT_NONE ? add_element(causes, failed, element) : error;
}

/* --------------------------------------------------------------------- the attempts */

static int take_attempt(void *self, const void *value)
{
    struct tr_causes *causes = self;
    const struct tr_attempt *row = value;
    struct tr_cause *cause = row->code.size == 0 && row->message.size == 0 ? NULL : add(causes);
    if (cause != NULL) {
        cause->path = causes->failed;
        cause->element = row->element;
        cause->phase = tr_text_of(tr_task_phase_word(row->phase));
        cause->code = keep(causes, row->code);
        cause->message = keep(causes, row->message);
        cause->is_attempt = true;
        cause->attempt = *row;
        return tr_schemas_row_keep(&causes->arena, &tr_attempt_schema, &cause->attempt);
    }
    return causes->arena.error;
}

static int add_attempts(struct tr_causes *causes)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, causes->ran_in),
        tr_filter_text("path", TR_FILTER_EQUAL, causes->failed),
        tr_filter_number("element", TR_FILTER_EQUAL, causes->failed_element),
    };
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(causes->reader, &query, take_attempt, causes);
}

int tr_causes_read(struct tr_reader *reader, const struct tr_execution *execution,
                   const struct tr_target *target, struct tr_causes *causes)
{
    bool has_target = target->path.size > 0;
    causes->count = 0;
    causes->execution = execution;
    causes->reader = reader;
    causes->failed = has_target ? target->path : execution->failed;
    causes->failed_element = has_target ? target->element : execution->failed_element;
    tr_arena_init(&causes->arena);
    causes->ran_in = execution->execution;
    int error = has_target ? tr_reuse_origin(reader, execution->execution, target->path,
                                             target->element, &causes->ran_in)
                           : add_execution(causes);
    if (error == 0 && causes->failed.size > 0) {
        /* Of an element that is meant itself its array says nothing new. */
        bool is_element = has_target && target->element != TR_ELEMENT_NONE;
        error = is_element ? add_element(causes, causes->failed, target->element)
                           : add_nodes(causes, has_target ? causes->failed.size : 1);
        if (error == 0) {
            error = add_attempts(causes);
        }
    }
    if (error != 0) {
        tr_causes_fini(causes);
    }
    return error;
}

void tr_causes_fini(struct tr_causes *causes)
{
    tr_arena_fini(&causes->arena);
    causes->count = 0;
}

const struct tr_attempt *tr_causes_attempt(const struct tr_causes *causes)
{
    const struct tr_cause *last = causes->count == 0 ? NULL : &causes->items[causes->count - 1];
    return last != NULL && last->is_attempt ? &last->attempt : NULL;
}
