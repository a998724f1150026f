/*
 * Queries as bytes. Names of fields become those of the record's own schema, so that none outlives
 * the request.
 */
#include "runtime/remote/remote_query.h"

#include <string.h>

/* Values of a filter, an order and a related condition in their lists. */
#define FILTER_VALUES 6
#define ORDER_VALUES 4
#define RELATED_VALUES 3

/* ---- Packing. -------------------------------------------------------------------------------- */

static void write_filters(struct tr_writer *writer, const struct tr_reader_filter *filters,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tr_write_text(writer, tr_text_of(filters[i].field));
        tr_write_u8(writer, (uint8_t)filters[i].op);
        tr_write_bool(writer, filters[i].is_text);
        tr_write_bool(writer, filters[i].is_passive);
        tr_write_u64(writer, filters[i].number);
        tr_write_bytes(writer, (struct tr_bytes){.data = (const uint8_t *)filters[i].text.data,
                                                 .size = filters[i].text.size});
    }
}

static size_t count_filters(const struct tr_reader_query *query)
{
    size_t count = query->filter_count;
    for (size_t i = 0; i < query->related_count; i++) {
        count += query->related[i].filter_count;
    }
    return count;
}

static size_t count_orders(const struct tr_reader_query *query)
{
    size_t count = 0;
    while (count < TR_READER_ORDERS_MAX && query->order[count].field != NULL) {
        count++;
    }
    return count;
}

/* What was written since, which the list is. */
static struct tr_bytes since(const struct tr_writer *writer, const uint8_t *begin)
{
    return (struct tr_bytes){.data = begin, .size = (size_t)(writer->at - begin)};
}

static void write_orders(struct tr_writer *writer, const struct tr_reader_query *query)
{
    size_t count = count_orders(query);
    tr_write_array(writer, (uint32_t)(count * ORDER_VALUES));
    for (size_t i = 0; i < count; i++) {
        const struct tr_reader_order *order = &query->order[i];
        tr_write_text(writer, tr_text_of(order->field));
        tr_write_bool(writer, order->is_descending);
        tr_write_text(writer, tr_text_of(order->since != NULL ? order->since : ""));
        tr_write_u64(writer, order->now_ms);
    }
}

int tri_remote_query_pack(const struct tr_reader_query *query, bool counts, uint8_t *room,
                          struct tr_read_rows *read)
{
    struct tr_writer writer = tr_writer_of(room, TRI_REMOTE_QUERY_BYTES);
    const uint8_t *begin = writer.at;
    *read = (struct tr_read_rows){.record = query->record->id,
                                  .filter_count = (uint32_t)query->filter_count,
                                  .is_led = query->is_led,
                                  .skip = query->skip,
                                  .limit = query->limit,
                                  .counts = counts};
    tr_write_array(&writer, (uint32_t)(count_filters(query) * FILTER_VALUES));
    write_filters(&writer, query->filters, query->filter_count);
    for (size_t i = 0; i < query->related_count; i++) {
        write_filters(&writer, query->related[i].filters, query->related[i].filter_count);
    }
    read->filters = since(&writer, begin);
    begin = writer.at;
    tr_write_array(&writer, (uint32_t)(query->related_count * RELATED_VALUES));
    for (size_t i = 0; i < query->related_count; i++) {
        tr_write_u16(&writer, query->related[i].record->id);
        tr_write_bool(&writer, query->related[i].is_absent);
        tr_write_u32(&writer, (uint32_t)query->related[i].filter_count);
    }
    read->related = since(&writer, begin);
    begin = writer.at;
    write_orders(&writer, query);
    read->orders = since(&writer, begin);
    return writer.error;
}

/* ---- Unpacking. ------------------------------------------------------------------------------ */

static const struct tr_schema *find_record(uint16_t id, const struct tr_schema *const *records,
                                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (records[i]->id == id) {
            return records[i];
        }
    }
    return NULL;
}

/* The name of a field as its schema has it; NULL: there is none. */
static const char *find_field(const struct tr_schema *record, struct tr_text name)
{
    const struct tr_field *fields = record->fields();
    for (uint16_t i = 0; i < record->field_count; i++) {
        if (tr_text_equal(tr_text_of(fields[i].name), name)) {
            return fields[i].name;
        }
    }
    return NULL;
}

static int read_filters(struct tr_cursor *cursor, const struct tr_schema *record, size_t count,
                        struct tr_reader_filter *filters)
{
    for (size_t i = 0; i < count; i++) {
        struct tr_text name = tr_read_text(cursor);
        struct tr_reader_filter filter = {.op = (enum tr_filter_op)tr_read_u8(cursor)};
        filter.is_text = tr_read_bool(cursor);
        filter.is_passive = tr_read_bool(cursor);
        filter.number = tr_read_u64(cursor);
        struct tr_bytes text = tr_read_bytes(cursor);
        filter.text = (struct tr_text){.data = (const char *)text.data, .size = text.size};
        filter.field = cursor->error == 0 ? find_field(record, name) : NULL;
        if (cursor->error != 0) {
            return cursor->error;
        }
        if (filter.field == NULL || filter.op < TR_FILTER_EQUAL || filter.op > TR_FILTER_BIT) {
            return TR_INVALID;
        }
        filters[i] = filter;
    }
    return 0;
}

