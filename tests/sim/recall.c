/*
 * Earlier executions, looked up in history as it was committed. What was kept itself has its
 * insides in the execution that it was kept from.
 */
#include "tests/sim/recall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/runtime/files.h"
#include "tests/sim/edits.h"
#include "tests/sim/repeats.h"

#define MS 1000000ULL
#define ANSWER_NS_MOST (40 * MS)

void sim_recall_name(const struct sim_stage *stage, const struct sim_execution *execution,
                     struct tr_text place, char name[SIM_RECALL_NAME_BYTES])
{
    (void)snprintf(name, SIM_RECALL_NAME_BYTES, "%u:%.*s",
                   (unsigned)(execution - stage->executions), (int)place.size, place.data);
}

/* ------------------------------------------------------------------------------------- places */

/* A path below the place that a plan is for, as a path of the whole. */
static struct tr_text whole_of(struct tr_text place, struct tr_text path, struct tr_text id,
                               char whole[SIM_PATH_BYTES])
{
    int size = snprintf(whole, SIM_PATH_BYTES, "%.*s%s%.*s%s%.*s", (int)place.size, place.data,
                        place.size > 0 ? "/" : "", (int)path.size, path.data,
                        path.size > 0 && id.size > 0 ? "/" : "", (int)id.size, id.data);
    TR_ASSERT(size < SIM_PATH_BYTES);
    return tr_text_of(whole);
}

/*
 * The place that a plan is for, from what stands behind the execution in its name: "", "n0!" for
 * what a launch node has begun, or, as an array writes it, "!n2[3]" behind the place of the array's
 * execution, for what an element has.
 */
static void read_place(struct tr_text words, char place[SIM_PATH_BYTES])
{
    size_t mark = words.size;
    char outer[SIM_PATH_BYTES];
    char whole[SIM_PATH_BYTES];
    if (words.size == 0 || words.data[words.size - 1] != ']') {
        (void)snprintf(place, SIM_PATH_BYTES, "%.*s", (int)words.size, words.data);
        return;
    }
    while (words.data[mark - 1] != '!') {
        mark--;
    }
    read_place((struct tr_text){.data = words.data, .size = mark - 1}, outer);
    struct tr_text element = {.data = words.data + mark, .size = words.size - mark};
    (void)whole_of(tr_text_of(outer), element, tr_text_of(""), whole);
    (void)snprintf(place, SIM_PATH_BYTES, "%.*s!", SIM_PATH_BYTES - 2, whole);
}

/* Whose plan a name is, and for which place in it. */
static const struct sim_execution *read_name(struct sim_stage *stage, struct tr_text name,
                                             char place[SIM_PATH_BYTES])
{
    unsigned index = (unsigned)(name.data[0] - '0');
    bool is_fine = name.size >= 2 && name.data[1] == ':' && index < stage->execution_count;
    if (!is_fine || stage->executions[index].from == NULL) {
        sim_fail("environment: '%.*s' is no plan of a recovery", (int)name.size, name.data);
        return NULL;
    }
    read_place((struct tr_text){.data = name.data + 2, .size = name.size - 2}, place);
    sim_edits_draw(stage, &stage->executions[index]);
    return &stage->executions[index];
}

/* -------------------------------------------------------------------------------- what is again */

/*
 * What the plan says of a path. What was launched has a plan without words of its own; that of an
 * element which runs anew keeps nothing.
 */
static enum tr_recovery_way way_of(const struct sim_execution *execution, struct tr_text path)
{
    const struct tr_recovery *plan = sim_edits_plan(execution);
    const char *mark = memchr(path.data, '!', path.size);
    if (plan == NULL || (mark != NULL && mark[-1] != ']')) {
        return TR_RECOVERY_KEPT;
    }
    if (mark == NULL) {
        return tr_recovery_way(plan, path);
    }
    struct tr_text element = {.data = path.data, .size = (size_t)(mark - path.data)};
    return tr_recovery_way(plan, element) == TR_RECOVERY_ANEW ? TR_RECOVERY_ANEW : TR_RECOVERY_KEPT;
}

/* ------------------------------------------------------------------------------------- what was */

static bool has_given(uint8_t phase)
{
    return phase == TR_NODE_PHASE_SUCCEEDED || phase == TR_NODE_PHASE_RECOVERED;
}

static const struct sim_observation_of *entry_in(const struct sim_stage *stage,
                                                 const struct sim_execution *execution,
                                                 struct tr_text path, uint64_t element)
{
    const struct sim_observation_of *entry =
        sim_history_find(stage->history, execution->host, execution->number, path, element);
    return entry != NULL && entry->phase != TR_NODE_PHASE_NOT_YET_STARTED ? entry : NULL;
}

