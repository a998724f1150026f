/*
 * Two hosts on stages, numbers 1 and 2, each with the partition of that number, and what their
 * interhost actors say to each other carried by the test: each message, as it is, from the place of
 * the interhost service to the worker of the interhost actor that it is for. There are no sessions;
 * a test says itself that a link is up or down.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_CLUSTER_CROSSING_H
#define TR_TESTS_UNIT_RUNTIME_CLUSTER_CROSSING_H

#include "runtime/cluster/interhost.h"
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

struct crossing_host {
    struct stage stage;
    struct tri_model *model;
    struct tri_store *store;
    bool is_gone; /* the other one has its partition, and what was in its store */
};

/* How often a message from a host (0 or 1) goes on. */
typedef uint32_t crossing_copies(uint32_t from, struct tr_bytes message);

struct crossing {
    struct crossing_host hosts[2];
    uint32_t workers;
    uint64_t memory_before;
    uint16_t numbers[2]; /* of the hosts that have the stores now */
    uint64_t view;
    crossing_copies *copies; /* NULL: once */
    void (*at_change)(void); /* called before a host that takes hears of its owners; or NULL */
};

extern struct crossing crossing;

/* Opens both hosts with so many workers, and tells them that the link is up. */
void crossing_open(uint32_t workers);
void crossing_close(void);

/* A host ends between two steps and starts again; its link is down then. */
void crossing_crash(uint32_t host);

/*
 * A host ends, and its store and partition go on with one of another number; crossing_tell says so
 * to the workers of the other host, as its interhost service does.
 */
void crossing_take_over(uint32_t host);
void crossing_tell(uint32_t host);

/*
 * A host is lost, and the other one, which runs, takes its partition over: with what its store had,
 * which is in that of the other one from then on.
 */
void crossing_take(uint32_t lost);

/* Tells the workers of a host that its link to the other one is up or down. */
void crossing_link(uint32_t host, bool is_up);

/* Lets everything happen, and carries what is said, until nobody has anything to do. */
void crossing_run(void);

/* The same while time passes on both. */
void crossing_advance(uint64_t milliseconds);

/* Brings one message to a host. */
void crossing_bring(uint32_t host, struct tr_bytes message);

/* A fake actor on a host; and the host it is on. */
struct tr_ref crossing_fake(uint32_t host);
struct stage *crossing_stage(struct tr_ref actor);

/* Gives a group an epoch, in the store too, as if it had moved: on the worker where it began. */
void crossing_set_epoch(struct tri_worker *worker, uint64_t group, uint32_t epoch);

/* The interhost actor of an actor's group, or NULL. */
struct tri_actor *crossing_interhost(struct tr_ref actor);

/* Lets a fake actor act, and everything follow. */
void crossing_act(struct tr_ref fake, fake_actor_script script, uint64_t number,
                  struct tr_ref peer);

/* What is said of a type, kept instead of carried while this is on; crossing_kept_count of them. */
#define CROSSING_KEPT_MAX 1024
struct crossing_kept {
    uint32_t from;
    uint8_t *data;
    size_t size;
};
extern struct crossing_kept crossing_kept[CROSSING_KEPT_MAX];
extern size_t crossing_kept_count;

/* A `copies` that keeps everything and carries nothing. */
uint32_t crossing_keep(uint32_t from, struct tr_bytes message);

/* Brings one of those to where it was going. */
void crossing_bring_kept(size_t index);
void crossing_forget_kept(void);

#endif
