/*
 * Who is told of an execution: its root fills in what the workflow and the launch plan say, and
 * hands it to the notifier (schemas/engine/notify.h) in the commit of the phase itself. So each is
 * told exactly where the phase is kept, and nothing waits for them.
 *
 * Of a gate that waits the root hears from the signals, which know whether it was answered at once.
 */
#include <string.h>

#include "actors/graph/document/labels.h"
#include "actors/store/task_name.h"
#include "actors/values/template_fill.h"
#include "actors/workflow/workflow.h"
#include "schemas/codec/utf8.h"
#include "schemas/engine/notify.h"

/* Gates of one execution that somebody is told of; behind them it is said that there are more. */
#define GATES_MAX 256U

/* Of what is filled in, and of its document: both have to fit into a message. */
#define FILLED_BYTES_MAX (256U << 10)

/* Of where it goes, as people see it. */
#define SHOWN_BYTES_MAX 512U

#define NS_PER_MS 1000000

/* The notifications of one execution: of its workflow, and behind them of its launch plan. */
struct all {
    const struct tr_notification *parts[2];
    uint32_t counts[2];
};

/* What one of them is filled in with, and the message that it becomes. */
struct telling {
    struct tri_flow *flow;
    uint8_t phase;       /* enum tr_notify_phase */
    struct tr_text path; /* of a gate */
    struct tr_text id;   /* that the gate waits for */
    struct tr_arena arena;
    struct tr_node_ended failure;
    bool is_failed;
    uint64_t ended_ms; /* 0: it has not */
    struct tr_text names[TR_NOTIFY_NAME_COUNT];
    char key[TR_TASK_NAME_BYTES_MAX + 1];
    struct tr_text problem;
};

static struct all all_of(const struct tri_flow *flow)
{
    uint32_t found = flow->start.plan.size == 0 ? TR_GRAPH_NONE
                                                : tr_graph_find_plan(flow->graph, flow->start.plan);
    const struct tr_plan *plan = found == TR_GRAPH_NONE ? NULL : &flow->graph->plans[found];
    return (struct all){
        .parts = {flow->workflow->notifications, plan == NULL ? NULL : plan->notifications},
        .counts = {flow->workflow->notification_count, plan == NULL ? 0 : plan->notification_count},
    };
}

/* Whether any of the workflow or of a plan of the graph is about the phase. */
static bool may_tell(const struct tri_flow *flow, uint8_t phase)
{
    const struct tr_graph *graph = flow->graph;
    uint32_t phases = 0;
    for (uint32_t i = 0; i < flow->workflow->notification_count; i++) {
        phases |= flow->workflow->notifications[i].phases;
    }
    for (uint32_t p = 0; p < graph->plan_count; p++) {
        bool is_of_it = &graph->workflows[graph->plans[p].workflow] == flow->workflow;
        for (uint32_t i = 0; is_of_it && i < graph->plans[p].notification_count; i++) {
            phases |= graph->plans[p].notifications[i].phases;
        }
    }
    return tri_workflow_is_root(flow) && (phases >> phase & 1) != 0 &&
           !tr_key_is_none(tr_engine_of(flow->context)->notifier.key);
}

bool tri_workflow_tells_of_gates(const struct tri_flow *flow)
{
    return may_tell(flow, TR_NOTIFY_WAITING) && flow->state->gates_told <= GATES_MAX;
}

/* ------------------------------------------------------------------ what is known */

static struct tr_text moment_of(struct telling *telling, uint64_t at_ms)
{
    struct tr_buffer buffer;
    struct tr_moment moment = {.seconds = (int64_t)(at_ms / 1000),
                               .nanoseconds = (uint32_t)(at_ms % 1000) * NS_PER_MS};
    if (at_ms == 0) {
        return tr_text_of("");
    }
    tr_buffer_init(&buffer, 0);
    tr_moment_print(moment, &buffer);
    struct tr_text text = tr_arena_text(&telling->arena, tr_buffer_text(&buffer));
    if (buffer.error != 0 && telling->arena.error == 0) {
        telling->arena.error = buffer.error;
    }
    tr_buffer_fini(&buffer);
    return text;
}

/* The path of the node that failed, with its element. */
static struct tr_text failed_node(struct telling *telling)
{
    const struct tr_node_ended *failure = &telling->failure;
    if (!telling->is_failed || failure->failed.size == 0) {
        return tr_text_of("");
    }
    return failure->failed_element == TR_ELEMENT_NONE
               ? failure->failed
               : tr_arena_print(&telling->arena, "%.*s[%llu]", TRI_TEXT(failure->failed),
                                (unsigned long long)failure->failed_element);
}

