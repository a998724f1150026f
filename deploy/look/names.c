/*
 * `troupe names KIND [WORD]`: which executions a shell may offer where a command wants one, for the
 * completions that `troupe completion` prints. People have `list`.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/connect/activity.h"
#include "deploy/selection/execution_filter.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

/* The most that are offered, the newest ones. */
#define NAMES_MAX 100

static const char kind_words[] =
#define KIND_WORD(name, word) "|" word
    TR_EXECUTION_KINDS(KIND_WORD)
#undef KIND_WORD
    ;

struct names {
    enum tr_execution_kind kind;
    const char *begin; /* of the word that is completed */
    struct tr_activity activity;
    uint64_t told;
};

/* Whether the phase is one of the kind; 0: any is. */
static uint32_t phases_of(enum tr_execution_kind kind)
{
    static const uint32_t failed =
        1U << TR_EXECUTION_FAILED | 1U << TR_EXECUTION_ABORTED | 1U << TR_EXECUTION_TIMED_OUT;
    switch (kind) {
    case TR_EXECUTION_KIND_UNFINISHED:
    case TR_EXECUTION_KIND_RUNNING:
    case TR_EXECUTION_KIND_HELD:
        return tr_execution_phases_unfinished();
    case TR_EXECUTION_KIND_FAILED:
        return failed;
    case TR_EXECUTION_KIND_ENDED:
        return tr_execution_phases_ended();
    case TR_EXECUTION_KIND_ANY:
        break;
    }
    return 0;
}

/* Whether it suits, as far as its phase does not say: what is paused or dormant is held. */
static bool suits(const struct names *names, const struct tr_execution *row)
{
    bool is_held = row->is_paused || tr_activity_is_dormant(&names->activity, row) ||
                   tr_activity_is_aside(&names->activity, row);
    return names->kind == TR_EXECUTION_KIND_HELD      ? is_held
           : names->kind == TR_EXECUTION_KIND_RUNNING ? !row->is_paused
                                                      : true;
}

static int tell(void *self, const void *value)
{
    struct names *names = self;
    const struct tr_execution *row = value;
    if (!suits(names, row)) {
        return 0;
    }
    printf("%.*s\n", (int)row->name.size, row->name.data);
    return ++names->told == NAMES_MAX ? TR_CLOSED : 0;
}

/* The newest execution of all has a name of its own, where it suits. */
static int tell_last(void *self, const void *value)
{
    struct names *names = self;
    const struct tr_execution *row = value;
    uint32_t phases = phases_of(names->kind);
    bool is_wanted = strncmp(names->begin, "@last", strlen(names->begin)) == 0;
    if (is_wanted && (phases == 0 || (phases >> row->phase & 1) != 0) && suits(names, row)) {
        printf("@last\n");
    }
    return 0;
}

/* What others have launched is offered to who has begun to write its name. */
static int tell_all(const struct tr_browse *browse, struct names *names)
{
    struct tr_execution_query made;
    struct tr_execution_filter filter = {.is_launched_by_none = false};
    tr_execution_query_init(&made, &filter, true);
    made.query.limit = 1;
    int error = tr_reader_rows(browse->reader, &made.query, tell_last, names);
    if (error != 0) {
        return error;
    }
    filter.phases = phases_of(names->kind);
    filter.is_launched_by_none = names->begin[0] == '\0';
    tr_execution_query_init(&made, &filter, true);
    if (names->begin[0] != '\0') {
        made.filters[made.query.filter_count++] =
            tr_filter_text("name", TR_FILTER_PREFIX, tr_text_of(names->begin));
    }
    error = tr_reader_rows(browse->reader, &made.query, tell, names);
    return error == TR_CLOSED ? 0 : error;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    int kind = tr_spelling_find(kind_words + 1, arguments->words[0]);
    struct names names = {.begin = arguments->word_count > 1 ? arguments->words[1] : ""};
    struct tr_browse browse;
    if (kind < 0) {
        return tr_command_mistake(invocation->command, "'%.60s' is no kind; write one of %s",
                                  arguments->words[0], kind_words + 1);
    }
    names.kind = (enum tr_execution_kind)kind;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    tr_activity_read(browse.place.folder, tr_browse_is_live(&browse), browse.reader,
                     &names.activity);
    int error = tr_reader_refresh(browse.reader);
    if (error == 0) {
        error = tell_all(&browse, &names);
    }
    status = error == 0 ? TR_EXIT_DONE : tr_browse_failed(&browse, error);
    tr_activity_fini(&names.activity);
    tr_browse_close(&browse);
    return status;
}

const struct tr_command tr_command_names = {
    .name = "names",
    .words = "KIND [WORD]",
    .text = "The executions that a command is for and that begin with WORD, for completions.",
    .has_store = true,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
