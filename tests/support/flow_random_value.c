/*
 * Types and values as the language writes them: literals, references and conditions.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/flow_random_inside.h"

static const char *const base_types[] = {
    "int",    "int",           "int",        "bool",    "string",       "[int]", "[int]",  "[int]",
    "struct", "{string: int}", "int | none", "[[int]]", "[int | none]", "float", "string",
};

const char *flow_type_drawn(struct generator *g)
{
    bool is_text = g->options->has_texts && once_in(g, 4);
    return is_text ? "string" : base_types[below(g, TR_COUNT_OF(base_types))];
}

static bool has_tail(const char *type, const char *tail)
{
    size_t size = strlen(type);
    return size >= strlen(tail) && strcmp(type + size - strlen(tail), tail) == 0;
}

static bool is_optional_type(const char *type)
{
    return has_tail(type, " | none");
}

/* Puts a head before a type and a tail behind it. */
static void wrap(char *type, const char *head, const char *tail)
{
    char text[2 * TYPE_BYTES];
    int size = snprintf(text, sizeof text, "%s%s%s", head, type, tail);
    TR_ASSERT(size > 0 && size < TYPE_BYTES);
    memcpy(type, text, (size_t)size + 1);
}

void flow_type_list(char *type)
{
    wrap(type, "[", "]");
}

void flow_type_optional(char *type)
{
    if (!is_optional_type(type)) {
        wrap(type, "", " | none");
    }
}

/* Whether there is room for one more list and none around a type. */
static bool may_grow(const char *type)
{
    return strlen(type) + 18 < TYPE_BYTES;
}

/* Whether a value of one type may go where the other is declared. */
static bool fits(const char *from, const char *to)
{
    char wider[2 * TYPE_BYTES];
    (void)snprintf(wider, sizeof wider, "%s | none", from);
    return strcmp(from, to) == 0 || strcmp(wider, to) == 0;
}

/* The part of a list's or an optional type: what stands before the tail, without the head. */
static void take_part(const char *type, size_t head, size_t tail, char *part)
{
    size_t size = strlen(type) - head - tail;
    memcpy(part, type + head, size);
    part[size] = '\0';
}

/* ---------------------------------------------------------------------------------- values */

void flow_write_literal(struct generator *g, const char *type)
{
    static const char *const words[][2] = {{"true", "false"}, {"0.5", "2.5"}};
    char part[TYPE_BYTES];
    if (is_optional_type(type)) {
        take_part(type, 0, strlen(" | none"), part);
        if (once_in(g, 3)) {
            tr_buffer_add_string(g->text, "null");
        } else {
            flow_write_literal(g, part);
        }
    } else if (type[0] == '[') {
        take_part(type, 1, 1, part);
        uint32_t count = once_in(g, 12) ? 4 + below(g, 8) : below(g, 4);
        bool is_wide = g->options->size > 8 && strcmp(part, "int") == 0 && once_in(g, 100);
        count = is_wide ? 250 + below(g, 20) : count;
        tr_buffer_add_string(g->text, "[");
        for (uint32_t i = 0; i < count; i++) {
            tr_buffer_add_string(g->text, i > 0 ? ", " : "");
            flow_write_literal(g, part);
        }
        tr_buffer_add_string(g->text, "]");
    } else if (type[0] == '{') {
        tr_buffer_print(g->text, "{k0: %u, k1: %u}", below(g, 10), below(g, 10));
    } else if (strcmp(type, "struct") == 0) {
        tr_buffer_print(g->text, "{a: %u, l: [%u, 2], s: s%u}", below(g, 10), below(g, 10),
                        below(g, 10));
    } else if (strcmp(type, "string") == 0) {
        tr_buffer_print(g->text, "s%u", below(g, 10));
    } else if (strcmp(type, "bool") == 0 || strcmp(type, "float") == 0) {
        tr_buffer_add_string(g->text, words[type[0] == 'f'][below(g, 2)]);
    } else {
        TR_ASSERT(strcmp(type, "int") == 0);
        tr_buffer_print(g->text, "%u", below(g, 10));
    }
}

/* A place whose type fits, drawn from all of them, or NULL. */
static const struct place *find_place(struct generator *g, const char *type)
{
    const struct place *found = NULL;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < g->place_count; i++) {
        if (fits(g->places[i].type, type) && once_in(g, ++seen)) {
            found = &g->places[i];
        }
    }
    return found;
}

/* The field of a struct that holds this type; one in twenty is not there. */
static const char *field_of(struct generator *g, const char *type)
{
    const char *field = strcmp(type, "int") == 0      ? "a"
                        : strcmp(type, "string") == 0 ? "s"
                        : strcmp(type, "[int]") == 0  ? "l"
                                                      : NULL;
    return field != NULL && once_in(g, 20) ? "missing" : field;
}

/* A reference with steps: into a struct, a map or a list. */
static bool write_step(struct generator *g, const char *type)
{
    char list[2 * TYPE_BYTES];
    const char *field = field_of(g, type);
    const struct place *place = field != NULL && once_in(g, 2) ? find_place(g, "struct") : NULL;
    if (place != NULL) {
        tr_buffer_print(g->text, "\"%s.%s\"", place->text, field);
        return true;
    }
    place = strcmp(type, "int") == 0 && once_in(g, 3) ? find_place(g, "{string: int}") : NULL;
    if (place != NULL) {
        tr_buffer_print(g->text, "'%s[\"k0\"]'", place->text);
        return true;
    }
    (void)snprintf(list, sizeof list, "[%s]", type);
    place = find_place(g, list);
    if (place != NULL && strcmp(place->type, list) == 0) {
        tr_buffer_print(g->text, "\"%s[%u]\"", place->text, below(g, 2));
        return true;
    }
    return false;
}

