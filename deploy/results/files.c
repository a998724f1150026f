/*
 * `troupe files`: the files that inputs and outputs of an execution, a node or an element name, and
 * decks of its attempts. What lies in a folder that a value names is named by it, too.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/listing.h"
#include "deploy/common/show.h"
#include "deploy/console/console.h"
#include "deploy/look/get_report.h"
#include "schemas/codec/error.h"
#include "schemas/engine/plugin.h"

/* Files of one folder that are looked at, in the order of their names as far as these are read. */
#define IN_FOLDER_MAX 1000

/* Digits of the digest that a blob's name begins with, and a dash. */
#define DIGEST_CHARACTERS 65

struct files {
    struct tr_listing *listing;
    uint64_t passed; /* of the first, which --offset leaves out */
    /* Whose files these are now. */
    const char *of;
    struct tr_text name;
    int64_t attempt; /* -1: of none */
};

/* ---------------------------------------------------------------------------- types */

/* Media types by what a name ends with; what is none of these may still be text. */
static const struct {
    const char *end;
    const char *type;
} media_types[] = {
    {"html", "text/html"},
    {"htm", "text/html"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"csv", "text/csv"},
    {"tsv", "text/tab-separated-values"},
    {"parquet", "application/vnd.apache.parquet"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"svg", "image/svg+xml"},
    {"pdf", "application/pdf"},
    {"txt", "text/plain"},
    {"log", "text/plain"},
    {"md", "text/markdown"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"xml", "application/xml"},
    {"gz", "application/gzip"},
    {"zip", "application/zip"},
};

static const char *type_of(const char *end, size_t size)
{
    for (size_t i = 0; i < TR_COUNT_OF(media_types); i++) {
        if (strlen(media_types[i].end) == size && strncasecmp(media_types[i].end, end, size) == 0) {
            return media_types[i].type;
        }
    }
    return NULL;
}

/* By its name, else by the format that its value has. */
static const char *media_type(const char *name, struct tr_text format)
{
    const char *dot = strrchr(name, '.');
    const char *type = dot == NULL ? NULL : type_of(dot + 1, strlen(dot + 1));
    type = type == NULL ? type_of(format.data, format.size) : type;
    return type == NULL ? "application/octet-stream" : type;
}

/* The last part of a path; of a blob what it was called before its digest named it. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    bool is_blob = strspn(name, "0123456789abcdef") == DIGEST_CHARACTERS - 1 &&
                   name[DIGEST_CHARACTERS - 1] == '-' && name[DIGEST_CHARACTERS] != '\0';
    return is_blob ? name + DIGEST_CHARACTERS : name;
}

/* ----------------------------------------------------------------------------- rows */

/* What is told of one. */
struct told {
    const char *path;
    const char *media_type;
    uint64_t size_bytes;
    const char *problem; /* why it cannot be had; NULL: it can */
    struct tr_buffer url;
};

static void write_map(struct files *files, const struct told *told)
{
    struct tr_document *document = &files->listing->document;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "of", tr_text_of(files->of));
    tr_document_text(document, "value", files->name);
    if (files->attempt < 0) {
        tr_document_null(document, "attempt");
    } else {
        tr_document_number(document, "attempt", files->attempt);
    }
    tr_document_text(document, "name", tr_text_of(name_of(told->path)));
    tr_document_text(document, "path", tr_text_of(told->path));
    tr_document_text(document, "media_type", tr_text_of(told->media_type));
    if (told->problem != NULL) {
        tr_document_null(document, "size_bytes");
        tr_document_text(document, "problem", tr_text_of(told->problem));
    } else {
        tr_document_number(document, "size_bytes", (int64_t)told->size_bytes);
        tr_document_null(document, "problem");
    }
    if (told->url.size > 0) {
        tr_document_text(document, "url", tr_buffer_text(&told->url));
    } else {
        tr_document_null(document, "url");
    }
    tr_document_end(document);
}

static void write_cells(struct files *files, const struct told *told)
{
    struct tr_table *table = &files->listing->table;
    tr_table_text(table, tr_text_of(files->of));
    if (files->attempt < 0) {
        tr_table_text(table, files->name);
    } else {
        tr_table_print(table, "attempt %lld", (long long)files->attempt);
    }
    tr_table_text(table, tr_text_of(told->media_type));
    if (told->problem == NULL) {
        tr_table_print(table, "%llu", (unsigned long long)told->size_bytes);
        tr_table_text(table, tr_text_of(told->path));
    } else {
        tr_table_text(table, tr_text_of("-"));
        tr_table_print(table, "%s: %s", told->path, told->problem);
    }
}

