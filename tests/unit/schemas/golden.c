/*
 * Reading, checking and adding golden files. Samples come from sample_body.c, made from the schema
 * alone, so that a new schema needs nothing here.
 */
#include "tests/unit/schemas/golden.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/codec/print.h"
#include "tests/support/sample_body.h"

enum {
    ROWS_MAX = 4096,
    PATH_BYTES = 4096,
    PRINTED_BYTES = 1 << 20,
};

/* A line of ids.txt. */
struct row {
    unsigned role;
    unsigned id;
    char name[TR_SCHEMA_NAME_BYTES_MAX + 1];
    unsigned version;
};

/* What a check or a writing works on. */
struct golden {
    const struct tr_registry *registry;
    const char *folder;
    struct tr_sink *sink;
    size_t finding_count;
    size_t row_count;
    struct row rows[ROWS_MAX];
};

static struct golden *golden_new(const struct tr_registry *registry, const char *folder,
                                 struct tr_sink *sink)
{
    struct golden *golden = calloc(1, sizeof *golden);
    TR_ASSERT(golden != NULL);
    golden->registry = registry;
    golden->folder = folder;
    golden->sink = sink;
    return golden;
}

/* Begins a finding about one version; the caller ends the line. */
static void begin_finding(struct golden *golden, const struct row *row)
{
    golden->finding_count++;
    tr_sink_format(golden->sink, "%s %u %s version %u: ", tr_schema_role_name(row->role), row->id,
                   row->name, row->version);
}

static void find_fault(struct golden *golden, const struct row *row, const char *words)
{
    begin_finding(golden, row);
    tr_sink_put_string(golden->sink, words);
    tr_sink_put_char(golden->sink, '\n');
}

static struct row row_of(const struct tr_schema *schema, unsigned version)
{
    struct row row = {.role = schema->role, .id = schema->id, .version = version};
    snprintf(row.name, sizeof row.name, "%s", schema->name);
    return row;
}

static bool row_equal(const struct row *a, const struct row *b)
{
    return a->role == b->role && a->id == b->id && a->version == b->version &&
           strcmp(a->name, b->name) == 0;
}

static bool row_known(const struct golden *golden, const struct row *row)
{
    for (size_t i = 0; i < golden->row_count; i++) {
        if (row_equal(&golden->rows[i], row)) {
            return true;
        }
    }
    return false;
}

/* ---- Files. --------------------------------------------------------------------------------- */

static void file_path(const struct golden *golden, const struct row *row, const char *ending,
                      char *path)
{
    snprintf(path, PATH_BYTES, "%s/%s_%s_v%u.%s", golden->folder, tr_schema_role_name(row->role),
             row->name, row->version, ending);
}

/* Reads a whole file into the buffer; false when there is none, or one too large. */
static bool read_whole(const char *path, void *buffer, size_t capacity, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    *size = fread(buffer, 1, capacity, file);
    bool whole = feof(file) != 0;
    fclose(file);
    return whole;
}

/* Writes a file that must not exist. */
static bool write_new(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wbx");
    if (file == NULL) {
        return false;
    }
    bool written = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

static bool parse_role(const char *word, unsigned *role)
{
    for (unsigned i = 0; i < TR_SCHEMA_ROLE_COUNT; i++) {
        if (strcmp(word, tr_schema_role_name(i)) == 0) {
            *role = i;
            return true;
        }
    }
    return false;
}

static void read_row(struct golden *golden, const char *line)
{
    struct row row = {0};
    char role[16];
    char rest;
    int count = sscanf(line, "%15s %u %63s %u %c", role, &row.id, row.name, &row.version, &rest);
    bool is_row = count == 4 && parse_role(role, &row.role) && row.id <= UINT16_MAX;
    if (!is_row || golden->row_count == ROWS_MAX) {
        golden->finding_count++;
        tr_sink_format(golden->sink, "ids.txt: this is no `role id name version`: %.100s\n", line);
        return;
    }
    if (row_known(golden, &row)) {
        find_fault(golden, &row, "ids.txt names it twice");
        return;
    }
    golden->rows[golden->row_count++] = row;
}

/* Reads ids.txt; without one there are no rows. */
static void read_rows(struct golden *golden)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/ids.txt", golden->folder);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0') {
            read_row(golden, line);
        }
    }
    fclose(file);
}

