/*
 * What a task keeps in its pages between two messages: its node_start, its plugin's state, its
 * note, and bytes of any size in spans.
 *
 * A span is a head page and a tail of pages further on, so that a task whose values are small has
 * a page table of a few rows. Pages are full but for the last one.
 *
 * Pages are written at the end of a handling only (tri_task_keep), but for spans, which are added
 * to as answers come. The note and the plugin's state are read when they are first asked for, since
 * most messages need only one of them.
 */
#include <string.h>

#include "actors/task/task.h"

#define PLUGIN_PAGE 1
#define NOTE_PAGE 2

/* Pages of one tail: of twice a message, since fetched files may have longer names. */
#define TAIL_PAGES (2 * TR_MESSAGE_BYTES_MAX / TR_PAGE_BYTES_MAX)

struct span_place {
    uint32_t head;
    uint32_t tail;
};

static const struct span_place places[] = {
    [TRI_SPAN_START] = {0, 8},
    [TRI_SPAN_OUTPUTS] = {3, 8 + TAIL_PAGES},
    [TRI_SPAN_URIS] = {4, 8 + 2 * TAIL_PAGES},
    [TRI_SPAN_INPUTS] = {5, 8 + 3 * TAIL_PAGES},
};

static uint32_t *span_size(struct tri_task *task, enum tri_span span)
{
    struct tr_task_state *state = task->state;
    uint32_t *const sizes[] = {
        [TRI_SPAN_START] = &state->start_bytes,
        [TRI_SPAN_OUTPUTS] = &state->outputs_bytes,
        [TRI_SPAN_URIS] = &state->uris_bytes,
        [TRI_SPAN_INPUTS] = &state->inputs_bytes,
    };
    return sizes[span];
}

static uint32_t span_page(enum tri_span span, size_t number)
{
    return number == 0 ? places[span].head : places[span].tail + (uint32_t)number - 1;
}

/* Appends; TR_LIMIT leaves the span as it is. A page that is begun is filled up first. */
int tri_task_span_add(struct tri_task *task, enum tri_span span, struct tr_bytes bytes)
{
    uint32_t *size = span_size(task, span);
    size_t done = 0;
    if (*size + bytes.size > TAIL_PAGES * (size_t)TR_PAGE_BYTES_MAX) {
        return TR_LIMIT;
    }
    while (done < bytes.size) {
        size_t used = *size % TR_PAGE_BYTES_MAX;
        size_t room = TR_PAGE_BYTES_MAX - used;
        size_t part = bytes.size - done < room ? bytes.size - done : room;
        void *page;
        int error = tr_page_edit(task->context, span_page(span, *size / TR_PAGE_BYTES_MAX),
                                 used + part, &page);
        if (error != 0) {
            return error;
        }
        memcpy((uint8_t *)page + used, bytes.data + done, part);
        *size += (uint32_t)part;
        done += part;
    }
    return 0;
}

/* Pages that the new bytes do not need are dropped, so none of an earlier value is stored on. */
int tri_task_span_set(struct tri_task *task, enum tri_span span, struct tr_bytes bytes)
{
    uint32_t *size = span_size(task, span);
    size_t before = (*size + TR_PAGE_BYTES_MAX - 1) / TR_PAGE_BYTES_MAX;
    size_t after = (bytes.size + TR_PAGE_BYTES_MAX - 1) / TR_PAGE_BYTES_MAX;
    int error = 0;
    for (size_t i = after; i < before && error == 0; i++) {
        error = tr_page_drop(task->context, span_page(span, i));
    }
    *size = 0;
    return error != 0 ? error : tri_task_span_add(task, span, bytes);
}

