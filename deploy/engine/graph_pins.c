/*
 * What an earlier engine left unfinished, read from the history: executions, those of their nodes
 * that run a graph they have decided, and the schedules. All graphs that they need are put on the
 * registry before anything runs, and then handed to their holders.
 */
#include "deploy/engine/graph_pins.h"

#include <stdio.h>
#include <string.h>

#include "deploy/graphs/decided.h"
#include "deploy/graphs/graphs.h"
#include "runtime/memory.h"
#include "schemas/engine/history.h"
#include "schemas/engine/schedule.h"

/* Of one project and domain on one host: shards, and one of when the store had one host. */
#define LAUNCHERS_MAX (TR_LAUNCHER_SHARDS + 1)

/* What asks a launcher to hold all that its executions run. */
#define HOLD_ALL 0

/* How long a holder may take. One that is quarantined never answers. */
#define HOLD_MS 5000

static bool is_known(const struct tr_graph_pins *pins, const struct tr_graph_pin *wanted)
{
    for (size_t i = 0; i < pins->count; i++) {
        if (pins->items[i].graph == wanted->graph &&
            strcmp(pins->items[i].holder, wanted->holder) == 0) {
            return true;
        }
    }
    return false;
}

static int add_need(struct tr_graph_pins *pins, const struct tr_graph_pin *wanted)
{
    if (pins->count == pins->capacity) {
        size_t capacity = 2 * pins->capacity + 16;
        struct tr_graph_pin *grown = tr_realloc(pins->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        pins->items = grown;
        pins->capacity = capacity;
    }
    pins->items[pins->count++] = *wanted;
    return 0;
}

/* Holds a graph of the store in the graph registry for the program. */
static int hold_graph(struct tr_graph_pins *pins, struct tr_bytes hash)
{
    struct tr_graph_registry *registry = &pins->live->engine->registry;
    struct tr_graph *graph = NULL;
    uint64_t number;
    if (hash.size == TR_GRAPH_HASH_BYTES && tr_graph_registry_share(registry, hash.data)) {
        return 0;
    }
    int error = tr_graphs_read(pins->reader, hash, &graph);
    return error != 0 ? error : tr_graph_registry_put(registry, graph, &number);
}

static int lack_graph(struct tr_graph_pins *pins, struct tr_bytes hash, int error, const char *what,
                      struct tr_text name)
{
    char whose[256];
    (void)snprintf(whose, sizeof whose, "the %s %.*s", what, (int)name.size, name.data);
    tr_graphs_explain(pins->explain, whose, hash, error);
    return error;
}

/* A node that runs the graph it has decided needs it, until it says graph_drop. */
static int need_decided(void *self, const void *value)
{
    struct tr_graph_pins *pins = self;
    const struct tr_node_status *row = value;
    if (row->graph.size == 0 || tr_phase_is_end(TR_SUBJECT_NODE, row->phase)) {
        return 0;
    }
    int error = hold_graph(pins, row->graph);
    if (error != 0) {
        return lack_graph(pins, row->graph, error, "dynamic node", row->path);
    }
    const struct tr_graph_pin kept = {.graph = tr_graph_number(row->graph.data)};
    return add_need(pins, &kept);
}

/* The graphs that nodes of an unfinished execution run; most executions have no such node. */
static int need_inner_graphs(struct tr_graph_pins *pins, const struct tr_execution *execution)
{
    struct tr_graph_registry *registry = &pins->live->engine->registry;
    uint64_t number = tr_graph_number(execution->graph.data);
    if (!tr_graph_decides(tr_graph_registry_find(registry, number))) {
        return 0;
    }
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution->execution)};
    const struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = 1};
    return tr_reader_rows(pins->reader, &query, need_decided, pins);
}

/*
 * Puts a graph in the graph registry, once for each holder; `what` and `name` say whose it
 * is.
 */
static int need_graph(struct tr_graph_pins *pins, struct tr_graph_pin *wanted, struct tr_bytes hash,
                      const char *what, struct tr_text name)
{
    if (hash.size == TR_GRAPH_HASH_BYTES) {
        wanted->graph = tr_graph_number(hash.data);
    }
    if (is_known(pins, wanted)) {
        return 0;
    }
    int error = hold_graph(pins, hash);
    return error != 0 ? lack_graph(pins, hash, error, what, name) : add_need(pins, wanted);
}

