/*
 * The token of an identity (struct tr_identity of runtime/exchange.h): a constant, a file that is
 * read again each minute, or what a command prints, which runs once until that has expired. It is
 * found here and goes into a header, and nowhere else. One thread.
 */
#ifndef TR_RUNTIME_SECRET_TOKEN_H
#define TR_RUNTIME_SECRET_TOKEN_H

#include "runtime/env/buffer.h"
#include "runtime/exchange.h"

/* Tokens that were found; NULL: none yet. */
struct tri_tokens;

/*
 * Appends the identity's token to `value`. Blocks while a command runs. Errors, with words that
 * name the file or command in `reason` (TR_REASON_BYTES_MAX), and never the token: TR_NOT_FOUND,
 * TR_TIMEOUT, TR_INVALID (nonsense), TR_LIMIT, TR_SYSTEM, TR_MEMORY.
 */
TR_MUST_USE int tri_tokens_find(struct tri_tokens **tokens, const struct tr_identity *identity,
                                struct tri_buffer *value, char *reason);

/* Drops those that were found before this time on the monotonic clock. */
void tri_tokens_forget(struct tri_tokens *tokens, uint64_t before_ms);

/* Overwrites and frees them. NULL is fine. */
void tri_tokens_free(struct tri_tokens *tokens);

#endif
