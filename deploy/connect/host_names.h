/*
 * What the hosts of a store in a database are called, for commands that explain it. They are read
 * when the first one is asked for: a store with one host asks for none.
 */
#ifndef TR_DEPLOY_CONNECT_HOST_NAMES_H
#define TR_DEPLOY_CONNECT_HOST_NAMES_H

#include "actors/explain/explain.h"
#include "runtime/members/member.h"
#include "schemas/engine/history.h"

struct tr_host_names {
    struct tr_reader *reader; /* of the store */
    bool is_read;
    struct tri_member_view *view; /* NULL: none can be read */
};

/* The reader outlives them; NULL: none can be read. */
void tr_host_names_init(struct tr_host_names *names, struct tr_reader *reader);
void tr_host_names_fini(struct tr_host_names *names);

/*
 * The host that has a group, such as an execution, where several have some of the work; NULL: one
 * has all of it, or it cannot be read. The text is the names'.
 */
const char *tr_host_names_of(struct tr_host_names *names, uint64_t group);

/* The host where a group is wanted, and goes as soon as it can; NULL: it stays where it is. */
const char *tr_host_names_wanted(struct tr_host_names *names, uint64_t group);

/* The host that an execution lives on; NULL as above, and if it has ended. */
const char *tr_host_names_of_execution(struct tr_host_names *names, const struct tr_execution *row);

/* Whether one of them is called so. */
bool tr_host_names_has(struct tr_host_names *names, const char *name);

/* For explanations; `self` are the names. */
struct tr_explain_hosts tr_host_names_explain(struct tr_host_names *names);

#endif
