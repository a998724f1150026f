/*
 * The model of a store. A version of its contents is a few sorted lists, each counted by its users
 * and never changed: a commit makes new lists out of old ones and its operations, and then becomes
 * the current version in one step. So a commit is all or nothing by itself, a reader keeps the
 * version that it began with, and going back is having kept the version before.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/model_read.h"
#include "tests/sim/model_store.h"

/* Versions kept for a power failure at the level `process`. */
#define HISTORY_MAX 8

struct tri_model {
    struct tri_model_version current;
    struct tri_model_version history[HISTORY_MAX]; /* the newest first */
    struct tri_model_version uncertain; /* a commit that failed: it may be there after the crash */
    struct tri_model_version torn;      /* the last commit's first half */
    uint64_t incarnation;
    uint64_t life; /* raised by kills and crashes: stores of an earlier life are dead */
    bool is_locked;
    size_t stores;
    enum tr_durability durability;
    struct tri_model_faults faults;
    struct tri_model_records records;
};

struct model_store {
    struct tri_store store;
    struct tri_model *model;
    uint64_t life;
    bool read_only;
    bool holds_lock;
    bool is_settled; /* its last commit is in, and is to be repeated */
    int broken;
    const struct tr_schema *const *records;
    size_t record_count;
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static struct model_store *model_store_of(struct tri_store *store)
{
    return (struct model_store *)store;
}

/* --- The store's functions. --- */

TR_PRINTF(3, 4)
static int say(struct model_store *self, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->words, sizeof self->words, format, arguments);
    va_end(arguments);
    return error;
}

static bool is_dead(const struct model_store *self)
{
    return self->life != self->model->life;
}

static int check_commit(struct model_store *self, const struct tri_commit *commit)
{
    struct tri_model *model = self->model;
    if (self->broken != 0) {
        return self->broken;
    }
    if (is_dead(self)) {
        return say(self, TR_STORE_FAILED, "model: this process has ended");
    }
    if (self->read_only || commit->last_number < self->store.last_number) {
        return say(self, TR_INVALID, "model: a reader does not commit, and numbers do not go back");
    }
    if (self->store.incarnation != model->incarnation && model->faults.bug != TRI_MODEL_UNFENCED) {
        self->broken = TR_FENCED;
        return say(self, TR_FENCED,
                   "model: another engine has opened it (incarnation %llu, ours "
                   "is %llu)",
                   (unsigned long long)model->incarnation,
                   (unsigned long long)self->store.incarnation);
    }
    return tri_model_check_ops(self->records, self->record_count, commit, self->words);
}

/* The commit becomes the current version, and the one before is remembered. */
static void advance(struct tri_model *model, const struct tri_commit *commit)
{
    struct tri_model_version next = tri_model_version_after(&model->current, commit, commit->count);
    if (model->faults.bug == TRI_MODEL_TEARS) {
        tri_model_version_set(&model->torn,
                              tri_model_version_after(&model->current, commit, commit->count / 2));
    }
    tri_model_version_clear(&model->history[HISTORY_MAX - 1]);
    memmove(&model->history[1], &model->history[0], (HISTORY_MAX - 1) * sizeof model->history[0]);
    model->history[0] = model->current;
    model->history[0].exists = true;
    model->current = next;
}

static int model_commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct model_store *self = model_store_of(store);
    struct tri_model *model = self->model;
    int error = check_commit(self, commit);
    if (error != 0) {
        return error;
    }
    if (model->faults.full_commits > 0) {
        model->faults.full_commits--;
        return say(self, TR_STORE_FULL, "model: the disk is full; free space on it");
    }
    if (model->faults.fail_next) {
        model->faults.fail_next = false;
        tri_model_version_set(&model->uncertain,
                              tri_model_version_after(&model->current, commit, commit->count));
        model->uncertain.exists = true;
        self->broken = TR_STORE_FAILED;
        return say(self, TR_STORE_FAILED, "model: the disk failed; start again");
    }
    if (self->is_settled) {
        self->is_settled = false;
        bool is_same = commit->last_number == store->last_number;
        return is_same ? 0 : say(self, TR_INVALID, "model: another commit was in doubt");
    }
    if (model->faults.bug != TRI_MODEL_KEEPS_NOTHING) {
        advance(model, commit);
    }
    store->last_number = commit->last_number;
    if (model->faults.lose_next) {
        model->faults.lose_next = false;
        self->is_settled = true;
        return say(self, TR_BUSY, "model: the connection was lost");
    }
    return 0;
}

