/*
 * Messages whose handling ends the process: counted across restarts, quarantined at the second time
 * (TR_POISON_ENDS).
 *
 * Each worker keeps its current message in a small mapped file. If the process ends while a handler
 * runs, the next start reads there which actor and which message it was, counts it in a row of the
 * store, and from the second time on quarantines the actor before it can run.
 *
 * If the crash identifies the handler, only that one is counted. kill -9 identifies none, and the
 * current messages of all workers are counted: a message that is handled early at each start may be
 * current at any kill, and is innocent, so it takes more of these (TR_POISON_SILENT_ENDS). A
 * handler that had called a named part of the program (tr_attribute_crash) is not counted: that
 * part is (attribution.h).
 */
#ifndef TR_RUNTIME_CRASHES_POISON_MESSAGE_H
#define TR_RUNTIME_CRASHES_POISON_MESSAGE_H

#include "runtime/actor/deliver.h"
#include "runtime/journal/crashes.h"

struct tri_poison_messages;

/*
 * Opens or creates the file `in-hand` in the folder, and counts what a crash left there in the
 * store, which is open for writing: the counts are committed when this returns. TR_MEMORY,
 * TR_SYSTEM, and the errors of reading and committing; then the next opening counts.
 */
TR_MUST_USE int tri_poison_message_open(const char *folder, struct tri_store *store,
                                        struct tri_poison_messages **poison);

/* Closes it and clears the current messages, because the end was orderly. */
void tri_poison_message_close(struct tri_poison_messages *poison);

/* All counts, also of parts and groups. */
struct tri_crashes *tri_poison_message_crashes(struct tri_poison_messages *poison);

/* The mapped slot for a worker's current message. */
struct tri_current_message *tri_poison_message_slot(struct tri_poison_messages *poison,
                                                    uint32_t worker);

/*
 * Notes the group that a start is loading (aside.h); 0: none. If the note is not cleared before the
 * process ends, the group is counted, also at an orderly end.
 */
void tri_poison_message_note_loading(struct tri_poison_messages *poison, uint64_t group);

/* Sets the phase of a loaded actor that ended the process, by its count. `poison` may be NULL. */
void tri_poison_message_apply(struct tri_poison_messages *poison, struct tri_worker *worker,
                              struct tri_actor *actor);

/* The same by counts that another host has made. */
void tri_poison_message_judge(const struct tri_crashes *crashes, struct tri_worker *worker,
                              struct tri_actor *actor);

/* How often this actor's message has ended the process. */
uint32_t tri_poison_message_count(const struct tri_poison_messages *poison, struct tr_key actor);

/* The name of the message that has quarantined an actor; zeros: none. `poison` may be NULL. */
struct tri_message_name tri_poison_message_name(const struct tri_poison_messages *poison,
                                                struct tr_key actor);

#endif
