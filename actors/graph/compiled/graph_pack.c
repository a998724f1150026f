/*
 * The packed form of a graph: msgpack arrays of its fields in their order. Each struct has one
 * function that names its fields, and that function both writes and reads. So what is written is
 * what is read, and a field cannot be left out on one side.
 *
 * The SHA-256 of these bytes is the graph's name. That holds because the form is canonical: fields
 * in a fixed order, numbers in msgpack's shortest form, nothing of memory in it. The number of a
 * struct's fields is written before them, so another version's form is malformed and never taken
 * for this one.
 *
 * What is packed comes in the order in which reading needs it: types before what has a type, since
 * a type is resolved by its number when it is read; tasks before workflows, since a node without
 * settings of its own takes those of its task.
 *
 * While reading, nothing is trusted: counts are checked against the bytes that are left, kinds
 * against their last; what indexes mean is checked behind it (graph_unpack.c). After the first
 * error of the cursor all reads give zeros, so functions go on without asking.
 */
#include "actors/graph/compiled/transfer.h"

typedef void move_function(struct tri_transfer *transfer, void *item);

static bool is_reading(const struct tri_transfer *transfer)
{
    return transfer->buffer == NULL;
}

/*
 * Keeps the first error of reading. A graph in memory has none of these faults, so writing does not
 * come here.
 */
static void fail(struct tri_transfer *transfer, int error)
{
    tr_cursor_fail(&transfer->cursor, error);
}

/* Begins a struct of so many fields. */
static void begin(struct tri_transfer *transfer, uint32_t fields)
{
    if (!is_reading(transfer)) {
        tr_buffer_array(transfer->buffer, fields);
    } else if (tr_read_array(&transfer->cursor) != fields) {
        fail(transfer, TR_MALFORMED);
    }
}

/* The same of a struct whose last field is left out where it is empty: whether it is there. */
static bool begin_open(struct tri_transfer *transfer, uint32_t fields, bool has_last)
{
    if (!is_reading(transfer)) {
        tr_buffer_array(transfer->buffer, fields - (has_last ? 0 : 1));
        return has_last;
    }
    uint32_t found = tr_read_array(&transfer->cursor);
    if (found != fields && found != fields - 1) {
        fail(transfer, TR_MALFORMED);
    }
    return found == fields;
}

/*
 * The two directions of each field: into the value while reading, out of it while writing. Writing
 * leaves every byte of the graph alone, since others may read it at the same time.
 */
static void move_u64(struct tri_transfer *transfer, uint64_t *value)
{
    if (is_reading(transfer)) {
        *value = tr_read_u64(&transfer->cursor);
    } else {
        tr_buffer_u64(transfer->buffer, *value);
    }
}

/*
 * A number that is at most `most`, or the bytes are malformed and the number is 0, so that what is
 * done with it before the error is seen stays in its range.
 */
static void move_bounded(struct tri_transfer *transfer, uint64_t *value, uint64_t most)
{
    move_u64(transfer, value);
    if (*value > most) {
        fail(transfer, TR_MALFORMED);
        *value = 0;
    }
}

static void move_u32(struct tri_transfer *transfer, uint32_t *value)
{
    uint64_t wide = *value;
    move_bounded(transfer, &wide, UINT32_MAX);
    if (is_reading(transfer)) {
        *value = (uint32_t)wide;
    }
}

static void move_u16(struct tri_transfer *transfer, uint16_t *value)
{
    uint64_t wide = *value;
    move_bounded(transfer, &wide, UINT16_MAX);
    if (is_reading(transfer)) {
        *value = (uint16_t)wide;
    }
}

/* A kind: what is greater than the last one is malformed. */
static void move_kind(struct tri_transfer *transfer, uint8_t *value, uint8_t most)
{
    uint64_t wide = *value;
    move_bounded(transfer, &wide, most);
    if (is_reading(transfer)) {
        *value = (uint8_t)wide;
    }
}

