/*
 * Putting an engine together, in this order: what never changes (tables, plugins, graphs), the
 * host, the actors that serve all, the endpoint.
 */
#include "deploy/engine/assemble.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/common/signals.h"
#include "deploy/engine/background.h"
#include "deploy/engine/descriptors.h"
#include "deploy/engine/follow_hosts.h"
#include "deploy/engine/graph_pins.h"
#include "deploy/engine/import_marks.h"
#include "deploy/engine/services.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/executions.h"
#include "deploy/inquiries/exchange.h"
#include "deploy/settings/bounds.h"
#include "deploy/settings/installed.h"
#include "deploy/settings/quarantine.h"
#include "plugins/builtin/registry.h"
#include "plugins/process/process.h"
#include "runtime/host/host.h"
#include "runtime/link/preflight.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"
#include "schemas/engine/history.h"
#include "schemas/engine/history_views.h"
#include "schemas/engine/schedule.h"

const struct tr_behaviour *const tr_live_behaviours[TR_LIVE_BEHAVIOURS] = {
    &tr_launcher_behaviour,     &tr_workflow_behaviour,    &tr_task_behaviour,
    &tr_array_behaviour,        &tr_resources_behaviour,   &tr_catalog_behaviour,
    &tr_signals_behaviour,      &tr_launch_behaviour,      &tr_schedules_behaviour,
    &tr_schedule_behaviour,     &tr_refresh_behaviour,     &tr_notifier_behaviour,
    &tr_notification_behaviour, &tr_graph_fetch_behaviour,
};

/* ------------------------------------------------------------------------ the host */

/*
 * Those that sleep are loaded and not run. While an actor is still to be spawned that they may ask
 * for (`all_sleep`) the others sleep, too.
 */
static int set_dormant(struct tr_live *live, bool all_sleep)
{
    struct tr_dormant *dormant = &live->dormant;
    size_t count = 0;
    tr_dormant_order(dormant);
    uint64_t *groups = tr_alloc(((size_t)dormant->count + 1) * sizeof *groups);
    if (groups == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < dormant->count; i++) {
        if (all_sleep || dormant->items[i].is_dormant) {
            groups[count++] = dormant->items[i].execution;
        }
    }
    int error = tr_host_set_dormant(live->host, groups, count);
    tr_free(groups);
    return error;
}

/* Those that only waited for spawns go on. */
static int wake_the_others(struct tr_live *live)
{
    const struct tr_dormant *dormant = &live->dormant;
    int error = 0;
    for (uint32_t i = 0; i < dormant->count && error == 0; i++) {
        if (!dormant->items[i].is_dormant) {
            error = tr_host_wake(live->host, dormant->items[i].execution);
        }
    }
    return error;
}

/*
 * Tasks import the helper for Python (deploy/authoring/share/python/) from where it was installed.
 * It stands last in their PYTHONPATH, so that nothing of a user's own is shadowed there.
 */
static const char *find_python(struct tr_live *live)
{
    if (!tr_installed_find("python", live->python_folder)) {
        live->python_folder[0] = '\0';
        return NULL;
    }
    return live->python_folder;
}

/* Whether tasks of the type `process` run here, and not at a plugin's. */
static bool runs_processes(const struct tr_live *live)
{
    return tr_engine_plugin(live->engine, tr_text_of("process")) == &tr_process_plugin;
}

static void begin_reader(void *self)
{
    struct tr_live *live = self;
    tr_early_reader_begin(&live->early_reader, live->folder);
}

