/*
 * Lists: Flyte's conditions, sorting and tokens as a query of the store.
 *
 * A token is the place behind the last row that was answered: the value that the list is sorted by
 * and the row's own key. So pages hold together while rows are added, and none begins with
 * counting.
 */
#ifndef TR_DEPLOY_API_RUNS_RUN_LIST_H
#define TR_DEPLOY_API_RUNS_RUN_LIST_H

#include <flyteidl/admin_common.pb-c.h>

#include "deploy/api_runs/desk.h"

/* What conditions are about that a client does not write: a place, a name, and two more. */
#define TR_RUN_LIST_ADDED_MAX 5

/* What a condition may be about. */
enum tr_run_field_kind {
    TR_RUN_FIELD_TEXT,
    TR_RUN_FIELD_NUMBER,
    TR_RUN_FIELD_TIME,  /* RFC 3339, of a column in milliseconds */
    TR_RUN_FIELD_PHASE, /* a word or a number of Flyte's */
    TR_RUN_FIELD_STATE, /* 0, active, or 1, archived */
};

/* `flyte_phase` has the number of Flyte's phase of each of ours, and `words` the names of those. */
struct tr_run_field {
    const char *name;
    const char *column; /* of the record */
    enum tr_run_field_kind kind;
    bool is_sorting;  /* the list may be sorted by it, */
    const char *then; /* and if many rows have the same, then by this column, a number; or NULL */
};

struct tr_run_phases {
    const ProtobufCEnumDescriptor *names;
    int (*flyte_phase)(uint8_t phase);
    uint8_t count; /* of ours */
};

struct tr_run_list_table {
    const struct tr_run_field *fields;
    size_t field_count;
    const char *prefix; /* "execution.", which may stand before a field */
    const struct tr_run_phases *phases;
    const char *columns_key; /* the column that tells rows with equal values apart */
    bool is_key_text;
};

/* What a client asks for; token, filters and sort as in its request. */
struct tr_run_list_request {
    const char *filters;
    const char *token;
    uint32_t limit;
    const Flyteidl__Admin__Sort *sort;
};

struct tr_run_list {
    struct tr_reader_filter filters[TR_READER_FILTERS_MAX];
    size_t filter_count;
    struct tr_reader_order order[3]; /* the last may have no field */
    bool is_empty;                   /* no row can match */
    bool has_active;
    bool has_archived;
    uint32_t limit;
    bool is_field_text;
    bool is_key_text;
    bool is_descending;
    bool has_then;

    /* The token, if there is one: its row's value, what comes then, and its key. */
    bool has_token;
    size_t token_filter; /* which filter says that rows come behind the value */
    struct tr_text after_text;
    uint64_t after_number;
    uint64_t after_then;
    struct tr_text after_key_text;
    uint64_t after_key;
};

/* Where a row stands in a list. */
struct tr_run_place {
    struct tr_text text;
    uint64_t number;
    uint64_t then;
    struct tr_text key_text;
    uint64_t key;
};

/*
 * Reads what is asked for. False: the job has failed; with INVALID_ARGUMENT it is told which field,
 * operator or value is none, and which there are.
 */
TR_MUST_USE bool tr_run_list_read(struct tr_desk_job *job, const struct tr_run_list_table *table,
                                  const struct tr_run_list_request *request,
                                  struct tr_run_list *list);

/* Adds one condition more, of TR_RUN_LIST_ADDED_MAX that a list that was read has room for. */
void tr_run_list_add(struct tr_run_list *list, struct tr_reader_filter filter);

/* Which of two rows comes first: less than 0 if it is `a`. */
int tr_run_list_compare(const struct tr_run_list *list, const struct tr_run_place *a,
                        const struct tr_run_place *b);

/* Whether a row stands before what the token says, and was answered. */
bool tr_run_list_is_before(const struct tr_run_list *list, const struct tr_run_place *place);

/* The token behind a row, in the job's arena. */
char *tr_run_list_token(struct tr_desk_job *job, const struct tr_run_list *list,
                        const struct tr_run_place *last);

#endif
