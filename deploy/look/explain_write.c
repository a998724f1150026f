/*
 * Writing explanations: a line for each actor that waits, one for each node that has not begun,
 * and the chain of causes of what has failed.
 *
 * What has not ended has something outstanding that will wake it, or this says that it has not
 * (law 13 of runtime/ARCHITECTURE.md).
 */
#include <string.h>

#include "actors/array/array.h"
#include "actors/engine.h"
#include "actors/store/task_name.h"
#include "actors/workflow/workflow.h"
#include "deploy/common/show.h"
#include "deploy/engine/slots.h"
#include "deploy/follow/task_progress.h"
#include "deploy/history/node_tree.h"
#include "deploy/history/notifications.h"
#include "deploy/history/waiting.h"
#include "deploy/look/explain.h"
#include "schemas/codec/error.h"

/* Kinds of waits of elements that are told apart. */
#define CLASSES 256

/* One explanation on its way. */
struct explaining {
    const struct tr_explain_request *request;
    struct tr_document document;
    bool has_document;
    struct tr_node_tree *tree; /* for graphs alone */
    struct tr_waiting waiting;
    struct tr_text path;     /* of the workflow whose nodes are being shown */
    uint64_t element;        /* and its own, if it is one */
    uint32_t shown;          /* nodes of it */
    uint32_t written;        /* lines in all */
    uint32_t hidden;         /* nodes and elements that are not shown */
    uint32_t alike[CLASSES]; /* elements of the array that is being shown, by what they wait for */
    struct tr_text alike_path;
    bool has_progress; /* of the attempt that is being shown, in its task's words */
    struct tr_task_progress progress;
    bool is_held_up; /* what the actor that is being shown waits for stands still */
    bool *hides;     /* of each actor: neither it nor what is below it is shown */
    int error;
};

/* ------------------------------------------------------------------------- one line */

static void write_line(struct explaining *explaining, struct tr_text path, uint64_t element,
                       struct tr_text text, bool is_stuck)
{
    FILE *stream = explaining->request->stream;
    explaining->written++;
    if (explaining->has_document) {
        tr_document_begin_map(&explaining->document, NULL);
        tr_document_text(&explaining->document, "node", path);
        tr_document_element(&explaining->document, "element", element);
        tr_document_text(&explaining->document, "text", text);
        tr_document_bool(&explaining->document, "is_stuck", is_stuck);
        tr_task_progress_write(explaining->has_progress ? &explaining->progress : NULL,
                               &explaining->document);
        tr_document_end(&explaining->document);
        return;
    }
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_line_print(text, 0, &line);
    fprintf(stream, "  %.*s", (int)path.size, path.data);
    if (element != TR_ELEMENT_NONE) {
        fprintf(stream, "[%llu]", (unsigned long long)element);
    }
    fprintf(stream, "%s%.*s\n", path.size > 0 ? ": " : "", (int)line.size, (const char *)line.data);
    tr_buffer_fini(&line);
}

/* ------------------------------------------------------------------- words for actors */

/* What makes the result a task waits for, and whether that is dormant. */
static int explain_maker(struct tr_waiting *waiting, struct tr_key task, struct tr_buffer *text)
{
    uint64_t maker = 0;
    struct tr_waiting_service *resources = &waiting->resources;
    struct tr_explain_pages pages = {.page = tr_waiting_page, .self = &waiting->catalog.pages};
    int error = tr_explain_cache(waiting->catalog.state, &pages, task, text, &maker);
    if (error == 0 && maker != 0 && resources->state != NULL) {
        pages.self = &resources->pages;
        tr_explain_dormant(resources->state, &pages, maker, text);
    }
    return error;
}

static int explain_token(struct explaining *explaining, struct tr_key task, struct tr_buffer *text)
{
    struct tr_waiting_service *resources = &explaining->waiting.resources;
    struct tr_explain_pages pages = {.page = tr_waiting_page, .self = &resources->pages};
    return tr_explain_request(resources->state, &pages, task, explaining->request->now,
                              explaining->request->hosts, text);
}

