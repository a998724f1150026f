/*
 * The places of a request by their names. A bound that comes with who asks, as those of pools and
 * scopes do, is that of the last one who asked.
 */
#include <string.h>

#include "actors/services/resources.h"

static void set_name(struct tri_place_row *place, struct tr_text name)
{
    size_t size = name.size < sizeof place->name ? name.size : sizeof place->name;
    place->name_size = (uint32_t)size;
    if (size > 0) {
        memcpy(place->name, name.data, size);
    }
}

int tri_place_find(struct tri_resources *resources, enum tri_resource_row kind, struct tr_text name,
                   uint32_t *number)
{
    struct tr_rows_key key = tr_rows_key_bytes(
        kind, (struct tr_bytes){.data = (const uint8_t *)name.data, .size = name.size});
    int error = tr_rows_find(&resources->rows, &key, number);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    void *row;
    error = tr_rows_add(&resources->rows, &key, number, &row);
    if (error == 0) {
        set_name(row, name);
    }
    return error;
}

/* A pool's bounds come with the definition that uses it: the last one to ask is right. */
int tri_pool_find(struct tri_resources *resources, const struct tr_resource_request *wish,
                  uint32_t *number)
{
    struct tri_place_row *pool;
    *number = 0;
    if (wish->pool.size == 0) {
        return 0;
    }
    int error = tri_place_find(resources, TRI_ROW_POOL, wish->pool, number);
    error = error != 0 ? error : tri_place_edit(resources, *number, &pool);
    if (error == 0) {
        pool->slots = wish->pool_slots;
        pool->per_second = wish->pool_per_second;
    }
    return error;
}

/* What a project, or a domain of one, may have of a namespace. */
static int find_scope(struct tri_resources *resources, struct tr_text name, uint32_t slots,
                      uint32_t project, uint32_t *number)
{
    struct tri_place_row *scope;
    if (name.size == 0) {
        return 0;
    }
    int error = tri_place_find(resources, TRI_ROW_SCOPE, name, number);
    error = error != 0 ? error : tri_place_edit(resources, *number, &scope);
    if (error == 0) {
        scope->slots = slots;
        scope->project = project;
    }
    return error;
}

int tri_share_find(struct tri_resources *resources, const struct tr_resource_request *wish,
                   uint32_t *scope)
{
    *scope = 0;
    int error = find_scope(resources, wish->project, wish->project_slots, 0, scope);
    return error != 0 || *scope == 0
               ? error
               : find_scope(resources, wish->domain, wish->domain_slots, *scope, scope);
}
