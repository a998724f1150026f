/*
 * All schedules of a store are read, which are few, and marked by each word.
 */
#include "deploy/schedules/plan_selection.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/report.h"
#include "deploy/cli/browse.h"
#include "deploy/cli/selection.h"
#include "deploy/console/console.h"
#include "runtime/trace/glob.h"
#include "schemas/codec/error.h"
#include "schemas/engine/schedule.h"

#define PROBLEM_BYTES 512

struct search {
    struct tr_plan_selection *selection;
    struct tri_vector all; /* struct tr_selected_plan */
    bool *is_meant;
};

/* ------------------------------------------------------------------------- reading */

static int take_row(void *self, const void *value)
{
    struct search *search = self;
    const struct tr_schedule_row *row = value;
    struct tr_arena *arena = &search->selection->arena;
    struct tr_selected_plan *plan = tri_vector_add(arena, &search->all, sizeof *plan);
    if (plan != NULL) {
        *plan = (struct tr_selected_plan){
            .address = tr_arena_print(arena, "%.*s/%.*s/%.*s", TRI_TEXT(row->project),
                                      TRI_TEXT(row->domain), TRI_TEXT(row->plan)),
            .project = tr_arena_text(arena, row->project),
            .domain = tr_arena_text(arena, row->domain),
            .plan = tr_arena_text(arena, row->plan),
            .is_paused = row->is_paused,
            .graph = tr_arena_bytes(arena, row->graph),
        };
    }
    return arena->error;
}

static enum tr_exit_status read_all(const struct tr_invocation *invocation, struct search *search)
{
    struct tr_browse browse;
    struct tr_reader_query query = {.record = &tr_schedule_row_schema};
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    search->selection->store = browse.place;
    int error = tr_reader_rows(browse.reader, &query, take_row, search);
    if (error == 0) {
        search->is_meant =
            tr_arena_array(&search->selection->arena, search->all.count + 1, sizeof(bool));
        error = search->selection->arena.error;
    }
    status = error == 0 ? TR_EXIT_DONE : tr_browse_failed(&browse, error);
    tr_browse_close(&browse);
    return status;
}

/* ------------------------------------------------------------------------ choosing */

/* A word with a slash means addresses, any other one the names of plans. */
static bool is_match(const char *word, bool is_glob, const struct tr_selected_plan *plan)
{
    struct tr_text wanted = tr_text_of(word[0] == '/' ? word + 1 : word);
    struct tr_text own = strchr(word, '/') != NULL ? plan->address : plan->plan;
    return is_glob ? tri_glob_match(wanted, own) : tr_text_equal(wanted, own);
}

/* Marks what a word means; false, with words, where that is nothing, or several of one name. */
static bool choose(struct search *search, const char *word, bool may_glob, char *problem)
{
    const struct tr_selected_plan *plans = search->all.items;
    bool is_glob = may_glob && strchr(word, '*') != NULL;
    const struct tr_selected_plan *first = NULL;
    for (uint32_t i = 0; i < search->all.count; i++) {
        if (!is_match(word, is_glob, &plans[i])) {
            continue;
        }
        if (first != NULL && !is_glob) {
            snprintf(problem, PROBLEM_BYTES,
                     "there are several plans '%.80s'; write %.*s or %.*s, or another one", word,
                     TRI_SHOWN(first->address), TRI_SHOWN(plans[i].address));
            return false;
        }
        first = &plans[i];
        search->is_meant[i] = true;
    }
    if (first == NULL) {
        snprintf(problem, PROBLEM_BYTES, "%s '%.80s'; `troupe schedules` shows all",
                 is_glob ? "no plan with a schedule matches" : "there is no plan with a schedule",
                 word);
    }
    return first != NULL;
}

static enum tr_exit_status choose_all(const struct tr_invocation *invocation, bool may_glob,
                                      struct search *search)
{
    char problem[PROBLEM_BYTES] = "";
    const struct tr_arguments *arguments = &invocation->arguments;
    struct tr_plan_selection *selection = search->selection;
    for (size_t i = 1; i < arguments->word_count; i++) {
        if (!choose(search, arguments->words[i], may_glob, problem)) {
            tr_console_note_error(TR_NOT_FOUND);
            return tr_command_refused(invocation->command, "%s", problem);
        }
    }
    selection->items =
        tr_arena_array(&selection->arena, search->all.count + 1, sizeof *selection->items);
    for (uint32_t i = 0; selection->items != NULL && i < search->all.count; i++) {
        if (search->is_meant[i]) {
            selection->items[selection->count++] =
                ((const struct tr_selected_plan *)search->all.items)[i];
        }
    }
    return selection->arena.error == 0
               ? TR_EXIT_DONE
               : tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
}

enum tr_exit_status tr_plan_selection_find(const struct tr_invocation *invocation, const char *verb,
                                           bool is_one, struct tr_plan_selection *selection)
{
    struct tr_text names[TR_SELECTION_NAMED];
    struct search search = {.selection = selection};
    *selection = (struct tr_plan_selection){.count = 0};
    tr_arena_init(&selection->arena);
    enum tr_exit_status status = read_all(invocation, &search);
    if (status == TR_EXIT_DONE) {
        status = choose_all(invocation, !is_one, &search);
    }
    if (status != TR_EXIT_DONE || selection->count < 2 ||
        tr_arguments_has(&invocation->arguments, "yes")) {
        return status;
    }
    for (uint32_t i = 0; i < selection->count && i < TR_SELECTION_NAMED; i++) {
        names[i] = selection->items[i].plan;
    }
    return tr_selection_ask(invocation, verb, "schedules", names, selection->count);
}

void tr_plan_selection_fini(struct tr_plan_selection *selection)
{
    tr_arena_fini(&selection->arena);
}
