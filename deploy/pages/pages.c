/*
 * Files out of memory. A path below /console that names no file is a view of the page, which reads
 * the rest of it itself: so each view is a link, and a reload shows it again.
 */
#include "deploy/pages/pages.h"

#include <string.h>

#include "deploy/api_wire/gzip.h"
#include "deploy/pages/pages_files.h"
#include "deploy/web/request.h"

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

/* For a client that takes nothing compressed, and has to be given more than there is. */
#define NO_PLAIN "The pages are kept compressed, and cannot be given otherwise: take gzip.\n"

/* No page is larger. */
#define FILE_BYTES_MAX (8ULL << 20)

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

/* The bytes of a file as a client takes them: compressed as they are kept, or not. */
struct form {
    struct tr_bytes bytes;
    struct tri_buffer whole; /* to be given back */
    bool is_gzip;
    int error;
};

static struct form form_of(const struct tr_door_exchange *exchange,
                           const struct tri_pages_file *file)
{
    struct form form = {.bytes = {.data = file->bytes, .size = file->size}, .is_gzip = true};
    if (!tr_web_takes_gzip(tr_door_exchange_header(exchange, "accept-encoding"))) {
        form.is_gzip = false;
        form.error = tr_gzip_read(form.bytes, FILE_BYTES_MAX, &form.whole);
        form.bytes = (struct tr_bytes){.data = tri_buffer_front(&form.whole),
                                       .size = tri_buffer_size(&form.whole)};
    }
    return form;
}

static void answer_file(struct tr_door_exchange *exchange, const struct tri_pages_file *file)
{
    struct form form = form_of(exchange, file);
    struct tr_door_headers headers = {.count = 0};
    struct tr_text known = tr_door_exchange_header(exchange, "if-none-match");
    bool is_known =
        form.is_gzip && known.data != NULL && tr_text_equal(known, tr_text_of(file->tag));
    tr_door_headers_add(&headers, "content-type", file->type);
    tr_door_headers_add(&headers, "cache-control", "no-cache");
    tr_door_headers_add(&headers, "vary", "accept-encoding");
    tr_door_headers_add(&headers, "content-security-policy", POLICY);
    tr_door_headers_add(&headers, "x-content-type-options", "nosniff");
    tr_door_headers_add(&headers, "referrer-policy", "no-referrer");
    tr_door_headers_add(&headers, "cross-origin-opener-policy", "same-origin");
    if (form.is_gzip) {
        tr_door_headers_add(&headers, "content-encoding", "gzip");
        tr_door_headers_add(&headers, "etag", file->tag);
    }
    if (form.error != 0) {
        answer_words(exchange, 503, NO_PLAIN);
    } else {
        tr_door_exchange_answer(exchange, is_known ? 304 : 200, headers.items, headers.count,
                                is_known ? (struct tr_bytes){.size = 0} : form.bytes);
    }
    tri_buffer_fini(&form.whole);
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
