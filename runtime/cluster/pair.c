/*
 * Pairs and kept messages in pages. The lowest free page is used first, so the table of pages is
 * only as large as its contents.
 *
 * Costs: finding a group reads one list page and scans it; keeping a message writes its pages and
 * the pair's; releasing n messages moves the rest of the page numbers once. Limits:
 * TR_INTERHOST_PEERS_MAX pairs, TR_INTERHOST_KEPT_MAX messages of a pair, TR_INTERHOST_PAGES_MAX
 * pages in all.
 */
#include "runtime/cluster/pair.h"

/* A row of the list. */
struct listed {
    uint64_t group;
    uint64_t page;
};

/* The header of each piece of a message. */
struct piece {
    uint32_t total; /* bytes of the whole message */
    uint32_t next;  /* page of the next piece, 0: none */
};

#define PIECE_BYTES_MAX (TR_PAGE_BYTES_MAX - sizeof(struct piece))

static_assert(sizeof(struct tri_pair) + TR_INTERHOST_KEPT_MAX * sizeof(uint32_t) <=
                  TR_PAGE_BYTES_MAX,
              "a pair with all that it may keep is one page");

/* ----------------------------------------------------------------- pages */

/*
 * The lowest free page. TR_LIMIT.
 *
 * Invariant: all pages from TRI_PAIR_LIST_PAGES up to `free_page` are in use. Taking a page skips
 * used ones, and freeing one lowers `free_page` to it; so the search never misses a free page, and
 * skips each used one once until a lower one is freed.
 */
static int take_page(struct tri_interhost_turn *turn, uint32_t *page)
{
    uint32_t at =
        turn->state->free_page < TRI_PAIR_LIST_PAGES ? TRI_PAIR_LIST_PAGES : turn->state->free_page;
    struct tr_bytes bytes = {0};
    int error = tr_page_get(turn->context, at, &bytes);
    while (error == 0 && bytes.data != NULL) {
        error = tr_page_get(turn->context, ++at, &bytes);
    }
    if (error != 0) {
        return error;
    }
    turn->state->free_page = at + 1;
    turn->state->pages++;
    *page = at;
    return 0;
}

static int give_page(struct tri_interhost_turn *turn, uint32_t page)
{
    turn->state->free_page = page < turn->state->free_page ? page : turn->state->free_page;
    turn->state->pages--;
    return tr_page_drop(turn->context, page);
}

/* ------------------------------------------------------------------ list */

static uint32_t list_page(uint64_t group)
{
    return tri_table_hash(group, 0) % TRI_PAIR_LIST_PAGES;
}

static int read_list(struct tri_interhost_turn *turn, uint32_t page, const struct listed **rows,
                     uint32_t *count)
{
    struct tr_bytes bytes;
    int error = tr_page_get(turn->context, page, &bytes);
    if (error == 0) {
        *rows = (const struct listed *)(const void *)bytes.data;
        *count = (uint32_t)(bytes.size / sizeof **rows);
    }
    return error;
}

/* The index of a group in its list, or the list's count. */
static int find_row(struct tri_interhost_turn *turn, uint64_t group, const struct listed **rows,
                    uint32_t *count, uint32_t *place)
{
    int error = read_list(turn, list_page(group), rows, count);
    *place = 0;
    while (error == 0 && *place < *count && (*rows)[*place].group != group) {
        (*place)++;
    }
    return error;
}

static int add_row(struct tri_interhost_turn *turn, uint64_t group, uint32_t page)
{
    const struct listed *rows;
    uint32_t count;
    int error = read_list(turn, list_page(group), &rows, &count);
    void *bytes = NULL;
    if (error == 0) {
        error = tr_page_edit(turn->context, list_page(group), (count + 1) * sizeof *rows, &bytes);
    }
    if (error == 0) {
        ((struct listed *)bytes)[count] = (struct listed){.group = group, .page = page};
    }
    return error;
}

static int remove_row(struct tri_interhost_turn *turn, uint64_t group)
{
    const struct listed *rows;
    uint32_t count;
    uint32_t place;
    int error = find_row(turn, group, &rows, &count, &place);
    if (error != 0 || place == count) {
        return error;
    }
    if (count == 1) {
        return tr_page_drop(turn->context, list_page(group));
    }
    struct listed last = rows[count - 1];
    void *bytes;
    error = tr_page_edit(turn->context, list_page(group), (count - 1) * sizeof last, &bytes);
    if (error == 0 && place < count - 1) {
        ((struct listed *)bytes)[place] = last;
    }
    return error;
}

size_t tri_pair_listed_count(uint64_t page, struct tr_bytes bytes)
{
    return page < TRI_PAIR_LIST_PAGES ? bytes.size / sizeof(struct listed) : 0;
}

