/*
 * Why the cache had no result for a task: what it looked for, as its history has it, beside the
 * nearest entry that was there then.
 *
 * Entries of the same inputs lie in one folder (actors/values/cache.h), so one that differs in its
 * version or interface alone is found however large the cache is. Of the others a bounded number is
 * read, those of the same version first; where that left some out, it is said.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "actors/store/task_name.h"
#include "actors/values/cache.h"
#include "deploy/common/file.h"
#include "deploy/common/show.h"
#include "deploy/look/explain.h"
#include "deploy/recovery/reuse.h"
#include "schemas/codec/error.h"

/* Of entries with other inputs so many are read of each kind, and so many names looked at. */
#define READ_MAX 256
#define NAMES_MAX 1000000

/* The folders of the cache: two digits each. */
#define FOLDERS 256

/* Inputs that are named. */
#define INPUTS_SHOWN 5

/* Where the parts of an entry's name begin, and what stands in front of the last. */
#define TASK_AT (2 * TR_CACHE_INPUTS_BYTES + 1)
#define VERSION_AT (TASK_AT + 2 * TR_CACHE_TASK_BYTES + 1)

/* An entry and in what it differs. Texts and names are the arena's. */
struct entry {
    struct tr_text execution; /* that made it; empty: there is none */
    struct tr_text path;
    uint64_t element;
    uint64_t made_ms;
    struct tr_text version;
    struct tr_cache_difference difference;
    struct tri_vector inputs; /* struct tr_text */
};

/* One miss, and what was found beside it. */
struct search {
    const struct tr_explain_request *request;
    const struct tr_cache_miss *miss;
    struct tr_cache_subject wanted;
    char name[TR_CACHE_PATH_BYTES]; /* of the entry that was looked for */
    struct entry nearest;
    struct tr_arena arena;
    uint32_t names;
    uint32_t read[2]; /* of the same version, of others */
    bool is_cut;      /* some were not compared */
};

/* --------------------------------------------------------------------- one entry */

static uint32_t distance_of(const struct tr_cache_difference *difference)
{
    return difference->inputs + (difference->has_version ? 1 : 0) +
           (difference->has_interface ? 1 : 0);
}

/* Whether it is nearer than the nearest so far, or as near and newer. */
static bool is_nearer(const struct search *search, const struct entry *entry)
{
    const struct entry *nearest = &search->nearest;
    uint32_t one = distance_of(&entry->difference);
    uint32_t other = distance_of(&nearest->difference);
    return nearest->execution.size == 0 || one < other ||
           (one == other && entry->made_ms > nearest->made_ms);
}

/* Inputs on their way into the arena. */
struct taking {
    struct tr_arena *arena;
    struct tri_vector *inputs;
};

static void take_input(void *self, struct tr_text input)
{
    const struct taking *taking = self;
    struct tr_text *kept = tri_vector_add(taking->arena, taking->inputs, sizeof *kept);
    if (kept != NULL) {
        *kept = tr_arena_text(taking->arena, input);
    }
}

/* What was there when it was looked for, and is another entry of this very task. */
static bool counts(const struct search *search, const struct tr_cache_document *document)
{
    const struct tr_cache_subject *subject = &document->subject;
    bool is_it = subject->key.size == search->wanted.key.size &&
                 memcmp(subject->key.data, search->wanted.key.data, subject->key.size) == 0;
    return !is_it && document->made_ms <= search->miss->at_ms && document->execution.size > 0 &&
           tr_text_equal(subject->task, search->wanted.task);
}

static int consider(struct search *search, const struct tr_cache_document *document)
{
    struct entry entry = {.element = document->element, .made_ms = document->made_ms};
    struct taking taking = {.arena = &search->arena, .inputs = &entry.inputs};
    if (!counts(search, document) ||
        tr_cache_compare(&search->wanted, &document->subject, take_input, &taking,
                         &entry.difference) != 0) {
        return 0; /* a damaged one is none */
    }
    if (search->arena.error == 0 && is_nearer(search, &entry)) {
        entry.execution = tr_arena_text(&search->arena, document->execution);
        entry.path = tr_arena_text(&search->arena, document->path);
        entry.version = tr_arena_text(&search->arena, document->subject.version);
        search->nearest = entry;
    }
    return search->arena.error;
}

/* One that is gone, or cannot be read, is none. */
static int read_entry(struct search *search, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct tr_bytes bytes;
    struct tr_cache_document document;
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path || tr_file_map(path, &bytes) != 0) {
        return 0;
    }
    int error = tr_cache_document_read(bytes, &document) == 0 ? consider(search, &document) : 0;
    tr_file_unmap(bytes);
    return error;
}

/* ------------------------------------------------------------------- the folders */

/* Whether a part of a name is that of the entry that was looked for. */
static bool is_same(const struct search *search, const char *name, size_t at, size_t bytes)
{
    return memcmp(name + at, search->name + at, 2 * bytes) == 0;
}

