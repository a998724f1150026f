/*
 * The store as a registration sees it. A new snapshot has a cost, as the engine first writes its
 * tables up to now (runtime/commits/); so one is kept for the requests that come one behind the
 * other, and what was kept since lies on a shelf, where it is looked up first. What others have
 * kept meanwhile, by `troupe apply`, the engine counts.
 */
#include <stdio.h>

#include "actors/graph/flyte/flyte_single.h"
#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/entities/registrar_inside.h"
#include "schemas/codec/error.h"

static void clear_shelf(struct tri_view *view)
{
    tr_arena_fini(&view->arena);
    view->shelf = (struct tri_vector){.count = 0};
}

void tri_view_fini(struct tri_view *view)
{
    clear_shelf(view);
    tr_reader_close(view->reader);
}

void tri_view_rest(struct tr_registrar *registrar)
{
    struct tri_view *view = &registrar->view;
    if (view->is_held) {
        tr_reader_release(view->reader);
        view->is_held = false;
    }
}

/* A snapshot of now, in which all is that was kept before. */
static int look(struct tr_registrar *registrar)
{
    struct tri_view *view = &registrar->view;
    uint64_t kept = atomic_load(&registrar->live->kept);
    view->words[0] = '\0';
    bool is_open = view->reader != NULL;
    int error = is_open ? tr_reader_refresh(view->reader)
                        : tr_history_open(registrar->live->folder, view->words, &view->reader);
    if (error != 0) {
        if (is_open) {
            (void)snprintf(view->words, sizeof view->words, "%s", tr_reader_explain(view->reader));
        }
        tr_reader_close(view->reader);
        view->reader = NULL;
        view->is_held = false;
        return error;
    }
    view->is_held = true;
    view->begin_ms = tr_clock_ms();
    view->kept = kept;
    clear_shelf(view);
    return 0;
}

static bool is_fresh(const struct tr_registrar *registrar)
{
    const struct tri_view *view = &registrar->view;
    return view->is_held && view->kept == atomic_load(&registrar->live->kept) &&
           tr_clock_ms() - view->begin_ms < TR_REGISTRAR_HOLD_MS &&
           view->shelf.count < TR_REGISTRAR_SHELF_MAX;
}

static int explain(struct tri_view *view, int error)
{
    if (error != 0 && error != TR_NOT_FOUND) {
        (void)snprintf(view->words, sizeof view->words, "%s", tr_reader_explain(view->reader));
    }
    return error;
}

static bool is_same_id(const struct tr_entity *a, const struct tr_entity *b)
{
    return a->kind == b->kind && tr_text_equal(a->name, b->name) &&
           tr_text_equal(a->version, b->version) && tr_text_equal(a->project, b->project) &&
           tr_text_equal(a->domain, b->domain);
}

/* The latest of an id; NULL: it is not on the shelf. */
static const struct tr_entity *find_on_shelf(const struct tri_view *view,
                                             const struct tr_entity *entity)
{
    const struct tr_entity *items = view->shelf.items;
    for (uint32_t i = view->shelf.count; i > 0; i--) {
        if (is_same_id(&items[i - 1], entity)) {
            return &items[i - 1];
        }
    }
    return NULL;
}

int tri_view_find(struct tr_registrar *registrar, struct tr_arena *arena, struct tr_entity *entity)
{
    struct tri_view *view = &registrar->view;
    int error = is_fresh(registrar) ? 0 : look(registrar);
    if (error != 0) {
        return error;
    }
    struct tr_entity task;
    const struct tr_entity *shelved = find_on_shelf(view, entity);
    if (shelved != NULL) {
        *entity = *shelved;
        return tr_schemas_row_keep(arena, &tr_entity_schema, entity);
    }
    shelved = tr_flyte_single_of(entity, &task) ? find_on_shelf(view, &task) : NULL;
    if (shelved != NULL) {
        return tr_flyte_single_make(arena, shelved, entity);
    }
    return explain(view, tr_entities_find(view->reader, arena, entity));
}

int tri_view_reader(struct tr_registrar *registrar, struct tr_reader **reader)
{
    bool is_all = is_fresh(registrar) && registrar->view.shelf.count == 0;
    int error = is_all ? 0 : look(registrar);
    if (error == 0) {
        *reader = registrar->view.reader;
    }
    return error;
}

void tri_view_note(struct tr_registrar *registrar, const struct tr_entity *entity)
{
    struct tri_view *view = &registrar->view;
    struct tr_entity *added = tri_vector_add(&view->arena, &view->shelf, sizeof *added);
    if (added != NULL) {
        *added = *entity;
    }
    if (added == NULL || tr_schemas_row_keep(&view->arena, &tr_entity_schema, added) != 0) {
        tri_view_rest(registrar); /* the next snapshot has it */
    }
}
