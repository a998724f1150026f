/*
 * The folder of outputs. The engine reads a document of them and of an error; files are named in
 * there where they are, and it takes them as it takes those of any task.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/json.h"
#include "deploy/common/document.h"
#include "deploy/common/file.h"
#include "deploy/copilot/copilot.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

void tr_copilot_fail(const char *code, const char *message)
{
    const char *path = getenv("TROUPE_ERROR");
    FILE *file = path == NULL ? NULL : fopen(path, "we");
    struct tr_document document;
    if (file == NULL) {
        return;
    }
    tr_document_init(&document, file, TR_OUTPUT_JSON);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "code", tr_text_of(code));
    tr_document_text(&document, "message", tr_text_of(message));
    tr_document_end(&document);
    tr_document_fini(&document);
    (void)fclose(file);
}

static int refuse(struct tr_copilot *copilot, const char *code)
{
    tr_copilot_fail(code, copilot->words);
    return TR_INVALID;
}

static int refuse_output(struct tr_copilot *copilot, struct tr_text name, const char *what)
{
    snprintf(copilot->words, sizeof copilot->words, "the output '%.*s' %s: %.300s/%.*s",
             TRI_SHOWN(name), what, copilot->outputs.wanted, TRI_SHOWN(name));
    return refuse(copilot, "OutputsMalformed");
}

/* ------------------------------------------------------------------ _ERROR */

static int take_error(struct tr_copilot *copilot)
{
    char path[PATH_MAX + sizeof "/_ERROR"];
    char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/_ERROR", copilot->outputs.here);
    if (access(path, F_OK) != 0) {
        return 0;
    }
    int error = tr_file_read(path, TR_COPILOT_ERROR_BYTES_MAX, &text, &size);
    if (error != 0) {
        snprintf(copilot->words, sizeof copilot->words, "_ERROR cannot be read: %s",
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
        return refuse(copilot, "UserError");
    }
    char *message = tr_alloc(size + sizeof "User Error: ");
    if (message != NULL) {
        snprintf(message, size + sizeof "User Error: ", "User Error: %.*s", (int)size, text);
        snprintf(copilot->words, sizeof copilot->words, "%.1000s", message);
        tr_copilot_fail("UserError", message);
    }
    tr_free(message);
    tr_free(text);
    return TR_INVALID;
}

/* ------------------------------------------------------------------ values */

static bool is_type(struct tr_text type, const char *word)
{
    size_t size = strlen(word);
    bool is_begun = type.size >= size && memcmp(type.data, word, size) == 0;
    return is_begun && (type.size == size || type.data[size] == '(');
}

static struct tr_text trim(struct tr_text text)
{
    while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    return text;
}

/* The words that Go takes for a truth value. */
static bool read_bool(struct tr_text text, bool *value)
{
    static const char *const words[] = {"1", "t", "T", "true",  "True",  "TRUE",
                                        "0", "f", "F", "false", "False", "FALSE"};
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        if (tr_text_equal(text, tr_text_of(words[i]))) {
            *value = i < TR_COUNT_OF(words) / 2;
            return true;
        }
    }
    return false;
}

static bool write_number(struct tr_document *document, const char *name, bool is_int,
                         const char *text)
{
    char *end = NULL;
    char number[64];
    errno = 0;
    if (is_int) {
        long long value = strtoll(text, &end, 10);
        tr_document_number(document, name, value);
    } else {
        snprintf(number, sizeof number, "%.17g", strtod(text, &end));
        tr_document_json(document, name, tr_text_of(number));
    }
    return errno == 0 && end != text && *end == '\0';
}

static bool is_json(struct tr_text text)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, text);
    bool is_struct = tree != NULL && tree->kind == TR_TREE_MAP;
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return is_struct;
}

/* False: it is no value of the type. Texts stay as they are, all else without blanks at the end. */
static bool write_value(struct tr_document *document, const char *name, struct tr_text type,
                        const char *data, size_t size)
{
    struct tr_text whole = {.data = data, .size = size};
    struct tr_text text = trim(whole);
    char word[TR_COPILOT_VALUE_BYTES_MAX + 1];
    bool truth = false;
    snprintf(word, sizeof word, "%.*s", TRI_TEXT(text));
    if (is_type(type, "int") || is_type(type, "float")) {
        return write_number(document, name, is_type(type, "int"), word);
    }
    if (is_type(type, "bool")) {
        bool is_good = read_bool(text, &truth);
        tr_document_bool(document, name, truth);
        return is_good;
    }
    if (is_type(type, "struct")) {
        bool is_good = is_json(text);
        tr_document_json(document, name, is_good ? text : tr_text_of("{}"));
        return is_good;
    }
    tr_document_text(document, name, is_type(type, "string") ? whole : text);
    return true;
}

static int take_output(struct tr_copilot *copilot, struct tr_document *document,
                       struct tr_text name, struct tr_text type)
{
    char path[PATH_MAX];
    char key[256];
    struct stat status;
    char *text = NULL;
    size_t size = 0;
    snprintf(key, sizeof key, "%.*s", TRI_TEXT(name));
    int length = snprintf(path, sizeof path, "%s/%s", copilot->outputs.here, key);
    if (length < 0 || (size_t)length >= sizeof path || stat(path, &status) != 0) {
        return refuse_output(copilot, name, "is missing");
    }
    if (is_type(type, "file") || is_type(type, "directory")) {
        bool is_right = S_ISDIR(status.st_mode) == is_type(type, "directory");
        tr_document_text(document, key, tr_text_of(path));
        return is_right ? 0 : refuse_output(copilot, name, "is no file or folder as its type says");
    }
    if (!S_ISREG(status.st_mode)) {
        return refuse_output(copilot, name, "is no file");
    }
    if (status.st_size > TR_COPILOT_VALUE_BYTES_MAX) {
        return refuse_output(copilot, name,
                             "has more than 1024 bytes; make it an output of type file");
    }
    int error = tr_file_read(path, TR_COPILOT_VALUE_BYTES_MAX, &text, &size);
    if (error != 0) {
        return refuse_output(copilot, name, "cannot be read");
    }
    bool is_good = write_value(document, key, type, text, size);
    tr_free(text);
    return is_good ? 0 : refuse_output(copilot, name, "is no value of its type");
}

int tr_copilot_take_outputs(struct tr_copilot *copilot)
{
    const char *path = getenv("TROUPE_OUTPUTS");
    const char *list = copilot->output_types;
    struct tr_document document;
    struct tr_text name;
    struct tr_text type;
    int error = take_error(copilot);
    FILE *file = error != 0 || path == NULL ? NULL : fopen(path, "we");
    if (file == NULL) {
        return error != 0 ? error : TR_SYSTEM;
    }
    tr_document_init(&document, file, TR_OUTPUT_JSON);
    tr_document_begin_map(&document, NULL);
    while (error == 0 && tr_copilot_next(&list, &name, &type)) {
        error = take_output(copilot, &document, name, type);
    }
    tr_document_end(&document);
    tr_document_fini(&document);
    if (fclose(file) != 0 && error == 0) {
        error = TR_SYSTEM;
    }
    if (error != 0) {
        (void)unlink(path);
    }
    return error;
}
