/*
 * All metrics in their order: what users see of the engine first.
 */
#include "deploy/metrics/metrics_inside.h"

#include <stdio.h>

#include "deploy/common/program.h"

static void write_build(const struct tri_metrics_view *view)
{
    const struct tr_metric_family family = {"troupe_build_info", TR_METRIC_GAUGE,
                                            "1; the label has the program's version."};
    const struct tr_metric_label label = {"version", tr_text_of(TR_PROGRAM_VERSION)};
    tr_exposition_family(view->text, &family);
    tr_exposition_sample(view->text, family.name, &label, 1, 1);
}

static int write_all(const struct tri_metrics_view *view)
{
    write_build(view);
    int error = tri_metrics_work(view);
    if (error == 0) {
        error = tri_metrics_backends(view);
    }
    return error != 0 ? error : tri_metrics_engine(view);
}

int tr_metrics_text(struct tr_live *live, struct tr_buffer *text, char *explain)
{
    struct tri_metrics_view view = {.live = live, .text = text};
    explain[0] = '\0';
    int error = tr_live_read(live, explain, &view.reader);
    if (error != 0) {
        return error;
    }
    error = write_all(&view);
    error = error != 0 ? error : text->error;
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(error));
    }
    tr_live_read_end(live);
    return error;
}
