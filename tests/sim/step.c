/*
 * One turn of a party: a worker, a journal, a program, an environment. After each turn of a worker
 * what its flight recorder got is folded into the signature of the run.
 */
#include "tests/sim/inject.h"
#include "tests/sim/world.h"

#define JOURNAL_SLEEP_NS 100000000ULL
#define FAILING_ALLOCATION_WITHIN 8

static void fold(struct sim_world *world, uint64_t value)
{
    world->signature = sim_mix(world->signature ^ value) + value;
}

static void fold_event(struct sim_host *host, uint32_t worker, const struct tri_event *event)
{
    struct sim_world *world = host->world;
    world->counts.handled += event->point == TR_TAP_HANDLED ? 1 : 0;
    fold(world, world->now_ns);
    fold(world, (uint64_t)host->index << 32 | worker);
    fold(world, event->to_serial);
    fold(world, event->from_serial);
    fold(world, (uint64_t)event->to_group << 32 | event->sequence);
    fold(world, (uint64_t)event->type << 16 | (uint64_t)event->point << 8 | (uint8_t)event->reason);
    sim_say("host %u worker %u %s type %u to %u/%llu from %llu sequence %u reason %d", host->index,
            worker, tr_tap_point_name(event->point), event->type, event->to_group,
            (unsigned long long)event->to_serial, (unsigned long long)event->from_serial,
            event->sequence, event->reason);
}

/* What one frame says, for people who follow a run. */
static void say_frame(const struct sim_host *host, uint32_t place, const struct sim_frame *frame)
{
    struct tri_frame view = {.data = frame->data, .size = frame->size};
    struct tr_bytes bytes;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(&view, &offset, &bytes, &is_stored)) {
        if (bytes.size == 0) {
            continue;
        }
        struct tr_envelope envelope;
        tr_envelope_unpack(bytes.data, &envelope);
        sim_say("host %u place %u is told by place %u: type %u kind %u to %llu/%llu sequence %llu",
                host->index, place, tri_frame_place(&view), envelope.type, envelope.kind,
                (unsigned long long)envelope.to_group, (unsigned long long)envelope.to_serial,
                (unsigned long long)envelope.sequence);
    }
}

void sim_say_frame(const struct sim_host *host, uint32_t place, const struct sim_frame *frame)
{
    if (host->world->is_verbose && place != TRI_PLACE_JOURNAL) {
        say_frame(host, place, frame);
    }
}

static void read_recorder(struct sim_host *host, uint32_t index)
{
    const struct tri_recorder *recorder = &host->host->workers[index].recorder;
    uint64_t *seen = &host->events_seen[index];
    for (; *seen < recorder->next; (*seen)++) {
        fold_event(host, index, &recorder->events[*seen & (TR_RECORDER_EVENTS - 1)]);
    }
}

/* A batch for which there may be no memory: the host then ends, and nothing of it was said. */
static void flush_without_memory(struct sim_host *host, struct tri_worker *worker)
{
    struct sim_world *world = host->world;
    if (!worker->is_journaled || worker->outbox.backlog_count > 0 ||
        sim_below(&world->chance.memory, 4) != 0) {
        return;
    }
    host->net.is_never_full = true;
    sim_memory_arm(world, FAILING_ALLOCATION_WITHIN);
    tri_cut_make(worker);
    sim_memory_disarm(world);
    host->net.is_never_full = false;
}

static bool step_worker(struct sim_host *host, uint32_t index)
{
    struct tri_worker *worker = &host->host->workers[index];
    bool did = tri_worker_step(worker);
    if (worker->fatal == 0 && !host->world->is_calm && host->world->plan.memory > 0) {
        flush_without_memory(host, worker);
    }
    read_recorder(host, index);
    return did;
}

/* Notes since when nothing has been committed, for whoever is too late by that. */
static void note_wait(struct sim_host *host)
{
    uint64_t now_ns = host->world->now_ns;
    if (host->host->journal.state != TRI_JOURNAL_WAITS) {
        host->waits_from_ns = 0;
        return;
    }
    host->waits_from_ns = host->waits_from_ns == 0 ? now_ns : host->waits_from_ns;
    uint64_t waited_ns = now_ns - host->waits_from_ns;
    host->waited_ns = waited_ns > host->waited_ns ? waited_ns : host->waited_ns;
}

/* Where the journal refuses an allocation it fails; where it would keep what a full pipe refuses
 * it cannot, so pipes have room then. */
static bool step_journal(struct sim_host *host)
{
    struct tri_journal *journal = &host->host->journal;
    struct sim_world *world = host->world;
    if (world->bug != NULL && world->bug->step_journal != NULL) {
        world->bug->step_journal(host);
    }
    bool may_fail = journal->sender.outbox.backlog_count == 0;
    if (may_fail) {
        host->net.is_never_full = !world->is_calm && world->plan.memory > 0;
        sim_memory_arm(world, FAILING_ALLOCATION_WITHIN);
    }
    note_wait(host);
    bool did = tri_journal_step(journal);
    sim_memory_disarm(world);
    note_wait(host);
    host->net.is_never_full = false;
    return did;
}

