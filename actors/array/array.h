/*
 * What the parts of an array share. An array (law 7 of runtime/ARCHITECTURE.md) is the actor of a
 * `map` node: one child for each live element, and for each that has ended some bits and an output.
 *
 * Its pages, from the first one on:
 *
 *     TRI_ARRAY_SOURCES   the inputs that are cut into elements: where each stands
 *     TRI_ARRAY_ERRORS    how often each failure was seen, and the first one in words
 *     TRI_ARRAY_ERROR_DETAILS  lines about the attempt of the first one
 *     TRI_ARRAY_HISTORY   changes of elements on their way to a row of history
 *     TRI_ARRAY_OUTPUTS   of each output that is gathered, its place in the heap
 *     TRI_ARRAY_FIRST     the node_start as it came; behind it a piece of each source;
 *                         from `block_page` on two for each block of 256 elements: how they stand,
 *                         and their actors while they live; behind them the heap
 *
 * What is in pages is written and read on machines of one kind.
 */
#ifndef TR_ACTORS_ARRAY_ARRAY_H
#define TR_ACTORS_ARRAY_ARRAY_H

#include "actors/engine.h"
#include "actors/graph/value/slot.h"
#include "actors/history/history.h"
#include "actors/store/heap.h"
#include "schemas/engine/state_array.h"

/* Elements of one array: what its pages can hold beside their outputs. */
#define TR_ARRAY_ELEMENTS_MAX 4000000U

/* Inputs that are cut into elements, and outputs. */
#define TR_ARRAY_MAPPED_MAX 256U
#define TR_ARRAY_OUTPUTS_MAX 1024U

/* Children whose work does not run outside yet, and what their inputs may take together. */
#define TR_ARRAY_WINDOW 4096U
#define TR_ARRAY_WINDOW_BYTES (64ULL << 20)

/* Children spawned, and children told to end, in one handler. */
#define TR_ARRAY_CHUNK 64U
#define TR_ARRAY_CHUNK_BYTES (1ULL << 20)

/* What is read or written of a blob at once. */
#define TR_ARRAY_PIECE_BYTES (256U << 10)

/* What elements gave that does not fit into their blocks, all together: it is in memory. */
#define TR_ARRAY_KEPT_BYTES_MAX (512ULL << 20)

/* Outputs of an array that its last message carries, all together; the others are offloaded. */
#define TR_ARRAY_INLINE_BYTES_MAX (2U * TR_INLINE_BYTES_MAX)

/* An element's inputs, all together: its first message has to hold them. */
#define TR_ARRAY_START_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 16384)

/* A call to the files service is said so often before the node fails, waiting longer each time. */
#define TR_ARRAY_CALL_TRIES 6U
#define TR_ARRAY_CALL_WAIT_MS 50U

/* History waits so long at most; progress is written no more often than this. */
#define TR_ARRAY_HISTORY_MS 1000U
#define TR_ARRAY_PROGRESS_MS 250U

#define TRI_ARRAY_BLOCK 256U

enum tri_array_page {
    TRI_ARRAY_SOURCES,
    TRI_ARRAY_ERRORS,
    TRI_ARRAY_HISTORY,
    TRI_ARRAY_OUTPUTS,
    TRI_ARRAY_ERROR_DETAILS,
    TRI_ARRAY_FIRST,
};

/* Where an array stands; on disk. */
enum tri_array_step {
    TRI_ARRAY_NEW,
    TRI_ARRAY_OPENING, /* the lengths of its sources are not known yet */
    TRI_ARRAY_RUNNING,
    TRI_ARRAY_GATHERING,
    TRI_ARRAY_ENDING, /* it will not succeed: children are told to end */
};

enum tri_array_timer {
    TRI_ARRAY_TIMER_DEADLINE = 1,
    TRI_ARRAY_TIMER_HISTORY,
    TRI_ARRAY_TIMER_CALL,
    TRI_ARRAY_TIMER_PROGRESS,
};

/* One handler of an array. */
struct tri_array {
    struct tr_context *context;
    struct tr_array_state *state;
    const struct tr_graph *graph;
    const struct tr_workflow *workflow;
    const struct tr_node *node;
    struct tr_interface target; /* of what is mapped */
    struct tr_text cause;       /* of the changes of phase in this handler */
    bool may_end;               /* it is ending, and no child lives */
};

/* ---------------------------------------------------- array_store.c: its pages */

/* Bytes over whole pages from `page` on, and a part of them again. */
TR_MUST_USE int tri_array_stretch_put(struct tr_context *context, uint32_t page,
                                      struct tr_bytes bytes);
TR_MUST_USE int tri_array_stretch_get(struct tr_context *context, uint32_t page, size_t offset,
                                      size_t size, struct tr_buffer *buffer);

/* Pages that so many bytes take. */
static inline uint32_t tri_array_stretch_pages(uint64_t size)
{
    return (uint32_t)((size + TR_PAGE_BYTES_MAX - 1) / TR_PAGE_BYTES_MAX);
}

