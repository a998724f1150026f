/*
 * Every limit of the keeper of processes and of its clients, once and by name.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_LIMITS_H
#define TR_RUNTIME_KEEPER_KEEPER_LIMITS_H

#include "runtime/env/env_limits.h"

/* The key of a process: an address and its attempt. */
#define TR_KEEPER_KEY_BYTES_MAX TR_ADDRESS_BYTES_MAX

/* Processes that run at once; more are refused as busy. Quotas above keep far below it. */
#define TR_KEEPER_CHILDREN_MAX 4096

/* Keys known at once: running, and ended but not forgotten. More are refused as busy. */
#define TR_KEEPER_KEYS_MAX 262144

/* Descendants that left their group and were handed to the keeper, and are told apart by key. */
#define TR_KEEPER_ORPHANS_MAX 4096

/* One frame: a process_start with its arguments is the largest. */
#define TR_KEEPER_FRAME_BYTES_MAX TR_MESSAGE_BYTES_MAX

/* What waits to be sent to one client. Above the first, no more ends are put there and nothing is
 * read from it; above the second, answers too are refused and the client is disconnected. */
#define TR_KEEPER_OUTPUT_BYTES_SOFT (256U << 10)
#define TR_KEEPER_OUTPUT_BYTES_MAX (8U << 20)

/* What is read from one client before the others and the processes have their turn. */
#define TR_KEEPER_INPUT_BYTES_PER_TURN (256U << 10)

/* Clients at once: one engine, and commands that look. */
#define TR_KEEPER_CLIENTS_MAX 16

/* What a client may have on its way to the keeper before it is told to wait. */
#define TR_KEEPER_CLIENT_OUTPUT_BYTES_MAX (4U << 20)

/* The log is written anew when so many bytes of it concern forgotten keys. */
#define TR_KEEPER_LOG_FORGOTTEN_BYTES_MAX (4U << 20)

/* How much longer a log is made when it is full. To sync bytes within a file takes a fraction of
 * the time of syncing a file that has become longer. */
#define TR_KEEPER_LOG_GROWTH_BYTES (256U << 10)

/* A log larger than this is refused when it is read: nothing of ours makes one. */
#define TR_KEEPER_LOG_BYTES_MAX (1U << 30)

/* The name of boot, process namespace and folder in the log. */
#define TR_KEEPER_PLACE_BYTES_MAX 256

/*
 * The folders of so many ended processes are synced file by file; more at once by syncfs, as is one
 * with more files or deeper folders than these.
 */
#define TR_KEEPER_SYNC_ALONE_MAX 4
#define TR_KEEPER_SYNC_FILES_MAX 256
#define TR_KEEPER_SYNC_DEPTH_MAX 32

/* How long a keeper without children and clients stays; ends that it leaves are in the log. */
#define TR_KEEPER_IDLE_MS 10000

/* How often it looks whether its folder still exists, and tries a full disk again. */
#define TR_KEEPER_WATCH_MS 1000

/* How long after its coming an engine may take to ask for what an earlier one has started; what it
 * has not asked for by then takes no place of those that it starts. */
#define TR_KEEPER_CLAIM_MS 2000

/* While processes wait for their turn, and so nobody waits for an end to begin, what ends within so
 * much time is written down with one sync and told at once. */
#define TR_KEEPER_GATHER_MS 3

/* Looking for descendants that left their group may take one part in so many of the time. */
#define TR_KEEPER_ORPHAN_SCAN_SHARE 50

/* The grace of processes that are stopped because the keeper is asked to end; theirs if shorter. */
#define TR_KEEPER_LEAVE_GRACE_MS 10000

/* The environment of a process that is searched for the mark of its key. */
#define TR_KEEPER_ENVIRON_BYTES_MAX (512U << 10)

/* Lines that a keeper writes to keeper.err before it falls silent. */
#define TR_KEEPER_COMPLAINTS_MAX 1000

/* How long a client tries to reach or to start a keeper, and how long it waits between attempts. */
#define TR_KEEPER_CONNECT_MS_MAX 10000
#define TR_KEEPER_CONNECT_RETRY_MS 10

/* How long a client that is freed waits for the end of the process that started the keeper. */
#define TR_KEEPER_CHILD_END_MS_MAX 1000

#endif