/* Cuts a path to what it lies in: false where that is the execution. */
static bool cut(struct tr_text *path, uint64_t *element)
{
    char last;
    uint64_t unit = 1;
    *element = TR_ELEMENT_NONE;
    do {
        last = path->size > 0 ? path->data[--path->size] : '/';
    } while (path->size > 0 && last != '/');
    if (path->size > 0 && path->data[path->size - 1] == ']') {
        *element = 0;
        for (path->size--; path->data[path->size - 1] != '['; path->size--, unit *= 10) {
            *element += (uint64_t)(path->data[path->size - 1] - '0') * unit;
        }
        path->size--;
    }
    return path->size > 0;
}

/* Whether the nearest thing around a path that is known at all was kept. */
static bool is_inside_kept(const struct sim_stage *stage, const struct sim_execution *execution,
                           struct tr_text path, uint64_t element)
{
    const struct sim_observation_of *entry =
        element == TR_ELEMENT_NONE ? NULL : entry_in(stage, execution, path, TR_ELEMENT_NONE);
    while (entry == NULL && cut(&path, &element)) {
        entry = entry_in(stage, execution, path, element);
        if (entry == NULL && element != TR_ELEMENT_NONE) {
            entry = entry_in(stage, execution, path, TR_ELEMENT_NONE);
        }
    }
    return entry != NULL && entry->phase == TR_NODE_PHASE_RECOVERED;
}

/* The entry in the earlier execution, or in the one from which that kept what is around it. */
static const struct sim_observation_of *find(const struct sim_stage *stage,
                                             const struct sim_execution *execution,
                                             struct tr_text path, uint64_t element,
                                             const struct sim_execution **where)
{
    for (const struct sim_execution *from = execution->from; from != NULL; from = from->from) {
        const struct sim_observation_of *entry = entry_in(stage, from, path, element);
        if (where != NULL) {
            *where = from;
        }
        if (entry != NULL || !is_inside_kept(stage, from, path, element)) {
            return entry;
        }
    }
    return NULL;
}

enum tr_recovery_way sim_recall_node(const struct sim_stage *stage,
                                     const struct sim_execution *execution, struct tr_text path,
                                     bool is_again, const struct sim_observation_of **entry)
{
    enum tr_recovery_way way = way_of(execution, path);
    *entry = NULL;
    if (way == TR_RECOVERY_ANEW || (is_again && way == TR_RECOVERY_KEPT)) {
        return TR_RECOVERY_ANEW;
    }
    *entry = find(stage, execution, path, TR_ELEMENT_NONE, NULL);
    bool was_given = *entry != NULL && has_given((*entry)->phase);
    return way == TR_RECOVERY_KEPT && was_given ? TR_RECOVERY_KEPT : TR_RECOVERY_OPEN;
}

bool sim_recall_launched(const struct sim_stage *stage, const struct sim_execution *execution,
                         struct tr_text path, uint64_t element)
{
    char place[SIM_PATH_BYTES];
    char number[32] = "";
    const struct sim_execution *where = NULL;
    if (element != TR_ELEMENT_NONE) {
        (void)snprintf(number, sizeof number, "[%llu]", (unsigned long long)element);
    }
    int size = snprintf(place, sizeof place, "%.*s%s!", (int)path.size, path.data, number);
    TR_ASSERT(size < SIM_PATH_BYTES);
    if (find(stage, execution, path, TR_ELEMENT_NONE, &where) == NULL ||
        way_of(execution, tr_text_of(place)) == TR_RECOVERY_ANEW) {
        return false;
    }
    return entry_in(stage, where, tr_text_of(place), TR_ELEMENT_NONE) != NULL;
}

bool sim_recall_is_same(const struct sim_stage *stage, const struct sim_execution *execution,
                        struct tr_text path, const uint8_t *hash)
{
    const struct sim_observation_of *entry = find(stage, execution, path, TR_ELEMENT_NONE, NULL);
    return entry != NULL && entry->has_graph &&
           memcmp(entry->graph, hash, TR_GRAPH_HASH_BYTES) == 0;
}

/* ------------------------------------------------------------------------------------- elements */

/* The elements' slots out of the lists of a map that wholly succeeded. */
static void take_listed(const struct sim_observation_of *array, uint64_t element, uint32_t outputs,
                        struct tr_buffer *slots)
{
    struct tr_cursor lists = tr_cursor_of(sim_bytes_of(&array->values[TR_VALUE_OUTPUTS]));
    uint32_t count = array->values[TR_VALUE_OUTPUTS].size > 0 ? tr_read_array(&lists) : 0;
    TR_ASSERT(count >= outputs); /* there may be one more, of errors */
    tr_buffer_array(slots, outputs);
    for (uint32_t i = 0; i < outputs; i++) {
        struct tr_cursor list = tr_cursor_of(tr_read_any(&lists));
        struct tr_bytes slot = {0};
        uint32_t items = tr_read_array(&list);
        TR_ASSERT(element < items);
        for (uint64_t k = 0; k <= element; k++) {
            slot = tr_read_any(&list);
        }
        tr_buffer_add(slots, slot.data, slot.size);
    }
}

