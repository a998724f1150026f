/*
 * Makes, starts and stops a host: workers, journal and store, and their threads.
 *
 * Making a host opens the environment and the store, counts what a crash has left, and loads; the
 * calling thread owns the workers until their threads start. Starting goes against the flow of
 * messages: services, the journal, the workers, the watchdog. Stopping goes with it: workers,
 * watchdog, journal, services, so that each part has read all messages of the previous one.
 *
 * Three flags end the threads. `is_stopping` ends the workers. `is_draining` is set when they have
 * ended, and lets the journal make its last round. `fatal` holds the first error of any thread, at
 * which the workers end and the program stops waiting. The threads check them between two steps and
 * are woken by an empty frame.
 */
#include "runtime/host/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cluster/interhost.h"
#include "runtime/commits/commit_log.h"
#include "runtime/crashes/aside.h"
#include "runtime/crashes/poison_message.h"
#include "runtime/host/follow.h"
#include "runtime/host/host_members.h"
#include "runtime/host/interhost_thread.h"
#include "runtime/host/receive.h"
#include "runtime/host/watchdog.h"
#include "runtime/members/kept_clock.h"
#include "runtime/members/member.h"
#include "runtime/services/files_service.h"
#include "runtime/services/process_service.h"
#include "runtime/store_blobs.h"
#include "runtime/store_open.h"
#include "runtime/watch/crash.h"

/* ------------------------------------------------------------- making it */

/*
 * A behaviour is identified by its id in the store and by its index here, which is a byte in each
 * actor. One index is reserved for the interhost actor.
 */
static int register_behaviours(struct tri_shared *shared, const struct tr_host_options *options)
{
    if (options->behaviour_count + 1 > TR_BEHAVIOURS_MAX) {
        return TR_LIMIT;
    }
    for (size_t i = 0; i < options->behaviour_count; i++) {
        const struct tr_behaviour *behaviour = options->behaviours[i];
        bool is_known = tri_behaviour_index(shared, behaviour->id) >= 0;
        if (is_known || behaviour->state->struct_size > TR_STATE_BYTES_MAX ||
            behaviour->handle == NULL) {
            return TR_INVALID;
        }
        shared->behaviours[shared->behaviour_count++] = behaviour;
    }
    if (options->number != 0) {
        shared->behaviours[shared->behaviour_count++] = &tri_interhost_behaviour;
    }
    return 0;
}

static uint32_t workers_wanted(const struct tr_host_options *options)
{
    long wanted = options->worker_count;
    if (wanted == 0) {
        wanted = sysconf(_SC_NPROCESSORS_ONLN);
    }
    wanted = wanted < 1 ? 1 : wanted;
    return wanted > TR_WORKERS_MAX ? TR_WORKERS_MAX : (uint32_t)wanted;
}

/* The other hosts. */
static int fill_directory(struct tri_directory *directory, const struct tr_host_options *options)
{
    int error = 0;
    directory->number = options->number;
    directory->has_keys = options->keys != NULL;
    if (directory->has_keys) {
        directory->keys = *options->keys;
    }
    for (size_t i = 0; error == 0 && i < options->peer_count; i++) {
        const struct tr_peer *peer = &options->peers[i];
        error = tri_directory_add(directory, peer->number, tr_text_of(peer->address));
        if (error == 0 && peer->key != NULL) {
            error = tri_directory_set_key(directory, peer->number, peer->key);
        }
    }
    return error;
}

