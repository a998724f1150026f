/*
 * A page of rows, from the options of a command to the word about what was left out.
 */
#include "deploy/cli/listing.h"

#include "deploy/common/show.h"
#include "deploy/console/console.h"

bool tr_listing_has_document(const struct tr_listing *listing)
{
    enum tr_output output = listing->browse->invocation->output;
    return output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML;
}

void tr_listing_bound(const struct tr_listing *listing, struct tr_reader_query *query)
{
    query->skip = listing->offset;
    query->limit = listing->limit == 0 ? 0 : listing->limit + 1;
}

void tr_listing_begin(struct tr_listing *listing, const char *const *heads, uint32_t count)
{
    tr_table_init(&listing->table, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_table_text(&listing->table, tr_text_of(heads[i]));
    }
    if (tr_listing_has_document(listing)) {
        tr_document_init(&listing->document, tr_console_out(), listing->browse->invocation->output);
        tr_document_begin_list(&listing->document, NULL);
    }
}

bool tr_listing_takes(struct tr_listing *listing)
{
    listing->has_more = listing->limit != 0 && listing->count == listing->limit;
    listing->count += listing->has_more ? 0 : 1;
    return !listing->has_more;
}

int tr_listing_end(struct tr_listing *listing)
{
    int error = 0;
    if (tr_listing_has_document(listing)) {
        tr_document_end(&listing->document);
        tr_document_fini(&listing->document);
    } else if (listing->browse->invocation->output != TR_OUTPUT_NAME) {
        error = tr_table_write(&listing->table, 0, tr_console_out());
    }
    tr_table_fini(&listing->table);
    return error;
}

/* ------------------------------------------------------------------------- a command */

static enum tr_exit_status read_count(const struct tr_invocation *invocation, const char *name,
                                      uint64_t *count)
{
    const char *word = tr_arguments_value(&invocation->arguments, name);
    return word == NULL || tr_count_read(word, count)
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command, "--%s: '%.60s' is no number", name, word);
}

enum tr_exit_status tr_listing_read(const struct tr_browse *browse, struct tr_listing *listing)
{
    *listing = (struct tr_listing){.browse = browse, .limit = TR_LISTING_LIMIT};
    enum tr_exit_status status = read_count(browse->invocation, "limit", &listing->limit);
    if (status == TR_EXIT_DONE) {
        status = read_count(browse->invocation, "offset", &listing->offset);
    }
    return status;
}

enum tr_exit_status tr_listing_tell(const struct tr_listing *listing, int error)
{
    if (error != 0) {
        return tr_browse_failed(listing->browse, error);
    }
    if (listing->has_more) {
        tr_console_note_more();
        tr_command_note(listing->browse->invocation, "there are more; --limit 0 shows all");
    }
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_listing_run(const struct tr_invocation *invocation,
                                   enum tr_exit_status (*show)(struct tr_listing *listing))
{
    struct tr_browse browse;
    struct tr_listing listing;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = tr_listing_read(&browse, &listing);
    if (status == TR_EXIT_DONE) {
        status = show(&listing);
    }
    tr_browse_close(&browse);
    return status;
}
