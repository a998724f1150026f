/*
 * Plans of documents, writing inputs, and what is the same for outputs of all forms.
 *
 * A plan of inputs is [form, [[name, type, slot], ...]]; one of outputs is [folder, [[name, type],
 * ...], depth, form].
 *
 * Writing streams: each value goes to `put` in pieces, so a document of any size takes constant
 * memory beside the value at hand. Reading packs all values into one buffer of at most
 * TR_VALUES_BYTES_MAX, and only when the whole document has been read are they put into slots: a
 * document that turns out to be damaged leaves nothing behind.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte.h"
#include "actors/values/exchange_inside.h"
#include "actors/values/path.h"
#include "schemas/runtime/files.h"

/* ------------------------------------------------------------------- plans */

static void plan_variable(const struct tr_variable *variable, uint32_t parts,
                          struct tr_buffer *plan)
{
    struct tr_buffer type;
    tr_buffer_init(&type, 0);
    tr_type_write(variable->type, &type);
    tr_buffer_array(plan, parts);
    tr_buffer_text_value(plan, variable->name);
    tr_buffer_text_value(plan, tr_buffer_text(&type));
    if (plan->error == 0) {
        plan->error = type.error;
    }
    tr_buffer_fini(&type);
}

int tr_exchange_plan_inputs(const struct tr_variables *inputs, enum tr_document_form form,
                            struct tr_bytes slots, struct tr_buffer *plan)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    if (cursor.error != 0 || count != inputs->count) {
        return TR_MALFORMED;
    }
    tr_buffer_array(plan, 2);
    tr_buffer_u64(plan, form);
    tr_buffer_array(plan, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        if (cursor.error != 0) {
            return TR_MALFORMED;
        }
        plan_variable(&inputs->items[i], 3, plan);
        tr_buffer_add(plan, slot.data, slot.size);
    }
    return plan->error;
}

int tr_exchange_plan_outputs(const struct tr_exchange_outputs *outputs, struct tr_buffer *plan)
{
    const struct tr_variables *variables = outputs->variables;
    tr_buffer_array(plan, 4);
    tr_buffer_text_value(plan, outputs->folder);
    tr_buffer_array(plan, variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        plan_variable(&variables->items[i], 2, plan);
    }
    tr_buffer_u64(plan, outputs->depth);
    tr_buffer_u64(plan, outputs->form);
    return plan->error;
}

bool tr_exchange_is_decision(struct tr_text key)
{
    return tr_text_equal(key, tr_text_of("nodes")) || tr_text_equal(key, tr_text_of("troupe"));
}

static int read_planned(struct tr_cursor *cursor, uint32_t parts, struct tr_types *types,
                        struct tri_planned *planned)
{
    struct tr_text problem;
    uint32_t count = tr_read_array(cursor);
    planned->name = tr_read_text(cursor);
    struct tr_text type = tr_read_text(cursor);
    if (cursor->error != 0 || count != parts) {
        return TR_MALFORMED;
    }
    planned->type = tr_type_parse(types, type, &problem);
    if (types->arena->error != 0) {
        return types->arena->error;
    }
    return planned->type != NULL ? 0 : TR_MALFORMED;
}

/* The form of a document. */
static int take_form(struct tr_cursor *cursor, enum tr_document_form *form)
{
    uint64_t number = tr_read_u64(cursor);
    if (cursor->error != 0 || number > TR_DOCUMENT_FLYTE_FUTURES) {
        return TR_MALFORMED;
    }
    *form = (enum tr_document_form)number;
    return 0;
}

/* ----------------------------------------------------------------- writing */

/* A value of a plan on its way into a document. */
struct written {
    struct tri_planned planned;
    enum tr_document_form form;
    bool is_first;
};

/*
 * The literal of a value, whose type is one of the planned one's variants or it itself.
 *
 * Flyte's form needs the planned type and the variant, since a union is written with its type
 * there; JSON has the bare value.
 */
static int write_literal(const struct tr_exchange_writer *writer, const struct written *written,
                         const struct tr_type *type, uint32_t variant, struct tr_bytes literal)
{
    const struct tri_planned *planned = &written->planned;
    return written->form == TR_DOCUMENT_FLYTE
               ? tr_flyte_write(planned->name, planned->type, variant, literal, writer->put,
                                writer->self)
               : tr_literal_stream(type, literal, writer->put, writer->self);
}

