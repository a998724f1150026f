/*
 * Each law of the house can fail: a violation is planted into a small tree that keeps all laws, and
 * must be found, alone and at its line. And what only looks like a violation must not be found.
 *
 * The bans are tried word by word, from the table itself: a word outside its files, inside them,
 * and in a comment or literal.
 */
#include "tests/support/test.h"
#include "tests/unit/house/planted.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- Single violations, and what looks like one. -------------------------------------------- */

/* Written as a whole file, or, where it begins with no comment, from line 3 of a good one. */
struct planted {
    enum house_law law;
    const char *path;
    size_t line;
    const char *text;
};

static const struct planted violations[] = {
    {HOUSE_LAW_INCLUDE, "runtime/a.c", 3, "#include \"a.h\""},
    {HOUSE_LAW_INCLUDE, "runtime/a.c", 4, "\n  #  include \"../schemas/a.h\""},
    {HOUSE_LAW_INCLUDE, "runtime/a.c", 3, "#include <runtime/a.h>"},
    {HOUSE_LAW_READER, "actors/a.h", 3,
     "#ifndef TR_ACTORS_A_H\n#define TR_ACTORS_A_H\n#include <yaml.h>\n#endif\n"},
    {HOUSE_LAW_OPENING, "runtime/a.c", 1, "/* Too short to help. */\nint a;\n"},
    {HOUSE_LAW_OPENING, "runtime/a.c", 1, "/* A line, */ int a;\n/* and another. */\n"},
    {HOUSE_LAW_GUARD, "schemas/a.h", 1, "int a;\n"},
    {HOUSE_LAW_GUARD, "schemas/a.h", 2, "/* A. */\n#pragma once\n"},
    {HOUSE_LAW_GUARD, "schemas/a.h", 1, "#ifndef A_H\n#define A_H\n#endif\n"},
    {HOUSE_LAW_GUARD, "schemas/a.h", 2, "#ifndef TR_SCHEMAS_A_H\n#define TR_A_H\n#endif\n"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 4, "void a(void)\n{ if (b(c)) d(); }"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 4, "\nwhile (b)\n    d();"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 3, "for (;;)\n    ;"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 3, "if (b) { d(); } else e();"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 3, "if (b) { d(); } else if (c) e();"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 3, "do if (b) { d(); } while (0);"},
    {HOUSE_LAW_BRACES, "deploy/a.c", 4, "#define A(b) \\\n    if (b) return"},
    {HOUSE_LAW_BLANKS, "actors/a.c", 3, "\tint a;"},
    {HOUSE_LAW_BLANKS, "actors/a.c", 4, "int a;\nint b; \nint c;"},
    {HOUSE_LAW_BLANKS, "actors/a.c", 3, "int a;\r"},
    {HOUSE_LAW_BLANKS, "actors/a.c", 3, "/* A. */\n/* B. */\nint a;"},
    {HOUSE_LAW_BLANKS, "actors/a.md", 2, "A.\nB. \n"},
    {HOUSE_LAW_BLANKS, "actors/run", 2, "#!/bin/sh\n\ttrue\n"},
    /* The last letter of each mark is an octal number, so that this file keeps the law. */
    {HOUSE_LAW_UNFINISHED, "plugins/a.c", 3, "int a; /* TOD\117: more */"},
    {HOUSE_LAW_UNFINISHED, "plugins/a.c", 3, "const char *a = \"Not Implemente\144\";"},
    {HOUSE_LAW_UNFINISHED, "plugins/a.c", 4, "\nint a; // FIXM\105"},
    {HOUSE_LAW_UNFINISHED, "plugins/a.md", 1, "This is a Stu\142.\n"},
    {HOUSE_LAW_UNFINISHED, "plugins/CMakeLists.txt", 2, "a()\n# XX\130\n"},
    {HOUSE_LAW_UNFINISHED, "plugins/a.sh", 1, "# HAC\113\n"},
    {HOUSE_LAW_TOP_LEVEL, "notes.md", 0, "A.\n"},
    {HOUSE_LAW_TOP_LEVEL, "docs/README.md", 0, "A.\n"},
};

