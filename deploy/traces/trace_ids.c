/*
 * The first bytes of a digest over all that a thing is called by, each part with a zero behind it.
 */
#include "deploy/traces/trace_ids.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

#define TRACE_BYTES 16
#define SPAN_BYTES 8

/* What it is an id of stands in front, so that a node's is never that of an execution. */
static void print_id(const char *kind, uint64_t store, struct tr_text name, struct tr_text path,
                     size_t bytes, char *id)
{
    crypto_generichash_state state;
    uint8_t digest[crypto_generichash_BYTES_MIN];
    (void)crypto_generichash_init(&state, NULL, 0, sizeof digest);
    (void)crypto_generichash_update(&state, (const uint8_t *)kind, strlen(kind) + 1);
    (void)crypto_generichash_update(&state, (const uint8_t *)&store, sizeof store);
    (void)crypto_generichash_update(&state, (const uint8_t *)name.data, name.size);
    (void)crypto_generichash_update(&state, (const uint8_t *)"", 1);
    (void)crypto_generichash_update(&state, (const uint8_t *)path.data, path.size);
    (void)crypto_generichash_final(&state, digest, sizeof digest);
    digest[0] |= 1; /* all zeros are no id */
    (void)sodium_bin2hex(id, 2 * bytes + 1, digest, bytes);
}

void tr_trace_id(uint64_t store, struct tr_text execution, char id[TR_TRACE_ID_BYTES])
{
    print_id("trace", store, execution, tr_text_of(""), TRACE_BYTES, id);
}

void tr_span_id_of_execution(uint64_t store, struct tr_text execution, char id[TR_SPAN_ID_BYTES])
{
    print_id("execution", store, execution, tr_text_of(""), SPAN_BYTES, id);
}

void tr_span_id_of_node(uint64_t store, struct tr_text execution, struct tr_text path,
                        char id[TR_SPAN_ID_BYTES])
{
    print_id("node", store, execution, path, SPAN_BYTES, id);
}

void tr_span_id_of_attempt(uint64_t store, struct tr_text generated_name, char id[TR_SPAN_ID_BYTES])
{
    print_id("attempt", store, generated_name, tr_text_of(""), SPAN_BYTES, id);
}

/* ---------------------------------------------------------------------- of a task */

/* Takes EXECUTION/NAME behind the store's attempts apart; false: that is no attempt's folder. */
static bool split_folder(const struct tr_trace_variables *variables, struct tr_text folder,
                         struct tr_text *execution, struct tr_text *name)
{
    size_t size = strlen(variables->attempts);
    if (folder.size <= size || memcmp(folder.data, variables->attempts, size) != 0) {
        return false;
    }
    *execution = (struct tr_text){.data = folder.data + size, .size = folder.size - size};
    const char *slash = memrchr(execution->data, '/', execution->size);
    if (slash == NULL) {
        return false;
    }
    const char *end = execution->data + execution->size;
    *name = (struct tr_text){.data = slash + 1, .size = (size_t)(end - slash - 1)};
    execution->size = (size_t)(slash - execution->data);
    return name->size > 0;
}

static bool find(const void *self, struct tr_text folder, struct tr_text name,
                 char value[TR_VARIABLE_BYTES])
{
    const struct tr_trace_variables *variables = self;
    const struct tr_variable_maker *otherwise = &variables->otherwise;
    uint64_t store = atomic_load(&variables->store);
    char trace[TR_TRACE_ID_BYTES];
    char span[TR_SPAN_ID_BYTES];
    struct tr_text execution;
    struct tr_text attempt;
    if (!tr_text_equal(name, tr_text_of("TRACEPARENT"))) {
        return otherwise->find != NULL && otherwise->find(otherwise->self, folder, name, value);
    }
    if (store == 0 || !split_folder(variables, folder, &execution, &attempt)) {
        return false;
    }
    tr_trace_id(store, execution, trace);
    tr_span_id_of_attempt(store, attempt, span);
    (void)snprintf(value, TR_VARIABLE_BYTES, "00-%s-%s-01", trace, span);
    return true;
}

int tr_trace_variables_init(struct tr_trace_variables *variables, const char *folder,
                            const struct tr_variable_maker *otherwise)
{
    int size = snprintf(variables->attempts, sizeof variables->attempts, "%s/attempts/", folder);
    atomic_init(&variables->store, 0);
    variables->otherwise = *otherwise;
    return size > 0 && (size_t)size < sizeof variables->attempts ? 0 : TR_LIMIT;
}

struct tr_variable_maker tr_trace_variables_maker(const struct tr_trace_variables *variables)
{
    return (struct tr_variable_maker){.find = find, .self = variables};
}
