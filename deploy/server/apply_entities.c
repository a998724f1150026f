/*
 * An entity never changes under its id. So all are compared with what the store has before the
 * first is kept, and whoever applies the same package again changes nothing; one that was killed
 * half way is finished by that.
 */
#include "deploy/server/apply_entities.h"

#include <stdio.h>
#include <string.h>

#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/history/entities.h"
#include "schemas/codec/error.h"
#include "schemas/engine/schedule.h"

struct keeping {
    struct tr_live *live;
    bool deletes;
    tr_plan_applied *applied;
    void *self;
    char *explain;
    struct tr_arena arena;
    struct tr_entity *entities;
    bool *are_there;
    uint32_t count;
    struct tri_vector gone; /* struct tr_entity: their ids */
};

/* ------------------------------------------------------------------ the list */

static bool read_entity(struct tr_bytes packed, struct tr_entity *entity)
{
    return tr_entity_unpack(packed, tr_entity_schema.version, entity) == 0 &&
           entity->kind >= TR_ENTITY_TASK && entity->kind <= TR_ENTITY_PLAN &&
           entity->name.size > 0;
}

static int read_list(struct keeping *keeping, struct tr_bytes list)
{
    struct tr_cursor cursor = tr_cursor_of(list);
    uint32_t count = tr_read_array(&cursor);
    /* Each takes more than a byte of the list, which bounds what is made room for. */
    if (cursor.error != 0 || count > list.size) {
        return TR_MALFORMED;
    }
    keeping->entities = tr_arena_array(&keeping->arena, count, sizeof *keeping->entities);
    keeping->are_there = tr_arena_array(&keeping->arena, count, sizeof *keeping->are_there);
    for (uint32_t i = 0; keeping->arena.error == 0 && i < count; i++) {
        struct tr_bytes packed = tr_read_bytes(&cursor);
        if (cursor.error != 0 || !read_entity(packed, &keeping->entities[i])) {
            return TR_MALFORMED;
        }
        keeping->entities[i].applied_ms = tr_clock_wall_ms();
        keeping->entities[i].updated_ms = keeping->entities[i].applied_ms;
        keeping->are_there[i] = false;
    }
    keeping->count = count;
    return keeping->arena.error;
}

/* ------------------------------------------------------------------ what is there */

static bool is_same_id(const struct tr_entity *a, const struct tr_entity *b)
{
    return a->kind == b->kind && tr_text_equal(a->name, b->name) &&
           tr_text_equal(a->version, b->version) && tr_text_equal(a->project, b->project) &&
           tr_text_equal(a->domain, b->domain);
}

static bool is_same(const struct tr_entity *a, const struct tr_entity *b)
{
    return a->message.size == b->message.size &&
           memcmp(a->message.data, b->message.data, a->message.size) == 0 &&
           tr_text_equal(a->code, b->code);
}

static int compare(struct keeping *keeping, struct tr_reader *reader)
{
    uint32_t collisions = 0;
    for (uint32_t i = 0; i < keeping->count; i++) {
        const struct tr_entity *entity = &keeping->entities[i];
        struct tr_entity found = *entity;
        int error = tr_entities_find(reader, &keeping->arena, &found);
        if (error != 0 && error != TR_NOT_FOUND) {
            snprintf(keeping->explain, TR_APPLY_EXPLAIN_BYTES, "%.500s", tr_reader_explain(reader));
            return error;
        }
        keeping->are_there[i] = error == 0;
        if (error == 0 && !is_same(entity, &found) && collisions++ == 0) {
            snprintf(keeping->explain, TR_APPLY_EXPLAIN_BYTES,
                     "the %s '%.*s' is kept of version %.*s already, with other content; apply "
                     "this one as another version: --version [ValueCollision]",
                     tr_entity_kind_word(entity->kind), TRI_SHOWN(entity->name),
                     TRI_SHOWN(entity->version));
        }
    }
    return collisions > 0 ? TR_EXISTS : 0;
}

static int take_gone(void *self, const void *row)
{
    struct keeping *keeping = self;
    const struct tr_entity *entity = row;
    for (uint32_t i = 0; i < keeping->count; i++) {
        if (is_same_id(entity, &keeping->entities[i])) {
            return 0;
        }
    }
    struct tr_entity *gone = tri_vector_add(&keeping->arena, &keeping->gone, sizeof *gone);
    if (gone == NULL) {
        return keeping->arena.error;
    }
    *gone = (struct tr_entity){.project = entity->project,
                               .domain = entity->domain,
                               .kind = entity->kind,
                               .name = entity->name,
                               .version = entity->version};
    return tr_schemas_row_keep(&keeping->arena, &tr_entity_schema, gone);
}

