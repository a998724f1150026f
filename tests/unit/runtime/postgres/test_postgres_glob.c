/*
 * Patterns as regular expressions: PostgreSQL matches what the runtime itself matches.
 */
#include "runtime/postgres/postgres_glob.h"

#include <stdio.h>
#include <string.h>

#include "runtime/limits.h"
#include "runtime/memory.h"
#include "runtime/trace/glob.h"
#include "tests/support/draw.h"
#include "tests/support/postgres_server.h"
#include "tests/support/test.h"

#define PAIRS 400
#define ROUNDS 5

/* What a text is made of; stars mean something in patterns alone. */
static const char *const pieces[] = {
    "a",   "b",   "/", "/", "*", "*",  "**",  "[", "]", "?",  ".", "+",        "(",
    ")",   "{2}", "|", "^", "$", "\\", "\\d", "-", "'", "\n", " ", "\xc3\xa4", "\xf0\x9f\x98\x80",
    "a/b", "/**", "_", "#", "",
};

static void draw_text(struct draw *draw, size_t pieces_max, char *text, size_t size)
{
    size_t count = draw_below(draw, pieces_max + 1);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *piece = pieces[draw_below(draw, TR_COUNT_OF(pieces))];
        size_t at = strlen(text);
        (void)snprintf(text + at, size - at, "%s", piece);
    }
}

/* A text that the pattern may well match: stars become something. */
static void draw_match(struct draw *draw, const char *pattern, char *text, size_t size)
{
    size_t at = 0;
    for (; *pattern != '\0' && at + 8 < size; pattern++) {
        if (*pattern != '*') {
            text[at++] = *pattern;
        } else if (draw_below(draw, 2) == 0) {
            at +=
                (size_t)snprintf(text + at, size - at, "%s", draw_below(draw, 3) == 0 ? "/" : "x");
        }
    }
    text[at] = '\0';
}

static size_t put_quoted(char *sql, size_t at, size_t size, const char *text)
{
    sql[at++] = '\'';
    for (; *text != '\0' && at + 4 < size; text++) {
        sql[at++] = *text;
        if (*text == '\'') {
            sql[at++] = '\'';
        }
    }
    sql[at++] = '\'';
    return at;
}

static void check_round(struct draw *draw, size_t *match_count)
{
    static char patterns[PAIRS][128];
    static char texts[PAIRS][128];
    static char sql[PAIRS * 1024];
    static char answers[PAIRS * 2 + 1];
    size_t at = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        draw_text(draw, 8, patterns[i], sizeof patterns[i]);
        if (i % 2 == 0) {
            draw_match(draw, patterns[i], texts[i], sizeof texts[i]);
        } else {
            draw_text(draw, 6, texts[i], sizeof texts[i]);
        }
        char *made = tri_postgres_glob(tr_text_of(patterns[i]));
        assert_non_null(made);
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%s(%zu,",
                               i == 0 ? "SELECT (t ~ p)::int FROM (VALUES" : ",", i);
        at = put_quoted(sql, at, sizeof sql, texts[i]);
        sql[at++] = ',';
        at = put_quoted(sql, at, sizeof sql, made);
        sql[at++] = ')';
        tr_free(made);
    }
    (void)snprintf(sql + at, sizeof sql - at, ") AS v(i, t, p) ORDER BY i");
    postgres_server_run(sql, answers, sizeof answers);
    for (size_t i = 0; i < PAIRS; i++) {
        bool expected = tri_glob_match(tr_text_of(patterns[i]), tr_text_of(texts[i]));
        *match_count += expected ? 1 : 0;
        if ((answers[i * 2] == '1') != expected) {
            fail_msg("`%s` and `%s`: %d here, %c there", patterns[i], texts[i], expected,
                     answers[i * 2]);
        }
    }
}

static void test_both_match_the_same(void **state)
{
    (void)state;
    struct draw draw = {.state = 20261126};
    size_t match_count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        check_round(&draw, &match_count);
    }
    assert_in_range(match_count, PAIRS * ROUNDS / 8, PAIRS * ROUNDS * 7 / 8);
}

/* A pattern that is too long for the runtime matches nothing there either. */
static void test_a_pattern_that_is_too_long(void **state)
{
    (void)state;
    char pattern[TR_TAP_GLOB_BYTES_MAX + 2];
    char sql[256];
    char answer[16];
    memset(pattern, '*', sizeof pattern);
    char *made = tri_postgres_glob((struct tr_text){.data = pattern, .size = sizeof pattern - 1});
    assert_non_null(made);
    (void)snprintf(sql, sizeof sql, "SELECT ('' ~ '%s' OR 'x' ~ '%s' OR 'x^' ~ '%s')::int", made,
                   made, made);
    postgres_server_run(sql, answer, sizeof answer);
    assert_string_equal(answer, "0\n");
    tr_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_match_the_same),
        cmocka_unit_test(test_a_pattern_that_is_too_long),
    };
    return cmocka_run_group_tests_name("postgres_glob", tests, NULL, NULL);
}