static int make_host(struct tr_live *live, const struct tr_live_options *options, char *explain)
{
    const char *python = find_python(live);
    struct tr_host_options host = {
        .durability = options->durability,
        .folder = live->folder,
        .behaviours = tr_live_behaviours,
        .behaviour_count = TR_LIVE_BEHAVIOURS,
        .records = tr_program_records,
        .record_count = tr_program_record_count,
        .views = &tr_history_views,
        .has_files = true,
        .has_http = true,
        .exchange = &tr_live_exchange,
        .keeper_command = live->keeper_command,
        .jobs = options->jobs,
        .is_cold = options->is_cold,
        .expects_processes = options->expects_tasks && runs_processes(live),
        .secrets = live->settings != NULL ? live->settings->secrets.items : NULL,
        .secret_count = live->settings != NULL ? live->settings->secrets.count : 0,
        .identities = live->settings != NULL ? live->settings->identities.items : NULL,
        .identity_count = live->settings != NULL ? live->settings->identities.count : 0,
        .search_variable = python == NULL ? NULL : "PYTHONPATH",
        .search_folder = python,
        .variables = options->variables,
        .object_stores = live->settings != NULL ? live->settings->object_stores.items : NULL,
        .object_store_count = live->settings != NULL ? live->settings->object_stores.count : 0,
        .blobs = live->settings != NULL ? live->settings->blobs : NULL,
        .host_name = options->host_name,
        .is_member = live->is_member,
        .keeps_groups = live->settings != NULL && live->settings->keeps_groups,
        .listen = live->is_member ? live->listen : NULL,
        .before_taking = tr_follow_hosts_prepare,
        .lease_ms = options->lease_ms,
        .process_lease_ms = options->process_lease_ms,
        .bounds = tr_bounds_wanted(live->settings),
        .aside_behaviour = tr_workflow_behaviour.id,
        .lifted = options->lifted,
        .lifted_count = options->lifted_count,
        .opened = begin_reader,
        .opened_self = live,
        .is_balanced = true,
        .interrupt = live->signals,
        .program = live->engine,
        .counter_count = TR_COUNTER_COUNT,
    };
    live->engine->memory_max = host.bounds.host_bytes;
    live->engine->is_strict = options->is_strict;
    return tr_host_new(&host, explain, &live->host);
}

/* An actor that serves all executions: from the store, or spawned now. */
static int find_or_spawn(struct tr_live *live, const char *name,
                         const struct tr_behaviour *behaviour, struct tr_ref *actor)
{
    int error = tr_host_find(live->host, tr_text_of(name), actor);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    return tr_host_spawn(live->host, behaviour, &options, actor);
}

/*
 * One that the store had is left alone: its workers run by now, and read it. A store without
 * has no execution either, since what spawned the first one had spawned the services before.
 */
static int spawn_missing(struct tr_live *live, const char *name,
                         const struct tr_behaviour *behaviour, struct tr_ref *actor)
{
    return tr_key_is_none(actor->key) ? find_or_spawn(live, name, behaviour, actor) : 0;
}

/* Lets schedules look at the clock: when an engine that fires them begins, and when it was set. */
static int wake_schedules(struct tr_live *live)
{
    struct tr_schedule_wake wake = {.from = 0};
    if (tr_key_is_none(live->schedules.key)) {
        return 0;
    }
    return tr_host_tell(live->host, live->schedules, &tr_schedule_wake_schema, &wake);
}

/* Schedules go by the clock on the wall, which may be set, and goes on in a suspended machine. */
static int begin_schedules(struct tr_live *live)
{
    if (!live->engine->fires_schedules) {
        return 0;
    }
    live->clock = tr_clock_watch();
    int error = live->clock < 0 ? TR_SYSTEM : 0;
    return error != 0 ? error : wake_schedules(live);
}

/* The host has counted what ended the engine before. */
static int apply_quarantine(struct tr_live *live)
{
    struct tr_quarantine_parts parts;
    parts.count = tr_host_crash_attributions(live->host, parts.items);
    return tr_quarantine_apply(&parts, live->settings, &live->tables, live->engine);
}

/* All that nobody outlives a restart without: loaded, and known before anything runs. */
static int load_host(struct tr_live *live, const struct tr_live_options *options,
                     struct tr_graph_pins *pins, bool *are_all)
{
    int error = make_host(live, options, pins->explain);
    if (error == 0) {
        /* What is made at endpoints is known there among what other stores make. */
        live->engine->store = tr_host_store_number(live->host);
        live->engine->host = live->is_member ? (uint16_t)live->host->store->host : 0;
        error = apply_quarantine(live);
    }
    if (error == 0) {
        error = tr_services_find(live, pins->explain, are_all);
    }
    return error != 0 ? error : tr_graph_pins_read(pins);
}

