/*
 * How long a pod stays when it has ended, for people to look at: `keep` of an endpoint's settings,
 * {succeeded: 0s, failed: 1h} where it says nothing.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#define SUCCEEDED_MS 0
#define FAILED_MS 3600000
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

uint64_t tri_kubernetes_keep_ms(const struct tr_webapi_endpoint *endpoint, uint8_t phase)
{
    bool is_success = phase == TR_TASK_PHASE_SUCCESS;
    bool is_failure =
        phase == TR_TASK_PHASE_RETRYABLE_FAILURE || phase == TR_TASK_PHASE_PERMANENT_FAILURE;
    uint64_t ms = is_success ? SUCCEEDED_MS : is_failure ? FAILED_MS : 0;
    struct tr_bytes keep = tr_json_get(endpoint->config, "keep");
    struct tr_text said = tr_json_text(tr_json_get(keep, is_success   ? "succeeded"
                                                         : is_failure ? "failed"
                                                                      : "neither"));
    (void)read_duration(said, &ms);
    return ms;
}

int tri_kubernetes_check_keep(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    static const struct tr_config_key keys[] = {{"succeeded", TR_CODEC_TEXT},
                                                {"failed", TR_CODEC_TEXT}};
    char place[128];
    struct tr_bytes keep = tr_json_get(config, "keep");
    (void)snprintf(place, sizeof place, "%s.keep", checker->place);
    int error = keep.size == 0 ? 0
                               : tr_config_check_as(place, keep, keys, TR_COUNT_OF(keys),
                                                    checker->problem, checker->size);
    struct tr_json_walk walk = tr_json_walk(keep);
    while (error == 0 && tr_json_next(&walk)) {
        struct tr_text said = tr_json_text(walk.value);
        uint64_t ms = 0;
        if (!read_duration(said, &ms)) {
            size_t shown = said.size < 60 ? said.size : 60;
            error =
                TRI_POD_REFUSE(checker,
                               "%s.%.*s has to be a time such as 30s or 1h30m, of a year at "
                               "most, not '%.*s'",
                               place, (int)walk.name.size, walk.name.data, (int)shown, said.data);
        }
    }
    return error;
}