static const struct planted no_violations[] = {
    {0, "runtime/a.c", 0, "/* #include \"b.h\" */\n//\n#include \"runtime/a.h\"\n"},
    {0, "runtime/a.c", 0, "const char *a = \"#include <zmq.h>\";"},
    {0, "runtime/a.c", 0, "#include <stdlib.h>\n#include <msgpack.h>\n#include HEADER_OF_THE_USER"},
    {0, "runtime/a.c", 0, "int a = b->free(1) + c.time(2);"},
    {0, "runtime/a.c", 0, "int tr_free(int); int free_count = my_malloc(sleep_ms);"},
    {0, "runtime/a.c", 0, "int time = clock + 1;"},
    {0, "runtime/a.c", 0, "char a = '\"'; /* a \" b */ char b = '\\''; // free(a)"},
    {0, "runtime/a.c", 0, "const char *a = \"\\\"malloc(1)\"; /* malloc(2) */ // malloc(3)"},
    {0, "deploy/a.c", 0, "if (b) {\n} else if (c) {\n} else {\n}\ndo {\n} while (d);"},
    {0, "deploy/a.c", 0, "#define A(b) \\\n    do { \\\n    } while (0)\n#if (A)\n#else\n#endif"},
    {0, "deploy/a.c", 0, "switch (a) {\n}\nfor (;;) {\n}\nwhile (b) {\n}"},
    {0, "schemas/a.h", 0, "/* A. */\n#ifndef TR_SCHEMAS_A_H\n#define TR_SCHEMAS_A_H\n#endif\n"},
    {0, "plugins/a.c", 0, "const char *a = \"XXXX\"; int stubborn; int TODO_LIST;"},
    {0, "plugins/a.go", 0, "\tanother language\t\n"},
    {0, ".hidden", 0, "\tanything\n"},
    {0, "build/dev/a.c", 0, "\tanything"},
    {0, "tests/unit/runtime/actor/a.c", 0, "int a;"},
};

static void plant(const struct planted *planted)
{
    bool whole = strncmp(planted->text, "/*", 2) == 0 ||
                 strcmp(planted->path + strlen(planted->path) - 2, ".c") != 0;
    (whole ? planted_write : planted_write_code)(planted->path, planted->text);
}

static void test_violations_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(violations); i++) {
        const struct planted *planted = &violations[i];
        plant(planted);
        char path[64];
        snprintf(path, sizeof(path), "%s", planted->path);
        if (planted->law == HOUSE_LAW_TOP_LEVEL && strchr(path, '/') != NULL) {
            *strchr(path, '/') = '\0';
        }
        planted_expect(planted->law, path, planted->line);
        planted_remove(planted->path);
    }
}

static void test_what_looks_like_a_violation_is_not_found(void **state)
{
    (void)state;
    planted_write("tests/unit/README.md", "A line.\n");
    for (size_t i = 0; i < COUNT(no_violations); i++) {
        plant(&no_violations[i]);
        planted_expect_none();
        planted_remove(no_violations[i].path);
    }
}

/* ---- Directions: said here once more, so that a slip in the table of laws shows. ------------- */

