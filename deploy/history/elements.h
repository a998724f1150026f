/*
 * The elements of arrays, unfolded from the blocks that history keeps them in.
 */
#ifndef TR_DEPLOY_HISTORY_ELEMENTS_H
#define TR_DEPLOY_HISTORY_ELEMENTS_H

#include "actors/graph/document/arena.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* The most phases that one entry of a block names; more are none of ours. */
#define TR_ENTRY_PHASES_MAX 32

/* What an attempt of an element went through at one time. Texts live as long as the call. */
struct tr_element_entry {
    uint64_t element;
    uint32_t attempt;
    uint64_t at_ms;
    uint8_t phases[TR_ENTRY_PHASES_MAX];
    uint32_t phase_count; /* at least one */
    struct tr_text code;
    struct tr_text message;
};

/*
 * Gives all entries of an array, in the order in which they were written; of one element alone
 * unless that is TR_ELEMENT_NONE. What `take` returns other than 0 ends it, and is returned.
 * TR_MALFORMED (what no actor writes), TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_elements_read(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                                 uint64_t element,
                                 int (*take)(void *self, const struct tr_element_entry *entry),
                                 void *self);

/* Some elements of an array. */
struct tr_element_span {
    uint64_t execution;
    struct tr_text path;
    uint64_t first;
    uint64_t last;
};

/* The same of these alone; blocks without any of them are not read. */
TR_MUST_USE int tr_elements_read_some(struct tr_reader *reader, const struct tr_element_span *span,
                                      int (*take)(void *self, const struct tr_element_entry *entry),
                                      void *self);

/* The same of one block's row. */
TR_MUST_USE int tr_element_entries_read(const struct tr_element_block *row, uint64_t element,
                                        int (*take)(void *self,
                                                    const struct tr_element_entry *entry),
                                        void *self);

/* The elements that a group of failures names, and the groups there may be. */
#define TR_FAILED_SHOWN_MAX 5
#define TR_FAILED_GROUPS_MAX 64

/* Elements that failed for good with one code. */
struct tr_failed_group {
    struct tr_text code;
    struct tr_text message; /* of the first of them */
    uint64_t count;
    uint64_t elements[TR_FAILED_SHOWN_MAX]; /* the first ones, in their order */
};

/* Groups, the largest first. What had no room is counted in the last one, with the code "". */
struct tr_failed_groups {
    struct tr_failed_group items[TR_FAILED_GROUPS_MAX];
    uint32_t count;
    struct tr_arena arena;
};

/* Groups the failures of an array. Errors as above. */
TR_MUST_USE int tr_failed_groups_read(struct tr_reader *reader, uint64_t execution,
                                      struct tr_text path, struct tr_failed_groups *groups);
void tr_failed_groups_fini(struct tr_failed_groups *groups);

/* The same by hand, for who reads entries anyhow: begin, give each entry, sort. TR_MEMORY. */
void tr_failed_groups_init(struct tr_failed_groups *groups);
TR_MUST_USE int tr_failed_groups_take(struct tr_failed_groups *groups,
                                      const struct tr_element_entry *entry);
void tr_failed_groups_sort(struct tr_failed_groups *groups);

/* How an element stands. Texts belong to the table. */
struct tr_element_row {
    bool is_known;
    uint8_t phase;
    uint32_t attempt;
    uint64_t at_ms; /* since then */
    struct tr_text code;
    struct tr_text message;
};

/* All elements of an array, by their numbers. */
struct tr_element_table {
    struct tr_element_row *rows;
    uint64_t count;
    struct tr_arena arena;
};

/* Reads how each of `count` elements stands. Errors as above. */
TR_MUST_USE int tr_element_table_read(struct tr_reader *reader, uint64_t execution,
                                      struct tr_text path, uint64_t count,
                                      struct tr_element_table *table);
void tr_element_table_fini(struct tr_element_table *table);

#endif
