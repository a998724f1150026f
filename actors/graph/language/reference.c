/*
 * Names and references: `$name`, then `.field`, `["a field"]` and `[0]`; and texts that hold some
 * in braces, `{$name.field}`.
 *
 * Documents of Flyte's have names of any characters, and inputs that are called as nodes are. There
 * `$["a node"]` is a node and `$start-node["an input"]` an input, whatever they are called.
 *
 * A reference has no blanks in it. What the name stands for, an input, a node or the error, and
 * which of the steps names an output, is the compiler's to find out. Steps lie in the arena; names
 * and plain fields are views into the text, quoted fields are copied, since backslashes are taken
 * out.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/expression.h"

static bool is_name_begin(char byte)
{
    char lower = (char)(byte | 0x20);
    return (lower >= 'a' && lower <= 'z') || byte == '_';
}

static bool is_name_byte(char byte)
{
    return is_name_begin(byte) || (byte >= '0' && byte <= '9') || byte == '-';
}

bool tri_is_name(struct tr_text text)
{
    if (text.size == 0 || text.size > TR_GRAPH_NAME_BYTES_MAX || !is_name_begin(text.data[0])) {
        return false;
    }
    for (size_t i = 1; i < text.size; i++) {
        if (!is_name_byte(text.data[i])) {
            return false;
        }
    }
    return true;
}

struct scan {
    struct tr_arena *arena;
    const char *at;
    const char *end;
    bool is_in_braces; /* the reference ends at a brace, and not with the text */
    const char *problem;
};

static bool fail(struct scan *scan, const char *problem)
{
    scan->problem = problem;
    return false;
}

/*
 * Takes all characters of names and checks then, so that a name that is too long or begins with a
 * digit is one mistake and not two. Names hold `-`, so `$a-b` is one name.
 */
static bool scan_name(struct scan *scan, struct tr_text *name)
{
    const char *begin = scan->at;
    while (scan->at < scan->end && is_name_byte(*scan->at)) {
        scan->at++;
    }
    *name = (struct tr_text){.data = begin, .size = (size_t)(scan->at - begin)};
    return tri_is_name(*name);
}

static bool scan_index(struct scan *scan, struct tr_step *step)
{
    uint64_t index = 0;
    const char *begin = scan->at;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        index = index * 10 + (uint64_t)(*scan->at - '0');
        /*
         * Checked in the loop, before the next digit could overflow. The bound fits the int32 of
         * Flyte's PromiseAttribute.
         */
        if (index > INT32_MAX) {
            return fail(scan, "the index is too large\nwrite a smaller one");
        }
    }
    if (scan->at == begin) {
        return fail(scan, "brackets hold a position or a field in double quotes\n"
                          "write [0] or [\"a field\"]");
    }
    *step = (struct tr_step){.is_index = true, .index = (uint32_t)index, .field = tr_text_of("")};
    return true;
}

/*
 * A field in quotes; a backslash takes the next character as it stands. The copy is never longer
 * than what is left of the text.
 */
static bool scan_quoted(struct scan *scan, struct tr_step *step)
{
    char *field = tr_arena_alloc(scan->arena, (size_t)(scan->end - scan->at));
    size_t size = 0;
    for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++) {
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 1 : 0;
        if (field != NULL) {
            field[size++] = *scan->at;
        }
    }
    if (field == NULL || scan->at == scan->end) {
        return fail(scan, "the field's quotes are not closed\nwrite [\"a field\"]");
    }
    scan->at++;
    *step = (struct tr_step){.field = {.data = field, .size = size}};
    return true;
}

static bool scan_brackets(struct scan *scan, struct tr_step *step)
{
    bool is_quoted = scan->at < scan->end && *scan->at == '"';
    if (!(is_quoted ? scan_quoted(scan, step) : scan_index(scan, step))) {
        return false;
    }
    if (scan->at == scan->end || *scan->at != ']') {
        return fail(scan, "the bracket is not closed\nwrite [0] or [\"a field\"]");
    }
    scan->at++;
    return true;
}

static bool scan_step(struct scan *scan, struct tr_step *step)
{
    if (*scan->at == '[') {
        scan->at++;
        return scan_brackets(scan, step);
    }
    if (*scan->at != '.') {
        return fail(scan, scan->is_in_braces
                              ? "behind the reference stands no brace\n"
                                "write {$name.field}, or {$$ for {$ in a text"
                              : "this is no reference\nwrite $name.field, \"{$name}\" inside of "
                                "text, or $$ for a dollar sign at its beginning");
    }
    scan->at++;
    *step = (struct tr_step){0};
    if (!scan_name(scan, &step->field)) {
        return fail(scan, "behind the point stands no name\n"
                          "write $name.field, or $name[\"any field\"]");
    }
    return true;
}

static bool is_at_end(const struct scan *scan)
{
    return scan->at == scan->end || (scan->is_in_braces && *scan->at == '}');
}

/* What the reference begins with: a name, or that of a node in brackets. */
static bool scan_first(struct scan *scan, struct tri_reference *reference)
{
    struct tr_step node = {.field = tr_text_of("")};
    if (scan->end - scan->at > 1 && memcmp(scan->at, "[\"", 2) == 0) {
        scan->at++;
        bool is_fine = scan_brackets(scan, &node);
        reference->name = node.field;
        reference->scope = TRI_REFERENCE_NODE;
        return is_fine;
    }
    if (scan_name(scan, &reference->name)) {
        return true;
    }
    return fail(scan, scan->is_in_braces
                          ? "behind the dollar sign stands no name\n"
                            "write {$name}, or {$$ for {$ in a text"
                          : "behind the dollar sign stands no name\n"
                            "write $name, or $$ for a dollar sign at the beginning of text");
}

