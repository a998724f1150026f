/*
 * What the tests of arrays stand on: a stage with one array in a hub that hears it, children that
 * do what a test's function says, and a files service that keeps its blobs in memory.
 */
#ifndef TR_TESTS_UNIT_ACTORS_ARRAY_ARRAY_STAND_H
#define TR_TESTS_UNIT_ACTORS_ARRAY_ARRAY_STAND_H

#include "actors/array/array.h"
#include "runtime/services/service.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

/* What a child does: with its first message, with a poke of the test's, with an abort. */
enum array_stand_event { STAND_START, STAND_POKE, STAND_ABORT };

/* What comes of it. `ended` is filled in with a success and no outputs. */
struct array_stand_act {
    bool is_over;      /* say `ended`, and stop */
    bool is_twice;     /* say it once more */
    bool pokes_itself; /* a STAND_POKE follows */
    uint8_t news;      /* say so; 0: nothing */
    struct tr_node_ended ended;
    struct tr_buffer outputs; /* of `ended` */
};

/* Must depend on nothing but its arguments where a test crashes. */
typedef void array_stand_play(enum array_stand_event event, const struct tr_node_start *start,
                              struct array_stand_act *act);

/* Children that live, and what the hub heard. */
struct array_stand_child {
    bool is_live;
    bool was_aborted;
    bool was_hard;
    uint32_t spawns;
    uint64_t bytes; /* of its inputs */
    struct tr_ref ref;
};

struct array_stand_blob {
    char name[96];
    bool is_whole;
    uint8_t *data;
    size_t size;
};

#define ARRAY_STAND_CHILDREN 8192
#define ARRAY_STAND_BLOBS 64

struct array_stand {
    struct stage stage;
    struct tr_engine *engine;
    struct tr_graph *graph;
    struct tri_service files;
    struct tri_model *model;
    struct tri_store *store;
    array_stand_play *play;
    uint64_t number; /* of the graph */
    struct tr_ref hub;
    struct tr_ref array;

    /* What was heard. */
    struct array_stand_child children[ARRAY_STAND_CHILDREN];
    uint32_t live;
    uint32_t live_max;
    uint32_t outside;
    uint32_t inside_max; /* children that had not said RUNNING */
    uint32_t spawned;
    uint32_t ends; /* node_ended of the array, by the hub's own state */
    uint32_t news; /* node_news of it */
    uint8_t end_bytes[TR_MESSAGE_BYTES_MAX];
    struct tr_node_ended end;

    struct array_stand_blob blobs[ARRAY_STAND_BLOBS];
    uint32_t blob_count;
    uint32_t reads;
    uint32_t writes;
    uint64_t read_bytes_max;
    const char *recovery;              /* what the array is told of one; NULL: it is none */
    bool (*keeps)(uint64_t element);   /* which elements an earlier execution gave, */
    int64_t (*kept)(uint64_t element); /* and what */
    uint32_t asked;                    /* questions about elements */
    int files_error; /* what calls are refused with, while `files_refusals` last */
    uint32_t files_refusals;
};

/* There is one at a time, because behaviours have no other way to it. */
extern struct array_stand array_stand;

/* Makes the graph from a definition and opens the stage; with `is_stored` on a model of a store. */
void array_stand_open(const char *definition, array_stand_play *play, bool is_stored);
void array_stand_close(void);

/* The process ends and starts again, with what was committed. */
void array_stand_crash(void);

/* Starts the array of the main workflow's node, with inputs as JSON lists: one for each input. */
void array_stand_start(const char *node, const char *inputs_json);

/* The same with packed slots. */
void array_stand_start_slots(const char *node, struct tr_bytes slots);

/* Everything that can happen without time happens, the files service included. */
void array_stand_run(void);
void array_stand_advance(uint64_t milliseconds);

/* Answers calls of the files service that have left; whether there were any. */
bool array_stand_serve(void);

/* Pokes the child of an element; aborts the array. */
void array_stand_poke(uint32_t element);
void array_stand_abort(uint8_t phase, bool is_hard);

/* Packs a value of JSON by a type's text; the buffer is the caller's. */
void array_stand_pack(const char *type, const char *json, struct tr_buffer *buffer);

/* The blob with this name, which may be new; and one of these bytes, whose URI it gives. */
struct array_stand_blob *array_stand_find_blob(struct tr_text name);
struct tr_text array_stand_blob(struct tr_bytes bytes);

/* An output of the array as JSON, from wherever it lies. The text lives until the next call. */
const char *array_stand_output(uint32_t output);

/* The state of the array while it lives, else NULL. */
const struct tr_array_state *array_stand_state(void);

#endif