/* Which of them has which partition, and which group that is elsewhere. */
static int fill_owners(struct tri_shared *shared, const struct tr_host_options *options)
{
    struct tri_owners *owners = &shared->owners;
    tri_owners_init(owners, options->number);
    if (options->partition_count > TR_PARTITIONS_MAX) {
        return TR_INVALID;
    }
    for (size_t i = 0; options->partitions != NULL && i < TR_PARTITIONS_MAX; i++) {
        bool is_known = i < options->partition_count;
        owners->hosts[i] = is_known ? options->partitions[i] : 0;
        owners->epochs[i] = is_known && options->epochs != NULL ? options->epochs[i] : 0;
    }
    owners->view = options->view;
    shared->has_partitions = options->number != 0 && options->partitions != NULL;
    shared->partition_count = shared->has_partitions ? (uint32_t)options->partition_count : 0;
    uint64_t first = tri_owners_nth(owners, options->number, 0);
    shared->voice = first < TR_PARTITIONS_MAX ? tri_partition_voice(first) : shared->host.key.group;
    int error = 0;
    for (size_t i = 0; error == 0 && i < options->place_count; i++) {
        const struct tr_group_place *place = &options->places[i];
        bool is_known = place->number == options->number ||
                        tri_directory_place(&shared->directory, place->number) >= 0;
        error = is_known ? tri_owners_route(owners, place->group, place->number) : TR_NOT_FOUND;
    }
    return error;
}

/*
 * Shared by all workers; it does not change after the threads start, except moves and next_number.
 * That continues after the last number in the store, since the journal commits numbers without a
 * gap.
 */
static int init_shared(struct tr_host *host, const struct tr_host_options *options)
{
    struct tri_shared *shared = &host->shared;
    if (options->number > TR_HOST_NUMBER_MAX || (options->number != 0 && host->store == NULL) ||
        options->counter_count > TR_COUNTERS_MAX || options->slot >= TR_HOSTS_MAX) {
        return TR_INVALID;
    }
    shared->env = host->env;
    shared->slot = options->slot;
    shared->worker_count = workers_wanted(options);
    shared->durability = options->durability;
    shared->program = options->program;
    shared->counter_count = options->counter_count;
    shared->host.key.group = tri_host_group(options->number, tri_entropy(host->env));
    shared->host.incarnation = host->store == NULL ? 1 : (uint32_t)host->store->incarnation;
    /* A call to a service without its bit is refused at once (TR_NO_CONNECTION). */
    shared->services = 1U << TR_SERVICE_CONTROL;
    shared->services |= options->has_http ? 1U << TR_SERVICE_HTTP : 0;
    shared->services |= options->has_files ? 1U << TR_SERVICE_FILES : 0;
    shared->services |= options->keeper_command != NULL ? 1U << TR_SERVICE_PROCESSES : 0;
    shared->bounds = tri_bounds_of(&options->bounds, shared->worker_count);
    shared->is_balanced = options->is_balanced;
    shared->seed = options->seed != 0 ? options->seed : tri_entropy(host->env);
    struct tri_kept_clock kept = {0};
    uint64_t cell = tri_kept_clock_cell(options->number, options->slot);
    int error = tri_kept_clock_load(host->store, cell, &kept);
    if (error == 0) {
        error = tri_host_tenures_load(host, options, &kept);
    }
    shared->life = tri_life_begin(host->env, kept);
    atomic_init(&shared->next_number, host->store == NULL ? 1 : host->store->last_number + 1);
    if (error != 0) {
        return error;
    }
    error = fill_directory(&shared->directory, options);
    if (error == 0) {
        error = fill_owners(shared, options);
    }
    return error != 0 ? error : register_behaviours(shared, options);
}

/* The assigned group numbers, by worker; one that has none yet draws where it begins. */
static int load_next_groups(struct tr_host *host)
{
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        uint64_t next_group = 0;
        size_t size;
        int error = tri_store_read_meta(host->store, tri_group_cell(&host->shared, i), &next_group,
                                        sizeof next_group, &size);
        if (error == 0 && size == sizeof next_group) {
            host->workers[i].next_group = next_group;
        } else if (error == TR_NOT_FOUND) {
            host->workers[i].next_group =
                tri_group_first_number(&host->shared, tri_entropy(host->env));
        } else if (error != 0) {
            return error;
        } else {
            return TR_STORE_DAMAGED;
        }
    }
    return 0;
}

