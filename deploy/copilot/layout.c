/*
 * The folder of inputs. A value's file is what Flyte's co-pilot writes: numbers in their shortest
 * form, times as RFC 3339, durations as Go prints them, null for none, JSON of a struct; lists and
 * maps are folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/moment.h"
#include "deploy/common/document.h"
#include "deploy/common/file.h"
#include "deploy/copilot/copilot.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Bytes that are copied at once. */
#define COPY_BYTES (1U << 20)

static int fail(struct tr_copilot *copilot, const char *path, int error)
{
    if (copilot->words[0] == '\0') {
        snprintf(copilot->words, sizeof copilot->words, "%.900s: %s", path,
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

/* ------------------------------------------------------------------ files */

static int write_text(struct tr_copilot *copilot, const char *path, struct tr_text text)
{
    FILE *file = fopen(path, "we");
    bool is_good = file != NULL && fwrite(text.data, 1, text.size, file) == text.size;
    if (file != NULL) {
        is_good = fclose(file) == 0 && is_good;
    }
    return is_good ? 0 : fail(copilot, path, TR_SYSTEM);
}

static int copy_bytes(int from, int to)
{
    ssize_t count = 1;
    while (count > 0) {
        count = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0);
    }
    if (count < 0 &&
        (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
        static char bytes[COPY_BYTES];
        while ((count = read(from, bytes, sizeof bytes)) > 0) {
            if (write(to, bytes, (size_t)count) != count) {
                return TR_SYSTEM;
            }
        }
    }
    return count < 0 ? TR_SYSTEM : 0;
}

static int copy_file(const char *from, const char *to, mode_t mode)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target =
        source < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644 | (mode & 0111));
    int error = target < 0 ? TR_SYSTEM : copy_bytes(source, target);
    int number = errno;
    if (source >= 0) {
        (void)close(source);
    }
    if (target >= 0) {
        (void)close(target);
    }
    errno = number;
    return error;
}

/* A copy, since the program may write into it: a file, or a folder with all below it. */
static int copy_tree(struct tr_copilot *copilot, const char *from, const char *to)
{
    char root[PATH_MAX];
    char path[PATH_MAX];
    char *const roots[] = {root, NULL};
    if (realpath(from, root) == NULL) {
        return fail(copilot, from, TR_SYSTEM);
    }
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;
    int error = tree == NULL ? TR_SYSTEM : 0;
    while (error == 0 && (entry = fts_read(tree)) != NULL) {
        int size = snprintf(path, sizeof path, "%s%s", to, entry->fts_path + strlen(root));
        if (size < 0 || (size_t)size >= sizeof path) {
            error = TR_LIMIT;
        } else if (entry->fts_info == FTS_D) {
            error = mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : TR_SYSTEM;
        } else if (entry->fts_info == FTS_F) {
            error = copy_file(entry->fts_path, path, entry->fts_statp->st_mode);
        }
    }
    error = error == 0 ? 0 : fail(copilot, from, error);
    if (tree != NULL) {
        (void)fts_close(tree);
    }
    return error;
}

/* ------------------------------------------------------------------ values */

static void document_value(struct tr_document *document, const char *name,
                           const struct tr_tree *tree);

static const char *key_of(struct tr_arena *arena, struct tr_text text)
{
    const char *copy = tr_arena_print(arena, "%.*s", TRI_TEXT(text)).data;
    return copy == NULL ? "" : copy;
}

static void document_parts(struct tr_document *document, const char *name,
                           const struct tr_tree *tree)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    if (tree->kind == TR_TREE_LIST) {
        tr_document_begin_list(document, name);
    } else {
        tr_document_begin_map(document, name);
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->kind == TR_TREE_LIST) {
            document_value(document, NULL, tree->items[i]);
        } else {
            document_value(document, key_of(&arena, tree->pairs[i].key->text),
                           tree->pairs[i].value);
        }
    }
    tr_document_end(document);
    tr_arena_fini(&arena);
}

