/*
 * What back ends that run tasks as pods have in common, whoever makes the pods: the pod of a task
 * (pod_spec.c) behind a few lines of shell (pod_shell.c), its inputs (pod_inputs.c), and what it
 * has left (pod_outcome.c), on a share (pod_share.c) or in an object store (pod_objects.c).
 *
 * The keys of their settings and tasks are the same, too: share, outputs, object_store, image, pod,
 * priority_class (pod_check.c).
 */
#ifndef TR_PLUGINS_POD_POD_H
#define TR_PLUGINS_POD_POD_H

#include "plugins/sdk/json.h"
#include "plugins/sdk/webapi.h"

#define TR_POD_MEMORY_BYTES_MIN (1U << 20)
#define TR_POD_GRACE_SECONDS_MAX 300
#define TR_POD_DEADLINE_SECONDS_MAX INT32_MAX

/* What the container of a task is called, unless it says another name. */
#define TR_POD_CONTAINER "task"

/* Of marks: letters and digits. */
#define TR_POD_MARK_BYTES 13

/* Inputs up to here travel in the pod's environment; larger ones need the store on the share. */
#define TR_POD_INPUTS_BYTES_MAX 4096

/* What an error document may have; and outputs, where they come from an object store. */
#define TR_POD_ERROR_BYTES_MAX (512U << 10)
#define TR_POD_OUTPUTS_BYTES_MAX (512U << 10)

/* A store that is not there, or busy, is asked so often, in some two minutes all together. */
#define TR_POD_READS_MAX 9
#define TR_POD_READ_AGAIN_MS 500
#define TR_POD_READ_AGAIN_MS_MAX 30000

/* An attempt in the hands of this room; the pointers lead into the state of its plugin. */
struct tri_pod {
    const char *settings; /* where its plugin's keys stand, for people: "plugins.armada" */
    struct tr_text below; /* GROUP/ATTEMPT: its place below a share or a store */
    uint64_t *call;
    bool *reads_outputs; /* the call under way does, else it looks for an error document */
    bool *reads_futures; /* it looks for Flyte's futures.pb; NULL: there are no such documents */
    uint32_t *reads;     /* how often that was asked without an answer */
    bool is_deleted;     /* somebody has deleted its pod: only outputs make that a success */
    bool is_steady;      /* it is never interrupted, whatever its task says */
    bool finds_image;    /* what is laid below it may know the image: tri_pod_no_image */
};

/* ---- Where things are: pod_place.c. ---------------------------------------------------------- */

/* A task's own key, else the endpoint's; empty: neither has it. */
struct tr_bytes tri_pod_setting(struct tr_task_context *task,
                                const struct tr_webapi_endpoint *endpoint, const char *key);

/* Where the pods of an endpoint and the engine both find files; empty: nowhere. */
struct tr_text tri_pod_share(const struct tr_webapi_endpoint *endpoint);

/* The folder of an attempt's documents, as its pod and, with a share, the engine see it. */
struct tr_text tri_pod_folder(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint);

/* What lies at `base`, a folder or a URL, for this attempt. */
struct tr_text tri_pod_place(struct tr_task_context *task, const struct tri_pod *own,
                             struct tr_text base);

/* Beside an attempt's folder, one that all attempts of the task or element share. */
struct tr_text tri_pod_checkpoint(struct tr_task_context *task, struct tr_text folder);

/*
 * What no other node of any store has in common with this one, in letters and digits; or no other
 * attempt of any element. And what people know it by, of at most `size_max` bytes: the execution's
 * own name and the node's, where whatever is neither letter nor digit is "-".
 */
void tri_pod_mark(struct tr_task_context *task, bool is_of_attempt,
                  char mark[TR_POD_MARK_BYTES + 1]);
struct tr_text tri_pod_front(struct tr_task_context *task, size_t size_max);

/* ---- A pod: pod_inputs.c, pod_spec.c, pod_shell.c. ------------------------------------------- */

