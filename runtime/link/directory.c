/*
 * The directory in memory: few hosts in an array, at most TR_HOSTS_MAX of which are looked at.
 * There is no lock: it is filled before the threads start.
 */
#include "runtime/link/directory.h"

#include <string.h>

#include "runtime/memory.h"

void tri_directory_fini(struct tri_directory *directory)
{
    tr_free(directory->peers);
    *directory = (struct tri_directory){0};
}

int tri_directory_place(const struct tri_directory *directory, uint16_t number)
{
    for (uint32_t i = 0; i < directory->peer_count; i++) {
        if (directory->peers[i].number == number) {
            return (int)i;
        }
    }
    return -1;
}

int tri_directory_add(struct tri_directory *directory, uint16_t number, struct tr_text address)
{
    if (number == 0 || number > TR_HOST_NUMBER_MAX || number == directory->number ||
        directory->number == 0 || address.size >= TR_ADDRESS_BYTES_MAX) {
        return TR_INVALID;
    }
    if (tri_directory_place(directory, number) >= 0) {
        return TR_EXISTS;
    }
    if (directory->peer_count >= TR_HOSTS_MAX) {
        return TR_LIMIT;
    }
    struct tri_neighbour *peers =
        tr_realloc(directory->peers, (directory->peer_count + 1) * sizeof *peers);
    if (peers == NULL) {
        return TR_MEMORY;
    }
    directory->peers = peers;
    struct tri_neighbour *peer = &peers[directory->peer_count++];
    *peer = (struct tri_neighbour){.number = number};
    if (address.size > 0) {
        memcpy(peer->address, address.data, address.size);
    }
    return 0;
}

int tri_directory_set_key(struct tri_directory *directory, uint16_t number, const uint8_t *key)
{
    int place = tri_directory_place(directory, number);
    if (place < 0) {
        return TR_NOT_FOUND;
    }
    memcpy(directory->peers[place].key, key, TR_WIRE_KEY_BYTES);
    directory->peers[place].has_key = true;
    return 0;
}
