/*
 * The page, from the top to the bottom. Parameters and fields are options of commands, with the
 * words that their help has; schemas are copied, with their references led to where OpenAPI keeps
 * them.
 */
#include "deploy/web/openapi.h"

#include <string.h>

#include "deploy/common/document.h"
#include "deploy/common/program.h"
#include "deploy/web/handlers.h"
#include "deploy/web/job.h"
#include "deploy/web/routes.h"
#include "schemas/codec/error.h"

#define SCHEMAS "#/components/schemas/"

static void text(struct tr_document *page, const char *name, const char *value)
{
    tr_document_text(page, name, tr_text_of(value));
}

/* ------------------------------------------------------------------------- schemas */

/* Where the value begins that a name has in JSON; NULL: it is not there. */
static const char *find_value(const char *begin, const char *end, const char *name)
{
    const char *at = memmem(begin, (size_t)(end - begin), name, strlen(name));
    return at == NULL ? NULL : memchr(at, '{', (size_t)(end - at));
}

/* Copies the rest of an object, behind its brace, without the blanks between its parts. */
static void copy_rest(const char *at, const char *end, FILE *stream)
{
    static const char reference[] = "#/definitions/";
    int depth = 1;
    bool is_text = false;
    for (; at < end; at++) {
        size_t left = (size_t)(end - at);
        if (is_text && left > sizeof reference &&
            memcmp(at, reference, sizeof reference - 1) == 0) {
            fputs(SCHEMAS, stream);
            at += sizeof reference - 2;
            continue;
        }
        bool is_blank = !is_text && (*at == ' ' || *at == '\n');
        if (!is_blank) {
            fputc(*at, stream);
        }
        if (is_text && *at == '\\' && left > 1) {
            fputc(*++at, stream);
        } else if (*at == '"') {
            is_text = !is_text;
        }
        depth += is_text ? 0 : (*at == '{') - (*at == '}');
        if (depth == 0 && *at == '}') {
            return;
        }
    }
}

static const char problem_schema[] =
    "{\"description\":\"What is wrong (RFC 9457); code is a word for programs, exit_status what "
    "the command of the same name would have ended with.\",\"type\":\"object\",\"required\":"
    "[\"type\",\"title\",\"status\",\"code\",\"exit_status\",\"detail\"],\"properties\":{"
    "\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{\"type\":"
    "\"integer\"},\"code\":{\"enum\":["
#define WORD(name, word, status, title, exit_status) "\"" word "\","
    TR_WEB_PROBLEMS(WORD)
#undef WORD
        "\"\"]},\"exit_status\":{\"type\":\"integer\"},\"detail\":{\"type\":\"string\"}}}";

static void write_schemas(struct tr_document *page)
{
    const char *end = tr_documents_schema + tr_documents_schema_size;
    const char *definitions = find_value(tr_documents_schema, end, "\"definitions\"");
    const char *at = definitions == NULL ? end : definitions;
    tr_document_begin_map(page, "components");
    tr_document_begin_json(page, "schemas");
    fprintf(page->stream, "{\"http_problem\":%s,", problem_schema);
    copy_rest(at + 1, end, page->stream);
    tr_document_end_json(page);
    tr_document_begin_map(page, "securitySchemes");
    tr_document_begin_map(page, "token");
    text(page, "type", "http");
    text(page, "scheme", "bearer");
    tr_document_end(page);
    tr_document_end(page);
    tr_document_end(page);
}

static void write_reference(struct tr_document *page, const char *schema)
{
    char reference[128];
    (void)snprintf(reference, sizeof reference, SCHEMAS "%s", schema);
    tr_document_begin_map(page, "schema");
    text(page, "$ref", reference);
    tr_document_end(page);
}

/* ---------------------------------------------------------------------- parameters */

/* The words of "a|b" as an enum. */
static void write_choices(struct tr_document *page, const char *words)
{
    tr_document_begin_list(page, "enum");
    while (*words != '\0') {
        size_t size = strcspn(words, "|");
        tr_document_text(page, NULL, (struct tr_text){.data = words, .size = size});
        words += size + (words[size] == '|' ? 1 : 0);
    }
    tr_document_end(page);
}

/* The type of what an option takes; NULL: text. */
static void write_type(struct tr_document *page, const char *name, const struct tr_option *option)
{
    tr_document_begin_map(page, name);
    if (option != NULL && option->value == NULL) {
        text(page, "type", "boolean");
    } else {
        text(page, "type", "string");
    }
    if (option != NULL && option->words != NULL) {
        write_choices(page, option->words);
    }
    tr_document_end(page);
}

static void begin_parameter(struct tr_document *page, const char *where, struct tr_text name,
                            const char *about)
{
    tr_document_begin_map(page, NULL);
    text(page, "in", where);
    tr_document_text(page, "name", name);
    tr_document_bool(page, "required", strcmp(where, "path") == 0);
    text(page, "description", about);
}

