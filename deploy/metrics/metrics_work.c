/*
 * Executions and attempts by workflow, the cache, schedules, and what waits for tokens.
 *
 * What is under way is read from the history; what has happened since the engine began is what
 * actors have counted (actors/metrics/metrics.h). A workflow that has no counters of its own is
 * among the others, called "other".
 */
#include <string.h>

#include "actors/metrics/metrics.h"
#include "deploy/metrics/metrics_inside.h"
#include "runtime/memory.h"
#include "schemas/engine/history.h"

#define MS 0.001
#define OTHER "other"

/* Words of phases and results, which labels have with underscores for blanks. */
#define TRI_PHASE_WORD(name, number, word, is_end) [number] = (word),
static const char *const execution_phases[] = {TR_EXECUTION_PHASES(TRI_PHASE_WORD)};
static const char *const attempt_phases[] = {TR_TASK_PHASES(TRI_PHASE_WORD)};
static const char *const cache_statuses[] = {TR_CACHE_STATUSES(TRI_PHASE_WORD)};
#undef TRI_PHASE_WORD
#define TRI_OUTCOME_WORD(name, number, word) [number] = (word),
static const char *const schedule_outcomes[] = {TR_SCHEDULE_OUTCOMES(TRI_OUTCOME_WORD)};
#undef TRI_OUTCOME_WORD

#define LABEL_BYTES 32

/* "timed out" is timed_out, and "failed, may be retried" is failed_may_be_retried. */
static struct tr_text label_of(const char *words, char room[LABEL_BYTES])
{
    size_t size = 0;
    for (; *words != '\0' && size < LABEL_BYTES; words++) {
        if (*words != ',') {
            room[size++] = *words == ' ' ? '_' : *words;
        }
    }
    return (struct tr_text){.data = room, .size = size};
}

/* What is shown here: what actors have counted, and executions that have not ended. */
struct work {
    const struct tri_metrics_view *view;
    struct tr_metric_workflows *workflows;
    struct tr_counters counters;
    int64_t gauges[TR_GAUGES_MAX];
    uint64_t unfinished[TR_METRIC_WORKFLOWS_MAX + 1][TR_EXECUTION_PHASE_COUNT];
    uint64_t paused;
};

/* --------------------------------------------------------------------- by workflow */

/* The three labels of a workflow, and room for one more. */
struct workflow_labels {
    struct tr_metric_label items[4];
};

static struct workflow_labels labels_of(const struct work *work, uint32_t place)
{
    const struct tr_metric_workflow *entry = &work->workflows->items[place];
    bool is_other = place == TR_METRIC_WORKFLOWS_MAX;
    return (struct workflow_labels){{
        {"project", tr_text_of(is_other ? OTHER : entry->project)},
        {"domain", tr_text_of(is_other ? OTHER : entry->domain)},
        {"workflow", tr_text_of(is_other ? OTHER : entry->name)},
    }};
}

/* The places that have a workflow, and that of the others. */
static bool has_place(const struct work *work, uint32_t place)
{
    return place == TR_METRIC_WORKFLOWS_MAX ||
           place < atomic_load_explicit(&work->workflows->size, memory_order_acquire);
}

/* Values of a workflow by phase; what is 0 is left out, as it was never there. */
static void write_phases(const struct work *work, const char *name, uint32_t place,
                         const uint64_t *values, const char *const *phases, size_t count)
{
    struct workflow_labels labels = labels_of(work, place);
    for (size_t phase = 0; phase < count; phase++) {
        char room[LABEL_BYTES];
        if (values[phase] > 0) {
            labels.items[3] = (struct tr_metric_label){"phase", label_of(phases[phase], room)};
            tr_exposition_sample(work->view->text, name, labels.items, 4, (double)values[phase]);
        }
    }
}

static void write_unfinished(const struct work *work)
{
    const struct tr_metric_family family = {"troupe_executions", TR_METRIC_GAUGE,
                                            "Executions that have not ended, by phase."};
    tr_exposition_family(work->view->text, &family);
    for (uint32_t i = 0; i <= TR_METRIC_WORKFLOWS_MAX; i++) {
        write_phases(work, family.name, i, work->unfinished[i], execution_phases,
                     TR_EXECUTION_PHASE_COUNT);
    }
}