static int look(struct keeping *keeping, struct tr_text project, struct tr_text domain)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader;
    int error = tr_live_read(keeping->live, words, &reader);
    if (error != 0) {
        snprintf(keeping->explain, TR_APPLY_EXPLAIN_BYTES, "%.500s", words);
        return error;
    }
    error = compare(keeping, reader);
    if (error == 0 && keeping->deletes) {
        error = tr_entities_each(reader, project, domain, take_gone, keeping);
    }
    tr_live_read_end(keeping->live);
    return error;
}

/* ------------------------------------------------------------------ what is kept */

static int check_sizes(const struct keeping *keeping)
{
    for (uint32_t i = 0; i < keeping->count; i++) {
        const struct tr_entity *entity = &keeping->entities[i];
        if (entity->message.size > TR_ENTITY_BYTES_MAX) {
            snprintf(keeping->explain, TR_APPLY_EXPLAIN_BYTES,
                     "the %s '%.*s' has %zu bytes, more than TR_ENTITY_BYTES_MAX (%u); part it",
                     tr_entity_kind_word(entity->kind), TRI_SHOWN(entity->name),
                     entity->message.size, TR_ENTITY_BYTES_MAX);
            return TR_LIMIT;
        }
    }
    return 0;
}

static void take_kept(void *self, const struct tr_message *message)
{
    int *kept = self;
    struct tr_entity_kept answer;
    int error = tr_message_read(message, entity_kept, &answer);
    *kept = error != 0 ? error : (int)answer.error;
}

static int tell(struct keeping *keeping, struct tr_ref schedules, const struct tr_entity *entity,
                bool is_forgotten)
{
    size_t size_max = tr_entity_schema.size_max(entity);
    uint8_t *bytes = tr_arena_alloc(&keeping->arena, size_max);
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int kept = 0;
    if (bytes == NULL) {
        return keeping->arena.error;
    }
    int error = tr_entity_schema.pack(entity, &writer);
    struct tr_entity_keep keep = {.entity = {.data = bytes, .size = tr_writer_size(&writer)},
                                  .is_forgotten = is_forgotten};
    if (error == 0) {
        error = tr_host_ask(keeping->live->host, schedules, &tr_entity_keep_schema, &keep, 0,
                            take_kept, &kept);
    }
    error = error != 0 ? error : kept;
    if (error == 0) {
        atomic_fetch_add(&keeping->live->kept, 1);
        keeping->applied(keeping->self, entity->name,
                         is_forgotten ? TR_SCHEDULE_DELETED : TR_SCHEDULE_CREATED, entity->kind);
    }
    return error;
}

static int keep_all(struct keeping *keeping)
{
    struct tr_ref schedules;
    int error = tr_live_schedules(keeping->live, &schedules);
    for (uint32_t i = 0; error == 0 && i < keeping->count; i++) {
        const struct tr_entity *entity = &keeping->entities[i];
        if (keeping->are_there[i]) {
            keeping->applied(keeping->self, entity->name, TR_SCHEDULE_UNCHANGED, entity->kind);
        } else {
            error = tell(keeping, schedules, entity, false);
        }
    }
    const struct tr_entity *gone = keeping->gone.items;
    for (uint32_t i = 0; error == 0 && i < keeping->gone.count; i++) {
        error = tell(keeping, schedules, &gone[i], true);
    }
    return error;
}

int tr_live_keep_entities(struct tr_live *live, struct tr_bytes list, struct tr_text project,
                          struct tr_text domain, bool deletes, tr_plan_applied *applied, void *self,
                          char *explain)
{
    struct keeping keeping = {
        .live = live, .deletes = deletes, .applied = applied, .self = self, .explain = explain};
    tr_arena_init(&keeping.arena);
    explain[0] = '\0';
    int error = read_list(&keeping, list);
    if (error == 0) {
        error = check_sizes(&keeping);
    }
    if (error == 0) {
        error = look(&keeping, project, domain);
    }
    if (error == 0) {
        error = keep_all(&keeping);
    }
    tr_arena_fini(&keeping.arena);
    return error;
}
