/*
 * The names of launched executions: readable at their beginning, the same whenever they are asked
 * for, and each launch node's own.
 */
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/services/launch.h"
#include "runtime/limits.h"

/*
 * 12 letters of 5 bits: 60 bits of the hash, as launch.h says. 32 letters make 5 bits each, so none
 * is likelier than another.
 */
#define LETTERS 12

/* What identifies a launch: execution, path and two numbers in words. */
#define IDENTITY_BYTES_MAX (3 * TR_NAME_BYTES_MAX + TR_ADDRESS_BYTES_MAX + 64)

/*
 * Adds so many bytes as there is room for. More than there is room for cannot come: the bounds of
 * names and addresses make up the room.
 */
static void add(uint8_t *bytes, size_t *size, const void *data, size_t count)
{
    size_t left = IDENTITY_BYTES_MAX - *size;
    count = count < left ? count : left;
    if (count > 0) {
        memcpy(bytes + *size, data, count);
    }
    *size += count;
}

/*
 * Paths hold no byte 0, so that what is joined by it differs where a part does. The two numbers
 * have a fixed size and come first, so they need no end.
 */
static void hash_identity(const struct tr_node_start *start, uint8_t hash[32])
{
    static const uint8_t end;
    uint8_t bytes[IDENTITY_BYTES_MAX];
    size_t size = 0;
    add(bytes, &size, &start->number, sizeof start->number);
    add(bytes, &size, &start->element, sizeof start->element);
    add(bytes, &size, start->execution.data, start->execution.size);
    add(bytes, &size, &end, 1);
    add(bytes, &size, start->path.data, start->path.size);
    tr_digest((struct tr_bytes){.data = bytes, .size = size}, hash);
}

struct tr_text tr_launch_target(const struct tr_graph *graph, const struct tr_node *node)
{
    return node->target_kind == TR_TARGET_PLAN ? graph->plans[node->target].name
                                               : graph->workflows[node->target].name;
}

size_t tr_launch_name_begin(struct tr_text called, char *name, size_t most)
{
    size_t begin = called.size;
    size_t size = 0;
    while (begin > 0 && called.data[begin - 1] != '.') {
        begin--;
    }
    for (size_t i = begin; i < called.size && size < most; i++) {
        char letter = called.data[i];
        bool is_large = letter >= 'A' && letter <= 'Z';
        letter = is_large ? (char)(letter - 'A' + 'a') : letter;
        bool is_first = size == 0;
        bool is_fine = (letter >= 'a' && letter <= 'z') || (is_first && letter == '_') ||
                       (!is_first && letter >= '0' && letter <= '9');
        name[size++] = is_fine ? letter : is_first ? 'x' : '-';
    }
    return size;
}

void tr_launch_name(struct tr_text launched, const struct tr_node_start *start,
                    char name[TR_LAUNCH_NAME_BYTES])
{
    /* Without letters and digits that look alike. */
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    uint8_t hash[32];
    hash_identity(start, hash);
    /*
     * The readable part is for people alone and may be cut: what makes the name unlike others is
     * behind the hyphen. The 2 bytes are the hyphen and the end.
     */
    size_t size = tr_launch_name_begin(launched, name, TR_LAUNCH_NAME_BYTES - LETTERS - 2);
    name[size++] = '-';
    for (size_t i = 0; i < LETTERS; i++) {
        size_t bit = 5 * i;
        /* 5 bits may lie in two bytes: both are read, and the wanted bits shifted to the end. */
        unsigned pair = (unsigned)hash[bit / 8] << 8 | hash[bit / 8 + 1];
        name[size++] = letters[pair >> (11 - bit % 8) & 31];
    }
    name[size] = '\0';
}
