/*
 * The interhost service between a wire and the workers, both made of lists: what it takes from
 * other hosts, what it refuses, and what it tells the workers of a link.
 */
#include "runtime/cluster/service.h"

#include <stdlib.h>

#include "runtime/cluster/interhost.h"
#include "tests/support/test.h"

#define FRAMES_MAX 64

struct bytes {
    uint8_t *data;
    size_t size;
};

/* A pipe or a wire: what goes in, and what came out. */
struct list {
    struct bytes frames[FRAMES_MAX];
    size_t count;
    size_t read;
};

static struct tr_env env;
static uint64_t now_ns;
static struct list from_workers;
static struct list to_workers;
static struct list from_wire;
static struct list to_wire;
static bool is_busy;
static uint16_t connected; /* the last one */
static struct tri_directory directory;
static struct tri_owners owners;
static uint64_t sender_group; /* of messages from other hosts */
static struct tri_interhost_service service;

static void push(struct list *list, uint8_t *data, size_t size)
{
    assert_true(list->count < FRAMES_MAX);
    list->frames[list->count++] = (struct bytes){data, size};
}

static int pop(struct list *list, struct tri_frame *frame)
{
    if (list->read == list->count) {
        return TR_NOT_FOUND;
    }
    const struct bytes *bytes = &list->frames[list->read++];
    *frame = (struct tri_frame){.data = bytes->data, .size = bytes->size};
    return 0;
}

static void clear(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        tr_free(list->frames[i].data);
    }
    *list = (struct list){0};
}

static int link_send(struct tri_channel *link, uint32_t place, uint8_t *data, size_t size)
{
    (void)link;
    assert_int_equal(place, 0);
    push(&to_workers, data, size);
    return 0;
}

static int link_receive(struct tri_channel *link, struct tri_frame *frame)
{
    (void)link;
    return pop(&from_workers, frame);
}

static void link_release(struct tri_channel *link, struct tri_frame *frame)
{
    (void)link;
    (void)frame;
}

static int wire_send(struct tri_wire *wire, uint16_t host, uint8_t *data, size_t size)
{
    (void)wire;
    assert_true(host >= 2 && host <= 4);
    if (is_busy) {
        tr_free(data);
        return TR_BUSY;
    }
    push(&to_wire, data, size);
    return 0;
}

static int wire_connect(struct tri_wire *wire, uint16_t host)
{
    (void)wire;
    connected = host;
    return host == 4 && directory.peers[2].address[0] == 'x' ? TR_INVALID : 0;
}

static int wire_receive(struct tri_wire *wire, struct tri_frame *frame)
{
    (void)wire;
    return pop(&from_wire, frame);
}

static void wire_release(struct tri_wire *wire, struct tri_frame *frame)
{
    (void)wire;
    (void)frame;
}

static uint64_t clock_ns(struct tr_env *unused)
{
    (void)unused;
    return now_ns;
}

static const struct tr_env_ops env_ops = {.monotonic_ns = clock_ns};
static const struct tri_channel_ops link_ops = {
    .send = link_send, .receive = link_receive, .release = link_release};
static const struct tri_wire_ops wire_ops = {
    .send = wire_send,
    .connect = wire_connect,
    .receive = wire_receive,
    .release = wire_release,
};
static struct tri_channel pipes = {.ops = &link_ops, .place = TRI_PLACE_INTERHOST};
static struct tri_wire wire = {.ops = &wire_ops};

/* A whole message with an empty body. */
static size_t make_message(uint8_t *at, uint16_t type, struct tr_key to)
{
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_TELL,
        .version = 1,
        .type = type,
        .from_group = sender_group,
        .to_group = to.group,
        .to_serial = to.serial,
    };
    tr_envelope_pack(&envelope, at);
    return TR_ENVELOPE_BYTES;
}

/* A frame of host 2, with a message behind its head where `to` is somebody. */
static void arrive(struct tr_interhost_frame head, uint16_t type, struct tr_key to)
{
    uint8_t *data = tr_alloc(1024);
    struct tr_writer writer = tr_writer_of(data + TR_ENVELOPE_BYTES, 512);
    assert_int_equal(tr_interhost_frame_pack(&head, &writer), 0);
    (void)make_message(data, tr_interhost_frame_schema.id, (struct tr_key){0});
    tr_envelope_put(data, 8, version, tr_interhost_frame_schema.version);
    tr_envelope_put(data, 32, body_size, (uint32_t)tr_writer_size(&writer));
    size_t size = TR_ENVELOPE_BYTES + tr_writer_size(&writer);
    size += to.serial == 0 ? 0 : make_message(data + size, type, to);
    push(&from_wire, data, size);
    (void)tri_interhost_service_step(&service);
}

