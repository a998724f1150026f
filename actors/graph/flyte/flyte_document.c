/*
 * Documents as wholes: the layers around the literals of a map and of a list, which are walked
 * without unpacking them, and error.pb.
 *
 * A LiteralMap on the wire is a sequence of entries, each a message of key and value; a list is a
 * literal around a sequence of literals. Both are read here field by field, and only one entry or
 * one element at a time is unpacked by the library (flyte_read.c). So a large list costs the memory
 * of its largest element. What is returned are views into the document.
 *
 * Protobuf's rule for fields that occur twice is that the last one counts. Unknown fields are
 * passed over, as a newer Flyte may write them.
 */
#include <flyteidl/errors.pb-c.h>

#include "actors/graph/flyte/flyte_inside.h"
#include "schemas/codec/error.h"

/* Fields of the outermost layers, as schemas/flyteidl/literals.proto has them. */
enum field { MAP_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, COLLECTION_LITERAL = 1 };
enum literal_field { LITERAL_COLLECTION = 2, LITERAL_OFFLOADED = 8 };

static struct tri_wire wire_of(const struct tr_flyte_walk *walk)
{
    return (struct tri_wire){.at = walk->at, .end = walk->end, .is_malformed = walk->is_malformed};
}

/*
 * The next field of this number; false at the end, and where the bytes are no message, which the
 * walk notes. The walk shows no type of flyte_wire.h, so its state is copied in and out.
 */
static bool next_of(struct tr_flyte_walk *walk, uint32_t number, struct tr_bytes *bytes)
{
    struct tri_wire wire = wire_of(walk);
    struct tri_wire_field field = {.number = 0};
    bool is_found = false;
    while (!is_found && tri_wire_next(&wire, &field)) {
        is_found = field.number == number && field.has_bytes;
    }
    *walk =
        (struct tr_flyte_walk){.at = wire.at, .end = wire.end, .is_malformed = wire.is_malformed};
    if (is_found) {
        *bytes = field.bytes;
    }
    return is_found;
}

struct tr_flyte_walk tr_flyte_entries(struct tr_bytes document)
{
    return (struct tr_flyte_walk){.at = document.data, .end = document.data + document.size};
}

/*
 * An entry without a key has the key "", and one without a value an empty literal: protobuf leaves
 * out fields that have their default.
 */
bool tr_flyte_next_entry(struct tr_flyte_walk *walk, struct tr_flyte_entry *entry)
{
    struct tr_bytes bytes;
    struct tri_wire_field field;
    if (!next_of(walk, MAP_ENTRY, &bytes)) {
        return false;
    }
    struct tri_wire wire = tri_wire_of(bytes);
    struct tr_flyte_entry found = {.name = tr_text_of("")};
    while (tri_wire_next(&wire, &field)) {
        if (field.has_bytes && field.number == ENTRY_KEY) {
            found.name =
                (struct tr_text){.data = (const char *)field.bytes.data, .size = field.bytes.size};
        } else if (field.has_bytes && field.number == ENTRY_VALUE) {
            found.literal = field.bytes;
        }
    }
    if (wire.is_malformed || !tr_utf8_valid(found.name)) {
        walk->is_malformed = true;
        return false;
    }
    *entry = found;
    return true;
}

/*
 * The content of a field that occurs once; false where it is not there. Protobuf merges messages
 * that occur several times, and a view cannot show that, so these are left to the library, too.
 */
static bool find_field(struct tr_bytes literal, uint32_t number, struct tr_bytes *bytes)
{
    struct tri_wire wire = tri_wire_of(literal);
    struct tri_wire_field field;
    uint32_t found = 0;
    while (tri_wire_next(&wire, &field)) {
        if (field.number == number && field.has_bytes) {
            *bytes = field.bytes;
            found++;
        }
    }
    return found == 1 && !wire.is_malformed;
}

/*
 * Walks to the end even behind a hit: a later entry of the same key counts, and a damaged end makes
 * the whole document malformed.
 */
int tr_flyte_find(struct tr_bytes document, struct tr_text name, struct tr_bytes *literal)
{
    struct tr_flyte_walk walk = tr_flyte_entries(document);
    struct tr_flyte_entry entry;
    struct tr_bytes found = {.data = NULL};
    bool is_found = false;
    while (tr_flyte_next_entry(&walk, &entry)) {
        if (tr_text_equal(entry.name, name)) {
            found = entry.literal;
            is_found = true;
        }
    }
    if (walk.is_malformed || !is_found) {
        return walk.is_malformed ? TR_MALFORMED : TR_NOT_FOUND;
    }
    *literal = found;
    return 0;
}

bool tr_flyte_elements(struct tr_bytes literal, struct tr_flyte_walk *walk)
{
    struct tr_bytes collection;
    if (!find_field(literal, LITERAL_COLLECTION, &collection)) {
        return false;
    }
    *walk = tr_flyte_entries(collection);
    return true;
}

