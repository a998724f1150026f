/*
 * `troupe tap`: what happens in the live engine, a line each: how executions, nodes and elements
 * go on, or with -v and in JSON the messages themselves. (record.c and replay.c have the recordings
 * of one actor.)
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/debug/replay.h"
#include "deploy/server/tap_words.h"
#include "runtime/memory.h"
#include "schemas/runtime/process.h"
#include "schemas/runtime/request.h"

/* What a tap shows where nobody says it: it must have a bound. */
#define LIMIT_WORD "limit=1000"

#define WORDS_BYTES_MAX 65536

/* The filter's word for a node and its elements: two patterns of its path. */
#define ADDRESS_WORD_BYTES (2 * TR_ADDRESS_BYTES_MAX + 64)

/* One call. */
struct tapping {
    const struct tr_invocation *invocation;
    struct tr_browse browse;
    struct tri_client *client;
    bool is_plain;
    bool is_open;
    char address[ADDRESS_WORD_BYTES]; /* the word; empty: all is meant */
};

/* ------------------------------------------------------------------------ the filter */

/* Words that are of messages, and not of executions. */
static const char *const of_messages[] = {
    "point=", "type=", "key=", "trace=", "sample=", "payload="};

static bool begins_with(const char *word, const char *beginning)
{
    return strncmp(word, beginning, strlen(beginning)) == 0;
}

/* A word that names what is looked at, and does not filter. */
static bool is_target(const char *word)
{
    return strchr(word, '=') == NULL;
}

/* A word of the filter that goes with the form; what is wrong is told. */
static bool suits(const struct tapping *tapping, const char *word)
{
    for (size_t i = 0; tapping->is_plain && i < TR_COUNT_OF(of_messages); i++) {
        if (begins_with(word, of_messages[i])) {
            (void)tr_command_mistake(tapping->invocation->command,
                                     "'%.60s' is about messages; -v or -o json shows these", word);
            return false;
        }
    }
    if (tapping->address[0] != '\0' && begins_with(word, "address=")) {
        (void)tr_command_mistake(tapping->invocation->command,
                                 "EXEC and address= both say what is looked at; give one of them");
        return false;
    }
    return true;
}

/*
 * The words of the filter: those of the form, of what is looked at, of all --filter, and behind the
 * command. NULL: no memory, or a mistake, which is told.
 */
static const char **words_of(const struct tapping *tapping)
{
    static const char *const plain[] = {TR_TAP_WORDS_FILTER};
    const struct tr_arguments *arguments = &tapping->invocation->arguments;
    size_t most = TR_COUNT_OF(plain) + arguments->given_count + arguments->word_count + 3;
    const char **words = tr_alloc_zero(most, sizeof *words);
    size_t count = 0;
    bool is_fine = words != NULL;
    bool has_limit = false;
    for (size_t i = 0; is_fine && tapping->is_plain && i < TR_COUNT_OF(plain); i++) {
        words[count++] = plain[i];
    }
    for (size_t i = 0; is_fine && i < arguments->given_count + arguments->word_count; i++) {
        bool is_option = i < arguments->given_count;
        const char *word =
            is_option ? arguments->given[i].value : arguments->words[i - arguments->given_count];
        bool is_of_filter =
            is_option ? strcmp(arguments->given[i].option->name, "filter") == 0 : !is_target(word);
        if (is_of_filter) {
            is_fine = suits(tapping, word);
            has_limit = has_limit || begins_with(word, "limit=");
            words[count++] = word;
        }
    }
    if (!is_fine) {
        tr_free(words);
        return NULL;
    }
    if (tapping->address[0] != '\0') {
        words[count++] = tapping->address;
    }
    words[count] = has_limit ? NULL : LIMIT_WORD;
    return words;
}

