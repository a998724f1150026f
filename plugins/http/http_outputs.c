/*
 * What an answer gives. Of a body that is JSON only its outline is read here, to find the fields
 * that are outputs: whether it makes sense is seen where outputs are read by their types.
 */
#include <string.h>

#include "plugins/http/http.h"
#include "schemas/codec/print.h"
#include "schemas/codec/utf8.h"

/* One output beside its value; and what a character takes at most in JSON. */
#define OUTPUT_BYTES 64
#define ESCAPED_BYTES 6

/* ----------------------------------------------------------------- the outline of JSON */

/* What is left to read. */
struct json {
    const char *at;
    const char *end;
};

static void skip_blanks(struct json *json)
{
    while (json->at < json->end && strchr(" \t\r\n", *json->at) != NULL) {
        json->at++;
    }
}

static bool skip_char(struct json *json, char character)
{
    skip_blanks(json);
    if (json->at == json->end || *json->at != character) {
        return false;
    }
    json->at++;
    return true;
}

/* A string, without its quotes and with its escapes. */
static bool skip_string(struct json *json, struct tr_text *string)
{
    if (!skip_char(json, '"')) {
        return false;
    }
    const char *begin = json->at;
    while (json->at < json->end && *json->at != '"') {
        json->at += *json->at == '\\' ? 2 : 1;
    }
    if (json->at >= json->end) {
        return false;
    }
    *string = (struct tr_text){.data = begin, .size = (size_t)(json->at - begin)};
    json->at++;
    return true;
}

/* A value up to the comma or bracket behind it. */
static bool skip_value(struct json *json, struct tr_text *value)
{
    struct tr_text string;
    uint32_t depth = 0;
    skip_blanks(json);
    const char *begin = json->at;
    while (json->at < json->end) {
        char next = *json->at;
        bool is_close = next == '}' || next == ']';
        if (depth == 0 && (is_close || next == ',')) {
            break;
        }
        depth += next == '{' || next == '[' ? 1 : 0;
        depth -= is_close ? 1 : 0;
        if (next == '"' ? !skip_string(json, &string) : (json->at++, false)) {
            return false;
        }
    }
    *value = (struct tr_text){.data = begin, .size = (size_t)(json->at - begin)};
    return depth == 0 && value->size > 0;
}

/* A field of an object; false: there is none, or it is no object. */
static bool find_field(struct tr_bytes body, struct tr_text name, struct tr_text *value)
{
    struct json json = {.at = (const char *)body.data, .end = (const char *)body.data + body.size};
    struct tr_text key;
    if (body.size == 0 || !skip_char(&json, '{')) {
        return false;
    }
    do {
        if (!skip_string(&json, &key) || !skip_char(&json, ':') || !skip_value(&json, value)) {
            return false;
        }
        if (tr_text_equal(key, name)) {
            return true;
        }
    } while (skip_char(&json, ','));
    return false;
}

/* --------------------------------------------------------------------------- headers */

/* The next header, "Name: value", of lines that end with \r\n; false: there is none left. */
static bool next_header(struct tr_bytes *rest, struct tr_text *name, struct tr_text *value)
{
    const char *begin = (const char *)rest->data;
    const char *end = rest->size == 0 ? NULL : memchr(begin, '\n', rest->size);
    const char *colon = end == NULL ? NULL : memchr(begin, ':', (size_t)(end - begin));
    if (colon == NULL) {
        return false;
    }
    const char *from = colon + 1 + (colon[1] == ' ' ? 1 : 0);
    const char *to = end > from && end[-1] == '\r' ? end - 1 : end;
    *name = (struct tr_text){.data = begin, .size = (size_t)(colon - begin)};
    *value = (struct tr_text){.data = from, .size = to > from ? (size_t)(to - from) : 0};
    rest->size -= (size_t)(end + 1 - begin);
    rest->data += end + 1 - begin;
    return true;
}

