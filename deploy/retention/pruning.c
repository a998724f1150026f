/*
 * The order of forgetting: which executions; their folders and their rows; then what is still
 * named; then the cache, and whatever is not. A stop in between leaves nothing that the next one
 * does not find: an execution's own row goes last.
 */
#include "deploy/retention/pruning.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/client.h"
#include "deploy/history/executions.h"
#include "deploy/history/notifications.h"
#include "deploy/history/shared_folder.h"
#include "deploy/retention/leftovers.h"
#include "deploy/retention/mark.h"
#include "deploy/retention/pruning_audit.h"
#include "deploy/retention/pruning_files.h"
#include "deploy/retention/pruning_graphs.h"
#include "deploy/retention/pruning_uploads.h"
#include "deploy/retention/removal_lock.h"
#include "runtime/env/env_limits.h"
#include "runtime/memory.h"
#include "schemas/engine/retention.h"

/* How long the engine may take to forget one share. */
#define FORGET_MS 10000

/* The folder on a share that attempts of one task keep for the next one. */
#define CHECKPOINT "checkpoint"

/* Numbers of executions, in order. */
struct numbers {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

/* Executions that are chosen, and those that have not ended. */
struct choice {
    const struct tr_prune_request *request;
    struct tr_reader *reader;
    char *explain;
    struct numbers chosen;
    struct numbers unfinished;
    struct numbers telling; /* of which notifications are still to be delivered */
    uint64_t audit_rows;    /* that are too old */
    uint64_t oldest_ms; /* when the oldest unfinished one was created; UINT64_MAX: there is none */
};

static int fail(char *explain, int error, const char *what)
{
    if (explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s: %s", what, tr_error_text(error));
    }
    return error;
}

static bool is_stopping(const struct tr_prune_request *request)
{
    return request->is_stopping != NULL && atomic_load(request->is_stopping);
}

/* ------------------------------------------------------------------------- numbers */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right ? 1 : 0;
}

