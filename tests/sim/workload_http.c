/*
 * A reader: adds to a counter at a server, once for each number, and then reads what the server has
 * of it, line by line.
 *
 * Where the outcome of an addition is not known it asks what became of it (law 5 of
 * runtime/ARCHITECTURE.md); the server takes a number once, since a request of before a crash may
 * reach it late. Each part of the stream is answered; a stream that breaks off is taken up where it
 * ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "schemas/runtime/http.h"
#include "tests/sim/workload.h"

#define NUMBERS_MAX 40

struct reading {
    uint32_t planned;
    uint32_t added;
    uint32_t read;
    bool is_asking; /* whether the number was heard */
    bool is_streaming;
    bool is_dropped; /* it has cancelled this stream once */
    bool is_over;
    uint64_t ask; /* the call under way; 0: none */
};

static const struct tr_ref service = {{0, TR_SERVICE_HTTP}, 0};

/* What is asked next: METHOD /READER/WHAT/NUMBER. */
static int request(struct tr_context *context, const struct tr_sim_actor *state,
                   struct reading *reading)
{
    char url[128];
    bool is_adding = !reading->is_streaming && !reading->is_asking;
    uint32_t number = reading->is_streaming ? reading->read : reading->added;
    snprintf(url, sizeof url, "http://server/%llu/%s/%u", (unsigned long long)state->seed,
             reading->is_streaming ? "lines"
             : reading->is_asking  ? "seen"
                                   : "add",
             number);
    uint64_t choice = tr_random(context);
    struct tr_http_request wanted = {
        .method = tr_text_of(is_adding ? "POST" : "GET"),
        .url = tr_text_of(url),
        .delivery = reading->is_streaming ? TR_HTTP_LINES : TR_HTTP_WHOLE,
        .window_bytes = 1 + choice % 16,
        .timeout_ms = choice / 64 % 2 == 0 ? 0 : 200,
    };
    uint64_t timeout_ms = choice / 256 % 3 == 0 ? 50 + choice / 1024 % 200 : 0;
    return tr_call(context, TR_SERVICE_HTTP, &tr_http_request_schema, &wanted, timeout_ms,
                   &reading->ask);
}

/* An end with a status: it is done, or was refused before anything was done. */
static int hear_status(struct tr_context *context, struct reading *reading,
                       const struct tr_message *message, const struct tr_http_response *response)
{
    if (response->status == 503 || response->status == 429) {
        return 0;
    }
    if (response->status != 200) {
        return sim_wrong(context, message, "status %u", response->status);
    }
    if (reading->is_streaming) {
        reading->is_over = reading->read == reading->planned;
        return reading->is_over ? 0
                                : sim_wrong(context, message, "the stream ends at line %u of %u",
                                            reading->read, reading->planned);
    }
    bool is_heard =
        !reading->is_asking || (response->body.size == 1 && *response->body.data == '1');
    reading->added += is_heard ? 1 : 0;
    reading->is_asking = false;
    reading->is_streaming = reading->added == reading->planned;
    return 0;
}

static int hear_end(struct tr_context *context, struct reading *reading,
                    const struct tr_message *message)
{
    struct tr_http_response response;
    int error = tr_message_read(message, http_response, &response);
    if (error != 0) {
        return error;
    }
    if (response.status != 0) {
        return hear_status(context, reading, message, &response);
    }
    if (response.fault.size == 0 || tr_text_equal(response.fault, tr_text_of("none"))) {
        return sim_wrong(context, message, "no response and no fault");
    }
    reading->is_asking = !reading->is_streaming;
    return 0;
}

static int hear_failure(struct tr_context *context, struct reading *reading,
                        const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    int reason = -(int)failed.reason;
    if (error == 0 && reason != TR_TIMEOUT && reason != TR_NO_CONNECTION) {
        return sim_wrong(context, message, "a request failed with %s", tr_error_name(reason));
    }
    reading->is_asking = !reading->is_streaming;
    return error;
}

/* Lines come in their order, none twice. Now and then it ends the stream itself. */
static int hear_part(struct tr_context *context, struct reading *reading,
                     const struct tr_message *message)
{
    struct tr_http_part part;
    struct tr_bytes line;
    int error = tr_message_read(message, http_part, &part);
    if (error != 0 || part.ask != reading->ask) {
        return error; /* of a call that is over */
    }
    struct tr_bytes rest = part.bytes;
    while (tr_http_line_next(&rest, &line)) {
        char text[16];
        snprintf(text, sizeof text, "%.*s", (int)(line.size < 15 ? line.size : 15),
                 (const char *)line.data);
        if (strtoul(text, NULL, 10) != reading->read) {
            return sim_wrong(context, message, "line %s instead of %u", text, reading->read);
        }
        reading->read++;
    }
    struct tr_http_more more = {.ask = part.ask, .bytes = part.bytes.size};
    struct tr_http_cancel cancel = {.ask = part.ask};
    if (!reading->is_dropped && tr_random(context) % 8 == 0) {
        reading->is_dropped = true;
        return tr_tell(context, service, &tr_http_cancel_schema, &cancel);
    }
    return tr_tell(context, service, &tr_http_more_schema, &more);
}

/* Whether the message was about the request; if it was its end, another may follow. */
static int hear(struct tr_context *context, struct reading *reading,
                const struct tr_message *message)
{
    bool is_end = tr_message_is(message, &tr_http_response_schema);
    bool is_failure = sim_is_signal(message, &tr_ask_failed_schema);
    if (tr_message_is(message, &tr_http_part_schema)) {
        return hear_part(context, reading, message);
    }
    if (!is_end && !is_failure) {
        return sim_is_go(message) ? 0 : sim_wrong(context, message, "not for a reader");
    }
    if (tr_message_ask(message) != reading->ask) {
        return sim_wrong(context, message, "an end that nobody waits for");
    }
    reading->ask = 0;
    return is_end ? hear_end(context, reading, message) : hear_failure(context, reading, message);
}

SIM_PLAY(reader)
{
    SIM_TABLE(struct reading, reading, state);
    int error = hear(context, &reading, message);
    if (error != 0) {
        return error;
    }
    if (reading.planned == 0) {
        reading.planned = (uint32_t)(1 + sim_planned(state, 1, NUMBERS_MAX) % (state->size + 1));
    }
    if (reading.is_over) {
        return tr_stop(context);
    }
    if (reading.ask == 0) {
        bool is_later = !sim_is_go(message) && tr_random(context) % 2 == 0;
        error = is_later ? sim_go_on(context) : request(context, state, &reading);
    }
    SIM_KEEP(reading, state);
    return error;
}
