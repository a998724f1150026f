/*
 * Keys and documents of the cache. Both are made of msgpack arrays that begin with a number of
 * their form: a change of what a key is made from makes all older documents unfindable, which is
 * right.
 */
#include "actors/values/cache.h"

#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/flyte/flyte.h"
#include "actors/graph/value/slot.h"
#include "schemas/codec/error.h"

/*
 * Raised when the key is made from anything else: old results are then computed again, never
 * confused.
 */
#define KEY_FORM 1
#define DOCUMENT_FORM 1

/* Where the parts of a key begin. */
#define TASK_AT TR_CACHE_INPUTS_BYTES
#define VERSION_AT (TR_CACHE_INPUTS_BYTES + TR_CACHE_TASK_BYTES)

/* ----------------------------------------------------------------------- keys */

static void write_variables(const struct tr_variables *variables, struct tr_buffer *buffer)
{
    struct tr_buffer type;
    tr_buffer_init(&type, 0);
    tr_buffer_array(buffer, 2 * variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        tr_buffer_cut(&type, 0);
        tr_type_print(variables->items[i].type, &type);
        tr_buffer_text_value(buffer, variables->items[i].name);
        tr_buffer_text_value(buffer, tr_buffer_text(&type));
    }
    if (buffer->error == 0) {
        buffer->error = type.error;
    }
    tr_buffer_fini(&type);
}

/* The first bytes of a digest. */
static void digest(struct tr_bytes bytes, uint8_t *out, size_t size)
{
    uint8_t whole[TR_GRAPH_HASH_BYTES];
    tr_digest(bytes, whole);
    memcpy(out, whole, size);
}

/* One part of a key; what it is made of is thrown away. */
static void digest_part(struct tr_buffer *buffer, uint8_t *out, size_t size)
{
    digest(tr_buffer_bytes(buffer), out, size);
    tr_buffer_cut(buffer, 0);
}

/* The digests of the single inputs. */
static int add_digests(struct tr_bytes inputs, struct tr_buffer *digests)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(inputs, &cursor);
    for (uint32_t i = 0; i < count && i < TR_CACHE_COMPARED_MAX; i++) {
        uint8_t one[TR_CACHE_INPUT_BYTES];
        digest(tr_read_any(&cursor), one, sizeof one);
        tr_buffer_add(digests, one, sizeof one);
    }
    return cursor.error != 0 ? TR_MALFORMED : digests->error;
}

static bool is_ignored(const struct tr_cache *cache, uint32_t input)
{
    for (uint32_t i = 0; i < cache->ignored_count; i++) {
        if (cache->ignored[i] == input) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ Flyte's keys */

bool tr_cache_is_flytes(const struct tr_settings *settings, struct tr_bytes inputs)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(inputs, &cursor);
    bool is_fine = settings->cache.signature.size > 0 && inputs.size <= TR_CACHE_FLYTE_BYTES_MAX;
    for (uint32_t i = 0; is_fine && i < count; i++) {
        struct tr_offloaded where;
        struct tr_bytes slot = tr_read_any(&cursor);
        is_fine = cursor.error == 0 &&
                  (is_ignored(&settings->cache, i) || !tr_slot_is_offloaded(slot, &where));
    }
    return is_fine;
}

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *document = self;
    tr_buffer_add_text(document, text);
    return document->error;
}

/* The inputs that count as a map of literals. */
static int write_literals(const struct tr_task *task, const struct tr_settings *settings,
                          struct tr_bytes inputs, struct tr_buffer *document)
{
    const struct tr_variables *variables = &task->interface.inputs;
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(inputs, &cursor);
    uint32_t written = 0;
    int error = cursor.error != 0 ? TR_MALFORMED : 0;
    for (uint32_t i = 0; error == 0 && i < variables->count && written < count; i++) {
        if (is_ignored(&settings->cache, i)) {
            continue;
        }
        struct tr_bytes slot = tr_read_any(&cursor);
        const struct tr_variable *variable = &variables->items[i];
        error = cursor.error != 0
                    ? TR_MALFORMED
                    : tr_flyte_write(variable->name, variable->type, 0, slot, put, document);
        written++;
    }
    return error != 0 || written == count ? error : TR_MALFORMED;
}

static int digest_literals(const struct tr_task *task, const struct tr_settings *settings,
                           struct tr_bytes inputs, uint8_t *out)
{
    uint8_t hash[TR_FLYTE_HASH_BYTES];
    struct tr_buffer document;
    tr_buffer_init(&document, 0);
    int error = write_literals(task, settings, inputs, &document);
    if (error == 0) {
        error = tr_flyte_hash(tr_buffer_bytes(&document), TR_FLYTE_HASH_OF_PROPELLER, hash);
    }
    if (error == 0) {
        memcpy(out, hash, TR_CACHE_INPUTS_BYTES);
    }
    tr_buffer_fini(&document);
    return error;
}