/* Nobody would ever end an execution whose actors are not there. */
static int lack_actors(const struct tr_graph_pins *pins, struct tr_text name)
{
    snprintf(pins->explain, TRI_STORE_EXPLAIN_BYTES,
             "%.300s: the store is damaged: by its history the execution %.*s runs, and "
             "its actors are not there",
             pins->live->folder, (int)name.size, name.data);
    return TR_STORE_DAMAGED;
}

/* An execution that a start has loaded, or has set aside. */
static int note_loaded(struct tr_graph_pins *pins, const struct tr_execution *row, bool *is_aside)
{
    *is_aside = tr_host_is_aside(pins->live->host, row->execution);
    if (*is_aside) {
        return tr_dormant_add_aside(&pins->live->dormant, row);
    }
    tr_host_note_loading(pins->live->host, row->execution);
    return tr_host_has(pins->live->host, tr_group_root(row->execution))
               ? tr_dormant_add(&pins->live->dormant, row, pins->live->lets_sleep)
               : lack_actors(pins, row->name);
}

/* Whether a group is one that is loaded, or comes; others are those of other hosts. */
static bool concerns(const struct tr_graph_pins *pins, uint64_t group)
{
    uint64_t partition = tr_group_partition(group);
    return pins->gained == NULL ? tr_host_owns(pins->live->host, group)
                                : partition < TR_PARTITIONS_MAX && pins->gained[partition];
}

/* An unfinished execution: its launcher holds its graph, and those of its dynamic nodes. */
static int need_of_execution(void *self, const void *value)
{
    struct tr_graph_pins *pins = self;
    const struct tr_execution *row = value;
    struct tr_graph_pin wanted = {0};
    bool is_aside = false;
    if (!concerns(pins, row->execution)) {
        return 0;
    }
    int error = pins->gained == NULL ? note_loaded(pins, row, &is_aside) : 0;
    if (error != 0 || is_aside) {
        return error;
    }
    snprintf(wanted.holder, sizeof wanted.holder, "%.*s/%.*s", (int)row->project.size,
             row->project.data, (int)row->domain.size, row->domain.data);
    error = need_graph(pins, &wanted, row->graph, "execution", row->name);
    return error != 0 ? error : need_inner_graphs(pins, row);
}

/* A schedule; the schedules hold the graphs of all. */
static int need_of_schedule(void *self, const void *value)
{
    const struct tr_schedule_row *row = value;
    struct tr_graph_pin wanted = {.holder = TR_SCHEDULES_NAME};
    return need_graph(self, &wanted, row->graph, "schedule", row->plan);
}

static int read_schedules(struct tr_graph_pins *pins)
{
    struct tr_reader_query query = {.record = &tr_schedule_row_schema};
    return tr_reader_rows(pins->reader, &query, need_of_schedule, pins);
}

/* Those in one phase, which an index finds: what has ended is not looked at, however many. */
static int read_executions(struct tr_graph_pins *pins, uint8_t phase)
{
    struct tr_reader_filter filter = tr_filter_number("phase", TR_FILTER_EQUAL, phase);
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = &filter, .filter_count = 1};
    return tr_reader_rows(pins->reader, &query, need_of_execution, pins);
}

static int read_all(struct tr_graph_pins *pins)
{
    int error = 0;
    bool has_schedules = !tr_key_is_none(pins->live->schedules.key) &&
                         concerns(pins, pins->live->schedules.key.group);
    for (unsigned phase = 0; error == 0 && phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        error = tr_phase_is_end(TR_SUBJECT_EXECUTION, (uint8_t)phase)
                    ? 0
                    : read_executions(pins, (uint8_t)phase);
    }
    if (error != TR_MEMORY && pins->gained == NULL) {
        tr_host_note_loading(pins->live->host, 0);
    }
    if (error == 0 && has_schedules) {
        error = read_schedules(pins);
    }
    if (error != 0 && pins->explain[0] == '\0') {
        snprintf(pins->explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(pins->reader));
    }
    return error;
}

