/*
 * Beginning an execution and staying with it, as the engine of its store or as a client there.
 */
#include "deploy/cli/engine_options.h"
#include "deploy/engine/background.h"
#include "deploy/engine/slots.h"
#include "deploy/follow/begin.h"
#include "deploy/follow/follow_local.h"

/* Leaves the work to another process, which goes on when this one has gone. */
static enum tr_exit_status detach(struct tr_beginning *beginning, struct tr_connection *connection)
{
    const char *name = beginning->outcome.name;
    bool was_here = connection->live != NULL;
    tr_connection_close(connection);
    if (was_here && tr_background_resume(beginning->folder, &name, 1) != 0) {
        return tr_command_failed(beginning->prepared->invocation->command,
                                 "%s has begun, but no engine could be started in the background; "
                                 "`troupe resume %s` goes on with it",
                                 name, name);
    }
    if (was_here) {
        tr_connect_wait(beginning->folder);
    }
    tr_begin_print_name(beginning);
    return TR_EXIT_DONE;
}

static void note_dormant(const struct tr_invocation *invocation, const struct tr_live *live)
{
    uint32_t count = live->dormant.dormant_count;
    if (count > 0) {
        tr_command_note(invocation,
                        "%u unfinished execution%s dormant here; `troupe resume [EXEC]` goes on "
                        "with %s",
                        count, count == 1 ? " is" : "s are", count == 1 ? "it" : "them");
    }
}

/* `slots` says what bounds it. */
static enum tr_exit_status follow(struct tr_beginning *beginning, struct tr_connection *connection,
                                  struct tr_text slots)
{
    const struct tr_invocation *invocation = beginning->prepared->invocation;
    uint64_t execution = beginning->outcome.execution;
    if (beginning->is_detached) {
        return detach(beginning, connection);
    }
    tr_begin_note(beginning);
    if (slots.size > 0) {
        tr_command_note(invocation, "%.*s", TRI_TEXT(slots));
    }
    if (connection->live == NULL) {
        return tr_follow_live(invocation, connection->client, beginning->folder, execution);
    }
    note_dormant(invocation, connection->live);
    return tr_follow_local(invocation, connection->live, execution);
}

static enum tr_exit_status begin(struct tr_beginning *beginning, struct tr_connection *connection)
{
    struct tr_buffer slots;
    tr_buffer_init(&slots, 0);
    /* The graph is handed over when it begins. */
    tr_slots_print(beginning->prepared->graph, beginning->prepared->workflow, connection->jobs,
                   &slots);
    enum tr_exit_status status = tr_begin(beginning, connection);
    if (status == TR_EXIT_DONE) {
        status = follow(beginning, connection, tr_buffer_text(&slots));
    }
    tr_buffer_fini(&slots);
    return status;
}

enum tr_exit_status tr_begin_and_follow(struct tr_beginning *beginning)
{
    const struct tr_invocation *invocation = beginning->prepared->invocation;
    struct tr_connection connection = {.live = NULL};
    struct tr_live_options options;
    enum tr_exit_status status = tr_engine_options_read(invocation, beginning->folder,
                                                        &beginning->prepared->settings, &options);
    if (status == TR_EXIT_DONE) {
        options.lets_sleep = true;
        options.expects_tasks = tr_slots_wanted(beginning->prepared->graph);
        status = tr_connect_or_open(invocation, &options, &connection);
    }
    if (status == TR_EXIT_DONE) {
        status = begin(beginning, &connection);
        tr_connection_close(&connection);
    }
    return status;
}
