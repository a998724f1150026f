/*
 * The inside of the Kubernetes plugin: how the API server is spoken to (kubernetes_call.c,
 * kubernetes_watch.c), what a pod's status means (kubernetes_phase.c), and the names that a pod of
 * ours is known by (kubernetes_name.c). The pod itself, and what it has left, is the affair of
 * plugins/pod/. kubernetes.c is the plugin.
 *
 * A job is a pod, or a resource that a card (plugins/cards/) says how to make. Its name follows
 * from its identity and its store, so the API server makes one whatever is said twice. A group is
 * "NAMESPACE[:KIND]/STORE/MARK", of a node of an execution; its scope "NAMESPACE[:KIND]/STORE",
 * which one watch shows: all of a kind that this store has made there; or, of a whole cluster, that
 * of all namespaces.
 */
#ifndef TR_PLUGINS_KUBERNETES_KUBERNETES_H
#define TR_PLUGINS_KUBERNETES_KUBERNETES_H

#include "plugins/cards/cards.h"
#include "plugins/pod/pod.h"
#include "plugins/sdk/scan.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/runtime/http.h"

extern const struct tr_plugin tr_kubernetes_plugin;

#define TR_KUBERNETES_NAMESPACE_BYTES_MAX 63
#define TR_KUBERNETES_NAME_BYTES_MAX 63
#define TR_KUBERNETES_OBJECT_BYTES_MAX 253

/* Of the answer with a PodTemplate, which has what its users write and what the server adds. */
#define TR_KUBERNETES_TEMPLATE_BYTES_MAX (256U << 10)

/* Where the plugin's keys stand, for people. */
#define TRI_KUBERNETES_SETTINGS "plugins.kubernetes"

/* Pods that one call deletes, whose marks stand in its URL; items of a page. */
#define TR_KUBERNETES_DELETE_ITEMS_MAX 500
#define TR_KUBERNETES_PAGE_ITEMS 500

/* A watch ends by itself after so long, at random; bookmarks come once a minute. */
#define TR_KUBERNETES_WATCH_SECONDS_MIN 240
#define TR_KUBERNETES_WATCH_SECONDS_MAX 480
#define TR_KUBERNETES_SILENCE_MS 75000

/* The API server does what it has begun within a moment; the watch shows it at once. */
#define TR_KUBERNETES_LAG_MS 2000

/* Where no operator looks at a resource, or its kind is not there, for so long it has failed. */
#define TR_KUBERNETES_OPERATOR_TIMEOUT_MS 300000

#define TR_KUBERNETES_CALLS_PER_SECOND 200
#define TR_KUBERNETES_CALLS_AT_ONCE 64

/* What stands for all namespaces. */
#define TRI_KUBERNETES_ALL "*"

/* Labels and annotations of a pod of ours; as paths of the scanner behind "/metadata/". */
#define TRI_KUBERNETES_STORE_LABEL "troupe.dev/store"
#define TRI_KUBERNETES_MARK_LABEL "troupe.dev/mark"
#define TRI_KUBERNETES_ATTEMPT_LABEL "troupe.dev/attempt"
#define TRI_KUBERNETES_NAME_ANNOTATION "troupe.dev/name"
#define TRI_KUBERNETES_NAMESPACE_ANNOTATION "troupe.dev/namespace"
#define TRI_KUBERNETES_ENDPOINT_ANNOTATION "troupe.dev/endpoint"
#define TRI_KUBERNETES_ROLE_LABEL "troupe.dev/role" /* of a pod that an operator makes */
#define TRI_KUBERNETES_FINALIZER "troupe.dev/heard" /* stays until its end was heard of */
#define TRI_KUBERNETES_CARD_ANNOTATION "troupe.dev/card"
#define TRI_KUBERNETES_RULES_ANNOTATION "troupe.dev/rules"         /* the task's own, as JSON */
#define TRI_KUBERNETES_CONTAINER_ANNOTATION "troupe.dev/container" /* of a pod with several */

/* ---- Names: kubernetes_name.c. --------------------------------------------------------------- */