static void write(struct files *files, const struct told *told)
{
    if (files->listing->browse->invocation->output == TR_OUTPUT_NAME) {
        fprintf(tr_console_out(), "%s\n", told->path);
    } else if (tr_listing_has_document(files->listing)) {
        write_map(files, told);
    } else {
        write_cells(files, told);
    }
}

/* --------------------------------------------------------------------------- looking */

static const char *words_of(const char *path, int error)
{
    bool is_elsewhere = strstr(path, "://") != NULL;
    return error == TR_OUTSIDE  ? "it lies outside of the store, and is shown to who may register"
           : is_elsewhere       ? "it lies elsewhere, and is fetched from there"
           : error == TR_DENIED ? "it may not be read"
                                : "there is no such file, or not any more";
}

/* Whether it can be had: TR_NO_FILE is a folder. A client is told so much alone as is linked. */
static int look(struct told *told)
{
    const struct tr_console *console = tr_console();
    struct stat status;
    if (console != NULL && console->link != NULL) {
        struct tr_console_file file = {.path = told->path,
                                       .name = name_of(told->path),
                                       .media_type = told->media_type,
                                       .url = &told->url};
        int error = console->link(console->link_self, &file);
        told->size_bytes = file.size_bytes;
        return error;
    }
    if (stat(told->path, &status) != 0) {
        return errno == EACCES ? TR_DENIED : TR_NOT_FOUND;
    }
    told->size_bytes = (uint64_t)status.st_size;
    return S_ISREG(status.st_mode) ? 0 : S_ISDIR(status.st_mode) ? TR_NO_FILE : TR_NOT_FOUND;
}

static int take_folder(struct files *files, const char *path);

