/*
 * From a request's bytes to the words of a command. What is given by a name that the route does not
 * list is refused, and a value stays one word, so that no client gives an option that a route does
 * not let it give.
 */
#include "deploy/web/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/moment.h"
#include "deploy/api_wire/rest.h"
#include "deploy/common/show.h"

/* The words that each command gets beside those of a request. */
#define FIXED_WORDS 10

TR_PRINTF(3, 4)
static enum tr_web_problem refuse(char *words, enum tr_web_problem problem, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(words, TR_WEB_WORDS_BYTES, format, values);
    va_end(values);
    return problem;
}

const char *tr_web_keep(struct tr_arena *arena, struct tr_text text)
{
    char *copy = tr_arena_alloc(arena, text.size + 1);
    if (copy != NULL) {
        memcpy(copy, text.size == 0 ? "" : text.data, text.size);
        copy[text.size] = '\0';
    }
    return copy;
}

const char *tr_web_request_value(const struct tr_web_request *request, const char *name)
{
    for (size_t i = 0; i < request->count; i++) {
        if (strcmp(request->given[i].name, name) == 0) {
            return request->given[i].value;
        }
    }
    return NULL;
}

bool tr_web_request_give(struct tr_web_request *request, const char *name, const char *value)
{
    if (request->count == TR_WEB_GIVEN_MAX) {
        return false;
    }
    request->given[request->count++] = (struct tr_web_given){.name = name, .value = value};
    return true;
}

void tr_web_request_set(struct tr_web_request *request, const char *name, const char *value)
{
    for (size_t i = 0; i < request->count; i++) {
        if (strcmp(request->given[i].name, name) == 0) {
            request->given[i].value = value;
            return;
        }
    }
    (void)!tr_web_request_give(request, name, value);
}

/* ------------------------------------------------------------------------ the path */

static const struct tr_web_route *find_route(const struct tr_web_head *head,
                                             struct tr_rest_variable *variables, size_t *count,
                                             bool *has_path)
{
    bool is_head = tr_text_equal(head->method, tr_text_of("HEAD"));
    struct tr_text method = is_head ? tr_text_of("GET") : head->method;
    *has_path = false;
    for (size_t i = 0; i < tr_web_route_count; i++) {
        const struct tr_web_route *route = &tr_web_routes[i];
        if (!tr_rest_match(tr_text_of(route->path), head->path, variables, count)) {
            continue;
        }
        *has_path = true;
        if (tr_text_equal(tr_text_of(route->method), method)) {
            return route;
        }
    }
    return NULL;
}

/* A name never has these, and a command would take them for a pattern or for another place. */
static bool is_name(const char *value)
{
    return value[0] != '\0' && value[0] != '@' && strpbrk(value, "/*?[]") == NULL;
}

static enum tr_web_problem read_path(struct tr_arena *arena, struct tr_rest_variable *variables,
                                     size_t count, struct tr_web_request *request, char *words)
{
    for (size_t i = 0; i < count; i++) {
        struct tr_text plain;
        bool is_one = tr_rest_unescape(arena, variables[i].value, false, &plain);
        const char *name = tr_web_keep(arena, variables[i].field);
        const char *value = is_one ? tr_web_keep(arena, plain) : NULL;
        if (is_one && (name == NULL || value == NULL)) {
            return refuse(words, TR_WEB_UNAVAILABLE, "there is no memory");
        }
        if (!is_one || !is_name(value)) {
            return refuse(words, TR_WEB_NOT_FOUND, "the path names nothing: {%s} is no name",
                          name == NULL ? "?" : name);
        }
        if (!tr_web_request_give(request, name, value)) {
            return TR_WEB_INVALID; /* the first of all have room */
        }
    }
    return TR_WEB_FINE;
}

/* ----------------------------------------------------------------- what is given by name */

static bool has_word(const char *words, struct tr_text name)
{
    struct tr_text word;
    while (tr_web_next_word(&words, &word)) {
        bool is_optional = word.size > 0 && word.data[word.size - 1] == '?';
        word.size -= is_optional ? 1 : 0;
        if (tr_text_equal(word, name)) {
            return true;
        }
    }
    return false;
}

/* Names that are no options: of what a flag of the route, or its fields, say. */
static bool is_own(const struct tr_web_route *route, struct tr_text name)
{
    static const struct {
        const char *name;
        uint8_t flag;
    } owns[] = {
        {"node", TR_WEB_TAKES_NODE}, {"limit", TR_WEB_IS_PAGED}, {"cursor", TR_WEB_IS_PAGED}};
    for (size_t i = 0; i < TR_COUNT_OF(owns); i++) {
        if ((route->flags & owns[i].flag) != 0 && tr_text_equal(tr_text_of(owns[i].name), name)) {
            return true;
        }
    }
    return has_word(route->fields, name);
}

