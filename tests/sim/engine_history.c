/*
 * Rows of history, taken in as they are committed. Each change of phase must be one that the tables
 * allow; when an execution has ended nothing of it may run outside.
 */
#include "tests/sim/engine_history.h"

#include "tests/sim/timetable.h"
#include "tests/sim/told.h"
#include "tests/support/flow_random.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An execution that another one has launched. */
struct origin {
    struct origin *next;
    struct sim_execution *first; /* the one that launched it, or launched that one, ... */
    uint64_t number;
    char name[64];
    char place[SIM_PATH_BYTES];       /* "n1[2]!" */
    char inherited[SIM_LABELS_BYTES]; /* the labels of who launched it */
    char labels[SIM_LABELS_BYTES];
    uint8_t phase;
    bool is_paused;
};

struct sim_history {
    struct sim_stage *stage;
    struct origin *origins;
    struct sim_observation_of **entries; /* a table by who it is */
    uint32_t capacity;
    uint32_t count;
};

struct sim_history *sim_history_new(struct sim_stage *stage)
{
    struct sim_history *history = sim_must(calloc(1, sizeof *history));
    history->stage = stage;
    history->capacity = 256;
    history->entries = sim_must(calloc(history->capacity, sizeof(struct sim_observation_of *)));
    return history;
}

void sim_history_free(struct sim_history *history)
{
    for (uint32_t i = 0; i < history->capacity; i++) {
        if (history->entries[i] != NULL) {
            free(history->entries[i]->values[TR_VALUE_INPUTS].data);
            free(history->entries[i]->values[TR_VALUE_OUTPUTS].data);
            free(history->entries[i]);
        }
    }
    while (history->origins != NULL) {
        struct origin *origin = history->origins;
        history->origins = origin->next;
        free(origin);
    }
    free(history->entries);
    free(history);
}

/* ------------------------------------------------------------------------------------ the table */

static uint64_t digest_of(uint32_t host, uint64_t number, struct tr_text path, uint64_t element)
{
    uint64_t digest = sim_mix(sim_mix(number ^ (uint64_t)host << 32) ^ element);
    for (size_t i = 0; i < path.size; i++) {
        digest = sim_mix(digest ^ (uint8_t)path.data[i]);
    }
    return digest;
}

static struct sim_observation_of **place_of(const struct sim_history *history, uint32_t host,
                                            uint64_t number, struct tr_text path, uint64_t element)
{
    uint64_t at = digest_of(host, number, path, element);
    struct sim_observation_of **place;
    for (;;) {
        place = &history->entries[at++ & (history->capacity - 1)];
        const struct sim_observation_of *entry = *place;
        if (entry == NULL ||
            (entry->host == host && entry->number == number && entry->element == element &&
             tr_text_equal(tr_text_of(entry->path), path))) {
            return place;
        }
    }
}

static void grow(struct sim_history *history)
{
    struct sim_observation_of **old = history->entries;
    uint32_t count = history->capacity;
    history->capacity *= 2;
    history->entries = sim_must(calloc(history->capacity, sizeof(struct sim_observation_of *)));
    for (uint32_t i = 0; i < count; i++) {
        if (old[i] != NULL) {
            *place_of(history, old[i]->host, old[i]->number, tr_text_of(old[i]->path),
                      old[i]->element) = old[i];
        }
    }
    free(old);
}

/* The entry, made where it is missing. */
static struct sim_observation_of *entry_at(struct sim_history *history, uint32_t host,
                                           uint64_t number, struct tr_text path, uint64_t element)
{
    if (history->count * 2 > history->capacity) {
        grow(history);
    }
    struct sim_observation_of **place = place_of(history, host, number, path, element);
    if (*place == NULL) {
        struct sim_observation_of *entry = sim_must(calloc(1, sizeof *entry));
        TR_ASSERT(path.size < SIM_PATH_BYTES);
        entry->host = host;
        entry->number = number;
        entry->element = element;
        memcpy(entry->path, path.data, path.size);
        *place = entry;
        history->count++;
    }
    return *place;
}

