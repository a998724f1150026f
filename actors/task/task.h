/*
 * What the files of the task actor share: one handling of one message, and the verbs on it.
 *
 * Outside of these files nobody needs more than tr_task_behaviour (engine.h), the definitions of
 * schemas/engine/state_task.h and the functions of task_name.h.
 *
 * A task goes through steps (TR_TASK_STEPS). tri_task_go chooses the next one, and task.c enters
 * it: its function either waits for a message, or chooses the next, so that a task without cache,
 * token and files that ends at once runs through all of them in its first handler.
 *
 * The files stand here in their order: each calls those before it, and task.c calls all.
 */
#ifndef TR_ACTORS_TASK_TASK_H
#define TR_ACTORS_TASK_TASK_H

#include "actors/engine.h"
#include "actors/graph/compiled/graph.h"
#include "actors/store/task_name.h"
#include "schemas/engine/plugin.h"
#include "schemas/engine/state_task.h"

/* Texts of a failure that are kept; the middle of longer ones is left out. */
#define TR_FAILURE_MESSAGE_BYTES_MAX 4096
#define TR_FAILURE_OUTCOME_BYTES_MAX 512
#define TR_FAILURE_CODE_BYTES_MAX 255

/* What a plugin says of its phase. */
#define TR_TASK_REASON_BYTES_MAX 1024

/* What a plugin may say of its logs, and of its folder. All of this fits into one page. */
#define TR_TASK_LOGS_BYTES_MAX 4096
#define TR_TASK_FOLDER_BYTES_MAX 4096

/* All outputs of a task together, as a plugin gives them; and what may stay inline of them. */
#define TR_TASK_OUTPUTS_BYTES_MAX (1U << 20)
#define TR_TASK_INLINE_BYTES_MAX (768U << 10)

/* Memory of a handling that needs no allocation. */
#define TRI_TASK_ROOM_BYTES 1024

/* A failure of an attempt. Texts live as long as the handling. */
struct tri_task_failure {
    uint8_t kind; /* enum tr_failure_kind */
    bool is_permanent;
    bool is_unknown;
    uint8_t signal;
    uint32_t exit_status;
    struct tr_text code;
    struct tr_text outcome;       /* how it ended, where that is not the cause: "exit status 1" */
    struct tr_text message;       /* the cause */
    struct tr_text details;       /* of a failure below: as its node_ended has them */
    struct tr_text flyte_message; /* empty: `message` */
    struct tr_text failed; /* the path of a node below whose failure it is; empty: the task's own */
    uint64_t failed_element;
};

enum tri_note_use { TRI_NOTE_UNREAD, TRI_NOTE_READ, TRI_NOTE_CHANGED };

/* One handling of one message. It lives as long as the handler; so do all texts in it. */
struct tri_task {
    struct tr_task_context plugin_side; /* what the plugin is handed; stays first */
    struct tr_context *context;
    struct tr_task_state *state;
    const struct tr_message *message;
    struct tr_engine *engine;
    const struct tr_plugin *plugin; /* NULL: none for this task's type */

    struct tr_bytes start_body;
    struct tr_node_start start;
    const struct tr_graph *graph;
    const struct tr_node *node;
    const struct tr_task *task;
    const struct tr_settings *settings;

    void *plugin_state;      /* NULL until it is loaded */
    struct tr_text stranger; /* another plugin, which the stored state names; empty: none */
    struct tr_bytes packed_state;
    bool has_packed_state;
    bool is_entering; /* the step was chosen, and is not entered yet */
    bool is_waiting;  /* the plugin has said so in this handling: nothing is outside yet */
    bool has_outputs;
    bool is_decision;                /* they are the document of a graph: task_dynamic.c */
    struct tr_bytes outputs;         /* slots */
    struct tri_task_failure refusal; /* why outputs were refused; no code: they were not */
    struct tr_task_note note;
    enum tri_note_use note_use;