static int write_value(const struct tr_exchange_writer *writer, const struct written *written,
                       struct tr_bytes slot)
{
    const struct tr_type *type = written->planned.type;
    struct tr_offloaded where;
    struct tr_bytes literal;
    if (!tr_slot_is_offloaded(slot, &where)) {
        return write_literal(writer, written, type, 0, slot);
    }
    const struct tr_type *inside = tr_offloaded_type(&where, type);
    if (inside == NULL && where.variant != 0) {
        return TR_MALFORMED;
    }
    int error = writer->open(writer->self, &where, &literal);
    if (error == 0) {
        error = write_literal(writer, written, inside, where.variant, literal);
        writer->close(writer->self, literal);
    }
    return error;
}

/* The name in front of a value of JSON. */
static int write_name(const struct tr_exchange_writer *writer, const struct written *written)
{
    char before[TR_FLYTE_NAME_BYTES_MAX + 16];
    int size = snprintf(before, sizeof before, "%s\"%.*s\": ", written->is_first ? "" : ", ",
                        TRI_TEXT(written->planned.name));
    if (size < 0 || (size_t)size >= sizeof before) {
        return TR_MALFORMED;
    }
    return writer->put(writer->self, (struct tr_text){.data = before, .size = (size_t)size});
}

static int write_planned(const struct tr_exchange_writer *writer, struct tr_cursor *cursor,
                         struct tr_types *types, struct written *written)
{
    int error = read_planned(cursor, 3, types, &written->planned);
    if (error != 0) {
        return error;
    }
    struct tr_bytes slot = tr_read_any(cursor);
    if (cursor->error != 0) {
        return TR_MALFORMED;
    }
    if (written->form == TR_DOCUMENT_JSON) {
        error = write_name(writer, written);
    }
    return error != 0 ? error : write_value(writer, written, slot);
}

/* What stands around the values of JSON. */
static int put_brace(const struct tr_exchange_writer *writer, enum tr_document_form form,
                     const char *brace)
{
    return form == TR_DOCUMENT_JSON ? writer->put(writer->self, tr_text_of(brace)) : 0;
}

int tr_exchange_write(struct tr_bytes plan, const struct tr_exchange_writer *writer)
{
    struct tr_arena arena;
    struct tr_types types;
    struct tr_cursor cursor = tr_cursor_of(plan);
    struct written written = {.form = TR_DOCUMENT_JSON};
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    int error = tr_read_array(&cursor) == 2 ? take_form(&cursor, &written.form) : TR_MALFORMED;
    uint32_t count = tr_read_array(&cursor);
    if (cursor.error != 0) {
        error = TR_MALFORMED;
    }
    if (error == 0) {
        error = put_brace(writer, written.form, "{");
    }
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        written.is_first = i == 0;
        error = write_planned(writer, &cursor, &types, &written);
    }
    if (error == 0) {
        error = put_brace(writer, written.form, "}");
    }
    tr_arena_fini(&arena);
    return error;
}

/* ----------------------------------------------------------------- reading */

int tri_exchange_refuse(struct tri_reading *reading, const char *code, const char *format, ...)
{
    struct tr_exchange_problem *problem = reading->problem;
    va_list values;
    va_start(values, format);
    int size = vsnprintf(problem->words, sizeof problem->words, format, values);
    va_end(values);
    if (size > 0 && (size_t)size >= sizeof problem->words) {
        struct tr_text text = {.data = problem->words, .size = sizeof problem->words - 1};
        problem->words[tr_utf8_cut(text, text.size)] = '\0';
    }
    problem->code = code;
    return TR_INVALID;
}

int tri_exchange_kept(struct tri_reading *reading, const struct tri_planned *planned, int error)
{
    char said[TR_EXCHANGE_WORDS_BYTES];
    if (error != TR_INVALID) {
        return error;
    }
    memcpy(said, reading->problem->words, sizeof said);
    return tri_exchange_refuse(reading, reading->problem->code, "the output '%.*s' %s",
                               TRI_TEXT(planned->name), said);
}

struct tri_found *tri_exchange_find(struct tri_reading *reading, struct tr_text name)
{
    uint32_t index = 0;
    while (index < reading->count && !tr_text_equal(reading->found[index].planned.name, name)) {
        index++;
    }
    return index < reading->count ? &reading->found[index] : NULL;
}

