/*
 * Entries come in the order in which they were written, so that the last one of an element says how
 * it stands.
 */
#include "deploy/history/element_figures.h"

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/engine/phase.h"

struct reading {
    struct tr_element_figures *figures;
    struct tr_failed_groups *groups;
    struct tr_text code;
};

static int take(void *self, const struct tr_element_entry *entry)
{
    struct reading *reading = self;
    struct tr_element_figure *row =
        &reading->figures->rows[entry->element - reading->figures->first];
    for (uint32_t i = 0; i < entry->phase_count; i++) {
        bool is_start = entry->phases[i] == TR_NODE_PHASE_RUNNING && row->started_ms == 0;
        row->started_ms = is_start ? entry->at_ms : row->started_ms;
    }
    row->phase = entry->phases[entry->phase_count - 1];
    row->ended_ms = tr_phase_is_end(TR_SUBJECT_NODE, row->phase) ? entry->at_ms : 0;
    row->attempt = entry->attempt;
    row->has_text = entry->code.size + entry->message.size > 0;
    row->has_wanted = reading->code.size > 0 && tr_text_equal(entry->code, reading->code);
    return reading->groups == NULL ? 0 : tr_failed_groups_take(reading->groups, entry);
}

int tr_element_figures_read(struct tr_reader *reader, const struct tr_element_span *span,
                            struct tr_text code, struct tr_failed_groups *groups,
                            struct tr_element_figures *figures)
{
    if (span->last < span->first || span->last - span->first >= TR_ELEMENT_FIGURES_MAX) {
        return TR_LIMIT;
    }
    figures->first = span->first;
    figures->count = span->last - span->first + 1;
    figures->rows = tr_alloc_zero(figures->count, sizeof *figures->rows);
    if (figures->rows == NULL) {
        return TR_MEMORY;
    }
    struct reading reading = {.figures = figures, .groups = groups, .code = code};
    int error = tr_elements_read_some(reader, span, take, &reading);
    if (error != 0) {
        tr_element_figures_fini(figures);
    }
    return error;
}

void tr_element_figures_fini(struct tr_element_figures *figures)
{
    tr_free(figures->rows);
    *figures = (struct tr_element_figures){.rows = NULL};
}