static void set_names(struct telling *telling)
{
    const struct tri_flow *flow = telling->flow;
    struct tr_text *names = telling->names;
    bool is_failed = telling->is_failed;
    for (size_t i = 0; i < TR_COUNT_OF(telling->names); i++) {
        names[i] = tr_text_of("");
    }
    names[TR_NOTIFY_NAME_EXECUTION_NAME] = tr_task_name_last(flow->start.execution);
    names[TR_NOTIFY_NAME_PROJECT] = flow->graph->project;
    names[TR_NOTIFY_NAME_DOMAIN] = flow->graph->domain;
    names[TR_NOTIFY_NAME_WORKFLOW] = flow->workflow->name;
    names[TR_NOTIFY_NAME_PLAN] = flow->start.plan;
    names[TR_NOTIFY_NAME_PHASE] = tr_text_of(tr_notify_phase_word(telling->phase));
    names[TR_NOTIFY_NAME_CAUSE] = flow->start.cause;
    names[TR_NOTIFY_NAME_ERROR] = is_failed ? telling->failure.message : tr_text_of("");
    names[TR_NOTIFY_NAME_ERROR_CODE] = is_failed ? telling->failure.code : tr_text_of("");
    names[TR_NOTIFY_NAME_ERROR_NODE] = failed_node(telling);
    names[TR_NOTIFY_NAME_GATE] = telling->path;
    names[TR_NOTIFY_NAME_LABELS] = flow->start.labels;
    names[TR_NOTIFY_NAME_STARTED_AT] = moment_of(telling, flow->state->begun_ms);
    names[TR_NOTIFY_NAME_ENDED_AT] = moment_of(telling, telling->ended_ms);
    names[TR_NOTIFY_NAME_KEY] = tr_text_of(telling->key);
}

/* What stands for a template; of a label that there is not nothing. */
static bool find_value(const void *self, struct tr_text name, struct tr_text *value)
{
    const struct telling *telling = self;
    enum tr_notify_name which;
    struct tr_text label;
    if (!tr_notify_name_find(name, &which, &label)) {
        return false;
    }
    *value = telling->names[which];
    if (label.size > 0 && !tr_labels_get(telling->names[which], label, value)) {
        *value = tr_text_of("");
    }
    return true;
}

/* ------------------------------------------------------------------- the document */

static void add_pair(struct tr_buffer *document, const char *key, struct tr_text value)
{
    tr_buffer_text_value(document, tr_text_of(key));
    if (value.size == 0) {
        tr_buffer_nil(document);
    } else {
        tr_buffer_text_value(document, value);
    }
}

static void add_labels(struct tr_buffer *document, struct tr_text labels)
{
    struct tr_text rest = labels;
    struct tr_label label;
    uint32_t count = 0;
    while (tr_labels_next(&rest, &label)) {
        count++;
    }
    rest = labels;
    tr_buffer_text_value(document, tr_text_of("labels"));
    tr_buffer_map(document, count);
    while (tr_labels_next(&rest, &label)) {
        tr_buffer_text_value(document, label.key);
        tr_buffer_text_value(document, label.value);
    }
}

static void add_error(struct telling *telling, struct tr_buffer *document)
{
    tr_buffer_text_value(document, tr_text_of("error"));
    if (!telling->is_failed) {
        tr_buffer_nil(document);
        return;
    }
    tr_buffer_map(document, 3);
    add_pair(document, "code", telling->names[TR_NOTIFY_NAME_ERROR_CODE]);
    add_pair(document, "message", telling->names[TR_NOTIFY_NAME_ERROR]);
    add_pair(document, "node", telling->names[TR_NOTIFY_NAME_ERROR_NODE]);
}

static void add_gate(const struct telling *telling, struct tr_buffer *document)
{
    tr_buffer_text_value(document, tr_text_of("gate"));
    if (telling->path.size == 0) {
        tr_buffer_nil(document);
        return;
    }
    tr_buffer_map(document, 2);
    add_pair(document, "node", telling->path);
    add_pair(document, "id", telling->id);
}

