/*
 * Nodes that wait for what is outside of their execution: gates, sleeps, and launch plans.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/flow_random_inside.h"

const struct flow_random_gate flow_random_gates[FLOW_RANDOM_GATES] = {
    {"ok0", NULL}, {"ok1", NULL}, {"ok2", NULL}, {"s0", "int"}, {"s1", "string"}, {"s2", "[int]"},
};

/* ------------------------------------------------------------------------------------- gates */

/* What is shown to whoever decides, and passed on. */
static void write_shown(struct generator *g, struct interface *outputs)
{
    outputs->count = below(g, 3);
    if (outputs->count == 0) {
        return;
    }
    tr_buffer_add_string(g->text, ", with: {");
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct variable *output = &outputs->items[i];
        const char *type = flow_type_drawn(g);
        (void)snprintf(output->name, sizeof output->name, "o%u", i);
        memcpy(output->type, type, strlen(type) + 1);
        tr_buffer_print(g->text, "%s%s: {value: ", i > 0 ? ", " : "", output->name);
        flow_write_value(g, type);
        tr_buffer_print(g->text, ", type: \"%s\"}", type);
    }
    tr_buffer_add_string(g->text, "}");
}

void flow_write_gate(struct generator *g, struct interface *outputs)
{
    uint32_t choice = below(g, FLOW_RANDOM_GATES + 3);
    *outputs = (struct interface){0};
    if (choice >= FLOW_RANDOM_GATES) {
        tr_buffer_print(g->text, "sleep: %ums", 1 + below(g, 60));
        return;
    }
    const struct flow_random_gate *gate = &flow_random_gates[choice];
    g->has_gates = true;
    if (gate->type == NULL) {
        tr_buffer_print(g->text, "approve: %s", gate->id);
        write_shown(g, outputs);
        return;
    }
    tr_buffer_print(g->text, "signal: %s, type: \"%s\"", gate->id, gate->type);
    outputs->count = 1;
    outputs->items[0] = (struct variable){.name = "value"};
    memcpy(outputs->items[0].type, gate->type, strlen(gate->type) + 1);
}

/* ------------------------------------------------------------------------------------ labels */

const char *const flow_random_label_keys[FLOW_RANDOM_LABELS] = {"origin", "team", "tier"};

void flow_write_labels(struct generator *g, const char *head)
{
    const char *separator = "";
    if (!g->options->has_labels || !once_in(g, 2)) {
        return;
    }
    tr_buffer_print(g->text, "%s: {", head);
    for (uint32_t i = 0; i < FLOW_RANDOM_LABELS; i++) {
        if (once_in(g, 2)) {
            tr_buffer_print(g->text, "%s%s: v%u", separator, flow_random_label_keys[i],
                            below(g, 3));
            separator = ", ";
        }
    }
    tr_buffer_add_string(g->text, "}");
}

/* ------------------------------------------------------------------------------------- plans */

void flow_plan_draw(struct generator *g, struct callee *callee)
{
    for (uint32_t i = 0; i < callee->inputs.count; i++) {
        uint32_t choice = below(g, 4);
        callee->fixed |= choice == 0 ? 1U << i : 0;
        callee->defaults |= choice == 1 ? 1U << i : 0;
    }
}

static void write_given(struct generator *g, const char *key, const struct callee *callee,
                        uint32_t bits)
{
    const char *separator = "";
    tr_buffer_print(g->text, ", %s: {", key);
    for (uint32_t i = 0; i < callee->inputs.count; i++) {
        if ((bits >> i & 1) != 0) {
            tr_buffer_print(g->text, "%s%s: ", separator, callee->inputs.items[i].name);
            flow_write_literal(g, callee->inputs.items[i].type);
            separator = ", ";
        }
    }
    tr_buffer_add_string(g->text, "}");
}

void flow_write_plans(struct generator *g)
{
    const char *head = "launch_plans:\n";
    for (uint32_t i = 0; i < g->callee_count; i++) {
        const struct callee *callee = &g->callees[i];
        if (callee->is_launched) {
            tr_buffer_print(g->text, "%s  p_%s: {workflow: %s", head, callee->name, callee->name);
            write_given(g, "inputs", callee, callee->defaults);
            write_given(g, "fixed", callee, callee->fixed);
            flow_write_labels(g, ", labels");
            tr_buffer_add_string(g->text, "}\n");
            head = "";
        }
    }
}