bool tr_flyte_next_element(struct tr_flyte_walk *walk, struct tr_bytes *literal)
{
    return next_of(walk, COLLECTION_LITERAL, literal);
}

bool tr_flyte_is_elsewhere(struct tr_arena *arena, struct tr_bytes literal,
                           struct tr_flyte_elsewhere *where)
{
    struct tr_bytes bytes;
    if (!find_field(literal, LITERAL_OFFLOADED, &bytes)) {
        return false;
    }
    const Flyteidl__Core__LiteralOffloadedMetadata *offloaded =
        tri_wire_unpack(arena, &flyteidl__core__literal_offloaded_metadata__descriptor, bytes);
    if (offloaded == NULL) {
        return false;
    }
    *where = (struct tr_flyte_elsewhere){.uri = tr_text_of(offloaded->uri),
                                         .size_bytes = offloaded->size_bytes};
    return true;
}

bool tr_flyte_is_size(const struct tr_flyte_elsewhere *where, struct tr_bytes file,
                      struct tr_report *report)
{
    if (where->size_bytes == 0 || where->size_bytes == file.size) {
        return true;
    }
    tri_report_add(report, (struct tri_place){0}, "InvalidValue",
                   "the literal in '%.*s' has %llu bytes, and the file has %zu\n"
                   "write the file anew, whole",
                   TRI_TEXT(where->uri), (unsigned long long)where->size_bytes, file.size);
    return false;
}

/* ------------------------------------------------------------------ graphs */

int tr_flyte_futures_keep(struct tr_bytes futures, struct tr_buffer *decision)
{
    tr_buffer_add(decision, "", 1);
    tr_buffer_add(decision, futures.data, futures.size);
    return decision->error;
}

bool tr_flyte_futures_are(struct tr_bytes decision, struct tr_bytes *futures)
{
    bool is_one = decision.size > 0 && decision.data[0] == 0;
    if (is_one) {
        *futures = (struct tr_bytes){.data = decision.data + 1, .size = decision.size - 1};
    }
    return is_one;
}

/* ------------------------------------------------------------------ errors */

typedef Flyteidl__Core__ContainerError container_error;

/* Flyte's order: one without a time is that of 1970. */
static bool is_earlier(const container_error *a, const container_error *b)
{
    static const Google__Protobuf__Timestamp none = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    const Google__Protobuf__Timestamp *x = a->timestamp != NULL ? a->timestamp : &none;
    const Google__Protobuf__Timestamp *y = b->timestamp != NULL ? b->timestamp : &none;
    return x->seconds != y->seconds ? x->seconds < y->seconds : x->nanos < y->nanos;
}

/*
 * The earliest error of a document, which may be several documents one behind the other: an
 * ErrorDocument is nothing but the field of its error. NULL: one of them is none, or memory ended.
 */
static const container_error *find_earliest(struct tr_arena *arena, struct tr_bytes document)
{
    const uint32_t number = flyteidl__core__error_document__descriptor.fields[0].id;
    struct tri_wire wire = tri_wire_of(document);
    struct tri_wire_field field;
    const container_error *earliest = NULL;
    while (tri_wire_next(&wire, &field)) {
        const container_error *found = NULL;
        if (field.number == number && field.has_bytes) {
            found =
                tri_wire_unpack(arena, &flyteidl__core__container_error__descriptor, field.bytes);
            wire.is_malformed = wire.is_malformed || found == NULL;
        }
        if (found != NULL && (earliest == NULL || is_earlier(found, earliest))) {
            earliest = found;
        }
    }
    return wire.is_malformed ? NULL : earliest;
}

int tr_flyte_error_read(struct tr_arena *arena, struct tr_bytes document,
                        struct tr_flyte_error *error)
{
    const container_error *found = find_earliest(arena, document);
    if (found == NULL) {
        return arena->error != 0 ? arena->error : TR_MALFORMED;
    }
    /*
     * Kind and origin are enums of proto3: a value that is not known counts as not recoverable, and
     * as the user's error, which are the answers that repeat nothing.
     */
    struct tr_text words;
    if (tri_flyte_trace_order(arena, found->message, &words) != 0) {
        return TR_MEMORY;
    }
    if (words.size > 0 && found->worker[0] != '\0') {
        words = tr_arena_print(arena, "worker %s: %.*s", found->worker, TRI_TEXT(words));
    }
    *error = (struct tr_flyte_error){
        .code = tr_text_of(found->code[0] != '\0' ? found->code : "TaskFailed"),
        .message = words.size > 0 ? words : tr_text_of("the task says no more"),
        .is_recoverable = found->kind == FLYTEIDL__CORE__CONTAINER_ERROR__KIND__RECOVERABLE,
        .is_systems = found->origin == FLYTEIDL__CORE__EXECUTION_ERROR__ERROR_KIND__SYSTEM,
    };
    return arena->error;
}