static const struct {
    const char *folder;
    const char *may;
    const char *may_not;
} directions[] = {
    {"schemas", "schemas/a.h", "runtime/troupe.h"},
    {"runtime", "runtime/a/b.h", "actors/a.h"},
    {"schemas/codec", "schemas/codec/a.h", "schemas/runtime/a.h"},
    {"schemas/codec", "schemas/codec/a.h", "schemas/engine/a.h"},
    {"schemas/runtime", "schemas/codec/a.h", "schemas/engine/a.h"},
    {"schemas/runtime", "schemas/runtime/a.h", "schemas/a.h"},
    {"schemas/engine", "schemas/runtime/a.h", "schemas/a.h"},
    {"runtime", "schemas/codec/value.h", "schemas/engine/flow.h"},
    {"runtime", "schemas/runtime/control.h", "schemas/engine/plugin.h"},
    {"runtime/env", "runtime/link/zmq.h", "runtime/process/keeper.h"},
    {"runtime/blob", "runtime/env/env_limits.h", "runtime/process/keeper_limits.h"},
    {"runtime/secret", "runtime/blob/below.h", "runtime/process/attempt_limits.h"},
    {"runtime/process", "runtime/secret/secret.h", "runtime/host/host.h"},
    {"runtime/http", "runtime/secret/secret.h", "runtime/process/attempt_limits.h"},
    {"runtime/link", "runtime/border/directory.h", "runtime/border/border.h"},
    {"runtime/link", "runtime/link/link.h", "tests/support/test.h"},
    {"runtime/tap", "runtime/host/control.h", "runtime/host/worker.h"},
    {"runtime/journal", "runtime/actor/actor.h", "runtime/actor/worker.h"},
    {"runtime/border", "runtime/actor/deliver.h", "runtime/host/host.h"},
    {"runtime/actor", "runtime/tap/port.h", "runtime/host/worker.h"},
    {"runtime/move", "runtime/host/worker.h", "runtime/host/host.h"},
    {"runtime/host", "runtime/process/keeper_client.h", "actors/task.h"},
    {"actors", "runtime/troupe.h", "runtime/actor/mailbox.h"},
    {"actors", "schemas/engine/flow.h", "plugins/sdk/plugin.h"},
    {"actors/graph", "actors/task.h", "deploy/a.h"},
    {"plugins", "runtime/limits.h", "runtime/env/env.h"},
    {"plugins", "plugins/sdk/plugin.h", "actors/task.h"},
    {"plugins", "schemas/engine/plugin.h", "deploy/config.h"},
    {"plugins/sdk", "plugins/sdk/plugin.h", "plugins/builtin/registry.h"},
    {"plugins/process", "plugins/process/process.h", "plugins/http/http.h"},
    {"plugins/http", "plugins/sdk/json.h", "plugins/builtin/registry.h"},
    {"plugins/armada", "plugins/armada/armada.h", "plugins/process/process.h"},
    {"plugins/builtin", "plugins/armada/armada.h", "plugins/armada/job.h"},
    {"deploy", "runtime/env/env.h", "tests/sim/sim.h"},
    {"deploy", "plugins/sdk/plugin.h", "examples/a.h"},
    {"examples/actors", "runtime/memory.h", "runtime/host/host.h"},
    {"examples/actors", "plugins/sdk/plugin.h", "actors/task.h"},
    {"examples", "runtime/troupe.h", "runtime/actor/actor.h"},
};

static void test_includes_point_downward(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(directions); i++) {
        char path[64];
        char code[128];
        snprintf(path, sizeof(path), "%s/README.md", directions[i].folder);
        planted_write(path, "A line.\n");
        snprintf(path, sizeof(path), "%s/planted.c", directions[i].folder);
        snprintf(code, sizeof(code), "#include \"%s\"\n#include \"%s\"", directions[i].may,
                 directions[i].may_not);
        planted_write_code(path, code);
        planted_expect(HOUSE_LAW_INCLUDE, path, 4);
        planted_remove(path);
    }
}

/* A room whose row is forgotten here would be a wall that nobody has seen hold. */
static void test_every_room_has_a_wall(void **state)
{
    (void)state;
    for (size_t i = 0; i < house_include_law_count; i++) {
        const char *folder = house_include_laws[i].folder;
        bool is_tried = strcmp(folder, "tests") == 0;
        for (size_t j = 0; j < COUNT(directions); j++) {
            is_tried = is_tried || strcmp(directions[j].folder, folder) == 0;
        }
        if (!is_tried) {
            fail_msg("no include into %s/ was tried", folder);
        }
    }
}

