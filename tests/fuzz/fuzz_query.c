/*
 * Any bytes as a question of a reader over the network: refused, or a query that packs and unpacks
 * as the same one; and any bytes as a locator of hosts.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "deploy/common/schemas.h"
#include "runtime/link/entry_locator.h"
#include "runtime/memory.h"
#include "runtime/remote/remote_answer.h"

static void read_query(struct tr_bytes body)
{
    static struct tri_remote_query query;
    static struct tri_remote_query again;
    static uint8_t room[TRI_REMOTE_QUERY_BYTES];
    struct tr_read_rows read;
    if (tr_read_rows_unpack(body, tr_read_rows_schema.version, &read) != 0 ||
        tri_remote_query_unpack(&read, tr_program_records, tr_program_record_count, &query) != 0) {
        return;
    }
    if (tri_remote_query_pack(&query.query, read.counts, room, &read) == 0) {
        TR_ASSERT(tri_remote_query_unpack(&read, tr_program_records, tr_program_record_count,
                                          &again) == 0);
        TR_ASSERT(again.query.filter_count == query.query.filter_count);
        TR_ASSERT(again.query.related_count == query.query.related_count);
    }
}

static void read_scope(struct tr_bytes body)
{
    static struct tri_remote_query room;
    struct tri_remote_scope scope;
    static const struct tr_schema *const kinds[] = {&tr_read_rows_schema, &tr_read_objects_schema,
                                                    &tr_read_cell_schema, &tr_read_members_schema};
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        const struct tri_remote_question question = {
            .request = {.type = kinds[i]->id, .version = kinds[i]->version, .body = body},
            .records = tr_program_records,
            .record_count = tr_program_record_count};
        (void)!tri_remote_scope(&question, &room, &scope);
    }
}

static void read_locator(struct tr_bytes bytes)
{
    static struct tri_entry_locator locator;
    char explain[TRI_ENTRY_EXPLAIN_BYTES];
    char *text = tr_alloc(bytes.size + 1);
    TR_ASSERT(text != NULL);
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    if (tri_entry_locator_read(text, &locator, explain) == 0) {
        TR_ASSERT(locator.count > 0);
    }
    tr_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tr_bytes bytes = {.data = data, .size = size};
    read_query(bytes);
    read_scope(bytes);
    if (size > 0) {
        read_locator(bytes);
    }
    return 0;
}
