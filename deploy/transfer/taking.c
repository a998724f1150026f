/*
 * Taking an import in. A session has all that one client has begun; it is given up as a whole by an
 * error, by another client, and by the end of the engine.
 */
#include "deploy/transfer/taking.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/common/clock.h"
#include "deploy/engine/import_marks.h"
#include "deploy/graphs/graphs.h"
#include "runtime/memory.h"
#include "schemas/engine/flow.h"

/* How long a launcher may take. */
#define LAUNCHER_MS_MAX 5000

/* Operations of one share of what is kept: a commit of so many takes some ten milliseconds. */
#define SHARE_OPS 4096

/* How often a client is told that the store cannot be written. */
#define WAITS_MS 500

/*
 * Messages that come along get numbers beyond all that the services of this engine say themselves,
 * since their senders' names are the same.
 */
#define FIRST_NUMBER (1ULL << 48)

enum taking_state {
    TAKING_NOTHING,
    TAKING_OPEN,
    TAKING_WRITING, /* what is kept */
    TAKING_GIVEN_UP /* what was written is still to be forgotten */
};

/* What one client has begun. */
struct session {
    struct tr_unpacking unpacking; /* what is kept until the end */
    struct tr_buffer marks;
    struct tri_peer peer;
    struct tr_adopting *adopting;
    struct tr_adoption adoption;
    struct tri_vector parents; /* struct tr_adoption_parent */
    struct tri_vector graphs;  /* numbers that the program holds */
    struct tri_vector early;   /* struct tri_op: what is written before the last commit */
    struct tri_vector last;    /* and what is that commit */
    uint32_t written;          /* of the early ones, the one in hand among them */
    bool is_last;              /* that commit is in hand */
    bool keeps_rows;           /* the history has some of the executions */
    char explain[TRI_STORE_EXPLAIN_BYTES];
};

struct tr_taking {
    struct tr_live *live;
    enum taking_state state;
    uint64_t number; /* of the session */
    uint64_t told_ms;
    struct tr_import_target target;
    struct session session;
};

static int fail(struct tr_taking *taking, int error, const char *words)
{
    char *explain = taking->session.explain;
    if (explain[0] == '\0') {
        snprintf(explain, sizeof taking->session.explain, "%.400s", words);
    }
    return error;
}

/* -------------------------------------------------------------------- the session */

static void session_init(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    *session = (struct session){.unpacking = {.folder = taking->live->folder}};
    session->unpacking.explain = session->explain;
    tr_arena_init(&session->unpacking.arena);
    tr_buffer_init(&session->marks, 0);
}

/* Graphs are held by launchers and nodes from now on, or by nobody. */
static void drop_graphs(struct tr_taking *taking)
{
    const uint64_t *graphs = taking->session.graphs.items;
    for (uint32_t i = 0; i < taking->session.graphs.count; i++) {
        tr_graph_registry_drop(&taking->live->engine->registry, graphs[i]);
    }
    taking->session.graphs.count = 0;
}

static void session_fini(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    tr_host_adopt_drop(session->adopting);
    drop_graphs(taking);
    tr_buffer_fini(&session->marks);
    tr_arena_fini(&session->unpacking.arena);
    session->adopting = NULL;
    taking->state = TAKING_NOTHING;
}

/* Forgets what was written. What the store cannot take now is tried again by later steps. */
static void give_up(struct tr_taking *taking)
{
    taking->state = TAKING_GIVEN_UP;
    if (tr_host_waits_for(taking->live->host) != 0 ||
        tr_import_marks_forget(taking->live, tr_buffer_bytes(&taking->session.marks)) != 0) {
        return;
    }
    session_fini(taking);
}

/* The words outlive the session. */
static int refuse(struct tr_taking *taking, int error, const char **explain)
{
    *explain = taking->session.explain[0] != '\0' ? taking->session.explain : tr_error_text(error);
    give_up(taking);
    return error;
}

static int check_store(struct tr_taking *taking)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_host_waits_for(taking->live->host);
    if (error != 0) {
        snprintf(words, sizeof words, "the store %.300s cannot be written now: %s",
                 taking->live->folder, tr_error_text(error));
        return fail(taking, error, words);
    }
    error = tr_host_may_begin(taking->live->host);
    return error == 0 ? 0
                      : fail(taking, error,
                             "the engine's memory is at its limit (limits.memory of the settings); "
                             "say it again when something has ended");
}

