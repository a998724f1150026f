/*
 * The inside of the workflow actor: the node table, and what its files do for each other.
 *
 * Only the files of this room include this. A `tri_flow` is what one handler knows: it is made at
 * its beginning and gone at its end; what lasts is in the state and its pages.
 *
 *     workflow_table.c     the node table and the queues through it; values of nodes
 *     workflow_tell.c      what history, the parent, the signals and the launcher hear
 *     workflow_notify.c    what people outside are told of an execution
 *     workflow_ask.c       questions that a node asks before it begins
 *     workflow_end.c       failures, aborts, bounds of time, and the way to the workflow's own end
 *     workflow_node_end.c  what a node's end means to those behind it, and to its branch
 *     workflow_bind.c      the inputs of a node, also where they look into values elsewhere
 *     workflow_recover.c   what an earlier execution gave, and need not be done again
 *     gate.c               gates and sleeps; what the root hands on for them
 *     branch.c             which arm is taken, and what becomes of the others
 *     workflow_children.c  walks to what runs; aborts
 *     workflow_pause.c     no node begins, and children hear of it
 *     workflow_node.c      a node begins, by its kind; the last word of its actor
 *     workflow_answer.c    answers to questions
 *     workflow.c           messages in, and the loop that does a handler's share of the work
 *
 * The files stand in their order: each calls those above it, and workflow.c calls all.
 */
#ifndef TR_ACTORS_WORKFLOW_WORKFLOW_H
#define TR_ACTORS_WORKFLOW_WORKFLOW_H

#include "actors/engine.h"
#include "actors/graph/value/slot.h"
#include "actors/store/heap.h"
#include "schemas/engine/history.h"
#include "schemas/engine/state_workflow.h"

/* Nodes of one page of the table. What a handler changes is copied, so pages are small. */
#define TRI_ROWS_PER_PAGE 64

/* What one handler does at most before it says workflow_next to itself. */
#define TRI_STARTS_MAX 64  /* children begun, or told to end */
#define TRI_STEPS_MAX 256  /* nodes told of an upstream, arms skipped */
#define TRI_LOOKS_MAX 4096 /* rows looked at for children to abort */
#define TRI_SENT_BYTES_MAX (1U << 20)

/* What is kept of a failure's texts: they go up and into history at each level. */
#define TRI_CODE_TEXT_MAX 256
#define TRI_MESSAGE_TEXT_MAX 16384

/*
 * Timers of a workflow; behind them, by node, the deadlines of those without an actor, and sleeps.
 */
#define TRI_TIMER_TIMEOUT 1
#define TRI_TIMER_DEADLINE 2
#define TRI_TIMER_QUESTION 3
#define TRI_TIMER_NODES 16
#define TRI_TIMER_SLEEPS (1ULL << 32)

/* Stands for the call of a question while a timer runs until it is put again. */
#define TRI_QUESTION_WAITS UINT64_MAX

/* What a node may have to ask before it begins. */
enum tri_question {
    TRI_QUESTION_RECOVERY, /* whether it need not run */
    TRI_QUESTION_VALUES,   /* inputs that look into values which lie elsewhere */
};

/* Where a workflow stands between its start and its end. */
enum tri_stage {
    TRI_STAGE_GRAPH,      /* its nodes run */
    TRI_STAGE_DRAIN,      /* nothing begins; what runs is being ended */
    TRI_STAGE_ON_FAILURE, /* the node on_failure runs */
    TRI_STAGE_FINALLY,    /* the node finally runs */
};

/* What a row says beside its phase. */
enum tri_row_flag {
    TRI_ROW_SKIPS = 1 << 0,      /* an upstream gave nothing: it will be skipped */
    TRI_ROW_READY = 1 << 1,      /* in the queue of those to be started */
    TRI_ROW_HAS_ARMS = 1 << 2,   /* a branch whose other arms are still to be skipped */
    TRI_ROW_TIMED_OUT = 1 << 3,  /* a branch whose deadline has passed */
    TRI_ROW_GIVES_NONE = 1 << 4, /* it ended without outputs, which are all none */
    TRI_ROW_SETTLING = 1 << 5,   /* in the queue of those that others are told of */
    TRI_ROW_SETTLES = 1 << 6,    /* goes there when it leaves the queue of those to be started */
};

/* What a row says in an execution with a recovery. */
enum tri_row_recovery {
    TRI_RECOVERY_AGAIN = 1 << 0,  /* something before it has run anew: so will it */
    TRI_RECOVERY_KNOWN = 1 << 1,  /* it was asked about, and will run */
    TRI_RECOVERY_INSIDE = 1 << 2, /* what is inside it may be kept */
};

