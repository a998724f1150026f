/*
 * The table of a plugin's functions, and what they are handed: how tasks reach the outside.
 *
 * It stands here so that neither side includes the other: the `task` actor (actors/) calls through
 * this table, plugins (plugins/, or a shared object) fill it in, with the comforts of
 * plugins/sdk/plugin.h. A plugin does not know whether its task is a node or an element of an
 * array.
 *
 * This is the core shape. A plugin's functions run in the handler of the task's actor: no input or
 * output, no waiting, no clock but tr_task_now_ms. What they want from outside are calls, whose
 * answers come as events. Its state is a struct of its own schema, stored for it, handed back as it
 * left it, and changed by the plugin alone; zeros at the first event of each attempt.
 *
 *     event START                      -> the plugin asks for what it needs: task->api->call(...)
 *     event ANSWER, FAILED, NEWS, TIMER -> until the transition's phase is an end
 *
 * After a crash of the engine a call that was under way is answered by FAILED with
 * TR_NO_CONNECTION: the outside may or may not have heard it, and the plugin asks the outside what
 * became of its identity before it does anything again (law 5 of runtime/ARCHITECTURE.md).
 */
#ifndef TR_SCHEMAS_ENGINE_PLUGIN_H
#define TR_SCHEMAS_ENGINE_PLUGIN_H

#include "schemas/codec/field.h"
#include "schemas/engine/phase.h"

/*
 * Raised by every change of what stands in this file and in webapi.h. Plugins of all versions from
 * the oldest on are taken: what a later one has added is not looked for in theirs.
 */
#define TR_PLUGIN_ABI 7
#define TR_PLUGIN_ABI_OLDEST 1

/* What a task's environment says. */
struct tr_environment {
    struct tr_text name;
    struct tr_text value;
    /*
     * It means something on this machine alone: the value of the engine's environment, if it is set
     * there, or this one.
     */
    bool is_passed_on;
};

/* A secret by reference; its value is never in the engine's hands. */
struct tr_secret {
    struct tr_text name; /* of the environment variable */
    struct tr_text group;
    struct tr_text key;
    struct tr_text version; /* empty: the newest */
    bool is_file;           /* the variable gives the path of a file that holds it */
};

/* What has to be free on a machine while an attempt runs; 0: nothing is asked for. */
struct tr_resources {
    uint64_t cpu_millis;
    uint64_t memory_bytes;
    uint64_t gpu_count;
    uint64_t storage_bytes;
    uint64_t ephemeral_storage_bytes;
};

/* What the command of a task runs in; the words are the keys of the language. */
#define TR_SOFTWARE_KINDS(K) \
    K(NONE, 0, "")           \
    K(VENV, 1, "venv")       \
    K(CONDA, 2, "conda")     \
    K(CONTAINER, 3, "container")

enum tr_software_kind {
#define TRI_SOFTWARE_KIND(name, number, key) TR_SOFTWARE_##name = (number),
    TR_SOFTWARE_KINDS(TRI_SOFTWARE_KIND)
#undef TRI_SOFTWARE_KIND
};

#define TR_SOFTWARE_KIND_LAST TR_SOFTWARE_CONTAINER

/*
 * Software that is made, or fetched, before a command runs in it. A relative file counts from the
 * folder of the task's definition.
 */
struct tr_software {
    uint8_t kind;        /* enum tr_software_kind; the rest is empty for none */
    struct tr_text file; /* of requirements, or of an environment; empty: these lines */
    const struct tr_text *requirements;
    uint32_t requirement_count;
    struct tr_text python;        /* the interpreter of a venv; empty: python3 */
    struct tr_text image;         /* of a container */
    struct tr_text runtime;       /* which runs it; empty: the first that there is */
    const struct tr_text *mounts; /* folders of this machine that it has, too, at the same paths */
    uint32_t mount_count;
};

/* Of a plugin that runs none: with the key and the task's type (size and bytes). */
#define TR_SOFTWARE_REFUSED_WORDS \
    "'%s' is for processes of this machine, and tasks of type '%.*s' are none here\nremove it"

/* The key of a kind; "" for none. */
static inline const char *tr_software_key(uint8_t kind)
{
    static const char *const keys[] = {
#define TRI_SOFTWARE_KEY(name, number, key) [number] = (key),
        TR_SOFTWARE_KINDS(TRI_SOFTWARE_KEY)
#undef TRI_SOFTWARE_KEY
    };
    return kind <= TR_SOFTWARE_KIND_LAST ? keys[kind] : "";
}

