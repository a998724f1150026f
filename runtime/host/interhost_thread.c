/*
 * Runs the interhost service in a thread of its own: it sleeps until a message arrives from this
 * host or another one, or a session has a timeout.
 */
#include "runtime/host/interhost_thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tri_interhost_thread {
    struct tr_host *host;
    struct tri_interhost_service service;
    pthread_t thread;
    atomic_bool is_stopping;
};

static void fail(struct tri_interhost_thread *thread, int error)
{
    int expected = 0;
    atomic_compare_exchange_strong(&thread->host->fatal, &expected, error);
}

static void explain(struct tr_host *host, int error)
{
    (void)snprintf(host->fatal_words, sizeof host->fatal_words, "this host cannot listen at %s: %s",
                   host->listen != NULL ? host->listen : "no address",
                   error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
}

/*
 * On the thread that starts the host, so that an address in use fails the start. The sockets pass
 * to the new thread with pthread_create, which orders memory between the two.
 */
static int open_ends(struct tri_interhost_thread *thread)
{
    struct tri_interhost_service *service = &thread->service;
    struct tr_env *env = service->env;
    int error = env->ops->link_open(env, TRI_PLACE_INTERHOST, &service->sender.link);
    if (error == 0) {
        error = env->ops->wire_open(env, service->directory, thread->host->listen, &service->wire);
        if (error != 0) {
            explain(thread->host, error);
        }
    }
    return error;
}

/* The program looks at once when another host has changed something. */
static void pass_view(struct tri_interhost_thread *thread)
{
    struct tri_interhost_service *service = &thread->service;
    const struct tr_interhost_view told = {.view = service->heard_view};
    struct tr_envelope envelope = {.kind = TR_KIND_CONTROL,
                                   .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
                                   .to_serial = TR_SERVICE_CONTROL};
    uint64_t before = atomic_exchange(&thread->host->heard_view, service->heard_view);
    if (before != service->heard_view) {
        (void)!tri_sender_send(&service->sender, TRI_PLACE_CONTROL, &envelope,
                               &tr_interhost_view_schema, &told); /* only wakes it */
        tri_sender_flush(&service->sender);
    }
}

/* The thread owns the sessions and both ends of its links until it is joined. */
static void *interhost_main(void *argument)
{
    struct tri_interhost_thread *thread = argument;
    struct tri_interhost_service *service = &thread->service;
    while (!atomic_load_explicit(&thread->is_stopping, memory_order_acquire) &&
           service->error == 0) {
        bool did = tri_interhost_service_step(service);
        pass_view(thread);
        if (!did) {
            tri_channel_wait_also(service->sender.link, tri_wire_descriptor(service->wire),
                                  tri_interhost_service_idle_ns(service));
        }
    }
    if (service->error != 0) {
        fail(thread, service->error);
    }
    return NULL;
}

static void close_ends(struct tri_interhost_thread *thread)
{
    tri_wire_close(thread->service.wire);
    tri_channel_close(thread->service.sender.link);
    tri_interhost_service_fini(&thread->service);
    tr_free(thread);
}

int tri_interhost_thread_start(struct tr_host *host, struct tri_interhost_thread **out)
{
    struct tri_interhost_thread *thread = tr_alloc_zero(1, sizeof *thread);
    if (thread == NULL) {
        return TR_MEMORY;
    }
    thread->host = host;
    int error = tri_interhost_service_init(&thread->service, host->env, &host->shared.directory,
                                           &host->shared.owners, host->shared.worker_count,
                                           host->shared.host);
    if (error == 0) {
        error = open_ends(thread);
    }
    if (error == 0 && pthread_create(&thread->thread, NULL, interhost_main, thread) != 0) {
        error = TR_SYSTEM;
    }
    if (error != 0) {
        close_ends(thread);
        return error;
    }
    *out = thread;
    return 0;
}

static int tell(struct tr_host *host, const struct tr_schema *schema, const void *body)
{
    struct tr_envelope envelope = {
        .kind = TR_KIND_CONTROL,
        .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
        .to_serial = TR_SERVICE_INTERHOST,
    };
    int error = tri_sender_send(&host->sender, TRI_PLACE_INTERHOST, &envelope, schema, body);
    tri_sender_flush(&host->sender);
    return error;
}

int tri_interhost_thread_tell_peer(struct tr_host *host, const struct tr_peer *peer)
{
    struct tr_text address = tr_text_of(peer->address);
    int error = address.size < TR_HOST_ADDRESS_BYTES ? 0 : TR_INVALID;
    if (error == 0) {
        error = tri_directory_add(&host->shared.directory, peer->number, (struct tr_text){0});
    }
    if (error != 0 && error != TR_EXISTS) {
        return error;
    }
    const struct tr_interhost_peer told = {
        .host = peer->number,
        .address = address,
        .key = {.data = peer->key, .size = peer->key != NULL ? TR_WIRE_KEY_BYTES : 0}};
    return tell(host, &tr_interhost_peer_schema, &told);
}

int tri_interhost_thread_tell_view(struct tr_host *host, uint64_t view)
{
    const struct tr_interhost_view told = {.view = view};
    return tell(host, &tr_interhost_view_schema, &told);
}

/* Whether all hosts are known; `*loses`: this one would have a partition no more. */
static int check_owners(const struct tr_host *host, const uint16_t *hosts, size_t count,
                        bool *loses)
{
    const struct tri_directory *directory = &host->shared.directory;
    const struct tri_owners *owners = &host->shared.owners;
    *loses = false;
    if (count > TR_PARTITIONS_MAX) {
        return TR_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_own = hosts[i] == directory->number;
        *loses = *loses || (owners->hosts[i] == directory->number && !is_own);
        if (!is_own && hosts[i] != 0 && tri_directory_place(directory, hosts[i]) < 0) {
            return TR_NOT_FOUND;
        }
    }
    return 0;
}

static int tell_owners(struct tr_host *host, uint64_t view, const uint16_t *hosts, size_t count,
                       bool gives)
{
    const struct tr_interhost_owners told = {
        .view = view,
        .hosts = {.data = (const uint8_t *)hosts, .size = count * sizeof hosts[0]},
        .gives = gives};
    return tell(host, &tr_interhost_owners_schema, &told);
}

int tri_interhost_thread_tell_owners(struct tr_host *host, uint64_t view, const uint16_t *hosts,
                                     size_t count)
{
    bool loses = false;
    int error = check_owners(host, hosts, count, &loses);
    if (loses) {
        return TR_INVALID;
    }
    return error != 0 ? error : tell_owners(host, view, hosts, count, false);
}

int tri_interhost_thread_tell_given(struct tr_host *host, uint64_t view, const uint16_t *hosts,
                                    size_t count)
{
    bool loses = false;
    int error = check_owners(host, hosts, count, &loses);
    return error != 0 ? error : tell_owners(host, view, hosts, count, true);
}

void tri_interhost_thread_request_stop(struct tri_interhost_thread *thread)
{
    atomic_store_explicit(&thread->is_stopping, true, memory_order_release);
}

void tri_interhost_thread_stop(struct tri_interhost_thread *thread)
{
    if (thread != NULL) {
        tri_interhost_thread_request_stop(thread);
        pthread_join(thread->thread, NULL);
        close_ends(thread);
    }
}