/* The address of an execution, a node with its elements, or an element; each with what is below. */
static enum tr_exit_status write_address(struct tapping *tapping, const struct tr_found *found)
{
    const struct tr_execution *row = &found->execution.row;
    const struct tr_target *target = &found->target;
    char base[TR_ADDRESS_BYTES_MAX];
    int size = snprintf(base, sizeof base, "/%.*s/%.*s/%.*s%s%.*s", (int)row->project.size,
                        row->project.data, (int)row->domain.size, row->domain.data,
                        (int)row->name.size, row->name.data, target->path.size > 0 ? "/" : "",
                        (int)target->path.size, target->path.data);
    if (target->has_attempt) {
        return tr_command_refused(tapping->invocation->command,
                                  "an attempt has no messages of its own; leave '@%u' out",
                                  target->attempt);
    }
    if (size >= TR_TAP_GLOB_BYTES_MAX / 2) {
        return tr_command_refused(tapping->invocation->command,
                                  "the path is too long for a tap; name a node above it");
    }
    if (target->element != TR_ELEMENT_NONE) {
        snprintf(tapping->address, sizeof tapping->address, "address=%s[%llu]/**", base,
                 (unsigned long long)target->element);
    } else {
        snprintf(tapping->address, sizeof tapping->address, "address=%s/**,%s[*]/**", base, base);
    }
    return TR_EXIT_DONE;
}

/* What the command's words name; without one all is meant. */
static enum tr_exit_status find_target(struct tapping *tapping)
{
    const struct tr_arguments *arguments = &tapping->invocation->arguments;
    const char *word = NULL;
    struct tr_found found;
    for (size_t i = 0; i < arguments->word_count; i++) {
        if (is_target(arguments->words[i]) && word != NULL) {
            return tr_command_mistake(tapping->invocation->command,
                                      "'%.60s' and '%.60s': one EXEC is looked at", word,
                                      arguments->words[i]);
        }
        word = is_target(arguments->words[i]) ? arguments->words[i] : word;
    }
    if (word == NULL) {
        return TR_EXIT_DONE;
    }
    enum tr_exit_status status = tr_browse_find(&tapping->browse, word, &found);
    if (status == TR_EXIT_DONE) {
        status = write_address(tapping, &found);
        tr_found_fini(&found);
    }
    return status;
}

/* --------------------------------------------------------------------------- showing */

/* The first row says that it is open, and may be empty as others are. */
static int take_line(void *self, const struct tri_request *request)
{
    struct tapping *tapping = self;
    struct tr_tap_row row;
    int error = tr_tap_row_unpack(request->body, request->version, &row);
    if (error != 0) {
        return error;
    }
    if (!tapping->is_open) {
        tr_command_note(tapping->invocation, "looking; Ctrl-C ends it");
        tapping->is_open = true;
    }
    if (row.line.size > 0) {
        fprintf(tr_console_out(), "%.*s\n", (int)row.line.size, row.line.data);
    }
    /* A reader that has gone ends it quietly; a full disk is seen at the end. */
    return fflush(tr_console_out()) != 0 || tr_console_is_gone() ? TR_CLOSED : 0;
}