/* An output of the start node is an input of the workflow. */
static void name_input(struct tri_reference *reference)
{
    bool is_start = reference->scope == TRI_REFERENCE_ANY &&
                    tr_text_equal(reference->name, tr_text_of("start-node"));
    if (is_start && reference->step_count > 0 && !reference->steps[0].is_index) {
        reference->scope = TRI_REFERENCE_INPUT;
        reference->name = reference->steps[0].field;
        reference->steps++;
        reference->step_count--;
    }
}

static bool scan_reference(struct scan *scan, struct tri_reference *reference)
{
    if (scan->at == scan->end || *scan->at != '$') {
        return fail(scan, "a reference begins with a dollar sign\nwrite $name");
    }
    scan->at++;
    if (!scan_first(scan, reference)) {
        return false;
    }
    struct tri_vector steps = {0};
    while (!is_at_end(scan)) {
        struct tr_step step;
        if (steps.count == TR_REFERENCE_STEPS_MAX) {
            return fail(scan, "the reference has too many steps\nlet a task take the value apart");
        }
        if (!scan_step(scan, &step)) {
            return false;
        }
        struct tr_step *slot = tri_vector_add(scan->arena, &steps, sizeof *slot);
        if (slot == NULL) {
            return false;
        }
        *slot = step;
    }
    reference->steps = steps.items;
    reference->step_count = steps.count;
    name_input(reference);
    return true;
}

bool tri_reference_parse(struct tr_arena *arena, struct tr_text text,
                         struct tri_reference *reference, struct tr_text *problem)
{
    struct scan scan = {.arena = arena, .at = text.data, .end = text.data + text.size};
    struct tri_reference parsed = {.text = text};
    if (!scan_reference(&scan, &parsed)) {
        *problem = tr_text_of(scan.problem);
        return false;
    }
    *reference = parsed;
    return true;
}

/* ------------------------------------------------------------- references in a text */

/* What stands between references goes into one copy, of which the pieces are views. */
struct pieces {
    struct scan scan;
    struct tri_vector pieces; /* struct tri_piece */
    char *copy;
    size_t begin; /* of the piece that is being copied */
    size_t size;
};

static bool add_piece(struct pieces *pieces, const struct tri_piece *piece)
{
    if (pieces->pieces.count == TR_INTERPOLATION_PIECES_MAX) {
        return fail(&pieces->scan,
                    "the text holds too many references\nlet a task put it together");
    }
    struct tri_piece *added = tri_vector_add(pieces->scan.arena, &pieces->pieces, sizeof *added);
    if (added != NULL) {
        *added = *piece;
    }
    return added != NULL;
}

/* Ends what stands between two references, if there is something. */
static bool add_copied(struct pieces *pieces)
{
    struct tri_piece piece = {
        .text = {.data = pieces->copy + pieces->begin, .size = pieces->size - pieces->begin}};
    pieces->begin = pieces->size;
    return piece.text.size == 0 || add_piece(pieces, &piece);
}

/* `{$name.field}`, of which the brace is behind us. */
static bool add_reference(struct pieces *pieces)
{
    struct scan *scan = &pieces->scan;
    struct tri_piece piece = {.is_reference = true};
    const char *begin = scan->at;
    if (!add_copied(pieces) || !scan_reference(scan, &piece.reference)) {
        return false;
    }
    if (scan->at == scan->end) {
        return fail(scan, "the reference has no closing brace\n"
                          "write {$name.field}, or {$$ for {$ in a text");
    }
    piece.reference.text = (struct tr_text){.data = begin, .size = (size_t)(scan->at - begin)};
    scan->at++;
    return add_piece(pieces, &piece);
}

static bool scan_pieces(struct pieces *pieces)
{
    struct scan *scan = &pieces->scan;
    while (scan->at < scan->end) {
        size_t left = (size_t)(scan->end - scan->at);
        bool is_escape = left > 2 && memcmp(scan->at, "{$$", 3) == 0;
        if (!is_escape && left > 1 && memcmp(scan->at, "{$", 2) == 0) {
            scan->at++;
            if (!add_reference(pieces)) {
                return false;
            }
            continue;
        }
        pieces->copy[pieces->size++] = *scan->at;
        if (is_escape) {
            pieces->copy[pieces->size++] = '$';
        }
        scan->at += is_escape ? 3 : 1;
    }
    return add_copied(pieces);
}

bool tri_interpolation_parse(struct tr_arena *arena, struct tr_text text, bool has_lead,
                             struct tri_interpolation *interpolation, struct tr_text *problem)
{
    bool is_lead = has_lead && text.size > 1 && memcmp(text.data, "$$", 2) == 0;
    struct pieces pieces = {
        .scan = {.arena = arena,
                 .at = text.data + (is_lead ? 1 : 0),
                 .end = text.data + text.size,
                 .is_in_braces = true},
        .copy = tr_arena_alloc(arena, text.size),
    };
    if (pieces.copy == NULL || !scan_pieces(&pieces)) {
        *problem = tr_text_of(pieces.scan.problem);
        return false;
    }
    *interpolation = (struct tri_interpolation){
        .text = text, .pieces = pieces.pieces.items, .count = pieces.pieces.count};
    return true;
}

bool tri_interpolation_is_literal(const struct tri_interpolation *interpolation,
                                  struct tr_text *literal)
{
    bool is_literal = interpolation->count == 0 ||
                      (interpolation->count == 1 && !interpolation->pieces[0].is_reference);
    if (is_literal) {
        *literal = interpolation->count == 0 ? tr_text_of("") : interpolation->pieces[0].text;
    }
    return is_literal;
}
