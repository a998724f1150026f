/*
 * `troupe move`: an execution goes to another host while it runs, with all that lies in its
 * partition. What is wanted is written down in the database; the host that has it gives it as soon
 * as it can, and this command looks until it is there.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/common/identity.h"
#include "deploy/console/console.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "runtime/troupe.h"
#include "schemas/engine/phase.h"

/* How often it looks, and for how long it waits for calls and for hosts that are busy. */
#define LOOK_MS 50
#define PATIENCE_MS 60000

struct moving {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    struct tri_registry *registry;
    struct tri_member_view view;
    struct tr_executions_row execution;
    const struct tri_member *from;
    const struct tri_member *to;
    uint64_t partition;
};

static enum tr_exit_status failed(const struct moving *moving)
{
    return tr_command_failed(moving->invocation->command, "%s",
                             tri_registry_explain(moving->registry));
}

/* ---- What is meant. -------------------------------------------------------------------------- */

static enum tr_exit_status find_execution(struct moving *moving)
{
    const struct tr_command *command = moving->invocation->command;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char problem[TR_EXECUTIONS_PROBLEM_BYTES] = "";
    struct tr_reader *reader = NULL;
    int error = tr_history_open(moving->store.folder, explain, &reader);
    if (error != 0) {
        return tr_command_failed(command, "%s", explain);
    }
    error = tr_executions_find(reader, moving->invocation->arguments.words[0], problem,
                               &moving->execution);
    tr_reader_close(reader);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_refused(command, "%s", problem);
    }
    if (error != 0) {
        return tr_command_failed(command, "%s", tr_error_text(error));
    }
    const struct tr_execution *row = &moving->execution.row;
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return tr_command_refused(command, "the execution %.*s has ended, and is on no host",
                                  (int)row->name.size, row->name.data);
    }
    moving->partition = tr_group_partition(row->execution);
    return TR_EXIT_DONE;
}

static const struct tri_member *find_host(const struct moving *moving, const char *name)
{
    for (size_t i = 0; i < moving->view.count; i++) {
        if (strcmp(moving->view.members[i].name, name) == 0) {
            return &moving->view.members[i];
        }
    }
    return NULL;
}

static enum tr_exit_status find_hosts(struct moving *moving)
{
    const struct tr_command *command = moving->invocation->command;
    const char *name = tr_arguments_value(&moving->invocation->arguments, "to");
    const struct tri_member_view *view = &moving->view;
    if (name == NULL) {
        return tr_command_mistake(command, "say to which host: troupe move EXEC --to HOST");
    }
    moving->to = find_host(moving, name);
    if (moving->to == NULL) {
        return tr_command_refused(command, "the store has no host called %.80s", name);
    }
    const char *state = tri_member_show(moving->to);
    if (strcmp(state, "up") != 0 || moving->to->address[0] == '\0') {
        return tr_command_refused(command,
                                  "host %.80s is %s: what runs moves to a host that is up, and "
                                  "works beside others (`host_address`)",
                                  name, strcmp(state, "up") == 0 ? "alone" : state);
    }
    moving->from = moving->partition < view->partition_count
                       ? tri_member_view_find(view, view->partitions[moving->partition])
                       : NULL;
    return moving->from != NULL
               ? TR_EXIT_DONE
               : tr_command_refused(command, "nobody has the execution just now; troupe hosts "
                                             "shows who there is");
}

/* ---- Waiting. -------------------------------------------------------------------------------- */

static const char *words_of_wait(uint64_t wait)
{
    switch (wait) {
    case TRI_MEMBER_WAITS_CALLS:
        return "has calls that are not answered yet";
    case TRI_MEMBER_WAITS_PROCESSES:
        return "has processes";
    case TRI_MEMBER_WAITS_HOST:
        return "is where the host speaks itself, and goes when the host ends";
    default:
        return "was not given yet";
    }
}

static enum tr_exit_status give_up(struct moving *moving, uint64_t wait)
{
    const struct tr_execution *row = &moving->execution.row;
    (void)!tri_registry_want(moving->registry, moving->partition, 0, "");
    return tr_command_refused(
        moving->invocation->command,
        "%.*s stays on host %s: it, or what is in its partition with it, %s%s", (int)row->name.size,
        row->name.data, moving->from->name, words_of_wait(wait),
        wait == TRI_MEMBER_WAITS_PROCESSES ? "; --wait waits until they have ended" : "");
}

static bool has_arrived(const struct moving *moving, const struct tri_member_move *move)
{
    return move->host == moving->to->number && !move->is_frozen;
}

