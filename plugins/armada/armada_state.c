/*
 * What the words and numbers of Armada's wire mean: states, causes of failures, event names.
 *
 * Its gateway writes enums as numbers and leaves zeros out, while clients and other versions write
 * names; both are read. What is not known keeps the job where it is.
 */
#include "plugins/armada/armada.h"

#include <stdarg.h>
#include <stdio.h>

/* ---------------------------------------------------------------------------------- states */

struct meaning {
    uint8_t news;
    uint8_t phase;
    uint8_t failure;
    const char *code;
    const char *words;
};

#define IS(phase, words)                                  \
    {                                                     \
        TR_WEBAPI_IS, TR_TASK_PHASE_##phase, 0, "", words \
    }
#define RETRY(kind, code, words)                                                      \
    {                                                                                 \
        TR_WEBAPI_IS, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_##kind, code, words \
    }
#define NEVER(code, words)                                                          \
    {                                                                               \
        TR_WEBAPI_IS, TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER, code, words \
    }

/* api.JobState. UNKNOWN is what was not read in yet, and no state of a job. */
static const struct {
    struct tr_json_word word;
    struct meaning meaning;
} states[] = {
    {{"QUEUED", 0}, IS(QUEUED, "queued by Armada")},
    {{"PENDING", 1}, IS(INITIALIZING, "its pod is being started")},
    {{"RUNNING", 2}, IS(RUNNING, "")},
    {{"SUCCEEDED", 3}, IS(SUCCESS, "")},
    {{"FAILED", 4}, RETRY(USER, "JobFailed", "")}, /* why, `failures` finds out */
    {{"UNKNOWN", 5}, {TR_WEBAPI_ABSENT, TR_TASK_PHASE_UNDEFINED, 0, "", ""}},
    {{"SUBMITTED", 6}, IS(QUEUED, "submitted to Armada")},
    {{"LEASED", 7}, IS(QUEUED, "leased to a cluster")},
    {{"PREEMPTED", 8}, RETRY(SYSTEM, "Preempted", "the job was preempted")},
    {{"CANCELLED", 9}, NEVER("Cancelled", "the job was cancelled by somebody else")},
    {{"REJECTED", 10}, NEVER("Rejected", "no cluster takes the job as it is")},
};

/* armadaevents' KubernetesReason, and what is meant by words where it says only "Error". */
static const struct {
    struct tr_json_word word;
    const char *mark; /* in words that say so */
    struct meaning meaning;
} causes[] = {
    {{"Evicted", 1}, "vict", RETRY(SYSTEM, "Evicted", "the pod was evicted")},
    {{"OOM", 2}, "OOMKilled", RETRY(USER, "OOMKilled", "it took more memory than it asked for")},
    {{"DeadlineExceeded", 3},
     "DeadlineExceeded",
     RETRY(SYSTEM, "DeadlineExceeded", "the pod ran into its deadline")},
    {{"Rejected", 4}, NULL, NEVER("Rejected", "no cluster takes the job as it is")},
    {{"Preempted", -1}, "reempted", RETRY(SYSTEM, "Preempted", "the job was preempted")},
    /* The kubelet's and Armada's own words, which are all that GetJobErrors has. */
    {{"Evicted", -1}, "low on resource", RETRY(SYSTEM, "Evicted", "the pod was evicted")},
    {{"DeadlineExceeded", -1},
     "active on the node longer than",
     RETRY(SYSTEM, "DeadlineExceeded", "the pod ran into its deadline")},
    {{"LeaseExpired", -1}, "ease expired", RETRY(SYSTEM, "LeaseExpired", "its cluster was lost")},
};

static const struct meaning plain_failure = RETRY(USER, "JobFailed", "the job has failed");

/* Words of Armada's own go before ours. */
static void fill_in(const struct meaning *meaning, struct tr_text words,
                    struct tr_webapi_report *report)
{
    bool is_end = tr_phase_is_end(TR_SUBJECT_TASK, meaning->phase);
    words = words.size > 0 ? words : tr_text_of(meaning->words);
    report->news = meaning->news;
    report->phase = meaning->phase;
    report->failure = meaning->failure;
    report->code = tr_text_of(meaning->code);
    report->message = is_end ? words : (struct tr_text){0};
    report->reason = is_end ? (struct tr_text){0} : words;
}

