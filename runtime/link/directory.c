/*
 * The directory in memory: few hosts in an array, at most TR_HOSTS_MAX of which are looked at.
 *
 * There is no lock. A peer is complete before the count has it, and its number never changes: so
 * whoever has read the count may read the numbers.
 */
#include "runtime/link/directory.h"

#include <string.h>

int tri_directory_place(const struct tri_directory *directory, uint16_t number)
{
    uint32_t count = tri_directory_count(directory);
    for (uint32_t i = 0; i < count; i++) {
        if (directory->peers[i].number == number) {
            return (int)i;
        }
    }
    return -1;
}

static void copy_address(struct tri_neighbour *peer, struct tr_text address)
{
    if (address.size > 0) {
        memcpy(peer->address, address.data, address.size);
    }
    peer->address[address.size] = '\0';
}

int tri_directory_add(struct tri_directory *directory, uint16_t number, struct tr_text address)
{
    uint32_t count = tri_directory_count(directory);
    if (number == 0 || number > TR_HOST_NUMBER_MAX || number == directory->number ||
        directory->number == 0 || address.size >= TR_HOST_ADDRESS_BYTES) {
        return TR_INVALID;
    }
    if (tri_directory_place(directory, number) >= 0) {
        return TR_EXISTS;
    }
    if (count >= TR_HOSTS_MAX) {
        return TR_LIMIT;
    }
    directory->peers[count] = (struct tri_neighbour){.number = number};
    copy_address(&directory->peers[count], address);
    atomic_store_explicit(&directory->peer_count, count + 1, memory_order_release);
    return 0;
}

int tri_directory_set_address(struct tri_directory *directory, uint16_t number,
                              struct tr_text address)
{
    int place = tri_directory_place(directory, number);
    if (place < 0) {
        return TR_NOT_FOUND;
    }
    if (address.size >= TR_HOST_ADDRESS_BYTES) {
        return TR_INVALID;
    }
    copy_address(&directory->peers[place], address);
    return 0;
}

int tri_directory_set_key(struct tri_directory *directory, uint16_t number, const uint8_t *key)
{
    int place = tri_directory_place(directory, number);
    if (place < 0) {
        return TR_NOT_FOUND;
    }
    directory->peers[place].has_key = key != NULL;
    if (key != NULL) {
        memcpy(directory->peers[place].key, key, TR_WIRE_KEY_BYTES);
    }
    return 0;
}
