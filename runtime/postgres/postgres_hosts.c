/*
 * Whose turn it is: hosts, their fences and what each has, as rows. Steps of transactions that
 * postgres_claim.c (who opens the store) and postgres_members.c (who waits for its turn) consist
 * of.
 *
 * Whoever changes an owner or a member first changes the row of `cluster`, so all of them come one
 * after the other, and then rows in the order fences, commit_log, hosts, partitions. A commit
 * changes its own host's row of `fences` alone, an append that of `commit_log`: so a host loses its
 * work in one transaction, behind which the server refuses whatever it still sends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/members/member.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres_internal.h"
#include "schemas/runtime/place.h"

#define NUMBER_BYTES 24

/* Milliseconds of the database's clock. */
#define NOW_MS "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define NOW_US "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

static const char draw[] =
    "UPDATE cluster SET incarnation = incarnation + 1 WHERE id = 1 RETURNING incarnation";
#define HOST_COLUMNS "h.number, h.state, h.name, h.machine, h.folder"
static const char find_by_place[] =
    "SELECT " HOST_COLUMNS " FROM hosts h WHERE h.place = sha256(decode($1, 'hex'))";
static const char find_owner[] =
    "SELECT p.host, coalesce(h.state, 0), coalesce(h.name, ''), coalesce(h.machine, ''),"
    " coalesce(h.folder, '') FROM partitions p LEFT JOIN hosts h ON h.number = p.host"
    " WHERE p.number = 0";

/* What a store knew of its folder before it knew hosts. */
static const char find_earlier[] =
    "SELECT (data = decode($1, 'hex'))::int::bigint, data FROM meta WHERE cell = $2::bigint";

/* A name that was not chosen gives way to one that is there already. */
static const char name_host[] =
    "SELECT CASE WHEN EXISTS (SELECT FROM hosts WHERE name = $1 AND number <> $2::bigint)"
    " THEN CASE WHEN $3 = '1' THEN '' ELSE left($1, 48) || '-' || $2 END ELSE $1 END";
static const char count_host[] =
    "UPDATE cluster SET hosts = hosts + 1, view = view + 1 WHERE id = 1"
    " AND (SELECT count(*) FROM hosts) < $1::bigint RETURNING hosts";
static const char add_host[] =
    "WITH a AS (INSERT INTO beats VALUES($1::bigint, 0, " NOW_MS ")),"
    " b AS (INSERT INTO commit_log VALUES($1::bigint, 0, 0)),"
    " c AS (INSERT INTO fences VALUES($1::bigint, 0, 0, 0, $3::bigint))"
    " INSERT INTO hosts SELECT $1::bigint, '', sha256(decode($2, 'hex')), 0, view, " NOW_MS
    ", '', '', '', '', 0, 0, $4::bigint FROM cluster";
/* Where it listens it says when it does (tri_postgres_listen). */
#define BRING_UP                                                                            \
    "UPDATE hosts SET since_ms = CASE WHEN state = $2::bigint THEN since_ms ELSE " NOW_MS   \
    " END, why = '', state = $2::bigint, name = $3, machine = $4, folder = $5, blobs = $6," \
    " lease_ms = CASE $7::bigint WHEN 0 THEN lease_ms ELSE $7::bigint END,"                 \
    " process_lease_ms = CASE $8::bigint WHEN 0 THEN process_lease_ms ELSE $8::bigint END," \
    " view = (SELECT view FROM cluster)"
#define OF_HOST " WHERE number = $1::bigint"
static const char bring_up_without_links[] = BRING_UP OF_HOST;
static const char bring_up[] =
    BRING_UP ", drained = 0, address = '', key = '', slot = coalesce(slot, (SELECT min(s)"
             "  FROM generate_series(0, $9::bigint - 1) AS s WHERE s NOT IN"
             "   (SELECT h.slot FROM hosts h WHERE h.slot IS NOT NULL)))" OF_HOST;
static const char listen_at[] =
    "WITH v AS (UPDATE cluster SET view = view + 1 WHERE id = 1 RETURNING view)"
    " UPDATE hosts h SET address = $4, key = decode($5, 'hex'), view = v.view"
    " FROM v, fences f WHERE h.number = $1::bigint AND f.number = h.number"
    " AND f.incarnation = $2::bigint AND h.state = $3::bigint";