static int explain_services(struct explaining *explaining, const struct tr_waiter *waiter,
                            uint8_t step, struct tr_buffer *text, bool *is_known)
{
    struct tr_buffer more;
    struct tr_waiting *waiting = &explaining->waiting;
    bool is_token = step == TR_STEP_TOKEN;
    const struct tr_waiting_service *service = is_token ? &waiting->resources : &waiting->catalog;
    int error = TR_NOT_FOUND;
    tr_buffer_init(&more, 0);
    if (service->state != NULL) {
        error = is_token ? explain_token(explaining, waiter->key, &more)
                         : explain_maker(waiting, waiter->key, &more);
    }
    *is_known = error == 0;
    if (error == 0) {
        tr_buffer_cut(text, 0); /* it says the same, and more */
        tr_buffer_add_text(text, tr_buffer_text(&more));
    }
    tr_buffer_fini(&more);
    explaining->is_held_up |= tr_waiting_trouble(service, text);
    return error == TR_NOT_FOUND ? 0 : error;
}

/* The generated name of a task's attempt, by which a back end knows its job. */
static void name_attempt(const struct explaining *explaining, const struct tr_waiter *waiter,
                         uint32_t attempt, char name[TR_TASK_NAME_BYTES_MAX + 1])
{
    char execution[512];
    const struct tr_execution *of = explaining->request->execution;
    (void)snprintf(execution, sizeof execution, "%.*s/%.*s/%.*s", (int)of->project.size,
                   of->project.data, (int)of->domain.size, of->domain.data, (int)of->name.size,
                   of->name.data);
    const struct tr_task_name wanted = {.execution = tr_text_of(execution),
                                        .number = of->execution,
                                        .path = waiter->path,
                                        .element = waiter->element,
                                        .attempt = attempt};
    tr_task_name(&wanted, name);
}

/* What its job waits for at a back end's actor; or what it wants of that was not read yet. */
static int explain_job_at(struct explaining *explaining, struct tr_waiting_service *service,
                          const struct tr_waiter *waiter, struct tr_text name,
                          struct tr_buffer *text)
{
    struct tr_explain_pages pages = {.page = tr_waiting_page, .self = &service->pages};
    struct tr_buffer job;
    tr_buffer_init(&job, 0);
    int error = service->state == NULL
                    ? TR_NOT_FOUND
                    : tr_explain_job(service->state, &pages, name, explaining->request->now, &job);
    if (error == TR_NOT_FOUND && tr_key_equal(waiter->said_to, service->key)) {
        tr_buffer_cut(&job, 0);
        tr_buffer_add_string(&job, "its request to the back end is on the way");
        error = job.error;
    }
    if (error == 0) {
        tr_buffer_print(text, "; %.*s", (int)job.size, (const char *)job.data);
        explaining->is_held_up |= tr_waiting_trouble(service, text);
    }
    tr_buffer_fini(&job);
    return error;
}

/* The same at whichever back end it is; that wakes it. */
static int explain_job(struct explaining *explaining, const struct tr_waiter *waiter,
                       struct tr_text name, struct tr_buffer *text, bool *has_event)
{
    struct tr_waiting_service *services = explaining->waiting.refreshes.items;
    for (uint32_t i = 0; i < explaining->waiting.refreshes.count; i++) {
        int error = explain_job_at(explaining, &services[i], waiter, name, text);
        *has_event |= error == 0;
        if (error != TR_NOT_FOUND) {
            return error;
        }
    }
    return 0;
}

