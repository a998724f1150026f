/*
 * Where a client reaches the hosts of a store over the network, and by which keys:
 *
 *     tcp://KEY@a.example:7171,b.example:7171?key=/home/me/.config/troupe/client.key
 *
 * KEY is the public key of the hosts, 64 hexadecimal digits: a host that has another one is not
 * spoken to. The file has the client's own secret one. A locator stands wherever the folder of a
 * store does, for what only asks and reads.
 */
#ifndef TR_RUNTIME_LINK_ENTRY_LOCATOR_H
#define TR_RUNTIME_LINK_ENTRY_LOCATOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/link/wire_keys.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

#define TRI_ENTRY_BEGINNING "tcp://"

/* Addresses of one locator, and bytes of each with the beginning. */
#define TRI_ENTRY_ADDRESSES_MAX 64
#define TRI_ENTRY_ADDRESS_BYTES 280

/* Bytes of a key as text, with its end; and of words about what is wrong. */
#define TRI_ENTRY_KEY_TEXT_BYTES (2 * TR_WIRE_KEY_BYTES + 1)
#define TRI_ENTRY_EXPLAIN_BYTES 512

struct tri_entry_locator {
    uint8_t server_key[TR_WIRE_KEY_BYTES];
    char addresses[TRI_ENTRY_ADDRESSES_MAX][TRI_ENTRY_ADDRESS_BYTES];
    size_t count;
    char key_file[PATH_MAX]; /* "": none is named */
};

bool tri_entry_is_locator(const char *text);

/* TR_INVALID, with words (TRI_ENTRY_EXPLAIN_BYTES) that say how it is written. */
TR_MUST_USE int tri_entry_locator_read(const char *text, struct tri_entry_locator *locator,
                                       char *explain);

void tri_entry_key_print(const uint8_t *key, char text[TRI_ENTRY_KEY_TEXT_BYTES]);
bool tri_entry_key_of(const char *text, size_t size, uint8_t *key);

/*
 * Reads a key file. TR_NOT_FOUND; TR_INVALID: it holds no key, or others than its owner may read
 * it; TR_SYSTEM (errno). With words.
 */
TR_MUST_USE int tri_entry_key_read(const char *path, struct tr_wire_keys *keys, char *explain);

/*
 * The same, and makes the file if there is none, with the bytes of `fresh` (TR_WIRE_KEY_BYTES),
 * which are random; `*is_new`.
 */
TR_MUST_USE int tri_entry_key_ensure(const char *path, const uint8_t *fresh,
                                     struct tr_wire_keys *keys, bool *is_new, char *explain);

/*
 * The first address of the locator, from the one at `from` on, where somebody listens; each is
 * given two seconds. TR_NO_CONNECTION.
 */
TR_MUST_USE int tri_entry_probe(const struct tri_entry_locator *locator, size_t from,
                                size_t *found);

#endif
