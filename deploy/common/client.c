/*
 * One question at a time: what belongs to another one is passed over.
 */
#include "deploy/common/client.h"

#include "deploy/common/clock.h"
#include "deploy/console/console.h"
#include "schemas/runtime/request.h"

/* Who is called by an engine looks so often whether it leaves: then nobody would answer. */
#define LOOK_MS 200

static int first(uint64_t end_ms, struct tri_client *client, struct tri_request *answer)
{
    uint64_t now_ms = tr_clock_ms();
    uint64_t most_ms = tr_console() == NULL ? UINT32_MAX : LOOK_MS;
    uint64_t left_ms = end_ms == UINT64_MAX ? most_ms : end_ms - now_ms;
    if (tr_console_is_gone()) {
        return TR_NO_CONNECTION;
    }
    if (end_ms != UINT64_MAX && now_ms >= end_ms) {
        return TR_CLOSED;
    }
    return tri_client_next(client, -1, (uint32_t)(left_ms < most_ms ? left_ms : most_ms), answer);
}

/* A person may wait for ever, and press Ctrl-C; a console of a thread says how long it waits. */
static uint64_t end_of(uint32_t timeout_ms)
{
    if (timeout_ms == 0 && tr_console() != NULL) {
        timeout_ms = tr_console()->answer_ms;
    }
    return timeout_ms == 0 ? UINT64_MAX : tr_clock_ms() + timeout_ms;
}

int tr_client_call(struct tri_client *client, const struct tr_schema *schema, const void *body,
                   const struct tr_schema *last, uint32_t timeout_ms,
                   int (*row)(void *self, const struct tri_request *row), void *self,
                   struct tri_request *answer)
{
    uint32_t number;
    uint64_t end_ms = end_of(timeout_ms);
    int error = tri_client_ask(client, schema, body, &number);
    while (error == 0) {
        struct tri_request came;
        error = first(end_ms, client, &came);
        if (error == TR_TIMEOUT) {
            error = 0;
            continue;
        }
        if (error != 0 || came.number != number) {
            continue;
        }
        if (came.type == last->id || came.type == tr_answered_schema.id) {
            *answer = came;
            return 0;
        }
        error = row == NULL ? 0 : row(self, &came);
    }
    return error == TR_CLOSED ? TR_TIMEOUT : error;
}