uint64_t tri_pair_listed(struct tr_bytes bytes, size_t index)
{
    struct listed row;
    memcpy(&row, bytes.data + index * sizeof row, sizeof row);
    return row.group;
}

/* ----------------------------------------------------------------- pairs */

static size_t pair_bytes(uint32_t kept)
{
    return sizeof(struct tri_pair) + kept * sizeof(uint32_t);
}

int tri_pair_get(struct tri_interhost_turn *turn, uint32_t page, const struct tri_pair **pair)
{
    struct tr_bytes bytes;
    int error = tr_page_get(turn->context, page, &bytes);
    if (error == 0) {
        *pair = (const struct tri_pair *)(const void *)bytes.data;
        TR_ASSERT(bytes.size >= sizeof **pair && bytes.size == pair_bytes((*pair)->kept));
    }
    return error;
}

int tri_pair_find(struct tri_interhost_turn *turn, uint64_t group, const struct tri_pair **pair,
                  uint32_t *page)
{
    const struct listed *rows;
    uint32_t count;
    uint32_t place;
    int error = find_row(turn, group, &rows, &count, &place);
    if (error != 0) {
        return error;
    }
    if (place == count) {
        *pair = NULL;
        *page = 0;
        return 0;
    }
    *page = (uint32_t)rows[place].page;
    return tri_pair_get(turn, *page, pair);
}

/* The page of a pair resized for so many kept messages, to change. */
static int edit_sized(struct tri_interhost_turn *turn, uint32_t page, uint32_t kept,
                      struct tri_pair **pair)
{
    void *bytes;
    int error = tr_page_edit(turn->context, page, pair_bytes(kept), &bytes);
    if (error == 0) {
        *pair = bytes;
        (*pair)->kept = kept;
    }
    return error;
}

int tri_pair_edit(struct tri_interhost_turn *turn, uint32_t page, struct tri_pair **pair)
{
    const struct tri_pair *before;
    int error = tri_pair_get(turn, page, &before);
    return error != 0 ? error : edit_sized(turn, page, before->kept, pair);
}

/* One row of each list is left for the pair of those that wait. */
int tri_pair_has_room(struct tri_interhost_turn *turn, uint64_t group, bool *has_room)
{
    const struct listed *rows;
    uint32_t count;
    int error = read_list(turn, list_page(group), &rows, &count);
    if (error == 0) {
        *has_room = group == TRI_PAIR_WAITING || (turn->state->pairs < TR_INTERHOST_PEERS_MAX &&
                                                  count + 1 < TR_PAGE_BYTES_MAX / sizeof *rows);
    }
    return error;
}

int tri_pair_open(struct tri_interhost_turn *turn, uint64_t group, uint32_t *page)
{
    bool has_room = false;
    int error = tri_pair_has_room(turn, group, &has_room);
    if (error != 0 || !has_room) {
        return error != 0 ? error : TR_LIMIT;
    }
    error = take_page(turn, page);
    struct tri_pair *pair;
    if (error == 0) {
        error = edit_sized(turn, *page, 0, &pair);
    }
    if (error == 0) {
        *pair = (struct tri_pair){.group = group};
        error = add_row(turn, group, *page);
    }
    if (error == 0) {
        turn->state->pairs++;
    }
    return error;
}

