/*
 * `troupe hosts`: the hosts of a store in a database, a row for each; and forgetting one that is
 * gone.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/document.h"
#include "deploy/common/file.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/console/console.h"
#include "deploy/history/executions.h"
#include "runtime/env/env.h"
#include "runtime/link/entry_locator.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"

struct hosts {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    struct tri_registry *registry;
    struct tri_member_view view;
};

/* ---- Showing. -------------------------------------------------------------------------------- */

static void print_age(struct tr_table *table, uint64_t age_ms)
{
    struct tr_buffer age;
    tr_buffer_init(&age, 0);
    tr_age_print(age_ms, &age);
    tr_table_text(table, tr_buffer_text(&age));
    tr_buffer_fini(&age);
}

/* Which of all groups are a host's, by their partitions. */
static void print_share(struct tr_table *table, uint64_t owned, size_t count)
{
    if (owned == 0 || owned == count) {
        tr_table_print(table, "%s", owned > 0 ? "all" : "-");
    } else {
        tr_table_print(table, "%llu of %zu", (unsigned long long)owned, count);
    }
}

/* Where others reach it, as the settings have it. */
static const char *address_of(const struct tri_member *member)
{
    const char *begin = strstr(member->address, "://");
    return begin != NULL ? begin + strlen("://") : member->address;
}

static void print_row(const struct hosts *hosts, const struct tri_member *member,
                      struct tr_table *table)
{
    const struct tri_member_view *view = &hosts->view;
    uint64_t now_ms = view->now_ms;
    tr_table_print(table, "%llu", (unsigned long long)member->number);
    tr_table_text(table, tr_text_of(member->name));
    tr_table_text(table, tr_text_of(tri_member_show(member)));
    print_age(table, now_ms > member->since_ms ? now_ms - member->since_ms : 0);
    print_age(table, member->silent_ms);
    print_share(table, member->owned, view->partition_count);
    tr_table_text(table, tr_text_of(member->address[0] != '\0' ? address_of(member) : "-"));
    tr_table_text(table, tr_text_of(member->machine));
    tr_table_text(table, tr_text_of(member->folder));
    tr_table_text(table, tr_text_of(member->why[0] != '\0' ? member->why : "-"));
}

static int show_table(const struct hosts *hosts)
{
    static const char *const heads[] = {"NUMBER", "NAME",    "STATE",   "SINCE",  "BEAT",
                                        "GROUPS", "ADDRESS", "MACHINE", "FOLDER", "WHY"};
    struct tr_table table;
    tr_table_init(&table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&table, tr_text_of(heads[i]));
    }
    for (size_t i = 0; i < hosts->view.count; i++) {
        print_row(hosts, &hosts->view.members[i], &table);
    }
    int error = tr_table_write(&table, 0, tr_console_out());
    tr_table_fini(&table);
    return error;
}

static void write_host(const struct tri_member *member, struct tr_document *document)
{
    static const char *const processes[] = {[TRI_MEMBER_PROCESSES_NONE] = "none",
                                            [TRI_MEMBER_PROCESSES_BOUND] = "bound",
                                            [TRI_MEMBER_PROCESSES_UNBOUND] = "unbound"};
    bool is_known = member->processes < TR_COUNT_OF(processes);
    tr_document_begin_map(document, NULL);
    tr_document_number(document, "number", (int64_t)member->number);
    tr_document_text(document, "name", tr_text_of(member->name));
    tr_document_text(document, "state", tr_text_of(tri_member_show(member)));
    tr_document_bool(document, "active", member->owned > 0);
    tr_document_time(document, "since", member->since_ms);
    if (member->why[0] != '\0') {
        tr_document_text(document, "why", tr_text_of(member->why));
    } else {
        tr_document_null(document, "why");
    }
    tr_document_number(document, "incarnation", (int64_t)member->signs.incarnation);
    tr_document_number(document, "beat_age_ms", (int64_t)member->silent_ms);
    tr_document_number(document, "lease_ms", member->lease_ms);
    tr_document_number(document, "process_lease_ms", member->process_lease_ms);
    tr_document_text(document, "processes",
                     tr_text_of(is_known ? processes[member->processes] : "unknown"));
    tr_document_number(document, "partitions", (int64_t)member->owned);
    if (member->address[0] != '\0') {
        tr_document_text(document, "address", tr_text_of(address_of(member)));
    } else {
        tr_document_null(document, "address");
    }
    tr_document_text(document, "machine", tr_text_of(member->machine));
    tr_document_text(document, "folder", tr_text_of(member->folder));
    if (member->blobs[0] != '\0') {
        tr_document_text(document, "blobs", tr_text_of(member->blobs));
    } else {
        tr_document_null(document, "blobs");
    }
    tr_document_end(document);
}

