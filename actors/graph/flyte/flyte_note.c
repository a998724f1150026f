/*
 * What a package says and nobody acts on here. It is known and kept, and whoever looks at the
 * package is told of it once for each kind of thing, with the first entity that says it.
 *
 * Which fields these are is a table; messages are gone through by their descriptors.
 */
#include <flyteidl/admin_workflow.pb-c.h>

#include "actors/graph/flyte/flyte_entity.h"

struct note {
    const ProtobufCMessageDescriptor *message;
    const char *field;
    const char *words;
};

#define PLAN &flyteidl__admin__launch_plan_spec__descriptor
#define PLAN_MORE &flyteidl__admin__launch_plan_metadata__descriptor
#define WORKFLOW &flyteidl__core__workflow_metadata__descriptor
#define NODE &flyteidl__core__node_metadata__descriptor
#define OVERRIDES &flyteidl__core__task_node_overrides__descriptor
#define TASK &flyteidl__core__task_metadata__descriptor
#define CONTAINER &flyteidl__core__container__descriptor
#define SECURITY &flyteidl__core__security_context__descriptor
#define EXTENDED &flyteidl__core__extended_resources__descriptor

static const struct note notes[] = {
    {PLAN, "role", "a launch plan's role"},
    {PLAN, "annotations", "a launch plan's annotations"},
    {PLAN, "auth", "a launch plan's auth"},
    {PLAN, "auth_role", "a launch plan's auth role"},
    {PLAN, "security_context", "a launch plan's security context"},
    {PLAN, "quality_of_service", "a launch plan's quality of service"},
    {PLAN, "execution_env_assignments", "a launch plan's execution environments"},
    {PLAN, "cluster_assignment", "a launch plan's cluster assignment"},
    {PLAN_MORE, "notifications", "a launch plan's notifications"},
    {PLAN_MORE, "launch_conditions", "a launch plan's launch conditions"},
    {WORKFLOW, "quality_of_service", "a workflow's quality of service"},
    {WORKFLOW, "tags", "a workflow's tags"},
    {NODE, "config", "a node's config"},
    {OVERRIDES, "pod_template", "a node's pod template"},
    {CONTAINER, "ports", "a container's ports"},
    {CONTAINER, "architecture", "a container's architecture"},
    {SECURITY, "run_as", "an identity to run as"},
    {SECURITY, "tokens", "a security context's tokens"},
    {EXTENDED, "gpu_accelerator", "an accelerator's kind"},
    {EXTENDED, "shared_memory", "shared memory"},
    {TASK, "tags", "a task's tags"},
    {TASK, "pod_template_name", "a task's pod template"},
    {TASK, "metadata", "a task's labels and annotations"},
};

/* How many entities say each, and which one is the first. */
struct noting {
    const Flyteidl__Core__Identifier *entity;
    const Flyteidl__Core__Identifier *first[TR_COUNT_OF(notes)];
    uint32_t counts[TR_COUNT_OF(notes)];
    bool is_said[TR_COUNT_OF(notes)]; /* by the entity in hand */
};

static const ProtobufCMessage *message_at(const ProtobufCMessage *message,
                                          const ProtobufCFieldDescriptor *field, size_t index)
{
    const void *member = (const char *)message + field->offset;
    bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
    return is_list ? (*(ProtobufCMessage *const *const *)member)[index]
                   : *(ProtobufCMessage *const *)member;
}

/* How many values a field has; of a message that says nothing none. */
static size_t count_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const char *base = (const char *)message;
    const void *member = base + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return *(const size_t *)(const void *)(base + field->quantifier_offset);
    }
    bool is_oneof = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (is_oneof &&
        *(const uint32_t *)(const void *)(base + field->quantifier_offset) != field->id) {
        return 0;
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *inside = *(ProtobufCMessage *const *)member;
        return inside != NULL && protobuf_c_message_get_packed_size(inside) > 0 ? 1 : 0;
    }
    case PROTOBUF_C_TYPE_STRING:
        return (*(char *const *)member)[0] != '\0' ? 1 : 0;
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)member ? 1 : 0;
    default:
        return *(const int32_t *)member != 0 ? 1 : 0;
    }
}

static void note_field(struct noting *noting, const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field)
{
    for (size_t i = 0; i < TR_COUNT_OF(notes); i++) {
        if (notes[i].message == message->descriptor && strcmp(notes[i].field, field->name) == 0 &&
            !noting->is_said[i]) {
            noting->is_said[i] = true;
            noting->counts[i]++;
            noting->first[i] = noting->first[i] == NULL ? noting->entity : noting->first[i];
        }
    }
}

static bool has_notes(const ProtobufCMessageDescriptor *descriptor)
{
    for (size_t i = 0; i < TR_COUNT_OF(notes); i++) {
        if (notes[i].message == descriptor) {
            return true;
        }
    }
    return false;
}

/* The depth was bounded when the message was unpacked. */
static void go_through(struct noting *noting, const ProtobufCMessage *message)
{
    bool is_noted = has_notes(message->descriptor);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        bool has_messages = field->type == PROTOBUF_C_TYPE_MESSAGE;
        size_t count = has_messages || is_noted ? count_of(message, field) : 0;
        if (is_noted && count > 0) {
            note_field(noting, message, field);
        }
        for (size_t k = 0; has_messages && k < count; k++) {
            go_through(noting, message_at(message, field, k));
        }
    }
}

void tri_flyte_note_unused(const struct tri_vector *entities, struct tr_report *report)
{
    const struct tri_flyte_entity *items = entities->items;
    struct noting noting = {.entity = NULL};
    for (uint32_t i = 0; i < entities->count; i++) {
        noting.entity = items[i].id;
        memset(noting.is_said, 0, sizeof noting.is_said);
        go_through(&noting, items[i].message);
    }
    for (size_t i = 0; i < TR_COUNT_OF(notes); i++) {
        if (noting.counts[i] == 0) {
            continue;
        }
        struct tr_text before = tri_report_subject(report, tr_text_of(noting.first[i]->name));
        uint32_t others = noting.counts[i] - 1;
        if (others == 0) {
            tri_report_warn(report, (struct tri_place){0}, "%s is kept and not acted on here",
                            notes[i].words);
        } else {
            tri_report_warn(report, (struct tri_place){0},
                            "%s is kept and not acted on here\nso it is of %u more", notes[i].words,
                            others);
        }
        (void)tri_report_subject(report, before);
    }
}
