/*
 * Records of the keeper's log.
 *
 * Reading applies each record to the table of keys through the same transitions that wrote it, so
 * an impossible sequence is detected, with its offset. It is one pass; only at a bad record the
 * rest is searched, byte by byte, for a record of a later batch (was_synced).
 */
#include "runtime/keeper/keeper_log.h"

#include <stdio.h>

#include "runtime/env/crc32c.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "runtime/memory.h"

static void store32(uint8_t *at, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(at, &value, sizeof value);
}

static uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
}

/* ---- Writing. ------------------------------------------------------------------------------- */

int tri_keeper_log_begin(struct tri_buffer *buffer)
{
    return tri_buffer_append(buffer, TRI_KEEPER_LOG_MAGIC, TRI_KEEPER_LOG_MAGIC_BYTES);
}

int tri_keeper_log_put(struct tri_buffer *buffer, uint32_t batch, const struct tr_schema *schema,
                       const void *value, size_t *size)
{
    size_t size_max = schema->size_max(value);
    int error = tri_buffer_reserve(buffer, TRI_KEEPER_LOG_HEADER_BYTES + size_max);
    if (error != 0) {
        return error;
    }
    uint8_t *header = buffer->data + buffer->end;
    struct tr_writer writer = tr_writer_of(header + TRI_KEEPER_LOG_HEADER_BYTES, size_max);
    error = schema->pack(value, &writer);
    size_t body_size = tr_writer_size(&writer);
    if (error != 0 || body_size > TR_KEEPER_FRAME_BYTES_MAX) {
        return TR_LIMIT;
    }
    size_t record_size = TRI_KEEPER_LOG_HEADER_BYTES + body_size;
    store32(header + 4, (uint32_t)body_size);
    store32(header + 8, batch);
    store32(header + 12, (uint32_t)schema->id << 16 | (uint32_t)schema->version << 8);
    store32(header, tri_crc32c((struct tr_bytes){.data = header + 4, .size = record_size - 4}));
    buffer->end += record_size;
    if (size != NULL) {
        *size = record_size;
    }
    return 0;
}

/*
 * The shortest sequence of records that leads to the entry's phase. A start implies the launch, so
 * log_launching is written only for an entry that may run and has no pid, or a command behind its
 * end.
 */
static int put_entry(struct tri_buffer *buffer, uint32_t batch, struct tri_key_entry *entry)
{
    size_t begin = tri_buffer_size(buffer);
    struct tr_log_starting starting = {.key = entry->key, .asked_ms = entry->started_ms};
    int error = tri_keeper_log_put(buffer, batch, &tr_log_starting_schema, &starting, NULL);
    if (error == 0 && entry->may_run && (entry->pid == 0 || entry->after.size > 0)) {
        struct tr_log_launching launching = {.key = entry->key, .after = entry->after};
        error = tri_keeper_log_put(buffer, batch, &tr_log_launching_schema, &launching, NULL);
    }
    if (error == 0 && entry->pid != 0) {
        struct tr_process_started started = {.key = entry->key,
                                             .pid = entry->pid,
                                             .start_time = entry->start_time,
                                             .started_ms = entry->started_ms};
        error = tri_keeper_log_put(buffer, batch, &tr_process_started_schema, &started, NULL);
    }
    if (error == 0 && entry->phase == TR_PROCESS_ENDED) {
        error = tri_keeper_log_put(buffer, batch, &tr_process_ended_schema, &entry->end, NULL);
    }
    entry->log_bytes = tri_buffer_size(buffer) - begin;
    return error;
}

static int put_list(struct tri_buffer *buffer, uint32_t batch, const struct tri_key_list *list)
{
    int error = 0;
    for (struct tri_key_entry *entry = list->first; entry != NULL && error == 0;
         entry = entry->next) {
        error = put_entry(buffer, batch, entry);
    }
    return error;
}

int tri_keeper_log_put_table(struct tri_buffer *buffer, uint32_t batch, struct tri_key_table *table)
{
    int error = put_list(buffer, batch, &table->ended);
    return error != 0 ? error : put_list(buffer, batch, &table->live);
}

/* ---- Reading. ------------------------------------------------------------------------------- */

/* One record as it lies in the log. */
struct record {
    uint32_t batch;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
    size_t size; /* with its header */
};

struct reader {
    struct tr_bytes bytes;
    struct tri_key_table *table;
    struct tri_keeper_log_found *found;
};

