/*
 * The definitions behind process.h, and the arrays inside its messages: a process_start's words
 * (program, arguments, environment) and resource limits, a process_run's secrets, files and
 * results, a process_over's documents.
 *
 * Words are whatever the operating system takes: any bytes but zero. Most are UTF-8, and are then
 * packed as text, which people can read in a dump.
 */
#include "schemas/runtime/process.h"

TR_PROCESS_SCHEMAS(TR_SCHEMA_DEFINE)

void tr_process_string_write(struct tr_writer *writer, struct tr_bytes word)
{
    struct tr_text text = {.data = (const char *)word.data, .size = word.size};
    if (tr_utf8_valid(text)) {
        tr_write_text(writer, text);
    } else {
        tr_write_bytes(writer, word);
    }
}

int tr_process_strings_pack(const char *const *words, struct tr_writer *writer)
{
    uint32_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    tr_write_array(writer, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_process_string_write(writer,
                                (struct tr_bytes){(const uint8_t *)words[i], strlen(words[i])});
    }
    return writer->error;
}

int tr_process_secrets_pack(const struct tr_process_secret *secrets, size_t count,
                            struct tr_writer *writer)
{
    tr_write_array(writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tr_write_array(writer, 5);
        tr_write_text(writer, secrets[i].name);
        tr_write_text(writer, secrets[i].group);
        tr_write_text(writer, secrets[i].key);
        tr_write_text(writer, secrets[i].version);
        tr_write_bool(writer, secrets[i].is_file);
    }
    return writer->error;
}

int tr_process_files_pack(const struct tr_process_file *files, size_t count,
                          struct tr_writer *writer)
{
    tr_write_array(writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tr_write_array(writer, 3);
        tr_write_text(writer, files[i].name);
        tr_write_bytes(writer, files[i].bytes);
        tr_write_u16(writer, files[i].mode);
    }
    return writer->error;
}

int tr_process_results_pack(const struct tr_process_result *results, size_t count,
                            struct tr_writer *writer)
{
    tr_write_array(writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tr_write_array(writer, 3);
        tr_write_text(writer, results[i].name);
        tr_write_u64(writer, results[i].size_max);
        tr_write_bool(writer, results[i].is_tail);
    }
    return writer->error;
}

int tr_process_limits_pack(const struct tr_process_limit *limits, size_t count,
                           struct tr_writer *writer)
{
    tr_write_array(writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tr_write_array(writer, 3);
        tr_write_text(writer, limits[i].name);
        tr_write_u64(writer, limits[i].soft);
        tr_write_u64(writer, limits[i].hard);
    }
    return writer->error;
}

uint32_t tr_process_array_begin(struct tr_bytes array, struct tr_cursor *cursor)
{
    *cursor = tr_cursor_of(array);
    if (array.size == 0 || tr_read_nil(cursor)) {
        return 0;
    }
    return tr_read_array(cursor);
}

struct tr_bytes tr_process_string_next(struct tr_cursor *cursor)
{
    bool is_bytes = cursor->at < cursor->end && *cursor->at >= 0xc4 && *cursor->at <= 0xc6;
    struct tr_bytes word;
    if (is_bytes) {
        word = tr_read_bytes(cursor);
    } else {
        struct tr_text text = tr_read_text(cursor);
        word = (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
    }
    if (word.size > 0 && memchr(word.data, 0, word.size) != NULL) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return (struct tr_bytes){.data = NULL, .size = 0};
    }
    return word;
}

/* The beginning of a row with so many elements; false when it is none. */
static bool begin_row(struct tr_cursor *cursor, uint32_t count)
{
    if (tr_read_array(cursor) != count) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    return cursor->error == 0;
}

struct tr_process_secret tr_process_secret_next(struct tr_cursor *cursor)
{
    struct tr_process_secret secret = {.name = {.data = "", .size = 0}};
    if (begin_row(cursor, 5)) {
        secret.name = tr_read_text(cursor);
        secret.group = tr_read_text(cursor);
        secret.key = tr_read_text(cursor);
        secret.version = tr_read_text(cursor);
        secret.is_file = tr_read_bool(cursor);
    }
    return secret;
}

struct tr_process_file tr_process_file_next(struct tr_cursor *cursor)
{
    struct tr_process_file file = {.name = {.data = "", .size = 0}};
    if (begin_row(cursor, 3)) {
        file.name = tr_read_text(cursor);
        file.bytes = tr_read_bytes(cursor);
        file.mode = tr_read_u16(cursor);
    }
    return file;
}

struct tr_process_result tr_process_result_next(struct tr_cursor *cursor)
{
    struct tr_process_result result = {.name = {.data = "", .size = 0}};
    if (begin_row(cursor, 3)) {
        result.name = tr_read_text(cursor);
        result.size_max = tr_read_u64(cursor);
        result.is_tail = tr_read_bool(cursor);
    }
    return result;
}

struct tr_process_document tr_process_document_next(struct tr_cursor *cursor)
{
    struct tr_process_document document = {.bytes = {.data = NULL, .size = 0}};
    if (tr_read_nil(cursor)) {
        document.is_absent = true;
    } else if (tr_peek(cursor) == TR_CODEC_UNSIGNED) {
        document.is_too_large = true;
        document.size = tr_read_u64(cursor);
    } else {
        document.bytes = tr_read_bytes(cursor);
        document.size = document.bytes.size;
    }
    return document;
}

struct tr_process_limit tr_process_limit_next(struct tr_cursor *cursor)
{
    struct tr_process_limit limit = {.name = {.data = "", .size = 0}};
    if (!begin_row(cursor, 3)) {
        return limit;
    }
    limit.name = tr_read_text(cursor);
    limit.soft = tr_read_u64(cursor);
    limit.hard = tr_read_u64(cursor);
    return limit;
}