static int write_ops(struct tr_taking *taking, const struct tri_op *ops, size_t count)
{
    int error = tr_host_write(taking->live->host, ops, count);
    if (error == 0) {
        error = tr_host_write_wait(taking->live->host);
    }
    return error == 0 ? 0 : fail(taking, error, tr_error_text(error));
}

/* ---------------------------------------------------------------------- beginning */

/* Calls `take` with each archive_op of an array. */
static int each_op(struct tr_taking *taking, struct tr_bytes list,
                   int (*take)(struct tr_taking *taking, struct tr_unpacking *unpacking,
                               const struct tr_archive_op *entry),
                   struct tr_unpacking *unpacking)
{
    struct tr_cursor cursor = tr_cursor_of(list);
    uint32_t count = tr_read_array(&cursor);
    int error = cursor.error;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_archive_op entry;
        struct tr_bytes packed = tr_read_bytes(&cursor);
        error = cursor.error != 0
                    ? cursor.error
                    : tr_archive_op_unpack(packed, tr_archive_op_schema.version, &entry);
        if (error == 0) {
            error = take(taking, unpacking, &entry);
        }
    }
    return error == 0 ? 0 : fail(taking, error, "an entry of it makes no sense");
}

static int take_execution(struct tr_taking *taking, struct tr_unpacking *unpacking,
                          const struct tr_archive_op *entry)
{
    (void)taking;
    struct tr_archive_op kept = *entry;
    if (entry->kind != TRI_OP_PUT_RECORD || entry->type != tr_execution_schema.id) {
        return TR_MALFORMED;
    }
    kept.data = tr_arena_bytes(&unpacking->arena, entry->data);
    return unpacking->arena.error != 0 ? unpacking->arena.error
                                       : tr_unpacking_take(unpacking, &kept);
}

