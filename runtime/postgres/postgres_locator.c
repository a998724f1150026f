/*
 * Which texts are locators of PostgreSQL, and what is wrong with one.
 *
 * A password with an @, a slash or a question mark that is not written as %40, %2F or %3F makes a
 * URI of other parts: half of the password may become the host or the port. So what is not of the
 * form that is asked for is refused before libpq, or anybody, repeats a part of it.
 */
#include "runtime/postgres/postgres_internal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/journal/locator.h"
#include "runtime/postgres/postgres.h"
#include "runtime/postgres/postgres_compress.h"

static const char *const schemes[] = {"postgresql://", "postgres://"};

/* What stands behind the scheme; NULL if there is none. */
static const char *behind_scheme(const char *locator)
{
    for (size_t i = 0; locator != NULL && i < TR_COUNT_OF(schemes); i++) {
        if (strncmp(locator, schemes[i], strlen(schemes[i])) == 0) {
            return locator + strlen(schemes[i]);
        }
    }
    return NULL;
}

bool tri_postgres_is_locator(const char *locator)
{
    return behind_scheme(locator) != NULL;
}

#define FORM                                                                                    \
    "the locator of the database makes no sense: it is like "                                   \
    "postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE; in a password an @ is written as %40, " \
    "a : as %3A, a / as %2F, a ? as %3F"

static int refuse(char *explain)
{
    (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", FORM);
    return TR_INVALID;
}

static int refuse_option(const char *name, char *explain)
{
    (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                   "the locator of the database has an unknown option %s; PostgreSQL's page about "
                   "connection strings lists those there are",
                   name);
    return TR_INVALID;
}

/* Between the scheme and the options there is at most one @, before the first slash. */
static bool has_plain_parts(const char *rest)
{
    size_t length = strcspn(rest, "?");
    const char *at = memchr(rest, '@', length);
    const char *slash = memchr(rest, '/', length);
    if (at == NULL) {
        return true;
    }
    size_t behind = length - (size_t)(at + 1 - rest);
    return (slash == NULL || at < slash) && memchr(at + 1, '@', behind) == NULL;
}

/* The first option that libpq does not know; false: all are known, or one is no option. */
static bool find_unknown(const struct tri_libpq *library, const char *rest,
                         char name[TRI_LOCATOR_NAME_BYTES])
{
    PQconninfoOption *known = library->conninfoParse("postgresql://", NULL);
    const char *options = strchr(rest, '?');
    bool is_found = false;
    while (known != NULL && options != NULL && !is_found) {
        size_t length = strcspn(++options, "&");
        tri_locator_option(options, length, name);
        bool is_known = strcmp(name, "ssl") == 0; /* JDBC's, which libpq takes */
        for (size_t i = 0; known[i].keyword != NULL; i++) {
            is_known = is_known || strcmp(known[i].keyword, name) == 0;
        }
        if (tri_locator_is_secret(name) || memchr(options, '=', length) == NULL) {
            break; /* what comes next may belong to it */
        }
        is_found = !is_known;
        options = options[length] == '&' ? options + length : NULL;
    }
    library->conninfoFree(known);
    return is_found && strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name);
}

/* A part of a password may have become the port, or the end of the host. */
static bool has_sense(const PQconninfoOption *option)
{
    if (option->val == NULL || *option->val == '\0') {
        return true;
    }
    if (strcmp(option->keyword, "port") == 0) {
        return strspn(option->val, "0123456789,") == strlen(option->val);
    }
    return strcmp(option->keyword, "host") != 0 || strchr(option->val + 1, '@') == NULL;
}

int tri_postgres_check_locator(const char *locator, char *explain)
{
    char name[TRI_LOCATOR_NAME_BYTES];
    const char *rest = behind_scheme(locator);
    const struct tri_libpq *library = tri_libpq_load();
    if (library == NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "PostgreSQL's library libpq.so.5 is not there, or older than version 14: "
                       "install the package libpq5");
        return TR_STORE_FAILED;
    }
    if (!tri_postgres_can_compress()) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "the library " TRI_POSTGRES_ZSTD
                       ", by which a store in PostgreSQL compresses "
                       "its log, is not there: install the package libzstd1");
        return TR_STORE_FAILED;
    }
    if (rest == NULL || !has_plain_parts(rest)) {
        return refuse(explain);
    }
    PQconninfoOption *options = library->conninfoParse(locator, NULL);
    if (options == NULL) {
        return find_unknown(library, rest, name) ? refuse_option(name, explain) : refuse(explain);
    }
    bool is_well = true;
    for (size_t i = 0; options[i].keyword != NULL; i++) {
        is_well = is_well && has_sense(&options[i]);
    }
    library->conninfoFree(options);
    return is_well ? 0 : refuse(explain);
}