static void test_tests_may_include_everything(void **state)
{
    (void)state;
    planted_write_code("tests/a.c", "#include \"schemas/a.h\"\n#include \"runtime/actor/a.h\"\n"
                                    "#include \"actors/a.h\"\n#include \"plugins/a.h\"\n"
                                    "#include \"deploy/a.h\"\n#include \"tests/sim/a.h\"");
    planted_expect_none();
}

/* ---- Bans, word by word. -------------------------------------------------------------------- */

/* What the pattern stands for: its stars become `filling`. */
static void fill(const char *pattern, const char *filling, char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    for (; *pattern != '\0' && length + 1 < size; pattern++) {
        int written = *pattern == '*' ? snprintf(out + length, size - length, "%s", filling)
                                      : snprintf(out + length, size - length, "%c", *pattern);
        length += (size_t)written;
    }
}

/* One line of code that does what the ban forbids. */
static void use_word(enum house_ban_form form, const char *word, char *out, size_t size)
{
    switch (form) {
    case HOUSE_BAN_CALL:
        snprintf(out, size, "int a = 1 + %s (2);", word);
        break;
    case HOUSE_BAN_WORD:
        snprintf(out, size, "int %s;", word);
        break;
    case HOUSE_BAN_HEADER:
        snprintf(out, size, "#include <%s>", word);
        break;
    }
}

static void try_word(const struct house_ban *ban, const char *word)
{
    char use[128];
    char harmless[512];
    use_word(ban->form, word, use, sizeof(use));
    planted_write_code("deploy/planted.c", use);
    planted_expect(HOUSE_LAW_BAN, "deploy/planted.c", 3);
    snprintf(harmless, sizeof(harmless), "/* %s */ // %s\nchar a[] = \"%s %s(1)\";", use, use, word,
             word);
    planted_write_code("deploy/planted.c", harmless);
    planted_expect_none();
    planted_remove("deploy/planted.c");
    for (size_t i = 0; i < COUNT(ban->except) && ban->except[i] != NULL; i++) {
        char path[128];
        bool named = strstr(ban->except[i], "*.c") != NULL;
        fill(ban->except[i], named ? "_a" : "a.c", path, sizeof(path));
        planted_write_code(path, use);
        planted_expect_none();
        planted_remove(path);
    }
}

static void test_banned_words_are_found_outside_their_files(void **state)
{
    (void)state;
    planted_write("runtime/link/README.md", "A line.\n");
    planted_write("runtime/tap/README.md", "A line.\n");
    planted_write("runtime/env/README.md", "A line.\n");
    planted_write("runtime/http/README.md", "A line.\n");
    planted_write("runtime/process/README.md", "A line.\n");
    planted_write("runtime/journal/README.md", "A line.\n");
    planted_write("plugins/builtin/README.md", "A line.\n");
    planted_write("actors/graph/README.md", "A line.\n");
    for (size_t i = 0; i < house_ban_count; i++) {
        const struct house_ban *ban = &house_bans[i];
        for (size_t j = 0; j < COUNT(ban->words) && ban->words[j] != NULL; j++) {
            char word[64];
            fill(ban->words[j], "x", word, sizeof(word));
            try_word(ban, word);
        }
    }
}

