/*
 * The audit by age: shares are asked for until one is empty.
 */
#include "deploy/retention/pruning_audit.h"

#include <stdio.h>

#include "deploy/common/client.h"
#include "schemas/codec/error.h"
#include "schemas/engine/entity.h"
#include "schemas/engine/retention.h"

/* How long the engine may take for one share. */
#define FORGET_MS 10000

int tr_prune_audit_count(const struct tr_prune_request *request, struct tr_reader *reader,
                         uint64_t *rows)
{
    const struct tr_reader_filter filter =
        tr_filter_number("at_ms", TR_FILTER_LESS, request->audit_before_ms);
    const struct tr_reader_query query = {
        .record = &tr_audit_schema, .filters = &filter, .filter_count = 1};
    *rows = 0;
    return request->audit_before_ms == 0 ? 0 : tr_reader_count(reader, &query, rows);
}

/* Has the engine forget the next share, and says how many rows it was. */
static int forget_share(const struct tr_prune_request *request, struct tri_client *client,
                        uint64_t *rows)
{
    const struct tr_forget forget = {.audit_before_ms = request->audit_before_ms};
    struct tr_forgotten forgotten = {.rows = 0};
    struct tri_request answer;
    int error = tr_client_call(client, &tr_forget_schema, &forget, &tr_forgotten_schema, FORGET_MS,
                               NULL, NULL, &answer);
    if (error == 0) {
        error = answer.type == tr_forgotten_schema.id
                    ? tr_forgotten_unpack(answer.body, answer.version, &forgotten)
                    : TR_UNKNOWN_TYPE; /* an older engine */
    }
    *rows = forgotten.rows;
    return error != 0 ? error : (int)forgotten.error;
}

int tr_prune_audit(const struct tr_prune_request *request, struct tri_client *client,
                   uint64_t counted, char *explain, struct tr_pruned_part *part)
{
    uint64_t rows = request->is_dry ? 0 : 1;
    int error = 0;
    part->count = request->is_dry ? counted : 0;
    while (error == 0 && rows > 0) {
        bool is_stopping = request->is_stopping != NULL && atomic_load(request->is_stopping);
        error = is_stopping ? TR_CLOSED : forget_share(request, client, &rows);
        part->count += error == 0 ? rows : 0;
    }
    if (error != 0 && explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the engine does not forget the audit: %s",
                 tr_error_text(error));
    }
    return error;
}
