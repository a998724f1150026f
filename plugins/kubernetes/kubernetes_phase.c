/*
 * What a pod's status means: Flyte's rules for pending, running, succeeded and failed, and beyond
 * them that init containers count everywhere, and that what befell a pod from outside is never the
 * user's failure. Tables, by the words of Kubernetes.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <signal.h>
#include <stdio.h>

#define WORDS_MAX 1000

/* A pod on its way to a report. */
struct view {
    struct tr_webapi_batch *batch;
    const struct tr_bytes *members;
    struct tr_webapi_report report;
};

static int text_of(const struct view *view, enum tri_kubernetes_member member, struct tr_text *text)
{
    return tr_scan_text(view->batch, view->members[member], text);
}

/* ----------------------------------------------------------------------------- conditions */

struct condition {
    struct tr_text type;
    struct tr_text status;
    struct tr_text reason;
    struct tr_text message;
};

/* The condition of a type; one that is not there is empty. */
static int find_condition(const struct view *view, const char *type, struct condition *found)
{
    static const char *const paths[] = {"/type", "/status", "/reason", "/message"};
    struct tr_scan_walk walk = tr_scan_walk(view->members[TRI_KUBERNETES_CONDITIONS]);
    *found = (struct condition){0};
    while (tr_scan_next(&walk)) {
        struct tr_bytes values[TR_COUNT_OF(paths)];
        struct condition each;
        struct tr_text *const texts[] = {&each.type, &each.status, &each.reason, &each.message};
        int error = tr_scan(walk.item, paths, TR_COUNT_OF(paths), values);
        for (size_t i = 0; error == 0 && i < TR_COUNT_OF(paths); i++) {
            error = tr_scan_text(view->batch, values[i], texts[i]);
        }
        if (error != 0) {
            return error;
        }
        if (tr_text_equal(each.type, tr_text_of(type))) {
            *found = each;
            return 0;
        }
    }
    return walk.error;
}

/* ----------------------------------------------------------------------------- containers */

/*
 * What the containers say: the first that waits for something, and the first that has failed. Where
 * the pod says which one is the task's, that one goes before all others that have failed.
 */
struct containers {
    struct tr_text waiting; /* its reason */
    struct tr_text waiting_message;
    struct tr_text name; /* of the one that has failed */
    struct tr_text reason;
    struct tr_text message;
    int64_t exit_status;
    bool has_failed;
    bool was_killed_for_memory;
    struct tr_text primary; /* the task's; empty: there is one alone, so all of them count */
    bool has_primary_ended;
    bool has_primary_failed;
    bool is_sending; /* its documents, by a helper that has not ended */
    bool has_not_sent;
    struct tr_text sender_message;
};

/* How a container has ended, by its name, reason, message and exit status; empty: it has not. */
static void take_end(struct containers *all, const struct tr_text *texts, struct tr_bytes status)
{
    int64_t exit_status = tr_scan_i64(status, 0);
    if (tr_text_equal(texts[0], tr_text_of(TR_POD_SENDER))) {
        all->is_sending = status.size == 0;
        all->has_not_sent = exit_status != 0;
        all->sender_message = texts[4];
        return;
    }
    bool is_out_of_memory = tr_text_equal(texts[3], tr_text_of("OOMKilled"));
    bool is_failed = exit_status != 0 || is_out_of_memory;
    bool is_primary = all->primary.size > 0 && tr_text_equal(texts[0], all->primary);
    all->was_killed_for_memory = all->was_killed_for_memory || is_out_of_memory;
    all->has_primary_ended = all->has_primary_ended || (is_primary && status.size > 0);
    all->has_primary_failed = all->has_primary_failed || (is_primary && is_failed);
    if (is_failed && (is_primary || !all->has_failed)) {
        all->has_failed = true;
        all->name = texts[0];
        all->reason = texts[3];
        all->message = texts[4];
        all->exit_status = exit_status;
    }
}