static int add(struct numbers *numbers, uint64_t number)
{
    if (numbers->count == numbers->capacity) {
        size_t capacity = 2 * numbers->capacity + 64;
        uint64_t *grown = tr_realloc(numbers->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        numbers->items = grown;
        numbers->capacity = capacity;
    }
    numbers->items[numbers->count++] = number;
    return 0;
}

/* Puts them in order, each once. */
static void sort(struct numbers *numbers)
{
    size_t kept = 0;
    if (numbers->count > 0) {
        qsort(numbers->items, numbers->count, sizeof *numbers->items, compare_numbers);
    }
    for (size_t i = 0; i < numbers->count; i++) {
        if (i == 0 || numbers->items[i] != numbers->items[i - 1]) {
            numbers->items[kept++] = numbers->items[i];
        }
    }
    numbers->count = kept;
}

/* ------------------------------------------------------------------------ choosing */

static void choice_fini(struct choice *choice)
{
    tr_free(choice->chosen.items);
    tr_free(choice->unfinished.items);
    tr_free(choice->telling.items);
}

/* Before when something has to have ended that is kept so long; 0: it is kept for ever. */
static uint64_t cutoff_ms(const struct tr_prune_request *request, uint64_t span_ms)
{
    return span_ms == 0 || span_ms >= request->now_ms ? 0 : request->now_ms - span_ms;
}

/* The latest time before which anything is too old. */
static uint64_t latest_cutoff_ms(const struct tr_prune_request *request)
{
    uint64_t latest_ms = request->executions_before_ms;
    for (size_t i = 0; i < request->rule_count; i++) {
        uint64_t before_ms = cutoff_ms(request, request->rules[i].executions_ms);
        latest_ms = before_ms > latest_ms ? before_ms : latest_ms;
    }
    return latest_ms;
}

static bool is_aged(const struct tr_prune_request *request, const struct tr_execution *row)
{
    for (size_t i = 0; i < request->rule_count; i++) {
        if (tr_label_selector_holds(&request->rules[i].labels, row->labels)) {
            return row->ended_ms < cutoff_ms(request, request->rules[i].executions_ms);
        }
    }
    return row->ended_ms < request->executions_before_ms;
}

static int take_aged(void *self, const void *value)
{
    struct choice *choice = self;
    const struct tr_execution *row = value;
    return is_aged(choice->request, row) ? add(&choice->chosen, row->execution) : 0;
}

static int choose_aged(struct choice *choice)
{
    struct tr_execution_query made;
    struct tr_execution_filter filter = choice->request->filter;
    filter.ended_before_ms = latest_cutoff_ms(choice->request);
    if (filter.ended_before_ms == 0) {
        return 0;
    }
    if (filter.phases == 0) {
        filter.phases = tr_execution_phases_ended();
    }
    tr_execution_query_init(&made, &filter, true);
    if (!made.query.is_led) {
        made.query.order[0] = (struct tr_reader_order){.field = "ended_ms"};
    }
    return tr_reader_rows(choice->reader, &made.query, take_aged, choice);
}

static int take_unfinished(void *self, const void *value)
{
    struct choice *choice = self;
    const struct tr_execution *row = value;
    choice->oldest_ms = row->created_ms < choice->oldest_ms ? row->created_ms : choice->oldest_ms;
    return add(&choice->unfinished, row->execution);
}

static int find_unfinished(struct choice *choice)
{
    struct tr_execution_query made;
    const struct tr_execution_filter filter = {.phases = tr_execution_phases_unfinished()};
    tr_execution_query_init(&made, &filter, true);
    choice->oldest_ms = UINT64_MAX;
    return tr_reader_rows(choice->reader, &made.query, take_unfinished, choice);
}

static int take_telling(void *self, const struct tr_notification_row *row)
{
    struct choice *choice = self;
    return add(&choice->telling, row->execution);
}

static bool is_telling(const struct choice *choice, uint64_t number)
{
    return choice->telling.count > 0 &&
           bsearch(&number, choice->telling.items, choice->telling.count, sizeof number,
                   compare_numbers) != NULL;
}

/* What still writes rows is kept until the next time. */
static void leave_out_telling(struct choice *choice)
{
    size_t kept = 0;
    for (size_t i = 0; i < choice->chosen.count; i++) {
        if (!is_telling(choice, choice->chosen.items[i])) {
            choice->chosen.items[kept++] = choice->chosen.items[i];
        }
    }
    choice->chosen.count = kept;
}

/* One that was named has to have ended; one that is gone is none any more. */
static int choose_named(struct choice *choice, uint64_t number)
{
    struct tr_executions_row copy;
    int error = tr_executions_get(choice->reader, number, &copy);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    const struct tr_execution *row = &copy.row;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    if (has_ended && is_telling(choice, number)) {
        snprintf(choice->explain, TRI_STORE_EXPLAIN_BYTES,
                 "notifications of %.*s are still to be delivered; `troupe explain %.*s` says how "
                 "they stand",
                 (int)row->name.size, row->name.data, (int)row->name.size, row->name.data);
        error = TR_BUSY;
    } else if (has_ended) {
        error = add(&choice->chosen, number);
    } else {
        snprintf(choice->explain, TRI_STORE_EXPLAIN_BYTES,
                 "%.*s has not ended (%s); only what has ended can be forgotten",
                 (int)row->name.size, row->name.data, tr_execution_phase_word(row->phase));
        error = TR_BUSY;
    }
    tr_executions_row_fini(&copy);
    return error;
}

static int choose_all(struct choice *choice)
{
    const struct tr_prune_request *request = choice->request;
    choice->explain[0] = '\0';
    int error = tr_history_open(request->folder, choice->explain, &choice->reader);
    if (error != 0) {
        return error;
    }
    error = find_unfinished(choice);
    if (error == 0) {
        error = tr_notifications_unfinished(choice->reader, take_telling, choice);
        sort(&choice->telling);
    }
    for (size_t i = 0; error == 0 && i < request->execution_count; i++) {
        error = choose_named(choice, request->executions[i]);
    }
    if (error == 0) {
        error = choose_aged(choice);
    }
    if (error == 0) {
        error = tr_prune_audit_count(request, choice->reader, &choice->audit_rows);
    }
    if (error != 0 && choice->explain[0] == '\0') {
        snprintf(choice->explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(choice->reader));
    }
    tr_reader_close(choice->reader);
    sort(&choice->chosen);
    leave_out_telling(choice);
    return error;
}

/* What only an engine can forget. */
static bool has_rows(const struct choice *choice)
{
    return choice->chosen.count + choice->audit_rows > 0;
}

int tr_prune_needs_engine(const struct tr_prune_request *request, char *explain, bool *needs_engine)
{
    struct choice choice = {.request = request, .explain = explain};
    int error = choose_all(&choice);
    if (error == 0) {
        *needs_engine = has_rows(&choice) && !request->is_dry;
    }
    choice_fini(&choice);
    return error;
}

/* ---------------------------------------------------------------------- executions */

/* The pruning that goes on. */
struct pruning {
    const struct tr_prune_request *request;
    struct tri_client *client;
    struct tr_pruned *pruned;
    struct tr_reader *reader;
    char *explain;
};

/* Some of the chosen executions, which the engine is asked to forget at once. */
struct batch {
    struct tr_executions_row rows[TR_FORGET_EXECUTIONS_MAX];
    uint64_t numbers[TR_FORGET_EXECUTIONS_MAX]; /* of the same */
    size_t count;
};

/* Asks the engine to forget a share of what is left; so many of the first are `*done`. */
static int forget_share(const struct pruning *pruning, const struct batch *batch, size_t *done)
{
    struct tr_forget forget = {
        .executions = {.data = (const uint8_t *)(batch->numbers + *done),
                       .size = (batch->count - *done) * sizeof *batch->numbers}};
    struct tr_forgotten forgotten = {.done = 0};
    struct tri_request answer;
    int error = tr_client_call(pruning->client, &tr_forget_schema, &forget, &tr_forgotten_schema,
                               FORGET_MS, NULL, NULL, &answer);
    if (error == 0 && answer.type != tr_forgotten_schema.id) {
        error = TR_UNKNOWN_TYPE; /* an older engine */
    }
    if (error == 0) {
        error = tr_forgotten_unpack(answer.body, answer.version, &forgotten);
    }
    if (error == 0) {
        error = (int)forgotten.error;
    }
    *done += error == 0 ? forgotten.done : 0;
    return error == 0 && *done > batch->count ? TR_MALFORMED : error;
}

static int forget_batch(const struct pruning *pruning, const struct batch *batch)
{
    size_t done = 0;
    int error = 0;
    while (error == 0 && done < batch->count) {
        error = is_stopping(pruning->request) ? TR_CLOSED : forget_share(pruning, batch, &done);
    }
    pruning->pruned->parts[TR_PRUNED_EXECUTIONS].count += done;
    return error == 0 ? 0
                      : fail(pruning->explain, error, "the engine does not forget an execution");
}

static void note_stayed(struct tr_pruned *pruned, int error, struct tr_text path)
{
    const char *why = error == TR_SYSTEM ? strerror(errno) : tr_error_text(error);
    if (pruned->stayed++ == 0) {
        snprintf(pruned->why, sizeof pruned->why, "%.*s: %s",
                 (int)(path.size < 300 ? path.size : 300), path.data, why);
    }
}

static void remove_one(const struct tr_prune_request *request, const struct tri_shared *shared,
                       struct tr_pruned *pruned)
{
    struct tr_pruned_part *part = &pruned->parts[TR_PRUNED_ATTEMPTS];
    uint64_t bytes;
    if (!tri_shared_exists(shared, &bytes)) {
        return;
    }
    errno = 0;
    int error = request->is_dry ? 0 : tri_shared_remove(shared);
    if (error != 0) {
        note_stayed(pruned, error, shared->path);
        return;
    }
    part->count++;
    part->bytes += bytes;
}

/* What attempts of one task, or of one element, have kept for the next one: once for all. */
static void remove_checkpoint(const struct tr_prune_request *request, const struct tr_attempt *row,
                              const struct tri_shared *shared, struct tr_pruned *pruned)
{
    char path[TR_PATH_BYTES_MAX];
    int front = (int)(row->folder.size - row->generated_name.size); /* its last part */
    int size = row->element == TR_ELEMENT_NONE
                   ? snprintf(path, sizeof path, "%.*s" CHECKPOINT, front, row->folder.data)
                   : snprintf(path, sizeof path, "%.*s" CHECKPOINT "-%llu", front, row->folder.data,
                              (unsigned long long)row->element);
    if (size > 0 && (size_t)size < sizeof path) {
        const struct tri_shared checkpoint = {.path = tr_text_of(path),
                                              .trusted_bytes = shared->trusted_bytes};
        remove_one(request, &checkpoint, pruned);
    }
}

/*
 * Removes the folder of an attempt that has ended, if it lies on a share; any other row is left
 * alone. With `is_all` no attempt of its execution will come any more: then the folder around it,
 * and what it has kept for the next attempt, goes too. A share that is not there is fine; what
 * cannot be removed is counted, and holds nothing else up.
 */
static void prune_shared(const struct tr_prune_request *request, const struct tr_attempt *row,
                         bool is_all, struct tr_pruned *pruned)
{
    struct tri_shared shared;
    if (row->ended_ms == 0 || !tr_shared_folder_of(row, &shared)) {
        return;
    }
    remove_one(request, &shared, pruned);
    if (is_all && row->attempt == 0) {
        remove_checkpoint(request, row, &shared, pruned);
    }
    if (is_all && !request->is_dry) {
        tri_shared_remove_parent(&shared);
    }
}

static int prune_shared_attempt(void *self, const void *value)
{
    const struct pruning *pruning = self;
    if (is_stopping(pruning->request)) {
        return TR_CLOSED;
    }
    prune_shared(pruning->request, value, true, pruning->pruned);
    return 0;
}

/*
 * The folders of all attempts of an execution that has ended, on shares. One that has left the
 * store goes on elsewhere, with its folders: nothing of it is touched.
 */
static int prune_shared_attempts(struct pruning *pruning, const struct tr_execution *row)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, row->execution),
        tr_filter_number("ended_ms", TR_FILTER_GREATER, 0)};
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return row->phase == TR_EXECUTION_EXPORTED
               ? 0
               : tr_reader_rows(pruning->reader, &query, prune_shared_attempt, pruning);
}