/* A view of the one page, or a copy of several in the handling's memory. */
int tri_task_span_get(struct tri_task *task, enum tri_span span, struct tr_bytes *bytes)
{
    size_t size = *span_size(task, span);
    if (size <= TR_PAGE_BYTES_MAX) {
        int error = tr_page_get(task->context, span_page(span, 0), bytes);
        bytes->size = size < bytes->size ? size : bytes->size;
        return error;
    }
    uint8_t *whole = tr_arena_alloc(&task->arena, size);
    if (whole == NULL) {
        return task->arena.error;
    }
    for (size_t done = 0; done < size;) {
        struct tr_bytes part;
        int error = tr_page_get(task->context, span_page(span, done / TR_PAGE_BYTES_MAX), &part);
        if (error != 0 || part.size == 0) {
            return error != 0 ? error : TR_NOT_FOUND;
        }
        size_t wanted = size - done < part.size ? size - done : part.size;
        memcpy(whole + done, part.data, wanted);
        done += wanted;
    }
    *bytes = (struct tr_bytes){.data = whole, .size = size};
    return 0;
}

/* ------------------------------------------------------------- node_start */

/* Finds what the numbers of node_start stand for; they come from our own parent. */
static int find_node(struct tri_task *task)
{
    const struct tr_node_start *start = &task->start;
    const struct tr_graph *graph = tr_graph_registry_find(&task->engine->registry, start->graph);
    if (graph == NULL || start->workflow >= graph->workflow_count) {
        return TR_NOT_FOUND;
    }
    const struct tr_workflow *workflow = &graph->workflows[start->workflow];
    if (start->node >= workflow->node_count) {
        return TR_NOT_FOUND;
    }
    const struct tr_node *node = &workflow->nodes[start->node];
    if (node->target_kind != TR_TARGET_TASK) {
        return TR_INVALID;
    }
    task->graph = graph;
    task->node = node;
    task->task = &graph->tasks[node->target];
    task->settings = node->settings;
    task->plugin = tr_engine_plugin_of(task->engine, task->task->type, task->task->extra);
    return 0;
}

/* Fills in the start: from the message that brings it, or from the pages for every later one. */
int tri_task_open(struct tri_task *task)
{
    uint8_t version = task->state->start_version;
    task->start_body = task->message->body;
    if (task->state->is_kept) {
        int error = tri_task_span_get(task, TRI_SPAN_START, &task->start_body);
        if (error != 0) {
            return error;
        }
    } else {
        version = task->message->version;
        task->state->start_version = version;
    }
    int error = tr_node_start_unpack(task->start_body, version, &task->start);
    return error != 0 ? error : find_node(task);
}

/* The name of the current attempt, made once in a handling; try_again makes it anew. */
const struct tr_task_identity *tri_task_identity(struct tri_task *task)
{
    if (task->has_identity) {
        return &task->identity;
    }
    const struct tr_node_start *start = &task->start;
    const struct tr_task_name of = {
        .execution = start->execution,
        .number = start->number,
        .path = start->path,
        .element = start->element,
        .attempt = task->state->attempt,
    };
    tr_task_name(&of, task->name);
    task->has_identity = true;
    task->identity = (struct tr_task_identity){
        .execution = start->execution,
        .path = start->path,
        .element = start->element,
        .attempt = task->state->attempt,
        .generated_name = tr_text_of(task->name),
        .execution_number = start->number,
        .store = task->engine->store,
    };
    return &task->identity;
}

int tri_task_inputs(struct tri_task *task, struct tr_bytes *inputs)
{
    if (task->state->inputs_bytes > 0) {
        return tri_task_span_get(task, TRI_SPAN_INPUTS, inputs);
    }
    *inputs = task->start.inputs;
    return 0;
}

/* ------------------------------------------------- what a schema packs: a page */