static enum tr_web_problem give(struct tr_web_request *request, const char *name, const char *value,
                                char *words)
{
    const struct tr_web_route *route = request->route;
    struct tr_text text = tr_text_of(name);
    const struct tr_option *option =
        has_word(route->options, text) ? tr_web_route_option(route, text) : NULL;
    if (option == NULL && !is_own(route, text)) {
        return refuse(words, TR_WEB_INVALID, "'%.80s' is nothing that %s takes", name, route->name);
    }
    bool is_repeatable = option != NULL && option->is_repeatable;
    if (!is_repeatable && tr_web_request_value(request, name) != NULL) {
        return refuse(words, TR_WEB_INVALID, "%s is given twice", name);
    }
    if (option != NULL && option->value == NULL) {
        if (strcmp(value, "false") == 0) {
            return TR_WEB_FINE;
        }
        if (strcmp(value, "true") != 0 && value[0] != '\0') {
            return refuse(words, TR_WEB_INVALID, "%s: '%.60s' is neither true nor false", name,
                          value);
        }
        value = "";
    }
    return tr_web_request_give(request, name, value)
               ? TR_WEB_FINE
               : refuse(words, TR_WEB_INVALID, "these are more than %d values (TR_WEB_GIVEN_MAX)",
                        TR_WEB_GIVEN_MAX);
}

static enum tr_web_problem read_query(struct tr_arena *arena, struct tr_text query,
                                      struct tr_web_request *request, char *words)
{
    struct tr_text parts[2];
    enum tr_web_problem problem = TR_WEB_FINE;
    while (problem == TR_WEB_FINE && tr_rest_parameter(&query, &parts[0], &parts[1])) {
        const char *plain[2];
        for (size_t i = 0; i < 2; i++) {
            struct tr_text text;
            if (!tr_rest_unescape(arena, parts[i], true, &text)) {
                return refuse(words, TR_WEB_INVALID,
                              "the query has an escape that is none, or is no UTF-8");
            }
            plain[i] = tr_web_keep(arena, text);
        }
        if (plain[0] == NULL || plain[1] == NULL) {
            return refuse(words, TR_WEB_UNAVAILABLE, "there is no memory");
        }
        problem = give(request, plain[0], plain[1], words);
    }
    return problem;
}

static enum tr_web_problem read_limit(const struct tr_web_request *request, char *words)
{
    const char *limit = tr_web_request_value(request, "limit");
    uint64_t rows = 0;
    bool is_paged = (request->route->flags & TR_WEB_IS_PAGED) != 0;
    if (!is_paged || limit == NULL) {
        return TR_WEB_FINE;
    }
    bool is_one = strlen(limit) < 9 && tr_count_read(limit, &rows);
    return is_one && rows >= 1 && rows <= TR_WEB_ROWS_MAX
               ? TR_WEB_FINE
               : refuse(words, TR_WEB_INVALID,
                        "limit: '%.60s' is no number from 1 to %d (TR_WEB_ROWS_MAX)", limit,
                        TR_WEB_ROWS_MAX);
}

/* TIME-OFFSET: what comes behind so many of those that were there at a time. */
static bool read_cursor(const char *cursor, uint64_t *until_ms, uint64_t *offset)
{
    char time[24];
    const char *dash = strchr(cursor, '-');
    size_t size = dash == NULL ? 0 : (size_t)(dash - cursor);
    if (size == 0 || size >= sizeof time || strlen(dash + 1) > 18) {
        return false;
    }
    memcpy(time, cursor, size);
    time[size] = '\0';
    return tr_count_read(time, until_ms) && tr_count_read(dash + 1, offset) &&
           *until_ms < (1ULL << 53);
}