/* Totals of a member of struct tr_workflow_counters, by phase where it has more than one. */
static void write_totals(const struct work *work, const struct tr_metric_family *family,
                         size_t offset, const char *const *phases, size_t count)
{
    tr_exposition_family(work->view->text, family);
    for (uint32_t i = 0; i <= TR_METRIC_WORKFLOWS_MAX; i++) {
        const struct tr_workflow_counters *workflow = &work->counters.workflows[i];
        const uint64_t *values = (const uint64_t *)workflow + offset / sizeof *values;
        if (phases != NULL) {
            write_phases(work, family->name, i, values, phases, count);
        } else if (values[0] > 0) {
            struct workflow_labels labels = labels_of(work, i);
            tr_exposition_sample(work->view->text, family->name, labels.items, 3,
                                 (double)values[0]);
        }
    }
}

static void write_times(const struct work *work, const struct tr_metric_family *family,
                        const struct tr_metric_label *labels, size_t label_count,
                        const struct tr_time_counters *times)
{
    const struct tr_metric_buckets buckets = {.bounds = tr_time_bounds_ms,
                                              .counts = times->counts,
                                              .size = TR_TIME_BUCKETS,
                                              .sum = times->sum_ms,
                                              .unit = MS};
    tr_exposition_histogram(work->view->text, family->name, labels, label_count, &buckets);
}

static bool has_times(const struct tr_time_counters *times)
{
    uint64_t count = 0;
    for (size_t i = 0; i < TR_TIME_BUCKETS; i++) {
        count += times->counts[i];
    }
    return count > 0;
}

/* Durations of a member of struct tr_workflow_counters. */
static void write_durations(const struct work *work, const struct tr_metric_family *family,
                            size_t offset)
{
    tr_exposition_family(work->view->text, family);
    for (uint32_t i = 0; i <= TR_METRIC_WORKFLOWS_MAX; i++) {
        const char *workflow = (const char *)&work->counters.workflows[i];
        const struct tr_time_counters *times = (const void *)(workflow + offset);
        if (has_place(work, i) && has_times(times)) {
            struct workflow_labels labels = labels_of(work, i);
            write_times(work, family, labels.items, 3, times);
        }
    }
}

#define MEMBER(name) offsetof(struct tr_workflow_counters, name)

static void write_workflows(const struct work *work)
{
    write_unfinished(work);
    write_totals(work,
                 &(struct tr_metric_family){"troupe_executions_started_total", TR_METRIC_COUNTER,
                                            "Executions that have begun since the engine began."},
                 MEMBER(executions_started), NULL, 1);
    write_totals(work,
                 &(struct tr_metric_family){"troupe_executions_ended_total", TR_METRIC_COUNTER,
                                            "Executions that have ended since the engine began."},
                 MEMBER(executions_ended), execution_phases, TR_EXECUTION_PHASE_COUNT);
    write_durations(work,
                    &(struct tr_metric_family){"troupe_execution_duration_seconds",
                                               TR_METRIC_HISTOGRAM,
                                               "How long executions that have ended had run."},
                    MEMBER(execution_time));
    write_totals(work,
                 &(struct tr_metric_family){"troupe_attempts_started_total", TR_METRIC_COUNTER,
                                            "Attempts of tasks that have begun."},
                 MEMBER(attempts_started), NULL, 1);
    write_totals(work,
                 &(struct tr_metric_family){"troupe_attempts_ended_total", TR_METRIC_COUNTER,
                                            "Attempts of tasks that have ended."},
                 MEMBER(attempts_ended), attempt_phases, TR_TASK_PHASE_COUNT);
    write_durations(
        work,
        &(struct tr_metric_family){
            "troupe_attempt_wait_seconds", TR_METRIC_HISTOGRAM,
            "How long attempts waited for tokens, slots and back ends, until they ran."},
        MEMBER(attempt_wait));
    write_durations(work,
                    &(struct tr_metric_family){"troupe_attempt_run_seconds", TR_METRIC_HISTOGRAM,
                                               "How long attempts ran that have ended."},
                    MEMBER(attempt_run));
}

/* ------------------------------------------------------------------------ the rest */

/* Values by a label of one name, whatever they are. */
static void write_labelled(const struct work *work, const struct tr_metric_family *family,
                           const char *label, const uint64_t *values, const char *const *names,
                           size_t count)
{
    tr_exposition_family(work->view->text, family);
    for (size_t i = 0; i < count; i++) {
        char room[LABEL_BYTES];
        const struct tr_metric_label labels[] = {{label, label_of(names[i], room)}};
        tr_exposition_sample(work->view->text, family->name, labels, 1, (double)values[i]);
    }
}

