/*
 * All limits of the keeper of processes and of its clients.
 */
#ifndef TR_RUNTIME_KEEPER_CLIENT_KEEPER_LIMITS_H
#define TR_RUNTIME_KEEPER_CLIENT_KEEPER_LIMITS_H

#include "runtime/env/env_limits.h"

/* Bytes of a process's key: an address and its attempt. */
#define TR_KEEPER_KEY_BYTES_MAX TR_ADDRESS_BYTES_MAX

/* Processes running at once; more are refused as busy. Quotas stay far below it. */
#define TR_KEEPER_CHILDREN_MAX 4096

/* Keys known at once: running, and ended but not forgotten. More are refused as busy. */
#define TR_KEEPER_KEYS_MAX 262144

/* Descendants that left their group, were adopted by the keeper, and are tracked by key. */
#define TR_KEEPER_ORPHANS_MAX 4096

/* Bytes of one frame; a process_start with its arguments is the largest. */
#define TR_KEEPER_FRAME_BYTES_MAX TR_MESSAGE_BYTES_MAX

/*
 * Unsent bytes of one client. Above the first, no more ends are queued for it and nothing is read
 * from it; above the second, answers are refused too and the client is disconnected.
 */
#define TR_KEEPER_OUTPUT_BYTES_SOFT (256U << 10)
#define TR_KEEPER_OUTPUT_BYTES_MAX (8U << 20)

/* Bytes read from one client before the others and the processes have their turn. */
#define TR_KEEPER_INPUT_BYTES_PER_TURN (256U << 10)

/* Clients at once: one engine, and commands. */
#define TR_KEEPER_CLIENTS_MAX 16

/* Unsent bytes in a client before it is busy. */
#define TR_KEEPER_CLIENT_OUTPUT_BYTES_MAX (4U << 20)

/* The log is rewritten when this many bytes of it concern forgotten keys. */
#define TR_KEEPER_LOG_FORGOTTEN_BYTES_MAX (4U << 20)

/*
 * Bytes by which a full log is extended. Syncing bytes within a file takes a fraction of the time
 * of syncing a file that has grown.
 */
#define TR_KEEPER_LOG_GROWTH_BYTES (256U << 10)

/* A larger log is refused: the keeper never writes one. */
#define TR_KEEPER_LOG_BYTES_MAX (1U << 30)

/* Bytes of a place (boot, process namespace, folder) in the log. */
#define TR_KEEPER_PLACE_BYTES_MAX 256

/*
 * Up to this many folders of ended processes are synced file by file; more at once by syncfs, as is
 * a folder with more files or deeper subfolders than these.
 */
#define TR_KEEPER_SYNC_ALONE_MAX 4
#define TR_KEEPER_SYNC_FILES_MAX 256
#define TR_KEEPER_SYNC_DEPTH_MAX 32

/*
 * Which part of a lease its processes live without another word, in hundredths: the rest is for
 * clocks that do not run alike, and for the end of the last process.
 */
#define TR_KEEPER_LEASE_PERCENT 80

/* How long a keeper stays without children and clients; unreported ends are in its log. */
#define TR_KEEPER_IDLE_MS 10000

/* Interval of checks whether the store's folder exists, and of retries on a full disk. */
#define TR_KEEPER_WATCH_MS 1000

/*
 * How long an engine may take to claim the processes of an earlier one after it connected;
 * unclaimed ones then take no place.
 */
#define TR_KEEPER_CLAIM_MS 2000

/*
 * While all places are taken, ends within this time are logged with one sync and reported together;
 * no start is delayed by it.
 */
#define TR_KEEPER_GATHER_MS 3

/* Spend at most 1/N of the wall time searching for descendants that left their group. */
#define TR_KEEPER_ORPHAN_SCAN_SHARE 50

/*
 * Grace of processes stopped because the keeper is asked to end; a shorter grace of their own wins.
 */
#define TR_KEEPER_LEAVE_GRACE_MS 10000

/* How long a command that is run behind an end may take; the end is reported by then. */
#define TR_KEEPER_AFTER_MS 5000

/*
 * Warm workers: how many there are at once, which of them the least recently used makes room for
 * another; attempts that one of them has not answered yet, of which the others wait in the keeper;
 * how long an attempt waits for imports before it is started without them; how long one stays that
 * is not used; how often one may die with attempts before it is not tried again.
 */
#define TR_KEEPER_WARM_MAX 8
#define TR_KEEPER_WARM_AHEAD 4
#define TR_KEEPER_WARM_WAIT_MS 60000
#define TR_KEEPER_WARM_IDLE_MS 60000
#define TR_KEEPER_WARM_DEATHS_MAX 3

/* Bytes of a process's environment that are searched for the mark of its key. */
#define TR_KEEPER_ENVIRON_BYTES_MAX (512U << 10)

/* Lines that a keeper writes to keeper.err at most. */
#define TR_KEEPER_COMPLAINTS_MAX 1000

/* How long a client tries to reach or start a keeper, and its retry interval. */
#define TR_KEEPER_CONNECT_MS_MAX 10000
#define TR_KEEPER_CONNECT_RETRY_MS 10

/* How long freeing a client waits for the exit of the process that started the keeper. */
#define TR_KEEPER_CHILD_END_MS_MAX 1000

#endif