static bool step(struct sim_host *host, const struct sim_party *party, uint64_t *sleep_ns)
{
    switch ((enum sim_party_kind)party->kind) {
    case SIM_WORKER: {
        bool did = step_worker(host, party->index);
        *sleep_ns = tri_worker_idle_ns(&host->host->workers[party->index]);
        return did;
    }
    case SIM_JOURNAL:
        *sleep_ns = JOURNAL_SLEEP_NS;
        return step_journal(host);
    case SIM_PROGRAM: {
        bool did = sim_program_step(host);
        uint64_t look_ns = host->program.look_ns;
        bool is_behind = !tri_outbox_is_empty(&host->host->sender.outbox);
        *sleep_ns = is_behind ? 1000000 : look_ns - host->world->now_ns;
        return did;
    }
    case SIM_INTERHOST: {
        bool did = tri_interhost_service_step(&host->interhost);
        *sleep_ns = tri_interhost_service_idle_ns(&host->interhost);
        return did;
    }
    case SIM_ENVIRONMENT: {
        bool did = sim_environment_step(host);
        uint64_t due_ns = sim_environment_due_ns(host);
        uint64_t now_ns = host->world->now_ns;
        *sleep_ns = due_ns == UINT64_MAX ? UINT64_MAX : due_ns > now_ns ? due_ns - now_ns : 0;
        if (!tri_outbox_is_empty(&host->environment.outbox)) {
            *sleep_ns = 1000000;
        }
        return did;
    }
    }
    return false;
}

/* A host whose journal or worker cannot go on ends; what its store holds goes on. */
static void end_if_fatal(struct sim_host *host)
{
    const struct tr_host *made = host->host;
    struct sim_world *world = host->world;
    int fatal =
        host->store != NULL && made->journal.state == TRI_JOURNAL_FAILED ? made->journal.error : 0;
    for (uint32_t i = 0; i < made->shared.worker_count; i++) {
        fatal = fatal == 0 ? made->workers[i].fatal : fatal;
    }
    if (fatal == 0) {
        return;
    }
    sim_say("host %u cannot go on: %s", host->index, tr_error_name(fatal));
    bool is_excused =
        host->database != NULL ? sim_database_excuses_end(host, fatal) : fatal == TR_STORE_FAILED;
    if (fatal != TR_MEMORY && !is_excused) {
        sim_fail("host %u cannot go on: %s (%s)", host->index, tr_error_name(fatal),
                 tri_store_explain(host->store));
    }
    sim_host_crash(host, sim_below(&world->chance.faults, 2) == 0);
}

void sim_step(struct sim_host *host, struct sim_party *party)
{
    struct sim_world *world = host->world;
    world->host_in_step = host;
    int64_t before = (int64_t)tr_memory_used();
    uint64_t sleep_ns = 0;
    bool did = step(host, party, &sleep_ns);
    host->memory_bytes += (int64_t)tr_memory_used() - before;
    party->is_asleep = !did;
    party->wake_ns = sleep_ns > UINT64_MAX - world->now_ns ? UINT64_MAX : world->now_ns + sleep_ns;
    end_if_fatal(host);
}

static uint32_t place_of(const struct sim_party *party)
{
    static const uint32_t places[] = {
        [SIM_WORKER] = 0,
        [SIM_JOURNAL] = TRI_PLACE_JOURNAL,
        [SIM_PROGRAM] = TRI_PLACE_CONTROL,
        [SIM_ENVIRONMENT] = TRI_PLACE_HTTP,
        [SIM_INTERHOST] = TRI_PLACE_INTERHOST,
    };
    return party->kind == SIM_WORKER ? party->index : places[party->kind];
}

uint64_t sim_party_due_ns(const struct sim_host *host, const struct sim_party *party)
{
    uint64_t due_ns = 0;
    if (party->is_asleep) {
        uint64_t frame_ns = sim_net_due_ns(&host->net, place_of(party));
        due_ns = frame_ns < party->wake_ns ? frame_ns : party->wake_ns;
        if (party->kind == SIM_ENVIRONMENT) {
            uint64_t files_ns = sim_net_due_ns(&host->net, TRI_PLACE_FILES);
            uint64_t reply_ns = sim_environment_due_ns(host);
            due_ns = reply_ns < due_ns ? reply_ns : due_ns;
            due_ns = files_ns < due_ns ? files_ns : due_ns;
        }
        if (party->kind == SIM_INTERHOST) {
            uint64_t packet_ns = sim_network_due_ns(&host->world->network, host->index);
            due_ns = packet_ns < due_ns ? packet_ns : due_ns;
        }
    }
    return due_ns > party->paused_until_ns ? due_ns : party->paused_until_ns;
}