bool sim_recall_element(const struct sim_stage *stage, const struct sim_execution *execution,
                        struct tr_text path, uint64_t element, uint32_t outputs, bool *is_listed,
                        struct tr_buffer *slots)
{
    char own[SIM_PATH_BYTES];
    const struct sim_execution *where = execution;
    const struct sim_observation_of *array = NULL;
    do { /* of an array that was kept itself, the elements are where it ran */
        array = find(stage, where, path, TR_ELEMENT_NONE, &where);
    } while (array != NULL && array->phase == TR_NODE_PHASE_RECOVERED && where->from != NULL);
    *is_listed = array != NULL && has_given(array->phase) && array->total > 0 &&
                 array->succeeded == array->total;
    int size = snprintf(own, sizeof own, "%.*s[%llu]", (int)path.size, path.data,
                        (unsigned long long)element);
    TR_ASSERT(size < SIM_PATH_BYTES);
    const struct sim_observation_of *entry =
        array == NULL ? NULL : entry_in(stage, where, path, element);
    bool is_kept = entry != NULL && has_given(entry->phase) &&
                   way_of(execution, tr_text_of(own)) == TR_RECOVERY_KEPT;
    if (is_kept && *is_listed) {
        take_listed(array, element, outputs, slots);
    } else if (is_kept) {
        const struct sim_bytes *given = &entry->values[TR_VALUE_OUTPUTS];
        tr_buffer_add(slots, given->data, given->size);
    }
    return is_kept && slots->size > 0;
}

/* ------------------------------------------------------------------------------------ questions */

bool sim_recall_is_same_by_name(struct sim_stage *stage, struct tr_text name, struct tr_text path,
                                const uint8_t *hash)
{
    char place[SIM_PATH_BYTES];
    char whole[SIM_PATH_BYTES];
    const struct sim_execution *execution = read_name(stage, name, place);
    return execution != NULL &&
           sim_recall_is_same(stage, execution,
                              whole_of(tr_text_of(place), path, tr_text_of(""), whole), hash);
}

/* [name of an input, slot]: what is edited, and the plan for what a launch node begins. */
static void write_edits(const struct sim_stage *stage, const struct sim_execution *execution,
                        struct tr_text path, enum tr_recovery_way way, struct tr_buffer *answer)
{
    char place[SIM_PATH_BYTES];
    char name[SIM_RECALL_NAME_BYTES];
    const struct tr_recovery *plan = sim_edits_plan(execution);
    bool is_launched =
        way == TR_RECOVERY_OPEN && sim_recall_launched(stage, execution, path, TR_ELEMENT_NONE);
    uint32_t count = is_launched ? 1 : 0;
    for (uint32_t i = 0; i < plan->edit_count; i++) {
        count += tr_text_equal(plan->edits[i].path, path) ? 1 : 0;
    }
    tr_buffer_array(answer, count);
    for (uint32_t i = 0; i < plan->edit_count; i++) {
        if (tr_text_equal(plan->edits[i].path, path)) {
            tr_buffer_array(answer, 2);
            tr_buffer_text_value(answer, plan->edits[i].input);
            tr_buffer_add(answer, plan->edits[i].slot.data, plan->edits[i].slot.size);
        }
    }
    if (is_launched) {
        (void)snprintf(place, sizeof place, "%.*s!", (int)path.size, path.data);
        sim_recall_name(stage, execution, tr_text_of(place), name);
        tr_buffer_array(answer, 2);
        tr_buffer_text_value(answer, tr_text_of(""));
        tr_buffer_text_value(answer, tr_text_of(name));
    }
}

static void answer_node(const struct sim_stage *stage, const struct sim_execution *execution,
                        uint64_t node, struct tr_text path, bool is_again, struct tr_buffer *answer)
{
    const struct sim_observation_of *entry;
    enum tr_recovery_way way = sim_recall_node(stage, execution, path, is_again, &entry);
    bool is_kept = way == TR_RECOVERY_KEPT && entry->values[TR_VALUE_OUTPUTS].size > 0;
    size_t got_size = is_kept ? entry->values[TR_VALUE_INPUTS].size : 0;
    tr_buffer_array(answer, got_size > 0 ? 4 : 3);
    tr_buffer_u64(answer, node);
    tr_buffer_u64(answer, way);
    if (is_kept) {
        const struct sim_bytes *given = &entry->values[TR_VALUE_OUTPUTS];
        tr_buffer_add(answer, given->data, given->size);
        tr_buffer_add(answer, entry->values[TR_VALUE_INPUTS].data, got_size);
    } else {
        write_edits(stage, execution, path, way, answer);
    }
}

