/*
 * A model of where the hosts of a store are written down.
 */
#include "tests/sim/model_registry.h"

#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"

struct model_registry {
    struct tri_registry registry;
    struct tri_hosts_model *model;
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static struct model_registry *of(struct tri_registry *registry)
{
    return (struct model_registry *)registry;
}

static struct tri_member *find(struct tri_hosts_model *model, uint64_t number)
{
    for (size_t i = 0; i < model->view.count; i++) {
        if (model->view.members[i].number == number) {
            return &model->view.members[i];
        }
    }
    return NULL;
}

size_t tri_hosts_model_owned(const struct tri_hosts_model *model, uint64_t host)
{
    size_t owned = 0;
    for (size_t i = 0; i < model->view.partition_count; i++) {
        owned += model->view.partitions[i] == host;
    }
    return owned;
}

void tri_hosts_model_give(struct tri_hosts_model *model, uint64_t partition, uint64_t host)
{
    struct tri_member_view *view = &model->view;
    size_t count = (size_t)partition + 1;
    view->epochs[partition] += view->partitions[partition] != host;
    view->partitions[partition] = host;
    view->partition_count = count > view->partition_count ? count : view->partition_count;
    view->owner = view->partitions[0];
    view->view++;
}

static int report(struct model_registry *self, int error, const char *words)
{
    (void)snprintf(self->words, sizeof self->words, "%s", words);
    return error;
}

static int ask(struct model_registry *self)
{
    return self->model->is_away ? report(self, TR_BUSY, "the database is away") : 0;
}

/* The host that the registry speaks for, if it is still that. */
static struct tri_member *own(struct model_registry *self)
{
    struct tri_member *member = find(self->model, self->registry.self);
    bool is_same = member != NULL && member->state == TRI_MEMBER_UP &&
                   member->signs.incarnation == self->registry.incarnation;
    return is_same ? member : NULL;
}

static void set_state(struct tri_hosts_model *model, struct tri_member *member, uint64_t state,
                      const char *why)
{
    member->since_ms = member->state == state ? member->since_ms : model->now_ms;
    member->state = state;
    (void)snprintf(member->why, sizeof member->why, "%s", why);
}

/* Where it listens it says when it does. */
static void bring_up(struct tri_hosts_model *model, struct tri_member *member)
{
    set_state(model, member, TRI_MEMBER_UP, "");
    member->address[0] = '\0';
    member->has_key = false;
}

/* In place of a digest, the first bytes of the place. */
static void digest(const struct tri_store_member *member, uint8_t place[32])
{
    memset(place, 0, 32);
    memcpy(place, member->place.data, member->place.size < 32 ? member->place.size : 32);
}

static struct tri_member *find_place(struct tri_hosts_model *model, const uint8_t place[32])
{
    for (size_t i = 0; i < model->view.count; i++) {
        if (memcmp(model->view.members[i].place, place, 32) == 0) {
            return &model->view.members[i];
        }
    }
    return NULL;
}

static bool is_taken(const struct tri_hosts_model *model, const char *name, uint64_t number)
{
    for (size_t i = 0; i < model->view.count; i++) {
        const struct tri_member *member = &model->view.members[i];
        if (member->number != number && strcmp(member->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The lowest slot that no host has. */
static uint64_t find_slot(const struct tri_hosts_model *model)
{
    uint64_t slot = 0;
    for (size_t i = 0; i < model->view.count; i++) {
        if (model->view.members[i].slot == slot) {
            slot++;
            i = (size_t)-1; /* from the beginning */
        }
    }
    return slot;
}

static int enrol(struct model_registry *self, const struct tri_store_member *given,
                 struct tri_member **enrolled)
{
    struct tri_hosts_model *model = self->model;
    uint8_t place[32];
    digest(given, place);
    struct tri_member *member = find_place(model, place);
    if (is_taken(model, given->name, member != NULL ? member->number : 0)) {
        return report(self, TR_EXISTS, "another host has this name");
    }
    if (member == NULL && model->view.count == TRI_MEMBERS_MAX) {
        return report(self, TR_LIMIT, "there are too many hosts");
    }
    if (member == NULL) {
        uint64_t slot = find_slot(model);
        member = &model->view.members[model->view.count++];
        *member = (struct tri_member){
            .number = ++model->numbers, .slot = slot, .processes = TRI_MEMBER_PROCESSES_UNBOUND};
        memcpy(member->place, place, sizeof place);
        model->beat_ms[model->view.count - 1] = model->now_ms;
    }
    (void)snprintf(member->name, sizeof member->name, "%s", given->name);
    (void)snprintf(member->blobs, sizeof member->blobs, "%s", given->blobs);
    member->lease_ms = given->lease_ms;
    member->process_lease_ms = given->process_lease_ms;
    bring_up(model, member);
    *enrolled = member;
    return 0;
}

static int join(struct tri_registry *registry, const struct tri_store_member *given)
{
    struct model_registry *self = of(registry);
    struct tri_member *member = NULL;
    int error = ask(self);
    if (error == 0) {
        error = enrol(self, given, &member);
    }
    if (error != 0) {
        return error;
    }
    member->signs.incarnation = ++self->model->incarnations;
    registry->self = member->number;
    registry->incarnation = member->signs.incarnation;
    return 0;
}

static int look(struct tri_registry *registry, struct tri_member_view *view)
{
    struct model_registry *self = of(registry);
    struct tri_hosts_model *model = self->model;
    int error = ask(self);
    if (error != 0) {
        return error;
    }
    memcpy(view, &model->view, sizeof *view);
    view->now_ms = model->now_ms;
    for (size_t i = 0; i < view->count; i++) {
        view->members[i].silent_ms = model->now_ms - model->beat_ms[i];
        view->members[i].owned = tri_hosts_model_owned(model, view->members[i].number);
    }
    struct tri_member *member = own(self); /* the look is of the moment before the beat */
    if (member != NULL) {
        member->signs.beat++;
        model->beat_ms[member - model->view.members] = model->now_ms;
    }
    return 0;
}

static bool is_as_seen(const struct tri_member *now, const struct tri_member *seen)
{
    const struct tri_member_signs *a = &now->signs;
    const struct tri_member_signs *b = &seen->signs;
    return a->incarnation == b->incarnation && a->commits == b->commits &&
           a->last_number == b->last_number && a->last_sequence == b->last_sequence &&
           a->beat == b->beat;
}

/* Each partition of a host goes to the one that is meant, if that is up. */
static void hand_on(struct tri_hosts_model *model, uint64_t from, uint64_t to,
                    const struct tri_member_shares *shares)
{
    for (size_t i = 0; i < model->view.partition_count; i++) {
        uint64_t wanted = shares != NULL && i < shares->count ? shares->hosts[i] : 0;
        const struct tri_member *member =
            wanted != 0 && wanted != from ? find(model, wanted) : NULL;
        if (model->view.partitions[i] == from) {
            bool is_up = member != NULL && member->state == TRI_MEMBER_UP;
            tri_hosts_model_give(model, i, is_up ? wanted : to);
        }
    }
}

static int take(struct tri_registry *registry, const struct tri_member *seen,
                const struct tri_member_shares *shares, const char *why)
{
    struct model_registry *self = of(registry);
    struct tri_hosts_model *model = self->model;
    struct tri_member *other = find(model, seen->number);
    int error = ask(self);
    if (error != 0) {
        return error;
    }
    if (own(self) == NULL) {
        return report(self, TR_FENCED, "this host was fenced");
    }
    if (other == NULL || (!is_as_seen(other, seen) && !model->takes_whatever_was_seen)) {
        return report(self, TR_CLOSED, "it lives, or another has fenced it");
    }
    if (!model->keeps_incarnation) {
        other->signs.incarnation = ++model->incarnations;
    }
    set_state(model, other, other->state == TRI_MEMBER_UP ? TRI_MEMBER_DEAD : other->state, why);
    hand_on(model, other->number, registry->self, shares);
    return 0;
}

static int vacant(struct tri_registry *registry, bool *found, uint64_t *view)
{
    struct model_registry *self = of(registry);
    struct tri_hosts_model *model = self->model;
    int error = ask(self);
    if (error != 0) {
        return error;
    }
    if (own(self) == NULL) {
        return report(self, TR_FENCED, "this host was fenced");
    }
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        found[i] = i < model->view.partition_count && model->view.partitions[i] == registry->self &&
                   !model->occupied[i];
    }
    *view = ++model->view.view;
    return 0;
}

/* How many of those that are given are as they were seen, and whether each of these may go. */
static size_t count_gifts(const struct model_registry *self, const struct tri_member_shares *shares,
                          const uint32_t *epochs, bool *may_go)
{
    struct tri_hosts_model *model = self->model;
    size_t count = 0;
    for (size_t i = 0; i < shares->count; i++) {
        bool is_gift = shares->hosts[i] != 0 && model->view.partitions[i] == self->registry.self &&
                       model->view.epochs[i] == epochs[i];
        const struct tri_member *member = find(model, shares->hosts[i]);
        bool is_up = member != NULL && member->state == TRI_MEMBER_UP;
        *may_go = *may_go && (!is_gift || (is_up && (shares->are_live || !model->occupied[i])));
        count += is_gift;
    }
    return count;
}

static int give(struct tri_registry *registry, const struct tri_member_shares *shares,
                const uint32_t *epochs, uint64_t *view)
{
    struct model_registry *self = of(registry);
    struct tri_hosts_model *model = self->model;
    bool may_go = true;
    int error = ask(self);
    if (error != 0) {
        return error;
    }
    if (own(self) == NULL && !model->gives_whatever_it_has) {
        return report(self, TR_FENCED, "this host was fenced");
    }
    size_t count = count_gifts(self, shares, epochs, &may_go);
    *view = ++model->view.view;
    if (!may_go) {
        return report(self, TR_INVALID, "something lies there, or a host is not up");
    }
    for (size_t i = 0; i < shares->count && (count > 0 || model->gives_whatever_it_has); i++) {
        if (shares->hosts[i] != 0) {
            tri_hosts_model_give(model, i, shares->hosts[i]);
        }
    }
    *view = model->view.view;
    return 0;
}

/* What no model needs: moves are those of tests/sim/test_moves.c. */
static int want(struct tri_registry *registry, uint64_t partition, uint64_t host, const char *by)
{
    (void)by;
    of(registry)->model->view.wanted[partition] = host;
    return 0;
}

static int stay(struct tri_registry *registry, const struct tri_member_shares *waits)
{
    (void)registry;
    (void)waits;
    return 0;
}

static int open_moved(struct tri_registry *registry)
{
    (void)registry;
    return 0;
}

static int read_move(struct tri_registry *registry, uint64_t partition,
                     struct tri_member_move *move)
{
    const struct tri_member_view *view = &of(registry)->model->view;
    *move = (struct tri_member_move){.host = view->partitions[partition],
                                     .wanted = view->wanted[partition]};
    return 0;
}

static int drain(struct tri_registry *registry, uint64_t host, bool is_drained)
{
    struct tri_member *member = find(of(registry)->model, host);
    if (member != NULL) {
        member->is_drained = is_drained;
    }
    return 0;
}

static int leave(struct tri_registry *registry)
{
    struct model_registry *self = of(registry);
    struct tri_member *member = own(self);
    int error = ask(self);
    if (error == 0 && member != NULL) {
        set_state(self->model, member, TRI_MEMBER_LEFT, "it has ended in order");
    }
    return error;
}

static int forget(struct tri_registry *registry, uint64_t number)
{
    struct model_registry *self = of(registry);
    struct tri_hosts_model *model = self->model;
    struct tri_member *member = find(model, number);
    int error = ask(self);
    if (error != 0) {
        return error;
    }
    size_t place = member != NULL ? (size_t)(member - model->view.members) : 0;
    if (member == NULL || tri_hosts_model_owned(model, number) > 0 ||
        (member->state == TRI_MEMBER_UP &&
         model->now_ms - model->beat_ms[place] <= member->lease_ms)) {
        return report(self, TR_INVALID, "it is up, or has the work");
    }
    model->view.count--;
    memmove(member, member + 1, (model->view.count - place) * sizeof *member);
    memmove(&model->beat_ms[place], &model->beat_ms[place + 1],
            (model->view.count - place) * sizeof model->beat_ms[0]);
    return 0;
}

static int keep(struct tri_registry *registry, enum tri_member_processes processes)
{
    struct model_registry *self = of(registry);
    struct tri_member *member = find(self->model, registry->self);
    int error = ask(self);
    if (error == 0 && member != NULL) {
        member->processes = processes;
    }
    return error;
}

static int listen_at(struct tri_registry *registry, const char *address, const uint8_t *key)
{
    struct model_registry *self = of(registry);
    struct tri_member *member = own(self);
    int error = ask(self);
    if (error != 0 || member == NULL) {
        return error;
    }
    (void)snprintf(member->address, sizeof member->address, "%s", address);
    member->has_key = key != NULL;
    if (key != NULL) {
        memcpy(member->key, key, sizeof member->key);
    }
    self->model->view.view++;
    return 0;
}

static const char *explain_registry(struct tri_registry *registry)
{
    return of(registry)->words;
}

static void close_registry(struct tri_registry *registry)
{
    tr_free(registry);
}

struct tri_registry *tri_model_registry_open(struct tri_hosts_model *model)
{
    static const struct tri_registry_ops ops = {.join = join,
                                                .look = look,
                                                .take = take,
                                                .vacant = vacant,
                                                .give = give,
                                                .want = want,
                                                .stay = stay,
                                                .open_moved = open_moved,
                                                .read_move = read_move,
                                                .drain = drain,
                                                .leave = leave,
                                                .forget = forget,
                                                .keep = keep,
                                                .listen = listen_at,
                                                .explain = explain_registry,
                                                .close = close_registry};
    struct model_registry *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->registry.ops = &ops;
    self->model = model;
    return &self->registry;
}

bool tri_hosts_model_commit(struct tri_hosts_model *model, uint64_t host, uint64_t incarnation)
{
    struct tri_member *member = find(model, host);
    if (model->is_away || member == NULL || member->signs.incarnation != incarnation) {
        return false;
    }
    member->signs.commits++;
    return true;
}

uint64_t tri_hosts_model_claim(struct tri_hosts_model *model, uint64_t host)
{
    struct tri_member *member = find(model, host);
    TR_ASSERT(member != NULL);
    if (tri_hosts_model_owned(model, host) == 0) {
        tri_hosts_model_give(model, 0, host);
    }
    member->signs.incarnation = ++model->incarnations;
    bring_up(model, member);
    return member->signs.incarnation;
}
