/*
 * `troupe entities`: tasks, workflows and launch plans of Flyte's that a store keeps, the newest
 * first.
 */
#include "actors/graph/document/report.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/listing.h"
#include "deploy/common/show.h"
#include "schemas/codec/spelling.h"
#include "schemas/engine/entity.h"

#define FILTERS_MAX 5

struct filters {
    struct tr_reader_filter items[FILTERS_MAX];
    size_t count;
};

/* ---------------------------------------------------------------------------- rows */

static void write_map(struct tr_document *document, const struct tr_entity *row)
{
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

static void write_cells(struct tr_table *table, const struct tr_entity *row)
{
    struct tr_buffer words;
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

static int take(void *self, const void *row)
{
    struct tr_listing *listing = self;
    if (!tr_listing_takes(listing)) {
        return 0;
    }
    if (tr_listing_has_document(listing)) {
        write_map(&listing->document, row);
    } else {
        write_cells(&listing->table, row);
    }
    return 0;
}

static int write_rows(struct tr_listing *listing, const struct filters *filters)
{
    static const char *const heads[] = {"KIND", "PLACE", "NAME", "VERSION", "STATE", "APPLIED"};
    struct tr_reader_query query = {
        .record = &tr_entity_schema,
        .filters = filters->items,
        .filter_count = filters->count,
        .order = {{.field = "applied_ms", .is_descending = true}, {.field = "name"}},
    };
    tr_listing_bound(listing, &query);
    tr_listing_begin(listing, heads, TR_COUNT_OF(heads));
    int error = tr_reader_rows(listing->browse->reader, &query, take, listing);
    int end_error = tr_listing_end(listing);
    return error != 0 ? error : end_error;
}

/* ------------------------------------------------------------------------- the command */

static const char kind_words[] = "task|workflow|plan";

static void add_filters(const struct tr_arguments *arguments, struct filters *filters)
{
    static const struct {
        const char *name;
        enum tr_filter_op op;
    } texts[] = {{"project", TR_FILTER_EQUAL},
                 {"domain", TR_FILTER_EQUAL},
                 {"name", TR_FILTER_GLOB},
                 {"version", TR_FILTER_EQUAL}};
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        const char *word = tr_arguments_value(arguments, texts[i].name);
        if (word != NULL) {
            filters->items[filters->count++] =
                tr_filter_text(texts[i].name, texts[i].op, tr_text_of(word));
        }
    }
    const char *kind = tr_arguments_value(arguments, "kind");
    int place = kind == NULL ? -1 : tr_spelling_find(kind_words, kind);
    if (place >= 0) {
        filters->items[filters->count++] =
            tr_filter_number("kind", TR_FILTER_EQUAL, (uint64_t)place + TR_ENTITY_TASK);
    }
}

static enum tr_exit_status show(struct tr_listing *listing)
{
    struct filters filters = {.count = 0};
    add_filters(&listing->browse->invocation->arguments, &filters);
    return tr_listing_tell(listing, write_rows(listing, &filters));
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_listing_run(invocation, show);
}

static const struct tr_option options[] = {
    {0, "kind", "KIND", "only these", kind_words, 0, false},
    {0, "project", "NAME", "only of this project", NULL, 0, false},
    {0, "domain", "NAME", "only of this domain", NULL, 0, false},
    {0, "name", "NAME", "only of this name; ** stands for anything", NULL, 0, false},
    {0, "version", "VERSION", "only of this version", NULL, 0, false},
    TR_LISTING_LIMIT_OPTION,
    TR_LISTING_OFFSET_OPTION,
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
