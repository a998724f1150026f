/*
 * Planted faults: what a mistake in the runtime would do, done on purpose, to see that the
 * simulator finds it. They are made around the function tables of links and stores; the runtime
 * itself has no hooks for them and costs nothing.
 */
#ifndef TR_TESTS_SIM_PLANT_H
#define TR_TESTS_SIM_PLANT_H

#include "runtime/journal/store.h"

struct sim_host;
struct sim_world;

struct sim_plant {
    const char *name;
    const char *text;
    uint64_t first_seed; /* that finds it */
    /* A batch goes into a pipe: does that, or something worse. Takes the data over. NULL: sound. */
    void (*send)(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size);
    /* An operation goes to the store: whether it may. NULL: all do. */
    bool (*keep)(struct sim_host *host, const struct tri_op *op);
    /* Whether this commit is only said to be done. NULL: never. */
    bool (*skips_commit)(struct sim_host *host);
    /* An image that was loaded, in a buffer that may be changed; gives its new size. */
    size_t (*load)(struct sim_host *host, uint8_t *image, size_t size, size_t capacity);
};

extern const struct sim_plant sim_plants[];
extern const size_t sim_plant_count;

/* The plant with this name, or NULL. */
const struct sim_plant *sim_plant_find(const char *name);

/* Puts a batch into its pipe, by way of the world's plant. */
void sim_plant_send(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size);

/*
 * A store around another one, which the world's plant may spoil, and which feeds the shadow of the
 * host. Closing it closes the inner one.
 */
struct tri_store *sim_store_around(struct sim_host *host, struct tri_store *inner);

#endif