/* A position, or none, which is written as nil. */
static void move_index(struct tri_transfer *transfer, uint32_t *value)
{
    if (is_reading(transfer)) {
        *value = tr_read_nil(&transfer->cursor) ? TR_GRAPH_NONE : tr_read_u32(&transfer->cursor);
    } else if (*value == TR_GRAPH_NONE) {
        tr_buffer_nil(transfer->buffer);
    } else {
        tr_buffer_u64(transfer->buffer, *value);
    }
}

/* A duration, which is never negative: of a negative one the unsigned form is above the bound. */
static void move_ns(struct tri_transfer *transfer, int64_t *value)
{
    uint64_t wide = (uint64_t)*value;
    move_bounded(transfer, &wide, INT64_MAX);
    if (is_reading(transfer)) {
        *value = (int64_t)wide;
    }
}

static void move_f64(struct tri_transfer *transfer, double *value)
{
    if (is_reading(transfer)) {
        *value = tr_read_f64(&transfer->cursor);
    } else {
        tr_buffer_f64(transfer->buffer, *value);
    }
}

static void move_bool(struct tri_transfer *transfer, bool *value)
{
    if (is_reading(transfer)) {
        *value = tr_read_bool(&transfer->cursor);
    } else {
        tr_buffer_bool(transfer->buffer, *value);
    }
}

/* A copy in the graph's arena: the bytes that are read end before the graph does. */
static void move_text(struct tri_transfer *transfer, struct tr_text *value)
{
    if (is_reading(transfer)) {
        *value = tr_arena_text(transfer->arena, tr_read_text(&transfer->cursor));
    } else {
        tr_buffer_text_value(transfer->buffer, *value);
    }
}

static void move_bytes(struct tri_transfer *transfer, struct tr_bytes *value)
{
    if (is_reading(transfer)) {
        *value = tr_arena_bytes(transfer->arena, tr_read_bytes(&transfer->cursor));
    } else {
        tr_buffer_bytes_value(transfer->buffer, *value);
    }
}

/*
 * A type by its number in the graph's table; nil where it is known at run time only. The table is
 * complete here, but while a type of it is read (read_type) it holds only the types before, so a
 * type cannot hold itself.
 */
static void move_type(struct tri_transfer *transfer, const struct tr_type **type)
{
    uint32_t index = is_reading(transfer) || *type == NULL ? TR_GRAPH_NONE : (*type)->index;
    move_index(transfer, &index);
    if (!is_reading(transfer)) {
        return;
    }
    *type = NULL;
    if (index != TR_GRAPH_NONE && index < transfer->types.count) {
        *type = transfer->types.items[index];
    } else if (index != TR_GRAPH_NONE) {
        fail(transfer, TR_MALFORMED);
    }
}

/*
 * An array of structs. While reading, its memory is taken only after the bytes that are left could
 * hold so many elements of `fields` fields each, every field and the array around them being at
 * least one byte. So a count of four billion in a short message costs nothing, and memory stays
 * within a small factor of the bytes. Gives the array that was read; NULL while writing.
 */
static void *move_items(struct tri_transfer *transfer, const void *items, uint32_t *count,
                        size_t size, uint32_t fields, move_function *move)
{
    void *copy = NULL;
    if (is_reading(transfer)) {
        *count = tr_read_array(&transfer->cursor);
        if (*count > tr_cursor_left(&transfer->cursor) / (fields + 1)) {
            fail(transfer, TR_MALFORMED);
            *count = 0;
        }
        copy = tr_arena_array(transfer->arena, *count, size);
        *count = copy == NULL ? 0 : *count;
    } else {
        tr_buffer_array(transfer->buffer, *count);
    }
    for (uint32_t i = 0; i < *count && transfer->cursor.error == 0; i++) {
        /* Writing changes nothing, so this may be said of a const graph. */
        uintptr_t base = copy != NULL ? (uintptr_t)copy : (uintptr_t)items;
        move(transfer, (void *)(base + i * size));
    }
    return copy;
}

