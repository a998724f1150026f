/*
 * Where the two may differ is named here, and nowhere else: the library takes 32 levels of nesting
 * to our 64, and it takes memory for as many elements as an array claims to have.
 */
#include "tests/support/msgpack_reference.h"

#include <stdio.h>
#include <stdlib.h>

/* The library would take 24 bytes for each element claimed: above this it is not asked. */
#define ORACLE_COUNT_MAX 65536

#define PARTS_MAX 40
#define DEPTH_MAX 6

static void pack_number(struct draw *draw, msgpack_packer *packer)
{
    uint64_t value = draw_wide(draw);
    switch (draw_below(draw, 4)) {
    case 0:
        msgpack_pack_uint64(packer, value);
        break;
    case 1:
        msgpack_pack_int64(packer, -(int64_t)(value >> 1) - 1);
        break;
    case 2:
        msgpack_pack_double(packer, (double)value);
        break;
    default:
        msgpack_pack_float(packer, (float)value);
        break;
    }
}

static void pack_content(struct draw *draw, msgpack_packer *packer)
{
    char content[300];
    memset(content, 'c', sizeof content);
    size_t size = draw_below(draw, draw_below(draw, 2) == 0 ? 40 : sizeof content);
    switch (draw_below(draw, 3)) {
    case 0:
        msgpack_pack_str_with_body(packer, content, size);
        break;
    case 1:
        msgpack_pack_bin_with_body(packer, content, size);
        break;
    default:
        msgpack_pack_ext_with_body(packer, content, size, (int8_t)draw_u64(draw));
        break;
    }
}

static void pack_leaf(struct draw *draw, msgpack_packer *packer)
{
    switch (draw_below(draw, 5)) {
    case 0:
        msgpack_pack_nil(packer);
        break;
    case 1:
        msgpack_pack_true(packer);
        break;
    case 2:
        pack_content(draw, packer);
        break;
    default:
        pack_number(draw, packer);
        break;
    }
}

/* Begins an array or a map and returns how many values it wants. */
static size_t pack_container(struct draw *draw, msgpack_packer *packer)
{
    size_t count = draw_below(draw, 20);
    if (draw_below(draw, 2) == 0) {
        msgpack_pack_array(packer, count);
        return count;
    }
    msgpack_pack_map(packer, count);
    return 2 * count;
}

void msgpack_reference_value(struct draw *draw, msgpack_packer *packer)
{
    size_t left[DEPTH_MAX + 1] = {1};
    size_t depth = 0;
    for (size_t parts = 0;; parts++) {
        while (left[depth] == 0) {
            if (depth == 0) {
                return;
            }
            depth--;
        }
        left[depth]--;
        bool may_open = depth < DEPTH_MAX && parts < PARTS_MAX;
        if (may_open && draw_below(draw, 3) == 0) {
            left[++depth] = pack_container(draw, packer);
        } else {
            pack_leaf(draw, packer);
        }
    }
}

/* Whether some four bytes could be the count of an array or map too large for the library. */
static bool may_claim_much(struct tr_bytes bytes)
{
    for (size_t i = 0; i + 4 < bytes.size; i++) {
        const uint8_t *at = bytes.data + i;
        bool is_wide = at[0] == 0xdd || at[0] == 0xdf;
        if (is_wide && ((uint32_t)at[1] << 8 | at[2]) >= ORACLE_COUNT_MAX >> 16) {
            return true;
        }
    }
    return false;
}

/* Ends the process in front of two opinions. */
_Noreturn static void disagree(struct tr_bytes bytes, int error, size_t size, int answer,
                               size_t offset)
{
    fprintf(stderr, "ours: %s, %zu bytes; msgpack-c: %d, %zu bytes; of:", tr_error_name(error),
            size, answer, offset);
    for (size_t i = 0; i < bytes.size; i++) {
        fprintf(stderr, " %02x", bytes.data[i]);
    }
    fprintf(stderr, "\n");
    abort();
}

enum msgpack_reference_answer msgpack_reference_agrees(struct tr_bytes bytes)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    struct tr_bytes ours = tr_read_any(&cursor);
    if (bytes.size == 0 || may_claim_much(bytes)) {
        return ORACLE_SILENT;
    }
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    size_t offset = 0;
    msgpack_unpack_return answer =
        msgpack_unpack_next(&unpacked, (const char *)bytes.data, bytes.size, &offset);
    msgpack_unpacked_destroy(&unpacked);
    bool accepted = answer == MSGPACK_UNPACK_SUCCESS || answer == MSGPACK_UNPACK_EXTRA_BYTES;
    if (answer == MSGPACK_UNPACK_NOMEM_ERROR) {
        return ORACLE_SILENT; /* more than its 32 levels */
    }
    bool same = cursor.error == 0 ? accepted && offset == ours.size : !accepted;
    if (!same) {
        disagree(bytes, cursor.error, ours.size, (int)answer, offset);
    }
    return accepted ? ORACLE_ACCEPTED : ORACLE_REFUSED;
}