/* ---- What files hold. ----------------------------------------------------------------------- */

/* The printed form of a body: its line, its JSON, each with a newline. */
static size_t print_forms(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                          char *text)
{
    struct tr_sink sink = tr_sink_of(text, PRINTED_BYTES);
    tr_print_body(&sink, TR_PRINT_LINE, schema, version, body);
    tr_sink_put_char(&sink, '\n');
    tr_print_body(&sink, TR_PRINT_JSON, schema, version, body);
    tr_sink_put_char(&sink, '\n');
    TR_ASSERT(!sink.truncated);
    return sink.size;
}

/* Whether the current version's sample has these bytes, and packs to them again. */
static bool sample_is(const struct tr_schema *schema, struct tr_bytes body, const void *value)
{
    static uint8_t packed[SAMPLE_BODY_BYTES_MAX];
    size_t size = sample_body(schema, schema->version, 0, packed, sizeof packed);
    bool same = size == body.size && memcmp(packed, body.data, size) == 0;
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    return same && schema->pack(value, &writer) == 0 && tr_writer_size(&writer) == body.size &&
           memcmp(packed, body.data, body.size) == 0;
}

static void check_body(struct golden *golden, const struct row *row, const struct tr_schema *schema,
                       struct tr_bytes body)
{
    void *value = malloc((size_t)schema->struct_size + 1);
    TR_ASSERT(value != NULL);
    int error = schema->unpack(body, (uint8_t)row->version, value);
    if (error != 0) {
        begin_finding(golden, row);
        tr_sink_format(golden->sink,
                       "its file no longer unpacks (%s): a released version is read "
                       "for ever\n",
                       tr_error_name(error));
    } else if (row->version == schema->version && !sample_is(schema, body, value)) {
        find_fault(golden, row,
                   "its sample has other bytes now: a change of fields needs a new version");
    }
    free(value);
}

static void check_text(struct golden *golden, const struct row *row, const struct tr_schema *schema,
                       struct tr_bytes body)
{
    static char expected[PRINTED_BYTES];
    static char printed[PRINTED_BYTES];
    char path[PATH_BYTES];
    size_t expected_size = 0;
    file_path(golden, row, "txt", path);
    if (!read_whole(path, expected, sizeof expected, &expected_size)) {
        find_fault(golden, row, "its .txt file is missing: restore it");
        return;
    }
    size_t size = print_forms(schema, (uint8_t)row->version, body, printed);
    if (size != expected_size || memcmp(printed, expected, size) != 0) {
        find_fault(golden, row, "it prints differently now: keep names and marks of old fields");
    }
}

/* ---- The checks. ---------------------------------------------------------------------------- */

static void check_row(struct golden *golden, const struct row *row)
{
    static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
    const struct tr_schema *schema =
        tr_registry_find(golden->registry, row->role, (uint16_t)row->id);
    if (schema == NULL) {
        find_fault(golden, row, "no schema has this id any more: what was released stays readable");
        return;
    }
    if (strcmp(schema->name, row->name) != 0) {
        begin_finding(golden, row);
        tr_sink_format(golden->sink, "the id belongs to %s now: ids are never used again\n",
                       schema->name);
        return;
    }
    if (row->version == 0 || row->version > schema->version) {
        find_fault(golden, row, "the schema's version is lower now: versions only rise");
        return;
    }
    char path[PATH_BYTES];
    struct tr_bytes body = {.data = buffer};
    file_path(golden, row, "bin", path);
    if (!read_whole(path, buffer, sizeof buffer, &body.size)) {
        find_fault(golden, row, "its .bin file is missing: restore it");
        return;
    }
    check_body(golden, row, schema, body);
    check_text(golden, row, schema, body);
}