static void write_plain(struct tr_document *page, const char *where, struct tr_text name,
                        const char *about)
{
    begin_parameter(page, where, name, about);
    write_type(page, "schema", NULL);
    tr_document_end(page);
}

static void write_option(struct tr_document *page, const struct tr_option *option)
{
    begin_parameter(page, "query", tr_text_of(option->name), option->text);
    if (option->is_repeatable) {
        tr_document_begin_map(page, "schema");
        text(page, "type", "array");
        write_type(page, "items", option);
        tr_document_end(page);
    } else {
        write_type(page, "schema", option);
    }
    tr_document_end(page);
}

static void write_page_parameters(struct tr_document *page)
{
    begin_parameter(page, "query", tr_text_of("limit"), "at most so many");
    tr_document_begin_map(page, "schema");
    text(page, "type", "integer");
    tr_document_number(page, "minimum", 1);
    tr_document_number(page, "maximum", TR_WEB_ROWS_MAX);
    tr_document_number(page, "default", TR_WEB_ROWS);
    tr_document_end(page);
    tr_document_end(page);
    write_plain(page, "query", tr_text_of("cursor"),
                "where the next page begins: that of the header link with rel=\"next\"");
}

static void write_path_variables(struct tr_document *page, const char *path)
{
    for (const char *at = strchr(path, '{'); at != NULL; at = strchr(at + 1, '{')) {
        struct tr_text name = {.data = at + 1, .size = strcspn(at + 1, "}")};
        write_plain(page, "path", name, "a name");
    }
}

static bool is_watched(const struct tr_web_route *route)
{
    return strcmp(route->method, "GET") == 0 && route->schema != NULL;
}

static void write_query(struct tr_document *page, const struct tr_web_route *route)
{
    const char *options = route->options;
    const char *fields = route->fields;
    struct tr_text word;
    while (tr_web_next_word(&options, &word)) {
        const struct tr_option *option = tr_web_route_option(route, word);
        TR_ASSERT(option != NULL); /* a row that names what there is not */
        write_option(page, option);
    }
    while (tr_web_next_word(&fields, &word)) {
        word.size -= word.data[word.size - 1] == '?' ? 1 : 0;
        write_plain(page, "query", word,
                    (route->flags & TR_WEB_GIVES_FILE) != 0 ? "of the URL that was given"
                                                            : "a pattern of addresses");
    }
    if ((route->flags & TR_WEB_IS_PAGED) != 0) {
        write_page_parameters(page);
    }
}

static void write_parameters(struct tr_document *page, const struct tr_web_route *route)
{
    bool is_get = strcmp(route->method, "GET") == 0;
    tr_document_begin_list(page, "parameters");
    write_path_variables(page, route->path);
    if ((route->flags & TR_WEB_TAKES_NODE) != 0) {
        write_plain(page, "query", tr_text_of("node"),
                    "a node, an element or an attempt: squares, sq[3]/inner, squares[17]@2");
    }
    if (is_get) {
        write_query(page, route);
        write_plain(page, "header", tr_text_of("If-None-Match"), "the etag of what is known");
    }
    if (is_watched(route)) {
        write_plain(page, "header", tr_text_of("Last-Event-ID"),
                    "of a stream of events: the last one that came");
    }
    if ((route->flags & TR_WEB_BEGINS) != 0) {
        write_plain(page, "header", tr_text_of("Idempotency-Key"),
                    "any text: what comes again with it begins nothing more");
    }
    tr_document_end(page);
}

/* ---------------------------------------------------------------------------- bodies */

/* Values by their names. */
static void write_map(struct tr_document *page, const char *name, const char *about)
{
    tr_document_begin_map(page, name);
    text(page, "type", "object");
    text(page, "description", about);
    tr_document_end(page);
}

static void write_body_option(struct tr_document *page, const struct tr_option *option)
{
    if (!option->is_repeatable) {
        write_type(page, option->name, option);
    } else if (strcmp(option->name, "from") == 0) {
        tr_document_begin_map(page, option->name);
        text(page, "type", "array");
        write_type(page, "items", option);
        tr_document_end(page);
    } else {
        write_map(page, option->name, option->text);
    }
}

static void write_fields(struct tr_document *page, const struct tr_web_route *route)
{
    char name[64];
    const char *fields = route->fields;
    struct tr_text word;
    while (tr_web_next_word(&fields, &word)) {
        word.size -= word.data[word.size - 1] == '?' ? 1 : 0;
        (void)snprintf(name, sizeof name, "%.*s", (int)word.size, word.data);
        if (strcmp(name, "value") == 0) {
            tr_document_begin_map(page, name); /* any value of JSON */
            tr_document_end(page);
        } else {
            write_type(page, name, NULL);
        }
    }
}

