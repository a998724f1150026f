/*
 * The keeper's clients: accepting them, handling their messages, and reporting ends to those who
 * follow.
 *
 * A client must belong to the same user or root, send a hello, and return the nonce of its session.
 * A follower receives all ends in order, from the first that is not forgotten. Ends are numbered,
 * so one number is its position. A slow follower receives them later, and its requests are not read
 * meanwhile. Messages only change the table and the queues; keeper_round.c does the rest once for
 * the round.
 */
#include "runtime/keeper/keeper_inside.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "runtime/process/proc.h"

/* ---- Telling. ------------------------------------------------------------------------------- */

void tri_keeper_send(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                     const struct tr_schema *schema, const void *value)
{
    if (client == NULL || client->is_lost) {
        return;
    }
    int error = tri_frames_put(&client->frames, schema, value);
    if (error != 0) {
        tri_keeper_complain(keeper, "cannot tell a client of %s: %s", schema->name,
                            tr_error_text(error));
        client->is_lost = true;
    }
}

static void tell_state(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                       struct tr_text key, const struct tri_key_entry *entry)
{
    struct tr_process_state state = {.key = key, .phase = TR_PROCESS_NEW};
    if (entry != NULL) {
        state.phase = (uint8_t)entry->phase;
        state.pid = entry->pid;
        state.start_time = entry->start_time;
        state.started_ms = entry->started_ms;
    }
    tri_keeper_send(keeper, client, &tr_process_state_schema, &state);
}

/* Walks back from the newest end, so the cost is the number of unreported ends. */
static const struct tri_key_entry *first_untold(const struct tri_keeper *keeper,
                                                const struct tri_keeper_peer *client)
{
    const struct tri_key_entry *untold = NULL;
    const struct tri_key_entry *entry = keeper->table.ended.last;
    while (entry != NULL && entry->end_number > client->told_number) {
        untold = entry;
        entry = entry->previous;
    }
    return untold;
}

/*
 * Sends ends in order, as far as the client's output has room. The rest follows when it has read
 * some; the number of the last one is kept, so none is left out.
 */
static void tell_ends(struct tri_keeper *keeper, struct tri_keeper_peer *client)
{
    const struct tri_key_entry *entry = first_untold(keeper, client);
    while (entry != NULL && !client->is_lost &&
           tri_frames_waiting(&client->frames) < TR_KEEPER_OUTPUT_BYTES_SOFT) {
        tri_keeper_send(keeper, client, &tr_process_ended_schema, &entry->end);
        client->told_number = entry->end_number;
        entry = entry->next;
    }
}

/* Called once in each round. While answers are gathered, only large outputs are sent. */
void tri_keeper_send_all(struct tri_keeper *keeper)
{
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        struct tri_keeper_peer *client = &keeper->clients[i];
        if (client->frames.fd < 0) {
            continue;
        }
        if (client->is_following) {
            tell_ends(keeper, client);
        }
        bool is_sent = !keeper->is_gathering ||
                       tri_frames_waiting(&client->frames) >= TR_KEEPER_OUTPUT_BYTES_SOFT;
        client->is_lost = (is_sent && tri_frames_flush(&client->frames) != 0) || client->is_lost;
        if (client->is_lost) {
            tri_keeper_drop(keeper, client);
        }
    }
}

/* ---- Doing what is asked. ------------------------------------------------------------------- */

static void refuse(struct tri_keeper *keeper, struct tri_keeper_peer *client, struct tr_text key,
                   int error, const char *reason)
{
    struct tr_process_refused refused = {
        .key = key,
        .error = error,
        .reason = tr_text_of(reason[0] != '\0' ? reason : tr_error_text(error)),
    };
    tri_keeper_send(keeper, client, &tr_process_refused_schema, &refused);
}

/* An unpredictable number, never 0. */
static uint64_t draw_nonce(void)
{
    uint64_t nonce = 0;
    bool is_drawn = getrandom(&nonce, sizeof nonce, 0) == (ssize_t)sizeof nonce;
    TR_ASSERT(is_drawn); /* so few bytes are always returned at once */
    return nonce | 1;
}