/* The parts of a group or a scope, whose `mark` is empty; false: it is neither. */
struct tri_kubernetes_group {
    struct tr_text namespace;
    struct tr_text kind; /* of resources by a card; empty: it is of pods */
    struct tr_text store;
    struct tr_text mark;
};
bool tri_kubernetes_group_read(struct tr_text group, struct tri_kubernetes_group *parts);

/*
 * A kind in a group, "47:rayjobs.v1.ray.io": all that it takes to find its resources, whatever
 * becomes of its card. The number is the most bytes of a name; a "c" behind it says that they are
 * in no namespace.
 */
struct tri_kubernetes_kind {
    struct tr_text plural;
    struct tr_text version;
    struct tr_text group; /* empty: the core group */
    bool is_cluster;
    size_t name_bytes_max;
};
bool tri_kubernetes_kind_read(struct tr_text kind, struct tri_kubernetes_kind *parts);

/* What tells a pod from all others: 13 letters and digits over its store and its identity. */
void tri_kubernetes_mark(struct tr_text store, struct tr_text identity,
                         char mark[TR_POD_MARK_BYTES + 1]);

/* Its name: as much of the identity as there is room for, and the mark. */
void tri_kubernetes_name(struct tr_text store, struct tr_text identity,
                         char name[TR_KUBERNETES_NAME_BYTES_MAX + 1]);

/* The same within what a group's kind may have. */
void tri_kubernetes_name_in(const struct tri_kubernetes_group *group, struct tr_text identity,
                            char name[TR_KUBERNETES_NAME_BYTES_MAX + 1]);

/*
 * A pod's uid as a handle and back, which takes 22 bytes in the place of 36: it fits into the row
 * of a job. What is no UUID stays as it is. Both are the same for the same, and live in `room`.
 */
#define TRI_KUBERNETES_UID_BYTES 40
struct tr_text tri_kubernetes_handle(struct tr_text uid, char room[TRI_KUBERNETES_UID_BYTES]);
struct tr_text tri_kubernetes_uid(struct tr_text handle, char room[TRI_KUBERNETES_UID_BYTES]);

/* ---- Keys: kubernetes_check.c. --------------------------------------------------------------- */

int tri_kubernetes_check(const struct tr_task_template *task, char *problem, size_t problem_size);
int tri_kubernetes_check_endpoint(struct tr_bytes config, char *problem, size_t problem_size);

/* ---- A pod's spec: kubernetes_spec.c, and a template for it: kubernetes_template.c. --------- */

/* What the task's own container is called. */
struct tr_text tri_kubernetes_container(struct tr_task_context *task);

/* The spec; `template` is the lowest layer (a PodTemplate's; empty: there is none). */
TR_MUST_USE int tri_kubernetes_spec(struct tr_task_context *task, const struct tri_pod *pod,
                                    const struct tr_webapi_endpoint *endpoint,
                                    const struct tri_pod_inputs *inputs, struct tr_bytes template,
                                    struct tr_bytes *spec);

/* Whether a task's image has a shell; and where it has none, of which image its helpers are. */
bool tri_kubernetes_has_shell(const struct tr_task_template *template);
struct tr_text tri_kubernetes_helper(struct tr_task_context *task,
                                     const struct tr_webapi_endpoint *endpoint);

/* What these say of a pod's labels or annotations (`name`), the lowest first. */
#define TRI_KUBERNETES_METADATA_LAYERS 3
void tri_kubernetes_metadata(struct tr_task_context *task, struct tr_bytes template,
                             const char *name,
                             struct tr_bytes layers[TRI_KUBERNETES_METADATA_LAYERS]);

/* Who we are at the API server, for a call of the task's own. */
TR_MUST_USE int tri_kubernetes_call_as(struct tr_task_context *task,
                                       const struct tr_webapi_endpoint *endpoint,
                                       struct tr_http_request *request);

/* The words of a Status, or what is there in the place of one. */
struct tr_text tri_kubernetes_status_words(struct tr_task_context *task,
                                           const struct tr_http_response *answer);