/* What is told, as examples/README.md has it. */
static void add_document(struct telling *telling, struct tr_buffer *document)
{
    static const struct {
        const char *key;
        enum tr_notify_name name;
    } pairs[] = {
        {"notification", TR_NOTIFY_NAME_KEY},
        {"phase", TR_NOTIFY_NAME_PHASE},
        {"name", TR_NOTIFY_NAME_EXECUTION_NAME},
        {"project", TR_NOTIFY_NAME_PROJECT},
        {"domain", TR_NOTIFY_NAME_DOMAIN},
        {"workflow", TR_NOTIFY_NAME_WORKFLOW},
        {"plan", TR_NOTIFY_NAME_PLAN},
        {"cause", TR_NOTIFY_NAME_CAUSE},
        {"started_at", TR_NOTIFY_NAME_STARTED_AT},
        {"ended_at", TR_NOTIFY_NAME_ENDED_AT},
    };
    tr_buffer_map(document, (uint32_t)TR_COUNT_OF(pairs) + 3);
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        add_pair(document, pairs[i].key, telling->names[pairs[i].name]);
    }
    add_labels(document, telling->names[TR_NOTIFY_NAME_LABELS]);
    add_error(telling, document);
    add_gate(telling, document);
}

/* -------------------------------------------------------------------- one of them */

/*
 * The identity: of the execution as attempts have theirs, and of the phase, the position and the
 * gate as a path that no node can have.
 */
static void set_key(struct telling *telling, uint32_t position)
{
    const struct tri_flow *flow = telling->flow;
    struct tr_text path =
        tr_arena_print(&telling->arena, "notify-%s-%u%s%.*s", tr_notify_phase_word(telling->phase),
                       position, telling->path.size > 0 ? "/" : "", TRI_TEXT(telling->path));
    const struct tr_task_name name = {.execution = flow->start.execution,
                                      .number = flow->start.number,
                                      .path = path,
                                      .element = TR_ELEMENT_NONE};
    tr_task_name(&name, telling->key);
}

/* What people see of where it goes: the URL, the command, the addresses. */
static struct tr_text shown_of(struct telling *telling, uint8_t kind, struct tr_bytes target)
{
    static const char *const keys[] = {
        [TR_NOTIFY_BY_HTTP] = "url", [TR_NOTIFY_BY_COMMAND] = "run", [TR_NOTIFY_BY_MAIL] = "to"};
    struct tr_cursor cursor = tr_cursor_of(target);
    struct tr_text shown = tr_text_of("");
    for (uint32_t left = tr_read_map(&cursor); left > 0 && cursor.error == 0; left--) {
        if (tr_text_equal(tr_read_text(&cursor), tr_text_of(keys[kind]))) {
            break;
        }
        (void)tr_read_any(&cursor);
    }
    uint32_t count = kind == TR_NOTIFY_BY_HTTP ? 1 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text part = tr_read_text(&cursor);
        shown = i == 0 ? part
                       : tr_arena_print(&telling->arena, "%.*s%s%.*s", TRI_TEXT(shown),
                                        kind == TR_NOTIFY_BY_MAIL ? ", " : " ", TRI_TEXT(part));
    }
    shown.size = tr_utf8_cut(shown, SHOWN_BYTES_MAX);
    return cursor.error != 0 ? tr_text_of("") : shown;
}

/* A word of a problem that ends it; a lack of memory is the handler's. */
static int note_problem(struct telling *telling, int error, const char *words)
{
    bool is_its_own = error == TR_INVALID || error == TR_LIMIT || error == TR_MALFORMED;
    if (is_its_own) {
        telling->problem = tr_arena_print(&telling->arena, "%s",
                                          words[0] != '\0' ? words : "it cannot be filled in");
    }
    return is_its_own ? 0 : error;
}

static int fill(struct telling *telling, const struct tr_notification *of, struct tr_buffer *target,
                struct tr_buffer *document)
{
    static const struct tr_variables none = {.count = 0};
    struct tr_template_problem problem = {.words = ""};
    struct tr_template_values values = {.inputs = &none, .find = find_value, .self = telling};
    add_document(telling, document);
    int error = note_problem(telling, document->error, "what it tells is larger than 256 KiB");
    if (error != 0) {
        return error;
    }
    error = tr_template_fill_value(&values, of->target, target, &problem);
    return note_problem(telling, error,
                        error == TR_LIMIT ? "filled in it is larger than 256 KiB" : problem.words);
}

/* In the commit of the phase: whoever sees the phase sees who is to be told of it. */
static int record(const struct telling *telling, const struct tr_notify *notify)
{
    bool is_hopeless = telling->problem.size > 0;
    uint64_t now_ms = notify->created_ms;
    struct tr_notification_row row = {
        .execution = notify->execution,
        .key = notify->key,
        .phase = notify->phase,
        .position = notify->position,
        .path = notify->path,
        .kind = notify->kind,
        .target = notify->shown,
        .status = is_hopeless ? TR_NOTIFICATION_GIVEN_UP : TR_NOTIFICATION_PENDING,
        .created_ms = now_ms,
        .ended_ms = is_hopeless ? now_ms : 0,
        .message = telling->problem,
    };
    return tr_record(telling->flow->context, &tr_notification_row_schema, &row);
}

