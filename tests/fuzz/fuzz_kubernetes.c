/*
 * What an API server may answer: the first byte says to which call, the rest is the body, an item
 * of a list, or a line of a watch. Nonsense is TR_MALFORMED; what is reported names a pod, in
 * phases and texts that are some.
 */
#include "tests/fuzz/fuzz.h"

#include "actors/backend/refresh.h"
#include "actors/graph/document/json.h"
#include "plugins/kubernetes/kubernetes.h"

/* A batch on an arena of its own. */
struct stand {
    struct tr_webapi_batch batch; /* stays first */
    struct tr_arena arena;
};

static void *api_scratch(struct tr_webapi_batch *batch, size_t size)
{
    return tr_arena_alloc(&((struct stand *)batch)->arena, size);
}

static void check_text(struct tr_text text)
{
    TR_ASSERT(text.size == 0 || tr_utf8_valid(text));
}

static int api_report(struct tr_webapi_batch *batch, const struct tr_webapi_report *report)
{
    char room[TRI_KUBERNETES_UID_BYTES];
    (void)batch;
    bool is_failure = report->phase == TR_TASK_PHASE_RETRYABLE_FAILURE ||
                      report->phase == TR_TASK_PHASE_PERMANENT_FAILURE;
    TR_ASSERT(report->phase <= TR_TASK_PHASE_MAX && report->identity.size > 0);
    TR_ASSERT(!is_failure || (report->code.size > 0 && report->failure != TR_FAILURE_NONE));
    check_text(report->identity);
    check_text(report->handle);
    check_text(tri_kubernetes_uid(report->handle, room));
    check_text(report->reason);
    check_text(report->code);
    check_text(report->message);
    check_text(report->place);
    return 0;
}

static int api_place(struct tr_webapi_batch *batch, struct tr_text place)
{
    struct tr_webapi_request request = {0};
    TR_ASSERT(place.size > 0);
    check_text(place);
    int error = tri_kubernetes_write_list(batch, place, &request);
    TR_ASSERT(error == 0 || error == TR_MEMORY);
    return 0;
}

static int api_read_json(struct tr_webapi_batch *batch, struct tr_bytes json,
                         struct tr_bytes *value)
{
    return tr_json_pack(&((struct stand *)batch)->arena, json, value);
}

static int api_begin_anew(struct tr_webapi_batch *batch)
{
    (void)batch;
    return 0;
}

static int read_one(struct tr_webapi_batch *batch, uint8_t what, struct tr_bytes body)
{
    static const uint32_t statuses[] = {201, 400, 403, 404, 409, 422, 500};
    const struct tr_webapi_response response = {
        .status = statuses[what / 8 % TR_COUNT_OF(statuses)], .body = body};
    switch (what % 6) {
    case 0:
        return tri_kubernetes_line(batch, body);
    case 1:
        return tri_kubernetes_item(batch, body);
    case 2:
        return tri_kubernetes_rest(batch, body);
    case 3:
        return tri_kubernetes_read_create(batch, &response);
    case 4:
        return tri_kubernetes_read_cancel(batch, &response);
    default:
        return tri_kubernetes_read_status(batch, &response);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tr_webapi_api api = {.abi = TR_PLUGIN_ABI,
                                             .scratch = api_scratch,
                                             .read_json = api_read_json,
                                             .report = api_report,
                                             .resume = api_place,
                                             .next_page = api_place,
                                             .begin_anew = api_begin_anew,
                                             .caught_up = api_begin_anew};
    static const struct tr_webapi_endpoint endpoint = {.name = {.data = "default", .size = 7}};
    bool is_kind = size > 0 && data[0] >= 128; /* of a card */
    const struct tr_webapi_item items[] = {
        {.identity = tr_text_of("x-0"),
         .job_set = tr_text_of(is_kind ? "work:47:rayjobs.v1.ray.io/a7/m" : "work/a7/m")}};
    struct stand stand = {
        .batch = {.api = &api,
                  .endpoint = &endpoint,
                  .job_set = tr_text_of(is_kind ? "work:47:rayjobs.v1.ray.io/a7" : "work/a7"),
                  .items = items,
                  .count = 1}};
    if (size == 0) {
        return 0;
    }
    tr_arena_init(&stand.arena);
    int error =
        read_one(&stand.batch, data[0], (struct tr_bytes){.data = data + 1, .size = size - 1});
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_MEMORY || error == TR_LIMIT ||
              error == TR_BUSY);
    tr_arena_fini(&stand.arena);
    return 0;
}