struct sim_observation_of *sim_history_find(const struct sim_history *history, uint32_t host,
                                            uint64_t number, struct tr_text path, uint64_t element)
{
    return *place_of(history, host, number, path, element);
}

struct sim_observation_of *sim_history_next(const struct sim_history *history, uint32_t *cursor)
{
    while (*cursor < history->capacity) {
        struct sim_observation_of *entry = history->entries[(*cursor)++];
        if (entry != NULL) {
            return entry;
        }
    }
    return NULL;
}

uint64_t sim_history_row_count(const struct sim_history *history, uint32_t host)
{
    uint64_t count = 0;
    uint32_t cursor = 0;
    const struct sim_observation_of *entry;
    while ((entry = sim_history_next(history, &cursor)) != NULL) {
        count += entry->host == host && entry->has_row ? 1 : 0;
    }
    return count;
}

/* -------------------------------------------------------------------------- launched executions */

static struct origin *find_origin(const struct sim_history *history, uint32_t host, uint64_t number)
{
    struct origin *origin = history->origins;
    while (origin != NULL && (origin->number != number || origin->first->host != host)) {
        origin = origin->next;
    }
    return origin;
}

struct sim_execution *sim_history_whose(const struct sim_history *history, uint32_t host,
                                        uint64_t number, struct tr_text path,
                                        char whole[SIM_PATH_BYTES])
{
    const struct origin *origin = find_origin(history, host, number);
    struct sim_stage *stage = history->stage;
    int size = snprintf(whole, SIM_PATH_BYTES, "%s%s%.*s", origin != NULL ? origin->place : "",
                        origin != NULL && path.size > 0 ? "/" : "", (int)path.size, path.data);
    TR_ASSERT(size < SIM_PATH_BYTES);
    if (origin != NULL) {
        return origin->first;
    }
    for (uint32_t i = 0; i < stage->execution_count; i++) {
        if (stage->executions[i].host == host && stage->executions[i].number == number) {
            return &stage->executions[i];
        }
    }
    return NULL;
}

struct sim_execution *sim_history_named(const struct sim_history *history, uint32_t host,
                                        struct tr_text address)
{
    for (uint32_t i = 0; i < history->stage->execution_count; i++) {
        struct sim_execution *execution = &history->stage->executions[i];
        struct tr_text name = tr_text_of(execution->name);
        if (execution->host == host && address.size > name.size &&
            address.data[address.size - name.size - 1] == '/' &&
            memcmp(address.data + address.size - name.size, name.data, name.size) == 0) {
            return execution;
        }
    }
    return NULL;
}

static struct sim_observation_of *entry_of(struct sim_history *history, uint32_t host,
                                           uint64_t number, struct tr_text path, uint64_t element)
{
    char whole[SIM_PATH_BYTES];
    const struct sim_execution *whose = sim_history_whose(history, host, number, path, whole);
    return entry_at(history, host, whose != NULL ? whose->number : number, tr_text_of(whole),
                    element);
}

/* ------------------------------------------------------------------------------------ labels */

struct tr_text sim_labels_of(const struct sim_execution *execution, char labels[SIM_LABELS_BYTES])
{
    (void)snprintf(labels, SIM_LABELS_BYTES, "origin=%s", execution->name);
    return tr_text_of(labels);
}

/* Finds the value of a key, in a text of labels, "a=b,c=d". */
static struct tr_text value_of(struct tr_text labels, const char *key)
{
    size_t size = strlen(key);
    for (size_t begin = 0; begin < labels.size;) {
        const char *at = labels.data + begin;
        const char *comma = memchr(at, ',', labels.size - begin);
        size_t length = comma == NULL ? labels.size - begin : (size_t)(comma - at);
        if (length > size && memcmp(at, key, size) == 0 && at[size] == '=') {
            return (struct tr_text){.data = at + size + 1, .size = length - size - 1};
        }
        begin += length + 1;
    }
    return (struct tr_text){0};
}