/* The folders of its attempts, in the store and on shares. */
static int prune_folders(struct pruning *pruning, const struct tr_execution *row)
{
    struct tr_pruned *pruned = pruning->pruned;
    int error = tr_prune_execution_folders(pruning->request, row, pruning->explain,
                                           &pruned->parts[TR_PRUNED_ATTEMPTS]);
    return error != 0 ? error : prune_shared_attempts(pruning, row);
}

static void batch_fini(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        tr_executions_row_fini(&batch->rows[i]);
    }
    batch->count = 0;
}

/* Reads the rows of a batch; those that are gone meanwhile are left out. */
static int read_rows(struct tr_reader *reader, const uint64_t *numbers, size_t count,
                     struct batch *batch)
{
    int error = tr_executions_get_all(reader, numbers, count, batch->rows);
    for (size_t i = 0; error == 0 && i < count; i++) {
        if (batch->rows[i].texts != NULL) {
            batch->rows[batch->count] = batch->rows[i];
            batch->numbers[batch->count++] = numbers[i];
        }
    }
    return error;
}

/* Reads a batch, and what the history alone knows: what lies on shares. */
static int read_batch(struct pruning *pruning, const uint64_t *numbers, size_t count,
                      struct batch *batch)
{
    int error = tr_reader_refresh(pruning->reader);
    if (error == 0) {
        error = read_rows(pruning->reader, numbers, count, batch);
    }
    for (size_t i = 0; error == 0 && i < batch->count; i++) {
        error = prune_shared_attempts(pruning, &batch->rows[i].row);
    }
    tr_reader_release(pruning->reader); /* the store's log grows while somebody holds a moment */
    return error == 0 ? 0 : fail(pruning->explain, error, "the history cannot be read");
}

