/*
 * How long a pod stays when it has ended, for people to look at, or when no task is left that it is
 * for: `keep` of an endpoint's settings, {succeeded: 0s, failed: 1h, orphaned: 10m} where it says
 * nothing.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#define HOUR_MS 3600000
#define KEEP_MS_MAX (UINT64_C(365) * 86400000)

static const struct {
    const char *name;
    uint64_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

/* A whole number and its unit, at the beginning of a text, from which it is taken. */
static bool take_part(struct tr_text *text, uint64_t *ms)
{
    size_t digits = 0;
    uint64_t number = 0;
    while (digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9') {
        number = number < KEEP_MS_MAX ? 10 * number + (uint64_t)(text->data[digits] - '0') : number;
        digits++;
    }
    for (size_t i = 0; digits > 0 && i < TR_COUNT_OF(units); i++) {
        size_t size = digits + strlen(units[i].name);
        bool is_it = size <= text->size &&
                     memcmp(text->data + digits, units[i].name, strlen(units[i].name)) == 0;
        if (is_it) {
            number = number < KEEP_MS_MAX ? number : KEEP_MS_MAX;
            *ms += number <= KEEP_MS_MAX / units[i].ms ? number * units[i].ms : KEEP_MS_MAX + 1;
            *text = (struct tr_text){.data = text->data + size, .size = text->size - size};
            return true;
        }
    }
    return false;
}

/* "1h30m", at most a year. */
static bool read_duration(struct tr_text text, uint64_t *ms)
{
    uint64_t sum = 0;
    bool is_good = text.size > 0;
    while (is_good && text.size > 0) {
        is_good = take_part(&text, &sum) && sum <= KEEP_MS_MAX;
    }
    *ms = is_good ? sum : *ms;
    return is_good;
}

/* By how it has ended; UNDEFINED is what no row claims. Others are ended by us. */
static const struct {
    uint8_t phase;
    const char *key;
    uint64_t ms;
} spans[] = {
    {TR_TASK_PHASE_SUCCESS, "succeeded", 0},
    {TR_TASK_PHASE_RETRYABLE_FAILURE, "failed", HOUR_MS},
    {TR_TASK_PHASE_PERMANENT_FAILURE, "failed", HOUR_MS},
    {TR_TASK_PHASE_UNDEFINED, "orphaned", HOUR_MS / 6},
};

uint64_t tri_kubernetes_keep_ms(const struct tr_webapi_endpoint *endpoint, uint8_t phase)
{
    struct tr_bytes keep = tr_json_get(endpoint->config, "keep");
    for (size_t i = 0; i < TR_COUNT_OF(spans); i++) {
        if (spans[i].phase == phase) {
            uint64_t ms = spans[i].ms;
            (void)read_duration(tr_json_text(tr_json_get(keep, spans[i].key)), &ms);
            return ms;
        }
    }
    return 0;
}

uint64_t tri_kubernetes_operator_timeout_ms(const struct tr_webapi_endpoint *endpoint)
{
    uint64_t ms = TR_KUBERNETES_OPERATOR_TIMEOUT_MS;
    (void)read_duration(tr_json_text(tr_json_get(endpoint->config, "operator_timeout")), &ms);
    return ms > 0 ? ms : 1;
}

/* Of `keep`, or the time of another key. */
static int check_time(const struct tri_pod_checker *checker, const char *place, struct tr_text key,
                      struct tr_bytes value)
{
    struct tr_text said = tr_json_text(value);
    uint64_t ms = 0;
    size_t shown = said.size < 60 ? said.size : 60;
    return read_duration(said, &ms)
               ? 0
               : TRI_POD_REFUSE(checker,
                                "%s.%.*s has to be a time such as 30s or 1h30m, of a year at "
                                "most, not '%.*s'",
                                place, (int)key.size, key.data, (int)shown,
                                said.data == NULL ? "" : said.data);
}

int tri_kubernetes_check_keep(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    static const struct tr_config_key keys[] = {
        {"succeeded", TR_CODEC_TEXT}, {"failed", TR_CODEC_TEXT}, {"orphaned", TR_CODEC_TEXT}};
    char place[128];
    struct tr_bytes keep = tr_json_get(config, "keep");
    (void)snprintf(place, sizeof place, "%s.keep", checker->place);
    int error = keep.size == 0 ? 0
                               : tr_config_check_as(place, keep, keys, TR_COUNT_OF(keys),
                                                    checker->problem, checker->size);
    struct tr_json_walk walk = tr_json_walk(keep);
    while (error == 0 && tr_json_next(&walk)) {
        error = check_time(checker, place, walk.name, walk.value);
    }
    struct tr_bytes timeout = tr_json_get(config, "operator_timeout");
    return error != 0 || timeout.size == 0
               ? error
               : check_time(checker, checker->place, tr_text_of("operator_timeout"), timeout);
}
