/*
 * The envelope against msgpack-c: the same bytes, field by field, and what is refused.
 */
#include "tests/support/test.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/runtime/envelope.h"
#include "tests/support/draw.h"

static struct tr_envelope drawn_envelope(struct draw *draw)
{
    struct tr_envelope envelope;
#define DRAW(name, bits) envelope.name = (tri_uint##bits)draw_wide(draw);
    TR_ENVELOPE_FIELDS(DRAW)
#undef DRAW
    envelope.envelope_version = TR_ENVELOPE_VERSION;
    envelope.kind = (uint8_t)(TR_KIND_TELL + draw_below(draw, 6));
    envelope.body_size = (uint32_t)draw_below(draw, 40);
    return envelope;
}

static bool equal(const struct tr_envelope *a, const struct tr_envelope *b)
{
    bool same = true;
#define COMPARE(name, bits) same = same && a->name == b->name;
    TR_ENVELOPE_FIELDS(COMPARE)
#undef COMPARE
    return same;
}

/* An envelope and a body of zeros; the bytes are the caller's to free. */
static struct tr_bytes message_of(const struct tr_envelope *envelope)
{
    size_t size = TR_ENVELOPE_BYTES + envelope->body_size;
    uint8_t *bytes = calloc(1, size);
    tr_envelope_pack(envelope, bytes);
    return (struct tr_bytes){bytes, size};
}

static void same_bytes_as_the_library(void **state)
{
    (void)state;
    struct draw draw = {1};
    for (int round = 0; round < 500; round++) {
        struct tr_envelope envelope = drawn_envelope(&draw);
        uint8_t bytes[TR_ENVELOPE_BYTES];
        tr_envelope_pack(&envelope, bytes);
        msgpack_sbuffer expected;
        msgpack_sbuffer_init(&expected);
        msgpack_packer packer;
        msgpack_packer_init(&packer, &expected, msgpack_sbuffer_write);
        msgpack_pack_array(&packer, TRI_ENVELOPE_FIELD_COUNT);
#define PACK(name, bits) msgpack_pack_fix_uint##bits(&packer, envelope.name);
        TR_ENVELOPE_FIELDS(PACK)
#undef PACK
        assert_int_equal(expected.size, TR_ENVELOPE_BYTES);
        assert_memory_equal(expected.data, bytes, TR_ENVELOPE_BYTES);
        msgpack_sbuffer_destroy(&expected);
    }
}

static void the_library_reads_it(void **state)
{
    (void)state;
    struct draw draw = {2};
    struct tr_envelope envelope = drawn_envelope(&draw);
    uint8_t bytes[TR_ENVELOPE_BYTES];
    tr_envelope_pack(&envelope, bytes);
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    size_t offset = 0;
    assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)bytes, sizeof bytes, &offset),
                     MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(offset, sizeof bytes);
    assert_int_equal(unpacked.data.type, MSGPACK_OBJECT_ARRAY);
    assert_int_equal(unpacked.data.via.array.size, TRI_ENVELOPE_FIELD_COUNT);
    const msgpack_object *object = unpacked.data.via.array.ptr;
#define COMPARE(name, bits)                                          \
    assert_int_equal(object->type, MSGPACK_OBJECT_POSITIVE_INTEGER); \
    assert_true(object->via.u64 == envelope.name);                   \
    object++;
    TR_ENVELOPE_FIELDS(COMPARE)
#undef COMPARE
    msgpack_unpacked_destroy(&unpacked);
}

static void fields_go_round(void **state)
{
    (void)state;
    struct draw draw = {3};
    for (int round = 0; round < 500; round++) {
        struct tr_envelope envelope = drawn_envelope(&draw);
        struct tr_bytes message = message_of(&envelope);
        size_t size = 0;
        assert_int_equal(tr_envelope_check(message, &size), 0);
        assert_int_equal(size, message.size);
        struct tr_envelope read;
        tr_envelope_unpack(message.data, &read);
        assert_true(equal(&read, &envelope));
        assert_ptr_equal(tr_envelope_body(message.data).data, message.data + TR_ENVELOPE_BYTES);
        assert_int_equal(tr_envelope_body(message.data).size, envelope.body_size);
        free((void *)(uintptr_t)message.data);
    }
}

