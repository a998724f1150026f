/*
 * Following the other hosts (tr_host_follow), with what the engine has to do about it.
 *
 * Graphs lie in memory, outside of any store, and actors find them there without asking. So those
 * of all executions that come are registered before one of their actors is loaded, and the program
 * holds them until the launchers that came with them do.
 *
 * Whoever waits for an actor follows, too, so partitions may come at any such time: `taken` is what
 * was made ready last and not handed over yet. If taking fails, it is made ready anew.
 */
#include "deploy/engine/follow_hosts.h"

#include <stdio.h>

#include "deploy/engine/graph_pins.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/engine/flow.h"

static struct tr_live *live_of(void *program)
{
    return ((struct tr_live_engine *)program)->live;
}

/* NULL: no memory. */
static struct tr_graph_pins *begin(struct tr_live *live)
{
    if (live->taken == NULL) {
        live->taken = tr_alloc_zero(1, sizeof *live->taken);
    }
    if (live->taken != NULL) {
        live->taken->live = live;
        tr_graph_pins_drop(live->taken);
    }
    return live->taken;
}

/* With a reader of its own: whoever waits for an actor may be reading. */
int tr_follow_hosts_prepare(void *program, const bool *partitions, size_t count)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool gained[TR_PARTITIONS_MAX] = {false};
    struct tr_live *live = live_of(program);
    struct tr_graph_pins *pins = begin(live);
    if (pins == NULL) {
        return TR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        gained[i] = partitions[i];
    }
    int error = tr_history_open(live->folder, explain, &pins->reader);
    if (error == 0) {
        pins->gained = gained;
        pins->explain = explain;
        error = tr_graph_pins_read(pins);
        pins->gained = NULL;
        pins->explain = NULL;
    }
    tr_reader_close(pins->reader);
    pins->reader = NULL;
    if (error != 0) {
        (void)snprintf(live->cannot_take_words, sizeof live->cannot_take_words, "%s",
                       explain[0] != '\0' ? explain : tr_error_text(error));
    }
    return error;
}

/* Others may come meanwhile, so what came is taken out of the engine's hands first. */
static int hand_over(struct tr_live *live)
{
    if (live->taken == NULL) {
        return 0;
    }
    struct tr_graph_pins *pins = live->taken;
    live->taken = NULL;
    int error = tr_graph_pins_hand_over(pins);
    tr_graph_pins_fini(pins);
    tr_free(pins);
    return error;
}

/* Hosts, while the resource manager is told. */
struct telling {
    struct tr_live *live;
    uint64_t digest; /* of who is gone, and who lives */
    uint64_t living[TR_HOSTS_MAX];
    size_t count; /* of those */
    bool tells;
    int error;
};

static void tell_gone(void *self, uint16_t number, uint64_t incarnation)
{
    struct telling *telling = self;
    const struct tr_resource_machine_gone gone = {.host = number, .incarnation = incarnation};
    telling->digest = (telling->digest ^ number ^ incarnation << 16) * 0x9e3779b97f4a7c15ULL;
    if (telling->tells && telling->error == 0) {
        telling->error = tr_host_tell(telling->live->host, telling->live->engine->resources,
                                      &tr_resource_machine_gone_schema, &gone);
    }
}

static void note_living(void *self, uint16_t number)
{
    struct telling *telling = self;
    if (telling->count < TR_COUNT_OF(telling->living)) {
        telling->living[telling->count++] = number;
        telling->digest = (telling->digest ^ number) * 0x9e3779b97f4a7c15ULL;
    }
}

/*
 * Who waits for a machine that is gone asks anew. That is told whenever other hosts live, or
 * another one is gone; one that was forgotten is gone, too, and nobody sees it.
 */
static int tell_machines(struct tr_live *live)
{
    struct telling telling = {.live = live};
    tr_host_lost(live->host, tell_gone, &telling);
    uint64_t newest = tr_host_living(live->host, note_living, &telling);
    if (telling.digest == live->gone || newest == 0) {
        return 0;
    }
    const struct tr_resource_machines machines = {
        .hosts = {.data = (const uint8_t *)telling.living,
                  .size = telling.count * sizeof *telling.living},
        .newest = newest};
    live->gone = telling.digest;
    telling.tells = true;
    tr_host_lost(live->host, tell_gone, &telling);
    return telling.error != 0 ? telling.error
                              : tr_host_tell(live->host, live->engine->resources,
                                             &tr_resource_machines_schema, &machines);
}

int tr_follow_hosts(struct tr_live *live)
{
    uint64_t now_ms = tr_live_now_ms(live);
    bool is_due = live->is_member && (tr_host_has_news(live->host) ||
                                      tr_host_must_follow(live->host) || now_ms >= live->follow_ms);
    if (!is_due) {
        return 0;
    }
    live->follow_ms = now_ms + TR_FOLLOW_HOSTS_MS;
    live->cannot_take_words[0] = '\0';
    live->cannot_take = tr_host_follow(live->host);
    if (live->cannot_take != 0 && live->cannot_take_words[0] == '\0') {
        (void)snprintf(live->cannot_take_words, sizeof live->cannot_take_words, "%s",
                       tr_error_text(live->cannot_take));
    }
    if (live->cannot_take != 0) {
        return 0;
    }
    int error = hand_over(live);
    return error != 0 ? error : tell_machines(live);
}

void tr_follow_hosts_end(struct tr_live *live)
{
    if (live->taken != NULL) {
        tr_graph_pins_drop(live->taken);
        tr_graph_pins_fini(live->taken);
        tr_free(live->taken);
        live->taken = NULL;
    }
}