/*
 * One input or output of a task. `type` is the same pointer for equal types of one task, and means
 * nothing else.
 */
struct tr_task_variable {
    struct tr_text name;
    const void *type;
};

/*
 * flyteidl.core.TaskTemplate with the node's overrides merged in; it lives as long as the call.
 * While an attempt runs, Flyte's templates in argv, environment and configuration are filled in,
 * and arguments that begin with ./ or ../ are made absolute from the folder.
 */
struct tr_task_template {
    struct tr_text name;
    struct tr_text type;
    struct tr_text folder; /* of the definition's file */
    const struct tr_text *argv;
    uint32_t argc;
    bool is_stdin_inputs;
    bool is_stdout_outputs;
    bool is_interruptible;
    int64_t timeout_ns; /* of one attempt; the framework keeps it, a plugin may hand it on */
    int64_t grace_ns;
    struct tr_resources resources;
    const struct tr_environment *environment;
    uint32_t environment_count;
    const struct tr_secret *secrets;
    uint32_t secret_count;
    struct tr_bytes config; /* a packed map, or empty */
    struct tr_software software;
    uint32_t output_count;
    uint32_t input_count;
    bool has_flyte_inputs;  /* a template of Flyte's asks for inputs.pb */
    bool has_flyte_outputs; /* one says where outputs.pb and error.pb go, so that they count */
    bool is_dynamic;        /* the outputs may decide a graph */
    /*
     * What a task of Flyte's and its node say beside all that: a flyteidl.core.TaskTemplate and a
     * flyteidl.core.Node as JSON, packed maps; or empty.
     */
    struct tr_bytes extra;
    struct tr_bytes node_extra;
};

/* How the documents of a task are written. */
enum tr_document_form {
    TR_DOCUMENT_JSON,
    TR_DOCUMENT_FLYTE,         /* Flyte's protobuf: inputs.pb, outputs.pb, error.pb */
    TR_DOCUMENT_FLYTE_FUTURES, /* futures.pb: a graph in the place of a dynamic task's outputs */
};

/* The names of Flyte's documents, in an attempt's folder. */
#define TR_FLYTE_INPUTS "inputs.pb"
#define TR_FLYTE_OUTPUTS "outputs.pb"
#define TR_FLYTE_ERROR "error.pb"
#define TR_FLYTE_ERRORS "error*.pb" /* and those of several workers, error-WORKER.pb */
#define TR_FLYTE_FUTURES "futures.pb"
#define TR_FLYTE_DECK "deck.html"

/* The identity of a task. */
struct tr_task_identity {
    struct tr_text execution; /* PROJECT/DOMAIN/NAME */
    struct tr_text path;      /* below the execution, without the element: "w/squares" */
    uint64_t element;         /* or TR_ELEMENT_NONE */
    uint32_t attempt;
    struct tr_text
        generated_name; /* of this attempt: the key of idempotency, [a-z0-9-], at most 63 */
    uint64_t execution_number;
    uint64_t store; /* no other store has this number; 0 where no plugin has an endpoint */
};

/* What a plugin's function is called for. */
enum tr_task_event_kind {
    TR_TASK_START,  /* the attempt begins */
    TR_TASK_ANSWER, /* `call` was answered by a message */
    TR_TASK_FAILED, /* `call` was not answered: `error` */
    TR_TASK_NEWS,   /* a service said something more */
    TR_TASK_TIMER,  /* `call` is the timer's number */
};

struct tr_task_event {
    uint8_t kind; /* enum tr_task_event_kind */
    uint64_t call;
    int error;
    uint16_t type; /* of the message: schema->id */
    uint8_t version;
    struct tr_bytes body;
};

/* The end of what a failed attempt wrote to stderr, as much of it as is kept. */
#define TR_ERROR_OUTPUT_BYTES_MAX 4096

/*
 * What work has used, with all that it has started and waited for. `memory_bound` are the bytes
 * that it was to use at most, 0 without a bound; `is_bound_kept`: it could not have used more.
 */
struct tr_usage {
    uint64_t memory_bytes_max;
    uint64_t cpu_us;
    uint64_t elapsed_us;
    uint64_t memory_bound;
    bool is_bound_kept;
};

/*
 * What comes of a handling: the phase the attempt is in now. Texts live until the function that
 * called returns. For an end: SUCCESS needs the outputs given before; RETRYABLE_FAILURE and
 * PERMANENT_FAILURE need code and message, and `failure` whose budget pays (enum tr_failure_kind).
 * `is_unknown` stays with the attempt once it was said, however that one ends. While an attempt
 * `is_waiting` from its start on, its work was not handed outside: it counts among those of a map
 * that are only so many at once (actors/array/array.h).
 *
 * Of work that has failed `outcome` is how it ended ("exit status 1"), where that says less than
 * its `message`, which is the cause; `error_output` are the last lines that it wrote to stderr, at
 * most TR_ERROR_OUTPUT_BYTES_MAX. `usage` is what the work has used, zeros where it is not known.
 */