int tri_pair_drop(struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tri_pair *pair;
    int error = tri_pair_get(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    TR_ASSERT(pair->kept == 0);
    error = remove_row(turn, pair->group);
    turn->state->pairs--;
    return error != 0 ? error : give_page(turn, page);
}

int tri_pair_each(struct tri_interhost_turn *turn, void *self,
                  int (*visit)(void *self, struct tri_interhost_turn *turn, uint32_t page))
{
    const struct listed *rows;
    uint32_t count = 0;
    for (uint32_t page = 0; page < TRI_PAIR_LIST_PAGES; page++) {
        int error = read_list(turn, page, &rows, &count);
        /* From the end: a dropped pair is replaced by the last one. */
        for (uint32_t i = count; error == 0 && i > 0; i--) {
            error = read_list(turn, page, &rows, &count);
            if (error == 0 && rows[i - 1].group != TRI_PAIR_WAITING) {
                error = visit(self, turn, (uint32_t)rows[i - 1].page);
            }
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* -------------------------------------------------------------- messages */

/* Writes a message to pages from its end, so that each piece has the number of the next one. */
static int write_pieces(struct tri_interhost_turn *turn, struct tr_bytes message, uint32_t *first)
{
    size_t left = message.size;
    uint32_t next = 0;
    while (left > 0) {
        size_t size = left % PIECE_BYTES_MAX != 0 ? left % PIECE_BYTES_MAX : PIECE_BYTES_MAX;
        uint32_t page;
        void *bytes;
        int error = take_page(turn, &page);
        if (error == 0) {
            error = tr_page_edit(turn->context, page, sizeof(struct piece) + size, &bytes);
        }
        if (error != 0) {
            return error;
        }
        struct piece *piece = bytes;
        *piece = (struct piece){.total = (uint32_t)message.size, .next = next};
        left -= size;
        memcpy(piece + 1, message.data + left, size);
        next = page;
    }
    *first = next;
    return 0;
}

int tri_pair_keep(struct tri_interhost_turn *turn, uint32_t page, struct tr_bytes message)
{
    const struct tri_pair *before;
    int error = tri_pair_get(turn, page, &before);
    if (error != 0) {
        return error;
    }
    uint32_t kept = before->kept;
    size_t pages = message.size / PIECE_BYTES_MAX + 1;
    if (kept >= TR_INTERHOST_KEPT_MAX || turn->state->pages + pages > TR_INTERHOST_PAGES_MAX) {
        return TR_OVERFLOW;
    }
    uint32_t first = 0;
    error = write_pieces(turn, message, &first);
    struct tri_pair *pair;
    if (error == 0) {
        error = edit_sized(turn, page, kept + 1, &pair);
    }
    if (error == 0) {
        pair->pages[kept] = first;
        pair->sent++;
    }
    return error;
}

static int read_piece(struct tri_interhost_turn *turn, uint32_t page, struct piece *piece,
                      struct tr_bytes *content)
{
    struct tr_bytes bytes;
    int error = tr_page_get(turn->context, page, &bytes);
    if (error == 0) {
        TR_ASSERT(bytes.size > sizeof *piece);
        memcpy(piece, bytes.data, sizeof *piece);
        *content = (struct tr_bytes){bytes.data + sizeof *piece, bytes.size - sizeof *piece};
    }
    return error;
}

static int drop_pieces(struct tri_interhost_turn *turn, uint32_t first)
{
    int error = 0;
    while (error == 0 && first != 0) {
        struct piece piece;
        struct tr_bytes content;
        uint32_t page = first;
        error = read_piece(turn, page, &piece, &content);
        if (error == 0) {
            first = piece.next;
            error = give_page(turn, page);
        }
    }
    return error;
}

int tri_pair_release(struct tri_interhost_turn *turn, uint32_t page, uint64_t number)
{
    const struct tri_pair *before;
    int error = tri_pair_get(turn, page, &before);
    if (error != 0 || number <= before->acknowledged) {
        return error;
    }
    TR_ASSERT(number <= before->sent);
    uint32_t count = (uint32_t)(number - before->acknowledged);
    uint32_t left = before->kept - count;
    struct tri_pair *pair;
    error = edit_sized(turn, page, before->kept, &pair);
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        error = drop_pieces(turn, pair->pages[i]);
    }
    if (error == 0) {
        memmove(&pair->pages[0], &pair->pages[count], left * sizeof pair->pages[0]);
        pair->acknowledged = number;
        /* A message that is dropped before it was sent is not sent any more. */
        pair->handed = pair->handed < number ? number : pair->handed;
        error = edit_sized(turn, page, left, &pair);
    }
    return error;
}

int tri_pair_take_out(struct tri_interhost_turn *turn, uint32_t page, uint64_t number)
{
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    if (error == 0) {
        TR_ASSERT(pair->group == TRI_PAIR_WAITING && number > 0 && number <= pair->sent);
        error = drop_pieces(turn, pair->pages[number - 1]);
    }
    if (error == 0) {
        uint32_t left = pair->kept - 1;
        memmove(&pair->pages[number - 1], &pair->pages[number],
                (left + 1 - number) * sizeof pair->pages[0]);
        pair->sent--;
        error = edit_sized(turn, page, left, &pair);
    }
    return error;
}

int tri_pair_message(struct tri_interhost_turn *turn, uint32_t page, uint64_t number,
                     struct tr_bytes *message, void **owned)
{
    const struct tri_pair *pair;
    struct piece piece;
    struct tr_bytes content;
    *owned = NULL;
    int error = tri_pair_get(turn, page, &pair);
    if (error == 0) {
        TR_ASSERT(number > pair->acknowledged && number <= pair->sent);
        error = read_piece(turn, pair->pages[number - pair->acknowledged - 1], &piece, &content);
    }
    if (error != 0 || piece.next == 0) {
        *message = content;
        return error;
    }
    uint8_t *whole = tr_alloc(piece.total);
    if (whole == NULL) {
        return TR_MEMORY;
    }
    size_t size = piece.total;
    *message = (struct tr_bytes){.data = whole, .size = size};
    *owned = whole;
    size_t at = 0;
    memcpy(whole, content.data, content.size);
    at += content.size;
    while (error == 0 && piece.next != 0) {
        error = read_piece(turn, piece.next, &piece, &content);
        if (error == 0) {
            TR_ASSERT(at + content.size <= size);
            memcpy(whole + at, content.data, content.size);
            at += content.size;
        }
    }
    return error;
}