/* How long an attempt has run, and what its task says of how far it has come. */
static void explain_run(struct explaining *explaining, const struct tr_waiter *waiter,
                        struct tr_buffer *text)
{
    const struct tr_explain_request *request = explaining->request;
    const struct tr_task_state *state = waiter->state;
    const struct tr_attempt key = {.execution = request->execution->execution,
                                   .path = waiter->path,
                                   .element = waiter->element,
                                   .attempt = state->attempt};
    tr_buffer_add_string(text, "; ");
    tr_span_print(
        tr_took_ms(state->attempt_created_ms, state->attempt_started_ms, 0, request->now_ms), text);
    tr_buffer_add_string(text, " so far");
    explaining->has_progress = tr_task_progress_find(request->reader, &key, &explaining->progress);
    if (explaining->has_progress) {
        tr_buffer_add_string(text, "; progress: ");
        tr_task_progress_print(&explaining->progress, request->now_ms, text);
    }
}

static int explain_task(struct explaining *explaining, const struct tr_waiter *waiter,
                        struct tr_buffer *text, bool *has_event)
{
    const struct tr_task_state *state = waiter->state;
    struct tr_waiting_pages own = tr_waiting_pages(&explaining->waiting, waiter->key);
    struct tr_explain_pages pages = {
        .page = tr_waiting_page, .self = &own, .is_left = !explaining->request->is_live};
    char name[TR_TASK_NAME_BYTES_MAX + 1];
    *has_event |= state->is_held; /* a person resumes it */
    name_attempt(explaining, waiter, state->attempt, name);
    int error = tr_explain_task(state, &pages, tr_text_of(name), explaining->request->now, text);
    *has_event |= state->is_held;
    bool is_served = state->step == TR_STEP_TOKEN || state->step == TR_STEP_RESERVE;
    if (error == 0 && is_served && !state->is_held) {
        bool is_known = false;
        error = explain_services(explaining, waiter, state->step, text, &is_known);
        *has_event |= is_known;
    }
    if (error == 0 && state->step == TR_STEP_RUN) {
        explain_run(explaining, waiter, text);
    }
    if (error == 0 && (state->step == TR_STEP_RUN || state->step == TR_STEP_ABORT)) {
        error = explain_job(explaining, waiter, tr_text_of(name), text, has_event);
    }
    return error;
}

/* Others have to say something to it: its root, the launcher, or what it has launched. */
static int explain_launch(struct explaining *explaining, const struct tr_waiter *waiter,
                          const struct tr_graph *graph, struct tr_buffer *text, bool *has_event)
{
    struct tr_waiting_pages own = tr_waiting_pages(&explaining->waiting, waiter->key);
    struct tr_explain_pages pages = {.page = tr_waiting_page, .self = &own};
    *has_event = true;
    return tr_explain_launch(waiter->state, &pages, graph, text);
}

/* The graph in which an array, a launch or a workflow runs; NULL: it cannot be read. */
static const struct tr_graph *graph_of(struct explaining *explaining,
                                       const struct tr_waiter *waiter)
{
    uint64_t number = waiter->behaviour == tr_array_behaviour.id
                          ? ((const struct tr_array_state *)waiter->state)->graph
                      : waiter->behaviour == tr_launch_behaviour.id
                          ? ((const struct tr_launch_state *)waiter->state)->graph
                          : ((const struct tr_workflow_state *)waiter->state)->graph;
    return tr_node_tree_graph(explaining->tree, number);
}

/* Beside its own parallelism the engine bounds an array. */
static int explain_slots(const struct explaining *explaining, const struct tr_array_state *array,
                         const struct tr_graph *graph, struct tr_buffer *text)
{
    const struct tr_node *node = &graph->workflows[array->workflow].nodes[array->node];
    uint32_t jobs = explaining->request->jobs;
    if (tr_slots_bound(graph, node, jobs)) {
        tr_buffer_print(text, "; the engine has %u job slot%s for them (--jobs)", jobs,
                        jobs == 1 ? "" : "s");
    }
    return text->error;
}

