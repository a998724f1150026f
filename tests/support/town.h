/*
 * A small town for tests of whole hosts: actors that do what they are told, good and bad, and a
 * host of them with or without a store. What goes wrong here ends the program with a message.
 */
#ifndef TR_TESTS_SUPPORT_TOWN_H
#define TR_TESTS_SUPPORT_TOWN_H

#include "runtime/troupe.h"

/* What a townsman can be told to do. */
enum town_verb {
    TOWN_TELL,    /* sends `count` ticks to `peer` */
    TOWN_SPAWN,   /* gives birth to `count` children, elements 0 to count - 1 */
    TOWN_TIMER,   /* sets a timer of `count` milliseconds */
    TOWN_FAIL,    /* fails */
    TOWN_STOP,    /* ends */
    TOWN_ASK,     /* asks `peer` something that it never answers, for `count` milliseconds */
    TOWN_SPIN,    /* takes `count` milliseconds */
    TOWN_LOOP,    /* never comes back */
    TOWN_CRASH,   /* touches memory that nobody may touch */
    TOWN_ABSURD,  /* an assertion fails */
    TOWN_OVERRUN, /* calls itself until the stack is used up */
    TOWN_LATER,   /* sets a timer of `count` milliseconds, at which it does `then` */
    TOWN_PASS,    /* tells `peer` to do `then` */
};

#define TR_TOWN_DO_FIELDS(FIELD, ARRAY) \
    FIELD(u8, verb, 1, 0)               \
    FIELD(u64, count, 1, 0)             \
    FIELD(ref, peer, 1, 0)              \
    FIELD(u8, then, 1, 0)
#define TR_TOWN_TICK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)              \
    FIELD(text, secret, 1, TR_REDACTED)
#define TR_TOWN_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ticks, 1, 0)                \
    FIELD(u64, timers, 1, 0)               \
    FIELD(u8, then, 1, 0)

#define TR_TOWN_SCHEMAS(S)                                              \
    S(town_do, 64001, TR_MESSAGE, 1, TR_DURABLE, TR_TOWN_DO_FIELDS)     \
    S(town_tick, 64002, TR_MESSAGE, 1, TR_DURABLE, TR_TOWN_TICK_FIELDS) \
    S(town_state, 64001, TR_STATE, 1, 0, TR_TOWN_STATE_FIELDS)

TR_TOWN_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

extern const struct tr_behaviour town_behaviour;

/* All schemas of the runtime and the town. */
const struct tr_registry *town_registry(void);

/* A host that runs; `folder` NULL: without a store. Ends the test when it cannot be made. */
struct tr_host *town_open(uint32_t workers, const char *folder, uint32_t stuck_handler_ms);

/* A new townsman without a parent. */
struct tr_ref town_spawn(struct tr_host *host, const char *name);

/* Tells a townsman to do something. */
void town_do(struct tr_host *host, struct tr_ref who, struct tr_town_do what);

/* A figure of the host by name. */
uint64_t town_metric(struct tr_host *host, const char *name);

/* Waits until a figure has at least this value. */
void town_await(struct tr_host *host, const char *name, uint64_t value);

/* A filter from a line of words. */
struct tr_tap_filter town_filter(const char *line);

/* A tap opened with a line of words. */
struct tr_tap *town_tap(struct tr_host *host, const char *line);

#define TOWN_PATH_BYTES 64

/* A new empty folder, and its end with all that is in it. */
void town_folder(char folder[TOWN_PATH_BYTES]);
void town_folder_remove(const char *folder);

#endif
