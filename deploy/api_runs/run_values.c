/*
 * Literals are the same trees as JSON of their values, so that they are read as inputs of the
 * command line are; what is wrong is told of all inputs at once.
 */
#include "deploy/api_runs/run_values.h"

#include <stdio.h>

#include "actors/graph/flyte/flyte.h"
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/inputs/offload.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

/* What is told of inputs. */
#define PROBLEMS_BYTES_MAX 1500

/* ------------------------------------------------------------- reading */

struct reading {
    struct tr_desk_job *job;
    const struct tr_startable *startable;
    const struct tr_workflow *workflow;
    const struct tr_plan *plan;               /* NULL: none */
    const struct tr_variables *variables;     /* those that may be given */
    const Flyteidl__Core__Literal **literals; /* for each of them */
    struct tr_report report;
    struct tr_buffer slots;
};

static void tell(struct reading *reading, struct tr_text name, const char *words)
{
    struct tr_text before = tri_report_subject(&reading->report, name);
    tri_report_add(&reading->report, (struct tri_place){0}, NULL, "%s", words);
    (void)tri_report_subject(&reading->report, before);
}

static struct tr_text name_at(const void *self, uint32_t position)
{
    return ((const struct tr_variables *)self)->items[position].name;
}

static void tell_unknown(struct reading *reading, struct tr_text name)
{
    char words[512];
    const struct tr_variables *all = &reading->workflow->interface.inputs;
    if (reading->plan != NULL && tr_variables_find(all, name) != TR_GRAPH_NONE) {
        (void)snprintf(words, sizeof words,
                       "the input is fixed by the launch plan '%.*s'\nleave it out",
                       TRI_SHOWN(reading->plan->name));
        tell(reading, name, words);
        return;
    }
    struct tr_text nearest =
        tr_spelling_nearest(name, name_at, reading->variables, reading->variables->count);
    (void)snprintf(words, sizeof words, "there is no such input%s%.*s%s",
                   nearest.size > 0 ? "\ndid you mean '" : "", TRI_SHOWN(nearest),
                   nearest.size > 0 ? "'?" : "");
    tell(reading, name, words);
}

static void take(struct reading *reading, const Flyteidl__Core__LiteralMap__LiteralsEntry *entry)
{
    struct tr_text name = tr_text_of(entry->key);
    uint32_t at = tr_variables_find(reading->variables, name);
    if (at == TR_GRAPH_NONE) {
        tell_unknown(reading, name);
    } else if (entry->value == NULL) {
        tell(reading, name, "the literal is empty\ngive a value, or leave the input out");
    } else {
        reading->literals[at] = entry->value;
    }
}

/* A literal by the type of its input. */
static void add_literal(struct reading *reading, const struct tr_variable *variable,
                        const Flyteidl__Core__Literal *literal)
{
    struct tr_arena *arena = &reading->job->arena;
    struct tr_buffer bytes;
    uint32_t problems = tr_report_total(&reading->report);
    struct tr_text before = tri_report_subject(&reading->report, variable->name);
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(&literal->base, &bytes);
    arena->error = arena->error != 0 ? arena->error : bytes.error;
    const struct tr_tree *tree =
        tr_flyte_literal(arena, &reading->report, variable->type, tr_buffer_bytes(&bytes), NULL);
    struct tr_literal_reader reader = {
        .report = &reading->report, .arena = arena, .folder = tr_text_of("")};
    bool is_fine = tree != NULL && arena->error == 0 &&
                   tr_literal_read(&reader, variable->type, tree, &reading->slots);
    if (!is_fine && arena->error == 0 && reading->slots.error == 0 &&
        tr_report_total(&reading->report) == problems) {
        tell(reading, variable->name, "this is no literal of its type");
    }
    (void)tri_report_subject(&reading->report, before);
    tr_buffer_fini(&bytes);
}

/* What the plan fixes. */
static struct tr_bytes fixed_value(const struct tr_plan *plan, uint32_t input)
{
    for (uint32_t i = 0; plan != NULL && i < plan->value_count; i++) {
        if (plan->values[i].input == input) {
            return plan->values[i].value;
        }
    }
    return (struct tr_bytes){.size = 0};
}