static void single_fields_are_read_and_changed(void **state)
{
    (void)state;
    struct draw draw = {4};
    struct tr_envelope envelope = drawn_envelope(&draw);
    uint8_t bytes[TR_ENVELOPE_BYTES];
    tr_envelope_pack(&envelope, bytes);
#define GET(name, bits) assert_true(tr_envelope_get(bytes, bits, name) == envelope.name);
    TR_ENVELOPE_FIELDS(GET)
#undef GET
    tr_envelope_put(bytes, 8, hops, 200);
    tr_envelope_put(bytes, 32, to_epoch, 0x01020304);
    envelope.hops = 200;
    envelope.to_epoch = 0x01020304;
    struct tr_envelope read;
    tr_envelope_unpack(bytes, &read);
    assert_true(equal(&read, &envelope));
    struct tr_ref to = tr_envelope_to(&envelope);
    struct tr_ref from = tr_envelope_from(&envelope);
    struct tr_ref cause = tr_envelope_cause(&envelope);
    assert_true(to.key.group == envelope.to_group && to.key.serial == envelope.to_serial);
    assert_true(from.key.serial == envelope.from_serial);
    assert_true(from.incarnation == envelope.from_incarnation);
    assert_true(cause.key.group == envelope.cause_group);
    assert_true(cause.incarnation == envelope.cause_incarnation);
}

/* Whatever is wrong, the size is untouched and the error says what it is. */
static void refuse(const uint8_t *bytes, size_t size, int error)
{
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    size_t message_size = 4711;
    assert_int_equal(tr_envelope_check((struct tr_bytes){copy, size}, &message_size), error);
    assert_int_equal(message_size, 4711);
    free(copy);
}

static void cut_off_at_each_byte(void **state)
{
    (void)state;
    struct draw draw = {5};
    struct tr_envelope envelope = drawn_envelope(&draw);
    envelope.body_size = 10;
    struct tr_bytes message = message_of(&envelope);
    for (size_t kept = 0; kept < message.size; kept++) {
        refuse(message.data, kept, TR_TRUNCATED);
    }
    free((void *)(uintptr_t)message.data);
    size_t size = 0;
    assert_int_equal(tr_envelope_check((struct tr_bytes){NULL, 0}, &size), TR_TRUNCATED);
}

/* Every change of a byte that is a type or a count is malformed. */
static void every_wrong_type_byte(void **state)
{
    (void)state;
    struct draw draw = {6};
    struct tr_envelope envelope = drawn_envelope(&draw);
    struct tr_bytes message = message_of(&envelope);
    uint8_t bytes[TR_ENVELOPE_BYTES + 40];
    memcpy(bytes, message.data, message.size);
    static const size_t tags[] = {0, 1, 2,
#define TAG(name, bits) offsetof(struct tri_envelope_wire, name##_tag),
                                  TR_ENVELOPE_FIELDS(TAG)
#undef TAG
    };
    for (size_t i = 0; i < TR_COUNT_OF(tags); i++) {
        uint8_t right = bytes[tags[i]];
        for (unsigned wrong = 0; wrong < 256; wrong++) {
            bytes[tags[i]] = (uint8_t)wrong;
            if (wrong != right) {
                refuse(bytes, message.size, TR_MALFORMED);
            }
        }
        bytes[tags[i]] = right;
    }
    free((void *)(uintptr_t)message.data);
}