/* The name of the PodTemplate that a pod is made from; empty: from none. */
struct tr_text tri_kubernetes_template_name(struct tr_task_context *task,
                                            const struct tr_webapi_endpoint *endpoint);

/*
 * Asks for it by own->call, and reads the answer: its `template`, or a transition that ends the
 * attempt or says that it is asked for again when a timer has run out, which is_template_again
 * tells.
 */
TR_MUST_USE int tri_kubernetes_ask_template(struct tr_task_context *task,
                                            const struct tr_webapi_endpoint *endpoint,
                                            struct tr_text namespace, struct tr_text name,
                                            struct tr_kubernetes_attempt *own);
TR_MUST_USE int tri_kubernetes_read_template(struct tr_task_context *task,
                                             struct tr_kubernetes_attempt *own,
                                             const struct tr_task_event *event, struct tr_text name,
                                             struct tr_bytes *template,
                                             struct tr_transition *transition);
bool tri_kubernetes_is_template_again(const struct tr_task_event *event);

/* ---- A pod's finalizer: kubernetes_finalizer.c. ---------------------------------------------- */

/* What becomes of it: the number is stored. */
enum tri_kubernetes_finalizer {
    TRI_KUBERNETES_NO_FINALIZER,
    TRI_KUBERNETES_FINALIZED, /* the pod has one, or is about to be made with it */
    TRI_KUBERNETES_RELEASING, /* it is being taken away */
    TRI_KUBERNETES_RELEASED,
};

/* Whether pods that are to be made get one. */
bool tri_kubernetes_wants_finalizer(struct tr_task_context *task,
                                    const struct tr_webapi_endpoint *endpoint);

/* Whether it is still to be taken away. */
bool tri_kubernetes_is_finalized(const struct tr_kubernetes_attempt *own);

/*
 * Takes it away, from the attempt's first event of that on: own->finalizer is RELEASED when it is
 * gone. Until then `words` say what is waited for. `is_last`: one answer is enough, whatever it is.
 */
TR_MUST_USE int tri_kubernetes_release(struct tr_task_context *task,
                                       const struct tr_webapi_endpoint *endpoint,
                                       const struct tri_kubernetes_group *group,
                                       struct tr_kubernetes_attempt *own,
                                       const struct tr_task_event *event, bool is_last,
                                       struct tr_text *words);

/* ---- A pod's status: kubernetes_phase.c. ----------------------------------------------------- */

/* The members of a pod that are read, in the order of their paths. */
enum tri_kubernetes_member {
    TRI_KUBERNETES_NAME,
    TRI_KUBERNETES_UID,
    TRI_KUBERNETES_VERSION,
    TRI_KUBERNETES_DELETION,
    TRI_KUBERNETES_ATTEMPT,
    TRI_KUBERNETES_STORE,
    TRI_KUBERNETES_OWN_NAME,
    TRI_KUBERNETES_ENDPOINT,
    TRI_KUBERNETES_NAMESPACE,
    TRI_KUBERNETES_OWN_NAMESPACE,
    TRI_KUBERNETES_CONTAINER,
    TRI_KUBERNETES_NODE,
    TRI_KUBERNETES_PHASE,
    TRI_KUBERNETES_REASON,
    TRI_KUBERNETES_MESSAGE,
    TRI_KUBERNETES_CONDITIONS,
    TRI_KUBERNETES_INIT_CONTAINERS,
    TRI_KUBERNETES_CONTAINERS,
    TRI_KUBERNETES_ROLE, /* of a pod that an operator has made */
    TRI_KUBERNETES_FINALIZERS,
    TRI_KUBERNETES_MEMBERS
};

/* Those of a resource by a card, behind the first ones, which it has in common with pods. */
enum tri_kubernetes_resource_member {
    TRI_KUBERNETES_CARD = TRI_KUBERNETES_OWN_NAMESPACE + 1,
    TRI_KUBERNETES_RULES,
    TRI_KUBERNETES_STATUS,
    TRI_KUBERNETES_RESOURCE_MEMBERS
};

