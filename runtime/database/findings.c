/*
 * Findings of a check: places, words, and what the fields of a record can hold.
 */
#include "runtime/database/findings.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/journal/crashes.h"
#include "runtime/journal/images.h"
#include "schemas/codec/utf8.h"
#include "schemas/runtime/envelope.h"

#define PLACE_BYTES 384
#define WORDS_BYTES 512

/* Bytes of a text in a place. */
#define TEXT_SHOWN 100

void tri_findings_begin(struct tri_findings *findings, const char *table)
{
    findings->table = table;
    findings->rows = 0;
    findings->count = 0;
}

int tri_findings_go_on(struct tri_findings *findings)
{
    const struct tri_store_checking *checking = findings->checking;
    return checking->progress(checking->self, findings->table, findings->rows);
}

void tri_findings_end(struct tri_findings *findings, bool is_whole)
{
    const struct tri_store_checking *checking = findings->checking;
    if (findings->count > TRI_FINDINGS_EACH_MAX) {
        char words[WORDS_BYTES];
        (void)snprintf(words, sizeof words, "%llu more findings in this table are not shown",
                       (unsigned long long)(findings->count - TRI_FINDINGS_EACH_MAX));
        struct tri_finding finding = {
            .place = findings->table, .what = words, .remedy = TRI_REMEDY_BACKUP};
        checking->found(checking->self, &finding);
    }
    if (is_whole) {
        checking->finished(checking->self, findings->table, findings->rows);
    }
}

void tri_findings_tell(struct tri_findings *findings, const char *place, const char *remedy,
                       const char *format, ...)
{
    char words[WORDS_BYTES];
    if (++findings->count > TRI_FINDINGS_EACH_MAX) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    struct tri_finding finding = {.place = place, .what = words, .remedy = remedy};
    findings->checking->found(findings->checking->self, &finding);
}

/* ------------------------------------------------------------------- rows of the state */

/* The row by its key. */
static void place_row(const struct tri_findings *findings, const struct tri_op *op,
                      char place[PLACE_BYTES])
{
    unsigned long long group = op->key.group;
    unsigned long long serial = op->key.serial;
    unsigned long long number = op->number;
    switch (op->kind) {
    case TRI_OP_PUT_COUNTER:
        (void)snprintf(place, PLACE_BYTES, "%s (group %llu, worker %llu)", findings->table, group,
                       serial);
        break;
    case TRI_OP_PUT_PAGE:
        (void)snprintf(place, PLACE_BYTES, "%s (group %llu, serial %llu, page %llu)",
                       findings->table, group, serial, number);
        break;
    case TRI_OP_PUT_MESSAGE:
        (void)snprintf(place, PLACE_BYTES,
                       "%s (group %llu, serial %llu, incarnation %u, sequence %llu)",
                       findings->table, group, serial, op->incarnation, number);
        break;
    case TRI_OP_PUT_META:
        (void)snprintf(place, PLACE_BYTES, "%s (cell %llu)", findings->table, number);
        break;
    case TRI_OP_PUT_CRASH:
        (void)snprintf(place, PLACE_BYTES, "%s (kind %u, group %llu, serial %llu, number %llu)",
                       findings->table, op->type, group, serial, number);
        break;
    default:
        (void)snprintf(place, PLACE_BYTES, "%s (group %llu, serial %llu)", findings->table, group,
                       serial);
    }
}

/* What is wrong with the contents of a row that is as it was written; 0: nothing. */
static int error_of(const struct tri_findings *findings, const struct tri_op *op)
{
    const struct tri_store_checking *checking = findings->checking;
    struct tr_actor_image image;
    struct tri_crash_row row;
    size_t size;
    int error = 0;
    switch (op->kind) {
    case TRI_OP_PUT_ACTOR:
        error = tri_image_of(op, &image);
        return error == 0 && checking->read_state != NULL
                   ? checking->read_state(checking->self, image.behaviour, image.state_version,
                                          image.state)
                   : error;
    case TRI_OP_PUT_MESSAGE:
        return tr_envelope_check(op->data, &size);
    case TRI_OP_PUT_CRASH:
        return tri_crash_row_read(op, &row);
    default:
        return 0;
    }
}

void tri_findings_check_row(struct tri_findings *findings, const struct tri_op *op, bool is_intact)
{
    char place[PLACE_BYTES];
    int error = is_intact ? error_of(findings, op) : 0;
    if (is_intact && error == 0) {
        return;
    }
    place_row(findings, op, place);
    if (!is_intact) {
        tri_findings_tell(findings, place, TRI_REMEDY_BACKUP, "the row fails its checksum");
    } else {
        tri_findings_tell(findings, place, TRI_REMEDY_BACKUP, "its contents cannot be read: %s",
                          tr_error_text(error));
    }
}