/* One file, or those in one folder; of a folder in it nothing. TR_CLOSED: no more are wanted. */
static int take_file(struct files *files, const char *path, struct tr_text format, bool is_inside)
{
    struct told told = {.path = path, .media_type = media_type(path, format)};
    tr_buffer_init(&told.url, 0);
    int found = look(&told);
    int error = 0;
    if (found == TR_MEMORY) {
        error = found;
    } else if (found == TR_NO_FILE) {
        error = is_inside ? 0 : take_folder(files, path);
    } else if (files->passed++ >= files->listing->offset) {
        told.problem = found == 0 ? NULL : words_of(path, found);
        error = tr_listing_takes(files->listing) ? 0 : TR_CLOSED;
        if (error == 0) {
            write(files, &told);
        }
    }
    tr_buffer_fini(&told.url);
    return error;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder but for hidden ones, as many as are looked at. */
static int read_names(struct files *files, const char *path, struct tr_arena *arena,
                      struct tri_vector *names)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && arena->error == 0 && (entry = readdir(folder)) != NULL) {
        if (names->count == IN_FOLDER_MAX) {
            files->listing->has_more = true;
            break;
        }
        const char **name =
            entry->d_name[0] == '.' ? NULL : tri_vector_add(arena, names, sizeof *name);
        if (name != NULL) {
            *name = tr_arena_print(arena, "%s", entry->d_name).data;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return arena->error;
}

static int take_folder(struct files *files, const char *path)
{
    char inside[PATH_MAX];
    struct tri_vector names = {.count = 0};
    struct tr_arena arena;
    tr_arena_init(&arena);
    int error = read_names(files, path, &arena, &names);
    const char **items = names.items;
    if (error == 0 && names.count > 0) {
        qsort(items, names.count, sizeof *items, by_name);
    }
    for (uint32_t i = 0; error == 0 && i < names.count; i++) {
        int size = snprintf(inside, sizeof inside, "%s/%s", path, items[i]);
        if (size > 0 && (size_t)size < sizeof inside) {
            error = take_file(files, inside, tr_text_of(""), true);
        }
    }
    tr_arena_fini(&arena);
    return error;
}

/* ---------------------------------------------------------------------------- values */

/* Looks at each path of a value; what it is written as anew is of no interest. */
static int take_path(void *self, const struct tr_type *type, struct tr_blob blob,
                     struct tr_buffer *buffer)
{
    char path[PATH_MAX];
    bool is_text = type == NULL || type->kind == TR_TYPE_STRUCT; /* which may be anything */
    bool has_room = blob.uri.size > 0 && blob.uri.size < sizeof path;
    tr_buffer_nil(buffer);
    if (is_text || !has_room) {
        return buffer->error;
    }
    memcpy(path, blob.uri.data, blob.uri.size);
    path[blob.uri.size] = '\0';
    struct tr_text format = blob.format.size > 0 ? blob.format : type->format;
    int error = take_file(self, path, format, false);
    return error != 0 ? error : buffer->error;
}

static int take_value(struct files *files, const struct tr_value *value)
{
    struct tr_value_bytes bytes;
    struct tr_buffer unused;
    if (!tr_type_may_hold_paths(value->type, TR_PATHS_ALL) || tr_value_open(value, &bytes) != 0) {
        return 0; /* a list that is not there any more has no files either */
    }
    tr_buffer_init(&unused, 0);
    files->name = value->name;
    int error =
        tr_literal_map_paths(bytes.type, bytes.literal, TR_PATHS_ALL, take_path, files, &unused);
    tr_buffer_fini(&unused);
    tr_value_close(&bytes);
    return error;
}

static int take_values(struct files *files, const char *of, const struct tr_values *values)
{
    int error = 0;
    files->of = of;
    for (uint32_t i = 0; error == 0 && i < values->count; i++) {
        error = take_value(files, &values->items[i]);
    }
    return error;
}

/* Flyte's SDKs leave a page about an attempt in its folder. */
static int take_decks(struct files *files, const struct tr_get_report *report)
{
    const struct tr_attempt *attempts = report->attempts.items;
    char path[PATH_MAX];
    struct stat status;
    int error = 0;
    files->of = "deck";
    files->name = tr_text_of("");
    for (uint32_t i = 0; error == 0 && i < report->attempts.count; i++) {
        int size = snprintf(path, sizeof path, "%.*s/" TR_FLYTE_DECK, TRI_TEXT(attempts[i].folder));
        bool is_one = attempts[i].folder.size > 0 && size < (int)sizeof path;
        if (is_one && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
            files->attempt = attempts[i].attempt;
            error = take_file(files, path, tr_text_of("html"), true);
        }
    }
    files->attempt = -1;
    return error;
}

/* ------------------------------------------------------------------------ the command */

static const char *const heads[] = {"OF", "VALUE", "TYPE", "BYTES", "PATH"};

/* Of what was read: what it got, what it gave, and decks of a node. */
static int show_all(struct tr_listing *listing, const struct tr_values *inputs,
                    const struct tr_values *outputs, const struct tr_get_report *report)
{
    struct files files = {.listing = listing, .attempt = -1};
    tr_listing_begin(listing, heads, TR_COUNT_OF(heads));
    int error = take_values(&files, "input", inputs);
    if (error == 0) {
        error = take_values(&files, "output", outputs);
    }
    if (error == 0 && report != NULL) {
        error = take_decks(&files, report);
    }
    int end_error = tr_listing_end(listing);
    return error == 0 || error == TR_CLOSED ? end_error : error;
}

static int show_execution(struct tr_listing *listing, const struct tr_get *get)
{
    struct tr_get_values values;
    int error = tr_get_values_read(get, false, &values);
    if (error == 0) {
        error = show_all(listing, &values.inputs, &values.outputs, NULL);
    }
    tr_get_values_fini(&values);
    return error;
}

static int show_node(struct tr_listing *listing, const struct tr_get *get,
                     const struct tr_target *target, char *problem)
{
    struct tr_get_report report;
    int error = tr_get_report_read(get, target, problem, &report);
    if (error == 0) {
        error = show_all(listing, &report.inputs, &report.outputs, &report);
    }
    tr_get_report_fini(&report);
    return error;
}

static enum tr_exit_status show(struct tr_listing *listing, const struct tr_found *found)
{
    char problem[TR_TARGET_PROBLEM_BYTES] = "";
    const struct tr_browse *browse = listing->browse;
    const struct tr_get get = {.reader = browse->reader,
                               .folder = browse->place.folder,
                               .execution = &found->execution.row,
                               .now_ms = browse->now_ms};
    bool is_execution = found->target.path.size == 0;
    int error = is_execution ? show_execution(listing, &get)
                             : show_node(listing, &get, &found->target, problem);
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND && problem[0] != '\0') {
        return tr_command_refused(browse->invocation->command, "%s", problem);
    }
    return tr_listing_tell(listing, error);
}

static enum tr_exit_status show_found(const struct tr_browse *browse, const struct tr_found *found)
{
    struct tr_listing listing;
    enum tr_exit_status status = tr_listing_read(browse, &listing);
    return status == TR_EXIT_DONE ? show(&listing, found) : status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_browse_first(invocation, show_found);
}

static const struct tr_option options[] = {
    TR_LISTING_LIMIT_OPTION,
    TR_LISTING_OFFSET_OPTION,
    {0},
};

const struct tr_command tr_command_files = {
    .name = "files",
    .summary = "show the files that inputs and outputs name, and decks",
    .words = "EXEC[/NODE[[ELEMENT]][@ATTEMPT]]",
    .text = "Of a folder that a value names, the files in it. Their bytes stay where they are: -o\n"
            "name prints paths for other programs.",
    .examples = "  troupe files @last\n"
                "  head $(troupe files fan-out/report -o name)",
    .options = options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