static const struct tr_execution *find_execution(const struct tr_taking *taking, uint64_t number)
{
    const struct tri_vector *executions = &taking->session.unpacking.executions;
    const struct tr_execution *rows = executions->items;
    for (uint32_t i = 0; i < executions->count; i++) {
        if (rows[i].execution == number) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool is_unfinished(const struct tr_taking *taking, const struct tr_execution *row)
{
    return taking->session.unpacking.head.is_unfinished &&
           !tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
}

/* Whether the store may take the executions, and whether its history has some of them. */
static int check_executions(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    const struct tr_execution *rows = session->unpacking.executions.items;
    struct tr_reader *reader;
    int error = tr_live_read(taking->live, session->explain, &reader);
    if (error == 0) {
        error = tr_unpacking_check(&session->unpacking, reader);
    }
    for (uint32_t i = 0; error == 0 && i < session->unpacking.executions.count; i++) {
        struct tr_executions_row copy = {.texts = NULL};
        error = tr_executions_get(reader, rows[i].execution, &copy);
        session->keeps_rows = session->keeps_rows || error == 0;
        tr_executions_row_fini(&copy);
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    tr_live_read_end(taking->live);
    return error == 0 ? 0 : fail(taking, error, tr_error_text(error));
}

static int mark_executions(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    const struct tr_execution *rows = session->unpacking.executions.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < session->unpacking.executions.count; i++) {
        bool has_graph = is_unfinished(taking, &rows[i]) && rows[i].graph.size >= sizeof(uint64_t);
        struct tr_import_mark mark = {
            .execution = rows[i].execution,
            .project = rows[i].project,
            .domain = rows[i].domain,
            .name = rows[i].name,
            .graph = has_graph ? tr_graph_number(rows[i].graph.data) : 0,
            .keeps_rows = session->keeps_rows,
        };
        error = tr_import_marks_add(&session->marks, &mark);
    }
    if (error != 0) {
        return fail(taking, error, tr_error_text(error));
    }
    struct tri_op op = tr_import_marks_op(tr_buffer_bytes(&session->marks));
    return write_ops(taking, &op, 1);
}

static int begin(struct tr_taking *taking, const struct tr_begin_import *begin)
{
    struct tr_unpacking *unpacking = &taking->session.unpacking;
    unpacking->head = (struct tr_archive_head){
        .folder = tr_arena_text(&unpacking->arena, begin->folder),
        .execution = begin->execution,
        .is_unfinished = begin->is_unfinished,
    };
    int error = each_op(taking, begin->executions, take_execution, unpacking);
    if (error == 0 && find_execution(taking, begin->execution) == NULL) {
        error = fail(taking, TR_MALFORMED, "it holds no execution");
    }
    if (error == 0) {
        error = check_store(taking);
    }
    if (error == 0) {
        error = check_executions(taking);
    }
    return error != 0 ? error : mark_executions(taking);
}

int tr_taking_begin(struct tr_taking *taking, const struct tr_begin_import *wanted,
                    uint64_t *session, const char **explain)
{
    if (taking->live->is_member) {
        *explain =
            "hosts of this store work beside each other, and take nothing in meanwhile; "
            "stop all of them, start one without `host_address`, import, and start them again "
            "(deploy/HOSTS.md)";
        return TR_INVALID;
    }
    if (taking->state != TAKING_NOTHING && taking->state != TAKING_WRITING) {
        give_up(taking); /* its client has gone */
    }
    if (taking->state != TAKING_NOTHING) {
        *explain = "another import is being written; say it again when it has ended";
        return TR_BUSY;
    }
    session_init(taking);
    taking->state = TAKING_OPEN;
    int error = begin(taking, wanted);
    if (error != 0) {
        return refuse(taking, error, explain);
    }
    *session = ++taking->number;
    return 0;
}

/* ------------------------------------------------------------------------- shares */

/* The execution of a row is the first field of its key. */
static bool is_of_these(const struct tr_taking *taking, struct tr_bytes row)
{
    struct tr_cursor cursor = tr_cursor_of(row);
    (void)tr_read_array(&cursor);
    uint64_t number = tr_read_u64(&cursor);
    return cursor.error == 0 && find_execution(taking, number) != NULL;
}

/* A graph is a row that nobody names yet: its hash, and what is packed behind it. */
static int take_graph(struct tr_unpacking *unpacking, const struct tr_archive_op *entry)
{
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct tr_graph *graph = NULL;
    if (entry->data.size < sizeof hash) {
        return TR_MALFORMED;
    }
    struct tr_bytes packed = {.data = entry->data.data + sizeof hash,
                              .size = entry->data.size - sizeof hash};
    tr_digest(packed, hash);
    int error = memcmp(hash, entry->data.data, sizeof hash) == 0 ? tr_graph_unpack(packed, &graph)
                                                                 : TR_MALFORMED;
    if (error != 0) {
        return error;
    }
    tr_graph_free(graph);
    struct tri_op *op = tri_vector_add(&unpacking->arena, &unpacking->ops, sizeof *op);
    if (op == NULL) {
        return unpacking->arena.error;
    }
    *op = (struct tri_op){
        .kind = TRI_OP_PUT_GRAPH, .number = tr_clock_wall_ms(), .data = entry->data};
    tri_op_sort_by_hash(op);
    return 0;
}

/* Rows go to `unpacking`, which lives as long as the share; what is kept has a copy. */
static int take_op(struct tr_taking *taking, struct tr_unpacking *unpacking,
                   const struct tr_archive_op *entry)
{
    struct tr_unpacking *kept = &taking->session.unpacking;
    bool is_row = entry->kind == TRI_OP_PUT_RECORD;
    if (entry->kind == TRI_OP_PUT_GRAPH) {
        return take_graph(unpacking, entry);
    }
    if (is_row && (entry->type == tr_execution_schema.id || !is_of_these(taking, entry->data))) {
        return TR_MALFORMED;
    }
    if (is_row && !taking->session.keeps_rows) {
        return tr_unpacking_take(unpacking, entry);
    }
    struct tr_archive_op copy = *entry;
    copy.data = tr_arena_bytes(&kept->arena, entry->data);
    return kept->arena.error != 0 ? kept->arena.error : tr_unpacking_take(kept, &copy);
}

static int take_share(struct tr_taking *taking, struct tr_bytes ops)
{
    struct tr_unpacking share = taking->session.unpacking;
    share.ops = (struct tri_vector){.count = 0};
    share.executions = (struct tri_vector){.count = 0};
    tr_arena_init(&share.arena);
    int error = check_store(taking);
    if (error == 0) {
        error = each_op(taking, ops, take_op, &share);
    }
    if (error == 0 && share.ops.count > 0) {
        tr_unpacking_sort(&share);
        error = write_ops(taking, share.ops.items, share.ops.count);
    }
    tr_arena_fini(&share.arena);
    return error;
}

static int check_session(const struct tr_taking *taking, uint64_t session, const char **explain)
{
    if (taking->state == TAKING_OPEN && taking->number == session) {
        return 0;
    }
    *explain = "another import has taken its place";
    return TR_NOT_FOUND;
}

int tr_taking_ops(struct tr_taking *taking, const struct tr_import_ops *ops, const char **explain)
{
    int error = check_session(taking, ops->session, explain);
    if (error != 0) {
        return error;
    }
    error = take_share(taking, ops->ops);
    return error == 0 ? 0 : refuse(taking, error, explain);
}

/* ---------------------------------------------------------------------- finishing */

static int find_launcher(void *self, const struct tr_execution *row, const char *name,
                         struct tr_ref *launcher)
{
    struct tr_taking *taking = self;
    struct tr_arena *arena = &taking->session.unpacking.arena;
    int error =
        tr_live_launcher(taking->live, row->project, row->domain, NULL, row->name, launcher);
    if (error != 0) {
        return error;
    }
    struct tr_adoption_parent *parent =
        tri_vector_add(arena, &taking->session.parents, sizeof *parent);
    if (parent == NULL) {
        return arena->error;
    }
    *parent = (struct tr_adoption_parent){.actor = *launcher,
                                          .address = tr_arena_print(arena, "/%s", name)};
    return arena->error;
}

/* Holds a graph of the store for the program, until those who run it do. */
static int hold_graph(struct tr_taking *taking, struct tr_bytes hash)
{
    struct tr_graph_registry *registry = &taking->live->engine->registry;
    struct tr_arena *arena = &taking->session.unpacking.arena;
    struct tr_graph *graph = NULL;
    uint64_t number = 0;
    if (hash.size != TR_GRAPH_HASH_BYTES) {
        return TR_MALFORMED;
    }
    uint64_t *held = tri_vector_add(arena, &taking->session.graphs, sizeof *held);
    if (held == NULL) {
        return arena->error;
    }
    taking->session.graphs.count--; /* until it is held */
    int error = 0;
    if (tr_graph_registry_share(registry, hash.data)) {
        number = tr_graph_number(hash.data);
    } else {
        error = tr_graphs_get(taking->live->folder, hash, &graph);
        if (error == 0) {
            error = tr_graph_registry_put(registry, graph, &number);
        }
    }
    if (error == 0) {
        *held = number;
        taking->session.graphs.count++;
    }
    return error;
}

/* What a launcher says of a name. */
struct reserving {
    struct tr_taking *taking;
    const struct tr_execution *row;
    int error;
};

static void take_launched(void *self, const struct tr_message *message)
{
    struct reserving *reserving = self;
    struct tr_launched launched;
    char words[TRI_STORE_EXPLAIN_BYTES];
    reserving->error = tr_message_read(message, launched, &launched);
    if (reserving->error == 0 && launched.error != 0) {
        snprintf(words, sizeof words, "%.*s: %.*s", (int)reserving->row->name.size,
                 reserving->row->name.data, (int)launched.message.size, launched.message.data);
        reserving->error = fail(reserving->taking, (int)launched.error, words);
    }
}

/* The first actor of an execution, as it comes. */
static struct tr_ref root_of(const struct tr_taking *taking, uint64_t execution)
{
    const struct tri_vector *ops = &taking->session.unpacking.ops;
    struct tr_ref root = tr_group_root(execution);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct tri_op *op = &((const struct tri_op *)ops->items)[i];
        if (op->kind == TRI_OP_PUT_ACTOR && tr_key_equal(op->key, root.key)) {
            root.incarnation = op->incarnation;
        }
    }
    return root;
}

/* The launcher alone knows which names live: from here on it gives this one to nobody else. */
static int reserve_name(struct tr_taking *taking, const struct tr_execution *row)
{
    struct reserving reserving = {.taking = taking, .row = row};
    struct tr_ref launcher;
    int error = hold_graph(taking, row->graph);
    if (error == 0) {
        error =
            tr_live_launcher(taking->live, row->project, row->domain, NULL, row->name, &launcher);
    }
    if (error != 0) {
        return error;
    }
    struct tr_execution_imported imported = {
        .name = row->name,
        .execution = root_of(taking, row->execution),
        .graph = tr_graph_number(row->graph.data),
    };
    error = tr_host_ask(taking->live->host, launcher, &tr_execution_imported_schema, &imported,
                        LAUNCHER_MS_MAX, take_launched, &reserving);
    return error != 0 ? error : reserving.error;
}

static int reserve_names(struct tr_taking *taking)
{
    const struct tri_vector *executions = &taking->session.unpacking.executions;
    const struct tr_execution *rows = executions->items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < executions->count; i++) {
        error = is_unfinished(taking, &rows[i]) ? reserve_name(taking, &rows[i]) : 0;
    }
    return error;
}

