/*
 * `troupe resources`: what executions share, and which attempts have it or wait for it. All of it
 * is read from the store, beside a live engine or without one.
 */
#include <string.h>

#include "actors/explain/shared.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/listing.h"
#include "deploy/common/show.h"
#include "deploy/connect/host_names.h"
#include "deploy/console/console.h"
#include "deploy/history/waiting.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct overview {
    struct tr_listing *listing;
    const struct tr_browse *browse; /* theirs */
    struct tr_waiting waiting;
    struct tr_host_names hosts;
    const struct tr_resources_state *state; /* NULL: no engine has begun yet */
    struct tr_explain_pages pages;
    uint64_t ahead_ms;        /* how far the clock of states is ahead of the one on the wall */
    uint32_t *waits;          /* of each place, how many wait for it */
    struct tr_text *names;    /* of each place */
    struct tri_vector places; /* struct tr_shared_place */

    /* Of the attempts, which are the rows. */
    bool wants_waiting; /* those come first */
    uint64_t passed;
};

/* ------------------------------------------------------------------------- reading */

/* A machine of one of several hosts is called as the host. */
static struct tr_text name_host(struct overview *overview, const struct tr_shared_place *place)
{
    struct tr_buffer words;
    const struct tr_explain_hosts hosts = tr_host_names_explain(&overview->hosts);
    tr_buffer_init(&words, 0);
    tr_explain_host(&hosts, place->host, &words);
    tr_buffer_add_string(&words, place->is_gone ? ", gone" : "");
    struct tr_text name = tr_arena_text(&overview->waiting.arena, tr_buffer_text(&words));
    tr_buffer_fini(&words);
    return name;
}

static int take_place(void *self, const struct tr_shared_place *place)
{
    struct overview *overview = self;
    struct tr_arena *arena = &overview->waiting.arena;
    struct tr_shared_place *kept = tri_vector_add(arena, &overview->places, sizeof *kept);
    if (kept == NULL) {
        return arena->error;
    }
    *kept = *place;
    kept->name = place->host != 0 ? name_host(overview, place) : tr_arena_text(arena, place->name);
    overview->names[place->number] = kept->name;
    return arena->error;
}

static int count_waiting(void *self, const struct tr_shared_request *request)
{
    struct overview *overview = self;
    for (uint32_t i = 0; request->is_waiting && i < request->place_count; i++) {
        if (request->places[i] <= overview->state->rows_used) {
            overview->waits[request->places[i]]++;
        }
    }
    return 0;
}

static int read_places(struct overview *overview)
{
    struct tr_waiting *waiting = &overview->waiting;
    uint64_t steady_ms = 0;
    int error = tr_waiting_services_read(overview->browse->reader, waiting);
    if (error == 0) {
        error = tr_reader_steady_ms(overview->browse->reader, overview->browse->now_ms, &steady_ms);
    }
    overview->ahead_ms = steady_ms - overview->browse->now_ms;
    overview->state = waiting->resources.state;
    if (error != 0 || overview->state == NULL) {
        return error;
    }
    uint32_t count = overview->state->rows_used + 1;
    overview->pages =
        (struct tr_explain_pages){.page = tr_waiting_page, .self = &waiting->resources.pages};
    overview->waits = tr_arena_array(&waiting->arena, count, sizeof *overview->waits);
    overview->names = tr_arena_array(&waiting->arena, count, sizeof *overview->names);
    if (waiting->arena.error != 0) {
        return waiting->arena.error;
    }
    memset(overview->waits, 0, count * sizeof *overview->waits);
    memset(overview->names, 0, count * sizeof *overview->names);
    error = tr_shared_places(overview->state, &overview->pages, take_place, overview);
    return error != 0
               ? error
               : tr_shared_requests(overview->state, &overview->pages, count_waiting, overview);
}

/* ----------------------------------------------------------------------- attempts */

/* What an execution is called; "" for one that the history does not know. */
static int name_of(const struct overview *overview, uint64_t execution, struct tr_buffer *name)
{
    struct tr_executions_row copy;
    int error = tr_executions_get(overview->browse->reader, execution, &copy);
    if (error == 0) {
        tr_buffer_print(name, "/%.*s/%.*s/%.*s", TRI_TEXT(copy.row.project),
                        TRI_TEXT(copy.row.domain), TRI_TEXT(copy.row.name));
        tr_executions_row_fini(&copy);
    }
    return error == TR_NOT_FOUND ? name->error : error != 0 ? error : name->error;
}

static struct tr_text place_name(const struct overview *overview, uint32_t number)
{
    bool is_one = number <= overview->state->rows_used;
    return is_one ? overview->names[number] : tr_text_of("");
}

static void write_amounts(struct tr_document *document, const struct tri_amounts *amounts)
{
    tr_document_number(document, "cpu_millis", (int64_t)amounts->cpu_millis);
    tr_document_number(document, "memory_bytes", (int64_t)amounts->memory_bytes);
    tr_document_number(document, "gpus", (int64_t)amounts->gpu_count);
}