static int explain_behaviour(struct explaining *explaining, const struct tr_waiter *waiter,
                             struct tr_buffer *text, bool *has_event)
{
    if (waiter->state == NULL) {
        tr_buffer_add_string(text, "its state cannot be read by this program");
        return 0;
    }
    if (waiter->behaviour == tr_task_behaviour.id) {
        return explain_task(explaining, waiter, text, has_event);
    }
    if (waiter->behaviour == tr_signals_behaviour.id) {
        tr_buffer_add_string(text, "it keeps what people answer, for the gates");
        return 0;
    }
    const struct tr_graph *graph = graph_of(explaining, waiter);
    if (graph == NULL) {
        tr_buffer_add_string(text, "its definition cannot be read");
        return 0;
    }
    if (waiter->behaviour == tr_launch_behaviour.id) {
        return explain_launch(explaining, waiter, graph, text, has_event);
    }
    if (waiter->behaviour == tr_array_behaviour.id) {
        const struct tr_array_state *array = waiter->state;
        *has_event |= array->is_paused;
        int error = tr_explain_array(array, graph, text);
        return error != 0 ? error : explain_slots(explaining, array, graph, text);
    }
    const struct tr_workflow_state *state = waiter->state;
    *has_event |= state->is_paused || state->waiting > 0; /* people, or a timer that is counted */
    return tr_explain_workflow(state, graph, text);
}

/* What is wrong with an actor itself. */
static void explain_trouble(const struct tr_waiter *waiter, bool is_stuck, struct tr_buffer *text)
{
    if (waiter->is_quarantined) {
        const char *error =
            waiter->failed_with != 0 ? tr_error_text(waiter->failed_with) : "the process has ended";
        tr_buffer_print(text,
                        "; it is quarantined, since one message has failed it twice (%s): "
                        "`troupe actors --resume ADDRESS` lets it go on",
                        error);
    } else if (waiter->is_backing_off) {
        tr_buffer_add_string(text, "; it has failed, and will be restarted");
    } else if (is_stuck) {
        tr_buffer_print(text,
                        "; STUCK: nothing will ever wake it (actor %llu/%llu): that is a bug of "
                        "the engine, please report it",
                        (unsigned long long)waiter->key.group,
                        (unsigned long long)waiter->key.serial);
    }
}

/* ---------------------------------------------------------------------- what is shown */

/* Whether something of a path is meant. */
static bool is_meant(const struct explaining *explaining, struct tr_text path, uint64_t element)
{
    const struct tr_target *target = explaining->request->target;
    if (path.size < target->path.size || target->path.size == 0) {
        return target->path.size == 0;
    }
    if (memcmp(path.data, target->path.data, target->path.size) != 0) {
        return false;
    }
    if (path.size == target->path.size) {
        return target->element == TR_ELEMENT_NONE || target->element == element;
    }
    struct tr_text rest = {.data = path.data + target->path.size,
                           .size = path.size - target->path.size};
    char of_element[32];
    int size =
        snprintf(of_element, sizeof of_element, "[%llu]/", (unsigned long long)target->element);
    return target->element == TR_ELEMENT_NONE
               ? rest.data[0] == '/' || rest.data[0] == '['
               : rest.size > (size_t)size && memcmp(rest.data, of_element, (size_t)size) == 0;
}

/* What an element waits for, as a number. */
static uint32_t class_of(const struct tr_waiter *waiter)
{
    if (waiter->behaviour != tr_task_behaviour.id || waiter->state == NULL) {
        return CLASSES - 1;
    }
    const struct tr_task_state *state = waiter->state;
    return (state->step * 16U + state->task_phase % 16U) % (CLASSES - 1);
}

/* Whether an element is one of many that wait for the same, and enough are shown. */
static bool is_one_of_many(struct explaining *explaining, const struct tr_waiter *waiter)
{
    bool is_named = explaining->request->target->element != TR_ELEMENT_NONE;
    if (waiter->element == TR_ELEMENT_NONE || is_named || explaining->request->is_verbose) {
        return false;
    }
    if (!tr_text_equal(explaining->alike_path, waiter->path)) {
        memset(explaining->alike, 0, sizeof explaining->alike);
        explaining->alike_path = waiter->path;
    }
    return ++explaining->alike[class_of(waiter)] > TR_EXPLAIN_ALIKE;
}