/* The current version of each schema must be among the rows. */
static void check_schemas(struct golden *golden)
{
    for (size_t i = 0; i < golden->registry->count; i++) {
        const struct tr_schema *schema = golden->registry->by_id[i];
        struct row row = row_of(schema, schema->version);
        if (!row_known(golden, &row)) {
            find_fault(golden, &row, "it has no golden file: see schemas/README.md");
        }
    }
}

/* Whether a file's name is that of some row. */
static bool file_known(const struct golden *golden, const char *name)
{
    for (size_t i = 0; i < golden->row_count; i++) {
        char bin[PATH_BYTES];
        char text[PATH_BYTES];
        file_path(golden, &golden->rows[i], "bin", bin);
        file_path(golden, &golden->rows[i], "txt", text);
        size_t folder_size = strlen(golden->folder) + 1;
        if (strcmp(name, bin + folder_size) == 0 || strcmp(name, text + folder_size) == 0) {
            return true;
        }
    }
    return strcmp(name, "ids.txt") == 0 || name[0] == '.';
}

/* A file without a row is a version whose line was lost. */
static void check_strays(struct golden *golden)
{
    DIR *folder = opendir(golden->folder);
    TR_ASSERT(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (!file_known(golden, entry->d_name)) {
            golden->finding_count++;
            tr_sink_format(golden->sink, "%.200s: ids.txt does not name it\n", entry->d_name);
        }
    }
    closedir(folder);
}

size_t golden_check(const struct tr_registry *registry, const char *folder,
                    struct tr_sink *findings)
{
    struct golden *golden = golden_new(registry, folder, findings);
    read_rows(golden);
    for (size_t i = 0; i < golden->row_count; i++) {
        check_row(golden, &golden->rows[i]);
    }
    check_schemas(golden);
    check_strays(golden);
    size_t count = golden->finding_count;
    free(golden);
    return count;
}

/* ---- Writing. ------------------------------------------------------------------------------- */

static bool append_row(const struct golden *golden, const struct row *row)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/ids.txt", golden->folder);
    FILE *file = fopen(path, "a");
    if (file == NULL) {
        return false;
    }
    if (ftell(file) == 0) {
        fprintf(file, "# Every id ever given: role id name version. Lines are only added.\n");
    }
    fprintf(file, "%s %u %s %u\n", tr_schema_role_name(row->role), row->id, row->name,
            row->version);
    return fclose(file) == 0;
}

static bool add_version(const struct golden *golden, const struct tr_schema *schema,
                        const struct row *row)
{
    static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
    static char printed[PRINTED_BYTES];
    char bin[PATH_BYTES];
    char text[PATH_BYTES];
    uint8_t version = (uint8_t)row->version;
    size_t size = sample_body(schema, version, 0, buffer, sizeof buffer);
    size_t printed_size =
        print_forms(schema, version, (struct tr_bytes){.data = buffer, .size = size}, printed);
    file_path(golden, row, "bin", bin);
    file_path(golden, row, "txt", text);
    return size > 0 && write_new(bin, buffer, size) && write_new(text, printed, printed_size) &&
           append_row(golden, row);
}

int golden_write(const struct tr_registry *registry, const char *folder, struct tr_sink *report)
{
    struct golden *golden = golden_new(registry, folder, report);
    read_rows(golden);
    int count = 0;
    for (size_t i = 0; i < registry->count && count >= 0; i++) {
        const struct tr_schema *schema = registry->by_id[i];
        for (unsigned version = 1; version <= schema->version && count >= 0; version++) {
            struct row row = row_of(schema, version);
            if (row_known(golden, &row)) {
                continue;
            }
            bool added = add_version(golden, schema, &row);
            tr_sink_format(report, "%s %s %u %s version %u\n", added ? "added" : "cannot add",
                           tr_schema_role_name(row.role), row.id, row.name, row.version);
            count = added ? count + 1 : -1;
        }
    }
    free(golden);
    return count;
}
