/*
 * The hosts of a store that several may have, and what one of them makes of what it sees of the
 * others. Pure: no thread, no clock and no database, so the simulator decides by the same code.
 *
 * The database decides who has the work of the store; a look at the others says only when one may
 * try to take it. A host lives as long as one of its numbers changes: its beat, which it raises
 * once a second, its incarnation, or what it has committed. A host that looks measures by its own
 * steady clock for how long they have stood still, and only while its own looks come in time: after
 * one that was late (it was stopped, or the database was away from it) it measures all others anew.
 * So nobody is fenced because everybody was cut off, and clocks of two machines are never compared.
 */
#ifndef TR_RUNTIME_MEMBERS_MEMBER_H
#define TR_RUNTIME_MEMBERS_MEMBER_H

#include "runtime/journal/store.h"
#include "runtime/limits.h"
#include "runtime/link/wire_keys.h"

/* Hosts that a store may have, those that have left and were not forgotten among them. */
#define TRI_MEMBERS_MAX 64

/*
 * How often a host says that it lives, and how late a look may be that still counts: so much, or
 * one of so many parts of the lease, if that is less.
 */
#define TRI_MEMBER_BEAT_MS 1000
#define TRI_MEMBER_LATE_MS 2000
#define TRI_MEMBER_LATE_PARTS 4

/* How long a silent host is waited for: the standard, and what may be set. */
#define TRI_MEMBER_LEASE_MS 10000
#define TRI_MEMBER_LEASE_MS_MIN 3000
#define TRI_MEMBER_LEASE_MS_MAX 60000

/* How long processes of a host that is lost may still run, if it keeps them within bounds. */
#define TRI_MEMBER_PROCESS_LEASE_MS 300000
#define TRI_MEMBER_PROCESS_LEASE_MS_MIN 10000
#define TRI_MEMBER_PROCESS_LEASE_MS_MAX 86400000

/* Bytes of the words for why a host is down. */
#define TRI_MEMBER_WHY_BYTES 256

/*
 * What the database says of a host. `may_be_taken`: nobody waits for it, so its work goes on with
 * whoever comes first.
 */
#define TRI_MEMBER_STATES(S)                             \
    S(UP, 1, "up", false)                                \
    S(LEFT, 2, "left", true) /* it has ended in order */ \
    S(DEAD, 3, "dead", true) /* another has fenced it; it was not back */

enum tri_member_state {
#define TRI_STATE(name, number, text, may_be_taken) TRI_MEMBER_##name = (number),
    TRI_MEMBER_STATES(TRI_STATE)
#undef TRI_STATE
};

/* The name of a state; "unknown" for any other number. */
const char *tri_member_state_name(uint64_t state);

/* Whether the work of a host in this state may be taken without waiting for it. */
bool tri_member_may_be_taken(uint64_t state);

/* What of its processes may still run when a host is lost. */
enum tri_member_processes {
    TRI_MEMBER_PROCESSES_NONE,    /* nothing */
    TRI_MEMBER_PROCESSES_BOUND,   /* its keeper ends them when its lease is over */
    TRI_MEMBER_PROCESSES_UNBOUND, /* nobody knows for how long */
};

/* What changes while a host lives. */
struct tri_member_signs {
    uint64_t incarnation;
    uint64_t commits;
    uint64_t last_number;
    uint64_t last_sequence; /* of its log */
    uint64_t beat;
};