/* On the thread that makes the host, which owns the workers until their threads start. */
static int init_workers(struct tr_host *host)
{
    uint32_t count = host->shared.worker_count;
    host->workers = tr_alloc_zero(count, sizeof *host->workers);
    if (host->workers == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        int error = tri_worker_init(&host->workers[i], &host->shared, i);
        if (error != 0) {
            return error;
        }
        host->workers[i].receive = tri_receive_frame;
    }
    return 0;
}

int tri_host_init(struct tr_host *host, const struct tr_host_options *options, struct tr_env *env,
                  struct tri_store *store)
{
    host->env = env;
    host->store = store;
    host->stuck_handler_ms = options->stuck_handler_ms;
    int error = init_shared(host, options);
    tri_sender_init(&host->sender, TR_SERVICE_CONTROL, host->shared.host);
    if (error == 0) {
        error = init_workers(host);
    }
    if (error == 0 && store != NULL) {
        tri_journal_init(&host->journal, env, store, host->shared.host);
        tri_journal_keep_clock(&host->journal, &host->shared.life,
                               tri_kept_clock_cell(options->number, options->slot));
        error = load_next_groups(host);
    }
    return error;
}

/*
 * Also for a partly made host: a worker that was not initialized has no `shared`, and all else is
 * zero.
 */
void tri_host_fini(struct tr_host *host)
{
    for (uint32_t i = 0; host->workers != NULL && i < host->shared.worker_count; i++) {
        if (host->workers[i].shared != NULL) {
            tri_worker_fini(&host->workers[i]);
        }
    }
    tr_free(host->workers);
    host->workers = NULL;
    if (host->store != NULL) {
        tri_journal_fini(&host->journal);
    }
    tri_sender_fini(&host->sender);
    tri_owners_fini(&host->shared.owners);
    tri_control_fini(host);
}

/* The first error stays: later ones are its consequence. */
static void fail_host(struct tr_host *host, int error)
{
    int expected = 0;
    atomic_compare_exchange_strong(&host->fatal, &expected, error);
}

/* The words are written before the error is set, so a thread that sees the error can read them. */
static void fail_with_words(void *self, int error, const char *words)
{
    struct tr_host *host = self;
    if (!atomic_flag_test_and_set(&host->has_fatal_words)) {
        snprintf(host->fatal_words, sizeof host->fatal_words, "%s", words);
    }
    fail_host(host, error);
}

/* What others know of this host, where the store has several. */
static struct tri_store_member describe(const struct tr_host_options *options,
                                        char blobs[TRI_STORE_BLOBS_WHERE_BYTES])
{
    tri_store_blobs_where(options->folder, options->blobs, blobs);
    return (struct tri_store_member){
        .name = options->host_name,
        .is_beside = options->is_member || options->number != 0,
        .blobs = blobs,
        .lease_ms = options->lease_ms != 0 ? options->lease_ms : TRI_MEMBER_LEASE_MS,
        .process_lease_ms = options->process_lease_ms != 0 ? options->process_lease_ms
                                                           : TRI_MEMBER_PROCESS_LEASE_MS,
    };
}

/* Without durability there is no store. */
static int open_store(const struct tr_host_options *options, char *explain,
                      struct tri_store **store)
{
    char blobs[TRI_STORE_BLOBS_WHERE_BYTES];
    if (options->durability == TR_DURABILITY_NONE) {
        *store = NULL;
        return 0;
    }
    if (options->folder == NULL) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "a durable host needs a folder for its store");
        return TR_INVALID;
    }
    const struct tri_store_member member = describe(options, blobs);
    struct tri_store_options store_options = {
        .folder = options->folder,
        .member = &member,
        .durability = options->durability,
        .records = options->records,
        .record_count = options->record_count,
        .views = options->views,
        .log = &tri_commit_log_limits,
    };
    return tri_store_open(&store_options, explain, store);
}

/*
 * What ended the process is counted before anything is loaded; from now on workers publish their
 * current message.
 */
