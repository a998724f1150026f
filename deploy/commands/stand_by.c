/*
 * Waiting for work: for all of it, or for a share of a host that works beside others
 * (`host_address`). The folder is locked meanwhile, as by an engine, so that it is one host's.
 *
 * Once a second one look at the database. What it means is decided in runtime/members/member.h;
 * that nobody else takes the work at the same time, and that the other one has it no more, is the
 * database's matter.
 *
 * A host that wants a share says where it listens, and the others give it partitions. Before that
 * it ends what its earlier life had begun, and brings in what that has left in its log: who is
 * given work has no earlier life any more.
 */
#include "deploy/commands/stand_by.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/common/notify.h"
#include "deploy/common/schemas.h"
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
    uint64_t owner;  /* who was told to have the work; 0: nobody */
    bool waits;      /* for a database that does not answer */
    bool is_settled; /* what its earlier life has left is in the tables */
    bool listens;    /* it has said where */
    char words[TRI_STORE_EXPLAIN_BYTES];
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

/* What one host has stored has to be there for the others. `owner` is NULL where there is none. */
static enum tr_exit_status check_blobs(struct standing *standing, const struct tri_member *owner)
{
    const struct tr_settings_file *settings = standing->options->settings;
    const struct tr_command *command = standing->invocation->command;
    tri_store_blobs_where(standing->options->folder, settings != NULL ? settings->blobs : NULL,
                          standing->blobs);
    if (owner == NULL) {
        return standing->blobs[0] != '\0'
                   ? TR_EXIT_DONE
                   : tr_command_failed(command,
                                       "a host with `host_address` works beside others, and this "
                                       "one would keep its blobs in its own folder; " SET_BLOBS);
    }
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

/* ---- Wanting a share. ------------------------------------------------------------------------ */

static bool wants_share(const struct standing *standing)
{
    return standing->options->host_address != NULL;
}

/* Whether a host works beside others, as far as its row says. */
static bool works_beside(const struct tri_member *member)
{
    return member->address[0] != '\0' && member->has_key;
}

/* TR_BUSY: later again. */
static int settle(struct standing *standing)
{
    const struct tri_store_options options = {.folder = standing->options->folder,
                                              .durability = TR_DURABILITY_FULL,
                                              .records = tr_program_records,
                                              .record_count = tr_program_record_count};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    int error =
        standing->is_settled ? 0 : tri_store_settle(&options, standing->registry->self, explain);
    standing->is_settled = error == 0;
    if (error != 0 && error != TR_BUSY) {
        (void)snprintf(standing->words, sizeof standing->words, "%s", explain);
    }
    return error;
}

/*
 * Nobody is spoken to yet: the engine draws its keys, and says so when it begins. Until then the
 * public one is a digest, whose secret nobody has: whoever listens in its place hears nothing.
 */
static int listen_once(struct standing *standing)
{
    uint8_t of_nobody[TR_WIRE_KEY_BYTES];
    _Static_assert(sizeof of_nobody == crypto_hash_sha256_BYTES, "a digest is a key");
    char address[TR_HOST_ADDRESS_BYTES];
    (void)snprintf(address, sizeof address, "tcp://%s", standing->options->host_address);
    crypto_hash_sha256(of_nobody, (const uint8_t *)address, strlen(address));
    int error = standing->listens ? 0 : tri_registry_listen(standing->registry, address, of_nobody);
    standing->listens = error == 0;
    return error == TR_INVALID ? TR_BUSY : error; /* another has given it work of its log again */
}

/* Has the others know that this host is ready for some of the work, as soon as it is. */
static enum tr_exit_status want_share(struct standing *standing)
{
    if (!wants_share(standing)) {
        return TR_EXIT_DONE;
    }
    int error = settle(standing);
    if (error == 0) {
        error = listen_once(standing);
    }
    return error == 0 || error == TR_BUSY || standing->words[0] == '\0'
               ? TR_EXIT_DONE
               : failed(standing, standing->words);
}

/* ---- Waiting. -------------------------------------------------------------------------------- */

/* Says once who has the work, or that the database does not answer. */
static void tell_wait(struct standing *standing, const struct tri_member *owner)
{
    bool is_told = owner == NULL || (standing->owner == owner->number && !standing->waits);
    standing->waits = false;
    if (is_told) {
        return;
    }
    standing->owner = owner->number;
    if (!wants_share(standing)) {
        tr_command_note(standing->invocation,
                        "standing by: host %s has the work of this store, in %s of %s", owner->name,
                        owner->folder, owner->machine);
    } else if (works_beside(owner)) {
        tr_command_note(standing->invocation,
                        "joining: host %s and those beside it give this one a share of the work",
                        owner->name);
    } else {
        tr_command_note(standing->invocation,
                        "standing by: host %s has the work of this store, in %s of %s, and gives "
                        "none away: it has no `host_address`",
                        owner->name, owner->folder, owner->machine);
    }
}

static void tell_outage(struct standing *standing)
{
    if (!standing->waits) {
        tr_command_note(standing->invocation, "standing by: %s",
                        tri_registry_explain(standing->registry));
        standing->waits = true;
    }
}

/* Whether it is enough to begin: a share, or all of the work. */
static bool is_enough(const struct standing *standing, uint64_t owned)
{
    return wants_share(standing) || owned == standing->view.partition_count;
}

/* Takes the work; false: the other one lives, a third was quicker, or others have more of it. */
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
    return is_enough(standing, own->owned + owner->owned);
}

