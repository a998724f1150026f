/*
 * A task as a plugin sees it, made of what a test says: a template, an identity, inputs. What the
 * plugin does is written down, with copies of the messages that it sends.
 */
#ifndef TR_TESTS_SUPPORT_FAKE_TASK_H
#define TR_TESTS_SUPPORT_FAKE_TASK_H

#include "plugins/sdk/plugin.h"
#include "tests/support/test.h"

#define FAKE_SENT_MAX 32
#define FAKE_REFRESH 999

/* A message to a service; to a refresh actor, of the service FAKE_REFRESH. */
struct fake_sent {
    bool is_call;
    uint64_t call;
    uint16_t service;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body; /* lives until the next fake_init */
};

struct fake_task {
    struct tr_task_context context; /* stays first */
    struct tr_task_template template;
    struct tr_task_identity identity;
    const char *inputs_json; /* NULL: larger than a message */
    int call_error;          /* of the next call */
    const char *refusal;     /* of outputs: why they are none; NULL: they are fine */

    struct fake_sent sent[FAKE_SENT_MAX];
    size_t sent_count;
    enum tr_document_form form; /* of the document that was given */
    char outputs[256];          /* what it holds, or "slots" */
    char outputs_folder[256];
    char folder[256]; /* for people */
    size_t trusted_bytes;
    uint64_t timer; /* the last one that was started */
    uint64_t timer_ms;
    const struct tr_plugin *plugin;     /* whose functions run */
    struct tr_webapi_endpoint endpoint; /* the only one; without a name: there is none */
    char logs[256];                     /* NAME URI, each with a space behind it */
};

/* A task "t" of the first attempt, in an execution default/development/x, with empty inputs. */
void fake_init(struct fake_task *fake);
void fake_fini(struct fake_task *fake);

/* The message of that number, which has to be of a schema. */
const struct fake_sent *fake_sent(const struct fake_task *fake, size_t index,
                                  const struct tr_schema *schema);

/* An event with a message; its body lives until the next one. */
struct tr_task_event fake_answer(uint64_t call, const struct tr_schema *schema, const void *body);

/* Memory that lives until fake_fini. */
void *fake_room(size_t size);

/* Texts for assertions: a few at once. */
const char *fake_text(struct tr_text text);

#endif