/* What a pod finds its inputs by: the document itself, or the path of a file that holds it. */
struct tri_pod_inputs {
    struct tr_text json;
    struct tr_text path;
    struct tr_text document; /* the path of inputs.pb; empty: there is none, or it is elsewhere */
};

/*
 * Finds a task's inputs; may call the store, whose answer it is called again with: not ready then.
 * A transition that is a failure ends the attempt.
 */
TR_MUST_USE int tri_pod_find_inputs(struct tr_task_context *task, const struct tri_pod *own,
                                    const struct tr_webapi_endpoint *endpoint,
                                    const struct tr_task_event *event,
                                    struct tri_pod_inputs *inputs, bool *is_ready,
                                    struct tr_transition *transition);

/* The path of the blob of an answer. */
TR_MUST_USE int tri_pod_read_made(struct tr_task_context *task, const struct tr_task_event *event,
                                  struct tr_text *path);

/* Words for what settings and task leave open; empty: nothing. */
struct tr_text tri_pod_missing(struct tr_task_context *task, const struct tri_pod *own,
                               const struct tr_webapi_endpoint *endpoint,
                               const struct tri_pod_inputs *inputs);

/* The words for a task without an image. */
struct tr_text tri_pod_no_image(struct tr_task_context *task, const struct tri_pod *own);

/* The lines of /bin/sh around a task's command, where $0 is the attempt's folder and "$@" they. */
struct tr_text tri_pod_shell(struct tr_task_context *task,
                             const struct tr_webapi_endpoint *endpoint);

/* What a task itself says of its pod, where that is laid upon what others say: pod_layers.c. */
struct tri_pod_part {
    struct tr_text container; /* the name of the task's own */
    struct tr_text image;     /* empty: others say it */
    struct tr_text priority_class;
    struct tr_text gpu;          /* the resource that GPUs are; empty: NVIDIA's */
    struct tr_text helper_image; /* of who writes and reads its documents; empty: a shell does */
    bool has_amounts; /* others say how much it takes, so what it does not ask for is left open */
    bool tells_end;   /* the end of its log is its last word, where it leaves none */
};
TR_MUST_USE int tri_pod_own(struct tr_task_context *task, const struct tri_pod *own,
                            const struct tr_webapi_endpoint *endpoint,
                            const struct tri_pod_inputs *inputs, const struct tri_pod_part *part,
                            struct tr_bytes *spec);

/* The pod spec of a task: its own words, with what settings and task lay over it. */
TR_MUST_USE int tri_pod_spec(struct tr_task_context *task, const struct tri_pod *own,
                             const struct tr_webapi_endpoint *endpoint,
                             const struct tri_pod_inputs *inputs, struct tr_bytes *spec);

/*
 * ---- Helpers: pod_helper.c. An image without a shell gets its folder and inputs by an init
 * container, and its documents are sent by a sidecar, both of an image that has a shell.
 */

#define TR_POD_STARTER "troupe-inputs"
#define TR_POD_SENDER "troupe-outputs"
#define TRI_POD_SHARE_VOLUME "troupe-share"

/* Whose environment it is. */
enum tri_pod_role {
    TRI_POD_SHELL, /* the task's, behind our lines of shell */
    TRI_POD_BARE,  /* the task's, without them */
    TRI_POD_HELPER,
};
void tri_pod_add_environment(struct tr_build *build, struct tr_task_context *task,
                             const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                             const struct tri_pod_inputs *inputs, enum tri_pod_role role);
void tri_pod_add_mount(struct tr_build *build, struct tr_text name, struct tr_text path,
                       bool is_read_only);

/* Where the task and its helpers meet: the share, or where there is none a volume of the pod's. */
void tri_pod_add_shared_mount(struct tr_build *build, struct tr_text share);
void tri_pod_add_own_volume(struct tr_build *build);
void tri_pod_add_helpers(struct tr_build *build, struct tr_task_context *task,
                         const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                         const struct tri_pod_inputs *inputs, struct tr_text image);

/* The lines that put the documents of an attempt to their object store; empty: there is none. */
struct tr_text tri_pod_shell_puts(struct tr_task_context *task,
                                  const struct tr_webapi_endpoint *endpoint);

