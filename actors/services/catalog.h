/*
 * The catalog's rows, for itself and for actors/explain/, which shows what it holds.
 */
#ifndef TR_ACTORS_SERVICES_CATALOG_H
#define TR_ACTORS_SERVICES_CATALOG_H

#include "actors/engine.h"
#include "actors/store/watch.h"
#include "schemas/engine/state_service.h"

/* What people call a task that makes something, EXEC/NODE[17], is kept up to so many bytes. */
#define TR_CATALOG_NAME_BYTES_MAX 64

enum tri_catalog_row { TRI_ROW_ENTRY = 1, TRI_ROW_ASKER };

/* A key that a task makes, or has just made (`is_made`: the tasks that wait are being told). */
struct tri_entry_row {
    struct tr_rows_head head;
    uint32_t owner; /* an asker; 0 while it is made */
    uint32_t first; /* of the tasks that wait */
    uint32_t last;
    uint32_t is_made;
};

/* A task that owns an entry, or waits for one. */
struct tri_asker_row {
    struct tr_watched watched;
    uint32_t entry;
    uint32_t next; /* of the tasks that wait */
    uint32_t previous;
    uint16_t name_size;
    bool is_cut; /* the name is longer */
    char name[TR_CATALOG_NAME_BYTES_MAX];
};

union tri_catalog_any {
    struct tri_entry_row entry;
    struct tri_asker_row asker;
};

#endif
