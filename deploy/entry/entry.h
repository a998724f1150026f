/*
 * The entry of an engine: where clients reach it over the network, by the frames of its socket
 * (runtime/link/endpoint.h), encrypted by CURVE. Who is let in, and may do what, say `clients` of
 * the settings, as for HTTP; each by the public key of its client. The other hosts of the store are
 * let in, too, by the keys that they have for each other.
 *
 * What belongs to the engine's thread is called by it alone.
 */
#ifndef TR_DEPLOY_ENTRY_ENTRY_H
#define TR_DEPLOY_ENTRY_ENTRY_H

#include "deploy/api/clients.h"
#include "deploy/engine/assemble.h"

/* The file with the key of the entry, in the store's folder. */
#define TR_ENTRY_KEY_FILE "entry.key"

/* How the name of another host of the store begins as that of a peer, which no client's does. */
#define TR_ENTRY_HOST_BEGINNING "host:"

/* Bytes of words about a refusal. */
#define TR_ENTRY_WORDS_BYTES 256

struct tr_entry;

/*
 * Opens the entry that the settings of the engine name, and says where it is in the store; `*entry`
 * stays NULL if they name none. TR_SYSTEM, TR_INVALID (the key file), TR_MEMORY, with words in
 * `explain` (TRI_STORE_EXPLAIN_BYTES).
 */
TR_MUST_USE int tr_entry_open(struct tr_live *live, char *explain, struct tr_entry **entry);

/* Before the engine is closed; NULL is fine. */
void tr_entry_close(struct tr_entry *entry);

/* What clients type behind --host, without other hosts. */
void tr_entry_locator(const struct tr_entry *entry, char *text, size_t size);

/*
 * Whether a peer may have a request done: true for all by the socket in the folder. Else the words
 * say why not. What changes something is written into the audit, refused or not.
 */
bool tr_entry_admit(struct tr_entry *entry, const struct tri_peer *peer,
                    const struct tri_request *request, char *words);

/*
 * Whether a request is a question of a reader over the network: it is answered by a thread then, or
 * refused.
 */
bool tr_entry_reads(struct tr_entry *entry, const struct tri_peer *peer,
                    const struct tri_request *request);

/* Another host of the store, and where it is entered; an empty address: nowhere. */
struct tr_entry_host {
    char name[TRI_ZAP_WHO_BYTES];
    char address[TR_HOST_ADDRESS_BYTES];
    uint8_t key[TR_WIRE_KEY_BYTES];
};

/*
 * The hosts of a store that live and work beside this one; with `execution` (0: none) the one that
 * has it alone, if that is another. How many.
 */
size_t tr_entry_hosts(struct tr_live *live, uint64_t execution, struct tr_entry_host *hosts,
                      size_t capacity);

/* What this host is called; "": it is alone. */
void tr_entry_own_name(struct tr_live *live, char *name, size_t size);

/* Connects to one of them, by the key that this host has for the others. */
TR_MUST_USE int tr_entry_connect(struct tr_live *live, const struct tr_entry_host *host,
                                 struct tri_client **client);

/* ------------------------------------------------ shared by the files of this room */

/* Who is let in with a key; NULL: nobody has it. */
const struct tr_api_client *tri_entry_client_of_key(const struct tr_live *live, const uint8_t *key);

/* The client of a name; NULL: there is none. */
const struct tr_api_client *tri_entry_client(const struct tr_live *live, const char *who);

bool tri_entry_is_host(const char *who);

struct tri_entry_answers;
TR_MUST_USE int tri_entry_answers_new(struct tr_live *live, struct tri_entry_answers **answers);
void tri_entry_answers_stop(struct tri_entry_answers *answers);
void tri_entry_answers_free(struct tri_entry_answers *answers);
TR_MUST_USE int tri_entry_answers_add(struct tri_entry_answers *answers,
                                      const struct tri_peer *peer,
                                      const struct tri_request *request);

#endif
