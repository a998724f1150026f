/*
 * Labels: keys and values by the rules of Kubernetes, and texts of many.
 */
#include "actors/graph/document/labels.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define TEXT(words) tr_text_of(words)

/* So many letters a. */
static const char *letters(size_t count)
{
    static char text[512];
    assert_true(count < sizeof text);
    memset(text, 'a', count);
    text[count] = '\0';
    return text;
}

static void test_keys(void **state)
{
    (void)state;
    static const char *const good[] = {"a",    "7",         "team",        "Team-1_x.y",
                                       "a--b", "x.io/team", "a.b-c.d/E_f", "0.1/2"};
    static const char *const bad[] = {
        "",    "-a",   "a-",   "a_",     "a b",  "a=b",  "a,b",    "/a",         "a/", "a/b/c",
        "A/b", "-a/b", "a-/b", "a..b/c", ".a/b", "a./b", "a-.b/c", "t\xc3\xa4m", "a\n"};
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_true(tr_label_key_is_good(TEXT(good[i])));
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tr_label_key_is_good(TEXT(bad[i])));
    }
    char key[sizeof "/a" + 512];
    assert_true(tr_label_key_is_good(TEXT(letters(63))));
    assert_false(tr_label_key_is_good(TEXT(letters(64))));
    (void)snprintf(key, sizeof key, "%s/a", letters(253));
    assert_true(tr_label_key_is_good(TEXT(key)));
    (void)snprintf(key, sizeof key, "%s/a", letters(254));
    assert_false(tr_label_key_is_good(TEXT(key)));
}

static void test_values(void **state)
{
    (void)state;
    static const char *const good[] = {"", "a", "A.b_c-7"};
    static const char *const bad[] = {"-a", "a.", "a b", "a/b", "a,b", "a=b", "\xc3\xa4"};
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_true(tr_label_value_is_good(TEXT(good[i])));
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tr_label_value_is_good(TEXT(bad[i])));
    }
    assert_true(tr_label_value_is_good(TEXT(letters(63))));
    assert_false(tr_label_value_is_good(TEXT(letters(64))));
}

static void test_a_text_of_them(void **state)
{
    (void)state;
    static const char *const bad[] = {",",       "a",     "a=b,", "a=b,,c=d", "b=1,a=2",
                                      "a=1,a=2", "a=b=c", "a= b", "=b",       ",a=b"};
    assert_true(tr_labels_are_good(TEXT("")));
    assert_true(tr_labels_are_good(TEXT("a=,b=2,x.io/c=d")));
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tr_labels_are_good(TEXT(bad[i])));
    }
    struct tr_text value = TEXT("before");
    assert_true(tr_labels_get(TEXT("a=,ab=2"), TEXT("ab"), &value));
    assert_true(tr_text_equal(value, TEXT("2")));
    assert_true(tr_labels_get(TEXT("a=,ab=2"), TEXT("a"), &value));
    assert_int_equal(value.size, 0);
    value = TEXT("before");
    assert_false(tr_labels_get(TEXT("a=,ab=2"), TEXT("b"), &value));
    assert_false(tr_labels_get(TEXT(""), TEXT("b"), &value));
    assert_true(tr_text_equal(value, TEXT("before")));
}

static const char *merge(const char *weak, const char *strong)
{
    static char text[256];
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_labels_merge(TEXT(weak), TEXT(strong), &buffer), 0);
    assert_true(tr_labels_are_good(tr_buffer_text(&buffer)));
    (void)snprintf(text, sizeof text, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
    return text;
}

static void test_the_strong_one_wins(void **state)
{
    (void)state;
    assert_string_equal(merge("", ""), "");
    assert_string_equal(merge("a=1", ""), "a=1");
    assert_string_equal(merge("", "a=1"), "a=1");
    assert_string_equal(merge("a=1,c=3", "b=2"), "a=1,b=2,c=3");
    assert_string_equal(merge("a=1,b=1,d=1", "b=,c=2,d=2"), "a=1,b=,c=2,d=2");
    assert_string_equal(merge("ab=1", "a=1"), "a=1,ab=1");
}

static void test_they_are_put_in_order(void **state)
{
    (void)state;
    struct tr_label labels[] = {
        {TEXT("c"), TEXT("3")}, {TEXT("a"), TEXT("")}, {TEXT("b"), TEXT("2")}};
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "labels: ");
    assert_int_equal(tr_labels_print(labels, TR_COUNT_OF(labels), &text), 0);
    assert_true(tr_text_equal(tr_buffer_text(&text), TEXT("labels: a=,b=2,c=3")));
    tr_buffer_cut(&text, strlen("labels: "));
    labels[0].key = TEXT("b");
    assert_int_equal(tr_labels_print(labels, TR_COUNT_OF(labels), &text), TR_EXISTS);
    assert_int_equal(tr_labels_print(labels, 0, &text), 0);
    assert_true(tr_text_equal(tr_buffer_text(&text), TEXT("labels: ")));
    tr_buffer_fini(&text);
}

static void test_limits(void **state)
{
    (void)state;
    struct tr_buffer many;
    struct tr_buffer merged;
    tr_buffer_init(&many, 0);
    tr_buffer_init(&merged, 0);
    for (unsigned i = 0; i < TR_LABELS_MAX; i++) {
        tr_buffer_print(&many, "%sk%02u=v", i > 0 ? "," : "", i);
    }
    assert_true(tr_labels_are_good(tr_buffer_text(&many)));
    tr_buffer_add_string(&merged, "before");
    assert_int_equal(tr_labels_merge(tr_buffer_text(&many), TEXT("k00=w"), &merged), 0);
    tr_buffer_cut(&merged, strlen("before"));
    assert_int_equal(tr_labels_merge(tr_buffer_text(&many), TEXT("one=more"), &merged), TR_LIMIT);
    assert_true(tr_text_equal(tr_buffer_text(&merged), TEXT("before")));
    tr_buffer_add_string(&many, ",more=");
    assert_false(tr_labels_are_good(tr_buffer_text(&many)));
    tr_buffer_cut(&many, 0);
    for (unsigned i = 0; i < 40; i++) {
        tr_buffer_print(&many, "%s%s/k%02u=", i > 0 ? "," : "", letters(240), i);
    }
    assert_false(tr_labels_are_good(tr_buffer_text(&many)));
    assert_int_equal(tr_labels_merge(tr_buffer_text(&many), TEXT("one=more"), &merged), TR_LIMIT);
    tr_buffer_fini(&merged);
    tr_buffer_fini(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_a_text_of_them),
        cmocka_unit_test(test_they_are_put_in_order),
        cmocka_unit_test(test_the_strong_one_wins),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