/* What several texts of labels come to, of which later ones win. Their keys are in order. */
static void merge_labels(const struct tr_text *layers, size_t count, char labels[SIM_LABELS_BYTES])
{
    size_t size = 0;
    labels[0] = '\0';
    for (size_t k = 0; k < FLOW_RANDOM_LABELS; k++) {
        struct tr_text value = {0};
        for (size_t i = 0; i < count; i++) {
            struct tr_text own = value_of(layers[i], flow_random_label_keys[k]);
            sim_engine_seen.labels_outweighed += value.size > 0 && own.size > 0 ? 1 : 0;
            value = own.size > 0 ? own : value;
        }
        if (value.size > 0) {
            size += (size_t)snprintf(labels + size, SIM_LABELS_BYTES - size, "%s%s=%.*s",
                                     size > 0 ? "," : "", flow_random_label_keys[k],
                                     (int)value.size, value.data);
        }
    }
    TR_ASSERT(size < SIM_LABELS_BYTES);
}

/* What is inherited, then the workflow's, its plan's, and those that are asked for. */
static void expect_labels(const struct sim_execution *execution, const struct tr_execution *row,
                          const struct sim_history *history, struct tr_text inherited,
                          struct tr_text asked, char labels[SIM_LABELS_BYTES])
{
    const struct tr_graph *graph = history->stage->graphs[execution->graph].graph;
    uint32_t workflow = tr_graph_find_workflow(graph, row->workflow);
    uint32_t plan = row->plan.size == 0 ? TR_GRAPH_NONE : tr_graph_find_plan(graph, row->plan);
    const struct tr_text layers[] = {
        inherited,
        workflow == TR_GRAPH_NONE ? tr_text_of("") : graph->workflows[workflow].labels,
        plan == TR_GRAPH_NONE ? tr_text_of("") : graph->plans[plan].labels,
        asked,
    };
    merge_labels(layers, TR_COUNT_OF(layers), labels);
}

/* The labels of an execution that people launch. */
static void expect_own_labels(const struct sim_history *history,
                              const struct sim_execution *execution, char labels[SIM_LABELS_BYTES])
{
    const struct tr_graph *graph = history->stage->graphs[execution->graph].graph;
    char asked[SIM_LABELS_BYTES];
    const struct tr_execution row = {.workflow = graph->workflows[graph->main_workflow].name};
    expect_labels(execution, &row, history, tr_text_of(""), sim_labels_of(execution, asked),
                  labels);
}

/* "/default/development/EXECUTION/PATH", the node that launched: fills in whose it is. */
static bool read_parent(const struct sim_history *history, const struct sim_host *host,
                        struct tr_text parent, struct origin *origin)
{
    static const char head[] = "/default/development/";
    char name[64];
    char path[SIM_PATH_BYTES];
    char text[SIM_PATH_BYTES];
    (void)snprintf(text, sizeof text, "%.*s", (int)parent.size, parent.data);
    if (strncmp(text, head, sizeof head - 1) != 0 ||
        sscanf(text + sizeof head - 1, "%63[^/]/%200s", name, path) != 2) {
        return false;
    }
    const char *before = "";
    for (const struct origin *other = history->origins; other != NULL; other = other->next) {
        if (other->first->host == host->index && strcmp(other->name, name) == 0) {
            origin->first = other->first;
            before = other->place;
            memcpy(origin->inherited, other->labels, sizeof origin->inherited);
        }
    }
    for (uint32_t i = 0; i < history->stage->execution_count; i++) {
        struct sim_execution *execution = &history->stage->executions[i];
        if (execution->host == host->index && strcmp(execution->name, name) == 0) {
            origin->first = execution;
            expect_own_labels(history, execution, origin->inherited);
        }
    }
    int size = snprintf(origin->place, sizeof origin->place, "%s%s%s!", before,
                        before[0] != '\0' ? "/" : "", path);
    return origin->first != NULL && size < SIM_PATH_BYTES;
}