static int attach_poison(struct tr_host *host, const struct tr_host_options *options, char *explain)
{
    if (host->store == NULL) {
        return 0;
    }
    int error = tri_poison_message_open(options->folder, host->store, &host->poison);
    if (error == 0) {
        struct tri_crashes *crashes = tri_poison_message_crashes(host->poison);
        tri_aside_lift(crashes, options->lifted, options->lifted_count);
        error = tri_crashes_commit(crashes, host->store);
    }
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                 "what has ended the engine before cannot be counted: %.400s",
                 error == TR_SYSTEM   ? strerror(errno)
                 : error == TR_MEMORY ? tr_error_text(error)
                                      : tri_store_explain(host->store));
        return error;
    }
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        host->workers[i].current_message = tri_poison_message_slot(host->poison, i);
    }
    if (options->aside_behaviour != 0) {
        host->aside_behaviour = options->aside_behaviour;
        host->aside_count =
            tri_crashes_aside(tri_poison_message_crashes(host->poison), host->aside);
    }
    return 0;
}

/* The first host of a store draws its number. */
static int find_store_number(struct tr_host *host)
{
    uint64_t number = 0;
    size_t size = 0;
    if (host->store == NULL) {
        return 0;
    }
    int error = tri_store_read_meta(host->store, TRI_META_NUMBER, &number, sizeof number, &size);
    if (error == TR_NOT_FOUND) {
        number = tri_entropy(host->env) | 1; /* never 0 */
        size = sizeof number;
        struct tri_op op = {.kind = TRI_OP_PUT_META,
                            .number = TRI_META_NUMBER,
                            .data = {.data = (const uint8_t *)&number, .size = sizeof number}};
        struct tri_commit commit = {
            .ops = &op, .count = 1, .last_number = host->store->last_number};
        error = tri_store_commit(host->store, &commit);
    }
    if (error == 0 && (size != sizeof number || number == 0)) {
        error = TR_STORE_DAMAGED;
    }
    host->store_number = error == 0 ? number : 0;
    return error;
}

uint64_t tr_host_store_number(const struct tr_host *host)
{
    return host->store_number;
}

uint32_t tr_host_jobs(const struct tr_host *host)
{
    return host->jobs;
}

/* Keeps the path of the store's folder, where its keeper is. */
static int keep_folder(struct tr_host *host, const struct tr_host_options *options)
{
    if (options->folder == NULL) {
        return options->keeper_command != NULL || options->has_files ? TR_INVALID : 0;
    }
    host->keeper_command = options->keeper_command;
    host->jobs = tri_process_jobs(options->jobs);
    host->is_cold = options->is_cold;
    host->expects_processes = options->expects_processes;
    host->interrupt = options->interrupt;
    host->http_receiver_timeout_ms = options->http_receiver_timeout_ms;
    host->secrets = options->secrets;
    host->secret_count = options->secret_count;
    host->identities = options->identities;
    host->identity_count = options->identity_count;
    host->search_variable = options->search_variable;
    host->search_folder = options->search_folder;
    host->variables = options->variables;
    host->object_stores = options->object_stores;
    host->object_store_count = options->object_store_count;
    host->blobs = options->blobs;
    host->unclaimed_ms = options->unclaimed_ms;
    host->exchange = options->exchange;
    host->folder = tr_text_copy(tr_text_of(options->folder));
    return host->folder == NULL ? TR_MEMORY : 0;
}

static int keep_listen(struct tr_host *host, const struct tr_host_options *options)
{
    if (options->listen == NULL) {
        return 0;
    }
    host->listen = tr_text_copy(tr_text_of(options->listen));
    return host->listen == NULL ? TR_MEMORY : 0;
}

/*
 * Poison messages are counted before the store is loaded, since loading may be what ends the
 * process.
 */
