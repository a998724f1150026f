/*
 * Standing by. The folder is locked meanwhile, as by an engine, so that it is one host's.
 *
 * Once a second one look at the database. What it means is decided in runtime/members/member.h;
 * that nobody else takes the work at the same time, and that the other one has it no more, is the
 * database's matter.
 */
#include "deploy/commands/stand_by.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/common/notify.h"
#include "deploy/common/signals.h"
#include "deploy/connect/active_host.h"
#include "runtime/journal/store_folder.h"
#include "runtime/keeper_client/keeper_end.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "runtime/store_open.h"
#include "runtime/store_place.h"

/* How long processes that this host has left may take to end. */
#define END_MS 10000

struct standing {
    const struct tr_invocation *invocation;
    const struct tr_live_options *options;
    struct tri_registry *registry;
    struct tri_member_watch watch;
    struct tri_member_view view;
    struct tri_member_shares shares; /* of whom it takes over */
    int lock;
    int signals;
    uint64_t owner; /* who was told to have the work; 0: nobody */
    bool waits;     /* for a database that does not answer */
    char blobs[TRI_STORE_BLOBS_WHERE_BYTES];
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
};

static enum tr_exit_status failed(const struct standing *standing, const char *words)
{
    return tr_command_failed(standing->invocation->command, "%s", words);
}

/* ---- Joining. -------------------------------------------------------------------------------- */

#define SET_BLOBS                                                                         \
    "set `blobs` of the settings of all hosts to a folder that all of them reach, or to " \
    "s3://BUCKET (deploy/HOSTS.md)"

/* What one host has stored has to be there for the next one. */
static enum tr_exit_status check_blobs(struct standing *standing, const struct tri_member *owner)
{
    const struct tr_settings_file *settings = standing->options->settings;
    const struct tr_command *command = standing->invocation->command;
    tri_store_blobs_where(standing->options->folder, settings != NULL ? settings->blobs : NULL,
                          standing->blobs);
    if (owner->blobs[0] == '\0') {
        return tr_command_failed(command,
                                 "host %s has the work of this store, and keeps its blobs in its "
                                 "own folder, which this host does not reach; " SET_BLOBS,
                                 owner->name);
    }
    if (standing->blobs[0] == '\0') {
        return tr_command_failed(command,
                                 "host %s has the work of this store, and its blobs are in %s; "
                                 "this host would keep them in its own folder; " SET_BLOBS,
                                 owner->name, owner->blobs);
    }
    return strcmp(owner->blobs, standing->blobs) == 0
               ? TR_EXIT_DONE
               : tr_command_failed(command,
                                   "host %s has its blobs in %s, and this host in %s; " SET_BLOBS,
                                   owner->name, owner->blobs, standing->blobs);
}

/* They are found before they are needed. */
static enum tr_exit_status place_blobs(struct standing *standing)
{
    char words[TRI_STORE_BLOBS_WORDS_BYTES];
    const struct tr_settings_file *settings = standing->options->settings;
    const struct tri_store_blobs_place place = {
        .where = settings != NULL ? settings->blobs : NULL,
        .object_stores = settings != NULL ? settings->object_stores.items : NULL,
        .object_store_count = settings != NULL ? settings->object_stores.count : 0,
        .secrets = settings != NULL ? settings->secrets.items : NULL,
        .secret_count = settings != NULL ? settings->secrets.count : 0,
    };
    return tri_store_blobs_place(standing->options->folder, &place, words) == 0
               ? TR_EXIT_DONE
               : failed(standing, words);
}

static enum tr_exit_status lock_folder(struct standing *standing)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    int error = tri_store_folder_make(standing->options->folder, explain);
    if (error == 0) {
        error = tri_store_folder_lock(standing->options->folder, explain, &standing->lock);
    }
    return error == 0 ? TR_EXIT_DONE : failed(standing, explain);
}

/*
 * What this host had begun when it had the work is begun by others: it ends, before it is said that
 * nothing of it runs.
 */
static void end_processes(struct standing *standing)
{
    static const char *const command[] = {"troupe", "keeper", NULL};
    uint32_t running = 1;
    const struct tri_member *own = tri_member_view_find(&standing->view, standing->registry->self);
    if (own == NULL || own->processes == TRI_MEMBER_PROCESSES_NONE) {
        return;
    }
    int error = tri_keeper_end_all(standing->options->folder, command, true, END_MS, &running);
    if (error == 0 && running == 0) {
        (void)!tri_registry_keep(standing->registry, TRI_MEMBER_PROCESSES_NONE);
    }
}

static enum tr_exit_status join(struct standing *standing)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    const struct tr_live_options *options = standing->options;
    struct tri_store_member member = {
        .name = options->host_name,
        .blobs = standing->blobs,
        .lease_ms = options->lease_ms != 0 ? options->lease_ms : TRI_MEMBER_LEASE_MS,
        .process_lease_ms = options->process_lease_ms != 0 ? options->process_lease_ms
                                                           : TRI_MEMBER_PROCESS_LEASE_MS,
    };
    int error = tri_store_describe_member(options->folder, standing->place, standing->machine,
                                          &member, explain);
    if (error != 0) {
        return failed(standing, explain);
    }
    error = tri_registry_join(standing->registry, &member);
    if (error == 0) {
        error = tri_registry_look(standing->registry, &standing->view);
    }
    if (error != 0) {
        return failed(standing, tri_registry_explain(standing->registry));
    }
    standing->watch.self = standing->registry->self;
    end_processes(standing);
    return TR_EXIT_DONE;
}

