/*
 * Tokens of tasks that call back, as eager ones do: one is of the task's execution, in variables
 * that Flyte's SDKs read.
 */
#ifndef TR_DEPLOY_ENTITIES_TASK_TOKEN_H
#define TR_DEPLOY_ENTITIES_TASK_TOKEN_H

#include <limits.h>

#include "deploy/api/clients.h"
#include "deploy/data_proxy/signing_key.h"
#include "runtime/troupe.h"

struct tr_task_tokens {
    uint8_t key[TR_SIGNED_KEY_BYTES];
    char attempts[PATH_MAX]; /* the folder of attempts, with a slash behind */
};

_Static_assert(TR_SIGNED_KEY_BYTES == TR_API_TOKEN_KEY_BYTES, "one key signs both");

/* Reads the key of a store. Errors of its file (tr_signing_key_read); TR_LIMIT. */
TR_MUST_USE int tr_task_tokens_init(struct tr_task_tokens *tokens, const char *folder);

/* What makes the variables of attempts; the tokens outlive it. */
struct tr_variable_maker tr_task_tokens_maker(const struct tr_task_tokens *tokens);

#endif