static int assemble(struct tr_host *host, struct tr_host_options *options, char *explain)
{
    int error = tri_env_real_new(&host->env);
    if (error != 0) {
        return error;
    }
    host->owns_env = true;
    struct tri_store *store;
    error = open_store(options, explain, &store);
    if (error == 0 && options->opened != NULL) {
        options->opened(options->opened_self);
    }
    if (error == 0) {
        host->store = store;
        error = keep_folder(host, options);
    }
    if (error == 0 && options->is_member) {
        error = tri_follow_begin(host, options, explain);
    }
    if (error == 0) {
        error = tri_host_init(host, options, host->env, store);
    }
    if (error == 0) {
        error = keep_listen(host, options);
    }
    if (error == 0) {
        error = find_store_number(host);
        if (error != 0) {
            snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the store has no number: %.400s",
                     tri_store_explain(store));
        }
    }
    if (error == 0) {
        error = attach_poison(host, options, explain);
    }
    if (error == 0) {
        error = tri_host_members_start(host, fail_with_words);
    }
    if (error == 0) {
        error = tri_host_tenures_begin(host);
    }
    if (error == 0) {
        error = tri_crash_watch(host->workers, host->shared.worker_count, host->folder);
    }
    if (error == 0 && store != NULL) {
        error = tri_host_load_own(host);
        /*
         * Clears the note of the group being loaded. After TR_MEMORY it stays, and counts as the
         * one that ended this start. Any other error has words of its own and would occur at each
         * start, whatever is set aside.
         */
        if (error != TR_MEMORY) {
            tr_host_note_loading(host, 0);
        }
    }
    if (error == TR_INVALID && options->number != 0) {
        snprintf(
            explain, TRI_STORE_EXPLAIN_BYTES,
            "host %u of several needs a store, which no other number has used, peers with other "
            "numbers, and addresses of this machine",
            options->number);
    }
    if (error == 0) {
        error = host->env->ops->link_open(host->env, TRI_PLACE_CONTROL, &host->sender.link);
    }
    return error;
}

int tr_host_new(const struct tr_host_options *options, char *explain, struct tr_host **out)
{
    char unwanted[TRI_STORE_EXPLAIN_BYTES];
    char *words = explain != NULL ? explain : unwanted;
    words[0] = '\0';
    tr_memory_begin();
    struct tr_host *host = tr_alloc_zero(1, sizeof *host);
    if (host == NULL) {
        return TR_MEMORY;
    }
    struct tr_host_options completed = *options;
    int error = assemble(host, &completed, words);
    if (error != 0) {
        if (words[0] == '\0') {
            snprintf(words, TRI_STORE_EXPLAIN_BYTES, "the host could not be made: %s",
                     tr_error_text(error));
        }
        tr_host_free(host);
        return error;
    }
    *out = host;
    return 0;
}

/* ------------------------------------------------------------ running it */

/* Looks for work for TR_SPIN_NS; returns whether there was some. */
static bool spin(struct tr_host *host, struct tri_worker *worker)
{
    uint64_t begin = tri_monotonic_ns(host->env);
    while (tri_monotonic_ns(host->env) - begin < TR_SPIN_NS) {
        if (tri_worker_step(worker)) {
            return true;
        }
    }
    return false;
}

/*
 * Spins before it sleeps: waking a sleeping core costs more than a spin. But useless spins take the
 * core from processes that could use it. So after `lost` of them it sleeps at once, until it is
 * woken so soon that a spin would have paid.
 */
static void sleep_idle(struct tr_host *host, struct tri_worker *worker, uint32_t *lost)
{
    uint64_t idle_ns = tri_worker_idle_ns(worker);
    bool is_long = idle_ns > TR_SPIN_NS;
    if (is_long && *lost < TR_SPINS_LOST_MAX) {
        if (spin(host, worker)) {
            *lost = 0;
            return;
        }
        (*lost)++;
    }
    uint64_t begin = tri_monotonic_ns(host->env);
    tri_channel_wait(worker->link, idle_ns);
    uint64_t slept_ns = tri_monotonic_ns(host->env) - begin;
    if (is_long && slept_ns < TR_SPIN_NS) {
        *lost = 0;
    }
    if (slept_ns >= TR_WORKER_RELEASE_NS) {
        tri_message_slabs_release(worker);
    }
}

