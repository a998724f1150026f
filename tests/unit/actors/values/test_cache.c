/*
 * Keys of the cache: what is another key, where its document lies, and in what two differ.
 */
#include "actors/values/cache.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/value/slot.h"
#include "schemas/codec/error.h"
#include "schemas/engine/flow.h"
#include "tests/support/test.h"

/* One task as it is looked for: with its version, its interface and two inputs. */
struct wish {
    const char *version; /* NULL: v1 */
    bool is_float;       /* its one output, else an int */
    int a;
    int b;
    bool ignores_b;
    uint32_t more;         /* inputs beside a and b, all of them 0 */
    const char *signature; /* of a task of Flyte's, whose inputs are called 1 and 2; or NULL */
};

#define INPUTS_MAX 80

static const struct tr_type int_type = {.kind = TR_TYPE_INT};
static const struct tr_type float_type = {.kind = TR_TYPE_FLOAT};
static const uint32_t second = 1;

static char names[INPUTS_MAX][12]; /* "n" and a u32 */
static struct tr_variable inputs[INPUTS_MAX];
static struct tr_variable output;
static struct tr_task task;
static struct tr_settings settings;
static struct tr_graph graph;

static void make(const struct wish *wish)
{
    memset(&task, 0, sizeof task);
    memset(&settings, 0, sizeof settings);
    graph = (struct tr_graph){.project = tr_text_of("demo"), .domain = tr_text_of("dev")};
    for (uint32_t i = 0; i < 2 + wish->more; i++) {
        snprintf(names[i], sizeof names[i], "%c", (int)((wish->signature != NULL ? '1' : 'a') + i));
        if (i >= 2) {
            snprintf(names[i], sizeof names[i], "n%u", i);
        }
        inputs[i] = (struct tr_variable){.name = tr_text_of(names[i]), .type = &int_type};
    }
    output = (struct tr_variable){
        .name = tr_text_of("y"),
        .type = wish->is_float ? &float_type : &int_type,
    };
    task.name = tr_text_of("clean");
    task.interface.inputs = (struct tr_variables){.items = inputs, .count = 2 + wish->more};
    task.interface.outputs = (struct tr_variables){.items = &output, .count = 1};
    settings.cache.version = tr_text_of(wish->version == NULL ? "v1" : wish->version);
    settings.cache.signature = tr_text_of(wish->signature != NULL ? wish->signature : "");
    settings.cache.ignored = &second;
    settings.cache.ignored_count = wish->ignores_b ? 1 : 0;
}

/* A subject and the memory of its parts. */
struct made {
    struct tr_cache_subject subject;
    uint8_t key[TR_CACHE_KEY_BYTES];
    struct tr_buffer task;
    struct tr_buffer inputs;
};

static void subject_of(struct wish wish, struct made *made)
{
    struct tr_buffer slots;
    struct tr_buffer digests;
    make(&wish);
    tr_buffer_init(&slots, 0);
    tr_buffer_init(&digests, 0);
    tr_buffer_init(&made->task, 0);
    tr_buffer_init(&made->inputs, 0);
    tr_buffer_array(&slots, (wish.ignores_b ? 1 : 2) + wish.more);
    tr_buffer_i64(&slots, wish.a);
    if (!wish.ignores_b) {
        tr_buffer_i64(&slots, wish.b);
    }
    for (uint32_t i = 0; i < wish.more; i++) {
        tr_buffer_i64(&slots, i + 1 == wish.more ? wish.b : 0);
    }
    assert_int_equal(tr_cache_key(&graph, &task, &settings, tr_buffer_bytes(&slots),
                                  wish.signature != NULL, made->key, &digests),
                     0);
    assert_int_equal(tr_cache_write_task(&graph, &task, &made->task), 0);
    assert_int_equal(
        tr_cache_write_inputs(&task, &settings, tr_buffer_bytes(&digests), &made->inputs), 0);
    made->subject = (struct tr_cache_subject){
        .key = {.data = made->key, .size = sizeof made->key},
        .task = tr_buffer_text(&made->task),
        .version = settings.cache.version,
        .inputs = tr_buffer_bytes(&made->inputs),
    };
    tr_buffer_fini(&digests);
    tr_buffer_fini(&slots);
}

static void made_fini(struct made *made)
{
    tr_buffer_fini(&made->inputs);
    tr_buffer_fini(&made->task);
}

static char differing[256];

