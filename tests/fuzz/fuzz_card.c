/*
 * Cards, and statuses that they read: two JSON texts with a zero between them, a card and a status.
 * What the check takes is made, of a message that has a little of everything, and never fails but
 * with words; what a status is said to be is some phase, with a code where it has failed.
 */
#include "tests/fuzz/fuzz.h"

#include "actors/backend/refresh.h"
#include "actors/graph/document/json.h"
#include "plugins/cards/cards.h"

/* A task and a batch on one arena. */
static struct tr_arena arena;

static void *task_scratch(struct tr_task_context *task, size_t size)
{
    (void)task;
    return tr_arena_alloc(&arena, size);
}

static void *batch_scratch(struct tr_webapi_batch *batch, size_t size)
{
    (void)batch;
    return tr_arena_alloc(&arena, size);
}

static struct tr_bytes value_of(const char *json)
{
    struct tr_bytes value = {0};
    int error = tr_json_pack(
        &arena, (struct tr_bytes){.data = (const uint8_t *)json, .size = strlen(json)}, &value);
    TR_ASSERT(error == 0);
    return value;
}

static void make(struct tr_bytes card)
{
    static const struct tr_task_api api = {.abi = TR_PLUGIN_ABI, .scratch = task_scratch};
    static struct tri_card_making making;
    struct tr_task_context task = {.api = &api};
    struct tr_bytes made = {0};
    tri_card_begin(&making, &task, tr_text_of("card"));
    tri_card_give(&making, "custom",
                  value_of("{\"a\":1,\"b\":\"x\",\"l\":[1,\"y\",{\"m\":2}],\"m\":{\"a\":null}}"));
    tri_card_give(&making, "task", value_of("{\"argv\":[\"a\",\"b c\"],\"words\":[\"a\"]}"));
    tri_card_give(&making, "name", value_of("\"x\""));
    tri_card_give(&making, "namespace", value_of("\"work\""));
    tri_card_give(&making, "pod", value_of("{\"containers\":[{\"name\":\"t\",\"env\":[]}]}"));
    tri_card_give(&making, "steady_pod", value_of("{}"));
    tri_card_give(&making, "labels", value_of("{\"a\":\"b\"}"));
    tri_card_give(&making, "annotations", value_of("{}"));
    int error = tri_card_make(&making, card, &made);
    TR_ASSERT(error == 0 || error == TR_LIMIT || error == TR_MEMORY ||
              (error == TR_INVALID && making.problem[0] != '\0'));
    struct tr_cursor cursor = tr_cursor_of(made);
    if (error == 0 && made.size > 0) {
        (void)tr_read_any(&cursor);
        TR_ASSERT(cursor.error == 0 && tr_cursor_left(&cursor) == 0);
    }
}

static void read_status(struct tr_bytes rules, struct tr_bytes status)
{
    static const struct tr_webapi_api api = {.abi = TR_PLUGIN_ABI, .scratch = batch_scratch};
    struct tr_webapi_batch batch = {.api = &api};
    struct tr_webapi_report report = {0};
    int error = tri_card_read_status(&batch, rules, status, &report);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_MEMORY || error == TR_LIMIT);
    bool has_failed = report.phase == TR_TASK_PHASE_RETRYABLE_FAILURE ||
                      report.phase == TR_TASK_PHASE_PERMANENT_FAILURE;
    TR_ASSERT(error != 0 ||
              (report.phase <= TR_TASK_PHASE_MAX && (!has_failed || report.code.size > 0)));
    TR_ASSERT(report.reason.size == 0 || tr_utf8_valid(report.reason));
    TR_ASSERT(report.message.size == 0 || tr_utf8_valid(report.message));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size == 0 ? NULL : memchr(data, 0, size);
    size_t card_size = zero == NULL ? size : (size_t)(zero - data);
    struct tr_bytes status = {0};
    struct tr_bytes card = {0};
    char problem[700];
    tr_arena_init(&arena);
    if (zero != NULL) {
        status = (struct tr_bytes){.data = zero + 1, .size = size - card_size - 1};
    }
    if (tr_json_pack(&arena, (struct tr_bytes){.data = data, .size = card_size}, &card) == 0) {
        bool is_good = tri_card_check("card", card, problem, sizeof problem) == 0;
        if (is_good) {
            make(card);
        }
        if (is_good || tri_card_check_status("card", tr_json_get(card, "status"), problem,
                                             sizeof problem) == 0) {
            read_status(tr_json_get(card, "status"), status);
        }
    }
    tr_arena_fini(&arena);
    return 0;
}
