/*
 * How often an endpoint is called: a rate on calls, how many at once, and a circuit that opens when
 * it does not answer.
 *
 * The rate is halved when the back end says that this was too often, and comes back by a fifth of
 * the whole each second that it does not; those that were under way together halve it once. It is
 * too often before it is too much: a batch keeps its items until that was said several times in a
 * row, and has all of them again seconds after the last time.
 *
 * The circuit opens at several failures in a row, or at once where nothing is done for us, for a
 * time that doubles; then one call shows how it is. Streams that are let in show nothing of that: a
 * back end may be late with all else.
 */
#include <stdio.h>
#include <string.h>

#include "actors/backend/refresh.h"

#define MICROSECONDS 1000000.0

/* How far a rate may be outrun, so that it is held in the mean and not at each moment. */
#define BURST_US 100000

/* However throttled, a call leaves each ten seconds. */
#define RATE_MIN 0.1

/* Of its own words, which may be a whole document. */
#define FAULT_OWN_BYTES_MAX 100

/* What a back end may ask us to wait. */
#define HOLD_MS_MAX 60000

static uint32_t or_default(uint32_t wanted, uint32_t standard)
{
    return wanted != 0 ? wanted : standard;
}

uint32_t tri_refresh_rate_jobs_max(const struct tri_refresh *refresh)
{
    return refresh->place == NULL
               ? TR_WEBAPI_JOBS_AT_ONCE
               : or_default(refresh->place->endpoint.jobs_at_once, TR_WEBAPI_JOBS_AT_ONCE);
}

uint32_t tri_refresh_rate_interval_ms(const struct tri_refresh *refresh)
{
    return refresh->place == NULL
               ? TR_WEBAPI_INTERVAL_MS
               : or_default(refresh->place->endpoint.interval_ms, TR_WEBAPI_INTERVAL_MS);
}

uint32_t tri_refresh_rate_timeout_ms(const struct tri_refresh *refresh)
{
    return or_default(refresh->place->endpoint.timeout_ms, TR_WEBAPI_TIMEOUT_MS);
}

uint32_t tri_refresh_rate_streams_max(const struct tri_refresh *refresh)
{
    uint32_t most = refresh->place->endpoint.streams_max;
    return most == TR_WEBAPI_NO_STREAMS ? 0 : or_default(most, TR_WEBAPI_STREAMS);
}

uint32_t tri_refresh_rate_lag_ms(const struct tri_refresh *refresh)
{
    return refresh->place == NULL
               ? refresh->webapi->lag_ms
               : or_default(refresh->place->endpoint.lag_ms, refresh->webapi->lag_ms);
}

uint32_t tri_refresh_rate_lost_ms(const struct tri_refresh *refresh)
{
    return refresh->place == NULL ? TR_WEBAPI_LOST_MS
                                  : or_default(refresh->place->endpoint.lost_ms, TR_WEBAPI_LOST_MS);
}

static double full_rate(const struct tri_refresh *refresh)
{
    return refresh->place == NULL
               ? TR_WEBAPI_CALLS_PER_SECOND
               : or_default(refresh->place->endpoint.calls_per_second,
                            or_default(tr_webapi_rates_of(refresh->plugin).calls_per_second,
                                       TR_WEBAPI_CALLS_PER_SECOND));
}

/*
 * The rate now: what it was, and a fifth of the whole for each second since. Only whole seconds
 * count, and rate_ms moves on by those: calls within one second do not lose the rest of it.
 */