/* The table has a row for each ban that the architecture names. */
static void test_no_ban_is_forgotten(void **state)
{
    (void)state;
    static const struct planted uses[] = {
        {0, "runtime/actor.c", 3, "void *a = zmq_ctx_new();"},
        {0, "runtime/link.c", 3, "#include <zmq.h>"},
        {0, "runtime/host.c", 3, "#include <czmq.h>"},
        {0, "plugins/call.c", 3, "#include <curl/curl.h>"},
        {0, "plugins/call.c", 3, "void *a = curl_easy_init();"},
        {0, "runtime/store.c", 3, "#include <sqlite3.h>"},
        {0, "deploy/list.c", 3, "int a = sqlite3_step(b);"},
        {0, "actors/task.c", 3, "#include <protobuf-c/protobuf-c.h>"},
        {0, "actors/a.c", 3, "#include <flyteidl/types.pb-c.h>"},
        {0, "runtime/page.c", 3, "void *a = malloc(1);"},
        {0, "schemas/codec.c", 3, "void *a = calloc(1, 1);"},
        {0, "actors/task.c", 3, "void *a = realloc(b, 1);"},
        {0, "plugins/task.c", 3, "void a(void) { free(b); }"},
        {0, "examples/task.c", 3, "char *a = strdup(b);"},
        {0, "tests/a.c", 3, "int a = sleep(1);"},
        {0, "tests/a.c", 3, "int a = usleep(1);"},
        {0, "tests/a.c", 3, "int a = sprintf(b, c);"},
        {0, "runtime/a.c", 3, "char *a = strcpy(b, c);"},
        {0, "runtime/a.c", 3, "char *a = strcat(b, c);"},
        {0, "runtime/a.c", 3, "int a = clock_gettime(b, c);"},
        {0, "deploy/a.c", 3, "long a = time(NULL);"},
        {0, "actors/a.c", 3, "int a = rand();"},
        {0, "runtime/a.c", 3, "int a = getrandom(b, c, d);"},
    };
    for (size_t i = 0; i < COUNT(uses); i++) {
        plant(&uses[i]);
        planted_expect(HOUSE_LAW_BAN, uses[i].path, uses[i].line);
        planted_remove(uses[i].path);
    }
}

static void test_a_library_has_one_reader(void **state)
{
    (void)state;
    for (size_t i = 0; i < house_reader_count; i++) {
        char code[64];
        snprintf(code, sizeof(code), "#include <%s>", house_readers[i].header);
        planted_write_code("runtime/first.c", code);
        planted_write_code("tests/second.c", code);
        planted_expect_none();
        planted_write_code("schemas/third.c", code);
        planted_expect(HOUSE_LAW_READER, "schemas/third.c", 3);
        planted_remove("runtime/first.c");
        planted_remove("tests/second.c");
        planted_remove("schemas/third.c");
    }
}

/* ---- Sizes: the limit itself is allowed, one more is not. ----------------------------------- */

/* `count` times `line`, between `before` and `after`. */
static const char *repeated(const char *before, size_t count, const char *line, const char *after)
{
    static char text[65536];
    size_t length = (size_t)snprintf(text, sizeof(text), "%s", before);
    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s", line);
    }
    snprintf(text + length, sizeof(text) - length, "%s", after);
    return text;
}

static void test_files_have_a_size(void **state)
{
    (void)state;
    const char *path = "runtime/a.c";
    planted_write(path, repeated("/* A. */\n/* B. */\n", HOUSE_FILE_LINES_MAX - 2, "int a;\n", ""));
    planted_expect_none();
    planted_write(path, repeated("/* A. */\n/* B. */\n", HOUSE_FILE_LINES_MAX - 1, "int a;\n", ""));
    planted_expect(HOUSE_LAW_FILE_SIZE, path, HOUSE_FILE_LINES_MAX + 1);
    planted_write("runtime/a.md", repeated("", HOUSE_FILE_LINES_MAX + 1, "A.\n", ""));
    planted_write(path, "/* A. */\n/* B. */\n");
    planted_expect_none();
}

static void test_functions_have_a_size(void **state)
{
    (void)state;
    static const char *const signatures[] = {"int a(void)\n{\n", "int a(void) {\n"};
    const size_t opened_at[] = {4, 3};
    const char *path = "runtime/a.c";
    for (size_t i = 0; i < COUNT(signatures); i++) {
        const char *code = repeated(signatures[i], HOUSE_FUNCTION_LINES_MAX, "    a();\n", "}");
        planted_write_code(path, code);
        planted_expect_none();
        code = repeated(signatures[i], HOUSE_FUNCTION_LINES_MAX + 1, "    a();\n", "}");
        planted_write_code(path, code);
        planted_expect(HOUSE_LAW_FUNCTION, path, opened_at[i]);
    }
    const char *table = "static const int a[(2)] = {\n";
    planted_write_code(path, repeated(table, HOUSE_FUNCTION_LINES_MAX + 1, "    1,\n", "};"));
    planted_expect_none();
    planted_write_code(path,
                       repeated("enum a {\n", HOUSE_FUNCTION_LINES_MAX + 1, "    B,\n", "};"));
    planted_expect_none();
}

