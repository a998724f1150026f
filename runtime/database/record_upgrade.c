/*
 * Tables of records that are missing, older or newer than the program.
 */
#include "runtime/database/record_upgrade.h"

#include <stdio.h>
#include <string.h>

static int execute(const struct tri_record_upgrade *upgrade, const struct tr_sink *text,
                   const char *what)
{
    return text->truncated
               ? upgrade->report(upgrade->self, TR_LIMIT, "the statement on a table is too long")
               : upgrade->execute(upgrade->self, tr_sink_text(text).data, what);
}

static int change_table(const struct tri_record_upgrade *upgrade,
                        const struct tri_record_table *table, uint64_t old_version)
{
    char buffer[TRI_SQL_BYTES];
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    if (old_version == 0) {
        tri_sql_put_create(&text, upgrade->dialect, table);
    } else {
        tri_sql_put_add_columns(&text, upgrade->dialect, table, old_version);
    }
    return execute(upgrade, &text, "making a record's table");
}

static int remember_version(const struct tri_record_upgrade *upgrade,
                            const struct tr_schema *schema)
{
    char buffer[512];
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    tr_sink_format(&text, "INSERT INTO record_schemas VALUES(%d, '%s', %d)", schema->id,
                   schema->name, schema->version);
    tr_sink_put_string(&text, " ON CONFLICT(id) DO UPDATE SET version = excluded.version");
    return execute(upgrade, &text, "remembering a record's version");
}

/* A store whose records this program does not know as it should. */
static int check(const struct tri_record_upgrade *upgrade, const struct tr_schema *schema,
                 const char *name, uint64_t version)
{
    char words[TRI_RECORD_WORDS_BYTES * 4];
    if (version != 0 && strcmp(name, schema->name) != 0) {
        (void)snprintf(words, sizeof words,
                       "%s: record id %d belongs to %s and cannot be used for %s", upgrade->place,
                       schema->id, name, schema->name);
        return upgrade->report(upgrade->self, TR_INVALID, words);
    }
    if (version > schema->version) {
        (void)snprintf(words, sizeof words,
                       "%s: record %s has version %llu, and this version of the program knows %d; "
                       "use the one that wrote it",
                       upgrade->place, schema->name, (unsigned long long)version, schema->version);
        return upgrade->report(upgrade->self, TR_STORE_NEWER, words);
    }
    return 0;
}

static int upgrade_table(const struct tri_record_upgrade *upgrade, struct tri_record_table *table)
{
    char name[TRI_RECORD_WORDS_BYTES] = "";
    uint64_t version = 0;
    const struct tr_schema *schema = table->schema;
    int error = upgrade->read(upgrade->self, schema->id, name, &version);
    if (error == 0) {
        error = check(upgrade, schema, name, version);
    }
    if (error != 0) {
        return error;
    }
    table->stored_version = upgrade->read_only ? (uint8_t)version : schema->version;
    if (version == schema->version || upgrade->read_only) {
        return 0;
    }
    error = change_table(upgrade, table, version);
    return error != 0 ? error : remember_version(upgrade, schema);
}

int tri_record_tables_upgrade(const struct tri_record_tables *tables,
                              const struct tri_record_upgrade *upgrade)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < tables->count; i++) {
        error = upgrade_table(upgrade, &tables->tables[i]);
    }
    return error;
}
