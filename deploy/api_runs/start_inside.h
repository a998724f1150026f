/*
 * What start.c judges and start_order.c has the engine do.
 */
#ifndef TR_DEPLOY_API_RUNS_START_INSIDE_H
#define TR_DEPLOY_API_RUNS_START_INSIDE_H

#include "deploy/api_runs/start.h"
#include "deploy/engine/launch.h"

/* An execution that is to begin; all of it lies in the job's arena. */
struct tri_start {
    struct tr_text project;
    struct tr_text domain;
    struct tr_text called; /* what a name is made of, if none is given */
    struct tr_bytes row;   /* of its graph */
    uint32_t workflow;
    uint32_t plan;
    struct tr_bytes inputs;
    uint8_t cache_mode;
    struct tr_text cause;
    struct tr_text recovery;
    struct tr_text labels;
    struct tr_bytes request;

    /* The engine's. */
    bool is_named;
    char name[TR_EXECUTION_NAME_BYTES];
    uint64_t graph; /* its number, while it is held */
    struct tr_ref launcher;
    uint64_t ended_count; /* of what was asked last (schemas/engine/flow.h) */
    uint32_t tries;
    struct tr_desk_job *waiting; /* for the end of this one, since they want its name */
};

/* Has the engine begin it; the job is the engine's from now on. */
void tri_start_order(struct tr_desk_job *job, struct tri_start *start);

/* Has the engine abort an execution. */
struct tri_ending {
    uint64_t execution;
    struct tr_text name;
    struct tr_text cause;
};
void tri_start_order_end(struct tr_desk_job *job, struct tri_ending *ending);

/* Has the engine note that an execution was archived, or was taken back. */
struct tri_archiving {
    struct tr_text project;
    struct tr_text domain;
    uint64_t execution;
    bool is_archived;
};
void tri_start_order_archive(struct tr_desk_job *job, struct tri_archiving *archiving);

#endif
