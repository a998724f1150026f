/*
 * The turn of the interhost service. Bytes from other hosts are checked like a stranger's: a frame
 * that does not add up is counted and dropped, and so is a message for anybody but an interhost
 * actor.
 *
 * Messages for a host are collected in its line and leave as one frame at the end of the turn, or
 * earlier when the line reaches TR_INTERHOST_FRAME_BYTES. The service keeps nothing that matters:
 * what it drops, the interhost actors still have.
 */
#include "runtime/cluster/service.h"

#include <string.h>

#include "runtime/cluster/interhost.h"
#include "runtime/memory.h"

#define SLICE_FRAMES 256
#define LINE_FIRST_BYTES 4096

int tri_interhost_service_init(struct tri_interhost_service *service, struct tr_env *env,
                               const struct tri_directory *directory, uint32_t worker_count,
                               uint32_t host_epoch)
{
    *service = (struct tri_interhost_service){
        .env = env, .directory = directory, .worker_count = worker_count};
    tri_sender_init(&service->sender, TR_SERVICE_INTERHOST, host_epoch);
    service->lines = tr_alloc_zero(directory->peer_count + 1, sizeof *service->lines);
    if (service->lines == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < directory->peer_count; i++) {
        service->lines[i].number = directory->peers[i].number;
        /*
         * The host's epoch in the upper half makes every session of this start higher than all of
         * earlier ones.
         */
        tri_session_init(&service->lines[i].session, (uint64_t)host_epoch << 32,
                         tri_monotonic_ns(env));
    }
    return 0;
}

void tri_interhost_service_fini(struct tri_interhost_service *service)
{
    for (uint32_t i = 0; service->lines != NULL && i < service->directory->peer_count; i++) {
        tr_free(service->lines[i].messages);
    }
    tr_free(service->lines);
    service->lines = NULL;
    tri_sender_fini(&service->sender);
}

static struct tri_interhost_line *line_to(struct tri_interhost_service *service, uint16_t host)
{
    int place = tri_directory_place(service->directory, host);
    return place < 0 ? NULL : &service->lines[place];
}

/* ---------------------------------------------------------- to the workers */

/* Every worker hears it: which of them have actors that wait for that host only they know. */
static void tell_workers(struct tri_interhost_service *service, uint16_t host, bool is_up)
{
    for (uint32_t worker = 0; worker < service->worker_count; worker++) {
        struct tr_interhost_link link = {.host = host, .is_up = is_up};
        struct tr_envelope envelope = {
            .kind = TR_KIND_CONTROL,
            .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
            .to_serial = TR_SERVICE_WORKERS + worker,
        };
        int error =
            tri_sender_say(&service->sender, worker, &envelope, &tr_interhost_link_schema, &link);
        if (service->error == 0) {
            service->error = error;
        }
    }
}

/* What a session's news mean to this host. */
static void tell_news(struct tri_interhost_service *service, struct tri_interhost_line *line,
                      unsigned news)
{
    if ((news & TRI_SESSION_DOWN) != 0) {
        /*
         * What was collected belongs to the session that ended. In the next one it could come
         * behind its own resend.
         */
        line->size = 0;
        tell_workers(service, line->number, false);
    }
    if ((news & TRI_SESSION_UP) != 0) {
        tell_workers(service, line->number, true);
    }
}

/* ------------------------------------------------------ from the own host */

/* What waits for a host, one message behind the other, as it will stand in the frame. */
static int line_reserve(struct tri_interhost_line *line, size_t more)
{
    size_t capacity = line->capacity == 0 ? LINE_FIRST_BYTES : line->capacity;
    while (capacity - line->size < more) {
        capacity *= 2;
    }
    if (capacity == line->capacity) {
        return 0;
    }
    uint8_t *messages = tr_realloc(line->messages, capacity);
    if (messages == NULL) {
        return TR_MEMORY;
    }
    line->messages = messages;
    line->capacity = capacity;
    return 0;
}

