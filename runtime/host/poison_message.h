/*
 * Messages that kill the process: counted over restarts, quarantined at the second time
 * (TR_POISON_ENDS).
 *
 * Each worker keeps what it has in hand in a small mapped file. If the process ends while a handler
 * runs, the next start finds there which actor and which message it was, counts it in a second
 * file, and from the second time on puts the actor into quarantine before it can run.
 *
 * Where a crash says which handler it was, only that one is counted; kill -9 says nothing, and all
 * that were at work are: what comes first at each start may be in hand whenever somebody kills the
 * process, and is innocent, so that it takes more of these (TR_POISON_SILENT_ENDS). A handler that
 * had called a part of the program which it had named (tr_attribute_crash) is not counted: that
 * part is (attribution.h).
 */
#ifndef TR_RUNTIME_HOST_POISON_MESSAGE_H
#define TR_RUNTIME_HOST_POISON_MESSAGE_H

#include "runtime/actor/deliver.h"

struct tri_poison_messages;

/* Opens (or makes) the files `in-hand` and `poison` in the folder, and counts what a crash left.
 * TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_poison_message_open(const char *folder, struct tri_poison_messages **poison);

/* Closes them; what workers have in hand is forgotten, because the end was in order. */
void tri_poison_message_close(struct tri_poison_messages *poison);

/* The place where a worker keeps what it has in hand. */
struct tri_current_message *tri_poison_message_hand(struct tri_poison_messages *poison,
                                                    uint32_t worker);

/* A start is at this group now (aside.h); 0: at none any more. What is not taken back by the end of
 * the process is counted, also where that comes in order. */
void tri_poison_message_loads(struct tri_poison_messages *poison, uint64_t group);

/* Puts a loaded actor that killed the process into the phase that its count asks for. `poison` may
 * be NULL. */
void tri_poison_message_apply(struct tri_poison_messages *poison, struct tri_worker *worker,
                              struct tri_actor *actor);

/* How often this actor's message in hand has killed the process. */
uint32_t tri_poison_message_count(const struct tri_poison_messages *poison, struct tr_key actor);

/*
 * Forgets what is counted about an actor that is to go on, and gives the name of the message that
 * has put it aside, if it was one. `poison` may be NULL. TR_SYSTEM: the list could not be written.
 */
TR_MUST_USE int tri_poison_message_take(struct tri_poison_messages *poison, struct tr_key actor,
                                        struct tri_message_name *name);

#endif
