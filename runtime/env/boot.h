/*
 * The identity of this boot of the machine: unsynced writes of an earlier boot may be lost.
 */
#ifndef TR_RUNTIME_ENV_BOOT_H
#define TR_RUNTIME_ENV_BOOT_H

#include <stdbool.h>

/* A UUID, with its closing zero. */
#define TRI_BOOT_ID_BYTES 40

/* False with errno if it is not available. Any thread. */
bool tri_boot_id(char id[TRI_BOOT_ID_BYTES]);

#endif