/* Told once by one thread, which is what makes the words safe to read. */
static void note_words(void *self, const char *words)
{
    struct tr_host *host = self;
    snprintf(host->note_words, sizeof host->note_words, "%s", words);
    atomic_store(&host->has_note, true);
}

/*
 * A worker's thread. Its link is opened here, since a socket belongs to one thread. At an orderly
 * end it first sends everything to the journal. After an error it does not: its batch may lack an
 * operation.
 */
static void *worker_main(void *argument)
{
    const struct tri_thread *thread = argument;
    struct tri_worker *worker = thread->worker;
    struct tr_host *host = thread->host;
    int error = host->env->ops->link_open(host->env, worker->index, &worker->link);
    struct tri_signal_stack stack = {0};
    uint32_t lost = 0;
    if (error == 0) {
        error = tri_signal_stack_init(&stack);
    }
    if (error != 0) {
        fail_host(host, error);
        return NULL;
    }
    tri_crash_set_message(worker->current_message);
    while (!atomic_load_explicit(&host->is_stopping, memory_order_acquire) && worker->fatal == 0 &&
           atomic_load_explicit(&host->fatal, memory_order_relaxed) == 0) {
        if (!tri_worker_step(worker)) {
            sleep_idle(host, worker, &lost);
        }
    }
    if (worker->fatal != 0) {
        fail_host(host, worker->fatal);
    } else {
        tri_cut_flush_journal(worker);
    }
    tri_crash_set_message(NULL);
    tri_signal_stack_fini(&stack);
    return NULL;
}

/* How long the journal's thread sleeps without batches. */
#define JOURNAL_WAIT_NS 100000000

/*
 * The journal's thread. It ends after the workers: when it is told to drain, all their batches are
 * in its pipe, and one more round commits them.
 */
static void *journal_main(void *argument)
{
    struct tr_host *host = argument;
    struct tri_journal *journal = &host->journal;
    int error = host->env->ops->link_open(host->env, TRI_PLACE_JOURNAL, &journal->sender.link);
    if (error != 0) {
        fail_host(host, error);
        return NULL;
    }
    bool is_draining = false;
    while (journal->state != TRI_JOURNAL_FAILED && !is_draining) {
        /*
         * Read before the round and not after it: all batches sent before the flag was set are in
         * the pipe, and this round takes them.
         */
        is_draining = atomic_load_explicit(&host->is_draining, memory_order_acquire);
        bool has_worked = false;
        while (tri_journal_step(journal)) {
            has_worked = true;
        }
        if (!has_worked && !is_draining) {
            tri_journal_release_memory(journal);
        }
        if (!is_draining) {
            tri_channel_wait(journal->sender.link, JOURNAL_WAIT_NS);
        }
    }
    if (journal->state == TRI_JOURNAL_FAILED) {
        fail_host(host, journal->error);
    }
    tri_journal_end(journal);
    return NULL;
}

/* Sets words about a failure of the blob store. */
static void explain_files(struct tr_host *host, int error)
{
    const char *words = error == TR_NOT_FOUND ? "it is not a folder"
                        : error == TR_SYSTEM  ? strerror(errno)
                                              : tr_error_text(error);
    snprintf(host->fatal_words, sizeof host->fatal_words, "%.300s/blobs cannot be used: %s",
             host->folder, words);
}

static int start_files(struct tr_host *host, const struct tri_files_service_options *options)
{
    char words[TRI_STORE_BLOBS_WORDS_BYTES];
    const struct tri_store_blobs_place place = {.where = host->blobs,
                                                .object_stores = host->object_stores,
                                                .object_store_count = host->object_store_count,
                                                .secrets = host->secrets,
                                                .secret_count = host->secret_count};
    int error = tri_store_blobs_place(host->folder, &place, words);
    if (error != 0) {
        snprintf(host->fatal_words, sizeof host->fatal_words, "%s", words);
        return error;
    }
    error = tri_files_service_start(options, &host->files);
    if (error != 0) {
        explain_files(host, error);
    }
    return error;
}

