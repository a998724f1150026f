/*
 * The schedules that the words of a command name: each word is PLAN, PROJECT/DOMAIN/PLAN, or a glob
 * over the plans that have a schedule. Changing more than one is asked about, as of executions.
 */
#ifndef TR_DEPLOY_SCHEDULES_PLAN_SELECTION_H
#define TR_DEPLOY_SCHEDULES_PLAN_SELECTION_H

#include "actors/graph/document/arena.h"
#include "deploy/cli/command.h"
#include "deploy/cli/store.h"

struct tr_selected_plan {
    struct tr_text address; /* "PROJECT/DOMAIN/PLAN" */
    struct tr_text project;
    struct tr_text domain;
    struct tr_text plan;
    bool is_paused;
    struct tr_bytes graph; /* its hash */
};

struct tr_plan_selection {
    struct tr_store_place store;
    struct tr_selected_plan *items; /* each once, in the order of their addresses */
    uint32_t count;
    struct tr_arena arena;
};

/*
 * Finds them in the store that the command means, by its words from the second one on; `verb` is
 * what is done to them ("pause"). With `is_one` a word is no glob. What is wrong, and a no, is
 * said: then the status is not TR_EXIT_DONE. The selection has to be ended in any case.
 */
enum tr_exit_status tr_plan_selection_find(const struct tr_invocation *invocation, const char *verb,
                                           bool is_one, struct tr_plan_selection *selection);
void tr_plan_selection_fini(struct tr_plan_selection *selection);

#endif
