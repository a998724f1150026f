/*
 * Checksums of rows. A database detects a damaged page if its structure is invalid, but not always
 * a changed byte inside a state or a message; the engine continues from what it loads, so it must
 * be what was written.
 *
 * Words of eight bytes are mixed by invertible steps, so one changed word always changes the
 * result. A table lists the parts of an operation that a row of each kind stores, since only these
 * can be checked.
 */
#include "runtime/journal/checksum.h"

#include <endian.h>
#include <string.h>

enum part {
    PART_KEY = 1 << 0,
    PART_INCARNATION = 1 << 1,
    PART_TYPE = 1 << 2,
    PART_NUMBER = 1 << 3,
    PART_DATA = 1 << 4,
    PART_RECEIVER = 1 << 5,
};

static const uint8_t parts_of_kind[] = {
    [0] = PART_KEY,
    [TRI_OP_PUT_COUNTER] = PART_KEY | PART_NUMBER,
    [TRI_OP_PUT_ACTOR] = PART_KEY | PART_INCARNATION | PART_TYPE | PART_DATA,
    [TRI_OP_PUT_PAGE] = PART_KEY | PART_NUMBER | PART_DATA,
    [TRI_OP_PUT_MESSAGE] = PART_KEY | PART_INCARNATION | PART_NUMBER | PART_DATA | PART_RECEIVER,
    [TRI_OP_PUT_META] = PART_NUMBER | PART_DATA,
    [TRI_OP_PUT_CRASH] = PART_KEY | PART_INCARNATION | PART_TYPE | PART_NUMBER | PART_DATA,
};

/*
 * An odd number without a pattern: the golden ratio's fraction in 64 bits. Multiplication by an odd
 * number modulo 2^64 is invertible, so no change of a word is lost.
 */
#define MULTIPLIER 0x9e3779b97f4a7c15ULL

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * MULTIPLIER;
    return sum ^ (sum >> 29);
}

/*
 * Words are read as little endian, so a store has the same checksums on every machine. The size is
 * mixed in last, so that zeros at the end count.
 */
static uint64_t mix_bytes(uint64_t sum, struct tr_bytes bytes)
{
    uint64_t word;
    size_t at = 0;
    for (; bytes.size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes.data + at, sizeof word);
        sum = mix(sum, le64toh(word));
    }
    if (at < bytes.size) {
        word = 0;
        memcpy(&word, bytes.data + at, bytes.size - at);
        sum = mix(sum, le64toh(word));
    }
    return mix(sum, bytes.size);
}

uint32_t tri_checksum(unsigned kind, const struct tri_op *op)
{
    TR_ASSERT(kind < sizeof parts_of_kind);
    unsigned parts = parts_of_kind[kind];
    uint64_t sum = kind;
    if (parts & PART_KEY) {
        sum = mix(mix(sum, op->key.group), op->key.serial);
    }
    if (parts & (PART_INCARNATION | PART_TYPE)) {
        uint64_t type = parts & PART_TYPE ? op->type : 0;
        sum = mix(sum, type << 32 | op->incarnation);
    }
    if (parts & PART_NUMBER) {
        sum = mix(sum, op->number);
    }
    if (parts & PART_DATA) {
        sum = mix_bytes(sum, op->data);
    }
    /* A row of an older store has none (runtime/sqlite/sqlite_upgrade.c). */
    if ((parts & PART_RECEIVER) != 0 && !tr_group_is_none(op->to_group)) {
        sum = mix(sum, op->to_group);
    }
    return (uint32_t)(sum ^ (sum >> 32));
}

uint32_t tri_checksum_bytes(struct tr_bytes bytes)
{
    uint64_t sum = mix_bytes(0, bytes);
    return (uint32_t)(sum ^ (sum >> 32));
}