/* Packs a struct by its schema into a page of its own. */
static int put_page(struct tri_task *task, uint32_t page, const struct tr_schema *schema,
                    const void *value)
{
    size_t size = schema->size_max(value);
    void *bytes = tr_arena_alloc(&task->arena, size);
    void *place;
    if (bytes == NULL) {
        return task->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = schema->pack(value, &writer);
    if (error == 0) {
        error = tr_page_edit(task->context, page, tr_writer_size(&writer), &place);
    }
    if (error == 0) {
        memcpy(place, bytes, tr_writer_size(&writer));
    }
    return error;
}

/*
 * A folder that is called as the attempt is kept without that name (schemas/engine/state_task.h).
 */
static int put_note(struct tri_task *task)
{
    struct tr_task_note note = task->note;
    struct tr_text name = tri_task_identity(task)->generated_name;
    size_t front = note.folder.size > name.size ? note.folder.size - name.size : 0;
    if (front > 0 && note.folder.data[front - 1] == '/' &&
        memcmp(note.folder.data + front, name.data, name.size) == 0) {
        note.folder.size = front;
    }
    return put_page(task, NOTE_PAGE, &tr_task_note_schema, &note);
}

static int read_note(struct tri_task *task)
{
    struct tr_bytes page;
    struct tr_text *folder = &task->note.folder;
    int error = tr_page_get(task->context, NOTE_PAGE, &page);
    if (error != 0 || page.size == 0) {
        return error;
    }
    error = tr_task_note_unpack(page, tr_task_note_schema.version, &task->note);
    if (error == 0 && tr_task_folder_is_short(*folder)) {
        *folder = tr_arena_print(&task->arena, "%.*s%s", TRI_TEXT(*folder),
                                 tri_task_identity(task)->generated_name.data);
        error = task->arena.error;
    }
    return error;
}

/*
 * Reads the note once in a handling; `is_change` has it written at the end. A change that is made
 * without asking for it here is lost.
 */
int tri_task_note(struct tri_task *task, bool is_change)
{
    int error = 0;
    if (task->note_use == TRI_NOTE_UNREAD && task->state->is_kept) {
        error = read_note(task);
    }
    if (error == 0 && (is_change || task->note_use == TRI_NOTE_UNREAD)) {
        task->note_use = is_change ? TRI_NOTE_CHANGED : TRI_NOTE_READ;
    }
    return error;
}

/* ------------------------------------------------------- the plugin's state */

int tri_task_plugin_state_new(struct tri_task *task)
{
    const struct tr_schema *schema = task->plugin->state;
    task->plugin_state = tr_arena_alloc(&task->arena, schema == NULL ? 0 : schema->struct_size);
    return task->arena.error;
}

/*
 * Whose state it is counts as much as its bytes: another plugin would begin anew what it finds
 * nothing of. FNV-1a finds damage, not intent: pages are the store's own.
 */
static uint64_t sum_of(const struct tr_task_plugin *wrapper)
{
    const struct tr_bytes version = {.data = &wrapper->version, .size = sizeof wrapper->version};
    uint64_t sum = tr_fnv_64(TR_FNV_64_BEGIN, tri_task_bytes_of_text(wrapper->plugin));
    return tr_fnv_64(tr_fnv_64(sum, version), wrapper->state);
}

/* Reads the wrapper: what is wrong with it, or 0. */
static int open_wrapper(struct tri_task *task, struct tr_task_plugin *wrapper)
{
    struct tr_bytes page;
    int error = tr_page_get(task->context, PLUGIN_PAGE, &page);
    if (error == 0) {
        error = tr_task_plugin_unpack(page, tr_task_plugin_schema.version, wrapper);
    }
    if (error != 0) {
        return TR_MALFORMED;
    }
    return sum_of(wrapper) == wrapper->sum ? 0 : TR_MALFORMED;
}

/* A plugin's id as a number that is never 0. */
static uint32_t number_of(struct tr_text id)
{
    uint64_t hash = tr_fnv_64(TR_FNV_64_BEGIN, tri_task_bytes_of_text(id));
    uint32_t number = (uint32_t)(hash ^ hash >> 32);
    return number != 0 ? number : 1;
}

static const struct tr_plugin *plugin_by_number(const struct tr_engine *engine, uint32_t number)
{
    for (size_t i = 0; i < engine->plugin_count; i++) {
        if (number_of(tr_text_of(engine->plugins[i]->id)) == number) {
            return engine->plugins[i];
        }
    }
    return NULL;
}

/*
 * The plugin that began the attempt goes on with it, also where another one serves the task's type
 * now. Which one that is the task itself knows, whatever name stands on the stored state. `found`
 * is what is wrong with the state so far, or 0. A state before any was stored (number 0) has no
 * owner, and is damaged in any case.
 */
static int find_owner(struct tri_task *task, const struct tr_task_plugin *wrapper, int found)
{
    uint32_t number = task->state->plugin;
    if (number == 0) {
        return found == 0 ? TR_MALFORMED : found;
    }
    const struct tr_plugin *owner = plugin_by_number(task->engine, number);
    task->plugin = owner != NULL ? owner : task->plugin;
    if (found == 0 && number_of(wrapper->plugin) != number) {
        task->stranger = wrapper->plugin;
        return TR_MALFORMED;
    }
    return found == 0 && owner == NULL ? TR_VERSION : found;
}

/* What is wrong with the state is `fault`; only a lack of memory is an error of ours. */
int tri_task_plugin_state_load(struct tri_task *task, int *fault)
{
    struct tr_task_plugin wrapper = {0};
    int found = find_owner(task, &wrapper, open_wrapper(task, &wrapper));
    if (task->plugin == NULL) {
        *fault = TR_VERSION;
        return 0;
    }
    int error = tri_task_plugin_state_new(task);
    const struct tr_schema *schema = task->plugin->state;
    if (error == 0 && found == 0 && schema != NULL) {
        found = schema->unpack(wrapper.state, wrapper.version, task->plugin_state);
    }
    if (found == TR_MEMORY) {
        return TR_MEMORY;
    }
    *fault = found == 0 || found == TR_VERSION ? found : TR_MALFORMED;
    return error;
}

/*
 * TR_LIMIT: it is too large. The first check is on the largest size that it may have, of which
 * packing saves some; the second is on what it has.
 */
int tri_task_plugin_state_pack(struct tri_task *task)
{
    const struct tr_schema *schema = task->plugin->state;
    size_t size = schema == NULL ? 0 : schema->size_max(task->plugin_state);
    if (size > 2 * TR_PLUGIN_STATE_BYTES_MAX) {
        return TR_LIMIT;
    }
    uint8_t *bytes = tr_arena_alloc(&task->arena, size);
    if (bytes == NULL) {
        return task->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = schema == NULL ? 0 : schema->pack(task->plugin_state, &writer);
    if (error == 0 && tr_writer_size(&writer) > TR_PLUGIN_STATE_BYTES_MAX) {
        error = TR_LIMIT;
    }
    if (error == 0) {
        task->packed_state = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
        task->has_packed_state = true;
    }
    return error;
}

static int keep_plugin_state(struct tri_task *task)
{
    const struct tr_schema *schema = task->plugin->state;
    struct tr_task_plugin wrapper = {
        .plugin = tr_text_of(task->plugin->id),
        .version = schema == NULL ? 0 : schema->version,
        .state = task->packed_state,
    };
    wrapper.sum = sum_of(&wrapper);
    task->state->plugin = number_of(wrapper.plugin);
    return put_page(task, PLUGIN_PAGE, &tr_task_plugin_schema, &wrapper);
}

/* Written only by a task that goes on: one that ends in its first handler has no pages. */
int tri_task_keep(struct tri_task *task)
{
    int error = 0;
    if (!task->state->is_kept) {
        task->state->is_kept = true;
        error = tri_task_span_set(task, TRI_SPAN_START, task->start_body);
    }
    if (error == 0 && task->has_packed_state) {
        error = keep_plugin_state(task);
    }
    if (error == 0 && task->note_use == TRI_NOTE_CHANGED) {
        error = put_note(task);
    }
    return error;
}
