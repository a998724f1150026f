/*
 * Locators of databases, as people may see them: without their passwords. Pure; any thread.
 */
#ifndef TR_RUNTIME_JOURNAL_LOCATOR_H
#define TR_RUNTIME_JOURNAL_LOCATOR_H

#include "schemas/codec/base.h"

/* Room for a locator in a message, which cuts one that is longer. */
#define TRI_LOCATOR_SHOWN_BYTES 200

/*
 * Copies a locator without what may be a password: between the first colon and the last @, and in
 * the options of such names. A password that is not written as a URI asks for may take more with
 * it, but nothing of it is left. What is longer than `size` is cut.
 */
void tri_locator_show(const char *locator, char *shown, size_t size);

/* Longer names of options are cut. */
#define TRI_LOCATOR_NAME_BYTES 64

/* The name of an option, NAME=VALUE of `size` bytes, decoded: p%61ssword is one, too. */
void tri_locator_option(const char *option, size_t size, char name[TRI_LOCATOR_NAME_BYTES]);

/* Whether the value of an option of this name is never shown. */
bool tri_locator_is_secret(const char *name);

#endif
