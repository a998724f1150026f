/*
 * All limits of the runtime. Reaching one is a visible error.
 *
 * Raising one changes this file and the memory it implies; the comment says which.
 */
#ifndef TR_RUNTIME_LIMITS_H
#define TR_RUNTIME_LIMITS_H

/* Worker threads of a host. Four bits of each serial hold the worker of origin. */
#define TR_WORKERS_MAX 16

/* Behaviours of one program. */
#define TR_BEHAVIOURS_MAX 256

/* Bytes of the fixed part of a state; larger data goes into pages. */
#define TR_STATE_BYTES_MAX 4096

/* Bytes of one page of a state, and pages of one actor. */
#define TR_PAGE_BYTES_MAX 16384
#define TR_PAGES_MAX 65536

/* Bytes of one message, envelope and body. Larger data is passed by reference to a blob. */
#define TR_MESSAGE_BYTES_MAX (1 << 20)

/* Bytes of an actor that moves to another worker, with pages and mailbox. */
#define TR_SNAPSHOT_BYTES_MAX (48 << 20)

/* Messages and time of one run of an actor, so that none starves. */
#define TR_RUN_MESSAGES_MAX 64
#define TR_RUN_NS_MAX 200000

/* Supervision goes first, but one ordinary actor runs after this many urgent ones. */
#define TR_SUPERVISION_BURST 8

/* Messages in a mailbox above which its senders are muted; they are unmuted at half of it. */
#define TR_MAILBOX_SOFT_MAX 4096

/* Messages in a mailbox above which all but replies, DOWN and controls become dead letters. */
#define TR_MAILBOX_HARD_MAX 4194304

/*
 * Effects of one kind of one handler run; a deferred reply counts with its timers, monitors, spawns
 * and rows.
 */
#define TR_EFFECTS_MAX 65536

/*
 * Timers, monitors, links, open questions and deferred replies of one actor. A handler that would
 * exceed it fails; a monitor or a link of another actor without room is answered as an end,
 * TR_LIMIT.
 */
#define TR_EDGES_MAX 16384

/*
 * Memory of the host for each worker by default (struct tr_bounds), and the quarters of it above
 * which new groups are refused, so that others can end.
 */
#define TR_WORKER_BYTES_MAX (8ULL << 30)
#define TR_NEW_GROUP_QUARTERS 3

/* Actors of one group on one worker by default, and their bytes. */
#define TR_GROUP_ACTORS_MAX 2000000U
#define TR_GROUP_BYTES_MAX (6ULL << 30)

/* Messages reserved for the runtime itself without memory. */
#define TR_SIGNAL_RESERVE 256

/* Live actors of one worker: slots are 32 bits, and 0 is none. */
#define TR_ACTORS_PER_WORKER_MAX 200000000U

/* A frame to another worker is sent at this many envelopes or bytes, whichever comes first. */
#define TR_BATCH_ENVELOPES_MAX 256
#define TR_BATCH_BYTES_MAX 65536

/* Batches in a pipe before it is full (a safety net: flow control is by mailboxes). */
#define TR_PIPE_BATCHES_MAX 1024

/* Backlog of a full pipe above which the worker runs no more actors. */
#define TR_PIPE_BACKLOG_MAX 64

/* Handled messages after which a worker makes a cut at the latest. */
#define TR_CUT_MESSAGES_MAX 16384

/*
 * Uncommitted batches of one worker, and their bytes, above which it runs no more actors. Waiting
 * batches become one commit batch, in which later images replace earlier ones: with 8 batches the
 * jobs of a plugin wrote 1.6 times as many pages.
 */
#define TR_CUTS_OUTSTANDING_MAX 32
#define TR_CUT_BYTES_OUTSTANDING_MAX (32ULL << 20)

/*
 * Operations of one commit, and the bytes of its batches: a larger commit batch becomes several
 * commits of whole batches. PostgreSQL takes values up to 1 GiB, and a commit behind a log is one.
 */
#define TR_COMMIT_OPS_MAX 262144
#define TR_COMMIT_BYTES_MAX (64ULL << 20)

/* How long an idle worker spins before it sleeps. */
#define TR_SPIN_NS 30000

/* Consecutive useless spins; then it sleeps at once, until a spin would have paid. */
#define TR_SPINS_LOST_MAX 4

/* After a sleep of this length a worker releases unused message memory. */
#define TR_WORKER_RELEASE_NS 900000000