static void show_document(const struct hosts *hosts)
{
    struct tr_document document;
    tr_document_init(&document, tr_console_out(), hosts->invocation->output);
    tr_document_begin_list(&document, NULL);
    for (size_t i = 0; i < hosts->view.count; i++) {
        write_host(&hosts->view.members[i], &document);
    }
    tr_document_end(&document);
    tr_document_fini(&document);
}

static enum tr_exit_status show(struct hosts *hosts)
{
    int error = 0;
    if (hosts->invocation->output == TR_OUTPUT_TEXT) {
        error = show_table(hosts);
    } else {
        show_document(hosts);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(hosts->invocation->command, "%s", tr_error_text(error));
}

/* ---- Forgetting. ----------------------------------------------------------------------------- */

static const struct tri_member *find_name(const struct hosts *hosts, const char *name)
{
    for (size_t i = 0; i < hosts->view.count; i++) {
        if (strcmp(hosts->view.members[i].name, name) == 0) {
            return &hosts->view.members[i];
        }
    }
    return NULL;
}

static enum tr_exit_status forget(struct hosts *hosts, const char *name)
{
    const struct tr_command *command = hosts->invocation->command;
    const struct tri_member *member = find_name(hosts, name);
    if (member == NULL) {
        return tr_command_refused(command, "the store has no host called %.80s", name);
    }
    if (member->owned > 0) {
        return tr_command_refused(command,
                                  "host %s has the work of the store, and cannot be forgotten; "
                                  "another host has to take it first",
                                  name);
    }
    int error = tri_registry_forget(hosts->registry, member->number);
    if (error == TR_INVALID) {
        return tr_command_refused(command,
                                  "host %s is %s, and cannot be forgotten: only one that has left, "
                                  "is dead, or is silent for its lease can",
                                  name, tri_member_show(member));
    }
    if (error != 0) {
        return tr_command_failed(command, "%s", tri_registry_explain(hosts->registry));
    }
    tr_command_note(hosts->invocation,
                    "host %s is forgotten; what it ran begins anew on the active host", name);
    return TR_EXIT_DONE;
}

/* ---- The command. ---------------------------------------------------------------------------- */

/* Over the network they are what one of them reads. */
static enum tr_exit_status show_read(struct hosts *hosts)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader = NULL;
    int error = tr_history_open(hosts->store.folder, explain, &reader);
    if (error == 0) {
        error = tr_reader_members(reader, &hosts->view);
        (void)snprintf(explain, sizeof explain, "%s",
                       error == TR_NOT_FOUND ? "its store is in a folder, and has one host"
                                             : tr_reader_explain(reader));
        tr_reader_close(reader);
    }
    return error == 0 ? show(hosts) : tr_command_failed(hosts->invocation->command, "%s", explain);
}

/* ---- The key of a user. ---------------------------------------------------------------------- */

static int draw(uint8_t fresh[TR_WIRE_KEY_BYTES])
{
    struct tr_env *env;
    int error = tri_env_real_new(&env);
    for (size_t i = 0; error == 0 && i < TR_WIRE_KEY_BYTES; i += sizeof(uint64_t)) {
        uint64_t bits = tri_entropy(env);
        memcpy(fresh + i, &bits, sizeof bits);
    }
    if (error == 0) {
        tri_env_real_free(env);
    }
    return error;
}

