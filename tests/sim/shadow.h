/*
 * The shadow of a store: what it must hold, worked out from the batches alone.
 *
 * Each batch is caught on its way to the journal, together with the state of its worker at that
 * moment. When a commit has succeeded, the batches up to its number are done to the shadow one by
 * one, the slow and simple way, and each worker's state is compared: every actor of the worker must
 * be in the shadow exactly as it was in memory (so nothing that changed was left out of a batch),
 * and the store must hold exactly what the shadow does (so nothing was lost on the way to it).
 */
#ifndef TR_TESTS_SIM_SHADOW_H
#define TR_TESTS_SIM_SHADOW_H

#include "runtime/journal/store.h"

struct sim_host;
struct sim_shadow;
struct tri_model_version;

struct sim_shadow *sim_shadow_new(struct sim_host *host);
void sim_shadow_free(struct sim_shadow *shadow);

/* A batch leaves a worker. */
void sim_shadow_capture(struct sim_host *host, uint32_t worker, const uint8_t *data, size_t size);

/* The store has acknowledged everything up to this number. */
void sim_shadow_commit(struct sim_shadow *shadow, uint64_t last_number);

/* A store was opened after a crash: what it says it holds is what must be there. */
void sim_shadow_reopen(struct sim_shadow *shadow, uint64_t last_number);

/* A store was opened that has lost commits: takes over what it holds, but for records. */
void sim_shadow_go_back(struct sim_shadow *shadow, struct tri_store *store,
                        const struct tri_model_version *contents);

/* Compares all of a store with the shadow. */
void sim_shadow_compare(struct sim_shadow *shadow, struct tri_store *store);

/* A row of the actors' records is committed, or rows are deleted. */
void sim_shadow_record(struct sim_shadow *shadow, const struct tri_op *op);

/* How many records of a writer there must be; they are numbered from 1 on. */
uint64_t sim_shadow_records(const struct sim_shadow *shadow, struct tr_key writer);

/* The bytes of what an operation is about; false when it is not there. */
bool sim_shadow_find(const struct sim_shadow *shadow, const struct tri_op *op,
                     struct tr_bytes *bytes);

/* How many records there must be in all. */
uint64_t sim_shadow_record_count(const struct sim_shadow *shadow);

/* A page of a page writer, as its row has it. */
struct sim_leaf {
    struct tr_key writer;
    uint64_t place;
    uint64_t edition;
};

/* The rows of pages that there must be, by writer and place; how many there are. */
size_t sim_shadow_leaves(const struct sim_shadow *shadow, struct sim_leaf *leaves, size_t capacity);

/* Whether nothing is left but named cells, rows of records, and those that are to stay. */
bool sim_shadow_is_empty(const struct sim_shadow *shadow, char *text, size_t size);

/* The group of any row, drawn by a number; 0: there is none. */
uint64_t sim_shadow_group(const struct sim_shadow *shadow, uint64_t chance);

/* The number up to which everything is acknowledged. */
uint64_t sim_shadow_number(const struct sim_shadow *shadow);

#endif