/* Moves an array that a struct holds as a pointer and a count. */
#define MOVE_ITEMS(transfer, pointer, count, fields, move)                                   \
    do {                                                                                     \
        void *read_items_ =                                                                  \
            move_items((transfer), (pointer), (count), sizeof *(pointer), (fields), (move)); \
        if (is_reading(transfer)) {                                                          \
            (pointer) = read_items_;                                                         \
        }                                                                                    \
    } while (false)

static void move_number_item(struct tri_transfer *transfer, void *item)
{
    move_u32(transfer, item);
}

static void move_text_item(struct tri_transfer *transfer, void *item)
{
    move_text(transfer, item);
}

static void move_variable(struct tri_transfer *transfer, void *item)
{
    struct tr_variable *variable = item;
    begin(transfer, 5);
    move_text(transfer, &variable->name);
    move_text(transfer, &variable->description);
    move_type(transfer, &variable->type);
    move_bool(transfer, &variable->has_default);
    move_bytes(transfer, &variable->default_value);
}

/* Variables, and the index of their names, which is not packed but made again. */
static void move_variables(struct tri_transfer *transfer, struct tr_variables *variables)
{
    MOVE_ITEMS(transfer, variables->items, &variables->count, 5, move_variable);
    if (is_reading(transfer)) {
        variables->by_name =
            tri_variables_sort(transfer->arena, variables->items, variables->count);
        variables->count = variables->by_name == NULL ? 0 : variables->count;
    }
}

static void move_environment(struct tri_transfer *transfer, void *item)
{
    struct tr_environment *environment = item;
    begin(transfer, 3);
    move_text(transfer, &environment->name);
    move_text(transfer, &environment->value);
    move_bool(transfer, &environment->is_passed_on);
}

static void move_secret(struct tri_transfer *transfer, void *item)
{
    struct tr_secret *secret = item;
    begin(transfer, 5);
    move_text(transfer, &secret->name);
    move_text(transfer, &secret->group);
    move_text(transfer, &secret->key);
    move_text(transfer, &secret->version);
    move_bool(transfer, &secret->is_file);
}

/*
 * All of a task's settings, also of a node that overrides some: they are merged when they are
 * compiled.
 */
static void move_settings(struct tri_transfer *transfer, struct tr_settings *settings)
{
    begin(transfer, 29);
    move_u32(transfer, &settings->retries);
    MOVE_ITEMS(transfer, settings->retry_on, &settings->retry_on_count, 0, move_text_item);
    MOVE_ITEMS(transfer, settings->never_retry_on, &settings->never_retry_on_count, 0,
               move_text_item);
    move_ns(transfer, &settings->backoff.first_ns);
    move_ns(transfer, &settings->backoff.max_ns);
    move_f64(transfer, &settings->backoff.factor);
    move_ns(transfer, &settings->timeout_ns);
    move_ns(transfer, &settings->grace_ns);
    move_text(transfer, &settings->cache.version);
    move_bool(transfer, &settings->cache.is_serialized);
    MOVE_ITEMS(transfer, settings->cache.ignored, &settings->cache.ignored_count, 0,
               move_number_item);
    move_bool(transfer, &settings->is_interruptible);
    move_u64(transfer, &settings->resources.cpu_millis);
    move_u64(transfer, &settings->resources.memory_bytes);
    move_u64(transfer, &settings->resources.gpu_count);
    move_u64(transfer, &settings->resources.storage_bytes);
    move_u64(transfer, &settings->resources.ephemeral_storage_bytes);
    move_index(transfer, &settings->pool);
    MOVE_ITEMS(transfer, settings->environment, &settings->environment_count, 3, move_environment);
    MOVE_ITEMS(transfer, settings->secrets, &settings->secret_count, 5, move_secret);
    move_bytes(transfer, &settings->config);
    move_kind(transfer, &settings->software.kind, TR_SOFTWARE_KIND_LAST);
    move_text(transfer, &settings->software.file);
    MOVE_ITEMS(transfer, settings->software.requirements, &settings->software.requirement_count, 0,
               move_text_item);
    move_text(transfer, &settings->software.python);
    move_text(transfer, &settings->software.image);
    move_text(transfer, &settings->software.runtime);
    MOVE_ITEMS(transfer, settings->software.mounts, &settings->software.mount_count, 0,
               move_text_item);
    move_text(transfer, &settings->cache.signature);
}

