/*
 * One notification: it is sent, again after ever longer waits where that fails, and given up when
 * its retries are used up. Then the actor ends; the row of the history is what stays.
 *
 *     notify -> [call] --answer: fine--> delivered
 *                  ^  `--answer: not--> [timer] --> [call] ... --> given up
 *                  `--lost with the engine or the service: the same attempt again
 *
 * An attempt whose answer was lost is not a failure: with the same key it is asked for again, and
 * what knows keys does it once. A process is known to its keeper by the attempt's name; a request
 * says its key in a header. What was not known to be delivered is delivered again, nothing else.
 */
#include "actors/services/notification.h"

#include <math.h>
#include <string.h>

#include "actors/engine.h"
#include "actors/store/heap.h"
#include "schemas/codec/utf8.h"
#include "schemas/engine/history.h"
#include "schemas/engine/notify.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/process.h"

#define TIMER 1

/* How soon an answer that is lost for the second time is asked for again, doubled each time. */
#define LOST_MS 1000U
#define LOST_DOUBLINGS_MAX 6U

/* The longest wait that a server may ask for. */
#define RETRY_AFTER_S_MAX 3600U

/* Of a failure's words in the row. */
#define WORDS_BYTES_MAX 2048U

/* ---------------------------------------------------------------------- the message */

static struct tr_heap heap_of(const struct tr_notification_state *state)
{
    return (struct tr_heap){.page = state->heap_page, .used = state->heap_used};
}

static int keep(struct tri_notification *notification, const struct tr_message *message)
{
    struct tr_notification_state *state = notification->state;
    struct tr_heap heap = heap_of(state);
    int error = tr_heap_put(notification->context, &heap, message->body, &state->notify);
    state->heap_page = heap.page;
    state->heap_used = heap.used;
    state->notify_version = message->version;
    return error;
}

static int read_kept(struct tri_notification *notification)
{
    const struct tr_notification_state *state = notification->state;
    struct tr_heap heap = heap_of(state);
    struct tr_bytes bytes;
    int error =
        tr_heap_get(notification->context, &heap, state->notify, &notification->under, &bytes);
    return error != 0 ? error
                      : tr_notify_unpack(bytes, state->notify_version, &notification->notify);
}

/* -------------------------------------------------------------------------- its row */

static int record(struct tri_notification *notification, uint8_t status, uint32_t attempts,
                  struct tr_text words)
{
    const struct tr_notification_state *state = notification->state;
    const struct tr_notify *notify = &notification->notify;
    bool is_end = status == TR_NOTIFICATION_DELIVERED || status == TR_NOTIFICATION_GIVEN_UP;
    words.size = tr_utf8_cut(words, WORDS_BYTES_MAX);
    struct tr_notification_row row = {
        .execution = notify->execution,
        .key = notify->key,
        .phase = notify->phase,
        .position = notify->position,
        .path = notify->path,
        .kind = notify->kind,
        .target = notify->shown,
        .status = status,
        .attempts = attempts,
        .created_ms = notify->created_ms,
        .next_ms = status == TR_NOTIFICATION_RETRYING ? state->next_ms : 0,
        .ended_ms = is_end ? tr_now_ms(notification->context) : 0,
        .message = words,
    };
    return tr_record(notification->context, &tr_notification_row_schema, &row);
}

static int end(struct tri_notification *notification, uint8_t status, uint32_t attempts,
               struct tr_text words)
{
    int error = record(notification, status, attempts, words);
    return error != 0 ? error : tr_stop(notification->context);
}

/* ------------------------------------------------------------------------- attempts */

static uint32_t attempts_of(const struct tri_notification *notification)
{
    return notification->state->failures + 1;
}

/* What cannot be sent at all fails without a retry: another attempt would be the same. */
static int send(struct tri_notification *notification)
{
    struct tr_text problem = tr_text_of("");
    int error = tri_notification_send(notification, &problem);
    return error != TR_INVALID
               ? error
               : end(notification, TR_NOTIFICATION_GIVEN_UP, attempts_of(notification), problem);
}

/*
 * The wait behind so many failures, of which half to all: what has failed together does not come
 * back together.
 */
static uint64_t wait_ms(struct tri_notification *notification)
{
    const struct tr_notify *notify = &notification->notify;
    double most = notify->wait_ms_max == 0 ? 9e15 : (double)notify->wait_ms_max;
    double factor = notify->factor >= 1 ? notify->factor : 1;
    double wait =
        (double)notify->first_ms * pow(factor, (double)(notification->state->failures - 1));
    double share = (double)(tr_random(notification->context) >> 11) / 9007199254740992.0;
    wait = wait < most ? wait : most; /* also where it is no number */
    return (uint64_t)(wait * (0.5 + share / 2));
}

