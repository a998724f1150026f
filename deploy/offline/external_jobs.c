/*
 * Talking to a keeper without an engine: what became of each key is asked; or each is stopped, its
 * end waited for and forgotten.
 */
#include "deploy/offline/external_jobs.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/arena.h"
#include "deploy/common/clock.h"
#include "runtime/keeper_client/keeper_client.h"
#include "schemas/engine/history.h"

/* How long all of it may take. */
#define OUTSIDE_MS 30000
#define LOOK_MS 100

struct outside {
    struct tri_keeper_client *client;
    struct tr_arena arena;
    struct tri_vector keys; /* struct tr_text; an empty one is done with */
    uint32_t left;
    bool stops;       /* else it only asks */
    uint32_t ended;   /* how many have run and ended, */
    char example[64]; /* and the key of one */
    char *explain;
};

static int take_attempt(void *self, const void *value)
{
    struct outside *outside = self;
    const struct tr_attempt *row = value;
    if (row->ended_ms != 0 || row->generated_name.size == 0) {
        return 0;
    }
    struct tr_text *key = tri_vector_add(&outside->arena, &outside->keys, sizeof *key);
    if (key == NULL) {
        return outside->arena.error;
    }
    *key = tr_arena_text(&outside->arena, row->generated_name);
    return outside->arena.error;
}

static int find_keys(struct outside *outside, struct tr_reader *reader, const uint64_t *executions,
                     size_t count)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < count; i++) {
        struct tr_reader_filter filters[] = {
            tr_filter_number("execution", TR_FILTER_EQUAL, executions[i]),
            tr_filter_number("ended_ms", TR_FILTER_EQUAL, 0),
        };
        struct tr_reader_query query = {
            .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
        error = tr_reader_rows(reader, &query, take_attempt, outside);
    }
    outside->left = outside->keys.count;
    return error;
}

/* Asks about all keys that are left, or says that they end now. */
static int say_all(struct outside *outside)
{
    const struct tr_text *keys = outside->keys.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < outside->keys.count; i++) {
        struct tr_process_stop stop = {.key = keys[i]};
        struct tr_process_query query = {.key = keys[i]};
        if (keys[i].size > 0) {
            error = outside->stops
                        ? tri_keeper_client_send(outside->client, &tr_process_stop_schema, &stop)
                        : tri_keeper_client_send(outside->client, &tr_process_query_schema, &query);
        }
    }
    tri_keeper_client_flush(outside->client);
    return error;
}

static int forget(const struct outside *outside, struct tr_text key)
{
    struct tr_process_forget request = {.key = key};
    int error = tri_keeper_client_send(outside->client, &tr_process_forget_schema, &request);
    tri_keeper_client_flush(outside->client);
    return error;
}

/* A key is done with; false where it was before, or is none of these. */
static bool is_done_with(struct outside *outside, struct tr_text key)
{
    struct tr_text *keys = outside->keys.items;
    for (uint32_t i = 0; i < outside->keys.count; i++) {
        if (keys[i].size > 0 && tr_text_equal(keys[i], key)) {
            keys[i].size = 0;
            outside->left--;
            return true;
        }
    }
    return false;
}

/* What never ran has done nothing that an engine would have to hear of. */
static int take_end(struct outside *outside, const struct tr_process_ended *ended)
{
    bool is_new = is_done_with(outside, ended->key);
    if (is_new && outside->stops) {
        return forget(outside, ended->key);
    }
    bool has_run = ended->outcome != TR_PROCESS_NOT_STARTED || ended->status != (uint32_t)ECANCELED;
    if (is_new && has_run) {
        snprintf(outside->example, sizeof outside->example, "%.*s", (int)ended->key.size,
                 ended->key.data);
        outside->ended++;
    }
    return 0;
}

/* Behind the state of a key that has ended comes its end. */
static int take_state(struct outside *outside, const struct tr_process_state *state)
{
    bool is_live = state->phase == TR_PROCESS_STARTING || state->phase == TR_PROCESS_RUNNING;
    bool is_last = outside->stops ? !is_live : state->phase != TR_PROCESS_ENDED;
    bool is_new = is_last && is_done_with(outside, state->key);
    return is_new && outside->stops && state->phase == TR_PROCESS_ENDED
               ? forget(outside, state->key)
               : 0;
}