static void take(void *self, struct tr_text input)
{
    size_t size = strlen(differing);
    (void)self;
    snprintf(differing + size, sizeof differing - size, "%.*s;", (int)input.size, input.data);
}

/* In what the second differs from the first: the version, the interface, and inputs. */
static void expect(struct wish wanted, struct wish entry, bool version, bool interface,
                   const char *expected)
{
    struct made one;
    struct made other;
    struct tr_cache_difference difference;
    subject_of(wanted, &one);
    subject_of(entry, &other);
    differing[0] = '\0';
    assert_int_equal(tr_cache_compare(&one.subject, &other.subject, take, NULL, &difference), 0);
    assert_int_equal(difference.has_version, version);
    assert_int_equal(difference.has_interface, interface);
    assert_string_equal(differing, expected);
    bool is_same = !version && !interface && expected[0] == '\0';
    assert_int_equal(memcmp(one.key, other.key, sizeof one.key) == 0, is_same);
    made_fini(&one);
    made_fini(&other);
}

#define WISH(...) ((struct wish){__VA_ARGS__})

static void test_what_differs(void **state)
{
    (void)state;
    expect(WISH(.a = 0), WISH(.a = 0), false, false, "");
    expect(WISH(.a = 0), WISH(.b = 3), false, false, "b;");
    expect(WISH(.a = 0), WISH(.a = 2, .b = 1), false, false, "a;b;");
    expect(WISH(.a = 0), WISH(.version = "v2"), true, false, "");
    expect(WISH(.a = 0), WISH(.version = "v2", .a = 2), true, false, "a;");
    expect(WISH(.a = 0), WISH(.is_float = true), false, true, "");
    expect(WISH(.a = 0), WISH(.ignores_b = true, .b = 7), false, false, "b;");
    expect(WISH(.ignores_b = true), WISH(.ignores_b = true, .b = 7), false, false, "");
    expect(WISH(.a = 0), WISH(.more = 1), false, true, "n2;");
    /* Of very many inputs only the first ones are told apart. */
    expect(WISH(.more = 78), WISH(.more = 78, .b = 3), false, false, "b;");
    expect(WISH(.more = 78, .ignores_b = true), WISH(.more = 78, .ignores_b = true, .b = 3), false,
           false, ";");
}

/* What was made of the same inputs lies in one folder; names have the three parts of the key. */
static void test_where_documents_lie(void **state)
{
    (void)state;
    struct made one;
    struct made other;
    char path[TR_CACHE_PATH_BYTES];
    char other_path[TR_CACHE_PATH_BYTES];
    subject_of(WISH(.a = 0), &one);
    subject_of(WISH(.version = "v2"), &other);
    tr_cache_path(one.subject.key, path);
    tr_cache_path(other.subject.key, other_path);
    assert_int_equal(strlen(path), TR_CACHE_PATH_BYTES - 1);
    assert_memory_equal(path + 6, path + 9, 2);
    assert_memory_equal(path, other_path, 9 + 32 + 1 + 16 + 1);
    assert_string_not_equal(path, other_path);
    made_fini(&one);
    made_fini(&other);
}

static void test_documents(void **state)
{
    (void)state;
    struct made made;
    struct tr_buffer buffer;
    struct tr_cache_document read;
    subject_of(WISH(.a = 0), &made);
    const struct tr_cache_document document = {.subject = made.subject,
                                               .execution = tr_text_of("demo/dev/first"),
                                               .path = tr_text_of("n"),
                                               .element = TR_ELEMENT_NONE,
                                               .made_ms = 5,
                                               .outputs = {(const uint8_t *)"\x91\x01", 2}};
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_cache_document_write(&document, &buffer), 0);
    assert_int_equal(tr_cache_document_read(tr_buffer_bytes(&buffer), &read), 0);
    assert_true(tr_text_equal(read.subject.task, tr_text_of("demo/dev/clean")));
    assert_true(tr_text_equal(read.execution, document.execution));
    assert_true(read.element == TR_ELEMENT_NONE && read.made_ms == 5 && read.outputs.size == 2);
    struct tr_bytes cut = tr_buffer_bytes(&buffer);
    cut.size--;
    assert_int_equal(tr_cache_document_read(cut, &read), TR_MALFORMED);
    buffer.data[1] = 2;
    assert_int_equal(tr_cache_document_read(tr_buffer_bytes(&buffer), &read), TR_VERSION);
    tr_buffer_fini(&buffer);
    made_fini(&made);
}

