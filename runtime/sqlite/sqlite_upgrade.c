/*
 * Stores of the first format, in which messages were keyed by their sender alone: how they are
 * read, and how they are made stores of this one.
 *
 * Their rows lack the receiver's group, which is in the envelope; an SQL function takes it from
 * there. Checksums of old rows are checked before new ones are made of them, so that damage stays
 * damage.
 *
 * The table keeps its root page, by which sqlite_tables.c recognizes it: its rows go to another
 * table and back, and in between, while it is empty, its text in sqlite_schema is replaced. That is
 * safe because an empty tree is the same for both. All of it is one transaction with the raised
 * incarnation, so a crash leaves the old store or a whole new one.
 */
#include "runtime/sqlite/sqlite_internal.h"
#include "schemas/runtime/envelope.h"

/* The SQL function troupe_receiver(envelope): the group a message goes to; 0 if it is none. */
static void call_receiver(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    struct tr_bytes envelope = {.data = sqlite3_value_blob(values[0]),
                                .size = (size_t)sqlite3_value_bytes(values[0])};
    size_t size;
    bool is_whole = envelope.data != NULL && tr_envelope_check(envelope, &size) == 0;
    uint64_t group = is_whole ? tr_envelope_get(envelope.data, 64, to_group) : 0;
    sqlite3_result_int64(context, (sqlite3_int64)group);
}

/*
 * The SQL function troupe_checksum(to_group, key_group, key_serial, incarnation, sequence,
 * envelope): that of a message; with a receiver of 0 that of the first format.
 */
static void call_checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    struct tri_op op = {
        .kind = TRI_OP_PUT_MESSAGE,
        .to_group = (uint64_t)sqlite3_value_int64(values[0]),
        .key = {(uint64_t)sqlite3_value_int64(values[1]), (uint64_t)sqlite3_value_int64(values[2])},
        .incarnation = (uint32_t)sqlite3_value_int64(values[3]),
        .number = (uint64_t)sqlite3_value_int64(values[4]),
        .data = {.data = sqlite3_value_blob(values[5]),
                 .size = (size_t)sqlite3_value_bytes(values[5])},
    };
    sqlite3_result_int64(context, tri_checksum(TRI_OP_PUT_MESSAGE, &op));
}

int tri_sqlite_format_register(struct tri_sqlite *self)
{
    static const struct {
        const char *name;
        int count;
        void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
    } functions[] = {
        {"troupe_receiver", 1, call_receiver},
        {"troupe_checksum", 6, call_checksum},
    };
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < TR_COUNT_OF(functions); i++) {
        code = sqlite3_create_function_v2(self->database, functions[i].name, functions[i].count,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                          NULL, functions[i].call, NULL, NULL, NULL);
    }
    return tri_sqlite_error(self, code, "registering a function");
}

/* Damage is found here, where it is still in the rows that it has befallen. */
static int check_messages(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_check_structure(self, TRI_SQL_CHECK_MESSAGES);
    if (error != 0) {
        return error;
    }
    int code = sqlite3_prepare_v2(
        self->database,
        "SELECT EXISTS(SELECT 1 FROM messages WHERE checksum != troupe_checksum(0, key_group,"
        " key_serial, incarnation, sequence, envelope))",
        -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    bool is_damaged = code == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;
    error = tri_sqlite_error(self, code, "checking the messages of an earlier format");
    (void)sqlite3_finalize(statement);
    return error == 0 && is_damaged ? tri_sqlite_damaged(self, "a row fails its checksum") : error;
}

/* Replaces the text of the empty table of messages; the connection reads it anew. */
static int replace_text(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_execute(self, "PRAGMA writable_schema=ON");
    if (error != 0) {
        return error;
    }
    int code =
        sqlite3_prepare_v2(self->database,
                           "UPDATE sqlite_schema SET sql = ?1 WHERE type = 'table' AND name ="
                           " 'messages'",
                           -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_text(statement, 1, tri_sqlite_table_sql("messages"), -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    error = tri_sqlite_error(self, code, "upgrading the messages");
    (void)sqlite3_finalize(statement);
    int reset = tri_sqlite_execute(self, "PRAGMA writable_schema=RESET");
    return error != 0 ? error : reset;
}

/* Keys messages by their receiver's group. */
static int upgrade_messages(struct tri_sqlite *self)
{
    int error = check_messages(self);
    if (error == 0) {
        error = tri_sqlite_execute(
            self,
            "CREATE TABLE moving(to_group, key_group, key_serial, incarnation, sequence, envelope,"
            " checksum, PRIMARY KEY(to_group, key_group, key_serial, incarnation, sequence))"
            " WITHOUT ROWID;"
            "INSERT INTO moving SELECT troupe_receiver(envelope), key_group, key_serial,"
            " incarnation, sequence, envelope, troupe_checksum(troupe_receiver(envelope),"
            " key_group, key_serial, incarnation, sequence, envelope) FROM messages;"
            "DELETE FROM messages");
    }
    if (error == 0) {
        error = replace_text(self);
    }
    return error != 0 ? error
                      : tri_sqlite_execute(self, "INSERT INTO messages SELECT * FROM moving;"
                                                 "DROP TABLE moving");
}

int tri_sqlite_format_upgrade(struct tri_sqlite *self)
{
    int error = tri_sqlite_read_format(self);
    if (error != 0 || self->format >= TRI_SQLITE_FORMAT) {
        return error;
    }
    if (self->format == TRI_SQLITE_FORMAT_BY_SENDER) {
        error = upgrade_messages(self);
    }
    if (error == 0) {
        char sql[64];
        (void)sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version=%d", TRI_SQLITE_FORMAT);
        error = tri_sqlite_execute(self, sql);
    }
    return error != 0 ? error : tri_sqlite_read_format(self);
}