enum tr_web_problem tr_web_request_read(struct tr_arena *arena, const struct tr_web_head *head,
                                        struct tr_web_request *request, char *words)
{
    struct tr_rest_variable variables[TR_API_VARIABLES_MAX];
    size_t count = 0;
    bool has_path;
    uint64_t page[2];
    request->count = 0;
    request->route = find_route(head, variables, &count, &has_path);
    if (request->route == NULL) {
        return has_path ? refuse(words, TR_WEB_METHOD, "this path is not for this method")
                        : refuse(words, TR_WEB_NOT_FOUND,
                                 "there is nothing here; " TR_WEB_BASE
                                 "/openapi.json says what there is");
    }
    enum tr_web_problem problem = read_path(arena, variables, count, request, words);
    if (problem == TR_WEB_FINE) {
        problem = read_query(arena, head->query, request, words);
    }
    if (problem == TR_WEB_FINE) {
        problem = read_limit(request, words);
    }
    const char *cursor = tr_web_request_value(request, "cursor");
    if (problem == TR_WEB_FINE && cursor != NULL && !read_cursor(cursor, &page[0], &page[1])) {
        problem = refuse(words, TR_WEB_INVALID, "cursor: '%.60s' is none that was given", cursor);
    }
    return problem;
}

/* ------------------------------------------------------------------------ the body */

/*
 * A value as a command takes it: text as it stands, all else as JSON. Where the command reads
 * values itself an @ at its beginning would name a file of this machine, and @@ is one that does
 * not.
 */
static const char *print_value(struct tr_arena *arena, const struct tr_tree *tree, bool is_json)
{
    struct tr_buffer text;
    tr_buffer_init(&text, TR_WEB_VALUE_BYTES_MAX);
    if (tr_tree_is_text(tree)) {
        bool is_escaped = is_json && tree->text.size > 0 && tree->text.data[0] == '@';
        tr_buffer_add_string(&text, is_escaped ? "@" : "");
        tr_buffer_add_text(&text, tree->text);
    } else {
        tr_tree_write(tree, &text);
    }
    bool is_text = text.error == 0 && text.size > 0 && memchr(text.data, '\0', text.size) == NULL;
    bool is_empty = text.error == 0 && text.size == 0;
    const char *value = is_text ? tr_web_keep(arena, tr_buffer_text(&text)) : is_empty ? "" : NULL;
    tr_buffer_fini(&text);
    return value;
}

/* Options whose values a command reads itself, by their type. */
static bool reads_values(const char *name)
{
    return strcmp(name, "input") == 0 || strcmp(name, "set") == 0;
}

/* Maps become NAME=VALUE for each of their names. */
static enum tr_web_problem give_map(struct tr_arena *arena, const char *name,
                                    const struct tr_tree *map, struct tr_web_request *request,
                                    char *words)
{
    bool is_json = reads_values(name);
    for (uint32_t i = 0; i < map->count; i++) {
        struct tr_text key = map->pairs[i].key->text;
        const char *value = print_value(arena, map->pairs[i].value, is_json);
        if (value == NULL || memchr(key.data, '=', key.size) != NULL) {
            return refuse(words, TR_WEB_INVALID, "%s: '%.*s' cannot be given", name,
                          key.size > 60 ? 60 : (int)key.size, key.data);
        }
        const char *both = tr_arena_print(arena, "%.*s=%s", (int)key.size, key.data, value).data;
        enum tr_web_problem problem = both == NULL
                                          ? refuse(words, TR_WEB_UNAVAILABLE, "there is no memory")
                                          : give(request, name, both, words);
        if (problem != TR_WEB_FINE) {
            return problem;
        }
    }
    return TR_WEB_FINE;
}

static enum tr_web_problem give_list(struct tr_arena *arena, const char *name,
                                     const struct tr_tree *list, struct tr_web_request *request,
                                     char *words)
{
    enum tr_web_problem problem = TR_WEB_FINE;
    for (uint32_t i = 0; problem == TR_WEB_FINE && i < list->count; i++) {
        const char *value = print_value(arena, list->items[i], false);
        problem = value == NULL
                      ? refuse(words, TR_WEB_INVALID, "%s: one of these cannot be given", name)
                      : give(request, name, value, words);
    }
    return problem;
}

static enum tr_web_problem give_field(struct tr_arena *arena, const struct tr_pair *pair,
                                      struct tr_web_request *request, char *words)
{
    const char *name = tr_web_keep(arena, pair->key->text);
    const struct tr_tree *tree = pair->value;
    if (name == NULL) {
        return refuse(words, TR_WEB_UNAVAILABLE, "there is no memory");
    }
    bool is_value = strcmp(name, "value") == 0;
    const struct tr_option *option = tr_web_route_option(request->route, tr_text_of(name));
    bool is_many = option != NULL && option->is_repeatable;
    if (tree->kind == TR_TREE_NULL && !is_value) {
        return TR_WEB_FINE;
    }
    if (is_many && tree->kind == TR_TREE_MAP) {
        return give_map(arena, name, tree, request, words);
    }
    if (reads_values(name)) {
        return refuse(words, TR_WEB_INVALID, "%s: write an object, a value for each name", name);
    }
    if (is_many && tree->kind == TR_TREE_LIST) {
        return give_list(arena, name, tree, request, words);
    }
    const char *value = print_value(arena, tree, is_value);
    return value == NULL
               ? refuse(words, TR_WEB_INVALID, "%.80s: this is too long, or has a zero byte", name)
               : give(request, name, value, words);
}