struct tr_transition {
    uint8_t phase; /* enum tr_task_phase */
    uint8_t failure;
    bool is_unknown; /* it cannot be found out whether the work was done */
    uint8_t signal;  /* of a process that has failed: what ended it, and its exit status */
    uint32_t exit_status;
    uint32_t version; /* an event goes out for a phase and version not seen before */
    struct tr_text reason;
    struct tr_text code;
    struct tr_text message;
    bool is_waiting;
    struct tr_text outcome;
    struct tr_text error_output;
    struct tr_usage usage;
};

struct tr_task_context;
struct tr_plugin;
struct tr_webapi;
struct tr_webapi_endpoint;

/* What the engine does for a plugin's functions; each may be called only within one of them. */
struct tr_task_api {
    uint32_t abi;
    uint64_t (*now_ms)(struct tr_task_context *task); /* never put back: for times to keep */
    uint64_t (*random)(struct tr_task_context *task);
    const struct tr_task_template *(*template)(struct tr_task_context *task);
    const struct tr_task_identity *(*identity)(struct tr_task_context *task);
    /* The folder for this store's files; "" where there is none. */
    struct tr_text (*store_folder)(struct tr_task_context *task);
    /* Below it: this attempt's own, and what all attempts of the task or element share. */
    struct tr_text (*attempt_folder)(struct tr_task_context *task);
    struct tr_text (*checkpoint_folder)(struct tr_task_context *task);
    /* Memory that lives until the plugin's function has returned; NULL when there is none. */
    void *(*scratch)(struct tr_task_context *task, size_t size);
    /* The inputs: packed slots, and as one JSON object. Errors: TR_MEMORY, TR_LIMIT (too large). */
    struct tr_bytes (*inputs)(struct tr_task_context *task);
    int (*inputs_json)(struct tr_task_context *task, struct tr_text *json);
    /*
     * Gives the outputs: packed slots in the order of the interface, or a JSON object that is read
     * and checked by it; relative paths count from `folder`. TR_INVALID with words in `problem`;
     * a SUCCESS all the same becomes a failure of the task with them (OutputsNotFound,
     * MismatchingTypes), and so does one without outputs where some are needed.
     */
    int (*outputs)(struct tr_task_context *task, struct tr_bytes slots);
    int (*outputs_json)(struct tr_task_context *task, struct tr_text json, struct tr_text folder,
                        struct tr_text *problem);
    /* Calls a service outside when everything so far is committed; `call` names the answer. */
    int (*call)(struct tr_task_context *task, uint16_t service, const struct tr_schema *schema,
                const void *body, uint64_t timeout_ms, uint64_t *call);
    /* Tells a service something that has no answer. */
    int (*tell)(struct tr_task_context *task, uint16_t service, const struct tr_schema *schema,
                const void *body);
    /* A timer of this plugin's own; numbers below 2^32. One of the same number is replaced. */
    int (*timer)(struct tr_task_context *task, uint64_t number, uint64_t delay_ms);
    int (*timer_stop)(struct tr_task_context *task, uint64_t number);
    /* For people: where the logs are and where it ran. */
    int (*log)(struct tr_task_context *task, struct tr_text name, struct tr_text uri);
    int (*folder)(struct tr_task_context *task, struct tr_text path);
    /* What the inputs and outputs are called; `index` is below the template's count. */
    struct tr_task_variable (*input)(struct tr_task_context *task, uint32_t index);
    struct tr_task_variable (*output)(struct tr_task_context *task, uint32_t index);
    /*
     * Reads an error document, {"code", "message", "recoverable"}, into the transition, which
     * becomes a failure of the user's whatever stands in it.
     */
    int (*failure_json)(struct tr_task_context *task, struct tr_text json,
                        struct tr_transition *transition);
    /*
     * Plans for the files service, where documents are too large for the functions above and
     * below: blob_make writes the inputs as one, values_read reads the outputs from one (relative
     * paths in it count from `folder`). TR_LIMIT, TR_MEMORY.
     */
    int (*inputs_plan)(struct tr_task_context *task, enum tr_document_form form,
                       struct tr_bytes *plan);
    int (*outputs_plan)(struct tr_task_context *task, enum tr_document_form form,
                        struct tr_text folder, struct tr_bytes *plan);
    /* The plugin whose function runs. */
    const struct tr_plugin *(*plugin)(struct tr_task_context *task);
    /* An endpoint of this plugin's by its name, empty: the first one; NULL: there is none. */
    const struct tr_webapi_endpoint *(*endpoint)(struct tr_task_context *task, struct tr_text name);
    /*
     * Tells its refresh actor a message of schemas/engine/refresh.h. TR_NOT_FOUND: no such
     * endpoint.
     */
    int (*refresh)(struct tr_task_context *task, struct tr_text endpoint,
                   const struct tr_schema *schema, const void *body);
    /*
     * As inputs_json, outputs_json and failure_json, in any form. TR_LIMIT of the outputs, too: a
     * part of them lies elsewhere, so that only the files service can read them.
     */
    int (*inputs_document)(struct tr_task_context *task, enum tr_document_form form,
                           struct tr_bytes *document);
    int (*outputs_document)(struct tr_task_context *task, enum tr_document_form form,
                            struct tr_bytes document, struct tr_text folder,
                            struct tr_text *problem);
    int (*failure_document)(struct tr_task_context *task, enum tr_document_form form,
                            struct tr_bytes document, struct tr_transition *transition);
    /*
     * As `folder`, of work that is done elsewhere and shares this folder: its outputs may name
     * files below it and no others. The first `trusted_bytes` of the path are the operator's own
     * word, to the rest others write, too (struct tr_fence of schemas/runtime/files.h).
     */
    int (*shared_folder)(struct tr_task_context *task, struct tr_text path, size_t trusted_bytes);
    /* Since ABI 5. JSON to a packed value, as that of struct tr_webapi_api. */
    int (*read_json)(struct tr_task_context *task, struct tr_bytes json, struct tr_bytes *value);
};

