/*
 * A worker and other hosts: passing messages to the interhost actor of their group, spawning it,
 * and reporting links that are down to actors.
 *
 * The way of an outgoing message: tri_deliver finds that the group is on another host; `wrap` packs
 * the whole message into one for the interhost actor of the sender's group; that actor numbers and
 * keeps it (interhost.c); its own message goes as a call into the journal's batch (`leave`), and
 * the interhost service gets it after the commit. So nothing reaches another host that a crash here
 * can undo.
 *
 * An actor that waits for another host (an ask, a monitor, a link) is in the worker's map
 * `remote_waiters`. When a link goes down the interhost actor of each group tells all workers
 * (tr_interhost_lost), after everything that the link delivered, and each fails the waits of those
 * actors. An entry in the map may be stale; the edges of the actor decide. The same is done when
 * partitions get another host (tr_interhost_view).
 *
 * Messages between actors of this host do not pass through here, but those between neighbours
 * (tri_crosses): groups of two partitions of which one came to this host while it ran. What they
 * said to each other before is numbered, kept and sent again, and a direct message would overtake
 * it. Invariant: of two groups either all messages go directly, since both are on this host, or all
 * go by the interhost actors, until this host ends. Its next start, when nothing is on its way, has
 * as neighbours those whose stream is open (tri_remote_load_neighbours).
 */
#include "runtime/cluster/pair.h"

/* --------------------------------------------------------------- out of here */

/*
 * The group of an actor that says a message, whoever sends it: a worker that reports the end of an
 * actor (DOWN) does so in the stream of that actor's group, since in another stream the DOWN could
 * overtake earlier messages of the actor. 0: a host says it itself.
 */
static uint64_t speaking_group(const struct tri_worker *worker, const struct tri_message *message)
{
    uint64_t group = tri_message_from(message).key.group;
    uint8_t version = tr_envelope_get(message->bytes, 8, version);
    struct tr_down down;
    if (!tr_group_is_host(group)) {
        return group;
    }
    bool is_of_actor =
        tr_envelope_get(message->bytes, 16, type) == tr_down_schema.id &&
        tr_down_unpack(tr_envelope_body(message->bytes), version, &down) == 0 &&
        !tr_group_is_host(down.actor.key.group) && !tri_is_remote(worker, down.actor.key.group) &&
        -(int)down.reason != TR_NO_CONNECTION; /* which this host says of another one */
    return is_of_actor ? down.actor.key.group : 0;
}

/*
 * The group in whose stream a message is sent. What a host says itself is said in a group of one of
 * its partitions, so whoever has that next says it, should this host be lost.
 */
static uint64_t source_group(const struct tri_worker *worker, const struct tri_message *message)
{
    uint64_t group = speaking_group(worker, message);
    if (group != 0) {
        return group;
    }
    TR_ASSERT(!tri_is_remote(worker, worker->shared->voice));
    return worker->shared->voice;
}

/*
 * Asks, monitors and links wait for the other host: the sender must be told if its link goes down.
 */
static void note_sender(struct tri_worker *worker, const struct tri_message *message)
{
    uint8_t kind = tr_envelope_get(message->bytes, 8, kind);
    struct tr_key sender = tri_message_from(message).key;
    bool is_actor = tri_actor_find(worker, sender, 0) != NULL;
    if (is_actor && (kind == TR_KIND_ASK || kind == TR_KIND_CONTROL)) {
        /* Losing the entry would break a guarantee: without memory the process ends. */
        int error = tri_key_groups_add(&worker->remote_waiters, sender);
        TR_ASSERT(error == 0);
    }
}

/*
 * An interhost actor's own message. It is part of the journal's batch like any call of an actor, so
 * it is sent when the batch is committed, with the state that numbered it.
 */
static void leave(struct tri_worker *worker, struct tri_message *message)
{
    TR_ASSERT(worker->is_journaled);
    struct tr_bytes bytes = {.data = message->bytes, .size = message->size};
    tri_batch_add_call(&worker->batch, TRI_PLACE_INTERHOST, bytes);
    worker->metrics.messages_sent++;
    tri_recorder_note(worker, TR_TAP_SEND, message, 0);
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
}