/* The record at `offset`; returns NULL, or why there is none, in words. */
static const char *record_at(struct tr_bytes bytes, size_t offset, struct record *record)
{
    size_t left = bytes.size - offset;
    if (left < TRI_KEEPER_LOG_HEADER_BYTES) {
        return "a truncated record";
    }
    const uint8_t *header = bytes.data + offset;
    size_t body_size = load32(header + 4);
    if (body_size == 0) {
        return "no record"; /* a body is an array at least; this keeps the search below quick */
    }
    if (body_size > TR_KEEPER_FRAME_BYTES_MAX) {
        return "a record that is too large";
    }
    if (body_size > left - TRI_KEEPER_LOG_HEADER_BYTES) {
        return "a truncated record";
    }
    size_t size = TRI_KEEPER_LOG_HEADER_BYTES + body_size;
    if (tri_crc32c((struct tr_bytes){.data = header + 4, .size = size - 4}) != load32(header)) {
        return "a record with a wrong checksum";
    }
    uint32_t type = load32(header + 12);
    *record = (struct record){
        .batch = load32(header + 8),
        .type = (uint16_t)(type >> 16),
        .version = (uint8_t)(type >> 8),
        .body = {.data = header + TRI_KEEPER_LOG_HEADER_BYTES, .size = body_size},
        .size = size,
    };
    return NULL;
}

/* Describes the defect and its offset, and returns the error. */
static int complain(struct reader *reader, size_t offset, int error, const char *what)
{
    snprintf(reader->found->reason, sizeof reader->found->reason, "at byte %zu of %zu: %s (%s)",
             offset, reader->bytes.size, what, tr_error_text(error));
    return error;
}

/* A body that does not match its schema is of a later version, or damaged. */
static int unreadable(int error)
{
    return error == TR_VERSION ? TR_STORE_NEWER : TR_STORE_DAMAGED;
}

/*
 * Each keeper writes one when it opens the log. If the boot differs from the previous one's,
 * unsynced files may be lost.
 */
static int apply_opened(struct reader *reader, const struct record *record)
{
    struct tr_log_opened opened;
    int error = tr_log_opened_unpack(record->body, record->version, &opened);
    if (error != 0) {
        return unreadable(error);
    }
    if (reader->found->has_store) {
        reader->table->forgotten_bytes += record->size; /* the last one is enough */
        if (!tri_keeper_folder_same_boot(reader->found->place, opened.place)) {
            tri_key_table_restarted(reader->table);
        }
    }
    reader->found->has_store = true;
    reader->found->store = opened.store;
    reader->found->place = opened.place;
    return 0;
}

/*
 * A keeper writes it only for an unknown key. If the key has ended, it was forgotten, and the
 * record of that was lost with a failed commit. A second one before the end is damage.
 */
static int apply_starting(struct reader *reader, const struct record *record)
{
    struct tr_log_starting starting;
    int error = tr_log_starting_unpack(record->body, record->version, &starting);
    if (error != 0) {
        return unreadable(error);
    }
    struct tri_key_entry *entry = tri_key_table_find(reader->table, starting.key);
    if (entry != NULL && tri_key_table_forget(reader->table, entry) != 0) {
        return TR_STORE_DAMAGED;
    }
    error = tri_key_table_ask(reader->table, starting.key, &entry);
    if (error == TR_MEMORY || error == TR_BUSY) {
        return error;
    }
    if (error != 0) {
        return TR_STORE_DAMAGED;
    }
    entry->started_ms = starting.asked_ms;
    entry->log_bytes = record->size;
    return 0;
}

/* From now on a process of this key may exist. */
static int apply_launching(struct reader *reader, const struct record *record)
{
    struct tr_log_launching launching;
    int error = tr_log_launching_unpack(record->body, record->version, &launching);
    if (error != 0) {
        return unreadable(error);
    }
    struct tri_key_entry *entry = tri_key_table_find(reader->table, launching.key);
    if (entry == NULL || tri_key_table_launch(entry) != 0) {
        return TR_STORE_DAMAGED;
    }
    entry->log_bytes += record->size;
    return tri_key_table_after(entry, launching.after);
}

static int apply_started(struct reader *reader, const struct record *record)
{
    struct tr_process_started started;
    int error = tr_process_started_unpack(record->body, record->version, &started);
    if (error != 0) {
        return unreadable(error);
    }
    struct tri_key_entry *entry = tri_key_table_find(reader->table, started.key);
    if (entry == NULL || tri_key_table_start(reader->table, entry, &started) != 0) {
        return TR_STORE_DAMAGED;
    }
    entry->log_bytes += record->size;
    return 0;
}

static int apply_ended(struct reader *reader, const struct record *record)
{
    struct tr_process_ended ended;
    int error = tr_process_ended_unpack(record->body, record->version, &ended);
    if (error != 0) {
        return unreadable(error);
    }
    struct tri_key_entry *entry = tri_key_table_find(reader->table, ended.key);
    if (entry == NULL) {
        return TR_STORE_DAMAGED;
    }
    error = tri_key_table_end(reader->table, entry, &ended);
    entry->log_bytes += record->size;
    return error == TR_INVALID ? TR_STORE_DAMAGED : error;
}

/* The key's records are now garbage; with enough garbage the log is rewritten. */
static int apply_forget(struct reader *reader, const struct record *record)
{
    struct tr_process_forget forget;
    int error = tr_process_forget_unpack(record->body, record->version, &forget);
    if (error != 0) {
        return unreadable(error);
    }
    struct tri_key_entry *entry = tri_key_table_find(reader->table, forget.key);
    if (entry == NULL || tri_key_table_forget(reader->table, entry) != 0) {
        return TR_STORE_DAMAGED;
    }
    reader->table->forgotten_bytes += record->size;
    return 0;
}