/*
 * The last numbers go on behind those of whoever had the work before. A partition that is meant for
 * a host that is not up any more goes to the one that takes all others.
 */
static const char hand_on[] =
    "WITH v AS (UPDATE cluster SET view = view + 1 WHERE id = 1 RETURNING view),"
    " l AS (UPDATE commit_log SET incarnation = $3::bigint WHERE host = $1::bigint),"
    " h AS (UPDATE hosts SET state = $4::bigint, why = $5, since_ms = " NOW_MS ", view = v.view"
    "  FROM v WHERE number = $1::bigint)"
    " UPDATE partitions p SET epoch = epoch + 1, incarnation = $3::bigint, view = v.view,"
    "  host = coalesce((SELECT s.host FROM unnest($6::bigint[], $7::bigint[]) AS s(number, host)"
    "   JOIN hosts t ON t.number = s.host AND t.state = $8::bigint"
    "   WHERE s.number = p.number AND s.host <> $1::bigint), $2::bigint)"
    " FROM v WHERE p.host = $1::bigint";
/*
 * Rows of groups are looked for by the indexes that lead with the group: a partition is the upper
 * bits of it.
 */
#define LIES_IN(table, column)                                                            \
    "EXISTS(SELECT FROM " table " t WHERE t." column " >= (p.number << 48) AND t." column \
    " < ((p.number + 1) << 48))"
#define IS_VACANT                                                                                 \
    "NOT " LIES_IN("actors", "key_group") " AND NOT " LIES_IN(                                    \
        "counters", "key_group") " AND NOT " LIES_IN("pages",                                     \
                                                     "key_group") " AND NOT " LIES_IN("messages", \
                                                                                      "to_group")
#define RAISE_VIEW "UPDATE cluster SET view = view + 1 WHERE id = 1 RETURNING view"
_Static_assert(TR_GROUP_PARTITION_SHIFT == 48, "statements have it as text");

static const char find_vacant[] =
    "SELECT p.number FROM partitions p WHERE p.host = $1::bigint AND " IS_VACANT;

/* Those that are given, as they were seen: all of them, and those of them that may go. */
#define GIFTS                                                                       \
    "SELECT p.number, s.host FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])" \
    " AS s(number, host, epoch) JOIN partitions p ON p.number = s.number"           \
    " AND p.host = $1::bigint AND p.epoch = s.epoch"
static const char count_kept[] =
    "SELECT count(*) FROM (" GIFTS ") AS p LEFT JOIN hosts h ON h.number = p.host"
    " AND h.state = $5::bigint WHERE NOT (h.number IS NOT NULL AND ($6::bigint = 1 OR " IS_VACANT
    "))";
static const char hand_over[] =
    "UPDATE partitions t SET host = g.host, epoch = epoch + 1, view = $5::bigint, wanted = 0,"
    " waits = 0, frozen_us = $6::bigint, moved_us = CASE $7::bigint WHEN 0 THEN 0 ELSE " NOW_US
    " END FROM (" GIFTS ") AS g WHERE t.number = g.number";

/* ---- Moves. ---- */
static const char want[] = "UPDATE partitions p SET wanted = $2::bigint, wanted_by = $3, waits = 0"
                           " WHERE p.number = $1::bigint AND EXISTS (SELECT FROM hosts h WHERE"
                           " h.number = $2::bigint AND h.state = $4::bigint AND h.address <> '')";
static const char stay[] =
    "UPDATE partitions p SET waits = s.waits FROM unnest($2::bigint[], $3::bigint[])"
    " AS s(number, waits) WHERE p.number = s.number AND p.host = $1::bigint"
    " AND p.waits <> s.waits";
static const char open_moved[] =
    "UPDATE partitions SET frozen_us = frozen_us + " NOW_US " - moved_us, moved_us = 0"
    " WHERE host = $1::bigint AND moved_us > 0";
static const char read_move[] =
    "SELECT host, wanted, waits, frozen_us, (moved_us > 0)::int::bigint FROM partitions"
    " WHERE number = $1::bigint";