static void write_required(struct tr_document *page, const struct tr_web_route *route)
{
    const char *fields = route->fields;
    struct tr_text word;
    tr_document_begin_list(page, "required");
    while (tr_web_next_word(&fields, &word)) {
        if (word.data[word.size - 1] != '?') {
            tr_document_text(page, NULL, word);
        }
    }
    tr_document_end(page);
}

static void write_body(struct tr_document *page, const struct tr_web_route *route)
{
    const char *options = route->options;
    struct tr_text word;
    tr_document_begin_map(page, "requestBody");
    tr_document_begin_map(page, "content");
    tr_document_begin_map(page, "application/json");
    tr_document_begin_map(page, "schema");
    text(page, "type", "object");
    tr_document_bool(page, "additionalProperties", false);
    write_required(page, route);
    tr_document_begin_map(page, "properties");
    write_fields(page, route);
    while (tr_web_next_word(&options, &word)) {
        const struct tr_option *option = tr_web_route_option(route, word);
        TR_ASSERT(option != NULL);
        write_body_option(page, option);
    }
    for (int i = 0; i < 5; i++) {
        tr_document_end(page);
    }
}

/* --------------------------------------------------------------------------- answers */

static void write_content(struct tr_document *page, const struct tr_web_route *route)
{
    const char *plain = route->handle == tr_web_answer_openapi    ? "application/json"
                        : (route->flags & TR_WEB_GIVES_FILE) != 0 ? "application/octet-stream"
                                                                  : "text/plain";
    tr_document_begin_map(page, "content");
    if (route->schema != NULL) {
        tr_document_begin_map(page, "application/json");
        write_reference(page, route->schema);
        tr_document_end(page);
    } else {
        tr_document_begin_map(page, plain);
        tr_document_end(page);
    }
    if (is_watched(route)) {
        tr_document_begin_map(page, "text/event-stream");
        write_type(page, "schema", NULL);
        tr_document_end(page);
    }
    tr_document_end(page);
}

static void write_responses(struct tr_document *page, const struct tr_web_route *route)
{
    tr_document_begin_map(page, "responses");
    tr_document_begin_map(page, "2XX");
    text(page, "description", route->about);
    write_content(page, route);
    tr_document_end(page);
    tr_document_begin_map(page, "default");
    text(page, "description", "A problem");
    tr_document_begin_map(page, "content");
    tr_document_begin_map(page, "application/problem+json");
    write_reference(page, "http_problem");
    tr_document_end(page);
    tr_document_end(page);
    tr_document_end(page);
    tr_document_end(page);
}

static void write_operation(struct tr_document *page, const struct tr_web_route *route)
{
    static const char *const roles[] = {"anybody", "view", "run", "register", "admin"};
    bool is_get = strcmp(route->method, "GET") == 0;
    tr_document_begin_map(page, is_get ? "get" : "post");
    text(page, "operationId", route->name);
    text(page, "summary", route->about);
    text(page, "x-role", roles[route->role]);
    write_parameters(page, route);
    if (!is_get) {
        write_body(page, route);
    }
    write_responses(page, route);
    tr_document_end(page);
}

/* A path once, with all of its methods. */
static void write_path(struct tr_document *page, size_t first)
{
    const char *path = tr_web_routes[first].path;
    for (size_t i = 0; i < first; i++) {
        if (strcmp(tr_web_routes[i].path, path) == 0) {
            return;
        }
    }
    tr_document_begin_map(page, path);
    for (size_t i = first; i < tr_web_route_count; i++) {
        if (strcmp(tr_web_routes[i].path, path) == 0) {
            write_operation(page, &tr_web_routes[i]);
        }
    }
    tr_document_end(page);
}

void tr_web_openapi_write(FILE *stream)
{
    struct tr_document page;
    tr_document_init(&page, stream, TR_OUTPUT_JSON);
    tr_document_begin_map(&page, NULL);
    text(&page, "openapi", "3.1.0");
    tr_document_begin_map(&page, "info");
    text(&page, "title", "Troupe");
    text(&page, "version", TR_PROGRAM_VERSION);
    tr_document_end(&page);
    tr_document_begin_list(&page, "security");
    tr_document_begin_map(&page, NULL); /* without clients in the settings nobody needs a token */
    tr_document_end(&page);
    tr_document_begin_map(&page, NULL);
    tr_document_begin_list(&page, "token");
    tr_document_end(&page);
    tr_document_end(&page);
    tr_document_end(&page);
    tr_document_begin_map(&page, "paths");
    for (size_t i = 0; i < tr_web_route_count; i++) {
        write_path(&page, i);
    }
    tr_document_end(&page);
    write_schemas(&page);
    tr_document_end(&page);
    tr_document_fini(&page);
}

void tr_web_answer_openapi(struct tr_web_job *job)
{
    FILE *stream = tr_web_job_stream(&job->answer);
    if (stream != NULL) {
        tr_web_openapi_write(stream);
        (void)fclose(stream);
    }
    if (stream == NULL || job->answer.error != 0) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
    }
}