/*
 * A text with what others gave in it; false: there is nothing to refer to. What a struct holds may
 * have no form in a text, or not be there.
 */
static bool write_text(struct generator *g)
{
    static const char *const types[] = {"int", "bool", "string", "float", "struct"};
    static const char *const fields[] = {".a", ".s", ".s", ".a", ".l", ".missing"};
    static const char *const words[] = {"", ".", "$$ ", "s", "{}"};
    uint32_t count = 1 + below(g, 3);
    const struct place *place = find_place(g, types[below(g, TR_COUNT_OF(types))]);
    if (place == NULL) {
        return false;
    }
    tr_buffer_add_string(g->text, "\"t");
    for (uint32_t i = 0; i < count; i++) {
        if (place != NULL) {
            bool is_struct = strcmp(place->type, "struct") == 0;
            uint32_t choice = below(g, once_in(g, 3) ? TR_COUNT_OF(fields) : 4);
            tr_buffer_print(g->text, "{%s%s}", place->text, is_struct ? fields[choice] : "");
        }
        tr_buffer_add_string(g->text, words[below(g, TR_COUNT_OF(words))]);
        place = find_place(g, types[below(g, TR_COUNT_OF(types))]);
    }
    tr_buffer_add_string(g->text, "\"");
    return true;
}

static void write_value(struct generator *g, const char *type, uint32_t depth)
{
    char part[TYPE_BYTES];
    bool is_text = g->options->has_texts && strncmp(type, "string", strlen("string")) == 0;
    if (is_text && once_in(g, 2) && write_text(g)) {
        return;
    }
    uint32_t choice = below(g, 100);
    const struct place *place = choice < 65 ? find_place(g, type) : NULL;
    if (place != NULL) {
        tr_buffer_print(g->text, "%s", place->text);
    } else if (choice >= 65 && choice < 76 && write_step(g, type)) {
        return;
    } else if (choice >= 76 && choice < 86 && depth < 2 && has_tail(type, "]")) {
        take_part(type, 1, 1, part);
        tr_buffer_add_string(g->text, "[");
        for (uint32_t i = 0; i < 2; i++) {
            tr_buffer_add_string(g->text, i > 0 ? ", " : "");
            write_value(g, part, depth + 1);
        }
        tr_buffer_add_string(g->text, "]");
    } else if (choice >= 76 && choice < 86 && depth < 2 && strcmp(type, "struct") == 0) {
        tr_buffer_add_string(g->text, "{a: ");
        write_value(g, "int", depth + 1);
        tr_buffer_add_string(g->text, ", s: ");
        write_value(g, "string", depth + 1);
        tr_buffer_add_string(g->text, "}");
    } else {
        flow_write_literal(g, type);
    }
}

/* ------------------------------------------------------------------------------- conditions */

/* One comparison, or a bool alone. False where no place can be compared. */
static bool write_comparison(struct generator *g)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    static const char *const types[] = {"int", "int", "bool", "string", "int | none"};
    const char *type = types[below(g, TR_COUNT_OF(types))];
    const struct place *place = find_place(g, type);
    if (place == NULL || strcmp(place->type, type) != 0) {
        return false;
    }
    if (strcmp(type, "bool") == 0) {
        tr_buffer_print(g->text, "%s%s", once_in(g, 2) ? "not " : "", place->text);
    } else if (strcmp(type, "int") == 0) {
        tr_buffer_print(g->text, "%s %s %u", place->text, operators[below(g, 6)], below(g, 10));
    } else if (strcmp(type, "string") == 0) {
        tr_buffer_print(g->text, "%s %s \\\"s%u\\\"", place->text, operators[below(g, 2)],
                        below(g, 10));
    } else {
        tr_buffer_print(g->text, "%s %s none", place->text, operators[below(g, 2)]);
    }
    return true;
}

void flow_write_condition(struct generator *g)
{
    if (!write_comparison(g)) {
        tr_buffer_print(g->text, "%u < %u", below(g, 10), below(g, 10));
    }
    if (once_in(g, 3)) {
        tr_buffer_add_string(g->text, once_in(g, 2) ? " and " : " or ");
        tr_buffer_add_string(g->text, once_in(g, 3) ? "not (" : "(");
        flow_write_condition(g);
        tr_buffer_add_string(g->text, ")");
    }
}

void flow_place_add(struct generator *g, const char *owner, const char *name, const char *type)
{
    if (g->place_count < PLACES_MOST && may_grow(type)) {
        struct place *place = &g->places[g->place_count++];
        (void)snprintf(place->text, sizeof place->text, owner[0] != '\0' ? "$%s.%s" : "$%s%s",
                       owner, name);
        memcpy(place->type, type, strlen(type) + 1);
    }
}

void flow_write_value(struct generator *g, const char *type)
{
    write_value(g, type, 0);
}