/* The slot of one input of the workflow. */
static void add_slot(struct reading *reading, uint32_t input)
{
    const struct tr_variable *variable = &reading->workflow->interface.inputs.items[input];
    uint32_t at = tr_variables_find(reading->variables, variable->name);
    if (at == TR_GRAPH_NONE) {
        struct tr_bytes value = fixed_value(reading->plan, input);
        tr_buffer_add(&reading->slots, value.data, value.size);
        return;
    }
    const struct tr_variable *own = &reading->variables->items[at];
    if (reading->literals[at] != NULL) {
        add_literal(reading, own, reading->literals[at]);
    } else if (own->has_default) {
        tr_buffer_add(&reading->slots, own->default_value.data, own->default_value.size);
    } else {
        tell(reading, own->name, "the input is missing\ngive a value for it");
    }
}

static void tell_problems(struct reading *reading)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_report_finish(&reading->report);
    for (uint32_t i = 0; i < reading->report.count && words.size < PROBLEMS_BYTES_MAX; i++) {
        tr_buffer_add_string(&words, i == 0 ? "" : "; ");
        tr_problem_print(&reading->report.problems[i], &words);
    }
    tr_desk_fail(reading->job, TR_API_INVALID_ARGUMENT, "%.*s", (int)words.size,
                 words.data == NULL ? "" : (const char *)words.data);
    tr_buffer_fini(&words);
}

/* Whether all went well; large values are in the blobs then. */
static bool end(struct reading *reading, struct tr_bytes *slots)
{
    struct tr_desk_job *job = reading->job;
    char explain[TR_OFFLOAD_EXPLAIN_BYTES] = "";
    int error = job->arena.error != 0 ? job->arena.error : reading->slots.error;
    if (error == 0 && tr_report_total(&reading->report) > 0) {
        tell_problems(reading);
        return false;
    }
    if (error == 0) {
        error = tr_offload_slots(tr_desk_folder(job->desk), &reading->slots, explain);
    }
    if (error == 0) {
        *slots = tr_arena_bytes(&job->arena, tr_buffer_bytes(&reading->slots));
        error = job->arena.error;
    }
    if (error != 0 && explain[0] != '\0') {
        tr_desk_fail(job, error == TR_LIMIT ? TR_API_RESOURCE_EXHAUSTED : TR_API_UNAVAILABLE, "%s",
                     explain);
        return false;
    }
    return !tr_desk_failed(job, error);
}

bool tr_run_inputs_read(struct tr_desk_job *job, const struct tr_startable *startable,
                        const Flyteidl__Core__LiteralMap *given, struct tr_bytes *slots)
{
    const struct tr_graph *graph = startable->graph;
    const struct tr_plan *plan =
        startable->plan == TR_GRAPH_NONE ? NULL : &graph->plans[startable->plan];
    const struct tr_workflow *workflow = &graph->workflows[startable->workflow];
    struct reading reading = {.job = job,
                              .startable = startable,
                              .workflow = workflow,
                              .plan = plan,
                              .variables =
                                  plan != NULL ? &plan->inputs : &workflow->interface.inputs};
    uint32_t count = reading.variables->count;
    tr_report_init(&reading.report);
    tr_buffer_init(&reading.slots, 0);
    reading.literals = tr_arena_array(&job->arena, count + 1, sizeof(void *));
    for (uint32_t i = 0; reading.literals != NULL && i < count; i++) {
        reading.literals[i] = NULL;
    }
    for (size_t i = 0; reading.literals != NULL && given != NULL && i < given->n_literals; i++) {
        take(&reading, given->literals[i]);
    }
    tr_buffer_array(&reading.slots, workflow->interface.inputs.count);
    for (uint32_t i = 0; reading.literals != NULL && i < workflow->interface.inputs.count; i++) {
        add_slot(&reading, i);
    }
    bool is_fine = end(&reading, slots);
    tr_buffer_fini(&reading.slots);
    tr_report_fini(&reading.report);
    return is_fine;
}

