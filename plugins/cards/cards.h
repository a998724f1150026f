/*
 * Cards: what a kind of an operator's resources is, as data. A card says where the resource is
 * found (card.c), how it is made of a task (card_make.c, card_expression.c, card_function.c), and
 * what its status means (card_status.c). card_check.c refuses those that could not work.
 *
 *     resource: {group: example.com, version: v1, plural: trains, kind: Train}
 *     let: {workers: "${number(custom.workers, 1)}"}
 *     make:
 *       spec: {replicas: "${workers}", template: {$pod: {role: worker, container: main}}}
 *     status:
 *       - {condition: Failed, phase: failed}
 *       - {when: {state: Done}, phase: succeeded}
 *
 * It is a packed value, in the program (ours/, packed when that is built), in an endpoint's
 * settings (`cards`), or in a task's own config. Nothing here knows an API server.
 */
#ifndef TR_PLUGINS_CARDS_CARDS_H
#define TR_PLUGINS_CARDS_CARDS_H

#include "plugins/sdk/json.h"
#include "plugins/sdk/scan.h"

#define TR_CARD_BYTES_MAX (64U << 10)
#define TR_CARD_NAME_BYTES_MAX 24
#define TR_CARD_RULES_MAX 64
#define TR_CARD_LETS_MAX 24
#define TR_CARD_DEPTH_MAX 24

/* Nothing that a card makes takes more steps: each list that it walks over counts. */
#define TR_CARD_STEPS_MAX 20000

/* A resource's name is cut to this where its card says nothing. */
#define TR_CARD_RESOURCE_NAME_BYTES_MAX 63
#define TR_CARD_RESOURCE_NAME_BYTES_MIN 20

/* ---- Which cards there are: card.c. ---------------------------------------------------------- */

struct tri_card {
    struct tr_text name;
    struct tr_bytes value; /* a packed map */
};

/* A card of a name, of `own` (a packed map of cards, or nothing) first, else of ours. */
bool tri_card_find(struct tr_bytes own, struct tr_text name, struct tri_card *card);

/* Those that the program has, for tests; a name ends each row's text, none the table. */
struct tri_card_row {
    const char *name;
    const uint8_t *bytes;
    size_t size;
};
extern const struct tri_card_row tri_cards_ours[]; /* made when the program is built */
extern const size_t tri_cards_ours_count;

/* Where resources of a card are found. */
struct tri_card_resource {
    struct tr_text group; /* empty: the core group */
    struct tr_text version;
    struct tr_text plural;
    struct tr_text kind;
    bool is_cluster; /* they are in no namespace */
    size_t name_bytes_max;
};
struct tri_card_resource tri_card_resource(struct tr_bytes card);

/* ---- What is refused: card_check.c. ---------------------------------------------------------- */

/*
 * Whether a card could work: 0, or TR_INVALID with words in `problem`, which begin with `place`
 * ("plugins.kubernetes.cards.train").
 */
TR_MUST_USE int tri_card_check(const char *place, struct tr_bytes card, char *problem,
                               size_t problem_size);

/* The same of a list of rules alone, and of a template without a card around it. */
TR_MUST_USE int tri_card_check_status(const char *place, struct tr_bytes rules, char *problem,
                                      size_t problem_size);
TR_MUST_USE int tri_card_check_make(const char *place, struct tr_bytes tree, char *problem,
                                    size_t problem_size);

/* ---- How a resource is made: card_make.c. ---------------------------------------------------- */

struct tri_card_value {
    struct tr_text name;
    struct tr_bytes value; /* empty: there is none */
    struct tr_bytes tree;  /* of a `let`: what it is made of, when it is asked for first */
    uint8_t state;         /* private */
};

/* The names that every card may use, whose values the plugin gives (tri_card_make). */
#define TRI_CARD_NAMES(N)                                           \
    N("custom")      /* Flyte's message for the plugin, as JSON */  \
    N("task")        /* name, image, argv, cpu, memory, ... */      \
    N("name")        /* of the resource */                          \
    N("namespace")   /* of its pods */                              \
    N("pod")         /* the pod spec of the task */                 \
    N("steady_pod")  /* the same where it may not be interrupted */ \
    N("labels")      /* ours, for pods that the operator makes */   \
    N("annotations") /* the same */

/* A making, or where `task` is NULL a check without values. */
struct tri_card_making {
    struct tr_task_context *task;
    struct tr_text card; /* its name, for words */
    struct tri_card_value values[TR_CARD_LETS_MAX + 16];
    uint32_t count;