/* One look; whether this host has the work, or must end. */
static enum tr_exit_status look(struct standing *standing, bool *has_work)
{
    const struct tri_member *owner = NULL;
    const struct tri_member *own;
    uint64_t asked_ms = tr_clock_ms();
    if (tri_registry_look(standing->registry, &standing->view) != 0) {
        tell_outage(standing);
        return TR_EXIT_DONE;
    }
    tri_member_watch_hear(&standing->watch, &standing->view, asked_ms, tr_clock_ms());
    enum tr_exit_status status = want_share(standing);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    switch (tri_member_find(&standing->watch, &standing->view, standing->registry->incarnation,
                            &owner)) {
    case TRI_MEMBER_WAIT:
        tell_wait(standing, owner);
        break;
    case TRI_MEMBER_TAKE:
        *has_work = (!wants_share(standing) || standing->is_settled) && take(standing, owner);
        break;
    case TRI_MEMBER_OWN:
        own = tri_member_view_find(&standing->view, standing->watch.self);
        *has_work = standing->view.owner == 0 || is_enough(standing, own->owned);
        break;
    case TRI_MEMBER_FENCED:
        own = tri_member_view_find(&standing->view, standing->watch.self);
        return failed(standing, own != NULL && own->why[0] != '\0'
                                    ? own->why
                                    : "this host was forgotten, or begun anew elsewhere");
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

/* Another host that has work which this one wants; NULL: an engine may begin. */
static const struct tri_member *find_other(const struct standing *standing)
{
    const struct tri_member *other = NULL;
    for (size_t i = 0; i < standing->view.count; i++) {
        const struct tri_member *member = &standing->view.members[i];
        bool is_this = tr_active_host_is(standing->options->folder, member);
        if (is_this && member->owned > 0 && wants_share(standing)) {
            return NULL;
        }
        other = !is_this && member->owned > 0 && other == NULL ? member : other;
    }
    return other;
}

/* Hosts of a store work beside each other, or one at a time. */
static enum tr_exit_status check_kind(const struct standing *standing)
{
    for (size_t i = 0; !wants_share(standing) && i < standing->view.count; i++) {
        const struct tri_member *member = &standing->view.members[i];
        bool is_other = !tr_active_host_is(standing->options->folder, member);
        bool works = member->state == TRI_MEMBER_UP && member->owned > 0;
        if (is_other && works && works_beside(member)) {
            return tr_command_failed(standing->invocation->command,
                                     "host %s works beside others on this store, and this one has "
                                     "no `host_address`; set it to IP:PORT, where the others reach "
                                     "this host (deploy/HOSTS.md)",
                                     member->name);
        }
    }
    return TR_EXIT_DONE;
}

/* What the registry cannot say, the store's opening will. */
static enum tr_exit_status look_first(struct standing *standing)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    int error = tri_store_registry_open(standing->options->folder, NULL, false, explain,
                                        &standing->registry);
    if (error == 0 && tri_registry_look(standing->registry, &standing->view) != 0) {
        standing->view.count = 0;
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status stand(struct standing *standing, bool *is_leaving)
{
    enum tr_exit_status status = TR_EXIT_DONE;
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

enum tr_exit_status tr_stand_by_check(const struct tr_invocation *invocation,
                                      const struct tr_live_options *options)
{
    char locator[TRI_STORE_LOCATOR_BYTES] = "";
    bool is_known = tri_store_folder_locator(options->folder, NULL, locator) != TR_STORE_DAMAGED;
    if (options->host_address == NULL || !is_known || locator[0] != '\0') {
        return TR_EXIT_DONE;
    }
    return tr_command_failed(invocation->command,
                             "only hosts of a store in PostgreSQL work beside each other: leave "
                             "`host_address` out, or name such a store (deploy/HOSTS.md)");
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
    status = look_first(standing);
    const struct tri_member *other = find_other(standing);
    if (status == TR_EXIT_DONE) {
        status = check_kind(standing);
    }
    if (status == TR_EXIT_DONE && (other != NULL || wants_share(standing))) {
        status = check_blobs(standing, other);
    }
    if (status == TR_EXIT_DONE && other != NULL) {
        status = stand(standing, is_leaving);
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
