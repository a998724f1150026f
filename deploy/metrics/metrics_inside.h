/*
 * What the files of this room share: the engine that is shown, and the text that grows. Nobody else
 * includes this.
 */
#ifndef TR_DEPLOY_METRICS_METRICS_INSIDE_H
#define TR_DEPLOY_METRICS_METRICS_INSIDE_H

#include "deploy/metrics/exposition.h"
#include "deploy/metrics/metrics.h"

struct tri_metrics_view {
    struct tr_live *live;
    struct tr_reader *reader; /* of the history as it is now */
    struct tr_buffer *text;
};

/* metrics_work.c: executions, attempts, the cache, schedules. What the host and the reader say. */
TR_MUST_USE int tri_metrics_work(const struct tri_metrics_view *view);

/* metrics_engine.c: actors, journal, store, services, back ends, the process itself. The same. */
TR_MUST_USE int tri_metrics_engine(const struct tri_metrics_view *view);

/* metrics_backends.c: endpoints of plugins. What the reader says. */
TR_MUST_USE int tri_metrics_backends(const struct tri_metrics_view *view);

#endif
