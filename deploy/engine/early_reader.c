/*
 * Opening a reader beside the engine's start.
 */
#include "deploy/engine/early_reader.h"

#include <stdio.h>

#include "deploy/history/executions.h"

static void *open_reader(void *argument)
{
    struct tr_early_reader *early = argument;
    early->error = tr_history_open(early->folder, early->explain, &early->reader);
    return NULL;
}

void tr_early_reader_begin(struct tr_early_reader *early, const char *folder)
{
    early->folder = folder;
    early->is_under_way = pthread_create(&early->thread, NULL, open_reader, early) == 0;
}

int tr_early_reader_take(struct tr_early_reader *early, char *explain, struct tr_reader **reader)
{
    if (!early->is_under_way) {
        return TR_NOT_FOUND;
    }
    (void)pthread_join(early->thread, NULL);
    early->is_under_way = false;
    if (early->error == 0) {
        *reader = early->reader;
    } else if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", early->explain);
    }
    return early->error;
}
