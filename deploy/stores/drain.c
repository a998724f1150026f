/*
 * `troupe drain`: a host gives all that it has to the others, while all of it goes on. That it is
 * drained is written down in the database, and counts until it begins anew.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/console/console.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"

/* How often it looks, and how long nothing may change before the rest is said to wait. */
#define LOOK_MS 200
#define STILL_MS 5000

/* A host keeps the partition in which it speaks itself until it ends. */
#define KEPT 1

struct draining {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    struct tri_registry *registry;
    struct tri_member_view view;
    uint64_t number; /* of the host */
    uint64_t before; /* the partitions that it had */
    uint64_t began_ms;
};

static enum tr_exit_status failed(const struct draining *draining)
{
    return tr_command_failed(draining->invocation->command, "%s",
                             tri_registry_explain(draining->registry));
}

static const struct tri_member *find_host(const struct draining *draining, const char *name)
{
    for (size_t i = 0; i < draining->view.count; i++) {
        if (strcmp(draining->view.members[i].name, name) == 0) {
            return &draining->view.members[i];
        }
    }
    return NULL;
}

/* Whether another host would get something. */
static bool has_receiver(const struct draining *draining, uint64_t number)
{
    for (size_t i = 0; i < draining->view.count; i++) {
        const struct tri_member *member = &draining->view.members[i];
        bool is_up = strcmp(tri_member_show(member), "up") == 0;
        if (member->number != number && is_up && member->address[0] != '\0') {
            return true;
        }
    }
    return false;
}

static enum tr_exit_status check(struct draining *draining, const struct tri_member *member,
                                 const char *name)
{
    const struct tr_command *command = draining->invocation->command;
    if (member == NULL) {
        return tr_command_refused(command, "the store has no host called %.80s", name);
    }
    if (member->state != TRI_MEMBER_UP || member->owned == 0) {
        return tr_command_refused(command, "host %.80s is %s, and has nothing to give", name,
                                  tri_member_show(member));
    }
    if (member->address[0] == '\0') {
        return tr_command_refused(command,
                                  "host %.80s works alone (it has no `host_address`), and gives "
                                  "nothing while it runs; end it, and another takes over",
                                  name);
    }
    if (!has_receiver(draining, member->number)) {
        return tr_command_refused(command,
                                  "nobody works beside host %.80s who could get its work; start "
                                  "another host first",
                                  name);
    }
    return TR_EXIT_DONE;
}

/* ---- Waiting. -------------------------------------------------------------------------------- */

static uint64_t owned_now(const struct draining *draining)
{
    const struct tri_member *member = tri_member_view_find(&draining->view, draining->number);
    return member != NULL ? member->owned : 0;
}

/* Until it has given all that it can; without --wait no longer than something happens. */
static enum tr_exit_status wait(struct draining *draining, uint64_t *left)
{
    bool is_patient = tr_arguments_has(&draining->invocation->arguments, "wait");
    uint64_t changed_ms = tr_clock_ms();
    uint64_t owned = draining->before;
    while (owned > KEPT && (is_patient || tr_clock_ms() - changed_ms < STILL_MS)) {
        (void)poll(NULL, 0, LOOK_MS);
        int error = tri_registry_look(draining->registry, &draining->view);
        if (error != 0 && error != TR_BUSY) {
            return failed(draining);
        }
        uint64_t now = error == 0 ? owned_now(draining) : owned;
        changed_ms = now != owned ? tr_clock_ms() : changed_ms;
        owned = now;
    }
    *left = owned > KEPT ? owned - KEPT : 0;
    return TR_EXIT_DONE;
}

