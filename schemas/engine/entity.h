/*
 * Entities of Flyte's that `troupe apply` keeps, and clients of Flyte's register: tasks, workflows
 * and launch plans, each a row under its id, which never changes. What refers to one by its id
 * finds it here. Beside them stand what people say of a name, projects, attributes, and who has
 * changed what.
 *
 *     the program        schedules
 *     entity_keep    ->
 *                    <-  entity_kept
 */
#ifndef TR_SCHEMAS_ENGINE_ENTITY_H
#define TR_SCHEMAS_ENGINE_ENTITY_H

#include "schemas/codec/field.h"

/* In the order of the numbers in the names of a package's files. */
#define TR_ENTITY_KINDS(K)     \
    K(NONE, 0, "?")            \
    K(TASK, 1, "task")         \
    K(WORKFLOW, 2, "workflow") \
    K(PLAN, 3, "launch plan")

enum tr_entity_kind {
#define TRI_ENTITY_KIND(name, number, word) TR_ENTITY_##name = (number),
    TR_ENTITY_KINDS(TRI_ENTITY_KIND)
#undef TRI_ENTITY_KIND
};

/* The word of a kind; "?" for what is none of them. */
const char *tr_entity_kind_word(uint8_t kind);

/* The largest entity that is kept. */
#define TR_ENTITY_BYTES_MAX (512U << 10)

/*
 * A row for each. `message` is a TaskTemplate, a WorkflowTemplate or a LaunchPlan of Flyte's, with
 * complete ids and maps in the order of their keys. `code` is the name of its package's code in the
 * store, or empty; the three behind it are variables of its tasks, which say where flytekit and the
 * modules are. `applied_ms` is when it was applied. `description` is a DescriptionEntity, or empty.
 * Of the launch plans of one name one at most `is_active`, which a change of that has
 * `updated_ms`.
 */
#define TR_ENTITY_FIELDS(FIELD, ARRAY)  \
    FIELD(text, project, 1, TR_ROW_KEY) \
    FIELD(text, domain, 1, TR_ROW_KEY)  \
    FIELD(u8, kind, 1, TR_ROW_KEY)      \
    FIELD(text, name, 1, TR_ROW_KEY)    \
    FIELD(text, version, 1, TR_ROW_KEY) \
    FIELD(bytes, message, 1, 0)         \
    FIELD(text, code, 1, 0)             \
    FIELD(text, path, 1, 0)             \
    FIELD(text, python_path, 1, 0)      \
    FIELD(text, warm, 1, 0)             \
    FIELD(u64, applied_ms, 1, 0)        \
    FIELD(bytes, description, 2, 0)     \
    FIELD(bool, is_active, 2, 0)        \
    FIELD(u64, updated_ms, 2, 0)

/* What people say of all versions of a name: `state` is a NamedEntityState of Flyte's. */
#define TR_ENTITY_NAME_FIELDS(FIELD, ARRAY) \
    FIELD(text, project, 1, TR_ROW_KEY)     \
    FIELD(text, domain, 1, TR_ROW_KEY)      \
    FIELD(u8, kind, 1, TR_ROW_KEY)          \
    FIELD(text, name, 1, TR_ROW_KEY)        \
    FIELD(text, description, 1, 0)          \
    FIELD(u8, state, 1, 0)                  \
    FIELD(u64, updated_ms, 1, 0)

/* A project that was registered: `message` is a Project of Flyte's, without its domains. */
#define TR_ENTITY_PROJECT_FIELDS(FIELD, ARRAY) \
    FIELD(text, id, 1, TR_ROW_KEY)             \
    FIELD(bytes, message, 1, 0)                \
    FIELD(u64, created_ms, 1, 0)

/*
 * What people say of all executions of a project, of a domain of it, or of a workflow there; what
 * does not narrow it is empty. `type` is a MatchableResource of Flyte's, `message` a
 * MatchingAttributes of it, or empty: it was deleted.
 */
#define TR_ENTITY_ATTRIBUTES_FIELDS(FIELD, ARRAY) \
    FIELD(u8, type, 1, TR_ROW_KEY)                \
    FIELD(text, project, 1, TR_ROW_KEY)           \
    FIELD(text, domain, 1, TR_ROW_KEY)            \
    FIELD(text, workflow, 1, TR_ROW_KEY)          \
    FIELD(bytes, message, 1, 0)                   \
    FIELD(u64, updated_ms, 1, 0)

/*
 * A change that a client has asked for, whatever it is about: `at_ms` is when, `number` tells it
 * from others of that moment, `who` is a client's id, an execution's address, or empty where nobody
 * says who he is. `call` is Flyte's name of the RPC, `subject` what it changes in the project and
 * the domain. `outcome` is why it was refused by the engine, or empty. The row of what is kept here
 * is committed with it; that of an execution before its client is answered.
 */
#define TR_AUDIT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, at_ms, 1, TR_ROW_KEY)  \
    FIELD(u64, number, 1, TR_ROW_KEY) \
    FIELD(text, who, 1, 0)            \
    FIELD(text, call, 1, 0)           \
    FIELD(text, project, 1, 0)        \
    FIELD(text, domain, 1, 0)         \
    FIELD(text, subject, 1, 0)        \
    FIELD(text, outcome, 1, 0)

/*
 * Keeps packed rows, or forgets that of the entity's id. `rows` is a list of numbers of records,
 * each with a row behind it, which are kept as well, all or none. `audit_forgotten` are rows of the
 * audit to be forgotten, a list in which `at_ms` and `number` alternate. Asked.
 */
#define TR_ENTITY_KEEP_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, entity, 1, 0)              \
    FIELD(bool, is_forgotten, 1, 0)         \
    FIELD(bytes, rows, 2, 0)                \
    FIELD(bytes, audit_forgotten, 3, 0)
#define TR_ENTITY_KEPT_FIELDS(FIELD, ARRAY) FIELD(i64, error, 1, 0)

#define TR_ENTITY_SCHEMAS(S)                                               \
    S(entity_keep, 458, TR_MESSAGE, 3, TR_DURABLE, TR_ENTITY_KEEP_FIELDS)  \
    S(entity_kept, 459, TR_MESSAGE, 1, TR_PRIORITY, TR_ENTITY_KEPT_FIELDS) \
    S(entity, 27, TR_RECORD, 2, 0, TR_ENTITY_FIELDS)                       \
    S(entity_name, 28, TR_RECORD, 1, 0, TR_ENTITY_NAME_FIELDS)             \
    S(entity_project, 29, TR_RECORD, 1, 0, TR_ENTITY_PROJECT_FIELDS)       \
    S(entity_attributes, 31, TR_RECORD, 1, 0, TR_ENTITY_ATTRIBUTES_FIELDS) \
    S(audit, 34, TR_RECORD, 1, 0, TR_AUDIT_FIELDS)

TR_ENTITY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