static int prune_batch(struct pruning *pruning, const uint64_t *numbers, size_t count,
                       struct batch *batch)
{
    const struct tr_prune_request *request = pruning->request;
    struct tr_pruned_part *parts = pruning->pruned->parts;
    int error = read_batch(pruning, numbers, count, batch);
    for (size_t i = 0; error == 0 && i < batch->count; i++) {
        error = is_stopping(request)
                    ? TR_CLOSED
                    : tr_prune_execution_folders(request, &batch->rows[i].row, pruning->explain,
                                                 &parts[TR_PRUNED_ATTEMPTS]);
    }
    if (error == 0 && request->is_dry) {
        parts[TR_PRUNED_EXECUTIONS].count += batch->count;
    } else if (error == 0) {
        error = forget_batch(pruning, batch);
    }
    return error;
}

static int prune_executions(struct pruning *pruning, const struct numbers *chosen)
{
    const struct tr_prune_request *request = pruning->request;
    struct batch *batch = tr_alloc_zero(1, sizeof *batch);
    int error = batch != NULL ? 0 : fail(pruning->explain, TR_MEMORY, "executions");
    for (size_t at = 0; error == 0 && at < chosen->count; at += TR_FORGET_EXECUTIONS_MAX) {
        size_t left = chosen->count - at;
        size_t count = left < TR_FORGET_EXECUTIONS_MAX ? left : TR_FORGET_EXECUTIONS_MAX;
        error = prune_batch(pruning, chosen->items + at, count, batch);
        batch_fini(batch);
        if (error == 0 && request->progress != NULL) {
            request->progress(request->self, at + count, chosen->count);
        }
    }
    tr_free(batch);
    return error;
}

