/*
 * The limits of what is answered about executions, beside those of calls
 * (deploy/api_wire/api_limits.h).
 */
#ifndef TR_DEPLOY_API_RUNS_RUNS_LIMITS_H
#define TR_DEPLOY_API_RUNS_RUNS_LIMITS_H

/* Threads that read the store for clients, and calls that one of them takes up together. */
#define TR_DESK_READERS 2
#define TR_DESK_TAKEN_MAX 16

/* Calls that wait for the store or the engine. */
#define TR_DESK_CALLS_MAX 16384

/* Compiled graphs that each reader keeps. */
#define TR_DESK_GRAPHS_MAX 32

/* How long a client waits for the engine's answer. */
#define TR_DESK_ENGINE_MS_MAX 30000

/* Rows of a page that a client may ask for, and how many it gets if it does not say. */
#define TR_RUNS_PAGE_MAX 10000
#define TR_RUNS_PAGE 100

/* Bytes of values that are answered at once: flytekit takes out no more than 20 MB. */
#define TR_RUNS_VALUES_BYTES_MAX (18U << 20)

/* Elements of an array that are told one by one. */
#define TR_RUNS_ELEMENTS_MAX 5000

/* Nodes, and attempts, that GetExecutionMetrics tells of. */
#define TR_RUNS_SPANS_MAX 20000

/* How long a URL for a download is good at most, and if its request does not say. */
#define TR_DOWNLOAD_EXPIRY_S_MAX 3600

/* Characters of an id of a node, which is made of all that it lies in. */
#define TR_RUNS_NODE_ID_BYTES 1024

#endif
