/*
 * What the engine's two services for tasks remember: the resource manager and the catalog. Both
 * keep tables of rows in their pages (actors/store/rows.h); here are the numbers that lead to them.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_SERVICE_H
#define TR_SCHEMAS_ENGINE_STATE_SERVICE_H

#include "schemas/codec/field.h"

/* Where a table of rows stands. */
#define TRI_ROWS_FIELDS(FIELD)   \
    FIELD(u32, rows_used, 1, 0)  \
    FIELD(u32, rows_free, 1, 0)  \
    FIELD(u32, rows_count, 1, 0) \
    FIELD(u32, rows_buckets, 1, 0)

/* The actors that it monitors, and the list of those that are to be monitored. */
#define TRI_WATCH_FIELDS(FIELD)   \
    FIELD(u32, watch_count, 1, 0) \
    FIELD(u32, watch_first, 1, 0) \
    FIELD(u32, watch_last, 1, 0)

/*
 * `machine` is the row of the machine of an engine that is alone, `lane` the one whose turn it is;
 * `claimant` is not used any more, since each host has one. `dormant_count` counts the rows of
 * dormant executions, `start` the starts of engines that told something; `sweep` is the row whose
 * turn it is to be looked at, or 0. `quotas` is the start that has told all quotas there are.
 * `hosts` is the first row of hosts, `losses` counts those that were gone.
 */
#define TR_RESOURCES_STATE_FIELDS(FIELD, ARRAY) \
    TRI_ROWS_FIELDS(FIELD)                      \
    TRI_WATCH_FIELDS(FIELD)                     \
    FIELD(u32, machine, 1, 0)                   \
    FIELD(u32, lane, 1, 0)                      \
    FIELD(u32, claimant, 1, 0)                  \
    FIELD(bool, is_continuing, 1, 0)            \
    FIELD(u64, waiting, 1, 0)                   \
    FIELD(u64, held, 1, 0)                      \
    FIELD(u64, granted, 1, 0)                   \
    FIELD(u64, refused, 1, 0)                   \
    FIELD(u32, dormant_count, 1, 0)             \
    FIELD(u32, start, 1, 0)                     \
    FIELD(u32, sweep, 1, 0)                     \
    FIELD(u32, quotas, 1, 0)                    \
    FIELD(u32, hosts, 2, 0)                     \
    FIELD(u32, losses, 2, 0)

#define TR_CATALOG_STATE_FIELDS(FIELD, ARRAY) \
    TRI_ROWS_FIELDS(FIELD)                    \
    TRI_WATCH_FIELDS(FIELD)                   \
    FIELD(u64, owned, 1, 0)                   \
    FIELD(u64, waiting, 1, 0)

#define TR_STATE_SERVICE_SCHEMAS(S)                                    \
    S(resources_state, 104, TR_STATE, 2, 0, TR_RESOURCES_STATE_FIELDS) \
    S(catalog_state, 105, TR_STATE, 1, 0, TR_CATALOG_STATE_FIELDS)

TR_STATE_SERVICE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
