/*
 * A batch as a verb of a Web API plugin sees it, made of what a test says. Reports are written
 * down, a line for each; JSON goes through a library of its own and not through the engine's.
 */
#ifndef TR_TESTS_SUPPORT_FAKE_BATCH_H
#define TR_TESTS_SUPPORT_FAKE_BATCH_H

#include "plugins/sdk/plugin.h"
#include "tests/support/test.h"

#define FAKE_ITEMS_MAX 512

struct fake_batch {
    struct tr_webapi_batch batch; /* stays first */
    struct tr_webapi_endpoint endpoint;
    struct tr_webapi_item items[FAKE_ITEMS_MAX];
    char reports[8192]; /* "IDENTITY HANDLE NEWS PHASE[ KEY=VALUE]...\n" */
    uint32_t report_count;
    struct tr_webapi_report last;
    char cursor[128]; /* of a stream */
    uint32_t lists;   /* that a watch has asked for */
    uint32_t caught_up;
};

/* A batch of the group "research/troupe-x-n-mark", without items. */
void fake_batch_init(struct fake_batch *fake);

/* One more item; texts are literals. */
void fake_batch_add(struct fake_batch *fake, const char *identity, const char *handle,
                    const char *job_json);

/* A packed value of a JSON text, and back; both live until fake_fini. TR_INVALID: it is none. */
int fake_read_json(struct tr_text text, struct tr_bytes *value);
struct tr_bytes fake_value(const char *json);
const char *fake_json(struct tr_bytes value);

/* A response with a body. */
struct tr_webapi_response fake_response(uint32_t status, const char *body);

#endif
