/*
 * Every limit of the runtime, once and by name. Reaching one is an error that somebody sees.
 *
 * Raising one is a change of this file and of the memory it stands for; the comment says which.
 */
#ifndef TR_RUNTIME_LIMITS_H
#define TR_RUNTIME_LIMITS_H

/* Worker threads of a host. Four bits of each serial hold the worker of origin. */
#define TR_WORKERS_MAX 16

/* Behaviours that one program registers. */
#define TR_BEHAVIOURS_MAX 256

/* The fixed part of a state; what is larger goes into pages. */
#define TR_STATE_BYTES_MAX 4096

/* One page of a state, and pages of one actor. */
#define TR_PAGE_BYTES_MAX 16384
#define TR_PAGES_MAX 65536

/* One message, envelope and body. Larger data is passed by reference to a blob. */
#define TR_MESSAGE_BYTES_MAX (1 << 20)

/* An actor on its way to another worker, with pages and mailbox. */
#define TR_SNAPSHOT_BYTES_MAX (48 << 20)

/* Messages and time that an actor gets before the next one runs, so that none starves. */
#define TR_RUN_MESSAGES_MAX 64
#define TR_RUN_NS_MAX 200000

/* Supervision goes first, but one ordinary actor runs after so many of those. */
#define TR_SUPERVISION_BURST 8

/* Messages in a mailbox above which its senders are muted; they go on at half of it. */
#define TR_MAILBOX_SOFT_MAX 4096

/* Messages in a mailbox above which all but replies, DOWN and controls become dead letters. */
#define TR_MAILBOX_HARD_MAX 4194304

/* Effects of one kind that one handler may return for one message; an answer that it defers is one
 * beside its timers, monitors, spawns and rows. */
#define TR_EFFECTS_MAX 65536

/* Timers, monitors, links, open questions and deferred replies of one actor. A handler that would
 * leave it with more fails; a monitor or a link from somebody else that finds no room is answered
 * as an end, TR_LIMIT. */
#define TR_EDGES_MAX 16384

/* Memory that the host takes for each worker where nobody says how much it may have in all (struct
 * tr_bounds), and the quarters of it above which new groups are refused, so that others can end. */
#define TR_WORKER_BYTES_MAX (8ULL << 30)
#define TR_NEW_GROUP_QUARTERS 3

/* Actors of one group on one worker where nobody says how many, and bytes of them. */
#define TR_GROUP_ACTORS_MAX 2000000U
#define TR_GROUP_BYTES_MAX (6ULL << 30)

/* Messages kept for what the runtime itself must say when there is no memory left. */
#define TR_SIGNAL_RESERVE 256

/* Live actors of one worker: slots are 32 bits, and 0 is nobody. */
#define TR_ACTORS_PER_WORKER_MAX 200000000U

/* A batch to another worker leaves at so many envelopes or bytes, whichever comes first. */
#define TR_BATCH_ENVELOPES_MAX 256
#define TR_BATCH_BYTES_MAX 65536

/* Batches in a pipe before it is full (a fuse: flow control is by mailboxes). */
#define TR_PIPE_BATCHES_MAX 1024

/* Batches that wait for a full pipe before the worker runs no more actors. */
#define TR_PIPE_BACKLOG_MAX 64

/* Handled messages after which a worker gives its batch to the journal at the latest. */
#define TR_CUT_MESSAGES_MAX 16384

/*
 * Batches of one worker on their way to the disk, and bytes of them, before it runs no more actors.
 * What is on its way becomes one group, in which later images replace earlier ones: with 8 batches
 * the jobs of a plugin wrote 1.6 times as many pages.
 */
#define TR_CUTS_OUTSTANDING_MAX 32
#define TR_CUT_BYTES_OUTSTANDING_MAX (32ULL << 20)

/* Operations of one commit: a larger group becomes several commits of whole batches. */
#define TR_COMMIT_OPS_MAX 262144

/* How long a worker without work spins before it sleeps. */
#define TR_SPIN_NS 30000

/* Spins in a row that may find nothing; then it sleeps at once, until a spin would have paid. */
#define TR_SPINS_LOST_MAX 4

/* After so long a sleep a worker gives back what many messages at once have needed. */
#define TR_WORKER_RELEASE_NS 900000000

/* A handler that takes longer is counted, and kept in the flight recorder. */
#define TR_SLOW_HANDLER_MS 5

/* A handler that takes longer ends the process, is counted and then quarantined. */
#define TR_STUCK_HANDLER_MS 10000

/* An actor is quarantined when a message of its own (a poison message) has ended the process so
 * often; where it is not known what has ended it (kill -9, no memory, no power), when it was in
 * hand so often. */
#define TR_POISON_ENDS 2
#define TR_POISON_SILENT_ENDS 8

/* A group is not loaded any more when loading it has ended so many starts in a row; and how many of
 * them are remembered. */
#define TR_ASIDE_ENDS 2
#define TR_ASIDE_MAX 64

/* Messages to actors not yet spawned that a worker keeps waiting. */
#define TR_UNSPAWNED_MESSAGES_MAX 4096

/* Dead letters kept in memory for people to look at (all are counted). */
#define TR_DEAD_LETTERS_KEPT 1024

/* How often a message may be forwarded behind a moving actor. */
#define TR_HOPS_MAX 8

/* Actors that live on another worker than that of their origin. */
#define TR_MOVED_ACTORS_MAX 1048576

/* Moves asked for while one is under way. */
#define TR_MOVES_WAITING_MAX 1024

/* Events of one flight recorder (32 bytes each, one recorder per worker). */
#define TR_RECORDER_EVENTS 16384

/* Files with dumped recorders that a store's folder keeps: a start removes older ones. */
#define TR_CRASH_FILES_KEPT 8

