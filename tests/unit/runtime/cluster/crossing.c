/*
 * Carrying what two hosts say to each other.
 */
#include "tests/unit/runtime/cluster/crossing.h"

#include <stdlib.h>

struct crossing crossing;
struct crossing_kept crossing_kept[CROSSING_KEPT_MAX];
size_t crossing_kept_count;

/* Two numbers for each host. */
#define NUMBERS 4

static void open_host(uint32_t index)
{
    static const struct tr_schema *const records[] = {&tr_ledger_schema};
    struct crossing_host *host = &crossing.hosts[index];
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    const uint16_t partitions[] = {0, crossing.numbers[0], crossing.numbers[1]};
    struct tr_peer peers[NUMBERS - 1];
    size_t count = 0;
    for (uint16_t number = 1; number <= NUMBERS; number++) {
        if (number != crossing.numbers[index]) {
            peers[count++] = (struct tr_peer){.number = number};
        }
    }
    assert_int_equal(tri_model_open(host->model, &options, NULL, &host->store), 0);
    stage_open(&host->stage, &(struct stage_options){.worker_count = crossing.workers,
                                                     .store = host->store,
                                                     .number = crossing.numbers[index],
                                                     .peers = peers,
                                                     .peer_count = count,
                                                     .partitions = partitions,
                                                     .partition_count = TR_COUNT_OF(partitions),
                                                     .view = crossing.view});
}

static void close_host(uint32_t index)
{
    struct crossing_host *host = &crossing.hosts[index];
    host->stage.is_one_of_several = true;
    stage_close(&host->stage);
    tri_store_close(host->store);
}

void crossing_open(uint32_t workers)
{
    crossing = (struct crossing){.workers = workers, .numbers = {1, 2}};
    crossing.memory_before = tr_memory_used();
    fake_actor_forget();
    for (uint32_t i = 0; i < 2; i++) {
        crossing.hosts[i].model = tri_model_new();
        open_host(i);
        crossing_link(i, true);
    }
    crossing_run();
}

void crossing_close(void)
{
    crossing_forget_kept();
    for (uint32_t i = 0; i < 2; i++) {
        close_host(i);
        tri_model_free(crossing.hosts[i].model);
    }
    assert_int_equal(tr_memory_used(), crossing.memory_before);
}

void crossing_crash(uint32_t index)
{
    tri_model_kill(crossing.hosts[index].model, 1);
    close_host(index);
    open_host(index);
    stage_run(&crossing.hosts[index].stage);
}

void crossing_take_over(uint32_t index)
{
    crossing.numbers[index] = (uint16_t)(index + 1 + NUMBERS / 2);
    crossing.view++;
    crossing_crash(index);
}

static void tell_workers(uint32_t index, const struct tr_schema *schema, const void *body)
{
    for (uint32_t worker = 0; worker < crossing.workers; worker++) {
        struct tri_heading heading = {.kind = TR_KIND_CONTROL,
                                      .to = {{0, TR_SERVICE_WORKERS + worker}, 0}};
        stage_send(&crossing.hosts[index].stage, worker, &heading, schema, body);
    }
}

void crossing_tell(uint32_t index)
{
    const uint16_t hosts[] = {0, crossing.numbers[0], crossing.numbers[1]};
    struct tr_interhost_owners owners = {
        .view = crossing.view, .hosts = {.data = (const uint8_t *)hosts, .size = sizeof hosts}};
    tell_workers(index, &tr_interhost_owners_schema, &owners);
}

void crossing_link(uint32_t index, bool is_up)
{
    struct tr_interhost_link link = {.host = crossing.numbers[1 - index], .is_up = is_up};
    tell_workers(index, &tr_interhost_link_schema, &link);
}

void crossing_bring(uint32_t index, struct tr_bytes message)
{
    struct stage *stage = &crossing.hosts[index].stage;
    struct tr_key to = {tr_envelope_get(message.data, 64, to_group),
                        tr_envelope_get(message.data, 64, to_serial)};
    stage_send_bytes(stage, TRI_PLACE_INTERHOST, tri_origin_worker(&stage->host.shared, to),
                     message);
}

/* Carries what one host has said; whether it had said anything. */
static bool carry(uint32_t from)
{
    size_t size;
    uint8_t *data = stage_receive(&crossing.hosts[from].stage, TRI_PLACE_INTERHOST, &size);
    if (data == NULL) {
        return false;
    }
    struct tri_frame frame = {.data = data, .size = size};
    struct tr_bytes message;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
        uint32_t copies = crossing.copies == NULL ? 1 : crossing.copies(from, message);
        for (uint32_t i = 0; i < copies; i++) {
            crossing_bring(1 - from, message);
        }
    }
    tr_free(data);
    return true;
}

void crossing_run(void)
{
    bool did = true;
    while (did) {
        did = false;
        for (uint32_t i = 0; i < 2; i++) {
            stage_run(&crossing.hosts[i].stage);
        }
        for (uint32_t i = 0; i < 2; i++) {
            did = carry(i) || did;
        }
    }
}

void crossing_advance(uint64_t milliseconds)
{
    crossing_run();
    for (uint64_t i = 0; i < milliseconds; i++) {
        stage_advance(&crossing.hosts[0].stage, 1);
        stage_advance(&crossing.hosts[1].stage, 1);
        crossing_run();
    }
}

struct tr_ref crossing_fake(uint32_t host)
{
    return stage_spawn(&crossing.hosts[host].stage, &fake_actor_behaviour, NULL);
}

struct stage *crossing_stage(struct tr_ref actor)
{
    return &crossing.hosts[(actor.key.group >> TR_GROUP_HOST_SHIFT) - 1].stage;
}

void crossing_set_epoch(struct tri_worker *worker, uint64_t group, uint32_t epoch)
{
    tri_group_find(worker, group)->epoch = epoch;
    struct tri_op op = {
        .kind = TRI_OP_PUT_COUNTER, .key = {group, TRI_COUNTER_EPOCH}, .number = epoch};
    tri_batch_add(&worker->batch, &op);
}

struct tri_actor *crossing_interhost(struct tr_ref actor)
{
    struct tr_ref interhost = {tri_interhost_key(actor.key.group), 0};
    return stage_actor(crossing_stage(actor), interhost);
}

void crossing_act(struct tr_ref fake, fake_actor_script script, uint64_t number, struct tr_ref peer)
{
    fake_actor_act(crossing_stage(fake), fake, script, number, peer);
    crossing_run();
}

uint32_t crossing_keep(uint32_t from, struct tr_bytes message)
{
    assert_true(crossing_kept_count < CROSSING_KEPT_MAX);
    struct crossing_kept *kept = &crossing_kept[crossing_kept_count++];
    *kept =
        (struct crossing_kept){.from = from, .data = malloc(message.size), .size = message.size};
    assert_non_null(kept->data);
    memcpy(kept->data, message.data, message.size);
    return 0;
}

void crossing_bring_kept(size_t index)
{
    const struct crossing_kept *kept = &crossing_kept[index];
    crossing_bring(1 - kept->from, (struct tr_bytes){kept->data, kept->size});
}

void crossing_forget_kept(void)
{
    for (size_t i = 0; i < crossing_kept_count; i++) {
        free(crossing_kept[i].data);
    }
    crossing_kept_count = 0;
}
