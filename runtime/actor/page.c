/*
 * Pages: the large part of a state, in numbered pieces of which only the changed ones are written.
 *
 * The table is dense, because pages are numbered from 0; an array of a million outputs has a
 * thousand of them.
 */
#include "runtime/actor/parts.h"

struct tri_page {
    void *bytes; /* NULL: no such page */
    uint32_t size;
    bool is_dirty;
};

struct tri_page_table {
    uint32_t capacity;
    struct tri_page pages[];
};

struct tr_bytes tri_page_bytes(const struct tri_actor *actor, uint32_t page)
{
    if (actor->pages == NULL || page >= actor->pages->capacity) {
        return (struct tr_bytes){0};
    }
    const struct tri_page *found = &actor->pages->pages[page];
    return (struct tr_bytes){.data = found->bytes, .size = found->size};
}

/*
 * Reserves space first, so that setting a page in a commit cannot fail. The table never shrinks
 * while the actor lives.
 */
int tri_page_reserve(struct tri_actor *actor, uint32_t page)
{
    uint32_t before = actor->pages == NULL ? 0 : actor->pages->capacity;
    if (page < before) {
        return 0;
    }
    if (page >= TR_PAGES_MAX) {
        return TR_LIMIT;
    }
    uint32_t capacity = before == 0 ? 4 : before;
    while (capacity <= page) {
        capacity *= 2;
    }
    struct tri_page_table *table =
        tr_realloc(actor->pages, sizeof *table + capacity * sizeof table->pages[0]);
    if (table == NULL) {
        return TR_MEMORY;
    }
    memset(&table->pages[before], 0, (capacity - before) * sizeof table->pages[0]);
    table->capacity = capacity;
    actor->pages = table;
    return 0;
}

/* A removed page is dirty too: the next cut must delete it in the store. */
void tri_page_set(struct tri_actor *actor, uint32_t page, void *bytes, size_t size)
{
    TR_ASSERT(size <= TR_PAGE_BYTES_MAX && page < actor->pages->capacity);
    struct tri_page *place = &actor->pages->pages[page];
    tr_free(place->bytes);
    *place = (struct tri_page){.bytes = bytes, .size = (uint32_t)size, .is_dirty = true};
}

void tri_page_each_dirty(struct tri_actor *actor, void *self,
                         void (*visit)(void *self, uint32_t page, struct tr_bytes bytes))
{
    for (uint32_t i = 0; actor->pages != NULL && i < actor->pages->capacity; i++) {
        struct tri_page *page = &actor->pages->pages[i];
        if (page->is_dirty) {
            page->is_dirty = false;
            visit(self, i, (struct tr_bytes){.data = page->bytes, .size = page->size});
        }
    }
}

void tri_page_each(const struct tri_actor *actor, void *self,
                   void (*visit)(void *self, uint32_t page, struct tr_bytes bytes))
{
    for (uint32_t i = 0; actor->pages != NULL && i < actor->pages->capacity; i++) {
        const struct tri_page *page = &actor->pages->pages[i];
        if (page->bytes != NULL) {
            visit(self, i, (struct tr_bytes){.data = page->bytes, .size = page->size});
        }
    }
}

void tri_page_mark_clean(struct tri_actor *actor)
{
    for (uint32_t i = 0; actor->pages != NULL && i < actor->pages->capacity; i++) {
        actor->pages->pages[i].is_dirty = false;
    }
}

uint64_t tri_pages_free(struct tri_actor *actor)
{
    uint64_t freed = 0;
    for (uint32_t i = 0; actor->pages != NULL && i < actor->pages->capacity; i++) {
        freed += actor->pages->pages[i].size;
        tr_free(actor->pages->pages[i].bytes);
    }
    tr_free(actor->pages);
    actor->pages = NULL;
    return freed;
}