static enum tr_exit_status show(const struct draining *draining, const char *name, uint64_t left)
{
    const struct tr_invocation *invocation = draining->invocation;
    struct tr_document document;
    uint64_t took_ms = tr_clock_ms() - draining->began_ms;
    uint64_t given = draining->before - owned_now(draining);
    if (invocation->output == TR_OUTPUT_TEXT) {
        tr_command_note(invocation, "host %s has given %llu of its %llu partitions in %.1f s", name,
                        (unsigned long long)given, (unsigned long long)draining->before,
                        (double)took_ms / 1000);
        if (left > 0) {
            tr_command_note(invocation,
                            "%llu wait for processes or calls, which end there; it gives them when "
                            "they have ended (--wait waits for that)",
                            (unsigned long long)left);
        }
    } else {
        tr_document_init(&document, tr_console_out(), invocation->output);
        tr_document_begin_map(&document, NULL);
        tr_document_text(&document, "host", tr_text_of(name));
        tr_document_number(&document, "partitions", (int64_t)draining->before);
        tr_document_number(&document, "given", (int64_t)given);
        tr_document_number(&document, "waiting", (int64_t)left);
        tr_document_number(&document, "took_ms", (int64_t)took_ms);
        tr_document_end(&document);
        tr_document_fini(&document);
    }
    return left == 0 ? TR_EXIT_DONE : TR_EXIT_FAILED;
}

/* ---- All of it. ------------------------------------------------------------------------------ */

static enum tr_exit_status undo(struct draining *draining, const struct tri_member *member,
                                const char *name)
{
    if (member == NULL) {
        return tr_command_refused(draining->invocation->command,
                                  "the store has no host called %.80s", name);
    }
    if (tri_registry_drain(draining->registry, member->number, false) != 0) {
        return failed(draining);
    }
    tr_command_note(draining->invocation, "host %s gets a share of the work again", name);
    return TR_EXIT_DONE;
}

static enum tr_exit_status drain(struct draining *draining)
{
    const char *name = draining->invocation->arguments.words[0];
    const struct tri_member *member = find_host(draining, name);
    uint64_t left = 0;
    if (tr_arguments_has(&draining->invocation->arguments, "undo")) {
        return undo(draining, member, name);
    }
    enum tr_exit_status status = check(draining, member, name);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    draining->number = member->number;
    draining->before = member->owned;
    draining->began_ms = tr_clock_ms();
    if (tri_registry_drain(draining->registry, member->number, true) != 0) {
        return failed(draining);
    }
    status = wait(draining, &left);
    return status == TR_EXIT_DONE ? show(draining, name, left) : status;
}

static enum tr_exit_status run_on(struct draining *draining)
{
    const struct tr_command *command = draining->invocation->command;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    enum tr_exit_status status = tr_store_find(draining->invocation, false, &draining->store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error =
        tri_store_registry_open(draining->store.folder, NULL, false, explain, &draining->registry);
    if (error != 0) {
        return error == TR_INVALID || error == TR_NOT_FOUND
                   ? tr_command_refused(command, "%s", explain)
                   : tr_command_failed(command, "%s", explain);
    }
    return tri_registry_look(draining->registry, &draining->view) != 0 ? failed(draining)
                                                                       : drain(draining);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct draining *draining = tr_alloc_zero(1, sizeof *draining);
    if (draining == NULL) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    draining->invocation = invocation;
    enum tr_exit_status status = run_on(draining);
    tri_registry_close(draining->registry);
    tr_free(draining);
    return status;
}

static const struct tr_option options[] = {
    {0, "wait", NULL, "wait for processes, which stay where they began", NULL, 0, false},
    {0, "undo", NULL, "it gets a share of the work again", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_drain = {
    .name = "drain",
    .summary = "have a host give all its work to the others",
    .words = "HOST",
    .text = "The host gives what it has to those that work beside it, while all of it goes on,\n"
            "and gets nothing more until it begins anew: so it can be ended and nobody waits.\n"
            "What has processes there goes when they have ended; the exit status is 1 as long as\n"
            "something waits, and --wait waits for that. deploy/HOSTS.md says more.",
    .examples = "  troupe drain a\n"
                "  troupe drain a --wait -o json\n"
                "  troupe drain a --undo",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