/* The whole message, packed into one to the interhost actor of its group with the same name. */
static struct tri_message *wrap(struct tri_worker *worker, const struct tri_message *message)
{
    const uint8_t *at = message->bytes;
    uint8_t flags = tr_envelope_get(at, 8, flags);
    bool is_reply = tr_envelope_get(at, 8, kind) == TR_KIND_REPLY;
    struct tr_interhost_out out = {.message = {.data = at, .size = message->size}};
    struct tri_heading heading = {
        .kind = TR_KIND_TELL,
        .from = tri_message_from(message),
        .to = {tri_interhost_key(source_group(worker, message)), 0},
        .sequence = tr_envelope_get(at, 64, sequence),
        .cause = {{tr_envelope_get(at, 64, cause_group), tr_envelope_get(at, 64, cause_serial)},
                  tr_envelope_get(at, 32, cause_incarnation)},
        .cause_sequence = tr_envelope_get(at, 64, cause_sequence),
        .trace = tr_envelope_get(at, 64, trace),
    };
    struct tri_message *wrapped;
    int error = tri_message_make(worker, &heading, &tr_interhost_out_schema, &out,
                                 2 * TR_MESSAGE_BYTES_MAX, &wrapped);
    TR_ASSERT(error == 0); /* an accepted message must not be lost */
    flags &= TR_FLAG_HINT | TR_FLAG_PRIORITY;
    tr_envelope_put(wrapped->bytes, 8, flags, (uint8_t)(flags | (is_reply ? TR_FLAG_PRIORITY : 0)));
    return wrapped;
}

/*
 * A message for another host. It is not sent from here: it is wrapped and passed to the interhost
 * actor of its group, which numbers, keeps and sends it. Only interhost actors' own messages leave
 * the host.
 */
static void send_remote(struct tri_worker *worker, struct tri_message *message)
{
    struct tr_ref from = tri_message_from(message);
    uint16_t host = tri_owners_host(&worker->owners, tri_message_to(message).group);
    if (tri_is_interhost(from.key)) {
        leave(worker, message);
        return;
    }
    if (host != worker->owners.self && tri_directory_place(&worker->shared->directory, host) < 0) {
        tri_dead_letter(worker, message, TR_NO_CONNECTION);
        return;
    }
    note_sender(worker, message);
    struct tri_message *wrapped = wrap(worker, message);
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
    tri_deliver(worker, wrapped, 0);
}

/*
 * Called before a message of this worker is delivered, if there are neighbours. What an interhost
 * actor delivers to its own group has arrived; what it says to another one leaves, as ever. An
 * actor that is about to leave may still be here, and gets nothing any more.
 */
static bool pass(struct tri_worker *worker, struct tri_message *message, uint64_t from)
{
    uint64_t to = tri_message_to(message).group;
    uint64_t speaking = from != 0 ? from : speaking_group(worker, message);
    if (speaking == 0 || !tri_crosses(worker, speaking, to)) {
        return false;
    }
    send_remote(worker, message);
    return true;
}

/* ---------------------------------------------------------------- into the world */

/*
 * An interhost actor has no parent. It is spawned when its group exchanges messages with another
 * host, also for a group that has ended, because other hosts may still ask for its actors and wait
 * for the answer that they are gone. If this spawn makes the group known, the group has ended.
 */
static struct tri_actor *spawn(struct tri_worker *worker, struct tr_key key)
{
    bool is_known = tri_group_find(worker, key.group) != NULL;
    int index = tri_behaviour_index(worker->shared, tri_interhost_behaviour.id);
    struct tr_interhost first = {.links_up = worker->links_up,
                                 .host_start = worker->shared->host.incarnation};
    struct tri_actor_spec spec = {.key = key, .behaviour = (uint32_t)index, .state = &first};
    struct tri_actor *actor;
    TR_ASSERT(index >= 0);
    int error = tri_actor_new(worker, &spec, &actor);
    TR_ASSERT(error == 0); /* an accepted message must not be lost */
    actor->phase = TRI_IDLE;
    if (!is_known) {
        tri_group_find(worker, key.group)->is_ended = true;
    }
    worker->metrics.actors_spawned++;
    tri_recorder_note_actor(worker, TR_TAP_SPAWN, actor, 0);
    if (tri_is_tapped(worker, TR_TAP_SPAWN)) {
        tri_tap_spawn(worker, actor, 0);
    }
    tri_actor_touch(worker, actor);
    return actor;
}

