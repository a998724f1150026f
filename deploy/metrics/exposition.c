/*
 * Writing the format: one sample a line, histograms as cumulative buckets with their sum and count.
 */
#include "deploy/metrics/exposition.h"

#include <stdio.h>
#include <stdlib.h>

/* Numbers up to here are whole in a double, and are written so. */
#define WHOLE_MAX 9007199254740992.0
#define NUMBER_BYTES 32
#define DIGITS_MIN 6
#define DIGITS_MAX 17

/* A label beside those of the caller: `le` of a histogram. */
#define LABELS_MAX 8

/* The shortest form that is read as the same number. */
static void add_number(struct tr_buffer *text, double value)
{
    char number[NUMBER_BYTES];
    bool is_whole = value >= -WHOLE_MAX && value <= WHOLE_MAX && value == (double)(int64_t)value;
    int digits = DIGITS_MIN;
    do {
        (void)snprintf(number, sizeof number, "%.*g", digits, value);
    } while (!is_whole && strtod(number, NULL) != value && digits++ < DIGITS_MAX);
    if (is_whole) {
        (void)snprintf(number, sizeof number, "%lld", (long long)value);
    }
    tr_buffer_add_string(text, number);
}

/* A backslash and the end of a line are escaped everywhere, quotes within a label. */
static void add_escaped(struct tr_buffer *text, struct tr_text value, bool is_label)
{
    for (size_t i = 0; i < value.size; i++) {
        char letter = value.data[i];
        if (letter == '\n') {
            tr_buffer_add_string(text, "\\n");
            continue;
        }
        if (letter == '\\' || (is_label && letter == '"')) {
            tr_buffer_add_string(text, "\\");
        }
        tr_buffer_add(text, &letter, 1);
    }
}

void tr_exposition_family(struct tr_buffer *text, const struct tr_metric_family *family)
{
    static const char *const kinds[] = {
        [TR_METRIC_COUNTER] = "counter",
        [TR_METRIC_GAUGE] = "gauge",
        [TR_METRIC_HISTOGRAM] = "histogram",
    };
    tr_buffer_print(text, "# HELP %s ", family->name);
    add_escaped(text, tr_text_of(family->help), false);
    tr_buffer_print(text, "\n# TYPE %s %s\n", family->name, kinds[family->kind]);
}

static void add_labels(struct tr_buffer *text, const struct tr_metric_label *labels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tr_buffer_print(text, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
        add_escaped(text, labels[i].value, true);
        tr_buffer_add_string(text, i + 1 == count ? "\"}" : "\"");
    }
}

static void add_sample(struct tr_buffer *text, const char *name, const char *suffix,
                       const struct tr_metric_label *labels, size_t count, double value)
{
    tr_buffer_print(text, "%s%s", name, suffix);
    add_labels(text, labels, count);
    tr_buffer_add_string(text, " ");
    add_number(text, value);
    tr_buffer_add_string(text, "\n");
}

void tr_exposition_sample(struct tr_buffer *text, const char *name,
                          const struct tr_metric_label *labels, size_t label_count, double value)
{
    add_sample(text, name, "", labels, label_count, value);
}

void tr_exposition_single(struct tr_buffer *text, const struct tr_metric_family *family,
                          double value)
{
    tr_exposition_family(text, family);
    tr_exposition_sample(text, family->name, NULL, 0, value);
}

void tr_exposition_histogram(struct tr_buffer *text, const char *name,
                             const struct tr_metric_label *labels, size_t label_count,
                             const struct tr_metric_buckets *buckets)
{
    struct tr_metric_label all[LABELS_MAX];
    char bound[NUMBER_BYTES];
    uint64_t count = 0;
    TR_ASSERT(label_count < LABELS_MAX);
    for (size_t i = 0; i < label_count; i++) {
        all[i] = labels[i];
    }
    for (size_t i = 0; i < buckets->size; i++) {
        bool is_last = buckets->bounds[i] == UINT64_MAX;
        (void)snprintf(bound, sizeof bound, "%.9g", (double)buckets->bounds[i] * buckets->unit);
        all[label_count] = (struct tr_metric_label){"le", tr_text_of(is_last ? "+Inf" : bound)};
        count += buckets->counts[i];
        add_sample(text, name, "_bucket", all, label_count + 1, (double)count);
    }
    add_sample(text, name, "_sum", labels, label_count, (double)buckets->sum * buckets->unit);
    add_sample(text, name, "_count", labels, label_count, (double)count);
}
