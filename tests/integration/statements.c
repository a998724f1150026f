/*
 * How SQLite finds the rows of each statement that a program prepares to be kept, for a test that
 * preloads this library: the statement and then its plan, each step on a line behind a tab, are
 * appended to the file that TROUPE_STATEMENTS names.
 *
 * The plan is asked for on the program's own connection, where its functions are.
 */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int prepare_function(sqlite3 *database, const char *sql, int size, unsigned flags,
                             sqlite3_stmt **statement, const char **rest);

static prepare_function *find_prepare(void)
{
    union {
        void *symbol;
        prepare_function *function;
    } found = {.symbol = dlsym(RTLD_NEXT, "sqlite3_prepare_v3")};
    return found.function;
}

static void write_plan(prepare_function *prepare, sqlite3 *database, const char *sql, FILE *file)
{
    char question[8192];
    sqlite3_stmt *plan = NULL;
    (void)snprintf(question, sizeof question, "EXPLAIN QUERY PLAN %s", sql);
    if (prepare(database, question, -1, 0, &plan, NULL) != SQLITE_OK) {
        return;
    }
    flockfile(file);
    (void)fprintf(file, "%s\n", sql);
    while (sqlite3_step(plan) == SQLITE_ROW) {
        (void)fprintf(file, "\t%s\n", (const char *)sqlite3_column_text(plan, 3));
    }
    (void)fflush(file);
    funlockfile(file);
    (void)sqlite3_finalize(plan);
}

int sqlite3_prepare_v3(sqlite3 *database, const char *sql, int size, unsigned flags,
                       sqlite3_stmt **statement, const char **rest)
{
    prepare_function *prepare = find_prepare();
    const char *path = getenv("TROUPE_STATEMENTS");
    FILE *file = path != NULL && strncmp(sql, "SELECT ", 7) == 0 ? fopen(path, "a") : NULL;
    if (file != NULL) {
        write_plan(prepare, database, sql, file);
        (void)fclose(file);
    }
    return prepare(database, sql, size, flags, statement, rest);
}