static void move_task(struct tri_transfer *transfer, void *item)
{
    struct tr_task *task = item;
    bool has_extra = begin_open(transfer, 11, task->extra.size > 0);
    move_text(transfer, &task->name);
    move_text(transfer, &task->description);
    move_text(transfer, &task->type);
    move_text(transfer, &task->folder);
    MOVE_ITEMS(transfer, task->argv, &task->argc, 0, move_text_item);
    move_bool(transfer, &task->is_stdin_inputs);
    move_bool(transfer, &task->is_stdout_outputs);
    move_variables(transfer, &task->interface.inputs);
    move_variables(transfer, &task->interface.outputs);
    move_settings(transfer, &task->settings);
    if (has_extra) {
        move_bytes(transfer, &task->extra);
        if (task->extra.size == 0) {
            fail(transfer, TR_MALFORMED); /* it would be left out */
        }
    }
}

static void move_step(struct tri_transfer *transfer, void *item)
{
    struct tr_step *step = item;
    begin(transfer, 3);
    move_bool(transfer, &step->is_index);
    move_u32(transfer, &step->index);
    move_text(transfer, &step->field);
}

static void move_binding(struct tri_transfer *transfer, void *item)
{
    struct tr_binding *binding = item;
    begin(transfer, 10);
    move_kind(transfer, &binding->kind, TR_BINDING_TEXT);
    move_bool(transfer, &binding->is_mapped);
    move_text(transfer, &binding->key);
    move_type(transfer, &binding->type);
    move_type(transfer, &binding->source);
    move_bytes(transfer, &binding->literal);
    move_u32(transfer, &binding->node);
    move_u32(transfer, &binding->output);
    move_u32(transfer, &binding->first);
    move_u32(transfer, &binding->count);
}

static void move_condition(struct tri_transfer *transfer, void *item)
{
    struct tr_condition *condition = item;
    begin(transfer, 6);
    move_kind(transfer, &condition->kind, TR_CONDITION_LITERAL);
    move_u32(transfer, &condition->left);
    move_u32(transfer, &condition->right);
    move_u32(transfer, &condition->input);
    move_type(transfer, &condition->type);
    move_bytes(transfer, &condition->literal);
}

static void move_arm(struct tri_transfer *transfer, void *item)
{
    struct tr_arm *arm = item;
    begin(transfer, 7);
    move_kind(transfer, &arm->kind, TR_ARM_FAIL);
    move_index(transfer, &arm->condition);
    move_u32(transfer, &arm->condition_first);
    move_index(transfer, &arm->node);
    move_text(transfer, &arm->message);
    move_index(transfer, &arm->message_input);
    MOVE_ITEMS(transfer, arm->outputs, &arm->output_count, 0, move_number_item);
}

/*
 * A node's settings: nil for those of its task, or where it has none. The same pointer says that
 * they are the task's (compile_node.c sets it), and reading makes the same pointer again; so
 * packing what was unpacked gives the same bytes. The target is read before, which is why the field
 * stands behind it.
 */
static void move_node_settings(struct tri_transfer *transfer, struct tr_node *node)
{
    const struct tr_graph *graph = transfer->graph;
    bool has_task = node->target_kind == TR_TARGET_TASK && node->target < graph->task_count;
    const struct tr_settings *own = has_task ? &graph->tasks[node->target].settings : NULL;
    if (!is_reading(transfer)) {
        if (node->settings == own || node->settings == NULL) {
            tr_buffer_nil(transfer->buffer);
        } else {
            struct tr_settings settings = *node->settings;
            move_settings(transfer, &settings);
        }
        return;
    }
    if (tr_read_nil(&transfer->cursor)) {
        node->settings = own;
        return;
    }
    struct tr_settings *settings = tr_arena_alloc(transfer->arena, sizeof *settings);
    if (settings != NULL) {
        move_settings(transfer, settings);
    }
    node->settings = settings;
}

