/*
 * Carrying what two hosts say to each other.
 */
#include "tests/unit/runtime/cluster/crossing.h"

#include <stdlib.h>

#include "runtime/host/take.h"

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
    const uint32_t epochs[] = {0, crossing.hosts[0].is_gone, crossing.hosts[1].is_gone};
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
                                                     .epochs = epochs,
                                                     .partition_count = TR_COUNT_OF(partitions),
                                                     .view = crossing.view});
}

static void close_host(uint32_t index)
{
    struct crossing_host *host = &crossing.hosts[index];
    if (host->is_gone) {
        return;
    }
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

/* ---- Taking over. ---------------------------------------------------------------------------- */

/* What is written into the store of the host that takes. */
struct copying {
    struct tri_op *ops;
    size_t count;
};

static int copy(struct copying *copying, const struct tri_op *op, enum tri_op_kind kind)
{
    copying->ops = realloc(copying->ops, (copying->count + 1) * sizeof *copying->ops);
    struct tri_op *made = &copying->ops[copying->count++];
    uint8_t *data = malloc(op->data.size + 1);
    memcpy(data, op->data.size > 0 ? op->data.data : (const uint8_t *)"", op->data.size);
    *made = *op;
    made->kind = kind;
    made->data.data = data;
    return 0;
}

static int copy_counter(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_COUNTER);
}

static int copy_actor(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_ACTOR);
}

static int copy_page(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_PAGE);
}

static int copy_message(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_MESSAGE);
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

/* The rows of a partition, from one store to the other. */
static void copy_rows(uint64_t partition, struct tri_store *from, struct tri_store *to)
{
    struct copying copying = {.ops = NULL};
    const struct tri_store_visitor visitor = {.self = &copying,
                                              .counter = copy_counter,
                                              .actor = copy_actor,
                                              .page = copy_page,
                                              .message = copy_message};
    const struct tri_group_range range = {tri_partition_origin(partition),
                                          tri_partition_origin(partition + 1) - 1};
    assert_int_equal(tri_store_load_groups(from, range, &visitor), 0);
    if (copying.count > 0) {
        qsort(copying.ops, copying.count, sizeof *copying.ops, compare_ops);
    }
    const struct tri_commit commit = {
        .ops = copying.ops, .count = copying.count, .last_number = to->last_number};
    assert_int_equal(tri_store_commit(to, &commit), 0);
    for (size_t i = 0; i < copying.count; i++) {
        free((void *)(uintptr_t)copying.ops[i].data.data);
    }
    free(copying.ops);
}

void crossing_take(uint32_t lost)
{
    struct crossing_host *host = &crossing.hosts[1 - lost];
    struct crossing_host *from = &crossing.hosts[lost];
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .read_only = true};
    struct tri_store *left = NULL;
    struct tri_take *take = NULL;
    stage_run(&host->stage);
    tri_model_kill(from->model, 1);
    close_host(lost);
    from->is_gone = true;
    crossing.numbers[lost] = crossing.numbers[1 - lost];
    const uint16_t hosts[] = {0, crossing.numbers[0], crossing.numbers[1]};
    const uint32_t epochs[] = {0, crossing.hosts[0].is_gone, crossing.hosts[1].is_gone};
    const struct tr_host_view view = {
        .view = ++crossing.view, .hosts = hosts, .epochs = epochs, .count = 3};
    assert_int_equal(tri_model_open(from->model, &options, NULL, &left), 0);
    copy_rows(lost + 1, left, host->store);
    assert_int_equal(tri_take_prepare(&host->stage.host, &view, left, &take), 0);
    assert_non_null(take);
    tri_store_close(left);
    if (crossing.at_change != NULL) {
        crossing.at_change();
    }
    crossing_tell(1 - lost);
    assert_int_equal(tri_take_open(take), 0);
    tri_take_free(take);
    assert_int_equal(
        tri_owners_change(&host->stage.host.shared.owners, view.view, hosts, view.count), 0);
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
    if (crossing.hosts[index].is_gone) {
        return;
    }
    struct stage *stage = &crossing.hosts[index].stage;
    struct tr_key to = {tr_envelope_get(message.data, 64, to_group),
                        tr_envelope_get(message.data, 64, to_serial)};
    stage_send_bytes(stage, TRI_PLACE_INTERHOST, tri_origin_worker(&stage->host.shared, to),
                     message);
}

/* Where a group is, as it is said to be; neighbours are on the host that says it. */
static uint32_t receiver_of(uint32_t from, struct tr_bytes message)
{
    uint64_t group = tr_envelope_get(message.data, 64, to_group);
    uint64_t partition = tri_group_partition(group);
    bool is_here = partition >= 1 && partition <= 2 &&
                   crossing.numbers[partition - 1] == crossing.numbers[from];
    return is_here ? from : 1 - from;
}

/* Carries what one host has said; whether it had said anything. */
static bool carry(uint32_t from)
{
    size_t size;
    if (crossing.hosts[from].is_gone) {
        return false;
    }
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
            crossing_bring(receiver_of(from, message), message);
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
            if (!crossing.hosts[i].is_gone) {
                stage_run(&crossing.hosts[i].stage);
            }
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
        for (uint32_t host = 0; host < 2; host++) {
            if (!crossing.hosts[host].is_gone) {
                stage_advance(&crossing.hosts[host].stage, 1);
            }
        }
        crossing_run();
    }
}

struct tr_ref crossing_fake(uint32_t host)
{
    return stage_spawn(&crossing.hosts[host].stage, &fake_actor_behaviour, NULL);
}

struct stage *crossing_stage(struct tr_ref actor)
{
    uint32_t index = (uint32_t)(actor.key.group >> TR_GROUP_HOST_SHIFT) - 1;
    return &crossing.hosts[crossing.hosts[index].is_gone ? 1 - index : index].stage;
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
