/*
 * Opening a history, finding what is meant in it, and saying why not.
 */
#include "deploy/cli/browse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/console/console.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/entry_locator.h"
#include "schemas/codec/error.h"

enum tr_exit_status tr_browse_open(const struct tr_invocation *invocation, struct tr_browse *browse)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    *browse = (struct tr_browse){.invocation = invocation};
    enum tr_exit_status status = tr_store_find(invocation, false, &browse->place);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error = tr_history_open(browse->place.folder, explain, &browse->reader);
    if (error == TR_NOT_FOUND) {
        return tr_command_refused(invocation->command,
                                  "nothing was run in the store %s yet; `troupe run` begins, "
                                  "--store names another one",
                                  browse->place.folder);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s",
                                 explain[0] != '\0' ? explain : tr_error_text(error));
    }
    browse->now_ms = tr_clock_wall_ms();
    return TR_EXIT_DONE;
}

void tr_browse_close(struct tr_browse *browse)
{
    tr_reader_close(browse->reader);
    browse->reader = NULL;
}

enum tr_exit_status tr_browse_first(const struct tr_invocation *invocation,
                                    enum tr_exit_status (*act)(const struct tr_browse *browse,
                                                               const struct tr_found *found))
{
    struct tr_browse browse;
    struct tr_found found;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = tr_browse_find(&browse, invocation->arguments.words[0], &found);
    if (status == TR_EXIT_DONE) {
        status = act(&browse, &found);
        tr_found_fini(&found);
    }
    tr_browse_close(&browse);
    return status;
}

enum tr_exit_status tr_browse_failed(const struct tr_browse *browse, int error)
{
    const char *words = tr_reader_explain(browse->reader);
    bool is_readers = error == TR_STORE_DAMAGED || error == TR_STORE_FAILED || error == TR_BUSY;
    return tr_command_failed(browse->invocation->command, "%s: %s", browse->place.folder,
                             is_readers && words[0] != '\0' ? words : tr_error_text(error));
}

/* ------------------------------------------------------------------- what is meant */

/* As PROJECT/DOMAIN/NAME, which a name with two slashes may be too. */
static bool find_by_place(const struct tr_browse *browse, const char *word, struct tr_found *found)
{
    char problem[TR_EXECUTIONS_PROBLEM_BYTES];
    return word[0] != '/' && tr_target_read(word, true, problem, &found->target) == 0 &&
           tr_executions_find(browse->reader, found->target.execution, problem,
                              &found->execution) == 0;
}

enum tr_exit_status tr_browse_find(const struct tr_browse *browse, const char *word,
                                   struct tr_found *out)
{
    char problem[TR_EXECUTIONS_PROBLEM_BYTES] = "";
    struct tr_found found = {.execution = {.texts = NULL}};
    int error = tr_target_read(word, false, problem, &found.target);
    if (error == 0) {
        error =
            tr_executions_find(browse->reader, found.target.execution, problem, &found.execution);
        if (error == TR_NOT_FOUND && find_by_place(browse, word, &found)) {
            error = 0;
        }
    }
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_refused(browse->invocation->command, "%s", problem);
    }
    if (error != 0) {
        return tr_browse_failed(browse, error);
    }
    *out = found;
    return TR_EXIT_DONE;
}

void tr_found_fini(struct tr_found *found)
{
    tr_executions_row_fini(&found->execution);
}

/*
 * A live engine accepts connections on its socket in the store. The folder is named by its
 * descriptor, since the address of a socket is short.
 */
bool tr_browse_is_live(const struct tr_browse *browse)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (tri_entry_is_locator(browse->place.folder)) {
        return true; /* the history came from one */
    }
    int folder = open(browse->place.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
             TR_ENDPOINT_NAME);
    bool is_live = folder >= 0 && probe >= 0 &&
                   (connect(probe, (const struct sockaddr *)&address, sizeof address) == 0 ||
                    errno == EAGAIN || errno == EINPROGRESS);
    if (probe >= 0) {
        close(probe);
    }
    if (folder >= 0) {
        close(folder);
    }
    return is_live;
}

void tr_browse_note_dead(const struct tr_browse *browse, bool *has_told)
{
    if (!*has_told) {
        *has_told = true;
        tr_command_note(browse->invocation,
                        "no engine runs on %s: nothing goes on until `troupe resume`",
                        browse->place.folder);
    }
}
