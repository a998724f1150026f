/*
 * Documents in a list: there are few.
 */
#include "tests/sim/documents.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine.h"

#define MS 1000000ULL
#define PATH_BYTES 256
#define ANSWER_NS_MOST (20 * MS)

struct entry {
    struct entry *next;
    char path[PATH_BYTES];
    struct sim_bytes bytes;
};

struct sim_documents {
    struct entry *entries[SIM_HOSTS_MAX];
};

struct sim_documents *sim_documents_new(void)
{
    return sim_must(calloc(1, sizeof(struct sim_documents)));
}

void sim_documents_free(struct sim_documents *documents)
{
    for (uint32_t i = 0; i < SIM_HOSTS_MAX; i++) {
        while (documents->entries[i] != NULL) {
            struct entry *entry = documents->entries[i];
            documents->entries[i] = entry->next;
            free(entry->bytes.data);
            free(entry);
        }
    }
    free(documents);
}

static struct entry *find(const struct sim_documents *documents, uint32_t host, struct tr_text path)
{
    struct entry *entry = documents->entries[host];
    while (entry != NULL && !tr_text_equal(tr_text_of(entry->path), path)) {
        entry = entry->next;
    }
    return entry;
}

static void put(struct sim_documents *documents, uint32_t host,
                const struct tr_document_put *document)
{
    struct entry *entry = find(documents, host, document->path);
    if (entry == NULL) {
        TR_ASSERT(document->path.size < PATH_BYTES);
        entry = sim_must(calloc(1, sizeof *entry));
        memcpy(entry->path, document->path.data, document->path.size);
        entry->next = documents->entries[host];
        documents->entries[host] = entry;
    }
    sim_bytes_set(&entry->bytes, document->bytes.data, document->bytes.size);
}

static void answer(struct sim_host *host, const struct tr_envelope *envelope,
                   const struct tr_document *document)
{
    struct sim_random *chance = &host->world->chance.environment;
    uint64_t delay_ns = sim_below(chance, ANSWER_NS_MOST);
    if (sim_below(chance, 20) == 0) {
        struct tr_blob_failed failed = {.error = TR_STORE_FAILED,
                                        .message = tr_text_of("it broke")};
        sim_environment_reply(host, envelope, &tr_blob_failed_schema, &failed, delay_ns);
    } else {
        sim_environment_reply(host, envelope, &tr_document_schema, document, delay_ns);
    }
}

static void get(const struct sim_documents *documents, struct sim_host *host,
                const struct tr_envelope *envelope, struct tr_text path)
{
    const struct entry *entry = find(documents, host->index, path);
    struct tr_document document = {.is_found = entry != NULL};
    struct sim_bytes damaged = {0};
    if (entry != NULL) {
        document.bytes = sim_bytes_of(&entry->bytes);
    }
    if (document.bytes.size > 0 && sim_below(&host->world->chance.environment, 20) == 0) {
        sim_bytes_set(&damaged, document.bytes.data, document.bytes.size);
        damaged.size = sim_below(&host->world->chance.environment, damaged.size);
        document.bytes = sim_bytes_of(&damaged);
    }
    answer(host, envelope, &document);
    free(damaged.data);
}

bool sim_documents_hear(struct sim_documents *documents, struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct tr_document_get wanted;
    struct tr_document_put given;
    if (envelope->type == tr_document_get_schema.id &&
        tr_document_get_unpack(body, envelope->version, &wanted) == 0) {
        get(documents, host, envelope, wanted.path);
        return true;
    }
    if (envelope->type == tr_document_put_schema.id &&
        tr_document_put_unpack(body, envelope->version, &given) == 0) {
        if (sim_below(&host->world->chance.environment, 20) != 0) {
            put(documents, host->index, &given);
        }
        answer(host, envelope, &(struct tr_document){.is_found = true});
        return true;
    }
    return false;
}