static int read_container(const struct view *view, struct tr_bytes item, struct containers *all)
{
    static const char *const paths[] = {"/name",
                                        "/state/waiting/reason",
                                        "/state/waiting/message",
                                        "/state/terminated/reason",
                                        "/state/terminated/message",
                                        "/state/terminated/exitCode"};
    struct tr_bytes values[TR_COUNT_OF(paths)];
    struct tr_text texts[TR_COUNT_OF(paths) - 1] = {0};
    int error = tr_scan(item, paths, TR_COUNT_OF(paths), values);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(texts); i++) {
        error = tr_scan_text(view->batch, values[i], &texts[i]);
    }
    if (error != 0) {
        return error;
    }
    if (all->waiting.size == 0 && texts[1].size > 0) {
        all->waiting = texts[1];
        all->waiting_message = texts[2];
    }
    take_end(all, texts, values[5]);
    return 0;
}

/* Init containers come first: what they wait for is what the pod waits for. */
static int read_containers(const struct view *view, struct containers *all)
{
    static const enum tri_kubernetes_member lists[] = {TRI_KUBERNETES_INIT_CONTAINERS,
                                                       TRI_KUBERNETES_CONTAINERS};
    *all = (struct containers){0};
    int error = text_of(view, TRI_KUBERNETES_CONTAINER, &all->primary);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(lists); i++) {
        struct tr_scan_walk walk = tr_scan_walk(view->members[lists[i]]);
        while (error == 0 && tr_scan_next(&walk)) {
            error = read_container(view, walk.item, all);
        }
        error = error == 0 ? walk.error : error;
    }
    return error;
}

/* --------------------------------------------------------------------------------- pending */

/* How long what may pass by itself may last, where the settings say nothing. */
#define IMAGE_GRACE_MS 180000
#define UNKNOWN_GRACE_MS 600000

#define FINE(reason)                                                   \
    {                                                                  \
        reason, reason, TR_TASK_PHASE_INITIALIZING, TR_FAILURE_NONE, 0 \
    }
#define AT_ONCE(reason)                                                     \
    {                                                                       \
        reason, reason, TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER, 0 \
    }

/*
 * What a container waits for, and what comes of it: nothing, or an end when its grace is over. An
 * image that cannot be pulled is tried again, and says both of its words in turn. The last row is
 * for all that is not known.
 */
static const struct wait {
    const char *reason;
    const char *code; /* NULL: the reason */
    uint8_t end;      /* enum tr_task_phase; INITIALIZING: none */
    uint8_t failure;
    uint32_t grace_ms;
} waits[] = {
    FINE("ContainerCreating"),
    FINE("PodInitializing"),
    {"ErrImagePull", "ImagePullBackOff", TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
     IMAGE_GRACE_MS},
    {"ImagePullBackOff", "ImagePullBackOff", TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER,
     IMAGE_GRACE_MS},
    {"CreateContainerError", "CreateContainerError", TR_TASK_PHASE_PERMANENT_FAILURE,
     TR_FAILURE_USER, IMAGE_GRACE_MS},
    AT_ONCE("CreateContainerConfigError"),
    AT_ONCE("InvalidImageName"),
    {"", NULL, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, UNKNOWN_GRACE_MS},
};

static const struct wait *find_wait(struct tr_text reason)
{
    size_t i = 0;
    while (i + 1 < TR_COUNT_OF(waits) && !tr_text_equal(reason, tr_text_of(waits[i].reason))) {
        i++;
    }
    return &waits[i];
}

static struct tr_text joined(const struct view *view, struct tr_text reason, struct tr_text message)
{
    return message.size == 0 ? reason
                             : tri_kubernetes_format(view->batch, "%.*s: %.*s", (int)reason.size,
                                                     reason.data, (int)message.size, message.data);
}

