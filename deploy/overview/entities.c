/*
 * `troupe entities`: tasks, workflows and launch plans of Flyte's that a store keeps, the newest
 * first.
 */
#include <string.h>

#include "actors/graph/document/report.h"
#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/common/document.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/console/console.h"
#include "schemas/codec/spelling.h"
#include "schemas/engine/entity.h"

/* How many are shown where nobody says. */
#define LIMIT 50

#define FILTERS_MAX 5

struct listing {
    const struct tr_browse *browse;
    enum tr_output output;
    uint64_t limit; /* 0: all */
    uint64_t offset;
    uint64_t count;
    bool has_more;
    struct tr_reader_filter filters[FILTERS_MAX];
    size_t filter_count;
    struct tr_table table;
    struct tr_document document;
};

static bool has_document(const struct listing *listing)
{
    return listing->output == TR_OUTPUT_JSON || listing->output == TR_OUTPUT_YAML;
}

/* ---------------------------------------------------------------------------- rows */

static void write_map(struct listing *listing, const struct tr_entity *row)
{
    struct tr_document *document = &listing->document;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "kind", tr_text_of(tr_entity_kind_word(row->kind)));
    tr_document_text(document, "project", row->project);
    tr_document_text(document, "domain", row->domain);
    tr_document_text(document, "name", row->name);
    tr_document_text(document, "version", row->version);
    tr_document_bool(document, "is_active", row->is_active);
    tr_document_time(document, "applied_at", row->applied_ms);
    tr_document_end(document);
}

static void write_cells(struct listing *listing, const struct tr_entity *row)
{
    struct tr_buffer words;
    struct tr_table *table = &listing->table;
    tr_buffer_init(&words, 0);
    tr_table_text(table, tr_text_of(tr_entity_kind_word(row->kind)));
    tr_table_print(table, "%.*s/%.*s", TRI_TEXT(row->project), TRI_TEXT(row->domain));
    tr_table_text(table, row->name);
    tr_table_text(table, row->version);
    tr_table_text(table, tr_text_of(row->is_active ? "active" : "-"));
    tr_time_print(row->applied_ms, &words);
    tr_table_text(table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static int take(void *self, const void *value)
{
    struct listing *listing = self;
    if (listing->limit != 0 && listing->count == listing->limit) {
        listing->has_more = true;
        return 0; /* it is the last one: the query asks for one more than the limit */
    }
    listing->count++;
    if (has_document(listing)) {
        write_map(listing, value);
    } else {
        write_cells(listing, value);
    }
    return 0;
}

static int write_rows(struct listing *listing)
{
    static const char *const heads[] = {"KIND", "PLACE", "NAME", "VERSION", "STATE", "APPLIED"};
    const struct tr_reader_query query = {
        .record = &tr_entity_schema,
        .filters = listing->filters,
        .filter_count = listing->filter_count,
        .order = {{.field = "applied_ms", .is_descending = true}, {.field = "name"}},
        .skip = listing->offset,
        .limit = listing->limit == 0 ? 0 : listing->limit + 1,
    };
    tr_table_init(&listing->table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&listing->table, tr_text_of(heads[i]));
    }
    if (has_document(listing)) {
        tr_document_init(&listing->document, tr_console_out(), listing->output);
        tr_document_begin_list(&listing->document, NULL);
    }
    int error = tr_reader_rows(listing->browse->reader, &query, take, listing);
    if (has_document(listing)) {
        tr_document_end(&listing->document);
        tr_document_fini(&listing->document);
    } else if (error == 0) {
        error = tr_table_write(&listing->table, 0, tr_console_out());
    }
    tr_table_fini(&listing->table);
    return error;
}

/* ------------------------------------------------------------------------- the command */

static const char kind_words[] = "task|workflow|plan";

static void add_filters(struct listing *listing)
{
    static const struct {
        const char *name;
        enum tr_filter_op op;
    } rows[] = {{"project", TR_FILTER_EQUAL},
                {"domain", TR_FILTER_EQUAL},
                {"name", TR_FILTER_GLOB},
                {"version", TR_FILTER_EQUAL}};
    const struct tr_arguments *arguments = &listing->browse->invocation->arguments;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        const char *word = tr_arguments_value(arguments, rows[i].name);
        if (word != NULL) {
            listing->filters[listing->filter_count++] =
                tr_filter_text(rows[i].name, rows[i].op, tr_text_of(word));
        }
    }
    const char *kind = tr_arguments_value(arguments, "kind");
    int place = kind == NULL ? -1 : tr_spelling_find(kind_words, kind);
    if (place >= 0) {
        listing->filters[listing->filter_count++] =
            tr_filter_number("kind", TR_FILTER_EQUAL, (uint64_t)place + TR_ENTITY_TASK);
    }
}

static enum tr_exit_status read_count(const struct tr_invocation *invocation, const char *name,
                                      uint64_t *count)
{
    const char *word = tr_arguments_value(&invocation->arguments, name);
    return word == NULL || tr_count_read(word, count)
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command, "--%s: '%.60s' is no number", name, word);
}

static enum tr_exit_status show(struct listing *listing)
{
    const struct tr_browse *browse = listing->browse;
    add_filters(listing);
    int error = write_rows(listing);
    if (error != 0) {
        return tr_browse_failed(browse, error);
    }
    if (listing->has_more) {
        tr_console_note_more();
        tr_command_note(browse->invocation, "there are more; --limit 0 shows all");
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    struct listing listing = {.browse = &browse, .output = invocation->output, .limit = LIMIT};
    status = read_count(invocation, "limit", &listing.limit);
    if (status == TR_EXIT_DONE) {
        status = read_count(invocation, "offset", &listing.offset);
    }
    if (status == TR_EXIT_DONE) {
        status = show(&listing);
    }
    tr_browse_close(&browse);
    return status;
}

static const struct tr_option options[] = {
    {0, "kind", "KIND", "only these", kind_words, 0, false},
    {0, "project", "NAME", "only of this project", NULL, 0, false},
    {0, "domain", "NAME", "only of this domain", NULL, 0, false},
    {0, "name", "NAME", "only of this name; ** stands for anything", NULL, 0, false},
    {0, "version", "VERSION", "only of this version", NULL, 0, false},
    {0, "limit", "N", "at most so many (else 50; 0: all)", NULL, 0, false},
    {0, "offset", "N", "without so many of the first", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_entities = {
    .name = "entities",
    .summary = "show tasks, workflows and plans of Flyte's that are registered",
    .words = "",
    .text =
        "Those that `troupe apply` of a package keeps, and clients of Flyte's register. `troupe\n"
        "schedules` shows launch plans that have a schedule.",
    .examples = "  troupe entities --kind workflow\n"
                "  troupe entities --project flytesnacks --name 'core.**' -o json",
    .options = options,
    .outputs = "table|json|yaml",
    .has_store = true,
    .run = run,
};
