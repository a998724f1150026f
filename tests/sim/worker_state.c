/*
 * A worker's state is a list of the operations that would write the worker as it is.
 *
 * What the runtime did not mark as changed it would not write, so the state differs from the
 * shadow where a mark was forgotten.
 */
#include "tests/sim/worker_state.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/actor/image.h"
#include "tests/sim/world.h"

struct part {
    struct part *next;
    struct tri_op op; /* of a message without its bytes */
    uint8_t bytes[];
};

struct sim_worker_state {
    uint32_t worker;
    struct part *first;
};

static void add(struct sim_worker_state *worker_state, const struct tri_op *op)
{
    struct part *part = sim_must(malloc(sizeof *part + op->data.size));
    part->next = worker_state->first;
    part->op = *op;
    if (op->data.size > 0) {
        memcpy(part->bytes, op->data.data, op->data.size);
    }
    part->op.data.data = part->bytes;
    worker_state->first = part;
}

static void add_image(struct sim_worker_state *worker_state, struct tri_worker *worker,
                      struct tri_actor *actor)
{
    uint8_t bytes[2 * TR_STATE_BYTES_MAX + TR_NAME_BYTES_MAX + 16384];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    int error = tri_image_write(worker, actor, &writer);
    TR_ASSERT(error == 0);
    struct tri_op op = {
        .kind = TRI_OP_PUT_ACTOR,
        .key = actor->key,
        .incarnation = actor->incarnation,
        .data = {.data = bytes, .size = tr_writer_size(&writer)},
    };
    add(worker_state, &op);
}

struct page_visit {
    struct sim_worker_state *worker_state;
    struct tr_key key;
};

static void add_page(void *self, uint32_t page, struct tr_bytes bytes)
{
    const struct page_visit *visit = self;
    struct tri_op op = {.kind = TRI_OP_PUT_PAGE, .key = visit->key, .number = page, .data = bytes};
    add(visit->worker_state, &op);
}

static void add_mailbox(struct sim_worker_state *worker_state, const struct tri_actor *actor)
{
    for (const struct tri_message *message = actor->mailbox_head; message != NULL;
         message = message->next) {
        if (tri_message_is_durable(message)) {
            struct tri_op op = tri_message_op(message, TRI_OP_PUT_MESSAGE);
            add(worker_state, &op);
        }
    }
}

struct sim_worker_state *sim_worker_state_take(struct tri_worker *worker)
{
    struct sim_worker_state *worker_state = sim_must(calloc(1, sizeof *worker_state));
    worker_state->worker = worker->index;
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        struct page_visit visit = {.worker_state = worker_state, .key = actor->key};
        add_image(worker_state, worker, actor);
        tri_page_each(actor, &visit, add_page);
        add_mailbox(worker_state, actor);
    }
    return worker_state;
}

void sim_worker_state_free(struct sim_worker_state *worker_state)
{
    while (worker_state != NULL && worker_state->first != NULL) {
        struct part *part = worker_state->first;
        worker_state->first = part->next;
        free(part);
    }
    free(worker_state);
}

static struct tr_text text_of(struct tr_bytes bytes)
{
    return (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
}

/* The next edge that a start would keep, as bytes; none at the end. */
static struct tr_bytes next_edge(struct tr_cursor *cursor, uint32_t *left)
{
    while (*left > 0 && cursor->error == 0) {
        (*left)--;
        struct tr_bytes edge = tr_read_any(cursor);
        struct tr_cursor inner = tr_cursor_of(edge);
        (void)tr_read_array(&inner);
        if (tr_read_u8(&inner) != TRI_EDGE_MUTING) {
            return edge;
        }
    }
    return (struct tr_bytes){0};
}

static bool has_same_edges(struct tr_bytes a, struct tr_bytes b)
{
    struct tr_cursor mine = tr_cursor_of(a);
    struct tr_cursor its = tr_cursor_of(b);
    uint32_t my_count = tr_read_array(&mine);
    uint32_t its_count = tr_read_array(&its);
    while (true) {
        struct tr_bytes my_edge = next_edge(&mine, &my_count);
        struct tr_bytes its_edge = next_edge(&its, &its_count);
        if (!tr_text_equal(text_of(my_edge), text_of(its_edge))) {
            return false;
        }
        if (my_edge.size == 0) {
            return true;
        }
    }
}

/* How two images differ, or NULL. Where an actor's kin lives and who holds it back are worked out
 * anew at each start. */
static const char *difference(struct tr_bytes a, struct tr_bytes b)
{
    struct tr_image mine;
    struct tr_image its;
    if (tr_image_unpack(a, tr_image_schema.version, &mine) != 0 ||
        tr_image_unpack(b, tr_image_schema.version, &its) != 0) {
        return "image that cannot be read";
    }
    uint16_t flags = (uint16_t) ~(TRI_ACTOR_SPREAD_FAMILY | TRI_ACTOR_OVERLOADED);
    if (((mine.flags ^ its.flags) & flags) != 0) {
        return "flags";
    }
    if (mine.phase != its.phase) {
        return "phase";
    }
    if (mine.sequence != its.sequence) {
        return "sequence";
    }
    if (!has_same_edges(mine.edges, its.edges)) {
        return "edges";
    }
    if (!tr_text_equal(text_of(mine.state), text_of(its.state))) {
        return "state";
    }
    bool is_same = mine.behaviour == its.behaviour && mine.incarnation == its.incarnation &&
                   mine.state_version == its.state_version &&
                   tr_key_equal(mine.parent.key, its.parent.key) &&
                   tr_text_equal(text_of(mine.name), text_of(its.name));
    return is_same ? NULL : "name or parent";
}

/* What of a part is not as the shadow has it, or NULL. */
static const char *part_difference(const struct part *part, bool is_there, struct tr_bytes bytes)
{
    if (part->op.kind == TRI_OP_PUT_ACTOR) {
        return is_there ? difference(part->op.data, bytes) : "image";
    }
    if (part->op.kind == TRI_OP_PUT_PAGE) {
        return is_there && tr_text_equal(text_of(part->op.data), text_of(bytes)) ? NULL : "page";
    }
    return is_there ? NULL : "message";
}

void sim_worker_state_compare(const struct sim_worker_state *worker_state,
                              const struct sim_shadow *shadow, uint64_t number)
{
    for (const struct part *part = worker_state->first; part != NULL; part = part->next) {
        struct tr_bytes bytes = {0};
        bool is_there = sim_shadow_find(shadow, &part->op, &bytes);
        const char *what = part_difference(part, is_there, bytes);
        if (what != NULL) {
            sim_fail("what is committed is what was: at number %llu worker %u had the %s of "
                     "%llu/%llu (number %llu) in memory, and the batches up to there have %s",
                     (unsigned long long)number, worker_state->worker, what,
                     (unsigned long long)part->op.key.group,
                     (unsigned long long)part->op.key.serial, (unsigned long long)part->op.number,
                     is_there ? "something else" : "nothing");
        }
    }
}