/* A pod that never begins does not end either: whatever fails it has to be removed then. */
static void on_waiting(struct view *view, const struct containers *all)
{
    const struct wait *wait = find_wait(all->waiting);
    struct tr_webapi_report *report = &view->report;
    report->phase = TR_TASK_PHASE_INITIALIZING;
    report->reason = joined(view, all->waiting, all->waiting_message);
    if (wait->end == TR_TASK_PHASE_INITIALIZING) {
        return;
    }
    report->failure = wait->failure;
    report->code = wait->code != NULL ? tr_text_of(wait->code) : all->waiting;
    report->message = report->reason;
    report->grace_ms = wait->grace_ms;
    report->grace_phase = wait->end;
    report->is_there = wait->grace_ms == 0;
    report->phase = wait->grace_ms == 0 ? wait->end : report->phase;
}

static int on_pending(struct view *view)
{
    struct condition scheduled;
    struct containers all = {0};
    struct tr_webapi_report *report = &view->report;
    int error = find_condition(view, "PodScheduled", &scheduled);
    if (error == 0) {
        error = read_containers(view, &all);
    }
    if (error != 0) {
        return error;
    }
    report->phase = TR_TASK_PHASE_QUEUED;
    report->reason = tr_text_of("waits for a node");
    if (tr_text_equal(scheduled.status, tr_text_of("False"))) {
        report->reason = joined(view, scheduled.reason, scheduled.message);
        return 0;
    }
    if (all.waiting.size == 0) {
        return 0;
    }
    on_waiting(view, &all);
    return 0;
}

/* ----------------------------------------------------------------------------------- ends */

/* What befell a pod from outside, by the reason of its status; a * stands for any end. */
static const char *const outside[] = {"Shutdown",     "Terminated", "NodeShutdown",
                                      "NodeAffinity", "NodeLost",   "Evicted",
                                      "Preempt*",     "OutOf*",     "UnexpectedAdmissionError"};

static bool is_like(struct tr_text text, const char *pattern)
{
    size_t size = strlen(pattern);
    bool is_begin = size > 0 && pattern[size - 1] == '*';
    size -= is_begin ? 1 : 0;
    return (is_begin ? text.size >= size : text.size == size) &&
           memcmp(text.data, pattern, size) == 0;
}

static bool is_from_outside(struct tr_text reason)
{
    for (size_t i = 0; reason.size > 0 && i < TR_COUNT_OF(outside); i++) {
        if (is_like(reason, outside[i])) {
            return true;
        }
    }
    return false;
}

static void fail(struct view *view, uint8_t failure, struct tr_text code, struct tr_text message)
{
    view->report.phase = TR_TASK_PHASE_RETRYABLE_FAILURE;
    view->report.failure = failure;
    view->report.code = code;
    view->report.message = message;
    view->report.message.size =
        message.size <= WORDS_MAX ? message.size : tr_utf8_cut(message, WORDS_MAX);
}

/* "container task: exit status 3, Error: the end of what it printed" */
static void fail_by_container(struct view *view, const struct containers *all)
{
    struct tr_text words = joined(view, all->reason, all->message);
    bool is_memory = all->has_primary_failed ? tr_text_equal(all->reason, tr_text_of("OOMKilled"))
                                             : all->was_killed_for_memory;
    struct tr_text code = is_memory ? tr_text_of("OOMKilled") : tr_text_of("ProcessFailed");
    bool is_signal = all->exit_status > 128 && all->exit_status < 192;
    view->report.exit_status = (uint32_t)all->exit_status;
    view->report.signal = (uint8_t)(is_signal ? all->exit_status - 128 : 0);
    fail(view, TR_FAILURE_USER, code,
         tri_kubernetes_format(view->batch, "container %.*s: exit status %lld, %.*s",
                               (int)all->name.size, all->name.data, (long long)all->exit_status,
                               (int)words.size, words.data));
}

/* The task has done its work, and what came of it is lost. */
static void fail_not_sent(struct view *view, const struct containers *all)
{
    fail(view, TR_FAILURE_SYSTEM, tr_text_of("StorageError"),
         joined(view, tr_text_of("container " TR_POD_SENDER " could not send the documents"),
                all->sender_message));
}

