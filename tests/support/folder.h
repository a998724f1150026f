/*
 * Folders that tests make, with all that comes to lie in them.
 */
#ifndef TR_TESTS_SUPPORT_FOLDER_H
#define TR_TESTS_SUPPORT_FOLDER_H

/* Removes a folder and all below it, following no link. 0, or -1 where something stays. */
int folder_remove(const char *path);

#endif
