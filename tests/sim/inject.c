/*
 * The injected bugs, one row each, and those that concern the store.
 */
#include "tests/sim/inject.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

bool sim_inject_strikes(struct sim_host *host, uint32_t once_in)
{
    bool strikes = sim_below(&host->world->chance.bug, once_in) == 0;
    host->world->was_injected = host->world->was_injected || strikes;
    return strikes;
}

/* --------------------------------------------------------------------- operations that are lost */

/* Whether an operation of this kind is kept: one in twenty is not. */
static bool keep_unless(struct sim_host *host, const struct tri_op *op, enum tri_op_kind lost)
{
    return op->kind != lost || !sim_inject_strikes(host, 20);
}

static bool keep_marks(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_DELETE_MESSAGE);
}

static bool keep_messages(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_PUT_MESSAGE);
}

static bool keep_counters(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_PUT_COUNTER);
}

static bool keep_pages(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_PUT_PAGE);
}

static bool keep_records(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_PUT_RECORD);
}

static bool keep_forgetting(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_DELETE_RECORDS);
}

static bool keep_images(struct sim_host *host, const struct tri_op *op)
{
    /* The first image is always kept: an actor that never was would be noticed too easily. */
    return op->number == 1 || keep_unless(host, op, TRI_OP_PUT_ACTOR);
}

static bool keep_ends(struct sim_host *host, const struct tri_op *op)
{
    return keep_unless(host, op, TRI_OP_DELETE_ACTOR);
}

static bool keep_cells(struct sim_host *host, const struct tri_op *op)
{
    bool is_other = op->kind != TRI_OP_PUT_META || op->number == TRI_META_CLOCK;
    return is_other || !sim_inject_strikes(host, 2);
}

bool sim_inject_keeps_clock(struct sim_host *host, const struct tri_op *op)
{
    bool is_clock = op->kind == TRI_OP_PUT_META && op->number == TRI_META_CLOCK;
    return !is_clock || !sim_inject_strikes(host, 1);
}

static bool skip_commit(struct sim_host *host)
{
    return sim_inject_strikes(host, 40);
}

/* ------------------------------------------------------------------------------ spoiled disks */

static void start_forgetting(struct sim_host *host)
{
    if (host->model != NULL) {
        tri_model_faults(host->model)->bug = TRI_MODEL_FORGETS;
    }
}

static void start_tearing(struct sim_host *host)
{
    if (host->model != NULL) {
        tri_model_faults(host->model)->bug = TRI_MODEL_TEARS;
    }
}

static void start_lying(struct sim_host *host)
{
    if (host->disk != NULL) {
        tri_disk_faults(host->disk)->sync_lies = true;
    }
}

/* ------------------------------------------------------------------------------ names of hosts */

static void rename_host(struct sim_host *host, struct tr_ref name)
{
    struct tri_sender *senders[] = {&host->host->sender, &host->host->journal.sender};
    host->world->was_injected = true;
    host->host->shared.host = name;
    for (size_t i = 0; i < TR_COUNT_OF(senders); i++) {
        senders[i]->from.key.group = name.key.group;
        senders[i]->from.incarnation = name.incarnation;
    }
}

static void name_as_before(struct sim_host *host)
{
    if (host->store != NULL && host->starts > 1 && !tr_group_is_none(host->named.key.group)) {
        rename_host(host, host->named);
    }
}

static void name_as_first(struct sim_host *host)
{
    struct tr_ref name = host->host->shared.host;
    name.key.group = host->world->hosts[0].named.key.group;
    if (host->index > 0 && !tr_group_is_none(name.key.group)) {
        rename_host(host, name);
    }
}

/* Batches that have come meanwhile join the repeat. */
static void forget_doubt(struct sim_host *host)
{
    uint64_t *number = &host->host->journal.doubtful_number;
    if (*number != 0 && sim_inject_strikes(host, 1)) {
        *number = 0;
    }
}

/* -------------------------------------------------------------------------------- bad images */

