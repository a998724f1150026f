/*
 * What a task of the http plugin asks for: its `config` checked, and made into a request.
 */
#include <string.h>

#include "plugins/http/http.h"
#include "schemas/codec/print.h"

#define TIMEOUT_MS 30000
#define HEADERS_MAX 32
#define SECRETS_MAX 8

/* A body that is sent as JSON may be so many times larger than its packed value. */
#define JSON_GROWTH 8

/* ------------------------------------------------------------------------- its config */

static const struct tr_config_key keys[] = {
    {"url", TR_CODEC_TEXT},
    {"method", TR_CODEC_TEXT},
    {"headers", TR_CODEC_MAP},
    {"secrets", TR_CODEC_MAP},
    {"authorization", TR_CODEC_MAP},
    {"body", TR_CODEC_NONE},
    {"expect", TR_CODEC_ARRAY},
    {"timeout_ms", TR_CODEC_UNSIGNED},
    {"idempotency_key", TR_CODEC_TEXT},
    {"in_doubt", TR_CODEC_TEXT},
    {"ca_file", TR_CODEC_TEXT},
    {"insecure", TR_CODEC_BOOL},
};

/* A part of the config as bytes; empty: it is not there. */
static struct tr_bytes part_of(struct tr_bytes config, const char *key)
{
    struct tr_cursor value;
    return tr_config_find(config, key, &value) ? tr_read_any(&value) : (struct tr_bytes){0};
}

struct tr_text tri_http_text(struct tr_task_context *task, const char *key, const char *otherwise)
{
    return tr_config_text(tr_task_template(task)->config, key, tr_text_of(otherwise));
}

/* GROUP/KEY[@VERSION]; false: it is none. */
static bool read_secret(struct tr_text text, struct tr_http_secret *secret)
{
    const char *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
    const char *end = text.data + text.size;
    const char *at = slash == NULL ? NULL : memchr(slash, '@', (size_t)(end - slash));
    const char *key_end = at == NULL ? end : at;
    if (slash == NULL || slash == text.data || key_end == slash + 1 || at == end - 1) {
        return false;
    }
    secret->group = (struct tr_text){.data = text.data, .size = (size_t)(slash - text.data)};
    secret->key = (struct tr_text){.data = slash + 1, .size = (size_t)(key_end - slash - 1)};
    secret->version = at == NULL ? tr_text_of("")
                                 : (struct tr_text){.data = at + 1, .size = (size_t)(end - at - 1)};
    return true;
}

/* The next pair of a mapping, whose value has to be text. */
static bool next_pair(struct tr_cursor *cursor, struct tr_text *name, struct tr_text *value)
{
    *name = tr_read_text(cursor);
    *value = tr_read_text(cursor);
    return cursor->error == 0;
}

/* Rows of secret headers: `secrets` and `authorization`. */
static bool read_secrets(struct tr_bytes config, struct tr_http_secret rows[SECRETS_MAX],
                         size_t *count)
{
    struct tr_bytes secrets = part_of(config, "secrets");
    struct tr_bytes authorization = part_of(config, "authorization");
    struct tr_cursor cursor = tr_cursor_of(secrets);
    uint32_t left = secrets.size == 0 ? 0 : tr_read_map(&cursor);
    struct tr_text name;
    struct tr_text value;
    *count = 0;
    for (; left > 0; left--, ++*count) {
        if (*count == SECRETS_MAX - 1 || !next_pair(&cursor, &name, &value) ||
            !read_secret(value, &rows[*count])) {
            return false;
        }
        rows[*count].header = name;
    }
    if (authorization.size == 0) {
        return true;
    }
    cursor = tr_cursor_of(authorization);
    bool is_one = tr_read_map(&cursor) == 1 && next_pair(&cursor, &name, &value);
    bool is_basic = is_one && tr_text_equal(name, tr_text_of("basic"));
    if (!is_one || (!is_basic && !tr_text_equal(name, tr_text_of("bearer"))) ||
        !read_secret(value, &rows[*count])) {
        return false;
    }
    rows[*count].kind = is_basic ? TR_HTTP_SECRET_BASIC : TR_HTTP_SECRET_PLAIN;
    rows[*count].header = tr_text_of("Authorization");
    rows[*count].prefix = tr_text_of(is_basic ? "" : "Bearer ");
    ++*count;
    return true;
}