/*
 * Both sides send their protocol versions. The client returns the nonce, so that a replayed stream
 * is detected.
 */
static void do_hello(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_keeper_hello *theirs = value;
    struct tri_proc_stat stat = {0}; /* remains zero where /proc cannot be read */
    (void)!tri_proc_stat((uint32_t)getpid(), &stat);
    struct tr_keeper_hello ours = {
        .protocol = TR_KEEPER_PROTOCOL,
        .protocol_oldest = TR_KEEPER_PROTOCOL_OLDEST,
        .pid = (uint32_t)getpid(),
        .start_time = stat.start_time,
        .running = (uint32_t)keeper->table.live.count,
        .unforgotten = (uint32_t)keeper->table.ended.count,
    };
    bool is_common = theirs->protocol >= TR_KEEPER_PROTOCOL_OLDEST &&
                     theirs->protocol_oldest <= TR_KEEPER_PROTOCOL;
    tri_keeper_send(keeper, client, &tr_keeper_hello_schema, &ours);
    if (is_common && !client->is_greeted) {
        struct tr_keeper_session session = {.nonce = draw_nonce(),
                                            .unbounded = tr_text_of(keeper->cgroup.why)};
        client->nonce = session.nonce;
        client->wants_to_follow = theirs->follow;
        tri_keeper_send(keeper, client, &tr_keeper_session_schema, &session);
    }
}

/* The session is complete: from now on the client may send requests. */
static void do_session(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_keeper_session *session = value;
    client->is_greeted = client->nonce != 0 && session->nonce == client->nonce;
    client->is_following = client->is_greeted && client->wants_to_follow;
    if (!client->is_greeted) {
        tri_keeper_complain(keeper, "a client with the nonce of another one");
        client->is_lost = true;
    }
}

static void do_turns(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_keeper_limit *turns = value;
    (void)client;
    bool is_bounded = turns->running_max > 0 && turns->running_max < TR_KEEPER_CHILDREN_MAX;
    keeper->running_max = is_bounded ? turns->running_max : TR_KEEPER_CHILDREN_MAX;
    tri_keeper_engine_came(keeper);
}

/* Whether processes may begin: nothing was said of a lease, or it has been said again. */
static bool has_lease(const struct tri_keeper *keeper)
{
    return keeper->lease_end_ms == 0 || tri_monotonic_ms() < keeper->lease_end_ms;
}

static void do_lease(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_keeper_lease *lease = value;
    uint64_t part_ms = lease->lease_ms / 100 * TR_KEEPER_LEASE_PERCENT;
    (void)client;
    keeper->lease_end_ms = lease->lease_ms == 0 ? 0 : tri_monotonic_ms() + part_ms;
}

/*
 * A client asks for a known key: the key is claimed for its engine, and if the child still waits
 * without a living asker, this client is told of its start.
 */
static void claim_entry(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                        const struct tri_key_entry *entry)
{
    struct tri_child *child = entry->phase == TR_PROCESS_STARTING ? entry->child : NULL;
    if (entry->child != NULL && client->is_following) {
        tri_keeper_claim(keeper, entry->child);
    }
    if (child != NULL && child->asked_by == NULL && client->is_following) {
        child->asked_by = client;
    }
}

/* Answers a request for a known key: it is not started again. */
static void tell_known(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                       const struct tri_key_entry *entry)
{
    claim_entry(keeper, client, entry);
    if (entry->phase == TR_PROCESS_RUNNING) {
        struct tr_process_started started = {.key = entry->key,
                                             .pid = entry->pid,
                                             .start_time = entry->start_time,
                                             .started_ms = entry->started_ms};
        tri_keeper_send(keeper, client, &tr_process_started_schema, &started);
    } else if (entry->phase == TR_PROCESS_ENDED) {
        tri_keeper_send(keeper, client, &tr_process_ended_schema, &entry->end);
    } else {
        tell_state(keeper, client, entry->key, entry);
    }
}

