/*
 * Who a token is of, and what its client may do where.
 */
#include "deploy/api/clients.h"

#include <sodium.h>
#include <string.h>

#include "tests/support/test.h"

#define NOW_S 1790000000

static const uint8_t key[TR_API_TOKEN_KEY_BYTES] = {1, 2, 3};
static const uint8_t other_key[TR_API_TOKEN_KEY_BYTES] = {1, 2, 4};

static const struct tr_api_grant grants[] = {
    {TR_API_REGISTER, "p", "d"}, {TR_API_RUN, "q", NULL}, {TR_API_VIEW, NULL, NULL}};
static const struct tr_api_grant few[] = {{TR_API_VIEW, "p", NULL}};

static struct tr_api_client items[2];
static struct tr_api_clients clients = {.items = items, .count = 2, .key = key};

static int set_up(void **state)
{
    (void)state;
    items[0] = (struct tr_api_client){.id = "ci", .grants = grants, .grant_count = 3};
    items[1] = (struct tr_api_client){.id = "me", .grants = few, .grant_count = 1};
    (void)crypto_hash_sha256(items[0].secret_sha256, (const uint8_t *)"secret", 6);
    (void)crypto_hash_sha256(items[1].secret_sha256, (const uint8_t *)"mine", 4);
    return 0;
}

static void roles_hold_where_they_are_given(void **state)
{
    static const struct {
        size_t client;
        enum tr_api_role role;
        struct tr_api_place place;
        bool is_allowed;
    } rows[] = {
        {0, TR_API_REGISTER, {"p", "d", false}, true},
        {0, TR_API_RUN, {"p", "d", false}, true},
        {0, TR_API_ADMIN, {"p", "d", false}, false},
        {0, TR_API_REGISTER, {"p", "e", false}, false},
        {0, TR_API_REGISTER, {"p", NULL, false}, false},
        {0, TR_API_RUN, {"q", "e", false}, true},
        {0, TR_API_RUN, {"q", NULL, false}, true},
        {0, TR_API_RUN, {NULL, NULL, false}, false},
        {0, TR_API_VIEW, {NULL, NULL, false}, true},
        {1, TR_API_VIEW, {"p", "d", false}, true},
        {1, TR_API_VIEW, {"q", "d", false}, false},
        {1, TR_API_VIEW, {NULL, NULL, false}, false},
        {1, TR_API_VIEW, {NULL, NULL, true}, true},
        {1, TR_API_RUN, {NULL, NULL, true}, false},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        assert_int_equal(tr_api_client_may(&items[rows[i].client], rows[i].role, &rows[i].place),
                         rows[i].is_allowed);
    }
}

static const struct tr_api_client *of_bearer(const char *bearer)
{
    return tr_api_client_of_bearer(&clients, tr_text_of(bearer), NOW_S);
}

static void secrets_are_tokens(void **state)
{
    (void)state;
    assert_ptr_equal(of_bearer("secret"), &items[0]);
    assert_ptr_equal(of_bearer("mine"), &items[1]);
    assert_null(of_bearer("Secret"));
    assert_null(of_bearer(""));
    assert_ptr_equal(tr_api_client_of_secret(&clients, tr_text_of("ci"), tr_text_of("secret")),
                     &items[0]);
    assert_null(tr_api_client_of_secret(&clients, tr_text_of("me"), tr_text_of("secret")));
    assert_null(tr_api_client_of_secret(&clients, tr_text_of("no"), tr_text_of("secret")));
}

static void tokens_are_signed_and_expire(void **state)
{
    struct tr_buffer token;
    char text[256];
    (void)state;
    tr_buffer_init(&token, 0);
    tr_api_token_print(&clients, &items[1], NOW_S + 1, &token);
    assert_int_equal(token.error, 0);
    memcpy(text, token.data, token.size);
    text[token.size] = '\0';
    assert_ptr_equal(of_bearer(text), &items[1]);
    assert_null(tr_api_client_of_bearer(&clients, tr_text_of(text), NOW_S + 1));
    for (size_t i = 0; i < token.size; i++) {
        text[i] ^= 1;
        assert_null(of_bearer(text));
        text[i] ^= 1;
    }
    clients.key = other_key;
    assert_null(of_bearer(text));
    clients.key = key;
    items[1].id = "you";
    assert_null(of_bearer(text));
    tr_buffer_fini(&token);
}

