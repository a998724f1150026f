/*
 * Questions in a list, known by who asks and by what the question says.
 */
#include "tests/sim/repeats.h"

#include <stdlib.h>

#include "tests/sim/engine.h"

/*
 * From so many repeats on somebody may have given up: what is to become of it depends on crashes.
 */
#define REPEATS_MOST 4

struct question {
    struct question *next;
    uint32_t host;
    struct tr_key key;
    uint64_t digest;
    uint32_t count;
};

struct sim_repeats {
    struct question *first;
};

struct sim_repeats *sim_repeats_new(void)
{
    return sim_must(calloc(1, sizeof(struct sim_repeats)));
}

void sim_repeats_free(struct sim_repeats *repeats)
{
    while (repeats->first != NULL) {
        struct question *question = repeats->first;
        repeats->first = question->next;
        free(question);
    }
    free(repeats);
}

uint32_t sim_repeats_count(struct sim_repeats *repeats, const struct sim_host *host,
                           const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct question wanted = {.host = host->index, .key = tr_envelope_from(envelope).key};
    for (size_t i = 0; i < body.size; i++) {
        wanted.digest = sim_mix(wanted.digest ^ body.data[i]);
    }
    struct question *question = repeats->first;
    while (question != NULL &&
           !(question->host == wanted.host && question->digest == wanted.digest &&
             tr_key_equal(question->key, wanted.key))) {
        question = question->next;
    }
    if (question == NULL) {
        question = sim_must(calloc(1, sizeof *question));
        *question = wanted;
        question->next = repeats->first;
        repeats->first = question;
    }
    return question->count++;
}

uint64_t sim_repeats_delay_ns(struct sim_host *host, const struct tr_envelope *envelope,
                              struct tr_bytes body, uint64_t most_ns)
{
    struct sim_stage *stage = sim_stage_of(host->world);
    uint32_t count = sim_repeats_count(stage->repeats, host, envelope, body);
    stage->has_lost_answers = stage->has_lost_answers || count >= REPEATS_MOST;
    return count > 0 ? 0 : sim_below(&host->world->chance.environment, most_ns);
}
