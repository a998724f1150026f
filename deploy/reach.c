/*
 * One store has one engine: whoever comes second is its guest.
 */
#include "deploy/reach.h"

#include <poll.h>

#include "deploy/clock.h"
#include "schemas/request.h"

/* How long an engine that is about to open its door, or to leave, is waited for. */
#define REACH_MS 10000
#define RETRY_MS 20

/* How long an engine may take to answer. */
#define HELLO_MS 5000

static int first(uint64_t end_ms, struct tri_client *client, struct tri_request *answer)
{
    uint64_t now_ms = tr_clock_ms();
    if (end_ms == UINT64_MAX) {
        return tri_client_next(client, -1, UINT32_MAX, answer);
    }
    return now_ms >= end_ms ? TR_CLOSED
                            : tri_client_next(client, -1, (uint32_t)(end_ms - now_ms), answer);
}

int tr_client_call(struct tri_client *client, const struct tr_schema *schema, const void *body,
                   const struct tr_schema *last, uint32_t timeout_ms,
                   int (*row)(void *self, const struct tri_request *row), void *self,
                   struct tri_request *answer)
{
    uint32_t number;
    uint64_t end_ms = timeout_ms == 0 ? UINT64_MAX : tr_clock_ms() + timeout_ms;
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

/* Whether somebody opens. */
static int knock(const char *folder, struct tri_client **out)
{
    struct tri_client *client;
    struct tri_request answer;
    struct tr_hello hello = {.program = tr_text_of(TR_PROGRAM_VERSION)};
    int error = tri_client_open(folder, &client);
    if (error != 0) {
        return error;
    }
    error = tr_client_call(client, &tr_hello_schema, &hello, &tr_welcome_schema, HELLO_MS, NULL,
                           NULL, &answer);
    if (error != 0) {
        tri_client_close(client);
        return error;
    }
    *out = client;
    return 0;
}

enum tr_exit_status tr_reach_live(const struct tr_invocation *invocation, const char *folder,
                                  struct tri_client **client)
{
    int error = knock(folder, client);
    if (error == TR_NO_CONNECTION) {
        return tr_command_failed(invocation->command,
                                 "no engine runs on %s; `troupe resume` starts one, which goes on "
                                 "with what is unfinished",
                                 folder);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "the engine of %s does not answer: %s",
                                 folder, tr_error_text(error));
    }
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_reach(const struct tr_invocation *invocation,
                             const struct tr_live_options *options, struct tr_reached *reached)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    uint64_t end_ms = tr_clock_ms() + REACH_MS;
    *reached = (struct tr_reached){.live = NULL};
    int error;
    do {
        error = tr_live_open(options, explain, &reached->live);
        if (error == TR_STORE_LOCKED && knock(options->folder, &reached->client) == 0) {
            return TR_EXIT_DONE;
        }
        if (error == TR_STORE_LOCKED) {
            (void)poll(NULL, 0, RETRY_MS);
        }
    } while (error == TR_STORE_LOCKED && tr_clock_ms() < end_ms);
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(invocation->command, "%s", explain);
}

void tr_reached_close(struct tr_reached *reached)
{
    tr_live_close(reached->live);
    tri_client_close(reached->client);
    *reached = (struct tr_reached){.live = NULL};
}