/* What is wrong with a body, and where. */
static enum tr_web_problem refuse_body(const struct tr_report *report, char *words)
{
    const struct tr_problem *problem = &report->problems[0];
    if (report->count == 0) {
        return refuse(words, TR_WEB_INVALID, "the body is no object of JSON: write {...}");
    }
    if (problem->line == 0) {
        return refuse(words, TR_WEB_INVALID, "the body is no object of JSON: %.*s",
                      TRI_TEXT(problem->rule));
    }
    return refuse(words, TR_WEB_INVALID, "the body is no object of JSON: line %u, column %u: %.*s",
                  problem->line, problem->column, TRI_TEXT(problem->rule));
}

enum tr_web_problem tr_web_request_read_body(struct tr_arena *arena, struct tr_bytes body,
                                             struct tr_web_request *request, char *words)
{
    struct tr_report report;
    struct tr_text text = {.data = (const char *)body.data, .size = body.size};
    if (body.size == 0) {
        return TR_WEB_FINE;
    }
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(arena, &report, 0, text);
    tr_report_finish(&report);
    bool is_one = tree != NULL && tree->kind == TR_TREE_MAP && report.count == 0;
    enum tr_web_problem problem = is_one ? TR_WEB_FINE : refuse_body(&report, words);
    for (uint32_t i = 0; problem == TR_WEB_FINE && i < tree->count; i++) {
        problem = give_field(arena, &tree->pairs[i], request, words);
    }
    tr_report_fini(&report);
    return problem;
}

/* ------------------------------------------------------------------ what comes back */

static struct tr_text trim(struct tr_text text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

/* What stands in front of a byte, and the rest behind it. */
static struct tr_text take_until(struct tr_text *rest, char byte)
{
    const char *end = rest->size == 0 ? NULL : memchr(rest->data, byte, rest->size);
    struct tr_text part = {.data = rest->data,
                           .size = end == NULL ? rest->size : (size_t)(end - rest->data)};
    size_t passed = part.size + (end == NULL ? 0 : 1);
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return trim(part);
}

/* A weight of 0, "q=0" or "q=0.000", forbids. */
static bool is_forbidden(struct tr_text parameters)
{
    while (parameters.size > 0) {
        struct tr_text one = take_until(&parameters, ';');
        bool is_weight =
            one.size > 2 && (one.data[0] == 'q' || one.data[0] == 'Q') && one.data[1] == '=';
        size_t at = 2;
        while (is_weight && at < one.size && (one.data[at] == '0' || one.data[at] == '.')) {
            at++;
        }
        if (is_weight && at == one.size) {
            return true;
        }
    }
    return false;
}

bool tr_web_takes_gzip(struct tr_text header)
{
    bool takes_any = false;
    while (header.size > 0) {
        struct tr_text parameters = take_until(&header, ',');
        struct tr_text name = take_until(&parameters, ';');
        bool is_fine = !is_forbidden(parameters);
        if (tr_text_equal(name, tr_text_of("gzip"))) {
            return is_fine;
        }
        takes_any |= is_fine && tr_text_equal(name, tr_text_of("*"));
    }
    return takes_any;
}

/* ------------------------------------------------------------- the words of a command */

struct words {
    struct tr_arena *arena;
    char **items;
    int count;
};

TR_PRINTF(2, 3)
static void add(struct words *words, const char *format, ...)
{
    char room[512];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(room, sizeof room, format, values);
    va_end(values);
    char *word = tr_arena_alloc(words->arena, size < 0 ? 1 : (size_t)size + 1);
    if (word == NULL) {
        return;
    }
    va_start(values, format);
    (void)vsnprintf(word, (size_t)size + 1, format, values);
    va_end(values);
    words->items[words->count++] = word;
}

/* A template with what was given in place of {NAME}; a node stands behind the target. */
static const char *fill(struct tr_arena *arena, const struct tr_web_request *request,
                        const char *template)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    for (const char *at = template; *at != '\0';) {
        size_t plain = strcspn(at, "{");
        tr_buffer_add(&text, at, plain);
        at += plain;
        if (*at == '{') {
            size_t size = strcspn(at, "}");
            struct tr_text name = {.data = at + 1, .size = size - 1};
            const char *key = tr_web_keep(arena, name);
            const char *value = key == NULL ? NULL : tr_web_request_value(request, key);
            tr_buffer_add_string(&text, value == NULL ? "" : value);
            at += size + 1;
        }
    }
    const char *node = tr_web_request_value(request, "node");
    if ((request->route->flags & TR_WEB_TAKES_NODE) != 0 && node != NULL) {
        tr_buffer_print(&text, "/%s", node);
    }
    const char *word = text.error != 0 ? NULL : tr_web_keep(arena, tr_buffer_text(&text));
    tr_buffer_fini(&text);
    return word;
}