/* All that is kept, as the last commit and the workers get it. */
static int prepare(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    struct tr_unpacking *unpacking = &session->unpacking;
    if (!unpacking->head.is_unfinished) {
        return 0;
    }
    int error = tr_import_live_prepare(unpacking, &taking->target);
    if (error != 0) {
        return error;
    }
    tr_unpacking_sort(unpacking);
    session->adoption = (struct tr_adoption){.ops = unpacking->ops.items,
                                             .count = unpacking->ops.count,
                                             .parents = session->parents.items,
                                             .parent_count = session->parents.count};
    error = tr_host_adopt_prepare(taking->live->host, &session->adoption, &session->adopting);
    return error == TR_BUSY ? fail(taking, error,
                                   "the engine's memory has no room for it (limits.memory of the "
                                   "settings); say it again when something has ended")
                            : error;
}

/*
 * Actors but the first of each group, their pages, and messages are written in shares, so that
 * commits of others do not wait for all of it. Without its first actor a group has ended: a start
 * that finds it so removes what is left of it (runtime/host/load.c).
 */
static bool is_early(const struct tri_op *op)
{
    bool is_first = tr_key_equal(op->key, tr_group_root(op->key.group).key);
    return op->kind == TRI_OP_PUT_MESSAGE ||
           ((op->kind == TRI_OP_PUT_ACTOR || op->kind == TRI_OP_PUT_PAGE) && !is_first);
}

