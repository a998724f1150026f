/*
 * A command that prints a secret. It runs without a shell, with the engine's environment, an empty
 * stdin and nothing of its stderr kept, in a process group of its own, which is killed when it is
 * over. Blocks; any thread, no two at once for one buffer.
 */
#ifndef TR_RUNTIME_SECRET_SECRET_COMMAND_H
#define TR_RUNTIME_SECRET_SECRET_COMMAND_H

#include "runtime/env/buffer.h"

/* Bytes for what is said of a command that gave nothing. */
#define TRI_SECRET_WORDS_BYTES 160

/*
 * Runs a command, argv ended by NULL, with one word more, and puts what it prints behind what is in
 * `value`. Errors, with words about the command in `words`: TR_NOT_FOUND (another status than 0),
 * TR_TIMEOUT (TR_SECRET_COMMAND_MS), TR_LIMIT (TR_SECRET_BYTES_MAX), TR_SYSTEM (it cannot run),
 * TR_MEMORY. What was printed until then is in the buffer, and the caller's to wipe.
 */
TR_MUST_USE int tri_secret_command(const char *const *argv, const char *word,
                                   struct tri_buffer *value, char *words);

#endif
