/*
 * Sending executions that have ended to a collector of OpenTelemetry, by OTLP/HTTP in JSON. Off
 * unless somebody opens it.
 *
 *     int error = tr_traces_open(&options, words, &traces);
 *     ...
 *     tr_traces_close(traces);
 */
#ifndef TR_DEPLOY_TRACES_TRACES_H
#define TR_DEPLOY_TRACES_TRACES_H

#include <stdatomic.h>

#include "schemas/engine/webapi.h"

struct tr_secret_source;
struct tr_traces;

#define TR_TRACES_WORDS_BYTES 512

/* An execution is sent so long after its end, when the order of ends is certain. */
#define TR_TRACES_SETTLED_MS 500

/* An engine that begins sends again what has ended so long before. */
#define TR_TRACES_AGAIN_MS 60000

/* One request; how long it is waited between two, doubled each time; when it is given up. */
#define TR_TRACES_TIMEOUT_MS 10000
#define TR_TRACES_RETRY_MS 1000
#define TR_TRACES_RETRY_MS_MAX 60000
#define TR_TRACES_GIVE_UP_MS 300000

/* Executions that wait to be sent: the oldest beyond are lost. */
#define TR_TRACES_WAITING_MAX 4096

struct tr_traces_options {
    const char *folder;   /* of the store */
    const char *endpoint; /* a URL, behind which is /v1/traces */
    const char *service;  /* service.name */
    uint8_t authorization;
    struct tr_secret secret; /* of it */
    const char *ca_file;     /* NULL: the system's */
    const struct tr_secret_source *secret_sources;
    size_t secret_source_count;
    uint64_t store; /* its number */
    void (*warn)(void *self, const char *words);
    void *self;
    atomic_uint_fast64_t *sent; /* are added to: executions */
    atomic_uint_fast64_t *lost;
};

/* Texts outlive it. TR_MEMORY, TR_SYSTEM, with words (TR_TRACES_WORDS_BYTES). */
TR_MUST_USE int tr_traces_open(const struct tr_traces_options *options, char *words,
                               struct tr_traces **traces);

/* Waits for nothing that is on its way. NULL is fine. */
void tr_traces_close(struct tr_traces *traces);

#endif
