/*
 * Secrets: where they come from, in which order, and what names them when they are not there.
 */
#include "runtime/env/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/env/attempt_limits.h"
#include "tests/support/test.h"

static char home[128];
static char reason[TR_KEEPER_REASON_BYTES_MAX];

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
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
}

static int find(const char *group, const char *key, const char *version, char *value, size_t size)
{
    struct tri_buffer found = {0};
    struct tr_process_secret secret = {tr_text_of("NAME"), tr_text_of(group), tr_text_of(key),
                                       tr_text_of(version), false};
    int error = tri_secret_find(&secret, &found, reason);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(the_environment_comes_first),
        TEST(a_version_is_another_secret),
        TEST(the_configuration_folder_can_be_moved),
        TEST(hostile_references_are_refused),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