/* The last commit makes all of it visible, and has no mark any more. */
static int part_ops(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    struct tr_arena *arena = &session->unpacking.arena;
    const struct tri_op *ops = session->unpacking.ops.items;
    for (uint32_t i = 0; i < session->unpacking.ops.count; i++) {
        struct tri_vector *part = is_early(&ops[i]) ? &session->early : &session->last;
        struct tri_op *op = tri_vector_add(arena, part, sizeof *op);
        if (op == NULL) {
            return arena->error;
        }
        *op = ops[i];
    }
    struct tri_op *op = tri_vector_add(arena, &session->last, sizeof *op);
    if (op == NULL) {
        return arena->error;
    }
    *op = tr_import_marks_op((struct tr_bytes){.data = (const uint8_t *)"", .size = 0});
    return 0;
}

/* Begins to write the next share, or the last commit. */
static int write_next(struct tr_taking *taking)
{
    struct session *session = &taking->session;
    struct tr_host *host = taking->live->host;
    const struct tri_op *early = session->early.items;
    uint32_t left = session->early.count - session->written;
    uint32_t count = left < SHARE_OPS ? left : SHARE_OPS;
    if (count == 0) {
        int error = tr_host_write(host, session->last.items, session->last.count);
        session->is_last = error == 0;
        return error;
    }
    int error = tr_host_write(host, early + session->written, count);
    session->written += error == 0 ? count : 0;
    return error;
}

static int finish(struct tr_taking *taking)
{
    int error = check_store(taking);
    if (error == 0) {
        error = check_executions(taking);
    }
    if (error == 0) {
        error = prepare(taking);
    }
    if (error == 0) {
        error = reserve_names(taking);
    }
    if (error == 0) {
        error = part_ops(taking);
    }
    return error != 0 ? error : write_next(taking);
}

int tr_taking_finish(struct tr_taking *taking, uint64_t session, const struct tri_peer *peer,
                     const char **explain)
{
    int error = check_session(taking, session, explain);
    if (error != 0) {
        return error;
    }
    error = finish(taking);
    if (error != 0) {
        return refuse(taking, fail(taking, error, tr_error_text(error)), explain);
    }
    taking->session.peer = *peer;
    taking->state = TAKING_WRITING;
    return 0;
}

/* ------------------------------------------------------------------ when it is written */

static void answer(struct tr_taking *taking, const struct tr_schema *schema, const void *body)
{
    /* The client may have gone: what is written stays. */
    (void)!tri_endpoint_answer(taking->live->endpoint, &taking->session.peer, schema, body);
}

/* Nodes that run a graph they have decided hold it as those of a start (graph_pins.c). */
static int need_decided(void *self, const void *value)
{
    struct tr_taking *taking = self;
    const struct tr_node_status *row = value;
    if (row->graph.size == 0 || tr_phase_is_end(TR_SUBJECT_NODE, row->phase)) {
        return 0;
    }
    int error = hold_graph(taking, row->graph);
    if (error == 0) {
        taking->session.graphs.count--; /* until the node says graph_drop */
    }
    return error;
}