/* ---- Waiting. -------------------------------------------------------------------------------- */

/* Says once who has the work, or that the database does not answer. */
static void tell_wait(struct standing *standing, const struct tri_member *owner)
{
    if (owner != NULL && (standing->owner != owner->number || standing->waits)) {
        tr_command_note(standing->invocation,
                        "standing by: host %s has the work of this store, in %s of %s", owner->name,
                        owner->folder, owner->machine);
        standing->owner = owner->number;
    }
    standing->waits = false;
}

static void tell_outage(struct standing *standing)
{
    if (!standing->waits) {
        tr_command_note(standing->invocation, "standing by: %s",
                        tri_registry_explain(standing->registry));
        standing->waits = true;
    }
}

/* Takes the work; false: the other one lives after all, or a third was quicker. */
static bool take(struct standing *standing, const struct tri_member *owner)
{
    char why[TRI_MEMBER_WHY_BYTES];
    const struct tri_member *own = tri_member_view_find(&standing->view, standing->watch.self);
    tri_member_explain_fence(owner, own->name, why);
    tri_member_divide(&standing->view, owner->number, own->number, &standing->shares);
    if (tri_registry_take(standing->registry, owner, &standing->shares, why) != 0) {
        return false;
    }
    tr_command_note(standing->invocation, "taking over: %s", why);
    return true;
}

/* One look; whether this host has the work, or must end. */
static enum tr_exit_status look(struct standing *standing, bool *has_work)
{
    const struct tri_member *owner = NULL;
    uint64_t asked_ms = tr_clock_ms();
    if (tri_registry_look(standing->registry, &standing->view) != 0) {
        tell_outage(standing);
        return TR_EXIT_DONE;
    }
    tri_member_watch_hear(&standing->watch, &standing->view, asked_ms, tr_clock_ms());
    switch (tri_member_find(&standing->watch, &standing->view, standing->registry->incarnation,
                            &owner)) {
    case TRI_MEMBER_WAIT:
        tell_wait(standing, owner);
        break;
    case TRI_MEMBER_TAKE:
        *has_work = take(standing, owner);
        break;
    case TRI_MEMBER_OWN:
        *has_work = true;
        break;
    case TRI_MEMBER_FENCED: {
        const struct tri_member *own = tri_member_view_find(&standing->view, standing->watch.self);
        return failed(standing, own != NULL && own->why[0] != '\0'
                                    ? own->why
                                    : "this host was forgotten, or begun anew elsewhere");
    }
    }
    return TR_EXIT_DONE;
}

/* Whether a signal has come until it is time to look again. */
static bool rest(const struct standing *standing)
{
    struct pollfd descriptor = {.fd = standing->signals, .events = POLLIN};
    return poll(&descriptor, 1, TRI_MEMBER_BEAT_MS) > 0 && tr_signals_next(standing->signals) != 0;
}

static enum tr_exit_status wait_for_work(struct standing *standing, bool *is_leaving)
{
    bool has_work = false;
    tr_notify("READY=1");
    enum tr_exit_status status = look(standing, &has_work);
    while (status == TR_EXIT_DONE && !has_work && !*is_leaving) {
        if (rest(standing)) {
            (void)!tri_registry_leave(standing->registry);
            *is_leaving = true;
        } else {
            status = look(standing, &has_work);
        }
    }
    return status;
}

/* ---- All of it. ------------------------------------------------------------------------------ */

/* Whether another host has the work; what the registry cannot say, the store's opening will. */
static const struct tri_member *find_other(struct standing *standing)
{
    if (tri_store_registry_open(standing->options->folder, NULL, false, NULL,
                                &standing->registry) != 0 ||
        tri_registry_look(standing->registry, &standing->view) != 0) {
        return NULL;
    }
    const struct tri_member *owner = tri_member_view_find(&standing->view, standing->view.owner);
    return owner == NULL || tr_active_host_is(standing->options->folder, owner) ? NULL : owner;
}

static enum tr_exit_status stand(struct standing *standing, const struct tri_member *owner,
                                 bool *is_leaving)
{
    enum tr_exit_status status = check_blobs(standing, owner);
    if (status == TR_EXIT_DONE) {
        status = lock_folder(standing);
    }
    if (status == TR_EXIT_DONE) {
        status = place_blobs(standing);
    }
    if (status == TR_EXIT_DONE && tr_signals_open(&standing->signals) != 0) {
        status = failed(standing, "signals cannot be waited for");
    }
    if (status == TR_EXIT_DONE) {
        status = join(standing);
    }
    return status == TR_EXIT_DONE ? wait_for_work(standing, is_leaving) : status;
}

enum tr_exit_status tr_stand_by(const struct tr_invocation *invocation,
                                const struct tr_live_options *options, bool *is_leaving)
{
    enum tr_exit_status status = TR_EXIT_DONE;
    struct standing *standing = tr_alloc_zero(1, sizeof *standing);
    *is_leaving = false;
    if (standing == NULL) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    standing->invocation = invocation;
    standing->options = options;
    standing->lock = -1;
    standing->signals = -1;
    const struct tri_member *owner = find_other(standing);
    if (owner != NULL) {
        const struct tri_member other = *owner; /* the view changes with each look */
        status = stand(standing, &other, is_leaving);
    }
    tri_registry_close(standing->registry);
    if (standing->signals >= 0) {
        tr_signals_close(standing->signals);
    }
    if (standing->lock >= 0) {
        (void)close(standing->lock);
    }
    tr_free(standing);
    return status;
}