/* A new field of a node comes at the end, with the number of begin and of MOVE_ITEMS. */
static void move_node(struct tri_transfer *transfer, void *item)
{
    struct tr_node *node = item;
    begin(transfer, 28);
    move_text(transfer, &node->id);
    move_text(transfer, &node->name);
    move_kind(transfer, &node->kind, TR_NODE_SLEEP);
    move_kind(transfer, &node->target_kind, TR_TARGET_PLAN);
    move_kind(transfer, &node->role, TR_ROLE_FINALLY);
    move_bool(transfer, &node->is_optional);
    move_index(transfer, &node->target);
    move_index(transfer, &node->parent);
    move_u32(transfer, &node->input_first);
    move_u32(transfer, &node->input_count);
    move_variables(transfer, &node->outputs);
    move_u32(transfer, &node->upstream_first);
    move_u32(transfer, &node->upstream_count);
    move_u32(transfer, &node->downstream_first);
    move_u32(transfer, &node->downstream_count);
    move_node_settings(transfer, node);
    move_ns(transfer, &node->deadline_ns);
    move_u32(transfer, &node->parallelism);
    move_u32(transfer, &node->min_successes);
    move_f64(transfer, &node->min_success_ratio);
    move_index(transfer, &node->errors_output);
    move_u32(transfer, &node->arm_first);
    move_u32(transfer, &node->arm_count);
    move_text(transfer, &node->signal_id);
    move_type(transfer, &node->signal_type);
    move_ns(transfer, &node->sleep_ns);
    move_bool(transfer, &node->runs_all);
    move_bytes(transfer, &node->extra);
}

static void move_notification(struct tri_transfer *transfer, void *item)
{
    struct tr_notification *notification = item;
    begin(transfer, 9);
    move_u32(transfer, &notification->phases);
    move_kind(transfer, &notification->kind, TR_NOTIFY_BY_MAIL);
    move_bytes(transfer, &notification->target);
    move_text(transfer, &notification->folder);
    move_u32(transfer, &notification->retries);
    move_ns(transfer, &notification->backoff.first_ns);
    move_ns(transfer, &notification->backoff.max_ns);
    move_f64(transfer, &notification->backoff.factor);
    move_ns(transfer, &notification->timeout_ns);
}

static void move_workflow(struct tri_transfer *transfer, void *item)
{
    struct tr_workflow *workflow = item;
    bool has_extra = begin_open(transfer, 23, workflow->extra.size > 0);
    move_text(transfer, &workflow->name);
    move_text(transfer, &workflow->description);
    move_text(transfer, &workflow->folder);
    move_variables(transfer, &workflow->interface.inputs);
    move_variables(transfer, &workflow->interface.outputs);
    MOVE_ITEMS(transfer, workflow->nodes, &workflow->node_count, 28, move_node);
    move_u32(transfer, &workflow->end);
    MOVE_ITEMS(transfer, workflow->order, &workflow->order_count, 0, move_number_item);
    MOVE_ITEMS(transfer, workflow->upstream, &workflow->upstream_count, 0, move_number_item);
    MOVE_ITEMS(transfer, workflow->downstream, &workflow->downstream_count, 0, move_number_item);
    MOVE_ITEMS(transfer, workflow->bindings, &workflow->binding_count, 10, move_binding);
    MOVE_ITEMS(transfer, workflow->steps, &workflow->step_count, 3, move_step);
    MOVE_ITEMS(transfer, workflow->arms, &workflow->arm_count, 7, move_arm);
    MOVE_ITEMS(transfer, workflow->conditions, &workflow->condition_count, 6, move_condition);
    move_index(transfer, &workflow->on_failure);
    move_index(transfer, &workflow->finally);
    move_kind(transfer, &workflow->policy, TR_POLICY_FINISH_RUNNABLE);
    move_u32(transfer, &workflow->max_parallelism);
    move_ns(transfer, &workflow->timeout_ns);
    move_u32(transfer, &workflow->nesting);
    move_text(transfer, &workflow->labels);
    MOVE_ITEMS(transfer, workflow->notifications, &workflow->notification_count, 9,
               move_notification);
    if (has_extra) {
        move_bytes(transfer, &workflow->extra);
        if (workflow->extra.size == 0) {
            fail(transfer, TR_MALFORMED);
        }
    }
}

