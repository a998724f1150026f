/*
 * Recordings of the engine's actors: what beside messages their handlers see, and replaying one.
 */
#ifndef TR_DEPLOY_REPLAY_H
#define TR_DEPLOY_REPLAY_H

#include "actors/engine.h"
#include "deploy/settings/settings.h"

/*
 * What a recording holds of the engine (schemas/runtime/recording.h, `surroundings`): an array of
 * the references of the resource manager, the catalog, and the refresh actors of all endpoints.
 */
#define TR_SURROUNDINGS_BYTES (8 + (2 + TR_SETTINGS_ENDPOINTS_MAX) * TR_REF_BYTES_MAX)
struct tr_bytes tr_surroundings_pack(const struct tr_engine *engine,
                                     uint8_t buffer[TR_SURROUNDINGS_BYTES]);

/*
 * Takes them from a recording; none are none. Endpoints are those of the settings, as far as there
 * are as many. TR_MALFORMED, TR_TRUNCATED.
 */
TR_MUST_USE int tr_surroundings_unpack(struct tr_bytes bytes, struct tr_engine *engine);

/*
 * `troupe tap --replay FILE [ACTOR]`: gives a recorded actor its messages in a sandbox and prints
 * what it does. `address` NULL: whoever was recorded. What is wrong is said on stderr.
 */
enum tr_exit_status tr_replay(const struct tr_invocation *invocation, const char *path,
                              const char *address);

/* `troupe tap --record FILE ACTOR [limit=N] [seconds=N]`: asks the live engine to record. */
enum tr_exit_status tr_record_file(const struct tr_invocation *invocation, const char *path);

#endif
