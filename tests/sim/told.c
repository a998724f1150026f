/*
 * The server behind the notifications of a world. It takes a key once, as servers do that look at
 * Idempotency-Key; that it hears of one again is a finding unless its answer may be lost: a crash
 * came in between, and nobody had committed that it was delivered.
 */
#include "tests/sim/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/engine/history.h"
#include "schemas/runtime/http.h"

#define KEY_BYTES 128
#define REFUSED_ONE_IN 4
#define REPLY_NS_MOST 50000000ULL

/* A notification by its key. */
struct entry {
    struct entry *next;
    char key[KEY_BYTES];
    char target[KEY_BYTES];
    char phase[16];
    uint32_t host;
    uint64_t execution;
    uint64_t starts;   /* of the host, when it was taken; 0: it was not */
    uint32_t taken;    /* how often */
    uint8_t status;    /* as committed */
    bool is_committed; /* its row is */
};

struct sim_told {
    struct entry *entries;
};

struct sim_told *sim_told_new(void)
{
    return sim_must(calloc(1, sizeof(struct sim_told)));
}

void sim_told_free(struct sim_told *told)
{
    while (told != NULL && told->entries != NULL) {
        struct entry *entry = told->entries;
        told->entries = entry->next;
        free(entry);
    }
    free(told);
}

/* Hosts know nothing of each other: their executions may have the same names and keys. */
static struct entry *entry_of(struct sim_told *told, const struct sim_host *host,
                              struct tr_text key)
{
    for (struct entry *entry = told->entries; entry != NULL; entry = entry->next) {
        if (entry->host == host->index && tr_text_equal(key, tr_text_of(entry->key))) {
            return entry;
        }
    }
    struct entry *entry = sim_must(calloc(1, sizeof *entry));
    TR_ASSERT(key.size < sizeof entry->key);
    entry->host = host->index;
    memcpy(entry->key, key.data, key.size);
    entry->next = told->entries;
    told->entries = entry;
    return entry;
}

/* The value of a header; empty: there is none. */
static struct tr_text header_of(struct tr_bytes headers, const char *name)
{
    struct tr_cursor cursor = tr_cursor_of(headers);
    uint32_t count = tr_read_array(&cursor);
    size_t size = strlen(name);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text line = tr_read_text(&cursor);
        if (line.size > size + 2 && memcmp(line.data, name, size) == 0) {
            return (struct tr_text){.data = line.data + size + 2, .size = line.size - size - 2};
        }
    }
    return tr_text_of("");
}

static void check_told(const struct sim_host *host, const struct entry *entry)
{
    if (!entry->is_committed) {
        sim_fail("told: %s is told, and not committed", entry->key);
    }
    if (entry->status == TR_NOTIFICATION_DELIVERED) {
        sim_fail("told: %s is delivered, and told again", entry->key);
    }
    if (entry->taken > 0 && entry->starts == host->starts + 1) {
        sim_fail("told: %s was taken, and is told again without a crash", entry->key);
    }
}

bool sim_told_hear(struct sim_told *told, struct sim_host *host, const struct tr_envelope *envelope,
                   struct tr_bytes body)
{
    struct tr_http_request request;
    if (envelope->type != tr_http_request_schema.id) {
        return false;
    }
    int error = tr_http_request_unpack(body, envelope->version, &request);
    TR_ASSERT(error == 0);
    struct entry *entry = entry_of(told, host, header_of(request.headers, "Idempotency-Key"));
    check_told(host, entry);
    struct sim_random *chance = &host->world->chance.environment;
    bool is_refused = !host->world->is_calm && sim_below(chance, REFUSED_ONE_IN) == 0;
    uint64_t delay_ns = sim_below(chance, REPLY_NS_MOST);
    if (!is_refused) {
        struct tr_text phase = header_of(request.headers, "X-Phase");
        (void)snprintf(entry->phase, sizeof entry->phase, "%.*s", (int)phase.size, phase.data);
        entry->taken++;
        entry->starts = host->starts + 1;
        sim_engine_seen.told += entry->taken == 1 ? 1 : 0;
        sim_engine_seen.told_again += entry->taken > 1 ? 1 : 0;
    }
    struct tr_http_response response = {.status = is_refused ? 503 : 204,
                                        .fault = tr_text_of("none")};
    sim_engine_seen.told_refused += is_refused ? 1 : 0;
    sim_environment_reply(host, envelope, &tr_http_response_schema, &response, delay_ns);
    return true;
}

void sim_told_record(struct sim_told *told, const struct sim_host *host, const struct tri_op *op)
{
    struct tr_notification_row row;
    int error = tr_notification_row_unpack(op->data, tr_notification_row_schema.version, &row);
    TR_ASSERT(error == 0);
    struct entry *entry = entry_of(told, host, row.key);
    entry->is_committed = true;
    entry->execution = row.execution;
    if (entry->status == TR_NOTIFICATION_DELIVERED && row.status != entry->status) {
        sim_fail("told: %s was delivered, and is %s", entry->key,
                 tr_notification_status_word(row.status));
    }
    entry->status = row.status;
    (void)snprintf(entry->target, sizeof entry->target, "%.*s", (int)row.target.size,
                   row.target.data);
}

static const char *word_of(uint8_t phase)
{
    return phase == TR_EXECUTION_SUCCEEDED   ? "succeeded"
           : phase == TR_EXECUTION_ABORTED   ? "aborted"
           : phase == TR_EXECUTION_TIMED_OUT ? "timed_out"
                                             : "failed";
}

static void check_execution(const struct sim_told *told, const struct sim_execution *execution)
{
    char target[KEY_BYTES];
    uint32_t count = 0;
    (void)snprintf(target, sizeof target, "http://told/%s", execution->name);
    for (const struct entry *entry = told->entries; entry != NULL; entry = entry->next) {
        bool is_its = entry->host == execution->host && entry->execution == execution->number &&
                      strcmp(entry->target, target) == 0;
        count += is_its ? 1 : 0;
        if (is_its && strcmp(entry->phase, word_of(execution->phase)) != 0) {
            sim_fail("told: %s is %s, and somebody was told that it is %s", execution->name,
                     word_of(execution->phase), entry->phase);
        }
    }
    if (count != 1) {
        sim_fail("told: %u notifications of %s, where there is one", count, execution->name);
    }
}

void sim_told_check_end(const struct sim_told *told, const struct sim_host *host)
{
    const struct sim_stage *stage = sim_stage_of(host->world);
    for (const struct entry *entry = told->entries; entry != NULL; entry = entry->next) {
        if (entry->host == host->index &&
            (entry->taken == 0 || entry->status != TR_NOTIFICATION_DELIVERED)) {
            sim_fail("told: %s was told %u times, and is %s", entry->key, entry->taken,
                     tr_notification_status_word(entry->status));
        }
    }
    for (uint32_t i = 0; i < stage->execution_count; i++) {
        const struct sim_execution *execution = &stage->executions[i];
        if (execution->host == host->index && execution->number != 0) {
            check_execution(told, execution);
        }
    }
}