struct image_edge {
    uint8_t kind;
    struct tr_ref peer;
    uint64_t id;
    uint64_t due_ms;
};

/* Writes the edges of an image again; `change` answers false for one that is lost. */
static void rewrite_edges(struct tr_image *image, uint8_t *bytes,
                          bool (*change)(struct image_edge *edge))
{
    struct tr_cursor cursor = tr_cursor_of(image->edges);
    struct image_edge kept[64];
    uint32_t count = tr_read_array(&cursor);
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < count && cursor.error == 0 && kept_count < TR_COUNT_OF(kept); i++) {
        (void)tr_read_array(&cursor);
        struct image_edge edge = {.kind = tr_read_u8(&cursor)};
        edge.peer.key.group = tr_read_u64(&cursor);
        edge.peer.key.serial = tr_read_u64(&cursor);
        edge.peer.incarnation = tr_read_u32(&cursor);
        edge.id = tr_read_u64(&cursor);
        edge.due_ms = tr_read_u64(&cursor);
        if (change(&edge)) {
            kept[kept_count++] = edge;
        }
    }
    struct tr_writer writer = tr_writer_of(bytes, image->edges.size + 16);
    tr_write_array(&writer, kept_count);
    for (uint32_t i = 0; i < kept_count; i++) {
        tr_write_array(&writer, 6);
        tr_write_u8(&writer, kept[i].kind);
        tr_write_u64(&writer, kept[i].peer.key.group);
        tr_write_u64(&writer, kept[i].peer.key.serial);
        tr_write_u32(&writer, kept[i].peer.incarnation);
        tr_write_u64(&writer, kept[i].id);
        tr_write_u64(&writer, kept[i].due_ms);
    }
    image->edges = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
}

static bool is_no_timer(struct image_edge *edge)
{
    return edge->kind != TRI_EDGE_TIMER || edge->due_ms == 0;
}

static bool is_no_monitor(struct image_edge *edge)
{
    return edge->kind != TRI_EDGE_MONITORED;
}

static bool make_early(struct image_edge *edge)
{
    if (edge->kind == TRI_EDGE_TIMER && edge->due_ms > 3600000) {
        edge->due_ms -= 3600000;
    }
    return true;
}

static void lose_timers(struct sim_host *host, struct tr_image *image, uint8_t *edges)
{
    (void)host;
    rewrite_edges(image, edges, is_no_timer);
}

static void lose_monitors(struct sim_host *host, struct tr_image *image, uint8_t *edges)
{
    (void)host;
    rewrite_edges(image, edges, is_no_monitor);
}

static void fire_early(struct sim_host *host, struct tr_image *image, uint8_t *edges)
{
    (void)host;
    rewrite_edges(image, edges, make_early);
}

static void lose_sequence(struct sim_host *host, struct tr_image *image, uint8_t *edges)
{
    (void)host;
    (void)edges;
    image->sequence = 0;
}

uint8_t *sim_inject_image(struct sim_host *host, struct tr_bytes bytes, size_t *size)
{
    size_t most = 2 * bytes.size + 64;
    uint8_t *changed = sim_must(malloc(most));
    uint8_t *edges = sim_must(malloc(most));
    struct tr_image image;
    int error = tr_image_unpack(bytes, tr_image_schema.version, &image);
    TR_ASSERT(error == 0);
    host->world->bug->load(host, &image, edges);
    host->world->was_injected = true;
    struct tr_writer writer = tr_writer_of(changed, most);
    error = tr_image_pack(&image, &writer);
    TR_ASSERT(error == 0);
    free(edges);
    *size = tr_writer_size(&writer);
    return changed;
}

/* -------------------------------------------------------------------------------- the table */

/* Without its time a message sorts by its sender alone, and senders are in any order. */
static void forget_time(struct sim_host *host, uint8_t *envelope)
{
    host->world->was_injected = true;
    uint64_t sender = tr_envelope_get(envelope, 64, from_group) ^
                      sim_mix(tr_envelope_get(envelope, 64, from_serial));
    tr_envelope_put(envelope, 64, clock, sim_mix(sender) & UINT16_MAX);
}

