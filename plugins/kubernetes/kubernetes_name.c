/*
 * Names: of groups, of pods, and of a pod's life.
 *
 * A pod's name has to be the same whenever it is asked for, after a restart and from another store
 * of the same attempt, too: it follows from the identity and the store that made it, both of which
 * a batch's item and group have.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

bool tri_kubernetes_group_read(struct tr_text group, struct tri_kubernetes_group *parts)
{
    const char *first = group.size == 0 ? NULL : memchr(group.data, '/', group.size);
    const char *end = group.data + group.size;
    if (first == NULL || first == group.data || first + 1 == end) {
        return false;
    }
    const char *second = memchr(first + 1, '/', (size_t)(end - first) - 1);
    const char *store_end = second == NULL ? end : second;
    const char *colon = memchr(group.data, ':', (size_t)(first - group.data));
    const char *namespace_end = colon == NULL ? first : colon;
    const char *kind = colon == NULL ? first : colon + 1;
    *parts = (struct tri_kubernetes_group){
        .namespace = {.data = group.data, .size = (size_t)(namespace_end - group.data)},
        .kind = {.data = kind, .size = (size_t)(first - kind)},
        .store = {.data = first + 1, .size = (size_t)(store_end - first) - 1},
    };
    if (second != NULL) {
        parts->mark = (struct tr_text){.data = second + 1, .size = (size_t)(end - second) - 1};
    }
    return true;
}

/* Up to a mark, which is passed over; all of it where there is none. */
static struct tr_text take_until(struct tr_text *text, char mark)
{
    const char *found = text->size == 0 ? NULL : memchr(text->data, mark, text->size);
    size_t size = found == NULL ? text->size : (size_t)(found - text->data);
    size_t passed = found == NULL ? size : size + 1;
    struct tr_text part = {.data = text->data, .size = size};
    *text = (struct tr_text){.data = text->data + passed, .size = text->size - passed};
    return part;
}

bool tri_kubernetes_kind_read(struct tr_text kind, struct tri_kubernetes_kind *parts)
{
    struct tr_text rest = kind;
    struct tr_text most = take_until(&rest, ':');
    size_t number = 0;
    size_t digits = 0;
    while (digits < most.size && most.data[digits] >= '0' && most.data[digits] <= '9') {
        number = number > TR_KUBERNETES_NAME_BYTES_MAX
                     ? number
                     : 10 * number + (size_t)(most.data[digits] - '0');
        digits++;
    }
    *parts = (struct tri_kubernetes_kind){.is_cluster = digits < most.size,
                                          .name_bytes_max = number,
                                          .plural = take_until(&rest, '.')};
    parts->version = take_until(&rest, '.');
    parts->group = rest;
    return number >= TR_CARD_RESOURCE_NAME_BYTES_MIN && number <= TR_KUBERNETES_NAME_BYTES_MAX &&
           parts->plural.size > 0 && parts->version.size > 0;
}

static uint64_t hash(uint64_t hash, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (uint8_t)text.data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

void tri_kubernetes_mark(struct tr_text store, struct tr_text identity,
                         char mark[TR_POD_MARK_BYTES + 1])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint64_t value = hash(UINT64_C(0xcbf29ce484222325), store);
    value = hash(hash(value, tr_text_of("/")), identity);
    for (size_t i = 0; i < TR_POD_MARK_BYTES; i++) {
        mark[i] = alphabet[value & 31];
        value >>= 5;
    }
    mark[TR_POD_MARK_BYTES] = '\0';
}

/* What a name may have: small letters and digits, and what is none of these as "-". */
static char plain(char letter)
{
    char small = (char)(letter >= 'A' && letter <= 'Z' ? letter | 32 : letter);
    bool is_plain = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
    return is_plain ? small : '-';
}