static void credentials_follow_their_scheme(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        const char *credentials;
    } rows[] = {{"Bearer a", "a"}, {"bearer   b c", "b c"}, {"Bearer", ""}, {"Bearera", ""},
                {"", ""},          {"Basic a", ""},         {"Bearer ", ""}};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_text found = tr_api_credentials(tr_text_of(rows[i].header), "Bearer");
        assert_true(found.size == strlen(rows[i].credentials));
        assert_true(tr_text_equal(found, tr_text_of(rows[i].credentials)));
    }
}

static struct tr_text execution_of(const struct tr_api_clients *all, const char *bearer,
                                   size_t size)
{
    return tr_api_execution_of_bearer(all, (struct tr_text){.data = bearer, .size = size});
}

static void an_execution_has_a_token(void **state)
{
    struct tr_api_clients others = clients;
    struct tr_buffer token;
    (void)state;
    others.key = other_key;
    tr_buffer_init(&token, 0);
    tr_api_execution_token_print(&clients, tr_text_of("p/d/name.x"), &token);
    assert_int_equal(token.error, 0);
    char *text = (char *)token.data;
    struct tr_text found = execution_of(&clients, text, token.size);
    assert_true(tr_text_equal(found, tr_text_of("p/d/name.x")));
    assert_null(tr_api_client_of_bearer(&clients, tr_buffer_text(&token), NOW_S));
    assert_int_equal(execution_of(&others, text, token.size).size, 0);
    for (size_t i = 0; i < token.size; i++) {
        assert_int_equal(execution_of(&clients, text, i).size, 0);
        text[i] ^= 1;
        assert_int_equal(execution_of(&clients, text, token.size).size, 0);
        text[i] ^= 1;
    }
    tr_buffer_fini(&token);
    /* The token of a client is none of an execution. */
    tr_buffer_init(&token, 0);
    tr_api_token_print(&clients, &items[0], NOW_S + 1, &token);
    assert_int_equal(execution_of(&clients, (char *)token.data, token.size).size, 0);
    tr_buffer_fini(&token);
}

static void an_execution_acts_where_it_is(void **state)
{
    static const struct {
        enum tr_api_role role;
        struct tr_api_place place;
        bool is_allowed;
    } rows[] = {
        {TR_API_RUN, {"p", "d", false}, true},      {TR_API_VIEW, {"p", "d", false}, true},
        {TR_API_REGISTER, {"p", "d", false}, true}, {TR_API_VIEW, {"p", "e", false}, false},
        {TR_API_VIEW, {"q", "d", false}, false},    {TR_API_VIEW, {"p", NULL, false}, false},
        {TR_API_VIEW, {NULL, NULL, false}, false},  {TR_API_VIEW, {NULL, NULL, true}, true},
        {TR_API_ADMIN, {"p", "d", false}, false},   {TR_API_ADMIN, {NULL, NULL, true}, false},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        assert_int_equal(tr_api_execution_may(tr_text_of("p/d/n"), rows[i].role, &rows[i].place),
                         rows[i].is_allowed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(roles_hold_where_they_are_given, set_up),
        cmocka_unit_test_setup(secrets_are_tokens, set_up),
        cmocka_unit_test_setup(tokens_are_signed_and_expire, set_up),
        cmocka_unit_test_setup(credentials_follow_their_scheme, set_up),
        cmocka_unit_test_setup(an_execution_has_a_token, set_up),
        cmocka_unit_test_setup(an_execution_acts_where_it_is, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
