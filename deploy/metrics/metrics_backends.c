/*
 * Endpoints of plugins, as their actors recorded them last (record_backend, at most a second old).
 * Their totals are the store's: they go on over restarts of the engine.
 */
#include <string.h>

#include "actors/graph/document/arena.h"
#include "deploy/metrics/metrics_inside.h"
#include "deploy/settings/settings.h"
#include "runtime/memory.h"
#include "schemas/engine/state_refresh.h"

/* A number of an endpoint's row. */
struct figure {
    const char *name;
    enum tr_metric_kind kind;
    const char *help;
    size_t offset; /* in struct tr_backend */
};

#define FIGURE(name, kind, member, help)                                                    \
    {                                                                                       \
        "troupe_backend_" name, TR_METRIC_##kind, help, offsetof(struct tr_backend, member) \
    }

static const struct figure figures[] = {
    FIGURE("jobs", GAUGE, jobs, "Jobs that the engine has at an endpoint."),
    FIGURE("jobs_waiting", GAUGE, waiting, "Tasks that wait for room at an endpoint."),
    FIGURE("jobs_unended", GAUGE, unended, "Jobs that are to be ended and were not so far."),
    FIGURE("calls_open", GAUGE, calls, "Calls of an endpoint that are under way."),
    FIGURE("streams", GAUGE, streams, "Streams of an endpoint that are open."),
    FIGURE("call_items_total", COUNTER, items, "Jobs that calls were about."),
    FIGURE("calls_failed_total", COUNTER, failed, "Calls that failed."),
    FIGURE("calls_throttled_total", COUNTER, throttled, "Answers that there were too many calls."),
    FIGURE("unknown_outcomes_total", COUNTER, unknown_outcomes,
           "Jobs of which nobody knew whether they were made."),
    FIGURE("duplicates_total", COUNTER, duplicates, "Jobs that an endpoint made twice."),
    FIGURE("stream_timeouts_total", COUNTER, stream_timeouts,
           "Streams that were opened anew since nothing came."),
};

/* Calls by verb. */
static const struct {
    const char *verb;
    size_t offset;
} verbs[] = {
    {"create", offsetof(struct tr_backend, create_calls)},
    {"status", offsetof(struct tr_backend, status_calls)},
    {"cancel", offsetof(struct tr_backend, cancel_calls)},
    {"find", offsetof(struct tr_backend, find_calls)},
    {"failures", offsetof(struct tr_backend, failures_calls)},
    {"stream", offsetof(struct tr_backend, stream_calls)},
};

struct backends {
    const struct tri_metrics_view *view;
    struct tr_arena arena;
    struct tr_backend rows[TR_SETTINGS_ENDPOINTS_MAX];
    size_t count;
};

/* Endpoints that no settings name any more have a row as well; they are not this engine's. */
static bool is_endpoint(const struct tr_engine *engine, const struct tr_backend *row)
{
    for (size_t i = 0; i < engine->endpoint_count; i++) {
        const struct tr_engine_endpoint *endpoint = &engine->endpoints[i];
        if (tr_text_equal(tr_text_of(endpoint->plugin->id), row->plugin) &&
            tr_text_equal(endpoint->endpoint.name, row->endpoint)) {
            return true;
        }
    }
    return false;
}

static int take_row(void *self, const void *value)
{
    struct backends *backends = self;
    const struct tr_backend *row = value;
    if (backends->count == TR_SETTINGS_ENDPOINTS_MAX ||
        !is_endpoint(backends->view->live->engine, row)) {
        return 0;
    }
    struct tr_backend *kept = &backends->rows[backends->count++];
    *kept = *row;
    kept->plugin = tr_arena_text(&backends->arena, row->plugin);
    kept->endpoint = tr_arena_text(&backends->arena, row->endpoint);
    return backends->arena.error;
}

static uint64_t number_at(const struct tr_backend *row, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)row + offset, sizeof value);
    return value;
}

/* The labels of an endpoint, and room for one more. */
struct endpoint_labels {
    struct tr_metric_label items[3];
};

static struct endpoint_labels labels_of(const struct tr_backend *row)
{
    return (struct endpoint_labels){{{"plugin", row->plugin}, {"endpoint", row->endpoint}}};
}

static void write_figures(const struct backends *backends)
{
    for (size_t i = 0; i < TR_COUNT_OF(figures); i++) {
        const struct figure *figure = &figures[i];
        tr_exposition_family(backends->view->text,
                             &(struct tr_metric_family){figure->name, figure->kind, figure->help});
        for (size_t j = 0; j < backends->count; j++) {
            struct endpoint_labels labels = labels_of(&backends->rows[j]);
            tr_exposition_sample(backends->view->text, figure->name, labels.items, 2,
                                 (double)number_at(&backends->rows[j], figure->offset));
        }
    }
}

static void write_calls(const struct backends *backends)
{
    const struct tr_metric_family family = {"troupe_backend_calls_total", TR_METRIC_COUNTER,
                                            "Calls of an endpoint, by verb."};
    tr_exposition_family(backends->view->text, &family);
    for (size_t i = 0; i < backends->count; i++) {
        struct endpoint_labels labels = labels_of(&backends->rows[i]);
        for (size_t j = 0; j < TR_COUNT_OF(verbs); j++) {
            labels.items[2] = (struct tr_metric_label){"verb", tr_text_of(verbs[j].verb)};
            tr_exposition_sample(backends->view->text, family.name, labels.items, 3,
                                 (double)number_at(&backends->rows[i], verbs[j].offset));
        }
    }
}

static void write_circuits(const struct backends *backends)
{
    const struct tr_metric_family family = {
        "troupe_backend_circuit", TR_METRIC_GAUGE,
        "1 for the state of an endpoint's circuit: closed, open (it is not called), trial."};
    tr_exposition_family(backends->view->text, &family);
    for (size_t i = 0; i < backends->count; i++) {
        struct endpoint_labels labels = labels_of(&backends->rows[i]);
        for (uint8_t circuit = 0; circuit <= TR_CIRCUIT_TRIAL; circuit++) {
            labels.items[2] =
                (struct tr_metric_label){"state", tr_text_of(tr_circuit_word(circuit))};
            tr_exposition_sample(backends->view->text, family.name, labels.items, 3,
                                 backends->rows[i].circuit == circuit ? 1 : 0);
        }
    }
}

int tri_metrics_backends(const struct tri_metrics_view *view)
{
    struct backends *backends = tr_alloc_zero(1, sizeof *backends);
    const struct tr_reader_query query = {.record = &tr_backend_schema};
    if (backends == NULL) {
        return TR_MEMORY;
    }
    backends->view = view;
    tr_arena_init(&backends->arena);
    int error = tr_reader_rows(view->reader, &query, take_row, backends);
    if (error == 0) {
        write_figures(backends);
        write_calls(backends);
        write_circuits(backends);
    }
    tr_arena_fini(&backends->arena);
    tr_free(backends);
    return error;
}
