/*
 * The Web API shape of a plugin: what its author writes, and what the framework hands over.
 *
 * Most back ends are reached so: a request makes a job and gives it a handle, another asks how jobs
 * are, a third ends them. The author maps tasks to requests and responses to reports, nothing more;
 * the framework keeps intents, reconciles unknown outcomes, batches, bounds, repeats, polls,
 * recovers.
 *
 *     in the handler of a task        in the refresh actor, one for each plugin and endpoint
 *     prepare   what to make    ->    create    many jobs at once
 *                                     status, or a stream of news for each job set
 *     outcome   what it gave    <-    cancel, find, failures
 *
 * A verb is two functions without any memory of their own: `write` turns a batch of items into one
 * request, `read` turns the response into reports about them. Both run in a handler: no input or
 * output, no waiting, no clock. What the framework does when there is no useful response is a table
 * of response classes, which a plugin's own rules go before.
 *
 * The identity of a job is the generated name of its attempt (struct tr_task_identity): the key of
 * idempotency, never used for another job. How surely the back end can be asked about an identity
 * is the plugin's idempotency level; it decides what follows a request of unknown end (law 5 of
 * runtime/ARCHITECTURE.md):
 *
 *     exact         it is made again: the back end takes the identity for a key, makes one job
 *     reconcilable  `find` and the stream are asked until `lag_ms` have passed, then made again
 *     by tag        `find` is asked the same way; what it does not know is left to the policy
 *     none          the policy at once: the task fails as unknown, or is done again
 */
#ifndef TR_SCHEMAS_ENGINE_WEBAPI_H
#define TR_SCHEMAS_ENGINE_WEBAPI_H

#include "schemas/engine/plugin.h"
#include "schemas/runtime/http.h"

/* How surely a job can be found by its identity. The number is stored. */
#define TR_WEBAPI_IDEMPOTENCY_LEVELS(L) \
    L(NONE, 0, "none")                  \
    L(TAG, 1, "by tag")                 \
    L(RECONCILABLE, 2, "reconcilable")  \
    L(EXACT, 3, "exact")

enum tr_webapi_idempotency {
#define TRI_WEBAPI_IDEMPOTENCY(name, number, text) TR_WEBAPI_IDEMPOTENCY_##name = (number),
    TR_WEBAPI_IDEMPOTENCY_LEVELS(TRI_WEBAPI_IDEMPOTENCY)
#undef TRI_WEBAPI_IDEMPOTENCY
};

/* What is done when it cannot be found out whether a job was made. */
#define TR_WEBAPI_POLICIES(P)                                         \
    P(FAIL, 0, "fail")     /* the attempt fails, `outcome unknown` */ \
    P(REPEAT, 1, "repeat") /* it is made, perhaps a second time; the history says so */

enum tr_webapi_policy {
#define TRI_WEBAPI_POLICY(name, number, text) TR_WEBAPI_POLICY_##name = (number),
    TR_WEBAPI_POLICIES(TRI_WEBAPI_POLICY)
#undef TRI_WEBAPI_POLICY
};

/* The authentication scheme of an endpoint. */
#define TR_WEBAPI_AUTHORIZATIONS(A)                          \
    A(NONE, 0, "none")                                       \
    A(BASIC, 1, "basic")   /* the secret is USER:PASSWORD */ \
    A(BEARER, 2, "bearer") /* the secret is a token */

enum tr_webapi_authorization {
#define TRI_WEBAPI_AUTHORIZATION(name, number, text) TR_WEBAPI_AUTHORIZATION_##name = (number),
    TR_WEBAPI_AUTHORIZATIONS(TRI_WEBAPI_AUTHORIZATION)
#undef TRI_WEBAPI_AUTHORIZATION
};