/* What was coming from another store; a host among others takes nothing in. */
static int read_import_marks(struct tr_live *live, struct tr_buffer *marks)
{
    return live->host->store == NULL || live->is_member
               ? 0
               : tr_import_marks_read(live->host->store, marks);
}

/* Loads, takes over what is unfinished, and lets it run. */
static int run_host(struct tr_live *live, const struct tr_live_options *options, char *explain)
{
    struct tr_graph_pins pins = {.live = live, .explain = explain};
    struct tr_buffer marks;
    bool are_all = true; /* services that executions ask for are there */
    tr_buffer_init(&marks, 0);
    int error = load_host(live, options, &pins, &are_all);
    if (error == 0) {
        error = read_import_marks(live, &marks);
    }
    if (error == 0) {
        error = set_dormant(live, !are_all);
    }
    if (error == 0) {
        error = tr_host_start(live->host);
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.500s", tr_host_explain(live->host));
    }
    if (error == 0) {
        error = tr_services_begin(live, are_all);
    }
    if (error == 0 && !are_all) {
        error = wake_the_others(live);
    }
    if (error == 0) {
        error = tr_graph_pins_hand_over(&pins);
    }
    if (error == 0 && marks.size > 0) {
        error = tr_import_marks_forget(live, tr_buffer_bytes(&marks));
    }
    if (error == 0) {
        error = begin_schedules(live);
    }
    tr_buffer_fini(&marks);
    tr_graph_pins_fini(&pins);
    return error;
}

/* ------------------------------------------------------------------- all of it */

static int watch(int events, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event) != 0 ? TR_SYSTEM : 0;
}

static int open_endpoint(struct tr_live *live, char *explain)
{
    int error = tri_endpoint_open(live->folder, &live->endpoint);
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the socket %.300s/%s cannot be opened: %s",
                 live->folder, TR_ENDPOINT_NAME, strerror(errno));
        return error;
    }
    live->events = epoll_create1(EPOLL_CLOEXEC);
    if (live->events < 0) {
        return TR_SYSTEM;
    }
    error = watch(live->events, live->signals);
    if (error == 0) {
        error = watch(live->events, tr_live_calls_descriptor(live->calls));
    }
    if (error == 0 && live->clock >= 0) {
        error = watch(live->events, live->clock);
    }
    if (error == 0 && tr_host_news(live->host) >= 0) {
        error = watch(live->events, tr_host_news(live->host));
    }
    return error != 0 ? error : watch(live->events, tri_endpoint_descriptor(live->endpoint));
}

/* The keeper gives its processes the limit that the engine was started with. */
static void write_keeper_command(struct tr_live *live, uint64_t open_files)
{
    const char **word = live->keeper_command;
    *word++ = "troupe";
    *word++ = "keeper";
    snprintf(live->open_files, sizeof live->open_files, "--open-files=%llu",
             (unsigned long long)open_files);
    *word++ = live->open_files;
    if (live->durability != TR_DURABILITY_FULL) {
        *word++ = "--unsynced";
    }
    *word = NULL;
}

/*
 * Threads beside those of workers: the host's services, the library's, the program's own; and
 * memory that is used before anything runs.
 */
#define THREADS_BESIDE 14
#define FIRST_BYTES (64ULL << 20)

/* What no library may lack later, before the first one begins. */
static int afford(char *explain)
{
    char words[TRI_PREFLIGHT_WORDS_BYTES];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t workers = cores < 1 ? 1 : cores < TR_WORKERS_MAX ? (uint32_t)cores : TR_WORKERS_MAX;
    struct tri_preflight_needs pins = {.threads = workers + THREADS_BESIDE,
                                       .descriptors = TR_DESCRIPTORS_MIN / 2,
                                       .bytes = FIRST_BYTES};
    int error = tri_preflight_check(pins, words);
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the engine needs %s", words);
    }
    return error;
}