/* The function of each record type, and its name for error messages. */
static const struct record_kind {
    const struct tr_schema *schema;
    int (*apply)(struct reader *reader, const struct record *record);
} record_kinds[] = {
    {&tr_log_starting_schema, apply_starting},   {&tr_log_launching_schema, apply_launching},
    {&tr_process_started_schema, apply_started}, {&tr_process_ended_schema, apply_ended},
    {&tr_process_forget_schema, apply_forget},   {&tr_log_opened_schema, apply_opened},
};

/* The records of a key must follow the transitions of the table, or the log is damaged. */
static int apply(struct reader *reader, size_t offset, const struct record *record)
{
    for (size_t i = 0; i < TR_COUNT_OF(record_kinds); i++) {
        const struct record_kind *kind = &record_kinds[i];
        if (kind->schema->id == record->type) {
            bool is_first = !reader->found->has_store;
            if (is_first && kind->apply != apply_opened) {
                return complain(reader, offset, TR_STORE_DAMAGED, "no log_opened at the start");
            }
            int error = kind->apply(reader, record);
            if (error != 0) {
                return complain(reader, offset, error, kind->schema->name);
            }
            return 0;
        }
    }
    return complain(reader, offset, TR_STORE_NEWER, "a record of an unknown type");
}

/*
 * Whether a record of a later sync follows behind `offset`. If so, the bytes at `offset` were
 * synced once, and the log is damaged and not torn. A checksum of 32 bits makes a record by chance
 * unlikely, and a body of size 0 is no record, so zeros are skipped quickly.
 */
static bool was_synced(const struct reader *reader, size_t offset)
{
    /* The unreadable record is of the last batch or, if a sync came between, of the next one. */
    uint64_t batch_max = (uint64_t)reader->found->batch + 1;
    struct record record;
    for (size_t at = offset + 1; at < reader->bytes.size; at++) {
        if (record_at(reader->bytes, at, &record) == NULL && record.batch > batch_max) {
            return true;
        }
    }
    return false;
}

/* Whether only preallocated zeros are left. */
static bool is_room(struct tr_bytes bytes, size_t offset)
{
    while (offset < bytes.size && bytes.data[offset] == 0) {
        offset++;
    }
    return offset == bytes.size;
}

/*
 * Reads up to the end or the first unreadable record. That record is harmless if it was never
 * synced (a crash tore it), and damage if a later sync follows it: then guaranteed data is lost.
 */
static int read_records(struct reader *reader)
{
    size_t offset = TRI_KEEPER_LOG_MAGIC_BYTES;
    while (offset < reader->bytes.size) {
        struct record record;
        const char *fault = record_at(reader->bytes, offset, &record);
        if (fault != NULL && is_room(reader->bytes, offset)) {
            return 0;
        }
        if (fault != NULL && was_synced(reader, offset)) {
            return complain(reader, offset, TR_STORE_DAMAGED, fault);
        }
        if (fault != NULL) {
            reader->found->is_torn = true;
            snprintf(reader->found->reason, sizeof reader->found->reason,
                     "at byte %zu of %zu: %s, which was never synced", offset, reader->bytes.size,
                     fault);
            return 0;
        }
        int error = apply(reader, offset, &record);
        if (error != 0) {
            return error;
        }
        offset += record.size;
        reader->found->batch = record.batch;
        reader->found->valid_bytes = offset;
    }
    return 0;
}

int tri_keeper_log_read(struct tr_bytes bytes, struct tri_key_table *table,
                        struct tri_keeper_log_found *found)
{
    struct reader reader = {.bytes = bytes, .table = table, .found = found};
    *found = (struct tri_keeper_log_found){.valid_bytes = 0};
    size_t compared =
        bytes.size < TRI_KEEPER_LOG_MAGIC_BYTES ? bytes.size : TRI_KEEPER_LOG_MAGIC_BYTES;
    if (compared == 0 || is_room(bytes, 0)) {
        return 0; /* empty or only zeros: its keeper ended before it wrote the header */
    }
    /* The last byte of the magic is the version of the format. */
    size_t name_size = TRI_KEEPER_LOG_MAGIC_BYTES - 1;
    size_t compared_name = compared < name_size ? compared : name_size;
    if (memcmp(bytes.data, TRI_KEEPER_LOG_MAGIC, compared_name) != 0) {
        return complain(&reader, 0, TR_STORE_FOREIGN, "no magic");
    }
    if (compared < TRI_KEEPER_LOG_MAGIC_BYTES) {
        found->is_torn = true;
        return 0;
    }
    if (bytes.data[name_size] != (uint8_t)TRI_KEEPER_LOG_MAGIC[name_size]) {
        return complain(&reader, name_size, TR_STORE_NEWER, "a log of another format");
    }
    found->valid_bytes = TRI_KEEPER_LOG_MAGIC_BYTES;
    return read_records(&reader);
}