static void reply(struct sim_host *host, const struct tr_envelope *envelope, struct tr_bytes body,
                  const struct tr_schema *schema, const void *answer)
{
    uint64_t delay_ns = sim_repeats_delay_ns(host, envelope, body, ANSWER_NS_MOST);
    sim_environment_reply(host, envelope, schema, answer, delay_ns);
    if (sim_below(&host->world->chance.environment, 8) == 0) {
        sim_environment_reply(host, envelope, schema, answer, delay_ns + ANSWER_NS_MOST / 2);
    }
}

/* All nodes of a question, or only the first ones. */
static void answer_nodes(struct sim_stage *stage, struct sim_host *host,
                         const struct tr_envelope *envelope, struct tr_bytes body,
                         const struct tr_recover_nodes *question)
{
    char place[SIM_PATH_BYTES];
    const struct sim_execution *execution = read_name(stage, question->recovery, place);
    struct tr_cursor cursor = tr_cursor_of(question->nodes);
    uint32_t count = tr_read_array(&cursor);
    struct sim_random *chance = &host->world->chance.environment;
    struct tr_buffer nodes;
    count = sim_below(chance, 4) == 0 ? 1 + (uint32_t)sim_below(chance, count) : count;
    tr_buffer_init(&nodes, 0);
    tr_buffer_array(&nodes, count);
    for (uint32_t i = 0; execution != NULL && i < count; i++) {
        char whole[SIM_PATH_BYTES];
        (void)tr_read_array(&cursor);
        uint64_t node = tr_read_u64(&cursor);
        struct tr_text id = tr_read_text(&cursor);
        bool is_again = tr_read_bool(&cursor);
        answer_node(stage, execution, node, whole_of(tr_text_of(place), question->path, id, whole),
                    is_again, &nodes);
    }
    if (execution != NULL) {
        struct tr_recovered_nodes answer = {.from = tr_text_of(execution->from->name),
                                            .nodes = tr_buffer_bytes(&nodes)};
        reply(host, envelope, body, &tr_recovered_nodes_schema, &answer);
    }
    tr_buffer_fini(&nodes);
}

static void answer_elements(struct sim_stage *stage, struct sim_host *host,
                            const struct tr_envelope *envelope, struct tr_bytes body,
                            const struct tr_recover_elements *question)
{
    char whole[SIM_PATH_BYTES];
    char place[SIM_PATH_BYTES];
    const struct sim_execution *execution = read_name(stage, question->recovery, place);
    struct sim_random *chance = &host->world->chance.environment;
    struct tr_recovered_elements answer = {.first = question->first, .count = question->count};
    struct tr_buffer kept;
    struct tr_buffer list;
    uint32_t kept_count = 0;
    if (execution == NULL) {
        return;
    }
    tr_buffer_init(&kept, 0);
    tr_buffer_init(&list, 0);
    if (sim_below(chance, 4) == 0) {
        answer.count = 1 + (uint32_t)sim_below(chance, question->count);
    }
    struct tr_text path = whole_of(tr_text_of(place), question->path, tr_text_of(""), whole);
    for (uint64_t element = answer.first; element < answer.first + answer.count; element++) {
        struct tr_buffer slots;
        tr_buffer_init(&slots, 0);
        if (sim_recall_element(stage, execution, path, element, question->outputs,
                               &answer.is_listed, &slots)) {
            tr_buffer_array(&kept, 2);
            tr_buffer_u64(&kept, element);
            tr_buffer_add(&kept, slots.data, slots.size);
            kept_count++;
        }
        tr_buffer_fini(&slots);
    }
    tr_buffer_array(&list, kept_count);
    tr_buffer_add(&list, kept.data, kept.size);
    answer.from = tr_text_of(execution->from->name);
    answer.elements = tr_buffer_bytes(&list);
    reply(host, envelope, body, &tr_recovered_elements_schema, &answer);
    tr_buffer_fini(&list);
    tr_buffer_fini(&kept);
}

bool sim_recall_hear(struct sim_stage *stage, struct sim_host *host,
                     const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct tr_recover_nodes nodes;
    struct tr_recover_elements elements;
    if (envelope->type == tr_recover_nodes_schema.id &&
        tr_recover_nodes_unpack(body, envelope->version, &nodes) == 0) {
        answer_nodes(stage, host, envelope, body, &nodes);
        return true;
    }
    if (envelope->type == tr_recover_elements_schema.id &&
        tr_recover_elements_unpack(body, envelope->version, &elements) == 0) {
        answer_elements(stage, host, envelope, body, &elements);
        return true;
    }
    return false;
}