/* ---- Layers: pod_layers.c. ------------------------------------------------------------------- */

/* What a container of a layer may be called: the task's own, and what is below all of them. */
#define TR_POD_PRIMARY "primary"
#define TR_POD_DEFAULT "default"

/* A partial pod spec to be laid upon others. */
struct tri_pod_layer {
    struct tr_bytes spec; /* empty: it says nothing */
    bool has_roles;       /* `primary` and `default` are roles of containers and no names */
};

/*
 * A spec without anything but the task's container, upon which layers are laid, each over what is
 * there; and what is left when all are, without the container `default`.
 */
TR_MUST_USE int tri_pod_begin(struct tr_task_context *task, struct tr_text container,
                              struct tr_bytes *spec);
TR_MUST_USE int tri_pod_lay(struct tr_task_context *task, struct tr_text container,
                            const struct tri_pod_layer *layer, struct tr_bytes *spec);
TR_MUST_USE int tri_pod_settle(struct tr_task_context *task, struct tr_bytes *spec);

/* A container of a spec by its name; empty: it has none. */
struct tr_bytes tri_pod_container(struct tr_bytes spec, struct tr_text name);

/* ---- An object store: pod_objects.c. --------------------------------------------------------- */

/* Where an endpoint's pods leave their documents, as `outputs` and `object_store` say. */
struct tri_pod_objects {
    struct tr_text url;   /* of its folder, without a / at its end; empty: there is no such store */
    struct tr_text place; /* the same as the settings have it */
    bool is_s3;           /* that is s3://BUCKET/PREFIX */
    struct tr_text region;
    struct tr_text group; /* of the secret that signs, ACCESS:SECRET[:TOKEN]; empty: none does */
    struct tr_text key;
};
struct tri_pod_objects tri_pod_objects(struct tr_task_context *task,
                                       const struct tr_webapi_endpoint *endpoint);

/* The URL of a document of this attempt; empty: there is no store, or no memory. */
struct tr_text tri_pod_object(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint, const char *name);

/* Puts one there by own->call, and reads what became of it: as of one that is asked for. */
TR_MUST_USE int tri_pod_put(struct tr_task_context *task, const struct tri_pod *own,
                            const struct tr_webapi_endpoint *endpoint, const char *name,
                            struct tr_bytes body);
struct tri_pod_answer;
TR_MUST_USE int tri_pod_read_put(struct tr_task_context *task, const struct tri_pod *own,
                                 const struct tr_webapi_endpoint *endpoint, const char *name,
                                 const struct tr_task_event *event, struct tri_pod_answer *answer);

/* The first / in a text that is behind something, as a secret's reference has it; NULL: none. */
const char *tri_pod_slash(struct tr_text text);

/* ---- Flyte's documents: pod_flyte.c. --------------------------------------------------------- */

/* Whether a task's words name them; and whether it reads and writes them in an object store. */
bool tri_pod_has_flyte(struct tr_task_context *task);
bool tri_pod_is_direct(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint);

/* A text of a task as its pod needs it: with the pod's places in the place of the engine's. */
struct tr_text tri_pod_text(struct tr_task_context *task, const struct tri_pod *own,
                            const struct tr_webapi_endpoint *endpoint, struct tr_text text);

/* Whether a variable of a task means something in a pod, too. */
bool tri_pod_has_variable(const struct tr_environment *variable,
                          const struct tr_webapi_endpoint *endpoint);

/* Adds what Flyte's SDKs look for; an empty value is none. */
typedef void tri_pod_add(void *self, const char *name, struct tr_text value);
void tri_pod_each_flyte_variable(struct tr_task_context *task,
                                 const struct tr_webapi_endpoint *endpoint, tri_pod_add *add,
                                 void *self);

