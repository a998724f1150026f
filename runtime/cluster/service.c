/*
 * The steps of the interhost service. Bytes from other hosts are not trusted: a malformed frame is
 * counted and dropped, and so is a message for any actor but an interhost actor.
 *
 * Messages for a host are collected and sent as one frame at the end of the step, or earlier when
 * they reach TR_INTERHOST_FRAME_BYTES. Nothing that it drops is lost: the interhost actors still
 * have it.
 */
#include "runtime/cluster/service.h"

#include <string.h>

#include "runtime/cluster/interhost.h"
#include "runtime/memory.h"

#define SLICE_FRAMES 256
#define LINE_FIRST_BYTES 4096

/* Begins a session with each host that is new in the directory. */
static void meet_peers(struct tri_interhost_service *service)
{
    while (service->peer_count < tri_directory_count(service->directory)) {
        struct tri_interhost_peer *peer = &service->peers[service->peer_count];
        peer->number = service->directory->peers[service->peer_count].number;
        tri_session_init(&peer->session, service->first_session, tri_monotonic_ns(service->env));
        service->peer_count++;
    }
}

int tri_interhost_service_init(struct tri_interhost_service *service, struct tr_env *env,
                               struct tri_directory *directory, const struct tri_owners *owners,
                               uint32_t worker_count, struct tr_ref host)
{
    *service = (struct tri_interhost_service){
        .env = env, .directory = directory, .worker_count = worker_count};
    /*
     * The host's incarnation in the upper half makes every session of this start higher than all
     * earlier ones.
     */
    service->first_session = (uint64_t)host.incarnation << 32;
    tri_sender_init(&service->sender, TR_SERVICE_INTERHOST, host);
    service->peers = tr_alloc_zero(TR_HOSTS_MAX, sizeof *service->peers);
    if (service->peers == NULL || tri_owners_copy(&service->owners, owners) != 0) {
        return TR_MEMORY;
    }
    meet_peers(service);
    return 0;
}

void tri_interhost_service_fini(struct tri_interhost_service *service)
{
    for (uint32_t i = 0; i < service->peer_count; i++) {
        tr_free(service->peers[i].messages);
    }
    tr_free(service->peers);
    service->peers = NULL;
    tri_owners_fini(&service->owners);
    tri_sender_fini(&service->sender);
}

static struct tri_interhost_peer *peer_to(struct tri_interhost_service *service, uint16_t host)
{
    int place = tri_directory_place(service->directory, host);
    return place < 0 || (uint32_t)place >= service->peer_count ? NULL : &service->peers[place];
}

/* ---------------------------------------------------------- to the workers */

/* Tells every worker: only the workers know which of their actors wait for a host. */
static void tell_workers(struct tri_interhost_service *service, const struct tr_schema *schema,
                         const void *body)
{
    for (uint32_t worker = 0; worker < service->worker_count; worker++) {
        struct tr_envelope envelope = {
            .kind = TR_KIND_CONTROL,
            .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
            .to_serial = TR_SERVICE_WORKERS + worker,
        };
        int error = tri_sender_send(&service->sender, worker, &envelope, schema, body);
        if (service->error == 0) {
            service->error = error;
        }
    }
}

static void tell_link(struct tri_interhost_service *service, uint16_t host, bool is_up)
{
    tell_workers(service, &tr_interhost_link_schema,
                 &(struct tr_interhost_link){.host = host, .is_up = is_up});
}

/* Handles the events of a session. */
static void tell_news(struct tri_interhost_service *service, struct tri_interhost_peer *peer,
                      unsigned news)
{
    if ((news & TRI_SESSION_DOWN) != 0) {
        /*
         * The collected messages belong to the session that ended. In the next one they could
         * arrive after their own resend.
         */
        peer->size = 0;
        tell_link(service, peer->number, false);
    }
    if ((news & TRI_SESSION_UP) != 0) {
        tell_link(service, peer->number, true);
    }
}

/* ------------------------------------------------------ from the own host */

/* Reserves space for unsent messages, which are stored as in the frame. */
static int peer_reserve(struct tri_interhost_peer *peer, size_t more)
{
    size_t capacity = peer->capacity == 0 ? LINE_FIRST_BYTES : peer->capacity;
    while (capacity - peer->size < more) {
        capacity *= 2;
    }
    if (capacity == peer->capacity) {
        return 0;
    }
    uint8_t *messages = tr_realloc(peer->messages, capacity);
    if (messages == NULL) {
        return TR_MEMORY;
    }
    peer->messages = messages;
    peer->capacity = capacity;
    return 0;
}