/* The next frame of host 2 in the pair of sessions that is up. */
static struct tr_interhost_frame next_head(bool has_messages)
{
    const struct tri_session *session = &service.peers[0].session;
    return (struct tr_interhost_frame){.host = 2,
                                       .session = 77,
                                       .peer_session = session->mine,
                                       .number = session->received + (has_messages ? 1 : 0)};
}

/* How many messages of a type the workers were told. */
static size_t told(uint16_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < to_workers.count; i++) {
        struct tri_frame frame = {.data = to_workers.frames[i].data,
                                  .size = to_workers.frames[i].size};
        struct tr_bytes message;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
            count += tr_envelope_get(message.data, 16, type) == type ? 1 : 0;
        }
    }
    return count;
}

static const struct tr_ref host = {{TR_GROUP_HOST_BIT | 1ULL << TR_GROUP_HOST_SHIFT, 0}, 3};

static int begin(void **state)
{
    (void)state;
    now_ns = 1000000000;
    is_busy = false;
    connected = 0;
    env.ops = &env_ops;
    directory = (struct tri_directory){.number = 1};
    assert_int_equal(tri_directory_add(&directory, 2, (struct tr_text){0}), 0);
    assert_int_equal(tri_directory_add(&directory, 3, (struct tr_text){0}), 0);
    tri_owners_init(&owners, 1);
    sender_group = tri_partition_origin(2) | 16;
    assert_int_equal(tri_interhost_service_init(&service, &env, &directory, &owners, 1, host), 0);
    service.sender.link = &pipes;
    service.wire = &wire;
    arrive(next_head(false), 0, (struct tr_key){0});
    assert_true(service.peers[0].session.is_up);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tri_interhost_service_fini(&service);
    clear(&from_workers);
    clear(&to_workers);
    clear(&from_wire);
    clear(&to_wire);
    assert_int_equal(tr_memory_used(), 0);
    return 0;
}

static const struct tr_key an_interhost_actor = {(1ULL << TR_GROUP_HOST_SHIFT) | 16,
                                                 TRI_INTERHOST_NUMBER << 4};

static void tells_workers_of_links(void **state)
{
    (void)state;
    assert_int_equal(told(tr_interhost_link_schema.id), 1);
    now_ns += TR_INTERHOST_SILENCE_MS * 1000000ULL + 1;
    (void)tri_interhost_service_step(&service);
    assert_int_equal(told(tr_interhost_link_schema.id), 3); /* of host 3, too, which never came */
    assert_false(service.peers[0].session.is_up);
}

static void brings_messages_to_interhost_actors(void **state)
{
    (void)state;
    arrive(next_head(true), tr_interhost_send_schema.id, an_interhost_actor);
    assert_int_equal(told(tr_interhost_send_schema.id), 1);
    assert_int_equal(service.counts.frames_taken, 1);
    struct tr_interhost_frame again = next_head(true);
    again.number--;
    arrive(again, tr_interhost_send_schema.id, an_interhost_actor);
    assert_int_equal(told(tr_interhost_send_schema.id), 1);
}

static void brings_messages_to_nobody_else(void **state)
{
    (void)state;
    struct tr_key actor = {an_interhost_actor.group, 16};
    struct tr_key worker = {0, TR_SERVICE_WORKERS};
    struct tr_key elsewhere = {an_interhost_actor.group + (1ULL << TR_GROUP_HOST_SHIFT),
                               an_interhost_actor.serial};
    arrive(next_head(true), tr_interhost_send_schema.id, actor);
    arrive(next_head(true), tr_spawn_request_schema.id, worker);
    arrive(next_head(true), tr_interhost_send_schema.id, elsewhere);
    arrive(next_head(true), tr_interhost_out_schema.id,
           an_interhost_actor); /* only its own group says so */
    arrive(next_head(true), tr_timer_schema.id, an_interhost_actor);
    assert_int_equal(service.counts.frames_refused, 5);
    assert_int_equal(told(tr_interhost_send_schema.id), 0);
    assert_int_equal(told(tr_spawn_request_schema.id), 0);
    assert_int_equal(told(tr_interhost_out_schema.id), 0);
    assert_int_equal(told(tr_timer_schema.id), 0);
    assert_true(service.peers[0].session.is_up);
}