/* As tri_pod_find_inputs, of a task that has them. */
TR_MUST_USE int tri_pod_find_document(struct tr_task_context *task, const struct tri_pod *own,
                                      const struct tr_webapi_endpoint *endpoint,
                                      const struct tr_task_event *event,
                                      struct tri_pod_inputs *inputs, bool *is_ready,
                                      struct tr_transition *transition);

/* ---- What a pod has left: pod_outcome.c. ----------------------------------------------------- */

/* The documents, in the order in which they are asked for. */
enum tri_pod_document {
    TRI_POD_ERROR_DOCUMENT,
    TRI_POD_FUTURES_DOCUMENT, /* of a dynamic task of Flyte's */
    TRI_POD_OUTPUTS_DOCUMENT,
};

/* What a document of a task is called, and its form. */
const char *tri_pod_document_name(struct tr_task_context *task, enum tri_pod_document document);
enum tr_document_form tri_pod_document_form(struct tr_task_context *task,
                                            enum tri_pod_document document);

/* The result of asking for a document. */
enum tri_pod_found {
    TRI_POD_FOUND,      /* `document`, or outputs that were read already: `slots` */
    TRI_POD_MISSING,    /* it is not there: `words` */
    TRI_POD_WRONG,      /* the task's failure: `code`, `words` */
    TRI_POD_TOO_LARGE,  /* `words` */
    TRI_POD_BUSY,       /* the store does not answer, for now: `words` */
    TRI_POD_UNREADABLE, /* `words` */
    TRI_POD_DENIED,     /* and will be until it is repaired: `words` */
};

struct tri_pod_answer {
    enum tri_pod_found found;
    uint32_t status; /* of http, or 0 */
    struct tr_bytes document;
    struct tr_bytes slots;
    struct tr_text code;
    struct tr_text words;
};

/* Where documents are found. `ask` calls a service, `read` reads its answer or failure. */
struct tri_pod_source {
    int (*ask)(struct tr_task_context *task, const struct tri_pod *own,
               const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
               uint64_t *call);
    int (*read)(struct tr_task_context *task, const struct tri_pod *own,
                const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
                const struct tr_task_event *event, struct tri_pod_answer *answer);
};
extern const struct tri_pod_source tri_pod_share_source;   /* pod_share.c */
extern const struct tri_pod_source tri_pod_objects_source; /* pod_objects.c */

/* As tr_webapi's `outcome`. */
TR_MUST_USE int tri_pod_outcome(struct tr_task_context *task, const struct tri_pod *own,
                                const struct tr_webapi_endpoint *endpoint,
                                const struct tr_task_event *event,
                                struct tr_transition *transition);

/* After a success: logs are kept, and all else that lies on the share goes. */
TR_MUST_USE int tri_pod_clean(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint);

/* ---- Keys: pod_check.c. ---------------------------------------------------------------------- */

/* Where words are written, and of what they speak: "config" or "plugins.armada". */
struct tri_pod_checker {
    const char *place;
    const char *owner; /* whose pods: "Armada" */
    char *problem;
    size_t size;
};

#define TRI_POD_REFUSE(checker, ...) \
    tr_config_refuse((checker)->problem, (checker)->size, __VA_ARGS__)

/* Labels and annotations: Kubernetes takes texts only. */
int tri_pod_check_texts(const struct tri_pod_checker *checker, struct tr_bytes config,
                        const char *key);

/* A pod that is laid over: its containers are a list. */
int tri_pod_check_containers(const struct tri_pod_checker *checker, struct tr_bytes config);

/*
 * The same of a pod that is laid upon others (pod_layers.c): whom its containers are known by, and
 * that none of them is there twice.
 */
int tri_pod_check_layer(const struct tri_pod_checker *checker, struct tr_bytes config);

/* What a process of this machine has, and no pod. */
int tri_pod_check_possible(const struct tri_pod_checker *checker,
                           const struct tr_task_template *task);

/* The keys `share`, and `outputs` with `object_store`, of an endpoint. */
int tri_pod_check_share(const struct tri_pod_checker *checker, struct tr_bytes share);
int tri_pod_check_objects(const struct tri_pod_checker *checker, struct tr_bytes config);

#endif