static bool is_json(struct tr_bytes headers)
{
    struct tr_text name;
    struct tr_text value;
    static const char type[] = "content-type";
    while (next_header(&headers, &name, &value)) {
        if (name.size == sizeof type - 1 && strncasecmp(name.data, type, name.size) == 0) {
            return memmem(value.data, value.size, "json", 4) != NULL;
        }
    }
    return false;
}

static void put_lower(struct tr_sink *sink, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        bool is_upper = text.data[i] >= 'A' && text.data[i] <= 'Z';
        tr_sink_put_char(sink, is_upper ? (char)(text.data[i] - 'A' + 'a') : text.data[i]);
    }
}

/* All of them by their names in small letters; of those that come twice the last one counts. */
static void put_headers(struct tr_sink *sink, struct tr_bytes headers)
{
    struct tr_text name;
    struct tr_text value;
    const char *comma = "";
    tr_sink_put_char(sink, '{');
    while (next_header(&headers, &name, &value)) {
        struct tr_bytes later = headers;
        struct tr_text other;
        struct tr_text unused;
        bool is_last = true;
        while (is_last && next_header(&later, &other, &unused)) {
            is_last = other.size != name.size || strncasecmp(other.data, name.data, name.size) != 0;
        }
        if (is_last && tr_utf8_valid(value)) {
            tr_sink_format(sink, "%s\"", comma);
            put_lower(sink, name);
            tr_sink_put_string(sink, "\": ");
            tr_print_json_text(sink, value);
            comma = ", ";
        }
    }
    tr_sink_put_char(sink, '}');
}

/* --------------------------------------------------------------------------- outputs */

/* The value of one output; false: the answer has none of this name. */
static bool put_value(struct tr_sink *sink, struct tr_text name,
                      const struct tr_http_response *response)
{
    struct tr_text body = {.data = (const char *)response->body.data, .size = response->body.size};
    struct tr_text field;
    if (tr_text_equal(name, tr_text_of("status"))) {
        tr_sink_format(sink, "%u", response->status);
    } else if (tr_text_equal(name, tr_text_of("headers"))) {
        put_headers(sink, response->headers);
    } else if (!tr_text_equal(name, tr_text_of("body"))) {
        bool is_there = find_field(response->body, name, &field);
        tr_sink_put(sink, is_there ? field : tr_text_of("null"));
        return is_there;
    } else if (is_json(response->headers) && body.size > 0) {
        tr_sink_put(sink, body);
    } else {
        tr_print_json_text(sink, body);
    }
    return true;
}

static void put_outputs(struct tr_task_context *task, struct tr_sink *sink,
                        const struct tr_http_response *response)
{
    const char *comma = "";
    tr_sink_put_char(sink, '{');
    for (uint32_t i = 0; i < tr_task_template(task)->output_count; i++) {
        struct tr_text name = tr_task_output(task, i).name;
        struct tr_sink before = *sink;
        tr_sink_put_string(sink, comma);
        tr_print_json_text(sink, name);
        tr_sink_put_string(sink, ": ");
        if (put_value(sink, name, response)) {
            comma = ", ";
        } else {
            *sink = before; /* one that may be left out is, and else that is told */
        }
    }
    tr_sink_put_char(sink, '}');
}

int tri_http_outputs(struct tr_task_context *task, const struct tr_http_response *response,
                     struct tr_text *problem)
{
    struct tr_text body = {.data = (const char *)response->body.data, .size = response->body.size};
    size_t size = OUTPUT_BYTES + ESCAPED_BYTES * (response->headers.size + 2 * body.size);
    for (uint32_t i = 0; i < tr_task_template(task)->output_count; i++) {
        size += OUTPUT_BYTES + ESCAPED_BYTES * tr_task_output(task, i).name.size;
    }
    if (body.size > 0 && !tr_utf8_valid(body)) {
        *problem = tr_text_of("the body of the answer is no text (UTF-8)");
        return TR_INVALID;
    }
    char *json = tr_task_scratch(task, size);
    if (json == NULL) {
        return TR_MEMORY;
    }
    struct tr_sink sink = tr_sink_of(json, size);
    put_outputs(task, &sink, response);
    return tr_task_outputs_json(task, tr_sink_text(&sink), tr_text_of(""), problem);
}