/*
 * Adds a child; it does not run before the round has logged its key. For a known key the answer is
 * its state: asking twice starts one process.
 */
static void do_start(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_process_start *start = value;
    char reason[TR_REASON_BYTES_MAX] = "";
    struct tri_key_entry *entry = tri_key_table_find(&keeper->table, start->key);
    if (entry != NULL) {
        tell_known(keeper, client, entry);
        return;
    }
    if (keeper->is_leaving || keeper->file.has_failed) {
        refuse(keeper, client, start->key, keeper->is_leaving ? TR_CLOSED : TR_STORE_FAILED, "");
        return;
    }
    if (!has_lease(keeper)) {
        refuse(keeper, client, start->key, TR_BUSY, "its engine has not heard from the database");
        return;
    }
    int error = tri_key_table_ask(&keeper->table, start->key, &entry);
    if (error != 0) {
        refuse(keeper, client, start->key, error, "");
        return;
    }
    struct tri_child *child;
    error = tri_children_add(&keeper->children, entry, start, reason, &child);
    if (error != 0) {
        refuse(keeper, client, start->key, error, reason);
        error = tri_key_table_refuse(&keeper->table, entry);
        TR_ASSERT(error == 0);
        return;
    }
    child->asked_by = client;
    child->engine = keeper->engine;
    tri_child_queue_put(&keeper->asked, child);
}

/* The state of a key, and its end if it has one. */
static void do_query(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_process_query *query = value;
    const struct tri_key_entry *entry = tri_key_table_find(&keeper->table, query->key);
    if (entry != NULL) {
        claim_entry(keeper, client, entry);
    }
    tell_state(keeper, client, query->key, entry);
    if (entry != NULL && entry->phase == TR_PROCESS_ENDED) {
        tri_keeper_send(keeper, client, &tr_process_ended_schema, &entry->end);
    }
}

/* For a key without a process this is a query. */
static void do_stop(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_process_stop *stop = value;
    const struct tri_key_entry *entry = tri_key_table_find(&keeper->table, stop->key);
    if (entry == NULL || entry->child == NULL) {
        do_query(keeper, client, &(struct tr_process_query){.key = stop->key});
        return;
    }
    tri_keeper_stop(keeper, entry->child, TR_PROCESS_STOPPED_BY_REQUEST, stop->grace_ms);
}

/*
 * The record is written with the next commit, without a sync of its own. If a crash or a full disk
 * loses it, the next keeper reports the end again, or finds that the key was requested again, which
 * implies it (apply_starting in keeper_log.c).
 */
static void do_forget(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value)
{
    const struct tr_process_forget *forget = value;
    struct tri_key_entry *entry = tri_key_table_find(&keeper->table, forget->key);
    if (entry == NULL) {
        return; /* already forgotten */
    }
    if (entry->phase != TR_PROCESS_ENDED) {
        tell_state(keeper, client, forget->key, entry);
        return;
    }
    int error =
        tri_keeper_file_put(&keeper->file, &tr_process_forget_schema, forget, &entry->log_bytes);
    if (error == 0) {
        error = tri_key_table_forget(&keeper->table, entry);
    }
    if (error != 0) {
        tell_state(keeper, client, forget->key, entry);
    }
}

/* ---- Understanding. ------------------------------------------------------------------------- */

/* The messages that a client may send. */
static const struct message_kind {
    const struct tr_schema *schema;
    void (*handle)(struct tri_keeper *keeper, struct tri_keeper_peer *client, const void *value);
} message_kinds[] = {
    {&tr_keeper_hello_schema, do_hello},  {&tr_keeper_session_schema, do_session},
    {&tr_process_start_schema, do_start}, {&tr_process_query_schema, do_query},
    {&tr_process_stop_schema, do_stop},   {&tr_process_forget_schema, do_forget},
    {&tr_keeper_limit_schema, do_turns},  {&tr_keeper_lease_schema, do_lease},
};