static int open_all(struct tr_live *live, const struct tr_live_options *options, char *explain)
{
    uint64_t open_files = 0;
    tr_memory_begin();
    int error = tr_descriptors_raise(explain, &open_files);
    if (error == 0) {
        error = afford(explain);
    }
    write_keeper_command(live, open_files);
    if (error == 0) {
        error = tri_secret_hide_environment();
    }
    if (error == 0) {
        error = tr_signals_open(&live->signals);
    }
    if (error == 0) {
        error = tr_live_calls_new(&live->calls);
    }
    struct tr_live_engine *engine = tr_alloc_zero(1, sizeof *engine);
    if (error != 0 || engine == NULL) {
        tr_free(engine);
        return error != 0 ? error : TR_MEMORY;
    }
    engine->live = live;
    live->engine = &engine->engine;
    tr_settings_tables(live->settings, live->engine);
    live->engine->store_folder = live->folder;
    live->engine->system_retries = TR_LIVE_SYSTEM_RETRIES;
    live->engine->fires_schedules = options->fires_schedules;
    live->engine->launcher_shards = live->is_member ? TR_LAUNCHER_SHARDS : 1;
    live->engine->life = tr_clock_wall_ms() << 22 | (uint64_t)getpid(); /* which has 22 bits */
    error = run_host(live, options, explain);
    if (error == 0) {
        error = open_endpoint(live, explain);
    }
    return error != 0 ? error : tr_sweeper_start(live->folder, &live->sweeper);
}

int tr_live_open(const struct tr_live_options *options, char *explain, struct tr_live **out)
{
    struct tr_live *live = tr_alloc_zero(1, sizeof *live);
    explain[0] = '\0';
    if (live == NULL) {
        return TR_MEMORY;
    }
    live->signals = -1;
    live->events = -1;
    live->clock = -1;
    live->durability = options->durability;
    live->command = options->command;
    live->lets_sleep = options->lets_sleep;
    live->settings = options->settings;
    live->is_member = options->host_address != NULL;
    if (live->is_member) {
        snprintf(live->listen, sizeof live->listen, "tcp://%s", options->host_address);
    }
    tr_arena_init(&live->tables);
    tr_dormant_init(&live->dormant);
    snprintf(live->folder, sizeof live->folder, "%s", options->folder);
    int error = open_all(live, options, explain);
    if (error != 0) {
        const char *words = live->host != NULL ? tr_host_explain(live->host) : "";
        if (explain[0] == '\0' && words[0] != '\0') { /* a service could not go on meanwhile */
            snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", words);
        } else if (explain[0] == '\0') {
            snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the engine cannot start: %s",
                     tr_error_text(error));
        }
        tr_live_close(live);
        return error;
    }
    *out = live;
    return 0;
}

/* Nobody has read anything, or the reader that was read with failed. */
static void close_early_reader(struct tr_live *live)
{
    struct tr_reader *unused;
    if (tr_early_reader_take(&live->early_reader, NULL, &unused) == 0) {
        tr_reader_close(unused);
    }
}

static void close_all(struct tr_live *live)
{
    tr_sweeper_end(live->sweeper);
    tri_endpoint_leave(live->endpoint);
    if (live->engine != NULL) {
        tr_follow_hosts_end(live);
    }
    close_early_reader(live);
    tr_reader_close(live->reader); /* before the store's end: the last one tidies its log up */
    tr_host_free(live->host);
    tri_endpoint_close(live->endpoint);
    if (live->engine != NULL) {
        tr_graph_registry_fini(&live->engine->registry);
        tr_free(live->engine);
    }
    if (live->events >= 0) {
        close(live->events);
    }
    if (live->clock >= 0) {
        close(live->clock);
    }
    if (live->signals >= 0) {
        tr_signals_close(live->signals);
    }
    tr_live_calls_free(live->calls);
    tr_detached_fini(&live->detached);
    tr_dormant_fini(&live->dormant);
    tr_free(live->launchers);
    tr_arena_fini(&live->tables);
}

