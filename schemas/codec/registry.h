/*
 * All schemas that a program knows, found by role and id as they stand in an envelope or a store,
 * or by name as a person says them.
 *
 *     static const struct tr_schema *const clock[] = {TR_CLOCK_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
 *     static const struct tr_schema_list lists[] = {{clock, TR_COUNT_OF(clock)}, ...};
 *     struct tr_registry registry;
 *     char explain[TR_REGISTRY_EXPLAIN_BYTES];
 *     int error = tr_registry_init(&registry, lists, TR_COUNT_OF(lists), explain);
 *
 * Once made it never changes, so that every thread may read it. It holds pointers only: there is
 * nothing to end.
 */
#ifndef TR_SCHEMAS_CODEC_REGISTRY_H
#define TR_SCHEMAS_CODEC_REGISTRY_H

#include "schemas/codec/field.h"

/* Schemas of one program: each takes two pointers of the registry. */
#define TR_SCHEMAS_MAX 512

/* The longest name of a schema or a field: it becomes part of C names and of a table's. */
#define TR_SCHEMA_NAME_BYTES_MAX 63

/* A buffer that is enough for any explanation of a refusal. */
#define TR_REGISTRY_EXPLAIN_BYTES 256

/* The schemas of one definition list. */
struct tr_schema_list {
    const struct tr_schema *const *schemas;
    size_t count;
};

struct tr_registry {
    size_t count;
    const struct tr_schema *by_id[TR_SCHEMAS_MAX];   /* by role, then id */
    const struct tr_schema *by_name[TR_SCHEMAS_MAX]; /* by name, over all roles */
};

/*
 * Makes a registry of all schemas in the lists, in the caller's memory. Errors: TR_INVALID (a
 * schema that makes no sense), TR_EXISTS (an id given twice in a role, or a name given twice at
 * all), TR_LIMIT (too many). Then the registry is empty and `explain` (TR_REGISTRY_EXPLAIN_BYTES)
 * says which schema and field, what is wrong and what to do; it is untouched otherwise.
 */
TR_MUST_USE int tr_registry_init(struct tr_registry *registry, const struct tr_schema_list *lists,
                                 size_t list_count, char *explain);

/* The schema with this id in this role; NULL if there is none. */
const struct tr_schema *tr_registry_find(const struct tr_registry *registry, unsigned role,
                                         uint16_t id);

/* The schema of this name; NULL if there is none. */
const struct tr_schema *tr_registry_find_name(const struct tr_registry *registry,
                                              struct tr_text name);

/* Whether one schema makes sense; if not (TR_INVALID), `explain` says why not, as above. */
TR_MUST_USE int tr_schema_check(const struct tr_schema *schema, char *explain);

#endif