/* ------------------------------------------------------------------------- attempts */

static bool is_chosen(const struct choice *choice, uint64_t number)
{
    return choice->chosen.count > 0 &&
           bsearch(&number, choice->chosen.items, choice->chosen.count,
                   sizeof *choice->chosen.items, compare_numbers) != NULL;
}

/* What looks through the executions that stay. */
struct keeping {
    struct pruning *pruning;
    const struct choice *choice;
};

static int prune_kept(void *self, const void *value)
{
    const struct keeping *keeping = self;
    struct pruning *pruning = keeping->pruning;
    const struct tr_execution *row = value;
    bool is_old = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase) &&
                  row->ended_ms < pruning->request->attempts_before_ms;
    if (!is_old || is_chosen(keeping->choice, row->execution)) {
        return 0;
    }
    return prune_folders(pruning, row);
}

/* Of an execution that goes on, the folder of an attempt that has ended. */
static int prune_attempt(void *self, const void *value)
{
    const struct pruning *pruning = self;
    const struct tr_attempt *row = value;
    char name[PATH_MAX];
    size_t store = strlen(pruning->request->folder);
    struct tr_pruned_part *part = &pruning->pruned->parts[TR_PRUNED_ATTEMPTS];
    bool is_ours = row->folder.size > store + 1 && row->folder.size < sizeof name &&
                   memcmp(row->folder.data, pruning->request->folder, store) == 0 &&
                   row->folder.data[store] == '/';
    if (!is_ours) {
        prune_shared(pruning->request, row, false, pruning->pruned);
        return 0;
    }
    snprintf(name, sizeof name, "%.*s", (int)(row->folder.size - store - 1),
             row->folder.data + store + 1);
    return tr_prune_folder(pruning->request, name, pruning->explain, part);
}

static int prune_attempts_of(struct pruning *pruning, uint64_t execution)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_number("ended_ms", TR_FILTER_GREATER, 0),
        tr_filter_number("ended_ms", TR_FILTER_LESS, pruning->request->attempts_before_ms),
    };
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(pruning->reader, &query, prune_attempt, pruning);
}

static int prune_attempts(struct pruning *pruning, const struct choice *choice)
{
    struct keeping keeping = {.pruning = pruning, .choice = choice};
    struct tr_reader_query query = {.record = &tr_execution_schema};
    if (pruning->request->attempts_before_ms == 0) {
        return 0;
    }
    int error = tr_reader_rows(pruning->reader, &query, prune_kept, &keeping);
    for (size_t i = 0; error == 0 && i < choice->unfinished.count; i++) {
        error = prune_attempts_of(pruning, choice->unfinished.items[i]);
    }
    return error == 0 ? 0 : fail(pruning->explain, error, "folders of attempts");
}