/* Whether an entry is to be read, by its name. */
typedef bool wants(struct search *search, const char *name);

static bool has_same_inputs(struct search *search, const char *name)
{
    return is_same(search, name, 0, TR_CACHE_INPUTS_BYTES);
}

static bool has_room(struct search *search, const char *name)
{
    bool is_other = !is_same(search, name, VERSION_AT, TR_CACHE_VERSION_BYTES);
    bool is_full = search->read[is_other] == READ_MAX;
    search->is_cut |= is_full;
    search->read[is_other] += is_full ? 0 : 1;
    return !is_full;
}

/* Reads the wanted entries of the task in one of the cache's folders. */
static int read_folder(struct search *search, unsigned number, wants *is_wanted)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    int error = 0;
    int size = snprintf(path, sizeof path, "%s/cache/%02x", search->request->folder, number);
    DIR *folder = size > 0 && (size_t)size < sizeof path ? opendir(path) : NULL;
    while (error == 0 && folder != NULL && (entry = readdir(folder)) != NULL) {
        if (search->names++ >= NAMES_MAX) {
            search->is_cut = true;
            break;
        }
        if (strlen(entry->d_name) == TR_CACHE_NAME_BYTES &&
            is_same(search, entry->d_name, TASK_AT, TR_CACHE_TASK_BYTES) &&
            is_wanted(search, entry->d_name)) {
            error = read_entry(search, path, entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return error;
}

/* Finds the nearest entry of the task that was there. */
static int find_nearest(struct search *search)
{
    unsigned own = search->wanted.key.data[0];
    int error = read_folder(search, own, has_same_inputs);
    bool is_found = search->nearest.execution.size > 0;
    for (unsigned i = 0; error == 0 && !is_found && i < FOLDERS; i++) {
        error = read_folder(search, (own + i) % FOLDERS, has_room);
    }
    return error;
}

/* ----------------------------------------------------------------------- in words */

static void add_inputs(const struct entry *entry, struct tr_buffer *text)
{
    const struct tr_text *inputs = entry->inputs.items;
    uint32_t count = entry->inputs.count;
    if (inputs[0].size == 0) {
        tr_buffer_print(text, "an input behind the first %u", TR_CACHE_COMPARED_MAX);
        return;
    }
    tr_buffer_add_string(text, count == 1 ? "input" : "inputs");
    for (uint32_t i = 0; i < count && i < INPUTS_SHOWN; i++) {
        bool is_last = i + 1 == count;
        tr_buffer_print(text, "%s '%.*s'",
                        i == 0    ? ""
                        : is_last ? " and"
                                  : ",",
                        TRI_TEXT(inputs[i]));
    }
    if (count > INPUTS_SHOWN) {
        tr_buffer_print(text, " and %u more", count - INPUTS_SHOWN);
    }
}

static void add_difference(const struct search *search, struct tr_buffer *text)
{
    const struct entry *entry = &search->nearest;
    bool is_other = entry->difference.has_version || entry->difference.has_interface;
    if (entry->difference.inputs > 0) {
        add_inputs(entry, text);
        tr_buffer_add_string(text, is_other ? " and in " : "");
    }
    if (entry->difference.has_version) {
        tr_buffer_print(text, "the version: %.*s, now %.*s", TRI_TEXT(entry->version),
                        TRI_TEXT(search->wanted.version));
    } else if (entry->difference.has_interface) {
        tr_buffer_add_string(text, "the interface of the task");
    }
}

static void print_words(const struct search *search, struct tr_buffer *text)
{
    const struct entry *entry = &search->nearest;
    uint64_t now_ms = search->request->now_ms;
    tr_buffer_add_string(text, "cache miss: ");
    if (entry->execution.size == 0) {
        tr_buffer_add_string(text, "no earlier result of this task is in the cache");
        return;
    }
    tr_buffer_print(text, "the nearest entry (of %.*s/%.*s",
                    TRI_TEXT(tr_task_name_last(entry->execution)), TRI_TEXT(entry->path));
    if (entry->element != TR_ELEMENT_NONE) {
        tr_buffer_print(text, "[%llu]", (unsigned long long)entry->element);
    }
    tr_buffer_add_string(text, ", ");
    tr_age_print(now_ms < entry->made_ms ? 0 : now_ms - entry->made_ms, text);
    tr_buffer_add_string(text, " ago) differs in ");
    add_difference(search, text);
    if (search->is_cut) {
        tr_buffer_add_string(text, "; it has many, and some were not compared");
    }
}

static void print_miss(const struct search *search)
{
    FILE *stream = search->request->stream;
    const struct tr_cache_miss *miss = search->miss;
    struct tr_buffer words;
    struct tr_buffer line;
    tr_buffer_init(&words, 0);
    tr_buffer_init(&line, 0);
    print_words(search, &words);
    tr_line_print(tr_buffer_text(&words), 0, &line);
    fprintf(stream, "  %.*s", TRI_TEXT(miss->path));
    if (miss->element != TR_ELEMENT_NONE) {
        fprintf(stream, "[%llu]", (unsigned long long)miss->element);
    }
    fprintf(stream, ": %.*s\n", (int)line.size, (const char *)line.data);
    tr_buffer_fini(&line);
    tr_buffer_fini(&words);
}

static void write_nearest(const struct entry *entry, struct tr_document *document)
{
    const struct tr_text *inputs = entry->inputs.items;
    if (entry->execution.size == 0) {
        tr_document_null(document, "nearest");
        return;
    }
    tr_document_begin_map(document, "nearest");
    tr_document_text(document, "execution", tr_task_name_last(entry->execution));
    tr_document_text(document, "node", entry->path);
    tr_document_element(document, "element", entry->element);
    tr_document_time(document, "made_at", entry->made_ms);
    tr_document_text(document, "version", entry->version);
    tr_document_bool(document, "differs_in_version", entry->difference.has_version);
    tr_document_bool(document, "differs_in_interface", entry->difference.has_interface);
    tr_document_begin_list(document, "differs_in_inputs");
    for (uint32_t i = 0; i < entry->inputs.count; i++) {
        tr_document_text(document, NULL, inputs[i]);
    }
    tr_document_end(document);
    tr_document_end(document);
}

static void write_miss(const struct search *search, struct tr_document *document)
{
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "node", search->miss->path);
    tr_document_element(document, "element", search->miss->element);
    tr_document_time(document, "at", search->miss->at_ms);
    tr_document_text(document, "version", search->wanted.version);
    write_nearest(&search->nearest, document);
    tr_document_bool(document, "is_cut", search->is_cut);
    tr_document_end(document);
}

/* ------------------------------------------------------------------------ all misses */

/* Misses on their way out. */
struct telling {
    const struct tr_explain_request *request;
    struct tr_document *document; /* NULL: as text */
    uint32_t count;
};

static int take_miss(void *self, const void *value)
{
    struct telling *telling = self;
    const struct tr_cache_miss *miss = value;
    bool is_shown = telling->request->is_verbose || telling->document != NULL ||
                    telling->count < TR_EXPLAIN_ALIKE;
    telling->count++;
    if (!is_shown || miss->key.size != TR_CACHE_KEY_BYTES) {
        return 0;
    }
    struct search search = {.request = telling->request,
                            .miss = miss,
                            .wanted = {.key = miss->key,
                                       .task = miss->task,
                                       .version = miss->version,
                                       .inputs = miss->inputs}};
    tr_arena_init(&search.arena);
    tr_cache_path(miss->key, search.name);
    memmove(search.name, search.name + 9, TR_CACHE_NAME_BYTES + 1); /* behind "cache/ab/" */
    int error = find_nearest(&search);
    if (error == 0 && telling->document != NULL) {
        write_miss(&search, telling->document);
    } else if (error == 0) {
        print_miss(&search);
    }
    tr_arena_fini(&search.arena);
    return error;
}

/* Reads the misses of the node, or of one element, of the execution in which it ran. */
static int read_misses(struct telling *telling)
{
    const struct tr_target *target = telling->request->target;
    struct tr_reader *reader = telling->request->reader;
    uint64_t ran_in = 0;
    int error = tr_reuse_origin(reader, telling->request->execution->execution, target->path,
                                target->element, &ran_in);
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, ran_in),
        tr_filter_text("path", TR_FILTER_EQUAL, target->path),
        tr_filter_number("element", TR_FILTER_EQUAL, target->element),
    };
    struct tr_reader_query query = {.record = &tr_cache_miss_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters) -
                                                    (target->element == TR_ELEMENT_NONE ? 1 : 0)};
    return error != 0 ? error : tr_reader_rows(reader, &query, take_miss, telling);
}

int tri_explain_cache(const struct tr_explain_request *request, struct tr_document *document)
{
    struct telling telling = {.request = request, .document = document};
    if (request->target->path.size == 0) {
        return 0;
    }
    int error = read_misses(&telling);
    bool is_kept_of_others = request->target->element != TR_ELEMENT_NONE &&
                             request->target->element >= TR_CACHE_MISSES_MAX;
    if (error != 0 || document != NULL) {
        return error;
    }
    if (!request->is_verbose && telling.count > TR_EXPLAIN_ALIKE) {
        fprintf(request->stream,
                "  and %u more of its elements were not in the cache; -v shows all\n",
                telling.count - TR_EXPLAIN_ALIKE);
    }
    if (is_kept_of_others) {
        fprintf(request->stream,
                "  what it looked for in a cache is not kept: that is of the first %u elements "
                "(TR_CACHE_MISSES_MAX)\n",
                TR_CACHE_MISSES_MAX);
    }
    return 0;
}