static int model_load(struct tri_store *store, struct tri_group_range range,
                      const struct tri_store_visitor *visitor)
{
    struct model_store *self = model_store_of(store);
    if (is_dead(self)) {
        return say(self, TR_STORE_FAILED, "model: this process has ended");
    }
    struct tri_model_version version = tri_model_version_share(&self->model->current);
    if (self->read_only) {
        store->incarnation = self->model->incarnation;
        store->last_number = version.last_number;
    }
    int error = tri_model_version_tell(&version, range, visitor, self->words);
    tri_model_version_clear(&version);
    return error;
}

static int read_row(struct tri_store *store, enum tri_model_class class,
                    const struct tri_op *wanted, void *buffer, size_t capacity, size_t *size)
{
    struct model_store *self = model_store_of(store);
    if (is_dead(self)) {
        return say(self, TR_STORE_FAILED, "model: this process has ended");
    }
    return tri_model_version_read(&self->model->current, class, wanted, buffer, capacity, size,
                                  self->words);
}

static int model_read_page(struct tri_store *store, struct tr_key key, uint64_t number,
                           void *buffer, size_t capacity, size_t *size)
{
    struct tri_op wanted = {.key = key, .number = number};
    return read_row(store, TRI_MODEL_PAGES, &wanted, buffer, capacity, size);
}

static int model_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                           size_t *size)
{
    struct tri_op wanted = {.number = cell};
    return read_row(store, TRI_MODEL_META, &wanted, buffer, capacity, size);
}

static int model_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                            size_t *size)
{
    struct model_store *self = model_store_of(store);
    return is_dead(self)
               ? say(self, TR_STORE_FAILED, "model: this process has ended")
               : tri_model_version_read_graph(&self->model->current, hash, data, size, self->words);
}

static int model_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                             int (*each)(void *self, const struct tri_graph_entry *graph),
                             void *target)
{
    struct model_store *self = model_store_of(store);
    return is_dead(self)
               ? say(self, TR_STORE_FAILED, "model: this process has ended")
               : tri_model_version_list_graphs(&self->model->current, after, limit, each, target);
}

static int model_list_crashes(struct tri_store *store,
                              int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct model_store *self = model_store_of(store);
    return is_dead(self) ? say(self, TR_STORE_FAILED, "model: this process has ended")
                         : tri_model_version_list_crashes(&self->model->current, each, target);
}

static int model_maintain(struct tri_store *store)
{
    return model_store_of(store)->broken;
}

static void model_release_memory(struct tri_store *store)
{
    (void)store; /* its memory is the store itself */
}

static const char *model_explain(struct tri_store *store)
{
    return model_store_of(store)->words;
}

static void model_close(struct tri_store *store)
{
    struct model_store *self = model_store_of(store);
    if (self->holds_lock && !is_dead(self)) {
        self->model->is_locked = false;
    }
    self->model->stores--;
    free(self);
}

static const struct tri_store_ops model_ops = {
    .name = "model",
    .commit = model_commit,
    .load = model_load,
    .read_page = model_read_page,
    .read_meta = model_read_meta,
    .read_graph = model_read_graph,
    .list_graphs = model_list_graphs,
    .list_crashes = model_list_crashes,
    .maintain = model_maintain,
    .release_memory = model_release_memory,
    .explain = model_explain,
    .close = model_close,
};

/* --- Opening. --- */