struct tri_place tri_exchange_place(const struct tri_reading *reading)
{
    size_t at = (size_t)(reading->left.data - reading->document.data);
    return tri_place_in(0, reading->document, at);
}

/* Where a problem is: "[3]: line 2, column 7: ". Its line counts from where the value begins. */
static void print_place(const struct tri_reading *reading, int64_t element,
                        const struct tr_problem *problem, char *place, size_t size)
{
    size_t used = 0;
    place[0] = '\0';
    if (element >= 0) {
        used = (size_t)snprintf(place, size, "[%lld]: ", (long long)element);
    }
    if (problem != NULL && problem->line > 0) {
        struct tri_place begin = tri_exchange_place(reading);
        uint32_t before = problem->line == 1 ? begin.column - 1 : 0;
        snprintf(place + used, size - used, "line %u, column %u: ", begin.line + problem->line - 1,
                 before + problem->column);
    }
}

int tri_exchange_refuse_value(struct tri_reading *reading, const struct tri_planned *planned,
                              int64_t element, struct tr_report *report)
{
    char place[96];
    tr_report_finish(report);
    print_place(reading, element, report->count == 0 ? NULL : report->problems, place,
                sizeof place);
    if (report->count == 0) {
        return tri_exchange_refuse(reading, "MismatchingTypes",
                                   "the output '%.*s': %sit cannot be read",
                                   TRI_TEXT(planned->name), place);
    }
    const struct tr_problem *problem = &report->problems[0];
    const char *code = reading->file_code != NULL ? reading->file_code : "MismatchingTypes";
    return tri_exchange_refuse(reading, code, "the output '%.*s': %s%.*s%s%.*s",
                               TRI_TEXT(planned->name), place, TRI_TEXT(problem->rule),
                               problem->remedy.size > 0 ? "; " : "", TRI_TEXT(problem->remedy));
}

int tri_exchange_pack(struct tri_reading *reading, const struct tri_planned *planned,
                      const struct tr_type *type, int64_t element, struct tr_arena *arena,
                      struct tr_report *report, const struct tr_tree *tree)
{
    struct tr_literal_reader reader = {.report = report, .arena = arena, .folder = reading->folder};
    bool is_read = tree != NULL && tr_literal_read(&reader, type, tree, &reading->values);
    int error = arena->error;
    if (error == 0) {
        error = reading->values.error;
    }
    return error == 0 && !is_read ? tri_exchange_refuse_value(reading, planned, element, report)
                                  : error;
}

/*
 * The header of a list in its shortest form, in front of elements that are packed already.
 *
 * The count of elements is known only behind the last one, and msgpack has it in front. It is
 * written at the end to get its size, and then moved to the front, with one move of the elements.
 */
int tri_exchange_put_header(struct tr_buffer *values, size_t begin, uint32_t count)
{
    size_t end = values->size;
    tr_buffer_array(values, count);
    uint8_t header[5];
    size_t size = values->size - end;
    if (values->error != 0) {
        return values->error;
    }
    if (size > sizeof header) {
        return TR_LIMIT;
    }
    memcpy(header, values->data + end, size);
    memmove(values->data + begin + size, values->data + begin, end - begin);
    memcpy(values->data + begin, header, size);
    return 0;
}

/* Takes the plan apart. */
static int open_plan(struct tri_reading *reading, struct tr_bytes plan)
{
    struct tr_cursor cursor = tr_cursor_of(plan);
    uint32_t parts = tr_read_array(&cursor);
    reading->folder = tr_read_text(&cursor);
    reading->count = tr_read_array(&cursor);
    if (cursor.error != 0 || parts != 4) {
        return TR_MALFORMED;
    }
    reading->found = tr_arena_array(&reading->arena, reading->count, sizeof *reading->found);
    int error = reading->found == NULL ? TR_MEMORY : 0;
    for (uint32_t i = 0; error == 0 && i < reading->count; i++) {
        error = read_planned(&cursor, 2, &reading->types, &reading->found[i].planned);
    }
    if (error != 0) {
        return error;
    }
    reading->depth = tr_read_u32(&cursor);
    return take_form(&cursor, &reading->form);
}

/*
 * What was not in the document is none, where it can be.
 *
 * Another output that is missing is the task's failure, with the type that it should have.
 */