static void refuses_what_makes_no_sense(void **state)
{
    (void)state;
    for (size_t size = 1; size < 40; size++) {
        uint8_t *junk = tr_alloc(size);
        memset(junk, 0xdc, size);
        push(&from_wire, junk, size);
        (void)tri_interhost_service_step(&service);
    }
    assert_int_equal(service.counts.frames_refused, 39);
    struct tr_interhost_frame stranger = next_head(true);
    stranger.host = 9;
    arrive(stranger, tr_interhost_send_schema.id, an_interhost_actor);
    assert_int_equal(service.counts.frames_refused, 40);
    assert_true(service.peers[0].session.is_up);
    assert_int_equal(service.error, 0);
}

/* What an interhost actor says to a group of host 2. */
static void say(void)
{
    uint8_t message[512];
    struct tr_key to = {(2ULL << TR_GROUP_HOST_SHIFT) | 16, TRI_INTERHOST_NUMBER << 4};
    size_t size = make_message(message, tr_interhost_send_schema.id, to);
    struct tri_frame_builder builder = {0};
    assert_int_equal(tri_frame_add(&builder, (struct tr_bytes){message, size}, true), 0);
    size_t frame_size;
    uint8_t *frame = tri_frame_take(&builder, TRI_PLACE_JOURNAL, &frame_size);
    push(&from_workers, frame, frame_size);
    (void)tri_interhost_service_step(&service);
}

static void sends_while_the_link_is_up(void **state)
{
    (void)state;
    size_t before = to_wire.count;
    say();
    assert_int_equal(to_wire.count, before + 1);
    assert_int_equal(service.peers[0].session.sent, 1);
    tri_session_break(&service.peers[0].session, now_ns);
    say();
    assert_int_equal(service.counts.messages_dropped, 1);
    assert_int_equal(service.peers[0].session.sent, 0);
}

static void is_down_when_the_wire_is_full(void **state)
{
    (void)state;
    is_busy = true;
    say();
    assert_false(service.peers[0].session.is_up);
    assert_int_equal(told(tr_interhost_link_schema.id), 2);
}

/* The program says something to the service. */
static void tell(const struct tr_schema *schema, const void *body)
{
    uint8_t message[1024];
    size_t size = make_message(message, schema->id, (struct tr_key){0, TR_SERVICE_INTERHOST});
    struct tr_writer writer = tr_writer_of(message + size, sizeof message - size);
    assert_int_equal(schema->pack(body, &writer), 0);
    tr_envelope_put(message, 32, body_size, (uint32_t)tr_writer_size(&writer));
    tr_envelope_put(message, 8, version, (uint8_t)schema->version);
    struct tri_frame_builder builder = {0};
    size += tr_writer_size(&writer);
    assert_int_equal(tri_frame_add(&builder, (struct tr_bytes){message, size}, false), 0);
    size_t frame_size;
    uint8_t *frame = tri_frame_take(&builder, TRI_PLACE_CONTROL, &frame_size);
    push(&from_workers, frame, frame_size);
    (void)tri_interhost_service_step(&service);
}

/* Who has the partitions 0 to 3 in a view. */
static void tell_owners(uint64_t view, uint16_t host_of_2)
{
    uint16_t hosts[] = {0, 1, host_of_2, 3};
    tell(&tr_interhost_owners_schema,
         &(struct tr_interhost_owners){
             .view = view, .hosts = {.data = (const uint8_t *)hosts, .size = sizeof hosts}});
}

static void tell_peer(uint16_t number, const char *address, const uint8_t *key)
{
    tell(&tr_interhost_peer_schema,
         &(struct tr_interhost_peer){
             .host = number,
             .address = tr_text_of(address),
             .key = {.data = key, .size = key != NULL ? TR_WIRE_KEY_BYTES : 0}});
}

/* One that comes while this one runs has a session, and is let in and spoken to where it is. */
static void meets_hosts_that_come_later(void **state)
{
    static const uint8_t key[TR_WIRE_KEY_BYTES] = {3, 1};
    (void)state;
    size_t ups = told(tr_interhost_link_schema.id);
    tell_peer(4, "tcp://10.0.0.4:7", key); /* nobody has added it */
    assert_int_equal(service.counts.peers_refused, 1);
    assert_int_equal(connected, 0);
    assert_int_equal(tri_directory_add(&directory, 4, (struct tr_text){0}), 0);
    assert_int_equal(service.peer_count, 2);
    tell_peer(4, "tcp://10.0.0.4:7", key);
    assert_int_equal(service.peer_count, 3);
    assert_int_equal(connected, 4);
    assert_string_equal(directory.peers[2].address, "tcp://10.0.0.4:7");
    assert_memory_equal(directory.peers[2].key, key, sizeof key);
    arrive((struct tr_interhost_frame){.host = 4,
                                       .session = 9,
                                       .peer_session = service.peers[2].session.mine},
           0, (struct tr_key){0});
    assert_true(service.peers[2].session.is_up);
    assert_int_equal(told(tr_interhost_link_schema.id), ups + 1);
    tell_peer(4, "", NULL);
    assert_false(directory.peers[2].has_key);
    assert_string_equal(directory.peers[2].address, "");
    tell_peer(4, "x", NULL);
    assert_int_equal(service.counts.peers_refused, 2);
}