/* A handler that takes longer is counted, and kept in the flight recorder. */
#define TR_SLOW_HANDLER_MS 5

/* A handler that takes longer ends the process, is counted and then quarantined. */
#define TR_STUCK_HANDLER_MS 10000

/*
 * An actor is quarantined when one of its messages (a poison message) has ended the process this
 * often; if the cause of the end is unknown (kill -9, no memory, power loss), when the message was
 * being handled this often.
 */
#define TR_POISON_ENDS 2
#define TR_POISON_SILENT_ENDS 8

/*
 * A group is not loaded any more when loading it has ended this many starts in a row; and the
 * number of groups kept in that list.
 */
#define TR_ASIDE_ENDS 2
#define TR_ASIDE_MAX 64

/* Messages of one worker to actors that are not there yet. */
#define TR_UNSPAWNED_MESSAGES_MAX 4096

/* Dead letters kept in memory for people (all are counted). */
#define TR_DEAD_LETTERS_KEPT 1024

/* How often a message may be forwarded after a moving actor. */
#define TR_HOPS_MAX 8

/* Actors that are not on their worker of origin. */
#define TR_MOVED_ACTORS_MAX 1048576

/* Moves requested while one is in progress. */
#define TR_MOVES_WAITING_MAX 1024

/* Events of one flight recorder (32 bytes each, one recorder per worker). */
#define TR_RECORDER_EVENTS 16384

/* Crash dumps kept in a store's folder: a start removes older ones. */
#define TR_CRASH_FILES_KEPT 8

/* Events of each worker that a crash writes to stderr if there is no folder for a file. */
#define TR_CRASH_STDERR_EVENTS 64

/* Hosts of one process whose recorders a crash dumps. */
#define TR_CRASH_HOSTS_MAX 16

/* Taps at once, and the maximum values of a filter. */
#define TR_TAPS_MAX 16
#define TR_TAP_EVENTS_MAX 100000000ULL
#define TR_TAP_TYPES_MAX 16
#define TR_TAP_GLOB_BYTES_MAX 511
#define TR_TAP_PAYLOAD_BYTES_MAX 65536
#define TR_TAP_SECONDS_MAX 604800

/* Bytes of one worker's ring for one tap; events without room are counted. */
#define TR_TAP_RING_BYTES (1U << 20)

/* The same for a recording, whose messages are whole; and the maximum of one recording. */
#define TR_RECORDING_RING_BYTES (8U << 20)
#define TR_RECORDING_BYTES_MAX (1ULL << 30)
#define TR_RECORDING_MESSAGES_MAX 10000000ULL

/* How long a reader of a tap sleeps between two reads. */
#define TR_TAP_LOOK_MS 2

/* How long the program waits for a worker's copy of its data. */
#define TR_OBSERVE_MS 1000

/*
 * Operations of a group of another store that a worker loads in one share, and how many bytes of
 * memory each byte of them is taken to need.
 */
#define TR_ADOPT_OPS 1024
#define TR_ADOPT_BYTES_FACTOR 4

/* Spawns that the program can request at once. */
#define TR_HOST_SPAWNS_MAX 16

/* Metrics of a host; gauges and counters of a program. */
#define TR_METRICS_MAX 64
#define TR_GAUGES_MAX 64
#define TR_COUNTERS_MAX 16384

/* Slices in which each run is timed, after a slow one. */
#define TR_TIMED_SLICES 64

/* Partitions of all groups, each of which has one host. */
#define TR_PARTITIONS_MAX 1024

/* Other hosts of one host, and bytes of where one listens, such as "tcp://HOST:PORT". */
#define TR_HOSTS_MAX 64
#define TR_HOST_ADDRESS_BYTES 280

/* Launchers of one project and domain, where several hosts work on one store. */
#define TR_LAUNCHER_SHARDS 64U

/* Groups that are not with their partition. */
#define TR_ROUTES_MAX 65536

/*
 * Groups that one interhost actor exchanges messages with. Messages to further ones wait until some
 * of these are idle, and their senders are muted.
 */
#define TR_INTERHOST_PEERS_MAX 12288

/*
 * Unacknowledged messages to one group. Beyond it their senders are muted, until half of it is
 * left.
 */
#define TR_INTERHOST_WINDOW 256

/*
 * Messages to one group that an interhost actor keeps, and pages of all it keeps: further ones are
 * dead letters, OVERFLOW. Senders are muted from half of the pages on, until a quarter is left.
 */