static bool waits_for_long(const struct tri_member_move *move, bool is_patient)
{
    return move->waits == TRI_MEMBER_WAITS_HOST ||
           (move->waits == TRI_MEMBER_WAITS_PROCESSES && !is_patient);
}

static enum tr_exit_status wait(struct moving *moving, struct tri_member_move *move)
{
    bool is_patient = tr_arguments_has(&moving->invocation->arguments, "wait");
    uint64_t begin_ms = tr_clock_ms();
    int error = tri_registry_read_move(moving->registry, moving->partition, move);
    while (error == 0 && !has_arrived(moving, move)) {
        bool is_late = !is_patient && tr_clock_ms() - begin_ms > PATIENCE_MS;
        if (waits_for_long(move, is_patient) || is_late) {
            return give_up(moving, move->waits);
        }
        (void)poll(NULL, 0, LOOK_MS);
        error = tri_registry_read_move(moving->registry, moving->partition, move);
        error = error == TR_BUSY ? 0 : error;
    }
    return error == 0 ? TR_EXIT_DONE : failed(moving);
}

/* ---- All of it. ------------------------------------------------------------------------------ */

static void show(const struct moving *moving, const struct tri_member_move *move)
{
    const struct tr_execution *row = &moving->execution.row;
    struct tr_document document;
    if (moving->invocation->output == TR_OUTPUT_TEXT) {
        tr_command_note(moving->invocation,
                        "%.*s is on host %s; it was frozen for %.1f ms, with all of its partition",
                        (int)row->name.size, row->name.data, moving->to->name,
                        (double)move->frozen_us / 1000);
        return;
    }
    tr_document_init(&document, tr_console_out(), moving->invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "execution", row->name);
    tr_document_text(&document, "from", tr_text_of(moving->from->name));
    tr_document_text(&document, "to", tr_text_of(moving->to->name));
    tr_document_number(&document, "partition", (int64_t)moving->partition);
    tr_document_number(&document, "frozen_us", (int64_t)move->frozen_us);
    tr_document_end(&document);
    tr_document_fini(&document);
}

static enum tr_exit_status move_there(struct moving *moving)
{
    char who[TR_IDENTITY_BYTES];
    const struct tr_execution *row = &moving->execution.row;
    struct tri_member_move move = {.host = 0};
    if (moving->from == moving->to) {
        tr_command_note(moving->invocation, "%.*s is on host %s already", (int)row->name.size,
                        row->name.data, moving->to->name);
        return TR_EXIT_DONE;
    }
    tr_identity_read(who);
    if (tri_registry_want(moving->registry, moving->partition, moving->to->number, who) != 0) {
        return failed(moving);
    }
    enum tr_exit_status status = wait(moving, &move);
    if (status == TR_EXIT_DONE) {
        show(moving, &move);
    }
    return status;
}

static enum tr_exit_status run_on(struct moving *moving)
{
    const struct tr_command *command = moving->invocation->command;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    enum tr_exit_status status = tr_store_find(moving->invocation, false, &moving->store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error =
        tri_store_registry_open(moving->store.folder, NULL, false, explain, &moving->registry);
    if (error != 0) {
        return error == TR_INVALID || error == TR_NOT_FOUND
                   ? tr_command_refused(command, "%s", explain)
                   : tr_command_failed(command, "%s", explain);
    }
    if (tri_registry_look(moving->registry, &moving->view) != 0) {
        return failed(moving);
    }
    status = find_execution(moving);
    if (status == TR_EXIT_DONE) {
        status = find_hosts(moving);
    }
    return status == TR_EXIT_DONE ? move_there(moving) : status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct moving *moving = tr_alloc_zero(1, sizeof *moving);
    if (moving == NULL) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    moving->invocation = invocation;
    enum tr_exit_status status = run_on(moving);
    tr_executions_row_fini(&moving->execution);
    tri_registry_close(moving->registry);
    tr_free(moving);
    return status;
}

static const struct tr_option options[] = {
    {0, "to", "HOST", "the host that is to have it", NULL, 0, false},
    {0, "wait", NULL, "wait for processes, which stay where they began", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_move = {
    .name = "move",
    .summary = "have an execution go on at another host",
    .words = "EXEC",
    .text = "The execution goes to a host that works beside the one that has it, while it runs,\n"
            "with all that is in its partition: nothing of it is lost or done twice. It stands\n"
            "still for that long, which is told. One with processes does not move until they have\n"
            "ended: that is refused, or with --wait waited for. deploy/HOSTS.md says more.",
    .examples = "  troupe move train-7 --to b\n"
                "  troupe move train-7 --to b --wait -o json",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