static void fail_deleted(struct view *view)
{
    fail(view, TR_FAILURE_SYSTEM, tr_text_of("ResourceDeletedExternally"),
         tr_text_of("somebody else has deleted it"));
}

static int on_failed(struct view *view)
{
    struct condition disrupted;
    struct containers all = {0};
    struct tr_text reason = {0};
    struct tr_text message = {0};
    int error = text_of(view, TRI_KUBERNETES_REASON, &reason);
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_MESSAGE, &message);
    }
    if (error == 0) {
        error = find_condition(view, "DisruptionTarget", &disrupted);
    }
    if (error == 0) {
        error = read_containers(view, &all);
    }
    if (error != 0) {
        return error;
    }
    bool is_disrupted = tr_text_equal(disrupted.status, tr_text_of("True"));
    bool is_deleted = !tr_scan_is_none(view->members[TRI_KUBERNETES_DELETION]);
    bool was_ended = all.exit_status == 128 + SIGTERM || all.exit_status == 128 + SIGKILL;
    if (is_disrupted || is_from_outside(reason)) {
        struct tr_text why = reason.size > 0 ? joined(view, reason, message)
                                             : joined(view, disrupted.reason, disrupted.message);
        fail(view, TR_FAILURE_SYSTEM, tr_text_of("Interrupted"), why);
    } else if (tr_text_equal(reason, tr_text_of("DeadlineExceeded"))) {
        fail(view, TR_FAILURE_SYSTEM, reason, message);
    } else if (is_deleted && was_ended && !all.was_killed_for_memory) {
        fail_deleted(view);
    } else if (all.has_primary_ended && !all.has_primary_failed) {
        view->report.phase = TR_TASK_PHASE_SUCCESS; /* one beside the task has failed */
    } else if (all.has_failed) {
        fail_by_container(view, &all);
    } else if (reason.size > 0) {
        fail(view, TR_FAILURE_USER, reason, joined(view, reason, message));
    } else {
        fail(view, TR_FAILURE_SYSTEM, tr_text_of("UnknownError"),
             tr_text_of("the pod has failed, and does not say why"));
    }
    return 0;
}

static int on_succeeded(struct view *view)
{
    struct containers all = {0};
    int error = read_containers(view, &all);
    view->report.phase = TR_TASK_PHASE_SUCCESS;
    bool is_task = all.primary.size == 0 || all.has_primary_failed;
    if (error == 0 && all.has_not_sent) {
        fail_not_sent(view, &all);
    } else if (error == 0 && all.was_killed_for_memory && is_task) {
        fail_by_container(view, &all);
    }
    return error;
}

/*
 * Running, and unknown, where its node does not answer. Where the task's container has others
 * beside it, its end is the pod's: they may run for ever, so the pod is removed then.
 */
static int on_running(struct view *view)
{
    struct containers all = {0};
    struct tr_text primary = {0};
    view->report.phase = TR_TASK_PHASE_RUNNING;
    int error = text_of(view, TRI_KUBERNETES_CONTAINER, &primary);
    if (error != 0 || primary.size == 0) {
        return error;
    }
    error = read_containers(view, &all);
    if (error != 0 || !all.has_primary_ended || all.is_sending) {
        return error;
    }
    view->report.is_there = true;
    view->report.phase = TR_TASK_PHASE_SUCCESS;
    if (all.has_primary_failed) {
        fail_by_container(view, &all);
    } else if (all.has_not_sent) {
        fail_not_sent(view, &all);
    }
    return 0;
}

static const struct {
    const char *phase;
    int (*read)(struct view *view);
} phases[] = {
    {"Pending", on_pending},     {"Running", on_running}, {"Unknown", on_running},
    {"Succeeded", on_succeeded}, {"Failed", on_failed},
};

static int read_phase(struct view *view)
{
    struct tr_text phase = {0};
    int error = text_of(view, TRI_KUBERNETES_PHASE, &phase);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(phases); i++) {
        if (tr_text_equal(phase, tr_text_of(phases[i].phase))) {
            return phases[i].read(view);
        }
    }
    return error; /* what is not known keeps the phase */
}