/*
 * A message for an interhost actor that does not exist. A message to send, a message from another
 * host and the end of a stream need one; an acknowledgement, a timer or a link event are
 * meaningless without its state, and are dropped.
 */
static void deliver_absent(struct tri_worker *worker, struct tri_message *message)
{
    uint16_t type = tr_envelope_get(message->bytes, 16, type);
    bool is_needed = type == tr_interhost_out_schema.id || type == tr_interhost_send_schema.id ||
                     type == tr_interhost_end_schema.id;
    if (is_needed) {
        tri_deliver_here(worker, spawn(worker, tri_message_to(message)), message);
        return;
    }
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
}

/* Called by deliver.c for each message without a receiver here, if there are other hosts. */
static bool deliver(struct tri_worker *worker, struct tri_message *message)
{
    struct tr_key to = tri_message_to(message);
    if (tri_is_remote(worker, to.group)) {
        send_remote(worker, message);
        return true;
    }
    if (tri_is_interhost(to)) {
        /*
         * Only the worker of origin may spawn it. Other workers forward the message there, or two
         * interhost actors of one group could exist.
         */
        bool is_home = tri_origin_worker(worker->shared, to) == worker->index;
        if (is_home) {
            deliver_absent(worker, message);
        }
        return is_home;
    }
    return false;
}

/* -------------------------------------------------------------- links up and down */

static bool is_waiting_kind(uint8_t kind)
{
    return kind == TRI_EDGE_ASK || kind == TRI_EDGE_MONITORING;
}

/* Adds an actor to the map if it waits for another host. */
static void note_waits(struct tri_worker *worker, const struct tri_actor *actor)
{
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        if (is_waiting_kind(edge->kind) &&
            tri_crosses(worker, actor->key.group, edge->peer.group)) {
            int error = tri_key_groups_add(&worker->remote_waiters, actor->key);
            TR_ASSERT(error == 0);
            return;
        }
    }
}

/*
 * What is in a mailbox already: answers to questions, and DOWNs of monitors, by the kind of the
 * edge that waits for them, and its number. The link failed after these, and reporting a failure
 * too would give one question two answers. It is read once for all edges of an actor, of which
 * there may be thousands.
 */
static void read_news(const struct tri_actor *actor, struct tri_key_map *news)
{
    int error = actor->mailbox_head == NULL ? 0 : tri_key_map_init(news);
    for (const struct tri_message *message = actor->mailbox_head; error == 0 && message != NULL;
         message = message->next) {
        const uint8_t *at = message->bytes;
        uint64_t asked = tr_envelope_get(at, 64, cause_sequence);
        bool is_down = tr_envelope_get(at, 16, type) == tr_down_schema.id;
        struct tr_down down;
        if (asked != 0 && tr_envelope_get(at, 64, cause_serial) == actor->key.serial) {
            error = tri_key_map_set(news, (struct tr_key){TRI_EDGE_ASK, asked}, 1);
        }
        if (error == 0 && is_down &&
            tr_down_unpack(tr_envelope_body(at), tr_envelope_get(at, 8, version), &down) == 0 &&
            down.monitor != 0) {
            error = tri_key_map_set(news, (struct tr_key){TRI_EDGE_MONITORING, down.monitor}, 1);
        }
    }
    TR_ASSERT(error == 0); /* an actor would wait for ever */
}

/* Answers an edge's wait with NO_CONNECTION. The real answer may still arrive, too late. */
static void fail_edge(struct tri_worker *worker, struct tri_actor *actor,
                      const struct tri_edge *edge)
{
    struct tri_heading heading = tri_worker_heading(worker, tri_actor_ref(actor), NULL);
    if (edge->kind == TRI_EDGE_ASK) {
        heading.cause = heading.to;
        heading.cause_sequence = edge->id;
        tri_deliver_signal(worker, &heading, &tr_ask_failed_schema,
                           &(struct tr_ask_failed){.reason = -TR_NO_CONNECTION});
    } else {
        struct tr_down down = {.actor = {edge->peer, edge->peer_incarnation},
                               .monitor = edge->id,
                               .reason = -TR_NO_CONNECTION};
        tri_deliver_signal(worker, &heading, &tr_down_schema, &down);
    }
}

