/*
 * One attempt of a notification as what a service is asked: an HTTP request, or a process.
 *
 * The folder of a process is STORE/attempts/EXECUTION/NAME, as those of tasks are, and goes with
 * its end. It has no token of the resource manager: it takes its turn among the processes of the
 * keeper, and waits there for nobody else's quota.
 */
#include <stdio.h>
#include <string.h>

#include "actors/services/notification.h"
#include "actors/store/task_name.h"
#include "schemas/codec/print.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/process.h"

/* The file that stdin is, in the attempt's folder. */
#define STDIN_FILE "document"

/* Of an answer nothing is needed but a few words. */
#define RESPONSE_BYTES_MAX 65536U

#define STDERR_BYTES_MAX 2048U
#define GRACE_MS 5000U

/* Beside its texts, what a packed row takes. */
#define ROW_BYTES 64U

/* ------------------------------------------------------------------------ the target */

struct tr_bytes tri_notification_part(const struct tri_notification *notification, const char *key)
{
    struct tr_cursor cursor = tr_cursor_of(notification->notify.target);
    uint32_t count = tr_read_map(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        struct tr_bytes value = tr_read_any(&cursor);
        if (cursor.error == 0 && tr_text_equal(name, tr_text_of(key))) {
            return value;
        }
    }
    return (struct tr_bytes){0};
}

struct tr_text tri_notification_text(const struct tri_notification *notification, const char *key)
{
    struct tr_cursor cursor = tr_cursor_of(tri_notification_part(notification, key));
    struct tr_text text = tr_read_text(&cursor);
    return cursor.error != 0 ? tr_text_of("") : text;
}

/* A value as JSON, in the handling's memory. */
static struct tr_text as_json(struct tri_notification *notification, struct tr_bytes value)
{
    char room[256];
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, TR_MESSAGE_BYTES_MAX);
    struct tr_sink sink = tr_buffer_sink(&buffer, room, sizeof room);
    tr_print_any(&sink, TR_PRINT_JSON, value);
    tr_sink_flush(&sink);
    struct tr_text text = tr_arena_text(&notification->arena, tr_buffer_text(&buffer));
    if (buffer.error != 0 && notification->arena.error == 0) {
        notification->arena.error = buffer.error;
    }
    tr_buffer_fini(&buffer);
    return text;
}

/* ---------------------------------------------------------------------------- request */

/* A header takes one line: an error's words may have more. */
static struct tr_text one_line(struct tri_notification *notification, struct tr_text text)
{
    char *copy = tr_arena_alloc(&notification->arena, text.size + 1);
    for (size_t i = 0; copy != NULL && i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        copy[i] = byte < ' ' ? ' ' : text.data[i];
    }
    return copy == NULL ? tr_text_of("") : (struct tr_text){.data = copy, .size = text.size};
}

static int write_headers(struct tri_notification *notification, struct tr_bytes *headers)
{
    struct tr_bytes given = tri_notification_part(notification, "headers");
    struct tr_cursor cursor = tr_cursor_of(given);
    uint32_t count = given.size == 0 ? 0 : tr_read_array(&cursor);
    size_t size = given.size + notification->notify.key.size + ROW_BYTES * ((size_t)count + 4);
    uint8_t *bytes = tr_arena_alloc(&notification->arena, size);
    if (bytes == NULL) {
        return notification->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, count + 2);
    tr_write_text(&writer, tr_text_of("Content-Type: application/json"));
    tr_write_text(&writer, tr_arena_print(&notification->arena, "Idempotency-Key: %.*s",
                                          TRI_TEXT(notification->notify.key)));
    for (uint32_t i = 0; i < count; i++) {
        tr_write_text(&writer, one_line(notification, tr_read_text(&cursor)));
    }
    *headers = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return cursor.error != 0 ? TR_MALFORMED : writer.error;
}

/* In place of the document, what the definition says. */
static struct tr_text body_of(struct tri_notification *notification)
{
    struct tr_bytes body = tri_notification_part(notification, "body");
    return as_json(notification, body.size > 0 ? body : notification->notify.document);
}