/* Where a back end is reached, as the settings say; it never changes while the engine lives. */
struct tr_webapi_endpoint {
    struct tr_text name;       /* "default" where there is one only */
    struct tr_text url;        /* without a / at its end */
    struct tr_bytes config;    /* the plugin's own keys, a packed map */
    uint32_t calls_per_second; /* 0: TR_WEBAPI_CALLS_PER_SECOND */
    uint32_t calls_at_once;    /* 0: TR_WEBAPI_CALLS_AT_ONCE; streams are not counted */
    uint32_t streams_max;    /* 0: TR_WEBAPI_STREAMS; or TR_WEBAPI_NO_STREAMS. Others are polled */
    uint32_t interval_ms;    /* the shortest between two polls of a job; 0: TR_WEBAPI_INTERVAL_MS */
    uint32_t timeout_ms;     /* of one call; 0: TR_WEBAPI_TIMEOUT_MS */
    uint8_t authorization;   /* enum tr_webapi_authorization */
    struct tr_secret secret; /* for it */
    struct tr_text ca_file;
    struct tr_text client_certificate;
    struct tr_text client_key;
    bool is_insecure;
    uint32_t lag_ms; /* what the back end has made may stay unseen for so long; 0: the plugin's */
    uint32_t jobs_at_once; /* 0: TR_WEBAPI_JOBS_AT_ONCE; more have to wait */
    uint32_t
        lost_ms; /* a job that it does not show for so long may be lost; 0: TR_WEBAPI_LOST_MS */
    struct tr_text identity; /* since ABI 4: who we are there, as the host knows; empty: nothing */
};

/*
 * Authentication at an endpoint: the reference that a request carries, whose value the http service
 * finds when the request leaves. How many there are, 0 or 1; `secret` is untouched without one.
 */
static inline size_t tr_webapi_secret(const struct tr_webapi_endpoint *endpoint,
                                      struct tr_http_secret *secret)
{
    if (endpoint->authorization == TR_WEBAPI_AUTHORIZATION_NONE) {
        return 0;
    }
    bool is_basic = endpoint->authorization == TR_WEBAPI_AUTHORIZATION_BASIC;
    *secret = (struct tr_http_secret){
        .kind = is_basic ? TR_HTTP_SECRET_BASIC : TR_HTTP_SECRET_PLAIN,
        .header = tr_text_of("Authorization"),
        .prefix = tr_text_of(is_basic ? "" : "Bearer "),
        .group = endpoint->secret.group,
        .key = endpoint->secret.key,
        .version = endpoint->secret.version,
    };
    return 1;
}

/* Bounds where an endpoint's settings say nothing, and of what a plugin may hand over. */
#define TR_WEBAPI_CALLS_PER_SECOND 50
#define TR_WEBAPI_CALLS_AT_ONCE 8
#define TR_WEBAPI_JOBS_AT_ONCE 100000
#define TR_WEBAPI_STREAMS 64
#define TR_WEBAPI_NO_STREAMS UINT32_MAX
#define TR_WEBAPI_INTERVAL_MS 5000
#define TR_WEBAPI_INTERVAL_MS_MAX 60000
#define TR_WEBAPI_TIMEOUT_MS 30000
#define TR_WEBAPI_LOST_MS 600000
#define TR_WEBAPI_HANDLE_BYTES_MAX 255
#define TR_WEBAPI_JOB_SET_BYTES_MAX 128
#define TR_WEBAPI_CURSOR_BYTES_MAX 1024
#define TR_WEBAPI_JOB_BYTES_MAX (64U << 10)
#define TR_WEBAPI_BODY_BYTES_MAX (960U << 10) /* with its headers it is one message */
#define TR_WEBAPI_OUTPUTS_BYTES_MAX (256U << 10)

/* A job in a batch. Views live until the verb's function returns. */
struct tr_webapi_item {
    struct tr_text identity;
    struct tr_text handle; /* empty: not known */
    struct tr_text job_set;
    struct tr_bytes job; /* `create` only: what `prepare` gave */
    uint8_t phase;       /* enum tr_task_phase, the last one heard of */
};

struct tr_webapi_api;

/*
 * What a verb works on. `job_set` is that of all items of create, cancel, find, failures and
 * streams, and empty for status, whose items may be of many. `is_whole_job_set`, for cancel: all
 * jobs that are left of it are to be ended, so that one call may end it as a whole. The items are
 * all of them, or, where the plugin says `ends_job_sets`, some, and there may be more than
 * `items_max`.
 */
struct tr_webapi_batch {
    const struct tr_webapi_api *api;
    const struct tr_webapi_endpoint *endpoint;
    struct tr_text job_set;
    bool is_whole_job_set;
    const struct tr_webapi_item *items;
    uint32_t count;
    uint64_t store; /* since ABI 4: as in struct tr_task_identity */
};

/* Texts and bytes may be literals or from `scratch`. The framework adds authorization and TLS. */
struct tr_webapi_request {
    const char *method;          /* NULL: POST */
    struct tr_text path;         /* behind the endpoint's URL, with its leading / */
    struct tr_text accept;       /* empty: application/json */
    struct tr_text content_type; /* empty: application/json, where there is a body */
    struct tr_text key_header;   /* "Name: value" of an idempotency key; empty: none */
    struct tr_bytes body;
};

