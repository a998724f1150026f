/*
 * Random workflow definitions: YAML from a seed, valid by construction, so that engine and compiler
 * meet combinations that nobody would think of.
 *
 * Everything that may be nested is: workflows in workflows and in maps, switches in switches, with
 * references of all forms into all that stands before. What a task gives is not in here: its
 * outputs have the types that its interface says, and whoever runs it makes them up (flow_value.h).
 */
#ifndef TR_TESTS_SUPPORT_FLOW_RANDOM_H
#define TR_TESTS_SUPPORT_FLOW_RANDOM_H

#include "actors/graph/compiled/graph.h"

struct flow_random_options {
    uint64_t seed;
    uint32_t size;         /* from 1 on: about so many nodes in a workflow, at most 32 */
    const char *task_type; /* of all tasks, "remote" */
    bool has_timing;       /* timeouts and deadlines: what comes of it depends on time, too */
    bool has_caches;
    bool has_gates;    /* approvals and signals, whose names are flow_random_gates', and sleeps */
    bool has_launches; /* launch plans, and nodes and maps that launch; nothing in them has gates */
    bool launches_all; /* whatever can be launched is */
    bool has_dynamic;  /* tasks that decide graphs */
    bool has_texts;    /* texts with references in them */
    bool has_codes;    /* retry_on and never_retry_on, of the codes "JobFailed" and others */
    bool has_labels;   /* of workflows and plans, with the keys of flow_random_label_keys */
    const char *behind_main; /* lines of the main workflow, behind its others; NULL: none */
};

/* The names that gates wait for; approvals have no type. */
struct flow_random_gate {
    const char *id;
    const char *type;
};
#define FLOW_RANDOM_GATES 6
extern const struct flow_random_gate flow_random_gates[FLOW_RANDOM_GATES];

/* The keys that labels may have. */
#define FLOW_RANDOM_LABELS 3
extern const char *const flow_random_label_keys[FLOW_RANDOM_LABELS];

/* Appends the definition. Its main workflow is called `main`, and all its inputs have defaults. */
void flow_random_write(const struct flow_random_options *options, struct tr_buffer *text);

/* Whether a task is there for dynamic nodes, and for no others. */
bool flow_random_is_dynamic(const struct tr_task *task);

/*
 * What such a task decides: appends a JSON document that is made of the number, and of nothing else
 * but the graph of the definition. A few are wrong. False: it gives plain outputs.
 */
bool flow_random_decide(const struct tr_graph *graph, const struct tr_task *task, uint64_t number,
                        struct tr_buffer *json);

/* Compiles text that has to compile; ends the process with the errors where it does not. */
struct tr_graph *flow_random_compile(struct tr_text text);

#endif
