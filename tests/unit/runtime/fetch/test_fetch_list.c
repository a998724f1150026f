/*
 * Lists of objects: what is read of a page, and what is none.
 */
#include "runtime/fetch/fetch_list.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define HEAD "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3/\"><Name>b</Name>"

static struct tri_fetch_page page;

static int begin(const char *xml)
{
    return tri_fetch_page_init(&page, (struct tr_bytes){(const uint8_t *)xml, strlen(xml)});
}

static void require_object(const char *key, const char *tag, uint64_t size)
{
    struct tri_fetch_listed listed;
    assert_int_equal(tri_fetch_page_next(&page, &listed), 0);
    assert_true(tr_text_equal(listed.key, tr_text_of(key)));
    assert_true(tr_text_equal(listed.tag, tr_text_of(tag)));
    assert_int_equal(listed.size, size);
}

static void require_end(int expected)
{
    struct tri_fetch_listed listed;
    assert_int_equal(tri_fetch_page_next(&page, &listed), expected);
    tri_fetch_page_fini(&page);
}

static void test_a_page_has_objects_and_a_token(void **state)
{
    (void)state;
    assert_int_equal(begin(HEAD "<NextContinuationToken>a&amp;b</NextContinuationToken>"
                                "<Contents><Key>x/a &lt;1&gt;</Key><Owner><ID>1</ID></Owner>"
                                "<ETag>&quot;c4&quot;</ETag><Size>12</Size></Contents>"
                                "<Contents><Size>0</Size><Key>x/&#228;&#xE4;&apos;</Key>"
                                "</Contents></ListBucketResult>"),
                     0);
    assert_true(tr_text_equal(page.next, tr_text_of("a&b")));
    require_object("x/a <1>", "\"c4\"", 12);
    require_object("x/ää'", "", 0);
    require_end(TR_NOT_FOUND);
}

static void test_a_page_may_be_empty(void **state)
{
    (void)state;
    assert_int_equal(begin(HEAD "<IsTruncated>false</IsTruncated></ListBucketResult>"), 0);
    assert_int_equal(page.next.size, 0);
    require_end(TR_NOT_FOUND);
}

static void test_what_is_no_list_is_refused(void **state)
{
    (void)state;
    assert_int_equal(begin(""), TR_MALFORMED);
    assert_int_equal(begin("<Error><Code>NoSuchBucket</Code></Error>"), TR_MALFORMED);
    static const char *const bad[] = {
        "<Key>a</Key>",                                     /* without a size */
        "<Size>1</Size>",                                   /* without a key */
        "<Key>a</Key><Size>many</Size>",                    /* no size */
        "<Key>a</Key><Size></Size>",                        /* no size */
        "<Key>a</Key><Size>99999999999999999999999</Size>", /* no size */
        "<Key>a&unknown;</Key><Size>1</Size>",              /* an entity that is none */
        "<Key>a&amp</Key><Size>1</Size>",                   /* one that has no end */
        "<Key>a&#0;</Key><Size>1</Size>",                   /* a zero */
        "<Key>a&#x110000;</Key><Size>1</Size>",             /* no character */
        "<Key>a&#xD800;</Key><Size>1</Size>",               /* half a one */
        "<Key>a<b/></Key><Size>1</Size>",                   /* a tag in a text */
        "<Key>a\xff</Key><Size>1</Size>",                   /* no text */
    };
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        char xml[256];
        snprintf(xml, sizeof xml, HEAD "<Contents>%s</Contents></ListBucketResult>", bad[i]);
        assert_int_equal(begin(xml), 0);
        require_end(TR_MALFORMED);
    }
}

static void require_code(const char *xml, const char *code)
{
    struct tr_text found =
        tri_fetch_error_code((struct tr_bytes){(const uint8_t *)xml, strlen(xml)});
    assert_true(tr_text_equal(found, tr_text_of(code)));
}

static void test_errors_have_a_code(void **state)
{
    (void)state;
    require_code("<Error><Code>AccessDenied</Code><Message>no</Message></Error>", "AccessDenied");
    require_code("<html>not found</html>", "");
    require_code("<Code>half", "");
    require_code("<Code>0123456789012345678901234567890123456789012345678901234567890</Code>", "");
    require_code("", "");
}

static void test_moments_are_read(void **state)
{
    (void)state;
    assert_int_equal(tri_fetch_moment_ms(tr_text_of("2026-08-20T09:30:01.000Z")), 1787218201000);
    assert_int_equal(tri_fetch_moment_ms(tr_text_of("1970-01-01T00:00:00Z")), 0);
    assert_int_equal(tri_fetch_moment_ms(tr_text_of("yesterday")), 0);
    assert_int_equal(tri_fetch_moment_ms(tr_text_of("")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_page_has_objects_and_a_token),
        cmocka_unit_test(test_a_page_may_be_empty),
        cmocka_unit_test(test_what_is_no_list_is_refused),
        cmocka_unit_test(test_errors_have_a_code),
        cmocka_unit_test(test_moments_are_read),
    };
    return cmocka_run_group_tests_name("fetch_list", tests, NULL, NULL);
}
