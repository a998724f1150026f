/*
 * A JSON object of outputs, walked by hand, from value to value, which the JSON reader parses one
 * by one; a list's elements are such values, too.
 *
 * The walk keeps only what the reader of one value needs: a document parsed as a whole would take
 * many times its size as a tree. The reader of values passes over its own value, and `left` goes on
 * behind it.
 */
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/limits.h"
#include "actors/values/exchange_inside.h"

/* What comes next in the document behind blanks; 0 at its end. */
static char next_letter(struct tri_reading *reading)
{
    struct tr_text *left = &reading->left;
    while (left->size > 0 && memchr(" \t\r\n", left->data[0], 4) != NULL) {
        left->data++;
        left->size--;
    }
    return left->size > 0 ? left->data[0] : '\0';
}

/* Passes over a letter if it comes next. */
static bool take_letter(struct tri_reading *reading, char letter)
{
    if (next_letter(reading) != letter) {
        return false;
    }
    reading->left.data++;
    reading->left.size--;
    return true;
}

static int refuse_syntax(struct tri_reading *reading, const char *words)
{
    struct tri_place place = tri_exchange_place(reading);
    return tri_exchange_refuse(reading, "OutputsNotFound",
                               "the outputs: line %u, column %u: this is no JSON: %s; write one "
                               "object",
                               place.line, place.column, words);
}

/* Reads the next value of the document and packs it as one of a type. */
static int take_value(struct tri_reading *reading, const struct tri_planned *planned,
                      const struct tr_type *type, int64_t element)
{
    uint8_t room[2048];
    struct tr_arena arena;
    struct tr_report report;
    size_t used = 0;
    int error = reading->keeper->turn(reading->keeper->self);
    if (error != 0) {
        return error;
    }
    memset(room, 0, sizeof room);
    tr_arena_init_with(&arena, room, sizeof room);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read_next(&arena, &report, 0, reading->left, &used);
    error = tri_exchange_pack(reading, planned, type, element, &arena, &report, tree);
    reading->left.data += used;
    reading->left.size -= used;
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return error;
}

static int take_list(struct tri_reading *reading, const struct tri_planned *planned)
{
    size_t begin = reading->values.size;
    uint32_t count = 0;
    int error = 0;
    (void)take_letter(reading, '[');
    while (error == 0 && next_letter(reading) != ']') {
        if (count > 0 && !take_letter(reading, ',')) {
            return refuse_syntax(reading, "a list goes on with , or ends with ]");
        }
        error = count < TR_TREE_NODES_MAX * 64U ? 0 : TR_LIMIT;
        if (error == 0) {
            error = take_value(reading, planned, planned->type->parts[0], (int64_t)count);
        }
        count++;
    }
    (void)take_letter(reading, ']');
    return error != 0 ? error : tri_exchange_put_header(&reading->values, begin, count);
}

/* The value behind a name. */
static int take_output(struct tri_reading *reading, struct tri_found *found)
{
    bool is_list = found->planned.type->kind == TR_TYPE_LIST && next_letter(reading) == '[';
    /* The reader of values begins at the value itself, behind the blanks. */
    (void)next_letter(reading);
    found->is_there = true;
    found->begin = reading->values.size;
    int error = is_list ? take_list(reading, &found->planned)
                        : take_value(reading, &found->planned, found->planned.type, -1);
    found->size = reading->values.size - found->begin;
    return error;
}

/*
 * What nobody declared is passed over, as long as it is JSON.
 *
 * It is read as any value, since only a reader of JSON knows where it ends, and cut off again.
 */
static int skip_value(struct tri_reading *reading)
{
    static const struct tri_planned unknown = {.name = {.data = "?", .size = 1}};
    size_t before = reading->values.size;
    int error = take_value(reading, &unknown, NULL, -1);
    tr_buffer_cut(&reading->values, before);
    return error;
}

/*
 * The name in front of a value, or NULL where there is none of that sort.
 *
 * A name is a string of JSON, with its escapes, so the reader of values reads it too. NULL without
 * an error is the name of no output, or of a decision for a graph (`is_decision`).
 */
static struct tri_found *take_name(struct tri_reading *reading, int *error)
{
    static const struct tr_type string = {.kind = TR_TYPE_STRING, .part_total = 1};
    static const struct tri_planned name = {.name = {.data = "", .size = 0}, .type = &string};
    size_t before = reading->values.size;
    if (next_letter(reading) != '"') {
        *error = refuse_syntax(reading, "a name in quotes has to stand in front of each value");
        return NULL;
    }
    *error = take_value(reading, &name, &string, -1);
    struct tr_bytes packed = {0}; /* without a value there may be no memory to point into */
    if (*error == 0) {
        packed = tr_buffer_bytes(&reading->values);
        packed.data += before;
        packed.size -= before;
    }
    struct tr_cursor cursor = tr_cursor_of(packed);
    struct tr_text text = tr_read_text(&cursor);
    struct tri_found *found = NULL;
    if (*error == 0) {
        found = tri_exchange_find(reading, text);
    }
    reading->is_decision =
        *error == 0 && found == NULL && reading->depth > 0 && tr_exchange_is_decision(text);
    tr_buffer_cut(&reading->values, before);
    return found;
}

static int take_member(struct tri_reading *reading)
{
    int error = 0;
    struct tri_found *found = take_name(reading, &error);
    if (reading->is_decision) {
        return 0;
    }
    if (error == 0 && !take_letter(reading, ':')) {
        error = refuse_syntax(reading, "a : has to stand behind a name");
    }
    if (error == 0 && found != NULL && found->is_there) {
        error =
            tri_exchange_refuse(reading, "OutputsNotFound", "the outputs: '%.*s' is there twice",
                                TRI_TEXT(found->planned.name));
    }
    (void)next_letter(reading);
    if (error != 0) {
        return error;
    }
    return found != NULL ? take_output(reading, found) : skip_value(reading);
}

int tri_exchange_read_json(struct tri_reading *reading)
{
    int error = 0;
    bool is_first = true;
    if (!take_letter(reading, '{')) {
        return tri_exchange_refuse(reading, "OutputsNotFound",
                                   "the outputs have to be one JSON object");
    }
    while (error == 0 && next_letter(reading) != '}') {
        if (!is_first && !take_letter(reading, ',')) {
            return refuse_syntax(reading, "an object goes on with , or ends with }");
        }
        is_first = false;
        error = take_member(reading);
        if (reading->is_decision) {
            return 0;
        }
    }
    (void)take_letter(reading, '}');
    if (error == 0 && next_letter(reading) != '\0') {
        error = refuse_syntax(reading, "there is more behind its end");
    }
    return error;
}
