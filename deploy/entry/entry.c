/*
 * Opening the entry, who is let in, and where the other hosts are entered.
 */
#include "deploy/entry/entry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "deploy/entry/entry_roles.h"
#include "deploy/settings/settings.h"
#include "runtime/host/host.h"
#include "runtime/journal/reader_ops.h"
#include "runtime/link/entry_locator.h"
#include "runtime/memory.h"
#include "runtime/remote/remote_answer.h"
#include "runtime/store_open.h"
#include "schemas/runtime/place.h"
#include "schemas/runtime/request.h"

#define ENTRY_BYTES_MAX 1024

struct tr_entry {
    struct tr_live *live;
    struct tr_wire_keys keys;
    char address[TR_HOST_ADDRESS_BYTES];
    struct tri_entry_answers *answers;
    uint64_t audited; /* rows so far */
};

/* ---- Who. ------------------------------------------------------------------------------------ */

const struct tr_api_client *tri_entry_client_of_key(const struct tr_live *live, const uint8_t *key)
{
    const struct tri_vector *clients = &live->settings->http.clients;
    const struct tr_api_client *items = clients->items;
    for (uint32_t i = 0; i < clients->count; i++) {
        if (items[i].has_key && memcmp(items[i].key, key, TR_WIRE_KEY_BYTES) == 0) {
            return &items[i];
        }
    }
    return NULL;
}

const struct tr_api_client *tri_entry_client(const struct tr_live *live, const char *who)
{
    const struct tri_vector *clients = &live->settings->http.clients;
    const struct tr_api_client *items = clients->items;
    for (uint32_t i = 0; i < clients->count; i++) {
        if (items[i].id != NULL && strcmp(items[i].id, who) == 0) {
            return &items[i];
        }
    }
    return NULL;
}

bool tri_entry_is_host(const char *who)
{
    return strncmp(who, TR_ENTRY_HOST_BEGINNING, strlen(TR_ENTRY_HOST_BEGINNING)) == 0;
}

static bool lets_in(void *self, const uint8_t *key, char who[TRI_ZAP_WHO_BYTES])
{
    const struct tr_entry *entry = self;
    const struct tr_api_client *client = tri_entry_client_of_key(entry->live, key);
    char host[TRI_ZAP_WHO_BYTES];
    if (client != NULL) {
        (void)snprintf(who, TRI_ZAP_WHO_BYTES, "%s", client->id);
        return true;
    }
    if (!tr_host_name_of_key(entry->live->host, key, host, sizeof host)) {
        return false;
    }
    (void)snprintf(who, TRI_ZAP_WHO_BYTES, TR_ENTRY_HOST_BEGINNING "%.60s", host);
    return true;
}

/* ---- Opening. -------------------------------------------------------------------------------- */

static int read_keys(struct tr_entry *entry, char *explain)
{
    char path[PATH_MAX + sizeof TR_ENTRY_KEY_FILE + 1];
    const char *given = entry->live->settings->entry_key;
    uint64_t fresh[TR_WIRE_KEY_BYTES / sizeof(uint64_t)];
    bool is_new = false;
    for (size_t i = 0; i < TR_COUNT_OF(fresh); i++) {
        fresh[i] = tri_entropy(entry->live->host->env);
    }
    (void)snprintf(path, sizeof path, "%s/" TR_ENTRY_KEY_FILE, entry->live->folder);
    return given != NULL
               ? tri_entry_key_read(given, &entry->keys, explain)
               : tri_entry_key_ensure(path, (const uint8_t *)fresh, &entry->keys, &is_new, explain);
}

static int listen_there(struct tr_entry *entry, char *explain)
{
    struct tr_live *live = entry->live;
    const struct tri_endpoint_entry options = {
        .address = entry->address, .keys = &entry->keys, .self = entry, .lets_in = lets_in};
    int descriptors[2];
    int error = tri_endpoint_enter(live->endpoint, &options);
    if (error != 0) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the entry cannot listen at %s: %s",
                       entry->address, strerror(errno));
        return error;
    }
    tri_endpoint_entry_descriptors(live->endpoint, descriptors);
    error = tr_live_watch(live, descriptors[0]);
    return error != 0 ? error : tr_live_watch(live, descriptors[1]);
}