static void write_request(struct overview *overview, const struct tr_shared_request *request,
                          struct tr_text execution)
{
    struct tr_document *document = &overview->listing->document;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "attempt", request->attempt);
    tr_document_text(document, "execution", execution);
    tr_document_time(document, "since", request->since_ms - overview->ahead_ms);
    tr_document_bool(document, "is_waiting", request->is_waiting);
    tr_document_bool(document, "is_dormant", request->is_dormant);
    tr_document_begin_list(document, "places");
    for (uint32_t i = 0; i < request->place_count; i++) {
        tr_document_text(document, NULL, place_name(overview, request->places[i]));
    }
    tr_document_end(document);
    write_amounts(document, &request->amounts);
    tr_document_end(document);
}

static void add_request(struct overview *overview, const struct tr_shared_request *request,
                        struct tr_text execution)
{
    struct tr_buffer words;
    uint64_t now_ms = overview->browse->now_ms + overview->ahead_ms;
    tr_buffer_init(&words, 0);
    tr_table_text(&overview->listing->table, request->attempt);
    tr_table_text(&overview->listing->table, execution.size > 0 ? execution : tr_text_of("-"));
    tr_table_text(&overview->listing->table, tr_text_of(request->is_waiting ? "waits" : "has it"));
    tr_age_print(now_ms < request->since_ms ? 0 : now_ms - request->since_ms, &words);
    tr_table_text(&overview->listing->table, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    for (uint32_t i = 0; i < request->place_count; i++) {
        tr_buffer_print(&words, "%s%.*s", i == 0 ? "" : ", ",
                        TRI_TEXT(place_name(overview, request->places[i])));
    }
    tr_table_text(&overview->listing->table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static int take_request(void *self, const struct tr_shared_request *request)
{
    struct overview *overview = self;
    if (request->is_waiting != overview->wants_waiting ||
        overview->passed++ < overview->listing->offset) {
        return 0;
    }
    if (!tr_listing_takes(overview->listing)) {
        return TR_CLOSED; /* no more are looked at */
    }
    struct tr_buffer name;
    tr_buffer_init(&name, 0);
    int error = name_of(overview, request->execution, &name);
    if (error == 0 && tr_listing_has_document(overview->listing)) {
        write_request(overview, request, tr_buffer_text(&name));
    } else if (error == 0) {
        add_request(overview, request, tr_buffer_text(&name));
    }
    tr_buffer_fini(&name);
    return error;
}

/* Those that wait, and behind them those that have something. */
static int show_requests(struct overview *overview)
{
    int error = 0;
    for (int i = 0; error == 0 && overview->state != NULL && i < 2; i++) {
        overview->wants_waiting = i == 0;
        error = tr_shared_requests(overview->state, &overview->pages, take_request, overview);
    }
    return error == TR_CLOSED ? 0 : error;
}

/* ------------------------------------------------------------------- as a document */

static void write_rate(struct tr_document *document, double per_second)
{
    char words[32];
    (void)snprintf(words, sizeof words, "%g", per_second);
    if (per_second > 0) {
        tr_document_json(document, "per_second", tr_text_of(words));
    } else {
        tr_document_null(document, "per_second");
    }
}

static void write_place(const struct overview *overview, const struct tr_shared_place *place,
                        struct tr_document *document)
{
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "kind", tr_text_of(tr_shared_kind_word(place->kind)));
    tr_document_text(document, "name", place->name);
    if (place->slots > 0) {
        tr_document_number(document, "slots", place->slots);
    } else {
        tr_document_null(document, "slots");
    }
    tr_document_number(document, "used", place->used);
    write_rate(document, place->per_second);
    tr_document_number(document, "waiting", overview->waits[place->number]);
    if (place->kind == TR_SHARED_MACHINE) {
        tr_document_number(document, "host", place->host);
        tr_document_begin_map(document, "bound");
        write_amounts(document, &place->amounts);
        tr_document_end(document);
        tr_document_begin_map(document, "booked");
        write_amounts(document, &place->booked);
        tr_document_end(document);
    }
    tr_document_end(document);
}

static int write_document(struct overview *overview)
{
    const struct tr_shared_place *places = overview->places.items;
    const struct tr_resources_state *state = overview->state;
    struct tr_document *document = &overview->listing->document;
    tr_document_init(document, tr_console_out(), overview->browse->invocation->output);
    tr_document_begin_map(document, NULL);
    tr_document_number(document, "waiting", state == NULL ? 0 : (int64_t)state->waiting);
    tr_document_number(document, "held", state == NULL ? 0 : (int64_t)state->held);
    tr_document_begin_list(document, "places");
    for (uint32_t i = 0; i < overview->places.count; i++) {
        write_place(overview, &places[i], document);
    }
    tr_document_end(document);
    tr_document_begin_list(document, "attempts");
    int error = show_requests(overview);
    tr_document_end(document);
    tr_document_end(document);
    tr_document_fini(document);
    return error;
}

/* ------------------------------------------------------------------------- as text */

static void begin_table(struct tr_table *table, const char *const *heads, uint32_t count)
{
    tr_table_init(table, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_table_text(table, tr_text_of(heads[i]));
    }
}

/* How much of an amount of a machine is in use; one without a bound is left out. */
static void add_amount(struct tr_table *table, const struct tr_shared_place *place,
                       const char *name, double booked, double bound, uint32_t waiting)
{
    if (bound > 0) {
        tr_table_text(table, tr_text_of("machine"));
        tr_table_print(table, "%s%s%.*s", name, place->host != 0 ? " of " : "",
                       TRI_TEXT(place->name));
        tr_table_print(table, "%g", booked);
        tr_table_print(table, "%g", bound);
        tr_table_text(table, tr_text_of("-"));
        tr_table_print(table, "%u", waiting);
    }
}

static void add_place(struct overview *overview, const struct tr_shared_place *place)
{
    struct tr_table *table = &overview->listing->table;
    uint32_t waiting = overview->waits[place->number];
    if (place->kind == TR_SHARED_MACHINE) {
        const struct tri_amounts *booked = &place->booked;
        const struct tri_amounts *bound = &place->amounts;
        add_amount(table, place, "CPU", (double)booked->cpu_millis / 1000,
                   (double)bound->cpu_millis / 1000, waiting);
        add_amount(table, place, "MiB of memory", (double)(booked->memory_bytes >> 20),
                   (double)(bound->memory_bytes >> 20), waiting);
        add_amount(table, place, "GPU", (double)booked->gpu_count, (double)bound->gpu_count,
                   waiting);
        return;
    }
    tr_table_text(table, tr_text_of(tr_shared_kind_word(place->kind)));
    tr_table_text(table, place->name);
    tr_table_print(table, "%u", place->used);
    if (place->slots > 0) {
        tr_table_print(table, "%u", place->slots);
    } else {
        tr_table_text(table, tr_text_of("-"));
    }
    if (place->per_second > 0) {
        tr_table_print(table, "%g", place->per_second);
    } else {
        tr_table_text(table, tr_text_of("-"));
    }
    tr_table_print(table, "%u", waiting);
}

static int print_text(struct overview *overview)
{
    static const char *const places_heads[] = {"KIND",  "NAME",       "USED",
                                               "BOUND", "PER SECOND", "WAITING"};
    static const char *const heads[] = {"ATTEMPT", "EXECUTION", "STATE", "SINCE", "OF"};
    const struct tr_shared_place *places = overview->places.items;
    FILE *stream = tr_console_out();
    begin_table(&overview->listing->table, places_heads, TR_COUNT_OF(places_heads));
    for (uint32_t i = 0; i < overview->places.count; i++) {
        add_place(overview, &places[i]);
    }
    int error = tr_table_write(&overview->listing->table, 0, stream);
    tr_table_fini(&overview->listing->table);
    begin_table(&overview->listing->table, heads, TR_COUNT_OF(heads));
    if (error == 0) {
        error = show_requests(overview);
    }
    if (error == 0 && overview->listing->count > 0) {
        fputc('\n', stream);
        error = tr_table_write(&overview->listing->table, 0, stream);
    }
    tr_table_fini(&overview->listing->table);
    return error;
}

/* ------------------------------------------------------------------------- the command */

static enum tr_exit_status show(struct tr_listing *listing)
{
    struct overview overview = {.listing = listing, .browse = listing->browse};
    tr_host_names_init(&overview.hosts, listing->browse->reader);
    int error = read_places(&overview);
    if (error == 0) {
        error =
            tr_listing_has_document(listing) ? write_document(&overview) : print_text(&overview);
    }
    tr_waiting_fini(&overview.waiting);
    tr_host_names_fini(&overview.hosts);
    return tr_listing_tell(listing, error);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_listing_run(invocation, show);
}

static const struct tr_option options[] = {
    {0, "limit", "N", "at most so many attempts (else 50; 0: all)", NULL, 0, false},
    TR_LISTING_OFFSET_OPTION,
    {0},
};

const struct tr_command tr_command_resources = {
    .name = "resources",
    .summary = "show quotas, pools and the machine, and who waits for them",
    .words = "",
    .text =
        "What executions share: how much of it is in use, and the attempts that wait for it, and\n"
        "behind them those that have it. `troupe explain EXEC` says what one execution waits\n"
        "for.",
    .examples = "  troupe resources\n"
                "  troupe resources --limit 0 -o json",
    .options = options,
    .outputs = "table|json|yaml",
    .has_store = true,
    .run = run,
};
