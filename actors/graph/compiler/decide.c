/*
 * The graph that a dynamic task decides: the compiler goes on from the graph of its node.
 *
 * What was compiled stays as it is; its names are known to the document, and the document's own
 * tasks and workflows come behind. The workflow that is run comes last, under a name that no
 * definition can write: so the next decision finds it and takes it away, and graphs do not grow by
 * one with each dynamic task inside another.
 *
 * Tasks and workflows of the parent keep their positions, since its compiled workflows name them by
 * position; the array of tasks moves, and nodes that point at their task's settings are set anew.
 * `parent` is taken, and becomes the decided graph.
 */
#include <math.h>
#include <stdlib.h>

#include "actors/graph/compiler/builder.h"
#include "actors/graph/compiler/fill.h"
#include "actors/graph/document/json.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/language/keys.h"
#include "schemas/codec/utf8.h"

#define DECIDED_PREFIX "dynamic:"

/* ------------------------------------------------------------- what is there already */

/*
 * Whether a workflow is none of the definition's: it is of an earlier decision, whose name holds a
 * colon, which names never do, or a task alone.
 */
static bool is_made(const struct tr_graph *graph, const struct tr_workflow *workflow)
{
    struct tr_text prefix = tr_text_of(DECIDED_PREFIX);
    bool is_decided = workflow->name.size > prefix.size &&
                      memcmp(workflow->name.data, prefix.data, prefix.size) == 0;
    return is_decided || tri_compile_is_single_task(graph, workflow);
}

/*
 * A task's packed configuration as a tree again, for nodes that override parts of it; NULL: none.
 */
static const struct tr_tree *config_of(struct tri_compiler *compiler, const struct tr_task *task)
{
    struct tr_buffer json;
    struct tr_report ignored;
    const struct tr_tree *tree = NULL;
    tr_buffer_init(&json, 0);
    tr_report_init(&ignored);
    if (task->settings.config.size > 0 &&
        tr_literal_json(NULL, task->settings.config, &json) == 0) {
        struct tr_text text = tr_arena_text(compiler->scratch, tr_buffer_text(&json));
        tree = tr_json_read(compiler->scratch, &ignored, 0, text);
    }
    tr_report_fini(&ignored);
    tr_buffer_fini(&json);
    return tree;
}

/*
 * The parent's tasks, in their order, so that they keep their positions and the document's nodes
 * may name and override them. Pools and ignored inputs are positions already: their names stay
 * empty, and tri_compile_resolve_settings leaves them alone.
 */
static void inherit_tasks(struct tri_compiler *compiler, struct tri_place place)
{
    const struct tr_graph *graph = compiler->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        struct tri_task *task =
            tri_vector_add(compiler->scratch, &compiler->definition.tasks, sizeof *task);
        if (task == NULL) {
            return;
        }
        task->name = (struct tri_name){.text = graph->tasks[i].name, .place = place};
        task->task = graph->tasks[i];
        task->settings.settings = graph->tasks[i].settings;
        task->settings.config = config_of(compiler, &graph->tasks[i]);
    }
}

/*
 * The parent's workflows, marked as compiled; without one that was made, which is the last and
 * which none of the others can call, as its name cannot be written.
 */
static void inherit_workflows(struct tri_compiler *compiler, struct tri_place place)
{
    struct tr_graph *graph = compiler->graph;
    if (graph->workflow_count > 0 && is_made(graph, &graph->workflows[graph->workflow_count - 1])) {
        graph->workflow_count--;
    }
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        struct tri_workflow *workflow =
            tri_vector_add(compiler->scratch, &compiler->definition.workflows, sizeof *workflow);
        if (workflow == NULL) {
            return;
        }
        workflow->name = (struct tri_name){.text = graph->workflows[i].name, .place = place};
        workflow->is_compiled = true;
    }
}

/* The parent's launch plans, so that their names are taken and may be referred to. */
static void inherit_plans(struct tri_compiler *compiler, struct tri_place place)
{
    const struct tr_graph *graph = compiler->graph;
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        struct tri_plan *plan =
            tri_vector_add(compiler->scratch, &compiler->definition.plans, sizeof *plan);
        if (plan == NULL) {
            return;
        }
        plan->name = (struct tri_name){.text = graph->plans[i].name, .place = place};
    }
}

