/*
 * What of the engine the handlers of its actors see beside messages: it goes into a recording.
 */
#ifndef TR_DEPLOY_SERVER_RECORDING_CONTEXT_H
#define TR_DEPLOY_SERVER_RECORDING_CONTEXT_H

#include "actors/engine.h"
#include "deploy/settings/settings.h"

/*
 * What a recording holds of the engine (schemas/runtime/recording.h, `context`): an array of
 * the references of the resource manager, the catalog, and the refresh actors of all endpoints.
 */
#define TR_RECORDING_CONTEXT_BYTES (8 + (2 + TR_SETTINGS_ENDPOINTS_MAX) * TR_REF_BYTES_MAX)
struct tr_bytes tr_recording_context_pack(const struct tr_engine *engine,
                                          uint8_t buffer[TR_RECORDING_CONTEXT_BYTES]);

/*
 * Takes them from a recording; none are none. Endpoints are those of the settings, as far as there
 * are as many. TR_MALFORMED, TR_TRUNCATED.
 */
TR_MUST_USE int tr_recording_context_unpack(struct tr_bytes bytes, struct tr_engine *engine);

#endif
