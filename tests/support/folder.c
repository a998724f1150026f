/*
 * Folders are emptied before they are removed: nftw goes to the bottom first.
 */
#include "tests/support/folder.h"

#include <ftw.h>
#include <stdio.h>

#define FILES_OPEN 16

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int folder_remove(const char *path)
{
    return nftw(path, remove_entry, FILES_OPEN, FTW_DEPTH | FTW_PHYS);
}
