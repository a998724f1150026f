/*
 * The key of a store: with it URLs are signed, and tokens of the API's clients.
 */
#ifndef TR_DEPLOY_DATA_PROXY_SIGNING_KEY_H
#define TR_DEPLOY_DATA_PROXY_SIGNING_KEY_H

#include "deploy/data_proxy/signed_url.h"

/* The file of a store with it. */
#define TR_STORE_SIGNING_KEY "uploads.key"

/*
 * Reads it; a store without one, or with one of the wrong size, gets a new one: what the old one
 * has signed is good for an hour only. Errors of the file; TR_MEMORY.
 */
TR_MUST_USE int tr_signing_key_read(const char *store_folder, uint8_t key[TR_SIGNED_KEY_BYTES]);

/* Draws one that is kept nowhere. Errors of the environment. */
TR_MUST_USE int tr_signing_key_draw(uint8_t key[TR_SIGNED_KEY_BYTES]);

#endif