/* A node. Zeros are one that has not begun; pages that nobody has touched need not be there. */
struct tri_row {
    uint8_t phase; /* enum tr_node_phase */
    uint8_t flags;
    uint8_t recovery; /* enum tri_row_recovery */
    uint8_t spare;
    uint32_t told;    /* upstreams that have told it of their end */
    uint32_t next;    /* + 1: behind it in the queue it is in */
    uint32_t arm;     /* + 1: of a branch, the node of the arm that is taken */
    uint64_t outputs; /* the place of its outputs, 0: none; before: of inputs that were edited */
    uint64_t child;   /* serial of the child; without one, when it began, in milliseconds */
};

_Static_assert(sizeof(struct tri_row) == 32, "rows lie on disk as they are in memory");

/* A failure of a node, or of a workflow. Texts belong to its maker. */
struct tri_failure {
    uint8_t phase; /* how the node ended: failed, timed out or aborted */
    uint8_t kind;  /* enum tr_failure_kind */
    struct tr_text code;
    struct tr_text message;
    struct tr_text failed; /* the path of the deepest node; empty: the node itself */
    uint64_t failed_element;
    struct tr_text flyte_message; /* empty: `message` */
    struct tr_text details;
};

/* A failure of a node by what its definition or its values are. */
static inline struct tri_failure tri_workflow_failure_of(const char *code, struct tr_text message)
{
    return (struct tri_failure){.phase = TR_NODE_PHASE_FAILED,
                                .kind = TR_FAILURE_USER,
                                .code = tr_text_of(code),
                                .message = message,
                                .failed_element = TR_ELEMENT_NONE};
}

/* What one handler knows. */
struct tri_flow {
    struct tr_context *context;
    struct tr_workflow_state *state;
    const struct tr_graph *graph;
    const struct tr_workflow *workflow;
    struct tr_heap heap;
    struct tr_node_start start;   /* without inputs; read by tri_workflow_start */
    struct tr_buffer start_bytes; /* under `start` */
    bool has_start;
    struct tr_buffer value; /* under a value that does not */
    struct tr_text cause;   /* of the changes of phase that are recorded, if there is one to tell */
    bool is_answered;       /* the gate that ends knows it from the signals */
    struct tr_bytes given;  /* to the node that begins: its inputs, if it had to ask for them */
    struct tr_text given_words; /* of a condition: what is not there, if anything */
    uint32_t starts_left;
    uint32_t steps_left;
    uint32_t looks_left;
    uint32_t bytes_left;
};

static inline bool tri_workflow_is_root(const struct tri_flow *flow)
{
    return flow->state->node == TR_GRAPH_NONE;
}

static inline bool tri_workflow_is_element(const struct tri_flow *flow)
{
    return flow->state->element != TR_ELEMENT_NONE;
}

/* Whether it records itself: an element's history is its array's, a decided graph's its task's. */
static inline bool tri_workflow_has_history(const struct tri_flow *flow)
{
    return !tri_workflow_is_element(flow) && !flow->state->is_dynamic;
}

/* Whether a node waits as a row of the table, for an answer or for time (gate.c). */
static inline bool tri_workflow_is_waiter(const struct tr_node *node)
{
    return node->kind == TR_NODE_APPROVE || node->kind == TR_NODE_SIGNAL ||
           node->kind == TR_NODE_SLEEP;
}

/* Whether a node that runs has no actor of its own, but a time at which it began. */
static inline bool tri_workflow_is_row(const struct tr_node *node)
{
    return node->kind == TR_NODE_BRANCH || tri_workflow_is_waiter(node);
}

/* ------------------------------------------------------ workflow_table.c */

/* The row of a node to look at; the view lives until the row is changed. */
TR_MUST_USE int tri_workflow_row_get(struct tri_flow *flow, uint32_t node, struct tri_row *row);

/* The row of a node to change; it lives until another page is edited or a size changes. */
TR_MUST_USE int tri_workflow_row_edit(struct tri_flow *flow, uint32_t node, struct tri_row **row);

/* The first page behind the table. */
uint32_t tri_workflow_heap_first(const struct tr_workflow *workflow);

/* Whether a row has ended. */
static inline bool tri_workflow_row_is_done(const struct tri_row *row)
{
    return tr_phase_is_end(TR_SUBJECT_NODE, row->phase);
}

/* Puts a node at the end of those to be started, or of those that others have to be told of. */
TR_MUST_USE int tri_workflow_ready_push(struct tri_flow *flow, uint32_t node);
TR_MUST_USE int tri_workflow_settle_push(struct tri_flow *flow, uint32_t node);