/* Whether it is in the namespace that it was made in. Only who sees all of them need ask. */
static int find_place(struct view *view, const struct tri_kubernetes_group *group, bool *is_there)
{
    struct tr_text namespace = {0};
    struct tr_text own = {0};
    *is_there = true;
    if (!tri_kubernetes_is_all(group->namespace)) {
        return 0;
    }
    int error = text_of(view, TRI_KUBERNETES_NAMESPACE, &namespace);
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_OWN_NAMESPACE, &own);
    }
    *is_there = error == 0 && namespace.size > 0 && tr_text_equal(namespace, own);
    return error;
}

/*
 * Whether it is a pod that this store has made, and not a copy of one under another name or in
 * another namespace.
 */
static int find_owner(struct view *view, bool *is_ours)
{
    struct tri_kubernetes_group group = {0};
    bool is_there = false;
    struct tr_text name = {0};
    struct tr_text own_name = {0};
    struct tr_text store = {0};
    int error = text_of(view, TRI_KUBERNETES_NAME, &name);
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_OWN_NAME, &own_name);
    }
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_STORE, &store);
    }
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_ATTEMPT, &view->report.identity);
    }
    *is_ours = error == 0 && name.size > 0 && tr_text_equal(name, own_name) &&
               view->report.identity.size > 0 &&
               tri_kubernetes_group_read(view->batch->job_set, &group) &&
               tr_text_equal(group.store, store);
    if (*is_ours) {
        error = find_place(view, &group, &is_there);
        *is_ours = is_there;
    }
    return error;
}

/*
 * Whether this store has made it by this endpoint: by its name, which others would have to guess.
 * What another store has made belongs to that one, though its task may go on here; and what is
 * being deleted goes by itself. Of a whole cluster nothing is: pods are deleted by namespace.
 */
static int find_maker(struct view *view)
{
    char store[TR_WEBAPI_JOB_SET_BYTES_MAX];
    char own[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    struct tri_kubernetes_group group;
    struct tr_text name = {0};
    struct tr_text endpoint = {0};
    int error = text_of(view, TRI_KUBERNETES_NAME, &name);
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_ENDPOINT, &endpoint);
    }
    if (error != 0 || !tri_kubernetes_group_read(view->batch->job_set, &group)) {
        return error;
    }
    (void)snprintf(store, sizeof store, "%016llx", (unsigned long long)view->batch->store);
    tri_kubernetes_name_in(&group, view->report.identity, own);
    view->report.is_own = tr_scan_is_none(view->members[TRI_KUBERNETES_DELETION]) &&
                          !tri_kubernetes_is_all(group.namespace) &&
                          tr_text_equal(group.store, tr_text_of(store)) &&
                          tr_text_equal(name, tr_text_of(own)) &&
                          tr_text_equal(endpoint, view->batch->endpoint->name);
    return 0;
}

/* Once it has a node: before that there is nothing to be read. */
static int add_link(struct view *view, struct tr_text uid)
{
    struct tri_kubernetes_link link = {.uid = uid, .node = view->report.place};
    if (view->report.place.size == 0 ||
        tr_json_get(view->batch->endpoint->config, "logs").size == 0) {
        return 0;
    }
    int error = text_of(view, TRI_KUBERNETES_NAME, &link.pod);
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_CONTAINER, &link.container);
    }
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_NAMESPACE, &link.namespace);
    }
    link.container = link.container.size > 0 ? link.container : tr_text_of(TR_POD_CONTAINER);
    view->report.log_uri = tri_kubernetes_link(view->batch, &link);
    return error;
}

/*
 * A pod that an operator has made for a job: how it ends is the operator's affair. What it waits
 * for may last for ever, of which many operators say nothing; then the job ends in its place.
 */