static int show_actor(struct explaining *explaining, const struct tr_waiter *waiter)
{
    struct tr_buffer text;
    bool has_event = waiter->events > 0 || waiter->is_backing_off;
    tr_buffer_init(&text, 0);
    explaining->is_held_up = false;
    explaining->has_progress = false;
    int error = explain_behaviour(explaining, waiter, &text, &has_event);
    bool is_held_up = explaining->is_held_up;
    bool is_stuck = waiter->is_quarantined || is_held_up || !has_event;
    explain_trouble(waiter, is_stuck && !is_held_up, &text);
    if (error == 0) {
        error = text.error;
    }
    if (error == 0) {
        write_line(explaining, waiter->path, waiter->element, tr_buffer_text(&text), is_stuck);
    }
    explaining->has_progress = false; /* it is this actor's alone */
    tr_buffer_fini(&text);
    return error;
}

/* ------------------------------------------------------------------- nodes that wait */

static int show_node(void *self, const struct tr_node *node, struct tr_text text)
{
    struct explaining *explaining = self;
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    tr_buffer_add_text(&path, explaining->path);
    if (explaining->element != TR_ELEMENT_NONE) {
        tr_buffer_print(&path, "[%llu]", (unsigned long long)explaining->element);
    }
    tr_buffer_add_string(&path, path.size > 0 ? "/" : "");
    tr_buffer_add_text(&path, node->id);
    int error = path.error;
    if (error == 0 && is_meant(explaining, tr_buffer_text(&path), TR_ELEMENT_NONE)) {
        if (explaining->request->is_verbose || explaining->shown < TR_EXPLAIN_NODES) {
            explaining->shown++;
            write_line(explaining, tr_buffer_text(&path), TR_ELEMENT_NONE, text, false);
        } else {
            explaining->hidden++;
        }
    }
    tr_buffer_fini(&path);
    return error;
}

/* What the nodes of a workflow wait for that have not begun. */
static int show_nodes(struct explaining *explaining, const struct tr_waiter *waiter)
{
    const struct tr_workflow_state *state = waiter->state;
    struct tr_waiting_pages own = tr_waiting_pages(&explaining->waiting, waiter->key);
    struct tr_explain_pages pages = {.page = tr_waiting_page, .self = &own};
    uint32_t behind = 0;
    if (waiter->behaviour != tr_workflow_behaviour.id || state == NULL) {
        return 0;
    }
    const struct tr_graph *graph = graph_of(explaining, waiter);
    if (graph == NULL) {
        return 0;
    }
    struct tr_explain_scene scene = {.state = state,
                                     .pages = &pages,
                                     .graph = graph,
                                     .execution = explaining->request->execution->name,
                                     .now = explaining->request->now};
    explaining->path = waiter->path;
    explaining->element = waiter->element;
    explaining->shown = 0;
    int error = tr_explain_nodes(&scene, show_node, explaining, &behind);
    if (error == 0 && behind > 0 && is_meant(explaining, waiter->path, waiter->element)) {
        char words[64];
        int size = snprintf(words, sizeof words, "%u more %s behind these", behind,
                            behind == 1 ? "node waits" : "nodes wait");
        write_line(explaining, waiter->path, waiter->element,
                   (struct tr_text){.data = words, .size = (size_t)size}, false);
    }
    return error;
}

/* The signals wait for people for as long as the execution lives: that is worth no line. */
static bool is_quiet(const struct tr_waiter *waiter)
{
    return waiter->behaviour == tr_signals_behaviour.id && !waiter->is_quarantined &&
           !waiter->is_backing_off;
}

