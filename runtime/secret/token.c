/*
 * The tokens of identities, one entry for each, with the time until which it is used. A failure is
 * kept for a moment, too, so that a thousand requests do not run a broken command each.
 */
#include "runtime/secret/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"
#include "runtime/secret/secret_command.h"
#include "runtime/secret/secret_limits.h"
#include "schemas/codec/error.h"

/* What expires so soon is asked for anew. */
#define EARLY_MS 30000

struct tri_tokens {
    struct tri_tokens *next;
    const struct tr_identity *identity;
    struct tri_buffer value; /* both at full size, since a growing one leaves copies behind */
    struct tri_buffer printed;
    uint64_t begin_ms; /* monotonic; so is the next; 0: there is none */
    uint64_t end_ms;
    int error;
    char words[TRI_SECRET_WORDS_BYTES + 64];
};

static int say(struct tri_tokens *token, int error, const char *words)
{
    snprintf(token->words, sizeof token->words, "%s", words);
    return error;
}

/* ---- Files. --------------------------------------------------------------------------------- */

static int read_file(struct tri_tokens *token)
{
    int fd = open(token->identity->token_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = -1;
    if (fd >= 0) {
        do {
            size = read(fd, token->value.data, TR_SECRET_BYTES_MAX + 1);
        } while (size < 0 && errno == EINTR);
        int number = errno;
        close(fd);
        errno = number;
    }
    if (size < 0) {
        return say(token, TR_SYSTEM, strerror(errno));
    }
    if (size > TR_SECRET_BYTES_MAX) {
        return say(token, TR_LIMIT, "the file is too large");
    }
    token->value.end = (size_t)size;
    return 0;
}

/* ---- Commands. ------------------------------------------------------------------------------ */

/* What it prints has the token in it, and is forgotten when that is taken out. */
static int run_command(struct tri_tokens *token, uint64_t *expires_ms)
{
    const struct tr_identity *identity = token->identity;
    struct tr_credential credential = {.problem = ""};
    int error = tri_secret_command_in(identity->command, identity->environment, &token->printed,
                                      token->words);
    if (error == 0) {
        error = identity->read((struct tr_bytes){.data = tri_buffer_front(&token->printed),
                                                 .size = tri_buffer_size(&token->printed)},
                               &credential);
        error = say(token, error, credential.problem);
    }
    if (error == 0) {
        *expires_ms = credential.expires_ms;
        error = tri_buffer_append(&token->value, credential.token.data, credential.token.size);
    }
    tri_secret_wipe(&token->printed);
    return error;
}

/* ---- Finding. ------------------------------------------------------------------------------- */

/* One that has expired when it is printed is used for as long as a failure is kept. */
static uint64_t span_ms_of(const struct tri_tokens *token, uint64_t expires_ms)
{
    uint64_t now_ms = tri_wall_ms();
    bool is_early = expires_ms > now_ms + EARLY_MS;
    if (token->error != 0 || (expires_ms != 0 && !is_early)) {
        return TR_TOKEN_FAILED_MS;
    }
    if (token->identity->command != NULL) {
        return expires_ms == 0 ? TR_TOKEN_LASTING_MS : expires_ms - now_ms - EARLY_MS;
    }
    return TR_TOKEN_FILE_MS;
}

static void find_anew(struct tri_tokens *token)
{
    uint64_t expires_ms = 0;
    token->words[0] = '\0';
    tri_secret_wipe(&token->value);
    if (token->identity->command != NULL) {
        token->error = run_command(token, &expires_ms);
    } else if (token->identity->token_file != NULL) {
        token->error = read_file(token);
    } else {
        token->error = tri_buffer_append(&token->value, token->identity->token,
                                         strlen(token->identity->token));
    }
    token->begin_ms = tri_monotonic_ms();
    token->end_ms = token->begin_ms + span_ms_of(token, expires_ms);
    if (token->error != 0) {
        tri_secret_wipe(&token->value);
    }
}

static struct tri_tokens *entry_of(struct tri_tokens **tokens, const struct tr_identity *identity)
{
    for (struct tri_tokens *token = *tokens; token != NULL; token = token->next) {
        if (token->identity == identity) {
            return token;
        }
    }
    struct tri_tokens *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    if (tri_buffer_reserve(&made->value, 2 * TR_SECRET_BYTES_MAX) != 0 ||
        tri_buffer_reserve(&made->printed, 2 * TR_SECRET_BYTES_MAX) != 0) {
        tri_tokens_free(made);
        return NULL;
    }
    made->identity = identity;
    made->next = *tokens;
    *tokens = made;
    return made;
}

int tri_tokens_find(struct tri_tokens **tokens, const struct tr_identity *identity,
                    struct tri_buffer *value, char *reason)
{
    struct tri_tokens *token = entry_of(tokens, identity);
    if (token == NULL) {
        snprintf(reason, TR_REASON_BYTES_MAX, "%s", tr_error_text(TR_MEMORY));
        return TR_MEMORY;
    }
    if (token->end_ms <= tri_monotonic_ms()) {
        find_anew(token);
    }
    if (token->error == 0) {
        return tri_buffer_append(value, tri_buffer_front(&token->value),
                                 tri_buffer_size(&token->value));
    }
    const char *words = token->words[0] != '\0' ? token->words : tr_error_text(token->error);
    const char *source = identity->command != NULL      ? identity->command[0]
                         : identity->token_file != NULL ? identity->token_file
                                                        : "";
    const char *slash = strrchr(source, '/');
    snprintf(reason, TR_REASON_BYTES_MAX, "the token of %.60s: %.200s",
             slash == NULL ? source : slash + 1, words);
    return token->error;
}

void tri_tokens_forget(struct tri_tokens *tokens, uint64_t before_ms)
{
    for (struct tri_tokens *token = tokens; token != NULL; token = token->next) {
        token->end_ms = token->begin_ms < before_ms && token->error == 0 ? 0 : token->end_ms;
    }
}

void tri_tokens_free(struct tri_tokens *tokens)
{
    while (tokens != NULL) {
        struct tri_tokens *next = tokens->next;
        tri_secret_wipe(&tokens->value);
        tri_buffer_fini(&tokens->value);
        tri_buffer_fini(&tokens->printed);
        tr_free(tokens);
        tokens = next;
    }
}