static enum tr_exit_status show_key(const struct tr_invocation *invocation)
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    char explain[TRI_ENTRY_EXPLAIN_BYTES];
    char text[TRI_ENTRY_KEY_TEXT_BYTES];
    struct tr_wire_keys keys;
    bool is_new = false;
    if (!tr_store_key_file(path)) {
        return tr_command_failed(invocation->command,
                                 "there is no place for it: set HOME, or $" TR_STORE_KEY_VARIABLE);
    }
    (void)snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    if (tr_file_make_folders(folder) != 0) {
        return tr_command_failed(invocation->command, "the folder %s cannot be made: %s", folder,
                                 strerror(errno));
    }
    uint8_t fresh[TR_WIRE_KEY_BYTES];
    if (draw(fresh) != 0) {
        return tr_command_failed(invocation->command, "no random key can be made");
    }
    if (tri_entry_key_ensure(path, fresh, &keys, &is_new, explain) != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    memset(keys.secret_key, 0, sizeof keys.secret_key);
    if (is_new) {
        tr_command_note(invocation, "made a new key: %s", path);
    }
    tri_entry_key_print(keys.public_key, text);
    fprintf(tr_console_out(), "%s\n", text);
    return TR_EXIT_DONE;
}

static enum tr_exit_status run_on(struct hosts *hosts)
{
    const struct tr_invocation *invocation = hosts->invocation;
    const struct tr_arguments *arguments = &invocation->arguments;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool forgets = arguments->word_count > 0;
    if (forgets && strcmp(arguments->words[0], "key") == 0) {
        return show_key(invocation);
    }
    if (forgets && arguments->word_count != 2) {
        return tr_command_mistake(invocation->command,
                                  "name the host to be forgotten: troupe hosts "
                                  "forget NAME");
    }
    enum tr_exit_status status = tr_store_find(invocation, false, &hosts->store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (tri_entry_is_locator(hosts->store.folder)) {
        return forgets ? tr_command_refused(invocation->command,
                                            "a host is forgotten on another host of the store, "
                                            "not over the network")
                       : show_read(hosts);
    }
    int error =
        tri_store_registry_open(hosts->store.folder, NULL, !forgets, explain, &hosts->registry);
    if (error != 0) {
        tr_console_note_error(TR_NOT_FOUND); /* it has no hosts to be shown */
        return error == TR_INVALID || error == TR_NOT_FOUND
                   ? tr_command_refused(invocation->command, "%s", explain)
                   : tr_command_failed(invocation->command, "%s", explain);
    }
    if (tri_registry_look(hosts->registry, &hosts->view) != 0) {
        return tr_command_failed(invocation->command, "%s", tri_registry_explain(hosts->registry));
    }
    return forgets ? forget(hosts, arguments->words[1]) : show(hosts);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct hosts *hosts = tr_alloc_zero(1, sizeof *hosts);
    if (hosts == NULL) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    hosts->invocation = invocation;
    enum tr_exit_status status = run_on(hosts);
    tri_registry_close(hosts->registry);
    tr_free(hosts);
    return status;
}

const struct tr_command tr_command_hosts = {
    .name = "hosts",
    .summary = "show the hosts of a store in PostgreSQL",
    .words = "[forget NAME | key]",
    .choices = "forget|key",
    .text =
        "Of the hosts that `troupe serve` was started on with one store in PostgreSQL, those that\n"
        "are up share the work, or one has all of it and others stand by; the rest are joining,\n"
        "drained, have left, are silent for longer than their lease (suspected), or were fenced\n"
        "by another (dead), and why. GROUPS is how many of the partitions of all groups a host\n"
        "has. deploy/HOSTS.md says more.\n"
        "forget NAME   one that will never be back: what it ran begins anew. It says that\n"
        "              nothing of that host runs any more.\n"
        "key           what the settings of hosts need so that this user may come to them over\n"
        "              the network; the first time it makes the key.",
    .examples = "  troupe hosts --store postgresql://troupe_engine@db.example/troupe\n"
                "  troupe hosts -o json\n"
                "  troupe hosts forget b",
    .outputs = "text|json|yaml",
    .has_store = true,
    .over_network = true,
    .words_max = 2,
    .run = run,
};
