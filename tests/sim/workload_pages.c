/*
 * Page writers: pages whose bytes follow from a number in the state, a record for each change, and
 * a row for each page that there is.
 */
#include "tests/sim/workload.h"

#include "runtime/limits.h"
#include "tests/sim/random.h"

#define PAGES 8
#define FAR_PAGE 300 /* the last of them has this number */

struct leaf {
    uint64_t edition; /* 0: there is no such page */
    uint32_t size;
};

struct writing {
    uint32_t worked;
    uint32_t entries;
    struct leaf pages[PAGES];
    struct sim_calls calls;
};

static uint32_t number_of(uint32_t place)
{
    return place == PAGES - 1 ? FAR_PAGE : place;
}

static uint8_t byte_of(uint64_t edition, size_t place)
{
    return (uint8_t)(edition * 37 + place * 11 + (place >> 8));
}

/* Whether the first `size` bytes are those of an edition. */
static bool is_edition(const uint8_t *bytes, size_t size, uint64_t edition)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != byte_of(edition, i)) {
            return false;
        }
    }
    return true;
}

static int check_page(struct tr_context *context, const struct writing *writing, uint32_t place,
                      const struct tr_message *message)
{
    const struct leaf *leaf = &writing->pages[place];
    struct tr_bytes bytes;
    int error = tr_page_get(context, number_of(place), &bytes);
    if (error != 0) {
        return error;
    }
    if (bytes.size != leaf->size || !is_edition(bytes.data, bytes.size, leaf->edition)) {
        return sim_wrong(context, message, "page %u is not its edition %llu of %u bytes", place,
                         (unsigned long long)leaf->edition, leaf->size);
    }
    return 0;
}

static int write_page(struct tr_context *context, struct writing *writing, uint32_t place,
                      const struct tr_message *message)
{
    struct leaf *leaf = &writing->pages[place];
    uint64_t choice = tr_random(context);
    uint32_t size = choice % 20 == 0 ? TR_PAGE_BYTES_MAX : (uint32_t)(1 + choice / 32 % 1500);
    void *bytes;
    int error = tr_page_edit(context, number_of(place), size, &bytes);
    if (error != 0) {
        return error;
    }
    uint8_t *at = bytes;
    uint32_t kept = leaf->size < size ? leaf->size : size;
    bool is_zero = true;
    for (uint32_t i = kept; i < size; i++) {
        is_zero = is_zero && at[i] == 0;
    }
    if (!is_edition(at, kept, leaf->edition) || !is_zero) {
        return sim_wrong(context, message, "page %u is not what it was when it is written", place);
    }
    *leaf = (struct leaf){.edition = leaf->edition + 1 + choice % 1000, .size = size};
    for (uint32_t i = 0; i < size; i++) {
        at[i] = byte_of(leaf->edition, i);
    }
    return 0;
}

static int write_entry(struct tr_context *context, struct writing *writing, uint64_t digest)
{
    struct tr_sim_page_entry entry = {
        .writer = tr_self(context).key,
        .number = ++writing->entries,
        .digest = digest,
        .words = tr_text_of("a page was written"),
    };
    return tr_record(context, &tr_sim_page_entry_schema, &entry);
}

/* The row of a page is what the page is: written anew with it, and gone with it. */
static int write_leaf(struct tr_context *context, const struct writing *writing, uint32_t place)
{
    const struct leaf *leaf = &writing->pages[place];
    struct tr_sim_page_leaf row = {
        .writer = tr_self(context).key,
        .place = place,
        .edition = leaf->edition,
        .words = tr_text_of("a page that is there"),
    };
    return leaf->edition == 0 ? tr_record_delete(context, &tr_sim_page_leaf_schema, &row, 2)
                              : tr_record(context, &tr_sim_page_leaf_schema, &row);
}

/* Every second page writer takes its rows with it. */
static int forget_leaves(struct tr_context *context)
{
    struct tr_sim_page_leaf row = {.writer = tr_self(context).key};
    return row.writer.serial / 16 % 2 == 0
               ? 0
               : tr_record_delete(context, &tr_sim_page_leaf_schema, &row, 1);
}

static int write_some(struct tr_context *context, struct writing *writing,
                      const struct tr_message *message)
{
    uint64_t choice = tr_random(context);
    uint32_t place = (uint32_t)(choice % PAGES);
    int error = check_page(context, writing, place, message);
    if (error != 0) {
        return error;
    }
    if (choice / 8 % 5 == 0) {
        writing->pages[place] = (struct leaf){0};
        error = tr_page_drop(context, number_of(place));
    } else {
        error = write_page(context, writing, place, message);
    }
    if (error == 0) {
        error = write_leaf(context, writing, place);
    }
    uint64_t entries = choice / 64 % 3;
    while (error == 0 && entries-- > 0) {
        error = write_entry(context, writing, writing->pages[place].edition);
    }
    return error;
}

/* All pages once more, then the environment hears how many records there must be. */
static int close_book(struct tr_context *context, struct tr_sim_actor *state,
                      struct writing *writing, const struct tr_message *message)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < PAGES; i++) {
        error = check_page(context, writing, i, message);
    }
    if (error == 0) {
        error = forget_leaves(context);
    }
    writing->calls.total = writing->entries;
    return error != 0 ? error : sim_call_next(context, state, &writing->calls);
}

SIM_PLAY(page_writer)
{
    SIM_TABLE(struct writing, writing, state);
    bool is_mine;
    int error = sim_call_hear(context, state, &writing.calls, message, &is_mine);
    if (error == 0 && (sim_is_go(message) || tr_message_is(message, &tr_sim_cast_schema))) {
        writing.worked++;
        error = write_some(context, &writing, message);
        if (error == 0 && writing.worked < state->size) {
            error = sim_go_on(context);
        } else if (error == 0) {
            error = close_book(context, state, &writing, message);
        }
    } else if (!is_mine) {
        return sim_wrong(context, message, "not for a page writer");
    }
    if (error == 0 && writing.calls.is_final_done) {
        error = tr_stop(context);
    }
    SIM_KEEP(writing, state);
    return error;
}