/* Which waits fail. */
struct failing {
    uint16_t host;       /* those for it; 0: for any */
    uint64_t view;       /* those for groups that got another host since then; 0: for any */
    const bool *leaving; /* not these, but those for groups of such partitions; NULL: these */
};

static bool is_meant(struct tri_worker *worker, const struct tri_actor *actor,
                     const struct tri_edge *edge, struct failing failing)
{
    uint64_t group = edge->peer.group;
    uint64_t partition = tri_group_partition(group);
    if (!is_waiting_kind(edge->kind)) {
        return false;
    }
    if (failing.leaving != NULL) {
        return partition < TR_PARTITIONS_MAX && failing.leaving[partition];
    }
    return tri_crosses(worker, actor->key.group, group) &&
           (failing.host == 0 || tri_owners_host(&worker->owners, group) == failing.host) &&
           tri_owners_view(&worker->owners, group) >= failing.view;
}

/* Fails an actor's waits. */
static void fail_edges(struct tri_worker *worker, struct tri_actor *actor, struct failing failing)
{
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    struct tri_key_map news = {0};
    read_news(actor, &news);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        if (is_meant(worker, actor, edge, failing) &&
            tri_key_map_get(&news, (struct tr_key){edge->kind, edge->id}) == 0) {
            fail_edge(worker, actor, edge);
        }
    }
    tri_key_map_fini(&news);
}

void tri_remote_note_loaded(struct tri_worker *worker, struct tri_actor *actor)
{
    fail_edges(worker, actor, (struct failing){0});
    note_waits(worker, actor);
}

static bool is_recent(const struct tri_worker *worker, uint64_t at_ms)
{
    return at_ms != 0 && worker->now_ms - at_ms < TR_INTERHOST_SILENCE_MS;
}

/*
 * While the actor moved, the worker that it left and its new one may both have got a link's event,
 * or a view, without it. Reporting again is safe: a wait that was reported before has no edge any
 * more, or its report is in the mailbox (read_news).
 */
void tri_remote_note_moved(struct tri_worker *worker, struct tri_actor *actor)
{
    const struct tri_directory *directory = &worker->shared->directory;
    note_waits(worker, actor);
    for (uint32_t i = 0; i < tri_directory_count(directory); i++) {
        if (is_recent(worker, worker->link_down_ms[i])) {
            fail_edges(worker, actor, (struct failing){.host = directory->peers[i].number});
        }
    }
    if (is_recent(worker, worker->lost_view_ms)) {
        fail_edges(worker, actor, (struct failing){.view = worker->lost_view});
    }
}

/* Copies all keys of a map, since handling one may change the map. NULL: empty. */
static struct tr_key *keys_of(const struct tri_key_map *map, uint32_t *count)
{
    *count = 0;
    if (map->count == 0) {
        return NULL;
    }
    struct tr_key *keys = tr_alloc(map->count * sizeof *keys);
    TR_ASSERT(keys != NULL); /* an actor would wait for ever */
    for (uint32_t i = 0; i <= map->mask; i++) {
        if (!tr_key_is_none(map->entries[i].key)) {
            keys[(*count)++] = map->entries[i].key;
        }
    }
    return keys;
}

/* Copies the keys of a group's actors that wait. NULL: none do. */
static struct tr_key *waiters_of(struct tri_worker *worker, uint64_t group, uint64_t *count)
{
    *count = tri_key_groups_count(&worker->remote_waiters, group);
    struct tr_key *keys = *count == 0 ? NULL : tr_alloc(*count * sizeof *keys);
    TR_ASSERT(*count == 0 || keys != NULL); /* an actor would wait for ever */
    for (uint64_t i = 0; i < *count; i++) {
        keys[i] = tri_key_groups_nth(&worker->remote_waiters, group, i);
    }
    return keys;
}

/* Fails the waits of a group's actors here. */
static void fail_here(struct tri_worker *worker, uint64_t group, struct failing failing)
{
    uint64_t count;
    struct tr_key *keys = waiters_of(worker, group, &count);
    for (uint64_t i = 0; i < count; i++) {
        struct tri_actor *actor = tri_actor_find(worker, keys[i], 0);
        if (actor != NULL) {
            fail_edges(worker, actor, failing);
        }
    }
    tr_free(keys);
}

