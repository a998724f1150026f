/*
 * Flyte's entities in a live engine, for the clients of its API (deploy/api/): what they register,
 * ask for and list. All of it is done on a thread of its own, one request after the other, so that
 * neither the door nor the engine waits for the store.
 *
 *     int error = tr_registrar_open(live, &registrar);
 *     ... tr_api_open(... .services = {.registrar = registrar} ...)
 *     tr_registrar_stop(registrar); tr_api_close(api); tr_registrar_free(registrar);
 */
#ifndef TR_DEPLOY_ENTITIES_REGISTRAR_H
#define TR_DEPLOY_ENTITIES_REGISTRAR_H

#include "deploy/api/download.h"
#include "deploy/api/upload.h"
#include "deploy/engine/assemble.h"

struct tr_registrar;

/* Starts its threads; the engine outlives it. TR_SYSTEM (errno), TR_MEMORY. */
TR_MUST_USE int tr_registrar_open(struct tr_live *live, struct tr_registrar **registrar);

/* Who takes uploads for it, and who gives downloads. */
const struct tr_api_uploads *tr_registrar_uploads(const struct tr_registrar *registrar);
const struct tr_api_downloads *tr_registrar_downloads(const struct tr_registrar *registrar);

/* With which it signs URLs, and the API its tokens: TR_API_TOKEN_KEY_BYTES. */
const uint8_t *tr_registrar_key(const struct tr_registrar *registrar);

/*
 * Ends the threads, on the engine's thread, for which nobody waits from then on; calls that come
 * later are refused. NULL is fine.
 */
void tr_registrar_stop(struct tr_registrar *registrar);

/* After tr_registrar_stop, and when no call can come any more; NULL is fine. */
void tr_registrar_free(struct tr_registrar *registrar);

#endif
