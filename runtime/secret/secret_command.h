/*
 * A command that prints a secret. It runs without a shell, with the engine's environment, an empty
 * stdin and its stderr discarded, in a process group of its own, which is killed at the end.
 * Blocks; any thread, but not two at once with one buffer.
 */
#ifndef TR_RUNTIME_SECRET_SECRET_COMMAND_H
#define TR_RUNTIME_SECRET_SECRET_COMMAND_H

#include "runtime/env/buffer.h"

/* Bytes of the words about a failed command. */
#define TRI_SECRET_WORDS_BYTES 160

/*
 * Runs a command, argv NULL-terminated, with one more argument, and appends its output to `value`.
 * Errors, with words about the command in `words`: TR_NOT_FOUND (a nonzero status), TR_TIMEOUT
 * (TR_SECRET_COMMAND_MS), TR_LIMIT (TR_SECRET_BYTES_MAX), TR_SYSTEM (it cannot run), TR_MEMORY.
 * Output so far is in the buffer then, and the caller must wipe it.
 */
TR_MUST_USE int tri_secret_command(const char *const *argv, const char *word,
                                   struct tri_buffer *value, char *words);

/* The same without another argument; `environment` is added to ours, NULL-terminated, or NULL. */
TR_MUST_USE int tri_secret_command_in(const char *const *argv, const char *const *environment,
                                      struct tri_buffer *value, char *words);

#endif