static int put_graph(void *self, struct tr_bytes row, uint64_t now_ms)
{
    return tr_host_put_graph(self, row, now_ms);
}

/* Services first, so that a call of the first handled message finds its service. */
static int start_services(struct tr_host *host)
{
    struct tri_shared *shared = &host->shared;
    int error = 0;
    if ((shared->services & 1U << TR_SERVICE_HTTP) != 0) {
        struct tri_http_service_options options = {
            .env = host->env,
            .worker_count = shared->worker_count,
            .host_ref = shared->host,
            .fatal = &host->fatal,
            .life = &shared->life,
            .receiver_timeout_ms = host->http_receiver_timeout_ms,
            .secrets = host->secrets,
            .secret_count = host->secret_count,
            .identities = host->identities,
            .identity_count = host->identity_count,
            .may_begin = host->membership != NULL ? tri_host_members_may_call : NULL,
            .gate = host,
        };
        error = tri_http_service_start(&options, &host->http);
    }
    if (error == 0 && (shared->services & 1U << TR_SERVICE_PROCESSES) != 0) {
        struct tri_process_service_options options = {
            .env = host->env,
            .worker_count = shared->worker_count,
            .host_ref = shared->host,
            .fatal = &host->fatal,
            .folder = host->folder,
            .keeper_command = host->keeper_command,
            .jobs = host->jobs,
            .is_cold = host->is_cold,
            .is_expected = host->expects_processes,
            .secrets = host->secrets,
            .secret_count = host->secret_count,
            .search_variable = host->search_variable,
            .search_folder = host->search_folder,
            .variables = host->variables,
            .unclaimed_ms = host->unclaimed_ms,
            .hosts = tri_host_members_processes(host),
            .fail = fail_with_words,
            .note = note_words,
            .self = host,
        };
        error = tri_process_service_start(&options, &host->processes);
    }
    if (error == 0 && (shared->services & 1U << TR_SERVICE_FILES) != 0) {
        struct tri_files_service_options options = {
            .env = host->env,
            .worker_count = shared->worker_count,
            .host_ref = shared->host,
            .fatal = &host->fatal,
            .folder = host->folder,
            .exchange = host->exchange,
            .program = shared->program,
            .put_graph = put_graph,
            .host = host,
            .object_stores = host->object_stores,
            .object_store_count = host->object_store_count,
            .secrets = host->secrets,
            .secret_count = host->secret_count,
        };
        error = start_files(host, &options);
    }
    if (error == 0 && shared->directory.number != 0) {
        error = tri_interhost_thread_start(host, &host->interhost);
    }
    return error;
}

/*
 * Wakes a sleeping place by an empty frame, which it ignores. Without memory for it the place wakes
 * by its own timeout.
 */
static void wake_place(struct tr_host *host, uint32_t place)
{
    struct tri_frame_builder frame = {0};
    size_t size;
    if (tri_frame_add(&frame, (struct tr_bytes){0}, false) == 0) {
        uint8_t *data = tri_frame_take(&frame, TRI_PLACE_CONTROL, &size);
        tri_outbox_send(&host->sender.outbox, host->sender.link, place, data, size);
    }
}

/* The same for the journal, whose frames are batches. */
static void wake_journal(struct tr_host *host)
{
    uint8_t *data = tr_alloc(TRI_JOURNAL_WAKE_BYTES);
    if (data != NULL) {
        data[0] = 0;
        tri_outbox_send(&host->sender.outbox, host->sender.link, TRI_PLACE_JOURNAL, data,
                        TRI_JOURNAL_WAKE_BYTES);
    }
}

/*
 * Asks all services to end and wakes them before the first is joined, so that they end in parallel.
 */