static int read_orders(const struct tr_read_rows *read, struct tr_reader_query *query)
{
    struct tr_cursor cursor = tr_cursor_of(read->orders);
    uint32_t count = tr_read_array(&cursor);
    if (cursor.error != 0 || count % ORDER_VALUES != 0 ||
        count / ORDER_VALUES > TR_READER_ORDERS_MAX) {
        return cursor.error != 0 ? cursor.error : TR_INVALID;
    }
    for (uint32_t i = 0; i < count / ORDER_VALUES; i++) {
        struct tr_reader_order *order = &query->order[i];
        struct tr_text name = tr_read_text(&cursor);
        order->is_descending = tr_read_bool(&cursor);
        struct tr_text from = tr_read_text(&cursor);
        order->now_ms = tr_read_u64(&cursor);
        if (cursor.error != 0) {
            return cursor.error;
        }
        order->field = find_field(query->record, name);
        order->since = from.size > 0 ? find_field(query->record, from) : NULL;
        if (order->field == NULL || (from.size > 0 && order->since == NULL)) {
            return TR_INVALID;
        }
    }
    return 0;
}

/* Their filters stand behind those of the query, in the same list. */
static int read_related(const struct tr_read_rows *read, const struct tr_schema *const *records,
                        size_t record_count, struct tr_cursor *filters, size_t left,
                        struct tri_remote_query *query)
{
    struct tr_cursor cursor = tr_cursor_of(read->related);
    struct tr_reader_filter *next = query->filters + read->filter_count;
    uint32_t count = tr_read_array(&cursor);
    if (cursor.error != 0 || count % RELATED_VALUES != 0 ||
        count / RELATED_VALUES > TRI_REMOTE_RELATED_MAX) {
        return cursor.error != 0 ? cursor.error : TR_INVALID;
    }
    for (uint32_t i = 0; i < count / RELATED_VALUES; i++) {
        struct tr_reader_related *related = &query->related[i];
        related->record = find_record(tr_read_u16(&cursor), records, record_count);
        related->is_absent = tr_read_bool(&cursor);
        related->filter_count = tr_read_u32(&cursor);
        related->filters = next;
        if (cursor.error != 0 || related->record == NULL || related->filter_count > left) {
            return cursor.error != 0 ? cursor.error : TR_INVALID;
        }
        int error = read_filters(filters, related->record, related->filter_count, next);
        if (error != 0) {
            return error;
        }
        next += related->filter_count;
        left -= related->filter_count;
    }
    query->query.related = query->related;
    query->query.related_count = count / RELATED_VALUES;
    return left == 0 ? 0 : TR_INVALID;
}

int tri_remote_query_unpack(const struct tr_read_rows *read, const struct tr_schema *const *records,
                            size_t record_count, struct tri_remote_query *query)
{
    struct tr_cursor cursor = tr_cursor_of(read->filters);
    uint32_t values = tr_read_array(&cursor);
    size_t count = values / FILTER_VALUES;
    memset(query, 0, sizeof *query);
    query->query =
        (struct tr_reader_query){.record = find_record(read->record, records, record_count),
                                 .filters = query->filters,
                                 .filter_count = read->filter_count,
                                 .is_led = read->is_led,
                                 .skip = read->skip,
                                 .limit = read->limit};
    if (cursor.error != 0) {
        return cursor.error;
    }
    if (query->query.record == NULL) {
        return TR_UNKNOWN_TYPE;
    }
    if (values % FILTER_VALUES != 0 || count > TRI_REMOTE_FILTERS_MAX ||
        read->filter_count > count) {
        return TR_INVALID;
    }
    int error = read_filters(&cursor, query->query.record, read->filter_count, query->filters);
    if (error == 0) {
        error =
            read_related(read, records, record_count, &cursor, count - read->filter_count, query);
    }
    return error != 0 ? error : read_orders(read, &query->query);
}

/* ---- Objects. -------------------------------------------------------------------------------- */

void tri_remote_op_write(const struct tri_op *op, struct tr_writer *writer)
{
    tr_write_array(writer, 7);
    tr_write_u8(writer, (uint8_t)op->kind);
    tr_write_u16(writer, op->type);
    tr_write_key(writer, op->key);
    tr_write_u32(writer, op->incarnation);
    tr_write_u64(writer, op->to_group);
    tr_write_u64(writer, op->number);
    tr_write_bytes(writer, op->data);
}

void tri_remote_op_read(struct tr_cursor *cursor, struct tri_op *op)
{
    if (tr_read_array(cursor) != 7) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    *op = (struct tri_op){.kind = (enum tri_op_kind)tr_read_u8(cursor)};
    op->type = tr_read_u16(cursor);
    op->key = tr_read_key(cursor);
    op->incarnation = tr_read_u32(cursor);
    op->to_group = tr_read_u64(cursor);
    op->number = tr_read_u64(cursor);
    op->data = tr_read_bytes(cursor);
}
