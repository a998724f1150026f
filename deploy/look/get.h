/*
 * `troupe get`: all that is known of one execution, one node, one element, one attempt. What is
 * written, as text or as one document; schemas/documents.schema.json has the fields.
 */
#ifndef TR_DEPLOY_LOOK_GET_H
#define TR_DEPLOY_LOOK_GET_H

#include "deploy/common/document.h"
#include "deploy/connect/activity.h"
#include "deploy/history/elements.h"
#include "deploy/history/node_tree.h"
#include "deploy/history/target.h"
#include "deploy/history/values.h"

/* Nodes that are shown as text without -v. */
#define TR_GET_NODES 200

/* What is asked for, and where it goes. */
struct tr_get {
    struct tr_reader *reader;
    const char *folder; /* of the store */
    const struct tr_execution *execution;
    const struct tr_activity *activity; /* NULL: none is */
    const char *store;                  /* the --store of the command; NULL: none */
    const char *host;                   /* where it lives, of several; NULL: nowhere, or of one */
    uint64_t now_ms;
    enum tr_output output;
    bool is_verbose;
    FILE *stream;
};

/* Writes an execution with its nodes. TR_MEMORY, TR_MALFORMED, and what the reader says. */
TR_MUST_USE int tr_get_execution(const struct tr_get *get);

/*
 * Writes a node, an element or an attempt. TR_NOT_FOUND, with words in `problem`
 * (TR_TARGET_PROBLEM_BYTES); errors as above.
 */
TR_MUST_USE int tr_get_node(const struct tr_get *get, const struct tr_target *target,
                            char *problem);

/* ------------------------------------------------ shared by the files of this command */

static inline bool tri_get_has_document(const struct tr_get *get)
{
    return get->output == TR_OUTPUT_JSON || get->output == TR_OUTPUT_YAML;
}

/* A line of a head: "  word       " and the text. */
void tri_get_line(const struct tr_get *get, const char *word, struct tr_text text);
void tri_get_line_print(const struct tr_get *get, const char *word, const char *format, ...)
    TR_PRINTF(3, 4);

/* The lines of times: when it was created, how long it took. */
void tri_get_times(const struct tr_get *get, uint64_t created_ms, uint64_t started_ms,
                   uint64_t ended_ms);

/* A failure as lines; nothing for none. */
void tri_get_failure(const struct tr_get *get, struct tr_text code, struct tr_text message);

/* The end of what an attempt wrote to stderr, as lines of its head; nothing if there is none. */
void tri_get_output(const struct tr_get *get, const struct tr_attempt *row);

/*
 * Whether a node is a gate that waits for people, which is no running node; and what it waits for,
 * in words (deploy/history/gates.h).
 */
bool tri_get_is_waiting(const struct tr_node_status *row);
void tri_get_wait_print(const struct tr_get *get, const struct tr_node_status *row,
                        uint64_t waited_ms, struct tr_buffer *buffer);

/* Values as lines, one for each. TR_MEMORY. */
TR_MUST_USE int tri_get_values(const struct tr_get *get, const char *word,
                               const struct tr_values *values);

/* How many elements are where, in words; and as a map with the groups of failures. */
void tri_get_progress_print(const struct tr_progress *progress, struct tr_buffer *buffer);
TR_MUST_USE int tri_get_array_write(const struct tr_get *get, const struct tr_progress *progress,
                                    struct tr_document *document);

/* One group of failures: as a map, and as a line. */
void tri_get_group_write(const struct tr_failed_group *group, struct tr_document *document);
void tri_get_group_print(const struct tr_get *get, const struct tr_failed_group *group);

/* The failures of an array in groups, as lines below a headline; nothing where none failed. */
TR_MUST_USE int tri_get_groups(const struct tr_get *get, const struct tr_progress *progress);

#endif