void tri_remote_fail_left(struct tri_worker *worker, const bool *leaving)
{
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        uint64_t partition = tri_group_partition(actor->key.group);
        if (actor->edges != 0 && !(partition < TR_PARTITIONS_MAX && leaving[partition])) {
            fail_edges(worker, actor, (struct failing){.leaving = leaving});
        }
    }
}

/* The link to a host was down. */
static void lose_here(struct tri_worker *worker, const struct tr_interhost_lost *lost)
{
    int place = tri_directory_place(&worker->shared->directory, lost->host);
    if (place >= 0) {
        worker->link_down_ms[place] = worker->now_ms;
        fail_here(worker, lost->group, (struct failing){.host = lost->host});
    }
}

void tri_remote_on_lost(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_interhost_lost lost;
    if (tr_message_read(message, interhost_lost, &lost) == 0) {
        lose_here(worker, &lost);
    }
}

void tri_remote_fail_waits(struct tri_worker *worker, uint64_t group, uint16_t host)
{
    struct tr_interhost_lost lost = {.host = host, .group = group};
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tri_tell_worker(worker, place, &tr_interhost_lost_schema, &lost);
        }
    }
    lose_here(worker, &lost);
}

static void tell_interhost(struct tri_worker *worker, struct tr_key key,
                           const struct tr_schema *schema, const void *body)
{
    struct tri_heading heading = tri_worker_heading(worker, (struct tr_ref){key, 0}, NULL);
    tri_deliver_signal(worker, &heading, schema, body);
}

/* Tells the interhost actors, after all messages that the link delivered. */
static void tell_interhost_actors(struct tri_worker *worker, const struct tr_schema *schema,
                                  const void *body)
{
    uint32_t count;
    struct tr_key *keys = keys_of(&worker->interhost_actors, &count);
    for (uint32_t i = 0; i < count; i++) {
        tell_interhost(worker, keys[i], schema, body);
    }
    tr_free(keys);
}

static void group_ended(struct tri_worker *worker, uint64_t group)
{
    struct tr_key key = tri_interhost_key(group);
    if (tri_actor_find(worker, key, 0) != NULL) {
        tell_interhost(worker, key, &tr_interhost_link_schema,
                       &(struct tr_interhost_link){.host = 0});
    }
}

/*
 * From the interhost service, to each worker. The actors get it after everything that the link
 * delivered, since it travels the same channel.
 */
void tri_remote_on_link(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_interhost_link link;
    if (tr_message_read(message, interhost_link, &link) != 0) {
        return;
    }
    int place = tri_directory_place(&worker->shared->directory, link.host);
    if (place < 0) {
        return;
    }
    if (link.is_up) {
        worker->links_up |= 1ULL << place;
    } else {
        worker->links_up &= ~(1ULL << place);
    }
    tell_interhost_actors(worker, &tr_interhost_link_schema, &link);
}

void tri_remote_open(struct tri_worker *worker, struct tri_actor *interhost)
{
    tell_interhost(worker, interhost->key, &tr_interhost_link_schema,
                   &(struct tr_interhost_link){.host = worker->owners.self, .is_up = true});
}

/* --------------------------------------------------------------------- neighbours */

int tri_remote_note_neighbour(struct tri_worker *worker, uint64_t from, uint64_t to)
{
    int error = tri_key_map_set(&worker->neighbours, (struct tr_key){from, to}, 1);
    worker->has_neighbours = worker->has_neighbours || error == 0;
    return error;
}

/* The pairs of one page of an interhost actor, for all workers. */
static int note_page(struct tri_worker *workers, uint32_t count, uint64_t group, uint32_t page,
                     struct tr_bytes bytes)
{
    int error = 0;
    for (size_t i = 0; i < tri_pair_listed_count(page, bytes); i++) {
        uint64_t peer = tri_pair_listed(bytes, i);
        bool is_here = peer != TRI_PAIR_WAITING && !tr_group_is_host(peer) &&
                       !tri_is_remote(&workers[0], peer);
        for (uint32_t worker = 0; error == 0 && is_here && worker < count; worker++) {
            error = tri_remote_note_neighbour(&workers[worker], group, peer);
        }
    }
    return error;
}