static int send_request(struct tri_notification *notification, struct tr_text *problem)
{
    struct tr_text body = body_of(notification);
    struct tr_http_request request = {
        .method = tr_text_of("POST"),
        .url = tri_notification_text(notification, "url"),
        .body = {.data = (const uint8_t *)body.data, .size = body.size},
        .timeout_ms = (uint32_t)notification->notify.timeout_ms,
        .response_bytes_max = RESPONSE_BYTES_MAX,
        .secrets = tri_notification_part(notification, "secrets"),
    };
    int error = write_headers(notification, &request.headers);
    if (error == 0) {
        error = tr_call(notification->context, TR_SERVICE_HTTP, &tr_http_request_schema, &request,
                        0, &notification->state->call);
    }
    *problem = tr_text_of("the request is larger than a message (1 MiB), or its headers are none");
    return error;
}

/* ---------------------------------------------------------------------------- process */

/*
 * The name of an attempt: the key with the number of the attempt in the place of its 0
 * (actors/store/task_name.h), so that the keeper knows each apart.
 */
static struct tr_text attempt_name(struct tri_notification *notification)
{
    struct tr_text key = notification->notify.key;
    key.size -= key.size > 0 ? 1 : 0;
    return tr_arena_print(&notification->arena, "%.*s%u", TRI_TEXT(key),
                          notification->state->failures);
}

static struct tr_text attempt_folder(struct tri_notification *notification)
{
    return tr_arena_print(&notification->arena, "%s/attempts/%.*s/%.*s",
                          tr_engine_of(notification->context)->store_folder,
                          TRI_TEXT(notification->notify.address),
                          TRI_TEXT(attempt_name(notification)));
}

/* Words as an array for the keeper. TR_INVALID: one holds a zero byte. */
static int write_words(struct tri_notification *notification, const struct tr_text *words,
                       uint32_t count, struct tr_bytes *packed)
{
    size_t size = ROW_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        size += words[i].size + ROW_BYTES;
        if (words[i].size > 0 && memchr(words[i].data, 0, words[i].size) != NULL) {
            return TR_INVALID;
        }
    }
    uint8_t *bytes = tr_arena_alloc(&notification->arena, size);
    if (bytes == NULL) {
        return notification->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_process_string_write(&writer, (struct tr_bytes){.data = (const uint8_t *)words[i].data,
                                                           .size = words[i].size});
    }
    *packed = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return writer.error;
}

/* `./` and `../` count from the definition's folder. */
static struct tr_text placed(struct tri_notification *notification, struct tr_text word)
{
    struct tr_text folder = notification->notify.folder;
    if (word.size >= 2 && memcmp(word.data, "./", 2) == 0) {
        return tr_arena_print(&notification->arena, "%.*s/%.*s", TRI_TEXT(folder),
                              (int)word.size - 2, word.data + 2);
    }
    return word.size >= 3 && memcmp(word.data, "../", 3) == 0
               ? tr_arena_print(&notification->arena, "%.*s/%.*s", TRI_TEXT(folder), TRI_TEXT(word))
               : word;
}

/* A command's words, or those of the program that sends mail. */
static int write_arguments(struct tri_notification *notification, struct tr_bytes *packed)
{
    const char *sendmail = tr_engine_of(notification->context)->sendmail;
    bool is_mail = notification->notify.kind == TR_NOTIFY_BY_MAIL;
    struct tr_cursor cursor =
        tr_cursor_of(tri_notification_part(notification, is_mail ? "to" : "run"));
    uint32_t count = tr_read_array(&cursor);
    uint32_t own = is_mail ? 2 : 0;
    struct tr_text *words =
        tr_arena_array(&notification->arena, (size_t)count + own, sizeof *words);
    if (words == NULL) {
        return notification->arena.error;
    }
    if (is_mail) {
        words[0] = tr_text_of(sendmail != NULL ? sendmail : TR_SENDMAIL);
        words[1] = tr_text_of("-i"); /* a line with one point is no end */
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tr_text word = tr_read_text(&cursor);
        words[own + i] = is_mail ? word : placed(notification, word);
    }
    return cursor.error != 0 ? TR_MALFORMED : write_words(notification, words, count + own, packed);
}

static int write_environment(struct tri_notification *notification, struct tr_bytes *packed)
{
    const struct tr_notify *notify = &notification->notify;
    struct tr_arena *arena = &notification->arena;
    const struct tr_text words[] = {
        tr_text_of("PATH"),
        tr_text_of("HOME"),
        tr_text_of("LANG"),
        tr_arena_print(arena, "TROUPE_FOLDER=%.*s", TRI_TEXT(notify->folder)),
        tr_arena_print(arena, "TROUPE_EXECUTION=%.*s",
                       TRI_TEXT(tr_task_name_last(notify->address))),
        tr_arena_print(arena, "TROUPE_PHASE=%s", tr_notify_phase_word(notify->phase)),
        tr_arena_print(arena, "TROUPE_NOTIFICATION=%.*s", TRI_TEXT(notify->key)),
    };
    return write_words(notification, words, TR_COUNT_OF(words), packed);
}

