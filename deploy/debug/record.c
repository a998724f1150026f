/*
 * Recordings as the live engine sends them, and `troupe tap --record`, which writes one to a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/cli/store.h"
#include "deploy/common/clock.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/debug/replay.h"
#include "schemas/runtime/request.h"

/* An engine that says nothing for so long has given up on us; else it speaks each second. */
#define SILENCE_MS 15000

/* Reads "NAME=NUMBER"; whether it is that. */
static bool read_bound(const char *word, const char *name, uint64_t *number)
{
    size_t size = strlen(name);
    if (strncmp(word, name, size) != 0 || word[size] != '=') {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(word + size + 1, &end, 10);
    if (errno != 0 || *end != '\0' || word[size + 1] < '0' || word[size + 1] > '9' || value == 0) {
        return false;
    }
    *number = value;
    return true;
}

enum tr_exit_status tr_record_words(const struct tr_invocation *invocation,
                                    struct tr_open_recording *open)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    uint64_t seconds = 0;
    if (arguments->word_count == 0) {
        return tr_command_mistake(invocation->command, "a recording needs the address of an actor; "
                                                       "`troupe actors` shows them");
    }
    open->address = tr_text_of(arguments->words[0]);
    for (size_t i = 1; i < arguments->word_count; i++) {
        const char *word = arguments->words[i];
        if (!read_bound(word, "limit", &open->limit) && !read_bound(word, "seconds", &seconds)) {
            return tr_command_mistake(invocation->command,
                                      "'%s': a recording takes limit=N and seconds=N alone, "
                                      "with N from 1 on",
                                      word);
        }
    }
    if (open->limit > TR_RECORDING_MESSAGES_MAX || seconds > TR_TAP_SECONDS_MAX) {
        return tr_command_mistake(invocation->command, "at most limit=%llu and seconds=%d",
                                  TR_RECORDING_MESSAGES_MAX, TR_TAP_SECONDS_MAX);
    }
    open->seconds = (uint32_t)seconds;
    return TR_EXIT_DONE;
}

/* The next answer to a request, while the engine goes on speaking. */
static int next_answer(struct tri_client *client, uint32_t number, struct tri_request *answer)
{
    uint64_t end_ms = tr_clock_ms() + SILENCE_MS;
    int error = TR_TIMEOUT;
    while (error == TR_TIMEOUT && tr_clock_ms() < end_ms) {
        error = tri_client_next(client, -1, SILENCE_MS, answer);
        if (error == 0 && answer->number != number) {
            error = TR_TIMEOUT;
        }
    }
    return error;
}

/* What the engine says at the end, or instead of a recording. */
static enum tr_exit_status conclude(const struct tr_invocation *invocation, const char *address,
                                    const struct tri_request *answer)
{
    struct tr_answered answered;
    int error = tr_answered_unpack(answer->body, answer->version, &answered);
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    if (answered.error == TR_NOT_FOUND) {
        tr_console_note_error(TR_NOT_FOUND);
        return tr_command_refused(invocation->command,
                                  "there is no actor %s, or it is just moving; "
                                  "`troupe actors` shows all",
                                  address);
    }
    if (answered.error != 0) {
        return tr_command_failed(invocation->command, "%.*s", (int)answered.message.size,
                                 answered.message.data);
    }
    tr_command_note(invocation, "recorded %.*s", (int)answered.message.size, answered.message.data);
    return TR_EXIT_DONE;
}

static int hand_on(const struct tri_request *answer, tr_record_taker *take, void *self)
{
    struct tr_recording_row row;
    int error = tr_recording_row_unpack(answer->body, answer->version, &row);
    return error == 0 ? take(self, row.bytes) : error;
}

static enum tr_exit_status record(const struct tr_invocation *invocation, struct tri_client *client,
                                  const struct tr_open_recording *open, tr_record_taker *take,
                                  void *self)
{
    struct tri_request answer;
    uint32_t number;
    int error = tri_client_ask(client, &tr_open_recording_schema, open, &number);
    while (error == 0) {
        error = next_answer(client, number, &answer);
        if (error == 0 && answer.type != tr_recording_row_schema.id) {
            return conclude(invocation, open->address.data, &answer);
        }
        if (error == 0) {
            error = hand_on(&answer, take, self);
        }
    }
    return error == TR_CLOSED
               ? TR_EXIT_DONE
               : tr_command_failed(invocation->command, "the engine has gone; it sent no more");
}

enum tr_exit_status tr_record_ask(const struct tr_invocation *invocation,
                                  const struct tr_open_recording *open, tr_record_taker *take,
                                  void *self)
{
    struct tr_store_place store;
    struct tri_client *client = NULL;
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, store.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = record(invocation, client, open, take, self);
    }
    tri_client_close(client);
    return status;
}

/* ------------------------------------------------------------------------- the file */

#define CANNOT_BE_WRITTEN "the recording cannot be written: %s"

struct file {
    const struct tr_invocation *invocation;
    const char *path;
    FILE *stream;
    enum tr_exit_status status; /* of what went wrong here */
};

/* A new file, for its owner alone: there may be secrets in it. */
static FILE *open_file(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (file == NULL && descriptor >= 0) {
        close(descriptor);
    }
    return file;
}

/* The file comes into being with its first bytes. */
static int write_bytes(void *self, struct tr_bytes bytes)
{
    struct file *file = self;
    const struct tr_command *command = file->invocation->command;
    if (bytes.size == 0) {
        return 0;
    }
    file->stream = file->stream == NULL ? open_file(file->path) : file->stream;
    if (file->stream == NULL) {
        file->status =
            tr_command_refused(command, "%s cannot be written: %s", file->path, strerror(errno));
        return TR_CLOSED;
    }
    bool is_written = fwrite(bytes.data, 1, bytes.size, file->stream) == bytes.size;
    if (!is_written || fflush(file->stream) != 0) {
        file->status = tr_command_failed(command, CANNOT_BE_WRITTEN, strerror(errno));
        return TR_CLOSED;
    }
    return 0;
}

enum tr_exit_status tr_record_file(const struct tr_invocation *invocation, const char *path)
{
    struct tr_open_recording wanted = {.limit = 0};
    struct file file = {.invocation = invocation, .path = path};
    enum tr_exit_status status = tr_record_words(invocation, &wanted);
    wanted.has_secrets = tr_arguments_has(&invocation->arguments, "with-secrets");
    if (status == TR_EXIT_DONE) {
        status = tr_record_ask(invocation, &wanted, write_bytes, &file);
    }
    if (file.stream != NULL && fclose(file.stream) != 0 && file.status == TR_EXIT_DONE) {
        file.status = tr_command_failed(invocation->command, CANNOT_BE_WRITTEN, strerror(errno));
    }
    return file.status != TR_EXIT_DONE ? file.status : status;
}
