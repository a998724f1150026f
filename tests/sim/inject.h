/*
 * Injected bugs: what a mistake in the runtime would do, done on purpose, to see that the
 * simulator finds it. They are made around the function tables of links and stores; the runtime
 * itself has no hooks for them and costs nothing.
 */
#ifndef TR_TESTS_SIM_INJECT_H
#define TR_TESTS_SIM_INJECT_H

#include "runtime/journal/store.h"
#include "schemas/runtime/control.h"
#include "tests/sim/play.h"

struct sim_bug {
    const char *name;
    const char *text;
    const char *found_by;
    uint64_t first_seed; /* that finds it */
    bool is_blind;       /* the shadow does not look at the store: others must notice */
    /* A batch goes into a pipe: does that, or something worse. Takes the data over. NULL: sound. */
    void (*send)(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size);
    /* An operation goes to the store: whether it may. NULL: all do. */
    bool (*keep)(struct sim_host *host, const struct tri_op *op);
    /* Whether this commit is only said to be done. NULL: never. */
    bool (*skips_commit)(struct sim_host *host);
    /* An image is loaded: changes it, with room for twice as many bytes as it has. */
    void (*load)(struct sim_host *host, struct tr_image *image, uint8_t *room);
    /* A message is loaded: changes its envelope. */
    void (*load_message)(struct sim_host *host, uint8_t *envelope);
    bool skips_range; /* a start does not load the last of its ranges of groups */
    /* An actor's turn: takes it, or something worse. NULL: sound. */
    int (*turn)(struct tr_context *context, void *state, const struct tr_message *message,
                const struct tr_behaviour *behaviour);
    bool is_in_plugin; /* it strikes in the plugin itself */
    /* The journal is about to take a turn. NULL: sound. */
    void (*step_journal)(struct sim_host *host);
    enum tri_database_bug database; /* it strikes in the modelled database server */
    /* A host is about to start: spoils its disk. */
    void (*start)(struct sim_host *host);
    /* A host has its own group and incarnation, and says nothing yet: gives it others. */
    void (*name_host)(struct sim_host *host);
};

/* Those of the runtime, for the actors. */
extern const struct sim_bug sim_bugs[];
extern const size_t sim_bug_count;

/* The injected bug of a play with this name, or NULL. */
const struct sim_bug *sim_inject_find(const struct sim_play *play, const char *name);

/* Whether the fault strikes this time: once in so many, drawn from the seed. */
bool sim_inject_strikes(struct sim_host *host, uint32_t once_in);

/* Puts a batch into its pipe, by way of the world's injected bug. */
void sim_inject_send(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size);

/* The bytes of an image as the world's injected bug makes them; of malloc. */
uint8_t *sim_inject_image(struct sim_host *host, struct tr_bytes image, size_t *size);

/*
 * A store around another one, which the world's injected bug may spoil, and which feeds the shadow
 * of the host. Closing it closes the inner one.
 */
struct tri_store *sim_store_around(struct sim_host *host, struct tri_store *inner);

/* inject_link.c: what goes wrong between places. */
typedef void sim_inject_link(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                             size_t size);
sim_inject_link sim_inject_reorders;
sim_inject_link sim_inject_doubles;
sim_inject_link sim_inject_loses;
sim_inject_link sim_inject_calls_early;
sim_inject_link sim_inject_loses_flush;
sim_inject_link sim_inject_opens_early;
sim_inject_link sim_inject_loses_down;
sim_inject_link sim_inject_loses_orphans;
sim_inject_link sim_inject_empties_snapshot;
sim_inject_link sim_inject_forgets_parents;

/* inject_interhost.c: what goes wrong between hosts. */
sim_inject_link sim_inject_acknowledges_early;
sim_inject_link sim_inject_skips_resend;
sim_inject_link sim_inject_numbers_again;
sim_inject_link sim_inject_hides_down;
sim_inject_link sim_inject_hides_up;
sim_inject_link sim_inject_hides_owners;
bool sim_inject_keeps_interhost(struct sim_host *host, const struct tri_op *op);

/* inject_log.c: what goes wrong with the log of commits in front of SQLite. */
typedef void sim_inject_start(struct sim_host *host);
sim_inject_start sim_inject_syncs_no_log;
sim_inject_start sim_inject_skips_hole;
sim_inject_start sim_inject_ignores_sequence;
sim_inject_start sim_inject_reuses_early;
sim_inject_start sim_inject_forgets_end;
sim_inject_start sim_inject_takes_torn;

/* All but how late it is. */
bool sim_inject_keeps_clock(struct sim_host *host, const struct tri_op *op);

#endif
