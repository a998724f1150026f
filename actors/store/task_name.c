/*
 * The names of attempts: 128 bits of FNV-1a, in base32 with Flyte's alphabet.
 *
 * The hash covers everything that tells one attempt from another but its number, which stands
 * behind it in full: so the attempts of one task have names that differ in their end only. The
 * readable front is for people, and is cut to fit 63 bytes with the rest, the limit of a DNS label
 * (RFC 1123) that Kubernetes has for names.
 */
#include "actors/store/task_name.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

/* flyteplugins/go/tasks/pluginmachinery/encoding/encoder.go: specialEncoderKey. */
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz123456";

#define ENCODED_BYTES 26 /* of 128 bits, five in a character */
#define FRONT_BYTES_MAX 24

uint64_t tr_fnv_64(uint64_t hash, struct tr_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 0x100000001b3U;
    }
    return hash;
}

static unsigned __int128 fnv_128(unsigned __int128 hash, const void *data, size_t size)
{
    /* The prime and the offset below are those of FNV-1a for 128 bits. */
    const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * prime;
    }
    return hash;
}

/* The hash in base32, first bit first, without padding. */
static void encode(unsigned __int128 hash, char text[ENCODED_BYTES])
{
    for (unsigned i = 0; i < ENCODED_BYTES; i++) {
        unsigned end = 5 * (i + 1);
        unsigned place = (unsigned)((end <= 128 ? hash >> (128 - end) : hash << (end - 128)) & 31);
        text[i] = alphabet[place];
    }
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

/* Numbers have a fixed width, and the execution's name comes with its size: no two differ only in
 * where one part ends and the next begins. */
static unsigned __int128 hash_name(const struct tr_task_name *of)
{
    unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142U << 64 | 0x62b821756295c58dU;
    const uint64_t numbers[] = {of->number, of->element, of->execution.size};
    for (size_t i = 0; i < TR_COUNT_OF(numbers); i++) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            uint8_t byte = (uint8_t)(numbers[i] >> shift);
            hash = fnv_128(hash, &byte, 1);
        }
    }
    hash = fnv_128(hash, of->execution.data, of->execution.size);
    return fnv_128(hash, of->path.data, of->path.size);
}

void tr_task_name(const struct tr_task_name *of, char name[TR_TASK_NAME_BYTES_MAX + 1])
{
    char front[FRONT_BYTES_MAX];
    char encoded[ENCODED_BYTES];
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
    encode(hash_name(of), encoded);
    (void)snprintf(name, TR_TASK_NAME_BYTES_MAX + 1, "%.*s-%.*s-%u", (int)size, front,
                   ENCODED_BYTES, encoded, of->attempt);
}