/* The depth of JSON that was read is bounded. */
static void document_value(struct tr_document *document, const char *name,
                           const struct tr_tree *tree)
{
    char number[512];
    switch (tree->kind) {
    case TR_TREE_INT:
        tr_document_number(document, name, tree->integer);
        break;
    case TR_TREE_FLOAT:
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(number, sizeof number, "%.*g", digits, tree->number);
            digits = strtod(number, NULL) == tree->number ? 17 : digits;
        }
        tr_document_json(document, name, tr_text_of(number));
        break;
    case TR_TREE_BOOL:
        tr_document_bool(document, name, tree->boolean);
        break;
    case TR_TREE_NULL:
        tr_document_null(document, name);
        break;
    case TR_TREE_LIST:
    case TR_TREE_MAP:
        document_parts(document, name, tree);
        break;
    default:
        tr_document_text(document, name, tree->text);
        break;
    }
}

/* Without an exponent, as few digits as tell it from its neighbours. */
static void print_float(double number, char text[512])
{
    if (!isfinite(number)) {
        snprintf(text, 512, "%s", isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (int digits = 0; digits < 400; digits++) {
        snprintf(text, 512, "%.*f", digits, number);
        if (strtod(text, NULL) == number) {
            return;
        }
    }
}

static int write_document(struct tr_copilot *copilot, const char *path, const struct tr_tree *tree,
                          enum tr_output output)
{
    struct tr_document document;
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return fail(copilot, path, TR_SYSTEM);
    }
    tr_document_init(&document, file, output);
    document_value(&document, NULL, tree);
    tr_document_fini(&document);
    return fclose(file) == 0 ? 0 : fail(copilot, path, TR_SYSTEM);
}

static int lay_out(struct tr_copilot *copilot, const char *path, struct tr_text type,
                   struct tr_tree *tree);

static bool is_type(struct tr_text type, const char *word)
{
    size_t size = strlen(word);
    bool is_begun = type.size >= size && memcmp(type.data, word, size) == 0;
    return is_begun && (type.size == size || type.data[size] == '(');
}

/* The type of the parts of a list or a map: what stands within its brackets. */
static struct tr_text part_of(struct tr_text type)
{
    bool has_brackets = type.size > 2 && (type.data[0] == '[' || type.data[0] == '{');
    return has_brackets ? (struct tr_text){.data = type.data + 1, .size = type.size - 2}
                        : tr_text_of("");
}

/* A struct is one file; a map, whose parts have types, a folder. */
static int lay_out_parts(struct tr_copilot *copilot, const char *path, struct tr_text type,
                         const struct tr_tree *tree)
{
    char name[32];
    int error = mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : fail(copilot, path, TR_SYSTEM);
    for (uint32_t i = 0; error == 0 && i < tree->count; i++) {
        char part[PATH_MAX];
        bool is_list = tree->kind == TR_TREE_LIST;
        snprintf(name, sizeof name, "%u", i);
        struct tr_text key = is_list ? tr_text_of(name) : tree->pairs[i].key->text;
        int size = snprintf(part, sizeof part, "%s/%.*s", path, TRI_TEXT(key));
        bool is_path = size > 0 && (size_t)size < sizeof part &&
                       memchr(key.data, '/', key.size) == NULL && key.size > 0 &&
                       !tr_text_equal(key, tr_text_of("..")) &&
                       !tr_text_equal(key, tr_text_of("."));
        struct tr_tree *value =
            is_list ? tree->items[i] : (struct tr_tree *)(uintptr_t)tree->pairs[i].value;
        error =
            is_path ? lay_out(copilot, part, part_of(type), value) : fail(copilot, path, TR_LIMIT);
    }
    return error;
}

/* A file's value becomes its place in the folder: that is what inputs.json says. */
static int lay_out_file(struct tr_copilot *copilot, const char *path, struct tr_tree *tree)
{
    char *from = tr_text_copy(tree->text);
    int error = from == NULL ? TR_MEMORY : copy_tree(copilot, from, path);
    tr_free(from);
    if (error == 0) {
        tree->text = tr_arena_text(&copilot->arena, tr_text_of(path));
        error = copilot->arena.error;
    }
    return error;
}

/* As Go prints it: from the largest unit that is not zero down to the seconds. */
static void print_duration(struct tr_text written, char text[512])
{
    int64_t ns = 0;
    snprintf(text, 512, "%.*s", TRI_SHOWN(written));
    if (!tr_duration_parse(written, &ns)) {
        return;
    }
    const char *sign = ns < 0 ? "-" : "";
    uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    double seconds = (double)(left % 60000000000U) / 1e9;
    uint64_t minutes = left / 60000000000U;
    if (left == 0) {
        snprintf(text, 512, "0s");
    } else if (left < 1000000) {
        snprintf(text, 512, "%s%.12g\302\265s", sign, (double)left / 1e3);
    } else if (left < 1000000000) {
        snprintf(text, 512, "%s%.12gms", sign, (double)left / 1e6);
    } else if (minutes == 0) {
        snprintf(text, 512, "%s%.12gs", sign, seconds);
    } else if (minutes < 60) {
        snprintf(text, 512, "%s%llum%.12gs", sign, (unsigned long long)minutes, seconds);
    } else {
        snprintf(text, 512, "%s%lluh%llum%.12gs", sign, (unsigned long long)(minutes / 60),
                 (unsigned long long)(minutes % 60), seconds);
    }
}

static int lay_out(struct tr_copilot *copilot, const char *path, struct tr_text type,
                   struct tr_tree *tree)
{
    char text[512] = "null";
    bool is_file = is_type(type, "file") || is_type(type, "directory");
    switch (tree->kind) {
    case TR_TREE_INT:
        snprintf(text, sizeof text, "%lld", (long long)tree->integer);
        break;
    case TR_TREE_FLOAT:
        print_float(tree->number, text);
        break;
    case TR_TREE_BOOL:
        snprintf(text, sizeof text, "%s", tree->boolean ? "true" : "false");
        break;
    case TR_TREE_NULL:
        break;
    case TR_TREE_LIST:
        return lay_out_parts(copilot, path, type, tree);
    case TR_TREE_MAP:
        return type.size > 0 && type.data[0] == '{'
                   ? lay_out_parts(copilot, path, type, tree)
                   : write_document(copilot, path, tree, TR_OUTPUT_JSON);
    default:
        if (is_type(type, "duration")) {
            print_duration(tree->text, text);
            break;
        }
        return is_file ? lay_out_file(copilot, path, tree) : write_text(copilot, path, tree->text);
    }
    return write_text(copilot, path, tr_text_of(text));
}

/* ------------------------------------------------------------------ all of it */

static int write_whole(struct tr_copilot *copilot, const struct tr_tree *inputs)
{
    char path[PATH_MAX + sizeof "/inputs.json"];
    bool is_json = strcmp(copilot->format, "json") == 0;
    bool is_yaml = strcmp(copilot->format, "yaml") == 0;
    snprintf(path, sizeof path, "%s/inputs.pb", copilot->inputs.here);
    if (copilot->document != NULL && copy_file(copilot->document, path, 0) != 0) {
        return fail(copilot, copilot->document, TR_SYSTEM);
    }
    snprintf(path, sizeof path, "%s/inputs.%s", copilot->inputs.here, copilot->format);
    return is_json   ? write_document(copilot, path, inputs, TR_OUTPUT_JSON)
           : is_yaml ? write_document(copilot, path, inputs, TR_OUTPUT_YAML)
                     : 0;
}

static int lay_out_all(struct tr_copilot *copilot, const struct tr_tree *inputs)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < inputs->count; i++) {
        char path[PATH_MAX];
        struct tr_text name = inputs->pairs[i].key->text;
        int size = snprintf(path, sizeof path, "%s/%.*s", copilot->inputs.here, TRI_TEXT(name));
        error = size < 0 || (size_t)size >= sizeof path
                    ? fail(copilot, copilot->inputs.here, TR_LIMIT)
                    : lay_out(copilot, path, tr_copilot_type(copilot->input_types, name),
                              (struct tr_tree *)(uintptr_t)inputs->pairs[i].value);
    }
    return error != 0 ? error : write_whole(copilot, inputs);
}

int tr_copilot_lay_out(struct tr_copilot *copilot)
{
    const char *path = getenv("TROUPE_INPUTS");
    struct tr_arena arena;
    struct tr_report report;
    char *text = NULL;
    size_t size = 0;
    int error = path == NULL ? TR_NOT_FOUND : tr_file_read(path, SIZE_MAX, &text, &size);
    if (error != 0) {
        return fail(copilot, path == NULL ? "TROUPE_INPUTS" : path, error);
    }
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *inputs =
        tr_json_read(&arena, &report, 0, (struct tr_text){.data = text, .size = size});
    error = inputs == NULL || inputs->kind != TR_TREE_MAP
                ? fail(copilot, path, arena.error != 0 ? arena.error : TR_MALFORMED)
                : lay_out_all(copilot, inputs);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    tr_free(text);
    return error;
}
