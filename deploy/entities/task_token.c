/*
 * The execution is that of the attempt's folder, which no definition can say otherwise.
 */
#include "deploy/entities/task_token.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

/* The execution of ATTEMPTS/PROJECT/DOMAIN/NAME/GENERATED; empty: it is no attempt's folder. */
static struct tr_text execution_of(const struct tr_task_tokens *tokens, struct tr_text folder)
{
    size_t size = strlen(tokens->attempts);
    if (folder.size <= size || memcmp(folder.data, tokens->attempts, size) != 0) {
        return (struct tr_text){.size = 0};
    }
    struct tr_text execution = {.data = folder.data + size, .size = folder.size - size};
    while (execution.size > 0 && execution.data[execution.size - 1] != '/') {
        execution.size--;
    }
    execution.size -= execution.size > 0 ? 1 : 0;
    return execution;
}

static void print_token(const struct tr_task_tokens *tokens, struct tr_text execution,
                        struct tr_buffer *text)
{
    const struct tr_api_clients clients = {.key = tokens->key};
    tr_api_execution_token_print(&clients, execution, text);
}

/*
 * flytekit runs a command for its token, and asks nobody else: with a client's id and secret it
 * would go to where GetOAuth2Metadata sends clients, which may be a provider that knows no task.
 */
static const struct {
    const char *name;
    const char *value; /* NULL: the token */
} variables[] = {
    {"FLYTE_CREDENTIALS_AUTH_MODE", "ExternalCommand"},
    {"FLYTE_CREDENTIALS_COMMAND", "printenv,TROUPE_TOKEN"},
    {"TROUPE_TOKEN", NULL},
};

static bool find_variable(const void *self, struct tr_text folder, struct tr_text name,
                          char value[TR_VARIABLE_BYTES])
{
    const struct tr_task_tokens *tokens = self;
    struct tr_text execution = execution_of(tokens, folder);
    size_t at = 0;
    struct tr_buffer text;
    while (at < TR_COUNT_OF(variables) && !tr_text_equal(name, tr_text_of(variables[at].name))) {
        at++;
    }
    if (execution.size == 0 || at == TR_COUNT_OF(variables)) {
        return false;
    }
    tr_buffer_init(&text, 0);
    if (variables[at].value != NULL) {
        tr_buffer_add_string(&text, variables[at].value);
    } else {
        print_token(tokens, execution, &text);
    }
    bool is_made = text.error == 0 && text.size < TR_VARIABLE_BYTES;
    if (is_made) {
        (void)snprintf(value, TR_VARIABLE_BYTES, "%.*s", (int)text.size, (const char *)text.data);
    }
    tr_buffer_fini(&text);
    return is_made;
}

int tr_task_tokens_init(struct tr_task_tokens *tokens, const char *folder)
{
    int size = snprintf(tokens->attempts, sizeof tokens->attempts, "%s/attempts/", folder);
    bool fits = size > 0 && (size_t)size < sizeof tokens->attempts;
    return fits ? tr_signing_key_read(folder, tokens->key) : TR_LIMIT;
}

struct tr_variable_maker tr_task_tokens_maker(const struct tr_task_tokens *tokens)
{
    return (struct tr_variable_maker){.find = find_variable, .self = tokens};
}