#define TRI_KUBERNETES_OWN_PATHS(before)                                                     \
    before "/metadata/name", before "/metadata/uid", before "/metadata/resourceVersion",     \
        before "/metadata/deletionTimestamp", before "/metadata/labels/troupe.dev~1attempt", \
        before "/metadata/labels/troupe.dev~1store",                                         \
        before "/metadata/annotations/troupe.dev~1name",                                     \
        before "/metadata/annotations/troupe.dev~1endpoint", before "/metadata/namespace",   \
        before "/metadata/annotations/troupe.dev~1namespace"

#define TRI_KUBERNETES_PATHS(before)                                                        \
    TRI_KUBERNETES_OWN_PATHS(before), before "/metadata/annotations/troupe.dev~1container", \
        before "/spec/nodeName", before "/status/phase", before "/status/reason",           \
        before "/status/message", before "/status/conditions",                              \
        before "/status/initContainerStatuses", before "/status/containerStatuses",         \
        before "/metadata/labels/troupe.dev~1role", before "/metadata/finalizers"

#define TRI_KUBERNETES_RESOURCE_PATHS(before)                                          \
    TRI_KUBERNETES_OWN_PATHS(before), before "/metadata/annotations/troupe.dev~1card", \
        before "/metadata/annotations/troupe.dev~1rules", before "/status"

/*
 * The members of an item, or of a line of a watch, and then its type: those of a group's kind.
 * `members` has one place more than there are.
 */
TR_MUST_USE int tri_kubernetes_scan(const struct tri_kubernetes_group *group, struct tr_bytes json,
                                    bool is_line, struct tr_bytes *members, struct tr_bytes *type);

/*
 * Reports a pod by its members: one of this store, under its own name. What is none says nothing.
 * `is_gone`: it was deleted, and these are its last.
 */
TR_MUST_USE int tri_kubernetes_report(struct tr_webapi_batch *batch, const struct tr_bytes *members,
                                      bool is_gone);

/* ---- The wire: kubernetes_call.c, kubernetes_watch.c. ---------------------------------------- */

/* A formatted text in the batch's scratch memory; empty when none is left. */
struct tr_text tri_kubernetes_format(struct tr_webapi_batch *batch, const char *format, ...)
    TR_PRINTF(2, 3);

/* "/api/v1/namespaces/NAMESPACE/pods" of a group, or where resources of its kind are. */
struct tr_text tri_kubernetes_path_of(struct tr_webapi_batch *batch,
                                      const struct tri_kubernetes_group *group);

/* The same of a batch's group; empty: it has none. */
struct tr_text tri_kubernetes_path(struct tr_webapi_batch *batch,
                                   struct tri_kubernetes_group *parts);