/*
 * Nodes that have the settings of their task find them where the tasks are now. Packing writes nil
 * for the same pointer, so the hash depends on it.
 */
static void follow_tasks(struct tr_graph *graph, const struct tr_task *before)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        struct tr_workflow *workflow = &graph->workflows[i];
        for (uint32_t k = 0; k < workflow->node_count; k++) {
            struct tr_node *node = &workflow->nodes[k];
            bool is_tasks = node->target_kind == TR_TARGET_TASK &&
                            node->settings == &before[node->target].settings;
            if (is_tasks) {
                node->settings = &graph->tasks[node->target].settings;
            }
        }
    }
}

/* ----------------------------------------------------------------------- the document */

/*
 * The number of four hexadecimal digits behind "\\u" at a position, or -1, also where the text ends
 * before.
 */
static int32_t unit_at(struct tr_text text, size_t at)
{
    int32_t unit = 0;
    if (text.size < 6 || at > text.size - 6 || text.data[at] != '\\' || text.data[at + 1] != 'u') {
        return -1;
    }
    for (size_t i = at + 2; i < at + 6; i++) {
        char letter = text.data[i];
        int digit = letter >= '0' && letter <= '9'   ? letter - '0'
                    : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                    : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                                     : -1;
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* JSON on its way into YAML: all before `done` is in `yaml`, as it is or as what replaces it. */
struct rewriting {
    struct tr_text json;
    size_t done;
    struct tr_buffer yaml;
    struct tri_place place; /* of the character at `counted` */
    size_t counted;
};

/* Copies what comes before `at`, and passes over the `size` bytes there: others follow. */
static void leave_out(struct rewriting *rewriting, size_t at, size_t size)
{
    tr_buffer_add(&rewriting->yaml, rewriting->json.data + rewriting->done, at - rewriting->done);
    rewriting->done = at + size;
}

/* The place of a character behind all that were asked for before, counted on from the last one. */
static struct tri_place place_of(struct rewriting *rewriting, size_t at)
{
    for (; rewriting->counted < at; rewriting->counted++) {
        char letter = rewriting->json.data[rewriting->counted];
        bool is_begin = ((unsigned char)letter & 0xc0U) != 0x80U; /* of a character */
        rewriting->place.column += is_begin ? 1 : 0;
        if (letter == '\n') {
            rewriting->place.line++;
            rewriting->place.column = 1;
        }
    }
    return rewriting->place;
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

/*
 * A character that JSON takes as it is, and YAML 1.1 for the end of a line (U+0085, U+2028, U+2029)
 * or for none of a text. Its bytes; 0: it is none of these.
 */
static size_t size_of_special(struct tr_text rest)
{
    static const char *const longer[] = {"\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff"};
    const unsigned char *bytes = (const unsigned char *)rest.data;
    if (bytes[0] == 0x7f) {
        return 1;
    }
    if (rest.size >= 2 && bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0) {
        return 2;
    }
    for (size_t i = 0; rest.size >= 3 && i < TR_COUNT_OF(longer); i++) {
        if (memcmp(bytes, longer[i], 3) == 0) {
            return 3;
        }
    }
    return 0;
}

/* Of an escape, or of a character that is none in YAML, the position behind it. */
static size_t rewrite_character(struct rewriting *rewriting, size_t at)
{
    struct tr_text json = rewriting->json;
    struct tr_text rest = {.data = json.data + at, .size = json.size - at};
    const unsigned char *bytes = (const unsigned char *)rest.data;
    size_t size = size_of_special(rest);
    if (size > 0) {
        unsigned number = size == 3
                              ? (bytes[0] & 15U) << 12 | (bytes[1] & 63U) << 6 | (bytes[2] & 63U)
                          : size == 2 ? bytes[1]
                                      : bytes[0];
        leave_out(rewriting, at, size);
        tr_buffer_print(&rewriting->yaml, "\\u%04x", number);
        return at + size;
    }
    if (bytes[0] != '\\') {
        return at + 1;
    }
    int32_t high = unit_at(json, at);
    int32_t low = high >= 0xd800 && high < 0xdc00 ? unit_at(json, at + 6) : -1;
    if (low < 0xdc00 || low > 0xdfff) {
        return at + 2; /* what is escaped begins nothing */
    }
    leave_out(rewriting, at, 12);
    tr_buffer_print(&rewriting->yaml, "\\U%08x",
                    0x10000U + (((uint32_t)high - 0xd800U) << 10) + (uint32_t)low - 0xdc00U);
    return at + 12;
}

/* The position behind a string that begins at a quote. */
static size_t string_end(struct tr_text json, size_t at)
{
    for (at++; at < json.size && json.data[at] != '"'; at++) {
        at += json.data[at] == '\\' ? 1 : 0;
    }
    return at < json.size ? at + 1 : json.size;
}

/*
 * A string, and behind a key its colon, which YAML wants on the key's line: it changes places with
 * the blanks before it. A key of more than 1024 characters has to say that it is one; a character
 * becomes at most six.
 */
static size_t rewrite_string(struct rewriting *rewriting, size_t at)
{
    struct tr_text json = rewriting->json;
    size_t end = string_end(json, at);
    size_t colon = end;
    while (colon < json.size && is_blank(json.data[colon])) {
        colon++;
    }
    bool is_key = colon < json.size && json.data[colon] == ':';
    if (is_key && end - at > 1024 / 6) {
        leave_out(rewriting, at, 0);
        tr_buffer_add_string(&rewriting->yaml, "? ");
    }
    while (at < end) {
        at = rewrite_character(rewriting, at);
    }
    if (is_key && colon > end) {
        leave_out(rewriting, end, 0);
        tr_buffer_add_string(&rewriting->yaml, ":");
        leave_out(rewriting, colon, 1);
        return colon + 1;
    }
    return end;
}

/*
 * A number of JSON that is none of YAML here would become text without a word: one that no double
 * holds is refused, and one with more digits than are read gets fewer.
 */
static size_t rewrite_number(struct tri_definition *definition, struct rewriting *rewriting,
                             size_t at)
{
    struct tr_text json = rewriting->json;
    size_t end = at;
    while (end < json.size && json.data[end] != '\0' && strchr("0123456789+-.eE", json.data[end])) {
        end++;
    }
    struct tr_text text = {.data = json.data + at, .size = end - at};
    double number;
    if (tri_text_number(text, &number)) {
        return end;
    }
    struct tr_text copy = tr_arena_print(definition->scratch, "%.*s", TRI_TEXT(text));
    char *behind = NULL;
    number = copy.size == 0 ? 0 : strtod(copy.data, &behind);
    if (copy.size == 0 || behind != copy.data + copy.size) {
        return end;
    }
    if (isinf(number)) {
        tri_report_add(definition->report, place_of(rewriting, at), "InvalidValue",
                       "the number '%.*s' is too large\nwrite it as text", TRI_SHOWN(text));
        return end;
    }
    leave_out(rewriting, at, text.size);
    tr_buffer_print(&rewriting->yaml, "%.17e", number);
    return end;
}

/*
 * JSON as the YAML that it nearly is, so that errors have their places. What differs is written as
 * YAML 1.1 has it: some characters and escapes in strings, keys, some numbers, and the tab, which
 * is no blank before the first bracket. What is no JSON stays as it is, and the YAML parser tells
 * it.
 */
static struct tr_text as_yaml(struct tri_definition *definition, struct tr_text json)
{
    struct tr_arena *scratch = definition->scratch;
    struct rewriting rewriting = {.json = tr_utf8_skip_mark(json),
                                  .place = {.source = definition->source, .line = 1, .column = 1}};
    json = rewriting.json;
    tr_buffer_init(&rewriting.yaml, 0);
    for (size_t at = 0; at < json.size;) {
        char letter = json.data[at];
        bool begins = at == 0 || is_blank(json.data[at - 1]) ||
                      (json.data[at - 1] != '\0' && strchr("[,:", json.data[at - 1]) != NULL);
        if (letter == '"') {
            at = rewrite_string(&rewriting, at);
        } else if (begins && (letter == '-' || (letter >= '0' && letter <= '9'))) {
            at = rewrite_number(definition, &rewriting, at);
        } else {
            if (letter == '\t') {
                leave_out(&rewriting, at, 1);
                tr_buffer_add_string(&rewriting.yaml, " ");
            }
            at++;
        }
    }
    leave_out(&rewriting, json.size, 0);
    struct tr_text text = tr_arena_text(scratch, tr_buffer_text(&rewriting.yaml));
    if (rewriting.yaml.error != 0) {
        scratch->error = rewriting.yaml.error;
    }
    tr_buffer_fini(&rewriting.yaml);
    return text;
}

/* Where each input of the task stands in the document: nowhere. */
static const struct tri_place *no_places(struct tri_compiler *compiler, uint32_t count,
                                         struct tri_place place)
{
    struct tri_place *places = tr_arena_array(compiler->scratch, count, sizeof *places);
    for (uint32_t i = 0; places != NULL && i < count; i++) {
        places[i] = place;
    }
    return places;
}

/* The value that a task gives a variable itself; NULL: it gives none. */
static const struct tr_environment *find_given(const struct tr_settings *settings,
                                               struct tr_text name)
{
    for (uint32_t i = 0; i < settings->environment_count; i++) {
        const struct tr_environment *variable = &settings->environment[i];
        bool is_given = !variable->is_passed_on || variable->value.size > 0;
        if (is_given && tr_text_equal(variable->name, name)) {
            return variable;
        }
    }
    return NULL;
}

/*
 * Tasks that a task of Flyte's decides run where it runs: what they are passed on is its own value,
 * as for the folder that its code was found in.
 */
static void pass_on(struct tri_definition *definition, uint32_t first,
                    const struct tr_settings *decider)
{
    struct tri_task *tasks = definition->tasks.items;
    for (uint32_t i = first; definition->has_any_names && i < definition->tasks.count; i++) {
        const struct tr_settings *settings = &tasks[i].settings.settings;
        struct tr_environment *made =
            tr_arena_array(definition->arena, settings->environment_count, sizeof *made);
        for (uint32_t k = 0; made != NULL && k < settings->environment_count; k++) {
            const struct tr_environment *own = &settings->environment[k];
            const struct tr_environment *given =
                own->is_passed_on && own->value.size == 0 ? find_given(decider, own->name) : NULL;
            made[k] = given != NULL ? *given : *own;
        }
        tasks[i].settings.settings.environment = made;
    }
}

/* A document of JSON, which is read by the reader of YAML. */
static bool read_json(void *self, struct tri_definition *definition, struct tri_workflow *workflow)
{
    const struct tr_decision *decision = self;
    const struct tr_tree *tree =
        tr_yaml_read(definition->scratch, definition->report, definition->source,
                     as_yaml(definition, decision->text));
    bool is_fine =
        tree != NULL && tri_keys_expect_map(definition, tree, "a dynamic task's document");
    if (is_fine) {
        tri_definition_read_decision(definition, tree, workflow);
    }
    return is_fine;
}

/* Fills in the document: what it defines goes into the definition, its nodes into `workflow`. */
static bool read_document(struct tri_compiler *compiler, const struct tr_decision *decision,
                          const struct tri_decide_filler *filler, const struct tr_task *task,
                          struct tri_workflow *workflow)
{
    struct tri_definition *definition = &compiler->definition;
    tri_definition_begin(definition, decision->path, task->folder);
    struct tri_place place = {.source = definition->source, .line = 1, .column = 1};
    *workflow = (struct tri_workflow){
        .name = {.text = task->name, .place = place},
        .source = definition->source,
        .folder = task->folder,
        .description = tr_text_of(""),
        .inputs = task->interface.inputs,
        .input_places = no_places(compiler, task->interface.inputs.count, place),
        .results = &task->interface.outputs,
    };
    struct tr_text before = tri_report_subject(compiler->report, task->name);
    uint32_t inherited = definition->tasks.count;
    bool is_fine =
        workflow->input_places != NULL && filler->fill(filler->self, definition, workflow);
    pass_on(definition, inherited, &task->settings);
    (void)tri_report_subject(compiler->report, before);
    return is_fine;
}

/* ------------------------------------------------------------------------- the graph */

/*
 * Dynamic tasks may hold dynamic tasks: what no definition can count is counted here. `depth`
 * workflows lie around the node, and the decided one is the first of `nesting` more.
 */
static void check_nesting(struct tri_compiler *compiler, const struct tr_decision *decision,
                          struct tri_place place)
{
    const struct tr_graph *graph = compiler->graph;
    uint32_t nesting = graph->workflows[graph->main_workflow].nesting;
    if (decision->depth + nesting > TR_WORKFLOW_NESTING_MAX) {
        tri_report_add(compiler->report, place, "InvalidValue",
                       "workflows nest deeper than %u, counted through from the execution\n"
                       "let the dynamic task end with outputs, or launch a workflow",
                       TR_WORKFLOW_NESTING_MAX);
    }
}

/*
 * The passes of compile.c over what is new. Everything inherited comes first, in its order, so that
 * all positions in the parent stay good. The names are collected after the document was read, whose
 * own tasks and workflows may clash with inherited ones; inherited names have line 0, by which the
 * message knows them. The decided workflow is added behind that, since its name is the task's,
 * which is taken.
 */
static void decide(struct tri_compiler *compiler, const struct tr_decision *decision,
                   const struct tri_decide_filler *filler)
{
    struct tr_graph *graph = compiler->graph;
    const struct tr_task *before = graph->tasks;
    struct tri_place there = {
        .source = tri_report_source(compiler->report, tr_text_of("the definition"))};
    struct tri_workflow own;
    inherit_tasks(compiler, there);
    inherit_workflows(compiler, there);
    inherit_plans(compiler, there);
    uint32_t inherited = graph->workflow_count;
    bool is_read = read_document(compiler, decision, filler, &before[decision->task], &own);
    tri_definition_collect(&compiler->definition);
    struct tri_workflow *last =
        tri_vector_add(compiler->scratch, &compiler->definition.workflows, sizeof *last);
    if (!is_read || last == NULL) {
        return;
    }
    *last = own;
    tri_compile_place_tasks(compiler);
    tri_compile_place_workflows(compiler);
    tri_compile_plans(compiler);
    if (graph->arena.error != 0 || compiler->scratch->error != 0) {
        return;
    }
    graph->main_workflow = graph->workflow_count - 1;
    follow_tasks(graph, before);
    tri_compile_workflows(compiler, inherited);
    check_nesting(compiler, decision, own.name.place);
    graph->workflows[graph->main_workflow].name = tr_arena_print(
        &graph->arena, DECIDED_PREFIX "%.*s", TRI_TEXT(graph->tasks[decision->task].name));
}

/* Takes over `decision->parent`, whatever comes of it: as the graph, or freed with an error. */
int tri_decide_filled(const struct tr_decision *decision, const struct tri_decide_filler *filler,
                      struct tr_report *report, struct tr_graph **graph_out)
{
    struct tr_graph *graph = decision->parent;
    struct tr_arena scratch;
    struct tr_types types;
    TR_ASSERT(decision->task < graph->task_count);
    tr_arena_init(&scratch);
    struct tri_compiler compiler = {
        .graph = graph,
        .scratch = &scratch,
        .report = report,
        .definition = {.arena = &graph->arena,
                       .scratch = &scratch,
                       .types = &types,
                       .report = report,
                       .nearest_left = TRI_NEAREST_COMPARISONS_MAX,
                       .project = graph->project,
                       .domain = graph->domain,
                       .key = tr_text_of("")},
    };
    if (tr_types_resume(&types, &graph->arena, graph->types, graph->type_count)) {
        decide(&compiler, decision, filler);
        graph->types = types.items;
        graph->type_count = types.count;
    }
    int error = tri_compile_finish(&compiler);
    tr_arena_fini(&scratch);
    if (error != 0) {
        tr_graph_free(graph);
        return error;
    }
    *graph_out = graph;
    return 0;
}

int tr_graph_decide(const struct tr_decision *decision, struct tr_report *report,
                    struct tr_graph **graph)
{
    const struct tri_decide_filler filler = {.fill = read_json,
                                             .self = (void *)(uintptr_t)decision};
    return tri_decide_filled(decision, &filler, report, graph);
}
