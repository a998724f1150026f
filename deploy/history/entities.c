/*
 * Reading entities: one by its id, whose fields are the row's key, or all of a project and domain.
 */
#include "deploy/history/entities.h"

#include "actors/graph/flyte/flyte_single.h"
#include "deploy/common/schemas.h"
#include "schemas/codec/error.h"

struct finding {
    struct tr_arena *arena;
    struct tr_entity found;
    bool is_found;
};

static int take(void *self, const void *row)
{
    struct finding *finding = self;
    finding->found = *(const struct tr_entity *)row;
    finding->is_found = true;
    return tr_schemas_row_keep(finding->arena, &tr_entity_schema, &finding->found);
}

static int find_row(struct tr_reader *reader, struct tr_arena *arena, struct tr_entity *entity)
{
    struct finding finding = {.arena = arena};
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, entity->project),
        tr_filter_text("domain", TR_FILTER_EQUAL, entity->domain),
        tr_filter_number("kind", TR_FILTER_EQUAL, entity->kind),
        tr_filter_text("name", TR_FILTER_EQUAL, entity->name),
        tr_filter_text("version", TR_FILTER_EQUAL, entity->version),
    };
    struct tr_reader_query query = {
        .record = &tr_entity_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    int error = tr_reader_rows(reader, &query, take, &finding);
    if (error != 0) {
        return error;
    }
    if (!finding.is_found) {
        return TR_NOT_FOUND;
    }
    *entity = finding.found;
    return 0;
}

int tr_entities_find(struct tr_reader *reader, struct tr_arena *arena, struct tr_entity *entity)
{
    struct tr_entity task;
    int error = find_row(reader, arena, entity);
    if (error != TR_NOT_FOUND || !tr_flyte_single_of(entity, &task)) {
        return error;
    }
    error = find_row(reader, arena, &task);
    if (error == 0) {
        error = tr_flyte_single_make(arena, &task, entity);
    }
    return error == TR_INVALID ? TR_STORE_DAMAGED : error;
}

int tr_entities_each(struct tr_reader *reader, struct tr_text project, struct tr_text domain,
                     int (*show)(void *self, const void *entity), void *self)
{
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, project),
        tr_filter_text("domain", TR_FILTER_EQUAL, domain),
    };
    struct tr_reader_query query = {
        .record = &tr_entity_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reader, &query, show, self);
}