static int tell(struct telling *telling, const struct tr_notification *of, uint32_t position)
{
    const struct tri_flow *flow = telling->flow;
    struct tr_buffer target;
    struct tr_buffer document;
    set_key(telling, position);
    set_names(telling);
    tr_buffer_init(&target, FILLED_BYTES_MAX);
    tr_buffer_init(&document, FILLED_BYTES_MAX);
    int error = telling->problem.size > 0 ? 0 : fill(telling, of, &target, &document);
    bool is_filled = telling->problem.size == 0;
    bool is_url = is_filled && of->kind == TR_NOTIFY_BY_HTTP;
    struct tr_notify notify = {
        .execution = flow->start.number,
        .address = flow->start.execution,
        .key = tr_text_of(telling->key),
        .phase = telling->phase,
        .position = position,
        .path = telling->path,
        .kind = of->kind,
        .shown = shown_of(telling, of->kind, is_url ? tr_buffer_bytes(&target) : of->target),
        .folder = of->folder,
        .retries = of->retries,
        .first_ms = (uint64_t)of->backoff.first_ns / NS_PER_MS,
        .wait_ms_max = (uint64_t)of->backoff.max_ns / NS_PER_MS,
        .factor = of->backoff.factor,
        .timeout_ms = ((uint64_t)of->timeout_ns + NS_PER_MS - 1) / NS_PER_MS,
        .created_ms = tr_now_ms(flow->context),
    };
    if (is_filled) {
        notify.target = tr_buffer_bytes(&target);
        notify.document = tr_buffer_bytes(&document);
    }
    error = error != 0 ? error : telling->arena.error;
    if (error == 0) {
        error = record(telling, &notify);
    }
    if (error == 0 && is_filled) {
        error = tr_tell(flow->context, tr_engine_of(flow->context)->notifier, &tr_notify_schema,
                        &notify);
    }
    tr_buffer_fini(&document);
    tr_buffer_fini(&target);
    return error;
}

/* ------------------------------------------------------------------- all of them */

static int tell_all(struct telling *telling)
{
    struct all all = all_of(telling->flow);
    uint32_t position = 0;
    int error = 0;
    struct tr_text problem = telling->problem;
    for (size_t part = 0; part < TR_COUNT_OF(all.parts); part++) {
        for (uint32_t i = 0; error == 0 && i < all.counts[part]; i++, position++) {
            const struct tr_notification *of = &all.parts[part][i];
            if ((of->phases >> telling->phase & 1) != 0) {
                telling->problem = problem;
                error = tell(telling, of, position);
            }
        }
    }
    return error;
}

static uint8_t phase_of(uint8_t outcome)
{
    return outcome == TR_EXECUTION_SUCCEEDED   ? TR_NOTIFY_SUCCEEDED
           : outcome == TR_EXECUTION_ABORTED   ? TR_NOTIFY_ABORTED
           : outcome == TR_EXECUTION_TIMED_OUT ? TR_NOTIFY_TIMED_OUT
                                               : TR_NOTIFY_FAILED;
}

int tri_workflow_notify_end(struct tri_flow *flow)
{
    struct telling telling = {.flow = flow, .phase = phase_of(flow->state->outcome)};
    struct tr_buffer under;
    struct tr_buffer words;
    if (!may_tell(flow, telling.phase)) {
        return 0;
    }
    telling.is_failed = flow->state->outcome != TR_EXECUTION_SUCCEEDED;
    telling.ended_ms = tr_now_ms(flow->context);
    tr_buffer_init(&under, 0);
    tr_buffer_init(&words, 0);
    tr_arena_init(&telling.arena);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tri_workflow_final_failure(flow, &under, &words, &telling.failure);
    }
    if (error == 0) {
        error = tell_all(&telling);
    }
    tr_arena_fini(&telling.arena);
    tr_buffer_fini(&words);
    tr_buffer_fini(&under);
    return error;
}

int tri_workflow_notify_gate(struct tri_flow *flow, struct tr_text path, struct tr_text id)
{
    struct telling telling = {.flow = flow, .phase = TR_NOTIFY_WAITING, .path = path, .id = id};
    if (!tri_workflow_tells_of_gates(flow)) {
        return 0;
    }
    if (flow->state->gates_told++ == GATES_MAX) {
        telling.problem = tr_text_of("256 gates of this execution were told of; this one and all "
                                     "behind it are not");
    }
    tr_arena_init(&telling.arena);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tell_all(&telling);
    }
    tr_arena_fini(&telling.arena);
    return error;
}