static int show_waiting(struct explaining *explaining)
{
    struct tr_waiting *waiting = &explaining->waiting;
    int error = 0;
    explaining->hides = tr_arena_array(&waiting->arena, waiting->count + 1, sizeof(bool));
    if (explaining->hides == NULL) {
        return waiting->arena.error;
    }
    for (uint32_t i = 0; error == 0 && i < waiting->count; i++) {
        const struct tr_waiter *waiter = &waiting->items[i];
        bool is_below_hidden =
            waiter->parent != TR_WAITING_NONE && explaining->hides[waiter->parent];
        bool is_hidden = is_below_hidden || is_one_of_many(explaining, waiter);
        explaining->hides[i] = is_hidden;
        bool is_wanted = is_meant(explaining, waiter->path, waiter->element) && !is_quiet(waiter);
        explaining->hidden += is_wanted && is_hidden && !is_below_hidden ? 1 : 0;
        if (!is_hidden && is_wanted) {
            error = show_actor(explaining, waiter);
        }
        error = error != 0 || is_hidden ? error : show_nodes(explaining, waiter);
    }
    return error;
}

/* ------------------------------------------------------------------------- all of it */

static bool has_ended(const struct tr_execution *row)
{
    return tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
}

static int show_causes(struct explaining *explaining)
{
    return tri_explain_causes(explaining->request,
                              explaining->has_document ? &explaining->document : NULL);
}

/* Of an execution that goes badly; of a node that does not wait for anything any more. */
static bool has_causes(const struct explaining *explaining)
{
    bool has_target = explaining->request->target->path.size > 0;
    return has_target ? explaining->written == 0
                      : explaining->request->execution->phase >= TR_EXECUTION_FAILING;
}

static void print_head(const struct explaining *explaining)
{
    const struct tr_explain_request *request = explaining->request;
    const struct tr_execution *row = request->execution;
    struct tr_buffer span;
    tr_buffer_init(&span, 0);
    tr_span_print(tr_took_ms(row->created_ms, row->started_ms, row->ended_ms, request->now_ms),
                  &span);
    fprintf(request->stream, "%.*s  %s %s %.*s%s%s\n", (int)row->name.size, row->name.data,
            tr_phase_shown(row), has_ended(row) ? "after" : "for", (int)span.size,
            (const char *)span.data, request->host != NULL ? ", on host " : "",
            request->host != NULL ? request->host : "");
    tr_buffer_fini(&span);
    if (request->goes_to != NULL) {
        fprintf(request->stream,
                "  it is to go on at host %s, as soon as no processes or calls of its partition "
                "run any more\n",
                request->goes_to);
    }
    if (row->is_paused) {
        fprintf(request->stream, "  it is paused: nothing new begins until `troupe resume %.*s`\n",
                (int)row->name.size, row->name.data);
    }
    if (request->is_aside) {
        fprintf(request->stream,
                "  it is set aside, since loading it has ended the engine %d times in a row: "
                "`troupe resume %.*s` lets the next engine try again, %s`troupe abort %.*s` ends "
                "it\n",
                TR_ASIDE_ENDS, (int)row->name.size, row->name.data,
                request->is_live ? "and when this one has ended, " : "", (int)row->name.size,
                row->name.data);
    } else if (!has_ended(row) && !request->is_live) {
        fprintf(request->stream, "  no engine runs on %s: nothing goes on until `troupe resume`\n",
                request->folder);
    } else if (request->is_dormant) {
        fprintf(request->stream, "  it is dormant: `troupe resume %.*s` goes on with it\n",
                (int)row->name.size, row->name.data);
    }
}