static void move_plan_value(struct tri_transfer *transfer, void *item)
{
    struct tr_plan_value *value = item;
    begin(transfer, 3);
    move_u32(transfer, &value->input);
    move_bool(transfer, &value->is_fixed);
    move_bytes(transfer, &value->value);
}

/* Of a schedule; one with an offset has a field more. */
#define SCHEDULE_FIELDS 14U

static void move_schedule(struct tri_transfer *transfer, struct tr_schedule *schedule)
{
    uint8_t weekdays = schedule->cron.weekdays;
    uint32_t fields = SCHEDULE_FIELDS + (schedule->offset_ns != 0 ? 1 : 0);
    if (!is_reading(transfer)) {
        tr_buffer_array(transfer->buffer, fields);
    } else {
        fields = tr_read_array(&transfer->cursor);
    }
    if (fields != SCHEDULE_FIELDS && fields != SCHEDULE_FIELDS + 1) {
        fail(transfer, TR_MALFORMED);
    }
    move_bool(transfer, &schedule->is_set);
    move_ns(transfer, &schedule->every_ns);
    move_u64(transfer, &schedule->cron.minutes);
    move_u32(transfer, &schedule->cron.hours);
    move_u32(transfer, &schedule->cron.days);
    move_u16(transfer, &schedule->cron.months);
    move_kind(transfer, &weekdays, 0x7f);
    move_bool(transfer, &schedule->cron.is_any_day);
    move_bool(transfer, &schedule->cron.is_any_weekday);
    move_text(transfer, &schedule->cron_text);
    move_text(transfer, &schedule->timezone);
    move_kind(transfer, &schedule->catch_up, TR_CATCH_UP_NONE);
    move_kind(transfer, &schedule->overlap, TR_OVERLAP_REPLACE);
    move_index(transfer, &schedule->kickoff_input);
    if (fields > SCHEDULE_FIELDS) {
        move_ns(transfer, &schedule->offset_ns);
    }
    if (is_reading(transfer)) {
        schedule->cron.weekdays = weekdays;
    }
}

static bool says_something(const struct tr_plan *plan)
{
    const struct tr_run_settings *run = &plan->run;
    return plan->extra.size > 0 || run->environment_count > 0 || run->raw_output_prefix.size > 0 ||
           run->interruptible != TR_CHOICE_OPEN || run->refreshes_cache ||
           run->max_parallelism > 0 || run->executions_max > 0;
}

static void move_run(struct tri_transfer *transfer, struct tr_plan *plan)
{
    struct tr_run_settings *run = &plan->run;
    begin(transfer, 7);
    MOVE_ITEMS(transfer, run->environment, &run->environment_count, 3, move_environment);
    move_text(transfer, &run->raw_output_prefix);
    move_kind(transfer, &run->interruptible, TR_CHOICE_YES);
    move_bool(transfer, &run->refreshes_cache);
    move_u32(transfer, &run->max_parallelism);
    move_u32(transfer, &run->executions_max);
    move_bytes(transfer, &plan->extra);
}