/* Puts a node that cannot begin yet in front of them again. */
TR_MUST_USE int tri_workflow_ready_return(struct tri_flow *flow, uint32_t node);

/* Takes the first one off. */
TR_MUST_USE int tri_workflow_ready_pop(struct tri_flow *flow, uint32_t *node);
TR_MUST_USE int tri_workflow_settle_pop(struct tri_flow *flow);

/* Keeps a list of slots; `place` is 0 for an empty one. */
TR_MUST_USE int tri_workflow_slots_put(struct tri_flow *flow, struct tr_bytes slots,
                                       uint64_t *place);

/* One slot of a list: a view that lives until the next call. TR_NOT_FOUND. */
TR_MUST_USE int tri_workflow_slots_find(struct tri_flow *flow, uint64_t place, uint32_t index,
                                        struct tr_bytes *slot);

/* Reads `flow->start`, whose texts live as long as the flow. */
TR_MUST_USE int tri_workflow_start(struct tri_flow *flow);

/* Keeps a message that this actor may want to read again; its version belongs into the state. */
TR_MUST_USE int tri_workflow_body_put(struct tri_flow *flow, const struct tr_schema *schema,
                                      const void *body, uint64_t *place);

/* Appends the whole list again. */
TR_MUST_USE int tri_workflow_slots_copy(struct tri_flow *flow, uint64_t place,
                                        struct tr_buffer *buffer);

/* ---------------------------------------------------- workflow_node_end.c */

/* A node has ended: with outputs at a place, without having run, or with a failure. */
TR_MUST_USE int tri_workflow_node_succeeded(struct tri_flow *flow, uint32_t node, uint8_t phase,
                                            uint64_t outputs);
TR_MUST_USE int tri_workflow_node_skipped(struct tri_flow *flow, uint32_t node);
TR_MUST_USE int tri_workflow_node_failed(struct tri_flow *flow, uint32_t node,
                                         const struct tri_failure *failure);

/* An upstream has ended; `skips`: without giving anything; `is_anew`: not as it did before. */
TR_MUST_USE int tri_workflow_node_told(struct tri_flow *flow, uint32_t node, bool skips,
                                       bool is_anew);

/* An output of a node, as tr_bind_output wants it: `self` is the flow. */
TR_MUST_USE int tri_workflow_output_find(void *self, uint32_t node, uint32_t output,
                                         struct tr_bytes *slot);

/* A node has given `ended->outputs`, those of its target: they become those of the node. */
TR_MUST_USE int tri_workflow_keep_outputs(struct tri_flow *flow, uint32_t node,
                                          const struct tr_node_ended *ended);

/* Whether a list has a slot for each output of a node. */
bool tri_workflow_outputs_complete(const struct tri_flow *flow, uint32_t node,
                                   struct tr_bytes outputs);

/* A child has succeeded, if what it gave is all that its node has to give. */
TR_MUST_USE int tri_workflow_outputs_take(struct tri_flow *flow, uint32_t node,
                                          const struct tr_node_ended *ended);

/* ------------------------------------------------------- workflow_node.c */

/* A child has said its last word. */
TR_MUST_USE int tri_workflow_child_ended(struct tri_flow *flow, const struct tr_message *message);

/* How many nodes may run at once, as the launch plan or the workflow says; 0: no bound. */
static inline uint32_t tri_workflow_width(const struct tr_workflow_state *state,
                                          const struct tr_workflow *workflow)
{
    return state->parallelism != 0 ? state->parallelism : workflow->max_parallelism;
}

/* Whether a node that is ready may begin: width and pauses are the graph's nodes'. */
bool tri_workflow_may_begin(const struct tri_flow *flow);

/* Begins the first node of the queue, unless a pause holds it back; it may have ended. */
TR_MUST_USE int tri_workflow_first_begin(struct tri_flow *flow);

/* --------------------------------------------------------------- branch.c */

/* Evaluates a branch and takes an arm. */
TR_MUST_USE int tri_workflow_branch_begin(struct tri_flow *flow, uint32_t node);

/* Goes on skipping the arms that were not taken; `is_done` when none is left. */
TR_MUST_USE int tri_workflow_branch_skip_arms(struct tri_flow *flow, uint32_t node, bool *is_done);

/* The deadline of a branch has passed. */
TR_MUST_USE int tri_workflow_branch_timed_out(struct tri_flow *flow, uint32_t node);

/* Ends a branch under an abort if nothing that could end it runs below. */
TR_MUST_USE int tri_workflow_branch_abort(struct tri_flow *flow, uint32_t node);

/* ----------------------------------------------------------------- gate.c */

