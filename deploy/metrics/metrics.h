/*
 * What a live engine counts, as Prometheus reads it; deploy/METRICS.md has each metric. Whoever
 * serves it, a command or a door of its own, serves this text.
 */
#ifndef TR_DEPLOY_METRICS_METRICS_H
#define TR_DEPLOY_METRICS_METRICS_H

#include "actors/graph/document/buffer.h"
#include "deploy/engine/assemble.h"

/*
 * Appends the text. By the engine's own thread; workers are asked and answer between two messages.
 * Errors: TR_TIMEOUT (a worker's handler is stuck), what the history's reader says, TR_MEMORY;
 * `explain` (TRI_STORE_EXPLAIN_BYTES) has words.
 */
TR_MUST_USE int tr_metrics_text(struct tr_live *live, struct tr_buffer *text, char *explain);

#endif
