/*
 * Reading, checking and extending the golden table. Samples come from sample_body.c, made from the
 * schema alone, so that a new schema needs nothing here.
 */
#include "tests/unit/schemas/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/codec/print.h"
#include "tests/support/sample_body.h"

enum {
    ENTRIES_MAX = 4096,
    TABLE_BYTES_MAX = 16 << 20,
    PRINTED_BYTES = 1 << 20,
};

/* What stands before each form of an entry. */
#define INDENT "  "

/* An entry: what it is about, and its forms as the table has them. */
struct entry {
    unsigned role;
    unsigned id;
    char name[TR_SCHEMA_NAME_BYTES_MAX + 1];
    unsigned version;
    const char *hex;
    const char *line;
    const char *json;
};

/* What a check or a writing works on. */
struct golden {
    const struct tr_registry *registry;
    const char *path;
    struct tr_sink *sink;
    size_t finding_count;
    size_t entry_count;
    struct entry entries[ENTRIES_MAX];
    char *text;
    char *at; /* the next line */
};

/* ---- Findings. ------------------------------------------------------------------------------ */

/* Begins a finding about one version; the caller ends the line. */
static void begin_finding(struct golden *golden, const struct entry *entry)
{
    golden->finding_count++;
    tr_sink_format(golden->sink, "%s %u %s version %u: ", tr_schema_role_name(entry->role),
                   entry->id, entry->name, entry->version);
}

static void find_fault(struct golden *golden, const struct entry *entry, const char *words)
{
    begin_finding(golden, entry);
    tr_sink_put_string(golden->sink, words);
    tr_sink_put_char(golden->sink, '\n');
}

/* ---- Reading the table. --------------------------------------------------------------------- */

static struct entry entry_of(const struct tr_schema *schema, unsigned version)
{
    struct entry entry = {.role = schema->role, .id = schema->id, .version = version};
    snprintf(entry.name, sizeof entry.name, "%s", schema->name);
    return entry;
}

static bool is_known(const struct golden *golden, const struct entry *entry)
{
    for (size_t i = 0; i < golden->entry_count; i++) {
        const struct entry *other = &golden->entries[i];
        if (other->role == entry->role && other->id == entry->id &&
            other->version == entry->version && strcmp(other->name, entry->name) == 0) {
            return true;
        }
    }
    return false;
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

static bool parse_head(const char *line, struct entry *entry)
{
    char role[16];
    char rest;
    int count =
        sscanf(line, "%15s %u %63s %u %c", role, &entry->id, entry->name, &entry->version, &rest);
    return count == 4 && parse_role(role, &entry->role) && entry->id <= UINT16_MAX;
}

/* Takes the next line off the table, without its end; NULL: there is none. */
static char *next_line(struct golden *golden)
{
    char *line = golden->at;
    if (*line == '\0') {
        return NULL;
    }
    golden->at += strcspn(line, "\n");
    if (*golden->at == '\n') {
        *golden->at++ = '\0';
    }
    return line;
}

/* The next line where it is a form, else NULL. */
static const char *next_form(struct golden *golden)
{
    bool is_form = strncmp(golden->at, INDENT, strlen(INDENT)) == 0;
    return is_form ? next_line(golden) + strlen(INDENT) : NULL;
}

static void read_entry(struct golden *golden, const char *head)
{
    struct entry entry = {0};
    if (!parse_head(head, &entry) || golden->entry_count == ENTRIES_MAX) {
        golden->finding_count++;
        tr_sink_format(golden->sink, "this is no `role id name version`: %.100s\n", head);
        return;
    }
    entry.hex = next_form(golden);
    entry.line = next_form(golden);
    entry.json = next_form(golden);
    if (entry.json == NULL) {
        find_fault(golden, &entry, "a line of it is missing: restore it");
    }
    if (is_known(golden, &entry)) {
        find_fault(golden, &entry, "the table has it twice");
        return;
    }
    golden->entries[golden->entry_count++] = entry;
}

/* The bytes of the table, with a closing zero; without a table there are none. */
static char *read_table(const char *path)
{
    char *text = calloc(1, TABLE_BYTES_MAX + 1);
    TR_ASSERT(text != NULL);
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        size_t size = fread(text, 1, TABLE_BYTES_MAX, file);
        TR_ASSERT(size < TABLE_BYTES_MAX);
        fclose(file);
    }
    return text;
}

static struct golden *golden_new(const struct tr_registry *registry, const char *path,
                                 struct tr_sink *sink)
{
    struct golden *golden = calloc(1, sizeof *golden);
    TR_ASSERT(golden != NULL);
    golden->registry = registry;
    golden->path = path;
    golden->sink = sink;
    golden->text = read_table(path);
    golden->at = golden->text;
    for (char *line = next_line(golden); line != NULL; line = next_line(golden)) {
        if (line[0] != '#' && line[0] != '\0') {
            read_entry(golden, line);
        }
    }
    return golden;
}

static void golden_free(struct golden *golden)
{
    free(golden->text);
    free(golden);
}

/* ---- What an entry holds. ------------------------------------------------------------------- */