/* What nobody was told yet, or never will be; what was delivered needs no explanation. */
static int show_notification(void *self, const struct tr_notification_row *row)
{
    struct explaining *explaining = self;
    const struct tr_explain_request *request = explaining->request;
    struct tr_buffer words;
    if (row->status == TR_NOTIFICATION_DELIVERED) {
        return 0;
    }
    if (explaining->has_document) {
        tr_notification_write(row, &explaining->document);
        return 0;
    }
    tr_buffer_init(&words, 0);
    tr_buffer_print(&words, "  notification of %s%s%.*s by %s to ",
                    tr_notify_phase_word(row->phase), row->path.size > 0 ? " at " : "",
                    (int)row->path.size, row->path.data, tr_notify_kind_word(row->kind));
    tr_buffer_add_visible(&words, row->target);
    tr_buffer_add_string(&words, ": ");
    tr_notification_print(row, request->now_ms, &words);
    if (!request->is_live && tr_notification_is_left(row)) {
        tr_buffer_add_string(&words, "; no engine runs, the next one goes on with it");
    }
    int error = words.error;
    if (error == 0) {
        fprintf(request->stream, "%.*s\n", (int)words.size, (const char *)words.data);
    }
    tr_buffer_fini(&words);
    return error;
}

/* They are the execution's, and none of a node's. */
static int show_notifications(struct explaining *explaining)
{
    const struct tr_explain_request *request = explaining->request;
    return request->target->path.size > 0
               ? 0
               : tr_notifications_read(request->reader, request->execution->execution,
                                       show_notification, explaining);
}

static int print_text(struct explaining *explaining)
{
    const struct tr_explain_request *request = explaining->request;
    print_head(explaining);
    int error = show_waiting(explaining);
    if (explaining->hidden > 0) {
        fprintf(request->stream, "  and %u more are like these; -v shows all\n",
                explaining->hidden);
    }
    error = error == 0 && has_causes(explaining) ? show_causes(explaining) : error;
    error = error == 0 ? show_notifications(explaining) : error;
    return error == 0 ? tri_explain_cache(request, NULL) : error;
}

static int write_document(struct explaining *explaining)
{
    const struct tr_explain_request *request = explaining->request;
    struct tr_document *document = &explaining->document;
    tr_document_init(document, request->stream, request->output);
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "execution", request->execution->name);
    tr_document_text(document, "phase",
                     tr_text_of(tr_execution_phase_word(request->execution->phase)));
    tr_document_bool(document, "is_paused", request->execution->is_paused);
    tr_document_bool(document, "is_live", request->is_live);
    tr_document_bool(document, "is_dormant", request->is_dormant);
    tr_document_text_or_null(document, "host", request->host);
    tr_document_text_or_null(document, "goes_to", request->goes_to);
    tr_document_begin_list(document, "waiting");
    int error = show_waiting(explaining);
    tr_document_end(document);
    tr_document_number(document, "hidden", explaining->hidden);
    tr_document_begin_list(document, "causes");
    error = error == 0 && has_causes(explaining) ? show_causes(explaining) : error;
    tr_document_end(document);
    tr_document_begin_list(document, "cache");
    error = error == 0 ? tri_explain_cache(request, document) : error;
    tr_document_end(document);
    tr_document_begin_list(document, "notifications");
    error = error == 0 ? show_notifications(explaining) : error;
    tr_document_end(document);
    tr_document_end(document);
    tr_document_fini(document);
    return error;
}

int tr_explain_write(const struct tr_explain_request *request)
{
    struct tr_node_tree tree;
    struct explaining explaining = {
        .request = request,
        .has_document = request->output == TR_OUTPUT_JSON || request->output == TR_OUTPUT_YAML,
    };
    int error = tr_node_tree_open(request->reader, request->folder, request->execution, &tree);
    if (error == 0) {
        explaining.tree = &tree;
        error =
            tr_waiting_read(request->reader, request->execution->execution, &explaining.waiting);
    }
    if (error == 0) {
        error = explaining.has_document ? write_document(&explaining) : print_text(&explaining);
        tr_waiting_fini(&explaining.waiting);
    }
    tr_node_tree_fini(&tree);
    return error;
}