static void restore_rate(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    double full = full_rate(refresh);
    if (state->rate <= 0 || state->rate > full) {
        state->rate = full;
        state->rate_ms = refresh->now_ms;
    }
    uint64_t seconds =
        refresh->now_ms > state->rate_ms ? (refresh->now_ms - state->rate_ms) / 1000 : 0;
    double restored = state->rate + full / 5 * (double)seconds;
    state->rate = restored > full ? full : restored;
    state->rate_ms += seconds * 1000;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t calls_at_once(const struct tri_refresh *refresh)
{
    uint32_t own = tr_webapi_rates_of(refresh->plugin).calls_at_once;
    return or_default(refresh->place->endpoint.calls_at_once,
                      or_default(own, TR_WEBAPI_CALLS_AT_ONCE));
}

bool tri_refresh_rate_allows(const struct tri_refresh *refresh, uint64_t *when_ms)
{
    const struct tr_refresh_state *state = refresh->state;
    if (refresh->place == NULL) { /* until an engine has it in its settings, which is looked at */
        *when_ms = (refresh->now_ms / TR_REFRESH_AGAIN_MS_MAX + 1) * TR_REFRESH_AGAIN_MS_MAX;
        return false;
    }
    uint64_t at_ms = later(state->retry_after_ms, 0);
    if (state->circuit == TR_CIRCUIT_TRIAL || state->calls >= calls_at_once(refresh)) {
        return false;
    }
    if (state->circuit == TR_CIRCUIT_OPEN) {
        at_ms = later(at_ms, state->circuit_ms);
    }
    if (state->next_us > refresh->now_ms * 1000 + BURST_US) {
        at_ms = later(at_ms, (state->next_us - BURST_US) / 1000 + 1);
    }
    if (at_ms > refresh->now_ms) {
        *when_ms = at_ms;
        return false;
    }
    return true;
}

/* A idle stream says nothing, so it is no trial: it leaves where no call is there to be one. */
bool tri_refresh_rate_allows_stream(struct tri_refresh *refresh, uint64_t *when_ms)
{
    struct tr_refresh_state *state = refresh->state;
    uint32_t calls = state->calls;
    /* Streams are not counted among the calls at once, so these do not keep one from leaving. */
    state->calls = 0;
    bool allows = tri_refresh_rate_allows(refresh, when_ms);
    state->calls = calls;
    if (allows && state->circuit == TR_CIRCUIT_OPEN) {
        if (tri_refresh_queue_is_ready(refresh)) {
            return false;
        }
        state->circuit = TR_CIRCUIT_CLOSED;
        state->failures = TR_REFRESH_FAILURES_MAX - 1;
    }
    return allows;
}

void tri_refresh_rate_count(struct tri_refresh *refresh, uint64_t ask, bool is_stream)
{
    struct tr_refresh_state *state = refresh->state;
    restore_rate(refresh);
    uint64_t now_us = refresh->now_ms * 1000;
    /*
     * Each call moves on the time from which the next is in the rate; a rest before does not add up
     * to a burst.
     */
    state->next_us = later(state->next_us, now_us) + (uint64_t)(MICROSECONDS / state->rate);
    state->calls += is_stream ? 0 : 1;
    if (state->circuit == TR_CIRCUIT_OPEN) {
        state->circuit = TR_CIRCUIT_TRIAL;
        state->trial = ask;
    }
}

/* ---------------------------------------------------------------- circuit */

/* What is wrong, and in brackets the back end's own words, as many of them as there is room for. */
static void set_fault(struct tri_refresh *refresh, const struct tri_call_result *result)
{
    const struct tr_refresh_state *state = refresh->state;
    char words[TR_REFRESH_FAULT_BYTES_MAX + 1];
    char late[64];
    struct tr_text own = tr_text_of(result->words);
    (void)snprintf(late, sizeof late, "does not answer within its `timeout` of %g s",
                   tri_refresh_rate_timeout_ms(refresh) / 1000.0);
    const char *what = result->response_class == TR_WEBAPI_RESPONSE_DENIED
                           ? "refuses us; look at its secret and permissions"
                       : strcmp(result->what, "timeout") == 0 ? late
                                                              : "does not answer";
    int size = snprintf(words, sizeof words, "endpoint %.*s of '%.*s' %s (%s",
                        (int)state->endpoint.size, state->endpoint.data, (int)state->plugin.size,
                        state->plugin.data, what, result->what);
    TR_ASSERT(size > 0 && (size_t)size + sizeof ": …)" <= sizeof words);
    size_t room = sizeof words - (size_t)size - sizeof ": …)";
    room = room < FAULT_OWN_BYTES_MAX ? room : FAULT_OWN_BYTES_MAX;
    bool is_cut = own.size > room;
    own.size = tr_utf8_cut(own, is_cut ? room : own.size);
    (void)snprintf(words + size, sizeof words - (size_t)size, "%s%.*s%s)", own.size > 0 ? ": " : "",
                   (int)own.size, own.data, is_cut ? "…" : "");
    if (tr_array_set(&refresh->state->fault, tr_text_of(words)) != 0) {
        refresh->state->fault.size = 0;
    }
}

static void open_circuit(struct tri_refresh *refresh, const struct tri_call_result *result)
{
    struct tr_refresh_state *state = refresh->state;
    uint32_t wait =
        state->circuit_wait_ms == 0 ? TR_REFRESH_CIRCUIT_MS : 2 * state->circuit_wait_ms;
    state->circuit_wait_ms = wait > TR_REFRESH_CIRCUIT_MS_MAX ? TR_REFRESH_CIRCUIT_MS_MAX : wait;
    state->circuit = TR_CIRCUIT_OPEN;
    state->circuit_ms = refresh->now_ms + state->circuit_wait_ms;
    state->trial = 0;
    set_fault(refresh, result);
}

static void close_circuit(struct tr_refresh_state *state)
{
    state->circuit = TR_CIRCUIT_CLOSED;
    state->circuit_wait_ms = 0;
    state->failures = 0;
    state->trial = 0;
    state->fault.size = 0;
}

void tri_refresh_rate_begin(struct tri_refresh *refresh)
{
    close_circuit(refresh->state);
    refresh->state->rate = 0;
    refresh->state->retry_after_ms = 0;
    refresh->state->throttles = 0;
    refresh->state->throttled_ms = 0;
    refresh->state->items_max = 0;
}

/* For how long it has been content with us. */
static uint64_t content_ms(const struct tri_refresh *refresh)
{
    uint64_t since_ms = later(refresh->state->throttled_ms, refresh->state->retry_after_ms);
    return refresh->now_ms > since_ms ? refresh->now_ms - since_ms : 0;
}

/* What it took when batches were too much for it; 0: that never was, or is long over. */
static uint32_t items_taken(const struct tri_refresh *refresh)
{
    return content_ms(refresh) < TR_REFRESH_FEWER_MS ? refresh->state->items_max : 0;
}

uint32_t tri_refresh_rate_items_max(const struct tri_refresh *refresh, uint32_t items_max)
{
    uint32_t taken = items_taken(refresh);
    uint64_t most = (uint64_t)taken << content_ms(refresh) / 1000 % 32;
    return taken != 0 && most < items_max ? (uint32_t)most : items_max;
}

/* The bound of items from now on: what was taken before it grew, or half of what was not. */
static uint32_t fewer_items(const struct tri_refresh *refresh, uint32_t count)
{
    uint32_t taken = items_taken(refresh);
    bool has_grown = taken != 0 && count > taken;
    if (has_grown || refresh->state->throttles < TR_REFRESH_THROTTLES_MAX ||
        count <= TR_REFRESH_ITEMS_MIN) {
        return taken;
    }
    return count / 2 > TR_REFRESH_ITEMS_MIN ? count / 2 : TR_REFRESH_ITEMS_MIN;
}

/* How long nothing is called for where the back end does not say. */
static uint64_t hold_ms_of(const struct tr_refresh_state *state)
{
    uint64_t hold_ms = TR_REFRESH_HOLD_MS;
    for (uint32_t i = 1; i < state->throttles && hold_ms < TR_REFRESH_HOLD_MS_MAX; i++) {
        hold_ms *= 2;
    }
    return hold_ms > TR_REFRESH_HOLD_MS_MAX ? TR_REFRESH_HOLD_MS_MAX : hold_ms;
}

static void throttle(struct tri_refresh *refresh, const struct tri_call_result *result)
{
    struct tr_refresh_state *state = refresh->state;
    uint64_t hold_ms = result->wait_ms > HOLD_MS_MAX ? HOLD_MS_MAX : result->wait_ms;
    state->throttled++;
    if (result->begin_ms >= state->throttled_ms) { /* else it left before we heard of it */
        restore_rate(refresh);
        state->rate = state->rate / 2 < RATE_MIN ? RATE_MIN : state->rate / 2;
        state->rate_ms = refresh->now_ms;
        state->throttles++;
        state->items_max = fewer_items(refresh, result->count);
        state->throttled_ms = refresh->now_ms;
        hold_ms = hold_ms == 0 ? hold_ms_of(state) : hold_ms;
    }
    state->retry_after_ms =
        later(state->retry_after_ms, hold_ms == 0 ? 0 : refresh->now_ms + hold_ms);
}

void tri_refresh_rate_count_end(struct tri_refresh *refresh, uint64_t ask,
                                const struct tri_call_result *result)
{
    struct tr_refresh_state *state = refresh->state;
    bool is_trial = state->circuit == TR_CIRCUIT_TRIAL && state->trial == ask;
    if (result->response_class == TR_WEBAPI_RESPONSE_THROTTLED) {
        throttle(refresh, result);
    } else if (result->response_class == TR_WEBAPI_RESPONSE_READ) {
        state->throttles = 0;
    }
    switch (result->response_class) {
    case TR_WEBAPI_RESPONSE_THROTTLED:
    case TR_WEBAPI_RESPONSE_READ:
    case TR_WEBAPI_RESPONSE_REFUSED:
        if (!result->is_stream && (state->circuit == TR_CIRCUIT_CLOSED || is_trial)) {
            state->recovered_ms = state->failures > 0 ? refresh->now_ms : state->recovered_ms;
            close_circuit(state);
        }
        return;
    case TR_WEBAPI_RESPONSE_DENIED:
        state->failed++;
        if (state->circuit == TR_CIRCUIT_CLOSED || is_trial) {
            open_circuit(refresh, result);
        }
        return;
    default:
        state->failed++;
        state->failures++;
        if (is_trial ||
            (state->circuit == TR_CIRCUIT_CLOSED && state->failures >= TR_REFRESH_FAILURES_MAX)) {
            open_circuit(refresh, result);
        }
    }
}

struct tr_text tri_refresh_rate_reason(const struct tri_refresh *refresh, char *words, size_t size)
{
    const struct tr_refresh_state *state = refresh->state;
    if (refresh->place == NULL) {
        (void)snprintf(words, size, "endpoint %.*s of '%.*s' is not in the settings of this engine",
                       (int)state->endpoint.size, state->endpoint.data, (int)state->plugin.size,
                       state->plugin.data);
        return tr_text_of(words);
    }
    if (state->circuit == TR_CIRCUIT_CLOSED) {
        return (struct tr_text){0};
    }
    uint64_t wait_ms =
        state->circuit_ms > refresh->now_ms ? state->circuit_ms - refresh->now_ms : 0;
    (void)snprintf(words, size, "%.*s: tried again in %llu s", (int)state->fault.size,
                   state->fault.data, (unsigned long long)(wait_ms + 999) / 1000);
    return tr_text_of(words);
}