/* A host, as one look at the database finds it. Times are of the database's clock. */
struct tri_member {
    uint64_t number; /* 1 and up */
    char name[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint64_t state; /* enum tri_member_state */
    struct tri_member_signs signs;
    uint64_t owned; /* partitions of the store's groups that it has */
    uint32_t lease_ms;
    uint32_t process_lease_ms;
    uint64_t processes; /* enum tri_member_processes */
    uint64_t since_ms;  /* since when it is in its state */
    uint64_t silent_ms; /* for how long it has not raised its beat */
    char why[TRI_MEMBER_WHY_BYTES];
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    char folder[200];
    char blobs[200];
    uint8_t place[32];                   /* the digest of its folder's file */
    uint64_t slot;                       /* below TRI_MEMBERS_MAX, of no other host */
    char address[TR_HOST_ADDRESS_BYTES]; /* where it listens to others; "": nowhere */
    bool has_key;
    uint8_t key[TR_WIRE_KEY_BYTES]; /* its public one */
    bool is_drained;                /* it gives all that it can, and gets nothing */
};

/* What keeps a partition where it is, of several the one that may take longest. */
enum tri_member_wait {
    TRI_MEMBER_WAITS_NOT,
    TRI_MEMBER_WAITS_CALLS,     /* calls that are not answered yet */
    TRI_MEMBER_WAITS_PROCESSES, /* processes that run there, or their files */
    TRI_MEMBER_WAITS_HOST,      /* the host speaks in it itself, until it ends */
};

/* How far the move of a partition is. */
struct tri_member_move {
    uint64_t host;
    uint64_t wanted;    /* at which host; 0: it stays */
    uint64_t waits;     /* enum tri_member_wait */
    uint64_t frozen_us; /* for how long its groups stood still when it moved last */
    bool is_frozen;     /* they still do: its host has not loaded them yet */
};

/* One look: all hosts in the order of their numbers, and which has which partition of the work. */
struct tri_member_view {
    struct tri_member members[TRI_MEMBERS_MAX];
    size_t count;
    uint64_t partitions[TR_PARTITIONS_MAX]; /* the host of each; 0: nobody yet */
    uint32_t epochs[TR_PARTITIONS_MAX];     /* how many hosts each has had */
    uint64_t wanted[TR_PARTITIONS_MAX];     /* at which host each is wanted; 0: it stays */
    size_t partition_count;
    uint64_t owner;  /* the host of the first; 0: nobody yet */
    uint64_t view;   /* the number of the last change of owners or members */
    uint64_t newest; /* the last incarnation that any host was given */
    uint64_t now_ms; /* of the database's clock */
};

/* The host of a number; NULL: there is none. */
const struct tri_member *tri_member_view_find(const struct tri_member_view *view, uint64_t number);

/* What a host remembers of its looks. All zero but `self`: none so far. */
struct tri_member_watch {
    uint64_t self; /* the host that looks */
    bool has_looked;
    uint64_t looked_ms; /* when the last look was answered, by its own steady clock */
    struct {
        uint64_t number;
        struct tri_member_signs signs;
        uint64_t since_ms; /* the signs were these then already, and ever since */
    } others[TRI_MEMBERS_MAX];
    size_t count;
};

/* Takes in a look that was asked at `asked_ms` and answered at `heard_ms`. */
void tri_member_watch_hear(struct tri_member_watch *watch, const struct tri_member_view *view,
                           uint64_t asked_ms, uint64_t heard_ms);

/* For how long a host has shown no sign of life, as far as this one can tell. */
uint64_t tri_member_watch_silent_ms(const struct tri_member_watch *watch, uint64_t number);

/* What a host finds. */
enum tri_member_finding {
    TRI_MEMBER_WAIT,   /* others have the work, and live */
    TRI_MEMBER_TAKE,   /* another has some, and may be fenced: as it was in this look */
    TRI_MEMBER_OWN,    /* this host has some of the work, or nobody has any */
    TRI_MEMBER_FENCED, /* this host is none any more: fenced, forgotten, or begun anew elsewhere */
};

/*
 * What the last look means to the host that looks, whose incarnation is `incarnation`; for
 * TRI_MEMBER_WAIT and TRI_MEMBER_TAKE `*owner` (NULL otherwise) is who has the work. A host that
 * has some itself takes that of others as well.
 */
enum tri_member_finding tri_member_find(const struct tri_member_watch *watch,
                                        const struct tri_member_view *view, uint64_t incarnation,
                                        const struct tri_member **owner);

/* Who gets the partitions of a lost host: one for each partition of the view; 0: it is not its. */
struct tri_member_shares {
    uint64_t hosts[TR_PARTITIONS_MAX];
    size_t count;
    bool are_live;      /* what lies in them goes with them (tri_registry_give) */
    uint64_t frozen_us; /* and stood still for so long until then */
};

/*
 * Divides the partitions of a lost host among those that have work and live, as far as this look
 * shows, and the host that takes it: each in turn gets one where it has fewest. Hosts that stand by
 * get nothing, since they do nothing yet.
 */
void tri_member_divide(const struct tri_member_view *view, uint64_t lost, uint64_t taker,
                       struct tri_member_shares *shares);

/*
 * What a host gives of its partitions to others that have fewer of them, live, and say where they
 * listen: so many that no two of them are more than one apart, once each has given its part. Those
 * that it may not give (`may`; NULL: it may give all) it keeps; it gives its last ones first. A
 * host that listens and has none is one that comes. One that is drained gives all, and gets none.
 */
void tri_member_spread(const struct tri_member_view *view, uint64_t self, const bool *may,
                       struct tri_member_shares *shares);

/* What a person is told of a host: its state, or "standing by", "joining" or "suspected". */
const char *tri_member_show(const struct tri_member *member);

/*
 * Why a host was fenced, for all that ask: "host a was fenced by host b: it did not answer for
 * 10 s". `words` has TRI_MEMBER_WHY_BYTES.
 */
void tri_member_explain_fence(const struct tri_member *fenced, const char *by, char *words);

/*
 * When the processes of a host that is lost have certainly ended: in how many milliseconds from
 * this look, 0: they have, UINT64_MAX: nobody knows, it has to be forgotten, or to come back.
 */
uint64_t tri_member_processes_end_ms(const struct tri_member_view *view,
                                     const struct tri_member *member);

#endif
