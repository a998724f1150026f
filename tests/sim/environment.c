/*
 * The environment of each host: reads calls, hands them to the play, and sends answers late, out of
 * order, or not at all. No crash takes back what it has heard.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

/* An answer that is not sent yet: a message's body, packed. */
struct sim_outbox {
    struct sim_outbox *next;
    uint64_t due_ns;
    struct tr_ref to;
    uint64_t ask;
    bool is_inside; /* the service is a part of the process, and dies with it */
    const struct tr_schema *schema;
    size_t size;
    uint8_t body[];
};

void sim_environment_reply(struct sim_host *host, const struct tr_envelope *call,
                           const struct tr_schema *schema, const void *body, uint64_t delay_ns)
{
    uint8_t *packed = sim_must(malloc(TR_MESSAGE_BYTES_MAX));
    struct tr_writer writer = tr_writer_of(packed, TR_MESSAGE_BYTES_MAX);
    int error = schema->pack(body, &writer);
    TR_ASSERT(error == 0);
    size_t size = tr_writer_size(&writer);
    struct sim_outbox *reply = sim_must(malloc(sizeof *reply + size));
    *reply = (struct sim_outbox){
        .next = host->outside_box,
        .due_ns = host->world->now_ns + delay_ns,
        .to = tr_envelope_from(call),
        .ask = call->sequence,
        .is_inside = call->to_serial == TR_SERVICE_FILES,
        .schema = schema,
        .size = size,
    };
    memcpy(reply->body, packed, size);
    free(packed);
    host->outside_box = reply;
}

void sim_environment_hear(struct sim_host *host, struct tr_bytes message)
{
    struct tr_envelope envelope;
    tr_envelope_unpack(message.data, &envelope);
    host->world->counts.outside_calls++;
    host->world->play->hear(host, &envelope, tr_envelope_body(message.data));
}

/* Says something to the worker of origin of whoever waits for it. */
static void say(struct sim_host *host, struct tr_ref to, uint64_t ask, uint8_t kind,
                const struct tr_schema *schema, const void *body)
{
    struct tr_envelope envelope = {
        .kind = kind,
        .to_group = to.key.group,
        .to_serial = to.key.serial,
        .to_incarnation = to.incarnation,
        .cause_group = to.key.group,
        .cause_serial = to.key.serial,
        .cause_incarnation = to.incarnation,
        .cause_sequence = ask,
    };
    uint32_t worker = tri_origin_worker(&host->host->shared, to.key);
    int error = tri_sender_send(&host->environment, worker, &envelope, schema, body);
    TR_ASSERT(error == 0);
}

void sim_environment_say(struct sim_host *host, const struct tr_envelope *call, uint8_t kind,
                         const struct tr_schema *schema, const void *body)
{
    say(host, tr_envelope_from(call), call->sequence, kind, schema, body);
}

static void send_reply(struct sim_host *host, const struct sim_outbox *reply)
{
    struct tr_bytes body = {.data = reply->body, .size = reply->size};
    void *value = sim_must(calloc(1, reply->schema->struct_size));
    int error = reply->schema->unpack(body, reply->schema->version, value);
    TR_ASSERT(error == 0);
    say(host, reply->to, reply->ask, TR_KIND_REPLY, reply->schema, value);
    free(value);
}

static bool send_replies(struct sim_host *host)
{
    bool did_send = false;
    struct sim_outbox **link = &host->outside_box;
    while (*link != NULL) {
        struct sim_outbox *reply = *link;
        if (reply->due_ns <= host->world->now_ns) {
            send_reply(host, reply);
            *link = reply->next;
            free(reply);
            did_send = true;
        } else {
            link = &reply->next;
        }
    }
    tri_sender_flush(&host->environment);
    return did_send;
}

static bool read_calls(struct sim_host *host, struct tri_channel *link)
{
    struct tri_frame frame;
    bool did_read = false;
    while (tri_channel_receive(link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            sim_environment_hear(host, bytes);
        }
        tri_channel_release(link, &frame);
        did_read = true;
    }
    return did_read;
}

bool sim_environment_step(struct sim_host *host)
{
    bool did_read = read_calls(host, host->environment.link);
    did_read = read_calls(host, host->files) || did_read;
    const struct sim_play *play = host->world->play;
    bool did_elapse = play->elapse != NULL && play->elapse(host);
    return send_replies(host) || did_read || did_elapse;
}

uint64_t sim_environment_due_ns(const struct sim_host *host)
{
    const struct sim_play *play = host->world->play;
    uint64_t due_ns = play->due_ns != NULL ? play->due_ns(host) : UINT64_MAX;
    for (const struct sim_outbox *reply = host->outside_box; reply != NULL; reply = reply->next) {
        due_ns = reply->due_ns < due_ns ? reply->due_ns : due_ns;
    }
    return due_ns;
}

void sim_environment_forget(struct sim_host *host, bool all)
{
    struct sim_outbox **link = &host->outside_box;
    while (*link != NULL) {
        struct sim_outbox *reply = *link;
        if (all || reply->is_inside || sim_below(&host->world->chance.environment, 2) == 0) {
            *link = reply->next;
            free(reply);
        } else {
            link = &reply->next;
        }
    }
}