/* A frame with a header and the unsent messages; NULL: no memory. */
static uint8_t *make_frame(const struct tri_interhost_peer *peer,
                           const struct tr_interhost_frame *head, size_t *size)
{
    size_t head_max = tr_interhost_frame_schema.size_max(head);
    uint8_t *data = tr_alloc(TR_ENVELOPE_BYTES + head_max + peer->size);
    if (data == NULL) {
        return NULL;
    }
    struct tr_writer writer = tr_writer_of(data + TR_ENVELOPE_BYTES, head_max);
    int error = tr_interhost_frame_pack(head, &writer);
    TR_ASSERT(error == 0); /* the buffer has the maximum size */
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
    *size = TR_ENVELOPE_BYTES + body_size + peer->size;
    if (peer->size > 0) {
        memcpy(data + TR_ENVELOPE_BYTES + body_size, peer->messages, peer->size);
    }
    return data;
}

/* Sends a host's messages, or an empty frame. */
static void send_frame(struct tri_interhost_service *service, struct tri_interhost_peer *peer,
                       uint64_t now_ns)
{
    bool has_messages = peer->size > 0;
    struct tr_interhost_frame head =
        tri_session_next_frame(&peer->session, service->directory->number, has_messages, now_ns);
    size_t size = 0;
    head.view = service->made_view;
    uint8_t *data = make_frame(peer, &head, &size);
    int error = data == NULL ? TR_MEMORY : tri_wire_send(service->wire, peer->number, data, size);
    peer->size = 0;
    service->counts.frames_sent++;
    if (error != 0 && has_messages) {
        /* The other side would detect the gap; this one knows it already. */
        tri_session_break(&peer->session, now_ns);
        tell_news(service, peer, TRI_SESSION_DOWN);
    }
}

/*
 * Other hosts have some partitions. What is collected for their hosts before goes there, and is
 * sent again to those that they have now.
 */
static void take_owners(struct tri_interhost_service *service, struct tr_bytes bytes)
{
    struct tr_interhost_owners told;
    int error = tr_interhost_owners_unpack(tr_envelope_body(bytes.data),
                                           tr_envelope_get(bytes.data, 8, version), &told);
    if (error == 0) {
        error = tri_owners_read(&service->owners, told.view, told.hosts, told.gives);
    }
    if (error == 0) {
        tell_workers(service, &tr_interhost_owners_schema, &told);
    }
}

/* A host is to be reached elsewhere from now on. What is lost by that its session finds out. */
static void take_peer(struct tri_interhost_service *service, struct tr_bytes bytes)
{
    struct tri_directory *directory = service->directory;
    struct tr_interhost_peer told;
    meet_peers(service);
    int error = tr_interhost_peer_unpack(tr_envelope_body(bytes.data),
                                         tr_envelope_get(bytes.data, 8, version), &told);
    if (error == 0) {
        bool has_key = told.key.size == TR_WIRE_KEY_BYTES;
        error = tri_directory_set_key(directory, told.host, has_key ? told.key.data : NULL);
    }
    if (error == 0) {
        error = tri_directory_set_address(directory, told.host, told.address);
    }
    if (error == 0) {
        error = tri_wire_connect(service->wire, told.host);
    }
    service->counts.peers_refused += error != 0;
}

/* The others hear of it at once. */
static void take_view(struct tri_interhost_service *service, struct tr_bytes bytes, uint64_t now_ns)
{
    struct tr_interhost_view told;
    if (tr_interhost_view_unpack(tr_envelope_body(bytes.data),
                                 tr_envelope_get(bytes.data, 8, version), &told) != 0) {
        return;
    }
    service->made_view = told.view;
    for (uint32_t i = 0; i < service->peer_count; i++) {
        if (service->peers[i].session.is_up) {
            send_frame(service, &service->peers[i], now_ns);
        }
    }
}

/* To an interhost actor of this host, whose worker of origin has it. */
static void pass_in(struct tri_interhost_service *service, struct tr_bytes message)
{
    uint64_t serial = tr_envelope_get(message.data, 64, to_serial);
    uint32_t worker = (uint32_t)(serial & (TR_WORKERS_MAX - 1)) % service->worker_count;
    int error = tri_outbox_add(&service->sender.outbox, worker, message, false);
    if (service->error == 0) {
        service->error = error;
    }
}

/*
 * What neighbours say to each other stays here: it was committed, and that is what it came for.
 * Without a link the message is dropped: interhost actors keep theirs and send them again, and a
 * hint may be lost.
 */
