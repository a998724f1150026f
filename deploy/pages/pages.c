/*
 * Files out of memory. A path below /console that names no file is a view of the page, which reads
 * the rest of it itself: so each view is a link, and a reload shows it again.
 */
#include "deploy/pages/pages.h"

#include <string.h>

#include "deploy/pages/pages_files.h"

/*
 * Scripts, styles and requests are the page's own, and nothing stands in the text of a page. What
 * pictures show may come out of a value, as data.
 */
#define POLICY                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " \
    "connect-src 'self'; frame-src 'self'; worker-src 'self'; base-uri 'none'; "            \
    "form-action 'none'; frame-ancestors 'none'"

#define LEFT_OUT                                                                          \
    "This program was built without its pages, since npm was missing or could not fetch " \
    "their libraries.\nInstall npm and build again, or use the API: "                     \
    "/api/troupe/v1/openapi.json\n"

#define HEADERS_MAX 8

static struct tr_door_header header(const char *name, const char *value)
{
    return (struct tr_door_header){.name = tr_text_of(name), .value = tr_text_of(value)};
}

static void answer_words(struct tr_door_exchange *exchange, int status, const char *words)
{
    const struct tr_door_header headers[] = {
        header("content-type", "text/plain; charset=utf-8"),
        header("x-content-type-options", "nosniff"),
        header("cache-control", "no-store"),
    };
    tr_door_exchange_answer(
        exchange, status, headers, TR_COUNT_OF(headers),
        (struct tr_bytes){.data = (const uint8_t *)words, .size = strlen(words)});
}

static void answer_moved(struct tr_door_exchange *exchange)
{
    const struct tr_door_header headers[] = {header("location", TR_PAGES_PATH "/"),
                                             header("cache-control", "no-store")};
    tr_door_exchange_answer(exchange, 302, headers, TR_COUNT_OF(headers),
                            (struct tr_bytes){.size = 0});
}

static void answer_file(struct tr_door_exchange *exchange, const struct tri_pages_file *file)
{
    const struct tr_door_header headers[] = {
        header("content-type", file->type),
        header("content-encoding", "gzip"),
        header("etag", file->tag),
        header("cache-control", "no-cache"),
        header("content-security-policy", POLICY),
        header("x-content-type-options", "nosniff"),
        header("referrer-policy", "no-referrer"),
        header("cross-origin-opener-policy", "same-origin"),
    };
    struct tr_text known = tr_door_exchange_header(exchange, "if-none-match");
    bool is_known = known.data != NULL && tr_text_equal(known, tr_text_of(file->tag));
    struct tr_bytes bytes = {.data = file->bytes, .size = file->size};
    tr_door_exchange_answer(exchange, is_known ? 304 : 200, headers, TR_COUNT_OF(headers),
                            is_known ? (struct tr_bytes){.size = 0} : bytes);
}

static const struct tri_pages_file *find(struct tr_text path)
{
    for (size_t i = 0; i < tri_pages_file_count; i++) {
        if (tr_text_equal(path, tr_text_of(tri_pages_files[i].path))) {
            return &tri_pages_files[i];
        }
    }
    return NULL;
}

static void end(void *self, struct tr_door_exchange *exchange)
{
    const struct tr_door_request *request = tr_door_exchange_request(exchange);
    struct tr_text path = request->path;
    size_t base = strlen(TR_PAGES_PATH);
    (void)self;
    if (!tr_text_equal(request->method, tr_text_of("GET")) &&
        !tr_text_equal(request->method, tr_text_of("HEAD"))) {
        answer_words(exchange, 405, "Pages are read by GET.\n");
    } else if (!tr_pages_are_there()) {
        answer_words(exchange, 404, LEFT_OUT);
    } else if (path.size <= base || memcmp(path.data, TR_PAGES_PATH "/", base + 1) != 0) {
        answer_moved(exchange);
    } else {
        path = (struct tr_text){.data = path.data + base, .size = path.size - base};
        const struct tri_pages_file *file = find(path);
        answer_file(exchange, file != NULL ? file : find(tr_text_of("/index.html")));
    }
}

static void refuse(void *self, struct tr_door_exchange *exchange, int status, const char *words)
{
    (void)self;
    answer_words(exchange, status, words);
}

static const struct tr_door_handler handler = {.end = end, .refuse = refuse};

const struct tr_door_part *tr_pages_parts(void)
{
    static const struct tr_door_part parts[TR_PAGES_PARTS] = {
        {.prefix = "/", .is_whole = true, .handler = &handler},
        {.prefix = TR_PAGES_PATH, .handler = &handler},
    };
    return parts;
}

bool tr_pages_are_there(void)
{
    return tri_pages_file_count > 0;
}
