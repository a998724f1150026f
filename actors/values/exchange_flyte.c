/*
 * A map of literals of Flyte's as outputs: entry by entry, and a list element by element. A literal
 * may lie in a file of its own, as flytekit leaves large ones behind, which is read in its place,
 * wherever it stands. An entry with the name of no output is passed over.
 */
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte.h"
#include "actors/values/exchange_inside.h"
#include "schemas/runtime/files.h"

/* What the keeper says stands behind the name of the output; here behind where the literal is. */
static int open_file(void *self, struct tr_report *report, struct tr_text uri,
                     struct tr_bytes *file)
{
    struct tri_reading *reading = self;
    int error = reading->keeper->open(reading->keeper->self, uri, file);
    if (error == TR_INVALID) {
        reading->file_code = reading->problem->code;
        tri_report_add(report, (struct tri_place){0}, reading->file_code, "a literal %s",
                       reading->problem->words);
    }
    return error;
}

static void close_file(void *self, struct tr_bytes file)
{
    const struct tri_reading *reading = self;
    reading->keeper->close(reading->keeper->self, file);
}

/* What opens the files of literals for one value of the document. */
static struct tr_flyte_files files_of(struct tri_reading *reading)
{
    return (struct tr_flyte_files){.open = open_file,
                                   .close = close_file,
                                   .self = reading,
                                   .left_bytes = TR_OUTPUTS_BYTES_MAX};
}

/* Packs a literal as a value of a type. */
static int take_literal(struct tri_reading *reading, const struct tri_planned *planned,
                        const struct tr_type *type, int64_t element, struct tr_bytes literal)
{
    /*
     * Most literals fit into this room, so that a list of a million numbers allocates nothing for
     * each.
     */
    uint8_t room[2048];
    struct tr_arena arena;
    struct tr_report report;
    struct tr_flyte_files files = files_of(reading);
    int error = reading->keeper->turn(reading->keeper->self);
    if (error != 0) {
        return error;
    }
    memset(room, 0, sizeof room);
    tr_arena_init_with(&arena, room, sizeof room);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_flyte_literal(&arena, &report, type, literal, &files);
    error = tri_exchange_pack(reading, planned, type, element, &arena, &report, tree);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return error;
}

static int take_list(struct tri_reading *reading, const struct tri_planned *planned,
                     struct tr_flyte_walk *walk)
{
    size_t begin = reading->values.size;
    uint32_t count = 0;
    struct tr_bytes literal;
    int error = 0;
    while (error == 0 && tr_flyte_next_element(walk, &literal)) {
        /* The same bound as for lists in JSON. */
        error = count < TR_TREE_NODES_MAX * 64U ? 0 : TR_LIMIT;
        if (error == 0) {
            error =
                take_literal(reading, planned, planned->type->parts[0], (int64_t)count, literal);
        }
        count++;
    }
    if (error == 0 && !tr_flyte_is_whole(walk)) {
        return tri_exchange_refuse(reading, "MismatchingTypes",
                                   "the output '%.*s': the bytes are no list of Flyte's",
                                   TRI_TEXT(planned->name));
    }
    return error != 0 ? error : tri_exchange_put_header(&reading->values, begin, count);
}

/* The value of an output, which is here. */
static int take_output(struct tri_reading *reading, struct tri_found *found,
                       struct tr_bytes literal)
{
    struct tr_flyte_walk walk;
    bool is_list = found->planned.type->kind == TR_TYPE_LIST && tr_flyte_elements(literal, &walk);
    found->is_there = true;
    found->begin = reading->values.size;
    int error = is_list ? take_list(reading, &found->planned, &walk)
                        : take_literal(reading, &found->planned, found->planned.type, -1, literal);
    found->size = reading->values.size - found->begin;
    return error;
}

/* A list in a file of its own, element by element, too. */
static int take_list_file(struct tri_reading *reading, struct tri_found *found,
                          const struct tr_flyte_elsewhere *where)
{
    struct tr_report report;
    struct tr_bytes file;
    tr_report_init(&report);
    int error = open_file(reading, &report, where->uri, &file);
    bool is_open = error == 0;
    if (is_open && tr_flyte_is_size(where, file, &report)) {
        error = take_output(reading, found, file);
    } else if (is_open || error == TR_INVALID) {
        error = tri_exchange_refuse_value(reading, &found->planned, -1, &report);
    }
    if (is_open) {
        close_file(reading, file);
    }
    tr_report_fini(&report);
    return error;
}

static int take_entry(struct tri_reading *reading, struct tri_found *found, struct tr_bytes literal)
{
    struct tr_flyte_elsewhere where;
    bool is_list = found->planned.type->kind == TR_TYPE_LIST;
    if (is_list && tr_flyte_is_elsewhere(&reading->arena, literal, &where)) {
        return take_list_file(reading, found, &where);
    }
    return reading->arena.error != 0 ? reading->arena.error : take_output(reading, found, literal);
}

int tri_exchange_read_flyte(struct tri_reading *reading, struct tr_bytes document)
{
    struct tr_flyte_walk walk = tr_flyte_entries(document);
    struct tr_flyte_entry entry;
    int error = 0;
    while (error == 0 && tr_flyte_next_entry(&walk, &entry)) {
        struct tri_found *found = tri_exchange_find(reading, entry.name);
        error = found == NULL ? 0 : take_entry(reading, found, entry.literal);
    }
    if (error == 0 && !tr_flyte_is_whole(&walk)) {
        return tri_exchange_refuse(reading, "OutputsNotFound",
                                   "the outputs: outputs.pb is no LiteralMap of Flyte's");
    }
    return error;
}