/* A frame with a head and what waits behind it; NULL: no memory. */
static uint8_t *make_frame(const struct tri_interhost_line *line,
                           const struct tr_interhost_frame *head, size_t *size)
{
    size_t head_max = tr_interhost_frame_schema.size_max(head);
    uint8_t *data = tr_alloc(TR_ENVELOPE_BYTES + head_max + line->size);
    if (data == NULL) {
        return NULL;
    }
    struct tr_writer writer = tr_writer_of(data + TR_ENVELOPE_BYTES, head_max);
    int error = tr_interhost_frame_pack(head, &writer);
    TR_ASSERT(error == 0); /* the bound is its own */
    size_t body_size = tr_writer_size(&writer);
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_CONTROL,
        .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
        .version = tr_interhost_frame_schema.version,
        .type = tr_interhost_frame_schema.id,
        .body_size = (uint32_t)body_size,
    };
    tr_envelope_pack(&envelope, data);
    *size = TR_ENVELOPE_BYTES + body_size + line->size;
    if (line->size > 0) {
        memcpy(data + TR_ENVELOPE_BYTES + body_size, line->messages, line->size);
    }
    return data;
}

/* Sends what waits for a host, or only that this one is there. */
static void send_frame(struct tri_interhost_service *service, struct tri_interhost_line *line,
                       uint64_t now_ns)
{
    bool has_messages = line->size > 0;
    struct tr_interhost_frame head =
        tri_session_speak(&line->session, service->directory->number, has_messages, now_ns);
    size_t size = 0;
    uint8_t *data = make_frame(line, &head, &size);
    int error = data == NULL ? TR_MEMORY : tri_wire_send(service->wire, line->number, data, size);
    line->size = 0;
    service->counts.frames_sent++;
    if (error != 0 && has_messages) {
        /* The other side would find the gap; this one knows it already. */
        tri_session_break(&line->session, now_ns);
        tell_news(service, line, TRI_SESSION_DOWN);
    }
}

/* Without a link the message is dropped: interhost actors keep theirs and send them again, and a
 * hint may be lost. */
static void take_message(struct tri_interhost_service *service, struct tr_bytes bytes,
                         uint64_t now_ns)
{
    size_t size;
    if (bytes.size == 0 || tr_envelope_check(bytes, &size) != 0) {
        return; /* somebody wants this place to be awake */
    }
    uint64_t group = tr_envelope_get(bytes.data, 64, to_group);
    struct tri_interhost_line *line =
        line_to(service, tri_directory_host(service->directory, group));
    if (line == NULL || !line->session.is_up || line_reserve(line, bytes.size) != 0) {
        service->counts.messages_dropped++;
        return;
    }
    memcpy(line->messages + line->size, bytes.data, bytes.size);
    line->size += bytes.size;
    if (line->size >= TR_INTERHOST_FRAME_BYTES) {
        send_frame(service, line, now_ns);
    }
}

static bool take_messages(struct tri_interhost_service *service, uint64_t now_ns)
{
    struct tri_frame frame;
    uint32_t count = 0;
    while (count < SLICE_FRAMES && tri_channel_receive(service->sender.link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            take_message(service, bytes, now_ns);
        }
        tri_channel_release(service->sender.link, &frame);
        count++;
    }
    return count > 0;
}

/* ------------------------------------------------------- from other hosts */

/* Whether a message from elsewhere may come in: only one interhost actor speaks to another. */
static bool is_for_interhost(const struct tri_interhost_service *service, const uint8_t *message,
                             struct tr_key *to)
{
    uint16_t type = tr_envelope_get(message, 16, type);
    *to = (struct tr_key){tr_envelope_get(message, 64, to_group),
                          tr_envelope_get(message, 64, to_serial)};
    return to->group != 0 && tri_is_interhost(*to) && tri_interhost_hears(type) &&
           tr_envelope_get(message, 8, kind) == TR_KIND_TELL &&
           tri_directory_is_here(service->directory, to->group);
}

/* Hands the messages of a frame to the workers of their interhost actors; false where they do not
 * add up. */