static void stop_services(struct tr_host *host)
{
    if (host->processes != NULL) {
        tri_process_service_request_stop(host->processes);
        wake_place(host, TRI_PLACE_PROCESSES);
    }
    if (host->http != NULL) {
        tri_http_service_request_stop(host->http);
        wake_place(host, TRI_PLACE_HTTP);
    }
    if (host->files != NULL) {
        tri_files_service_request_stop(host->files);
        wake_place(host, TRI_PLACE_FILES);
    }
    if (host->interhost != NULL) {
        tri_interhost_thread_request_stop(host->interhost);
        wake_place(host, TRI_PLACE_INTERHOST);
    }
    tri_interhost_thread_stop(host->interhost);
    tri_process_service_stop(host->processes);
    tri_http_service_stop(host->http);
    tri_files_service_stop(host->files);
    host->interhost = NULL;
    host->processes = NULL;
    host->http = NULL;
    host->files = NULL;
}

/*
 * Workers, then the journal, then the services: each gets everything that those before it have
 * sent. Behind the journal nobody uses the store.
 */
static void stop_threads(struct tr_host *host, bool leaves_store)
{
    if (!host->is_started) {
        return;
    }
    atomic_store_explicit(&host->is_stopping, true, memory_order_release);
    for (uint32_t i = 0; i < host->thread_count; i++) {
        wake_place(host, i);
    }
    for (uint32_t i = 0; i < host->thread_count; i++) {
        pthread_join(host->threads[i].thread, NULL);
    }
    /* Only here: a handler that does not return would never let its worker end. */
    tri_watchdog_stop(host->watchdog);
    host->watchdog = NULL;
    atomic_store_explicit(&host->is_draining, true, memory_order_release);
    if (host->has_journal_thread) {
        wake_journal(host);
        pthread_join(host->journal_thread, NULL);
        host->has_journal_thread = false;
    }
    if (leaves_store && host->membership == NULL) { /* others hear of its end first */
        tri_store_leave(host->store);
    }
    stop_services(host);
    host->is_started = false;
}

void tr_host_stop(struct tr_host *host)
{
    stop_threads(host, false);
}

/* The journal before the workers, whose batches it takes. */
static int start_threads(struct tr_host *host)
{
    if (host->store != NULL) {
        if (pthread_create(&host->journal_thread, NULL, journal_main, host) != 0) {
            return TR_SYSTEM;
        }
        host->has_journal_thread = true;
    }
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        struct tri_thread *thread = &host->threads[i];
        thread->host = host;
        thread->worker = &host->workers[i];
        if (pthread_create(&thread->thread, NULL, worker_main, thread) != 0) {
            return TR_SYSTEM;
        }
        host->thread_count++;
    }
    return tri_watchdog_start(host, &host->watchdog);
}

int tr_host_start(struct tr_host *host)
{
    if (host->is_started) {
        return TR_EXISTS;
    }
    host->is_started = true;
    int error = start_services(host);
    if (error == 0) {
        error = start_threads(host);
    }
    if (error != 0) {
        tr_host_stop(host); /* stops the started threads */
    }
    return error;
}

/*
 * A socket of ZeroMQ may pass to another thread after a full barrier. Joining the threads is one.
 */
static void close_links(struct tr_host *host)
{
    for (uint32_t i = 0; host->workers != NULL && i < host->shared.worker_count; i++) {
        tri_channel_close(host->workers[i].link);
        host->workers[i].link = NULL;
    }
    tri_channel_close(host->journal.sender.link);
    tri_channel_close(host->sender.link);
    host->sender.link = NULL;
}

/*
 * In this order: no thread runs; the taps release the rings that workers fill; the crash dump drops
 * the workers before their memory is freed; the current messages are cleared, because this end is
 * orderly; then the store closes.
 */
void tr_host_free(struct tr_host *host)
{
    if (host == NULL) {
        return;
    }
    stop_threads(host, true);
    close_links(host);
    if (host->end_taps != NULL) {
        host->end_taps(host);
    }
    tri_crash_forget(host->workers);
    tri_host_members_stop(host);
    struct tri_store *store = host->store;
    tri_host_fini(host);
    tri_poison_message_close(host->poison);
    tri_store_close(store);
    tr_free(host->folder);
    tr_free(host->listen);
    if (host->owns_env) {
        tri_env_real_free(host->env);
    }
    tr_free(host);
}