/* Headers are texts, of which a request takes so many. */
static bool are_headers(struct tr_bytes headers)
{
    struct tr_cursor cursor = tr_cursor_of(headers);
    uint32_t count = headers.size == 0 ? 0 : tr_read_map(&cursor);
    struct tr_text name;
    struct tr_text value;
    for (uint32_t i = 0; i < count && count <= HEADERS_MAX; i++) {
        if (!next_pair(&cursor, &name, &value)) {
            return false;
        }
    }
    return count <= HEADERS_MAX;
}

static bool are_statuses(struct tr_bytes expect)
{
    struct tr_cursor cursor = tr_cursor_of(expect);
    uint32_t count = expect.size == 0 ? 1 : tr_read_array(&cursor);
    for (uint32_t i = 0; expect.size > 0 && i < count; i++) {
        uint64_t status = tr_read_u64(&cursor);
        if (cursor.error != 0 || status < 100 || status > 599) {
            return false;
        }
    }
    return count > 0;
}

static int check_request(struct tr_bytes config, char *problem, size_t problem_size)
{
    if (!are_headers(part_of(config, "headers"))) {
        return tr_config_refuse(problem, problem_size,
                                "config.headers holds what is no text, or too many\nwrite {NAME: "
                                "\"VALUE\"}, %d at most",
                                HEADERS_MAX);
    }
    if (!are_statuses(part_of(config, "expect"))) {
        return tr_config_refuse(problem, problem_size,
                                "config.expect holds what is no status\nwrite numbers from 100 to "
                                "599, as [200, 201]");
    }
    return 0;
}

static int check_words(struct tr_bytes config, char *problem, size_t problem_size)
{
    struct tr_http_secret rows[SECRETS_MAX] = {{0}};
    size_t count;
    struct tr_text policy = tr_config_text(config, "in_doubt", tr_text_of("fail"));
    if (part_of(config, "url").size == 0) {
        return tr_config_refuse(problem, problem_size,
                                "config.url is missing\nwrite config: "
                                "{url: URL}");
    }
    if (!tr_text_equal(policy, tr_text_of("fail")) &&
        !tr_text_equal(policy, tr_text_of("repeat"))) {
        return tr_config_refuse(problem, problem_size,
                                "config.in_doubt has to be fail or repeat, not '%.*s'",
                                policy.size < 60 ? (int)policy.size : 60, policy.data);
    }
    if (!read_secrets(config, rows, &count)) {
        return tr_config_refuse(problem, problem_size,
                                "config names a secret that is none\nwrite secrets: {HEADER: "
                                "GROUP/KEY}, authorization: {bearer: GROUP/KEY} or {basic: "
                                "GROUP/KEY}, %d at most",
                                SECRETS_MAX - 1);
    }
    return 0;
}

int tri_http_check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    int error = tr_config_check(task->config, keys, TR_COUNT_OF(keys), problem, problem_size);
    if (error != 0) {
        return error;
    }
    error = check_words(task->config, problem, problem_size);
    return error != 0 ? error : check_request(task->config, problem, problem_size);
}

/* --------------------------------------------------------------------------- the request */