int tri_kubernetes_write_create(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_kubernetes_read_create(struct tr_webapi_batch *batch,
                               const struct tr_webapi_response *response);
int tri_kubernetes_write_status(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_kubernetes_read_status(struct tr_webapi_batch *batch,
                               const struct tr_webapi_response *response);
int tri_kubernetes_write_cancel(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_kubernetes_read_cancel(struct tr_webapi_batch *batch,
                               const struct tr_webapi_response *response);

/* Whether a quota, by its message, could never grant what was asked for: kubernetes_quota.c. */
bool tri_kubernetes_exceeds_limits(struct tr_text message);

/* ---- Links to logs: kubernetes_links.c. ------------------------------------------------------ */

/* What a link may name. */
struct tri_kubernetes_link {
    struct tr_text namespace;
    struct tr_text pod;
    struct tr_text uid;
    struct tr_text container;
    struct tr_text node;
};

/* The link of `logs` in the settings; empty: they have none, or there is no memory. */
struct tr_text tri_kubernetes_link(struct tr_webapi_batch *batch,
                                   const struct tri_kubernetes_link *of);
int tri_kubernetes_check_links(const struct tri_pod_checker *checker, struct tr_bytes config);

/* ---- How long what has ended stays: kubernetes_keep.c. --------------------------------------- */

uint64_t tri_kubernetes_keep_ms(const struct tr_webapi_endpoint *endpoint, uint8_t phase);
uint64_t tri_kubernetes_operator_timeout_ms(const struct tr_webapi_endpoint *endpoint);
int tri_kubernetes_check_keep(const struct tri_pod_checker *checker, struct tr_bytes config);

/* Whether one watch is for all namespaces of a cluster; whether a scope's namespace is that. */
bool tri_kubernetes_watches_cluster(const struct tr_webapi_endpoint *endpoint);
bool tri_kubernetes_is_all(struct tr_text namespace);

int tri_kubernetes_scope(struct tr_webapi_batch *batch, struct tr_text *scope);
int tri_kubernetes_write_list(struct tr_webapi_batch *batch, struct tr_text page,
                              struct tr_webapi_request *request);
int tri_kubernetes_item(struct tr_webapi_batch *batch, struct tr_bytes item);
int tri_kubernetes_rest(struct tr_webapi_batch *batch, struct tr_bytes rest);
int tri_kubernetes_write_watch(struct tr_webapi_batch *batch, struct tr_text cursor,
                               struct tr_webapi_request *request);
int tri_kubernetes_write_begin(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_kubernetes_line(struct tr_webapi_batch *batch, struct tr_bytes line);

/* ---- Resources by cards: kubernetes_card.c, kubernetes_resource.c. --------------------------- */

/* What is made of a task that is no pod. */
struct tri_kubernetes_resource {
    struct tri_card card;     /* without a value: the task's own manifest */
    struct tr_bytes manifest; /* of the task's config; empty: there is a card */
    struct tri_card_resource found;
};

/*
 * What a task is made of, by its config or its type: false, it is a pod. `problem` has words where
 * it names a card that is not there.
 */
bool tri_kubernetes_find_card(struct tr_task_context *task,
                              const struct tr_webapi_endpoint *endpoint,
                              struct tri_kubernetes_resource *resource, struct tr_text *problem);

/* The kind of a resource in a group; empty: no memory. */
struct tr_text tri_kubernetes_kind_text(struct tr_task_context *task,
                                        const struct tri_kubernetes_resource *resource);

/* What a resource is made of beside its card. */
struct tri_kubernetes_making {
    const struct tri_pod *pod;
    const struct tr_webapi_endpoint *endpoint;
    const struct tri_kubernetes_group *group;
    const char *name;
    struct tr_bytes spec;        /* of the task's pod */
    struct tr_bytes steady_spec; /* the same where it may not be interrupted */
    struct tr_bytes labels;
    struct tr_bytes annotations;
};

/* The resource, as a job's body. TR_INVALID: `problem` says why it cannot be made. */
TR_MUST_USE int tri_kubernetes_make_resource(struct tr_task_context *task,
                                             const struct tri_kubernetes_resource *resource,
                                             const struct tri_kubernetes_making *making,
                                             struct tr_bytes *body, struct tr_text *problem);

/* A task's own keys for that, and an endpoint's `cards` and `operator_timeout`. */
int tri_kubernetes_check_card(const struct tri_pod_checker *checker,
                              const struct tr_task_template *task);
int tri_kubernetes_check_cards(const struct tri_pod_checker *checker, struct tr_bytes config);

/* The request's body of a job: its own rules travel with a resource, as an annotation. */
TR_MUST_USE int tri_kubernetes_write_body(struct tr_webapi_batch *batch, struct tr_bytes job,
                                          struct tr_bytes *body);

/* What a resource's status means. */
TR_MUST_USE int tri_kubernetes_read_resource(struct tr_webapi_batch *batch,
                                             const struct tri_kubernetes_group *group,
                                             const struct tr_bytes *members,
                                             struct tr_webapi_report *report);

/* The cluster does not know the kind: its operator is not installed (yet). */
TR_MUST_USE int tri_kubernetes_report_no_kind(struct tr_webapi_batch *batch,
                                              const struct tri_kubernetes_group *group);

int tri_kubernetes_beside(struct tr_webapi_batch *batch, struct tr_text *scope);

#endif