/* Keys of tasks of the language stay: what was found under them before is found today. */
static void test_keys_stay(void **state)
{
    (void)state;
    struct made made;
    char path[TR_CACHE_PATH_BYTES];
    subject_of((struct wish){.a = 1, .b = 2}, &made);
    tr_cache_path(made.subject.key, path);
    assert_string_equal(
        path, "cache/f3/f30d7cd2485f8205f1459c7a259121a5-f185c5f6573fe062-40a8ece936032a86");
    made_fini(&made);
}

static void expect_beginning(const uint8_t *bytes, size_t size, const uint8_t *whole)
{
    assert_memory_equal(bytes, whole, size);
}

/* Vectors of datacatalog's: a map of two literals, and a version with an interface. */
static void test_keys_of_flytes_tasks(void **state)
{
    (void)state;
    static const char tag[] = "GQid5LjHbakcW68DS3P2jp80QLbiF0olFHF2hTh5bg8";
    static const char dataset[] = "1.0.0-UxVtPm0k-GKw-c0Pw";
    uint8_t hash[crypto_hash_sha256_BYTES];
    struct made made;
    struct wish wish = {.version = "1.0.0", .a = 1, .b = 2, .signature = "UxVtPm0k-GKw-c0Pw"};
    subject_of(wish, &made);
    assert_int_equal(sodium_base642bin(hash, sizeof hash, tag, sizeof tag - 1, NULL, NULL, NULL,
                                       sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                     0);
    expect_beginning(made.key, TR_CACHE_INPUTS_BYTES, hash);
    crypto_hash_sha256(hash, (const uint8_t *)dataset, sizeof dataset - 1);
    expect_beginning(made.key + TR_CACHE_INPUTS_BYTES + TR_CACHE_TASK_BYTES, TR_CACHE_VERSION_BYTES,
                     hash);
    made_fini(&made);
    wish.version = " 1.0.0 ";
    subject_of(wish, &made);
    expect_beginning(made.key + TR_CACHE_INPUTS_BYTES + TR_CACHE_TASK_BYTES, TR_CACHE_VERSION_BYTES,
                     hash);
    made_fini(&made);
}

static void test_differences_of_flytes_keys(void **state)
{
    (void)state;
    static const char signature[] = "UxVtPm0k-GKw-c0Pw";
    const struct wish one = {.a = 1, .b = 2, .signature = signature};
    expect(one, one, false, false, "");
    expect(one, (struct wish){.a = 1, .b = 3, .signature = signature}, false, false, "2;");
    expect(one, (struct wish){.a = 1, .b = 2, .signature = "UxVtPm0k-UxVtPm0k"}, false, true, "");
    expect((struct wish){.a = 1, .b = 2, .ignores_b = true, .signature = signature},
           (struct wish){.a = 1, .b = 3, .ignores_b = true, .signature = signature}, false, false,
           "");
}

/* Whether Flyte's form is taken: of small inputs that are here. */
static void test_what_is_hashed_as_flyte_does(void **state)
{
    (void)state;
    static char large[TR_CACHE_FLYTE_BYTES_MAX];
    const struct wish wish = {.signature = "x"};
    struct tr_buffer slots;
    make(&wish);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 2);
    tr_buffer_i64(&slots, 1);
    tr_slot_write_offloaded(&slots, &(struct tr_offloaded){.uri = tr_text_of("/x")});
    assert_false(tr_cache_is_flytes(&settings, tr_buffer_bytes(&slots)));
    settings.cache.ignored_count = 1;
    assert_true(tr_cache_is_flytes(&settings, tr_buffer_bytes(&slots)));
    settings.cache.signature = tr_text_of("");
    assert_false(tr_cache_is_flytes(&settings, tr_buffer_bytes(&slots)));
    settings.cache.signature = tr_text_of("x");
    tr_buffer_cut(&slots, 0);
    tr_buffer_array(&slots, 1);
    memset(large, 'x', sizeof large);
    tr_buffer_text_value(&slots, (struct tr_text){.data = large, .size = sizeof large});
    assert_false(tr_cache_is_flytes(&settings, tr_buffer_bytes(&slots)));
    tr_buffer_fini(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_stay),
        cmocka_unit_test(test_keys_of_flytes_tasks),
        cmocka_unit_test(test_differences_of_flytes_keys),
        cmocka_unit_test(test_what_is_hashed_as_flyte_does),
        cmocka_unit_test(test_what_differs),
        cmocka_unit_test(test_where_documents_lie),
        cmocka_unit_test(test_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