struct tr_webapi_response {
    uint32_t status; /* of http; 0: there is none */
    struct tr_text headers;
    struct tr_bytes body;
};

/* What is known of a job now. */
enum tr_webapi_news {
    TR_WEBAPI_IS,      /* `phase` is where it is; UNDEFINED: nothing new but, perhaps, `reason` */
    TR_WEBAPI_ABSENT,  /* the back end knows no such job (yet) */
    TR_WEBAPI_REFUSED, /* it will never be made like this: `code` and `message` */
    TR_WEBAPI_LATER,   /* it was certainly not made (ended, found), and is asked for again; `reason`
                          says why */
};

/*
 * A report about one job: of the item, or in a stream of any. `identity` or `handle` says which;
 * both tie them together. For an end `failure`, `code` and `message` are those of a transition; an
 * end is final, whatever is reported later. `order` grows with what happens to a job where the
 * back end numbers it: what comes with a lower one than was seen is old news. 0: unordered.
 */
struct tr_webapi_report {
    struct tr_text identity;
    struct tr_text handle;
    uint8_t news;    /* enum tr_webapi_news */
    uint8_t phase;   /* enum tr_task_phase */
    uint8_t failure; /* enum tr_failure_kind */
    uint8_t signal;
    uint32_t exit_status;
    uint64_t order;
    struct tr_text reason; /* of a phase that is no end, for people */
    struct tr_text code;
    struct tr_text message;
    struct tr_text place;   /* where it runs, for people */
    struct tr_text log_uri; /* where its logs are, for people */
    struct tr_text outputs; /* JSON, where the back end gives them itself */
    /*
     * Since ABI 3, of the watched shape. A phase that is no end may have a grace: unless a report
     * without one comes, the job ends so long after the first that had one, by `grace_phase`,
     * `failure`, `code` and `message` of the last; since ABI 5 so does LATER. What has ended may
     * still be there and would stay for ever: it is removed before all others. Of what is gone
     * there is nothing to remove.
     */
    uint32_t grace_ms;
    uint8_t grace_phase;
    bool is_there;
    bool is_gone;
    /* Of LATER, said of `create`: its scope has no room for more, so others of it wait, too. */
    bool is_full;
    /*
     * Since ABI 4, of the watched shape: it was made by this store (batch->store) at this endpoint.
     * Where nobody here claims it, it is ended after keep_ms(UNDEFINED).
     */
    bool is_own;
    /*
     * Since ABI 5, of the watched shape: it speaks of a part of the job (a pod that an operator has
     * made for it), `place` by name. Only its grace counts, which ends when the same part has none
     * any more; parts without one change nothing.
     */
    bool is_part;
};

/* What the framework does for a verb's functions; each only while one of them runs. */
struct tr_webapi_api {
    uint32_t abi; /* TR_PLUGIN_ABI */
    /* Cleared memory until the function returns; NULL: none, and returning TR_MEMORY is right. */
    void *(*scratch)(struct tr_webapi_batch *batch, size_t size);
    /* JSON to a packed value (objects as maps) and back. TR_INVALID: it is none. TR_LIMIT. */
    int (*read_json)(struct tr_webapi_batch *batch, struct tr_bytes json, struct tr_bytes *value);
    int (*write_json)(struct tr_webapi_batch *batch, struct tr_bytes value, struct tr_bytes *json);
    /* Says what is known of a job. One that the batch did not ask about is ignored. TR_LIMIT. */
    int (*report)(struct tr_webapi_batch *batch, const struct tr_webapi_report *report);
    /* Of a stream: where it has to go on from after this line, or after a list. */
    int (*resume)(struct tr_webapi_batch *batch, struct tr_text cursor);
    /* Since ABI 2. Of a list: the place of its next page, at most TR_WEBAPI_CURSOR_BYTES_MAX. */
    int (*next_page)(struct tr_webapi_batch *batch, struct tr_text page);
    /* Of a watch: the back end does not know its cursor any more, so it begins anew with a list. */
    int (*begin_anew)(struct tr_webapi_batch *batch);
    /* Since ABI 7. Of a watch in the place of a list: all that there is was shown. */
    int (*caught_up)(struct tr_webapi_batch *batch);
};