static void test_lines_have_a_width(void **state)
{
    (void)state;
    const char *path = "runtime/a.c";
    planted_write_code(path, repeated("//", HOUSE_LINE_COLUMNS_MAX - 2, "ö", ""));
    planted_expect_none();
    planted_write_code(path, repeated("//", HOUSE_LINE_COLUMNS_MAX - 1, "ö", ""));
    planted_expect(HOUSE_LAW_WIDTH, path, 3);
    planted_remove(path);
    planted_write("deploy/run", repeated("#!/bin/sh\n", HOUSE_LINE_COLUMNS_MAX + 1, "a", "\n"));
    planted_expect(HOUSE_LAW_WIDTH, "deploy/run", 2);
    planted_remove("deploy/run");
    planted_write("deploy/a.md", repeated("", HOUSE_LINE_COLUMNS_MAX + 1, "a", "\n"));
    planted_expect_none();
}

/* ---- What only the tree shows. -------------------------------------------------------------- */

static void test_each_folder_has_a_readme(void **state)
{
    (void)state;
    planted_remove("schemas/README.md");
    planted_write_code("schemas/a.c", "int a;");
    planted_expect(HOUSE_LAW_README, "schemas", 0);
    planted_write("schemas/README.md", "A line.\n");
    planted_write_code("runtime/actor/a.c", "int a;");
    planted_expect(HOUSE_LAW_README, "runtime/actor", 0);
    planted_write("runtime/actor/README.md", "A line.\n");
    planted_write_code("runtime/actor/deeper/a.c", "int a;");
    planted_expect_none();
}

static void test_nothing_is_missing_at_the_top(void **state)
{
    (void)state;
    for (size_t i = 0; house_folders[i] != NULL; i++) {
        planted_rename(house_folders[i], ".away");
        planted_expect(HOUSE_LAW_TOP_LEVEL, house_folders[i], 0);
        planted_rename(".away", house_folders[i]);
    }
    for (size_t i = 0; house_top_level[i] != NULL; i++) {
        planted_rename(house_top_level[i], ".away");
        planted_expect(HOUSE_LAW_TOP_LEVEL, house_top_level[i], 0);
        planted_rename(".away", house_top_level[i]);
    }
}

/* Runs last: a law that no test has seen trip is no law. */
static void test_every_law_has_tripped(void **state)
{
    (void)state;
    for (size_t law = 0; law < HOUSE_LAW_COUNT; law++) {
        assert_non_null(house_law_names[law]);
        if (planted_seen((enum house_law)law) == 0) {
            fail_msg("the law `%s` has never tripped", house_law_names[law]);
        }
    }
}

#define IN_PLANTED_TREE(test) cmocka_unit_test_setup_teardown(test, planted_setup, planted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLANTED_TREE(test_violations_are_found),
        IN_PLANTED_TREE(test_what_looks_like_a_violation_is_not_found),
        IN_PLANTED_TREE(test_includes_point_downward),
        IN_PLANTED_TREE(test_every_room_has_a_wall),
        IN_PLANTED_TREE(test_tests_may_include_everything),
        IN_PLANTED_TREE(test_banned_words_are_found_outside_their_files),
        IN_PLANTED_TREE(test_no_ban_is_forgotten),
        IN_PLANTED_TREE(test_a_library_has_one_reader),
        IN_PLANTED_TREE(test_files_have_a_size),
        IN_PLANTED_TREE(test_functions_have_a_size),
        IN_PLANTED_TREE(test_lines_have_a_width),
        IN_PLANTED_TREE(test_each_folder_has_a_readme),
        IN_PLANTED_TREE(test_nothing_is_missing_at_the_top),
        cmocka_unit_test(test_every_law_has_tripped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
