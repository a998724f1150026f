/*
 * What nodes got and gave. Of a task's attempt, which has a folder, a deck may be there, too.
 */
#include "deploy/api_nodes/look_data.h"

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_runs/run_values.h"
#include "deploy/recovery/reuse.h"
#include "schemas/codec/error.h"
#include "schemas/engine/plugin.h"

static Flyteidl__Admin__UrlBlob *blob_of(struct tr_desk_job *job,
                                         const Flyteidl__Core__LiteralMap *literals)
{
    Flyteidl__Admin__UrlBlob *blob =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__url_blob__descriptor);
    if (blob != NULL) {
        blob->bytes = tr_run_values_bytes(literals);
    }
    return blob;
}

static bool read_sides(struct tr_desk_job *job, struct tr_values_request *values,
                       struct tr_look_data *data)
{
    values->side = TR_VALUE_INPUTS;
    bool is_fine = tr_run_values_write(job, values, &data->inputs);
    values->side = TR_VALUE_OUTPUTS;
    is_fine = is_fine && tr_run_values_write(job, values, &data->outputs);
    if (is_fine) {
        data->inputs_blob = blob_of(job, data->inputs);
        data->outputs_blob = blob_of(job, data->outputs);
    }
    return is_fine;
}

/* The start node gives what the execution got, and the end node gets what it gave. */
static bool read_sentinel(struct tr_look *look, bool is_end, struct tr_look_data *data)
{
    struct tr_values_request values = {.reader = look->job->reader,
                                       .graph = look->graph,
                                       .workflow = look->route.root,
                                       .execution = look->found.row.execution,
                                       .path = tr_text_of("")};
    struct tr_look_data own;
    if (!read_sides(look->job, &values, &own)) {
        return false;
    }
    *data = is_end ? (struct tr_look_data){.inputs = own.outputs, .inputs_blob = own.outputs_blob}
                   : (struct tr_look_data){.outputs = own.inputs, .outputs_blob = own.inputs_blob};
    return true;
}

/* What was taken over from an earlier execution is that one's. */
bool tr_look_data_read(struct tr_look *look, const char *word, struct tr_look_data *data)
{
    struct tr_look_node node;
    struct tr_desk_job *job = look->job;
    *data = (struct tr_look_data){.inputs = NULL};
    if (tr_look_is_sentinel(tr_text_of(word))) {
        return read_sentinel(look, tr_text_equal(tr_text_of(word), tr_text_of(TR_NODE_ID_END)),
                             data);
    }
    if (!tr_look_node_find(look, word, &node)) {
        return false;
    }
    struct tr_values_request values = {.reader = job->reader,
                                       .graph = node.stop.graph,
                                       .workflow = TR_GRAPH_NONE,
                                       .stop = &node.stop,
                                       .execution = look->found.row.execution,
                                       .path = node.path};
    int error = node.row.phase != TR_NODE_PHASE_RECOVERED
                    ? 0
                    : tr_reuse_origin(job->reader, values.execution, node.path, TR_ELEMENT_NONE,
                                      &values.execution);
    return !tr_desk_failed(job, error) && read_sides(job, &values, data);
}

Flyteidl__Admin__FlyteURLs *tr_look_data_urls(struct tr_look *look, const char *word)
{
    struct tr_desk_job *job = look->job;
    const struct tr_execution *row = &look->found.row;
    Flyteidl__Admin__FlyteURLs *urls =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__flyte_urls__descriptor);
    struct tr_text node =
        tr_arena_print(&job->arena, "flyte://v1/%.*s/%.*s/%.*s/%s", TRI_TEXT(row->project),
                       TRI_TEXT(row->domain), TRI_TEXT(row->name), word);
    if (urls != NULL && job->arena.error == 0) {
        urls->inputs = tr_view_text(job, tr_arena_print(&job->arena, "%.*s/i", TRI_TEXT(node)));
        urls->outputs = tr_view_text(job, tr_arena_print(&job->arena, "%.*s/o", TRI_TEXT(node)));
        urls->deck = tr_look_deck_url(look, word);
    }
    return urls;
}

bool tr_look_deck(struct tr_look *look, const char *word, uint32_t attempt, struct tr_text *path)
{
    struct tr_desk_job *job = look->job;
    struct tr_look_attempts attempts;
    if (!tr_look_element_attempts_read(look, word, attempt, &attempts) ||
        (attempts.count == 0 && !tr_look_attempts_read(look, word, attempt, &attempts))) {
        return false;
    }
    if (attempts.count == 0 || attempts.is_array) {
        tr_desk_fail(job, TR_API_NOT_FOUND, "the node '%.200s' has no attempt with a deck", word);
        return false;
    }
    *path = tr_arena_print(&job->arena, "%.*s/" TR_FLYTE_DECK,
                           TRI_TEXT(attempts.items[attempts.count - 1].folder));
    return !tr_desk_failed(job, job->arena.error);
}