static void take_message(struct tri_interhost_service *service, struct tr_bytes bytes,
                         uint64_t now_ns)
{
    size_t size;
    if (bytes.size == 0 || tr_envelope_check(bytes, &size) != 0) {
        return; /* a wakeup only */
    }
    if (tr_envelope_get(bytes.data, 16, type) == tr_interhost_owners_schema.id) {
        take_owners(service, bytes);
        return;
    }
    if (tr_envelope_get(bytes.data, 16, type) == tr_interhost_peer_schema.id) {
        take_peer(service, bytes);
        return;
    }
    if (tr_envelope_get(bytes.data, 16, type) == tr_interhost_view_schema.id) {
        take_view(service, bytes, now_ns);
        return;
    }
    uint64_t group = tr_envelope_get(bytes.data, 64, to_group);
    uint16_t host = tri_owners_host(&service->owners, group);
    if (host == service->directory->number) {
        pass_in(service, bytes);
        return;
    }
    struct tri_interhost_peer *peer = peer_to(service, host);
    if (peer == NULL || !peer->session.is_up || peer_reserve(peer, bytes.size) != 0) {
        service->counts.messages_dropped++;
        return;
    }
    memcpy(peer->messages + peer->size, bytes.data, bytes.size);
    peer->size += bytes.size;
    if (peer->size >= TR_INTERHOST_FRAME_BYTES) {
        send_frame(service, peer, now_ns);
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

/*
 * Whether a message from another host may be delivered: it must be from one interhost actor to
 * another, each of a group that is on its host. A host that has lost a group may go on to speak for
 * it; and what its new host says comes again when this one has heard of that.
 */
static bool is_for_interhost(const struct tri_interhost_service *service, uint16_t host,
                             const uint8_t *message, struct tr_key *to)
{
    const struct tri_owners *owners = &service->owners;
    uint64_t from_group = tr_envelope_get(message, 64, from_group);
    uint16_t type = tr_envelope_get(message, 16, type);
    *to = (struct tr_key){tr_envelope_get(message, 64, to_group),
                          tr_envelope_get(message, 64, to_serial)};
    return to->group != TR_GROUP_HERE && tri_is_interhost(*to) && tri_interhost_accepts(type) &&
           tr_envelope_get(message, 8, kind) == TR_KIND_TELL &&
           tri_owners_host(owners, from_group) == host && tri_owners_is_here(owners, to->group);
}

/*
 * Passes the messages of a frame to the workers of their interhost actors; false if they are
 * malformed.
 */
static bool hand_in(struct tri_interhost_service *service, uint16_t host, struct tr_bytes rest)
{
    while (rest.size > 0) {
        size_t size;
        struct tr_key to;
        if (tr_envelope_check(rest, &size) != 0) {
            return false;
        }
        if (is_for_interhost(service, host, rest.data, &to)) {
            pass_in(service, (struct tr_bytes){.data = rest.data, .size = size});
        } else {
            service->counts.frames_refused++;
        }
        rest = (struct tr_bytes){.data = rest.data + size, .size = rest.size - size};
    }
    return true;
}

/* Reads the header of a frame; false if it has none. */
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

/*
 * Passes the messages of a frame on only if the session says that it is the next one, so lost,
 * duplicate or late frames never reach a worker.
 */
static void take_frame(struct tri_interhost_service *service, struct tr_bytes bytes,
                       uint64_t now_ns)
{
    struct tr_interhost_frame head;
    struct tr_bytes rest;
    bool is_read = read_head(bytes, &head, &rest);
    struct tri_interhost_peer *peer = is_read ? peer_to(service, head.host) : NULL;
    if (peer == NULL) {
        service->counts.frames_refused++;
        return;
    }
    unsigned news = tri_session_receive(&peer->session, &head, rest.size > 0, now_ns);
    service->heard_view = head.view > service->heard_view ? head.view : service->heard_view;
    tell_news(service, peer, news);
    if ((news & TRI_SESSION_TAKE) != 0) {
        service->counts.frames_taken++;
        service->counts.frames_refused += hand_in(service, head.host, rest) ? 0 : 1;
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

/* One step: received frames, messages of this host, and for each host what is due. */
bool tri_interhost_service_step(struct tri_interhost_service *service)
{
    uint64_t now_ns = tri_monotonic_ns(service->env);
    bool did_hear = take_frames(service, now_ns);
    bool did_take = take_messages(service, now_ns);
    for (uint32_t i = 0; i < service->peer_count; i++) {
        struct tri_interhost_peer *peer = &service->peers[i];
        tell_news(service, peer, tri_session_tick(&peer->session, now_ns));
        if (peer->size > 0 || tri_session_must_send(&peer->session, now_ns)) {
            send_frame(service, peer, now_ns);
        }
    }
    tri_sender_flush(&service->sender);
    return did_hear || did_take;
}

uint64_t tri_interhost_service_idle_ns(struct tri_interhost_service *service)
{
    uint64_t now_ns = tri_monotonic_ns(service->env);
    uint64_t idle_ns = TR_INTERHOST_PING_MS * 1000000ULL;
    for (uint32_t i = 0; i < service->peer_count; i++) {
        uint64_t due_ns = tri_session_idle_ns(&service->peers[i].session, now_ns);
        idle_ns = due_ns < idle_ns ? due_ns : idle_ns;
    }
    return tri_outbox_is_empty(&service->sender.outbox) || idle_ns < 1000000 ? idle_ns : 1000000;
}