/* ------------------------------------------------------------------------- the rest */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * What nothing names. A value that is written piece by piece, and a graph that is made while an
 * execution runs, belong to one that is unfinished, and are no older than the oldest of those.
 */
static int prune_unnamed(const struct pruning *pruning, const struct choice *choice)
{
    const struct tr_prune_request *request = pruning->request;
    struct tr_pruned_part *parts = pruning->pruned->parts;
    uint64_t before_ms = smaller(request->unnamed_before_ms, choice->oldest_ms - 1);
    struct tr_references *references;
    struct tr_mark_options options = {
        .folder = request->folder,
        .blobs_before_ms = request->unnamed_before_ms,
        .graphs_before_ms = before_ms,
        .gone = choice->chosen.items,
        .gone_count = request->is_dry ? choice->chosen.count : 0,
        .is_stopping = request->is_stopping,
    };
    int error = tr_mark_referenced(&options, pruning->explain, &references);
    if (error != 0) {
        return error;
    }
    if (request->cache_before_ms > 0) {
        error = tr_prune_cache(request, pruning->explain, &parts[TR_PRUNED_CACHE]);
    }
    if (error == 0 && request->cache_before_ms > 0) {
        error = tr_prune_environments(request, pruning->explain, &parts[TR_PRUNED_ENVIRONMENTS]);
    }
    if (error == 0 && !request->is_only_own) {
        error = tr_prune_graphs(request, pruning->client, references, before_ms, pruning->explain,
                                &parts[TR_PRUNED_GRAPHS]);
    }
    if (error == 0 && !request->is_only_own) {
        error = tr_prune_blobs(request, references, before_ms, pruning->explain, pruning->pruned);
    }
    if (error == 0) {
        error = tr_prune_code(request, references, before_ms, pruning->explain,
                              &parts[TR_PRUNED_BLOBS]);
    }
    if (error == 0) {
        error = tr_prune_uploads(request, references, before_ms, pruning->explain,
                                 &parts[TR_PRUNED_BLOBS]);
    }
    tr_references_free(references);
    return error;
}

static int prune_all(struct pruning *pruning, const struct choice *choice)
{
    int error = tr_history_open(pruning->request->folder, pruning->explain, &pruning->reader);
    if (error != 0) {
        return error;
    }
    error = prune_attempts(pruning, choice);
    if (error == 0) {
        error = prune_executions(pruning, &choice->chosen);
    }
    tr_reader_close(pruning->reader);
    if (error == 0 && choice->audit_rows > 0) {
        error = tr_prune_audit(pruning->request, pruning->client, choice->audit_rows,
                               pruning->explain, &pruning->pruned->parts[TR_PRUNED_AUDIT]);
    }
    if (error == 0) {
        error = tr_leftovers_remove(pruning->request, pruning->explain,
                                    &pruning->pruned->parts[TR_PRUNED_ATTEMPTS]);
    }
    return error != 0 || pruning->request->keeps_unnamed ? error : prune_unnamed(pruning, choice);
}

int tr_prune(const struct tr_prune_request *request, struct tri_client *client, char *explain,
             struct tr_pruned *pruned)
{
    struct choice choice = {.request = request, .explain = explain};
    struct pruning pruning = {
        .request = request, .client = client, .pruned = pruned, .explain = explain};
    int lock = -1;
    memset(pruned, 0, sizeof *pruned);
    int error = request->is_dry
                    ? 0
                    : tr_removal_lock_take(request->folder, TR_REMOVAL_ALLOWED, explain, &lock);
    if (error == 0 && request->blobs_cache_bytes > 0) {
        error = tr_prune_blobs_cache(request, explain);
    }
    if (error == 0 && !request->is_only_cache) {
        error = choose_all(&choice);
    }
    if (error == 0 && has_rows(&choice) && client == NULL && !request->is_dry) {
        error = fail(explain, TR_NO_CONNECTION, "what has become too old meanwhile");
    }
    if (error == 0 && !request->is_only_cache) {
        error = prune_all(&pruning, &choice);
    }
    choice_fini(&choice);
    if (lock >= 0) {
        close(lock);
    }
    return error;
}
