/*
 * Keeping a message in pages, and asking the program for its graph until it is there.
 */
#include "actors/services/graph_fetch.h"

#include "actors/store/heap.h"
#include "schemas/engine/state_workflow.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"

enum { TIMER_AGAIN = 1 };

/* How soon it asks again, doubled each time, and how often: for about half a minute. */
#define AGAIN_MS_FIRST 50
#define AGAIN_MS_MAX 5000
#define TRIES_MAX 12

struct tr_graph_wait tr_graph_wait_of(const struct tr_message *message)
{
    struct tr_deferred_reply owed = tr_message_deferred(message);
    return (struct tr_graph_wait){
        .body = message->body, .version = message->version, .asker = owed.asker, .ask = owed.ask};
}

int tr_graph_fetch(struct tr_context *context, const struct tr_graph_wait *wait,
                   struct tr_bytes graph)
{
    struct tr_graph_wait told = {.body = wait->body,
                                 .version = wait->version,
                                 .graph = graph,
                                 .asker = wait->asker,
                                 .ask = wait->ask};
    struct tr_ref child;
    int error = tr_spawn(context, &tr_graph_fetch_behaviour, NULL, &child);
    return error != 0 ? error : tr_tell(context, child, &tr_graph_wait_schema, &told);
}

int tr_graph_fetch_end(struct tr_context *context, const struct tr_graph_wait *wait)
{
    const struct tr_ref files = {.key = {.group = TR_GROUP_HERE, .serial = TR_SERVICE_FILES}};
    bool is_held = wait->engine_start != 0 && wait->engine_start == tr_engine_of(context)->life;
    if (!is_held) {
        return 0;
    }
    const struct tr_graph_drop drop = {.graph = tr_graph_number(wait->graph.data)};
    return tr_tell(context, files, &tr_graph_drop_schema, &drop);
}

/* ------------------------------------------------------------------ the one that keeps it */

static struct tr_heap heap_of(const struct tr_graph_fetch_state *state)
{
    return (struct tr_heap){.page = state->heap_page, .used = state->heap_used};
}

static int ask(struct tr_context *context, struct tr_graph_fetch_state *state)
{
    struct tr_text hash = tr_array_get(&state->graph);
    struct tr_graph_read read = {.graph = {(const uint8_t *)hash.data, hash.size}};
    return tr_call(context, TR_SERVICE_FILES, &tr_graph_read_schema, &read, 0, &state->call);
}

/* Its one word from whoever has spawned it. */
static int keep(struct tr_context *context, struct tr_graph_fetch_state *state,
                const struct tr_message *message)
{
    struct tr_graph_wait kept;
    struct tr_heap heap = heap_of(state);
    int error = tr_message_read(message, graph_wait, &kept);
    if (error == 0) {
        struct tr_text hash = {.data = (const char *)kept.graph.data, .size = kept.graph.size};
        error = tr_array_set(&state->graph, hash);
    }
    if (error == 0) {
        error = tr_heap_put(context, &heap, kept.body, &state->body);
    }
    state->heap_page = heap.page;
    state->heap_used = heap.used;
    state->version = kept.version;
    state->asker = kept.asker;
    state->ask = kept.ask;
    return error != 0 ? error : ask(context, state);
}

/* Gives it back, with what is to be said of its graph, and ends. */
static int give_back(struct tr_context *context, const struct tr_graph_fetch_state *state,
                     struct tr_graph_wait *kept)
{
    struct tr_heap heap = heap_of(state);
    struct tr_text hash = tr_array_get(&state->graph);
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    kept->version = state->version;
    kept->graph = (struct tr_bytes){(const uint8_t *)hash.data, hash.size};
    kept->asker = state->asker;
    kept->ask = state->ask;
    int error = tr_heap_get(context, &heap, state->body, &buffer, &kept->body);
    if (error == 0) {
        error = tr_tell(context, tr_parent(context), &tr_graph_wait_schema, kept);
    }
    tr_buffer_fini(&buffer);
    return error != 0 ? error : tr_stop(context);
}

static int on_made(struct tr_context *context, struct tr_graph_fetch_state *state,
                   const struct tr_message *message)
{
    struct tr_graph_made made;
    int error = tr_message_read(message, graph_made, &made);
    if (error != 0) {
        return error;
    }
    struct tr_graph_wait kept = {.engine_start = made.engine_start};
    return give_back(context, state, &kept);
}

static int try_again(struct tr_context *context, struct tr_graph_fetch_state *state, int64_t error,
                     struct tr_text why)
{
    struct tr_graph_wait kept = {.error = error, .message = why};
    uint64_t delay_ms = (uint64_t)AGAIN_MS_FIRST << state->tries;
    state->call = 0;
    if (++state->tries == TRIES_MAX) {
        return give_back(context, state, &kept);
    }
    return tr_timer_start(context, TIMER_AGAIN, delay_ms < AGAIN_MS_MAX ? delay_ms : AGAIN_MS_MAX);
}

/* The store does not have it yet, or cannot be read. */
static int on_failed(struct tr_context *context, struct tr_graph_fetch_state *state,
                     const struct tr_message *message)
{
    struct tr_blob_failed failed;
    int error = tr_message_read(message, blob_failed, &failed);
    if (error != 0) {
        return error;
    }
    return try_again(context, state, failed.error, failed.message);
}

/* The host was started anew, or another one goes on. */
static int on_ask_failed(struct tr_context *context, struct tr_graph_fetch_state *state,
                         const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error != 0) {
        return error;
    }
    return try_again(context, state, -(int)failed.reason, tr_text_of(""));
}

static int on_timer(struct tr_context *context, struct tr_graph_fetch_state *state,
                    const struct tr_message *message)
{
    (void)message;
    return ask(context, state);
}

static const struct {
    const struct tr_schema *schema;
    bool is_answer;
    int (*act)(struct tr_context *context, struct tr_graph_fetch_state *state,
               const struct tr_message *message);
} messages[] = {
    {&tr_graph_wait_schema, false, keep},      {&tr_graph_made_schema, true, on_made},
    {&tr_blob_failed_schema, true, on_failed}, {&tr_ask_failed_schema, true, on_ask_failed},
    {&tr_timer_schema, false, on_timer},
};

static int handle(struct tr_context *context, void *generic, const struct tr_message *message)
{
    struct tr_graph_fetch_state *state = generic;
    for (size_t i = 0; i < TR_COUNT_OF(messages); i++) {
        bool is_meant = !messages[i].is_answer || tr_message_ask(message) == state->call;
        if (tr_message_is(message, messages[i].schema) && is_meant) {
            return messages[i].act(context, state, message);
        }
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour tr_graph_fetch_behaviour = {
    .name = "graph_fetch", .id = 117, .state = &tr_graph_fetch_state_schema, .handle = handle};
