/*
 * What the commands share that show a page of rows: --limit and --offset, a table for people or a
 * list as a document, and a word about what was left out.
 *
 *     return tr_listing_run(invocation, show);            opens the store and reads the options
 *     tr_listing_begin(listing, heads, TR_COUNT_OF(heads));  in `show`
 *     if (tr_listing_takes(listing)) ...                     for each row: cells, or a map
 *     error = tr_listing_end(listing);
 *     return tr_listing_tell(listing, error);
 */
#ifndef TR_DEPLOY_CLI_LISTING_H
#define TR_DEPLOY_CLI_LISTING_H

#include "deploy/cli/browse.h"
#include "deploy/common/document.h"
#include "deploy/common/table.h"

/* How many are shown where nobody says. */
#define TR_LISTING_LIMIT 50

/* For a command's table of options. */
#define TR_LISTING_LIMIT_OPTION                                                   \
    {                                                                             \
        0, "limit", "N", "at most so many rows (else 50; 0: all)", NULL, 0, false \
    }
#define TR_LISTING_OFFSET_OPTION                                         \
    {                                                                    \
        0, "offset", "N", "without so many of the first", NULL, 0, false \
    }

struct tr_listing {
    const struct tr_browse *browse;
    uint64_t limit; /* 0: all */
    uint64_t offset;
    uint64_t count; /* that are shown so far */
    bool has_more;
    struct tr_table table; /* for people, of cells that the caller adds */
    struct tr_document document;
};

/* Whether they go into the document rather than into the table. */
bool tr_listing_has_document(const struct tr_listing *listing);

/* A query for a page of them: one more than the limit says that there are more. */
void tr_listing_bound(const struct tr_listing *listing, struct tr_reader_query *query);

/* Begins the table with its heads, or the list. */
void tr_listing_begin(struct tr_listing *listing, const char *const *heads, uint32_t count);

/* Whether the next row of a bounded query is shown, which counts it. */
TR_MUST_USE bool tr_listing_takes(struct tr_listing *listing);

/* Ends it and writes the table, which -o name has none of. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tr_listing_end(struct tr_listing *listing);

/*
 * Opens the store of a command, reads --limit and --offset, and has `show` show that page of its
 * rows. What is wrong is said on stderr.
 */
enum tr_exit_status tr_listing_run(const struct tr_invocation *invocation,
                                   enum tr_exit_status (*show)(struct tr_listing *listing));

/* The same options where the store is open already. */
enum tr_exit_status tr_listing_read(const struct tr_browse *browse, struct tr_listing *listing);

/* Says what came of it: an error, or that there is more. */
enum tr_exit_status tr_listing_tell(const struct tr_listing *listing, int error);

#endif