/* How a launched execution stands, in the phases of nodes. */
static uint8_t node_phase_of(uint8_t phase)
{
    return phase == TR_EXECUTION_SUCCEEDED   ? TR_NODE_PHASE_SUCCEEDED
           : phase == TR_EXECUTION_FAILED    ? TR_NODE_PHASE_FAILED
           : phase == TR_EXECUTION_ABORTED   ? TR_NODE_PHASE_ABORTED
           : phase == TR_EXECUTION_TIMED_OUT ? TR_NODE_PHASE_TIMED_OUT
                                             : TR_NODE_PHASE_RUNNING;
}

static void set_graph(struct sim_observation_of *entry, struct tr_bytes hash)
{
    entry->has_graph = hash.size == TR_GRAPH_HASH_BYTES;
    if (entry->has_graph) {
        memcpy(entry->graph, hash.data, TR_GRAPH_HASH_BYTES);
    }
}

/*
 * A pause changes no phase, and neither does its end. The launcher and the root write one after the
 * other that an execution is queued.
 */
static void check_change(const struct tr_execution *row, uint8_t phase, bool was_paused)
{
    bool is_pause = row->is_paused != was_paused && row->phase == TR_EXECUTION_RUNNING &&
                    phase == TR_EXECUTION_RUNNING;
    sim_engine_seen.pauses += is_pause && row->is_paused ? 1 : 0;
    bool is_begin = row->phase == TR_EXECUTION_QUEUED && phase == TR_EXECUTION_QUEUED;
    if (!is_pause && !is_begin && !tr_phase_may_follow(TR_SUBJECT_EXECUTION, phase, row->phase)) {
        sim_fail("history: execution %.*s is %s after it was %s", (int)row->name.size,
                 row->name.data, tr_execution_phase_word(row->phase),
                 tr_execution_phase_word(phase));
    }
}

/* They are those of its definition and of who launched it, over any number of crashes. */
static void check_labels(const struct tr_execution *row, const char *labels)
{
    if (!tr_text_equal(row->labels, tr_text_of(labels))) {
        sim_fail("history: %.*s has the labels %.*s instead of %s", (int)row->name.size,
                 row->name.data, (int)row->labels.size, row->labels.data, labels);
    }
}

static void take_launched(struct sim_history *history, const struct sim_host *host,
                          const struct tr_execution *row)
{
    struct origin *origin = find_origin(history, host->index, row->execution);
    if (origin == NULL) {
        origin = sim_must(calloc(1, sizeof *origin));
        origin->next = history->origins;
        origin->number = row->execution;
        (void)snprintf(origin->name, sizeof origin->name, "%.*s", (int)row->name.size,
                       row->name.data);
        if (!read_parent(history, host, row->parent, origin)) {
            sim_fail("history: %.*s is launched by %.*s, which is no node", (int)row->name.size,
                     row->name.data, (int)row->parent.size, row->parent.data);
            free(origin);
            return;
        }
        history->origins = origin;
        expect_labels(origin->first, row, history, tr_text_of(origin->inherited), tr_text_of(""),
                      origin->labels);
        sim_engine_seen.launched++;
        sim_engine_seen.labels_inherited += origin->inherited[0] != '\0' ? 1 : 0;
    }
    check_labels(row, origin->labels);
    check_change(row, origin->phase, origin->is_paused);
    origin->phase = row->phase;
    origin->is_paused = row->is_paused;
    struct sim_observation_of *entry =
        entry_of(history, host->index, row->execution, tr_text_of(""), TR_ELEMENT_NONE);
    entry->phase = node_phase_of(row->phase);
    set_graph(entry, row->graph);
}

/* ----------------------------------------------------------------------------------------- rows */