/* The others find it in the store. */
static int publish(struct tr_entry *entry)
{
    struct tr_live *live = entry->live;
    uint8_t bytes[ENTRY_BYTES_MAX];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    const struct tr_host_entry row = {
        .address = tr_text_of(entry->address),
        .key = {.data = entry->keys.public_key, .size = TR_WIRE_KEY_BYTES},
        .incarnation = live->host->store->incarnation};
    int error = tr_host_entry_pack(&row, &writer);
    const struct tri_op op = {.kind = TRI_OP_PUT_META,
                              .number = TRI_META_ENTRY_OF_HOST + live->engine->host,
                              .data = {.data = bytes, .size = tr_writer_size(&writer)}};
    if (error == 0) {
        error = tr_host_write_wait(live->host);
    }
    if (error == 0) {
        error = tr_host_write(live->host, &op, 1);
    }
    return error != 0 ? error : tr_host_write_wait(live->host);
}

int tr_entry_open(struct tr_live *live, char *explain, struct tr_entry **out)
{
    explain[0] = '\0';
    if (live->settings == NULL || live->settings->entry_address == NULL) {
        return 0;
    }
    struct tr_entry *entry = tr_alloc_zero(1, sizeof *entry);
    if (entry == NULL) {
        return TR_MEMORY;
    }
    entry->live = live;
    (void)snprintf(entry->address, sizeof entry->address, "tcp://%s",
                   live->settings->entry_address);
    int error = read_keys(entry, explain);
    if (error == 0) {
        error = tri_entry_answers_new(live, &entry->answers);
    }
    if (error == 0) {
        error = listen_there(entry, explain);
    }
    if (error == 0 && live->is_member) {
        error = publish(entry);
    }
    if (error != 0) {
        if (explain[0] == '\0') {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the entry cannot be opened: %s",
                           tr_error_text(error));
        }
        tr_entry_close(entry);
        return error;
    }
    live->entry = entry;
    *out = entry;
    return 0;
}

void tr_entry_close(struct tr_entry *entry)
{
    if (entry != NULL) {
        tri_entry_answers_stop(entry->answers);
        tri_entry_answers_free(entry->answers);
        entry->live->entry = NULL;
        memset(&entry->keys, 0, sizeof entry->keys);
        tr_free(entry);
    }
}

void tr_entry_locator(const struct tr_entry *entry, char *text, size_t size)
{
    char key[TRI_ENTRY_KEY_TEXT_BYTES];
    tri_entry_key_print(entry->keys.public_key, key);
    (void)snprintf(text, size, TRI_ENTRY_BEGINNING "%s@%s", key,
                   entry->address + strlen(TRI_ENTRY_BEGINNING));
}

/* ---- Admitting. ------------------------------------------------------------------------------ */

bool tr_entry_admit(struct tr_entry *entry, const struct tri_peer *peer,
                    const struct tri_request *request, char *words)
{
    if (peer->who[0] == '\0' || tri_entry_is_host(peer->who)) {
        return true;
    }
    return tri_entry_roles_admit(entry->live, peer->who, request, &entry->audited, words);
}

static void refuse(struct tr_entry *entry, const struct tri_peer *peer, int error,
                   const char *words)
{
    const struct tr_answered answered = {.error = error, .message = tr_text_of(words)};
    (void)!tri_endpoint_answer(entry->live->endpoint, peer, &tr_answered_schema, &answered);
}