static int add_missing(struct tri_reading *reading, const struct tri_planned *planned,
                       struct tr_buffer *slots)
{
    static const struct tr_tree none = {.kind = TR_TREE_NULL, .weight = 1};
    struct tr_report report;
    tr_report_init(&report);
    struct tr_literal_reader reader = {.report = &report, .arena = &reading->arena};
    bool is_read =
        tr_type_is_optional(planned->type) && tr_literal_read(&reader, planned->type, &none, slots);
    tr_report_fini(&report);
    if (is_read || slots->error != 0 || reading->arena.error != 0) {
        if (slots->error != 0) {
            return slots->error;
        }
        return reading->arena.error;
    }
    struct tr_text type = tr_type_text(&reading->arena, planned->type);
    return tri_exchange_refuse(reading, "OutputsNotFound",
                               "the output '%.*s' is missing: give a value of type %.*s",
                               TRI_TEXT(planned->name), TRI_SHOWN(type));
}

/* A value with its paths kept. */
static int add_kept(struct tri_reading *reading, const struct tri_planned *planned,
                    struct tr_bytes value, struct tr_buffer *slots)
{
    const struct tr_exchange_keeper *keeper = reading->keeper;
    struct tr_buffer kept;
    tr_buffer_init(&kept, TR_VALUES_BYTES_MAX);
    int error = tri_exchange_kept(reading, planned,
                                  tr_literal_map_paths(planned->type, value, TR_PATHS_ALL,
                                                       keeper->keep, keeper->self, &kept));
    if (error == 0) {
        error = keeper->put(keeper->self, tr_buffer_bytes(&kept), slots);
    }
    tr_buffer_fini(&kept);
    return error;
}

/*
 * What was packed, its paths kept where it may be put elsewhere.
 *
 * A small value is put as it is: its paths are handled by the task itself (exchange.h).
 */
static int add_found(struct tri_reading *reading, const struct tri_found *found,
                     struct tr_buffer *slots)
{
    struct tr_bytes value = {.data = reading->values.data + found->begin, .size = found->size};
    bool may_hold = tr_type_may_hold_paths(found->planned.type, TR_PATHS_ALL);
    return found->size > TR_EXCHANGE_PATHS_BYTES && may_hold
               ? add_kept(reading, &found->planned, value, slots)
               : reading->keeper->put(reading->keeper->self, value, slots);
}

static int add_slots(struct tri_reading *reading, struct tr_buffer *slots)
{
    tr_buffer_array(slots, reading->count);
    int error = slots->error;
    for (uint32_t i = 0; error == 0 && i < reading->count; i++) {
        const struct tri_found *found = &reading->found[i];
        error = found->is_there ? add_found(reading, found, slots)
                                : add_missing(reading, &found->planned, slots);
    }
    return error;
}

/* A graph of Flyte's, which decides one as it is. */
static int read_futures(struct tri_reading *reading, struct tr_bytes document,
                        struct tr_buffer *decision)
{
    reading->is_decision = true;
    return tr_flyte_futures_keep(document, decision);
}

static int read_form(struct tri_reading *reading, struct tr_bytes document, struct tr_buffer *slots)
{
    switch (reading->form) {
    case TR_DOCUMENT_JSON:
        return tri_exchange_read_json(reading);
    case TR_DOCUMENT_FLYTE:
        return tri_exchange_read_flyte(reading, document);
    case TR_DOCUMENT_FLYTE_FUTURES:
        return read_futures(reading, document, slots);
    }
    return TR_MALFORMED;
}

int tr_exchange_read(struct tr_bytes plan, struct tr_bytes document,
                     const struct tr_exchange_keeper *keeper, struct tr_buffer *slots,
                     bool *is_decision, struct tr_exchange_problem *problem)
{
    const struct tr_text text = {.data = (const char *)document.data, .size = document.size};
    struct tri_reading reading = {
        .document = text, .left = text, .keeper = keeper, .problem = problem};
    tr_arena_init(&reading.arena);
    tr_types_init(&reading.types, &reading.arena);
    tr_buffer_init(&reading.values, TR_VALUES_BYTES_MAX);
    int error = open_plan(&reading, plan);
    if (error == 0) {
        error = read_form(&reading, document, slots);
    }
    if (error == 0 && !reading.is_decision) {
        error = add_slots(&reading, slots);
    }
    if (error == 0) {
        *is_decision = reading.is_decision;
    }
    tr_buffer_fini(&reading.values);
    tr_arena_fini(&reading.arena);
    return error;
}