static void move_plan(struct tri_transfer *transfer, void *item)
{
    struct tr_plan *plan = item;
    bool has_run = begin_open(transfer, 9, !is_reading(transfer) && says_something(plan));
    move_text(transfer, &plan->name);
    move_text(transfer, &plan->description);
    move_u32(transfer, &plan->workflow);
    MOVE_ITEMS(transfer, plan->values, &plan->value_count, 3, move_plan_value);
    move_schedule(transfer, &plan->schedule);
    move_variables(transfer, &plan->inputs);
    move_text(transfer, &plan->labels);
    MOVE_ITEMS(transfer, plan->notifications, &plan->notification_count, 9, move_notification);
    if (has_run) {
        move_run(transfer, plan);
    }
    if (is_reading(transfer) && has_run && !says_something(plan)) {
        fail(transfer, TR_MALFORMED);
    }
}

static void move_pool(struct tri_transfer *transfer, void *item)
{
    struct tr_pool *pool = item;
    begin(transfer, 3);
    move_text(transfer, &pool->name);
    move_u32(transfer, &pool->at_once);
    move_f64(transfer, &pool->per_second);
}

/*
 * What a type does not have at the end of its fields is left out, as in graphs of older programs:
 * tag; and behind it schema and extra.
 */
#define TYPE_FIELDS 4
#define TAGGED_FIELDS 5
#define DESCRIBED_FIELDS 7

static void write_type(struct tri_transfer *transfer, const struct tr_type *type)
{
    struct tr_buffer *buffer = transfer->buffer;
    uint32_t part_count = type->parts == NULL ? 0 : type->count;
    uint32_t value_count = type->values == NULL ? 0 : type->count;
    bool is_described = type->schema.size > 0 || type->extra.size > 0;
    bool has_tag = is_described || type->tag.size > 0;
    tr_buffer_array(buffer, is_described ? DESCRIBED_FIELDS
                            : has_tag    ? TAGGED_FIELDS
                                         : TYPE_FIELDS);
    tr_buffer_u64(buffer, type->kind);
    tr_buffer_text_value(buffer, type->format);
    tr_buffer_array(buffer, part_count);
    for (uint32_t i = 0; i < part_count; i++) {
        tr_buffer_u64(buffer, type->parts[i]->index);
    }
    tr_buffer_array(buffer, value_count);
    for (uint32_t i = 0; i < value_count; i++) {
        tr_buffer_text_value(buffer, type->values[i]);
    }
    if (has_tag) {
        tr_buffer_text_value(buffer, type->tag);
    }
    if (is_described) {
        tr_buffer_text_value(buffer, type->schema);
        tr_buffer_text_value(buffer, type->extra);
    }
}

/*
 * Makes a type of what was read, by the functions that keep all its rules; NULL where it breaks
 * one. A union has to keep its count: one that is flattened or loses variants is not canonical.
 */
static const struct tr_type *make_type(struct tri_transfer *transfer, uint8_t kind,
                                       struct tr_text format, const struct tr_type *const *parts,
                                       uint32_t part_count, const struct tr_text *values,
                                       uint32_t value_count)
{
    struct tr_types *types = &transfer->types;
    bool has_format = kind == TR_TYPE_FILE || kind == TR_TYPE_DIRECTORY || kind == TR_TYPE_DATASET;
    if (kind == TR_TYPE_ENUM) {
        return tr_type_enum(types, values, value_count);
    }
    if (kind == TR_TYPE_LIST || kind == TR_TYPE_MAP) {
        const struct tr_type *element = part_count == 1 ? parts[0] : NULL;
        return kind == TR_TYPE_LIST ? tr_type_list(types, element) : tr_type_map(types, element);
    }
    if (kind == TR_TYPE_UNION) {
        const struct tr_type *type = tr_type_union(types, parts, part_count);
        return type != NULL && type->count == part_count ? type : NULL;
    }
    return has_format ? tr_type_format(types, (enum tr_type_kind)kind, format)
                      : tr_type_simple(types, (enum tr_type_kind)kind);
}

/*
 * Reads the type with number `index`. Types are interned, so one that equals an earlier type gets
 * that one's number and is refused: two numbers for one type would let equal types differ.
 */
