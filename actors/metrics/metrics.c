/*
 * Counting: which counter of struct tr_counters an event adds to.
 *
 * The list of workflows only grows, so it is read without a lock: an entry is written before `size`
 * tells of it. A handler that runs again finds the entry that it made, and what its answer depends
 * on has not changed.
 */
#include "actors/metrics/metrics.h"

#include <string.h>

const uint64_t tr_time_bounds_ms[TR_TIME_BUCKETS] = {
    10,    50,     100,    500,     1000,     5000,     15000,
    60000, 300000, 900000, 3600000, 14400000, 86400000, UINT64_MAX,
};

/* The number of a counter, as tr_count has it. */
#define COUNTER(member) ((uint32_t)(offsetof(struct tr_counters, member) / sizeof(uint64_t)))

/* The same of a workflow's. */
#define WORKFLOW_COUNTER(place, member)                                            \
    ((uint32_t)((place) * sizeof(struct tr_workflow_counters) / sizeof(uint64_t) + \
                COUNTER(workflows) +                                               \
                offsetof(struct tr_workflow_counters, member) / sizeof(uint64_t)))

#define TIME_SUM (offsetof(struct tr_time_counters, sum_ms) / sizeof(uint64_t))

_Static_assert(TR_COUNTER_COUNT <= TR_COUNTERS_MAX, "a host has as many counters");

/* ------------------------------------------------------------------- workflows */

static uint64_t hash_text(uint64_t hash, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001b3U;
    }
    return (hash ^ 0xff) * 0x100000001b3U; /* no text has this byte: an end */
}

static bool is_entry(const struct tr_metric_workflow *entry, uint64_t hash,
                     const struct tr_metric_labels *labels)
{
    return entry->hash == hash && tr_text_equal(tr_text_of(entry->name), labels->workflow) &&
           tr_text_equal(tr_text_of(entry->domain), labels->domain) &&
           tr_text_equal(tr_text_of(entry->project), labels->project);
}

/* From `first` on; the number of entries where it is none of them. */
static uint32_t find(const struct tr_metric_workflows *workflows, uint32_t first, uint64_t hash,
                     const struct tr_metric_labels *labels)
{
    uint32_t size = (uint32_t)atomic_load_explicit(&workflows->size, memory_order_acquire);
    uint32_t place = first;
    while (place < size && !is_entry(&workflows->items[place], hash, labels)) {
        place++;
    }
    return place;
}

static void copy(char to[TR_METRIC_NAME_BYTES], struct tr_text from)
{
    if (from.size > 0) {
        memcpy(to, from.data, from.size);
    }
    to[from.size] = '\0';
}

/* Adds an entry, unless it came meanwhile or there is no room. */
static uint32_t add(struct tr_metric_workflows *workflows, uint64_t hash,
                    const struct tr_metric_labels *labels)
{
    while (atomic_exchange_explicit(&workflows->is_taken, true, memory_order_acquire)) {
    }
    uint32_t place = find(workflows, 0, hash, labels);
    uint32_t size = (uint32_t)atomic_load_explicit(&workflows->size, memory_order_relaxed);
    if (place == size && size < TR_METRIC_WORKFLOWS_MAX) {
        struct tr_metric_workflow *entry = &workflows->items[place];
        entry->hash = hash;
        copy(entry->project, labels->project);
        copy(entry->domain, labels->domain);
        copy(entry->name, labels->workflow);
        atomic_store_explicit(&workflows->size, size + 1, memory_order_release);
    }
    atomic_store_explicit(&workflows->is_taken, false, memory_order_release);
    return place;
}

uint32_t tr_metric_workflow(struct tr_metric_workflows *workflows, struct tr_text project,
                            struct tr_text domain, struct tr_text name)
{
    const struct tr_metric_labels labels = {project, domain, name};
    bool is_short = project.size < TR_METRIC_NAME_BYTES && domain.size < TR_METRIC_NAME_BYTES &&
                    name.size < TR_METRIC_NAME_BYTES;
    if (!is_short) {
        return TR_METRIC_WORKFLOWS_MAX;
    }
    uint64_t hash = hash_text(hash_text(hash_text(0xcbf29ce484222325U, project), domain), name);
    uint32_t size = (uint32_t)atomic_load_explicit(&workflows->size, memory_order_acquire);
    uint32_t place = find(workflows, 0, hash, &labels);
    return place < size || size == TR_METRIC_WORKFLOWS_MAX ? place : add(workflows, hash, &labels);
}