/* Events of each worker that a crash writes to stderr when there is no folder for a file. */
#define TR_CRASH_STDERR_EVENTS 64

/* Hosts of one process whose recorders a crash dumps. */
#define TR_CRASH_HOSTS_MAX 16

/* Taps at once, and the most that the filter of one may ask for. */
#define TR_TAPS_MAX 16
#define TR_TAP_EVENTS_MAX 100000000ULL
#define TR_TAP_TYPES_MAX 16
#define TR_TAP_GLOB_BYTES_MAX 511
#define TR_TAP_PAYLOAD_BYTES_MAX 65536
#define TR_TAP_SECONDS_MAX 604800

/* What one worker keeps of one tap while the reader is busy; what has no room is counted. */
#define TR_TAP_RING_BYTES (1U << 20)

/* The same of a recording, whose messages are whole; and the most that one recording holds. */
#define TR_RECORDING_RING_BYTES (8U << 20)
#define TR_RECORDING_BYTES_MAX (1ULL << 30)
#define TR_RECORDING_MESSAGES_MAX 10000000ULL

/* How long a reader of a tap lies down between two looks. */
#define TR_TAP_LOOK_MS 2

/* How long the program waits for a worker to show what it knows. */
#define TR_OBSERVE_MS 1000

/* Spawns that the program can ask for at once. */
#define TR_HOST_SPAWNS_MAX 16

/* Figures that a host can show; gauges and counters that a program has beside them. */
#define TR_METRICS_MAX 64
#define TR_GAUGES_MAX 64
#define TR_COUNTERS_MAX 16384

/* Slices in which each run is timed, after one in which some handler may have been slow. */
#define TR_TIMED_SLICES 64

/* Hosts that one host talks to, and groups that live elsewhere than on the host of origin. */
#define TR_HOSTS_MAX 64
#define TR_ROUTES_MAX 65536

/* Groups that one interhost actor exchanges messages with. */
#define TR_INTERHOST_PEERS_MAX 4096

/* Messages to one group that are on their way and not acknowledged. With more waiting behind them
 * their senders are held back, until half of it is left. */
#define TR_INTERHOST_WINDOW 256

/* Messages to one group that an interhost actor keeps at most, and pages of all it keeps: more are
 * dead letters, OVERFLOW. */
#define TR_INTERHOST_KEPT_MAX 4000
#define TR_INTERHOST_PAGES_MAX 32768

/* What waits for an acknowledgement is sent again after so long, doubled each time up to a bound. A
 * pair of groups that has had nothing to say for a while is forgotten by both sides. */
#define TR_INTERHOST_AGAIN_MS 1000
#define TR_INTERHOST_AGAIN_MAX_MS 60000
#define TR_INTERHOST_IDLE_MS 10000

/* A session between hosts: how often one that is not open is asked for, one that is quiet is tried,
 * and after how much silence it is down. While it stays down that is told again and again. */
#define TR_INTERHOST_HELLO_MS 100
#define TR_INTERHOST_PING_MS 500
#define TR_INTERHOST_SILENCE_MS 5000

/* Bytes of one frame between hosts, beside its last message. */
#define TR_INTERHOST_FRAME_BYTES 65536

/* Failures of an actor's handler within the window, after which it is quarantined. */
#define TR_RESTARTS_MAX 10
#define TR_RESTART_WINDOW_MS 60000

/* Text of an address, and of one name in it. */
#define TR_ADDRESS_BYTES_MAX 1024
#define TR_NAME_BYTES_MAX 255

/* The levels of parents that an address climbs. */
#define TR_FAMILY_DEPTH_MAX 256

/*
 * The store's write-ahead log. When the journal is idle it is copied into the database from the
 * first size on; a commit does so itself from the second on; at the third, which only a reader that
 * never ends or a full disk brings about, commits are refused as for a full disk. The first is not
 * small, since what commits wrote again and again is copied once: with 4 MiB, 64 chains at once
 * were a fifth slower.
 */
#define TR_STORE_LOG_CHECKPOINT_BYTES (16ULL << 20)
#define TR_STORE_LOG_BYTES_MAX (32ULL << 20)
#define TR_STORE_LOG_REFUSE_BYTES (1ULL << 30)

/* How long a commit waits for another program that holds the database, before it is busy. */
#define TR_STORE_BUSY_MS 2000

/* Pages of the database that the store keeps in memory, in bytes. */
#define TR_STORE_CACHE_BYTES (32U << 20)

/*
 * After so many operations were committed, memory that is kept for the next ones is given back when
 * nothing comes for a moment; after few already when nothing has come for so long.
 */
#define TR_RELEASE_OPS 16384
#define TR_RELEASE_OPS_FEW 512
#define TR_RELEASE_AFTER_MS 2000

/* How old what the store knows of the clock may be after a commit. */
#define TR_CLOCK_KEPT_MS 1000

/* Columns of one record's table; a key takes two, a reference three. */
#define TR_RECORD_COLUMNS_MAX 64

/* Conditions of one reading of records. */
#define TR_READER_FILTERS_MAX 16

/* Records that the rows of one query have to have, or not. */
#define TR_READER_RELATED_MAX 8

/* The packed bytes of the fields that are the key of a record's row. */
#define TR_ROW_KEY_BYTES_MAX 16384

/* What a part of the program, and a function of it, is called that a handler may attribute a crash
 * to. */
#define TR_ATTRIBUTION_PART_BYTES_MAX 96
#define TR_ATTRIBUTION_FUNCTION_BYTES_MAX 28

/* Parts that are remembered for having ended the process; the oldest is forgotten first. */
#define TR_CRASH_ATTRIBUTIONS_MAX 64

#endif
