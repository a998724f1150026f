/*
 * Recordings of the engine's actors: making one, replaying one, and both at once.
 */
#ifndef TR_DEPLOY_DEBUG_REPLAY_H
#define TR_DEPLOY_DEBUG_REPLAY_H

#include "deploy/cli/command.h"
#include "schemas/runtime/request.h"

/*
 * `troupe tap --replay FILE [ACTOR]`: gives a recorded actor its messages in a sandbox and prints
 * what it does. `address` NULL: the actor that was recorded. What is wrong is said on stderr.
 */
enum tr_exit_status tr_replay(const struct tr_invocation *invocation, const char *path,
                              const char *address);

/*
 * `troupe tap --effects ACTOR [limit=N] [seconds=N]`: replays while the live engine records: shows
 * what an actor does, as it does it. Nothing is kept; what is redacted stays so.
 */
enum tr_exit_status tr_replay_live(const struct tr_invocation *invocation);

/* `troupe tap --record FILE ACTOR [limit=N] [seconds=N]`: asks the live engine to record. */
enum tr_exit_status tr_record_file(const struct tr_invocation *invocation, const char *path);

/* Reads the words ACTOR [limit=N] [seconds=N]; what is wrong is told. */
enum tr_exit_status tr_record_words(const struct tr_invocation *invocation,
                                    struct tr_open_recording *open);

/*
 * Has the live engine record: `take` gets the bytes of the file, piece by piece, and none at all
 * each second in which nothing has come. TR_CLOSED ends it; other errors are told.
 */
typedef int tr_record_taker(void *self, struct tr_bytes bytes);
enum tr_exit_status tr_record_ask(const struct tr_invocation *invocation,
                                  const struct tr_open_recording *open, tr_record_taker *take,
                                  void *self);

#endif