/* Makes an execution known as dormant, with the graphs of its nodes. */
static int make_known(struct tr_taking *taking, struct tr_reader *reader,
                      const struct tr_execution *row)
{
    const struct tr_reader_filter filter =
        tr_filter_number("execution", TR_FILTER_EQUAL, row->execution);
    const struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = &filter, .filter_count = 1};
    int error = tr_dormant_add(&taking->live->dormant, row, true);
    return error != 0 ? error : tr_reader_rows(reader, &query, need_decided, taking);
}

/* An abort that was under way goes on: such an execution is never dormant. */
static int wake_aborting(struct tr_taking *taking)
{
    const struct tr_dormant *dormant = &taking->live->dormant;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < dormant->count; i++) {
        const struct tr_dormant_execution *entry = &dormant->items[i];
        bool is_new = find_execution(taking, entry->execution) != NULL;
        if (is_new && !entry->is_dormant) {
            error = tr_host_wake(taking->live->host, entry->execution);
        }
    }
    return error;
}

static int bring_in(struct tr_taking *taking)
{
    const struct tri_vector *executions = &taking->session.unpacking.executions;
    const struct tr_execution *rows = executions->items;
    struct tr_reader *reader;
    int error = tr_host_adopt(taking->session.adopting);
    if (error == 0) {
        error = tr_live_read(taking->live, NULL, &reader);
    }
    for (uint32_t i = 0; error == 0 && i < executions->count; i++) {
        error = is_unfinished(taking, &rows[i]) ? make_known(taking, reader, &rows[i]) : 0;
    }
    tr_live_read_end(taking->live);
    if (error != 0) {
        return error;
    }
    tr_dormant_order(&taking->live->dormant);
    return wake_aborting(taking);
}

static void tell_waiting(struct tr_taking *taking)
{
    uint64_t now_ms = tr_live_now_ms(taking->live);
    int waits_for = tr_host_waits_for(taking->live->host);
    if (waits_for != 0 && now_ms - taking->told_ms >= WAITS_MS) {
        struct tr_import_waits waits = {.error = waits_for};
        taking->told_ms = now_ms;
        answer(taking, &tr_import_waits_schema, &waits);
    }
}

/*
 * It is written, so it is here whatever comes: without memory for the rest the next engine, which
 * loads it, is the remedy.
 */
static void complete(struct tr_taking *taking)
{
    struct tr_answered answered = {.message = tr_text_of("")};
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = taking->session.adopting == NULL ? 0 : bring_in(taking);
    if (error != 0) {
        snprintf(words, sizeof words,
                 "it is in the store, and this engine cannot go on with it: %s; the next one can",
                 tr_error_text(error));
        answered = (struct tr_answered){.error = error, .message = tr_text_of(words)};
    }
    answer(taking, &tr_answered_schema, &answered);
    session_fini(taking);
}

void tr_taking_step(struct tr_taking *taking)
{
    if (taking->state == TAKING_GIVEN_UP && tr_host_written(taking->live->host) == 0) {
        give_up(taking);
    }
    if (taking->state != TAKING_WRITING) {
        return;
    }
    int error = tr_host_written(taking->live->host);
    if (error == 0 && !taking->session.is_last) {
        error = write_next(taking) == 0 ? TR_BUSY : 0; /* else it is tried again */
    } else if (error == 0) {
        complete(taking);
    }
    if (error == TR_BUSY) {
        tell_waiting(taking);
    }
}

bool tr_taking_is_writing(const struct tr_taking *taking)
{
    return taking->state == TAKING_WRITING || taking->state == TAKING_GIVEN_UP;
}

int tr_taking_new(struct tr_live *live, struct tr_taking **out)
{
    struct tr_taking *taking = tr_alloc_zero(1, sizeof *taking);
    if (taking == NULL) {
        return TR_MEMORY;
    }
    taking->live = live;
    taking->target = (struct tr_import_target){.host = tr_host_self(live->host),
                                               .said = FIRST_NUMBER,
                                               .self = taking,
                                               .find_launcher = find_launcher};
    *out = taking;
    return 0;
}

void tr_taking_free(struct tr_taking *taking)
{
    if (taking != NULL) {
        if (taking->state != TAKING_NOTHING) {
            session_fini(taking);
        }
        tr_free(taking);
    }
}