/* Waits for an answer, or for time to pass. */
TR_MUST_USE int tri_workflow_gate_begin(struct tri_flow *flow, uint32_t node);
TR_MUST_USE int tri_workflow_sleep_begin(struct tri_flow *flow, uint32_t node);

/* The signals give a gate its value. */
TR_MUST_USE int tri_workflow_gate_given(struct tri_flow *flow, const struct tr_message *message);

/* A sleep is over; the deadline of a gate or a sleep has passed. Nothing if it has ended. */
TR_MUST_USE int tri_workflow_sleep_over(struct tri_flow *flow, uint32_t node);
TR_MUST_USE int tri_workflow_gate_timed_out(struct tri_flow *flow, uint32_t node);

/* Ends one that waits: aborted or timed out. */
TR_MUST_USE int tri_workflow_gate_end(struct tri_flow *flow, uint32_t node, uint8_t phase,
                                      struct tr_text message);

/* Hands on what gates, people and the signals say to the root; else it is a dead letter. */
TR_MUST_USE int tri_workflow_signals_hand_on(struct tri_flow *flow,
                                             const struct tr_message *message);

/* ------------------------------------------------------- workflow_bind.c */

/*
 * Binds the inputs of a node that begins. `is_bound` stays false where that failed the node, and
 * where it went back into the queue, since it has to ask for them.
 */
TR_MUST_USE int tri_workflow_bind_inputs(struct tri_flow *flow, uint32_t node,
                                         struct tr_buffer *inputs, bool *is_bound);

/*
 * Records the inputs of a node that is kept, and so does not begin: what it `got`, since that may
 * have been edited then; where nobody knows, what is bound, or none if that looks into values that
 * lie elsewhere. `is_fine` stays false where they cannot be bound, and it has failed.
 */
TR_MUST_USE int tri_workflow_bind_kept(struct tri_flow *flow, uint32_t node, struct tr_bytes got,
                                       bool *is_fine);

/* The edited input of that name (schemas/engine/recovery.h); false: there is none. */
bool tri_workflow_edit_find(struct tr_bytes edits, struct tr_text input, struct tr_bytes *slot);

struct tr_binder;

/* Asks for inputs that `binder` could not bind, since they lie elsewhere; the node waits. */
TR_MUST_USE int tri_workflow_bind_ask(struct tri_flow *flow, uint32_t node,
                                      struct tr_binder *binder);

/* -------------------------------------------------------- workflow_ask.c */

/* Asks for the first node of those to be started, which stays there until the answer is here. */
TR_MUST_USE int tri_workflow_ask(struct tri_flow *flow, enum tri_question kind,
                                 const struct tr_schema *schema, const void *body);

/* The time has come to ask again. */
void tri_workflow_ask_again(struct tri_flow *flow);

/* Nobody needs the answer any more. */
TR_MUST_USE int tri_workflow_ask_give_up(struct tri_flow *flow);

/* ------------------------------------------------------ workflow_answer.c */

/* What became of a question: an answer, or that there is none. */
TR_MUST_USE int tri_workflow_ask_heard(struct tri_flow *flow, const struct tr_message *message);

/* ---------------------------------------------------- workflow_recover.c */

/* Whether a node that has ended gives something else than in the earlier execution. */
TR_MUST_USE int tri_workflow_recovery_is_anew(struct tri_flow *flow, uint32_t node, bool *is_anew);

/* Asks about the first of those to be started, and others behind it, if that has to be. */
TR_MUST_USE int tri_workflow_recovery_ask(struct tri_flow *flow, bool *is_asked);

/* The answer: what is kept ends, and the others will begin. */
TR_MUST_USE int tri_workflow_recovery_answered(struct tri_flow *flow,
                                               const struct tr_message *message);

/*
 * What the child of a node is told of the recovery: nothing where it runs anew as a whole. The text
 * lives as long as the flow and `buffer`.
 */
TR_MUST_USE int tri_workflow_recovery_inside(struct tri_flow *flow, uint32_t node,
                                             struct tr_buffer *buffer, struct tr_text *recovery);

/* -------------------------------------------------------- workflow_end.c */

/* A node that nobody stands in for has failed: so has the workflow, as its policy says. */
TR_MUST_USE int tri_workflow_failed(struct tri_flow *flow, uint32_t node,
                                    const struct tri_failure *failure);

/* The parent, or `troupe abort`, ends it. */
TR_MUST_USE int tri_workflow_abort(struct tri_flow *flow, const struct tr_node_abort *abort);

/* One of its bounds of time has passed. */
TR_MUST_USE int tri_workflow_timed_out(struct tri_flow *flow, bool is_deadline);