static int fail(struct tri_notification *notification, struct tr_text words, uint32_t after_s)
{
    struct tr_notification_state *state = notification->state;
    uint32_t attempts = attempts_of(notification);
    state->call = 0;
    state->losses = 0;
    state->failures++;
    if (state->failures > notification->notify.retries) {
        return end(notification, TR_NOTIFICATION_GIVEN_UP, attempts, words);
    }
    uint64_t delay_ms = wait_ms(notification);
    uint64_t after_ms = 1000ULL * (after_s < RETRY_AFTER_S_MAX ? after_s : RETRY_AFTER_S_MAX);
    delay_ms = delay_ms > after_ms ? delay_ms : after_ms;
    state->next_ms = tr_now_ms(notification->context) + delay_ms;
    int error = tr_timer_start(notification->context, TIMER, delay_ms);
    return error != 0 ? error : record(notification, TR_NOTIFICATION_RETRYING, attempts, words);
}

static int deliver(struct tri_notification *notification)
{
    return end(notification, TR_NOTIFICATION_DELIVERED, attempts_of(notification), tr_text_of(""));
}

/* ----------------------------------------------------------------------- what comes */

static int on_notify(struct tri_notification *notification, const struct tr_message *message)
{
    int error = tr_message_read(message, notify, &notification->notify);
    if (error == 0) {
        error = keep(notification, message);
    }
    return error != 0 ? error : send(notification);
}

/* Text of unknown origin on one line, not too much of it. */
static struct tr_text shown(struct tri_notification *notification, struct tr_text text)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    bool is_cut = text.size > TRI_NOTIFICATION_SHOWN_BYTES;
    text.size = tr_utf8_cut(text, TRI_NOTIFICATION_SHOWN_BYTES);
    tr_buffer_add_visible(&line, text);
    struct tr_text kept =
        tr_arena_print(&notification->arena, "%.*s%s", (int)line.size,
                       line.data == NULL ? "" : (const char *)line.data, is_cut ? "..." : "");
    if (line.error != 0 && notification->arena.error == 0) {
        notification->arena.error = line.error;
    }
    tr_buffer_fini(&line);
    return kept;
}

/* Whatever the server has said, a status from 200 to 299 says that it has taken it. */
static int on_response(struct tri_notification *notification, const struct tr_message *message)
{
    struct tr_http_response response;
    int error = tr_message_read(message, http_response, &response);
    if (error != 0 || (response.status >= 200 && response.status < 300)) {
        return error != 0 ? error : deliver(notification);
    }
    if (response.status == 0) {
        struct tr_text words = shown(notification, response.message);
        bool is_hopeless = tr_text_equal(response.fault, tr_text_of("invalid"));
        return is_hopeless
                   ? end(notification, TR_NOTIFICATION_GIVEN_UP, attempts_of(notification), words)
                   : fail(notification, words, 0);
    }
    struct tr_text body = {.data = (const char *)response.body.data, .size = response.body.size};
    struct tr_text said = shown(notification, body);
    return fail(notification,
                tr_arena_print(&notification->arena, "answered with %u%s%.*s", response.status,
                               said.size > 0 ? ": " : "", TRI_TEXT(said)),
                response.retry_after_s);
}

/* The end of what the program wrote to stderr. */
static struct tr_text error_output(struct tri_notification *notification,
                                   const struct tr_process_over *over)
{
    struct tr_cursor cursor;
    struct tr_process_document document = {.is_absent = true};
    if (tr_process_array_begin(over->documents, &cursor) > 0) {
        document = tr_process_document_next(&cursor);
    }
    if (cursor.error != 0 || document.is_absent || document.is_too_large) {
        return tr_text_of("");
    }
    struct tr_text text = {.data = (const char *)document.bytes.data, .size = document.bytes.size};
    while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    return shown(notification, text);
}

/* What was started, where the row does not say so: the program that sends mail, and a blank. */
static struct tr_text program(struct tri_notification *notification)
{
    const char *sendmail = tr_engine_of(notification->context)->sendmail;
    return notification->notify.kind != TR_NOTIFY_BY_MAIL
               ? tr_text_of("")
               : tr_arena_print(&notification->arena, "%s ",
                                sendmail != NULL ? sendmail : TR_SENDMAIL);
}

static int on_over(struct tri_notification *notification, const struct tr_message *message)
{
    struct tr_process_over over;
    int error = tr_message_read(message, process_over, &over);
    if (error == 0) {
        error = tri_notification_clean(notification);
    }
    if (error != 0) {
        return error;
    }
    if (over.outcome == TR_PROCESS_EXITED && over.status == 0) {
        return deliver(notification);
    }
    struct tr_text target = program(notification);
    struct tr_text said = error_output(notification, &over);
    struct tr_text reason = shown(notification, over.reason);
    const char *what = over.stopped_by == TR_PROCESS_STOPPED_BY_TIMEOUT ? "took too long"
                       : over.outcome == TR_PROCESS_EXITED              ? "ended with exit status"
                       : over.outcome == TR_PROCESS_SIGNALLED           ? "was ended by signal"
                                                              : "was not started, or lost";
    bool has_status = over.stopped_by != TR_PROCESS_STOPPED_BY_TIMEOUT &&
                      (over.outcome == TR_PROCESS_EXITED || over.outcome == TR_PROCESS_SIGNALLED);
    struct tr_text status =
        has_status ? tr_arena_print(&notification->arena, " %u", over.status) : tr_text_of("");
    struct tr_text detail = said.size > 0 ? said : reason;
    return fail(notification,
                tr_arena_print(&notification->arena, "%.*s%s%.*s%s%.*s", TRI_TEXT(target), what,
                               TRI_TEXT(status), detail.size > 0 ? ": " : "", TRI_TEXT(detail)),
                0);
}