static void tells_workers_of_later_views_only(void **state)
{
    (void)state;
    tell_owners(5, 3);
    assert_int_equal(told(tr_interhost_owners_schema.id), 1);
    tell_owners(5, 2);
    tell_owners(4, 2);
    assert_int_equal(told(tr_interhost_owners_schema.id), 1);
    assert_int_equal(tri_owners_host(&service.owners, sender_group), 3);
    tell_owners(6, 2);
    assert_int_equal(told(tr_interhost_owners_schema.id), 2);
    tell_owners(7, 1); /* it is loaded here */
    tell_owners(8, 2); /* to lose one takes more than a message */
    assert_int_equal(told(tr_interhost_owners_schema.id), 3);
    assert_int_equal(tri_owners_host(&service.owners, sender_group), 1);
}

static void gives_up_what_is_given(void **state)
{
    (void)state;
    const uint16_t hosts[] = {0, 1, 2, 3};
    tell_owners(5, 1);
    tell(&tr_interhost_owners_schema,
         &(struct tr_interhost_owners){
             .view = 6,
             .hosts = {.data = (const uint8_t *)hosts, .size = sizeof hosts},
             .gives = true});
    assert_int_equal(told(tr_interhost_owners_schema.id), 2);
    assert_int_equal(tri_owners_host(&service.owners, sender_group), 2);
}

/* They have become neighbours, and speak by their interhost actors as before. */
static void passes_in_what_is_for_this_host(void **state)
{
    (void)state;
    tell_owners(5, 1);
    say();
    assert_int_equal(told(tr_interhost_send_schema.id), 1);
    assert_int_equal(service.peers[0].session.sent, 0);
    assert_int_equal(service.counts.messages_dropped, 0);
}

static void sends_to_the_host_that_has_the_partition(void **state)
{
    (void)state;
    say();
    assert_int_equal(service.peers[0].session.sent, 1);
    tell_owners(5, 3);
    say();
    assert_int_equal(service.peers[0].session.sent, 1);
    assert_int_equal(service.counts.messages_dropped, 1); /* the link to 3 is not up */
}

static void takes_nothing_of_a_host_that_has_lost_the_partition(void **state)
{
    (void)state;
    arrive(next_head(true), tr_interhost_send_schema.id, an_interhost_actor);
    assert_int_equal(told(tr_interhost_send_schema.id), 1);
    tell_owners(5, 3);
    arrive(next_head(true), tr_interhost_send_schema.id, an_interhost_actor);
    assert_int_equal(told(tr_interhost_send_schema.id), 1);
    assert_int_equal(service.counts.frames_refused, 1);
    sender_group = tri_host_group(2, 7); /* what it says itself */
    arrive(next_head(true), tr_interhost_send_schema.id, an_interhost_actor);
    assert_int_equal(told(tr_interhost_send_schema.id), 2);
    assert_true(service.peers[0].session.is_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_workers_of_links, begin, end),
        cmocka_unit_test_setup_teardown(brings_messages_to_interhost_actors, begin, end),
        cmocka_unit_test_setup_teardown(brings_messages_to_nobody_else, begin, end),
        cmocka_unit_test_setup_teardown(refuses_what_makes_no_sense, begin, end),
        cmocka_unit_test_setup_teardown(sends_while_the_link_is_up, begin, end),
        cmocka_unit_test_setup_teardown(is_down_when_the_wire_is_full, begin, end),
        cmocka_unit_test_setup_teardown(meets_hosts_that_come_later, begin, end),
        cmocka_unit_test_setup_teardown(tells_workers_of_later_views_only, begin, end),
        cmocka_unit_test_setup_teardown(gives_up_what_is_given, begin, end),
        cmocka_unit_test_setup_teardown(passes_in_what_is_for_this_host, begin, end),
        cmocka_unit_test_setup_teardown(sends_to_the_host_that_has_the_partition, begin, end),
        cmocka_unit_test_setup_teardown(takes_nothing_of_a_host_that_has_lost_the_partition, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
