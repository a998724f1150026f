/*
 * Scripted actors for tests of whole hosts: they do what they are told, good and bad, and a
 * host of them with or without a store. What goes wrong here ends the program with a message.
 */
#ifndef TR_TESTS_SUPPORT_SCRIPTED_H
#define TR_TESTS_SUPPORT_SCRIPTED_H

#include "runtime/troupe.h"

/* The counter of the ticks that were handled, and the gauge of those in states. */
enum { SCRIPTED_TICKS = 1, SCRIPTED_COUNTERS = 3 };

/* What a scripted actor can be told to do. */
enum scripted_verb {
    SCRIPTED_TELL,    /* sends `count` ticks to `peer` */
    SCRIPTED_SPAWN,   /* spawns `count` children, elements 0 to count - 1 */
    SCRIPTED_TIMER,   /* sets a timer of `count` milliseconds */
    SCRIPTED_FAIL,    /* fails */
    SCRIPTED_STOP,    /* ends */
    SCRIPTED_ASK,     /* asks `peer` something that it never answers, for `count` milliseconds */
    SCRIPTED_SPIN,    /* takes `count` milliseconds */
    SCRIPTED_LOOP,    /* never comes back */
    SCRIPTED_CRASH,   /* touches memory that nobody may touch */
    SCRIPTED_ABSURD,  /* an assertion fails */
    SCRIPTED_OVERRUN, /* calls itself until the stack is used up */
    SCRIPTED_LATER,   /* sets a timer of `count` milliseconds, at which it does `then` */
    SCRIPTED_PASS,    /* tells `peer` to do `then` */
};

#define TR_SCRIPTED_DO_FIELDS(FIELD, ARRAY) \
    FIELD(u8, verb, 1, 0)                   \
    FIELD(u64, count, 1, 0)                 \
    FIELD(ref, peer, 1, 0)                  \
    FIELD(u8, then, 1, 0)
#define TR_SCRIPTED_TICK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)                  \
    FIELD(text, secret, 1, TR_REDACTED)
#define TR_SCRIPTED_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ticks, 1, 0)                    \
    FIELD(u64, timers, 1, 0)                   \
    FIELD(u8, then, 1, 0)

#define TR_SCRIPTED_SCHEMAS(S)                                                  \
    S(scripted_do, 64001, TR_MESSAGE, 1, TR_DURABLE, TR_SCRIPTED_DO_FIELDS)     \
    S(scripted_tick, 64002, TR_MESSAGE, 1, TR_DURABLE, TR_SCRIPTED_TICK_FIELDS) \
    S(scripted_state, 64001, TR_STATE, 1, 0, TR_SCRIPTED_STATE_FIELDS)

TR_SCRIPTED_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

extern const struct tr_behaviour scripted_behaviour;

/* All schemas of the runtime and of scripted actors. */
const struct tr_registry *scripted_registry(void);

/* A host that runs; `folder` NULL: without a store. Ends the test when it cannot be made. */
struct tr_host *scripted_open(uint32_t workers, const char *folder, uint32_t stuck_handler_ms);

/* A new scripted actor without a parent. */
struct tr_ref scripted_spawn(struct tr_host *host, const char *name);

/* Tells a scripted actor to do something. */
void scripted_do(struct tr_host *host, struct tr_ref who, struct tr_scripted_do what);

/* A figure of the host by name. */
uint64_t scripted_metric(struct tr_host *host, const char *name);

/* Waits until a figure has at least this value. */
void scripted_await(struct tr_host *host, const char *name, uint64_t value);

/* A filter from a line of words. */
struct tr_tap_filter scripted_filter(const char *line);

/* A tap opened with a line of words. */
struct tr_tap *scripted_tap(struct tr_host *host, const char *line);

#define SCRIPTED_PATH_BYTES 64

/* A new empty folder, and its end with all that is in it. */
void scripted_folder(char folder[SCRIPTED_PATH_BYTES]);
void scripted_folder_remove(const char *folder);

#endif