static void versions_kinds_and_sizes(void **state)
{
    (void)state;
    struct draw draw = {7};
    struct tr_envelope envelope = drawn_envelope(&draw);
    uint8_t bytes[TR_ENVELOPE_BYTES];
    envelope.envelope_version = TR_ENVELOPE_VERSION + 1;
    tr_envelope_pack(&envelope, bytes);
    refuse(bytes, sizeof bytes, TR_VERSION);
    /* Of another version nothing is known but its number: it may be shorter, or longer. */
    refuse(bytes, 20, TR_VERSION);
    bytes[2]++;
    bytes[9] ^= 0xff;
    refuse(bytes, sizeof bytes, TR_VERSION);
    envelope.envelope_version = TR_ENVELOPE_VERSION;
    envelope.kind = TR_KIND_CONTROL + 1;
    tr_envelope_pack(&envelope, bytes);
    refuse(bytes, sizeof bytes, TR_MALFORMED);
    envelope.kind = 0;
    tr_envelope_pack(&envelope, bytes);
    refuse(bytes, sizeof bytes, TR_MALFORMED);
    envelope.kind = TR_KIND_TELL;
    envelope.body_size = TR_BODY_BYTES_MAX + 1;
    tr_envelope_pack(&envelope, bytes);
    refuse(bytes, sizeof bytes, TR_LIMIT);
    envelope.body_size = TR_BODY_BYTES_MAX;
    tr_envelope_pack(&envelope, bytes);
    refuse(bytes, sizeof bytes, TR_TRUNCATED);
}

/* Old bytes are read by places: fields keep theirs, until there is a new version. */
static void layout_of_version_1_never_changes(void **state)
{
    (void)state;
    static const char layout[] =
#define PLACE(name, bits) #name ":" #bits " "
        TR_ENVELOPE_FIELDS(PLACE)
#undef PLACE
        ;
    assert_string_equal(
        layout, "envelope_version:8 kind:8 flags:8 hops:8 version:8 type:16 body_size:32 "
                "to_group:64 to_serial:64 to_incarnation:32 to_epoch:32 from_group:64 "
                "from_serial:64 from_incarnation:32 from_epoch:32 sequence:64 cause_group:64 "
                "cause_serial:64 cause_incarnation:32 cause_sequence:64 deadline_ms:64 trace:64 "
                "clock:64 ");
    static const char kinds[] =
#define KIND(name, number, text) text ":" #number " "
        TR_ENVELOPE_KINDS(KIND) TR_ENVELOPE_FLAGS(KIND)
#undef KIND
        ;
    assert_string_equal(kinds, "tell:1 ask:2 reply:3 signal:4 call:5 control:6 "
                               "hint:0 priority:1 forwarded:2 boundary:3 ");
}

static void names_of_kinds_and_flags(void **state)
{
    (void)state;
    assert_string_equal(tr_envelope_kind_name(TR_KIND_TELL), "tell");
    assert_string_equal(tr_envelope_kind_name(TR_KIND_CONTROL), "control");
    assert_string_equal(tr_envelope_kind_name(0), "unknown");
    assert_string_equal(tr_envelope_kind_name(255), "unknown");
    assert_string_equal(tr_envelope_flag_name(0), "hint");
    assert_string_equal(tr_envelope_flag_name(3), "boundary");
    assert_null(tr_envelope_flag_name(4));
    assert_int_equal(TR_FLAG_BOUNDARY, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_as_the_library),
        cmocka_unit_test(the_library_reads_it),
        cmocka_unit_test(fields_go_round),
        cmocka_unit_test(single_fields_are_read_and_changed),
        cmocka_unit_test(cut_off_at_each_byte),
        cmocka_unit_test(every_wrong_type_byte),
        cmocka_unit_test(versions_kinds_and_sizes),
        cmocka_unit_test(layout_of_version_1_never_changes),
        cmocka_unit_test(names_of_kinds_and_flags),
    };
    return cmocka_run_group_tests_name("schemas/runtime/envelope", tests, NULL, NULL);
}