static int note_pairs(struct tri_worker *workers, uint32_t count, const struct tri_actor *interhost)
{
    int error = 0;
    for (uint32_t page = 0; error == 0 && page < TRI_PAIR_LIST_PAGES; page++) {
        error =
            note_page(workers, count, interhost->key.group, page, tri_page_bytes(interhost, page));
    }
    return error;
}

/*
 * What is kept for a neighbour may have waited for the link to another host when this one ended,
 * and no link comes up for it.
 */
static int open_pairs(struct tri_worker *workers, uint32_t count, struct tri_worker *worker,
                      struct tri_actor *interhost)
{
    uint32_t before = worker->neighbours.count;
    int error = note_pairs(workers, count, interhost);
    if (error == 0 && worker->neighbours.count > before) {
        tri_remote_open(worker, interhost);
    }
    return error;
}

int tri_remote_load_neighbours(struct tri_worker *workers, uint32_t count)
{
    int error = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key_count;
        struct tr_key *keys = keys_of(&workers[i].interhost_actors, &key_count);
        for (uint32_t at = 0; error == 0 && at < key_count; at++) {
            struct tri_actor *interhost = tri_actor_find(&workers[i], keys[at], 0);
            error = open_pairs(workers, count, &workers[i], interhost);
        }
        tr_free(keys);
    }
    return error;
}

/* ------------------------------------------------------- partitions with other hosts */

/* Some partitions got another host: the view is known here. */
static void lose_moved(struct tri_worker *worker, uint64_t group, uint64_t view)
{
    if (!is_recent(worker, worker->lost_view_ms) || view < worker->lost_view) {
        worker->lost_view = view;
    }
    worker->lost_view_ms = worker->now_ms;
    fail_here(worker, group, (struct failing){.view = view});
}

/*
 * An interhost actor of another worker may have heard of a view before this worker has: then it
 * waits, since here nobody knows yet which partitions are meant.
 */
static void hear_view(struct tri_worker *worker, const struct tr_interhost_view *view)
{
    if (view->view <= worker->owners.view) {
        lose_moved(worker, view->group, view->view);
        return;
    }
    int error = tri_key_map_set(&worker->early_views, (struct tr_key){view->group, view->view}, 1);
    TR_ASSERT(error == 0); /* an actor would wait for ever */
}

void tri_remote_on_view(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_interhost_view view;
    if (tr_message_read(message, interhost_view, &view) == 0) {
        hear_view(worker, &view);
    }
}

void tri_remote_fail_moved(struct tri_worker *worker, uint64_t group, uint64_t view)
{
    struct tr_interhost_view told = {.view = view, .group = group};
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tri_tell_worker(worker, place, &tr_interhost_view_schema, &told);
        }
    }
    hear_view(worker, &told);
}

static void hear_early_views(struct tri_worker *worker)
{
    uint32_t count;
    struct tr_key *keys = keys_of(&worker->early_views, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i].serial <= worker->owners.view) {
            tri_key_map_remove(&worker->early_views, keys[i]);
            lose_moved(worker, keys[i].group, keys[i].serial);
        }
    }
    tr_free(keys);
}

/* Whether partitions of this host came to it at different times. */
static void find_neighbours(struct tri_worker *worker)
{
    const struct tri_owners *owners = &worker->owners;
    uint64_t first = tri_owners_nth(owners, owners->self, 0);
    for (uint64_t i = first; i < TR_PARTITIONS_MAX; i++) {
        if (owners->hosts[i] == owners->self && owners->views[i] != owners->views[first]) {
            worker->has_neighbours = true;
        }
    }
}

void tri_remote_on_owners(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_interhost_owners told;
    if (tr_message_read(message, interhost_owners, &told) != 0 ||
        tri_owners_read(&worker->owners, told.view, told.hosts, told.gives) != 0) {
        return;
    }
    find_neighbours(worker);
    tri_deliver_waiting(worker);
    hear_early_views(worker);
    tell_interhost_actors(worker, &tr_interhost_view_schema,
                          &(struct tr_interhost_view){.view = told.view});
}

const struct tri_remote_ops tri_remote_ops = {
    .deliver = deliver, .pass = pass, .group_ended = group_ended};
