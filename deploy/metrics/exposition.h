/*
 * Prometheus' text format, version 0.0.4: families of samples, each behind its HELP and its TYPE.
 *
 *     tr_exposition_family(text, &(struct tr_metric_family){"troupe_it", TR_METRIC_GAUGE, "…"});
 *     tr_exposition_sample(text, "troupe_it", labels, 1, 3);
 *
 * Names are ours; texts of labels may be anybody's and are escaped. Errors stay in the buffer.
 */
#ifndef TR_DEPLOY_METRICS_EXPOSITION_H
#define TR_DEPLOY_METRICS_EXPOSITION_H

#include "actors/graph/document/buffer.h"

/* What a server of it says of the text. */
#define TR_EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum tr_metric_kind { TR_METRIC_COUNTER, TR_METRIC_GAUGE, TR_METRIC_HISTOGRAM };

struct tr_metric_family {
    const char *name;
    enum tr_metric_kind kind;
    const char *help;
};

struct tr_metric_label {
    const char *name;
    struct tr_text value;
};

/* Begins a family; its samples follow. */
void tr_exposition_family(struct tr_buffer *text, const struct tr_metric_family *family);

void tr_exposition_sample(struct tr_buffer *text, const char *name,
                          const struct tr_metric_label *labels, size_t label_count, double value);

/* A family of one sample without labels. */
void tr_exposition_single(struct tr_buffer *text, const struct tr_metric_family *family,
                          double value);

/* How many values there were up to each bound; `unit` of the bounds and the sum make the metric's.
 */
struct tr_metric_buckets {
    const uint64_t *bounds; /* the last one is UINT64_MAX */
    const uint64_t *counts;
    size_t size;
    uint64_t sum;
    double unit;
};

void tr_exposition_histogram(struct tr_buffer *text, const char *name,
                             const struct tr_metric_label *labels, size_t label_count,
                             const struct tr_metric_buckets *buckets);

#endif