static const char drain[] = "UPDATE hosts SET drained = $2::bigint WHERE number = $1::bigint";
static const char put_fence[] =
    "UPDATE fences SET incarnation = $2::bigint, last_number = $3::bigint, commits = $4::bigint,"
    " checksum = $5::bigint WHERE number = $1::bigint";
static const char read_why[] =
    "SELECT why FROM hosts WHERE number = $1::bigint AND state <> $2::bigint AND why <> ''";
static const char leave[] =
    "WITH f AS (SELECT FROM fences WHERE number = $1::bigint AND incarnation = $2::bigint)"
    " UPDATE hosts SET state = $3::bigint, since_ms = " NOW_MS ", why = 'it has ended in order'"
    " WHERE number = $1::bigint AND EXISTS (SELECT FROM f) AND state = $4::bigint";

/* A host that works beside others has said where it listens. */
static const char find_beside[] =
    "SELECT h.name FROM hosts h JOIN beats b USING (number) WHERE h.state = $1::bigint"
    " AND h.address <> '' AND h.place <> sha256(decode($2, 'hex'))"
    " AND " NOW_MS " - b.at_ms < h.lease_ms ORDER BY h.number LIMIT 1";

static const char count_partitions[] =
    "SELECT c.partitions, (SELECT count(*) FROM partitions), (SELECT count(*) FROM partitions p"
    " WHERE p.number BETWEEN 0 AND c.partitions - 1) FROM cluster c WHERE c.id = 1";

static const char *print(uint64_t number, char text[NUMBER_BYTES])
{
    (void)snprintf(text, NUMBER_BYTES, "%lld", (long long)number);
    return text;
}

/* A statement whose rows do not matter. */
static int run(struct tri_postgres *self, const char *sql, size_t count,
               const char *const *parameters, const char *what)
{
    PGresult *result = NULL;
    int error = tri_postgres_query(self, sql, count, parameters, 1, what, &result);
    if (error == 0) {
        self->library->clear(result);
    }
    return error;
}

int tri_postgres_tell(struct tri_postgres *self)
{
    return tri_postgres_execute(self, "NOTIFY " TRI_POSTGRES_CHANNEL, "telling the other hosts");
}

/* What the others are told of. */
static int change(struct tri_postgres *self, const char *sql, size_t count,
                  const char *const *parameters, const char *what)
{
    int error = run(self, sql, count, parameters, what);
    return error != 0 ? error : tri_postgres_tell(self);
}

/* The number in the only row; TR_NOT_FOUND, with no words: there is none. */
static int ask_number(struct tri_postgres *self, const char *sql, size_t count,
                      const char *const *parameters, const char *what, uint64_t *number)
{
    PGresult *result = NULL;
    int error = tri_postgres_query(self, sql, count, parameters, 1, what, &result);
    if (error != 0) {
        return error;
    }
    if (self->library->ntuples(result) == 1) {
        *number = tri_postgres_number(self, result, 0, 0);
    } else {
        error = TR_NOT_FOUND;
    }
    self->library->clear(result);
    return error;
}

int tri_postgres_draw(struct tri_postgres *self, uint64_t *incarnation)
{
    int error = ask_number(self, draw, 0, NULL, "waiting for its turn", incarnation);
    return error != TR_NOT_FOUND
               ? error
               : tri_postgres_damaged(self, "the row of the table cluster is missing");
}

/* ---- Finding. -------------------------------------------------------------------------------- */

static int find(struct tri_postgres *self, const char *sql, size_t count,
                const char *const *parameters, struct tri_postgres_host *host)
{
    PGresult *result = NULL;
    struct tri_postgres_host found = {.number = 0};
    int error =
        tri_postgres_query(self, sql, count, parameters, 1, "looking for the hosts", &result);
    if (error != 0) {
        return error;
    }
    if (self->library->ntuples(result) == 1) {
        found.number = tri_postgres_number(self, result, 0, 0);
        found.state = tri_postgres_number(self, result, 0, 1);
        (void)snprintf(found.name, sizeof found.name, "%s", tri_postgres_text(self, result, 0, 2));
        (void)snprintf(found.machine, sizeof found.machine, "%s",
                       tri_postgres_text(self, result, 0, 3));
        (void)snprintf(found.folder, sizeof found.folder, "%s",
                       tri_postgres_text(self, result, 0, 4));
    }
    self->library->clear(result);
    *host = found;
    return 0;
}