void tr_live_close(struct tr_live *live)
{
    struct tri_vector left = {.count = 0};
    struct tr_reader *reader;
    struct tr_arena arena;
    if (live == NULL) {
        return;
    }
    tr_arena_init(&arena);
    if (live->signals >= 0) {
        tr_signals_end_next();
    }
    if (live->hands_over && live->detached.count > 0 && tr_live_read(live, NULL, &reader) == 0) {
        left = tr_detached_left(&live->detached, reader, &arena);
        tr_live_read_end(live);
    }
    close_all(live);
    if (left.count > 0) {
        /* Without one they sleep until somebody resumes them, and the next engine says so. */
        (void)!tr_background_resume(live->folder, left.items, left.count);
    }
    tr_arena_fini(&arena);
    tr_free(live);
}

/* -------------------------------------------------------------------- while it lives */

/* The first error of several wakings. */
struct waking {
    struct tr_live *live;
    int error;
};

static void wake_one(void *self, uint64_t execution)
{
    struct waking *waking = self;
    struct tr_live *live = waking->live;
    struct tr_resource_active awake = {.execution = execution};
    int error =
        tr_host_tell(live->host, live->engine->resources, &tr_resource_active_schema, &awake);
    if (error == 0) {
        error = tr_host_wake(live->host, execution);
    }
    waking->error = waking->error != 0 ? waking->error : error;
}

int tr_live_wake(struct tr_live *live, uint64_t execution)
{
    struct waking waking = {.live = live};
    tr_dormant_activate(&live->dormant, execution, wake_one, &waking);
    return waking.error;
}

uint32_t tr_live_jobs(const struct tr_live *live)
{
    return runs_processes(live) ? tr_host_jobs(live->host) : 0;
}

/* A reader waits for the tables by itself, but looks at them from outside, and now and then. */
int tr_live_read(struct tr_live *live, char *explain, struct tr_reader **reader)
{
    int error = live->reader == NULL
                    ? tr_early_reader_take(&live->early_reader, explain, &live->reader)
                    : 0;
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    bool is_open = live->reader != NULL;
    tr_host_catch_up(live->host);
    error = is_open ? tr_reader_refresh(live->reader)
                    : tr_history_open(live->folder, explain, &live->reader);
    if (error != 0) {
        if (is_open && explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(live->reader));
        }
        tr_reader_close(live->reader);
        live->reader = NULL;
        return error;
    }
    *reader = live->reader;
    return 0;
}

void tr_live_read_end(struct tr_live *live)
{
    tr_reader_release(live->reader);
}

int tr_live_schedules(struct tr_live *live, struct tr_ref *schedules)
{
    int error = spawn_missing(live, TR_SCHEDULES_NAME, &tr_schedules_behaviour, &live->schedules);
    if (error == 0) {
        *schedules = live->schedules;
    }
    return error;
}

int tr_live_watch(struct tr_live *live, int descriptor)
{
    return watch(live->events, descriptor);
}

int tr_live_rest(struct tr_live *live, uint32_t timeout_ms)
{
    bool is_long = live->is_member && timeout_ms > TR_FOLLOW_HOSTS_MS;
    timeout_ms = is_long ? TR_FOLLOW_HOSTS_MS : timeout_ms;
    bool is_short =
        live->is_member && timeout_ms > TR_FOLLOW_HOSTS_SOON_MS && tr_host_must_follow(live->host);
    timeout_ms = is_short ? TR_FOLLOW_HOSTS_SOON_MS : timeout_ms;
    int error = tr_host_poll(live->host, live->events, timeout_ms);
    if (error == 0) {
        error = tr_follow_hosts(live);
    }
    if (error == 0) {
        tr_live_calls_run(live->calls, live);
    }
    if (error == 0 && live->clock >= 0 && tr_clock_was_set(live->clock)) {
        error = wake_schedules(live);
    }
    return error;
}

uint64_t tr_live_now_ms(const struct tr_live *live)
{
    return tri_monotonic_ns(live->host->env) / 1000000;
}
