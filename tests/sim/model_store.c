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

#include "tests/sim/model_contents.h"
#include "tests/sim/model_store.h"

/* Versions kept for a power failure at the level `process`. */
#define HISTORY_MAX 8

#define RECORD_SCHEMAS_MAX 256

struct record_version {
    uint16_t id;
    uint8_t version;
    char name[64];
};

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
    struct record_version records[RECORD_SCHEMAS_MAX];
    size_t record_count;
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

static const struct tr_schema *find_schema(const struct model_store *self, uint16_t id)
{
    for (size_t i = 0; i < self->record_count; i++) {
        if (self->records[i]->id == id) {
            return self->records[i];
        }
    }
    return NULL;
}

static int check_record(struct model_store *self, const struct tri_op *op)
{
    const struct tr_schema *schema = find_schema(self, op->type);
    if (schema == NULL) {
        return say(self, TR_UNKNOWN_TYPE, "model: no schema for record %d was given", op->type);
    }
    void *row = tri_model_must(calloc(1, schema->struct_size + 1));
    uint8_t version = op->incarnation <= UINT8_MAX ? (uint8_t)op->incarnation : 0;
    int error = schema->unpack(op->data, version, row);
    free(row);
    struct tri_op found = *op;
    if (error == 0 && op->kind == TRI_OP_DELETE_RECORDS) {
        error = tri_op_find_row_key(&found, schema);
    }
    return error == 0 ? 0 : say(self, error, "model: a record %s cannot be unpacked", schema->name);
}

static int check_ops(struct model_store *self, const struct tri_commit *commit)
{
    for (size_t i = 0; i < commit->count; i++) {
        const struct tri_op *op = &commit->ops[i];
        if (op->kind < TRI_OP_PUT_COUNTER || op->kind > TRI_OP_DELETE_RECORDS) {
            return say(self, TR_INVALID, "model: operation kind %d is unknown", (int)op->kind);
        }
        bool is_of_records = op->kind == TRI_OP_PUT_RECORD || op->kind == TRI_OP_DELETE_RECORDS;
        int error = is_of_records ? check_record(self, op) : 0;
        if (error != 0) {
            return error;
        }
    }
    return 0;
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
    return check_ops(self, commit);
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

static int tell(const struct tri_model_list *list, int (*callback)(void *, const struct tri_op *),
                void *self)
{
    int error = 0;
    for (size_t i = 0; callback != NULL && list != NULL && error == 0 && i < list->count; i++) {
        error = callback(self, &list->rows[i].op);
    }
    return error;
}

/* Tells the pages of one actor; `at` is the first page that was not told yet. */
static int tell_pages(const struct tri_model_list *pages, size_t *at, struct tr_key key,
                      const struct tri_store_visitor *visitor)
{
    int error = 0;
    while (error == 0 && pages != NULL && *at < pages->count &&
           tr_key_equal(pages->rows[*at].op.key, key)) {
        error = visitor->page(visitor->self, &pages->rows[(*at)++].op);
    }
    return error;
}

static int tell_actors(struct model_store *self, const struct tri_model_version *version,
                       const struct tri_store_visitor *visitor)
{
    const struct tri_model_list *actors = version->lists[TRI_MODEL_ACTORS];
    const struct tri_model_list *pages = version->lists[TRI_MODEL_PAGES];
    if (visitor->actor == NULL || visitor->page == NULL) {
        int error = tell(actors, visitor->actor, visitor->self);
        return error != 0 ? error : tell(pages, visitor->page, visitor->self);
    }
    size_t page = 0;
    int error = 0;
    for (size_t i = 0; error == 0 && actors != NULL && i < actors->count; i++) {
        error = visitor->actor(visitor->self, &actors->rows[i].op);
        if (error == 0) {
            error = tell_pages(pages, &page, actors->rows[i].op.key, visitor);
        }
    }
    if (error == 0 && pages != NULL && page < pages->count) {
        error = say(self, TR_STORE_DAMAGED, "model: a page belongs to no actor");
    }
    return error;
}

static int model_load(struct tri_store *store, const struct tri_store_visitor *visitor)
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
    int error = tell(version.lists[TRI_MODEL_COUNTERS], visitor->counter, visitor->self);
    if (error == 0) {
        error = tell_actors(self, &version, visitor);
    }
    if (error == 0) {
        error = tell(version.lists[TRI_MODEL_MESSAGES], visitor->message, visitor->self);
    }
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
    const struct tri_model_list *list = self->model->current.lists[class];
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const struct tri_op *op = &list->rows[i].op;
        if (tri_model_compare(class, op, wanted) != 0) {
            continue;
        }
        if (op->data.size > capacity) {
            return say(self, TR_LIMIT, "model: no room for %zu bytes", op->data.size);
        }
        if (op->data.size > 0) {
            memcpy(buffer, op->data.data, op->data.size);
        }
        *size = op->data.size;
        return 0;
    }
    return say(self, TR_NOT_FOUND, "model: there is no such row");
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
    .maintain = model_maintain,
    .release_memory = model_release_memory,
    .explain = model_explain,
    .close = model_close,
};

/* --- Opening. --- */

static struct record_version *find_version(struct tri_model *model, uint16_t id)
{
    for (size_t i = 0; i < model->record_count; i++) {
        if (model->records[i].id == id) {
            return &model->records[i];
        }
    }
    return NULL;
}

static int check_versions(struct model_store *self)
{
    for (size_t i = 0; i < self->record_count; i++) {
        const struct tr_schema *schema = self->records[i];
        const struct record_version *known = find_version(self->model, schema->id);
        if (known != NULL && strcmp(known->name, schema->name) != 0) {
            return say(self, TR_INVALID, "model: record id %d belongs to %s", schema->id,
                       known->name);
        }
        if (known != NULL && known->version > schema->version) {
            return say(self, TR_STORE_NEWER, "model: record %s has version %d", schema->name,
                       known->version);
        }
    }
    return 0;
}

static void remember_versions(struct model_store *self)
{
    for (size_t i = 0; i < self->record_count; i++) {
        const struct tr_schema *schema = self->records[i];
        struct record_version *known = find_version(self->model, schema->id);
        if (known == NULL) {
            TR_ASSERT(self->model->record_count < RECORD_SCHEMAS_MAX);
            known = &self->model->records[self->model->record_count++];
            known->id = schema->id;
            (void)snprintf(known->name, sizeof known->name, "%s", schema->name);
        }
        known->version = schema->version;
    }
}

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
    int error = check_versions(self);
    if (error != 0) {
        return error;
    }
    if (!options->read_only) {
        remember_versions(self);
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

static size_t count_type(const struct tri_model_list *list, uint16_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += list->rows[i].op.type == type;
    }
    return count;
}

size_t tri_model_record_count(const struct tri_model *model, uint16_t type)
{
    size_t count = 0;
    const struct tri_model_list *list = model->current.lists[TRI_MODEL_RECORDS];
    for (; list != NULL; list = list->before) {
        count += count_type(list, type);
    }
    return count;
}

const struct tri_op *tri_model_record(const struct tri_model *model, uint16_t type, size_t index)
{
    const struct tri_model_list *list = model->current.lists[TRI_MODEL_RECORDS];
    size_t left = tri_model_record_count(model, type);
    /* From the newest list back to the one that holds it. */
    while (list != NULL && left - count_type(list, type) > index) {
        left -= count_type(list, type);
        list = list->before;
    }
    size_t at = list != NULL ? left - count_type(list, type) : 0;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        if (list->rows[i].op.type == type && at++ == index) {
            return &list->rows[i].op;
        }
    }
    return NULL;
}