static int take_packet(struct outside *outside, const struct tri_packet *packet)
{
    struct tr_process_ended ended;
    struct tr_process_state state;
    if (packet->type == tr_process_ended_schema.id &&
        tr_process_ended_unpack(packet->body, packet->version, &ended) == 0) {
        return take_end(outside, &ended);
    }
    if (packet->type == tr_process_state_schema.id &&
        tr_process_state_unpack(packet->body, packet->version, &state) == 0) {
        return take_state(outside, &state);
    }
    return 0;
}

static int take_event(struct outside *outside, const struct tri_keeper_event *event)
{
    if (event->kind == TRI_KEEPER_UP) {
        return say_all(outside);
    }
    if (event->kind == TRI_KEEPER_DOWN) {
        snprintf(outside->explain, TRI_STORE_EXPLAIN_BYTES,
                 "the keeper of its processes cannot be reached: %.300s",
                 event->words != NULL ? event->words : tr_error_text(event->error));
        if (event->error != 0) {
            return event->error;
        }
        return TR_NO_CONNECTION;
    }
    return take_packet(outside, &event->packet);
}

static int talk(struct outside *outside)
{
    uint64_t end_ms = tr_clock_ms() + OUTSIDE_MS;
    int error = 0;
    tri_keeper_client_connect(outside->client);
    while (error == 0 && outside->left > 0) {
        struct tri_keeper_event event;
        struct pollfd ready = {.fd = tri_keeper_client_fd(outside->client), .events = POLLIN};
        (void)poll(&ready, 1, LOOK_MS);
        int next;
        while (error == 0 && (next = tri_keeper_client_next(outside->client, &event)) == 0) {
            error = take_event(outside, &event);
        }
        error = error == 0 && tr_clock_ms() > end_ms ? TR_TIMEOUT : error;
    }
    return error;
}

/* Says it to the keeper of a store; without any keeper's log nothing was ever started. */
static int reach_keeper(struct outside *outside, const char *folder)
{
    static const char *const command[] = {"troupe", "keeper", NULL};
    struct tri_keeper_client_options options = {.store_folder = folder, .command = command};
    char log[PATH_MAX];
    snprintf(log, sizeof log, "%s/keeper.log", folder);
    if (outside->left == 0 || access(log, F_OK) != 0) {
        return 0;
    }
    int error = tri_keeper_client_new(&options, &outside->client);
    if (error == 0) {
        error = talk(outside);
    }
    tri_keeper_client_free(outside->client);
    return error;
}

static int refuse_unrecorded(struct outside *outside)
{
    snprintf(outside->explain, TRI_STORE_EXPLAIN_BYTES,
             "%u of its attempts (%s%s) ended while no engine ran, which is not recorded yet; let "
             "an engine run for a moment (`troupe resume`) and say it again",
             outside->ended, outside->example, outside->ended > 1 ? " and others" : "");
    return TR_BUSY;
}

static int reach(const char *folder, struct tr_reader *reader, const uint64_t *executions,
                 size_t count, bool stops, char *explain)
{
    struct outside outside = {.stops = stops, .explain = explain};
    tr_arena_init(&outside.arena);
    int error = find_keys(&outside, reader, executions, count);
    if (error == 0) {
        error = reach_keeper(&outside, folder);
    }
    if (error == 0 && outside.ended > 0) {
        error = refuse_unrecorded(&outside);
    }
    if (error != 0 && explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "what runs for it cannot be %s: %s",
                 stops ? "ended" : "asked about", tr_error_text(error));
    }
    tr_arena_fini(&outside.arena);
    return error;
}

int tr_external_jobs_check_recorded(const char *folder, struct tr_reader *reader,
                                    const uint64_t *executions, size_t count, char *explain)
{
    return reach(folder, reader, executions, count, false, explain);
}

int tr_external_jobs_end(const char *folder, struct tr_reader *reader, const uint64_t *executions,
                         size_t count, char *explain)
{
    return reach(folder, reader, executions, count, true, explain);
}