/* Nothing was started. */
static int on_refused(struct tri_notification *notification, const struct tr_message *message)
{
    struct tr_process_refused refused;
    int error = tr_message_read(message, process_refused, &refused);
    return error != 0 ? error
                      : fail(notification,
                             tr_arena_print(&notification->arena, "%.*swas not started: %.*s",
                                            TRI_TEXT(program(notification)),
                                            TRI_TEXT(shown(notification, refused.reason))),
                             0);
}

/* The first time it is a crash, and asked about at once; then a service that cannot be had. */
static int on_lost(struct tri_notification *notification)
{
    struct tr_notification_state *state = notification->state;
    state->call = 0;
    if (++state->losses == 1) {
        return send(notification);
    }
    uint32_t doublings =
        state->losses - 2 < LOST_DOUBLINGS_MAX ? state->losses - 2 : LOST_DOUBLINGS_MAX;
    return tr_timer_start(notification->context, TIMER, (uint64_t)LOST_MS << doublings);
}

/* An answer to another call than the one under way is of one before it. */
static int on_answer(struct tri_notification *notification, const struct tr_message *message)
{
    const struct tr_notification_state *state = notification->state;
    if (state->call == 0 || tr_message_ask(message) != state->call) {
        return 0;
    }
    if (tr_message_is(message, &tr_http_response_schema)) {
        return on_response(notification, message);
    }
    if (tr_message_is(message, &tr_process_over_schema)) {
        return on_over(notification, message);
    }
    if (tr_message_is(message, &tr_process_refused_schema)) {
        return on_refused(notification, message);
    }
    return tr_message_is(message, &tr_ask_failed_schema)
               ? on_lost(notification)
               : tr_unexpected(notification->context, message);
}

static int react(struct tri_notification *notification, const struct tr_message *message)
{
    int error = read_kept(notification);
    if (error != 0) {
        return error;
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        return notification->state->call == 0 ? send(notification) : 0;
    }
    if (tr_message_is(message, &tr_process_started_schema)) {
        return 0;
    }
    return message->kind == TR_KIND_REPLY || tr_message_is(message, &tr_ask_failed_schema)
               ? on_answer(notification, message)
               : tr_unexpected(notification->context, message);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tri_notification notification = {.context = context, .state = state};
    bool is_first = tr_message_is(message, &tr_notify_schema);
    if (is_first != (notification.state->notify == 0)) {
        return tr_unexpected(context, message); /* begun twice, or not at all */
    }
    tr_buffer_init(&notification.under, 0);
    tr_arena_init(&notification.arena);
    int error = is_first ? on_notify(&notification, message) : react(&notification, message);
    error = error != 0 ? error : notification.arena.error;
    tr_arena_fini(&notification.arena);
    tr_buffer_fini(&notification.under);
    return error;
}

const struct tr_behaviour tr_notification_behaviour = {
    .name = "notification", .id = 116, .state = &tr_notification_state_schema, .handle = handle};

/* ------------------------------------------------------------------------ the notifier */

/*
 * One actor for a store: it gives each notification an actor of its own, which goes on when the
 * execution that it tells of has ended, and when the engine ends. Each is a group: so they spread
 * over the workers, and none is held up by another's.
 */
static int notifier_begin(struct tr_context *context, struct tr_notifier_state *state,
                          const struct tr_message *message)
{
    struct tr_notify notify;
    struct tr_ref child;
    int error = tr_message_read(message, notify, &notify);
    if (error != 0) {
        return error;
    }
    struct tr_spawn_options options = {.name = notify.key, .is_group = true};
    error = tr_spawn(context, &tr_notification_behaviour, &options, &child);
    if (error != 0) {
        return error;
    }
    state->given++;
    return tr_tell_hinted(context, child, tr_spawned_hint(context), &tr_notify_schema, &notify);
}

static int notifier_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    return tr_message_is(message, &tr_notify_schema) ? notifier_begin(context, state, message)
                                                     : tr_unexpected(context, message);
}

const struct tr_behaviour tr_notifier_behaviour = {
    .name = "notifier", .id = 115, .state = &tr_notifier_state_schema, .handle = notifier_handle};
