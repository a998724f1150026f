/*
 * What an Armada server may answer: the first byte says to which verb, the rest is the body, or a
 * line of the stream. Nonsense is TR_MALFORMED; what is reported names a job, in phases and texts
 * that are some.
 */
#include "tests/fuzz/fuzz.h"

#include "actors/backend/refresh.h"
#include "actors/graph/document/json.h"
#include "plugins/armada/armada.h"

#define ITEMS 3

/* A batch on an arena of its own, with the engine's reading of JSON. */
struct stand {
    struct tr_webapi_batch batch; /* stays first */
    struct tr_arena arena;
};

static void *api_scratch(struct tr_webapi_batch *batch, size_t size)
{
    return tr_arena_alloc(&((struct stand *)batch)->arena, size);
}

static int api_read_json(struct tr_webapi_batch *batch, struct tr_bytes json,
                         struct tr_bytes *value)
{
    return tr_json_pack(&((struct stand *)batch)->arena, json, value);
}

static void check_text(struct tr_text text)
{
    TR_ASSERT(text.size == 0 || tr_utf8_valid(text));
}

static int api_report(struct tr_webapi_batch *batch, const struct tr_webapi_report *report)
{
    (void)batch;
    TR_ASSERT(report->phase <= TR_TASK_PHASE_MAX);
    TR_ASSERT(report->news != TR_WEBAPI_REFUSED || report->code.size > 0);
    TR_ASSERT(report->phase != TR_TASK_PHASE_RETRYABLE_FAILURE || report->code.size > 0);
    check_text(report->identity);
    check_text(report->handle);
    check_text(report->reason);
    check_text(report->code);
    check_text(report->message);
    check_text(report->place);
    check_text(report->log_uri);
    return 0;
}

static int api_resume(struct tr_webapi_batch *batch, struct tr_text cursor)
{
    (void)batch;
    TR_ASSERT(cursor.size > 0);
    check_text(cursor);
    return 0;
}

static int read_body(struct tr_webapi_batch *batch, uint8_t verb, struct tr_bytes body)
{
    static int (*const readers[])(struct tr_webapi_batch *, const struct tr_webapi_response *) = {
        tri_armada_read_create, tri_armada_read_status, tri_armada_read_cancel,
        tri_armada_read_find, tri_armada_read_failures};
    static const uint32_t statuses[] = {200, 403, 500};
    const struct tr_webapi_response response = {.status = statuses[verb / 8 % 3], .body = body};
    return readers[verb % TR_COUNT_OF(readers)](batch, &response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tr_webapi_api api = {.abi = TR_PLUGIN_ABI,
                                             .scratch = api_scratch,
                                             .read_json = api_read_json,
                                             .report = api_report,
                                             .resume = api_resume};
    static const struct tr_webapi_endpoint endpoint = {.name = {.data = "default", .size = 7}};
    const struct tr_webapi_item items[ITEMS] = {{.identity = tr_text_of("a")},
                                                {.identity = tr_text_of("b")},
                                                {.identity = tr_text_of("c")}};
    struct stand stand = {.batch = {.api = &api,
                                    .endpoint = &endpoint,
                                    .job_set = tr_text_of("q/troupe-x-n-mark"),
                                    .items = items,
                                    .count = ITEMS}};
    if (size == 0) {
        return 0;
    }
    tr_arena_init(&stand.arena);
    const struct tr_bytes body = {.data = data + 1, .size = size - 1};
    int error = data[0] % 2 == 0 ? tri_armada_line(&stand.batch, body)
                                 : read_body(&stand.batch, data[0] / 2, body);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_MEMORY);
    tr_arena_fini(&stand.arena);
    return 0;
}