    /* private */
    struct tri_card_value items[TR_CARD_DEPTH_MAX]; /* of each $each that is being made */
    uint32_t item_count;
    uint32_t item_first; /* of those that may be named here */
    uint32_t steps;
    uint32_t depth;
    int error; /* TR_INVALID: `problem` says why; TR_LIMIT, TR_MEMORY */
    size_t place_size;
    char place[200]; /* of what is being made: "make.spec.x" */
    char problem[600];
};

/* A making with the name of a card, and one more value; beyond the bound it is dropped. */
void tri_card_begin(struct tri_card_making *making, struct tr_task_context *task,
                    struct tr_text card);
void tri_card_give(struct tri_card_making *making, const char *name, struct tr_bytes value);

/*
 * The members of a resource beside apiVersion, kind and metadata: a packed map in scratch memory.
 * TR_INVALID: `making->problem` says what the task lacks, or is too large or wrong.
 */
TR_MUST_USE int tri_card_make(struct tri_card_making *making, struct tr_bytes card,
                              struct tr_bytes *made);

/* The same of a template alone. */
TR_MUST_USE int tri_card_make_tree(struct tri_card_making *making, struct tr_bytes tree,
                                   struct tr_bytes *made);

/* ---- Its inside. ----------------------------------------------------------------------------- */

/* Refuses what is made or checked, with words behind the place of it; the first refusal stays. */
void tri_card_refuse(struct tri_card_making *making, const char *format, ...) TR_PRINTF(2, 3);

/* One step more; false: there were too many. */
bool tri_card_step(struct tri_card_making *making);

/* A build that the making's error reaches, and its value: empty where something failed. */
struct tr_build tri_card_build(struct tri_card_making *making);
struct tr_bytes tri_card_built(struct tri_card_making *making, struct tr_build *build);

/* A value of a name, a `let` made where it is asked for first; false: nothing has this name. */
bool tri_card_named(struct tri_card_making *making, struct tr_text name, struct tr_bytes *value);

/* A text as a value; nothing where it is empty. */
struct tr_bytes tri_card_text_value(struct tri_card_making *making, struct tr_text text);

/* What a text of a template says, with its ${...} filled in; nothing: it is left out. */
struct tr_bytes tri_card_fill(struct tri_card_making *making, struct tr_text text);

/* A member of a map by a name that need not end with a zero. */
struct tr_bytes tri_card_member(struct tr_bytes map, struct tr_text name);

/* Whether there is something: no null, no empty text. */
bool tri_card_is_there(struct tr_bytes value);

/* The functions of expressions: card_function.c. */
#define TRI_CARD_ARGUMENTS_MAX 12
struct tri_card_call {
    struct tri_card_making *making;
    struct tr_bytes values[TRI_CARD_ARGUMENTS_MAX];
    struct tr_text words[TRI_CARD_ARGUMENTS_MAX]; /* of each argument, as the card has it */
    uint32_t count;
};
struct tri_card_function {
    const char *name;
    uint32_t least;
    uint32_t most;
    struct tr_bytes (*call)(struct tri_card_call *call);
};
const struct tri_card_function *tri_card_function(struct tr_text name);

/* The words of all of them, for refusals. */
void tri_card_functions(char *room, size_t size);

/* The pod of a role, `{$pod: ...}` whose members are made already: card_pod.c. */
struct tr_bytes tri_card_pod(struct tri_card_making *making, struct tr_bytes role);

/* Resources of a message of Flyte's, or of Kubernetes' own, as a container has them. */
struct tr_bytes tri_card_resources(struct tri_card_making *making, struct tr_bytes resources);

/* ---- What a status means: card_status.c. ----------------------------------------------------- */

/*
 * Reads a status (JSON; nothing: there is none yet) by a list of rules into a report: its phase,
 * and of an end failure, code and message. No rule fits: the phase is UNDEFINED, and `reason` shows
 * what the rules have looked at. TR_MALFORMED.
 */
TR_MUST_USE int tri_card_read_status(struct tr_webapi_batch *batch, struct tr_bytes rules,
                                     struct tr_bytes status, struct tr_webapi_report *report);

/* The text at a path of a status ("a.b"): empty, where there is none. */
TR_MUST_USE int tri_card_text_at(struct tr_webapi_batch *batch, struct tr_bytes status,
                                 struct tr_text path, struct tr_text *text);

/* The phases of rules. */
struct tri_card_phase {
    const char *name;
    uint8_t phase;
};
extern const struct tri_card_phase tri_card_phases[];
extern const size_t tri_card_phase_count;

#endif
