/*
 * The compiled graph as people read it: a workflow, its nodes in the order in which they may run,
 * and below each what its inputs are bound to. Long bindings are cut, as values are elsewhere.
 */
#include "deploy/look/check_graph.h"

#include "deploy/common/show.h"
#include "deploy/graphs/route.h"

/* How much of what an input is bound to is shown. */
#define BINDING_COLUMNS 160

/* What a switch asks for has no name that anybody gave. */
static int print_input(const struct tr_workflow *workflow, const struct tr_node *node,
                       const struct tr_binding *binding, FILE *stream)
{
    struct tr_text fail = tr_text_of("fail");
    bool has_name = node->kind != TR_NODE_BRANCH || tr_text_equal(binding->key, fail);
    struct tr_text name = has_name ? binding->key : tr_text_of("");

    struct tr_buffer text;
    struct tr_buffer line;
    tr_buffer_init(&text, 0);
    tr_buffer_init(&line, 0);
    tr_binding_print(workflow, binding, &text);
    tr_line_print(tr_buffer_text(&text), BINDING_COLUMNS, &line);
    int error = text.error != 0 ? text.error : line.error;
    if (error == 0) {
        fprintf(stream, "    %.*s%s%.*s%s\n", (int)name.size, name.data, has_name ? ": " : "",
                (int)line.size, (const char *)line.data,
                binding->is_mapped ? ", one element each" : "");
    }
    tr_buffer_fini(&line);
    tr_buffer_fini(&text);
    return error;
}

static void print_head(const struct tr_stop *stop, FILE *stream)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    struct tr_text target = tr_stop_target(stop);
    if (node->kind == TR_NODE_END) {
        fputs("  outputs\n", stream);
        return;
    }
    fprintf(stream, "  %.*s: %s%s%.*s\n", (int)node->id.size, node->id.data, tr_stop_kind(stop),
            target.size > 0 ? " " : "", (int)target.size, target.data);
}

static void print_codes(const char *key, const struct tr_text *codes, uint32_t count, FILE *stream)
{
    for (uint32_t i = 0; i < count; i++) {
        fprintf(stream, "%s%s%.*s", i == 0 ? key : ", ", i == 0 ? ": " : "", (int)codes[i].size,
                codes[i].data);
    }
}

/* Which failures of what it runs are tried again. */
static void print_retries(const struct tr_settings *settings, FILE *stream)
{
    if (settings == NULL || settings->retries == 0) {
        return;
    }
    fprintf(stream, "    retries: %u", settings->retries);
    print_codes(", retry_on", settings->retry_on, settings->retry_on_count, stream);
    print_codes(", never_retry_on", settings->never_retry_on, settings->never_retry_on_count,
                stream);
    fputc('\n', stream);
}

static int print_node(const struct tr_graph *graph, const struct tr_workflow *workflow,
                      uint32_t index, FILE *stream)
{
    const struct tr_stop stop = {.graph = graph, .workflow = workflow, .node = index};
    const struct tr_node *node = &workflow->nodes[index];
    int error = 0;
    if (node->kind == TR_NODE_START || (node->kind == TR_NODE_END && node->input_count == 0)) {
        return 0;
    }
    print_head(&stop, stream);
    print_retries(node->settings, stream);
    for (uint32_t i = 0; error == 0 && i < node->input_count; i++) {
        error = print_input(workflow, node, &workflow->bindings[node->input_first + i], stream);
    }
    return error;
}

static int print_workflow(const struct tr_graph *graph, const struct tr_workflow *workflow,
                          FILE *stream)
{
    const uint32_t handlers[] = {workflow->on_failure, workflow->finally};
    int error = 0;
    fprintf(stream, "workflow %.*s\n", (int)workflow->name.size, workflow->name.data);
    for (uint32_t i = 0; error == 0 && i < workflow->order_count; i++) {
        error = print_node(graph, workflow, workflow->order[i], stream);
    }
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(handlers); i++) {
        error = handlers[i] == TR_GRAPH_NONE ? 0 : print_node(graph, workflow, handlers[i], stream);
    }
    return error;
}

int tr_check_graph_print(const struct tr_graph *graph, FILE *stream)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < graph->workflow_count; i++) {
        error = print_workflow(graph, &graph->workflows[i], stream);
    }
    return error;
}
