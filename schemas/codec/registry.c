/*
 * The registry: two sorted tables of pointers, filled once, searched by halves.
 */
#include "schemas/codec/registry.h"

#include "schemas/codec/sink.h"

/* What a table is sorted by: a schema compared with what is looked for. */
struct wanted {
    unsigned role;
    uint16_t id;
    struct tr_text name;
};

typedef int compare_function(const struct tr_schema *schema, const struct wanted *wanted);

static int compare_id(const struct tr_schema *schema, const struct wanted *wanted)
{
    if (schema->role != wanted->role) {
        return schema->role < wanted->role ? -1 : 1;
    }
    return (int)schema->id - (int)wanted->id;
}

static int compare_name(const struct tr_schema *schema, const struct wanted *wanted)
{
    return tr_text_order(tr_text_of(schema->name), wanted->name);
}

/* The place of the first schema that does not come before what is wanted. */
static size_t place_of(const struct tr_schema *const *table, size_t count,
                       compare_function *compare, const struct wanted *wanted)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(table[middle], wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const struct tr_schema *find(const struct tr_schema *const *table, size_t count,
                                    compare_function *compare, const struct wanted *wanted)
{
    size_t place = place_of(table, count, compare, wanted);
    bool found = place < count && compare(table[place], wanted) == 0;
    return found ? table[place] : NULL;
}

/* Puts a schema where it belongs in a table that has room for it. */
static void insert(const struct tr_schema **table, size_t count, compare_function *compare,
                   const struct tr_schema *schema, const struct wanted *wanted)
{
    size_t place = place_of(table, count, compare, wanted);
    memmove(&table[place + 1], &table[place], (count - place) * sizeof table[0]);
    table[place] = schema;
}

/* Says which two schemas want the same thing. */
static int refuse_twice(const struct tr_schema *first, const struct tr_schema *second,
                        const char *words, char *explain)
{
    struct tr_sink sink = tr_sink_of(explain, TR_REGISTRY_EXPLAIN_BYTES);
    tr_sink_format(&sink, "%s %u %.64s: %s %s %u %.64s", tr_schema_role_name(second->role),
                   second->id, second->name, words, tr_schema_role_name(first->role), first->id,
                   first->name);
    return TR_EXISTS;
}

static int add(struct tr_registry *registry, const struct tr_schema *schema, char *explain)
{
    int error = tr_schema_check(schema, explain);
    if (error != 0) {
        return error;
    }
    struct wanted wanted = {schema->role, schema->id, tr_text_of(schema->name)};
    const struct tr_schema *other = find(registry->by_id, registry->count, compare_id, &wanted);
    if (other != NULL) {
        return refuse_twice(other, schema, "the id is taken by", explain);
    }
    other = find(registry->by_name, registry->count, compare_name, &wanted);
    if (other != NULL) {
        return refuse_twice(other, schema, "the name is taken by", explain);
    }
    if (registry->count == TR_SCHEMAS_MAX) {
        struct tr_sink sink = tr_sink_of(explain, TR_REGISTRY_EXPLAIN_BYTES);
        tr_sink_format(&sink, "%s %u %.64s: there are more than %d schemas: raise TR_SCHEMAS_MAX",
                       tr_schema_role_name(schema->role), schema->id, schema->name, TR_SCHEMAS_MAX);
        return TR_LIMIT;
    }
    insert(registry->by_id, registry->count, compare_id, schema, &wanted);
    insert(registry->by_name, registry->count, compare_name, schema, &wanted);
    registry->count++;
    return 0;
}

int tr_registry_init(struct tr_registry *registry, const struct tr_schema_list *lists,
                     size_t list_count, char *explain)
{
    registry->count = 0;
    for (size_t list = 0; list < list_count; list++) {
        for (size_t i = 0; i < lists[list].count; i++) {
            int error = add(registry, lists[list].schemas[i], explain);
            if (error != 0) {
                registry->count = 0;
                return error;
            }
        }
    }
    return 0;
}

const struct tr_schema *tr_registry_find(const struct tr_registry *registry, unsigned role,
                                         uint16_t id)
{
    struct wanted wanted = {.role = role, .id = id};
    return find(registry->by_id, registry->count, compare_id, &wanted);
}

const struct tr_schema *tr_registry_find_name(const struct tr_registry *registry,
                                              struct tr_text name)
{
    struct wanted wanted = {.name = name};
    return find(registry->by_name, registry->count, compare_name, &wanted);
}