static void read_type(struct tri_transfer *transfer, uint32_t index)
{
    uint8_t kind = 0;
    struct tr_text format = tr_text_of("");
    struct tr_type words = {.tag = tr_text_of("")};
    uint32_t fields = tr_read_array(&transfer->cursor);
    if (fields != TYPE_FIELDS && fields != TAGGED_FIELDS && fields != DESCRIBED_FIELDS) {
        fail(transfer, TR_MALFORMED);
    }
    move_kind(transfer, &kind, TR_TYPE_UNION);
    move_text(transfer, &format);
    uint32_t part_count = tr_read_array(&transfer->cursor);
    const struct tr_type **parts =
        tr_arena_array(transfer->arena, part_count, sizeof(struct tr_type *));
    for (uint32_t i = 0; parts != NULL && i < part_count; i++) {
        move_type(transfer, &parts[i]);
    }
    uint32_t value_count = tr_read_array(&transfer->cursor);
    struct tr_text *values = tr_arena_array(transfer->arena, value_count, sizeof *values);
    for (uint32_t i = 0; values != NULL && i < value_count; i++) {
        move_text(transfer, &values[i]);
    }
    if (fields >= TAGGED_FIELDS) {
        move_text(transfer, &words.tag);
    }
    if (fields == DESCRIBED_FIELDS) {
        move_text(transfer, &words.schema);
        move_text(transfer, &words.extra);
    }
    if (transfer->cursor.error != 0 || parts == NULL || values == NULL) {
        return;
    }
    const struct tr_type *type =
        make_type(transfer, kind, format, parts, part_count, values, value_count);
    if (fields > TYPE_FIELDS) {
        size_t said =
            fields == DESCRIBED_FIELDS ? words.schema.size + words.extra.size : words.tag.size;
        bool may_be = said > 0 && kind != TR_TYPE_UNION;
        type = may_be ? tr_type_described(&transfer->types, type, &words) : NULL;
    }
    if (type == NULL || type->index != index || type->kind != kind) {
        fail(transfer, TR_MALFORMED);
    }
}

static void move_types(struct tri_transfer *transfer, struct tr_graph *graph)
{
    uint32_t count = graph->type_count;
    if (!is_reading(transfer)) {
        tr_buffer_array(transfer->buffer, count);
        for (uint32_t i = 0; i < count; i++) {
            write_type(transfer, graph->types[i]);
        }
        return;
    }
    count = tr_read_array(&transfer->cursor);
    for (uint32_t i = 0; i < count && transfer->cursor.error == 0; i++) {
        read_type(transfer, i);
    }
    graph->types = transfer->types.items;
    graph->type_count = transfer->types.count;
}

void tri_transfer_graph(struct tri_transfer *transfer, struct tr_graph *graph)
{
    uint32_t version = TR_GRAPH_VERSION;
    transfer->graph = graph;
    begin(transfer, 9);
    move_u32(transfer, &version);
    if (version != TR_GRAPH_VERSION) {
        fail(transfer, TR_VERSION);
        return;
    }
    move_text(transfer, &graph->project);
    move_text(transfer, &graph->domain);
    move_index(transfer, &graph->main_workflow);
    move_types(transfer, graph);
    MOVE_ITEMS(transfer, graph->pools, &graph->pool_count, 3, move_pool);
    MOVE_ITEMS(transfer, graph->tasks, &graph->task_count, 10, move_task);
    MOVE_ITEMS(transfer, graph->workflows, &graph->workflow_count, 22, move_workflow);
    MOVE_ITEMS(transfer, graph->plans, &graph->plan_count, 8, move_plan);
}

int tr_graph_pack(const struct tr_graph *graph, struct tr_buffer *buffer)
{
    struct tri_transfer transfer = {.buffer = buffer};
    struct tr_graph copy = *graph;
    tri_transfer_graph(&transfer, &copy);
    return buffer->error;
}

int tr_graph_name(struct tr_graph *graph)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    int error = tr_graph_pack(graph, &buffer);
    if (error == 0) {
        tr_digest(tr_buffer_bytes(&buffer), graph->hash);
    }
    tr_buffer_fini(&buffer);
    return error;
}