void tri_findings_check_graph(struct tri_findings *findings, struct tr_bytes hash,
                              struct tr_bytes graph)
{
    uint8_t computed[crypto_hash_sha256_BYTES];
    char hex[2 * 32 + 1];
    char place[PLACE_BYTES];
    crypto_hash_sha256(computed, graph.data, graph.size);
    if (hash.size == sizeof computed && memcmp(hash.data, computed, sizeof computed) == 0) {
        return;
    }
    (void)sodium_bin2hex(hex, sizeof hex, hash.data, hash.size < 32 ? hash.size : 32);
    (void)snprintf(place, sizeof place, "%s (hash %s)", findings->table, hex);
    tri_findings_tell(findings, place, TRI_REMEDY_BACKUP, "the graph is not what its hash says");
}

/* --------------------------------------------------------------------- rows of records */

/* The most that a number of this kind can be. */
static uint64_t most_of(const struct tri_record_column *column)
{
    switch (column->field->kind) {
    case TR_FIELD_bool:
        return 1;
    case TR_FIELD_u8:
        return UINT8_MAX;
    case TR_FIELD_u16:
        return UINT16_MAX;
    case TR_FIELD_u32:
        return UINT32_MAX;
    case TR_FIELD_ref:
        return column->part == 2 ? UINT32_MAX : UINT64_MAX;
    default:
        return UINT64_MAX;
    }
}

/* Bytes that are to be one value of msgpack; none at all are the default. */
static bool is_any(struct tr_bytes bytes)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    (void)tr_read_any(&cursor);
    return bytes.size == 0 || (cursor.error == 0 && tr_cursor_left(&cursor) == 0);
}

/* What is wrong with a value; NULL: nothing. */
static const char *problem_of(const struct tri_record_column *column,
                              const struct tri_found_value *found)
{
    const struct tri_column_value *value = &found->value;
    const struct tr_field *field = column->field;
    if (found->is_other) {
        return "has a value of another type";
    }
    if (found->is_null) {
        return tri_record_column_type(column) == TRI_COLUMN_REAL ? NULL : "has no value";
    }
    if (value->type == TRI_COLUMN_INTEGER) {
        return value->integer <= most_of(column) ? NULL : "has a number that is too large";
    }
    if (field->capacity > 0 && value->bytes.size > field->capacity) {
        return "has more bytes than it may";
    }
    struct tr_text text = {.data = (const char *)value->bytes.data, .size = value->bytes.size};
    if (value->type == TRI_COLUMN_TEXT && !tr_utf8_valid(text)) {
        return "has a text that is no UTF-8";
    }
    return field->kind != TR_FIELD_any || is_any(value->bytes) ? NULL : "has no value of msgpack";
}

/* The row by its key. */
static void name_row(const struct tri_record_table *table, const struct tri_found_value *values,
                     char place[PLACE_BYTES])
{
    size_t at = (size_t)snprintf(place, PLACE_BYTES, "record_%s", table->schema->name);
    size_t keys = tri_record_columns_of(table, table->key_count);
    for (size_t i = 0; i < keys && at < PLACE_BYTES; i++) {
        const struct tri_column_value *value = &values[i].value;
        struct tr_text text = {.data = (const char *)value->bytes.data, .size = value->bytes.size};
        const char *before = i == 0 ? " (" : ", ";
        const char *name = table->columns[i].field->name;
        const char *suffix = tri_record_column_suffix(&table->columns[i]);
        int size = value->type == TRI_COLUMN_INTEGER
                       ? snprintf(place + at, PLACE_BYTES - at, "%s%s%s %lld", before, name, suffix,
                                  (long long)value->integer)
                       : snprintf(place + at, PLACE_BYTES - at, "%s%s%s \"%.*s\"", before, name,
                                  suffix, (int)tr_utf8_cut(text, TEXT_SHOWN), text.data);
        at += size > 0 ? (size_t)size : 0;
    }
    if (keys > 0 && at + 1 < PLACE_BYTES) {
        (void)snprintf(place + at, PLACE_BYTES - at, ")");
    }
}

void tri_findings_check_record(struct tri_findings *findings, const struct tri_record_table *table,
                               const struct tri_found_value *values)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        const char *problem = problem_of(column, &values[i]);
        if (problem != NULL) {
            char place[PLACE_BYTES];
            name_row(table, values, place);
            tri_findings_tell(findings, place, TRI_REMEDY_BACKUP, "the column %s%s %s",
                              column->field->name, tri_record_column_suffix(column), problem);
        }
    }
}