/* Goes to the next stage where this is over; `is_over` says so, `has_ended` that it was last. */
TR_MUST_USE int tri_workflow_stage_next(struct tri_flow *flow, bool *is_over, bool *has_ended);

/* A node of on_failure or finally that stands for itself has ended. */
TR_MUST_USE int tri_workflow_handler_ended(struct tri_flow *flow, uint32_t node,
                                           const struct tri_failure *failure);

/* ---------------------------------------------------- workflow_children.c */

/* Goes on aborting children. */
TR_MUST_USE int tri_workflow_abort_children(struct tri_flow *flow);

/*
 * Goes on with a walk through the rows of nodes that run, from `*at` on: `tell` gets each of them.
 * `*goes_on` is false when it is through.
 */
TR_MUST_USE int tri_workflow_rows_walk(struct tri_flow *flow, uint32_t *at, bool *goes_on,
                                       int (*tell)(struct tri_flow *flow, uint32_t node,
                                                   const struct tri_row *row));

/* ------------------------------------------------------ workflow_pause.c */

/* The parent, or `troupe pause`, lets no node of the graph begin, or lets them begin again. */
TR_MUST_USE int tri_workflow_pause(struct tri_flow *flow, const struct tr_message *message);

/* Goes on telling children of it. */
TR_MUST_USE int tri_workflow_pause_children(struct tri_flow *flow);

/* ------------------------------------------------------- workflow_tell.c */

/* The workflow goes to another phase (enum tr_execution_phase): checked and recorded. */
TR_MUST_USE int tri_workflow_phase_set(struct tri_flow *flow, uint8_t phase, struct tr_text cause);

/* The execution was paused, or goes on, in the phase that it has. */
TR_MUST_USE int tri_workflow_pause_record(struct tri_flow *flow, struct tr_text cause);

/*
 * A node that has no actor of its own goes to another phase; it has begun at this time of the
 * steady clock, unless that is 0. `failure` may be NULL.
 */
TR_MUST_USE int tri_workflow_node_record(struct tri_flow *flow, uint32_t node, uint8_t from,
                                         uint8_t to, uint64_t begun_ms,
                                         const struct tri_failure *failure);

/* What such a node got or gave. */
TR_MUST_USE int tri_workflow_node_record_value(struct tri_flow *flow, uint32_t node,
                                               enum tr_value_side side, struct tr_bytes slots);

/*
 * Tells the parent, once, that something below runs or waits outside: to an array such an element
 * does not stand in the way of others.
 */
TR_MUST_USE int tri_workflow_tell_at_work(struct tri_flow *flow);

/* The failure in the words of the end, with how many more there were; `words` is under them. */
TR_MUST_USE int tri_workflow_final_failure(struct tri_flow *flow, struct tr_buffer *under,
                                           struct tr_buffer *words, struct tr_node_ended *failure);

/* -------------------------------------------------- workflow_notify.c */

/* Of the root: whether somebody is to be told of gates that wait. */
bool tri_workflow_tells_of_gates(const struct tri_flow *flow);

/* Of the root: tells those who are to be told of its end, or of a gate that waits. */
TR_MUST_USE int tri_workflow_notify_end(struct tri_flow *flow);
TR_MUST_USE int tri_workflow_notify_gate(struct tri_flow *flow, struct tr_text path,
                                         struct tr_text id);

/* Tells the signals that a gate waits, or that it does not any more. */
TR_MUST_USE int tri_workflow_tell_signals(struct tri_flow *flow, uint32_t node, bool waits);

/* It has ended, however: nothing is outstanding for it any more. */
TR_MUST_USE int tri_workflow_gate_leave(struct tri_flow *flow, uint32_t node);

/* The failure that is kept; false if there is none. */
TR_MUST_USE int tri_workflow_failure_get(struct tri_flow *flow, struct tr_buffer *buffer,
                                         struct tr_node_ended *failure, bool *is_there);

/* Tells the launch node that has launched this execution, if one has, that it has begun. */
TR_MUST_USE int tri_workflow_tell_launched(struct tri_flow *flow,
                                           const struct tr_node_start *start);

/* Hands what a launch node below wants to the launcher: of the root. */
TR_MUST_USE int tri_workflow_pass_launch(struct tri_flow *flow, const struct tr_message *message);

/* Says the last word and stops. */
TR_MUST_USE int tri_workflow_say_end(struct tri_flow *flow);

/* Appends the path of this workflow, with its element; and of a node of it. */
void tri_workflow_own_path_add(const struct tri_flow *flow, struct tr_buffer *buffer);
void tri_workflow_path_add(const struct tri_flow *flow, uint32_t node, struct tr_buffer *buffer);

#endif