int tr_graph_pins_read(struct tr_graph_pins *pins)
{
    if (pins->reader != NULL) {
        return read_all(pins);
    }
    int error = tr_live_read(pins->live, pins->explain, &pins->reader);
    if (error == 0) {
        error = read_all(pins);
        tr_live_read_end(pins->live);
    }
    return error;
}

/* ---- Handing over. --------------------------------------------------------------------------- */

/* Launchers of one project and domain, while they are looked for. */
struct launchers {
    struct tr_ref items[LAUNCHERS_MAX];
    size_t count;
};

static void take_launcher(void *self, const struct tr_actor_info *actor)
{
    struct launchers *launchers = self;
    if (launchers->count < TR_COUNT_OF(launchers->items)) {
        launchers->items[launchers->count++] = actor->actor;
    }
}

/* One that has ended has nothing to hold. */
static int ask_to_hold(struct tr_live *live, struct tr_ref holder, uint64_t graph)
{
    const struct tr_graph_hold hold = {.graph = graph};
    int error = tr_host_ask(live->host, holder, &tr_graph_hold_schema, &hold, HOLD_MS, NULL, NULL);
    return error == TR_NO_ACTOR ? 0 : error;
}

/*
 * Of a host among others a project and domain has several launchers, those that came with the
 * partitions among them: each holds what its own executions run.
 */
static int ask_launchers(struct tr_live *live, const char *name)
{
    char pattern[2 * 64 + 1];
    struct launchers launchers = {.count = 0};
    (void)snprintf(pattern, sizeof pattern, "/%s", name);
    int error = tr_host_actors(live->host, tr_text_of(pattern), LAUNCHERS_MAX, take_launcher,
                               &launchers, NULL);
    for (size_t i = 0; error == 0 && i < launchers.count; i++) {
        error = ask_to_hold(live, launchers.items[i], HOLD_ALL);
    }
    return error;
}

/* Whether an earlier one of the pins has the same holder, which has been asked for all then. */
static bool was_asked(const struct tr_graph_pins *pins, size_t at)
{
    size_t i = 0;
    while (strcmp(pins->items[i].holder, pins->items[at].holder) != 0) {
        i++;
    }
    return i < at;
}

static int hand_over(struct tr_graph_pins *pins, size_t at)
{
    const struct tr_graph_pin *pin = &pins->items[at];
    struct tr_live *live = pins->live;
    struct tr_ref holder = live->schedules;
    if (strcmp(pin->holder, TR_SCHEDULES_NAME) == 0) {
        return ask_to_hold(live, holder, pin->graph);
    }
    if (live->is_member) {
        return was_asked(pins, at) ? 0 : ask_launchers(live, pin->holder);
    }
    int error = tr_host_find(live->host, tr_text_of(pin->holder), &holder);
    return error != 0 ? error : ask_to_hold(live, holder, pin->graph);
}

/* The program goes on holding what a silent holder should. */
static void keep(struct tr_graph_pins *pins, size_t at)
{
    const struct tr_graph_pin silent = pins->items[at];
    for (size_t i = 0; i < pins->count; i++) {
        if (strcmp(pins->items[i].holder, silent.holder) == 0) {
            pins->items[i].holder[0] = '\0';
        }
    }
}

int tr_graph_pins_hand_over(struct tr_graph_pins *pins)
{
    struct tr_graph_registry *registry = &pins->live->engine->registry;
    int error = 0;
    for (size_t i = 0; error == 0 && i < pins->count; i++) {
        error = pins->items[i].holder[0] == '\0' ? 0 : hand_over(pins, i);
        if (error == TR_TIMEOUT) {
            keep(pins, i);
            error = 0;
        }
    }
    for (size_t i = 0; i < pins->count; i++) {
        if (pins->items[i].holder[0] != '\0') {
            tr_graph_registry_drop(registry, pins->items[i].graph);
        }
    }
    pins->count = 0;
    return error;
}

void tr_graph_pins_drop(struct tr_graph_pins *pins)
{
    for (size_t i = 0; i < pins->count; i++) {
        tr_graph_registry_drop(&pins->live->engine->registry, pins->items[i].graph);
    }
    pins->count = 0;
}

void tr_graph_pins_fini(struct tr_graph_pins *pins)
{
    tr_free(pins->items);
}
