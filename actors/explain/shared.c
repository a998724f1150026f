/*
 * One pass over the rows of the table, whatever kinds they have. Sizes and numbers come from a
 * disk, and are not trusted beyond the rows.
 */
#include "actors/explain/shared.h"

#include "schemas/codec/error.h"

const char *tr_shared_kind_word(enum tr_shared_kind kind)
{
    static const char *const words[] = {
#define WORD(name, word) [TR_SHARED_##name] = word,
        TR_SHARED_KINDS(WORD)
#undef WORD
    };
    return words[kind];
}

struct pass {
    struct tr_rows rows;
    const struct tr_resources_state *state;
    int (*show_place)(void *self, const struct tr_shared_place *place);
    int (*show_request)(void *self, const struct tr_shared_request *request);
    void *self;
};

static struct tr_text text_of(const char *data, uint32_t size)
{
    uint32_t most = TR_RESOURCE_NAME_BYTES_MAX;
    return (struct tr_text){.data = data, .size = size < most ? size : most};
}

static enum tr_shared_kind kind_of(const struct pass *pass, const struct tri_place_row *row,
                                   uint32_t number)
{
    switch (row->head.key.kind) {
    case TRI_ROW_POOL:
        return TR_SHARED_POOL;
    case TRI_ROW_SCOPE:
        return row->project == 0 ? TR_SHARED_PROJECT : TR_SHARED_DOMAIN;
    case TRI_ROW_MACHINE:
        return TR_SHARED_MACHINE;
    default:
        return number == pass->state->machine ? TR_SHARED_MACHINE : TR_SHARED_QUOTA;
    }
}

/* Whether a machine's host is gone. */
static bool is_gone(struct pass *pass, uint16_t number)
{
    const struct tri_host_row *host;
    uint32_t row;
    return tri_resources_host_get(&pass->rows, number, &row, &host) == 0 && host->gone != 0;
}

/*
 * Left out is what nobody has anything of: the place of those without a namespace, which is the
 * machine of an engine that is alone, where there is none, and that of a host that is gone.
 */
static bool is_left_out(const struct tr_shared_place *place)
{
    const struct tri_amounts *booked = &place->booked;
    bool is_booked = (booked->cpu_millis | booked->memory_bytes | booked->gpu_count) != 0;
    return place->kind == TR_SHARED_MACHINE
               ? place->is_gone && !is_booked
               : place->kind == TR_SHARED_QUOTA && place->name.size == 0;
}

static int show_place(struct pass *pass, const struct tri_place_row *found, uint32_t number)
{
    const struct tri_place_row copy = *found; /* looking at others may bring another page */
    const struct tri_place_row *row = &copy;
    struct tr_shared_place place = {
        .number = number,
        .kind = kind_of(pass, row, number),
        .host = (uint16_t)tri_resources_machine_host(row),
        .name = text_of(row->name, row->name_size),
        .slots = row->slots,
        .used = row->used,
        .per_second = row->per_second,
        .amounts = row->amounts,
        .booked = {row->booked.cpu_millis - row->dormant.cpu_millis,
                   row->booked.memory_bytes - row->dormant.memory_bytes,
                   row->booked.gpu_count - row->dormant.gpu_count},
    };
    place.is_gone = place.kind == TR_SHARED_MACHINE && is_gone(pass, place.host);
    return is_left_out(&place) ? 0 : pass->show_place(pass->self, &place);
}

/* Of several hosts, the machine that a request books of. */
static void add_machine(struct pass *pass, struct tr_shared_request *request, uint16_t host)
{
    const struct tri_host_row *row;
    uint32_t number;
    if (host != 0 && request->place_count < TR_SHARED_NEEDS_MAX &&
        tri_resources_host_get(&pass->rows, host, &number, &row) == 0) {
        request->places[request->place_count++] = row->machine;
    }
}

/* A place that is named by a request, and the project behind that of a domain. */
static void add_place(struct pass *pass, struct tr_shared_request *request, uint32_t number)
{
    const void *row;
    if (number == 0 || request->place_count == TR_SHARED_NEEDS_MAX) {
        return;
    }
    request->places[request->place_count++] = number;
    bool is_scope = tr_rows_get(&pass->rows, number, &row) == 0 &&
                    ((const struct tr_rows_head *)row)->key.kind == TRI_ROW_SCOPE;
    uint32_t project = is_scope ? ((const struct tri_place_row *)row)->project : 0;
    if (project != 0 && request->place_count < TR_SHARED_NEEDS_MAX) {
        request->places[request->place_count++] = project;
    }
}

static bool is_dormant(struct pass *pass, uint64_t execution)
{
    bool is = false;
    return tri_resources_dormant_has(&pass->rows, pass->state, execution, &is) == 0 && is;
}

static int show_request(struct pass *pass, const struct tri_request_row *found)
{
    const struct tri_request_row row = *found; /* looking at others may bring another page */
    struct tr_shared_request request = {
        .attempt = text_of(row.identity, row.identity_size),
        .execution = row.execution,
        .since_ms = row.since_ms,
        .is_waiting = row.queue != 0,
        .amounts = row.amounts,
    };
    add_place(pass, &request, row.place);
    add_place(pass, &request, tri_resources_request_scope(&row));
    add_place(pass, &request, row.pool);
    add_machine(pass, &request, tri_resources_request_host(&row));
    request.is_dormant = is_dormant(pass, row.execution);
    return pass->show_request(pass->self, &request);
}

static int pass_over(struct pass *pass, const struct tr_explain_pages *pages)
{
    int error = 0;
    pass->rows =
        tr_rows_reader(pages->page, pages->self, pass->state, sizeof(union tri_resource_any));
    for (uint32_t number = 1; error == 0 && number <= pass->rows.used; number++) {
        const void *row;
        error = tr_rows_get(&pass->rows, number, &row);
        if (error != 0) {
            error = error == TR_NOT_FOUND ? 0 : error; /* a free row */
            continue;
        }
        uint32_t kind = ((const struct tr_rows_head *)row)->key.kind;
        bool is_place = kind == TRI_ROW_PLACE || kind == TRI_ROW_POOL || kind == TRI_ROW_SCOPE ||
                        kind == TRI_ROW_MACHINE;
        if (is_place && pass->show_place != NULL) {
            error = show_place(pass, row, number);
        } else if (kind == TRI_ROW_REQUEST && pass->show_request != NULL) {
            error = show_request(pass, row);
        }
    }
    return error;
}

int tr_shared_places(const struct tr_resources_state *state, const struct tr_explain_pages *pages,
                     int (*show)(void *self, const struct tr_shared_place *place), void *self)
{
    struct pass pass = {.state = state, .show_place = show, .self = self};
    return pass_over(&pass, pages);
}

int tr_shared_requests(const struct tr_resources_state *state, const struct tr_explain_pages *pages,
                       int (*show)(void *self, const struct tr_shared_request *request), void *self)
{
    struct pass pass = {.state = state, .show_request = show, .self = self};
    return pass_over(&pass, pages);
}