static bool hand_in(struct tri_interhost_service *service, struct tr_bytes rest)
{
    while (rest.size > 0) {
        size_t size;
        struct tr_key to;
        if (tr_envelope_check(rest, &size) != 0) {
            return false;
        }
        if (is_for_interhost(service, rest.data, &to)) {
            uint32_t worker = (uint32_t)(to.serial & (TR_WORKERS_MAX - 1)) % service->worker_count;
            struct tr_bytes message = {.data = rest.data, .size = size};
            int error = tri_outbox_add(&service->sender.outbox, worker, message, false);
            if (service->error == 0) {
                service->error = error;
            }
        } else {
            service->counts.frames_refused++;
        }
        rest = (struct tr_bytes){.data = rest.data + size, .size = rest.size - size};
    }
    return true;
}

/* Reads the head of a frame; false where it has none. */
static bool read_head(struct tr_bytes bytes, struct tr_interhost_frame *head, struct tr_bytes *rest)
{
    size_t size;
    if (tr_envelope_check(bytes, &size) != 0 ||
        tr_envelope_get(bytes.data, 16, type) != tr_interhost_frame_schema.id) {
        return false;
    }
    *rest = (struct tr_bytes){.data = bytes.data + size, .size = bytes.size - size};
    return tr_interhost_frame_unpack(tr_envelope_body(bytes.data),
                                     tr_envelope_get(bytes.data, 8, version), head) == 0;
}

/* The session says whether a frame is the next one; only then are its messages handed in, so what
 * is missing, doubled or late never reaches a worker. */
static void take_frame(struct tri_interhost_service *service, struct tr_bytes bytes,
                       uint64_t now_ns)
{
    struct tr_interhost_frame head;
    struct tr_bytes rest;
    bool is_read = read_head(bytes, &head, &rest);
    struct tri_interhost_line *line = is_read ? line_to(service, head.host) : NULL;
    if (line == NULL) {
        service->counts.frames_refused++;
        return;
    }
    unsigned news = tri_session_hear(&line->session, &head, rest.size > 0, now_ns);
    tell_news(service, line, news);
    if ((news & TRI_SESSION_TAKE) != 0) {
        service->counts.frames_taken++;
        service->counts.frames_refused += hand_in(service, rest) ? 0 : 1;
    } else if (rest.size > 0) {
        service->counts.frames_refused++;
    }
}

static bool take_frames(struct tri_interhost_service *service, uint64_t now_ns)
{
    struct tri_frame frame;
    uint32_t count = 0;
    while (count < SLICE_FRAMES && tri_wire_receive(service->wire, &frame) == 0) {
        take_frame(service, (struct tr_bytes){frame.data, frame.size}, now_ns);
        tri_wire_release(service->wire, &frame);
        count++;
    }
    return count > 0;
}

/* One turn: what came from other hosts, what this one says, and for each host what is due. */
bool tri_interhost_service_step(struct tri_interhost_service *service)
{
    uint64_t now_ns = tri_monotonic_ns(service->env);
    bool did_hear = take_frames(service, now_ns);
    bool did_take = take_messages(service, now_ns);
    for (uint32_t i = 0; i < service->directory->peer_count; i++) {
        struct tri_interhost_line *line = &service->lines[i];
        tell_news(service, line, tri_session_tick(&line->session, now_ns));
        if (line->size > 0 || tri_session_must_speak(&line->session, now_ns)) {
            send_frame(service, line, now_ns);
        }
    }
    tri_sender_flush(&service->sender);
    return did_hear || did_take;
}

uint64_t tri_interhost_service_idle_ns(struct tri_interhost_service *service)
{
    uint64_t now_ns = tri_monotonic_ns(service->env);
    uint64_t idle_ns = TR_INTERHOST_PING_MS * 1000000ULL;
    for (uint32_t i = 0; i < service->directory->peer_count; i++) {
        uint64_t due_ns = tri_session_idle_ns(&service->lines[i].session, now_ns);
        idle_ns = due_ns < idle_ns ? due_ns : idle_ns;
    }
    return tri_outbox_is_empty(&service->sender.outbox) || idle_ns < 1000000 ? idle_ns : 1000000;
}
