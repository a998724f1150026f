/*
 * A type in the first line, then any bytes as a map of literals, as a literal of that type and as
 * an error document: they are refused with words, or become values, which are written again and are
 * then the same values.
 */
#include "actors/graph/flyte/flyte.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"
#include "tests/fuzz/fuzz.h"

/* What one input is looked at with. */
struct look {
    struct tr_arena arena;
    struct tr_report report;
    const struct tr_type *type;
    struct tr_bytes bytes; /* the input behind its first line */
};

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

/* In the file of a literal lies the input itself, or nothing where its name is odd. */
static int open_file(void *self, struct tr_report *report, struct tr_text uri,
                     struct tr_bytes *file)
{
    const struct look *look = self;
    if (uri.size % 2 == 1) {
        tri_report_add(report, (struct tri_place){0}, NULL, "there is no such file");
        return TR_INVALID;
    }
    *file = look->bytes;
    return 0;
}

static void close_file(void *self, struct tr_bytes file)
{
    (void)self;
    (void)file;
}

/* Reads a literal; false with words. */
static bool read_literal(struct look *look, struct tr_bytes literal, struct tr_buffer *value)
{
    struct tr_literal_reader reader = {.report = &look->report, .arena = &look->arena};
    struct tr_flyte_files files = {
        .open = open_file, .close = close_file, .self = look, .left_bytes = 1U << 16};
    const struct tr_tree *tree =
        tr_flyte_literal(&look->arena, &look->report, look->type, literal, &files);
    bool is_read = tree != NULL && tr_literal_read(&reader, look->type, tree, value);
    TR_ASSERT(is_read || look->arena.error != 0 || tr_report_total(&look->report) > 0);
    return is_read && look->arena.error == 0;
}

static void write_again(struct look *look, struct tr_bytes value)
{
    struct tr_buffer document;
    struct tr_buffer again;
    struct tr_bytes literal;
    tr_buffer_init(&document, 0);
    tr_buffer_init(&again, 0);
    TR_ASSERT(tr_literal_check(look->type, value) == 0);
    int error = tr_flyte_write(tr_text_of("x"), look->type, 0, value, put, &document);
    TR_ASSERT(error == 0 || error == TR_INVALID);
    if (error == 0) {
        TR_ASSERT(tr_flyte_find(tr_buffer_bytes(&document), tr_text_of("x"), &literal) == 0);
        TR_ASSERT(read_literal(look, literal, &again));
    }
    tr_buffer_fini(&again);
    tr_buffer_fini(&document);
}

static void look_at(struct look *look, struct tr_bytes bytes)
{
    struct tr_buffer value;
    struct tr_bytes literal;
    struct tr_flyte_error said;
    struct tr_flyte_elsewhere where;
    tr_buffer_init(&value, 0);
    if (tr_flyte_find(bytes, tr_text_of("x"), &literal) != 0) {
        literal = bytes;
    }
    (void)tr_flyte_is_elsewhere(&look->arena, literal, &where);
    if (read_literal(look, literal, &value)) {
        write_again(look, tr_buffer_bytes(&value));
    }
    for (int form = TR_FLYTE_HASH_OF_PROPELLER; form <= TR_FLYTE_HASH_OF_FLYTEKIT; form++) {
        uint8_t hash[TR_FLYTE_HASH_BYTES];
        int hashed = tr_flyte_hash(bytes, (enum tr_flyte_hash_form)form, hash);
        TR_ASSERT(hashed == 0 || hashed == TR_MALFORMED || hashed == TR_LIMIT);
    }
    int error = tr_flyte_error_read(&look->arena, bytes, &said);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_LIMIT);
    TR_ASSERT(error != 0 || (said.code.size > 0 && said.message.size > 0));
    tr_buffer_fini(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *feed = size == 0 ? NULL : memchr(data, '\n', size);
    struct look look;
    struct tr_types types;
    struct tr_text problem;
    if (feed == NULL) {
        return 0;
    }
    size_t head = (size_t)(feed - data);
    tr_arena_init(&look.arena);
    tr_report_init(&look.report);
    tr_types_init(&types, &look.arena);
    struct tr_text name = {.data = (const char *)data, .size = head};
    look.type = tr_utf8_valid(name) ? tr_type_parse(&types, name, &problem) : NULL;
    if (look.type != NULL) {
        struct tr_bytes bytes = {.data = feed + 1, .size = size - head - 1};
        look.bytes = bytes;
        look_at(&look, bytes);
    }
    tr_report_fini(&look.report);
    tr_arena_fini(&look.arena);
    return 0;
}
