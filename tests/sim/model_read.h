/*
 * What all modelled stores have in common beside their contents: reading these, and checking what
 * is to be written against the schemas of records.
 *
 * Whatever fails sets `words`, which has room for TRI_STORE_EXPLAIN_BYTES.
 */
#ifndef TR_TESTS_SIM_MODEL_READ_H
#define TR_TESTS_SIM_MODEL_READ_H

#include "tests/sim/model_contents.h"

#define TRI_MODEL_RECORDS_MAX 256

/* The records that a store has tables for. */
struct tri_model_records {
    size_t count;
    struct {
        uint16_t id;
        uint8_t version;
        char name[64];
    } known[TRI_MODEL_RECORDS_MAX];
};

/* Whether a program with these records may open it: TR_INVALID, TR_STORE_NEWER. */
TR_MUST_USE int tri_model_records_check(const struct tri_model_records *records,
                                        const struct tri_store_options *options, char *words);

/* It has opened it for writing. */
void tri_model_records_note(struct tri_model_records *records,
                            const struct tri_store_options *options);

/* The caller's errors of tri_store_commit, but for numbers. */
TR_MUST_USE int tri_model_check_ops(const struct tr_schema *const *records, size_t record_count,
                                    const struct tri_commit *commit, char *words);

/* tri_store_load_groups of a version. */
TR_MUST_USE int tri_model_version_tell(const struct tri_model_version *version,
                                       struct tri_group_range range,
                                       const struct tri_store_visitor *visitor, char *words);

/* Copies the data of one row, as tri_store_read_page does. */
TR_MUST_USE int tri_model_version_read(const struct tri_model_version *version,
                                       enum tri_model_class class, const struct tri_op *wanted,
                                       void *buffer, size_t capacity, size_t *size, char *words);

/* tri_store_read_graph, tri_store_list_graphs and tri_store_list_crashes of a version. */
TR_MUST_USE int tri_model_version_read_graph(const struct tri_model_version *version,
                                             const uint8_t *hash, uint8_t **data, size_t *size,
                                             char *words);
TR_MUST_USE int tri_model_version_list_graphs(
    const struct tri_model_version *version, const uint8_t *after, size_t limit,
    int (*each)(void *self, const struct tri_graph_entry *graph), void *target);
TR_MUST_USE int tri_model_version_list_crashes(const struct tri_model_version *version,
                                               int (*each)(void *self, const struct tri_op *op),
                                               void *target);

/* The rows of one type that are left, in the order in which they were committed. */
size_t tri_model_version_record_count(const struct tri_model_version *version, uint16_t type);
const struct tri_op *tri_model_version_record(const struct tri_model_version *version,
                                              uint16_t type, size_t index);

/* Sets `words` (printf) and returns the error. */
TR_PRINTF(3, 4) int tri_model_say(char *words, int error, const char *format, ...);

#endif
