/*
 * A PostgreSQL server of a test program's own, in a folder of its own and on a socket in it.
 *
 * It starts at the first use and ends with the program, however that ends: a process that guards it
 * stops it and removes its folder when the program's end of a pipe is closed. The server refuses to
 * run as root, so for root it belongs to the user `postgres`, or `nobody`. It does not sync, which
 * matters only when the machine loses its power.
 *
 * Every failure ends the program with words.
 */
#ifndef TR_TESTS_SUPPORT_POSTGRES_SERVER_H
#define TR_TESTS_SUPPORT_POSTGRES_SERVER_H

#include "runtime/journal/reader.h"
#include "runtime/journal/store.h"

/* Bytes of any locator. */
#define POSTGRES_LOCATOR_BYTES 256

/* Before the first use: it syncs, as a server does unless it is told not to. */
void postgres_server_keep_synced(void);

/* The folder of the server's socket. */
const char *postgres_server_folder(void);

/* The locator of a schema, as the user `postgres` who may do all, or as another user. */
void postgres_server_locator(const char *user, const char *schema, char *locator);

/* A name for a schema that nobody has used. */
void postgres_server_schema(char *name, size_t size);

/* Stops the server as by kill -9 of all its processes, and starts it again. */
void postgres_server_restart(void);

/* Runs SQL; `text` (or NULL) gets the first column of its rows, a line for each. */
void postgres_server_run(const char *sql, char *text, size_t size);

/* The same with all columns, bars between them, and NULL as `-`. */
void postgres_server_ask(const char *sql, char *text, size_t size);

/* How the server walks through a query of a reader, or counts its rows. */
void postgres_server_explain(struct tr_reader *reader, const struct tr_reader_query *query,
                             bool counts, char *text, size_t size);

/* Runs SQL in the session of a store. */
void postgres_server_run_as(struct tri_store *store, const char *sql);

#endif