const struct sim_bug sim_bugs[] = {
    {.name = "link-reorders",
     .text = "two batches of one pipe change places",
     .found_by = "a sender: order of each pair",
     .first_seed = 19,
     .send = sim_inject_reorders},
    {.name = "link-doubles",
     .text = "a batch is delivered twice",
     .found_by =
         "the runtime: a flush that was not waited for; without moves a sender: order of each pair",
     .first_seed = 5,
     .send = sim_inject_doubles},
    {.name = "link-loses",
     .text = "a batch is not delivered",
     .found_by = "liveness: an actor waits for ever",
     .first_seed = 5,
     .send = sim_inject_loses},
    {.name = "call-before-commit",
     .text = "a call leaves the host with its batch, not after the commit",
     .found_by = "the environment: done twice, or seen and not in the store",
     .first_seed = 1,
     .send = sim_inject_calls_early},
    {.name = "flush-lost",
     .text = "a flush of a move is not forwarded",
     .found_by = "liveness: the actor never opens",
     .first_seed = 5,
     .send = sim_inject_loses_flush},
    {.name = "opened-early",
     .text = "one flush of a move counts twice, so the actor opens before its old ways are empty",
     .found_by = "the runtime: one flush too many",
     .first_seed = 1,
     .send = sim_inject_opens_early},
    {.name = "snapshot-without-mailbox",
     .text = "an actor moves and its mailbox does not",
     .found_by = "the end: a message is left in the store; liveness",
     .first_seed = 23,
     .send = sim_inject_empties_snapshot},
    {.name = "parent-forgotten",
     .text = "an actor moves and the address of its parent does not",
     .found_by = "the address of a child: its beginning is missing",
     .first_seed = 1,
     .send = sim_inject_forgets_parents},
    {.name = "down-lost",
     .text = "a DOWN between workers is lost",
     .found_by = "liveness: a parent or witness waits",
     .first_seed = 2,
     .send = sim_inject_loses_down},
    {.name = "orphans-forgotten",
     .text = "children on other workers do not hear that their parent has ended",
     .found_by = "the end: groups or actors are left",
     .first_seed = 5,
     .send = sim_inject_loses_orphans},
    {.name = "mark-lost",
     .text = "the store keeps a message that was handled",
     .found_by = "actors: a message comes twice",
     .first_seed = 1,
     .is_blind = true,
     .keep = keep_marks},
    {.name = "mailbox-not-written",
     .text = "an image is written without a message of its mailbox",
     .found_by = "liveness: a message never comes",
     .first_seed = 1,
     .is_blind = true,
     .keep = keep_messages},
    {.name = "image-not-written",
     .text = "a handled message is taken out, and the state after it is not written",
     .found_by = "actors and liveness: an older state",
     .first_seed = 2,
     .is_blind = true,
     .keep = keep_images},
    {.name = "spawns-not-counted",
     .text = "the counter of spawns is not written, so a serial is given twice",
     .found_by = "the runtime: two actors of one key",
     .first_seed = 5,
     .is_blind = true,
     .keep = keep_counters},
    {.name = "groups-not-counted",
     .text = "the counter of groups is not written, so a group's number is given twice",
     .found_by = "the program: a group is given twice",
     .first_seed = 40,
     .is_blind = true,
     .keep = keep_cells},
    {.name = "clock-not-kept",
     .text = "how late it is is not written, so time goes back where people set the clock back",
     .found_by = "a ticker: minutes late",
     .first_seed = 20,
     .is_blind = true,
     .keep = sim_inject_keeps_clock},
    {.name = "end-not-written",
     .text = "an actor that has ended stays in the store",
     .found_by = "a worker's state against the store: an actor that has ended",
     .first_seed = 1,
     .is_blind = true,
     .keep = keep_ends},
    {.name = "page-lost",
     .text = "a page is not written",
     .found_by = "a page writer: the bytes of a page",
     .first_seed = 5,
     .is_blind = true,
     .keep = keep_pages},
    {.name = "record-lost",
     .text = "a record is not written",
     .found_by = "the end: records written and records stored",
     .first_seed = 5,
     .is_blind = true,
     .keep = keep_records},
    {.name = "record-not-deleted",
     .text = "rows of a record that were deleted stay",
     .found_by = "the end: rows of pages that are there",
     .first_seed = 35,
     .is_blind = true,
     .keep = keep_forgetting},
    {.name = "commit-not-kept",
     .text = "the store says that a commit is done, and keeps nothing of it",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 2,
     .skips_commit = skip_commit},
    {.name = "last-commit-forgotten",
     .text = "a crash takes the last acknowledged commit away",
     .found_by = "committed means present",
     .first_seed = 1,
     .start = start_forgetting},
    {.name = "commit-torn",
     .text = "a crash leaves half of the last acknowledged commit",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 1,
     .start = start_tearing},
    {.name = "sync-skipped",
     .text = "under SQLite, a sync says that it is done and does nothing",
     .found_by = "committed means present, or a store that cannot be opened",
     .first_seed = 9,
     .start = start_lying},
    {.name = "log-not-synced",
     .text = "an entry of the log of commits is acknowledged before it is on the disk",
     .found_by = "committed means present",
     .first_seed = 19,
     .start = sim_inject_syncs_no_log},
    {.name = "log-hole-skipped",
     .text = "a start reads the log on behind an entry that is not whole",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 19,
     .start = sim_inject_skips_hole},
    {.name = "log-sequence-ignored",
     .text = "a start takes what a segment of the log had before for the next entry",
     .found_by = "the store: a commit comes behind a later one",
     .first_seed = 19,
     .start = sim_inject_ignores_sequence},
    {.name = "log-reused-early",
     .text = "a segment of the log is written again before its entries are in the tables",
     .found_by = "the log: an entry is damaged, and later ones are not",
     .first_seed = 19,
     .start = sim_inject_reuses_early},
    {.name = "log-end-forgotten",
     .text = "a start leaves out the last entry of the log",
     .found_by = "committed means present",
     .first_seed = 19,
     .start = sim_inject_forgets_end},
    {.name = "log-torn-taken",
     .text = "a start does not look at the checksum of an entry",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 3319,
     .start = sim_inject_takes_torn},
    {.name = "timers-not-loaded",
     .text = "a start forgets running timers",
     .found_by = "a worker's state against the store; liveness",
     .first_seed = 1,
     .load = lose_timers},
    {.name = "timers-early",
     .text = "after a start timers come an hour early",
     .found_by = "a ticker: not before its time",
     .first_seed = 1,
     .load = fire_early},
    {.name = "monitors-not-loaded",
     .text = "a start forgets who is to hear of an end",
     .found_by = "liveness: DOWN is not heard",
     .first_seed = 1,
     .load = lose_monitors},
    {.name = "range-not-loaded",
     .text = "a start that loads its groups in ranges leaves one out",
     .found_by = "committed means present; liveness",
     .first_seed = 14,
     .skips_range = true},
    {.name = "order-not-loaded",
     .text = "a start puts messages into mailboxes in the order of senders, not of time",
     .found_by = "actors: DOWN before the last message of its sender",
     .first_seed = 32,
     .load_message = forget_time},
    {.name = "sequence-not-loaded",
     .text = "after a start an actor numbers its messages from 1 again",
     .found_by = "a worker's state against the store",
     .first_seed = 1,
     .load = lose_sequence},
    {.name = "interhost-not-written",
     .text = "a page of an interhost actor is not written: a number, or a message that it keeps",
     .found_by = "the runtime: a pair without its page; remote actors",
     .first_seed = 5,
     .is_blind = true,
     .keep = sim_inject_keeps_interhost},
    {.name = "acknowledged-early",
     .text = "a message of another host is acknowledged before what came of it is committed",
     .found_by = "a remote actor: order of each pair; liveness",
     .first_seed = 14,
     .send = sim_inject_acknowledges_early},
    {.name = "resend-skipped",
     .text = "what is not acknowledged is not sent again",
     .found_by = "liveness: a note never comes",
     .first_seed = 5,
     .send = sim_inject_skips_resend},
    {.name = "number-twice",
     .text = "a message of another host comes again with the next number",
     .found_by = "a remote actor: order of each pair",
     .first_seed = 5,
     .send = sim_inject_numbers_again},
    {.name = "link-down-untold",
     .text = "nobody hears that the link to another host was down",
     .found_by = "a remote actor: rumours are lost and no link was down",
     .first_seed = 915,
     .send = sim_inject_hides_down},
    {.name = "link-up-untold",
     .text = "nobody hears that the link to another host is up again",
     .found_by = "liveness: nothing is sent",
     .first_seed = 5,
     .send = sim_inject_hides_up},
    {.name = "owners-untold",
     .text = "workers do not hear that another host has a partition",
     .found_by = "liveness: nothing is sent to it",
     .first_seed = 5,
     .send = sim_inject_hides_owners},
    {.name = "start-not-told-apart",
     .text = "a start of a host has the own group and the incarnation of the one before",
     .found_by = "the program: an answer to a question of an earlier start",
     .first_seed = 1,
     .is_blind = true,
     .name_host = name_as_before},
    {.name = "host-not-told-apart",
     .text = "a host has the own group of another one",
     .found_by = "the runtime: a message in the stream of another host's group",
     .first_seed = 5,
     .name_host = name_as_first},
    {.name = "fence-without-count",
     .text = "the fence of a commit does not look at how many there were before",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 363,
     .database = TRI_DATABASE_COUNTS_NOTHING},
    {.name = "fence-outside",
     .text = "the fence is checked first, and the commit is written later",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 68,
     .database = TRI_DATABASE_FENCES_EARLY},
    {.name = "incarnation-not-raised",
     .text = "a start does not raise the incarnation",
     .found_by = "the database: a session of an earlier life has written",
     .first_seed = 523,
     .database = TRI_DATABASE_KEEPS_NUMBER},
    {.name = "earlier-life-let-in",
     .text = "the fence of a commit does not look at the incarnation",
     .found_by = "the database: a session of an earlier life has written",
     .first_seed = 358,
     .database = TRI_DATABASE_LETS_OLD_ONES},
    {.name = "unknown-for-failed",
     .text = "a commit of unknown outcome is taken for failed, and written twice",
     .found_by = "the end: records written and records stored",
     .first_seed = 83,
     .database = TRI_DATABASE_TAKES_FOR_FAILED},
    {.name = "unknown-for-done",
     .text = "a commit of unknown outcome is taken for done, and lost",
     .found_by = "the shadow: the store against its batches",
     .first_seed = 18,
     .database = TRI_DATABASE_TAKES_FOR_DONE},
    {.name = "doubt-forgotten",
     .text = "a commit of unknown outcome is repeated with other batches in it",
     .found_by = "the store: another commit was in doubt",
     .first_seed = 18,
     .step_journal = forget_doubt},
    {.name = "loss-unnoticed",
     .text = "a database that has lost commits is gone on with",
     .found_by = "the database: commits were lost, and the host goes on",
     .first_seed = 178,
     .database = TRI_DATABASE_HIDES_LOSS},
};
const size_t sim_bug_count = TR_COUNT_OF(sim_bugs);

void sim_inject_send(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size)
{
    const struct sim_bug *bug = host->world->bug;
    if (bug != NULL && bug->send != NULL) {
        bug->send(host, from, to, data, size);
    } else {
        sim_net_push(&host->net, from, to, data, size);
    }
}
