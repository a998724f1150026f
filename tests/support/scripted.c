/*
 * Scripted actors: one behaviour that does what it is told, good and bad.
 */
#include "tests/support/scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/tap/tap.h"
#include "schemas/runtime/tap.h"

TR_SCRIPTED_SCHEMAS(TR_SCHEMA_DEFINE)

#define WORDS_MAX 16

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------- good scripted actors */

static int tell(struct tr_context *context, const struct tr_scripted_do *what)
{
    int error = 0;
    for (uint64_t i = 0; i < what->count && error == 0; i++) {
        struct tr_scripted_tick tick = {.number = i, .secret = tr_text_of("hush")};
        error = tr_tell(context, what->peer, &tr_scripted_tick_schema, &tick);
    }
    return error;
}

static int spawn(struct tr_context *context, const struct tr_scripted_do *what)
{
    int error = 0;
    for (uint64_t i = 0; i < what->count && error == 0; i++) {
        struct tr_spawn_options options = {.is_element = true, .element = i};
        struct tr_ref child;
        error = tr_spawn(context, &scripted_behaviour, &options, &child);
    }
    return error;
}

static int ask(struct tr_context *context, const struct tr_scripted_do *what)
{
    struct tr_scripted_tick tick = {0};
    return tr_ask(context, what->peer, &tr_scripted_tick_schema, &tick, what->count, NULL);
}

/* -------------------------------------------------------------- bad scripted actors */

static void spin(uint64_t duration_ms)
{
    uint64_t end_ms = now_ms() + duration_ms;
    while (now_ms() < end_ms) {
    }
}

/* Reads memory that nobody may read: a fault that no sanitizer sees before it happens. */
static int touch(void)
{
    const volatile int *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return *page;
}

static int overrun(uint64_t depth, volatile char *before)
{
    volatile char room[4096];
    room[0] = before == NULL ? 0 : before[0];
    return depth == 0 ? 0 : overrun(depth - 1, room) + room[0];
}

static int do_verb(struct tr_context *context, struct tr_scripted_state *state,
                   const struct tr_scripted_do *what)
{
    switch ((enum scripted_verb)what->verb) {
    case SCRIPTED_TELL:
        return tell(context, what);
    case SCRIPTED_SPAWN:
        return spawn(context, what);
    case SCRIPTED_TIMER:
        return tr_timer_start(context, 1, what->count);
    case SCRIPTED_FAIL:
        return TR_FAILED;
    case SCRIPTED_STOP:
        return tr_stop(context);
    case SCRIPTED_ASK:
        return ask(context, what);
    case SCRIPTED_SPIN:
        spin(what->count);
        return 0;
    case SCRIPTED_LOOP:
        spin(UINT32_MAX);
        return 0;
    case SCRIPTED_CRASH:
        return touch();
    case SCRIPTED_ABSURD:
        TR_ASSERT(what->verb != SCRIPTED_ABSURD);
        return 0;
    case SCRIPTED_OVERRUN:
        return overrun(UINT64_MAX, NULL);
    case SCRIPTED_PASS:
        return tr_tell(context, what->peer, &tr_scripted_do_schema,
                       &(struct tr_scripted_do){.verb = what->then});
    case SCRIPTED_LATER:
        state->then = what->then;
        return tr_timer_start(context, 2, what->count);
    }
    return TR_INVALID;
}

static int handle(struct tr_context *context, void *value, const struct tr_message *message)
{
    struct tr_scripted_state *state = value;
    struct tr_scripted_do what;
    struct tr_timer timer;
    if (tr_message_is(message, &tr_scripted_tick_schema)) {
        state->ticks++;
        return tr_count(context, SCRIPTED_TICKS, 1);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        return 0;
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        int error = tr_message_read(message, timer, &timer);
        state->timers++;
        what = (struct tr_scripted_do){.verb = state->then};
        return error != 0 || timer.id != 2 ? error : do_verb(context, state, &what);
    }
    if (tr_message_is(message, &tr_scripted_do_schema)) {
        int error = tr_message_read(message, scripted_do, &what);
        return error != 0 ? error : do_verb(context, state, &what);
    }
    return tr_unexpected(context, message);
}

static void gauge(const void *value, int64_t sign, int64_t gauges[TR_GAUGES_MAX])
{
    const struct tr_scripted_state *state = value;
    gauges[SCRIPTED_TICKS] += sign * (int64_t)state->ticks;
}