bool tr_entry_reads(struct tr_entry *entry, const struct tri_peer *peer,
                    const struct tri_request *request)
{
    if (!tri_remote_is_question(request)) {
        return false;
    }
    int error = tri_entry_answers_add(entry->answers, peer, request);
    if (error != 0) {
        refuse(entry, peer, error,
               error == TR_BUSY ? "this host has as many questions as it answers at once; ask again"
                                : tr_error_text(error));
    }
    return true;
}

/* ---- Other hosts. ---------------------------------------------------------------------------- */

static int read_entry(struct tr_reader *reader, const struct tri_member *member,
                      struct tr_entry_host *host)
{
    uint8_t bytes[ENTRY_BYTES_MAX];
    size_t size = 0;
    struct tr_host_entry row;
    int error =
        tri_store_read_meta(reader->ops->store(reader), TRI_META_ENTRY_OF_HOST + member->number,
                            bytes, sizeof bytes, &size);
    if (error == 0) {
        error = tr_host_entry_unpack((struct tr_bytes){.data = bytes, .size = size},
                                     tr_host_entry_schema.version, &row);
    }
    if (error == 0 &&
        (row.key.size != TR_WIRE_KEY_BYTES || row.incarnation != member->signs.incarnation)) {
        error = TR_NOT_FOUND; /* of an earlier life */
    }
    if (error == 0) {
        (void)snprintf(host->address, sizeof host->address, "%.*s", (int)row.address.size,
                       row.address.data);
        memcpy(host->key, row.key.data, sizeof host->key);
    }
    return error;
}

static bool concerns(const struct tri_member_view *view, const struct tri_member *member,
                     uint64_t execution)
{
    uint64_t partition = tr_group_partition(execution);
    return execution == 0 || partition >= view->partition_count ||
           view->partitions[partition] == member->number;
}

/* NULL: they cannot be read. The caller frees it. */
static struct tri_member_view *read_members(struct tr_reader *reader)
{
    struct tri_member_view *view = tr_alloc_zero(1, sizeof *view);
    if (view != NULL && tr_reader_members(reader, view) != 0) {
        tr_free(view);
        return NULL;
    }
    return view;
}

size_t tr_entry_hosts(struct tr_live *live, uint64_t execution, struct tr_entry_host *hosts,
                      size_t capacity)
{
    struct tr_reader *reader = NULL;
    size_t count = 0;
    if (!live->is_member || tr_live_read(live, NULL, &reader) != 0) {
        return 0;
    }
    struct tri_member_view *view = read_members(reader);
    for (size_t i = 0; view != NULL && i < view->count && count < capacity; i++) {
        const struct tri_member *member = &view->members[i];
        bool is_there = member->number != live->engine->host && member->state == TRI_MEMBER_UP &&
                        member->owned > 0 && concerns(view, member, execution);
        if (is_there) {
            struct tr_entry_host *host = &hosts[count++];
            (void)snprintf(host->name, sizeof host->name, "%s", member->name);
            host->address[0] = '\0';
            (void)!read_entry(reader, member, host); /* without one it is known by its name */
        }
    }
    tr_live_read_end(live);
    tr_free(view);
    return count;
}

void tr_entry_own_name(struct tr_live *live, char *name, size_t size)
{
    struct tr_reader *reader = NULL;
    name[0] = '\0';
    if (!live->is_member || tr_live_read(live, NULL, &reader) != 0) {
        return;
    }
    struct tri_member_view *view = read_members(reader);
    const struct tri_member *own =
        view == NULL ? NULL : tri_member_view_find(view, live->engine->host);
    (void)snprintf(name, size, "%s", own != NULL ? own->name : "");
    tr_live_read_end(live);
    tr_free(view);
}

int tr_entry_connect(struct tr_live *live, const struct tr_entry_host *host,
                     struct tri_client **client)
{
    struct tri_client_entry entry = {.address = host->address, .keys = tr_host_keys(live->host)};
    memcpy(entry.server_key, host->key, sizeof entry.server_key);
    return entry.keys == NULL ? TR_NO_CONNECTION : tri_client_enter(&entry, client);
}