/* What a response means, before `read` sees it. */
#define TR_WEBAPI_RESPONSE_CLASSES(J)                                                \
    J(READ, "read")           /* it was done; `read` says the rest. 2xx */           \
    J(REFUSED, "refused")     /* not done, and never will be like this. 4xx */       \
    J(NOT_DONE, "not done")   /* certainly not done, for now. No connection */       \
    J(THROTTLED, "throttled") /* the same: too often, or too much at once. 429 */    \
    J(DENIED, "denied")       /* refused until an operator mends credentials. 401 */ \
    J(UNSURE, "unsure")       /* done or not: 5xx, a timeout, an answer that broke off */

enum tr_webapi_response_class {
#define TRI_WEBAPI_RESPONSE(name, text) TR_WEBAPI_RESPONSE_##name,
    TR_WEBAPI_RESPONSE_CLASSES(TRI_WEBAPI_RESPONSE)
#undef TRI_WEBAPI_RESPONSE
};

/* The verbs. The number is stored with calls under way. */
#define TR_WEBAPI_VERBS(V)                                                          \
    V(CREATE, 1, create)                                                            \
    V(STATUS, 2, status)                                                            \
    V(CANCEL, 3, cancel)                                                            \
    V(FIND, 4, find)         /* identities to handles, for unknown outcomes */      \
    V(FAILURES, 5, failures) /* why those did that have failed without a message */ \
    V(STREAM, 6, stream)     /* news of a job set as they come */

enum tr_webapi_verb_number {
#define TRI_WEBAPI_VERB(name, number, member) TR_WEBAPI_VERB_##name = (number),
    TR_WEBAPI_VERBS(TRI_WEBAPI_VERB)
#undef TRI_WEBAPI_VERB
};

/* A plugin's own rule: goes before the table above. */
struct tr_webapi_rule {
    uint8_t verb;    /* enum tr_webapi_verb_number; 0: all */
    uint32_t status; /* of http */
    uint8_t response_class;
};

/*
 * `items_max` at once; 0: there is no such verb, which only `find`, `failures` and `stream` may be.
 * Errors of both functions are those of a plugin that is broken: TR_MALFORMED from `read` is an
 * answer that makes no sense, and of the class UNSURE; so is TR_BUSY, of one that says so itself.
 * `read` need not report every item: what it says nothing of was not found (find), made without a
 * handle (create), unchanged (all others).
 */
