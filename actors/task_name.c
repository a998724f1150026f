/*
 * Flyte's short ids and the names of attempts: FNV-1a in three widths, base32 in Flyte's alphabet.
 */
#include "actors/store/task_name.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

/* flyteplugins/go/tasks/pluginmachinery/encoding/encoder.go: specialEncoderKey. */
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz123456";

#define HASH_BYTES_MAX 16
#define ENCODED_BYTES_MAX 26 /* of 128 bits, five in a character */
#define FRONT_BYTES_MAX 24

uint64_t tr_fnv_64(uint64_t hash, struct tr_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 0x100000001b3U;
    }
    return hash;
}

static uint32_t fnv_32(uint32_t hash, struct tr_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 16777619U;
    }
    return hash;
}

static unsigned __int128 fnv_128(unsigned __int128 hash, struct tr_bytes bytes)
{
    const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * prime;
    }
    return hash;
}

/* A hash of any of the widths, going on. */
struct fnv {
    enum tr_fnv width;
    uint32_t of_32;
    uint64_t of_64;
    unsigned __int128 of_128;
};

static struct fnv fnv_begin(enum tr_fnv width)
{
    return (struct fnv){
        .width = width,
        .of_32 = 2166136261U,
        .of_64 = TR_FNV_64_BEGIN,
        .of_128 = (unsigned __int128)0x6c62272e07bb0142U << 64 | 0x62b821756295c58dU,
    };
}

static void fnv_add(struct fnv *hash, const void *data, size_t size)
{
    struct tr_bytes bytes = {.data = data, .size = size};
    if (hash->width == TR_FNV_32) {
        hash->of_32 = fnv_32(hash->of_32, bytes);
    } else if (hash->width == TR_FNV_64) {
        hash->of_64 = tr_fnv_64(hash->of_64, bytes);
    } else {
        hash->of_128 = fnv_128(hash->of_128, bytes);
    }
}

/* The hash in base32, first bit first, without padding. Returns the number of characters. */
static size_t fnv_encode(const struct fnv *hash, char text[ENCODED_BYTES_MAX])
{
    unsigned bits = (unsigned)hash->width;
    unsigned __int128 value = hash->width == TR_FNV_32   ? hash->of_32
                              : hash->width == TR_FNV_64 ? hash->of_64
                                                         : hash->of_128;
    size_t count = (bits + 4) / 5;
    for (size_t i = 0; i < count; i++) {
        unsigned end = 5 * (unsigned)(i + 1);
        unsigned place = end <= bits ? (unsigned)(value >> (bits - end) & 31)
                                     : (unsigned)(value << (end - bits) & 31);
        text[i] = alphabet[place];
    }
    return count;
}

static struct fnv hash_parts(const struct tr_text *parts, size_t count, enum tr_fnv width)
{
    struct fnv hash = fnv_begin(width);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            fnv_add(&hash, "-", 1);
        }
        fnv_add(&hash, parts[i].data, parts[i].size);
    }
    return hash;
}

static size_t joined_size(const struct tr_text *parts, size_t count)
{
    size_t size = count > 0 ? count - 1 : 0;
    for (size_t i = 0; i < count; i++) {
        size += parts[i].size;
    }
    return size;
}

static void join(const struct tr_text *parts, size_t count, char *id)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            *id++ = '-';
        }
        if (parts[i].size > 0) {
            memcpy(id, parts[i].data, parts[i].size);
        }
        id += parts[i].size;
    }
    *id = '\0';
}

int tr_unique_id(const struct tr_text *parts, size_t count, size_t size_max, enum tr_fnv width,
                 char *id, size_t capacity)
{
    size_t size = joined_size(parts, count);
    if (size <= size_max) {
        if (size >= capacity) {
            return TR_LIMIT;
        }
        join(parts, count, id);
        return 0;
    }
    char encoded[ENCODED_BYTES_MAX];
    struct fnv hash = hash_parts(parts, count, width);
    size_t encoded_size = fnv_encode(&hash, encoded);
    if (encoded_size + 1 >= capacity) {
        return TR_LIMIT;
    }
    id[0] = 'f';
    memcpy(id + 1, encoded, encoded_size);
    id[encoded_size + 1] = '\0';
    return encoded_size + 1 > size_max ? TR_LIMIT : 0;
}

/* Adds what is readable of a text: letters in lower case, digits, and `-` for anything else. */
static size_t add_readable(char *front, size_t size, struct tr_text text)
{
    for (size_t i = 0; i < text.size && size < FRONT_BYTES_MAX; i++) {
        char letter = text.data[i];
        if (letter >= 'A' && letter <= 'Z') {
            letter = (char)(letter - 'A' + 'a');
        }
        bool is_fine = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        front[size++] = is_fine ? letter : '-';
    }
    return size;
}

struct tr_text tr_task_name_last(struct tr_text address)
{
    size_t begin = address.size;
    while (begin > 0 && address.data[begin - 1] != '/') {
        begin--;
    }
    return (struct tr_text){.data = address.data + begin, .size = address.size - begin};
}

static struct fnv hash_name(const struct tr_task_name *of)
{
    struct fnv hash = fnv_begin(TR_FNV_128);
    const uint64_t numbers[] = {of->number, of->element, of->execution.size};
    for (size_t i = 0; i < TR_COUNT_OF(numbers); i++) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            uint8_t byte = (uint8_t)(numbers[i] >> shift);
            fnv_add(&hash, &byte, 1);
        }
    }
    fnv_add(&hash, of->execution.data, of->execution.size);
    fnv_add(&hash, of->path.data, of->path.size);
    return hash;
}

void tr_task_name(const struct tr_task_name *of, char name[TR_TASK_NAME_BYTES_MAX + 1])
{
    char front[FRONT_BYTES_MAX];
    char encoded[ENCODED_BYTES_MAX];
    struct tr_text execution = tr_task_name_last(of->execution);
    size_t size = 0;
    if (execution.size == 0 ||
        !((execution.data[0] | 32) >= 'a' && (execution.data[0] | 32) <= 'z')) {
        front[size++] = 't';
    }
    size = add_readable(front, size, execution);
    size = add_readable(front, size, tr_text_of("-"));
    size = add_readable(front, size, of->path);
    if (of->element != TR_ELEMENT_NONE) {
        char number[24];
        (void)snprintf(number, sizeof number, "-%llu", (unsigned long long)of->element);
        size = add_readable(front, size, tr_text_of(number));
    }
    struct fnv hash = hash_name(of);
    size_t encoded_size = fnv_encode(&hash, encoded);
    (void)snprintf(name, TR_TASK_NAME_BYTES_MAX + 1, "%.*s-%.*s-%u", (int)size, front,
                   (int)encoded_size, encoded, of->attempt);
}