/* A row of a schema, unpacked; false ends the run. */
#define READ(name, op, row) \
    (tr_##name##_unpack((op)->data, (uint8_t)(op)->incarnation, (row)) == 0 ? true : unreadable(op))

static bool unreadable(const struct tri_op *op)
{
    sim_fail("history: a row of type %u cannot be read", op->type);
    return false;
}

static void take_execution(struct sim_history *history, const struct sim_host *host,
                           const struct tri_op *op)
{
    struct tr_execution row;
    if (!READ(execution, op, &row)) {
        return;
    }
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row.phase)) {
        sim_backend_check_ended(history->stage->backend, host->index, row.execution);
    }
    struct sim_timetable *timetable = history->stage->timetable;
    if (timetable != NULL && host->index == 0 && sim_timetable_take_execution(timetable, &row)) {
        return;
    }
    if (row.parent.size > 0) {
        take_launched(history, host, &row);
        return;
    }
    struct sim_execution *execution = NULL;
    for (uint32_t i = 0; i < history->stage->execution_count; i++) {
        if (tr_text_equal(tr_text_of(history->stage->executions[i].name), row.name)) {
            execution = &history->stage->executions[i];
        }
    }
    if (execution == NULL || execution->host != host->index ||
        (execution->number != 0 && execution->number != row.execution)) {
        sim_fail("history: execution %llu called %.*s, which nobody launched so",
                 (unsigned long long)row.execution, (int)row.name.size, row.name.data);
        return;
    }
    char labels[SIM_LABELS_BYTES];
    expect_own_labels(history, execution, labels);
    check_labels(&row, labels);
    check_change(&row, execution->phase, execution->is_paused);
    execution->number = row.execution;
    execution->phase = row.phase;
    execution->is_paused = row.is_paused;
    execution->failed_element = row.failed_element;
    sim_bytes_set(&execution->failed, row.failed.data, row.failed.size);
    sim_bytes_set(&execution->code, row.code.data, row.code.size);
}

static void take_node(struct sim_history *history, const struct sim_host *host,
                      const struct tri_op *op)
{
    struct tr_node_status row;
    if (READ(node_status, op, &row)) {
        struct sim_observation_of *entry =
            entry_of(history, host->index, row.execution, row.path, TR_ELEMENT_NONE);
        entry->has_row = true;
        if (tr_text_equal(row.kind, tr_text_of("task")) && row.target.size < sizeof entry->target) {
            memcpy(entry->target, row.target.data, row.target.size);
        }
        entry->phase = row.phase;
        set_graph(entry, row.graph);
        sim_engine_seen.gates += tr_text_equal(row.kind, tr_text_of("approve")) ||
                                 tr_text_equal(row.kind, tr_text_of("signal"));
        sim_engine_seen.sleeps += tr_text_equal(row.kind, tr_text_of("sleep"));
        sim_engine_seen.cached += row.cache_status == TR_CACHE_STATUS_HIT ? 1 : 0;
    }
}

/* A change of phase follows the one before it. Attempts are counted where they begin. */
static void take_change(struct sim_history *history, const struct sim_host *host,
                        const struct tri_op *op)
{
    struct tr_phase row;
    if (!READ(phase, op, &row) || row.subject != TR_SUBJECT_NODE) {
        return;
    }
    struct sim_observation_of *entry =
        entry_of(history, host->index, row.execution, row.path, TR_ELEMENT_NONE);
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, entry->chain, row.phase)) {
        sim_fail("history: %s is %s after it was %s", entry->path, tr_node_phase_word(row.phase),
                 tr_node_phase_word(entry->chain));
    }
    entry->chain = row.phase;
}

static void take_value(struct sim_history *history, const struct sim_host *host,
                       const struct tri_op *op)
{
    struct tr_node_value row;
    if (READ(node_value, op, &row) && row.side <= TR_VALUE_OUTPUTS) {
        struct sim_observation_of *entry =
            entry_of(history, host->index, row.execution, row.path, TR_ELEMENT_NONE);
        sim_bytes_set(&entry->values[row.side], row.slots.data, row.slots.size);
    }
}

/* One entry of a block: [element, attempt, milliseconds, phase, ..., code, message]. */
static void take_element(struct sim_history *history, const struct sim_host *host,
                         const struct tr_element_block *row, const json_t *change)
{
    uint64_t element = (uint64_t)json_integer_value(json_array_get(change, 0));
    struct sim_observation_of *entry =
        entry_of(history, host->index, row->execution, row->path, element);
    for (size_t i = 3; i < json_array_size(change); i++) {
        const json_t *item = json_array_get(change, i);
        if (!json_is_integer(item)) {
            continue;
        }
        uint8_t phase = (uint8_t)json_integer_value(item);
        if (!tr_phase_may_follow(TR_SUBJECT_NODE, entry->phase, phase)) {
            sim_fail("history: %s[%llu] is %s after it was %s", entry->path,
                     (unsigned long long)element, tr_node_phase_word(phase),
                     tr_node_phase_word(entry->phase));
        }
        entry->phase = phase;
    }
}