/* Its bytes in hexadecimal digits, which the caller frees; NULL: no memory. */
static char *print_place(const struct tri_store_member *member)
{
    char *digits = tr_alloc(2 * member->place.size + 1);
    for (size_t i = 0; digits != NULL && i < member->place.size; i++) {
        (void)snprintf(digits + 2 * i, 3, "%02x", member->place.data[i]);
    }
    if (digits != NULL) {
        digits[2 * member->place.size] = '\0';
    }
    return digits;
}

static int report_memory(struct tri_postgres *self)
{
    return tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

int tri_postgres_find_member(struct tri_postgres *self, const struct tri_store_member *member,
                             struct tri_postgres_host *host)
{
    char *place = print_place(member);
    const char *parameters[] = {place};
    int error =
        place != NULL ? find(self, find_by_place, 1, parameters, host) : report_memory(self);
    tr_free(place);
    return error;
}

int tri_postgres_check_beside(struct tri_postgres *self)
{
    static const struct tri_store_member nobody = {.name = NULL};
    char state[NUMBER_BYTES];
    PGresult *result = NULL;
    if (self->format < TRI_POSTGRES_FORMAT_LINKS || self->format >= TRI_POSTGRES_FORMAT) {
        return 0;
    }
    char *place = print_place(self->member != NULL ? self->member : &nobody);
    const char *parameters[] = {print(TRI_MEMBER_UP, state), place};
    int error = place == NULL
                    ? report_memory(self)
                    : tri_postgres_query(self, find_beside, 2, parameters, 1,
                                         "looking for hosts of an earlier version", &result);
    tr_free(place);
    if (error != 0) {
        return error;
    }
    if (self->library->ntuples(result) > 0) {
        error = tri_postgres_report(
            self, TR_STORE_LOCKED,
            "%s: host %s works on the schema \"%s\" with an earlier version of Troupe, which does "
            "not read what this one writes; end all hosts, and then start them with this version",
            self->place, tri_postgres_text(self, result, 0, 0), self->schema);
    }
    self->library->clear(result);
    return error;
}

/* What the cell says, for people. */
static void read_place(struct tr_bytes cell, struct tri_postgres_host *host)
{
    struct tr_store_place place = {.process = 0};
    (void)!tr_store_place_unpack(cell, tr_store_place_schema.version, &place);
    (void)snprintf(host->machine, sizeof host->machine, "%.*s",
                   (int)(place.host.size < 64 ? place.host.size : 64),
                   (const char *)place.host.data);
    (void)snprintf(host->folder, sizeof host->folder, "%.*s",
                   (int)(place.folder.size < 150 ? place.folder.size : 150),
                   (const char *)place.folder.data);
}

int tri_postgres_find_earlier(struct tri_postgres *self, const struct tri_store_member *member,
                              struct tri_postgres_host *host, bool *is_another)
{
    char cell[NUMBER_BYTES];
    char *place = print_place(member);
    const char *parameters[] = {place, print(TRI_META_PLACE, cell)};
    PGresult *result = NULL;
    int error = place == NULL ? report_memory(self)
                              : tri_postgres_query(self, find_earlier, 2, parameters, 1,
                                                   "looking for the folder", &result);
    tr_free(place);
    if (error != 0) {
        return error;
    }
    *is_another =
        self->library->ntuples(result) == 1 && tri_postgres_number(self, result, 0, 0) == 0;
    if (*is_another) {
        read_place((struct tr_bytes){.data = (const uint8_t *)self->library->getvalue(result, 0, 1),
                                     .size = (size_t)self->library->getlength(result, 0, 1)},
                   host);
    }
    self->library->clear(result);
    return 0;
}

int tri_postgres_find_owner(struct tri_postgres *self, struct tri_postgres_host *host)
{
    return find(self, find_owner, 0, NULL, host);
}

int tri_postgres_has_partitions(struct tri_postgres *self, uint64_t host, bool *has)
{
    char text[NUMBER_BYTES];
    const char *parameters[] = {print(host, text)};
    uint64_t count = 0;
    int error = ask_number(self, "SELECT count(*) FROM partitions WHERE host = $1::bigint", 1,
                           parameters, "looking for partitions", &count);
    *has = count > 0;
    return error;
}

int tri_postgres_is_shared(struct tri_postgres *self, bool *is_shared)
{
    uint64_t count = 0;
    int error = ask_number(self, "SELECT count(DISTINCT host) FROM partitions", 0, NULL,
                           "looking for partitions", &count);
    *is_shared = count > 1;
    return error;
}

/* ---- Partitions. ----------------------------------------------------------------------------- */

static int check_partitions(struct tri_postgres *self, const uint64_t counts[3])
{
    char words[160];
    if (counts[0] == 0 || counts[0] > TR_PARTITIONS_MAX) {
        (void)snprintf(words, sizeof words,
                       "it is said to have %llu partitions, where 1 to %d may be",
                       (unsigned long long)counts[0], TR_PARTITIONS_MAX);
        return tri_postgres_damaged(self, words);
    }
    if (counts[1] == counts[0] && counts[2] == counts[0]) {
        return 0;
    }
    (void)snprintf(words, sizeof words,
                   "it has %llu partitions, and %llu rows of them; troupe store check says which",
                   (unsigned long long)counts[0], (unsigned long long)counts[1]);
    return tri_postgres_damaged(self, words);
}

int tri_postgres_count_partitions(struct tri_postgres *self, uint64_t *count)
{
    PGresult *result = NULL;
    uint64_t counts[3] = {0};
    *count = 1;
    if (self->format < TRI_POSTGRES_FORMAT_HOSTS) {
        return 0;
    }
    int error =
        tri_postgres_query(self, count_partitions, 0, NULL, 1, "counting partitions", &result);
    if (error != 0) {
        return error;
    }
    for (int i = 0; i < 3 && self->library->ntuples(result) == 1; i++) {
        counts[i] = tri_postgres_number(self, result, 0, i);
    }
    self->library->clear(result);
    *count = counts[0];
    return check_partitions(self, counts);
}

/* ---- Enrolling. ------------------------------------------------------------------------------ */

static int add(struct tri_postgres *self, const struct tri_store_member *member, uint64_t *number)
{
    char max[NUMBER_BYTES];
    char text[NUMBER_BYTES];
    char checksum[NUMBER_BYTES];
    char processes[NUMBER_BYTES];
    const char *counting[] = {print(TRI_MEMBERS_MAX, max)};
    int error = ask_number(self, count_host, 1, counting, "counting the hosts", number);
    if (error == TR_NOT_FOUND) {
        return tri_postgres_report(self, TR_LIMIT,
                                   "%s: the store has %d hosts, and may not have more; troupe "
                                   "hosts forget NAME makes room",
                                   self->place, TRI_MEMBERS_MAX);
    }
    const struct tri_op none = {.kind = 0};
    char *place = error == 0 ? print_place(member) : NULL;
    const char *parameters[] = {print(*number, text), place,
                                print(tri_checksum(0, &none), checksum),
                                print(TRI_MEMBER_PROCESSES_UNBOUND, processes)};
    if (error == 0) {
        error = place == NULL ? report_memory(self)
                              : run(self, add_host, 4, parameters, "adding a host");
    }
    tr_free(place);
    return error;
}

/* The name that it has from now on. */
static int choose_name(struct tri_postgres *self, const struct tri_store_member *member,
                       uint64_t number, char name[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1])
{
    char text[NUMBER_BYTES];
    bool is_chosen = member->name != NULL;
    const char *wanted = is_chosen ? member->name : member->machine;
    const char *parameters[] = {wanted, print(number, text), is_chosen ? "1" : "0"};
    PGresult *result = NULL;
    int error = tri_postgres_query(self, name_host, 3, parameters, 1, "naming the host", &result);
    if (error != 0) {
        return error;
    }
    (void)snprintf(name, TRI_STORE_MEMBER_NAME_BYTES_MAX + 1, "%s",
                   tri_postgres_text(self, result, 0, 0));
    self->library->clear(result);
    return name[0] != '\0'
               ? 0
               : tri_postgres_report(self, TR_EXISTS,
                                     "another host of this store is called %s: give this one "
                                     "another name by --host-name or `host_name` of the settings, "
                                     "or, if that one is gone for good, type troupe hosts forget "
                                     "%s",
                                     wanted, wanted);
}

int tri_postgres_enrol(struct tri_postgres *self, const struct tri_store_member *member,
                       uint64_t *number)
{
    struct tri_postgres_host known = {.number = 0};
    char name[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    char texts[5][NUMBER_BYTES];
    int error = tri_postgres_find_member(self, member, &known);
    if (error == 0 && known.number == 0) {
        error = add(self, member, &known.number);
    }
    if (error == 0) {
        error = choose_name(self, member, known.number, name);
    }
    if (error != 0) {
        return error;
    }
    bool has_links = self->format >= TRI_POSTGRES_FORMAT_LINKS;
    const char *parameters[] = {print(known.number, texts[0]),
                                print(TRI_MEMBER_UP, texts[1]),
                                name,
                                member->machine,
                                member->folder,
                                member->blobs,
                                print(member->lease_ms, texts[2]),
                                print(member->process_lease_ms, texts[3]),
                                print(TRI_MEMBERS_MAX, texts[4])};
    error = change(self, has_links ? bring_up : bring_up_without_links,
                   TR_COUNT_OF(parameters) - !has_links, parameters, "enrolling the host");
    if (error == 0) {
        *number = known.number;
    }
    return error;
}

/* ---- Links. ---------------------------------------------------------------------------------- */

int tri_postgres_listen(struct tri_postgres *self, const char *address, const uint8_t *key)
{
    char texts[3][NUMBER_BYTES];
    char digits[2 * TR_WIRE_KEY_BYTES + 1] = "";
    for (size_t i = 0; key != NULL && i < TR_WIRE_KEY_BYTES; i++) {
        (void)snprintf(digits + 2 * i, 3, "%02x", key[i]);
    }
    const char *parameters[] = {print(self->host, texts[0]),
                                print(self->store.incarnation, texts[1]),
                                print(TRI_MEMBER_UP, texts[2]), address, digits};
    return self->format < TRI_POSTGRES_FORMAT_LINKS
               ? 0
               : change(self, listen_at, TR_COUNT_OF(parameters), parameters,
                        "saying where the host listens");
}

/* ---- Fences. --------------------------------------------------------------------------------- */

int tri_postgres_put_fence(struct tri_postgres *self, uint64_t number,
                           const struct tri_fence_row *row)
{
    const struct tri_op op = {.key = {row->incarnation, row->last_number}};
    char texts[5][NUMBER_BYTES];
    const char *parameters[] = {print(number, texts[0]), print(row->incarnation, texts[1]),
                                print(row->last_number, texts[2]), print(row->commits, texts[3]),
                                print(tri_checksum(0, &op), texts[4])};
    return run(self, put_fence, 5, parameters, "raising the incarnation");
}

/* Room for an array of as many numbers. */
#define ARRAY_BYTES ((size_t)TR_PARTITIONS_MAX * NUMBER_BYTES + 3)

/* What is said of each partition that is given. */
enum shares_part { SHARES_NUMBERS, SHARES_HOSTS, SHARES_EPOCHS };

/* As an array in text. */
static void print_shares(const struct tri_member_shares *shares, enum shares_part part,
                         const uint32_t *epochs, char *text)
{
    size_t at = 0;
    text[at++] = '{';
    for (size_t i = 0; shares != NULL && i < shares->count; i++) {
        if (shares->hosts[i] != 0) {
            const char *separator = at > 1 ? "," : "";
            uint64_t number = part == SHARES_HOSTS    ? shares->hosts[i]
                              : part == SHARES_EPOCHS ? epochs[i]
                                                      : i;
            int size =
                snprintf(text + at, ARRAY_BYTES - at, "%s%lld", separator, (long long)number);
            at += (size_t)size;
        }
    }
    memcpy(text + at, "}", 2);
}

int tri_postgres_hand_on(struct tri_postgres *self, uint64_t from, uint64_t to,
                         uint64_t incarnation, uint64_t state,
                         const struct tri_member_shares *shares, const char *why)
{
    char texts[5][NUMBER_BYTES];
    char *arrays = tr_alloc(2 * ARRAY_BYTES);
    if (arrays == NULL) {
        return report_memory(self);
    }
    print_shares(shares, SHARES_NUMBERS, NULL, arrays);
    print_shares(shares, SHARES_HOSTS, NULL, arrays + ARRAY_BYTES);
    const char *parameters[] = {print(from, texts[0]),
                                print(to, texts[1]),
                                print(incarnation, texts[2]),
                                print(state, texts[3]),
                                why,
                                arrays,
                                arrays + ARRAY_BYTES,
                                print(TRI_MEMBER_UP, texts[4])};
    int error =
        change(self, hand_on, TR_COUNT_OF(parameters), parameters, "taking the work of a host");
    tr_free(arrays);
    return error;
}

/* ---- Giving. --------------------------------------------------------------------------------- */

int tri_postgres_raise_view(struct tri_postgres *self, uint64_t *view)
{
    int error = ask_number(self, RAISE_VIEW, 0, NULL, "waiting for its turn", view);
    return error != TR_NOT_FOUND
               ? error
               : tri_postgres_damaged(self, "the row of the table cluster is missing");
}

int tri_postgres_find_vacant(struct tri_postgres *self, bool *vacant)
{
    char text[NUMBER_BYTES];
    const char *parameters[] = {print(self->host, text)};
    PGresult *rows = NULL;
    int error = tri_postgres_query(self, find_vacant, 1, parameters, 1,
                                   "looking for empty partitions", &rows);
    if (error != 0) {
        return error;
    }
    memset(vacant, 0, TR_PARTITIONS_MAX * sizeof *vacant);
    for (int row = 0; row < self->library->ntuples(rows); row++) {
        uint64_t number = tri_postgres_number(self, rows, row, 0);
        if (number < TR_PARTITIONS_MAX) {
            vacant[number] = true;
        }
    }
    self->library->clear(rows);
    return 0;
}

static int give(struct tri_postgres *self, const char *const *gifts,
                const struct tri_member_shares *shares, uint64_t view)
{
    char texts[3][NUMBER_BYTES];
    const char *are_live = shares->are_live ? "1" : "0";
    const char *counting[] = {
        gifts[0], gifts[1], gifts[2], gifts[3], print(TRI_MEMBER_UP, texts[0]), are_live};
    const char *giving[] = {gifts[0],
                            gifts[1],
                            gifts[2],
                            gifts[3],
                            print(view, texts[1]),
                            print(shares->frozen_us, texts[2]),
                            are_live};
    uint64_t kept = 0;
    int error = ask_number(self, count_kept, TR_COUNT_OF(counting), counting,
                           "looking at what is given", &kept);
    if (error == 0 && kept > 0) {
        return tri_postgres_report(self, TR_INVALID,
                                   "of the partitions that are given %llu are not empty, or their "
                                   "hosts are not up",
                                   (unsigned long long)kept);
    }
    return error != 0 ? error
                      : change(self, hand_over, TR_COUNT_OF(giving), giving, "giving partitions");
}

int tri_postgres_give(struct tri_postgres *self, const struct tri_member_shares *shares,
                      const uint32_t *epochs, uint64_t view)
{
    char text[NUMBER_BYTES];
    char *arrays = tr_alloc(3 * ARRAY_BYTES);
    if (arrays == NULL) {
        return report_memory(self);
    }
    print_shares(shares, SHARES_NUMBERS, NULL, arrays);
    print_shares(shares, SHARES_HOSTS, NULL, arrays + ARRAY_BYTES);
    print_shares(shares, SHARES_EPOCHS, epochs, arrays + 2 * ARRAY_BYTES);
    const char *gifts[] = {print(self->host, text), arrays, arrays + ARRAY_BYTES,
                           arrays + 2 * ARRAY_BYTES};
    int error = give(self, gifts, shares, view);
    tr_free(arrays);
    return error;
}

/* ---- Moves. ---------------------------------------------------------------------------------- */

int tri_postgres_want(struct tri_postgres *self, uint64_t partition, uint64_t host, const char *by)
{
    char texts[3][NUMBER_BYTES];
    const char *parameters[] = {print(partition, texts[0]), print(host, texts[1]), by,
                                print(TRI_MEMBER_UP, texts[2])};
    return run(self, want, 4, parameters, "saying where a partition is wanted");
}

int tri_postgres_stay(struct tri_postgres *self, const struct tri_member_shares *waits)
{
    char text[NUMBER_BYTES];
    char *arrays = tr_alloc(2 * ARRAY_BYTES);
    if (arrays == NULL) {
        return report_memory(self);
    }
    print_shares(waits, SHARES_NUMBERS, NULL, arrays);
    print_shares(waits, SHARES_HOSTS, NULL, arrays + ARRAY_BYTES);
    const char *parameters[] = {print(self->host, text), arrays, arrays + ARRAY_BYTES};
    int error = run(self, stay, 3, parameters, "saying what keeps partitions");
    tr_free(arrays);
    return error;
}

int tri_postgres_open_moved(struct tri_postgres *self)
{
    char text[NUMBER_BYTES];
    const char *parameters[] = {print(self->host, text)};
    return run(self, open_moved, 1, parameters, "saying that groups go on");
}

int tri_postgres_read_move(struct tri_postgres *self, uint64_t partition,
                           struct tri_member_move *move)
{
    char text[NUMBER_BYTES];
    const char *parameters[] = {print(partition, text)};
    PGresult *rows = NULL;
    int error = tri_postgres_query(self, read_move, 1, parameters, 1, "looking at a move", &rows);
    if (error != 0) {
        return error;
    }
    if (self->library->ntuples(rows) == 1) {
        *move = (struct tri_member_move){.host = tri_postgres_number(self, rows, 0, 0),
                                         .wanted = tri_postgres_number(self, rows, 0, 1),
                                         .waits = tri_postgres_number(self, rows, 0, 2),
                                         .frozen_us = tri_postgres_number(self, rows, 0, 3),
                                         .is_frozen = tri_postgres_number(self, rows, 0, 4) != 0};
    } else {
        error = TR_NOT_FOUND;
    }
    self->library->clear(rows);
    return error;
}

int tri_postgres_drain(struct tri_postgres *self, uint64_t host, bool is_drained)
{
    char text[NUMBER_BYTES];
    const char *parameters[] = {print(host, text), is_drained ? "1" : "0"};
    return run(self, drain, 2, parameters, "saying that a host gives all");
}

int tri_postgres_say_fenced(struct tri_postgres *self)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    char number[NUMBER_BYTES];
    char state[NUMBER_BYTES];
    const char *parameters[] = {print(self->host, number), print(TRI_MEMBER_UP, state)};
    PGresult *result = NULL;
    memcpy(words, self->words, sizeof words);
    int error = tri_postgres_query(self, read_why, 2, parameters, 1, "asking why", &result);
    if (error == 0 && self->library->ntuples(result) == 1) {
        (void)snprintf(words, sizeof words, "%s", tri_postgres_text(self, result, 0, 0));
    }
    if (error == 0) {
        self->library->clear(result);
    }
    memcpy(self->words, words, sizeof words);
    return TR_FENCED;
}

int tri_postgres_keep(struct tri_postgres *self, uint64_t number, uint64_t processes)
{
    char texts[2][NUMBER_BYTES];
    const char *parameters[] = {print(number, texts[0]), print(processes, texts[1])};
    return run(self, "UPDATE hosts SET processes = $2::bigint WHERE number = $1::bigint", 2,
               parameters, "saying what runs");
}

int tri_postgres_leave(struct tri_postgres *self)
{
    char texts[4][NUMBER_BYTES];
    const char *parameters[] = {print(self->host, texts[0]),
                                print(self->store.incarnation, texts[1]),
                                print(TRI_MEMBER_LEFT, texts[2]), print(TRI_MEMBER_UP, texts[3])};
    return change(self, leave, 4, parameters, "leaving");
}