static int open_model(struct model_store *self, const struct tri_store_options *options)
{
    struct tri_model *model = self->model;
    if (options->durability == TR_DURABILITY_NONE) {
        return say(self, TR_INVALID, "model: a store keeps something");
    }
    if (options->read_only && model->incarnation == 0) {
        return say(self, TR_NOT_FOUND, "model: there is no store yet");
    }
    if (!options->read_only && model->is_locked && !model->faults.ignore_lock) {
        return say(self, TR_STORE_LOCKED, "model: is used by another process");
    }
    int error = tri_model_records_check(&model->records, options, self->words);
    if (error != 0) {
        return error;
    }
    if (!options->read_only) {
        tri_model_records_note(&model->records, options);
        model->incarnation++;
        model->is_locked = true;
        model->durability = options->durability;
        self->holds_lock = true;
    }
    self->store.incarnation = model->incarnation;
    self->store.last_number = model->current.last_number;
    return 0;
}

int tri_model_open(struct tri_model *model, const struct tri_store_options *options, char *explain,
                   struct tri_store **store)
{
    struct model_store *self = tri_model_must(calloc(1, sizeof *self));
    self->store.ops = &model_ops;
    self->model = model;
    self->life = model->life;
    self->read_only = options->read_only;
    self->records = options->records;
    self->record_count = options->record_count;
    (void)say(self, 0, "no error so far");
    int error = open_model(self, options);
    if (error != 0) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
        }
        free(self);
        return error;
    }
    model->stores++;
    *store = &self->store;
    return 0;
}

/* --- Ends. --- */

struct tri_model *tri_model_new(void)
{
    struct tri_model *model = tri_model_must(calloc(1, sizeof *model));
    return model;
}

static void clear_history(struct tri_model *model)
{
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        tri_model_version_clear(&model->history[i]);
    }
    tri_model_version_clear(&model->uncertain);
    tri_model_version_clear(&model->torn);
}

void tri_model_free(struct tri_model *model)
{
    if (model != NULL) {
        TR_ASSERT(model->stores == 0);
        clear_history(model);
        tri_model_version_clear(&model->current);
        free(model);
    }
}

struct tri_model_faults *tri_model_faults(struct tri_model *model)
{
    return &model->faults;
}

/* SplitMix64's last step: neighbouring seeds give unlike numbers. */
static uint64_t scramble(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

static void go_back(struct tri_model *model, size_t commits)
{
    while (commits > 0 && !model->history[commits - 1].exists) {
        commits--;
    }
    if (commits > 0) {
        tri_model_version_set(&model->current,
                              tri_model_version_share(&model->history[commits - 1]));
    }
}

static void bug(struct tri_model *model)
{
    if (!model->history[0].exists) {
        return;
    }
    if (model->faults.bug == TRI_MODEL_FORGETS) {
        go_back(model, 1);
    } else if (model->faults.bug == TRI_MODEL_TEARS) {
        tri_model_version_set(&model->current, tri_model_version_share(&model->torn));
    }
}

static void end_life(struct tri_model *model, uint64_t seed, size_t lost)
{
    if (model->uncertain.exists && scramble(seed) % 2 == 0) {
        tri_model_version_set(&model->current, tri_model_version_share(&model->uncertain));
    } else {
        go_back(model, lost);
    }
    bug(model);
    clear_history(model);
    model->faults = (struct tri_model_faults){.bug = model->faults.bug};
    model->is_locked = false;
    model->life++;
}

void tri_model_kill(struct tri_model *model, uint64_t seed)
{
    end_life(model, seed, 0);
}

void tri_model_crash(struct tri_model *model, uint64_t seed)
{
    bool loses = model->durability == TR_DURABILITY_PROCESS;
    end_life(model, seed, loses ? scramble(seed + 1) % (HISTORY_MAX + 1) : 0);
}

/* --- Records, for tests to look at. --- */

size_t tri_model_record_count(const struct tri_model *model, uint16_t type)
{
    return tri_model_version_record_count(&model->current, type);
}

const struct tri_op *tri_model_record(const struct tri_model *model, uint16_t type, size_t index)
{
    return tri_model_version_record(&model->current, type, index);
}

const struct tri_model_version *tri_model_contents(const struct tri_model *model)
{
    return &model->current;
}