static enum tr_exit_status show(struct tapping *tapping, struct tr_bytes words)
{
    const struct tr_invocation *invocation = tapping->invocation;
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    struct tr_open_tap open = {.filter = words,
                               .is_json = invocation->output == TR_OUTPUT_JSON,
                               .is_plain = tapping->is_plain};
    int error = tr_client_call(tapping->client, &tr_open_tap_schema, &open, &tr_answered_schema, 0,
                               take_line, tapping, &answer);
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

static enum tr_exit_status tap(struct tapping *tapping)
{
    uint8_t *buffer = tr_alloc(WORDS_BYTES_MAX);
    const char **words = words_of(tapping);
    enum tr_exit_status status = TR_EXIT_USAGE;
    if (buffer != NULL && words != NULL) {
        struct tr_writer writer = tr_writer_of(buffer, WORDS_BYTES_MAX);
        int error = tr_process_strings_pack(words, &writer);
        struct tr_bytes packed = {.data = buffer, .size = tr_writer_size(&writer)};
        status = error != 0
                     ? tr_command_mistake(tapping->invocation->command, "the filter is too long")
                     : show(tapping, packed);
    }
    tr_free(buffer);
    tr_free(words);
    return status;
}

static enum tr_exit_status show_live(const struct tr_invocation *invocation)
{
    struct tapping tapping = {
        .invocation = invocation,
        .is_plain = invocation->output == TR_OUTPUT_TEXT && !invocation->is_verbose,
    };
    enum tr_exit_status status = tr_browse_open(invocation, &tapping.browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = find_target(&tapping);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, tapping.browse.place.folder, &tapping.client);
    }
    if (status == TR_EXIT_DONE) {
        status = tap(&tapping);
    }
    tri_client_close(tapping.client);
    tr_browse_close(&tapping.browse);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    const char *recorded = tr_arguments_value(arguments, "record");
    const char *replayed = tr_arguments_value(arguments, "replay");
    bool is_live = tr_arguments_has(arguments, "effects");
    bool is_of_one = recorded != NULL || replayed != NULL || is_live;
    if (is_of_one && tr_arguments_has(arguments, "filter")) {
        return tr_command_mistake(invocation->command, "a recording has all messages of one actor: "
                                                       "--filter is for what is shown");
    }
    if ((recorded != NULL) + (replayed != NULL) + is_live > 1) {
        return tr_command_mistake(invocation->command,
                                  "two of --record, --replay and --effects at once");
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
    if (is_live) {
        return tr_replay_live(invocation);
    }
    return recorded != NULL ? tr_record_file(invocation, recorded) : show_live(invocation);
}

static const struct tr_option options[] = {
    {0, "filter", "WORD", "what is shown: point=, type=, address=, limit=, ...", NULL, 0, true},
    {0, "record", "FILE", "record one actor into a new file", NULL, TR_COMPLETES_FILES, false},
    {0, "with-secrets", NULL, "record redacted fields too: a replay needs them", NULL, 0, false},
    {0, "effects", NULL, "show what one live actor does, as it does it", NULL, 0, false},
    {0, "replay", "FILE", "show what a recorded actor does", NULL, TR_COMPLETES_FILES, false},
    {0},
};

const struct tr_command tr_command_tap = {
    .name = "tap",
    .summary = "watch what happens in the live engine; record and replay one actor",
    .words = "[EXEC[/NODE[[ELEMENT]]]] [FILTER...]",
    .text =
        "Shows how executions, nodes and elements go on, those of EXEC or all, until its limit:\n"
        "limit=N events (else 1000), seconds=N; rate=N of each thread in a second.\n\n"
        "-v shows the messages themselves, and marks what is not on the disk yet; -o json does\n"
        "for programs. They take more filters: point=handled,failed type=node_ended\n"
        "address=/default/development/** key=16/32 trace=0x1f sample=100 payload=256.\n\n"
        "--record FILE ACTOR [limit=N] [seconds=N] writes down what the actor is, and each "
        "message it\nhandles. --replay FILE [ACTOR] gives them to it again in a sandbox that "
        "nothing leaves, and\nshows what it does: state, messages, spawns, timers, records.\n"
        "--effects ACTOR [limit=N] [seconds=N] shows that of a live actor, as it does it.",
    .examples = "  troupe tap @last\n"
                "  troupe tap 'fan-out/squares[17]'\n"
                "  troupe tap -v type=node_ended payload=200\n"
                "  troupe tap point=failed limit=10 -o json\n"
                "  troupe tap --record it.rec --with-secrets /default/development/it\n"
                "  troupe tap --replay it.rec\n"
                "  troupe tap --effects /default/development/it",
    .options = options,
    .outputs = "text|json",
    .has_store = true,
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_max = 32,
    .run = run,
};