    bool has_template;
    bool has_identity;
    bool is_over;                /* node_ended is said */
    struct tr_text error_output; /* of the attempt that has failed */
    int failure;                 /* of a function the plugin called: the handler fails with it */
    struct tr_task_template template;
    struct tr_text template_problem; /* why it could not be filled in; empty: it could */
    struct tr_task_identity identity;
    struct tr_arena arena;
    char name[TR_TASK_NAME_BYTES_MAX + 1];
};

/* A document of JSON as the text that it is, and the other way round. */
static inline struct tr_text tri_task_text_of_bytes(struct tr_bytes bytes)
{
    return (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
}

static inline struct tr_bytes tri_task_bytes_of_text(struct tr_text text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
}

/* A text of a literal in the handling's memory. */
#define TRI_LITERAL_TEXT(literal) \
    ((struct tr_text){.data = "" literal, .size = sizeof(literal) - 1})

/* The functions a plugin calls: task_api.c. */
extern const struct tr_task_api tri_task_api;

/* A handling of a message, with everything but its memory. */
static inline void tri_task_init(struct tri_task *task, struct tr_context *context,
                                 struct tr_task_state *state, const struct tr_message *message)
{
    *task = (struct tri_task){
        .plugin_side = {.api = &tri_task_api},
        .context = context,
        .state = state,
        .message = message,
        .engine = tr_engine_of(context),
    };
}

/* ----------------------------------------------- task_pages.c: what is kept */

/* Fills in what the first message, or page 0, says; TR_NOT_FOUND: no such graph or node. */
TR_MUST_USE int tri_task_open(struct tri_task *task);

/* Writes what has to be there for the next message. */
TR_MUST_USE int tri_task_keep(struct tri_task *task);

/* Bytes in pages that may be many: `span` names the place, `size` is in the state. */
enum tri_span { TRI_SPAN_START, TRI_SPAN_OUTPUTS, TRI_SPAN_URIS, TRI_SPAN_INPUTS };
TR_MUST_USE int tri_task_span_set(struct tri_task *task, enum tri_span span, struct tr_bytes bytes);
TR_MUST_USE int tri_task_span_add(struct tri_task *task, enum tri_span span, struct tr_bytes bytes);
TR_MUST_USE int tri_task_span_get(struct tri_task *task, enum tri_span span,
                                  struct tr_bytes *bytes);

/* The current attempt's name and place. It lives as long as the handling, until the next try. */
const struct tr_task_identity *tri_task_identity(struct tri_task *task);

/* The inputs: those of node_start, or those with fetched files. */
TR_MUST_USE int tri_task_inputs(struct tri_task *task, struct tr_bytes *inputs);

/* The note, to read or to change. */
TR_MUST_USE int tri_task_note(struct tri_task *task, bool is_change);

/*
 * The plugin's state, as the last event left it; zeros where it cannot be read, and `fault` says
 * why (TR_VERSION, TR_MALFORMED; 0: it is as it was). The plugin is that of the state from now on;
 * NULL with a fault: nobody serves this task.
 */
TR_MUST_USE int tri_task_plugin_state_load(struct tri_task *task, int *fault);

/* Zeros for a new attempt. */
TR_MUST_USE int tri_task_plugin_state_new(struct tri_task *task);

/* Packs it for tri_task_keep. TR_LIMIT: larger than a plugin's may be; or what packing says. */
TR_MUST_USE int tri_task_plugin_state_pack(struct tri_task *task);

/* ---------------------------------------------- task_template.c: what it is */

const struct tr_task_template *tri_task_template(struct tri_task *task);

/* Whether its command asks for Flyte's inputs: what it asks of a machine is meant for a cluster. */
bool tri_task_is_flytes(const struct tri_task *task);

/* STORE/attempts/EXECUTION/NAME, its end, EXECUTION/NAME, and
 * STORE/checkpoints/EXECUTION/PATH@ELEMENT, of a dynamic task PATH@. */
struct tr_text tri_task_attempt_folder(struct tri_task *task);
struct tr_text tri_task_attempt_name(struct tri_task *task);
struct tr_text tri_task_checkpoint_folder(struct tri_task *task);

/* The fence around what an attempt elsewhere has left; nothing is set where it ran here. */
TR_MUST_USE int tri_task_fence(struct tri_task *task, struct tr_text *folder,
                               uint32_t *trusted_bytes);

/* ------------------------------------------------- task_step.c: where it is */

/* Chooses the next step, which is entered when this handling has nothing else to do. */
TR_MUST_USE int tri_task_go(struct tri_task *task, enum tr_task_step step);

/* Begins a call of the engine's own: its outcome comes to tri_task_answered. */
TR_MUST_USE int tri_task_call(struct tri_task *task, uint16_t service,
                              const struct tr_schema *schema, const void *body);

/* Timers of the engine's own; those of a plugin are (attempt + 1) << 32 | number. */
#define TRI_TASK_TIMER_OWN (1ULL << 63)
enum tri_task_timer {
    TRI_TIMER_ATTEMPT = 1, /* timeout_ns of an attempt */
    TRI_TIMER_DEADLINE,    /* deadline_ns of the node */
    TRI_TIMER_RETRY,
    TRI_TIMER_FILES, /* the files service is asked again for what could not be done */
};
TR_MUST_USE int tri_task_timer_start(struct tri_task *task, enum tri_task_timer timer,
                                     uint64_t delay_ms);
TR_MUST_USE int tri_task_timer_stop(struct tri_task *task, enum tri_task_timer timer);

/* The step's call is made again after a while. Without a call under way it is this that the step
 * waits for, as the note says. */
TR_MUST_USE int tri_task_wait_out(struct tri_task *task, struct tr_text why, uint64_t wait_ms);

/* A bound in nanoseconds as milliseconds, not shorter. */
static inline uint64_t tri_task_milliseconds(int64_t nanoseconds)
{
    return nanoseconds <= 0 ? 0 : ((uint64_t)nanoseconds + 999999) / 1000000;
}

/*
 * The limit of an attempt, settings->timeout_ns, from its first call on. It stands still while the
 * plugin waits for the files service, whose queue is none of the task's doing, and goes on with the
 * answer.
 */
TR_MUST_USE int tri_task_timeout_begin(struct tri_task *task);
void tri_task_timeout_hold(struct tri_task *task, uint64_t files_call);
TR_MUST_USE int tri_task_timeout_go_on(struct tri_task *task, uint64_t call);

/* Gives the attempt's quota, pool and amounts back, if it has any. */
TR_MUST_USE int tri_task_token_release(struct tri_task *task);

/* ------------------------------ task_phase.c: phases, and who hears of them */

/* Whether it is an element of an array, and no node of its own. */
static inline bool tri_task_is_element(const struct tri_task *task)
{
    return task->start.element != TR_ELEMENT_NONE;
}

/* How many attempts were begun: none where the cache had it. */
uint32_t tri_task_attempts(const struct tri_task *task);

/* The node is queued; its inputs are written down. */
TR_MUST_USE int tri_task_node_begin(struct tri_task *task);

TR_MUST_USE int tri_task_node_phase(struct tri_task *task, uint8_t phase, struct tr_text cause);
TR_MUST_USE int tri_task_attempt_phase(struct tri_task *task, uint8_t phase);

/* The attempt's state was lost: the phase stays, the history says so. */
TR_MUST_USE int tri_task_lost_phase(struct tri_task *task);

/* The attempt goes on beyond its first message: that of an element is on record from now on. */
TR_MUST_USE int tri_task_lasts(struct tri_task *task);

/* Tells the parent of a phase that lasts. */
TR_MUST_USE int tri_task_news(struct tri_task *task, uint8_t phase, struct tr_text message);

/* The node's last change: its phase, and for a success (no failure) its outputs, in history. */
TR_MUST_USE int tri_task_node_end(struct tri_task *task, uint8_t phase,
                                  const struct tri_task_failure *failure, struct tr_text cause);

/* A text that a plugin gave: at most so long, and UTF-8; what is none of it becomes '?'. */
struct tr_text tri_task_clean_text(struct tri_task *task, struct tr_text text, size_t size_max);

/* --------------------------------------------- task_outputs.c: what it gave */

/* Checks slots by the interface: 0, or TR_INVALID with words, which are in `refusal` too. */
TR_MUST_USE int tri_task_outputs_check(struct tri_task *task, struct tr_bytes slots,
                                       struct tr_text *problem);

/*
 * Slots from a document, missing optional ones filled in. TR_INVALID as above; TR_LIMIT: a part of
 * it lies elsewhere.
 */
TR_MUST_USE int tri_task_outputs_from_document(struct tri_task *task, enum tr_document_form form,
                                               struct tr_bytes document, struct tr_text folder,
                                               struct tr_bytes *slots, struct tr_text *problem);

/* The inputs as a document. TR_LIMIT: a value lies elsewhere; TR_INVALID: tr_flyte_write says. */
TR_MUST_USE int tri_task_inputs_to_document(struct tri_task *task, enum tr_document_form form,
                                            struct tr_bytes *document);

/* A failure from the error document of a task. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_task_failure_from_document(struct tri_task *task, enum tr_document_form form,
                                               struct tr_bytes document,
                                               struct tr_transition *transition);

/* The outputs of an attempt that has succeeded, kept over messages; and for a finalize later. */
TR_MUST_USE int tri_task_outputs_keep(struct tri_task *task);
TR_MUST_USE int tri_task_outputs_keep_for_later(struct tri_task *task);
TR_MUST_USE int tri_task_outputs_load(struct tri_task *task);

/*
 * Whether outputs are none, but a document that decides a graph: bytes that are the document, or a
 * text that says where in the blob store it lies.
 */
bool tri_task_decision_is(struct tr_bytes outputs);

/* How many workflows the task's node lies in. */
uint32_t tri_task_depth(const struct tri_task *task);

/* -------------------------------------------------- task_end.c: how it ends */

/* Why the task's plugin is not called any more, or NULL. */
const char *tri_task_quarantine(const struct tri_task *task);

/* Lets the plugin clean up behind an attempt that has ended in `phase`; gives the token back. */
TR_MUST_USE int tri_task_finalize(struct tri_task *task, uint8_t phase);

/* After success, with everything kept: finalize, cache, end. */
TR_MUST_USE int tri_task_settle(struct tri_task *task);

/* The last word of a task that has succeeded; `outputs` are its outputs. */
TR_MUST_USE int tri_task_enter_end(struct tri_task *task);

/* Makes a failure permanent that the settings' retry_on and never_retry_on do not let retry. */
void tri_task_choose_retry(struct tri_task *task, struct tri_task_failure *failure);

/* The exception of a traceback of Python's at the end of a program's stderr, or an empty text. */
struct tr_text tri_task_exception(struct tr_text error_output);

/* An attempt has failed, and nothing of it runs: it is tried again, or the task ends. */
TR_MUST_USE int tri_task_fail(struct tri_task *task, const struct tri_task_failure *failure);

/* The same with the failure that the note holds. */
TR_MUST_USE int tri_task_fail_as_noted(struct tri_task *task);

/* Ends with a failure that is not tried again. */
TR_MUST_USE int tri_task_end_failed(struct tri_task *task, uint8_t phase,
                                    const struct tri_task_failure *failure);

/* Ends as `state->ending` says; nothing runs any more. */
TR_MUST_USE int tri_task_end_aborted(struct tri_task *task);

/* -------------------------------------------------- task_token.c: resources */

TR_MUST_USE int tri_task_enter_token(struct tri_task *task);
TR_MUST_USE int tri_task_token_again(struct tri_task *task);
TR_MUST_USE int tri_task_on_token_again(struct tri_task *task);
TR_MUST_USE int tri_task_on_granted(struct tri_task *task);
TR_MUST_USE int tri_task_on_refused(struct tri_task *task);

/* -------------------------------------------------- task_cache.c: the cache */

/* What became of a call of the engine's own: `error` with words, or 0 and the answer. */
struct tri_reply {
    int error;
    struct tr_text message;
    const struct tr_task_event *event;
};

TR_MUST_USE int tri_task_enter_digest(struct tri_task *task);
TR_MUST_USE int tri_task_enter_lookup(struct tri_task *task);
TR_MUST_USE int tri_task_enter_reserve(struct tri_task *task);
TR_MUST_USE int tri_task_on_cache_owner(struct tri_task *task);
TR_MUST_USE int tri_task_enter_put(struct tri_task *task);
TR_MUST_USE int tri_task_reservation_again(struct tri_task *task);
TR_MUST_USE int tri_task_digest_again(struct tri_task *task);
TR_MUST_USE int tri_task_digest_answered(struct tri_task *task, const struct tri_reply *reply);
TR_MUST_USE int tri_task_lookup_answered(struct tri_task *task, const struct tri_reply *reply);
TR_MUST_USE int tri_task_put_answered(struct tri_task *task, const struct tri_reply *reply);

/* -------------------------------------------- task_files.c: files and blobs */

TR_MUST_USE int tri_task_enter_fetch(struct tri_task *task);
TR_MUST_USE int tri_task_enter_keep(struct tri_task *task);
TR_MUST_USE int tri_task_enter_offload(struct tri_task *task);

TR_MUST_USE int tri_task_fetch_next(struct tri_task *task);
TR_MUST_USE int tri_task_fetch_answered(struct tri_task *task, const struct tri_reply *reply);
TR_MUST_USE int tri_task_keep_next(struct tri_task *task);
TR_MUST_USE int tri_task_keep_answered(struct tri_task *task, const struct tri_reply *reply);
TR_MUST_USE int tri_task_offload_again(struct tri_task *task);
TR_MUST_USE int tri_task_offload_answered(struct tri_task *task, const struct tri_reply *reply);

/* ------------------------------- task_dynamic.c: a graph instead of outputs */

/* Whether the task may decide a graph. */
static inline bool tri_task_is_dynamic(const struct tri_task *task)
{
    return task->node->kind == TR_NODE_DYNAMIC;
}

TR_MUST_USE int tri_task_enter_graph(struct tri_task *task);
TR_MUST_USE int tri_task_graph_again(struct tri_task *task);
TR_MUST_USE int tri_task_graph_answered(struct tri_task *task, const struct tri_reply *reply);
TR_MUST_USE int tri_task_enter_inner(struct tri_task *task);
TR_MUST_USE int tri_task_on_inner_ended(struct tri_task *task);

/* Says to the workflow inside what was said to the task: a pause, an abort. */
TR_MUST_USE int tri_task_inner_tell(struct tri_task *task, const struct tr_schema *schema,
                                    const void *body);
TR_MUST_USE int tri_task_inner_abort(struct tri_task *task);

/* --------------------------------------------------- task_run.c: an attempt */

TR_MUST_USE int tri_task_enter_run(struct tri_task *task);
TR_MUST_USE int tri_task_enter_abort(struct tri_task *task);

/* Hands an event to the plugin, in RUN and ABORT. */
TR_MUST_USE int tri_task_event(struct tri_task *task, const struct tr_task_event *event);

/* What may run outside is ended first, and then the attempt has failed so. */
TR_MUST_USE int tri_task_give_up(struct tri_task *task, const struct tri_task_failure *failure);

/* ------------------------------------------------ task_abort.c: told to end */

/* node_abort, or the node's deadline: in whichever step. */
TR_MUST_USE int tri_task_abort(struct tri_task *task, uint8_t phase, bool is_hard,
                               struct tr_text cause);

/* ----------------------------- task_answer.c: answers to the calls of steps */

/* What became of the call that the step waits for: ANSWER or FAILED. */
TR_MUST_USE int tri_task_answered(struct tri_task *task, const struct tr_task_event *event);

/* Asks the files service again for what it was short of something for. */
TR_MUST_USE int tri_task_ask_again(struct tri_task *task);

#endif