union any_message {
    struct tr_keeper_hello hello;
    struct tr_keeper_session session;
    struct tr_process_start start;
    struct tr_process_query query;
    struct tr_process_stop stop;
    struct tr_process_forget forget;
    struct tr_keeper_limit turns;
    struct tr_keeper_lease lease;
};

/* One message of a client. Any error ends the connection. */
static int handle_frame(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                        const struct tri_packet *frame)
{
    bool is_greeting =
        frame->type == tr_keeper_hello_schema.id || frame->type == tr_keeper_session_schema.id;
    if (!client->is_greeted && !is_greeting) {
        return TR_VERSION;
    }
    for (size_t i = 0; i < TR_COUNT_OF(message_kinds); i++) {
        const struct message_kind *kind = &message_kinds[i];
        if (kind->schema->id == frame->type) {
            union any_message message;
            int error = kind->schema->unpack(frame->body, frame->version, &message);
            if (error == 0) {
                kind->handle(keeper, client, &message);
            }
            return error;
        }
    }
    return TR_UNKNOWN_TYPE;
}

/* Handles complete frames, as long as there is room for the answers. */
static void handle_frames(struct tri_keeper *keeper, struct tri_keeper_peer *client)
{
    struct tri_packet frame;
    int error = 0;
    client->has_more = false;
    while (error == 0 && !client->is_lost) {
        if (tri_frames_waiting(&client->frames) >= TR_KEEPER_OUTPUT_BYTES_SOFT) {
            client->has_more = true;
            return;
        }
        error = tri_frames_next(&client->frames, &frame);
        if (error == 0) {
            error = handle_frame(keeper, client, &frame);
        }
    }
    if (error != 0 && error != TR_NOT_FOUND) {
        tri_keeper_complain(keeper, "a client that sent an invalid message: %s",
                            tr_error_text(error));
        client->is_lost = true;
    }
}

void tri_keeper_receive(struct tri_keeper *keeper, struct tri_keeper_peer *client, bool is_readable)
{
    int error = 0;
    if (is_readable) {
        error = tri_frames_fill(&client->frames, TR_KEEPER_INPUT_BYTES_PER_TURN);
    }
    /* A disconnected client may have sent requests before. */
    handle_frames(keeper, client);
    client->is_lost = client->is_lost || error != 0;
}

/* ---- Coming and going. ---------------------------------------------------------------------- */

static struct tri_keeper_peer *free_place(struct tri_keeper *keeper)
{
    for (size_t i = 0; i < TR_KEEPER_CLIENTS_MAX; i++) {
        if (keeper->clients[i].frames.fd < 0) {
            return &keeper->clients[i];
        }
    }
    return NULL;
}

/* Whether the client belongs to the store's owner or root. */
static bool is_welcome(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

void tri_keeper_accept(struct tri_keeper *keeper)
{
    int fd = accept4(keeper->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        if (is_short) {
            tri_keeper_complain(keeper, "cannot accept a client: %s", strerror(errno));
            keeper->accept_ms = tri_monotonic_ms() + TR_KEEPER_WATCH_MS;
        }
        return;
    }
    struct tri_keeper_peer *client = free_place(keeper);
    if (client == NULL || !is_welcome(fd)) {
        tri_keeper_complain(keeper, "a client is refused: %s",
                            client == NULL ? "there are too many" : "it is of another user");
        close(fd);
        return;
    }
    *client = (struct tri_keeper_peer){0};
    tri_frames_init(&client->frames, fd, TR_KEEPER_FRAME_BYTES_MAX, TR_KEEPER_OUTPUT_BYTES_MAX);
}

/* The start continues without a client to report it to. */
static void forget_asker(struct tri_child_queue *queue, const struct tri_keeper_peer *client)
{
    for (struct tri_child *child = queue->first; child != NULL; child = child->next_in_work) {
        if (child->asked_by == client) {
            child->asked_by = NULL;
        }
    }
}

void tri_keeper_drop(struct tri_keeper *keeper, struct tri_keeper_peer *client)
{
    forget_asker(&keeper->asked, client);
    forget_asker(&keeper->ready, client);
    tri_frames_fini(&client->frames);
    client->is_following = false;
}
