/*
 * The four rounds of RFC 1321 as tables: which word of the block a step takes, by how much it
 * turns, and what it adds, which is the integer part of 2^32 * |sin(i + 1)|.
 */
#include "deploy/entities/md5.h"

#include <string.h>

#define BLOCK_BYTES 64
#define STEPS 64

static const uint32_t sines[STEPS] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static const uint8_t turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

/* Of each round: the word of its first step, and how far the next one's is. */
static const uint8_t words[4][2] = {{0, 1}, {1, 5}, {5, 3}, {0, 7}};

void tr_md5_init(struct tr_md5 *md5)
{
    *md5 = (struct tr_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    return round == 0   ? (b & c) | (~b & d)
           : round == 1 ? (b & d) | (c & ~d)
           : round == 2 ? b ^ c ^ d
                        : c ^ (b | ~d);
}

static void take_block(struct tr_md5 *md5, const uint8_t block[BLOCK_BYTES])
{
    uint32_t x[16];
    uint32_t a = md5->state[0];
    uint32_t b = md5->state[1];
    uint32_t c = md5->state[2];
    uint32_t d = md5->state[3];
    for (size_t i = 0; i < TR_COUNT_OF(x); i++) {
        const uint8_t *at = block + 4 * i;
        x[i] =
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    }
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned round = i / 16;
        unsigned turn = turns[round][i % 4];
        uint32_t word = x[(words[round][0] + words[round][1] * (i % 16)) % 16];
        uint32_t sum = a + mix(round, b, c, d) + word + sines[i];
        a = d;
        d = c;
        c = b;
        b += sum << turn | sum >> (32 - turn);
    }
    md5->state[0] += a;
    md5->state[1] += b;
    md5->state[2] += c;
    md5->state[3] += d;
}

void tr_md5_add(struct tr_md5 *md5, struct tr_bytes bytes)
{
    size_t filled = md5->size % BLOCK_BYTES;
    md5->size += bytes.size;
    while (bytes.size > 0) {
        size_t size = BLOCK_BYTES - filled < bytes.size ? BLOCK_BYTES - filled : bytes.size;
        if (filled == 0 && size == BLOCK_BYTES) {
            take_block(md5, bytes.data);
        } else {
            memcpy(md5->block + filled, bytes.data, size);
            filled += size;
            if (filled == BLOCK_BYTES) {
                take_block(md5, md5->block);
                filled = 0;
            }
        }
        bytes.data += size;
        bytes.size -= size;
    }
}

void tr_md5_end(struct tr_md5 *md5, uint8_t digest[TR_MD5_BYTES])
{
    static const uint8_t padding[BLOCK_BYTES] = {0x80};
    uint64_t bits = md5->size * 8;
    uint8_t count[8];
    size_t filled = md5->size % BLOCK_BYTES;
    size_t size = filled < 56 ? 56 - filled : 120 - filled;
    for (size_t i = 0; i < sizeof count; i++) {
        count[i] = (uint8_t)(bits >> (8 * i));
    }
    tr_md5_add(md5, (struct tr_bytes){.data = padding, .size = size});
    tr_md5_add(md5, (struct tr_bytes){.data = count, .size = sizeof count});
    for (size_t i = 0; i < TR_MD5_BYTES; i++) {
        digest[i] = (uint8_t)(md5->state[i / 4] >> (8 * (i % 4)));
    }
}
