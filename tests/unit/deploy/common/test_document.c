/*
 * Documents: the same calls as JSON, which jansson reads, and as YAML, which libyaml reads.
 */
#include "deploy/common/document.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tests/support/test.h"

static char *written;
static size_t written_size;

static void write_sample(enum tr_output output)
{
    struct tr_document document;
    FILE *stream = open_memstream(&written, &written_size);
    assert_non_null(stream);
    tr_document_init(&document, stream, output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "name", tr_text_of("a \"b\"\n\xc3\xa4"));
    tr_document_text(&document, "no", tr_text_of(""));
    tr_document_number(&document, "count", -9007199254740993);
    tr_document_time(&document, "at", 1700000000250);
    tr_document_time(&document, "never", 0);
    tr_document_begin_list(&document, "items");
    tr_document_begin_map(&document, NULL);
    tr_document_bool(&document, "is it", true);
    tr_document_begin_list(&document, "empty");
    tr_document_end(&document);
    tr_document_end(&document);
    tr_document_begin_list(&document, NULL);
    tr_document_number(&document, NULL, 1);
    tr_document_begin_map(&document, NULL);
    tr_document_null(&document, "nothing");
    tr_document_end(&document);
    tr_document_end(&document);
    tr_document_begin_map(&document, NULL);
    tr_document_end(&document);
    tr_document_end(&document);
    tr_document_json(&document, "outputs", tr_text_of("{\"x\":[1,2]}"));
    tr_document_end(&document);
    tr_document_fini(&document);
    fclose(stream);
}

static const char expected[] =
    "{\"name\":\"a \\\"b\\\"\\n\xc3\xa4\",\"no\":\"\",\"count\":-9007199254740993,"
    "\"at\":\"2023-11-14T22:13:20.25Z\",\"never\":null,"
    "\"items\":[{\"is it\":true,\"empty\":[]},[1,{\"nothing\":null}],{}],"
    "\"outputs\":{\"x\":[1,2]}}\n";

static void test_json_is_one_line(void **state)
{
    (void)state;
    write_sample(TR_OUTPUT_JSON);
    assert_string_equal(written, expected);
    json_t *value = json_loads(written, 0, NULL);
    assert_non_null(value);
    json_decref(value);
    free(written);
}

/* Puts what libyaml makes of a node into JSON; names and scalars were JSON's. */
static void print_node(FILE *stream, yaml_document_t *document, int index)
{
    const yaml_node_t *node = yaml_document_get_node(document, index);
    if (node->type == YAML_SCALAR_NODE) {
        bool is_quoted = node->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
        json_t *text =
            json_stringn((const char *)node->data.scalar.value, node->data.scalar.length);
        char *quoted = json_dumps(text, JSON_ENCODE_ANY);
        fputs(is_quoted ? quoted : (const char *)node->data.scalar.value, stream);
        free(quoted);
        json_decref(text);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        fputc('[', stream);
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++) {
            fputs(item == node->data.sequence.items.start ? "" : ",", stream);
            print_node(stream, document, *item);
        }
        fputc(']', stream);
    } else {
        fputc('{', stream);
        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
            const yaml_node_t *key = yaml_document_get_node(document, pair->key);
            fprintf(stream, "%s\"%s\":", pair == node->data.mapping.pairs.start ? "" : ",",
                    (const char *)key->data.scalar.value);
            print_node(stream, document, pair->value);
        }
        fputc('}', stream);
    }
}

static void test_yaml_says_the_same(void **state)
{
    (void)state;
    yaml_parser_t parser;
    yaml_document_t document;
    char *read = NULL;
    size_t size;
    write_sample(TR_OUTPUT_YAML);
    assert_non_null(strstr(written, "\n\"no\": \"\"\n"));
    assert_int_equal(yaml_parser_initialize(&parser), 1);
    yaml_parser_set_input_string(&parser, (const unsigned char *)written, written_size);
    if (yaml_parser_load(&parser, &document) != 1) {
        fail_msg("%s at line %zu of:\n%s", parser.problem, parser.problem_mark.line, written);
    }
    FILE *stream = open_memstream(&read, &size);
    print_node(stream, &document, 1);
    fputc('\n', stream);
    fclose(stream);
    json_t *one = json_loads(read, 0, NULL);
    json_t *other = json_loads(expected, 0, NULL);
    if (!json_equal(one, other)) {
        fail_msg("%s is not %s", read, expected);
    }
    json_decref(one);
    json_decref(other);
    free(read);
    free(written);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_is_one_line),
        cmocka_unit_test(test_yaml_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
