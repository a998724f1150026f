/*
 * A URL is good as it was signed, and no other way.
 */
#include "deploy/data_proxy/signed_url.h"

#include <string.h>

#include "tests/support/test.h"

static const uint8_t key[TR_SIGNED_KEY_BYTES] = {1, 2, 3, 4};
static const uint8_t other_key[TR_SIGNED_KEY_BYTES] = {1, 2, 3, 5};

static struct tr_signed_url sample(bool has_md5)
{
    struct tr_signed_url url = {.method = "PUT",
                                .path = tr_text_of("p/d/ABC=/a.tar.gz"),
                                .expires_s = 1790000000,
                                .has_md5 = has_md5};
    memset(url.md5, 0xab, sizeof url.md5);
    return url;
}

static bool read_text(const char *path, struct tr_text query, const uint8_t *by,
                      struct tr_signed_url *url)
{
    *url = (struct tr_signed_url){.method = "PUT", .path = tr_text_of(path)};
    return tr_signed_url_read(url, query, by);
}

static void what_was_signed_is_read(void **state)
{
    (void)state;
    for (int has_md5 = 0; has_md5 < 2; has_md5++) {
        struct tr_signed_url url = sample(has_md5 != 0);
        struct tr_signed_url read;
        struct tr_buffer query;
        tr_buffer_init(&query, 0);
        tr_signed_url_print(&url, key, &query);
        assert_int_equal(query.error, 0);
        struct tr_text text = tr_buffer_text(&query);
        assert_int_equal(text.data[0], '?');
        text.data++;
        text.size--;
        assert_true(read_text("p/d/ABC=/a.tar.gz", text, key, &read));
        assert_int_equal(read.expires_s, url.expires_s);
        assert_int_equal(read.has_md5, has_md5);
        if (has_md5 != 0) {
            assert_memory_equal(read.md5, url.md5, sizeof url.md5);
        }
        assert_false(read_text("p/d/ABC=/b.tar.gz", text, key, &read));
        assert_false(read_text("p/d/ABC=/a.tar.gz", text, other_key, &read));
        tr_buffer_fini(&query);
    }
}

/* No byte of it may be another, be missing, or be there twice. */
static void nothing_of_it_may_be_changed(void **state)
{
    struct tr_signed_url url = sample(true);
    struct tr_signed_url read;
    struct tr_buffer query;
    char copy[256];
    (void)state;
    tr_buffer_init(&query, 0);
    tr_signed_url_print(&url, key, &query);
    size_t size = query.size - 1;
    for (size_t i = 0; i < size; i++) {
        memcpy(copy, query.data + 1, size);
        copy[i] ^= 1;
        assert_false(read_text("p/d/ABC=/a.tar.gz", (struct tr_text){copy, size}, key, &read));
        assert_false(read_text("p/d/ABC=/a.tar.gz",
                               (struct tr_text){(const char *)query.data + 1, i}, key, &read));
        memmove(copy + i + 1, query.data + 1 + i, size - i);
        memcpy(copy, query.data + 1, i + 1);
        assert_false(read_text("p/d/ABC=/a.tar.gz", (struct tr_text){copy, size + 1}, key, &read));
    }
    tr_buffer_fini(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_signed_is_read),
        cmocka_unit_test(nothing_of_it_may_be_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