/* The version of Flyte's dataset, in which blanks around the cache's version do not count. */
static void write_dataset_version(const struct tr_cache *cache, struct tr_buffer *buffer)
{
    struct tr_text version = cache->version;
    while (version.size > 0 && version.data[0] == ' ') {
        version = (struct tr_text){.data = version.data + 1, .size = version.size - 1};
    }
    while (version.size > 0 && version.data[version.size - 1] == ' ') {
        version.size--;
    }
    tr_buffer_add_text(buffer, version);
    tr_buffer_add_string(buffer, "-");
    tr_buffer_add_text(buffer, cache->signature);
}

/* ------------------------------------------------------------------ all keys */

/*
 * Everything is written with its size or its count in front, so no two different lists of parts
 * give the same bytes.
 */
int tr_cache_key(const struct tr_graph *graph, const struct tr_task *task,
                 const struct tr_settings *settings, struct tr_bytes inputs, bool is_flytes,
                 uint8_t key[TR_CACHE_KEY_BYTES], struct tr_buffer *digests)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_array(&buffer, 4);
    tr_buffer_u64(&buffer, KEY_FORM);
    tr_buffer_text_value(&buffer, graph->project);
    tr_buffer_text_value(&buffer, graph->domain);
    tr_buffer_text_value(&buffer, task->name);
    digest_part(&buffer, key + TASK_AT, TR_CACHE_TASK_BYTES);
    if (settings->cache.signature.size > 0) {
        write_dataset_version(&settings->cache, &buffer);
    } else {
        tr_buffer_array(&buffer, 3);
        tr_buffer_text_value(&buffer, settings->cache.version);
        write_variables(&task->interface.inputs, &buffer);
        write_variables(&task->interface.outputs, &buffer);
    }
    digest_part(&buffer, key + VERSION_AT, TR_CACHE_VERSION_BYTES);
    digest(inputs, key, TR_CACHE_INPUTS_BYTES);
    int error = buffer.error;
    tr_buffer_fini(&buffer);
    if (error == 0 && is_flytes) {
        error = digest_literals(task, settings, inputs, key);
        /* What cannot be a literal of Flyte's keeps the digest that it has. */
        error = error == TR_INVALID || error == TR_MALFORMED || error == TR_LIMIT ? 0 : error;
    }
    return error != 0 ? error : add_digests(inputs, digests);
}

static char *write_hex(const uint8_t *bytes, size_t size, char *at)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    return at;
}

/* The first two digits are the folder, too, which parts the documents into 256. */
void tr_cache_path(struct tr_bytes key, char path[TR_CACHE_PATH_BYTES])
{
    TR_ASSERT(key.size == TR_CACHE_KEY_BYTES);
    memcpy(path, "cache/", 6);
    char *at = write_hex(key.data, 1, path + 6);
    *at++ = '/';
    at = write_hex(key.data, TR_CACHE_INPUTS_BYTES, at);
    *at++ = '-';
    at = write_hex(key.data + TASK_AT, TR_CACHE_TASK_BYTES, at);
    *at++ = '-';
    at = write_hex(key.data + VERSION_AT, TR_CACHE_VERSION_BYTES, at);
    *at = '\0';
}

/* -------------------------------------------------------------------- subjects */

int tr_cache_write_task(const struct tr_graph *graph, const struct tr_task *task,
                        struct tr_buffer *buffer)
{
    tr_buffer_add_text(buffer, graph->project);
    tr_buffer_add_string(buffer, "/");
    tr_buffer_add_text(buffer, graph->domain);
    tr_buffer_add_string(buffer, "/");
    tr_buffer_add_text(buffer, task->name);
    return buffer->error;
}

int tr_cache_write_inputs(const struct tr_task *task, const struct tr_settings *settings,
                          struct tr_bytes digests, struct tr_buffer *buffer)
{
    const struct tr_variables *inputs = &task->interface.inputs;
    uint32_t count = (uint32_t)(digests.size / TR_CACHE_INPUT_BYTES);
    uint32_t written = 0;
    tr_buffer_array(buffer, 2 * count);
    for (uint32_t i = 0; i < inputs->count && written < count; i++) {
        if (!is_ignored(&settings->cache, i)) {
            tr_buffer_text_value(buffer, inputs->items[i].name);
            tr_buffer_bytes_value(
                buffer, (struct tr_bytes){.data = digests.data + written * TR_CACHE_INPUT_BYTES,
                                          .size = TR_CACHE_INPUT_BYTES});
            written++;
        }
    }
    return written == count ? buffer->error : TR_MALFORMED;
}

/* The digest of an input of a subject; empty: it has none of that name. */
static int find_input(const struct tr_cache_subject *subject, struct tr_text name,
                      struct tr_bytes *found)
{
    struct tr_cursor cursor = tr_cursor_of(subject->inputs);
    uint32_t count = tr_read_array(&cursor) / 2;
    *found = (struct tr_bytes){.size = 0};
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text one = tr_read_text(&cursor);
        struct tr_bytes bytes = tr_read_bytes(&cursor);
        if (cursor.error == 0 && tr_text_equal(one, name)) {
            *found = bytes;
        }
    }
    return cursor.error != 0 ? TR_MALFORMED : 0;
}