bool tr_run_literal_read(struct tr_desk_job *job, const char *name, const struct tr_type *type,
                         const Flyteidl__Core__Literal *literal, struct tr_bytes *value)
{
    struct reading reading = {.job = job};
    struct tr_variable variable = {.name = tr_text_of(name), .type = type};
    tr_report_init(&reading.report);
    tr_buffer_init(&reading.slots, 0);
    add_literal(&reading, &variable, literal);
    int error = job->arena.error != 0 ? job->arena.error : reading.slots.error;
    bool is_fine = error == 0 && tr_report_total(&reading.report) == 0;
    if (is_fine) {
        *value = tr_arena_bytes(&job->arena, tr_buffer_bytes(&reading.slots));
        error = job->arena.error;
    } else if (error == 0) {
        tell_problems(&reading);
    }
    is_fine = !tr_desk_failed(job, error) && is_fine;
    tr_buffer_fini(&reading.slots);
    tr_report_fini(&reading.report);
    return is_fine;
}

/* ------------------------------------------------------------- writing */

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

static int write_one(const struct tr_value *value, struct tr_buffer *buffer)
{
    struct tr_offloaded where = {.variant = 0};
    struct tr_value_bytes bytes;
    (void)tr_slot_is_offloaded(value->slot, &where);
    int error = tr_value_open(value, &bytes);
    if (error == 0) {
        error = tr_flyte_write(value->name, value->type, where.variant, bytes.literal, put, buffer);
        tr_value_close(&bytes);
    }
    return error;
}

/* Says which value is in the way. */
static bool tell_value(struct tr_desk_job *job, struct tr_text name, int error)
{
    if (error == TR_LIMIT) {
        tr_desk_fail(job, TR_API_RESOURCE_EXHAUSTED,
                     "the values are larger than %u bytes (TR_RUNS_VALUES_BYTES_MAX) with '%.*s'; "
                     "hand large data on as a file",
                     TR_RUNS_VALUES_BYTES_MAX, TRI_SHOWN(name));
        return false;
    }
    if (error == TR_INVALID) {
        tr_desk_fail(job, TR_API_INTERNAL, "the value of '%.*s' cannot be said in Flyte's literals",
                     TRI_SHOWN(name));
        return false;
    }
    return !tr_desk_failed(job, error);
}

static bool write_all(struct tr_desk_job *job, const struct tr_values *values,
                      struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < values->count; i++) {
        int error = write_one(&values->items[i], buffer);
        if (error == TR_NOT_FOUND) {
            continue; /* what it lay in was removed */
        }
        if (error != 0) {
            return tell_value(job, values->items[i].name, error);
        }
    }
    return true;
}

bool tr_run_values_write(struct tr_desk_job *job, const struct tr_values_request *request,
                         Flyteidl__Core__LiteralMap **literals)
{
    struct tr_values values;
    struct tr_buffer buffer;
    int error = tr_values_read(request, &values);
    if (tr_desk_failed(job, error)) {
        return false;
    }
    tr_buffer_init(&buffer, TR_RUNS_VALUES_BYTES_MAX);
    bool is_fine = write_all(job, &values, &buffer);
    if (is_fine) {
        struct tr_bytes bytes = tr_arena_bytes(&job->arena, tr_buffer_bytes(&buffer));
        *literals = tr_flyte_message_unpack(&job->arena, &flyteidl__core__literal_map__descriptor,
                                            bytes, 16ULL * TR_RUNS_VALUES_BYTES_MAX);
        bool is_made = *literals != NULL && job->arena.error == 0;
        is_fine = is_made ||
                  !tr_desk_failed(job, job->arena.error != 0 ? job->arena.error : TR_MALFORMED);
    }
    tr_buffer_fini(&buffer);
    tr_values_fini(&values);
    return is_fine;
}

int64_t tr_run_values_bytes(const Flyteidl__Core__LiteralMap *literals)
{
    struct tr_buffer bytes;
    tr_buffer_init(&bytes, 0);
    if (literals != NULL) {
        tr_flyte_message_pack(&literals->base, &bytes);
    }
    int64_t size = (int64_t)bytes.size;
    tr_buffer_fini(&bytes);
    return size;
}