/* The heap behind the blocks. */
TR_MUST_USE int tri_array_put(struct tri_array *array, struct tr_bytes bytes, uint64_t *place);
TR_MUST_USE int tri_array_get(struct tri_array *array, uint64_t place, struct tr_buffer *buffer,
                              struct tr_bytes *bytes);

/* The node_start it was spawned with; views live as long as `buffer`. */
TR_MUST_USE int tri_array_head(struct tri_array *array, struct tr_buffer *buffer,
                               struct tr_node_start *start);

/* ------------------------------------------------ array_step.c: what all parts do */

/*
 * It will end in `phase`, which is no success: behind this message, or when its children have
 * ended.
 */
TR_MUST_USE int tri_array_end_in(struct tri_array *array, uint8_t phase);

/* The same for a failure of the map itself, in words. */
TR_MUST_USE int tri_array_fail(struct tri_array *array, const char *code, const char *format, ...)
    TR_PRINTF(3, 4);

/* Lets it go on by a message to itself, behind those that wait already. */
TR_MUST_USE int tri_array_go_on(struct tri_array *array);

/* All elements have ended, enough of them well: what they gave is in `outputs`. */
TR_MUST_USE int tri_array_succeed(struct tri_array *array, struct tr_bytes outputs);

/* Goes to a phase of a node, by the table. */
TR_MUST_USE int tri_array_to(struct tri_array *array, uint8_t phase);

/* The end that `state->ending` names; no child lives, and all that had to be kept is. */
TR_MUST_USE int tri_array_end_now(struct tri_array *array);

/* Calls the files service; one call at a time. */
TR_MUST_USE int tri_array_call(struct tri_array *array, const struct tr_schema *schema,
                               const void *body);

/* ------------------------------------------------- array_block.c: elements' places */

/* How an element stands. */
struct tri_element {
    uint8_t phase;    /* of a node */
    bool is_live;     /* it has a child */
    bool is_outside;  /* the child's work was handed outside */
    bool is_recorded; /* its phase is in the history */
    uint64_t serial;  /* of the child, while the block has live ones */
};

TR_MUST_USE int tri_array_element_get(struct tri_array *array, uint32_t element,
                                      struct tri_element *out);

/* Changes it; `value` is one msgpack value to keep, or nothing. An end is told by !is_live. */
TR_MUST_USE int tri_array_element_set(struct tri_array *array, uint32_t element,
                                      const struct tri_element *to, struct tr_bytes value);

/* An element that is not spawned has ended as recovered, and this is what it gave. */
TR_MUST_USE int tri_array_element_keep(struct tri_array *array, uint32_t element,
                                       struct tr_bytes value);

/* Whether the next element has ended so. */
TR_MUST_USE int tri_array_element_is_kept(struct tri_array *array, uint32_t element, bool *is_kept);

/* `count` elements of one block from `first` on are spawned, with these children. */
TR_MUST_USE int tri_array_elements_spawned(struct tri_array *array, uint32_t first, uint32_t count,
                                           const uint64_t *serials);

/* What was kept of an element; nothing is no bytes. `buffer` as for tri_array_get. */
TR_MUST_USE int tri_array_element_value(struct tri_array *array, uint32_t element,
                                        struct tr_buffer *buffer, struct tr_bytes *value);

/* ---------------------------------------------- array_source.c: inputs in elements */

/*
 * Keeps the node_start, of its inputs those that go to every child. `is_fine` false: there are
 * others than the target has.
 */
TR_MUST_USE int tri_array_keep(struct tri_array *array, const struct tr_node_start *start,
                               bool *is_fine);

/* Keeps the lists, or where they lie. */
TR_MUST_USE int tri_array_sources_open(struct tri_array *array, struct tr_bytes inputs);

/* The elements' number when all lengths are known; else fails the node, or waits. */
TR_MUST_USE int tri_array_sources_count(struct tri_array *array, bool *is_known);

/* What children are made of, for one handler. */
struct tri_feed {
    struct tr_node_start start; /* what all children are told, but for element and inputs */
    struct tr_buffer head;
    struct tr_buffer inputs; /* of the next element */
    struct tr_buffer scratch;
    void *sources; /* the page, to be changed */
};

TR_MUST_USE int tri_array_feed_init(struct tri_array *array, struct tri_feed *feed);
void tri_array_feed_fini(struct tri_feed *feed);

/*
 * Makes feed->inputs those of the next element. `is_there` false: a piece has to come first, and is
 * on its way; or the node has failed.
 */
TR_MUST_USE int tri_array_feed_next(struct tri_array *array, struct tri_feed *feed, bool *is_there);

/* A piece of a source has come. */
TR_MUST_USE int tri_array_source_piece(struct tri_array *array, struct tr_bytes bytes,
                                       uint64_t total);

