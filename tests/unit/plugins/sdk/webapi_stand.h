/*
 * A plugin of the Web API shape in a few lines, on a fake task: for the tests of its framework.
 */
#ifndef TR_TESTS_UNIT_PLUGINS_SDK_WEBAPI_STAND_H
#define TR_TESTS_UNIT_PLUGINS_SDK_WEBAPI_STAND_H

#include "plugins/sdk/webapi.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/runtime/files.h"
#include "tests/support/fake_task.h"

/* What the shape's functions are to do, and how often they were called. */
struct stand_play {
    bool is_slow;       /* prepare waits for a call of its own */
    bool is_refused;    /* it fails */
    bool waits_outcome; /* outcome waits for an answer */
    bool has_failed;    /* and then finds a failure */
    size_t body_size;   /* of the job */
    unsigned prepared;
    unsigned read;
};
extern struct stand_play play;

extern struct fake_task fake;
extern struct tr_armada_attempt state;
extern struct tr_transition transition;

/* With `outcome`, and without: set_up begins with the latter. */
extern const struct tr_plugin stand_plugin;
extern const struct tr_plugin stand_reading_plugin;

int set_up(void **unused);
int tear_down(void **unused);

/* Gives an event to the plugin, which must not fail. */
void handle(struct tr_task_event event);
void abort_it(struct tr_task_event event);

/* The task's start, after which its job is about to be made. */
void begin(void);

struct tr_task_event event_of(enum tr_task_event_kind kind);
struct tr_task_event lost_event(void);
struct tr_task_event moved_event(void); /* from another store */
struct tr_task_event news_event(struct tr_refresh_news news);

/* News of a job "h1" that runs, or has ended. */
struct tr_refresh_news running(uint32_t version);
struct tr_refresh_news ended(uint32_t version, uint8_t phase);

/* The refresh_make that was told as number `index`. */
struct tr_refresh_make made(size_t index);

/* Gives the task a `config` of one key. */
void config_of(const char *key, const char *value);

#endif