const struct tr_behaviour scripted_behaviour = {
    .name = "scripted",
    .id = 900,
    .state = &tr_scripted_state_schema,
    .supervision = {.backoff_first_ms = 1},
    .handle = handle,
    .gauge = gauge,
};

/* --------------------------------------------------------------------- tools */

static void check(int error, const char *words)
{
    if (error != 0) {
        fprintf(stderr, "scripted: %s: %s\n", tr_error_name(error), words);
        abort();
    }
}

const struct tr_registry *scripted_registry(void)
{
    static const struct tr_schema *const control[] = {TR_CONTROL_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
    static const struct tr_schema *const tap[] = {TR_TAP_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
    static const struct tr_schema *const own[] = {TR_SCRIPTED_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
    static const struct tr_schema_list lists[] = {
        {control, TR_COUNT_OF(control)},
        {tap, TR_COUNT_OF(tap)},
        {own, TR_COUNT_OF(own)},
    };
    static struct tr_registry registry;
    char explain[TR_REGISTRY_EXPLAIN_BYTES] = "";
    if (registry.count == 0) {
        check(tr_registry_init(&registry, lists, TR_COUNT_OF(lists), explain), explain);
    }
    return &registry;
}

struct tr_host *scripted_open(uint32_t workers, const char *folder, uint32_t stuck_handler_ms)
{
    static const struct tr_behaviour *const behaviours[] = {&scripted_behaviour};
    struct tr_host_options options = {
        .worker_count = workers,
        .durability = folder == NULL ? TR_DURABILITY_NONE : TR_DURABILITY_PROCESS,
        .folder = folder,
        .behaviours = behaviours,
        .behaviour_count = TR_COUNT_OF(behaviours),
        .stuck_handler_ms = stuck_handler_ms,
        .counter_count = SCRIPTED_COUNTERS,
    };
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    int error = tr_host_new(&options, explain, &host);
    if (error == 0) {
        error = tr_host_start(host);
    }
    check(error, explain);
    return host;
}

struct tr_ref scripted_spawn(struct tr_host *host, const char *name)
{
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    struct tr_ref actor = {0};
    check(tr_host_spawn(host, &scripted_behaviour, &options, &actor), name);
    return actor;
}

void scripted_do(struct tr_host *host, struct tr_ref who, struct tr_scripted_do what)
{
    check(tr_host_tell(host, who, &tr_scripted_do_schema, &what), "tell");
}

uint64_t scripted_metric(struct tr_host *host, const char *name)
{
    struct tr_metric metrics[TR_METRICS_MAX];
    size_t count = 0;
    check(tr_host_metrics(host, metrics, &count), name);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            return metrics[i].value;
        }
    }
    fprintf(stderr, "scripted: there is no figure %s\n", name);
    abort();
}

void scripted_await(struct tr_host *host, const char *name, uint64_t value)
{
    uint64_t end_ms = now_ms() + 20000;
    uint64_t seen = 0;
    while ((seen = scripted_metric(host, name)) < value) {
        if (now_ms() > end_ms) {
            fprintf(stderr, "scripted: %s is %llu and does not become %llu\n", name,
                    (unsigned long long)seen, (unsigned long long)value);
            abort();
        }
    }
}

struct tr_tap_filter scripted_filter(const char *line)
{
    struct tr_text words[WORDS_MAX];
    size_t count = 0;
    while (*line != '\0') {
        size_t size = strcspn(line, " ");
        words[count++] = (struct tr_text){.data = line, .size = size};
        line += size + (line[size] == ' ');
    }
    char explain[TR_TAP_EXPLAIN_BYTES] = "";
    struct tr_tap_filter filter;
    int error = tr_tap_filter_parse(words, count, scripted_registry(), explain, &filter);
    check(error, explain);
    return filter;
}

struct tr_tap *scripted_tap(struct tr_host *host, const char *line)
{
    struct tr_tap_filter filter = scripted_filter(line);
    struct tr_tap *tap = NULL;
    check(tr_tap_open(host, &filter, &tap), line);
    return tap;
}

void scripted_folder(char folder[SCRIPTED_PATH_BYTES])
{
    snprintf(folder, SCRIPTED_PATH_BYTES, "/tmp/troupe-scripted-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        perror("scripted: mkdtemp");
        abort();
    }
}

void scripted_folder_remove(const char *folder)
{
    char command[SCRIPTED_PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    TR_ASSERT(system(command) == 0);
}