bool tri_http_is_one_of(struct tr_text word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(word, tr_text_of(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Methods of which doing it twice is doing it once are named by RFC 9110. */
bool tri_http_is_idempotent(struct tr_task_context *task)
{
    static const char *const methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    return tri_http_is_one_of(tri_http_text(task, "method", "GET"), methods, TR_COUNT_OF(methods));
}

bool tri_http_is_repeatable(struct tr_task_context *task)
{
    return tri_http_is_idempotent(task) || tri_http_text(task, "idempotency_key", "").size > 0;
}

bool tri_http_may_repeat(struct tr_task_context *task)
{
    return tri_http_is_repeatable(task) ||
           tr_text_equal(tri_http_text(task, "in_doubt", "fail"), tr_text_of("repeat"));
}

/* Text as it is, anything else as JSON. */
static int write_body(struct tr_task_context *task, struct tr_bytes *body, bool *is_json)
{
    struct tr_bytes value = part_of(tr_task_template(task)->config, "body");
    struct tr_cursor cursor = tr_cursor_of(value);
    *body = (struct tr_bytes){0};
    *is_json = value.size > 0 && tr_peek(&cursor) != TR_CODEC_TEXT;
    if (value.size == 0) {
        return 0;
    }
    if (!*is_json) {
        struct tr_text text = tr_read_text(&cursor);
        *body = (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
        return cursor.error;
    }
    size_t size = JSON_GROWTH * value.size + 64;
    char *json = tr_task_scratch(task, size);
    if (json == NULL) {
        return TR_MEMORY;
    }
    struct tr_sink sink = tr_sink_of(json, size);
    tr_print_any(&sink, TR_PRINT_JSON, value);
    struct tr_text text = tr_sink_text(&sink);
    *body = (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
    return sink.truncated ? TR_LIMIT : 0;
}

/* "Name: value" each: those of the config, the key, and what kind of body it is. */
static int write_headers(struct tr_task_context *task, bool is_json, struct tr_bytes *headers)
{
    struct tr_bytes given = part_of(tr_task_template(task)->config, "headers");
    struct tr_text key = tri_http_text(task, "idempotency_key", "");
    struct tr_cursor cursor = tr_cursor_of(given);
    uint32_t count = given.size == 0 ? 0 : tr_read_map(&cursor);
    size_t size = given.size + key.size + 256;
    uint8_t *bytes = tr_task_scratch(task, size + 8 * (size_t)count);
    if (bytes == NULL || count > HEADERS_MAX) {
        return bytes == NULL ? TR_MEMORY : TR_LIMIT;
    }
    struct tr_writer writer = tr_writer_of(bytes, size + 8 * (size_t)count);
    tr_write_array(&writer, count + (key.size > 0 ? 1 : 0) + (is_json ? 1 : 0));
    if (is_json) {
        tr_write_text(&writer, tr_text_of("Content-Type: application/json"));
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tr_text name;
        struct tr_text value;
        if (!next_pair(&cursor, &name, &value)) {
            return TR_INVALID;
        }
        tr_write_text(&writer, tr_task_format(task, "%.*s: %.*s", (int)name.size, name.data,
                                              (int)value.size, value.data));
    }
    if (key.size > 0) {
        struct tr_text own = tr_task_generated_name(task);
        tr_write_text(&writer, tr_task_format(task, "%.*s: %.*s", (int)key.size, key.data,
                                              (int)own.size, own.data));
    }
    *headers = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return writer.error;
}

static int write_secrets(struct tr_task_context *task, struct tr_bytes *secrets)
{
    struct tr_bytes config = tr_task_template(task)->config;
    struct tr_http_secret rows[SECRETS_MAX] = {{0}};
    size_t count;
    if (!read_secrets(config, rows, &count)) {
        return TR_INVALID;
    }
    size_t size = config.size + 64 * (count + 1);
    uint8_t *bytes = tr_task_scratch(task, size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = count == 0 ? 0 : tr_http_secrets_pack(rows, count, &writer);
    *secrets = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return error;
}

int tri_http_request(struct tr_task_context *task, struct tr_http_request *out)
{
    struct tr_bytes config = tr_task_template(task)->config;
    struct tr_cursor insecure;
    bool is_json;
    uint64_t timeout_ms = tr_config_u64(config, "timeout_ms", TIMEOUT_MS);
    struct tr_http_request request = {
        .method = tri_http_text(task, "method", "GET"),
        .url = tri_http_text(task, "url", ""),
        .timeout_ms = timeout_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)timeout_ms,
        .response_bytes_max = TR_HTTP_TASK_BODY_BYTES_MAX,
        .ca_file = tri_http_text(task, "ca_file", ""),
        .is_insecure = tr_config_find(config, "insecure", &insecure) && tr_read_bool(&insecure),
    };
    int error = write_body(task, &request.body, &is_json);
    if (error == 0) {
        error = write_headers(task, is_json, &request.headers);
    }
    if (error == 0) {
        error = write_secrets(task, &request.secrets);
    }
    if (error == 0) {
        *out = request;
    }
    return error;
}

bool tri_http_expects(struct tr_task_context *task, uint32_t status)
{
    struct tr_bytes expect = part_of(tr_task_template(task)->config, "expect");
    struct tr_cursor cursor = tr_cursor_of(expect);
    uint32_t count = expect.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        if (tr_read_u64(&cursor) == status && cursor.error == 0) {
            return true;
        }
    }
    return expect.size == 0 && status >= 200 && status < 300;
}