static void name_within(struct tr_text store, struct tr_text identity, size_t bytes_max,
                        char name[TR_KUBERNETES_NAME_BYTES_MAX + 1])
{
    char mark[TR_POD_MARK_BYTES + 1];
    size_t most = bytes_max - TR_POD_MARK_BYTES - 1;
    size_t size = 0;
    tri_kubernetes_mark(store, identity, mark);
    for (size_t i = 0; i < identity.size && size < most; i++) {
        char letter = plain(identity.data[i]);
        bool is_first = size == 0 && letter == '-';
        name[size] = letter;
        size += is_first ? 0 : 1;
    }
    while (size > 0 && name[size - 1] == '-') {
        size--;
    }
    (void)snprintf(name + size, TR_KUBERNETES_NAME_BYTES_MAX + 1 - size, "%s%s",
                   size > 0 ? "-" : "", mark);
}

void tri_kubernetes_name(struct tr_text store, struct tr_text identity,
                         char name[TR_KUBERNETES_NAME_BYTES_MAX + 1])
{
    name_within(store, identity, TR_KUBERNETES_NAME_BYTES_MAX, name);
}

void tri_kubernetes_name_in(const struct tri_kubernetes_group *group, struct tr_text identity,
                            char name[TR_KUBERNETES_NAME_BYTES_MAX + 1])
{
    struct tri_kubernetes_kind kind;
    bool is_kind = group->kind.size > 0 && tri_kubernetes_kind_read(group->kind, &kind);
    name_within(group->store, identity,
                is_kind ? kind.name_bytes_max : TR_KUBERNETES_NAME_BYTES_MAX, name);
}

/* ------------------------------------------------------------------------- uid and handle */

#define UUID_TEXT 36
#define UUID_BYTES 16
#define UUID_LETTERS 22

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int hex(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

/* 8-4-4-4-12 small hexadecimal digits. */
static bool read_uuid(struct tr_text uid, uint8_t bytes[UUID_BYTES])
{
    size_t count = 0;
    for (size_t i = 0; i < uid.size; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        int digit = hex(uid.data[i]);
        if (uid.size != UUID_TEXT || (is_dash ? uid.data[i] != '-' : digit < 0)) {
            return false;
        }
        if (!is_dash) {
            bytes[count / 2] = (uint8_t)(count % 2 == 0 ? digit << 4 : bytes[count / 2] | digit);
            count++;
        }
    }
    return uid.size == UUID_TEXT;
}

struct tr_text tri_kubernetes_handle(struct tr_text uid, char room[TRI_KUBERNETES_UID_BYTES])
{
    uint8_t bytes[UUID_BYTES + 2] = {0};
    if (!read_uuid(uid, bytes)) {
        return uid;
    }
    for (size_t i = 0; i < UUID_LETTERS; i++) {
        size_t bit = 6 * i;
        unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
        room[i] = letters[pair >> (10 - bit % 8) & 63];
    }
    return (struct tr_text){.data = room, .size = UUID_LETTERS};
}

struct tr_text tri_kubernetes_uid(struct tr_text handle, char room[TRI_KUBERNETES_UID_BYTES])
{
    uint8_t bytes[UUID_BYTES + 2] = {0};
    for (size_t i = 0; i < handle.size; i++) {
        const char *place = memchr(letters, handle.data[i], sizeof letters - 1);
        size_t bit = 6 * i;
        if (handle.size != UUID_LETTERS || place == NULL) {
            return handle;
        }
        unsigned pair = (unsigned)(place - letters) << (10 - bit % 8);
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] | pair >> 8);
        bytes[bit / 8 + 1] = (uint8_t)(bytes[bit / 8 + 1] | (pair & 255));
    }
    if (handle.size != UUID_LETTERS) {
        return handle;
    }
    size_t size = 0;
    for (size_t i = 0; i < UUID_BYTES; i++) {
        bool has_dash = i == 4 || i == 6 || i == 8 || i == 10;
        size += (size_t)snprintf(room + size, TRI_KUBERNETES_UID_BYTES - size, "%s%02x",
                                 has_dash ? "-" : "", bytes[i]);
    }
    return (struct tr_text){.data = room, .size = size};
}