/* Where it goes. */
struct comparing {
    void (*take)(void *self, struct tr_text input);
    void *self;
    struct tr_cache_difference *difference;
};

static void differs(const struct comparing *comparing, struct tr_text input)
{
    comparing->difference->inputs++;
    comparing->take(comparing->self, input);
}

/* The inputs of one that the other does not have with the same content, or at all. */
static int compare_inputs(const struct comparing *comparing, const struct tr_cache_subject *one,
                          const struct tr_cache_subject *other, bool is_absent_only)
{
    struct tr_cursor cursor = tr_cursor_of(one->inputs);
    uint32_t count = tr_read_array(&cursor) / 2;
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        struct tr_bytes bytes = tr_read_bytes(&cursor);
        struct tr_bytes found;
        int error = cursor.error != 0 ? TR_MALFORMED : find_input(other, name, &found);
        if (error != 0) {
            return error;
        }
        bool is_same = found.size == bytes.size && found.size > 0 &&
                       memcmp(found.data, bytes.data, bytes.size) == 0;
        if (is_absent_only ? found.size == 0 : !is_same) {
            differs(comparing, name);
        }
    }
    return cursor.error != 0 ? TR_MALFORMED : 0;
}

static bool is_same_part(const struct tr_cache_subject *one, const struct tr_cache_subject *other,
                         size_t begin, size_t size)
{
    return memcmp(one->key.data + begin, other->key.data + begin, size) == 0;
}

int tr_cache_compare(const struct tr_cache_subject *wanted, const struct tr_cache_subject *entry,
                     void (*take)(void *self, struct tr_text input), void *self,
                     struct tr_cache_difference *difference)
{
    *difference = (struct tr_cache_difference){.inputs = 0};
    struct comparing comparing = {.take = take, .self = self, .difference = difference};
    if (wanted->key.size != TR_CACHE_KEY_BYTES || entry->key.size != TR_CACHE_KEY_BYTES) {
        return TR_MALFORMED;
    }
    difference->has_version = !tr_text_equal(wanted->version, entry->version);
    difference->has_interface = !difference->has_version &&
                                !is_same_part(wanted, entry, VERSION_AT, TR_CACHE_VERSION_BYTES);
    if (is_same_part(wanted, entry, 0, TR_CACHE_INPUTS_BYTES)) {
        return 0;
    }
    int error = compare_inputs(&comparing, wanted, entry, false);
    if (error == 0) {
        error = compare_inputs(&comparing, entry, wanted, true);
    }
    if (error == 0 && difference->inputs == 0) {
        differs(&comparing, tr_text_of(""));
    }
    return error;
}

/* ------------------------------------------------------------------- documents */

int tr_cache_document_write(const struct tr_cache_document *document, struct tr_buffer *buffer)
{
    const struct tr_cache_subject *subject = &document->subject;
    tr_buffer_array(buffer, 10);
    tr_buffer_u64(buffer, DOCUMENT_FORM);
    tr_buffer_bytes_value(buffer, subject->key);
    tr_buffer_text_value(buffer, subject->task);
    tr_buffer_text_value(buffer, subject->version);
    tr_buffer_add(buffer, subject->inputs.data, subject->inputs.size);
    tr_buffer_text_value(buffer, document->execution);
    tr_buffer_text_value(buffer, document->path);
    tr_buffer_u64(buffer, document->element);
    tr_buffer_u64(buffer, document->made_ms);
    tr_buffer_bytes_value(buffer, document->outputs);
    return buffer->error;
}

int tr_cache_document_read(struct tr_bytes bytes, struct tr_cache_document *document)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    uint64_t form = tr_read_u64(&cursor);
    /* Looked at first: a newer form may have other fields behind its number. */
    if (cursor.error == 0 && form > DOCUMENT_FORM) {
        return TR_VERSION;
    }
    struct tr_cache_document found = {.made_ms = 0};
    /* One statement each: C does not say in which order an initializer list is evaluated. */
    found.subject.key = tr_read_bytes(&cursor);
    found.subject.task = tr_read_text(&cursor);
    found.subject.version = tr_read_text(&cursor);
    found.subject.inputs = tr_read_any(&cursor);
    found.execution = tr_read_text(&cursor);
    found.path = tr_read_text(&cursor);
    found.element = tr_read_u64(&cursor);
    found.made_ms = tr_read_u64(&cursor);
    found.outputs = tr_read_bytes(&cursor);
    if (cursor.error != 0 || count != 10 || form == 0 || tr_cursor_left(&cursor) > 0) {
        return TR_MALFORMED;
    }
    *document = found;
    return 0;
}