/* The head of what a plugin's functions are handed; the rest is the engine's. */
struct tr_task_context {
    const struct tr_task_api *api;
};

/* A plugin. Constant; `id` and the state's schema id are never given twice. */
struct tr_plugin {
    uint32_t abi; /* TR_PLUGIN_ABI */
    const char *id;
    const char *const *task_types; /* ended by NULL */
    bool is_default;               /* for task types that no other plugin names */
    /* A namespace of the resource manager that an attempt needs a token of; NULL: none. */
    const char *resource;
    /* Its work is done on this machine: it books amounts of it, and ends where the store leaves. */
    bool is_local;
    /*
     * Its work sees this machine's files: those of inputs are fetched, those of outputs kept. Of
     * work that is not done on this machine only those of its own folder (`folder`,
     * `shared_folder`).
     */
    bool shares_files;
    bool runs_software; /* it runs commands in what `software` of their template says */
    /* Role TR_STATE, at most TR_PLUGIN_STATE_BYTES_MAX packed; NULL: none, `state` is NULL then. */
    const struct tr_schema *state;
    /*
     * Checks a task's own configuration before anything runs: 0, or TR_INVALID with words. NULL:
     * this plugin has none, and any is refused.
     */
    int (*check)(const struct tr_task_template *task, char *problem, size_t problem_size);
    int (*handle)(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition);
    /*
     * Ends what runs outside. Called with START when the abort begins and with each event from then
     * on, until its phase is ABORTED (nothing runs any more), or another end that was quicker.
     * `is_hard`: without grace. May come twice.
     */
    int (*abort)(struct tr_task_context *task, void *state, bool is_hard,
                 const struct tr_task_event *event, struct tr_transition *transition);
    /* Cleans up behind an attempt that has ended somehow. Only tells. May come twice; or NULL. */
    int (*finalize)(struct tr_task_context *task, void *state, uint8_t phase);
    /*
     * The Web API shape (schemas/engine/webapi.h), whose framework has the functions above; or
     * NULL.
     */
    const struct tr_webapi *webapi;
    /*
     * Since ABI 6: its work finds and leaves Flyte's documents, though it is not done on this
     * machine. Templates that name places are filled in with the attempt's own folder and that of
     * its checkpoints, which the plugin puts its places in for; files that lie elsewhere are handed
     * on as they are.
     */
    bool has_documents;
};

/* Whether the work of a plugin reads and writes Flyte's documents. */
static inline bool tr_plugin_has_documents(const struct tr_plugin *plugin)
{
    return plugin->is_local || (plugin->abi >= 6 && plugin->has_documents);
}

/* A plugin's packed state. */
#define TR_PLUGIN_STATE_BYTES_MAX 4096

#endif
