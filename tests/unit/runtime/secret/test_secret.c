/*
 * Secrets: where they come from, in which order, and what names them when they are not there.
 */
#include "runtime/secret/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/secret/secret_limits.h"
#include "tests/support/test.h"

static char home[128];
static struct tri_secrets *secrets;
static char reason[TR_REASON_BYTES_MAX];

static void write_secret(const char *name, const void *data, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/.config/troupe/secrets/%s", home, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    (void)state;
    char command[256];
    snprintf(home, sizeof home, "/tmp/troupe-secret-XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(command, sizeof command, "mkdir -p %s/.config/troupe/secrets/crm", home);
    assert_int_equal(system(command), 0);
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    return tri_secrets_new(NULL, 0, &secrets);
}

static int teardown(void **state)
{
    (void)state;
    char command[256];
    tri_secrets_free(secrets);
    snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
}

static int find(const char *group, const char *key, const char *version, char *value, size_t size)
{
    struct tri_buffer found = {0};
    struct tr_process_secret secret = {tr_text_of("NAME"), tr_text_of(group), tr_text_of(key),
                                       tr_text_of(version), false};
    int error = tri_secret_find(secrets, &secret, &found, reason);
    if (error == 0) {
        snprintf(value, size, "%.*s", (int)tri_buffer_size(&found),
                 (const char *)tri_buffer_front(&found));
    }
    tri_secret_wipe(&found);
    tri_buffer_fini(&found);
    return error;
}

static void the_environment_comes_first(void **state)
{
    (void)state;
    char value[64];
    write_secret("crm/api-key", "file", 4);
    assert_int_equal(find("crm", "api-key", "", value, sizeof value), 0);
    assert_string_equal(value, "file");
    assert_int_equal(setenv("TROUPE_SECRET_CRM_API_KEY", "variable", 1), 0);
    assert_int_equal(find("crm", "api-key", "", value, sizeof value), 0);
    assert_string_equal(value, "variable");
    assert_int_equal(setenv("TROUPE_SECRET_CRM_API_KEY", "", 1), 0);
    assert_int_equal(find("crm", "api-key", "", value, sizeof value), 0);
    assert_string_equal(value, "");
    assert_int_equal(unsetenv("TROUPE_SECRET_CRM_API_KEY"), 0);
}

static void a_version_is_another_secret(void **state)
{
    (void)state;
    char value[64];
    write_secret("crm/token", "any", 3);
    write_secret("crm/token@2", "two", 3);
    assert_int_equal(find("crm", "token", "2", value, sizeof value), 0);
    assert_string_equal(value, "two");
    assert_int_equal(find("crm", "token", "3", value, sizeof value), TR_NOT_FOUND);
    assert_non_null(strstr(reason, "crm/token@3"));
    assert_int_equal(setenv("TROUPE_SECRET_CRM_TOKEN_3", "three", 1), 0);
    assert_int_equal(find("crm", "token", "3", value, sizeof value), 0);
    assert_string_equal(value, "three");
    assert_int_equal(unsetenv("TROUPE_SECRET_CRM_TOKEN_3"), 0);
}

static void the_configuration_folder_can_be_moved(void **state)
{
    (void)state;
    char value[64];
    char folder[256];
    write_secret("token", "without a group", 15);
    snprintf(folder, sizeof folder, "%s/.config", home);
    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    assert_int_equal(setenv("HOME", "/nowhere", 1), 0);
    assert_int_equal(find("", "token", "", value, sizeof value), 0);
    assert_string_equal(value, "without a group");
}

static void hostile_references_are_refused(void **state)
{
    (void)state;
    char value[64];
    static char large[TR_SECRET_BYTES_MAX + 1];
    assert_int_equal(find("crm", "", "", value, sizeof value), TR_INVALID);
    assert_int_equal(find("..", "x", "", value, sizeof value), TR_INVALID);
    assert_int_equal(find("crm", "../../x", "", value, sizeof value), TR_INVALID);
    assert_int_equal(find("/etc", "passwd", "", value, sizeof value), TR_INVALID);
    write_secret("crm/large", large, sizeof large);
    assert_int_equal(find("crm", "large", "", value, sizeof value), TR_LIMIT);
    assert_int_equal(find("", "crm", "", value, sizeof value), TR_SYSTEM); /* a folder */
    assert_non_null(strstr(reason, "crm"));
}

/* ---- Sources. ------------------------------------------------------------------------------- */

static void ask_others(const struct tr_secret_source *sources, size_t count)
{
    tri_secrets_free(secrets);
    assert_int_equal(tri_secrets_new(sources, count, &secrets), 0);
}

/* A script, which is asked with the reference as its $1. */
static const char *const *script(const char *text)
{
    static const char *argv[5];
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = text;
    argv[3] = "get-secret";
    return argv;
}

static void sources_are_asked_in_their_order(void **state)
{
    (void)state;
    char value[64];
    char other[160];
    snprintf(other, sizeof other, "%s/other", home);
    const struct tr_secret_source sources[] = {
        {.kind = TR_SECRET_COMMAND,
         .command = script("test $1 = crm/token@2 && echo printed || exit 3")},
        {.kind = TR_SECRET_FOLDER, .folder = other},
        {.kind = TR_SECRET_FOLDER}};
    ask_others(sources, TR_COUNT_OF(sources));
    write_secret("crm/token", "user's", 6);
    assert_int_equal(setenv("TROUPE_SECRET_CRM_TOKEN", "nobody asks", 1), 0);
    assert_int_equal(find("crm", "token", "2", value, sizeof value), 0);
    assert_string_equal(value, "printed\n");
    assert_int_equal(find("crm", "token", "", value, sizeof value), 0);
    assert_string_equal(value, "user's");
    assert_int_equal(find("crm", "absent", "", value, sizeof value), TR_NOT_FOUND);
    char expected[512];
    snprintf(expected, sizeof expected,
             "secret crm/absent: the command sh: exit status 3; there is no file %s/crm/absent; "
             "there is no file %s/.config/troupe/secrets/crm/absent",
             other, home);
    assert_string_equal(reason, expected);
    assert_int_equal(unsetenv("TROUPE_SECRET_CRM_TOKEN"), 0);
}

static void a_command_is_asked_once(void **state)
{
    (void)state;
    char value[64];
    char text[512];
    snprintf(text, sizeof text, "echo x >> %s/asked; wc -l < %s/asked; test $1 != crm/absent", home,
             home);
    const struct tr_secret_source source = {.kind = TR_SECRET_COMMAND, .command = script(text)};
    ask_others(&source, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(find("crm", "token", "", value, sizeof value), 0);
        assert_string_equal(value, "1\n");
        assert_int_equal(find("crm", "absent", "", value, sizeof value), TR_NOT_FOUND);
        assert_string_equal(reason, "secret crm/absent: the command sh: exit status 1");
    }
    assert_int_equal(find("crm", "other", "", value, sizeof value), 0);
    assert_string_equal(value, "3\n");
}

static void what_a_command_is_asked_is_no_option(void **state)
{
    (void)state;
    char value[64];
    const struct tr_secret_source source = {.kind = TR_SECRET_COMMAND, .command = script("echo x")};
    ask_others(&source, 1);
    assert_int_equal(find("", "--help", "", value, sizeof value), TR_INVALID);
    assert_string_equal(reason,
                        "secret --help: the command sh: it cannot be asked for such a name");
}

static void other_failures_end_the_search(void **state)
{
    (void)state;
    char value[64];
    const struct tr_secret_source sources[] = {
        {.kind = TR_SECRET_COMMAND, .command = script("yes")}, {.kind = TR_SECRET_FOLDER}};
    ask_others(sources, TR_COUNT_OF(sources));
    write_secret("crm/token", "user's", 6);
    assert_int_equal(find("crm", "token", "", value, sizeof value), TR_LIMIT);
    assert_string_equal(reason,
                        "secret crm/token: the command sh: it printed more than 65536 bytes");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(the_environment_comes_first),           TEST(a_version_is_another_secret),
        TEST(the_configuration_folder_can_be_moved), TEST(hostile_references_are_refused),
        TEST(sources_are_asked_in_their_order),      TEST(a_command_is_asked_once),
        TEST(what_a_command_is_asked_is_no_option),  TEST(other_failures_end_the_search),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