static uint32_t place_of(struct tr_metric_workflows *workflows,
                         const struct tr_metric_labels *labels)
{
    return tr_metric_workflow(workflows, labels->project, labels->domain, labels->workflow);
}

/* -------------------------------------------------------------------- counting */

/* Counts a duration among the tr_time_counters that begin at `first`. */
static int count_time(struct tr_context *context, uint32_t first, uint64_t time_ms)
{
    uint32_t bucket = 0;
    while (time_ms > tr_time_bounds_ms[bucket]) {
        bucket++;
    }
    int error = tr_count(context, first + bucket, 1);
    return error != 0 ? error : tr_count(context, first + (uint32_t)TIME_SUM, time_ms);
}

int tr_count_execution(struct tr_context *context, struct tr_metric_workflows *workflows,
                       const struct tr_metric_labels *labels, uint8_t phase, uint64_t run_ms)
{
    uint32_t place = place_of(workflows, labels);
    if (phase == TR_EXECUTION_RUNNING) {
        return tr_count(context, WORKFLOW_COUNTER(place, executions_started), 1);
    }
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
        return 0;
    }
    int error = tr_count(context, WORKFLOW_COUNTER(place, executions_ended) + phase, 1);
    return error != 0 ? error
                      : count_time(context, WORKFLOW_COUNTER(place, execution_time), run_ms);
}

/* Its work was measured where that is possible; else it is what this machine's clock says. */
static uint64_t run_ms_of(const struct tr_attempt_times *times, uint64_t now_ms)
{
    if (times->elapsed_us > 0) {
        return times->elapsed_us / 1000;
    }
    return now_ms > times->started_ms ? now_ms - times->started_ms : 0;
}

static int count_attempt_end(struct tr_context *context, uint32_t place, uint8_t phase,
                             const struct tr_attempt_times *times)
{
    int error = tr_count(context, WORKFLOW_COUNTER(place, attempts_ended) + phase, 1);
    if (error != 0 || times->started_ms == 0) {
        return error;
    }
    return count_time(context, WORKFLOW_COUNTER(place, attempt_run),
                      run_ms_of(times, tr_now_ms(context)));
}

int tr_count_attempt(struct tr_context *context, struct tr_metric_workflows *workflows,
                     const struct tr_metric_labels *labels, uint8_t from, uint8_t to,
                     const struct tr_attempt_times *times)
{
    uint32_t place = place_of(workflows, labels);
    uint64_t now_ms = tr_now_ms(context);
    int error = from == TR_TASK_PHASE_UNDEFINED
                    ? tr_count(context, WORKFLOW_COUNTER(place, attempts_started), 1)
                    : 0;
    if (error == 0 && to == TR_TASK_PHASE_RUNNING && times->started_ms == 0) {
        uint64_t wait_ms = now_ms > times->created_ms ? now_ms - times->created_ms : 0;
        error = count_time(context, WORKFLOW_COUNTER(place, attempt_wait), wait_ms);
    }
    return error != 0 || !tr_phase_is_end(TR_SUBJECT_TASK, to)
               ? error
               : count_attempt_end(context, place, to, times);
}

int tr_count_cache(struct tr_context *context, uint8_t status)
{
    return status >= TR_CACHE_STATUS_COUNT ? 0 : tr_count(context, COUNTER(cache) + status, 1);
}

int tr_count_schedule(struct tr_context *context, uint8_t outcome, uint64_t due_ms)
{
    uint64_t now_ms = tr_now_ms(context);
    int error = outcome >= TR_SCHEDULE_OUTCOME_COUNT
                    ? 0
                    : tr_count(context, COUNTER(schedule_times) + outcome, 1);
    return error != 0 || outcome != TR_SCHEDULE_OUTCOME_STARTED
               ? error
               : count_time(context, COUNTER(schedule_delay),
                            now_ms > due_ms ? now_ms - due_ms : 0);
}
