/*
 * Any bytes as a request of the API: the method, the path, the query and the body stand behind each
 * other, each ended by a line feed. The same bytes as a body of each route. Whatever they are, the
 * words that a command gets are those of its route: its store and form first, what a client gave as
 * one word each, and no option behind.
 */
#include <string.h>

#include "deploy/web/request.h"
#include "schemas/codec/utf8.h"
#include "tests/fuzz/fuzz.h"

static struct tr_text take_line(struct tr_text *rest)
{
    const char *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    struct tr_text line = {.data = rest->data,
                           .size = end == NULL ? rest->size : (size_t)(end - rest->data)};
    size_t passed = line.size + (end == NULL ? 0 : 1);
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return line;
}

/* Whether a word in front of the -- is one that the request reader writes by itself. */
static bool is_own(const char *word)
{
    static const char *const owns[] = {"--store=/s", "--quiet",   "--output=json",
                                       "--limit=",   "--offset=", "--until="};
    for (size_t i = 0; i < TR_COUNT_OF(owns); i++) {
        if (strncmp(word, owns[i], strlen(owns[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void check_option(const struct tr_web_route *route, const char *word)
{
    struct tr_text name = {.data = word + 2, .size = strcspn(word + 2, "=")};
    const char *options = route->options;
    struct tr_text listed;
    bool is_listed =
        is_own(word) || (route->flag != NULL && tr_text_equal(name, tr_text_of(route->flag)));
    while (!is_listed && tr_web_next_word(&options, &listed)) {
        is_listed = tr_text_equal(listed, name);
    }
    TR_ASSERT(is_listed && strncmp(word, "--", 2) == 0);
}

static void check_words(struct tr_arena *arena, const struct tr_web_request *request)
{
    int count = 0;
    bool is_behind = false;
    if (request->route->command == NULL) {
        return;
    }
    char **words = tr_web_request_arguments(arena, request, "/s", &count);
    TR_ASSERT(words != NULL && words[count] == NULL);
    for (int i = 0; i < count; i++) {
        TR_ASSERT(tr_utf8_valid(tr_text_of(words[i])));
        if (!is_behind && strcmp(words[i], "--") != 0) {
            check_option(request->route, words[i]);
        }
        is_behind |= strcmp(words[i], "--") == 0;
    }
    TR_ASSERT(is_behind);
}

/* The same bytes as the body of each route that takes one: few of them have a path by chance. */
static void read_bodies(struct tr_bytes body)
{
    static struct tr_web_request request;
    static char words[TR_WEB_WORDS_BYTES];
    for (size_t i = 0; i < tr_web_route_count; i++) {
        struct tr_arena arena;
        if (strcmp(tr_web_routes[i].method, "GET") == 0) {
            continue;
        }
        tr_arena_init(&arena);
        request.route = &tr_web_routes[i];
        request.count = 0;
        words[0] = '\0';
        if (tr_web_request_read_body(&arena, body, &request, words) == TR_WEB_FINE) {
            check_words(&arena, &request);
        } else {
            TR_ASSERT(words[0] != '\0');
        }
        tr_arena_fini(&arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tr_web_request request;
    static char words[TR_WEB_WORDS_BYTES];
    struct tr_text rest = {.data = (const char *)data, .size = size};
    struct tr_web_head head;
    struct tr_arena arena;
    head.method = take_line(&rest);
    head.path = take_line(&rest);
    head.query = take_line(&rest);
    (void)tr_web_takes_gzip(rest);
    tr_arena_init(&arena);
    enum tr_web_problem problem = tr_web_request_read(&arena, &head, &request, words);
    if (problem == TR_WEB_FINE && strcmp(request.route->method, "GET") != 0) {
        struct tr_bytes body = {.data = (const uint8_t *)rest.data, .size = rest.size};
        problem = tr_web_request_read_body(&arena, body, &request, words);
    }
    if (problem == TR_WEB_FINE) {
        check_words(&arena, &request);
    } else {
        TR_ASSERT(tr_web_problem_status(problem) >= 400 && words[0] != '\0');
    }
    tr_arena_fini(&arena);
    read_bodies((struct tr_bytes){.data = data, .size = size});
    return 0;
}