#define TR_INTERHOST_KEPT_MAX 4000
#define TR_INTERHOST_PAGES_MAX 32768

/*
 * Unacknowledged messages are sent again after this time, doubled each time up to a bound. Both
 * sides drop a pair of groups that is idle for the last time.
 */
#define TR_INTERHOST_AGAIN_MS 1000
#define TR_INTERHOST_AGAIN_MAX_MS 60000
#define TR_INTERHOST_IDLE_MS 10000

/* What is due within this time is looked at together. */
#define TR_INTERHOST_TOGETHER_MS 250

/*
 * A session between hosts: intervals of hello while it is not open and of pings while it is quiet,
 * and the silence after which it is down, which is reported repeatedly while it stays down.
 */
#define TR_INTERHOST_HELLO_MS 100
#define TR_INTERHOST_PING_MS 500
#define TR_INTERHOST_SILENCE_MS 5000

/* Bytes of one frame between hosts, beside its last message. */
#define TR_INTERHOST_FRAME_BYTES 65536

/* Failures of an actor's handler within the window, after which it is quarantined. */
#define TR_RESTARTS_MAX 10
#define TR_RESTART_WINDOW_MS 60000

/* Bytes of an address, and of one name in it. */
#define TR_ADDRESS_BYTES_MAX 1024
#define TR_NAME_BYTES_MAX 255

/* Levels of parents in an address. */
#define TR_FAMILY_DEPTH_MAX 256

/*
 * The store's write-ahead log. When the journal is idle it is copied into the database from the
 * first size on; a commit copies it itself from the second on; at the third, which only a reader
 * that never ends or a full disk causes, commits are refused as for a full disk. The first is not
 * small, since pages that commits wrote repeatedly are copied once: with 4 MiB, 64 chains at once
 * were a fifth slower.
 */
#define TR_STORE_LOG_CHECKPOINT_BYTES (16ULL << 20)
#define TR_STORE_LOG_BYTES_MAX (32ULL << 20)
#define TR_STORE_LOG_REFUSE_BYTES (1ULL << 30)

/*
 * The log of commits in front of a store. What is acknowledged is in the tables after the window,
 * or when entries of so many bytes wait; above the maximum commits wait for the tables. A segment
 * is a file of the log, written again when all of it is in the tables.
 */
#define TR_COMMIT_LOG_WINDOW_MS 50
#define TR_COMMIT_LOG_WINDOW_BYTES (8ULL << 20)
#define TR_COMMIT_LOG_BYTES_MAX (64ULL << 20)
#define TR_COMMIT_LOG_SEGMENT_BYTES (8ULL << 20)

/*
 * How long a command waits for an engine that writes nothing to its tables, and how long for one
 * that says it cannot; then it shows what they have.
 */
#define TR_COMMIT_LOG_READER_MS 10000
#define TR_COMMIT_LOG_SHORTAGE_MS 1000

/* How long a commit waits for another program's lock on the database, before it is busy. */
#define TR_STORE_BUSY_MS 2000

/* Bytes of the database's page cache. */
#define TR_STORE_CACHE_BYTES (32U << 20)

/*
 * After this many committed operations, cached memory is released as soon as the journal is idle;
 * after few when it has been idle for this long.
 */
#define TR_RELEASE_OPS 16384
#define TR_RELEASE_OPS_FEW 512
#define TR_RELEASE_AFTER_MS 2000

/* How old the stored clock may be after a commit. */
#define TR_CLOCK_KEPT_MS 1000

/* Columns of one record's table; a key takes two, a reference three. */
#define TR_RECORD_COLUMNS_MAX 64

/* Conditions of one query of records. */
#define TR_READER_FILTERS_MAX 21

/* Related records in the conditions of one query. */
#define TR_READER_RELATED_MAX 8

/* Packed bytes of the key fields of a record's row. */
#define TR_ROW_KEY_BYTES_MAX 16384

/*
 * Bytes of the names of a part of the program, and of a function of it, to which a handler
 * attributes a crash.
 */
#define TR_ATTRIBUTION_PART_BYTES_MAX 96
#define TR_ATTRIBUTION_FUNCTION_BYTES_MAX 28

/* Parts kept in the list of crash attributions; the oldest is dropped first. */
#define TR_CRASH_ATTRIBUTIONS_MAX 64

#endif