/* The bytes of pairs of digits; false: they are none, or too many. */
static bool read_hex(const char *hex, uint8_t *buffer, size_t capacity, size_t *size)
{
    size_t digits = strlen(hex);
    if (digits % 2 != 0 || digits / 2 > capacity || strspn(hex, "0123456789abcdef") != digits) {
        return false;
    }
    for (size_t i = 0; i < digits / 2; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        buffer[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    *size = digits / 2;
    return true;
}

static const char *print_form(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                              enum tr_print_form form)
{
    static char text[PRINTED_BYTES];
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_print_body(&sink, form, schema, version, body);
    TR_ASSERT(!sink.truncated);
    return text;
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

static void check_body(struct golden *golden, const struct entry *entry,
                       const struct tr_schema *schema, struct tr_bytes body)
{
    void *value = malloc((size_t)schema->struct_size + 1);
    TR_ASSERT(value != NULL);
    int error = schema->unpack(body, (uint8_t)entry->version, value);
    if (error != 0) {
        begin_finding(golden, entry);
        tr_sink_format(golden->sink,
                       "its bytes no longer unpack (%s): a released version is read for ever\n",
                       tr_error_name(error));
    } else if (entry->version == schema->version && !sample_is(schema, body, value)) {
        find_fault(golden, entry,
                   "its sample has other bytes now: a change of fields needs a new version");
    }
    free(value);
}

static void check_print(struct golden *golden, const struct entry *entry,
                        const struct tr_schema *schema, struct tr_bytes body)
{
    uint8_t version = (uint8_t)entry->version;
    if (strcmp(print_form(schema, version, body, TR_PRINT_LINE), entry->line) != 0 ||
        strcmp(print_form(schema, version, body, TR_PRINT_JSON), entry->json) != 0) {
        find_fault(golden, entry, "it prints differently now: keep names and marks of old fields");
    }
}

/* ---- The checks. ---------------------------------------------------------------------------- */

static void check_entry(struct golden *golden, const struct entry *entry)
{
    static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
    const struct tr_schema *schema =
        tr_registry_find(golden->registry, entry->role, (uint16_t)entry->id);
    if (schema == NULL) {
        find_fault(golden, entry,
                   "no schema has this id any more: what was released stays readable");
        return;
    }
    if (strcmp(schema->name, entry->name) != 0) {
        begin_finding(golden, entry);
        tr_sink_format(golden->sink, "the id belongs to %s now: ids are never used again\n",
                       schema->name);
        return;
    }
    if (entry->version == 0 || entry->version > schema->version) {
        find_fault(golden, entry, "the schema's version is lower now: versions only rise");
        return;
    }
    if (entry->json == NULL) {
        return;
    }
    struct tr_bytes body = {.data = buffer};
    if (!read_hex(entry->hex, buffer, sizeof buffer, &body.size)) {
        find_fault(golden, entry, "its bytes are no hexadecimal digits: restore them");
        return;
    }
    check_body(golden, entry, schema, body);
    check_print(golden, entry, schema, body);
}

/* The current version of each schema must have an entry. */
static void check_schemas(struct golden *golden)
{
    for (size_t i = 0; i < golden->registry->count; i++) {
        const struct tr_schema *schema = golden->registry->by_id[i];
        struct entry entry = entry_of(schema, schema->version);
        if (!is_known(golden, &entry)) {
            find_fault(golden, &entry, "it has no golden entry: see schemas/README.md");
        }
    }
}

size_t golden_check(const struct tr_registry *registry, const char *path, struct tr_sink *findings)
{
    struct golden *golden = golden_new(registry, path, findings);
    for (size_t i = 0; i < golden->entry_count; i++) {
        check_entry(golden, &golden->entries[i]);
    }
    check_schemas(golden);
    size_t count = golden->finding_count;
    golden_free(golden);
    return count;
}

/* ---- Writing. ------------------------------------------------------------------------------- */

static bool append_entry(const struct golden *golden, const struct tr_schema *schema,
                         const struct entry *entry)
{
    static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
    uint8_t version = (uint8_t)entry->version;
    struct tr_bytes body = {.data = buffer};
    body.size = sample_body(schema, version, 0, buffer, sizeof buffer);
    FILE *file = fopen(golden->path, "a");
    if (file == NULL) {
        return false;
    }
    if (ftell(file) == 0) {
        fprintf(file, "# Every version of every schema: role id name version, the bytes of a "
                      "sample, what they\n# print as, and JSON. Entries are only added.\n");
    }
    fprintf(file, "\n%s %u %s %u\n" INDENT, tr_schema_role_name(entry->role), entry->id,
            entry->name, entry->version);
    for (size_t i = 0; i < body.size; i++) {
        fprintf(file, "%02x", buffer[i]);
    }
    fprintf(file, "\n" INDENT "%s\n", print_form(schema, version, body, TR_PRINT_LINE));
    fprintf(file, INDENT "%s\n", print_form(schema, version, body, TR_PRINT_JSON));
    bool is_written = ferror(file) == 0;
    return fclose(file) == 0 && is_written && body.size > 0;
}

int golden_write(const struct tr_registry *registry, const char *path, struct tr_sink *report)
{
    struct golden *golden = golden_new(registry, path, report);
    int count = 0;
    for (size_t i = 0; i < registry->count && count >= 0; i++) {
        const struct tr_schema *schema = registry->by_id[i];
        for (unsigned version = 1; version <= schema->version && count >= 0; version++) {
            struct entry entry = entry_of(schema, version);
            if (is_known(golden, &entry)) {
                continue;
            }
            bool added = append_entry(golden, schema, &entry);
            tr_sink_format(report, "%s %s %u %s version %u\n", added ? "added" : "cannot add",
                           tr_schema_role_name(entry.role), entry.id, entry.name, entry.version);
            count = added ? count + 1 : -1;
        }
    }
    golden_free(golden);
    return count;
}
