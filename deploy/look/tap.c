/*
 * `troupe tap`: messages of the live engine as they pass, a line each. (record.c and replay.c have
 * the recordings of one actor.)
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/connect.h"
#include "deploy/cli/store.h"
#include "deploy/look/replay.h"
#include "runtime/memory.h"
#include "schemas/runtime/process.h"
#include "schemas/runtime/request.h"

/* What a tap shows where nobody says it: it must have a bound. */
#define LIMIT_WORD "limit=1000"

#define WORDS_BYTES_MAX 65536

static int take_line(void *self, const struct tri_request *request)
{
    FILE *stream = self;
    struct tr_tap_row row;
    int error = tr_tap_row_unpack(request->body, request->version, &row);
    if (error != 0) {
        return error;
    }
    if (row.line.size > 0) {
        fprintf(stream, "%.*s\n", (int)row.line.size, row.line.data);
    }
    /* A reader that has gone ends it quietly; a full disk is seen at the end. */
    return fflush(stream) != 0 ? TR_CLOSED : 0;
}

/* The words of the filter: those of all --filter, and behind the command. */
static const char **words_of(const struct tr_arguments *arguments)
{
    const char **words =
        tr_alloc_zero(arguments->given_count + arguments->word_count + 2, sizeof *words);
    size_t count = 0;
    bool has_limit = false;
    for (size_t i = 0; words != NULL && i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "filter") == 0) {
            words[count++] = arguments->given[i].value;
        }
    }
    for (size_t i = 0; words != NULL && i < arguments->word_count; i++) {
        words[count++] = arguments->words[i];
    }
    for (size_t i = 0; i < count; i++) {
        has_limit = has_limit || strncmp(words[i], "limit=", 6) == 0;
    }
    if (words != NULL && !has_limit) {
        words[count] = LIMIT_WORD;
    }
    return words;
}

static enum tr_exit_status show(const struct tr_invocation *invocation, struct tri_client *client,
                                struct tr_bytes words)
{
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    struct tr_open_tap open = {.filter = words, .is_json = invocation->output == TR_OUTPUT_JSON};
    int error = tr_client_call(client, &tr_open_tap_schema, &open, &tr_answered_schema, 0,
                               take_line, stdout, &answer);
    if (error == TR_CLOSED || error == TR_TIMEOUT) {
        return TR_EXIT_DONE;
    }
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    if (answered.error != 0) {
        return tr_command_mistake(invocation->command, "%.*s", (int)answered.message.size,
                                  answered.message.data);
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status tap(const struct tr_invocation *invocation, struct tri_client *client)
{
    uint8_t *buffer = tr_alloc(WORDS_BYTES_MAX);
    const char **words = words_of(&invocation->arguments);
    enum tr_exit_status status = TR_EXIT_ENGINE;
    if (buffer != NULL && words != NULL) {
        struct tr_writer writer = tr_writer_of(buffer, WORDS_BYTES_MAX);
        int error = tr_process_strings_pack(words, &writer);
        struct tr_bytes packed = {.data = buffer, .size = tr_writer_size(&writer)};
        status = error != 0 ? tr_command_mistake(invocation->command, "the filter is too long")
                            : show(invocation, client, packed);
    }
    tr_free(buffer);
    tr_free(words);
    return status;
}

static enum tr_exit_status show_live(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tri_client *client = NULL;
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, store.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = tap(invocation, client);
    }
    tri_client_close(client);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    const char *recorded = tr_arguments_value(arguments, "record");
    const char *replayed = tr_arguments_value(arguments, "replay");
    if ((recorded != NULL || replayed != NULL) && tr_arguments_has(arguments, "filter")) {
        return tr_command_mistake(invocation->command, "a recording has all messages of one actor: "
                                                       "--filter is for what is shown");
    }
    if (recorded != NULL && replayed != NULL) {
        return tr_command_mistake(invocation->command, "--record and --replay at once");
    }
    if (tr_arguments_has(arguments, "with-secrets") && recorded == NULL) {
        return tr_command_mistake(invocation->command, "--with-secrets is for --record");
    }
    if (replayed != NULL && arguments->word_count > 1) {
        return tr_command_mistake(invocation->command, "--replay FILE takes one actor");
    }
    if (replayed != NULL) {
        const char *address = arguments->word_count == 0 ? NULL : arguments->words[0];
        return tr_replay(invocation, replayed, address);
    }
    return recorded != NULL ? tr_record_file(invocation, recorded) : show_live(invocation);
}

static const struct tr_option options[] = {
    {0, "filter", "WORD", "what is shown: point=, type=, address=, limit=, ...", NULL, 0, true},
    {0, "record", "FILE", "record one actor into a new file", NULL, TR_COMPLETES_FILES, false},
    {0, "with-secrets", NULL, "record redacted fields too: a replay needs them", NULL, 0, false},
    {0, "replay", "FILE", "show what a recorded actor does", NULL, TR_COMPLETES_FILES, false},
    {0},
};

const struct tr_command tr_command_tap = {
    .name = "tap",
    .summary = "watch messages of the live engine; record and replay one actor",
    .words = "[FILTER... | ACTOR]",
    .text = "A filter is words: point=handled,failed type=node_ended "
            "address=/default/development/**\nsample=100 limit=1000 rate=50 payload=256 "
            "seconds=60. It ends at its limit, 1000 events\nunless it is given. What is not on the "
            "disk yet is marked.\n\n"
            "--record FILE ACTOR [limit=N] [seconds=N] writes down what the actor is, and each "
            "message it\nhandles. --replay FILE [ACTOR] gives them to it again in a sandbox that "
            "nothing leaves, and\nshows what it does: state, messages, spawns, timers, records.",
    .examples = "  troupe tap type=node_ended payload=200\n"
                "  troupe tap point=failed limit=10 -o json\n"
                "  troupe tap --record it.rec --with-secrets /default/development/it\n"
                "  troupe tap --replay it.rec",
    .options = options,
    .outputs = "text|json",
    .has_store = true,
    .words_max = 32,
    .run = run,
};