struct tr_values_given;

/* A large element of a source has come, or why it cannot be had. */
TR_MUST_USE int tri_array_source_element(struct tri_array *array,
                                         const struct tr_values_given *given);

/* Asks for the piece again that did not come. */
TR_MUST_USE int tri_array_source_call(struct tri_array *array);

/* ------------------------------------------------- array_window.c: children */

/* Spawns children into the free slots of the window, at most a chunk, and asks to go on. */
TR_MUST_USE int tri_array_spawn(struct tri_array *array);

/* Tells a chunk of the live children to end, and asks to go on. */
TR_MUST_USE int tri_array_abort_some(struct tri_array *array);

/* Tells a chunk of them that it is paused, or that it goes on again, and asks to go on. */
TR_MUST_USE int tri_array_pause_some(struct tri_array *array);

/* What children say; a message that is not theirs to send is a dead letter. */
TR_MUST_USE int tri_array_on_news(struct tri_array *array, const struct tr_message *message);
TR_MUST_USE int tri_array_on_ended(struct tri_array *array, const struct tr_message *message);

/* Evaluates how the array stands: it ends, aborts the rest, or spawns more. */
TR_MUST_USE int tri_array_evaluate(struct tri_array *array);

/* ------------------------------------- array_recover.c: elements over executions */

/* Whether it has to be known first which of the next elements are kept; asks about them. */
bool tri_array_has_to_ask(const struct tri_array *array);
TR_MUST_USE int tri_array_ask(struct tri_array *array);

/* The answer: those that are kept have ended. */
TR_MUST_USE int tri_array_recovered(struct tri_array *array, const struct tr_message *message);

/*
 * Appends by which plan the execution recovers that the next element launches, from the array's
 * own: schemas/engine/recovery.h says how that is written. Nothing where the array recovers
 * nothing.
 */
TR_MUST_USE int tri_array_launched_recovery(const struct tri_array *array,
                                            const struct tr_node_start *start,
                                            struct tr_buffer *recovery);

/* Whether what elements gave has to be written before its end; writes some, and asks to go on. */
bool tri_array_has_to_keep(const struct tri_array *array);
TR_MUST_USE int tri_array_keep_some(struct tri_array *array);

/* -------------------------------------------------- array_errors.c: failures, grouped */

/* Counts a failure of an element. */
TR_MUST_USE int tri_array_errors_add(struct tri_array *array, const struct tr_node_ended *ended);

/* Sets the failure of the map itself, unless there is one. */
TR_MUST_USE int tri_array_errors_set(struct tri_array *array, const char *code,
                                     struct tr_text message);

/* Fills in failure, code, message, failed and failed_element; texts live as long as `buffer`. */
TR_MUST_USE int tri_array_errors_tell(struct tri_array *array, struct tr_buffer *buffer,
                                      struct tr_node_ended *ended);

/* -------------------------------------------------- array_gather.c: outputs */

/* Goes on with the lists of outputs, until all are there or a call is on its way. */
TR_MUST_USE int tri_array_gather(struct tri_array *array);

/* A piece was written; `stored` says where when it was the last one. */
TR_MUST_USE int tri_array_gather_stored(struct tri_array *array, struct tr_text uri, uint64_t size);

/* A piece of an element that lies elsewhere has come. */
TR_MUST_USE int tri_array_gather_piece(struct tri_array *array, struct tr_bytes bytes,
                                       uint64_t total);

/* -------------------------------------------------- array_call.c: the files service */

/* What comes of calls: answers, failures, and the timer that says one again. */
TR_MUST_USE int tri_array_on_answer(struct tri_array *array, const struct tr_message *message);
TR_MUST_USE int tri_array_on_call_failed(struct tri_array *array, int reason, struct tr_text words);
TR_MUST_USE int tri_array_call_again(struct tri_array *array);

/* -------------------------------------------------- array_history.c: what people see */

/* An element went through `phases` (bits) and stands at `to` now. */
TR_MUST_USE int tri_array_history_element_changed(struct tri_array *array, uint32_t element,
                                                  const struct tri_element *from, uint8_t to,
                                                  uint32_t attempt, uint32_t phases,
                                                  struct tr_text code, struct tr_text message);

/* What the map got, and what it gave. */
TR_MUST_USE int tri_array_history_value(struct tri_array *array, enum tr_value_side side,
                                        struct tr_bytes slots);

/* Writes what waits, and how many elements are where. */
TR_MUST_USE int tri_array_history_flush(struct tri_array *array);

/* Writes how many elements are where: now, or as soon as that is due; and what was put off so. */
TR_MUST_USE int tri_array_history_count_soon(struct tri_array *array);
TR_MUST_USE int tri_array_history_count(struct tri_array *array);

/* The map itself went from a phase to the one it is in. */
TR_MUST_USE int tri_array_history_phase_changed(struct tri_array *array, uint8_t from);

#endif