/* Phases in which an attempt can be that has not ended. */
static void write_attempts(const struct work *work, const struct tr_gauges *gauges)
{
    const struct tr_metric_family family = {"troupe_attempts", TR_METRIC_GAUGE,
                                            "Attempts of tasks that have not ended, by phase."};
    tr_exposition_family(work->view->text, &family);
    for (uint8_t phase = 1; phase < TR_TASK_PHASE_COUNT; phase++) {
        char room[LABEL_BYTES];
        const struct tr_metric_label label = {"phase", label_of(attempt_phases[phase], room)};
        if (!tr_phase_is_end(TR_SUBJECT_TASK, phase)) {
            tr_exposition_sample(work->view->text, family.name, &label, 1,
                                 (double)gauges->attempts[phase]);
        }
    }
}

static void write_gauges(const struct work *work)
{
    const struct tr_gauges *gauges = (const struct tr_gauges *)work->gauges;
    const struct tr_live *live = work->view->live;
    const struct {
        const char *name;
        const char *help;
        int64_t value;
    } rows[] = {
        {"troupe_executions_paused", "Unfinished executions that are paused.",
         (int64_t)work->paused},
        {"troupe_executions_dormant", "Unfinished executions that this engine has not activated.",
         live->dormant.dormant_count},
        {"troupe_tasks_retrying", "Tasks that wait until their next attempt is due.",
         gauges->tasks_retrying},
        {"troupe_tokens_held", "Tokens of quotas, pools and resources that attempts hold.",
         gauges->tokens_held},
        {"troupe_tokens_waiting", "Attempts that wait for such a token.", gauges->tokens_waiting},
        {"troupe_cache_keys_reserved", "Keys of the cache whose results somebody makes.",
         gauges->cache_owned},
        {"troupe_cache_waiting", "Tasks that wait for a result that another one makes.",
         gauges->cache_waiting},
        {"troupe_schedules", "Launch plans that are registered with a schedule.",
         gauges->schedules},
    };
    write_attempts(work, gauges);
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        tr_exposition_single(
            work->view->text,
            &(struct tr_metric_family){rows[i].name, TR_METRIC_GAUGE, rows[i].help},
            (double)rows[i].value);
    }
}

static void write_rest(const struct work *work)
{
    const struct tr_metric_family delay = {"troupe_schedule_delay_seconds", TR_METRIC_HISTOGRAM,
                                           "How long after its time an execution was started."};
    write_gauges(work);
    /* What the cache did not have to do with, and the outcome that is none, are left out. */
    write_labelled(work,
                   &(struct tr_metric_family){"troupe_cache_results_total", TR_METRIC_COUNTER,
                                              "Tasks that have ended, by what the cache did."},
                   "status", &work->counters.cache[1], &cache_statuses[1],
                   TR_CACHE_STATUS_COUNT - 1);
    write_labelled(work,
                   &(struct tr_metric_family){"troupe_schedule_times_total", TR_METRIC_COUNTER,
                                              "Times of schedules, by what became of them."},
                   "outcome", &work->counters.schedule_times[1], &schedule_outcomes[1],
                   TR_SCHEDULE_OUTCOME_COUNT - 1);
    tr_exposition_family(work->view->text, &delay);
    write_times(work, &delay, NULL, 0, &work->counters.schedule_delay);
}

/* --------------------------------------------------------------------- reading it */

static int take_unfinished(void *self, const void *value)
{
    struct work *work = self;
    const struct tr_execution *row = value;
    uint32_t place = tr_metric_workflow(work->workflows, row->project, row->domain, row->workflow);
    work->unfinished[place][row->phase]++;
    work->paused += row->is_paused ? 1 : 0;
    return 0;
}

/* By the index of phases, so that what has ended costs nothing. */
static int read_unfinished(struct work *work)
{
    int error = 0;
    for (uint8_t phase = 0; error == 0 && phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        const struct tr_reader_filter filter = tr_filter_number("phase", TR_FILTER_EQUAL, phase);
        const struct tr_reader_query query = {
            .record = &tr_execution_schema, .filters = &filter, .filter_count = 1};
        if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
            error = tr_reader_rows(work->view->reader, &query, take_unfinished, work);
        }
    }
    return error;
}

static int read_all(struct work *work)
{
    struct tr_host *host = work->view->live->host;
    int error = tr_host_gauges(host, work->gauges);
    if (error == 0) {
        error = tr_host_counters(host, (uint64_t *)&work->counters);
    }
    return error != 0 ? error : read_unfinished(work);
}

int tri_metrics_work(const struct tri_metrics_view *view)
{
    struct work *work = tr_alloc_zero(1, sizeof *work);
    if (work == NULL) {
        return TR_MEMORY;
    }
    work->view = view;
    work->workflows = &view->live->engine->metric_workflows;
    int error = read_all(work);
    if (error == 0) {
        write_workflows(work);
        write_rest(work);
    }
    tr_free(work);
    return error;
}
