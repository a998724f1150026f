/*
 * CRC-32C (polynomial 0x1EDC6F41, reflected) by a table of sixteen numbers: the start value is all
 * ones, and the result is inverted, as in iSCSI and ext4. Its value is part of file formats.
 */
#include "runtime/env/crc32c.h"

/* The CRC of four bits at a time: small, and quick enough for records of a hundred bytes. */
uint32_t tri_crc32c(struct tr_bytes bytes)
{
    static const uint32_t of_four_bits[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= bytes.data[i];
        crc = crc >> 4 ^ of_four_bits[crc & 15];
        crc = crc >> 4 ^ of_four_bits[crc & 15];
    }
    return ~crc;
}
