/*
 * The journal's figures are read, the workers are asked, the history is counted by its index.
 */
#include "deploy/server/serve_ping.h"

#include <unistd.h>

#include "deploy/common/program.h"
#include "schemas/engine/history.h"
#include "schemas/engine/phase.h"

#define NS_PER_MS 1000000

static int count_phase(struct tr_reader *reader, uint8_t phase, uint64_t *count)
{
    const struct tr_reader_filter filter = tr_filter_number("phase", TR_FILTER_EQUAL, phase);
    const struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = &filter, .filter_count = 1};
    return tr_phase_is_end(TR_SUBJECT_EXECUTION, phase) ? 0
                                                        : tr_reader_count(reader, &query, count);
}

/* Those that have not ended. */
static int count_executions(struct tr_live *live, uint64_t *total)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct tr_reader *reader;
    int error = tr_live_read(live, explain, &reader);
    *total = 0;
    if (error != 0) {
        return error;
    }
    for (uint8_t phase = 0; error == 0 && phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        uint64_t count = 0;
        error = count_phase(reader, phase, &count);
        *total += count;
    }
    tr_live_read_end(live);
    return error;
}

int tr_serve_ping(struct tr_live *live, struct tr_engine_pinged *pinged)
{
    struct tr_journal_figures journal;
    struct tr_metric metrics[TR_METRICS_MAX];
    size_t count = 0;
    uint64_t unfinished;
    int error = count_executions(live, &unfinished);
    if (error != 0) {
        return error;
    }
    tr_host_journal_figures(live->host, &journal);
    uint64_t dormant = live->dormant.dormant_count;
    *pinged = (struct tr_engine_pinged){
        .program = tr_text_of(TR_PROGRAM_VERSION),
        .command = tr_text_of(live->command),
        .pid = (uint64_t)getpid(),
        .executions = unfinished > dormant ? unfinished - dormant : 0,
        .dormant = dormant,
        .last_commit_ms = journal.last_ns / NS_PER_MS,
        .current_commit_ms = journal.current_ns / NS_PER_MS,
        .waits_for = journal.waits_for,
        .workers = tr_host_metrics(live->host, metrics, &count),
    };
    return 0;
}