/* What stands on stdin: the document, or the mail. */
static int write_file(struct tri_notification *notification, struct tr_bytes *packed)
{
    bool is_mail = notification->notify.kind == TR_NOTIFY_BY_MAIL;
    struct tr_text text = is_mail ? tri_notification_mail(notification)
                                  : as_json(notification, notification->notify.document);
    struct tr_process_file file = {.name = tr_text_of(STDIN_FILE),
                                   .bytes = {.data = (const uint8_t *)text.data, .size = text.size},
                                   .mode = 0400};
    size_t size = text.size + 2 * ROW_BYTES;
    uint8_t *bytes = tr_arena_alloc(&notification->arena, size);
    if (bytes == NULL) {
        return notification->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = tr_process_files_pack(&file, 1, &writer);
    *packed = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return error;
}

static int write_parts(struct tri_notification *notification, struct tr_process_run *run)
{
    int error = write_arguments(notification, &run->argv);
    if (error == 0) {
        error = write_environment(notification, &run->environment);
    }
    if (error == 0) {
        error = write_file(notification, &run->files);
    }
    return error;
}

static int send_process(struct tri_notification *notification, struct tr_text *problem)
{
    uint8_t results[ROW_BYTES];
    struct tr_writer writer = tr_writer_of(results, sizeof results);
    const struct tr_process_result result = {
        .name = tr_text_of(TR_ATTEMPT_STDERR), .size_max = STDERR_BYTES_MAX, .is_tail = true};
    if (tr_engine_of(notification->context)->store_folder == NULL) {
        *problem = tr_text_of("this engine has no store, in which a process could work");
        return TR_INVALID;
    }
    struct tr_process_run run = {
        .key = attempt_name(notification),
        .folder = attempt_folder(notification),
        .work = tr_text_of(TR_ATTEMPT_WORK),
        .stdin_path = tr_text_of(STDIN_FILE),
        .stderr_path = tr_text_of(TR_ATTEMPT_STDERR),
        .grace_ms = GRACE_MS,
        .timeout_ms = notification->notify.timeout_ms,
        .secrets = tri_notification_part(notification, "secrets"),
    };
    *problem = tr_text_of("a word of the command holds a zero byte, or all of it is larger than a "
                          "message (1 MiB)");
    int error = write_parts(notification, &run);
    if (error == 0) {
        error = tr_process_results_pack(&result, 1, &writer);
    }
    run.results = (struct tr_bytes){.data = results, .size = tr_writer_size(&writer)};
    return error != 0 ? error
                      : tr_call(notification->context, TR_SERVICE_PROCESSES, &tr_process_run_schema,
                                &run, 0, &notification->state->call);
}

int tri_notification_send(struct tri_notification *notification, struct tr_text *problem)
{
    struct tr_text words = tr_text_of("");
    int error = notification->notify.kind == TR_NOTIFY_BY_HTTP ? send_request(notification, &words)
                                                               : send_process(notification, &words);
    if (notification->arena.error == TR_MEMORY) {
        return TR_MEMORY;
    }
    /* What does not fit, or is nothing, never will; a lack of memory passes. */
    bool is_hopeless = error == TR_INVALID || error == TR_LIMIT || error == TR_MALFORMED ||
                       notification->arena.error != 0;
    if (is_hopeless) {
        notification->arena.error = 0;
        *problem = words;
        return TR_INVALID;
    }
    return error;
}

int tri_notification_clean(struct tri_notification *notification)
{
    struct tr_ref service = {{TR_GROUP_HERE, TR_SERVICE_PROCESSES}, 0};
    struct tr_process_forget forget = {.key = attempt_name(notification)};
    struct tr_folder_remove folder = {.path = attempt_folder(notification)};
    int error = notification->arena.error;
    if (error == 0) {
        error = tr_tell(notification->context, service, &tr_process_forget_schema, &forget);
    }
    return error != 0 ? error
                      : tr_tell(notification->context, service, &tr_folder_remove_schema, &folder);
}