/* Options of pages: rows behind a cursor, and of those that were there when it was made. */
static void add_page(struct words *words, const struct tr_web_request *request)
{
    const char *cursor = tr_web_request_value(request, "cursor");
    const char *limit = tr_web_request_value(request, "limit");
    uint64_t until_ms = 0;
    uint64_t offset = 0;
    if (limit == NULL) {
        add(words, "--limit=%d", TR_WEB_ROWS);
    } else {
        add(words, "--limit=%s", limit);
    }
    if (cursor == NULL || !read_cursor(cursor, &until_ms, &offset)) {
        return;
    }
    bool is_by_number = (request->route->flags & TR_WEB_BY_NUMBER) != 0;
    add(words, "--%s=%llu", is_by_number ? "from" : "offset", (unsigned long long)offset);
    bool is_open = tr_web_request_value(request, "until") == NULL;
    if ((request->route->flags & TR_WEB_BY_TIME) != 0 && is_open) {
        struct tr_moment moment = {.seconds = (int64_t)(until_ms / 1000),
                                   .nanoseconds = (uint32_t)(until_ms % 1000) * 1000000};
        struct tr_buffer time;
        tr_buffer_init(&time, 0);
        tr_moment_print(moment, &time);
        add(words, "--until=%.*s", (int)time.size, (const char *)time.data);
        tr_buffer_fini(&time);
    }
}

static void add_options(struct words *words, const struct tr_web_request *request)
{
    bool is_by_cursor = (request->route->flags & TR_WEB_BY_NUMBER) != 0 &&
                        tr_web_request_value(request, "cursor") != NULL;
    for (size_t i = 0; i < request->count; i++) {
        const struct tr_web_given *given = &request->given[i];
        const struct tr_option *option =
            has_word(request->route->options, tr_text_of(given->name))
                ? tr_web_route_option(request->route, tr_text_of(given->name))
                : NULL;
        bool is_left = is_by_cursor && strcmp(given->name, "from") == 0;
        if (is_left) {
            continue; /* where the first page began */
        }
        if (option != NULL && option->value == NULL) {
            add(words, "--%s", given->name);
        } else if (option != NULL) {
            add(words, "--%s=%s", given->name, given->value);
        }
    }
}

char **tr_web_request_arguments(struct tr_arena *arena, const struct tr_web_request *request,
                                const char *folder, int *count)
{
    const struct tr_web_route *route = request->route;
    struct words words = {.arena = arena};
    struct tr_text field;
    const char *fields = route->fields;
    words.items = tr_arena_array(arena, TR_WEB_GIVEN_MAX + FIXED_WORDS, sizeof *words.items);
    if (words.items == NULL) {
        return NULL;
    }
    if (route->command->has_store) {
        add(&words, "--store=%s", folder);
    }
    add(&words, "--quiet");
    if (route->command->outputs != NULL && route->schema != NULL) {
        add(&words, "--output=json");
    }
    if ((route->flags & TR_WEB_IS_PAGED) != 0) {
        add_page(&words, request);
    }
    if (route->flag != NULL) {
        add(&words, "--%s", route->flag);
    }
    add_options(&words, request);
    add(&words, "--");
    if (route->verb != NULL) {
        add(&words, "%s", route->verb);
    }
    const char *const templates[] = {route->target, route->other};
    for (size_t i = 0; i < TR_COUNT_OF(templates) && templates[i] != NULL; i++) {
        const char *word = fill(arena, request, templates[i]);
        add(&words, "%s", word == NULL ? "" : word);
    }
    while (tr_web_next_word(&fields, &field)) {
        field.size -= field.data[field.size - 1] == '?' ? 1 : 0;
        const char *name = tr_web_keep(arena, field);
        const char *value = name == NULL ? NULL : tr_web_request_value(request, name);
        if (value != NULL) {
            add(&words, "%s", value);
        }
    }
    words.items[words.count] = NULL;
    *count = words.count;
    return arena->error != 0 ? NULL : words.items;
}