void tri_armada_state(struct tr_bytes state, struct tr_webapi_report *report)
{
    static const struct meaning nothing_new = {TR_WEBAPI_IS, TR_TASK_PHASE_UNDEFINED, 0, "", ""};
    const struct meaning *meaning = &nothing_new;
    for (size_t i = 0; i < TR_COUNT_OF(states); i++) {
        if (tr_json_word(state, &states[i].word, 1, -1) == states[i].word.number) {
            meaning = &states[i].meaning;
        }
    }
    fill_in(meaning, (struct tr_text){0}, report);
}

static bool holds(struct tr_text words, const char *mark)
{
    return mark != NULL && words.size > 0 &&
           memmem(words.data, words.size, mark, strlen(mark)) != NULL;
}

/*
 * "Container task failed with exit code 3 because Error: WORDS": the WORDS are the program's own,
 * which may say anything and prove nothing.
 */
static struct tr_text without_the_programs(struct tr_text words)
{
    static const char front[] = "Container ";
    const char *colon = words.size == 0 ? NULL : memchr(words.data, ':', words.size);
    bool is_of_container = colon != NULL && words.size > sizeof front &&
                           memcmp(words.data, front, sizeof front - 1) == 0;
    return is_of_container ? (struct tr_text){words.data, (size_t)(colon - words.data)} : words;
}

void tri_armada_cause_of_text(struct tr_text words, struct tr_webapi_report *report)
{
    const struct meaning *meaning = &plain_failure;
    const struct tr_text proof = without_the_programs(words);
    for (size_t i = 0; i < TR_COUNT_OF(causes); i++) {
        if (holds(proof, causes[i].mark)) {
            meaning = &causes[i].meaning;
            break;
        }
    }
    fill_in(meaning, words, report);
}

void tri_armada_cause(struct tr_bytes cause, struct tr_text words, struct tr_webapi_report *report)
{
    for (size_t i = 0; i < TR_COUNT_OF(causes); i++) {
        if (causes[i].word.number > 0 &&
            tr_json_word(cause, &causes[i].word, 1, -1) == causes[i].word.number) {
            fill_in(&causes[i].meaning, words, report);
            return;
        }
    }
    tri_armada_cause_of_text(words, report);
}

/* ---------------------------------------------------------------------------------- groups */

bool tri_armada_group_read(struct tr_text group, struct tri_armada_group *parts)
{
    const char *slash = group.size == 0 ? NULL : memchr(group.data, '/', group.size);
    const char *dash = group.size == 0 ? NULL : memrchr(group.data, '-', group.size);
    if (slash == NULL || dash == NULL || dash < slash) {
        return false;
    }
    const char *end = group.data + group.size;
    *parts = (struct tri_armada_group){
        .queue = {.data = group.data, .size = (size_t)(slash - group.data)},
        .job_set = {.data = slash + 1, .size = (size_t)(end - slash) - 1},
        .mark = {.data = dash + 1, .size = (size_t)(end - dash) - 1},
    };
    return parts->queue.size > 0 && parts->mark.size > 0;
}

struct tr_text tri_armada_identity(struct tr_text client_id, struct tr_text mark)
{
    if (client_id.size <= mark.size + 1 || mark.size == 0) {
        return (struct tr_text){0};
    }
    size_t size = client_id.size - mark.size - 1;
    struct tr_text behind = {.data = client_id.data + size + 1, .size = mark.size};
    return client_id.data[size] == '.' && tr_text_equal(behind, mark)
               ? (struct tr_text){.data = client_id.data, .size = size}
               : (struct tr_text){0};
}

/* ----------------------------------------------------------------------------------- words */

struct tr_text tri_armada_format(struct tr_webapi_batch *batch, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *words = size < 0 ? NULL : batch->api->scratch(batch, (size_t)size + 1);
    if (words == NULL) {
        return (struct tr_text){0};
    }
    va_start(arguments, format);
    (void)vsnprintf(words, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return (struct tr_text){.data = words, .size = (size_t)size};
}

/* "https://logs/{job}": the part before {job}, the handle, and the part behind. */
struct tr_text tri_armada_log(struct tr_webapi_batch *batch, struct tr_text handle)
{
    static const char place[] = "{job}";
    struct tr_text template = tr_config_text(batch->endpoint->config, "logs", (struct tr_text){0});
    const char *found =
        template.size == 0 ? NULL : memmem(template.data, template.size, place, sizeof place - 1);
    if (found == NULL || handle.size == 0) {
        return (struct tr_text){0};
    }
    size_t before = (size_t)(found - template.data);
    const char *behind = found + sizeof place - 1;
    return tri_armada_format(batch, "%.*s%.*s%.*s", (int)before, template.data, (int)handle.size,
                             handle.data, (int)(template.data + template.size - behind), behind);
}