struct tr_webapi_verb {
    uint32_t items_max;
    int (*write)(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
    int (*read)(struct tr_webapi_batch *batch, const struct tr_webapi_response *response);
};

/*
 * News of a job set: `write` asks for them from where `cursor` says (empty: from the start), `line`
 * reads one line. A batch without items; reports name jobs by identity or handle. `gone` is the
 * status with which a back end says that there is nothing (yet): asked again, not an error.
 * `write_backlog` asks for the same up to now: the answer ends, and `line` reads it. NULL: the back
 * end has no such thing. It takes the place of `find` for many jobs of one job set, so a back end
 * that has it shows for a day at least what has happened, and says so where it does not know a
 * cursor.
 */
struct tr_webapi_stream {
    int (*write)(struct tr_webapi_batch *batch, struct tr_text cursor,
                 struct tr_webapi_request *request);
    int (*line)(struct tr_webapi_batch *batch, struct tr_bytes line);
    uint32_t gone;
    int (*write_backlog)(struct tr_webapi_batch *batch, struct tr_text cursor,
                         struct tr_webapi_request *request);
};

/*
 * The watched shape: what a stream of a job set is to other back ends is here one for the jobs of
 * many, their scope, and it begins with a list.
 *
 *     write_list, item ..., rest     a page of the list, as often as there are pages
 *     stream.write, stream.line ...  the watch from the list's version on
 *     begin_anew, or stream.gone     the version is not known any more: the list again
 *     write_begin, stream.line ...   in the place of the list: a watch that shows first all there
 *                                    is, up to caught_up, and then goes on as any. Where it is
 *                                    refused, or its begin says begin_anew, lists come from then on
 *
 * A job that was made before a list began, and is in none of its pages, has been deleted: it ends
 * by `ResourceDeletedExternally`, which `outcome` may know better. While its watch goes on no job
 * is asked about by `status`, but for one that it has not shown some seconds after that was made;
 * and one of unknown outcome is concluded by what the watch has shown, whatever the idempotency
 * level. A list or watch that breaks off is no fault of a job.
 *
 * The functions are handed the scope as `job_set`, and have no items.
 */
struct tr_webapi_watch {
    /* A watch that says nothing for so long begins anew: a back end that works says something. */
    uint32_t silence_ms;
    /*
     * What has ended is still there until `cancel` removes it: that is called once its task is done
     * with it. False: it goes by itself.
     */
    bool removes;
    /* The scope of a job set (batch->job_set): at most TR_WEBAPI_JOB_SET_BYTES_MAX. */
    int (*scope)(struct tr_webapi_batch *batch, struct tr_text *scope);
    /* Asks for a page; the first one where `page` is empty. It is delivered as TR_HTTP_ITEMS. */
    int (*write_list)(struct tr_webapi_batch *batch, struct tr_text page,
                      struct tr_webapi_request *request);
    /* Reads an item, as soon as it is there. */
    int (*item)(struct tr_webapi_batch *batch, struct tr_bytes item);
    /* Reads the page without its items: api->next_page, or api->resume where it was the last. */
    int (*rest)(struct tr_webapi_batch *batch, struct tr_bytes rest);
    /*
     * Since ABI 3. How long what has ended by a phase stays before it is removed; NULL: not at all.
     * Since ABI 4 it says of UNDEFINED how long what nobody claims (is_own) stays; 0: for ever.
     */
    uint64_t (*keep_ms)(const struct tr_webapi_endpoint *endpoint, uint8_t phase);
    /*
     * Since ABI 5. A second scope of a job set, whose list and watch show parts of its jobs
     * (`is_part`); empty: it has none. NULL: none has.
     */
    int (*beside)(struct tr_webapi_batch *batch, struct tr_text *scope);
    /*
     * Since ABI 7. Asks for a watch that begins with what there is; NULL: the back end has none.
     * Before caught_up its lines are taken for items of a list, and what they resume is no cursor.
     */
    int (*write_begin)(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
};

/*
 * What the task of an attempt keeps (law 6 of runtime/ARCHITECTURE.md): how the state of each
 * plugin of this shape begins. `stage` is enum tr_webapi_stage; `call` one of the plugin's own, of
 * prepare and outcome. While an outcome is read, `phase` and what is behind it say how the job has
 * ended.
 */
#define TR_WEBAPI_STAGES(S)                                \
    S(NEW, 0, "new")                                       \
    S(PREPARING, 1, "is being prepared")                   \
    S(INTENT, 2, "is about to be made")                    \
    S(UNKNOWN, 3, "may have been made; that is found out") \
    S(SUBMITTED, 4, "was made")                            \
    S(OUTCOME, 5, "has ended; its outcome is read")        \
    S(CANCELLING, 6, "is being ended")                     \
    S(TERMINAL, 7, "has ended")                            \
    S(WAITING, 8, "waits for room at its endpoint")

enum tr_webapi_stage {
#define TRI_WEBAPI_STAGE(name, number, text) TR_WEBAPI_STAGE_##name = (number),
    TR_WEBAPI_STAGES(TRI_WEBAPI_STAGE)
#undef TRI_WEBAPI_STAGE
};

#define TR_WEBAPI_ATTEMPT_FIELDS(FIELD, ARRAY)                \
    FIELD(u8, stage, 1, 0)                                    \
    FIELD(u64, call, 1, 0)                                    \
    FIELD(u32, version, 1, 0)                                 \
    ARRAY(text, endpoint, TR_WEBAPI_ENDPOINT_BYTES_MAX, 1, 0) \
    ARRAY(text, handle, TR_WEBAPI_HANDLE_BYTES_MAX, 1, 0)     \
    FIELD(u8, phase, 1, 0)                                    \
    FIELD(u8, failure, 1, 0)                                  \
    FIELD(u8, signal, 1, 0)                                   \
    FIELD(u32, exit_status, 1, 0)                             \
    ARRAY(text, code, TR_WEBAPI_CODE_BYTES_MAX, 1, 0)         \
    ARRAY(text, message, TR_WEBAPI_MESSAGE_BYTES_MAX, 1, 0)   \
    FIELD(bool, has_log, 1, 0)
#define TR_WEBAPI_ENDPOINT_BYTES_MAX 63
#define TR_WEBAPI_CODE_BYTES_MAX 63
#define TR_WEBAPI_MESSAGE_BYTES_MAX 1000

/* What `prepare` says of a job. */
struct tr_webapi_job {
    struct tr_bytes body; /* a packed value, for `create`: TR_WEBAPI_JOB_BYTES_MAX */
    bool is_ready;        /* else it waits for a call of its own: prepare is called again */
};

/* A plugin's own, where the settings of an endpoint say nothing. */
struct tr_webapi_rates {
    uint32_t calls_per_second; /* 0: TR_WEBAPI_CALLS_PER_SECOND */
    uint32_t calls_at_once;    /* 0: TR_WEBAPI_CALLS_AT_ONCE */
};

/* The Web API shape of a plugin: constant. */
struct tr_webapi {
    uint8_t idempotency; /* enum tr_webapi_idempotency */
    uint32_t lag_ms;     /* after a call that makes a job it may stay unseen for so long, unless the
                        endpoint's settings know better */
    const struct tr_webapi_rule *rules;
    size_t rule_count;
    /* Checks the plugin's own keys of an endpoint: 0, or TR_INVALID with words; NULL: none. */
    int (*check_endpoint)(struct tr_bytes config, char *problem, size_t problem_size);
    /*
     * Which jobs are made, streamed and ended together with this task's: at most
     * TR_WEBAPI_JOB_SET_BYTES_MAX. It is the same for an attempt at any time, in a store to which
     * it has moved, too, and with other settings: where it does not follow from the task alone,
     * `state` keeps it from `prepare` on. NULL: each job goes by itself.
     */
    int (*job_set)(struct tr_task_context *task, const void *state,
                   const struct tr_webapi_endpoint *endpoint, struct tr_text *job_set);
    /*
     * Says what to make; may call services first, whose answers it is called again with. A
     * transition that is a failure ends the attempt. `state` is the attempt's, of which only `call`
     * and what is behind the framework's fields may be changed; `endpoint` is the task's. Called
     * once more, as at the start, where the state was lost: it says the same again.
     */
    int (*prepare)(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition);
    /*
     * Reads what a job has left that has ended, first with its news (refresh_news) as the event.
     * `transition` is how it was reported to have ended, which stays or is made another. May call
     * services, whose answers it is called again with: its phase is RUNNING until then. NULL: the
     * end is as it was reported, with the outputs of the report.
     */
    int (*outcome)(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_transition *transition);
    struct tr_webapi_verb create;
    struct tr_webapi_verb status;
    struct tr_webapi_verb cancel;
    bool ends_job_sets; /* cancel ends a whole job set in one call, however many jobs are left */
    struct tr_webapi_verb find;
    struct tr_webapi_verb failures;
    struct tr_webapi_stream stream;
    /* Since ABI 2: read by tr_webapi_watch_of and tr_webapi_rates_of. */
    const struct tr_webapi_watch *watch; /* NULL: a stream is a job set's */
    struct tr_webapi_rates rates;
    /*
     * Since ABI 4: its endpoints are API servers of Kubernetes, so settings may name a kubeconfig;
     * tr_webapi_takes_kubeconfig. The namespace in it becomes the key `namespace` of the config.
     */
    bool takes_kubeconfig;
};

/* NULL: the plugin has none, or is older than the watched shape. */
static inline const struct tr_webapi_watch *tr_webapi_watch_of(const struct tr_plugin *plugin)
{
    return plugin->abi >= 2 && plugin->webapi != NULL ? plugin->webapi->watch : NULL;
}

static inline uint64_t tr_webapi_keep_ms(const struct tr_plugin *plugin,
                                         const struct tr_webapi_endpoint *endpoint, uint8_t phase)
{
    const struct tr_webapi_watch *watch = tr_webapi_watch_of(plugin);
    uint32_t since = phase == TR_TASK_PHASE_UNDEFINED ? 4 : 3;
    bool has = plugin->abi >= since && watch != NULL && watch->keep_ms != NULL;
    return has ? watch->keep_ms(endpoint, phase) : 0;
}

static inline bool tr_webapi_takes_kubeconfig(const struct tr_plugin *plugin)
{
    return plugin->abi >= 4 && plugin->webapi != NULL && plugin->webapi->takes_kubeconfig;
}

/* Zeros where it has none of its own. */
static inline struct tr_webapi_rates tr_webapi_rates_of(const struct tr_plugin *plugin)
{
    return plugin->abi >= 2 && plugin->webapi != NULL ? plugin->webapi->rates
                                                      : (struct tr_webapi_rates){0};
}

#endif