static void take_block(struct sim_history *history, const struct sim_host *host,
                       const struct tri_op *op)
{
    struct tr_element_block row;
    if (!READ(element_block, op, &row)) {
        return;
    }
    json_t *entries = json_loadb(row.entries.data, row.entries.size, 0, NULL);
    if (json_array_size(entries) != row.entry_count) {
        sim_fail("history: a block of %.*s says that it has %u entries", (int)row.path.size,
                 row.path.data, row.entry_count);
    }
    for (size_t i = 0; i < json_array_size(entries); i++) {
        take_element(history, host, &row, json_array_get(entries, i));
    }
    json_decref(entries);
}

static void take_progress(struct sim_history *history, const struct sim_host *host,
                          const struct tri_op *op)
{
    struct tr_progress row;
    if (!READ(progress, op, &row)) {
        return;
    }
    struct sim_observation_of *entry =
        entry_of(history, host->index, row.execution, row.path, TR_ELEMENT_NONE);
    entry->total = row.total;
    entry->succeeded = row.succeeded;
    if (row.succeeded + row.failed > row.total) {
        sim_fail("history: %llu of %llu elements of %.*s have ended",
                 (unsigned long long)(row.succeeded + row.failed), (unsigned long long)row.total,
                 (int)row.path.size, row.path.data);
    }
}

/* What elements gave of a map that did not wholly succeed: [element, slots], ... */
static void take_element_outputs(struct sim_history *history, const struct sim_host *host,
                                 const struct tri_op *op)
{
    struct tr_element_output row;
    if (!READ(element_output, op, &row)) {
        return;
    }
    struct tr_cursor cursor = tr_cursor_of(row.outputs);
    uint32_t count = tr_read_array(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        (void)tr_read_array(&cursor);
        uint64_t element = tr_read_u64(&cursor);
        struct tr_bytes slots = tr_read_any(&cursor);
        struct sim_observation_of *entry =
            entry_of(history, host->index, row.execution, row.path, element);
        sim_bytes_set(&entry->values[TR_VALUE_OUTPUTS], slots.data, slots.size);
    }
}

static void take_schedule(struct sim_history *history, const struct sim_host *host,
                          const struct tri_op *op)
{
    struct tr_schedule_row row;
    (void)host;
    if (READ(schedule_row, op, &row)) {
        sim_timetable_take_schedule(history->stage->timetable, &row);
    }
}

void sim_history_record(struct sim_host *host, const struct tri_op *op)
{
    static const struct {
        const struct tr_schema *schema;
        void (*take)(struct sim_history *history, const struct sim_host *host,
                     const struct tri_op *op);
    } rows[] = {
        {&tr_execution_schema, take_execution},
        {&tr_node_status_schema, take_node},
        {&tr_phase_schema, take_change},
        {&tr_node_value_schema, take_value},
        {&tr_element_block_schema, take_block},
        {&tr_progress_schema, take_progress},
        {&tr_element_output_schema, take_element_outputs},
        {&tr_schedule_row_schema, take_schedule},
    };
    struct sim_history *history = sim_stage_of(host->world)->history;
    if (op->kind != TRI_OP_PUT_RECORD && op->type == tr_schedule_row_schema.id) {
        return; /* a schedule was dropped */
    }
    if (op->kind != TRI_OP_PUT_RECORD) {
        sim_fail("history: rows of type %u are deleted", op->type);
        return;
    }
    struct sim_told *told = sim_stage_of(host->world)->told;
    if (told != NULL && op->type == tr_notification_row_schema.id) {
        sim_told_record(told, host, op);
    }
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (op->type == rows[i].schema->id) {
            rows[i].take(history, host, op);
        }
    }
}