static int report_part(struct view *view, const struct tri_kubernetes_group *group, bool is_gone)
{
    struct tr_text store = {0};
    struct tr_text phase = {0};
    struct tr_webapi_report *report = &view->report;
    int error = text_of(view, TRI_KUBERNETES_STORE, &store);
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_ATTEMPT, &report->identity);
    }
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_NAME, &report->place);
    }
    if (error == 0) {
        error = text_of(view, TRI_KUBERNETES_PHASE, &phase);
    }
    if (error != 0 || report->identity.size == 0 || !tr_text_equal(store, group->store)) {
        return error;
    }
    bool is_pending = tr_text_equal(phase, tr_text_of("Pending"));
    error = is_pending ? read_phase(view) : 0;
    if (error == 0 && tr_phase_is_end(TR_SUBJECT_TASK, report->phase)) {
        report->grace_ms = 1; /* it will never begin */
        report->grace_phase = report->phase;
        report->reason = report->message;
    }
    if (error == 0 && report->grace_ms > 0) {
        struct tr_text words = report->message.size > 0 ? report->message : report->reason;
        report->reason =
            tri_kubernetes_format(view->batch, "pod %.*s: %.*s", (int)report->place.size,
                                  report->place.data, (int)words.size, words.data);
        report->message = report->reason;
    }
    report->phase = TR_TASK_PHASE_UNDEFINED;
    report->is_part = true;
    report->is_gone = is_gone;
    return error != 0 ? error : view->batch->api->report(view->batch, report);
}

/* Whether it stays though it is being deleted, and no node has anything to end. */
static int find_held(struct view *view, bool *is_held)
{
    struct tr_scan_walk walk = tr_scan_walk(view->members[TRI_KUBERNETES_FINALIZERS]);
    *is_held = false;
    while (view->report.place.size == 0 && tr_scan_next(&walk)) {
        struct tr_text name = {0};
        int error = tr_scan_text(view->batch, walk.item, &name);
        if (error != 0) {
            return error;
        }
        *is_held = *is_held || tr_text_equal(name, tr_text_of(TRI_KUBERNETES_FINALIZER));
    }
    return walk.error;
}

/* What a pod's status means, and where it runs; or that of a resource. */
static int read_any(struct view *view, const struct tri_kubernetes_group *group, struct tr_text uid)
{
    if (group->kind.size > 0) {
        return tri_kubernetes_read_resource(view->batch, group, view->members, &view->report);
    }
    int error = text_of(view, TRI_KUBERNETES_NODE, &view->report.place);
    if (error == 0) {
        error = add_link(view, uid);
    }
    return error != 0 ? error : read_phase(view);
}

int tri_kubernetes_report(struct tr_webapi_batch *batch, const struct tr_bytes *members,
                          bool is_gone)
{
    struct view view = {.batch = batch, .members = members};
    char room[TRI_KUBERNETES_UID_BYTES];
    struct tr_text uid = {0};
    struct tri_kubernetes_group group;
    bool is_ours;
    if (!tri_kubernetes_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    if (group.kind.size == 0 && !tr_scan_is_none(members[TRI_KUBERNETES_ROLE])) {
        return report_part(&view, &group, is_gone);
    }
    int error = find_owner(&view, &is_ours);
    if (error != 0 || !is_ours) {
        return error;
    }
    error = find_maker(&view);
    if (error == 0) {
        error = text_of(&view, TRI_KUBERNETES_UID, &uid);
    }
    if (error == 0) {
        error = read_any(&view, &group, uid);
    }
    if (error != 0) {
        return error;
    }
    view.report.handle = tri_kubernetes_handle(uid, room);
    view.report.is_gone = is_gone;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_TASK, view.report.phase);
    bool is_deleted = !has_ended && !tr_scan_is_none(members[TRI_KUBERNETES_DELETION]);
    bool is_held = false;
    error = is_deleted && group.kind.size == 0 ? find_held(&view, &is_held) : 0;
    if ((is_gone && !has_ended) || is_held) {
        fail_deleted(&view);
    } else if (is_deleted) {
        view.report.reason = tr_text_of("its pod is being deleted");
    }
    return error != 0 ? error : batch->api->report(batch, &view.report);
}
